"""Files that earlier versions wrote are read by this one, with the same numbers.

`write.py` wrote them, with the last commit of each version. What is promised stands in
docs/project/stability.md.
"""

from __future__ import annotations

import gzip
import inspect
import json
import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privacygauge as pg
from privacygauge.cli.main import app
from privacygauge.core import versions
from privacygauge.errors import InputError
from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.standings import standings
from privacygauge.runs.plan import CONTINUED
from privacygauge.runs.store import read_run
from privacygauge.tables.frames import read_schema, read_table

WRITTEN = sorted(path for path in Path(__file__).parent.iterdir() if (path / "people.csv").exists())
LATER = "999.0.0"
"""Version of PrivacyGauge and its packages after an upgrade."""


@pytest.fixture(scope="module", autouse=True)
def _pages_have_empty_plots(undrawn):
    """No test here looks at a plot."""


@pytest.fixture(params=WRITTEN, ids=lambda path: path.name)
def written(request, tmp_path):
    """A copy of the files of a version."""
    return Path(shutil.copytree(request.param, tmp_path / request.param.name))


def upgraded(monkeypatch, found: dict[str, str]) -> None:
    """Make PrivacyGauge and its packages say that they are of these versions, others of `LATER`."""
    system, _, machine = found.get("platform", "Other none").partition(" ")
    monkeypatch.setattr(versions, "_installed_version", lambda name: found.get(name, LATER))
    here = SimpleNamespace(
        python_version=lambda: found.get("python", LATER),
        system=lambda: system,
        machine=lambda: machine,
    )
    monkeypatch.setattr(versions, "platform", here)


def called(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(x) for x in arguments])
    assert done.exit_code == 0, done.exception or done.output
    return done.output


