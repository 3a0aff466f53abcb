"""The directive ``gallery``: a picture of every report that `make_gallery` makes, and a link."""

from __future__ import annotations

import shutil
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from make_gallery import REPORTS, Report, make
from sphinx.application import Sphinx
from sphinx.util.display import status_iterator
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).resolve().parents[1]
MADE = DOCS / "_build" / "gallery"
PLACE = "_static/gallery"
"""Where the site has the reports."""
CARD = """<figure>
<a href="{page}">{picture}</a>
<figcaption><a href="{page}">{title}</a>
<p>{about}</p><p><code>{command}</code></p></figcaption>
</figure>"""


class Gallery(SphinxDirective):
    """Shows all reports."""

    def run(self) -> list[nodes.Node]:
        """Return the cards, as HTML."""
        self.env.note_dependency(str(DOCS / "make_gallery.py"))
        cards = "\n".join(map(card, REPORTS))
        return [nodes.raw("", f'<div class="gallery">{cards}</div>', format="html")]


def card(report: Report) -> str:
    """Return the picture of a report, its title and its data, as HTML."""
    named = escape(report.title, quote=True)
    shown = f'<img alt="{named}" loading="lazy" src="{PLACE}/{report.name}.png">'
    return CARD.format(
        page=f"{PLACE}/{report.name}/{report.file}",
        picture=shown if (MADE / f"{report.name}.png").exists() else escape(report.title),
        title=escape(report.title),
        about=escape(report.about),
        command=escape(report.command),
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and the making of the reports before anything is read."""
    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", make_reports)
    app.connect("build-finished", copy_reports)
    return {"parallel_read_safe": True}


def make_reports(app: Sphinx) -> None:
    """Make the reports that are missing, or older than the code that makes them."""
    if app.builder.name == "html":
        code = (DOCS / "make_gallery.py", *DOCS.parent.glob("src/privacygauge/**/*.*"))
        newest = max(path.stat().st_mtime for path in code if "__pycache__" not in path.parts)
        for _ in status_iterator(
            make(MADE, newer_than=newest), "reports... ", length=len(REPORTS), stringify_func=title
        ):
            pass


def title(report: Report) -> str:
    """Return what the progress of the build calls a report."""
    return report.title


def copy_reports(app: Sphinx, failure: Exception | None) -> None:
    """Put the reports, without their data files, where the site links to them."""
    if failure is None and app.builder.name == "html":
        for page in [*MADE.glob("*/*.html"), *MADE.glob("*.png")]:
            copy = Path(app.outdir, PLACE, page.relative_to(MADE))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, copy)
