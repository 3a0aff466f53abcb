"""Lower bounds on privacy parameters from an exact joint test of two counts.

Separate limits for the true- and the false-positive rate guard against bad luck in both counts at
once; a joint test of the two is less conservative. Its threshold and its line are chosen on rows
held out from the bound. Guesses in the order of trainings have a bound by betting, which holds at
any stopping time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, betainc, betaincinv, ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError

_POINTS = 65
"""Number of false-positive rates at which a curve is tested."""

_BLOCKS = 512
"""Largest number of blocks into which counts of false positives are grouped."""

_TOO_LOW = -2.0
"""Distance from the line, in standard deviations, at or below which the bound is 0; above it, the
order of counts is monotone."""

_SPENT = 0.02
"""Share of the error spent on the interval for the false-positive rate."""

_STEP = 1e-6
"""Tolerance by which a bound is rounded down."""

# Upper ends of the searches.
LARGEST_EPSILON = 40.0
LARGEST_MU = 20.0


@dataclass(frozen=True)
class Counts:
    """True and false positives among independent rows."""

    hits: int
    """Members guessed to be members."""
    n_in: int
    """Number of members, at least 1."""
    false: int
    """Non-members guessed to be members."""
    n_out: int
    """Number of non-members, at least 1."""

    def __post_init__(self) -> None:
        if not (0 <= self.hits <= self.n_in and self.n_in >= 1):
            raise InputError(f"hits must be in 0..n_in, got {self.hits} of {self.n_in}")
        if not (0 <= self.false <= self.n_out and self.n_out >= 1):
            raise InputError(f"false must be in 0..n_out, got {self.false} of {self.n_out}")

    @classmethod
    def of(cls, decisions: Decisions) -> Counts:
        """Return the counts of guesses."""
        return cls(
            decisions.true_positives, decisions.n_in, decisions.false_positives, decisions.n_out
        )

    @property
    def turned(self) -> Counts:
        """Counts of the reversed test, with true negatives as hits."""
        return Counts(self.n_out - self.false, self.n_out, self.n_in - self.hits, self.n_in)


@dataclass(frozen=True)
class Line:
    """A line in ROC space that orders counts by the distance of the true-positive rate above it.

    It must be fixed before the counts are seen. Any line gives a valid bound; a line near the curve
    that the counts just refute gives a large one.
    """

    slope: float
    """Slope against the false-positive rate, above 0 and finite."""
    offset: float
    """True-positive rate at a false-positive rate of 0."""

    def __post_init__(self) -> None:
        if not 0 < self.slope < math.inf or not math.isfinite(self.offset):
            raise InputError(f"a line must rise and be finite, got {self}")


def exact_epsilon(counts: Counts, line: Line, delta: float = 0.0, level: float = 0.95) -> float:
    """Return the largest epsilon that two counts rule out.

    Parameters
    ----------
    counts : Counts
        From a threshold that was chosen on other rows.
    line : Line
        Chosen on other rows.
    delta : float
        In [0, 1).
    level : float
        In (0, 1).

    Returns
    -------
    float
        In [0, 40]; above the truth with probability at most ``1 - level``.

    Notes
    -----
    The TPR of every test on an (epsilon, delta)-private mechanism is at most ``min(e^eps FPR +
    delta, 1 - e^-eps (1 - delta - FPR))`` (Kairouz et al. 2015). Under this curve, the probability
    of counts at least as far above `line` as the observed ones is summed exactly, and maximised
    over a confidence interval for the false-positive rate (Berger & Boos 1994, with a fiftieth of
    the error for the interval), at 65 rates and the corner of the curve.

    Examples
    --------
    >>> round(exact_epsilon(Counts(90, 100, 10, 100), Line(4.0, 0.0)), 2)
    1.74
    """
    checks.below_one(delta, "delta")
    return _largest(
        counts,
        line,
        level,
        most=lambda epsilon, fpr: np.minimum(
            np.minimum(
                math.exp(epsilon) * fpr + delta,
                1.0 - math.exp(-epsilon) * (1.0 - delta - fpr),
            ),
            1.0,
        ),
        # The false-positive rate at which both lines meet.
        corner=lambda epsilon: (1.0 - delta) / (1.0 + math.exp(epsilon)),
        end=LARGEST_EPSILON,
    )


def exact_mu(counts: Counts, line: Line, level: float = 0.95) -> float:
    """Return the largest mu of Gaussian differential privacy that two counts rule out.

    As `exact_epsilon`, with the curve ``Phi(Phi^-1(FPR) + mu)`` (Dong, Roth & Su 2022). In [0, 20].

    Examples
    --------
    >>> round(exact_mu(Counts(900, 1000, 100, 1000), Line(1.0, 0.7)), 2)
    2.44
    """
    return _largest(
        counts,
        line,
        level,
        most=lambda mu, fpr: np.asarray(ndtr(ndtri(fpr) + mu), np.float64),
        corner=None,
        end=LARGEST_MU,
    )


def _largest(
    counts: Counts,
    line: Line,
    level: float,
    *,
    most: Callable[[float, Floats], Floats],
    corner: Callable[[float], float] | None,
    end: float,
) -> float:
    """Return the largest parameter of trade-off curves that the counts rule out, at least 0.

    Parameters
    ----------
    counts, line, level
        As in `exact_epsilon`.
    most : callable
        Maps the parameter and false-positive rates (f,) to the largest true-positive rates (f,);
        increasing in both.
    corner : callable or None
        Maps the parameter to the false-positive rate of the curve's corner; None if it has none.
    end : float
        Upper end of the search for the parameter.
    """
    error = 1.0 - checks.level(level)
    n_out = counts.n_out
    observed_tpr = counts.hits / counts.n_in
    # One false positive added, so that a count of 0 still has a standard deviation.
    spread = line.slope**2 * (counts.false + 1) / n_out**2
    # Distance of the counts above the line, in standard deviations.
    distance = (observed_tpr - line.offset - line.slope * (counts.false / n_out)) / math.sqrt(
        observed_tpr * (1 - observed_tpr) / counts.n_in + spread
    )
    if distance <= _TOO_LOW:
        return 0.0
    # Clopper-Pearson's interval for the false-positive rate, and a grid of rates over it: evenly on
    # the square-root scale, where the spread of a small count is constant.
    tail = error * _SPENT / 2
    y = counts.false
    first = float(betaincinv(y, n_out - y + 1.0, tail)) if y else 0.0
    last = float(betaincinv(y + 1.0, n_out - y, 1.0 - tail)) if y < n_out else 1.0
    fpr = np.asarray(np.linspace(math.sqrt(first), math.sqrt(last), _POINTS) ** 2, np.float64)
    # Blocks of false positives, fine within this reach of the expected counts. The bound is valid
    # for any reach: a wider one costs time, a narrower one makes it less tight.
    reach = 7.5 * np.sqrt(n_out * fpr * (1 - fpr)) + 15.0
    fewest = max(0, math.floor(float((n_out * fpr - reach).min())))
    most_false = min(n_out, math.ceil(float((n_out * fpr + reach).max())))
    near = np.linspace(fewest, most_false, min(_BLOCKS, most_false - fewest + 1)).astype(np.int64)
    starts = np.unique(np.append(near, 0)).astype(np.float64)
    weights = _weights(n_out, starts, fpr)
    # The fewest hits at this distance above the line, for each count of false positives: from a
    # quadratic equation for the true-positive rate, its larger root for counts above the line, its
    # smaller one below. The result increases with the false positives.
    base = line.offset + line.slope * starts / n_out
    of_line = distance**2 * line.slope**2 * (starts + 1) / n_out**2
    k = distance**2 / counts.n_in
    inner = k * k + 4 * k * base * (1 - base) + 4 * (1 + k) * of_line
    none = (inner < 0) | (base >= 1 if distance > 0 else False)
    root = math.copysign(1.0, distance) * np.sqrt(np.maximum(inner, 0.0))
    tpr = np.where(none, 2.0, (2 * base + k + root) / (2 * (1 + k)))
    # The observed hits solve the equation exactly; rounding must not exclude them. One more than
    # all members means that no count is that far.
    least = np.clip(np.ceil(tpr * counts.n_in * (1 - 1e-12) - 1e-9), 0, counts.n_in + 1)
    # The interval for the false-positive rate has spent the rest of the error.
    allowed = math.log(error * (1.0 - _SPENT))

    def excess(parameter: float) -> float:
        rates = fpr
        chances = weights
        peak = 0.0 if corner is None else corner(parameter)
        # The tail has a peak at the corner, which the grid of rates would miss.
        if fpr[0] < peak < fpr[-1]:
            rates = np.append(fpr, peak)
            chances = np.vstack([weights, _weights(n_out, starts, rates[-1:])])
        # Probability of at least `least` hits at each rate, (rates, blocks). The clip keeps the
        # incomplete beta function defined where the answer is known without it.
        hits = np.clip(least, 1, counts.n_in)
        tail = betainc(hits, counts.n_in - hits + 1.0, most(parameter, rates)[:, None])
        tail = np.where(least <= 0, 1.0, np.where(least > counts.n_in, 0.0, tail))
        likely = float(np.einsum("ij,ij->i", chances, tail).max())
        # On the log scale for the root search; the floor keeps the logarithm finite.
        return math.log(max(likely, 1e-300)) - allowed

    # Even perfect privacy is compatible with the counts.
    if excess(0.0) >= 0:
        return 0.0
    low = 0.0
    high = 0.5
    # Doubles until a parameter is compatible: the tail grows with the parameter.
    while excess(high) <= 0:
        if high == end:
            return high
        low, high = high, min(2 * high, end)
    # Rounded down by more than the tolerance of the search, so that the bound stays valid.
    return max(0.0, float(brentq(excess, low, high, xtol=_STEP / 2)) - _STEP)


def _weights(n: int, starts: Floats, fpr: Floats) -> Floats:
    """Return the probability of each block of false positives at each rate, (rates, blocks)."""
    upto = bdtr(np.append(starts[1:] - 1, n), n, fpr[:, None])
    return np.diff(upto, axis=1, prepend=0.0)


# Thresholds and lines for two-count tests, chosen on rows held out from the bound.


_TRIED = 256
"""Candidate thresholds near each end of the sample, and as many evenly spaced ones."""

_CAUTION = 3.0
"""Standard deviations subtracted from each candidate's bound, so that luck does not choose."""

