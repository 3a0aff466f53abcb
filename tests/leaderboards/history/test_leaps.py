"""A leap far beyond all others: a new method is not accused, known labels are not passed over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.evidence import AT_CHANCE
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history_audit.audit import (
    LeaderboardAudit,
    audit_leaderboard,
    verdict,
)
from privacygauge.report.values import Severity
from tests.thorough import times


def improving(rng: np.random.Generator, n: int, first: float, last: float, k: int) -> list[float]:
    """Return the accuracies of one team's models, each a little better than the one before."""
    hard = rng.random(n)
    # Models of few errors differ on few points.
    few = 1 - last
    skills = np.linspace(first, last, k) + rng.normal(0, 0.03 * few, k)
    return [float((hard + rng.normal(0, 0.15 * few, n) < skill).mean()) for skill in skills]


def field(rng: np.random.Generator, n: int, level: float, spread: float = 0.1) -> dict:
    """Return ten teams whose errors end within a tenth, or so, of one level."""
    low = min(level, 0.55)
    ends = 1 - (1 - level) * np.exp(spread * rng.standard_normal(10))
    return {
        f"team-{i}": improving(rng, n, max(low, end - 0.25 * (1 - level)), max(low, end), 12)
        for i, end in enumerate(ends)
    }


def scored(rng: np.random.Generator, n: int, teams: dict[str, list[float]]) -> History:
    """Return the scores of all teams; those of one keep their order."""
    names = [name for name, scores in teams.items() for _ in scores]
    at = np.concatenate([np.sort(rng.random(len(scores))) for scores in teams.values()])
    return in_time(at, names, np.concatenate([*teams.values()]), n=n, n_classes=2)


def audited(history: History) -> LeaderboardAudit:
    return audit_leaderboard(history, guards=())


LEAPS = ((0.7, 0.95), (0.75, 0.98), (0.6, 0.9), (0.9, 0.975), (0.92, 0.992))
"""The others, and a new method: pretrained models, networks for handwritten digits."""


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize(("level", "leap"), LEAPS)
def test_a_new_method_that_leaves_all_behind_is_not_accused(level, leap, after):
    """Whether or not its team had submitted ordinary models before."""
    accused = worth = 0
    games = times(100)
    for i in range(games):
        rng = stream(i, "new method", level, after)
        teams = field(rng, 2_000, level)
        before = improving(rng, 2_000, level - 0.03, level, after)
        teams["new"] = before + improving(rng, 2_000, leap - 0.2 * (1 - leap), leap, 5)
        audit = audited(scored(rng, 2_000, teams))
        accused += bool(audit.suspects)
        worth += {name for hint in audit.hints for name in hint.accounts} == {"new"}
    assert accused <= 0.05 * games
    # It may be known labels for all that scores say, and the page says so of a large one.
    assert worth >= (0.9 if 1 - leap <= (1 - level) / 5 else 0.0) * games


