"""Contest rules on top of a board: dates, a daily limit, invitations, and final submissions."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import Connection, Engine, RowMapping, delete, func, insert, select, update

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.server.accounts import (
    add_account,
    checked_name,
    known_account,
    owned_by,
)
from privacygauge.leaderboards.server.database import (
    ACCOUNT,
    BOARD,
    FINAL,
    INVITATION,
    PHASE,
    SUBMISSION,
    VOIDED,
    begun_board,
    board_row,
    reading,
    writing,
)
from privacygauge.report.numbers import several

JUDGES = "exact", "shown"
"""Scores that decide for teams without a choice; the first is the default."""
_MOST_INVITED = 10_000
_LONGEST = {"title": 200, "rules": 20_000}


class ClosedError(BudgetError):
    """Outside the contest's dates, over the daily limit, or with a wrong or used invitation."""


def describe(
    engine: Engine,
    *,
    title: str | None = None,
    rules: str | None = None,
    per_day: int | None = None,
    finals: int | None = None,
    judged_by: str | None = None,
) -> tuple[str, ...]:
    """Set the given fields; the others stay unchanged. Return the accounts that must choose again.

    Those are the accounts with more choices for the end than `finals` now allows: their choices are
    removed.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        Engine of a board's database.
    title, rules : str, optional
        Texts for the page: at most 200 characters, and at most 20,000 in any number of lines.
    per_day : int, optional
        Largest number of submissions of one account on one day in UTC, at least 1.
    finals : int, optional
        Number of final submissions that an account may choose, at least 1.
    judged_by : {"exact", "shown"}, optional
        How teams without a choice are judged: by the best exact public score, or by the best that
        the guard showed.
    """
    for name, text in (("title", title), ("rules", rules)):
        if text is not None and not 1 <= len(text) <= _LONGEST[name]:
            raise InputError(f"{name} must be 1 to {_LONGEST[name]} characters, got {len(text)}")
    for name, number in (("per_day", per_day), ("finals", finals)):
        if number is not None and number < 1:
            raise InputError(f"{name} must be at least 1, got {number}")
    if judged_by not in (None, *JUDGES):
        raise InputError(f"judged_by must be one of {', '.join(JUDGES)}, got {judged_by!r}")
    options = {
        "title": title,
        "rules": rules,
        "per_day": per_day,
        "finals": finals,
        "judged_by": judged_by,
    }
    given = {name: value for name, value in options.items() if value is not None}
    with writing(engine) as connection:
        begun_board(connection)
        if given:
            connection.execute(update(BOARD).values(given))
        if finals is None:
            return ()
        many = (
            select(ACCOUNT.c.id, ACCOUNT.c.name)
            .join(FINAL)
            .group_by(ACCOUNT.c.id, ACCOUNT.c.name)
            .having(func.count() > finals)
            .order_by(ACCOUNT.c.name)
        )
        again = connection.execute(many).all()
        connection.execute(delete(FINAL).where(FINAL.c.account_id.in_([row.id for row in again])))
        return tuple(row.name for row in again)


def publish(engine: Engine, *, shown: bool = True) -> None:
    """Show every team's final result on the board's page, or hide the results again.

    While they are shown, no submission is taken, and no team changes its choice.
    """
    with writing(engine) as connection:
        row = begun_board(connection)
        if row["public"] is None:
            raise InputError("the board keeps no points for the end: it has no results to publish")
        connection.execute(update(BOARD).values(published=shown))


def set_phase(engine: Engine, name: str, opens: str, closes: str, *, zone: str = "UTC") -> None:
    """Take submissions between two moments in ISO 8601, in `zone` if they name none.

    A phase of this name is replaced. With one phase or more, no submissions are taken outside of
    them. A day without a time is open as a whole: a phase opens at its beginning, and closes at its
    end.
    """
    try:
        local = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(f"zone must be one such as Europe/Berlin, got {zone!r}") from error
    moments = [_moment(opens, "opens", local), _moment(closes, "closes", local)]
    if moments[0] >= moments[1]:
        raise InputError(f"closes must be after opens, got {opens} and {closes}")
    row = {"name": checked_name(name), "opens": moments[0], "closes": moments[1]}
    with writing(engine, create=True) as connection:
        connection.execute(delete(PHASE).where(PHASE.c.name == name))
        connection.execute(insert(PHASE).values(row))


def remove_phase(engine: Engine, name: str) -> None:
    """Remove a phase; without any, submissions are always taken."""
    with writing(engine) as connection:
        gone = delete(PHASE).where(PHASE.c.name == checked_name(name))
        if not connection.execute(gone).rowcount:
            raise InputError(f"there is no phase {name}")


def phases(connection: Connection) -> list[RowMapping]:
    """Return the phases in the order in which they open."""
    return list(connection.execute(select(PHASE).order_by(PHASE.c.opens)).mappings())


def check_open(connection: Connection, now: str) -> None:
    """Raise `ClosedError` if no phase takes submissions at this moment, or results are public.

    Exact results of what is submitted later would be answers without a guard.
    """
    board = board_row(connection)
    if board is not None and board["published"]:
        raise ClosedError("the results are published: the contest is closed")
    found = phases(connection)
    if not found or any(phase["opens"] <= now < phase["closes"] for phase in found):
        return
    coming = [phase for phase in found if phase["opens"] > now]
    if coming:
        opens = coming[0]
        raise ClosedError(f"the phase {opens['name']} opens at {opens['opens']}: come back then")
    last = max(found, key=lambda phase: str(phase["closes"]))
    raise ClosedError(f"the last phase, {last['name']}, closed at {last['closes']}")


