"""Scores other than accuracy: the form of a submission, its score, and the part due to chance.

Every score is in [0, 1] and higher is better; an error e of values in [low, high] becomes 1 -
e/(high - low). Guards see a score as a multiple of 1/n, so that bounds from counting transcripts
hold: with all its digits, a single Brier score or squared error could reveal dozens of labels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.leaderboards.metric_forms import (
    Metric as Metric,
)
from privacygauge.leaderboards.metric_forms import (
    OfNumbers,
    OfProbabilities,
    OfTwo,
    checked_floats,
    checked_labels,
    class_frequencies,
    class_sizes,
)
from privacygauge.leaderboards.metric_forms import (
    Values as Values,
)
from privacygauge.leaderboards.names import METRICS
from privacygauge.leaderboards.own_metric import OwnMetric, Submitted
from privacygauge.leaderboards.permuted_metrics import MACRO_F1, QUADRATIC_KAPPA, R_SQUARED
from privacygauge.runs.named import code_digest, import_object, names_code

_MOST = 700.0
"""Largest exponent in nats, such that exp(-_MOST) is still a float."""
_MEMBERS = 100
"""Most members of an ensemble."""
_ROUNDING = 1e-12


@dataclass(frozen=True)
class _Accuracy(Metric):
    """The share of right labels."""

    name = "accuracy"

    def score(self, submitted: Values, truth: Values) -> float:
        return float(np.count_nonzero(submitted == truth)) / len(truth)

    def chance(self, truth: Values) -> float:
        return float(class_frequencies(truth).max())


@dataclass(frozen=True)
class _BalancedAccuracy(Metric):
    """The mean over the classes that occur of the share of right labels in each (macro recall)."""

    name = "balanced-accuracy"
    like_share = False

    def score(self, submitted: Values, truth: Values) -> float:
        size = np.bincount(truth)
        right = np.bincount(truth, weights=submitted == truth)
        return float((right[size > 0] / size[size > 0]).mean())

    def points(self, truth: Values) -> float:
        """Return m^2 over the sum of 1/n_c: each recall has variance at most 1/(4 n_c)."""
        size = class_sizes(truth)
        return float(len(size) ** 2 / (1 / size).sum())

    def tail(self, truth: Values) -> float:
        """Return the larger of two bounds for labels in random order.

        A recall is the mean of a draw without replacement (Hoeffding), and recalls are combined by
        Hoelder's inequality: (m / sum of n_c^-1/2)^2. Or by the swap of two labels, which changes
        the score by at most the weights w of the two rarest classes (Azuma): 1/(n w^2).
        """
        size = class_sizes(truth)
        # Swapping two labels changes at most the recalls of two classes.
        swap = (1 / np.sort(size)[:2]).sum() / len(size)
        return float(max((len(size) / (size**-0.5).sum()) ** 2, 1 / (len(truth) * swap**2)))

    def chance(self, truth: Values) -> float:
        return 1 / len(class_sizes(truth))

    # A right label adds 1/(number of classes that occur)/(size of its class).
    def effects(self, values: Values, counts: Ints) -> Floats:
        return np.diag((counts > 0) / np.maximum(counts, 1)) / np.count_nonzero(counts)

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the class with the largest growth of probability: rare classes count more."""
        shares = belief.mean(axis=0)
        return np.asarray((belief / np.where(shares > 0, shares, 1.0)).argmax(axis=1))


_WEIGHTS: dict[str, Callable[[Floats], Floats]] = {
    "top": np.ones_like,
    "map": lambda place: 1 / place,
    "ndcg": lambda place: np.asarray(1 / np.log2(place + 1)),
}
"""Score of an example, in [0, 1], by the place of its label among those submitted, from 1."""


