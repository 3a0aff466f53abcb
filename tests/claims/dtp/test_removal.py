"""Removing the riskiest records: all values again after each, sawtooth, groups that shield."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from privacygauge.claims.dtp.measure import (
    LearnerRecords,
    Measure,
    categorical_records,
    remove_riskiest,
)
from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.classifiers.learner import Box
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from tests.thorough import times

NO_BOX = Box(np.zeros(0), np.zeros(0))


def table(seed: int, n: int = 12) -> tuple[NaiveBayes, Ints, Ints]:
    rng = np.random.default_rng(seed)
    sizes = (3, 2, 2)
    x = np.column_stack([rng.integers(0, v, n) for v in sizes])
    return NaiveBayes(sizes, 0.5), x, rng.integers(0, 2, n)


@dataclass(frozen=True)
class Scripted:
    """Values as told, by how many records are gone."""

    script: tuple[tuple[float, ...], ...]
    step: int = 0
    gone: tuple[int, ...] = ()

    @property
    def measure(self) -> Measure:
        return "DTP"

    def values(self) -> Floats:
        values = np.array(self.script[self.step], float)
        values[list(self.gone)] = np.nan
        return values

    def row(self, group: int) -> int:
        return 10 + group

    def less(self, group: int) -> Scripted:
        return Scripted(self.script, self.step + 1, (*self.gone, group))


@pytest.mark.slow
@given(st.integers(0, 2**31))
@settings(max_examples=times(30), deadline=None)
def test_every_step_equals_starting_afresh_without_the_removed(seed: int) -> None:
    learner, x, y = table(seed)
    path = remove_riskiest(categorical_records(x, y, learner.sizes, 2, learner.alpha), 6)
    left = np.ones(len(y), np.bool_)
    for i, row in enumerate(path.removed):
        fitted = learner.fit(x[left], y[left], n_classes=2)
        values = fitted.dtp(np.arange(left.sum()), 0.0, NO_BOX).low
        assert_allclose(path.highest[i], values.max())
        assert_allclose(path.value[i], values.max())
        assert_allclose(values[np.cumsum(left)[row] - 1], values.max())
        assert left[row]
        left[row] = False
    assert len(np.unique(path.removed)) == len(path.removed)


def test_the_values_of_a_learner_are_pdtp_of_what_is_left() -> None:
    learner, x, y = table(3)
    path = remove_riskiest(LearnerRecords(learner, x, y, 2, 0.01, np.ones(12, np.bool_)), 3)
    left = np.setdiff1d(np.arange(12), path.removed)
    fitted = learner.fit(x[left], y[left], n_classes=2)
    own = log_ratio(fitted.log_p(x[left]), fitted.log_p_without(np.arange(9)), 0.01)
    assert_allclose(path.highest[-1], own.max())
    assert path.measure == "PDTP"


def test_the_initial_order_goes_down_the_first_list() -> None:
    script = ((3.0, 2.0, 1.0, 0.5), (0.0, 0.4, 0.9, 0.5), (0.0, 0.0, 0.7, 0.6), (0, 0, 0, 0.1))
    path = remove_riskiest(Scripted(script), 3, "initial")
    assert path.removed.tolist() == [10, 11, 12]
    assert path.highest.tolist() == [3.0, 0.9, 0.7, 0.1]
    assert path.best == 1
    assert remove_riskiest(Scripted(script), 3).removed.tolist() == [10, 12, 11 + 2]


def test_records_that_shield_each_other_are_a_group() -> None:
    # 0 hides 1, 1 hides 2; 3 has nothing to do with them.
    script = (
        (3.0, 0.1, 0.1, 2.0),
        (0.0, 2.9, 0.1, 2.0),
        (0.0, 0.0, 2.8, 2.0),
        (0.0, 0.0, 0.0, 2.0),
        (0.0, 0.0, 0.0, 0.0),
    )
    path = remove_riskiest(Scripted((*script, script[-1])), 3)
    assert [group.tolist() for group in path.groups] == [[10, 11, 12]]
    assert path.best == 3  # never at most 1: where it is lowest
    assert remove_riskiest(Scripted((*script, script[-1])), 1).groups == ()


def test_equal_records_hide_each_other_until_one_is_left() -> None:
    x = np.array([[0]] * 6 + [[1]] * 2)
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    path = remove_riskiest(categorical_records(x, y, (2,), 2, 0.0), 2)
    assert set(path.removed.tolist()) <= set(range(8))
    assert path.highest.shape == (3,)


def test_from_infinite_to_infinite_is_no_rise() -> None:
    inf = float("inf")
    path = remove_riskiest(Scripted(((inf, inf, 0.0), (0.0, inf, 0.0), (0.0, 0.0, 0.0))), 2)
    assert path.removed.tolist() == [10, 11]
    assert path.groups == ()
    shielded = Scripted(((inf, 0.0, 0.0), (0.0, inf, 0.0), (0.0, 0.0, 0.0)))
    assert [group.tolist() for group in remove_riskiest(shielded, 2).groups] == [[10, 11]]


def test_it_stops_before_nothing_is_left() -> None:
    path = remove_riskiest(Scripted(((1.0, 2.0), (1.0, 0.0))), 5)
    assert path.removed.tolist() == [11]
    assert path.highest.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("steps", "order", "message"),
    [
        (0, "initial", "steps must be at least 1, got 0"),
        (1, "other", "order must be 'recomputed' or 'initial', got 'other'"),
    ],
)
def test_bad_input_is_named(steps: int, order: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        remove_riskiest(Scripted(((1.0, 2.0),)), steps, order)  # type: ignore[arg-type]
