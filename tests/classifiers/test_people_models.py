"""Trained models as people have them: boosters, MLflow, services, stacks, sparse records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers import held
from privacygauge.classifiers.answers import AGAIN, AT_ONCE, answers_of, is_askable
from privacygauge.classifiers.audit.models import audit_model
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.fitted import Fitted
from privacygauge.classifiers.held import FRAME, dense, form_of
from privacygauge.classifiers.probe_training import prepare_records
from privacygauge.errors import InputError


def records(n=90, k=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, (np.abs(x[:, 0] * 2).astype(int) + (x[:, 1] > 0)) % k


def service(sizes):
    def ask(x):
        sizes.append(len(x))
        p = 1 / (1 + np.exp(-np.asarray(x)[:, 0]))
        return np.column_stack([1 - p, p])

    return ask


class Remote:
    """Has predict_proba, and is of no library known here."""

    def __init__(self, sizes):
        self.ask = service(sizes)

    def predict_proba(self, x):
        return self.ask(x)


@pytest.mark.parametrize("kind", ["function", "object", "frame"])
def test_a_model_behind_a_service_is_asked_in_batches(kind):
    sizes = []
    model = Remote(sizes) if kind == "object" else service(sizes)
    x = np.random.default_rng(0).normal(size=(2 * AT_ONCE + 7, 2))
    asked = pd.DataFrame(x) if kind == "frame" else x
    found = answers_of(model, asked, 2).named["probs"]
    assert sizes == [AT_ONCE, AT_ONCE, 7, AGAIN]
    np.testing.assert_array_equal(found, service([])(x))
    sizes.clear()
    answers_of(model, asked[:AT_ONCE], 2)
    assert sizes == [AT_ONCE, AGAIN]


@pytest.mark.slow
def test_estimators_of_known_libraries_are_asked_once():
    from sklearn.linear_model import LogisticRegression

    x, y = records(2 * AT_ONCE)
    model = LogisticRegression().fit(x, y)
    said = answers_of(model, x, 3).named["probs"]
    np.testing.assert_array_equal(said, model.predict_proba(x))


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax", "binary:logistic",
                                       "binary:logitraw"])  # fmt: skip
def test_boosters_of_xgboost(objective):
    xgboost = pytest.importorskip("xgboost")
    k = 3 if objective.startswith("multi") else 2
    x, y = records(k=k)
    more = {"num_class": 3} if k == 3 else {}
    booster = xgboost.train({"objective": objective, **more}, xgboost.DMatrix(x, y), 3)
    assert is_askable(booster)
    found = answers_of(booster, x, k).named
    margins = booster.predict(xgboost.DMatrix(x), output_margin=True)
    if k == 2:
        margins = np.column_stack([np.zeros(len(x)), margins])
    p = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    if "logits" in found:
        np.testing.assert_allclose(found["logits"], margins, atol=1e-6)
    else:
        np.testing.assert_allclose(found["probs"], p, atol=1e-6)


def test_a_booster_that_is_no_classifier_is_refused():
    xgboost = pytest.importorskip("xgboost")
    x, y = records(k=2)
    booster = xgboost.train({"objective": "reg:squarederror"}, xgboost.DMatrix(x, y), 2)
    with pytest.raises(InputError, match="objective reg:squarederror, which is no classifier's"):
        answers_of(booster, x, 2)


@pytest.mark.parametrize("k", [2, 3])
def test_boosters_of_lightgbm(k):
    lightgbm = pytest.importorskip("lightgbm")
    x, y = records(k=k)
    how = {"objective": "multiclass", "num_class": 3} if k == 3 else {"objective": "binary"}
    booster = lightgbm.train({**how, "verbose": -1}, lightgbm.Dataset(x, y), 3)
    said = booster.predict(x)
    expected = said if k == 3 else np.column_stack([1 - said, said])
    np.testing.assert_allclose(answers_of(booster, x, k).named["probs"], expected)
    regression = lightgbm.train({"objective": "regression", "verbose": -1},
                                lightgbm.Dataset(x, 10.0 * y), 3)  # fmt: skip
    with pytest.raises(InputError, match="one number for each record and no probability"):
        answers_of(regression, x, k)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow itself
@pytest.mark.parametrize("function", ["predict_proba", "predict"])
def test_models_of_mlflow(function, tmp_path):
    pytest.importorskip("mlflow")
    import mlflow.sklearn
    from sklearn.linear_model import LogisticRegression

    x, y = records()
    own = LogisticRegression().fit(x, y)
    place = str(tmp_path / "model")
    mlflow.sklearn.save_model(
        own, place, pyfunc_predict_fn=function, serialization_format="cloudpickle"
    )
    model = mlflow.pyfunc.load_model(place)
    assert is_askable(model)
    np.testing.assert_allclose(answers_of(model, x, 3).named["probs"], own.predict_proba(x))


class Labels:
    """What MLflow wraps around a model that says classes only."""

    __module__ = "mlflow.pyfunc"

    def predict(self, x):
        return np.zeros(len(x), int)


def test_a_model_of_mlflow_that_says_classes_only_is_refused_with_the_way_out():
    x, _ = records()
    with pytest.raises(InputError, match='pyfunc_predict_fn="predict_proba"'):
        answers_of(Labels(), x, 3)


@pytest.mark.parametrize("inside", ["alone", "pipeline", "search"])
def test_stacking_is_trained_with_its_default_last_estimator(inside):
    from sklearn.ensemble import StackingClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    stack = StackingClassifier([("nb", GaussianNB()), ("svc", LinearSVC())])
    if inside == "pipeline":
        stack = make_pipeline(StandardScaler(), stack)
    elif inside == "search":
        stack = GridSearchCV(stack, {"passthrough": [True, False]})
    assert as_trainer(stack).name == type(stack).__name__
    with pytest.raises(InputError, match="has no predict_proba"):
        as_trainer(LinearSVC())
    with pytest.raises(InputError, match="has no predict_proba"):
        as_trainer(make_pipeline(StandardScaler(), LinearSVC()))
    with pytest.raises(InputError, match="has no predict_proba"):
        as_trainer(StackingClassifier([("nb", GaussianNB())], LinearSVC()))
    with pytest.raises(InputError, match="shadow models have to train their own: give it with cv"):
        as_trainer(StackingClassifier([("nb", GaussianNB())], cv="prefit"))


class Cats:
    """Takes texts as they are, named by their columns, as CatBoost does."""

    def __init__(self, cat_features=None, random_state=None):
        self.cat_features = cat_features
        self.random_state = random_state

    def get_params(self, deep=True):
        return {"cat_features": self.cat_features, "random_state": self.random_state}

    def set_params(self, **params):
        vars(self).update(params)
        return self

    def fit(self, x, y):
        if self.cat_features and not all(x[c].map(type).eq(str).all() for c in self.cat_features):
            raise TypeError("cat_features must be integer or string")
        self.classes_ = np.unique(y)
        self.share_ = pd.Series(y).groupby(np.asarray(x["colour"])).mean()
        return self

    def predict_proba(self, x):
        p = x["colour"].map(self.share_).fillna(0.5).to_numpy()
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize("features", [["colour"], [0]])
def test_categories_as_catboost_takes_them(features):
    assert form_of(Cats(features)) == FRAME
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"colour": rng.choice(["red", "blue"], 60), "size": rng.normal(size=60)})
    y = (x["colour"] == "red").to_numpy().astype(int)
    about = prepare_records(Cats(["colour"]), x, y)
    assert about.x is x


@pytest.mark.parametrize("form", ["csr_matrix", "csc_array", "coo_array"])
def test_sparse_records_are_made_dense(form, monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")
    from sklearn.linear_model import LogisticRegression

    x, y = records()
    x[np.abs(x) < 1] = 0
    about = prepare_records(LogisticRegression(), getattr(sparse, form)(x), y)
    np.testing.assert_array_equal(about.x, x)
    monkeypatch.setattr(held, "MOST_DENSE", 100)
    with pytest.raises(InputError, match=r"sparse matrix of 90 x 4, too large .* Training\(train"):
        dense(sparse.csr_matrix(x))


@pytest.mark.slow
def test_a_booster_is_audited():
    xgboost = pytest.importorskip("xgboost")
    from sklearn.ensemble import RandomForestClassifier

    x, y = records(200)
    member = np.arange(200) % 2 == 0
    how = {"objective": "multi:softprob", "num_class": 3}
    booster = xgboost.train(how, xgboost.DMatrix(x[member], y[member]), 20)
    found = audit_model(
        RandomForestClassifier(10), x, y, n_shadows=4, fitted=Fitted(booster, member)
    )
    assert found.report().numbers["accuracy"] > 0.7
