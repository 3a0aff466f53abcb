"""Every attack of the project, played once, stands out; honest files near to a constant do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.analysts import ATTACKS
from privacygauge.leaderboards.history.answers import blind_changes
from privacygauge.leaderboards.history.findings import examine_history, inspect
from privacygauge.leaderboards.history.made import (
    HABITS,
    AccountSubmissions,
    World,
    analyst_rows,
    attack_submissions,
    honest_work,
    mix_works,
)
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.votes import nearness
from tests.thorough import crossed, times

AROUND_A_MODEL = ("top-2", "flips")


def accused(history: History) -> set[str]:
    """Return the accounts in findings at the level 0.95: Holm's first step."""
    found = inspect(history, stream(1, "points")).evidence
    return {
        name for test in found if test.p_value * len(found) <= 0.05 for name in test.accounts
    }  # fmt: skip


def beside_teams(world: World, rows: np.ndarray, rng: np.random.Generator) -> History:
    """Return a history of six honest teams and an attacker."""
    works = honest_work(world, rng, 6, 12, HABITS)
    works.append(AccountSubmissions("attacker", rows))
    return mix_works(world, works, rng, turns=1)


# Hill climbing keeps what helped as honest climbing does, and is found in part only.
@pytest.mark.parametrize(
    ("name", "m"),
    crossed([*(a for a in ATTACKS if a != "hill-climbing"), *AROUND_A_MODEL], [2, 10]),
)
def test_every_attack_that_is_played_is_found_with_answers(name, m):
    rng = stream(0, "played", name, m)
    world = World.drawn(600, m, rng)
    if name in AROUND_A_MODEL:
        rows = attack_submissions(world, name, 120, rng)
    else:
        rows = analyst_rows(world, ATTACKS[name].make(None), 120, rng)
    assert accused(beside_teams(world, rows, rng)) == {"attacker"}


def block_queries(world: World, points: int, queries: int, rng: np.random.Generator) -> np.ndarray:
    """Return random labels on a few points, and one label on all others."""
    rows = np.zeros((queries, len(world.labels)), np.int64)
    block = rng.choice(len(world.labels), points, replace=False)
    rows[:, block] = rng.integers(0, world.m, (queries, points))
    return rows


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize(("points", "queries"), [(8, 120), (20, 60), (40, 40), (100, 40)])
def test_a_block_of_random_labels_in_a_constant_file_is_a_query(points, queries, labels):
    for m in (2, 5):
        rng = stream(0, "blocks in a constant", points, m)
        world = World.drawn(600, m, rng)
        history = beside_teams(world, block_queries(world, points, queries, rng), rng)
        if not labels:
            history = replace(history, labels=None)
        assert accused(history) == {"attacker"}


def test_one_other_label_makes_a_query_of_a_constant_file():
    rng = stream(0, "one other label")
    rows = np.zeros((3, 5_000), np.int64)
    rows[1, 17] = 1
    rows[2] = 1
    history = in_time(None, "abc", [0.5] * 3, n=5_000, n_classes=2, answers=rows)
    assert nearness(history, rng).constant.tolist() == [True, False, True]


def collapsed(rng: np.random.Generator, strength: float, rare: float) -> History:
    """Return teams of models for a rare class, which hardly ever predict it.

    One of them trains its model forty times, on other records and with other thresholds.
    """
    n = 800
    labels = (rng.random(n + 1_000) < rare).astype(np.int64)
    records = rng.normal(size=(n + 1_000, 15)) + strength * labels[:, None]
    rows = []
    accounts = []
    for team, k in enumerate((10, 10, 10, 10, 10, 40)):
        columns = rng.choice(15, 8, replace=False)
        for _ in range(k):
            some = n + rng.choice(1_000, 600, replace=False)
            model = LogisticRegression(C=0.1).fit(records[some][:, columns], labels[some])
            score = model.decision_function(records[:n, columns])
            rows.append(score > np.quantile(score, 1 - rare * rng.uniform(0.3, 1.5)))
            accounts.append(f"team-{team}")
    answers = np.stack(rows).astype(np.int64)
    order = np.argsort(rng.random(len(rows)), kind="stable")
    return in_time(
        None,
        [accounts[i] for i in order],
        (answers[order] == labels[:n]).mean(axis=1),
        n=n,
        n_classes=2,
        answers=answers[order],
        labels=labels[:n],
    )


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("rare", [0.02, 0.05, 0.1])
def test_models_that_hardly_ever_predict_a_rare_class_accuse_nobody(strength, rare):
    games = times(20)
    alarms = 0
    for i in range(games):
        alarms += bool(accused(collapsed(stream(i, "collapsed", strength, rare), strength, rare)))
    assert alarms <= 0.05 * games


def climbing(seed: int, n: int, queries: int, changed: int, blind: bool) -> History:
    """Return eight teams, and a ninth that keeps what raised its score.

    It changes labels at random, or tunes its model in small steps (honest).
    """
    rng = stream(seed, "small climbs", n, queries)
    world = World.drawn(n, 2, rng)
    if not blind:
        works = honest_work(world, rng, teams=9, submissions=queries, habits=["hill-climbing"])
        return mix_works(world, works, rng)
    present = world.logits(2.0, world.errors(0.6, rng)).argmax(axis=1)
    rows = [present]
    for _ in range(queries - 1):
        tried = present.copy()
        some = rng.choice(n, changed, replace=False)
        tried[some] = 1 - tried[some]
        rows.append(tried)
        if world.score(tried) > world.score(present):
            present = tried
    return beside_teams(world, np.stack(rows), rng)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "queries", "changed"), [(300, 40, 5), (300, 60, 3), (600, 100, 4)])
def test_small_climbs_by_blind_changes_are_worth_a_look(n, queries, changed):
    games = times(20)
    seen = 0
    alarms = 0
    for i in range(games):
        found = examine_history(climbing(i, n, queries, changed, blind=True), (), 0, 0.95)
        seen += {x for one in (*found.findings, *found.hints) for x in one.accounts} == {"attacker"}
        found = examine_history(climbing(i, n, queries, changed, blind=False), (), 0, 0.95)
        alarms += bool(found.findings or found.hints)
    assert seen >= 0.8 * games
    assert alarms <= 0.1 * games


def test_who_sends_copies_alone_changes_nothing():
    rng = stream(0, "copies alone")
    world = World.drawn(200, 2, rng)
    works = honest_work(world, rng, teams=3, submissions=8, habits=["rising"])
    works.append(AccountSubmissions("copies", np.repeat(works[0].answers[:1], 9, axis=0)))
    history = mix_works(world, works, rng)
    tests = blind_changes(history, nearness(history, rng))
    assert "copies" not in {name for test in tests for name in test.accounts}
