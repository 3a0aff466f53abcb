"""The ROC curve, its area and single points, with ties moving together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import (
    bdtrik,
    betainc,
    betaincc,
    expit,
    gammaln,
    logit,
    stdtrit,
    xlog1py,
    xlogy,
)

from leakscope.core import checks
from leakscope.core.checks import Floats, Ints
from leakscope.core.estimate import Estimate
from leakscope.core.transcript import Transcript
from leakscope.errors import InputError
from leakscope.evaluate import rates

_RANKS = 256

FPRS = (0.1, 0.01, 0.001, 0.0001)
"""The false-positive rates that are reported."""


@dataclass(frozen=True, eq=False)
class Roc:
    """The ROC curve as its sufficient statistics: the sorted scores of both sides."""

    members: Floats
    """(n_in,) Members' scores, ascending."""
    nonmembers: Floats
    """(n_out,) Non-members' scores, ascending."""

    @property
    def n_in(self) -> int:
        """The number of members' rows."""
        return len(self.members)

    @property
    def n_out(self) -> int:
        """The number of non-members' rows."""
        return len(self.nonmembers)

    @cached_property
    def thresholds(self) -> Floats:
        """(d,) Infinity, then the distinct scores in falling order: "member if score >= t"."""
        # Two sorted runs: the stable sort merges them in linear time.
        merged = np.sort(np.concatenate([self.members, self.nonmembers]), kind="stable")
        distinct = merged[np.concatenate([[True], merged[1:] > merged[:-1]])]
        return np.concatenate([[np.inf], distinct[::-1]])

    @cached_property
    def true_positives(self) -> Ints:
        """(d,) Members at or above each threshold."""
        return self.n_in - np.searchsorted(self.members, self.thresholds, side="left")

    @cached_property
    def false_positives(self) -> Ints:
        """(d,) Non-members at or above each threshold."""
        return self.n_out - np.searchsorted(self.nonmembers, self.thresholds, side="left")

    @property
    def tpr(self) -> Floats:
        """(d,) True-positive rate at each threshold, rising from 0 to 1."""
        return self.true_positives / self.n_in

    @property
    def fpr(self) -> Floats:
        """(d,) False-positive rate at each threshold, rising from 0 to 1."""
        return self.false_positives / self.n_out


def roc(transcript: Transcript) -> Roc:
    """Return the ROC curve of a transcript.

    Parameters
    ----------
    transcript : Transcript

    Returns
    -------
    Roc
        Rows with equal scores are on the same side of every threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscope.core.transcript import Transcript
    >>> from leakscope.evaluate.roc import roc
    >>> curve = roc(Transcript(np.array([2.0, 1.0, 1.0]), np.array([True, True, False])))
    >>> curve.tpr.tolist(), curve.fpr.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.0, 1.0])
    """
    score, secret = transcript.score, transcript.secret
    return Roc(np.sort(score[secret]), np.sort(score[~secret]))


def auc(transcript: Transcript, level: float = 0.95, *, curve: Roc | None = None) -> Estimate:
    """Return the area under the ROC curve: P(member's score > non-member's) + P(equal) / 2.

    Parameters
    ----------
    transcript : Transcript
    level : float
        In (0, 1).
    curve : Roc, optional
        ``roc(transcript)``, where it is at hand.

    Returns
    -------
    Estimate
        In [0, 1]; 1/2 for scores that tell nothing; `n` is the number of targets.

    Notes
    -----
    DeLong, DeLong & Clarke-Pearson (1988), the interval made on the logit scale with Student's
    quantile; rows of one target are summed before the variance is taken (Obuchowski 1997). With
    no variance to be seen (an area of 0 or 1, or all scores equal) the interval is that of
    min(n_in, n_out) independent pairs.
    """
    curve = curve or roc(transcript)
    inside = _placements(curve.members, curve.nonmembers)
    value = float(inside.mean())
    if transcript.repeated:
        variance, n, df = _clustered_variance(transcript, curve, value)
    else:
        variance, n, df = _delong_variance(inside, _placements(curve.nonmembers, curve.members))
    pairs = min(curve.n_in, curve.n_out, n)
    if variance <= 0.0 or value in (0.0, 1.0):
        low, high = rates.clopper_pearson(value * pairs, pairs, level)
        return Estimate(value, low, high, level, n, "Clopper-Pearson on pairs")
    half = float(stdtrit(df, 0.5 + checks.level(level) / 2)) * np.sqrt(variance)
    half /= value * (1 - value)
    low, high = float(expit(logit(value) - half)), float(expit(logit(value) + half))
    return Estimate(value, min(low, value), max(high, value), level, n, "DeLong on the logit scale")


