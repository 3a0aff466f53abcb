"""Noisy steps on sampled records, such as DP-SGD: lower bounds from the ranks of scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc

_LEAST_NOISE = 0.3
"""Smallest noise multiplier of the search."""

# The noise is searched between these two values of mu in the normal limit of many steps.
_MOST_MU = 6.0
_LEAST_MU = 0.02

_RATIO = 1.005
"""Ratio of successive noise multipliers of the search."""

_FAR = 12.0
"""Standard deviations at which the distribution of a sum of losses is cut."""

_FINE = 500
"""Grid points per standard deviation of the summed privacy loss."""
_FINEST = 20
"""Grid points per standard deviation of one step's privacy loss, at least."""


@dataclass(frozen=True)
class SampledSteps:
    """Steps of normal noise in which each record takes part by an independent coin.

    The noise is unknown: an audit bounds it. It is in multiples of the largest norm of a record's
    contribution.

    Examples
    --------
    >>> round(SampledSteps(sampling_rate=0.2, steps=20).epsilon(noise=1.5, delta=1e-5), 2)
    3.39
    """

    sampling_rate: float
    """Probability that a record takes part in a step, in (0, 1]; independent of all others."""
    steps: int
    """Number of steps, at least 1."""

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise InputError(f"sampling_rate must be in (0, 1], got {self.sampling_rate}")
        checks.at_least(1, steps=self.steps)

    @property
    def assumption(self) -> str:
        """The assumption of a bound, as reports print it."""
        return (
            f"the mechanism is DP-SGD: normal noise in {self.steps:,} steps, each record in a step "
            f"with probability {self.sampling_rate:g}"
        )

    def noise_ruled_out(self, transcript: Transcript, level: float = 0.95) -> float:
        """Return the smallest noise that the ranks of scores rule out, with all larger ones.

        Parameters
        ----------
        transcript : Transcript
            Independent rows, such as one training run each.
        level : float
            In (0, 1).

        Returns
        -------
        float
            A noise multiplier, at least 0.3; infinite where none is ruled out. Below the truth
            with probability ``1 - level`` at most.

        Notes
        -----
        No attack's ROC curve lies above that of the likelihood ratio of all steps, so that the
        empirical area is stochastically largest for the attack with this very curve: then its
        mean and variance are known (Hanley & McNeil 1982, with the integrals of that curve), and
        it is close to normal. A noise is ruled out where the observed area lies beyond its
        quantile. Nothing has to be chosen on other rows, and every rank counts. To take the
        curve of sampled steps rather than a normal one is from Nasr et al. (2023), section 5.3.
        """
        area = auc(transcript).value
        sizes = (transcript.n_in, transcript.n_out)
        limit = float(ndtri(checks.level(level)))
        noises = self._noises()

        def ruled_out(noise: float) -> bool:
            return area > _area(self, noise).quantile(*sizes, limit)

        if not ruled_out(float(noises[0])):
            return math.inf
        # The curve falls as noise grows: what rules out one noise rules out all that are larger.
        first = 0
        last = len(noises) - 1
        while last > first:
            middle = (first + last + 1) // 2
            first, last = (
                (middle, last) if ruled_out(float(noises[middle])) else (first, middle - 1)
            )
        return float(noises[first])

    def contradicted(self, transcript: Transcript, level: float = 0.95) -> bool:
        """Return whether scores rank better than such steps allow even without noise.

        Parameters
        ----------
        transcript : Transcript
            Independent rows, such as one training run each.
        level : float
            In (0, 1): how rarely scores of such steps seem to contradict them.

        Notes
        -----
        A record that took part in no step leaves no trace: with p the probability of any, the area
        is at most ``p + (1 - p) / 2``.
        """
        p = (
            -math.expm1(self.steps * math.log1p(-self.sampling_rate))
            if self.sampling_rate < 1
            else 1
        )
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
            The noise multiplier, above 0; infinite for steps that show nothing.
        delta : float
            In (0, 1), and not much below 1e-10: there rounding is no longer small beside it.

        Returns
        -------
        float
            At least 0; of adding or removing one record.

        Notes
        -----
        From the distribution of the privacy loss of one step, convolved with itself (Koskela,
        Jälkö & Honkela 2020).
        """
        checks.level(delta, "delta")
        if math.isinf(noise):
            return 0.0
        found = _Losses.of(self, noise)

        def excess(epsilon: float) -> float:
            return found.delta(epsilon) - delta

        if excess(0.0) <= 0:
            return 0.0
        return float(brentq(excess, 0.0, float(found.loss[-1]), xtol=1e-9))

    def _noises(self) -> Floats:
        """Return the noise multipliers of the search, descending."""
        scale = self.sampling_rate * math.sqrt(self.steps)
        low = max(_LEAST_NOISE, scale / _MOST_MU)
        high = max(1.0, scale / _LEAST_MU)
        number = math.ceil(math.log(high / low) / math.log(_RATIO)) + 1
        return np.asarray(np.geomspace(high, low, number), np.float64)


@dataclass(frozen=True, eq=False)
class _Losses:
    """Distribution of the privacy loss (log likelihood ratio, with to without) of all steps."""

    loss: Floats
    """(j,) Privacy losses, ascending at even steps."""
    inside: Floats
    """(j,) Probability mass with the record."""
    outside: Floats
    """(j,) Probability mass without the record."""

    @classmethod
    def of(cls, steps: SampledSteps, noise: float) -> _Losses:
        """Return the losses of all steps, by a Fourier transform of one step's losses."""
        q = steps.sampling_rate
        n = steps.steps
        # Both distributions of a step, first on a grid of what is seen: mean and deviation.
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
        # Sums go round in a circle: what does not fit between low and high is next to nothing.
        folded = [
            np.roll(np.maximum(irfft(rfft(mass, size) ** n, size), 0.0), n * first - start)
            for mass in (inside, outside)
        ]
        return cls((start + np.arange(size)) * width, folded[0], folded[1])

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta at which the steps are (epsilon, delta)-private."""
        removed = self.inside @ np.maximum(-np.expm1(epsilon - self.loss), 0.0)
        added = self.outside @ np.maximum(-np.expm1(epsilon + self.loss), 0.0)
        return float(max(removed, added))


@dataclass(frozen=True)
class _Area:
    """AUC of the likelihood ratio, with the pair probabilities that give its variance."""

    mean: float
    of_two_in: float
    """The probability that two members both rank above one non-member."""
    of_two_out: float
    """The probability that one member ranks above two non-members."""

    def quantile(self, n_in: int, n_out: int, deviations: float) -> float:
        """Return the AUC of `n_in` and `n_out` rows that lies `deviations` above its mean."""
        square = self.mean**2
        variance = self.mean * (1 - self.mean)
        variance += (n_in - 1) * (self.of_two_in - square)
        variance += (n_out - 1) * (self.of_two_out - square)
        return self.mean + deviations * math.sqrt(max(variance, 0.0) / (n_in * n_out))


# One audit looks at a dozen, and the next one at many of the same.
@lru_cache(maxsize=4096)
def _area(steps: SampledSteps, noise: float) -> _Area:
    found = _Losses.of(steps, noise)
    above = found.inside[::-1].cumsum()[::-1] - found.inside / 2
    below = found.outside.cumsum() - found.outside / 2
    return _Area(
        float(found.inside @ below), float(found.outside @ above**2), float(found.inside @ below**2)
    )
