"""SynthPop and the controls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError
from privacygauge.tables.generators.generator import Identity, Marginals, learn_cart
from privacygauge.tables.table import Column, Schema, Table


def table(n: int, seed: int = 0) -> tuple[Floats, Bools]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    second = np.round(first * 2.0 + rng.normal(size=n), 3)
    third = (second > 2) * 1 + (rng.random(n) < 0.1)
    return np.column_stack([first, second, third]).astype(float), np.array([True, False, True])


@given(st.integers(1, 60), st.integers(0, 2**31), st.integers(1, 8))
def test_every_value_is_one_of_the_training_set(n: int, seed: int, least: int) -> None:
    values, categorical = table(n, seed)
    rng = np.random.default_rng(seed)
    drawn = learn_cart(values, categorical, rng, least=least).sample(40, rng)
    assert drawn.shape == (40, 3)
    for column in range(3):
        assert set(drawn[:, column]) <= set(values[:, column])


def test_values_come_from_the_leaf_of_the_columns_before() -> None:
    values, categorical = table(500)
    made = learn_cart(values, categorical, np.random.default_rng(3), order=(1, 0, 2))
    drawn = made.sample(300, np.random.default_rng(4))
    rng = np.random.default_rng(3)
    for j, column in enumerate((1, 0, 2)):
        if j == 0:
            continue
        before = list((1, 0, 2)[:j])
        kind = DecisionTreeClassifier if categorical[column] else DecisionTreeRegressor
        tree = kind(min_samples_leaf=5, random_state=int(rng.integers(2**31)))
        tree.fit(values[:, before], values[:, column])
        theirs = tree.apply(values[:, before])
        assert np.bincount(theirs)[np.unique(theirs)].min() >= 5
        for row, leaf in zip(drawn, tree.apply(drawn[:, before]), strict=True):
            assert row[column] in values[theirs == leaf, column]


def test_columns_stay_dependent_and_the_first_has_its_shares() -> None:
    values, categorical = table(2_000)
    drawn = learn_cart(values, categorical, np.random.default_rng(0)).sample(
        20_000, np.random.default_rng(1)
    )
    real = np.corrcoef(values.T)
    ours = np.corrcoef(drawn.T)
    assert_allclose(ours, real, atol=0.05)
    for code in range(3):
        share = np.mean(values[:, 0] == code)
        error = 5 * np.sqrt(share * (1 - share) / 20_000)
        assert abs(np.mean(drawn[:, 0] == code) - share) < error


def test_equal_generators_give_equal_tables_and_the_records_stay_as_they_are() -> None:
    values, categorical = table(200)
    kept = values.copy()
    first, second = (
        learn_cart(values, categorical, np.random.default_rng(5)).sample(
            50, np.random.default_rng(6)
        )
        for _ in range(2)
    )
    assert np.array_equal(first, second)
    assert np.array_equal(values, kept)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"least": 0}, "least must be at least 1, got 0"),
        ({"order": (0, 1)}, r"order must name each of 3 columns once, got \[0, 1\]"),
        ({"order": (0, 1, 1)}, "order must name each"),
    ],
)
def test_bad_input_is_named(options: dict[str, object], message: str) -> None:
    values, categorical = table(20)
    with pytest.raises(InputError, match=message):
        learn_cart(values, categorical, np.random.default_rng(0), **options)  # type: ignore[arg-type]


def test_no_records_are_an_error() -> None:
    with pytest.raises(InputError, match="at least one record"):
        learn_cart(np.zeros((0, 2)), np.array([True, True]), np.random.default_rng(0))


def test_controls_do_what_they_are_there_for() -> None:
    values, _ = table(300)
    rng = np.random.default_rng(0)
    rows = {tuple(row) for row in values}
    schema = Schema(tuple(Column(name, "continuous", -99.0, 99.0) for name in "abc"))
    records = Table(schema, values)
    assert {tuple(row) for row in Identity().generate(records, 200, rng).values} <= rows
    mixed = Marginals().generate(records, 20_000, rng).values
    assert abs(np.corrcoef(mixed.T)[0, 1]) < 0.04
    assert_allclose(mixed.mean(axis=0), values.mean(axis=0), atol=0.1)
