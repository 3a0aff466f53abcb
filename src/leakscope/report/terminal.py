"""Findings for a terminal: the verdict first, then one line an attack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakscope.evaluate.evaluation import Evaluation
from leakscope.evaluate.findings import Findings
from leakscope.report.numbers import decimal_estimate, percent_estimate, plain, rate
from leakscope.report.tables import epsilon_line, rate_at, risk_line
from leakscope.report.verdict import GRADES, Verdict, verdict

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_COLOURS = dict(zip(GRADES, ("green", "yellow", "dark_orange", "red"), strict=True))

_RATES = (0.01, 0.001)


def terminal_summary(findings: Findings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    rich.console.RenderableType
        Nothing in it is read as markup, so names from the user's data cannot style or forge
        lines.
    """
    from rich.console import Group
    from rich.text import Text

    found = verdict(findings)
    parts: list[RenderableType] = [_heading(found), Text(found.sentences[0]), Text()]
    parts += [Text(f"! {plain(w)}", style="yellow") for w in findings.warnings]
    parts += [Text()] if findings.warnings else []
    parts += [_attacks(findings), *map(Text, _below(findings))]
    return Group(*parts)


def _heading(found: Verdict) -> RenderableType:
    from rich.text import Text

    return Text(found.headline, style=f"bold {_COLOURS[found.grade]}")


def _attacks(findings: Findings) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=False)
    table.add_column("\nAttack", overflow="fold")
    table.add_column("\nThresholds", overflow="fold")
    table.add_column(f"Accuracy\n({rate(findings.level)} interval)", justify="right", min_width=12)
    for title in ("\nAUC", *(f"TPR at\n{rate(fpr)} FPR" for fpr in _RATES)):
        table.add_column(title, justify="right", no_wrap=True)
    best = findings.headline.attack
    for e in findings.evaluations:
        table.add_row(*map(Text, _row(e)), style="bold" if e.title == best.title else "")
    return table


def _row(e: Evaluation) -> tuple[str, ...]:
    name = f"{e.name} ({e.variant})" if e.variant else e.name
    return (
        plain(name),
        plain(e.thresholds),
        str(percent_estimate(e.accuracy)),
        decimal_estimate(e.auc).value,
        *(rate_at(e, fpr) for fpr in _RATES),
    )


def _below(findings: Findings) -> list[str]:
    lines = []
    if any(not r.resolved for e in findings.evaluations for r in e.tpr_at_fpr if r.fpr in _RATES):
        lines.append("\N{DAGGER} too few non-members to tell: fewer than 10 false positives expected")
    lines += [epsilon_line(findings), risk_line(findings)]
    lines += [f"Not done: {plain(s.name)}: {plain(s.reason)}" for s in findings.skipped]
    return lines
