"""What an attack on synthetic tables sees, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.table import Table

Tables = NDArray[np.floating[Any]]
"""(k, n, F) The values of k tables of n records each, coded as `Table.values`."""


@dataclass(frozen=True, eq=False)
class View:
    """What the adversary has when it is asked about one record; no secret is in it."""

    schema: Schema
    """The columns."""
    target: Floats
    """(F,) The record it is asked about, coded as `Table.values`."""
    shadows: Tables
    """(s, n, F) Synthetic tables that it made itself, from records that it knows."""
    inside: Bools
    """(s,) True where the record was among those that the table was made from."""
    released: Tables
    """(t, n, F) The synthetic tables that it is asked about, each on its own."""
    known: Table
    """Records that it knows: its auxiliary data, without the target."""

    def __post_init__(self) -> None:
        width = len(self.schema.columns)
        target = checks.vector(self.target, "target", length=width)
        for name in ("shadows", "released"):
            shape = getattr(self, name).shape
            if len(shape) != 3 or shape[2] != width:
                raise InputError(f"{name} must have the shape (k, n, {width}), got {shape}")
        inside = checks.bools(self.inside, "inside", length=len(self.shadows))
        if inside.all() or not inside.any():
            raise InputError(
                "the adversary's tables must hold some with and some without the target"
            )
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "inside", inside)


@dataclass(frozen=True, eq=False)
class Answer:
    """An attack's scores: higher means that the record was more likely among those learnt from."""

    own: Floats
    """(s,) Of the adversary's own tables, each scored by what was learnt from the others, so that
    a threshold can be learnt on them."""
    released: Floats
    """(t,) Of the released tables."""
    notes: tuple[str, ...] = ()
    """What the reader of the result should know, one sentence each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "own", checks.floats(self.own, "own"))
        object.__setattr__(self, "released", checks.floats(self.released, "released"))


class TableAttack(Protocol):
    """Scores synthetic tables for one target. Frozen: no state between calls."""

    @property
    def name(self) -> str:
        """The attack's name in tables and files."""

    @property
    def variant(self) -> str:
        """Which of its forms this is; empty where there is one only."""

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return a score for every table, or the reason why the attack cannot be played."""
