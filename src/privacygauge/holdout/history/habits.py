"""Made-up test sets, and submissions of honest teams to them.

A team's logits are the truth times a skill, plus errors that all teams share (a point that is hard
for one is hard for all), plus its own errors, plus errors of the single submission. So honest
answers agree far more than independent ones of the same accuracy, and disagree on hard points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from privacygauge.core.checks import Floats, Ints

SHARED = 1.0
"""Standard deviation of the errors that all teams share."""
OWN = 0.6
"""Standard deviation of a team's own errors."""


@dataclass(frozen=True, eq=False)
class World:
    """A test set, and the errors that everybody makes on it."""

    labels: Ints
    """(n,) Hidden labels."""
    m: int
    """Classes."""
    shared: Floats = field(repr=False)
    """(n, m) Errors that all teams share."""
    public: int | None = None
    """Number of points, from the first, on which scores are shown; None for all."""

    @classmethod
    def drawn(cls, n: int, m: int, rng: np.random.Generator) -> World:
        """Return a test set of n points of m classes, uniform, with errors from `rng`."""
        return cls(rng.integers(0, m, n), m, rng.normal(0.0, SHARED, (n, m)))

    def score(self, answers: Ints) -> Floats:
        """Return the accuracies, (...), that are shown of answers, (..., n)."""
        right = answers[..., : self.public] == self.labels[: self.public]
        return np.asarray(right.mean(axis=-1))

    def errors(self, size: float, rng: np.random.Generator) -> Floats:
        """Return further errors, (n, m), of this standard deviation."""
        return np.asarray(rng.normal(0.0, size, self.shared.shape))

    def logits(self, skill: float, errors: Floats) -> Floats:
        """Return logits, (n, m): truth times skill plus all errors."""
        found = self.shared + errors
        found[np.arange(len(self.labels)), self.labels] += skill
        return np.asarray(found)


def _rising(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    skills = np.sort(rng.uniform(0.5, 3.0, k)) + rng.normal(0.0, 0.1, k)
    own = world.errors(OWN, rng)
    return np.stack(
        [world.logits(skill, own + world.errors(0.4, rng)).argmax(axis=1) for skill in skills]
    )


def _steps(world: World, k: int, start: Floats, rng: np.random.Generator, *, climbs: bool) -> Ints:
    """Return a walk in small steps, from half a percent to five percent of a unit of logit."""
    size = float(rng.choice([0.02, 0.05, 0.1]))
    present = start
    rows = [start.argmax(axis=1)]
    best = float(world.score(rows[0]))
    for _ in range(k - 1):
        following = present + world.errors(size, rng)
        rows.append(following.argmax(axis=1))
        score = float(world.score(rows[-1]))
        if not climbs or score > best:
            present = following
            best = max(best, score)
    return np.stack(rows)


def _own_steps(
    world: World, k: int, public: Floats, rng: np.random.Generator, *, climbs: bool
) -> Ints:
    start = world.logits(float(rng.uniform(1.0, 2.5)), world.errors(OWN, rng))
    return _steps(world, k, start, rng, climbs=climbs)


def _seeds(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    model = world.logits(float(rng.uniform(1.0, 2.5)), world.errors(OWN, rng))
    return np.stack([(model + world.errors(0.5, rng)).argmax(axis=1) for _ in range(k)])


def _ensemble(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    """Return models, and in the second half averages of the best five by their scores."""
    own = world.errors(OWN, rng)
    skill = float(rng.uniform(1.0, 2.5))
    models: list[Floats] = []
    rows: list[Ints] = []
    for t in range(k):
        made = world.logits(skill + rng.normal(0.0, 0.15), own + world.errors(0.7, rng))
        models.append(made)
        if t >= k // 2:
            scores = [world.score(model.argmax(axis=1)) for model in models]
            best = np.argsort(scores)[-5:]
            made = np.mean([models[i] for i in best], axis=0)
        rows.append(made.argmax(axis=1))
    return np.stack(rows)


def _public(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    rows = _steps(world, k, public, rng, climbs=bool(rng.integers(2)))
    rows[int(rng.integers(k))] = public.argmax(axis=1)
    return rows


def _beginner(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    """Return models whose first files were written in another order of the points."""
    rows = _rising(world, k, public, rng)
    order = rng.permutation(len(world.labels))
    rows[: max(1, k // 5)] = rows[: max(1, k // 5)][:, order]
    return rows


HABIT: dict[str, Callable[[World, int, Floats, np.random.Generator], Ints]] = {
    "rising": _rising,
    "tuning": partial(_own_steps, climbs=False),
    "hill-climbing": partial(_own_steps, climbs=True),
    "seeds": _seeds,
    "ensemble": _ensemble,
    "public": _public,
    "beginner": _beginner,
}
"""Habits of honest teams: functions of a test set, a number, the baseline's logits and `rng`."""
