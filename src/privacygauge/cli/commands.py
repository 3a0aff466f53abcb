"""Typer commands built from requests, with the same options, limits and exit codes; all audits."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import MISSING, Field
from functools import partial, reduce
from importlib.metadata import EntryPoint, entry_points
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from privacygauge.cli import options
from privacygauge.errors import InputError
from privacygauge.kinds.command import Command, Group, Program, Tool
from privacygauge.kinds.request import Request, is_copied
from privacygauge.runs.folder import place_text, require_local, url_of
from privacygauge.runs.options import Role
from privacygauge.runs.plugins import plugin_code
from privacygauge.runs.sharing import sharing

if TYPE_CHECKING:
    from privacygauge.cli.output import Limit


R = TypeVar("R", bound=Request)


def _keyword_parameter(name: str, kind: Any, default: Any, info: Any) -> inspect.Parameter:
    """Return a keyword parameter for typer, with its type, default and option."""
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, by_name, default=default, annotation=Annotated[kind, info])


_QUIET = _keyword_parameter("quiet", bool, False, options.QUIET)


def add(app: typer.Typer, command: Command[Any]) -> None:
    """Add a command to an app."""

    def run(**given: Any) -> None:
        raise typer.Exit(_run_command(command, given))

    # "holdout attack" is the command "attack" of the app "holdout".
    last = command.name.rpartition(" ")[2]
    parameters = _parameters(command.request) + _common(command)
    app.command(last, rich_help_panel=command.group)(_with_signature(run, command.help, parameters))


def add_to_itself(app: typer.Typer, command: Command[Any]) -> None:
    """Make a command the default of an app that has further commands."""

    def run(ctx: typer.Context, **given: Any) -> None:
        if ctx.invoked_subcommand is None:
            raise typer.Exit(_run_command(command, given))
        # A subcommand would silently ignore options that were given before it.
        for name, value in given.items():
            source = ctx.get_parameter_source(name)
            if value and source is not None and source.name != "DEFAULT":
                raise InputError(f"{ctx.invoked_subcommand} takes no options of an audit")

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    itself = inspect.Parameter("ctx", kind, annotation=typer.Context)
    parameters = _parameters(command.request) + _common(command)
    app.callback(invoke_without_command=True)(
        _with_signature(run, command.help, parameters, itself)
    )


def add_tool(app: typer.Typer, tool: Tool[Any]) -> None:
    """Add a command without a report, which prints its summary."""

    def run(quiet: bool, **given: Any) -> None:
        asked = tool.request(**_values(tool.request, given))
        require_local_files(asked)
        asked.check(1)
        _require_files(asked)
        # Imported late: bad input is refused before the imports take their time.
        from privacygauge.cli.output import bar, print_line
        from privacygauge.kinds.session import Work, with_copies

        with with_copies(asked) as here:
            work = Work(quiet=quiet, bar=partial(bar, quiet=quiet), tell=print_line)
            done = tool.play(here, work)
        if not quiet:
            print(done)

    parameters = [*_parameters(tool.request), _QUIET]
    app.command(tool.name.rpartition(" ")[2])(_with_signature(run, tool.help, parameters))


def add_all(app: typer.Typer, ordered: type[TyperGroup]) -> None:
    """Add all commands that the installed packages have, each to the group of its first words.

    Parameters
    ----------
    app : typer.Typer
        The whole command line.
    ordered : type
        Class of groups, which says the order of their commands in the help.
    """
    apps = {"": app}
    groups = {one.name.rpartition(" ")[0] for one in ALL}
    for one in ALL:
        above, _, last = one.name.rpartition(" ")
        outer = apps[above]
        if isinstance(one, Group) or (isinstance(one, Command) and one.name in groups):
            apps[one.name] = inner = typer.Typer(name=last, cls=ordered)
            if isinstance(one, Group):
                inner.callback(invoke_without_command=True, help=one.help)(print_help)
            else:
                add_to_itself(inner, one)
            outer.add_typer(inner, rich_help_panel=one.group)
        elif isinstance(one, Command):
            add(outer, one)
        elif isinstance(one, Tool):
            add_tool(outer, one)
        elif isinstance(one.app, typer.Typer):
            outer.add_typer(one.app, name=last, rich_help_panel=one.group)
        else:
            outer.command(last, rich_help_panel=one.group)(one.app)


def print_help(context: typer.Context) -> None:
    """Print the help of a group that was called without a command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def _with_signature(
    run: Callable[..., None],
    text: str,
    parameters: list[inspect.Parameter],
    *first: inspect.Parameter,
) -> Callable[..., None]:
    """Return a function with the signature from which typer makes options."""
    run.__signature__ = inspect.Signature([*first, *parameters])  # type: ignore[attr-defined]
    run.__doc__ = text
    return run


