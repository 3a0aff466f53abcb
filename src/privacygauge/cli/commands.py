"""Every command that audits: a new one is a line here."""

from __future__ import annotations

from typing import Any

from privacygauge.audits.asking import Command
from privacygauge.audits.privacy_claim.asks import COMMAND as DP_AUDIT

COMMANDS: tuple[Command[Any], ...] = (DP_AUDIT,)
"""In the order of ``privacygauge --help``."""
