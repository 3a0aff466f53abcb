"""People behind the records: as given, or found by equal rows and by columns that stay constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.units import WAY_OUT, Equal, repeated_rows, said_of_units
from privacygauge.errors import InputError
from privacygauge.tables.released.drift import drifted_columns
from privacygauge.tables.released.tables import (
    ReleasedTables,
    stack_tables,
)


@dataclass(frozen=True)
class People:
    """Reason why the people behind the holdout's records are not a control."""

    n_real: int
    """Number of people behind the real records."""
    n_holdout: int
    """Number of people behind the holdout's records."""
    shared: int
    """Number of the latter who have records in the real table too."""

    @property
    def few(self) -> bool:
        """True if a side has too few people; False if people are on both sides."""
        return min(self.n_real, self.n_holdout) < FEWEST_PEOPLE


FEWEST_PEOPLE = 20
"""Fewest people per side. Fewer are not a control: attacks that recognise rows of one person would
look strong, where these rows may belong to even fewer people, as visits do."""
_MOSTLY = 0.5
"""Largest share of the holdout's people with real records at which they are other people."""


def same_people(tables: ReleasedTables) -> People | None:
    """Return the reason why the holdout's people are not a control; None if they are.

    If every person has one record per side, the numbers may be row numbers that start again in each
    file: numbers that occur on both sides then mean nothing.
    """
    if tables.holdout is None:
        return None
    (real, of_real), (holdout, of_holdout) = (
        np.unique(side, return_counts=True) for side in tables.units
    )
    found = People(len(real), len(holdout), len(np.intersect1d(real, holdout)))
    several = max(of_real.max(), of_holdout.max()) > 1
    if found.few or (several and found.shared > _MOSTLY * found.n_holdout):
        return found
    return None


def with_people(
    tables: ReleasedTables, unit: ArrayLike | None, holdout_unit: ArrayLike | None
) -> tuple[ReleasedTables, list[str]]:
    """Return tables with the person behind each record, and notes on it.

    If no people are given, equal records are taken for one person's if all but one in a hundred of
    them lie on one side.

    Raises
    ------
    InputError
        If only the holdout's people are given, or a length is wrong.
    """
    n = len(tables.real)
    m = 0 if tables.holdout is None else len(tables.holdout)
    member = np.arange(n + m) < n
    if unit is None and tables.people_named:
        return tables, said_of_units(np.concatenate(tables.units), member) if m else []
    if unit is None:
        if holdout_unit is not None:
            raise InputError("holdout_unit names people: give unit for the real records too")
        if tables.holdout is None:
            return tables, []
        both = stack_tables(tables.real, tables.holdout)
        # NaN does not equal NaN: a missing value becomes a value that compares.
        values = np.where(np.isnan(both.values), np.inf, both.values)
        # Records that equal one on the other side are left to the overlap, which removes them from
        # both sides.
        alike = Equal(units.number_units(units.fingerprints(values)), np.zeros(n + m, np.int64))
        # Equal records of different people lie on one side by chance quite often, and the more so,
        # the more the sizes of the sides differ.
        found = alike.unit(member) if alike.are_units(member, coarse=True) else None
        names_of_all = tables.schema.names
        learnt = [names_of_all.index(name) for name in tables.learnt if name in names_of_all]
        if found is not None:
            of_each = replace(tables, unit=found[:n], holdout_unit=found[n:], people_named=False)
            drifted = drifted_columns(of_each, np.random.default_rng(0))
            codes = [np.unique(column, return_inverse=True)[1] for column in values.T]
            elsewhere = {*of_things(codes, learnt), *map(names_of_all.index, drifted)}
            kept = [code for j, code in enumerate(codes) if j not in elsewhere]
            # Where prices are others in the whole holdout, no row equals one of the other side.
            # Rows of different people are equal in the other columns as often across the sides.
            group = _number_by_codes(kept or [np.zeros(n + m, np.int64)])
            within = _n_pairs(group[:n]) + _n_pairs(group[n:])
            across = 2 * n * m / (n * (n - 1) + m * (m - 1))
            if elsewhere and _n_pairs(group) - within >= _ON_BOTH * across * within:
                found = None
        said = []
        if found is not None:
            several = int(np.count_nonzero(repeated_rows(found)))
            said = [
                f"{several:,} of {n + m:,} records equal another one on their side, and hardly any "
                "one on the other side: equal records count as one person, so that "
                f"{checks.n_distinct(found):,} people are left; {WAY_OUT}"
            ]
        # Equal rows belong to one person whatever else they share: one of each is examined.
        one = np.arange(n + m) if found is None else np.unique(found, return_index=True)[1]
        constant = constant_columns(values[one], member[one], learnt)
        if constant is not None:
            names = checks.short_list((repr(tables.schema.names[j]) for j in constant), 3)
            said = [
                *(said if found is None else ()),
                f"rows that agree in {names} are on one side, far more often than chance explains: "
                "they are taken for rows of one person, and none for independent; name the column "
                "of the people, if there is one (--unit), or row numbers where all are different "
                "people",
            ]
            found = rows_of_people(values, constant, member)
    else:
        real = checks.present(checks.vector(unit, "unit", length=n), "unit")
        if holdout_unit is None:
            own = units.number_units(real)
            found = np.concatenate([own, int(own.max()) + 1 + np.arange(m)])
        else:
            others = checks.vector(holdout_unit, "holdout_unit", length=m)
            others = checks.present(others, "holdout_unit")
            # Compared as texts, since 7 in one file may be "7" in the other.
            persons = [str(name) for name in (*real.tolist(), *others.tolist())]
            found = units.number_units(np.array(persons))
        said = said_of_units(found, member) if m else []
    if found is None:
        return tables, said
    of_holdout = found[n:] if m else None
    return replace(tables, unit=found[:n], holdout_unit=of_holdout, people_named=False), said


