"""Prediction files: npz, parquet and csv, checked before use and never unpickled."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifier.exports import coded, fields_of, truth_of
from privacygauge.classifier.pool import Pool, pool_of
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.core import checks
from privacygauge.datasets.reading import FrameLike, read_content
from privacygauge.errors import InputError
from privacygauge.runs.atomic import write_all

if TYPE_CHECKING:
    import pandas as pd


PredictionsLike = Predictions | str | Path | Mapping[str, ArrayLike] | FrameLike
"""What `as_predictions` takes."""

PoolLike = Pool | str | Path | Mapping[str, ArrayLike]
"""What `as_pool` takes."""


def as_predictions(given: PredictionsLike, name: str = "predictions") -> Predictions:
    """Return predictions from whatever holds them.

    Parameters
    ----------
    given : Predictions, path, mapping of arrays, or data frame
        A file as in `load_predictions`; a mapping with the keys of an npz file; a pandas or
        polars frame with the columns of a csv file.
    name : str
        What error messages call it.
    """
    if isinstance(given, Predictions):
        return given
    if isinstance(given, str | Path):
        return load_predictions(given)
    if isinstance(given, Mapping):
        return predictions(name=name, **_fields(given, name))
    frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
    if not hasattr(frame, "select_dtypes"):
        raise InputError(
            f"{name} must be Predictions, a path, a mapping of arrays or a data frame, got "
            f"{type(given).__name__}"
        )
    return predictions(name=name, **_fields(frame, name))


def load_predictions(path: str | Path) -> Predictions:
    """Return the predictions in a file.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.npz`` with the keys ``probs`` or ``logits`` (n, k), ``labels`` (n,), ``member`` (n,)
        and optionally ``ids`` (n,), ``unit`` (n,), the person behind each row, and ``classes``
        (k,), their names; every further key of n values is a column to slice by. A model that
        was asked q times about each record, about the record itself first and then about views of
        it, has ``probs`` or ``logits`` (n, q, k).
        ``.parquet``, ``.csv`` or ``.jsonl`` with the columns ``p_0 ... p_{k-1}`` (or ``z_0 ...``
        for logits), ``label``, ``member`` and optionally ``id`` and ``unit``; further columns
        likewise.

    Returns
    -------
    Predictions
        What was read into the file is said in its `notes`.

    Notes
    -----
    Taken as well: classes by name (``p_benign``, ``p_malignant``), or counted from 1; one column
    of two classes (``p``, ``p_1``, ``p_malignant``, ``z``); a column ``probs`` or ``logits`` of
    lists; labels that are texts, counted from 1, -1 and 1, or one-hot; members as true and
    false, in and out, or a column ``split`` of train and test; percentages.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    path = Path(path)
    return predictions(name=str(path), **_fields(read_content(path, "prediction"), str(path)))


def _fields(content: Mapping[str, ArrayLike] | pd.DataFrame, name: str) -> dict[str, Any]:
    table = not isinstance(content, Mapping)
    arrays = {str(key): np.asarray(values) for key, values in content.items()}
    return fields_of(arrays, name, table=table)


def as_pool(given: PoolLike, name: str = "pool") -> Pool:
    """Return a pool of shadow models from whatever holds it.

    Parameters
    ----------
    given : Pool, path, or mapping of arrays
        ``.npz`` (or a mapping) with the keys ``probs`` or ``logits`` (k, n, c), ``labels`` (n,)
        and ``member`` (k, n), for k shadow models, n records and c classes; of q queries a record
        ``probs`` or ``logits`` (k, n, q, c).
    name : str
        What error messages call it.
    """
    if isinstance(given, Pool):
        return given
    arrays: Any = given
    if isinstance(given, str | Path):
        arrays, name = read_content(Path(given), "pool"), str(given)
        if not isinstance(arrays, Mapping):
            raise InputError(f"{name}: the predictions of a pool must be in an .npz file")
    key = "logits" if "logits" in arrays else "probs"
    missing = [wanted for wanted in ("labels", "member", key) if wanted not in arrays]
    if missing:
        raise InputError(
            f"{name}: missing {checks.listed(missing)}; it has {checks.listed(arrays)}"
        )
    values, labels = np.asarray(arrays[key]), truth_of(np.asarray(arrays["labels"]), "labels", name)
    if values.ndim in (3, 4):
        labels, _, _ = coded(labels, values.shape[-1], None, name)
    return pool_of(values, arrays["member"], labels, key, name)


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
        **{"logits" if predictions.logits else "probs": predictions.answers},
        **({} if predictions.unit is None else {"unit": predictions.unit}),
        **({"classes": np.array(predictions.classes)} if predictions.classes else {}),
        **predictions.columns,
    )
    write_all(path.parent, {path.name: buffer.getvalue()})
