"""Attack results on canaries and on ordinary records of the same models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.direction import InvertedAttack, below_chance
from privacygauge.evaluate.rate_at_fpr import RateAtFpr, tpr_at_fpr
from privacygauge.evaluate.rates import effective_size
from privacygauge.evaluate.roc import Roc, auc, roc


def tprs_of_repeated(
    transcript: Transcript, fprs: Sequence[float], level: float = 0.95, *, curve: Roc | None = None
) -> tuple[RateAtFpr, ...]:
    """Return TPRs at several FPRs, with intervals for repeated targets.

    Parameters
    ----------
    transcript : Transcript
        Rows of one target in several rounds may be dependent.
    fprs : sequence of float
        Each in (0, 1).
    level : float
        In (0, 1).
    curve : Roc, optional
        ``roc(transcript)``, if already computed.

    Returns
    -------
    tuple of RateAtFpr

    Notes
    -----
    `tpr_at_fpr` with the effective number of independent rows at each threshold: by the design
    effect of the targets (Korn & Graubard 1998), with Student's quantile for few targets, and for
    members and non-members separately. `Transcript.independent` would count each target once, as if
    all its rows were equal.
    """
    curve = curve or roc(transcript)
    found = []
    for fpr in fprs:
        checks.level(fpr, "fpr")
        count = int(np.floor(fpr * curve.n_out + 1e-9))
        # The threshold of `tpr_at_fpr`: strictly above the (count + 1)-th largest non-member.
        guess = transcript.score > curve.nonmembers[curve.n_out - 1 - count]
        # The effective number of independent rows of each side, at least 1.
        worth = []
        for side in (transcript.secret, ~transcript.secret):
            unit = transcript.unit[side]
            n = len(unit)
            n_units = checks.n_distinct(unit)
            if n_units < n:
                # As in `rates.proportion`: Student's quantile in place of the normal one for few
                # units.
                end = 0.5 + level / 2
                student = float(stdtrit(max(n - 1, 1), end) / stdtrit(max(n_units - 1, 1), end))
                n = max(1, int(effective_size(guess[side], unit) * student**2))
            worth.append(n)
        found.append(tpr_at_fpr(curve, fpr, level, independent=(worth[0], worth[1])))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class AttackedTargets:
    """Results of one attack on one group of targets, over all target models."""

    attack: str
    """The attack's name with its variant."""
    auc: Estimate
    """Area under the ROC curve; 1/2 is chance."""
    rates: tuple[RateAtFpr, ...]
    """True-positive rates at the requested false-positive rates."""
    corrected: tuple[RateAtFpr, ...]
    """The same rates with intervals corrected for all comparisons (Bonferroni)."""
    corrected_auc: Estimate
    """The AUC with an interval corrected in the same way."""


@dataclass(frozen=True, eq=False)
class TargetRisk:
    """Results of all attacks on one group of targets."""

    name: str
    """``canaries`` or ``ordinary``."""
    n_targets: int
    """Number of distinct records."""
    n_models: int
    """Number of target models."""
    attacks: tuple[AttackedTargets, ...]
    """Attacks in the order given; at least one."""

    def highest(self, fpr: float) -> tuple[str, RateAtFpr]:
        """Return the attack with the highest lower limit at this FPR, corrected for the choice.

        Ties go to the highest value.

        Parameters
        ----------
        fpr : float
            One of the requested false-positive rates.

        Raises
        ------
        InputError
            If `fpr` was not requested.
        """
        known = [rate.fpr for rate in self.attacks[0].rates]
        if fpr not in known:
            raise InputError(f"fpr must be one of those asked for ({known}), got {fpr}")
        place = known.index(fpr)
        best = max(
            self.attacks,
            key=lambda x: (x.corrected[place].estimate.low, x.corrected[place].estimate.value),
        )
        return best.attack, best.corrected[place]

    @property
    def highest_auc(self) -> Estimate:
        """The AUC with the highest lower limit over all attacks, corrected for the choice."""
        return max((attacked.corrected_auc for attacked in self.attacks), key=lambda a: a.low)

    @property
    def inverted(self) -> tuple[InvertedAttack, ...]:
        """Attacks that rank non-members above members, corrected like the AUCs."""
        return below_chance((attacked.attack, attacked.corrected_auc) for attacked in self.attacks)


