"""`privacygauge release`: exit codes, one line of error, files that are written and those kept."""

from __future__ import annotations

import json

import pytest

from privacygauge.runs.results import LIST
from tests.decisions.releases import LATER, MEMBERSHIP, made, rewritten
from tests.releases.documents import changed
from tests.test_docs import privacygauge

SIGN = (
    "--by",
    "A. Berg",
    "--role",
    "head of data",
    "--until",
    LATER,
    "--because",
    "all was tested",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return made(tmp_path / "triage")


def test_from_a_check_to_a_signed_release(folder, capsys):
    assert privacygauge("release", "check", "triage") == 3
    assert capsys.readouterr().err == "privacygauge: Nobody has signed a decision\n"
    assert privacygauge("release", "sign", "triage", "--decision", "release", *SIGN) == 0
    assert capsys.readouterr().out == (
        f"Entry 1: release, by A. Berg (head of data), until {LATER}, without a key; bound to 4 "
        "files by hash\n"
    )
    assert privacygauge("release", "check", "triage") == 0
    told = capsys.readouterr()
    assert "Cleared until" in told.out
    assert told.err == ""
    files = {x.name for x in (folder / "check").iterdir()}
    assert files == {"report.html", "report.json", LIST}


def test_json_goes_to_the_standard_output_and_no_folder_is_made(folder, capsys):
    assert privacygauge("release", "check", "triage", "--json", "-") == 3
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "release"
    assert found["measures"]["unmet"] == 1
    states = {x["name"]: x["state"] for x in found["questions"]}
    assert states["membership"] == "tested"
    assert states["claims"] == "not applicable"
    assert not (folder / "check").exists()


def test_a_changed_report_stops_the_gate(folder, capsys):
    privacygauge("release", "sign", "triage", "--decision", "release", *SIGN, "--quiet")
    rewritten(folder, "members", changed(MEMBERSHIP, "seed", to=1))
    assert privacygauge("release", "check", "triage", "--quiet") == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("privacygauge: reports/members/report.json has changed since A. Berg")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("check", "nothing"), "nothing is not a folder"),
        (("check", "triage", "--policy", "none"), "--policy must be a file or one of egress,"),
        (("check", "triage", "--policy", "egress"), "triage/policy.toml is there already"),
        (("check", "triage", "--signers", "none"), ""),
        (("check", "triage", "--out", "triage/reports/members"), "is an input"),
        (("check", "triage", "--json", "triage/policy.toml"), "PrivacyGauge did not write it"),
        (("check", "s3://a/b"), "is a URL"),
        (("sign", "triage", "--decision", "go", *SIGN), "--decision must be one of"),
        (("due", "triage", "--on", "tomorrow"), "--on must be a day such as"),
        (("evidence", "triage", "--form", "letter"), "--form must be one of opinion"),
        (("evidence", "triage", "--format", "odt"), "--format of opinion must be one of html"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(folder, arguments, told, capsys):
    before = {x: x.read_bytes() for x in folder.rglob("*") if x.is_file()}
    code = privacygauge("release", *arguments)
    (line,) = capsys.readouterr().err.splitlines()
    if told:
        assert code == 2
        assert told in line
        assert {x: x.read_bytes() for x in folder.rglob("*") if x.is_file()} == before


def test_what_is_due_exits_with_3_and_is_json_too(folder, capsys):
    assert privacygauge("release", "due", "triage", "--on", "2300-01-01", "--json", "-") == 3
    found = json.loads(capsys.readouterr().out)
    assert {x["what"] for x in found} == {"decision", "members", "values"}
    assert all(x["release"] == "triage" for x in found)


def test_a_folder_that_cannot_be_read_hides_nothing_of_the_others(folder, capsys):
    given = ("nothing", "triage", "nothing", "--on", "2300-01-01", "--json", "-")
    assert privacygauge("release", "due", *given) == 2
    told = capsys.readouterr()
    assert {x["release"] for x in json.loads(told.out)} == {"triage"}
    (line,) = told.err.splitlines()
    assert line.count("nothing is not a folder") == 1


def test_evidence_is_written_into_the_folder(folder, capsys):
    assert privacygauge("release", "evidence", "triage", "--form", "checker") == 0
    assert capsys.readouterr().out == (
        "Evidence: triage/evidence/checker.html\nEvidence: triage/evidence/checker.md\n"
    )
    assert privacygauge("release", "evidence", "triage", "--form", "model-card", "--out", "o") == 0
    assert (folder.parent / "o" / "model-card.md").is_file()
