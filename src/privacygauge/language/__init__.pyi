from .answers import audit_answers as audit_answers
from .audit.audit import LanguageAudit as LanguageAudit
from .audit.audit import audit_causal as audit_causal
from .audit.audit import audit_language as audit_language
from .audit.audit import audit_masked as audit_masked
from .extraction_audit.audit import audit_extraction as audit_extraction
from .unlearning_audit.audit import UnlearningAudit as UnlearningAudit
from .unlearning_audit.audit import audit_unlearning as audit_unlearning
