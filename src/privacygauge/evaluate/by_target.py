"""Attacks per record: right guesses about it, and releases with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit
from scipy.stats import mannwhitneyu

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.rules import best_threshold
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import decision, epsilon, rates
from privacygauge.evaluate.claim import bonferroni_level
from privacygauge.evaluate.direction import InvertedAttack, below_chance
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.rate_at_fpr import RateAtFpr, tprs_at_fprs
from privacygauge.evaluate.rates import correlation, correlation_p_value, wilson
from privacygauge.evaluate.roc import Roc, auc, influences, placements, roc
from privacygauge.evaluate.slices import holm

FPRS = (0.1, 0.01)
"""False-positive rates at which the TPR is reported for each record."""

RULE = "learnt on the adversary's own releases"


@dataclass(frozen=True, eq=False)
class TargetScores:
    """An attack's scores for one record.

    The adversary learns from its own releases and is evaluated on those under audit. If it has
    separate own releases for each release under audit, there are several blocks.
    """

    own: Floats
    """(b, s) Scores of the adversary's own releases, s in each of b blocks."""
    inside: Bools
    """(b, s) True where the record was in that own release."""
    score: Floats
    """(t,) Scores of the releases under audit."""
    secret: Bools
    """(t,) True where the record was in the release."""
    release: Ints
    """(t,) Index of the release, which is the independent unit; records may share releases."""
    block: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """(t,) Index of the block that each score was learnt from; default: all 0."""

    def __post_init__(self) -> None:
        n = len(self.score)
        if self.own.ndim != 2 or self.own.shape != self.inside.shape:
            raise InputError(
                "own and inside must have the shape (b, s), got "
                f"{self.own.shape} and {self.inside.shape}"
            )
        block = self.block if len(self.block) else np.zeros(n, np.int64)
        object.__setattr__(self, "block", checks.integers(block, "block", length=n))

    def transcript(self) -> Transcript:
        """Return scores with secrets, one row per release under audit."""
        return Transcript(self.score, self.secret)

    def guesses(self, cuts: Sequence[float]) -> Decisions:
        """Return the guesses by one threshold per block, shape (b,)."""
        guess = self.score >= np.asarray(cuts)[self.block]
        return Decisions(guess, self.secret, rule=f"threshold {RULE}")

    def best_cuts(self) -> list[float]:
        """Return each block's threshold with the best balanced accuracy on its own releases."""
        rows = zip(self.own, self.inside, strict=True)
        return [best_threshold(own[inside], own[~inside]) for own, inside in rows]

    def epsilon_cuts(self, level: float) -> list[float]:
        """Return the threshold of each block with the largest epsilon bound on its own releases."""
        rows = zip(self.own, self.inside, strict=True)
        return [epsilon.best_cut(own, inside, level=level)[1] for own, inside in rows]

    def own_auc(self) -> float:
        """Return the mean area under the ROC curve on the adversary's own releases."""
        rows = zip(self.own, self.inside, strict=True)
        areas = [placements(Roc(np.sort(o[i]), np.sort(o[~i])))[0].mean() for o, i in rows]
        return float(np.mean(areas))


@dataclass(frozen=True, eq=False)
class TargetEvaluation:
    """Results of one attack on one record."""

    auc: Estimate
    """Area under the ROC curve; 1/2 is chance."""
    accuracy: Estimate
    """Balanced accuracy of guesses by a threshold learnt on the adversary's own releases, in [0,
    1]; 1/2 is chance."""
    tpr_at_fpr: tuple[RateAtFpr, ...]
    """True-positive rates at the false-positive rates `FPRS`."""
    epsilon: Estimate
    """Lower bound on epsilon (`low`), by a threshold learnt on the adversary's own releases."""
    epsilon_limit: float
    """Bound of a perfect attack on this number of releases."""


@dataclass(frozen=True, eq=False)
class AttackEvaluation:
    """Results of one attack on each of several records."""

    name: str
    """Name of the attack."""
    variant: str
    """Variant of the attack; empty if there is only one."""
    targets: tuple[TargetEvaluation, ...]
    """Results, one per record."""
    own_auc: Floats
    """(r,) AUC of each record on the adversary's own releases. It does not use the releases under
    audit, so attacks and records may be chosen by it."""
    told: Bools
    """(r,) True for records whose membership the releases reveal significantly: by a Mann-Whitney
    test, corrected by Holm for the number of records, so that with the level's confidence none is
    a false positive."""
    auc: Estimate
    """Mean AUC of the records; its interval covers the sampling of releases."""
    accuracy: Estimate
    """Mean balanced accuracy of the guesses, over records."""
    tpr_at_fpr: tuple[tuple[float, float], ...]
    """Pairs of a false-positive rate and the mean true-positive rate at it, over records."""
    true_positives: int
    """Guesses "in" for releases with the record, summed over records."""
    false_positives: int
    """Guesses "in" for releases without the record, summed over records."""
    n_in: int
    """Releases under audit with the record, summed over records."""
    n_out: int
    """Releases under audit without the record, summed over records."""
    notes: tuple[str, ...] = ()
    """Remarks of the attack, for the report."""
    inverted: tuple[InvertedAttack, ...] = ()
    """This attack, if its AUC is significantly below 1/2: on average, or on the record whose AUC on
    the adversary's own releases is farthest from 1/2."""

    @property
    def title(self) -> str:
        """The attack's name with its variant."""
        return title(self.name, self.variant, "none")

    @property
    def aucs(self) -> Floats:
        """(r,) The AUC of each record."""
        return np.array([target.auc.value for target in self.targets])


