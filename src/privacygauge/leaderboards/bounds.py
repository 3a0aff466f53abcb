"""Upper bounds on every analyst's gain, and the gains of attacks and of honest selection."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.signal import fftconvolve, lfilter
from scipy.special import betainc, log_ndtr, ndtri, rel_entr

from privacygauge.core import checks
from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import Exact
from privacygauge.leaderboards.mechanism import Guard
from privacygauge.leaderboards.naive_bayes import log_odds
from privacygauge.leaderboards.oracle import fewest, most_submissions

_MOST_QUERIES = 10**12
_NEVER = 1e-13
"""Probability that counts as none."""
_SUMMED = 4_000
"""Largest number of cells of a sum over counts."""


def honest_best_of_k(n: int, k: int, *, accuracy: float = 0.8, correlation: float = 0.0) -> float:
    """Return the expected bias of the best of k equally accurate models.

    (E[max of k binomial counts] - q c)/n, on c contested points. Nobody attacks here: the best
    score is chosen, as on any leaderboard.

    Two submissions are taken to err independently of each other but for how hard each point is. Of
    all such points with this accuracy p and correlation r, those leave most to choose from where
    everybody is right on some, and right with probability ``q = (1 - r) p`` on the others,
    ``c = n (1 - p)/(1 - q)``: the best count is skewed to the right. With r = 0 all are contested.

    Parameters
    ----------
    n, k : int
        Numbers of points and of submissions, each at least 1.
    accuracy : float, default 0.8
        True accuracy p of each submission, in (0, 1).
    correlation : float, default 0.0
        Correlation between the errors of two submissions, in [0, 1]: models that err on the same
        points leave less to choose from.
    """
    p = checks.level(accuracy, "accuracy")
    points, p = _hard_points(n, p, correlation)
    if p == 0:
        return 0.0
    checks.at_least(1, k=k)
    # E[max] is the sum of P(max > x) over the counts x from 0; outside this range it is 1 or 0.
    mean = points * p
    # Bernstein's inequality: beyond t with exp(-t^2 / (2 (v + t/3))) below it counts as none.
    log = math.log(k / _NEVER)
    reach = log / 3 + math.sqrt(log**2 / 9 + 2 * mean * (1 - p) * log)
    low = max(0, math.floor(mean - reach))
    high = min(points, math.ceil(mean + reach))
    # Every count by itself where they are few, else cells of several, each by its middle.
    cells = min(high - low, _SUMMED)
    width = (high - low) / cells
    x = low - 0.5 + width * (np.arange(cells) + 0.5)
    with np.errstate(divide="ignore"):
        never_above = k * np.log1p(-betainc(x + 1, points - x, p))
    return float(low + width * -np.expm1(never_above).sum() - mean) / n


def honest_submissions(
    bias: float,
    n: int,
    *,
    accuracy: float = 0.8,
    correlation: float = 0.0,
    probability: float = 0.95,
) -> int:
    """Return the number of submissions whose best stays within `bias` with this probability.

    The maximum of k independent counts is at most x with probability P(count <= x)^k. At most
    10^12.
    """
    p = checks.level(accuracy, "accuracy")
    points, p = _hard_points(n, p, correlation)
    # The tolerance keeps a whole number from being rounded to the one below.
    within = math.floor(points * p + n * bias + 1e-9)
    one = float(np.log1p(-betainc(within + 1, points - within, p))) if within < points else 0.0
    wanted = math.log(checks.level(probability, "probability"))
    # Compared before dividing: `one` may be 0, or the quotient beyond the largest integer.
    return int(wanted / one) if wanted / _MOST_QUERIES > one else _MOST_QUERIES


def honest_points(
    bias: float,
    k: int,
    *,
    accuracy: float = 0.8,
    correlation: float = 0.0,
    probability: float = 0.95,
) -> int:
    """Return the fewest points at which the best of k submissions stays within `bias`."""
    if bias <= 0:
        raise InputError(f"bias must be above 0, got {bias}")
    checks.at_least(1, k=k)

    def enough(n: int) -> bool:
        return k <= honest_submissions(
            bias, n, accuracy=accuracy, correlation=correlation, probability=probability
        )

    # Counts are whole, so that a few points more may be too few again: from half of the number at
    # which normal counts are enough, the first power of two that is.
    x = float(ndtri(checks.level(probability, "probability") ** (1 / k)))
    normal = (max(x, 0.0) / bias) ** 2 * accuracy * (1 - accuracy) * (1 - correlation)
    most = max(1, math.ceil(normal / 2))
    while not enough(most):
        most *= 2
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        if enough(middle):
            most = middle
        else:
            least = middle
    return most


def expected_maximum(k: int) -> float:
    """Return the expected maximum of k independent standard normals; 0 for k = 1."""
    checks.at_least(1, k=k)
    # A sum over a grid; beyond 12 the densities are below 1e-31.
    x = np.linspace(-12.0, 12.0, 4_801)
    log_density = -0.5 * x**2 - 0.5 * math.log(2 * math.pi) + (k - 1) * log_ndtr(x)
    return float((x * k * np.exp(log_density)).sum() * (x[1] - x[0]))


def _hard_points(n: int, p: float, correlation: float) -> tuple[int, float]:
    """Return the number of contested points, and the probability of being right on one."""
    checks.at_least(1, n=n)
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation must be in [0, 1], got {correlation}")
    right = (1 - correlation) * p
    # The tolerance keeps a whole number from being rounded to the one above.
    return math.ceil(n * (1 - p) / (1 - right) - 1e-9), right


MAJORITY = 2 / math.pi
"""Efficiency of weights of 1 and -1, relative to those of NB."""
BLUM_HARDT = 1 / math.pi
"""Efficiency of weights of 1 and 0, relative to those of NB."""
_TRUSTED = 20.0


def plurality_accuracy(d: float, m: int) -> float:
    """Return the probability that a normal with mean `d` beats m - 1 standard normals.

    Parameters
    ----------
    d : float
        Mean, at least 0.
    m : int
        Number of normals, at least 2.

    Returns
    -------
    float
        Probability, from 1/m at d = 0 up to 1. Absolute error below 1e-12.
    """
    # The trapezoidal rule converges faster than any power of the step for such integrands.
    x = np.linspace(-12.0, 12.0, 4_801)
    density = np.exp(-0.5 * x**2 + (m - 1) * log_ndtr(x + d)) / math.sqrt(2 * math.pi)
    return float(min(1.0, density.sum() * (x[1] - x[0])))


def answer_variance(n: int, m: int) -> float:
    """Return the variance of a random query's accuracy, s^2 = (1/m)(1 - 1/m)/n."""
    return (1 / m) * (1 - 1 / m) / n


