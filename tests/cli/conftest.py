"""What tests of the command line share."""

from __future__ import annotations

import tempfile

import pytest
from typer import testing

from tests.cli import vocabulary
from tests.runs.sample import contents


@pytest.fixture(scope="session", autouse=True)
def _commands_are_made_once():
    """Give `CliRunner` the forty commands that are there: to make them anew takes 40 ms a call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", vocabulary.made)
        yield


@pytest.fixture(scope="module", autouse=True)
def _pages_have_empty_plots(undrawn):
    """Commands that run in this process draw nothing."""


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder of copies, which is empty in the end."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not contents(folder)
