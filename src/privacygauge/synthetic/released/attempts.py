"""How often an attack is tried: as often as the wanted precision needs, before any result."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from privacygauge.core import checks
from privacygauge.errors import InputError

HALF_WIDTH = 0.02
"""Half of the width wanted for the interval of attack minus control, where nothing is said."""


@dataclass(frozen=True)
class Attempts:
    """How often each attack is tried on either side; fewer where a table has fewer records."""

    real: int
    """On real records, at least 1."""
    holdout: int
    """On holdout records, at least 1."""

    def __post_init__(self) -> None:
        least = min(self.real, self.holdout)
        if least < 1:
            raise InputError(f"attempts must be at least 1, got {least}")

    def within(self, n: int) -> Attempts:
        """Return as many attempts, or those that n records are good for: 500 or n."""
        most = max(n, ATTEMPTS.real)
        return Attempts(min(self.real, most), min(self.holdout, most))

    @property
    def most(self) -> int:
        """On both sides, where they share their attempts."""
        return max(self.real, self.holdout)


ATTEMPTS = Attempts(500, 500)
"""Where nothing is said."""


def widest(attempts: Attempts, level: float) -> float:
    """Return half of the width of the interval of attack minus control, at a share of 1/2.

    Nowhere is it wider. Exact limits of either share lie within z sqrt(1 / 4n) + 1 / 2n of it.

    Examples
    --------
    >>> round(widest(Attempts(500, 500), 0.95), 3)
    0.063
    """
    z = float(ndtri(0.5 + checks.level(level) / 2))
    ends = (0.5 * z / math.sqrt(n) + 0.5 / n for n in (attempts.real, attempts.holdout))
    return math.hypot(*ends)


def enough_attempts(half_width: float, level: float, n_real: int, n_holdout: int) -> Attempts:
    """Return the fewest attempts whose interval is not wider than wanted, whatever comes out.

    Parameters
    ----------
    half_width : float
        Half of the width of the interval of attack minus control, in (0, 0.5): 0.02 are two
        percentage points.
    level : float
        Of the interval, in (0, 1).
    n_real, n_holdout : int
        Records, at least 1: no record is attacked twice.

    Returns
    -------
    Attempts
        As many on either side; where a table has fewer records, all of them, and more on the
        other side. All of both where those do not suffice.

    Examples
    --------
    >>> enough_attempts(0.02, 0.95, 50_000, 50_000)
    Attempts(real=4873, holdout=4873)
    >>> enough_attempts(0.02, 0.95, 50_000, 3_000)
    Attempts(real=13114, holdout=3000)
    """
    if not 0.0 < half_width < 0.5:
        raise InputError(f"half_width must be in (0, 0.5), got {half_width}")
    if min(n_real, n_holdout) < 1:
        raise InputError(f"both tables need records, got {n_real} and {n_holdout}")

    def fewest(others: int | None, most: int) -> int:
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            tried = Attempts(middle, middle if others is None else others)
            low, high = (low, middle) if widest(tried, level) <= half_width else (middle, high)
        return high

    least = fewest(None, max(n_real, n_holdout))
    if least <= min(n_real, n_holdout):
        return Attempts(least, least)
    if n_holdout < least:
        return Attempts(fewest(n_holdout, n_real), n_holdout)
    return Attempts(n_real, fewest(n_real, n_holdout))
