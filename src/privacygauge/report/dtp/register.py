"""The line of an audit of differential training privacy in a risk register."""

from __future__ import annotations

import math

from privacygauge.classifier.dtp.removal import LIMIT
from privacygauge.register.line import (
    GRAVE,
    NOTHING,
    SMALL,
    Judged,
    Kind,
    Number,
    Told,
    named,
    severity_of,
)
from privacygauge.register.reading import Columns, Part
from privacygauge.report.dtp.verdict import ABOVE, CERTAIN, FACTOR, SEEN
from privacygauge.report.numbers import Shown, count, fixed, rounded_up

SEVERITIES = {ABOVE: GRAVE, SEEN: SMALL, CERTAIN: NOTHING}
"""Of the grades."""


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report of differential training privacy says."""
    riskiest = report.parts("pdtp", "riskiest")
    return Told(
        f"A classifier: {report.text('model')}",
        "A record is left out of the training data, and the model's answers with and without it "
        "are compared: how much does a single person's record change them?",
        "may ask the model anything, and knows all other records",
        _number(report),
        _judged(report),
        named("records", tuple(part.value.get("id") for part in riskiest)),
        _further(report),
    )


def _number(report: Part) -> Number:
    low, high = report.or_infinite("dtp", "lower"), report.or_infinite("dtp", "upper")
    known = "" if math.isinf(high) else f", at most {rounded_up(high)} for any query"
    shown = fixed(low, 2) if low == high else f"at least {fixed(low, 2)}{known}"
    n, of = report.whole("n_measured"), report.whole("n_train")
    measured = f"{count(n)} records" if n == of else f"{count(n)} of {count(of)} records"
    return Number(
        "dtp",
        "Largest log ratio of an answer with and without a record",
        low,
        Shown(shown),
        f"0 where no record changes anything; the limit is {fixed(LIMIT, 0)}, a factor of {FACTOR}",
        f"computed for {measured}, so it has no interval",
    )


def _judged(report: Part) -> Judged:
    grade = CERTAIN if report.flag("certified") else SEEN
    if report.text("verdict") == "do not publish":
        grade = ABOVE
    headline, *others = report.texts("sentences") or ("",)
    unsaid = others[-1] if others else ""
    severity = severity_of(report, grade, SEVERITIES)
    return Judged(severity, grade, headline, unsaid, report.texts("advice"))


def _further(report: Part) -> dict[str, float]:
    return {
        "dtp-upper": report.or_infinite("dtp", "upper"),
        "pdtp": report.or_infinite("pdtp", "max"),
    }


KIND = Kind(
    "differential training privacy",
    "privacygauge.report.dtp",
    frozenset({"pdtp", "dtp"}),
    "differential-training-privacy",
    tell,
)
"""Audits of differential training privacy."""
