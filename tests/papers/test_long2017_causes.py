"""What explains the rows of Adult in Table 2 of Long et al.: boosting, and a start of its own."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.classifiers.shadows import cohort_of
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.papers.long2017_causes import STEPS, BoostedLogistic, OwnStart, _boost


def made(n=600, d=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    p = 1 / (1 + np.exp(-(1.5 * x[:, 0] - x[:, 1])))
    return x, (rng.random(n) < p).astype(np.int64)


def test_boosting_ends_where_maximum_likelihood_does():
    """Many steps of LogitBoost on single columns reach the regression without a penalty."""
    from sklearn.linear_model import LogisticRegression

    x, y = made()
    coefficients, _ = _boost(x, y, 400)
    usual = LogisticRegression(C=1e6, tol=1e-10).fit(x, y)
    # Half log-odds: the scores of two classes are each other's negatives.
    np.testing.assert_allclose(2 * coefficients[1:], usual.coef_[0], atol=1e-3)
    assert 2 * coefficients[0] == pytest.approx(usual.intercept_[0], abs=1e-3)


def test_boosting_takes_the_best_column_first_and_no_judged_record():
    x, y = made()
    coefficients, errors = _boost(x, y, 1)
    assert np.flatnonzero(coefficients[1:]).tolist() == [0]
    assert errors == []
    judged = np.arange(len(y)) < 100
    first, errors = _boost(x, y, 30, judged)
    other = np.where(judged, 1 - y, y)
    second, _ = _boost(x, other, 30, judged)
    np.testing.assert_array_equal(first, second)
    assert 0 < min(errors) < 0.35


def test_the_number_of_steps_is_chosen_on_records_that_are_left_out():
    x, y = made()
    fitted = BoostedLogistic().fit(x, y)
    assert np.flatnonzero(fitted.coefficients_[1:]).tolist()[:2] == [0, 1]
    said = fitted.predict_proba(x)
    np.testing.assert_allclose(said.sum(axis=1), 1)
    assert 0.7 < np.mean(said.argmax(axis=1) == y) < 0.9
    # Noise alone: a few steps, not all of them.
    noise = np.random.default_rng(1).integers(2, size=len(y))
    whole, _ = _boost(x, noise, STEPS)
    chosen = BoostedLogistic().fit(x, noise).coefficients_
    assert np.abs(chosen[1:]).sum() < np.abs(whole[1:]).sum()


class Recorder:
    """A trainer that notes its seeds."""

    name = "recorder"
    logits = False

    def describe(self):
        return {"kind": "recorder"}

    def train(self, cohort: Cohort):
        self.seeds = list(cohort.seeds)
        return np.full(cohort.shape, 0.5)


def test_a_start_of_its_own_depends_on_the_training_set():
    x, y = made(40)
    inside = np.ones((3, 40), np.bool_)
    inside[1, 0] = False
    recorder = Recorder()
    trainer = OwnStart(recorder)
    assert isinstance(trainer, Trainer)
    trainer.train(cohort_of(x, y, inside, 0, states=(5, 5, 5)))
    first, without, again = recorder.seeds
    assert first == again != without
    assert trainer.describe() == {"kind": "recorder", "start": "by training set"}
