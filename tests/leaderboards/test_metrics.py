"""Metrics: scikit-learn's numbers, the chance in them, and what nobody gains without knowledge."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn import metrics as naive

from privacygauge.errors import InputError
from privacygauge.leaderboards.bounds import transcript_nats
from privacygauge.leaderboards.guards import Calibrated, Ladder, guard_for, guard_named, root_ladder
from privacygauge.leaderboards.history.overfitting import gap
from privacygauge.leaderboards.metrics import metric_bias, metric_named
from privacygauge.leaderboards.names import GUARDS, METRICS
from privacygauge.leaderboards.oracle import Holdout
from tests.thorough import crossed, times

RNG = np.random.default_rng
PLAIN = tuple(name for name in METRICS if ":" not in name and "@" not in name)
RANKED = ("top:2", "map@2", "ndcg@2")
NUMBERS = ("r2", "mae:-1:3", "mse:-1:3", "rmse:-1:3", "crps:-1:3")
NAMES = (*PLAIN, *RANKED, "logloss:6", *NUMBERS[1:])
PROBABILITIES = ("brier", "logloss:6")
TWO = ("f1", "auc")


def drawn_truth(name, n, rng, m=3):
    """Return hidden values with classes of unequal frequency."""
    if name in NUMBERS:
        return rng.uniform(-1, 3, n)
    if name in TWO:
        return (rng.permutation(n) < max(1, round(n * 0.3))).astype(int)
    return rng.choice(m, n, p=np.array([0.6, 0.3, 0.1]))


def drawn_submission(name, truth, rng, skill=0.0, m=3):
    """Return what a model submits; each example's error is independent of the others'."""
    n = len(truth)
    if name.startswith("crps"):
        guess = skill * truth + (1 - skill) * rng.uniform(-1, 3, n)
        return np.clip(guess[:, None] + (1 - skill) * rng.normal(size=(n, 5)), -1, 3)
    if name in NUMBERS:
        guess = rng.uniform(-1, 3, n)
        return skill * truth + (1 - skill) * guess
    logits = rng.normal(size=(n, m))
    logits[np.arange(n), truth] += 3 * skill
    if name == "f1":
        return (logits[:, 1] > logits[:, 0]).astype(int)
    if name == "auc":
        return np.round(logits[:, 1] - logits[:, 0], 1)  # ties
    if name in RANKED:
        return np.argsort(-logits, axis=1)[:, :2]
    if name in PROBABILITIES:
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return logits.argmax(axis=1)


def average_precision(guesses, y):
    """Return the average precision of ranked guesses of which one can be relevant."""
    return 1 / (guesses.index(y) + 1) if y in guesses else 0.0


def distance_of(members, y):
    """Return the integral of the squared difference of an ensemble's distribution and a step."""
    edges = np.sort([*members, y])
    middles = (edges[1:] + edges[:-1]) / 2
    below = np.mean(np.asarray(members)[:, None] <= middles, axis=0)
    return float((np.diff(edges) * (below - (middles >= y)) ** 2).sum())


