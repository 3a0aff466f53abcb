"""Detectors that run during a contest: alerts in the log, and fewer submissions per day."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import Engine, RowMapping, func, select, update

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.leaderboards.history.evidence import UNDECIDED, Evidence
from privacygauge.leaderboards.history.findings import holm_corrected_tests, inspect
from privacygauge.leaderboards.history.record import AUC, History, in_time
from privacygauge.leaderboards.history.submitted import StoredAnswers
from privacygauge.leaderboards.metrics import Values, metric_named
from privacygauge.leaderboards.server.accounts import (
    ALERT,
    HIDE,
    HINT,
    SHOW,
    VOID,
    owned_by,
    write_action,
)
from privacygauge.leaderboards.server.board import unpack_submission
from privacygauge.leaderboards.server.database import (
    ACCOUNT,
    ACTION,
    BOARD,
    EXACT,
    KEPT,
    SUBMISSION,
    VOIDED,
    begun_board,
    board_row,
    reading,
    writing,
)
from privacygauge.leaderboards.server.opening import checked_truth, public_of
from privacygauge.leaderboards.server.request_parsing import HiddenLabels

_FEWEST = 20
"""Number of submissions before the first look."""
_GROWTH = 1.1
"""Factor by which the number of submissions grows from one look to the next."""


@dataclass(frozen=True)
class Alert:
    """An account that stands out for the first time."""

    account: str
    """Account of the submissions."""
    reason: str
    """Finding, as the log of actions holds it."""
    p_value: float
    """Upper bound on its probability for honest work, after Holm's correction over this look."""
    hint: bool = False
    """Whether it is worth a look and no finding: honest work gives such evidence as well."""


def look(
    engine: Engine,
    *,
    labels: ArrayLike | HiddenLabels | None = None,
    throttle: int | None = None,
    level: float = 0.95,
) -> tuple[Alert, ...]:
    """Record and return the accounts that newly stand out in a board's log, or are worth a look.

    There is no further look before the log has grown by a tenth since the last one, or the owner
    has voided a submission. Voided submissions are not looked at. Look number j spends 6/(pi j)^2
    of 1 - `level`, and all looks together spend all of it: an honest contest has no alert, however
    long it is watched, with a probability of at least `level`. Each detector whose evidence has an
    honest cause as likely as a cheat has the same level for itself, and gives hints, which limit
    nobody.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        Engine of a board's database.
    labels : array_like of shape (n,), or HiddenLabels, optional
        Hidden labels: with them, and submissions that are kept, more is found.
    throttle : int, optional
        Number of submissions per day for an account that stands out, at least 0; default: as many
        as before. Hints change none. `accounts.show_account` lifts it.
    level : float
        In (0, 1).

    Raises
    ------
    InputError
        If there is no board, or the labels are not its own.
    """
    if throttle is not None and throttle < 0:
        raise InputError(f"throttle must be at least 0, got {throttle}")
    alpha = 1 - checks.level(level)
    # The look is counted before its result is known: looks that fail have spent their share too.
    with writing(engine) as connection:
        board = begun_board(connection)
        truth = None
        if labels is not None:
            hidden = (
                labels if isinstance(labels, HiddenLabels) else HiddenLabels(np.asarray(labels))
            )
            truth = checked_truth(connection, hidden, metric_named(board["metric"]))
        voided = connection.execute(select(func.count()).select_from(VOIDED)).scalar_one()
        counting = board["used"] - voided
        least = max(1, math.ceil(_GROWTH * board["looked_at"]))
        if board["used"] < _FEWEST or counting < least:
            return ()
        number = board["looks"] + 1
        connection.execute(update(BOARD).values(looks=number, looked_at=counting))
    history = history_of_log(engine, board, truth)
    found = inspect(history, stream(number, "points"))
    # The sum of 1/j^2 over all j is pi^2/6.
    most = alpha * 6 / (math.pi * number) ** 2
    alerts = _alerts(found.evidence, most)
    for detector in UNDECIDED:
        some = [one for one in found.undecided if one.detector is detector]
        # A finding says more than a hint.
        for name, hint in _alerts(some, most, hint=True).items():
            alerts.setdefault(name, hint)
    new = []
    for alert in alerts.values():
        with writing(engine) as connection:
            # Lock the board, so that two actions cannot take the same number.
            board_row(connection)
            named = select(ACCOUNT.c.id).where(ACCOUNT.c.name == alert.account)
            account = connection.execute(named).scalar_one()
            # An account that has an alert gets no other one, and no hint; one hint is enough. Only
            # where a voided submission has closed the case, the rest may open it again.
            known = (ALERT, HINT) if alert.hint else (ALERT,)
            same = ACTION.c.account_id == account, ACTION.c.kind.in_(known)
            last = connection.execute(select(func.max(ACTION.c.number)).where(*same)).scalar()
            if last is not None:
                own = ACTION.c.account_id.in_(owned_by(connection, account))
                settled = own, ACTION.c.number > last, ACTION.c.kind.in_((HIDE, SHOW, VOID))
                first = select(ACTION.c.kind).where(*settled).order_by(ACTION.c.number).limit(1)
                if connection.execute(first).scalar() != VOID:
                    continue
            write_action(connection, HINT if alert.hint else ALERT, account, alert.reason)
            if throttle is not None and not alert.hint:
                changed = update(ACCOUNT).where(ACCOUNT.c.id == account)
                connection.execute(changed.values(per_day=throttle))
            new.append(alert)
    return tuple(new)


