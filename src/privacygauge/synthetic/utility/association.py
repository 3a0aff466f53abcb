"""How strongly the columns of a table depend on each other, numbers and categories alike."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from privacygauge.core.checks import Floats, Ints
from privacygauge.synthetic.released.tables import filled
from privacygauge.synthetic.table import Table


def associations(table: Table) -> Floats:
    """Return the association of every pair of columns, (F, F), symmetric, 1 on the diagonal.

    Of two columns of numbers the correlation of the ranks, in [-1, 1] (Spearman; a missing
    number ranks below all others). Of two categorical columns Cramér's V, in [0, 1], without a
    correction of its bias. Of one of each the correlation ratio of the ranks, in [0, 1]: the
    root of the share of their variance that lies between the categories. A constant column is
    associated with none.
    """
    values = filled(table)
    width = values.shape[1]
    numbers = [column.is_number for column in table.schema.columns]
    ranks = np.column_stack([_standard(rankdata(column)) for column in values.T])
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in values.T])
    found = np.eye(width)
    for i in range(width):
        for j in range(i):
            if numbers[i] and numbers[j]:
                value = float(np.mean(ranks[:, i] * ranks[:, j]))
            elif numbers[i] or numbers[j]:
                number, category = (i, j) if numbers[i] else (j, i)
                value = _correlation_ratio(ranks[:, number], codes[:, category])
            else:
                value = _cramers_v(codes[:, i], codes[:, j])
            found[i, j] = found[j, i] = value
    return found


def _standard(ranks: Floats) -> Floats:
    spread = ranks.std()
    return np.zeros(len(ranks)) if spread == 0 else np.asarray((ranks - ranks.mean()) / spread)


def _correlation_ratio(standard: Floats, codes: Ints) -> float:
    counts = np.bincount(codes)
    sums = np.bincount(codes, standard)
    return float(np.sqrt(min(1.0, np.sum(sums**2 / counts) / len(codes))))


def _cramers_v(one: Ints, other: Ints) -> float:
    rows, columns = int(one.max()) + 1, int(other.max()) + 1
    if min(rows, columns) < 2:
        return 0.0
    # Only pairs that occur: of two columns of names there are more pairs than fit into memory.
    pairs, counts = np.unique(one * columns + other, return_counts=True)
    # chi^2 / n without expected counts: the sum of n_ij^2 / (n_i n_j), less one.
    sides = np.bincount(one)[pairs // columns] * np.bincount(other)[pairs % columns]
    square = float(np.sum(counts / sides * counts)) - 1.0
    return float(np.sqrt(min(1.0, max(0.0, square) / (min(rows, columns) - 1))))
