"""What each detector finds, what it leaves alone, and how it stays blind to names and order."""

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.leaderboards.history import answers, votes
from privacygauge.leaderboards.history.evidence import ALL
from privacygauge.leaderboards.history.findings import inspect
from privacygauge.leaderboards.history.made import (
    ATTACKS,
    HABITS,
    AccountSubmissions,
    World,
    attack_submissions,
    attacked_history,
    honest_history,
    honest_work,
    mix_works,
)
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.history.scores import chance_scores, score_scan, scores_at_chance
from privacygauge.leaderboards.history.votes import nearness
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard
from tests.thorough import crossed

RNG = np.random.default_rng


def small(attack, accounts=1, queries=60, m=2, seed=0):
    return attacked_history(
        RNG(seed), attack, n=400, m=m, teams=4, submissions=10, queries=queries, accounts=accounts
    )


def smallest(evidence, name):
    return min((x for x in evidence if x.detector.name == name), key=lambda x: x.p_value)


# Detector, attack, accounts, whether the scores alone are there.
FOUND = [
    ("score-scan", "scan", 1, True),
    ("chance-scores", "nb", 1, True),
    ("chance-scores", "majority", 6, True),
    ("at-chance", "nb", 1, True),
    ("at-chance", "majority", 6, True),
    ("one-label-scan", "scan", 1, False),
    ("one-label-scan", "scan", 3, False),
    ("random-answers", "nb", 1, False),
    ("random-answers", "majority", 12, False),
    ("random-changes", "top-2", 1, False),
    ("random-changes", "top-2", 3, False),
    ("vote-of-others", "nb", 3, False),
    ("settled-points", "designed", 1, False),
    ("random-flips", "flips", 1, False),
    ("random-flips", "flips", 3, False),
]


@pytest.mark.parametrize(("name", "attack", "accounts", "bare"), FOUND)
def test_each_detector_finds_its_attack_and_names_the_attackers(name, attack, accounts, bare):
    # From scores alone only many exclude models that have learnt nothing.
    queries = {"scan": 120}.get(attack, 400 if name == "chance-scores" else 60)
    history = small(attack, accounts, queries=queries)
    if bare:
        history = replace(history, answers=None, labels=None)
    looked = inspect(history, RNG(1))
    found = smallest((*looked.evidence, *looked.undecided), name)
    assert found.p_value < 1e-4
    assert all(account.startswith("attacker") for account in found.accounts)
    assert len(found.rows)


def course(rng, students, each, baselines, cheats=0, n=500):
    """Return a course whose students each send random baselines; cheats send nothing else."""
    labels = rng.integers(0, 2, n)
    accounts = []
    rows = []
    for student in range(students + cheats):
        skill = rng.uniform(0.65, 0.88)
        honest = student < students
        for i in range(each):
            right = rng.random(n) < skill
            guess = i < baselines or not honest
            rows.append(rng.integers(0, 2, n) if guess else np.where(right, labels, 1 - labels))
            accounts.append(f"student-{student}" if honest else f"attacker-{student}")
    order = rng.permutation(len(rows))
    answers = np.stack(rows)[order]
    return in_time(
        None,
        [accounts[i] for i in order],
        (answers == labels).mean(axis=1),
        n=n,
        n_classes=2,
        answers=answers,
        labels=labels,
    )


@pytest.mark.parametrize(
    ("students", "each", "baselines"), [(20, 8, 2), (30, 5, 1), (12, 8, 2), (8, 6, 2)]
)
def test_random_baselines_that_a_whole_course_sends_accuse_nobody(students, each, baselines):
    history = course(RNG(3), students, each, baselines)
    found = smallest(inspect(history, RNG(1)).evidence, "random-answers")
    assert found.p_value > 0.05


@pytest.mark.parametrize("baselines", [0, 1, 2])
def test_cheats_beside_a_course_that_sends_random_baselines_are_found(baselines):
    history = course(RNG(4), 12, 12, baselines, cheats=4)
    found = smallest(inspect(history, RNG(1)).evidence, "random-answers")
    assert found.p_value < 1e-4
    assert all(account.startswith("attacker") for account in found.accounts)


