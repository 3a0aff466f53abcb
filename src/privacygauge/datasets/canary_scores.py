"""Scores and membership bits of canaries, from files, mappings or data frames, with checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.repeats import repeated_scores
from privacygauge.core.units import WAY_OUT, number_units, on_both_sides, repeated_rows, sums
from privacygauge.datasets.parsing import is_number
from privacygauge.datasets.reading import LINES, FrameLike, read_content, read_json_lines
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import coins_p_value

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CanaryScores:
    """Scores and membership of n canaries, or of n training runs."""

    ids: NDArray[Any]
    """(n,) Ids from the user, or row numbers."""
    member: Bools
    """(n,) True if the canary was put in."""
    score: Floats
    """(n,) Higher means more likely put in."""
    unit: Ints | None = None
    """(n,) Unit (person) of each canary; None if every canary is a unit of its own."""


CanariesLike = CanaryScores | str | Path | Mapping[str, ArrayLike] | FrameLike
"""Input types of `as_canaries`."""

ARRAYS = '{"score": ..., "member": ...}'
"""Form in which audits take arrays of scores."""

_NEEDED = ("score", "member")


def as_canaries(
    given: CanariesLike, name: str = "canaries", unit: str | ArrayLike = "unit"
) -> CanaryScores:
    """Return scores and membership of canaries from a file, a mapping or a data frame.

    Parameters
    ----------
    given : CanaryScores, path, mapping of arrays, or data frame
        With ``score`` (n,), higher for members, ``member`` (n,), 0 or 1, and optionally ``id``
        (n,) and ``unit`` (n,), the person behind each canary; other columns are ignored. Files:
        ``.csv`` or ``.tsv`` (also with ``.gz``), ``.parquet``, ``.npz``, or ``.jsonl`` (also
        ``.jsonl.gz``) with one object per line.
    name : str
        Name of the data in error messages.
    unit : str or array_like, shape (n,)
        Name of the column of units, which must exist unless it is the default; or the units
        themselves.

    Raises
    ------
    InputError
        One line: the fault, and the way out.
    """
    # Units as an array: read the rest under the default name, then attach them.
    if not isinstance(unit, str):
        rows = as_canaries(given, name)
        owner = number_units(unit, f"{name}: unit", length=len(rows.score))
        return replace(rows, unit=owner)
    if isinstance(given, CanaryScores):
        return given
    if isinstance(given, str | Path):
        path = Path(given)
        if path.name.lower().endswith(LINES):
            lines = read_json_lines(path, "canary")
            if not lines:
                raise InputError(f"{path} is empty")
            # Columns of the first line; later lines must have all that are needed.
            names = list(lines[0][1])
            known = [key for key in ("id", unit, *_NEEDED) if key in names]
            for number, row in lines:
                for key in known:
                    if row.get(key) is None:
                        raise InputError(
                            f"{path}: line {number} has no {key}; every line must have one"
                        )
                    if key in _NEEDED and not isinstance(row[key], bool | int | float):
                        raise InputError(f"{path}: line {number}: {key} must be a number")
            found = {key: np.array([row[key] for _, row in lines]) for key in known}
            # The other names are kept for the message about missing columns.
            every = {**{key: np.empty(0) for key in names}, **found}
            return _of_columns(every, str(given), unit)
        content = read_content(path, "canary", names=("id", unit))
        columns = content if isinstance(content, Mapping) else _of_frame(content, unit)
        return _of_columns(columns, str(given), unit)
    if isinstance(given, Mapping):
        return _of_columns({str(key): np.asarray(x) for key, x in given.items()}, name, unit)
    # polars frames have `to_pandas`.
    frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
    if not hasattr(frame, "columns"):
        raise InputError(
            f"{name} must be a path, a mapping of arrays or a data frame, got "
            f"{type(given).__name__}: arrays go together, as {ARRAYS}"
        )
    return _of_columns(_of_frame(frame, unit), name, unit)


def with_units(rows: CanaryScores, *, equal_ids: bool) -> tuple[CanaryScores, str]:
    """Return the rows with their units, and a warning if units were inferred from scores.

    Without given units, rows that repeat each other count as one unit; see `repeated_scores`.

    Parameters
    ----------
    rows : CanaryScores
    equal_ids : bool
        Whether canaries with equal ids are one unit if no units are given.

    Returns
    -------
    tuple of CanaryScores and str
        The text is empty if there is nothing to warn about.
    """
    if rows.unit is not None:
        return rows, ""
    if equal_ids and checks.n_distinct(number_units(rows.ids, "id")) < len(rows.ids):
        return replace(rows, unit=number_units(rows.ids, "id")), ""
    # Last resort: rows with equal or nearly equal scores on the same side are one unit.
    unit = repeated_scores(rows.score, rows.member)
    if unit is None:
        return rows, ""
    return replace(rows, unit=unit), (
        f"{int(np.count_nonzero(repeated_rows(unit))):,} of {len(unit):,} rows repeat each other: "
        "their scores are equal or nearly so, and they were put in or left out together. They "
        f"count as one, so that {checks.n_distinct(unit):,} are left; {WAY_OUT}"
    )


def by_unit(rows: CanaryScores) -> CanaryScores:
    """Return one row per unit, with the mean score of its canaries.

    Parameters
    ----------
    rows : CanaryScores
        Rows as returned by `with_units`.

    Raises
    ------
    InputError
        If a unit has canaries that were put in and others that were left out.
    """
    unit = rows.unit
    if unit is None or checks.n_distinct(unit) == len(unit):
        return rows
    # A unit with both bits has no single coin, so that its mean score would mix the sides.
    both = np.flatnonzero(on_both_sides(unit, rows.member))
    if len(both):
        raise InputError(
            "all canaries of a unit must be put in or left out together, got some of each in the "
            f"unit of canary {rows.ids[both[0]]}: give each canary that has a coin of its own its "
            "own unit"
        )
    _, first, count = np.unique(unit, return_index=True, return_counts=True)
    return CanaryScores(rows.ids[first], rows.member[first], sums(unit, rows.score) / count)


def _of_frame(frame: pd.DataFrame, unit: str) -> dict[str, NDArray[Any]]:
    known = [name for name in ("id", unit, *_NEEDED) if name in frame.columns]
    for name in known:
        if len(frame) and frame[name].isna().all():
            raise InputError(f"column {name} is empty; it must have a value in every row")
        if frame[name].isna().any():
            row = int(np.flatnonzero(frame[name].isna())[0])
            raise InputError(f"column {name} must have a value in every row, got none in row {row}")
    # The names of all columns are kept for the message about those that are missing.
    return {str(name): frame[name].to_numpy() for name in frame.columns}


def _of_columns(columns: Mapping[str, NDArray[Any]], name: str, unit: str) -> CanaryScores:
    missing = [needed for needed in _NEEDED if needed not in columns]
    if missing:
        raise InputError(
            f"{name}: missing {checks.short_list(missing)}; it has "
            f"{checks.short_list(columns, most=12) or 'nothing'} (score and member are needed, id "
            "may "
            "follow)"
        )
    if unit != "unit" and unit not in columns:
        raise InputError(
            f"{name} has no column {unit!r} of units; it has {checks.short_list(columns)}"
        )
    if not len(columns["score"]):
        raise InputError(f"{name} has no rows; one for every canary is needed")
    try:
        rules = {"score": "must hold numbers", "member": "must be true or false (or 1 and 0)"}
        for needed, rule in rules.items():
            # A column of texts is refused with its first value that is not a number.
            if columns[needed].dtype.kind not in "biuf":
                values = np.ravel(columns[needed]).tolist()
                row = next((i for i, x in enumerate(values) if not is_number(str(x))), 0)
                raise InputError(f"{needed} {rule}, got {str(values[row])[:40]!r} in row {row}")
        score = checks.floats(columns["score"], "score")
        member = checks.bools(columns["member"], "member", length=len(score))
        ids = np.arange(len(score)) if "id" not in columns else columns["id"]
        names = checks.present(checks.vector(ids, "id", length=len(score)), "id")
        names = checks.characters(names, "id")
        owner = number_units(columns[unit], unit, length=len(score)) if unit in columns else None
        found = CanaryScores(names, member, score, owner)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    if member.all() or not member.any():
        which = "left out" if len(member) and member.all() else "put in"
        raise InputError(f"{name}: canaries of both kinds are needed, got none that was {which}")
    return found


_UNFAIR = 1e-6
_DOUBTFUL = 0.01
"""P-values of the share of members under fair coins: below `_UNFAIR` the coins are refused, below
`_DOUBTFUL` there is a warning."""


_FEW = 30
"""Number of rows below which an audit can refute hardly any claim."""


def canary_warnings(rows: CanaryScores, p_value: float) -> tuple[str, ...]:
    """Return warnings about an audit by canaries; `p_value` is that of `checked_coins`."""
    n = len(rows.member)
    told = []
    if p_value < _DOUBTFUL:
        told.append(
            f"{int(rows.member.sum()):,} of {n:,} canaries were put in: fair coins give so uneven "
            f"a share with probability {p_value:.1g}. Without fair coins no bound holds."
        )
    if n < _FEW:
        told.append(f"There are {n:,} rows only: hardly any claim can be refuted with so few.")
    return tuple(told)


def order_warnings(rows: CanaryScores) -> tuple[str, ...]:
    """Return a warning if fair coins hardly fall in this order; refuse a p-value below 1e-6.

    A file that is sorted by member says of each row what the next one is, and a bet on the next
    coin wins without any leak.
    """
    member = rows.member
    changes = int(np.count_nonzero(member[1:] != member[:-1]))
    n = len(member) - 1
    # Of fair coins each differs from the one before with probability 1/2, independently.
    p_value = coins_p_value(changes, n)
    told = (
        f"from one training to the next member changes {changes:,} times of {n:,}, and fair coins "
        "before each training change about half of the time"
    )
    if p_value < _UNFAIR:
        raise InputError(
            f"{told}: give the rows in the order of the trainings, not sorted; if all of them are "
            "done, their order is not needed (many runs)"
        )
    if p_value < _DOUBTFUL:
        return (
            f"{told[:1].upper()}{told[1:]} (probability {p_value:.1g}). Without fair coins in the "
            "order of the rows no bound holds.",
        )
    return ()


def checked_coins(rows: CanaryScores) -> float:
    """Return the p-value of the number of members under fair coins; refuse one below 1e-6."""
    n_in = int(rows.member.sum())
    n = len(rows.member)
    p_value = coins_p_value(n_in, n)
    if p_value < _UNFAIR:
        raise InputError(
            f"member must come from fair coins, got {n_in:,} of {n:,} put in; if every row is a "
            "training run of its own and all are done, say so (many runs)"
        )
    return p_value
