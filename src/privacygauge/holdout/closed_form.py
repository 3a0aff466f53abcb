"""The bias gained by honest selection, random queries and the linear scan, without a simulation."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.signal import fftconvolve, lfilter
from scipy.special import log_ndtr, ndtri

from privacygauge.core import checks
from privacygauge.errors import InputError
from privacygauge.holdout.naive_bayes import log_odds

_MOST = 10**12


def honest_best_of_k(n: int, k: int, *, accuracy: float = 0.8, correlation: float = 0.0) -> float:
    """Return the expected bias, at most, of the best of k submissions of equal true accuracy.

    sqrt(p (1 - p)/n) E[max of k standard normals] sqrt(1 - correlation). Nobody attacks here:
    the best score is chosen, as on any leaderboard.

    Parameters
    ----------
    n, k : int
        Points and submissions, each at least 1.
    accuracy : float, default 0.8
        True accuracy p of each, in (0, 1).
    correlation : float, default 0.0
        Between the errors of two submissions, in [0, 1]: models that err on the same points
        leave less to choose from.
    """
    return _deviation(n, accuracy, correlation) * expected_maximum(k)


def honest_submissions(
    bias: float,
    n: int,
    *,
    accuracy: float = 0.8,
    correlation: float = 0.0,
    probability: float = 0.95,
) -> int:
    """Return the number of submissions whose best stays within `bias` with this probability.

    The maximum of k independent normals is below x with probability Phi(x)^k. At most 10^12.
    """
    deviation = _deviation(n, accuracy, correlation)
    one = float(log_ndtr(bias / deviation)) if deviation else 0.0
    wanted = math.log(checks.level(probability, "probability"))
    return int(wanted / one) if wanted / _MOST > one else _MOST


def honest_points(
    bias: float,
    k: int,
    *,
    accuracy: float = 0.8,
    correlation: float = 0.0,
    probability: float = 0.95,
) -> int:
    """Return the fewest points on which the best of k submissions stays within `bias`."""
    if bias <= 0:
        raise InputError(f"bias must be above 0, got {bias}")
    x = float(ndtri(checks.level(probability, "probability") ** (1 / some(k, "k"))))
    return max(1, math.ceil((max(x, 0.0) * _deviation(1, accuracy, correlation) / bias) ** 2))


def expected_maximum(k: int) -> float:
    """Return the expected maximum of k independent standard normals; 0 for one."""
    x = np.linspace(-12.0, 12.0, 4_801)
    log_density = -0.5 * x**2 - 0.5 * math.log(2 * math.pi) + (some(k, "k") - 1) * log_ndtr(x)
    return float((x * k * np.exp(log_density)).sum() * (x[1] - x[0]))


def _deviation(n: int, accuracy: float, correlation: float) -> float:
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation must be in [0, 1], got {correlation}")
    p = checks.level(accuracy, "accuracy")
    return math.sqrt(p * (1 - p) * (1 - correlation) / some(n, "n"))


def some(value: int, name: str) -> int:
    """Return `value`, at least 1."""
    checks.at_least(1, **{name: value})
    return value


MAJORITY = 2 / math.pi
"""Efficiency of weights of 1 and -1, relative to NB's."""
BLUM_HARDT = 1 / math.pi
"""Efficiency of weights of 1 and 0."""
_TRUSTED = 20.0


def plurality_accuracy(d: float, m: int) -> float:
    """Return the probability that a normal with mean `d` beats m - 1 standard normals.

    Parameters
    ----------
    d : float
        At least 0.
    m : int
        At least 2.

    Returns
    -------
    float
        From 1/m at 0 to 1. Absolute error below 1e-12.
    """
    # The rule converges faster than any power of the step for such integrands.
    x = np.linspace(-12.0, 12.0, 4_801)
    density = np.exp(-0.5 * x**2 + (m - 1) * log_ndtr(x + d)) / math.sqrt(2 * math.pi)
    return float(min(1.0, density.sum() * (x[1] - x[0])))


def answer_variance(n: int, m: int) -> float:
    """Return the variance of a random query's accuracy, s^2 = (1/m)(1 - 1/m)/n."""
    return (1 / m) * (1 - 1 / m) / n