def test_a_group_is_found_where_no_account_is():
    # Eleven of them send nothing else, which is no custom of baselines beside models.
    for queries, test in ((60, scores_at_chance), (400, chance_scores)):
        history = small("nb", accounts=12, queries=queries)
        tests = test(replace(history, answers=None, labels=None))
        found = [x for x in tests if x.p_value < 1e-4 and len(x.accounts) > 1]
        assert [len(x.accounts) > 5 for x in found] == [True]


def test_names_and_the_order_of_rows_do_not_matter():
    history = small("top-2", m=3)
    order = RNG(2).permutation(len(history))
    again = in_time(
        history.times[order],
        [f"x{history.accounts[i]}" for i in order],
        history.scores[order],
        n=history.n,
        n_classes=3,
        answers=history.answers[order],
        labels=history.labels,
    )
    first, second = (inspect(h, RNG(1)).evidence for h in (history, again))
    assert [x.p_value for x in first] == [x.p_value for x in second]
    assert [tuple(f"x{a}" for a in x.accounts) for x in first] == [x.accounts for x in second]


def test_permuting_points_and_renaming_labels_change_no_p_value():
    history = small("nb", m=3)
    order = RNG(2).permutation(history.n)
    names = np.array([2, 0, 1])
    other = replace(
        history, answers=names[history.answers][:, order], labels=names[history.labels][order]
    )
    first, second = (inspect(h, RNG(1)).evidence for h in (history, other))
    # Equally frequent labels may be resolved the other way.
    for a, b in zip(first, second, strict=True):
        assert (a.detector, a.accounts) == (b.detector, b.accounts)
        if a.detector.name in (
            "one-label-scan",
            "random-answers",
            "shared-lineage",
            "chance-scores",
        ):
            assert a.p_value == pytest.approx(b.p_value, rel=1e-9)


@pytest.mark.parametrize("habit", HABITS)
def test_honest_habits_are_left_alone(habit):
    history = honest_history(RNG(3), n=400, m=3, teams=2, submissions=24, habits=[habit])
    for h in (history, replace(history, answers=None, labels=None)):
        assert min(x.p_value for x in inspect(h, RNG(1)).evidence) > 1e-3


@pytest.mark.parametrize(("m", "share"), crossed([2, 3], [0.1, 0.25, 1 / 3]))
def test_flips_of_a_weak_model_are_found_by_nothing_else(share, m):
    """The model is right on about three points in four; the labels are needed."""
    rng = RNG(9)
    world = World.drawn(1_000, m, rng)
    base = world.logits(1.0 if m == 2 else 1.6, world.errors(0.6, rng)).argmax(axis=1)
    assert 0.7 < (base == world.labels).mean() < 0.8
    other = (base + rng.integers(1, m, (60, 1_000))) % m
    rows = np.where(rng.random((60, 1_000)) < share, other, base)
    honest = World.drawn(1_000, m, rng)
    steady = honest.logits(2.0, honest.errors(0.6, rng)).argmax(axis=1)
    history = mix_works(
        world,
        [AccountSubmissions("flips", rows), AccountSubmissions("other", np.stack([steady] * 3))],
        rng,
    )
    found = inspect(history, rng).evidence
    assert smallest(found, "random-flips").p_value < 1e-10
    assert min(x.p_value for x in found if x.detector.name != "random-flips") > 1e-3
    blind = inspect(replace(history, labels=None), rng)
    assert any(each.name == "Random flips of a model" for each in blind.skipped)


def test_resubmissions_are_no_scan():
    rng = RNG(4)
    world = World.drawn(400, 2, rng)
    row = world.logits(2.0, world.errors(0.5, rng)).argmax(axis=1)
    history = mix_works(
        world,
        [AccountSubmissions("a", np.stack([row] * 60)), AccountSubmissions("b", row[None])],
        rng,
    )
    assert min(x.p_value for x in inspect(history, rng).evidence) > 0.05
    bare = replace(history, answers=None, labels=None)
    assert min(x.p_value for x in inspect(bare, rng).evidence) > 0.05


