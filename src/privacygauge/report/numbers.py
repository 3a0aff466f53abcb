"""Numbers as text: rounded half up, with their intervals."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

from privacygauge.core.estimate import Estimate, Skipped

DASH = "-"
"""Placeholder for a number that was not computed."""

THIN = "\N{NARROW NO-BREAK SPACE}"
"""Narrow no-break space, between a sign and its number."""


@dataclass(frozen=True)
class Shown:
    """A number as text, with a separate interval that a table can set smaller."""

    value: str
    """Number, such as ``78.1%``."""
    low: str = ""
    """Lower limit, such as ``76.2``; empty without an interval."""
    high: str = ""
    """Upper limit, such as ``79.9``; empty without an interval."""

    @property
    def interval(self) -> str:
        """Both limits, such as ``76.2 to 79.9``; empty without an interval."""
        return f"{self.low} to {self.high}" if self.high else ""

    def __str__(self) -> str:
        return f"{self.value} ({self.interval})" if self.interval else self.value


def decimal(value: float, decimals: int) -> str:
    """Return `value` with `decimals` decimals, rounded half up from its shortest decimal form.

    Binary rounding would turn 0.6155 into 61.5%, since the nearest float is below 0.6155.

    Examples
    --------
    >>> decimal(0.125, 2), decimal(float("inf"), 2)
    ('0.13', '∞')
    """
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else "-\N{INFINITY}"
    return _round_decimal(Decimal(repr(float(value))), decimals)


def percent(value: float, decimals: int = 1) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.6155), percent(0.6905)
    ('61.6%', '69.1%')
    """
    return _round_decimal(Decimal(repr(float(value))) * 100, decimals) + "%"


def rate(value: float) -> str:
    """Return a share as a percentage with all its digits (at most 6), such as an FPR or a level.

    Examples
    --------
    >>> rate(0.0001), rate(0.1), rate(0.95), rate(1 - 0.05 / 9)
    ('0.01%', '10%', '95%', '99.4444%')
    """
    # Six digits hide binary noise, as in 1 - 0.05 / 9.
    number = Decimal(f"{value:.6g}") * 100
    return f"{number.normalize():f}%"


def key(value: float) -> str:
    """Return a share as the key of a JSON object: ``0.0001``, never ``1e-04``."""
    return f"{Decimal(repr(float(value))).normalize():f}"


def percent_estimate(estimate: Estimate | Skipped, decimals: int | None = None) -> Shown:
    """Return a share with its interval, in %, all three with the same number of decimals.

    By default one decimal, and more if both limits are small.

    Examples
    --------
    >>> str(percent_estimate(Estimate(0.781, 0.762, 0.799, 0.95, 2000, "example")))
    '78.1% (76.2 to 79.9)'
    """
    if isinstance(estimate, Skipped):
        return Shown(DASH)
    places = decimals
    if places is None:
        # More decimals for small shares, whose limits would otherwise read 0.0%.
        reach = max(abs(estimate.low), abs(estimate.high))
        places = 1
        while 0 < reach * 10**places < 0.2 and places < 6:
            places += 1
    value, low, high = (percent(x, places) for x in (estimate.value, estimate.low, estimate.high))
    return Shown(value, low.removesuffix("%"), high.removesuffix("%"))


def tpr_estimate(estimate: Estimate, fpr: float) -> Shown:
    """Return a TPR at an FPR; decimals depend on the FPR alone, so that columns line up."""
    return percent_estimate(estimate, 1 if fpr >= 0.01 else 2)


def decimal_estimate(estimate: Estimate | Skipped, decimals: int = 3) -> Shown:
    """Return a number that is not a share, such as an AUC, with its interval."""
    if isinstance(estimate, Skipped):
        return Shown(DASH)
    low = decimal(estimate.low, decimals)
    high = decimal(estimate.high, decimals)
    return Shown(decimal(estimate.value, decimals), low, high)


def rounded_down(value: float, decimals: int = 2, *, beyond: float | None = None) -> str:
    """Return a lower bound of at least 0, rounded down so that it stays valid.

    Parameters
    ----------
    value : float
    decimals : int
        Fewest decimals.
    beyond : float, optional
        Number that the bound is compared with: a bound above it gets as many decimals as needed to
        stay above it.

    Examples
    --------
    >>> rounded_down(0.859), rounded_down(0.0), rounded_down(2.00047, beyond=2)
    ('0.85', '0', '2.0004')
    """
    # Printed as equal to the claim, a bound that refutes it would read as one that does not.
    if beyond is not None and beyond < value < math.inf:
        while decimals < _MOST_DECIMALS and float(_bound(value, decimals, ROUND_FLOOR)) <= beyond:
            decimals += 1
    return _bound(value, decimals, ROUND_FLOOR)


_MOST_DECIMALS = 15
"""Most decimals of a bound: about as many as a float has."""


def rounded_up(value: float, decimals: int = 2) -> str:
    """Return an upper bound of at least 0, rounded up so that it stays valid.

    Examples
    --------
    >>> rounded_up(0.851), rounded_up(0.0)
    ('0.86', '0')
    """
    return _bound(value, decimals, ROUND_CEILING)


def lower_bound_text(estimate: Estimate, decimals: int = 2, *, beyond: float | None = None) -> str:
    """Return the lower limit of an estimate as a bound, such as ``≥ 0.85``; ``0`` if not above 0.

    `beyond` as in `rounded_down`.
    """
    bound = rounded_down(estimate.low, decimals, beyond=beyond)
    return bound if estimate.low <= 0 else f"\N{GREATER-THAN OR EQUAL TO}{THIN}{bound}"


def p_value(value: float) -> str:
    """Return a p-value with three decimals; ``< 0.001`` for a smaller one."""
    return "< 0.001" if value < 0.001 else decimal(value, 3)


def count(value: int) -> str:
    """Return a count with commas between the thousands."""
    return f"{value:,}"


def several(n: int, what: str) -> str:
    """Return a count with its noun in singular or plural.

    Examples
    --------
    >>> several(1, "record"), several(2000, "synthetic table")
    ('1 record', '2,000 synthetic tables')
    """
    return f"{count(n)} {what}{'' if n == 1 else 's'}"


def first_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names and the number of further ones."""
    shown = ", ".join(names[:most])
    more = len(names) - most
    return f"{shown} and {count(more)} more" if more > 0 else shown


def plain(text: object) -> str:
    """Return user-supplied text on one line, without control characters for terminals or pages."""
    shown = []
    for c in str(text):
        # Spaces of other widths are not printable for Python, but harmless.
        if c.isprintable() or unicodedata.category(c) == "Zs":
            shown.append(c)
        else:
            shown.append(" " if c.isspace() else "\N{REPLACEMENT CHARACTER}")
    return "".join(shown)


def shorten(text: str) -> str:
    """Return a name, without its middle if it is longer than 80 characters."""
    # Long ids and paths often differ only at one of their ends: both are kept.
    return text if len(text) <= 80 else f"{text[:55]} \N{HORIZONTAL ELLIPSIS} {text[-20:]}"


def _bound(value: float, decimals: int, way: str) -> str:
    if value <= 0 or math.isinf(value):
        return decimal(value, 0)
    return _round_decimal(Decimal(repr(float(value))), decimals, way)


def _round_decimal(number: Decimal, decimals: int, way: str = ROUND_HALF_UP) -> str:
    # A negative number that rounds to zero loses its sign.
    rounded = number.quantize(Decimal(1).scaleb(-decimals), way)
    return f"{abs(rounded) if rounded == 0 else rounded}"
