"""A user's table of records, as features and classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.exports import members_of
from privacygauge.classifiers.held import (
    CATEGORIES,
    IMAGES,
    NUMBERS,
    ROWS,
    Held,
    RecordNumbers,
    is_frame,
    take_records,
)
from privacygauge.core import checks, seeds
from privacygauge.core.checks import LARGEST, Bools, Floats, Ints
from privacygauge.datasets.archives import Content
from privacygauge.datasets.parsing import days_of
from privacygauge.datasets.reading import image_files, plain_array, read_content, read_images
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS = 1_000
"""Largest number of distinct texts in a categorical column."""

MANY_CLASSES = 10
"""Number of distinct labels above which labels are not classes if there are more than n / 2."""


@dataclass(frozen=True, eq=False)
class Records:
    """Records to train models on."""

    x: Held
    """Records in the requested form: numbers (n, d), images (n, c, h, w), a data frame, or record
    numbers."""
    y: Ints
    """(n,) Classes in 0..k-1."""
    names: tuple[str, ...]
    """(k,) Names of the classes, ascending."""
    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers in the file."""
    member: Bools | None
    """(n,) True for records that an existing model was trained on; None if the table does not
    say."""
    columns: Mapping[str, NDArray[Any]]
    """Other columns of the table, for slices and groups."""
    unit: NDArray[Any] | None = None
    """(n,) Person behind each record; None if the table does not say."""
    notes: tuple[str, ...] = ()
    """Notes on how the column of members was read."""

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: Ints) -> Records:
        member = None if self.member is None else self.member[rows]
        columns = {name: column[rows] for name, column in self.columns.items()}
        unit = None if self.unit is None else self.unit[rows]
        return replace(
            self,
            x=take_records(self.x, rows),
            y=self.y[rows],
            ids=self.ids[rows],
            member=member,
            columns=columns,
            unit=unit,
        )

    def sampled(self, number: int, seed: int, file: str) -> Records:
        """Return `number` of the records, drawn at random by `seed`, in the order of their file.

        Raises
        ------
        InputError
            If `number` is below 4 or above the number of records.
        """
        if not 4 <= number <= len(self):
            raise InputError(
                f"--records must be in 4..{len(self):,}, the number of records in {file}, "
                f"got {number:,}"
            )
        rng = seeds.stream(seed, "records")
        return self[np.sort(rng.choice(len(self), number, replace=False))]

    def places(self, name: str) -> tuple[list[int], tuple[str, ...]]:
        """Return the columns of `x` that encode a column of the table, and its texts in order.

        Raises
        ------
        InputError
            If there is no such column.
        """
        if name not in self.columns:
            have = checks.short_list(self.columns) or "none: an .npz file has no names"
            raise InputError(f"no column {name!r} among the features; the columns are {have}")
        numbers = [key for key, values in self.columns.items() if values.dtype.kind in "biuf"]
        if name in numbers:
            return [numbers.index(name)], ()
        # One-hot columns follow the numeric ones, in the order of the table, as `get_dummies` has
        # them.
        first = len(numbers)
        for key, values in self.columns.items():
            if key == name:
                break
            first += 0 if key in numbers else len(np.unique(values))
        texts = np.unique(self.columns[name]).tolist()
        return list(range(first, first + len(texts))), tuple(texts)


