"""Honest teams that look like cheats: growth through chance, still scores, shared ties."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.findings import inspect
from privacygauge.leaderboards.history.made import attacked_history
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.scores import chance_scores, score_scan

TEAMS = 10
EACH = 12


def scored(counts: np.ndarray, n: int, m: int = 2) -> History:
    """Return a history of teams, one a row of right answers in the order of time."""
    teams, each = counts.shape
    accounts = np.arange(teams).repeat(each)
    return in_time(None, accounts, counts.reshape(-1) / n, n=n, n_classes=m)


def smallest(evidence: object) -> float:
    assert isinstance(evidence, tuple)
    return min(test.p_value for test in evidence) * len(evidence)


def field(rng: np.random.Generator, n: int, each: int) -> np.ndarray:
    """Return right answers of teams far above chance that get better."""
    error = 0.25 * np.exp(0.3 * rng.standard_normal(TEAMS - 1)).clip(0.5, 1.4)
    growth = np.linspace(1.2, 1.0, each)
    return np.round(n * (1 - error[:, None] * growth)).astype(int)


@pytest.mark.parametrize("n", [200, 1000])
def test_a_team_that_grows_through_chance_is_not_taken_for_random_labels(n):
    for i in range(20):
        rng = stream(i, "growth at chance", n)
        grown = np.round(n * np.linspace(0.44, 0.53, EACH)) + rng.integers(-1, 2, EACH)
        counts = np.vstack([field(rng, n, EACH), grown])
        assert smallest(chance_scores(scored(counts, n))) > 0.05


@pytest.mark.parametrize("n", [200, 1000])
def test_random_labels_among_others_are_found_as_before(n):
    found = 0
    for i in range(20):
        rng = stream(i, "random labels", n)
        counts = np.vstack([field(rng, n, 20), rng.binomial(n, 0.5, 20)])
        found += smallest(chance_scores(scored(counts, n))) < 0.05
    assert found >= 18


@pytest.mark.parametrize("path", ["rises", "stands still"])
def test_growth_by_single_answers_is_no_scan(path):
    counts = np.arange(800, 840) if path == "rises" else np.append(np.full(39, 195), 196)
    history = scored(counts[None], 1000 if path == "rises" else 200)
    assert smallest(score_scan(history)) == 1.0


def tied(rng: np.random.Generator, n: int, m: int, teams: int, tying: int) -> History:
    """Return the answers of teams, the first `tying` of which break a tenth of ties by coins."""
    labels = rng.integers(0, m, n)
    hard = rng.random(n)
    ties = hard < 0.1
    rival = (labels + rng.integers(1, m, n)) % m
    rows = []
    accounts = []
    for team in range(teams):
        own = 0.5 * hard + 0.4 * rng.random(n)
        for _ in range(EACH):
            wrong = own + 0.1 * rng.random(n) < 0.25
            answer = np.where(wrong, rival, labels)
            if team < tying:
                answer = np.where(ties, np.where(rng.random(n) < 0.5, labels, rival), answer)
            rows.append(answer)
            accounts.append(team)
    answers = np.stack(rows)
    order = rng.permutation(len(rows))
    return in_time(
        np.argsort(order),
        accounts,
        (answers == labels).mean(axis=1),
        n=n,
        n_classes=m,
        answers=answers,
        labels=labels,
    )


def random_changes_in(history: History) -> float:
    found = inspect(history, stream(1, "points")).evidence
    tests = [test for test in found if test.detector.name in ("random-changes", "random-flips")]
    return min(test.p_value for test in tests) * len(found)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(1000, 5), (4000, 2)])
def test_ties_that_all_teams_break_at_random_accuse_nobody(n, m):
    alarms = 0
    for i in range(10):
        history = tied(stream(i, "ties", n, m), n, m, teams=6, tying=6)
        alarms += random_changes_in(history) <= 0.05
    assert alarms == 0


@pytest.mark.slow
@pytest.mark.parametrize("accounts", [1, 10])
def test_who_changes_labels_at_random_is_found_where_models_waver(accounts):
    """Ten accounts that share one base are more than half of all, and do not clear each other."""
    for i in range(5):
        history = attacked_history(
            stream(i, "wavering", accounts), "top-2", n=400, teams=6, accounts=accounts
        )
        assert random_changes_in(history) < 0.001