# Detection of several rows per person, by columns that stay constant from row to row.

_COLUMNS = 12
"""Most columns tested for being constant: those with the most distinct values."""
_TOGETHER = 3
"""Most columns that identify people jointly."""
_ROWS = 10_000
"""Most rows per side that are examined."""
_SURE = 1e-9
"""Largest p-value at which equal rows on one side are not chance."""
_ONE_SIDED = 0.9
"""Smallest share of the groups of equal rows that must be on one side."""
_TOGETHER_MORE = 5.0
"""Smallest ratio of agreeing pairs to those expected if the columns were independent."""
_MOSTLY_ONE_SIDED = 0.75
"""Smallest one-sided share of groups of rows that agree in many columns; lower than `_ONE_SIDED`,
since strangers may agree in all of them."""
_TOGETHER_MORE_WITHIN = 2.5
"""Smallest ratio of agreeing pairs to those of independent columns, within the sides."""
_DRIFT = 0.15
"""Excess over chance of neighbouring values on the same side above which a column drifts."""
_SAME_ROWS = 0.8
"""Smallest share of pairs of equal rows that other columns must group alike, and no more of them,
for these to be the rows of things."""
_ON_BOTH = 0.5
"""Smallest number of such pairs across the sides, of what things on both sides would have."""
_DETERMINED = 0.9
"""Smallest share of pairs of rows of one thing that agree in a column that it determines."""
_FEWEST = 20
"""Fewest groups of equal rows that give evidence."""


