"""A model that answers with noise is asked again, as an attacker would."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.classifiers.answers import TIMES, answers_of
from privacygauge.classifiers.estimators import Training
from privacygauge.report.values import Severity

LEAKS = (Severity.MODERATE, Severity.GRAVE)
WORDS = "answers differently when it is asked again"


class Noisy:
    """A model whose answers are drawn anew each time: dropout left on, a sample, added noise."""

    def __init__(self, model, kind="noise", seed=0):
        self.model = model
        self.kind = kind
        self.classes_ = model.classes_
        self.rng = np.random.default_rng(seed)
        self.asked = 0

    def predict_proba(self, x):
        self.asked += len(x)
        probs = 0.9 * self.model.predict_proba(x) + 0.05
        if self.kind == "none":
            return probs
        if self.kind == "sampled":
            one = (self.rng.random(len(x)) < probs[:, 1]).astype(int)
            return np.eye(2)[one]
        drawn = np.clip(probs[:, 1] + self.rng.normal(size=len(x)) * 0.5, 0.001, 0.999)
        return np.column_stack([1 - drawn, drawn])


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    return x, y, rng.random(n) < 0.5


def overfitted(kind, seed=0):
    x, y, member = people(seed=seed)
    return Noisy(DecisionTreeClassifier(random_state=0).fit(x[member], y[member]), kind), x, y


@pytest.mark.parametrize("kind", ["noise", "sampled"])
def test_differing_answers_are_averaged(kind):
    model, x, _ = overfitted(kind)
    said = answers_of(model, x, 2)
    assert said.times == TIMES
    assert WORDS in said.notes[0]
    assert model.asked <= (TIMES + 1) * len(x)
    once = Noisy(model.model, kind, seed=1).predict_proba(x)
    truth = Noisy(model.model, "none").predict_proba(x)
    error, single = (np.mean((found - truth) ** 2) for found in (said.values, once))
    assert error < single / 2


def test_equal_answers_are_asked_for_once():
    model, x, _ = overfitted("none")
    said = answers_of(model, x, 2)
    assert said.times == 1
    assert said.notes == ()
    assert model.asked <= len(x) + 32


def test_rounding_by_the_size_of_a_batch_is_no_noise():
    def rounded(x):
        probs = np.full((len(x), 2), 0.5) + np.array([1, -1]) * 1e-3 * (len(x) > 100)
        return probs

    assert answers_of(rounded, np.zeros((400, 3)), 2).times == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "sampled"])
def test_noise_that_is_drawn_anew_hides_no_leak(kind):
    for seed in range(3):
        model, x, y = overfitted(kind, seed)
        member = people(seed=seed)[2]
        fitted = pg.Fitted(model, member)
        audit = pg.audit_model(DecisionTreeClassifier(), x, y, fitted=fitted, n_shadows=4)
        assert audit.report().verdict.grade.severity in LEAKS
        assert any(WORDS in text for text in audit.warnings)


@pytest.mark.slow
def test_a_training_of_ones_own_is_asked_again_too():
    x, y, _ = people(300)

    def train(rows, seed):
        return Noisy(DecisionTreeClassifier(random_state=seed).fit(x[rows], y[rows]), seed=seed)

    def predict(model, rows):
        return model.predict_proba(x[rows])

    audit = pg.audit_model(Training(train, predict, labels=y), n_shadows=4)
    assert audit.report().verdict.grade.severity in LEAKS
    assert any(WORDS in text for text in audit.warnings)


@pytest.mark.slow
def test_an_audited_classifier_that_answers_with_noise():
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Drawn(ClassifierMixin, BaseEstimator):
        def fit(self, x, y):
            self.model_ = Noisy(DecisionTreeClassifier(random_state=0).fit(x, y))
            self.classes_ = self.model_.classes_
            return self

        def predict_proba(self, x):
            return self.model_.predict_proba(x)

    from privacygauge.hooks import Audited

    x, y, _ = people(800)
    audit = Audited(Drawn()).fit(x, y).audit()
    assert audit.report().verdict.grade.severity in LEAKS
    assert any(WORDS in text for text in audit.warnings)


def test_a_class_that_is_sampled_is_the_most_frequent_one():
    from privacygauge.classifiers.fitted import Says

    rng = np.random.default_rng(0)

    def says(x):
        return (rng.random(len(x)) < 0.8).astype(int)

    found = Says(says, 2).predict_proba(np.zeros((500, 2)))
    assert found[:, 1].mean() > 0.95
