"""A record that is left out takes its part of the scale of the attributes along."""

import numpy as np
import pytest

from privacygauge.claims.dtp.discriminant import LinearDiscriminant, QuadraticDiscriminant
from privacygauge.claims.dtp.least_squares import LeastSquares
from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.claims.dtp.named import QDA_SHRINKAGE, learner_on_numbers
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.classifiers.learner import Scale, Standardised
from privacygauge.classifiers.training_options import ON_NUMBERS

PLAIN = {
    "logistic": Logistic(0.7),
    "lda": LinearDiscriminant(),
    "qda": QuadraticDiscriminant(QDA_SHRINKAGE),
    "least-squares": LeastSquares(0.7),
    "nearest": NearestNeighbours(3),
}


def heavy(seed: int, k: int, n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Return records with outliers, a constant, a flag that one record has, and equal records."""
    rng = np.random.default_rng(seed)
    x = np.exp(2 * rng.normal(size=(n, 5))).round(2)
    x[:, 2] = 7.0
    x[:, 3] = np.arange(n) == 5
    x[0, 0] = 1e6
    y = rng.integers(k, size=n)
    y[: 2 * k] = np.arange(2 * k) % k
    x[8], y[8] = x[7], y[7]
    return x, y


def refitted(name: str, x: np.ndarray, y: np.ndarray, i: int, asked: np.ndarray) -> np.ndarray:
    """Return the answers of a model that was scaled and trained without a record."""
    rest = np.arange(len(x)) != i
    spread = x[rest].std(axis=0)
    spread[np.ptp(x[rest], axis=0) == 0] = 1.0
    centre = x[rest].mean(axis=0)
    fitted = PLAIN[name].fit((x[rest] - centre) / spread, y[rest], n_classes=int(y.max()) + 1)
    return fitted.log_p((asked - centre) / spread)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ON_NUMBERS)
def test_each_record_is_left_out_with_its_part_of_the_scale(name: str, k: int) -> None:
    for seed in range(3):
        x, y = heavy(seed, k)
        rows = np.arange(len(x))
        fitted = learner_on_numbers(name, 0.7, 3).fit(x, y, n_classes=k)
        own = np.array([refitted(name, x, y, i, x[[i]])[0] for i in rows])
        everywhere = np.array([refitted(name, x, y, i, x) for i in rows])
        assert np.exp(fitted.log_p_without(rows)) == pytest.approx(np.exp(own), abs=1e-7)
        found = np.exp(fitted.log_p_without_at(rows, x))
        assert found == pytest.approx(np.exp(everywhere), abs=1e-7)


@pytest.mark.parametrize("name", ["least-squares", "nearest"])
def test_many_records_are_left_out_as_by_training_again(name: str) -> None:
    rng = np.random.default_rng(5)
    numbers = rng.normal(size=(300, 3)).round(1)
    flags = rng.random((300, 4)) < [0.5, 0.1, 0.03, 0.01]
    x = np.hstack([numbers, flags])
    y = (numbers[:, 0] + rng.normal(size=300) > 0).astype(int)
    learner = learner_on_numbers(name, 0.7, 3)
    fitted = learner.fit(x, y, n_classes=2)
    some = rng.choice(300, 40, replace=False)
    asked = x[:30] + 0.05
    expected = [refitted(name, x, y, i, asked) for i in some]
    assert np.exp(fitted.log_p_without_at(some, asked)) == pytest.approx(np.exp(expected), abs=1e-9)
    own = [refitted(name, x, y, i, x[[i]])[0] for i in some]
    assert np.exp(fitted.log_p_without(some)) == pytest.approx(np.exp(own), abs=1e-9)


def test_without_a_penalty_the_smallest_coefficients_are_those_on_the_new_scale() -> None:
    x, y = heavy(1, 2)
    x[:, 4] = 2 * x[:, 1]
    fitted = Standardised(LeastSquares()).fit(x, y, n_classes=2)
    for i in range(6):
        rest = np.arange(len(x)) != i
        scale = Scale.of(x[rest])
        again = LeastSquares().fit(scale.applied(x[rest]), y[rest], n_classes=2)
        found = fitted.log_p_without_at(np.array([i]), x)[0]
        assert np.exp(found) == pytest.approx(np.exp(again.log_p(scale.applied(x))), abs=1e-7)


def test_an_outlier_without_which_the_scale_is_another_is_shown() -> None:
    x, y = heavy(0, 2)
    fitted = learner_on_numbers("logistic", 1.0, 3).fit(x, y, n_classes=2)
    without = fitted.log_p_without(np.array([0]))
    kept_scale = Logistic(1.0).fit(
        (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9), y, n_classes=2
    )
    assert np.abs(without - fitted.log_p(x[[0]])).max() > 100
    assert np.abs(kept_scale.log_p_without(np.array([0])) - fitted.log_p(x[[0]])).max() < 2