_MIDDLE = 0.7
"""Added to a count of false positives: about ln 2, the median of a Poisson mean after a count
of 0."""

_LEAST_EPSILON = 0.05
"""Smallest epsilon for which a line is made."""

_FARTHEST = 8.0
"""Normal quantiles are clipped to plus or minus this, so that slopes stay finite."""


@dataclass(frozen=True)
class ChosenCut:
    """A threshold, and the line that orders the counts beyond it."""

    cut: float
    """Threshold; a score of at least this is guessed to be a member's."""
    line: Line
    """Line for the counts, or for the turned counts if `turned`."""
    turned: bool = False
    """Whether the test counts non-members below the threshold, not members above it."""


def epsilon_cut(score: Floats, secret: Bools, delta: float) -> ChosenCut:
    """Return the threshold that is likely to give the largest bound on epsilon on other rows.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
    secret : ndarray of bool, shape (n,)
        True for a member; both values must occur.
    delta : float
        In [0, 1).

    Notes
    -----
    Maximises ``log((TPR - delta) / FPR)`` at the observed counts, minus the distance to its limit
    three standard deviations away, and likewise ``log((TNR - delta) / FNR)``.
    """
    inside = np.sort(score[secret])
    outside = np.sort(score[~secret])
    upper = _candidate_cuts(inside)
    lower = _candidate_cuts(outside)
    n_in = len(inside)
    n_out = len(outside)
    # Values at or above each upper cut, and values below each lower one.
    of_in = _cautious(
        (n_in - np.searchsorted(inside, upper)).astype(np.float64),
        n_in,
        false=(n_out - np.searchsorted(outside, upper)).astype(np.float64),
        n_out=n_out,
        delta=delta,
    )
    of_out = _cautious(
        np.searchsorted(outside, lower).astype(np.float64),
        n_out,
        false=np.searchsorted(inside, lower).astype(np.float64),
        n_out=n_in,
        delta=delta,
    )
    # Epsilon bounds both likelihood ratios: a leak may show only in scores that rule out members.
    turned = bool(of_out.max() > of_in.max())
    found, cuts = (of_out, lower) if turned else (of_in, upper)
    best = int(np.argmax(found))
    slope = math.exp(max(float(found[best]), _LEAST_EPSILON))
    return ChosenCut(float(cuts[best]), Line(slope, delta), turned)


