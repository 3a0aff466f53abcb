"""Accounts that are one team, and submissions that do not count: the guard is replayed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from privacygauge.errors import InputError
from privacygauge.holdout.guards import Calibrated, Exact, Rounded
from privacygauge.holdout.ladder import Ladder, RelativeLadder
from privacygauge.holdout.mechanism import GuardState, MarkedSubmission
from privacygauge.holdout.server.accounts import (
    checked_name,
    checked_reason,
    known_account,
    owned_by,
    write_action,
)
from privacygauge.holdout.server.board import Board, is_about_submission, unpack_submission
from privacygauge.holdout.server.database import begun_board, writing
from privacygauge.holdout.server.schema import (
    ACCOUNT,
    EXACT,
    FINAL,
    KEPT,
    STATE,
    SUBMISSION,
    VOIDED,
    state_columns,
)

MERGE = "merge"
VOID = "void"


@dataclass(frozen=True)
class MergedAccount:
    """The remaining account after a merger."""

    submissions: int
    """Number of submissions that count as its own."""
    before: float | None
    """The better of the two accounts' scores on the board before."""
    best: float | None
    """Its score now: the one that a single account would have been shown; None for none."""


def merge_accounts(board: Board, name: str, other: str, reason: str) -> MergedAccount:
    """Merge account `other` into `name`; return the remaining account.

    The log stays as it is. The guard's state, the best score and the budget of `name` become those
    of one account that made all submissions of both, in their order. `other` cannot submit any more
    and leaves the board; answers it has received cannot be taken back.

    Parameters
    ----------
    board : Board
        A board of `server.open_board`.
    name, other : str
        The account that stays, and the one that becomes a part of it.
    reason : str
        For the log of actions.

    Raises
    ------
    InputError
        If they are the same, one is hidden, or an answer depends on labels that were not kept.
    """
    check_merge(name, other, reason)
    with board.turn, writing(board.engine) as connection:
        begun_board(connection)
        stays, goes = (known_account(connection, each) for each in (name, other))
        for each in (stays, goes):
            if each["hidden"]:
                raise InputError(f"the account {each['name']} is hidden: show it first")
        used = stays["used"] + goes["used"]
        best = absorb_account(board, connection, stays, goes)
        write_action(connection, MERGE, goes["id"], f"into {name}: {reason}")
    shown = [each["best"] for each in (stays, goes) if each["best"] is not None]
    return MergedAccount(used, max(shown, default=None), best)


def absorb_account(
    board: Board, connection: Connection, stays: RowMapping, goes: RowMapping
) -> float | None:
    """Return the best score of one account after it absorbed another, in a transaction."""
    moved = update(ACCOUNT).where(
        (ACCOUNT.c.id == goes["id"]) | (ACCOUNT.c.merged_into == goes["id"])
    )
    connection.execute(moved.values(merged_into=stays["id"]))
    gone = {"hidden": True, "token_id": None, "token_digest": None}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == goes["id"]).values(gone))
    used = stays["used"] + goes["used"]
    best, number = _replay_account(board, connection, stays)
    connection.execute(
        update(ACCOUNT)
        .where(ACCOUNT.c.id == stays["id"])
        .values(used=used, best=best, best_number=number)
    )
    return best


def void_submission(board: Board, number: int, reason: str) -> float | None:
    """Void one submission; return the best score that its account has without it.

    It stays in the log, and the budget that it took is not given back. The guard's state, the
    account's best score and its choice for the end are as if it had never been made; answers to
    later submissions stay as they were given.

    Parameters
    ----------
    board : Board
        A board of `server.open_board`.
    number : int
        Which submission, as on its receipt.
    reason : str
        For the log of actions.

    Raises
    ------
    InputError
        If there is no such submission, it is void already, or an answer depends on labels that
        were not kept.
    """
    checked_reason(reason)
    with board.turn, writing(board.engine) as connection:
        begun_board(connection)
        own = select(SUBMISSION.c.account_id).where(SUBMISSION.c.number == number)
        account = connection.execute(own).scalar_one_or_none()
        if account is None:
            raise InputError(f"there is no submission {number}")
        if connection.execute(select(VOIDED).where(VOIDED.c.number == number)).first() is not None:
            raise InputError(f"submission {number} is void already")
        best = leave_out(board, connection, number, account)
        write_action(connection, VOID, account, f"{number}: {reason}")
    return best


