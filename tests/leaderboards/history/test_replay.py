"""Replays under guards, the curve of noise alone, and what selection explains."""

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.leaderboards.bounds import honest_best_of_k
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.history.made import honest_history
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.replay import (
    best_so_far,
    improvements,
    noise_curve,
    other_answers,
    record_submissions,
    replay,
    scores_ladder,
    winner,
)
from privacygauge.leaderboards.mechanism import MarkedSubmission
from privacygauge.leaderboards.oracle import Holdout

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def history():
    return honest_history(RNG(0), n=300, m=3, teams=3, submissions=10)


@pytest.mark.parametrize("name", ["exact", "round:2", "noise:0.01", "ladder", "ladder:0.02"])
def test_a_replay_is_what_an_oracle_with_the_guard_answers(history, name):
    found = replay(history, guard_named(name), RNG(1))
    oracle = Holdout(history.labels, 3).open(RNG(1), guard=guard_named(name))
    assert np.array_equal(found.shown, oracle.submit_all(history.answers))
    assert found.best == found.shown.max()
    assert not found.approximate


@pytest.mark.parametrize("name", ["exact", "round:2", "ladder:0.02"])
def test_scores_alone_replay_the_same_where_the_guard_needs_no_more(history, name):
    bare = replace(history, answers=None, labels=None)
    whole, found = (replay(h, guard_named(name), RNG(1)) for h in (history, bare))
    assert np.array_equal(whole.shown, found.shown)
    assert found.approximate
    assert isinstance(replay(bare, guard_named("ladder"), RNG(1)), Skipped)


def test_noise_from_scores_alone_is_drawn_submission_by_submission(history):
    bare = replace(history, answers=None, labels=None, scores=np.full(len(history), 0.5))
    shown = replay(bare, guard_named("noise:0.02"), RNG(1)).shown
    assert len(np.unique(shown)) > 5


def test_what_cannot_be_replayed(history):
    assert isinstance(replay(history, guard_named("thresholdout:0.04"), RNG(0)), Skipped)
    noisy = replace(
        history, answers=None, labels=None, scores=np.clip(history.scores + 0.0015, 0, 1)
    )
    assert isinstance(replay(noisy, guard_named("exact"), RNG(0)), Skipped)


def test_rises_and_the_best_so_far():
    scores = np.array([0.5, 0.4, 0.6, 0.6, 0.7])
    assert best_so_far(scores).tolist() == [0.5, 0.5, 0.6, 0.6, 0.7]
    assert record_submissions(scores).tolist() == [False, False, True, False, True]
    assert improvements(scores) == 2


def test_the_curve_of_noise_is_the_mean_best_of_equal_submissions():
    rng = RNG(2)
    n = 400
    k = 30
    games = 400
    counts = rng.binomial(n, 0.7, (games, k))
    best = np.maximum.accumulate(counts / n, axis=1)
    equal = in_time(None, ["a"] * k, np.full(k, 0.7), n=n)
    # The mean of 400 games has a standard error of about .0007; the curve is for normal scores.
    assert noise_curve(equal) == pytest.approx(best.mean(axis=0), abs=0.004)
    assert np.all(np.diff(noise_curve(equal)) >= 0)


def test_the_winner_and_what_selection_explains():
    history = in_time(None, "aaab", [0.7, 0.72, 0.71, 0.71], n=1000)
    found = winner(history)
    assert (found.account, found.submissions, found.best) == ("a", 3, 0.72)
    assert found.margin == pytest.approx(0.01)
    assert found.selection == pytest.approx(honest_best_of_k(1000, 3, accuracy=0.71))
    assert found.explained == 1.0
    assert winner(in_time(None, "aa", [0.5, 0.6], n=9)).explained is None
    assert winner(in_time(None, "ab", [0.6, 0.6], n=10)).explained is None


