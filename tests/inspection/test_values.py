"""Single values of people in a model: names, words, numbers; and those that are there by chance."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeRegressor

import privacygauge as pg
from privacygauge.report.values import Severity
from tests.inspection import holders

NAMES = ["Ada Lovelace", "Alan Turing", "Grace Hopper"]


def with_names(n: int = 200) -> pd.DataFrame:
    """Return a table with three names of one person each among common names."""
    frame = holders.people(n=n)
    frame["name"] = np.random.default_rng(1).choice(["John Smith", "Mary Jones"], n)
    frame.loc[[3, 50, 120], "name"] = NAMES
    return frame


def count_of(found: pg.Inspection, column: str, kind: str) -> int:
    return sum(x.count for x in found.values if (x.column, x.kind) == (column, kind))


ENCODERS = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "target": lambda: TargetEncoder(random_state=0),
}


@pytest.mark.parametrize(
    "name", [x if x == "one-hot" else pytest.param(x, marks=pytest.mark.slow) for x in ENCODERS]
)
def test_names_of_one_person_are_found_in_encoders(name):
    frame = with_names()[["name", "age", "sick"]]
    encoder = make_column_transformer((ENCODERS[name](), ["name"]), remainder="passthrough")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(encoder, LogisticRegression(max_iter=2000))
        model.fit(frame[["name", "age"]], frame["sick"])
    found = pg.inspect_model(model, frame, "sick")
    assert count_of(found, "name", "texts") == 3
    assert found.report().verdict.grade.severity is Severity.MODERATE
    page = found.to_html() + found.to_json() + found.summary()
    assert not [x for x in NAMES if x in page]
    shown = pg.inspect_model(model, frame, "sick", show_texts=True)
    assert all(x in shown.to_html() for x in NAMES)


def test_categories_that_are_folded_are_not_found():
    frame = with_names()[["name", "sick"]]
    encoder = make_column_transformer((OneHotEncoder(min_frequency=5), ["name"]))
    model = make_pipeline(encoder, LogisticRegression()).fit(frame[["name"]], frame["sick"])
    # The encoder folds them in its answers, and keeps their names in the file.
    found = pg.inspect_model(model, frame, "sick")
    assert count_of(found, "name", "texts") == 3


def test_words_of_one_person_are_found_in_a_vocabulary():
    notes = [f"patient came with a cough on day {i % 7}" for i in range(60)]
    notes[17] = "patient Hieronymus came with a cough"
    frame = pd.DataFrame({"note": notes, "sick": [i % 2 for i in range(60)]})
    encoder = make_column_transformer((TfidfVectorizer(), "note"))
    model = make_pipeline(encoder, LogisticRegression()).fit(frame[["note"]], frame["sick"])
    found = pg.inspect_model(model, frame, "sick")
    assert count_of(found, "note", "words") == 1
    assert "ieronymus" not in found.to_html() + found.to_json()


def test_the_words_of_a_language_are_not_words_of_people():
    frame = with_names()[["name", "sick"]]
    words = [f"word{i}" for i in range(10_000)] + [x.lower() for x in ["Ada", "Grace", "Alan"]]
    holder = {"vocabulary": words}
    assert count_of(pg.inspect_model(holder, frame, "sick"), "name", "words") == 0


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (QuantileTransformer(n_quantiles=200), 150),
        (KBinsDiscretizer(50, encode="ordinal", quantile_method="inverted_cdf"), 20),
        (DecisionTreeRegressor(), 0),
        (Ridge(), 0),
    ],
    ids=["quantiles", "bins", "thresholds", "weights"],
)
def test_numbers_are_found_where_they_stand_and_thresholds_between_them_are_not(model, least):
    frame = holders.people()[["income", "dose"]]
    label = np.random.default_rng(1).integers(0, 5, len(frame))
    model.fit(frame.to_numpy(), label)
    found = pg.inspect_model(model, frame, label)
    incomes = count_of(found, "income", "numbers")
    assert incomes >= least
    assert not (least == 0 and incomes)


def test_isotonic_thresholds_are_values_of_people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"score": rng.normal(size=200).round(6)})
    y = (frame["score"] + rng.normal(size=200) > 0).astype(float)
    model = IsotonicRegression().fit(frame["score"], y)
    found = pg.inspect_model(model, frame, y)
    assert count_of(found, "score", "numbers") > 10


def test_the_leaf_of_one_record_is_its_label():
    frame = holders.people()[holders.NUMBERS]
    label = np.random.default_rng(1).gamma(2.0, 1000.0, len(frame)).round(3)
    memorised = DecisionTreeRegressor().fit(frame, label)
    assert count_of(pg.inspect_model(memorised, frame, label), "label", "numbers") > 180
    pruned = DecisionTreeRegressor(min_samples_leaf=10).fit(frame, label)
    assert count_of(pg.inspect_model(pruned, frame, label), "label", "numbers") == 0


@pytest.mark.slow
def test_columns_of_few_values_do_not_count():
    frame = holders.people()[["age", "bmi"]]
    label = np.random.default_rng(1).normal(size=len(frame))
    model = HistGradientBoostingRegressor().fit(frame, label)
    assert not [x for x in pg.inspect_model(model, frame).values if x.column in ("age", "bmi")]


@pytest.mark.slow
def test_chance_alone_is_seldom_called_a_value():
    """Of 200 arrays of random numbers with as many decimals as the table, few are claimed."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": rng.gamma(2.0, 15_000, 300).round(1)})
    claimed = 0
    for _ in range(200):
        others = {"x": rng.gamma(2.0, 15_000, 3_000).round(1)}
        claimed += bool(pg.inspect_model(others, frame).values)
    assert claimed <= 10


