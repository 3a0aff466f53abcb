"""The documentation site: whole, without dead links, and made of nothing but its own files."""

from __future__ import annotations

import fcntl
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from privacygauge.cli.commands import COMMANDS
from privacygauge.papers import ITEMS
from tests.cli import vocabulary
from tests.names import SPACES, listed

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^\.\. (currentmodule|auto\w+):: (\S+)$", re.MULTILINE)


PARTS = ("commands", "project", "reference", "reproduction")
"""Folders whose first page is linked, and leads to the others."""


def pages() -> set[str]:
    names = (path.relative_to(DOCS).with_suffix("") for path in DOCS.glob("**/*.md"))
    return {name.as_posix() for name in names if not {"_build", "examples"} & {*name.parts}}


def entries(page: str) -> list[str]:
    """Return the pages, or patterns of pages, that a page's tables of contents name."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    lines = [line for tree in TOCTREE.findall(text) for line in tree.splitlines()]
    folder = page.rpartition("/")[0]
    named = [
        re.sub(r".* <(.*)>", r"\1", line.strip())
        for line in lines
        if line.strip() and not line.startswith(":")
    ]
    return [f"{folder}/{name}".strip("/") for name in named]


def test_every_page_is_in_one_table_of_contents():
    every = pages()
    named = [entry for page in sorted(every) for entry in entries(page)]
    for page in every - {"index"}:
        assert sum(fnmatch(page, entry) for entry in named) == 1, f"docs/{page}.md"
    for entry in named:
        assert "*" in entry or entry in every


def test_the_first_page_leads_to_every_page_but_parts_of_a_page():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((.*?)\.md\)", text)) | {"index"}
    of_parts = {page for page in pages() if page.partition("/")[0] in PARTS}
    assert pages() - linked - of_parts == {"images/README"}


def documented() -> list[tuple[str, str]]:
    """Return the module and the name of everything that the reference describes."""
    found = []
    for page in sorted((DOCS / "reference").glob("*.md")):
        module = ""
        for kind, name in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if kind == "currentmodule":
                module = name
            else:
                found.append((module, name))
    return found


def test_the_reference_has_every_public_name_once():
    described = documented()
    assert len(described) == len(set(described))
    public = {
        f"{module}.{name}".removeprefix("privacygauge.")
        for module, name in described
        if module == "privacygauge" or module.removeprefix("privacygauge.") in SPACES
    }
    names = listed()
    # Of what a wing lists too, the name at the top is described.
    top = [found for name, found in names.items() if "." not in name]
    once = {name for name, x in names.items() if "." not in name or not any(x is y for y in top)}
    missing = once - public
    assert not missing, f"docs/reference/*.md has to describe {sorted(missing)}"
    assert public <= once


@pytest.mark.parametrize(("module", "name"), [d for d in documented() if d[0] != "privacygauge"])
def test_what_the_reference_describes_beside_exists(module, name):
    assert hasattr(importlib.import_module(module), name)


def part(name: str):
    """Return a module of the site's own."""
    pytest.importorskip("docutils")
    spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("link", "file", "page", "expected"),
    [
        ("docs/games.md", "README.md", "docs/project/overview.md", "../games.md"),
        ("CONTRIBUTING.md", "README.md", "docs/project/overview.md", "contributing.md"),
        ("../README.md", "docs/games.md", "docs/games.md", "project/overview.md"),
        ("../tests/laws", "docs/games.md", "docs/games.md", "source:tests/laws"),
        (
            "../src/privacygauge/errors.py",
            "docs/games.md",
            "docs/games.md",
            "source:src/privacygauge/errors.py",
        ),
        ("https://example.org/a.md", "README.md", "docs/project/overview.md", None),
    ],
)
def test_links_between_files_become_links_of_the_site(link, file, page, expected):
    found = part("sources").on_site(link, ROOT / file, ROOT / page)
    assert found == (link if expected is None else expected)


def test_indented_formulas_of_docstrings_are_shown_as_written():
    lines = ["The mean is", "", "    a * b", "", "of all.", "", "Parameters", "    of it", ""]
    formula = ["The mean is", "", "::", "", "    a * b", "", "of all."]
    assert part("docstrings").with_literal_blocks(lines) == formula + lines[5:]
    marked = ["So::", "", "    a * b"]
    assert part("docstrings").with_literal_blocks(marked) == marked


