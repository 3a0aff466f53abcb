"""`privacygauge defend`: its options, its JSON, its exit codes, one line for bad input."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from privacygauge.claims.defence_audit import command
from privacygauge.claims.defences import named
from privacygauge.classifiers.files import save_predictions
from privacygauge.cli.main import app
from privacygauge.errors import InputError
from privacygauge.runs.results import LIST
from tests.audits.example_defences import ATTACKS
from tests.classifiers.made import made_up


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predictions")
    for seed, name in enumerate(("target", "shadow", "owner-target", "owner-shadow")):
        save_predictions(made_up(n=120, leak=3.0, seed=seed), folder / f"{name}.npz")
    return folder


@pytest.fixture
def few_attacks(monkeypatch):
    """The neural networks of the full suite take seconds."""
    monkeypatch.setattr(
        "privacygauge.claims.defence_audit.audit.defence_attacks", lambda logits: ATTACKS
    )


def done(files, *more):
    given = "defend", files / "target.npz", "--shadow", files / "shadow.npz"
    return CliRunner().invoke(app, [str(x) for x in (*given, *more)])


@pytest.mark.usefixtures("few_attacks")
def test_the_json_that_others_read(files):
    result = done(
        files, "--defence", "rounding:1,label-only", "--defence", "temperature", "--json", "-",
        "--owner-target", files / "owner-target.npz",
        "--owner-shadow", files / "owner-shadow.npz",
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout)
    assert (found["schema"], found["command"]) == ("privacygauge/2", "defend")
    assert [d["name"] for d in found["defences"]] == ["rounding", "label-only", "temperature"]
    assert found["fitted"] == "on records of the owner that are not judged"
    assert found["provenance"]["owner target"].startswith("owner-target.npz sha256:")
    assert (found["n_in"], found["n_out"]) == (60, 60)


@pytest.mark.slow
@pytest.mark.usefixtures("few_attacks")
def test_a_report_is_written_and_the_table_is_printed(files, tmp_path):
    result = done(files, "--defence", "label-only", "--out", tmp_path / "report")
    assert result.exit_code == 0, result.exception
    assert "label-only" in result.stdout
    names = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert names == [LIST, "attacks.csv", "defences.csv", "report.html", "report.json"]


@pytest.mark.slow
@pytest.mark.usefixtures("few_attacks")
def test_a_limit_is_on_the_least_protected(files):
    """Labels alone leave least, rounding to 15 digits everything."""
    limits = ("--json", "-", "--quiet", "--fail-above")
    both = done(files, "--defence", "label-only,rounding:15", *limits, "auc=0.75")
    assert both.exit_code == 3
    assert "auc is 0." in both.stderr
    alone = done(files, "--defence", "label-only", *limits, "auc=0.75")
    assert alone.exit_code == 0
    found = json.loads(both.stdout)["defences"]
    value = max(d["left"]["accuracy"]["low"] for d in found)
    passed = done(files, "--defence", "label-only,rounding:15", *limits, f"accuracy.low={value!r}")
    assert passed.exit_code == 0


@pytest.mark.usefixtures("few_attacks")
def test_what_can_be_undone_is_held_to_the_limit_as_no_defence(files):
    limited = done(
        files, "--defence", "temperature:5", "--json", "-", "--fail-above", "accuracy.low=0.001"
    )
    found = json.loads(limited.stdout)
    none = found["undefended"]["accuracy"]["low"]
    assert found["defences"][0]["left"]["accuracy"]["low"] >= none
    assert limited.exit_code == 3


@pytest.mark.slow
def test_the_full_suite_is_played(files):
    result = done(files, "--defence", "memguard:0.5,label-only", "--json", "-")
    assert result.exit_code == 0, result.exception
    names = {a["name"] for a in json.loads(result.stdout)["defences"][0]["attacks"]}
    assert {"correctness (per-class)", "neural-jia (sorted)", "neural-nasr"} <= names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--defence", "noise:1"), "defence must be one of memguard:1"),
        (("--defence", ","), "at least one defence is needed"),
        (("--defence", "top-k:0"), "k must be at least 1, got 0"),
        (("--defence", "label-only,label-only"), "two defences are called 'label-only ()'"),
        (("--defence", "label-only", "--fail-above", "risk=1"), "no metric 'risk'; there are"),
        (("--defence", "label-only", "--owner-target", "x.npz"), "--owner-shadow go together"),
        (("--defence", "label-only", "--level", "2"), r"level must be in (0, 1), got 2.0"),
    ],
)
def test_bad_options_are_refused_in_one_line(files, options, message):
    result = done(files, *options, "--json", "-")
    assert isinstance(result.exception, InputError), result.output
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_the_defences_that_are_offered_are_all_there_are():
    assert ", ".join(command.DEFENCES) == f"{named.DEFENCES}, {named.TRAINING_DEFENCES}"
