"""Records as users hold them, and the forms in which models take them.

Arrays, data frames, texts, or numbers of records kept elsewhere.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import units
from privacygauge.core.checks import Ints
from privacygauge.errors import InputError

Held: TypeAlias = Any
"""Records by row: an array (n, ...), a pandas or polars data frame, or `RecordNumbers`."""


@dataclass(frozen=True, eq=False)
class RecordNumbers:
    """Records that only the user's own functions can look up."""

    numbers: Ints
    """(n,) Numbers of the records in the user's own storage."""

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Ints) -> RecordNumbers:
        return RecordNumbers(self.numbers[rows])


def is_frame(x: object) -> bool:
    """Return whether records are a pandas or polars data frame."""
    # A library that was never imported cannot have made the object: nothing is imported here.
    loaded = (sys.modules.get(name) for name in ("pandas", "polars"))
    return isinstance(x, tuple(module.DataFrame for module in loaded if module is not None))


def take_records(x: Held, rows: Ints) -> Held:
    """Return the records of some rows, of the same kind."""
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


def check_records(x: object, n: int) -> Held:
    """Return n records in their own form; lists become arrays.

    Raises
    ------
    InputError
        If these are not n records.
    """
    if is_frame(x) or isinstance(x, RecordNumbers):
        found: Held = x
    else:
        found = np.asarray(dense(x))
        if found.dtype.kind == "U":  # each at its own length, not padded to the longest
            found = found.astype(object)
        # A scalar of anything else has no records to count.
        if found.ndim == 0 and found.dtype.kind == "O":
            raise InputError(
                f"x must be an array, a data frame or a list of {n} records, got "
                f"{type(x).__name__}: give Training(train, predict) for records that only your "
                "own functions can look up"
            )
        if found.ndim < 1 + (found.dtype.kind != "O") or len(found) != n:
            raise InputError(f"x must have the shape (n, d) with n = {n}, got {found.shape}")
    if len(found) != n:
        raise InputError(f"x must hold as many records as y, {n}, got {len(found)}")
    return found


# Forms in which models take the records of a file.

NUMBERS = "numbers"
"""Numbers (n, d), the default form: texts one-hot encoded, one column per pixel."""

IMAGES = "images"
"""Images (n, c, h, w) if the records are a folder of them; numbers otherwise."""

FRAME = "frame"
"""A pandas data frame with the columns, types and missing values of the file."""

CATEGORIES = "categories"
"""A pandas data frame as for `FRAME`, with every text column as a categorical."""

ROWS = "row numbers"
"""Record numbers only: the model looks the records up itself."""

_FRAMES = ("DataFrame", "pd.DataFrame", "pandas.DataFrame")


def form_of(model: object) -> str:
    """Return the form in which an estimator, or a function of records, takes its records.

    An estimator takes a frame if it selects columns by name or type, a function if its first
    argument is annotated as one. An estimator takes categories if its parameters say so.
    """
    if inspect.isfunction(model):
        first = next(iter(inspect.signature(model).parameters.values()), None)
        kind: object = None if first is None else first.annotation
        if isinstance(kind, type):
            frame = kind.__name__ == "DataFrame" and kind.__module__.startswith("pandas")
        else:  # a text, since annotations are not evaluated
            frame = kind in _FRAMES
        return FRAME if frame else NUMBERS
    get = getattr(model, "get_params", None)
    known: Mapping[str, Any] = {} if get is None else {"": model, **get()}
    for key, value in known.items():
        last = key.split("__")[-1]
        if last == "enable_categorical" and value is True:
            return CATEGORIES
        if last in ("categorical_features", "categorical_feature") and _has_names(value):
            return CATEGORIES
        if last == "cat_features" and value is not None and len(value):
            return FRAME  # CatBoost takes texts as they are
    for value in known.values():
        if type(value).__name__ != "ColumnTransformer":
            continue
        chosen = [columns for _, _, columns in getattr(value, "transformers", ())]
        # By name or by type; the places of columns would be known in an array of numbers, too.
        if any(isinstance(c, str) or callable(c) or _has_names(c) for c in chosen):
            return FRAME
    return NUMBERS


