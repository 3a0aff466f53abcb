"""Log ratios where probabilities are too small for a number, against sixty digits."""

from __future__ import annotations

from functools import partial

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from privacygauge.claims.dtp import counts as class_counts
from privacygauge.claims.dtp.discriminant import LinearDiscriminant, QuadraticDiscriminant
from privacygauge.claims.dtp.least_squares import KernelRidge, LeastSquares, Rbf
from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.claims.dtp.naive_bayes import (
    BayesInference,
    MultinomialNaiveBayes,
    NaiveBayes,
)
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.claims.dtp.random_trees import random_trees_of
from privacygauge.classifiers.ratios import log_ratio
from tests.claims.dtp import many_digits
from tests.thorough import only_thorough

FREEDOM = "degrees of freedom"


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(many_digits.DIGITS):
        yield


def spread(k):
    """Return five records of two numbers for each class, one deviation apart."""
    y = np.arange(5 * k) % k
    return np.random.default_rng(k).normal(size=(5 * k, 2)) + y[:, None], y


def scaled(k, apart=0):
    x, y = spread(k)
    return (x + apart * y[:, None]) * [1e-4, 1e5] + [0, 1e6], y


def far_apart(k, apart):
    x, y = spread(k)
    return x + apart * y[:, None], y


def duplicated(k):
    x, y = far_apart(k, 60)
    return np.vstack([x, x[:3]]), np.append(y, y[:3])


TABLES = {
    "badly scaled": scaled,
    "60 deviations apart": partial(far_apart, apart=60),
    "1,000 deviations apart": partial(far_apart, apart=1000),
    "badly scaled and far apart": partial(scaled, apart=60),
    "duplicated and far apart": duplicated,
    "off centre": lambda k: (far_apart(k, 30)[0] + 1e5, far_apart(k, 30)[1]),
}

ON_NUMBERS = {
    "naive Bayes": (NaiveBayes((None, None)), many_digits.gaussian),
    **{
        f"linear discriminant, {divisor}": (
            LinearDiscriminant(divisor),
            partial(many_digits.discriminant, pooled=True, divisor=divisor),
        )
        for divisor in (FREEDOM, "records")
    },
    **{
        f"quadratic discriminant, {reg}, {divisor}": (
            QuadraticDiscriminant(reg, divisor),
            partial(many_digits.discriminant, pooled=False, divisor=divisor, reg=reg),
        )
        for reg, divisor in ((0.0, FREEDOM), (0.1, FREEDOM), (0.0, "records"))
    },
    "logistic regression": (Logistic(), partial(many_digits.logistic, l2=1.0)),
    "least squares": (LeastSquares(), partial(many_digits.least_squares, l2=0.0)),
    "ridge": (LeastSquares(1.0), partial(many_digits.least_squares, l2=1.0)),
    "kernel ridge": (
        KernelRidge(0.3, Rbf(0.2)),
        partial(many_digits.kernel_ridge, l2=0.3, gamma=0.2),
    ),
    "nearest neighbours": (NearestNeighbours(3), partial(many_digits.neighbours, nearest=3)),
}


def assert_agree(learner, reference, x, y, k, queries, rows):
    """Compare log ratios at every query, and each record's own, with refits in many digits."""
    fitted = learner.fit(x, y, n_classes=k)
    own = log_ratio(fitted.log_p(x[rows]), fitted.log_p_without(rows))
    others = log_ratio(fitted.log_p(queries)[None], fitted.log_p_without_at(rows, queries))
    whole = reference(x, y, k)
    for i, row in enumerate(rows):
        refit = reference(np.delete(x, row, axis=0), np.delete(y, row), k)
        asked = [x[row], *queries]
        expected = [many_digits.ratio(whole(query), refit(query)) for query in asked]
        assert_allclose([own[i], *others[i]], expected, rtol=1e-6, atol=1e-6)


# Of every learner and of every table a third, and in the long tests another.
CASES = [
    pytest.param(
        named, table, k, marks=[[], pytest.mark.slow, [pytest.mark.slow, only_thorough]][rest]
    )
    for number, named in enumerate(ON_NUMBERS)
    for place, table in enumerate(TABLES)
    for k in (2, 3)
    for rest in [(number + place + k) % 3]
]


@pytest.mark.parametrize(("named", "table", "k"), CASES)
def test_log_ratios_on_numbers_are_those_of_many_digits(named, table, k):
    x, y = TABLES[table](k)
    queries = np.vstack([x[:3], 2 * x.max(axis=0) - x.min(axis=0)])
    assert_agree(*ON_NUMBERS[named], x, y, k, queries, np.array([1, 8]))


def codes(m, n=9):
    """Return m binary attributes of three classes."""
    y = np.arange(n) % 3
    likely = 0.5 + 0.4 * (y == 1)
    return (np.random.default_rng(0).random((n, m)) < likely[:, None]).astype(np.int64), y


