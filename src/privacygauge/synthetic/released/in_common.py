"""Which records have rare values in common with one synthetic record, in whichever columns.

A copy of which some values were drawn again, rounded or left out keeps the others. That many agree
says little where they are frequent, and much where they are rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.synthetic.released.hits import Hits
from privacygauge.synthetic.released.tables import NO_CONTROL, Released, drawn_rows, stacked
from privacygauge.synthetic.table import Table

FORMS = ("rarest values in common", "rare values in common")
"""As reports call them: the very first records, which show few copies, and the first fifth, which
shows how many there are."""

_PAIRS = 2 * 10**9
"""Pairs of a record and a synthetic one that are compared at most."""
_BLOCK = 2**16
"""Synthetic records that are compared at once."""
_FREQUENT = 1 / 32
"""Values of a larger share are added to all records, others to those that have them."""
_LARGEST = np.iinfo(np.uint16).max

Weights = NDArray[np.uint16]
"""Whole numbers, whose sums do not depend on the order of the columns."""


def most_in_common(released: Released, rng: np.random.Generator) -> tuple[Hits | Skipped, ...]:
    """Return which records have the rarest values in common with a synthetic record.

    Real records and the holdout are ranked together by `rarest_in_common`, and the first of them
    are found. The ranking does not know which is which: where the synthetic table was made from
    neither, equal shares of both are among the first.

    Parameters
    ----------
    released : Released
    rng : numpy.random.Generator
        Draws equal shares of both tables where all are too many, and the baseline.

    Returns
    -------
    tuple of Hits, or of Skipped
        One for each of `FORMS`. Attack: real records. Control: holdout records. Baseline: the real
        records in a random ranking. Skipped where there is no holdout to rank them with.
    """
    if released.holdout is None:
        return (Skipped(f"linkability ({FORMS[-1]})", f"no holdout: {NO_CONTROL}"),)
    sides, made = (released.real, released.holdout), released.synthetic
    share = _PAIRS / (len(made) * sum(map(len, sides)))
    rows = [drawn_rows(len(side), max(1, int(share * len(side))), rng) for side in sides]
    score = rarest_in_common(
        stacked(*(side[some] for side, some in zip(sides, rows, strict=True))), made
    )
    units = released.people(rows)
    return tuple(
        _first(score, wanted, variant, units, released.notes, rng)
        for variant, wanted in zip(FORMS, wanted_first(len(score)), strict=True)
    )


def wanted_first(n: int) -> tuple[int, int]:
    """Return how many of n records each form finds: half a percent, or 50 if more, and a fifth.

    The 50 are a fortieth of all at most.
    """
    few = min(max(50, round(0.005 * n)), round(0.025 * n))
    return max(1, few), max(1, round(0.2 * n))


def rarest_in_common(records: Table, made: Table) -> Ints:
    """Return (n,) how much each record has in common with the synthetic one it has most with.

    That is the sum of -log(share of the synthetic records that have the value) over the columns in
    which both agree, on a scale on which it is below 2^16.

    Parameters
    ----------
    records, made : Table
        Of one schema; a missing value agrees with a missing one.
    """
    weighed = [
        _weighed(asked, own, made.values.shape[1])
        for asked, own in zip(records.values.T, made.values.T, strict=True)
    ]
    found = np.zeros(len(records), np.uint16)
    for begin in range(0, len(made), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        columns = [_Column.of(asked, own[block], weight) for asked, own, weight in weighed]
        n = len(made.values[block])
        np.maximum(found, np.fromiter(_largest(columns, len(found), n), np.uint16), out=found)
    return found.astype(np.int64)


def _first(
    score: Ints,
    wanted: int,
    variant: str,
    units: list[Ints],
    notes: tuple[str, ...],
    rng: np.random.Generator,
) -> Hits:
    """Return which records are among the first, those that tie with the last one included."""
    found = score >= np.sort(score)[-wanted]
    n = len(units[0])
    return Hits(
        "linkability",
        variant,
        found[:n],
        found[n:],
        rng.permutation(found)[:n],
        "real and holdout records are ranked together by how rare the values are that each has in "
        f"common with one synthetic record; the first {wanted:,} of {len(score):,} are found",
        attack_unit=units[0],
        control_unit=units[1],
        baseline_unit=units[0],
        notes=notes,
    )


def _weighed(asked: Floats, own: Floats, n_columns: int) -> tuple[Ints, Ints, Weights]:
    """Return a column's codes, in the records and in the synthetic ones, and each code's weight."""
    values, codes = np.unique(np.concatenate([asked, own]), return_inverse=True)
    of_records, of_made = np.split(codes, [len(asked)])
    count = np.maximum(np.bincount(of_made, minlength=len(values)), 1)
    rare = 1 - np.log(count) / np.log(len(own))
    return of_records, of_made, (rare * (_LARGEST // n_columns)).astype(np.uint16)


@dataclass(frozen=True, eq=False)
class _Column:
    """The synthetic records that agree with a record in a column."""

    asked: list[int]
    """The code of each record."""
    order: Ints
    """Synthetic records, ascending by code."""
    ends: list[int]
    """Where those of each code end; they begin where those of the one before end."""
    weight: Weights
    """Of each code."""
    frequent: dict[int, Weights]
    """For some codes what to add to every synthetic record."""

    @classmethod
    def of(cls, asked: Ints, own: Ints, weight: Weights) -> _Column:
        """Return a column of codes with what is looked up often."""
        count = np.bincount(own, minlength=len(weight))
        often = np.flatnonzero(count > _FREQUENT * len(own)).tolist()
        return cls(
            asked.tolist(),
            np.argsort(own, kind="stable"),
            [0, *np.cumsum(count).tolist()],
            weight,
            {code: np.where(own == code, weight[code], 0).astype(np.uint16) for code in often},
        )

    def add(self, score: Weights, record: int) -> None:
        """Add to the synthetic records that agree with a record what that is worth, in place."""
        code = self.asked[record]
        if code in self.frequent:
            np.add(score, self.frequent[code], out=score)
        else:
            score[self.order[self.ends[code] : self.ends[code + 1]]] += self.weight[code]


def _largest(columns: list[_Column], n_records: int, n: int) -> Iterator[int]:
    """Yield for each record the largest score of the n synthetic ones."""
    score = np.zeros(n, np.uint16)
    for record in range(n_records):
        score[:] = 0
        for column in columns:
            column.add(score, record)
        yield score.max()
