"""`privacygauge register` and `privacygauge report --model-card`: options, files, exit codes."""

from __future__ import annotations

import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from privacygauge.cli.runs import register, report
from privacygauge.errors import InputError
from privacygauge.runs.folder import Folder
from privacygauge.runs.results import LIST
from tests.releases.documents import CLASSIFIER, COMPUTED, RANKING, UNTOLD, written
from tests.runs.sample import contents

app = typer.Typer()
app.command()(register)
app.command()(report)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "model", CLASSIFIER)
    written(tmp_path / "table", RANKING)
    written(tmp_path / "text", UNTOLD)
    return tmp_path


def done(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def test_a_register_is_printed_and_written(folders):
    result = done("register", "model", "a twin=table", "--title", "Triage", "--out", "board")
    assert result.exit_code == 0
    assert result.stdout.startswith("Grave findings in 1 of 2 audits: model\n")
    assert "Register: board/register.html" in result.stdout
    assert {path.name for path in (folders / "board").iterdir()} == {
        LIST, "register.html", "register.json", "register.csv",
    }  # fmt: skip
    found = json.loads((folders / "board" / "register.json").read_text(encoding="ascii"))
    assert [line["name"] for line in found["lines"]] == ["model", "a twin"]
    assert found["name"] == "Triage"


def test_json_alone_writes_no_folder(folders):
    result = done("register", "model", "table", "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["kind"] == "register"
    assert not (folders / "privacygauge-register").exists()
    assert done("register", "model", "--json", "x.json", "--quiet").stdout == ""
    assert (folders / "x.json").is_file()


def test_reports_at_urls_give_the_register_of_those_here(folders):
    for name in ("model", "table"):
        for key, content in contents(folders / name).items():
            Folder(f"memory://a=b/{name}").set(key, content)
    here = done("register", "model", "a twin=table", "--json", "-")
    there = done("register", "memory://a=b/model", "a twin=memory://a=b/table", "--json", "-")
    file = done("register", "memory://a=b/model/report.json", "a twin=table", "--json", "-")
    assert here.exit_code == there.exit_code == 0
    assert here.stdout == there.stdout == file.stdout
    with pytest.raises(InputError, match=r"memory://a=b/none/report\.json does not exist"):
        app(["register", "memory://a=b/none"], standalone_mode=False)


def test_a_folder_whose_name_has_an_equals_sign_is_a_folder(folders):
    written(folders / "a=b", CLASSIFIER)
    found = json.loads(done("register", "a=b", "--json", "-").stdout)
    assert [line["name"] for line in found["lines"]] == ["a=b"]


@pytest.mark.parametrize(
    ("limit", "code", "told"),
    [
        ("severity=3", 0, ""),
        ("severity=2", 3, "model: severity is 3, above 2"),
        ("accuracy=0.7", 0, ""),
        ("accuracy=0.69", 3, "model: accuracy is 0.7, above 0.69"),
        ("accuracy.low=0.65", 3, "model: accuracy.low is 0.66, above 0.65"),
        ("epsilon.low=0.95", 0, ""),
        ("vulnerability=0.1", 3, "table: vulnerability is 0.125, above 0.1"),
        ("bias=0.1", 3, "bias was not computed by any audit, so its limit cannot be checked"),
    ],
)
def test_a_limit_stops_a_release(folders, limit, code, told):
    result = done("register", "model", "table", "--json", "x.json", "--fail-above", limit)
    assert (result.exit_code, result.stderr.strip()) == (
        code,
        f"privacygauge: {told}" if told else "",
    )


def test_what_cannot_be_told_passes_no_limit_of_severity(folders):
    result = done("register", "text", "--json", "x.json", "--fail-above", "severity=3")
    assert result.exit_code == 3
    assert "text: cannot be told" in result.stderr


def test_a_ranking_has_no_severity(folders):
    result = done("register", "table", "--json", "x.json", "--fail-above", "severity=3")
    assert result.exit_code == 3
    assert "not computed by any audit" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "nowhere does not exist"),
        (("a=model", "a=table"), "two reports are called 'a'"),
        (("model", "model"), "are the same report"),
        (("model", "--fail-above", "recall=1"), "no metric 'recall'"),
        (("model", "--level", "95"), r"level must be in \(0, 1\)"),
    ],
)
def test_bad_input_is_told_in_one_line(folders, arguments, message):
    result = done("register", *arguments, "--json", "x.json")
    assert isinstance(result.exception, InputError)
    with pytest.raises(InputError, match=message):
        raise result.exception


def test_a_damaged_report_ends_with_code_2(folders, monkeypatch, capsys):
    from privacygauge.cli import main

    (folders / "model" / "report.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["privacygauge", "register", "model"])
    assert main.run() == 2
    told = capsys.readouterr().err
    assert told.startswith("privacygauge: error: model/report.json is damaged or not JSON")
    assert told.count("\n") == 1


def test_a_model_card_is_printed_or_written(folders):
    printed = done("report", "model", "--model-card", "--name", "triage", "--dataset", "people")
    assert printed.exit_code == 0
    assert printed.stdout.startswith('---\nmodel-index:\n- name: "triage"\n')
    again = done(
        "report", "model", "--model-card", "--name", "triage", "--dataset", "people", "--out", "to"
    )
    assert again.stdout == ""
    assert (folders / "to" / "model-card.md").read_text(encoding="utf-8") == printed.stdout
    file = done("report", "model/report.json", "--model-card")
    assert '- name: "model"' in file.stdout


def test_a_model_card_of_a_run_is_that_of_the_report_beside_it(folders):
    run = folders / "model" / "run"
    run.mkdir()
    assert (
        done("report", run, "--model-card").stdout == done("report", "model", "--model-card").stdout
    )


def test_a_run_without_a_report_is_rendered_again(folders, monkeypatch):
    from privacygauge.cli import runs

    (folders / "alone").mkdir()
    monkeypatch.setattr(runs, "_finished_json", lambda run, data: json.dumps(COMPUTED))
    card = done("report", "alone", "--model-card").stdout
    assert "membership-inference-dtp" in card
    assert '- name: "alone"' in card


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model", "--name", "x"), "go with --model-card"),
        (("model", "--model-card", "--json", "-"), "--json does not go with --model-card"),
        (("model", "--model-card", "--fail-above", "auc=1"), "--fail-above does not go with"),
        (("nowhere", "--model-card"), "nowhere does not exist"),
        (("empty", "--model-card"), "empty holds no run"),
        (("model",), "model holds no run"),
    ],
)
def test_what_does_not_go_with_a_model_card_is_told(folders, arguments, message):
    (folders / "empty").mkdir()
    result = done("report", *arguments)
    with pytest.raises(InputError, match=message):
        raise result.exception
