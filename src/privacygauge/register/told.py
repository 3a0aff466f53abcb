"""The line of any report of the schema ``privacygauge/2``: its kind need not be known."""

from __future__ import annotations

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.register.line import Judged, Kind, Number, Told, Worst, named
from privacygauge.register.reading import Columns, Part
from privacygauge.report.numbers import Shown
from privacygauge.report.values import Severity


def kind_from(report: Part) -> Kind:
    """Return the kind that the report names."""
    name = report.text("kind").replace("-", " ")
    return Kind(name, "", frozenset(), report.text("about", "task"), tell)


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report says."""
    about = report.part("about")
    gated = [number for number in report.parts("numbers") if number.flag("gate")]
    if not gated:
        raise InputError(f"{report.where}: no number to hold a release to: write that report again")
    return Told(
        about.text("audited"),
        about.text("game"),
        about.text("knowledge"),
        _number(gated[0]),
        _judged(report.part("verdict")),
        _worst(report.part("worst")),
        _further(report, gated),
    )


def _number(part: Part) -> Number:
    estimate = _estimate(part)
    shown = part.part("shown")
    low, _, high = shown.text("interval").partition(" to ")
    return Number(
        part.text("name"),
        part.text("label"),
        part.or_infinite("value"),
        Shown(shown.text("value"), low, high),
        part.text("guessing"),
        "computed, not estimated" if estimate is None else estimate.method,
        estimate,
        part.number("level") if "level" in part else None,
        part.whole("looks"),
    )


def _estimate(part: Part) -> Estimate | None:
    if "estimate" not in part or not _computed(part):
        return None
    return part.estimate("estimate")


def _judged(verdict: Part) -> Judged:
    severity = verdict.text("severity")
    if severity not in set(Severity):
        known = ", ".join(Severity)
        raise InputError(f"{verdict.where}: severity must be one of {known}, got {severity!r}")
    return Judged(
        severity,
        verdict.text("grade"),
        verdict.text("headline"),
        verdict.text("unsaid"),
        verdict.texts("advice"),
    )


def _worst(worst: Part) -> Worst:
    ids = worst.texts("ids")
    return (
        named(worst.text("what"), ids)
        if ids
        else Worst(worst.text("what"), (), worst.text("reason"))
    )


def _further(report: Part, gated: list[Part]) -> dict[str, float]:
    """Return all numbers that a release can be held to, but for the first and its lower end."""
    measures = report.part("measures")
    found: dict[str, float] = {}
    for number in gated[1:]:
        name = number.text("name")
        if _computed(number):
            found[name] = number.or_infinite("value")
        if f"{name}.low" in measures:
            found[f"{name}.low"] = measures.number(f"{name}.low")
    return found


def _computed(number: Part) -> bool:
    return "estimate" not in number or "skipped" not in number.part("estimate")
