"""Read a leaderboard's history from files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.datasets.archives import require_once
from privacygauge.datasets.reading import (
    LINES,
    TABLE_ENDINGS,
    csv_text,
    fields_of_any_length,
    is_csv,
    read_array,
    read_content,
    read_json,
    read_json_lines,
    separator_in,
)
from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.history.record import (
    History,
    are_percentages,
    as_shares,
    in_time,
    order_in_time,
)
from privacygauge.leaderboards.metrics import Metric, chosen_metric, metric_named
from privacygauge.leaderboards.names import ID_COLUMNS

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
"""Our columns, and their names in Meta Kaggle's table Submissions; the first that exists counts.
The table holds the day of a submission, and its number orders the submissions of one day.
"""

PLATFORMS = {
    "account": (
        "teamname",
        "participantteamname",
        "participantteam",
        "team",
        "teamid",
        "userorteam",
        "username",
        "user",
        "owner",
        "participant",
        "participantusername",
    ),
    "time": (
        "submissiondate",
        "submittedat",
        "submissiontime",
        "createdwhen",
        "createdat",
        "timestamp",
        "lastsubmissiondate",
        "dateoflastentry",
        "date",
        "submitted",
        "when",
    ),
    "score": ("publicscore", "predictionscore", "accuracy", "acc", "public"),
    "private": ("privatescore", "private"),
    "phase": ("phasename", "challengephase"),
    "sent": ("submissioncount", "entries", "numberofentries"),
}
"""Our columns, and their names in exports of platforms (Kaggle, EvalAI, Codabench, DrivenData), in
lower-case letters alone; the first that exists counts.
"""

# American notation, as in Meta Kaggle; a time with AM or PM is unambiguous in any file.
_MORNINGS = "%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p"
_DAYS = "%m/%d/%Y", "%m/%d/%Y %H:%M:%S", *_MORNINGS
_LAST_ENTRY = "%m/%d/%y"
"""Days in the column "Date of Last Entry" of CodaLab's leaderboards."""
_RANKED = ("rank", "place", "position", "#")
"""Columns, in lower case, that only leaderboards have."""
_WITH_RANK = re.compile(r"\s*\(\d+\)$")
"""Matches the rank behind a score in a cell of CodaLab's leaderboards."""
_TRUE = ("true", "1", "yes")
_ABSENT = ("", "none", "nan", "null", "n/a", "na", "-", "--", "\u2013", "failed", "error",
           "pending", "running", "queued", "submitted", "timeout", "timed out", "cancelled",
           "canceled", "invalid", "disqualified")  # fmt: skip
"""Scores of submissions that failed, or have none yet, in lower case."""
_OWN_LIST = ("filename", "description", "status")
"""Columns of a team's own list of its submissions on Kaggle, which does not name the team."""
OWN = "own submissions"
"""Account of such a list."""


def is_export(columns: Sequence[str]) -> bool:
    """Return whether these are the columns of an export, and not those of a history."""
    return "score" not in columns and any(name in columns for name in NAMES["score"])


def is_history(columns: Sequence[str]) -> bool:
    """Return whether these are the columns of a history, ours or those of a platform."""
    if is_export(columns):
        return any(name in columns for name in NAMES["account"])
    (row,) = _rename_columns([dict.fromkeys(columns)])
    return all(name in row for name in (*COLUMNS, TIME))


def from_export(rows: Sequence[Row]) -> list[Row]:
    """Return rows under the names of a history, without those that do not count.

    Submissions after the deadline and those without a score are left out.
    """
    names = {
        ours: next((name for name in theirs if name in rows[0]), None)
        for ours, theirs in NAMES.items()
    }
    found = [
        {ours: row.get(name) for ours, name in names.items() if name is not None} for row in rows
    ]
    scores = [ours for ours in ("score", "private") if names[ours] is not None]
    kept = [
        row
        for row in found
        if all(_is_given(row[name]) for name in scores) and not is_true(row.get("late"))
    ]
    for row in kept:
        row["time"] = _iso(row.get("time"))
    # Days first, as text in ISO 8601; numbers order the submissions of one day.
    if names["number"] is not None and names["time"] is not None:
        kept.sort(key=lambda row: (str(row["time"]), _int_or_zero(row["number"])))
        return [row | {"number": i} for i, row in enumerate(kept)]
    return list(kept)


