"""Teams that climb on the public score, and honest ones that choose among what they made."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, norm

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.overfitting import final_gaps, wide_gaps
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard, verdict
from tests.thorough import crossed, quarter, times

N = 1_000
N_PRIVATE = 2_000
TEAMS = 10
EACH = 20


def right(rng: np.random.Generator, k: int, kind: str) -> np.ndarray:
    """Return which points a team's k submissions are right on; what they share is of a kind."""
    size = N + N_PRIVATE
    skill = norm.ppf(rng.uniform(0.75, 0.88))
    base = rng.normal(size=size)
    models = rng.normal(size=(10, size))
    rows = []
    for i in range(k):
        fresh = rng.normal(size=size)
        if kind == "different":
            errors = fresh
        elif kind == "alike" or kind == "growing":
            errors = np.sqrt(0.7) * base + np.sqrt(0.3) * fresh
        elif kind == "copies":
            errors = np.sqrt(0.995) * base + np.sqrt(0.005) * fresh
        elif kind == "walk":
            errors = base = np.sqrt(0.97) * base + np.sqrt(0.03) * fresh
        elif kind == "one in twenty":
            errors = fresh if i % 20 == 0 else np.sqrt(0.995) * base + np.sqrt(0.005) * fresh
        else:  # near copies of ten models, in turns or one model after the other
            which = i % 10 if kind == "turns" else i * 10 // k
            errors = np.sqrt(0.995) * models[which] + np.sqrt(0.005) * fresh
        rows.append(errors < skill + (0.3 * i / k if kind == "growing" else 0.0))
    return np.stack(rows)


def climb(rng: np.random.Generator, k: int, changed: int, fixed: bool = False) -> np.ndarray:
    """Return the same of who flips uncertain labels, and keeps what the public score likes.

    With `fixed` the private points are left alone.
    """
    size = N + N_PRIVATE
    uncertain = rng.random(size) < 0.3
    present = rng.random(size) < np.where(uncertain, 0.5, 1.0)
    public = np.flatnonzero(uncertain[:N])
    private = N + np.flatnonzero(uncertain[N:])
    rows = []
    for _ in range(k):
        tried = present.copy()
        tried[rng.choice(public, changed, replace=False)] ^= True
        if not fixed:
            tried[rng.choice(private, 2 * changed, replace=False)] ^= True
        rows.append(tried)
        if tried[:N].sum() > present[:N].sum():
            present = tried
    return np.stack(rows)


def board(teams: list[np.ndarray], digits: int = 6) -> History:
    """Return a history of teams; scores have so many digits."""
    accounts = np.repeat(np.arange(len(teams)), [len(rows) for rows in teams])
    rows = np.concatenate(teams)
    history = in_time(None, accounts, rows[:, :N].mean(axis=1).round(digits), n=N, n_classes=2)
    private = rows[:, N:].mean(axis=1).round(digits)
    return replace(history, private=private, n_private=N_PRIVATE)


def contest(seed: int, kind: str, cheat: np.ndarray | None = None, k: int = EACH) -> History:
    """Return honest teams, and perhaps one that cheats."""
    rng = stream(seed, "contest", kind)
    return board([right(rng, k, kind) for _ in range(TEAMS)] + ([] if cheat is None else [cheat]))


@pytest.mark.parametrize(
    ("k", "changed", "fixed", "least"),
    [(400, 20, True, 9), (300, 10, False, 9), (400, 20, False, 4), (200, 20, True, 6)],
)
def test_who_climbs_on_the_public_score_is_found(k, changed, fixed, least):
    """More submissions buy no larger allowance where they are one model."""
    found = 0
    for i in range(12):
        cheat = climb(stream(i, "climb", k, changed), k, changed, fixed)
        audit = audit_leaderboard(contest(i, "alike", cheat))
        assert set(audit.suspects) <= {str(TEAMS)}
        found += audit.suspects == (str(TEAMS),)
        # What honest work gives as well is said with the finding.
        assert all("drawn at random" in finding.says for finding in audit.findings)
    assert found >= least


KINDS = ("different", "alike", "growing", "copies", "walk", "one in twenty", "turns", "blocks")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [10, 60])
def test_who_picks_the_best_of_many_models_is_not_accused(kind, k):
    alarms = 0
    games = times(80)
    for i in range(games):
        # The p-values of `final_gaps` are these or 1.
        found = wide_gaps(contest(i, kind, k=k))
        alarms += min(test.p_value for test in found) * len(found) <= 0.05
    # Five in a hundred are allowed: of 40 more than 6 come about in one of a hundred.
    assert alarms <= 0.05 * games + 2.33 * np.sqrt(0.05 * games)


def test_private_scores_that_are_rounded_do_not_hide_that_models_differ():
    """A hundred different models round to few private scores: the best of them is no climb."""
    for i in range(10):
        rng = stream(i, "rounded")
        teams = [right(rng, EACH, "different") for _ in range(TEAMS)]
        found = wide_gaps(board([*teams, right(rng, 100, "different")], digits=2))
        assert min(test.p_value for test in found) * len(found) > 0.05


