from __future__ import annotations

import re
import time
from collections import Counter
from html.parser import HTMLParser

import pytest

from privacygauge.report.attacks.records import roc_frame
from privacygauge.report.render import document
from privacygauge.report.render import page as page_of
from tests.report.example import ATTACKS, example
from tests.thorough import quarter

pytestmark = pytest.mark.slow  # every plot is drawn

VOID = {"meta", "link", "br", "img", "input", "hr", "path", "use"}


class Page(HTMLParser):
    """The tags, ids, links and text of a page; fails where tags are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.headings: list[int] = []
        self.text: list[str] = []
        self.folded: list[bool] = []
        self.visible_words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)
            names = dict(attrs)
            self.folded.append(
                tag in ("head", "svg")
                or names.get("class") in ("skip", "printed")
                or (tag == "details" and "open" not in names)
            )

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag
            self.folded.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        folded = list(self.folded)
        if "summary" in self.open:
            # The line that opens a fold can be read while it is closed.
            folded[self.open.index("summary") - 1] = False
        if not any(folded):
            self.visible_words += data.split()

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


@pytest.fixture(scope="module")
def text() -> str:
    return example().to_html()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_nothing_from_outside_is_asked_for(text: str, page: Page) -> None:
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    for name in ("src", "href", "xlink:href", "action", "srcset", "poster"):
        for value in page.values(name):
            assert value.startswith("#") or value == "data:,"
    assert page.tags["script"] == page.tags["iframe"] == page.tags["img"] == 0
    assert "default-src 'none'" in text


def test_the_page_is_sound(page: Page) -> None:
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for name in ("aria-labelledby", "href"):
        for value in page.values(name):
            for target in value.split():
                assert target == "data:," or target.lstrip("#") in ids
    assert page.tags["h1"] == page.tags["main"] == page.tags["nav"] == page.tags["header"] == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert page.tags["caption"] == page.tags["table"]
    scoped = [tag for tag, name, _ in page.attributes if tag == "th" and name == "scope"]
    assert len(scoped) == page.tags["th"]
    roles = [value for tag, name, value in page.attributes if tag == "svg" and name == "role"]
    assert roles == ["img"] * 6


def test_clips_and_uses_point_into_their_own_drawing(text: str) -> None:
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= ids


def test_hundreds_of_thousands_of_records_give_a_small_page() -> None:
    attacks = tuple((f"attack-{i}", "", "global", 0.5 + i / 8) for i in range(8))
    findings = example(quarter(1_000_000), attacks=attacks)
    start = time.perf_counter()
    page = findings.to_html()
    assert len(page.encode()) < 3_000_000
    assert len(roc_frame(findings.evaluations).to_csv()) < 1_000_000
    assert time.perf_counter() - start < 60


@pytest.mark.parametrize("seed", range(3))
def test_every_number_of_the_document_is_on_the_page(seed):
    found = example(400, shift=0.3, seed=seed, attacks=ATTACKS[:3]).report()
    text = " ".join("".join(Page(page_of(found)).text).split())
    for number in document(found)["numbers"]:
        assert number["shown"]["value"] in text, number["name"]
        if not next(x for x in found.measures if x.name == number["name"]).card:
            assert number["name"] in text
