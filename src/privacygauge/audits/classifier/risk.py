"""The privacy risk score in the report of a classifier, and its plots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.risk import Risk, risk_cdf, spaced_classes
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.document import estimate_dict, pick_values, values_of
from privacygauge.report.numbers import (
    count,
    decimal,
    decimal_estimate,
    key,
    percent,
    percent_estimate,
    rate,
)
from privacygauge.report.values import (
    Axes,
    Block,
    FoldedBlocks,
    Json,
    Measure,
    Plot,
    Rows,
    Section,
    Table,
    note,
    table,
    text,
)

TERMS = {
    "Privacy risk score": "The probability that a record is a member, given what the adversary "
    "sees, at even odds beforehand.",
    "Calibration error": "How far risk scores are from the share of members that they stand for. "
    "Compare it with the error that chance alone makes.",
    "Generalisation error": "How much better a model does on its members than on new records.",
}
"""Explanations of the terms that concern the risk score."""

_CLASSES = 60
"""Largest number of classes shown, those of the highest risk."""


def mean_risk_measure(risk: Risk) -> Measure:
    """Return the members' mean risk, as a number of the report."""
    label = "Privacy risk of a member"
    error = percent(risk.reliability.rmse.value)
    noise = percent(risk.reliability.noise)
    told = "The mean probability of being a member, at even odds beforehand. Guessing gives 50%."
    note = f"calibration error {error}, by chance alone {noise}"
    shown = percent_estimate(risk.mean)
    return Measure(
        name="risk", label=label, found=risk.mean, shown=shown, note=note, text=told, guessing="50%"
    )


def section(risk: Risk) -> Section:
    """Return the section about the risk of single records."""
    title = "Privacy risk of single records"
    return Section("risk", title, tuple(_blocks(risk)), "Privacy risk")


def as_data(risk: Risk) -> Json:
    """Return the key ``risk`` of ``report.json``."""
    return {
        **pick_values(risk, "estimator", "mean"),
        **pick_values(risk.reliability, "rmse", "rmse_of_bins", "noise", "bins"),
        "cuts": values_of(risk.cuts),
        "excess": {key(prior): estimate_dict(x) for prior, x in risk.excess},
        **pick_values(risk, "classes", "correlation", "notes"),
    }


def _blocks(risk: Risk) -> Iterator[Block]:
    reliability = risk.reliability
    yield text(
        "The privacy risk score is the probability that a record is a member, given what the "
        f"adversary sees and even odds beforehand. Estimator: {risk.estimator}. Members score "
        f"{percent_estimate(risk.mean)} on average; records that give nothing away score 50%.",
        f"Root-mean-square calibration error: {percent_estimate(reliability.rmse)}, each bin "
        f"weighted by its records, or {percent(reliability.rmse_of_bins)} with equal weights. A "
        f"perfectly calibrated score would show {percent(reliability.noise)} on so many records, "
        "by chance alone.",
    )
    if risk.notes:
        yield note(*risk.notes)
    yield from _plots(risk)
    cuts: Rows = [
        {
            "Risk at least": decimal(row.cut, 1),
            "Precision": percent_estimate(row.precision, 1),
            "Recall": percent_estimate(row.recall, 1),
        }
        for row in risk.cuts
    ]
    yield table("cuts", "Calling every record from a risk on a member", cuts)
    added: Rows = [
        {"Belief before": rate(prior), "Added by the release": percent_estimate(excess, 1)}
        for prior, excess in risk.excess
    ]
    title = "What the release adds to a prior belief"
    yield table("excess", title, added, "Mean over members.")
    if risk.classes:
        yield FoldedBlocks("Class by class", (_classes(risk),))


def _plots(risk: Risk) -> Iterator[Plot]:
    scores = risk.member_scores
    # Scores are ascending: deciles of the members by place.
    low, middle, high = (decimal(scores[int(q * (len(scores) - 1))], 2) for q in (0.1, 0.5, 0.9))
    caption = "A curve that hugs the right edge means that most members are at high risk."
    told = (
        f"A tenth of the members has a risk of at most {low}, half of at most {middle}, nine "
        f"tenths of at most {high}."
    )
    draw = partial(plot_risk_cdf, risk)
    yield Plot(
        "risk-cdf", "Risk of the members", caption=caption, words=told, draw=draw, wide=False
    )
    bins = "; ".join(
        f"score {decimal(b.mean_score, 2)}: {percent_estimate(b.fraction)} members"
        for b in risk.reliability.bins
    )
    told = f"{bins}. Root-mean-square error {percent(risk.reliability.rmse.value)}."
    caption = (
        "Of the records with a risk near 0.8, about 80% should be members. Bars are intervals."
    )
    title = "Is the risk score right?"
    draw = partial(plot_reliability, risk)
    yield Plot("reliability", title, caption=caption, words=told, draw=draw, wide=False)
    if risk.classes:
        told = (
            f"{len(risk.classes)} classes; Pearson's correlation of mean risk and generalisation "
            f"error is {decimal_estimate(risk.correlation, 2)}."
        )
        caption = "A point is a class. Right: the model does worse on new records of the class."
        title = "Risk and overfitting, class by class"
        yield Plot("classes", title, caption=caption, words=told, draw=lambda: plot_classes(risk))


