import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.classifiers import targeted
from privacygauge.classifiers.game import PredictionObservation, Rows
from privacygauge.classifiers.predictions import Pool, Predictions
from privacygauge.classifiers.signals import bin_numbers, resolution
from privacygauge.classifiers.targeted import Distance, Frequency, infinity
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import GaussianGame
from privacygauge.core.game import play
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.roc import auc
from tests.classifiers.made import made_pool_game, observed, softmax
from tests.laws.numbers import of_play, of_scores
from tests.thorough import crossed, quarter, times

ATTACKS = (
    Distance(),
    Distance(bin=0),
    Distance(bin=0.1),
    Frequency(),
    Frequency(bin=0.25, smoothing=1.0),
)
FEW = settings(max_examples=quarter(24))
every_attack = pytest.mark.parametrize("attack", ATTACKS, ids=repr)


def observation(q, models, inside):
    """Return what is seen of targets with predictions q (n, c) and models (k, n, c)."""
    q = np.asarray(q, float)
    models = np.asarray(models, float)
    inside = np.asarray(inside, bool)
    labels = np.zeros(len(q), int)
    index = np.arange(len(q))
    rows = Rows(Predictions(q, False, labels, index < 0, index), index)
    return PredictionObservation({}, labels, rows=rows, pool=Pool(models, False, inside, labels))


def scored(attack, seen):
    return of_scores(attack.score(seen, np.random.default_rng(0))).value


def guesses(attack, seen):
    scores = of_scores(attack.score(seen, np.random.default_rng(0)))
    n = len(seen)
    # A transcript needs members and non-members: each row is there as both.
    both = Transcript(np.tile(scores.value, 2), np.arange(2 * n) < n, np.tile(np.arange(n), 2))
    return scores.rule.decide(both).guess[:n]


def vectors(rng, shape, c):
    """Return rows that sum to 1: rounded to tenths or hundredths, smooth, or all on one class."""
    kind = rng.integers(4, size=(*shape, 1))
    smooth = softmax(rng.normal(size=(math.prod(shape), c)) * 4).reshape(*shape, c)
    one = np.eye(c)[rng.integers(c, size=shape)]
    tenths = rng.multinomial(10, np.full(c, 1 / c), size=shape) / 10
    hundredths = rng.multinomial(100, np.full(c, 1 / c), size=shape) / 100
    return np.choose(kind, [smooth, one, tenths, hundredths])


@st.composite
def pools(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(2, 9))
    n = draw(st.integers(2, 6))
    c = draw(st.integers(2, 5))
    inside = rng.random((k, n)) < 0.5
    inside[0], inside[1] = True, False
    return vectors(rng, (n,), c), vectors(rng, (k, n), c), inside


def naive_bin(p, width):
    return min(int((p + 1e-7) * round(1 / width)), round(1 / width) - 1)


def naive_distance(q, models, inside, width, least):
    """Return KL(q || mean_out) - KL(q || mean_in) as section 5.3 writes it, for one target."""

    def centre(p, i):
        return (naive_bin(p, width) + 0.5) * width if width else max(p, least[i % len(least)])

    def divergence(side):
        rows = [model for model, is_in in zip(models, inside, strict=True) if is_in == side]
        total = 0.0
        for i, p in enumerate(q):
            mean = sum(centre(row[i], i) for row in rows) / len(rows)
            total += centre(p, i) * math.log(centre(p, i) / mean)
        return total

    return divergence(False) - divergence(True)


def naive_frequency(q, models, inside, width, smoothing):
    """Return the order of the ratio's zeros, and the ratio of the rest, in exact numbers."""
    size = {side: sum(bool(x) == side for x in inside) for side in (True, False)}
    order = 0
    product = Fraction(1)
    for i, p in enumerate(q):
        share = {}
        for side in (True, False):
            count = 0
            for model, is_in in zip(models, inside, strict=True):
                if is_in == side and naive_bin(model[i], width) == naive_bin(p, width):
                    count += 1
            share[side] = Fraction(count, size[side]) + Fraction(
                2 * smoothing, size[True] + size[False]
            )
        order += (share[False] == 0) - (share[True] == 0)
        product *= (share[True] or Fraction(1)) / (share[False] or Fraction(1))
    return order, product


@pytest.mark.parametrize("width", [0.01, 0.25, 0])
@given(pools())
def test_distance_is_what_the_paper_says(width, drawn):
    q, models, inside = drawn
    seen = observation(q, models, inside)
    found = scored(Distance(bin=width), seen)
    guess = guesses(Distance(bin=width), seen)
    least = resolution(seen.rows.source, seen.pool).least
    for t in range(len(q)):
        naive = naive_distance(q[t].tolist(), models[:, t].tolist(), inside[:, t], width, least)
        assert found[t] == pytest.approx(naive, rel=1e-12, abs=1e-12)
        assert guess[t] == (found[t] > 0)


