"""The counts behind naive Bayes, and the change when one record is taken from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacygauge.classifier.dtp.learner import class_log_p
from privacygauge.classifier.dtp.normal import Normals
from privacygauge.core.checks import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class CountedRecords:
    """Records with their counts and moments."""

    codes: Ints
    """(n, c) Categories."""
    numbers: Floats
    """(n, m) Numbers."""
    y: Ints
    """(n,) Classes."""
    n_classes: int
    """Number of classes."""
    sizes: tuple[int, ...]
    """(c,) Number of categories of each categorical attribute."""
    alpha: float
    """Smoothing added to every count of a category."""
    numeric: Bools
    """(c + m,) Attributes that are numbers."""

    @cached_property
    def counts(self) -> Counts:
        """The counts of categories."""
        return count_categories(
            self.codes, self.y, sizes=self.sizes, n_classes=self.n_classes, alpha=self.alpha
        )

    @cached_property
    def normals(self) -> Normals:
        """The moments of numbers."""
        return Normals.of(self.numbers, self.y, self.n_classes)

    @cached_property
    def removal(self) -> Removal:
        """Change of the counts when each record is left out."""
        return self.counts.leaving_out(self.codes, self.y)

    def log_p(self, codes: Ints, numbers: Floats) -> Floats:
        """Return the log probability of every class for categories and numbers, (q, k)."""
        joint = self.counts.log_joint(codes) + self.normals.log_density(numbers)
        return class_log_p(joint)

    def log_p_without_at(self, rows: Ints, codes: Ints, numbers: Floats) -> Floats:
        """Return log probabilities of the i-th query without the i-th record, (r, k)."""
        joint = self.counts.log_joint(codes)
        agree = codes == self.codes[rows]
        steps = np.where(agree, self.removal.step[rows], 0.0).sum(axis=1)
        joint[np.arange(len(rows)), self.y[rows]] += self.removal.base[rows] + steps
        return class_log_p(joint + self.normals.log_density_without(rows, numbers))

    def own_log_p(self, rows: Ints) -> Floats:
        """Return log probabilities of training records under the full model, (r, k)."""
        return self.log_p(self.codes[rows], self.numbers[rows])

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        return self.log_p_without_at(rows, self.codes[rows], self.numbers[rows])


@dataclass(frozen=True, eq=False)
class Counts:
    """Number of records in each class with each category."""

    n: Ints
    """(k,) Records of each class."""
    tables: tuple[Ints, ...]
    """One (k, v) per attribute: records of a class with each category."""
    alpha: float
    """Smoothing added to every count of a category."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(table.shape[1] for table in self.tables)

    def log_prior(self) -> Floats:
        """Return the log of each class's number of records, (k,); -inf for an empty one.

        Not divided by the number of all records, which is the same for all classes.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.n), np.float64)

    def log_conditional(self, attribute: int) -> Floats:
        """Return log p(category | class), (k, v); 0 throughout for an empty class."""
        table = self.tables[attribute]
        total = self.n + table.shape[1] * self.alpha
        with np.errstate(divide="ignore"):
            found = np.log(table + self.alpha) - np.log(np.maximum(total, 1e-300))[:, None]
        return np.where((self.n == 0)[:, None], 0.0, found)

    def log_joint(self, codes: Ints) -> Floats:
        """Return log p(x, y) + log n of records (q, m), (q, k)."""
        joint = np.tile(self.log_prior(), (len(codes), 1))
        for j in range(len(self.tables)):
            joint += self.log_conditional(j).T[codes[:, j]]
        return joint

    def leaving_out(self, codes: Ints, y: Ints) -> Removal:
        """Return the change of log probabilities when each of these records leaves the counts.

        Their categories (r, m) and classes (r,) are in the counts.
        """
        n = self.n[y].astype(np.float64)
        sizes = np.array(self.sizes, np.float64)
        own = self.occurrences(codes, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            base = np.log(n - 1) - np.log(n)
            rest = np.log(n[:, None] - 1 + sizes * self.alpha)
            base -= np.where(n > 1, (rest - np.log(n[:, None] + sizes * self.alpha)).sum(axis=1), 0)
            step = np.log(own - 1 + self.alpha) - np.log(own + self.alpha)
        return Removal(base, step)

    def occurrences(self, codes: Ints, y: Ints) -> Floats:
        """Return how many records of each record's class share each of its categories, (r, m)."""
        if not self.tables:
            return np.zeros((len(y), 0))
        shared = [table[y, codes[:, j]] for j, table in enumerate(self.tables)]
        return np.stack(shared, axis=1).astype(np.float64)

    def less(self, codes: Ints, y: int) -> Counts:
        """Return the counts without one record of the categories (m,)."""
        n = self.n.copy()
        n[y] -= 1
        tables = tuple(table.copy() for table in self.tables)
        for table, code in zip(tables, codes, strict=True):
            table[y, code] -= 1
        return Counts(n, tables, self.alpha)


@dataclass(frozen=True, eq=False)
class Removal:
    """Change of the joint p(x, y) of a record's own class when the record is left out.

    Relative to the other classes, whose joint changes by the same factor everywhere: ``log rho(x) =
    base + sum of step over the attributes in which x agrees with the record``.
    """

    base: Floats
    """(r,) Change where no attribute agrees, at least ``log((n - 1) / n)``; -inf for a class's last
    one."""
    step: Floats
    """(r, m) Further change for each attribute that agrees, at most 0."""

    @property
    def at_record(self) -> Floats:
        """(r,) log rho at the record itself."""
        return np.asarray(self.base + self.step.sum(axis=1), np.float64)


def count_categories(
    codes: Ints, y: Ints, sizes: tuple[int, ...], n_classes: int, alpha: float
) -> Counts:
    """Return the counts of records (n, m) with classes (n,)."""
    n = np.bincount(y, minlength=n_classes).astype(np.int64)
    tables = tuple(
        np.bincount(y * v + codes[:, j], minlength=n_classes * v).reshape(n_classes, v)
        for j, v in enumerate(sizes)
    )
    return Counts(n, tables, alpha)


def largest_log_ratio(log_odds: Floats, log_rho: Floats) -> Floats:
    """Return the larger of the log ratios of p(y_t | x) and of the other labels.

    `log_odds` are those of p(y_t | x) with the record; -inf and inf where y_t is impossible or the
    only possible label. `log_rho` is the change of the joint of y_t relative to the others. With p
    the probability, p' without the record: ``p'/p = rho / (1 + p (rho - 1))``, and ``1 / (1 + p
    (rho - 1))`` for every other label, which has no ratio where p = 1.
    """
    with np.errstate(invalid="ignore"):
        to_own = np.logaddexp(0.0, log_odds)  # -log(1 - p)
        evidence = np.logaddexp(0.0, log_odds + log_rho) - to_own
        other = np.where(log_odds == np.inf, 0.0, np.abs(evidence))
        own = np.where(log_odds == -np.inf, 0.0, np.abs(log_rho - evidence))
    # If y_t is certain with the record, it is without it too, unless no answer is left.
    own = np.where(log_odds == np.inf, np.where(log_rho == -np.inf, np.inf, 0.0), own)
    return np.maximum(own, other)
