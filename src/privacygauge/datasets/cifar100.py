"""CIFAR-100: 60,000 small images of 100 kinds of things (Krizhevsky 2009)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.datasets.local_copies import Bytes, content_of_copy
from privacygauge.errors import InputError

LICENCE = "none stated: never redistributed, never fetched"

_RECORD = 2 + 3 * 32 * 32


def cifar100(path: str | Path, *, sha256: str | None = None) -> tuple[Bytes, Ints]:
    """Return images and which of 100 classes each shows.

    Parameters
    ----------
    path : str or Path
        ``train.bin`` or ``test.bin`` of the binary version, unpacked. The version for Python is
        a pickle, and pickles are never loaded.
    sha256 : str, optional
        The checksum that the file must have.

    Returns
    -------
    tuple of ndarray, shapes (n, 3, 32, 32) and (n,)
        Pixels in 0..255, colours first, and the fine classes in 0..99, in the order of the file.

    Raises
    ------
    InputError
        If the file is missing, another one, or not of this form.
    """
    name = Path(path).name
    content = content_of_copy(path, sha256)
    if not content or len(content) % _RECORD:
        raise InputError(
            f"{name} must hold records of {_RECORD} bytes, got {len(content)} bytes: take "
            "train.bin or test.bin of the binary version"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
    coarse, fine = records[:, 0], records[:, 1]
    bad = np.flatnonzero((fine > 99) | (coarse > 19))
    if len(bad):
        raise InputError(
            f"{name} must hold classes in 0..19 and 0..99, got {coarse[bad[0]]} and "
            f"{fine[bad[0]]} in record {bad[0]}: take the binary version of CIFAR-100"
        )
    return records[:, 2:].reshape(-1, 3, 32, 32).copy(), fine.astype(np.int64)