def by_sklearn(name, submitted, truth):
    """Return what scikit-learn makes of it."""
    with_range = {
        "mae": naive.mean_absolute_error,
        "mse": lambda t, s: naive.mean_squared_error(t, s) / 4,
        "rmse": naive.root_mean_squared_error,
    }
    if name == "accuracy":
        return naive.accuracy_score(truth, submitted)
    if name == "balanced-accuracy":
        return naive.balanced_accuracy_score(truth, submitted)
    if name == "f1":
        return naive.f1_score(truth, submitted)
    if name == "macro-f1":
        return naive.f1_score(truth, submitted, average="macro", zero_division=0)
    if name == "qwk":
        return max(0, naive.cohen_kappa_score(truth, submitted, weights="quadratic"))
    if name == "r2":
        return max(0, naive.r2_score(truth, submitted))
    if name == "map@2":
        return np.mean(list(map(average_precision, submitted.tolist(), truth)))
    if name == "crps:-1:3":
        return 1 - np.mean(list(map(distance_of, submitted, truth))) / 4
    if name == "auc":
        return naive.roc_auc_score(truth, submitted)
    if name == "logloss:6":
        return 1 - naive.log_loss(truth, submitted, labels=range(3)) / 6
    if name == "brier":
        hidden = np.eye(3)[truth]
        return 1 - naive.mean_squared_error(hidden, submitted) * 3 / 2
    if name in RANKED:
        ranked = np.zeros((len(truth), 3))
        np.put_along_axis(ranked, submitted, np.array([2.0, 1.0]), axis=1)
        if name == "ndcg@2":
            return naive.ndcg_score(np.eye(3)[truth], ranked, k=2)
        ranked += 1e-3 * RNG(0).random(ranked.shape)
        return naive.top_k_accuracy_score(truth, ranked, k=submitted.shape[1], labels=range(3))
    return 1 - with_range[name.split(":")[0]](truth, submitted) / 4


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6), n=st.integers(10, 60), skill=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=times(24), deadline=None)
def test_scores_are_those_of_scikit_learn(name, seed, n, skill):
    rng = RNG(seed)
    truth = drawn_truth(name, n, rng)
    if name == "balanced-accuracy":
        truth[:3] = np.arange(3)
    metric = metric_named(name)
    m = 2 if name in TWO else 3 if metric.truth(truth, None)[1] else 0
    sent = metric.submission(drawn_submission(name, truth, rng, skill), n, m)
    assert metric.score(sent, truth) == pytest.approx(by_sklearn(name, sent, truth), abs=1e-12)


def test_a_brier_score_of_two_classes_takes_one_probability():
    truth = RNG(0).integers(0, 2, 30)
    p = RNG(1).random(30)
    metric = metric_named("brier")
    both = metric.submission(np.column_stack([1 - p, p]), 30, 2)
    alone = metric.submission(p, 30, 2)
    assert metric.score(alone, truth) == pytest.approx(1 - naive.brier_score_loss(truth, p))
    assert metric.score(both, truth) == pytest.approx(metric.score(alone, truth))


@pytest.mark.parametrize(("skill", "name"), crossed([0.0, 0.4, 0.8], NAMES))
def test_a_score_varies_no_more_than_its_points_say(name, skill):
    rng = RNG(5)
    truth = drawn_truth(name, 300, rng)
    metric = metric_named(name)
    scores = [
        metric.score(drawn_submission(name, truth, rng, skill), truth) for _ in range(times(800))
    ]
    # A standard deviation from 400 draws is off by 3.5% itself.
    assert np.std(scores) <= 1.1 / (2 * math.sqrt(metric.points(truth)))


@pytest.mark.parametrize("name", NAMES)
def test_who_knows_nothing_exceeds_chance_as_seldom_as_the_tail_says(name):
    """For the best constant and for a random submission, the hidden values drawn again."""
    rng = RNG(6)
    metric = metric_named(name)
    n = 60
    fixed = drawn_truth(name, n, rng)
    sent = [drawn_submission(name, drawn_truth(name, n, rng), rng) for _ in range(3)]
    above = np.empty((times(600), len(sent)))
    exact = name in ("balanced-accuracy", "macro-f1", "qwk", "r2", *TWO)
    for row in above:
        # In random order where the theory is about the order, else independent draws.
        truth = rng.permutation(fixed) if exact else rng.choice(fixed, n)
        row[:] = [metric.score(each, truth) - metric.chance(fixed) for each in sent]
    for e in (0.05, 0.1, 0.2):
        allowed = math.exp(-2 * metric.tail(fixed) * e**2)
        noise = 4 * math.sqrt(allowed * (1 - allowed) / len(above)) + 4 / len(above)
        assert (above >= e).mean(axis=0).max() <= allowed + noise