@dataclass(frozen=True)
class _RankedGuesses(Metric):
    """A mean over examples with `k` labels each: the weight of the true label's first place.

    ``top:K`` is the share of examples whose label is among those submitted for it, ``map@K`` the
    mean average precision and ``ndcg@K`` the discounted gain, both with one true label per example.
    """

    kind: str
    """``top``, ``map`` or ``ndcg``."""
    k: int
    """Number of labels per example, the likeliest first, at least 1."""
    name: str = field(init=False, repr=False)
    columns: int | None = field(init=False, repr=False)
    weights: Floats = field(init=False, repr=False, compare=False)
    """(k,) Score of an example by the place of its label, in [0, 1]."""

    def __post_init__(self) -> None:
        checks.at_least(1, **{self.kind: self.k})
        sign = ":" if self.kind == "top" else "@"
        object.__setattr__(self, "name", f"{self.kind}{sign}{self.k}")
        object.__setattr__(self, "columns", self.k)
        object.__setattr__(self, "weights", _WEIGHTS[self.kind](np.arange(1.0, self.k + 1)))

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        return checked_labels(values, (n, self.k), n_classes)

    def score(self, submitted: Values, truth: Values) -> float:
        hits = submitted == truth[:, None]
        return float((self.weights[hits.argmax(axis=1)] * hits.any(axis=1)).mean())

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        found = submitted.astype(np.int64)
        # A label that is repeated counts at its first place alone.
        for place in range(1, self.k):
            before = submitted[:, :place] == submitted[:, place : place + 1]
            found[before.any(axis=1), place] = -1
        # The order of an example's labels does not count where all places weigh the same.
        return np.sort(found, axis=1) if self.kind == "top" else found

    def chance(self, truth: Values) -> float:
        falling = np.sort(class_frequencies(truth))[::-1][: self.k]
        return float(falling @ self.weights[: len(falling)])

    def moves(self, values: Values, counts: Ints) -> Values:
        """Return `k` consecutive classes, starting from each class."""
        return (np.arange(len(values))[:, None] + np.arange(self.k)) % len(values)

    # (v, c): weight of the place of value v among the k consecutive classes of move c.
    def effects(self, values: Values, counts: Ints) -> Floats:
        place = (values[:, None] - np.arange(len(values))) % len(values)
        weights = np.where(place < self.k, self.weights[np.minimum(place, self.k - 1)], 0.0)
        return np.asarray(weights / counts.sum())

    def best(self, belief: Floats, values: Values) -> Values:
        # More labels than classes are filled up by repeating the best ones.
        return np.argsort(-belief, axis=1)[:, np.arange(self.k) % belief.shape[1]]


@dataclass(frozen=True)
class _Brier(OfProbabilities):
    """1 minus half of the squared distance between probabilities and truth, averaged."""

    name = "brier"
    worst = 1.0

    def score(self, submitted: Values, truth: Values) -> float:
        if submitted.ndim == 1:
            return float(1 - ((submitted - truth) ** 2).mean())
        hidden = np.arange(submitted.shape[1]) == truth[:, None]
        return float(1 - ((submitted - hidden) ** 2).sum(axis=1).mean() / 2)

    def chance(self, truth: Values) -> float:
        return float(1 - (1 - (class_frequencies(truth) ** 2).sum()) / 2)


@dataclass(frozen=True)
class _LogLoss(OfProbabilities):
    """1 minus the mean log-loss in units of `worst`, the most that an example can lose."""

    worst: float = field()  # required here: the default of other metrics is none
    """Largest loss in nats, above 0: 34.5 if probabilities are kept 1e-15 from 0, as is usual."""
    name: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.worst <= _MOST:
            raise InputError(
                f"logloss needs the most that an example loses, in (0, {_MOST:g}], got "
                f"{self.worst:g}: name the metric as logloss:15"
            )
        object.__setattr__(self, "name", f"logloss:{self.worst:g}")

    def score(self, submitted: Values, truth: Values) -> float:
        # A vector holds the probability of class 1 alone.
        flat = submitted.ndim == 1
        both = np.stack([1 - submitted, submitted], axis=1) if flat else submitted
        # exp(-worst) is the probability that loses `worst`: no logarithm of 0.
        told = np.maximum(both[np.arange(len(truth)), truth], math.exp(-self.worst))
        return max(0.0, float(1 + np.log(told).mean() / self.worst))

    def chance(self, truth: Values) -> float:
        """Return the score of the best constant: frequencies of all or of the likeliest classes."""
        return float(1 - self._lost(np.sort(class_frequencies(truth))[::-1]).min() / self.worst)

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


