"""Mean results of an attack over several target models, and a stopping rule for their number."""

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
    """Return the mean AUC over target models trained alike, on records that they share.

    Parameters
    ----------
    targets : sequence of Transcript
        One a target model, at least 2; the targets are drawn independently of each other, their
        members by coins, and rows of one `unit` are about the same person in all of them.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        In [0, 1]: of the mean AUC on further targets and records. `n` is the number of units.

    Notes
    -----
    The variance is two-way clustered (Cameron, Gelbach & Miller 2011): the contributions of a
    unit's rows in all targets, by DeLong's method, and the variance between the targets' AUCs
    beyond that of their rows, with one degree of freedom fewer than targets. Scores are compared
    within a target only.
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
    within = sum(
        rates.standard_error_of_units(part, target.unit) ** 2
        for part, target in zip(parts, targets, strict=True)
    )
    between = max(0.0, float(areas.var(ddof=1)) / t - within)
    half = float(
        np.hypot(stdtrit(max(n - 1, 1), end) * by_unit, stdtrit(t - 1, end) * np.sqrt(between))
    )
    if half == 0.0:
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
    """One attack on several target models."""

    title: str
    """Title of the attack."""
    targets: tuple[Transcript, ...]
    """Scores with secrets, one transcript per target model."""
    level: float
    """Level of the intervals, in (0, 1)."""

    @cached_property
    def auc(self) -> Estimate:
        """The mean AUC, for targets and records like these."""
        return mean_auc_of_models(self.targets, self.level)

    @cached_property
    def tpr_at_fpr(self) -> dict[float, float]:
        """Mean true-positive rate at each false-positive rate that the records resolve.

        Those at which a target's non-members give at least one false positive.
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
    """Attack results averaged over as many target models as the requested width needs."""

    attacks: tuple[OverTargets, ...]
    """One entry per attack, all on the same targets."""
    asked: float
    """Requested half-width of the interval of every attack's AUC."""
    n_targets: int
    """Target models, including the one of the rest of the report."""
    n_shadows: int
    """Shadow models per target."""

    @property
    def half_width(self) -> float:
        """The largest half-width of the attacks' intervals."""
        return half_width(self.attacks)

    @property
    def reached(self) -> bool:
        """Whether all intervals reach the requested width."""
        return self.half_width <= self.asked


def half_width(attacks: Sequence[OverTargets]) -> float:
    """Return half the length of the longest interval of the attacks' AUC."""
    return max((found.auc.high - found.auc.low) / 2 for found in attacks)
