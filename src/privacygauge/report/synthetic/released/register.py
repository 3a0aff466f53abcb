"""The line of an audit of a released table in a risk register."""

from __future__ import annotations

from privacygauge.core.estimate import Estimate
from privacygauge.register.attacks import NO_FILE, ordered
from privacygauge.register.line import Kind, Number, Told, Worst, judged, of_estimate
from privacygauge.register.reading import Columns, Part
from privacygauge.report.numbers import count, percent_estimate

_BEYOND = "0%: nothing is true of the real records more often than of other people"


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report on a released table says."""
    played = "skipped" not in report.part("game")
    return Told(
        f"A released table of {count(report.whole('n_synthetic'))} synthetic records",
        "Somebody who has the released table tries to tell who was among the real records, to "
        "single people out, to link what is known about them, and to infer the rest.",
        report.text("game", "adversary") if played else "sees the released table",
        _number(report),
        judged(report),
        _worst(report, columns) if played else Worst("records", (), "there was no holdout"),
        _further(report, played),
    )


def _number(report: Part) -> Number:
    found = _beyond(report)
    if not found:
        return _copies(report)
    label, beyond = max(found.items(), key=lambda pair: (pair[1].low, pair[1].value))
    # The attacks on membership, and all the others together, stand at the audit's level each.
    looks = 2 if "headline" in report else 1
    level = report.level()
    shown = percent_estimate(beyond)
    return of_estimate("beyond", label, beyond, shown, _BEYOND, level=level, looks=looks)


def _beyond(report: Part) -> dict[str, Estimate]:
    """Return what goes beyond the control, by what it is: all on the scale of an advantage."""
    found = {}
    if report.part("copies").value.get("beyond") is not None:
        found["Real records copied, beyond the holdout's"] = report.share("copies", "beyond")
    if "headline" in report:
        found["Advantage of the strongest membership attack"] = _advantage(report)
    if "furthest" in report:
        name = report.text("furthest", "risk")
        found[f"Success at {name}, beyond the holdout's"] = report.share("furthest", "beyond")
    return found


def _advantage(report: Part) -> Estimate:
    x = report.share("headline", "accuracy")
    return Estimate(2 * x.value - 1, 2 * x.low - 1, 2 * x.high - 1, x.level, x.n, x.method)


def _copies(report: Part) -> Number:
    """Return the share of copies, of which nothing says how many chance would make."""
    fact = report.parts("copies", "facts")[0]
    found = fact.share("estimate")
    guessing = "not known: without a holdout there is nothing to compare with"
    shown, level = percent_estimate(found), report.level()
    return of_estimate("copies", fact.text("label"), found, shown, guessing, level=level)


def _worst(report: Part, columns: Columns) -> Worst:
    by = f"score:{report.text('headline', 'attack')}"
    found = columns(("id", "member", by))
    return Worst("records", (), NO_FILE) if found is None else ordered("records", found, "id", by)


def _further(report: Part, played: bool) -> dict[str, float]:
    if not played:
        return {}
    accuracy, epsilon = report.share("headline", "accuracy"), report.estimate("headline", "epsilon")
    return {
        "accuracy": accuracy.value,
        "accuracy.low": accuracy.low,
        "epsilon": epsilon.low,
    }


KIND = Kind(
    "released table",
    "privacygauge.report.synthetic.released",
    frozenset({"n_synthetic", "furthest"}),
    "membership-inference",
    tell,
)
"""Audits of a table that was released."""
