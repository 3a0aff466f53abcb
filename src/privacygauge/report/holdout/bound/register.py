"""The line of bounds on the reuse of a test set in a risk register."""

from __future__ import annotations

from privacygauge.register import line
from privacygauge.register.line import Kind, Number, Told, Worst, judged
from privacygauge.register.reading import Columns, Part
from privacygauge.report.holdout.bound.verdict import OPEN, SAFE, SOUND, UNKNOWN, WORN
from privacygauge.report.holdout.words import points
from privacygauge.report.numbers import Shown, count, plain

SEVERITIES = {
    SAFE: line.NOTHING,
    SOUND: line.SMALL,
    OPEN: line.MODERATE,
    WORN: line.GRAVE,
    UNKNOWN: line.UNTOLD,
}
"""Of the grades."""


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report of bounds on submissions says."""
    return Told(
        f"A test set of {count(report.whole('n'))} hidden labels behind "
        f"{plain(report.text('guard'))}, by formulas",
        f"How much better can the best of {count(report.whole('queries'))} submissions look than "
        "it is, by luck or by an attack on the scores?",
        "scores of submissions, and no model",
        _number(report),
        judged(report, SEVERITIES),
        Worst("labels", (), "no labels were looked at"),
        {"honest": report.number("honest_best_of_k")},
    )


def _number(report: Part) -> Number:
    known = "strongest" in report
    bias = report.number("strongest", "bias") if known else report.number("honest_best_of_k")
    return Number(
        "bias",
        f"Accuracy that {'the strongest known attack' if known else 'luck'} gains",
        bias,
        Shown(f"{points(max(0.0, bias))} points"),
        f"0 points; {points(report.number('allowed_bias'))} are allowed",
        "a formula, so it has no interval",
    )


KIND = Kind(
    "bounds on a test set",
    "privacygauge.report.holdout.bound",
    frozenset({"transcript_nats", "allowed_bias"}),
    "test-set-reuse",
    tell,
)
"""Bounds on the reuse of a test set."""
