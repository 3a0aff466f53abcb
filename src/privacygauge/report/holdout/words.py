"""Biases in words: points are percentage points of accuracy."""

from __future__ import annotations

import math

from privacygauge.core.estimate import Estimate
from privacygauge.report.numbers import Shown, count, fixed, percent, percent_estimate, plain

SCORES = (
    "All of this is about one accuracy a submission. Log-loss, and scores class by class, give "
    "away far more: a single log-loss can hold many labels, so none of these numbers covers them."
)
"""What an owner whose metric is another one has to know."""

UNINFORMED = (
    "An attacker who starts from a good model of its own gains on top of that model; privacygauge "
    "holdout attack --logits measures it."
)
"""What the numbers for uniform labels leave out."""

_TITLES = {
    "nb": "naive Bayes",
    "majority-blum-hardt": "the majority of Blum and Hardt",
    "scan": "the linear scan",
    "message-passing": "message passing",
    "linear-programming": "linear programming",
    "designed": "designed queries",
    "reconstruction": "reconstruction of a few labels",
}


def attack_title(name: str) -> str:
    """Return what an attack is called in a sentence."""
    return _TITLES.get(name, plain(name))


def guard_title(name: str) -> str:
    """Return what stands before the test set, in a sentence."""
    return "exact scores" if name == "exact" else f"scores behind {plain(name)}"


def points(bias: float) -> str:
    """Return a bias in percentage points, with more digits the smaller it is.

    Examples
    --------
    >>> points(0.1783), points(0.0066), points(0.0002)
    ('17.8', '0.66', '0.020')
    """
    return fixed(100 * bias, places(bias))


def places(bias: float) -> int:
    """Return how many decimals a bias in percentage points needs."""
    size = abs(bias)
    if size >= 0.02 or size < 1e-6:
        return 1
    return 2 if size >= 0.001 else 3


def points_estimate(bias: Estimate) -> Shown:
    """Return an estimated bias in percentage points; without its interval where that is infinite.

    Examples
    --------
    >>> from privacygauge.core.estimate import Estimate
    >>> str(points_estimate(Estimate(0.178, 0.174, 0.182, 0.95, 10, "example")))
    '17.8 (17.4 to 18.2)'
    """
    decimals = places(max(abs(bias.value), abs(bias.high), key=_finite))
    value, low, high = (fixed(100 * x, decimals) for x in (bias.value, bias.low, bias.high))
    return Shown(value, low, high) if math.isfinite(bias.low) else Shown(value)


def share(found: Estimate) -> Shown:
    """Return an estimated share as a percentage; without its interval where that is infinite."""
    return percent_estimate(found, 1) if math.isfinite(found.low) else Shown(percent(found.value))


def submissions(number: int | None) -> str:
    """Return a number of submissions or points; a dash where it is not known."""
    if number is None:
        return "-"
    return "10\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO} or more" if number >= 10**12 else count(number)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -1.0