def mu_line(score: Floats, secret: Bools, cut: float, mu: float) -> Line:
    """Return the tangent of the Gaussian trade-off curve of `mu` at a cut's false-positive rate.

    Parameters
    ----------
    score, secret : ndarray, shapes (n,)
    cut : float
        The threshold.
    mu : float
        Value near the largest mu that the counts will refute, at least 0.
    """
    outside = score[~secret]
    # Half a count added on both sides: a rate of 0 or 1 has no finite quantile.
    fpr = (np.count_nonzero(outside >= cut) + 0.5) / (len(outside) + 1)
    start = float(np.clip(ndtri(fpr), -_FARTHEST, _FARTHEST))
    # The derivative of Phi(Phi^-1(fpr) + mu) at the false-positive rate.
    slope = math.exp(-mu * start - mu * mu / 2)
    return Line(slope, float(ndtr(start + mu)) - slope * float(ndtr(start)))


def _candidate_cuts(ascending: Floats) -> Floats:
    """Return distinct values of a sorted sample, shape (c,), densest at both ends."""
    n = len(ascending)
    # Distances from an end at equal ratios: in the tails one row changes a rate the most.
    ends = np.geomspace(1, n, _TRIED) - 1
    places = np.concatenate([ends, n - 1 - ends, np.linspace(0, n - 1, _TRIED)])
    return np.unique(ascending[np.unique(places.round().astype(np.int64))])