_PLAIN: Mapping[str, Any] = {"bool": bool, "int": int, "float": float, "str": str, "None": None}
"""Types that a command line can give, by name."""


def asked_limits(
    command: Command[Any], request: Request, texts: list[str] | None, policy: Path | None
) -> tuple[Limit, ...]:
    """Return the limits of ``--fail-above``, then those of ``--policy``."""
    if not texts and policy is None:
        return ()  # the import takes time
    from privacygauge.cli.output import parsed_limits, policy_limits

    known = request.metrics or command.metrics
    limits = parsed_limits(texts, known)
    if policy is None:
        return limits
    return limits + policy_limits(policy, command.name.replace(" ", "-"), known)


def require_local_files(request: Request) -> None:
    """Refuse storage URLs as inputs unless they are copied; folders for results may be URLs."""
    for f, asked in request.asked():
        value = getattr(request, f.name)
        # Titles and notes are any text; plain options that name a folder may be URLs.
        is_free = f.name in Request.COMMON or (asked.role, asked.metavar) == (Role.PLAIN, "DIR")
        for text in () if is_free else value if isinstance(value, tuple) else (value,):
            if not isinstance(text, str):
                continue
            url_of(text)  # refuses one with a password
            if text.startswith(("http:", "https:")):
                continue
            if asked.role is Role.CODE:
                require_local(text, "code is run from files")
            elif not is_copied(text, asked.role):
                require_local(text, "files are read")


def read_by(request: Request, policy: Path | None) -> tuple[Path, ...]:
    """Return the files that a command reads; results must not replace them."""
    # Code is named as FILE.py:NAME, or as a module, which is not a file.
    code = (Path(name.rpartition(":")[0]) for name in request.code().values())
    files = (*request.files().values(), *(path for path in code if path.suffix == ".py"))
    return files if policy is None else (*files, policy)


def _require_files(request: Request) -> None:
    """Refuse missing files before any slow import."""
    for path in read_by(request, None):
        if path.suffix and not path.exists():
            # A bad seed or level comes before a missing file in the messages.
            if (request.seed, request.level) != (Request.seed, Request.level):
                from privacygauge.core import checks, seeds

                checks.level(request.level)
                seeds.non_negative(request.seed)
            raise InputError(f"{path} does not exist")


def _run_command(command: Command[Any], given: Mapping[str, Any]) -> int:
    out, json, quiet, fail_above = (given[x] for x in ("out", "json", "quiet", "fail_above"))
    request = command.request(**_values(command.request, given))
    jobs = given.get("jobs", 1)
    require_local_files(request)
    request.check(jobs)
    limits = asked_limits(command, request, fail_above, given["policy"])
    _require_files(request)
    from privacygauge.cli.output import bar, conclude, destination, print_line
    from privacygauge.kinds.session import Work, with_copies
    from privacygauge.runs import execute
    from privacygauge.runs.named import RUN
    from privacygauge.runs.store import failing, is_void, plan_in

    read = read_by(request, given["policy"])
    folder = destination(out, json, default=command.folder, files=command.files, inputs=read)
    run = folder / RUN if command.keeps and request.keeps and folder is not None else None
    work = Work(run, folder, jobs, quiet, bar=partial(bar, quiet=quiet), tell=print_line)
    # A failure is recorded only in a run that starts here, or starts again: any other existing run
    # is refused and stays unchanged.
    is_new = run is not None and (plan_in(run) is None or is_void(run))
    with (
        failing(run) if is_new and run is not None else nullcontext(),
        execute.backend(given.get("backend", "loky")),
        with_copies(request) as here,
    ):
        if given.get("plan_only"):
            if run is not None:
                # Plans a run without computing its tasks.
                with sharing(plan_only=True):
                    command.play(here, work)
                if plan_in(run) is not None:
                    again = f"privacygauge worker {place_text(run.parent)}"
                    work.say(
                        f"The run is planned. Compute it, in as many processes as you like: {again}"
                    )
                    return 0
            raise InputError(
                "--plan-only needs a run, and none is kept here: leave it out, or give --out"
            )
        audit = command.play(here, work)
    return conclude(
        work.dated(audit.report(), request), limits, folder=folder, json=json, quiet=quiet
    )


