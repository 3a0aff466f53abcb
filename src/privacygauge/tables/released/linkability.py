"""Linkability: whether the synthetic table helps to join two sources on the same people.

The second risk of the opinion 05/2014 of the Article 29 Working Party: "the ability to link, at
least, two records concerning the same data subject".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.tables.distance import Minkowski, space_of
from privacygauge.tables.released.hits import ATTEMPTS, Attempts, Hits
from privacygauge.tables.released.neighbours import nearest_points
from privacygauge.tables.released.outlying import VARIANT, Outlying
from privacygauge.tables.released.tables import (
    FEWEST,
    ReleasedTables,
    draw_rows,
    occurs,
    select_columns,
    stack_tables,
    sums_but_one,
)
from privacygauge.tables.table import Table, require_columns

CANDIDATES = FEWEST
"""Candidates per person, the right one included: no table has fewer."""
FEWEST_COLUMNS = 3
"""Fewest columns of a table in which a record is looked for by all columns but one."""


@dataclass(frozen=True)
class Halves:
    """Columns known to one source and to the other; all other columns are unknown to both."""

    one: tuple[str, ...]
    """Columns, at least one."""
    other: tuple[str, ...]
    """Further columns, at least one."""

    def __post_init__(self) -> None:
        both = sorted(set(self.one) & set(self.other))
        if both:
            raise InputError(f"column {both[0]!r} is in both halves: name it in one")
        if not self.one or not self.other:
            raise InputError("each half must name a column, got none: name some")


def linkability(
    released: ReleasedTables,
    rng: np.random.Generator,
    *,
    halves: Halves | None = None,
    attempts: Attempts = ATTEMPTS,
    rows: Outlying | None = None,
) -> Hits:
    """Attempt to join the two halves of a person by means of the synthetic table.

    One source shows half of a person's columns; the other half is one of several candidates, the
    rest of which belong to other people of the same table. Each candidate is joined to the first
    half in turn, and the one whose joined record is nearest to a synthetic record is the guess.

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
    halves : Halves, optional
        By default, random halves of the columns, drawn for each person.
    attempts : Attempts, default 500
        People of the real table and of the holdout; fewer where a table has fewer.
    rows : Outlying, optional
        People to attack, in place of random ones; the other candidates are still random.

    Returns
    -------
    Hits
        Attack: real people among candidates of the real table. Control: holdout people among
        candidates of the holdout. Baseline: a candidate drawn at random. Ties for the nearest are
        broken at random.
    """
    tables = list(released.tables().values())
    if halves is not None:
        known = (*halves.one, *halves.other)
        tables = [_only(table, known, "halves") for table in tables]
    if len(tables[0].schema.columns) < 2:
        raise InputError("linkability needs at least two columns, got one")
    real, made, *others = tables
    sides = (real, *others)
    if rows is None:
        often = zip(sides, (attempts.real, attempts.holdout), strict=False)
        asked = tuple(draw_rows(len(side), most, rng) for side, most in often)
    # Each row of `lines` holds a person's joined candidates, CANDIDATES records in succession.
    else:
        asked = rows.sides
    lines = [
        _lines(side, halves, candidates=CANDIDATES, people=people, rng=rng)
        for side, people in zip(sides, asked, strict=True)
    ]
    of_real, *of_others = released.people(asked)
    space = space_of(stack_tables(made, *lines), Minkowski(1))
    ends = np.cumsum([len(made), *(len(line) for line in lines)])
    among, *places = np.split(np.arange(len(space)), ends[:-1])
    away = [nearest_points(space, rows, among).distance for rows in places]
    found = [_first_is_least(one.reshape(-1, CANDIDATES), rng) for one in away]
    guess = rng.integers(CANDIDATES, size=len(found[0])) == 0
    variant = "random halves" if halves is None else "given halves"
    return Hits(
        "linkability",
        variant=variant if rows is None else VARIANT,
        attack=found[0],
        control=found[1] if others else None,
        baseline=guess,
        meaning=(
            f"half of a person's columns is joined to one of {CANDIDATES} other halves, and "
            "succeeds where it is the same person's"
        ),
        attack_unit=of_real,
        control_unit=of_others[0] if of_others else None,
        baseline_unit=of_real,
        outlying=rows is not None,
        notes=released.notes,
    )


def part_copied(
    released: ReleasedTables, columns: Sequence[str], name: str, rng: np.random.Generator
) -> Hits:
    """Attempt to find a part of each record, unchanged, in a synthetic record.

    A generator may copy one source's part of a record and invent the rest: the result equals no
    real record, but still exposes a person.

    Parameters
    ----------
    released : ReleasedTables
    columns : sequence of str
        Columns of the part, at least one.
    name : str
        Name of the part, such as ``people``.
    rng : numpy.random.Generator

    Returns
    -------
    Hits
        Attack: real records. Control: holdout records. Baseline: the real records again, looked up
        in the synthetic table with every column shuffled.
    """
    real, made, *others = (_only(table, columns, "parts") for table in released.tables().values())
    mixed = Table(made.schema, rng.permuted(made.values, axis=0))
    return Hits(
        "linkability",
        variant=f"copied part: {name}",
        attack=occurs(real, made),
        control=occurs(others[0], made) if others else None,
        baseline=occurs(real, mixed),
        meaning=(
            f"the part of a record that comes from {name} ({len(columns)} columns) is looked for, "
            "and succeeds where a synthetic record equals it"
        ),
        attack_unit=released.units[0],
        control_unit=released.units[1] if others else None,
        baseline_unit=released.units[0],
        notes=released.notes,
    )


def nearly_copied(released: ReleasedTables, rng: np.random.Generator) -> Hits:
    """Attempt to find synthetic records that equal a given one in all columns but at most one.

    This finds copies in which one value was redrawn or rounded, or is the name of the record.

    Parameters
    ----------
    released : ReleasedTables
        Release with at least `FEWEST_COLUMNS` columns.
    rng : numpy.random.Generator

    Returns
    -------
    Hits
        Attack, control and baseline as in `part_copied`, for all columns but one.
    """
    made = released.synthetic
    mixed = Table(made.schema, rng.permuted(made.values, axis=0))
    others = () if released.holdout is None else (released.holdout,)
    columns = range(len(released.schema.columns))
    asked, there, shuffled, *control = sums_but_one(
        rng, columns, released.real, made, mixed, *others
    )
    return Hits(
        "linkability",
        variant="copied but for one value",
        attack=_among(asked, there),
        control=_among(control[0], there) if control else None,
        baseline=_among(asked, shuffled),
        meaning=(
            "a record is looked for, and found where a synthetic record equals it in all columns "
            "but at most one"
        ),
        attack_unit=released.units[0],
        control_unit=released.units[1] if control else None,
        baseline_unit=released.units[0],
        notes=released.notes,
    )


def _among(asked: NDArray[np.uint64], there: NDArray[np.uint64]) -> Bools:
    """Return (n,) True where any of a record's F sums occurs among those of another table."""
    found = np.zeros(asked.shape[1], np.bool_)
    for own, others in zip(asked, there, strict=True):
        found |= np.isin(own, others)
    return found


