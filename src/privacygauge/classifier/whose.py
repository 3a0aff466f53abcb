"""Whose the rows are: what is said of units, and of rows that occur more than once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.held import Held, keys
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.resolution import resolution
from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.equal_rows import (
    MATTERS,
    WAY_OUT,
    Equal,
    classed,
    equal_rows,
    repeated_rows,
    said_of_units,
)

_COARSE = 1e-3
"""Predictions in larger steps than this, such as votes of trees, are often equal by chance."""

_SURE = 1e-6
"""A prediction this near to certain equals many others by rounding alone."""


def settled(
    target: Predictions, *, drawn: bool = False, features: Held | None = None
) -> tuple[Predictions, list[str]]:
    """Return predictions whose units are known, and what the reader has to know of them.

    Where no units are given, rows with equal features and equal class count as one unit if they
    also share their side, all but one in a hundred. Rows with equal predictions are only named:
    equal answers may be what a model gives away. Where members were `drawn` by fair, independent
    coins, equal rows need no unit, since their bits are independent.
    """
    if target.unit is not None:
        return target, said_of_units(target.units, target.member)
    if drawn and features is not None:  # `twice` says it before coins are drawn
        return target, []
    if features is None:
        return target, _alike(target, drawn=drawn)
    unit, warnings = equal_rows(
        keys(features), target.labels, target.member, "features", drawn=drawn
    )
    return target if unit is None else replace(target, unit=checks.frozen(unit)), warnings


def _alike(target: Predictions, *, drawn: bool) -> list[str]:
    """Return what to say of rows with equal predictions, which may be one person's.

    They stay apart: a model that gives all of its members one answer gives them away, and would
    hide it if equal answers counted as one.
    """
    found = Equal(units.numbered(_prediction_keys(target)), target.labels)
    warnings = found.on_both_sides("predictions", target.member)
    if warnings and resolution(target).step > _COARSE and not found.copied(target.member):
        warnings = []  # votes of a few trees are often equal by chance
    if drawn or not found.are_units(target.member):
        return warnings
    repeated = int(np.count_nonzero(repeated_rows(found.unit(target.member))))
    return [
        *warnings,
        f"{repeated:,} of {len(target):,} rows have predictions and a class that occur more than "
        "once on their side: if these are rows of one person, intervals are too narrow, and a leak "
        f"may be seen where there is none; {WAY_OUT}",
    ]


def with_unit(target: Predictions, unit: ArrayLike | str | None) -> Predictions:
    """Return predictions with the person behind each row, or the column that names them."""
    return target if unit is None else target.by_unit(unit)


def twice(x: Held, y: Ints) -> list[str]:
    """Return a warning where records are equal that coins put in or leave out one by one."""
    copies = int(np.count_nonzero(repeated_rows(classed(keys(x), y))))
    if copies < max(1, (1 - MATTERS) * len(y)):
        return []
    return [
        f"{copies:,} of {len(y):,} records equal another one in features and class: a record that "
        f"is left out may still be in by its copy, and attacks look weaker than they are; "
        f"{WAY_OUT}"
    ]


def copies(x: Held, y: Ints) -> list[str]:
    """Return a warning where equal records may be one person's, and are left out one at a time."""
    unit, _ = equal_rows(keys(x), y, np.ones(len(y), np.bool_))
    if unit is None:
        return []
    several = int(np.count_nonzero(repeated_rows(unit)))
    return [
        f"{several:,} of {len(y):,} records equal another one in features and class: if these are "
        "records of one person, the others stay when one is left out, and the person moves the "
        f"classifier more than was measured; {WAY_OUT}"
    ]


def _prediction_keys(target: Predictions) -> NDArray[Any]:
    """Return the same number for equal predictions; near-certain ones are all different."""
    same = units.numbered(units.fingerprints(target.values))
    if not target.logits:
        sure = _sure(target)
        same[sure] = len(same) + np.flatnonzero(sure)
    return same


def _sure(target: Predictions) -> Bools:
    sure = np.empty(len(target), np.bool_)
    for rows, block in target.blocks():
        sure[rows] = block.max(axis=1) >= 1 - _SURE
    return sure