def _values(request: type[Request], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return name to value of a request's fields, from the values that typer parsed."""
    found: dict[str, Any] = {}
    for f, asked in request.asked():
        value = given[f.name]
        if is_list(f):
            # Options may be repeated; some also split at commas, where empty parts are dropped.
            parts = (text.split(",") if asked.split else [text] for text in value or ())
            value = tuple(x for part in parts for x in part if x or not asked.split) or f.default
        elif isinstance(value, Path):
            value = place_text(value)
        elif asked.role is Role.CODE and isinstance(value, str) and value not in asked.offers:
            # The name of another package's code becomes that code, which a run compares.
            value = plugin_code(f"{f.name}s", value) or value
        found[f.name] = value
    return found


def is_list(f: Field[Any]) -> bool:
    """Return whether a field of a request holds several values."""
    return str(f.type).startswith(("tuple", "Sequence"))


def _parameters(request: type[Request]) -> list[inspect.Parameter]:
    """Return one typer parameter per field of a request."""
    found = []
    for f, asked in request.asked():
        required = f.default is MISSING
        default = inspect.Parameter.empty if required else f.default
        if is_list(f):
            annotation: Any = list[str] | None
            default = None
        # A `Path` would turn the two slashes of a URL into one.
        elif asked.role in (Role.FILE, Role.MODEL) and "URL" not in asked.metavar:
            annotation = Path if required else Path | None
        else:
            # Of a name or an object, the name.
            types = (_PLAIN[name] for name in str(f.type).split(" | ") if name in _PLAIN)
            annotation = reduce(or_, types)
        # Defaults that say something: neither empty nor the off state of a switch.
        plain = not required and f.default not in (None, "", ()) and not is_list(f)
        shared: dict[str, Any] = {
            "help": asked.help,
            "show_default": plain and f.default is not False,
            "rich_help_panel": asked.panel or None,
        }
        if asked.metavar:
            shared["metavar"] = asked.metavar
        if asked.offers:
            shared["autocompletion"] = options.names(*asked.offers)
        info = typer.Option(asked.flag, **shared) if asked.flag else typer.Argument(**shared)
        found.append(_keyword_parameter(f.name, annotation, default, info))
    return found


def _common(command: Command[Any]) -> list[inspect.Parameter]:
    """Return the parameters outside of a request: destinations, limits and workers."""
    limits = options.fail_above_option(command.limits, command.metrics)
    found = [
        _keyword_parameter("out", Path | None, None, options.out(command.folder)),
        _keyword_parameter("json", str | None, None, options.JSON),
        _QUIET,
        _keyword_parameter("fail_above", list[str] | None, None, limits),
        _keyword_parameter("policy", Path | None, None, options.POLICY),
    ]
    if command.trains:
        found.append(_keyword_parameter("jobs", int, command.jobs, options.JOBS))
        found.append(_keyword_parameter("backend", str, "loky", options.BACKEND))
    if command.keeps:
        found.append(_keyword_parameter("plan_only", bool, False, options.PLAN_ONLY))
    return found


ENTRY_POINTS = "privacygauge.audits"
"""Group of entry points through which a package adds kinds of audit and other commands."""

Added = Command[Any] | Tool[Any] | Group | Program


def load_commands() -> Iterator[Added]:
    """Yield the commands that the installed packages add: our own first, then others by name.

    A package whose commands cannot be imported, or are none, costs a line on the standard error and
    nothing else.
    """
    found = entry_points(group=ENTRY_POINTS)
    known: set[str] = set()

    def place(entry: EntryPoint) -> tuple[bool, str, str]:
        package = "" if entry.dist is None else entry.dist.name
        return package != "privacygauge", package, entry.name

    entries = sorted(found, key=place)
    if not entries or place(entries[0])[0]:
        # An older install of a checkout: its metadata say nothing of entry points.
        missing = "privacygauge: its own commands are not registered: install it again"
        print(missing, file=sys.stderr)
    for entry in entries:
        try:
            loaded = entry.load()
            several = loaded if isinstance(loaded, tuple) else (loaded,)
            for one in several:
                if not isinstance(one, Command | Tool | Group | Program):
                    raise TypeError(f"{entry.value} is a {type(one).__name__}, not a Command")
                above = one.name.rpartition(" ")[0]
                if one.name in known:
                    raise ValueError(f"there is a command {one.name!r} already")
                if above and above not in known | {other.name for other in several}:
                    raise ValueError(f"there is no group {above!r}")
        except Exception as error:  # noqa: BLE001  # code of other packages
            about = " ".join(str(error).split())
            print(f"privacygauge: {entry.name} is left out: {about}", file=sys.stderr)
            continue
        known |= {one.name for one in several}
        yield from several


ALL: tuple[Added, ...] = tuple(load_commands())
"""All that entry points add, by name; groups come before their commands."""

COMMANDS: tuple[Command[Any], ...] = tuple(one for one in ALL if isinstance(one, Command))
"""The audits among them."""

RESUMABLE: Mapping[str, Command[Any]] = {found.name: found for found in COMMANDS if found.keeps}
"""Commands that keep a run, by name."""
