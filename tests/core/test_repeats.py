"""Near repeats are found where rows are views of few records, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from privacygauge.core.repeats import (
    interpolated_rows,
    is_clustered,
    near_repeats,
    repeated_scores,
)
from privacygauge.core.units import join_units


def views(records: int, each: int, noise: float, axes: int = 6, seed: int = 0):
    rng = np.random.default_rng(seed)
    points = np.repeat(rng.normal(size=(records, axes)), each, axis=0)
    points = points + noise * rng.normal(size=points.shape)
    member = np.repeat(rng.random(records) < 0.5, each)
    return points, np.zeros(len(points), np.int64), member


def test_views_of_one_record_are_one_unit():
    points, group, member = views(200, 5, 0.03)
    unit, across = near_repeats(points, group, member)
    assert not across.any()
    assert abs(len(np.unique(unit)) - 200) <= 10
    # Hardly a unit holds rows of two records.
    record = np.repeat(np.arange(200), 5)
    assert np.mean([len(np.unique(record[unit == u])) == 1 for u in np.unique(unit)]) > 0.95


@pytest.mark.parametrize("axes", [2, 3, 10, 40])
def test_rows_that_are_drawn_one_by_one_do_not_repeat(axes):
    points, group, member = views(800, 1, 0.0, axes)
    assert near_repeats(points, group, member) is None


def test_copies_on_the_other_side_are_named():
    rng = np.random.default_rng(0)
    first = rng.normal(size=(300, 6))
    points = np.concatenate([first, first + 0.02 * rng.normal(size=first.shape)])
    _, across = near_repeats(points, np.zeros(600, np.int64), np.arange(600) < 300)
    assert across.mean() > 0.9


def test_a_crowd_of_members_is_no_repeat():
    # A model that is sure of its members moves them together: that is what leaks.
    rng = np.random.default_rng(0)
    points = rng.normal(size=(800, 5))
    member = np.arange(800) < 400
    points[member] = 0.1 * points[member] + 3
    assert near_repeats(points, np.zeros(800, np.int64), member) is None


def test_one_axis_says_nothing_of_repeats():
    points, group, member = views(200, 5, 0.001, axes=1)
    assert near_repeats(points, group, member) is None


def test_units_are_joined():
    assert join_units(np.array([0, 0, 1, 2]), np.array([5, 6, 6, 7])).tolist() == [0, 0, 0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 6, 30])
def test_rows_between_two_others_are_found_and_no_others(d):
    rng = np.random.default_rng(d)
    real = rng.normal(size=(600, d))
    nearest = cKDTree(real).query(real, k=6)[1]
    first = rng.integers(600, size=300)
    second = nearest[first, rng.integers(1, 6, size=300)]
    share = rng.random((300, 1))
    made = share * real[first] + (1 - share) * real[second]
    found = interpolated_rows(np.vstack([real, made]), np.zeros(900, np.int64))
    assert found[600:].mean() > 0.95
    assert not found[:600].any()
    assert not interpolated_rows(real, np.zeros(600, np.int64)).any()


def test_points_of_a_lattice_are_not_interpolated():
    rng = np.random.default_rng(0)
    assert not interpolated_rows(
        rng.integers(8, size=(400, 4)).astype(float), np.zeros(400, int)
    ).any()


@pytest.mark.parametrize("copies", [2, 5])
@pytest.mark.parametrize("noise", [0.0, 1e-6])
@pytest.mark.parametrize("apart", [0.0, 1.0, 3.0])
def test_rows_that_are_written_down_again_are_seen_by_their_scores(apart, noise, copies):
    rng = np.random.default_rng(0)
    member = rng.random(200) < 0.5
    rows = rng.permutation(np.repeat(np.arange(200), copies))
    score = rng.normal(size=200) + apart * member
    unit = repeated_scores(score[rows] + noise * rng.normal(size=len(rows)), member[rows])
    assert abs(len(np.unique(unit)) - 200) <= 10


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 400, 2000])
@pytest.mark.parametrize("digits", [0, 1, 2, 15])
def test_scores_that_are_equal_by_chance_or_saturated_are_no_repeats(digits, n):
    taken = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        member = rng.random(n) < 0.5
        for apart in (0.0, 1.0, 3.0, 9.0):
            normal = rng.normal(size=n) + apart * member
            loss = -np.log1p(np.exp(-(6 * rng.normal(size=n) + 8 + 3 * apart * member)))
            for score in (normal, np.exp(3 * normal), np.round(loss, 15).astype(np.float32)):
                taken += repeated_scores(np.round(score, digits), member) is not None
    assert taken <= 0.03 * 480


def one_number(people, each, noise, leak=0.0, seed=0):
    """Return how sure a model of two classes is of noisy views of people, classes and sides."""
    rng = np.random.default_rng(seed)
    member = rng.random(people) < 0.5
    label = rng.integers(2, size=people)
    sure = 2 + rng.normal(size=people) + leak * member
    rows = np.repeat(np.arange(people), each)
    order = rng.permutation(len(rows))
    seen = sure[rows] + noise * rng.normal(size=len(rows))
    return seen[order], label[rows][order], member[rows][order]


def test_views_of_people_are_seen_in_one_number_a_row():
    found = [is_clustered(*one_number(300, 5, 0.05, seed=seed)) for seed in range(20)]
    assert sum(found) >= 19


@pytest.mark.parametrize("leak", [0.0, 0.5, 3.0])
def test_rows_of_different_people_are_not_clustered_whatever_leaks(leak):
    found = [is_clustered(*one_number(1500, 1, 0.0, leak, seed)) for seed in range(50)]
    assert sum(found) <= 1


@pytest.mark.parametrize("gain", [1.2, 3.0])
def test_members_that_are_surer_of_whatever_they_say_are_not_clustered(gain):
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        member = rng.random(2000) < 0.5
        label = rng.integers(4, size=2000)
        rows = np.arange(2000)
        z = rng.normal(size=(2000, 4))
        z[rows, label] += 1
        z[rows, z.argmax(axis=1)] += gain * member
        own = z[rows, label].copy()
        z[rows, label] = -np.inf
        found.append(is_clustered(own - z.max(axis=1), label, member))
    assert sum(found) <= 1


def test_equal_scores_are_in_no_order():
    member = np.arange(400) < 200  # a file that lists its members first
    assert not is_clustered(np.zeros(400), np.zeros(400, np.int64), member)


def test_scores_in_steps_say_nothing_of_neighbours():
    """Isotonic calibration gives each step of answers its own share of members."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        step = rng.integers(150, size=1000)
        member = rng.random(1000) < rng.random(150)[step]
        assert not is_clustered(step / 150, np.zeros(1000, np.int64), member)


def test_a_part_answered_in_steps_says_nothing_of_neighbours():
    """A forest answers one clinic of ten, which it has by heart, and the rest a smooth model."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        member = rng.random(3000) < 0.5
        score = rng.beta(3, 1.5, 3000)
        clinic = rng.random(3000) < 0.1
        votes = rng.binomial(50, np.where(member, 0.95, 0.75)) / 50
        score[clinic] = votes[clinic]
        found.append(is_clustered(score, np.zeros(3000, np.int64), member))
    assert sum(found) <= 1
