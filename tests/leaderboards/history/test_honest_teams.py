"""Honest teams that look like cheats: growth through chance, still scores, shared ties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.findings import inspect
from privacygauge.leaderboards.history.made import (
    HABITS,
    AccountSubmissions,
    World,
    attack_submissions,
    attacked_history,
    honest_work,
    mix_works,
)
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.history.scores import chance_scores, score_scan, scores_at_chance
from tests.thorough import times

TEAMS = 10
EACH = 12


def scored(counts: np.ndarray, n: int, m: int = 2) -> History:
    """Return a history of teams, one a row of right answers in the order of time."""
    teams, each = counts.shape
    accounts = np.arange(teams).repeat(each)
    return in_time(None, accounts, counts.reshape(-1) / n, n=n, n_classes=m)


def smallest(evidence: object) -> float:
    assert isinstance(evidence, tuple)
    return min(test.p_value for test in evidence) * len(evidence)


def field(rng: np.random.Generator, n: int, each: int) -> np.ndarray:
    """Return right answers of teams far above chance that get better."""
    error = 0.25 * np.exp(0.3 * rng.standard_normal(TEAMS - 1)).clip(0.5, 1.4)
    growth = np.linspace(1.2, 1.0, each)
    return np.round(n * (1 - error[:, None] * growth)).astype(int)


@pytest.mark.parametrize("n", [200, 1000])
def test_a_team_that_grows_through_chance_is_not_taken_for_random_labels(n):
    for i in range(20):
        rng = stream(i, "growth at chance", n)
        grown = np.round(n * np.linspace(0.44, 0.53, EACH)) + rng.integers(-1, 2, EACH)
        counts = np.vstack([field(rng, n, EACH), grown])
        assert smallest(chance_scores(scored(counts, n))) > 0.05


@pytest.mark.parametrize("n", [200, 1000])
def test_twenty_random_files_among_others_are_worth_a_look(n):
    found = 0
    for i in range(20):
        rng = stream(i, "random labels", n)
        counts = np.vstack([field(rng, n, 20), rng.binomial(n, 0.5, 20)])
        found += smallest(scores_at_chance(scored(counts, n))) < 0.05
    assert found >= 18


@pytest.mark.parametrize("path", ["rises", "stands still"])
def test_growth_by_single_answers_is_no_scan(path):
    counts = np.arange(800, 840) if path == "rises" else np.append(np.full(39, 195), 196)
    history = scored(counts[None], 1000 if path == "rises" else 200)
    assert smallest(score_scan(history)) == 1.0


def tied(rng: np.random.Generator, n: int, m: int, teams: int, tying: int) -> History:
    """Return the answers of teams, the first `tying` of which break a tenth of ties by coins."""
    labels = rng.integers(0, m, n)
    hard = rng.random(n)
    ties = hard < 0.1
    rival = (labels + rng.integers(1, m, n)) % m
    rows = []
    accounts = []
    for team in range(teams):
        own = 0.5 * hard + 0.4 * rng.random(n)
        for _ in range(EACH):
            wrong = own + 0.1 * rng.random(n) < 0.25
            answer = np.where(wrong, rival, labels)
            if team < tying:
                answer = np.where(ties, np.where(rng.random(n) < 0.5, labels, rival), answer)
            rows.append(answer)
            accounts.append(team)
    answers = np.stack(rows)
    order = rng.permutation(len(rows))
    return in_time(
        np.argsort(order),
        accounts,
        (answers == labels).mean(axis=1),
        n=n,
        n_classes=m,
        answers=answers,
        labels=labels,
    )


def random_changes_in(history: History) -> float:
    found = inspect(history, stream(1, "points")).evidence
    tests = [test for test in found if test.detector.name in ("random-changes", "random-flips")]
    return min(test.p_value for test in tests) * len(found)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(1000, 5), (4000, 2)])
def test_ties_that_all_teams_break_at_random_accuse_nobody(n, m):
    alarms = 0
    for i in range(10):
        history = tied(stream(i, "ties", n, m), n, m, teams=6, tying=6)
        alarms += random_changes_in(history) <= 0.05
    assert alarms == 0


@pytest.mark.slow
@pytest.mark.parametrize("accounts", [1, 10])
def test_who_changes_labels_at_random_is_found_where_models_waver(accounts):
    """Ten accounts that share one base are more than half of all, and do not clear each other."""
    for i in range(5):
        history = attacked_history(
            stream(i, "wavering", accounts), "top-2", n=400, teams=6, accounts=accounts
        )
        assert random_changes_in(history) < 0.001


def findings_in(history: History) -> set[str]:
    """Return the detectors that stand out at the level 0.95: Holm's first step."""
    found = inspect(history, stream(1, "points")).evidence
    return {test.detector.name for test in found if test.p_value * len(found) <= 0.05}


