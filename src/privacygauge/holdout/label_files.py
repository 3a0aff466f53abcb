"""Hidden labels and a base model's logits, from arrays or files, checked and never unpickled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.datasets.arrays import Content
from privacygauge.datasets.reading import read_array, read_content
from privacygauge.errors import InputError
from privacygauge.holdout.metrics import ACCURACY, Metric, Values
from privacygauge.runs.folder import require_local


def read_labels(given: ArrayLike | str | Path, metric: Metric = ACCURACY) -> Values:
    """Return hidden labels, (n,), integers of at least 0, or numbers where the metric is of them.

    Parameters
    ----------
    given : array_like of shape (n,), str or pathlib.Path
        A file as in `LABEL_FILES`.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    check = checks.floats if metric.numbers else checks.classes
    if not isinstance(given, str | Path):
        return check(given, "labels")
    require_local(given, "labels are read from a file")
    return check(_array(Path(given), "labels"), f"labels in {given}")


def read_logits(given: ArrayLike | str | Path) -> NDArray[Any]:
    """Return a base model's logits, (n, m), as they are.

    Parameters
    ----------
    given : array_like of shape (n, m), str or pathlib.Path
        An ``.npy`` file, or an ``.npz`` file with one array or one called ``logits``.
    """
    if isinstance(given, str | Path):
        return _array(Path(given), "logits")
    return np.asarray(given)


def _array(path: Path, name: str) -> NDArray[Any]:
    if path.suffix.lower() == ".npy":
        return read_array(path, name)
    content = read_content(path, name)
    if isinstance(content, Mapping):
        return _only(content, name, path)
    if content.shape[1] != 1:
        raise InputError(f"{path} must have one column, the {name}, got {content.shape[1]}")
    title, column = str(content.columns[0]), content.iloc[:, 0].to_numpy()
    # A file without a header: its first label was taken for one.
    return np.concatenate([[int(title)], column]) if title.isdecimal() else column


def _only(content: Content, name: str, path: Path) -> NDArray[Any]:
    if name in content:
        return content[name]
    if len(content) != 1:
        raise InputError(
            f"{path} must hold one array, or one called {name}, got {checks.listed(content)}"
        )
    return next(iter(content.values()))