def is_true(value: object) -> bool:
    """Return whether a cell means yes."""
    return str(value).strip().lower() in _TRUE


def _is_given(value: object) -> bool:
    return str(value).strip().lower() not in _ABSENT


def _iso(value: object, forms: Sequence[str] = _DAYS) -> object:
    """Return a day in American notation as ISO 8601, and anything else unchanged."""
    for form in forms:
        with suppress(ValueError):
            return datetime.strptime(str(value).strip(), form).isoformat()
    return value


def _int_or_zero(value: object) -> int:
    with suppress(ValueError):
        return int(str(value))
    return 0


COLUMNS = ("account", "score")
"""Columns that every history must have."""
TIME = "time"
"""Optional column: ISO 8601, or a number."""
ANSWERS = "predictions"
"""Optional column: a list of labels."""
POINTS = "points"
"""Optional array beside the submitted labels: the places of their points among all labels."""
IDS = "ids"
CLASSES = "classes"
"""Optional arrays beside these: the names of the points, and those of the classes from 0."""
SUBMISSION = "submission"
"""Optional column: name of the submission."""

# Columns of a scoring server's log.
NUMBER = "number"
"""Order of the submissions."""
GUARD = "guard"
"""Guard that answered."""
METRIC = "metric"
"""Metric of the scores."""
EXACT = "exact"
"""Score behind the guard, if the owner added it."""

# Columns of a contest that has ended.
PRIVATE = "private"
"""Score that decided in the end."""
SELECTED = "selected"
"""Whether its team chose the submission."""
VOIDED = "voided"
"""Whether the owner has voided the submission."""
SENT_BY = "sent_by"
"""Account that sent the submission, before mergers."""
PHASE = "phase"
"""Phase of a contest, of which each has its own test set."""
SENT = "sent"
"""Number of submissions that a team made, where each has one row: a leaderboard."""
_OF_LOG = (NUMBER, GUARD, METRIC, EXACT, VOIDED, SENT_BY)
_KNOWN = (TIME, *COLUMNS, ANSWERS, SUBMISSION, *_OF_LOG, PRIVATE, SELECTED, PHASE)


BETTER = ("higher", "lower")
"""Which scores are better."""


class LeftOpen(TypedDict, total=False):
    """Facts that a file of a history may leave open."""

    phase: str | None
    """Phase whose submissions are read; needed where the file has several."""
    better: str | None
    """Which scores are better, one of `BETTER`.

    It is needed where the column ``score`` may hold errors as well as 1 less the error.
    """

    random_private: bool
    """Whether the private points were drawn at random from the same records as the public ones."""


