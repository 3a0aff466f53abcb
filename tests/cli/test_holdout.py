"""`privacygauge holdout bound` and `attack`: the keys that others rely on, and the exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from privacygauge.leaderboards.attack_audit.command import AttackRequest
from privacygauge.leaderboards.bound_audit.audit import holdout_bounds
from privacygauge.leaderboards.bounds import honest_best_of_k, nb_bias
from privacygauge.runs.results import LIST
from tests.cli.test_main import run_inside

KEYS = ("nb", "majority", "linear_scan", "honest_best_of_k", "theorem_3_1", "kl")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("holdout")
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 90)
    logits = rng.normal(size=(90, 3))
    logits[np.arange(90), labels] += 1
    np.save(folder / "labels.npy", labels)
    np.save(folder / "logits.npy", logits)
    return folder


def bound(*options):
    return ("holdout", "bound", "--n", 2_000, "--classes", 3, *options)


def attack(files, *options):
    if "--labels" not in options:
        options = ("--labels", files / "labels.npy", *options)
    return ("holdout", "attack", "--queries", 30, *options)


def one_line(done, message):
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_bound_has_the_keys_of_the_interface(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_inside(bound("--queries", 500, "--json", "-"), capsys)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["kind"] == "holdout-bound"
    assert {key: found[key] for key in KEYS} == {
        key: holdout_bounds(2_000, 3, 500).bias(key).value for key in KEYS
    }
    assert list(tmp_path.iterdir()) == []
    more = ("--queries", 500, "--accuracy", 0.5, "--json", "-")
    again = json.loads(run_inside(bound(*more), capsys).stdout)
    wanted = honest_best_of_k(2_000, 500, accuracy=0.5)
    assert again["honest_best_of_k"] == pytest.approx(wanted)
    # About sqrt(p(1 - p)), which is 0.5 in place of 0.4.
    assert wanted == pytest.approx(found["honest_best_of_k"] * 1.25, rel=0.03)


@pytest.mark.slow
def test_accounts_times_their_limit_are_the_queries(capsys):
    each = ("--accounts", 20, "--per-account", 25, "--json", "-")
    found = json.loads(run_inside(bound(*each), capsys).stdout)
    assert found["queries"] == 500
    assert found["nb"] == nb_bias(2_000, 3, 500)
    for options in ((), ("--accounts", 20), ("--queries", 5, "--accounts", 1)):
        one_line(run_inside(bound(*options), capsys), "give either --queries, the submissions of")


def test_bound_prints_and_writes_nothing_unless_asked(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_inside(bound("--queries", 500), capsys)
    assert done.returncode == 0
    assert "Log-loss" in done.stdout
    assert "Report:" not in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_limits_of_bound(capsys):
    held = holdout_bounds(2_000, 3, 500)
    for metric, key in [("honest", "honest_best_of_k"), ("nb", "nb"), ("kl", "kl")]:
        value = held.bias(key).value
        for limit, code in ((value * 1.01, 0), (value * 0.99, 3)):
            options = ("--queries", 500, "--quiet", "--fail-above", f"{metric}={limit}")
            assert run_inside(bound(*options), capsys).returncode == code
    strongest = run_inside(bound("--queries", 500, "--quiet", "--fail-above", "bias=0"), capsys)
    assert strongest.returncode == 3
    silent = ("--queries", 500, "--guard", "ladder", "--quiet", "--fail-above", "bias=1")
    assert "was not computed" in run_inside(bound(*silent), capsys).stderr
    unknown = run_inside(bound("--queries", 5, "--fail-above", "auc=1"), capsys)
    one_line(unknown, "no metric 'auc'; there are bias, honest, nb")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--n", 0), "n must be in 1..10^9"),
        (("--classes", 1), "classes must be at least 2"),
        (("--guard", "round:0"), "decimals must be in 1..12"),
        (("--bias", 0.9), "bias must be in (0, 0.6667)"),
    ],
)
def test_bad_numbers_get_one_line(options, message, capsys):
    one_line(run_inside(bound("--queries", 5, *options), capsys), message)


def test_attack_has_the_keys_of_the_interface(files, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_inside(attack(files, "--attack", "nb", "--trials", 2, "--json", "-"), capsys)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["accuracy"]["n"] == 2
    assert found["baseline"] == pytest.approx(1 / 3)
    assert found["queries_used"] == 30
    accuracy = found["accuracy"]["value"]
    bias = found["bias"]["value"]
    assert bias == pytest.approx(accuracy - found["baseline"])
    assert list(tmp_path.iterdir()) == []


def test_attack_writes_a_report_and_goes_on_with_it(files, capsys, tmp_path):
    out = tmp_path / "out"
    options = ("--attack", "nb,scan", "--guard", "exact,ladder:0.01", "--trials", 2, "--out", out)
    known = ("--logits", files / "logits.npy", "--top", 2, "--least-confident", 40)
    done = run_inside(attack(files, *options, *known), capsys)
    assert done.returncode == 0
    assert str(out / "report.html") in done.stdout
    assert sorted(p.name for p in out.iterdir()) == [LIST, "report.html", "report.json", "run"]
    text = (out / "report.json").read_text()
    found = json.loads(text)
    assert [(a["name"], a["guard"]) for a in found["attacks"]] == [
        ("nb", "exact"), ("nb", "ladder:0.01"), ("scan", "exact"), ("scan", "ladder:0.01"),
    ]  # fmt: skip
    assert found["baseline"] == found["model_accuracy"]
    assert "sha256:" in found["provenance"]["labels"]
    again = run_inside(attack(files, *options, *known, "--quiet"), capsys)
    assert (again.returncode, again.stdout) == (0, "")
    assert (out / "report.json").read_text() == text
    other = run_inside(attack(files, *options, *known, "--seed", 1), capsys)
    one_line(other, "holds another run: seed is 0 there and 1 here")


@pytest.mark.slow
def test_attack_takes_a_metric_of_numbers(files, capsys, tmp_path):
    np.savetxt(tmp_path / "hidden.csv", np.linspace(0, 9, 90), header="price", comments="")
    asked = (*attack(files)[:2], "--labels", tmp_path / "hidden.csv", "--queries", 60)
    options = ("--metric", "rmse:0:10", "--guard", "exact,ladder:0.05", "--trials", 3)
    done = run_inside((*asked, *options, "--json", "-"), capsys)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["metric"], found["classes"], found["guard"]) == ("rmse:0:10", 0, "exact")
    assert 0 < found["bias"]["value"] < found["guards"][0]["kl"]


@pytest.mark.slow
def test_limits_of_attack(files, capsys):
    asked = attack(files, "--trials", 60, "--json", "-")
    value = json.loads(run_inside(asked, capsys).stdout)["bias"]["value"]
    for limit, code in ((value + 0.01, 0), (value - 0.01, 3)):
        done = run_inside((*asked, "--fail-above", f"bias={limit}"), capsys)
        assert done.returncode == code
    once = attack(files, "--trials", 1, "--quiet", "--json", "-", "--fail-above", "bias.low=0")
    assert "bias.low was not computed" in run_inside(once, capsys).stderr


@pytest.mark.slow
def test_bad_files_and_names_get_one_line(files, capsys, tmp_path):
    np.save(tmp_path / "long.npy", np.zeros((91, 3)))
    cases = {
        ("--attack", "magic"): "attack must be one of nb, majority, ",
        ("--guard", "wall"): "guard must be one of exact, ",
        ("--labels", tmp_path / "none.npy"): "none.npy does not exist",
        ("--logits", tmp_path / "long.npy"): "with a row for each of 90 labels, got (91, 3)",
        ("--top", 2): "top needs logits of a base model",
        ("--classes", 2): "labels must be one or more integers in 0..1",
        ("--trials", 0): "trials must be at least 1, got 0",
    }
    for options, message in cases.items():
        one_line(run_inside(attack(files, *options, "--json", "-"), capsys), message)


def test_a_run_keeps_what_was_asked():
    asked = AttackRequest(
        labels="labels.npy", queries=5, attacks=("nb", "scan"), logits="z.npy", top=2
    )
    again = AttackRequest.kept(json.loads(json.dumps(asked.settled())))
    assert again.labels.endswith("/labels.npy")
    assert (again.attacks, again.top, again.queries) == (("nb", "scan"), 2, 5)


def test_the_group_alone_prints_its_help(capsys):
    done = run_inside(("holdout",), capsys)
    assert done.returncode == 0
    assert "bound" in done.stdout
    assert "attack" in done.stdout
