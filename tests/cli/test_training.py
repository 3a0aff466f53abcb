"""Training from the command line: in a process of its own where it is stopped, else in this one."""

import json
import os
import shutil
import signal
import sys
import time

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers.audit.models import audit_model
from privacygauge.classifiers.probe_training import Cost
from privacygauge.errors import InputError
from privacygauge.runs.results import LIST
from privacygauge.runs.store import read_run
from tests.cli.test_main import FILES, begun, one_line, run_inside
from tests.runs.sample import made

MODELS = '''
"""A user's file."""

import os
import time

import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier


def tree(random_state):
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return DecisionTreeClassifier(random_state=random_state)


def without(random_state):
    return LinearSVC()


def broken(random_state):
    return Broken()


class Broken(GaussianNB):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def fitted():
    rng = np.random.default_rng(0)
    return GaussianNB().fit(rng.normal(size=(20, 5)), np.arange(20) % 2)


known = fitted()
number = 3
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a small table and a file of models."""
    folder = tmp_path_factory.mktemp("place")
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    frame = pd.DataFrame(rng.normal(size=(40, 2)).round(3) + y[:, None], columns=["a", "b"])
    frame["ward"] = np.array(["n", "s", "w"])[rng.integers(3, size=40)]
    frame["trained"] = rng.random(40) < 0.5
    frame["name"] = [f"p{i}" for i in range(40)]
    frame["sick"] = np.array(["no", "yes"])[y]
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "user_models.py").write_text(MODELS)
    return folder


@pytest.fixture
def inside(place, monkeypatch, capsys, tmp_path):
    """Run a command in this process, in the folder of the files."""
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    # Where other tests came between, the folder is another one.
    monkeypatch.delitem(sys.modules, "user_models", raising=False)
    return lambda *arguments: run_inside(arguments, capsys)


BASE = ("--data", "t.csv", "--label", "sick", "--drop", "name", "--drop", "trained")
MEASURE = "privacygauge.classifiers.probe_training.measure_cost"
TREE = ("classifier", "--model", "user_models.py:tree", *BASE, "--jobs", 1)


def started(place, out, *more, pause=0.0):
    environment = {**os.environ, "PAUSE": str(pause)}
    return begun(*TREE, "--shadows", 7, "--out", out, *more, cwd=place, env=environment)


def wait_for(run, n_models, process):
    """Wait until so many models are on disk, and fail if the process ends before."""
    digests = run / "observations.zarr" / "digest" / "c"
    until = time.monotonic() + 60
    while not digests.is_dir() or len(list(digests.iterdir())) < n_models:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture(scope="module")
def straight(place, tmp_path_factory):
    """The report of a run that nobody stopped, and what was said."""
    out = tmp_path_factory.mktemp("straight")
    running = started(place, out)
    said, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    return out, said, errors


@pytest.mark.slow
def test_a_model_of_the_users_is_trained_and_audited(place, straight):
    out, said, errors = straight
    assert sorted(path.name for path in out.iterdir()) == sorted([LIST, *FILES, "run"])
    assert str(out / "report.html") in said
    assert errors.startswith("Training 8 models (1 target, 7 shadow models), ")
    report = json.loads((out / "report.json").read_text())
    assert report["command"] == "classifier"
    assert report["seed"] == 0
    assert {a["name"] for a in report["attacks"]} >= {"confidence", "lira-online", "untargeted"}
    assert report["provenance"]["classes"] == "0 = no, 1 = yes"
    assert report["provenance"]["records"] == "40"
    assert report["provenance"]["data"].startswith("t.csv sha256:")


@pytest.mark.slow
def test_the_python_call_finds_the_same(place, straight):
    from sklearn.tree import DecisionTreeClassifier

    frame = pd.read_csv(place / "t.csv")
    x = pd.get_dummies(frame[["a", "b", "ward"]], dtype=float).to_numpy()
    y = (frame["sick"] == "yes").to_numpy(int)
    audit = audit_model(lambda state: DecisionTreeClassifier(random_state=state), x, y, n_shadows=7)
    found = json.loads((straight[0] / "report.json").read_text())
    assert {a["name"]: a["auc"]["value"] for a in found["attacks"]} == {
        a["name"]: a["auc"]["value"] for a in json.loads(audit.to_json())["attacks"]
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "stop", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_a_run_that_was_stopped_is_gone_on_with(place, straight, tmp_path, inside, stop):
    out = tmp_path / "out"
    running = started(place, out, pause=0.3)
    wait_for(out / "run", 2, running)
    running.send_signal(stop)
    _, errors = running.communicate(timeout=60)
    if stop == signal.SIGINT:
        assert running.returncode == 130
        again = f"privacygauge resume {out} --model user_models.py:tree"
        assert f"privacygauge: resume with: {again}" in errors
        assert "Traceback" not in errors
    assert 2 <= read_run(out / "run").n_done() < 8
    assert not (out / "report.json").exists()
    listed = json.loads(inside("runs", out, "--json", "-").stdout)
    assert [(r["kind"], r["of"], r["unit"]) for r in listed] == [("classifier", 8, "model")]
    assert listed[0]["done"] == read_run(out / "run").n_done()
    one_line(inside("report", out), "is not finished")
    # From another folder: a run knows where its files are.
    os.chdir(tmp_path)
    one_line(inside("resume", out, "--jobs", 1), "name it again with --model")
    done = inside("resume", out, "--jobs", 1, "--model", place / "user_models.py:tree")
    assert done.returncode == 0, done.stderr
    # Nothing is trained to know what it costs.
    assert done.stderr == ""
    assert (out / "report.json").read_bytes() == (straight[0] / "report.json").read_bytes()


@pytest.mark.slow
def test_a_report_is_written_again_and_nothing_is_trained(straight, tmp_path, inside, monkeypatch):
    from sklearn.tree import DecisionTreeClassifier

    def fit(self, X, y):
        raise AssertionError("nothing is to be trained")

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit)
    out = straight[0]
    expected = (straight[0] / "report.json").read_bytes()
    done = inside("report", out, "--out", tmp_path / "again")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "again" / "report.json").read_bytes() == expected
    assert sorted(p.name for p in (tmp_path / "again").iterdir()) == [LIST, *FILES]
    # By the run's own folder; a limit holds here too.
    printed = inside("report", out / "run", "--json", "-", "--fail-above", "auc=0.1")
    told = json.loads(printed.stdout)
    before = json.loads(expected)
    assert [x["metric"] for x in told["limits"]] == ["auc"]
    assert {**told, "limits": []} == before
    assert printed.returncode == 3
    # The same command as at first finds all models there.
    again = inside(*TREE, "--out", out)
    assert (again.returncode, again.stderr) == (0, "")
    assert (out / "report.json").read_bytes() == expected


@pytest.mark.slow
def test_a_run_is_of_its_own_data_and_settings(place, straight, inside, monkeypatch, tmp_path):
    out = straight[0]
    one_line_last(inside(*TREE, "--out", out, "--shadows", 2), "can grow but not shrink")
    one_line(inside(*TREE, "--out", out, "--seed", 1), "holds another run")
    other = inside("classifier", "--model", "naive-bayes", *BASE, "--out", out, "--jobs", 1)
    one_line(other, "holds another run")


FAILING = """
from sklearn.tree import DecisionTreeClassifier

fits = []

class Tree(DecisionTreeClassifier):
    def fit(self, x, y):
        fits.append(1)
        if len(fits) > {}:
            raise RuntimeError("oops")
        return super().fit(x, y)

def make(state):
    return Tree(random_state=state)
"""


@pytest.mark.slow
def test_a_first_try_that_fails_does_not_block_the_folder(place, inside, tmp_path):
    own = tmp_path / "own_trees.py"
    asked = ("classifier", "--model", f"{own}:make", *BASE, "--jobs", 1, "--shadows", 7)
    out = tmp_path / "out"
    straight = tmp_path / "straight"
    own.write_text(FAILING.format(5))
    one_line_last(inside(*asked, "--out", out), "oops")
    assert 0 < read_run(out / "run").n_done() < 8
    own.write_text(FAILING.format(1000))
    (out / "run" / "note.txt").write_text("kept")
    for folder in (out, straight):
        done = inside(*asked, "--seed", 1, "--out", folder)
        assert done.returncode == 0, done.stderr
    assert (out / "run" / "note.txt").read_text() == "kept"
    assert (out / "report.json").read_bytes() == (straight / "report.json").read_bytes()
    # What is done is no failure, and is never replaced.
    own.write_text(FAILING.format(1001))
    one_line_last(inside(*asked, "--seed", 1, "--out", out), "made with other code")
    one_line_last(inside(*asked, "--seed", 2, "--out", out), "made with other code")


@pytest.mark.slow
def test_files_of_a_run_may_move(place, straight, inside, tmp_path):
    data = tmp_path / "t.csv"
    data.write_bytes((place / "t.csv").read_bytes())
    (place / "t.csv").rename(place / "elsewhere.csv")
    try:
        for command in ("report", "resume", "worker"):
            out = tmp_path / command
            shutil.copytree(straight[0], out)
            code = () if command == "report" else ("--model", "user_models.py:tree", "--jobs", 1)
            gone = inside(command, out, *code)
            one_line(gone, "does not exist any more: if it was moved, say where it is with --data")
            other = inside(command, out, *code, "--data", "user_models.py")
            one_line(other, "user_models.py is not the file that the run began with")
            one_line(inside(command, out, *code, "--data", "x=t.csv"), "the run has no file 'x'")
            one_line(inside(command, out, *code, "--data", "none.csv"), "none.csv does not exist")
            for text in (data, f"data={data}"):
                done = inside(command, out, *code, "--data", text)
                assert done.returncode == 0, done.stderr
                found = (out / "report.json").read_bytes()
                assert found == (straight[0] / "report.json").read_bytes()
        # From then on the run knows it.
        assert inside("resume", out, *code).returncode == 0
    finally:
        (place / "elsewhere.csv").rename(place / "t.csv")


def one_line_last(done, message):
    """Check the last line of the errors; what training costs was said before."""
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_runs_are_listed(tmp_path, inside):
    made(tmp_path / "out" / "run")
    table = inside("runs", tmp_path / "out")
    assert table.returncode == 0
    assert "classifier" in table.stdout
    (tmp_path / "empty").mkdir()
    assert "Nothing found." in inside("runs", tmp_path / "empty").stdout
    one_line(inside("runs", tmp_path / "absent"), "is not a folder")


@pytest.fixture
def asked(monkeypatch):
    """Return what audits are asked for; none is made."""
    requests = []

    def run(options, trainer, x, y, **given):
        requests.append({"x": x, "y": y, **vars(options), **given, **vars(given["session"])})
        raise InputError("no audit is made")

    monkeypatch.setattr("privacygauge.classifiers.audit.models.ModelOptions.run", run)
    return requests


@pytest.mark.parametrize(
    ("options", "shadows", "lost"),
    [
        (("--budget", "6s"), 4, "does not pay for 8 shadow models (about 9 s)"),
        (("--budget", "6s", "--shadows", 12), 4, "does not pay for 12 shadow models"),
        (("--budget", "1m", "--shadows", 64), 32, "given up are per-record variances"),
        (("--budget", "1h", "--shadows", 5), 5, None),
        (("--budget", "1h"), 256, None),
        ((), 16, None),
    ],
)
def test_a_budget_chooses_how_many_models_are_trained(
    inside, asked, tmp_path, monkeypatch, options, shadows, lost
):
    monkeypatch.setattr(MEASURE, lambda *a, **more: Cost(1.0, 1, 1))
    done = inside(*TREE, *options, "--out", tmp_path)
    assert asked[0]["n_shadows"] == shadows
    assert f"Training {shadows + 1} models (1 target, {shadows} shadow models), 1 s" in done.stderr
    assert ("does not pay" in done.stderr) == (lost is not None)
    assert (lost or "") in done.stderr
    assert asked[0]["invocation"]["options"]["shadows"] == shadows
    assert asked[0]["invocation"]["options"]["budget"] is None


def test_a_budget_for_nothing_is_an_error(inside, tmp_path, monkeypatch):
    monkeypatch.setattr(MEASURE, lambda *a, **more: Cost(1.0, 1, 1))
    out = ("--out", tmp_path / "out")
    one_line(inside(*TREE, "--budget", "3s", *out), "even 4 shadow models would take about 5 s")
    one_line(inside(*TREE, "--budget", "soon", *out), "such as 90s, 10m or 2h, got 'soon'")


def test_fewer_records_are_drawn_at_random_and_keep_their_names(inside, asked):
    for seed in (0, 0, 1):
        inside(
            *("classifier", "--model", "naive-bayes", "--data", "t.csv", "--label", "sick"),
            *("--drop", "trained", "--id", "name", "--records", 30, "--seed", seed),
            *("--jobs", 1, "--json", "-", "--quiet"),
        )
    first, again, other = ([str(name) for name in request["ids"]] for request in asked)
    assert len(set(first)) == 30
    assert set(first) < {f"p{i}" for i in range(40)}
    assert first == again != other
    # The rows stay together: even numbers are healthy, odd ones sick.
    assert [int(name[1:]) % 2 for name in first] == asked[0]["y"].tolist()
    assert all(len(column) == 30 for column in asked[0]["slices"].values())


@pytest.mark.slow
@pytest.mark.torch
def test_networks_get_standardised_features_and_others_what_is_there(
    inside, asked, place, monkeypatch
):
    pytest.importorskip("torch")
    monkeypatch.setattr(MEASURE, lambda *a, **more: Cost(1.0, 1, 1))
    for model in ("network", "naive-bayes"):
        inside("classifier", "--model", model, *BASE, "--jobs", 1, "--json", "-", "--shadows", 2)
    plain = asked[1]["x"]
    x = asked[0]["x"]
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(x.std(axis=0), 1)
    assert plain[:, 0].tolist() == pd.read_csv(place / "t.csv")["a"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["known", "fitted"])
def test_a_model_that_exists_is_audited(inside, tmp_path, name):
    done = inside(
        *("classifier", "--model", "naive-bayes", "--data", "t.csv", "--label", "sick"),
        *("--drop", "name", "--fitted", f"user_models.py:{name}", "--member", "trained"),
        *("--shadows", 4, "--jobs", 1, "--json", "-"),
    )
    assert done.returncode == 0, done.stderr
    assert "Training 4 models (4 shadow models), " in done.stderr
    assert "no coins were drawn" in json.loads(done.stdout)["game"]["secret"]


@pytest.mark.slow
@pytest.mark.parametrize("exists", [False, True])
def test_a_label_only_audit_is_reported_again_from_its_run(inside, tmp_path, exists):
    member = ("--fitted", "user_models.py:known", "--member", "trained")
    asked = (*given("--drop", "name", model="nearest"), "--label-only", "--shadows", 3)
    done = inside(*asked, *(member if exists else ()), "--jobs", 1, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    first = json.loads((tmp_path / "out" / "report.json").read_text())
    assert first["provenance"]["queries per record"] == "71"
    assert {"noise-0.1", "boundary-distance"} <= {attack["name"] for attack in first["attacks"]}
    assert inside("report", tmp_path / "out").returncode == 0
    again = json.loads((tmp_path / "out" / "report.json").read_text())
    assert again["attacks"] == first["attacks"]


def given(*more, model="naive-bayes", data="t.csv", label="sick"):
    return ("classifier", "--model", model, "--data", data, "--label", label, *more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (given(model="magic"), "--model must be one of random-forest, gradient-boosting"),
        (given(model="absent.py:tree"), "absent.py does not exist"),
        (given(model="user_models.py:absent"), "has no 'absent'"),
        (given(model="no.such.module:tree"), "no.such.module cannot be imported"),
        (given(model=":tree"), "give FILE.py:NAME or MODULE:NAME, got ':tree'"),
        (given(model="user_models.py:"), "give FILE.py:NAME or MODULE:NAME"),
        (given(model="bad_syntax.py:tree"), "bad_syntax cannot be imported"),
        (given(model="json.py:tree"), "json.py has the name of another module"),
        (given(model="user_models.py:without"), "LinearSVC has no predict_proba"),
        (given(model="user_models.py:number"), "estimator with fit and predict_proba"),
        (given(data="absent.csv"), "absent.csv does not exist"),
        (given(data="."), "holds no images in a folder for each class"),
        (given(data="user_models.py"), "must end in .npz, .parquet, .csv, .tsv,"),
        (given(label="sik"), "no column 'sik'; its columns are a, b, ward"),
        (given("--drop", "sik"), "no column 'sik'"),
        (given("--id", "sik"), "no column 'sik'"),
        (given(data="holes.csv"), "2 values are missing in column 'a'"),
        (given("--records", "41"), "--records must be in 4..40, the number of records in t.csv"),
        (given("--records", "3"), "got 3"),
        (given("--shadows", "0"), "--shadows must be at least 1, got 0"),
        (given("--shadows", "-2"), "--shadows must be at least 1, got -2"),
        (given("--jobs", "0"), "n_jobs must be at least 1"),
        (given("--fitted", "user_models.py:known"), "--fitted needs --member COLUMN"),
        (given("--member", "trained"), "give that model with --fitted"),
        (given("--fitted", "user_models.py:number", "--member", "trained"), "gives int"),
        (given("--shadow", "s.npz"), "--shadow goes with TARGET"),
        (given("--slice", "ward"), "--slice goes with TARGET"),
        (("classifier", "p.npz", "--label-only"), "it goes with --model, not with TARGET"),
        (("classifier", "p.npz", "--model", "nearest"), "give either TARGET, or --model and"),
        (("classifier", "p.npz", "--data", "t.csv"), "not both"),
        (("classifier", "--model", "nearest"), "both --model and --data"),
        (("classifier", "--data", "t.csv"), "both --model and --data"),
        (("resume", "."), "holds no run; privacygauge runs lists"),
        (("resume", "t.csv"), "holds no run"),
        (("report", "absent"), "holds no run"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(place, inside, tmp_path, arguments, message):
    (place / "bad_syntax.py").write_text("def tree(:\n")
    (place / "json.py").write_text(MODELS)  # the name of a module that is there already
    frame = pd.read_csv(place / "t.csv")
    frame.loc[[3, 5], "a"] = None
    frame.to_csv(place / "holes.csv", index=False)
    out = () if arguments[0] in ("resume", "report") else ("--out", tmp_path / "out")
    done = inside(*arguments, *out)
    (place / "json.py").unlink()
    one_line(done, message)
    # What stops before training leaves nothing behind.
    assert not (tmp_path / "out" / "run").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("classifier",),
        ("classifier", "--model", "nearest"),
        given("--fitted", "user_models.py:known"),
        ("defend", "--data", "t.csv"),
        ("worst-case", "--data", "t.csv", "--fpr", "low"),
        ("dtp", "--data", "t.csv", "--model", "lda", "--continuous", "a"),
    ],
)
def test_options_that_do_not_go_together_leave_no_folder(inside, tmp_path, arguments):
    assert inside(*arguments, "--out", tmp_path / "out").returncode == 2
    assert not (tmp_path / "out").exists()


def test_models_that_all_fail_are_an_error(inside, tmp_path):
    done = inside(
        *given(*BASE[4:], "--shadows", 2, "--jobs", 1, model="user_models.py:broken"),
        "--out",
        tmp_path,
    )
    one_line_last(done, "training the target failed")


@pytest.mark.slow
def test_a_run_from_python_is_gone_on_with_in_python(inside, tmp_path):
    from tests.audits.test_model import QUICK, X, Y, tree

    audit_model(tree, X, Y, n_shadows=3, attacks=QUICK, run=tmp_path)
    for command in ("resume", "report"):
        one_line(inside(command, tmp_path), "was started from Python: make the same call again")


@pytest.mark.slow
def test_every_new_command_has_help_with_an_example(inside, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command in ("reproduce", "resume", "report", "runs"):
        text = inside(command, "--help").stdout
        assert f"Example: privacygauge {command}" in " ".join(text.split())
        assert "--json" in text
