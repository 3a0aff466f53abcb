import json

import pytest

from leakscope.core.estimate import Estimate
from leakscope.reproduce import REPRODUCTIONS, Cell, Reproduction, Row, Table, catalogue
from tests.cli.test_main import one_line, run_inside


@pytest.fixture
def efforts(monkeypatch):
    """Put a quick table in the catalogue; return what it was asked to do."""
    asked = []

    def make(effort):
        asked.append(effort)
        effort.progress(1, 1)
        cell = Cell(0.7, Estimate(0.6, 0.5, 0.7, 0.95, 10, "Wilson"))
        return Table(
            "quickly", "A paper, Table 9", (Row("first", {"accuracy": cell}),), ("a note",)
        )

    listed = (*REPRODUCTIONS, Reproduction("quickly", "A paper, Table 9", make))
    monkeypatch.setattr(catalogue, "REPRODUCTIONS", listed)
    monkeypatch.setenv("COLUMNS", "200")
    return asked


def test_a_table_is_printed_beside_the_papers_and_kept(efforts, tmp_path, capsys):
    out = tmp_path / "out"
    options = ("--quick", "--seed", 3, "--jobs", 1, "--out", out, "--json", tmp_path / "t.json")
    done = run_inside(("reproduce", "quickly", *options), capsys)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("A paper, Table 9", "accuracy", "0.7", "0.6", "Wilson", "Note: a note"):
        assert text in done.stdout
    assert (out / "quickly.json").read_text() == (tmp_path / "t.json").read_text()
    (effort,) = efforts
    assert (effort.quick, effort.seed, effort.n_jobs) == (True, 3, 1)
    assert effort.run == out / "runs" / "quickly"


def test_json_on_the_standard_output_is_all_there_is(efforts, capsys):
    done = run_inside(("reproduce", "quickly", "--json", "-"), capsys)
    assert json.loads(done.stdout)["cells"][0]["ours"] == 0.6
    assert not efforts[0].quick
    assert efforts[0].run is None


def test_what_there_is_is_listed(capsys):
    for arguments in (("reproduce",), ("reproduce", "--list")):
        text = run_inside(arguments, capsys).stdout
        assert all(known.name in text for known in REPRODUCTIONS)
    listed = json.loads(run_inside(("reproduce", "--list", "--json", "-"), capsys).stdout)
    assert [row["name"] for row in listed] == [known.name for known in REPRODUCTIONS]


def test_bad_input_gets_one_line_before_any_work(efforts, tmp_path, capsys, monkeypatch):
    one_line(run_inside(("reproduce", "long-table9"), capsys), "there is no reproduction")
    (tmp_path / "file").write_text("mine")
    for option in ("--out", "--json"):
        place = tmp_path / "file" / "t.json"
        done = run_inside(("reproduce", "quickly", option, place), capsys)
        one_line(done, str(tmp_path / "file"))
    assert efforts == []
    monkeypatch.setenv("LEAKSCOPE_DATA", str(tmp_path / "absent"))
    one_line(
        run_inside(("reproduce", "long-table1", "--quick"), capsys), "location30.npz is not in"
    )
