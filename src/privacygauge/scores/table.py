"""Numbers per record of a model, of shadow models, and of known non-members: read and checked."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.exports import members_of
from privacygauge.classifiers.game import MANY_COINS, even_counts
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.units import number_units
from privacygauge.datasets.canary_scores import ARRAYS
from privacygauge.datasets.columns import NAMING, membership_in
from privacygauge.datasets.parsing import amounts_of, is_number
from privacygauge.datasets.reading import CSV, FrameLike, plain_array, read_content
from privacygauge.errors import InputError

ScoresLike: TypeAlias = "ScoreTable | str | Path | Mapping[str, ArrayLike] | FrameLike"
"""Input of `as_scores`: a table, a file, a mapping of arrays, or a data frame."""

_ID = ("id", "ids")
_NAMES = ("score", "scores", "loss")
"""Columns that are scores whatever else there is; so are those that begin with ``score_``."""

_FILES = (".parquet", ".npz", ".jsonl", ".jsonl.gz", *CSV)


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The columns of a table that have a meaning."""

    scores: tuple[str, ...] = ()
    """Columns of numbers to attack; empty for those whose names say so."""
    group: str | None = None
    """Column of groups with thresholds of their own; None for a column ``group``, if there is
    one."""
    unit: str | None = None
    """Column of the people behind the rows; None for a column ``unit``, or equal ids."""
    features: tuple[str, ...] = ()
    """Columns of numbers that describe the records."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """One or several numbers per record, with membership, groups, units and further columns."""

    values: Floats
    """(n, c) Scores as the user gives them, higher or lower for members."""
    names: tuple[str, ...]
    """(c,) Names of the scores."""
    member: Bools
    """(n,) True for a record that the model was trained on."""
    labels: Ints
    """(n,) Group of each record, in 0..g-1."""
    ids: NDArray[Any]
    """(n,) Names of the records, or row numbers."""
    named: bool = False
    """Whether `ids` were given."""
    groups: tuple[str, ...] = ()
    """(g,) Names of the groups; empty without groups."""
    unit: Ints | None = None
    """(n,) Person behind each row; None where no two rows are known to share one."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns, (n,) each, that are known without asking the model."""
    features: tuple[str, ...] = ()
    """Those of `columns` that describe the records as numbers."""
    notes: tuple[str, ...] = ()
    """Remarks on how the table was read."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """Columns that are not among the further ones, and what each says, as messages put it."""

    def __len__(self) -> int:
        return len(self.member)

    def further(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return some of the further columns, by name.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        for name in names:
            if name not in self.columns:
                have = checks.short_list(self.columns) or "none"
                if name in self.meanings:
                    fault = f"column {name!r} {self.meanings[name]}: name a further column"
                else:
                    fault = f"no column {name!r}"
                raise InputError(f"{fault}; the columns are: {have}")
        return {name: self.columns[name] for name in names}

    @property
    def units(self) -> Ints:
        """(n,) Person behind each row; the row's own number if none is known."""
        return np.arange(len(self)) if self.unit is None else self.unit

    @property
    def described(self) -> Floats | None:
        """(n, d) The features; None without any."""
        if not self.features:
            return None
        return np.column_stack([np.asarray(self.columns[x], np.float64) for x in self.features])

    def require_sides(self, name: str) -> None:
        """Raise unless there are two members and two non-members, of different units."""
        n_in, n_out = (checks.n_distinct(self.units[side]) for side in (self.member, ~self.member))
        if min(n_in, n_out) < 2:
            of = "" if self.unit is None else " of different units"
            raise InputError(
                f"{name}: at least 2 members and 2 non-members{of} are needed, got {n_in} and "
                f"{n_out}: member must be 1 for records of the training data and 0 for others"
            )