@dataclass(frozen=True)
class _F1(OfTwo):
    """2 TP / (2 TP + FP + FN) of class 1."""

    name = "f1"
    like_share = False

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
class _AUC(OfTwo):
    """The share of pairs of a positive and a negative in the right order; ties count half."""

    name = "auc"
    form = "f"

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
        return float(class_sizes(truth).min())

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
        few, many = class_sizes(truth)
        return float(3 * few * many / (len(truth) + 1))

    def chance(self, truth: Values) -> float:
        return 0.5

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        # Only the order of scores counts.
        return np.unique(submitted, return_inverse=True)[1].reshape(submitted.shape)

    def moves(self, values: Values, counts: Ints) -> Values:
        """Return 0 and 1, in which an AUC is linear: 1/2 + (TPR - FPR)/2."""
        return np.array([0.0, 1.0])

    def effects(self, values: Values, counts: Ints) -> Floats:
        # Each positive carries 1/(2 a) for a change from 0 to 1, each negative minus 1/(2 b).
        return np.array([[0.0, -0.5], [0.0, 0.5]]) / counts[:, None]


@dataclass(frozen=True)
class _AbsoluteError(OfNumbers):
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
class _EnsembleError(_AbsoluteError):
    """1 minus the mean continuous ranked probability score (CRPS), in units of the range.

    A submission has the members of an ensemble per example, in any order, each with the same
    weight: quantiles are those of the levels (j - 1/2)/k. With X and X' two members, the CRPS is
    the mean of |X - y| minus half the mean of |X - X'|; of a single number it is its error.
    """

    kind: ClassVar[str] = "crps"
    columns = _MEMBERS

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        shape = np.shape(values)
        if len(shape) < 2:
            return super().submission(values, n, n_classes)
        if len(shape) > 2 or not 1 <= shape[1] <= _MEMBERS:
            raise InputError(
                f"an ensemble must have 1 to {_MEMBERS} members per example, got shape {shape}"
            )
        return checked_floats(values, (n, shape[1]), self.low, self.high)

    def score(self, submitted: Values, truth: Values) -> float:
        if submitted.ndim == 1:
            return super().score(submitted, truth)
        ordered = np.sort(submitted.astype(np.float64), axis=1)
        error = np.abs(ordered - truth[:, None]).mean() - _half_gaps(ordered).mean()
        return float(1 - error / (self.high - self.low))

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        cells = np.sort(super().equivalent(submitted, truth).reshape(len(truth), -1), axis=1)
        # Quantiles: members that are all repeated equally often are the same ensemble.
        levels = (np.arange(_MEMBERS) + 0.5) / _MEMBERS
        # An ensemble steps at multiples of 1/k, which a level may be: up, whatever rounding says.
        places = np.floor(levels * cells.shape[1] + 1e-9).astype(int)
        return np.asarray(cells[:, places])

    def chance(self, truth: Values) -> float:
        """Return the score of all hidden values as one ensemble, however many they are."""
        return float(1 - _half_gaps(np.sort(truth.astype(np.float64))) / (self.high - self.low))

    def best(self, belief: Floats, values: Values) -> Values:
        """Return the quantiles of the belief."""
        below = np.cumsum(belief, axis=1)
        levels = (np.arange(_MEMBERS) + 0.5) / _MEMBERS
        return np.stack([values[(below >= q - _ROUNDING).argmax(axis=1)] for q in levels], axis=1)


