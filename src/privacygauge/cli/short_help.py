"""Help in two lengths: ``--help`` with the ten options that people need first, ``--help-all``."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from typer._click import HelpFormatter
    from typer._click.core import Command, Context

MOST = 10
"""Most options that ``--help`` shows, but for itself and ``--help-all``."""

SHARED = ("--out", "--json", "--seed", "--quiet", "--fail-above")
"""Options of every command that are always shown."""

FIRST = (
    *("--shadow", "--model", "--data", "--label"),
    *("--generator", "--synthetic", "--holdout", "--targets"),
    *("--target", "--reference", "--members", "--nonmembers", "--scores"),
    *("--before", "--after", "--forgotten", "--fresh", "--retrained"),
    *("--n", "--labels", "--queries", "--attack", "--guard", "--trials", "--database"),
    *("--epsilon", "--delta", "--defence", "--sensitive", "-k", "--top", "--unit"),
)
"""Options that people need first; others follow in the order of their command."""


def shorten_help(app: Command) -> None:
    """Shorten the help of a command, or of all commands of a group, where it has many options."""
    for command in getattr(app, "commands", {}).values():
        shorten_help(command)
    flags = [p.opts[0] for p in app.params if p.param_type_name == "option"]
    alone = typer.Typer(add_completion=False)
    alone.command()(_help_all)
    added: list[Any] = typer.main.get_command(alone).params
    app.params.extend(added)
    # One more, --config, is no reason for a second help: the flag is taken, and not shown.
    if len(flags) <= MOST + 1:
        for option in added:
            option.hidden = True
        return
    shown = needed_first(app)
    whole = app.format_help

    def format_help(ctx: Context, formatter: HelpFormatter) -> None:
        # An option that is read in advance is not in the context yet.
        if ctx.meta.get("help-all"):
            whole(ctx, formatter)
            return
        short = copy(app)
        short.params = [
            p
            for p in app.params
            if p.param_type_name != "option" or p.opts[0] in (*shown, "--help-all")
        ]
        type(app).format_help(short, ctx, formatter)

    app.format_help = format_help  # type: ignore[method-assign]


def needed_first(command: Command) -> list[str]:
    """Return the options of a command that its short help shows, at most `MOST`."""
    options = [p for p in command.params if p.param_type_name == "option"]
    flags = [p.opts[0] for p in options]
    shared = [flag for flag in SHARED if flag in flags]
    required = [p.opts[0] for p in options if p.required]
    ordered = [*required, *(flag for flag in FIRST if flag in flags), *flags]
    own = [flag for flag in dict.fromkeys(ordered) if flag not in shared]
    return [*own[: MOST - len(shared)], *shared]


def _print_whole(context: typer.Context, asked: bool) -> None:
    if asked:
        context.meta["help-all"] = True
        text: Any = context.get_help()
        # Rich prints it by itself.
        if text:
            print(text)
        raise typer.Exit


def _help_all(
    _whole: Annotated[
        bool,
        typer.Option(
            "--help-all",
            help="Show all options and exit.",
            is_eager=True,  # before anything is missed
            expose_value=False,
            callback=_print_whole,
        ),
    ] = False,
) -> None:
    """Give typer the signature from which it makes the option of any command."""