def _only(table: Table, names: Sequence[str], what: str) -> Table:
    """Return the records with the columns of these names."""
    require_columns(names, table.schema.names, what)
    return select_columns(table, [table.schema.names.index(name) for name in names])


def _lines(
    table: Table, halves: Halves | None, candidates: int, people: Ints, rng: np.random.Generator
) -> Table:
    """Return the joined records of each person's candidates, the true one first."""
    n = len(table)
    width = len(table.schema.columns)
    # Steps of 1..n - 1 never lead back to the person's own row.
    steps = np.array([1 + rng.choice(n - 1, candidates - 1, replace=False) for _ in people])
    line = np.column_stack([people, (people[:, None] + steps) % n])
    if halves is None:
        shown = np.array([rng.permutation(width) < width // 2 for _ in people])
    else:
        # `_only` put the columns of the first half in front.
        shown = np.array([np.arange(width) < len(halves.one) for _ in people])
    # shown (p, 1, F): the person's own half; the rest comes from each of the candidates (p, k, F).
    joined = np.where(shown[:, None], table.values[people][:, None], table.values[line])
    return Table(table.schema, joined.reshape(-1, width))


def _first_is_least(away: Floats, rng: np.random.Generator) -> Bools:
    """Return (p,) True where the first entry of a row is the smallest; ties broken at random."""
    # Joined records that are equal may differ in distance by rounding.
    least = away <= away.min(axis=1, keepdims=True) + 1e-12
    drawn = np.where(least, rng.random(away.shape), -1.0)
    return np.asarray(drawn.argmax(axis=1) == 0)
