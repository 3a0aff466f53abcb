from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from tests.laws.draws import SEEDS

GRID = [(k, n) for n in (1, 2, 5, 20, 137) for k in {0, 1, n // 3, n // 2, n - 1, n}]


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("ours", "theirs"), [("clopper_pearson", "exact"), ("wilson", "wilson")])
def test_intervals_are_those_of_scipy(ours: str, theirs: str, level: float) -> None:
    for k, n in GRID:
        expected = stats.binomtest(k, n).proportion_ci(level, method=theirs)
        low, high = getattr(rates, ours)(k, n, level)
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9), (k, n)


def test_the_exact_limits_fail_with_exactly_their_tail() -> None:
    for k, n in GRID:
        low = rates.lower_limit(k, n, 0.03)
        high = rates.upper_limit(k, n, 0.03)
        if k > 0:
            assert stats.binom.sf(k - 1, n, low) == pytest.approx(0.03)
        if k < n:
            assert stats.binom.cdf(k, n, high) == pytest.approx(0.03)


def test_of_nothing_nothing_is_known() -> None:
    assert rates.clopper_pearson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0.01, 0.999))
def test_wilsons_interval_holds_its_value_and_is_mirrored(
    n: int, share: float, level: float
) -> None:
    k = round(share * n)
    low, high = rates.wilson(k, n, level)
    assert 0 <= low <= k / n <= high <= 1
    mirrored = rates.wilson(n - k, n, level)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_a_share_keeps_its_counts() -> None:
    estimate = rates.share(3, 12, 0.9)
    assert (estimate.value, estimate.n, estimate.level) == (0.25, 12, 0.9)
    assert (estimate.low, estimate.high) == rates.clopper_pearson(3, 12, 0.9)


