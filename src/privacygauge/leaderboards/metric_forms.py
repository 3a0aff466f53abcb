"""Forms of submissions and hidden values, with the rules that all metrics of a form share.

A metric is a value of a class below `Metric`. Every score is in [0, 1] and higher is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

Values = NDArray[np.number]
"""Hidden or submitted values: integers or floats."""
_UNIT = 1e-6
"""Largest deviation from 1 of the sum of an example's probabilities."""
CELLS = 1_024
"""Number of cells of a range within which submitted numbers count as equal."""


def class_numbers(values: NDArray[Any]) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return labels as class numbers, (n,), and the classes' names; None for no texts.

    Texts are numbered from 0 in alphabetical order; other values stay as they are.
    """
    if values.dtype.kind not in "OUT" or not all(isinstance(value, str) for value in values):
        return values, None
    texts, codes = np.unique(np.array([value.strip() for value in values]), return_inverse=True)
    return codes.ravel(), tuple(str(text) for text in texts)


class Metric:
    """A metric of submissions, with the properties that the theory needs.

    By default a mean over examples of numbers in [0, 1], of one label per example.
    """

    name: str
    """Name on the command line, such as ``top:5``."""
    form: str = "i"
    """Type of a submission: ``i`` for integers, ``f`` for floats."""
    numbers: bool = False
    """True if hidden values are numbers rather than classes."""
    # A number in [0, 1] with expectation s has variance at most s(1 - s), which is concave in s.
    like_share: bool = True
    """True if a score's variance is at most S(1 - S)/points, with S its expectation."""
    worst: float | None = None
    """Error that scores 0, for a metric known as an error; None for others."""
    clipped: bool = False
    """True if values below 0 are scored 0; then a random submission's score is no sum."""
    ordered: bool = False
    """True if the order of the classes counts: text labels, which have none, are refused."""
    submitted_range: tuple[float, float] = (-math.inf, math.inf)
    """Smallest and largest submitted number, known to all; infinite without a range."""
    columns: int | None = 1
    """Largest number of values per example in a submission; None for the number of classes."""

    def refuse_texts(self, classes: Sequence[str]) -> None:
        """Raise if hidden labels that are texts, of these classes, do not suit the metric."""
        if self.ordered:
            raise InputError(
                f"metric {self.name} needs the order of the classes, which texts do not have: give "
                "labels as integers from 0, in order"
            )
        if self.numbers:
            raise InputError(
                f"metric {self.name} compares numbers, got labels that are texts, such as "
                f"{classes[0]!r}"
            )

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        """Return the checked hidden values, (n,), and the number of classes; 0 for numbers."""
        if self.numbers:
            if n_classes:
                raise InputError(f"{self.name} has no classes: leave their number out")
            low, high = self.submitted_range
            shape = (np.size(values),)
            return checked_floats(values, shape, low=low, high=high, name="labels"), 0
        labels = checks.classes(values, "labels")
        m = n_classes if n_classes is not None else max(2, int(labels.max(initial=0)) + 1)
        checks.at_least(2, n_classes=m)
        if len(labels) == 0 or labels.max() >= m:
            raise InputError(
                f"labels must be one or more integers in 0..{m - 1}: count the "
                f"classes from 0, or give a larger n_classes"
            )
        return labels, m

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        """Return a checked submission, (n,) or (n, columns); errors quote only the submission."""
        if self.form == "i":
            return checked_labels(values, (n,), n_classes)
        return checked_floats(values, (n,), *self.submitted_range)

    def width(self, n_classes: int) -> int:
        """Return the largest number of values per example in a submission."""
        return n_classes if self.columns is None else self.columns

    def score(self, submitted: Values, truth: Values) -> float:
        """Return the score, in [0, 1]."""
        raise NotImplementedError

    def points(self, truth: Values) -> float:
        """Return N such that a score's standard deviation is at most 1/(2 sqrt(N)).

        Errors on different examples are taken as independent; N = n for a mean over the examples.
        """
        return float(len(truth))

    def tail(self, truth: Values) -> float:
        """Return N such that an attacker without knowledge hardly exceeds `chance`.

        Each submission exceeds it by e or more with probability at most exp(-2 N e^2); 0 if no such
        bound is known. By default `points`: for a mean over independent hidden values it is
        Hoeffding's inequality.
        """
        return self.points(truth)

    def chance(self, truth: Values) -> float:
        """Return the best expected score of an attacker who knows only value frequencies.

        By default 0, that of a metric by which a constant is worth nothing.
        """
        return 0.0

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        """Return values that are equal for submissions with the same content.

        Noise that depends on these values cannot be averaged over copies that were scaled,
        reordered or moved slightly.
        """
        return submitted

    def moves(self, values: Values, counts: Ints) -> Values:
        """Return the values from which an attacker draws an example's part of a random submission.

        Shape (c,) or (c, columns); `values` and `counts` are those of `effects`. If a submission
        uses only these values, its score is a sum over the examples, clipped at 0 if the metric
        `clipped` is: exactly, or for a ratio and the root of a mean up to a term that vanishes for
        large n. By default the classes, or the ends of the range of numbers.
        """
        return np.array(self.submitted_range) if self.numbers else np.arange(len(values))

    def effects(self, values: Values, counts: Ints) -> Floats:
        """Return each move's effect on the score at an example with each value, (v, c).

        Up to a constant per row. The hidden `values`, (v,), occur `counts`, (v,), times; the moves
        of all other examples are drawn uniformly. By default 1/n for a right label.
        """
        return np.asarray(np.eye(len(values)) / counts.sum())

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the submission with the highest expected score.

        `belief` (n, v) holds the probability of each of the hidden `values` (v,): classes in order,
        or ascending numbers. By default the likeliest label, or the expected number.
        """
        if self.form == "i":
            return np.asarray(belief.argmax(axis=1))
        return np.asarray(np.clip(belief @ values, *self.submitted_range))


class OfProbabilities(Metric):
    """Submissions of a probability per class, or with two classes of class 1 alone."""

    form = "f"
    columns = None

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        """Return checked probabilities, (n, m), or (n,) of class 1 of two."""
        flat = n_classes == 2 and np.ndim(values) == 1
        found = checked_floats(values, (n,) if flat else (n, n_classes), 0.0, 1.0)
        if not flat and np.abs(found.sum(axis=1) - 1).max() > _UNIT:
            raise InputError("probabilities must sum to 1 in every row")
        return found

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        """Return rounded probabilities of all classes: with two, one says as much as both."""
        both = submitted if submitted.ndim == 2 else np.stack([1 - submitted, submitted], axis=1)
        return np.asarray(np.rint(both * CELLS))

    def moves(self, values: Values, counts: Ints) -> Values:
        """Return certainty about each class: the score of such submissions is their accuracy."""
        return np.eye(len(values))

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the belief."""
        return belief


