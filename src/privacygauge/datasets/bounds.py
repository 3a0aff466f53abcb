"""What a file unpacks to is held against its size and the free memory, before it is unpacked."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from privacygauge.core.memory import bytes_text, free_memory
from privacygauge.errors import InputError

SMALL = 2**28
"""Bytes that a file may always unpack to."""
EXPANSION = 100
"""Beyond `SMALL`, how many times its own size a file may unpack to."""

_PART = 2**20


def check_size(path: Path | str, there: int, promised: int) -> None:
    """Refuse a file that unpacks to far more than it holds, or to more than the memory takes.

    Parameters
    ----------
    path : Path or str
        For the message.
    there : int
        The bytes of the file.
    promised : int
        The bytes of what it holds, unpacked.

    Raises
    ------
    InputError
        One line: the file, what it unpacks to, and the way out.
    """
    if promised > max(SMALL, EXPANSION * there):
        raise InputError(
            f"{path} has {bytes_text(there)} and unpacks to {bytes_text(promised)}, more than "
            f"{EXPANSION} times as much: if the data are truly so, save them uncompressed"
        )
    if promised > free_memory():
        raise InputError(
            f"{path} takes {bytes_text(promised)} of memory, and {bytes_text(free_memory())} are "
            "free: give fewer rows, or use a larger machine"
        )


def read_unpacked(stream: IO[bytes] | gzip.GzipFile, path: Path, there: int) -> bytes:
    """Return all bytes of a stream that unpacks a file of `there` bytes, checked as it unpacks.

    Raises
    ------
    InputError
        As in `check_size`.
    """
    content = io.BytesIO()
    while part := stream.read(_PART):
        content.write(part)
        if content.tell() > SMALL:
            check_size(path, there, content.tell())
    return content.getvalue()


def require_once(path: Path, names: Sequence[str]) -> None:
    """Refuse a table with a column that occurs twice.

    Raises
    ------
    InputError
        One line: which column.
    """
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"{path}: column {twice!r} occurs twice: name each column differently")
