"""A metric of one's own: a function of hidden and submitted values, with its range.

Nothing is known of its structure, so no bound on luck or on attacks holds, unless it is declared a
mean over the examples: then they are those of a mean of numbers in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.checks import Floats, Ints, short_list
from privacygauge.errors import InputError
from privacygauge.leaderboards.metric_forms import (
    Metric,
    OfProbabilities,
    Values,
    class_frequencies,
)
from privacygauge.leaderboards.permuted_metrics import R_SQUARED

Submitted = Literal["labels", "probabilities", "numbers", "scores"]
"""Form of a submission: a label, a probability per class, a number or a score per example."""
_CHECKED = 50
"""Number of examples on which a mean is compared with the examples' values."""
_TOLERANCE = 1e-9
_CONSTANTS = 129
"""Number of constant answers tried between the smallest and the largest hidden number."""
_PAIRS = 400
"""Most pairs of a hidden value and a move whose effects are told apart."""
_LEVELS = 21
"""Number of different scores in a random submission."""
_AT_MOST = 2_000
"""Most examples of a made-up test set."""


class _OfScores(Metric):
    """A score per example, of which only the order counts."""

    form = "f"


_FORMS: Mapping[str, Metric] = {
    "labels": Metric(),
    "probabilities": OfProbabilities(),
    "numbers": R_SQUARED,
    "scores": _OfScores(),
}
"""Metrics of each form of submissions, for its checks."""


