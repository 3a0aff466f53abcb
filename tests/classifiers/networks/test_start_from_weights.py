"""Why shadow models start from scratch, and not from the weights of the model that they are for."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.classifiers.game import PoolGame
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.predictions import Pool, predictions
from privacygauge.classifiers.shadows import cohort_of, membership
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.roc import auc
from tests.laws.numbers import of_scores

torch = pytest.importorskip("torch")
K = 4


def areas(seed: int) -> list[float]:
    """Return the area with shadow models from scratch, tuned further, and students."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, 20))
    y = (x @ rng.normal(size=(20, 3)) + 3 * rng.normal(size=(400, 3))).argmax(axis=1)
    member = rng.random(400) < 0.5
    inside = membership(K, 400, seed + 1000, target=False)
    scratch = Networks(MLP((64,)), epochs=40)
    released = scratch.train_with_weights(cohort_of(x, y, member[None], seed))
    state = {name: torch.tensor(np.array(v)) for name, v in released.weights[0].items()}
    target = predictions(logits=released.logits[0], labels=y, member=member)

    def started(n_features: int, n_classes: int) -> torch.nn.Module:
        module = MLP((64,))(n_features, n_classes)
        module.load_state_dict(state)
        return module

    answers = released.logits[0].argmax(axis=1)
    kinds = [(scratch, y), (Networks(started, epochs=20), y), (scratch, answers)]
    found = []
    for networks, labels in kinds:
        values = networks.train(cohort_of(x, labels, inside, seed + 7))
        seen = PoolGame(target, Pool(values, True, inside, y)).round().observation
        scores = of_scores(CalibratedOnline().score(seen, rng))
        found.append(auc(Transcript(scores.value, member)).value)
    return found


@pytest.mark.slow
def test_models_tuned_from_released_weights_and_students_tell_less() -> None:
    scratch, started, students = np.mean([areas(seed) for seed in range(4)], axis=0)
    assert scratch > started + 0.04
    assert started > students > 0.45
