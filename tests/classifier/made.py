"""Made-up predictions for the tests of this folder."""

from __future__ import annotations

import numpy as np

from leakscope.classifier.predictions import Predictions, predictions


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