def measures(path: Path) -> dict[str, float]:
    """Return the numbers of a report, or of a file that holds them alone."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return found.get("measures", found)


CORRECTED = {"auc.low", "strongest-auc.low", "advantage.low"}
"""Limits that 0.1.0 had of single attacks: they now allow for the choice among attacks."""


def same_numbers(found: dict[str, float], before: dict[str, float]) -> None:
    """Every number of an earlier version is there, and the same; a later one may have more."""
    same = before.keys() - CORRECTED
    assert {name: found[name] for name in same} == pytest.approx(
        {name: before[name] for name in same}, rel=1e-9
    )
    assert all(found[name] <= before[name] + 1e-9 for name in CORRECTED & before.keys())


NUMBERS = {"model": "measures.json", "generator": "report.json"}


def test_there_are_files_of_every_version_that_is_promised():
    assert {path.name for path in WRITTEN} >= CONTINUED
    for folder in WRITTEN:
        assert sum(x.stat().st_size for x in folder.rglob("*") if x.is_file()) < 200_000


@pytest.mark.parametrize("kind", NUMBERS)
def test_the_report_of_a_finished_run_is_written_again(written, monkeypatch, kind):
    """After PrivacyGauge, Python and all numerical packages were upgraded, too."""
    upgraded(monkeypatch, {})
    before = {path: path.read_bytes() for path in (written / kind).rglob("*") if path.is_file()}
    moved = ("--data", written / "people.csv")
    called("report", written / kind, *moved, "--out", written / "again", "--quiet")
    report = json.loads((written / "again" / "report.json").read_text(encoding="utf-8"))
    same_numbers(
        measures(written / "again" / "report.json"), measures(written / kind / NUMBERS[kind])
    )
    assert (
        f"numpy {read_run(written / kind / 'run').plan.settings['versions']['numpy']}"
        in (report["provenance"]["run made with"])
    )
    # Nothing was trained, and the run is as it was.
    assert {path: path.read_bytes() for path in before} == before


def test_an_interrupted_run_is_resumed(written, monkeypatch):
    """The other tables are those of the earlier version, and so are the numbers."""
    run = written / "generator" / "run"
    then = dict(read_run(run).plan.settings["versions"])
    upgraded(monkeypatch, {**then, "privacygauge": LATER})
    for lost in (run / "observations.zarr").glob("*/c/1*"):
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    assert len(read_run(run).missing()) == 1
    moved = ("--data", written / "people.csv")
    called("resume", written / "generator", *moved, "--out", written / "again", "--jobs", 1)
    assert not read_run(run).missing()
    again = measures(written / "again" / "report.json")
    same_numbers(again, measures(written / "generator" / "report.json"))


def test_a_run_of_other_packages_is_not_resumed(written, monkeypatch):
    run = written / "generator"
    upgraded(monkeypatch, {**dict(read_run(run / "run").plan.settings["versions"]), "numpy": LATER})
    moved = ("--data", str(written / "people.csv"), "--out", str(written / "again"))
    done = CliRunner().invoke(app, ["resume", str(run), *moved])
    assert isinstance(done.exception, InputError)
    assert "versions.numpy is" in str(done.exception)


def test_runs_are_listed(written):
    rows = json.loads(called("runs", written, "--json", "-"))
    assert [(x["kind"], x["done"] == x["of"]) for x in rows] == [
        ("synthetic", True),
        ("classifier", True),
    ]


def test_reports_go_into_a_register(written):
    folders = (written / "predictions", written / "generator")
    called("register", *folders, "--out", written / "again", "--quiet")
    old, new = (
        json.loads((written / name / "register.json").read_text(encoding="utf-8"))
        for name in ("register", "again")
    )
    assert [x["severity"] for x in new["lines"]] == [x["severity"] for x in old["lines"]]
    assert new["schema"] == old["schema"]
    for line, before in zip(new["lines"], old["lines"], strict=True):
        assert line["name"] == before["name"]
        assert line["measures"] == before["measures"]


def test_files_of_predictions_give_the_same_numbers(written):
    shadow = ("--shadow", written / "shadow.csv", "--attacks", "confidence,entropy")
    called("classifier", written / "target.npz", *shadow, "--out", written / "again", "--quiet")
    again = measures(written / "again" / "report.json")
    same_numbers(again, measures(written / "predictions" / "report.json"))


def test_a_schema_of_a_table_is_read(written):
    found = read_schema(written / "schema.json")
    assert found.to_json() == (written / "schema.json").read_text(encoding="utf-8")
    table = read_table(written / "people.csv", schema=found)
    assert table.schema == found
    assert len(table.values) == len(pd.read_csv(written / "people.csv"))


def test_a_leaderboard_goes_on(written):
    database = written / "leaderboard.sqlite"
    database.write_bytes(gzip.decompress((written / "leaderboard.sqlite.gz").read_bytes()))
    before = json.loads((written / "standings.json").read_text(encoding="utf-8"))
    serve = ("holdout", "serve")
    at = ("--database", database)
    accounts = json.loads(called(*serve, "accounts", *at, "--json", "-"))
    assert [(x["account"], x["submissions"]) for x in accounts] == [("ann", 1), ("bob", 1)]
    log = called(*serve, "export", *at, "-").splitlines()
    assert [json.loads(line)["account"] for line in log] == ["ann", "bob"]
    results = called(*serve, "results", *at)
    assert "ann" in results
    assert "bob" in results
    labels = np.load(written / "labels.npy")
    board = open_board(database, labels)
    try:
        assert [[x.account, x.score] for x in standings(board).places] == before
        # Kept labels are scored again, and the contest takes further submissions.
        assert board.submit("bob", labels).number == len(log) + 1
    finally:
        board.close()


def test_the_public_names_are_there(written):
    """A name that is to go still answers, with a warning, for one minor version."""
    known = json.loads((written / "names.json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        lost = [name for name in known["names"] if not hasattr(pg, name)]
        for kind, fields in known["options"].items():
            taken = inspect.signature(getattr(pg.options, kind)).parameters
            lost += [f"{kind}.{name}" for name in fields if name not in taken]
    assert not lost
