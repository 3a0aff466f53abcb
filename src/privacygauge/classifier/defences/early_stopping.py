"""Early stopping: the undefended model at every epoch, the baseline for every defence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifier.defences.by_epoch import (
    ByEpoch,
    batches_of_epoch,
    descend,
    trainable,
)
from privacygauge.classifier.networks import Networks
from privacygauge.classifier.networks.optimiser import Optimiser
from privacygauge.classifier.networks.task import Task
from privacygauge.core import checks
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class EarlyStopping(ByEpoch):
    """Ordinary training of networks, one at a time, that can be stopped after any epoch.

    With `trajectories` one training gives all epochs. Weight decay is a setting of `Networks`,
    dropout one of its `make`: see `Dropout`.

    Notes
    -----
    Song & Mittal (2021), section 3.2.1.
    """

    networks: Networks
    """Settings of the training; `epochs` is that of the longest one."""

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return f"early stopping of {self.networks.name}"

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {"defence": "early stopping", "networks": dict(self.networks.describe())}

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        from torch.nn.functional import cross_entropy

        module = task.module(model)
        weights = trainable(module)
        optimiser = Optimiser(task.rule, weights)
        for epoch in range(task.epochs):
            module.train()
            for batch in batches_of_epoch(task, model, epoch):
                descend(optimiser, cross_entropy(module(task.x[batch]), task.y[batch]), weights)
            yield module


def nearest_epoch(epochs: ArrayLike, accuracy: ArrayLike, wanted: float) -> int | Skipped:
    """Return the epoch whose test accuracy is closest to a defended model's from above.

    Parameters
    ----------
    epochs : array_like of int, shape (e,)
    accuracy : array_like of float, shape (e,)
        Test accuracy of the undefended model after each, in [0, 1]. Measure it on records that
        no attack is judged on, or the choice favours the baseline.
    wanted : float
        The defended model's test accuracy on the same records.

    Returns
    -------
    int or Skipped
        The earliest of equally near ones; skipped where no epoch is as accurate.

    Notes
    -----
    Song & Mittal (2021), section 3.3.2. Where accuracy plateaus or falls again, epochs of similar
    accuracy differ widely in risk, and the nearest may be one that nobody would train to.
    `first_epoch` is the stricter baseline: on Location30 the two lead to opposite conclusions.

    Examples
    --------
    >>> nearest_epoch([1, 2, 3, 4], [0.2, 0.5, 0.6, 0.55], wanted=0.52)
    4
    """
    made, reached = _curve(epochs, accuracy)
    enough = np.flatnonzero(reached >= wanted)
    if not len(enough):
        return _never(reached, wanted)
    return int(made[enough[np.argmin(reached[enough])]])


def first_epoch(epochs: ArrayLike, accuracy: ArrayLike, wanted: float) -> int | Skipped:
    """Return the first epoch whose test accuracy is not below that of a defended model.

    Parameters and result are those of `nearest_epoch`.

    Examples
    --------
    >>> first_epoch([1, 2, 3, 4], [0.2, 0.5, 0.6, 0.55], wanted=0.52)
    3
    """
    made, reached = _curve(epochs, accuracy)
    enough = np.flatnonzero(reached >= wanted)
    return int(made[enough[0]]) if len(enough) else _never(reached, wanted)


def _curve(epochs: ArrayLike, accuracy: ArrayLike) -> tuple[checks.Ints, checks.Floats]:
    made = checks.integers(epochs, "epochs")
    if not len(made) or np.any(np.diff(made) <= 0):
        raise InputError(f"epochs must be ascending, got {checks.short_list(made.tolist())}")
    return made, checks.floats(accuracy, "accuracy", length=len(made))


def _never(reached: checks.Floats, wanted: float) -> Skipped:
    return Skipped(
        "early stopping",
        f"no recorded epoch is as accurate: {reached.max():.3f} at most, {wanted:.3f} wanted",
    )
