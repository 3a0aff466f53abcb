"""What a ranking of vulnerable records says, as a report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privacygauge.audits.vulnerable.play import VulnerableRecords
from privacygauge.report.blocks import columns, note, table
from privacygauge.report.numbers import Shown, count, fixed
from privacygauge.report.values import (
    About,
    Gauge,
    Grade,
    Json,
    Measure,
    Report,
    Section,
    Severity,
    Table,
    Text,
    Verdict,
    Worst,
)
from privacygauge.synthetic.distance import Minkowski

RANKED = Grade("ranking only", Severity.UNJUDGED)
"""The one grade: no attack was played."""

_DRAWN = 100
"""Number of records that are drawn at most."""
_FIRST = (
    "Records without close neighbours are those that a synthetic table gives away first: audit a "
    "release with these records as targets."
)

_SOURCES = (
    "Meeus, Guépin, Crețu and de Montjoye, Achilles' Heels: Vulnerable Record Identification in "
    "Synthetic Data Publishing (2023), section 4."
)


def report(f: VulnerableRecords, top: int) -> Report:
    """Return everything that there is to say, as plain values; `top` records are listed."""
    shown = _top(f, top)
    return Report(
        "vulnerable",
        "Ranking of vulnerable records",
        about=About(
            "A table, before anything is made from it",
            "No game was played: records without close neighbours are those that a synthetic table "
            "gives away first.",
            "nobody attacked",
            "record-vulnerability",
        ),
        intro=f"{count(len(f))} records, {count(len(f.schema.columns))} columns. A score is a "
        f"record's mean distance to its {_nearest(f)} ({f.distance.title})."
        + f" Numbers are scaled over these and {count(f.n_reference)} further records."
        * bool(f.n_reference),
        origin=f.origin,
        verdict=_verdict(f),
        measures=tuple(_measures(f)),
        sections=(
            Section("records", "The most vulnerable records", _records(f, shown), "Records"),
            Section("columns", "What the columns were taken for", (_columns(f),), "Columns"),
        ),
        terms=_TERMS,
        worst=Worst("rows", tuple(str(row) for row in f.top(top).tolist())),
        data=_data(f, top),
        frames={"records.parquet": f.to_frame},
        overview=(shown,),
        sources=_SOURCES,
    )


def _verdict(f: VulnerableRecords) -> Verdict:
    return Verdict(
        RANKED,
        (RANKED,),
        f"No attack was played: {count(len(f))} records were ranked, the highest score is "
        f"{fixed(_highest(f), 3)}",
        (_FIRST,),
        "A ranking does not say that a record is given away, nor that one is safe: it says which "
        "records to attack first.",
        ("Audit the release with these records as targets: privacygauge synthetic --targets.",),
        _gauge(f),
    )


def _gauge(f: VulnerableRecords) -> Gauge:
    """Return the records by their scores."""
    mean, n = float(f.scores.mean()), min(len(f), _DRAWN)
    drawn = np.quantile(f.scores, np.linspace(0, 1, n), method="nearest")
    told = "Each line is a record" if n == len(f) else f"Each line is one of {n} quantiles"
    return Gauge(
        f"Mean distance of a record to its {_nearest(f)}",
        Shown(fixed(mean, 3)),
        low=mean,
        value=mean,
        high=mean,
        limits=(0.0, _highest(f) or 1.0),
        ticks=(),
        rule=f"{told}, and the mark is their mean: on the left are records with close neighbours, "
        "on the right those that stand alone.",
        zones=(f"From 0 to {fixed(_highest(f), 3)}",),
        marks=tuple(drawn.tolist()),
    )


def _nearest(f: VulnerableRecords) -> str:
    of = "" if f.unit is None else " of other people"
    return f"nearest other{of}" if f.k == 1 else f"{count(f.k)} nearest others{of}"


def _highest(f: VulnerableRecords) -> float:
    return float(f.scores[f.order[0]])


def _measures(f: VulnerableRecords) -> Iterator[Measure]:
    mean, highest = float(f.scores.mean()), _highest(f)
    yield Measure(
        "vulnerability",
        f"Mean distance of a record to its {_nearest(f)}",
        mean,
        Shown(fixed(mean, 3)),
        f"{f.distance.title}, mean over all {count(len(f))} records",
        "Computed, not estimated, so it has no interval.",
        "no guess is made",
    )
    shown, row = Shown(fixed(highest, 3)), count(int(f.order[0]))
    yield Measure("highest", "Highest score", highest, shown, f"row {row}", gate=False)


def _records(f: VulnerableRecords, shown: Table) -> tuple[Table | Text, ...]:
    told = (
        f"{count(len(shown.rows))} of {count(len(f))} records are shown; all are in "
        "records.parquet. A row is its position in the table, from 0."
    )
    return (shown, note(told))


def _top(f: VulnerableRecords, top: int) -> Table:
    rows = f.top(top).tolist()
    return Table(
        "records",
        "Records by falling score",
        columns("Row", "Rank", "Score"),
        tuple((str(row), count(int(f.ranks[row])), fixed(f.scores[row], 4)) for row in rows),
    )


def _columns(f: VulnerableRecords) -> Table:
    found = [{"Column": column.name, "Taken for": column.kind} for column in f.schema.columns]
    return table("columns", "Columns", found, prose=("Taken for",))


_TERMS = {
    "Vulnerability score": "The mean distance of a record to the other records nearest to it: 0 "
    "where it has as many copies, and higher the farther it is from all others.",
    "Rank": "1 for the record of the highest score. Of equal scores the earlier row comes first.",
    "Cosine": "A distance that compares which categories agree, and the directions of the numbers, "
    "scaled to 0..1; at most 1.",
    "Minkowski": "A distance that compares the categories and the numbers, scaled to 0..1, value "
    "by value.",
}


def _data(f: VulnerableRecords, top: int) -> dict[str, Json]:
    return {
        "n": len(f),
        "k": f.k,
        "distance": f.distance.name,
        "p": f.distance.p if isinstance(f.distance, Minkowski) else None,
        "n_reference": f.n_reference,
        "columns": {column.name: column.kind for column in f.schema.columns},
        "top": [{"row": row, "score": float(f.scores[row])} for row in f.top(top).tolist()],
        "mean_score": float(f.scores.mean()),
    }
