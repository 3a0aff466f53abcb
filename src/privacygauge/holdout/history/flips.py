"""Random flips of a model: submissions whose changes know neither hard points nor wrong answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.holdout.history.detectors import FLIPS
from privacygauge.holdout.history.evidence import Evidence, log_excess, probability
from privacygauge.holdout.history.nearness import Nearness, around, codes_of
from privacygauge.holdout.history.record import Answers, History
from privacygauge.holdout.history.scores import BAND

_WINDOW, _FEWEST = 40, 12
"""Submissions of the account around one that it is compared with, and the fewest."""
_CONTESTED, _WRONG = 100, 30
"""Points on which those disagree, and of these where their majority is wrong: the fewest."""
_MOST = 0.4
"""Of all points: what changes more of them has no base, and is found as random."""
_QUARTER = 0.25
_POOLED = 1.0
"""Standard deviations, for the mean over an account's submissions: of 12 it has one of 0.3."""


def random_flips(history: History, near: Nearness) -> tuple[Evidence, ...] | Skipped:
    """Return for every account whether it submits a model with labels changed at random.

    On the points on which the submissions around one disagree, its changes of their majority are
    compared with how many others change it there, and with where it is wrong.
    """
    if history.labels is None:
        return Skipped(FLIPS.title, "the labels are not available")
    labels = history.labels[near.points]
    what = "change their base where chance falls: neither where others do nor where it is wrong"
    found = []
    for code, name in enumerate(history.names):
        of = np.flatnonzero((history.codes == code) & near.fresh)
        codes = codes_of(np.vstack([near.sample[of], labels]))
        tests = [
            _compared(row, counts, len(others), codes[-1])
            for row, (others, counts) in zip(codes, around(codes[:-1], _WINDOW), strict=False)
        ]
        flags = np.array([test is not None and test.like_chance for test in tests], np.bool_)
        flagged = [test for test in tests if test is not None and test.like_chance]
        log_p = log_excess(flags, _QUARTER) if flagged and _together(flagged) else 0.0
        says = f"{np.count_nonzero(flags):,} of {len(of):,} submissions {what}"
        found.append(Evidence(FLIPS.name, (name,), probability(log_p), says, of[flags]))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Compared:
    """How far two sums over a submission's changes are above those of changes at random."""

    above: Floats
    """(2,) By how much others change the same points, and the base is wrong there."""
    variance: Floats
    """(2,) Of either, for a random choice of as many points."""

    @property
    def like_chance(self) -> bool:
        """Whether both are within what a random choice comes to."""
        return bool((self.above <= BAND * np.sqrt(self.variance)).all())


def _compared(row: Ints, counts: Answers, total: int, truth: Ints) -> _Compared | None:
    """Return how a submission changes the majority of `total` others, given their counts."""
    if total < _FEWEST:
        return None
    base, changes = counts.argmax(axis=0), total - counts.max(axis=0)
    contested = changes > 0
    size, wrong = int(contested.sum()), base != truth
    if size < _CONTESTED or np.count_nonzero(wrong & contested) < _WRONG:
        return None
    off = row != base
    if off.mean() > _MOST:
        return None
    changed = off[contested]
    d = int(changed.sum())
    values = np.stack([changes[contested], wrong[contested]]).astype(np.float64)
    # Sums over d of so many points, drawn without replacement.
    above = values[:, changed].sum(axis=1) - d * values.mean(axis=1)
    variance = d * (size - d) / (size - 1) * values.var(axis=1)
    return _Compared(above, variance) if variance.all() else None


def _together(tests: list[_Compared]) -> bool:
    off = np.mean([test.above / np.sqrt(test.variance) for test in tests], axis=0)
    return bool((off <= _POOLED).all())
