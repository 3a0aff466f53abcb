"""Log ratios of what is said with and without a record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from privacygauge.classifiers.learner import logs
from privacygauge.classifiers.ratios import binned_bound, cap, log_ratio
from privacygauge.classifiers.signals import bin_centres
from privacygauge.errors import InputError

NAN = float("nan")


@pytest.mark.parametrize(
    ("with_it", "without", "width", "expected"),
    [
        ([0.5, 0.5], [0.25, 0.75], 0.0, np.log(2)),
        ([0.9, 0.1], [0.5, 0.5], 0.0, np.log(5)),  # the other class moves further
        ([1.0, 0.0], [1.0, 0.0], 0.0, 0.0),  # nothing to nothing
        ([1.0, 0.0], [0.9, 0.1], 0.0, np.inf),
        ([1.0, 0.0], [0.9, 0.1], 0.01, np.log(0.105 / 0.005)),  # binned, nothing is 0
        ([0.5, 0.5], [NAN, NAN], 0.0, np.inf),  # no answer without it
        ([0.5, 0.5], [NAN, NAN], 0.01, np.inf),  # bins hide no silence
        ([NAN, NAN], [NAN, NAN], 0.0, 0.0),
        ([0.504, 0.496], [0.5, 0.5], 0.01, np.log(0.505 / 0.495)),
    ],
)
def test_the_largest_log_ratio_over_the_classes(
    with_it: list[float], without: list[float], width: float, expected: float
) -> None:
    found = log_ratio(logs(np.array(with_it)), logs(np.array(without)), width)
    assert_allclose(found, expected, rtol=1e-12)


def test_shapes_are_broadcast() -> None:
    shown = np.log(np.full((4, 2), 0.5))
    without = np.log(np.full((3, 4, 2), [0.25, 0.75]))
    assert log_ratio(shown, without).shape == (3, 4)


def test_no_binned_ratio_exceeds_the_cap() -> None:
    assert cap(0) == np.inf
    assert_allclose(cap(0.01), np.log(0.995 / 0.005))
    sure = np.array([0.0, -np.inf])
    assert_allclose(log_ratio(sure, sure[::-1], 0.01), cap(0.01))


@given(st.floats(0, 20), st.floats(0, 20), st.sampled_from([0.0, 0.01, 0.1]))
def test_the_bound_of_binned_ratios_grows_with_that_of_the_plain_ones(
    one: float, other: float, width: float
) -> None:
    low, high = sorted((one, other))
    assert binned_bound(np.array(low), width) <= binned_bound(np.array(high), width)
    assert binned_bound(np.array(0.0), width) == 0.0
    assert binned_bound(np.array(high), 0.0) == high
    assert width == 0 or binned_bound(np.array(np.inf), width) == pytest.approx(cap(width))


def test_bins_must_fill_the_unit_interval() -> None:
    with pytest.raises(InputError, match="bin must be 1 over a whole number"):
        log_ratio(np.log([0.5, 0.5]), np.log([0.4, 0.6]), 0.3)


def test_probabilities_in_place_of_their_logarithms_are_refused() -> None:
    for wrong in ((np.array([0.5, 0.5]), np.log([0.5, 0.5])), (np.log([0.5, 0.5]), np.ones(2))):
        with pytest.raises(InputError, match="log probabilities must be at most 0, got"):
            log_ratio(*wrong)


def test_probabilities_too_small_for_a_number_have_a_log_ratio() -> None:
    assert log_ratio(np.array([0.0, -2000.0]), np.array([0.0, -2001.5])) == 1.5
    assert log_ratio(np.array([0.0, -2000.0]), np.array([0.0, -2001.5]), 0.01) == 0.0
    assert log_ratio(np.array([0.0, -2000.0]), np.array([0.0, -np.inf])) == np.inf


def test_logarithms_change_no_bin() -> None:
    rng = np.random.default_rng(0)
    p = np.concatenate([np.arange(1001) / 1000, rng.random(2000), 10.0 ** rng.uniform(-12, 0, 500)])
    q = rng.permutation(p)
    for width in (0.01, 0.05, 0.1):
        plain = np.abs(np.log(bin_centres(p, width)) - np.log(bin_centres(q, width)))
        assert_allclose(log_ratio(logs(p[:, None]), logs(q[:, None]), width), plain, atol=1e-12)
