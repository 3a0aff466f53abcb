"""Climbs on a public loss or area, whose variance is known to be smaller than its bound only."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.findings import examine_history
from privacygauge.leaderboards.history.overfitting import final_gaps, overfitting, wide_gaps
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.replay import winner
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard, verdict
from privacygauge.leaderboards.metrics import metric_named
from tests.thorough import times

N = 500
NAMES = ("rmse:0:100", "mae:0:100", "logloss:7", "auc")
Files = list[np.ndarray]


def score(name: str, truth: np.ndarray, values: np.ndarray, part: slice) -> float:
    """Return the score of logits of class 1, or of numbers."""
    metric = metric_named(name)
    if metric.numbers:
        return float(metric.score(np.clip(values[part], 0, 100), truth[part]))
    if name == "auc":
        return float(metric.score(values[part], truth[part]))
    one = expit(values[part])
    return float(metric.score(np.column_stack([1 - one, one]), truth[part]))


def base(name: str, rng: np.random.Generator, truth: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Return a model whose errors are half shared with others."""
    own = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=len(truth))
    if metric_named(name).numbers:
        return np.asarray(truth + 10 * rng.uniform(0.95, 1.1) * own)
    wide = rng.uniform(0.75, 0.85)
    return np.asarray((truth + wide * own - 0.5) / wide**2)


def contest(name: str, i: int, kind: str = "none", k: int = 400, teams: int = 9) -> History:
    """Return teams of about ten models that get better, and perhaps another account.

    One that climbs changes a model at random k times and adds the changes up, weighted by their
    scores; one that selects sends k equally good changes of a model, and is judged by its best.
    """
    rng = stream(i, "climb on a loss", name, kind, k)
    numbers = metric_named(name).numbers
    truth = rng.uniform(20, 80, 3 * N) if numbers else rng.integers(0, 2, 3 * N)
    shared = rng.normal(size=3 * N)
    size = 8.0 if numbers else 1.0
    works: list[tuple[str, Files]] = []
    for team in range(teams):
        model = base(name, rng, truth, shared)
        files = [
            model + size * (0.4 - 0.02 * j) * rng.normal(size=3 * N)
            for j in range(int(rng.integers(7, 11)))
        ]
        works.append((f"team-{team}", files))
    model = base(name, rng, truth, shared)
    steps = rng.choice([-1.0, 1.0], size=(k, 3 * N))
    if kind == "climbs":
        files = [model + size * step for step in steps]
        seen = np.array([score(name, truth, file, slice(N)) for file in files])
        sum_ = (seen - seen.mean()) @ steps
        works.append(("climber", [*files, model + 0.6 * size * sum_ / sum_.std()]))
    elif kind == "selects":
        works.append(("selector", [model + 0.3 * size * step for step in steps]))
    rows = sorted(
        (
            (float(at), account, file)
            for account, files in works
            for at, file in zip(np.sort(rng.random(len(files))), files, strict=True)
        ),
        key=lambda row: row[0],
    )
    history = in_time(
        [at for at, _, _ in rows],
        [account for _, account, _ in rows],
        [score(name, truth, file, slice(N)) for *_, file in rows],
        n=N,
        metric=name,
    )
    private = np.array([score(name, truth, file, slice(N, None)) for *_, file in rows])
    smaller = int(min(truth[:N].sum(), N - truth[:N].sum())) if name == "auc" else None
    return replace(history, private=private, n_private=2 * N, n_smaller=smaller)


@cache
def climbed(name: str, i: int) -> History:
    return contest(name, i, "climbs")


def named(history: History) -> set[str]:
    """Return the accounts that are worth a look or stand out."""
    found = examine_history(history, (), 0, 0.95)
    return {account for one in (*found.findings, *found.hints) for account in one.accounts}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("random_private", [False, True])
def test_a_climb_far_beyond_the_other_teams_gaps_is_seen(name, random_private):
    found = [named(replace(climbed(name, i), random_private=random_private)) for i in range(10)]
    assert sum("climber" in names for names in found) >= 9
    assert sum(bool(names - {"climber"}) for names in found) <= 1


@pytest.mark.parametrize("name", ["rmse:0:100", "auc"])
def test_where_parts_are_drawn_at_random_a_climb_by_a_loss_stands_out(name):
    found = [
        examine_history(replace(climbed(name, i), random_private=True), (), 0, 0.95).suspects
        for i in range(10)
    ]
    assert sum(names == ("climber",) for names in found) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("random_private", [False, True])
