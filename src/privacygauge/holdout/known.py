"""What the attacker of a test set knows before it asks, made from what it has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.errors import InputError
from privacygauge.holdout.oracle import Holdout
from privacygauge.holdout.priors import Knowledge, from_logits

Prior = Literal["uniform", "classes"]
"""Without a model: nothing, or how frequent each class is."""
FREQUENCIES = "how frequent each hidden value is, no model"


@dataclass(frozen=True)
class Having:
    """What the attacker has before it asks."""

    logits: ArrayLike | str | Path | None = None
    """What a base model says, (n, m), or a file; None without one."""
    top: int | None = None
    """So many labels of each example are tried; None for all."""
    least_confident: int | None = None
    """So many examples are attacked, those of which the model is least sure; None for all."""
    temperature: float = 1.0
    """Divisor of the logits."""
    prior: Prior = "uniform"
    """Without logits."""

    def __post_init__(self) -> None:
        if self.prior not in ("uniform", "classes"):
            raise InputError(f"prior must be uniform or classes, got {self.prior!r}")
        if self.logits is not None:
            if self.prior != "uniform":
                raise InputError(f"prior {self.prior} goes without logits: they say more")
            return
        given = {"top": self.top, "least_confident": self.least_confident}
        asked = [name for name, value in given.items() if value is not None]
        if asked or self.temperature != 1.0:
            told = (*asked, "temperature")[0]
            raise InputError(f"{told} needs logits of a base model: give them")


def known_before(holdout: Holdout, logits: NDArray[Any] | None, having: Having) -> Knowledge | None:
    """Return what the attacker knows, from logits as they were read; None for nothing.

    Of the labels of `holdout` the frequencies of classes alone are used, where `having` says so.
    """
    if logits is not None:
        return from_logits(
            logits,
            top=having.top,
            least_confident=having.least_confident,
            temperature=having.temperature,
        )
    return _by_frequency(holdout) if having.prior == "classes" else None


def in_words(knowledge: Knowledge | None, having: Having) -> str:
    """Return what the attacker knows, for a reader."""
    if knowledge is None:
        return "nothing: no model, all classes equally likely"
    if having.logits is None:
        return FREQUENCIES
    n, m, r = len(knowledge.base), knowledge.n_classes, knowledge.n_candidates
    points = (
        f"the {len(knowledge.points):,} least confident" if len(knowledge.points) < n else "all"
    )
    labels = f"its {r} likeliest labels" if r < m else f"all {m} labels"
    softened = "" if having.temperature == 1 else f", temperature {having.temperature:g}"
    return f"a base model's logits{softened}; attacked are {points} examples, {labels} each"


def _by_frequency(holdout: Holdout) -> Knowledge:
    # Half a point more each, so that a class without points is unlikely and not impossible.
    frequency = np.bincount(holdout.labels, minlength=holdout.n_classes) + 0.5
    one = np.log(frequency / frequency.sum())
    return from_logits(np.broadcast_to(one, (len(holdout), holdout.n_classes)))
