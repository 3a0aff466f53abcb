"""Pages of the site for files of the project: those that are linked to, and those of docstrings.

The pages of docs/ are read in the repository too, so they link to files beside them. On the site
README.md and CONTRIBUTING.md are pages, and code is shown with an anchor at every line.
"""

from __future__ import annotations

import inspect
import re
import sys
from html import escape
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
STUBS = {
    DOCS / "project" / "overview.md": ROOT / "README.md",
    DOCS / "project" / "contributing.md": ROOT / "CONTRIBUTING.md",
}
"""Pages whose text is a file's outside of docs/."""
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)#\s]+)")
SCHEME = "source:"
"""Begins links to files of the project, until it is known where the page is that has them."""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name} - PrivacyGauge</title>
<link rel="stylesheet" href="{up}/_static/pygments.css">
<link rel="stylesheet" href="{up}/_static/site.css">
</head>
<body class="source">
<header><a href="{up}/index.html">PrivacyGauge</a></header>
<h1>{name}</h1>
{body}
</body>
</html>
"""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what this extension does."""
    app.connect("source-read", lead_links)
    app.connect("doctree-resolved", resolve_links)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": False}


def lead_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let a page's links lead to where the site has what they mean."""
    page = Path(app.env.doc2path(docname))
    read_in = STUBS.get(page, page)
    if page in STUBS:
        app.env.note_dependency(str(read_in))
        source[0] = read_in.read_text(encoding="utf-8")
    if page.suffix == ".md":
        parts = FENCE.split(source[0])
        for at in range(0, len(parts), 2):  # what is between fences
            parts[at] = LINK.sub(lambda found: on_site(found[1], read_in, page), parts[at])
        source[0] = "".join(parts)


def on_site(link: str, read_in: Path, page: Path) -> str:
    """Return what a link in the file `read_in` is on the page that shows it."""
    meant = (read_in.parent / link).resolve()
    if re.match(r"[a-z]+:", link) or not meant.exists():
        return link
    shown = next((stub for stub, file in STUBS.items() if file == meant), meant)
    if shown.is_relative_to(DOCS) and shown.suffix in (".md", ".png", ".svg"):
        return relpath(shown, page.parent)
    return SCHEME + str(shown.relative_to(ROOT))


def source_of(domain: str, info: dict[str, str]) -> str | None:
    """Return the link to the lines that define what a docstring is of."""
    found: Any = sys.modules.get(info["module"])
    for part in info["fullname"].split("."):
        found = inspect.unwrap(getattr(found, part, None))
    found = found.fget if isinstance(found, property) else found
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        return None
    file = Path(inspect.getsourcefile(found) or "")
    line = inspect.getsourcelines(found)[1]
    return f"{SCHEME}{file.relative_to(ROOT)}#L-{line}" if file.is_relative_to(ROOT) else None


def resolve_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn links to files into links to their pages, and remember which pages that takes."""
    for reference in doctree.findall(nodes.reference):
        uri = reference.get("refuri", "")
        if uri.startswith(SCHEME):
            file, _, line = uri.removeprefix(SCHEME).partition("#")
            shown = app.builder.get_relative_uri(docname, page_of(file))
            reference["refuri"] = f"{shown}#{line}" if line else shown
            reference["internal"] = True
            reference["classes"] = [name for name in reference["classes"] if name != "external"]
            wanted(app).add(file)


def wanted(app: Sphinx) -> set[str]:
    """Return the set of the files that need a page."""
    if not hasattr(app.env, "files_to_show"):
        app.env.files_to_show = set()  # type: ignore[attr-defined]
    files: set[str] = app.env.files_to_show  # type: ignore[attr-defined]
    return files


def page_of(file: str) -> str:
    """Return the name of the page that shows a file or lists a folder."""
    return f"sources/{file.rstrip('/').removeprefix('.')}"


def write_pages(app: Sphinx, failure: Exception | None) -> None:
    """Write a page for every file and folder that is linked to, and for the files of the folders.

    These pages are not made by the theme, which takes a third of a second for each.
    """
    if failure or app.builder.name != "html":
        return
    asked = wanted(app)
    listed = {str(path.relative_to(ROOT)) for name in asked for path in inside(ROOT / name)}
    for name in asked | listed:
        page = Path(app.outdir, page_of(name) + ".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        up = relpath(app.outdir, page.parent)
        body = listing(name) if (ROOT / name).is_dir() else code(name)
        page.write_text(PAGE.format(up=up, name=escape(name), body=body), encoding="utf-8")


def inside(path: Path) -> list[Path]:
    """Return the files of a folder; of a file none."""
    return sorted(path.glob("*.*")) if path.is_dir() else []


def listing(name: str) -> str:
    """Return the files of a folder as a list of links."""
    folder = Path(page_of(name)).name
    links = (f'<li><a href="{folder}/{p.name}.html">{p.name}</a></li>' for p in inside(ROOT / name))
    return f"<ul>{''.join(links)}</ul>"


def code(name: str) -> str:
    """Return a file's text; of Python highlighted, with an anchor at every line."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if not name.endswith(".py"):
        return f"<pre>{escape(text)}</pre>"
    return highlight(text, PythonLexer(), HtmlFormatter(lineanchors="L"))
