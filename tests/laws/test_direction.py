"""Reversed scores or swapped sides never read as safety."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import privacygauge as pg
from privacygauge.claims.claim_audit.report import UNKNOWN as COULD_NOT
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.direction import inverted_attacks, mirrors
from privacygauge.evaluate.roc import auc
from privacygauge.report.values import Severity
from tests.laws.turned import FORWARDS, IMPOSSIBLE, KINDS, SCORES, SIDES, verdict_of
from tests.thorough import times

pytestmark = pytest.mark.usefixtures("undrawn")

SAFE = Severity.NOTHING
UNTOLD = Severity.UNTOLD
TURNED = [
    pytest.param(kind, turn, id=f"{kind}, {turn}")
    for kind in KINDS
    for turn in (SCORES, SIDES)
    if (kind, turn) not in IMPOSSIBLE
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "turn"), TURNED)
def test_what_is_a_leak_forwards_is_no_safety_the_wrong_way_round(kind: str, turn: str) -> None:
    for seed in range(times(4)):
        assert verdict_of(KINDS[kind](FORWARDS, 1.5, seed)).grade.severity not in {SAFE, UNTOLD}
        found = KINDS[kind](turn, 1.5, seed)
        told = verdict_of(found)
        assert told.grade.severity is UNTOLD
        assert told.headline.startswith("Cannot be told")
    for form in (found.summary(), found.to_json(), found.to_html()):
        assert told.headline in form
    assert any("higher for non-members" in text or "swapped" in text for text in found.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_leak_it_can_be_told(kind: str) -> None:
    games = times(20)
    verdicts = [verdict_of(KINDS[kind](FORWARDS, 0.0, seed)) for seed in range(games)]
    # Too few records to see a moderate leak, or half of the noise, is no word about the direction.
    grades = [
        one.grade.severity
        for one in verdicts
        if "too few" not in one.headline and one.grade is not COULD_NOT
    ]
    # At most 2.5% of audits: more than this is seen in one run of the tests of 100,000.
    assert grades.count(UNTOLD) <= stats.binom.isf(1e-5, games, 0.025)


def signals(
    rng: np.random.Generator, exposed: float, leak: float = 0.0, n: int = 2000
) -> tuple[np.ndarray, np.ndarray]:
    """Return who is a member, and a signal that gives a share of the members away by far."""
    member = np.arange(n) % 2 == 0
    return member, rng.normal(size=n) + leak * member + 9 * (member & (rng.random(n) < exposed))


def audited(member: np.ndarray, **columns: np.ndarray) -> pg.LanguageAudit:
    """Return the audit of texts of which further signals alone may tell something."""
    rng = np.random.default_rng(1)
    energies = {name: rng.uniform(1, 3, len(member)) for name in ("target", "reference")}
    given = {"sample": np.arange(len(member))}
    given |= {f"energy_{name}": values for name, values in energies.items()}
    further = {f"signal_{name}": values for name, values in columns.items()}
    return pg.audit_language({**given, "member": member, **further})


@pytest.mark.slow
@pytest.mark.parametrize("exposed", [0.03, 0.06, 0.15])
def test_few_records_at_one_end_are_no_safety_at_the_other_end(exposed: float) -> None:
    for seed in range(times(6)):
        member, score = signals(np.random.default_rng(seed), exposed)
        assert verdict_of(audited(member, own=score)).grade.severity not in (SAFE, UNTOLD)
        assert verdict_of(audited(member, own=-score)).grade.severity is UNTOLD
        assert verdict_of(audited(~member, own=score)).grade.severity is UNTOLD


def test_a_leak_that_was_found_keeps_its_grade_and_a_warning_names_the_inverted_attack() -> None:
    rng = np.random.default_rng(0)
    member, good = signals(rng, 0.0, leak=1.5)
    alone = verdict_of(audited(member, good=good, bad=rng.normal(size=2000)))
    found = audited(member, good=good, bad=-good)
    assert verdict_of(found).grade.word == alone.grade.word == "large"
    warned = [text for text in found.warnings if "higher for non-members" in text]
    assert warned
    assert all(text.startswith("The scores of bad ") for text in warned)


def noise(rng: np.random.Generator, n: int, n_attacks: int) -> list[tuple[str, Transcript]]:
    """Return scores that tell nothing."""
    secret = rng.permutation(n) < n // 2
    return [(str(i), Transcript(rng.normal(size=n), secret)) for i in range(n_attacks)]


def ties(rng: np.random.Generator, n: int, n_attacks: int) -> list[tuple[str, Transcript]]:
    """Return scores of few values, by targets with two rows each, that tell nothing."""
    secret = np.tile(rng.permutation(n) < n // 2, 2)
    target = np.tile(np.arange(n), 2)
    value = [np.tile(rng.integers(3, size=n), 2) for _ in range(n_attacks)]
    return [(str(i), Transcript(v.astype(float), secret, target)) for i, v in enumerate(value)]


@pytest.mark.slow
@pytest.mark.parametrize("n_attacks", [1, 5, 20])
@pytest.mark.parametrize("made", [noise, ties])
def test_on_noise_an_attack_is_seldom_inverted_however_many_are_tried(
    made: Callable[..., list[tuple[str, Transcript]]], n_attacks: int
) -> None:
    rng = np.random.default_rng(0)
    games = times(200)
    found = sum(bool(inverted_attacks(made(rng, 60, n_attacks))) for _ in range(games))
    assert found <= stats.binom.isf(1e-5, games, 0.025)


@pytest.mark.parametrize("leak", [-1.0, -0.3, 0.0, 0.3, 1.0])
def test_an_attack_is_inverted_where_both_mirrors_are_above_chance(leak: float) -> None:
    rng = np.random.default_rng(0)
    secret = np.arange(100) < 40
    transcript = Transcript(rng.normal(size=100) + leak * secret, secret)
    found = inverted_attacks([("one", transcript)])
    for mirror in mirrors(transcript):
        area = auc(mirror)
        assert bool(found) == (area.low > 0.5)
        assert bool(inverted_attacks([("one", mirror)])) == (area.high < 0.5)
