import json

import pytest

from privacygauge import papers as reproduce
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.papers import (
    ITEMS,
    REPRODUCTIONS,
    Cell,
    Reproduction,
    Row,
    Table,
    catalogue,
    make,
)
from tests.cli.test_main import one_line, run_inside


@pytest.fixture
def efforts(monkeypatch):
    """Put a quick table in the catalogue; return what it was asked to do."""
    asked = []

    def make(effort):
        asked.append(effort)
        if effort.progress is not None:
            effort.progress(1, 1)
        cell = Cell(0.7, Estimate(0.6, 0.5, 0.7, 0.95, 10, "Wilson"))
        return Table(
            "quickly", "A paper, Table 9", (Row("first", {"accuracy": cell}),), ("a note",)
        )

    def without(effort):
        raise InputError("data.npz is not in the folder")

    listed = (
        Reproduction("missing", "A paper, Table 8", without),
        Reproduction("quickly", "A paper, Table 9", make),
    )
    for module in (catalogue, reproduce):
        monkeypatch.setattr(module, "REPRODUCTIONS", listed)
    monkeypatch.setenv("COLUMNS", "200")
    return asked


def test_a_table_is_printed_beside_the_papers_and_kept(efforts, tmp_path, capsys):
    out = tmp_path / "out"
    options = ("--quick", "--seed", 3, "--jobs", 1, "--out", out, "--json", tmp_path / "t.json")
    done = run_inside(("reproduce", "quickly", *options), capsys)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("A paper, Table 9", "accuracy", "0.7", "0.6", "Wilson", "Note: a note", "Verdict"):
        assert text in done.stdout
    assert (out / "quickly.json").read_text() == (tmp_path / "t.json").read_text()
    assert "<svg" in (out / "quickly.svg").read_text()
    (effort,) = efforts
    assert (effort.quick, effort.seed, effort.n_jobs) == (True, 3, 1)
    assert effort.run == out / "runs" / "quick" / "quickly"


def test_json_on_the_standard_output_is_all_there_is(efforts, capsys):
    done = run_inside(("reproduce", "quickly", "--json", "-"), capsys)
    assert json.loads(done.stdout)["cells"][0]["ours"] == 0.6
    assert not efforts[0].quick
    assert efforts[0].run is None


@pytest.mark.slow
def test_what_there_is_is_listed(capsys):
    for arguments in (("reproduce",), ("reproduce", "--list")):
        text = run_inside(arguments, capsys).stdout
        assert all(known.name in text for known in REPRODUCTIONS)
    listed = json.loads(run_inside(("reproduce", "--list", "--json", "-"), capsys).stdout)
    assert [row["name"] for row in listed] == [item.name for item in ITEMS]
    assert {row["status"] for row in listed} >= {"done", "stand-in", "partly"}
    assert all(row["what"] for row in listed)


def test_all_goes_on_where_something_is_missing_and_where_it_was(
    efforts, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(make, "figure_svg", lambda known, table: "<svg/>")
    for said in ("quickly: 0 s: ", "quickly: kept: "):
        done = run_inside(("reproduce", "all", "--quick", "--out", tmp_path), capsys)
        assert done.returncode == 0
        first, second, last = done.stdout.splitlines()
        assert first == "missing: left out: data.npz is not in the folder"
        assert second.startswith(said)
        assert last.startswith("1 of 2 made")
    assert len(efforts) == 1
    told = run_inside(("reproduce", "all", "--quick", "--json", "-"), capsys)
    assert [row["state"] for row in json.loads(told.stdout)] == ["left out", "made"]


def test_a_page_is_written_from_what_is_kept(tmp_path, capsys):
    options = ("--page", tmp_path / "shown.md", "--out", tmp_path)
    assert run_inside(("reproduce", *options), capsys).returncode == 0
    text = (tmp_path / "shown.md").read_text()
    assert all(item.what in text for item in ITEMS)
    one_line(run_inside(("reproduce", *options[:2]), capsys), "--page needs --out DIR")


@pytest.mark.slow
def test_bad_input_gets_one_line_before_any_work(efforts, tmp_path, capsys):
    one_line(run_inside(("reproduce", "long-table9"), capsys), "there is no reproduction")
    (tmp_path / "file").write_text("mine")
    for option in ("--out", "--json"):
        place = tmp_path / "file" / "t.json"
        done = run_inside(("reproduce", "quickly", option, place), capsys)
        one_line(done, str(tmp_path / "file"))
    done = run_inside(("reproduce", "quickly", "--share", 2), capsys)
    one_line(done, "share must be in (0, 1]")
    assert efforts == []


def test_data_that_is_missing_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PRIVACYGAUGE_DATA", str(tmp_path / "absent"))
    one_line(
        run_inside(("reproduce", "long-table1", "--quick"), capsys), "location30.npz is not in"
    )
