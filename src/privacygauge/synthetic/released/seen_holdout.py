"""Detection of a generator that saw the holdout, by near copies of its records.

Exact copies prove it one by one, see `unlikely`; noisy copies do not. But people whom the generator
never saw share rare values with synthetic rows no more often than with other people.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import beta

from privacygauge.core.checks import Floats, Ints
from privacygauge.synthetic.released.in_common import nearest_of_each
from privacygauge.synthetic.released.linkability import FEWEST_COLUMNS
from privacygauge.synthetic.released.tables import ReleasedTables, draw_rows, stack_tables
from privacygauge.synthetic.table import Table

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
