"""The attack after members and non-members are matched on reference energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import rates

SMALLEST = 20
"""Fewest members, and fewest non-members, that matching needs; groups are counted."""
MOST_BINS = 100
"""Most bins; more would not visibly change an interval."""


@dataclass(frozen=True, eq=False)
class MatchedAttack:
    """The area under an attack's ROC curve before and after matching on reference energy."""

    transcript: Transcript
    """Scores of the attack, without matching."""
    weight: Floats
    """(m,) Weight of each row after matching; 0 in a bin with one side only."""
    before: float
    """AUC without weights."""
    after: Estimate
    """AUC with the weights: that of the attack among samples of equal difficulty to a model that
    saw none of them."""
    fall: Estimate
    """AUC before minus AUC after matching: the part due to a shift between members and non-members;
    near 0 without one."""
    n_bins: int
    """Number of bins of reference energy."""
    kept: float
    """Share of the rows in bins with both sides."""

    @property
    def fires(self) -> bool:
        """True where matching changes the AUC significantly, in either direction."""
        return self.fall.excludes(0.0)


def matched_attack(
    transcript: Transcript, reference: Floats, level: float = 0.95
) -> MatchedAttack | Skipped:
    """Evaluate the attack among members and non-members that are alike in reference energy.

    Parameters
    ----------
    transcript : Transcript
        The attack's scores beside the secrets, by group.
    reference : ndarray of float, shape (m,)
        The reference model's energy of the same rows.
    level : float
        Level of both intervals, in (0, 1).

    Returns
    -------
    MatchedAttack or Skipped
        Skipped with fewer than 20 groups of members or of non-members, or where no bin holds both.

    Notes
    -----
    Rows fall in bins with equal shares of all rows, a bin for every five groups of the smaller
    side and 100 at most; equal energies share a bin. In a bin with a members and b non-members, a
    member weighs b / (a + b) and a non-member a / (a + b) (the overlap weights of Li, Morgan &
    Zaslavsky 2018), so that both sides have the same weight in every bin and no draw is needed.
    Intervals: the infinitesimal jackknife over groups, weights included, with Student's quantile;
    that of `after` on the logit scale.

    Assumes that within a bin, members and non-members differ only in membership. A difference that
    the reference energy does not show (a topic that both models find equally hard) remains:
    matching can only remove a difference, and its silence proves nothing.
    """
    checks.level(level)
    reference = checks.floats(reference, "reference", length=len(transcript))
    sides = (transcript.secret, ~transcript.secret)
    smaller = min(checks.n_distinct(transcript.unit[side]) for side in sides)
    if smaller < SMALLEST:
        return Skipped(
            "matched attack",
            f"needs {SMALLEST} groups of members and of non-members, got {smaller}",
        )
    cuts = np.linspace(0, 1, min(MOST_BINS, smaller // 5) + 1)[1:-1]
    bins: Ints = np.searchsorted(np.quantile(reference, cuts), reference, side="right")
    shares = _Shares.of(bins, transcript.secret)
    weight = shares.weight(transcript.secret)
    if not weight.any():
        return Skipped("matched attack", "no range of reference energies holds both sides")
    flat = _area(transcript, np.ones(len(transcript)))
    matched = _area(transcript, weight)
    bent = matched.influence + shares.influence(transcript.secret, matched.gap)
    unit = transcript.unit
    n = transcript.n_units
    student = float(stdtrit(n - 1, 0.5 + level / 2))
    error = student * rates.standard_error_of_units(bent, unit)
    of_gain = student * rates.standard_error_of_units(flat.influence - bent, unit)
    method = "infinitesimal jackknife"
    value = min(max(matched.value, 0.0), 1.0)
    if error <= 0 or value in (0.0, 1.0):
        # A separation without a single wrong pair has no spread to estimate.
        after = rates.on_pairs(value, smaller, level, n)
    else:
        after = rates.on_logit_scale(value, error, level=level, n=n, method=method)
    fall = flat.value - matched.value
    return MatchedAttack(
        transcript=transcript,
        weight=checks.frozen(weight),
        before=flat.value,
        after=after,
        fall=Estimate(
            value=fall, low=fall - of_gain, high=fall + of_gain, level=level, n=n, method=method
        ),
        n_bins=shares.n_bins,
        kept=float(np.mean(weight > 0)),
    )


@dataclass(frozen=True, eq=False)
class _Shares:
    """Number of rows of each side in every bin."""

    bins: Ints
    inside: Floats
    outside: Floats

    @classmethod
    def of(cls, bins: Ints, secret: Bools) -> _Shares:
        n = int(bins.max()) + 1
        counts = (np.bincount(bins[side], minlength=n).astype(float) for side in (secret, ~secret))
        return cls(bins, *counts)

    @property
    def n_bins(self) -> int:
        return int(np.count_nonzero(self.inside + self.outside))

    def weight(self, secret: Bools) -> Floats:
        """Return the other side's share of the row's bin, (m,)."""
        total = np.maximum(self.inside + self.outside, 1.0)
        return np.where(secret, (self.outside / total)[self.bins], (self.inside / total)[self.bins])

    def influence(self, secret: Bools, gap: Floats) -> Floats:
        """Return each row's influence through the weights of its bin, (m,).

        One more member takes b / (a + b)^2 from the weight of every member of the bin, and gives
        as much to every non-member; one more non-member does the reverse, with a in place of b.
        """
        signed = np.bincount(
            self.bins, weights=np.where(secret, gap, -gap), minlength=len(self.inside)
        )
        square = np.maximum(self.inside + self.outside, 1.0) ** 2
        up = (self.inside / square * signed)[self.bins]
        down = (self.outside / square * signed)[self.bins]
        bent: Floats = np.where(secret, -down, up)
        return bent


@dataclass(frozen=True, eq=False)
class _Area:
    """A weighted AUC, and the influence of every row on it."""

    value: float
    gap: Floats
    """(m,) The row's placement less the area, over the weight of its side."""
    influence: Floats
    """(m,) The gap times the row's own weight."""


def _area(transcript: Transcript, weight: Floats) -> _Area:
    score = transcript.score
    secret = transcript.secret
    placement = np.empty(len(score))
    placement[secret] = _share_below(score[secret], score[~secret], weight[~secret])
    placement[~secret] = 1 - _share_below(score[~secret], score[secret], weight[secret])
    value = float(np.average(placement[secret], weights=weight[secret]))
    side = np.where(secret, weight[secret].sum(), weight[~secret].sum())
    gap = (placement - value) / side
    return _Area(value, gap, weight * gap)


def _share_below(score: Floats, others: Floats, weight: Floats) -> Floats:
    """Return the share of the others' weight below each score, ties as halves."""
    order = np.argsort(others)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    below, upto = (np.searchsorted(others[order], score, side=side) for side in ("left", "right"))
    shares: Floats = (total[below] + total[upto]) / (2 * total[-1])
    return shares
