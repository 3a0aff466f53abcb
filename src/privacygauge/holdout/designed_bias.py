"""What designed queries gain in theory, and how many of them, or of points, keep that small."""

from __future__ import annotations

import math
from bisect import bisect_left

from privacygauge.holdout.detecting import points_for, queries_for

MOST = 2_000_000
"""Largest number of queries considered: more find no fewer labels, and take memory."""


def designed_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of `DesignedQueries` without knowledge, exact answers.

    For two classes k queries find points_for(k) labels, so this is exact. For more, it counts the
    points that are expected to be settled, two candidates a round, as if as many were open in
    each round as on average: simulations come out within some 10% of it.

    Parameters
    ----------
    n, m, k : int
        Points (at least 1), classes (at least 2) and queries (at least 0).
    """
    return min(n, settled(m, k)) / n * (1 - 1 / m)


def settled(m: int, k: int) -> int:
    """Return how many labels k designed queries find, as in `designed_bias`, of any number."""
    if k < 2:
        return 0
    asked = min(k, MOST)
    # The first round alone finds no more.
    most = points_for(asked, _kinds(m, 0))
    return bisect_left(range(1, most + 1), True, key=lambda p: _cost(p, m) > asked)


def designed_submissions(bias: float, n: int, m: int) -> int | None:
    """Return how many designed queries stay within `bias`, in (0, 1 - 1/m); None above `MOST`."""
    found = math.floor(bias * n / (1 - 1 / m)) + 1
    if found > 4 * MOST:
        return None
    cost = _cost(found, m)
    return max(1, cost - 1) if cost <= MOST else None


def designed_points(bias: float, m: int, k: int) -> int:
    """Return the fewest points on which k designed queries stay within `bias`."""
    return max(1, math.ceil(settled(m, k) * (1 - 1 / m) / bias))


def _cost(p: int, m: int) -> int:
    """Return how many queries settle p points: those still open are asked about again."""
    total = 0
    for tried in range(0, m - 1, 2):
        left = -(-p * (m - tried) // m)
        total += queries_for(left, _kinds(m, tried))
    return total


def _kinds(m: int, tried: int) -> int:
    return 2 if m - tried == 2 else 3
