"""Risk registers of several finished audits, and the model card of one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

from privacygauge.core import checks
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, today
from privacygauge.errors import InputError
from privacygauge.releases.line import (
    SEVERITIES,
    JointStatement,
    Number,
    RegisterLine,
    joint_statement,
    read_line,
    report_names,
)
from privacygauge.report import render
from privacygauge.report.numbers import Shown, count, plain, rate
from privacygauge.report.reported import Reported
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
    Origin,
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

STEM = "register"
"""Stem of the names of a register's files."""


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


@dataclass(frozen=True, eq=False, repr=False)
class RiskRegister(Reported):
    """A register of several audits for a release board, with its forms."""

    origin: Origin
    """Origin of the register; nothing was drawn at random."""
    title: str
    """Name of the release."""
    lines: tuple[RegisterLine, ...]
    """Lines by descending severity; ties in the order given."""
    together: JointStatement
    """Joint level of all lines."""

    @property
    def severity(self) -> Severity:
        """The severity of the first line."""
        return self.lines[0].severity

    @property
    def counts(self) -> dict[Severity, int]:
        """Number of lines of each severity that has any, from grave to mild."""
        given = [line.severity for line in self.lines]
        return {severity: given.count(severity) for severity in SEVERITIES if severity in given}

    def report(self) -> Report:
        """Return the full report of the register as plain values."""
        jointly = joint_level_text(self.together)
        at_once = text(
            jointly,
            "An interval of one line says how sure that line is. The more lines there are, the "
            "likelier it is that one of them is wrong. The probabilities of being wrong add up at "
            "most, whatever the audits have in common.",
        )
        told = f"Of {count(len(self.lines))} audits."
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
            for x, n in self.counts.items()
        )
        rows: Rows = [
            {
                "Audit": x.name,
                "Severity": x.severity.value,
                "Number": x.number.shown,
                "Guessing gives": x.number.guessing,
            }
            for x in self.lines
        ]
        prose = ("Severity", "Guessing gives")
        spare = ("Number", "Guessing gives")
        # A register adds no judgement of its own: it takes the gravest severity among its lines.
        # The gravest line stands for all: a mean of severities would hide one behind many.
        grade = Grade(self.severity.value, self.severity)
        scale = tuple(Grade(severity.value, severity) for severity in SCALE)
        parts = ", ".join(f"{count(n)} {severity}" for severity, n in self.counts.items())
        audits = "One audit" if len(self.lines) == 1 else f"{count(len(self.lines))} audits"
        # Lines that need a decision: a few are named, the others only listed.
        undecided = [line for line in self.lines if line.severity in _OPEN]
        gravest = [f"{plain(line.name)}: {line.headline}." for line in undecided[:_NAMED]]
        others = ", ".join(plain(line.name) for line in undecided[_NAMED:])
        if others:
            gravest.append(f"What was found in {others} needs a decision too: see below.")
        sentences = (
            f"{audits} of what is to be released: {parts}.",
            *gravest,
            jointly,
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
        advice.append(
            "Keep this register with the release, and write it again after every new audit."
        )
        n_audits = len(self.lines)
        worst = self.severity
        of = (
            f"{count(self.counts[worst])} of {count(n_audits)} audits"
            if n_audits > 1
            else "the only audit"
        )
        # A single worst line is named: lines are sorted, so that it is the first.
        alone = self.counts[worst] == 1 and n_audits > 1
        name = f": {plain(self.lines[0].name)}" if alone else ""
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
                self.title,
                "Each line is an audit with a game of its own.",
                "as each line says",
                "none",
            ),
            intro=f"How many audits came out how. {RULE}",
            origin=self.origin,
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
                Section("register", "Register", (_table(self),)),
                Section(
                    "lines", "Line by line", tuple(b for line in self.lines for b in _line(line))
                ),
                Section("together", "All lines at once", (at_once,), "All at once"),
            ),
            terms=_TERMS,
            worst=Worst(),
            data={
                "order": RULE,
                "together": {
                    **pick_values(self.together, "level", "asked", "needed", lines="names"),
                    "method": "Bonferroni over lines",
                    "sentence": jointly,
                },
                "lines": [line_dict(line) for line in self.lines],
            },
            frames={"register.csv": lambda: self.to_frame().map(_no_formula)},
            nothing_left_out="Nothing: every line names who is exposed most.",
            overview=(table("overview", "Audits", rows, jointly, prose=prose, spare=spare),),
            name=self.title,
        )

    def to_frame(self) -> DataFrame:
        """Return one row per audit, by descending severity.

        Columns: ``name``, ``kind``, ``severity``, ``grade``, ``headline``, ``metric``, ``value``,
        ``low``, ``high``, ``level`` and ``n`` (missing where the number was computed),
        ``method``, ``guessing``, ``audited``, ``game``, ``worst`` (ids, with semicolons),
        ``advice`` (the most urgent), ``warnings`` (how many), ``version``, ``seed``, ``sha256``.
        """
        rows: list[dict[str, object]] = []
        for line in self.lines:
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
                    **{
                        name: None if estimate is None else getattr(estimate, name) for name in ends
                    },
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

    def write(self, directory: str | Path) -> list[Path]:
        """Write register.html, register.json and register.csv; return the files' paths."""
        return render.write(self.report(), directory, STEM)


