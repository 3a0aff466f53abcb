"""Records by score: the riskiest ones for the page, and all of them as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.units import foremost
from privacygauge.evaluate.evaluation import Evaluation, roc_curves
from privacygauge.evaluate.played import Records
from privacygauge.report.numbers import decimal, plain, shorten
from privacygauge.report.values import Column, DataFrame, Table, Worst, frame, names_of

RECORDS = 50
"""Most records that are shown as the riskiest."""

_AT_ONCE = 10
"""Records that are shown above the fold, and named in a register."""


@dataclass(frozen=True, eq=False)
class Riskiest:
    """The records at the highest risk."""

    records: Records
    """All records."""
    by: str
    """Name of the attack or score that ranks them."""
    value: Floats
    """(n,) Score of each record; higher is riskier."""
    rows: Ints
    """(r,) At most `RECORDS` rows, the riskiest first, one per person."""
    n: int
    """Number of ranked records."""
    ids: tuple[str, ...]
    """(r,) Ids of the riskiest records, long ones shortened in the middle."""
    worst: Worst
    """The first few ids."""


def riskiest_records(
    records: Records, by: str, value: Floats, *, members: bool = False
) -> Riskiest:
    """Return the records with the highest values, (n,), one per person; `members` only if asked.

    `by` names the values, such as ``score of confidence``.
    """
    # One row per person, or one person could fill the table.
    among = np.flatnonzero(records.member) if members else np.arange(len(value))
    unit = None if records.unit is None else records.unit[among]
    rows = among[foremost(value[among], unit, RECORDS)]
    ids = tuple(shorten(str(records.ids[i])) for i in rows)
    return Riskiest(
        records=records,
        by=by,
        value=value,
        rows=rows,
        n=len(among),
        ids=ids,
        worst=Worst("records", tuple(map(plain, ids[:_AT_ONCE]))),
    )


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
    """Return the table of the riskiest records by id, with the user's columns if they may be shown.

    `heads` are the heads of ids and values; `attacks` follows the number of attacks; `member` adds
    a column with the membership. Contents are shown `whole` or shortened in the middle. `further`
    maps heads of more columns to their cells, one per record of the table.
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
                # Contents come from the user's data, where NaN alone differs from itself.
                *(
                    cut("missing" if value is None or value != value else str(value))
                    for value in (column[i] for column in records.contents.values())
                ),
            )
            for place, (name, i) in enumerate(zip(found.ids, found.rows.tolist(), strict=True))
        ),
        at_once=_AT_ONCE,
    )


def records_frame(records: Records) -> DataFrame:
    """Return one row per target: its ``id``, ``unit`` if given, then `Records.columns`."""
    people = {} if records.people is None else {"unit": names_of(records.people)}
    return frame({"id": names_of(records.ids), **people, **records.columns})


def roc_frame(evaluations: Sequence[Evaluation]) -> DataFrame:
    """Return the ROC curves as one table, thinned to at most `POINTS` points each.

    Columns: ``attack`` (with its variant, if any), ``thresholds`` (their kind), ``threshold``
    ("member" if the score is at least this), ``true_positives``, ``false_positives``, ``tpr``,
    ``fpr``. Among the points of an attack, the largest TPR with an FPR of at most 10%, 1%, 0.1% or
    0.01% is that of the full curve.
    """
    curves = roc_curves(evaluations)
    points = [len(curve.thresholds) for curve in curves]
    attacks = [curve.attack for curve in curves]
    names = [f"{e.name} ({e.variant})" if e.variant else e.name for e in attacks]
    return frame(
        {
            "attack": np.repeat(np.array(names, dtype=object), points),
            "thresholds": np.repeat(
                np.array([e.thresholds for e in attacks], dtype=object), points
            ),
            "threshold": np.concatenate([curve.thresholds for curve in curves]),
            "true_positives": np.concatenate([curve.true_positives for curve in curves]),
            "false_positives": np.concatenate([curve.false_positives for curve in curves]),
            "tpr": np.concatenate([curve.tpr for curve in curves]),
            "fpr": np.concatenate([curve.fpr for curve in curves]),
        }
    )