@dataclass(frozen=True)
class RateAtFpr:
    """The true-positive rate at a false-positive rate."""

    fpr: float
    """The false-positive rate asked for."""
    estimate: Estimate
    """TPR of the best threshold with at most that FPR on the rows at hand. Its interval holds
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
        How many different targets stand behind the members' and the non-members' rows
        (`Transcript.independent`); all rows where nothing is given. The intervals are those of
        so many rows, which is cautious where rows of one target are not all alike.

    Returns
    -------
    RateAtFpr
        The value is that of a threshold, with ties on one side of it; nothing is interpolated.
        Where a tie straddles the rate, the interval also holds what breaking it by chance gives.

    Notes
    -----
    How many of n_out non-members lie above the threshold with the true rate `fpr` is
    Binomial(n_out, fpr), whatever the scores: Clopper-Pearson's limits are mixed over that law.
    An interval for the members alone ignores that the threshold was chosen on the non-members
    at hand, and on pure noise leaves out chance two to three times too often.
    """
    if not 0.0 < fpr < 1.0:
        raise InputError(f"fpr must be in (0, 1), got {fpr}")
    n_in, n_out = independent or (curve.n_in, curve.n_out)
    hits, false = _hits_with_at_most(curve, int(np.floor(fpr * curve.n_out + 1e-9)))
    low, high = _mixed_limits(curve, fpr, level, n_in, n_out)
    value = hits / curve.n_in
    method = "Clopper-Pearson mixed over the threshold's rank"
    return RateAtFpr(
        fpr,
        Estimate(value, min(low, value), max(high, value), level, n_in + n_out, method),
        rates.share(hits, curve.n_in, level, effective=n_in),
        rates.share(false, curve.n_out, level, effective=n_out),
        fpr * n_out >= 10 - 1e-9,
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
    ends = bdtrik(np.array([1e-9, 1 - 1e-9]), n_out, fpr)
    ranks = np.arange(max(int(ends[0]) - 1, 0), min(int(ends[1]) + 2, n_out) + 1)
    weights = np.exp(
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

    def below(x: float) -> float:  # rises from P(least = 0) to 1
        some = np.maximum(least, 1e-9)
        sure = betainc(some, n_in - some + 1.0, x)
        return float(weights @ np.where(least <= 0, 1.0, sure)) - tail

    def above(x: float) -> float:  # falls from 1 to P(most = n_in)
        others = np.maximum(n_in - most, 1e-9)
        sure = betaincc(most + 1.0, others, x)
        return float(weights @ np.where(most >= n_in, 1.0, sure)) - tail

    low = float(brentq(below, 0.0, 1.0)) if below(0.0) < 0 else 0.0
    high = float(brentq(above, 0.0, 1.0)) if above(1.0) < 0 else 1.0
    return low, high


def _hits_upto(curve: Roc, counts: Floats) -> Floats:
    """Return the members above each count-th largest non-member.

    A tie of that non-member with members and others counts as far as it is used up, as if it
    were broken by chance.
    """
    barrier = curve.nonmembers[::-1][np.clip(counts, 1, curve.n_out).astype(np.int64) - 1]

    def above(scores: Floats, side: Literal["left", "right"]) -> Floats:
        return (len(scores) - np.searchsorted(scores, barrier, side=side)).astype(np.float64)

    hits, tied_hits = above(curve.members, "right"), above(curve.members, "left")
    false, tied_false = above(curve.nonmembers, "right"), above(curve.nonmembers, "left")
    used = (counts - false) / (tied_false - false)
    result = hits + (tied_hits - hits) * used
    result[counts <= 0] = 0.0
    result[counts > curve.n_out] = curve.n_in
    return result


def _placements(values: Floats, others: Floats) -> Floats:
    """Return the share of `others` (ascending) below each value, ties counting one half."""
    below = np.searchsorted(others, values, side="left")
    upto = np.searchsorted(others, values, side="right")
    return (below + upto) / (2.0 * len(others))


def _delong_variance(inside: Floats, outside: Floats) -> tuple[float, int, float]:
    parts = [float(np.var(x, ddof=1)) / len(x) if len(x) > 1 else 0.0 for x in (inside, outside)]
    variance = sum(parts)
    # Welch's degrees of freedom: the smaller side carries most of the doubt.
    spread = sum(p**2 / max(len(x) - 1, 1) for p, x in zip(parts, (inside, outside), strict=True))
    df = variance**2 / spread if spread > 0 else 1.0
    return variance, len(inside) + len(outside), max(df, 1.0)


def _clustered_variance(
    transcript: Transcript, curve: Roc, value: float
) -> tuple[float, int, float]:
    score, secret = transcript.score, transcript.secret
    influence = np.empty(len(score))
    influence[secret] = (_placements(score[secret], curve.nonmembers) - value) / curve.n_in
    influence[~secret] = (1 - _placements(score[~secret], curve.members) - value) / curve.n_out
    _, unit = np.unique(transcript.target, return_inverse=True)
    sums = np.bincount(unit, weights=influence)
    n = len(sums)
    return float(np.sum(sums**2)) * n / max(n - 1, 1), n, float(max(n - 1, 1))
