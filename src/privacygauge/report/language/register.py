"""The line of an audit of a language model in a risk register."""

from __future__ import annotations

from privacygauge.register.attacks import NO_FILE, accuracy_of, further, ordered
from privacygauge.register.line import Kind, Number, Told, Worst, judged, named
from privacygauge.register.reading import Columns, Part


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report on a language model says."""
    game = report.part("game")
    return Told(
        "A language model",
        f"Somebody who holds a text about a person guesses: {game.text('question')}",
        game.text("adversary"),
        _number(report),
        judged(report),
        _worst(report, columns),
        further(report),
    )


def _number(report: Part) -> Number:
    level, samples = report.level(), report.part("headline")
    if not _by_patient(report):
        return accuracy_of(samples, level)
    # The verdict speaks of the graver of the two units, so either may err at the audit's level.
    by_patient = report.text("verdict", "headline").endswith("patient by patient")
    unit = report.part("patients", "headline") if by_patient else samples
    return accuracy_of(unit, level, looks=2)


def _by_patient(report: Part) -> bool:
    return "skipped" not in report.part("patients")


def _worst(report: Part, columns: Columns) -> Worst:
    if _by_patient(report):
        worst = report.parts("patients", "worst")
        return named("patients", tuple(part.value.get("group") for part in worst))
    found = columns(("sample", "score", "member"))
    if found is None:
        return Worst("texts", (), NO_FILE)
    return ordered("texts", found, "sample", "score")


KIND = Kind(
    "language model",
    "privacygauge.report.language",
    frozenset({"controls", "patients"}),
    "membership-inference",
    tell,
)
"""Audits of a language model."""
