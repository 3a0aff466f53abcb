"""A risk register as `register.json`, the schema ``privacygauge/register/1``."""

from __future__ import annotations

from privacygauge.register.findings import Register
from privacygauge.register.line import Number, RegisterLine
from privacygauge.register.verdict import RULE, together, verdict
from privacygauge.report.document import Json, as_text, estimate_dict, finite

SCHEMA = "privacygauge/register/1"
"""Names the format; another number when a key is taken away or changes its meaning."""


def to_dict(r: Register) -> Json:
    """Return the register as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    r : Register

    Returns
    -------
    dict
        Infinity is None. ``lines`` are sorted as ``order`` says; a number without an
        ``estimate`` was computed. Of single records it has ids.
    """
    found = verdict(r)
    return {
        "schema": SCHEMA,
        "version": r.version,
        "title": r.title,
        "severity": found.grade,
        "headline": found.headline,
        "sentences": list(found.sentences),
        "advice": list(found.advice),
        "order": RULE,
        "together": {
            "level": r.together.level,
            "asked": r.together.asked,
            "needed": r.together.needed,
            "lines": list(r.together.names),
            "method": "Bonferroni over lines",
            "sentence": together(r),
        },
        "lines": [line_dict(line) for line in r.lines],
    }


def to_json(r: Register) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal registers give equal text."""
    return as_text(to_dict(r))


def line_dict(line: RegisterLine) -> Json:
    """Return a line as plain values."""
    told = line.told
    return {
        "name": line.name,
        "kind": line.kind.name,
        "audited": told.audited,
        "files": list(line.files),
        "game": told.game,
        "knowledge": told.knowledge,
        "severity": told.judged.severity,
        "grade": told.judged.grade,
        "headline": told.judged.headline,
        "number": _number(told.number),
        "measures": {name: finite(value) for name, value in line.measures.items()},
        "worst": {
            "what": told.worst.what,
            "ids": list(told.worst.ids),
            "reason": told.worst.reason or None,
        },
        "advice": list(told.judged.advice),
        "unsaid": told.judged.unsaid,
        "warnings": list(line.warnings),
        "version": line.version,
        "seed": line.seed,
        "sha256": line.sha256,
    }


def _number(number: Number) -> Json:
    return {
        "metric": number.metric,
        "label": number.label,
        "value": finite(number.value),
        "shown": str(number.shown),
        "guessing": number.guessing,
        "method": number.method,
        "estimate": None if number.estimate is None else estimate_dict(number.estimate),
        "risked": number.risked,
    }
