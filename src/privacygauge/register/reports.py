"""One risk register over several finished audits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from numpy.typing import NDArray

from privacygauge.audits.rendered import Rendered
from privacygauge.core import checks
from privacygauge.core.versions import own_version
from privacygauge.datasets import parquet
from privacygauge.datasets.reading import read_text
from privacygauge.errors import InputError
from privacygauge.register.findings import Register, Together
from privacygauge.register.kinds import SCHEMAS, kind_of
from privacygauge.register.line import SEVERITIES, RegisterLine
from privacygauge.register.reading import Columns, Part
from privacygauge.report.document import SCHEMA
from privacygauge.report.numbers import plain

REPORT = "report.json"
"""What a register reads in a folder."""


@dataclass(frozen=True, eq=False, repr=False)
class RiskRegister(Rendered, Register):
    """Several audits as a release board needs them, with ways to look at them."""

    REPORT = "privacygauge.register"

    def __repr__(self) -> str:
        from privacygauge import register

        n = len(self.lines)
        return (
            f"<RiskRegister of {n} audit{'' if n == 1 else 's'}: {register.verdict(self).headline}>"
        )

    def write(self, directory: str | Path) -> list[Path]:
        """Write register.html, register.json and register.csv; return the files' paths."""
        from privacygauge import register
        from privacygauge.runs import atomic

        atomic.check_writable(Path(directory))
        return atomic.write_all(Path(directory), register.files(self))


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
        Folders of finished audits of any kind, or their ``report.json``. Without names a line is
        called by its folder.
    title : str
        What is to be released.
    level : float
        In (0, 1): what all lines together are wanted to hold at. It changes no interval: the
        register says at which level each audit has to be run for it.

    Returns
    -------
    RiskRegister
        Numbers, verdicts and advice are those of the reports; nothing is computed anew. That all
        intervals hold at once has at least the probability 1 - sum of (1 - level of a line), by
        Bonferroni's inequality.

    Raises
    ------
    InputError
        One line: no report, one that is damaged, foreign, or of a newer version, or one twice.

    Notes
    -----
    Files are read as JSON, and ids from the columns of ``records.parquet`` that hold them;
    nothing is unpickled.
    """
    checks.level(level)
    lines = [read_line(path, name) for name, path in _named(reports).items()]
    seen: dict[str, str] = {}
    for line in lines:
        if line.sha256 in seen:
            raise InputError(
                f"{line.name} and {seen[line.sha256]} are the same report: give it once"
            )
        seen[line.sha256] = line.name
    ranked = sorted(lines, key=lambda line: SEVERITIES.index(line.told.judged.severity))
    return RiskRegister(title, own_version(), tuple(ranked), _together(ranked, level))


def read_line(path: str | Path, name: str | None = None) -> RegisterLine:
    """Return what the report of a finished audit says, as a line of a register.

    Parameters
    ----------
    path : str or Path
        Its folder, or its ``report.json``.
    name : str, optional
        What it is called; the folder's name where it is not given.
    """
    file = _file(Path(path))
    text = read_text(file, "report")
    columns = _columns_of(file.with_name("records.parquet"))
    return line_of(text, name or _folder_name(file), columns, where=str(file))


def model_card(path: str | Path, *, name: str | None = None, dataset: str | None = None) -> str:
    """Return a finished audit as a snippet of a model card, in Markdown with YAML metadata.

    Parameters
    ----------
    path : str or Path
        The audit's folder, or its ``report.json``.
    name : str, optional
        What the model is called; the folder's name where it is not given.
    dataset : str, optional
        What the data is called; the names of the audited files where it is not given.

    Returns
    -------
    str
        The metadata ``model-index``, then the section "Privacy audit". No record's id is in it.

    Raises
    ------
    InputError
        One line: what is wrong with the report, and the way out.
    """
    return card_of(read_line(path, name), dataset)


def card_of(line: RegisterLine, dataset: str | None) -> str:
    """Return what a report says as a snippet of a model card."""
    from privacygauge.register.model_card import render

    return render(line, dataset or ", ".join(line.files) or "not stated")


def line_of(
    text: str, name: str, columns: Columns = lambda names: None, *, where: str = REPORT
) -> RegisterLine:
    """Return what the text of a ``report.json`` says, as a line of a register."""
    report = Part(where, _document(text, where))
    kind = kind_of(report)
    told = kind.tell(report, columns)
    return RegisterLine(
        plain(name),
        kind,
        told,
        _files(report),
        report.text("version"),
        report.whole("seed"),
        report.texts("warnings"),
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def names_of(reports: Iterable[tuple[str | None, str | Path]]) -> dict[str, str | Path]:
    """Return paths by names that are all different: those given, or those of the folders."""
    found: dict[str, str | Path] = {}
    for given, path in reports:
        name = base = given or _folder_name(_file(Path(path)))
        number = 1
        while name in found:
            number += 1
            name = f"{base} ({number})"
        found[name] = path
    return found


def _named(reports: Sequence[str | Path] | Mapping[str, str | Path]) -> Mapping[str, str | Path]:
    if isinstance(reports, str | Path):
        raise InputError(f"reports must be a list of folders, got the single path {reports}")
    if not reports:
        raise InputError("reports must name at least one finished audit, got none")
    return reports if isinstance(reports, Mapping) else names_of((None, x) for x in reports)


def _folder_name(file: Path) -> str:
    return file.absolute().parent.name or "report"


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    file = path / REPORT
    if not file.is_file():
        raise InputError(
            f"{path} has no {REPORT}: give the folder that an audit wrote with --out, once it is "
            "finished"
        )
    return file


def _document(text: str, where: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where} is damaged or no JSON ({error}): give a folder that an audit wrote with --out"
        ) from error
    schema = found.get("schema") if isinstance(found, dict) else None
    if isinstance(schema, str) and schema in SCHEMAS:
        assert isinstance(found, dict)
        return found
    shown = plain(schema)
    if isinstance(schema, str) and schema.startswith("privacygauge/register/"):
        raise InputError(f"{where} is a register already: give the reports of the audits")
    if isinstance(schema, str) and schema.startswith("privacygauge/"):
        raise InputError(
            f"{where} has the schema {shown}, and this version reads {SCHEMA}: use the newer "
            "version of PrivacyGauge that wrote it"
        )
    raise InputError(
        f"{where} is no report of PrivacyGauge (its schema must be {SCHEMA}, got {shown}): give a "
        "folder that an audit wrote with --out"
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _columns_of(path: Path) -> Columns:
    def columns(names: tuple[str, ...]) -> Mapping[str, NDArray[Any]] | None:
        if not path.is_file():
            return None
        try:
            table = parquet.read_columns(path, names)
            return {name: table[name].to_numpy() for name in names if name in table.column_names}
        except InputError:
            raise
        except parquet.DAMAGE as error:
            raise InputError(
                f"{path} is damaged or no Parquet file: write that report again"
            ) from error

    return columns


def _files(report: Part) -> tuple[str, ...]:
    """Return the names of the files that were audited, as its provenance has them."""
    values = report.part("provenance").value.values()
    texts = [value for value in values if isinstance(value, str)]
    return tuple(plain(x.rpartition(" sha256:")[0]) for x in texts if " sha256:" in x)


def _together(lines: Sequence[RegisterLine], asked: float) -> Together:
    numbers = [(line.name, line.told.number) for line in lines]
    at_level = tuple(name for name, number in numbers if number.level is not None)
    if not at_level:
        return Together(None, asked, None, ())
    risked = sum(number.risked for _, number in numbers)
    looks = sum(number.looks for _, number in numbers if number.level is not None)
    return Together(1 - risked if risked < 1 else None, asked, 1 - (1 - asked) / looks, at_level)
