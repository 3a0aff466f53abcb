"""Records that the target alone answers alike are different records where other models differ."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.classifiers.predictions import Pool, Predictions
from privacygauge.classifiers.units_of_rows import settle_units


def answers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return probabilities of three classes."""
    logits = rng.normal(size=(n, 3))
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("copied", [False, True])
def test_equal_answers_of_the_target_are_one_person_only_if_the_pool_agrees(copied: bool) -> None:
    """A dozen members that a model knows by heart all have the same answer."""
    rng = np.random.default_rng(0)
    n = 600
    probs = answers(n, rng)
    probs[:12] = [0.98, 0.01, 0.01]
    labels = rng.integers(3, size=n)
    labels[:12] = 0
    member = np.arange(n) < n // 2
    of_pool = np.stack([answers(n, rng) for _ in range(8)])
    if copied:
        of_pool[:, 1:12] = of_pool[:, :1]
    pool = Pool(of_pool, False, rng.random((8, n)) < 0.5, labels)
    target = Predictions(probs, False, labels, member, np.arange(n))
    alone = settle_units(target).target
    beside = settle_units(target, others=pool.of_few_models()).target
    assert len(np.unique(alone.units)) == n - 11
    assert len(np.unique(beside.units)) == (n - 11 if copied else n)
