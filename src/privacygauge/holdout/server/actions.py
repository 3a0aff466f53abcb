"""What the owner decides about accounts, as rows that are only ever added."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, func, insert, select, update

from privacygauge.errors import InputError
from privacygauge.holdout.server.accounts import checked_name, known_account
from privacygauge.holdout.server.database import board_row, reading, writing
from privacygauge.holdout.server.schema import ACCOUNT, ACTION

HIDE, SHOW = "hide", "show"
_LONGEST = 500


def hide_account(engine: Engine, name: str, reason: str) -> None:
    """Take an account off the board, and refuse its submissions from now on.

    What it was shown stays shown: its submissions stay in the log and count in every budget. The
    states of other accounts know nothing of it; a state for the whole board remembers it.
    """
    _act(engine, name, HIDE, reason)


def show_account(engine: Engine, name: str, reason: str) -> None:
    """Put an account back on the board, and take its submissions again, as many as others may make.

    What an alert has limited is lifted too.
    """
    _act(engine, name, SHOW, reason)


def action_rows(engine: Engine) -> list[dict[str, object]]:
    """Return every action in order: its number, time, kind, account and reason."""
    query = select(ACTION, ACCOUNT.c.name).join(ACCOUNT).order_by(ACTION.c.number)
    with reading(engine) as connection:
        rows = connection.execute(query).mappings().all()
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
        throttled = kind == SHOW and account["per_day"] is not None
        if account["hidden"] == (kind == HIDE) and not throttled:
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


def checked_reason(reason: str) -> None:
    """Raise where a reason is empty, too long, or not printable."""
    if not 1 <= len(reason) <= _LONGEST or not reason.isprintable():
        raise InputError(f"reason must be 1 to {_LONGEST} printable characters, got {reason!a:.80}")


def write_action(connection: Connection, kind: str, account_id: int, reason: str) -> None:
    """Add a row, within a transaction that has locked the board's row."""
    last = connection.execute(select(func.max(ACTION.c.number))).scalar() or 0
    row = {
        "number": last + 1,
        "time": datetime.now(UTC).isoformat(timespec="microseconds"),
        "kind": kind,
        "account_id": account_id,
        "reason": reason,
    }
    connection.execute(insert(ACTION).values(row))
