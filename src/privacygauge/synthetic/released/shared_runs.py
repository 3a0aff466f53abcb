"""Texts of which long parts stand in the synthetic table: how unlikely that is, all in all.

A note that was copied between other words, or with some words replaced, equals no synthetic one.
It still shares runs of words that nobody else would write. What different people share by chance
the tables say themselves: the holdout's texts with the synthetic ones, and texts of the real table
with the holdout's, or with each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import poisson

from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate
from privacygauge.synthetic.released.coincidences import SharedValues
from privacygauge.synthetic.released.named import TextColumn
from privacygauge.synthetic.released.tables import Released
from privacygauge.synthetic.released.texts import longest_run_in_common
from privacygauge.synthetic.released.unlikely import NEGLIGIBLE

_TAIL = 0.1
"""This share of the chance matches, the longest, say how fast longer ones become rare."""
_FEWEST = 20
"""So many matches must lie in the tail."""
_STANDARD_ERRORS = 2.0
"""By so many the tail is taken to be heavier than it looks."""
_COUNTS = (3, 4, 5, 7, 10, 15, 25, 50, 100)
"""Numbers of texts that are looked at, beside all that stand out."""


def shared_runs(
    released: Released, rng: np.random.Generator, level: float
) -> Iterator[SharedValues]:
    """Yield, for each column of free text, the real records whose texts were copied in part.

    Without a holdout there is none: texts of one source repeat each other in ways of their own.

    Parameters
    ----------
    released : Released
        As it was given.
    rng : numpy.random.Generator
        Draws as many texts of each table where one is compared with another.
    level : float
        Of the share, which is counted: it says no more than this.

    Notes
    -----
    The longest run that a text shares with any of s others (`longest_run_in_common`) is an
    extreme value: above a high threshold its excess has a generalised Pareto distribution
    (Balkema and de Haan 1974, Pickands 1975), fitted by probability-weighted moments (Hosking and
    Wallis 1987) to runs that different people share, with a shape two standard errors heavier.
    Where k real texts lie above all of those runs, and a Poisson number of as many has a
    probability of at most `NEGLIGIBLE`, they were copied.
    """
    for column in released.texts:
        if column.is_free and column.holdout is not None:
            yield from _of(column, rng, level)


def _of(column: TextColumn, rng: np.random.Generator, level: float) -> Iterator[SharedValues]:
    real = longest_run_in_common(column.real, column.synthetic)
    met = list(_by_chance(column, rng))
    chance = np.concatenate([runs for runs, _ in met])
    # Among more texts longer runs are met.
    more = max(1.0, len(column.synthetic) / min(others for _, others in met))
    tail = _Tail.of(chance)
    order = np.argsort(-real, kind="stable")
    above = int(np.count_nonzero(real > chance.max(initial=0.0)))
    if tail is None or above < _COUNTS[0]:
        return
    counts = [k for k in {*_COUNTS, above} if k <= above]
    n = len(real)
    for k in sorted(counts, reverse=True):
        expected = n * more * tail.beyond(float(real[order[k - 1]]))
        if len(counts) * poisson.sf(k - 1, expected) <= NEGLIGIBLE:
            share = Estimate(k / n, k / n, 1.0, level, n, "texts that are no chance, counted")
            yield SharedValues(
                column.name,
                order[:k],
                f"share more words in a row of {column.name} with a synthetic record than any two "
                "different people do",
                f"by chance {expected:.1g} of them would, as runs in the holdout and within the "
                "real table say",
                share,
            )
            return


def _by_chance(column: TextColumn, rng: np.random.Generator) -> Iterator[tuple[Floats, int]]:
    """Yield the runs that texts of different people share, and among how many they were met."""
    assert column.holdout is not None
    yield longest_run_in_common(column.holdout, column.synthetic), len(column.synthetic)
    yield longest_run_in_common(column.real, column.holdout), len(column.holdout)
    half = rng.permutation(len(column.real)) < len(column.real) // 2
    yield longest_run_in_common(column.real[half], column.real[~half]), len(column.real) // 2


@dataclass(frozen=True)
class _Tail:
    """How likely a run is to be longer than a length."""

    threshold: float
    share: float
    """Of the runs above the threshold."""
    scale: float
    shape: float

    @classmethod
    def of(cls, values: Floats) -> _Tail | None:
        """Return the tail of values; None where too few lie in it, or none differ."""
        ordered = np.sort(values)[::-1]
        n = int(_TAIL * len(ordered))
        if n < _FEWEST:
            return None
        excess = np.sort(ordered[:n] - ordered[n])
        mean = float(excess.mean())
        weights = 1 - (np.arange(1, n + 1) - 0.35) / n
        weighted = float(np.mean(weights * excess))
        if mean <= 0 or mean <= 2 * weighted:
            return None
        shape = 2 - mean / (mean - 2 * weighted)
        heavier = min(max(shape + _STANDARD_ERRORS / np.sqrt(n), 0.05), 0.9)
        return cls(float(ordered[n]), n / len(ordered), mean * (1 - heavier), heavier)

    def beyond(self, length: float) -> float:
        """Return the probability of a longer run, above the threshold."""
        excess = max(length - self.threshold, 0.0) / self.scale
        return float(self.share * (1 + self.shape * excess) ** (-1 / self.shape))
