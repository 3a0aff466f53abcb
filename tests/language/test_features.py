"""The feature study of Table 7."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import precision, recall, sample_precision
from privacygauge.evaluate.roc import auc
from privacygauge.papers.mireshghallah2022_figures import (
    ROWS,
    exposure_features,
    feature_study,
    token_frequency,
)

TEXTS = ["BP 120/80, ok.", "no", "a b a c"]
TOKENS = [["bp", "120", "/", "80", ",", "ok", "."], ["no"], ["a", "b", "a", "c"]]


def test_features_are_counted():
    found = exposure_features(TEXTS, TOKENS, token_frequency(TOKENS))
    assert found.tolist() == [[5, 7, 3, 1, 1, 1], [0, 1, 0, 1, 1, 1], [0, 4, 0, 1, 1, 2]]
    assert exposure_features(["x"], [["x", "y"]], {"y": 7}).tolist() == [[0, 2, 0, 0, 7, 7]]


def test_bad_tokens():
    with pytest.raises(InputError, match="tokens must have 3 rows, got 2"):
        exposure_features(TEXTS, TOKENS[:2], {})
    with pytest.raises(InputError, match="at least one token"):
        exposure_features(["x"], [[]], {})


def planted(seed: int = 0, n: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of which only the third moves the odds of being detected."""
    rng = np.random.default_rng(seed)
    columns = rng.poisson(5, (n, 6)).astype(float)
    odds = 1.2 * (columns[:, 2] - 5) - 1.5
    return columns, rng.random(n) < 1 / (1 + np.exp(-odds)), rng.integers(0, 300, n)


@pytest.fixture(scope="module")
def study():
    return feature_study(*planted(), np.random.default_rng(0))


def test_the_rows_of_the_table_twice(study):
    assert [fit.features for fit in study] == [row for row in ROWS for _ in range(2)]
    assert [fit.weights for fit in study] == ["none", "balanced"] * len(ROWS)


def test_only_the_planted_feature_tells(study):
    for fit in study:
        area = auc(fit.test)
        if "non-alphanumeric" in fit.features:
            assert area.low > 0.8
        else:
            assert area.value == pytest.approx(0.5, abs=0.06)
            if fit.weights == "none":
                # As in the paper: nothing is predicted, and precision has no value.
                assert isinstance(precision(fit.decisions(fit.test)), Skipped)


def test_guesses_are_those_of_sklearn(study):
    for fit in study:
        for part in (fit.train, fit.test):
            guess = part.score >= 0
            decisions = fit.decisions(part)
            assert recall(decisions).value == pytest.approx(recall_score(part.secret, guess))
            if guess.any():
                expected = precision_score(part.secret, guess)
                assert sample_precision(decisions).value == pytest.approx(expected)


def test_no_group_is_on_both_sides(study):
    for fit in study:
        assert not set(fit.train.target) & set(fit.test.target)
        assert len(fit.train) + len(fit.test) == 2000


def test_bad_input():
    columns, detected, unit = planted(n=100)
    with pytest.raises(InputError, match="must hold detected and missed members"):
        feature_study(columns, np.ones(100, bool), unit, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"features must be of digits, .*, got 'colour'"):
        feature_study(columns, detected, unit, np.random.default_rng(0), rows=[("colour",)])
