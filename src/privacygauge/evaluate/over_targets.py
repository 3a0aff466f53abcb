"""Mean results of an attack over several target models, and when to stop training more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.rate_at_fpr import FPRS
from privacygauge.evaluate.roc import influences, placements, roc

LOOKS = (8, 16, 32, 64)
"""Numbers of targets at which the width is checked: few, and fixed in advance."""


def mean_auc_of_models(targets: Sequence[Transcript], level: float = 0.95) -> Estimate:
    """Return the mean AUC over identically trained target models, on shared records.

    Parameters
    ----------
    targets : sequence of Transcript
        One per target model, at least 2. Targets are drawn independently, their members by coins;
        a `unit` is the same person in all of them.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        In [0, 1], with an interval for the mean AUC on new targets and records. `n` is the number
        of units.

    Notes
    -----
    The variance is two-way clustered (Cameron, Gelbach & Miller 2011): between units, from DeLong's
    influences summed over a unit's rows in all targets; and between targets, the variance of their
    AUCs beyond that within targets, with one degree of freedom fewer than targets. Scores are
    compared only within a target.
    """
    if len(targets) < 2:
        raise InputError(f"at least 2 targets are needed, got {len(targets)}")
    end = 0.5 + checks.level(level) / 2
    t = len(targets)
    curves = [roc(target) for target in targets]
    areas = np.array([placements(curve)[0].mean() for curve in curves])
    parts = [influences(x, curve) / t for x, curve in zip(targets, curves, strict=True)]
    unit = np.concatenate([target.unit for target in targets])
    n = checks.n_distinct(unit)
    value = float(areas.mean())
    by_unit = rates.standard_error_of_units(np.concatenate(parts), unit)
    # Variance of each target's AUC from its rows alone; already part of `by_unit`, so only the
    # excess of the variance between targets is added.
    within = sum(
        rates.standard_error_of_units(part, target.unit) ** 2
        for part, target in zip(parts, targets, strict=True)
    )
    between = max(0.0, float(areas.var(ddof=1)) / t - within)
    half = float(
        np.hypot(stdtrit(max(n - 1, 1), end) * by_unit, stdtrit(t - 1, end) * np.sqrt(between))
    )
    if half == 0.0:
        # Nothing varies: exact limits for the number of pairs of the smallest target.
        pairs = min(min(curve.n_in, curve.n_out) for curve in curves)
        return rates.on_pairs(value, pairs, level, n)
    method = f"DeLong by unit and by target, over {t} targets"
    return Estimate(
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        level=level,
        n=n,
        method=method,
    )


@dataclass(frozen=True, eq=False)
class OverTargets:
    """Results of one attack on several target models."""

    title: str
    """Title of the attack."""
    targets: tuple[Transcript, ...]
    """Scores with secrets, one transcript per target model."""
    level: float
    """Level of the intervals, in (0, 1)."""

    @cached_property
    def auc(self) -> Estimate:
        """Mean AUC, with an interval for new targets and records."""
        return mean_auc_of_models(self.targets, self.level)

    @cached_property
    def tpr_at_fpr(self) -> dict[float, float]:
        """Mean true-positive rate at each false-positive rate that the records resolve.

        These are the rates at which every target's non-members allow at least one false positive.
        """
        curves = [roc(target) for target in self.targets]
        least = 1 / min(curve.n_out for curve in curves)
        return {
            fpr: float(np.mean([curve.tpr[curve.fpr <= fpr].max() for curve in curves]))
            for fpr in FPRS
            if fpr >= least
        }


@dataclass(frozen=True, eq=False)
class SeveralTargets:
    """Attack results averaged over as many target models as the requested width requires."""

    attacks: tuple[OverTargets, ...]
    """One entry per attack, all on the same targets."""
    asked: float
    """Largest requested half-width of the attacks' AUC intervals."""
    n_targets: int
    """Number of target models, including the one in the rest of the report."""
    n_shadows: int
    """Shadow models per target."""

    @property
    def half_width(self) -> float:
        """Largest half-width of the attacks' AUC intervals."""
        return half_width(self.attacks)

    @property
    def reached(self) -> bool:
        """Whether all intervals are as narrow as requested."""
        return self.half_width <= self.asked


def half_width(attacks: Sequence[OverTargets]) -> float:
    """Return the largest half-width of the attacks' AUC intervals."""
    return max((found.auc.high - found.auc.low) / 2 for found in attacks)
