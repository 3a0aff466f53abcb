"""Tables of the database: a board, accounts, guards' states, and append-only rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    false,
)

from privacygauge.holdout.mechanism import GuardState

VERSION = 4
"""Version of this schema. Databases of versions 2 and 3 are migrated to it, others refused."""

METADATA = MetaData()

SCHEMA = Table("privacygauge_schema", METADATA, Column("version", Integer, primary_key=True))
"""One row: the version that the database was made with."""

BOARD = Table(
    "board",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("n", Integer, nullable=False),
    Column("n_classes", Integer, nullable=False),
    Column("label_key", LargeBinary, nullable=False),
    Column("label_digest", LargeBinary, nullable=False),
    Column("metric", String, nullable=False, server_default="accuracy"),
    Column("public", LargeBinary),
    Column("points", Double),
    Column("private_points", Double),
    Column("guard", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("keep", Boolean, nullable=False),
    Column("total", Integer),
    Column("per_account", Integer),
    Column("nats", Double),
    Column("per_day", Integer),
    Column("finals", Integer, nullable=False, server_default="1"),
    Column("title", String),
    Column("rules", String),
    Column("used", Integer, nullable=False),
    Column("asking", Integer, nullable=False),
    Column("looks", Integer, nullable=False, server_default="0"),
    Column("looked_at", Integer, nullable=False, server_default="0"),
    Column("state_key", LargeBinary, nullable=False),
    Column("published", Boolean, nullable=False, server_default=false()),
    Column("judged_by", String, nullable=False, server_default="exact"),
)
"""One row: labels, metric, guard and limits, the page's texts, and the number of accounts that have
submitted. `public` has a bit for each point that the guard sees; without it the guard sees all.
`judged_by` is the score that decides for teams without a choice: ``exact`` or ``shown``.
`points` and `private_points` are the metric's for either part.
"""

ACCOUNT = Table(
    "account",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("token_id", String, unique=True),
    Column("token_digest", LargeBinary),
    Column("used", Integer, nullable=False),
    Column("best", Double),
    Column("best_number", Integer),
    Column("hidden", Boolean, nullable=False, default=False),
    Column("per_day", Integer),
    Column("merged_into", Integer),
)
"""Accounts that may submit. `best` is the highest answer on a submission of this account."""

STATE = Table(
    "guard_state",
    METADATA,
    Column("holder", Integer, primary_key=True, autoincrement=False),
    Column("state_key", LargeBinary, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("shown", Double),
    Column("best", LargeBinary),
    Column("threshold", Double, nullable=False),
    Column("spent", Integer, nullable=False),
    Column("about", Integer, nullable=False),
)
"""A guard's state: a row for each account, or row 0 for the board. `about` is the number of the
submission on display, or 0.
"""

SUBMISSION = Table(
    "submission",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("time", String, nullable=False),
    Column("account_id", ForeignKey("account.id"), nullable=False),
    Column("score", Double, nullable=False),
    Column("about", Integer),
    Column("digest", String, nullable=False),
    Column("claimed", Double),
    Column("key", String),
    UniqueConstraint("account_id", "key"),
)
"""One row per answer, numbered from 1 without gaps."""

KEPT = Table(
    "kept",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)
"""The labels of each submission, if the owner keeps them."""

EXACT = Table(
    "exact",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("public", Double, nullable=False),
    Column("private", Double),
)
"""For the owner: each submission's score on the points behind the guard, and on the others."""

VOIDED = Table(
    "voided",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
)
"""Submissions that the owner has voided: they stay in the log and count for nothing else."""

NAMES = Table(
    "names",
    METADATA,
    Column("of", String, primary_key=True),
    Column("names", LargeBinary, nullable=False),
)
"""Names of the ``points`` in the order of the labels, and of the ``classes`` from 0, packed."""

FINAL = Table(
    "final",
    METADATA,
    Column("account_id", ForeignKey("account.id"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
)
"""The submissions that an account has chosen to be judged by in the end."""

PHASE = Table(
    "phase",
    METADATA,
    Column("name", String, primary_key=True),
    Column("opens", String, nullable=False),
    Column("closes", String, nullable=False),
)
"""Phases in which submissions are taken, in UTC; without a phase, always."""

INVITATION = Table(
    "invitation",
    METADATA,
    Column("digest", LargeBinary, primary_key=True),
    Column("account_id", ForeignKey("account.id")),
)
"""Invitations: a code makes one account; only its digest is stored."""

ACTION = Table(
    "action",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("time", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("account_id", ForeignKey("account.id"), nullable=False),
    Column("reason", String, nullable=False),
)
"""One row for each time that the owner hid an account or showed it again, or that an account stood
out, numbered from 1."""

ADDED = {
    2: (
        "metric",
        "public",
        "points",
        "private_points",
        "per_day",
        "finals",
        "title",
        "rules",
        "looks",
        "looked_at",
    ),
    3: ("published", "judged_by"),
}
"""Columns of `BOARD` that each version lacks and the next has; with version 3 `ACCOUNT` got its
last two.
"""


def _triggers(table: str, same: str) -> dict[str, tuple[str, ...]]:
    """Return triggers that make a table append-only; `same` matches the row in the way."""
    refused = f"{table}s are only ever added"
    stop = f"BEGIN SELECT RAISE(ABORT, '{refused}'); END"
    return {
        "sqlite": (
            *(
                f"CREATE TRIGGER {table}_{what} BEFORE {what.upper()} ON {table} {stop}"
                for what in ("update", "delete")
            ),
            # INSERT OR REPLACE removes the row in its way without asking the trigger before this.
            f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} WHEN EXISTS "
            f"(SELECT 1 FROM {table} WHERE {same}) {stop}",
        ),
        "postgresql": (
            f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{refused}'; END $$",
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()",
        ),
    }


_SAME = "number = NEW.number"
_OF_SUBMISSION = _triggers(
    "submission", f"{_SAME} OR (account_id = NEW.account_id AND key = NEW.key)"
)
_OF_ACTION = _triggers("action", _SAME)
TRIGGERS = {kind: (*_OF_SUBMISSION[kind], *_OF_ACTION[kind]) for kind in _OF_ACTION}
"""Triggers that make `SUBMISSION` and `ACTION` append-only, by kind of database."""


def state_columns(state: GuardState) -> dict[str, Any]:
    """Return a guard's state as columns of `STATE`."""
    return {
        "state_key": state.key,
        "asked": state.asked,
        "shown": state.shown,
        "best": None if state.best is None else np.packbits(state.best).tobytes(),
        "threshold": state.threshold,
        "spent": state.spent,
    }


def guard_state(row: Mapping[Any, Any], n: int) -> GuardState:
    """Return a guard's state over n points from a row of `STATE`; inverse of `state_columns`."""
    best = row["best"]
    if best is not None:
        best = np.unpackbits(np.frombuffer(best, np.uint8), count=n).astype(np.bool_)
    return GuardState(
        key=bytes(row["state_key"]),
        asked=row["asked"],
        shown=row["shown"],
        best=best,
        threshold=row["threshold"],
        spent=row["spent"],
    )
