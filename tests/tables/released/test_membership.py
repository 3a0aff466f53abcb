"""Membership signals that need no shadow tables."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, mannwhitneyu

from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.tables.distance import Minkowski
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.binning import QuantileBins, log_densities, log_shares
from privacygauge.tables.generators.generator import Silence, SynthPop
from privacygauge.tables.generators.network import learn_structure, most_informative
from privacygauge.tables.released.membership import (
    ClosestDistance,
    DensityRatio,
    DistanceRatio,
    JudgedRecords,
    Signals,
    ValueRatio,
    blind,
    judged_folds,
    membership_signals,
    scores_of_no_leak,
    signals_by_row,
)
from privacygauge.tables.released.tables import NO_CONTROL, ReleasedTables, read_together
from tests.tables.released.made_released import people, released, without_holdout
from tests.tables.released.test_unlikely import patients
from tests.thorough import times

ATTACKS = (
    ClosestDistance(),
    ClosestDistance(Minkowski(1)),
    DistanceRatio(),
    DistanceRatio(Minkowski(1)),
    DensityRatio(),
    ValueRatio(),
)
every_attack = pytest.mark.parametrize("attack", ATTACKS, ids=repr)


def auc(found):
    wins = mannwhitneyu(found.members, found.nonmembers).statistic
    return wins / (len(found.members) * len(found.nonmembers))


@pytest.fixture(scope="module")
def seen():
    rng = np.random.default_rng(0)
    return judged_folds(released(rng, 300), rng)[0]


def test_the_reference_is_never_judged_and_no_two_folds_judge_by_each_other():
    rng = np.random.default_rng(0)
    found = released(rng, 30, n_holdout=51)
    folds = judged_folds(found, rng)
    assert [(len(f.real), len(f.nonmembers), len(f.reference)) for f in folds] == [(10, 17, 17)] * 3
    for rows, side in (("member_rows", "real"), ("nonmember_rows", "holdout")):
        dealt = np.concatenate([getattr(fold, rows) for fold in folds])
        assert np.array_equal(np.sort(dealt), np.arange(len(getattr(found, side))))
    for fold, after in zip(folds, (*folds[1:], folds[0]), strict=True):
        np.testing.assert_array_equal(found.real.values[fold.member_rows], fold.real.values)
        judged = found.holdout.values[fold.nonmember_rows]
        np.testing.assert_array_equal(judged, fold.nonmembers.values)
        np.testing.assert_array_equal(fold.reference.values, after.nonmembers.values)


def test_people_are_dealt_out_whole():
    rng = np.random.default_rng(0)
    found = released(rng, 30)
    visits = replace(found, unit=np.arange(30) // 3, holdout_unit=100 + np.arange(30) // 6)
    for fold in judged_folds(visits, rng):
        assert len(fold.member_rows) in (9, 12)
        assert len(np.unique(fold.nonmember_rows // 6)) * 6 == len(fold.nonmember_rows)
    two = replace(found, unit=np.arange(30) // 15, holdout_unit=100 + np.arange(30))
    with pytest.raises(InputError, match=r"^at least 3 people are needed on each side, got 2"):
        judged_folds(two, rng)


@pytest.mark.slow
def test_folds_that_judge_by_each_other_are_no_more_uncertain_than_independent_records():
    # Of two numbers the nearest other record decides most: two halves of a holdout that judge each
    # other correlate, three folds in a ring do not.
    games = times(200)
    n = 90
    areas = []
    for seed in range(games):
        rng = np.random.default_rng(seed)
        two = [pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]) for _ in range(3)]
        by_name = {one.name: one for one in membership_signals(read_together(*two), rng)}
        areas.append(auc(by_name["distance-ratio"]))
    nominal = (2 * n + 1) / (12 * n * n)
    # The largest chi-square of a billion.
    assert np.var(areas, ddof=1) / nominal < chi2.isf(1e-9, games - 1) / (games - 1)
    assert abs(np.mean(areas) - 0.5) < 5 * np.sqrt(nominal / games)


@every_attack
def test_records_themselves_are_found(attack, seen):
    least = {"density-ratio": 0.7, "value-ratio": 0.9, "distance-ratio": 0.9}
    assert auc(attack.signals(seen)) > least.get(attack.name, 0.99)


@pytest.mark.slow
@pytest.mark.parametrize("generator", [Silence(), SynthPop()], ids=lambda g: g.name)
def test_nothing_is_found_in_a_table_of_others(generator):
    # Under the null each AUC has a standard error of .037 (n = m = 120 in the variance
    # (n + m + 1) / (12 n m)); the mean over the games is given five of its own.
    games = times(20)
    found = {attack: [] for attack in ATTACKS}
    for seed in range(games):
        rng = np.random.default_rng(seed)
        folds = judged_folds(released(rng, 120, generator, of="others"), rng)
        for attack in ATTACKS:
            found[attack].append(auc(signals_by_row([attack.signals(seen) for seen in folds])))
    error = np.sqrt(241 / (12 * 120 * 120))
    for values in found.values():
        assert abs(np.mean(values) - 0.5) < 5 * error / np.sqrt(games)


@every_attack
def test_each_record_has_its_own_signal_whatever_the_order(attack, seen):
    found = attack.signals(seen)
    order = np.random.default_rng(1).permutation(len(seen.real))
    shuffled = JudgedRecords(
        seen.real[order], seen.nonmembers, seen.reference, seen.synthetic, seen.nonmember_rows
    )
    assert np.array_equal(attack.signals(shuffled).member_rows, np.arange(100))
    np.testing.assert_allclose(attack.signals(shuffled).members, found.members[order], atol=1e-12)
    assert np.array_equal(found.member_rows, seen.member_rows)
    assert np.array_equal(found.nonmember_rows, seen.nonmember_rows)


@pytest.mark.parametrize("attack", ATTACKS[2:], ids=repr)
def test_a_table_equal_to_the_reference_says_nothing_by_its_ratio(attack, seen):
    same = JudgedRecords(
        seen.real, seen.nonmembers, seen.reference, seen.reference, seen.nonmember_rows
    )
    found = attack.signals(same)
    np.testing.assert_allclose(found.members, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.nonmembers, 0.0, atol=1e-12)


def test_all_attacks_judge_the_same_records_and_fit_a_transcript():
    found = released(np.random.default_rng(0), 60)
    signals = membership_signals(found, np.random.default_rng(1))
    again = membership_signals(found, np.random.default_rng(1))
    assert [one.name for one in signals] == [
        "closest-distance",
        "distance-ratio",
        "density-ratio",
        "value-ratio",
    ]
    for one, other in zip(signals, again, strict=True):
        assert np.array_equal(one.members, other.members)
        assert np.array_equal(one.nonmember_rows, signals[0].nonmember_rows)
        scores = np.concatenate([one.members, one.nonmembers])
        assert Transcript(scores, np.arange(120) < 60).n_in == 60


@pytest.mark.parametrize("attack", [DistanceRatio(), DensityRatio()], ids=repr)
def test_scores_of_no_leak_are_as_high_as_those_of_a_table_of_other_people(attack):
    """Records of rare codes are near to somebody by chance, the more often the larger a table."""
    honest, without = [], []
    for seed in range(times(8)):
        rng = np.random.default_rng(seed)
        tables = read_together(*(patients(rng, 500) for _ in range(3)))
        folds = judged_folds(tables, rng)
        found = signals_by_row([attack.signals(fold) for fold in folds])
        honest += [found.members, found.nonmembers]
        without.append(scores_of_no_leak(tables, seed, f"{attack.name} ("))
    high = np.quantile(np.concatenate(honest), 0.99)
    assert 0.004 < np.mean(np.concatenate(without) >= high) < 0.02


def test_without_a_holdout_there_is_nobody_to_judge_by():
    found = without_holdout(released(np.random.default_rng(0), 30))
    skipped = membership_signals(found, np.random.default_rng(0))
    assert isinstance(skipped, Skipped)
    assert NO_CONTROL in skipped.reason
    with pytest.raises(InputError, match=r"^holdout is needed for a reference"):
        judged_folds(found, np.random.default_rng(0))


@pytest.mark.slow
def test_blind_finds_other_people_and_no_members():
    found = []
    for seed in range(times(10)):
        rng = np.random.default_rng(seed)
        found.append(auc(blind(released(rng, 100), rng)))
    # A standard error of .041 each.
    assert abs(np.mean(found) - 0.5) < 5 * np.sqrt(201 / (12 * 100 * 100) / len(found))
    rng = np.random.default_rng(0)
    frame = people(rng, 300)
    young = read_table(frame.sort_values("age"))
    shifted = ReleasedTables(
        young[np.arange(150)], young[np.arange(150)], young[np.arange(150, 300)]
    )
    assert auc(blind(shifted, rng)) > 0.9


def test_densities_as_a_loop_says_and_sum_to_one():
    rng = np.random.default_rng(0)
    sizes = (2, 3, 4)
    codes = np.column_stack([rng.integers(0, size, 25) for size in sizes])
    codes[:, 1] = (codes[:, 0] + codes[:, 1] // 2) % 3
    nodes = learn_structure(codes, sizes, 1, most_informative, rng)
    domain = np.array(list(product(*map(range, sizes))))
    weight = 0.7
    found = log_densities(domain, codes, nodes, sizes, weight)
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-12)
    for row, value in zip(domain, found, strict=True):
        total = 1.0
        for node in nodes:
            j = node.attribute
            own = (np.sum(codes[:, j] == row[j]) + weight / sizes[j]) / (25 + weight)
            same = np.ones(25, bool)
            for parent in node.parents:
                same &= codes[:, parent] == row[parent]
            hits = np.sum(same & (codes[:, j] == row[j]))
            total *= (hits + weight * own) / (same.sum() + weight)
        assert np.exp(value) == pytest.approx(total)


def test_shares_are_drawn_towards_the_prior():
    found = np.exp(log_shares(np.array([0, 0, 1]), 3, np.array([0.2, 0.2, 0.6]), 2.0))
    assert found == pytest.approx([2.4 / 5, 1.4 / 5, 1.2 / 5])
    assert np.exp(log_shares(np.array([1]), 2, None, 1.0)) == pytest.approx([0.25, 0.75])


def test_value_ratio_as_a_loop_says():
    rng = np.random.default_rng(3)
    seen = judged_folds(released(rng, 90, SynthPop()), rng)[0]
    found = ValueRatio().signals(seen)
    columns = [
        [list(map(repr, table.values[:, j].tolist())) for j in range(6)]
        for table in (seen.real, seen.nonmembers, seen.synthetic, seen.reference)
    ]
    total = np.zeros(30)
    for real, others, made, usual in zip(*columns, strict=True):
        size = len({*real, *others, *made, *usual})
        for i, value in enumerate(real):
            prior = ((made + usual).count(value) + 1 / size) / (len(made) + len(usual) + 1)
            shares = [(some.count(value) + prior) / (len(some) + 1) for some in (made, usual)]
            total[i] += np.log(shares[0] / shares[1])
    np.testing.assert_allclose(found.members, total, atol=1e-12)


def test_bins_hold_about_equally_many_and_cover_all_numbers():
    rng = np.random.default_rng(0)
    table = read_table(people(rng, 400))
    bins = QuantileBins.of(table, 8)
    codes = bins.codes(table)
    assert (codes >= 0).all()
    assert (codes < bins.sizes).all()
    pay = np.bincount(codes[:, 2])
    assert (len(pay), pay.min() >= 49, pay.max() <= 51) == (8, True, True)
    size = table.values[:, 4]
    assert (codes[np.isnan(size), 4] == bins.sizes[4] - 1).all()
    assert (codes[~np.isnan(size), 4] < bins.sizes[4] - 1).all()


def test_rare_categories_share_a_code():
    texts = [*"aaaabbbcc", *"defg"]
    table = read_table(pd.DataFrame({"x": texts, "y": range(13)}))
    bins = QuantileBins.of(table, 3, 4)
    codes = bins.codes(table)[:, 0]
    assert bins.sizes[0] == 4
    assert codes.tolist() == [0] * 4 + [1] * 3 + [2] * 2 + [3] * 4
    assert QuantileBins.of(table, 3, 7).places == (None, None)


TABLES = {
    "categories": lambda rng, n: {"a": rng.choice(list("xyz"), n), "b": rng.choice(list("pq"), n)},
    "one number": lambda rng, n: {"a": rng.random(n)},
    "names": lambda rng, n: {"a": [f"n{i}" for i in rng.integers(0, 10**6, n)], "b": rng.random(n)},
    "constant": lambda rng, n: {"a": ["x"] * n, "b": [1.0] * n, "c": rng.random(n)},
    "gaps": lambda rng, n: {"a": np.where(rng.random(n) < 0.5, np.nan, rng.random(n))},
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_odd_tables_have_finite_signals(make):
    rng = np.random.default_rng(0)
    found = read_together(*(pd.DataFrame(make(rng, 300)) for _ in range(3)))
    for one in membership_signals(found, rng):
        assert np.isfinite(one.members).all()
        assert abs(auc(one) - 0.5) < 5 * np.sqrt(601 / (12 * 300 * 300))


def test_bad_options():
    with pytest.raises(InputError, match="n_bins must be at least 2, got 1"):
        DensityRatio(1)
    with pytest.raises(InputError, match="n_bins must be at least 2, got 1"):
        QuantileBins.of(read_table(people(np.random.default_rng(0), 20)), 1)
    for attack in (DensityRatio, ValueRatio):
        with pytest.raises(InputError, match="weight must be above 0, got 0"):
            attack(weight=0)
    with pytest.raises(InputError, match="members must have 1 rows, got 2"):
        Signals("a", "", np.zeros(1), np.zeros(1), np.arange(2), np.arange(1))
