"""Worlds: the adversary's own models, each trained on the records that fair coins put in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscope.core import checks
from leakscope.core.checks import Bools, Floats
from leakscope.errors import InputError


def coin_flips(n_worlds: int, n_records: int, rng: np.random.Generator) -> Bools:
    """Return who is inside which world, by independent fair coins.

    Independent coins, and not exactly half of the worlds for every record: with exact halves
    the number of worlds that hold a record, the target's included, is known, and the count
    alone gives the target's bit away.

    Parameters
    ----------
    n_worlds, n_records : int
        At least 1.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (n_worlds, n_records)
        True where the record is in the world's training set.
    """
    if n_worlds < 1 or n_records < 1:
        raise InputError(f"at least one world and one record, got {n_worlds} and {n_records}")
    return rng.random((n_worlds, n_records)) < 0.5


@dataclass(frozen=True, eq=False)
class Worlds:
    """The target's signal beside the signals of the adversary's worlds."""

    signal: Floats
    """(n,) The signal that the target model gives on every target."""
    worlds: Floats
    """(k, n) The same signal from each of the adversary's k models."""
    inside: Bools
    """(k, n) True where the model was trained on the target."""

    def __post_init__(self) -> None:
        signal = checks.floats(self.signal, "signal")
        worlds = np.asarray(self.worlds, np.float64)
        inside = np.asarray(self.inside, np.bool_)
        if worlds.ndim != 2 or worlds.shape[1] != len(signal) or worlds.shape != inside.shape:
            raise InputError(
                "worlds and inside must have the shape (k, n) with n targets, "
                f"got {worlds.shape} and {inside.shape} for {len(signal)} targets"
            )
        if not np.isfinite(worlds).all():
            raise InputError("worlds must be finite")
        object.__setattr__(self, "signal", signal)
        object.__setattr__(self, "worlds", checks.frozen(worlds))
        object.__setattr__(self, "inside", checks.frozen(inside))