@dataclass(frozen=True, eq=False)
class RankedTargets:
    """Records in descending order of an attack's AUC, thinned if there are many."""

    position: Ints
    """(p,) Indices of the records."""
    rank: Ints
    """(p,) Ranks by AUC among all records; 1 is the highest AUC."""
    auc: Floats
    """(p,) AUC of each record."""
    low: Floats
    """(p,) Lower limits of the intervals."""
    high: Floats
    """(p,) Upper limits of the intervals."""


def rank_by_auc(attack: AttackEvaluation, points: int) -> RankedTargets:
    """Return at most `points` records by descending AUC: both ends, and even steps between."""
    n = len(attack.targets)
    order = np.argsort(-attack.aucs, kind="stable")
    # Even steps in rank; rounding may repeat one.
    kept = np.unique(np.round(np.linspace(0, n - 1, min(n, points))).astype(np.int64))
    found = [attack.targets[int(i)].auc for i in order[kept]]
    low = np.array([x.low for x in found])
    high = np.array([x.high for x in found])
    return RankedTargets(
        position=order[kept], rank=kept + 1, auc=attack.aucs[order[kept]], low=low, high=high
    )


def evaluate_targets(
    name: str,
    scores: Sequence[TargetScores],
    level: float = 0.95,
    *,
    variant: str = "",
    notes: tuple[str, ...] = (),
    n_attacks: int = 1,
) -> AttackEvaluation:
    """Evaluate an attack on several records.

    Parameters
    ----------
    name : str
    scores : sequence of TargetScores
        One per record, at least one.
    level : float
        Level of each single interval, in (0, 1).
    variant : str
    notes : tuple of str
    n_attacks : int
        Number of attacks tried; the test for inverted attacks is corrected for it.
    """
    checks.level(level)
    if not scores:
        raise InputError("scores must hold at least one record, got none")
    guesses = []
    targets = []
    for found in scores:
        transcript = found.transcript()
        # The curve needs no threshold; accuracy and epsilon each have their own, learnt on own
        # releases.
        curve = roc(transcript)
        guesses.append(found.guesses(found.best_cuts()))
        counted = found.guesses(found.epsilon_cuts(level))
        limit = epsilon.largest_certifiable_epsilon(transcript.n_in, transcript.n_out, level)
        targets.append(
            TargetEvaluation(
                auc=auc(transcript, level, curve=curve),
                accuracy=decision.balanced_accuracy(guesses[-1], level),
                tpr_at_fpr=tprs_at_fprs(curve, FPRS, level),
                epsilon=epsilon.epsilon_lower_bound(counted, level=level),
                epsilon_limit=limit,
            )
        )
    own = np.array([found.own_auc() for found in scores])
    rates_of = zip(*(target.tpr_at_fpr for target in targets), strict=True)
    mean = mean_auc_of_records(scores, level)
    # An attack is inverted if its mean AUC, or its AUC on the most telling record, is below 1/2:
    # two looks per attack, one where there is only one record.
    attack = title(name, variant, "none")
    several = len(scores) > 1
    each = bonferroni_level(level, n_attacks * (1 + several))
    # The corrected interval is wider, so it need not be computed where the usual one holds 1/2.
    below = [(attack, mean_auc_of_records(scores, each))] if mean.high < 0.5 else []
    if several:
        # Chosen on the adversary's own releases, so the choice costs no further correction.
        telling = scores[int(np.argmax(np.abs(own - 0.5)))]
        below.append((f"{attack} on one record", auc(telling.transcript(), each)))
    # All ties: the asymptotic variance would be 0.
    p = [
        1.0
        if np.ptp(x.score) == 0
        else float(
            mannwhitneyu(
                x.score[x.secret], x.score[~x.secret], alternative="greater", method="asymptotic"
            ).pvalue
        )
        for x in scores
    ]
    # One side of the error only: the rate at which a two-sided interval lies above chance.
    significant = holm(np.array(p)) <= (1 - level) / 2
    return AttackEvaluation(
        name,
        variant,
        targets=tuple(targets),
        own_auc=checks.frozen(own),
        told=checks.frozen(significant),
        auc=mean,
        accuracy=_mean_accuracy(list(zip(scores, guesses, strict=True)), level),
        tpr_at_fpr=tuple(
            (r[0].fpr, float(np.mean([x.estimate.value for x in r]))) for r in rates_of
        ),
        true_positives=sum(guessed.true_positives for guessed in guesses),
        false_positives=sum(guessed.false_positives for guessed in guesses),
        n_in=sum(guessed.n_in for guessed in guesses),
        n_out=sum(guessed.n_out for guessed in guesses),
        notes=notes,
        inverted=below_chance(below),
    )


