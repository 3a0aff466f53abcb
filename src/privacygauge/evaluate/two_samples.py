"""Rates among members and among non-members, with their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.claim import bonferroni_level
from privacygauge.evaluate.rates import difference, proportion


@dataclass(frozen=True)
class BothSides:
    """A rate among members, the same rate among non-members, and their difference."""

    name: str
    """Name of the rate, as reports print it."""
    members: Estimate
    """Rate among members, in [0, 1]."""
    others: Estimate
    """Rate among non-members, in [0, 1]."""
    difference: Estimate
    """Rate among members minus that among non-members, in [-1, 1]; the interval is corrected for
    the number of rates."""


def both_sides(
    hits: Mapping[str, Bools], member: Bools, unit: Ints, level: float = 0.95
) -> tuple[BothSides, ...]:
    """Return each rate on both sides, with jointly valid intervals of the differences.

    Parameters
    ----------
    hits : mapping of str to ndarray of bool, shape (n,)
        The events to count, by name.
    member : ndarray of bool, shape (n,)
        Both values must occur.
    unit : ndarray of int, shape (n,)
        Independent unit (such as the person) of each row.
    level : float
        In (0, 1): of each rate's interval, and of all differences together (Bonferroni).

    Examples
    --------
    >>> import numpy as np
    >>> member = np.arange(200) < 100
    >>> [found] = both_sides({"guess": np.arange(200) < 80}, member, np.arange(200))
    >>> found.members.value, found.others.value, found.difference.low > 0.7
    (0.8, 0.0, True)
    """
    each = bonferroni_level(level, max(1, len(hits)))
    # Each rate is stated on its own; only the differences are compared with each other.
    owners = unit[member], unit[~member]
    return tuple(
        BothSides(
            name,
            proportion(hit[member], owners[0], level),
            proportion(hit[~member], owners[1], level),
            difference(hit[member], hit[~member], each, owners=owners),
        )
        for name, hit in hits.items()
    )
