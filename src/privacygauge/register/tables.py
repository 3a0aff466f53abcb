"""A risk register as a table and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.register.findings import Register
from privacygauge.register.line import Number, RegisterLine
from privacygauge.register.verdict import together, verdict
from privacygauge.report.numbers import count, plain, rate

if TYPE_CHECKING:
    import pandas as pd


def records_frame(r: Register) -> pd.DataFrame:
    """Return one row for every audit, by falling severity.

    Returns
    -------
    pandas.DataFrame
        Columns: ``name``, ``kind``, ``severity``, ``grade``, ``headline``, ``metric``, ``value``,
        ``low``, ``high``, ``level`` and ``n`` (missing where the number was computed),
        ``method``, ``guessing``, ``audited``, ``game``, ``worst`` (ids, with semicolons),
        ``advice`` (the most urgent), ``warnings`` (how many), ``version``, ``seed``, ``sha256``.
    """
    import pandas as pd

    return pd.DataFrame([_row(line) for line in r.lines])


def register_csv(r: Register) -> str:
    """Return `records_frame` as text with commas.

    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    import pandas as pd

    rows = [{name: _no_formula(cell) for name, cell in _row(line).items()} for line in r.lines]
    return pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")


def summary(r: Register) -> str:
    """Return the verdict and a line for every audit as plain text."""
    found = verdict(r)
    rows = overview(r)
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True))
        for row in rows
    ]
    warnings = [f"Warning: {text}" for text in noted(r)]
    return "\n".join([found.headline, "", *warnings, *lines, "", together(r)]) + "\n"


def overview(r: Register) -> list[tuple[str, str, str, str]]:
    """Return name, severity, number and what guessing gives of every line."""
    return [
        (plain(x.name), x.told.judged.severity, str(x.told.number.shown), x.told.number.guessing)
        for x in r.lines
    ]


def sure(number: Number) -> str:
    """Return how sure a number is, in words."""
    if number.estimate is None:
        return number.method
    n = f"n = {count(number.estimate.n)}"
    return f"{rate(number.estimate.level)} interval, {n}, {plain(number.method)}"


def noted(r: Register) -> tuple[str, ...]:
    """Return the warnings of all audits, each with its line's name."""
    return tuple(f"{plain(x.name)}: {plain(text)}" for x in r.lines for text in x.warnings)


def _row(line: RegisterLine) -> dict[str, object]:
    told, number = line.told, line.told.number
    estimate = number.estimate
    return {
        "name": line.name,
        "kind": line.kind.name,
        "severity": told.judged.severity,
        "grade": told.judged.grade,
        "headline": told.judged.headline,
        "metric": number.metric,
        "value": number.value,
        "low": None if estimate is None else estimate.low,
        "high": None if estimate is None else estimate.high,
        "level": None if estimate is None else estimate.level,
        "n": None if estimate is None else estimate.n,
        "method": number.method,
        "guessing": number.guessing,
        "audited": told.audited,
        "game": told.game,
        "worst": "; ".join(told.worst.ids),
        "advice": told.judged.advice[0] if told.judged.advice else "",
        "warnings": len(line.warnings),
        "version": line.version,
        "seed": line.seed,
        "sha256": line.sha256,
    }


def _no_formula(cell: object) -> object:
    # A spreadsheet runs what begins like this, and ids come from the user's data.
    risky = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{cell}" if risky else cell
