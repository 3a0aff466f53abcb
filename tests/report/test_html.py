from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.findings import Findings
from privacygauge.report import render_html
from tests.report.example import HOSTILE, example

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

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


@pytest.fixture(scope="module")
def findings() -> Findings:
    return example()


@pytest.fixture(scope="module")
def text(findings: Findings) -> str:
    return render_html(findings)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


@pytest.mark.slow
def test_nothing_from_outside_is_asked_for(text: str, page: Page) -> None:
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    for name in ("src", "href", "xlink:href", "action", "srcset", "poster"):
        for value in page.values(name):
            assert value.startswith("#") or value == "data:,"
    assert page.tags["script"] == page.tags["iframe"] == page.tags["img"] == 0
    assert "default-src 'none'" in text


def test_hostile_names_are_text(page: Page, text: str) -> None:
    shown = " ".join(page.text)
    for hostile in HOSTILE[:4]:
        assert hostile in shown
    assert "<i>site</i>" in shown
    assert '<b>rare</b> & "odd"' in shown
    assert "<script" not in text
    assert "onerror" not in " ".join(name for _, name, _ in page.attributes)
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "49" not in re.findall(r"<bdi[^>]*>([^<]*)</bdi>", text)  # {{ 7 * 7 }} stays as it is


@pytest.mark.slow
def test_hostile_attacks_and_words_are_text(findings: Findings) -> None:
    bad = "</desc></svg><script>alert(1)</script>$x_"
    odd = replace(findings.evaluations[6], name=bad)
    headline = replace(findings.headline, attack=odd, epsilon_attack=bad)
    words = dict.fromkeys(("name", "question", "adversary", "secret", "thresholds"), bad)
    evil = replace(
        findings,
        evaluations=(odd,),
        headline=headline,
        game=replace(findings.game, **words),
        skipped=(Skipped(bad, bad),),
        warnings=(bad,),
        provenance={bad: bad},
        command=bad,
        facts=(replace(findings.facts[0], label=bad),),
        risk=replace(findings.risk, notes=(bad,), estimator=bad),
    )
    text = render_html(evil)
    assert "<script" not in text
    Page(text)


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


def test_the_order_is_that_of_the_reader(text: str) -> None:
    order = [
        'id="verdict"', 'id="warnings"', 'id="numbers"', 'id="game"', 'id="attacks"',
        'id="curves"', 'id="risk"', 'id="slices"', 'id="records"', 'id="facts"', 'id="left-out"',
        'id="glossary"', 'id="provenance"',
    ]  # fmt: skip
    places = [text.index(x) for x in order]
    assert places == sorted(places)


def test_numbers_stand_with_their_intervals(page: Page) -> None:
    shown = re.sub(r"\s+", " ", " ".join(page.text))
    assert "80.2% 77.6 to 82.5" in shown
    assert "MOVER of Wilson limits, 95%" in shown
    assert "†" in shown
    assert "2,000 records are shown" in " ".join(page.text)


@pytest.mark.slow
def test_an_audit_without_risk_slices_and_facts(findings: Findings) -> None:
    bare = replace(
        findings,
        risk=Skipped("risk", "needs shadow records with known membership"),
        slices=Skipped("slices", "no columns"),
        facts=(),
        skipped=(),
        warnings=(),
        records=replace(findings.records, risk=None),
    )
    text = render_html(bare)
    Page(text)
    assert "Ranked by score of lira-online (fixed variance)" in text
    assert 'id="warnings"' not in text


def test_contents_are_shown_only_where_asked_for(findings: Findings, text: str) -> None:
    assert "their contents are not in this file" in text
    secret = np.array([f"secret {i}" for i in range(2000)], dtype=object)
    records = replace(findings.records, contents={"<diagnosis>": secret})
    shown = render_html(replace(findings, records=records))
    assert "secret 0" in shown
    assert "&lt;diagnosis&gt;" in shown
    assert "secret 0" not in text


@pytest.mark.slow
def test_equal_findings_give_equal_pages(text: str) -> None:
    assert render_html(example()) == text


@pytest.mark.slow
def test_a_perfect_attack_and_one_attack_render() -> None:
    one = (("confidence", "", "global", 1.0),)
    Page(render_html(example(60, shift=12.0, attacks=one)))
    Page(render_html(example(60, shift=0.0, attacks=one)))
