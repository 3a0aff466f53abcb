"""The owner's file of hidden labels: an array, or a table with the points' names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacygauge.datasets.reading import csv_texts, read_array, read_content
from privacygauge.errors import InputError
from privacygauge.runs.folder import require_local

_ID = "id"


def read_hidden(path: Path) -> tuple[NDArray[np.generic], tuple[str, ...] | None]:
    """Return hidden values, (n,), and the names of the points; None where they have none.

    Parameters
    ----------
    path : pathlib.Path
        .npy; .npz with one array; or .csv with a column of labels and perhaps one ``id``.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    require_local(path, "labels are read from a file")
    if path.suffix.lower() == ".npy":
        return read_array(path, "labels"), None
    content = read_content(path, "labels")
    if isinstance(content, Mapping):
        if len(content) != 1:
            raise InputError(f"{path} must hold one array of labels, got {len(content)}")
        return next(iter(content.values())), None
    others = [name for name in content.columns if name != _ID]
    if len(others) != 1:
        raise InputError(f"{path} must have one column of labels beside id, got {len(others)}")
    values = np.asarray(content[others[0]])
    if _ID not in content.columns:
        return values, None
    # As text: a point may be called 007.
    names = tuple(str(name).strip() for name in csv_texts(path, [_ID])[_ID])
    if len(set(names)) < len(names):
        raise InputError(f"{path}: every id must differ from the others")
    return values, names
