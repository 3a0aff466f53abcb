"""Accuracy of an attack per record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate.correlation import correlation, correlation_p_value
from privacygauge.evaluate.rates import wilson


@dataclass(frozen=True, eq=False)
class PerTarget:
    """Right guesses of one attack per record."""

    target: Ints
    """(t,) Indices of the records, ascending."""
    right: Ints
    """(t,) Right guesses about each record."""
    n: Ints
    """(t,) All guesses about each record."""

    @property
    def accuracy(self) -> Floats:
        """(t,) Share of right guesses; 1/2 is chance if each record is in as often as out."""
        return self.right / self.n

    def estimates(self, level: float = 0.95) -> tuple[Estimate, ...]:
        """Return the accuracy of every record with its Wilson interval, each at `level`."""
        rows = zip(self.right.tolist(), self.n.tolist(), strict=True)
        return tuple(
            Estimate(right / n, *wilson(right, n, level), level, n, "Wilson") for right, n in rows
        )

    def correlation_with(self, values: Floats, level: float = 0.95) -> Correlation | Skipped:
        """Return Pearson's correlation of the accuracies with a value per record.

        Parameters
        ----------
        values : ndarray of float, shape (t,)
            In the order of `target`.
        level : float
        """
        if len(values) != len(self.target):
            raise InputError(f"values must have {len(self.target)} rows, got {len(values)}")
        found = correlation(self.accuracy, np.asarray(values, np.float64), level)
        if isinstance(found, Skipped):
            return Skipped("correlation", "too few records, or one side does not vary")
        return Correlation(found, correlation_p_value(found))


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation over records."""

    estimate: Estimate
    """Pearson's correlation with Fisher's interval, in [-1, 1]."""
    p_value: float
    """Two-sided p-value of no correlation."""


def per_target(decisions: Decisions) -> PerTarget:
    """Count the right guesses about each record.

    Long et al. (2017), section 5.4: the share of correct guesses about a record over all attacks.
    """
    target, index = np.unique(decisions.target, return_inverse=True)
    right = np.bincount(index, weights=decisions.guess == decisions.secret)
    return PerTarget(target, right.astype(np.int64), np.bincount(index))
