"""What several tests of the command line share."""

import tempfile

import pytest

from tests.runs.sample import contents


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder of copies, which is empty in the end."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not contents(folder)
