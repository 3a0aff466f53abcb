import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.claims.dtp import discriminant
from privacygauge.claims.dtp.discriminant import LinearDiscriminant, QuadraticDiscriminant
from privacygauge.classifiers.learner import Learner, box_of
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.errors import InputError
from privacygauge.runs.threads import one_thread
from tests.claims.dtp.honest import adult_all, adult_numbers, assert_honest
from tests.thorough import quarter


@pytest.fixture(scope="module", autouse=True)
def alone():
    """Small decompositions on several threads wait for each other beside other tests."""
    with one_thread():
        yield


@st.composite
def cramped(draw):
    """Return few records: some of few values, collinear, constant, or alone in their class."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 12))
    d = draw(st.integers(1, 4))
    k = draw(st.integers(1, 3))
    x = rng.integers(-1, 2, size=(n, d)).astype(float)
    if draw(st.booleans()):
        x += rng.normal(size=(n, d))
        if d > 1 and draw(st.booleans()):
            x[:, 1] = 1 - 2 * x[:, 0]
    return x, rng.integers(0, k, size=n), k


def asked_of(x):
    return np.vstack([x, np.zeros_like(x[:1]), 2 * x[:1] + 1])


every_divisor = pytest.mark.parametrize("divisor", ["degrees of freedom", "records"])


@every_divisor
@given(cramped())
def test_a_record_left_out_is_a_refit(divisor, drawn):
    x, y, k = drawn
    assert_honest(LinearDiscriminant(divisor), x, y, k, queries=asked_of(x))


@pytest.mark.parametrize("reg", [0.0, 0.3, 1.0])
@every_divisor
@given(cramped())
def test_a_record_left_out_of_quadratic_analysis_is_a_refit(divisor, reg, drawn):
    x, y, k = drawn
    assert_honest(QuadraticDiscriminant(reg, divisor), x, y, k, queries=asked_of(x))


def made(n=300, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, size=n)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(k, d))[y], y


every_learner = pytest.mark.parametrize(
    "learner",
    [
        LinearDiscriminant(),
        LinearDiscriminant("records"),
        QuadraticDiscriminant(),
        QuadraticDiscriminant(0.2, "records"),
    ],
    ids=repr,
)


@every_learner
def test_hardly_a_record_is_trained_anew(learner, monkeypatch):
    # Otherwise the comparison with refits would compare refits with themselves.
    x, y = made()
    fitted = learner.fit(x, y, n_classes=3)
    again = []
    monkeypatch.setattr(type(fitted), "_anew", lambda *_: again.append(1))
    fitted.log_p_without(np.arange(300))
    fitted.log_p_without_at(np.arange(300), x[:3])
    assert not again


@every_learner
def test_many_records_left_out_are_refits(learner):
    x, y = made(80)
    rows = np.arange(0, 80, 3)
    assert_honest(learner, x, y, 3, rows=rows, queries=asked_of(x)[70:])
    x[:, 2] = x[:, 0] + x[:, 1]
    assert_honest(learner, x, y, 3, rows=rows, queries=asked_of(x)[70:])


def densities(x, y, queries, k, divisor, pooled):
    """Return log joints by inverting covariances that are summed record by record."""
    scatter = np.zeros((k, x.shape[1], x.shape[1]))
    means = []
    joint = []
    for label in range(k):
        means.append(x[y == label].mean(axis=0))
        for row in x[y == label]:
            scatter[label] += np.outer(row - means[label], row - means[label])
    for label in range(k):
        n = np.count_nonzero(y == label)
        if pooled:
            covariance = scatter.sum(axis=0) / (len(x) - (k if divisor != "records" else 0))
        else:
            covariance = scatter[label] / (n - (1 if divisor != "records" else 0))
        apart = queries - means[label]
        far = (apart @ np.linalg.inv(covariance) * apart).sum(axis=1)
        joint.append(np.log(n) - far / 2 - np.linalg.slogdet(covariance)[1] / 2)
    return np.array(joint).T


@every_divisor
def test_predictions_are_the_formula(divisor):
    x, y = made()
    for learner, pooled in (
        (LinearDiscriminant(divisor), True),
        (QuadraticDiscriminant(0.0, divisor), False),
    ):
        joint = densities(x, y, x, 3, divisor, pooled)
        expected = np.exp(joint - joint.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
        found = np.exp(learner.fit(x, y, n_classes=3).log_p(x))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def agreeing(make, theirs, x, y, queries):
    """Return how far the nearer of both divisors is from scikit-learn, whose versions differ."""
    expected = theirs.fit(x, y).predict_proba(queries)
    found = [
        np.exp(make(divisor).fit(x, y, n_classes=expected.shape[1]).log_p(queries))
        for divisor in ("degrees of freedom", "records")
    ]
    return min(np.abs(one - expected).max() for one in found)


def test_predictions_are_those_of_scikit_learn(data_folder):
    from sklearn.discriminant_analysis import (
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )

    x, y = made()
    assert agreeing(LinearDiscriminant, LinearDiscriminantAnalysis(), x, y, x) < 1e-10
    for reg in (0.0, 0.4):
        theirs = QuadraticDiscriminantAnalysis(reg_param=reg)
        ours = lambda divisor, reg=reg: QuadraticDiscriminant(reg, divisor)  # noqa: E731
        assert agreeing(ours, theirs, x, y, x) < 1e-10
    # Binary attributes of one category sum to 1; some occur in none of the records.
    x, y = adult_all(1200)
    theirs = LinearDiscriminantAnalysis()
    assert agreeing(LinearDiscriminant, theirs, x[:1000], y[:1000], x) < 1e-9


def test_coefficients_give_the_probabilities():
    x, y = made(60)
    fitted = LinearDiscriminant().fit(x, y, n_classes=3)
    weights, bias = fitted.coefficients()
    joint = np.exp(x @ weights + bias)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(fitted.log_p(x)), expected, rtol=0, atol=1e-12)
    others = np.arange(60) != 7
    again = LinearDiscriminant().fit(x[others], y[others], n_classes=3).coefficients()
    for found, honest in zip(fitted.coefficients_without([7]), again, strict=True):
        np.testing.assert_allclose(found[0], honest, rtol=1e-9, atol=1e-9)


def test_blocks_change_no_number(monkeypatch):
    x, y = made(50)
    fitted = LinearDiscriminant().fit(x, y, n_classes=3)
    whole = fitted.log_p_without(np.arange(50))
    monkeypatch.setattr(discriminant, "BLOCK", 30)
    np.testing.assert_allclose(fitted.log_p_without(np.arange(50)), whole, rtol=0, atol=1e-14)


def test_the_only_record_of_a_class_takes_its_class_along():
    x, y = made(40, k=2)
    y[3] = 2
    found = np.exp(LinearDiscriminant().fit(x, y, n_classes=4).log_p_without([3]))[0]
    assert (found[2:] == 0).all()
    fitted = QuadraticDiscriminant().fit(x, y, n_classes=4)
    assert np.isnan(fitted.log_p(x)).all()
    found = np.exp(fitted.log_p_without(np.arange(40)))
    assert np.flatnonzero(~np.isnan(found).any(axis=1)).tolist() == [3]
    assert (found[3, 2:] == 0).all()


def test_too_few_records_for_a_covariance_are_no_answer():
    x = np.array([[0.0], [1.0], [3.0], [7.0], [8.0]])
    y = np.array([0, 0, 1, 1, 1])
    fitted = QuadraticDiscriminant().fit(x, y, n_classes=2)
    assert np.isfinite(fitted.log_p(x)).all()
    assert (
        np.isnan(fitted.log_p_without(np.arange(5))).any(axis=1).tolist()
        == [True] * 2 + [False] * 3
    )
    fitted = LinearDiscriminant().fit(x[:3], y[:3], n_classes=2)
    assert np.isfinite(fitted.log_p(x)).all()
    assert np.isnan(fitted.log_p_without(np.arange(3))).any(axis=1).tolist() == [True, True, False]


@pytest.mark.slow
def test_people_left_out_are_refits(data_folder):
    x, y = adult_numbers(1000)
    rows = np.arange(0, 1000, 20)
    for learner in (LinearDiscriminant(), QuadraticDiscriminant()):
        assert_honest(learner, x, y, 2, rows=rows, queries=x[:20])
    x, y = adult_all(1200)
    rows = np.arange(0, 1000, 100)
    for learner in (LinearDiscriminant(), QuadraticDiscriminant(0.1)):
        assert_honest(learner, x[:1000], y[:1000], 2, rows=rows, queries=x[980:])


@pytest.mark.slow
def test_people_with_their_categories_left_out_are_refits(data_folder):
    x, y = adult_all(1200)
    rows = np.arange(0, 1000, 1000 // quarter(200))
    for learner in (LinearDiscriminant(), QuadraticDiscriminant(0.1)):
        assert_honest(learner, x[:1000], y[:1000], 2, rows=rows, queries=x[980:])


@pytest.mark.parametrize(
    ("learner", "name", "described"),
    [
        (
            LinearDiscriminant(),
            "linear discriminant analysis",
            {"divisor": "degrees of freedom"},
        ),
        (
            QuadraticDiscriminant(0.5, "records"),
            "quadratic discriminant analysis",
            {"reg": 0.5, "divisor": "records"},
        ),
    ],
    ids=repr,
)
def test_it_is_a_learner(learner, name, described):
    assert isinstance(learner, Learner)
    assert (learner.name, learner.describe()) == (name, described)


def test_bad_options_are_named():
    with pytest.raises(InputError, match=r"reg must be in \[0, 1\], got 2"):
        QuadraticDiscriminant(2)
    for make in (LinearDiscriminant, lambda divisor: QuadraticDiscriminant(0, divisor)):
        with pytest.raises(InputError, match="divisor must be 'degrees of freedom' or 'records'"):
            make("n")


@given(st.integers(0, 2**32 - 1))
def test_no_query_in_the_box_shows_more_than_the_bound(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, 2))
    y = np.arange(20) % 3
    fitted = LinearDiscriminant().fit(x, y, n_classes=3)
    rows = np.arange(20)
    box = box_of(x)
    asked = rng.uniform(box.low, box.high, size=(60, 2))
    shown = log_ratio(fitted.log_p(asked), fitted.log_p_without_at(rows, asked)).max(axis=1)
    found = fitted.dtp(rows, 0.0, box)
    own = log_ratio(fitted.log_p(x), fitted.log_p_without(rows))
    np.testing.assert_allclose(found.own, own, atol=1e-9)
    assert (found.low >= own - 1e-9).all()
    assert (shown <= found.high + 1e-9).all()
