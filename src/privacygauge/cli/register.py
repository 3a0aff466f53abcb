"""Commands `privacygauge register` and `privacygauge report --model-card`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacygauge.cli import options
from privacygauge.cli.commands import COMMANDS
from privacygauge.errors import InputError
from privacygauge.kinds.request import Metric
from privacygauge.runs.folder import url_of
from privacygauge.runs.results import check_writable, require_free

if TYPE_CHECKING:
    from privacygauge.releases.audit import RiskRegister
    from privacygauge.report.limits import Limit

SEVERITY = "severity"
"""Metric of every judged line, 0 to 3: nothing found, small, moderate, grave."""

METRICS = (Metric(SEVERITY, 3.0), *options.metrics_of(COMMANDS))
"""Metrics for limits of a register, for lines of any kind."""

CARD = "model-card.md"
"""Name of the file that --out writes."""
_FOLDER = "privacygauge-register"
_NAMES = ("register.html", "register.json", "register.csv")
_FILES = "register.html, register.json and register.csv"
_REPORTS = (
    "Folders of finished audits of any kind, or their report.json, here or at URLs; NAME=FOLDER "
    "gives a line a name."
)
_LEVEL = "Level wanted for all lines together; it changes no interval."
_LIMITS = (
    "Exit with code 3 if METRIC of any line is above VALUE: severity (0 nothing found, 1 small, "
    "2 moderate, 3 grave; a line that cannot be judged is above any), or a metric of an audit, "
    "such as accuracy, auc, epsilon, dtp or bias; add .low for the lower end of the interval."
)


def register(
    reports: Annotated[list[str], options.positional_argument("REPORT", _REPORTS, options.reports)],
    out: Annotated[Path | None, options.out(_FOLDER, _FILES)] = None,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Name of what is to be released.")
    ] = "Release",
    level: Annotated[float, typer.Option("--level", metavar="P", help=_LEVEL)] = 0.95,
    json: options.Json = None,
    quiet: options.Quiet = False,
    fail_above: Annotated[list[str] | None, options.fail_above_option(_LIMITS, METRICS)] = None,
) -> None:
    """Put several finished audits into one risk register, the gravest first.

    Example: privacygauge register model=audit-model twin=audit-twin encoder=audit-encoder

    Example: privacygauge register audits/model audits/table --out register --fail-above severity=1
    """
    from privacygauge.cli.output import destination, emit_report
    from privacygauge.releases.audit import REPORT, STEM, report_names, risk_register
    from privacygauge.report.limits import parsed_limits

    # Each is a path, or a name and a path: `audits/model` or `model=audits/model`.
    pairs: list[tuple[str | None, str]] = []
    for text in reports:
        name, _, path = text.partition("=")
        # An existing folder or a URL may have an equals sign in it.
        is_named = name and path and not Path(text).exists() and not url_of(text)
        pairs.append((name, path) if is_named else (None, text))
    given = [name for name, _ in pairs if name is not None]
    for name in given:
        if given.count(name) > 1:
            raise InputError(f"two reports are called {name!r}: give each a name of its own")
    asked = report_names(pairs)
    read = [place for path in asked.values() for place in (path, Path(path) / REPORT)]
    folder = destination(out, json, default=_FOLDER, files=_NAMES, inputs=read)
    found = risk_register(asked, title=title, level=level)
    # Lines may have further metrics: those of audits from Python, or of another version.
    known = dict.fromkeys((*METRICS, *(name for line in found.lines for name in line.measures)))
    limits = parsed_limits(fail_above, known)
    failures = [text for limit in limits for text in _lines_above(found, limit)]
    raise typer.Exit(
        emit_report(found.report(), folder, json=json, quiet=quiet, failures=failures, stem=STEM)
    )


def _lines_above(found: RiskRegister, limit: Limit) -> list[str]:
    from privacygauge.releases.report import SCALE
    from privacygauge.report.values import Severity

    lines = []
    told = 0
    for line in found.lines:
        severity = line.severity
        measures = dict(line.measures)
        # The audit could not tell: a number below the limit is no evidence.
        asked = limit.metric in (SEVERITY, *measures)
        if severity is Severity.UNTOLD and asked:
            told += 1
            lines.append(
                f"{line.name}: {severity}, so the limit of {limit.metric} cannot be checked"
            )
            continue
        if severity in SCALE:
            measures[SEVERITY] = SCALE.index(severity)
        if limit.metric not in measures:
            continue
        told += 1
        if measures[limit.metric] > limit.value:
            value = f"{measures[limit.metric]:.4g}"
            lines.append(f"{line.name}: {limit.metric} is {value}, above {limit.value:g}")
    if not told:
        return [f"{limit.metric} was not computed by any audit, so its limit cannot be checked"]
    return lines


def model_card(
    run: Path,
    own: Path,
    audited: Callable[[], str],
    name: str | None,
    dataset: str | None,
    out: Path | None,
) -> None:
    """Print the model card of an audit, or write it into a folder.

    `run` is the given path: the report, its folder, or that of its run. `own` is the folder for a
    report of the run, and `audited` returns the JSON if no report was written. `name` and `dataset`
    are the names of the model and the data on the card.
    """
    from privacygauge.cli.output import emit_text
    from privacygauge.releases.audit import REPORT, card_of, read_line
    from privacygauge.releases.line import line_of

    if out is not None:
        require_free(out, [CARD])
        check_writable(out)
    # A written report comes first: the run is read only where there is none.
    written = [place for place in (run, own) if (place / REPORT).is_file()]
    if run.is_file():
        written.append(run)
    if written:
        line = read_line(written[0], name)
    elif run.is_dir():
        line = line_of(audited(), name or own.name)
    else:
        raise InputError(f"{run} does not exist")
    emit_text(card_of(line, dataset), "-" if out is None else out / CARD, "--out")
