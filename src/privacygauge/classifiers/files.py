"""Prediction files: npz, parquet and csv, checked before use and never unpickled."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.exports import (
    Kind,
    class_order,
    encode_classes,
    fields_of,
    truth_of,
    usual_names,
)
from privacygauge.classifiers.predictions import ARRAYS, Pool, Predictions, predictions
from privacygauge.core import checks
from privacygauge.datasets.archives import SMALL
from privacygauge.datasets.columns import NAMING
from privacygauge.datasets.reading import CSV, FrameLike, long_columns, read_content
from privacygauge.errors import InputError
from privacygauge.runs.results import write_results
from privacygauge.runs.threads import bytes_text

if TYPE_CHECKING:
    import pandas as pd


PredictionsLike = Predictions | str | Path | Mapping[str, ArrayLike] | FrameLike
"""Input of `as_predictions`."""

PoolLike = Pool | str | Path | Mapping[str, ArrayLike]
"""Input of `as_pool`."""

_SUFFIXES = (".npz", ".parquet", ".csv", ".jsonl")
"""Suffixes of the files that predictions can be written to."""


_NAMING = (*NAMING, *(spelled(name) for name in NAMING for spelled in (str.upper, str.capitalize)))
"""Names of columns that are read as texts, as they are usually spelled."""


def as_predictions(
    given: PredictionsLike,
    name: str = "predictions",
    *,
    classes: Sequence[str] = (),
    unit: ArrayLike | str | None = None,
    columns: Sequence[str] = (),
) -> Predictions:
    """Return predictions from an object or a file that holds them.

    Parameters
    ----------
    given : Predictions, path, mapping of arrays, or data frame
        A file as in `load_predictions`; a mapping with the keys of an npz file; a pandas or
        polars frame with the columns of a csv file.
    name : str
        Name of the input in error messages.
    classes : sequence of str
        As in `load_predictions`.
    unit : array_like or str, optional
        The person behind each row, or the name of the column that holds them.
    columns : sequence of str
        As in `load_predictions`.
    """
    people = (unit,) if isinstance(unit, str) else ()
    if isinstance(given, str | Path):
        found = load_predictions(given, classes=classes, names=people, columns=columns)
    elif isinstance(given, Predictions):
        found = given
    elif isinstance(given, Mapping):
        found = _predictions(given, name, classes)
    else:
        frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
        if not hasattr(frame, "select_dtypes"):
            raise InputError(
                f"{name} must be Predictions, a path, a mapping of arrays or a data frame, got "
                f"{type(given).__name__}: arrays go together, as {ARRAYS}"
            )
        found = _predictions(frame, name, classes, (*people, *columns))
    return found if unit is None else found.by_unit(unit)


def load_predictions(
    path: str | Path,
    *,
    classes: Sequence[str] = (),
    names: Sequence[str] = (),
    columns: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Predictions:
    """Return the predictions in a file.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.npz`` with the keys ``probs`` or ``logits`` (n, k), ``labels`` (n,), ``member`` (n,) and
        optionally ``ids`` (n,), ``unit`` (n,), the person behind each row, and ``classes`` (k,),
        the names of the classes; every further key of n values is a column to slice by. With q
        queries per record, the record itself first and then views of it, ``probs`` or ``logits``
        are (n, q, k).
        ``.parquet``, ``.csv``, ``.tsv`` or ``.jsonl`` (the last three also with ``.gz``) with the
        columns ``p_0 ... p_{k-1}`` (or ``z_0 ...`` for logits), ``label``, ``member`` and
        optionally ``id`` and ``unit``; further columns are columns to slice by.
    classes : sequence of str
        Names of the classes in the order of the predictions, if labels are texts and columns are
        numbered. Default: the order that the predictions show.
    names : sequence of str
        Further columns that name people, in addition to ``id`` and ``unit``: in csv files they are
        read as text, so that 007 is not 7.
    columns : sequence of str
        Further columns to keep even if they hold long texts, of more than 1,000 characters mostly.
        Other columns of long texts, such as notes, are not read, and a note says so.
    missing : sequence of str
        Further words for a missing value in a table, such as ``?``.

    Returns
    -------
    Predictions
        Predictions with `notes` on how the file was read.

    Notes
    -----
    Also accepted: classes by name (``p_benign``, ``p_malignant``), or counted from 1; one column
    for two classes (``p``, ``p_1``, ``p_malignant``, ``z``); a column ``probs`` or ``logits`` of
    lists, in csv files as texts such as ``[0.1, 0.9]``; labels that are texts, counted from 1, -1
    and 1, or one-hot; members as true and false, in and out, or a column ``split`` of train and
    test; percentages; probabilities rounded to a few digits; only the largest probabilities of each
    row (``top_1_class``, ``top_1_prob``, ...; lists ``classes`` and ``probs``; columns or arrays
    with gaps or zeros), where the other classes share the remainder to 1 equally. Text labels with
    columns ``p_0``, ``p_1``, ... are numbered as the predictions show; if these do not show the
    order, the file is refused unless `classes` gives it.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    path = Path(path)
    is_table = path.is_file() and path.name.lower().endswith((".parquet", *CSV))
    long = long_columns(path) if is_table else []
    wanted = {*NAMING, *names, *columns}
    notes = [name for name in long if name not in wanted]
    content = read_content(
        path, "prediction", names=(*_NAMING, *names), without=notes, missing=missing
    )
    if not isinstance(content, Mapping):
        if not is_table:
            notes = [name for name in long_columns(content) if name not in wanted]
        content = content.drop(columns=notes)
    found = _predictions(content, str(path), classes, (*names, *columns))
    left_out = (f"{path}: column {name} holds long texts, and was left out" for name in notes)
    return replace(found, notes=(*found.notes, *left_out))


