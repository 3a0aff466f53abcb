"""What a risk register says as a whole, for a release board."""

from __future__ import annotations

from privacygauge.register.findings import Register
from privacygauge.register.line import (
    GRAVE,
    MODERATE,
    NOTHING,
    SMALL,
    UNJUDGED,
    UNTOLD,
    RegisterLine,
)
from privacygauge.report.numbers import count, plain, rate
from privacygauge.report.verdict import Verdict

SCALE = (NOTHING, SMALL, MODERATE, GRAVE)
"""The severities that form a scale, from mild to grave."""

RULE = (
    "Lines are sorted by severity: grave, cannot be told, moderate, small, nothing found, not "
    "judged; within one severity they stand as they were given, because numbers of different "
    "games cannot be compared."
)
"""How lines are sorted."""

_OPEN = (GRAVE, UNTOLD, MODERATE)
_NAMED = 3
"""So many lines are spoken of at the top."""


def verdict(r: Register) -> Verdict:
    """Return what a register says as a whole.

    Parameters
    ----------
    r : Register

    Returns
    -------
    Verdict
        The grade is the gravest severity of a line; it adds no judgement of its own.
    """
    sentences = (_counted(r), *_gravest(r), together(r), _unsaid())
    return Verdict(r.severity, _headline(r), sentences, _advice(r))


def together(r: Register) -> str:
    """Return what holds for all lines at once."""
    t = r.together
    if not t.names:
        return (
            "Every number here was computed, not estimated, so there is nothing to correct for "
            "the number of lines."
        )
    if len(t.names) == 1 and t.level is not None:
        return f"One line states a level: what it says holds at {rate(t.level)} confidence."
    several = f"The {count(len(t.names))} lines with an interval or a level"
    if t.level is None:
        held = f"{several} are not corrected for each other, and nothing holds for all at once."
    else:
        held = (
            f"{several} are not corrected for each other: each holds at its own level, all of "
            f"them at once with at least {rate(t.level)} confidence (Bonferroni)."
        )
    if t.needed is None or (t.level is not None and t.level >= t.asked):
        return held
    return f"{held} For {rate(t.asked)} at once, run each audit with --level {t.needed:.6g}."


def _headline(r: Register) -> str:
    n, worst = len(r.lines), r.severity
    of = f"{count(r.counts[worst])} of {count(n)} audits" if n > 1 else "the only audit"
    alone = r.counts[worst] == 1 and n > 1
    name = f": {plain(r.lines[0].name)}" if alone else ""
    if worst == NOTHING:
        return "Nothing found" if n == 1 else f"Nothing found, in {of}"
    if worst == UNJUDGED:
        return "Not judged: records were ranked, and nothing was attacked"
    if worst == UNTOLD:
        return f"Not settled: it cannot be told in {of}{name}"
    return f"{worst.capitalize()} findings in {of}{name}"


def _counted(r: Register) -> str:
    parts = ", ".join(f"{count(n)} {severity}" for severity, n in r.counts.items())
    audits = "One audit" if len(r.lines) == 1 else f"{count(len(r.lines))} audits"
    return f"{audits} of what is to be released: {parts}."


def _gravest(r: Register) -> tuple[str, ...]:
    first = tuple(f"{plain(x.name)}: {x.told.judged.headline}." for x in _open(r)[:_NAMED])
    return (*first, *_further(r, "needs a decision too"))


def _open(r: Register) -> list[RegisterLine]:
    return [line for line in r.lines if line.told.judged.severity in _OPEN]


def _further(r: Register, what: str) -> tuple[str, ...]:
    more = len(_open(r)) - _NAMED
    if more <= 0:
        return ()
    names = ", ".join(plain(line.name) for line in _open(r)[_NAMED:])
    return (f"What was found in {names} {what}: see below.",)


def _unsaid() -> str:
    return (
        "A line says what one kind of attacker reached in one game. It does not say what somebody "
        "reaches who puts several releases together, nor that what was not audited is safe."
    )


def _advice(r: Register) -> tuple[str, ...]:
    urgent = tuple(_urgent(line) for line in _open(r)[:_NAMED])
    return (
        *(urgent or ("Read the warnings of each audit before you rely on it.",)),
        *_further(r, "comes with advice of its own"),
        "Keep this register with the release, and write it again after every new audit.",
    )


def _urgent(line: RegisterLine) -> str:
    advice = line.told.judged.advice
    return f"{plain(line.name)}: {advice[0] if advice else line.told.judged.headline}"
