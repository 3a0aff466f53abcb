"""What an audit of a classifier says of the privacy risk score."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.classifier import plots
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.risk import Risk
from privacygauge.report.blocks import note, table, text
from privacygauge.report.document import estimate_dict, picked, values_of
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal_estimate,
    fixed,
    key,
    percent,
    percent_estimate,
    rate,
)
from privacygauge.report.values import Block, Folded, Json, Measure, Plot, Section, Table

TERMS = (
    (
        "Privacy risk score",
        "The probability that a record is a member, given what the adversary sees, at even odds "
        "beforehand.",
    ),
    (
        "Calibration error",
        "How far risk scores are from the share of members that they stand for. Compare it with "
        "the error that chance alone makes.",
    ),
    ("Generalisation error", "How much better a model does on its members than on new records."),
)
"""Words about the risk score, explained."""

_CLASSES = 60
"""Number of classes that are shown, those of the highest risk."""


def measure(risk: Risk | Skipped) -> Measure:
    """Return the members' mean risk."""
    label = "Privacy risk of a member"
    if isinstance(risk, Skipped):
        return Measure("risk", label, risk, Shown(DASH), risk.reason, guessing="50%", card=False)
    reliability = risk.reliability
    return Measure(
        "risk",
        label,
        risk.mean,
        percent_estimate(risk.mean),
        f"calibration error {percent(reliability.rmse.value)}, by chance alone "
        f"{percent(reliability.noise)}",
        "The mean probability of being a member, at even odds beforehand. Guessing gives 50%.",
        "50%",
    )


def section(risk: Risk | Skipped) -> Section:
    """Return the section about the risk of single records."""
    found = [text(f"Not estimated: {risk.reason}.")] if isinstance(risk, Skipped) else _blocks(risk)
    return Section("risk", "Privacy risk of single records", tuple(found), "Privacy risk")


def as_data(risk: Risk | Skipped) -> Json:
    """Return the key ``risk`` of ``report.json``."""
    if isinstance(risk, Skipped):
        return {"skipped": risk.reason}
    return {
        **picked(risk, "estimator", "mean"),
        **picked(risk.reliability, "rmse", "rmse_of_bins", "noise", "bins"),
        "cuts": values_of(risk.cuts),
        "excess": {key(prior): estimate_dict(x) for prior, x in risk.excess},
        **picked(risk, "classes", "correlation", "notes"),
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
    yield table(
        "cuts",
        "Calling every record from a risk on a member",
        [
            {
                "Risk at least": fixed(row.cut, 1),
                "Precision": percent_estimate(row.precision, 1),
                "Recall": percent_estimate(row.recall, 1),
            }
            for row in risk.cuts
        ],
    )
    yield table(
        "excess",
        "What the release adds to a prior belief",
        [
            {"Belief before": rate(prior), "Added by the release": percent_estimate(excess, 1)}
            for prior, excess in risk.excess
        ],
        "Mean over members.",
    )
    if risk.classes:
        yield Folded("Class by class", (_classes(risk),))


def _plots(risk: Risk) -> Iterator[Plot]:
    scores = risk.member_scores
    low, middle, high = (fixed(scores[int(q * (len(scores) - 1))], 2) for q in (0.1, 0.5, 0.9))
    yield Plot(
        "risk-cdf",
        "Risk of the members",
        "A curve that hugs the right edge means that most members are at high risk.",
        f"A tenth of the members has a risk of at most {low}, half of at most {middle}, nine "
        f"tenths of at most {high}.",
        lambda: plots.plot_risk_cdf(risk),
        wide=False,
    )
    bins = "; ".join(
        f"score {fixed(b.mean_score, 2)}: {percent_estimate(b.fraction)} members"
        for b in risk.reliability.bins
    )
    yield Plot(
        "reliability",
        "Is the risk score right?",
        "Of the records with a risk near 0.8, about 80% should be members. Bars are intervals.",
        f"{bins}. Root-mean-square error {percent(risk.reliability.rmse.value)}.",
        lambda: plots.plot_reliability(risk),
        wide=False,
    )
    if risk.classes:
        yield Plot(
            "classes",
            "Risk and overfitting, class by class",
            "A point is a class. Right: the model does worse on new records of the class.",
            f"{len(risk.classes)} classes; Pearson's correlation of mean risk and generalisation "
            f"error is {decimal_estimate(risk.correlation, 2)}.",
            lambda: plots.plot_classes(risk),
        )


def _classes(risk: Risk) -> Table:
    shown = sorted(risk.classes, key=lambda row: -row.mean_risk)[:_CLASSES]
    return table(
        "classes",
        "Classes by falling risk",
        [
            {
                "Class": str(row.label),
                "Members": count(row.n_in),
                "Non-members": count(row.n_out),
                "Mean risk of members": percent(row.mean_risk),
                "Generalisation error": percent(row.generalisation_error),
            }
            for row in shown
        ],
        f"{count(len(shown))} of {count(len(risk.classes))} classes.",
    )