def counts(rare):
    """Return counts of a few thousand words in all; with rare ones, some in one class only."""
    y = np.arange(9) % 3
    x = np.random.default_rng(0).poisson(100 * (1 + 5 * (y[:, None] == np.arange(4) % 3)))
    return x * (y == 0)[:, None] ** ([1, 0, 0, 0] if rare else [0] * 4), y


ON_CODES = {
    "naive Bayes on 200 attributes": (
        NaiveBayes((2,) * 200, 0.01),
        partial(many_digits.categorical, sizes=(2,) * 200, alpha=0.01),
        codes(200),
    ),
    **{
        f"naive Bayes, alpha {alpha}": (
            NaiveBayes((2,) * 4, alpha),
            partial(many_digits.categorical, sizes=(2,) * 4, alpha=alpha),
            codes(4),
        )
        for alpha in (0.0, 1e-200)
    },
    **{
        f"multinomial, alpha {alpha}, rare {rare}": (
            MultinomialNaiveBayes(alpha),
            partial(many_digits.multinomial, alpha=alpha),
            counts(rare),
        )
        for alpha, rare in ((1.0, False), (0.0, True), (1e-10, True))
    },
    **{
        f"Bayes inference, alpha {alpha}": (
            BayesInference(alpha),
            partial(many_digits.inference, alpha=alpha),
            codes(2),
        )
        for alpha in (0.0, 0.5, 1e-200)
    },
    **{
        f"trees, {answers}, alpha {learner.alpha}": (
            learner,
            partial(many_digits.trees, learner=learner),
            codes(4),
        )
        for answers in ("normalised", "geometric-mean")
        for alpha in (0.0, 1e-300)
        for learner in [
            random_trees_of(codes(4)[0], n_trees=5, depth=3, alpha=alpha, answers=answers)
        ]
    },
}


@pytest.mark.parametrize("named", ON_CODES)
def test_log_ratios_on_codes_are_those_of_many_digits(named):
    learner, reference, (x, y) = ON_CODES[named]
    queries = np.vstack([x[:3], np.zeros_like(x[0])])
    assert_agree(learner, reference, x, y, 3, queries, np.arange(len(y)))


def test_gaussian_naive_bayes_on_iris_is_finite_without_bins():
    x, y = load_iris(return_X_y=True)
    fitted = NaiveBayes((None,) * 4).fit(x, y, n_classes=3)
    shown = log_ratio(fitted.log_p(x)[None], fitted.log_p_without_at(np.arange(150), x))
    assert np.isfinite(shown).all()
    assert round(float(shown.max()), 2) == 71.69
    row, query = np.unravel_index(shown.argmax(), shown.shape)
    whole = many_digits.gaussian(x, y, 3)(x[query])
    refit = many_digits.gaussian(np.delete(x, row, axis=0), np.delete(y, row), 3)(x[query])
    assert_allclose(shown.max(), many_digits.ratio(whole, refit), rtol=1e-9)


def clusters(apart):
    """Return two clusters of 30 points with deviation 1, so far apart."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    x[30:, 0] += apart
    return x, np.repeat([0, 1], 30)


def pdtp_of_clusters(learner, apart):
    x, y = clusters(apart)
    fitted = learner.fit(x, y, n_classes=2)
    return log_ratio(fitted.log_p(x), fitted.log_p_without(np.arange(60)))


@pytest.mark.parametrize("learner", [NaiveBayes((None, None)), QuadraticDiscriminant()])
def test_how_far_apart_clusters_are_changes_no_pdtp(learner, monkeypatch):
    # A share of the largest variance is added to all: it grows with the distance.
    monkeypatch.setattr(class_counts, "VAR_SMOOTHING", 1e-30)
    near = pdtp_of_clusters(learner, 20)
    for apart in (30, 60, 1000):
        found = pdtp_of_clusters(learner, apart)
        assert_allclose(found.max(), near.max(), rtol=1e-6)
        assert np.count_nonzero(found > 1) == np.count_nonzero(near > 1) == 1


@pytest.mark.parametrize("apart", [20, 30, 60])
def test_one_record_of_two_clusters_is_above_1_however_far_apart(apart):
    found = pdtp_of_clusters(NaiveBayes((None, None)), apart)
    assert round(float(found.max()), 4) == 1.0324
    assert np.count_nonzero(found > 1) == 1
    x, y = clusters(apart)
    row = int(found.argmax())
    whole, refit = (many_digits.gaussian(x[rows], y[rows], 2)(x[row])
                    for rows in (np.arange(60), np.arange(60) != row))  # fmt: skip
    assert_allclose(found[row], many_digits.ratio(whole, refit), rtol=1e-9)


def test_scores_that_are_0_but_for_rounding_have_no_log_ratio():
    x = np.repeat(np.array([[0.1, 0.3], [0.7, 0.2], [0.5, -1.1]]), 3, axis=0)
    for shift in (0.0, 100.0):
        fitted = LeastSquares().fit(x + shift, np.repeat([0, 1, 2], 3), n_classes=3)
        rows = np.arange(9)
        assert log_ratio(fitted.log_p(x + shift), fitted.log_p_without(rows)).max() < 1e-9
