"""Rows of the training table in a model: found wherever they stand, and never where they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import privacygauge as pg
from privacygauge.inspection import findings
from privacygauge.report.values import Severity
from tests.inspection import holders


@pytest.fixture(autouse=True)
def unfinished_fits_are_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(
    "beginning",
    [x if x == "alone" else pytest.param(x, marks=pytest.mark.slow) for x in holders.BEGINNINGS],
)
@pytest.mark.parametrize("name", holders.HOLD)
def test_rows_are_found_in_every_model_that_holds_them(name, beginning):
    model, frame = holders.fitted(name, beginning)
    found = pg.inspect_model(model, frame, "sick")
    assert found.n_rows >= holders.LEAST.get(name, len(frame))
    assert found.report().verdict.grade.severity is Severity.GRAVE
    # And by its form alone, without the table.
    blind = pg.inspect_model(model)
    assert blind.n_rows == found.n_rows
    assert blind.report().verdict.grade.severity is Severity.GRAVE


@pytest.mark.parametrize("scaled", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", holders.HOLD_NONE)
def test_no_row_is_claimed_where_there_is_none(name, scaled):
    frame = holders.people()[[*holders.NUMBERS, "sick"]]
    model = holders.HOLD_NONE[name]()
    model = make_pipeline(StandardScaler(), model) if scaled else model
    model.fit(frame[holders.NUMBERS], frame["sick"])
    found = pg.inspect_model(model, frame, "sick")
    assert found.n_rows == 0
    assert not found.by_structure
    assert found.report().verdict.grade.severity is not Severity.GRAVE
    blind = pg.inspect_model(model)
    assert blind.n_rows is None
    assert blind.report().verdict.grade.severity is Severity.UNTOLD


def test_the_table_of_other_people_is_not_found():
    model, _ = holders.fitted("neighbours")
    others = holders.people(seed=1)[[*holders.NUMBERS, "sick"]]
    found = pg.inspect_model(model, others, "sick")
    assert not found.stored.any()
    # The form of the model still says that somebody's rows are in it.
    assert found.n_rows == holders.N
    assert "none of them was found in the table" in found.report().verdict.headline


class Holder:
    """A thing that holds something."""

    def __init__(self, thing: object) -> None:
        self.thing = thing


def closure(rows):
    return lambda x: x @ rows.T


CONTAINERS = {
    "lists": lambda x: Holder([list(row) for row in x]),
    "a dictionary": lambda x: Holder({f"person {i}": row for i, row in enumerate(x)}),
    "single precision": lambda x: Holder(x.astype(np.float32)),
    "columns in another order": lambda x: Holder(x[:, [2, 0, 3, 1]]),
    "more columns": lambda x: Holder(np.column_stack([np.arange(len(x)), x, x[:, 0] > 0])),
    "columns first": lambda x: Holder(x.T.copy()),
    "a flat array": lambda x: Holder(np.concatenate([[1.0, 2.0, 3.0], x.ravel()])),
    "a frame": lambda x: Holder(pd.DataFrame(x)),
    "a function": lambda x: Holder(closure(x)),
    "bytes": lambda x: Holder(b"\xff head " + x.tobytes()),
    "an object array": lambda x: Holder(np.array([*x, None], object)),
    "a record array": lambda x: Holder(np.rec.fromarrays(x.T).view(np.ndarray)[["f0", "f1"]]),
    "another scale": lambda x: Holder(x * [3.0, -0.1, 7.7, 2.0] + [1.0, 5.0, -3.0, 0.1]),
    "another scale, some": lambda x: Holder(x[::3] * [3.0, 0.1, 7.7, 2.0] + [1.0, 5.0, -3.0, 0.1]),
    "a projection": lambda x: Holder(x @ np.arange(1.0, 9.0).reshape(4, 2) ** 0.5 + 3.0),
    "a projection of some": lambda x: Parts(x),
}


class Parts:
    """A projection of some rows, with their numbers beside it."""

    def __init__(self, x: np.ndarray) -> None:
        self.rows = np.arange(len(x))[::2]
        self.values = x[::2] @ np.arange(1.0, 9.0).reshape(4, 2) ** 0.5


@pytest.mark.parametrize("name", CONTAINERS)
def test_rows_are_found_in_every_container(name):
    frame = holders.people()[holders.NUMBERS]
    x = frame.to_numpy(np.float64)
    if name == "a record array":
        frame = frame[["age", "income"]]
    found = pg.inspect_model(CONTAINERS[name](x), frame)
    part = {"another scale, some": 3, "a projection of some": 2}.get(name, 1)
    assert found.n_rows == len(x[::part])
    assert found.stored[::part].all()


def test_noise_of_the_same_form_is_not_claimed():
    frame = holders.people()[holders.NUMBERS]
    x = frame.to_numpy(np.float64)
    rng = np.random.default_rng(1)
    for made in (
        rng.normal(size=x.shape) * x.std(axis=0) + x.mean(axis=0),
        np.stack([rng.permutation(column) for column in x.T], axis=1),
        x + 1e-3 * x.std(axis=0) * rng.normal(size=x.shape),
    ):
        assert pg.inspect_model(Holder(made), frame).n_rows == 0


def test_rows_that_chance_would_give_are_not_counted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (300, 6)), columns=list("abcdef"))
    every = np.array(list(np.ndindex(*(2,) * 6)), float)
    found = pg.inspect_model(Holder(every), frame)
    assert found.n_rows == 0
    assert found.recognisable == 0
    # So that nothing can be said about such a table.
    assert found.report().verdict.grade.severity is Severity.UNTOLD
    # A model that holds rows by its form holds them all the same.
    model = KNeighborsClassifier().fit(frame.to_numpy(), frame["a"])
    assert pg.inspect_model(model, frame.to_numpy()).n_rows == 300


def test_the_centre_of_one_record_is_that_record():
    frame = holders.people()[holders.NUMBERS]
    frame.loc[17, "income"] = 9_999_999.99
    model = KMeans(3, n_init=1, random_state=0).fit(frame)
    found = pg.inspect_model(model, frame)
    assert np.flatnonzero(found.stored).tolist() == [17]


def test_people_are_counted_beside_rows():
    model, frame = holders.fitted("neighbours")
    unit = np.arange(len(frame)) // 2
    found = pg.inspect_model(model, frame, "sick", unit=unit)
    assert (found.n_rows, found.stored_people) == (200, 100)
    assert "of 100 people" in found.report().verdict.headline


def test_labels_in_the_order_of_the_table_are_found():
    model, frame = holders.fitted("neighbours")
    found = pg.inspect_model(model, frame, "sick")
    assert "labels" in {x.what for x in found.entries}


ALSO_HOLD = frozenset(
    {
        "AffinityPropagation", "GaussianProcessClassifier", "GaussianProcessRegressor", "Isomap",
        "KNNImputer", "KNeighborsClassifier",
        "KNeighborsRegressor", "KNeighborsTransformer", "KernelDensity", "KernelPCA", "KernelRidge",
        "LabelPropagation", "LabelSpreading", "LocalOutlierFactor", "LocallyLinearEmbedding",
        "NearestNeighbors", "NuSVC", "NuSVR", "Nystroem", "OneClassSVM",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor", "RadiusNeighborsTransformer", "SVC", "SVR",
    }
)  # fmt: skip
"""Estimators of scikit-learn that hold rows, all with their defaults."""


@pytest.mark.slow
def test_every_estimator_of_scikit_learn_is_inspected():
    """None ends in an error, those that hold rows are found, and few others have a row."""
    from sklearn.utils import all_estimators

    frame = holders.people(n=80)[[*holders.NUMBERS, "sick"]]
    x = StandardScaler().fit_transform(frame[holders.NUMBERS])
    table = pd.DataFrame(x, columns=holders.NUMBERS)
    with_rows = set()
    inspected = set()
    for name, kind in all_estimators():
        try:
            model = kind().fit(table, frame["sick"])
        except (TypeError, ValueError, AttributeError):
            continue  # it needs further arguments, or another kind of table
        found = pg.inspect_model(model, table, frame["sick"])
        found.report()
        inspected.add(name)
        if found.n_rows:
            with_rows.add(name)
    assert len(inspected) > 120
    assert ALSO_HOLD & inspected <= with_rows
    # Centres of clusters of one record, raw data that are kept, and linear projections of all rows.
    clusters = {"Birch", "BisectingKMeans", "HDBSCAN", "KMeans", "MeanShift", "MiniBatchKMeans"}
    assert with_rows - ALSO_HOLD <= clusters | {"ClassicalMDS", "PLSRegression"}


def test_texts_are_found_behind_their_vectoriser():
    rng = np.random.default_rng(0)
    words = [
        "cough",
        "fever",
        "pain",
        "leg",
        "arm",
        "head",
        "day",
        "night",
        "left",
        "right",
        "old",
        "young",
        "acute",
        "mild",
    ]
    notes = [" ".join(rng.choice(words, 6)) for _ in range(100)]
    frame = pd.DataFrame({"note": notes, "sick": rng.integers(0, 2, 100)})
    encoder = make_column_transformer((TfidfVectorizer(), "note"))
    model = make_pipeline(encoder, KNeighborsClassifier()).fit(frame[["note"]], frame["sick"])
    found = pg.inspect_model(model, frame, "sick")
    assert found.stored.mean() > 0.9


def test_an_embedding_per_person_is_named():
    frame = holders.people()[holders.NUMBERS]
    vectors = np.random.default_rng(0).normal(size=(50, 8))
    found = pg.inspect_model(Holder(vectors), frame, unit=np.arange(len(frame)) // 4)
    assert [(x.what, x.place) for x in found.entries] == [("an entry per person", "thing")]
    # It may be a form of their rows.
    assert found.report().verdict.grade.severity is Severity.UNTOLD


def survey(seed: int, n: int = 300) -> pd.DataFrame:
    """Return answers from 1 to 5 to eight questions that depend on one another."""
    rng = np.random.default_rng(seed)
    mood = rng.normal(size=(n, 1))
    answers = np.clip(np.round(3 + mood + rng.normal(size=(n, 8))), 1, 5).astype(int)
    frame = pd.DataFrame(answers, columns=[f"q{i}" for i in range(8)])
    frame["sick"] = (mood[:, 0] + rng.normal(size=n) > 0).astype(int)
    return frame


HONEST = {
    "forest": lambda: RandomForestClassifier(20, min_samples_leaf=10, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=20),
}


@pytest.mark.parametrize("name", HONEST)
def test_the_numbers_of_features_and_nodes_are_no_answers_to_a_survey(name):
    for seed in range(4):
        frame = survey(seed)
        model = HONEST[name]().fit(frame.drop(columns="sick"), frame["sick"])
        assert pg.inspect_model(model, frame, "sick").n_rows == 0


WORLDS = {
    "digits": lambda rng: rng.integers(0, 10, (300, 6)),
    "rounded": lambda rng: rng.normal(size=(300, 5)).round(1),
    "alike": lambda rng: (rng.normal(size=(300, 1)) + rng.normal(0, 0.1, (300, 6))).round(1),
    "yes and no": lambda rng: rng.integers(0, 2, (300, 20)),
    "survey": lambda rng: survey(int(rng.integers(1e6))).drop(columns="sick").to_numpy(),
}


@pytest.mark.parametrize("name", WORLDS)
def test_other_people_of_the_same_world_are_not_stored(name):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        frame, others = pd.DataFrame(WORLDS[name](rng)), WORLDS[name](rng)
        assert pg.inspect_model(Holder(others), frame).n_rows == 0
        if name in ("digits", "rounded"):
            assert pg.inspect_model(Holder(frame.to_numpy()), frame).n_rows == 300


def test_the_larger_number_of_rows_leads():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 5)).round(1)).rename(
        columns=str
    )
    model = KNeighborsClassifier(3).fit(frame, frame["0"] > 0)
    others = frame.copy()
    others.loc[13:] = others.loc[13:] + 0.05
    found = pg.inspect_model(model, others)
    assert (found.n_recognised, found.n_rows) == (13, 300)
    headline = found.report().verdict.headline
    assert headline == (
        "By its structure the file holds 300 training rows; 13 of them were found in the table"
    )
    assert found.report().numbers["stored-rows"] == 300


def test_records_that_share_a_key_do_not_hide_an_unknown_scaling():
    frame = holders.people(n=600)[["income", "bmi", "dose"]]
    frame = frame.drop(columns="dose").assign(
        height=np.random.default_rng(1).normal(170, 9, 600).round(1)
    )
    frame.loc[20:29, "income"] = frame.loc[0:9, "income"].to_numpy()
    chosen = np.random.default_rng(0).permutation(600)[:250]
    scaled = frame.to_numpy()[chosen] * [3.0, 0.1, 7.7] + [1.0, 5.0, -3.0]
    found = pg.inspect_model(Holder(scaled), frame)
    alone = ~frame["income"].duplicated(keep=False).to_numpy()
    assert found.stored.tolist() == (np.isin(np.arange(600), chosen) & alone).tolist()


PRECISIONS = {
    "half": lambda x: x.astype(np.float16),
    "brain": lambda x: torch.tensor(x).bfloat16(),
    "three decimals": lambda x: x.round(3),
}


@pytest.mark.parametrize("name", PRECISIONS)
def test_rows_are_found_in_the_precision_of_their_array(name):
    frame = holders.people()[holders.NUMBERS]
    scaled = StandardScaler().fit_transform(frame)[:60]
    found = pg.inspect_model({"bank": PRECISIONS[name](scaled)}, frame)
    # The two roundings of a number that went through single precision may differ.
    assert found.n_rows >= 57
    assert found.stored[:60].sum() == found.n_rows
    others = StandardScaler().fit_transform(holders.people(seed=1)[holders.NUMBERS])[:60]
    none = pg.inspect_model({"bank": PRECISIONS[name](others)}, frame)
    assert none.n_rows == 0
    assert none.report().verdict.grade.severity is Severity.UNTOLD
    assert "is rounded" in none.report().verdict.headline


def test_quantised_rows_cannot_be_told():
    frame = holders.people()[holders.NUMBERS]
    scaled = StandardScaler().fit_transform(frame)[:60]
    whole = np.round(scaled * 20).clip(-127, 127).astype(np.int8)
    for stored in (whole, whole.astype(np.float16)):
        found = pg.inspect_model({"bank": stored}, frame)
        assert found.report().verdict.grade.severity is Severity.UNTOLD


def test_rows_of_very_many_columns_are_found_within_a_bound_of_work(monkeypatch):
    monkeypatch.setattr(findings, "MOST_WORK", 10_000)
    rng = np.random.default_rng(0)
    x = np.where(rng.random((60, 40)) < 0.1, rng.normal(size=(60, 40)), 0.0)
    frame = pd.DataFrame(x)
    found = pg.inspect_model({"kept": x[:30], "other": x[30:].T.copy()}, frame)
    assert found.n_rows == 60
    assert not found.origin.skipped[1:]
    # Rows that begin anywhere would take too long, which the report says.
    found = pg.inspect_model({"kept": np.concatenate([[1.0], x.ravel()])}, frame)
    assert found.n_rows == 0
    assert any("begin within a long array" in s.name for s in found.origin.skipped)
