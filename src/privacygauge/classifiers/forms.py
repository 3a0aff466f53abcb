"""Forms in which models take the records of a file."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from privacygauge.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privacygauge.classifiers.trainer import Trainer

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


def on_records_made_up(trainer: Trainer) -> str:
    """Return the trainer's form, for audits that construct records in that form.

    Raises
    ------
    InputError
        If it looks records up by their numbers.
    """
    form = described_form(trainer.describe())
    if form == ROWS:
        raise InputError(
            f"{trainer.name} trains by the numbers of records, and this audit asks about records "
            "that it makes up: give a function of features, classes and a random state"
        )
    return form


def standardise_columns(x: NDArray[Any]) -> NDArray[Any]:
    """Return the features with mean 0 and standard deviation 1, as networks need them."""
    import numpy as np

    spread = x.std(axis=0)
    result: NDArray[Any] = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return result
