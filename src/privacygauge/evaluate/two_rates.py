"""Lower bounds on privacy parameters from an exact joint test of two counts.

Separate limits for the true- and the false-positive rate guard against bad luck in both counts at
once; a joint test of the two is less conservative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, betainc, betaincinv, ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.transcript import Decisions
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

    def most(epsilon: float, fpr: Floats) -> Floats:
        first = math.exp(epsilon) * fpr + delta
        second = 1.0 - math.exp(-epsilon) * (1.0 - delta - fpr)
        return np.minimum(np.minimum(first, second), 1.0)

    # The false-positive rate at which both lines meet.
    def corner(epsilon: float) -> float:
        return (1.0 - delta) / (1.0 + math.exp(epsilon))

    return _largest(counts, line, level, most=most, corner=corner, end=LARGEST_EPSILON)


def exact_mu(counts: Counts, line: Line, level: float = 0.95) -> float:
    """Return the largest mu of Gaussian differential privacy that two counts rule out.

    As `exact_epsilon`, with the curve ``Phi(Phi^-1(FPR) + mu)`` (Dong, Roth & Su 2022). In [0, 20].

    Examples
    --------
    >>> round(exact_mu(Counts(900, 1000, 100, 1000), Line(1.0, 0.7)), 2)
    2.44
    """

    def most(mu: float, fpr: Floats) -> Floats:
        return np.asarray(ndtr(ndtri(fpr) + mu), np.float64)

    return _largest(counts, line, level, most=most, corner=None, end=LARGEST_MU)


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
    distance = _distance(counts, line)
    if distance <= _TOO_LOW:
        return 0.0
    fpr = _interval(counts, error * _SPENT)
    starts = _starts(counts.n_out, fpr)
    weights = _weights(counts.n_out, starts, fpr)
    least = _least_hits(counts, line, distance, starts)
    # The interval for the false-positive rate has spent the rest of the error.
    allowed = math.log(error * (1.0 - _SPENT))

    def excess(parameter: float) -> float:
        rates = fpr
        chances = weights
        peak = 0.0 if corner is None else corner(parameter)
        # The tail has a peak at the corner, which the grid of rates would miss.
        if fpr[0] < peak < fpr[-1]:
            rates = np.append(fpr, peak)
            chances = np.vstack([weights, _weights(counts.n_out, starts, rates[-1:])])
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


def _distance(counts: Counts, line: Line) -> float:
    """Return the distance of the counts above the line, in standard deviations."""
    tpr = counts.hits / counts.n_in
    fpr = counts.false / counts.n_out
    # One false positive added, so that a count of 0 still has a standard deviation.
    spread = line.slope**2 * (counts.false + 1) / counts.n_out**2
    return (tpr - line.offset - line.slope * fpr) / math.sqrt(
        tpr * (1 - tpr) / counts.n_in + spread
    )


def _least_hits(counts: Counts, line: Line, distance: float, false: Floats) -> Floats:
    """Return the fewest hits at this distance above the line, for each count of false positives.

    From a quadratic equation for the true-positive rate: its larger root for counts above the line,
    its smaller one below. The result increases with the false positives; n_in + 1 means that no
    count is that far.
    """
    base = line.offset + line.slope * false / counts.n_out
    spread = distance**2 * line.slope**2 * (false + 1) / counts.n_out**2
    k = distance**2 / counts.n_in
    inner = k * k + 4 * k * base * (1 - base) + 4 * (1 + k) * spread
    none = (inner < 0) | (base >= 1 if distance > 0 else False)
    root = math.copysign(1.0, distance) * np.sqrt(np.maximum(inner, 0.0))
    tpr = np.where(none, 2.0, (2 * base + k + root) / (2 * (1 + k)))
    # The observed hits solve the equation exactly; rounding must not exclude them.
    found = np.ceil(tpr * counts.n_in * (1 - 1e-12) - 1e-9)
    return np.clip(found, 0, counts.n_in + 1)


def _interval(counts: Counts, error: float) -> Floats:
    """Return the grid of false-positive rates over Clopper-Pearson's interval, ascending."""
    y = counts.false
    n = counts.n_out
    low = float(betaincinv(y, n - y + 1.0, error / 2)) if y else 0.0
    high = float(betaincinv(y + 1.0, n - y, 1.0 - error / 2)) if y < n else 1.0
    # Evenly on the square-root scale, where the spread of a small count is constant.
    return np.asarray(np.linspace(math.sqrt(low), math.sqrt(high), _POINTS) ** 2, np.float64)


def _starts(n: int, fpr: Floats) -> Floats:
    """Return the first count of each block of false positives, ascending from 0."""
    # Range of the fine blocks. The bound is valid for any: a wider one costs time, a narrower one
    # makes it less tight.
    reach = 7.5 * np.sqrt(n * fpr * (1 - fpr)) + 15.0
    low = max(0, math.floor(float((n * fpr - reach).min())))
    high = min(n, math.ceil(float((n * fpr + reach).max())))
    inner = np.linspace(low, high, min(_BLOCKS, high - low + 1)).astype(np.int64)
    return np.unique(np.append(inner, 0)).astype(np.float64)


def _weights(n: int, starts: Floats, fpr: Floats) -> Floats:
    """Return the probability of each block of false positives at each rate, (rates, blocks)."""
    upto = bdtr(np.append(starts[1:] - 1, n), n, fpr[:, None])
    return np.diff(upto, axis=1, prepend=0.0)
