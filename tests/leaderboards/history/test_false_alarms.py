"""Honest histories stay silent, planted attacks are found: rates with exact intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.evidence import AT_CHANCE, VOTE
from privacygauge.leaderboards.history.findings import inspect
from privacygauge.leaderboards.history.made import ATTACKS, attacked_history, varied_history
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.votes import nearness, votes
from tests.thorough import THOROUGH, crossed, quarter, times


def smallest_corrected(history: History, rng: np.random.Generator) -> float:
    """Return the smallest p-value times the number of tests: Holm's first step."""
    found = inspect(history, rng).evidence
    return min(x.p_value for x in found) * len(found)


def scores_alone(history: History) -> History:
    return replace(history, answers=None, labels=None)


def upper(alarms: int, n: int) -> float:
    return float(beta.ppf(0.975, alarms + 1, n - alarms)) if alarms < n else 1.0


def drawn(i: int) -> History:
    return varied_history(stream(i, "honest histories"))


def independent(i: int) -> History:
    """Return teams whose errors are independent, which no real models' are."""
    rng = stream(i, "independent errors")
    m = int(rng.choice([2, 10]))
    n = int(rng.choice([500, 2000]))
    labels = rng.integers(0, m, n)
    rows = []
    accounts = []
    for team in range(6):
        skill = rng.uniform(0.6, 0.8) if m == 2 else rng.uniform(0.3, 0.8)
        for j in range(int(rng.integers(5, 30))):
            right = rng.random(n) < skill + 0.004 * j
            rows.append(np.where(right, labels, (labels + rng.integers(1, m, n)) % m))
            accounts.append(f"team-{team}")
    answers = np.stack(rows)
    return in_time(
        rng.random(len(accounts)),
        accounts,
        (answers == labels).mean(axis=1),
        n=n,
        n_classes=m,
        answers=answers,
        labels=labels,
    )


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_at_most_one_honest_history_in_twenty_has_a_finding(whole):
    alarms = 0
    n = 1_000 if THOROUGH else 120
    for i in range(n):
        history = drawn(i)
        given = history if whole else scores_alone(history)
        alarms += smallest_corrected(given, stream(i, "points")) <= 0.05
    assert upper(alarms, n) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_nor_where_errors_are_independent(whole):
    alarms = 0
    n = times(200)
    for i in range(n):
        history = independent(i)
        given = history if whole else scores_alone(history)
        alarms += smallest_corrected(given, stream(i, "points")) <= 0.05
    assert upper(alarms, n) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("skill", "n"), [(0.51, 200), (0.51, 1000), (0.52, 1000)])
def test_nor_where_the_task_is_hard_for_all(skill, n):
    """Models that are hardly better than chance score as random labels do."""
    alarms = 0
    games = times(100)
    for i in range(games):
        rng = stream(i, "hard")
        right = rng.binomial(n, rng.normal(skill, 0.003, 10).repeat(12))
        history = in_time(None, np.arange(10).repeat(12), right / n, n=n, n_classes=2)
        alarms += smallest_corrected(history, rng) <= 0.05
    assert alarms <= 0.05 * games


UNSEEN = {("top-2", False), ("designed", False), ("flips", False)}
"""What scores alone do not show: random changes of a model look like one with many seeds."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "whole", "accounts"),
    [
        (attack, whole, accounts)
        for attack, whole, accounts in crossed(list(ATTACKS), (True, False), (1, 4))
        if (attack, whole) not in UNSEEN
    ],
)
def test_planted_attacks_are_found(attack, accounts, whole):
    found = 0
    n = quarter(20)
    for i in range(n):
        rng = stream(i, "planted", attack, accounts)
        history = attacked_history(rng, attack, m=int(rng.choice([2, 10])), accounts=accounts)
        given = history if whole else scores_alone(history)
        looked = inspect(given, rng)
        tests = looked.evidence
        if not whole and attack in ("nb", "majority"):
            # Models that have learnt nothing are excluded by most histories of 200 queries alone.
            tests = tuple(test for test in looked.undecided if test.detector is AT_CHANCE)
        found += min(test.p_value for test in tests) * len(tests) <= 0.05
    # A scan that several accounts share leaves larger steps in the scores of each.
    assert found >= n * (0.3 if (attack, accounts, whole) == ("scan", 4, False) else 0.8)


@pytest.mark.parametrize("kind", ["mirrors", "near copies", "independent"])
def test_queries_that_tell_the_same_are_one(kind):
    """An honest answer follows a query's score as its complement's: that is no second sign."""
    n, each = 400, 4
    fewest = []
    for i in range(40):
        rng = stream(i, "alike", kind)
        truth = rng.integers(0, 2, n)
        queries = rng.integers(0, 2, (40, n))
        if kind == "mirrors":
            queries = np.concatenate([queries, 1 - queries])
        elif kind == "near copies":
            queries = queries.repeat(each, axis=0) ^ (rng.random((40 * each, n)) < 0.01)
        answers = np.where(rng.random((8, n)) < 0.8, truth, 1 - truth)
        rows = np.concatenate([queries, answers])
        names = ["queries"] * len(queries) + [f"honest-{j}" for j in range(8)]
        history = in_time(
            None, names, (rows == truth).mean(axis=1), n=n, n_classes=2, answers=rows, labels=truth
        )
        asked = np.arange(len(rows)) < len(queries)
        found = votes(history, nearness(history, rng), asked, asked)
        fewest += [x.p_value for x in found if x.detector is VOTE]
    # One in a hundred is below .01 where the level holds: of 320 more than ten are rare.
    assert len(fewest) == 320
    assert np.count_nonzero(np.array(fewest) <= 0.01) <= 10
