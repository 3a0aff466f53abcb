"""Records as numbers that noise can be added to: tables, texts and images with missing values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.held import Held, is_frame
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

MOST_WORDS = 64
"""Words of a text that are changed one by one; the rest counts as one more."""

_CHANNELS = (1, 3, 4)


@dataclass(frozen=True, eq=False)
class Changeable:
    """Records as numbers, and the way back to their own form."""

    numbers: Floats
    """(n, d) Finite numbers, or NaN for a missing value; codes of categories."""
    coded: Bools
    """(d,) Columns that hold codes of categories."""
    back: Callable[[Floats], Held]
    """Turns (m, d) numbers into records of the given form."""
    image: tuple[int, int, int] | None = None
    """(c, h, w) Shape of the image that a record's numbers form; None otherwise."""


def changeable(x: Held) -> Changeable:
    """Return records as numbers that noise can be added to.

    Parameters
    ----------
    x : ndarray (n, ...), array of n texts, or data frame
        Missing values stay missing. Texts are cut into words, each a category.

    Raises
    ------
    InputError
        If only the user's functions can look records up, or they hold other objects.
    """
    if is_frame(x):
        return _of_frame(x)
    if not isinstance(x, np.ndarray):
        raise InputError(
            "label_only changes records, and a Training looks them up itself: give x and a "
            "function of records, classes and a random state"
        )
    if x.dtype.kind in "biuf":
        return _of_array(x)
    if x.ndim == 1 and all(isinstance(text, str) for text in x.tolist()):
        return _of_texts(x)
    if x.ndim == 2:
        return _of_objects(x)
    raise InputError("label-only attacks need records of numbers, texts, images or a data frame")


def _of_array(x: NDArray[Any]) -> Changeable:
    shape = x.shape[1:]
    image = None
    last = False
    if len(shape) == 2:
        image = (1, *shape)
    elif len(shape) == 3:
        last = shape[0] not in _CHANNELS and shape[2] in _CHANNELS
        image = (shape[2], *shape[:2]) if last else shape
    ordered = np.moveaxis(x, -1, 1) if last else x
    numbers = ordered.reshape(len(x), -1).astype(np.float64)
    if np.isinf(numbers).any():
        raise InputError("label-only attacks need records of finite numbers, or missing ones")

    def back(points: Floats) -> Held:
        whole = np.rint(points) if x.dtype.kind in "biu" else points
        found = whole.reshape(len(points), *ordered.shape[1:]).astype(x.dtype, copy=False)
        return np.moveaxis(found, 1, -1) if last else found

    return Changeable(numbers, np.zeros(numbers.shape[1], np.bool_), back, image)


def _of_frame(x: Any) -> Changeable:
    table = x if hasattr(x, "iloc") else x.to_pandas()
    columns: list[Floats] = []
    known: list[Any] = []
    for place in range(table.shape[1]):
        column = table.iloc[:, place]
        if column.dtype.kind in "iuf":
            columns.append(column.to_numpy(np.float64, na_value=np.nan))
            known.append(None)
        else:
            # A missing value is one more category.
            codes, values = column.factorize(use_na_sentinel=True)
            columns.append(np.where(codes < 0, len(values), codes).astype(np.float64))
            known.append(values)
    coded = np.array([values is not None for values in known], np.bool_)

    def back(points: Floats) -> Held:
        import pandas as pd

        made = []
        for place, values in enumerate(known):
            kind = table.dtypes.iloc[place]
            numbers = points[:, place]
            if values is None:
                whole = np.rint(numbers) if kind.kind in "iu" else numbers
                made.append(pd.Series(whole).astype(kind))
                continue
            codes = numbers.astype(np.int64)
            given = values.take(np.minimum(codes, max(len(values) - 1, 0)))
            series = pd.Series(given, dtype=kind if (codes < len(values)).all() else None)
            missing = codes >= len(values)
            made.append(series.mask(missing) if missing.any() else series)
        found = pd.concat(made, axis=1)
        found.columns = table.columns
        if x is table:
            return found
        columns = {name: found[name].tolist() for name in x.columns}
        return type(x)(columns, schema=x.schema)

    return Changeable(np.column_stack(columns), coded, back)


def _of_objects(x: NDArray[Any]) -> Changeable:
    import pandas as pd

    of_frame = _of_frame(pd.DataFrame(x).infer_objects())
    return Changeable(
        of_frame.numbers, of_frame.coded, lambda points: of_frame.back(points).to_numpy(object)
    )


def _of_texts(x: NDArray[Any]) -> Changeable:
    words = [text.split(" ", MOST_WORDS) for text in x.tolist()]
    width = max(map(len, words))
    # The empty text stands for places after the end of a text.
    padded = np.array([own + [""] * (width - len(own)) for own in words], dtype=object)
    known, codes = np.unique(padded.astype(np.str_), return_inverse=True)
    numbers: Ints = codes.reshape(padded.shape)

    def back(points: Floats) -> Held:
        rows = known[points.astype(np.int64)].tolist()
        return np.array([" ".join(word for word in row if word) for row in rows], dtype=object)

    return Changeable(numbers.astype(np.float64), np.ones(width, np.bool_), back)


def join_records(first: Held, second: Held) -> Held:
    """Return the concatenation of two sets of records of one kind."""
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat([first, second], ignore_index=True)
    if is_frame(first):
        return first.vstack(second)
    return np.concatenate([first, second.astype(first.dtype, copy=False)])