@pytest.mark.parametrize(("width", "smoothing"), [(0.01, 0), (0.25, 0), (0.25, 1)])
@given(pools())
def test_frequency_is_what_the_paper_says_and_vanishing_shares_cancel(width, smoothing, drawn):
    q, models, inside = drawn
    seen = observation(q, models, inside)
    attack = Frequency(smoothing=smoothing, bin=width)
    found = scored(attack, seen)
    guess = guesses(attack, seen)
    large = infinity(len(models), q.shape[1])
    exact = []
    for t in range(len(q)):
        order, ratio = naive_frequency(
            q[t].tolist(), models[:, t].tolist(), inside[:, t], width, smoothing
        )
        exact.append((order, ratio))
        log = math.log(ratio.numerator) - math.log(ratio.denominator)
        assert found[t] == pytest.approx(order * large + log, rel=1e-12, abs=1e-12)
        assert guess[t] == ((order, ratio) > (0, Fraction(1)))
    for t in range(len(q)):
        for u in range(len(q)):
            if exact[t] < exact[u]:
                assert found[t] <= found[u] + 1e-12


def test_distance_of_three_classes_by_hand():
    confident = [0.80, 0.10, 0.10]
    unsure = [0.40, 0.30, 0.30]
    seen = observation(
        [confident, unsure],
        [[confident, confident], [confident, confident], [unsure, unsure], [unsure, unsure]],
        [[True, True], [True, True], [False, False], [False, False]],
    )
    expected = [
        0.805 * math.log(0.805 / 0.405) + 2 * 0.105 * math.log(0.105 / 0.305),
        0.405 * math.log(0.805 / 0.405) + 2 * 0.305 * math.log(0.105 / 0.305),
    ]
    assert expected[0] > 0 > expected[1]
    assert scored(Distance(), seen) == pytest.approx(expected, rel=1e-12)
    assert guesses(Distance(), seen).tolist() == [True, False]


def test_distance_takes_the_mean_of_bins_not_the_bin_of_the_mean():
    seen = observation(
        [[0.5, 0.5]],
        [[[1.0, 0.0]], [[0.0, 1.0]], [[0.4, 0.6]]],
        [[True], [True], [False]],
    )
    # The mean of the bins' centres 0.995 and 0.005 is 0.5; outside, 0.405 and 0.605.
    expected = 0.505 * (2 * math.log(0.5) - math.log(0.405) - math.log(0.605))
    assert scored(Distance(), seen) == pytest.approx([expected], rel=1e-12)


def counted(q, inside_rows, outside_rows):
    """Return what is seen of one target, q, and its models' predictions on either side."""
    rows = [*inside_rows, *outside_rows]
    inside = [[number < len(inside_rows)] for number in range(len(rows))]
    return observation([q], [[row] for row in rows], inside)


Q = [0.7, 0.2, 0.1]


def test_frequency_of_three_classes_by_hand():
    seen = counted(Q, [Q, Q, [0.7, 0.1, 0.2]], [Q, [0.7, 0.2, 0.1], [0.6, 0.3, 0.1]])
    # Inside: 3, 2, 2 of 3 agree. Outside: 2, 2, 3.
    assert scored(Frequency(), seen) == pytest.approx([0.0], abs=1e-15)
    assert not guesses(Frequency(), seen)[0]
    seen = counted(Q, [Q, Q, [0.7, 0.1, 0.2]], [Q, [0.5, 0.2, 0.3], [0.6, 0.3, 0.1]])
    assert scored(Frequency(), seen) == pytest.approx([math.log(3 * 2 * 2 / (1 * 2 * 2))])
    assert guesses(Frequency(), seen)[0]


@pytest.mark.parametrize(
    ("inside", "outside", "order", "rest"),
    [
        # Nobody agrees on anything: 0/0 three times is no evidence.
        ([[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]], 0, 1),
        # x/0 is infinite, also where the rest is small.
        ([Q, [0.0, 1.0, 0.0]], [[0.0, 0.2, 0.8]], 2, Fraction(1, 2) ** 3),
        # 0/x is 0.
        ([[0.0, 0.2, 0.8]], [Q, [0.0, 1.0, 0.0]], -2, 2**3),
        # One of each: what they are made of decides.
        ([[0.7, 0.3, 0.0]], [[0.8, 0.2, 0.0]], 0, 1),
        ([[0.7, 0.3, 0.0]], [[0.8, 0.2, 0.0], [0.8, 0.1, 0.1]], -1, 4),
        ([[0.7, 0.3, 0.0]], [[0.8, 0.2, 0.0], [0.8, 0.0, 0.2]], 0, 2),
    ],
)
def test_zero_shares(inside, outside, order, rest):
    seen = counted(Q, inside, outside)
    expected = order * infinity(len(inside) + len(outside), 3) + math.log(rest)
    assert scored(Frequency(), seen) == pytest.approx([expected], abs=1e-12)
    assert guesses(Frequency(), seen)[0] == (expected > 0)


