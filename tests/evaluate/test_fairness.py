"""The blind attacker: it wins where sides differ, and rows are compared where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.fairness import TWINS, Comparison, compare, group_codes
from privacygauge.report.fairness import section
from tests.thorough import times


def compared(known: dict, secret: np.ndarray, seed: int = 0, **more) -> Comparison:
    unit = np.arange(len(secret))
    return compare(known, secret, unit, np.random.default_rng(seed), **more)


def sides(n: int, seed: int = 0) -> tuple[np.ndarray, np.random.Generator]:
    return np.arange(2 * n) < n, np.random.default_rng(seed)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 20, 100])
def test_sides_that_differ_in_nothing_are_compared_as_they_are(classes):
    games = times(200)
    states = []
    for seed in range(games):
        secret, rng = sides(300, seed)
        known = {"class": rng.integers(classes, size=600), "age": rng.normal(size=600)}
        found = compared(known, secret, seed)
        assert found.told or found.state == TWINS
        states.append(found.state)
    assert states.count("fair") >= binom.ppf(1e-4, games, 0.95)
    assert states.count(TWINS) + states.count("different") <= binom.ppf(1 - 1e-4, games, 0.005)


def test_other_class_shares_are_matched_exactly():
    secret, rng = sides(800)
    label = (rng.random(1600) < np.where(secret, 0.5, 0.08)).astype(int)
    found = compared({"class": label}, secret)
    assert found.state == "matched"
    assert [one.column for one in found.differences] == ["class"]
    kept = found.compared
    shares = [np.mean(secret[kept & (label == c)]) for c in (0, 1)]
    assert abs(shares[0] - shares[1]) < 0.01
    assert found.left.low <= 0.5 < found.blind.low


def test_people_are_matched_with_all_their_rows():
    # Were rows left out one by one, the side with more of them would keep more people, with fewer
    # rows each, and tops of one row per person would hold too many of them.
    people, rng = sides(400)
    person = rng.permutation(np.repeat(np.arange(800), 5))
    label = (rng.random(800) < np.where(people, 0.5, 0.08)).astype(int)
    found = compare({"class": label[person]}, people[person], person, rng)
    assert found.state == "matched"
    rows = np.bincount(person[found.compared], minlength=800)
    assert np.isin(rows, [0, 5]).mean() >= 1 - 4 / 800
    kept = rows > 0
    shares = [np.mean(people[kept & (label == c)]) for c in (0, 1)]
    assert abs(shares[0] - shares[1]) < 0.02  # a unit of one stratum may be kept in part


def test_a_drift_is_matched_and_named():
    secret, rng = sides(1000)
    year = (2010 + 4 * rng.normal(size=2000) + 3 * ~secret).round()
    known = {"year": year, "class": rng.integers(3, size=2000)}
    found = compared(known, secret)
    assert found.state == "matched"
    assert found.differences[0].column == "year"
    kept = found.compared
    gap = year[kept & secret].mean() - year[kept & ~secret].mean()
    assert abs(gap) < 0.4 < abs(year[secret].mean() - year[~secret].mean()) / 4


def test_sides_without_anything_in_common_cannot_be_compared():
    secret, rng = sides(300)
    year = rng.integers(2000, 2010, size=600) + 20 * ~secret
    found = compared({"year": year}, secret)
    assert not found.told
    assert found.compared.all()
    assert found.differences[0].column == "year"


def test_what_only_several_columns_tell_is_found():
    rng = np.random.default_rng(0)
    one, other = rng.integers(2, size=(2, 2000))
    secret = (one ^ other ^ (rng.random(2000) < 0.2)).astype(bool)
    found = compared({"one": one, "other": other}, secret)
    assert found.state == "matched"
    assert not found.differences


def test_pairs_across_the_sides_are_called_twins():
    rng = np.random.default_rng(0)
    first = rng.normal(size=(300, 3))
    both = np.concatenate([first, first + 0.01 * rng.normal(size=first.shape)])
    found = compared({str(j): both[:, j] for j in range(3)}, np.arange(600) < 300)
    assert found.state == TWINS


def test_copies_are_left_out_until_they_are_most():
    secret, rng = sides(200)
    known = {"class": rng.integers(3, size=400)}
    few = rng.random(400) < 0.2
    found = compared(known, secret, copied=few)
    assert found.told
    assert found.copied == few.sum()
    assert not found.compared[few].any()
    assert compared(known, secret, copied=rng.random(400) < 0.7).state == TWINS


def test_a_placebo_is_checked_and_nothing_is_matched_on_it():
    secret, rng = sides(500)
    easier = rng.normal(size=1000) + 1.0 * secret
    assert compared({}, secret, placebo={"signal": easier}).state == "different"
    assert compared({}, secret, placebo={"signal": rng.normal(size=1000)}).state == "fair"


def beside(low, value, high):
    everyone = np.ones(1000, np.bool_)
    return Comparison("fair", everyone, None, placebo=estimate(low, value, high))


def estimate(low, value, high):
    return Estimate(value, low, high, 0.95, 1000, "made up")


def test_a_placebo_that_may_be_chance_explains_nothing():
    placebo = beside(0.486, 0.519, 0.552)
    area = estimate(0.485, 0.536, 0.587)
    assert placebo.beyond_placebo(area)
    assert placebo.few_beyond_placebo(22, 22, 500, 500)
    assert placebo.group_beyond_placebo(estimate(0.51, 0.6, 0.7))
    assert not beside(0.51, 0.54, 0.57).beyond_placebo(area)


def test_a_placebo_explains_as_many_at_the_top_as_its_own_scores_put_there():
    rng = np.random.default_rng(0)
    secret = np.arange(1000) < 500
    shift = np.sqrt(2) * ndtri(0.65)
    beyond = []
    for _ in range(200):
        order = np.argsort(-(rng.normal(size=1000) + shift * secret))[:50]
        beyond.append(
            beside(0.62, 0.65, 0.65).few_beyond_placebo(secret[order].sum(), 50, 500, 500)
        )
    assert np.mean(beyond) < 0.1
    assert beside(0.62, 0.65, 0.68).few_beyond_placebo(50, 50, 500, 500)
    assert not beside(0.62, 0.65, 0.68).few_beyond_placebo(4, 4, 500, 500)


def test_a_placebo_explains_guesses_in_a_group_that_are_right_as_often_as_its_own():
    placebo = beside(0.62, 0.65, 0.68)
    assert placebo.group_beyond_placebo(estimate(0.7, 0.8, 0.9))
    assert not placebo.group_beyond_placebo(estimate(0.6, 0.7, 0.8))


def test_codes_do_not_depend_on_the_order_or_the_names():
    rng = np.random.default_rng(0)
    values = rng.choice(["b", "a", "c"], size=50)
    order = rng.permutation(50)
    assert np.array_equal(group_codes(values)[order], group_codes(values[order]))
    renamed = np.char.add("x", values)
    assert np.array_equal(group_codes(values), group_codes(renamed))
    assert group_codes(np.full(50, 3.0)) is None
    mixed = np.array([1.5, None, "", 2], dtype=object)
    assert len(set(group_codes(mixed).tolist())) == 3  # what is missing is one group


@pytest.mark.parametrize("low", [0.38, 0.46])
def test_a_blind_attacker_that_is_wrong_after_matching_is_explained(low):
    apart = Estimate(0.7, 0.65, 0.75, 0.95, 400, "DeLong")
    left = Estimate(low + 0.03, low, low + 0.06, 0.95, 300, "DeLong")
    found = section(Comparison("matched", np.ones(400, bool), apart, left))
    assert found is not None
    words = " ".join(str(block) for block in found.blocks)
    assert ("wrong more often than guessing" in words) == (left.high < 0.5)
