"""True-positive rates at a false-positive rate, with exact intervals."""

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
"""Default false-positive rates of reports."""

FEW = (0.01, 0.001)
"""False-positive rates at which a few badly exposed records show."""

TIMES = 10.0
"""Smallest ratio of TPR to FPR at which a few records count as exposed."""


@dataclass(frozen=True)
class RateAtFpr:
    """The true-positive rate at a false-positive rate."""

    fpr: float
    """Requested false-positive rate, in (0, 1)."""
    estimate: Estimate
    """TPR of the best threshold with at most that FPR on these rows. The interval is for the TPR at
    the true FPR `fpr`: it allows for the sampling error of the threshold."""
    at_threshold: Estimate
    """The same TPR with Clopper-Pearson's interval, as if the threshold were given."""
    realised_fpr: Estimate
    """FPR of that threshold on these rows, with Clopper-Pearson's interval."""
    resolved: bool
    """Whether at least 10 false positives are expected; with fewer, n_out is too small for
    `fpr`."""


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
        rows. The intervals are for this many rows, which is conservative if the rows of a target
        differ.

    Returns
    -------
    RateAtFpr
        The value belongs to a threshold, with all ties on one side; nothing is interpolated. If a
        tie straddles the rate, the interval also covers the tie broken at random.

    Notes
    -----
    For any scores, the number of non-members above the threshold with true FPR `fpr` is
    Binomial(n_out, fpr); Clopper-Pearson's limits are mixed over that distribution. An interval for
    the members alone ignores that the threshold was chosen on these non-members: on pure noise it
    excludes chance two to three times too often.
    """
    checks.level(fpr, "fpr")
    n_in, n_out = independent or (curve.n_in, curve.n_out)
    # 1e-9, because fpr * n_out may be rounded to just below an integer.
    hits, false = _hits_with_at_most(curve, int(np.floor(fpr * curve.n_out + 1e-9)))
    low, high = _mixed_limits(curve, fpr, level=level, n_in=n_in, n_out=n_out)
    value = hits / curve.n_in
    method = "Clopper-Pearson mixed over the threshold's rank"
    return RateAtFpr(
        fpr=fpr,
        estimate=Estimate(
            value=value,
            # The value need not lie within limits that are mixed over other thresholds.
            low=min(low, value),
            high=max(high, value),
            level=level,
            n=n_in + n_out,
            method=method,
        ),
        at_threshold=rates.share(hits, curve.n_in, level, effective=n_in),
        realised_fpr=rates.share(false, curve.n_out, level, effective=n_out),
        # At least ten false positives are expected, or the rate rests on a handful of rows.
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
    """Return the rate with at least ten times as many members as by guessing, or None.

    Only resolved rates of `FEW` count, by their lower limit; of several, the one with the largest
    ratio to guessing.
    """
    some = [
        rate
        for rate in found
        if rate.fpr in FEW and rate.resolved and rate.estimate.low >= TIMES * rate.fpr
    ]
    return max(some, key=lambda rate: rate.estimate.low / rate.fpr, default=None)


def may_expose(curve: Roc, fpr: float) -> bool:
    """Return whether the TPR at an FPR is high enough for `exposed_rate` to count it.

    A cheap check without an interval: the lower limit is never above the rate itself.
    """
    hits, _ = _hits_with_at_most(curve, int(np.floor(fpr * curve.n_out + 1e-9)))
    return hits >= TIMES * fpr * curve.n_in


def _hits_with_at_most(curve: Roc, count: int) -> tuple[int, int]:
    """Return (true, false) positives of the lowest threshold with at most `count` false ones."""
    if count >= curve.n_out:
        return curve.n_in, curve.n_out
    # Strictly above the (count + 1)-th largest non-member: a score tied with it would include it.
    barrier = curve.nonmembers[curve.n_out - 1 - count]
    hits = curve.n_in - int(np.searchsorted(curve.members, barrier, side="right"))
    false = curve.n_out - int(np.searchsorted(curve.nonmembers, barrier, side="right"))
    return hits, false


def _mixed_limits(
    curve: Roc, fpr: float, level: float, n_in: int, n_out: int
) -> tuple[float, float]:
    """Return Clopper-Pearson's limits mixed over the possible ranks of the true threshold.

    The number C of non-members at or above the threshold with true FPR `fpr` is
    Binomial(n_out, fpr), so this threshold lies between the C-th and the (C+1)-th largest
    non-member. Its hits are at least the members above the former, and at most those above the
    latter.
    """
    tail = (1.0 - checks.level(level)) / 2.0
    # Ranks outside these quantiles have negligible weight.
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
    # At most _RANKS terms: neighbouring ranks share one, each limit by the rank that widens it.
    first = np.arange(0, len(ranks), -(-len(ranks) // _RANKS))
    last = np.concatenate([first[1:], [len(ranks)]]) - 1
    weights = np.add.reduceat(weights / weights.sum(), first)
    # Ranks among independent non-members are scaled to places among all rows, hits back again.
    places = curve.n_out / n_out
    least = _hits_upto(curve, np.floor(ranks[first] * places)) * (n_in / curve.n_in)
    most = _hits_upto(curve, np.ceil((ranks[last] + 1) * places)) * (n_in / curve.n_in)
    ends_of_hits = []
    for hits in (least, most):
        # The distinct counts, ascending, and the total weight of each.
        distinct, place = np.unique(hits, return_inverse=True)
        total = np.asarray(np.bincount(place, weights), np.float64)
        ends_of_hits.append((distinct, total))
    low = _low_end(*ends_of_hits[0], n_in, tail)
    # The upper limit for hits is one minus the lower limit for misses.
    hits, weights = ends_of_hits[1]
    return low, 1.0 - _low_end(n_in - hits[::-1], weights[::-1], n_in, tail)


def _low_end(hits: Floats, weights: Floats, n: int, tail: float) -> float:
    """Return the rate x at which the weighted mean of P[Binomial(n, x) >= hits] equals `tail`."""
    # At least 0 hits are certain at any rate; 1e-9 keeps scaled counts inside the beta function.
    certain = float(weights[hits <= 0].sum())
    a = np.maximum(hits[hits > 0], 1e-9)
    w = weights[hits > 0]
    b = n - a + 1.0
    if certain >= tail or not len(a):
        return 0.0
    # The root lies between the single roots of the fewest and of the most hits; from 0 if some
    # weight is on no hits.
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
    """Return the number of members above each count-th largest non-member.

    Members tied with that non-member count in proportion to the tied non-members that `counts`
    includes, as if ties were broken at random.
    """
    barrier = curve.nonmembers[::-1][np.clip(counts, 1, curve.n_out).astype(np.int64) - 1]

    def above(scores: Floats, side: Literal["left", "right"]) -> Floats:
        return (len(scores) - np.searchsorted(scores, barrier, side=side)).astype(np.float64)

    # Strictly above the barrier, and with its ties; `used` is the share of tied non-members that
    # the count reaches into.
    hits = above(curve.members, "right")
    tied_hits = above(curve.members, "left")
    false = above(curve.nonmembers, "right")
    tied_false = above(curve.nonmembers, "left")
    used = (counts - false) / (tied_false - false)
    result = hits + (tied_hits - hits) * used
    result[counts <= 0] = 0.0
    result[counts > curve.n_out] = curve.n_in
    return result
