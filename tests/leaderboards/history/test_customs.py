"""What many teams do is a custom, and accuses none of them; attacks beside it are still found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.findings import inspect
from privacygauge.leaderboards.history.made import (
    AccountSubmissions,
    World,
    attack_submissions,
    honest_work,
    mix_works,
)
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.scores import afresh
from tests.thorough import times

MODELS = ("rising", "seeds", "tuning")


def found_in(history: History) -> set[str]:
    """Return the detectors that stand out at the level 0.95: Holm's first step."""
    found = inspect(history, stream(1, "points")).evidence
    return {test.detector.name for test in found if test.p_value * len(found) <= 0.05}


def scores_alone(history: History) -> History:
    return replace(history, answers=None, labels=None)


def course(
    rng: np.random.Generator, *, students: int, sending: int, least: int, most: int, models: int
) -> History:
    """Return students' models, before which some of the students send random baselines."""
    world = World.drawn(200, 2, rng)
    works = honest_work(world, rng, students, models, MODELS)
    mixed = []
    for i, work in enumerate(works):
        first = rng.integers(0, 2, (int(rng.integers(least, most + 1)), 200))
        rows = np.vstack([first, work.answers]) if i < sending else work.answers
        mixed.append(AccountSubmissions(work.account, rows))
    return mix_works(world, mixed, rng)


COURSES = {
    "half send three": {"students": 24, "sending": 12, "least": 3, "most": 3, "models": 5},
    "all send one to five": {"students": 30, "sending": 30, "least": 1, "most": 5, "models": 8},
    "some send none to five": {"students": 12, "sending": 10, "least": 0, "most": 5, "models": 6},
    "six of forty send three": {"students": 40, "sending": 6, "least": 3, "most": 3, "models": 6},
    "most send five and two models": {
        "students": 25,
        "sending": 22,
        "least": 5,
        "most": 5,
        "models": 2,
    },
}


@pytest.mark.parametrize("kind", COURSES)
def test_random_baselines_that_many_students_send_accuse_nobody(kind):
    games = 8
    alarms = np.zeros(2)
    for i in range(games):
        history = course(stream(i, "course", kind), **COURSES[kind])
        alarms += bool(found_in(history)), bool(found_in(scores_alone(history)))
    assert (alarms <= 1).all()


@pytest.mark.parametrize("accounts", [1, 4, 10])
def test_an_attack_in_a_course_of_random_baselines_is_found(accounts):
    for i in range(3):
        rng = stream(i, "attack in a course", accounts)
        world = World.drawn(400, 2, rng)
        works = [
            AccountSubmissions(
                work.account, np.vstack([rng.integers(0, 2, (2, 400)), work.answers])
            )
            for work in honest_work(world, rng, 12, 8, MODELS)
        ]
        rows = attack_submissions(world, "nb", 100, rng)
        for a in range(accounts):
            own = rows[a:-1:accounts]
            own = np.concatenate([own, rows[-1:]]) if a == 0 else own
            works.append(AccountSubmissions(f"attacker-{a}", own))
        assert found_in(mix_works(world, works, rng, turns=accounts))


def unbalanced(rng: np.random.Generator, n: int) -> World:
    """Return a test set of five classes, of which one has four fifths of the points."""
    world = World.drawn(n, 5, rng)
    labels = rng.choice(5, n, p=[0.8, 0.1, 0.05, 0.03, 0.02])
    # Models know which class is frequent.
    shared = world.shared + 3.0 * (np.arange(5) == 0)
    return replace(world, labels=labels, shared=shared)


@pytest.mark.parametrize("models", [0, 10])
def test_baselines_drawn_from_the_frequencies_of_the_classes_are_no_flips(models):
    """An account sends ten of them beside its models, or beside constant files."""
    for i in range(6):
        rng = stream(i, "stratified", models)
        world = unbalanced(rng, 400)
        works = honest_work(world, rng, 8, 8, MODELS)
        drawn = rng.choice(5, (10, 400), p=[0.8, 0.1, 0.05, 0.03, 0.02])
        others = np.arange(5)[:, None].repeat(400, 1)
        if models:
            others = honest_work(world, rng, 1, models, MODELS)[0].answers
        works.append(AccountSubmissions("baselines", np.vstack([others, drawn])))
        assert not found_in(mix_works(world, works, rng))


def test_queries_drawn_from_the_frequencies_of_the_classes_are_found():
    for i in range(3):
        rng = stream(i, "stratified attack")
        world = unbalanced(rng, 400)
        works = honest_work(world, rng, 8, 12, MODELS)
        works.append(
            AccountSubmissions(
                "attacker", rng.choice(5, (100, 400), p=[0.8, 0.1, 0.05, 0.03, 0.02])
            )
        )
        assert "random-answers" in found_in(mix_works(world, works, rng))