@pytest.mark.parametrize(("n", "few"), [(9, 1), (10, 3), (11, 5), (12, 6)])
def test_no_order_of_labels_has_a_larger_auc_more_often_than_its_tail_says(n, few):
    """All orders of the labels, scores without ties, in a few steps, and of one kind but one."""
    rng = RNG(n)
    metric = metric_named("auc")
    orders = np.zeros((math.comb(n, few), n), int)
    for row, places in zip(orders, itertools.combinations(range(n), few), strict=True):
        row[list(places)] = 1
    bound = metric.tail(orders[0])
    for sent in (rng.permutation(n), rng.integers(0, 3, n), np.arange(n) == 0):
        ranks = rankdata(sent)
        gains = (orders @ ranks / few - (few + 1) / 2) / (n - few) - 0.5
        for e in np.unique(gains[gains > 0]):
            assert (gains >= e - 1e-12).mean() <= math.exp(-2 * bound * e**2)
        for s in np.geomspace(0.1, 100, 30):
            assert np.log(np.exp(s * gains).mean()) <= s**2 / (8 * bound) * (1 + 1e-9)
    # It is the variance of an AUC without ties: no larger N holds for small s.
    plain = (orders @ np.arange(1, n + 1) / few - (few + 1) / 2) / (n - few)
    assert plain.var() == pytest.approx(1 / (4 * bound))


@pytest.mark.parametrize("name", ["macro-f1", "qwk", "r2", "map@2", "ndcg@2", "crps:-1:3"])
def test_the_luckiest_of_many_keeps_to_the_promise_where_values_are_skewed(name):
    """Whoever chooses the best of 40 blind submissions: exceeded in at most 5% of the plays."""
    metric = metric_named(name)
    over = 0
    for seed in range(times(100)):
        rng = RNG([seed, 3])
        truth = rng.choice(3, 150, p=[0.92, 0.06, 0.02])
        truth[:3] = np.arange(3)
        truth = rng.permutation(-np.log(1e-4 + rng.random(150)) / 5 if metric.numbers else truth)
        blind = [drawn_submission(name, rng.permutation(truth), rng, s) for s in np.linspace(0, 1)]
        best = max(metric.score(each, truth) for each in blind[:40])
        over += best > metric.chance(truth) + metric_bias(metric, truth, math.log(40))
    assert over <= times(100) * 0.05


def permuted(metric, hidden, sent):
    """Return the scores of submissions for all different orders of the hidden values."""
    orders = np.array(sorted(set(itertools.permutations(hidden))))
    return np.array([[metric.score(each, order) for order in orders] for each in sent])


@pytest.mark.parametrize("name", ["macro-f1", "qwk", "r2"])
@given(hidden=st.lists(st.integers(0, 2), min_size=4, max_size=6), seed=st.integers(0, 10**6))
@settings(max_examples=times(40), deadline=None)
def test_no_order_of_values_has_a_larger_score_more_often_than_its_tail_says(name, hidden, seed):
    """Exactly, over all orders: random, constant, unbalanced, and any sizes of R2's submissions."""
    assume(len(set(hidden)) > 1)
    rng = RNG(seed)
    metric = metric_named(name)
    hidden = np.array(hidden) if name != "r2" else np.array(hidden) ** 2.0
    n = len(hidden)
    sent = [rng.permutation(hidden), np.sort(hidden), rng.integers(0, 3, n)]
    sent += [np.where(np.arange(n) == 0, hidden.max(), hidden.min())]
    if name == "r2":
        sent = [hidden.mean() + a * (each - each.mean()) for each in sent for a in (0.1, 0.5, 1)]
    scores = permuted(metric, hidden.tolist(), sent)
    gains = scores - metric.chance(hidden)
    for row in gains:
        for e in np.unique(row[row > 1e-12]):
            assert (row >= e - 1e-12).mean() <= math.exp(-2 * metric.tail(hidden) * e**2) + 1e-12
    if name == "macro-f1":
        assert gains.mean(axis=1).max() <= 1e-12