@dataclass(frozen=True, eq=False)
class WorstCaseFindings:
    """Results on canaries with a wrong label and on ordinary records, in the same models."""

    model: str
    """Name of the model that was trained."""
    label: str
    """Rule that gave canaries their wrong class."""
    canaries: TargetRisk
    """Results on canaries, the worst case."""
    ordinary: TargetRisk
    """Results on ordinary records, the average case."""
    test_accuracy: Estimate
    """Accuracy of the models on ordinary records outside their training sets, in [0, 1]."""
    seed: int
    """Seed of all random draws."""
    level: float
    """Level of every interval, in (0, 1)."""
    skipped: tuple[Skipped, ...]
    """Attacks that could not be played."""
    warnings: tuple[str, ...]
    """Warnings for the reader of the report."""

    @property
    def groups(self) -> tuple[TargetRisk, TargetRisk]:
        """Canaries, and ordinary records."""
        return self.canaries, self.ordinary

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping per group of targets, attack and false-positive rate."""
        return [
            {
                "model": self.model,
                "targets": group.name,
                "n_targets": group.n_targets,
                "attack": attacked.attack,
                "fpr": rate.fpr,
                "tpr": rate.estimate.value,
                "low": rate.estimate.low,
                "high": rate.estimate.high,
                "level": rate.estimate.level,
                "n": rate.estimate.n,
                "resolved": rate.resolved,
                "auc": attacked.auc.value,
            }
            for group in self.groups
            for attacked in group.attacks
            for rate in attacked.rates
        ]


def attacked_targets(
    attack: str,
    transcript: Transcript,
    fprs: Sequence[float],
    level: float,
    *,
    n_together: int = 1,
) -> AttackedTargets:
    """Evaluate one attack on one group of targets: AUC and TPR at each FPR.

    Parameters
    ----------
    attack : str
        Title of the attack.
    transcript : Transcript
        All rounds, with their targets.
    fprs : sequence of float
        Each in (0, 1).
    level : float
        In (0, 1).
    n_together : int
        Number of intervals for which the corrected ones are jointly valid.
    """
    curve = roc(transcript)
    each = 1.0 - (1.0 - level) / n_together
    rates, wider = (tprs_of_repeated(transcript, fprs, p, curve=curve) for p in (level, each))
    return AttackedTargets(
        attack=attack,
        auc=auc(transcript, level, curve=curve),
        rates=rates,
        # The effective number of rows depends on the level, but a rate must not be resolved at one
        # level and unresolved at another.
        corrected=tuple(replace(w, resolved=r.resolved) for w, r in zip(wider, rates, strict=True)),
        corrected_auc=auc(transcript, each, curve=curve),
    )


NO_DEFENCE = "no defence"
"""Title of the undefended training, as reports print it."""


@dataclass(frozen=True, eq=False)
class AttackedTraining:
    """One training method, with the attack results on its canaries and ordinary records."""

    title: str
    """The defence's name with its parameters, or `NO_DEFENCE`."""
    found: WorstCaseFindings
    """Attack results; the corrected intervals cover all training methods jointly."""
    claim: PrivacyClaim | None = None
    """The accountant's (epsilon, delta) if the training is differentially private, else None."""

    def canaries(self, fpr: float) -> RateAtFpr:
        """Return the TPR of the best attack at `fpr` on canaries."""
        return self.found.canaries.highest(fpr)[1]

    def ordinary(self, fpr: float) -> RateAtFpr:
        """Return the TPR of the best attack at `fpr` on ordinary records."""
        return self.found.ordinary.highest(fpr)[1]

    @property
    def accuracy(self) -> Estimate:
        """Accuracy of the models on ordinary records outside their training sets."""
        return self.found.test_accuracy


def is_resolved(trainings: Sequence[AttackedTraining], fpr: float) -> bool:
    """Return whether the best attack of every group resolves a false-positive rate."""
    return all(group.highest(fpr)[1].resolved for t in trainings for group in t.found.groups)
