"""Mean results of an attack over several target models, and forecasts with more shadow models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Observation, Round
from privacygauge.core.release import Worlds
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.evaluation import title
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


# Forecast of the AUC with more shadow models, extrapolated from halves of the present ones.


SPLITS = 6
"""Random splits of the models into halves."""

FEWEST = 16
"""Fewest models: among half of fewer, many records would be in all models or in none."""

FORMS_CHANGE = 64
"""Number of models from which on LiRA estimates variances per record; halves below it cannot
predict it."""

LAWS = (0.5, 1.0, 2.0)
"""Exponents of the decay of the AUC's loss with the number of models: the slowest that the
interval allows for, that of averages, and the fastest."""


@dataclass(frozen=True)
class Foretold:
    """Forecast of an attack's AUC with more shadow models."""

    title: str
    """Title of the attack."""
    now: float
    """AUC with the present models."""
    half: float
    """Mean AUC with half of the present models."""
    auc: Estimate
    """AUC with `n_models`, on the same target and records; `n` counts the present models."""
    n_models: int
    """Number of models of the forecast."""


def foretold(
    attack: Attack,
    dealt: Round,
    n_models: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Foretold | Skipped:
    """Forecast the AUC of an attack with more shadow models, on the same records.

    Parameters
    ----------
    attack : Attack
        Attack that compares the target with the adversary's models, per record.
    dealt : Round
        A round with the k present models.
    n_models : int
        Number of models of the forecast, above k.
    rng : numpy.random.Generator
        Splits the models into halves.
    level : float
        In (0, 1).

    Returns
    -------
    Foretold or Skipped
        Skipped if the attack is skipped, with fewer than 16 models, or if k / 2 and `n_models` are
        on different sides of 64, where LiRA changes its form.

    Notes
    -----
    The variance of an average over k models falls as 1 / k, and so does the loss in AUC of an
    attack that uses averages: ``AUC(k) = A - B / k`` to first order. So the step from k / 2 to k
    models predicts the step from k to more. The interval allows for exponents of k from 1/2 to 2,
    for the random choice of further models (estimated from differences between halves), and for the
    sampling error of the halves. It is conditional on this target and these records.
    """
    checks.level(level)
    name = title(attack.name, attack.variant, attack.thresholds)
    worlds = dealt.observation.worlds
    k = 0 if worlds is None else len(worlds)
    if worlds is None or k < FEWEST:
        return Skipped(name, f"at least {FEWEST} shadow models are needed to foretell more")
    if k // 2 < FORMS_CHANGE <= n_models:
        return Skipped(name, f"attacks change their form at {FORMS_CHANGE} shadow models")
    now = _area(attack, dealt, worlds, np.arange(k))
    pairs = []
    for _ in range(SPLITS):
        order = rng.permutation(k)
        pairs.append([_area(attack, dealt, worlds, part) for part in np.array_split(order, 2)])
    halves = np.array(pairs, dtype=np.float64)
    if now is None or not np.isfinite(halves).all():
        return Skipped(name, "it cannot be played with half of the models")
    half = float(halves.mean())
    # Ratio of the step from k to n_models to the step from k / 2 to k, if the loss falls as n^-law.
    steps = []
    for law in LAWS:
        lost = [float(n) ** -law for n in (k / 2, k, n_models)]
        steps.append(float((lost[1] - lost[2]) / (lost[0] - lost[1])))
    ends = [now + step * (now - half) for step in steps]
    # Variance from the choice of models: halves scatter about all models at least as much as these
    # will about more.
    luck = float(halves.var(ddof=1))
    of_halves = float(halves.mean(axis=1).var(ddof=1)) * steps[1] ** 2
    reach = float(stdtrit(SPLITS - 1, 0.5 + level / 2)) * np.sqrt(luck + of_halves)
    low, high = (float(np.clip(x, 0, 1)) for x in (min(ends) - reach, max(ends) + reach))
    value = float(np.clip(ends[1], 0, 1))
    auc = Estimate(
        value=value, low=low, high=high, level=level, n=k, method="from halves of the shadow models"
    )
    return Foretold(name, now=now, half=half, auc=auc, n_models=n_models)


def _area(attack: Attack, dealt: Round, worlds: Worlds, part: Ints) -> float | None:
    """Return the AUC with the models `part`; None if the attack is skipped."""
    seen = dealt.observation
    found = attack.score(
        Observation(seen.signals, seen.stratum, worlds=worlds.some(part)), np.random.default_rng(0)
    )
    if isinstance(found, Skipped):
        return None
    return float(placements(roc(Transcript(found.value, dealt.secret)))[0].mean())


def what_more_buy(
    attacks: Sequence[Attack], dealt: Round, rng: np.random.Generator, level: float = 0.95
) -> list[Foretold | Skipped]:
    """Forecast each attack's AUC with twice as many models, but at most 63 if there are fewer.

    Parameters
    ----------
    attacks : sequence of Attack
    dealt : Round
    rng : numpy.random.Generator
    level : float
    """
    worlds = dealt.observation.worlds
    k = 0 if worlds is None else len(worlds)
    # A forecast across FORMS_CHANGE would be skipped.
    below = k < FORMS_CHANGE - 1
    n_models = min(2 * k, FORMS_CHANGE - 1) if below else 2 * k
    return [foretold(attack, dealt, n_models=n_models, rng=rng, level=level) for attack in attacks]
