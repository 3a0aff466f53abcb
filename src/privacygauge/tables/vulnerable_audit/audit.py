"""The ranking of a table's records by isolation, before anything is made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core import checks
from privacygauge.core.units import owners
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.report.numbers import Shown, count, decimal
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Gauge,
    Grade,
    Measure,
    Origin,
    Report,
    Section,
    Severity,
    Verdict,
    Worst,
    columns,
    frame,
    note,
    table,
)
from privacygauge.report.values import Table as Shows
from privacygauge.runs.options import Options, keyword
from privacygauge.tables.distance import Distance, Minkowski
from privacygauge.tables.frames import read_beside, read_table
from privacygauge.tables.selection import Vulnerability, vulnerability_of_records
from privacygauge.tables.table import Schema, Table, column_advice

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

LEVEL = 0.95
"""Level of the report; required of every report, although nothing is estimated here."""

TOP = 10
"""The default number of records to list."""

RANKED = Grade("ranking only", Severity.UNJUDGED)
"""The only grade, since no attack is played."""

_DRAWN = 100
"""Largest number of records drawn."""
_FIRST = (
    "Records without close neighbours are those that a synthetic table gives away first: audit a "
    "release with these records as targets."
)

_SOURCES = (
    "Meeus, Guépin, Crețu and de Montjoye, Achilles' Heels: Vulnerable Record Identification in "
    "Synthetic Data Publishing (2023), section 4."
)


@dataclass(frozen=True, eq=False, repr=False)
class VulnerableRecords(Reported, Vulnerability):
    """Vulnerability scores and ranks of all records, with a report, tables and plots.

    The frame has one row per record, with the columns row, score and rank.
    """

    origin: Origin
    """Origin of the numbers; nothing is drawn or estimated."""
    listed: int = TOP
    """Number of records that a report lists."""
    n_reference: int = 0
    """Number of further records that extend the ranges of the numbers."""

    def report(self, top: int | None = None) -> Report:
        """Return the report, as plain values.

        It lists `top` records, by default `listed` of them.
        """
        listed = self.listed if top is None else top
        rows = self.top(listed).tolist()
        mean = float(self.scores.mean())
        highest = _highest_score(self)
        shown = Shows(
            "records",
            "Records by falling score",
            columns("Row", "Rank", "Score"),
            tuple(
                (str(row), count(int(self.ranks[row])), decimal(self.scores[row], 4))
                for row in rows
            ),
        )
        kinds = table(
            "columns",
            "Columns",
            [{"Column": column.name, "Taken for": column.kind} for column in self.schema.columns],
            prose=("Taken for",),
        )
        return Report(
            "vulnerable",
            "Ranking of vulnerable records",
            about=About(
                "A table, before anything is made from it",
                "No game was played: records without close neighbours are those that a synthetic "
                "table gives away first.",
                "nobody attacked",
                "record-vulnerability",
            ),
            intro=f"{count(len(self))} records, {count(len(self.schema.columns))} columns. A score "
            f"is a record's mean distance to its {_nearest(self)} ({self.distance.title})."
            + f" Numbers are scaled over these and {count(self.n_reference)} further records."
            * bool(self.n_reference),
            origin=self.origin,
            verdict=_verdict(self),
            measures=(
                Measure(
                    name="vulnerability",
                    label=f"Mean distance of a record to its {_nearest(self)}",
                    found=mean,
                    shown=Shown(decimal(mean, 3)),
                    note=f"{self.distance.title}, mean over all {count(len(self))} records",
                    text="Computed, not estimated, so it has no interval.",
                    guessing="no guess is made",
                ),
                Measure(
                    name="highest",
                    label="Highest score",
                    found=highest,
                    shown=Shown(decimal(highest, 3)),
                    note=f"row {count(int(self.order[0]))}",
                    gate=False,
                ),
            ),
            sections=(
                Section(
                    "records",
                    "The most vulnerable records",
                    (
                        shown,
                        note(
                            f"{count(len(shown.rows))} of {count(len(self))} records are shown; "
                            "all are in records.parquet. A row is its position in the table, from "
                            "0."
                        ),
                    ),
                    "Records",
                    open=True,
                ),
                Section("columns", "What the columns were taken for", (kinds,), "Columns"),
            ),
            terms=_TERMS,
            worst=Worst("rows", tuple(str(row) for row in rows)),
            data={
                "n": len(self),
                "k": self.k,
                "distance": self.distance.name,
                "p": self.distance.p if isinstance(self.distance, Minkowski) else None,
                "n_reference": self.n_reference,
                "columns": {column.name: column.kind for column in self.schema.columns},
                "top": [{"row": row, "score": float(self.scores[row])} for row in rows],
                "mean_score": float(self.scores.mean()),
            },
            frames={
                "records.parquet": lambda: frame(
                    {"row": np.arange(len(self)), "score": self.scores, "rank": self.ranks}
                )
            },
            overview=(shown,),
            sources=_SOURCES,
        )

    def summary(self, top: int | None = None) -> str:
        """Return the most vulnerable records as plain text."""
        from privacygauge.report import render

        return render.summary(self.report(top))

    def to_json(self, top: int | None = None) -> str:
        """Return the text of ``report.json``: the most vulnerable records, and the options."""
        from privacygauge.report import render

        return render.as_json(self.report(top))


@dataclass(frozen=True, kw_only=True)
class VulnerableOptions(Options):
    """How the vulnerability of a record is measured."""

    k: int = keyword("Number of neighbours, in 1..n - 1.", default=5)
    distance: Distance | None = keyword(
        "`Cosine` or `Minkowski`; default: the cosine.", default=None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = "pg.distances.Cosine() or another of them"
        checks.kind(self.distance, "distance", "coordinates", usual)

    def run(
        self,
        data: Table | pd.DataFrame | str | Path | object,
        *,
        schema: Schema | None = None,
        continuous: Sequence[str] = (),
        categorical: Sequence[str] = (),
        drop: Sequence[str] = (),
        reference: Table | pd.DataFrame | str | Path | object | None = None,
        unit: ArrayLike | None = None,
        session: Session = Session("vulnerable", level=LEVEL),
    ) -> VulnerableRecords:
        """Return every record's vulnerability score: its mean distance to its nearest neighbours.

        Records without close neighbours are those that a synthetic table gives away first; they are
        the ones to attack in an audit.

        Parameters
        ----------
        data : Table, pandas or polars frame, str or Path
            The table to rank; a file is CSV or Parquet with a header.
        schema, continuous, categorical, drop
            As in `read_table`: by default, numbers are continuous and texts are categories.
        reference : Table, pandas or polars frame, str or Path, optional
            A further table, such as one that `data` is a part of: numbers are scaled to the range
            of both together. Its records are not neighbours.
        unit : array_like, shape (n,), optional
            The person behind each record, whose other records are not neighbours; default: each
            record is a person.
        session : Session, optional
            Kept in the report.

        Returns
        -------
        VulnerableRecords

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Examples
        --------
        >>> import pandas as pd
        >>> towns = pd.DataFrame({"town": ["A"] * 4 + ["B"], "works": list("yyynn")})
        >>> vulnerable_records(towns, k=2).scores
        array([0.  , 0.  , 0.  , 0.5 , 0.75])
        """
        table = read_table(
            data, schema=schema, continuous=continuous, categorical=categorical, drop=drop
        )
        beside = None if reference is None else read_beside(reference, table.schema, drop=drop)
        owner = owners(unit, None, len(table))
        found = vulnerability_of_records(
            table, self.k, distance=self.distance, reference=beside, unit=owner
        )
        notes = []
        if owner is not None:
            notes = [
                f"{len(owner):,} records belong to {checks.n_distinct(owner):,} people: a person's "
                "other records are no neighbours, and of each person the record of the highest "
                "score is listed"
            ]
        origin = session.origin("pandas", warnings=(*notes, *column_advice(table)))
        n_reference = 0 if beside is None else len(beside)
        return VulnerableRecords(**vars(found), origin=origin, n_reference=n_reference)


vulnerable_records = one_line(
    VulnerableOptions,
    VulnerableOptions.run,
    "vulnerable_records",
    command="vulnerable",
    without=("level", *KEEPING),
)


def _verdict(f: VulnerableRecords) -> Verdict:
    mean = float(f.scores.mean())
    n = min(len(f), _DRAWN)
    # Nearest: each mark is the score of a real record.
    drawn = np.quantile(f.scores, np.linspace(0, 1, n), method="nearest")
    told = "Each line is a record" if n == len(f) else f"Each line is one of {n} quantiles"
    return Verdict(
        grade=RANKED,
        scale=(RANKED,),
        headline=(
            f"No attack was played: {count(len(f))} records were ranked, the highest score is "
            f"{decimal(_highest_score(f), 3)}"
        ),
        sentences=(_FIRST,),
        unsaid=(
            "A ranking does not say that a record is given away, nor that one is safe: it says "
            "which records to attack first."
        ),
        advice=(
            "Audit the release with these records as targets: privacygauge synthetic --targets.",
        ),
        gauge=Gauge(
            f"Mean distance of a record to its {_nearest(f)}",
            Shown(decimal(mean, 3)),
            low=mean,
            value=mean,
            high=mean,
            limits=(0.0, _highest_score(f) or 1.0),
            ticks=(),
            rule=f"{told}, and the mark is their mean: on the left are records with close "
            "neighbours, on the right those that stand alone.",
            zones=(f"From 0 to {decimal(_highest_score(f), 3)}",),
            marks=tuple(drawn.tolist()),
        ),
    )


def _nearest(f: VulnerableRecords) -> str:
    of = "" if f.unit is None else " of other people"
    return f"nearest other{of}" if f.k == 1 else f"{count(f.k)} nearest others{of}"


def _highest_score(f: VulnerableRecords) -> float:
    return float(f.scores[f.order[0]])


_TERMS = {
    "Vulnerability score": "The mean distance of a record to the other records nearest to it: 0 "
    "where it has as many copies, and higher the farther it is from all others.",
    "Rank": "1 for the record of the highest score. Of equal scores the earlier row comes first.",
    "Cosine": "A distance that compares which categories agree, and the directions of the numbers, "
    "scaled to 0..1; at most 1.",
    "Minkowski": "A distance that compares the categories and the numbers, scaled to 0..1, value "
    "by value.",
}
