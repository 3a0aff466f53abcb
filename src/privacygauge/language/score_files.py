"""Files of energies: JSON lines, CSV and Parquet, checked before use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.core import checks
from privacygauge.datasets.reading import (
    LINES,
    TABLE_ENDINGS,
    FrameLike,
    csv_texts,
    is_csv,
    read_content,
    read_json_lines,
)
from privacygauge.errors import InputError
from privacygauge.language.scores import TextScores, text_scores

if TYPE_CHECKING:
    import pandas as pd


import io
from typing import TYPE_CHECKING

from privacygauge.runs.atomic import check_writable
from privacygauge.runs.results import write_results

if TYPE_CHECKING:
    import pandas as pd


TextScoresLike = TextScores | str | Path | Mapping[str, Sequence[object]] | FrameLike
"""Types that `as_text_scores` takes."""

SIGNAL = "signal_"
"""Prefix of the columns of further signals, such as ``signal_min-k``."""

# Columns of a file, and the words that stand for the values of the yes-or-no ones, in lower case.
_REQUIRED = ("sample", "energy_target", "member")
_NAMES = ("sample", "group", "text")
_NUMBERS = ("energy_target", "energy_reference", "member", "population", "length")
_BITS = ("member", "population")
_YES = ("1", "1.0", "true", "t", "yes", "y", "in", "member", "members", "train", "training")
_NO = (
    *("0", "0.0", "false", "f", "no", "n", "out", "test", "testing", "holdout"),
    *("nonmember", "non-member", "non_member", "nonmembers", "non-members", "unseen"),
)
_WAY_OUT = (
    "sample, energy_target and member are needed; group, energy_reference, population, length and "
    "text may follow"
)


def as_text_scores(given: TextScoresLike, name: str = "scores") -> TextScores:
    """Return energies from a file, a mapping or a frame.

    Parameters
    ----------
    given : TextScores, path, mapping of arrays, or data frame
        A file as in `load_text_scores`; a mapping or a pandas or polars frame with its columns.
    name : str
        Name of the input in error messages.
    """
    if isinstance(given, TextScores):
        return given
    if isinstance(given, str | Path):
        return load_text_scores(given)
    if isinstance(given, Mapping):
        return _scores_of({str(key): values for key, values in given.items()}, name)
    frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
    if not hasattr(frame, "columns"):
        raise InputError(
            f"{name} must be TextScores, a path, a mapping of arrays or a data frame, got "
            f"{type(given).__name__}"
        )
    return _scores_of(_columns_of(frame), name)


def load_text_scores(path: str | Path) -> TextScores:
    """Return the energies in a file.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.jsonl`` (also ``.jsonl.gz``; one object per line, UTF-8), ``.csv`` or ``.parquet`` with
        the columns ``sample``, ``energy_target`` and ``member`` (1 or 0, or words such as yes and
        no, train and test), and optionally ``group``, ``energy_reference``, ``population`` (in
        the same words), ``length``, ``text`` and
        ``signal_NAME`` for every further signal, higher for members; all other columns are not
        looked at. Ids are texts: ``007`` and ``7`` are different samples.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    path = Path(path)
    if path.name.lower().endswith(LINES):
        return _scores_of(_columns_of_lines(path), path)
    if not (is_csv(path) or path.suffix.lower() == ".parquet"):
        raise InputError(f"{path} must end in {TABLE_ENDINGS}")
    frame: Any = read_content(path, "score")
    columns = _columns_of(frame)
    if is_csv(path):
        # Read once more as texts: pandas would make the number 7 of the id 007.
        names = [name for name in _NAMES if name in columns]
        texts = csv_texts(path, names)
        columns |= {name: texts[name].to_numpy(dtype=np.object_) for name in names}
    return _scores_of(columns, path)


def _scores_of(columns: Mapping[str, Any], name: str | Path) -> TextScores:
    missing = [column for column in _REQUIRED if column not in columns]
    if missing:
        raise InputError(
            f"{name}: missing {checks.short_list(missing)}; it has "
            f"{checks.short_list(columns, most=12) or 'nothing'} ({_WAY_OUT})"
        )
    if not len(columns["sample"]):
        raise InputError(f"{name}: there are no samples in it")
    texts = {key: columns[key] for key in ("group", "text") if key in columns}
    try:
        numbers = {key: _plain_numbers(columns[key], key) for key in columns if _is_number(key)}
        further = {
            key.removeprefix(SIGNAL): numbers.pop(key)
            for key in list(numbers)
            if key.startswith(SIGNAL)
        }
        return text_scores(columns["sample"], **numbers, **texts, further=further)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _is_number(column: str) -> bool:
    return column in _NUMBERS or column.startswith(SIGNAL)


