"""scikit-learn estimators that have a learner here, so that no record needs a refit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp import unsure
from privacygauge.classifier.dtp.discriminant import LinearDiscriminant
from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.dtp.multinomial import MultinomialNaiveBayes
from privacygauge.classifier.dtp.naive_bayes import NaiveBayes
from privacygauge.classifier.dtp.nearest import NearestNeighbours, are_tie_free
from privacygauge.classifier.dtp.quadratic import QuadraticDiscriminant
from privacygauge.core.checks import Bools, Floats, Ints

TRIAL = 2000
"""Largest number of records in the comparison."""

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
    """(n,) Records that only a refit can answer for: without them the estimator may refuse the
    others, its own order of ties may decide, or too few digits are left."""
    settled: Callable[[NDArray[Any]], Bools] = _all
    """Returns the mask of queries (q, d) whose answer no order of ties can change, (q,)."""


_Found = Iterator[Shortcut]


def find_shortcut(model: object, x: NDArray[Any], y: Ints) -> Shortcut | None:
    """Return the shortcut to a scikit-learn estimator's refits; None if there is none.

    Only if both, trained on all records, give up to 2,000 of them, spread evenly, the same
    probabilities, within 1e-6. An estimator with a setting that the learner lacks has to be
    retrained for each record; so has one whose solver stops before the optimum, as that of logistic
    regression.
    """
    candidates = _CANDIDATES.get(_kind(model))
    x = np.asarray(x)
    if candidates is None or x.ndim != 2 or x.dtype.kind not in "biuf" or not np.isfinite(x).all():
        return None
    numbers = x.astype(np.float64)
    alone = unsure.lone_records(x, y)
    with warnings.catch_warnings():
        # Warnings of the trial will come again when the estimator is used.
        warnings.simplefilter("ignore")
        for shortcut in candidates(vars(model), numbers, y):
            if _agree(model, shortcut, x, y):
                return replace(shortcut, unsure=shortcut.unsure | alone)
    return None


def before_the_optimum(model: object) -> list[str]:
    """Return a note that scikit-learn's logistic regression does not reach its optimum."""
    if _kind(model) != "sklearn.linear_model._logistic.LogisticRegression":
        return []
    return [
        "each model is what scikit-learn's solver returns, which may stop short of the optimum; "
        "pg.learners.Logistic(l2) gives DTP at the optimum, with l2 = 1 / C, without refits"
    ]


def _kind(model: object) -> str:
    return f"{type(model).__module__}.{type(model).__qualname__}"


def _is(parameters: _Parameters, expected: _Parameters) -> bool:
    """Return whether all these parameters, if the version has them, are as expected."""
    return all(parameters.get(name, value) == value for name, value in expected.items())


_OWN_SHARES = {"fit_prior": True, "class_prior": None}


def _categorical(given: _Parameters, x: NDArray[Any], y: Ints) -> _Found:
    if _is(given, _OWN_SHARES) and _are_counts(x):
        least = 1 if given["min_categories"] is None else np.asarray(given["min_categories"])
        top = x.max(axis=0)
        sizes = np.maximum(top.astype(np.int64) + 1, least).tolist()
        # Without the only record of the last category there is one category fewer.
        last = (x == top) & (top >= least)
        refitted = (last & (last.sum(axis=0) == 1)).any(axis=1)
        yield Shortcut(NaiveBayes(tuple(sizes), given["alpha"]), refitted)


def _bernoulli(given: _Parameters, x: NDArray[Any], y: Ints) -> _Found:
    if _is(given, _OWN_SHARES) and _are_counts(x) and x.max() <= 1:
        yield Shortcut(NaiveBayes((2,) * x.shape[1], given["alpha"]), ~_all(x))


def _multinomial(given: _Parameters, x: NDArray[Any], y: Ints) -> _Found:
    if _is(given, _OWN_SHARES) and np.ndim(given["alpha"]) == 0 and x.min() >= 0:
        alpha = float(given["alpha"])
        yield Shortcut(MultinomialNaiveBayes(alpha), unsure.of_multinomial(x, y, alpha))


def _gaussian(given: _Parameters, x: NDArray[Any], y: Ints) -> _Found:
    if _is(given, {"priors": None, "var_smoothing": 1e-9}):
        yield Shortcut(NaiveBayes((None,) * x.shape[1]), unsure.of_gaussian(x, y))


def _linear_discriminant(given: _Parameters, x: NDArray[Any], y: Ints) -> _Found:
    usual = {"solver": "svd", "priors": None, "shrinkage": None, "tol": 1e-4}
    if _is(given, {**usual, "covariance_estimator": None}):
        refitted = unsure.of_linear(x, y, given["tol"])
        # The divisor changed in version 1.9; the trial shows which one applies.
        for divisor in ("records", "degrees of freedom"):
            yield Shortcut(LinearDiscriminant(divisor), refitted)


def _quadratic_discriminant(given: _Parameters, x: NDArray[Any], y: Ints) -> _Found:
    usual = {"solver": "svd", "priors": None, "shrinkage": None, "covariance_estimator": None}
    if _is(given, usual):
        refitted = unsure.of_quadratic(x, y, given["reg_param"], given["tol"])
        for divisor in ("records", "degrees of freedom"):
            yield Shortcut(QuadraticDiscriminant(given["reg_param"], divisor), refitted)


def _neighbours(given: _Parameters, x: NDArray[Any], y: Ints) -> _Found:
    euclidean = given["metric"] == "euclidean" or _is(given, {"metric": "minkowski", "p": 2})
    k = given["n_neighbors"]
    if euclidean and len(x) > k and _is(given, {"weights": "uniform", "metric_params": None}):
        clear = partial(_clear, x, y, k)
        yield Shortcut(NearestNeighbours(k), ~clear(x), clear)


def _clear(x: Floats, y: Ints, k: int, queries: NDArray[Any]) -> Bools:
    return are_tie_free(x, y, np.asarray(queries, np.float64), k)


_CANDIDATES: Mapping[str, Callable[[_Parameters, NDArray[Any], Ints], _Found]] = {
    "sklearn.naive_bayes.CategoricalNB": _categorical,
    "sklearn.naive_bayes.BernoulliNB": _bernoulli,
    "sklearn.naive_bayes.MultinomialNB": _multinomial,
    "sklearn.naive_bayes.GaussianNB": _gaussian,
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": _linear_discriminant,
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": _quadratic_discriminant,
    "sklearn.neighbors._classification.KNeighborsClassifier": _neighbours,
}


def _are_counts(x: NDArray[Any]) -> bool:
    return bool((x >= 0).all() and (x == np.trunc(x)).all())


def _agree(model: object, shortcut: Shortcut, x: NDArray[Any], y: Ints) -> bool:
    """Return whether both give the same probabilities after training on all records."""
    from sklearn.base import clone

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