def _cautious(hits: Floats, n_in: int, false: Floats, n_out: int, delta: float) -> Floats:
    # Bound at the observed counts minus its spread, at each cut: shape (c,).
    tpr = hits / n_in
    # The median of the false-positive rate given its count, and Clopper-Pearson's upper limit.
    fpr = (false + _MIDDLE) / n_out
    limit = betaincinv(false + 1, np.maximum(n_out - false, _MIDDLE), ndtr(_CAUTION))
    gain = tpr - delta
    shown = gain > 0
    # Any positive number where nothing is shown: the result there is -inf.
    gain = np.where(shown, gain, 1.0)
    # Standard deviation of log(TPR - delta) by the delta method, with the log width of the FPR.
    spread = np.hypot(
        _CAUTION * np.sqrt(tpr * (1 - tpr) / n_in) / gain, np.log(np.maximum(limit / fpr, 1.0))
    )
    return np.where(shown, np.log(gain / fpr) - spread, -np.inf)


_STAKES = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95])
"""Stakes, as shares of a bettor's capital per guess; the capital is split evenly among bettors,
since the best stake depends on the unknown epsilon."""

_LARGEST = 40.0
"""Upper end of the search for epsilon; e^40 is beyond any bound that guesses could show."""
_HALVINGS = 32
"""Bisection steps of that search; the last interval is 40 / 2^32 wide."""

_FIRST = 32
"""Rows that choose the first threshold; it is chosen again each time the rows have doubled."""