def efficiency(n: int, m: int, error: float) -> float:
    """Return the share of NB's information that survives an average error of `error`, in (0, 1].

    c = s^2 / (s^2 + error^2), `error` a standard deviation: a guard's ``error(n)``. For a rounding
    step of h it is h / sqrt(12), valid while h <= 2 s.
    """
    spread = answer_variance(n, m)
    return spread / (spread + error**2)


def nb_bias(n: int, m: int, k: int, *, error: float = 0.0) -> float:
    """Return the expected bias above 1/m of NB with a uniform prior, by the closed form.

    Parameters
    ----------
    n, m, k : int
        Points, classes (at least 2) and random queries.
    error : float, default 0.0
        Standard deviation of the answers around the accuracies.

    Examples
    --------
    >>> from privacygauge.holdout.closed_form import nb_bias
    >>> round(nb_bias(10_000, 2, 5_000), 4)
    0.2602
    """
    return _bias(n, m, k, efficiency(some(n, "n"), _classes(m), error))


def majority_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of `Majority`, by the closed form with c = 2/pi."""
    return _bias(n, m, k, MAJORITY)


def blum_hardt_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of `BlumHardt`, by the closed form with c = 1/pi."""
    return _bias(n, m, k, BLUM_HARDT)


def count_per_label(n: int, m: int, k: int) -> float:
    """Return the draws per label at a point and in a query: the smaller of k/m and n/m."""
    return min(k, n) / m


def is_normal_enough(n: int, m: int, k: int) -> bool:
    """Return whether label counts are normal enough for the closed form: 20 draws or more."""
    return count_per_label(n, m, k) >= _TRUSTED


def queries_for_bias(bias: float, n: int, m: int, *, error: float = 0.0) -> float:
    """Return how many random queries NB needs for `bias` above 1/m, the closed form inverted.

    Parameters
    ----------
    bias : float
        In (0, 1 - 1/m).
    n, m : int
        Points and classes.
    error : float, default 0.0
        As in `nb_bias`.

    Returns
    -------
    float
        Not rounded to whole queries.
    """
    _classes(m)
    if not 0 < bias < 1 - 1 / m:
        raise InputError(f"bias must be in (0, {1 - 1 / m:.4g}), got {bias}")
    d = brentq(lambda x: plurality_accuracy(x, m) - 1 / m - bias, 0.0, 40.0, xtol=1e-12)
    return float(d**2 * (m - 1) * some(n, "n") / (m * efficiency(n, m, error)))


