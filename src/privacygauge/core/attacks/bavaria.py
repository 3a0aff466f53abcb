"""BaVarIA: LiRA with Bayesian estimates of means and variances (Brännvall 2026)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from privacygauge.core.attacks.groups import (
    WorldGroup,
    average,
    mean_over_queries,
    needs,
    score_by_ranking,
    signal_of,
    total,
    world_groups,
)
from privacygauge.core.attacks.lira import NO_NOISE, PooledVariance, log_density_ratio
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.release import Worlds

LARGEST_SHAPE = 1000.0
"""Largest shape of the variances' prior: at 1000 variances differ by a relative 1 / sqrt(1000)."""
LEAST_SPREAD = 1e-6
"""Smallest prior variance of the means, as a share of the noise, so that kappa0 is finite."""
LEAST_ERRORS = 3.0
"""Standard errors by which the groups' means or variances must differ for separate priors."""
LEAST_RECORDS = 3
"""Fewest records with worlds on both sides from which a covariance is estimated."""


@dataclass(frozen=True)
class Bavaria:
    """The log ratio of Student-t predictive densities, with priors learnt over all records.

    Signals of a group (worlds with or without a record) are normal, with mean and variance per
    record under a normal-inverse-gamma prior that is estimated from all records. The predictive
    density of the target's signal is then Student's t, wide for a record with few worlds. The log
    ratio is averaged over queries, each with its own priors.

    Notes
    -----
    Brännvall (2026), "Exponential-family membership inference: from LiRA and RMIA to BaVarIA",
    arXiv:2603.11799, gives the model and the Student-t predictive (BaVarIA-t). The priors here are
    empirical Bayes by the method of moments. Below, g is a group (in or out) with n worlds of a
    record, mean m and sum of squared residuals S; h is the record's other group.

    Variance: ``sigma^2 ~ InverseGamma(alpha, beta)`` with the pooled variance
    ``v = sum S / sum (n - 1)`` as its mean. As ``E[S^2] = E[sigma^4] (n - 1)(n + 1)``, the ratio
    ``c = sum S^2 / sum (n - 1)(n + 1) / v^2`` estimates ``E[sigma^4] / E[sigma^2]^2``, which is
    ``(alpha - 1) / (alpha - 2)``. So ``alpha = 2 + 1 / (c - 1)``, at most 1000 (also where
    ``c <= 1``), and ``beta = (alpha - 1) v``.

    Mean: over records, the two means are assumed jointly normal, with centres M and covariance
    V; V_gg is the variance of m minus the noise in it, V_gh the covariance of the two groups' m,
    both over the records that have both groups. Given the other group, the prior of the mean is

        ``p = M_g + b (m_h - M_h)``, ``w = V_gg - b V_gh``, ``b = V_gh / (V_hh + u_h / n_h)``

    with u the posterior mean of the variance. If records differ much and the gap g - h is the same
    for all, this is the other group's mean plus the gap, with the error of the other mean; if
    records do not differ, or the other group is empty, it is the average over all records.

    Scores must not depend on noise that all records share. If every model is the target of the
    others in turn, each score would depend on that noise without its own model's part, which points
    the other way: AUCs fall below 1/2, with an error that intervals over records do not cover. So
    both groups share one prior, with the averages of M and of V and the moments of all S together,
    unless M or v differ between them by three standard errors over records. In the shared prior,
    the variance of the gap between the two means, ``V_gg + V_hh - 2 V_gh``, is at least three of
    its standard errors: both V are raised by half of the shortfall.

    Posterior: ``kappa0 = v / w``, ``kappa = kappa0 + n``, ``mu = (kappa0 p + n m) / kappa``,
    ``a = alpha + n / 2``, ``B = beta + S / 2 + kappa0 n (m - p)^2 / (2 kappa)``; the predictive
    density is Student's t with 2a degrees of freedom, centre mu and squared scale
    ``B (1 + 1 / kappa) / a``.

    A query on which all worlds of each group agree, for every record, has no noise to learn a prior
    from, and is scored as by `LiraOnline` with `PooledVariance`.
    """

    name = "bavaria"

    variant = ""

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the log ratio of predictive densities of every target."""
        return score_by_ranking(self.name, observation, self._ranking)

    def _ranking(self, worlds: Worlds) -> Floats | Skipped:
        skipped = needs(self.name, worlds)
        if skipped:
            return skipped
        signal = signal_of(worlds)
        inside, outside = world_groups(worlds)
        if not (inside.freedom.any() or outside.freedom.any()):
            return Skipped(self.name, NO_NOISE)
        both = ((inside.count > 0) & (outside.count > 0))[:, 0]
        if both.sum() < LEAST_RECORDS:
            return Skipped(self.name, "needs at least 3 targets with worlds with and without them")
        # The log ratio of the predictive densities of every record and query, (n, q).
        shared = are_alike(inside, outside, both)
        priors = variance_priors(inside, outside, shared)
        noise = priors[0].posterior_mean(inside), priors[1].posterior_mean(outside)
        means = means_prior(inside, outside, noise, both=both, shared=shared)
        # Each group's mean is expected from the other group's, by their joint law over the records.
        given_out = means.given(outside, noise[1])
        swapped = MeansPrior(means.centre[::-1], means.spread[::-1], means.together)
        given_in = swapped.given(inside, noise[0])
        ratio = _log_predictive(signal, inside, priors[0], *given_out) - _log_predictive(
            signal, outside, priors[1], *given_in
        )
        # Per query: no noise in either group.
        quiet = (inside.variance == 0) & (outside.variance == 0)
        normal = log_density_ratio(signal, inside, outside, PooledVariance())
        return mean_over_queries(np.where(quiet, normal, ratio))


@dataclass(frozen=True, eq=False)
class InverseGamma:
    """Prior of the variances of a group."""

    shape: Floats
    """(q,) Shape alpha, above 2, so that the variance has a finite variance."""
    mean: Floats
    """(q,) Mean of the prior: the pooled variance v."""

    @property
    def scale(self) -> Floats:
        """(q,) Scale beta."""
        return (self.shape - 1) * self.mean

    def posterior_mean(self, group: WorldGroup) -> Floats:
        """Return the posterior mean of each record's variance, (n, q)."""
        return (self.scale + group.squares / 2) / (self.shape + group.freedom / 2 - 1)


