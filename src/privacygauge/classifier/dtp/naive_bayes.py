"""Naive Bayes on categories and numbers; a record is left out by subtracting it from the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.counts import CountedRecords
from privacygauge.classifier.dtp.domain import is_small
from privacygauge.classifier.dtp.learner import Box, DtpRange
from privacygauge.classifier.dtp.naive_bayes_dtp import dtp_range
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True)
class NaiveBayes:
    """Naive Bayes: categories with Laplace smoothing, numbers with normal distributions.

    The classes have prior probabilities n_y / n. Attributes of 0 and 1 are categories too:
    Bernoulli naive Bayes is the case of two categories each.
    """

    categories: tuple[int | None, ...]
    """(d,) Number of categories 0, 1, ... of each attribute; None for a number."""
    alpha: float = 1.0
    """Smoothing added to every count of a category, at least 0."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must be at least 0, got {self.alpha}")
        if not self.categories or any(v is not None and v < 1 for v in self.categories):
            raise InputError("every attribute needs at least one category, or None for a number")

    name = "naive Bayes"

    def describe(self) -> Mapping[str, Any]:
        """Return the smoothing and the categories, as JSON values."""
        return {"alpha": self.alpha, "categories": list(self.categories)}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedNaiveBayes:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        codes, numbers = self.parts(x)
        numeric = np.array([size is None for size in self.categories])
        counted = CountedRecords(
            codes=codes,
            numbers=numbers,
            y=y,
            n_classes=n_classes,
            sizes=self.sizes,
            alpha=self.alpha,
            numeric=numeric,
        )
        return FittedNaiveBayes(self, counted)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each categorical attribute."""
        return tuple(v for v in self.categories if v is not None)

    def has_small_domain(self, n_classes: int) -> bool:
        """Return whether there are no numbers, and few enough queries to enumerate."""
        return len(self.sizes) == len(self.categories) and is_small(self.sizes, n_classes)

    def parts(self, x: NDArray[Any]) -> tuple[Ints, Floats]:
        """Return the codes of categories (n, c) and the numbers (n, m) of records."""
        x = np.asarray(x)
        if x.ndim != 2 or x.shape[1] != len(self.categories):
            raise InputError(f"x must have the shape (n, {len(self.categories)}), got {x.shape}")
        sizes = np.array(self.sizes, np.int64)
        named = np.array([v is not None for v in self.categories])
        codes = x[:, named].astype(np.int64)
        bad = np.argwhere((codes < 0) | (codes >= sizes) | (codes != x[:, named]))
        if len(bad):
            row, column = (int(v) for v in bad[0])
            raise InputError(
                f"attribute {int(np.flatnonzero(named)[column])} has the categories "
                f"0..{sizes[column] - 1}, got {x[:, named][row, column]} in row {row}"
            )
        return codes, x[:, ~named].astype(np.float64)


def naive_bayes_of(
    x: NDArray[Any], continuous: Sequence[int] = (), alpha: float = 1.0
) -> NaiveBayes:
    """Return a naive Bayes learner whose categories are those that occur in all records."""
    sizes = [None if j in continuous else int(x[:, j].max()) + 1 for j in range(x.shape[1])]
    return NaiveBayes(tuple(sizes), alpha)


@dataclass(frozen=True, eq=False)
class FittedNaiveBayes:
    """Naive Bayes with its counts and moments, from which any one record can be subtracted."""

    learner: NaiveBayes
    """The learner and its settings."""
    counted: CountedRecords
    """The training records, with counts and moments."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k); NaN where none is possible."""
        return self.counted.log_p(*self.learner.parts(queries))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        return self.counted.log_p_without(rows)

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        codes, numbers = self.learner.parts(queries)
        result = np.empty((len(rows), len(codes), self.counted.n_classes))
        for i, row in enumerate(rows):
            result[i] = self.counted.log_p_without_at(np.full(len(codes), row), codes, numbers)
        return result

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return the range of each record's DTP: exact over categories if that is feasible."""
        return dtp_range(self.counted, rows, width, box)