def risk_register(
    reports: Sequence[str | Path] | Mapping[str, str | Path],
    *,
    title: str = "Release",
    level: float = 0.95,
) -> RiskRegister:
    """Return one register over several finished audits, sorted by severity.

    Parameters
    ----------
    reports : sequence of paths, or mapping of names to paths
        Folders of finished audits of any kind, or their ``report.json``, local or at URLs. Without
        a name, a line has that of its folder.
    title : str
        Name of the release.
    level : float
        Requested joint level of all lines, in (0, 1). It changes no interval: the register states
        the level that each audit needs for it.

    Returns
    -------
    RiskRegister
        Numbers, verdicts and advice are those of the reports; nothing is computed again. All
        intervals hold at once with probability at least 1 - sum of (1 - level of a line), by
        Bonferroni's inequality.

    Raises
    ------
    InputError
        One line: no report, a damaged or foreign one, one of another version, or a repeated one.

    Notes
    -----
    Files are read as JSON; nothing is unpickled.
    """
    checks.level(level)
    if isinstance(reports, str | Path):
        raise InputError(f"reports must be a list of folders, got the single path {reports}")
    if not reports:
        raise InputError("reports must name at least one finished audit, got none")
    named = reports if isinstance(reports, Mapping) else report_names((None, x) for x in reports)
    lines = [read_line(path, name) for name, path in named.items()]
    seen: dict[str, str] = {}
    for line in lines:
        if line.sha256 in seen:
            raise InputError(
                f"{line.name} and {seen[line.sha256]} are the same report: give it once"
            )
        seen[line.sha256] = line.name
    # Stable: within one severity the lines keep the order in which they were given.
    ranked = sorted(lines, key=lambda line: SEVERITIES.index(line.severity))
    # Only the number behind each verdict counts towards the joint level, under its line's name.
    stated = [replace(line.number.stated, name=line.name) for line in ranked]
    unnamed = tuple(
        Skipped(line.name, f"no {line.worst.what} are named: {line.worst.reason}")
        for line in ranked
        if line.worst.reason
    )
    origin = Origin(
        command="register",
        version=own_version(),
        seed=0,
        level=level,
        made=today(),
        skipped=unnamed,
        warnings=tuple(f"{line.name}: {plain(text)}" for line in ranked for text in line.warnings),
        provenance={line.name: f"report.json sha256:{line.sha256}" for line in ranked},
    )
    return RiskRegister(origin, title, tuple(ranked), joint_statement(stated, level))


def joint_level_text(t: JointStatement) -> str:
    """Return a sentence on the joint level of all lines."""
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


