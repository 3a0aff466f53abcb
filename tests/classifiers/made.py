"""Made-up predictions for the tests of this folder."""

from __future__ import annotations

import numpy as np

from privacygauge.classifiers.game import PoolGame, PredictionObservation
from privacygauge.classifiers.predictions import Pool, Predictions, predictions


def softmax(logits):
    """Return rows that sum to 1."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def logits_labels_member(n=400, k=5, leak=0.0, seed=0):
    """Return logits that are `leak` more confident on members; half of the rows are members."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    member = rng.permutation(n) < n // 2
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), labels] += rng.normal(1.5, 1.0, n) + leak * member
    return logits, labels, member


def made_up(n=400, k=5, leak=0.0, seed=0, **more) -> Predictions:
    """Return checked predictions."""
    logits, labels, member = logits_labels_member(n, k, leak, seed)
    return predictions(probs=softmax(logits), labels=labels, member=member, **more)


def made_pool_game(
    n=60, k=8, c=3, leak=0.0, seed=0, *, features=None, logits=False, per_target=False
) -> PoolGame:
    """Return a game whose k models are `leak` more confident where a record is inside.

    Fair coins put records in the models, or with `per_target` in half of each target's own k.
    Records differ from each other in what all models say, as in real pools.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(c, size=n)
    inside = rng.random((k + 1, n)) < 0.5
    if per_target:
        inside[1:] = rng.permuted(np.arange(k)[:, None] < np.full((1, n), k // 2), axis=0)
    values = rng.normal(size=(n, c)) + rng.normal(size=(k + 1, n, c))
    values[:, np.arange(n), labels] += 1.0 + leak * inside
    if not logits:
        values = softmax(values.reshape(-1, c)).reshape(values.shape)
    kind = {"logits" if logits else "probs": values[0]}
    target = predictions(**kind, labels=labels, member=inside[0])
    x = None if features is None else rng.normal(size=(n, features))
    return PoolGame(target, Pool(values[1:], logits, inside[1:], labels), x)


def observed(game: PoolGame) -> PredictionObservation:
    """Return what the adversary sees of the game's only round."""
    return game.round().observation
