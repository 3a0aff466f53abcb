"""Texts that the target does not seem to have learnt are named, and no others."""

from dataclasses import replace

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.kinds.session import Session
from privacygauge.language.controls import unlearnt
from privacygauge.language.extraction_audit.audit import audit_of
from tests.audits.example_extraction import example
from tests.language.made_scores import made_scores


def test_by_coins_hardly_ever_and_never_where_the_target_is_better():
    told = 0
    better = 0
    for seed in range(400):
        first, second = np.random.default_rng(seed).normal(size=(2, 60))
        told += unlearnt(first, second, 0.95) is not None
        better += unlearnt(first + 0.8, second, 0.95) is not None
    assert told <= 20
    assert better == 0


def test_ties_and_few_texts_say_nothing():
    same = np.full(50, -np.inf)
    assert unlearnt(same, same, 0.95) is None
    worse = np.arange(9.0)
    assert unlearnt(worse, worse + 1, 0.95) is None
    told = unlearnt(np.arange(10.0), np.arange(10.0) + 1, 0.95)
    assert told.startswith("The target expects only 0%")


def test_both_audits_warn_of_it():
    """Say the letters were changed, or it is another model: nothing is found, and why is said."""
    scores = made_scores(np.random.default_rng(0), patients=(40, 40, 40), leak=0.0)
    for lift, warns in ((0.0, False), (3.0, True)):
        given = replace(scores, energy_target=scores.energy_target + lift)
        found = pg.audit_language(given)
        assert any("what stands around them" in x for x in found.warnings) == warns


@pytest.mark.parametrize("lift", [0.0, 50.0])
def test_extraction_warns_of_it(lift):
    found = example(leak=0.0).found
    worse = replace(found.target, log_probability=found.target.log_probability - lift)
    audit = audit_of(replace(found, target=worse), Session("audit_extraction", 0, 0.95), {})
    assert any("what stands around them" in x for x in audit.warnings) == (lift > 0)
