"""Findings of audits of a classifier, with their reports."""

from __future__ import annotations

from privacygauge.audits.classifier import candidates_say, says
from privacygauge.audits.classifier.result import CandidateResult, ClassifierResult
from privacygauge.report.values import Report


class Audit(ClassifierResult):
    """Findings of an audit, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return says.report(self)


class CandidateAudit(CandidateResult):
    """Findings of the candidate-set game, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return candidates_say.report(self)
