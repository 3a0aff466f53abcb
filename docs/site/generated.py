"""Fills in what a page's comments ask for: help, results of reproductions, benchmarks.

On a line of its own ``<!-- help: COMMAND -->`` stands for all that a command says of itself,
``<!-- options -->`` for a table of the options of all audits,
``<!-- result: NAME -->`` for a kept result, ``<!-- items: PAPER -->`` for a paper's table of tables
and figures, ``<!-- items -->`` for that of all papers, ``<!-- settings: PAPER -->`` for what a
paper states of its experiments beside ours, and ``<!-- benchmarks -->`` for what is kept of those.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _page  # of bench/
from typer.testing import CliRunner

from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.main import app as program
from privacygauge.cli.main import command_of
from privacygauge.papers.page import index, protocol, result_markdown, results_in, table_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS / "results"
MARK = re.compile(
    r"^<!-- (help|options|items|settings|result|benchmarks)(?:: (.+))? -->$", re.MULTILINE
)
PLAIN = {"COLUMNS": "90", "NO_COLOR": "1", "TERM": "dumb"}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register that marks are filled in before links are led to where the site has them."""
    app.connect("source-read", fill_in, priority=400)
    app.connect("env-get-outdated", with_marks)
    return {"parallel_read_safe": True}


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the marks of a page."""
    page = Path(app.env.doc2path(docname))
    source[0] = MARK.sub(lambda found: text_of(found[1], found[2], page), source[0])


def with_marks(
    _app: Sphinx, env: BuildEnvironment, _added: set[str], _changed: set[str], _removed: set[str]
) -> Iterator[str]:
    """Yield the pages with marks: any change of the code may change them."""
    for docname in env.found_docs:
        if MARK.search(Path(env.doc2path(docname)).read_text(encoding="utf-8")):
            yield docname


def text_of(what: str, name: str | None, page: Path) -> str:
    """Return what a mark stands for, as Markdown."""
    if what == "help":
        return help_of(name or "")
    if what == "options":
        return options()
    if what == "benchmarks":
        return benchmarks(page)
    if what == "settings":
        return protocol(name or "")
    known = results_in(RESULTS)
    if what == "items":
        return index(known, name)
    link = relpath(RESULTS / f"{name}.json", page.parent)
    return f"({name})=\n\n{result_markdown(known[str(name)], link)}"


def options() -> str:
    """Return a row for every option of a command that audits, and all its meanings."""
    meanings: dict[tuple[str, str], dict[str, None]] = {}
    for command in COMMANDS:
        made = command_of(program)
        for word in command.name.split():
            made = made.commands[word]
        for option in made.params:
            flag = next((name for name in option.opts if name.startswith("--")), "--help")
            meaning = re.split(r"[.:;](?:\s|$)", option.help or "", maxsplit=1)[0]
            if flag not in ("--help", "--help-all"):
                meanings.setdefault((flag, option.metavar or ""), {})[meaning] = None
    rows = [(f"`{flag}`", value and f"`{value}`", " / ".join(told))
            for (flag, value), told in sorted(meanings.items())]  # fmt: skip
    return table_of(("option", "value", "meaning"), rows)


def benchmarks(page: Path) -> str:
    """Draw the figure; return the tables, with a link to it."""
    rows = json.loads(_page.RESULTS.read_text(encoding="utf-8"))
    figure = DOCS / "_build" / "benchmarks.svg"
    figure.parent.mkdir(exist_ok=True)
    _page.draw(rows, figure)
    return _page.page(rows, relpath(figure, page.parent))


@cache
def help_of(command: str) -> str:
    """Return a command with what it prints about itself."""
    asked = [*command.split(), "--help"]
    printed = CliRunner().invoke(program, asked, prog_name="privacygauge", env=PLAIN).output
    lines = [line.rstrip() for line in printed.splitlines()]
    made = command_of(program)
    for word in command.split():
        made = made.commands[word]
    # As it is printed here, without what shortens it.
    whole = any("--help-all" in option.opts for option in made.params)
    call = " ".join(["$ privacygauge", *asked]) + "-all" * whole
    return f"```console\n{call}\n" + "\n".join(lines).strip("\n") + "\n```"
