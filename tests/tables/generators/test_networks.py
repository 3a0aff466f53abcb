"""BayNet and PrivBayes: structure, tables, sampling, and the privacy that is claimed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate.epsilon import epsilon_lower_bound
from privacygauge.tables.generators import network as networks
from privacygauge.tables.generators.network import (
    Network,
    Node,
    exponential_mechanism,
    information_sensitivity,
    joint_counts,
    learn_bayes_net,
    learn_privbayes,
    learn_structure,
    most_informative,
    mutual_information,
    normalise_weights,
    pairwise_information,
)
from tests.thorough import quarter


@st.composite
def tables(draw: st.DrawFn, most: int = 4) -> tuple[Ints, tuple[int, ...]]:
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=2, max_size=most)))
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return np.column_stack([rng.integers(0, v, n) for v in sizes]), sizes


def naive_information(first: Ints, second: Ints) -> float:
    total = 0.0
    for a, b in product(np.unique(first), np.unique(second)):
        joint = np.mean((first == a) & (second == b))
        if joint:
            total += joint * np.log(joint / (np.mean(first == a) * np.mean(second == b)))
    return float(total)


@given(tables())
def test_mutual_information_is_that_of_a_plain_loop(made: tuple[Ints, tuple[int, ...]]) -> None:
    codes, sizes = made
    pairs = pairwise_information(codes, sizes)
    for i, j in product(range(len(sizes)), repeat=2):
        expected = naive_information(codes[:, i], codes[:, j])
        assert_allclose(pairs[i, j], expected, atol=1e-9)
        if i != j:
            counts = joint_counts(codes, Node(i, (j,)), sizes)
            assert_allclose(mutual_information(counts), expected, atol=1e-9)
            assert counts.sum() == len(codes)


@given(tables())
def test_many_categories_are_counted_as_few_are(made: tuple[Ints, tuple[int, ...]]) -> None:
    codes, sizes = made
    many = (4_000, *sizes[1:])
    assert_allclose(
        pairwise_information(codes, many), pairwise_information(codes, sizes), atol=1e-9
    )


@given(tables(), st.integers(0, 2**31))
def test_a_network_of_degree_1_is_a_spanning_tree_of_the_largest_information(
    made: tuple[Ints, tuple[int, ...]], seed: int
) -> None:
    codes, sizes = made
    nodes = learn_structure(codes, sizes, 1, most_informative, np.random.default_rng(seed))
    assert sorted(node.attribute for node in nodes) == list(range(len(sizes)))
    pairs = pairwise_information(codes, sizes)
    reached = sum(pairs[node.attribute, node.parents[0]] for node in nodes[1:])
    # Whatever the first attribute, a tree grown greedily has the largest sum.
    others = [
        learn_structure(codes, sizes, 1, most_informative, np.random.default_rng(s))
        for s in range(4)
    ]
    sums = [sum(pairs[n.attribute, n.parents[0]] for n in tree[1:]) for tree in others]
    assert_allclose(sums, reached, atol=1e-9)


@given(tables(), st.integers(1, 3), st.integers(0, 2**31))
def test_every_candidate_is_shown_with_its_information(
    made: tuple[Ints, tuple[int, ...]], degree: int, seed: int
) -> None:
    codes, sizes = made
    degree = min(degree, len(sizes) - 1)
    rng = np.random.default_rng(seed)
    known: list[int] = [int(np.random.default_rng(seed).integers(len(sizes)))]

    def choose(information: Floats, candidates: tuple[Node, ...]) -> int:
        expected = [
            Node(attribute, parents)
            for attribute in range(len(sizes))
            if attribute not in known
            for parents in combinations(sorted(known), min(degree, len(known)))
        ]
        assert list(candidates) == expected
        plain = [mutual_information(joint_counts(codes, node, sizes)) for node in expected]
        assert_allclose(information, plain, atol=1e-9)
        chosen = int(rng.integers(len(candidates)))
        known.append(candidates[chosen].attribute)
        return chosen

    learn_structure(codes, sizes, degree, choose, np.random.default_rng(seed))
    assert sorted(known) == list(range(len(sizes)))


@given(tables(), st.integers(0, 2**31))
def test_a_sample_is_that_of_a_plain_loop(made: tuple[Ints, tuple[int, ...]], seed: int) -> None:
    network = learn_bayes_net(*made, 1, np.random.default_rng(seed))
    found = network.sample(20, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    expected = np.zeros_like(found)
    for node, table in zip(network.nodes, network.tables, strict=True):
        drawn = 1 - rng.random(20)
        for i in range(20):
            shares = table[expected[i, node.parents[0]]] if node.parents else table[0]
            reached = np.cumsum(shares) / np.cumsum(shares)[-1]
            expected[i, node.attribute] = next(v for v, c in enumerate(reached) if drawn[i] <= c)
    assert np.array_equal(found, expected)


@given(tables(), st.integers(1, 3))
def test_tables_are_shares_among_records_with_the_same_parents(
    made: tuple[Ints, tuple[int, ...]], degree: int
) -> None:
    codes, sizes = made
    degree = min(degree, len(sizes) - 1)
    network = learn_bayes_net(codes, sizes, degree, np.random.default_rng(0))
    seen: list[int] = []
    for node, table in zip(network.nodes, network.tables, strict=True):
        assert len(node.parents) == min(degree, len(seen))
        assert set(node.parents) <= set(seen)
        seen.append(node.attribute)
        assert_allclose(table.sum(axis=1), 1.0)
        for row, values in enumerate(product(*(range(sizes[p]) for p in node.parents))):
            same = np.all(codes[:, list(node.parents)] == values, axis=1)
            among = codes[same] if same.any() else codes
            expected = np.bincount(among[:, node.attribute], minlength=sizes[node.attribute])
            assert_allclose(table[row], expected / len(among))


def test_samples_have_the_networks_shares() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 400)
    codes = np.column_stack([first, (first + (rng.random(400) < 0.2)) % 3, rng.integers(0, 2, 400)])
    network = learn_bayes_net(codes, (3, 3, 2), 2, rng)
    drawn = network.sample(200_000, rng)
    for attributes in ((0, 1), (1, 2), (0, 2)):
        sizes = tuple((3, 3, 2)[a] for a in attributes)
        seen = np.ravel_multi_index(tuple(drawn[:, list(attributes)].T), sizes)
        real = np.ravel_multi_index(tuple(codes[:, list(attributes)].T), sizes)
        shares = np.bincount(real, minlength=np.prod(sizes)) / 400
        # With three attributes and two parents the network is the joint itself.
        error = 5 * np.sqrt(shares * (1 - shares) / 200_000) + 1e-12
        assert (
            np.abs(np.bincount(seen, minlength=np.prod(sizes)) / 200_000 - shares) < error
        ).all()


def test_what_has_no_weight_is_never_drawn() -> None:
    network = Network((Node(0, ()),), (np.array([[0.0, 0.5, 0.0, 0.5, 0.0]]),), (5,))
    assert set(network.sample(20_000, np.random.default_rng(0))[:, 0].tolist()) == {1, 3}


def test_equal_generators_give_equal_samples() -> None:
    codes = np.random.default_rng(0).integers(0, 3, (50, 4))
    made = [
        learn_privbayes(codes, (3, 3, 3, 3), 1, 2.0, np.random.default_rng(7)).sample(
            30, np.random.default_rng(8)
        )
        for _ in range(2)
    ]
    assert np.array_equal(*made)


@given(tables(most=3), st.integers(0, 2**31))
def test_replacing_a_record_moves_information_within_the_sensitivity(
    made: tuple[Ints, tuple[int, ...]], seed: int
) -> None:
    codes, sizes = made
    rng = np.random.default_rng(seed)
    other = codes.copy()
    other[rng.integers(len(codes))] = [rng.integers(0, v) for v in sizes]
    for node in (Node(0, (1,)), Node(0, tuple(range(1, len(sizes))))):
        one, two = (mutual_information(joint_counts(c, node, sizes)) for c in (codes, other))
        assert abs(one - two) <= information_sensitivity(len(codes), (node,), sizes) + 1e-12


@pytest.mark.slow
def test_the_exponential_mechanism_has_its_weights_and_does_not_overflow() -> None:
    rng = np.random.default_rng(0)
    scores = np.array([0.0, 1.0, 2.0])
    games = quarter(20_000)
    drawn = [exponential_mechanism(scores, 1.0, 1.5, rng) for _ in range(games)]
    weights = np.exp(1.5 * scores / 2)
    expected = games * weights / weights.sum()
    assert stats.chisquare(np.bincount(drawn), expected).pvalue > 1e-4
    assert exponential_mechanism(np.array([0.0, 1e6]), 0.5, 1e3, rng) == 1
    assert exponential_mechanism(np.array([3.0, 1.0]), 0.5, np.inf, rng) == 0


@given(tables(), st.integers(1, 3))
def test_without_noise_it_is_bay_net_but_for_empty_parents(
    made: tuple[Ints, tuple[int, ...]], degree: int
) -> None:
    codes, sizes = made
    degree = min(degree, len(sizes) - 1)
    private = learn_privbayes(codes, sizes, degree, np.inf, np.random.default_rng(3))
    plain = learn_bayes_net(codes, sizes, degree, np.random.default_rng(3))
    assert private.nodes == plain.nodes
    for node, one, other in zip(plain.nodes, private.tables, plain.tables, strict=True):
        known = joint_counts(codes, node, sizes).sum(axis=1) > 0
        assert_allclose(one[known], other[known])
        assert_allclose(one[~known], 1 / sizes[node.attribute])


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_every_table_gets_the_noise_of_its_share(
    degree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    drawn = networks.noisy_counts

    def watched(codes, node, sizes, budget, rng):  # type: ignore[no-untyped-def]
        seen.append(2 * budget[0] / budget[1])
        return drawn(codes, node, sizes, budget, rng)

    monkeypatch.setattr(networks, "noisy_counts", watched)
    codes = np.random.default_rng(0).integers(0, 2, (30, 4))
    learn_privbayes(codes, (2, 2, 2, 2), degree, 3.0, np.random.default_rng(0))
    # F - degree tables share half of epsilon; in each, two cells change by 1.
    assert seen == [2 * (4 - degree) / 1.5] * (4 - degree)


def test_noise_has_the_scale_that_is_claimed() -> None:
    codes = np.zeros((1000, 2), np.int64)
    found = np.array(
        [
            networks.noisy_counts(codes, Node(0, (1,)), (2, 2), (3, 1.5), rng)[0, 0] - 1000
            for rng in map(np.random.default_rng, range(3000))
        ]
    )
    assert stats.kstest(found, stats.laplace(scale=2 * 3 / 1.5).cdf).pvalue > 1e-3


Learn = Callable[[Ints, tuple[int, ...], int, float, np.random.Generator], Network]


def lower_bound(learn: Learn, epsilon: float, games: int) -> float:
    """Epsilon that a worst-case record shows: the only one that is not all zeros."""
    rng = np.random.default_rng(11)
    without = np.zeros((10, 2), np.int64)
    with_it = without.copy()
    with_it[0] = 1
    secret = rng.random(games) < 0.5
    score = np.empty(games)
    for game, inside in enumerate(secret):
        network = learn(with_it if inside else without, (2, 2), 1, epsilon, rng)
        root, child = network.tables
        joint = root[0][:, None] * child
        score[game] = joint[1, 1] - joint[0, 0]
    half = games // 2
    # The threshold is chosen on one half, and judged on the other.
    cuts = np.quantile(score[:half], np.linspace(0.01, 0.99, 99))
    bounds = [epsilon_lower_bound(Decisions(score[:half] > cut, secret[:half])).low for cut in cuts]
    best = cuts[int(np.argmax(bounds))]
    return epsilon_lower_bound(Decisions(score[half:] > best, secret[half:])).low


def wrong(
    codes: Ints, sizes: tuple[int, ...], degree: int, epsilon: float, rng: np.random.Generator
) -> Network:
    """PrivBayes as it is found elsewhere: noise for shares, added to counts."""
    nodes = learn_structure(codes, sizes, degree, most_informative, rng)
    scale = 4 / epsilon / len(codes)
    made = []
    for node in nodes:
        counts = joint_counts(codes, node, sizes)
        noisy = np.maximum(counts + rng.laplace(scale=scale, size=counts.shape), 0.0)
        made.append(normalise_weights(noisy, np.ones(sizes[node.attribute])))
    return Network(nodes, tuple(made), sizes)


@pytest.mark.slow
def test_the_privacy_that_is_claimed_is_not_contradicted_and_a_wrong_copy_is_caught() -> None:
    assert lower_bound(learn_privbayes, 1.0, 1_000) <= 1.0
    assert lower_bound(wrong, 1.0, 1_000) > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_many_games_do_not_contradict_the_claim(epsilon: float) -> None:
    found = lower_bound(learn_privbayes, epsilon, quarter(20_000))
    # The record's tables cost half of epsilon: some of it shows, not more than all.
    assert 0.05 * epsilon < found <= epsilon


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c, r: learn_bayes_net(c, (2, 2), 2, r), r"degree must be in 1..1, got 2"),
        (lambda c, r: learn_bayes_net(c, (2, 2), 0, r), r"degree must be in 1..1, got 0"),
        (lambda c, r: learn_privbayes(c, (2, 2), 1, 0.0, r), "epsilon must be above 0, got 0.0"),
    ],
)
def test_bad_input_is_named(call: Callable[..., object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(np.zeros((3, 2), np.int64), np.random.default_rng(0))


def test_a_network_of_many_attributes_is_learnt_without_making_every_candidate() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(60, 200))
    began = process_time()
    nodes = learn_structure(codes, (3,) * 200, 1, most_informative, rng)
    assert sorted(node.attribute for node in nodes) == list(range(200))
    # 1.3 million candidates: one by one they take seconds.
    assert process_time() - began < 0.5