class Links(HTMLParser):
    """The links of a page, what it loads, and the anchors that it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon", "preconnect"):
            self.loads.add(given["href"])
        if "src" in given:
            self.loads.add(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, warnings being errors, and return every page of it by its file.

    Processes of tests beside each other build it once: the first makes the others wait.
    """
    pytest.importorskip("sphinx")
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    html = place / "html"
    with (place / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not html.exists():
            made = place / "unfinished"
            call = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-d", str(place / "doctrees")]
            done = subprocess.run(
                [*call, str(DOCS), str(made)], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            made.rename(html)
    return {page: Links(page) for page in html.glob("**/*.html")}


@pytest.mark.slow
def test_every_link_of_the_built_site_leads_somewhere(site):
    for page, found in site.items():
        for link in found.links:
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = (page.parent / unquote(path)).resolve() if path else page
            assert target.is_file(), f"{page.name} links to {link}"
            if anchor and target in site:
                assert unquote(anchor) in site[target].anchors, f"{page.name} links to {link}"


@pytest.mark.slow
def test_the_built_site_loads_nothing_from_elsewhere(site):
    for page, found in site.items():
        for link in found.loads:
            assert not re.match(r"(https?:)?//", link), f"{page.name} loads {link}"
            path = link.partition("?")[0]
            if not path.startswith("data:"):
                assert (page.parent / unquote(path)).is_file(), f"{page.name} loads {link}"
    styles = {page.parent / "_static" for page in site if page.name == "index.html"}
    for style in (file for folder in styles for file in folder.glob("**/*.css")):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"@import|url\(['\"]?(https?:)?//", text), style.name


@pytest.mark.slow
def test_the_built_site_is_read_by_keyboard_and_aloud(site):
    for page in site:
        text = page.read_text(encoding="utf-8")
        if "<body" not in text or page.parent.parent.name == "gallery":
            continue
        for unnamed in ('role="heading">', "<aside class=", '<img alt=""', "<pre><span"):
            for found in re.findall(f".*{unnamed}.*", text):
                assert "aria-label=" in found, f"{page.name}: {found[:200]}"
        tables = re.findall('<div class="table-wrapper[^>]*>', text)
        assert len(set(tables)) == len(tables), page.name
        assert all("tabindex" in table for table in tables), page.name
        assert not re.search(r"<th[^>]*>(<p></p>)?</th>", text), page.name


@pytest.mark.slow
def test_the_built_site_has_a_report_of_every_kind(site):
    made = (DOCS / "make_gallery.py").read_text()
    names = re.findall(r'^    Report\(\n        "(\w+)",$', made, re.M)
    assert {page.parent.name for page in site if page.parent.parent.name == "gallery"} == set(names)


@pytest.mark.slow
def test_the_built_site_has_the_help_of_commands_and_every_result(site):
    place = next(page.parent for page in site if page.parent.name == "html")
    shown = "".join(page.read_text() for page in place.glob("commands/*.html"))
    for name in {option.flag for one in COMMANDS for option in vocabulary.found(one.name)}:
        assert name in unescape(re.sub("<[^>]+>", "", shown))
    index = site[place / "reproduction" / "index.html"]
    for result in DOCS.glob("results/*.json"):
        (page,) = (p for p in place.glob("reproduction/*.html") if result.stem in site[p].anchors)
        told = json.loads(result.read_text())
        assert f"seed {told['seed']}" in page.read_text()
    # The index leads to the place of every result that makes an item.
    made = {path.stem for path in DOCS.glob("results/*.json")}
    named = [next((n for n in item.by or (item.name,) if n in made), None) for item in ITEMS]
    papers = {f"{path.stem}.html" for path in DOCS.glob("reproduction/*.md")} - {"index.html"}
    places = {link for link in index.links if "#" in link and link.partition("#")[0] in papers}
    assert len(places) == len(set(named) - {None})


@pytest.mark.slow
def test_the_search_of_the_built_site_finds_the_words_of_the_field(site):
    stemmed = pytest.importorskip("snowballstemmer").stemmer("english").stemWord
    place = next(page.parent for page in site if page.parent.name == "html")
    text = (place / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    words = {**found["terms"], **found["titleterms"]}
    for word in ("MIA", "LiRA", "RMIA", "shadow", "DCR", "exposure", "canary", "RaMIA", "DUCI"):
        assert stemmed(word.lower()) in words, word
