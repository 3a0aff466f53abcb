"""Findings on worst-case records for the tests of their report: made up, nothing is trained."""

from __future__ import annotations

from privacygauge.claims.canaries import Targets
from privacygauge.claims.defences.dp_sgd import RDP
from privacygauge.claims.worst_case_audit.audit import WorstCaseComparison
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.versions import today
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import (
    NO_DEFENCE,
    AttackedTargets,
    AttackedTraining,
    TargetRisk,
    WorstCaseFindings,
)
from privacygauge.report.values import Origin

FPRS = (0.1, 0.01)


def estimate(value: float, half: float = 0.04) -> Estimate:
    """Return an estimate with an interval of this half width, within [0, 1]."""
    return Estimate(value, max(0, value - half), min(1, value + half), 0.95, 200, "made up")


def rate(fpr: float, value: float, half: float, told: bool) -> RateAtFpr:
    found = estimate(value, half)
    return RateAtFpr(fpr, found, found, estimate(fpr, 0.0), told)


def group(name: str, at: tuple[float, float], area: float = 0.5, *, told: bool = True, n: int = 50):
    """Return one group of targets, of whom so much is found at 10% and at 1% false alarms."""
    attacks = []
    for attack, part in (("weaker", 0.5), ("stronger", 1.0)):
        lower = [fpr + part * (x - fpr) for fpr, x in zip(FPRS, at, strict=True)]
        alone, wider = (
            tuple(rate(f, x, half, told) for f, x in zip(FPRS, lower, strict=True))
            for half in (0.02, 0.04)
        )
        own = 0.5 + part * (area - 0.5)
        attacks.append(AttackedTargets(attack, estimate(own, 0.02), alone, wider, estimate(own)))
    return TargetRisk(name, n, 16, tuple(attacks))


def training(
    title: str,
    canaries: tuple[float, float],
    ordinary: tuple[float, float],
    *,
    accuracy: float = 0.7,
    area: float = 0.5,
    told: bool = True,
    claim: PrivacyClaim | None = None,
) -> AttackedTraining:
    """Return a training of whose targets so much is found."""
    found = WorstCaseFindings(
        f"model of {title}",
        "any other class",
        group("canaries", canaries, area, told=told),
        group("ordinary", ordinary, area, told=told, n=900),
        estimate(accuracy),
        0,
        0.95,
        (),
        (),
    )
    return AttackedTraining(title, found, claim)


def compared(*trainings: AttackedTraining) -> WorstCaseComparison:
    """Return a comparison of these, the first of them without a defence."""
    skipped = Skipped("broken", "training failed for 16 of 16 models")
    origin = Origin(
        "worst-case", "0.1.0", 3, 0.95, today(), (skipped,), ("mind this",),
        {"data": "people.csv sha256:00ff"},
    )  # fmt: skip
    targets = Targets([0, 1, 0, 1], [0], [1, 2, 3])
    return WorstCaseComparison(trainings, 2 * 2 * 3 * len(trainings), targets, origin=origin)


NONE = training(NO_DEFENCE, (0.9, 0.7), (0.6, 0.4), area=0.9)
REGULARISED = training("regularised", (0.8, 0.6), (0.3, 0.2), accuracy=0.6, area=0.8)
EARLY = training("early (epoch 4)", (0.6, 0.4), (0.45, 0.35), accuracy=0.65, area=0.7)
PRIVATE = training(
    "private", (0.11, 0.01), (0.12, 0.02), accuracy=0.5, claim=PrivacyClaim(2.001, 1e-5, RDP)
)

FEW = training(NO_DEFENCE, (0.9, 0.7), (0.6, 0.4), told=False)


def example() -> WorstCaseComparison:
    """Return a comparison in which the worst case turns an order round."""
    return compared(NONE, REGULARISED, EARLY, PRIVATE)
