"""Rows that were interpolated from others are recognised by the answers of linear models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import privacygauge as pg
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.whose import settle_units
from privacygauge.report.values import Severity
from tests.classifier.made import softmax
from tests.thorough import times


def answered(rng: np.random.Generator, d: int, n: int, *, oversampled: bool) -> Predictions:
    """Return answers of a logistic regression of five classes; SMOTE made a third of its rows."""
    middles = 1.5 * rng.normal(size=(5, d))
    labels = rng.integers(5, size=2 * n)
    x = middles[labels] + rng.normal(size=(2 * n, d))
    if oversampled:
        for row in range(n // 3):
            alike = np.flatnonzero(labels[:n] == labels[row])
            distance = np.linalg.norm(x[alike] - x[row], axis=1)
            one, other = alike[np.argsort(distance)[[1, rng.integers(2, 6)]]]
            x[row] = x[one] + rng.random() * (x[other] - x[one])
    model = LogisticRegression(max_iter=500).fit(x[:n], labels[:n])
    member = np.arange(2 * n) < n
    return predictions(logits=model.decision_function(x), labels=labels, member=member)


@pytest.mark.parametrize("d", [1, 2, 3, 10])
@pytest.mark.parametrize("form", ["logits", "probabilities"])
def test_real_rows_are_nobodys_line(d: int, form: str) -> None:
    for seed in range(times(4)):
        target = answered(np.random.default_rng(seed), d, 400, oversampled=False)
        if form == "probabilities":
            probs = softmax(target.values)
            target = predictions(probs=probs, labels=target.labels, member=target.member)
        found = settle_units(target)
        assert not found.oversampled
        assert not found.invented.any()


@pytest.mark.parametrize("d", [4, 10])
def test_interpolated_members_of_a_linear_model_are_seen(d: int) -> None:
    for seed in range(times(4)):
        found = settle_units(answered(np.random.default_rng(seed), d, 400, oversampled=True))
        assert found.oversampled
        assert found.invented[:133].sum() >= 40
        assert not found.invented[400:].any()


@pytest.mark.slow
def test_oversampling_is_no_leak() -> None:
    grades = []
    for seed in range(times(12)):
        target = answered(np.random.default_rng(seed), 10, 1500, oversampled=True)
        grades.append(pg.audit_classifier(target).report().verdict.grade.severity)
    assert all(grade in (Severity.NOTHING, Severity.UNTOLD) for grade in grades)
