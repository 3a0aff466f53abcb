"""Labels that got out are seen, from scores alone; honest leads are not taken for them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.core.estimate import Skipped
from privacygauge.core.seeds import stream
from privacygauge.evaluate.slices import holm
from privacygauge.leaderboards.history.leads import near_perfect
from privacygauge.leaderboards.history.made import varied_history
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard, verdict
from privacygauge.leaderboards.metrics import metric_named
from privacygauge.report.values import Severity
from tests.thorough import times


def board(rng, teams=10, k=8, n=1000, best=0.0, leaked=(), spread=0.3):
    """Return teams whose errors are spread about; some of them submit the labels in the end."""
    errors = 0.2 * np.exp(spread * rng.normal(size=teams))
    if best:
        errors[0] = errors.min() * best
    names = np.repeat(np.arange(teams), k)
    wrong = rng.binomial(n, np.minimum(0.9, errors[names] * rng.uniform(1, 1.3, len(names))))
    for team, left in leaked:
        wrong[np.flatnonzero(names == team)[-1]] = left
    return in_time(None, names, 1 - wrong / n, n=n)


@pytest.mark.parametrize("leaked", [[(3, 0)], [(3, 2)], [(3, 0), (4, 1)]])
def test_labels_that_got_out_are_found_from_scores(leaked):
    found = sum(
        {str(team) for team, _ in leaked}
        <= set(audit_leaderboard(board(np.random.default_rng(i), leaked=leaked)).suspects)
        for i in range(5)
    )
    assert found >= 4


@pytest.mark.parametrize("wrong", [0.003, 0.005, 0.01])
def test_a_new_method_far_ahead_alone_is_worth_a_look_and_no_finding(wrong):
    n = 10_000
    games = times(20)
    found = [
        audit_leaderboard(board(np.random.default_rng(i), n=n, leaked=[(3, round(wrong * n))]))
        for i in range(games)
    ]
    assert sum("3" in one.suspects for one in found) <= games // 20
    assert sum(any("3" in hint.accounts for hint in one.hints) for one in found) >= 0.9 * games


@pytest.mark.parametrize("left", [0, 2, 3])
@pytest.mark.parametrize("accounts", [4, 6])
def test_labels_that_many_share_are_found_from_scores(accounts, left):
    leaked = [(team, left) for team in range(accounts)]
    shared = {str(team) for team in range(accounts)}
    boards = [
        audit_leaderboard(board(np.random.default_rng(i), 12, leaked=leaked)) for i in range(5)
    ]
    # Three wrong answers in a thousand may be a good method's that all of them took up.
    found = [
        one.suspects if left < 3 else {x for hint in one.hints for x in hint.accounts}
        for one in boards
    ]
    assert sum(shared <= set(names) for names in found) >= 4


def with_private(seed, left=None):
    """Return a board with a private part, of which the first account may know all but `left`."""
    rng = np.random.default_rng(seed)
    names = np.repeat(np.arange(10), 8)
    right = 0.85 * np.exp(-0.05 * np.abs(rng.normal(size=10)))[names] + rng.normal(0, 0.005, 80)
    public, private = (rng.binomial(n, right) / n for n in (2000, 4000))
    if left is not None:
        private[7] = 1 - left / 4000
    history = in_time(None, names, public, n=2000)
    return replace(history, private=private, n_private=4000)


@pytest.mark.parametrize("left", [0, 8])
def test_private_labels_that_got_out_are_found(left):
    found = [audit_leaderboard(with_private(seed, left)).suspects for seed in range(5)]
    assert sum("0" in suspects for suspects in found) >= 4
    honest = [audit_leaderboard(with_private(seed)).suspects for seed in range(5)]
    assert sum(map(bool, honest)) <= 1


def areas(rng, strength, *, leaked=False):
    """Return ten teams' areas, on 500 and 1,000 points of each class; one may have the labels.

    A model sees the class through normal noise: `strength` standard deviations, and a tenth more or
    less of noise, are between the classes.
    """
    truth = np.repeat([0, 1], 1_500)
    public = np.tile(np.arange(1_500) < 500, 2)
    shared = rng.normal(size=3_000)
    rows = []
    for team in range(10):
        own = 0.7 * shared + 0.6 * rng.normal(size=3_000)
        wide = rng.uniform(0.9, 1.1) / strength
        for growth in np.linspace(1.2, 1.0, 12):
            sent = truth + growth * wide * (own + 0.4 * rng.normal(size=3_000))
            if leaked and team == 3 and growth == 1.0:
                sent = truth
            rows.append(
                [metric_named("auc").score(sent[of], truth[of]) for of in (public, ~public)]
            )
    shown, private = np.array(rows).T
    history = in_time(None, np.repeat(np.arange(10), 12), shown, n=1_000, metric="auc")
    return replace(history, private=private, n_private=2_000, n_smaller=500)


@pytest.mark.parametrize(("strength", "games"), [(1.8, 5), (2.9, 10), (3.2, 10)])
def test_labels_are_seen_in_areas_where_counting_tells_them_from_luck(strength, games):
    """Mean areas of .90, .98 and .988: others have ten to a hundred points of a class wrong."""
    named = [
        audit_leaderboard(areas(stream(i, "areas", strength), strength, leaked=True), guards=())
        for i in range(games)
    ]
    seen = sum("3" in {*x.suspects, *(y for h in x.hints for y in h.accounts)} for x in named)
    assert seen >= 0.9 * games


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.8, 2.9, 3.3, 4.0, 4.65, 5.3])
def test_honest_areas_are_not_worth_a_look(strength):
    games = times(100)
    named = [
        audit_leaderboard(areas(stream(i, "honest areas", strength), strength), guards=())
        for i in range(games)
    ]
    # Of 450 other histories 7 were worth a look, each by its gaps.
    assert sum(bool(x.suspects or x.hints) for x in named) <= binom.ppf(0.99, games, 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("better", [4, 8])
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_followers_of_a_public_model_are_not_accused(share, better):
    games = times(100)
    alarms = 0
    for i in range(games):
        rng = np.random.default_rng(i)
        errors = 0.2 * np.exp(0.2 * rng.normal(size=20))
        errors[: int(20 * share)] /= better
        names = np.repeat(np.arange(20), 8)
        wrong = rng.binomial(1000, np.minimum(0.9, errors[names] * rng.uniform(1, 1.3, 160)))
        found = near_perfect(in_time(None, names, 1 - wrong / 1000, n=1000))
        alarms += holm(np.array([x.p_value for x in found])).min() <= 0.05
    assert alarms <= 0.05 * games


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "best"), [(0.1, 0.0), (0.5, 0.0), (0.3, 0.6)])
def test_honest_boards_have_nobody_far_ahead(spread, best):
    games = times(200)
    alarms = 0
    for i in range(games):
        history = board(np.random.default_rng(i), spread=spread, best=best)
        alarms += holm(np.array([x.p_value for x in near_perfect(history)])).min() <= 0.05
    assert alarms <= 0.05 * games


@pytest.mark.slow
def test_histories_of_many_habits_have_nobody_far_ahead():
    games = times(60)
    alarms = 0
    for i in range(games):
        found = near_perfect(varied_history(np.random.default_rng(i)))
        if not isinstance(found, Skipped):
            alarms += holm(np.array([x.p_value for x in found])).min() <= 0.05
    assert alarms <= 0.05 * games


def test_few_accounts_cannot_tell():
    assert isinstance(near_perfect(board(np.random.default_rng(0), teams=4)), Skipped)


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("leaked", [[], [(3, 0)]])
def test_errors_in_place_of_scores_clear_nobody_and_accuse_nobody(leaked, classes):
    """Of errors less is better: the worst submission would look like leaked labels."""
    for i in range(4):
        rng = np.random.default_rng(i)
        fair = board(rng, leaked=leaked)
        order = np.argsort(fair.codes, kind="stable")
        # Teams get better.
        scores = fair.scores - 0.1 * (1 - np.tile(np.arange(8) / 8, 10)) * (fair.scores < 1)
        names = np.array(fair.accounts)[order]
        errors = in_time(None, names, 1 - scores, n=1000, n_classes=classes)
        found = audit_leaderboard(errors, guards=())
        assert verdict(found).grade.severity is Severity.UNTOLD
        assert not found.suspects
        assert "as error" in verdict(found).headline
        told = audit_leaderboard(in_time(None, names, scores, n=1000, n_classes=classes), guards=())
        assert not told.errors


def strong(rng, n, skill):
    """Return twelve teams right on 74 to 80%, of whom one comes up with a far better method."""
    skills = [np.sort(rng.uniform(-0.05, 0, 10) + rng.uniform(0.74, 0.8)) for _ in range(12)]
    skills.append(np.array([0.78] * 4 + [skill] * 6))
    names = np.repeat(np.arange(13), [len(each) for each in skills])
    order = np.argsort(rng.random(len(names)), kind="stable")
    right = rng.binomial(n, np.concatenate(skills))
    # Each team's own submissions keep their order.
    order = order[np.argsort(names[order], kind="stable")][np.argsort(np.argsort(names[order]))]
    return in_time(None, names[order], right[order] / n, n=n)


@pytest.mark.parametrize("n", [50, 100, 300])
@pytest.mark.parametrize("skill", [0.96, 0.98, 0.99, 0.995])
def test_a_strong_method_on_few_points_is_right_on_all_by_luck(n, skill):
    found = [
        audit_leaderboard(strong(np.random.default_rng(i), n, skill), guards=()) for i in range(6)
    ]
    assert not any(one.suspects for one in found)


def test_labels_that_got_out_of_few_points_are_worth_a_look():
    boards = [
        audit_leaderboard(board(np.random.default_rng(i), n=200, leaked=[(3, 0)]), guards=())
        for i in range(5)
    ]
    assert sum(any("3" in hint.accounts for hint in one.hints) for one in boards) >= 4


@pytest.mark.parametrize("n", [500, 2000])
def test_labels_that_got_out_of_some_hundred_points_are_found(n):
    boards = [
        audit_leaderboard(board(np.random.default_rng(i), n=n, leaked=[(3, 0)]), guards=())
        for i in range(5)
    ]
    assert sum("3" in one.suspects for one in boards) >= 4
