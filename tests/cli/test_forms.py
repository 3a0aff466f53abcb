"""The records of a file in the form that a model asks for: frames, categories, images, rows."""

import json

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers.held import CATEGORIES, FRAME, IMAGES, ROWS
from privacygauge.classifiers.tables import load_records
from privacygauge.errors import InputError
from tests.cli.test_main import one_line, run_inside

MODELS = """
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg

HERE = Path(__file__).parent
columns = ColumnTransformer(
    [("age", SimpleImputer(), ["age"]), ("note", TfidfVectorizer(), "note")]
)
pipeline = make_pipeline(columns, DecisionTreeClassifier())


def on_frame(x: pd.DataFrame, y, seed):
    model = DecisionTreeClassifier(random_state=seed).fit(x[["age"]].fillna(0), y)
    return lambda x: model.predict_proba(x[["age"]].fillna(0))


def boosted(seed):
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=5, enable_categorical=True, random_state=seed)


def whole():
    return make_pipeline(columns, DecisionTreeClassifier()).fit(TABLE, TABLE.sick)


def of_town():
    model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier())
    return model.fit(TABLE[["town"]], TABLE.sick)


def train(rows, seed):
    return DecisionTreeClassifier(random_state=seed).fit(AGES.iloc[rows], TABLE.sick[rows])


def predict(model, rows):
    return model.predict_proba(AGES.iloc[rows])


by_rows = pg.learners.Training(train, predict)


def known():
    return train(np.arange(len(TABLE)), 0)


def on_images(x, y, seed):
    assert x.shape[1:] == (3, 4, 5) and x.dtype == np.uint8
    model = DecisionTreeClassifier(random_state=seed).fit(x.reshape(len(x), -1), y)
    return lambda x: model.predict_proba(x.reshape(len(x), -1))


def bad(x, y, seed):
    return lambda x: np.zeros((len(x), 7))


TABLE = pd.read_csv(HERE / "notes.csv")
AGES = TABLE[["age"]].fillna(0)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table of texts and holes, images, and a file of models."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("forms")
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame({"age": rng.normal(50, 9, n).round(1), "town": rng.choice([*"abc"], n)})
    frame["note"] = [" ".join(rng.choice(["pain", "none", "old", "new"], 4)) for _ in range(n)]
    frame.loc[3, "age"] = np.nan
    frame["in"] = np.arange(n) % 2 == 0
    frame["sick"] = np.where(rng.random(n) < 0.5, "yes", "no")
    frame.to_csv(folder / "notes.csv", index=False)
    for i in range(30):
        path = folder / "images" / ("cat" if i % 2 else "dog") / f"{i:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(256, size=(4, 5, 3), dtype=np.uint8)).save(path)
    (folder / "form_models.py").write_text(MODELS)
    return folder


@pytest.fixture
def inside(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))

    def run(model, *more, data="notes.csv", drop=("--drop", "in")):
        table = ("--label", "sick", *drop) if data == "notes.csv" else ()
        command = ("classifier", "--model", model, "--data", data, *table)
        return run_inside((*command, "--shadows", 3, "--jobs", 1, *more), capsys)

    return run


def test_texts_become_the_form_that_is_asked_for(place):
    path = place / "notes.csv"
    frame = load_records(path, "sick", drop=("in",), form=FRAME).x
    pd.testing.assert_frame_equal(frame, pd.read_csv(path)[["age", "town", "note"]])
    categories = load_records(path, "sick", form=CATEGORIES).x
    assert [str(t) for t in categories.dtypes] == ["float64", "category", "category", "bool"]
    assert load_records(path, "sick", form=ROWS).x.numbers.tolist() == list(range(60))
    images = load_records(place / "images", form=IMAGES)
    pixels = load_records(place / "images").x
    np.testing.assert_array_equal(pixels, images.x.reshape(30, 60))
    assert pixels.dtype == np.float64
    bare = place / "bare.csv"
    pd.read_csv(path)[["sick"]].to_csv(bare, index=False)
    assert len(load_records(bare, "sick", form=ROWS)) == 60
    with pytest.raises(InputError, match="holds no features"):
        load_records(bare, "sick")
    assert images.x.shape == (30, 3, 4, 5)
    assert images.names == ("cat", "dog")
    assert images.ids[0] == "cat/01.png"
    assert images.y.tolist() == [0] * 15 + [1] * 15
    assert images[np.array([2])].ids.tolist() == ["cat/05.png"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "data", "fitted"),
    [
        ("form_models.py:pipeline", "notes.csv", "whole"),
        ("form_models.py:on_frame", "notes.csv", "whole"),
        ("form_models.py:by_rows", "notes.csv", "known"),
        ("form_models.py:on_images", "images", None),
        ("random-forest", "images", None),
    ],
)
def test_a_model_is_audited_in_its_form_and_reported_again(
    inside, capsys, tmp_path, model, data, fitted
):
    out = tmp_path / "out"
    done = inside(model, "--out", out, "--quiet", data=data)
    assert done.returncode == 0, done.stderr
    first = (out / "report.json").read_bytes()
    again = run_inside(("report", out, "--out", tmp_path / "again"), capsys)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "report.json").read_bytes() == first
    if fitted is not None:
        named = ("--fitted", f"form_models.py:{fitted}", "--member", "in")
        found = inside(model, *named, "--quiet", "--json", "-", drop=())
        assert found.returncode == 0, found.stderr
        assert "no coins were drawn" in json.loads(found.stdout)["game"]["secret"]


@pytest.mark.parametrize("model", ["by_rows", "pipeline", "on_frame"])
def test_worst_cases_are_made_up_of_numbers(inside, capsys, model):
    given = ("--data", "notes.csv", "--label", "sick", "--drop", "in")
    done = run_inside(("worst-case", "--model", f"form_models.py:{model}", *given), capsys)
    one_line(done, "and this audit makes records up: give a model of features that are numbers")


@pytest.mark.parametrize("model", ["pipeline", "on_frame"])
def test_frames_reach_the_models_that_records_are_left_out_of(inside, capsys, model):
    """Made-up queries are frames too, of values that the columns hold."""
    given = ("--data", "notes.csv", "--label", "sick", "--drop", "in", "--measure", 3)
    asked = ("--model", f"form_models.py:{model}", "--queries", 7, "--json", "-", "--jobs", 1)
    done = run_inside(("dtp", *asked, *given), capsys)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_measured"] == 3


def test_records_that_only_their_owner_can_look_up_are_not_made_up(inside, capsys):
    given = ("--data", "notes.csv", "--label", "sick", "--drop", "in")
    done = run_inside(("dtp", "--model", "form_models.py:by_rows", *given), capsys)
    one_line(done, "this audit asks about records that it makes up: give a function of features")


@pytest.mark.slow
def test_categories_reach_a_model_that_takes_them(inside):
    pytest.importorskip("xgboost")
    done = inside("form_models.py:boosted", "--json", "-", "--quiet")
    assert done.returncode == 0, done.stderr


def test_rows_are_those_of_the_file_where_records_are_sampled(inside, monkeypatch):
    asked = []

    def run(options, trainer, x, y, **given):
        asked.append((x, y))
        raise SystemExit

    monkeypatch.setattr("privacygauge.classifiers.audit.models.ModelOptions.run", run)
    with pytest.raises(SystemExit):
        inside("form_models.py:by_rows", "--records", 20, "--quiet")
    ((x, y),) = asked
    table = pd.read_csv("notes.csv")
    assert (y == (table.sick.to_numpy()[x.numbers] == "yes")).all()
    assert len(x) == 20


def test_what_does_not_go_together_gets_one_line(inside, place, tmp_path):
    from PIL import Image

    message = "must predict probabilities of the shape (15, 2), got (15, 7) (in a trial on 15"
    one_line(inside("form_models.py:bad", data="images"), message)
    one_line(inside("form_models.py:pipeline", data="images"), "asks for a data frame: --data must")
    one_line(inside("logistic", "--id", "name", data="images"), "a folder of images has no columns")
    one_line(inside("logistic"), "1 values are missing in column 'age'")
    for name, size in (("a/1.png", (2, 2)), ("b/1.png", (3, 2))):
        (tmp_path / name).parent.mkdir()
        Image.new("L", size).save(tmp_path / name)
    one_line(inside("logistic", data=str(tmp_path)), "is 2 x 2, ")
    (tmp_path / "b/1.png").write_bytes(b"no image")
    one_line(inside("logistic", data=str(tmp_path)), "b/1.png is damaged or no image")


def test_a_fitted_model_of_raw_columns_and_shadow_models_of_numbers_get_one_line(inside):
    left = ("--drop", "note", "--drop", "age")
    drop = (*left, "--member", "in", "--fitted", "form_models.py:of_town")
    done = inside("logistic", drop=drop)
    one_line(done, "of_town takes 1 features, and --model logistic the 3 numbers")
