"""Log ratios as a reader sees them."""

from __future__ import annotations

import math

from privacygauge.classifier.dtp.ratios import cap
from privacygauge.classifier.dtp.removal import LIMIT
from privacygauge.report.numbers import count, fixed, rounded_up

AT_LEAST = "\N{GREATER-THAN OR EQUAL TO}\N{NARROW NO-BREAK SPACE}"
"""Before a number that no upper bound belongs to."""

MOST = 1e6
"""Larger factors are not told apart."""


def nats(value: float) -> str:
    """Return a log ratio with three decimals, more where it would look like nothing or the limit.

    Examples
    --------
    >>> nats(2.5), nats(1.0), nats(1.0002), nats(0.00012)
    ('2.500', '1.000', '1.0002', '0.0001')
    """
    places = 3
    while math.isfinite(value) and value not in (0.0, LIMIT) and places < 9:
        if float(fixed(value, places)) not in (0.0, LIMIT):
            break
        places += 1
    return fixed(value, places)


def factor(value: float) -> str:
    """Return by what factor a probability changes, given the log of the ratio.

    Examples
    --------
    >>> factor(0.03), factor(1.0), factor(5.29), factor(20.0)
    ('1.03', '2.7', '198', 'over 1,000,000')
    """
    if math.isinf(value):
        return fixed(value, 0)
    ratio = math.exp(min(value, 50.0))
    if ratio > MOST:
        return f"over {count(int(MOST))}"
    return fixed(ratio, 2 if ratio < 2 else 1) if ratio < 10 else count(int(ratio + 0.5))


def between(low: float, high: float) -> str:
    """Return between which numbers a DTP lies: exact, bounded, or with a lower end alone.

    Examples
    --------
    >>> between(0.5, 0.5), between(0.5, 1.25)
    ('0.500', '0.500 to 1.250')
    """
    if low == high:
        return nats(low)
    least = nats(low)
    return f"{AT_LEAST}{least}" if math.isinf(high) else f"{least} to {rounded_up(high, 3)}"


def in_bins(width: float) -> str:
    """Return in which bins probabilities are published, and what follows."""
    if not width:
        return "No bins: every digit of a probability is published."
    return (
        f"Width {width:g}, the centre is published. So no log ratio exceeds "
        f"{rounded_up(cap(width), 3)}, whatever a record does."
    )


FACTOR = factor(LIMIT)
"""What a log ratio at the limit means: e, rounded."""