def alternating(keeps_own):
    """Return a chain of small changes that two accounts take turns with, two steps at a time."""
    rng = RNG(5)
    rows = [rng.integers(0, 2, 600)]
    for i in range(1, 120):
        # Every second step is a leap: its successor is near to it, and to nothing before.
        change = 0.02 if i % 2 else 0.3
        rows.append(np.where(rng.random(600) < change, 1 - rows[-1], rows[-1]))
    # Ann leaps and Bob follows, then the other way round; or everybody follows their own.
    turns = ("ann", "ann", "bob", "bob") if keeps_own else ("ann", "bob", "bob", "ann")
    accounts = [turns[i % 4] for i in range(120)]
    history = in_time(None, accounts, [0.5] * 120, n=600, n_classes=2, answers=np.stack(rows))
    return answers.shared_lineage(history, nearness(history, rng))[0]


def test_two_who_go_on_with_each_others_work():
    pair = alternating(keeps_own=False)
    apart = alternating(keeps_own=True)
    assert pair.accounts == ("ann", "bob")
    # Half of the files of either follow the other's: what the null just allows.
    assert pair.says.startswith("30 of 60 and 29 of 60")
    assert pair.p_value > 0.3
    assert apart.says.startswith("0 of 60 and 0 of 60")
    assert apart.p_value == 1.0


def converging(turns):
    """Return twenty climbs with ever smaller steps, whose submissions accounts make in turns."""
    rng = RNG(8)
    rows = []
    for _ in range(20):
        rows.append(rng.integers(0, 2, 2_000))
        for change in (0.2, 0.1, 0.05, 0.025, 0.0125):
            rows.append(np.where(rng.random(2_000) < change, 1 - rows[-1], rows[-1]))
    accounts = [turns[i % len(turns)] for i in range(120)]
    history = in_time(None, accounts, [0.5] * 120, n=2_000, n_classes=2, answers=np.stack(rows))
    return answers.shared_lineage(history, nearness(history, rng))[0]


def test_two_accounts_on_one_climb_are_found():
    # They begin a climb in turns too: its first submission goes on with nobody's work.
    together = converging(("ann", "bob") * 3 + ("bob", "ann") * 3)
    assert together.accounts == ("ann", "bob")
    assert together.p_value < 1e-5
    # Whoever climbs alone is not found.
    assert converging(("ann",) * 6 + ("bob",) * 6).p_value > 0.5


def test_an_honest_answer_has_a_slope_of_at_most_one():
    rng = RNG(6)
    world = World.drawn(800, 2, rng)
    queries = AccountSubmissions("asks", attack_submissions(world, "nb", 120, rng)[:-1])
    honest = np.stack([world.logits(1.5, world.errors(0.6, rng)).argmax(axis=1) for _ in range(6)])
    history = mix_works(world, [queries, AccountSubmissions("late", honest)], rng)
    late = replace(history, times=None)
    near = nearness(late, rng)
    random = answers.random_rows(late, near)
    assert random.uniform.sum() > 110
    found = votes.votes(late, near, random.flags, random.uniform)
    assert all(x.p_value > 0.01 for x in found)


def test_what_is_not_at_hand_is_skipped_with_a_reason():
    history = small("nb")
    bare = replace(history, answers=None, labels=None, n_classes=None)
    assert isinstance(chance_scores(bare), Skipped)
    rounded = replace(bare, scores=np.minimum(history.scores + 0.0011, 1))
    assert isinstance(score_scan(rounded), Skipped)
    skipped = inspect(rounded, RNG(0)).skipped
    # Scores are enough to see who is far ahead.
    assert len(skipped) == len(ALL) - 1
    assert (
        inspect(replace(history, labels=None), RNG(0)).skipped[-1].reason.startswith("the labels")
    )


def test_a_lone_submission_is_no_evidence():
    history = in_time(None, ["a"], [0.5], n=10, n_classes=2, answers=[[0, 1] * 5], labels=[0] * 10)
    for h in (history, replace(history, answers=None, labels=None)):
        assert all(x.p_value > 0.1 for x in inspect(h, RNG(0)).evidence)


def test_distances_are_exact_beyond_the_sample():
    rng = RNG(7)
    base = rng.integers(0, 3, 5000)
    rows = np.stack([base] * 4)
    rows[1, 17] += 1
    rows[2, [3, 4000]] += 1
    history = in_time(None, "abcd", [0.5] * 4, n=5000, n_classes=4, answers=rows)
    near = nearness(history, rng)
    assert near.distance.tolist() == [-1, 1, 2, 1]
    assert near.copy_of.tolist() == [0, 1, 2, 0]


