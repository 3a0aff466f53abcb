"""Mislabelled canaries, which a model can only memorise, and the membership game on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.pool_game import WORLD_SIGNAL, worlds_signal
from privacygauge.classifiers.predictions import Pool
from privacygauge.classifiers.resolution import resolution
from privacygauge.classifiers.signals import signals
from privacygauge.classifiers.trainer import Cohort, first_query
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.game import Observation, Round, Shadow
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.units import number_units
from privacygauge.errors import InputError


class WrongLabel(Protocol):
    """Choice of a canary's wrong class."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def wrong(self, x: NDArray[Any], y: Ints, rows: Ints, rng: np.random.Generator) -> Ints:
        """Return a wrong class for every row, (c,).

        Parameters
        ----------
        x : ndarray, shape (n, d)
        y : ndarray of int, shape (n,)
            True classes in 0..k-1, k at least 2.
        rows : ndarray of int, shape (c,)
            Rows of the canaries.
        rng : numpy.random.Generator
        """


@dataclass(frozen=True)
class UniformLabel:
    """Any of the other classes with equal probability (Aerni et al. 2024)."""

    name = "any other class"

    def wrong(self, x: NDArray[Any], y: Ints, rows: Ints, rng: np.random.Generator) -> Ints:
        """Return a wrong class for every row, (c,)."""
        k = int(y.max()) + 1
        # A step of 1 to k - 1 classes, cyclically, never ends at the true class.
        return np.asarray((y[rows] + rng.integers(1, k, size=len(rows))) % k, np.int64)


@dataclass(frozen=True)
class LeastLikelyLabel:
    """The least likely class according to a model that was not trained on the record.

    Two models are trained for it, each on one half of all records with true labels; each chooses
    the classes of the canaries in the other half.
    """

    model: object
    """A trainer, or anything that `as_trainer` takes."""

    name = "the least likely class"

    def wrong(self, x: NDArray[Any], y: Ints, rows: Ints, rng: np.random.Generator) -> Ints:
        """Return a wrong class for every row, (c,)."""
        half = rng.permutation(len(y)) < len(y) // 2
        states = rng.integers(2**31, size=2).tolist()
        cohort = Cohort(
            x=x,
            y=y,
            inside=np.stack([half, ~half]),
            seeds=states,
            n_classes=int(y.max()) + 1,
            asked=rows,
        )
        answers = first_query(as_trainer(self.model).train(cohort))
        if not np.isfinite(answers).all():
            raise InputError(
                "the model for the least likely class could not be trained on half of the "
                "records: give UniformLabel()"
            )
        # Model 0 was trained on `half`, model 1 on the rest: index 1 for records of the half.
        own = answers[half[rows].astype(np.int64), np.arange(len(rows))].astype(np.float64)
        # The true class is never the least likely one.
        own[np.arange(len(rows)), y[rows]] = np.inf
        return np.asarray(own.argmin(axis=1), np.int64)


@dataclass(frozen=True, eq=False)
class Targets:
    """Records that attacks are judged on: canaries with a wrong label, and ordinary ones.

    A fair coin includes each of them; every other record is always in the training set.
    """

    y: Ints
    """(n,) Training labels, in 0..k-1."""
    canaries: Ints
    """(c,) Rows with a wrong label."""
    ordinary: Ints
    """(o,) Rows with their own label."""
    unit: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """(n,) Unit of each row: one coin includes all rows of a unit. Default: each row is its own
    unit."""

    def __post_init__(self) -> None:
        for name in ("y", "canaries", "ordinary"):
            object.__setattr__(self, name, checks.integers(getattr(self, name), name))
        unit = self.unit if len(self.unit) else np.arange(len(self.y))
        object.__setattr__(self, "unit", checks.integers(unit, "unit", length=len(self.y)))

    @property
    def asked(self) -> Ints:
        """(c + o,) The canaries' rows, then the ordinary ones."""
        return np.concatenate([self.canaries, self.ordinary])

    def membership(self, n_models: int, rng: np.random.Generator) -> Bools:
        """Return a mask of the records that each model is trained on, (n_models, n).

        A record that is not a target follows the coin of its unit, if a target belongs to that
        unit.
        """
        inside = np.ones((n_models, len(self.y)), np.bool_)
        own = number_units(self.unit[self.asked])
        coins = coin_flips(n_models, int(own.max()) + 1, rng)
        # Unit to the column of its coins.
        coin = dict(zip(self.unit[self.asked].tolist(), own.tolist(), strict=True))
        rows = np.flatnonzero(np.isin(self.unit, self.unit[self.asked]))
        inside[:, rows] = coins[:, [coin[unit] for unit in self.unit[rows].tolist()]]
        return inside


