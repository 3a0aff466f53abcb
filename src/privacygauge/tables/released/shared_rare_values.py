"""Records that share rare values with one synthetic record, in any columns.

A copy in which some values were redrawn, rounded or left out keeps the others. Shared values mean
little where they are frequent, and much where they are rare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import number_units
from privacygauge.tables.released.disguised import (
    in_any_order,
    measured_pairs,
    nearest_side_by_side,
    nearest_when_rotated,
    of_one_range,
    pairs_of,
    read_back,
    recoded_columns,
    series_of,
)
from privacygauge.tables.released.hits import Hits
from privacygauge.tables.released.linkability import FEWEST_COLUMNS
from privacygauge.tables.released.tables import (
    NO_CONTROL,
    ReleasedTables,
    draw_rows,
    number_equal_records,
    stack_tables,
)
from privacygauge.tables.table import Schema, Table

FORMS = ("rarest values in common", "rare values in common")
"""Variants, as reports print them: the very first records, which reveal a few copies, and the first
fifth, which shows how many there are."""
MOVED = "near values in common, series moved in time"
"""Variant of tables with a series of numbers: the first fifth."""
DATED = "rare values in common, days between dates"
"""Variant of tables with several columns of dates: the first fifth."""
MOVES = (1, -1, 2, -2)
"""Steps in time by which series are moved."""
ROTATED = "near values in common, series rotated in time"
"""Variant of tables with a series of numbers, rotated by any number of steps: the first fifth."""
RECODED = "near values in common, codes read back"
"""Variant of tables with columns that were recoded or reflected: the first fifth."""
PAIRED = "near values in common, left and right in any order"
"""Variant of tables with pairs of columns for both sides of something: the first fifth."""

_PAIRS = 2 * 10**9
"""Most pairs of a real or holdout record and a synthetic record that are compared."""
_NEAR_PAIRS = 10**7
"""Most pairs whose numbers are compared by distance, which takes longer."""
_CELLS = 2**20
"""Pairs compared by distance at once: 4 MB per column."""
_BLOCK = 2**16
"""Synthetic records compared at once."""
_FREQUENT = 1 / 32
"""Share of rows above which a value's weight is added to all rows at once, as one vector."""
_LARGEST = np.iinfo(np.uint16).max

Singles = NDArray[np.float32]
Places = NDArray[np.int32]
"""Positions among the sorted values of a column."""
Weights = NDArray[np.uint16]
"""Weights as integers, so that sums do not depend on the order of the columns."""


@dataclass(frozen=True, eq=False)
class InCommon:
    """Real and holdout records, ranked together by the values they share with the table.

    The rankings ignore the sides: if the synthetic table was made from neither, equal shares of
    both sides are among the first.
    """

    units: list[Ints]
    """(n,) and (m,) People behind the ranked real and holdout records."""
    alike: Ints
    """(n + m,) Numbers shared by the records of one person and by equal records of a side."""
    equal: Ints
    """(n + m,) Scores of `rarest_in_common`."""
    near: Floats
    """(n + m,) Scores of `nearest_in_common`; 0 for records beyond `_NEAR_PAIRS`, which are not
    compared."""
    moved: Floats | None = None
    """(n + m,) Largest scores of `nearest_in_common` over all `MOVES` of the series; None without
    one."""
    rotated: Floats | None = None
    """(n + m,) Scores of `nearest_when_rotated`; None without a series."""
    paired: Floats | None = None
    """(n + m,) Scores of `nearest_in_common` with pairs of columns in any order; None without."""
    side_by_side: Floats | None = None
    """(n + m,) Scores of `nearest_side_by_side`; None without two such columns."""
    recoded: Floats | None = None
    """(n + m,) Scores of `nearest_in_common` with codes as `read_back`; None if none changed."""
    dated: Ints | None = None
    """(n + m,) Scores of `rarest_in_common` with the days between dates in place of dates; None
    where fewer than two columns hold dates."""
    of_people: Floats | None = None
    """(n + m,) Scores of `rows_in_common`; None without dates or several rows of a person."""

    @property
    def rankings(self) -> list[tuple[str, Transcript]]:
        """Titles and scores of the rankings in which a few copies may stand out."""
        n = len(self.units[0])
        secret = np.arange(len(self.equal)) < n
        scores = {
            "the ranking by rare values in common": self.equal,
            "the ranking by near values in common": self.near,
        }
        if self.moved is not None:
            scores[f"the ranking by {MOVED}"] = self.moved
        if self.rotated is not None:
            scores[f"the ranking by {ROTATED}"] = self.rotated
        if self.paired is not None:
            scores[f"the ranking by {PAIRED}"] = self.paired
        if self.side_by_side is not None:
            scores["the ranking by near numbers side by side"] = self.side_by_side
        if self.recoded is not None:
            scores[f"the ranking by {RECODED}"] = self.recoded
        if self.dated is not None:
            scores[f"the ranking by {DATED}"] = self.dated
        if self.of_people is not None:
            scores["the ranking by a person's rows in common, dates moved"] = self.of_people
        return [
            (name, Transcript(score.astype(np.float64), secret, unit=self.alike))
            for name, score in scores.items()
        ]


