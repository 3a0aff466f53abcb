"""The query matrix is uniform, independent, and the same however it is cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from privacygauge.leaderboards import queries as module
from privacygauge.leaderboards.queries import RandomQueries, Words, compiled_fill


def whole(queries):
    return queries.queries(0, queries.k)


@given(st.integers(1, 2_100), st.integers(1, 600), st.integers(2, 70_000), st.data())
def test_any_part_is_cut_from_one_matrix(n, k, m, data):
    queries = RandomQueries(n, m, k, key=n * 1_000 + k)
    matrix = whole(queries)
    assert matrix.shape == (n, k)
    assert matrix.max() < m
    top = data.draw(st.integers(0, n))
    left = data.draw(st.integers(0, k))
    bottom = data.draw(st.integers(top, n))
    right = data.draw(st.integers(left, k))
    assert np.array_equal(queries.points(top, bottom), matrix[top:bottom])
    assert np.array_equal(queries.queries(left, right), matrix[:, left:right])


@pytest.mark.parametrize("m", [2, 3, 10, 100, 200, 256, 257])
def test_labels_are_uniform(m):
    counts = np.bincount(whole(RandomQueries(1_024, m, 256, key=m)).ravel(), minlength=m)
    assert len(counts) == m
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("m", [40_000, 65_536, 70_000])
def test_many_labels_are_uniform_too(m):
    labels = whole(RandomQueries(1_024, m, 512, key=m)).ravel()
    assert chisquare(np.bincount(labels.astype(np.int64) * 50 // m, minlength=50)).pvalue > 1e-4


@pytest.mark.slow
def test_no_two_tiles_rows_or_keys_are_alike():
    matrix = whole(RandomQueries(3_072, 2, 768, key=0)).astype(float)
    starts = [(i, j) for i in (0, 1_024, 2_048) for j in (0, 256, 512)]
    tiles = [matrix[i : i + 1_024, j : j + 256].ravel() for i, j in starts]
    tiles.append(whole(RandomQueries(1_024, 2, 256, key=1)).astype(float).ravel())
    apart = np.corrcoef(tiles) - np.eye(10)
    # 45 correlations of 262,144 fair coins: five standard errors.
    assert np.abs(apart).max() < 5 / 512
    between = np.corrcoef(matrix.T) - np.eye(768)
    assert np.abs(between).max() < 6 / np.sqrt(3_072)


def test_the_key_stays_out_of_texts():
    assert "98765" not in repr(RandomQueries(3, 2, 1, key=98765))
    drawn = [RandomQueries.drawn(3, 2, 1, np.random.default_rng(s)).key for s in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def mixed(x):
    """SplitMix64's function in Python's integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    return x ^ (x >> 31)


@given(st.integers(0, 2**64 - 1), st.integers(1, 40), st.integers(0, 10**6))
def test_words_are_those_of_splitmix64(key, size, number):
    words = Words(key, size)
    places = range(number * size, (number + 1) * size)
    expected = [mixed((key + (w + 1) * 0x9E3779B97F4A7C15) % 2**64) for w in places]
    assert words.block(number).tolist() == expected
    assert not set(words.others(number, np.arange(size)).tolist()) & set(expected)


def test_published_words():
    # The first outputs of SplitMix64 with this seed, as public test vectors have them.
    assert Words(1234567, 2).block(0).tolist() == [6457827717110365317, 3203168211198807973]


@pytest.mark.slow
def test_compiled_words_are_the_same(monkeypatch):
    pytest.importorskip("numba")
    plain = Words(7, 100)
    fast = Words(7, 100, compiled_fill())
    for number in (0, 3, 2**40):
        assert np.array_equal(plain.block(number), fast.block(number))
    # A small matrix is drawn in arrays, and the same one compiled where that is worth it.
    expected = whole(RandomQueries(300, 10, 70, key=3))
    monkeypatch.setattr(module, "_WORTH_COMPILING", 0)
    assert np.array_equal(whole(RandomQueries(300, 10, 70, key=3)), expected)