def _classes(risk: Risk) -> Table:
    rows = [
        {
            "Class": str(row.label),
            "Members": count(row.n_in),
            "Non-members": count(row.n_out),
            "Mean risk of members": percent(row.mean_risk),
            "Generalisation error": percent(row.generalisation_error),
        }
        for row in sorted(risk.classes, key=lambda row: -row.mean_risk)[:_CLASSES]
    ]
    some = f"{count(len(rows))} of {count(len(risk.classes))} classes."
    return table("classes", "Classes by falling risk", rows, some)


def plot_risk_cdf(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the members' risk; numbers: `risk_cdf`.

    Song & Mittal (2021), Figure 5.
    """
    ax = axes(ax)
    cdf = risk_cdf(risk)
    # The curve runs from 0 to 1, though no member may have such a score.
    x = np.concatenate([[0.0], cdf.risk, [1.0]])
    y = np.concatenate([[0.0], cdf.share, [1.0]]) * 100
    ax.plot(x, y, color=SERIES[0], lw=1.8, drawstyle="steps-post")
    ax.axvline(0.5, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.annotate("guessing", (0.5, 97), (-4, 0), textcoords="offset points", ha="right", va="top",
                color=INK, fontsize=8)  # fmt: skip
    ax.set(xlabel="Privacy risk score", ylabel="Members with at most this risk, %")
    ax.set(xlim=(0, 1), ylim=(0, 101))
    return ax


def plot_reliability(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw the realised share of members against the score; numbers: ``risk.reliability.bins``.

    Song & Mittal (2021), Figure 3. Bars are intervals of the share; the numbers count the records
    in each bin.
    """
    ax = axes(ax)
    bins = risk.reliability.bins
    ax.plot([0, 1], [0, 1], color=OTHER, lw=0.9, ls=(0, (1, 2)), zorder=1, label="calibrated")
    x = [b.mean_score for b in bins]
    ax.vlines(x, [b.fraction.low for b in bins], [b.fraction.high for b in bins],
              color=SERIES[0], lw=1.6)  # fmt: skip
    ax.plot(x, [b.fraction.value for b in bins], color=SERIES[0], lw=1.0, marker="o", ms=4,
            label="realised, with records in the bin")  # fmt: skip
    for b in bins:
        # On the side of the bar that the diagonal leaves free.
        left = b.mean_score < 0.5
        end, beside = (b.fraction.high, (-2, 1)) if left else (b.fraction.low, (3, -1))
        across, up = ("right", "bottom") if left else ("left", "top")
        ax.annotate(count(b.n), (b.mean_score, end), beside, textcoords="offset points",
                    ha=across, va=up, fontsize=7.5, color=INK)  # fmt: skip
    ax.set(xlabel="Privacy risk score", ylabel="Realised share of members")
    ax.set(xlim=(-0.04, 1.06), ylim=(-0.02, 1.04))
    legend(ax, loc="upper left")
    return ax


def plot_classes(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw each class's mean risk against its generalisation error; numbers: ``risk.classes``.

    Song & Mittal (2021), Figure 8. Up to three classes of the highest risk are labelled. At least
    one class must have both members and non-members.
    """
    if not risk.classes:
        raise InputError("no class has both members and non-members: nothing to draw")
    ax = axes(ax)
    x = [row.generalisation_error for row in risk.classes]
    y = [row.mean_risk for row in risk.classes]
    ax.scatter(x, y, s=22, color=SERIES[0], alpha=0.75, lw=0)
    for row in spaced_classes(risk.classes)[:3]:
        ax.annotate(str(row.label), (row.generalisation_error, row.mean_risk), (-5, 2),
                    textcoords="offset points", ha="right", fontsize=8, color=INK)  # fmt: skip
    ax.set(xlabel="Generalisation error of the class", ylabel="Mean risk of its members")
    ax.margins(0.1)
    if not isinstance(risk.correlation, Skipped):
        told = f"Pearson {decimal_estimate(risk.correlation, 2)}"
        ax.set_title(told, fontsize=8.5, loc="left", color=INK)
    return ax
