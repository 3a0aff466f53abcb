"""The board as a page that loads nothing from elsewhere and runs no script."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from privacygauge.holdout.server.standings import Standings

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = files("privacygauge.holdout.server") / "templates"


def render_page(standings: Standings) -> str:
    """Return the page; all user input is escaped."""
    return _template("board.html.j2").render(board=standings)


def render_team(told: Mapping[str, object]) -> str:
    """Return the page of a team, or the form to sign in; all user input is escaped."""
    return _template("team.html.j2").render(**told)


@cache
def style() -> str:
    """Return the page's style sheet."""
    return (_TEMPLATES / "board.css").read_text(encoding="utf-8")


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"whole": "{:,}".format, "share": _share, "minute": _minute}
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return environment.from_string(text)


def _share(score: float) -> str:
    # An accuracy of n points has no more digits than these for n below a million.
    return f"{score:.6f}".rstrip("0").ljust(5, "0")


def _minute(time: str) -> str:
    return f"{time[:10]} {time[11:16]}"
