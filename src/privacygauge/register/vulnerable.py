"""The line of a ranking of a table's records by how far they are from all others."""

from __future__ import annotations

from privacygauge.register.line import UNJUDGED, Judged, Kind, Number, Told, named
from privacygauge.register.reading import Columns, Part
from privacygauge.report.numbers import Shown, count, fixed


def tell(report: Part, columns: Columns) -> Told:
    """Return what a ranking of vulnerable records says: which to attack first, and no verdict."""
    top, n, k = report.parts("top"), report.whole("n"), report.whole("k")
    mean = report.number("mean_score")
    number = Number(
        "vulnerability",
        f"Mean distance of a record to its {count(k)} nearest others",
        mean,
        Shown(fixed(mean, 3)),
        "no guess is made",
        f"computed for all {count(n)} records, so it has no interval",
    )
    highest = fixed(top[0].number("score"), 3) if top else "-"
    verdict = Judged(
        UNJUDGED,
        "ranking only",
        f"No attack was played: {count(n)} records were ranked, the highest score is {highest}",
        "A ranking does not say that a record is given away, nor that one is safe: it says which "
        "records to attack first.",
        ("Audit the release with these records as targets: privacygauge synthetic --targets.",),
    )
    return Told(
        "A table, before anything is made from it",
        "No game was played: records without close neighbours are those that a synthetic table "
        "gives away first.",
        "nobody attacked",
        number,
        verdict,
        named("rows", tuple(part.whole("row") for part in top)),
    )


KIND = Kind(
    "vulnerable records",
    "privacygauge.synthetic.vulnerability",
    frozenset({"top", "distance"}),
    "record-vulnerability",
    tell,
)
"""Rankings of a table's records."""