def leave_out(board: Board, connection: Connection, number: int, account: int) -> float | None:
    """Void a submission of an account in a transaction; return its best score after that."""
    connection.execute(insert(VOIDED).values(number=number))
    connection.execute(delete(FINAL).where(FINAL.c.number == number))
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == account)).mappings().one()
    held = row["merged_into"] or account
    holder = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == held)).mappings().one()
    best, best_number = _replay_account(board, connection, holder)
    values = {"best": best, "best_number": best_number}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == held).values(values))
    return best


def check_merge(name: str, other: str, reason: str) -> None:
    """Raise if two names and a reason cannot be a merger, whatever the database holds."""
    if checked_name(name) == checked_name(other):
        raise InputError(f"an account cannot be merged with itself, got {name} twice")
    checked_reason(reason)


def _replay_account(
    board: Board, connection: Connection, stays: RowMapping
) -> tuple[float | None, int | None]:
    """Return the best score of one account's replay and its submission; its state is written."""
    apart = board.scope == "account"
    held = int(stays["id"])
    row = connection.execute(select(STATE).where(STATE.c.holder == held)).mappings().first()
    key = bytes((row or begun_board(connection))["state_key"])
    state = board.guard.start(key)
    about = 0
    best: tuple[float | None, int | None] = None, None
    for each, marked in _submissions(board, connection, held, apart):
        answer = each["score"]
        own = each["about"] == each["number"]
        if apart:
            before = state
            answer, state = board.guard.answer(marked, before)
            own = is_about_submission(before, state)
            stays_shown = about if state.shown is not None else 0
            about = int(each["number"]) if own else stays_shown
        if own and (best[0] is None or answer > best[0]):
            best = float(answer), int(each["number"])
    if apart:
        _write(connection, held, state, about, new=row is None)
    return best


def _submissions(
    board: Board, connection: Connection, held: int, replayed: bool
) -> Iterator[tuple[RowMapping, MarkedSubmission]]:
    """Return an account's submissions in order, with the true labels if they are replayed."""
    by_score = isinstance(board.guard, Exact | Rounded | Calibrated | Ladder | RelativeLadder)
    query = (
        select(SUBMISSION, EXACT.c.public, KEPT.c.content)
        .outerjoin(EXACT, EXACT.c.number == SUBMISSION.c.number)
        .outerjoin(KEPT, KEPT.c.number == SUBMISSION.c.number)
        .where(SUBMISSION.c.account_id.in_(owned_by(connection, held)))
        .where(SUBMISSION.c.number.not_in(select(VOIDED.c.number)))
        .order_by(SUBMISSION.c.number)
    )
    hidden = board.holdout
    n = len(hidden)
    m = hidden.n_classes
    for row in connection.execute(query).mappings().all():
        if row["content"] is not None:
            sent = unpack_submission(bytes(row["content"]), board.n, m, hidden.metric.form)
            yield row, hidden.marked(board.part(sent, private=False), row["claimed"])
        elif not replayed:
            yield row, MarkedSubmission(0, n, m)
        elif by_score and row["public"] is not None:
            score = row["public"]
            yield row, MarkedSubmission(round(score * n), n, m, row["claimed"], score=score)
        else:
            raise InputError(
                f"submission {row['number']} was not kept, and the guard {board.guard.name} "
                "answers by its labels: hide one of the accounts instead"
            )


def _write(connection: Connection, held: int, state: GuardState, about: int, *, new: bool) -> None:
    values = {"about": about, **state_columns(state)}
    if new:
        connection.execute(STATE.insert().values(holder=held, **values))
    else:
        connection.execute(update(STATE).where(STATE.c.holder == held).values(values))
