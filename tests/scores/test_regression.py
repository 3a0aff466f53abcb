"""Audits of regressors: signals, leaks that are planted, and models of several libraries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import privacygauge as pg
from privacygauge.datasets.local_copies import own_file
from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.scores.regression import local_scale, residual_scores
from tests.thorough import quarter

QUIET = (NONE.word, UNTOLD.word)
FEW = ("absolute residual", "lira-online", "calibrated", "rmia")


def grade(audit: pg.ScoreAudit) -> str:
    return audit.report().verdict.grade.word


def noise(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, x[:, 0] + rng.normal(size=n)


def test_scores_of_residuals_are_their_formulas():
    rng = np.random.default_rng(0)
    residual = rng.normal(size=(7, 2))
    scale = rng.uniform(0.5, 2, size=(7, 2))
    spread = np.array([2.0, 0.5])
    found = residual_scores(residual, scale, spread)
    for i, r in enumerate(residual):
        assert np.isclose(found["absolute residual"][i], (abs(r[0]) / 2 + abs(r[1]) / 0.5) / 2)
        assert np.isclose(found["squared residual"][i], (r[0] ** 2 / 4 + r[1] ** 2 / 0.25) / 2)
        density = norm.logpdf(r, 0, scale[i]).sum() + np.log(2 * np.pi)
        assert np.isclose(found["likelihood"][i], density)
    assert set(residual_scores(residual[:, :1], scale[:, :1], spread[:1])) == {
        "absolute residual", "likelihood", "residual",
    }  # fmt: skip


@pytest.mark.slow
def test_a_local_scale_follows_the_noise_and_no_record_has_a_part_in_its_own():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, size=(1_000, 1))
    residual = rng.normal(size=(1_000, 1)) * np.where(x > 0, 3.0, 0.5)
    unit = np.arange(1_000)
    found = local_scale(residual, x, unit, np.random.default_rng(0))
    assert 2.4 < np.median(found[x > 0]) < 3.6
    assert 0.4 < np.median(found[x < 0]) < 0.7
    changed = residual.copy()
    changed[5] *= 100
    again = local_scale(changed, x, unit, np.random.default_rng(0))
    assert again[5] == found[5]


def test_a_tree_that_knows_its_records_is_found_and_a_constant_is_not():
    x, y = noise(2)
    found = pg.audit_regressor(DecisionTreeRegressor(), x, y, n_shadows=4, attacks=FEW)
    assert grade(found) == "large"
    assert found.headline.auc.low > 0.9
    assert found.report().title == "Audit of a regressor"
    safe = pg.audit_regressor(DummyRegressor(), x, y, n_shadows=4, attacks=FEW)
    assert grade(safe) in QUIET


@pytest.mark.slow
def test_a_fitted_regressor_needs_no_recipe():
    x, y = noise(3)
    member = np.random.default_rng(0).random(len(y)) < 0.5
    model = KNeighborsRegressor(1).fit(x[member], y[member])
    fitted = pg.Fitted(model, member)
    found = pg.audit_regressor(None, x, y, fitted=fitted, attacks=["absolute residual"])
    assert grade(found) == "large"
    assert found.records.vulnerability is None
    by_function = pg.Fitted(lambda rows: model.predict(rows), member)
    again = pg.audit_regressor(None, x, y, fitted=by_function, attacks=["absolute residual"])
    assert again.evaluations[0].auc == found.evaluations[0].auc


DATA = ("diabetes", "census", "adults")


def records(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return records of a public data set, with a number to predict."""
    import pandas as pd

    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    file = {"census": "pums_ca_1000.csv", "adults": "anonymeter_tests_adults_ori.csv"}[name]
    path = own_file(file)
    if path is None:
        pytest.skip(f"{file} is not there: PRIVACYGAUGE_DATA names its folder")
    frame = pd.read_csv(path).dropna().iloc[:800]
    target = {"census": "age", "adults": "hr_per_week"}[name]
    y = frame.pop(target).to_numpy(np.float64)
    return pd.get_dummies(frame).to_numpy(np.float64), y


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("model", [DecisionTreeRegressor(), KNeighborsRegressor(1)])
def test_overfitted_regressors_are_found_on_real_data(name, model):
    x, y = records(name)
    found = pg.audit_regressor(model, x, y, n_shadows=8)
    assert grade(found) == "large"


