"""Target attention: what it reads of a table, and how it learns."""

import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.attacks import attention as network
from privacygauge.tables.attacks.attention import Encoding, Reader, TargetAttention, closeness
from privacygauge.tables.distance import Cosine
from privacygauge.tables.table import Column, Schema, Table
from tests.tables.attacks.made_views import auc, view_of, with_tables
from tests.tables.made_tables import table_of
from tests.thorough import THOROUGH

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

QUICK = TargetAttention(20, folds=4)


def reader_of(table, top):
    rng = np.random.default_rng(5)
    return Reader.of(table.schema, table.values[0], top, rng)


def naive_distance(schema, a, b):
    """Equation 5 on two records, numbers over the schema's range, a missing one on its own axis."""
    differ = sum(a[j] != b[j] for j in schema.categorical)
    ends = []
    for record in (a, b):
        parts = []
        for j in schema.numbers:
            column = schema.columns[j]
            missing = np.isnan(record[j])
            width = column.high - column.low
            parts.append(0.0 if missing or not width else (record[j] - column.low) / width)
            parts.append(float(missing))
        ends.append(np.array(parts))
    lengths = [np.linalg.norm(end) for end in ends]
    if all(lengths):
        cosine = ends[0] @ ends[1] / np.prod(lengths)
    else:
        cosine = float(lengths[0] == lengths[1])
    return (differ + len(schema.numbers) * (1 - cosine)) / len(schema.columns)