def test_smoothing_that_vanishes_guesses_as_none_does():
    for seed in range(20):
        seen = observed(made_pool_game(n=40, k=6, seed=seed))
        one, other = (scored(Frequency(bin=0.1, smoothing=s), seen) for s in (0.0, 1e-9))
        assert np.array_equal(np.sign(one), np.sign(np.round(other, 6)))


def test_groups_of_unequal_size_with_equal_shares_are_a_tie():
    other = [0.1, 0.1, 0.8]
    seen = counted(Q, [Q, other] * 5, [Q, other])
    for attack in (*ATTACKS, Frequency(smoothing=2.0)):
        assert scored(attack, seen) == [0.0]
        assert not guesses(attack, seen)[0]


@every_attack
def test_a_tie_is_a_nonmember_and_the_smallest_difference_is_not(attack):
    # The same three numbers in another order: a tie, which rounding would decide.
    a = [0.1, 0.3, 0.6]
    b = [0.3, 0.6, 0.1]
    third = [1 / 3, 1 / 3, 1 / 3]
    seen = observation([third, third], [[a, third], [b, third]], [[True] * 2, [False] * 2])
    assert scored(attack, seen).tolist() == [0.0, 0.0]
    assert not guesses(attack, seen).any()
    assert attack.score(seen, None).rule.threshold < 1e-300


@every_attack
@FEW
@given(pools())
def test_members_and_nonmembers_swapped_turn_the_sign(attack, drawn):
    q, models, inside = drawn
    one = scored(attack, observation(q, models, inside))
    other = scored(attack, observation(q, models, ~inside))
    assert one.tolist() == (-other).tolist()


@every_attack
@FEW
@given(pools(), st.integers(0, 2**32 - 1))
def test_shuffled_targets_shuffle_scores_and_shuffled_models_change_none(attack, drawn, seed):
    q, models, inside = drawn
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(q))
    order = rng.permutation(len(models))
    one = scored(attack, observation(q, models, inside))
    moved = scored(attack, observation(q[rows], models[:, rows], inside[:, rows]))
    assert one[rows].tolist() == moved.tolist()
    reordered = scored(attack, observation(q, models[order], inside[order]))
    # Means of probabilities that are not binned round differently in another order.
    assert one.tolist() == pytest.approx(reordered.tolist(), abs=0 if attack.bin else 1e-12)


@every_attack
def test_blocks_change_no_number(attack, monkeypatch):
    seen = observed(made_pool_game(n=50, k=7, leak=1.0))
    whole = scored(attack, seen)
    for entries in (1, 3 * 7 * 7, 1000):
        monkeypatch.setattr(targeted, "BLOCK", entries)
        assert scored(attack, seen).tolist() == whole.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("k", "per_target"), crossed((4, 8, 16, 64), (False, True)))
def test_without_leakage_there_is_nothing_to_find(k, per_target):
    games = times(150)
    attacks = (Distance(), Frequency(), Frequency(bin=0.1), Frequency(bin=0.1, smoothing=1.0))
    areas, rates = np.empty((2, len(attacks), games))
    for seed in range(games):
        dealt = made_pool_game(k=k, seed=seed, per_target=per_target).round()
        for number, attack in enumerate(attacks):
            played = of_play(play(attack, [dealt], [np.random.default_rng(0)]))
            areas[number, seed] = auc(played.transcript).value
            rates[number, seed] = balanced_accuracy(played.decisions).value
    for found in (areas, rates):
        error = np.maximum(found.std(axis=1), 1e-3) / np.sqrt(games)
        assert (np.abs(found.mean(axis=1) - 0.5) < 4.5 * error).all()


@every_attack
@pytest.mark.parametrize("design", ["shared", "per-target"])
def test_what_leaks_is_found(attack, design):
    per_target = design == "per-target"
    game = made_pool_game(n=1000, k=10, leak=2.0, per_target=per_target)
    played = of_play(play(replace(attack, design=design), [game.round()], [None]))
    assert auc(played.transcript).low > 0.5
    assert balanced_accuracy(played.decisions).low > 0.5


