"""Records by their scores: the riskiest ones, and all of them as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.units import foremost
from privacygauge.evaluate.curves import roc_columns
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.played import Records
from privacygauge.report.document import DataFrame, frame, names_of
from privacygauge.report.numbers import decimal, plain, shorten
from privacygauge.report.values import Column, Table, Worst

RECORDS = 50
"""Number of the riskiest records that are shown."""

_AT_ONCE = 10
"""Records that are shown before a fold, and named in a register."""


@dataclass(frozen=True, eq=False)
class Riskiest:
    """The records at most risk."""

    records: Records
    """All records."""
    by: str
    """Name of the attack or score that ranks them."""
    value: Floats
    """(n,) Score of every record; higher is worse."""
    rows: Ints
    """At most `RECORDS` rows, the worst first, one per person."""
    n: int
    """Number of ranked records."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the riskiest records, each on one line, long ones shortened in the middle."""
        return tuple(shorten(str(self.records.ids[i])) for i in self.rows)

    @property
    def worst(self) -> Worst:
        """The first few ids."""
        return Worst("records", tuple(map(plain, self.ids[:_AT_ONCE])))


def riskiest_records(
    records: Records, by: str, value: Floats, *, members: bool = False
) -> Riskiest:
    """Return the records of the highest values, shape (n,), one of each person; or members alone.

    `by` names the values, such as ``score of confidence``.
    """
    among = np.flatnonzero(records.member) if members else np.arange(len(value))
    unit = None if records.unit is None else records.unit[among]
    rows = among[foremost(value[among], unit, RECORDS)]
    return Riskiest(records=records, by=by, value=value, rows=rows, n=len(among))


def table(
    found: Riskiest,
    title: str,
    *,
    heads: tuple[str, str] = ("Id", "Score"),
    member: bool = False,
    attacks: str = " attacks",
    whole: bool = False,
    further: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """Return the riskiest records by id, with the user's columns where they may be shown.

    `heads` are those of ids and values, `attacks` stands behind the number of attacks. There may be
    a column that says who is a `member`; contents are shown `whole`, or without the middle of very
    long ones. `further` columns have a cell for each record of the table.
    """
    more = further or {}
    records = found.records
    n = len(found.records.guesses)
    first, number = heads
    cut = str if whole else shorten
    return Table(
        "records",
        title,
        (
            Column(first),
            *((Column("Member", prose=True),) if member else ()),
            Column(number),
            *map(Column, more),
            Column("Called a member by"),
            *(Column(name, prose=True) for name in records.contents),
        ),
        tuple(
            (
                name,
                *((("yes" if records.member[i] else "no"),) if member else ()),
                decimal(float(found.value[i]), 3),
                *(cells[place] for cells in more.values()),
                f"{sum(bool(guess[i]) for guess in records.guesses.values())} of {n}{attacks}",
                *(cut(_content(column[i])) for column in records.contents.values()),
            )
            for place, (name, i) in enumerate(zip(found.ids, found.rows.tolist(), strict=True))
        ),
        at_once=_AT_ONCE,
    )


def _content(value: object) -> str:
    missing = value is None or value != value  # NaN alone differs from itself
    return "missing" if missing else str(value)


def records_frame(records: Records) -> DataFrame:
    """Return one row for every target: its ``id``, then `Records.columns`."""
    return frame({"id": names_of(records.ids), **records.columns})


def roc_frame(evaluations: Sequence[Evaluation]) -> DataFrame:
    """Return the ROC curves as a table of `roc_columns`."""
    return frame(roc_columns(evaluations))