def targets(
    x: NDArray[Any],
    y: Ints,
    n_canaries: int,
    rng: np.random.Generator,
    *,
    n_ordinary: int | None = None,
    label: WrongLabel | None = None,
    unit: Ints | None = None,
) -> Targets:
    """Return canaries and ordinary records drawn at random from the same table.

    Both are random subsets of all records, so they differ only in their labels.

    Parameters
    ----------
    x : ndarray, shape (n, d)
    y : ndarray of int, shape (n,)
        Classes in 0..k-1, k at least 2.
    n_canaries : int
        At least 1.
    rng : numpy.random.Generator
    n_ordinary : int, optional
        At least 1; default: all other records.
    label : WrongLabel, optional
        Default: `UniformLabel`.
    unit : ndarray of int, shape (n,), optional
        Unit of each record; default: each is its own unit.

    Raises
    ------
    InputError
        If there is only one class, or there are fewer records than asked for.

    Notes
    -----
    Aerni, Zhang & Tramèr (2024), "Evaluations of machine learning privacy defenses are
    misleading", section 4: privacy is judged by the most vulnerable records, and mislabelled
    records serve as proxies for these.
    """
    n = len(y)
    if n == 0 or int(y.max()) < 1:
        raise InputError("y must hold at least 2 classes: there is no wrong label otherwise")
    if n_ordinary is None and not 1 <= n_canaries < n:
        raise InputError(
            f"n_canaries must be at least 1 and less than the {n} records, got {n_canaries}"
        )
    rest = n - n_canaries if n_ordinary is None else n_ordinary
    if n_canaries < 1 or rest < 1 or n_canaries + rest > n:
        raise InputError(
            f"n_canaries and n_ordinary must be at least 1 and at most {n} together (the "
            f"records), got {n_canaries} and {rest}"
        )
    # One permutation: canaries and ordinary records are disjoint random subsets.
    drawn = rng.permutation(n)
    canaries = np.sort(drawn[:n_canaries])
    ordinary = np.sort(drawn[n_canaries : n_canaries + rest])
    trained = y.copy()
    trained[canaries] = (label or UniformLabel()).wrong(x, y, canaries, rng)
    return Targets(trained, canaries, ordinary, np.arange(n) if unit is None else unit)


def every_model_as_target(pool: Pool) -> Iterator[Round]:
    """Yield one round per model of a pool: it is the target, the others are shadow models.

    The coins of all models are independent, so each may be the target; the adversary knows only the
    coins of its own models.

    Raises
    ------
    InputError
        If there are fewer than 2 models.
    """
    m, n = pool.inside.shape
    if m < 2:
        raise InputError(f"a pool must have at least 2 models to play one as the target, got {m}")
    rows = pool.rows()
    resolved = resolution(pool)
    found = signals(rows, resolved)
    seen = {name: x.reshape(m, n) for name, x in found.items()}
    # All signals at one resolution, (m, n) each, so that they are computed once for all rounds.
    compared = worlds_signal(pool, resolved, found[WORLD_SIGNAL])
    everyone = Worlds(compared[0], compared, pool.inside)
    for model in range(m):
        # Shadow models are all others, with the same coins and the same canaries.
        others = np.delete(np.arange(m), model)
        shadow = Shadow(
            {name: x[others].ravel() for name, x in seen.items()},
            pool.inside[others].ravel(),
            np.tile(pool.labels, m - 1),
        )
        own = {name: x[model] for name, x in seen.items()}
        observation = Observation(own, pool.labels, shadow, everyone.without(model))
        yield Round(observation, pool.inside[model], np.arange(n))
