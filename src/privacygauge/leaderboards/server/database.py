"""The database: its tables, and its connections to SQLite or PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    String,
    Table,
    UniqueConstraint,
    create_engine,
    event,
    false,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.schema import CreateColumn

from privacygauge.errors import InputError
from privacygauge.leaderboards.mechanism import GuardState

VERSION = 4
"""Version of this schema. Databases of versions 2 and 3 are migrated to it, others refused."""

METADATA = MetaData()

SCHEMA = Table("privacygauge_schema", METADATA, Column("version", Integer, primary_key=True))
"""One row: version of the schema that the database was made with."""

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
`judged_by` is the score that decides for teams without a choice: ``exact`` or ``shown``. `points`
and `private_points` are the metric's points of the two parts.
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
"""State of a guard: a row for each account, or row 0 for the board. `about` is the number of the
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
"""Labels of each submission, if the owner keeps them."""

EXACT = Table(
    "exact",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("public", Double, nullable=False),
    Column("private", Double),
)
"""Exact score of each submission on the points behind the guard, and on the others; owner only."""

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
"""Submissions that an account has chosen to be judged by in the end."""

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
"""One row for each action, numbered from 1: the owner hid an account, showed it again, merged it or
voided a submission of it; or the account stood out, or was worth a look.
"""

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
    """Return triggers that make a table append-only; `same` matches a row to be replaced."""
    refused = f"{table}s are only ever added"
    stop = f"BEGIN SELECT RAISE(ABORT, '{refused}'); END"
    return {
        "sqlite": (
            *(
                f"CREATE TRIGGER {table}_{what} BEFORE {what.upper()} ON {table} {stop}"
                for what in ("update", "delete")
            ),
            # INSERT OR REPLACE removes the old row without firing the trigger before this one.
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


_WRITE = "privacygauge_write"
_READY = "privacygauge_ready"
# More than the number of request threads, so that none waits for a connection.
_CONNECTIONS = {"pool_size": 10, "max_overflow": 40}
# Seconds that SQLite waits for another writer.
_SECONDS = 60
# An arbitrary number that all processes creating tables share.
_MAKING = 7_236_104


UNFINISHED = "unfinished"
"""Key in `NAMES` of a database into which a board is being scored again: until that is done, no
command takes it for a board of its own."""


def connect(database: str | Path, *, unfinished: bool = False) -> Engine:
    """Return an engine on the database, creating missing tables.

    Parameters
    ----------
    database : str or pathlib.Path
        An SQLite file, or a URL of SQLite or PostgreSQL.
    unfinished : bool, default False
        Whether tables that are created here are marked as `UNFINISHED` in the same transaction.

    Raises
    ------
    InputError
        If it cannot be opened, or was made with another version of the schema.
    """
    engine = engine_of(database)
    _make_ready(engine, create=True, unfinished=unfinished)
    return engine


def engine_of(database: str | Path) -> Engine:
    """Return the engine of `connect`; the database is created at the first write that begins one.

    So a command that has yet to check its arguments leaves nothing behind if they are wrong.
    """
    given = str(database)
    try:
        url = make_url(given) if "://" in given else URL.create("sqlite", database=given)
    except ArgumentError:
        # Without the cause, which quotes the password.
        raise InputError(
            "database must be a file or a URL such as postgresql://user@host/name"
        ) from None
    backend = url.get_backend_name()
    if backend in ("postgresql", "postgres"):
        if find_spec("psycopg") is None:
            raise InputError(
                "the scoring server needs psycopg: pip install 'privacygauge[postgresql]'"
            )
        url = url.set(drivername="postgresql+psycopg")
        return create_engine(url, hide_parameters=True, pool_pre_ping=True, **_CONNECTIONS)
    if backend != "sqlite" or ("://" in given and url.database in (None, "", ":memory:")):
        raise InputError(
            f"database must be a file or a URL of sqlite or postgresql, got one of {backend}"
        )
    url = url.set(drivername="sqlite", database=str(Path(str(url.database)).absolute()))
    engine = create_engine(
        url, hide_parameters=True, connect_args={"timeout": _SECONDS}, **_CONNECTIONS
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        # The driver's own BEGIN comes too late, before the first change, when it may be refused.
        connection.isolation_level = None
        # WAL lets readers go on during a write; FULL keeps an answered submission through a power
        # failure.
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITE)
        # IMMEDIATE takes the write lock at the beginning, and so waits for other writers.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def database_name(engine: Engine) -> str:
    """Return the database's file, or its URL without the password."""
    if engine.url.get_backend_name() == "sqlite":
        return str(engine.url.database)
    return engine.url.render_as_string(hide_password=True)


@contextmanager
def writing(engine: Engine, *, create: bool = False) -> Iterator[Connection]:
    """Yield a connection within a transaction that may write; committed at the end.

    Only with `create` is a database made where there is none.
    """
    _make_ready(engine, create=create)
    with _transaction(engine) as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection within a transaction that only reads."""
    _make_ready(engine)
    with engine.connect() as connection, connection.begin():
        yield connection


def board_row(connection: Connection) -> RowMapping | None:
    """Return the board's row, locked until the transaction ends; None if there is none."""
    # SQLite has no FOR UPDATE: there the transaction has been the only writer since it began.
    query = select(BOARD).with_for_update()
    return connection.execute(query).mappings().one_or_none()


def begun_board(connection: Connection) -> RowMapping:
    """Return `board_row` of a database that has to hold a board."""
    row = board_row(connection)
    if row is None:
        raise lacking_board(connection)
    return row


def lacking_board(connection: Connection) -> InputError:
    """Return the error of a database without a board."""
    refuse_unfinished(connection)
    return _lacking(connection.engine)


def refuse_unfinished(connection: Connection) -> None:
    """Raise if a board was to be scored again into the database, and this was interrupted."""
    mark = select(NAMES.c.of).where(NAMES.c.of == UNFINISHED)
    if connection.execute(mark).first() is not None:
        raise InputError(
            f"{database_name(connection.engine)} was to hold a board that is scored again, and "
            "this was interrupted: score it again into this database, or name another one"
        )


def _lacking(engine: Engine) -> InputError:
    return InputError(
        f"{database_name(engine)} holds no board yet: start the server first, or name another "
        "database with --database"
    )


def wait_for_makers(connection: Connection) -> None:
    """Wait until no other process creates tables or a board; on SQLite transactions already do."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _MAKING})


@contextmanager
def _transaction(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as plain:
        connection = plain.execution_options(**{_WRITE: True})
        with connection.begin():
            yield connection


def _make_ready(engine: Engine, *, create: bool = False, unfinished: bool | None = None) -> None:
    """Bring the tables of an older version up to this one, once per engine.

    A file that is another program's database is refused; not even its journal is changed. Without
    `create` so is a database without tables, and with `create` they are made. `unfinished` is that
    of `connect`; None refuses a database with this mark.
    """
    if engine.get_execution_options().get(_READY):
        return
    try:
        if engine.dialect.name == "sqlite":
            file = Path(str(engine.url.database))
            names = []
            if file.is_file() and file.stat().st_size:
                uri = f"file:{quote(str(file))}?mode=ro"
                query = "SELECT name FROM sqlite_master WHERE type = 'table'"
                try:
                    with closing(sqlite3.connect(uri, uri=True, timeout=_SECONDS)) as found:
                        names = [str(name) for (name,) in found.execute(query).fetchall()]
                except sqlite3.Error as error:
                    raise InputError(
                        f"the database {file} cannot be used: {error}; name another file with "
                        "--database"
                    ) from error
            if names and SCHEMA.name not in names:
                raise InputError(
                    f"{file} is a database of something else, with the table {names[0]}: name "
                    "another file with --database"
                )
            # Whoever looks for a board by a wrong name leaves no file behind.
            if not (names or create):
                raise _lacking(engine)
            # Readable by its owner alone: a guard's state is as secret as the labels. SQLite gives
            # its side files the same permissions.
            try:
                os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            except OSError as error:
                raise InputError(
                    f"the database {file} cannot be opened ({error.strerror}): choose another file"
                ) from error
        with _transaction(engine) as connection:
            wait_for_makers(connection)
            if not inspect(connection).has_table(SCHEMA.name):
                if not create:
                    raise _lacking(engine)
                METADATA.create_all(connection)
                for statement in TRIGGERS[connection.dialect.name]:
                    connection.exec_driver_sql(statement)
                connection.execute(insert(SCHEMA).values(version=VERSION))
                if unfinished:
                    connection.execute(insert(NAMES).values(of=UNFINISHED, names=b""))
            versions = connection.execute(select(SCHEMA.c.version)).scalars().all()
            if len(versions) == 1 and versions[0] in ADDED:
                # Add the tables and columns that a database of an older version lacks.
                METADATA.create_all(connection)
                older = [added for version, added in ADDED.items() if version >= versions[0]]
                lacking = [BOARD.c[name] for added in older for name in added]
                if versions[0] == min(ADDED):
                    lacking += [ACCOUNT.c.per_day, ACCOUNT.c.merged_into]
                for column in lacking:
                    definition = CreateColumn(column).compile(dialect=connection.dialect)
                    table = column.table.name
                    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")
                # A contest that has begun keeps the rule that its teams know.
                connection.execute(update(BOARD).values(judged_by="shown"))
                connection.execute(update(SCHEMA).values(version=VERSION))
            elif versions != [VERSION]:
                raise InputError(
                    f"the database has schema {', '.join(map(str, versions)) or 'none'}, this "
                    f"PrivacyGauge reads {min(ADDED)} to {VERSION}: finish the contest with the "
                    "version that began it, or name a new database with --database"
                )
            if unfinished is None:
                refuse_unfinished(connection)
    except DBAPIError as error:
        engine.dispose()
        reason = str(error.orig).strip().splitlines()[0]
        raise InputError(
            f"the database {database_name(engine)} cannot be used: {reason}"
        ) from error
    except InputError:
        engine.dispose()
        raise
    engine.update_execution_options(**{_READY: True})
