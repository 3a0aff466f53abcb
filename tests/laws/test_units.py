"""The rows of one person are never taken for independent, and never parted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

import privacygauge as pg
from privacygauge.claims.canaries import targets
from privacygauge.classifiers.candidates import CandidateGame
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.game import crossfit_halves
from privacygauge.classifiers.shadows import membership
from privacygauge.core import units
from privacygauge.core.rules import Cut, Split, halves
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.defences import accuracy_lost
from privacygauge.evaluate.epsilon import audit_epsilon
from privacygauge.evaluate.evaluation import Evaluation, evaluate
from privacygauge.evaluate.risk import assess_risk
from privacygauge.evaluate.slices import find_slices
from tests.laws.persons import DOMAINS, SIZES, alike, answers, blind, people
from tests.thorough import crossed, quarter

GAMES = quarter(200)
EFFECT = 1.0
"""Of members' scores in planted games, in standard deviations."""


def most(games: int, level: float = 0.05) -> float:
    """Return how many of so many games may go wrong at this level."""
    return float(stats.binom.ppf(1 - 1e-4, games, level))


def played(sizes: str, share: float, effect: float, rng: np.random.Generator) -> Transcript:
    """Return normal scores, of which a share of the variance is the person's."""
    unit, member = people(sizes, rng)
    score = alike(unit, rng, share=share)[:, 0] + effect * member
    return Transcript(score, member, unit=unit)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "share"), crossed(list(SIZES), [0.0, 0.5, 1.0]))
def test_on_noise_no_number_finds_more_than_its_level(sizes: str, share: float) -> None:
    rng = np.random.default_rng(0)
    wrong = dict.fromkeys(("accuracy", "auc", "low fpr"), 0)
    wrong |= dict.fromkeys(("epsilon", "chosen epsilon", "best", "slices", "risk"), 0)
    for seed in range(GAMES):
        transcript = played(sizes, share, 0.0, rng)
        decisions = Split(seed=seed).decide(transcript)
        found = evaluate("noise", transcript, decisions)
        wrong["accuracy"] += found.accuracy.excludes(0.5)
        wrong["auc"] += found.auc.excludes(0.5)
        wrong["low fpr"] += found.tpr_at_fpr[1].estimate.excludes(0.01)
        wrong["best"] += found.best_accuracy.excludes(0.5)
        wrong["epsilon"] += found.epsilon.low > 0
        wrong["chosen epsilon"] += audit_epsilon([transcript], seed=seed)[0].low > 0
        groups = {"group": (transcript.unit * 7919) % 5, "other": (transcript.unit * 104729) % 3}
        wrong["slices"] += len(find_slices(decisions, groups, "noise").announced) > 0
        posterior = Transcript(
            ndtr(transcript.score), transcript.secret, transcript.target, unit=transcript.unit
        )
        right = rng.random(len(transcript)) < 0.8
        risk = assess_risk(posterior, "noise", transcript.unit % 6, right, rng)
        wrong["risk"] += risk.excess[2][1].excludes(0.0)
    assert {name: n for name, n in wrong.items() if n > most(GAMES)} == {}


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "share"), crossed(list(SIZES), [0.0, 0.5, 1.0]))
def test_planted_leaks_are_covered(sizes: str, share: float) -> None:
    rng = np.random.default_rng(0)
    right = ndtr(EFFECT / 2)
    truths: dict[str, Callable[[Evaluation], bool]] = {
        "accuracy": lambda e: e.accuracy.excludes(right),
        "recall": lambda e: e.recall.excludes(right),
        "fpr": lambda e: e.false_positive_rate.excludes(1 - right),
        "auc": lambda e: e.auc.excludes(ndtr(EFFECT / np.sqrt(2))),
        "tpr": lambda e: e.tpr_at_fpr[0].estimate.excludes(ndtr(ndtri(0.1) + EFFECT)),
        "epsilon": lambda e: e.epsilon.low > np.log(right / (1 - right)),
    }
    wrong = dict.fromkeys([*truths, "lost"], 0)
    for _ in range(GAMES):
        transcript = played(sizes, share, EFFECT, rng)
        decisions = Cut(EFFECT / 2).decide(transcript)
        found = evaluate("planted", transcript, decisions)
        for name, excludes in truths.items():
            wrong[name] += excludes(found)
        # Another attack on the same rows that is as good: nothing is lost.
        own = alike(transcript.unit, rng, share=share)[:, 0] + EFFECT * transcript.secret
        other = transcript.decided(own >= EFFECT / 2, "another")
        wrong["lost"] += accuracy_lost(decisions, other).excludes(0.0)
    assert {name: n for name, n in wrong.items() if n > most(GAMES)} == {}


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [list(SIZES)[1], list(SIZES)[3]])
@pytest.mark.parametrize("domain", DOMAINS)
def test_no_kind_of_audit_finds_a_leak_where_there_is_none(domain: str, sizes: str) -> None:
    games = quarter(100)
    leaks = sum(DOMAINS[domain](sizes, np.random.default_rng(1000 + i), i) for i in range(games))
    assert leaks <= most(games)


