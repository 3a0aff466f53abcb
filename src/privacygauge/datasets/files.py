"""Where data files come from: a folder of the user's, or the official source, checked."""

from __future__ import annotations

import gzip
import hashlib
import os
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPException
from pathlib import Path

from privacygauge.datasets.bounds import check_size, read_unpacked
from privacygauge.errors import InputError
from privacygauge.runs.atomic import check_writable, write_all

VARIABLE = "PRIVACYGAUGE_DATA"
"""Names the folder with data files of the user's own."""


_NAMED: ContextVar[Path | None] = ContextVar("_NAMED", default=None)


@contextmanager
def data_in(folder: Path | None) -> Iterator[None]:
    """Look for data files in a folder first, before that of PRIVACYGAUGE_DATA; None: only there."""
    token = _NAMED.set(folder)
    try:
        yield
    finally:
        _NAMED.reset(token)


def own_file(name: str) -> Path | None:
    """Return the user's file, plain or with .gz; None if absent.

    It is looked for in the folder of `data_in`, then in that of PRIVACYGAUGE_DATA.
    """
    found = (file_in(folder, name) for folder in data_folders())
    return next((path for path in found if path is not None), None)


def data_folders() -> list[Path]:
    """Return the folders of the user's files, in the order in which they are looked through."""
    return [Path(folder) for folder in (_NAMED.get(), os.environ.get(VARIABLE)) if folder]


def file_in(folder: Path, name: str) -> Path | None:
    """Return a file of a folder, plain or with .gz; None if absent."""
    candidates = (folder / name, folder / f"{name}.gz")
    return next((path for path in candidates if path.is_file()), None)


def read_checked(name: str, url: str, sha256: str) -> bytes:
    """Return the content of a data file, from the user's folder, the cache, or its source.

    Parameters
    ----------
    name : str
        File name.
    url : str
        The official source, asked only where the file is not available.
    sha256 : str
        Of the content, unpacked.

    Raises
    ------
    InputError
        If the file cannot be had, or is not the one that is meant.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "privacygauge"
    cached = cache / name
    path = own_file(name) or (cached if cached.is_file() else None)
    content = _download(url, name) if path is None else content_of(path)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{path or url} is not the {name} that is meant: its SHA-256 is {found[:12]}..., "
            f"expected {sha256[:12]}...; remove it, and it is fetched from {url}"
        )
    if path is None:
        check_writable(cache)
        write_all(cache, {name: content})
    return content


def read_own(name: str, sha256: str, absent: str) -> bytes:
    """Return the content of a data file that is never fetched, from the user's folder.

    Parameters
    ----------
    name : str
        File name.
    sha256 : str
        Of the content, unpacked.
    absent : str
        What a message says after "is not in the folder ...", and the way out.

    Raises
    ------
    InputError
        If the file is not there, or is not the one that is meant.
    """
    path = own_file(name)
    if path is None:
        raise InputError(f"{name} is not in the folder that {VARIABLE} names; {absent}")
    content = content_of(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(
            f"{path} is not the {name} that is meant: its checksum differs; get it again"
        )
    return content


def content_of(path: Path) -> bytes:
    """Return the content of a file, unpacked where its name ends in .gz."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if path.suffix.lower() != ".gz":
            check_size(path, size, size)
            return file.read()
        try:
            return read_unpacked(gzip.GzipFile(fileobj=file), path, size)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path} is damaged ({error}): remove it, or get it again") from error


def _download(url: str, name: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content: bytes = answer.read()
    except (OSError, HTTPException) as error:
        raise InputError(
            f"{name} is not in the folder that {VARIABLE} names and cannot be fetched from {url} "
            f"({error}): save it there by hand"
        ) from error
    return content
