"""Adjacent rows with similar answers, as several rows of one person have."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.stats import binom

from privacygauge.core.checks import Bools, Floats, Ints

# Distances, in rows, of the pairs that are compared: adjacent rows, rows beyond one person's, and
# rows far apart.
_NEAR = 1
_MIDDLE = range(10, 20)
_FAR = range(20, 51)

_ALIKE = (0.01, 0.05)
"""Shares of far pairs that are at least as similar by chance."""

_FEWEST = 200
"""With fewer pairs of adjacent rows, nothing is said about the order."""

_CHANCE = 1e-6
"""Largest probability that adjacent pairs are this similar by chance."""

_TIMES = 1.8
"""Smallest ratio of similar pairs among adjacent rows to those in the middle."""

# If similar pairs in the middle exceed far ones by the share _SORTED, and by the share _TREND of
# the neighbours' excess, rows are sorted or follow time: that makes neighbours similar, whoever
# they are. Less is chance.
_SORTED = 0.35
_TREND = 0.03

_NOT_ALONE = 2.0
"""Factor on the standard error of a share of pairs that have rows in common."""

_ACROSS = 0.2
"""If a larger share of the similar pairs lies on both sides, members were drawn row by row."""

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Quantiles of far pairs' distances that are tried as the threshold for linking neighbours."""

_DENSER = 1.5
"""Neighbours are linked up to the distance where they are this many times as frequent as others."""


def people_in_order(points: Floats, group: Ints, member: Bools) -> Ints | None:
    """Return the number of the person behind each row, (n,), if the order of the rows shows it.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        The model's answer to each row, in the order of the file.
    group : ndarray of int, shape (n,)
        Rows are compared within a group: the class.
    member : ndarray of bool, shape (n,)
        The side of each row.

    Returns
    -------
    ndarray of int, or None
        The same number for neighbours of one group and side with similar answers. None if the order
        shows no people.

    Notes
    -----
    Rows of one person are adjacent, and rows a few places away are other people's. Sorting, by
    confidence or by date, also makes rows similar that are 10 to 19 places apart, more than those
    20 to 50 places apart; people do not. If members were drawn row by row, half of the similar
    neighbours are on different sides, and their bits are independent. Only pairs on one side are
    compared; otherwise blocks of members in a file would be similar because of the release's
    leakage.
    """
    near, across = _distances(points, group, member, [_NEAR])
    if len(near) < _FEWEST:
        return None
    middle, _ = _distances(points, group, member, _MIDDLE)
    far, _ = _distances(points, group, member, _FAR)
    if min(len(middle), len(far)) < 2 * _FEWEST:
        return None
    shown = False
    for alike in _ALIKE:
        close = float(np.quantile(far, alike))
        hits, n_across, often, by_chance = (
            int(np.count_nonzero(pairs <= close)) for pairs in (near, across, middle, far)
        )
        share = max((often + 1) / (len(middle) + 1), by_chance / len(far))
        beyond, neighbours = (part * len(far) / by_chance - 1 for part in (share, hits / len(near)))
        is_sorted = beyond > _SORTED and beyond > _TREND * neighbours
        if is_sorted or n_across > _ACROSS * hits:
            return None
        # A row is in up to 20 pairs in the middle, so their share is as uncertain as that of fewer.
        expected = min(1.0, share + 2 * _NOT_ALONE * np.sqrt(share / len(middle)))
        chance = float(binom.sf(hits - 1, len(near), expected))
        shown = shown or (chance < _CHANCE and hits > _TIMES * share * len(near))
    if not shown:
        return None
    reach = _reach(near, middle, far)
    linked = np.zeros(len(points), np.bool_)
    linked[1:] = (group[1:] == group[:-1]) & (member[1:] == member[:-1])
    linked[1:] &= np.abs(points[1:] - points[:-1]).max(axis=1) <= reach
    return np.cumsum(~linked) - 1


def _distances(
    points: Floats, group: Ints, member: Bools, lags: range | list[int]
) -> tuple[Floats, Floats]:
    """Return distances between answers of one group, for pairs on one side and on both."""
    same = []
    across = []
    for lag in lags:
        alike = group[lag:] == group[:-lag]
        distance = np.abs(points[lag:] - points[:-lag]).max(axis=1)
        one_side = member[lag:] == member[:-lag]
        same.append(distance[alike & one_side])
        across.append(distance[alike & ~one_side])
    return np.concatenate(same), np.concatenate(across)


def _reach(near: Floats, middle: Floats, far: Floats) -> float:
    """Return the distance up to which neighbours are more frequent than chance explains."""
    # Answers in steps, such as the votes of a forest, have many equal distances.
    edges = np.unique(np.quantile(far, _SHARES))
    reach = float(edges[0])
    for low, high in pairwise(edges.tolist()):
        ours, theirs = (float(np.mean((x > low) & (x <= high))) for x in (near, middle))
        if ours <= _DENSER * theirs:
            break
        reach = high
    return reach
