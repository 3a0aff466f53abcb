"""Fills in what a page's comments ask for: the help of commands, and results of reproductions.

On a line of its own ``<!-- help: COMMAND -->`` stands for what a command prints with ``--help``,
``<!-- result: NAME -->`` for a kept result, ``<!-- items: PAPER -->`` for a paper's table of tables
and figures, and ``<!-- items -->`` for that of all papers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from privacygauge.cli.main import app as program
from privacygauge.reproduce.page import index, results_in, shown

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS / "results"
MARK = re.compile(r"^<!-- (help|items|result)(?:: (.+))? -->$", re.MULTILINE)
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
    known = results_in(RESULTS)
    if what == "items":
        return index(known, name)
    link = relpath(RESULTS / f"{name}.json", page.parent)
    return f"({name})=\n\n{shown(known[str(name)], link)}"


@cache
def help_of(command: str) -> str:
    """Return a command with what it prints about itself."""
    asked = [*command.split(), "--help"]
    printed = CliRunner().invoke(program, asked, prog_name="privacygauge", env=PLAIN).output
    lines = [line.rstrip() for line in printed.splitlines()]
    call = " ".join(["$ privacygauge", *asked])
    return f"```console\n{call}\n" + "\n".join(lines).strip("\n") + "\n```"
