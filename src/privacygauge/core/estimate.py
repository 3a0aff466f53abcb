"""Estimates with their intervals, and reasons for results that were skipped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from privacygauge.core import checks
from privacygauge.errors import InputError

_LIKE_A_RESULT = True  # `make lint` calls it false: inside the package, Skipped is asked for first


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its confidence interval."""

    value: float
    """Point estimate."""
    low: float
    """Lower limit of the interval, at most `value`."""
    high: float
    """Upper limit of the interval, at least `value`."""
    level: float
    """Coverage probability of the interval, in (0, 1)."""
    n: int
    """Number of independent units behind the estimate."""
    method: str
    """Name of the interval method."""

    def __post_init__(self) -> None:
        checks.level(self.level)
        for name in ("value", "low", "high"):
            # numpy's floats become Python's.
            object.__setattr__(self, name, float(getattr(self, name)))
        if any(math.isnan(x) for x in (self.value, self.low, self.high)):
            raise InputError("an Estimate cannot be NaN: give a Skipped with the reason instead")
        if not self.low <= self.value <= self.high:
            raise InputError(f"low <= value <= high must hold, got {self}")

    def __float__(self) -> float:
        """Return the point estimate."""
        return self.value

    def __format__(self, spec: str) -> str:
        """Return the point estimate by a format such as ``.2f``; without one, the whole text."""
        return format(self.value, spec) if spec else str(self)

    def excludes(self, value: float) -> bool:
        """Return whether `value` lies outside the interval."""
        return not self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Skipped:
    """A result that was not computed, with the reason."""

    name: str
    """Name of the skipped result."""
    reason: str
    """Reason, as reports print it."""

    if _LIKE_A_RESULT:  # so that type checkers accept `found.value` where `found` may be Skipped

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an AttributeError with the reason: a skipped result has no numbers."""
            # Protocols ask for underscored names; fields are missing while a copy is built.
            if name.startswith("_") or name in ("name", "reason"):
                message = f"'Skipped' object has no attribute {name!r}"
            else:
                message = f"{self.name} was skipped ({self.reason}), so it has no {name!r}"
            raise AttributeError(message, name=name, obj=self)

        def __float__(self) -> NoReturn:
            """Raise a TypeError with the reason: a skipped result is not a number."""
            raise TypeError(f"{self.name} was skipped ({self.reason}), so it is not a number")

        def __format__(self, spec: str) -> str:
            """Return the text; with a format of numbers, raise a TypeError with the reason."""
            return format(float(self), spec) if spec else str(self)

        def __iter__(self) -> Iterator[NoReturn]:
            """Raise a TypeError with the reason: a skipped result does not unpack."""
            raise TypeError(f"{self.name} was skipped ({self.reason}), so it holds no results")
