"""LiRA: the likelihood-ratio attack (Carlini et al. 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import log_ndtr

from privacygauge.core import checks
from privacygauge.core.attacks.groups import (
    WorldGroup,
    average,
    mean_over_queries,
    needs,
    score_by_ranking,
    signal_of,
    world_groups,
)
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.release import Worlds

NO_NOISE = "needs a target with two worlds on the same side, to see how much models differ"


@dataclass(frozen=True)
class PooledVariance:
    """One variance for all records, from residuals about each record's own group mean.

    The sum of squared residuals over its degrees of freedom, ``sum (count - 1)``, for worlds with
    and without the record separately. (The authors' code uses the deviation of the raw scores,
    which includes the differences between records, and the members' deviation for both groups.)
    """

    name = "pooled variance"

    def of(self, group: WorldGroup, other: WorldGroup) -> Floats:
        """Return the variance of each query, (q,).

        The other group's variance if all worlds of this one agree; 1, so that distances alone rank,
        if all worlds of both agree.
        """
        own = group.variance
        variance = np.where(own > 0, own, other.variance)
        return np.where(variance > 0, variance, 1.0)


@dataclass(frozen=True)
class PerRecordVariance:
    """Each record's own variance, from count - 1 degrees of freedom.

    Pooled for a record with fewer than two worlds in the group, or with worlds that all agree.
    """

    name = "per-record variance"

    def of(self, group: WorldGroup, other: WorldGroup) -> Floats:
        """Return the variance of each record and query, (n, q)."""
        pooled = PooledVariance().of(group, other)
        own = group.squares / np.maximum(group.freedom, 1)
        # A variance below 1e-9 of the pooled one is rounding error, which would decide the ratio.
        return np.where(own > 1e-9 * pooled, own, pooled)


@dataclass(frozen=True)
class AutoVariance:
    """Per-record variances if there are enough worlds, else a pooled variance."""

    least: int = 64
    """Fewest worlds for per-record variances; the default is the paper's."""

    def __post_init__(self) -> None:
        checks.at_least(1, least=self.least)

    @property
    def name(self) -> str:
        """Name in reports."""
        return "auto" if self == AutoVariance() else f"auto, per record from {self.least} worlds"

    def among(self, n_worlds: int) -> PooledVariance | PerRecordVariance:
        """Return the estimator for a given number of worlds."""
        return PerRecordVariance() if n_worlds >= self.least else PooledVariance()

    def of(self, group: WorldGroup, other: WorldGroup) -> Floats:
        """Return the variance by the estimator for the number of worlds in both groups."""
        # Worlds with and without a record together are all worlds, for every record.
        n_worlds = int((group.count + other.count).max(initial=0))
        return self.among(n_worlds).of(group, other)


Variance = AutoVariance | PooledVariance | PerRecordVariance
"""Estimator of the variance of a record's group: above 0, from the other group if it has none."""


@dataclass(frozen=True)
class OneSided:
    """``log Phi((phi0 - mu_out) / s_out)``: only a high signal is evidence of membership."""

    name = "one-sided"

    usual = 0.0
    """Default cut: a typical non-member's distance from the mean, in standard deviations."""

    def of(self, distance: Floats, variance: Floats) -> Floats:
        """Return the log probability that a non-member's signal is lower."""
        score: Floats = log_ndtr(distance / np.sqrt(variance))
        return score


@dataclass(frozen=True)
class TwoSided:
    """``-log N(phi0; mu_out, s_out)``, as in the authors' code: a low signal is evidence too."""

    name = "two-sided"

    usual = 1.0

    def of(self, distance: Floats, variance: Floats) -> Floats:
        """Return the negated log density of a non-member's signal."""
        return (distance * distance / variance + np.log(2 * math.pi * variance)) / 2


Tail = OneSided | TwoSided
"""Score of the offline attack: a tail of the non-members' distribution."""


@dataclass(frozen=True)
class LiraOnline:
    """The log ratio of the signal's normal densities among worlds with and without the record.

    ``log N(phi0; mu_in, s_in) - log N(phi0; mu_out, s_out)``, averaged over queries.

    Notes
    -----
    Carlini et al. (2022), "Membership inference attacks from first principles", algorithm 1.
    The signal is the scaled logit ``log p - log(1 - p)``, which is nearly normal. Assumes normal
    signals and independent worlds.
    """

    variance: Variance = AutoVariance()
    """`AutoVariance`, `PooledVariance` or `PerRecordVariance`."""

    name = "lira-online"

    @property
    def variant(self) -> str:
        """Name of the variance estimator."""
        return self.variance.name

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the log likelihood ratio of every target."""
        chosen, notes = _choose_variance(self.variance, observation)
        return score_by_ranking(
            self.name, observation, partial(self._ranking, variance=chosen), notes=notes
        )

    def _ranking(self, worlds: Worlds, variance: Variance) -> Floats | Skipped:
        skipped = needs(self.name, worlds)
        if skipped:
            return skipped
        signal = signal_of(worlds)
        inside, outside = world_groups(worlds)
        # Two worlds on one side of one record are the least that shows noise.
        if not (inside.freedom.any() or outside.freedom.any()):
            return Skipped(self.name, NO_NOISE)
        return mean_over_queries(log_density_ratio(signal, inside, outside, variance))


@dataclass(frozen=True)
class LiraOffline:
    """Tail probability of the signal among worlds without the record, averaged over queries.

    Uses only worlds without the record; for a record that is in all worlds, their mean minus the
    average gap between members and non-members is used.

    Notes
    -----
    Carlini et al. (2022), the offline attack: a one-sided test. The authors' code uses the density
    instead, under which a LOW signal is evidence of membership too.
    """

    tail: Tail = OneSided()
    """`OneSided`, as in the paper, or `TwoSided`, as in the authors' code."""
    variance: Variance = AutoVariance()
    """`AutoVariance`, `PooledVariance` or `PerRecordVariance`."""

    name = "lira-offline"

    @property
    def variant(self) -> str:
        """Names of the tail and of the variance estimator."""
        return f"{self.tail.name}, {self.variance.name}"

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the log tail probability, or the negated log density, of every target's signal."""
        chosen, notes = _choose_variance(self.variance, observation)
        natural = partial(self._natural, variance=chosen)
        ranking = partial(self._ranking, variance=chosen)
        return score_by_ranking(
            self.name, observation, ranking=ranking, natural=natural, notes=notes
        )

    def _ranking(self, worlds: Worlds, variance: Variance) -> Floats | Skipped:
        skipped = needs(self.name, worlds, members=False)
        if skipped:
            return skipped
        signal = signal_of(worlds)
        _, outside = world_groups(worlds)
        if not outside.freedom.any():
            return Skipped(self.name, "needs a target with two worlds that were trained without it")
        distance = signal - outside.mean
        return mean_over_queries(self.tail.of(distance, variance.of(outside, outside)))

    def _natural(self, worlds: Worlds, variance: Variance) -> float:
        """Return the mean score of a non-member at the tail's usual distance."""
        _, outside = world_groups(worlds)
        spread = np.atleast_2d(variance.of(outside, outside))
        # Per record or per query, as the variances are; one threshold must serve all.
        usual = self.tail.of(self.tail.usual * np.sqrt(spread), spread)
        return float(average(usual).mean())


def log_density_ratio(
    signal: Floats, inside: WorldGroup, outside: WorldGroup, variance: Variance
) -> Floats:
    """Return the log ratio of the two normal densities of every record and query, (n, q)."""
    with_it = variance.of(inside, outside)
    without_it = variance.of(outside, inside)
    near = signal - inside.mean
    # The constants log(2 pi) of the two densities cancel.
    far = signal - outside.mean
    return (
        far * far / without_it - near * near / with_it + np.log(without_it) - np.log(with_it)
    ) / 2


def _choose_variance(
    variance: Variance, observation: Observation
) -> tuple[Variance, tuple[str, ...]]:
    """Return the estimator for the available worlds, with a note if their number decided."""
    if observation.worlds is None or not isinstance(variance, AutoVariance):
        return variance, ()
    # Chosen once: worlds played as targets leave one fewer, which must not change the estimator.
    chosen = variance.among(len(observation.worlds))
    return chosen, (f"{chosen.name}, as there are {len(observation.worlds)} worlds",)
