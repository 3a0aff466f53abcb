import warnings

import numpy as np
import pytest

from privacygauge.claims.dtp import named as module
from privacygauge.claims.dtp.discriminant import LinearDiscriminant, QuadraticDiscriminant
from privacygauge.claims.dtp.naive_bayes import MultinomialNaiveBayes, NaiveBayes
from privacygauge.claims.dtp.named import find_shortcut
from privacygauge.claims.dtp.nearest import NearestNeighbours
from tests.claims.dtp.honest import adult_codes, adult_numbers

pytest.importorskip("sklearn")

from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MultinomialNB,
)
from sklearn.neighbors import KNeighborsClassifier

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, size=250)
CODES = (RNG.random((250, 3)) * (Y[:, None] + 2)).astype(int)
BINARY = (CODES > 0).astype(int)
NUMBERS = RNG.normal(size=(250, 3)) + Y[:, None]


@pytest.mark.parametrize(
    ("model", "x", "expected"),
    [
        (CategoricalNB(alpha=0.5), CODES, NaiveBayes((4, 4, 4), 0.5)),
        (CategoricalNB(min_categories=6), CODES, NaiveBayes((6, 6, 6), 1.0)),
        (CategoricalNB(min_categories=[6, 2, 5]), CODES, NaiveBayes((6, 4, 5), 1.0)),
        (BernoulliNB(alpha=2.0), BINARY, NaiveBayes((2, 2, 2), 2.0)),
        (MultinomialNB(alpha=0.3), CODES, MultinomialNaiveBayes(0.3)),
        (GaussianNB(), NUMBERS, NaiveBayes((None, None, None))),
        (QuadraticDiscriminantAnalysis(reg_param=0.1), NUMBERS, QuadraticDiscriminant(0.1)),
        (LinearDiscriminantAnalysis(), NUMBERS, LinearDiscriminant()),
        (KNeighborsClassifier(3), NUMBERS, NearestNeighbours(3)),
        (KNeighborsClassifier(3, metric="euclidean"), NUMBERS, NearestNeighbours(3)),
    ],
    ids=lambda value: "" if isinstance(value, np.ndarray) else repr(value),
)
def test_what_is_recognised_and_as_what(model, x, expected):
    found = find_shortcut(model, x, Y)
    assert found is not None
    assert type(found.learner) is type(expected)
    if not isinstance(expected, (LinearDiscriminant, QuadraticDiscriminant)):
        assert found.learner == expected  # the divisor of the other two depends on the version
    assert not found.unsure.any()
    assert found.settled(x).all()


class Own(GaussianNB):
    """Could do anything."""


@pytest.mark.parametrize(
    ("model", "x"),
    [
        (CategoricalNB(fit_prior=False), CODES),
        (CategoricalNB(), NUMBERS),
        (BernoulliNB(class_prior=[0.2, 0.3, 0.5]), BINARY),
        (BernoulliNB(), CODES),
        (BernoulliNB(binarize=1.5), BINARY),
        (MultinomialNB(alpha=[1.0, 2.0, 3.0]), CODES),
        (MultinomialNB(), NUMBERS),
        (GaussianNB(var_smoothing=0.1), NUMBERS),
        (GaussianNB(priors=[0.2, 0.3, 0.5]), NUMBERS),
        (LogisticRegression(), NUMBERS),
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5), NUMBERS),
        (LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]), NUMBERS),
        (QuadraticDiscriminantAnalysis(), np.hstack([NUMBERS, NUMBERS])),
        (KNeighborsClassifier(weights="distance"), NUMBERS),
        (KNeighborsClassifier(p=1), NUMBERS),
        (KNeighborsClassifier(500), NUMBERS),
        (RandomForestClassifier(3), NUMBERS),
        (Own(), NUMBERS),
        (GaussianNB, NUMBERS),
        (lambda seed: GaussianNB(), NUMBERS),
        (None, NUMBERS),
        (GaussianNB(), np.where(NUMBERS > 3, np.nan, NUMBERS)),
        (GaussianNB(), NUMBERS.astype(str)),
    ],
    ids=lambda value: "" if isinstance(value, np.ndarray) else type(value).__name__,
)
def test_everything_else_is_refitted(model, x):
    assert find_shortcut(model, x, Y) is None


def test_neighbours_are_refitted_where_ties_decide_every_answer():
    ties = RNG.integers(0, 2, size=(250, 4)).astype(float)
    assert find_shortcut(KNeighborsClassifier(3, algorithm="kd_tree"), ties, Y) is None


def test_records_that_only_a_refit_can_answer_for():
    lone = Y.copy()
    last = CODES.copy()
    lone[5], last[7, 1] = 3, 9
    assert np.flatnonzero(find_shortcut(GaussianNB(), NUMBERS, lone).unsure).tolist() == [5]
    assert np.flatnonzero(find_shortcut(CategoricalNB(), last, Y).unsure).tolist() == [7]
    assert not find_shortcut(CategoricalNB(min_categories=10), last, Y).unsure.any()
    few = np.where(np.arange(250) < 5, 3, Y)
    model = QuadraticDiscriminantAnalysis(reg_param=0.1)
    assert not find_shortcut(model, NUMBERS, few).unsure.any()
    few[4] = 0  # four records: without one there are as many as attributes
    assert np.flatnonzero(find_shortcut(model, NUMBERS, few).unsure).tolist() == [0, 1, 2, 3]
    line = np.zeros((250, 1))
    line[3] = 1.0
    assert np.flatnonzero(find_shortcut(GaussianNB(), line, Y).unsure).tolist() == [3]


def test_a_trial_asks_about_some_of_the_records(monkeypatch):
    asked = []

    def told(self, X):
        asked.append(len(X))
        return np.full((len(X), 3), 1 / 3)

    monkeypatch.setattr(module, "TRIAL", 40)
    monkeypatch.setattr(GaussianNB, "predict_proba", told)
    assert find_shortcut(GaussianNB(), NUMBERS, Y) is None
    assert asked == [40]


def test_a_model_that_does_not_agree_is_not_recognised(monkeypatch):
    monkeypatch.setattr(GaussianNB, "predict_proba", lambda self, X: np.full((len(X), 3), 1 / 3))
    assert find_shortcut(GaussianNB(), NUMBERS, Y) is None


def test_the_model_is_left_untrained_and_warns_of_nothing():
    model = LinearDiscriminantAnalysis()
    collinear = np.hstack([NUMBERS, NUMBERS])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_shortcut(model, collinear, Y)
    assert not hasattr(model, "coef_")


def test_models_of_people_are_recognised(data_folder):
    numbers, y = adult_numbers(3000)
    for model in (GaussianNB(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()):
        assert find_shortcut(model, numbers, y) is not None
    codes, y = adult_codes(3000)
    assert find_shortcut(CategoricalNB(), codes, y) is not None
