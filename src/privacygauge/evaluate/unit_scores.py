"""One score per unit, so that rows of one person never count as several."""

from __future__ import annotations

import numpy as np
from scipy.stats import ks_2samp

from privacygauge.core.checks import Bools, Ints
from privacygauge.core.transcript import Transcript

_UNLIKE = 0.2
"""Sides whose units differ in their numbers of rows with a p-value below this are compared at
equal numbers: the highest of more scores is higher by chance."""


def unit_rounds(transcript: Transcript) -> tuple[Ints, Bools, Ints]:
    """Return each row's item (a unit in a round; -1 for mixed ones), and items' bits and rounds."""
    pair = np.unique(transcript.round, return_inverse=True)[1]
    units, unit = np.unique(transcript.unit, return_inverse=True)
    _, item = np.unique(pair * len(units) + unit, return_inverse=True)
    size = np.bincount(item)
    members = np.bincount(item, weights=transcript.secret)
    pure = (members == 0) | (members == size)
    number = np.where(pure, np.cumsum(pure) - 1, -1)
    first = np.unique(item, return_index=True)[1]
    return number[item], (members > 0)[pure], pair[first][pure]


def equally_many(item: Ints, inside: Bools, rng: np.random.Generator) -> Ints:
    """Return each row's item, and -1 for rows that give one side's items more scores to choose."""
    size = np.bincount(item[item >= 0], minlength=len(inside))
    if inside.all() or not inside.any() or (size == size[0]).all():
        return item
    if ks_2samp(size[inside], size[~inside], method="asymp").pvalue >= _UNLIKE:
        return item
    order = np.lexsort((rng.random(len(item)), item))
    ordered = item[order]
    place = np.arange(len(item)) - np.searchsorted(ordered, ordered)
    kept = np.full(len(item), -1)
    first = order[place < size.min()]
    kept[first] = item[first]
    return kept
