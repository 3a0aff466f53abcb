"""Audits: deal, score and evaluate in a row, and what was found."""

from privacygauge.audit.attacks import audit
from privacygauge.audit.candidates import CandidateAudit, audit_candidates
from privacygauge.audit.classifier import audit_classifier
from privacygauge.audit.dtp import DtpAudit, audit_dtp
from privacygauge.audit.language import LanguageAudit, audit_language
from privacygauge.audit.model import Fitted, audit_model, audit_pool
from privacygauge.audit.released import ReleasedAudit, audit_released
from privacygauge.audit.result import Audit
from privacygauge.audit.synthetic import SyntheticAudit, audit_synthetic

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
