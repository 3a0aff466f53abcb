"""Purchase100 and Texas100 of Shokri et al. (2017), from copies that the user names."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Ints
from privacygauge.errors import InputError

LICENCES = {
    "Purchase100": "of Kaggle's challenge that it was made from",
    "Texas100": "of the Texas Department of State Health Services",
}
"""Whose they are: never redistributed, never fetched."""

Bytes = NDArray[np.uint8]


def _numbers(path: str | Path, sha256: str | None) -> Bytes:
    """Return whole numbers in 0..255 of a file: rows are lines, commas part columns, (n, d)."""
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
    lines = content.decode("ascii", "replace").splitlines()
    if not any(line.strip() for line in lines):
        raise InputError(f"{file.name} must hold lines of numbers, and it holds none")
    try:
        return np.loadtxt(lines, np.uint8, delimiter=",", ndmin=2, comments=None)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{file.name} must hold lines of whole numbers in 0..255, as many in each: {error}"
        ) from error


def _binary(features: Bytes, name: str) -> Bytes:
    """Return features if all are 0 or 1."""
    bad = np.argwhere(features > 1)
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"{name} must hold features of 0 and 1, got {features[row, column]} in row {row}"
        )
    return features


def _from_one(labels: Bytes, n_classes: int, name: str) -> Ints:
    """Return labels that were counted from 1 as labels in 0..n_classes-1."""
    bad = np.flatnonzero((labels < 1) | (labels > n_classes))
    if len(bad):
        raise InputError(
            f"{name} must hold labels in 1..{n_classes}, got {labels[bad[0]]} in row {bad[0]}"
        )
    return labels.astype(np.int64) - 1


N_FEATURES = 600
"""Products of Purchase100."""


def purchase100(path: str | Path, *, sha256: str | None = None) -> tuple[Bytes, Ints]:
    """Return which of 600 products 197,324 customers bought, and which of 100 groups each is in.

    Parameters
    ----------
    path : str or Path
        The file ``dataset_purchase`` of Shokri et al. (2017), unpacked: a line a customer, the
        group (1 to 100) and then 600 zeros and ones, parted by commas.
    sha256 : str, optional
        The checksum that the file must have.

    Returns
    -------
    tuple of ndarray, shapes (n, 600) and (n,)
        Features of 0 and 1, and classes in 0..99, in the order of the file.

    Raises
    ------
    InputError
        If the file is missing, another one, or not of this form.
    """
    name = Path(path).name
    table = _numbers(path, sha256)
    if table.shape[1] != 1 + N_FEATURES:
        raise InputError(
            f"{name} must have {1 + N_FEATURES} columns, the group first, got {table.shape[1]}"
        )
    return _binary(table[:, 1:], name), _from_one(table[:, 0], 100, name)


def texas100(
    features: str | Path,
    labels: str | Path,
    *,
    features_sha256: str | None = None,
    labels_sha256: str | None = None,
) -> tuple[Bytes, Ints]:
    """Return binary attributes of hospital stays, and which of 100 procedures each was for.

    Of the whole file 67,330 patients.

    Parameters
    ----------
    features : str or Path
        The file ``feats`` of Shokri et al. (2017), unpacked: a line a stay, zeros and ones parted
        by commas (more than 6,000).
    labels : str or Path
        The file ``labels`` beside it: a line a stay, the procedure (1 to 100).
    features_sha256, labels_sha256 : str, optional
        The checksums that the files must have.

    Returns
    -------
    tuple of ndarray, shapes (n, d) and (n,)
        Features of 0 and 1, and classes in 0..99, in the order of the files.

    Raises
    ------
    InputError
        If a file is missing, another one, or not of this form, or if the two do not match.
    """
    names = Path(features).name, Path(labels).name
    known = _numbers(labels, labels_sha256)
    if known.shape[1] != 1:
        raise InputError(f"{names[1]} must have one column, got {known.shape[1]}")
    x = _numbers(features, features_sha256)
    if len(x) != len(known):
        raise InputError(
            f"{names[0]} and {names[1]} must have as many lines, got {len(x)} and {len(known)}"
        )
    return _binary(x, names[0]), _from_one(known[:, 0], 100, names[1])
