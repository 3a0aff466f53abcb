"""Learners with exact leave-one-out predictions, also on standardised attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True)
class LearnerTrainer:
    """Trains the classifiers of a learner, one after another."""

    learner: Learner
    """The learner to train."""

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return self.learner.name

    logits = False

    def describe(self) -> Mapping[str, Any]:
        """Return the learner's own settings."""
        return self.learner.describe()

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return each model's probabilities for the `asked` records; see `Trainer`.

        A class that is missing from a model's records has probability 0. Nothing is random.
        """
        return np.exp(self.train_logs(cohort))

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return each model's log probabilities; see `log_answers`."""
        x = cohort.x
        y = cohort.y
        k = cohort.n_classes
        models = (self.learner.fit(x[rows], y[rows], n_classes=k) for rows in cohort.inside)
        return np.stack([model.log_p(x[cohort.asked]) for model in models])


def matrix(x: NDArray[Any], name: str, *, columns: int | None = None) -> Floats:
    """Return records as finite floats (n, d), with d equal to `columns` if given."""
    found = np.ascontiguousarray(x, dtype=np.float64)
    if found.ndim != 2 or (columns is not None and found.shape[1] != columns):
        raise InputError(
            f"{name} must have the shape (n, {columns or 'd'}), got {found.shape}; "
            "one row a record, one column an attribute"
        )
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        row, column = (int(v) for v in bad[0])
        raise InputError(
            f"{name} must be finite, got {found[row, column]} in row {row}; fill missing values"
        )
    return found


def training_set(x: NDArray[Any], y: Ints, n_classes: int) -> tuple[Floats, Ints]:
    """Return checked records (n, d), at least one, and their classes (n,) in 0..n_classes-1."""
    records = matrix(x, "x")
    if not len(records):
        raise InputError("x must hold at least one record, got none")
    labels = checks.classes(y, "y", length=len(records))
    if labels.max() >= n_classes:
        raise InputError(f"y must be below n_classes = {n_classes}, got {labels.max()}")
    return records, labels


def class_log_p(log_joint: Floats) -> Floats:
    """Return log probabilities (..., k) from logarithms up to a constant.

    NaN throughout if every class is impossible, or one is NaN: there is no answer.
    """
    with np.errstate(invalid="ignore"):
        # Relative to the largest, so that the sum neither overflows nor vanishes.
        joint = log_joint - log_joint.max(axis=-1, keepdims=True)
        return np.asarray(joint - np.log(np.exp(joint).sum(axis=-1, keepdims=True)), np.float64)


def logs(p: Floats) -> Floats:
    """Return logarithms (...) of probabilities (...), -inf where one is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p), np.float64)


def log_shares(counts: Floats, alpha: float = 0.0) -> Floats:
    """Return the logarithms of the classes' shares of counts (..., k), each smoothed by `alpha`.

    NaN throughout where all counts are 0 and `alpha` is.
    """
    total = counts.sum(axis=-1, keepdims=True) + counts.shape[-1] * alpha
    with np.errstate(invalid="ignore"):
        return logs((counts + alpha) / total)


def log_priors(y: Ints, n_classes: int) -> Floats:
    """Return the logarithms of the classes' shares n_y / n of the records, (k,)."""
    return logs(np.bincount(y, minlength=n_classes) / len(y))


def log_priors_without(y: Ints, rows: Ints, n_classes: int) -> Floats:
    """Return the logarithms of the classes' shares without each record, (r, k); NaN if n is 1."""
    left = np.bincount(y, minlength=n_classes) - np.eye(n_classes)[y[rows]]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(left / np.float64(len(y) - 1)), np.float64)


class Fitted(Protocol):
    """A trained classifier A(T), and with it every A(T without one record).

    Nothing is retrained: the record's contribution is taken out. Answers are natural logarithms of
    probabilities, which do not underflow: -inf means exactly 0. Where the classifier has no answer
    (no record of the kind is left), the row is NaN.
    """

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""


