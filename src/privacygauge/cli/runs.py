"""Commands `privacygauge resume`, `worker`, `report`, `runs` and `register`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacygauge.cli import options
from privacygauge.cli.commands import (
    COMMANDS,
    RESUMABLE,
    asked_limits,
    read_by,
    require_local_files,
)
from privacygauge.errors import InputError
from privacygauge.kinds.request import Metric
from privacygauge.runs.folder import Folder, absolute_place, place_text, require_local, url_of
from privacygauge.runs.options import Role
from privacygauge.runs.results import check_writable, require_free
from privacygauge.runs.sharing import sharing

if TYPE_CHECKING:
    from privacygauge.cli.output import Limit
    from privacygauge.kinds.command import Command
    from privacygauge.kinds.request import Request
    from privacygauge.kinds.session import Work
    from privacygauge.releases.audit import RiskRegister
    from privacygauge.report.values import Report

CODE = "Code that the run was made with"
"""Heading of the options that name code again."""

_CARD = (
    "Print a snippet for a model card instead, with the metadata that model hubs read; with --out "
    "it is written to model-card.md there. A report without a run will do."
)
_MODEL = "What the model card calls the model. Default: the folder's name."
_DATA = "What the model card calls the data. Default: the names of the audited files."


def _user_code_option(option: str, metavar: str, what: str) -> Any:
    told = "no code is run because a run folder names it. Code that has changed since is refused."
    return options.text_option(option, metavar, f"{what}, if it is code of yours: {told}", CODE)


_LIMITS = (
    "Exit with code 3 if METRIC is above VALUE; metrics are those of the command that started the "
    "run."
)
_LIMITED = options.fail_above_option(
    _LIMITS, tuple(dict.fromkeys(name for one in RESUMABLE.values() for name in one.metrics))
)
LimitsOption = Annotated[list[str] | None, _LIMITED]
OutOption = Annotated[Path | None, options.out("the folder that holds the run")]
_RUN = "Folder of the run, or of the report that it belongs to."
RunArgument = Annotated[Path, options.positional_argument("RUN", _RUN, options.runs)]


ModelOption = Annotated[str | None, _user_code_option("--model", "FILE.py:NAME", "The model")]
FittedOption = Annotated[
    str | None, _user_code_option("--fitted", "FILE.py:NAME", "The audited model")
]
GeneratorOption = Annotated[
    str | None, _user_code_option("--generator", "FILE.py:NAME", "The generator (or its command:)")
]


MetricOption = Annotated[str | None, _user_code_option("--metric", "FILE.py:NAME", "The metric")]
_OTHER_CODE = (
    "Code behind another option of the command, such as detector=find.py:Detector, for kinds of "
    "audit from other packages. May be given several times."
)
OtherCodeOption = Annotated[
    list[str] | None, options.text_option("--code", "OPTION=FILE.py:NAME", _OTHER_CODE, CODE)
]
_MOVED = (
    "Where the data of the run is now, if it was moved. Another file is given with the name of its "
    "option, such as holdout=people.csv. It must be the same file: its digest is compared. May be "
    "given several times."
)
MovedOption = Annotated[list[str] | None, options.text_option("--data", "FILE", _MOVED)]


@dataclass(frozen=True, kw_only=True)
class _NamedAgain:
    """A run, with the user's code and moved data named again."""

    run: RunArgument
    data: MovedOption = None
    model: ModelOption = None
    fitted: FittedOption = None
    generator: GeneratorOption = None
    metric: MetricOption = None
    code: OtherCodeOption = None
    jobs: options.Jobs = -1

    def load(self, quiet: bool) -> tuple[Command[Any], Request, Work]:
        """Return the run's command, its request with the user's code, and its work."""
        from privacygauge.runs.named import OPTIONS, named_again

        given = {name: getattr(self, name) for name in OPTIONS}
        for text in self.code or ():
            name, equals, code = text.partition("=")
            if not equals:
                raise InputError(f"--code must be OPTION=FILE.py:NAME, got {text!r}")
            given[name] = code
        # Named again by the user: a run folder from elsewhere must not make this machine run code.
        place, command, asked = _load_started(self.run, self.data)
        named = [f.name for f, option in command.request.asked() if option.role is Role.CODE]
        request = command.request.kept(named_again(asked, given, place, named))
        require_local_files(request)
        return command, request, _work(place, self.jobs, quiet)


@dataclass(frozen=True, kw_only=True)
class _ResultOptions:
    """Destinations of an audit's results, and limits that it is held to."""

    out: OutOption = None
    json: options.Json = None
    quiet: options.Quiet = False
    fail_above: LimitsOption = None
    policy: options.Policy = None