class OfTwo(Metric):
    """A statistic of two classes, with 1 the positive one; both must occur."""

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        """Return checked labels 0 and 1, and 2."""
        labels, m = super().truth(values, n_classes)
        if m != 2 or len(class_sizes(labels)) != 2:
            raise InputError("labels must be 0 and 1, and both must occur: the metric is of two")
        return labels, m


@dataclass(frozen=True)
class OfNumbers(Metric):
    """Hidden numbers in a publicly known range."""

    low: float
    """Smallest possible hidden or submitted value."""
    high: float
    """Largest possible hidden or submitted value."""
    name: str = field(init=False, repr=False)
    """``KIND:LOW:HIGH``."""
    worst: float | None = field(init=False, repr=False)
    """The width of the range, or its square."""
    submitted_range: tuple[float, float] = field(init=False, repr=False)
    """The range."""
    kind: ClassVar[str]
    power: ClassVar[int] = 2
    """Power of an example's error, in units of the range."""
    worst_power: ClassVar[int] = 1
    """Power of the range that is the largest error."""
    form = "f"
    numbers = True

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise InputError(
                f"{self.kind} needs a range of values, got {self.low:g} to {self.high:g}: name the "
                f"metric as {self.kind}:LOW:HIGH"
            )
        object.__setattr__(self, "name", f"{self.kind}:{self.low:g}:{self.high:g}")
        object.__setattr__(self, "worst", (self.high - self.low) ** self.worst_power)
        object.__setattr__(self, "submitted_range", (self.low, self.high))

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        """Return numbers to a thousandth of the range."""
        return np.asarray(np.rint((submitted - self.low) / (self.high - self.low) * CELLS))

    def effects(self, values: Values, counts: Ints) -> Floats:
        """Return the errors of both ends of the range, (v, 2), in n-ths and below 0.

        Between the ends, an error or its square is linear.
        """
        ends = self.moves(values, counts)
        return np.asarray(-self.errors(ends, values[:, None]) / counts.sum())

    def score(self, submitted: Values, truth: Values) -> float:
        """Return 1 minus the mean power of the errors, in units of the range."""
        return float(1 - self.errors(submitted, truth).mean())

    def chance(self, truth: Values) -> float:
        """Return the score of the mean."""
        return self.score(np.full(len(truth), truth.mean(dtype=np.float64)), truth)

    def errors(self, submitted: Values, truth: Values) -> Floats:
        """Return the examples' errors in units of the range, to the metric's power."""
        off: Floats = np.abs(np.asarray((submitted - truth) / (self.high - self.low)))
        return off**self.power