def clustered(seed: int, rows: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return hits that units of equal size repeat more or less often."""
    rng = np.random.default_rng(seed)
    n_units = int(rng.integers(2, 30))
    hit = rng.random((n_units, rows)) < rng.beta(0.5, 0.5, (n_units, 1))
    hit[0], hit[1] = True, False
    order = rng.permutation(n_units * rows)
    return hit.ravel()[order], np.repeat(np.arange(n_units), rows)[order]


@given(SEEDS)
def test_repeated_units_widen_the_interval_by_the_naive_design_effect(seed: int) -> None:
    hit, unit = clustered(seed)
    n = len(hit)
    mean = hit.mean()
    units = np.unique(unit)
    variance = sum((sum(hit[unit == u] - mean)) ** 2 for u in units)
    variance *= len(units) / (len(units) - 1) / n**2
    naive_size = min(n, mean * (1 - mean) / variance)
    effective = rates.effective_size(hit, unit)
    # Never fewer than the units, less one for the mean that is estimated.
    assert naive_size * 0.999 <= effective <= max(naive_size, len(units)) * 1.001
    estimate = rates.proportion(hit, unit)
    effective *= (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, len(units) - 1)) ** 2
    low, high = rates.clopper_pearson(mean * effective, effective)
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    naive = rates.proportion(hit)
    assert estimate.value == naive.value
    assert estimate.low <= naive.low
    assert estimate.high >= naive.high
    assert (estimate.n, naive.n) == (len(units), n)


def test_two_units_are_enough_to_see_whether_their_rows_are_alike() -> None:
    unit = np.repeat([0, 1], 6)
    mixed = np.tile([True, False, True, False, True, False], 2)
    alike = unit == 0
    mixed[1] = True
    assert rates.effective_size(mixed, unit) == 12
    assert rates.effective_size(alike, unit) == 1


@given(SEEDS)
def test_rows_that_only_repeat_their_unit_add_nothing(seed: int) -> None:
    hit, unit = clustered(seed, rows=1)
    once = rates.proportion(hit)
    repeated = rates.proportion(np.tile(hit, 5), np.tile(unit, 5))
    assert (repeated.value, repeated.n) == (pytest.approx(once.value), once.n)
    effective = rates.effective_size(np.tile(hit, 5), np.tile(unit, 5))
    assert len(hit) - 1 <= effective * 1.001 <= len(hit) * 1.002


def test_a_unit_with_most_of_the_rows_does_not_count_as_many() -> None:
    # 100 units of one row, and one of 900: its rows are all alike, as the design effect shows.
    unit = np.concatenate([np.zeros(900, int), np.arange(1, 101)])
    hit = np.concatenate([np.ones(900, bool), np.arange(100) < 50])
    mean = hit.mean()
    squares = (900 * (1 - mean)) ** 2 + 50 * (1 - mean) ** 2 + 50 * mean**2
    naive = mean * (1 - mean) / (squares * 101 / 100 / 1000**2)
    assert naive < 30
    assert rates.effective_size(hit, unit) == pytest.approx(naive, rel=0.02)


@pytest.mark.parametrize(("units", "rows", "beta", "games"), [(5, 20, 2, 1000), (40, 10, 1, 500)])
def test_clustered_intervals_cover(units: int, rows: int, beta: int, games: int) -> None:
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(units), rows)
    held = 0
    for _ in range(games):
        hit = (rng.random((units, rows)) < rng.beta(beta, beta, (units, 1))).ravel()
        held += not rates.proportion(hit, unit).excludes(0.5)
    assert held >= stats.binom.ppf(1e-4, games, 0.95)


@given(SEEDS)
def test_a_difference_is_newcombes_method_10(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (rng.random(rng.integers(1, 50)) < rng.random() for _ in range(2))
    estimate = rates.difference(first, second, 0.9)
    (p1, l1, u1), (p2, l2, u2) = (
        (x.mean(), *stats.binomtest(int(x.sum()), len(x)).proportion_ci(0.9, "wilson"))
        for x in (first, second)
    )
    d = p1 - p2
    assert estimate.value == pytest.approx(d)
    assert estimate.low == pytest.approx(d - np.sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2))
    assert estimate.high == pytest.approx(d + np.sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2))
    turned = rates.difference(second, first, 0.9)
    assert (turned.low, turned.high) == pytest.approx((-estimate.high, -estimate.low))


def test_impossible_counts_are_refused() -> None:
    for call in (rates.clopper_pearson, rates.wilson):
        for k in (-1, 6):
            with pytest.raises(InputError, match=rf"successes must be in \[0, n\], got {k} of 5"):
                call(k, 5)
    with pytest.raises(InputError, match="a proportion of nothing is undefined"):
        rates.proportion(np.array([], bool))
    with pytest.raises(InputError, match=r"level must be in \(0, 1\), got 1.5"):
        rates.clopper_pearson(1, 2, 1.5)


def test_a_mean_has_students_interval_and_a_single_value_none() -> None:
    values = np.random.default_rng(0).normal(size=12)
    found = rates.mean(values, 0.9, unit="models")
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.n, found.method) == (12, "t over models")
    lone = rates.mean(values[:1], unit="models")
    assert (lone.low, lone.value, lone.high) == (-np.inf, values[0], np.inf)


def test_a_mean_is_cut_where_none_can_lie() -> None:
    values = np.array([0.9, 1.0, 0.7, 1.0])
    whole = rates.mean(values, unit="a")
    cut = rates.mean(values, unit="a", least=0.0, most=1.0)
    assert whole.high > 1.0
    assert (cut.value, cut.low, cut.high) == (whole.value, whole.low, 1.0)
    assert rates.mean(values, unit="a", least=0.85).low == 0.85


@given(SEEDS)
def test_the_error_of_a_sum_counts_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    influence = rng.normal(size=12)
    unit = rng.integers(0, 4, 12) * 10
    sums = [influence[unit == u].sum() for u in sorted(set(unit.tolist()))]
    naive = np.sqrt(sum(s**2 for s in sums) * len(sums) / max(len(sums) - 1, 1))
    assert rates.standard_error_of_units(influence, unit) == pytest.approx(naive)
    assert rates.standard_error_of_units(np.zeros(12), unit) == 0.0


def test_a_difference_of_estimates_combines_their_half_widths() -> None:
    one = Estimate(0.8, 0.5, 0.9, 0.95, 30, "a")
    other = Estimate(0.2, 0.1, 0.6, 0.95, 20, "b")
    found = rates.less(one, other, 0.1)
    assert (found.value, found.low, found.high) == pytest.approx(
        (0.5, 0.5 - np.hypot(0.3, 0.4), 0.5 + np.hypot(0.1, 0.1))
    )
    assert found.n == 20
    assert rates.less(one, Estimate(0.2, 0.2, 0.2, 0.95, 1, "exact")).n == 30


def test_an_area_without_variance_is_as_sure_as_its_pairs() -> None:
    found = rates.on_pairs(1.0, 20, 0.95, 50)
    assert (found.low, found.high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert (found.n, found.method) == (50, "Clopper-Pearson on pairs")
