"""Entry point of the command line: apps, exit codes and one-line error messages."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException

from privacygauge.cli.commands import COMMANDS, add_all, is_list, print_help
from privacygauge.cli.runs import register, report, resume, runs, worker
from privacygauge.cli.short_help import shorten_help
from privacygauge.core.versions import own_version
from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.kinds.request import HelpGroup
from privacygauge.runs.options import Role

if TYPE_CHECKING:
    from typer._click.core import Command, Parameter

WHAT = (
    "Measures what a released model, synthetic table, language model or leaderboard gives away "
    "about the data behind it."
)
"""Opening text of `privacygauge --help`."""

_HEADINGS = list(HelpGroup)


class Ordered(TyperGroup):
    """A group that lists commands by the headings of `HelpGroup` and by name, groups last."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names of the commands in that order."""
        return sorted(self.commands, key=self._place)

    def _place(self, name: str) -> tuple[int, bool, str]:
        command = self.commands[name]
        heading = getattr(command, "rich_help_panel", None)
        place = _HEADINGS.index(heading) if heading in _HEADINGS else len(_HEADINGS)
        return place, isinstance(command, TyperGroup), name


app = typer.Typer(
    name="privacygauge",
    cls=Ordered,
    help=WHAT,
    epilog="Exit codes: 0 done; 2 bad input; 3 a limit of --fail-above was exceeded; "
    "130 interrupted.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"privacygauge {own_version()}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version."
)


@app.callback(invoke_without_command=True)
def _privacygauge(
    context: typer.Context,
    _version: Annotated[bool, _VERSION] = False,
) -> None:
    print_help(context)


add_all(app, Ordered)
app.command(rich_help_panel=HelpGroup.REPORTS)(register)
app.command(rich_help_panel=HelpGroup.REPORTS)(resume)
app.command(rich_help_panel=HelpGroup.REPORTS)(worker)
app.command(rich_help_panel=HelpGroup.REPORTS)(report)
app.command(rich_help_panel=HelpGroup.REPORTS)(runs)


@cache  # building forty commands takes ten times as long as parsing a line
def command_of(app: typer.Typer) -> Any:
    """Return the click command of an app, with options from a file for all of its commands."""
    found = typer.main.get_command(app)
    add_config(found)
    shorten_help(found)
    flags = {
        asked.flag
        for command in COMMANDS
        for field, asked in command.request.asked()
        if asked.role is Role.FILE and asked.flag and not is_list(field)
    }
    refuse_repeated(found, flags)
    return found


def refuse_repeated(app: Any, flags: Collection[str]) -> None:
    """Make a command, or all commands of a group, refuse a second file for these options.

    The last would be taken otherwise, and the others left out without a word. Of numbers and names
    the last is taken, so that a script may add to what it was given.
    """
    for command in (getattr(app, "commands", None) or {}).values():
        refuse_repeated(command, flags)
    make_parser = app.make_parser

    def make_careful_parser(context: Any) -> Any:
        parser = make_parser(context)
        parse_args = parser.parse_args

        def parse_once(args: list[str]) -> Any:
            values, rest, order = parse_args(args)
            for option, times in Counter(order).items():
                flag = option.opts[0]
                if times > 1 and flag in flags:
                    raise InputError(f"{flag} takes one file, and is given {times} of them")
            return values, rest, order

        parser.parse_args = parse_once
        return parser

    app.make_parser = make_careful_parser


def run() -> int:
    """Run the command line and return the exit code."""
    try:
        code = command_of(app)(standalone_mode=False)
    except PrivacyGaugeError as error:
        return _fail(str(error))
    except TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    except Abort:
        code = 130
    except ModuleNotFoundError as error:
        if (extra := _extra_with(error.name or "")) is None:
            raise
        return _fail(
            f"this needs {error.name}, which is not installed: pip install 'privacygauge[{extra}]'"
        )
    except PermissionError as error:
        # Python asks whether a file is there, and raises where a folder above it is closed.
        return _fail(f"{error.filename} cannot be reached: {error.strerror}")
    except MemoryError:
        return _fail("there is not enough memory for this: give fewer records, or more memory")
    except BrokenPipeError:
        # The reader of the output is gone: without this, Python would fail again at exit, when it
        # flushes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    try:
        # Here, where a reader who is gone, such as head, is no error: Python would print one.
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code == 130:
        # Typer turns an interruption into a code; raised again, it ends like any other one.
        raise KeyboardInterrupt
    return int(code or 0)


_COMES_WITH = {"tokenizers": "transformers"}
"""Module that no extra names to the module that installs it."""