@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), m=st.integers(2, 8), k=st.integers(1, 10))
@settings(max_examples=times(40), deadline=None)
def test_ranked_guesses_are_scored_as_in_a_loop(seed, n, m, k):
    """Any number of guesses, repeated ones too, of which only the first counts."""
    rng = RNG(seed)
    truth = rng.integers(0, m, n)
    sent = rng.integers(0, m, (n, k))
    for kind, weight in (("map", lambda r: 1 / r), ("ndcg", lambda r: 1 / math.log2(1 + r))):
        metric = metric_named(f"{kind}@{k}")
        rows = [next((weight(r) for r, x in enumerate(row, 1) if x == y), 0)
                for row, y in zip(sent, truth, strict=True)]  # fmt: skip
        assert metric.score(metric.submission(sent, n, m), truth) == pytest.approx(np.mean(rows))
    whole = np.array([rng.permutation(m) for _ in range(n)])
    ranked = -np.argsort(whole, axis=1).astype(float)
    expected = naive.label_ranking_average_precision_score(np.eye(m)[truth], ranked)
    assert metric_named(f"map@{m}").score(whole, truth) == pytest.approx(expected)
    repeated = np.column_stack([sent, sent[:, :1]])
    swapped = np.column_stack([sent, sent[:, 0] * 0 + sent[:, -1]])
    longer = metric_named(f"map@{k + 1}")
    assert (longer.equivalent(repeated, truth) == longer.equivalent(swapped, truth)).all()


@given(seed=st.integers(0, 10**6), k=st.integers(1, 40))
@settings(max_examples=times(20), deadline=None)
def test_crps_is_the_integral_between_distributions(seed, k):
    rng = RNG(seed)
    truth = rng.uniform(-1, 3, 20).round(1)
    sent = rng.uniform(-1, 3, (20, k)).round(1)
    metric = metric_named("crps:-1:3")
    expected = 1 - np.mean(list(map(distance_of, sent, truth))) / 4
    assert metric.score(metric.submission(sent, 20, 0), truth) == pytest.approx(expected)
    if k == 1:
        mae = metric_named("mae:-1:3").score(sent[:, 0], truth)
        assert metric.score(sent[:, 0], truth) == pytest.approx(mae)
        assert expected == pytest.approx(mae)


@pytest.mark.parametrize(
    ("skill", "name"),
    crossed(
        [0.0, 0.4, 0.8],
        ["auc", "brier", *RANKED, "logloss:6", "mae:-1:3", "crps:-1:3", "accuracy"],
    ),
)
def test_the_interval_of_a_public_less_a_private_score_holds_0(name, skill):
    rng = RNG(11)
    metric = metric_named(name)
    held = 0
    assert metric.like_share
    truth = [drawn_truth(name, n, rng) for n in (150, 300)]
    points = tuple(metric.points(each) for each in truth)
    widths = []
    for _ in range(times(400)):
        scores = [metric.score(drawn_submission(name, y, rng, skill), y) for y in truth]
        found, _ = gap((scores[0], scores[1]), points, metric, 0.95)
        held += found.low <= 0 <= found.high
        widths.append(found.high - found.low)
    # 3.3 standard errors below the level.
    assert held >= times(400) * 0.95 - 3.3 * math.sqrt(times(400) * 0.95 * 0.05)
    # Never much wider than what the largest variance gives.
    assert np.mean(widths) <= 1.02 * 1.96 * math.sqrt(sum(1 / n for n in points))


def test_the_best_constant_of_a_log_loss_is_found_among_many():
    truth = np.repeat(np.arange(4), [60, 25, 14, 1])
    for most in (0.5, 2.0, 15.0):
        metric = metric_named(f"logloss:{most:g}")
        tried = RNG(0).dirichlet(np.full(4, 0.5), 1_500)
        best = max(metric.score(np.tile(p, (100, 1)), truth) for p in tried)
        assert best <= metric.chance(truth) + 1e-12
        assert best > metric.chance(truth) - 0.02