def test_with_as_many_models_on_either_side_the_ratio_is_that_of_the_counts():
    game = made_pool_game(n=200, k=10, per_target=True)
    assert (game.pool.inside.sum(axis=0) == 5).all()
    seen = observed(game)
    same = bin_numbers(game.pool.values, 0.25) == bin_numbers(game.target.values, 0.25)
    counts = [
        np.count_nonzero(same & side[:, :, None], axis=0) + 1.0
        for side in (game.pool.inside, ~game.pool.inside)
    ]
    attack = Frequency(bin=0.25, smoothing=1.0, design="per-target")
    expected = np.log(counts[0] / counts[1]).sum(axis=1)
    assert scored(attack, seen) == pytest.approx(expected, abs=1e-12)


@every_attack
def test_targets_in_all_models_or_none_are_ties_and_are_counted(attack):
    q = np.full((3, 2), 0.5)
    models = np.array([[[0.5, 0.5]] * 3, [[0.1, 0.9]] * 3])
    seen = observation(q, models, [[True, True, False], [False, True, False]])
    found = attack.score(seen, None)
    assert found.value[0] > 0
    assert found.value[1:].tolist() == [0.0, 0.0]
    assert found.notes == (
        "2 of 3 targets are in all of the models or in none: nothing is known of them, and their "
        "score is that of a tie",
    )
    seen = observation(q, models, np.ones((2, 3), bool))
    reason = "needs targets with models both with and without them"
    assert attack.score(seen, None) == Skipped(attack.name, reason)


@every_attack
def test_without_models_the_attack_is_skipped(attack):
    reason = "needs models of the adversary's own on every target"
    for seen in (
        GaussianGame(10).deal(1, np.random.default_rng(0))[0].observation,
        replace(observed(made_pool_game()), pool=None),
        replace(observed(made_pool_game()), rows=None),
    ):
        assert attack.score(seen, None) == Skipped(attack.name, reason)


@every_attack
def test_scoring_twice_is_equal_and_what_is_seen_is_left_alone(attack):
    game = made_pool_game(leak=1.0, logits=True)
    arrays = [game.pool.values, game.pool.inside, game.target.values]
    assert not any(a.flags.writeable for a in arrays)
    before = [a.tolist() for a in arrays]
    first = scored(attack, observed(game))
    scored(attack, observed(made_pool_game(seed=1)))
    assert scored(attack, observed(game)).tolist() == first.tolist()
    assert [a.tolist() for a in arrays] == before
    assert hash(attack) == hash(replace(attack))


@every_attack
def test_logits_and_probabilities_give_the_same(attack):
    game = made_pool_game(leak=1.0, logits=True)
    q = softmax(game.target.values)
    models = game.pool.probabilities(slice(None))
    other = observation(q, models, game.pool.inside)
    assert scored(attack, observed(game)) == pytest.approx(scored(attack, other), abs=1e-12)


def test_bins_hold_their_lower_edge_in_both_precisions():
    edges = np.arange(101) / 100
    expected = np.minimum(np.arange(101), 99).tolist()
    for given_as in (edges, edges.astype(np.float32).astype(np.float64)):
        assert bin_numbers(given_as, 0.01).tolist() == expected
    assert bin_numbers(np.array([0.2899, 0.99999, 1.0, 0.0]), 0.01).tolist() == [28, 99, 99, 0]


def test_variants():
    assert [(a.name, a.variant, a.thresholds) for a in ATTACKS] == [
        ("distance", "shared", "none"),
        ("distance", "shared, not binned", "none"),
        ("distance", "shared, bins of 0.1", "none"),
        ("frequency", "shared", "none"),
        ("frequency", "shared, bins of 0.25, smoothing 1", "none"),
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distance(bin=0.3), "bin must be 1 over a whole number, such as 0.01, got 0.3"),
        (lambda: Distance(bin=-1), "bin must be 1 over a whole number"),
        (lambda: Frequency(bin=0), "bin must be 1 over a whole number"),
        (lambda: Frequency(smoothing=-1), "smoothing must be finite and at least 0, got -1"),
        (lambda: Frequency(smoothing=np.nan), "smoothing must be finite"),
        (lambda: Distance(design="own"), "design must be 'shared' or 'per-target', got 'own'"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_pool_of_other_targets_is_an_error():
    seen = replace(observed(made_pool_game(n=20)), pool=made_pool_game(n=30).pool)
    with pytest.raises(InputError, match=r"pool predicts 30 targets of 3 classes.*has 20 of 3"):
        Distance().score(seen, None)
