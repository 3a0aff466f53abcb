"""Risk registers of several finished audits, and the model card of one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

from privacygauge.core import checks
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, today
from privacygauge.datasets.reading import read_text
from privacygauge.errors import InputError
from privacygauge.releases import report
from privacygauge.releases.line import (
    SEVERITIES,
    RegisterLine,
    RegisterResult,
    joint_statement,
    line_of,
)
from privacygauge.releases.report import sure
from privacygauge.report import render
from privacygauge.report.numbers import count, plain, rate
from privacygauge.report.values import DataFrame, Origin, Report
from privacygauge.runs.folder import absolute_place, place_text, url_of

REPORT = "report.json"
"""Name of the file that a register reads from a folder."""

STEM = "register"
"""Stem of the names of a register's files."""


class RiskRegister(RegisterResult):
    """A register of several audits for a release board, with its forms."""

    def report(self) -> Report:
        """Return the full report of the register as plain values."""
        return report.report(self)

    def to_frame(self) -> DataFrame:
        """Return one row per audit, by descending severity."""
        return report.lines_frame(self)

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


def read_line(path: str | Path, name: str | None = None) -> RegisterLine:
    """Read the report of a finished audit as a line of a register.

    `path` is its folder or its ``report.json``; `name` defaults to the folder's name.
    """
    file = _file(Path(path))
    text = read_text(file, "report")
    folder = Path(absolute_place(file)).parent.name
    return line_of(text, name or folder or "report", where=place_text(file))


def report_names(reports: Iterable[tuple[str | None, str | Path]]) -> dict[str, str | Path]:
    """Return unique name to path: the given name, or that of the folder."""
    found: dict[str, str | Path] = {}
    for given, path in reports:
        base = given or Path(absolute_place(_file(Path(path)))).parent.name or "report"
        name = base
        number = 1
        # A second "model" becomes "model (2)".
        while name in found:
            number += 1
            name = f"{base} ({number})"
        found[name] = path
    return found


def _file(path: Path) -> Path:
    if url_of(path):
        return path if path.suffix == ".json" else path / REPORT
    if not path.is_dir():
        return path
    file = path / REPORT
    if not file.is_file():
        raise InputError(
            f"{path} has no {REPORT}: give the folder that an audit wrote with --out, once it is "
            "finished"
        )
    return file


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
