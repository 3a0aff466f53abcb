"""What a synthetic table is good for."""

import json
import tracemalloc
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, spearmanr

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import BayNet, Marginals, Silence
from privacygauge.tables.utility import (
    associations,
    column_sets,
    compare_learning,
    marginal_distances,
    possible_labels,
    utility,
)
from tests.tables.made_tables import table_of
from tests.tables.released.made_released import people


@pytest.fixture(scope="module")
def tables():
    everybody = read_table(people(np.random.default_rng(0), 800))
    return everybody[np.arange(400)], everybody[np.arange(400, 800)]


@pytest.fixture(scope="module")
def found(tables):
    real, holdout = tables
    rng = np.random.default_rng(1)
    made = {g.name: g.generate(real, 400, rng) for g in (BayNet(), Marginals(), Silence())}
    made["real"] = real
    return {
        name: utility(real, table, holdout, rng=np.random.default_rng(2))
        for name, table in made.items()
    }


@pytest.mark.slow
def test_a_table_is_as_good_as_itself(found):
    one = found["real"]
    assert [marginals.mean for marginals in one.marginals] == [0.0, 0.0, 0.0]
    assert one.correlation_mean == one.correlation_largest == 0.0
    assert all(marginals.mean > 0 for marginals in one.holdout_marginals)
    for label in one.learnt:
        assert abs(label.real_auc - label.synthetic_auc) < 0.1  # two forests of the same records


@pytest.mark.slow
def test_what_never_saw_the_records_is_worse(found):
    good = found["BayNet"]
    bad = found["silence"]
    for one, other in zip(good.marginals, bad.marginals, strict=True):
        assert one.sets == other.sets
        assert one.mean < other.mean
    assert good.correlation_mean < bad.correlation_mean
    jobs = [next(x for x in one.learnt if x.label == "job") for one in (good, bad)]
    assert jobs[0].synthetic_auc > 0.75 > 0.65 > jobs[1].synthetic_auc
    assert jobs[0].real_auc > 0.85


@pytest.mark.slow
def test_independent_columns_keep_single_shares_only(found):
    one = found["independent columns"]
    single, pairs, _ = one.marginals
    assert single.mean < 0.1
    assert pairs.mean > one.holdout_marginals[1].mean
    age_and_pay = pairs.sets.index((0, 2))
    assert pairs.distances[age_and_pay] > 2 * one.holdout_marginals[1].distances[age_and_pay]
    assert one.correlation_largest > 0.5


def test_distances_as_a_loop_says():
    rng = np.random.default_rng(0)
    sizes = (2, 3, 4)
    one, other = (np.column_stack([rng.integers(0, s, n) for s in sizes]) for n in (30, 50))
    sets = column_sets(3, 2, 10, rng)
    assert sets == ((0, 1), (0, 2), (1, 2))
    found = marginal_distances(one, other, sizes, sets)
    for columns, distance in zip(sets, found.distances, strict=True):
        counts = [Counter(map(tuple, codes[:, columns].tolist())) for codes in (one, other)]
        total = sum(abs(counts[0][x] / 30 - counts[1][x] / 50) for x in counts[0] | counts[1])
        assert distance == pytest.approx(total / 2, abs=1e-12)


def test_tables_with_nothing_in_common_are_at_distance_one():
    one = np.zeros((5, 2), np.int64)
    other = np.ones((7, 2), np.int64)
    assert marginal_distances(one, other, (2, 2), ((0,), (1,))).mean == 1.0


def test_sets_are_all_or_different_ones_at_random():
    rng = np.random.default_rng(0)
    some = column_sets(12, 3, 50, rng)
    assert len(set(some)) == 50
    assert all(len(set(columns)) == 3 and columns == tuple(sorted(columns)) for columns in some)
    assert len(column_sets(12, 3, 220, rng)) == 220


def test_associations_are_those_that_scipy_knows(tables):
    table = tables[0]
    found = associations(table)
    assert np.array_equal(found, found.T)
    assert np.array_equal(np.diag(found), np.ones(6))
    age, job, pay, town, _, sex = table.values.T
    assert found[0, 2] == pytest.approx(spearmanr(age, pay).statistic, abs=1e-12)
    for j, other in ((5, sex), (3, town)):
        counts = pd.crosstab(job, other).to_numpy()
        square = chi2_contingency(counts, correction=False).statistic
        least = min(counts.shape)
        assert found[1, j] == pytest.approx(np.sqrt(square / counts.sum() / (least - 1)), abs=1e-9)
    ranks = pd.Series(age).rank()
    between = ranks.groupby(job).transform("mean").var(ddof=0)
    assert found[0, 1] == pytest.approx(np.sqrt(between / ranks.var(ddof=0)), abs=1e-12)


