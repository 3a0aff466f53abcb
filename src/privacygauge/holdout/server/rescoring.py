"""A board's submissions made again, in their order: after labels were corrected or accounts hidden.

Only where they were kept, which the owner asks for when a board is begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike
from sqlalchemy import Engine, RowMapping, insert, select, update

from privacygauge.errors import InputError
from privacygauge.holdout.metrics import metric_named
from privacygauge.holdout.oracle import Budget
from privacygauge.holdout.server.board import Board, unpacked
from privacygauge.holdout.server.database import reading, shown, writing
from privacygauge.holdout.server.opening import Wanted, opened, public_of
from privacygauge.holdout.server.schema import ACCOUNT, BOARD, KEPT, SUBMISSION


@dataclass(frozen=True)
class Rescored:
    """What was made again."""

    submissions: int
    """Submissions on the new board."""
    changed: int
    """Of them, those with another answer than before."""
    left_out: tuple[str, ...]
    """Hidden accounts, whose submissions are not on the new board."""


def rescore(source: Engine, database: str | Path, labels: ArrayLike) -> Rescored:
    """Return how the submissions of a board fare on a new one, which is made in `database`.

    The new board has the same guard, scope, key, limits, accounts and tokens; receipts keep their
    times and keys. Hidden accounts are left out: every guard's state is as if they had never been.
    What the old board showed stays known to those who saw it, so the answers of both count where
    a bound on what they tell is asked for.

    Parameters
    ----------
    source : sqlalchemy.Engine
        Of the old board's database, whose submissions were kept.
    database : str or pathlib.Path
        A new database.
    labels : array_like of shape (n,)
        The hidden labels, corrected or the same.

    Raises
    ------
    InputError
        If submissions were not kept, or the new database has a board already.
    """
    with reading(source) as connection:
        old = connection.execute(select(BOARD)).mappings().one_or_none()
        accounts = connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.id)).mappings().all()
    if old is None or not old["keep"]:
        raise InputError(
            f"{shown(source)} keeps no submissions: only a board that was begun with --keep can "
            "be scored again"
        )
    board = _begun(old, list(accounts), database, labels)
    names = {row["id"]: row["name"] for row in accounts if not row["hidden"]}
    kept = KEPT.c.number == SUBMISSION.c.number
    query = select(SUBMISSION, KEPT.c.content).join(KEPT, kept).order_by(SUBMISSION.c.number)
    made = changed = 0
    kind = metric_named(old["metric"]).form
    try:
        with reading(source) as connection:
            options = connection.execution_options(yield_per=100)
            for row in options.execute(query).mappings():
                if row["account_id"] in names:
                    again = board.submit(
                        names[row["account_id"]],
                        unpacked(bytes(row["content"]), old["n"], old["n_classes"], kind),
                        key=row["key"],
                        claimed=row["claimed"],
                        time=row["time"],
                    )
                    made, changed = made + 1, changed + (again.score != row["score"])
        with writing(board.engine) as connection:
            limits = {name: old[name] for name in ("total", "per_account", "nats")}
            connection.execute(update(BOARD).values(limits))
    finally:
        board.close()
    return Rescored(made, changed, tuple(row["name"] for row in accounts if row["hidden"]))


def _begun(
    old: RowMapping, accounts: list[RowMapping], database: str | Path, labels: ArrayLike
) -> Board:
    board = opened(
        database,
        labels,
        Wanted(
            old["n_classes"] or None,
            old["guard"],
            old["scope"],
            keep=True,
            metric_name=old["metric"],
            mask=public_of(old),
        ),
        Budget(),
    )
    try:
        with writing(board.engine) as connection:
            new = connection.execute(select(BOARD)).mappings().one()
            if new["used"] or connection.execute(select(ACCOUNT)).first() or new["n"] != old["n"]:
                raise InputError(
                    f"the new database must be empty, and labels must be {old['n']}: name another "
                    "file"
                )
            # The same key: with another one the same submission would get a second noise.
            connection.execute(update(BOARD).values(state_key=old["state_key"]))
            rows = [
                {name: row[name] for name in ("name", "token_id", "token_digest")} | {"used": 0}
                for row in accounts
                if not row["hidden"]
            ]
            if rows:
                connection.execute(insert(ACCOUNT), rows)
    except InputError:
        board.close()
        raise
    return board
