"""The report on a privacy claim: a sound page, honest words, no names that steer it."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from privacygauge.claims.claim_audit.audit import ClaimAudit
from privacygauge.claims.claim_audit.command import METRICS
from privacygauge.claims.claim_audit.report import (
    GRADES,
    IF_GAUSSIAN,
    REFUTED,
    STANDS,
    UNKNOWN,
    curve_frame,
    exact_text,
    verdict,
)
from privacygauge.datasets.canary_scores import CanaryScores
from privacygauge.evaluate.claim import GuessCounts, PrivacyClaim
from privacygauge.evaluate.claim_bounds import one_run_bounds, one_run_curve
from privacygauge.evaluate.claim_designs import Power
from privacygauge.report.values import Origin
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")


def example(epsilon: float = 2.0, right: tuple[int, int] = (98, 800)) -> ClaimAudit:
    rng = np.random.default_rng(0)
    member = rng.random(1000) < 0.5
    found = GuessCounts(1000, [100, 1000], right)
    bounds, skipped = one_run_bounds(found, 1e-5)
    canaries = CanaryScores(np.arange(1000), member, rng.normal(size=1000) + member)
    return ClaimAudit(
        "one-run", bounds, found, (), one_run_curve(1000, found, 1e-5, 0.95),
        origin=Origin("dp-audit", "0", 0, 0.95, "2026-01-31", skipped, (), {"python": "3"}),
        claim=PrivacyClaim(epsilon, 1e-5), canaries=canaries,
        power=Power("the noise switched off", 1000, 5.0, 4.9),
    )  # fmt: skip


@pytest.fixture(scope="module")
def findings() -> ClaimAudit:
    return example()


@pytest.mark.parametrize(
    ("epsilon", "grade"), [(2.0, REFUTED), (2.9, IF_GAUSSIAN), (4.5, STANDS), (7.0, UNKNOWN)]
)
def test_the_grade_follows_the_claim(findings, epsilon, grade):
    found = verdict(replace(findings, claim=PrivacyClaim(epsilon, 1e-5)))
    assert found.grade == grade
    assert found.headline.startswith(
        {
            REFUTED: "The claim is refuted: epsilon is at least 2.",
            IF_GAUSSIAN: "The claim is refuted if the mechanism is Gaussian: epsilon is then at ",
            STANDS: "The claim stands: this audit did not refute epsilon 4.5 at delta 1e-05",
            UNKNOWN: "The audit could not have told: 1,000 canaries certify at most 5.",
        }[grade]
    )
    # What was not refuted is never called proven.
    assert ("no proof" in found.unsaid) == (grade in (STANDS, UNKNOWN))


def test_the_curve_is_called_descriptive(findings):
    shown = " ".join(Page(findings.to_html()).text)
    assert "Descriptive: each point is a bound as if it were the only one" in shown
    assert "Certifiable" in shown


def test_the_document_says_what_the_findings_say(findings):
    found = json.loads(findings.to_json())
    assert found["verdict"]["grade"] == verdict(findings).grade.word
    assert found["bounds"][0]["epsilon"]["low"] == findings.free.estimate.low
    assert found["bounds"][0]["epsilon"]["high"] is None
    assert found["guesses"] == [
        {"n_guesses": 100, "n_right": 98}, {"n_guesses": 1000, "n_right": 800},
    ]  # fmt: skip
    assert found["n_in"] + found["n_out"] == 1000
    assert found["bounds"][1]["assumption"].startswith("the mechanism is Gaussian")


def test_the_terminal_and_the_summary_name_bound_and_limit(findings):
    console = Console(width=60, file=io.StringIO())
    console.print(findings.terminal_summary())
    for words in (console.file.getvalue(), findings.summary()):
        assert "The claim is refuted" in words
        assert "certifiable: 5." in words


def test_tables(findings):
    frame = findings.to_frame()
    assert frame.columns.tolist() == ["id", "member", "score"]
    assert frame["member"].sum() == findings.n_in
    curve = curve_frame(findings)
    assert curve.columns.tolist() == ["n_guesses", "epsilon", "largest"]
    assert (curve["epsilon"] <= curve["largest"]).all()


def test_the_plot_shows_attack_limit_and_claim(findings):
    ax = findings.plot_curve()
    largest, low, claimed = ax.get_lines()
    assert low.get_ydata().tolist() == findings.curve.low.tolist()
    assert largest.get_ydata().tolist() == findings.curve.largest.tolist()
    assert claimed.get_ydata()[0] == 2.0


@pytest.mark.parametrize("below", [1e-2, 4e-4, 1e-5, 1e-9])
def test_a_bound_above_the_claim_reads_above_it_everywhere(findings, below):
    """A claim of 2 is not refuted by "at least 2.00"."""
    bound = findings.free
    # What is read is compared with the claim as it is read.
    claimed = float(exact_text(bound.estimate.low - below))
    told = replace(findings, claim=PrivacyClaim(claimed, 1e-5)).report()
    assert told.verdict.grade == REFUTED
    said = re.search(r"at least (\S+), not (\S+),", told.verdict.headline)
    assert float(said[2]) == claimed < float(said[1]) <= bound.estimate.low
    shown = [measure.shown.value for measure in told.measures if measure.name == "epsilon"]
    in_table = re.search(r"\N{GREATER-THAN OR EQUAL TO}(?:\\u202f)?([0-9.]+)", str(told.sections))
    for text in (told.verdict.gauge.shown.value, *shown, in_table[1]):
        assert claimed < float(re.search(r"[0-9.]+$", text)[0]) <= bound.estimate.low
    # A control whose bound is hardly above the claim.
    power = replace(findings.power, detectable=4.5 + below)
    stands = replace(findings, claim=PrivacyClaim(4.5, 1e-5), power=power)
    said = re.search(r"at least (\S+) in four of five", " ".join(verdict(stands).sentences))
    assert 4.5 < float(said[1]) <= 4.5 + below


def test_claims_are_shown_with_all_of_their_digits():
    assert [exact_text(x) for x in (2.0, 1e-5, 0.1234567891)] == ["2", "1e-05", "0.1234567891"]
    assert len(GRADES) == 3


def test_the_gate_names_what_the_report_measures(findings):
    gated = [measure.name for measure in findings.report().measures if measure.gate]
    assert tuple(gated) == METRICS
