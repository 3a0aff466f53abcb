"""Audits: deal, score and evaluate in a row, and what was found."""

from leakscope.audit.attacks import audit
from leakscope.audit.classifier import audit_classifier
from leakscope.audit.result import Audit

__all__ = ["Audit", "audit", "audit_classifier"]
