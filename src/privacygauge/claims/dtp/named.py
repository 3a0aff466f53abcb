"""Learners by their names on the command line, and in place of scikit-learn estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.claims.dtp.counts import Normals
from privacygauge.claims.dtp.discriminant import (
    Divisor,
    LinearDiscriminant,
    QuadraticDiscriminant,
)
from privacygauge.claims.dtp.least_squares import LeastSquares
from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.claims.dtp.naive_bayes import (
    MultinomialNaiveBayes,
    NaiveBayes,
)
from privacygauge.claims.dtp.nearest import NearestNeighbours, are_tie_free
from privacygauge.classifiers.learner import Learner, Standardised
from privacygauge.core.checks import Bools, Floats, Ints

QDA_SHRINKAGE = 0.01
"""Shrinkage of covariances towards the identity: one-hot columns have no inverse without it."""


MANY = 50
"""Categories above which an attribute is named, if they exceed a quarter of the records too."""


def learner_on_numbers(name: str, l2: float, neighbours: int) -> Learner:
    """Return the learner of this name for numbers, which it scales by the training set."""
    known: dict[str, Callable[[], Learner]] = {
        "logistic": lambda: Logistic(l2, standardised=True),
        "lda": lambda: Standardised(LinearDiscriminant(), is_invariant=True),
        "qda": lambda: Standardised(QuadraticDiscriminant(QDA_SHRINKAGE)),
        "least-squares": lambda: Standardised(LeastSquares(l2)),
        "nearest": lambda: Standardised(NearestNeighbours(neighbours)),
    }
    return known[name]()


FAR = 1e8
"""Size of a log density at which its rounding error reaches 1e-8."""

FINE = 1e6
"""Largest ratio of a number to its deviation: it leaves ten digits to the deviation."""

DOMINANT = 1e-4
"""Share of a sum of squares below which it is dominated by the record that was left out."""


def inexact_gaussian_records(x: Floats, y: Ints) -> Bools:
    """Return the records for which densities of Gaussian naive Bayes lose digits, (n,)."""
    rows = np.arange(len(y))
    normals = Normals.of(x, y, int(y.max()) + 1)
    floors = normals.floors_without(rows)[:, None]
    present = normals.n > 0
    # Smallest variance of each number in any class; an empty class has none.
    others = (normals.squares[present] / normals.n[present, None]).min(axis=0)
    least = np.sqrt(np.minimum(normals.without(rows)[1], others) + floors)
    densities = normals.log_density(x), normals.log_density_without(rows, x)
    # Digits are lost only if every class is far: one that is near dominates the others.
    far = np.min([found.max(axis=1) for found in densities], axis=0) < -FAR
    return np.asarray(far | (np.abs(x).max(axis=0) > FINE * least).any(axis=1), np.bool_)


def near_singular_records(x: Floats, y: Ints, reg: float, tol: float) -> Bools:
    """Return the records without which a class's covariance may be rejected as singular, (n,).

    A record takes at most its leverage from the smallest variance of its class.
    """
    unsure = np.zeros(len(y), np.bool_)
    size = np.abs(x).max()
    nearest = np.full(len(y), np.inf)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        n = len(own)
        # Too few records for a covariance of full rank once one is left out.
        if n - 1 <= x.shape[1]:
            unsure[own] = True
            continue
        mean = x[own].mean(axis=0)
        u, s, vt = np.linalg.svd(x[own] - mean, full_matrices=False)
        kept = np.ones(len(y))
        # 1 - h: the share of the smallest variance that certainly remains without the record.
        kept[own] = np.maximum(1 - n / (n - 1) * (u**2).sum(axis=1), 0)
        least = (1 - reg) * s.min() ** 2 * kept / n + reg
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = (1 - reg) * s**2 / n + reg
            far = (((x - mean) @ vt.T) ** 2 / variance).sum(axis=1) / kept
        nearest = np.fmin(nearest, far)
        unsure |= (least <= 2 * tol) | (size > FINE * np.sqrt(least))
    return unsure | (nearest > FAR)


TRIAL = 2000
"""Largest number of records on which a learner and an estimator are compared."""

AGREED = 1e-6
"""Largest difference between probabilities or log ratios that agree."""

_Parameters = Mapping[str, Any]


def _all(queries: NDArray[Any]) -> Bools:
    return np.ones(len(queries), np.bool_)


@dataclass(frozen=True, eq=False)
class Shortcut:
    """A learner that leaves records out without training, as an estimator's refits would."""

    learner: Learner
    """The learner equivalent to the estimator."""
    unsure: Bools
    """(n,) Records that need a refit: without them the estimator may refuse the others, its own
    order of ties may decide, or too few digits are left."""
    settled: Callable[[NDArray[Any]], Bools] = _all
    """Returns the mask of queries (q, d) whose answer no order of ties can change, (q,)."""