def checked_labels(values: ArrayLike, shape: tuple[int, ...], n_classes: int) -> Ints:
    """Return submitted labels of this shape, checked to be in 0..n_classes-1."""
    try:
        # Numbers beyond 64 bits become negative, and are rejected as such.
        with np.errstate(invalid="ignore"):
            array = checks.classes(np.ravel(_check_shape(values, shape)), "labels")
    except (ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"labels must be {shape[0]} integers in a row, got lists within it"
        ) from error
    if len(array) and array.max() >= n_classes:
        place = int(np.flatnonzero(array >= n_classes)[0])
        raise InputError(
            f"labels must be in 0..{n_classes - 1}, got {array[place]} in row "
            f"{place // math.prod(shape[1:])}: count the classes from 0"
        )
    return array.reshape(shape)


def checked_floats(
    values: ArrayLike, shape: tuple[int, ...], low: float, high: float, name: str = "predictions"
) -> Floats:
    """Return submitted or hidden numbers of this shape, checked to be in [low, high]."""
    try:
        array = checks.floats(np.ravel(_check_shape(values, shape)), name)
    except (ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} must be numbers of shape {shape}") from error
    if not len(array) or array.min() < low or array.max() > high:
        got = "none"
        for place in np.flatnonzero((array < low) | (array > high))[:1]:
            got = f"{array[place]:g} in row {place // math.prod(shape[1:])}"
        raise InputError(f"{name} must be in [{low:g}, {high:g}], got {got}")
    return array.reshape(shape)


def _check_shape(values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.generic]:
    array = np.asarray(values)
    if len(shape) > 1 and array.shape != shape:
        raise InputError(f"a submission must have the shape {shape}, got {array.shape}")
    if len(shape) == 1:
        return checks.vector(array, "labels", length=shape[0])
    return array


def class_sizes(truth: Values) -> Floats:
    """Return the number of examples in each class that occurs."""
    return np.unique(truth, return_counts=True)[1].astype(np.float64)


def class_frequencies(truth: Values) -> Floats:
    """Return the share of the examples in each class that occurs."""
    return np.asarray(class_sizes(truth) / len(truth))
