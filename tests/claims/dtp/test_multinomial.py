import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.claims.dtp.naive_bayes import MultinomialNaiveBayes
from privacygauge.classifiers.learner import Learner, class_log_p, matrix, training_set
from privacygauge.errors import InputError
from tests.claims.dtp.honest import adult_all, assert_honest


@st.composite
def counted(draw):
    """Return few records of few values, with classes of one record and of none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 7))
    d = draw(st.integers(1, 4))
    k = draw(st.integers(1, 4))
    step = draw(st.sampled_from([1.0, 0.1]))
    return rng.integers(0, 3, size=(n, d)) * step, rng.integers(0, k, size=n), k


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@given(counted())
def test_a_record_left_out_is_a_refit(alpha, drawn):
    x, y, k = drawn
    queries = np.vstack([x, np.zeros_like(x[:1]), np.eye(x.shape[1])])
    assert_honest(MultinomialNaiveBayes(alpha), x, y, k, queries=queries)


def naive(x, y, query, k, alpha):
    """Return the posterior as the formula says, a product of powers."""
    joint = []
    for label in range(k):
        own = [row for row, c in zip(x, y, strict=True) if c == label]
        value = len(own) / len(x)
        total = sum(sum(row) for row in own) + alpha * len(query)
        for j, count in enumerate(query):
            share = (sum(row[j] for row in own) + alpha) / total if total else 0.0
            value *= share**count
        joint.append(value)
    whole = sum(joint)
    return [v / whole if whole else float("nan") for v in joint]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@given(counted())
def test_predictions_are_the_formula(alpha, drawn):
    x, y, k = drawn
    fitted = MultinomialNaiveBayes(alpha).fit(x, y, n_classes=k)
    expected = [naive(x.tolist(), y.tolist(), query, k, alpha) for query in x.tolist()]
    np.testing.assert_allclose(np.exp(fitted.log_p(x)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_predictions_are_those_of_scikit_learn(alpha):
    from sklearn.naive_bayes import MultinomialNB

    rng = np.random.default_rng(0)
    x = rng.poisson(rng.gamma(1.0, size=(1, 30)), size=(300, 30))
    y = rng.integers(0, 3, size=300)
    fitted = MultinomialNaiveBayes(alpha).fit(x[:200], y[:200], n_classes=3)
    theirs = MultinomialNB(alpha=alpha).fit(x[:200], y[:200]).predict_proba(x)
    np.testing.assert_allclose(np.exp(fitted.log_p(x)), theirs, rtol=0, atol=1e-12)
    others = np.arange(200) != 7
    theirs = MultinomialNB(alpha=alpha).fit(x[:200][others], y[:200][others]).predict_proba(x)
    np.testing.assert_allclose(
        np.exp(fitted.log_p_without_at([7], x))[0], theirs, rtol=0, atol=1e-12
    )


def test_people_left_out_are_refits(data_folder):
    x, y = adult_all(1000)
    rows = np.arange(0, 1000, 20)
    assert_honest(MultinomialNaiveBayes(), x[:, 6:], y, 2, rows=rows, queries=x[:20, 6:])


def test_the_only_record_of_a_class_takes_its_class_along():
    x = np.array([[1, 0], [0, 1], [2, 1]])
    y = np.array([1, 0, 0])
    fitted = MultinomialNaiveBayes().fit(x, y, n_classes=3)
    assert np.exp(fitted.log_p_without([0])).tolist() == [[1.0, 0.0, 0.0]]
    assert np.isnan(MultinomialNaiveBayes().fit(x[:1], y[:1], n_classes=2).log_p_without([0])).all()


def test_what_was_only_in_the_record_is_gone_exactly():
    # 0.1 + 0.2 + 0.3 - 0.3 - 0.2 - 0.1 is not 0.
    x = np.array([[0.1, 1.0], [0.0, 0.7], [0.2, 0.0], [1.0, 1.0]])
    y = np.array([0, 0, 0, 1])
    x[1, 0], x[2, 0] = 0.0, 0.0
    found = np.exp(MultinomialNaiveBayes(0.0).fit(x, y, n_classes=2).log_p_without([0]))
    assert found.tolist() == [[0.0, 1.0]]


def test_nothing_possible_is_no_answer():
    found = class_log_p(np.array([[-np.inf, -np.inf], [0.0, -np.inf], [np.nan, 0.0]]))
    assert np.isnan(found[[0, 2]]).all()
    assert found[1].tolist() == [0.0, -np.inf]


def test_it_is_a_learner():
    learner = MultinomialNaiveBayes(0.5)
    assert isinstance(learner, Learner)
    assert (learner.name, learner.describe()) == ("multinomial naive Bayes", {"alpha": 0.5})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultinomialNaiveBayes(-1.0), "alpha must be finite and at least 0, got -1.0"),
        (lambda: MultinomialNaiveBayes(np.nan), "alpha must be finite"),
        (
            lambda: MultinomialNaiveBayes().fit(np.array([[0], [-2]]), [0, 1], n_classes=2),
            "x must hold counts of at least 0, got -2.0 in row 1",
        ),
        (lambda: matrix(np.zeros(3), "x"), r"x must have the shape \(n, d\), got \(3,\)"),
        (lambda: matrix(np.zeros((3, 2)), "x", columns=4), r"\(n, 4\), got \(3, 2\)"),
        (lambda: matrix(np.array([[0, np.inf]]), "x"), "x must be finite, got inf in row 0"),
        (lambda: training_set(np.zeros((0, 2)), [], 2), "at least one record, got none"),
        (lambda: training_set(np.zeros((1, 2)), [2], 2), "y must be below n_classes = 2, got 2"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
