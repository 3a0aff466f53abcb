from .attack_audit.audit import HoldoutAudit as HoldoutAudit
from .attack_audit.audit import attack_holdout as attack_holdout
from .bound_audit.audit import holdout_bounds as holdout_bounds
from .history_audit.audit import LeaderboardAudit as LeaderboardAudit
from .history_audit.audit import audit_leaderboard as audit_leaderboard
