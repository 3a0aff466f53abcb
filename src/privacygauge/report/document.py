"""Values of reports as JSON and as data frames."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.values import Json

if TYPE_CHECKING:
    import pandas

DataFrame: TypeAlias = "pandas.DataFrame"
"""Stand-in for pandas' type, so that pandas is imported only when a table is made."""


def as_text(document: Mapping[str, Json]) -> str:
    """Return a document as strict JSON in ASCII."""
    return json.dumps(document, allow_nan=False, indent=2) + "\n"


def estimate_dict(estimate: Estimate | Skipped) -> dict[str, Json]:
    """Return an estimate as JSON values, or ``{"skipped": reason}``."""
    if isinstance(estimate, Skipped):
        return {"skipped": estimate.reason}
    return {
        "value": finite(estimate.value),
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "level": float(estimate.level),
        "n": int(estimate.n),
        "method": estimate.method,
    }


def values_of(found: object) -> Json:
    """Return any value as JSON values; a value without a JSON form becomes text.

    An `Estimate` or `Skipped` is converted by `estimate_dict`, another dataclass to its fields by
    name.
    """
    # JSON holds only finite floats; numpy values become Python ones.
    if found is None or isinstance(found, bool | int | str):
        return found
    if isinstance(found, float):
        return finite(found)
    if isinstance(found, np.ndarray | np.generic):
        return values_of(found.tolist())
    if isinstance(found, Estimate | Skipped):
        return estimate_dict(found)
    if isinstance(found, Mapping):
        return {str(name): values_of(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [values_of(value) for value in found]
    if is_dataclass(found):
        return pick_values(found, *(field.name for field in fields(found)))
    return str(found)


def pick_values(found: object, *names: str, **called: str) -> dict[str, Json]:
    """Return attributes of a value as JSON values, by name.

    Parameters
    ----------
    found : object
    *names : str
        Names of attributes, and keys of the result.
    **called : str
        Names of attributes, by key of the result.
    """
    named = {**{name: name for name in names}, **called}
    return {key: values_of(getattr(found, name)) for key, name in named.items()}


def frame(found: Mapping[str, object] | Sequence[Mapping[str, object]]) -> DataFrame:
    """Return a data frame from columns by name, or from rows as mappings."""
    import pandas as pd

    return pd.DataFrame(found)


def ends(name: str, found: Estimate | None, between: str = "_") -> dict[str, object]:
    """Return an estimate and its limits as three columns; missing values for None."""
    three = (None,) * 3 if found is None else (found.value, found.low, found.high)
    heads = (name, f"{name}{between}low", f"{name}{between}high")
    return dict(zip(heads, three, strict=True))


def finite(value: float | None) -> float | None:
    """Return a number as a float; None if it is None, infinite or NaN, which JSON cannot hold."""
    return None if value is None or not math.isfinite(value) else float(value)


def names_of(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids as a column: numbers unchanged, anything else as valid UTF-8 text."""
    if ids.dtype.kind in "biuf":
        return ids
    # UTF-8 cannot hold lone surrogates, such as those of undecodable file names.
    text = [str(x).encode("utf-8", "replace").decode() for x in ids.tolist()]
    return np.array(text, dtype=object)
