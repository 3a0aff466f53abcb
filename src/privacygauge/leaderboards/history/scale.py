"""Scores as text: shares in percent, and errors in the units of their metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import overload

from privacygauge.core.checks import Floats
from privacygauge.report.numbers import decimal, percent


@dataclass(frozen=True)
class Scale:
    """How the values of a metric are written, which are scores in [0, 1] elsewhere."""

    metric: str = "accuracy"
    """Name of the metric."""
    worst: float | None = None
    """Error that scores 0, if the metric is an error; None if more is better."""

    @property
    def decimals(self) -> int:
        """Number of decimals of an error: a hundred-thousandth of the largest one is seen."""
        if self.worst is None:
            return 2
        return max(0, 5 - math.floor(math.log10(self.worst)))

    @overload
    def units(self, scores: float) -> float: ...
    @overload
    def units(self, scores: Floats) -> Floats: ...
    def units(self, scores: float | Floats) -> float | Floats:
        """Return scores in percent, or as errors."""
        return scores * 100 if self.worst is None else self.worst * (1 - scores)

    def number(self, score: float) -> str:
        """Return a score as a number.

        Examples
        --------
        >>> Scale().number(0.875), Scale("rmse:0:100", 100.0).number(0.875)
        ('87.50%', '12.500')
        """
        if self.worst is None:
            return percent(score, self.decimals)
        return decimal(self.units(score), self.decimals)

    def value(self, score: float) -> str:
        """Return a score within a sentence, such as ``87.50%`` or ``an error of 12.500``."""
        return self.number(score) if self.worst is None else f"an error of {self.number(score)}"

    def gain(self, difference: float) -> str:
        """Return the distance of two scores, in the same units."""
        if self.worst is None:
            return percent(difference, self.decimals)
        return decimal(self.worst * difference, self.decimals)

    def gap(self, difference: float) -> str:
        """Return public less private scores with their sign: in points, or the error's growth."""
        unit = 100 if self.worst is None else self.worst
        found = decimal(unit * difference, self.decimals)
        return found if found.startswith("-") else f"+{found}"

    @property
    def gaps(self) -> str:
        """Name of what `gap` returns."""
        return "Public less private" if self.worst is None else "Private less public error"

    @property
    def axis(self) -> str:
        """Label of an axis in `units`."""
        return "Score, %" if self.worst is None else f"Error, {self.metric}"
