"""Bounds for Gaussian mechanisms and for noisy steps on sampled records, such as DP-SGD."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import decision
from privacygauge.evaluate.roc import auc

_LEAST_NOISE = 0.3
"""Smallest noise multiplier of the search."""

# The search for the noise covers these values of mu, in the normal limit of many steps.
_MOST_MU = 6.0
_LEAST_MU = 0.02

_RATIO = 1.005
"""Ratio of successive noise multipliers of the search."""

_FAR = 12.0
"""Standard deviations from the mean at which the distribution of the summed loss is cut."""

_FINE = 500
"""Grid points per standard deviation of the summed privacy loss."""
_FINEST = 20
"""Fewest grid points per standard deviation of one step's privacy loss."""


@dataclass(frozen=True)
class SampledSteps:
    """Steps of normal noise in which each record takes part by an independent coin.

    The noise is unknown, and an audit bounds it. A noise multiplier is its standard deviation in
    units of the largest norm of a record's contribution.

    Examples
    --------
    >>> round(SampledSteps(sampling_rate=0.2, steps=20).epsilon(noise=1.5, delta=1e-5), 2)
    3.39
    """

    sampling_rate: float
    """Probability that a record takes part in a step, in (0, 1]; independent over records and
    steps."""
    steps: int
    """Number of steps, at least 1."""

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise InputError(f"sampling_rate must be in (0, 1], got {self.sampling_rate}")
        checks.at_least(1, steps=self.steps)

    @property
    def assumption(self) -> str:
        """Assumption of bounds for this mechanism, as reports print it."""
        return (
            f"the mechanism is DP-SGD: normal noise in {self.steps:,} steps, each record in a step "
            f"with probability {self.sampling_rate:g}"
        )

    def noise_ruled_out(self, transcript: Transcript, level: float = 0.95) -> float:
        """Return the smallest noise such that the ranks of scores rule out it and all larger ones.

        Parameters
        ----------
        transcript : Transcript
            Independent rows, such as one training run each.
        level : float
            In (0, 1).

        Returns
        -------
        float
            A noise multiplier, at least 0.3; infinity if none is ruled out. Below the truth with
            probability at most ``1 - level``.

        Notes
        -----
        No attack's ROC curve lies above that of the likelihood ratio of all steps, so the
        empirical AUC is stochastically largest for the attack with exactly this curve. Its mean and
        variance are then known (Hanley & McNeil 1982, with the integrals of that curve), and it is
        close to normal. A noise is ruled out if the observed AUC lies beyond its quantile. No
        threshold is chosen, so no rows are held out, and every rank counts. Using the curve of
        sampled steps rather than a normal one is from Nasr et al. (2023), section 5.3.
        """
        area = auc(transcript).value
        sizes = (transcript.n_in, transcript.n_out)
        limit = float(ndtri(checks.level(level)))
        # In the limit of many steps mu is q sqrt(steps) / noise: the ends of the search.
        scale = self.sampling_rate * math.sqrt(self.steps)
        least = max(_LEAST_NOISE, scale / _MOST_MU)
        most = max(1.0, scale / _LEAST_MU)
        number = math.ceil(math.log(most / least) / math.log(_RATIO)) + 1
        noises = np.geomspace(most, least, number)

        if area <= _area(self, float(noises[0])).quantile(*sizes, limit):
            return math.inf
        # The curve falls as noise grows: ranks that rule out one noise rule out all larger ones.
        first = 0
        last = len(noises) - 1
        while last > first:
            middle = (first + last + 1) // 2
            if area > _area(self, float(noises[middle])).quantile(*sizes, limit):
                first = middle
            else:
                last = middle - 1
        return float(noises[first])

    def contradicted(self, transcript: Transcript, level: float = 0.95) -> bool:
        """Return whether scores rank better than such steps allow even without noise.

        Parameters
        ----------
        transcript : Transcript
            Independent rows, such as one training run each.
        level : float
            In (0, 1); scores of such steps contradict them with probability at most ``1 - level``.

        Notes
        -----
        A record that took part in no step leaves no trace: if p is the probability of taking part
        in any step, the AUC is at most ``p + (1 - p) / 2``.
        """
        p = (
            -math.expm1(self.steps * math.log1p(-self.sampling_rate))
            if self.sampling_rate < 1
            else 1
        )
        # A member takes part with probability p and is then above all non-members, else it is like
        # one of them; of three alike, each is the highest (or the lowest) with probability 1/3.
        both_above = p**2 + p * (1 - p) + (1 - p) ** 2 / 3
        most = _Area((1 + p) / 2, both_above, p + (1 - p) / 3)
        limit = float(ndtri(checks.level(level)))
        sizes = (transcript.n_in, transcript.n_out)
        return p < 1 and auc(transcript).value > most.quantile(*sizes, limit)

    def epsilon(self, noise: float, delta: float) -> float:
        """Return the smallest epsilon of all steps together at this delta.

        Parameters
        ----------
        noise : float
            Noise multiplier, above 0; infinity gives epsilon 0.
        delta : float
            In (0, 1); not much below 1e-10, where rounding errors are no longer negligible.

        Returns
        -------
        float
            At least 0, for adding or removing one record.

        Notes
        -----
        The distribution of the privacy loss of one step is convolved with itself (Koskela, Jälkö &
        Honkela 2020).
        """
        checks.level(delta, "delta")
        if math.isinf(noise):
            return 0.0
        found = _Losses.of(self, noise)

        # delta falls as epsilon grows, so the root is unique.
        if found.delta(0.0) <= delta:
            return 0.0
        end = float(found.loss[-1])
        return float(brentq(lambda epsilon: found.delta(epsilon) - delta, 0.0, end, xtol=1e-9))


