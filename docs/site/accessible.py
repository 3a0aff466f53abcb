"""Mends what keyboards and screen readers miss in the pages of Sphinx and of the theme."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

from sphinx.application import Sphinx

CHANGES = (
    # The caption of a list of pages: a heading without a level is none.
    (r'<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    # Two complementary landmarks need names that tell them apart.
    (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    (r'<aside class="(toc-drawer[^"]*)">', r'<aside class="\1" aria-label="This page">'),
    # What is wider than the window is scrolled by keyboard once it can have the focus.
    (r"<pre>(?=<span)", '<pre tabindex="0">'),
    # The corner above the first column heads nothing.
    (r'<th class="head([^"]*)">(?:<p></p>)?</th>', r'<td class="head\1"></td>'),
)
"""Patterns in a written page, and what replaces them."""

TABLE = re.compile(r'<div class="(table-wrapper[^"]*)">')


def mend(app: Sphinx, error: Exception | None) -> None:
    """Rewrite every page of a finished HTML build."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        before = page.read_text(encoding="utf-8")
        after = before
        for pattern, replacement in CHANGES:
            after = re.sub(pattern, replacement, after)
        number = count(1)
        after = TABLE.sub(
            lambda found: (
                f'<div class="{found[1]}" tabindex="0" role="region" '
                f'aria-label="Table {next(number)}">'  # noqa: B023  called at once
            ),
            after,
        )
        # Unchanged pages keep their time, by which a further build knows them.
        if after != before:
            page.write_text(after, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    # After the pages of sources and of the gallery, which are written then too.
    app.connect("build-finished", mend, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