def mean_auc_of_records(scores: Sequence[TargetScores], level: float = 0.95) -> Estimate:
    """Return the mean AUC over records, with an interval over the releases.

    Parameters
    ----------
    scores : sequence of TargetScores
    level : float

    Returns
    -------
    Estimate
        In [0, 1]. `n` is the number of distinct releases, the independent units: the contributions
        of all records to a release are summed before the variance is taken.
    """
    transcripts = [found.transcript() for found in scores]
    curves = [roc(transcript) for transcript in transcripts]
    values = [float(placements(curve)[0].mean()) for curve in curves]
    influence = [influences(t, curve) for t, curve in zip(transcripts, curves, strict=True)]
    return _mean_over_targets(
        values, influence, scores=scores, level=level, method="DeLong over releases"
    )


def _mean_accuracy(pairs: Sequence[tuple[TargetScores, Decisions]], level: float) -> Estimate:
    values = []
    influence = []
    for found, guesses in pairs:
        # Influence of each release on the mean of the two sides' shares of right guesses.
        right = (guesses.guess == found.secret).astype(np.float64)
        sides = (found.secret, ~found.secret)
        shares = [float(right[side].mean()) for side in sides]
        parts = np.empty(len(right))
        for side, share in zip(sides, shares, strict=True):
            parts[side] = (right[side] - share) / (2 * np.count_nonzero(side))
        values.append(sum(shares) / 2)
        influence.append(parts)
    return _mean_over_targets(
        values,
        influence,
        scores=[found for found, _ in pairs],
        level=level,
        method="normal over releases",
    )


def _mean_over_targets(
    values: Sequence[float],
    influence: Sequence[Floats],
    scores: Sequence[TargetScores],
    level: float,
    method: str,
) -> Estimate:
    # Values are means over records, so each record's influence counts by one over their number.
    value = float(np.mean(values))
    unit = np.concatenate([s.release for s in scores])
    n = checks.n_distinct(unit)
    error = rates.standard_error_of_units(np.concatenate(influence) / len(scores), unit)
    half = float(stdtrit(max(n - 1, 1), 0.5 + level / 2)) * error
    if half == 0.0:
        # Nothing varies, so no variance can be estimated: exact limits for the number of pairs (a
        # release with the record, one without) of the record that has fewest.
        pairs = min(int(np.bincount(s.secret, minlength=2).min()) for s in scores)
        return rates.on_pairs(value, pairs, level, n)
    return Estimate(
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        level=level,
        n=n,
        method=method,
    )


# Right guesses about each record of one game.


@dataclass(frozen=True, eq=False)
class PerTarget:
    """Right guesses of one attack per record."""

    target: Ints
    """(t,) Indices of the records, ascending."""
    right: Ints
    """(t,) Right guesses about each record."""
    n: Ints
    """(t,) All guesses about each record."""

    @property
    def accuracy(self) -> Floats:
        """(t,) Share of right guesses; 1/2 is chance if each record is in as often as out."""
        return self.right / self.n

    def estimates(self, level: float = 0.95) -> tuple[Estimate, ...]:
        """Return the accuracy of every record with its Wilson interval, each at `level`."""
        rows = zip(self.right.tolist(), self.n.tolist(), strict=True)
        found = []
        for right, n in rows:
            low, high = wilson(right, n, level)
            found.append(Estimate(right / n, low=low, high=high, level=level, n=n, method="Wilson"))
        return tuple(found)

    def correlation_with(self, values: Floats, level: float = 0.95) -> Correlation | Skipped:
        """Return Pearson's correlation of the accuracies with a value per record.

        Parameters
        ----------
        values : ndarray of float, shape (t,)
            In the order of `target`.
        level : float
        """
        if len(values) != len(self.target):
            raise InputError(f"values must have {len(self.target)} rows, got {len(values)}")
        found = correlation(self.accuracy, np.asarray(values, np.float64), level)
        if isinstance(found, Skipped):
            return Skipped("correlation", "too few records, or one side does not vary")
        return Correlation(found, correlation_p_value(found))


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation over records."""

    estimate: Estimate
    """Pearson's correlation with Fisher's interval, in [-1, 1]."""
    p_value: float
    """Two-sided p-value of no correlation."""


def per_target(decisions: Decisions) -> PerTarget:
    """Count the right guesses about each record.

    Long et al. (2017), section 5.4: the share of correct guesses about a record over all attacks.
    """
    target, index = np.unique(decisions.target, return_inverse=True)
    right = np.bincount(index, weights=decisions.guess == decisions.secret)
    return PerTarget(target, right.astype(np.int64), np.bincount(index))