def test_association_of_columns_of_names_counts_only_pairs_that_occur():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1_000, (2, 2_000))
    table = read_table(pd.DataFrame(dict(zip("ab", codes, strict=True))), categorical=["a", "b"])
    tracemalloc.start()
    found = associations(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    counts = pd.crosstab(*codes).to_numpy()
    square = chi2_contingency(counts, correction=False).statistic / 2_000
    assert found[0, 1] == pytest.approx(np.sqrt(square / (min(counts.shape) - 1)), abs=1e-12)
    assert peak < counts.nbytes / 4


def test_perfect_and_no_association():
    frame = pd.DataFrame({"a": list("xyz") * 4, "b": list("pqr") * 4, "c": 1.0, "d": ["k"] * 12})
    found = associations(read_table(frame.assign(e=[1.0, 2.0, 3.0] * 4, f=[-1, -2, -3] * 4)))
    expected = np.eye(6)
    for i, j, value in ((0, 1, 1), (0, 4, 1), (0, 5, 1), (1, 4, 1), (1, 5, 1), (4, 5, -1)):
        expected[i, j] = expected[j, i] = value
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_tables_with_gaps_constants_and_few_columns():
    rng = np.random.default_rng(0)
    for widths in ((0, 1), (1, 0), (1, 1), (2, 3)):
        table = table_of(rng, 60, *widths, missing=0.2)
        one = utility(table, table, rng=rng)
        assert len(one.marginals) == min(3, sum(widths))
        assert one.correlation_mean == 0.0


@pytest.mark.slow
def test_forests_are_tested_on_records_they_were_not_taught(tables):
    real, holdout = tables
    # A column that names the record is of no use for other records, and all there is to learn.
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"id": np.arange(400.0), "coin": np.array(["h", "t"])[rng.integers(0, 2, 400)]}
    )
    table = read_table(frame)
    one = utility(table, table, rng=rng, label="coin")
    (coin,) = one.learnt
    assert abs(coin.real_auc - 0.5) < 5 * np.sqrt(121 / (12 * 60 * 60))
    assert coin.synthetic_auc > coin.real_auc
    assert (coin.n_taught, coin.n_tested) == (280, 120)
    (note,) = one.notes
    assert "among those the synthetic table was made from" in note
    assert utility(real, real, holdout, rng=rng, label="sex").notes == ()


def test_a_class_that_the_synthetic_table_lacks_is_never_told(tables):
    real, holdout = tables
    rng = np.random.default_rng(0)
    women = real[np.flatnonzero(real.values[:, 5] == 0)]
    one = compare_learning(real, women, holdout, "sex", rng)
    assert (one.synthetic_accuracy, one.synthetic_auc, one.classes) == (0.5, 0.5, 2)


def test_labels_are_chosen_by_their_categories(tables):
    assert possible_labels(tables[0]) == ("sex", "town", "job")
    rare = read_table(pd.DataFrame({"a": ["x"] * 95 + ["y"] * 5, "b": [*map(str, range(50))] * 2}))
    assert possible_labels(rare) == ()
    skipped = utility(rare, rare, rng=np.random.default_rng(0))
    assert isinstance(skipped.learnt, Skipped)
    assert skipped.to_dict()["skipped"][0]["name"] == "learning"


@pytest.mark.slow
def test_rows_and_json(found):
    one = found["BayNet"]
    frame = one.to_frame()
    assert frame.columns.tolist() == ["measure", "label", "synthetic", "reference"]
    assert len(frame) == 5 + 2 * len(one.learnt)
    assert frame["synthetic"].between(0, 1).all()
    written = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert written["marginals"]["2"] == {
        "mean": one.marginals[1].mean,
        "sets": 15,
        "holdout": one.holdout_marginals[1].mean,
    }
    assert written["correlations"]["largest"] == one.correlation_largest
    assert [entry["label"] for entry in written["learnt"]] == ["sex", "town", "job"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers(tables):
    real, holdout = tables
    one, again = (
        utility(real, real, holdout, rng=np.random.default_rng(2), label="sex") for _ in range(2)
    )
    assert again.to_dict() == one.to_dict()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("age", "label must be a categorical column, got 'age': name it categorical"),
        ("no", "label names 'no', which is not a column"),
    ],
)
def test_bad_labels(tables, label, message):
    with pytest.raises(InputError, match=message):
        utility(*tables, rng=np.random.default_rng(0), label=label)


def test_one_class_is_nothing_to_learn():
    table = read_table(pd.DataFrame({"a": ["x"] * 20, "b": range(20)}))
    with pytest.raises(InputError, match=r"label 'a' must have two classes .*, got one"):
        utility(table, table, rng=np.random.default_rng(0), label="a")


def test_a_few_records_of_many_classes_are_learnt_without_a_warning():
    rng = np.random.default_rng(0)
    table = read_table(pd.DataFrame({"a": [*"abcdefgh", *"abcdefgh"], "b": rng.normal(size=16)}))
    some = table[np.arange(12)]
    assert compare_learning(table, some, table, "a", rng).classes == 8
