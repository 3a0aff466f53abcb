"""Evaluation of one attack from its scores and guesses, and the curves behind its plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.evaluate import decision, epsilon
from privacygauge.evaluate.rate_at_fpr import FPRS, RateAtFpr, tprs_at_fprs
from privacygauge.evaluate.roc import Roc, auc, roc


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Results of one attack, each number with its interval."""

    name: str
    """Name of the attack."""
    variant: str
    """Variant of the attack; empty if there is only one."""
    thresholds: str
    """Kind of threshold: ``per-class``, ``global`` or ``none``."""
    rule: str
    """Rule that chose the threshold of the guesses."""
    n_in: int
    """Number of rows of members."""
    n_out: int
    """Number of rows of non-members."""
    true_positives: int
    """Members guessed to be members."""
    false_positives: int
    """Non-members guessed to be members."""
    accuracy: Estimate
    """Balanced accuracy of the guesses, in [0, 1]; 1/2 is chance."""
    advantage: Estimate
    """TPR - FPR of the guesses, in [-1, 1]; 0 is chance."""
    precision: Estimate | Skipped
    """Precision of "member" at equal numbers of members and non-members, in [0, 1]."""
    recall: Estimate
    """Share of the members guessed to be members (TPR), in [0, 1]."""
    false_positive_rate: Estimate
    """Share of the non-members guessed to be members (FPR), in [0, 1]."""
    predictive_values: tuple[tuple[float, Estimate | Skipped], ...]
    """Pairs of a prior (share of members in the population) and the precision at it."""
    epsilon: Estimate
    """Lower bound on epsilon from the guesses (`low`)."""
    auc: Estimate
    """Area under the ROC curve of the scores, in [0, 1]; 1/2 is chance."""
    tpr_at_fpr: tuple[RateAtFpr, ...]
    """True-positive rates at false-positive rates."""
    best_accuracy: Estimate
    """Balanced accuracy of the best threshold in hindsight, which no attacker knows beforehand."""
    roc: Roc
    """The ROC curve."""
    notes: tuple[str, ...] = ()
    """Remarks of the attack, for the report."""

    @property
    def title(self) -> str:
        """The attack's name with its variant and kind of threshold."""
        return title(self.name, self.variant, self.thresholds)


def title(name: str, variant: str, thresholds: str) -> str:
    """Return an attack's title in reports, unique among the attacks of an audit."""
    extra = [x for x in (variant, thresholds) if x and x != "none"]
    return f"{name} ({', '.join(extra)})" if extra else name


def evaluate(
    name: str,
    transcript: Transcript,
    decisions: Decisions,
    level: float = 0.95,
    *,
    variant: str = "",
    thresholds: str = "none",
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """Evaluate an attack from its scores and its guesses.

    Parameters
    ----------
    name : str
    transcript : Transcript
        The attack's scores.
    decisions : Decisions
        Its guesses on the same rows.
    level : float
        Level of every interval, in (0, 1).
    variant, thresholds : str
        Form of the attack.
    notes : tuple of str
        Remarks of the attack, for the report.
    """
    checks.level(level)
    # Sorted once, for all results about scores.
    curve = roc(transcript)
    # Of units, not of rows: rows of one person are one observation.
    independent = transcript.independent
    return Evaluation(
        name,
        variant,
        thresholds=thresholds,
        rule=decisions.rule,
        n_in=decisions.n_in,
        n_out=decisions.n_out,
        true_positives=decisions.true_positives,
        false_positives=decisions.false_positives,
        accuracy=decision.balanced_accuracy(decisions, level),
        advantage=decision.advantage(decisions, level),
        precision=decision.precision(decisions, level),
        recall=decision.recall(decisions, level),
        false_positive_rate=decision.false_positive_rate(decisions, level),
        predictive_values=decision.predictive_values(decisions, level=level),
        epsilon=epsilon.epsilon_lower_bound(decisions, level=level),
        auc=auc(transcript, level, curve=curve),
        tpr_at_fpr=tprs_at_fprs(curve, level=level, independent=independent),
        best_accuracy=best_accuracy(curve, level, independent=independent),
        roc=curve,
        notes=notes,
    )


def best_accuracy(
    curve: Roc, level: float = 0.95, *, independent: tuple[int, int] | None = None
) -> Estimate:
    """Return the balanced accuracy of the best threshold in hindsight, in [1/2, 1].

    The value is optimistic, since the threshold was chosen on the judged rows. The interval is not:
    it is the Dvoretzky-Kiefer-Wolfowitz-Massart band, which holds for all thresholds at once, with
    half of the error for each side. On noise it contains 1/2. `independent` as in `tpr_at_fpr`.
    """
    n_in, n_out = independent or (curve.n_in, curve.n_out)
    # The best threshold is a member's score, or above all (`core.rules.best_threshold`).
    tpr = np.arange(curve.n_in, 0, -1) / curve.n_in
    fpr = (curve.n_out - curve.nonmembers_below) / curve.n_out
    value = max(0.0, float(np.max(tpr - fpr))) / 2 + 0.5
    # DKW with Massart's constant: P(sup |F_n - F| > x) <= 2 exp(-2 n x^2), set to half of the
    # error.
    error = np.log(4 / (1 - checks.level(level)))
    half = float(np.sqrt(error / (2 * n_in)) + np.sqrt(error / (2 * n_out))) / 2
    n = n_in + n_out
    return Estimate(
        value=value,
        low=max(0.5, value - half),
        high=min(1.0, value + half),
        level=level,
        n=n,
        method="DKW band",
    )


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
