"""The command that audits a sensitive column of a trained model."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privacygauge.cli.main import app
from privacygauge.errors import InputError

MODEL = """
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


def model():
    people = pd.read_csv("people.csv").query("trained == 1")
    x = pd.get_dummies(people.drop(columns=["income", "trained"]), dtype=float)
    return RandomForestClassifier(20, random_state=0).fit(x.to_numpy(), people["income"])


def pipeline():
    people = pd.read_csv("people.csv").query("trained == 1")
    texts = make_column_transformer((OneHotEncoder(), ["town", "illness"]), remainder="passthrough")
    return make_pipeline(texts, RandomForestClassifier(20, random_state=0)).fit(
        people.drop(columns=["income", "trained"]), people["income"]
    )
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attribute")
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    frame.insert(1, "town", rng.choice(["X", "Y"], n))
    frame["illness"] = rng.choice(["flu", "none", "pox"], n)
    frame["income"] = np.where(rng.normal(size=n) + frame["a"] > 0, "high", "low")
    frame["trained"] = (rng.random(n) < 0.5).astype(int)
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "attribute_model.py").write_text(MODEL)
    return folder


@pytest.fixture
def folder(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


ASKED = {
    "--fitted": "attribute_model.py:model",
    "--data": "people.csv",
    "--label": "income",
    "--member": "trained",
}


def run(*more: str):
    asked = [text for flag, value in ASKED.items() if flag not in more for text in (flag, value)]
    return CliRunner().invoke(app, ["attribute", *asked, *more])


def audited(folder, *more: str):
    done = run("--out", "found", "--quiet", *more)
    assert done.exit_code == 0, done.output
    return json.loads((folder / "found" / "report.json").read_text())


def test_a_column_is_audited_by_its_name_and_held_to_a_limit_in_any_form_of_the_file(folder):
    found = audited(folder, "--sensitive", "illness")
    assert (found["kind"], found["column"]) == ("attribute", "illness")
    assert found["measures"]["attribute-advantage.low"] > 0
    assert found["values"] == ["pox", "none", "flu"]
    text = (folder / "people.csv").read_text()
    (folder / "other.csv").write_text(text.replace(",", "^"))
    asked = ("--data", "other.csv", "--separator", "^", "--sensitive", "illness", "--quiet")
    named = run(*asked, "--json", "-", "--fail-above", "attribute-advantage=0.01")
    assert named.exit_code == 3, named.output
    assert "attribute-advantage" in named.stderr
    assert json.loads(named.stdout)["measures"] == found["measures"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "column"), [("pipeline", "c"), ("pipeline", "illness"), ("model", "c")]
)
def test_a_pipeline_on_named_columns_gets_them(folder, model, column):
    named = ("--fitted", f"attribute_model.py:{model}")
    found = audited(folder, *named, "--sensitive", column)
    assert found["column"] == column
    assert found["measures"]["attribute-advantage.low"] > 0
    assert len(found["values"]) == (5 if column == "c" else 3)


def test_a_function_that_needs_rows_is_the_model_itself(folder):
    (folder / "needs.py").write_text("def model(x):\n    return 1 / 0\n")
    done = run("--fitted", "needs.py:model", "--sensitive", "illness")
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == (
        "function failed to predict 400 records: ZeroDivisionError: division by zero"
    )


def test_an_unknown_column_is_one_line(folder):
    done = run("--sensitive", "height")
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == (
        "no column 'height' among the features; the columns are a, town, b, c, d, illness"
    )
