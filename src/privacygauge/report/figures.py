"""The plots of the report on attacks, with their captions and what they show in words."""

from __future__ import annotations

from privacygauge.evaluate.findings import Findings
from privacygauge.evaluate.risk import Risk
from privacygauge.report import plots
from privacygauge.report.axes import SERIES
from privacygauge.report.numbers import decimal_estimate, fixed, percent, percent_estimate, plain
from privacygauge.report.svg import Picture, picture


def pictures(findings: Findings) -> dict[str, Picture]:
    """Return every plot of the report by its name; without a risk score, those of the attacks."""
    best = findings.headline.attack
    found = [
        picture(
            "roc",
            "ROC curves",
            "How many members an attack finds (up) for how many false alarms (right). The dotted "
            "diagonal is guessing.",
            _roc_words(findings),
            lambda: plots.plot_roc(findings.evaluations),
        ),
        picture(
            "roc-log",
            "ROC curves, both axes logarithmic",
            "The same, enlarged at few false alarms: a curve far above the diagonal on the left "
            "gives some members away almost for certain.",
            _roc_words(findings),
            lambda: plots.plot_roc(findings.evaluations, log=True),
        ),
        picture(
            "scores",
            f"Scores of {plain(best.title)}",
            "The less the two overlap, the better the attack tells them apart.",
            f"The scores of {plain(best.title)} for members and non-members; a random member "
            f"scores higher than a random non-member with probability "
            f"{decimal_estimate(best.auc)}.",
            lambda: plots.plot_scores(best),
        ),
    ]
    if isinstance(findings.risk, Risk):
        found += _risk_pictures(findings.risk)
    return {x.name: x for x in found}


def _risk_pictures(risk: Risk) -> list[Picture]:
    calibration = risk.reliability
    low, middle, high = (
        risk.member_scores[int(q * (len(risk.member_scores) - 1))] for q in (0.1, 0.5, 0.9)
    )
    found = [
        picture(
            "risk-cdf",
            "Risk of the members",
            "A curve that hugs the right edge means that most members are at high risk.",
            f"A tenth of the members has a risk of at most {fixed(low, 2)}, half of at most "
            f"{fixed(middle, 2)}, nine tenths of at most {fixed(high, 2)}.",
            lambda: plots.plot_risk_cdf(risk),
        ),
        picture(
            "reliability",
            "Is the risk score right?",
            "Of the records with a risk near 0.8, about 80% should be members. Bars are intervals.",
            "; ".join(
                f"score {fixed(b.mean_score, 2)}: {percent_estimate(b.fraction)} members"
                for b in calibration.bins
            )
            + f". Root-mean-square error {percent(calibration.rmse.value)}.",
            lambda: plots.plot_reliability(risk),
        ),
    ]
    if risk.classes:
        found.append(
            picture(
                "classes",
                "Risk and overfitting, class by class",
                "A point is a class. Right: the model does worse on new records of the class.",
                f"{len(risk.classes)} classes; Pearson's correlation of mean risk and "
                f"generalisation error is {decimal_estimate(risk.correlation, 2)}.",
                lambda: plots.plot_classes(risk),
            )
        )
    return found


def _roc_words(findings: Findings) -> str:
    ordered = sorted(findings.evaluations, key=lambda e: -e.auc.value)[: len(SERIES)]
    return "Area under the curve: " + "; ".join(
        f"{plain(e.title)} {decimal_estimate(e.auc)}" for e in ordered
    )
