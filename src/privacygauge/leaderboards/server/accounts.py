"""Accounts that may submit: names, and the tokens that prove them.

A token is ``ID.SECRET``. The secret is 256 random bits, so one fast hash is enough: passwords need
a slow one because they can be guessed. The identifier is not secret; it finds the row, and the
secret's digest is then compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata
from contextlib import suppress
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, RowMapping, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from privacygauge.errors import InputError
from privacygauge.leaderboards.server.database import (
    ACCOUNT,
    ACTION,
    begun_board,
    board_row,
    reading,
    writing,
)

_LONGEST = 64
# Compared with if there is no such account, so that both cases take equally long.
_NOBODY = bytes(32)


def add_account(engine: Engine, name: str) -> str:
    """Return the token of a new account. It is not stored: show it to its owner now.

    Raises
    ------
    InputError
        If the name is taken or breaks a rule.
    """
    checked_name(name)
    try:
        with writing(engine, create=True) as connection:
            alike = _skeleton(name)
            for other in connection.execute(select(ACCOUNT.c.name)).scalars():
                if other != name and _skeleton(other) == alike:
                    raise InputError(f"the name {name!a} looks like that of the account {other!a}")
            connection.execute(insert(ACCOUNT).values(name=name, used=0))
            return _give_token(connection, name)
    except IntegrityError as error:
        raise InputError(
            f"there is an account {name} already: give it a new token instead"
        ) from error


def renew_token(engine: Engine, name: str) -> str:
    """Return a new token for an account; the previous one stops working."""
    checked_name(name)
    with writing(engine) as connection:
        known_account(connection, name)
        return _give_token(connection, name)


def revoke_token(engine: Engine, name: str) -> None:
    """Revoke an account's token; its submissions and its budget stay as they are."""
    checked_name(name)
    with writing(engine) as connection:
        known_account(connection, name)
        gone = {"token_id": None, "token_digest": None}
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == name).values(gone))


def admit(engine: Engine, name: str) -> None:
    """Create an account without a token, unless one of this name exists."""
    # Two processes may both find none: the second insertion is refused, and not needed.
    with suppress(IntegrityError), writing(engine, create=True) as connection:
        if find_account(connection, checked_name(name)) is None:
            connection.execute(insert(ACCOUNT).values(name=name, used=0))


def account_of_token(engine: Engine, token: str) -> str | None:
    """Return the name of the account that a token belongs to; None for a wrong token."""
    token_id, _, secret = token.partition(".")
    query = select(ACCOUNT.c.name, ACCOUNT.c.token_digest).where(ACCOUNT.c.token_id == token_id)
    # PostgreSQL cannot store, and so not look for, the character that ends its strings.
    if "\0" in token_id:
        return None
    with reading(engine) as connection:
        row = connection.execute(query).one_or_none()
    expected = _NOBODY if row is None else bytes(row.token_digest)
    right = hmac.compare_digest(_digest(secret), expected)
    return str(row.name) if row is not None and right else None


def find_account(connection: Connection, name: str) -> RowMapping | None:
    """Return the row of an account; None if there is none of this name."""
    query = select(ACCOUNT).where(ACCOUNT.c.name == name)
    return connection.execute(query).mappings().one_or_none()


def owned_by(connection: Connection, account_id: int) -> list[int]:
    """Return an account's id, and those of the accounts that were merged into it."""
    query = select(ACCOUNT.c.id).where(ACCOUNT.c.merged_into == account_id)
    return [account_id, *connection.execute(query).scalars()]


def known_account(connection: Connection, name: str) -> RowMapping:
    """Return the row of an account that has to exist."""
    row = find_account(connection, checked_name(name))
    if row is None:
        raise InputError(f"there is no account {name}: add it first")
    return row


def checked_name(name: str) -> str:
    """Return a name that is short, printable, and begins with a letter or a digit.

    Names go into tables that are opened in spreadsheets, which may compute a text that begins
    otherwise.
    """
    if not 1 <= len(name) <= _LONGEST or not name.isprintable() or not name[0].isalnum():
        raise InputError(
            f"account must be 1 to {_LONGEST} printable characters, the first a letter or a "
            f"digit, got {name[:_LONGEST]!a}"
        )
    return name


# Letters of other scripts, and digits, that most fonts draw like a Latin one.
_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb"
    "\u0432\u043a\u043c\u043d\u0442\u0261\u0251\u03b1\u03b5\u03bd\u03bf\u03c1\u03c4\u03c5\u03b9\u03ba01|",
    "aeopcyxljsdhbkmhtgaaevoptulkoll",
)


