"""Reading data that nobody may fetch for the user: copies that the user names."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Ints
from privacygauge.errors import InputError

Bytes = NDArray[np.uint8]


def content_of_copy(path: str | Path, sha256: str | None) -> bytes:
    """Return the content of a file that the user named.

    Parameters
    ----------
    path : str or Path
    sha256 : str, optional
        Of the content, in hexadecimal; not looked at by default.

    Raises
    ------
    InputError
        If there is no such file, or its checksum differs.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"path must be a file, and {path} is none: unpack the archive first")
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256.lower():
        raise InputError(
            f"the checksum of {file.name} must be {sha256.lower()}, got {found}: get the file "
            "again, or leave sha256 out to read it as it is"
        )
    return content


def numbers(content: bytes, name: str) -> Bytes:
    """Return whole numbers in 0..255, rows of which are lines and columns parted by commas, (n, d).

    Raises
    ------
    InputError
        If there are other things, or lines of several lengths.
    """
    lines = content.decode("ascii", "replace").splitlines()
    if not any(line.strip() for line in lines):
        raise InputError(f"{name} must hold lines of numbers, and it holds none")
    try:
        return np.loadtxt(lines, np.uint8, delimiter=",", ndmin=2, comments=None)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{name} must hold lines of whole numbers in 0..255, as many in each: {error}"
        ) from error


def require_binary(features: Bytes, name: str) -> Bytes:
    """Return features if all are 0 or 1."""
    bad = np.argwhere(features > 1)
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"{name} must hold features of 0 and 1, got {features[row, column]} in row {row}"
        )
    return features


def from_one(labels: Bytes, n_classes: int, name: str) -> Ints:
    """Return labels that were counted from 1 as labels in 0..n_classes-1."""
    bad = np.flatnonzero((labels < 1) | (labels > n_classes))
    if len(bad):
        raise InputError(
            f"{name} must hold labels in 1..{n_classes}, got {labels[bad[0]]} in row {bad[0]}"
        )
    return labels.astype(np.int64) - 1
