"""Every command that audits: a new one is a line here."""

from __future__ import annotations

from typing import Any

from privacygauge.audits.asking import Command
from privacygauge.audits.language.asks import COMMAND as LANGUAGE
from privacygauge.audits.privacy_claim.asks import COMMAND as DP_AUDIT
from privacygauge.audits.synthetic import COMMAND as SYNTHETIC
from privacygauge.audits.vulnerable.asks import COMMAND as VULNERABLE

COMMANDS: tuple[Command[Any], ...] = (VULNERABLE, SYNTHETIC, LANGUAGE, DP_AUDIT)
"""In the order of ``privacygauge --help``."""