def _skeleton(name: str) -> str:
    """Return the look of a name: names with the same look cannot be told apart on the page."""
    # Compatibility forms (full width, ligatures) become plain letters, accents separate marks.
    plain = unicodedata.normalize("NFKD", name).casefold().translate(_ALIKE)
    letters = [c for c in plain if not unicodedata.combining(c) and c.isprintable()]
    # In many fonts i and l look alike, and so do rn and m.
    return " ".join("".join(letters).replace("i", "l").replace("rn", "m").split())


def _give_token(connection: Connection, name: str) -> str:
    token_id = secrets.token_hex(8)
    secret = secrets.token_hex(32)
    values = {"token_id": token_id, "token_digest": _digest(secret)}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == name).values(values))
    return f"{token_id}.{secret}"


# "surrogatepass": a token may hold anything that a client sends, and must be refused, not fail.
def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


HIDE = "hide"
SHOW = "show"
VOID = "void"
ALERT = "alert"
HINT = "hint"
"""Kinds in the log of actions: what the owner did, a finding, and what is worth a look."""
_REASON = 500


def hide_account(engine: Engine, name: str, reason: str) -> None:
    """Take an account off the board, and refuse its submissions from now on.

    Its submissions stay in the log and count in every budget, since answers cannot be taken back.
    The states of other accounts are not affected; a state for the whole board keeps its
    submissions.
    """
    _act(engine, name, HIDE, reason)


def show_account(engine: Engine, name: str, reason: str) -> None:
    """Put an account back on the board, and accept its submissions again, up to the usual limits.

    Limits set by an alert are lifted too, and the alert, or a hint, counts as settled.
    """
    _act(engine, name, SHOW, reason)


def action_rows(engine: Engine) -> list[dict[str, object]]:
    """Return every action in order: its number, time, kind, account and reason."""
    query = select(ACTION, ACCOUNT.c.name).join(ACCOUNT).order_by(ACTION.c.number)
    with reading(engine) as connection:
        rows = connection.execute(query).mappings().all()
        if connection.execute(select(ACCOUNT.c.id).limit(1)).first() is None:
            begun_board(connection)
    return [
        {
            "number": row["number"],
            "time": row["time"],
            "action": row["kind"],
            "account": row["name"],
            "reason": row["reason"],
        }
        for row in rows
    ]


def _act(engine: Engine, name: str, kind: str, reason: str) -> None:
    checked_name(name)
    checked_reason(reason)
    with writing(engine) as connection:
        # Its lock also keeps two actions from taking the same number.
        board_row(connection)
        account = known_account(connection, name)
        # To show an account also lifts its limit, and settles what was said of it.
        settles = kind == SHOW and (
            account["per_day"] is not None or has_open_case(connection, account["id"])
        )
        if account["hidden"] == (kind == HIDE) and not settles:
            state = "hidden" if account["hidden"] else "shown"
            raise InputError(f"the account {name} is {state} already")
        if account["merged_into"] is not None:
            raise InputError(f"the account {name} is a part of another one: name that")
        write_action(connection, kind, account["id"], reason)
        hidden = update(ACCOUNT).where(ACCOUNT.c.id == account["id"])
        values: dict[str, object] = {"hidden": kind == HIDE}
        if kind == SHOW:
            values["per_day"] = None
        connection.execute(hidden.values(values))


def has_open_case(connection: Connection, account_id: int) -> bool:
    """Return whether a team has an alert or a hint that is younger than its owner's last action."""
    kinds = (HIDE, SHOW, VOID, ALERT, HINT)
    of = ACTION.c.account_id.in_(owned_by(connection, account_id)), ACTION.c.kind.in_(kinds)
    query = select(ACTION.c.kind).where(*of).order_by(ACTION.c.number.desc()).limit(1)
    return connection.execute(query).scalar_one_or_none() in (ALERT, HINT)


def checked_reason(reason: str) -> None:
    """Raise if a reason is empty, too long, or not printable."""
    if not 1 <= len(reason) <= _REASON or not reason.isprintable():
        raise InputError(f"reason must be 1 to {_REASON} printable characters, got {reason!a:.80}")


def write_action(connection: Connection, kind: str, account_id: int, reason: str) -> None:
    """Add a row to the log of actions, in a transaction that has locked the board's row."""
    last = connection.execute(select(func.max(ACTION.c.number))).scalar() or 0
    row = {
        "number": last + 1,
        "time": datetime.now(UTC).isoformat(timespec="microseconds"),
        "kind": kind,
        "account_id": account_id,
        "reason": reason,
    }
    connection.execute(insert(ACTION).values(row))
