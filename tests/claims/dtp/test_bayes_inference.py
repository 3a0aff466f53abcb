import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.claims.dtp.naive_bayes import BayesInference
from privacygauge.classifiers.learner import Bounded, Learner, box_of
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.errors import InputError
from tests.claims.dtp.honest import adult_codes, assert_honest


@st.composite
def coded(draw):
    """Return few records of two values, and all queries of their domain."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 9))
    d = draw(st.integers(1, 3))
    k = draw(st.integers(1, 3))
    domain = np.array(list(itertools.product([0, 1], repeat=d)))
    return rng.integers(0, 2, size=(n, d)), rng.integers(0, k, size=n), k, domain


every_alpha = pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])


@every_alpha
@given(coded())
def test_a_record_left_out_is_a_refit(alpha, drawn):
    x, y, k, domain = drawn
    assert_honest(BayesInference(alpha), x, y, k, queries=domain)


@every_alpha
@given(coded())
def test_predictions_are_the_formula(alpha, drawn):
    x, y, k, domain = drawn
    found = np.exp(BayesInference(alpha).fit(x, y, n_classes=k).log_p(domain))
    for query, row in zip(domain.tolist(), found.tolist(), strict=True):
        same = [c for other, c in zip(x.tolist(), y.tolist(), strict=True) if other == query]
        total = len(same) + k * alpha
        for label in range(k):
            expected = (same.count(label) + alpha) / total if total else math.nan
            assert row[label] == pytest.approx(expected, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("width", [0.0, 0.01])
@every_alpha
@given(coded())
def test_the_dtp_is_the_largest_of_the_whole_domain(alpha, width, drawn):
    x, y, k, domain = drawn
    fitted = BayesInference(alpha).fit(x, y, n_classes=k)
    rows = np.arange(len(x))
    brute = log_ratio(fitted.log_p(domain), fitted.log_p_without_at(rows, domain), width).max(
        axis=1
    )
    found = fitted.dtp(rows, width, box_of(x))
    assert found.low.tolist() == found.high.tolist() == brute.tolist()


def test_proposition_6_3_as_printed_does_not_hold():
    x = np.zeros((3, 1))
    y = np.array([0, 0, 1])
    fitted = BayesInference().fit(x, y, n_classes=2)
    own = np.exp(fitted.log_p(x))[0, 0] / np.exp(fitted.log_p_without([0]))[0, 0]
    assert own == pytest.approx(4 / 3)
    found = fitted.dtp(np.array([0]), 0.0, box_of(x))
    assert found.high == pytest.approx([math.log(3 / 2)])


def test_the_last_of_its_kind_leaves_no_answer():
    fitted = BayesInference().fit(np.array([[0.0], [1.0]]), [0, 1], n_classes=2)
    assert np.isnan(fitted.log_p_without([0])).all()
    assert fitted.dtp(np.array([0]), 0.01, box_of(fitted.x)).low.tolist() == [math.inf]


def test_zeros_of_either_sign_are_one_kind():
    fitted = BayesInference().fit(np.array([[0.0], [-0.0]]), [0, 1], n_classes=2)
    assert np.exp(fitted.log_p(np.array([[-0.0], [0.0]]))).tolist() == [[0.5, 0.5]] * 2


def test_people_left_out_are_refits(data_folder):
    x, y = adult_codes(1000)
    assert_honest(
        BayesInference(0.1), x[:, 3:7], y, 2, rows=np.arange(0, 1000, 20), queries=x[:20, 3:7]
    )


def test_it_is_a_learner_that_knows_its_dtp():
    learner = BayesInference(0.5)
    assert isinstance(learner, Learner)
    assert isinstance(learner.fit(np.zeros((1, 1)), [0], n_classes=2), Bounded)
    assert (learner.name, learner.describe()) == ("Bayes inference", {"alpha": 0.5})
    with pytest.raises(InputError, match="alpha must be finite and at least 0, got -1"):
        BayesInference(-1)
