"""The vocabulary of options, as CONTRIBUTING.md lists it: flag, metavar and meaning.

After a change of an option ``python -m tests.cli.vocabulary`` writes the table again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer

from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.main import app

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
TABLE = re.compile(r"(?<=<!-- options -->\n).*?(?=<!-- end of options -->)", re.DOTALL)
OTHERS = ["holdout serve", "register", "report", "reproduce", "runs"]
"""Commands that audit nothing; `resume` takes code where the others take names too."""


@dataclass(frozen=True)
class Found:
    """An option of a command."""

    flag: str
    metavar: str
    meaning: str


@cache
def found(name: str) -> tuple[Found, ...]:
    """Return the options of a command, such as ``holdout attack``, without ``--help``."""
    command = typer.main.get_command(app)
    for word in name.split():
        command = command.commands[word]
    flags = [(next((x for x in p.opts if x.startswith("--")), ""), p) for p in command.params]
    return tuple(
        Found(flag, p.metavar or "", p.help) for flag, p in flags if flag not in ("", "--help")
    )


def table() -> str:
    """Return a row for every option of a command that audits."""
    rows: dict[tuple[str, str], dict[str, None]] = {}
    for command in COMMANDS:
        for option in found(command.name):
            meanings = rows.setdefault((option.flag, option.metavar), {})
            meanings[first(option.meaning)] = None
    lines = [
        f"| {code(flag)} | {code(metavar)} | {escaped(' / '.join(meanings))} |"
        for (flag, metavar), meanings in sorted(rows.items())
    ]
    return "\n".join(["", "| option | value | meaning |", "| --- | --- | --- |", *lines, "", ""])


def first(text: str) -> str:
    """Return what a help text says before the first colon, semicolon or end of a sentence."""
    return re.split(r"[.:;](?:\s|$)", text, maxsplit=1)[0]


def code(text: str) -> str:
    return f"`{escaped(text)}`" if text else ""


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def renewed(text: str) -> str:
    """Return the page with the table as it has to be."""
    assert TABLE.search(text)
    return TABLE.sub(lambda _: table(), text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
