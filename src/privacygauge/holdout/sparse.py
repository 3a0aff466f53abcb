"""NB's bias where labels are drawn too seldom for normal scores: counts as Poisson variables.

The number of a label's k draws at a point is about Poisson and nearly independent of the other
labels' where there are many labels, so its score is a compound Poisson variable: its
distribution follows from one Fourier transform, and so does the chance that the right label's
is the largest of m.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from privacygauge.errors import InputError
from privacygauge.holdout.naive_bayes import log_odds

Floats = NDArray[np.float64]

# Cells of the grid a standard deviation of one weight, at most, and cells in all.
_CELLS, _SIZE = 32, 2**17
FEWEST_CLASSES = 10
"""With fewer classes label counts are far from independent."""


def poisson_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of NB with a uniform prior, from Poisson label counts.

    For few queries a label (`closed_form.trusted` is False), where the closed form is off, and
    mostly too low: few draws have skewed sums, and the largest of m profits from that.

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
    counts = np.arange(n + 1) if n < 1_000 else _likely(n, m)
    chance, accuracy = scipy.stats.binom.pmf(counts, n, 1 / m), counts / n
    weight = log_odds(accuracy, m)
    finite = np.isfinite(weight)
    wrong, right = k * chance * (1 - accuracy) / (m - 1), k * chance * accuracy
    cell = _cell(weight[finite], wrong[finite])
    excluded = -math.expm1(-wrong[weight == -np.inf].sum())
    right_at = _compound(weight[finite], right[finite], cell)
    wrong_at = (1 - excluded) * _compound(weight[finite], wrong[finite], cell)
    settled = -math.expm1(-right[weight == np.inf].sum())
    won = float(right_at @ _largest_of(wrong_at, excluded, m))
    return settled + (1 - settled) * won - 1 / m


def _likely(n: int, m: int) -> NDArray[np.int64]:
    low, high = scipy.stats.binom.ppf([1e-14, 1 - 1e-14], n, 1 / m)
    return np.arange(int(low), int(high) + 1)


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
    """Return for each value the chance to be the largest beside m - 1 draws, ties split evenly.

    The mean of 1/(1 + number of ties) is (F^m - (F - f)^m)/(m f), f the mass and F its sum.
    """
    top = np.minimum(under + np.cumsum(mass), 1.0)
    bottom = np.maximum(top - mass, 0.0)
    tied = mass > 1e-9
    share = np.where(tied, mass, 1.0)
    split: Floats = np.where(tied, (top**m - bottom**m) / (m * share), top ** (m - 1))
    return split
