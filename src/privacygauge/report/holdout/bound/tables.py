"""Findings on what submissions can buy as a table and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report import tables
from privacygauge.report.holdout.bound.verdict import verdict
from privacygauge.report.holdout.findings import GUARANTEE, RATE, Bias, BoundFindings
from privacygauge.report.holdout.words import points, points_estimate, submissions
from privacygauge.report.numbers import count, fixed

if TYPE_CHECKING:
    import pandas as pd


def records_frame(f: BoundFindings) -> pd.DataFrame:
    """Return one row for every number: ``name``, ``kind``, ``value``, ``applies``, ``assumption``.

    Values are biases above 1/m (``honest_best_of_k``: above the true accuracy), but for rates.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "name": [b.key for b in f.biases],
            "kind": [b.kind for b in f.biases],
            "value": [b.value for b in f.biases],
            "applies": [b.applies for b in f.biases],
            "assumption": [b.assumption for b in f.biases],
        }
    )


def summary(f: BoundFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    rows = [(title, f"{value}  {assumed}") for title, value, assumed in lines(f)]
    return tables.as_summary(verdict(f), (*asked(f), *rows), f.warnings, f.skipped)


def asked(f: BoundFindings) -> tuple[tuple[str, str], ...]:
    """Return what was asked about, each with its name."""
    of = f" ({count(f.accounts)} accounts, {count(f.per_account)} each)" if f.accounts > 1 else ""
    return (
        ("Test set", f"{count(f.n)} examples, {count(f.classes)} classes"),
        ("Submissions", f"{count(f.queries)}{of}"),
        ("Guard", f"{f.guard}, {fixed(f.nats, 0)} nats in all answers"),
        ("Draws a label", f"{fixed(f.per_label, 1)} ({closed_form(f)})"),
    )


def closed_form(f: BoundFindings) -> str:
    """Return whether the closed forms are to be trusted, in a few words."""
    return "the closed form holds" if f.trusted else "too few for the closed form: 20 are needed"


def lines(f: BoundFindings) -> tuple[tuple[str, str, str], ...]:
    """Return title, points and assumption of every bias; those that do not apply in brackets."""
    rows = [
        (b.title, gain(f, b) if b.applies else f"({gain(f, b)})", b.assumption)
        for b in f.biases
        if b.kind != RATE
    ]
    if f.simulated is not None:
        shown = points_estimate(f.simulated)
        rows.insert(0, ("naive Bayes, simulated", shown.value, f"{shown.interval}, {_how(f)}"))
    return tuple(rows)


def gain(f: BoundFindings, bias: Bias) -> str:
    """Return a bias in points; a guarantee of all that there is to gain says nothing."""
    silent = bias.kind == GUARANTEE and bias.value >= 1 - f.chance - 1e-12
    return "no limit" if silent else points(bias.value)


def allowed_rows(f: BoundFindings) -> tuple[tuple[str, str, str, str], ...]:
    """Return against what, submissions, points and assumption of every question turned round."""
    return tuple(
        (a.title, submissions(a.submissions), submissions(a.points), a.assumption)
        for a in f.allowed
    )


def _how(f: BoundFindings) -> str:
    assert f.simulated is not None
    return f"{f.simulated.method}, n = {f.simulated.n}"
