"""Result of an extraction, as values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.language.extracted import (
    Extracted,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin


@dataclass(frozen=True, eq=False, repr=False)
class ExtractionResult(Reported):
    """Values that a `ExtractionAudit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    found: Extracted
    """Extraction results, text by text."""
    show_texts: bool = False
    """Whether the page shows the extracted texts."""
