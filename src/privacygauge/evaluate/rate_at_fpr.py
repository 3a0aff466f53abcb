"""The true-positive rate at a false-positive rate, with an interval that can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrik, betainc, betaincinv, gammaln, xlog1py, xlogy

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.evaluate.roc import Roc

_RANKS = 128

FPRS = (0.1, 0.01, 0.001, 0.0001)
"""The false-positive rates that are reported."""

FEW = (0.01, 0.001)
"""False-positive rates at which a few badly exposed records show."""

TIMES = 10.0
"""Ratio of TPR to FPR from which a few records count as exposed."""


@dataclass(frozen=True)
class RateAtFpr:
    """The true-positive rate at a false-positive rate."""

    fpr: float
    """The false-positive rate asked for."""
    estimate: Estimate
    """TPR of the best threshold with at most that FPR on these rows. Its interval holds
    the TPR at the TRUE false-positive rate: it allows for the threshold's own doubt."""
    at_threshold: Estimate
    """The same TPR with Clopper-Pearson's interval, as if the threshold had been given."""
    realised_fpr: Estimate
    """The false-positive rate at that threshold, with Clopper-Pearson's interval."""
    resolved: bool
    """Whether at least 10 false positives are expected; below, n_out is too small to tell."""


def tpr_at_fpr(
    curve: Roc,
    fpr: float,
    level: float = 0.95,
    *,
    independent: tuple[int, int] | None = None,
) -> RateAtFpr:
    """Return the true-positive rate at a false-positive rate, with an exact interval.

    Parameters
    ----------
    curve : Roc
    fpr : float
        In (0, 1).
    level : float
        In (0, 1).
    independent : tuple of int, optional
        Numbers of independent member and non-member rows (`Transcript.independent`); default: all
        rows. The intervals are those of this many rows, which is conservative where rows of one
        target are not all alike.

    Returns
    -------
    RateAtFpr
        The value is that of a threshold, with ties on one side of it; nothing is interpolated.
        Where a tie straddles the rate, the interval also covers the tie broken at random.

    Notes
    -----
    The number of non-members above the threshold with the true rate `fpr` is Binomial(n_out, fpr)
    for any scores: Clopper-Pearson's limits are mixed over that distribution. An interval for the
    members alone ignores that the threshold was chosen on these non-members, and on pure noise
    excludes chance two to three times too often.
    """
    checks.level(fpr, "fpr")
    n_in, n_out = independent or (curve.n_in, curve.n_out)
    # fpr * n_out may lie just below the whole number that is meant.
    hits, false = _hits_with_at_most(curve, int(np.floor(fpr * curve.n_out + 1e-9)))
    low, high = _mixed_limits(curve, fpr, level=level, n_in=n_in, n_out=n_out)
    value = hits / curve.n_in
    method = "Clopper-Pearson mixed over the threshold's rank"
    return RateAtFpr(
        fpr=fpr,
        estimate=Estimate(
            value=value,
            low=min(low, value),
            high=max(high, value),
            level=level,
            n=n_in + n_out,
            method=method,
        ),
        at_threshold=rates.share(hits, curve.n_in, level, effective=n_in),
        realised_fpr=rates.share(false, curve.n_out, level, effective=n_out),
        resolved=fpr * n_out >= 10 - 1e-9,
    )


def tprs_at_fprs(
    curve: Roc,
    fprs: Sequence[float] = FPRS,
    level: float = 0.95,
    *,
    independent: tuple[int, int] | None = None,
) -> tuple[RateAtFpr, ...]:
    """Return `tpr_at_fpr` for several false-positive rates."""
    return tuple(tpr_at_fpr(curve, fpr, level, independent=independent) for fpr in fprs)


def exposed_rate(found: Sequence[RateAtFpr]) -> RateAtFpr | None:
    """Return the rate with at least ten times as many members as by guessing; None without one.

    Only resolved rates of `FEW` count, by the lower limit of their interval; of several, the one
    that exceeds guessing most.
    """
    some = [
        rate
        for rate in found
        if rate.fpr in FEW and rate.resolved and rate.estimate.low >= TIMES * rate.fpr
    ]
    return max(some, key=lambda rate: rate.estimate.low / rate.fpr, default=None)


def may_expose(curve: Roc, fpr: float) -> bool:
    """Return whether the TPR at an FPR is high enough for `exposed_rate` to count it.

    Needs no interval: the lower limit is never above the rate itself.
    """
    hits, _ = _hits_with_at_most(curve, int(np.floor(fpr * curve.n_out + 1e-9)))
    return hits >= TIMES * fpr * curve.n_in