def test_detectors_have_names_of_their_own():
    assert len({d.name for d in ALL}) == len(ALL)


@pytest.mark.parametrize("attack", ATTACKS)
def test_planted_attacks_gain_what_they_are_for(attack):
    rng = RNG(8)
    world = World.drawn(600, 2, rng)
    rows = attack_submissions(world, attack, 128, rng)
    assert rows.shape[1] == 600
    scores = (rows == world.labels).mean(axis=1)
    assert scores[-1] > np.mean(scores[:-1]) + 0.02


def test_no_such_attack_or_habit():
    with pytest.raises(InputError, match=r"^attack must be one of scan, .* got 'guess'"):
        attacked_history(RNG(0), "guess", n=50)
    with pytest.raises(InputError, match=r"^habits must be of rising"):
        honest_history(RNG(0), n=50, habits=["cheating"])


@pytest.mark.parametrize("m", [2, 10])
@pytest.mark.parametrize("keeps", [True, False])
def test_blocks_of_one_size_are_found_with_answers(m, keeps):
    """Five labels at a time, so that their scores average over five."""
    for seed in range(5):
        rng = RNG(seed)
        world = World.drawn(1_000, m, rng)
        works = honest_work(world, rng, teams=6, submissions=15, habits=HABITS)
        present = world.logits(2.0, world.errors(0.6, rng)).argmax(axis=1)
        rows = [present]
        for block in rng.permutation(1_000)[:500].reshape(100, 5):
            tried = present.copy()
            tried[block] = (tried[block] + rng.integers(1, m, 5)) % m
            rows.append(tried)
            if keeps and world.score(tried) > world.score(present):
                present = tried
        history = mix_works(world, [*works, AccountSubmissions("blocks", np.stack(rows))], rng)
        evidence = inspect(history, RNG(1)).evidence
        found = smallest(evidence, "one-label-scan")
        assert found.accounts == ("blocks",)
        assert found.p_value * len(evidence) < 0.05


def wavering_board(rng, rows, n):
    """Return a history of six models that waver on doubtful points, and one account's rows."""
    truth = rng.integers(0, 2, n)
    doubt = rng.random(n) < 0.35
    # Models of different strength: the weaker, the more of the doubtful points are wrong.
    hard = rng.normal(size=n)
    teams = []
    for _ in range(6):
        own = hard + 0.5 * rng.normal(size=n)
        right = [
            ~doubt | (own + 0.3 * rng.normal(size=n) < level) for level in rng.normal(0.2, 0.4, 12)
        ]
        teams.append(np.where(np.array(right), truth, 1 - truth))
    sent = rows(truth, doubt, np.where(~doubt | (hard < 0.2), truth, 1 - truth))
    answers = np.concatenate([*teams, sent])
    names = np.repeat(np.arange(7), [*[12] * 6, len(sent)])
    scores = (answers == truth).mean(axis=1)
    return in_time(None, names, scores, n=n, n_classes=2, answers=answers, labels=truth)


def looked_at(history, seed, *names):
    audit = audit_leaderboard(history, guards=(), seed=seed)
    assert not [name for test in (*audit.findings, *audit.hints) for name in test.accounts
                if name != "6"]  # fmt: skip
    return any(
        test.detector.name in names and "6" in test.accounts
        for test in (*audit.findings, *audit.hints)
    )


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_doubtful_labels_that_are_flipped_at_random_are_worth_a_look(seed):
    rng = RNG(seed)

    def groups(truth, doubt, base):
        rows = np.tile(base, (100, 1))
        for row in rows:
            row[rng.choice(np.flatnonzero(doubt), rng.integers(3, 40), replace=False)] ^= 1
        return rows

    assert looked_at(wavering_board(rng, groups, 1000), seed, "random-ties", "random-flips")


@pytest.mark.parametrize("seed", range(3))
def test_a_random_walk_of_random_labels_is_worth_a_look(seed):
    rng = RNG(seed)

    def walk(truth, doubt, base):
        row = rng.integers(0, 2, len(truth))
        rows = []
        for _ in range(200):
            row = np.where(rng.random(len(row)) < 0.1, rng.integers(0, 2, len(row)), row)
            rows.append(row)
        return np.array(rows)

    assert looked_at(wavering_board(rng, walk, 1000), seed, "random-walk", "random-answers")
