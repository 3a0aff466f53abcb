"""Areas under the curve: random submissions stand out by their scores alone, weak models do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.scores import chance_scores, scores_at_chance
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard
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
@pytest.mark.parametrize("share", [0.5, 0.35, 0.2, 0.06])
def test_random_areas_stand_out(share):
    """Where neither class is known, down to a share of .05, which draws around it go below."""
    games = times(20)
    assert sum(least_p(seed, share, 1.0, random=400) < 0.01 for seed in range(games)) >= 0.9 * games


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
    unsaid = audit_leaderboard(history_of_six(history.metric)).report().verdict.unsaid
    assert (
        "Whoever tried single labels, or sent random submissions, could not have been seen: the "
        "scores are logloss:15" in unsaid
    )


def history_of_six(metric: str) -> History:
    scores = np.linspace(0.3, 0.9, 30)
    return in_time(None, ["a", "b", "c", "d", "e", "f"] * 5, scores, n=N, metric=metric)


def contest(seed: int, classes: tuple[int, int], queries: int) -> History:
    """Return eight teams of twelve models, and an account of random scores, by their areas."""
    rng = np.random.default_rng(seed)
    truth = np.arange(sum(classes)) < classes[0]
    names = [f"team {team}" for team in range(8) for _ in range(12)] + ["random"] * queries
    strength = np.repeat(1 + 0.1 * np.arange(8), 12)
    scores = [area(truth, s * truth + rng.normal(size=len(truth))) for s in strength]
    scores += [area(truth, rng.normal(size=len(truth))) for _ in range(queries)]
    order = rng.permutation(len(names))
    return in_time(
        None,
        [names[i] for i in order],
        np.array(scores)[order],
        n=len(truth),
        metric="auc",
    )


@pytest.mark.parametrize("known", ["all points", "both"])
@pytest.mark.parametrize("classes", [(250, 250), (50, 450), (100, 1900)])
def test_random_areas_are_found_whichever_number_of_points_is_given(classes, known):
    found = 0
    for seed in range(6):
        history = contest(seed, classes, 30)
        if known == "both":
            history = replace(history, n_smaller=classes[0])
        tests = scores_at_chance(history)
        found += min(tests, key=lambda test: test.p_value).accounts == ("random",) and (
            min(test.p_value for test in tests) * len(tests) < 0.01
        )
    assert found >= 5


def test_the_smaller_class_is_counted_in_the_labels():
    labels = np.arange(100) < 20
    history = History(
        ("a", "b"), np.array([0.7, 0.8]), 100, 2, labels=labels.astype(int), metric="auc"
    )
    assert history.n_smaller == 20
    assert history.points == 20
    with pytest.raises(InputError, match="smaller class must have 1 to 50 of the 100 points"):
        replace(history, n_smaller=70)
