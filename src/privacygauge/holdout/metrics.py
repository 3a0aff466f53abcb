"""Scores other than accuracy: the form of a submission, its score, and the part due to chance.

Every score is in [0, 1] and higher is better; an error e of values in [low, high] becomes 1 -
e/(high - low). Guards see a score as a multiple of 1/n, so that bounds from counting transcripts
hold: with all its digits, a single Brier score or squared error could reveal dozens of labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.holdout.names import METRICS

Values = NDArray[np.number]
"""Hidden or submitted values: integers or floats."""
_MOST = 700.0
"""Largest exponent in nats, such that exp(-_MOST) is still a float."""
_UNIT = 1e-6
"""Largest deviation from 1 of the sum of an example's probabilities."""
_ROUNDING = 1e-12


class Metric(Protocol):
    """A metric of submissions, with the properties that the theory needs."""

    @property
    def name(self) -> str:
        """Name on the command line, such as ``top:5``."""

    @property
    def form(self) -> str:
        """Type of a submission: ``i`` for integers, ``f`` for floats."""

    @property
    def numbers(self) -> bool:
        """True if hidden values are numbers rather than classes."""

    @property
    def like_share(self) -> bool:
        """True if a score's variance is at most S(1 - S)/points, with S its expectation."""

    @property
    def worst(self) -> float | None:
        """Error that scores 0, for a metric known as an error; None for others."""

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        """Return the checked hidden values, (n,), and the number of classes; 0 for numbers."""

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        """Return a checked submission, (n,) or (n, columns); errors quote only the submission."""

    def width(self, n_classes: int) -> int:
        """Return the largest number of values per example in a submission."""

    def score(self, submitted: Values, truth: Values) -> float:
        """Return the score, in [0, 1]."""

    def points(self, truth: Values) -> float:
        """Return N such that a score's standard deviation is at most 1/(2 sqrt(N)).

        Errors on different examples are taken as independent; N = n for an accuracy.
        """

    def tail(self, truth: Values) -> float:
        """Return N such that an attacker without knowledge hardly exceeds `chance`.

        Each submission exceeds it by e or more with probability at most exp(-2 N e^2).
        """

    def chance(self, truth: Values) -> float:
        """Return the best expected score of an attacker who knows only value frequencies."""

    def moves(self, n_classes: int) -> Values:
        """Return the values from which an attacker draws an example's part of a random submission.

        Shape (c,) or (c, columns). If a submission uses only these values, its score is a sum over
        the examples: exactly, or for F1 and the root of a mean up to a term that vanishes for large
        n.
        """

    def effects(self, values: Values, counts: Ints) -> Floats:
        """Return each move's effect on the score at an example with each value, (v, c).

        Up to a constant per row. The hidden `values`, (v,), occur `counts`, (v,), times; the moves
        of all other examples are drawn uniformly.
        """

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the submission with the highest expected score.

        `belief` (n, v) holds the probability of each of the hidden `values` (v,): classes in order,
        or ascending numbers.
        """


class _Mean:
    """A mean over the examples of numbers in [0, 1]."""

    def width(self, n_classes: int) -> int:
        return 1

    def points(self, truth: Values) -> float:
        return float(len(truth))

    def tail(self, truth: Values) -> float:
        # Hoeffding's inequality, for independent hidden values.
        return self.points(truth)


class _OfLabels(_Mean):
    """A mean over examples with hidden labels, each scored in [0, 1]."""

    form: ClassVar[str] = "i"
    numbers: ClassVar[bool] = False
    # A number in [0, 1] with expectation s has variance at most s(1 - s), which is concave in s.
    like_share: ClassVar[bool] = True
    worst: float | None = None

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
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
        return _labels(values, (n,), n_classes)

    def moves(self, n_classes: int) -> Values:
        return np.arange(n_classes)

    # (v, c): a right label adds 1/n, a wrong one nothing.
    def effects(self, values: Values, counts: Ints) -> Floats:
        return np.asarray(np.eye(len(values)) / counts.sum())


@dataclass(frozen=True)
class _Accuracy(_OfLabels):
    """The share of right labels."""

    name: ClassVar[str] = "accuracy"

    def score(self, submitted: Values, truth: Values) -> float:
        return float(np.count_nonzero(submitted == truth)) / len(truth)

    def chance(self, truth: Values) -> float:
        return float(_frequencies(truth).max())

    def best(self, belief: Floats, values: Values) -> Values:
        return np.asarray(belief.argmax(axis=1))


@dataclass(frozen=True)
class _BalancedAccuracy(_OfLabels):
    """The mean over the classes that occur of the share of right labels in each (macro recall)."""

    name: ClassVar[str] = "balanced-accuracy"
    like_share: ClassVar[bool] = False

    def score(self, submitted: Values, truth: Values) -> float:
        size = np.bincount(truth)
        right = np.bincount(truth, weights=submitted == truth)
        return float((right[size > 0] / size[size > 0]).mean())

    def points(self, truth: Values) -> float:
        """Return m^2 over the sum of 1/n_c: each recall has variance at most 1/(4 n_c)."""
        size = _sizes(truth)
        return float(len(size) ** 2 / (1 / size).sum())

    def tail(self, truth: Values) -> float:
        """Return the larger of two bounds for labels in random order.

        A recall is the mean of a draw without replacement (Hoeffding), and recalls are combined by
        Hoelder's inequality: (m / sum of n_c^-1/2)^2. Or by the swap of two labels, which changes
        the score by at most the weights w of the two rarest classes (Azuma): 1/(n w^2).
        """
        size = _sizes(truth)
        # Swapping two labels changes at most the recalls of two classes.
        swap = (1 / np.sort(size)[:2]).sum() / len(size)
        return float(max((len(size) / (size**-0.5).sum()) ** 2, 1 / (len(truth) * swap**2)))

    def chance(self, truth: Values) -> float:
        return 1 / len(_sizes(truth))

    # A right label adds 1/(number of classes that occur)/(size of its class).
    def effects(self, values: Values, counts: Ints) -> Floats:
        return np.diag((counts > 0) / np.maximum(counts, 1)) / np.count_nonzero(counts)

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the class with the largest growth of probability: rare classes count more."""
        shares = belief.mean(axis=0)
        return np.asarray((belief / np.where(shares > 0, shares, 1.0)).argmax(axis=1))


