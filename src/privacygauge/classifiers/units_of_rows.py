"""Units of rows: which rows belong to one person, and warnings about repeated rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.held import Held, keys, numeric
from privacygauge.classifiers.neighbours import blocks_in_order, clustered_points, people_in_order
from privacygauge.classifiers.predictions import Predictions, blocks_of
from privacygauge.classifiers.signals import Resolution, resolution
from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.repeats import interpolated_rows, is_clustered, near_repeats
from privacygauge.core.units import (
    MATTERS,
    WAY_OUT,
    Equal,
    number_with_class,
    repeated_rows,
    said_of_units,
)

_COARSE = 1e-3
"""Step of predictions above which rows are often equal by chance, as with votes of trees."""

_SURE = 1e-6
"""Distance from 1 within which probabilities are often equal by rounding alone."""


@dataclass(frozen=True, eq=False)
class PredictionsOfUnits:
    """Predictions with settled units, and the rows that the comparison treats differently."""

    target: Predictions
    """The predictions, with the unit of each row if rows repeat."""
    warnings: tuple[str, ...]
    """Caveats about units and repeated rows."""
    across: Bools
    """(n,) True for rows with an equal or nearly equal row on the other side. No attack can
    separate the two, so the comparison leaves them out."""
    invented: Bools
    """(n,) True for rows exactly between two others of their class and side: oversampling made
    them, they belong to nobody, and the comparison leaves them out, too."""
    repeated: Bools | None = None
    """(n,) True for rows that repeat another row of their unit; None unless one side has more of
    them. A minority that was copied before training has more rows among the members, but not more
    people."""
    clustered: bool = False
    """Whether rows seem to belong to the same people although no column says so."""
    together: Ints | None = None
    """(n,) Numbers, the same for rows that equal each other on both sides; None without any."""


def settle_units(
    target: Predictions,
    *,
    drawn: bool = False,
    features: Held | None = None,
    others: Floats | None = None,
) -> PredictionsOfUnits:
    """Return the predictions with settled units, and the notes on how they were settled.

    Units that are given stay. Otherwise rows that are equal in features and class form one unit,
    and so do rows that lie far closer to each other than chance explains (`near_repeats`). Without
    features, predictions take their place, except in large groups of equal answers: a model that
    gives all its members one answer reveals them, which a single unit would hide. Without features,
    adjacent rows of the file with similar answers also form one unit (`people_in_order`). If fair,
    independent coins chose the members (`drawn`), repeated rows need no unit, since their bits are
    independent.

    Parameters
    ----------
    target : Predictions
    drawn : bool
        Whether fair, independent coins chose the members.
    features : Held, optional
        The records themselves.
    others : ndarray, shape (n, d), optional
        Answers of other models to the same records. Equal records get equal answers from every
        model, so rows that differ here are different records that only the target answers alike,
        such as members that it has memorised.
    """
    nobody = np.zeros(len(target), np.bool_)
    # Rows that lie between two others by features, or by float columns, may be made up.
    if drawn:
        invented = nobody
    else:
        numbers_of = None if features is None else numeric(features)
        if features is None:
            floats = [x for x in target.columns.values() if np.asarray(x).dtype.kind == "f"]
            numbers_of = np.column_stack(floats) if floats else None
        if numbers_of is None:
            invented = np.zeros(len(target), np.bool_)
        else:
            # One group per class and side: oversampling interpolates within a class of the
            # training set.
            invented = interpolated_rows(
                np.asarray(numbers_of, np.float64), 2 * target.labels + target.member
            )
    if target.unit is not None:
        return PredictionsOfUnits(
            target,
            tuple(said_of_units(target.units, target.member)),
            nobody,
            invented,
            repeated=None if drawn else _unequal_repeats(target),
        )
    if drawn and features is not None:  # `twice` warns before coins are drawn
        return PredictionsOfUnits(target, (), nobody, nobody)
    what = "predictions" if features is None else "features"
    if features is None:
        # Equal for equal predictions, unique for near-certain ones.
        shown = units.number_units(units.fingerprints(target.values))
        if not target.logits:
            sure = np.empty(len(target), np.bool_)
            for block_rows, block in blocks_of(target.values):
                sure[block_rows] = block.max(axis=1) >= 1 - _SURE
            shown[sure] = len(shown) + np.flatnonzero(sure)
        key = _apart_by(others, shown)
    else:
        key = keys(features)
    found = Equal(units.number_units(key), target.labels)
    across = found.across(target.member)
    warnings = found.on_both_sides(f"{what} and class", target.member)
    if features is None and not found.copied(target.member):
        # Leaves of a tree and votes of a few are often equal by chance, on one side as on both.
        warnings = []
    if not warnings:
        across = nobody
    together = found.with_copies(across) if across.any() else None
    if drawn:
        return PredictionsOfUnits(target, tuple(warnings), nobody, nobody)
    unit = None
    # Equal rows are one person's unless too many of them differ in class or side. Equal predictions
    # must also form small groups: a large one is a common answer of the model.
    resolved = resolution(target) if features is None else None
    coarse = resolved is not None and resolved.step > _COARSE
    of_people = found.are_units(target.member, coarse=coarse)
    # Without the rows that are equal across the sides, others that are equal are on one side by
    # choice, so that their sides are not independent, whoever they are.
    chosen = features is not None and across.any()
    if chosen or (of_people and (features is not None or found.small(target.member))):
        unit = found.unit(target.member)
    elif features is None:
        # Even then it shows if every row was copied: all groups' sizes have a common divisor.
        same = _apart_by(others, units.number_units(units.fingerprints(target.values)))
        answers = Equal(units.number_units(same), target.labels)
        unit = answers.copies_of_each(target.member)
    points = _points(target, features, resolved)
    if features is None and others is not None and points.shape[1]:
        # Views of one record are near to each other in the answers of every model.
        points = np.column_stack([points, others])
    near = near_repeats(points, target.labels, target.member)
    if near is not None:
        number, copies = near
        unit = units.join_units(number, unit)
        if copies.any() and not across.any():
            warnings.append(
                f"{int(np.count_nonzero(copies & target.member)):,} members nearly equal a "
                f"non-member in {what} and class: no attack can tell them apart, and attacks look "
                f"weaker than they are; take them out of one side, or {WAY_OUT}"
            )
        across = across | copies
    if unit is not None:
        repeated = int(np.count_nonzero(repeated_rows(unit)))
        nearly = "equal" if near is None else "nearly equal"
        warnings.append(
            f"{repeated:,} of {len(unit):,} rows are {nearly} to others of their class and side in "
            f"{what}: such rows count as one, so that {checks.n_distinct(unit):,} units are left; "
            f"{WAY_OUT}"
        )
        target = replace(target, unit=checks.frozen(unit))
    if features is None:
        values = np.asarray(target.values, np.float64)
        if not target.logits:
            values = np.log(np.maximum(values, _LEAST))
        # Centred log-probabilities equal centred logits, so both kinds are compared on one scale.
        values = values - values.mean(axis=1, keepdims=True)
        unit, said = units_in_order(values, target.labels, target.member, target.unit)
        warnings += said
        if unit is not None:
            target = replace(target, unit=checks.frozen(unit))
    # One row per unit: distant views of a record may not all be joined, so what is left is tested.
    one_each = target if unit is None else target[np.unique(unit, return_index=True)[1]]
    clustered = _of_unnamed_people(one_each, resolved)
    return PredictionsOfUnits(
        target=target,
        warnings=tuple(warnings),
        across=across,
        invented=invented,
        repeated=_unequal_repeats(target),
        clustered=clustered,
        together=together,
    )


def _unequal_repeats(target: Predictions) -> Bools | None:
    """Return a mask of the rows that repeat another of their unit and side, (n,).

    None unless one side has significantly more units with several rows, and nearly all of these
    have one answer: the rows of a person who came several times get different answers, even if the
    model has memorised some of them.
    """
    answer = number_with_class(units.fingerprints(target.values), target.labels)
    # From here on a unit with rows on both sides counts as two, one per side.
    _, unit, size = np.unique(
        2 * target.units + target.member, return_inverse=True, return_counts=True
    )
    # The unit of each distinct pair of unit and answer.
    of_unit = np.unique(np.column_stack([unit, answer]), axis=0)[:, 0]
    n_answers = np.bincount(of_unit, minlength=len(size))
    several = size > 1
    if not several.any() or np.mean(n_answers[several] > 1) > _FEW_DIFFER:
        return None
    _, first = np.unique(unit, return_index=True)
    is_member = target.member[first]
    n_in = np.count_nonzero(is_member)
    n_out = len(first) - n_in
    if min(n_in, n_out) == 0:
        return None
    # Two-proportion z-test on the share of units with several rows, with the pooled error.
    share = np.mean(several)
    error = np.sqrt(share * (1 - share) * (1 / n_in + 1 / n_out))
    gap = np.mean(several[is_member]) - np.mean(several[~is_member])
    if abs(gap) <= _STANDARD_ERRORS * error:
        return None
    # All rows but the first of each answer in a unit.
    repeated = np.ones(len(target), np.bool_)
    repeated[np.unique(np.column_stack([unit, answer]), axis=0, return_index=True)[1]] = False
    return repeated


_FEW_DIFFER = 0.05
"""Largest share of the units with several rows that may have several answers, for the rows to count
as copies."""
_STANDARD_ERRORS = 3.0
"""Smallest difference of the sides' shares of repeated units, in standard errors."""


