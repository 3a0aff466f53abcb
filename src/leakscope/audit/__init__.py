"""Audits: deal, score and evaluate in a row, and what was found."""

from leakscope.audit.attacks import audit
from leakscope.audit.candidates import CandidateAudit, audit_candidates
from leakscope.audit.classifier import audit_classifier
from leakscope.audit.dtp import DtpAudit, audit_dtp
from leakscope.audit.model import Fitted, audit_model, audit_pool
from leakscope.audit.result import Audit

__all__ = [
    "Audit",
    "CandidateAudit",
    "DtpAudit",
    "Fitted",
    "audit",
    "audit_candidates",
    "audit_classifier",
    "audit_dtp",
    "audit_model",
    "audit_pool",
]