def efficiency(n: int, m: int, error: float) -> float:
    """Return the share of NB's information left at an answer error of `error`, in (0, 1].

    c = s^2 / (s^2 + error^2), with `error` a standard deviation: a guard's ``error(n)``. For a
    rounding step h it is h / sqrt(12), valid for h <= 2 s.
    """
    spread = answer_variance(n, m)
    return spread / (spread + error**2)


def nb_bias(n: int, m: int, k: int, *, error: float = 0.0) -> float:
    """Return the expected bias above 1/m of NB with a uniform prior, in closed form.

    Parameters
    ----------
    n, m, k : int
        Numbers of points, of classes (at least 2) and of random queries.
    error : float, default 0.0
        Standard deviation of the answers around the accuracies.

    Examples
    --------
    >>> from privacygauge.leaderboards.bounds import nb_bias
    >>> round(nb_bias(10_000, 2, 5_000), 4)
    0.2602
    """
    _check_sizes(n, m, k)
    return _bias(n, m, k, efficiency(n, m, error))


def majority_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of `Majority`, in closed form with c = 2/pi."""
    _check_sizes(n, m, k)
    return _bias(n, m, k, MAJORITY)


def blum_hardt_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of `BlumHardt`, in closed form with c = 1/pi."""
    _check_sizes(n, m, k)
    return _bias(n, m, k, BLUM_HARDT)


def count_per_label(n: int, m: int, k: int) -> float:
    """Return the draws per label at a point and in a query: the smaller of k/m and n/m."""
    return min(k, n) / m


def is_normal_enough(n: int, m: int, k: int) -> bool:
    """Return whether label counts are normal enough for the closed form: at least 20 draws."""
    return count_per_label(n, m, k) >= _TRUSTED