def _table(r: RiskRegister) -> Table:
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


# The snippet of a model card: metadata in YAML, then a section in Markdown. Lists and mappings are
# YAML blocks; scalars are written as in JSON.

Plain: TypeAlias = "str | bool | int | float | Sequence[Plain] | Mapping[str, Plain]"
"""A value that can be written as YAML."""

# Characters with a meaning in Markdown, GitHub's included.
_STEERS = re.compile(r"([\\`*_{}\[\]<>#|~$@&])")
# Places within https:// and www. at which a backslash stops automatic links.
_LINKS = re.compile(r"(?i)(?<=:)(?=//)|(?<=www)(?=\.)")
# A bullet, a heading's underline, or a list's number such as "1." at the start of a line.
_LISTS = re.compile(r"^([-+=]|\d+(?=[.)]\s))")


def model_card(path: str | Path, *, name: str | None = None, dataset: str | None = None) -> str:
    """Return a finished audit as a snippet of a model card, in Markdown with YAML metadata.

    Parameters
    ----------
    path : str or Path
        The audit's folder, or its ``report.json``.
    name : str, optional
        Name of the model; default: the folder's name.
    dataset : str, optional
        Name of the data; default: the names of the audited files.

    Returns
    -------
    str
        The metadata ``model-index``, then the section "Privacy audit", without ids of records.

    Raises
    ------
    InputError
        One line: the fault of the report, and the way out.
    """
    return card_of(read_line(path, name), dataset)


def card_of(line: RegisterLine, dataset: str | None) -> str:
    """Return a line as a snippet of a model card; see `model_card`.

    It has no ids of records, since a model card is public.
    """
    named = dataset or ", ".join(line.files) or "not stated"
    return f"---\n{yaml_block(card_metadata(line, named))}---\n\n{card_section(line)}"


def card_metadata(line: RegisterLine, dataset: str) -> dict[str, Plain]:
    """Return a ``model-index`` with one result: the audit's numbers with their intervals.

    Types of metrics begin with the task, such as ``membership-inference-accuracy``, so that an
    attack's accuracy is not mistaken for the model's. The first is the number behind the verdict.
    ``args`` has the level, n, method, date, version and seed of each. ``verified`` is false, since
    only the hub can verify.

    Notes
    -----
    Keys as the Hugging Face Hub documents them for model cards.
    """
    # Type, name, value and arguments of each metric.
    metrics: list[tuple[str, str, float, Plain]] = []
    made: dict[str, Plain] = {"made": line.made, "version": line.version, "seed": line.seed}
    for number in (line.number, *line.further):
        start = f"{line.task}-{number.name}"
        found = number.estimate
        name = f"{number.label}; guessing: {number.guessing}" if number.guessing else number.label
        # A computed number has no interval.
        if found is None:
            metrics.append((start, name, number.value, {"method": number.method, **made}))
            continue
        args: Plain = {"level": found.level, "n": found.n, "method": plain(found.method), **made}
        sure = f"of its {rate(found.level)} interval"
        metrics += [
            (start, name, number.value, args),
            (f"{start}-low", f"Lower end {sure}", found.low, args),
            (f"{start}-high", f"Upper end {sure}", found.high, args),
        ]
    result: dict[str, Plain] = {
        "task": {"type": line.task, "name": f"Privacy audit: {line.kind}"},
        "dataset": {"type": "private", "name": dataset},
        "metrics": [
            {"type": kind, "name": name, "value": value, "args": args, "verified": False}
            for kind, name, value, args in metrics
        ],
    }
    return {"model-index": [{"name": line.name, "results": [result]}]}