def without_answers(history: History) -> History:
    return replace(history, answers=None, labels=None)


def refitted(rng: np.random.Generator, n: int, noise: float, each: int = 60) -> History:
    """Return eight teams that each train one model again and again, whatever it scores."""
    world = World.drawn(n, 2, rng)
    works = []
    for team in range(8):
        model = world.logits(float(rng.uniform(1.5, 4.0)), world.errors(0.6, rng))
        rows = [(model + world.errors(noise, rng)).argmax(axis=1) for _ in range(each)]
        works.append(AccountSubmissions(f"team-{team}", np.stack(rows)))
    return mix_works(world, works, rng)


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("n", [50, 100])
def test_models_trained_again_on_few_points_are_no_scan(n, noise):
    """A model in doubt on few points changes one or two labels at a time, to and fro."""
    for i in range(3):
        history = refitted(stream(i, "fitted again", n, noise), n, noise)
        assert not findings_in(history)
        assert not findings_in(without_answers(history))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("n", [50, 100, 200])
def test_few_histories_of_models_trained_again_have_a_finding(n, noise):
    games = times(30)
    alarms = np.zeros(2)
    for i in range(games):
        history = refitted(stream(i, "many fitted again", n, noise), n, noise)
        alarms += bool(findings_in(history)), bool(findings_in(without_answers(history)))
    assert (alarms <= 0.05 * games).all()


@pytest.mark.parametrize("n", [80, 100])
@pytest.mark.parametrize("m", [2, 5])
def test_a_scan_of_few_points_is_found_among_models_trained_again(n, m):
    for i in range(3):
        rng = stream(i, "scan of few points", n, m)
        world = World.drawn(n, m, rng)
        works = honest_work(world, rng, 6, 20, ("seeds",))
        works.append(AccountSubmissions("scan", attack_submissions(world, "scan", n, rng)))
        assert "one-label-scan" in findings_in(mix_works(world, works, rng, turns=1))


@pytest.mark.parametrize(("m", "constants", "models"), [(10, 10, 20), (10, 5, 20), (5, 5, 10)])
def test_constant_baselines_are_not_random_answers(m, constants, models):
    """A file with one label everywhere is right on 1/m of the points, and tells one frequency."""
    for i in range(3):
        rng = stream(i, "constants", m, constants)
        world = World.drawn(500, m, rng)
        works = honest_work(world, rng, 8, 20, HABITS)
        own = world.errors(0.6, rng)
        rows = [np.full(500, label) for label in range(constants)] + [
            world.logits(rng.uniform(1, 2.5), own + world.errors(0.4, rng)).argmax(axis=1)
            for _ in range(models)
        ]
        works.append(AccountSubmissions("baselines", np.stack(rows)))
        found = inspect(mix_works(world, works, rng), rng).evidence
        assert not [
            test.detector.name
            for test in found
            if test.p_value * len(found) <= 0.05 and "baselines" in test.accounts
        ]


def of_weak_trees(seed: int, n: int) -> History:
    """Return noisy digits that one student classifies with trees of sixty records each."""
    rng = np.random.default_rng(seed)
    digits, labels = load_digits(return_X_y=True)
    train, test, train_labels, truth = train_test_split(
        digits + rng.normal(0, 6, digits.shape),
        labels,
        test_size=n,
        random_state=seed,
        stratify=labels,
    )
    accounts = []
    rows = []
    for student in range(5):
        keep = rng.random(len(train)) < 0.6
        for neighbours in rng.integers(1, 30, 10):
            model = KNeighborsClassifier(int(neighbours)).fit(train[keep], train_labels[keep])
            rows.append(model.predict(test))
            accounts.append(f"student-{student}")
    for i in range(40):
        few = rng.integers(0, len(train), 60)
        tree = DecisionTreeClassifier(max_features=2, random_state=i)
        rows.append(tree.fit(train[few], train_labels[few]).predict(test))
        accounts.append("trees")
    answers = np.stack(rows)
    return in_time(
        rng.random(len(rows)),
        accounts,
        (answers == truth).mean(axis=1),
        n=n,
        n_classes=10,
        answers=answers,
        labels=truth,
    )


