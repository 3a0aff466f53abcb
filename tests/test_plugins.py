"""What other packages add by name: the example package is installed and used, and adds no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.claims.defences.defence import LabelOnly
from privacygauge.claims.defences.named import any_defence_named, defence_named
from privacygauge.classifiers.suite import chosen_attacks, prediction_attacks
from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import guard_named
from privacygauge.runs import plugins
from privacygauge.tables.generators.named import as_generator

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "plugin"
NAMED = {
    "attacks": "mean-confidence",
    "signals": "margin",
    "generators": "shuffled",
    "guards": "steps",
    "defences": "damped",
    "models": "stump",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder with the example, installed as pip does."""
    pytest.importorskip("hatchling")
    place = tmp_path_factory.mktemp("plugins")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(place)]
    command = [sys.executable, "-m", "pip", "install", *options, str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return place


@pytest.fixture
def run(installed, tmp_path):
    """Return what runs a command beside the example, in a folder with files."""
    rng = np.random.default_rng(0)
    for name in ("target.npz", "shadow.npz"):
        member = rng.random(400) < 0.5
        labels = rng.integers(0, 2, 400)
        sure = np.where(member, 0.85, 0.5) + 0.1 * rng.random(400)
        probs = np.column_stack([np.where(labels == k, sure, 1 - sure) for k in (0, 1)])
        found = pg.predictions(labels=labels, member=member, probs=probs)
        pg.save_predictions(found, tmp_path / name)
    np.save(tmp_path / "labels.npy", labels)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 240), "city": rng.choice([*"abc"], 240)})
    frame["sick"] = (frame["age"] + rng.normal(0, 20, 240) > 60).astype(int)
    frame.to_csv(tmp_path / "people.csv", index=False)

    def command(*arguments, plugin=True):
        paths = [str(installed)] if plugin else []
        before = os.environ.get("PYTHONPATH", "")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, before])}
        return subprocess.run(
            [sys.executable, "-m", "privacygauge", *arguments],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return command


GENERATOR = ("--targets", "2", "--shadows", "4", "--tests", "4", "--size", "40")
TRAINED = "defences of trainings"
USED = {
    "attacks": ("classifier", "target.npz", "--attacks", "mean-confidence,margin"),
    "models": (
        *("classifier", "--data", "people.csv", "--label", "sick", "--model", "stump"),
        *("--shadows", "2", "--out", "out"),
    ),
    "defences": ("defend", "target.npz", "--shadow", "shadow.npz", "--defence", "damped:0.5"),
    TRAINED: (
        *("defend", "--data", "people.csv", "--label", "sick", "--shadows", "2"),
        *("--model", "naive-bayes", "--defence", "damped:0.5"),
    ),
    "generators": ("synthetic", "people.csv", "--generator", "shuffled", *GENERATOR),
    "guards": (
        *("holdout", "attack", "--labels", "labels.npy", "--queries", "20"),
        *("--guard", "steps:0.05", "--attack", "majority", "--trials", "2"),
    ),
    "audits": ("copies", "people.csv", "people.csv"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", USED)
def test_what_a_package_adds_is_used_by_name(run, kind, tmp_path):
    done = run(*USED[kind], *([] if "--out" in USED[kind] else ["--out", "out"]))
    assert not done.returncode, done.stderr
    text = (tmp_path / "out" / "report.json").read_text(encoding="utf-8")
    names = {"attacks": ("mean-confidence", "margin"), "audits": ("copies",), TRAINED: ("damped",)}
    for name in names.get(kind, (NAMED.get(kind, ""),)):
        assert name in text
    if kind == "models":
        again = run("resume", "out", "--model", "privacygauge_example.classifiers:stump")
        assert not again.returncode, again.stderr
    without = run(*USED[kind], "--out", "without", plugin=False)
    assert without.returncode == 2
    assert len(without.stderr.splitlines()) < 12
    assert "Traceback" not in without.stderr


@pytest.mark.slow
def test_a_package_that_is_not_named_changes_nothing(run, tmp_path):
    for folder, plugin in (("with", True), ("without", False)):
        assert not run("classifier", "target.npz", "--out", folder, plugin=plugin).returncode
    reports = [(tmp_path / x / "report.json").read_bytes() for x in ("with", "without")]
    assert reports[0] == reports[1]


@pytest.fixture
def added(monkeypatch):
    """Return a dictionary of entry points by group and name, in place of those installed."""
    from importlib.metadata import EntryPoint

    known = {}

    def entry_points(group, name=None):
        return [
            EntryPoint(one, value, of)
            for (of, one), values in known.items()
            for value in values
            if of == group and name in (None, one)
        ]

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    return known


def test_what_is_added_is_listed_where_a_name_is_unknown(added):
    calls = {
        "guards": guard_named,
        "defences": any_defence_named,
        "generators": as_generator,
        "attacks": lambda name: chosen_attacks([name], prediction_attacks()),
    }
    for kind in calls:
        added[f"privacygauge.{kind}", f"added-{kind}"] = ["no_such_module:X"]
    added["privacygauge.signals", "added-signals"] = ["no_such_module:X"]
    for kind, named in calls.items():
        with pytest.raises(InputError, match=f"added-{kind}") as error:
            named("nothing-known")
        assert ("added-signals" in str(error.value)) == (kind == "attacks")


def test_a_defence_of_another_package_is_taken_with_models_to_train(added):
    added["privacygauge.defences", "damped"] = ["tests.test_plugins:LabelOnly"]
    assert any_defence_named("damped") == LabelOnly()


def test_two_packages_with_one_name_are_refused(added):
    added["privacygauge.guards", "mine"] = ["a:X", "b:X"]
    with pytest.raises(InputError, match=r"two packages add mine to the guards \(a:X, b:X\)"):
        guard_named("mine")


def test_built_in_names_come_first(added):
    for kind, name in (("guards", "ladder"), ("generators", "baynet"), ("defences", "binning"),
                       ("attacks", "entropy")):  # fmt: skip
        added[f"privacygauge.{kind}", name] = ["no_such_module:X"]
    assert guard_named("ladder").name == "ladder"
    assert as_generator("baynet").name == "BayNet"
    assert defence_named("binning").name == "binning"
    played, _ = chosen_attacks(["entropy"], prediction_attacks())
    assert {attack.name for attack in played} == {"entropy"}


def test_what_is_added_must_be_of_its_kind(added):
    for kind in ("guards", "attacks"):
        added[f"privacygauge.{kind}", "mine"] = ["collections:Counter"]
    with pytest.raises(InputError, match="mine must be a guard"):
        guard_named("mine")
    with pytest.raises(InputError, match="mine must be an attack"):
        chosen_attacks(["mine"], prediction_attacks())


def test_code_that_cannot_be_imported_is_a_line(added):
    added["privacygauge.generators", "mine"] = ["no_such_module:X"]
    with pytest.raises(InputError, match="no_such_module cannot be imported"):
        as_generator("mine")
