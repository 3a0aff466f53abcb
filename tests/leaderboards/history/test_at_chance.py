"""Scores at chance: random labels are named only where models that know nothing are excluded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.findings import HistoryFindings, examine_history
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.scores import (
    chance_scores,
    p_of_shared_answers,
    scores_at_one_level,
)
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard, verdict
from privacygauge.leaderboards.metrics import metric_named
from tests.thorough import times


def board(rng: np.random.Generator, rows: list[list[np.ndarray]], labels: np.ndarray) -> History:
    """Return the scores of eight teams that get better, and of the accounts with these rows."""
    m = int(labels.max()) + 1
    n = len(labels)
    hard = rng.normal(size=n)
    works = []
    for team in range(8):
        skill = rng.uniform(-0.3, 1.5)
        models = [hard + 0.4 * rng.normal(size=n) < skill + 0.03 * j for j in range(10)]
        works.append(
            (f"team-{team}", [np.where(one, labels, rng.integers(0, m, n)) for one in models])
        )
    works += [(f"chance-{i}", files) for i, files in enumerate(rows)]
    made = [
        (at, account, float((file == labels).mean()))
        for account, files in works
        for at, file in zip(np.sort(rng.random(len(files))), files, strict=True)
    ]
    at, accounts, scores = zip(*made, strict=True)
    return in_time(at, accounts, scores, n=n, n_classes=m)


def at_chance(rng: np.random.Generator, kind: str, shared: float, k: int) -> History:
    """Return a board with k files at chance, any two next to each other alike in a share."""
    m = int(rng.choice([2, 4, 10]))
    n = int(rng.choice([500, 1000]))
    labels = np.append(rng.integers(0, m, n - 1), m - 1)
    file = rng.integers(0, m, n)
    files = []
    for _ in range(k):
        # Checkpoints share most with the last one; seeds of one model all share the same.
        keep = rng.random(n) < (shared if kind == "checkpoints" else shared**0.5)
        made = np.where(keep, file, rng.integers(0, m, n))
        files.append(made)
        file = made if kind == "checkpoints" else file
    return board(rng, [files], labels)


def examined(history: History) -> HistoryFindings:
    return examine_history(history, (), 0, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("k", [14, 50, 100])
@pytest.mark.parametrize(("kind", "shared"), [("checkpoints", 0.35), ("checkpoints", 0.6),
                                              ("seeds", 0.35), ("seeds", 0.6)])  # fmt: skip
def test_models_that_know_nothing_are_not_accused_by_scores_alone(kind, shared, k):
    games = times(40)
    named = 0
    for i in range(games):
        history = at_chance(stream(i, "nothing learnt", kind, shared, k), kind, shared, k)
        named += bool(examined(history).findings)
    assert named <= 0.05 * games


@pytest.mark.slow
def test_a_hundred_random_files_are_worth_a_look_and_four_hundred_stand_out():
    games = times(20)
    seen = 0
    named = 0
    for i in range(games):
        rng = stream(i, "random files")
        few = examined(at_chance(rng, "seeds", 0.0, 100))
        seen += "chance-0" in {x for one in (*few.findings, *few.hints) for x in one.accounts}
        named += examined(at_chance(rng, "seeds", 0.0, 400)).suspects == ("chance-0",)
    assert seen >= 0.9 * games
    assert named >= 0.9 * games


def test_the_hint_says_what_else_may_score_like_this():
    found = examined(at_chance(stream(3, "a hint"), "seeds", 0.0, 30))
    assert not found.findings
    (hint,) = found.hints
    assert hint.detector.name == "at-chance"
    assert "look whether these files are random" in hint.detector.limits


@pytest.mark.slow
@pytest.mark.parametrize(("accounts", "each"), [(1, 14), (1, 60), (4, 12)])
@pytest.mark.parametrize("kind", ["checkpoints", "seeds"])
def test_the_p_value_of_shared_answers_keeps_its_level(kind, accounts, each):
    """At the border, where a third of the answers beyond chance is shared."""
    shared = 1 / 3
    games = 4_000
    hits = 0
    rng = stream(0, "shared answers", kind, accounts, each)
    codes = np.arange(accounts).repeat(each)
    for _ in range(games):
        off = rng.normal(size=(accounts, each))
        if kind == "checkpoints":
            for t in range(1, each):
                off[:, t] = shared * off[:, t - 1] + (1 - shared**2) ** 0.5 * off[:, t]
        else:
            off = shared**0.5 * rng.normal(size=(accounts, 1)) + (1 - shared) ** 0.5 * off
        hits += p_of_shared_answers(off.reshape(-1), codes) <= 0.05
    assert hits <= games * 0.05 + 3 * (games * 0.05) ** 0.5


def by_metric(rng: np.random.Generator, name: str, random: int) -> History:
    """Return scores of eight teams by a metric of labels, which their owner gives, and no answers.

    The last account sends this many files of random labels.
    """
    metric = metric_named(name)
    shares = [0.5, 0.3, 0.2] if name == "macro-f1" else [0.7, 0.3]
    m = len(shares)
    labels = rng.choice(m, 600, p=shares)
    hard = rng.normal(size=600)
    made = []
    for team in range(8):
        skill = rng.uniform(0.2, 1.5)
        for j in range(10):
            right = hard + 0.4 * rng.normal(size=600) < skill + 0.03 * j
            file = np.where(right, labels, rng.choice(m, 600, p=shares))
            made.append((float(rng.random()), f"team-{team}", metric.score(file, labels)))
    for _ in range(random):
        file = rng.integers(0, m, 600)
        made.append((float(rng.random()), "random", metric.score(file, labels)))
    at, accounts, scores = zip(*made, strict=True)
    return in_time(at, accounts, scores, n=600, labels=labels, metric=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["macro-f1", "f1", "balanced-accuracy"])
def test_labels_say_what_random_files_score_by_a_metric_of_labels(name):
    games = times(20)
    seen = 0
    alarms = 0
    for i in range(games):
        rng = stream(i, "random labels by a metric", name)
        few = examined(by_metric(rng, name, random=100))
        seen += {x for one in (*few.findings, *few.hints) for x in one.accounts} == {"random"}
        honest = examined(by_metric(rng, name, random=0))
        alarms += bool(honest.findings or honest.hints)
    assert seen >= 0.9 * games
    assert alarms <= 0.1 * games


def test_without_labels_what_random_files_score_is_not_known():
    history = by_metric(stream(0, "no labels"), "macro-f1", random=30)
    found = chance_scores(replace(history, labels=None))
    assert isinstance(found, Skipped)
    assert found.reason == (
        "the scores are macro-f1, not right answers: what random submissions score is not known "
        "without the labels"
    )


def drawn_by(i: int, kind: str, positive: float, k: int, classes: int = 2) -> History:
    """Return the scores of a board of which a quarter, or less, is of another class than the first.

    An account has random labels, of which a share is positive; or honest files that know less than
    the most frequent label: seeds of one weak model, or thresholds of it from one end to the other.
    """
    rng = stream(i, "drawn by frequency", kind, str(positive), str(k), classes)
    n = 1_500
    rates = np.append(0.75, np.full(classes - 1, 0.25 / (classes - 1)))
    labels = np.append(rng.choice(classes, n - 1, p=rates), classes - 1)
    weak = 0.3 * (labels > 0) + rng.normal(size=n)
    files = []
    for j in range(k):
        if kind == "draws":
            share = np.append(1 - positive, np.full(classes - 1, positive / (classes - 1)))
            files.append(rng.choice(classes, n, p=share))
        elif kind == "seeds":
            files.append((weak + 0.7 * rng.normal(size=n) > 0.6).astype(int))
        elif kind == "thresholds":
            files.append((weak > 2 - 2.5 * j / k).astype(int))
        else:
            files.append(np.zeros(n, int))
    return board(rng, [files], labels)


def at_one_level(history: History) -> set[str]:
    found = scores_at_one_level(history)
    return {one.accounts[0] for one in found if one.p_value * len(found) <= 0.05}


@pytest.mark.parametrize("positive", [0.25, 0.1])
def test_random_labels_by_frequency_are_worth_a_look_where_the_labels_are_known(positive):
    seen = 0
    for i in range(10):
        history = drawn_by(i, "draws", positive, 250)
        rng = stream(i, "drawn by frequency", "draws", str(positive), "250", 2)
        labels = np.append(rng.choice(2, 1_499, p=[0.75, 0.25]), 1)
        seen += at_one_level(replace(history, labels=labels)) == {"chance-0"}
    assert seen >= 8


def test_random_labels_by_frequency_are_worth_a_look_from_scores_alone():
    """A tenth of positives spreads the scores too little to tell them from one weak model."""
    seen = sum(at_one_level(drawn_by(i, "draws", 0.25, 250)) == {"chance-0"} for i in range(10))
    assert seen >= 8
    assert not at_one_level(drawn_by(0, "draws", 0.1, 250))
    (hint,) = examined(drawn_by(0, "draws", 0.25, 250)).hints
    assert hint.detector.name == "one-level"


def test_random_labels_by_frequency_of_three_classes_are_worth_a_look():
    seen = 0
    for i in range(10):
        history = drawn_by(i, "draws", 0.25, 250, classes=3)
        rng = stream(i, "drawn by frequency", "draws", "0.25", "250", 3)
        labels = np.append(rng.choice(3, 1_499, p=[0.75, 0.125, 0.125]), 2)
        seen += at_one_level(replace(history, labels=labels)) == {"chance-0"}
    assert seen >= 8


@pytest.mark.parametrize("kind", ["seeds", "thresholds", "constants"])
@pytest.mark.parametrize("k", [60, 150])
def test_honest_files_at_one_level_are_no_draws(kind, k):
    for i in range(10):
        history = drawn_by(i, kind, 0.25, k)
        rng = stream(i, "drawn by frequency", kind, "0.25", str(k), 2)
        labels = np.append(rng.choice(2, 1_499, p=[0.75, 0.25]), 1)
        assert at_one_level(history) == set()
        assert at_one_level(replace(history, labels=labels)) == set()


def test_the_page_says_which_random_labels_could_not_have_been_seen():
    said = verdict(audit_leaderboard(drawn_by(0, "constants", 0.25, 30), guards=())).unsaid
    assert "random labels of unequal frequencies" in said