def test_rows_that_are_taken_for_people_find_leaks_in_noise() -> None:
    """What the law is for: without units the same games fail it."""
    rng = np.random.default_rng(0)
    wrong = [0, 0]
    for seed in range(20):
        transcript = played("8 rows each", 1.0, 0.0, rng)
        blind_to = Transcript(transcript.score, transcript.secret)
        for i, one in enumerate((transcript, blind_to)):
            accuracy = evaluate("noise", one, Split(seed=seed).decide(one)).accuracy
            wrong[i] += accuracy.excludes(0.5)
    assert wrong[0] <= most(20) < 8 < wrong[1]


@pytest.mark.parametrize("sizes", SIZES)
def test_one_persons_rows_share_halves_and_coins(sizes: str) -> None:
    rng = np.random.default_rng(0)
    unit, member = people(sizes, rng)
    labels = unit % 2
    x = rng.normal(size=(len(unit), 2))
    chosen = targets(x, labels, 20, rng, n_ordinary=30, unit=unit)
    game = CandidateGame(as_trainer(blind), x, labels, 2, 10, unit=unit)
    parted = {
        "split": halves(unit, member)[None],
        "cross-fitting": crossfit_halves(labels, member, rng, unit)[None],
        "shadow models": membership(3, len(unit), 0, unit=unit),
        "worst case": chosen.membership(3, rng),
        "candidates": game.halves(),
    }
    for name, inside in parted.items():
        assert 0 < np.count_nonzero(inside) < inside.size, name
        for row in inside:
            assert not units.on_both_sides(unit, row).any(), name


@pytest.mark.slow
def test_units_of_one_row_each_change_nothing() -> None:
    rng = np.random.default_rng(0)
    unit = np.arange(200)
    member = np.arange(200) % 2 == 0
    given = {**answers(unit, rng), "member": member}
    named = {**given, "unit": [f"person {i}" for i in rng.permutation(200)]}
    first, second = (pg.audit_classifier(x) for x in (given, named))
    assert first.to_json() == second.to_json()


@pytest.mark.slow
def test_equal_predictions_on_one_side_are_said_and_count_as_one_unit() -> None:
    rng = np.random.default_rng(0)
    unit, member = people("2 rows each", rng)
    given = {**answers(unit, rng, share=1.0), "member": member}
    audit = pg.audit_classifier(given)
    assert audit.headline.accuracy.n == 200
    assert any("400 of 400 rows" in line and "--unit" in line for line in audit.warnings)
    named = pg.audit_classifier({**given, "unit": unit})
    assert named.headline.accuracy.n == 200
    apart = pg.audit_classifier({**given, "unit": np.arange(400)})
    assert apart.headline.accuracy.n == 400


@pytest.mark.slow
def test_one_answer_for_all_members_is_a_leak_and_no_person() -> None:
    """Merged into a unit for each class, 500 members that are given away would show nothing."""
    rng = np.random.default_rng(0)
    member = np.arange(1_000) % 2 == 0
    labels = rng.integers(40, size=1_000)
    probs = rng.dirichlet(np.ones(40), size=1_000)
    probs[member] = 0.00005 + 0.998 * np.eye(40)[labels[member]]
    audit = pg.audit_classifier(
        {"probs": probs / probs.sum(1, keepdims=True), "labels": labels, "member": member}
    )
    assert audit.headline.accuracy.low > 0.95


@pytest.mark.slow
def test_members_that_equal_non_members_are_said() -> None:
    rng = np.random.default_rng(0)
    unit = np.arange(400) // 2
    given = {**answers(unit, rng, share=1.0), "member": np.arange(400) % 2 == 0}
    audit = pg.audit_classifier(given)
    assert any("200 members equal a non-member" in line for line in audit.warnings)
    assert audit.headline.accuracy.n == 400
    told = pg.audit_classifier({**given, "unit": unit}).warnings
    assert any("200 of 200 units have rows among the members and" in line for line in told)


@pytest.mark.slow
def test_few_answers_of_a_model_are_not_taken_for_people() -> None:
    """A tree gives everybody in a leaf the same answer: members and non-members, of all classes."""
    rng = np.random.default_rng(0)
    p = rng.integers(1, 60, 2000) / 60.0
    member = rng.random(2000) < 0.3 + 0.4 * p
    given = {"probs": np.column_stack([1 - p, p]), "labels": np.ones(2000, int), "member": member}
    audit = pg.audit_classifier(given)
    assert audit.headline.accuracy.n == 2000
    assert not any("equal" in line for line in audit.warnings)


def test_votes_that_are_equal_by_chance_are_not_taken_for_copies() -> None:
    rng = np.random.default_rng(0)
    member = rng.random(1_000) < 0.5
    labels = rng.integers(3, size=1_000)
    votes = rng.multinomial(20, [0.8, 0.1, 0.1], size=1_000) / 20
    audit = pg.audit_classifier({"probs": votes, "labels": labels, "member": member})
    assert not any("equal a non-member" in line for line in audit.warnings)
