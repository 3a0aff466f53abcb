"""Coins that are tossed before a training: who is tested, and whose records are trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class Dealt:
    """Whose membership coins decided, and how."""

    tested: Bools
    """(n,) True for the records that an audit judges; all others are trained on."""
    inside: Bools
    """(n,) True for what is trained on: what is not tested, and half of what is."""

    @property
    def member(self) -> Bools:
        """(t,) Of the tested records: True where they are trained on."""
        return checks.frozen(self.inside[self.tested])


def dealt(unit: Ints, tested: float, rng: np.random.Generator) -> Dealt:
    """Return records dealt by unit: a random share is tested, by a fair coin for each.

    Parameters
    ----------
    unit : ndarray of int, shape (n,)
        The number of the person behind each record, in 0..u-1.
    tested : float
        The share of the persons that are tested, in (0, 1].
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        If the coins leave fewer than two members or two non-members to judge.
    """
    if not 0.0 < tested <= 1.0:
        raise InputError(f"tested must be in (0, 1], got {tested}")
    n = int(unit.max()) + 1
    asked = np.zeros(n, np.bool_)
    asked[rng.permutation(n)[: round(tested * n)]] = True
    coins = rng.random(n) < 0.5
    n_in, n_out = (int(np.count_nonzero(asked & side)) for side in (coins, ~coins))
    if min(n_in, n_out) < 2:
        raise InputError(
            f"at least 2 members and 2 non-members are needed, got {n_in} and {n_out} of {n}: "
            "give more records, or a larger share to test"
        )
    return Dealt(checks.frozen(asked[unit]), checks.frozen((coins | ~asked)[unit]))
