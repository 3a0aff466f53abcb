"""Draws outside of the random state: refused, or taken from it, never the effect of a record."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from privacygauge.claims.dtp_audit.audit import audit_dtp
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

COUNTER = itertools.count()
SHARED = np.random.RandomState(0)


def records(n: int = 40) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(np.int64)


class Drawing(GaussianNB):
    """Naive Bayes on some of the records, which a function of their number draws."""

    def drawn(self, n: int) -> Any:
        raise NotImplementedError

    def fit(self, x: Floats, y: Ints, sample_weight: None = None) -> Drawing:
        some = np.sort(np.asarray(self.drawn(len(y)))[: 9 * len(y) // 10])
        super().fit(x[some], y[some], sample_weight)
        return self


class OwnGenerator(Drawing):
    def drawn(self, n: int) -> Any:
        return np.random.default_rng().permutation(n)


class GlobalState(Drawing):
    def drawn(self, n: int) -> Any:
        return np.random.permutation(n)  # noqa: NPY002


class OfPython(Drawing):
    def drawn(self, n: int) -> Any:
        return random.sample(range(n), n)


class OfTheSystem(Drawing):
    def drawn(self, n: int) -> Any:
        return np.argsort([os.urandom(8) for _ in range(n)])


class Counting(Drawing):
    def drawn(self, n: int) -> Any:
        return np.random.default_rng(next(COUNTER)).permutation(n)


class OwnSeed(Drawing):
    def __init__(self, seed: int | None = None, var_smoothing: float = 1e-9) -> None:
        super().__init__(var_smoothing=var_smoothing)
        self.seed = seed

    def drawn(self, n: int) -> Any:
        return np.random.default_rng(self.seed).permutation(n)


class WhereARecordIsGone(Drawing):
    def drawn(self, n: int) -> Any:
        return np.random.default_rng().permutation(n) if n % 2 else np.arange(n)


class NoisyAnswers(DecisionTreeClassifier):
    def predict_proba(self, X: Floats) -> Floats:
        noisy = super().predict_proba(X) + np.random.default_rng().uniform(0, 0.1, (len(X), 2))
        return noisy / noisy.sum(axis=1, keepdims=True)


def shared_state(random_state: int) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_features=1, random_state=SHARED)


def ignores_its_state(x: Floats, y: Ints, random_state: int) -> RandomForestClassifier:
    return RandomForestClassifier(3).fit(x, y)


@pytest.mark.parametrize(
    "model",
    [
        OwnGenerator(),
        GlobalState(),
        OfPython(),
        OfTheSystem(),
        Counting(),
        OwnSeed(),
        WhereARecordIsGone(),
        NoisyAnswers(),
        shared_state,
        ignores_its_state,
        make_pipeline(StandardScaler(), OwnGenerator()),
        StackingClassifier([("own", OwnGenerator())], cv=2),
    ],
    ids=lambda model: getattr(model, "__name__", type(model).__name__),
)
def test_draws_outside_of_the_random_state_are_refused(model: object) -> None:
    x, y = records()
    with pytest.raises(InputError, match="the same records and the same random state"):
        audit_dtp(model, x, y, rows=[0, 5, 9], queries=5)


FOLDS = (StratifiedKFold(2, shuffle=True), StratifiedShuffleSplit(2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda folds: CalibratedClassifierCV(GaussianNB(), cv=folds),
        lambda folds: GridSearchCV(LogisticRegression(), {"C": [0.1, 0.3, 1, 3]}, cv=folds),
        lambda folds: GridSearchCV(
            make_pipeline(StandardScaler(), GaussianNB()),
            {"gaussiannb": [DecisionTreeClassifier(max_features=1), RandomForestClassifier(2)]},
            cv=folds,
        ),
    ],
)
@pytest.mark.parametrize("folds", FOLDS, ids=lambda folds: type(folds).__name__)
def test_shuffled_folds_are_drawn_from_the_random_state(
    make: Callable[[Any], Any], folds: Any
) -> None:
    x, y = records()
    model = make(clone(folds, safe=False))
    found = [
        audit_dtp(model, x, y, rows=[0, 5, 9], queries=5, bin_width=0, seed=2) for _ in range(4)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.pdtp, found[0].pdtp)
    assert model.cv.random_state is None  # the user's own is left as it is