def _extra_with(module: str) -> str | None:
    """Return the smallest extra of PrivacyGauge that installs a module; None if none does."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("privacygauge") or ()
    except PackageNotFoundError:
        return None
    top = module.partition(".")[0]
    # Packages are compared by normalised name, as `requires` may spell them otherwise.
    wanted = _COMES_WITH.get(top, top).replace("_", "-").lower()
    extras: dict[str, set[str]] = {}
    for line in lines:
        extra = re.search(r"extra == [\"']([\w-]+)[\"']", line)
        if extra:
            name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
            extras.setdefault(extra[1], set()).add(name.replace("_", "-").lower())
    # The extra named like the module first, then the one with the fewest packages.
    found = [extra for extra, names in extras.items() if wanted in names]
    return min(found, key=lambda extra: (extra != top, len(extras[extra])), default=None)


def _fail(message: str, code: int = 2) -> int:
    line = " ".join(message.split())
    if re.search(r"\bin row \d", line):
        line += " (rows are counted from 0)"
    print(f"privacygauge: error: {line}", file=sys.stderr)
    return code


# Options from a TOML file: ``--config audit.toml`` for every command.


_HELP = (
    "Options in a TOML file, under the names of their flags, such as half-width = 0.03: those of "
    "every command first, then a table for each command, named as it is. What is given on the "
    "command line comes before it."
)


def add_config(app: Command) -> None:
    """Add ``--config`` to a command, or to all commands of a group."""
    alone = typer.Typer(add_completion=False)
    alone.command()(_config)
    _extend(app, typer.main.get_command(alone).params)


def _extend(app: Command, options: list[Parameter]) -> None:
    """Add options to a command, or to all commands of a group."""
    inner = getattr(app, "commands", None)
    for command in (inner or {}).values():
        _extend(command, options)
    # `language` is a group of commands and an audit itself.
    if inner is None or len(app.params) > 1:
        app.params.extend(options)


def _read_options(context: typer.Context, config: Path | None) -> None:
    """Make the options of a file the defaults of the command that is being parsed."""
    if config is None:
        return
    from privacygauge.datasets.reading import read_toml
    from privacygauge.runs.folder import place_text

    names: list[str] = []
    outer: Any = context
    while outer.parent is not None:
        names.insert(0, outer.info_name)
        outer = outer.parent
    # The values for this command by key, each with where it stands in the file.
    file = place_text(config)
    everything = read_toml(config, "config")
    tables = {name: x for name, x in everything.items() if isinstance(x, Mapping)}
    commands = list(_all_names(outer.command))
    for name in tables:
        if name not in commands:
            close = get_close_matches(name, commands, n=1)
            hint = f": did you mean [{close[0]}]?" if close else ""
            raise InputError(f"{file}: there is no command {name!r}{hint}")
    given = {name: (x, file) for name, x in everything.items() if name not in tables}
    own = "-".join(names)
    given |= {name: (x, f"{file}: [{own}]") for name, x in tables.get(own, {}).items()}
    # Options of the command by their flags, and its arguments by their names.
    known: dict[str, Parameter] = {}
    for parameter in context.command.params:
        if {"--config", "--help", "--help-all"} & {*parameter.opts}:
            continue
        # An argument is called what stands for it in --help, or the name of its field.
        of_argument = [str(getattr(parameter, "metavar", None) or parameter.name)]
        flags = parameter.opts if parameter.param_type_name == "option" else of_argument
        for flag in (*flags, str(parameter.name)):
            if not flag.startswith("-") or flag.startswith("--"):
                known.setdefault(flag.removeprefix("--").lower().replace("_", "-"), parameter)
    context.default_map = {}
    for key, (value, where) in given.items():
        chosen = known.get(key.replace("_", "-"))
        if chosen is None:
            close = get_close_matches(key, known, n=1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise InputError(f"{where}: {' '.join(names)} has no option {key!r}{hint}")
        context.default_map[str(chosen.name)] = _value_of(value, chosen, f"{where}: {key}")


def _config(
    _config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help=_HELP,
            is_eager=True,  # before the options whose defaults it sets
            expose_value=False,
            callback=_read_options,
        ),
    ] = None,
) -> None:
    """Give typer the signature from which it makes the option of any command."""


def _all_names(command: Any) -> Iterator[str]:
    """Yield the names of all commands below a group, words joined by hyphens."""
    for name, inner in getattr(command, "commands", {}).items():
        yield name
        yield from (f"{name}-{further}" for further in _all_names(inner))


def _value_of(value: Any, parameter: Parameter, where: str) -> Any:
    """Return a value of TOML as one of the command line: texts are parsed as options are."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise InputError(f"{where} must be true or false, got {value!r}")
        return value
    values = value if isinstance(value, list) else [value]
    for one in values:
        if isinstance(one, bool) or not isinstance(one, str | int | float | date | datetime):
            raise InputError(f"{where} must be a text or a number, got {one!r}")
    if getattr(parameter, "multiple", False):
        return [str(one) for one in values]
    return ",".join(map(str, values)) if isinstance(value, list) else str(value)
