"""Findings on attacks on a test set as a table and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report import tables
from privacygauge.report.holdout.attack.verdict import verdict
from privacygauge.report.holdout.findings import AttackFindings, Result
from privacygauge.report.holdout.words import points_estimate, share
from privacygauge.report.numbers import count, percent, plain

if TYPE_CHECKING:
    import pandas as pd


def records_frame(f: AttackFindings) -> pd.DataFrame:
    """Return one row for every attack and guard.

    Parameters
    ----------
    f : AttackFindings

    Returns
    -------
    pandas.DataFrame
        Columns: ``attack``, ``guard``; of ``accuracy``, ``bias`` and ``bias_corrected`` the value,
        ``_low`` and ``_high``; ``baseline``, ``bias_expected``, ``queries_used``.
    """
    import pandas as pd

    rows = []
    for r in f.results:
        row: dict[str, object] = {"attack": r.attack, "guard": r.guard, "baseline": r.baseline}
        named = {"accuracy": r.accuracy, "bias": r.bias, "bias_corrected": r.corrected}
        for name, found in named.items():
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        rows.append({**row, "bias_expected": r.expected, "queries_used": r.queries_used})
    return pd.DataFrame(rows)


def summary(f: AttackFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    rows = [(_named(f, r), f"{points_estimate(r.bias)} points") for r in f.results]
    return tables.as_summary(verdict(f), (*lines(f), *rows), f.warnings, f.skipped)


def lines(f: AttackFindings) -> tuple[tuple[str, str], ...]:
    """Return what was played, each with its name."""
    worst = f.worst
    model = () if f.model_accuracy is None else (("Base model", percent(f.model_accuracy)),)
    return (
        ("Test set", f"{count(f.n)} examples, {count(f.classes)} classes"),
        ("Largest class", percent(f.largest_class)),
        ("Submissions", count(f.queries)),
        ("Attacker knows", f.knowledge),
        *model,
        ("Accuracy", f"{share(worst.accuracy)}, by {plain(worst.attack)} behind {worst.guard}"),
        ("Before", percent(worst.baseline)),
    )


def grid(f: AttackFindings) -> tuple[tuple[str, ...], ...]:
    """Return attack and bias behind every guard, in points with intervals, row by row."""
    return tuple(
        (a, *(str(points_estimate(f.of(a, g.guard).bias)) for g in f.guards)) for a in f.attacks
    )


def short_grid(f: AttackFindings) -> tuple[tuple[str, ...], ...]:
    """Return the same without intervals, for where there is no room."""
    return tuple(
        (a, *(points_estimate(f.of(a, g.guard).bias).value for g in f.guards)) for a in f.attacks
    )


def _named(f: AttackFindings, r: Result) -> str:
    return f"{plain(r.attack)}, {plain(r.guard)}"
