"""A scikit-learn classifier that tosses coins before it is trained, and measures what it leaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.classifier.predictions import audit_classifier
from privacygauge.classifier.answers import Answers, average_answers
from privacygauge.classifier.estimators import as_trainer, class_names
from privacygauge.classifier.held import check_records, keys
from privacygauge.classifier.predictions import predictions
from privacygauge.classifier.signals import signals
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.equal_rows import equal_rows
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import number_units
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc


@dataclass(frozen=True, eq=False)
class Dealt:
    """Whose membership coins decided, and how."""

    tested: Bools
    """(n,) True for the records that an audit judges; all others are trained on."""
    inside: Bools
    """(n,) True for what is trained on: what is not tested, and half of what is."""

    @property
    def member(self) -> Bools:
        """(t,) Of the tested records: True where they are trained on."""
        return checks.frozen(self.inside[self.tested])


def dealt(unit: Ints, tested: float, rng: np.random.Generator) -> Dealt:
    """Return records dealt by unit: a random share is tested, by a fair coin for each.

    Parameters
    ----------
    unit : ndarray of int, shape (n,)
        The number of the person behind each record, in 0..u-1.
    tested : float
        The share of the persons that are tested, in (0, 1].

    Raises
    ------
    InputError
        If the coins leave fewer than two members or two non-members to judge.
    """
    if not 0.0 < tested <= 1.0:
        raise InputError(f"tested must be in (0, 1], got {tested}")
    n = int(unit.max()) + 1
    asked = np.zeros(n, np.bool_)
    asked[rng.permutation(n)[: round(tested * n)]] = True
    coins = rng.random(n) < 0.5
    n_in, n_out = (int(np.count_nonzero(asked & side)) for side in (coins, ~coins))
    if min(n_in, n_out) < 2:
        raise InputError(
            f"at least 2 members and 2 non-members are needed, got {n_in} and {n_out} of {n}: "
            "give more records, or a larger share to test"
        )
    return Dealt(checks.frozen(asked[unit]), checks.frozen((coins | ~asked)[unit]))


Of = Literal["value", "low", "high"]
"""Which end of an estimate."""


def _has(name: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), name)


class Audited(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that holds records back by fair coins, so that its leak can be measured.

    A scorer of scikit-learn sees one fold and cannot know who was trained on; this classifier
    does, in whatever splits it is trained. It trains on three quarters of its records by default.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``. Wrap a whole pipeline, so that no step sees who is held back.
    tested : float
        The share of the persons that coins decide about, in (0, 1]; half of these are held back.
    seed : int
        Of the coins. The same rows get the same coins from every candidate of a search.
    level : float
        Of every interval, in (0, 1).

    Attributes
    ----------
    estimator_ : classifier
        Trained on what the coins put in; it makes the predictions.
    classes_ : ndarray, shape (k,)
    inside_ : ndarray of bool, shape (n,)
        Which of the rows given to `fit` it was trained on.
    tested_ : ndarray of bool, shape (n,)
        Whose membership a coin decided.
    predictions_ : Predictions
        Of the tested rows, with their membership.
    leak_ : Estimate
        The area under the ROC curve of the attack on the modified entropy, named before anything
        was measured: 0.5 if nobody can tell who was trained on, 1 if everybody can.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = Audited(DecisionTreeClassifier(random_state=0)).fit(X, y)
    >>> model.leak_.low > 0.5  # a full tree knows its records
    True

    Notes
    -----
    The signal is that of Song & Mittal (2021), section 3. `audit` plays all attacks.
    """

    def __init__(
        self, estimator: Any, *, tested: float = 0.5, seed: int = 0, level: float = 0.95
    ) -> None:
        self.estimator = estimator
        self.tested = tested
        self.seed = seed
        self.level = level

    def fit(self, X: Any, y: ArrayLike, unit: ArrayLike | None = None) -> Audited:
        """Toss the coins, train on what they put in, and measure the leak.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix, shape (n, d)
        y : array_like of int or str, shape (n,)
        unit : array_like, shape (n,), optional
            The person behind each row, who gets one coin. Default: equal rows of one class are
            one person where that matters, and every other row has a coin of its own.
            Searches and `cross_validate` pass it on, split as the rows are.

        Returns
        -------
        Audited
            Itself.

        Raises
        ------
        InputError
            If the classifier gives no probabilities, or the coins leave too few rows on a side.
        """
        checks.level(self.level)
        as_trainer(self.estimator)  # says what it lacks
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        X = X.tocsr() if issparse(X) else X
        n = len(labels)
        owner = _owner(X, labels) if unit is None else number_units(unit, length=n)
        n_units = int(owner.max()) + 1
        # By their number, so that a refit on all rows has coins that no fold of a search had.
        found = dealt(owner, self.tested, seeds.stream(self.seed, "hooks", "audited", n_units))
        rows = np.flatnonzero(found.inside)
        self.estimator_ = clone(self.estimator).fit(_rows(X, rows), labels[rows])
        self.classes_ = self.estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.inside_ = found.inside
        self.tested_ = found.tested
        asked = np.flatnonzero(found.tested)
        names, codes = np.unique(labels, return_inverse=True)
        probs = np.zeros((len(asked), len(names)))
        known = np.searchsorted(names, self.classes_)  # a class may be missing among the rows
        said = np.asarray(self.estimator_.predict_proba(_rows(X, asked)))
        probs[:, known], times = average_answers(
            said, lambda rows: self.estimator_.predict_proba(_rows(X, asked[rows]))
        )
        seen = predictions(
            probs=probs,
            labels=codes[asked],
            member=found.member,
            ids=asked,
            unit=owner[asked],
            classes=class_names(labels),
            notes=Answers(probs, False, times).notes,
        )
        self.predictions_ = replace(seen, columns={})  # a plain mapping goes to other processes
        score = signals(self.predictions_)["modified-entropy"]
        rows_of = Transcript(score, found.member, unit=owner[asked])
        self.leak_: Estimate = auc(rows_of, self.level)
        return self

    def audit(self) -> Audit:
        """Return the audit of the trained classifier by all attacks on predictions."""
        self._require_fitted()
        return audit_classifier(
            self.predictions_,
            drawn=True,
            seed=self.seed,
            level=self.level,
            command="Audited",
            provenance={"model": type(self.estimator).__name__},
        )

    def predict(self, X: Any) -> Any:
        """Return the class of every row, (n,)."""
        return self._require_fitted().predict(X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of every class, (n, k)."""
        return self._require_fitted().predict_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the decision function, (n,) or (n, k)."""
        return self._require_fitted().decision_function(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _require_fitted(self) -> Any:
        check_is_fitted(self, "leak_")
        return self.estimator_


def leak_scorer(of: Of = "value") -> Callable[..., float]:
    """Return a scorer for scikit-learn: minus the leak that an `Audited` classifier measured.

    Parameters
    ----------
    of : "value", "low" or "high"
        Which end of the estimate. ``high`` prefers classifiers that surely leak little.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)`` between -1 (everybody can be told apart) and 0; -0.5 is
        guessing. Higher is better, as scikit-learn wants it. The rows of the fold are not looked
        at: what tells members from non-members is known of the training rows alone.

    Raises
    ------
    InputError
        If `of` is something else; when called, if the estimator is not an `Audited` one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = GridSearchCV(
    ...     Audited(DecisionTreeClassifier(random_state=0)),
    ...     {"estimator__max_depth": [1, None]},
    ...     scoring={"accuracy": "accuracy", "leak": leak_scorer()},
    ...     refit="leak",
    ... ).fit(X, y)
    >>> search.best_params_
    {'estimator__max_depth': 1}
    """
    if of not in ("value", "low", "high"):
        raise InputError(f"of must be value, low or high, got {of!r}")
    return _LeakScorer(of)


class _LeakScorer:
    """A class, since a search sends its scorers to other processes."""

    def __init__(self, of: Of) -> None:
        self._of = of

    def __call__(self, estimator: Any, X: Any, y: Any = None, **_: Any) -> float:
        found = getattr(estimator, "leak_", None)
        if not isinstance(found, Estimate):
            raise InputError(
                f"leak_scorer needs an Audited classifier, got {type(estimator).__name__}: wrap "
                "it, with its whole pipeline, in Audited(...)"
            )
        return -float(getattr(found, self._of))


def _owner(X: Any, labels: NDArray[Any]) -> Ints:
    """Return the number of each row's person: rows that are equal in all and in class are one's."""
    n = len(labels)
    codes = np.unique(labels, return_inverse=True)[1]
    if issparse(X):
        ends = X.indptr.tolist()
        parts = (slice(*pair) for pair in pairwise(ends))
        rows = (X.indices[part].tobytes() + X.data[part].tobytes() for part in parts)
        same = np.array([hash(row) for row in rows], np.int64)
    else:
        same = keys(check_records(X, n))
    unit, _ = equal_rows(same, codes, np.ones(n, np.bool_))
    return np.arange(n) if unit is None else unit


def _rows(X: Any, rows: Any) -> Any:
    """Return some rows of a data frame, a sparse matrix, an array or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return (X if hasattr(X, "shape") else np.asarray(X))[rows]
