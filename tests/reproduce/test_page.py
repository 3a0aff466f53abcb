from __future__ import annotations

import re

import pytest

from privacygauge.errors import InputError
from privacygauge.reproduce import catalogue, page
from privacygauge.reproduce.result import Result
from tests.reproduce.made_tables import reproduction, table
from tests.test_docs import ROOT

REMARKS = """# Ours

<!-- index -->

<!-- result: made-up -->

A remark.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Remarks about one made-up reproduction."""
    for module in (catalogue, page):
        monkeypatch.setattr(module, "REPRODUCTIONS", (reproduction(),))
    (tmp_path / "remarks").mkdir()
    (tmp_path / "remarks" / "order.txt").write_text("ours.txt\n")
    (tmp_path / "remarks" / "ours.txt").write_text(REMARKS)
    return tmp_path


def written(folder, form=None):
    if form is not None:
        result = Result(table(), form, 0, 61.0, "0.1.0")
        (folder / "made-up.json").write_text(result.to_json(catalogue.judgement("made-up")))
    return page.page(folder, folder / "remarks")


def test_the_page_is_what_the_command_writes():
    shown = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert shown == page.page(ROOT / "docs" / "results", ROOT / "docs" / "reproduction"), (
        "privacygauge reproduce --page docs/reproduction.md --out docs/results mends it"
    )


def test_every_reproduction_has_its_place_on_the_page():
    text = page._remarks(ROOT / "docs" / "reproduction")
    shown = re.findall(r"^<!-- result: ([\w-]+) -->$", text, re.MULTILINE)
    assert sorted(shown) == sorted(known.name for known in catalogue.REPRODUCTIONS)


def test_a_result_stands_with_its_form_verdict_and_every_number(folder):
    text = written(folder, "0.5 of the full form")
    assert "0.5 of the full form, seed 0, 95% intervals, n = 20, 61 s, version 0.1.0" in text
    assert "| first | 0.500 (0.400 to 0.600) | 0.550 | 0.700 (0.600 to 0.800) |  |" in text
    # Rows of other columns are a table of their own.
    assert "|  | x |\n|---|---|\n| third | 0.900 |\n" in text
    assert "Not measured: no data." in text
    assert "A remark." in text


def test_without_a_result_the_page_says_so(folder):
    assert "No result of `made-up` is kept" in written(folder)
    assert "quick form: small, with wide intervals" in written(folder, "quick")


def test_what_cannot_be_shown_is_said(folder):
    (folder / "remarks" / "ours.txt").write_text("# Ours\n")
    with pytest.raises(InputError, match=r"made-up: a result is kept .* shows it nowhere"):
        written(folder, "full")
    (folder / "remarks" / "ours.txt").unlink()
    with pytest.raises(InputError, match=r"ours.txt cannot be read"):
        written(folder)
