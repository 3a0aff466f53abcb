"""What an audit of a classifier says of the privacy risk score."""

from __future__ import annotations

from dataclasses import asdict

from privacygauge.audits.classifier import plots
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.risk import Risk
from privacygauge.report.document import estimate_dict
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
from privacygauge.report.values import (
    Block,
    Column,
    Folded,
    Json,
    Measure,
    Plot,
    Section,
    Table,
    Text,
    Tone,
)

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
    found = _not_estimated(risk) if isinstance(risk, Skipped) else _blocks(risk)
    return Section("risk", "Privacy risk of single records", found, "Privacy risk")


def as_data(risk: Risk | Skipped) -> Json:
    """Return the key ``risk`` of ``report.json``."""
    if isinstance(risk, Skipped):
        return {"skipped": risk.reason}
    reliability = risk.reliability
    return {
        "estimator": risk.estimator,
        "mean": estimate_dict(risk.mean),
        "rmse": estimate_dict(reliability.rmse),
        "rmse_of_bins": float(reliability.rmse_of_bins),
        "noise": float(reliability.noise),
        "bins": [
            {
                "low": float(b.low),
                "high": float(b.high),
                "n": b.n,
                "mean_score": float(b.mean_score),
                "fraction": estimate_dict(b.fraction),
            }
            for b in reliability.bins
        ],
        "cuts": [
            {
                "cut": float(row.cut),
                "precision": estimate_dict(row.precision),
                "recall": estimate_dict(row.recall),
            }
            for row in risk.cuts
        ],
        "excess": {key(prior): estimate_dict(x) for prior, x in risk.excess},
        "classes": [asdict(row) for row in risk.classes],
        "correlation": estimate_dict(risk.correlation),
        "notes": list(risk.notes),
    }


def _not_estimated(risk: Skipped) -> tuple[Block, ...]:
    return (Text((f"Not estimated: {risk.reason}.",)),)


def _blocks(risk: Risk) -> tuple[Block, ...]:
    reliability = risk.reliability
    return (
        Text(
            (
                "The privacy risk score is the probability that a record is a member, given what "
                f"the adversary sees and even odds beforehand. Estimator: {risk.estimator}. "
                f"Members score {percent_estimate(risk.mean)} on average; records that give "
                "nothing away score 50%.",
                "Root-mean-square calibration error: "
                f"{percent_estimate(reliability.rmse)}, each bin weighted by its records, or "
                f"{percent(reliability.rmse_of_bins)} with equal weights. A perfectly calibrated "
                f"score would show {percent(reliability.noise)} on so many records, by chance "
                "alone.",
            )
        ),
        *((Text(risk.notes, Tone.NOTE),) if risk.notes else ()),
        _cdf(risk),
        _reliability(risk),
        *((_class_plot(risk),) if risk.classes else ()),
        _cuts(risk),
        _excess(risk),
        *((Folded("Class by class", (_classes(risk),)),) if risk.classes else ()),
    )


def _cdf(risk: Risk) -> Plot:
    scores = risk.member_scores
    low, middle, high = (scores[int(q * (len(scores) - 1))] for q in (0.1, 0.5, 0.9))
    return Plot(
        "risk-cdf",
        "Risk of the members",
        "A curve that hugs the right edge means that most members are at high risk.",
        f"A tenth of the members has a risk of at most {fixed(low, 2)}, half of at most "
        f"{fixed(middle, 2)}, nine tenths of at most {fixed(high, 2)}.",
        lambda: plots.plot_risk_cdf(risk),
        wide=False,
    )


def _reliability(risk: Risk) -> Plot:
    bins = "; ".join(
        f"score {fixed(b.mean_score, 2)}: {percent_estimate(b.fraction)} members"
        for b in risk.reliability.bins
    )
    return Plot(
        "reliability",
        "Is the risk score right?",
        "Of the records with a risk near 0.8, about 80% should be members. Bars are intervals.",
        f"{bins}. Root-mean-square error {percent(risk.reliability.rmse.value)}.",
        lambda: plots.plot_reliability(risk),
        wide=False,
    )


def _class_plot(risk: Risk) -> Plot:
    return Plot(
        "classes",
        "Risk and overfitting, class by class",
        "A point is a class. Right: the model does worse on new records of the class.",
        f"{len(risk.classes)} classes; Pearson's correlation of mean risk and "
        f"generalisation error is {decimal_estimate(risk.correlation, 2)}.",
        lambda: plots.plot_classes(risk),
    )


def _cuts(risk: Risk) -> Table:
    return Table(
        "cuts",
        "Calling every record from a risk on a member",
        (Column("Risk at least"), Column("Precision"), Column("Recall")),
        tuple(
            (
                fixed(row.cut, 1),
                percent_estimate(row.precision, 1),
                percent_estimate(row.recall, 1),
            )
            for row in risk.cuts
        ),
    )


def _excess(risk: Risk) -> Table:
    return Table(
        "excess",
        "What the release adds to a prior belief",
        (Column("Belief before"), Column("Added by the release")),
        tuple((rate(prior), percent_estimate(excess, 1)) for prior, excess in risk.excess),
        "Mean over members.",
    )


def _classes(risk: Risk) -> Table:
    shown = sorted(risk.classes, key=lambda row: -row.mean_risk)[:_CLASSES]
    return Table(
        "classes",
        "Classes by falling risk",
        (
            Column("Class"),
            Column("Members"),
            Column("Non-members"),
            Column("Mean risk of members"),
            Column("Generalisation error"),
        ),
        tuple(
            (
                str(row.label),
                count(row.n_in),
                count(row.n_out),
                percent(row.mean_risk),
                percent(row.generalisation_error),
            )
            for row in shown
        ),
        f"{count(len(shown))} of {count(len(risk.classes))} classes.",
    )