@dataclass(frozen=True)
class OwnMetric(Metric):
    """A metric from a function of one's own.

    Examples
    --------
    >>> from sklearn.metrics import matthews_corrcoef
    >>> mcc = OwnMetric(matthews_corrcoef)
    >>> mcc.score(np.array([0, 1, 1]), np.array([0, 1, 1]))
    1.0
    """

    function: Callable[[Values, Values], float] | None
    """Function of hidden and submitted values, in the order of scikit-learn's metrics, that returns
    the same number for the same values; None if the code is named but was not imported."""
    zero: float = 0.0
    """Value that scores 0, as do all worse ones; for an error the largest one."""
    one: float = 1.0
    """Value that scores 1, as do all better ones; for an error 0."""
    submitted: Submitted = "labels"
    """Form of submissions."""
    mean: bool = False
    """Whether it is a mean over the examples of values between `zero` and `one`; then the bounds of
    means hold. Compared with the values of single examples."""
    name: str = ""
    """Name; by default that of the function."""
    form: str = field(init=False, repr=False)
    """``i`` for labels, else ``f``."""
    numbers: bool = field(init=False, repr=False)
    """True if hidden values are numbers."""
    columns: int | None = field(init=False, repr=False)
    """Largest number of values per example; None for the number of classes."""
    like_share: bool = field(init=False, repr=False)
    """True of a mean."""
    worst: float | None = field(init=False, repr=False)
    """`zero` if 0 scores 1."""
    clipped = True

    def __post_init__(self) -> None:
        if self.submitted not in _FORMS:
            raise InputError(
                f"submitted must be one of {short_list(list(_FORMS))}, got {self.submitted!r}"
            )
        if not -math.inf < self.zero != self.one or not math.isfinite(self.zero + self.one):
            raise InputError(
                f"a metric of one's own needs two different numbers that score 0 and 1, got "
                f"{self.zero:g} and {self.one:g}"
            )
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", "own"))
        form = _FORMS[self.submitted]
        error = self.zero > self.one == 0
        values = {
            "form": form.form,
            "numbers": form.numbers,
            "columns": form.columns,
            "like_share": self.mean,
            "worst": self.zero if error else None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        """Return the checked hidden values and the number of classes; compare a mean's parts."""
        found, m = _FORMS[self.submitted].truth(values, n_classes)
        if self.mean and self.function is not None:
            rng = np.random.default_rng(0)
            some = rng.permutation(found)[:_CHECKED]
            sent = self._constants(some, m)[-1]
            if self.submitted != "probabilities":
                sent = rng.permutation(some).astype(sent.dtype)
            low, high = sorted((self.zero, self.one))
            try:
                each = [self._value(sent[i : i + 1], some[i : i + 1]) for i in range(len(some))]
                off = abs(float(np.mean(each)) - self._value(sent, some))
            except InputError:  # it has no value for an example alone
                off = math.inf
            if off > _TOLERANCE * (high - low) or min(each) < low or max(each) > high:
                raise InputError(
                    f"{self.name} is no mean over the examples of values from {low:g} to {high:g}: "
                    "declare it without mean"
                )
        return found, m

    def submission(self, values: ArrayLike, n: int, n_classes: int) -> Values:
        """Return a checked submission of the form."""
        return _FORMS[self.submitted].submission(values, n, n_classes)

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        """Return the values that the form compares, as nobody knows which the function ignores."""
        return _FORMS[self.submitted].equivalent(submitted, truth)

    def score(self, submitted: Values, truth: Values) -> float:
        """Return the function's value on the scale from `zero` to `one`, clipped to [0, 1]."""
        share = (self._value(submitted, truth) - self.zero) / (self.one - self.zero)
        return min(1.0, max(0.0, share))

    def points(self, truth: Values) -> float:
        """Return n for a mean, else 1: no score in [0, 1] has a larger variance than 1/4."""
        return float(len(truth)) if self.mean else 1.0

    def tail(self, truth: Values) -> float:
        """Return n for a mean of labels or numbers, else 0: no bound is known.

        A function may look at one example alone. Of probabilities and scores, the best constant,
        from which gains count, is not found by trying.
        """
        known = self.mean and self.submitted in ("labels", "numbers")
        return float(len(truth)) if known else 0.0

    def chance(self, truth: Values) -> float:
        """Return the highest score of the constant submissions that are tried.

        Labels: every class that occurs. Numbers: the mean, the median and 129 values from the
        smallest to the largest. Probabilities: the frequencies, and certainty of a class. Scores:
        one for all.
        """
        m = 0 if self.numbers else int(truth.max()) + 1
        constants = self._constants(truth, m)
        scores = [self.score(sent, truth) for sent in constants]
        if self.score(constants[0], truth) != scores[0]:
            raise InputError(f"{self.name} must return the same number for the same submission")
        return max(scores)

    def moves(self, values: Values, counts: Ints) -> Values:
        """Return classes, half certainty of each, 21 scores, or the mean and a deviation."""
        if self.submitted == "labels":
            return np.arange(len(values))
        if self.submitted == "probabilities":
            # A log-loss of certainties is as bad as can be.
            return np.eye(len(values)) / 2 + 1 / (2 * len(values))
        if self.submitted == "scores":
            # With few values a rate at a threshold may be 0 or 1, whatever the order.
            return np.linspace(0, 1, _LEVELS)
        mean = counts @ values / counts.sum()
        deviation = math.sqrt(counts @ (values - mean) ** 2 / counts.sum())
        return np.asarray(mean + np.array([-1, 1]) * deviation)

    def effects(self, values: Values, counts: Ints) -> Floats:
        """Return the least squares of scores on the numbers of pairs of a hidden value and a move.

        Of random submissions to a made-up test set of the same frequencies. With many classes, only
        whether a label is right is told apart.
        """
        rng = np.random.default_rng(0)
        shrink = max(1.0, counts.sum() / _AT_MOST)
        hidden = np.repeat(np.arange(len(values)), np.ceil(counts / shrink).astype(np.int64))
        moves = self.moves(values, counts)
        shape = (len(values), len(moves))
        few = len(values) * len(moves) <= _PAIRS
        pairs = np.arange(math.prod(shape)) if few else np.eye(*shape, dtype=np.int64).ravel()
        columns = int(pairs.max()) + 1
        drawn = 4 * columns + 100
        occur = np.empty((drawn, columns))
        scores = np.empty(drawn)
        for row in range(drawn):
            codes = rng.integers(0, len(moves), len(hidden))
            of = pairs[hidden * len(moves) + codes]
            occur[row] = np.bincount(of, minlength=columns)
            scores[row] = self.score(moves[codes], values[hidden])
        found = np.linalg.lstsq(occur - occur.mean(axis=0), scores - scores.mean(), rcond=1e-9)[0]
        return np.asarray(found[pairs].reshape(shape) * len(hidden) / counts.sum())

    def best(self, belief: Floats, values: Values) -> Values:
        """Return a guess for most metrics: the likeliest label, the belief, or the mean."""
        return _FORMS[self.submitted].best(belief, values)

    def _value(self, submitted: Values, truth: Values) -> float:
        if self.function is None:
            raise InputError(
                f"metric {self.name} is code of your own: name it again with --metric, for a "
                "database or a log alone has no code run"
            )
        try:
            value = float(self.function(truth.copy(), submitted.copy()))
        except Exception as error:  # it may raise anything, and quote hidden values
            raise InputError(f"{self.name} cannot score this submission") from error
        if not math.isfinite(value):
            raise InputError(f"{self.name} has no finite value for this submission")
        return value

    def _constants(self, truth: Values, m: int) -> list[Values]:
        n = len(truth)
        if self.submitted == "labels":
            return [np.full(n, label) for label in np.unique(truth)]
        if self.submitted == "scores":
            return [np.zeros(n)]
        if self.submitted == "numbers":
            tried = np.linspace(truth.min(), truth.max(), _CONSTANTS)
            return [np.full(n, x) for x in (truth.mean(), np.median(truth), *tried)]
        shares = np.zeros(m)
        shares[np.unique(truth)] = class_frequencies(truth)
        return [np.tile(row, (n, 1)) for row in (*np.eye(m), shares)]
