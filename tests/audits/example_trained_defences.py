"""Findings on defences at training for the tests of their report: small, and made once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from privacygauge.claims.defence_audit.audit import DefenceAudit, audit_training_defences
from privacygauge.claims.defences.defence import LabelOnly
from privacygauge.claims.defences.dp_sgd import RDP
from privacygauge.claims.defences.training import OtherTraining
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.defences import AfterEpoch
from privacygauge.evaluate.headline import BestAttack
from tests.audits.example_defences import ATTACKS
from tests.classifiers.trainers import Noisy, records


def estimate(value: float, half: float = 0.03) -> Estimate:
    return Estimate(value, value - half, value + half, 0.95, 200, "made up")


def after(epoch: int, left: float, accuracy: float) -> AfterEpoch:
    """Return an epoch that leaves so much and is so accurate."""
    best = BestAttack("one", estimate(left), "two", estimate(left))
    return AfterEpoch(epoch, estimate(0.9), estimate(accuracy), best)


CURVE = (after(1, 0.52, 0.4), after(2, 0.6, 0.6), after(9, 0.8, 0.7))


@cache
def example() -> DefenceAudit:
    """Return an audit of two defences at training and one on answers, with made-up epochs."""
    x, y = records(200, k=3)
    defences = [
        OtherTraining(Noisy(), "quiet"),
        OtherTraining(Noisy(leak=1.0), "private"),
        LabelOnly(),
    ]
    found = audit_training_defences(
        Noisy(leak=3.0), x, y, defences, n_shadows=2, attacks=ATTACKS, command="defend"
    )
    quiet, private, labels = found.compared
    never = Skipped("early stopping", "no recorded epoch is as accurate")
    compared = (
        replace(quiet, stopped=CURVE[1]),
        replace(private, stopped=never, claim=PrivacyClaim(2.001, 1e-5, RDP)),
        labels,
    )
    return replace(found, compared=compared, curve=CURVE)
