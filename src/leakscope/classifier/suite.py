"""The attacks that a classifier audit plays unless told otherwise."""

from __future__ import annotations

from leakscope.classifier.learned import Learned
from leakscope.core.attacks.threshold import Threshold
from leakscope.core.game import Attack

METRICS = ("correctness", "confidence", "entropy", "modified-entropy")
"""The metric attacks of Song & Mittal (2021)."""


def prediction_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the suite for predictions: metric attacks per class and global, and the learned one.

    Parameters
    ----------
    logits : bool
        Whether logits are at hand. Only then does the scaled logit order records differently
        from the confidence, and is attacked too.
    """
    metrics = (*METRICS, "scaled-logit") if logits else METRICS
    per_class = tuple(Threshold(name, per_class=True) for name in metrics)
    overall = tuple(Threshold(name, per_class=False) for name in metrics)
    return (*per_class, *overall, Learned())
