"""Canaries in a classifier's training set: their wrong labels, coins and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.answers import code_of_users
from privacygauge.classifiers.estimators import (
    as_trainer,
    function_name,
    n_required,
    require_records,
)
from privacygauge.classifiers.game import WORLD_SIGNAL, worlds_signal
from privacygauge.classifiers.predictions import Pool, predictions
from privacygauge.classifiers.signals import resolution, signals
from privacygauge.classifiers.trainer import Cohort, first_query
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.game import Observation, Round, Shadow
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.units import number_units
from privacygauge.errors import InputError

CanaryKind = Literal["mislabelled", "orthogonal", "out-of-distribution", "blank"]
"""Forms of canaries."""

Scorer = Callable[[Any, NDArray[Any], Ints], ArrayLike]
"""Function from the result of a training, records (n, d) and classes (n,) to scores (n,), higher
for records that it was trained on. It does not see the coins."""

_FAR = 3.0
"""Distance from the mean, in standard deviations of every column, of out-of-distribution
canaries."""


@dataclass(frozen=True, eq=False)
class RecordsWithCanaries:
    """Records to train on, with canaries among them."""

    x: NDArray[Any]
    """(n, d) Features."""
    y: Ints
    """(n,) Classes in 0..k-1."""
    canary: Bools
    """(n,) True for the canaries, which fair coins put in or leave out."""


def make_canaries(
    x: ArrayLike,
    y: ArrayLike,
    n: int,
    *,
    kind: CanaryKind = "mislabelled",
    length: float = 4.0,
    seed: int = 0,
) -> RecordsWithCanaries:
    """Return the records with n canaries among them, for `audit_dp_sgd`.

    Parameters
    ----------
    x : array_like of float, shape (m, d)
        Features.
    y : array_like of int, shape (m,)
        Classes in 0..k-1, at least two.
    n : int
        Number of canaries, at least 1.
    kind : {"mislabelled", "orthogonal", "out-of-distribution", "blank"}
        ``mislabelled`` gives random records of x another class, drawn at random. The others add
        records with random classes: ``orthogonal`` ones are at right angles to each other, and to
        as many of the records as there is room for; ``out-of-distribution`` ones are 3 standard
        deviations from the mean in every column, up or down by a coin; ``blank`` is a single record
        of zeros.
    length : float
        Length of orthogonal canaries, as a multiple of the length of the longest record, above 0.
        Long canaries have gradients that clipping shortens, so that missing clipping shows.
    seed : int
        Seed of all draws.

    Notes
    -----
    Gradients by the first layer are outer products with the input. So canaries at right angles do
    not disturb each other, whatever the other layers are, and show the most with scores from
    gradients (Nasr et al. 2023; Steinke, Nasr & Jagielski 2023). Mislabelled canaries need access
    to the model only (Aerni et al. 2024).

    Examples
    --------
    >>> made = make_canaries([[1.0, 0], [0, 2]], [0, 1], 1, kind="blank")
    >>> made.x[made.canary], len(made.y)
    (array([[0., 0.]]), 3)
    """
    features, labels = require_records(x, y)
    checks.at_least(1, n=n)
    checks.positive(length=length)
    k = int(labels.max()) + 1
    if k < 2:
        raise InputError("y must have at least two classes")
    rng = seeds.stream(seed, "canaries", kind)
    if kind == "mislabelled":
        if n > len(labels):
            raise InputError(f"n must be at most {len(labels)} (the records), got {n}")
        canary = np.zeros(len(labels), np.bool_)
        canary[rng.choice(len(labels), n, replace=False)] = True
        wrong = labels.copy()
        # A step of 1 to k - 1 classes, cyclically, never ends at the true class.
        wrong[canary] = (labels[canary] + rng.integers(1, k, n)) % k
        return RecordsWithCanaries(features, wrong, canary)
    flat = np.asarray(features, np.float64)
    d = flat.shape[1]
    if kind == "orthogonal":
        if n > d:
            raise InputError(
                f"n must be at most {d}: there are no more directions at right angles in {d} "
                f"features, got {n}"
            )
        # Rows of x come first, as many as there is room for beside the canaries.
        known = flat[rng.permutation(len(flat))[: d - n]].T
        # QR orthogonalises column by column: the last n columns are at right angles to the records.
        basis = np.linalg.qr(np.hstack([known, rng.normal(size=(d, n))]))[0]
        made = basis[:, -n:].T * (length * np.linalg.norm(flat, axis=1).max())
    elif kind == "out-of-distribution":
        # Corners of a box far from the records, one random corner per canary.
        up = np.where(rng.random((n, d)) < 0.5, 1.0, -1.0)
        made = flat.mean(axis=0) + up * _FAR * flat.std(axis=0)
    elif kind == "blank":
        if n > 1:
            raise InputError(
                f"n must be 1 for blank canaries, which are all alike, got {n}: audit many runs"
            )
        made = np.zeros((1, d))
    else:
        raise InputError(
            "kind must be mislabelled, orthogonal, out-of-distribution or blank, got " + repr(kind)
        )
    return RecordsWithCanaries(
        np.concatenate([features, made.astype(features.dtype, copy=False)]),
        np.concatenate([labels, rng.integers(0, k, n)]),
        np.concatenate([np.zeros(len(labels), np.bool_), np.ones(n, np.bool_)]),
    )


@dataclass(frozen=True, eq=False)
class CanaryGame:
    """Canaries in a training set, the coins that put them in, and the attack that scores them."""

    x: ArrayLike
    """Features, (n, d)."""
    y: ArrayLike
    """(n,) Classes in 0..k-1."""
    canary: ArrayLike | None = None
    """(n,) True for records that coins put in or leave out; default: all. The others are always
    in."""
    unit: ArrayLike | None = None
    """(n,) The person behind each record."""
    runs: int = 1
    """Number of trainings, at least 1. With several, all canaries share one coin per training, and
    each training is one row."""
    score: Scorer | None = None
    """Attack on the result of a training; default: the loss on a canary's class."""
    seed: int = 0
    """Seed of the coins and of the trainings."""

    def scores(self, training: object) -> dict[str, NDArray[Any]]:
        """Return ``score``, ``member`` and ``id`` of the canaries, and their ``unit`` if given.

        With several runs, each row is a run, with the mean score of its canaries and without
        ``id``. Coins and random states do not depend on `training`.

        Raises
        ------
        InputError
            If training failed numerically, or cannot be scored by `score`.
        """
        features, labels = require_records(self.x, self.y)
        n = len(labels)
        chosen = (
            np.ones(n, np.bool_)
            if self.canary is None
            else checks.bools(self.canary, "canary", length=n)
        )
        asked = np.flatnonzero(chosen)
        if not len(asked):
            raise InputError("canary must name at least one record")
        owner = None if self.unit is None else number_units(self.unit, length=n)
        checks.at_least(1, runs=self.runs)
        coins = seeds.stream(self.seed, "coins")
        if self.runs == 1:
            inside = coin_flips(1, n, coins, owner)
        else:
            if chosen.all():
                raise InputError(
                    "canary must name few of the records where there are several runs: in each, "
                    "one coin puts them all in or leaves them out"
                )
            # One coin per run, the same for all canaries.
            inside = np.repeat(coin_flips(self.runs, 1, coins), n, axis=1)
        fell = inside[:, asked]
        if fell.all() or not fell.any():
            where = "in" if fell.any() else "out"
            raise InputError(
                f"all coins of {fell.size if self.runs == 1 else self.runs} "
                f"{'canaries' if self.runs == 1 else 'runs'} fell {where}: use more of them, or "
                "another seed"
            )
        # Records that are not canaries are in every training set.
        inside[:, ~chosen] = True
        states = [
            int(seeds.stream(self.seed, "model", run).integers(2**31)) for run in range(self.runs)
        ]
        cohort = Cohort(
            x=features,
            y=labels,
            inside=inside,
            seeds=states,
            n_classes=int(labels.max()) + 1,
            asked=asked,
        )
        if self.score is None:
            trainer = as_trainer(training)
            answers = trainer.train(cohort)
            if np.isnan(answers).any():
                raise InputError("training failed numerically: lower the learning rate")
            canaries = cohort.asked
            n_runs = len(cohort)
            form: dict[str, Any] = {
                "logits" if trainer.logits else "probs": np.concatenate(answers)
            }
            known = predictions(
                labels=np.tile(cohort.y[canaries], n_runs),
                member=cohort.inside[:, canaries].ravel(),
                **form,
            )
            scored = signals(known)["loss"].reshape(n_runs, len(canaries))
        else:
            if not callable(training) or n_required(training) != 3:
                raise InputError(
                    "score= goes with a training that is a function of features, classes and a "
                    "random state: the score gets what it returns"
                )
            assert self.score is not None
            records = cohort.records(cohort.asked)
            classes = cohort.y[cohort.asked]
            by_run = []
            for members, state in zip(cohort.inside, cohort.seeds, strict=True):
                rows = np.flatnonzero(members)
                released = training(cohort.records(rows), cohort.y[rows], state)
                with code_of_users(function_name(self.score), f"on {len(classes)} canaries"):
                    of_canaries = self.score(released, np.asarray(records), classes)
                by_run.append(checks.floats(of_canaries, "score", length=len(classes)))
            scored = np.stack(by_run)
        if self.runs > 1:
            return {"score": scored.mean(axis=1), "member": inside[:, asked[0]]}
        found = {"score": scored[0], "member": inside[0, asked], "id": asked}
        return found if owner is None else {**found, "unit": owner[asked]}


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