def test_equal_errors_leave_nothing_to_choose_from():
    rng = RNG(3)
    labels = rng.integers(0, 2, 500)
    row = np.where(rng.random(500) < 0.8, labels, 1 - labels)
    rows = np.stack([np.roll(np.eye(500, dtype=int)[i], 0) ^ row for i in range(4)])
    history = in_time(
        None, "aaaa", (rows == labels).mean(axis=1), n=500, n_classes=2, answers=rows, labels=labels
    )
    found = winner(history)
    naive = np.mean(
        [
            np.corrcoef(rows[i] == labels, rows[j] == labels)[0, 1]
            for i in range(4)
            for j in range(i)
        ]
    )
    assert found.correlation == pytest.approx(naive, abs=1e-9)
    assert found.selection < 0.2 * honest_best_of_k(500, 4, accuracy=0.8)


def test_a_perfect_or_empty_score_is_no_error():
    for score in (0.0, 1.0):
        assert winner(in_time(None, "aab", [score] * 3, n=10)).selection > 0


def test_the_ladder_for_scores_alone():
    assert scores_ladder(10_000).step == pytest.approx(0.01)


def test_areas_that_no_number_of_points_divides_are_no_changed_log():
    """A server's answers are in n-ths of its points; the areas behind it are finer."""
    rng = RNG(8)
    areas = np.round(rng.uniform(0.6, 0.9, 60), 6)
    for n in (150, 300):
        history = History(
            ("a", "b") * 30,
            areas,
            n,
            guard="exact",
            shown=np.round(areas * 300) / 300,
            metric="auc",
        )
        assert other_answers(history) == 0
        changed = history.shown.copy()
        changed[5] += 0.02
        assert other_answers(replace(history, shown=changed)) == 1


def test_of_many_copies_a_few_other_submissions_leave_as_much_to_choose_from():
    rng = RNG(9)
    labels = rng.integers(0, 2, 1_000)

    def model() -> np.ndarray:
        return np.where(rng.random(1_000) < 0.8, labels, 1 - labels)

    rows = np.stack([model()] * 20 + [model() for _ in range(20)])
    # The copies differ on a point each.
    rows[np.arange(20), np.arange(20)] ^= 1
    history = in_time(
        None, ["a"] * 40, (rows == labels).mean(axis=1), n=1_000, n_classes=2,
        answers=rows, labels=labels,
    )  # fmt: skip
    found = winner(history)
    assert found.correlation > 0.2
    assert found.selection > 0.8 * honest_best_of_k(1_000, 20, accuracy=0.8)


def test_a_voided_submission_is_no_best_of_any_guard():
    labels = np.zeros(100, dtype=int)
    rows = np.stack([np.arange(100) >= right for right in (60, 99, 70, 72)]).astype(int)
    history = in_time(
        None, "aaab", (rows == labels).mean(axis=1), n=100, n_classes=2, answers=rows, labels=labels
    )
    voided = replace(history, voided=np.array([False, True, False, False]))
    for name in ("exact", "ladder:0.01"):
        found = replay(voided, guard_named(name), RNG(0))
        assert not isinstance(found, Skipped)
        assert (found.best, found.improvements) == (0.72, 2)
    assert replay(history, guard_named("exact"), RNG(0)).best == 0.99


@pytest.mark.parametrize("shared", [True, False])
def test_a_voided_submission_is_no_changed_log(shared):
    """The board's state went on without it, whether accounts share one or not."""
    rng = RNG(11)
    guard = guard_named("ladder:0.02")
    accounts = ["abc"[i] for i in rng.integers(0, 3, 40)]
    scores = np.sort(np.round(rng.uniform(0.5, 0.8, 40), 3))
    scores[20] = 0.95
    shown = []
    states = {}
    for i, account in enumerate(accounts):
        holder = "all" if shared else account
        before = states.get(holder) or guard.start(b"")
        marked = MarkedSubmission(round(scores[i] * 1_000), 1_000, 2)
        answer, after = guard.answer(marked, before)
        shown.append(answer)
        # Voided at once.
        states[holder] = before if i == 20 else after
    history = History(
        tuple(accounts), scores, 1_000, 2, guard=guard.name, shown=np.array(shown),
        voided=np.arange(40) == 20,
    )  # fmt: skip
    assert other_answers(history) == 0
    changed = np.array(shown)
    changed[np.flatnonzero(np.array(accounts) != accounts[20])[0]] += 0.1
    assert other_answers(replace(history, shown=changed)) >= 1