def variance_priors(
    inside: WorldGroup, outside: WorldGroup, shared: Bools
) -> tuple[InverseGamma, InverseGamma]:
    """Return the priors of both groups by the method of moments; one prior where `shared`, (q,).

    A group without noise takes the other group's prior.
    """
    both = _moments(inside, outside)
    own = (_moments(inside), _moments(outside))
    priors = []
    for mine, other in (own, own[::-1]):
        # Per query: the shared prior, else the other group's if this one has no noise, else its
        # own.
        quiet = mine.mean == 0
        mean = np.where(shared, both.mean, np.where(quiet, other.mean, mine.mean))
        shape = np.where(shared, both.shape, np.where(quiet, other.shape, mine.shape))
        # Any positive mean where neither group has noise: `_ranking` replaces the result there.
        priors.append(InverseGamma(shape, np.where(mean > 0, mean, 1.0)))
    return priors[0], priors[1]


def _moments(*groups: WorldGroup) -> InverseGamma:
    squares, freedom = (
        np.concatenate([getattr(group, name) for group in groups])
        for name in ("squares", "freedom")
    )
    # v and c of the notes of `Bavaria`; freedom * (freedom + 2) is (n - 1)(n + 1). The limit on the
    # shape also covers c <= 1.
    mean = total(squares) / np.maximum(total(freedom), 1)
    fourth = total(squares**2) / np.maximum(total(freedom * (freedom + 2)), 1)
    excess = fourth / np.where(mean > 0, mean, 1.0) ** 2 - 1
    shape = 2 + 1 / np.maximum(excess, 1 / (LARGEST_SHAPE - 2))
    return InverseGamma(shape, mean)