@dataclass(frozen=True)
class _SquaredError(OfNumbers):
    """1 minus the mean squared error, in units of the squared range."""

    kind: ClassVar[str] = "mse"
    worst_power: ClassVar[int] = 2


@dataclass(frozen=True)
class _RootSquaredError(OfNumbers):
    """1 minus the root of the mean squared error, in units of the range."""

    kind: ClassVar[str] = "rmse"
    like_share = False

    def score(self, submitted: Values, truth: Values) -> float:
        return float(1 - math.sqrt(self.errors(submitted, truth).mean()))

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
    metric.name: metric
    for metric in (
        ACCURACY,
        _BalancedAccuracy(),
        _Brier(),
        _F1(),
        MACRO_F1,
        QUADRATIC_KAPPA,
        _AUC(),
        R_SQUARED,
    )
}
_RANKED: dict[str, Callable[[int], Metric]] = {
    kind: partial(_RankedGuesses, kind) for kind in _WEIGHTS
}
_RANGED: dict[str, Callable[[float, float], Metric]] = {
    kind.kind: kind for kind in (_AbsoluteError, _SquaredError, _RootSquaredError, _EnsembleError)
}
_KINDS = frozenset((*_PLAIN, *_RANKED, *_RANGED, "logloss"))
_RECORDED = re.compile(r"[^#]+:[^#:]+#(labels|probabilities|numbers|scores)-[0-9a-f]+")


def chosen_metric(chosen: str | Metric) -> Metric:
    """Return a metric that the user gives, or names: a built-in one, FILE.py:NAME or MODULE:NAME.

    The object of that name is an `OwnMetric`, or a function of hidden and submitted labels with
    values in [0, 1]. The name of the metric ends with its form and a digest of the code.
    """
    if not isinstance(chosen, str):
        return chosen
    if chosen.split(":")[0] in _KINDS or not names_code(chosen):
        return metric_named(chosen)
    found = import_object(chosen)
    own = found if isinstance(found, OwnMetric) else OwnMetric(found) if callable(found) else None
    if own is None:
        raise InputError(f"metric {chosen} must be a function or an OwnMetric, got {found!r:.60}")
    place, _, attribute = chosen.rpartition(":")
    file = Path(place).name if place.endswith(".py") else place
    return replace(own, name=f"{file}:{attribute}#{own.submitted}-{code_digest(chosen)}")


def metric_named(text: str) -> Metric:
    """Return the metric that `text` names, such as ``auc``, ``top:5`` or ``rmse:0:100``.

    No code of the user is run: the recorded name of an `OwnMetric` gives one that cannot score.

    Raises
    ------
    InputError
        If the metric does not exist, or its numbers are out of range.

    Examples
    --------
    >>> from privacygauge.leaderboards.metrics import metric_named
    >>> metric_named("mae:0:10").score(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    0.9
    """
    if (record := _RECORDED.fullmatch(text)) is not None:
        return OwnMetric(None, submitted=cast("Submitted", record[1]), name=text)
    word, *numbers = text.replace("@", ":").split(":")
    try:
        if word in _PLAIN and not numbers:
            return _PLAIN[word]
        if word in _RANKED and len(numbers) == 1:
            return _RANKED[word](int(numbers[0]))
        if word == "logloss" and len(numbers) == 1:
            return _LogLoss(float(numbers[0]))
        low, high = numbers
        return _RANGED[word](float(low), float(high))
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"metric must be one of {', '.join(METRICS)}, or FILE.py:NAME, got {text!r}"
        ) from error


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
    exponent = (nats + math.log(1 / checks.level(delta, "delta"))) / 2
    most = 1 - metric.chance(truth)
    tail = metric.tail(truth)
    return min(math.sqrt(exponent / tail), most) if tail > 0 else most


def _half_gaps(ordered: Floats) -> Floats:
    """Return half of the mean distance of two values of each ascending row, (...,)."""
    k = ordered.shape[-1]
    return np.asarray(ordered @ (2 * np.arange(k) + 1.0 - k) / k**2)