def guesses_in_order(transcript: Transcript, delta: float = 0.0) -> Ints:
    """Return the outcome of each guess, with thresholds chosen on earlier rows only.

    Parameters
    ----------
    transcript : Transcript
        One row per training run, in order.
    delta : float
        In [0, 1).

    Returns
    -------
    ndarray of int, shape (n,)
        1 for a right guess, -1 for a wrong one, 0 for no guess.
    """
    score = transcript.score
    secret = transcript.secret
    found = np.zeros(len(score), np.int64)
    start = _FIRST
    while start < len(score):
        end = min(2 * start, len(score))
        if 0 < np.count_nonzero(secret[:start]) < start:
            # Rows before `start` choose, the next block is judged: no row is judged by a threshold
            # that it helped to choose, which the betting bound requires.
            chosen = epsilon_cut(score[:start], secret[:start], delta)
            high = score[start:end] >= chosen.cut
            # Only one side of the threshold is guessed: "member", or if turned "non-member".
            guessed = ~high if chosen.turned else high
            right = secret[start:end] != chosen.turned
            found[start:end] = np.where(guessed, np.where(right, 1, -1), 0)
        start = end
    return found


def bounds_at_all_times(outcome: Ints, delta: float = 0.0, level: float = 0.95) -> Floats:
    """Return the largest epsilon ruled out after each guess, valid at any stopping time.

    Parameters
    ----------
    outcome : array_like of int, shape (n,)
        1 for a right guess, -1 for a wrong one, 0 for no guess, in training order. A guess may
        depend on everything before it; each coin must be fair given everything before it.
    delta : float
        In [0, 1).
    level : float
        Joint level of all n bounds, in (0, 1).

    Returns
    -------
    ndarray of float, shape (n,)
        Non-decreasing, at least 0. At any stopping time, such as the refutation of a claim, the
        bound exceeds the truth with probability at most ``1 - level``.

    Notes
    -----
    In an (epsilon, delta)-private training with a fair coin, a right guess is at most e^epsilon
    times as likely as a wrong one, plus delta. So the capital of a bettor on right guesses,

        prod_t (1 + stake (right_t - e^epsilon wrong_t - delta) / (e^epsilon + delta)),

    is not expected to grow, nor is the mean over several stakes. It ever reaches
    ``1 / (1 - level)`` with probability ``1 - level`` at most (Ville's inequality; Waudby-Smith &
    Ramdas 2024). The factor of a row without a guess is taken at epsilon = 0, where it is
    smallest, so that the capital falls with epsilon.

    Examples
    --------
    >>> bounds_at_all_times([1] * 40)[[4, 9, 39]].round(2)
    array([0.  , 0.48, 2.04])
    """
    seen = checks.integers(outcome, "outcome")
    if np.any(np.abs(seen) > 1):
        raise InputError(f"outcome must be -1, 0 or 1, got {checks.short_list(np.unique(seen))}")
    checks.below_one(delta, "delta")
    # Ville's inequality: a fair bettor's capital ever reaches 1 / error with at most that error.
    needed = -np.log1p(-checks.level(level))
    # Session counts, shape (n, 1), against the stakes, shape (10,).
    right, wrong, none = (np.cumsum(seen == x)[:, None] for x in (1, -1, 0))
    # Terms that do not depend on epsilon: a wrong guess loses the whole stake, (1 - stake), and a
    # row without a guess is taken at epsilon 0.
    fixed = wrong * np.log1p(-_STAKES) + none * np.log1p(-_STAKES * delta / (1 + delta))

    low = np.zeros(len(seen))
    high = np.full(len(seen), _LARGEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # A right guess wins stake (1 - delta) / (e^epsilon + delta).
        gain = _STAKES * (1 - delta) / (np.exp(middle)[:, None] + delta)
        logs = fixed + right * np.log1p(gain)
        # Log of the mean capital, stabilised by the largest term.
        most = logs.max(axis=1)
        capital = most + np.log(np.exp(logs - most[:, None]).mean(axis=1))
        beyond = capital >= needed
        low = np.where(beyond, middle, low)
        high = np.where(beyond, high, middle)
    # A bound once reached stays valid: the guarantee is for all times at once.
    return np.maximum.accumulate(low)
