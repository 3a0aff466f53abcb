"""The guard of a new board serves honest teams, whatever the metric."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.holdout.guards import Ladder, RelativeLadder, guard_named
from privacygauge.holdout.honest import default_guard_of, guard_cost
from privacygauge.holdout.metrics import metric_named
from privacygauge.holdout.oracle import Holdout

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