@pytest.mark.parametrize("n", [60, 120])
def test_weak_trees_are_no_random_changes(n):
    """Models that know hardly more than chance are not told from it on so few points."""
    for seed in range(4):
        assert not findings_in(of_weak_trees(seed, n))


@pytest.mark.parametrize("m", [2, 10])
def test_random_changes_of_a_model_on_few_points_are_found(m):
    for i in range(3):
        history = attacked_history(
            stream(i, "changes on few points", m), "top-2", n=300, m=m, teams=6, queries=60
        )
        assert "random-changes" in findings_in(history)


def of_weak_models_of_many_classes(seed: int, n: int) -> History:
    """Return histories of nine teams with nine models each, for thirty classes; three are weak."""
    rng = stream(seed, "weak models of many classes", n)
    labels = rng.integers(0, 30, n)
    # Easy points are right for most models; a wrong model answers with some class alike.
    easy = rng.beta(0.4, 2.4, n)
    rows = []
    for i in range(81):
        wrong = (labels + rng.integers(1, 12, n)) % 30
        share = easy ** [1.0, 0.2, 0.1][i % 3]
        rows.append(np.where(rng.random(n) < share, labels, wrong))
    answers = np.stack(rows)
    scores = (answers == labels).mean(axis=1)
    accounts = np.arange(81) % 9
    return in_time(None, accounts, scores, answers=answers, n=n, n_classes=30, labels=labels)


@pytest.mark.parametrize("n", [150, 400])
def test_few_weak_models_of_many_classes_are_no_random_changes(n):
    games = times(40)
    alarms = [
        "random-changes" in findings_in(of_weak_models_of_many_classes(seed, n))
        for seed in range(games)
    ]
    assert sum(alarms) <= 0.05 * games


@pytest.mark.parametrize("candidates", [6, 8])
def test_random_choices_among_likely_labels_are_found_among_weak_models(candidates):
    """Who draws among as many likely labels of each point knows something, but agrees alike."""
    found = 0
    for seed in range(10):
        history = of_weak_models_of_many_classes(seed, 400)
        rng = stream(seed, "drawn among candidates", candidates)
        likely = rng.permuted(np.tile(np.arange(30)[:, None], 400), axis=0)[:candidates]
        drawn = likely[rng.integers(0, candidates, (20, 400)), np.arange(400)]
        scores = np.concatenate([history.scores, (drawn == history.labels).mean(axis=1)])
        joined = in_time(
            None,
            np.concatenate([history.codes, np.full(20, 9)]),
            scores,
            answers=np.concatenate([history.answers, drawn]),
            n=400,
            n_classes=30,
        )
        found += "random-changes" in findings_in(joined)
    assert found >= 9


@pytest.mark.parametrize("labels", [True, False])
def test_features_screened_one_by_one_are_weak_models_and_no_random_labels(labels):
    """Independent weak models agree as little as random labels do, and are right more often."""
    n = 100
    found = {"weak": 0, "random": 0}
    for i in range(16):
        for kind in found:
            rng = stream(i, "screened", kind)
            truth = rng.integers(0, 2, n)
            easy = rng.random(n) < 0.7
            # Others are right where it is easy, and the screened files a little more often there.
            share = np.where(easy, 0.55, 0.52) if kind == "weak" else np.full(n, 0.5)
            rows = [rng.random((20, n)) < share]
            rows += [rng.random((12, n)) < np.where(easy, 0.97, 0.5) for _ in range(6)]
            right = np.concatenate(rows)
            names = np.repeat(np.arange(7), [20, *[12] * 6])
            history = in_time(
                None,
                names,
                right.mean(axis=1),
                n=n,
                n_classes=2,
                answers=np.where(right, truth, 1 - truth),
                labels=truth if labels else None,
            )
            tests = inspect(history, rng).evidence
            found[kind] += min(test.p_value for test in tests) * len(tests) <= 0.05
    # A few weak accounts are at chance for all that 100 points tell, a few random ones beyond it.
    assert found["weak"] <= 3
    assert found["random"] >= 13