def read_history(
    path: Path,
    *,
    n: int | None = None,
    n_classes: int | None = None,
    predictions: Path | None = None,
    labels: Path | None = None,
    metric: str | None = None,
    n_private: int | None = None,
    n_smaller: int | None = None,
    **left_open: Unpack[LeftOpen],
) -> History:
    """Return the history in a file.

    Parameters
    ----------
    path : Path
        JSON lines, one JSON array, CSV or Parquet with the columns ``account`` and ``score``
        (accuracy in [0, 1], right answers out of `n`, or percentages). Optional columns: ``time``
        (ISO 8601, or a number; without it rows are taken to be in the order of submissions);
        ``submission``, a name; ``number``, an integer that gives the order where clocks do not;
        ``guard``, name of the guard that answered, and ``metric``, name of the metric scored, each
        the same in every row; ``exact``, the score behind the guard, which is then examined in
        place of its answers; ``voided``, true for submissions that the owner has voided;
        ``sent_by``, the account that sent a submission, where ``account`` is the one that it was
        merged into; ``private``, the score that decided in the end; ``selected``, true for the
        submissions that a team chose to be judged by; ``phase``, of which one is read; and, in JSON
        and Parquet, ``predictions``, a list of labels. Alternatively, the unchanged columns of Meta
        Kaggle's table Submissions (`NAMES`) for one contest; the scores of a metric that is an
        error are then errors, of which less is better.
    n : int, optional
        Number of points of the test set; default: taken from labels or predictions.
    n_classes : int, optional
        Number of classes; default: counted in labels and predictions.
    predictions : Path, optional
        Submitted labels: .npy of shape (k, n) in the order of the file, .npz with a vector under
        each submission's name, or with one array ``predictions``, perhaps beside ``points``, the
        places of its columns among all labels, or a folder with a file of each submission's name:
        .npy, or .csv with a column of labels, perhaps beside one ``id``.
    labels : Path, optional
        Hidden labels: .npy of shape (n,), .npz with one array ``labels``, or a table with one
        column of labels, perhaps beside ``id``.
    metric : str, optional
        Name of the metric, as `metric_named` reads it, if no column holds it.
    n_private : int, optional
        Number of points behind the private scores.
    n_smaller : int, optional
        Number of points of the smaller class, for areas under the curve; default: counted in the
        labels.
    **left_open
        `phase`, `better` and `random_private`, as in `LeftOpen`.

    Raises
    ------
    InputError
        One line: the file, the problem, and the way out.
    """
    rows = given = _rows(path)
    ranked = bool(rows) and any(str(name).strip().lower() in _RANKED for name in rows[0])
    exported = bool(rows) and is_export(list(rows[0]))
    if exported:
        rows = from_export(rows)
    else:
        # Under another name than ours stand a platform's own scores, such as errors.
        exported = bool(rows) and all(str(name).strip().lower() != "score" for name in rows[0])
        rows = list(_rename_columns(rows, metric))
        # Submissions without a score failed and do not count; but predictions in a file of their
        # own come in the order of all rows.
        if rows and predictions is None:
            rows = [row for row in rows if "score" not in row or _is_given(row["score"])]
    if not rows:
        raise InputError(f"{path} holds no submissions")
    left_out = len(given) - len(rows)
    inside = _in_phase(rows, path, left_open.get("phase"))
    rows = [row for row, is_inside in zip(rows, inside, strict=True) if is_inside]
    missing = [name for name in COLUMNS if name not in rows[0]]
    if missing:
        raise InputError(
            f"{path} has no column {' and no column '.join(missing)}: its columns are "
            f"{checks.short_list([str(name) for name in given[0]])}"
        )
    ids: NDArray[Any] | None = None
    served: Mapping[str, NDArray[Any]] = {}
    if predictions is None:
        answers = _inline(rows, path)
    elif predictions.is_dir():
        answers, ids = _folder(predictions, rows)
    else:
        answers, served = _answers(predictions, rows)
        # An array has the rows of all phases.
        if len(answers) == len(inside) > len(rows):
            answers = answers[inside]
    truth = None if labels is None else _labels(labels, predictions, ids, served=served)
    size = n
    if size is None and truth is not None:
        size = len(truth)
    elif size is None and answers is not None and answers.ndim == 2:
        size = int(answers.shape[1])
    if size is None:
        raise InputError("--n is needed: the number of examples of the test set")
    guard = _require_constant(rows, path, GUARD)
    scored = _metric(rows, path, metric)
    better = left_open.get("better")
    raw = _holds_errors(rows, path, metric=scored, exported=exported, better=better)
    scores = _scores(rows, path, column="score", metric=scored, raw=raw)
    behind = all(row.get(EXACT) not in (None, "") for row in rows)
    numbers = _numbers(rows, path)
    times = None
    if any(_is_given(row.get(TIME)) for row in rows):
        days = _with_iso_days([row.get(TIME) for row in rows], path)
        times = np.array([_time(value, path, i) for i, value in enumerate(days)])
    history = in_time(
        times,
        [_account(row, path, i) for i, row in enumerate(rows)],
        _scores(rows, path, column=EXACT, metric=scored, raw=raw) if behind else scores,
        n=size,
        n_classes=n_classes,
        answers=answers,
        labels=truth,
        numbers=numbers,
        guard=None if guard is None else guard_named(guard).name,
        shown=scores if behind else None,
        metric=scored.name,
    )
    # Further columns are put in the order that `in_time` gave the others.
    order = order_in_time(np.arange(len(rows)) if times is None else times, numbers)
    voided = [is_true(row.get(VOIDED)) for row in rows]
    sent = [_int_or_zero(row.get(SENT)) for row in rows]
    history = replace(
        history,
        # One row for each of several teams, of which some made more.
        unknown=max(0, sum(sent) - len(rows)) if len(history.names) == len(rows) else 0,
        left_out=left_out,
        error_unit=scored.worst if raw else None,
        best_only=ranked and 1 < len(rows) == len(history.names),
        n_smaller=history.n_smaller if n_smaller is None else n_smaller,
        voided=np.array(voided)[order] if VOIDED in rows[0] else None,
        sent_by=tuple(str(rows[i].get(SENT_BY) or history.accounts[place])
                      for place, i in enumerate(order)) if SENT_BY in rows[0] else None,
    )  # fmt: skip
    # Where finals alone were scored again, the other rows have no private score.
    decided = np.array([_is_given(row.get(PRIVATE)) for row in rows])
    if not decided.any():
        return history
    judged = [row for row, is_judged in zip(rows, decided, strict=True) if is_judged]
    given_private = _scores(judged, path, column=PRIVATE, metric=scored, raw=raw)
    private = np.full(len(rows), np.nan)
    private[decided] = as_shares(given_private, n_private or 0, len(judged), metric=scored.name)
    chosen = np.array([is_true(row.get(SELECTED)) for row in rows])
    return replace(
        history,
        private=private[order],
        n_private=n_private,
        random_private=left_open.get("random_private", False),
        percentages=history.percentages
        or are_percentages(given_private, n_private or 0, scored.name),
        selected=chosen[order] if chosen.any() else None,
    )


