"""Every command that audits: a new one is a line here."""

from __future__ import annotations

from typing import Any

from privacygauge.audits.asking import Command
from privacygauge.audits.holdout_attack.asks import COMMAND as HOLDOUT_ATTACK
from privacygauge.audits.holdout_bound.asks import COMMAND as HOLDOUT_BOUND
from privacygauge.audits.leaderboard.asks import COMMAND as HOLDOUT_LOG
from privacygauge.audits.privacy_claim.asks import COMMAND as DP_AUDIT

COMMANDS: tuple[Command[Any], ...] = (HOLDOUT_BOUND, HOLDOUT_ATTACK, HOLDOUT_LOG, DP_AUDIT)
"""In the order of ``privacygauge --help``."""
