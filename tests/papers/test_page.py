from __future__ import annotations

import re
from collections import Counter

import pytest

from privacygauge.papers import ITEMS, catalogue, page
from privacygauge.papers.verdict import ReproductionResult
from tests.papers.made_tables import reproduction, table
from tests.test_docs import ROOT

PAGES = sorted((ROOT / "docs" / "reproduction").glob("*.md"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for results of one made-up reproduction."""
    for module in (catalogue, page):
        monkeypatch.setattr(module, "REPRODUCTIONS", (reproduction(),))
    return tmp_path


def result(form):
    return ReproductionResult(table(), form, 0, 61.0, "0.1.0")


def written(folder, form):
    made = result(form)
    (folder / "made-up.json").write_text(made.to_json(catalogue.judgement("made-up")))
    return page.page(folder)


def test_every_reproduction_is_kept_and_has_one_place_in_the_documentation():
    marks = Counter(
        name
        for path in PAGES
        for name in re.findall(r"^<!-- result: ([\w-]+) -->$", path.read_text(), re.MULTILINE)
    )
    assert marks == Counter(known.name for known in catalogue.REPRODUCTIONS)
    assert set(page.results_in(ROOT / "docs" / "results")) == set(marks)


def test_every_paper_has_its_table():
    named = [
        name
        for path in PAGES
        for name in re.findall(r"^<!-- items: (.+) -->$", path.read_text(), re.MULTILINE)
    ]
    assert sorted(named) == sorted({item.paper for item in ITEMS})


def test_a_result_stands_with_its_form_verdict_and_every_number(folder):
    text = written(folder, "0.5 of the full form")
    assert "0.5 of the full form, seed 0, 95% intervals, n = 20, 61 s, version 0.1.0" in text
    assert "| first | 0.500 (0.400 to 0.600) | 0.550 | 0.700 (0.600 to 0.800) |  |" in text
    # Rows of other columns are a table of their own.
    assert "|  | x |\n|---|---|\n| third | 0.900 |\n" in text
    assert "[every number](made-up.json)" in text
    assert "Not measured: no data." in text
    assert "quick form: small, with wide intervals" in written(folder, "quick")


def test_long_tables_are_folded_and_lose_no_number(monkeypatch):
    open_ = page.result_markdown(result("full"), "x.json")
    monkeypatch.setattr(page, "MOST_LINES", 3)
    folded = page.result_markdown(result("full"), "x.json")
    assert "<details>" in folded
    assert "<details>" not in open_
    lines = [line for line in open_.splitlines() if line.startswith("|")]
    assert [line for line in folded.splitlines() if line.startswith("|")] == lines


@pytest.mark.parametrize("paper", sorted({item.paper for item in ITEMS}))
def test_the_table_of_a_paper_has_its_items_and_says_what_is_missing(paper):
    text = page.index(page.results_in(ROOT / "docs" / "results"), paper)
    items = [item for item in ITEMS if item.paper == paper]
    rows = text.splitlines()[2:]
    assert len(rows) == len(items)
    for row, item in zip(rows, items, strict=True):
        assert item.what in row
        assert item.why.replace("|", r"\|") in row


def test_a_verdict_says_if_its_form_is_not_the_full_one(folder, monkeypatch):
    item = next(item for item in ITEMS if item.name == "long-table1")
    monkeypatch.setattr(page, "ITEMS", (item,))
    assert "not judged" in page.index({})
    assert ", quick |" in page.index({"long-table1": result("quick")})
    assert ", full |" not in page.index({"long-table1": result("full")})
