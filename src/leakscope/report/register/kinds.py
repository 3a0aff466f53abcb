"""Every kind of audit that a register understands: a new one is a line here."""

from __future__ import annotations

from leakscope.errors import InputError
from leakscope.report.claim.register import KIND as CLAIM
from leakscope.report.defences.register import KIND as DEFENCES
from leakscope.report.document import SCHEMA
from leakscope.report.dtp.register import KIND as DTP
from leakscope.report.holdout.attack.register import KIND as ATTACK
from leakscope.report.holdout.bound.register import KIND as BOUND
from leakscope.report.language.register import KIND as LANGUAGE
from leakscope.report.leaderboard.register import KIND as HISTORY
from leakscope.report.register.attacks import KIND as CLASSIFIER
from leakscope.report.register.line import Kind
from leakscope.report.register.reading import Part
from leakscope.report.register.vulnerable import KIND as VULNERABLE
from leakscope.report.synthetic.register import KIND as SYNTHETIC
from leakscope.report.synthetic.released.register import KIND as RELEASED
from leakscope.report.worst_case.document import SCHEMA as WORST_CASES
from leakscope.report.worst_case.register import KIND as WORST_CASE

KINDS: tuple[Kind, ...] = (
    CLASSIFIER,
    DTP,
    VULNERABLE,
    SYNTHETIC,
    RELEASED,
    LANGUAGE,
    BOUND,
    ATTACK,
    HISTORY,
    CLAIM,
    DEFENCES,
    WORST_CASE,
)
"""Each is known by keys that only its reports have."""

SCHEMAS = frozenset({SCHEMA, WORST_CASES})
"""Of the documents that a register reads."""


def kind_of(report: Part) -> Kind:
    """Return which kind of audit a report is of."""
    found = [kind for kind in KINDS if kind.keys <= set(report.value)]
    if len(found) != 1:
        raise InputError(
            f"{report.where} is of no kind of audit that this version of LeakScope knows: give "
            "folders that leakscope wrote with --out"
        )
    return found[0]