def test_a_leap_is_worth_a_look_below_a_finding():
    rng = stream(0, "worded")
    teams = field(rng, 2_000, 0.7) | {"new": improving(rng, 2_000, 0.93, 0.95, 5)}
    audit = audited(scored(rng, 2_000, teams))
    said = verdict(audit)
    assert said.grade.severity is Severity.SMALL
    assert (
        said.headline == "Nothing stands out that honest work would hardly make; worth a look: new"
    )
    assert any("new method" in sentence for sentence in said.sentences)
    assert audit.findings == ()
    assert audit.report().measures[0].found == 0.0
    assert [hint["accounts"] for hint in audit.report().data["hints"]] == [["new"]]


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("level", [0.52, 0.65, 0.76, 0.9, 0.95])
def test_four_fifths_of_the_labels_are_worth_a_look(level, first):
    """From scores alone: with a model of its own kind submitted before, or out of nothing."""
    worth = 0
    games = times(40)
    for i in range(games):
        rng = stream(i, "four fifths", level)
        teams = field(rng, 1_000, level)
        own = improving(rng, 1_000, level - 0.02, level, 2)
        knows = [round(1 - rng.binomial(1_000, 0.2 * (1 - own[-1])) / 1_000, 3)] * 2
        teams["thief"] = [*own, *knows] if first else knows
        audit = audited(scored(rng, 1_000, teams))
        worth += "thief" in {*audit.suspects, *(x for hint in audit.hints for x in hint.accounts)}
    assert worth >= 0.9 * games


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0.0, 0.002])
@pytest.mark.parametrize("level", [0.52, 0.65, 0.76, 0.9, 0.95])
def test_the_labels_themselves_stand_out(level, wrong):
    found = 0
    games = times(40)
    for i in range(games):
        rng = stream(i, "all labels", level)
        teams = field(rng, 1_000, level)
        teams["thief"] = [level, 1 - rng.binomial(1_000, wrong) / 1_000]
        audit = audited(scored(rng, 1_000, teams))
        # Two wrong answers where others have forty may be a new method's.
        leap = {name for hint in audit.hints for name in hint.accounts}
        found += "thief" in (leap | set(audit.suspects) if wrong else audit.suspects)
    assert found >= 0.9 * games


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.05, 0.1])
@pytest.mark.parametrize("level", [0.52, 0.54, 0.56])
def test_weak_teams_are_not_taken_for_random_labels(level, spread):
    """Where hardly anybody is beyond chance, who is not need not cheat."""
    alarms = 0
    games = times(100)
    for i in range(games):
        rng = stream(i, "weak", level, spread)
        alarms += bool(audited(scored(rng, 2_000, field(rng, 2_000, level, spread))).suspects)
    assert alarms <= 0.05 * games


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("level", [0.52, 0.76, 0.95, 0.99])
def test_ordinary_leaders_are_not_worth_a_look(level, spread):
    worth = 0
    games = times(100)
    for i in range(games):
        rng = stream(i, "ordinary", level, spread)
        audit = audited(scored(rng, 1_000, field(rng, 1_000, level, spread)))
        assert audit.suspects == ()
        # Of teams about 52%, some are at chance indeed, which is said of them and no more.
        worth += any(hint.detector is not AT_CHANCE for hint in audit.hints)
    assert worth <= 0.05 * games


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("accounts", [2, 3])
@pytest.mark.parametrize(("level", "wrong"), [(0.9, 0.005), (0.8, 0.012), (0.65, 0.02)])
def test_labels_that_two_or_three_accounts_share_are_worth_a_look(level, wrong, accounts, whole):
    """Each has a history of its own, and the labels but for a few in the end."""
    worth = 0
    games = times(40)
    for i in range(games):
        rng = stream(i, "shared labels", level, accounts)
        teams = field(rng, 1_000, level)
        for thief in range(accounts):
            own = improving(rng, 1_000, level - 0.04, level - 0.02, 3)
            knows = 1 - rng.binomial(1_000, wrong) / 1_000
            teams[f"thief-{thief}"] = [*own, knows]
        history = scored(rng, 1_000, teams)
        if whole:
            history = answered(rng, history)
        audit = audited(history)
        named = {*audit.suspects, *(x for hint in audit.hints for x in hint.accounts)}
        worth += {f"thief-{thief}" for thief in range(accounts)} <= named
    assert worth >= 0.9 * games


def answered(rng: np.random.Generator, history: History) -> History:
    """Return the history with answers of these scores, wrong where points are hard."""
    labels = rng.integers(0, 2, history.n)
    hard = rng.normal(size=history.n)
    rows = []
    for account, score in zip(history.accounts, history.scores, strict=True):
        wrong = round((1 - score) * history.n)
        spread = rng.normal(0, 0.5, history.n)
        # Whoever knows the labels hides it by wrong answers anywhere.
        knows = account.startswith("thief") and score > 0.97
        order = np.argsort(spread if knows else hard + spread)
        row = labels.copy()
        row[order[:wrong]] ^= 1
        rows.append(row)
    answers = np.stack(rows)
    scores = (answers == labels).mean(axis=1)
    return replace(history, scores=scores, answers=answers, labels=labels)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 4, 6])
@pytest.mark.parametrize(
    ("level", "net", "n"),
    [(0.92, 0.996, 10_000), (0.92, 0.997, 10_000), (0.92, 0.996, 2_000), (0.6, 0.995, 10_000)],
)
def test_good_models_of_an_easy_problem_are_not_accused(level, net, n, size):
    """Several teams took the same step, as from linear models of digits to networks."""
    accused = 0
    games = times(100)
    for i in range(games):
        rng = stream(i, "nets", level, size)
        teams = field(rng, n, level)
        for j in range(size):
            before = improving(rng, n, level - 0.02, level, 2)
            teams[f"net-{j}"] = before + improving(rng, n, net - 0.001, net, 3)
        accused += bool(audited(scored(rng, n, teams)).suspects)
    assert accused <= 0.05 * games


@pytest.mark.parametrize("metric", ["accuracy", "rmse:0:1"])
def test_the_page_says_which_knowledge_of_labels_could_not_have_been_seen(metric):
    """Whoever knows more than the named share is worth a look, and no fewer than nine in ten."""
    seen = 0
    for i in range(10):
        rng = stream(i, "could not have been seen", metric)
        teams = field(rng, 1_000, 0.8)
        history = replace(scored(rng, 1_000, teams), metric=metric)
        audit = audited(history)
        assert audit.seen_from is not None
        assert audit.report().data["seen_from"] == audit.seen_from
        best = 1 - max(max(scores) for scores in teams.values())
        power = 0.5 if metric.startswith("rmse") else 1.0
        left = best * (1 - min(1.0, audit.seen_from + 0.02)) ** power
        teams["thief"] = [float(1 - np.floor(left * 1_000) / 1_000)]
        found = audited(replace(scored(rng, 1_000, teams), metric=metric))
        names = {*found.suspects, *(x for hint in found.hints for x in hint.accounts)}
        seen += "thief" in names
    assert seen >= 9