def test_texts_that_look_like_people_are_counted_without_a_table():
    encoder = OneHotEncoder().fit(with_names()[["name"]])
    found = pg.inspect_model(encoder)
    assert [(x.kind, x.count) for x in found.values] == [("names", 5)]
    assert found.report().verdict.grade.severity is Severity.MODERATE
    assert "Lovelace" not in found.to_html()
    assert not pg.inspect_model(OneHotEncoder().fit(holders.people()[["town"]])).values


def test_the_values_of_a_person_with_many_rows_are_values_of_one_person():
    frame = with_names()[["name"]]
    frame.loc[[4, 5], "name"] = "Ada Lovelace"
    unit = np.arange(len(frame))
    unit[[4, 5]] = 3
    encoder = OneHotEncoder().fit(frame)
    assert count_of(pg.inspect_model(encoder, frame), "name", "texts") == 2
    assert count_of(pg.inspect_model(encoder, frame, unit=unit), "name", "texts") == 3


def test_a_dictionary_of_people_does_not_show_its_keys():
    frame = with_names()[["name", *holders.NUMBERS]]
    frame["name"] = frame["name"].str.lower().str.split().str[-1]
    x = frame[holders.NUMBERS].to_numpy()
    rows = {name: x[i : i + 2] for i, name in enumerate(["lovelace", "turing", "hopper"])}
    found = pg.inspect_model({"embedding": rows}, frame)
    assert found.n_rows == 4
    assert count_of(found, "name", "texts") == 3
    assert not [name for name in rows if name in found.to_html() + found.to_json()]


@pytest.mark.slow
def test_fractions_of_a_forest_are_not_values_of_people():
    """A column scaled to 0..1 has many fractions of whole numbers, and so have impurities."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2_000, 4)).round(2), columns=list("abcd"))
    label = (frame["a"] + rng.normal(size=2_000) > 0).astype(int)
    model = RandomForestClassifier(20, random_state=0).fit(frame, label)
    assert not pg.inspect_model(model, frame, label).values
    assert not pg.inspect_model(LogisticRegression().fit(frame, label), frame, label).values


@pytest.mark.parametrize("zone", [None, "Europe/London"])
def test_dates_that_an_encoder_keeps_are_found_as_dates(zone):
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2015-01-01") + pd.to_timedelta(rng.permutation(3000)[:400], unit="D")
    frame = pd.DataFrame({"born": days, "x": rng.normal(size=400).round(1)})
    frame["born"] = frame["born"].dt.tz_localize(zone)
    frame.loc[5:9, "born"] = frame.loc[0, "born"]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(frame[["born"]])
    found = pg.inspect_model(encoder, frame)
    assert [(v.column, v.count) for v in found.values if v.kind == "texts"] == [("born", 394)]
    shown = next(v.values for v in found.values if v.kind == "texts")
    assert min(shown).startswith("201")
    assert len(min(shown)) == 10


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_that_stand_as_numbers_are_found(unit):
    rng = np.random.default_rng(0)
    days = np.datetime64("1998-01-01") + rng.permutation(9_000)[:200].astype("m8[D]")
    frame = pd.DataFrame({"born": days.astype("M8[ns]"), "x": rng.normal(size=200).round(1)})
    kept = np.sort(days[:80]).astype(f"M8[{unit}]").astype(np.int64)
    found = pg.inspect_model({"bounds": kept}, frame)
    assert sum(v.count for v in found.values if v.column.startswith("born")) > 60
