"""What the board shows to everybody, and the log that is the owner's."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import Connection, Engine, Row, false, func, select

from privacygauge.errors import InputError
from privacygauge.holdout.server.accounts import known_account
from privacygauge.holdout.server.board import Board, Receipt, receipt_of
from privacygauge.holdout.server.database import reading, shown
from privacygauge.holdout.server.schema import ACCOUNT, BOARD, SUBMISSION

_ROWS = 1_000


@dataclass(frozen=True)
class Place:
    """One account on the board."""

    account: str
    """Its name."""
    score: float | None
    """The best answer that was about a submission of its own; None where there was none."""
    submissions: int
    """How many it made."""


@dataclass(frozen=True)
class Standings:
    """What everybody may see: what the guard released, and what is left."""

    n: int
    """Points in the test set."""
    n_classes: int
    """Classes."""
    guard: str
    """What stands between accuracy and submitter."""
    scope: str
    """Whether it remembers the submissions of each ``account``, or those of the ``board``."""
    accounts: int
    """Accounts, with those that have not submitted."""
    used: int
    """Submissions answered."""
    left: int | None
    """Submissions of all accounts that are left; None where nothing limits them."""
    nats: float | None
    """Information that all answers together may carry, in nats; None where nothing limits it."""
    per_account: int | None
    """Submissions that an account may make; None where nothing limits them."""
    last: str | None
    """When the last submission was answered, in UTC."""
    places: tuple[Place, ...]
    """The first 1,000 accounts, best first; of equal ones the earlier first."""


def standings(board: Board) -> Standings:
    """Return what the board shows at this moment."""
    best = ACCOUNT.c.best.is_(None), ACCOUNT.c.best.desc(), ACCOUNT.c.best_number, ACCOUNT.c.id
    places = (
        select(ACCOUNT)
        .where(ACCOUNT.c.used > 0, ACCOUNT.c.hidden == false())
        .order_by(*best)
        .limit(_ROWS)
    )
    last = select(SUBMISSION.c.time).order_by(SUBMISSION.c.number.desc()).limit(1)
    with reading(board.engine) as connection:
        # Without a lock: those who look must not hold up those who submit.
        row = connection.execute(select(BOARD)).mappings().one()
        time = connection.execute(last).scalar_one_or_none()
        rows = connection.execute(places).mappings().all()
        accounts = connection.execute(select(func.count()).select_from(ACCOUNT)).scalar_one()
    return Standings(
        row["n"],
        row["n_classes"],
        guard=row["guard"],
        scope=row["scope"],
        accounts=accounts,
        used=row["used"],
        left=board.total_left(row),
        nats=row["nats"],
        per_account=row["per_account"],
        last=time,
        places=tuple(Place(each["name"], each["best"], each["used"]) for each in rows),
    )


def own_submissions(board: Board, account: str, after: int, most: int) -> list[Receipt]:
    """Return an account's receipts with numbers above `after`, in order, at most so many."""
    query = (
        select(SUBMISSION, ACCOUNT.c.name)
        .join(ACCOUNT)
        .where(ACCOUNT.c.name == account, SUBMISSION.c.number > after)
        .order_by(SUBMISSION.c.number)
        .limit(most)
    )
    with reading(board.engine) as connection:
        known_account(connection, account)
        return [receipt_of(row) for row in connection.execute(query).mappings()]


def log(engine: Engine) -> Iterator[Receipt]:
    """Return every submission in order, read a part at a time: the owner's, not for everybody.

    Raises
    ------
    InputError
        If the database holds no board.
    """
    query = select(SUBMISSION, ACCOUNT.c.name).join(ACCOUNT).order_by(SUBMISSION.c.number)
    with reading(engine) as connection:
        _boards(connection, engine)
        rows = connection.execution_options(yield_per=1_000).execute(query).mappings()
        yield from (receipt_of(row) for row in rows)


def account_rows(engine: Engine) -> list[dict[str, object]]:
    """Return every account: its name, its submissions, whether it has a token, and is hidden."""
    with reading(engine) as connection:
        rows = connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.name)).mappings().all()
    return [
        {
            "account": row["name"],
            "submissions": row["used"],
            "token": "yes" if row["token_id"] else "none",
            "hidden": "yes" if row["hidden"] else "no",
        }
        for row in rows
    ]


def guard_of(engine: Engine) -> str:
    """Return the name of the guard that a database's board has."""
    with reading(engine) as connection:
        return str(_boards(connection, engine).guard)


def as_json_lines(receipts: Iterable[Receipt], guard: str) -> str:
    """Return the log as JSON lines with the fields of a receipt and the guard's name."""
    return "".join(json.dumps(_entry(receipt, guard)) + "\n" for receipt in receipts)


def as_csv(receipts: Iterable[Receipt], guard: str) -> str:
    """Return the log as CSV with the columns of a receipt and the guard's name."""
    text = io.StringIO()
    columns = (*(field.name for field in fields(Receipt)), "guard")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_entry(receipt, guard) for receipt in receipts)
    return text.getvalue()


def _entry(receipt: Receipt, guard: str) -> dict[str, object]:
    return {**asdict(receipt), "guard": guard}


def _boards(connection: Connection, engine: Engine) -> Row[Any]:
    row = connection.execute(select(BOARD)).one_or_none()
    if row is None:
        raise InputError(f"{shown(engine)} holds no board yet: start the server first")
    return row