def queries_for_bias(bias: float, n: int, m: int, *, error: float = 0.0) -> float:
    """Return the number of random queries that NB needs for `bias` above 1/m, in closed form.

    Parameters
    ----------
    bias : float
        Bias in (0, 1 - 1/m).
    n, m : int
        Numbers of points and of classes.
    error : float, default 0.0
        As in `nb_bias`.

    Returns
    -------
    float
        Number of queries, not rounded.
    """
    _check_sizes(n, m)
    _check_bias(bias, m)
    d = brentq(lambda x: plurality_accuracy(x, m) - 1 / m - bias, 0.0, 40.0, xtol=1e-12)
    return float(d**2 * (m - 1) * n / (m * efficiency(n, m, error)))


def scan_bias(n: int, m: int, k: int) -> float:
    """Return the exact expected bias above 1/m of the linear scan without a prior.

    The first submission gives the starting accuracy. A point costs T queries: 1 for m of 2 or 3,
    otherwise T = 1 with probability 2/m, T = t with probability 1/m for 1 < t < m - 2, and T = m -
    2 with probability 2/m. After q >= 1 of its queries its label is right with probability min(q +
    2, m)/m, and the gains of all points begun add up (a renewal process over the queries).

    Parameters
    ----------
    n, m, k : int
        Numbers of points, of classes and of submissions.
    """
    _check_sizes(n, m, k)
    used = max(0, k - 1)
    if used == 0:
        return 0.0
    # Probabilities of costs 0, 1, ... of a point, up to the queries used.
    last = max(1, m - 2)
    costs = np.full(last + 1, 1 / m)
    costs[0] = 0.0
    costs[1] += 1 / m
    costs[last] += 1 / m
    costs = costs[: used + 1] / costs.sum()
    impulse = np.zeros(used + 1)
    impulse[0] = 1.0
    # starts[q]: probability that a point is begun after q queries; the renewal equation as a
    # filter.
    starts = lfilter([1.0], np.concatenate([[1.0], -costs[1:]]), impulse)
    if used >= n:
        # Total cost of n points by repeated squaring; costs beyond `used` cannot matter.
        total = np.ones(1)
        square = costs
        left = n
        while left:
            if left % 2:
                total = fftconvolve(total, square)[: used + 1]
            square = fftconvolve(square, square)[: used + 1]
            left = left // 2
        total = np.pad(total, (0, used + 1 - len(total)))
        # Point n + 1, which would be begun after n points, does not exist.
        starts = starts - fftconvolve(total, starts)[: used + 1]
    # Queries left to each point, by the query at which it is begun.
    queries = np.arange(used, -1, -1)
    gains = np.where(queries > 0, np.minimum(queries + 2, m) / m - 1 / m, 0.0)
    return float(starts @ gains / n)


def _bias(n: int, m: int, k: int, c: float) -> float:
    d = math.sqrt(c * k * m / ((m - 1) * n))
    return max(0.0, plurality_accuracy(d, m) - 1 / m)


def _check_sizes(n: int, m: int, k: int = 0) -> None:
    """Raise unless there are points and classes, and k is a number of queries."""
    checks.at_least(1, n=n)
    if m < 2:
        raise InputError(f"m must be at least 2 classes, got {m}")
    if k < 0:
        raise InputError(f"k must be at least 0 queries, got {k}")


Floats = NDArray[np.float64]

# Most grid cells per standard deviation of one weight, and cells in total.
_CELLS = 32
_SIZE = 2**17
"""Cells of the grid of log odds, for the Fourier transform."""
FEWEST_CLASSES = 10
"""Fewest classes: with fewer, label counts are far from independent."""


