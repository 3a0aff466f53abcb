"""Adversarial regularisation: a classifier trained against an attack network.

Nasr, Shokri & Houmansadr (2018), "Machine learning with membership privacy using adversarial
regularization".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.claims.defences.early_stopping import (
    ByEpoch,
    batches_of_epoch,
    descend,
    trainable,
)
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.networks.engines import MLP
from privacygauge.classifiers.networks.task import Optimiser, Rule, Task, seeded_torch
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class HeldBack:
    """Reference records held back from each model's own records: it is not trained on them."""

    share: float = 0.5
    """Share of the model's own records, in (0, 1)."""

    def __post_init__(self) -> None:
        checks.level(self.share, "share")

    def rows(self, inside: Bools, seed: int) -> tuple[Ints, Bools]:
        """Return a model's reference records, and the mask of its training records, (n,)."""
        own = seeds.stream(seed, "reference").permutation(np.flatnonzero(inside))
        # At least one record to attack with, and one to train on.
        n_back = min(max(1, round(self.share * len(own))), len(own) - 1)
        if n_back < 1:
            raise InputError(
                f"a model must have at least 2 records to hold one back, got {len(own)}"
            )
        trained = inside.copy()
        trained[own[:n_back]] = False
        return own[:n_back], trained


@dataclass(frozen=True)
class ReferenceRows:
    """Reference records shared by all models, which are not trained on them."""

    index: tuple[int, ...]
    """Rows of the reference records, at least one."""

    def __post_init__(self) -> None:
        if not self.index or min(self.index) < 0:
            raise InputError(
                f"index must name rows from 0 on, got {checks.short_list(self.index) or 'none'}"
            )

    def rows(self, inside: Bools, seed: int) -> tuple[Ints, Bools]:
        """Return a model's reference records, and the mask of its training records, (n,)."""
        index = np.array(self.index, np.int64)
        if index.max() >= len(inside):
            raise InputError(f"index must be in 0..{len(inside) - 1}, got {index.max()}")
        if inside[index].any():
            raise InputError(
                "reference records must be in no training set, got row "
                f"{index[inside[index]][0]} in both: leave it out of one of them"
            )
        return index, inside


@dataclass(frozen=True)
class AttackNetworkSizes:
    """Units of the attack network's hidden layers, after Nasr et al. (2018)."""

    answers: tuple[int, ...] = (1024, 512, 64)
    """Layer sizes of the branch on the probability vector, at least one layer."""
    classes: tuple[int, ...] = (512, 64)
    """Layer sizes of the branch on the one-hot true class, at least one layer."""
    joint: tuple[int, ...] = (256, 64)
    """Layer sizes of the head on both branches."""

    def __post_init__(self) -> None:
        if not self.answers or not self.classes:
            raise InputError("answers and classes must have at least one layer each")


