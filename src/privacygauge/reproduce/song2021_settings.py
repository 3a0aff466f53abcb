"""The data of Song & Mittal (2021): the user's own copies, or Location30 in their place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.datasets.local_copies import (
    data_folders,
    file_in,
    location30,
    own_file,
    purchase100,
    texas100,
)
from privacygauge.errors import InputError

PURCHASE = "Purchase100"
TEXAS = "Texas100"
LOCATION = "Location30"

FILES = {PURCHASE: ("dataset_purchase",), TEXAS: ("feats", "labels")}
"""Where copies of the user's are looked for, in the folder that PRIVACYGAUGE_DATA names."""

MEMBERS = {PURCHASE: 19_732, TEXAS: 10_000, LOCATION: 1_000}
"""Records that a target learns from."""

_ACTIVATIONS = {PURCHASE: "tanh", TEXAS: "relu", LOCATION: "tanh"}


@dataclass(frozen=True)
class Side:
    """The records of a target or of a shadow model."""

    first: int
    """Its first member; non-members follow, as many."""
    n_train: int
    """Its members."""
    reference: range = range(0)
    """Its reference records for adversarial regularisation, which are neither."""

    @property
    def rows(self) -> Ints:
        """(2 n_train,) Members, then non-members."""
        return np.arange(self.first, self.first + 2 * self.n_train)

    def inside(self, n: int) -> Bools:
        """Return which of n records are members."""
        found = np.zeros(n, np.bool_)
        found[self.first : self.first + self.n_train] = True
        return found

    def predictions(self, logits: NDArray[Any], y: Ints) -> Predictions:
        """Return what a model that is asked about the first records, (a, k), says of its own."""
        member = self.inside(len(y))[self.rows]
        return predictions(
            logits=logits[self.rows], labels=y[self.rows], member=member, name="model"
        )


@dataclass(frozen=True, eq=False)
class DataSetting:
    """Data, and who learns which of them."""

    name: str
    """Of the data."""
    x: NDArray[Any]
    """(n, d) Features."""
    y: Ints
    """(n,) Classes in 0..k-1."""
    sides: tuple[Side, Side]
    """The target's and the shadow model's."""
    activation: str
    """Of the classifiers: the paper's for these data."""

    @property
    def n_asked(self) -> int:
        """How many of the first records models are asked about: those of both sides."""
        return 4 * self.sides[0].n_train


def states(seed: int, role: int, n: int) -> tuple[int, ...]:
    """Return the random states of n targets (role 0) or shadow models (role 1)."""
    return tuple(int(seeds.stream(seed, "model", role, i).integers(2**31)) for i in range(n))


def available(*wanted: str) -> str:
    """Return the first of these data that the reader has a copy of; without one Location30."""
    for folder in data_folders():
        for name in wanted:
            if all(file_in(folder, file) is not None for file in FILES[name]):
                return name
    return LOCATION


def own_note(name: str) -> tuple[str, ...]:
    """Return the note on data that are the reader's own; none on the stand-in."""
    if name == LOCATION:
        return ()
    return (
        f"Made on the reader's copy of {name}: what the notes below say of Location30, and of the "
        "authors' predictions, is about the results without a copy.",
    )


def setting(wanted: str, seed: int) -> DataSetting:
    """Return the user's copy of these data, in random order; without one Location30.

    Song & Mittal (2021), section 3.3: a tenth of Purchase100 and 10,000 records of Texas100 are
    members. Its own choice of records is not published.

    Parameters
    ----------
    wanted : str
        Purchase100, Texas100 or Location30.
    seed : int
        Of the order.
    """
    paths = [own_file(name) for name in FILES.get(wanted, ())]
    there = [path for path in paths if path is not None]
    if not there or len(there) < len(paths):
        # Location30 comes in the order of those who published it.
        return _cut(LOCATION, *location30())
    x, y = _read_data(wanted, there)
    order = seeds.stream(seed, "records", wanted).permutation(len(y))
    return _cut(wanted, x[order], y[order])


def _read_data(wanted: str, paths: list[Path]) -> tuple[NDArray[Any], Ints]:
    packed = next((path for path in paths if path.suffix == ".gz"), None)
    if packed is not None:
        raise InputError(f"{wanted} must be unpacked, got {packed.name}: unpack it there")
    return purchase100(*paths) if wanted == PURCHASE else texas100(*paths)


def _cut(name: str, x: NDArray[Any], y: Ints) -> DataSetting:
    n = MEMBERS[name]
    left = len(y) - 4 * MEMBERS[name]
    if left < 2:
        raise InputError(
            f"{name} must have more than {4 * n} records, got {len(y)}: get the whole file"
        )
    half = min(left // 2, n)
    references = (range(4 * n + i * half, 4 * n + (i + 1) * half) for i in range(2))
    target, shadow = (Side(2 * i * n, n, rows) for i, rows in enumerate(references))
    return DataSetting(name, x=x, y=y, sides=(target, shadow), activation=_ACTIVATIONS[name])