def poisson_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of NB with a uniform prior, from Poisson label counts.

    For few queries per label (`is_normal_enough` is False), where the closed form is off and mostly
    too low: sums of few draws are skewed, and the largest of m profits from that.

    Parameters
    ----------
    n, m, k : int
        Numbers of points, of classes (at least 10: with fewer the counts are far from independent)
        and of random queries (at least 1).

    Notes
    -----
    A wrong label receives weight w(a) = log(a (m - 1)/(1 - a)) at rate k P(a) (1 - a)/(m - 1), the
    right one at rate k P(a) a, with n a binomial (Lemma 4.1). Weights are split between the two
    nearest cells of a grid. Checked by simulation.

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
        # Counts beyond these have probability below 1e-14 on either side.
        low, high = scipy.stats.binom.ppf([1e-14, 1 - 1e-14], n, 1 / m)
        counts = np.arange(int(low), int(high) + 1)
    chance = scipy.stats.binom.pmf(counts, n, 1 / m)
    accuracy = counts / n
    weight = log_odds(accuracy, m)
    finite = np.isfinite(weight)
    wrong = k * chance * (1 - accuracy) / (m - 1)
    right = k * chance * accuracy
    # An accuracy of 0 excludes a wrong label (weight -inf); one of 1 settles the point (weight
    # inf).
    # The grid's step is fine for one weight, and wide enough for the sum.
    squares = float(wrong[finite] @ weight[finite] ** 2)
    one = math.sqrt(float(squares / wrong[finite].sum()))
    reach = 12 * math.sqrt(squares) + 4 * float(np.abs(weight[finite]).max())
    cell = max(one / _CELLS, 2 * reach / _SIZE)
    excluded = -math.expm1(-wrong[weight == -np.inf].sum())
    right_at = _compound(weight[finite], right[finite], cell)
    wrong_at = (1 - excluded) * _compound(weight[finite], wrong[finite], cell)
    settled = -math.expm1(-right[weight == np.inf].sum())
    # Each value's probability of beating m - 1 independent draws, ties split evenly: the mean of
    # 1/(1 + number of ties) is (F^m - (F - f)^m)/(m f), with f the mass and F its sum.
    top = np.minimum(excluded + np.cumsum(wrong_at), 1.0)
    bottom = np.maximum(top - wrong_at, 0.0)
    # For tiny masses the quotient loses all digits; its limit is F^(m - 1).
    tied = wrong_at > 1e-9
    mass = np.where(tied, wrong_at, 1.0)
    largest = np.where(tied, (top**m - bottom**m) / (m * mass), top ** (m - 1))
    won = float(right_at @ largest)
    return settled + (1 - settled) * won - 1 / m


