"""The commands, their exit codes, and one line for what went wrong."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from privacygauge.audits.asking import Group
from privacygauge.cli.command import add
from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.groups import PARENTS, Ordered, holdout, language
from privacygauge.cli.register import register
from privacygauge.cli.reproduce import reproduce
from privacygauge.cli.runs import report, resume, runs, worker
from privacygauge.core.versions import own_version
from privacygauge.errors import PrivacyGaugeError

WHAT = (
    "Measures what a released model, synthetic table, language model or leaderboard gives away "
    "about the data behind it."
)
"""What `privacygauge --help` says first."""

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
    if context.invoked_subcommand is None:
        print(context.get_help())


app.add_typer(language, rich_help_panel=Group.LANGUAGE)
app.add_typer(holdout, rich_help_panel=Group.TEST_SET)
for found in COMMANDS:
    if found.name != language.info.name:
        add(PARENTS.get(found.name.rpartition(" ")[0], app), found)
app.command(rich_help_panel=Group.REPORTS)(register)
app.command(rich_help_panel=Group.PAPERS)(reproduce)
app.command(rich_help_panel=Group.REPORTS)(resume)
app.command(rich_help_panel=Group.REPORTS)(worker)
app.command(rich_help_panel=Group.REPORTS)(report)
app.command(rich_help_panel=Group.REPORTS)(runs)


_made = cache(typer.main.get_command)
"""Of an app what runs: to make forty commands takes ten times as long as to read one line."""


def run() -> int:
    """Run the command line and return the exit code."""
    try:
        code = _made(app)(standalone_mode=False)
    except PrivacyGaugeError as error:
        return _fail(str(error))
    except TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    except Abort:
        code = 130
    except MemoryError:
        return _fail("there is not enough memory for this: give fewer records, or more memory")
    except BrokenPipeError:
        # The reader of our output went away; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if code == 130:
        # Typer swallows an interruption; it is told where all others end.
        raise KeyboardInterrupt
    return int(code or 0)


def _fail(message: str, code: int = 2) -> int:
    line = " ".join(message.split())
    print(f"privacygauge: error: {line}", file=sys.stderr)
    return code
