"""Copies in disguise: near values in common after a change that all released records share.

- A series that was rotated in time, or a left and a right value that changed places, hold the same
  values in other columns. Which columns may have changed places is decided by their names and kinds
  alone.
- Where most of a record is made up, two numbers that were moved a little are lost among its other
  columns. Compared alone they name a place, and so does any other pair of measurements.
- Codes that were permuted among each other, or numbers that were taken from a constant, keep what
  belongs together. Which columns were changed shows in how frequent their values are. The codes are
  then matched with those of people by these frequencies, and by which records agree most: pairs of
  a person and a synthetic record that are each other's nearest tell which code stands for which,
  and the codes tell the pairs. Real and holdout records count alike in all of it: if the table was
  made from neither, what was read back is nearer to neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import KDTree
from scipy.stats import chi2

from privacygauge.core.checks import Floats, Ints
from privacygauge.tables.released.tables import ReleasedTables, draw_rows
from privacygauge.tables.table import Schema, Table

_SERIES = 6
"""Fewest columns of a series."""
_SCALE = 10
"""Fewest whole numbers of a series, from the least to the largest; questionnaires have fewer."""
_CELLS = 2**20
"""Values of correlations held at once: 8 MB."""
_SIDE = re.compile(r"(?<![a-z])(left|right|links|rechts|gauche|droite|l|r|od|os)(?![a-z])")
"""Words for the sides of a pair."""

Groups = tuple[tuple[int, ...], ...]
"""Positions of columns, group by group."""


def series_of(schema: Schema) -> Groups:
    """Return the positions of columns that hold the same number at consecutive times.

    These are at least six columns of numbers side by side whose names differ in digits alone, such
    as ``h00`` to ``h23``, in the order of the table. Answers on a scale of whole numbers are not.
    """
    names = [re.sub(r"\d+", "0", name) for name in _names_of_measurements(schema)]
    blocks = (
        (name, tuple(block))
        for name, block in groupby(range(len(names)), key=names.__getitem__)
        if "0" in name
    )
    return tuple(block for _, block in blocks if len(block) >= _SERIES)


def pairs_of(schema: Schema) -> Groups:
    """Return the positions of columns of numbers whose names differ in a side alone.

    Such as ``pressure left`` and ``pressure_right``, or ``R1`` and ``L1``; wherever they stand.
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(_names_of_measurements(schema)):
        either, n = _SIDE.subn("*", name.lower())
        if n:
            places.setdefault(either, []).append(place)
    return tuple(tuple(group) for group in places.values() if len(group) == 2)


def _names_of_measurements(schema: Schema) -> Iterator[str]:
    """Yield the name of each column of numbers that are no dates and no scale, "" for others."""
    low, high, whole, _ = schema.limits
    is_scale = whole & (high - low < _SCALE)
    for column, scale in zip(schema.columns, is_scale, strict=True):
        yield column.name if column.is_number and not column.date and not scale else ""


def of_one_range(schema: Schema, groups: Sequence[Sequence[int]]) -> Schema:
    """Return a schema in which any value of a group fits in each of its columns."""
    columns = list(schema.columns)
    low, high, _, missing = schema.limits
    for group in map(list, groups):
        for j in group:
            columns[j] = replace(
                columns[j],
                kind="continuous",
                low=float(low[group].min()),
                high=float(high[group].max()),
                missing=bool(missing[group].any()),
            )
    return Schema(tuple(columns))


def in_any_order(table: Table, groups: Sequence[Sequence[int]]) -> Table:
    """Return the table with the values of each group of columns ascending in every record."""
    values = table.values.copy()
    for group in map(list, groups):
        values[:, group] = np.sort(values[:, group], axis=1)
    return Table(of_one_range(table.schema, groups), values)


