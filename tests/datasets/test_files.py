"""Where data files come from. Nothing is fetched: the network is a function of the test's."""

import gzip
import hashlib
import io
from http.client import IncompleteRead
from types import SimpleNamespace
from urllib.error import URLError

import pytest

from privacygauge.datasets import local_copies
from privacygauge.datasets.local_copies import own_file, read_checked
from privacygauge.errors import InputError

CONTENT = b"a,b\n1,2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
URL = "https://example.org/t.csv"


@pytest.fixture
def network(monkeypatch, tmp_path):
    """Return what was asked for; answers come from the list `network.answers`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PRIVACYGAUGE_DATA", str(tmp_path / "own"))

    found = SimpleNamespace(asked=[], answers=[])

    def urlopen(url, timeout):
        assert timeout > 0
        found.asked.append(url)
        answer = found.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return io.BytesIO(answer)

    monkeypatch.setattr(local_copies.urllib.request, "urlopen", urlopen)
    return found


def test_what_was_fetched_once_is_kept(network, tmp_path):
    network.answers.append(CONTENT)
    for _ in range(2):
        assert read_checked("t.csv", URL, SHA256) == CONTENT
    assert network.asked == [URL]
    assert [p.name for p in (tmp_path / "cache" / "privacygauge").iterdir()] == ["t.csv"]


@pytest.mark.parametrize("packed", [True, False])
def test_the_users_own_file_comes_first_plain_or_packed(network, tmp_path, packed):
    own = tmp_path / "own"
    own.mkdir()
    name = "t.csv.gz" if packed else "t.csv"
    (own / name).write_bytes(gzip.compress(CONTENT) if packed else CONTENT)
    assert own_file("t.csv") == own / name
    assert read_checked("t.csv", URL, SHA256) == CONTENT
    assert network.asked == []
    assert not (tmp_path / "cache").exists()


def test_without_a_folder_there_is_no_own_file(network, monkeypatch, tmp_path):
    assert own_file("t.csv") is None  # the folder is missing
    monkeypatch.delenv("PRIVACYGAUGE_DATA")
    assert own_file("t.csv") is None
    monkeypatch.setenv("PRIVACYGAUGE_DATA", "")
    assert own_file("t.csv") is None


def test_another_file_than_the_one_meant_is_refused_and_not_kept(network, tmp_path):
    network.answers.append(b"sign in first")
    with pytest.raises(InputError, match=r"example.org/t.csv is not the t.csv that is meant: its"):
        read_checked("t.csv", URL, SHA256)
    assert not (tmp_path / "cache").exists()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "t.csv").write_bytes(CONTENT + b"3,4\n")
    with pytest.raises(InputError, match=r"own/t.csv is not the t.csv that is meant.*remove it"):
        read_checked("t.csv", URL, SHA256)


def test_a_damaged_archive_is_named(network, tmp_path):
    (tmp_path / "own").mkdir()
    whole = gzip.compress(CONTENT)
    for packed in (b"", b"none", whole[:-4], whole[:12] + b"\xff\xff" + whole[14:]):
        (tmp_path / "own" / "t.csv.gz").write_bytes(packed)
        with pytest.raises(InputError, match=r"t\.csv"):
            read_checked("t.csv", URL, SHA256)


@pytest.mark.parametrize(
    "error", [URLError("no route"), TimeoutError("timed out"), IncompleteRead(b"a")]
)
def test_what_cannot_be_fetched_says_where_to_get_it(network, error):
    network.answers.append(error)
    with pytest.raises(InputError, match=r"cannot be fetched from https://example.org/t.csv"):
        read_checked("t.csv", URL, SHA256)


def test_an_empty_cache_variable_is_no_folder(network, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    network.answers.append(CONTENT)
    read_checked("t.csv", URL, SHA256)
    assert (tmp_path / "home" / ".cache" / "privacygauge" / "t.csv").exists()
    assert not (tmp_path / "privacygauge").exists()
