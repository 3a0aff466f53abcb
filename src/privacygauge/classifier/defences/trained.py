"""A target and shadow models, trained without a defence and with several, as one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.defences.trainings import (
    UNDEFENDED,
    Before,
    Trainings,
    array_of,
    values_each_way,
)
from privacygauge.classifier.pool import Pool
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.shadows import Progress, membership, random_states
from privacygauge.classifier.trainer import Cohort
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class TrainedAlike:
    """One target and its shadow models, trained in the same way."""

    target: Predictions
    """Predictions of the target on the judged records."""
    pool: Pool
    """Predictions of the shadow models on the same records, without those that failed."""
    failed: Ints
    """Indices of the shadow models whose training failed."""

    @property
    def shadow_accuracy(self) -> float:
        """Accuracy of shadow models on records that they were not trained on.

        It does not depend on the target, so a choice that is based on it favours no attack.
        """
        right = self.pool.values.argmax(axis=2) == self.pool.labels
        return float(right[~self.pool.inside].mean())


@dataclass(frozen=True, eq=False)
class TrainedWithout:
    """The undefended models, after each recorded epoch."""

    epochs: Ints
    """(e,) Recorded epochs, ascending; a single one if models are not trained in epochs."""
    models: tuple[TrainedAlike | Skipped, ...]
    """(e,) The models after each epoch; skipped where training had failed by then."""

    @property
    def last(self) -> TrainedAlike:
        """The models after the last epoch, as released without a defence."""
        last = self.models[-1]
        if isinstance(last, Skipped):
            raise InputError(f"without a defence {last.reason}")
        return last

    def after(self, epoch: int) -> TrainedAlike | Skipped:
        """Return the models after a recorded epoch."""
        return self.models[int(np.flatnonzero(self.epochs == epoch)[0])]


def train_each_way(
    trainings: Trainings,
    x: NDArray[Any],
    y: Ints,
    judged: Ints,
    *,
    n_shadows: int,
    ids: ArrayLike | None = None,
    unit: Ints | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    before: Before | None = None,
) -> tuple[TrainedWithout, tuple[TrainedAlike | Skipped, ...]]:
    """Return the undefended models after every epoch, and the models of each defence.

    A model has the same records, the same seed and so the same initial weights in every way.
    Skipped with the reason if a defended target or all of its shadow models failed.

    Parameters
    ----------
    judged : ndarray of int, shape (a,)
        Rows that fair coins put into training sets; the others are in none.
    ids : array_like, shape (a,), optional
        Names of the judged records; default: their rows.
    unit : ndarray of int, shape (a,), optional
        The person behind each judged record: one coin puts all records of a person in.
    progress : callable, optional
        Called with the number of models done, each trained in every way, and their total.
    before : callable, optional
        As in `values_each_way`.
    trainings, x, y, n_shadows, seed, run, invocation, n_jobs
        As in `train_shadows`.
    """
    if n_shadows < 1:
        raise InputError(f"n_shadows must be at least 1, got {n_shadows}")
    inside = np.zeros((n_shadows + 1, len(y)), np.bool_)
    inside[:, judged] = membership(n_shadows, len(judged), seed, unit=unit)
    cohort = Cohort(
        x=x,
        y=y,
        inside=inside,
        seeds=random_states(seed, len(inside)),
        n_classes=int(y.max()) + 1,
        asked=judged,
    )
    values = values_each_way(
        trainings,
        cohort,
        seed=seed,
        run=run,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
        before=before,
    )
    about = inside[:, judged], y[judged], judged if ids is None else ids, unit
    epochs = tuple(
        _trained_alike(values[UNDEFENDED][:, place], trainings.undefended.logits, *about)
        for place in range(len(trainings.epochs))
    )
    defended = tuple(
        _trained_alike(values[array_of(number)], trainer.logits, *about)
        for number, trainer in enumerate(trainings.defended)
    )
    return TrainedWithout(np.array(trainings.epochs), epochs), defended


def _trained_alike(
    values: NDArray[Any],
    logits: bool,
    inside: Bools,
    y: Ints,
    ids: ArrayLike,
    unit: Ints | None,
) -> TrainedAlike | Skipped:
    finite = np.isfinite(values).all(axis=(1, 2))
    kept = 1 + np.flatnonzero(finite[1:])
    if not finite[0] or not len(kept):
        who = "all shadow models" if finite[0] else "the target"
        return Skipped("training", f"training failed for {who}: predictions are not finite")
    given: dict[str, Any] = {"logits" if logits else "probs": values[0]}
    target = predictions(
        labels=y, member=inside[0], ids=ids, unit=unit, name="target model", **given
    )
    pool = Pool(values[kept], logits, inside[kept], y)
    return TrainedAlike(target, pool, np.flatnonzero(~finite[1:]))


def recorded_epochs(epochs: int, further: Sequence[int] = ()) -> tuple[int, ...]:
    """Return about 15 epochs in 1..epochs: the first ones all, later ones further apart.

    The last one and the `further` ones are included.
    """
    spread = np.unique(np.geomspace(1, epochs, 20).round().astype(int))
    return tuple(sorted({*spread.tolist(), *further, epochs}))
