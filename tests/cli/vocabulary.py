"""The vocabulary of options: flag, metavar and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from privacygauge.cli.main import app, command_of

OTHERS = ["holdout serve", "open", "register", "report", "reproduce", "runs"]
"""Commands that audit nothing; `resume` takes code where the others take names too."""


@dataclass(frozen=True)
class Found:
    """An option of a command."""

    flag: str
    metavar: str
    meaning: str


made = command_of
"""Of the app all commands, which take longer to make than to look through."""


@cache
def found(name: str) -> tuple[Found, ...]:
    """Return the options of a command, such as ``holdout attack``, without ``--help``."""
    command = made(app)
    for word in name.split():
        command = command.commands[word]
    flags = [(next((x for x in p.opts if x.startswith("--")), ""), p) for p in command.params]
    return tuple(
        Found(flag, p.metavar or "", p.help)
        for flag, p in flags
        if flag not in ("", "--help", "--help-all")
    )
