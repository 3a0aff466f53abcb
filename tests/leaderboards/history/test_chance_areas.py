"""Areas under the curve: random submissions stand out by their scores alone, weak models do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from privacygauge.core.estimate import Skipped
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.history.scores import chance_scores
from tests.thorough import times

N = 1_000


def area(truth: np.ndarray, score: np.ndarray) -> float:
    n_in = int(truth.sum())
    ranks = rankdata(score)[truth].sum()
    return float((ranks - n_in * (n_in + 1) / 2) / (n_in * (len(truth) - n_in)))


def least_p(seed: int, share: float, strength: float, random: int, teams: int = 10) -> float:
    """Return the smallest p-value of a contest: teams of one model each, and a random account."""
    rng = np.random.default_rng(seed)
    truth = rng.random(N) < share
    names = []
    scores = []
    for team in range(teams):
        model = rng.normal(size=N) + strength * truth
        for _ in range(12):
            names.append(f"team {team}")
            scores.append(area(truth, model + 0.3 * rng.normal(size=N)))
    for _ in range(random):
        names.append("random")
        scores.append(area(truth, rng.normal(size=N)))
    order = rng.permutation(len(names))
    history = in_time(None, [names[i] for i in order], np.array(scores)[order], n=N, metric="auc")
    found = chance_scores(history)
    assert not isinstance(found, Skipped)
    # Bonferroni over the accounts, as few as they are here.
    return min(one.p_value for one in found) * len(found)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.35, 0.2, 0.05])
def test_random_areas_stand_out(share):
    games = times(20)
    assert sum(least_p(seed, share, 1.0, random=150) < 0.01 for seed in range(games)) >= 0.9 * games


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.2])
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.3, 1.0])
def test_areas_of_models_do_not(share, strength):
    """Models that know nothing too: a hard task is no attack."""
    games = times(20)
    assert sum(least_p(seed, share, strength, random=0) < 0.01 for seed in range(games)) <= 1


def test_of_other_metrics_chance_is_not_known():
    history = in_time(None, ["a", "b"] * 5, np.linspace(0.3, 0.9, 10), n=N, metric="logloss:15")
    found = chance_scores(history)
    assert isinstance(found, Skipped)
    assert "what random submissions score is not known" in found.reason
