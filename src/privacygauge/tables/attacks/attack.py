"""Interface of attacks on synthetic tables: the adversary's view, and the attack's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.table import Schema, Table

Tables = NDArray[np.floating[Any]]
"""(k, n, F) Values of k tables of n records each, coded as `Table.values`."""


@dataclass(frozen=True, eq=False)
class View:
    """The adversary's view of the question about one target; it contains no secret."""

    schema: Schema
    """Schema of the tables."""
    target: Floats
    """(F,) Target record, coded as `Table.values`."""
    shadows: Tables
    """(s, n, F) Synthetic tables that the adversary made from records it knows: shadow tables."""
    inside: Bools
    """(s,) True where the table was made with the target."""
    released: Tables
    """(t, n, F) Synthetic tables that the adversary has to judge, one by one."""
    known: Table
    """Records known to the adversary: its auxiliary data, without the target."""

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
    """An attack's scores; higher means more likely made with the target."""

    own: Floats
    """(s,) Cross-fitted scores of the adversary's own tables, each by a model trained on other
    tables, so that a threshold can be chosen on them."""
    released: Floats
    """(t,) Scores of the released tables."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the result, one sentence each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "own", checks.floats(self.own, "own"))
        object.__setattr__(self, "released", checks.floats(self.released, "released"))


class TableAttack(Protocol):
    """Attack that scores synthetic tables for one target. Frozen: no state between calls."""

    @property
    def name(self) -> str:
        """Name of the attack in tables and files."""

    @property
    def variant(self) -> str:
        """Variant of the attack; empty where there is only one."""

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return a score for every table, or the reason why the attack cannot be made."""