@pytest.mark.parametrize(
    ("guard", "name"), crossed(["exact", "calibrated", "noise:0.05", "default"], NAMES)
)
def test_the_best_of_honest_submissions_without_skill_keeps_to_the_bound(name, guard):
    """Null histories: what the guard shows best, scored on hidden values that are drawn alike."""
    metric = metric_named(name)
    n = 120
    k = 20
    over = 0
    for seed in range(times(24)):
        rng = RNG(seed)
        truth = drawn_truth(name, n, rng)
        chosen = (
            root_ladder(metric.points(truth))
            if guard == "default"
            else guard_for(guard_named(guard), metric, truth)
        )
        m = metric.truth(truth, None)[1]
        oracle = Holdout(truth, m, metric).open(rng, guard=chosen)
        sent = [drawn_submission(name, drawn_truth(name, n, rng), rng) for _ in range(k)]
        best = sent[int(np.argmax([oracle.submit(each) for each in sent]))]
        bound = metric_bias(metric, truth, transcript_nats(chosen, k, n, max(m, 2)))
        over += metric.score(best, truth) > metric.chance(truth) + bound
    assert over <= times(24) * 0.05


@pytest.mark.parametrize("name", NAMES)
def test_a_ladder_of_the_default_step_follows_nobody_s_luck(name):
    """Submissions of equal skill: what is shown is hardly ever more than a step too high."""
    metric = metric_named(name)
    rng = RNG(7)
    far = 0
    for _ in range(times(20)):
        truth = drawn_truth(name, 200, rng)
        step = root_ladder(metric.points(truth)).step
        oracle = Holdout(truth, metric.truth(truth, None)[1], metric).open(rng, guard=Ladder(step))
        shown = max(oracle.submit(drawn_submission(name, truth, rng, 0.4)) for _ in range(15))
        usual = np.median([
            metric.score(drawn_submission(name, truth, rng, 0.4), truth) for _ in range(15)
        ])  # fmt: skip
        far += shown > usual + 2 * step
    assert far <= times(20) * 0.1


def test_answers_are_multiples_of_one_in_n():
    """With all of its digits one squared error would tell the labels of a crafted submission."""
    truth = RNG(8).integers(0, 2, 20).astype(float)
    metric = metric_named("mse:0:1")
    crafted = 0.5 - 0.5 * 2.0 ** -np.arange(1, 21)
    tells = metric.score(crafted, truth)
    oracle = Holdout(truth, 0, metric).open(RNG(0))
    answer = oracle.submit(crafted)
    assert answer * 20 == pytest.approx(round(answer * 20))
    assert answer != tells


@pytest.mark.parametrize(("guard", "name"), crossed(GUARDS, NAMES))
def test_every_guard_takes_every_metric_or_says_why_not(name, guard):
    truth = drawn_truth(name, 80, RNG(9))
    metric = metric_named(name)
    holdout = Holdout(truth, metric.truth(truth, None)[1], metric)
    if guard in ("ladder", "ladder:1.3se") and name != "accuracy":
        with pytest.raises(
            InputError, match=rf"^guard {guard} counts right answers, .*: name a step"
        ):
            holdout.open(RNG(0), guard=guard_named(guard))
        return
    oracle = holdout.open(RNG(0), guard=guard_named(guard))
    sent = np.stack([drawn_submission(name, truth, RNG(i), 0.5) for i in range(3)])
    answers = oracle.submit_all(sent)
    assert ((answers >= 0) & (answers <= 1)).all()
    again = holdout.open(RNG(0), guard=guard_named(guard)).submit_all(sent)
    assert (answers == again).all()