@dataclass(frozen=True, kw_only=True)
class _ResumeOptions(_ResultOptions, _NamedAgain):
    """Options of `privacygauge resume`."""

    backend: options.Backend = "loky"


@dataclass(frozen=True, kw_only=True)
class _WorkerOptions(_NamedAgain):
    """Options of `privacygauge worker`."""

    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class _ReportOptions(_ResultOptions):
    """Options of `privacygauge report`."""

    run: Annotated[Path, options.positional_argument("RUN", _RUN, options.reports_and_runs)]
    data: MovedOption = None
    card: Annotated[bool, options.switch("--model-card", _CARD)] = False
    name: Annotated[str | None, options.text_option("--name", "TEXT", _MODEL)] = None
    dataset: Annotated[str | None, options.text_option("--dataset", "TEXT", _DATA)] = None


@options.from_fields(_ResumeOptions)
def resume(asked: _ResumeOptions) -> None:
    """Resume a run that was interrupted: only what is missing is done.

    Example: privacygauge resume privacygauge-report

    Example: privacygauge resume privacygauge-report --model train.py:make
    """
    raise typer.Exit(_write_results(*asked.load(asked.quiet), asked, asked.backend))


@options.from_fields(_WorkerOptions)
def worker(asked: _WorkerOptions) -> None:
    """Compute tasks of a run that no other worker has claimed, until all are done.

    Start as many workers as you like, on all machines that see the run's folder or URL: a run that
    was planned with --plan-only, or interrupted. Then privacygauge resume writes the report.

    Example: privacygauge worker privacygauge-report
    """
    from privacygauge.kinds.session import with_copies

    command, request, work = asked.load(asked.quiet)
    request.check(asked.jobs)
    # Within `sharing` a task is claimed before it is computed; the audit's result is not used.
    with sharing(), with_copies(request) as here:
        command.play(here, work)
    work.say(f"All tasks are done. Write the report: privacygauge resume {place_text(asked.run)}")


@options.from_fields(_ReportOptions)
def report(asked: _ReportOptions) -> None:
    """Write the report of a finished run again; nothing is trained.

    Example: privacygauge report privacygauge-report --out again

    Example: privacygauge report privacygauge-report --model-card --name triage
    """
    run = asked.run
    if asked.card:
        from privacygauge.cli.output import emit_text
        from privacygauge.releases.audit import card_of
        from privacygauge.releases.line import REPORT, line_of, read_line
        from privacygauge.runs.named import RUN

        require_local(run, "model cards are made of reports")
        others = {"--json": asked.json, "--fail-above": asked.fail_above, "--policy": asked.policy}
        for option, value in others.items():
            if value:
                raise InputError(
                    f"{option} does not go with --model-card: call privacygauge report once for "
                    "each"
                )
        # A report lies in the folder above that of its run.
        place = run.absolute()
        own = place.parent if place.name == RUN else place
        if asked.out is not None:
            require_free(asked.out, [CARD])
            check_writable(asked.out)
        # A written report comes first: the run is read only where there is none.
        written = [folder for folder in (run, own) if (folder / REPORT).is_file()]
        if run.is_file():
            written.append(run)
        if written:
            line = read_line(written[0], asked.name)
        elif run.is_dir():
            line = line_of(_finished_json(run, asked.data), asked.name or own.name)
        else:
            raise InputError(f"{run} does not exist")
        to = "-" if asked.out is None else asked.out / CARD
        emit_text(card_of(line, asked.dataset), to, "--out")
        return
    if asked.name is not None or asked.dataset is not None:
        raise InputError("--name and --dataset go with --model-card")
    found = _load_finished(run, asked.data, asked.quiet)
    raise typer.Exit(_write_results(*found, asked, "loky"))


def _finished_json(run: Path, data: Sequence[str] | None) -> str:
    """Return the JSON of a finished run's report; nothing is trained."""
    from privacygauge.report.render import as_json

    return as_json(_report_of_run(*_load_finished(run, data, True)))