@pytest.mark.parametrize(("n_cat", "n_cont"), [(3, 2), (4, 0), (0, 2), (2, 1)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_nearest_unique_rows_are_those_of_a_naive_search(n_cat, n_cont, missing):
    rng = np.random.default_rng(n_cat)
    table = table_of(rng, 60, n_cat, n_cont, n_values=3, levels=3, missing=missing)
    schema = table.schema
    target = table.values[0]
    near = reader_of(table, 12).nearest(table.values.reshape(2, 30, -1))
    encoding = Encoding(schema)
    assert near.rows.shape == (2, 12, sum(table.sizes) + encoding.n_numbers + 2)
    for rows, there, own in zip(
        near.rows, near.there, table.values.reshape(2, 30, -1), strict=True
    ):
        counts = Counter(tuple(row) for row in np.where(np.isnan(own), -1.0, own).tolist())
        unique = {key: np.where(np.array(key) == -1, np.nan, key) for key in counts}
        apart = {key: naive_distance(schema, row, target) for key, row in unique.items()}
        n = min(12, len(unique))
        assert there.tolist() == [True] * n + [False] * (12 - n)
        assert not rows[n:].any()
        np.testing.assert_allclose(
            rows[:n, -1], closeness(np.array(sorted(apart.values())[:n])), atol=1e-5
        )
        for key, row in unique.items():
            became = encoding.one_hot(encoding.codes(row[None]), encoding.scaled(row[None]))[0]
            found = np.flatnonzero((rows[:n, :-2] == became).all(axis=1))
            assert len(found) <= 1
            if closeness(apart[key]) > rows[n - 1, -1] + 1e-5:
                assert 2 ** rows[found[0], -2] - 1 == pytest.approx(counts[key], abs=1e-4)
    first = encoding.one_hot(table.codes[:1], encoding.scaled(table.values[:1]))[0]
    assert near.target.tolist() == [*first, 1.0, 3.0]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_tables_are_read_alike_in_blocks_of_any_size(at_once, monkeypatch):
    rng = np.random.default_rng(at_once)
    table = table_of(rng, 70, 2, 2, n_values=3, levels=3, missing=0.0)
    tables = table.values.reshape(7, 10, -1)
    whole = reader_of(table, 12).nearest(tables)
    monkeypatch.setattr("privacygauge.tables.attacks.attention.CELLS", at_once * tables[0].size)
    blocks = reader_of(table, 12).nearest(tables)
    assert whole.there.any(axis=1).all()
    assert (blocks.there == whole.there).all()
    np.testing.assert_array_equal(blocks.rows, whole.rows)


def test_numbers_are_scaled_by_the_schema_and_missing_ones_have_a_column():
    schema = Schema(
        (
            Column("town", "categorical", categories=("A", "B"), missing=True),
            Column("age", "integer", 20, 70, missing=True),
            Column("same", "continuous", 3, 3),
            Column("vast", "continuous", -1.7e308, 1.7e308),
        )
    )
    encoding = Encoding(schema)
    rows = np.array([[0, 45, 3, 0.0], [2, np.nan, 3, 1.7e308]])
    found = encoding.one_hot(encoding.codes(rows), encoding.scaled(rows))
    assert found.tolist() == [[1, 0, 0, 0.5, 0, 0.5, 0], [0, 0, 1, 0, 0, 1, 1]]


def test_the_distance_is_that_of_the_vulnerability_score():
    schema = Schema((Column("x", "continuous", 0, 1), Column("y", "continuous", 0, 1)))
    table = Table(schema, np.array([[1.0, 0.5], [0.0, 1.0], [0.0, 0.0], [1.0, 0.5]]))
    near = reader_of(table, 3).nearest(table.values[None])
    a, b = Cosine().coordinates(table.values[:2])
    expected = [0.0, Cosine().of_numbers(a, b), 1.0]
    np.testing.assert_allclose(near.rows[0, :, -1], closeness(expected), atol=1e-6)
    np.testing.assert_allclose(near.rows[0, :, -2], np.log2([3, 2, 2]), atol=1e-6)


def test_closeness_falls_with_the_distance():
    assert closeness([0.0, 1e-4, 0.01, 0.1, 1.0]).tolist() == [3.0, 3.0, 1.0, 0.0, -1.0]


def test_where_a_row_stands_changes_nothing():
    rng = np.random.default_rng(1)
    table = table_of(rng, 80, 3, 2, n_values=3, levels=3, missing=0.1)
    tables = table.values.reshape(2, 40, -1)
    read = reader_of(table, 10).nearest
    shuffled = np.stack([rng.permutation(rows) for rows in tables])
    # Other tables in the same block change nothing either.
    for found in (read(shuffled), read(np.concatenate([tables, tables[:1]]))):
        assert np.array_equal(found.rows[:2], read(tables).rows)
        assert np.array_equal(found.there[:2], read(tables).there)


def naive_score(w, rows, target):
    """Algorithm 1 line by line, for one network and one table, with keys in line 11."""

    def perceptron(x, name):
        hidden = np.maximum(x @ w[f"{name}_1"] + w[f"{name}_1_bias"][0], 0.0)
        return hidden @ w[f"{name}_2"] + w[f"{name}_2_bias"][0]

    embedded = [perceptron(row, "embed") for row in rows]
    query = perceptron(target, "embed") @ w["query"]
    keys, values = ([e @ w[name] for e in embedded] for name in ("key", "value"))
    attention = np.array([np.exp(query @ key) for key in keys])
    attention /= attention.sum()
    summed = sum(a * value for a, value in zip(attention, values, strict=True))
    return perceptron(summed, "score")[0]


def made_network(rng, b, top, width, m):
    # Three times the initial weights, so that attention is far from even.
    weights = {name: 3 * w for name, w in network.initial(width, m, rng).items()}
    rows = rng.random((b, top, width)).astype(np.float32)
    return weights, rows, rng.random(width).astype(np.float32)


def odds(weights, rows, there, target):
    tensors = (torch.from_numpy(np.asarray(x)) for x in (rows, there, target))
    return network.network_scores(weights, *tensors, network.Masks()).numpy()


def test_the_score_is_algorithm_1_with_keys():
    rng = np.random.default_rng(2)
    weights, rows, target = made_network(rng, 3, 5, 7, 2)
    there = np.array([[True] * 5, [True] * 2 + [False] * 3, [True] + [False] * 4])
    found = odds(weights, rows, there, target)
    for i in range(2):
        one = {name: w[i].double().numpy() for name, w in weights.items()}
        expected = [naive_score(one, rows[j][there[j]], target) for j in range(3)]
        np.testing.assert_allclose(found[i], expected, rtol=1e-4, atol=1e-4)
    assert np.ptp(found) > 0.1


def test_padding_changes_nothing():
    rng = np.random.default_rng(3)
    weights, rows, target = made_network(rng, 4, 6, 5, 3)
    padded = np.concatenate([rows, 9 * rng.random((4, 3, 5), np.float32)], axis=1)
    there = np.arange(9) < 6
    found = odds(weights, padded, np.tile(there, (4, 1)), target)
    np.testing.assert_allclose(
        found, odds(weights, rows, np.ones((4, 6), bool), target), rtol=1e-5, atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.2] if THOROUGH else [0.2])
def test_a_copied_target_is_found(missing):
    view, secret = view_of(np.random.default_rng(4), shadows=160, released=60, missing=missing)
    answer = QUICK.score(view, np.random.default_rng(0))
    assert auc(answer.own, view.inside) > 0.95
    assert auc(answer.released, secret) > 0.95
    # Log-odds: zero is a fair threshold.
    assert np.mean((answer.own > 0) == view.inside) > 0.9


@pytest.mark.slow
def test_without_a_leak_there_is_nothing_to_find():
    view, secret = view_of(np.random.default_rng(6), shadows=200, released=200, leak=False)
    answer = QUICK.score(view, np.random.default_rng(0))
    # Four standard errors of an AUC of 1/2 on 100 and 100 tables.
    for scores, truth in ((answer.own, view.inside), (answer.released, secret)):
        assert abs(auc(scores, truth) - 0.5) < 4 * np.sqrt(201 / (12 * 100 * 100))


@pytest.mark.slow
def test_own_tables_are_scored_by_networks_that_never_saw_them():
    view, _ = view_of(np.random.default_rng(7), shadows=24, released=2, n=10)
    near = reader_of(Table(view.schema, view.target[None]), 5).nearest
    fold = np.arange(24) % 4
    games = network.Games(near(view.shadows), view.inside, fold, near(view.released))
    few = network.AttentionTraining(3, patience=3, batch=6)
    before, _ = network.train(games, few, np.random.default_rng(0))
    for part in range(4):
        changed = replace(games, inside=view.inside ^ (fold == part))
        after, _ = network.train(changed, few, np.random.default_rng(0))
        assert np.array_equal(after[part], before[part])
        assert not np.array_equal(after[part - 2], before[part - 2])


def test_the_seed_is_all_that_is_drawn_from_and_torch_is_left_as_it_was():
    view, _ = view_of(np.random.default_rng(8), shadows=20, released=3, n=10)
    quick = replace(QUICK, training=network.AttentionTraining(2))
    threads = torch.get_num_threads()
    state = torch.get_rng_state()
    first = quick.score(view, np.random.default_rng(1))
    torch.set_num_threads(2)
    try:
        torch.rand(3)
        moved = torch.get_rng_state()
        with torch.inference_mode():
            again = quick.score(view, np.random.default_rng(1))
            assert torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), moved)
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(state)
    assert np.array_equal(first.own, again.own)
    assert np.array_equal(first.released, again.released)
    assert not np.array_equal(first.own, quick.score(view, np.random.default_rng(2)).own)


