"""A number with its doubt, and a reason in place of a number."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacygauge.core import checks
from privacygauge.errors import InputError


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number that was estimated from data, with its confidence interval."""

    value: float
    """The point estimate."""
    low: float
    """The lower end of the interval."""
    high: float
    """The upper end of the interval."""
    level: float
    """Coverage probability of the interval, in (0, 1)."""
    n: int
    """The number of independent units behind the estimate."""
    method: str
    """Name of the interval method."""

    def __post_init__(self) -> None:
        checks.level(self.level)
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if any(math.isnan(x) for x in (self.value, self.low, self.high)):
            raise InputError("an Estimate cannot be NaN: give a Skipped with the reason instead")
        if not self.low <= self.value <= self.high:
            raise InputError(f"low <= value <= high must hold, got {self}")

    def excludes(self, value: float) -> bool:
        """Return whether `value` lies outside of the interval."""
        return not self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that was not computed, with the reason."""

    name: str
    """Name of the skipped item."""
    reason: str
    """Reason, in a sentence for the reader of the report."""
