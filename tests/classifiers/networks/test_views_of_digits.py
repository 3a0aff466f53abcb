"""Networks trained with augmentation give more away to who asks about views of a record too."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from privacygauge.classifiers.game import PoolGame
from privacygauge.classifiers.networks import ImageAugment, Networks
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.shadows import train_shadows
from privacygauge.core.attacks import groups
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.roc import auc, influences, roc
from tests.thorough import THOROUGH

pytest.importorskip("torch")

ATTACKS = (
    LiraOnline(),
    RmiaOnline(),
    *((RmiaOffline(None), Bavaria(), CalibratedOnline()) if THOROUGH else ()),
)
N_RECORDS, EPOCHS, SHADOWS, TARGETS = (600, 100, 64, 16) if THOROUGH else (250, 60, 12, 5)


def small_cnn(n_features, n_classes):
    """Two convolutions and two linear layers, for images of 8 by 8 pixels."""
    from torch import nn

    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, n_classes)),
    )


def transcript(attack, pool, queries):
    """Return the attack on each of the first models, by the last ones, with so many queries."""
    n = pool.n_targets
    answers = pool.answers[:, :, :queries]
    scores = []
    others = pool.models(slice(TARGETS, None))
    for own, member in zip(answers[:TARGETS], pool.inside[:TARGETS], strict=True):
        target = predictions(logits=own, labels=pool.labels, member=member)
        theirs = type(pool)(others.answers[:, :, :queries], True, others.inside, pool.labels)
        seen = PoolGame(target, theirs).round().observation
        scores.append(attack.score(seen, np.random.default_rng(0)).value)
    record = np.tile(np.arange(n), TARGETS)
    model = np.repeat(np.arange(TARGETS), n)
    secret = pool.inside[:TARGETS].ravel()
    return Transcript(np.concatenate(scores), secret, record, model, record)


@pytest.mark.slow
@pytest.mark.torch
def test_eight_queries_find_more_than_one(monkeypatch):
    monkeypatch.setattr(groups, "MOST_PLAYED", 0)  # areas need no threshold
    x, y = load_digits(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(y))[:N_RECORDS]
    augment = ImageAugment((1, 8, 8), shift=1)
    networks = Networks(
        small_cnn, EPOCHS, batch_size=32, learning_rate=2e-3, augment=augment, queries=8
    )
    given = {"n_shadows": TARGETS + SHADOWS, "with_target": False}
    pool = train_shadows(networks, (x[some] / 16).astype(np.float32), y[some], **given).pool
    for attack in ATTACKS:
        once, often = (transcript(attack, pool, queries) for queries in (1, 8))
        gain = auc(often).value - auc(once).value
        # Paired by record: what one record adds to both areas adds no doubt, and records are the
        # independent unit over all targets.
        paired = influences(often, roc(often)) - influences(once, roc(once))
        error = np.sqrt(np.sum(np.bincount(once.target, paired) ** 2))
        assert gain - stats.norm.ppf(0.975) * error > 0, attack
        # Paired by target: the pool is the same, the targets' coins and weights are their own.
        each = [
            auc(Transcript(often.score[own], often.secret[own])).value
            - auc(Transcript(once.score[own], once.secret[own])).value
            for own in (once.round == t for t in range(TARGETS))
        ]
        by_target = np.std(each, ddof=1) / np.sqrt(TARGETS)
        if THOROUGH:
            assert np.mean(each) - stats.t.ppf(0.975, TARGETS - 1) * by_target > 0, attack
