"""Findings on defences for the tests of their report: small, and made once."""

from __future__ import annotations

from functools import cache

from privacygauge.claims.defence_audit.audit import DefenceAudit, audit_defences
from privacygauge.claims.defences.defence import LabelOnly, Rounding, Temperature
from privacygauge.core.attacks.threshold import Threshold
from tests.classifiers.made import made_up

ATTACKS = tuple(Threshold(x) for x in ("correctness", "confidence", "modified-entropy"))


@cache
def example(leak: float = 3.0) -> DefenceAudit:
    """Return an audit of three defences of a model that leaks so much."""
    target, shadow = (made_up(n=200, leak=leak, seed=seed) for seed in (0, 1))
    defences = (Rounding(1), LabelOnly(), Temperature())
    return audit_defences(target, shadow, defences, attacks=ATTACKS, command="defend")