@runtime_checkable
class Learner(Protocol):
    """A classification algorithm with exact leave-one-out predictions.

    Frozen. Facts about the records beyond the training set, such as the categories of an attribute,
    are fields: they stay the same when a record is left out.
    """

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values.

        By default these are the fields.
        """
        return dict(vars(self))

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> Fitted:
        """Return the classifier trained on records (n, d) with classes (n,) in 0..k-1."""


@dataclass(frozen=True, eq=False)
class Box:
    """All queries between two bounds in every attribute: the domain of numeric attributes."""

    low: Floats
    """(d,) Smallest values."""
    high: Floats
    """(d,) Largest values."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, checks.floats(getattr(self, name), name))
        if len(self.low) != len(self.high) or (self.low > self.high).any():
            raise InputError("low must be at most high in every attribute")


def box_of(x: NDArray[Any]) -> Box:
    """Return the smallest box that contains all records."""
    return Box(np.min(x, axis=0), np.max(x, axis=0))


@dataclass(frozen=True, eq=False)
class DtpRange:
    """Lower and upper bounds of each record's DTP."""

    low: Floats
    """(r,) Log ratio that some query attains, in nats."""
    high: Floats
    """(r,) Log ratio that no query of the domain exceeds; infinite if unknown."""
    method: str
    """Method and domain of both bounds."""
    own: Floats | None = None
    """(r,) Log ratio at the records' own queries, if it was computed on the way."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, checks.frozen(np.asarray(getattr(self, name), float)))
        if np.isnan(self.low).any() or np.isnan(self.high).any() or (self.low > self.high).any():
            raise InputError("low must be at most high for every record")


@runtime_checkable
class Bounded(Protocol):
    """A trained classifier that bounds the DTP of its records over all queries."""

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return the range of each record's DTP over the domain.

        Parameters
        ----------
        rows : ndarray of int, shape (r,)
            Records of the training set.
        width : float
            Bin width of the published probabilities; 0 for no bins.
        box : Box
            The domain of numeric attributes; the classifier knows that of categories.
        """


@dataclass(frozen=True, eq=False)
class Scale:
    """Centre and divisor of each attribute."""

    centre: Floats
    """(d,) Means of the attributes."""
    spread: Floats
    """(d,) Standard deviations; 1 for an attribute with a single value."""

    @classmethod
    def of(cls, x: Floats) -> Scale:
        """Return the scale of records (n, d)."""
        # By the range: the deviation of equal numbers may be rounding error above 0.
        varies = np.ptp(x, axis=0) > 0
        return cls(x.mean(axis=0), np.where(varies, x.std(axis=0), 1.0))

    def applied(self, x: Floats) -> Floats:
        """Return records (n, d), centred and scaled."""
        return np.asarray((x - self.centre) / self.spread, np.float64)


def squares_without(x: Floats, n: Floats, group: Ints, scale: Scale) -> Floats:
    """Return the squared scales of the attributes over the other records, (r, d).

    Parameters
    ----------
    x : ndarray of float, shape (m, d)
        Distinct records, scaled by all of them.
    n : ndarray of float, shape (m,)
        Copies of each distinct record.
    group : ndarray of int, shape (r,)
        Index of the distinct record that loses one copy.
    scale : Scale
        Scale of all records.

    Returns
    -------
    ndarray of float, shape (r, d)
        Variances in units of those of all records; an attribute with a single value among the
        others keeps its original scale.
    """
    # Without any other record there is no variance: keep the scale.
    total = n.sum()
    if total < 2:
        return np.ones((len(group), x.shape[1]))
    # Welford's update in reverse, for attributes with mean 0 and variance 1 over all records.
    left = 1 - x[group] ** 2 / (total - 1)
    found: Floats = total / (total - 1) * left
    # If a record has nearly all of the variance, few digits of the others' remain.
    for i, j in np.argwhere(left < _FEW_DIGITS):
        others = n.copy()
        others[group[i]] -= 1
        column = x[:, j]
        if np.ptp(column[others > 0]) > 0:
            away = column - others @ column / others.sum()
            found[i, j] = others @ away**2 / others.sum()
        else:
            found[i, j] = 1 / scale.spread[j] ** 2
    return found


