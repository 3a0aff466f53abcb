"""Prediction files: npz, parquet and csv, checked before use and never unpickled."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.pool import Pool, pool_of
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.core import checks
from privacygauge.datasets.reading import FrameLike, plain, read_content
from privacygauge.errors import InputError
from privacygauge.runs.atomic import write_all

if TYPE_CHECKING:
    import pandas as pd


PredictionsLike = Predictions | str | Path | Mapping[str, ArrayLike] | FrameLike
"""What `as_predictions` takes."""

PoolLike = Pool | str | Path | Mapping[str, ArrayLike]
"""What `as_pool` takes."""

_KNOWN = {"probs", "logits", "labels", "member", "ids", "unit"}


def as_predictions(given: PredictionsLike, name: str = "predictions") -> Predictions:
    """Return predictions from whatever holds them.

    Parameters
    ----------
    given : Predictions, path, mapping of arrays, or data frame
        A file as in `load_predictions`; a mapping with the keys of an npz file; a pandas or
        polars frame with the columns of a csv file.
    name : str
        What error messages call it.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    if isinstance(given, Predictions):
        return given
    if isinstance(given, str | Path):
        return load_predictions(given)
    if isinstance(given, Mapping):
        arrays = {str(key): np.asarray(values) for key, values in given.items()}
        return predictions(name=name, **_fields_of_npz(arrays, name))
    frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
    if not hasattr(frame, "select_dtypes"):
        raise InputError(
            f"{name} must be Predictions, a path, a mapping of arrays or a data frame, got "
            f"{type(given).__name__}"
        )
    return predictions(name=name, **_fields_of_table(frame, name))


def load_predictions(path: str | Path) -> Predictions:
    """Return the predictions in a file.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.npz`` with the keys ``probs`` or ``logits`` (n, k), ``labels`` (n,), ``member`` (n,)
        and optionally ``ids`` (n,) and ``unit`` (n,), the person behind each row; every further
        key of n values is a column to slice by.
        ``.parquet`` or ``.csv`` with the columns ``p_0 ... p_{k-1}`` (or ``z_0 ...`` for
        logits), ``label``, ``member`` and optionally ``id`` and ``unit``; further columns
        likewise.

    Returns
    -------
    Predictions

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    path = Path(path)
    content = read_content(path, "prediction")
    read = _fields_of_npz if isinstance(content, Mapping) else _fields_of_table
    fields = read(content, path)  # type: ignore[arg-type]
    return predictions(name=str(path), **fields)


def _fields_of_npz(arrays: Mapping[str, NDArray[Any]], path: Path | str) -> dict[str, Any]:
    _require(arrays, ("labels", "member"), path)
    if "probs" not in arrays and "logits" not in arrays:
        raise InputError(f"{path}: no key probs or logits; it has {_list(arrays)}")
    # Both describe the same predictions; logits lose nothing to rounding.
    key = "logits" if "logits" in arrays else "probs"
    n = len(arrays[key]) if arrays[key].ndim else -1
    columns = {
        name: array
        for name, array in arrays.items()
        if name not in _KNOWN and array.ndim == 1 and len(array) == n
    }
    return {
        key: arrays[key],
        "labels": arrays["labels"],
        "member": arrays["member"],
        "ids": arrays.get("ids"),
        "unit": arrays.get("unit"),
        "columns": columns,
    }


def _fields_of_table(frame: pd.DataFrame, path: Path | str) -> dict[str, Any]:
    _require(frame, ("label", "member"), path)
    key, prefix = ("logits", "z") if "z_0" in frame else ("probs", "p")
    if f"{prefix}_0" not in frame:
        raise InputError(
            f"{path}: no columns p_0, p_1, ... or z_0, z_1, ...; it has {_list(frame)}"
        )
    matches = [re.fullmatch(rf"{prefix}_(\d+)", str(name)) for name in frame.columns]
    k = 1 + max(int(match[1]) for match in matches if match)
    wanted = [f"{prefix}_{i}" for i in range(k)]
    _require(frame, wanted, path)
    numeric = frame[wanted].select_dtypes("number")
    if numeric.shape[1] < k:
        text = next(name for name in wanted if name not in numeric)
        raise InputError(f"{path}: column {text} must hold numbers")
    used = {*wanted, "label", "member", "id", "unit"}
    return {
        key: frame[wanted].to_numpy(dtype=np.float64),
        "labels": _numbers(frame["label"], path),
        "member": _numbers(frame["member"], path),
        "ids": frame["id"].to_numpy() if "id" in frame else None,
        "unit": frame["unit"].to_numpy() if "unit" in frame else None,
        "columns": {str(name): plain(frame[name]) for name in frame.columns if name not in used},
    }


def _numbers(column: pd.Series[Any], path: Path | str) -> NDArray[Any]:
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise InputError(f"{path}: column {column.name} has no value in row {row}")
    if column.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: column {column.name} must hold numbers or true/false, got {column.iloc[0]!r}"
        )
    return column.to_numpy()


def _require(names: Any, wanted: tuple[str, ...] | list[str], path: Path | str) -> None:
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InputError(f"{path}: missing {_list(missing)}; it has {_list(names)}")


def _list(names: Any) -> str:
    return checks.listed(names, most=12) or "nothing"


def as_pool(given: PoolLike, name: str = "pool") -> Pool:
    """Return a pool of shadow models from whatever holds it.

    Parameters
    ----------
    given : Pool, path, or mapping of arrays
        ``.npz`` (or a mapping) with the keys ``probs`` or ``logits`` (k, n, c), ``labels`` (n,)
        and ``member`` (k, n), for k shadow models, n records and c classes.
    name : str
        What error messages call it.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    if isinstance(given, Pool):
        return given
    arrays: Any = given
    if isinstance(given, str | Path):
        arrays, name = read_content(Path(given), "pool"), str(given)
        if not isinstance(arrays, Mapping):
            raise InputError(f"{name}: the predictions of a pool must be in an .npz file")
    _require(arrays, ("labels", "member"), name)
    key = "logits" if "logits" in arrays else "probs"
    _require(arrays, (key,), name)
    return pool_of(np.asarray(arrays[key]), arrays["member"], arrays["labels"], key, name)


def save_predictions(predictions: Predictions, path: str | Path) -> None:
    """Write predictions as an npz file that `load_predictions` reads.

    Parameters
    ----------
    predictions : Predictions
    path : str or pathlib.Path
        Ends in ``.npz``; written aside first, so that no partial file is ever seen.
    """
    path = Path(path)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        allow_pickle=False,
        labels=predictions.labels,
        member=predictions.member,
        ids=predictions.ids,
        **{"logits" if predictions.logits else "probs": predictions.values},
        **({} if predictions.unit is None else {"unit": predictions.unit}),
        **predictions.columns,
    )
    write_all(path.parent, {path.name: buffer.getvalue()})
