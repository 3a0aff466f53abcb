"""Options from a TOML file: ``--config audit.toml`` for every command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacygauge.errors import InputError

if TYPE_CHECKING:
    from typer._click.core import Command, Parameter

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
    names: list[str] = []
    outer: Any = context
    while outer.parent is not None:
        names.insert(0, outer.info_name)
        outer = outer.parent
    given = _options_in(config, "-".join(names), _all_names(outer.command))
    known = _by_key(context.command.params)
    context.default_map = {}
    for key, (value, where) in given.items():
        parameter = known.get(key.replace("_", "-"))
        if parameter is None:
            close = get_close_matches(key, known, n=1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise InputError(f"{where}: {' '.join(names)} has no option {key!r}{hint}")
        context.default_map[str(parameter.name)] = _value_of(value, parameter, f"{where}: {key}")


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
    """Stand for any command: typer makes its option from this signature."""


def _all_names(command: Any) -> Iterator[str]:
    """Yield the names of all commands below a group, words joined by hyphens."""
    for name, inner in getattr(command, "commands", {}).items():
        yield name
        yield from (f"{name}-{further}" for further in _all_names(inner))


def _options_in(path: Path, command: str, commands: Iterator[str]) -> dict[str, tuple[Any, str]]:
    """Return the values for a command by key, each with where it stands in the file."""
    from privacygauge.datasets.reading import read_toml
    from privacygauge.runs.folder import place_text

    file = place_text(path)
    everything = read_toml(path, "config")
    tables = {name: x for name, x in everything.items() if isinstance(x, Mapping)}
    names = list(commands)
    for name in tables:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f": did you mean [{close[0]}]?" if close else ""
            raise InputError(f"{file}: there is no command {name!r}{hint}")
    found = {name: (x, file) for name, x in everything.items() if name not in tables}
    own = tables.get(command, {})
    return found | {name: (x, f"{file}: [{command}]") for name, x in own.items()}


def _by_key(parameters: list[Parameter]) -> dict[str, Parameter]:
    """Return the options of a command by their flags, and its arguments by their names."""
    found: dict[str, Parameter] = {}
    for parameter in parameters:
        if "--config" in parameter.opts or "--help" in parameter.opts:
            continue
        # An argument is called what stands for it in --help, or the name of its field.
        of_argument = [str(getattr(parameter, "metavar", None) or parameter.name)]
        flags = parameter.opts if parameter.param_type_name == "option" else of_argument
        for flag in (*flags, str(parameter.name)):
            if not flag.startswith("-") or flag.startswith("--"):
                found.setdefault(flag.removeprefix("--").lower().replace("_", "-"), parameter)
    return found


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