def constant_columns(
    values: Floats, member: Bools, learnt: Sequence[int] = ()
) -> tuple[int, ...] | None:
    """Return the columns that identify the rows of one person; None if there are none.

    Parameters
    ----------
    values : ndarray, shape (n, F)
        Values of the real records and the holdout; a missing value equals a missing one.
    member : ndarray of bool, shape (n,)
        True for real records.
    learnt : sequence of int
        Columns of places, things or times that only one side has: what they determine makes no
        people.

    Notes
    -----
    A person's birthday, sex and town are the same in all of their rows, and all of these rows are
    on one side if people, not rows, were assigned to the sides. Rows of different people that agree
    by chance are spread over both. Among all sets of two or three columns whose groups of equal
    rows keep to one side far beyond chance, the set with the most rows in such groups is returned.
    Without one, a single column of this kind is returned, unless neighbouring values keep to the
    same side too.
    """
    few = np.concatenate([np.flatnonzero(member)[:_ROWS], np.flatnonzero(~member)[:_ROWS]])
    side = member[few]
    n = int(side.sum())
    m = int((~side).sum())
    if min(n, m) < _FEWEST:
        return None
    codes = [np.unique(column, return_inverse=True)[1] for column in values[few].T]
    order = sorted(
        set(range(len(codes))) - set(of_things(codes, learnt)), key=lambda j: -int(codes[j].max())
    )[:_COLUMNS]
    pairs = (n + m) * (n + m - 1) / 2
    # Share of pairs that lie on one side: chance that a group of two rows does.
    by_chance = (n * (n - 1) + m * (m - 1)) / 2 / pairs
    agree = {j: _n_pairs(codes[j]) / pairs for j in order}
    best = None
    most = 0
    for size in range(2, _TOGETHER + 1):
        for columns in combinations(sorted(order), size):
            group = _number_by_codes([codes[j] for j in columns])
            n_groups, n_alone, rows = _one_sided(group, side)
            if n_groups < _FEWEST or n_alone < _ONE_SIDED * n_groups:
                continue
            # Had the columns been independent, this many pairs of rows would agree in all of them.
            expected = pairs * float(np.prod([agree[j] for j in columns]))
            if _n_pairs(group) < _TOGETHER_MORE * expected:
                continue
            if rows <= most or binom.sf(n_alone - 1, n_groups, by_chance) >= _SURE:
                continue
            if not _are_things(group, codes, order, side):
                best = columns
                most = rows
    if best is not None:
        return best
    # A single column whose equal values keep to one side while neighbouring values do not. If the
    # sides are two years, dates keep to one side, and so do neighbouring dates: that is a drift. A
    # birthday keeps to its person's side, and the next birthday may be on either side.
    for j in order:
        n_groups, n_alone, _ = _one_sided(codes[j], side)
        if n_groups < _FEWEST or n_alone < _ONE_SIDED * n_groups:
            continue
        if binom.sf(n_alone - 1, n_groups, by_chance) >= _SURE:
            continue
        count = np.bincount(codes[j])
        real = np.bincount(codes[j][side], minlength=len(count))
        # In ascending order of the values: neighbours are adjacent values.
        mostly_real = (real > count / 2)[count > 0]
        alike = float(np.mean(mostly_real[1:] == mostly_real[:-1]))
        share = float(mostly_real.mean())
        # Independent values are on the same side with probability p^2 + (1 - p)^2.
        is_drift = alike > share**2 + (1 - share) ** 2 + _DRIFT
        if not is_drift and not _are_things(codes[j], codes, order, side):
            return (j,)
    return _grown(codes, order, side)


def of_things(codes: Sequence[Ints], learnt: Sequence[int]) -> list[int]:
    """Return the columns of places, things and times, and those that one of these determines.

    Rows of one article agree in its size and colour, whoever has bought it.
    """
    found = set(learnt)
    for key in learnt:
        pairs = _n_pairs(codes[key])
        for j, code in enumerate(codes):
            if _n_pairs(_number_by_codes([codes[key], code])) >= _DETERMINED * max(pairs, 1.0):
                found.add(j)
    return sorted(found)


def _are_things(group: Ints, codes: Sequence[Ints], order: Sequence[int], side: Bools) -> bool:
    """Return whether groups of rows are of things, such as articles whose prices have changed.

    An article's rows agree in its size and its price. If the prices are others on the other side,
    its groups keep to one side, as a person's would. But its size alone groups the same rows of a
    side as well, and stands on both sides.
    """
    of_group = _number_by_codes([side.astype(np.int64), group])
    wanted = _SAME_ROWS * _n_pairs(of_group)
    n = int(side.sum())
    m = len(side) - n
    across = 2 * n * m / (n * (n - 1) + m * (m - 1))
    for size in (1, 2):
        for columns in combinations(sorted(order), size):
            other = _number_by_codes([codes[j] for j in columns])
            within = _n_pairs(other[side]) + _n_pairs(other[~side])
            both = _n_pairs(_number_by_codes([of_group, other]))
            on_both = _n_pairs(other) - within
            if both >= max(wanted, _SAME_ROWS * within) and on_both > _ON_BOTH * across * within:
                return True
    return False


