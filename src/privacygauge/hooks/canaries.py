"""Settings of canaries inserted into a training set."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.errors import InputError


@dataclass(frozen=True)
class Canaries:
    """Records made to be memorised: their leak is the worst case of a training.

    Random tokens for a language model, records with a wrong class for a classifier.
    """

    n: int
    """Number of canaries, at least 4; a fair coin puts each in or leaves it out."""
    copies: int = 1
    """Copies of each in the training set, at least 1."""
    compared: int = 500
    """Further canaries of a language model, never trained on, as a scale for ranks; at least 0."""
    tokens: int = 16
    """Tokens per canary of a language model, at least 4."""

    def __post_init__(self) -> None:
        for name, least in (("n", 4), ("copies", 1), ("compared", 0), ("tokens", 4)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