def _rename_columns(rows: Sequence[Row], metric: str | None = None) -> list[Row]:
    """Rename known columns, and those of `PLATFORMS`, to our names, ignoring case.

    A column that is called as the metric has its scores.
    """
    if not rows:
        return []
    ours = {name: str(name).strip().lower() for name in rows[0] if name not in _KNOWN}
    # A name that two columns share without case is ambiguous, and stays as it is.
    changed = {
        name: known
        for name, known in ours.items()
        if known in _KNOWN and known not in rows[0] and list(ours.values()).count(known) == 1
    }
    plain = {re.sub(r"[^a-z]", "", name): theirs for theirs, name in ours.items()}
    by_metric = re.sub(r"[^a-z]", "", (metric or "").partition(":")[0].lower())
    for known, named in PLATFORMS.items():
        others = (*named, by_metric) if known == "score" else named
        theirs = next((plain[other] for other in others if other in plain), None)
        if theirs is not None and known not in rows[0] and known not in changed.values():
            changed[theirs] = known
    renamed: list[Row] = [
        {changed.get(name, name): value for name, value in row.items()} for row in rows
    ]
    if changed.get(plain.get("dateoflastentry", "")) == TIME:
        renamed = [{**row, TIME: _iso(row[TIME], (_LAST_ENTRY,))} for row in renamed]
    if "account" not in renamed[0] and all(name in plain for name in _OWN_LIST):
        return [{**row, "account": OWN} for row in renamed]
    return renamed


