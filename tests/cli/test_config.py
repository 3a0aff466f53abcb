"""Options from a file are those of the command line, for every command."""

from __future__ import annotations

import datetime
import shlex
from contextlib import suppress

import pytest
import typer
from typer.exceptions import TyperException

from privacygauge.cli.main import add_config, app, command_of, run


def leaves(group, *words):
    """Yield all commands with the words that name them."""
    for name, command in getattr(group, "commands", {}).items():
        if not getattr(command, "commands", {}) or len(command.params) > 2:
            yield (*words, name), command
        yield from leaves(command, *words, name)


COMMANDS = dict(leaves(command_of(app)))


def parsed(words, arguments):
    """Return the values that a command is called with."""
    context = typer.Context(command_of(app), info_name="privacygauge")
    for word in words[:-1]:
        context = typer.Context(context.command.commands[word], parent=context, info_name=word)
    command = context.command.commands[words[-1]]
    with command.make_context(words[-1], arguments, parent=context) as inner:
        return inner.params


def test_every_command_takes_options_from_a_file():
    assert len(COMMANDS) > 25
    for command in COMMANDS.values():
        assert sum("--config" in parameter.opts for parameter in command.params) == 1


@pytest.mark.parametrize(
    ("words", "line", "text"),
    [
        (
            "classifier",
            "target.csv --unit person --feature age --feature pay --level 0.9 --seed 3 "
            "--fail-above accuracy=60% --fail-above auc=0.7 --quiet --jobs 2 --out here",
            """
            seed = 3
            [classifier]
            target = "target.csv"
            unit = "person"
            feature = ["age", "pay"]
            level = 0.9
            fail-above = ["accuracy=60%", "auc=0.7"]
            quiet = true
            jobs = 2
            out = "here"
            [synthetic]
            targets = 3
            """,
        ),
        (
            "synthetic",
            "people.csv --generator baynet --targets 20 --select distance,rare --half-width 0.03 "
            "--id name --show age --show place",
            """
            half_width = 0.03
            [synthetic]
            real = "people.csv"
            generator = "baynet"
            targets = 20
            select = "distance,rare"
            id = "name"
            show = ["age", "place"]
            """,
        ),
        (
            "holdout bound",
            "--n 100 --queries 20 --classes 2",
            "[holdout-bound]\nn = 100\nqueries = 20\nclasses=2",
        ),
        ("runs", "here", "[runs]\nfolder = 'here'"),
    ],
)
def test_a_file_says_what_the_command_line_would(words, line, text, tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(text)
    expected = parsed(words.split(), shlex.split(line))
    assert parsed(words.split(), ["--config", str(path)]) == expected


def test_the_command_line_comes_before_the_file(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text('[classifier]\nlevel = 0.9\nfeature = ["age"]\nquiet = true\n')
    given = ["target.csv", "--config", str(path), "--level", "0.99", "--feature", "pay"]
    found = parsed(["classifier"], given)
    assert (found["level"], list(found["features"]), found["quiet"]) == (0.99, ["pay"], True)


def test_every_option_of_every_command_has_a_key(tmp_path):
    """A text is of the wrong type for some; none is unknown."""
    path = tmp_path / "audit.toml"
    for words, command in COMMANDS.items():
        for parameter in command.params:
            name = parameter.opts[0].lstrip("-")
            if name in ("config", "help", "help-all"):
                continue
            value = "true" if getattr(parameter, "is_flag", False) else '"1"'
            path.write_text(f"[{'-'.join(words)}]\n{name} = {value}\n")
            with suppress(TyperException):
                parsed(list(words), ["--config", str(path)])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[classifer]\n",
            "audit.toml: there is no command 'classifer': did you mean [classifier]?",
        ),
        ("[classifier]\nsed = 1\n", "classifier has no option 'sed': did you mean seed?"),
        ("sed = 1\n", "audit.toml: classifier has no option 'sed': did you mean seed?"),
        ("[classifier]\nquiet = 1\n", "[classifier]: quiet must be true or false, got 1"),
        ("[classifier]\nseed = true\n", "[classifier]: seed must be a text or a number, got True"),
        ("[classifier]\nseed = {a = 1}\n", "seed must be a text or a number, got {'a': 1}"),
        ("[classifier]\nlevel = 'high'\n", "'--level'"),
        ("[classifier\n", "audit.toml is not TOML: "),
        ("[classifier]\nconfig = 'b.toml'\n", "classifier has no option 'config'"),
    ],
)
def test_a_file_that_cannot_be_meant_ends_in_one_line(text, line, tmp_path, monkeypatch, capsys):
    path = tmp_path / "audit.toml"
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["privacygauge", "classifier", "x.csv", "--config", str(path)])
    assert run() == 2
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1


def test_days_are_written_as_on_the_command_line(tmp_path):
    other = typer.Typer(add_completion=False)
    seen = []

    @other.command()
    def first(closes: str = "") -> None:
        seen.append(closes)

    @other.command()
    def second() -> None:
        """Make the app a group."""

    command = typer.main.get_command(other)
    add_config(command)
    path = tmp_path / "audit.toml"
    path.write_text("[first]\ncloses = 2026-12-31\n")
    command(["first", "--config", str(path)], standalone_mode=False)
    assert seen == [str(datetime.date(2026, 12, 31))]
