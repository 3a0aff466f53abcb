"""Entry point of the command line: apps, exit codes and one-line error messages."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException

from privacygauge.audits import canaries as of_canaries
from privacygauge.audits.asking import HelpGroup
from privacygauge.audits.language import preparation
from privacygauge.audits.language.command import COMMAND as LANGUAGE
from privacygauge.cli import serve
from privacygauge.cli.commands import COMMANDS, add, add_other, add_to_itself
from privacygauge.cli.config import add_config
from privacygauge.cli.register import register
from privacygauge.cli.reproduce import reproduce
from privacygauge.cli.runs import report, resume, runs, worker
from privacygauge.core.versions import own_version
from privacygauge.errors import PrivacyGaugeError

WHAT = (
    "Measures what a released model, synthetic table, language model or leaderboard gives away "
    "about the data behind it."
)
"""Opening text of `privacygauge --help`."""

_HEADINGS = list(HelpGroup)


class Ordered(TyperGroup):
    """A group that lists commands by the headings of `HelpGroup`, with groups of commands last."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names of the commands in that order."""
        return sorted(self.commands, key=self._place)

    def _place(self, name: str) -> tuple[int, bool]:
        command = self.commands[name]
        heading = getattr(command, "rich_help_panel", None)
        place = _HEADINGS.index(heading) if heading in _HEADINGS else len(_HEADINGS)
        return place, isinstance(command, TyperGroup)


language = typer.Typer(name=LANGUAGE.name)
"""App of `privacygauge language`, which is also an audit without a subcommand."""
add_to_itself(language, LANGUAGE)
add_other(
    language,
    preparation.TRAIN_REFERENCE,
    request=preparation.ReferenceRequest,
    play=preparation.play_reference,
    text=preparation.TRAINING_HELP,
)
add_other(
    language,
    preparation.SPLIT,
    request=preparation.SplitRequest,
    play=preparation.play_split,
    text=preparation.SPLIT_HELP,
)

canaries = typer.Typer(help="Make canaries for a training, and measure them after it.")
"""App of `privacygauge language canaries`."""
add_other(
    canaries,
    of_canaries.NAME,
    request=of_canaries.MakeRequest,
    play=of_canaries.make,
    text=of_canaries.HELP,
)
language.add_typer(canaries, name="canaries")

holdout = typer.Typer(name="holdout", cls=Ordered, invoke_without_command=True)
"""App of `privacygauge holdout`."""


@holdout.callback()
def _holdout(context: typer.Context) -> None:
    """Measure what a test set gives away through the scores of submissions."""
    if context.invoked_subcommand is None:
        print(context.get_help())


holdout.add_typer(serve.app, name="serve", rich_help_panel=HelpGroup.TEST_SET)

PARENTS = {"holdout": holdout, "language": language, "language canaries": canaries}
"""All words of a command except the last to the app that it is added to."""

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


app.add_typer(language, rich_help_panel=HelpGroup.LANGUAGE)
app.add_typer(holdout, rich_help_panel=HelpGroup.TEST_SET)
for found in COMMANDS:
    if found.name != language.info.name:
        add(PARENTS.get(found.name.rpartition(" ")[0], app), found)
app.command(rich_help_panel=HelpGroup.REPORTS)(register)
app.command(rich_help_panel=HelpGroup.PAPERS)(reproduce)
app.command(rich_help_panel=HelpGroup.REPORTS)(resume)
app.command(rich_help_panel=HelpGroup.REPORTS)(worker)
app.command(rich_help_panel=HelpGroup.REPORTS)(report)
app.command(rich_help_panel=HelpGroup.REPORTS)(runs)


@cache  # building forty commands takes ten times as long as parsing a line
def command_of(app: typer.Typer) -> Any:
    """Return the click command of an app, with options from a file for all of its commands."""
    found = typer.main.get_command(app)
    add_config(found)
    return found


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
    except MemoryError:
        return _fail("there is not enough memory for this: give fewer records, or more memory")
    except BrokenPipeError:
        # The reader of the output is gone: without this, Python would fail again at exit, when it
        # flushes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
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