def _predictions(
    content: Mapping[str, ArrayLike] | pd.DataFrame,
    name: str,
    classes: Sequence[str],
    asked: Sequence[str] = (),
) -> Predictions:
    table = not isinstance(content, Mapping)
    keys = [str(key) for key in content]
    if twice := [key for i, key in enumerate(keys) if key in keys[:i]]:
        raise InputError(f"{name}: column {twice[0]!r} occurs twice: name each column differently")
    spelled = usual_names(keys) if table else keys
    # Columns that the user named keep their names.
    arrays = {
        key if key in asked else usual: _array(values)
        for usual, key, (_, values) in zip(spelled, keys, content.items(), strict=True)
    }
    arguments = fields_of(arrays, name, table=table, classes=classes)
    notes = arguments.pop("notes")
    return predictions(name=name, **arguments).with_notes(notes)


def _array(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array; lists of unequal lengths become objects."""
    try:
        return np.asarray(values)
    except ValueError:
        rows: Any = values
        # np.array(rows, object) would still refuse some lists of unequal lengths.
        found: NDArray[Any] = np.empty(len(rows), np.object_)
        found[:] = rows
        return found


def as_pool(
    given: PoolLike,
    name: str = "pool",
    *,
    classes: Sequence[str] = (),
    target_classes: Sequence[str] = (),
) -> Pool:
    """Return a pool of shadow models from an object or a file that holds it.

    Parameters
    ----------
    given : Pool, path, or mapping of arrays
        ``.npz`` (or a mapping) with the keys ``probs`` or ``logits`` (k, n, c), ``labels`` (n,) and
        ``member`` (k, n), for k shadow models, n records and c classes; with q queries per record,
        ``probs`` or ``logits`` are (k, n, q, c). Optionally ``classes`` (c,), the names of the
        classes in the order of the predictions.
    name : str
        Name of the input in error messages.
    classes : sequence of str
        As in `load_predictions`.
    target_classes : sequence of str
        Names of the target's classes, in its order. A pool whose classes have the same names is
        brought into that order.
    """
    if isinstance(given, Pool):
        return given
    arrays: Any = given
    if isinstance(given, str | Path):
        arrays = read_content(Path(given), "pool")
        name = str(given)
        if not isinstance(arrays, Mapping):
            raise InputError(f"{name}: the predictions of a pool must be in an .npz file")
    checks.kind(arrays, name, Mapping, "a Pool, a path, or a mapping of arrays")
    key: Kind = "logits" if "logits" in arrays else "probs"
    missing = [wanted for wanted in ("labels", "member", key) if wanted not in arrays]
    if missing:
        raise InputError(
            f"{name}: missing {checks.short_list(missing)}; it has {checks.short_list(arrays)}"
        )
    values = np.asarray(arrays[key])
    labels = truth_of(np.asarray(arrays["labels"]), "labels", name)
    if values.ndim in (3, 4):
        k = values.shape[-1]
        named = list(classes) if len(classes) > 1 else None
        if named is None and "classes" in arrays:
            found = np.asarray(arrays["classes"])
            if found.shape == (k,) and len(set(found.tolist())) == k:
                named = [str(text) for text in found.tolist()]
        order = None if named else class_order(values.mean(axis=0), labels, key, name)
        labels, names, _ = encode_classes(labels, k, named=named, name=name, order=order)
        if names != tuple(target_classes) and sorted(names) == sorted(target_classes):
            # The pool's column of each of the target's classes; argsort inverts it for the labels.
            place = [names.index(text) for text in target_classes]
            values = values[..., place]
            # Out of range is refused below, by its number.
            inside = (labels >= 0) & (labels < k)
            labels = np.where(inside, np.argsort(place)[np.clip(labels, 0, k - 1)], labels)
    in_models = np.asarray(arrays["member"])
    if values.ndim not in (3, 4) or in_models.shape != values.shape[:2]:
        raise InputError(
            f"{name}: {key} must have the shape (k, n, c) or (k, n, q, c) and member (k, n), for k "
            f"models, n records, q queries and c classes, got {values.shape} and {in_models.shape}"
        )
    n_models, n, *each = values.shape
    y = checks.classes(labels, f"{name}: labels", length=n)
    every_row: dict[str, Any] = {key: values.reshape(n_models * n, *each)}
    # The same checks as for one model, on the rows of all models.
    checked = predictions(
        labels=np.tile(y, n_models), member=in_models.reshape(n_models * n), name=name, **every_row
    )
    if key == "logits" and not checked.logits:
        raise InputError(
            f"{name}: the logits are probabilities (rows in [0, 1] that sum to 1): save them under "
            "the key probs"
        )
    answers = checked.answers.reshape(n_models, n, *checked.answers.shape[1:])
    return Pool(answers, checked.logits, checked.member.reshape(n_models, n), y)


def save_predictions(predictions: Predictions, path: str | Path) -> None:
    """Write predictions as a file that `load_predictions` reads.

    Parameters
    ----------
    predictions : Predictions
    path : str or pathlib.Path
        Ends in ``.npz``, ``.parquet``, ``.csv`` or ``.jsonl``, which selects the format. The file
        is written under another name first, so that no partial file is ever seen.

    Raises
    ------
    InputError
        If the path ends in anything else, or a table cannot hold the predictions: several queries
        per record, or a further column with the name of one of the table's own.
    """
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"path must end in {', '.join(_SUFFIXES)}, got {str(path)!r}: the suffix says how "
            "predictions are written"
        )
    if path.suffix == ".npz":
        packed = io.BytesIO()
        names = predictions.classes
        # Names that are numbers would be read as such: labels are then written as these numbers.
        by_number = bool(names) and all(re.fullmatch(r"-?\d+", name) for name in names)
        labels = predictions.labels
        np.savez_compressed(
            packed,
            allow_pickle=False,
            labels=np.array([int(name) for name in names])[labels] if by_number else labels,
            member=predictions.member,
            ids=_of_one_width(predictions.ids, "ids"),
            **{"logits" if predictions.logits else "probs": predictions.answers},
            **({} if predictions.unit is None else {"unit": predictions.unit}),
            **({"classes": np.array(predictions.classes)} if predictions.classes else {}),
            **{name: _of_one_width(values, name) for name, values in predictions.columns.items()},
        )
        content = packed.getvalue()
    else:
        import pandas as pd

        answers = np.asarray(predictions.answers)
        if answers.ndim != 2:
            raise InputError(
                "a table holds one answer about each record, and these are several: end the path "
                "in .npz"
            )
        class_names = predictions.classes or tuple(map(str, range(answers.shape[1])))
        prefix = "z" if predictions.logits else "p"
        columns = {f"{prefix}_{name}": answers[:, i] for i, name in enumerate(class_names)}
        codes = predictions.labels
        columns["label"] = np.array(class_names)[codes] if predictions.classes else codes
        columns["member"] = predictions.member
        columns["id"] = predictions.ids
        if predictions.unit is not None:
            people = predictions.people
            columns["unit"] = predictions.unit if people is None else people
        twice = [name for name in predictions.columns if name in columns]
        if twice:
            raise InputError(
                f"the column {twice[0]!r} has the name of one of the table's own: rename it, or "
                "end the path in .npz"
            )
        table = pd.DataFrame({**columns, **predictions.columns})
        if path.suffix == ".csv":
            # Enough digits to distinguish every float.
            content = table.to_csv(index=False).encode()
        elif path.suffix == ".jsonl":
            content = str(table.to_json(orient="records", lines=True, double_precision=15)).encode()
        else:
            buffer = io.BytesIO()
            table.to_parquet(buffer, index=False)
            content = buffer.getvalue()
    write_results(path.parent, {path.name: content})


def _of_one_width(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return texts padded to one width, as an .npz file stores them; numbers unchanged."""
    if values.dtype != np.object_:
        return values
    texts = [str(value) for value in values.tolist()]
    n_bytes = 4 * len(texts) * max(map(len, texts), default=0)
    if n_bytes > SMALL:
        raise InputError(
            f"the longest text of column {name!r} would take {bytes_text(n_bytes)} in an .npz "
            "file, "
            "which makes room for it in every row: end the path in .parquet"
        )
    return np.array(texts, np.str_)