def drifted(history: History, rng: np.random.Generator, teams: int, step: bool) -> History:
    """Return the history with a private part that is harder by six points for some teams.

    With `step` it is so from one submission on, that first used what did not last.
    """
    assert history.private is not None
    private = history.private.copy()
    for code in range(teams):
        rows = history.rows_of(code)
        first = int(rng.integers(len(rows) // 2)) if step else 0
        private[rows[first:]] -= 0.06
    return replace(history, private=private - 0.02)


@cache
def reached_without_choice() -> float:
    """Return how often a part that is harder for three teams of one submission each is seen."""
    found = 0
    for i in range(300):
        rng = stream(i, "one each")
        skill = rng.uniform(0.75, 0.88, TEAMS)
        history = in_time(None, np.arange(TEAMS), rng.binomial(N, skill) / N, n=N, n_classes=2)
        private = rng.binomial(N_PRIVATE, skill) / N_PRIVATE
        history = replace(history, private=private, n_private=N_PRIVATE)
        tests = wide_gaps(drifted(history, rng, 3, False))
        found += min(test.p_value for test in tests) * TEAMS <= 0.05
    return found / 300


@pytest.mark.slow
@pytest.mark.parametrize("apart", [1.0, 1.5, 2.0, 4.0])
def test_p_values_are_right_however_far_apart_a_harder_part_sets_teams(apart):
    """Gaps spread by sampling alone, or further; by twice as much looks like sampling to few."""
    sampled = np.sqrt(0.8 * 0.2 * (1 / N + 1 / N_PRIVATE))
    games = times(1_600)
    found = []
    for i in range(games):
        gaps = np.clip(stream(i, "apart", apart).normal(0, apart * sampled, TEAMS), -0.2, 0.2)
        history = in_time(None, np.arange(TEAMS), np.full(TEAMS, 0.8), n=N, n_classes=2)
        history = replace(history, private=0.8 - gaps, n_private=N_PRIVATE)
        found += [test.p_value for test in wide_gaps(history)]
    for level, more in ((0.05, 1.0), (0.01, 1.2), (0.001, 3.5 if 1 < apart < 4 else 1.0)):
        expected = more * level * TEAMS
        least = binom.ppf(1 - 1e-4, games, min(1.0, expected))
        assert np.less_equal(found, level).sum() <= least


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step"), crossed(KINDS, (False, True)))
@pytest.mark.parametrize(("teams", "k"), [(1, 20), (3, 60), (3, 200)])
def test_a_private_part_that_is_harder_for_some_teams_is_worth_a_look(kind, teams, k, step):
    """A later month, in which a feature of theirs means something else."""
    accused = named = 0
    games = quarter(100)
    for i in range(games):
        rng = stream(i, "drift", kind)
        history = drifted(contest(i, kind, k=k), rng, teams, step)
        audit = audit_leaderboard(history, guards=())
        accused += bool(audit.suspects)
        named += any(hint.detector.name == "wide-gap" for hint in audit.hints)
    assert accused <= 0.05 * games
    if k == 20 or step:
        return
    # Where all that a team sends is one model, no test can do better than with one submission of
    # each team; where its own errors average out, the other teams' gaps are known better.
    one_model = kind in ("copies", "one in twenty")
    least = binom.ppf(1e-3, games, reached_without_choice()) if one_model else 0.5 * games
    assert named >= least


def test_the_page_names_all_teams_whose_gap_is_wide():
    audit = audit_leaderboard(drifted(contest(0, "alike"), stream(0, "named"), 2, False), guards=())
    assert {name for hint in audit.hints for name in hint.accounts} == {"0", "1"}
    (said,) = (one for one in verdict(audit).sentences if one.startswith("Worth a look"))
    assert "(0, 1)" in said
    # Nothing else on the page explains these gaps away.
    ended = next(section for section in audit.report().sections if section.name == "ended")
    assert "Of 0" not in str(ended.blocks[0])
    assert final_gaps(contest(0, "alike"))[0].p_value == 1.0


@pytest.mark.parametrize("k", [20, 25, 39])
def test_a_few_submissions_whose_gains_do_not_carry_over_are_worth_a_look(k):
    found = []
    for seed in range(10):
        rng = stream(seed, "another hospital", k)
        teams = [right(rng, EACH, "alike") for _ in range(TEAMS - 1)]
        up = norm.ppf(0.75 + 0.14 * np.arange(k) / (k - 1))
        rows = rng.normal(size=(k, N + N_PRIVATE)) < up[:, None]
        # Tuned to the place of the public part: in the private one nothing is gained.
        rows[:, N:] = rng.normal(size=(k, N_PRIVATE)) < norm.ppf(0.75)
        audit = audit_leaderboard(board([rows, *teams]), guards=("exact",))
        assert not audit.findings
        found.append([hint.accounts for hint in audit.hints if hint.detector.name == "wide-gap"])
    # With nine other teams the spread of honest gaps is known roughly, and the test allows for it.
    assert sum(("0",) in names for names in found) >= 8
    # One honest history in twenty may name a team.
    assert sum(names not in ([], [("0",)]) for names in found) <= 1