def _in_phase(rows: Sequence[Row], path: Path, phase: str | None) -> list[bool]:
    """Return which rows are of a phase: all, where there is one only and none is asked for."""
    named = [str(row.get(PHASE) or "").strip() for row in rows]
    phases = sorted(set(named))
    if phase is None and len(phases) > 1:
        raise InputError(
            f"{path} holds {len(phases)} phases, each with its own test set "
            f"({checks.short_list(phases)}): choose one with --phase"
        )
    if phase is not None and phase not in phases:
        raise InputError(f"{path} holds no phase {phase!r}, got {checks.short_list(phases)}")
    return [phase in (None, name) for name in named]


def _numbers(rows: Sequence[Row], path: Path) -> list[int] | None:
    if NUMBER not in rows[0]:
        return None
    try:
        numbers = [int(row[NUMBER]) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: number must be an integer in every submission") from error
    if len(set(numbers)) < len(numbers):
        raise InputError(f"{path}: number must differ from submission to submission")
    return numbers


def _require_constant(rows: Sequence[Row], path: Path, column: str) -> str | None:
    names = {str(row[column]) for row in rows if row.get(column) not in (None, "")}
    if len(names) > 1:
        raise InputError(
            f"{path}: {column} must be the same in every submission, got {sorted(names)}"
        )
    return names.pop() if names else None


def _metric(rows: Sequence[Row], path: Path, asked: str | None) -> Metric:
    named = _require_constant(rows, path, METRIC)
    # A file's column has no code run: only what the user names has.
    found = chosen_metric(asked or "accuracy") if named is None else metric_named(named)
    if asked is not None and chosen_metric(asked).name != found.name:
        raise InputError(f"{path}: the column metric says {named}, got {asked}")
    return found


def _holds_errors(
    rows: Sequence[Row], path: Path, *, metric: Metric, exported: bool, better: str | None
) -> bool:
    """Return whether the scores are errors, of which less is better.

    Parameters
    ----------
    rows, path, metric
        The history, its file and the metric.
    exported : bool
        Whether the scores stand under a platform's name for them.
    better : str, optional
        What the user says, one of `BETTER`.
    """
    if better not in (None, *BETTER):
        raise InputError(f"better must be {' or '.join(BETTER)}, got {better}")
    if metric.worst is None:
        if better == "lower":
            raise InputError(
                f"--better lower needs a metric that is an error, got {metric.name}: name it, such "
                "as --metric rmse:0:100, or give 1 less the error rate"
            )
        return False
    given = {
        column: [row for row in rows if _is_given(row.get(column))] for column in ("score", PRIVATE)
    }
    values = [
        value
        for column, scored in given.items()
        for value in _scores(scored, path, column=column, metric=metric, raw=False)
    ]
    # Errors that a library made negative, whichever way is said to be better.
    if values and min(values) < 0:
        return True
    if better is not None or exported:
        return better != "higher"
    # No share is above 1: a column of larger numbers holds the errors themselves.
    if values and max(values) > 1:
        return True
    # A log that names its metric is a scoring server's, which writes shares.
    if rows[0].get(METRIC) not in (None, ""):
        return False
    raise InputError(
        f"{path}: the column score may hold errors ({metric.name}) or 1 less the error: say which "
        "with --better lower or --better higher, or call the column as the metric"
    )


def _scores(rows: Sequence[Row], path: Path, column: str, metric: Metric, raw: bool) -> list[float]:
    """Return scores in [0, 1], higher is better; 0 beyond the range of an export."""
    values = []
    for i, row in enumerate(rows):
        try:
            values.append(_number(row.get(column)))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{path}: {column} must be a number, got {row.get(column)!r} in submission {i + 1}"
            ) from error
    # Kappa and R2 below 0 count as none.
    if metric.worst is None and metric.clipped:
        return [max(0.0, value) for value in values]
    if not raw or metric.worst is None:
        return values
    # Libraries that maximise write errors with a minus (neg_root_mean_squared_error).
    if values and max(values) <= 0:
        values = [-value for value in values]
    return [max(0.0, 1 - value / metric.worst) for value in values]