def daily_limit(
    connection: Connection, board: RowMapping, holder: RowMapping, now: str
) -> tuple[int | None, int | None]:
    """Return an account's daily limit and the rest of it for today; None without a limit."""
    # The board's limit, and one that an alert may have set for the account.
    limits = [each["per_day"] for each in (board, holder) if each["per_day"] is not None]
    if not limits:
        return None, None
    most = min(limits)
    # Merged accounts share one limit.
    own = SUBMISSION.c.account_id.in_(owned_by(connection, holder["id"]))
    # A submission of a clock that was a month ahead counts on that day, not until then.
    tomorrow = (date.fromisoformat(now[:10]) + timedelta(days=1)).isoformat()
    today = own, SUBMISSION.c.time >= now[:10], SUBMISSION.c.time < tomorrow
    made = select(func.count()).select_from(SUBMISSION).where(*today)
    return most, max(0, most - connection.execute(made).scalar_one())


def check_day(connection: Connection, board: RowMapping, holder: RowMapping, now: str) -> None:
    """Raise `ClosedError` if an account has reached the day's limit."""
    most, left = daily_limit(connection, board, holder, now)
    if most is None or left != 0:
        return
    may = f"{holder['name']} may make {several(most, 'submission')} a day"
    if most == 0:
        raise ClosedError(f"{may}: ask the board's owner")
    raise ClosedError(
        f"{may}, and has made {'it' if most == 1 else 'them'}: the next day begins at midnight UTC"
    )


def invite(engine: Engine, number: int) -> list[str]:
    """Return invitation codes, each good for one account; they are not stored."""
    if not 1 <= number <= _MOST_INVITED:
        raise InputError(f"invitations must be 1 to {_MOST_INVITED}, got {number}")
    codes = [secrets.token_urlsafe(24) for _ in range(number)]
    with writing(engine, create=True) as connection:
        connection.execute(insert(INVITATION), [{"digest": _digest(code)} for code in codes])
    return codes


def sign_up(engine: Engine, code: str, name: str) -> str:
    """Use up an invitation; return the token of a new account.

    Raises
    ------
    ClosedError
        If the code is wrong or used.
    InputError
        If the name is taken or breaks a rule.
    """
    row = INVITATION.c.digest == _digest(code)
    free = update(INVITATION).where(row, INVITATION.c.account_id.is_(None))
    with reading(engine) as connection:
        found = connection.execute(select(INVITATION).where(row)).mappings().one_or_none()
    if found is None or found["account_id"] is not None:
        raise ClosedError("the invitation is wrong, or was used: ask the board's owner")
    token = add_account(engine, name)
    with writing(engine) as connection:
        account = known_account(connection, name)["id"]
        if connection.execute(free.values(account_id=account)).rowcount == 1:
            return token
        # Two requests at the same time with one code: the later account is deleted.
        connection.execute(delete(ACCOUNT).where(ACCOUNT.c.id == account))
    raise ClosedError("the invitation is wrong, or was used: ask the board's owner")


def choose_submissions(engine: Engine, account: str, numbers: Sequence[int], now: str) -> list[int]:
    """Set the submissions by which an account is judged in the end; return them.

    Raises
    ------
    InputError
        If there are too many, or one is not the account's own.
    ClosedError
        If the contest has ended.
    """
    chosen = sorted(set(numbers))
    with writing(engine) as connection:
        board = board_row(connection)
        holder = known_account(connection, account)
        most = 1 if board is None else board["finals"]
        if len(chosen) > most:
            raise InputError(
                f"at most {several(most, 'submission')} can be chosen, got {len(chosen)}"
            )
        found_phases = phases(connection)
        over = bool(found_phases) and all(phase["closes"] <= now for phase in found_phases)
        if over or (board is not None and board["published"]):
            raise ClosedError("the contest has ended: the choice stands")
        of = owned_by(connection, holder["id"])
        own = SUBMISSION.c.account_id.in_(of), SUBMISSION.c.number.in_(chosen)
        found = set(connection.execute(select(SUBMISSION.c.number).where(*own)).scalars())
        if missing := [number for number in chosen if number not in found]:
            raise InputError(f"submission {missing[0]} is not one of {account}: see its receipts")
        void = select(VOIDED.c.number).where(VOIDED.c.number.in_(chosen)).order_by(VOIDED.c.number)
        if (number := connection.execute(void).scalars().first()) is not None:
            raise InputError(f"submission {number} was voided by the owner: choose another one")
        # The new choice replaces the old one.
        connection.execute(delete(FINAL).where(FINAL.c.account_id == holder["id"]))
        rows = [{"account_id": holder["id"], "number": number} for number in chosen]
        if rows:
            connection.execute(insert(FINAL), rows)
    return chosen


def _moment(text: str, name: str, zone: tzinfo) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{name} must be ISO 8601 (2026-01-31T12:00), got {text!r}") from error
    # A day without a time; one that closes includes the whole day.
    day = None
    with suppress(ValueError):
        day = date.fromisoformat(text)
        if name == "closes":
            moment = datetime.combine(day + timedelta(days=1), moment.time())
    if moment.tzinfo is None:
        local = moment.replace(tzinfo=zone)
        # Where clocks are put forward or back, a time is none, or two.
        if day is None and local.utcoffset() != local.replace(fold=1).utcoffset():
            raise InputError(
                f"{name} must be one moment, and clocks are put at {text} in {zone}: name the "
                f"offset, such as {text}+01:00"
            )
    else:
        local = moment
    return local.astimezone(UTC).isoformat(timespec="microseconds")


def _digest(code: str) -> bytes:
    # Codes are random and long, so a fast hash is enough.
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).digest()