@dataclass(frozen=True)
class AdversarialRegularisation(ByEpoch):
    """Trains classifiers in alternation with a network that attacks them.

    For every batch the attack network h takes `attack_steps` steps of Adam up the gain ``(mean log
    h(f(x), y) over members + mean log(1 - h(f(x), y)) over reference records) / 2``; then the
    classifier f takes a step down ``cross-entropy + weight * mean log h(f(x), y)``. With `weight` 0
    the classifier is exactly that of `EarlyStopping`.

    Notes
    -----
    Nasr et al. (2018), algorithm 1; Song & Mittal (2021), section 3.3.2.
    """

    networks: Networks
    """Settings of the classifier."""
    weight: float = 1.0
    """lambda, at least 0: weight of the attack's gain relative to the classifier's loss."""
    reference: HeldBack | ReferenceRows = HeldBack()
    """Source of the attack network's non-members."""
    sizes: AttackNetworkSizes = AttackNetworkSizes()
    """Layer sizes of the attack network."""
    attack_steps: int = 1
    """Steps of the attack network per step of the classifier, at least 1."""
    attack_rate: float = 1e-3
    """Learning rate of Adam for the attack network, above 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise InputError(f"weight must be finite and at least 0, got {self.weight}")
        checks.at_least(1, attack_steps=self.attack_steps)
        checks.positive(attack_rate=self.attack_rate)

    defence = "adversarial regularisation"
    detail = " (weight {weight:g})"

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {
            **super().describe(),
            "reference": {type(self.reference).__name__: list(vars(self.reference).values())},
            "sizes": {name: list(units) for name, units in vars(self.sizes).items()},
        }

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        import torch
        from torch.nn.functional import cross_entropy, logsigmoid

        seed = task.seeds[model]
        references, trained = self.reference.rows(task.inside[model], seed)
        inside = task.inside.copy()
        inside[model] = trained
        # Reference records are not trained on.
        task = replace(task, inside=inside)
        module = task.module(model)
        weights = trainable(module)
        optimiser = Optimiser(task.rule, weights)
        attacker = _Attacker(self, task, seed)
        own = np.flatnonzero(trained)
        for epoch in range(task.epochs):
            module.train()
            # A stream of its own: with weight 0 the classifier's training is that of
            # `EarlyStopping`.
            rng = seeds.stream(seed, "attack-rows", epoch)
            for batch in batches_of_epoch(task, model, epoch):
                for _ in range(self.attack_steps):
                    members, others = (
                        torch.from_numpy(rng.choice(rows, task.batch_size)).to(task.x.device)
                        for rows in (own, references)
                    )
                    attacker.learn(module, members, others)
                logits = module(task.x[batch])
                y = task.y[batch]
                # Only the members' term of the gain depends on the classifier.
                gain = logsigmoid(attacker.log_odds(logits, y)).mean()
                descend(optimiser, cross_entropy(logits, y) + self.weight * gain, weights)
            yield module


class _Attacker:
    """The attack network of one training: a branch each for answers and classes, then a head."""

    def __init__(self, defence: AdversarialRegularisation, task: Task, seed: int) -> None:
        import torch
        from torch import nn

        sizes = defence.sizes
        k = task.n_classes
        own = int(seeds.stream(seed, "attack-network").integers(2**31))
        # Drawn on the CPU, so that initial weights are the same on every device.
        with seeded_torch(own, torch.device("cpu")):
            answers = MLP(sizes.answers[:-1], "relu")(k, sizes.answers[-1])
            classes = MLP(sizes.classes[:-1], "relu")(k, sizes.classes[-1])
            joint = MLP(sizes.joint, "relu")(sizes.answers[-1] + sizes.classes[-1], 1)
        self._parts = nn.ModuleList([answers, classes, joint]).to(task.x.device, task.x.dtype)
        self._weights = trainable(self._parts)
        self._optimiser = Optimiser(Rule("adam", defence.attack_rate), self._weights)
        self._task = task

    def log_odds(self, logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the log-odds of membership, (r,)."""
        import torch

        answers, classes, joint = self._parts
        p = torch.softmax(logits, 1)
        one_hot = torch.nn.functional.one_hot(y, self._task.n_classes).to(p.dtype)
        # The activation that `MLP` leaves out after its last layer.
        both = torch.cat([torch.relu(answers(p)), torch.relu(classes(one_hot))], 1)
        found: torch.Tensor = joint(both)[:, 0]
        return found

    def learn(
        self, module: torch.nn.Module, members: torch.Tensor, references: torch.Tensor
    ) -> None:
        """Take one step up the gain on these rows."""
        import torch
        from torch.nn.functional import softplus

        rows = torch.cat([members, references])
        # This step changes the attack network only.
        with torch.no_grad():
            logits = module(self._task.x[rows])
        found = self.log_odds(logits, self._task.y[rows])
        inside = found[: len(members)]
        outside = found[len(members) :]
        # Minus the gain: -log h is softplus(-t) and -log(1 - h) is softplus(t) at log-odds t.
        loss = (softplus(-inside).mean() + softplus(outside).mean()) / 2
        descend(self._optimiser, loss, self._weights)