@pytest.mark.parametrize("m", [10, 20, 50])
def test_one_constant_file_for_each_class_is_no_chance(m):
    for i in range(4):
        rng = stream(i, "one of each class", m)
        world = World.drawn(500, m, rng)
        works = honest_work(world, rng, 8, 8, MODELS)
        constant = np.arange(m)[:, None].repeat(500, 1)
        own = honest_work(world, rng, 1, 8, MODELS)[0].answers
        works.append(AccountSubmissions("constants", np.vstack([constant, own])))
        history = mix_works(world, works, rng)
        assert not found_in(history)
        assert not found_in(scores_alone(history))


def path(rng: np.random.Generator, n: int, values: int) -> History:
    """Return teams of logistic models, of which one tries many strengths of regularisation."""
    centres = rng.normal(size=(2, 20)) * 0.34
    labels = rng.integers(0, 2, n + 600)
    records = centres[labels] + rng.normal(size=(n + 600, 20))
    noisy = rng.random(n + 600) < 0.1
    labels = np.where(noisy, rng.integers(0, 2, n + 600), labels)
    train, test = records[:600], records[600:]
    rows = []
    accounts = []

    def fitted(rows: np.ndarray, columns: np.ndarray, strength: float) -> np.ndarray:
        model = LogisticRegression(C=strength, max_iter=60)
        model.fit(train[rows][:, columns], labels[:600][rows])
        return np.asarray(model.predict(test[:, columns]))

    for team in range(8):
        order = rng.permutation(20)
        for j in range(6):
            some = rng.choice(600, 480, replace=False)
            rows.append(fitted(some, order[: 6 + j], 10 ** rng.uniform(-2, 1)))
            accounts.append(f"team-{team}")
    every = np.arange(600)
    for strength in np.linspace(-4, 2, values):
        rows.append(fitted(every, np.arange(20), 10**strength))
        accounts.append("path")
    answers = np.stack(rows)
    order = np.argsort(np.concatenate([rng.random(48), np.sort(rng.random(values))]), kind="stable")
    return in_time(
        None,
        [accounts[i] for i in order],
        (answers[order] == labels[600:]).mean(axis=1),
        n=n,
        n_classes=2,
    )


@pytest.mark.slow
@pytest.mark.parametrize("values", [40, 80, 160])
def test_a_path_of_regularisation_is_no_scan(values):
    games = times(40)
    alarms = sum(bool(found_in(path(stream(i, "path", values), 400, values))) for i in range(games))
    assert alarms <= 0.05 * games


@pytest.mark.slow
@pytest.mark.parametrize("weak", [5, 6, 8])
def test_teams_that_learn_nothing_beside_teams_that_do_accuse_nobody(weak):
    """From scores alone; at least half of ten teams."""
    games = times(100)
    alarms = 0
    for i in range(games):
        rng = stream(i, "half learn nothing", weak)
        levels = np.where(np.arange(10) < weak, 0.52, rng.uniform(0.6, 0.7, 10))
        right = rng.binomial(1_000, levels.repeat(12))
        history = in_time(None, np.arange(10).repeat(12), right / 1_000, n=1_000, n_classes=2)
        alarms += bool(found_in(history))
    assert alarms <= 0.05 * games


def test_a_long_attack_is_seen_where_its_scores_lie_close_together_by_luck():
    # Successive differences have somewhat more than half of the variance of independent scores.
    rng = stream(0, "close by luck")
    half = rng.normal(0, 1, 50)
    # There and back again: a series without a trend.
    off = np.concatenate([half, half[::-1]])
    off *= np.sqrt(0.56 / np.mean(np.diff(off) ** 2 / 2))
    codes = np.zeros(len(off), np.int64)
    assert afresh(off, codes)
    assert not afresh(off * 0.9, codes)


@pytest.mark.parametrize(("m", "kept"), [(4, 0.7), (2, 0.6)])
def test_checkpoints_that_have_learnt_nothing_yet_accuse_nobody_where_answers_are_kept(m, kept):
    for i in range(20):
        rng = stream(i, "checkpoints", m)
        world = World.drawn(1000, m, rng)
        works = honest_work(world, rng, 8, 10, MODELS)
        answers = [rng.integers(0, m, 1000)]
        while len(answers) < 13:
            stays = rng.random(1000) < kept
            answers.append(np.where(stays, answers[-1], rng.integers(0, m, 1000)))
        works.append(AccountSubmissions("small", np.stack(answers)))
        assert "chance-scores" not in found_in(mix_works(world, works, rng))