@dataclass(frozen=True)
class _Top(_OfLabels):
    """The share of examples whose label is among the `k` labels submitted for it."""

    k: int = 5
    """Number of labels per example, at least 1."""

    def __post_init__(self) -> None:
        checks.at_least(1, top=self.k)

    @property
    def name(self) -> str:
        return f"top:{self.k}"

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        return _labels(values, (n, self.k), n_classes)

    def width(self, n_classes: int) -> int:
        return self.k

    def score(self, submitted: Values, truth: Values) -> float:
        return float((submitted == truth[:, None]).any(axis=1).mean())

    def chance(self, truth: Values) -> float:
        return float(np.sort(_frequencies(truth))[-self.k :].sum())

    def moves(self, n_classes: int) -> Values:
        """Return `k` consecutive classes, starting from each class."""
        return (np.arange(n_classes)[:, None] + np.arange(self.k)) % n_classes

    # (v, c): whether the k consecutive classes of move c contain value v.
    def effects(self, values: Values, counts: Ints) -> Floats:
        within = (self.moves(len(values)) == values[:, None, None]).any(axis=2)
        return np.asarray(within / counts.sum())

    def best(self, belief: Floats, values: Values) -> Values:
        # More labels than classes are filled up by repeating the best ones.
        return np.argsort(-belief, axis=1)[:, np.arange(self.k) % belief.shape[1]]


class _OfProbabilities(_OfLabels):
    """Submissions of a probability per class, or with two classes of class 1 alone."""

    form: ClassVar[str] = "f"

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        flat = n_classes == 2 and np.ndim(values) == 1
        found = _floats(values, (n,) if flat else (n, n_classes), 0.0, 1.0)
        if not flat and np.abs(found.sum(axis=1) - 1).max() > _UNIT:
            raise InputError("probabilities must sum to 1 in every row")
        return found

    def width(self, n_classes: int) -> int:
        return n_classes

    def moves(self, n_classes: int) -> Values:
        """Return certainty about each class: the score of such submissions is their accuracy."""
        return np.eye(n_classes)


@dataclass(frozen=True)
class _Brier(_OfProbabilities):
    """1 minus half of the squared distance between probabilities and truth, averaged."""

    name: ClassVar[str] = "brier"
    worst = 1.0

    def score(self, submitted: Values, truth: Values) -> float:
        if submitted.ndim == 1:
            return float(1 - ((submitted - truth) ** 2).mean())
        hidden = np.arange(submitted.shape[1]) == truth[:, None]
        return float(1 - ((submitted - hidden) ** 2).sum(axis=1).mean() / 2)

    def chance(self, truth: Values) -> float:
        return float(1 - (1 - (_frequencies(truth) ** 2).sum()) / 2)

    def best(self, belief: Floats, values: Values) -> Values:
        return belief


