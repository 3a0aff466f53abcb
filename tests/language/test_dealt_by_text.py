"""Members dealt text by text: texts are the units, and patients are on both sides by design."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.language.audit.audit import audit_language
from privacygauge.language.audit.report import records_frame
from privacygauge.language.audit.verdict import verdict
from privacygauge.language.patients import BY_TEXT, with_dealt_units
from privacygauge.language.scores import text_scores
from privacygauge.report.values import Severity
from tests.thorough import times

FOUND = {Severity.SMALL, Severity.MODERATE, Severity.GRAVE}


def dealt(seed, *, leak=0.0, n=1600, patients=60, by="text"):
    """Return energies of texts of patients who differ much, dealt by text, in halves, or whole."""
    rng = np.random.default_rng(seed)
    who = rng.integers(patients, size=n)
    member = rng.random(n) < 0.5
    if by == "halves":
        # Of each patient's texts every second one, in an order that was drawn.
        order = np.lexsort((rng.random(n), who))
        member[order] = (np.arange(n) - np.searchsorted(who[order], who[order])) % 2 == 0
    if by == "patient":
        member = (rng.random(patients) < 0.5)[who]
    difficulty = 3 + 0.4 * rng.normal(size=patients)[who] + 0.4 * rng.normal(size=n)
    gained = 0.3 * rng.normal(size=patients)[who] + 0.15 * rng.normal(size=n)
    return {
        "sample": [f"t{i}" for i in range(n)],
        "group": [f"p{i}" for i in who],
        "energy_target": np.maximum(0.9 * difficulty - gained - leak * member, 0.02),
        "energy_reference": np.maximum(difficulty + 0.15 * rng.normal(size=n), 0.02),
        "member": member,
        "length": np.clip(rng.lognormal(3, 0.7, n), 4, 400).astype(int),
    }


@pytest.mark.parametrize("by", ["text", "halves"])
def test_texts_of_patients_on_both_sides_by_design_can_be_told(by):
    for seed in range(times(3)):
        told = verdict(audit_language(dealt(seed, by=by)))
        assert "most patients" not in told.headline
        assert told.grade.severity is Severity.NOTHING
        assert "It speaks of texts" in told.unsaid


def test_a_leak_between_texts_of_the_same_patients_is_graded():
    told = verdict(audit_language(dealt(0, leak=0.3)))
    assert told.grade.severity in FOUND
    assert "patient by patient" not in told.headline


@pytest.mark.slow
def test_how_unlike_patients_are_is_no_leak_between_their_texts():
    games = times(40)
    alarms = sum(verdict(audit_language(dealt(i))).grade.severity in FOUND for i in range(games))
    assert alarms <= max(2, 0.1 * games)


def test_the_page_says_whose_texts_they_are_and_why_no_patient_is_judged():
    found = audit_language(dealt(1))
    assert found.patients == Skipped("patient level", BY_TEXT)
    assert found.controls.sizes == Skipped("sizes control", BY_TEXT)
    frame = records_frame(found)
    assert sorted(frame["group"].unique()) == sorted(set(dealt(1)["group"]))
    assert any("a coin is thrown for every text" in note for note in found.origin.warnings)
    # Nobody is asked for the column that is there.
    assert not any("column group" in step for step in verdict(found).advice)


def test_patients_on_one_side_stay_the_units():
    scores = text_scores(**dealt(0, by="patient"))
    assert with_dealt_units(scores) is scores


def test_copies_of_a_text_share_one_coin():
    """Or a patient whose every text was copied six times would lie on one side too often."""
    given = dealt(3, n=200, patients=20)
    rows = np.repeat(np.arange(200), 6)
    repeated = {name: np.asarray(x)[rows] for name, x in given.items()}
    repeated["sample"] = [f"{name}, copy {i % 6}" for i, name in enumerate(repeated["sample"])]
    assert with_dealt_units(text_scores(**repeated)).author is not None


def test_authors_follow_the_texts_that_are_kept():
    scores = with_dealt_units(text_scores(**dealt(0)))
    rows = np.arange(len(scores)) % 3 > 0
    kept = scores.take(rows)
    assert scores.author is not None
    assert kept.author == tuple(np.array(scores.author)[rows])
    assert dataclasses.replace(kept).group is None
