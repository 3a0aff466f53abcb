"""Evaluation of one attack from its scores and guesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.evaluate import decision, epsilon
from privacygauge.evaluate.rate_at_fpr import RateAtFpr, tprs_at_fprs
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
        method=("DKW band"),
    )