@dataclass(frozen=True)
class _LogLoss(_OfProbabilities):
    """1 minus the mean log-loss in units of `worst`, the most that an example can lose."""

    worst: float
    """Largest loss in nats, above 0: 34.5 if probabilities are kept 1e-15 from 0, as is usual."""

    def __post_init__(self) -> None:
        if not 0.0 < self.worst <= _MOST:
            raise InputError(
                f"logloss needs the most that an example loses, in (0, {_MOST:g}], got "
                f"{self.worst:g}: name the metric as logloss:15"
            )

    @property
    def name(self) -> str:
        return f"logloss:{self.worst:g}"

    def score(self, submitted: Values, truth: Values) -> float:
        # A vector holds the probability of class 1 alone.
        flat = submitted.ndim == 1
        both = np.stack([1 - submitted, submitted], axis=1) if flat else submitted
        # exp(-worst) is the probability that loses `worst`: no logarithm of 0.
        told = np.maximum(both[np.arange(len(truth)), truth], math.exp(-self.worst))
        return max(0.0, float(1 + np.log(told).mean() / self.worst))

    def chance(self, truth: Values) -> float:
        """Return the score of the best constant: frequencies of all or of the likeliest classes."""
        return float(1 - self._lost(np.sort(_frequencies(truth))[::-1]).min() / self.worst)

    # Every class as likely as the last one kept is kept too.
    def best(self, belief: Floats, values: Values) -> Values:
        falling = -np.sort(-belief, axis=1)
        least = np.take_along_axis(falling, self._lost(falling).argmin(axis=1)[:, None], axis=1)
        kept = np.where(belief >= least, belief, 0.0)
        return np.asarray(kept / kept.sum(axis=1, keepdims=True))

    def _lost(self, falling: Floats) -> Floats:
        """Return the loss if 1, 2, ... of the classes, likeliest first, are submitted.

        A class left out costs `worst`; the probabilities of the others grow accordingly.
        """
        held = np.cumsum(falling, axis=-1)
        return np.asarray(
            -np.cumsum(xlogy(falling, falling), axis=-1)
            + xlogy(held, held)
            + self.worst * (1 - held)
        )


class _OfTwo(_OfLabels):
    """A statistic of two classes, with 1 the positive one; both must occur."""

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        labels, m = super().truth(values, n_classes)
        if m != 2 or len(_sizes(labels)) != 2:
            raise InputError("labels must be 0 and 1, and both must occur: the metric is of two")
        return labels, m


