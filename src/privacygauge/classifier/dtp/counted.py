"""The training set of naive Bayes, counted, so that any one record can be taken out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacygauge.classifier.dtp.counts import Counts, Removal, count
from privacygauge.classifier.dtp.normal import Normals
from privacygauge.classifier.dtp.records import class_log_p
from privacygauge.core.checks import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Counted:
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
    """(c,) How many categories each of those attributes has."""
    alpha: float
    """Added to every count of a category."""
    numeric: Bools
    """(c + m,) Which attributes are numbers."""

    @cached_property
    def counts(self) -> Counts:
        """The counts of categories."""
        return count(self.codes, self.y, self.sizes, self.n_classes, self.alpha)

    @cached_property
    def normals(self) -> Normals:
        """The moments of numbers."""
        return Normals.of(self.numbers, self.y, self.n_classes)

    @cached_property
    def removal(self) -> Removal:
        """What leaving out each record changes in the counts."""
        return self.counts.leaving_out(self.codes, self.y)

    def log_p(self, codes: Ints, numbers: Floats) -> Floats:
        """Return the log probability of every class for categories and numbers, (q, k)."""
        joint = self.counts.log_joint(codes) + self.normals.log_density(numbers)
        return class_log_p(joint)

    def log_p_without_at(self, rows: Ints, codes: Ints, numbers: Floats) -> Floats:
        """Return what the i-th query would be told had the i-th record been left out, (r, k)."""
        joint = self.counts.log_joint(codes)
        agree = codes == self.codes[rows]
        steps = np.where(agree, self.removal.step[rows], 0.0).sum(axis=1)
        joint[np.arange(len(rows)), self.y[rows]] += self.removal.base[rows] + steps
        return class_log_p(joint + self.normals.log_density_without(rows, numbers))

    def own_log_p(self, rows: Ints) -> Floats:
        """Return what records of the training set are told, (r, k)."""
        return self.log_p(self.codes[rows], self.numbers[rows])

    def log_p_without(self, rows: Ints) -> Floats:
        """Return what each record would be told had it been left out, (r, k)."""
        return self.log_p_without_at(rows, self.codes[rows], self.numbers[rows])
