"""All audit commands; a new one is a line of `COMMANDS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privacygauge.audits.attribute.asks import COMMAND as ATTRIBUTE
from privacygauge.audits.canaries import MEASURE
from privacygauge.audits.classifier.asks import COMMAND as CLASSIFIER
from privacygauge.audits.classifier.asks import DEMO
from privacygauge.audits.command import Command
from privacygauge.audits.defences.asks import COMMAND as DEFEND
from privacygauge.audits.dtp.asks import COMMAND as DTP
from privacygauge.audits.extraction.asks import COMMAND as EXTRACT
from privacygauge.audits.holdout_attack.asks import COMMAND as HOLDOUT_ATTACK
from privacygauge.audits.holdout_bound.asks import COMMAND as HOLDOUT_BOUND
from privacygauge.audits.language.asks import COMMAND as LANGUAGE
from privacygauge.audits.leaderboard.asks import COMMAND as HOLDOUT_LOG
from privacygauge.audits.privacy_claim.asks import COMMAND as DP_AUDIT
from privacygauge.audits.synthetic import COMMAND as SYNTHETIC
from privacygauge.audits.vulnerable.asks import COMMAND as VULNERABLE
from privacygauge.audits.worst_case.asks import COMMAND as WORST_CASE

COMMANDS: tuple[Command[Any], ...] = (
    DEMO,
    CLASSIFIER,
    ATTRIBUTE,
    DEFEND,
    WORST_CASE,
    DTP,
    VULNERABLE,
    SYNTHETIC,
    LANGUAGE,
    EXTRACT,
    MEASURE,
    HOLDOUT_BOUND,
    HOLDOUT_ATTACK,
    HOLDOUT_LOG,
    DP_AUDIT,
)
"""Commands in the order of ``privacygauge --help``."""

RESUMABLE: Mapping[str, Command[Any]] = {found.name: found for found in COMMANDS if found.keeps}
"""Commands that keep a run, by name."""