def _compound(weight: Floats, rate: Floats, cell: float) -> Floats:
    """Return the probabilities of the sum on the grid, lowest value first."""
    # Compound Poisson: the transform of the sum is exp(transform of the rates - total rate).
    place = weight / cell
    below = np.floor(place).astype(np.int64)
    rates = np.zeros(_SIZE)
    np.add.at(rates, below % _SIZE, rate * (below + 1 - place))
    np.add.at(rates, (below + 1) % _SIZE, rate * (place - below))
    sums = np.fft.irfft(np.exp(np.fft.rfft(rates) - rate.sum()), _SIZE)
    return np.roll(np.maximum(sums, 0.0), _SIZE // 2)


# Largest number of points searched.
_MOST_POINTS = 10**12


def transcript_nats(guard: Guard, k: int, n: int, m: int, *, accounts: int | None = None) -> float:
    """Return the logarithm of the number of transcripts of k answers about n points.

    Parameters
    ----------
    guard : Guard
        Exact answers have (n + 1)^k transcripts, D printed values D^k, a Ladder as many as there
        are rising sequences.
    k, n, m : int
        Numbers of submissions (at least 0), of points (at least 1) and of classes (at least 2).
    accounts : int, optional
        Number of accounts that submit, if each has its own guard state. By default all submissions
        go to one state.
    """
    if k < 0 or n < 1:
        raise InputError(f"k must be at least 0 and n at least 1, got {k} and {n}")
    return guard.nats(k, n, m, accounts) if k else 0.0


def chernoff_bias(nats: float, n: int, m: int, *, delta: float = 0.05) -> float:
    """Return epsilon of Theorem 3.1 for a transcript of `nats`; it may exceed 1 - 1/m.

    epsilon = 2 max(sqrt(b/(n m)), b/n) with b = nats + ln(1/delta): the accuracy is at least
    1/m + epsilon with probability at most `delta`.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Theorem 3.1 and Remark 3.2.
    """
    b = _exponent(nats, n, m, delta)
    return 2 * max(math.sqrt(b / (n * m)), b / n)


def theorem_3_1(n: int, m: int, k: int, *, delta: float = 0.05) -> float:
    """Return the bias above 1/m that k exact answers exceed with probability at most `delta`."""
    return chernoff_bias(transcript_nats(Exact(), k, n, m), n, m, delta=delta)


def expected_bias(n: int, m: int, k: int) -> float:
    """Return an upper bound on the expected bias above 1/m after k exact answers.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), after Remark 3.2: delta = 1/n, and an accuracy is at most
    1. The bound may exceed 1 - 1/m.
    """
    b = (k + 1) * math.log(n + 1)
    return 1 / n + 2 * max(math.sqrt(b / (n * m)), b / n)


def bits_bias(bits: float, n: int, m: int, *, delta: float = 0.05) -> float:
    """Return the bias above 1/m for an oracle that reveals at most `bits` bits in total.

    As Remark 3.2, but counting 2^bits transcripts: b = bits ln 2 + ln(1/delta), where the paper has
    the looser b = bits + ln(1/delta).
    """
    return kl_bias(bits * math.log(2), n, m, delta=delta)


def kl_bias(nats: float, n: int, m: int, *, delta: float = 0.05) -> float:
    """Return the bias above 1/m that a transcript of `nats` allows, from the exact exponent.

    The proof of Theorem 3.1 with the Chernoff-Hoeffding tail exp(-n KL(1/m + epsilon || 1/m)) in
    place of its simplification: epsilon solves n KL = nats + ln(1/delta). At most the theorem's
    epsilon, and at most 1 - 1/m.

    Parameters
    ----------
    nats : float
        Log of the number of transcripts, from `transcript_nats`; at least 0.
    n, m : int
        Numbers of points, and of classes (at least 2).
    delta : float, default 0.05
        Probability that the bias is larger, in (0, 1).
    """
    b = _exponent(nats, n, m, delta) / n
    p = 1 / m
    # KL(1 || 1/m) = ln m is the largest divergence: beyond it every accuracy is possible.
    if b >= math.log(m):
        return 1 - p
    return float(brentq(lambda e: _divergence(p + e, p) - b, 0.0, 1 - p, xtol=1e-15)) if b else 0.0


def guarantee(
    guard: Guard, n: int, m: int, k: int, *, delta: float = 0.05, accounts: int | None = None
) -> float:
    """Return the bias above 1/m that `guard` allows after k submissions, by `kl_bias`."""
    return kl_bias(transcript_nats(guard, k, n, m, accounts=accounts), n, m, delta=delta)


def bias_for_labels(
    guard: Guard, n: int, m: int, k: int, largest: float, *, delta: float = 0.05
) -> float:
    """Return the bias above 1/m that `guard` allows if classes are unequally frequent.

    Parameters
    ----------
    largest : float
        Share of the most frequent class, at least 1/m.

    Returns
    -------
    float
        At least ``largest - 1/m``, the gain from knowing the frequencies without a submission; at
        most ``1 - 1/m``.

    Notes
    -----
    As `kl_bias`: a fixed labelling is right on any example with probability at most `largest`, if
    each label is drawn by the frequencies, so the tail is that of Bin(n, largest).
    """
    above = frequency_bias(transcript_nats(guard, k, n, m), n, largest, delta=delta)
    return largest + above - 1 / m


def frequency_bias(nats: float, n: int, largest: float, *, delta: float = 0.05) -> float:
    """Return the bias above the share `largest` that a transcript of `nats` allows.

    The attacker knows how frequent each class is, and `largest` is the share of the most frequent
    one; see `bias_for_labels`. At most ``1 - largest``.
    """
    b = _exponent(nats, n, 2, delta) / n
    if b >= -math.log(largest):
        return 1 - largest
    return float(
        brentq(lambda e: _divergence(largest + e, largest) - b, 0.0, 1 - largest, xtol=1e-15)
    )


def guaranteed_submissions(
    bias: float,
    n: int,
    m: int,
    *,
    guard: Guard | None = None,
    probability: float = 0.95,
    accounts: int | None = None,
) -> int:
    """Return the number of submissions at which any attack stays within `bias` of 1/m.

    Parameters
    ----------
    bias : float
        Bias, such as 0.005 for half a point; in (0, 1 - 1/m).
    n, m : int
        Numbers of points and of classes.
    guard : Guard, optional
        Guard; by default answers are exact.
    probability : float, default 0.95
        Probability with which it holds, over uniform labels.
    accounts : int, optional
        As in `transcript_nats`.

    Returns
    -------
    int
        0 if not even one submission is allowed.
    """
    delta = 1 - checks.level(probability, "probability")
    _check_bias(bias, m)
    affordable = n * _divergence(1 / m + bias, 1 / m) + math.log(delta)
    if affordable < 0:
        return 0
    asked = guard or Exact()
    return most_submissions(
        lambda k: transcript_nats(asked, k, n, m, accounts=accounts), affordable
    )


def guaranteed_points(
    bias: float,
    m: int,
    k: int,
    *,
    guard: Guard | None = None,
    probability: float = 0.95,
    accounts: int | None = None,
) -> int:
    """Return the fewest points at which k submissions keep any attack within `bias` of 1/m."""
    asked = guard or Exact()
    delta = 1 - checks.level(probability, "probability")
    _check_bias(bias, m)

    def enough(n: int) -> bool:
        if n > _MOST_POINTS:
            raise InputError("no test set of up to 10^12 points is enough: allow a larger bias")
        return guarantee(asked, n, m, k, delta=delta, accounts=accounts) <= bias

    return fewest(enough)


def reconstruction_queries(n: int, m: int) -> int:
    """Return the number of random queries that determine all n labels with probability >= 1/2.

    k = max(5 n ln m / ln(n/(4m)), 20 m ln(n m)), from accuracies known up to a shift. This suffices
    in theory: the labels are determined, not found.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Theorem 4.5, for m >= 3 and n > 4m.
    """
    if m < 3 or n <= 4 * m:
        raise InputError(f"Theorem 4.5 needs m of at least 3 and n above 4m, got m {m}, n {n}")
    return math.ceil(max(5 * n * math.log(m) / math.log(n / (4 * m)), 20 * m * math.log(n * m)))


def reconstruction_size(n: int, m: int, k: int) -> int:
    """Return how many of n labels k random queries determine with probability at least 1/2.

    The largest t <= n for which `reconstruction_queries` is at most k: the example budget of
    Algorithm 2. Finding the labels takes a search whose time grows without bound in t.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Theorem 4.5, for m >= 3. Below t = 4em its bound decreases in
    t; such t are not considered.

    Raises
    ------
    InputError
        If m, n or k are too small for the theorem.
    """
    few = math.ceil(4 * math.e * m)
    if m < 3 or n < few or reconstruction_queries(few, m) > k:
        raise InputError(
            f"Theorem 4.5 needs m of at least 3, n of at least {few} and enough queries for as "
            f"many points, got m {m}, n {n}, k {k}"
        )
    # From 4em on, more points never need fewer queries: bisection.
    low = few
    high = n
    while low < high:
        middle = (low + high + 1) // 2
        if reconstruction_queries(middle, m) <= k:
            low = middle
        else:
            high = middle - 1
    return low


def pointwise_rate(n: int, m: int, k: int) -> float:
    """Return sqrt(k/n)/m, the rate of Theorem 4.4; its constant is unknown: not a bias."""
    return math.sqrt(k / n) / m


def reconstruction_rate(n: int, m: int, k: int) -> float:
    """Return k ln(k/m)/(n ln m), the rate of Corollary 4.6; constant unknown: not a bias."""
    return k * math.log(max(k / m, 1.0)) / (n * math.log(m))


def _divergence(q: float, p: float) -> float:
    return float(rel_entr(q, p) + rel_entr(1 - q, 1 - p))


def _exponent(nats: float, n: int, m: int, delta: float) -> float:
    if nats < 0 or m < 2:
        raise InputError(f"nats must be at least 0 and m at least 2, got {nats} and {m}")
    checks.at_least(1, n=n)
    return nats + math.log(1 / checks.level(delta, "delta"))


def _check_bias(bias: float, m: int) -> None:
    if not 0 < bias < 1 - 1 / m:
        raise InputError(f"bias must be in (0, {1 - 1 / m:.4g}), got {bias}")
