"""Check of a shortcut against refits: some records are really left out, and compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.dtp.recognised import AGREED
from privacygauge.core.checks import Bools, Floats, Ints

SPOTS = 10
"""Number of riskiest records to refit, and of records drawn from the others."""


@dataclass(frozen=True)
class RefitAgreement:
    """Number of refits that agree with the shortcut."""

    n: int
    """Records that were refitted for the comparison."""
    agree: int
    """Of these, records whose log ratios and probabilities differ by at most 1e-6."""
    largest: float
    """Largest difference of a log ratio or a probability; infinite where one side has none."""

    @property
    def holds(self) -> bool:
        """Whether every refit agrees."""
        return self.agree == self.n

    def __str__(self) -> str:
        """Return the finding in words."""
        largest = f"{self.largest:.1g}" if np.isfinite(self.largest) else "infinite"
        return f"{self.agree} of {self.n} refits agree (largest difference {largest})"


def spots(own: Floats, low: Floats, sure: Bools, rng: np.random.Generator) -> Ints:
    """Return places of the records to refit: the riskiest, and some at random, ascending.

    `own` and `low` (r,) are the records' PDTP and largest ratio at other queries; `sure` (r,) are
    those that the shortcut answers for: no others are chosen.
    """
    places = np.flatnonzero(sure)
    places = places[np.lexsort((-low[places], -own[places]))]
    others = places[SPOTS:]
    drawn = rng.choice(others, min(SPOTS, len(others)), replace=False)
    return np.sort(np.concatenate([places[:SPOTS], drawn]))


def compare_with_refits(pairs: tuple[tuple[Floats, Floats], ...]) -> RefitAgreement:
    """Return the agreement of a shortcut's numbers with those of refits.

    `pairs` are both sides of each number, shapes (s, ...): one row for every record.
    """
    largest = []
    for ours, theirs in pairs:
        # Equal infinities agree, and so do two models without an answer, NaN.
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        with np.errstate(invalid="ignore"):
            difference = np.where(same, 0.0, np.nan_to_num(np.abs(ours - theirs), nan=np.inf))
        largest.append(difference.reshape(len(difference), -1).max(axis=1))
    apart = np.max(largest, axis=0)
    return RefitAgreement(len(apart), int(np.count_nonzero(apart <= AGREED)), float(apart.max()))
