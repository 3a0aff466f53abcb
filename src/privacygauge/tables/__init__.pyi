from .few_fits_audit import audit_few_fits as audit_few_fits
from .frames import read_table as read_table
from .generator_audit.audit import SyntheticAudit as SyntheticAudit
from .generator_audit.audit import audit_synthetic as audit_synthetic
from .released_audit.audit import ReleasedAudit as ReleasedAudit
from .released_audit.audit import audit_released as audit_released
from .vulnerable_audit.audit import VulnerableRecords as VulnerableRecords
from .vulnerable_audit.audit import vulnerable_records as vulnerable_records