def of_form(form: str) -> dict[str, str]:
    """Return the entry for the form of records in a trainer's description; empty for numbers."""
    return {} if form == NUMBERS else {"records": form}


def described_form(description: Mapping[str, Any]) -> str:
    """Return the form in a trainer's description."""
    return str(description.get("records", NUMBERS))


def _has_names(columns: object) -> bool:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return False
    return any(isinstance(column, str) for column in columns)


def standardise_columns(x: NDArray[Any]) -> NDArray[Any]:
    """Return the features with mean 0 and standard deviation 1, as networks need them."""
    spread = x.std(axis=0)
    result: NDArray[Any] = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return result


MOST_DENSE = 1 << 27
"""Largest number of entries for which a sparse matrix is made dense: a gibibyte as float64."""


def dense(x: object) -> object:
    """Return a sparse scipy matrix as an array; anything else unchanged.

    Raises
    ------
    InputError
        If the array would not fit into a gibibyte.
    """
    sparse = sys.modules.get("scipy.sparse")  # if it is not imported there is none
    if sparse is None or not sparse.issparse(x):
        return x
    matrix: Any = x
    if matrix.shape[0] * matrix.shape[-1] > MOST_DENSE:
        shape = " x ".join(f"{size:,}" for size in matrix.shape)
        raise InputError(
            f"x is a sparse matrix of {shape}, too large to be made an array: give Training(train, "
            "predict), whose functions take rows of it by their numbers, or fewer records"
        )
    return matrix.toarray()


def numeric(x: Held) -> NDArray[Any] | None:
    """Return records as finite numbers (n, d), as some attacks need them; else None."""
    if is_frame(x):
        # Categories of numbers would become numbers, whose order means nothing.
        if "category" in map(str, x.dtypes):
            return None
        x = x.to_numpy()
    if not isinstance(x, np.ndarray) or x.ndim != 2 or x.dtype.kind not in "biuf":
        return None
    return x if np.isfinite(x).all() else None


def keys(x: Held) -> NDArray[Any]:
    """Return a number per record, (n,), the same for equal records."""
    if isinstance(x, RecordNumbers):
        return x.numbers
    if is_frame(x):
        return _hashes(x)
    rows = x.reshape(len(x), -1)
    if x.dtype.kind in "biuf":
        return units.fingerprints(rows)
    return np.array([hash(_hashable(row)) for row in rows.tolist()], np.int64)


def _hashable(value: Any) -> Any:
    """Return a hashable stand-in for a value, equal for equal values; lists included."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(held)) for key, held in value.items())
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, np.ndarray):
        return _hashable(value.tolist())
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return value if isinstance(value, Hashable) else repr(value)


def digest_of(*records: Held) -> str:
    """Return a hash of arrays or other records: values, shapes and types."""
    digest = hashlib.sha256()
    for given in records:
        array = given.numbers if isinstance(given, RecordNumbers) else given
        # Types are part of the records: 1 and "1" are different data.
        if is_frame(given):
            columns = list(zip(given.columns, map(repr, given.dtypes), strict=True))
            digest.update(f"{type(given)} {columns}".encode())
            array = _hashes(given)
        digest.update(f"{array.dtype} {array.shape}".encode())
        if array.dtype == object:
            digest.update(repr(array.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _hashes(frame: Held) -> NDArray[np.uint64]:
    """Return a hash of each row's values, the same in every process."""
    import pandas as pd

    known = frame if hasattr(frame, "iloc") else frame.to_pandas()
    try:
        found = pd.util.hash_pandas_object(known, index=False)
    except TypeError:  # lists and the like have no hash
        found = pd.util.hash_pandas_object(known.astype(str), index=False)
    return np.asarray(found, np.uint64)
