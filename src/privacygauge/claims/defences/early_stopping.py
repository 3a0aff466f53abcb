"""Early stopping: the model after every epoch, and the undefended baseline of every defence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.networks.task import (
    BLOCK,
    Optimiser,
    Task,
    checked_device,
    one_torch_thread,
    own_order,
    seeded_torch,
)
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

    from privacygauge.classifiers.networks import Networks


class OfNetworks:
    """Trainer of networks with the settings of `Networks`, and with a defence."""

    networks: Networks
    defence: ClassVar[str]
    """Name of the defence in the settings of a run."""
    detail: ClassVar[str] = ""
    """Format over the names of the fields; follows the defence in the name of the model."""

    logits = True

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return f"{self.defence}{self.detail.format(**vars(self))} of {self.networks.name}"

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {
            "defence": self.defence,
            **vars(self),
            "networks": dict(self.networks.describe()),
        }


class ByEpoch(OfNetworks, ABC):
    """Trainer of networks, one at a time, in a loop of its own that can show every epoch."""

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the logits after the last epoch, (m, a, k); NaN where training failed."""
        return trajectories(self, cohort, [self.networks.epochs]).at(self.networks.epochs)

    def task(self, cohort: Cohort) -> Task:
        """Return the checked task of training these models."""
        if self.networks.augment is not None:
            raise InputError(
                "augment must be None for a training that is seen after every epoch or defended: "
                "these do not alter records"
            )
        if self.networks.own_scale:
            raise InputError(
                "own_scale must be False for a training that is seen after every epoch or "
                "defended: give features that are scaled"
            )
        return self.networks.task(cohort)

    @abstractmethod
    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Predictions of models after several epochs of the same training."""

    epochs: Ints
    """(e,) Recorded epochs, ascending, each at least 1."""
    logits: NDArray[Any]
    """(m, e, a, k) Logits; NaN if a model's training had failed by that epoch."""

    def at(self, epoch: int) -> NDArray[Any]:
        """Return the logits of all models after a recorded epoch, (m, a, k)."""
        place = np.flatnonzero(self.epochs == epoch)
        if not len(place):
            raise InputError(
                f"epoch must be one that was recorded ({checks.short_list(self.epochs.tolist())}), "
                f"got {epoch}"
            )
        found: NDArray[Any] = self.logits[:, int(place[0])]
        return found


def trajectories(
    trainer: ByEpoch, cohort: Cohort, recorded: Sequence[int] | None = None
) -> Trajectories:
    """Return the predictions of every model after each recorded epoch, from one training.

    `recorded` are ascending epochs in 1..epochs; by default all. After epoch e a model equals the
    one that a training of e epochs would give.

    Raises
    ------
    InputError
        If the cohort cannot be trained on, or `recorded` breaks its rule.
    """
    with one_torch_thread(checked_device(trainer.networks.device)):
        import torch

        task = trainer.task(cohort)
        epochs = np.arange(1, task.epochs + 1)
        if recorded is not None:
            epochs = checks.integers(np.asarray(recorded), "recorded")
            ascending = len(epochs) > 0 and bool((np.diff(epochs) > 0).all())
            if not ascending or epochs[0] < 1 or epochs[-1] > task.epochs:
                raise InputError(
                    f"recorded must hold ascending epochs in 1..{task.epochs}, got "
                    f"{checks.short_list(epochs.tolist())}"
                )
        found = []
        for model in range(len(cohort)):
            by_epoch = []
            # The seed is for randomness in training, such as dropout.
            with seeded_torch(task.seeds[model], task.x.device), torch.enable_grad():
                for epoch, module in enumerate(trainer.modules(task, model), start=1):
                    if epoch in epochs:
                        # The loop switches back to training at its next epoch.
                        module.eval()
                        with torch.no_grad():
                            blocks = torch.split(task.asked, BLOCK)
                            parts = [module(task.x[rows]) for rows in blocks]
                            logits: NDArray[Any] = torch.cat(parts).cpu().numpy()
                            # Diverged weights may still give finite logits for these records.
                            finite = all(bool(w.isfinite().all()) for w in module.parameters())
                        if not (finite and np.isfinite(logits).all()):
                            logits = np.full_like(logits, np.nan)
                        by_epoch.append(logits)
                    # The generator trains an epoch per step: ending here spares the rest.
                    if epoch == epochs[-1]:
                        break
            found.append(np.stack(by_epoch))
    return Trajectories(epochs, np.stack(found))


def batches_of_epoch(task: Task, model: int, epoch: int) -> Iterator[torch.Tensor]:
    """Yield the rows of a model's batches in one epoch, in the order of `Networks`."""
    import torch

    order = torch.from_numpy(own_order(task.inside[model], task.seeds[model], epoch))
    yield from torch.split(order.to(task.x.device), task.batch_size)


def trainable(module: torch.nn.Module) -> list[torch.Tensor]:
    """Return the weights that training changes."""
    return [weight for weight in module.parameters() if weight.requires_grad]


def descend(optimiser: Optimiser, loss: torch.Tensor, weights: Sequence[torch.Tensor]) -> None:
    """Take one step of the optimiser down the gradient of the loss."""
    import torch

    gradients = torch.autograd.grad(loss, weights, allow_unused=True)
    with torch.no_grad():
        optimiser.step(gradients)


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
    """Settings of the training; its `epochs` are the most that can be recorded."""

    defence = "early stopping"

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
    """Return the epoch with the lowest test accuracy that is not below a defended model's.

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
        The earliest of equally near ones; skipped if no epoch is as accurate.

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
    found = _accurate_epochs(epochs, accuracy, wanted)
    if isinstance(found, Skipped):
        return found
    made, reached = found
    return int(made[np.argmin(reached)])


def first_epoch(epochs: ArrayLike, accuracy: ArrayLike, wanted: float) -> int | Skipped:
    """Return the first epoch whose test accuracy is not below that of a defended model.

    Parameters and result are those of `nearest_epoch`.

    Examples
    --------
    >>> first_epoch([1, 2, 3, 4], [0.2, 0.5, 0.6, 0.55], wanted=0.52)
    3
    """
    found = _accurate_epochs(epochs, accuracy, wanted)
    return found if isinstance(found, Skipped) else int(found[0][0])


def _accurate_epochs(
    epochs: ArrayLike, accuracy: ArrayLike, wanted: float
) -> tuple[checks.Ints, checks.Floats] | Skipped:
    """Return the epochs with at least the wanted accuracy, and their accuracies."""
    made = checks.integers(epochs, "epochs")
    if not len(made) or np.any(np.diff(made) <= 0):
        raise InputError(f"epochs must be ascending, got {checks.short_list(made.tolist())}")
    reached = checks.floats(accuracy, "accuracy", length=len(made))
    enough = reached >= wanted
    if enough.any():
        return made[enough], reached[enough]
    return Skipped(
        "early stopping",
        f"no recorded epoch is as accurate: {reached.max():.3f} at most, {wanted:.3f} wanted",
    )