def test_calibrated_is_as_coarse_as_the_chance_in_a_metric():
    truth = drawn_truth("auc", 400, RNG(0))
    guard = guard_for(Calibrated(), metric_named("auc"), truth)
    assert guard.name == f"calibrated:{min(np.bincount(truth))}"
    assert guard_named(guard.name) == guard
    assert guard.nats(1, 400, 2) == pytest.approx(math.log(math.isqrt(guard.points) + 1))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loss", "metric must be one of accuracy, .*, got 'loss'"),
        ("top", "metric must be one of"),
        ("top:0", "top must be at least 1"),
        ("rmse", "metric must be one of"),
        ("logloss", "metric must be one of"),
        ("logloss:0", r"logloss needs the most that an example loses, in \(0, 700\], got 0"),
        ("rmse:3:1", "rmse needs a range of values, got 3 to 1"),
        ("mae:0:inf", "mae needs a range"),
        ("auc:1", "metric must be one of"),
        ("map", "metric must be one of"),
        ("ndcg@0", "ndcg must be at least 1"),
        ("crps:1:0", "crps needs a range of values, got 1 to 0"),
        ("qwk@2", "metric must be one of"),
    ],
)
def test_what_names_no_metric(text, says):
    with pytest.raises(InputError, match=says):
        metric_named(text)


@pytest.mark.parametrize("name", METRICS)
def test_a_name_names_its_metric(name):
    assert metric_named(name).name == name


@pytest.mark.parametrize(
    ("name", "sent", "says"),
    [
        ("f1", [0, 2, 0, 0], r"labels must be in 0\.\.1, got 2 in row 1"),
        ("auc", [0.1, np.nan, 0, 0], "predictions must be finite, got nan in row 1"),
        ("auc", [0.1, 0.2], "4 rows, got 2"),
        ("brier", [0.1, 1.2, 0, 0], r"predictions must be in \[0, 1\], got 1.2 in row 1"),
        ("logloss:6", [0.1, -1, 0, 0], r"predictions must be in \[0, 1\], got -1 in row 1"),
        ("brier", [[0.5, 0.6]] * 4, "probabilities must sum to 1 in every row"),
        ("top:2", [0, 1, 0, 1], r"a submission must have the shape \(4, 2\), got \(4,\)"),
        ("rmse:0:1", [0, 1, 2, 0], r"predictions must be in \[0, 1\], got 2 in row 2"),
        ("macro-f1", [0, 2, 0, 0], r"labels must be in 0\.\.1, got 2 in row 1"),
        ("qwk", [0, 0.5, 0, 0], "labels must be integers"),
        ("map@3", [[0, 1]] * 4, r"a submission must have the shape \(4, 3\), got \(4, 2\)"),
        ("ndcg@2", [[0, 1], [0, 1], [0, 3], [0, 1]], "got 3 in row 2"),
        ("r2", [0, 1, np.inf, 0], "predictions must be finite, got inf in row 2"),
        ("crps:0:1", [[0, 1], [0, 1], [0, 2], [0, 1]], r"must be in \[0, 1\], got 2 in row 2"),
        ("crps:0:1", np.zeros((4, 101)), "an ensemble must have 1 to 100 members per example"),
    ],
)
def test_submissions_that_break_a_rule(name, sent, says):
    metric = metric_named(name)
    with pytest.raises(InputError, match=says):
        metric.submission(sent, 4, 0 if metric.numbers else 2)


def test_hidden_values_that_do_not_fit():
    with pytest.raises(InputError, match="labels must be 0 and 1, and both must occur"):
        metric_named("auc").truth([1, 1, 1], None)
    with pytest.raises(InputError, match=r"labels must be in \[0, 1\], got 5 in row 1"):
        metric_named("mae:0:1").truth([0, 5], None)
    with pytest.raises(InputError, match="has no classes"):
        metric_named("mae:0:1").truth([0, 1], 2)
    with pytest.raises(InputError, match="labels must differ"):
        metric_named("r2").truth([3.0, 3.0], None)
    with pytest.raises(InputError, match="labels must be of at least two classes"):
        metric_named("qwk").truth([1, 1], None)
