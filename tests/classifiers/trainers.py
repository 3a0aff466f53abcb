"""Trainers of the tests: fast, and they count how many models they trained."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def records(n=40, k=2, d=3, seed=0):
    """Return features that hold the class, and classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, d)) + y[:, None], y


@dataclass(frozen=True)
class Counted:
    """Remembers its members: probability 0.9 of the true class inside, 0.6 outside.

    The sum of the features it was trained on and its seed shift all of them a little.
    """

    bad: tuple[int, ...] = ()
    """Numbers of training sets, by the count of their records, that fail."""
    trained: list[int] = field(default_factory=list, compare=False)
    """The random states of the models that were trained, in order."""
    name: str = "counted"
    logits: bool = False
    stop_after: int | None = field(default=None, compare=False)
    """Raise KeyboardInterrupt before a further model."""

    def describe(self):
        return {"model": "counted"}

    def train(self, cohort):
        x = cohort.x
        y = cohort.y
        asked = cohort.asked
        result = np.empty(cohort.shape)
        for probs, rows, seed in zip(result, cohort.inside, cohort.seeds, strict=True):
            if self.stop_after is not None and len(self.trained) >= self.stop_after:
                raise KeyboardInterrupt
            self.trained.append(int(seed))
            right = np.where(rows[asked], 0.9, 0.6) - 0.01 * np.tanh(np.nansum(x[rows]))
            right -= seed / 2**31 / 100
            probs[:] = ((1 - right) / (cohort.n_classes - 1))[:, None]
            probs[np.arange(len(asked)), y[asked]] = right
            if int(rows.sum()) in self.bad:
                probs[0, 0] = np.nan
        return result


@dataclass(frozen=True)
class Noisy:
    """Draws logits at random, surer of the true class by `sure`, and of members by `leak` more.

    Draws follow from the records a model is trained on and from its seed.
    """

    sure: float = 1.0
    leak: float = 0.0
    name: str = "noisy"
    logits: bool = True

    def describe(self):
        return {"model": "noisy", "sure": self.sure, "leak": self.leak}

    def train(self, cohort):
        asked = cohort.asked
        result = np.empty(cohort.shape, np.float32)
        for values, rows, seed in zip(result, cohort.inside, cohort.seeds, strict=True):
            rng = np.random.default_rng([seed, int(rows.sum())])
            values[:] = rng.normal(size=values.shape)
            values[np.arange(len(asked)), cohort.y[asked]] += self.sure + self.leak * rows[asked]
        return result
