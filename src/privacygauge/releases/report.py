"""Report of a risk register for a release board, as a whole and line by line."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.releases.line import Number, RegisterLine, RegisterResult
from privacygauge.report.numbers import Shown, count, plain, rate
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    DataFrame,
    Grade,
    Heading,
    Items,
    Json,
    Measure,
    Report,
    Rows,
    Section,
    Severity,
    Table,
    Verdict,
    Worst,
    frame,
    pairs,
    pick_values,
    table,
    text,
)

RULE = (
    "Lines are sorted by severity: grave, cannot be told, moderate, small, nothing found, not "
    "judged; within one severity they stand as they were given, because numbers of different "
    "games cannot be compared."
)
"""Order of the lines, as reports print it."""

SCALE = (Severity.NOTHING, Severity.SMALL, Severity.MODERATE, Severity.GRAVE)
"""The severities that form a scale, from mild to grave."""

UNSAID = (
    "A line says what one kind of attacker reached in one game. It does not say what somebody "
    "reaches who puts several releases together, nor that what was not audited is safe."
)
"""The limits of a register."""

_OPEN = (Severity.GRAVE, Severity.UNTOLD, Severity.MODERATE)
"""Severities that need a decision."""
_NAMED = 3
"""Most lines named at the top."""


def report(r: RegisterResult) -> Report:
    """Return the full report of the register as plain values."""
    at_once = text(
        joint_level_text(r),
        "An interval of one line says how sure that line is. The more lines there are, the "
        "likelier it is that one of them is wrong. The probabilities of being wrong add up at "
        "most, whatever the audits have in common.",
    )
    told = f"Of {count(len(r.lines))} audits."
    measures = (
        Measure(
            name=x.replace(" ", "-"),
            label=x.capitalize(),
            found=float(n),
            shown=Shown(count(n)),
            note="",
            text=told,
            gate=False,
        )
        for x, n in r.counts.items()
    )
    rows: Rows = [
        {
            "Audit": x.name,
            "Severity": x.severity.value,
            "Number": x.number.shown,
            "Guessing gives": x.number.guessing,
        }
        for x in r.lines
    ]
    prose = ("Severity", "Guessing gives")
    spare = ("Number", "Guessing gives")
    # A register adds no judgement of its own: it takes the gravest severity among its lines.
    # The gravest line stands for all: a mean of severities would hide one behind many.
    grade = Grade(r.severity.value, r.severity)
    scale = tuple(Grade(severity.value, severity) for severity in SCALE)
    parts = ", ".join(f"{count(n)} {severity}" for severity, n in r.counts.items())
    audits = "One audit" if len(r.lines) == 1 else f"{count(len(r.lines))} audits"
    # Lines that need a decision: a few are named, the others only listed.
    undecided = [line for line in r.lines if line.severity in _OPEN]
    gravest = [f"{plain(line.name)}: {line.headline}." for line in undecided[:_NAMED]]
    others = ", ".join(plain(line.name) for line in undecided[_NAMED:])
    if others:
        gravest.append(f"What was found in {others} needs a decision too: see below.")
    sentences = (
        f"{audits} of what is to be released: {parts}.",
        *gravest,
        joint_level_text(r),
    )
    # "Cannot be told" and "not judged" are not on the scale.
    held = scale if grade in scale else (grade,)
    advice: list[str] = []
    for one in undecided[:_NAMED]:
        advice.append(f"{plain(one.name)}: {one.advice[0] if one.advice else one.headline}")
    if not undecided:
        advice.append("Read the warnings of each audit before you rely on it.")
    if others:
        advice.append(f"What was found in {others} comes with advice of its own: see below.")
    advice.append("Keep this register with the release, and write it again after every new audit.")
    n_audits = len(r.lines)
    worst = r.severity
    of = (
        f"{count(r.counts[worst])} of {count(n_audits)} audits"
        if n_audits > 1
        else "the only audit"
    )
    # A single worst line is named: lines are sorted, so that it is the first.
    alone = r.counts[worst] == 1 and n_audits > 1
    name = f": {plain(r.lines[0].name)}" if alone else ""
    if worst is Severity.NOTHING:
        headline = "Nothing found" if n_audits == 1 else f"Nothing found, in {of}"
    elif worst is Severity.UNJUDGED:
        headline = "Not judged: records were ranked, and nothing was attacked"
    elif worst is Severity.UNTOLD:
        headline = f"Not settled: it cannot be told in {of}{name}"
    else:
        headline = f"{worst.capitalize()} findings in {of}{name}"
    return Report(
        "register",
        "Risk register",
        about=About(
            r.title, "Each line is an audit with a game of its own.", "as each line says", "none"
        ),
        intro=f"How many audits came out how. {RULE}",
        origin=r.origin,
        verdict=Verdict(
            grade=grade,
            scale=held,
            headline=headline,
            sentences=sentences,
            unsaid=UNSAID,
            advice=tuple(advice),
        ),
        measures=tuple(measures),
        sections=(
            Section("register", "Register", (_table(r),)),
            Section("lines", "Line by line", tuple(b for line in r.lines for b in _line(line))),
            Section("together", "All lines at once", (at_once,), "All at once"),
        ),
        terms=_TERMS,
        worst=Worst(),
        data={
            "order": RULE,
            "together": {
                **pick_values(r.together, "level", "asked", "needed", lines="names"),
                "method": "Bonferroni over lines",
                "sentence": joint_level_text(r),
            },
            "lines": [line_dict(line) for line in r.lines],
        },
        frames={"register.csv": lambda: lines_frame(r).map(_no_formula)},
        nothing_left_out="Nothing: every line names who is exposed most.",
        overview=(
            table("overview", "Audits", rows, joint_level_text(r), prose=prose, spare=spare),
        ),
        name=r.title,
    )


def joint_level_text(r: RegisterResult) -> str:
    """Return a sentence on the joint level of all lines."""
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
    # Advice only if the joint level falls short of the requested one.
    if t.needed is None or (t.level is not None and t.level >= t.asked):
        return held
    return f"{held} For {rate(t.asked)} at once, run each audit with --level {t.needed:.6g}."


def sure(number: Number) -> str:
    """Return the level, sample size and method of a number, in words."""
    if number.estimate is None:
        return number.method
    n = f"n = {count(number.estimate.n)}"
    return f"{rate(number.estimate.level)} interval, {n}, {plain(number.method)}"


def lines_frame(r: RegisterResult) -> DataFrame:
    """Return one row per audit, by descending severity.

    Columns: ``name``, ``kind``, ``severity``, ``grade``, ``headline``, ``metric``, ``value``,
    ``low``, ``high``, ``level`` and ``n`` (missing where the number was computed),
    ``method``, ``guessing``, ``audited``, ``game``, ``worst`` (ids, with semicolons),
    ``advice`` (the most urgent), ``warnings`` (how many), ``version``, ``seed``, ``sha256``.
    """
    rows: list[dict[str, object]] = []
    for line in r.lines:
        number = line.number
        estimate = number.estimate
        # A computed number has no interval: its columns are missing values.
        ends = ("low", "high", "level", "n")
        rows.append(
            {
                "name": line.name,
                "kind": line.kind,
                "severity": line.severity.value,
                "grade": line.grade,
                "headline": line.headline,
                "metric": number.name,
                "value": number.value,
                **{name: None if estimate is None else getattr(estimate, name) for name in ends},
                "method": number.method,
                "guessing": number.guessing,
                "audited": line.audited,
                "game": line.game,
                "worst": "; ".join(line.worst.ids),
                "advice": line.advice[0] if line.advice else "",
                "warnings": len(line.warnings),
                "version": line.version,
                "seed": line.seed,
                "sha256": line.sha256,
            }
        )
    return frame(rows)


def _table(r: RegisterResult) -> Table:
    rows: Rows = []
    for line in r.lines:
        number = line.number
        found = line.number.estimate
        level = () if found is None else (f"{rate(found.level)} interval",)
        rows.append(
            {
                "Audit": Cell(line.name, (line.kind,)),
                "Severity": line.severity.value,
                "Verdict": line.headline,
                "Number": Cell(number.shown, (*level, number.label)),
                "Guessing gives": number.guessing,
            }
        )
    note = "Each number is that of its own game: compare it with what guessing gives, not with "
    prose = ("Severity", "Verdict", "Number", "Guessing gives")
    return table("register", "Audit by audit", rows, f"{note}other lines.", prose=prose)


def _line(line: RegisterLine) -> Iterator[Block]:
    files = f" ({', '.join(line.files)})" if line.files else ""
    yield Heading(line.name)
    yield text(f"{line.severity.capitalize()}: {line.headline}")
    yield pairs(
        {
            "Audited": f"{line.audited}{files}",
            "The game": line.game,
            "The attacker": line.knowledge,
            line.number.label: Cell(line.number.shown, (sure(line.number),)),
            "Guessing gives": line.number.guessing,
            f"Most exposed {line.worst.what}": ", ".join(line.worst.ids)
            or line.worst.reason
            or "none",
            "It does not say": line.unsaid,
            "Made by": f"PrivacyGauge {line.version}, seed {line.seed}",
        }
    )
    if line.advice:
        yield text("What to do next:")
        yield Items(line.advice, numbered=True)
    if line.warnings:
        yield text("Warnings:")
        yield Items(line.warnings)


_TERMS = {
    "Severity": "What the grade of an audit's own report comes to on one scale. Grades of "
    "different games are not exactly comparable: the scale says what to look at first.",
    "Cannot be told": "The audit says itself that it could not tell, such as where members and "
    "non-members differ in more than membership. It is no acquittal.",
    "Not judged": "Nothing was attacked: records were ranked by how exposed they would be.",
    "Interval": "What the number would be on other records of the same kind, as often as its level "
    "says.",
    "Guessing gives": "What somebody reaches who never saw the release.",
    "Member": "A record that went into what is released.",
}


def line_dict(line: RegisterLine) -> dict[str, Json]:
    """Return a line as plain values for JSON."""
    number = line.number
    return {
        **pick_values(line, "name", "kind", "audited", "files", "game", "knowledge"),
        **pick_values(line, "severity", "grade", "headline", "measures", "advice", "unsaid"),
        **pick_values(line, "warnings", "version", "seed", "sha256"),
        "number": {
            "metric": number.name,
            **pick_values(number, "label", "value", "guessing", "method", "estimate"),
            "risked": number.stated.risked,
            "shown": str(number.shown),
        },
        "worst": {**pick_values(line.worst, "what", "ids"), "reason": line.worst.reason or None},
    }


def _no_formula(cell: object) -> object:
    """Return a cell, quoted if a spreadsheet would run it as a formula."""
    # Spreadsheets run cells that begin with these characters, and ids come from the user's data.
    risky = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{cell}" if risky else cell
