"""Every kind of audit that a register understands: a new one is a line here."""

from __future__ import annotations

from privacygauge.errors import InputError
from privacygauge.register.line import Kind
from privacygauge.register.reading import Part
from privacygauge.register.told import kind_from
from privacygauge.register.vulnerable import KIND as VULNERABLE
from privacygauge.report.defences.register import KIND as DEFENCES
from privacygauge.report.document import SCHEMA
from privacygauge.report.dtp.register import KIND as DTP
from privacygauge.report.holdout.attack.register import KIND as ATTACK
from privacygauge.report.holdout.bound.register import KIND as BOUND
from privacygauge.report.language.register import KIND as LANGUAGE
from privacygauge.report.leaderboard.register import KIND as HISTORY
from privacygauge.report.render import SCHEMA as NEWEST
from privacygauge.report.synthetic.register import KIND as SYNTHETIC
from privacygauge.report.synthetic.released.register import KIND as RELEASED
from privacygauge.report.worst_case.document import SCHEMA as WORST_CASES
from privacygauge.report.worst_case.register import KIND as WORST_CASE

KINDS: tuple[Kind, ...] = (
    DTP,
    VULNERABLE,
    SYNTHETIC,
    RELEASED,
    LANGUAGE,
    BOUND,
    ATTACK,
    HISTORY,
    DEFENCES,
    WORST_CASE,
)
"""Each is known by keys that only its reports have."""

SCHEMAS = frozenset({SCHEMA, WORST_CASES, NEWEST})
"""Of the documents that a register reads."""


def kind_of(report: Part) -> Kind:
    """Return which kind of audit a report is of."""
    if report.text("schema") == NEWEST:
        return kind_from(report)
    found = [kind for kind in KINDS if kind.keys <= set(report.value)]
    if len(found) != 1:
        raise InputError(
            f"{report.where} is of no kind of audit that this version of PrivacyGauge knows: give "
            "folders that privacygauge wrote with --out"
        )
    return found[0]
