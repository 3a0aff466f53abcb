"""Random files by losses: they lose what draws lose, and spread as draws do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtri

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.scores import blind_losses
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard
from privacygauge.leaderboards.metrics import Metric, metric_named
from tests.thorough import times

N = 1_000
NAMES = ("brier", "logloss:15", "mse:0:1", "rmse:0:1", "mae:0:1")


def scored(metric: Metric, value: np.ndarray, truth: np.ndarray) -> float:
    """Return the score of probabilities of class 1, or of them as numbers."""
    if metric.numbers:
        return float(metric.score(value, truth.astype(float)))
    return float(metric.score(np.column_stack([1 - value, value]), truth))


def board(i: int, name: str, skill: float, sure: float = 1.0, fresh: float = 0.16) -> History:
    """Return ten teams of 15 models that see the class through noise.

    They say it with probabilities that are as sure as they know, or surer. A share of the noise is
    another in each file.
    """
    rng = stream(i, "sure", name, str(skill), str(sure), str(fresh))
    metric = metric_named(name)
    truth = rng.integers(0, 2, N)
    shared = rng.normal(size=N)
    names = []
    scores = []
    for team in range(10):
        own = np.sqrt(1 - fresh) * (0.8 * shared + 0.6 * rng.normal(size=N))
        wide = 0.5 / ndtri(skill) * rng.uniform(0.9, 1.1)
        for _ in range(15):
            seen = truth + wide * (own + np.sqrt(fresh) * rng.normal(size=N))
            names.append(f"team-{team}")
            said = expit(np.clip(sure * (seen - 0.5) / wide**2, -30, 30))
            scores.append(scored(metric, said, truth))
    order = rng.permutation(len(names))
    history = in_time(None, [names[k] for k in order], np.array(scores)[order], n=N, metric=name)
    return replace(history, n_classes=None if metric.numbers else 2)


def with_random_files(i: int, name: str, skill: float, k: int) -> History:
    """Return the board with an account of k random files, and of their average by scores."""
    rng = stream(i, "random files", name)
    metric = metric_named(name)
    honest = board(i, name, skill)
    truth = rng.integers(0, 2, N)
    files = rng.random((k, N))
    scores = np.array([scored(metric, file, truth) for file in files])
    vote = (scores - scores.mean()) @ files
    last = scored(metric, np.where(vote > np.median(vote), 0.999, 0.001), truth)
    places = np.sort(rng.integers(0, len(honest) + 1, k + 1))
    return replace(
        honest,
        accounts=tuple(np.insert(np.array(honest.accounts, object), places, "averager")),
        scores=np.insert(honest.scores, places, [*scores, last]),
    )


def named(history: History) -> set[str]:
    """Return the accounts that stand out by random losses, after Bonferroni's correction."""
    found = blind_losses(history)
    return {name for one in found if one.p_value * len(found) <= 0.05 for name in one.accounts}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("skill", [0.55, 0.9])
def test_random_files_are_worth_a_look_by_any_loss(name, skill):
    found = [named(with_random_files(i, name, skill, 200)) for i in range(10)]
    assert sum("averager" in names for names in found) >= 8
    assert sum(bool(names - {"averager"}) for names in found) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("skill", [0.52, 0.6, 0.75])
@pytest.mark.parametrize(("sure", "fresh"), [(1, 0.16), (3, 0.16), (3, 0.5), (10, 0.16)])
def test_models_that_are_too_sure_of_themselves_are_no_random_files(name, skill, sure, fresh):
    games = times(20)
    assert sum(bool(named(board(i, name, skill, sure, fresh))) for i in range(games)) <= 1


def test_the_page_names_random_files():
    audit = audit_leaderboard(with_random_files(0, "brier", 0.75, 100), guards=())
    assert not audit.findings
    assert [(hint.detector.name, hint.accounts) for hint in audit.hints] == [
        ("blind-losses", ("averager",))
    ]


@pytest.mark.parametrize("form", ["simplex", "divided", "labels"])
def test_random_probabilities_of_several_classes_are_seen(form):
    rng = stream(0, "classes", form)
    metric = metric_named("brier")
    truth = rng.integers(0, 4, N)
    names = []
    scores = []
    for team in range(8):
        for _ in range(10):
            right = np.where(rng.random(N) < 0.6 + 0.03 * team, truth, rng.integers(0, 4, N))
            names.append(f"team-{team}")
            scores.append(metric.score(0.1 + 0.6 * np.eye(4)[right], truth))
    for _ in range(60):
        file = rng.dirichlet(np.ones(4), N)
        if form == "divided":
            file = rng.random((N, 4))
            file /= file.sum(axis=1, keepdims=True)
        elif form == "labels":
            file = np.eye(4)[rng.integers(0, 4, N)]
        names.append("random")
        scores.append(metric.score(file, truth))
    history = in_time(None, names, scores, n=N, metric="brier")
    # What random probabilities lose depends on the number of classes.
    assert blind_losses(history) == ()
    assert named(replace(history, n_classes=4)) == {"random"}