def _grown(codes: Sequence[Ints], order: Sequence[int], side: Bools) -> tuple[int, ...] | None:
    """Return columns that identify people jointly, though none of them does so alone.

    Strangers share sex, town, schooling or age, but few share all of them. Pairs of rows that agree
    within a side, in excess of pairs that agree across the sides, belong to one person: adding a
    column that is constant per person keeps them and removes strangers' pairs, and adding any other
    column removes both. So columns are added greedily as long as the excess of pairs within the
    sides grows relative to its standard error.
    """
    n = int(side.sum())
    m = len(side) - n
    across = n * m
    within = (n * (n - 1) + m * (m - 1)) / 2

    def excess(group: Ints) -> float:
        same = _n_pairs(group[side]) + _n_pairs(group[~side])
        others = _n_pairs(group) - same
        # Pairs across are scaled to the number of pairs within; the spread is that of Poisson
        # counts.
        return float((same - others * within / across) / np.sqrt(max(same + others, 1.0)))

    chosen: list[int] = []
    group = np.zeros(len(side), np.int64)
    reached = -np.inf
    while len(chosen) < len(order):
        further = {j: _number_by_codes([group, codes[j]]) for j in order if j not in chosen}
        gained = {j: excess(one) for j, one in further.items()}
        best = max(gained, key=lambda j: gained[j])
        if gained[best] <= reached:
            break
        chosen.append(best)
        group = further[best]
        reached = gained[best]
    n_groups, n_alone, _ = _one_sided(group, side)
    if len(chosen) < 2 or n_groups < _FEWEST or n_alone < _MOSTLY_ONE_SIDED * n_groups:
        return None
    # Within the sides: columns that drifted together agree more often than by chance, too.
    by_chance = 0.0
    for own in (side, ~side):
        pairs = _n_pairs(np.zeros(int(own.sum()), np.int64))
        by_chance += pairs * float(np.prod([_n_pairs(codes[j][own]) / pairs for j in chosen]))
    if _n_pairs(group[side]) + _n_pairs(group[~side]) < _TOGETHER_MORE_WITHIN * by_chance:
        return None
    # Chance that two rows that agree lie on one side, as `by_chance` in `constant_columns`.
    sure = binom.sf(n_alone - 1, n_groups, within / (within + across)) < _SURE
    if not sure or _are_things(group, codes, order, side):
        return None
    return tuple(sorted(chosen))


def _one_sided(group: Ints, side: Bools) -> tuple[int, int, int]:
    """Return the number of groups of several rows, of those on one side, and of rows in these."""
    count = np.bincount(group)
    real = np.bincount(group[side], minlength=len(count))
    several = count > 1
    alone = several & ((real == 0) | (real == count))
    return int(several.sum()), int(alone.sum()), int(count[alone].sum())


def rows_of_people(values: Floats, columns: tuple[int, ...], member: Bools) -> Ints:
    """Return (n,) a number per row, shared by rows on one side that agree in these columns."""
    codes = [np.unique(column, return_inverse=True)[1] for column in values.T[list(columns)]]
    return _number_by_codes([member.astype(np.int64), *codes])


def _number_by_codes(codes: Sequence[Ints]) -> Ints:
    """Return a number per row, shared by rows that agree in all codes."""
    found = np.zeros(len(codes[0]), np.int64)
    for code in codes:
        found = units.number_units(found * (int(code.max()) + 1) + code)
    return found


def _n_pairs(group: Ints) -> float:
    count = np.bincount(group).astype(np.float64)
    return float((count * (count - 1)).sum() / 2)