def open_cases(engine: Engine) -> dict[str, tuple[str, ...]]:
    """Return the accounts that stand out, ``findings``, and those worth a look, ``hints``.

    An account counts until the owner hides it, shows it or voids a submission of it, after the
    alert or hint. An account that was merged into another one counts as this one.
    """
    account = func.coalesce(ACCOUNT.c.merged_into, ACCOUNT.c.id)
    query = (
        select(account.label("account"), ACTION.c.kind)
        .join(ACCOUNT, ACCOUNT.c.id == ACTION.c.account_id)
        .order_by(ACTION.c.number)
    )
    found: dict[int, str] = {}
    with reading(engine) as connection:
        begun_board(connection)
        names = {
            row.id: row.name for row in connection.execute(select(ACCOUNT.c.id, ACCOUNT.c.name))
        }
        for row in connection.execute(query):
            if row.kind in (HIDE, SHOW, VOID):
                found.pop(row.account, None)
            # A hint adds nothing to an alert.
            elif row.kind == ALERT or (row.kind == HINT and row.account not in found):
                found[row.account] = row.kind
    return {
        metric: tuple(names[account] for account, kind in found.items() if kind == which)
        for metric, which in (("findings", ALERT), ("hints", HINT))
    }


def _alerts(found: Sequence[Evidence], most: float, *, hint: bool = False) -> dict[str, Alert]:
    """Return the clearest alert of each account whose corrected p-value is at most `most`."""
    alerts: dict[str, Alert] = {}
    for test in holm_corrected_tests(found, most):
        for name in test.accounts if test.stands_out else ():
            # The longest reason that the log of actions takes.
            reason = f"{test.detector.title}: {test.says}"[:500]
            alerts.setdefault(name, Alert(name, reason, test.adjusted, hint))
    return alerts


def history_of_log(engine: Engine, board: RowMapping, labels: Values | None) -> History:
    """Return a board's log as a history: exact scores, and the answers if they were kept.

    Answers and labels are those of the points that the guard answers about. Submissions that the
    owner has voided are left out.
    """
    metric = metric_named(board["metric"])
    public = public_of(board)
    # Histories hold one integer per point.
    kept = board["keep"] and metric.form == "i" and metric.width(board["n_classes"]) == 1
    into = ACCOUNT.alias()
    # Merged accounts are one team, which answers for what either of them sent.
    name = func.coalesce(into.c.name, ACCOUNT.c.name).label("name")
    query = (
        select(SUBMISSION.c.number, SUBMISSION.c.score, name, EXACT.c.public)
        .join(ACCOUNT, ACCOUNT.c.id == SUBMISSION.c.account_id)
        .outerjoin(into, into.c.id == ACCOUNT.c.merged_into)
        .join(EXACT, EXACT.c.number == SUBMISSION.c.number)
        .where(SUBMISSION.c.number <= board["used"])
        .where(SUBMISSION.c.number.not_in(select(VOIDED.c.number)))
        .order_by(SUBMISSION.c.number)
    )
    with reading(engine) as connection:
        rows = connection.execute(query).mappings().all()
    seen = slice(None) if public is None else public
    answers = None
    if kept:
        answers = _store_answers(engine, board, [row["number"] for row in rows], seen)
    truth = None if labels is None or not kept else labels[seen]
    history = in_time(
        None,
        [row["name"] for row in rows],
        [row["public"] for row in rows],
        n=board["n"] if public is None else int(public.sum()),
        n_classes=board["n_classes"] or None,
        answers=answers,
        labels=truth,
        guard=board["guard"],
        shown=[row["score"] for row in rows],
        metric=board["metric"],
    )
    if labels is None or board["metric"] != AUC:
        return history
    return replace(history, n_smaller=int(metric.points(labels[seen])))


def kept_answers(engine: Engine) -> tuple[StoredAnswers, Ints]:
    """Return the kept submissions on the points behind the guard, and these points' places.

    Raises
    ------
    InputError
        If the board kept none, or they are not one label per point.
    """
    with reading(engine) as connection:
        board = begun_board(connection)
        numbers = connection.execute(select(SUBMISSION.c.number).order_by(SUBMISSION.c.number))
        every = list(numbers.scalars())
        kept = set(connection.execute(select(KEPT.c.number)).scalars())
    metric = metric_named(board["metric"])
    if metric.form != "i" or metric.width(board["n_classes"]) != 1:
        raise InputError(
            f"answers by {metric.name} are not one label per point: leave --answers out"
        )
    if not every or not kept.issuperset(every):
        raise InputError(
            "the board has not kept every submission: begin one with --keep to have their answers"
        )
    public = public_of(board)
    seen = np.ones(board["n"], np.bool_) if public is None else public
    return _store_answers(engine, board, every, seen), np.flatnonzero(seen)


def _store_answers(
    engine: Engine, board: RowMapping, numbers: Sequence[int], seen: slice | Bools
) -> StoredAnswers:
    """Return the kept submissions on the public points, one at a time in memory."""
    n = board["n"]
    m = board["n_classes"]
    public = n if isinstance(seen, slice) else int(seen.sum())

    def rows() -> Iterator[NDArray[Any]]:
        for number in numbers:
            # A transaction each: a long one would keep SQLite's write-ahead log from being reset.
            with reading(engine) as connection:
                query = select(KEPT.c.content).where(KEPT.c.number == number)
                content = bytes(connection.execute(query).scalar_one())
            yield unpack_submission(content, n, m)[seen]

    return StoredAnswers.written(rows(), public, np.min_scalar_type(m - 1))