def _is_known(column: str) -> bool:
    return column in _NAMES or _is_number(column)


def _plain_numbers(values: Any, name: str) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values
    if name in _BITS and any(isinstance(value, str) for value in values):
        return np.array([_bit(value, name, row) for row, value in enumerate(values)])
    # One by one: numpy converts all values to text where one is a text.
    return np.array([_number(value, name, row) for row, value in enumerate(values)])


def _bit(value: Any, name: str, row: int) -> bool:
    """Parse a yes-or-no value, written as a word or a number."""
    said = str(value).strip().lower()
    if said not in _YES and said not in _NO:
        shown = repr(value) if len(repr(value)) < 40 else f"a {type(value).__name__}"
        raise InputError(
            f"{name} must say 1 or 0, true or false, yes or no, in or out, or train or test, got "
            f"{shown} in row {row}: write 1 for those and 0 for the others"
        )
    return said in _YES


def _number(value: Any, name: str, row: int) -> float:
    if value is None:
        return np.nan
    try:
        if isinstance(value, bool | int | float | np.bool_ | np.number):
            return float(value)
    except OverflowError:
        pass
    shown = repr(value) if len(repr(value)) < 40 else f"a {type(value).__name__}"
    raise InputError(f"{name} must hold numbers, got {shown} in row {row}")


def _columns_of(frame: pd.DataFrame) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if _is_number(str(name)) and column.dtype.kind in "biuf":
            dtype: Any = np.float64 if column.isna().any() else None
            columns[str(name)] = column.to_numpy(dtype=dtype, na_value=np.nan)
        else:
            columns[str(name)] = column.to_numpy(dtype=np.object_)
    return columns


def _columns_of_lines(path: Path) -> dict[str, Any]:
    rows = read_json_lines(path, "score")
    if not rows:
        raise InputError(f"{path} is empty")
    names = list(rows[0][1])
    known = [name for name in names if _is_known(name)]
    for number, row in rows:
        missing = [name for name in known if name not in row]
        further = [name for name in row if _is_known(name) and name not in known]
        if missing or further:
            rule = (
                f"no {checks.short_list(missing)}"
                if missing
                else f"{checks.short_list(further)} besides"
            )
            raise InputError(
                f"{path}: line {number} has {rule}, unlike the first line: every line must have "
                "the same columns"
            )
    return {name: [row[name] for _, row in rows] for name in known}


_FORMATS = (".parquet", ".csv")


def energies_frame(scores: TextScores) -> pd.DataFrame:
    """Return the energies as a table that `load_text_scores` reads, without the texts.

    Returns
    -------
    pandas.DataFrame
        One row per sample: ``sample``, ``group``, ``energy_target``, ``energy_reference``,
        ``member``, ``population`` and ``length``, as far as they are known, and ``signal_NAME``
        of every further signal.
    """
    import pandas as pd

    columns: dict[str, Any] = {
        "sample": scores.sample,
        "group": scores.group,
        "energy_target": scores.energy_target,
        "energy_reference": scores.energy_reference,
        "member": scores.member.astype(np.int8),
        "population": scores.population.astype(np.int8),
        "length": scores.length,
        **{f"{SIGNAL}{name}": values for name, values in scores.further.items()},
    }
    return pd.DataFrame({name: part for name, part in columns.items() if part is not None})


def write_energies(scores: TextScores, path: str | Path) -> None:
    """Write the energies to a file, whole or not at all.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.parquet`` or ``.csv``. The texts are not written, so that only the blind control is
        missing where the file is audited.

    Raises
    ------
    InputError
        If the name ends otherwise.
    OutputError
        If it cannot be written.
    """
    place = energies_place(path)
    frame = energies_frame(scores)
    content = io.BytesIO()
    if place.suffix == ".csv":
        frame.to_csv(content, index=False)
    else:
        frame.to_parquet(content, index=False)
    check_writable(place.parent)
    write_results(place.parent, {place.name: content.getvalue()})


def energies_place(path: str | Path) -> Path:
    """Return `path` if energies can be written there."""
    if Path(path).suffix not in _FORMATS:
        raise InputError(f"energies must be a .parquet or .csv file, got {path}")
    return Path(path)