def test_shuffled_rows_and_other_released_tables_change_no_score():
    view, _ = view_of(np.random.default_rng(9), shadows=20, released=4, n=15, missing=0.1)
    quick = replace(QUICK, training=network.AttentionTraining(2))
    rng = np.random.default_rng(0)
    shuffled = with_tables(view, lambda tables: tables[:, rng.permutation(tables.shape[1])])
    fewer = replace(view, released=view.released[:1])
    first, second, third = (
        quick.score(v, np.random.default_rng(1)) for v in (view, shuffled, fewer)
    )
    assert np.array_equal(first.own, second.own)
    assert np.array_equal(first.own, third.own)
    np.testing.assert_allclose(first.released, second.released, rtol=0, atol=1e-6)
    np.testing.assert_allclose(first.released[:1], third.released, rtol=0, atol=1e-6)


def test_it_is_skipped_with_few_tables_or_without_torch(monkeypatch):
    view, _ = view_of(np.random.default_rng(0), shadows=6, released=2, n=5)
    assert TargetAttention().score(view, np.random.default_rng(0)) == Skipped(
        "target-attention", "needs at least 8 tables with and without the target, got 3"
    )
    monkeypatch.setitem(sys.modules, "torch", None)
    skipped = TargetAttention(folds=3).score(view, np.random.default_rng(0))
    assert skipped == Skipped("target-attention", "needs torch: pip install 'privacygauge[torch]'")


def test_its_numbers_are_checked():
    with pytest.raises(InputError, match="top must be at least 1, got 0"):
        TargetAttention(0)
    with pytest.raises(InputError, match=r"folds must be at least 3, .*, got 2"):
        TargetAttention(folds=2)
    with pytest.raises(InputError, match="patience must be at least 1, got 0"):
        network.AttentionTraining(patience=0)
    with pytest.raises(InputError, match="learning_rate must be above 0, got 0"):
        network.AttentionTraining(learning_rate=0)
    with pytest.raises(InputError, match="weight_decay must be at least 0, got -1"):
        network.AttentionTraining(weight_decay=-1)
    with pytest.raises(InputError, match=r"dropout must be in \[0, 1\), got 1"):
        network.AttentionTraining(dropout=1)
