"""Items of a game: one score per unit and round, so that a person never counts several times."""

from __future__ import annotations

import numpy as np
from scipy.stats import ks_2samp

from privacygauge.core.checks import Bools, Ints
from privacygauge.core.transcript import Transcript

_UNLIKE = 0.2
"""P-value below which the sides count as different in rows per unit and are compared at equal
numbers of rows: the highest of more scores is higher by chance."""


def unit_rounds(transcript: Transcript) -> tuple[Ints, Bools, Ints]:
    """Return the item of each row, and the bit and round of each item.

    An item is a unit in a round; rows of a unit on both sides of its round have item -1.
    """
    pair = np.unique(transcript.round, return_inverse=True)[1]
    units, unit = np.unique(transcript.unit, return_inverse=True)
    _, item = np.unique(pair * len(units) + unit, return_inverse=True)
    size = np.bincount(item)
    members = np.bincount(item, weights=transcript.secret)
    pure = (members == 0) | (members == size)
    # Items are renumbered without the mixed ones.
    number = np.where(pure, np.cumsum(pure) - 1, -1)
    first = np.unique(item, return_index=True)[1]
    return number[item], (members > 0)[pure], pair[first][pure]


def equally_many(item: Ints, inside: Bools, rng: np.random.Generator) -> Ints:
    """Return the item of each row; -1 for excess rows if one side has more rows per item."""
    size = np.bincount(item[item >= 0], minlength=len(inside))
    if inside.all() or not inside.any() or (size == size[0]).all():
        return item
    if ks_2samp(size[inside], size[~inside], method="asymp").pvalue >= _UNLIKE:
        return item
    # A random order of the rows within each item; the first `size.min()` of each are kept.
    order = np.lexsort((rng.random(len(item)), item))
    ordered = item[order]
    place = np.arange(len(item)) - np.searchsorted(ordered, ordered)
    kept = np.full(len(item), -1)
    first = order[place < size.min()]
    kept[first] = item[first]
    return kept
