"""A classifier with coins of its own: honest in every split, silent where nothing leaks."""

import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.hooks import Audited, leak_scorer
from privacygauge.hooks.audited import dealt
from privacygauge.report.grades import NONE
from tests.thorough import times


def records(n=400, seed=0, noise=1.0):
    """Return records of two classes that overlap, so that a full tree has to learn by heart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 4)) + noise * 0.5 * y[:, None], y


class Recorder(ClassifierMixin, BaseEstimator):
    """Notes which records it was trained on, by their first feature."""

    def fit(self, X, y):
        self.seen_ = np.asarray(X)[:, 0].tolist()
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        known = np.isin(np.asarray(X)[:, 0], self.seen_)
        return np.column_stack([1 - 0.1 - 0.8 * known, 0.1 + 0.8 * known])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@cache
def elsewhere():
    return LogisticRegression().fit(*records(100, 99))


class Elsewhere(ClassifierMixin, BaseEstimator):
    """A model of other records: what it is given to learn from, it does not look at."""

    def fit(self, X, y):
        self.model_ = elsewhere()
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_nobody_who_is_held_back_is_trained_on():
    x, y = records()
    model = Audited(Recorder()).fit(x, y)
    assert sorted(model.estimator_.seen_) == sorted(x[model.inside_, 0])
    held = x[~model.inside_, 0]
    assert len(held) > 80
    assert not set(held) & set(model.estimator_.seen_)
    assert model.predictions_.member.tolist() == model.inside_[model.tested_].tolist()
    assert model.predictions_.ids.tolist() == np.flatnonzero(model.tested_).tolist()
    assert not (~model.inside_ & ~model.tested_).any()


def test_a_tree_that_knows_its_records_leaks_and_a_stump_does_not():
    x, y = records()
    full = Audited(DecisionTreeClassifier(random_state=0)).fit(x, y)
    assert full.leak_.low > 0.6
    assert full.leak_.high < 1.0
    audit = full.audit()
    assert audit.headline.accuracy.low > 0.55
    assert "drawn by a fair coin" in audit.game.secret
    assert audit.report().verdict.grade != NONE
    stump = Audited(DecisionTreeClassifier(max_depth=1)).fit(x, y)
    assert stump.leak_.high < full.leak_.low


@pytest.mark.slow
def test_intervals_cover_one_half_where_a_model_saw_nothing_of_the_kind():
    n = times(400)
    found = [Audited(Elsewhere(), seed=seed).fit(*records(80, seed)).leak_ for seed in range(n)]
    missed = sum(not one.low <= 0.5 <= one.high for one in found)
    assert missed <= 0.05 * n + 3 * np.sqrt(0.05 * 0.95 * n)
    mean = np.mean([one.value for one in found])
    assert abs(mean - 0.5) < 4 * np.std([one.value for one in found]) / np.sqrt(n)


def test_persons_go_in_or_stay_out_whole():
    x, y = records(300)
    unit = np.repeat(np.arange(60), 5)
    model = Audited(Recorder()).fit(x, y, unit=[f"person {i}" for i in unit])
    for person in range(60):
        for side in (model.inside_, model.tested_):
            assert len(set(side[unit == person].tolist())) == 1
    assert model.leak_.n <= 60


def test_coins_are_fair_and_those_of_a_refit_are_others():
    rng = np.random.default_rng(0)
    found = dealt(np.arange(20_000), 0.5, rng)
    assert np.count_nonzero(found.tested) == 10_000
    n_in = np.count_nonzero(found.member)
    assert abs(n_in - 5_000) < 4 * 50
    assert found.inside[~found.tested].all()
    x, y = records(200)
    first, fewer = (Audited(Recorder()).fit(x[:n], y[:n]).inside_ for n in (200, 160))
    assert not np.array_equal(first[:160], fewer)
    assert np.array_equal(first, Audited(Recorder()).fit(x, y).inside_)
    assert not np.array_equal(first, Audited(Recorder(), seed=1).fit(x, y).inside_)


def test_a_search_trades_accuracy_against_leakage():
    x, y = records()
    scoring = {
        "accuracy": "accuracy",
        "leak": leak_scorer(),
        "surely": pg.hooks.leak_scorer("high"),
    }
    search = GridSearchCV(
        Audited(DecisionTreeClassifier(random_state=0)),
        {"estimator__max_depth": [1, None]},
        scoring=scoring,
        refit="leak",
        cv=3,
    ).fit(x, y, unit=np.arange(len(y)) // 2)
    leak = search.cv_results_["mean_test_leak"]
    assert leak[0] > leak[1]
    assert (search.cv_results_["mean_test_surely"] < leak).all()
    assert search.best_params_ == {"estimator__max_depth": 1}
    assert search.best_estimator_.leak_.n == 100  # half of 200 persons


def test_every_fold_has_an_estimate_with_its_interval():
    x, y = records()
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    found = cross_validate(
        Audited(pipeline),
        pd.DataFrame(x),
        np.where(y, "yes", "no"),
        scoring={"leak": leak_scorer("low")},
        return_estimator=True,
    )
    low = [model.leak_.low for model in found["estimator"]]
    assert found["test_leak"].tolist() == [-x for x in low]
    assert min(low) > 0.5
    assert found["estimator"][0].audit().records.ids.size == 160


@pytest.mark.slow
def test_it_keeps_the_rules_of_scikit_learn():
    refused = {"check_fit2d_1sample": "one record is refused, by a message of ours"}
    model = Audited(LogisticRegression())
    found = check_estimator(model, expected_failed_checks=refused, on_skip=None)
    assert len(found) > 40


def test_sparse_records_and_lists():
    x, y = records()
    dense = Audited(LogisticRegression()).fit(x, y).leak_
    assert Audited(LogisticRegression()).fit(coo_array(x), y).leak_.value == pytest.approx(
        dense.value
    )
    assert Audited(LogisticRegression()).fit(x.tolist(), y.tolist()).leak_ == dense


def test_a_class_that_nobody_trains_on():
    x, y = records(200)
    lone = np.flatnonzero(~Audited(LogisticRegression()).fit(x, y).inside_)[0]
    y[lone] = 2
    model = Audited(LogisticRegression()).fit(x, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.predictions_.values.shape == (100, 3)
    assert model.predictions_.values[:, 2].max() == 0.0


def test_it_is_a_classifier_like_any_other():
    x, y = records()
    model = clone(Audited(LogisticRegression(), tested=0.2)).fit(x, y)
    assert model.get_params()["tested"] == 0.2
    assert model.score(x, y) == np.mean(model.predict(x) == y)
    assert model.predict_proba(x).shape == (400, 2)
    assert model.decision_function(x).shape == (400,)
    assert not hasattr(Audited(DecisionTreeClassifier()), "decision_function")
    assert copy.deepcopy(model).leak_ == model.leak_
    assert copy.deepcopy(leak_scorer())(model, x, y) == -model.leak_.value


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda x, y: Audited(LinearSVC()).fit(x, y), "no predict_proba"),
        (lambda x, y: Audited(DummyClassifier(), tested=0).fit(x, y), "tested must be in"),
        (lambda x, y: Audited(DummyClassifier()).fit(x[:4], y[:4]), "at least 2 members"),
        (lambda x, y: Audited(DummyClassifier()).fit(x, y, unit=[1]), "unit must have"),
        (lambda x, y: Audited(DummyClassifier(), level=2).fit(x, y), "level must be"),
        (lambda x, y: leak_scorer("middle"), "of must be"),
        (lambda x, y: leak_scorer()(DummyClassifier().fit(x, y), x, y), "needs an Audited"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call, told):
    with pytest.raises(InputError, match=told):
        call(*records(40))


def test_equal_rows_get_one_coin():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = rng.integers(2, size=60)
    rows = np.repeat(np.arange(60), 4)
    for given in (x[rows], coo_array(x[rows]), pd.DataFrame(x[rows])):
        model = Audited(DecisionTreeClassifier(random_state=0)).fit(given, y[rows])
        inside = model.inside_.reshape(60, 4)
        assert (inside == inside[:, :1]).all()
        assert len(np.unique(model.predictions_.units)) == len(model.predictions_) // 4
