"""Every command that audits: what it asks is plain data that a run keeps and reads again."""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, replace
from pathlib import Path

import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

from privacygauge.cli import output
from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.main import app
from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, Request
from privacygauge.kinds.session import Work
from privacygauge.runs.options import Role, argument, asks
from privacygauge.runs.plan import ArraySpec, Plan
from privacygauge.runs.store import open_run
from tests.cli import vocabulary

each = pytest.mark.parametrize("command", COMMANDS, ids=[c.name for c in COMMANDS])

OF_TYPES = {"str": "x", "int": 3, "float": 0.5, "bool": True, "tuple": ("a", "b")}


@dataclass(frozen=True, kw_only=True)
class Typed(Request):
    """One field of each kind, and one whose default is named."""

    name: str = asks("TEXT", "A name.")
    unit: str | None = asks("COLUMN", "A column.")
    columns: tuple[str, ...] = asks("A,B", "Columns.")
    whole: bool = asks("", "All of it.")
    number: int | None = asks("N", "A number.", default=3)


def test_what_nothing_is_follows_from_the_type():
    asked = Typed(name="x")
    assert (asked.unit, asked.columns, asked.whole, asked.number) == (None, (), False, 3)
    assert [f.name for f, _ in Typed.asked() if f.default is MISSING] == ["name"]
    with pytest.raises(TypeError, match="name"):
        Typed()


def filled(command: Command):
    """Return a request whose required fields have some value of their type."""
    values = {}
    for field, _ in command.request.asked():
        if field.default is MISSING:
            values[field.name] = OF_TYPES[str(field.type).split(" ")[0].split("[")[0]]
    return command.request(**values)


@each
def test_a_run_keeps_what_was_asked(command):
    asked = filled(command)
    kept = json.loads(json.dumps(asked.settled()))
    again = command.request.kept(kept)
    assert again.settled() == asked.settled()
    assert again.settled() == command.request.kept(again.settled()).settled()


@each
def test_files_are_kept_by_their_whole_path(command):
    asked = filled(command)
    for field, how in command.request.asked():
        value = asked.settled()[field.name]
        if how.role is Role.FILE and value is not None:
            assert Path(value).is_absolute()


@each
def test_another_version_s_options_are_refused_in_one_line(command):
    with pytest.raises(InputError, match="another version"):
        command.request.kept({**filled(command).settled(), "no-such": 1})


@each
def test_every_option_says_what_it_is(command):
    for _, how in command.request.asked():
        assert how.help.endswith((".", ")"))
        assert how.flag == "" or how.flag.startswith("--") or len(how.flag) == 2
    assert command.help.splitlines()[0].endswith(".")
    assert "Example: privacygauge " + command.name in command.help
    named = {metric.removesuffix(".low") for metric in command.metrics}
    assert all(name.partition("@")[0] in command.limits for name in named)


def test_help_shows_every_word_of_it():
    """Words in brackets would be taken for markup, and left out."""
    told = {
        option.meaning
        for name in (*vocabulary.OTHERS, *(c.name for c in COMMANDS))
        for option in vocabulary.found(name)
    }
    assert len(told) > 100
    assert [text for text in told if Text.from_markup(text).plain != text] == []


def test_an_option_may_be_called_as_its_field():
    @dataclass(frozen=True, kw_only=True)
    class Own(Request):
        half_width: float = asks("H", "Half of the width.", default=0.1)
        data: str = argument("DATA", "Records.")
        table: str = asks("FILE", "The table.")
        written: str = asks("FILE", "What is written.", role=Role.PLAIN)

    asked = {field.name: how for field, how in Own.asked()}
    own = ("half_width", "data", "table", "written")
    assert [asked[name].flag for name in own] == ["--half-width", "", "--table", "--written"]
    files = [name for name, how in asked.items() if how.role is Role.FILE]
    assert files == ["data", "table"]


def test_the_same_option_means_the_same_everywhere():
    known: dict[str, dict[str, set[str]]] = {}
    for name in [command.name for command in COMMANDS] + vocabulary.OTHERS:
        for option in vocabulary.found(name):
            known.setdefault(option.flag, {}).setdefault(option.metavar, set()).add(name)
    # A folder is the same thing where a server may be named too. The data of a reproduction are the
    # files of a paper's owners, in a folder.
    known["--data"].pop("FOLDER")
    different = {
        flag: found
        for flag, found in known.items()
        if len(found) > 1 and not set.intersection(*(set(x.split("|")) for x in found))
    }
    assert different == {}


def test_every_command_stands_under_a_heading():
    listed = typer.main.get_command(app).commands
    assert all(command.rich_help_panel in set(HelpGroup) for command in listed.values())
    for command in COMMANDS:
        found = listed[command.name.partition(" ")[0]]
        assert found.rich_help_panel == command.group
    inside = listed["holdout"].commands.values()
    assert {command.rich_help_panel for command in inside} == {HelpGroup.TEST_SET}


