"""Canaries in a classifier's training set: how they are made, put in by fair coins, and scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.answers import code_of_users
from privacygauge.classifiers.estimators import (
    as_trainer,
    function_name,
    n_required,
    require_records,
)
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.signals import signals
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.release import coin_flips
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
        scored = (
            self._losses(training, cohort) if self.score is None else self._own(training, cohort)
        )
        if self.runs > 1:
            return {"score": scored.mean(axis=1), "member": inside[:, asked[0]]}
        found = {"score": scored[0], "member": inside[0, asked], "id": asked}
        return found if owner is None else {**found, "unit": owner[asked]}

    def _losses(self, training: object, cohort: Cohort) -> NDArray[Any]:
        """Return the loss signal of every canary in every run, (runs, a)."""
        trainer = as_trainer(training)
        answers = trainer.train(cohort)
        if np.isnan(answers).any():
            raise InputError("training failed numerically: lower the learning rate")
        asked = cohort.asked
        runs = len(cohort)
        form: dict[str, Any] = {"logits" if trainer.logits else "probs": np.concatenate(answers)}
        known = predictions(
            labels=np.tile(cohort.y[asked], runs), member=cohort.inside[:, asked].ravel(), **form
        )
        return signals(known)["loss"].reshape(runs, len(asked))

    def _own(self, training: object, cohort: Cohort) -> NDArray[Any]:
        """Return the user's score of every canary in every run, (runs, a)."""
        if not callable(training) or n_required(training) != 3:
            raise InputError(
                "score= goes with a training that is a function of features, classes and a random "
                "state: the score gets what it returns"
            )
        assert self.score is not None
        records = cohort.records(cohort.asked)
        classes = cohort.y[cohort.asked]
        found = []
        for inside, state in zip(cohort.inside, cohort.seeds, strict=True):
            rows = np.flatnonzero(inside)
            released = training(cohort.records(rows), cohort.y[rows], state)
            with code_of_users(function_name(self.score), f"on {len(classes)} canaries"):
                scored = self.score(released, np.asarray(records), classes)
            found.append(checks.floats(scored, "score", length=len(classes)))
        return np.stack(found)