def _hits_with_at_most(curve: Roc, count: int) -> tuple[int, int]:
    """Return (true, false) positives of the lowest threshold with at most `count` false ones."""
    if count >= curve.n_out:
        return curve.n_in, curve.n_out
    # Everything above the (count+1)-th largest non-member: a tie with it would take it along.
    barrier = curve.nonmembers[curve.n_out - 1 - count]
    hits = curve.n_in - int(np.searchsorted(curve.members, barrier, side="right"))
    false = curve.n_out - int(np.searchsorted(curve.nonmembers, barrier, side="right"))
    return hits, false


def _mixed_limits(
    curve: Roc, fpr: float, level: float, n_in: int, n_out: int
) -> tuple[float, float]:
    """Return Clopper-Pearson's limits mixed over the rank that the true threshold may have.

    The number C of non-members at or above the threshold with the true false-positive rate
    `fpr` is Binomial(n_out, fpr), so that threshold lies between the C-th and the (C+1)-th
    largest non-member; members above the former are in at least, those above the latter at
    most.
    """
    tail = (1.0 - checks.level(level)) / 2.0
    # Ranks outside these quantiles have a negligible weight.
    ends = bdtrik(np.array([1e-9, 1 - 1e-9]), n_out, fpr)
    ranks = np.arange(max(int(ends[0]) - 1, 0), min(int(ends[1]) + 2, n_out) + 1)
    weights = np.exp(
        # The binomial probability of each rank.
        gammaln(n_out + 1)
        - gammaln(ranks + 1)
        - gammaln(n_out - ranks + 1)
        + xlogy(ranks, fpr)
        + xlog1py(n_out - ranks, -fpr)
    )
    # Neighbouring ranks share a term, each limit taking the one that makes it wider.
    first = np.arange(0, len(ranks), -(-len(ranks) // _RANKS))
    last = np.concatenate([first[1:], [len(ranks)]]) - 1
    weights = np.add.reduceat(weights / weights.sum(), first)
    # Ranks among independent non-members, as places among all rows; hits likewise.
    places = curve.n_out / n_out
    least = _hits_upto(curve, np.floor(ranks[first] * places)) * (n_in / curve.n_in)
    most = _hits_upto(curve, np.ceil((ranks[last] + 1) * places)) * (n_in / curve.n_in)

    low = _low_end(*_distinct(least, weights), n_in, tail)
    # The upper limit of the hits is the lower one of the misses.
    hits, weights = _distinct(most, weights)
    return low, 1.0 - _low_end(n_in - hits[::-1], weights[::-1], n_in, tail)


def _distinct(hits: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct counts and the total weight of each."""
    values, place = np.unique(hits, return_inverse=True)
    return values, np.asarray(np.bincount(place, weights), np.float64)


def _low_end(hits: Floats, weights: Floats, n: int, tail: float) -> float:
    """Return the rate at which at least `hits` of n have the probability `tail`, by weight."""
    certain = float(weights[hits <= 0].sum())
    a = np.maximum(hits[hits > 0], 1e-9)
    w = weights[hits > 0]
    b = n - a + 1.0
    if certain >= tail or not len(a):
        return 0.0
    # The root lies between those of the fewest and of the most hits: of none, 0.
    ends = betaincinv(a[[0, -1]], b[[0, -1]], tail) * [not certain, 1]
    return float(
        brentq(
            lambda x: float(w @ betainc(a, b, x)) + certain - tail,
            max(ends[0] - 1e-9, 0.0),
            min(ends[1] + 1e-9, 1.0),
            xtol=1e-9,
        )
    )


def _hits_upto(curve: Roc, counts: Floats) -> Floats:
    """Return the members above each count-th largest non-member.

    A tie of that non-member with members and others counts as far as it is used up, as if it
    were broken by chance.
    """
    barrier = curve.nonmembers[::-1][np.clip(counts, 1, curve.n_out).astype(np.int64) - 1]

    def above(scores: Floats, side: Literal["left", "right"]) -> Floats:
        return (len(scores) - np.searchsorted(scores, barrier, side=side)).astype(np.float64)

    hits = above(curve.members, "right")
    tied_hits = above(curve.members, "left")
    false = above(curve.nonmembers, "right")
    tied_false = above(curve.nonmembers, "left")
    used = (counts - false) / (tied_false - false)
    result = hits + (tied_hits - hits) * used
    result[counts <= 0] = 0.0
    result[counts > curve.n_out] = curve.n_in
    return result
