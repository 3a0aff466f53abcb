"""The line of an audit of a generator in a risk register."""

from __future__ import annotations

from privacygauge.register.line import Kind, Told, Worst, judged, named, of_estimate
from privacygauge.register.reading import Columns, Part
from privacygauge.report.numbers import decimal_estimate


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report on a generator of synthetic tables says."""
    game, found = report.part("game"), report.share("headline", "auc")
    epsilon = report.estimate("headline", "epsilon").low
    worst = report.share("headline", "target", "auc")
    return Told(
        f"A generator of synthetic tables: {report.text('generator', 'name')}",
        f"Somebody who holds a record guesses: {game.text('question')}",
        game.text("adversary"),
        of_estimate(
            "auc",
            "How often a table made with the record is told from one made without it (mean AUC)",
            found,
            decimal_estimate(found),
            "0.5",
            level=report.level(),
        ),
        judged(report),
        _worst(report),
        {"worst": worst.value, "worst.low": worst.low, "epsilon": epsilon},
    )


def _worst(report: Part) -> Worst:
    title, targets = report.text("headline", "attack"), report.parts("targets")
    # Sorting is stable: of ties the earlier target comes first, as on the report's page.
    ordered = sorted(targets, key=lambda t: -t.number("attacks", title, "auc", "value"))
    return named("records", tuple(target.value.get("id") for target in ordered))


KIND = Kind(
    "synthetic tables",
    "privacygauge.report.synthetic",
    frozenset({"generator", "targets"}),
    "membership-inference",
    tell,
)
"""Audits of a generator."""