def scan_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of the linear scan without a prior, exactly.

    The first submission gives the starting accuracy. A point costs T queries: 1 for m of 2 or 3,
    otherwise T = 1 with probability 2/m, T = t with 1/m for 1 < t < m - 2, and T = m - 2 with
    2/m. After q of its queries its label is right with probability min(q + 2, m)/m for q >= 1,
    and the gains of all points begun add up (a renewal process over the queries).

    Parameters
    ----------
    n, m, k : int
        Points, classes and submissions.
    """
    used = max(0, _queries(k) - 1)
    if used == 0:
        return 0.0
    costs = _costs(_classes(m), used)
    impulse = np.zeros(used + 1)
    impulse[0] = 1.0
    starts = lfilter([1.0], np.concatenate([[1.0], -costs[1:]]), impulse)
    if used >= some(n, "n"):
        # Point n + 1, which would be begun when n points are done, does not exist.
        starts = starts - fftconvolve(_power(costs, n, used), starts)[: used + 1]
    queries = np.arange(used, -1, -1)
    gains = np.where(queries > 0, np.minimum(queries + 2, m) / m - 1 / m, 0.0)
    return float(starts @ gains / n)


def _costs(m: int, used: int) -> Floats:
    """Return the probabilities of costs 0, 1, ... of a point, as far as `used` queries go."""
    last = max(1, m - 2)
    costs = np.full(last + 1, 1 / m)
    costs[0] = 0.0
    costs[1] += 1 / m
    costs[last] += 1 / m
    chances: Floats = costs[: used + 1] / costs.sum()
    return chances


def _power(costs: Floats, n: int, used: int) -> Floats:
    """Return the probabilities of the total cost of n points, as far as `used` queries go."""
    result = np.ones(1)
    square = costs
    while n:
        if n % 2:
            result = fftconvolve(result, square)[: used + 1]
        square = fftconvolve(square, square)[: used + 1]
        n = n // 2
    padded: Floats = np.pad(result, (0, used + 1 - len(result)))
    return padded


def _bias(n: int, m: int, k: int, c: float) -> float:
    d = math.sqrt(c * _queries(k) * _classes(m) / ((m - 1) * some(n, "n")))
    return max(0.0, plurality_accuracy(d, m) - 1 / m)


def _classes(m: int) -> int:
    if m < 2:
        raise InputError(f"m must be at least 2 classes, got {m}")
    return m


def _queries(k: int) -> int:
    if k < 0:
        raise InputError(f"k must be at least 0 queries, got {k}")
    return k


Floats = NDArray[np.float64]

# Cells of the grid per standard deviation of one weight, at most, and in all.
_CELLS = 32
_SIZE = 2**17
"""Cells of the grid of log odds, for the Fourier transform."""
FEWEST_CLASSES = 10
"""Minimum number of classes: with fewer, label counts are far from independent."""


def poisson_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of NB with a uniform prior, from Poisson label counts.

    For few queries a label (`closed_form.is_normal_enough` is False), where the closed form is off,
    and mostly too low: few draws have skewed sums, and the largest of m profits from that.

    Parameters
    ----------
    n, m, k : int
        Points, classes (at least 10: with fewer the counts are far from independent) and random
        queries, at least 1.

    Notes
    -----
    A wrong label meets weight w(a) = log(a (m - 1)/(1 - a)) at the rate k P(a) (1 - a)/(m - 1),
    the right one at the rate k P(a) a, with n a binomial (Lemma 4.1). Weights are split between
    the two nearest of a grid's cells. Checked by simulation.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Algorithm 1 and Lemma 4.1.
    """
    if m < FEWEST_CLASSES or min(n, k) < 1:
        raise InputError(
            f"m must be at least {FEWEST_CLASSES}, n and k at least 1, got {m}, {n} and {k}"
        )
    counts = np.arange(n + 1)
    if n >= 1_000:
        # Counts beyond these have a probability below 1e-14 on either side.
        low, high = scipy.stats.binom.ppf([1e-14, 1 - 1e-14], n, 1 / m)
        counts = np.arange(int(low), int(high) + 1)
    chance = scipy.stats.binom.pmf(counts, n, 1 / m)
    accuracy = counts / n
    weight = log_odds(accuracy, m)
    finite = np.isfinite(weight)
    wrong = k * chance * (1 - accuracy) / (m - 1)
    right = k * chance * accuracy
    cell = _cell(weight[finite], wrong[finite])
    excluded = -math.expm1(-wrong[weight == -np.inf].sum())
    right_at = _compound(weight[finite], right[finite], cell)
    wrong_at = (1 - excluded) * _compound(weight[finite], wrong[finite], cell)
    settled = -math.expm1(-right[weight == np.inf].sum())
    won = float(right_at @ _largest_of(wrong_at, excluded, m))
    return settled + (1 - settled) * won - 1 / m


def _cell(weight: Floats, rate: Floats) -> float:
    """Return the grid's step: fine for one weight, and wide enough for their sum."""
    one = math.sqrt(float(rate @ weight**2 / rate.sum()))
    reach = 12 * math.sqrt(float(rate @ weight**2)) + 4 * float(np.abs(weight).max())
    return max(one / _CELLS, 2 * reach / _SIZE)


def _compound(weight: Floats, rate: Floats, cell: float) -> Floats:
    """Return the probabilities of the sum on the grid, its lowest value first."""
    place = weight / cell
    below = np.floor(place).astype(np.int64)
    rates = np.zeros(_SIZE)
    np.add.at(rates, below % _SIZE, rate * (below + 1 - place))
    np.add.at(rates, (below + 1) % _SIZE, rate * (place - below))
    sums = np.fft.irfft(np.exp(np.fft.rfft(rates) - rate.sum()), _SIZE)
    return np.roll(np.maximum(sums, 0.0), _SIZE // 2)


def _largest_of(mass: Floats, under: float, m: int) -> Floats:
    """Return each value's probability of beating m - 1 independent draws, ties split evenly.

    The mean of 1/(1 + number of ties) is (F^m - (F - f)^m)/(m f), f the mass and F its sum.
    """
    top = np.minimum(under + np.cumsum(mass), 1.0)
    bottom = np.maximum(top - mass, 0.0)
    tied = mass > 1e-9
    share = np.where(tied, mass, 1.0)
    split: Floats = np.where(tied, (top**m - bottom**m) / (m * share), top ** (m - 1))
    return split
