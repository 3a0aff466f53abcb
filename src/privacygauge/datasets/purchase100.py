"""Purchase100: what 197,324 customers bought, in 100 groups."""

from __future__ import annotations

from pathlib import Path

from privacygauge.core.checks import Ints
from privacygauge.datasets.local_copies import (
    Bytes,
    content_of_copy,
    from_one,
    numbers,
    require_binary,
)
from privacygauge.errors import InputError

LICENCE = "of Kaggle's challenge that it was made from: never redistributed, never fetched"

N_FEATURES = 600
"""Products."""


def purchase100(path: str | Path, *, sha256: str | None = None) -> tuple[Bytes, Ints]:
    """Return which of 600 products each customer bought, and which of 100 groups each is in.

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
    table = numbers(content_of_copy(path, sha256), name)
    if table.shape[1] != 1 + N_FEATURES:
        raise InputError(
            f"{name} must have {1 + N_FEATURES} columns, the group first, got {table.shape[1]}"
        )
    return require_binary(table[:, 1:], name), from_one(table[:, 0], 100, name)
