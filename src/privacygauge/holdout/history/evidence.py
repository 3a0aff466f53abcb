"""Evidence for a pattern in a history: a p-value, whom it speaks of, and how tails are counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy
from scipy.special import gammaln

from privacygauge.core.checks import Bools, Ints
from privacygauge.holdout.history.detectors import Detector

_FULL = 8
"""Accounts: larger groups than this are looked at only in powers of two."""
_LOOKED_INTO = math.log(0.05)
"""Groups that stand out so much are rid of the accounts that add nothing to it."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """One test of one detector on one account, or on a group of them."""

    detector: Detector
    """What was tested, against which null."""
    accounts: tuple[str, ...]
    """Whom it speaks of; empty where a group was looked for and none stands out."""
    p_value: float
    """How likely such submissions are, at most, under the detector's null."""
    says: str
    """What was counted, in a sentence."""
    rows: Ints = field(repr=False, default_factory=lambda: np.empty(0, np.int64))
    """The submissions behind it, numbered in time from 0."""


def longest_run(flags: Bools) -> tuple[int, int]:
    """Return start and stop of the longest run of True; the first of equally long ones."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not len(starts):
        return 0, 0
    best = int(np.argmax(stops - starts))
    return int(starts[best]), int(stops[best])


def log_run_tail(run: int, trials: int, rate: float) -> float:
    """Return the log of a bound on the probability of a run of so many successes.

    A run begins at the first trial or after a failure: rate^run (1 + (trials - run)(1 - rate)),
    Boole's inequality, for independent trials that succeed with at most `rate`.
    """
    if run == 0:
        return 0.0
    return min(0.0, run * math.log(rate) + math.log1p((trials - run) * (1 - rate)))


def log_excess(flags: Bools, rate: float) -> float:
    """Return the log p-value of "each flag is True with probability at most `rate`".

    Twice the smaller of the binomial tail and that of the longest run: the first sees flags
    spread over an account, the second a stretch within much else.
    """
    count, trials = int(np.count_nonzero(flags)), len(flags)
    if count == 0:
        return 0.0
    start, stop = longest_run(flags)
    tails = (
        float(scipy.stats.binom.logsf(count - 1, trials, rate)),
        log_run_tail(stop - start, trials, rate),
    )
    return min(0.0, math.log(2) + min(tails))


def log_many(flags: Bools, rate: float) -> float:
    """Return the log binomial tail of "each flag is True with probability at most `rate`"."""
    count = int(np.count_nonzero(flags))
    return float(scipy.stats.binom.logsf(count - 1, len(flags), rate)) if count else 0.0


def probability(log_p: float) -> float:
    """Return exp of a log p-value, at most 1 and never so small that it is 0."""
    return min(1.0, max(math.exp(log_p), 1e-300))


def best_group(
    ranked: Sequence[int], log_p: Callable[[Sequence[int]], float], total: int
) -> tuple[Sequence[int], float]:
    """Return the group of two or more accounts that stands out most, and its log p-value.

    Parameters
    ----------
    ranked : sequence of int
        Accounts, the most suspicious first, ranked by whatever the data say: groups are its
        beginnings. Only some lengths are looked at where there are many.
    log_p : callable
        From a group, chosen beforehand, to the log of its p-value.
    total : int
        How many accounts there are to choose from.

    Notes
    -----
    Bonferroni over every group of the same size, C(total, g) of them, and over the sizes: so it
    does not matter that the data rank the accounts, and that some are taken out again.
    """

    def corrected(group: Sequence[int]) -> float:
        return math.log(total) + _log_choose(total, len(group)) + log_p(group)

    most = len(ranked)
    sizes = [g for g in range(2, most + 1) if g <= _FULL or g & (g - 1) == 0 or g == most]
    if not sizes:
        return (), 0.0
    group = min((tuple(ranked[:g]) for g in sizes), key=corrected)
    for code in group if corrected(group) < _LOOKED_INTO else ():
        without = tuple(other for other in group if other != code)
        if len(without) > 1 and log_p(without) <= log_p(group):
            group = without
    return group, min(0.0, corrected(group))


def _log_choose(total: int, some: int) -> float:
    return float(gammaln(total + 1) - gammaln(some + 1) - gammaln(total - some + 1))
