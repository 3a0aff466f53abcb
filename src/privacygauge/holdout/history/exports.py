"""Histories as platforms publish them, brought to the columns of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

Row = Mapping[str, Any]

NAMES = {
    "time": ("SubmissionDate",),
    "account": ("TeamId", "TeamName", "SubmittedUserId"),
    "score": ("PublicScoreFullPrecision", "PublicScoreLeaderboardDisplay", "PublicScore"),
    "private": ("PrivateScoreFullPrecision", "PrivateScoreLeaderboardDisplay", "PrivateScore"),
    "number": ("Id",),
    "selected": ("IsSelected",),
    "late": ("IsAfterDeadline",),
}
"""Our columns, and what the table Submissions of Meta Kaggle calls them: the first that is there.
Its day comes before its number, which orders the submissions of one day."""

_DAYS = "%m/%d/%Y", "%m/%d/%Y %H:%M:%S"
_TRUE = ("true", "1", "yes")


def is_export(columns: Sequence[str]) -> bool:
    """Return whether these are the columns of such a table, and not those of a history."""
    return "score" not in columns and any(name in columns for name in NAMES["score"])


def from_export(rows: Sequence[Row]) -> list[Row]:
    """Return rows under the names of a history, without those that count for nothing.

    Submissions after the deadline, and those that lack a score, are left out.
    """
    names = {ours: _first(rows[0], theirs) for ours, theirs in NAMES.items()}
    found = [
        {ours: row.get(name) for ours, name in names.items() if name is not None} for row in rows
    ]
    scores = [ours for ours in ("score", "private") if names[ours] is not None]
    kept = [
        row
        for row in found
        if all(_there(row[name]) for name in scores) and not is_true(row.get("late"))
    ]
    for row in kept:
        row["time"] = _iso(row.get("time"))
    if names["number"] is not None and names["time"] is not None:
        kept.sort(key=lambda row: (str(row["time"]), _whole(row["number"])))
        return [row | {"number": i} for i, row in enumerate(kept)]
    return list(kept)


def is_true(value: object) -> bool:
    """Return whether a cell says yes."""
    return str(value).strip().lower() in _TRUE


def _first(row: Row, names: Sequence[str]) -> str | None:
    return next((name for name in names if name in row), None)


def _there(value: object) -> bool:
    return str(value).strip().lower() not in ("", "none", "nan")


def _iso(value: object) -> object:
    """Return a day as it is written in America in ISO 8601, anything else as it is."""
    for form in _DAYS:
        with suppress(ValueError):
            return datetime.strptime(str(value).strip(), form).isoformat()
    return value


def _whole(value: object) -> int:
    with suppress(ValueError):
        return int(str(value))
    return 0
