import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.claims.dtp.random_trees import RandomDecisionTrees, random_trees_of
from privacygauge.classifiers.learner import Bounded, Learner, box_of
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.errors import InputError
from tests.claims.dtp.honest import adult_codes, assert_honest
from tests.thorough import quarter

SIZES = (2, 3, 2)
DOMAIN = np.array(list(itertools.product(*(range(size) for size in SIZES))), float)


@st.composite
def forests(draw):
    """Return a small forest, few records, and how many classes there are."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 10))
    k = draw(st.integers(2, 3))
    learner = RandomDecisionTrees(
        SIZES,
        n_trees=draw(st.integers(1, 4)),
        depth=draw(st.integers(1, 3)),
        seed=draw(st.integers(0, 100)),
    )
    return learner, DOMAIN[rng.integers(0, len(DOMAIN), size=n)], rng.integers(0, k, size=n), k


every_alpha = pytest.mark.parametrize("alpha", [0.0, 0.4])
every_answer = pytest.mark.parametrize("answers", ["normalised", "geometric-mean"])


@pytest.mark.slow
@every_alpha
@every_answer
@given(forests())
def test_a_record_left_out_is_a_refit(alpha, answers, drawn):
    learner, x, y, k = drawn
    assert_honest(replace(learner, alpha=alpha, answers=answers), x, y, k, queries=DOMAIN)


@every_alpha
@given(forests())
def test_answers_are_the_geometric_mean_of_trees(alpha, drawn):
    learner, x, y, k = drawn
    learner = replace(learner, alpha=alpha, answers="geometric-mean")
    fitted = learner.fit(x, y, n_classes=k)
    leaves = learner.leaves(x)
    asked = learner.leaves(DOMAIN)
    for query, row in enumerate(np.exp(fitted.log_p(DOMAIN)).tolist()):
        product = np.ones(k)
        for tree in range(learner.n_trees):
            same = y[leaves[tree] == asked[tree, query]].tolist()
            counts = np.array([same.count(label) + alpha for label in range(k)])
            product *= counts / counts.sum() if counts.sum() else np.full(k, 1 / k)
        assert row == pytest.approx((product ** (1 / learner.n_trees)).tolist(), abs=1e-12)
    whole = np.exp(replace(learner, answers="normalised").fit(x, y, n_classes=k).log_p(DOMAIN))
    answered = ~np.isnan(whole).any(axis=1)
    np.testing.assert_allclose(whole[answered].sum(axis=1), 1, atol=1e-12)
    assert (np.exp(fitted.log_p(DOMAIN))[~answered] == 0).all()


def largest(fitted, n, width):
    """Return each record's DTP by asking for every query of the domain."""
    found = fitted.log_p_without_at(np.arange(n), DOMAIN)
    return log_ratio(fitted.log_p(DOMAIN), found, width).max(axis=1)


@given(forests())
def test_the_dtp_of_the_geometric_mean_is_the_pdtp(drawn):
    learner, x, y, k = drawn
    learner = replace(learner, alpha=0.4, answers="geometric-mean")
    fitted = learner.fit(x, y, n_classes=k)
    rows = np.arange(len(x))
    found = fitted.dtp(rows, 0.0, box_of(x))
    assert found.low.tolist() == found.high.tolist()
    np.testing.assert_allclose(found.low, log_ratio(fitted.log_p(x), fitted.log_p_without(rows)))
    np.testing.assert_allclose(largest(fitted, len(x), 0.0), found.high, rtol=0, atol=1e-12)


@pytest.mark.parametrize("width", [0.0, 0.01])
@every_alpha
@every_answer
@settings(max_examples=quarter(24))
@given(forests())
def test_the_dtp_lies_in_its_range(width, alpha, answers, drawn):
    learner, x, y, k = drawn
    fitted = replace(learner, alpha=alpha, answers=answers).fit(x, y, n_classes=k)
    found = fitted.dtp(np.arange(len(x)), width, box_of(x))
    brute = largest(fitted, len(x), width)
    assert (found.low <= brute + 1e-12).all()
    assert (brute <= found.high + 1e-12).all()


def test_the_bound_of_normalised_answers_is_all_but_reached():
    best = 0.0
    for seed in range(15):
        learner = RandomDecisionTrees(SIZES, n_trees=3, depth=1, seed=seed, alpha=0.01)
        rng = np.random.default_rng(seed)
        x = DOMAIN[rng.integers(0, 12, size=40)]
        y = rng.integers(0, 2, size=40)
        fitted = learner.fit(x, y, n_classes=2)
        found = fitted.dtp(np.arange(40), 0.0, box_of(x))
        best = max(best, (largest(fitted, 40, 0.0) / found.high).max())
    assert 0.7 < best <= 1 + 1e-12


def asks(learner):
    """Return which attribute each tree of one question asks for."""
    corners = np.vstack([np.zeros(len(learner.categories)), np.eye(len(learner.categories))])
    leaves = learner.leaves(corners)
    return (leaves[:, 1:] != leaves[:, :1]).argmax(axis=1).tolist()