def ranked_in_common(released: ReleasedTables, rng: np.random.Generator) -> InCommon | Skipped:
    """Rank records by the values they share with a synthetic record.

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
        Draws equal shares of both tables where there are too many pairs.

    Returns
    -------
    InCommon, or Skipped
        Skipped without a holdout, which the real records are ranked with.
    """
    if released.holdout is None:
        return Skipped(f"linkability ({FORMS[-1]})", f"no holdout: {NO_CONTROL}")
    sides = (released.real, released.holdout)
    made = released.synthetic
    # One share for both sides, or the ranking would not compare them fairly.
    share = _PAIRS / (len(made) * sum(map(len, sides)))
    rows = [draw_rows(len(side), max(1, int(share * len(side))), rng) for side in sides]
    both = stack_tables(*(side[some] for side, some in zip(sides, rows, strict=True)))
    few = _NEAR_PAIRS / (len(made) * len(both))
    ends = np.cumsum([0, *map(len, rows)])

    def drawn(share: float) -> Ints:
        return np.concatenate(
            [
                begin + draw_rows(end - begin, max(1, int(share * (end - begin))), rng)
                for begin, end in pairwise(ends.tolist())
            ]
        )

    near = np.zeros(len(both))
    compared = drawn(few)
    near[compared] = nearest_in_common(both[compared], made)
    moved = rotated = paired = None
    if series := series_of(made.schema):
        moved = np.zeros(len(both))
        some = drawn(few / len(MOVES))
        # The largest weight over all steps; the ends of a series are joined as it is moved.
        schema = of_one_range(made.schema, series)
        asked = Table(schema, both.values[some])
        for step in MOVES:
            values = made.values.copy()
            for block in map(list, series):
                values[:, block] = np.roll(values[:, block], step, axis=1)
            after = nearest_in_common(asked, Table(schema, values))
            moved[some] = np.maximum(moved[some], after)
        rotated = np.zeros(len(both))
        rotated[compared] = nearest_when_rotated(both[compared], made, series)
    if pairs := pairs_of(made.schema):
        paired = np.zeros(len(both))
        paired[compared] = nearest_in_common(
            in_any_order(both[compared], pairs), in_any_order(made, pairs)
        )
    recoded = None
    if columns := recoded_columns(released):
        recoded = np.zeros(len(both))
        recoded[compared] = nearest_in_common(both[compared], read_back(released, columns, rng))
    dated = None
    if (moved_dates := released.between_dates) is not None:
        assert moved_dates.holdout is not None  # as in the release
        dated_sides = (moved_dates.real, moved_dates.holdout)
        chosen = [side[some] for side, some in zip(dated_sides, rows, strict=True)]
        dated = rarest_in_common(stack_tables(*chosen), moved_dates.synthetic)
    units = released.people(rows)
    beside = measured_pairs(made.schema)
    return InCommon(
        units,
        alike=np.concatenate([unit[some] for unit, some in zip(released.alike, rows, strict=True)]),
        equal=rarest_in_common(both, made),
        near=near,
        moved=moved,
        rotated=rotated,
        paired=paired,
        side_by_side=nearest_side_by_side(both, made, beside) if beside else None,
        recoded=recoded,
        dated=dated,
        of_people=rows_in_common(both, made, np.concatenate(units)),
    )


