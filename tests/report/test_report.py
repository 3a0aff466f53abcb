from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from privacygauge.classifiers.audit.result import Audit
from privacygauge.errors import InputError, OutputError
from privacygauge.report import render
from privacygauge.report.grades import UNTOLD
from privacygauge.runs.results import LIST
from tests.report.example import example

pytestmark = pytest.mark.usefixtures("undrawn")

NAMES = ["report.html", "report.json", "records.parquet", "roc.csv"]


@pytest.fixture(scope="module")
def findings() -> Audit:
    return example(400)


def test_four_files_are_written(findings: Audit, tmp_path: Path) -> None:
    paths = findings.write(tmp_path / "out")
    assert [p.name for p in paths] == NAMES
    assert sorted(os.listdir(tmp_path / "out")) == sorted([LIST, *NAMES])
    assert (tmp_path / "out" / "report.json").read_text() == findings.to_json()
    assert (tmp_path / "out" / "report.html").read_text() == findings.to_html()


def test_numbers_of_an_audit_that_tells_nothing_are_called_no_finding(findings: Audit) -> None:
    told = findings.report()
    untold = replace(told, verdict=replace(told.verdict, grade=UNTOLD, scale=(UNTOLD,), gauge=None))
    forms = (render.page, render.summary, lambda report: printed(render.terminal(report)))
    for shown in forms:
        assert render.NO_FINDING not in " ".join(shown(told).split())
        text = " ".join(shown(untold).split())
        assert text.count(render.NO_FINDING) == 1
        # Before the first number.
        assert text.index(render.NO_FINDING) < text.index(told.cards[0].label)


@pytest.mark.parametrize("place", [None, 3, b"out"])
def test_a_folder_that_is_no_path_is_refused_in_one_line(findings: Audit, place: object) -> None:
    with pytest.raises(InputError, match=r"^directory must be a path of a folder, got"):
        findings.write(place)  # type: ignore[arg-type]


def printed(part: RenderableType) -> str:
    """Return what a terminal of 80 columns shows."""
    seen = io.StringIO()
    Console(width=80, file=seen).print(part)
    return seen.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("call", range(4))
def test_an_interruption_leaves_whole_files_only(
    call: int, findings: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace
    calls = iter(range(10))

    def replaced(source: Path, target: Path) -> None:
        if next(calls) == call:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", replaced)
    with pytest.raises(KeyboardInterrupt):
        findings.write(tmp_path)
    written = [LIST, *NAMES][:call]
    assert sorted(os.listdir(tmp_path)) == sorted(written)
    for name in written[1:]:
        assert (tmp_path / name).stat().st_size > 1000


def test_a_bad_place_is_refused_before_any_work(
    findings: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "page", lambda _: pytest.fail("work before the check"))
    (tmp_path / "out").touch()
    with pytest.raises(OutputError, match="is a file"):
        findings.write(tmp_path / "out")


def test_the_share_of_right_accusations_has_its_condition_in_every_form():
    report = example().report()
    for form in (render.summary(report), printed(render.terminal(report)), render.page(report)):
        words = " ".join(re.sub("<[^>]*>", " ", form).split())
        assert re.search(r"\u201cmember\u201d .{5,40}[Ii]f 1% of those asked about are memb", words)