def find_shortcut(model: object, x: NDArray[Any], y: Ints) -> Shortcut | None:
    """Return the shortcut to a scikit-learn estimator's refits; None if there is none.

    Both are trained on all records and must agree within 1e-6 on the probabilities of up to 2,000
    of them, spread evenly. An estimator with a setting that the learner lacks has to be retrained
    for each record, as does one that stops before the optimum, such as logistic regression.
    """
    x = np.asarray(x)
    if x.ndim != 2 or x.dtype.kind not in "biuf" or not np.isfinite(x).all():
        return None
    numbers = x.astype(np.float64)
    with warnings.catch_warnings():
        # Warnings of the trial will come again when the estimator is used.
        warnings.simplefilter("ignore")
        for shortcut in _candidates(model, numbers, y):
            if _agree(model, shortcut, x, y):
                # Without a class's only record, the estimator has one class fewer.
                alone = np.bincount(y)[y] == 1
                for row in (0, 1):  # all others equal one of these
                    differs = (x != x[row]).any(axis=1)
                    if np.count_nonzero(differs) <= 1:
                        alone = alone | differs
                return replace(shortcut, unsure=shortcut.unsure | np.asarray(alone, np.bool_))
    return None


def before_the_optimum(model: object) -> list[str]:
    """Return a note that scikit-learn's logistic regression does not reach its optimum."""
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    if kind != "sklearn.linear_model._logistic.LogisticRegression":
        return []
    return [
        "each model is what scikit-learn's solver returns, which may stop short of the optimum; "
        "pg.learners.Logistic(l2) gives DTP at the optimum, with l2 = 1 / C, without refits"
    ]


def _is(parameters: _Parameters, expected: _Parameters) -> bool:
    """Return whether the parameters are as expected, apart from any that this version lacks."""
    return all(parameters.get(name, value) == value for name, value in expected.items())


_OWN_SHARES = {"fit_prior": True, "class_prior": None}
_SVD = {"solver": "svd", "priors": None, "covariance_estimator": None}
_DIVISORS: tuple[Divisor, ...] = ("records", "degrees of freedom")