def rows_in_common(records: Table, made: Table, unit: Ints) -> Floats | None:
    """Return (n,) how many of a person's rows are in the table but for their dates, and how rare.

    The score of a row that equals a synthetic one in all columns but dates is minus the log of the
    share of synthetic rows that do, and 0 of other rows; every row of a person gets the mean. Where
    the dates of a whole history were moved, each of its rows may be unremarkable, and all of them
    together are not. None if no column holds dates, or none does not, or nobody has several rows.
    """
    dates = np.array([column.date for column in made.schema.columns])
    person = number_units(unit)
    if dates.all() or not dates.any() or int(person.max()) + 1 == len(person):
        return None
    kept = Schema(tuple(column for column in made.schema.columns if not column.date))
    keys, wanted = number_equal_records(
        (Table(kept, records.values[:, ~dates]), Table(kept, made.values[:, ~dates]))
    )
    count = np.bincount(wanted, minlength=1 + max(int(keys.max()), int(wanted.max())))[keys]
    score = np.where(count > 0, np.log(len(made) / np.maximum(count, 1)), 0.0)
    return np.asarray((np.bincount(person, score) / np.bincount(person))[person])


def most_in_common(
    found: InCommon, notes: tuple[str, ...], rng: np.random.Generator
) -> tuple[Hits, ...]:
    """Return which records share the rarest values with a synthetic record.

    Parameters
    ----------
    found : InCommon
    notes : tuple of str
        Notes for the reader on the tables.
    rng : numpy.random.Generator
        Draws the baseline.

    Returns
    -------
    tuple of Hits
        One per entry of `FORMS`, those for `MOVED` and `ROTATED` if there is a series, one for
        `PAIRED` if there are pairs, one for `RECODED` if columns were recoded, and one for `DATED`
        if there are several columns of dates. Attack: real records. Control: holdout records.
        Baseline: the real records in a random ranking.
    """
    n = len(found.units[0])
    few, fifth = wanted_first(len(found.equal))
    forms: list[tuple[str, NDArray[Any], int]]
    forms = [(FORMS[0], found.equal, few), (FORMS[1], found.equal, fifth)]
    if found.moved is not None:
        # Records that were not compared have 0, and are not among the first.
        forms.append((MOVED, found.moved, min(fifth, int(np.count_nonzero(found.moved)))))
    if found.rotated is not None:
        forms.append((ROTATED, found.rotated, min(fifth, int(np.count_nonzero(found.rotated)))))
    if found.paired is not None:
        forms.append((PAIRED, found.paired, min(fifth, int(np.count_nonzero(found.paired)))))
    if found.recoded is not None:
        forms.append((RECODED, found.recoded, min(fifth, int(np.count_nonzero(found.recoded)))))
    if found.dated is not None:
        forms.append((DATED, found.dated, fifth))
    said = {
        MOVED: ", whose series are moved by a step or two",
        ROTATED: ", whose series are rotated by any number of steps",
        PAIRED: ", whose values for left and right are in any order",
        RECODED: ", whose recoded columns are read back",
        DATED: ", with the days between dates in place of the dates",
    }
    hits = []
    for variant, score, wanted in forms:
        # All ties of the last one are among the first.
        first = score >= np.sort(score)[-wanted]
        hits.append(
            Hits(
                "linkability",
                variant=variant,
                attack=first[:n],
                control=first[n:],
                baseline=rng.permutation(first)[:n],
                meaning=(
                    "real and holdout records are ranked together by how rare the values are that "
                    f"each has in common with one synthetic record{said.get(variant, '')}; "
                    f"the first {wanted:,} of {len(score):,} are found"
                ),
                attack_unit=found.units[0],
                control_unit=found.units[1],
                baseline_unit=found.units[0],
                notes=notes,
            )
        )
    return tuple(hits)


def wanted_first(n: int) -> tuple[int, int]:
    """Return how many of n records each form reports: few, and a fifth.

    Few are half a percent or 50, whichever is larger, but at most a fortieth of all.
    """
    few = min(max(50, round(0.005 * n)), round(0.025 * n))
    return max(1, few), max(1, round(0.2 * n))