def units_in_order(
    points: Floats, group: Ints, member: Bools, unit: Ints | None
) -> tuple[Ints | None, list[str]]:
    """Return units with adjacent rows of one person or block, (n,), and warnings.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        A model's answer to each row, in the order of the file.
    group : ndarray of int, shape (n,)
        Class of each row.
    member : ndarray of bool, shape (n,)
        The side of each row.
    unit : ndarray of int, shape (n,), optional
        Units that are known, which are joined to those found.
    """
    warnings = []
    people = people_in_order(points, group, member)
    if people is not None:
        linked = int(np.count_nonzero(repeated_rows(people)))
        unit = units.join_units(people, unit)
        warnings.append(
            f"{linked:,} of {len(people):,} rows stand next to others of their class and side that "
            "are answered far more alike than rows a few dozen places away, as several rows of one "
            f"person are: such rows count as one, so that {checks.n_distinct(unit):,} units are "
            f"left; {WAY_OUT}"
        )
    # Dependence within the people that were just found does not count as that of a block.
    known = np.arange(len(points)) if unit is None else unit
    blocks = blocks_in_order(points, group, member, known)
    if blocks is not None:
        unit = units.join_units(blocks, unit)
        warnings.append(
            "members and non-members stand in stretches in the file, longer than single rows would "
            "by chance, and the answers to neighbours in a stretch depend on each other, as those "
            f"of a recording or of one person do: {checks.n_distinct(unit):,} blocks of such rows "
            f"count as units; {WAY_OUT}"
        )
    return unit, warnings


