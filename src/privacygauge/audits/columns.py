"""Options that the commands on tables of people share: the table, and the kinds of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.audits.asking import Request, argument, asks

if TYPE_CHECKING:
    from privacygauge.synthetic.table import Schema

COLUMNS = "Columns"
"""Heading of options about the kinds of columns."""

_column_option = partial(asks, panel=COLUMNS)


separator_option = partial(
    asks,
    "CHARACTER",
    "What separates the fields of CSV files, such as ; or tab. Default: the one of , ; tab and | "
    "that their lines show.",
)
"""Returns the option for the field separator of CSV files, by its panel."""


@dataclass(frozen=True, kw_only=True)
class TableRequest(Request):
    """Options about a table."""

    data: str = argument("DATA", "The table: .csv or .parquet with a header.")
    continuous: tuple[str, ...] = _column_option(
        "A,B",
        "Columns to take as numbers. Default: every column that holds numbers only.",
    )
    categorical: tuple[str, ...] = _column_option(
        "A,B",
        "Columns to take as categories, such as codes and classes. Default: every column that "
        "does not hold numbers only.",
    )
    schema: str | None = _column_option(
        "FILE",
        "Schema of the columns: JSON as privacygauge vulnerable --write-schema writes it, edited "
        "or not.",
    )
    drop: tuple[str, ...] = _column_option(
        "COLUMN",
        "Column to leave out, such as names. May be given several times.",
        split=False,
    )
    separator: str | None = separator_option(panel=COLUMNS)

    @property
    def given_schema(self) -> Schema | None:
        """Schema in the given file; None without one."""
        from privacygauge.synthetic.frames import read_schema

        return None if self.schema is None else read_schema(self.schema)
