"""Worst-case records: corrected beside plain intervals, and the attack that is named."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.worst_case import (
    AttackedTargets,
    TargetRisk,
    WorstCaseFindings,
    attacked_targets,
    tprs_of_repeated,
)

FPRS = (0.25, 0.05)


def played(n: int = 150) -> Transcript:
    rng = np.random.default_rng(0)
    secret = np.arange(n) % 2 == 0
    return Transcript(rng.normal(size=n) + secret, secret, np.arange(n) % (n // 3))


@pytest.mark.parametrize("n_together", [1, 4])
def test_corrected_intervals_share_the_error(n_together):
    transcript = played()
    found = attacked_targets("a", transcript, FPRS, 0.9, n_together=n_together)
    each = 1 - 0.1 / n_together
    assert found.auc == auc(transcript, 0.9)
    assert found.corrected_auc == auc(transcript, each)
    assert found.rates == tprs_of_repeated(transcript, FPRS, 0.9)
    wider = tprs_of_repeated(transcript, FPRS, each)
    assert [x.estimate for x in found.corrected] == [x.estimate for x in wider]
    assert [x.resolved for x in found.corrected] == [x.resolved for x in found.rates]


def test_alone_an_attack_needs_no_correction():
    found = attacked_targets("a", played(), FPRS, 0.9)
    assert found.corrected == found.rates
    assert found.corrected_auc == found.auc


def rate(fpr: float, low: float, value: float) -> RateAtFpr:
    estimate = Estimate(value, low, 1.0, 0.9, 40, "made up")
    return RateAtFpr(fpr, estimate, estimate, estimate, True)


def attack(name: str, *ends: tuple[float, float], area: float) -> AttackedTargets:
    corrected = tuple(rate(fpr, *end) for fpr, end in zip(FPRS, ends, strict=True))
    plain = tuple(rate(fpr, 0.5, 0.9) for fpr in FPRS)
    of_area = Estimate(0.9, area, 1.0, 0.9, 40, "made up")
    return AttackedTargets(name, of_area, plain, corrected, of_area)


def risk(name: str = "canaries") -> TargetRisk:
    attacks = (
        attack("sure", (0.3, 0.4), (0.1, 0.2), area=0.6),
        attack("lucky", (0.2, 0.9), (0.1, 0.3), area=0.8),
        attack("weak", (0.1, 0.2), (0.0, 0.9), area=0.7),
    )
    return TargetRisk(name, 20, 8, attacks)


def test_the_attack_with_the_highest_lower_end_is_named():
    found = risk()
    assert found.highest(0.25) == ("sure", found.attacks[0].corrected[0])
    # Of equal ones that which finds most.
    assert found.highest(0.05) == ("lucky", found.attacks[1].corrected[1])
    assert found.highest_auc.low == 0.8
    with pytest.raises(InputError, match=r"fpr must be one of those asked for .* got 0.1"):
        found.highest(0.1)


def test_every_group_attack_and_rate_has_a_line():
    test_accuracy = Estimate(0.7, 0.6, 0.8, 0.9, 40, "made up")
    both = risk(), risk("ordinary")
    found = WorstCaseFindings("m", "any", *both, test_accuracy, 0, 0.9, (), ())
    assert found.groups == both
    lines = found.lines()
    assert [(x["targets"], x["attack"], x["fpr"]) for x in lines] == [
        (group, name, fpr)
        for group in ("canaries", "ordinary")
        for name in ("sure", "lucky", "weak")
        for fpr in FPRS
    ]
    for line in lines:
        assert (line["tpr"], line["low"], line["high"]) == (0.9, 0.5, 1.0)
        assert (line["level"], line["n"], line["n_targets"]) == (0.9, 40, 20)
        assert (line["model"], line["resolved"], line["auc"]) == ("m", True, 0.9)
