"""The order of the records in every epoch, and which models of a stack take part in a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints


def own_order(own: Bools, seed: int, epoch: int) -> Ints:
    """Return a model's records, those where `own` (n,) is true, in the order of one epoch.

    All n records are permuted and those of others struck out, so a record that is left out
    leaves the order of the rest.
    """
    order = seeds.stream(seed, "order", epoch).permutation(len(own))
    return order[own[order]]


@dataclass(frozen=True)
class Step:
    """One step of every epoch, for a stack whose models are sorted by falling size."""

    number: int
    """Counts from 0 in each epoch."""
    active: int
    """The first so many models have a batch left."""
    groups: int
    """The first so many groups of models with the same number of batches are those."""
    rows: int
    """Records in the largest batch."""
    sizes: Ints
    """(active,) Records in each model's batch."""

    @property
    def key(self) -> tuple[int, ...]:
        """The same for steps that need the same room."""
        return (self.active, *self.sizes.tolist())

    @property
    def shares(self) -> Floats:
        """Each record's share in its model's loss, (active, rows), zero where a batch is padded."""
        sizes = self.sizes[:, None]
        return (np.arange(self.rows) < sizes) / sizes

    @property
    def padded(self) -> bool:
        """Whether some batch is smaller than the largest."""
        return bool((self.sizes < self.rows).any())


def steps(sizes: Ints, batch_size: int) -> tuple[Step, ...]:
    """Return the steps of an epoch for models with `sizes` records each, falling."""
    batches = -(-sizes // batch_size)
    found = []
    for number in range(int(batches[0])):
        left = sizes[batches > number] - number * batch_size
        now = np.minimum(left, batch_size)
        groups = len(np.unique(batches[: len(now)]))
        found.append(Step(number, len(now), groups, int(now.max()), now))
    return tuple(found)


def groups(sizes: Ints, batch_size: int) -> tuple[slice, ...]:
    """Return the runs of models with the same number of batches in an epoch."""
    batches = -(-sizes // batch_size)
    edges = [0, *(np.flatnonzero(np.diff(batches)) + 1).tolist(), len(sizes)]
    return tuple(slice(a, b) for a, b in pairwise(edges))


def fill_order(order: Ints, inside: Bools, model_seeds: Sequence[int], epoch: int) -> None:
    """Write the records of every batch of an epoch to `order`, (steps, m, batch_size).

    What is left of a batch is filled with the model's own first record, so that nothing of
    another model's records can reach it.
    """
    n_steps, _, batch_size = order.shape
    for model, (own, seed) in enumerate(zip(inside, model_seeds, strict=True)):
        mine = own_order(own, seed, epoch)[: n_steps * batch_size]
        padded = np.full(n_steps * batch_size, mine[0])
        padded[: len(mine)] = mine
        order[:, model] = padded.reshape(n_steps, batch_size)