@dataclass(frozen=True, eq=False)
class CategoricalTable:
    """Records with categorical attributes, and some numeric ones."""

    x: NDArray[Any]
    """(n, d) Codes 0, 1, ... for categories; numbers unchanged."""
    categories: tuple[int | None, ...]
    """(d,) Number of categories of each attribute; None for a number."""
    y: Ints
    """(n,) Classes in 0..k-1."""
    names: tuple[str, ...]
    """(k,) The classes' names, ascending."""
    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers in the file."""
    columns: tuple[str, ...]
    """(d,) Names of the attributes."""
    unit: NDArray[Any] | None = None
    """(n,) Person behind each record; None if the table does not say."""

    def __len__(self) -> int:
        return len(self.y)


def load_records(
    path: str | Path,
    label: str = "label",
    *,
    member: str | None = None,
    ids: str | None = None,
    unit: str | None = None,
    drop: Sequence[str] = (),
    form: str = NUMBERS,
    separator: str | None = None,
    missing: Collection[str] = (),
) -> Records:
    """Return the records in a file.

    Parameters
    ----------
    path : str or Path
        ``.csv`` or ``.parquet`` with a header, ``.npz`` with x (n, d), y (n,) and optionally member
        (n,), or a folder with one folder of images per class.
    label : str
        Column of classes, of any type.
    member : str, optional
        Column, true or false, that marks the records a model was trained on.
    ids : str, optional
        Column of the records' names.
    unit : str, optional
        Column of the people behind the records; the array ``unit`` in an ``.npz`` file.
    drop : sequence of str
        Columns to leave out of the features.
    form : str
        Form of the records, one of `forms`. For numbers, text columns are one-hot encoded and every
        pixel is a column.
    separator : str, optional
        Separator of the fields of a csv file; default: as its lines show (`separator_of`).
    missing : collection of str
        Further words for a missing value in a table, as in `read_content`.
    """
    path = Path(path)
    if path.is_dir():
        _require_no_columns(path, member, ids=ids, drop=drop, unit=unit)
        files = image_files(path)
        places = [file.relative_to(path) for file in files]
        # The folder right below `path` names the class, whatever lies deeper.
        classes, numbers = np.unique([place.parts[0] for place in places], return_inverse=True)
        pixels: Held = np.empty((len(numbers), 0)) if form == ROWS else read_images(files)
        if form != IMAGES:
            pixels = _of_form(pixels.reshape(len(numbers), -1).astype(np.float64), form, path)
        return Records(
            x=pixels,
            y=numbers.astype(np.int64),
            names=_texts(classes),
            ids=np.array([str(place) for place in places]),
            member=None,
            columns={},
        )
    content = read_content(
        path,
        "records",
        separator=separator,
        names=(ids, unit),
        without=set(drop).difference((label, member, ids, unit)),
        missing=missing,
    )
    if isinstance(content, Mapping):
        _require_no_columns(path, member, ids=ids, drop=drop, unit=unit)
        found = _from_npz(content, path, needs_member=member is not None)
        return replace(found, x=_of_form(found.x, form, path))
    parts = _split_columns(
        content, path, label=label, member=member, ids=ids, drop=drop, unit=unit, form=form
    )
    columns = {str(name): plain_array(parts.features[name]) for name in parts.features.columns}
    as_numbers = form in (NUMBERS, IMAGES)
    x = _numbers(parts.features, path) if as_numbers else _of_form(parts.features, form, path)
    return Records(
        x=x,
        y=parts.y,
        names=parts.names,
        ids=parts.ids,
        member=parts.inside,
        columns=columns,
        unit=parts.unit,
        notes=parts.notes,
    )


def load_categories(
    path: str | Path,
    label: str = "label",
    *,
    continuous: Sequence[str] = (),
    ids: str | None = None,
    unit: str | None = None,
    drop: Sequence[str] = (),
    separator: str | None = None,
    missing: Collection[str] = (),
) -> CategoricalTable:
    """Return the records in a file with all columns categorical, except the `continuous` ones.

    Parameters
    ----------
    path : str or Path
        ``.csv`` or ``.parquet`` with a header, or ``.npz`` with x (n, d) and y (n,).
    label : str
        The column of classes; of any type.
    continuous : sequence of str
        Names of numeric columns; their indices, as texts, for an npz file.
    ids : str, optional
        The column of names.
    unit : str, optional
        As in `load_records`.
    drop : sequence of str
        Columns to leave out.
    separator, missing
        As in `load_records`.

    Returns
    -------
    CategoricalTable
        The categories are those of the whole file; a missing value is its own category.
    """
    import pandas as pd

    path = Path(path)
    content = read_content(
        path,
        "records",
        separator=separator,
        names=(ids, unit),
        without=set(drop).difference((label, ids, unit)),
        missing=missing,
    )
    if isinstance(content, Mapping):
        _require_no_columns(path, None, ids=ids, drop=drop, unit=unit)
        records = _from_npz(content, path, needs_member=False)
        columns = [str(j) for j in range(records.x.shape[1])]
        features = pd.DataFrame(records.x, columns=columns)
        names = records.names
        y = records.y
        named = records.ids
        people = records.unit
    else:
        parts = _split_columns(
            content, path, label=label, member=None, ids=ids, drop=drop, unit=unit, form=CATEGORIES
        )
        features = parts.features
        names = parts.names
        y = parts.y
        named = parts.ids
        people = parts.unit
    unknown = [name for name in continuous if name not in features.columns]
    if unknown:
        have = checks.short_list(features.columns)
        raise InputError(f"{path} has no attribute {unknown[0]!r}; the attributes are {have}")
    coded = [
        _encode_column(features[name], None if str(name) not in continuous else path)
        for name in features.columns
    ]
    return CategoricalTable(
        x=np.column_stack([codes for codes, _ in coded]),
        categories=tuple(size for _, size in coded),
        y=y,
        names=names,
        ids=named,
        columns=tuple(str(name) for name in features.columns),
        unit=people,
    )


def _encode_column(
    column: pd.Series[Any], numbers_of: Path | None
) -> tuple[NDArray[Any], int | None]:
    """Return codes and the number of categories; numbers and None if `numbers_of` is a file."""
    import pandas as pd

    if numbers_of is None:
        # A column read in parts may hold 1 and "1": they are the same category.
        texts = column.astype(str).where(column.notna(), None) if column.dtype == object else column
        # Missing values are a category of their own.
        codes, values = pd.factorize(texts, sort=False, use_na_sentinel=False)
        return codes.astype(np.int64), len(values)
    if (days := days_of(column)) is not None:
        return days, None
    if column.dtype.kind not in "biuf":
        raise InputError(f"{numbers_of}: column {column.name!r} holds texts: it is not continuous")
    numbers = column.to_numpy(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(
            f"{numbers_of}: column {column.name!r} must hold finite numbers, got "
            f"{numbers[bad[0]]} in row {bad[0]}: fill them, or leave the rows out"
        )
    return numbers, None


@dataclass(frozen=True, eq=False)
class _Parts:
    """A table split into features, classes, names and further columns."""

    features: pd.DataFrame
    names: tuple[str, ...]
    y: Ints
    ids: NDArray[Any]
    inside: Bools | None
    unit: NDArray[Any] | None
    notes: tuple[str, ...]


def _of_form(x: Held, form: str, path: Path) -> Held:
    """Return records in the form that a model takes."""
    if form == ROWS:
        return RecordNumbers(np.arange(len(x)))
    if form in (NUMBERS, IMAGES):
        return x
    if not is_frame(x):
        raise InputError(
            f"the model asks for a data frame: --data must be a .csv or .parquet file, got {path}"
        )
    texts = [name for name in x.columns if x[name].dtype.kind not in "biuf"]
    return x.astype(dict.fromkeys(texts, "category")) if form == CATEGORIES else x


def _split_columns(
    frame: pd.DataFrame,
    path: Path,
    label: str,
    member: str | None,
    ids: str | None,
    drop: Sequence[str],
    *,
    form: str = NUMBERS,
    unit: str | None = None,
) -> _Parts:
    for name in (label, member, ids, unit, *drop):
        if name is not None and name not in frame.columns:
            have = checks.short_list(frame.columns)
            hint = ": is its separator another (--separator)?" if frame.shape[1] == 1 else ""
            raise InputError(f"{path} has no column {name!r}; its columns are {have}{hint}")
    dropped = {label, member, ids, unit} & set(drop)
    if dropped:
        raise InputError(f"column {dropped.pop()!r} is needed and cannot be dropped")
    frame = frame.drop(columns=list(drop))
    # One column may have several roles, such as id and unit.
    apart = [name for name in dict.fromkeys((label, member, ids, unit)) if name is not None]
    # Data frames keep missing features: the model handles them itself.
    looked_at = frame if form in (NUMBERS, IMAGES) else frame[apart]
    missing = looked_at.columns[looked_at.isna().any()].tolist()
    if missing:
        raise InputError(
            f"{path}: {int(frame[missing[0]].isna().sum()):,} values are missing in column "
            f"{missing[0]!r}: fill them, leave the rows out, or --drop the column"
        )
    for name in frame.columns:
        # Lists and the like are refused in any column; missing values may stay.
        if frame[name].dtype == object:
            checks.present(frame[name].dropna().to_numpy(), f"{path}: column {name!r}")
    features = frame[[name for name in frame.columns if name not in apart]]
    if (features.shape[1] == 0 and form != ROWS) or len(frame) == 0:
        raise InputError(f"{path} holds no {'records' if len(frame) == 0 else 'features'}")
    names, y = np.unique(frame[label].to_numpy(), return_inverse=True)
    # A column with this many distinct values is an id or a number, not a class.
    most = len(frame) / 2 if len(names) > MANY_CLASSES else len(frame) - 1
    if len(names) > most:
        raise InputError(
            f"{path}: column {label!r} has {len(names):,} different values in {len(frame):,} "
            "records, which are no classes: name another column"
        )
    inside: Bools | None = None
    notes: list[str] = []
    if member is not None:
        said, notes = members_of(frame[member].to_numpy(), member, str(path))
        inside = checks.bools(said, member)
    named = np.arange(len(frame)) if ids is None else np.asarray(frame[ids])
    owner = None if unit is None else np.asarray(frame[unit])
    return _Parts(
        features=features,
        names=_texts(names),
        y=y.astype(np.int64),
        ids=named,
        inside=inside,
        unit=owner,
        notes=tuple(notes),
    )


def _numbers(features: pd.DataFrame, path: Path) -> Floats:
    import pandas as pd

    # Dates become days since 1970: as texts they would be a category each.
    days = {name: days_of(features[name]) for name in features.columns}
    features = features.assign(**{name: found for name, found in days.items() if found is not None})
    texts = [name for name in features.columns if features[name].dtype.kind not in "biuf"]
    for name in texts:
        count = features[name].nunique()
        if count > MOST_TEXTS:
            raise InputError(
                f"{path}: column {name!r} has {count:,} different texts, which are no categories: "
                "--drop it, or name it with --id"
            )
    x = pd.get_dummies(features, columns=texts, dtype=np.float64).to_numpy(np.float64)
    _require_finite(x, path)
    return x


def _require_finite(x: NDArray[Any], path: Path) -> None:
    bad = np.argwhere(~(np.abs(x) <= LARGEST))
    if len(bad):
        value = x[tuple(bad[0])]
        rule = f"at most {LARGEST:g}" if np.isfinite(value) else "finite"
        raise InputError(f"{path}: values must be {rule}, got {value} in row {bad[0][0]}")


def _texts(names: NDArray[Any]) -> tuple[str, ...]:
    if len(names) < 2:
        raise InputError(
            f"at least two classes are needed, got {checks.short_list(names.tolist())}"
        )
    return tuple(str(name) for name in names.tolist())


def _require_no_columns(
    path: Path,
    member: str | None,
    ids: str | None,
    drop: Sequence[str],
    unit: str | None = None,
) -> None:
    arrays = () if path.is_dir() else ("member", "unit")
    named = [name for name in (member, ids, *drop, unit) if name not in (None, *arrays)]
    if named:
        raise InputError(
            f"{path} has no column {named[0]!r}: "
            + (
                "a folder of images has no columns"
                if path.is_dir()
                else "an .npz file has no columns, but the arrays x, y and perhaps member and unit"
            )
        )


def _from_npz(arrays: Content, path: Path, *, needs_member: bool) -> Records:
    for key in ("x", "y", "member")[: 2 + needs_member]:
        if key not in arrays:
            raise InputError(f"{path} has no array {key!r}; it holds {checks.short_list(arrays)}")
    x = arrays["x"]
    if x.ndim != 2 or x.dtype.kind not in "biuf":
        raise InputError(f"{path}: x must be numbers of the shape (n, d), got {x.dtype} {x.shape}")
    y = checks.classes(arrays["y"], f"{path}: y", length=len(x))
    _require_finite(x, path)
    names, codes = np.unique(y, return_inverse=True)
    inside = arrays.get("member")
    member = None if inside is None else checks.bools(inside, f"{path}: member", length=len(x))
    given = arrays.get("unit")
    ids = np.arange(len(x))
    unit = None if given is None else checks.vector(given, f"{path}: unit", length=len(x))
    return Records(
        x=x.astype(np.float64),
        y=codes.astype(np.int64),
        names=_texts(names),
        ids=ids,
        member=member,
        columns={},
        unit=unit,
    )