@dataclass(frozen=True)
class _F1(_OfTwo):
    """2 TP / (2 TP + FP + FN) of class 1."""

    name: ClassVar[str] = "f1"
    like_share: ClassVar[bool] = False

    def score(self, submitted: Values, truth: Values) -> float:
        hits = np.count_nonzero((submitted == 1) & (truth == 1))
        return 2 * hits / float(np.count_nonzero(submitted) + np.count_nonzero(truth))

    def points(self, truth: Values) -> float:
        """Return 3 sqrt(3)/8 times the number of positives.

        By the delta method the variance is F(1 - F)(2 - F) over the number of positives and
        predicted positives together, and F(1 - F)(2 - F) is at most 2/(3 sqrt(3)).
        """
        return 3 * math.sqrt(3) / 8 * float(truth.sum())

    def tail(self, truth: Values) -> float:
        """Return P, the number of positives.

        For Q predicted positives drawn without replacement, F = 2 Q/(P + Q) times their precision:
        exp(-2 Q (e (P + Q)/(2 Q))^2) is largest at Q = P.
        """
        return float(truth.sum())

    def chance(self, truth: Values) -> float:
        share = float(truth.mean())
        return 2 * share / (1 + share)

    def effects(self, values: Values, counts: Ints) -> Floats:
        # Derivatives of 2 TP/(predicted + true) at a uniform draw; n/2 examples are predicted
        # positive.
        called = counts.sum() / 2 + counts[1]
        expected = counts[1] / called
        return np.asarray(np.array([[0.0, -expected], [0.0, 2 - expected]]) / called)

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the likeliest examples as positive, as many as maximise the expected ratio."""
        # (n,): probability of class 1; F1 is largest for a set of the likeliest examples.
        positive = belief[:, 1]
        order = np.argsort(-positive, kind="stable")
        hits = np.cumsum(positive[order])
        called = np.arange(1, len(positive) + 1)
        found = np.zeros(len(positive), np.int64)
        # Expected hits over the expected denominator for every number of predicted positives.
        found[order[: (hits / (called + positive.sum())).argmax() + 1]] = 1
        return found


@dataclass(frozen=True)
class _AUC(_OfTwo):
    """The share of pairs of a positive and a negative in the right order; ties count half."""

    name: ClassVar[str] = "auc"
    form: ClassVar[str] = "f"

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        return _floats(values, (n,), -math.inf, math.inf)

    def score(self, submitted: Values, truth: Values) -> float:
        positive = submitted[truth == 1]
        order = np.sort(submitted)
        n = len(order)
        p = len(positive)
        # The rank of tied values is the mean over their places.
        ranks = (order.searchsorted(positive) + order.searchsorted(positive, "right") + 1) / 2
        # The statistic U of Mann and Whitney, over the number of pairs.
        return (float(ranks.mean()) - (p + 1) / 2) / (n - p)

    def points(self, truth: Values) -> float:
        """Return the size of the smaller class: the variance is at most A(1 - A) over it.

        Sources
        -------
        Birnbaum and Klose, "Bounds for the variance of the Mann-Whitney statistic" (1957).
        """
        return float(_sizes(truth).min())

    def tail(self, truth: Values) -> float:
        """Return 3 a b/(n + 1), with a and b the sizes of the classes, for labels in random order.

        The bound is thus exp(-e^2/(2 v)), with v = (n + 1)/(12 a b) the variance of such an AUC:
        only what Chernoff's bound loses of a normal tail is lost.

        Without ties, U = a b AUC is the statistic of Mann and Whitney (1947), and E q^U the product
        over i = 1..a of (1 - q^(b + i))/(1 - q^i) times i/(b + i). With q = exp(s) and g(x) =
        ln(sinh(x)/x), the logarithm of E exp(s (U - a b/2)) is the sum of g((b + i) s/2) - g(i
        s/2). As g(x) is the sum over j of ln(1 + x^2/(j pi)^2), it is concave in x^2, with slope
        1/6 at 0: a term is at most ((b + i)^2 - i^2) s^2/24. These add up to a b (n + 1) s^2/24,
        which is s^2/2 times the variance of U, and Chernoff's bound follows. With ties, a rank is
        the mean over the orders of the tied values, and exp is convex (Jensen).
        """
        few, many = _sizes(truth)
        return float(3 * few * many / (len(truth) + 1))

    def chance(self, truth: Values) -> float:
        return 0.5

    def moves(self, n_classes: int) -> Values:
        """Return 0 and 1, in which an AUC is linear: 1/2 + (TPR - FPR)/2."""
        return np.array([0.0, 1.0])

    def effects(self, values: Values, counts: Ints) -> Floats:
        # Each positive carries 1/(2 a) for a change from 0 to 1, each negative minus 1/(2 b).
        return np.array([[0.0, -0.5], [0.0, 0.5]]) / counts[:, None]

    def best(self, belief: Floats, values: Values) -> Values:
        return belief[:, 1]


@dataclass(frozen=True)
class _OfNumbers(_Mean):
    """Hidden numbers in a publicly known range."""

    low: float
    """Smallest possible hidden or submitted value."""
    high: float
    """Largest possible hidden or submitted value."""
    kind: ClassVar[str]
    form: ClassVar[str] = "f"
    numbers: ClassVar[bool] = True
    power: ClassVar[int] = 2
    """Power of an example's error, in units of the range."""
    like_share: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise InputError(
                f"{self.kind} needs a range of values, got {self.low:g} to {self.high:g}: name the "
                f"metric as {self.kind}:LOW:HIGH"
            )

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.low:g}:{self.high:g}"

    @property
    def worst(self) -> float | None:
        return self.high - self.low

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        if n_classes:
            raise InputError(f"{self.name} has no classes: leave their number out")
        return _floats(values, (np.size(values),), low=self.low, high=self.high, name="labels"), 0

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        return _floats(values, (n,), self.low, self.high)

    def moves(self, n_classes: int) -> Values:
        """Return the ends of the range, between which an error or its square is linear."""
        return np.array([self.low, self.high])

    def effects(self, values: Values, counts: Ints) -> Floats:
        # (v, c): error of each end of the range against each value.
        return np.asarray(-(self._off(self.moves(0), values[:, None]) ** self.power) / counts.sum())

    def score(self, submitted: Values, truth: Values) -> float:
        return float(1 - (self._off(submitted, truth) ** self.power).mean())

    def chance(self, truth: Values) -> float:
        return self.score(np.full(len(truth), truth.mean(dtype=np.float64)), truth)

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the mean, within the range."""
        return np.asarray(np.clip(belief @ values, self.low, self.high))

    def _off(self, submitted: Values, truth: Values) -> Floats:
        return np.abs(np.asarray((submitted - truth) / (self.high - self.low)))


@dataclass(frozen=True)
class _AbsoluteError(_OfNumbers):
    """1 minus the mean absolute error, in units of the range."""

    kind: ClassVar[str] = "mae"
    power: ClassVar[int] = 1

    def chance(self, truth: Values) -> float:
        return self.score(np.full(len(truth), np.median(truth.astype(np.float64))), truth)

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the median."""
        # The first value at which half of the belief is reached, up to rounding.
        return np.asarray(values[(np.cumsum(belief, axis=1) >= 0.5 - _ROUNDING).argmax(axis=1)])


