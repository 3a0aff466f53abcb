"""Options of audits of generators and of synthetic tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.kinds.request import Request, missing_option, separator_option
from privacygauge.runs.options import Options, argument, asks, keyword

if TYPE_CHECKING:
    from privacygauge.tables.table import Schema, Table

COLUMNS = "Columns"
"""Heading of options about the kinds of columns."""

_GAME = "The privacy game"
_RELEASED = "A table that was released already"
_column_option = partial(asks, panel=COLUMNS)
game_option = partial(asks, panel=_GAME)
"""Returns an option of the privacy game."""
released_option = partial(asks, panel=_RELEASED)
"""Returns an option of the audit of a released table."""


@dataclass(frozen=True, kw_only=True)
class ColumnKinds(Options):
    """Kinds of the columns of a table, and columns to leave out."""

    continuous: tuple[str, ...] = _column_option(
        "A,B",
        "Columns to take as numbers. Default: every column that holds numbers only.",
    )
    categorical: tuple[str, ...] = _column_option(
        "A,B",
        "Columns to take as categories, such as codes and classes. Default: every column that "
        "does not hold numbers only.",
    )
    drop: tuple[str, ...] = _column_option(
        "COLUMN",
        "Column to leave out, such as names. May be given several times.",
        split=False,
    )


@dataclass(frozen=True, kw_only=True)
class TableRequest(ColumnKinds, Request):
    """Options about a table."""

    data: str = argument("DATA", "The table: .csv or .parquet with a header.")
    schema: str | None = asks(
        "FILE",
        "Schema of the columns: JSON as privacygauge vulnerable --write-schema writes it, edited "
        "or not.",
        panel=COLUMNS,
    )
    separator: str | None = separator_option(panel=COLUMNS)
    missing: tuple[str, ...] = missing_option(panel=COLUMNS)

    @property
    def given_schema(self) -> Schema | None:
        """Schema in the given file; None without one."""
        from privacygauge.tables.frames import read_schema

        return None if self.schema is None else read_schema(self.schema)


@dataclass(frozen=True, eq=False, kw_only=True)
class LearntColumns(ColumnKinds):
    """Columns of a table that generators learn from."""

    schema: Schema | None = keyword(
        "Kinds and values of the columns; default: from the table, as in `read_table`.",
        default=None,
    )

    def read(self, data: object) -> Table:
        """Return the table, whose columns generators can learn."""
        # With numpy, which a command loads late.
        from privacygauge.tables.frames import read_table
        from privacygauge.tables.table import require_moderate

        table = read_table(
            data,
            schema=self.schema,
            continuous=self.continuous,
            categorical=self.categorical,
            drop=self.drop,
        )
        require_moderate(table.schema)
        return table


@dataclass(frozen=True, kw_only=True)
class ReportedColumns(Options):
    """Columns that a report of a table uses."""

    label: str | None = asks(
        "COLUMN",
        "Column to predict where the usefulness of a table is measured. Default: several in turn.",
    )
    show: tuple[str, ...] = asks(
        "COLUMN",
        "Column to print beside the riskiest records. May be given several times. Default: rows "
        "only.",
        split=False,
    )


@dataclass(frozen=True, kw_only=True)
class TargetDesign(Options):
    """Choice of the attacked records, and numbers of records in a game."""

    select: tuple[str, ...] = game_option(
        "A,B",
        "How N records are chosen: distance (the most vulnerable), random, rare, likelihood; "
        "several give N each, side by side. Default: distance.",
        default=("distance",),
        offers=("distance", "random", "rare", "likelihood"),
    )
    size: int | None = game_option(
        "N",
        "Number of records that a generator learns from. Default: 1,000, or a sixth of a small "
        "table.",
    )
    made: int | None = game_option(
        "N", "Number of records of a synthetic table. Default: as many as it was learnt from."
    )


@dataclass(frozen=True, kw_only=True)
class GameDesign(TargetDesign):
    """A privacy game against a generator."""

    game: str | None = game_option(
        "NAME",
        "average (a fresh data set for every table), specific (one data set), or shared (one pool "
        "of tables for all records). Default: average; above 50 records shared.",
        offers=("average", "specific", "shared"),
    )
    knowledge: str | None = game_option(
        "NAME",
        "What the adversary has: auxiliary records, exact (all others of the data set; game "
        "specific) or synthetic (the released table alone; game average). Default: exact in the "
        "specific game, auxiliary in the others.",
        offers=("auxiliary", "exact", "synthetic"),
    )
    shadows: int = game_option(
        "N",
        "Number of synthetic tables that the adversary makes, per record or for all.",
        default=1000,
    )
    tests: int | None = game_option(
        "N",
        "Number of synthetic tables that the adversary is asked about. Default: as many as "
        "--half-width needs.",
    )
    attribute: str | None = game_option(
        "COLUMN",
        "Column whose value is guessed, for records that are known to be in the data, in place of "
        "whether they are. Games: average, or specific with exact knowledge.",
    )
    values: tuple[str, ...] = game_option(
        "A,B",
        "Values of --attribute that are possible, at most 20, all equally likely. Default: its "
        "categories, its numbers if there are at most 12, else the middles of their fifths.",
    )


@dataclass(frozen=True, kw_only=True)
class ReleasedDesign(Options):
    """Attacks on a released table."""

    attempts: int | None = released_option(
        "N",
        "Number of attempts at singling out, linking and inferring. Default: as many as "
        "--half-width needs.",
    )
    what_if: int = released_option(
        "N",
        "Audit the table again without each of the N columns that tell people apart best, and with "
        "coarser values of each: what would it do to the leak, and to the table's use? Takes up to "
        "2 N + 1 times as long.",
        default=0,
    )