def _rows(path: Path) -> list[Row]:
    name = path.name.lower()
    if name.endswith(LINES):
        return [row for _, row in read_json_lines(path, "history")]
    if name.endswith(".json"):
        objects = read_json(path, "history")
        if not isinstance(objects, list) or not all(isinstance(row, dict) for row in objects):
            raise InputError(f"{path} must hold one array of objects, one a submission")
        return objects
    if is_csv(path):
        # Read as text: an account may be called 007.
        text = csv_text(path, "history")
        separator = separator_in(text, path)
        table = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
        require_once(path, [name for name in table.fieldnames or () if name.strip()])
        with fields_of_any_length():
            rows: list[Mapping[str, Any]] = list(table)
        for place, row in enumerate(rows):
            # Cells without a column of their own: a decimal comma, say, would cut a score.
            if None in row:
                raise InputError(
                    f"{path} has more cells than columns in submission {place + 1}: quote a cell "
                    f"that contains {separator!r}"
                )
        return rows
    if name.endswith(".parquet"):
        found: Any = read_content(path, "history")
        return [
            dict(zip(found.columns, row, strict=True))
            for row in found.itertuples(index=False, name=None)
        ]
    raise InputError(f"{path} must end in .json, {TABLE_ENDINGS}")


def _account(row: Row, path: Path, place: int) -> str:
    value = row.get("account")
    if value is None or value == "":
        raise InputError(f"{path}: account is missing in submission {place + 1}")
    return str(value)


def _number(cell: Any) -> float:
    """Return the number in a cell, which may have a decimal comma or a percent sign."""
    if not isinstance(cell, str):
        return float(cell)
    text = _WITH_RANK.sub("", cell.strip())
    digits = text.removesuffix("%").replace(",", ".")
    return float(digits) / 100 if text.endswith("%") else float(digits)


_DAY = re.compile(r"\s*(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?=\D|$)(.*)")
"""Matches days such as 3/14/2026, 14-3-26 and 14.3.2026, perhaps followed by a time."""
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?=\D|$)")
"""Matches days that begin with the year, with slashes."""
_WRITTEN = ("%b %d, %Y", "%b %d, %Y, %I:%M %p", "%b %d, %Y %I:%M %p", "%b %d, %Y, %H:%M",
            "%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S", "%d %b %Y", "%d %b %Y %H:%M:%S",
            "%B %d, %Y", "%B %d, %Y, %I:%M %p", "%d %B %Y")  # fmt: skip
"""Times with the name of the month."""


def _with_iso_days(values: Sequence[Any], path: Path) -> Sequence[Any]:
    """Return days in ISO 8601 if the column shows which number is the month.

    Days with dots begin with the day. With slashes or dashes one of the numbers must exceed 12
    somewhere. A time with AM or PM is American.
    """
    found = [_DAY.fullmatch(value) if isinstance(value, str) else None for value in values]
    days = [match for match in found if match is not None]
    # A column with other notations is left to the reading of single times.
    if len(days) < len(values):
        return values
    first, second = (max(int(match[place]) for match in days) for place in (1, 3))
    years = {match[4] for match in days}
    # 26/03/14 may begin with the year: so many years in one contest are days.
    if any(len(year) == 2 for year in years) and len(years) > 2 and first > _MONTHS:
        return values
    american = any(match[5].strip().upper().endswith("M") for match in days)
    day_first = first > _MONTHS or all(match[2] == "." for match in days)
    if not day_first and second <= _MONTHS and not american:
        raise InputError(
            f"{path}: the time {values[0]!r} may begin with the day or with the month, and no "
            "other submission shows which: write 2026-01-31"
        )
    parts = [(match[1].zfill(2), match[3].zfill(2), f"20{match[4]}"[-4:]) for match in days]
    # `_time` reads American notation with AM or PM itself.
    if american and not day_first:
        return [
            f"{month}/{day}/{year}{match[5]}"
            for (month, day, year), match in zip(parts, days, strict=True)
        ]
    return [
        "-".join((year, second, first) if day_first else (year, first, second)) + match[5].rstrip()
        for (first, second, year), match in zip(parts, days, strict=True)
    ]


