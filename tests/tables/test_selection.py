"""Ways to choose records, with one signature."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from privacygauge.errors import InputError
from privacygauge.tables.distance import Minkowski
from privacygauge.tables.frames import read_table
from privacygauge.tables.selection import (
    LogLikelihood,
    Random,
    RareValue,
    Vulnerable,
    vulnerability_scores,
)
from tests.tables.made_tables import table_of

SELECTORS = (Random(), RareValue(), LogLikelihood(), Vulnerable(), Vulnerable(3, Minkowski(1)))
every_selector = pytest.mark.parametrize("select", SELECTORS, ids=repr)


@pytest.fixture(scope="module")
def table():
    return table_of(np.random.default_rng(0), 400, 4, 2, missing=0.01)


@every_selector
def test_the_same_seed_gives_the_same_different_rows(select, table):
    first, again = (select(table, 20, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first.rows, again.rows)
    assert len(np.unique(first.rows)) == len(first) == 20
    assert not first.rows.flags.writeable


@every_selector
@pytest.mark.parametrize("n", [0, 401])
def test_too_few_or_too_many(select, table, n):
    with pytest.raises(InputError, match=rf"^n must be in 1\.\.\d+, the number of .*, got {n}$"):
        select(table, n, np.random.default_rng(0))


@pytest.mark.parametrize("select", [LogLikelihood(), Vulnerable()], ids=repr)
def test_what_is_ordered_draws_nothing(select, table):
    rng = np.random.default_rng(0)
    few = select(table, 5, rng)
    many = select(table, 50, rng)
    assert np.array_equal(few.rows, many.rows[:5])
    assert rng.random() == np.random.default_rng(0).random()


def test_random_rows_are_equally_likely():
    table = read_table(pd.DataFrame({"a": list("xxxxy")}))
    rng = np.random.default_rng(0)
    hits = sum(4 in Random()(table, 2, rng).rows for _ in range(500))
    assert binomtest(hits, 500, 0.4).pvalue > 0.001


def test_rare_values_are_the_tails():
    frame = pd.DataFrame(
        {
            "town": ["A"] * 90 + ["B"] * 6 + ["C"] * 2 + ["D"] * 2,
            "size": [*range(1, 100), np.nan],
            "same": [1.0] * 100,
        }
    )
    found = RareValue(0.05).found(read_table(frame))
    # C and D hold 4 in 100 together; with B it would be 10. Above the 95th percentile, 94.1,
    # are 95 to 99; the missing number is rare too, and nothing is larger than a constant.
    assert np.flatnonzero(found).tolist() == [94, 95, 96, 97, 98, 99]
    assert np.flatnonzero(RareValue(0.03).found(read_table(frame))).tolist() == [96, 97, 98, 99]
    chosen = RareValue()(read_table(frame), 6, np.random.default_rng(0))
    assert sorted(chosen.rows) == [94, 95, 96, 97, 98, 99]


def test_equally_rare_categories_are_rare_together_or_not_at_all():
    table = read_table(pd.DataFrame({"a": [*"bcdefg", *["x"] * 94]}))
    assert not RareValue(0.05).found(table).any()
    assert RareValue(0.06).found(table).sum() == 6


def test_likelihood_is_the_product_of_shares():
    frame = pd.DataFrame({"a": list("xxyy"), "b": ["p", "p", "p", None]})
    found = LogLikelihood().of_records(read_table(frame))
    assert np.exp(found) == pytest.approx([3 / 8, 3 / 8, 3 / 8, 1 / 8])


def test_numbers_are_cut_at_quantiles():
    frame = pd.DataFrame({"a": [0.0] * 6 + [1.0, 2.0, 3.0, np.nan]})
    found = np.exp(LogLikelihood(n_bins=4).of_records(read_table(frame)))
    # Of nine numbers the quartiles are 0, 0 and 1: up to 0, up to 1, above, and missing.
    assert found == pytest.approx([0.6] * 6 + [0.1, 0.2, 0.2, 0.1])


def test_the_least_likely_come_first(table):
    found = LogLikelihood().of_records(table)
    rows = LogLikelihood()(table, 400, np.random.default_rng(0)).rows
    assert (np.diff(found[rows]) >= -1e-12).all()


def test_vulnerable_takes_the_highest_scores(table):
    rows = Vulnerable(3, Minkowski(1))(table, 400, np.random.default_rng(0)).rows
    assert (np.diff(vulnerability_scores(table, 3, Minkowski(1))[rows]) <= 1e-12).all()


def test_bad_options():
    with pytest.raises(InputError, match=r"tail must be in \(0, 1\), got 1"):
        RareValue(1)
    with pytest.raises(InputError, match="n_bins must be at least 2, got 1"):
        LogLikelihood(1)