@dataclass(frozen=True)
class _SquaredError(_OfNumbers):
    """1 minus the mean squared error, in units of the squared range."""

    kind: ClassVar[str] = "mse"

    @property
    def worst(self) -> float | None:
        return (self.high - self.low) ** 2


@dataclass(frozen=True)
class _RootSquaredError(_OfNumbers):
    """1 minus the root of the mean squared error, in units of the range."""

    kind: ClassVar[str] = "rmse"
    like_share: ClassVar[bool] = False

    def score(self, submitted: Values, truth: Values) -> float:
        return float(1 - math.sqrt((self._off(submitted, truth) ** 2).mean()))

    def points(self, truth: Values) -> float:
        """Return n/4, with X a mean of numbers in [0, 1] and mu its expectation.

        Its variance is at most mu/n, and its root differs from that of mu by at most |X -
        mu|/sqrt(mu). The `tail` is the same: X is below mu - t with probability at most exp(-n
        t^2/(2 mu)), and if its root is smaller by e, t is at least e sqrt(mu).
        """
        return len(truth) / 4

    def effects(self, values: Values, counts: Ints) -> Floats:
        squared = super().effects(values, counts)
        # Derivative of the root at the mean squared error of uniform moves.
        return squared / (2 * math.sqrt(-counts @ squared.mean(axis=1)))


ACCURACY: Metric = _Accuracy()
"""The default metric."""
_PLAIN: dict[str, Metric] = {
    metric.name: metric for metric in (ACCURACY, _BalancedAccuracy(), _Brier(), _F1(), _AUC())
}
_RANGED: dict[str, Callable[[float, float], Metric]] = {
    kind.kind: kind for kind in (_AbsoluteError, _SquaredError, _RootSquaredError)
}


def metric_named(text: str) -> Metric:
    """Return the metric that `text` names, such as ``auc``, ``top:5`` or ``rmse:0:100``.

    Raises
    ------
    InputError
        If the metric does not exist, or its numbers are out of range.

    Examples
    --------
    >>> from privacygauge.holdout.metrics import metric_named
    >>> metric_named("mae:0:10").score(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    0.9
    """
    word, *numbers = text.split(":")
    try:
        if word in _PLAIN and not numbers:
            return _PLAIN[word]
        if word == "top" and len(numbers) == 1:
            return _Top(int(numbers[0]))
        if word == "logloss" and len(numbers) == 1:
            return _LogLoss(float(numbers[0]))
        low, high = numbers
        return _RANGED[word](float(low), float(high))
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"metric must be one of {', '.join(METRICS)}, got {text!r}") from error


def metric_bias(metric: Metric, truth: Values, nats: float, *, delta: float = 0.05) -> float:
    """Return a bound on the gain above chance of any attack without knowledge.

    sqrt((nats + ln(1/delta))/(2 N)), with N the metric's `tail`: a bound for a fixed submission,
    and a union bound over the transcripts, as in Feldman, Frostig and Hardt (2019), Theorem 3.1. At
    most the gain of a perfect score.

    Parameters
    ----------
    metric : Metric
    truth : array of shape (n,)
        Hidden values.
    nats : float
        Log of the number of transcripts, from `bounds.transcript_nats`; at least 0.
    delta : float, default 0.05
        Probability of a larger gain, in (0, 1).
    """
    # Hoeffding for one fixed submission, solved for the gain.
    exponent = (nats + math.log(1 / checks.level(delta, "delta"))) / (2 * metric.tail(truth))
    return min(math.sqrt(exponent), 1 - metric.chance(truth))


def _labels(values: ArrayLike, shape: tuple[int, ...], n_classes: int) -> Ints:
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


def _floats(
    values: ArrayLike, shape: tuple[int, ...], low: float, high: float, name: str = "predictions"
) -> Floats:
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


def _sizes(truth: Values) -> Floats:
    """Return the number of examples in each class that occurs."""
    return np.unique(truth, return_counts=True)[1].astype(np.float64)


def _frequencies(truth: Values) -> Floats:
    return np.asarray(_sizes(truth) / len(truth))
