"""`privacygauge dtp`: the options that others rely on, one line for bad input, runs that go on."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB

from privacygauge.classifiers.ratios import log_ratio
from tests.cli.test_main import run_inside


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 80
    frame = pd.DataFrame(
        {
            "ward": rng.choice(["a", "b", "c"], n, p=[0.6, 0.38, 0.02]),
            "age": rng.integers(20, 24, n),
            "name": [f"<b>p{i}</b>" for i in range(n)],
        }
    )
    frame["sick"] = np.where(rng.random(n) < 0.3, "yes", "no")
    path = tmp_path_factory.mktemp("dtp") / "people.csv"
    frame.to_csv(path, index=False)
    return path, frame


def asked(path, *options):
    return ("dtp", "--data", str(path), "--label", "sick", "--drop", "name", *options)


@pytest.mark.slow
def test_naive_bayes_is_that_of_scikit_learn_refitted(table, capsys):
    path, frame = table
    done = run_inside(asked(path, "--model", "naive-bayes", "--bin", "0", "--json", "-"), capsys)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    codes = np.column_stack([pd.factorize(frame[c])[0] for c in ("ward", "age")])
    sizes = codes.max(axis=0) + 1
    y = (frame["sick"] == "yes").to_numpy(int)

    def fitted(rows):
        return CategoricalNB(alpha=1.0, min_categories=sizes).fit(codes[rows], y[rows])

    everyone = np.ones(len(y), bool)
    with_it = fitted(everyone).predict_log_proba(codes)
    values = []
    for row in range(len(y)):
        rest = everyone.copy()
        rest[row] = False
        without = fitted(rest).predict_log_proba(codes[[row]])[0]
        values.append(log_ratio(with_it[row], without))
    assert found["pdtp"]["max"] == pytest.approx(max(values), abs=1e-9)
    assert found["pdtp"]["mean"] == pytest.approx(np.mean(values), abs=1e-9)
    assert found["pdtp"]["above_1"] == sum(v > 1 for v in values)
    assert found["decision"] == ("do not publish" if found["dtp"]["lower"] > 1 else "publish")


def test_a_learner_of_the_users_leaves_records_out_without_training(table, capsys, tmp_path):
    path, _ = table
    (tmp_path / "own_learner.py").write_text(
        "from privacygauge.claims.dtp.logistic import Logistic\nmine = Logistic(0.5)\n"
    )
    named = ("--model", str(tmp_path / "own_learner.py:mine"), "--out", str(tmp_path / "out"))
    done = run_inside(asked(path, *named, "--json", "-"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "from one factorised Hessian" in found["method"]
    assert "Training" not in done.stderr


@pytest.mark.slow
def test_the_files_of_a_report_are_written(table, capsys, tmp_path):
    path, _ = table
    options = ("--id", "name", "--remove", "3", "--training-sets", "2", "--vary", "3")
    out = tmp_path / "out"
    command = ("dtp", "--data", str(path), "--label", "sick", *options, "--out", str(out))
    done = run_inside(command, capsys)
    assert done.returncode == 0
    assert "naive Bayes" in done.stdout
    records = pd.read_parquet(out / "records.parquet")
    assert list(records.columns)[:4] == ["row", "pdtp", "dtp_lower", "dtp_upper"]
    assert (records["dtp_lower"] >= records["pdtp"]).all()
    page = (out / "report.html").read_text()
    assert "<b>p" not in page
    assert "&lt;b&gt;p" in page
    assert (out / "removal.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["bayes-inference", "random-trees", "logistic", "lda", "least-squares", "nearest"]
)
def test_every_model_without_training_is_measured(table, capsys, model):
    path, _ = table
    done = run_inside(asked(path, "--model", model, "--json", "-"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n_measured"] == found["n_train"] == 80
    assert 0 <= found["pdtp"]["mean"] <= found["pdtp"]["max"]


@pytest.mark.slow
def test_other_models_are_trained_and_gone_on_with(table, capsys, tmp_path):
    path, _ = table
    out = tmp_path / "out"
    options = ("--model", "random-forest", "--measure", "3", "--jobs", "1", "--out", str(out))
    done = run_inside(asked(path, *options), capsys)
    assert done.returncode == 0, done.stderr
    assert "without each of 3 records" in done.stderr
    first = (out / "report.json").read_text()
    again = run_inside(("resume", str(out), "--quiet"), capsys)
    assert again.returncode == 0, again.stderr
    assert (out / "report.json").read_text() == first
    listed = run_inside(("runs", str(out)), capsys)
    assert "dtp" in listed.stdout


def test_a_limit_that_is_exceeded_is_exit_code_3(table, capsys):
    path, _ = table
    done = run_inside(asked(path, "--json", "-", "--fail-above", "pdtp=0.01"), capsys)
    assert done.returncode == 3
    assert "pdtp is" in done.stderr
    passed = run_inside(asked(path, "--json", "-", "--fail-above", "dtp=100"), capsys)
    assert passed.returncode == 0


def test_a_category_of_ones_own_is_warned_of(table, capsys):
    path, _ = table
    done = run_inside(("dtp", "--data", str(path), "--label", "sick", "--json", "-"), capsys)
    assert any("'name' (80 categories)" in line for line in json.loads(done.stdout)["warnings"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "other"), "--model must be one of"),
        (("--continuous", "wrd"), "no attribute 'wrd'"),
        (("--continuous", "ward"), "'ward' holds texts"),
        (("--model", "logistic", "--continuous", "age"), "--continuous goes with naive-bayes"),
        (("--model", "random-trees", "--continuous", "age"), "takes categories only"),
        (("--bin", "0.3"), "bin must be 1 over a whole number"),
        (("--alpha", "-1"), "alpha must be at least 0, got -1.0"),
        (("--measure", "0"), r"--measure must be in 1..80"),
        (("--fail-above", "auc=1"), "no metric 'auc'; there are pdtp, mean"),
        (("--model", "logistic", "--l2", "0"), "l2 must be above 0"),
        (("--remove", "1", "--order", "other"), "order must be"),
        (
            ("--remove", "80"),
            "remove must be at most 79, because one of the 80 records has to stay",
        ),
        (("--model", "models.py"), "--model must be one of naive-bayes, bayes-inference"),
        (("--model", "nowhere.py:tree"), "nowhere.py does not exist"),
        (("--model", "string:digits"), "a model must be an estimator with fit and predict_proba"),
        (("--model", "builtins:max"), "no signature found for builtin"),
        (("--model", "builtins:len"), "len takes no random state"),
        (("--model", "logistic", "--alpha", "0.5"), "--alpha goes with naive-bayes"),
        (("--model", "random-forest", "--alpha", "2"), "random-forest does not have it"),
        (("--model", "lda", "--l2", "2"), "--l2 goes with logistic, least-squares; lda"),
        (("--neighbours", "3"), "--neighbours goes with nearest; naive-bayes"),
    ],
)
def test_bad_input_is_one_line_and_code_2(table, capsys, options, message):
    path, _ = table
    done = run_inside(asked(path, *options, "--json", "-"), capsys)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_one_class_only_is_one_line(tmp_path, capsys):
    path = tmp_path / "one.csv"
    pd.DataFrame({"a": [1, 2, 3], "sick": ["no"] * 3}).to_csv(path, index=False)
    done = run_inside((*asked(path)[:5], "--json", "-"), capsys)
    assert done.returncode == 2
    assert "at least two classes are needed, got no" in done.stderr


def test_a_class_of_one_record_is_infinite_and_no_exception(tmp_path, capsys):
    path = tmp_path / "lone.csv"
    pd.DataFrame({"a": [1, 2, 1, 1], "sick": ["no", "no", "no", "yes"]}).to_csv(path, index=False)
    done = run_inside((*asked(path)[:5], "--bin", "0", "--json", "-"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["pdtp"]["max"] is None
    assert found["pdtp"]["infinite"] == 1
    assert found["decision"] == "do not publish"
    assert any("rows 3" in line for line in found["warnings"])


@pytest.mark.parametrize(
    "model", ["naive-bayes", "logistic", pytest.param("random-forest", marks=pytest.mark.slow)]
)
def test_people_with_several_rows_are_left_out_whole(table, tmp_path, capsys, model):
    _, frame = table
    path = tmp_path / "visits.csv"
    pd.concat([frame, frame[::2]]).to_csv(path, index=False)
    asks = ("dtp", "--data", path, "--label", "sick", "--model", model, "--queries", "5")
    measured = 2 if model == "random-forest" else 6
    asks = (*asks, "--measure", measured, "--jobs", 1, "--json", "-")
    told = []
    for option in ("--unit", "--id"):
        done = run_inside((*asks, option, "name"), capsys)
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    assert [(one["n_train"], one["n_measured"]) for one in told] == [(80, measured)] * 2
    riskiest = [[(r["row"], r["pdtp"]) for r in one["pdtp"].pop("riskiest")] for one in told]
    assert riskiest[0] == riskiest[1]
    assert told[0]["pdtp"] == told[1]["pdtp"]


OWN = """
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