def test_help_lists_headings_in_their_order():
    listed = typer.main.get_command(app)
    context = typer.Context(listed)
    headings = [listed.commands[name].rich_help_panel for name in listed.list_commands(context)]
    assert list(dict.fromkeys(headings)) == list(HelpGroup)
    inside = listed.commands["holdout"]
    assert inside.list_commands(context) == ["attack", "bound", "log", "serve"]


def plan_of_a_unit():
    return Plan("made", 0, 1, "unit", 1, {"x": ArraySpec(("unit",), (1,), "int64")}, {})


def test_an_interruption_says_how_to_resume(tmp_path):
    told = []
    work = Work(tmp_path / "my report" / "run", tell=told.append)
    with pytest.raises(KeyboardInterrupt), work.resumable(filled(COMMANDS[0])):
        raise KeyboardInterrupt
    assert told == []  # no run was begun
    open_run(work.run, plan_of_a_unit())
    with pytest.raises(KeyboardInterrupt), work.resumable(filled(COMMANDS[0])):
        raise KeyboardInterrupt
    assert told == [f"\nprivacygauge: resume with: privacygauge resume '{tmp_path}/my report'"]


def test_a_run_keeps_the_date_on_which_it_was_begun(tmp_path, monkeypatch):
    asked = filled(COMMANDS[0])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    run = tmp_path / "run"
    open_run(run, plan_of_a_unit(), invocation=Work(run).invocation("made-up", asked))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "864000")
    assert Work(run).invocation("made-up", asked)["made"] == "1970-01-02"
    assert Work(run).made == "1970-01-02"
    assert Work(tmp_path / "other").invocation("made-up", asked)["made"] == "1970-01-11"


def test_progress_outside_a_terminal_is_a_line_from_time_to_time(monkeypatch, capsys):
    now = iter([0.0, 30.0, 61.0, 62.0, 130.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(now))
    with output.bar("Training models", quiet=False) as told:
        for done in (10, 20, 30, 40):
            told(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "Training models: 20 of 100, about 4 min left",
        "Training models: 40 of 100, about 3 min left",
    ]


def test_quiet_is_silent(monkeypatch, capsys):
    monkeypatch.setattr(output, "SECONDS", 0.0)
    with output.bar("Training models", quiet=True) as told:
        told(1, 2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("policy", "code", "told"),
    [
        ("[dp-audit]\nepsilon = 100", 0, ""),
        ("[dp-audit]\nepsilon = 0.001", 3, "epsilon is"),
        ("[classifier]\naccuracy = 0.6", 2, "sets no limit for dp-audit"),
        ("[dp-audit]\naccuracy = 0.6", 2, "no metric 'accuracy'; there are epsilon"),
        ('[dp-audit]\nepsilon = "low"', 2, "[dp-audit]: a limit must be"),
        ("[dp-audit", 2, "is not TOML"),
    ],
)
def test_a_policy_holds_a_release_to_limits(canaries, tmp_path, policy, code, told):
    (tmp_path / "policy.toml").write_text(policy)
    broken = tmp_path / "broken.csv"
    broken.write_text("score,member\n" + "\n".join(f"{i % 2},{i % 2}" for i in range(200)) + "\n")
    done = CliRunner().invoke(
        app,
        ["dp-audit", str(canaries), "--epsilon", "1", "--out", str(tmp_path / "out"),
         "--control", str(broken), "--policy", str(tmp_path / "policy.toml")],
    )  # fmt: skip
    if code == 2:
        assert isinstance(done.exception, InputError)
        assert told in str(done.exception)
        return
    assert done.exit_code == code
    assert told in done.stderr
    found = json.loads((tmp_path / "out" / "report.json").read_text())["limits"]
    assert [(x["metric"], x["kept"]) for x in found] == [("epsilon", code == 0)]
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("not kept" in page) == (code == 3)
    assert "Limits that this release was held to" in page


@pytest.fixture
def canaries(tmp_path):
    rows = "\n".join(f"{i % 7 + 5 * (i % 2)},{i % 2}" for i in range(200))
    (tmp_path / "canaries.csv").write_text(f"score,member\n{rows}\n")
    return tmp_path / "canaries.csv"


def test_a_title_and_a_note_stand_in_every_form(canaries, tmp_path):
    done = CliRunner().invoke(
        app,
        ["dp-audit", str(canaries), "--epsilon", "1", "--out", str(tmp_path),
         "--title", "Triage <2>", "--note", "For the board."],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "report.json").read_text())
    assert (found["name"], found["note"]) == ("Triage <2>", "For the board.")
    page = (tmp_path / "report.html").read_text()
    assert "Triage &lt;2&gt;" in page
    assert "For the board." in page


def test_values_reach_the_request():
    assert replace(filled(COMMANDS[0]), title="x").settled()["title"] == "x"