def _candidates(model: object, x: Floats, y: Ints) -> Iterator[Shortcut]:
    """Yield the learners that a scikit-learn estimator with its settings may be equivalent to."""
    given: _Parameters = getattr(model, "__dict__", {})  # of any object, None included
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    are_counts = bool((x >= 0).all() and (x == np.trunc(x)).all())
    if kind == "sklearn.naive_bayes.CategoricalNB":
        if _is(given, _OWN_SHARES) and are_counts:
            least = 1 if given["min_categories"] is None else np.asarray(given["min_categories"])
            top = x.max(axis=0)
            sizes = np.maximum(top.astype(np.int64) + 1, least).tolist()
            # Without the only record of the last category there is one category fewer.
            last = (x == top) & (top >= least)
            refitted = (last & (last.sum(axis=0) == 1)).any(axis=1)
            yield Shortcut(NaiveBayes(tuple(sizes), given["alpha"]), refitted)
    elif kind == "sklearn.naive_bayes.BernoulliNB":
        if _is(given, _OWN_SHARES) and are_counts and x.max() <= 1:
            yield Shortcut(
                NaiveBayes((2,) * x.shape[1], given["alpha"]), np.zeros(len(x), np.bool_)
            )
    elif kind == "sklearn.naive_bayes.MultinomialNB":
        if _is(given, _OWN_SHARES) and np.ndim(given["alpha"]) == 0 and x.min() >= 0:
            alpha = float(given["alpha"])
            sums = np.zeros((int(y.max()) + 1, x.shape[1]))
            np.add.at(sums, y, x)
            # (n, d) Counts of each record's class without it: few exact digits may be left.
            rest = np.maximum(sums[y] - x, 0.0) + alpha
            total = x.sum(axis=1)
            heavy = (x**2 > FAR * rest).any(axis=1) | (total**2 > FAR * rest.sum(axis=1))
            refitted = np.asarray(heavy | (total > FINE), np.bool_)
            yield Shortcut(MultinomialNaiveBayes(alpha), refitted)
    elif kind == "sklearn.naive_bayes.GaussianNB":
        if _is(given, {"priors": None, "var_smoothing": 1e-9}):
            yield Shortcut(NaiveBayes((None,) * x.shape[1]), inexact_gaussian_records(x, y))
    elif kind == "sklearn.discriminant_analysis.LinearDiscriminantAnalysis":
        if _is(given, {**_SVD, "shrinkage": None, "tol": 1e-4}):
            tol = given["tol"]
            counts = np.bincount(y)
            means = np.zeros((len(counts), x.shape[1]))
            np.add.at(means, y, x)
            means /= np.maximum(counts, 1)[:, None]
            v = x - means[y]
            # Without the record, its class's scatter loses ratio v^2, as in
            # `FittedLinearDiscriminant`.
            ratio = counts[y] / np.maximum(counts[y] - 1, 1)
            squares = (v**2).sum(axis=0)
            size = np.abs(x).max(axis=0)
            constant = np.all(
                [np.ptp(x[y == label], axis=0) == 0 for label in np.unique(y)], axis=0
            )
            whole = (x == np.round(x)).all(axis=0) & (size < 2.0**53 / len(x))
            # A rounded mean makes a constant attribute vary; whole numbers have exact means.
            if (constant & ~whole).any() or constant.all() or len(y) <= len(counts) + 1:
                refitted = np.ones(len(y), np.bool_)
            else:
                left = squares - ratio[:, None] * v**2
                lost = (left < DOMINANT * squares) | (
                    np.sqrt(np.maximum(left, 0) / len(y)) * FINE < size
                )
                unsure = lost[:, ~constant].any(axis=1)
                # scikit-learn's own steps from here: standardise, whiten, then the directions
                # between classes.
                spread = np.where(constant, 1.0, np.sqrt(squares / len(y)))
                _, s, vt = np.linalg.svd(v / spread / np.sqrt(len(y)), full_matrices=False)
                kept = s > tol
                between = np.sqrt(counts)[:, None] * (means - x.mean(axis=0)) / spread
                apart = np.linalg.svd(between @ vt[kept].T / s[kept], compute_uv=False)
                # A direction this close to the tolerance may be dropped once any record is left
                # out.
                near = (apart > 1e-9 * apart.max()) & (apart < 10 * tol * apart.max())
                # Largest whitened coordinate of each record: scores grow with it, and so does
                # their rounding.
                away = np.abs((x - x.mean(axis=0)) / spread @ vt[kept].T / s[kept]).max(axis=1)
                far = away * apart.max() > FAR
                refitted = np.asarray(unsure | near.any() | far, np.bool_)
            # The divisor changed in version 1.9; the trial shows which one applies.
            for divisor in _DIVISORS:
                yield Shortcut(LinearDiscriminant(divisor), refitted)
    elif kind == "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis":
        if _is(given, {**_SVD, "shrinkage": None}):
            refitted = near_singular_records(x, y, given["reg_param"], given["tol"])
            for divisor in _DIVISORS:
                yield Shortcut(QuadraticDiscriminant(given["reg_param"], divisor), refitted)
    elif kind == "sklearn.neighbors._classification.KNeighborsClassifier":
        euclidean = given["metric"] == "euclidean" or _is(given, {"metric": "minkowski", "p": 2})
        k = given["n_neighbors"]
        if euclidean and len(x) > k and _is(given, {"weights": "uniform", "metric_params": None}):
            clear = partial(are_tie_free, x, y, k=k)
            yield Shortcut(NearestNeighbours(k), ~clear(x), clear)


def _agree(model: object, shortcut: Shortcut, x: NDArray[Any], y: Ints) -> bool:
    """Return whether both give the same probabilities after training on all records."""
    from sklearn.base import clone

    # A few records, evenly over the file, are enough to see another algorithm.
    asked = x[np.unique(np.linspace(0, len(x) - 1, TRIAL).astype(np.int64))]
    asked = asked[shortcut.settled(asked)]
    if not len(asked):
        return False
    n_classes = int(y.max()) + 1
    try:
        theirs = clone(model).fit(x, y)
        expected = np.zeros((len(asked), n_classes))
        expected[:, theirs.classes_] = theirs.predict_proba(asked)
        fitted = shortcut.learner.fit(x, y, n_classes=n_classes)
        found = np.exp(fitted.log_p(asked))
    except (ValueError, ArithmeticError, IndexError):
        return False  # one of them refuses such records
    return bool((np.abs(found - expected) <= AGREED).all())


SPOTS = 10
"""Number of riskiest records to refit, and of records drawn from the others."""


@dataclass(frozen=True)
class RefitAgreement:
    """Number of refits that agree with the shortcut."""

    n: int
    """Records that were refitted for the comparison."""
    agree: int
    """Refitted records with log ratios and probabilities within 1e-6 of the shortcut's."""
    largest: float
    """Largest difference of a log ratio or a probability; infinite where one side has none."""

    @property
    def holds(self) -> bool:
        """Whether every refit agrees."""
        return self.agree == self.n

    def __str__(self) -> str:
        """Return the finding in words."""
        largest = f"{self.largest:.1g}" if np.isfinite(self.largest) else "infinite"
        return f"{self.agree} of {self.n} refits agree (largest difference {largest})"
