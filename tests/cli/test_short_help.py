"""Help in two lengths, over all commands."""

from __future__ import annotations

import re

import pytest

from privacygauge.cli.main import app, command_of
from privacygauge.cli.short_help import FIRST, MOST, SHARED, needed_first
from tests.cli.test_main import run_inside
from tests.test_docs import leaves

COMMANDS = sorted(leaves(command_of(app)))
FLAG = re.compile(r"^│ (?:[* ]  )?(?: {12})?(--?[a-z][a-z0-9-]*)", re.MULTILINE)


def made(name):
    command = command_of(app)
    for word in name.split():
        command = command.commands[word]
    return command


def options(name):
    skipped = {"--help", "--help-all"}
    params = [p for p in made(name).params if p.param_type_name == "option"]
    return [p.opts[0] for p in params if not skipped & {*p.opts}]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_options_that_people_need_first_and_help_all_the_others(name, capsys):
    short = run_inside((*name.split(), "--help"), capsys)
    assert (short.returncode, short.stderr) == (0, "")
    found = [flag for flag in FLAG.findall(short.stdout) if not flag.startswith("--help")]
    assert len(found) <= MOST + 1
    if len(options(name)) <= MOST + 1:
        assert "--help-all" not in short.stdout
        whole = run_inside((*name.split(), "--help-all"), capsys)
        assert whole.stdout.strip() == short.stdout.strip()
        return
    assert sorted(found) == sorted(needed_first(made(name)))
    assert "--help-all" in short.stdout
    whole = run_inside((*name.split(), "--help-all"), capsys)
    assert (whole.returncode, whole.stderr) == (0, "")
    every = [flag for flag in FLAG.findall(whole.stdout) if not flag.startswith("--help")]
    assert sorted(every) == sorted(options(name))
    for text in (short, whole):
        assert "Usage: " in text.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_no_required_option_is_left_out(name):
    required = [p.opts[0] for p in made(name).params if p.required and p.opts[0].startswith("-")]
    assert {*required} <= {*needed_first(made(name))}
    assert {*SHARED} & {*options(name)} <= {*needed_first(made(name))}


def test_every_option_of_the_list_is_one():
    known = {flag for name in COMMANDS for flag in options(name)}
    assert {*FIRST, *SHARED} <= known
