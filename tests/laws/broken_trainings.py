"""Twelve classical errors of DP-SGD, as trainings of a logistic regression."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

DELTA = 1e-5


@dataclass(frozen=True)
class Training:
    """DP-SGD of a logistic regression, right or wrong, that returns its weights and updates.

    Classes are 0 and 1. Everything besides the errors is as the accountant assumes: Poisson
    batches, gradients clipped one by one to 1, fresh noise on their sum in each step.
    """

    sigma: float
    rate: float
    steps: int
    clipping: str = "each"
    """each, none, batch (the mean of a batch) or microbatch (means of 8 records)."""
    scale: float = 1.0
    """Factor of the noise."""
    every: int = 1
    """Steps from one noisy step to the next."""
    same: bool = False
    """Whether each step has the same noise."""
    shuffled: bool = False
    """Whether batches are parts of a permutation."""
    normed: bool = False
    """Whether records are normed by the batch that they are in."""

    def __call__(self, x, y, random_state, noise=1.0, clip=1.0):
        rng = np.random.default_rng(random_state)
        n, d = x.shape
        sign = 2.0 * y - 1
        weights = np.zeros(d)
        size = max(1, round(self.rate * n))
        told = []
        order = rng.permutation(n)
        fixed = rng.normal(size=d)
        for step in range(self.steps):
            if self.shuffled:
                start = step * size % n
                batch = np.take(order, range(start, start + size), mode="wrap")
            else:
                batch = np.flatnonzero(rng.random(n) < self.rate)
            rows = x[batch]
            if self.normed and len(rows) > 1:
                rows = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-3)
            each = (sign[batch] * expit(-sign[batch] * (rows @ weights)))[:, None] * rows
            total = self._clipped(each, clip)
            drawn = fixed if self.same else rng.normal(size=d)
            if step % self.every == 0:
                total = total + self.sigma * self.scale * noise * clip * drawn
            told.append((weights, total))
            weights = weights + total / size
        return told

    def _clipped(self, each, clip):
        if self.clipping == "none":
            return each.sum(axis=0)
        if self.clipping == "batch":
            n = max(1, len(each))
            return n * _to_norm(each.sum(axis=0, keepdims=True) / n, clip).sum(axis=0)
        if self.clipping == "microbatch":
            parts = np.array_split(each, max(1, len(each) // 8))
            means = np.stack([part.sum(axis=0) / max(1, len(part)) for part in parts])
            return 8 * _to_norm(means, clip).sum(axis=0)
        return _to_norm(each, clip).sum(axis=0)


def _to_norm(each, clip):
    norms = np.linalg.norm(each, axis=1, keepdims=True)
    return each * (clip / np.maximum(norms, clip))


def alignment(told, x, y):
    """White-box score: the updates along each canary's own clipped gradient, over all steps."""
    sign = 2.0 * y - 1
    found = np.zeros(len(y))
    for weights, total in told:
        each = (sign * expit(-sign * (x @ weights)))[:, None] * x
        found += (_to_norm(each, 1.0) * total).sum(axis=1)
    return found


def broken(right: Training, batch: int, steps_an_epoch: int, weak: float) -> dict[str, Training]:
    """Return the catalogue; `weak` is the noise that an accountant with a wrong rate asks for."""
    return {
        "noise off": replace(right, scale=0.0),
        "half of the noise": replace(right, scale=0.5),
        "noise over the batch size": replace(right, scale=1 / batch),
        "noise over the root of the batch size": replace(right, scale=batch**-0.5),
        "noise once per epoch": replace(right, every=steps_an_epoch),
        "the same noise in each step": replace(right, same=True),
        "no clipping": replace(right, clipping="none"),
        "the batch is clipped": replace(right, clipping="batch"),
        "microbatches are clipped": replace(right, clipping="microbatch"),
        "a wrong rate": replace(right, sigma=weak),
        "shuffled batches": replace(right, shuffled=True),
        "batch norm": replace(right, normed=True),
    }
