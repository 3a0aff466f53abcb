import numpy as np
import pytest
from scipy import stats

from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate.by_target import per_target
from privacygauge.evaluate.rates import wilson


def decided(n_targets=30, n=200, seed=0):
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.5, 1.0, n_targets)
    target = np.tile(np.arange(n_targets) * 7, n)
    secret = np.repeat(np.arange(n) % 2 == 0, n_targets)
    right = rng.random(len(target)) < np.tile(skill, n)
    return Decisions(secret == right, secret, target), skill


def test_counts_are_those_of_a_loop():
    decisions, _ = decided()
    found = per_target(decisions)
    for i, target in enumerate(found.target):
        rows = decisions.target == target
        assert found.n[i] == rows.sum()
        assert found.right[i] == (decisions.guess == decisions.secret)[rows].sum()
    first = found.estimates()[0]
    assert (first.low, first.high) == wilson(int(found.right[0]), 200)


def test_correlation_and_p_value_are_scipys():
    decisions, skill = decided()
    found = per_target(decisions)
    correlation = found.correlation_with(skill)
    expected = stats.pearsonr(found.accuracy, skill)
    assert correlation.estimate.value == pytest.approx(expected.statistic)
    assert correlation.p_value == pytest.approx(expected.pvalue, rel=1e-6)


def test_what_cannot_be_correlated():
    found = per_target(decided()[0])
    with pytest.raises(InputError, match="values must have 30 rows, got 2"):
        found.correlation_with(np.zeros(2))
    assert isinstance(found.correlation_with(np.ones(30)), Skipped)
