"""Which of scikit-learn's estimators have a learner here, so that no record needs a refit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.discriminant import LinearDiscriminant
from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.dtp.multinomial import MultinomialNaiveBayes
from privacygauge.classifier.dtp.naive_bayes import NaiveBayes
from privacygauge.classifier.dtp.nearest import NearestNeighbours
from privacygauge.classifier.dtp.quadratic import QuadraticDiscriminant
from privacygauge.core.checks import Ints

TRIAL = 2000
"""Largest number of records that are trained on to compare."""

AGREED = 1e-6
"""Probabilities that differ by no more agree."""

AGREED_AT_THE_OPTIMUM = 1e-4
"""The same for logistic regression, with a solver that is made to go on."""

AGREED_BEFORE_IT = 0.02
"""The same with the solver's own settings: it stops early, by up to 0.015 on Adult."""

_Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class _Candidate:
    """A learner that may do what an estimator does, and the trials that decide."""

    learner: Learner
    """What is tried."""
    trials: tuple[tuple[_Parameters, float], ...] = (({}, AGREED),)
    """Settings with which the estimator is tried, and how far probabilities may differ."""


_Found = Iterator[_Candidate]


def recognised(model: object, x: NDArray[Any], y: Ints) -> Learner | None:
    """Return the learner that does what a scikit-learn estimator does; None if there is none.

    Parameters
    ----------
    model : object
        An untrained estimator. Anything else is not recognised.
    x : ndarray, shape (n, d)
        Records.
    y : ndarray of int, shape (n,)
        Their classes, 0..k-1.

    Returns
    -------
    Learner or None
        Only where a trial agrees: both are trained on up to 2,000 of the records, spread evenly,
        and give those and as many others the same probabilities, within 1e-6. An estimator with a
        setting that the learner has not, or records with ties that it resolves in another way,
        are to be trained again for each record.

    Notes
    -----
    The categories of an attribute are those that occur in all records, and stay the same when a
    record is left out.

    Logistic regression is recognised by its optimum (within 1e-4), which scikit-learn's solver
    approaches only: what it stops short of, at most 0.02 in the trial, would add to the changes
    of refits.
    """
    kind = type(model)
    candidates = _CANDIDATES.get(f"{kind.__module__}.{kind.__qualname__}")
    x = np.asarray(x)
    if candidates is None or x.ndim != 2 or x.dtype.kind not in "biuf" or not np.isfinite(x).all():
        return None
    with warnings.catch_warnings():
        # What an estimator warns of in a trial it will warn of again when it is used.
        warnings.simplefilter("ignore")
        for candidate in candidates(vars(model), x):
            trials = candidate.trials
            if all(_agree(model, candidate.learner, x, y, *trial) for trial in trials):
                return candidate.learner
    return None


def _is(parameters: _Parameters, expected: _Parameters) -> bool:
    """Return whether all these parameters, as far as the version has them, are as expected."""
    return all(parameters.get(name, value) == value for name, value in expected.items())


_OWN_SHARES = {"fit_prior": True, "class_prior": None}


def _categorical(given: _Parameters, x: NDArray[Any]) -> _Found:
    if _is(given, _OWN_SHARES) and _whole(x):
        least = 1 if given["min_categories"] is None else given["min_categories"]
        sizes = np.maximum(x.max(axis=0).astype(np.int64) + 1, least).tolist()
        # Some of the records may lack a category that all of them have.
        trial = {"min_categories": sizes}, AGREED
        yield _Candidate(NaiveBayes(tuple(sizes), given["alpha"]), (trial,))


def _bernoulli(given: _Parameters, x: NDArray[Any]) -> _Found:
    if _is(given, _OWN_SHARES) and _whole(x) and x.max() <= 1:
        yield _Candidate(NaiveBayes((2,) * x.shape[1], given["alpha"]))


def _multinomial(given: _Parameters, x: NDArray[Any]) -> _Found:
    if _is(given, _OWN_SHARES) and np.ndim(given["alpha"]) == 0 and x.min() >= 0:
        yield _Candidate(MultinomialNaiveBayes(float(given["alpha"])))


