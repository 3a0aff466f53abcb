"""What all tests of the command line share."""

from __future__ import annotations

import pytest
from typer import testing

from tests.cli import vocabulary


@pytest.fixture(scope="session", autouse=True)
def _commands_are_made_once():
    """Give `CliRunner` the forty commands that are there: to make them anew takes 40 ms a call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", vocabulary.made)
        yield