_FEW_DIGITS = 1e-6
"""Share of a variance below which a difference has too few digits: it is summed again."""


@runtime_checkable
class Rescaled(Protocol):
    """A trained classifier that can leave a record out and rescale the attributes at once."""

    def log_p_without_on(self, rows: Ints, squares: Floats) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k).

        Every attribute is divided by the root of `squares` (r, d) as well.
        """

    def log_p_without_on_at(self, rows: Ints, squares: Floats, queries: Floats) -> Floats:
        """Return log probabilities of queries (q, d) under each leave-one-out model, (r, q, k).

        Every attribute is divided by the root of `squares` (r, d) as well.
        """


@dataclass(frozen=True)
class Standardised:
    """A learner on attributes with mean 0 and deviation 1 among its training records.

    Without a record, the others have different means and deviations: an outlier that is left out
    changes everyone's scale. So each record is left out by refitting, unless the classifier can
    account for a change of scale, or is invariant to it.
    """

    learner: Learner
    """Learner on the scaled attributes."""
    is_invariant: bool = False
    """Whether the learner's answers are the same on any scale of the attributes."""

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return self.learner.name

    def describe(self) -> Mapping[str, Any]:
        """Return the learner's own settings, and a mark that attributes are scaled."""
        return {**self.learner.describe(), "standardised": True}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedStandardised:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        records, labels = training_set(x, y, n_classes)
        scale = Scale.of(records)
        inner = self.learner.fit(scale.applied(records), labels, n_classes=n_classes)
        return FittedStandardised(
            learner=self, x=records, y=labels, n_classes=n_classes, scale=scale, inner=inner
        )


@dataclass(frozen=True, eq=False)
class FittedStandardised:
    """The learner's classifier on scaled attributes, with and without each of the records."""

    learner: Standardised
    """The learner and its settings."""
    x: Floats
    """(n, d) Records of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes."""
    scale: Scale
    """Scale of all records."""
    inner: Fitted
    """The learner's classifier, trained on all scaled records."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        return self.inner.log_p(self.scale.applied(np.asarray(queries, np.float64)))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        if self.learner.is_invariant:
            return self.inner.log_p_without(rows)
        if isinstance(self.inner, Rescaled):
            once = np.ones(len(self.x))
            squares = squares_without(self.scale.applied(self.x), once, rows, self.scale)
            return self.inner.log_p_without_on(rows, squares)
        found = np.full((len(rows), self.n_classes), np.nan)
        for same, scale, rest in self._without(rows):
            # Equal records get equal answers: one query serves them all.
            found[same] = rest.log_p(scale.applied(self.x[rows[same[:1]]]))
        return found

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = np.asarray(queries, np.float64)
        if self.learner.is_invariant:
            return self.inner.log_p_without_at(rows, self.scale.applied(asked))
        if isinstance(self.inner, Rescaled):
            once = np.ones(len(self.x))
            squares = squares_without(self.scale.applied(self.x), once, rows, self.scale)
            return self.inner.log_p_without_on_at(rows, squares, self.scale.applied(asked))
        found = np.full((len(rows), len(asked), self.n_classes), np.nan)
        for same, scale, rest in self._without(rows):
            found[same] = rest.log_p(scale.applied(asked))
        return found

    def _without(self, rows: Ints) -> Iterator[tuple[Ints, Scale, Fitted]]:
        """Yield places of equal records among the rows, and the model trained without one of them.

        Yield nothing if no other record is left.
        """
        rows = np.asarray(rows, np.int64)
        # Without its only record there is nothing to train on.
        if len(self.x) == 1:
            return
        # Leaving out either of two equal records gives the same model: train it once.
        known = np.column_stack([self.x[rows], self.y[rows]])
        _, first, group = np.unique(known, axis=0, return_index=True, return_inverse=True)
        for number, one in enumerate(rows[first]):
            kept = np.arange(len(self.x)) != one
            scale = Scale.of(self.x[kept])
            rest = self.learner.learner.fit(
                scale.applied(self.x[kept]), self.y[kept], n_classes=self.n_classes
            )
            yield np.flatnonzero(group.reshape(-1) == number), scale, rest