def test_the_best_of_many_equally_good_files_is_no_climb(name, random_private):
    games = times(60)
    findings = 0
    looks = 0
    for i in range(games):
        history = replace(contest(name, i, "selects"), random_private=random_private)
        found = examine_history(history, (), 0, 0.95)
        findings += bool(found.findings)
        looks += bool(found.findings or found.hints)
    assert findings <= 0.02 * games
    assert looks <= 0.1 * games


@pytest.mark.parametrize("name", NAMES)
def test_honest_contests_by_a_loss_end_quietly(name):
    found = [named(contest(name, i)) for i in range(12)]
    # Of one in twenty: three come about in one of fifty.
    assert sum(map(bool, found)) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("teams", [5, 10])
def test_gaps_of_exchangeable_teams_by_a_loss_have_the_p_values_that_they_say(teams):
    rng = stream(0, "exchangeable")
    games = times(1_000)
    found = []
    for _ in range(games):
        gaps = rng.normal(0.01, 0.002, teams)
        history = in_time(None, np.arange(teams), np.full(teams, 0.9), n=N, metric="rmse:0:100")
        found += [
            one.p_value for one in wide_gaps(replace(history, private=0.9 - gaps, n_private=N))
        ]
    for level in (0.05, 0.01):
        expected = level * games * teams
        assert np.less_equal(found, level).sum() <= expected + 3 * teams**0.5 * expected**0.5


def test_models_that_hardly_differ_do_not_make_the_scale_of_another_kind_of_model():
    """Nine forks of one notebook have one gap; a model of its own has errors of its own."""
    rng = stream(0, "forks")
    alarms = 0
    for _ in range(40):
        gaps = 0.01 + rng.normal(0, 1e-5, 10)
        # Errors of 10 with a normal's tails, half of their variance shared with the notebook.
        gaps[0] += rng.normal(0, 0.1 * np.sqrt(0.5 / 2 * (1 / N + 1 / (2 * N))))
        history = in_time(None, np.arange(10), np.full(10, 0.9), n=N, metric="rmse:0:100")
        history = replace(history, private=0.9 - gaps, n_private=2 * N)
        alarms += min(one.p_value for one in wide_gaps(history)) * 10 <= 0.05
    assert alarms <= 2


def test_accuracies_keep_the_variance_that_is_known():
    """Gaps of others that are close by chance make no scale where sampling gives a wider one."""
    public = np.full(10, 0.8)
    gaps = np.append(0.001 * np.arange(-4, 5), 0.02)
    history = in_time(None, np.arange(10), public, n=1_000)
    history = replace(history, private=public - gaps, n_private=2_000)
    assert min(one.p_value for one in wide_gaps(history)) > 0.05
    assert min(one.p_value for one in final_gaps(replace(history, random_private=True))) > 0.05


def test_the_page_says_from_which_climb_on_it_would_have_been_seen():
    history = contest("mae:0:100", 3)
    audit = audit_leaderboard(history, guards=())
    assert not audit.findings
    assert not audit.hints
    found = overfitting(history)
    assert found is not None
    assert found.seen_from is not None
    # A climb of that size is seen, and one of nine tenths of it is not.
    leader = int(np.argmax(history.scores))
    for share, seen in ((1.02, True), (0.9, False)):
        private = history.private.copy()
        private[leader] = history.scores[leader] - share * found.seen_from
        tests = wide_gaps(replace(history, private=private))
        assert (min(one.p_value for one in tests) * len(tests) <= 0.05) == seen
    unsaid = verdict(audit).unsaid
    assert "could not have been seen" in unsaid
    assert audit.scale.gain(found.seen_from) in unsaid


def test_the_page_says_that_few_teams_show_no_climb():
    history = contest("rmse:0:100", 0, teams=3)
    assert (
        "climb on the public score could not have been seen"
        in verdict(audit_leaderboard(history, guards=())).unsaid
    )


def test_choosing_among_files_by_a_loss_adds_no_more_than_they_spread():
    history = climbed("rmse:0:100", 0)
    rows = history.rows_of(history.names.index("climber"))[:-1]
    gained = history.scores[rows].max() - history.scores[rows].mean()
    assert gained / 2 <= winner(history).selection <= 2 * gained
