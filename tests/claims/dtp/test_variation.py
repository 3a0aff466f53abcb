"""Initial weights and the other records, beside a record's own effect."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.claims.dtp.retrained import Variation, variation
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.learner import LearnerTrainer
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


def population(n: int = 60) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (n, 3))
    return x, (x[:, 0] ^ (rng.random(n) < 0.2)).astype(np.int64)


@pytest.mark.slow
def test_what_nothing_random_trains_varies_by_sampling_alone() -> None:
    x, y = population()
    learner = NaiveBayes((2, 2, 2))
    rows = np.array([4, 9])
    found = variation(as_trainer(learner), x, y, rows, size=60, n_models=5)
    fitted = learner.fit(x, y, n_classes=2)
    without = np.exp(fitted.log_p_without(rows))
    for i, one in enumerate(found):
        assert (one.row, one.label) == (int(rows[i]), int(y[rows[i]]))
        # Training sets of the whole population are all the same.
        assert_allclose(one.sampling, one.with_it)
        assert_allclose(one.initialisation, one.with_it)
        assert_allclose(one.with_it, np.exp(fitted.log_p(x[rows]))[i, one.label])
        assert_allclose(one.without, without[i, one.label])
        assert one.stands_out > 1e6
    halves = variation(as_trainer(learner), x, y, rows, n_models=5)
    assert halves[0].sampling.std() > 0
    assert halves[0].initialisation.std() < 1e-12
    assert len(halves[0].sampling) == len(halves[0].initialisation) == 5


def test_what_stands_out_is_measured_in_standard_deviations() -> None:
    one = Variation(0, 1, np.array([0.4, 0.6]), np.array([0.5, 0.5]), 0.9, 0.4)
    assert_allclose(one.own, 0.5)
    assert_allclose(one.stands_out, 0.5 / np.std([0.4, 0.6], ddof=1))
    still = Variation(0, 1, np.array([0.5, 0.5]), np.array([0.5, 0.5]), 0.5, 0.5)
    assert still.stands_out == 0.0


def test_a_learner_trains_shadow_models_like_any_estimator() -> None:
    x, y = population()
    learner = NaiveBayes((2, 2, 2))
    trainer = as_trainer(learner)
    assert isinstance(trainer, LearnerTrainer)
    assert trainer.name == "naive Bayes"
    inside = np.random.default_rng(0).random((3, 60)) < 0.5
    asked = np.array([1, 5])
    made = trainer.train(Cohort(x, y, inside, (0, 1, 2), 2, asked))
    for model, rows in zip(made, inside, strict=True):
        assert_allclose(model, np.exp(learner.fit(x[rows], y[rows], n_classes=2).log_p(x[asked])))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_models": 1}, "n_models must be at least 2, got 1"),
        ({"size": 1}, "size must be in 2..60, got 1"),
        ({"size": 61}, "size must be in 2..60, got 61"),
    ],
)
def test_bad_input_is_named(options: dict[str, int], message: str) -> None:
    x, y = population()
    with pytest.raises(InputError, match=message):
        variation(as_trainer(LogisticRegression()), x, y, np.array([0]), **options)