parts = [("texts", OneHotEncoder(), ["ward"]), ("ages", StandardScaler(), ["age"])]
named = make_pipeline(ColumnTransformer(parts), LogisticRegression(tol=1e-10))
coded = make_pipeline(OneHotEncoder(), LogisticRegression(tol=1e-10))


class Unseeded(GaussianNB):
    def fit(self, x, y):
        some = np.random.default_rng().permutation(len(y))[: 9 * len(y) // 10]
        return super().fit(x[some], y[some])


unseeded = Unseeded()
"""


@pytest.fixture
def own(tmp_path):
    code = tmp_path / f"own_{tmp_path.name.replace('-', '_')}.py"
    code.write_text(OWN)
    return code


@pytest.mark.slow
def test_a_pipeline_of_columns_by_name_is_refitted_and_named(table, own, capsys):
    frame = table[1].head(40)
    path = own.with_suffix(".csv")
    frame.to_csv(path, index=False)
    options = ("--model", f"{own}:named", "--bin", "0", "--queries", "5", "--jobs", "1")
    done = run_inside(asked(path, *options, "--json", "-"), capsys)
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1  # what training will cost
    found = json.loads(done.stdout)
    steps = "Pipeline: ColumnTransformer (OneHotEncoder, StandardScaler), LogisticRegression"
    assert steps in found["title"]
    x = frame[["ward", "age"]]
    y = (frame["sick"] == "yes").to_numpy(int)
    space: dict[str, object] = {}
    exec(OWN, space)
    model = space["named"]
    whole = model.fit(x, y).predict_log_proba(x)
    values = []
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        only = (frame["ward"][rest] != frame["ward"][row]).all()
        without = None if only else model.fit(x[rest], y[rest]).predict_log_proba(x.iloc[[row]])
        values.append(np.inf if only else log_ratio(whole[row], without[0]))
    finite = [value for value in values if np.isfinite(value)]
    assert found["pdtp"]["infinite"] == len(values) - len(finite)
    shown = [one["pdtp"] for one in found["pdtp"]["riskiest"] if one["pdtp"] is not None]
    assert shown[0] == pytest.approx(max(finite), abs=1e-6)


@pytest.mark.slow
def test_the_report_of_a_pipelines_run_is_rendered_again(table, own, tmp_path, capsys):
    path, _ = table
    out = tmp_path / "out"
    options = ("--model", f"{own}:named", "--measure", "3", "--queries", "4", "--jobs", "1")
    further = ("--vary", "2", "--training-sets", "1", "--out", str(out))
    done = run_inside(asked(path, *options, *further), capsys)
    assert done.returncode == 0, done.stderr
    first = (out / "report.json").read_text()
    (out / "report.json").unlink()
    again = run_inside(("report", str(out)), capsys)
    assert again.returncode == 0, again.stderr
    assert (out / "report.json").read_text() == first


def test_codes_that_only_some_records_have_are_no_trouble(own, tmp_path, capsys):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"code": rng.choice([10, 20], 40), "sick": rng.choice(["no", "yes"], 40)})
    frame.loc[[3, 17], "code"] = 30
    frame.loc[8, "code"] = 40
    path = tmp_path / "codes.csv"
    frame.to_csv(path, index=False)
    asks = ("dtp", "--data", str(path), "--label", "sick", "--model", f"{own}:coded")
    done = run_inside((*asks, "--jobs", "1", "--bin", "0", "--json", "-"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["pdtp"]["infinite"] == 1  # without it there is no such code
    assert any("cannot be trained, or has no answer" in line for line in found["warnings"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("unseeded", (), "answers differently when it is trained twice"),
        ("named", ("--bin", "0.3"), "bin must be 1 over a whole number"),
        ("named", ("--drop", "ward"), "columns of the dataframe: {'ward'}"),
        ("coded", ("--measure", "0"), "--measure must be in 1..80"),
        ("coded", ("--vary", "1"), "vary must be 0 or at least 2"),
    ],
)
def test_what_is_refused_of_own_models_is_one_line(table, own, capsys, name, options, message):
    path, _ = table
    done = run_inside(asked(path, "--model", f"{own}:{name}", "--jobs", "1", *options), capsys)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
