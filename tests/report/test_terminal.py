from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.findings import Findings
from privacygauge.report.terminal import terminal_summary
from tests.report.example import example


def printed(findings: Findings, width: int, *, colour: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    console.print(terminal_summary(findings))
    return file.getvalue()


def test_the_verdict_comes_first() -> None:
    assert printed(example(), 80).startswith("Large leak")


def test_eighty_columns_hold_every_number_whole() -> None:
    findings = example()
    text = printed(findings, 80)
    assert max(map(len, text.splitlines())) <= 80
    for e in findings.evaluations:
        assert e.name in text
    assert "80.2% (78.4 to 81.9)" in text
    assert "8.50%†" in text
    assert "Epsilon is ≥" in text


@pytest.mark.parametrize("width", [40, 60, 200])
def test_other_widths_do_not_overflow(width: int) -> None:
    text = printed(example(), width)
    assert max(map(len, text.splitlines())) <= width
    assert "80.2%" in text
    if width >= 50:
        assert "8.50%†" in text


def test_names_are_not_markup_and_send_no_control_codes() -> None:
    findings = example()
    odd = replace(findings.evaluations[0], name="[red]x[/red]\x1b[2J", variant="[/]")
    findings = replace(
        findings,
        evaluations=(odd, *findings.evaluations[1:]),
        warnings=("[bold]\x1b]0;title\x07 line\nline",),
        skipped=(Skipped("[link=x]", "[/nothing]"),),
    )
    text = printed(findings, 120, colour=False)
    assert "[red]x[/red]" in text
    assert "[bold]" in text
    assert "[/nothing]" in text
    assert "\x1b" not in text
    assert "\x1b[2J" not in printed(findings, 120, colour=True)