def named_roles(columns: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the column of members, or None, and the columns that are scores by their names."""
    named = [x for x in columns if x.lower() in _NAMES or x.lower().startswith("score_")]
    member = None
    # Several parts held out say nothing together, and leave the question open.
    with contextlib.suppress(InputError):
        member = membership_in(columns, "")
    return member, named


def as_scores(
    given: ScoresLike,
    name: str,
    roles: Roles,
    *,
    like: ScoreTable | None = None,
    members: bool = True,
    missing: Sequence[str] = (),
) -> ScoreTable:
    """Return the table that an object or a file holds.

    Parameters
    ----------
    given : ScoreTable, path, mapping of arrays, or data frame
        A row per record, with the columns of scores, ``member`` and optionally ``id``, ``unit``,
        ``group`` and further ones.
    name : str
        Name of the input in error messages.
    roles : Roles
    like : ScoreTable, optional
        The target, whose scores, groups and features the table must have.
    members : bool
        Whether a column of members is required; without one, nobody is a member.
    missing : sequence of str
        Further words for a missing value in a file.

    Raises
    ------
    InputError
        One line: the fault, its place, and the way out.
    """
    if isinstance(given, ScoreTable):
        return given
    if isinstance(given, str | Path):
        name = str(given)
    return _table(
        arrays_of(given, name, roles, missing), name, roles=roles, like=like, members=members
    )


def arrays_of(
    given: str | Path | Mapping[str, ArrayLike] | FrameLike,
    name: str,
    roles: Roles,
    missing: Sequence[str] = (),
) -> dict[str, NDArray[Any]]:
    """Return the columns of a file, a mapping or a data frame, by name."""
    content: Any = given
    if isinstance(given, str | Path):
        names = (*NAMING, roles.unit, roles.group)
        content = read_content(Path(given), "score", names=names, missing=missing)
    if not isinstance(content, Mapping):
        content = content.to_pandas() if hasattr(content, "to_pandas") else content
        if not hasattr(content, "select_dtypes"):
            raise InputError(
                f"{name} must be a path, a mapping of arrays or a data frame, got "
                f"{type(given).__name__}: arrays go together, as {ARRAYS}"
            )
        keys = [str(key) for key in content]
        if twice := [key for i, key in enumerate(keys) if key in keys[:i]]:
            raise InputError(f"{name}: column {twice[0]!r} occurs twice: name each differently")
        return {str(key): plain_array(column) for key, column in content.items()}
    checks.one_order(content, name)
    return {str(key): np.asarray(values) for key, values in content.items()}


def _column_of_names(columns: Collection[str], names: tuple[str, ...]) -> str | None:
    """Return the column with the first of the names, if need be in capitals; None without any."""
    exact = (x for x in names if x in columns)
    return next(exact, next((x for n in names for x in columns if x.lower() == n), None))


def _numbers(given: ArrayLike, what: str, length: int) -> NDArray[Any]:
    """Return a column of numbers; texts are refused by the first that is not a number."""
    column = checks.vector(given, what, length=length)
    if column.dtype.kind not in "OSU":
        return column
    for row, value in enumerate(column.tolist()):
        if not is_number(str(value)):
            raise InputError(f"{what} must hold numbers, got {value!r:.60} in row {row}")
    return column.astype(np.float64)


def _score(given: NDArray[Any], what: str, length: int) -> Floats:
    """Return a column of scores; only their order counts, so that any large number is an end."""
    column = _numbers(given, what, length)
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        row = int(np.flatnonzero(~np.isfinite(column))[0])
        way_out = "leave its records out"
        if np.isinf(column[row]):
            way_out = (
                "give a number beyond all others in its place, since only the order counts, or "
                "leave its records out"
            )
        raise InputError(f"{what} must be finite, got {column[row]} in row {row}: {way_out}")
    return checks.floats(column, what)


def _table(
    arrays: dict[str, NDArray[Any]],
    name: str,
    roles: Roles,
    like: ScoreTable | None,
    members: bool,
) -> ScoreTable:
    have = checks.short_list(arrays) or "none"
    asked = like.names if like is not None else roles.scores
    of_groups = roles.group or _column_of_names(arrays, ("group",))
    of_units = roles.unit or _column_of_names(arrays, ("unit",))
    needed = [*asked, *roles.features]
    needed += [column for column in (of_groups, of_units) if column is not None and like is None]
    for column in needed:
        if column not in arrays:
            raise InputError(f"{name}: no column {column!r}; the columns are: {have}")
    bits = membership_in(arrays, name)
    if bits is None and members:
        raise InputError(
            f"{name}: no column member, 1 for records of the training data and 0 for others; the "
            f"columns are: {have}"
        )
    identity = _column_of_names(arrays, _ID)
    taken = {bits, identity, of_groups, of_units}
    is_member = {} if bits is None else {bits: "says who is a member"}
    for chosen, role in ((roles.unit, "names no person"), (roles.group, "is no group")):
        if chosen in is_member:
            raise InputError(
                f"{name}: column {chosen!r} {is_member[chosen]}, so that it {role}: name another"
            )
    names_record = {} if identity is None else {identity: "names the record"}
    of_group = {} if of_groups is None else {of_groups: "names the record's group"}
    person = {} if of_units is None else {of_units: "names the person behind the record"}
    meanings = {**of_group, **is_member, **names_record, **person}
    for column in asked:
        if column in meanings:
            raise InputError(
                f"{name}: column {column!r} {meanings[column]}, so that it is no score: name the "
                "columns of numbers that the model gives (--score, scores=)"
            )
    notes: list[str] = []
    others = {key: x for key, x in arrays.items() if key not in taken}
    for key, written in others.items():
        if written.dtype.kind not in "OSU" or written.ndim != 1:
            continue
        import pandas as pd

        amounts = amounts_of(pd.Series(written.astype(object)))
        if amounts is not None:
            first = next(text for text in written.tolist() if isinstance(text, str))
            others[key] = amounts
            notes.append(
                f"the column {key!r} holds amounts, such as {first!r}: they are read as numbers"
            )
    if not asked:
        numbers = [
            key for key, x in others.items() if x.dtype.kind in "iuf" and key not in roles.features
        ]
        _, named = named_roles(list(others))
        texts_of_scores = [key for key in named if others[key].dtype.kind not in "biuf"]
        if len(texts_of_scores) < len(named):
            named = [key for key in named if key not in texts_of_scores]
            notes += [
                f"the column {key!r} holds texts, so that it is not attacked"
                for key in texts_of_scores
            ]
        asked = tuple(named or numbers)
        if len(asked) != 1 and not named:
            raise InputError(
                f"{name}: name the columns of numbers to attack (--score, scores=); columns of "
                f"numbers are: {checks.short_list(numbers) or 'none'}"
            )
    meanings |= dict.fromkeys(asked, "is attacked as a score")
    for column in roles.features:
        if column in meanings:
            raise InputError(
                f"{name}: column {column!r} {meanings[column]}, so that it is no feature: name "
                "columns of numbers that describe the record (--feature, features=)"
            )
    length = len(arrays[asked[0]])
    if not length:
        raise InputError(f"{name} holds no records")
    values = np.column_stack([_score(others[x], f"{name}: column {x!r}", length) for x in asked])
    member = np.zeros(length, np.bool_)
    if bits is not None:
        found, said = members_of(arrays[bits], bits, name)
        notes += said
        member = checks.bools(found, f"{name}: {bits}", length=length)
    labels = np.zeros(length, np.int64)
    groups: tuple[str, ...] = ()
    if of_groups is not None and of_groups in arrays:
        texts = np.array([str(x) for x in arrays[of_groups].tolist()], np.object_)
        known, labels = np.unique(texts, return_inverse=True)
        groups = tuple(known.tolist())
    if like is not None:
        # Groups have the target's numbers; further ones come after these.
        numbers_of = {text: i for i, text in enumerate(like.groups)}
        for text in groups:
            numbers_of.setdefault(text, len(numbers_of))
        labels = np.array([numbers_of[groups[i]] for i in labels] if groups else labels, np.int64)
    ids = np.arange(length)
    unit = None
    if identity is not None:
        what = f"{name}: {identity}"
        ids = checks.characters(checks.vector(arrays[identity], what, length=length), what)
    for owner in (of_units, identity):
        if owner is not None and owner in arrays:
            number = number_units(arrays[owner], f"{name}: {owner}", length=length)
            unit = None if checks.n_distinct(number) == length else checks.frozen(number)
            break
    columns = {}
    for key, given in others.items():
        if key in asked:
            continue
        what = f"{name}: column {key!r}"
        checks.characters(np.array([key]), f"{name}: the name of a column")
        columns[key] = checks.frozen(
            checks.characters(checks.vector(given, what, length=length), what)
        )
    for key in roles.features:
        what = f"{name}: feature {key!r}"
        columns[key] = checks.floats(_numbers(columns[key], what, length), what)
    return ScoreTable(
        values=checks.frozen(values),
        names=tuple(asked),
        member=member,
        labels=checks.frozen(labels),
        ids=checks.frozen(ids),
        named=identity is not None,
        groups=groups if like is None else like.groups,
        unit=unit,
        columns=MappingProxyType(columns),
        features=roles.features,
        notes=tuple(notes),
        meanings=MappingProxyType(meanings),
    )


@dataclass(frozen=True, eq=False)
class ShadowScores:
    """Numbers of k shadow or reference models for the target's records."""

    values: Floats
    """(k, n, c) Scores, in the order of the target's records and columns."""
    inside: Bools
    """(k, n) True where the model was trained on the record; all False for a reference model."""
    compared: int | None = None
    """Number of leading scores by which models are compared record by record; None for all."""
    trained: bool = False
    """Whether the audit trained the models, as it trained the target: equal numbers are then no
    file that was given twice."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", checks.frozen(np.asarray(self.values, np.float64)))
        object.__setattr__(self, "inside", checks.frozen(np.asarray(self.inside, np.bool_)))

    def __len__(self) -> int:
        return len(self.inside)

    @property
    def both_sides(self) -> bool:
        """Whether some model was trained on some record; else all are reference models."""
        return bool(self.inside.any())


ShadowsLike: TypeAlias = "ScoresLike | ShadowScores | Sequence[ScoresLike]"
"""Input of `as_shadows`."""


def shadow_files(paths: Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the files that paths name; of a folder all that can be read, by name."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(x for x in path.iterdir() if x.name.lower().endswith(_FILES))
            if not inside:
                raise InputError(f"{path} holds no file that ends in {', '.join(_FILES)}")
            found += inside
        else:
            found.append(path)
    return tuple(found)


def as_shadows(
    given: ShadowsLike, target: ScoreTable, roles: Roles, missing: Sequence[str] = ()
) -> tuple[ShadowScores | None, ScoreTable | None]:
    """Return shadow models on the target's records, or tables of other records put together.

    Parameters
    ----------
    given : ShadowScores, table, or sequence of tables
        Each table as in `as_scores`; a path may be a folder of files. A column ``model`` puts the
        rows of several models into one table; arrays (k, n) hold k models.
    target : ScoreTable
    roles : Roles

    Returns
    -------
    tuple of ShadowScores or None, and ScoreTable or None
        Exactly one of both.

    Raises
    ------
    InputError
        One line: the fault, and the way out.
    """
    if isinstance(given, ShadowScores):
        return given, None
    several = given if isinstance(given, list | tuple) else [given]
    tables: list[tuple[str, ScoreTable]] = []
    for number, one in enumerate(several):
        if isinstance(one, ScoreTable):
            tables.append((f"shadow {number}", one))
            continue
        parts = shadow_files([one]) if isinstance(one, str | Path) else [one]
        for part in parts:
            name = str(part) if isinstance(part, Path) else f"shadow {number}"
            plain = replace(roles, scores=target.names, group=None, unit=None, features=())
            columns = arrays_of(part, name, roles, missing)
            for label, own in _by_model(columns, target, name):
                found = _table(own, label, roles=plain, like=target, members=False)
                kept = {x: own[x] for x in target.features if x in own}
                if len(kept) == len(target.features):
                    found = replace(found, columns=kept, features=target.features)
                tables.append((label, found))
    if not tables:
        raise InputError("shadows hold no model: give at least one table, or leave them out")
    matched = [_rows_of(table, target, name) for name, table in tables]
    if all(rows is None for rows in matched):
        return None, _concatenation([table for _, table in tables])
    if any(rows is None for rows in matched):
        name = next(name for (name, _), rows in zip(tables, matched, strict=True) if rows is None)
        raise InputError(
            f"{name} is about other records than the target, and other shadow models are about "
            "the target's: give models of one kind"
        )
    pairs = [(table, rows) for (_, table), rows in zip(tables, matched, strict=True)]
    values = np.stack([table.values[rows] for table, rows in pairs])
    inside = np.stack([table.member[rows] for table, rows in pairs])
    return ShadowScores(values, inside), None


def _by_model(
    columns: dict[str, NDArray[Any]], target: ScoreTable, name: str
) -> list[tuple[str, dict[str, NDArray[Any]]]]:
    """Return the tables of single models in one, with their names in messages."""
    for score in target.names:
        if score not in columns:
            raise InputError(
                f"{name}: no column {score!r}, which the target has; the columns are: "
                f"{checks.short_list(columns) or 'none'}"
            )
    stacked = {key: x for key, x in columns.items() if x.ndim == 2}
    if stacked:
        k = len(columns[target.names[0]])
        return [
            (f"{name}, model {i}", {key: x[i] if x.ndim == 2 else x for key, x in columns.items()})
            for i in range(k)
        ]
    if "model" not in columns or "model" in target.columns:
        return [(name, columns)]
    model = np.array([str(x) for x in columns.pop("model").tolist()], np.object_)
    return [
        (f"{name}, model {label}", {key: x[model == label] for key, x in columns.items()})
        for label in dict.fromkeys(model.tolist())
    ]


def _rows_of(table: ScoreTable, target: ScoreTable, name: str) -> Ints | None:
    """Return the row of each of the target's records in a shadow's table; None for others."""
    n = len(target)
    ours, theirs = (
        np.array([str(x) for x in one.ids.tolist()], np.object_) for one in (target, table)
    )
    if target.named and table.named:
        if len(theirs) == n and (ours == theirs).all():
            return np.arange(n)
        common = np.intersect1d(ours, theirs)
        if not len(common):
            return None
        if len(set(ours.tolist())) < n or len(set(theirs.tolist())) < len(theirs):
            raise InputError(
                f"{name}: ids repeat, so that its rows cannot be matched with the target's: give "
                "each record an id of its own, or both files in one order"
            )
        place = {text: i for i, text in enumerate(theirs.tolist())}
        if len(common) < n:
            raise InputError(
                f"{name} holds {len(common):,} of the target's {n:,} records: give its numbers of "
                "all of them, or of other records only"
            )
        return np.array([place[text] for text in ours.tolist()], np.int64)
    # Without ids, rows go by their order.
    return np.arange(n) if len(table) == n else None


def _concatenation(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Return the rows of tables about other records than the target, one below the other."""
    described = all(table.features for table in tables)
    names = tables[0].features if described else ()
    start = np.cumsum([0, *(len(table) for table in tables)])
    units = np.concatenate([table.units + at for table, at in zip(tables, start, strict=False)])
    return ScoreTable(
        values=np.concatenate([table.values for table in tables]),
        names=tables[0].names,
        member=np.concatenate([table.member for table in tables]),
        labels=np.concatenate([table.labels for table in tables]),
        ids=np.arange(start[-1]),
        unit=units,
        columns={x: np.concatenate([table.columns[x] for table in tables]) for x in names},
        features=names,
    )


def settled_shadows(
    target: ScoreTable, shadows: ShadowScores, rng: np.random.Generator, *, drawn: bool
) -> tuple[ShadowScores, tuple[str, ...]]:
    """Return the shadow models to play with, and notes on those changed.

    Raises
    ------
    InputError
        If their members give the target's away, or two are the same.
    """
    n = len(target)
    k = len(shadows)
    if shadows.values.shape != (k, n, len(target.names)) or shadows.inside.shape != (k, n):
        raise InputError(
            f"shadow scores must have the shape (k, {n}, {len(target.names)}) and members (k, {n})"
            f", got {shadows.values.shape} and {shadows.inside.shape}"
        )
    if not np.isfinite(shadows.values).all():
        model, row, _ = np.argwhere(~np.isfinite(shadows.values))[0]
        raise InputError(f"shadow scores must be finite, got model {model}, row {row}")
    if shadows.inside.all():
        raise InputError("no record was left out of a shadow model: shadow models need members and "
                         "non-members among the target's records")  # fmt: skip
    for number, (values, inside) in enumerate(zip(shadows.values, shadows.inside, strict=True)):
        if not shadows.trained and np.array_equal(values, target.values):
            raise InputError(
                f"shadow model {number} (from 0) gives the target's own numbers: leave it out"
            )
        if n >= MANY_COINS and np.array_equal(inside, target.member):
            raise InputError(
                f"shadow model {number} (from 0) was trained on exactly the target's members, "
                "which gives them away: leave it out"
            )
    if not shadows.both_sides or drawn:
        return shadows, ()
    evened = even_counts(shadows.values, shadows.inside, target.member, rng)
    if evened is None:
        return shadows, ()
    told = (
        "all records are in equally many models, the target among them, so that the others give "
        "its members away: one number of each record was left out at random to even the counts",
    )
    return replace(shadows, values=evened[0], inside=evened[1]), told
