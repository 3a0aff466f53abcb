"""Audits: deal, score and evaluate in a row, and what was found."""

from leakscope.audit.attacks import audit
from leakscope.audit.candidates import CandidateAudit, audit_candidates
from leakscope.audit.classifier import audit_classifier
from leakscope.audit.dtp import DtpAudit, audit_dtp
from leakscope.audit.language import LanguageAudit, audit_language
from leakscope.audit.model import Fitted, audit_model, audit_pool
from leakscope.audit.released import ReleasedAudit, audit_released
from leakscope.audit.result import Audit
from leakscope.audit.synthetic import SyntheticAudit, audit_synthetic

__all__ = [
    "Audit",
    "CandidateAudit",
    "DtpAudit",
    "Fitted",
    "LanguageAudit",
    "ReleasedAudit",
    "SyntheticAudit",
    "audit",
    "audit_candidates",
    "audit_classifier",
    "audit_dtp",
    "audit_language",
    "audit_model",
    "audit_pool",
    "audit_released",
    "audit_synthetic",
]
