"""Risk registers of several finished audits, and the model card of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from privacygauge.core import checks
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, today
from privacygauge.datasets.reading import read_text
from privacygauge.errors import InputError
from privacygauge.evaluate.together import joint_statement
from privacygauge.register import says
from privacygauge.register.line import SEVERITIES, RegisterLine, RegisterResult, line_of
from privacygauge.register.model_card import render as card
from privacygauge.report import render
from privacygauge.report.document import DataFrame
from privacygauge.report.numbers import plain
from privacygauge.report.values import Origin, Report
from privacygauge.runs.folder import absolute_place, place_text, url_of

REPORT = "report.json"
"""Name of the file that a register reads from a folder."""

STEM = "register"
"""Stem of the names of a register's files."""


class RiskRegister(RegisterResult):
    """A register of several audits for a release board, with its forms."""

    def report(self) -> Report:
        """Return the full report of the register as plain values."""
        return says.report(self)

    def to_frame(self) -> DataFrame:
        """Return one row per audit, by descending severity."""
        return says.lines_frame(self)

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
    at_once = joint_statement(stated, level)
    return RiskRegister(_origin(ranked, level), title, tuple(ranked), at_once)


def _origin(lines: Sequence[RegisterLine], level: float) -> Origin:
    nobody = tuple(
        Skipped(line.name, f"no {line.worst.what} are named: {line.worst.reason}")
        for line in lines
        if line.worst.reason
    )
    warnings = tuple(f"{line.name}: {plain(text)}" for line in lines for text in line.warnings)
    files = {line.name: f"report.json sha256:{line.sha256}" for line in lines}
    return Origin(
        command="register",
        version=own_version(),
        seed=0,
        level=level,
        made=today(),
        skipped=nobody,
        warnings=warnings,
        provenance=files,
    )


def read_line(path: str | Path, name: str | None = None) -> RegisterLine:
    """Read the report of a finished audit as a line of a register.

    `path` is its folder or its ``report.json``; `name` defaults to the folder's name.
    """
    file = _file(Path(path))
    text = read_text(file, "report")
    return line_of(text, name or _folder_name(file), where=place_text(file))


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
    """Return a line as a snippet of a model card; see `model_card`."""
    return card(line, dataset or ", ".join(line.files) or "not stated")


def report_names(reports: Iterable[tuple[str | None, str | Path]]) -> dict[str, str | Path]:
    """Return unique name to path: the given name, or that of the folder."""
    found: dict[str, str | Path] = {}
    for given, path in reports:
        name = base = given or _folder_name(_file(Path(path)))
        number = 1
        # A second "model" becomes "model (2)".
        while name in found:
            number += 1
            name = f"{base} ({number})"
        found[name] = path
    return found


def _folder_name(file: Path) -> str:
    return Path(absolute_place(file)).parent.name or "report"


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
