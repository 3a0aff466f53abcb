"""A release that ignores the data gives no attack anything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscope.core.game import Attack, play
from leakscope.evaluate.evaluation import evaluate
from tests.laws.catalogue import ATTACKS, deal, label
from tests.laws.numbers import of_play

GAMES = 200


@pytest.mark.parametrize("attack", ATTACKS, ids=label)
def test_on_noise_every_interval_holds_chance(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(GAMES):
        played = of_play(play(attack, [deal(100, rng, n_shadow=150)], [rng]))
        found.append(evaluate(attack.name, played.transcript, played.decisions))
    least = stats.binom.ppf(1e-5, GAMES, 0.95)
    assert sum(not e.auc.excludes(0.5) for e in found) >= least
    assert sum(not e.accuracy.excludes(0.5) for e in found) >= least
    assert sum(not e.advantage.excludes(0.0) for e in found) >= least
    assert sum(not e.best_accuracy.excludes(0.5) for e in found) >= least
    assert sum(e.epsilon.low == 0.0 for e in found) >= least
    for i, fpr in enumerate((0.1, 0.01)):
        assert sum(not e.tpr_at_fpr[i].estimate.excludes(fpr) for e in found) >= least
    # And there is no bias: what is gained here is lost there.
    for values in ([e.auc.value for e in found], [e.accuracy.value for e in found]):
        assert abs(np.mean(values) - 0.5) < 4.5 * max(np.std(values), 1e-3) / np.sqrt(GAMES)
