"""The ROC curve and the area under it; tied scores are on the same side of every threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import rates


@dataclass(frozen=True, eq=False)
class Roc:
    """The ROC curve, kept as the sorted scores of both sides."""

    members: Floats
    """(n_in,) Scores of members, ascending."""
    nonmembers: Floats
    """(n_out,) Scores of non-members, ascending."""

    @property
    def n_in(self) -> int:
        """Number of rows of members."""
        return len(self.members)

    @property
    def n_out(self) -> int:
        """Number of rows of non-members."""
        return len(self.nonmembers)

    @cached_property
    def nonmembers_below(self) -> Ints:
        """(n_in,) Number of non-members with a lower score than each member."""
        return np.searchsorted(self.nonmembers, self.members, side="left")

    @cached_property
    def thresholds(self) -> Floats:
        """(d,) Infinity, then the distinct scores, descending; "member" if the score is >= it."""
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
    >>> from privacygauge.core.transcript import Transcript
    >>> from privacygauge.evaluate.roc import roc
    >>> curve = roc(Transcript(np.array([2.0, 1.0, 1.0]), np.array([True, True, False])))
    >>> curve.tpr.tolist(), curve.fpr.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.0, 1.0])
    """
    score = transcript.score
    secret = transcript.secret
    return Roc(np.sort(score[secret]), np.sort(score[~secret]))


def auc(transcript: Transcript, level: float = 0.95, *, curve: Roc | None = None) -> Estimate:
    """Return the area under the ROC curve: P(member's score > non-member's) + P(equal) / 2.

    Parameters
    ----------
    transcript : Transcript
    level : float
        In (0, 1).
    curve : Roc, optional
        ``roc(transcript)``, if already computed.

    Returns
    -------
    Estimate
        In [0, 1]; 1/2 for scores independent of membership. `n` is the number of units.

    Notes
    -----
    DeLong, DeLong & Clarke-Pearson (1988), with the interval on the logit scale by Student's
    quantile. Rows of one unit are summed before the variance is taken (Obuchowski 1997), with fewer
    degrees of freedom if a few large units carry most of it. Without visible variance (an area of 0
    or 1, or all scores equal) the interval is that of min(n_in, n_out) independent pairs.
    """
    curve = curve or roc(transcript)
    return area_of_curve(curve, level, transcript if transcript.repeated else None)


def area_of_curve(curve: Roc, level: float = 0.95, repeated: Transcript | None = None) -> Estimate:
    """Return the AUC, as `auc` does, of a curve with independent rows.

    If units repeat, `repeated` is the transcript of the curve.
    """
    inside, outside = placements(curve)
    value = float(inside.mean())
    if repeated is not None:
        variance, df = rates.clustered_variance(
            influences(repeated, curve), repeated.unit, repeated.secret
        )
        n = checks.n_distinct(repeated.unit)
    else:
        n = curve.n_in + curve.n_out
        parts = []
        for x in (inside, outside):
            # Bitwise equal to np.var with ddof=1, in half of the time for few values.
            apart = x - x.mean()
            size = len(x)
            parts.append(float((apart * apart).sum()) / (size - 1) / size if size > 1 else 0.0)
        variance = sum(parts)
        # Welch's degrees of freedom: the smaller side carries most of the uncertainty.
        sizes = (curve.n_in, curve.n_out)
        spread = sum(p**2 / max(size - 1, 1) for p, size in zip(parts, sizes, strict=True))
        df = max(variance**2 / spread if spread > 0 else 1.0, 1.0)
    # Without visible variance, as sure as this many independent pairs: never more than units.
    pairs = min(curve.n_in, curve.n_out, n)
    if variance <= 0.0 or value in (0.0, 1.0):
        return rates.on_pairs(value, pairs, level, n)
    half = float(stdtrit(df, 0.5 + checks.level(level) / 2)) * np.sqrt(variance)
    return rates.on_logit_scale(value, half, level=level, n=n, method="DeLong")


def supported_accuracy(auc: Estimate) -> Estimate:
    """Return a lower bound on the balanced accuracy of the best threshold, from the AUC.

    Parameters
    ----------
    auc : Estimate
        Area under the ROC curve, in [0, 1].

    Returns
    -------
    Estimate
        In [1/2, 1]; value and limits are those of the AUC, transformed.

    Notes
    -----
    If no threshold has an advantage above J, the curve lies below ``FPR + J`` and below 1, so
    ``AUC <= 1 - (1 - J)^2 / 2``. For every curve the best balanced accuracy ``(1 + J) / 2`` is
    therefore at least ``1 - sqrt((1 - AUC) / 2)``. No threshold is chosen, so no correction for its
    choice is needed.

    Examples
    --------
    >>> found = supported_accuracy(Estimate(0.82, 0.68, 0.92, 0.95, 100, "DeLong"))
    >>> round(found.low, 3), round(found.value, 3), round(found.high, 3)
    (0.6, 0.7, 0.8)
    """
    low, value, high = (
        max(0.5, 1.0 - math.sqrt((1.0 - x) / 2.0)) for x in (auc.low, auc.value, auc.high)
    )
    method = f"least of the best threshold, by the AUC: {auc.method}"
    return replace(auc, value=value, low=low, high=high, method=method)


def placements(curve: Roc) -> tuple[Floats, Floats]:
    """Return the placement values of DeLong et al., (n_in,) and (n_out,), in order of score.

    For each member the share of non-members below it, and for each non-member the share of members
    above it; ties count half.
    """
    below = curve.nonmembers_below
    upto = np.searchsorted(curve.nonmembers, curve.members, side="right")
    # The same counts from the other side, without a second search: the j-th non-member (from 0) is
    # below a member exactly if more than j non-members are.
    first = np.cumsum(np.bincount(below, minlength=curve.n_out + 1)[::-1])[::-1][1:]
    last = np.cumsum(np.bincount(upto, minlength=curve.n_out + 1)[::-1])[::-1][1:]
    return (below + upto) / (2.0 * curve.n_out), (first + last) / (2.0 * curve.n_in)


def influences(transcript: Transcript, curve: Roc) -> Floats:
    """Return the influence of each row on the AUC, (m,).

    Influences sum to 0; for independent rows, the sum of their squares estimates the variance of
    the AUC.
    """
    result = np.empty(len(transcript))
    inside, outside = placements(curve)
    sides = ((transcript.secret, inside), (~transcript.secret, outside))
    for side, shares in sides:
        rows = np.flatnonzero(side)
        # Placements come by ascending score: put back in the order of rows.
        by_score = rows[np.argsort(transcript.score[rows])]
        result[by_score] = (shares - inside.mean()) / len(rows)
    return result