_MONTHS = 12


def _time(value: Any, path: Path, place: int) -> float:
    if isinstance(value, datetime):
        return _seconds(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    text = str(_iso(_iso(value, _MORNINGS), _WRITTEN)).strip()
    text = _SLASHED.sub(lambda day: f"{day[1]}-{day[2]:0>2}-{day[3]:0>2}", text)
    try:
        # Platforms write the zone as a word.
        return _seconds(datetime.fromisoformat(re.sub(r"\s*(UTC|GMT)$", "Z", text)))
    except ValueError as error:
        raise InputError(
            f"{path}: time must be ISO 8601 (2026-01-31T12:00:00) or a number, got {value!r} in "
            f"submission {place + 1}"
        ) from error


def _seconds(moment: datetime) -> float:
    # A time without a zone is taken as UTC, so that the same file reads the same everywhere.
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _inline(rows: Sequence[Row], path: Path) -> NDArray[Any] | None:
    lists = [row.get(ANSWERS) for row in rows]
    given = [found is not None for found in lists]
    if not any(given) or is_csv(path):
        return None
    if not all(given):
        raise InputError(
            f"{path}: predictions are missing in submission {given.index(False) + 1}: give them "
            "for all submissions, or for none"
        )
    return _stack_predictions(lists, [f"submission {i + 1}" for i in range(len(lists))])


def _answers(path: Path, rows: Sequence[Row]) -> tuple[NDArray[Any], Mapping[str, NDArray[Any]]]:
    """Return the submitted labels, (k, n), and the further arrays of a scoring server's export.

    These are the points, their ids and the classes' names; none in other files.
    """
    arrays = dict(_arrays(path, "predictions"))
    served = {}
    if POINTS in arrays:
        served = {name: arrays.pop(name) for name in (POINTS, IDS, CLASSES) if name in arrays}
    if len(arrays) == 1 and next(iter(arrays.values())).ndim == 2:
        return next(iter(arrays.values())), served
    names = [str(row.get(SUBMISSION, "")) for row in rows]
    absent = [name for name in names if name not in arrays]
    if absent:
        raise InputError(
            f"{path} must hold an array under the name of each submission, none for "
            f"{absent[0]!r}: give the history a column submission, or one array (k, n)"
        )
    return _stack_predictions([arrays[name] for name in names], names), served


def _folder(path: Path, rows: Sequence[Row]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the labels in the files of a folder, (k, n), in the order of the ids, and these."""
    names = [str(row.get(SUBMISSION, "")) for row in rows]
    files = {file.name: file for file in sorted(path.iterdir()) if file.is_file()}
    stems = {file.stem: file for file in files.values()}
    found = []
    ids: NDArray[Any] | None = None
    for name in names:
        file = files.get(name) or stems.get(name)
        if file is None:
            raise InputError(
                f"{path} must hold a file called as each submission, none for {name!r}: give the "
                "history a column submission"
            )
        if not is_csv(file):
            found.append(read_array(file, "predictions"))
            continue
        row, own = _column_of_labels(file, "predictions")
        if own is not None:
            order = np.argsort(own, kind="stable")
            row = row[order]
            own = own[order]
        if ids is not None and own is not None and not np.array_equal(ids, own):
            raise InputError(f"{file} must have the ids of the other files, and each once")
        ids = own if ids is None else ids
        found.append(row)
    return _stack_predictions(found, names), ids


def _column_of_labels(path: Path, what: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the labels of a table, (n,), and its ids if it has any."""
    table: Any = read_content(path, what, names=ID_COLUMNS)
    named = [column for column in table.columns if column in ID_COLUMNS]
    others = [column for column in table.columns if column not in ID_COLUMNS]
    if len(others) != 1 or len(named) > 1:
        raise InputError(f"{path} must have one column of labels beside id, got {len(others)}")
    if not named:
        return table[others[0]].to_numpy(), None
    return table[others[0]].to_numpy(), table[named[0]].to_numpy()


def _labels(
    path: Path,
    predictions: Path | None,
    ids: NDArray[Any] | None,
    *,
    served: Mapping[str, NDArray[Any]],
) -> NDArray[Any]:
    """Return the hidden labels, (n,), on the points that predictions are about.

    `ids` are those of the predictions, in their order; `served` are the further arrays of a
    scoring server's export.
    """
    if path.suffix.lower() not in (".npy", ".npz"):
        labels, own = _column_of_labels(path, "labels")
        if POINTS in served:
            return _labels_of_board(path, labels, own=own, served=served)
        if own is None:
            return labels
        order = np.argsort(own, kind="stable")
        if ids is None and predictions is not None:
            raise InputError(
                f"{path} has ids, and {predictions} has none to put them in its order: leave the "
                "column id out, in the order of the predictions"
            )
        if ids is not None and not np.array_equal(ids, own[order]):
            raise InputError(f"{path} must have the ids of {predictions}, and each once")
        return np.asarray(labels[order])
    arrays = _arrays(path, "labels")
    if len(arrays) != 1:
        raise InputError(f"{path} must hold one array of labels, got {len(arrays)}")
    every = next(iter(arrays.values()))
    if POINTS not in served:
        return every
    return _at_points(path, every, served[POINTS])


def _labels_of_board(
    path: Path,
    labels: NDArray[Any],
    *,
    own: NDArray[Any] | None,
    served: Mapping[str, NDArray[Any]],
) -> NDArray[Any]:
    """Return labels of a table, in the order and with the class numbers of a server's answers."""
    if labels.dtype.kind not in "iufb":
        texts = labels.astype(str)
        # Classes are numbered in alphabetical order, as the server does.
        classes = np.asarray(served.get(CLASSES, np.unique(texts)))
        if unknown := sorted(set(texts) - set(classes)):
            raise InputError(
                f"{path} must have the board's classes {', '.join(classes)}, got {unknown[0]!r}"
            )
        labels = np.searchsorted(classes, texts)
    if own is None or IDS not in served:
        # Without names, the rows are those that the board was begun with.
        return _at_points(path, labels, served[POINTS])
    row = {str(name): i for i, name in enumerate(own)}
    missing = [str(name) for name in served[IDS] if str(name) not in row]
    if missing or len(row) != len(own):
        example = f"{missing[0]!r} is missing" if missing else "one is there twice"
        raise InputError(f"{path} must name each of the board's points once: {example}")
    return np.asarray(labels[[row[str(name)] for name in served[IDS]]])


def _at_points(path: Path, labels: NDArray[Any], points: NDArray[Any]) -> NDArray[Any]:
    """Return the labels on the points behind a server's guard."""
    whole = points.ndim == 1 and points.dtype.kind in "iu"
    if not whole or (len(points) and not 0 <= points.min() <= points.max() < len(labels)):
        raise InputError(
            f"the predictions must have as points the places of their answers among the "
            f"{len(labels):,} labels in {path}: give the board's own"
        )
    return np.asarray(labels[points])


def _arrays(path: Path, what: str) -> Mapping[str, NDArray[Any]]:
    if path.suffix.lower() == ".npz":
        found: Any = read_content(path, what)
        return {str(name): array for name, array in found.items()}
    if path.suffix.lower() != ".npy":
        raise InputError(f"{path} must end in .npy or .npz")
    return {what: read_array(path, what)}


def _stack_predictions(rows: Sequence[Any], names: Sequence[str]) -> NDArray[Any]:
    arrays = [np.asarray(row) for row in rows]
    for array, name in zip(arrays, names, strict=True):
        if array.shape != arrays[0].shape or array.ndim != 1:
            raise InputError(
                f"predictions must have the same length in every submission, got {array.shape} "
                f"in {name} and {arrays[0].shape} in {names[0]}"
            )
    return np.stack(arrays)
