"""Patients are compared on equally many texts where the sides have unequally many."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from privacygauge.errors import InputError
from privacygauge.language.patients import even_sizes, sizes_differ, whole_patients
from privacygauge.language.scores import TextScores, text_scores
from tests.language.made_scores import Sizes, few_scores, sized_scores
from tests.thorough import quarter


def made(sizes: tuple[Sizes, Sizes, Sizes], patients=(40, 40, 40), seed: int = 0) -> TextScores:
    return sized_scores(np.random.default_rng(seed), sizes, patients=patients)


def evened(scores: TextScores, seed: int = 0) -> TextScores:
    return even_sizes(scores, np.random.default_rng(seed))


def counts(scores: TextScores) -> dict[str, list[int]]:
    """Return the sorted numbers of texts of the patients of each kind."""
    of = Counter(scores.group)
    kinds = {"in": scores.member, "out": scores.nonmember, "apart": scores.population}
    return {
        kind: sorted(of[g] for g in {scores.group[row] for row in np.flatnonzero(rows)})
        for kind, rows in kinds.items()
    }


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        ((2, 20, 5), (2, 2, 2)),
        ((5, 10, 20), (5, 5, 5)),
        ((20, 2, 1), (2, 2, 1)),
        ((2, 2, 20), (2, 2, 2)),
        ((20, 20, 2), (20, 20, 2)),
    ],
)
def test_the_side_with_more_texts_keeps_as_many_as_the_other(sizes, left):
    found = counts(evened(made(sizes)))
    assert [set(found[kind]) for kind in ("in", "out", "apart")] == [{size} for size in left]
    assert [len(found[kind]) for kind in ("in", "out", "apart")] == [40, 40, 40]


@given(st.integers(0, 500), st.sampled_from([(40, 40, 40), (40, 40, 0), (40, 60, 40)]))
def test_the_numbers_that_are_left_have_one_law(seed, patients):
    before = made(((1, 2, 20), (10, 20), (2, 40)), patients, seed)
    after = evened(before, seed)
    found = counts(after)
    had = counts(before)
    inside = np.array(found["in"])
    outside = np.array(found["out"])
    if patients[0] == patients[1]:
        assert np.array_equal(inside, outside)
        assert np.array_equal(inside, np.minimum(had["in"], had["out"]))
    share = np.array([[np.mean(x <= k) for k in range(41)] for x in (inside, outside)])
    assert np.abs(np.diff(share, axis=0)).max() <= 1 / min(patients[:2])
    of = Counter(before.group)
    assert all(n <= of[group] for group, n in Counter(after.group).items())


@pytest.mark.parametrize("sizes", [(5, 5, 5), (1, 1, 1), ((1, 2, 3), (1, 2, 3), (1, 2, 3))])
def test_equal_numbers_stay_as_they_are(sizes):
    scores = made(sizes)
    assert evened(scores) is scores


def test_a_note_says_how_many_are_compared():
    assert evened(made((2, 20, 5))).notes[-1] == (
        "Patients have unequal numbers of texts, in the median 2 for members, 20 for non-members, "
        "5 for the population: they are compared on equally many, drawn at random (on average 2, "
        "2, 2)."
    )
    assert "population" not in evened(made((2, 20, 5), (40, 40, 0))).notes[-1]


@pytest.mark.slow
def test_every_text_is_drawn_equally_often_whatever_the_order_of_the_rows():
    scores = made((2, 20, 5), (8, 8, 8))
    order = np.random.default_rng(1).permutation(len(scores))
    turned = text_scores(
        [scores.sample[row] for row in order],
        scores.energy_target[order],
        scores.member[order],
        group=[scores.group[row] for row in order],
        population=scores.population[order],
    )
    games = 100
    drawn = Counter()
    for seed in range(games):
        kept = set(evened(scores, seed).sample)
        drawn.update(kept)
        if seed < 5:
            assert kept == set(evened(turned, seed).sample)
    outside = [drawn[scores.sample[row]] for row in np.flatnonzero(scores.nonmember)]
    low, high = binom.ppf([1e-6, 1 - 1e-6], games, 2 / 20)
    assert low <= min(outside) <= max(outside) <= high
    assert all(drawn[scores.sample[row]] == games for row in np.flatnonzero(scores.member))


@given(few_scores())
def test_any_scores_keep_a_text_of_every_patient(scores):
    try:
        whole = whole_patients(scores)
    except InputError:
        return
    found = evened(whole)
    assert set(found.group) == set(whole.group)
    assert set(found.sample) <= set(whole.sample)


def test_no_score_decides_what_is_drawn():
    first = made((2, 20, 5))
    other = text_scores(
        first.sample,
        np.exp(first.energy_target),
        first.member,
        group=first.group,
        population=first.population,
    )
    assert evened(first).sample == evened(other).sample


def test_groups_are_needed():
    with pytest.raises(InputError, match="need groups: give a column group"):
        evened(text_scores(list("ab"), [1, 2], [1, 0]))


@pytest.mark.parametrize(
    ("first", "second"),
    [((2,), (20,)), ((1, 20, 20, 20, 20), (20,)), ((10,), (5, 15)), ((10, 11), (11, 12))],
)
def test_other_numbers_differ(first, second):
    rng = np.random.default_rng(0)
    found = [sizes_differ(rng.choice(first, 60), rng.choice(second, 60)) for _ in range(20)]
    assert all(found)
    assert sizes_differ(np.repeat(first[0], 60), np.repeat(second[-1], 5))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 2), (1, 2, 3, 30), range(1, 40)])
def test_numbers_of_one_law_seldom_differ(sizes):
    rng = np.random.default_rng(0)
    games = quarter(400)
    for n, m in ((10, 10), (40, 40), (20, 200)):
        found = sum(sizes_differ(rng.choice(sizes, n), rng.choice(sizes, m)) for _ in range(games))
        assert found <= binom.ppf(1 - 1e-4, games, 0.05)


def test_one_number_for_all_cannot_differ():
    assert not sizes_differ(np.full(40, 3), np.full(60, 3))
    with pytest.raises(InputError, match="level must be"):
        sizes_differ(np.array([1]), np.array([2]), 1.0)
