"""The guard of a new board serves honest teams, whatever the metric."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from privacygauge.leaderboards.guards import Ladder, RelativeLadder, guard_named
from privacygauge.leaderboards.honest import default_guard_of, guard_cost, honest_submission
from privacygauge.leaderboards.metrics import metric_named
from privacygauge.leaderboards.oracle import Holdout

RNG = np.random.default_rng
N = 1_000
HIDDEN = {
    "accuracy": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "balanced-accuracy": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "top:2": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "brier": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "logloss:34.5": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "f1": np.arange(5 * N) < 100,
    "macro-f1": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "qwk": RNG(0).choice(5, N, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
    "map@2": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "ndcg@2": RNG(0).choice(3, N, p=[0.45, 0.3, 0.25]),
    "r2": np.clip(np.exp(RNG(0).normal(12, 0.5, N)), 1e4, 1e6),
    "crps:1e4:1e6": np.clip(np.exp(RNG(0).normal(12, 0.5, N)), 1e4, 1e6),
    "auc": np.arange(N) < 300,
    "mae:1e4:1e6": np.clip(np.exp(RNG(0).normal(12, 0.5, N)), 1e4, 1e6),
    "mse:1e4:1e6": np.clip(np.exp(RNG(0).normal(12, 0.5, N)), 1e4, 1e6),
    "rmse:1e4:1e6": np.clip(np.exp(RNG(0).normal(12, 0.5, N)), 1e4, 1e6),
}


def holdout_of(name: str) -> Holdout:
    metric = metric_named(name)
    hidden = HIDDEN[name]
    truth, m = metric.truth(hidden.astype(int) if hidden.dtype == bool else hidden, None)
    return Holdout(truth, m, metric)


@pytest.mark.parametrize("name", HIDDEN)
def test_a_board_ranks_as_exact_scores_do(name: str) -> None:
    holdout = holdout_of(name)
    found = guard_cost(holdout, default_guard_of(holdout))
    assert found.ranks >= 0.9
    assert found == guard_cost(holdout, default_guard_of(holdout))


@pytest.mark.parametrize("skills", [(0.3, 0.4), (0.7, 0.8), (0.9, 0.94)])
def test_close_teams_of_every_level_are_ranked_nearly_as_by_exact_scores(
    skills: tuple[float, float],
) -> None:
    """Twenty teams, ten submissions each: rank correlation with their true skills."""
    found = []
    for seed in range(12):
        rng = RNG(seed)
        holdout = Holdout(rng.choice(3, N, p=[0.4, 0.35, 0.25]), 3)
        guard = default_guard_of(holdout)
        difficulty = rng.normal(size=N)
        true = np.linspace(*skills, 20)
        boards = np.zeros((2, 20))
        for team, skill in enumerate(true):
            state = guard.start(bytes(16))
            for progress in np.linspace(-0.05, 0.05, 10):
                sent = honest_submission(holdout, skill + progress, difficulty, rng)
                marked = holdout.marked(sent)
                answer, state = guard.answer(marked, state)
                boards[:, team] = np.maximum(boards[:, team], [answer, marked.accuracy])
        found.append([spearmanr(board, true)[0] for board in boards])
    shown, exact = np.mean(found, axis=0)
    assert shown > exact - 0.08


def test_a_step_of_the_range_shows_nothing_of_a_small_error() -> None:
    holdout = holdout_of("mse:1e4:1e6")
    assert guard_cost(holdout, Ladder(0.032)).ranks < 0.5


def test_a_relative_ladder_shows_rungs_of_the_error_alone() -> None:
    guard = guard_named("ladder:7%")
    assert guard == RelativeLadder(0.07)
    assert guard.name == "ladder:7%"
    holdout = holdout_of("mae:1e4:1e6")
    state = guard.start(bytes(16))
    rng = RNG(1)
    shown = []
    exact = []
    for size in np.linspace(0.3, 0, 40):
        sent = np.clip(holdout.labels * (1 + size * rng.normal(size=N)), 1e4, 1e6)
        marked = holdout.marked(sent)
        answer, state = guard.answer(marked, state)
        shown.append(answer)
        exact.append(marked.score)
    assert np.all(np.diff(shown) >= 0)
    assert shown[-1] == exact[-1] == 1.0
    errors = 1 - np.unique(shown)[:-1]
    rungs = np.log(errors) / np.log(0.93)
    np.testing.assert_allclose(rungs, rungs.round(), atol=1e-6)
    assert np.all(errors[1:] <= errors[:-1] * 0.93 * (1 + 1e-9))