@dataclass(frozen=True, eq=False)
class _Losses:
    """Distribution of the privacy loss (log likelihood ratio, with to without) of all steps."""

    loss: Floats
    """(j,) Privacy losses, ascending and evenly spaced."""
    inside: Floats
    """(j,) Probability mass with the record."""
    outside: Floats
    """(j,) Probability mass without the record."""

    @classmethod
    def of(cls, steps: SampledSteps, noise: float) -> _Losses:
        """Return the losses of all steps: the n-fold convolution of one step's, by FFT."""
        q = steps.sampling_rate
        n = steps.steps
        # First pass, on a grid of the step's output: mean and standard deviation of its loss under
        # both distributions, which set the width and the range of the grid of losses.
        seen = np.linspace(-_FAR * noise, 1 + _FAR * noise, 20_001)
        with np.errstate(divide="ignore"):
            ratio = np.logaddexp(np.log1p(-q), np.log(q) + (2 * seen - 1) / (2 * noise**2))
        without = np.exp(-0.5 * (seen / noise) ** 2)
        without /= without.sum()
        with_it = without * np.exp(ratio)
        with_it /= with_it.sum()
        moments = []
        for mass in (without, with_it):
            mean = float(mass @ ratio)
            moments.append((mean, math.sqrt(float(mass @ (ratio - mean) ** 2))))
        deviation = min(d for _, d in moments)
        width = min(deviation * math.sqrt(n) / _FINE, deviation / _FINEST)
        low, high = (
            n * mean + side * (_FAR * math.sqrt(n) * d + abs(end))
            for (mean, d), side, end in zip(moments, (-1, 1), ratio[[0, -1]], strict=True)
        )
        # Second pass: cells of one step's loss, centred on multiples of `width`; `cut` is the
        # output with the loss at each edge, -inf for losses below log(1 - q), which no output has.
        first = math.floor(ratio[0] / width)
        last = math.ceil(ratio[-1] / width)
        edges = np.arange(first, last + 2) * width - width / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = noise**2 * np.log1p(np.expm1(edges) / q) + 0.5
        cut[np.isnan(cut)] = -np.inf
        outside = np.diff(ndtr(cut / noise))
        inside = (1 - q) * outside + q * np.diff(ndtr((cut - 1) / noise))
        start = math.floor(low / width)
        size = math.ceil((high - low) / width) + 2
        size = next_fast_len(max(size, len(outside)), real=True)
        # Cyclic convolution: mass beyond low and high wraps around, but is negligible there. The
        # roll moves the loss n * first to its place; the maximum removes rounding below 0.
        folded = [
            np.roll(np.maximum(irfft(rfft(mass, size) ** n, size), 0.0), n * first - start)
            for mass in (inside, outside)
        ]
        return cls((start + np.arange(size)) * width, folded[0], folded[1])

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta at which the steps are (epsilon, delta)-private."""
        # Hockey-stick divergences of both directions; the mechanism must be private in both.
        removed = self.inside @ np.maximum(-np.expm1(epsilon - self.loss), 0.0)
        added = self.outside @ np.maximum(-np.expm1(epsilon + self.loss), 0.0)
        return float(max(removed, added))


@dataclass(frozen=True)
class _Area:
    """AUC of the likelihood ratio, with the probabilities that give its variance."""

    mean: float
    of_two_in: float
    """Probability that two members both rank above one non-member."""
    of_two_out: float
    """Probability that one member ranks above two non-members."""

    def quantile(self, n_in: int, n_out: int, deviations: float) -> float:
        """Return the AUC on `n_in` and `n_out` rows `deviations` standard errors above its mean."""
        # Variance of an AUC after Hanley & McNeil (1982).
        square = self.mean**2
        variance = self.mean * (1 - self.mean)
        variance += (n_in - 1) * (self.of_two_in - square)
        variance += (n_out - 1) * (self.of_two_out - square)
        return self.mean + deviations * math.sqrt(max(variance, 0.0) / (n_in * n_out))


# Cached: an audit tries about a dozen noises, and the next audit many of the same.
@lru_cache(maxsize=4096)
def _area(steps: SampledSteps, noise: float) -> _Area:
    found = _Losses.of(steps, noise)
    # Half of the mass at a loss counts, as ties do.
    above = found.inside[::-1].cumsum()[::-1] - found.inside / 2
    below = found.outside.cumsum() - found.outside / 2
    return _Area(
        float(found.inside @ below), float(found.outside @ above**2), float(found.inside @ below**2)
    )


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta for which a Gaussian mechanism is (epsilon, delta)-private.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        ``Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)``, in [0, 1].

    Notes
    -----
    Balle & Wang (2018), theorem 8; Dong, Roth & Su (2022), corollary 2.13.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 4)
    0.1269
    """
    if not 0.0 <= mu < np.inf:
        raise InputError(f"mu must be at least 0 and finite, got {mu}")
    if not epsilon >= 0.0:
        raise InputError(f"epsilon must be at least 0, got {epsilon}")
    return 0.0 if mu == 0.0 else float(np.exp(_log_delta(mu, epsilon)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon for which a Gaussian mechanism is (epsilon, delta)-private.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, at least 0.
    delta : float
        In [0, 1); at 0 epsilon is infinite unless mu is 0.

    Returns
    -------
    float
        At least 0: the inverse of `gaussian_delta`.

    Examples
    --------
    >>> round(gaussian_epsilon(1.0, 1e-5), 3)
    4.377
    """
    if not 0.0 <= mu < np.inf:
        raise InputError(f"mu must be at least 0 and finite, got {mu}")
    checks.below_one(delta, "delta")
    if mu == 0.0:
        return 0.0
    if delta == 0.0:
        return np.inf
    wanted = np.log(delta)
    if _log_delta(mu, 0.0) <= wanted:
        return 0.0
    # At this epsilon the first term alone equals delta, so the difference lies below it.
    high = mu * (mu / 2 - float(ndtri(delta)))
    return float(brentq(lambda epsilon: _log_delta(mu, epsilon) - wanted, 0.0, high, xtol=1e-12))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu of a Gaussian mechanism that is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1); at 0 only mu = 0 is private.

    Returns
    -------
    float
        At least 0: the inverse of `gaussian_epsilon` at this delta.

    Examples
    --------
    >>> round(gaussian_mu(4.377178, 1e-5), 4)
    1.0
    """
    checks.below_one(delta, "delta")
    if not 0.0 <= epsilon < np.inf:
        raise InputError(f"epsilon must be at least 0 and finite, got {epsilon}")
    if delta == 0.0:
        return 0.0
    # Doubling ends: delta rises to 1 with mu.
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2.0
    # On the log scale, where tiny deltas keep their digits.
    wanted = np.log(delta)
    low = high
    while _log_delta(low, epsilon) > wanted:
        low /= 2.0
    return float(brentq(lambda mu: _log_delta(mu, epsilon) - wanted, low, high, xtol=1e-14))


def mu_lower_bound(decisions: Decisions, level: float = 0.95) -> Estimate:
    """Return the largest mu that the guesses rule out, if the mechanism is Gaussian.

    Parameters
    ----------
    decisions : Decisions
        The threshold must not have been chosen on these rows.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        `low` and `value` are the bound, at least 0; `high` is infinity.

    Notes
    -----
    ``mu >= Phi^-1(TPR) - Phi^-1(FPR)`` for every test on a mu-GDP mechanism (Dong, Roth & Su 2022,
    definition 2.7; as an audit Nasr et al. 2023, section 5). The limit of each rate is
    Clopper-Pearson's at half of the error.
    """
    tpr = decision.recall(decisions, level)
    fpr = decision.false_positive_rate(decisions, level)
    # Also avoids inf - inf, where both limits are 0 or both are 1.
    low = float(ndtri(tpr.low) - ndtri(fpr.high)) if tpr.low > fpr.high else 0.0
    method = "Clopper-Pearson, Bonferroni"
    return Estimate(
        value=low, low=low, high=np.inf, level=level, n=decisions.n_units, method=method
    )


def _log_delta(mu: float, epsilon: float) -> float:
    # log(e^first - e^(epsilon + second)), with the larger term factored out.
    first = log_ndtr(mu / 2 - epsilon / mu)
    second = log_ndtr(-mu / 2 - epsilon / mu)
    # For nearly equal terms rounding may make the gap 0 or positive; it is always negative.
    gap = min(float(epsilon + second - first), -np.finfo(float).tiny)
    return float(first + np.log(-np.expm1(gap)))
