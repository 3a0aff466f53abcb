import warnings

import numpy as np
import pytest

from privacygauge.classifier.dtp import recognised as module
from privacygauge.classifier.dtp.discriminant import LinearDiscriminant
from privacygauge.classifier.dtp.logistic import Logistic
from privacygauge.classifier.dtp.multinomial import MultinomialNaiveBayes
from privacygauge.classifier.dtp.naive_bayes import NaiveBayes
from privacygauge.classifier.dtp.nearest import NearestNeighbours
from privacygauge.classifier.dtp.quadratic import QuadraticDiscriminant
from privacygauge.classifier.dtp.recognised import recognised
from tests.classifier.dtp.honest import adult_all, adult_codes, adult_numbers

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
        (LogisticRegression(C=0.5), NUMBERS, Logistic(2.0)),
        (QuadraticDiscriminantAnalysis(reg_param=0.1), NUMBERS, QuadraticDiscriminant(0.1)),
        (LinearDiscriminantAnalysis(), NUMBERS, LinearDiscriminant()),
        (KNeighborsClassifier(3), NUMBERS, NearestNeighbours(3)),
        (KNeighborsClassifier(3, metric="euclidean"), NUMBERS, NearestNeighbours(3)),
    ],
    ids=lambda value: "" if isinstance(value, np.ndarray) else repr(value),
)
def test_what_is_recognised_and_as_what(model, x, expected):
    found = recognised(model, x, Y)
    assert type(found) is type(expected)
    if not isinstance(found, (LinearDiscriminant, QuadraticDiscriminant)):
        assert found == expected  # the divisor of the other two depends on the version


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
        (LogisticRegression(class_weight="balanced"), NUMBERS),
        (LogisticRegression(fit_intercept=False), NUMBERS),
        (LogisticRegression(solver="saga"), NUMBERS),
        (LogisticRegression(max_iter=2), NUMBERS),
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
    assert recognised(model, x, Y) is None


def test_neighbours_with_ties_are_refitted_where_scikit_learn_breaks_them_in_another_way():
    ties = RNG.integers(0, 2, size=(250, 4)).astype(float)
    assert recognised(KNeighborsClassifier(3, algorithm="kd_tree"), ties, Y) is None


def test_a_trial_uses_some_records_and_asks_about_others(monkeypatch):
    monkeypatch.setattr(module, "TRIAL", 40)
    trained, asked = module._parts(250)
    assert len(trained) == 40
    assert len(np.unique(asked)) == len(asked) == 80
    assert trained[0] == 0
    assert trained[-1] == 249
    assert recognised(GaussianNB(), NUMBERS, Y) is not None
    # The rare class is in none of the records that are trained on.
    rare = Y.copy()
    rare[trained] %= 2
    rare[1] = 2
    assert recognised(GaussianNB(), NUMBERS, rare) is not None


def test_a_model_that_does_not_agree_is_not_recognised(monkeypatch):
    monkeypatch.setattr(GaussianNB, "predict_proba", lambda self, X: np.full((len(X), 3), 1 / 3))
    assert recognised(GaussianNB(), NUMBERS, Y) is None


def test_the_model_is_left_untrained_and_warns_of_nothing():
    model = LogisticRegression(max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recognised(model, NUMBERS, Y) is None
    assert not hasattr(model, "coef_")


def test_models_of_people_are_recognised(data_folder):
    numbers, y = adult_numbers(3000)
    for model in (GaussianNB(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()):
        assert recognised(model, numbers, y) is not None
    codes, y = adult_codes(3000)
    assert recognised(CategoricalNB(), codes, y) is not None
    assert recognised(LogisticRegression(), adult_all(3000)[0], y) == Logistic(1.0)
