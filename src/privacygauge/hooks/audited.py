"""A scikit-learn classifier that tosses coins before training and measures its own leak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from privacygauge.classifiers.answers import Answers, average_answers
from privacygauge.classifiers.audit.predictions import audit_classifier
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.estimators import as_trainer, class_names
from privacygauge.classifiers.held import check_records, keys
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.signals import signals
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import equal_rows, number_units
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc


@dataclass(frozen=True, eq=False)
class Dealt:
    """Membership of n records: decided by coins for tested ones, fixed for all others."""

    tested: Bools
    """(n,) True for the records that an audit judges; all others are trained on."""
    inside: Bools
    """(n,) True for the training records: all untested ones, and about half of the tested."""
    member: Bools
    """(t,) True for each tested record that is trained on."""


def dealt(unit: Ints, tested: float, rng: np.random.Generator) -> Dealt:
    """Deal records by unit: a random share of the units is tested, with a fair coin for each.

    Parameters
    ----------
    unit : ndarray of int, shape (n,)
        Number of the person behind each record, in 0..u-1.
    tested : float
        Share of the persons that are tested, in (0, 1].
    rng : numpy.random.Generator
        Chooses the tested persons and tosses the coins.

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
    # A coin for every person, tested or not, so that the draws do not depend on the share.
    coins = rng.random(n) < 0.5
    n_in, n_out = (int(np.count_nonzero(asked & side)) for side in (coins, ~coins))
    if min(n_in, n_out) < 2:
        raise InputError(
            f"at least 2 members and 2 non-members are needed, got {n_in} and {n_out} of {n}: "
            "give more records, or a larger share to test"
        )
    of_rows = asked[unit]
    # Untested records are all trained on.
    inside = (coins | ~asked)[unit]
    return Dealt(
        tested=checks.frozen(of_rows),
        inside=checks.frozen(inside),
        member=checks.frozen(inside[of_rows]),
    )


Of = Literal["value", "low", "high"]
"""Value of an estimate, or an end of its interval."""


def _has(name: str) -> Callable[[Any], bool]:
    # Before `fit`, the methods of the given estimator count.
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), name)


class Audited(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that holds records back by fair coins to measure its leak.

    A scorer of scikit-learn sees one fold and cannot know the training records; this classifier
    does, on any split. By default it trains on three quarters of the given records.

    Parameters
    ----------
    estimator : classifier
        Classifier with ``predict_proba``. Wrap a whole pipeline, so that no step sees the records
        held back.
    tested : float
        Share of the persons with a coin, in (0, 1]; about half of these are held back.
    seed : int
        Seed of the coins. The same rows get the same coins in every candidate of a search.
    level : float
        Level of every interval, in (0, 1).

    Attributes
    ----------
    estimator_ : classifier
        Classifier trained on the records that the coins put in; it makes the predictions.
    classes_ : ndarray, shape (k,)
        Classes of `estimator_`.
    inside_ : ndarray of bool, shape (n,)
        True for the rows given to `fit` that it was trained on.
    tested_ : ndarray of bool, shape (n,)
        True for the rows with a coin.
    predictions_ : Predictions
        Predictions on the tested rows, with their membership.
    leak_ : Estimate
        Area under the ROC curve of the attack on the modified entropy, chosen before any
        measurement: 0.5 if members cannot be told from non-members, 1 if they always can.

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
    The signal is that of Song & Mittal (2021), section 3. `audit` runs all attacks.
    """

    def __init__(
        self, estimator: Any, *, tested: float = 0.5, seed: int = 0, level: float = 0.95
    ) -> None:
        self.estimator = estimator
        self.tested = tested
        self.seed = seed
        self.level = level

    def fit(self, X: Any, y: ArrayLike, unit: ArrayLike | None = None) -> Audited:
        """Toss the coins, train on the records that they put in, and measure the leak.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix, shape (n, d)
        y : array_like of int or str, shape (n,)
        unit : array_like, shape (n,), optional
            Person behind each row; each person gets one coin. Default: equal rows of one class
            are one person where that matters, and every other row is a person. Searches and
            `cross_validate` pass it on, split like the rows.

        Returns
        -------
        Audited
            Itself.

        Raises
        ------
        InputError
            If the classifier has no probabilities, or the coins leave too few rows on a side.
        """
        checks.level(self.level)
        as_trainer(self.estimator)  # raises if a method is missing
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        X = X.tocsr() if issparse(X) else X
        n = len(labels)
        names, codes = np.unique(labels, return_inverse=True)
        if unit is not None:
            owner = number_units(unit, length=n)
        else:
            # Rows equal in features and class share one person.
            if issparse(X):
                # Row i of a CSR matrix is the slice indptr[i]:indptr[i + 1] of column indices and
                # values.
                parts = (slice(*pair) for pair in pairwise(X.indptr.tolist()))
                contents = (X.indices[part].tobytes() + X.data[part].tobytes() for part in parts)
                same = np.array([hash(content) for content in contents], np.int64)
            else:
                same = keys(check_records(X, n))
            equal, _ = equal_rows(same, codes, np.ones(n, np.bool_))
            owner = np.arange(n) if equal is None else equal
        n_units = int(owner.max()) + 1
        # The number of persons is part of the key, so that a refit on all rows has coins that no
        # fold of a search had.
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
        # Columns for all given classes: a class may have no training row.
        probs = np.zeros((len(asked), len(names)))
        known = np.searchsorted(names, self.classes_)
        # Answers that differ between calls are averaged over several.
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
        ).with_notes(Answers(probs, False, times).notes)
        self.predictions_ = replace(seen, columns={})  # a plain dict, which can be pickled
        score = signals(self.predictions_)["modified-entropy"]
        rows_of = Transcript(score, found.member, unit=owner[asked])
        self.leak_: Estimate = auc(rows_of, self.level)
        return self

    def audit(self) -> Audit:
        """Audit the trained classifier by all attacks on predictions."""
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
        """Return the predicted class of every row, (n,)."""
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
    """Return a scorer for scikit-learn: the negative leak of an `Audited` classifier.

    Parameters
    ----------
    of : "value", "low" or "high"
        Value or end of the interval. ``high`` prefers classifiers that certainly leak little.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)`` between -1 (every member is recognised) and 0; -0.5 is guessing.
        Higher is better, by scikit-learn's convention. The rows of the fold are ignored: membership
        is known only for the rows given to `fit`.

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


@dataclass(frozen=True)
class _LeakScorer:
    """The scorer of `leak_scorer`: a class, because a search pickles its scorers."""

    of: Of
    """Value of the leak, or an end of its interval."""

    def __call__(self, estimator: Any, X: Any, y: Any = None, **_: Any) -> float:
        found = getattr(estimator, "leak_", None)
        if not isinstance(found, Estimate):
            raise InputError(
                f"leak_scorer needs an Audited classifier, got {type(estimator).__name__}: wrap "
                "it, with its whole pipeline, in Audited(...)"
            )
        return -float(getattr(found, self.of))


def _rows(X: Any, rows: Any) -> Any:
    """Return some rows of a data frame, a sparse matrix, an array or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return (X if hasattr(X, "shape") else np.asarray(X))[rows]