_LEAST = 1e-4
"""Floor of probabilities before the logarithm, when adjacent rows are compared."""


def _of_unnamed_people(target: Predictions, resolved: Resolution | None) -> bool:
    """Return whether rows with similar answers share a side more often than chance explains."""
    values = np.array(target.values, np.float64)
    rows = np.arange(len(values))
    # The margin of the true class over the best other class, (n,).
    own = values[rows, target.labels]
    values[rows, target.labels] = -np.inf
    margin = np.asarray(own - values.max(axis=1), np.float64)
    if is_clustered(margin, target.labels, target.member):
        return True
    points = _points(target, None, resolved)
    # Votes and rounded values give no columns: a lattice has no meaningful neighbours.
    top = np.sort(points, axis=1)[:, -2:]
    if top.shape[1] < 2:
        return False
    # Signals through which a release itself may leak: the margin, the lead of the top class, its
    # height, and the spread of the answer.
    seen = np.column_stack([margin, top[:, 1] - top[:, 0], top[:, 1], points.std(axis=1)])
    return clustered_points(points, target.labels, target.member, seen)


def _points(target: Predictions, features: Held | None, resolved: Resolution | None) -> Floats:
    """Return rows as points for finding near repeats, (n, d): features if they are numbers.

    Otherwise centred log-probabilities or logits, floored at `resolved`, the predictions'
    resolution; no columns, (n, 0), if predictions lie on a lattice.
    """
    known = None if features is None else numeric(features)
    if known is not None and known.shape[1] > 1:
        return np.asarray(known, np.float64)
    if resolved is None or resolved.step > _COARSE:
        return np.empty((len(target), 0))  # votes and rounded values lie on a lattice
    values = np.asarray(target.values, np.float64)
    if not target.logits:
        values = np.log(np.maximum(values, resolved.least.max()))
    return np.asarray(values - values.mean(axis=1, keepdims=True), np.float64)


def twice(x: Held, y: Ints) -> list[str]:
    """Return a warning if separate coins put equal records in or leave them out."""
    copies = int(np.count_nonzero(repeated_rows(number_with_class(keys(x), y))))
    if copies < max(1, (1 - MATTERS) * len(y)):
        return []
    return [
        f"{copies:,} of {len(y):,} records equal another one in features and class: a record that "
        f"is left out may still be in by its copy, and attacks look weaker than they are; "
        f"{WAY_OUT}"
    ]


def _apart_by(others: Floats | None, same: NDArray[Any]) -> NDArray[Any]:
    """Return group numbers of rows that are equal in the answers of other models, too, (n,)."""
    if others is None:
        return same
    return number_with_class(
        units.number_units(same), units.number_units(units.fingerprints(others))
    )
