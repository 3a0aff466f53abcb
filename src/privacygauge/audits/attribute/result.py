"""Result of attribute inference, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from privacygauge.classifier.attributes_judged import JudgedGuesses
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AttributeResult(Reported, JudgedGuesses):
    """Values that a `AttributeAudit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    column: str
    """Name of the sensitive column."""
    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers."""
