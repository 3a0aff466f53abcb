"""Findings on a leaderboard's history as tables and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report import tables
from privacygauge.report.leaderboard.findings import LeaderboardFindings
from privacygauge.report.leaderboard.verdict import verdict
from privacygauge.report.numbers import count, p_value, percent, plain

if TYPE_CHECKING:
    import pandas as pd


def records_frame(f: LeaderboardFindings) -> pd.DataFrame:
    """Return one row for every submission, in the order of time.

    Returns
    -------
    pandas.DataFrame
        Columns: ``submission`` (from 0), ``time``, ``account``, ``score``, ``best_so_far``,
        ``record`` (beat all before it), ``noise`` (best so far of noise alone), ``ladder`` (what
        a Ladder would have shown), ``copy_of`` (first submission with the same answers),
        ``distance`` (points changed from the nearest earlier one, -1 for none) and ``flags``
        (names of findings, with commas). Missing throughout what was not at hand.
    """
    import pandas as pd

    s = f.submissions
    return pd.DataFrame(
        {
            "submission": range(len(s.accounts)),
            "time": s.times,
            "account": list(s.accounts),
            "score": s.scores,
            "best_so_far": s.best,
            "record": s.record,
            "noise": s.noise,
            "ladder": s.ladder,
            "copy_of": s.copy_of,
            "distance": s.distance,
            "flags": [",".join(names) for names in s.flags],
        }
    )


def tests_frame(f: LeaderboardFindings) -> pd.DataFrame:
    """Return one row for every test, by rising p-value.

    Returns
    -------
    pandas.DataFrame
        Columns: ``detector``, ``accounts`` (with commas), ``p_value``, ``adjusted``,
        ``stands_out``, ``says``.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "detector": test.detector.name,
                "accounts": ", ".join(test.accounts),
                "p_value": test.p_value,
                "adjusted": test.adjusted,
                "stands_out": test.stands_out,
                "says": test.says,
            }
            for test in f.tests
        ],
        columns=["detector", "accounts", "p_value", "adjusted", "stands_out", "says"],
    )


def summary(f: LeaderboardFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    return tables.as_summary(verdict(f), lines(f), f.warnings, f.skipped)


def lines(f: LeaderboardFindings) -> tuple[tuple[str, str], ...]:
    """Return the main numbers, each with its name."""
    w, s = f.winner, f.submissions
    rows = [
        ("Submissions", f"{count(len(s.accounts))} by {count(f.n_accounts)} accounts"),
        ("Findings", f"{count(len(f.findings))} of {count(len(f.tests))} tests"),
        ("Best score", f"{percent(w.best, 2)}, by {plain(w.account)}"),
    ]
    if w.margin is not None:
        rows.append(("Margin", percent(w.margin, 2)))
    rows.append(("Selection alone", f"up to {percent(w.selection, 2)} (best of {w.submissions:,})"))
    rows.append(("Rises of the best", count(int(s.record.sum()))))
    if s.ladder is not None:
        shown = int((s.ladder[1:] > s.ladder[:-1]).sum())
        rows.append((f"Shown by {f.ladder}", count(shown)))
    if f.copies is not None:
        rows.append(
            ("Exact copies", f"{count(f.copies)} ({count(f.shared_copies or 0)} of others)")
        )
    if f.near_copies is not None:
        rows.append(("Near copies of others", count(f.near_copies)))
    return tuple(rows)


def found_rows(f: LeaderboardFindings) -> list[tuple[str, str, str, str]]:
    """Return title, accounts, p-value and corrected p-value of every finding."""
    return [
        (test.detector.title, plain(", ".join(test.accounts)), p_value(test.p_value),
         p_value(test.adjusted))
        for test in f.findings
    ]  # fmt: skip
