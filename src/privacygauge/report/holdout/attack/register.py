"""The line of attacks on a test set in a risk register."""

from __future__ import annotations

from dataclasses import replace

from privacygauge.register import line
from privacygauge.register.line import Kind, Told, Worst, judged, of_estimate
from privacygauge.register.reading import Columns, Part
from privacygauge.report.holdout.attack.verdict import LARGE, MODERATE, NONE, SMALL
from privacygauge.report.holdout.words import points_estimate
from privacygauge.report.numbers import count, percent, plain

SEVERITIES = {NONE: line.NOTHING, SMALL: line.SMALL, MODERATE: line.MODERATE, LARGE: line.GRAVE}
"""Of the grades."""


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report of attacks on a test set says."""
    found, guard = report.estimate("bias_corrected"), plain(report.text("guard"))
    accuracy, shown = report.estimate("accuracy"), points_estimate(found)
    return Told(
        f"A test set of {count(report.whole('n'))} hidden labels behind {guard}",
        f"Somebody submits {count(report.whole('queries'))} times, looks at the scores only, and "
        "tries to find the hidden labels: how much better does the last submission look than it "
        "is?",
        report.text("knowledge"),
        of_estimate(
            "bias",
            "Accuracy gained by the strongest attack",
            found,
            replace(shown, value=f"{shown.value} points"),
            f"0 points: {percent(report.number('baseline'))} of the labels right",
            level=report.level(),
        ),
        judged(report, SEVERITIES),
        Worst("labels", (), "labels are in no report"),
        {"test-accuracy": accuracy.value, "test-accuracy.low": accuracy.low},
    )


KIND = Kind(
    "attacks on a test set",
    "privacygauge.report.holdout.attack",
    frozenset({"bias_corrected", "honest_best_of_k", "trials"}),
    "test-set-reuse",
    tell,
)
"""Attacks on a test set."""