def _gaussian(given: _Parameters, x: NDArray[Any]) -> _Found:
    if _is(given, {"priors": None, "var_smoothing": 1e-9}):
        yield _Candidate(NaiveBayes((None,) * x.shape[1]))


def _linear_discriminant(given: _Parameters, x: NDArray[Any]) -> _Found:
    usual = {"solver": "svd", "priors": None, "shrinkage": None, "tol": 1e-4}
    if _is(given, {**usual, "covariance_estimator": None}):
        # The divisor is another one from version 1.9 on; the trial tells.
        yield _Candidate(LinearDiscriminant("records"))
        yield _Candidate(LinearDiscriminant())


def _quadratic_discriminant(given: _Parameters, x: NDArray[Any]) -> _Found:
    usual = {"solver": "svd", "priors": None, "shrinkage": None, "covariance_estimator": None}
    if _is(given, usual):
        yield _Candidate(QuadraticDiscriminant(given["reg_param"], "records"))
        yield _Candidate(QuadraticDiscriminant(given["reg_param"]))


def _neighbours(given: _Parameters, x: NDArray[Any]) -> _Found:
    euclidean = given["metric"] == "euclidean" or _is(given, {"metric": "minkowski", "p": 2})
    if euclidean and _is(given, {"weights": "uniform", "metric_params": None}):
        yield _Candidate(NearestNeighbours(given["n_neighbors"]))


def _logistic(given: _Parameters, x: NDArray[Any]) -> _Found:
    from privacygauge.classifier.dtp.logistic import Logistic

    usual = {"solver": "lbfgs", "fit_intercept": True, "class_weight": None, "dual": False}
    ridge = given.get("penalty", "l2") in ("l2", "deprecated") and not given.get("l1_ratio")
    if ridge and _is(given, {**usual, "multi_class": "deprecated"}) and np.isfinite(given["C"]):
        to_the_end = {"tol": 1e-10, "max_iter": 10_000}, AGREED_AT_THE_OPTIMUM
        yield _Candidate(Logistic(1 / given["C"]), (to_the_end, ({}, AGREED_BEFORE_IT)))


_CANDIDATES: Mapping[str, Callable[[_Parameters, NDArray[Any]], _Found]] = {
    "sklearn.naive_bayes.CategoricalNB": _categorical,
    "sklearn.naive_bayes.BernoulliNB": _bernoulli,
    "sklearn.naive_bayes.MultinomialNB": _multinomial,
    "sklearn.naive_bayes.GaussianNB": _gaussian,
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": _linear_discriminant,
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": _quadratic_discriminant,
    "sklearn.neighbors._classification.KNeighborsClassifier": _neighbours,
    "sklearn.linear_model._logistic.LogisticRegression": _logistic,
}


def _whole(x: NDArray[Any]) -> bool:
    return bool((x >= 0).all() and (x == np.trunc(x)).all())


def _agree(
    model: object,
    learner: Learner,
    x: NDArray[Any],
    y: Ints,
    settings: _Parameters,
    tolerance: float,
) -> bool:
    """Return whether both give the same probabilities after training on some of the records."""
    from sklearn.base import clone

    n_classes = int(y.max()) + 1
    trained, asked = _parts(len(x))
    try:
        theirs = clone(model).set_params(**settings).fit(x[trained], y[trained])
        expected = np.zeros((len(asked), n_classes))
        expected[:, theirs.classes_] = theirs.predict_proba(x[asked])
        fitted = learner.fit(x[trained], y[trained], n_classes=n_classes)
        found = np.exp(fitted.log_p(x[asked]))
    except (ValueError, ArithmeticError, IndexError):
        return False  # one of them refuses such records
    return bool((np.abs(found - expected) <= tolerance).all())


def _parts(n: int) -> tuple[Ints, Ints]:
    """Return the records of a trial to train on and to ask about, both spread evenly."""
    size = min(n, TRIAL)
    trained = np.unique(np.linspace(0, n - 1, size).astype(np.int64))
    others = np.setdiff1d(np.arange(n), trained)
    if len(others) > TRIAL:
        others = others[np.linspace(0, len(others) - 1, TRIAL).astype(np.int64)]
    return trained, np.concatenate([trained, others])