def nearest_when_rotated(records: Table, made: Table, series: Sequence[Sequence[int]]) -> Floats:
    """Return (n,) how near each record's series is to a rotated one; 0 for the farthest there are.

    The score is the largest possible distance minus the distance to the nearest synthetic record.
    Numbers count by their rank among all values of a series, so that no unit or outlier decides;
    of all rotations of a synthetic record's series, each by itself, the nearest one counts. All
    rotations are compared at once by the Fourier transforms of both series.

    Parameters
    ----------
    records, made : Table
        Tables of one schema.
    series : sequence of sequence of int
        Positions of the columns of each series.
    """
    spectra = []
    for block in map(list, series):
        released = np.sort(made.values[:, block].ravel())  # missing values last
        n = int(np.count_nonzero(~np.isnan(released)))
        asked, own = (
            np.where(
                np.isnan(table.values[:, block]),
                0.5,
                np.searchsorted(released[:n], table.values[:, block]) / max(n, 1),
            )
            for table in (records, made)
        )
        spectra.append(
            (
                len(block),
                np.conj(np.fft.rfft(asked, axis=1)),
                np.fft.rfft(own, axis=1),
                np.square(asked).sum(axis=1),
                np.square(own).sum(axis=1),
            )
        )
    widest = max(len(block) for block in series)
    step = max(1, _CELLS // (len(made) * widest))
    found = np.empty(len(records))
    for begin in range(0, len(records), step):
        rows = slice(begin, begin + step)
        away = np.zeros((len(found[rows]), len(made)))
        for size, of_records, of_made, squares, squares_made in spectra:
            together = np.fft.irfft(of_records[rows, None] * of_made, n=size, axis=2).max(axis=2)
            away += np.maximum(squares[rows, None] + squares_made - 2 * together, 0.0)
        found[rows] = np.sqrt(away.min(axis=1))
    return np.asarray(np.sqrt(sum(map(len, series))) - found)


_AROUND = 10
"""People around somebody by whom it is told how many live nearby."""
_CLOSEST = 1e-6
"""Expected number of synthetic records below which all count alike: equal numbers are counted by
other rankings."""
_FEWEST_MEASURED = 50
"""Fewest records with both numbers."""


def measured_pairs(schema: Schema) -> tuple[tuple[int, int], ...]:
    """Return the columns side by side that both hold numbers with decimals, and no dates."""
    measured = [
        place
        for place, column in enumerate(schema.columns)
        if column.kind == "continuous" and not column.date
    ]
    return tuple((a, b) for a, b in pairwise(measured) if b == a + 1)


def nearest_side_by_side(records: Table, made: Table, pairs: tuple[tuple[int, int], ...]) -> Floats:
    """Return (n,) how few synthetic records would be as near by chance, in the best of the pairs.

    The score is -log of the number of synthetic records expected within the distance to the nearest
    one, if they were spread as the other records around are; 0 where none has both numbers.

    Parameters
    ----------
    records, made : Table
        Tables of one schema.
    pairs : tuple of (int, int)
        Positions of the columns of each pair.
    """
    found = np.full(len(records), -np.inf)
    for pair in map(list, pairs):
        there, own = (~np.isnan(table.values[:, pair]).any(axis=1) for table in (records, made))
        if min(there.sum(), own.sum()) < _FEWEST_MEASURED:
            continue
        # Both columns in the spread of the records, which says nothing of the sides.
        scale = records.values[there][:, pair].std(axis=0)
        if not scale.all():
            continue
        asked, released = (
            table.values[rows][:, pair] / scale for table, rows in ((records, there), (made, own))
        )
        # The nearest other record is oneself.
        around = KDTree(asked).query(asked, k=_AROUND + 1)[0][:, -1]
        away = KDTree(released).query(asked)[0]
        # Many equal records around: nothing can be near.
        share = np.full(len(asked), np.inf)
        np.divide(away, around, out=share, where=around > 0)
        expected = _AROUND * len(released) / len(asked) * np.square(share)
        found[there] = np.maximum(found[there], -np.log(np.maximum(expected, _CLOSEST)))
    return np.where(np.isfinite(found), found, min(0.0, found[np.isfinite(found)].min(initial=0.0)))


_MOST_PAIRED = 1_000
"""Most people, and most synthetic records, that are paired."""
_MOST_CODES = 500
"""Most codes of a column that are matched: each is compared with each."""
_ROUNDS = 8
"""Rounds of pairing records and matching codes."""
_BALANCES = 30
"""Steps that balance how often codes are matched."""
_FREQUENT = 5.0
"""Fewest expected records of a code that says whether codes were changed."""
_BEYOND_CHANCE = 5.0
"""Factor on the difference that chance gives, from which codes may have been changed; generators
that get frequencies a little wrong stay below."""
_QUANTILES = np.linspace(0.05, 0.95, 19)
"""Quantiles by which a column and its reflection are compared."""
_SHIFTED = 0.1
"""Smallest mean difference between quantiles, in standard deviations, of a reflected column."""
_UNDONE = 0.5
"""Largest difference after a change is undone, as a share of the difference before."""
_PRIOR = 1e-6
"""Weight of codes that differ in frequency."""
_SAME_CODE = 10.0
"""Weight of equal codes in columns that need not have been recoded."""
_LEAST_RATIO = 1e-4
"""Smallest likelihood ratio of two codes: a single pair of codes rules out no pair of records."""


def recoded_columns(released: ReleasedTables) -> tuple[int, ...]:
    """Return the columns whose synthetic values were recoded or reflected, by their frequencies."""
    people = released.everyone
    pairs = zip(released.schema.columns, people.values.T, released.synthetic.values.T, strict=True)
    return tuple(
        place
        for place, (column, known, made) in enumerate(pairs)
        if (_is_reflected if column.is_number else _is_permuted)(
            known[~np.isnan(known)], made[~np.isnan(made)]
        )
    )


def read_back(
    released: ReleasedTables, columns: tuple[int, ...], rng: np.random.Generator
) -> Table:
    """Return the synthetic records with these columns in the codes, and the direction, of people.

    Parameters
    ----------
    released : ReleasedTables
    columns : tuple of int
        Columns that were changed, at least one.
    rng : numpy.random.Generator
        Draws the records that are paired.
    """
    people = released.everyone
    made = released.synthetic
    values = made.values.copy()
    matched = []
    for j, column in enumerate(released.schema.columns):
        known = people.values[:, j]
        if not column.is_number and len(column.categories) <= _MOST_CODES:
            # Where one column was recoded, others may be whose codes are about as frequent.
            same = 1.0 if j in columns else _SAME_CODE
            matched.append(_Codes.of(j, known, values[:, j], same))
        elif column.is_number and j in columns:
            # The numbers of people in the opposite order; equal numbers have equal ranks.
            there = ~np.isnan(values[:, j])
            own = values[there, j]
            ordered = np.sort(own)
            first, last = (np.searchsorted(ordered, own, side=x) for x in ("left", "right"))
            share = 1 - (first + last) / (2 * len(own))
            values[there, j] = np.quantile(known[~np.isnan(known)], share, method="inverted_cdf")
    some = draw_rows(len(people), _MOST_PAIRED, rng)
    asked = draw_rows(len(made), _MOST_PAIRED, rng)
    fixed = _agreement(people, replace(made, values=values), some, asked, leaving_out=matched)
    for _ in range(_ROUNDS if matched else 0):
        score = fixed.copy()
        for codes in matched:
            score += codes.evidence()[codes.of_people[some][:, None], codes.of_made[asked]]
        nearest = score.argmax(axis=1)
        mutual = np.flatnonzero(score.argmax(axis=0)[nearest] == np.arange(len(some)))
        matched = [codes.learn(some[mutual], asked[nearest[mutual]]) for codes in matched]
    for codes in matched:
        values[:, codes.column] = codes.read()
    return replace(made, values=values)


def _is_permuted(known: Floats, made: Floats) -> bool:
    """Return whether codes have other frequencies, but frequencies as such are about the same."""
    if not len(known) or not len(made):
        return False
    codes = np.unique(np.concatenate([known, made]), return_inverse=True)[1]
    of_known, of_made = (
        np.bincount(part, minlength=int(codes.max()) + 1) for part in np.split(codes, [len(known)])
    )
    expected = (of_known + of_made) / len(codes)
    some = expected * min(len(known), len(made)) >= _FREQUENT
    spread = expected[some] * (1 / len(known) + 1 / len(made))
    share_known = of_known / len(known)
    share_made = of_made / len(made)
    statistic = float((np.square(share_known - share_made)[some] / spread).sum())
    # The upper thousandth, times a factor.
    if statistic <= _BEYOND_CHANCE * chi2.isf(1e-3, max(1, int(some.sum()))):
        return False
    before = np.abs(share_known - share_made).sum()
    after = np.abs(np.sort(share_known) - np.sort(share_made)).sum()
    return bool(after < _UNDONE * before)


def _is_reflected(known: Floats, made: Floats) -> bool:
    """Return whether numbers have other quantiles, but those of minus these numbers if moved."""
    if not len(known) or not len(made):
        return False
    usual, own, minus = (np.quantile(x, _QUANTILES) for x in (known, made, -made))
    if len(np.unique(usual)) < _UNDONE * len(usual):
        return False  # nearly always one number, which generators spread
    away = np.abs(usual - own).mean()
    middle = len(_QUANTILES) // 2
    after = np.abs((usual - usual[middle]) - (minus - minus[middle])).mean()
    return bool(away > _SHIFTED * known.std() and after < _UNDONE * away)


def _agreement(
    people: Table, made: Table, some: Ints, asked: Ints, leaving_out: list[_Codes]
) -> Floats:
    """Return (p, s) the log-rarity of the values that pairs have in common in other columns."""
    found = np.zeros((len(some), len(asked)))
    out = {codes.column for codes in leaving_out}
    for j, column in enumerate(people.schema.columns):
        if j in out:
            continue
        known = people.values[some, j]
        own = made.values[asked, j]
        ordered = np.sort(known)
        if column.is_number:
            place, of_own = (np.searchsorted(ordered, x) for x in (known, own))
            between = (np.abs(place[:, None] - of_own) + 1) / (len(ordered) + 1)
            alike = np.isnan(known)[:, None] == np.isnan(own)
            found += np.where(alike, -np.log(between), 0.0)
        else:
            count = np.searchsorted(ordered, known, "right") - np.searchsorted(ordered, known)
            equal = known[:, None] == own
            found += equal * -np.log(np.maximum(count, 1) / len(known))[:, None]
    return found


@dataclass(frozen=True, eq=False)
class _Codes:
    """Which code of a column stands for which, as the joint share of pairs of codes."""

    column: int
    known: Floats
    """(a,) Codes of people."""
    of_people: Ints
    """Place of each person's code."""
    made: Floats
    """(b,) Codes of synthetic records."""
    of_made: Ints
    """Place of each synthetic record's code."""
    prior: Floats
    """(a, b) Joint shares by the frequencies alone."""
    joint: Floats
    """(a, b) Joint shares."""

    @classmethod
    def of(cls, column: int, known: Floats, made: Floats, same: float) -> _Codes:
        """Match codes by their frequencies, whose square roots vary by 1 / sqrt(4 n).

        Equal codes weigh `same` times as much as others.
        """
        of_known, people = np.unique(known, return_inverse=True)
        of_made, records = np.unique(made, return_inverse=True)
        shares = [np.bincount(x) / len(x) for x in (people, records)]
        n = 1 / (1 / len(known) + 1 / len(made))
        apart = np.sqrt(shares[0])[:, None] - np.sqrt(shares[1])
        weight = np.where(of_known[:, None] == of_made, same, 1.0)
        prior = _balance(weight * (np.exp(-2 * n * apart**2) + _PRIOR), *shares)
        return cls(
            column,
            known=of_known,
            of_people=people,
            made=of_made,
            of_made=records,
            prior=prior,
            joint=prior,
        )

    def _shares(self) -> tuple[Floats, Floats]:
        people, records = (np.bincount(x) / len(x) for x in (self.of_people, self.of_made))
        return people, records

    def evidence(self) -> Floats:
        """Return (a, b) the log likelihood ratio of a pair of codes."""
        people, records = self._shares()
        by_chance = people[:, None] * records
        return np.asarray(np.log(np.maximum(self.joint / by_chance, _LEAST_RATIO)))

    def learn(self, people: Ints, records: Ints) -> _Codes:
        """Return the shares that pairs of a person and a record tell, beside the frequencies."""
        count = self.prior.copy()  # as much as one pair
        np.add.at(count, (self.of_people[people], self.of_made[records]), 1.0)
        return replace(self, joint=_balance(count, *self._shares()))

    def read(self) -> Floats:
        """Return the synthetic records' codes as people's, one to one; further codes stay."""
        people, made = linear_sum_assignment(self.joint * self.evidence(), maximize=True)
        found = self.made.copy()
        found[made] = self.known[people]
        return found[self.of_made]


def _balance(joint: Floats, rows: Floats, columns: Floats) -> Floats:
    """Scale joint shares to these sums over rows and columns (Sinkhorn)."""
    for _ in range(_BALANCES):
        joint = joint * (rows / joint.sum(axis=1))[:, None]
        joint = joint * (columns / joint.sum(axis=0))
    return joint
