"""Which records an audit of a generator attacks, and how they were chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, seeds
from privacygauge.errors import InputError
from privacygauge.synthetic.selection import (
    LogLikelihood,
    Random,
    Ranked,
    RareValue,
    Selection,
    Selector,
    Vulnerable,
)
from privacygauge.synthetic.table import Table
from privacygauge.synthetic.vulnerability import Vulnerability

TargetsAsked = int | str | ArrayLike | Mapping[str, ArrayLike]
"""So many, "all", rows, or groups of rows by name."""

SELECTORS: Mapping[str, Selector] = {
    "distance": Vulnerable(),
    "random": Random(),
    "rare": RareValue(),
    "likelihood": LogLikelihood(),
}
"""Ways to choose records, by name."""


def select_targets(
    table: Table,
    targets: TargetsAsked,
    select: str | Sequence[str],
    seed: int,
    known: Callable[[], Vulnerability] | None = None,
) -> tuple[Selection, ...]:
    """Return the records to attack, by the way in which they were chosen.

    `known` gives the vulnerability of all records, where it is needed beside.
    """
    if isinstance(targets, str):
        if targets != "all":
            raise InputError(f'targets must be a number, rows, or "all", got {targets!r}')
        return (Selection("all records", np.arange(len(table))),)
    if isinstance(targets, Mapping):
        if not targets:
            raise InputError("targets must name at least one group, got none")
        return tuple(
            Selection(name, checks.integers(rows, f"targets {name!r}"))
            for name, rows in targets.items()
        )
    if not isinstance(targets, int | np.integer):
        return (Selection("given", checks.integers(targets, "targets")),)
    names = (select,) if isinstance(select, str) else tuple(select)
    unknown = [name for name in names if name not in SELECTORS]
    if unknown or not names:
        raise InputError(
            f"select must name some of {checks.listed(SELECTORS)}, got {checks.listed(names)}"
        )
    selectors: Mapping[str, Selector] = SELECTORS
    if known is not None:
        selectors = {**SELECTORS, "distance": Ranked(known)}
    return tuple(
        selectors[name](table, int(targets), seeds.stream(seed, "select", name)) for name in names
    )