@dataclass(frozen=True, eq=False)
class MeansPrior:
    """Joint normal law of the two group means of a record, over records."""

    centre: tuple[Floats, Floats]
    """(q,) each: averages over records, of one group and the other."""
    spread: tuple[Floats, Floats]
    """(q,) each: variances between records, minus the noise in the means."""
    together: Floats
    """(q,) Covariance of the two means."""

    def given(self, other: WorldGroup, noise: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the variance, (n, q), of the first group's mean given the other's.

        `noise` is the variance of one of the other group's worlds, (n, q).
        """
        # n / (n V + u) instead of 1 / (V + u / n), so that an empty group (n = 0) has weight 0.
        weight = other.count / (other.count * self.spread[1] + noise)
        slope = self.together * weight
        expected = self.centre[0] + slope * (other.mean - self.centre[1])
        return expected, self.spread[0] - slope * self.together


def means_prior(
    group: WorldGroup,
    other: WorldGroup,
    noise: tuple[Floats, Floats],
    *,
    both: Bools,
    shared: Bools,
) -> MeansPrior:
    """Return the joint law of both groups' means over the records with `both` groups, (n,).

    Where `shared`, (q,), both groups have the average of their centres and spreads, and the
    variance of the gap between their means is at least what noise could explain.
    """
    n = int(both.sum())
    means = [g.mean[both] for g in (group, other)]
    centre = (average(means[0]), average(means[1]))
    off = [m - c for m, c in zip(means, centre, strict=True)]
    error = [u[both] / g.count[both] for u, g in zip(noise, (group, other), strict=True)]
    # V_gg: variance of the means between records, minus the noise in them, at least 0.
    own, others = (
        np.maximum(total(o * o) / (n - 1) - average(e), 0.0)
        for o, e in zip(off, error, strict=True)
    )
    # V_gh, clipped to the Cauchy-Schwarz limit.
    limit = np.sqrt(own * others)
    together = np.clip(total(off[0] * off[1]) / (n - 1), -limit, limit)
    # In a shared prior the variance of the gap is at least three of its standard errors.
    beyond = (off[0] - off[1]) ** 2 - error[0] - error[1]
    least = LEAST_ERRORS * np.sqrt(total((beyond - average(beyond)) ** 2)) / n
    lacking = np.where(shared, np.maximum(least - (own + others - 2 * together), 0.0) / 2, 0.0)
    spread = (own + lacking, others + lacking)
    # Both groups have the average of the two where they share a prior.
    middle, wide = ((pair[0] + pair[1]) / 2 for pair in (centre, spread))
    return MeansPrior(
        (np.where(shared, middle, centre[0]), np.where(shared, middle, centre[1])),
        (np.where(shared, wide, spread[0]), np.where(shared, wide, spread[1])),
        together,
    )


def are_alike(inside: WorldGroup, outside: WorldGroup, both: Bools) -> Bools:
    """Return the queries, (q,), on which the groups differ by no more than noise explains.

    Their means are compared on the records with `both` groups, (n,).
    """
    gap = (inside.mean - outside.mean)[both]
    # Pairs of a squared difference and its squared standard error: of means, and of variances.
    moved = average(gap) ** 2, total((gap - average(gap)) ** 2) / (len(gap) * (len(gap) - 1))
    # Influence of each record on its group's pooled variance, (n, q).
    influence = [
        (group.squares - group.variance * group.freedom) / np.maximum(total(group.freedom), 1)
        for group in (inside, outside)
    ]
    wider = (
        (inside.variance - outside.variance) ** 2,
        total((influence[0] - influence[1]) ** 2),
    )
    beyond = [square > LEAST_ERRORS**2 * error for square, error in (moved, wider)]
    return np.asarray(~(beyond[0] | beyond[1]))


def _log_predictive(
    signal: Floats, group: WorldGroup, prior: InverseGamma, expected: Floats, spread: Floats
) -> Floats:
    """Return the log of the Student-t predictive density, (n, q), of the target's signal."""
    # kappa0, the weight of the prior in worlds, and the posterior, as in the notes of `Bavaria`.
    worth = prior.mean / np.maximum(spread, LEAST_SPREAD * prior.mean)
    n = group.count
    weight = worth + n
    centre = (worth * expected + n * group.mean) / weight
    shape = prior.shape + n / 2
    surprise = worth * n * (group.mean - expected) ** 2 / weight
    scale = prior.scale + (group.squares + surprise) / 2
    # The log density of Student's t with 2 * shape degrees of freedom.
    freedom = 2 * shape
    squared_scale = scale * (1 + 1 / weight) / shape
    distance = signal - centre
    ratio = distance * distance / (freedom * squared_scale)
    half = freedom / 2
    constant: Floats = gammaln(half + 0.5) - gammaln(half)
    return constant - np.log(math.pi * freedom * squared_scale) / 2 - (half + 0.5) * np.log1p(ratio)
