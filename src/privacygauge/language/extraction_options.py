"""Options of an audit of extraction: how texts are continued, and when one counts as extracted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacygauge.errors import InputError
from privacygauge.runs.options import Options, asks


def _require_whole(**numbers: tuple[int, int]) -> None:
    """Raise unless every number is whole and at least its smallest value."""
    for name, (value, least) in numbers.items():
        if isinstance(value, bool) or value != int(value) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {value}")


@dataclass(frozen=True, kw_only=True)
class Writing(Options):
    """Settings for cutting texts for a causal model, and for sampling tokens."""

    prefix: int = asks(
        "TOKENS",
        "Tokens that are given to a causal model; of a short text at most half. A masked one is "
        "given the whole text, with one identifier hidden.",
        default=50,
    )
    suffix: int = asks("TOKENS", "Tokens that a causal model is to write after them.", default=50)
    temperature: float = asks("T", "Temperature at which tokens are sampled.", default=1.0)
    top_k: int = asks("K", "Tokens are sampled from the K likeliest; 0: from all.", default=40)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_whole(prefix=(self.prefix, 1), suffix=(self.suffix, 1), top_k=(self.top_k, 0))
        if not 0.0 < self.temperature < math.inf:
            raise InputError(f"temperature must be above 0 and finite, got {self.temperature}")

    def describe(self) -> str:
        """Return the sampling settings in words."""
        among = f"the {self.top_k} likeliest tokens" if self.top_k else "the whole vocabulary"
        return f"temperature {self.temperature:g}, {among}"


@dataclass(frozen=True, kw_only=True)
class Tries(Options):
    """Criterion for a text to count as extracted."""

    tries: int = asks("N", "n: how often the model is made to write each text.", default=1000)
    chance: float = asks(
        "P", "p: the probability that the text is among them, in (0, 1).", default=0.5
    )
    edits: int = asks(
        "D",
        "Count what the likeliest tokens give within so many token edits as near verbatim. Causal "
        "models are made to write then, which takes far longer. 0: do not.",
        default=0,
    )
    unprompted: int = asks(
        "N",
        "Let a causal model write N texts without a prompt, and look for stretches of the texts "
        "in them. 0: do not.",
        default=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_whole(
            tries=(self.tries, 1), edits=(self.edits, 0), unprompted=(self.unprompted, 0)
        )
        require_chance(self.chance)


def require_chance(chance: float) -> None:
    """Raise unless a probability is in (0, 1)."""
    if not 0.0 < chance < 1.0:
        raise InputError(f"chance must be in (0, 1), got {chance}")