def card_section(line: RegisterLine) -> str:
    """Return the section "Privacy audit" of a model card, in Markdown."""
    number = line.number
    interval = line.number.shown.interval
    shown = f"{number.shown.value}, {interval}" if interval else number.shown.value
    rows = (
        ("Audited", line.audited),
        ("Game", line.game),
        ("Attacker's knowledge", line.knowledge),
        (number.label, f"{shown} ({sure(number)})"),
        ("Guessing gives", number.guessing),
        ("Grade", line.grade),
        ("It cannot say", line.unsaid),
        ("Made", f"{line.made}, with PrivacyGauge {line.version}, seed {line.seed}"),
        ("Report", f"report.json, sha256 {line.sha256}"),
    )
    table = "".join(
        f"| {escape_markdown(name)} | {escape_markdown(text)} |\n" for name, text in rows
    )
    text = f"## Privacy audit\n\n{escape_markdown(line.headline)}.\n\n| | |\n|---|---|\n{table}"
    if line.further:
        text += "\n| Number | Found | Interval | n | Guessing gives |\n|---|---|---|---|---|\n"
    for further in line.further:
        numbers = further.shown
        found = further.estimate
        doubt = " (too few records to tell)" if further.doubtful else ""
        if found is None:
            interval = "computed"
            n = ""
        else:
            interval = rate(found.level)
            if numbers.interval:
                interval = f"{numbers.interval} ({interval})"
            n = count(found.n)
        cells = (further.label, f"{numbers.value}{doubt}", interval, n, further.guessing)
        text += "".join(f"| {escape_markdown(cell)} " for cell in cells) + "|\n"
    if not line.warnings:
        return text
    warnings = "".join(f"- {escape_markdown(warning)}\n" for warning in line.warnings)
    return f"{text}\nRead the numbers with this in mind:\n\n{warnings}"


def escape_markdown(text: str) -> str:
    r"""Return a text on one line with Markdown syntax escaped.

    Examples
    --------
    >>> print(escape_markdown("<b> | [a](https://x.y)"))
    \<b\> \| \[a\](https:\//x.y)
    """
    safe = _STEERS.sub(r"\\\1", plain(text))
    safe = _LINKS.sub(lambda _: "\\", safe)
    return _LISTS.sub(lambda m: f"\\{m[0]}" if not m[0].isdigit() else f"{m[0]}\\", safe)


def yaml_block(value: Mapping[str, Plain]) -> str:
    r"""Return a mapping as a YAML block that YAML 1.1 and 1.2 parse alike.

    Keys are ours and are written unquoted; texts may be the user's and are quoted, on one line,
    without control characters. Infinity becomes the text ``infinite``, since the hub converts the
    block to JSON.

    Examples
    --------
    >>> print(yaml_block({"name": 'a "b"', "metrics": [{"value": 1e-05}, {"value": 2.0}]}), end="")
    name: "a \"b\""
    metrics:
    - value: 0.00001
    - value: 2.0
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Plain) -> list[str]:
    if isinstance(value, float) and not math.isfinite(value):
        return ['"infinite"']
    if isinstance(value, float):
        # YAML 1.1 reads 1e-05 as a text, as it has no point: digits instead of an exponent.
        text = f"{Decimal(repr(value)):f}"
        return [text if "." in text else f"{text}.0"]
    if isinstance(value, str):
        # `plain` replaced all characters that YAML does not allow, since they are not printable.
        return [json.dumps(plain(value), ensure_ascii=False)]
    if isinstance(value, bool | int):
        return [json.dumps(value)]
    if not value:
        return ["{}" if isinstance(value, Mapping) else "[]"]
    # A list is a mapping without keys: each item begins with a dash, and its other lines are
    # indented below it.
    found: list[str] = []
    for key, x in value.items() if isinstance(value, Mapping) else (("", x) for x in value):
        first, *others = _lines(x)
        if not key:
            found += [f"- {first}", *(f"  {line}" for line in others)]
        elif isinstance(x, str | bool | int | float) or not x:
            found.append(f"{key}: {first}")
        else:
            # A list below a key needs no indent of its own.
            indent = "  " if isinstance(x, Mapping) else ""
            found += [f"{key}:", *(indent + line for line in (first, *others))]
    return found