def test_too_few_points_to_see_known_labels_are_named():
    rng = stream(0, "twenty points")
    audit = audited(scored(rng, 20, field(rng, 20, 0.9)))
    assert audit.seen_from is None
    assert "could not have been seen" in str(audit.report().sections[1])


@pytest.mark.slow
def test_accounts_that_know_ever_more_labels_are_worth_a_look():
    """Three accounts that know 70, 90 and 97% of the labels beside a model."""
    worth = 0
    games = times(40)
    for i in range(games):
        rng = stream(i, "ever more labels")
        teams = field(rng, 1_000, 0.76)
        for name, known in (("one", 0.7), ("two", 0.9), ("three", 0.97)):
            own = improving(rng, 1_000, 0.7, 0.76, 3)
            teams[name] = [*own, 1 - rng.binomial(1_000, (1 - known) * (1 - own[-1])) / 1_000]
        audit = audited(scored(rng, 1_000, teams))
        named = {*audit.suspects, *(x for hint in audit.hints for x in hint.accounts)}
        worth += bool(named & {"one", "two", "three"})
    assert worth >= 0.9 * games


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "logloss:1"])
def test_accounts_that_know_few_more_labels_one_after_the_other_are_worth_a_look(metric):
    """The last of three knows hardly more than half: no halving of the next one's errors."""
    worth = 0
    games = times(40)
    for i in range(games):
        rng = stream(i, "one after the other")
        teams = field(rng, 1_000, 0.76)
        for name, known in (("one", 0.55), ("two", 0.8), ("three", 0.93)):
            own = improving(rng, 1_000, 0.7, 0.76, 3)
            teams[name] = [*own, 1 - rng.binomial(1_000, (1 - known) * (1 - own[-1])) / 1_000]
        audit = audited(replace(scored(rng, 1_000, teams), metric=metric))
        named = {*audit.suspects, *(x for hint in audit.hints for x in hint.accounts)}
        worth += {"two", "three"} <= named
    assert worth >= 0.9 * games


@pytest.mark.parametrize("buyers", [12, 19])
def test_labels_that_many_accounts_bought_are_worth_a_look(buyers):
    """A third of the accounts, and more, send one file without an error."""
    for i in range(3):
        rng = stream(i, "bought labels", buyers)
        teams = {}
        for team in range(40):
            teams[f"team-{team}"] = improving(rng, 1000, 0.6, rng.uniform(0.7, 0.8), 4)
            if team < buyers:
                teams[f"team-{team}"].append(1.0)
        found = audited(scored(rng, 1000, teams))
        (hint,) = [hint for hint in found.hints if hint.detector.name == "leap"]
        assert set(hint.accounts) == {f"team-{team}" for team in range(buyers)}
        assert not found.suspects


@pytest.mark.parametrize(
    ("buyers", "of", "wrong"),
    [(11, 25, 0.001), (15, 25, 0.0), (15, 25, 0.001), (12, 100, 0.001), (60, 100, 0.001)],
)
@pytest.mark.parametrize("metric", ["accuracy", "mae:0:1"])
def test_labels_that_went_round_are_worth_a_look(buyers, of, wrong, metric):
    """More than ten accounts send them, a few answers changed or not, and many may be more."""
    for i in range(4):
        rng = stream(i, "went round", buyers, of)
        teams = {}
        for team in range(of):
            teams[f"team-{team}"] = improving(rng, 1500, 0.6, rng.uniform(0.75, 0.85), 4)
            if team < buyers:
                teams[f"team-{team}"].append(1 - rng.binomial(1500, wrong) / 1500)
        found = audited(replace(scored(rng, 1500, teams), metric=metric))
        known = {f"team-{team}" for team in range(buyers)}
        named = {name for hint in found.hints for name in hint.accounts}
        assert named | set(found.suspects) == known


@pytest.mark.parametrize("level", [0.97, 0.99, 0.995])
def test_a_better_method_that_many_teams_took_over_is_not_worth_a_look(level):
    """From 80%, with seeds and settings of their own."""
    worth = 0
    for i in range(10):
        rng = stream(i, "public notebook", level)
        teams = {}
        for team in range(40):
            teams[f"team-{team}"] = improving(rng, 2000, 0.6, rng.uniform(0.75, 0.82), 4)
            if team < 25:
                teams[f"team-{team}"] += improving(rng, 2000, level - 0.002, level, 2)
        worth += bool(audited(scored(rng, 2000, teams)).hints)
    assert worth <= 1


def test_a_task_that_many_solve_without_an_error_is_not_worth_a_look():
    """The others come close."""
    for i in range(5):
        rng = stream(i, "solved")
        errors = [0] * 12 + [1 + k // 2 for k in range(28)]
        teams = {
            f"team-{k}": [*np.sort(rng.uniform(0.9, 0.97, 3)).tolist(), 1 - wrong / 1000]
            for k, wrong in enumerate(errors)
        }
        assert not audited(scored(rng, 1000, teams)).hints
