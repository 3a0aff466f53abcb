"""Opening a board: the database and the owner's labels, limits and guard have to agree."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import fields
from pathlib import Path

from numpy.typing import ArrayLike
from sqlalchemy import Connection, RowMapping, insert, update

from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.holdout.guards import default_guard, guard_named
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.oracle import Budget, Holdout
from privacygauge.holdout.server.board import SCOPES, Board, content
from privacygauge.holdout.server.database import board_row, connect, shown, wait_for_makers, writing
from privacygauge.holdout.server.schema import BOARD


def opened(
    database: str | Path,
    labels: ArrayLike,
    *,
    n_classes: int | None,
    guard: str | None,
    scope: str | None,
    budget: Budget,
    keep: bool | None,
) -> Board:
    """Return the board of a database, begun where there is none; see `server.open_board`."""
    truth = checks.classes(labels, "labels")
    wanted = None if guard is None else _storable(guard)
    if scope not in (None, *SCOPES):
        raise InputError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if n_classes is not None or len(truth) == 0:
        Holdout(truth, n_classes or 2)
    engine = connect(database)
    try:
        with writing(engine) as connection:
            wait_for_makers(connection)
            row = board_row(connection)
            if row is None:
                row = _begun(connection, truth, n_classes, guard=wanted, scope=scope, keep=keep)
            _check_same(row, truth, n_classes, shown(engine), guard=wanted, scope=scope)
            if keep not in (None, row["keep"]):
                raise InputError(
                    f"{shown(engine)} was begun {'with' if row['keep'] else 'without'} keeping "
                    "submissions: begin another database"
                )
            _set_limits(connection, budget)
    except InputError:
        engine.dispose()
        raise
    return Board(Holdout(truth, row["n_classes"]), guard_named(row["guard"]), row["scope"], engine)


def _storable(text: str) -> Guard:
    guard = guard_named(text)
    if guard_named(guard.name) != guard:
        raise InputError(f"guard must have a number of at most 6 digits, got {text!r}")
    return guard


def _begun(
    connection: Connection,
    truth: Ints,
    n_classes: int | None,
    *,
    guard: Guard | None,
    scope: str | None,
    keep: bool | None,
) -> RowMapping:
    holdout = Holdout(truth, n_classes or max(2, int(truth.max()) + 1))
    guard = guard or default_guard(len(holdout))
    key = secrets.token_bytes(32)
    connection.execute(
        insert(BOARD).values(
            id=1,
            n=len(holdout),
            n_classes=holdout.n_classes,
            label_key=key,
            label_digest=_digest(truth, key),
            guard=guard.name,
            scope=scope or SCOPES[0],
            keep=bool(keep),
            used=0,
            asking=0,
            # Not derived from a seed: whoever knows the key can take the noise away.
            state_key=secrets.token_bytes(16),
        )
    )
    row = board_row(connection)
    assert row is not None
    return row


def _check_same(
    row: RowMapping,
    truth: Ints,
    n_classes: int | None,
    name: str,
    *,
    guard: Guard | None,
    scope: str | None,
) -> None:
    other = f"{name} belongs to"
    if not hmac.compare_digest(_digest(truth, bytes(row["label_key"])), bytes(row["label_digest"])):
        raise InputError(f"{other} another label file: name that file, or another database")
    if n_classes is not None and n_classes != row["n_classes"]:
        raise InputError(
            f"{other} {row['n_classes']} classes, got {n_classes}: leave the number out, or name "
            "another database"
        )
    if guard is not None and guard.name != row["guard"]:
        raise InputError(
            f"{other} the guard {row['guard']}, got {guard.name}: what was shown cannot be taken "
            "back, so begin another database for another guard"
        )
    if scope is not None and scope != row["scope"]:
        raise InputError(
            f"{other} a guard for each {row['scope']}, got {scope}: begin another database"
        )


def _set_limits(connection: Connection, budget: Budget) -> None:
    limits = {field.name: getattr(budget, field.name) for field in fields(budget)}
    given = {name: value for name, value in limits.items() if value is not None}
    if given:
        connection.execute(update(BOARD).values(given))


def _digest(truth: Ints, key: bytes) -> bytes:
    return hashlib.blake2b(content(truth), key=key).digest()