def rarest_in_common(records: Table, made: Table) -> Ints:
    """Return (n,) the largest weight of equal values that a record shares with a synthetic one.

    The weight is the sum of -log(share of the synthetic records that have the value) over the
    columns in which both agree, scaled to stay below 2^16.

    Parameters
    ----------
    records, made : Table
        Tables of one schema; a missing value agrees with a missing one.
    """
    weighed = []
    for asked, own in zip(records.values.T, made.values.T, strict=True):
        values, codes = np.unique(np.concatenate([asked, own]), return_inverse=True)
        of_records, of_made = np.split(codes, [len(asked)])
        count = np.maximum(np.bincount(of_made, minlength=len(values)), 1)
        rare = 1 - np.log(count) / np.log(len(own))
        # 0 for a value that all have, the full weight for one; the weights of all columns together
        # stay below 2^16.
        weight = (rare * (_LARGEST // made.values.shape[1])).astype(np.uint16)
        weighed.append((of_records, of_made, weight))
    found = np.zeros(len(records), np.uint16)
    for begin in range(0, len(made), _BLOCK):
        # In blocks: the scores of a record then take 128 KB.
        block = slice(begin, begin + _BLOCK)
        columns = [_Column.of(asked, own[block], weight) for asked, own, weight in weighed]
        score = np.zeros(len(made.values[block]), np.uint16)
        for record in range(len(found)):
            score[:] = 0
            for column in columns:
                column.add(score, record)
            found[record] = max(found[record], score.max())
    return found.astype(np.int64)


def nearest_in_common(records: Table, made: Table) -> Floats:
    """Return (n,) the largest weight of near values that a record shares with a synthetic one.

    As `rarest_in_common`, but numbers need not be equal: a pair of numbers weighs the more, the
    fewer values of all records lie between them, their own included. This finds copies whose
    numbers were moved a little.

    Parameters
    ----------
    records, made : Table
        Tables of one schema; a missing value agrees only with a missing one.
    """
    return np.asarray(nearest_of_each(records, (made,))[0][0])


def nearest_of_each(records: Table, tables: Sequence[Table]) -> tuple[Floats, Ints]:
    """Return the largest weight of near values shared with each table, and the row.

    Both have shape (t, n). Rows are numbered through all tables, stacked in their order; among
    equal weights the first row counts.

    As `nearest_in_common`; the rarity of values is counted in the records and all tables together.

    Parameters
    ----------
    records : Table
    tables : sequence of Table, length t
        Tables of the same schema, none empty.
    """
    others = stack_tables(*tables)
    begins = np.cumsum([0, *map(len, tables)])[:-1]
    n_all = len(records) + len(others)
    # worth[w]: weight of two values with w values from one to the other; 1 for w = 1, 0 for all.
    worth = 1 - np.log(np.arange(1, n_all + 1)) / np.log(n_all)
    worth = np.concatenate([[0.0], worth]).astype(np.float32)
    columns = [
        _Places.of(asked, own, is_number=column.is_number)
        for column, asked, own in zip(
            records.schema.columns, records.values.T, others.values.T, strict=True
        )
    ]
    found = np.zeros((len(tables), len(records)))
    places = np.zeros(found.shape, np.int64)
    ends = [*begins[1:].tolist(), len(others)]
    step = max(1, _CELLS // len(others))
    for begin in range(0, len(records), step):
        rows = slice(begin, begin + step)
        # (r, s): each of these records against each synthetic one.
        score = np.zeros((len(found[0, rows]), len(others)), np.float32)
        for column in columns:
            column.add(score, rows, worth)
        for i, (first, end) in enumerate(zip(begins.tolist(), ends, strict=True)):
            nearest = score[:, first:end].argmax(axis=1)
            places[i, rows] = first + nearest
            found[i, rows] = score[np.arange(len(score)), first + nearest]
    return found, places


@dataclass(frozen=True, eq=False)
class _Places:
    """First and last position of each value's equals among all sorted values of a column."""

    n: int
    """Number of records; those of the tables follow."""
    first: Places
    last: Places
    """Position after the last equal value."""
    missing: Bools | None
    """Mask of missing numbers; None for categories."""

    @classmethod
    def of(cls, asked: Floats, own: Floats, *, is_number: bool) -> _Places:
        """Return the positions of a column's values."""
        values = np.concatenate([asked, own])
        ordered = np.sort(values)
        first = np.searchsorted(ordered, values, side="left").astype(np.int32)
        last = np.searchsorted(ordered, values, side="right").astype(np.int32)
        return cls(len(asked), first, last, np.isnan(values) if is_number else None)

    def add(self, score: Singles, rows: slice, worth: Singles) -> None:
        """Add the weights of the values shared with synthetic records to the scores, in place.

        Parameters
        ----------
        score : ndarray of float, shape (r, s)
        rows : slice
            The r records.
        worth : ndarray of float
            Weight by the number of values between two, both included; entry 0 is 0.
        """
        first = self.first[: self.n][rows]
        last = self.last[: self.n][rows]
        of_made = self.first[self.n :]
        last_of_made = self.last[self.n :]
        if self.missing is None:  # categories: the equal ones alone
            score += (first[:, None] == of_made) * worth[last - first][:, None]
            return
        # Values from the lower of the two to the higher, ties at both ends included.
        wide = np.maximum(last[:, None], last_of_made)
        wide -= np.minimum(first[:, None], of_made)
        if self.missing.any():
            missing = self.missing[: self.n][rows]
            of_made_missing = self.missing[self.n :]
            # One is missing and the other is not: worth[0] = 0.
            wide[missing[:, None] != of_made_missing] = 0
        score += worth.take(wide, mode="clip")  # the fastest, and nothing is outside


@dataclass(frozen=True, eq=False)
class _Column:
    """Lookup of the synthetic records that agree with a record in a column."""

    asked: list[int]
    """Code of each record."""
    order: Ints
    """Synthetic records, ascending by code."""
    ends: list[int]
    """End of each code's records in `order`; they begin at the end of the previous code's."""
    weight: Weights
    """Weight of each code."""
    frequent: dict[int, Weights]
    """Weights to add to all synthetic records, for each frequent code."""

    @classmethod
    def of(cls, asked: Ints, own: Ints, weight: Weights) -> _Column:
        """Return the lookup of a column, with dense addends for frequent codes."""
        # Adding a dense vector is faster than indexing where many rows share the value.
        count = np.bincount(own, minlength=len(weight))
        often = np.flatnonzero(count > _FREQUENT * len(own)).tolist()
        return cls(
            asked=asked.tolist(),
            order=np.argsort(own, kind="stable"),
            ends=[0, *np.cumsum(count).tolist()],
            weight=weight,
            frequent={
                code: np.where(own == code, weight[code], 0).astype(np.uint16) for code in often
            },
        )

    def add(self, score: Weights, record: int) -> None:
        """Add the weight of a record's code to the synthetic records that share it, in place."""
        code = self.asked[record]
        if code in self.frequent:
            np.add(score, self.frequent[code], out=score)
        else:
            score[self.order[self.ends[code] : self.ends[code + 1]]] += self.weight[code]


# Detection of a generator that saw the holdout, by near copies of its records. Exact copies prove
# it one by one, see `unlikely`; noisy copies do not. But people whom the generator never saw share
# rare values with synthetic rows no more often than with other people.

MOST = 1_000
"""Most rows compared per table."""
FIRST = (0.05, 0.2)
"""Shares of the holdout that are examined: the people with most in common with anybody."""
SURE = 0.9995
"""Level for either share: a holdout is dropped only where it was almost certainly seen."""
UNSEEN = 2 / 3
"""Synthetic rows may be nearest to up to this share of records, where rows of people would be
nearest to half of them: a generator that smooths comes a little nearer to everybody."""
FOREMOST = ((11, 0), (15, 1), (19, 2))
"""Pairs (people, exceptions): people with the largest differences between both tables, and how many
of them may lie nearer to a person. By chance so few do once in 2,000 tables, as rarely as `SURE`
allows."""


def seen_nearly(released: ReleasedTables, rng: np.random.Generator) -> Ints:
    """Return the holdout rows most similar to synthetic rows, if the generator saw them.

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
        Draws equal numbers of synthetic rows and real records, and breaks ties.

    Returns
    -------
    ndarray of int
        Rows of the holdout, one per person, that have more in common with a synthetic row than with
        any real record; empty if chance explains their number.

    Notes
    -----
    Each row of a table counts for one person only, the one with most in common with it. Among the
    holdout people who have most in common with anybody, the lower limit of the share whose match is
    a synthetic row must be above `UNSEEN` (Clopper-Pearson). If the synthetic rows were drawn from
    the population, this share is one half.

    A few copies are found by the size of the difference: a noisy copy has far more in common with
    its row than with any person, whereas chance differences are as large in both directions. So the
    holdout was seen if all people with the largest differences lie nearer to a synthetic row, with
    as few exceptions as `FOREMOST` allows, even after the median difference, the approach of a
    smoothing generator to everybody, is subtracted.
    """
    none = np.zeros(0, np.int64)
    if released.holdout is None or len(released.schema.columns) < FEWEST_COLUMNS:
        return none
    n = min(MOST, len(released.synthetic), len(released.real))
    tables = [table[draw_rows(len(table), n, rng)] for table in (released.synthetic, released.real)]
    # A generator that moves numbers has frequent values where people have rare ones, and vice
    # versa. So both tables take the numbers of both, rank by rank, and only the dependence between
    # columns can be nearer to somebody. Replacing one table alone would shuffle it among equal
    # numbers.
    together = stack_tables(*tables)
    tables = [with_numbers_of(table, together, rng) for table in tables]
    asked = draw_rows(len(released.holdout), MOST, rng)
    score, places = nearest_of_each(released.holdout[asked], tables)
    most = score.max(axis=0) + 1e-9 * rng.random(len(asked))
    order = np.argsort(-most, kind="stable")
    # A person counts once, with the row that has most in common.
    _, first = np.unique(released.units[1][asked][order], return_index=True)
    order = order[np.sort(first)]
    nearer = score[0] > score[1]
    # Of all people matched by one row, such as those who share a rare value with it, one counts:
    # they lie on the same side by the same chance.
    row = np.where(nearer, places[0], places[1])
    _, first = np.unique(row[order], return_index=True)
    order = order[np.sort(first)]
    for share in FIRST:
        some = order[: max(1, round(share * len(order)))]
        found = some[nearer[some]]
        # Lower Clopper-Pearson limit of the share of people matched by a synthetic row.
        low = beta.ppf(1 - SURE, len(found), len(some) - len(found) + 1) if len(found) else 0.0
        if low > UNSEEN:
            return np.sort(asked[found])
    far_first = np.argsort(-np.abs(score[0] - score[1]), kind="stable")
    order = far_first[np.isin(far_first, order)]
    nearer_by = (score[0] - score[1])[order]
    if _reaches_far(nearer_by) and _reaches_far(nearer_by - np.median(nearer_by)):
        far = np.argsort(-np.abs(nearer_by), kind="stable")[: FOREMOST[0][0]]
        return np.sort(asked[order[far[nearer_by[far] > 0]]])
    return none


def with_numbers_of(table: Table, other: Table, rng: np.random.Generator) -> Table:
    """Return a table with its numbers replaced by those of another table, rank by rank.

    Equal numbers are ranked at random; missing numbers stay missing.

    Parameters
    ----------
    table, other : Table
        Tables of one schema.
    rng : numpy.random.Generator
    """
    values = table.values.copy()
    for j, column in enumerate(table.schema.columns):
        there = np.flatnonzero(~np.isnan(values[:, j]))
        theirs = np.sort(other.values[~np.isnan(other.values[:, j]), j])
        if column.is_number and len(there) and len(theirs):
            # Ranks are scaled from the length of one column to that of the other.
            order = np.lexsort((rng.random(len(there)), values[there, j]))
            places = np.arange(len(there)) * len(theirs) // len(there)
            values[there[order], j] = theirs[places]
    return replace(table, values=values)


def _reaches_far(nearer_by: Floats) -> bool:
    """Return whether the largest differences in size are all positive, with few exceptions."""
    below = nearer_by[np.argsort(-np.abs(nearer_by), kind="stable")] <= 0
    return any(len(below) >= size and below[:size].sum() <= few for size, few in FOREMOST)
