"""Result of an audit of differential training privacy, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin


@dataclass(frozen=True, eq=False, repr=False)
class DtpResult(DtpFindings, Reported):
    """Effect of each training record on the classifier, with its report, tables and plots."""

    origin: Origin = field(kw_only=True)
    """Origin of the findings: command, seed, level and inputs."""
