import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.claims.dtp import nearest as module
from privacygauge.claims.dtp.nearest import NearestNeighbours, nearest_records
from privacygauge.classifiers.learner import Bounded, Learner
from privacygauge.errors import InputError
from tests.claims.dtp.honest import adult_all, assert_honest


@st.composite
def crowded(draw):
    """Return few records on few places, many of them equal or equally far."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 9))
    d = draw(st.integers(1, 3))
    classes = draw(st.integers(1, 3))
    scale = draw(st.sampled_from([1.0, 0.1, 1e6]))
    x = rng.integers(0, draw(st.integers(1, 4)), size=(n, d)) * scale
    return x, rng.integers(0, classes, size=n), classes


every_k = pytest.mark.parametrize("k", [1, 2, 5])


@every_k
@given(crowded())
def test_a_record_left_out_is_a_refit(k, drawn):
    x, y, classes = drawn
    queries = np.vstack([x, x[:1] + 0.5])
    assert_honest(NearestNeighbours(k), x, y, classes, queries=queries, atol=0)


def naive(x, query, m):
    """Return the nearest rows by comparing all distances, one after the other."""
    far = [(sum((a - b) ** 2 for a, b in zip(row, query, strict=True)), i) for i, row in x]
    return [i for _, i in sorted(far)[:m]]


@every_k
@given(crowded())
def test_neighbours_are_those_of_a_double_loop(k, drawn):
    x, _, _ = drawn
    rows = list(enumerate(x.tolist()))
    assert nearest_records(x, x, k).tolist() == [naive(rows, query, k) for query in x.tolist()]


def test_equal_records_are_equally_far_however_large_their_numbers():
    rng = np.random.default_rng(0)
    # Far from the origin, products of matrices lose what tells these records apart.
    places = 1e7 + rng.normal(size=(20, 6)) * 1e-3
    x = places[rng.integers(0, 20, size=300)]
    rows = list(enumerate(x.tolist()))
    for query in places[:5]:
        squares = ((x - query) ** 2).sum(axis=1)
        expected = np.lexsort((np.arange(300), squares))[:40].tolist()
        assert nearest_records(x, query[None], 40).tolist() == [expected]
    assert nearest_records(x, x[:1], 1).tolist() == [naive(rows, x[0].tolist(), 1)]


@every_k
def test_shares_are_those_of_scikit_learn(k):
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 5))
    y = rng.integers(0, 4, size=400)
    theirs = KNeighborsClassifier(k, algorithm="brute").fit(x[:300], y[:300])
    fitted = NearestNeighbours(k).fit(x[:300], y[:300], n_classes=4)
    np.testing.assert_allclose(np.exp(fitted.log_p(x)), theirs.predict_proba(x), rtol=0, atol=1e-15)
    others = np.arange(300) != 9
    theirs.fit(x[:300][others], y[:300][others])
    expected = theirs.predict_proba(x)
    np.testing.assert_allclose(
        np.exp(fitted.log_p_without_at([9], x))[0], expected, rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(
        np.exp(fitted.log_p_without([9]))[0], expected[9], rtol=0, atol=1e-15
    )


def test_blocks_change_no_number(monkeypatch):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, size=(60, 3)).astype(float)
    y = rng.integers(0, 2, size=60)
    fitted = NearestNeighbours(4).fit(x, y, n_classes=2)
    rows = np.arange(60)
    whole = np.exp(fitted.log_p_without(rows)).tolist()
    for block in (1, 100, 1000):
        monkeypatch.setattr(module, "BLOCK", block)
        assert np.exp(fitted.log_p_without(rows)).tolist() == whole


def test_a_record_shows_nothing_where_another_query_shows_everything():
    # Section 6.3: the record's next neighbour has its class, the query's has not.
    x = np.array([[0.0], [-1.0], [3.0]])
    y = np.array([0, 0, 1])
    fitted = NearestNeighbours(1).fit(x, y, n_classes=2)
    assert (
        np.exp(fitted.log_p(x[:1])).tolist()
        == np.exp(fitted.log_p_without([0])).tolist()
        == [[1.0, 0.0]]
    )
    between = np.array([[1.2]])
    assert np.exp(fitted.log_p(between)).tolist() == [[1.0, 0.0]]
    assert np.exp(fitted.log_p_without_at([0], between)).tolist() == [[[0.0, 1.0]]]


def test_the_only_record_leaves_no_answer():
    fitted = NearestNeighbours().fit(np.zeros((1, 2)), [0], n_classes=2)
    assert np.exp(fitted.log_p(np.ones((1, 2)))).tolist() == [[1.0, 0.0]]
    assert np.isnan(fitted.log_p_without([0])).all()
    assert np.isnan(fitted.log_p_without_at([0], np.ones((3, 2)))).all()
    assert np.exp(fitted.log_p(np.empty((0, 2)))).shape == (0, 2)


def test_people_left_out_are_refits(data_folder):
    x, y = adult_all(1000)
    rows = np.arange(0, 1000, 20)
    assert_honest(NearestNeighbours(), x, y, 2, rows=rows, queries=x[:10], atol=0)


def test_it_is_a_learner_without_a_bound():
    learner = NearestNeighbours(3)
    assert isinstance(learner, Learner)
    assert not isinstance(learner.fit(np.zeros((1, 1)), [0], n_classes=2), Bounded)
    assert (learner.name, learner.describe()) == ("nearest neighbours", {"k": 3})
    with pytest.raises(InputError, match="k must be at least 1, got 0"):
        NearestNeighbours(0)
    with pytest.raises(InputError, match=r"queries must have the shape \(n, 1\), got \(1, 2\)"):
        learner.fit(np.zeros((1, 1)), [0], n_classes=2).log_p(np.zeros((1, 2)))