def test_without_smoothing_zeros_hide_what_another_query_shows():
    # Proposition 6.8 would have max(4/3, the record's own ratio) say it all.
    drawn = (
        RandomDecisionTrees(SIZES, n_trees=2, depth=1, seed=seed, answers="geometric-mean")
        for seed in range(100)
    )
    learner = next(learner for learner in drawn if asks(learner) == [0, 1])
    # Alone in the first tree's leaf; in the second's with records of its own class only.
    x = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 0]])
    fitted = learner.fit(x, np.array([0, 0, 0, 0, 1]), n_classes=2)
    found = fitted.dtp(np.array([0]), 0.0, box_of(x))
    assert found.low == pytest.approx([np.log(2) / 2])
    # Where the second tree knows the other class, that class was impossible before.
    assert largest(fitted, 1, 0.0) == found.high == np.inf


def mixed_data(rng, n=400):
    x = np.column_stack([rng.integers(0, 3, n), rng.normal(size=n), rng.uniform(5, 9, n)])
    return x, (x[:, 1] + rng.normal(size=n) > 0).astype(int)


@every_answer
def test_numbers_are_split_within_their_ranges(answers):
    x, y = mixed_data(np.random.default_rng(0))
    learner = random_trees_of(x, (1, 2), n_trees=7, depth=4, alpha=0.1, answers=answers)
    assert learner.categories == (3, None, None)
    assert learner.ranges[1] == (x[:, 2].min(), x[:, 2].max())
    assert_honest(learner, x, y, 2, rows=np.arange(0, 400, 40), queries=x[:30] * 1.5 // 1 % 3)
    # Sixteen leaves at most, of thresholds, and three branches where the category is asked for.
    for leaves in learner.leaves(x):
        assert 8 < len(np.unique(leaves)) <= 3 * 2**3 + 2**4


def test_the_structure_knows_no_record_and_every_tree_is_another():
    x, _ = mixed_data(np.random.default_rng(1))
    learner = RandomDecisionTrees((3, None, None), ((-3, 3), (5, 9)), n_trees=4, depth=3)
    leaves = learner.leaves(x)
    assert np.array_equal(leaves[:, ::3], learner.leaves(x[::3]))
    assert np.array_equal(leaves, replace(learner, n_trees=9).leaves(x)[:4])
    assert not np.isin(leaves[0], leaves[1]).any()
    assert not np.array_equal(leaves, replace(learner, seed=1).leaves(x))


def test_a_category_is_asked_for_once_and_a_full_tree_tells_all_apart():
    learner = RandomDecisionTrees(SIZES, n_trees=5, depth=50)
    for leaves in learner.leaves(DOMAIN):
        assert len(np.unique(leaves)) == len(DOMAIN)


def test_attributes_are_chosen_evenly():
    asked = np.bincount(asks(RandomDecisionTrees((2, 2, 2, 2), n_trees=2000, depth=1)))
    # Four standard deviations of a binomial count around 500.
    assert (np.abs(asked - 500) < 4 * np.sqrt(2000 * 0.25 * 0.75)).all()


@pytest.mark.slow
def test_people_left_out_are_refits(data_folder):
    x, y = adult_codes(1000)
    learner = random_trees_of(x, n_trees=3, depth=4, alpha=0.1)
    assert_honest(learner, x, y, 2, rows=np.arange(0, 1000, 20), queries=x[:20])


def test_it_is_a_learner_that_knows_its_dtp():
    learner = RandomDecisionTrees((2, None), ((0.0, 1.0),), alpha=0.5)
    assert isinstance(learner, Learner)
    assert isinstance(learner.fit(np.zeros((1, 2)), [0], n_classes=2), Bounded)
    assert learner.describe() == {
        "categories": [2, None],
        "ranges": [[0.0, 1.0]],
        "trees": 20,
        "depth": 5,
        "seed": 0,
        "alpha": 0.5,
        "answers": "normalised",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": (0,)}, "every attribute needs at least one category"),
        ({"categories": (None,)}, "ranges must hold the ends of 1 numbers, got 0"),
        ({"categories": (None,), "ranges": ((1, 0),)}, r"ascending, got \(1, 0\)"),
        ({"n_trees": 0}, "n_trees must be at least 1, got 0"),
        ({"depth": 0}, "depth must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"alpha": -1}, "alpha must be finite and at least 0, got -1"),
        ({"answers": "mean"}, "answers must be 'normalised' or 'geometric-mean', got 'mean'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        RandomDecisionTrees(**{"categories": (2,), **options})


@pytest.mark.parametrize("value", [2, -1, 0.5])
def test_other_categories_are_named(value):
    learner = RandomDecisionTrees((2,))
    with pytest.raises(InputError, match=rf"has the categories 0..1, got {float(value)} in row 1"):
        learner.fit(np.array([[0], [value]]), [0, 1], n_classes=2)