@pytest.mark.slow
def test_regressors_of_other_libraries_and_of_several_outputs():
    lightgbm = pytest.importorskip("lightgbm")
    xgboost = pytest.importorskip("xgboost")
    x, y = noise(4, 300)
    both = np.column_stack([y, x[:, 1] + np.random.default_rng(0).normal(size=300)])
    boosted = xgboost.XGBRegressor(n_estimators=40, n_jobs=1)
    light = lightgbm.LGBMRegressor(n_estimators=200, min_child_samples=2, n_jobs=1, verbose=-1)
    several = DecisionTreeRegressor()
    for model, outputs in ((boosted, y), (light, y), (several, both), (boosted, both)):
        found = pg.audit_regressor(model, x, outputs, n_shadows=6)
        assert grade(found) not in QUIET, model
    titles = {one.name for one in found.evaluations}
    assert {"squared residual", "residual 0", "residual 1"} <= titles
    with pytest.raises(pg.InputError, match="LGBMRegressor failed to train"):
        pg.audit_regressor(light, x, both, n_shadows=2)


@pytest.mark.slow
def test_few_null_games_of_regressors_are_called_a_leak():
    games = quarter(100)
    leaks = 0
    for seed in range(games):
        x, y = noise(seed)
        leaks += (
            grade(pg.audit_regressor(DummyRegressor(strategy="median"), x, y, n_shadows=4))
            not in QUIET
        )
    assert leaks <= 0.05 * games + 2 * np.sqrt(0.0475 * games)


@pytest.mark.slow
def test_people_of_several_rows_are_in_or_out_together():
    x, y = noise(5, 240)
    owner = np.repeat(np.arange(60), 4)
    found = pg.audit_regressor(Ridge(), x, y, n_shadows=4, unit=owner)
    member = found.records.member.reshape(60, 4)
    assert (member == member[:, :1]).all()
    assert grade(found) in QUIET


@pytest.mark.parametrize(
    "model",
    [
        DummyRegressor(strategy="median"),
        DummyRegressor(strategy="constant", constant=3.0),
        lambda x, y, seed: lambda asked: np.round(Ridge().fit(x, y).predict(asked), -3),
    ],
)
def test_predictions_that_do_not_depend_on_the_records_are_no_leak(model):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = np.where(rng.random(200) < 0.8, 0, rng.poisson(3, 200)).astype(float)
    found = pg.audit_regressor(model, x, y, n_shadows=4)
    verdict = found.report().verdict
    assert verdict.grade == NONE
    assert "do not depend on the training data" in verdict.headline
    assert found.unmoved == 4


def test_members_do_not_stand_out_where_no_prediction_moves():
    """By chance the largest counts are all members; a constant tells nobody who was trained on."""
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    y = rng.poisson(0.3, 400).astype(float)
    rows = np.flatnonzero(member)[:12]
    y[rows] = 20.0 + rows
    fitted = pg.Fitted(lambda asked: np.zeros(len(asked)), member)
    found = pg.audit_regressor(
        lambda x, y, seed: lambda asked: np.zeros(len(asked)),
        np.zeros((400, 2)),
        y,
        fitted=fitted,
        n_shadows=4,
    )
    assert found.unmoved == 4
    assert found.report().verdict.grade == NONE
    assert "Members that stand out" not in found.summary()
    assert found.questions.exposed == 0


def test_some_shadow_models_may_equal_the_target():
    """The median of counts is one of few numbers, and often the same for other records."""
    rng = np.random.default_rng(1)
    y = rng.poisson(1.68, 60).astype(float)
    found = pg.audit_regressor(
        DummyRegressor(strategy="median"), np.zeros((60, 2)), y, n_shadows=12
    )
    assert found.unmoved == 0
    assert grade(found) in QUIET


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"y": [np.nan, *range(19)]}, "y must be finite, got nan in row 0"),
        ({"y": list("abcdefghijklmnopqrst")}, "y must hold numbers"),
        ({"x": np.zeros((3, 2))}, "x must have the shape"),
        ({"model": None}, "give a model to train"),
        ({"y": np.ones(20)}, "y is 1 for every record"),
        ({"y": 1e200 * np.arange(20.0)}, "beyond the range of numbers: give it in another unit"),
        ({"y": 1e-200 * np.arange(20.0)}, "beyond the range of numbers: give it in another unit"),
        ({"model": LogisticRegression()}, "LogisticRegression is a classifier: pg.audit_model"),
        ({"model": Ridge}, "give an instance"),
        ({"model": lambda x: x, "n_shadows": -1}, "n_shadows must be at least 0"),
        ({"model": lambda seed: 3}, "failed to train"),
    ],
)
def test_wrong_input_ends_in_one_line(change, told):
    given = {"model": Ridge(), "x": np.arange(40.0).reshape(20, 2), "y": np.arange(20.0), **change}
    model, x, y = (given.pop(name) for name in ("model", "x", "y"))
    with pytest.raises(pg.PrivacyGaugeError, match=told) as caught:
        pg.audit_regressor(model, x, y, **given)
    assert "\n" not in str(caught.value)
