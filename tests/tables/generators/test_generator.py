"""Laws that every generator keeps, and bins that know the schema alone."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from privacygauge.errors import InputError
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.generators.generator import (
    BayNet,
    Generator,
    Identity,
    Marginals,
    PrivBayes,
    Silence,
    SynthPop,
)
from privacygauge.tables.table import Column, Schema, Table

SCHEMA = Schema(
    (
        Column("age", "integer", 18, 24),
        Column("town", "categorical", categories=("A", "B", "C"), missing=True),
        Column("income", "continuous", -5.0, 95.0, missing=True),
        Column("always", "categorical", categories=("x",)),
        Column("fixed", "continuous", 2.0, 2.0),
        Column("children", "integer", 0, 30),
    )
)
GENERATORS: tuple[Generator, ...] = (
    BayNet(),
    BayNet(degree=2, bins=3),
    PrivBayes(1.0),
    PrivBayes(100.0, degree=2),
    SynthPop(),
    SynthPop(order=("town", "income", "age", "always", "fixed", "children")),
    Marginals(),
    Identity(),
    Silence(),
)


def records(n: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(n) < 0.1, np.nan, rng.uniform(-5, 95, n))
    columns = [
        rng.integers(18, 25, n),
        rng.integers(0, 4, n),
        income,
        np.zeros(n),
        np.full(n, 2.0),
        rng.poisson(2, n),
    ]
    return Table(SCHEMA, np.column_stack(columns).astype(float))


def label(generator: Generator) -> str:
    return f"{generator.name} {json.dumps(dict(generator.describe()))}"


every = pytest.mark.parametrize("generator", GENERATORS, ids=label)


@every
@pytest.mark.parametrize("n", [1, 30, 200])
def test_synthetic_records_fit_the_schema(generator: Generator, n: int) -> None:
    table = records(60)
    made = generator.generate(table, n, np.random.default_rng(1))
    assert made.schema == SCHEMA  # a Table checks its values
    assert len(made) == n


@every
def test_equal_seeds_give_equal_tables_and_others_do_not(generator: Generator) -> None:
    table = records(60)
    kept = table.values.copy()
    one, two, three = (
        generator.generate(table, 80, np.random.default_rng(seed)).values for seed in (3, 3, 4)
    )
    assert np.array_equal(one, two, equal_nan=True)
    assert not np.array_equal(one, three, equal_nan=True)
    assert np.array_equal(table.values, kept, equal_nan=True)


@every
def test_a_single_record_is_enough(generator: Generator) -> None:
    made = generator.generate(records(1), 5, np.random.default_rng(0))
    assert len(made) == 5


def test_silence_never_looks_and_identity_keeps_everything() -> None:
    first, second = (
        Silence().generate(records(40, seed), 25, np.random.default_rng(9)) for seed in (0, 1)
    )
    assert np.array_equal(first.values, second.values, equal_nan=True)
    table = records(40)
    same = Identity().generate(table, 40, np.random.default_rng(0))
    order = np.lexsort(np.nan_to_num(same.values, nan=-99).T)
    theirs = np.lexsort(np.nan_to_num(table.values, nan=-99).T)
    assert np.array_equal(same.values[order], table.values[theirs], equal_nan=True)


def test_synthpop_copies_values_and_keeps_missing_ones() -> None:
    table = records(400)
    made = SynthPop().generate(table, 2_000, np.random.default_rng(0))
    real = table.values[:, 2]
    drawn = made.values[:, 2]
    assert set(drawn[~np.isnan(drawn)]) <= set(real[~np.isnan(real)])
    assert abs(np.isnan(drawn).mean() - np.isnan(real).mean()) < 0.04


@given(st.integers(1, 12), st.integers(0, 2**31))
def test_bins_are_over_the_schema_and_hold_what_stands_for_them(bins: int, seed: int) -> None:
    binning = Binning(SCHEMA, bins)
    table = records(30, seed)
    codes = binning.codes(table)
    assert (codes >= 0).all()
    assert (codes < np.array(binning.sizes)).all()
    back = binning.table(codes, np.random.default_rng(seed))
    again = binning.codes(back)
    assert np.array_equal(again, codes)
    assert np.array_equal(np.isnan(back.values), np.isnan(table.values))
    # Widths are those of the schema's range, not of the records'.
    apart = np.abs(back.values - table.values)[:, [0, 2, 5]]
    widths = [np.ceil(7 / min(bins, 7)), 100 / bins, np.ceil(31 / min(bins, 31))]
    assert (np.nan_to_num(apart) <= widths).all()


def test_numbers_are_uniform_inside_their_bin() -> None:
    binning = Binning(SCHEMA, 4)
    codes = np.tile([1, 0, 2, 0, 0, 1], (20_000, 1))
    values = binning.table(codes, np.random.default_rng(0)).values
    # Ages 18 to 24 in four bins: two whole numbers in the second.
    assert_allclose(np.unique(values[:, 0], return_counts=True)[1] / 20_000, 1 / 2, atol=0.02)
    assert values[:, 2].min() >= 45
    assert values[:, 2].max() <= 70
    assert_allclose(values[:, 2].mean(), 57.5, atol=0.3)


def test_bins_say_nothing_about_the_records() -> None:
    sizes = Binning(SCHEMA).sizes
    assert sizes == (7, 4, 11, 1, 1, 10)


@dataclass(frozen=True)
class Case:
    make: object
    message: str


@pytest.mark.parametrize(
    "case",
    [
        Case(lambda: Binning(SCHEMA, 0), "bins must be at least 1, got 0"),
        Case(lambda: PrivBayes(-1.0), "epsilon must be above 0, got -1.0"),
        Case(
            lambda: SynthPop(order=("none",)).generate(records(9), 3, np.random.default_rng(0)),
            "order names 'none', which is not a column",
        ),
        Case(
            lambda: BayNet(degree=6).generate(records(9), 3, np.random.default_rng(0)),
            r"degree must be in 1\.\.5, got 6",
        ),
    ],
)
def test_bad_input_is_named(case: Case) -> None:
    with pytest.raises(InputError, match=case.message):
        case.make()  # type: ignore[operator]
