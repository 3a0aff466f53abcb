"""The numbers behind the plots of attacks, thinned without moving the reported points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rate_at_fpr import FPRS
from privacygauge.evaluate.roc import Roc

POINTS = 500
"""Largest number of points of a curve; a longer one is thinned."""

BINS = 40
"""Largest number of bins of a score histogram; fewer records get fewer bins."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A ROC curve, thinned."""

    attack: Evaluation
    """The attack of the curve."""
    thresholds: Floats
    """(p,) Thresholds, descending from infinity."""
    true_positives: Ints
    """(p,) Members at or above each threshold."""
    false_positives: Ints
    """(p,) Non-members at or above each threshold."""

    @property
    def tpr(self) -> Floats:
        """(p,) True-positive rates, rising from 0 to 1."""
        return self.true_positives / self.attack.n_in

    @property
    def fpr(self) -> Floats:
        """(p,) False-positive rates, rising from 0 to 1."""
        return self.false_positives / self.attack.n_out


@dataclass(frozen=True, eq=False)
class ScoreShares:
    """Histogram of the scores of one attack, for members and for non-members."""

    attack: Evaluation
    """The attack."""
    edges: Floats
    """(b + 1,) Edges of the bins; scores beyond the ends are counted in the outer bins."""
    members: Floats
    """(b,) Share of the members in each bin."""
    nonmembers: Floats
    """(b,) Share of the non-members in each bin."""


def roc_curves(evaluations: Sequence[Evaluation]) -> tuple[Curve, ...]:
    """Return the thinned ROC curve of each attack, in the order given.

    Each has at most `POINTS` points, all from the full curve, and the full curve's TPR at every
    reported FPR.
    """
    found = []
    for attack in evaluations:
        curve = attack.roc
        kept = kept_points(attack.roc)
        counts = curve.true_positives[kept], curve.false_positives[kept]
        found.append(Curve(attack, curve.thresholds[kept], *counts))
    return tuple(found)


def kept_points(curve: Roc, limit: int = POINTS) -> Ints:
    """Return the indices of the points of a ROC curve to keep, at most `limit` if that is >= 500.

    Keeps the ends, the point of the best accuracy, the last point within every reported FPR, and
    points at steps of 1% and of equal ratio along both axes: between two neighbours the curve moves
    by no more than one step along either axis, unless it jumps.
    """
    hits = curve.true_positives
    false = curve.false_positives
    if len(hits) <= limit:
        return np.arange(len(hits))
    n_in = curve.n_in
    n_out = curve.n_out
    # False positives allowed at each reported FPR; 1e-9 undoes rounding, as in 0.001 * 3000.
    within = np.floor(np.array(FPRS) * n_out + 1e-9)
    # Steps of 1% for linear axes, equal ratios for logarithmic ones; ratios from both ends of the
    # TPR, since plots may show either end enlarged.
    marks = np.concatenate([np.linspace(0, n_out, 101), np.geomspace(1, n_out, 120), within])
    last_within = np.searchsorted(false, np.floor(marks), side="right") - 1
    found = np.concatenate([np.linspace(0, n_in, 101), np.geomspace(1, n_in, 60)])
    missed = n_in - np.geomspace(1, n_in, 60)
    first_with = np.searchsorted(hits, np.ceil(np.concatenate([found, missed])), side="left")
    # TPR - FPR times n_in * n_out, in integers.
    best = int(np.argmax(hits * n_out - false * n_in))
    ends = [0, best, len(hits) - 1]
    return np.unique(np.concatenate([ends, last_within, first_with])).astype(np.int64)


def score_shares(attack: Evaluation) -> ScoreShares:
    """Return the histogram of an attack's scores, on both sides.

    Bins have equal width and span all but the outermost half percent of scores at either end.
    """
    inside = attack.roc.members
    outside = attack.roc.nonmembers
    # Both sides are sorted, so positions are quantiles; outliers would squeeze all other bins.
    low = min(x[int(0.005 * (len(x) - 1))] for x in (inside, outside))
    high = max(x[int(np.ceil(0.995 * (len(x) - 1)))] for x in (inside, outside))
    # The Rice rule, 2 n^(1/3), for the smaller side.
    n_bins = int(min(BINS, np.ceil(2 * min(len(inside), len(outside)) ** (1 / 3))))
    edges = np.linspace(low, high if high > low else low + 1.0, n_bins + 1)
    # Scores beyond the outermost edges count in the outer bins, so only inner edges are searched.
    upto = [
        np.concatenate([[0], np.searchsorted(x, edges[1:-1], side="left"), [len(x)]])
        for x in (inside, outside)
    ]
    shares = [np.diff(counts) / counts[-1] for counts in upto]
    return ScoreShares(attack, edges, *shares)