def _load_finished(
    run: Path, data: Sequence[str] | None, quiet: bool
) -> tuple[Command[Any], Request, Work]:
    """Return the command of a finished run, its request, and work that only reads the run.

    Nothing is trained, and no code that the run names is imported.
    """
    from privacygauge.runs.named import SCORES, run_in
    from privacygauge.runs.store import read_run

    # Refuse a run with missing tasks, its own or those of runs inside it.
    place = run_in(run)
    inner = [name for name in Folder(absolute_place(place)).names() if name.startswith(SCORES)]
    parts = [place, *(place / name for name in inner)]
    missing = [task for part in parts for task in read_run(part).missing()]
    if missing:
        raise InputError(
            f"{place_text(run)} is not finished, {len(missing)} task(s) are missing: privacygauge "
            f"resume {place_text(run)}"
        )
    place, command, asked = _load_started(run, data)
    request = command.request.kept(asked)
    require_local_files(request)
    return command, request, _work(place, 1, quiet, recorded=True)


def _work(place: Path, jobs: int, quiet: bool, *, recorded: bool = False) -> Work:
    from privacygauge.cli.output import bar, print_line
    from privacygauge.kinds.session import Work

    return Work(
        run=place,
        folder=place.parent,
        jobs=jobs,
        quiet=quiet,
        recorded=recorded,
        bar=partial(bar, quiet=quiet),
        tell=print_line,
    )


def _report_of_run(command: Command[Any], request: Request, work: Work) -> Report:
    """Compute the missing tasks of a run, if any, and return its report."""
    from privacygauge.kinds.session import with_copies
    from privacygauge.runs.store import only_read

    request.check(work.jobs)
    reading = only_read() if work.recorded else nullcontext()
    with reading, with_copies(request) as here:
        return work.dated(command.play(here, work).report(), request)


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to look, with all folders below.")
    ] = Path(),
    json: options.Json = None,
) -> None:
    """List the runs below a folder, and how far each has come.

    Example: privacygauge runs
    """
    from privacygauge.cli.output import emit_rows
    from privacygauge.runs.store import runs_in

    rows = [
        {
            "run": found.path,
            "kind": found.plan.name,
            "done": found.n_done(),
            "of": found.plan.n_units,
            "unit": found.plan.unit,
            "seed": found.plan.seed,
        }
        for found in runs_in(folder)
    ]
    emit_rows(rows, json)


def _write_results(
    command: Command[Any], request: Request, work: Work, results: _ResultOptions, backend: str
) -> int:
    """Write the results of an audit and return the exit code."""
    from privacygauge.cli.output import conclude, destination
    from privacygauge.runs import execute
    from privacygauge.runs.store import forget_failure

    # Limits and places first: what is mistyped is refused before anything is computed.
    limits = asked_limits(command, request, results.fail_above, results.policy)
    json = results.json
    usual = work.folder if results.out is None and json is None else results.out
    read = read_by(request, results.policy)
    folder = destination(
        usual, json, default="privacygauge-report", files=command.files, inputs=read
    )
    with execute.backend(backend):
        report = _report_of_run(command, request, work)
    # The run has succeeded now, whatever an earlier attempt recorded.
    if work.run is not None and not work.recorded:
        forget_failure(work.run)
    return conclude(report, limits, folder=folder, json=json, quiet=work.quiet)


def _load_started(
    run: Path, data: Sequence[str] | None
) -> tuple[Path, Command[Any], dict[str, Any]]:
    """Return a run's own folder, the command that started it, and its options.

    `data` gives the new places of files that were moved.
    """
    from privacygauge.runs.named import invocation_of, run_in, with_moved_files

    invocation = invocation_of(run)
    command = str(invocation.get("command"))
    asked = invocation.get("options")
    if command not in RESUMABLE or not isinstance(asked, dict):
        raise InputError(
            f"{place_text(run)} was started by no command of this version: start it again"
        )
    place = run_in(run)
    request = RESUMABLE[command].request
    return (
        place,
        RESUMABLE[command],
        with_moved_files(asked, request.file_names(), data or (), place),
    )


SEVERITY = "severity"
"""Metric of every judged line, 0 to 3: nothing found, small, moderate, grave."""

METRICS = (
    Metric(SEVERITY, 3.0),
    *dict.fromkeys(name for command in COMMANDS for name in command.metrics),
)
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
_REGISTER_LIMITS = (
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
    fail_above: Annotated[
        list[str] | None, options.fail_above_option(_REGISTER_LIMITS, METRICS)
    ] = None,
) -> None:
    """Put several finished audits into one risk register, the gravest first.

    Example: privacygauge register model=audit-model twin=audit-twin encoder=audit-encoder

    Example: privacygauge register audits/model audits/table --out register --fail-above severity=1
    """
    from privacygauge.cli.output import destination, emit_report, parsed_limits
    from privacygauge.releases.audit import STEM, risk_register
    from privacygauge.releases.line import REPORT, report_names

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
    from privacygauge.releases.audit import SCALE
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
