"""Connections: SQLite that waits for its turn and writes through, PostgreSQL by row locks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    create_engine,
    event,
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
from privacygauge.holdout.server import schema
from privacygauge.holdout.server.extra import require_extra

_WRITE = "privacygauge_write"
_READY = "privacygauge_ready"
# More than the number of request threads, so that none waits for a connection.
_CONNECTIONS = {"pool_size": 10, "max_overflow": 40}
_SECONDS = 60
# An arbitrary number that all processes creating tables share.
_MAKING = 7_236_104


def connect(database: str | Path) -> Engine:
    """Return an engine on the database, creating missing tables.

    Parameters
    ----------
    database : str or pathlib.Path
        An SQLite file, or a URL of SQLite or PostgreSQL.

    Raises
    ------
    InputError
        If it cannot be opened, or was made with another version of the schema.
    """
    engine = engine_of(database)
    _make_ready(engine)
    return engine


def engine_of(database: str | Path) -> Engine:
    """Return the engine of `connect`; the database is created at the first read or write.

    So a command that still has to check its arguments leaves nothing behind if they are wrong.
    """
    url = _url(database)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    require_extra(("psycopg",), "postgresql")
    return create_engine(url, hide_parameters=True, pool_pre_ping=True, **_CONNECTIONS)


def database_name(engine: Engine) -> str:
    """Return the database's file, or its URL without the password."""
    if engine.url.get_backend_name() == "sqlite":
        return str(engine.url.database)
    return engine.url.render_as_string(hide_password=True)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Return a connection within a transaction that may write; committed at the end."""
    _make_ready(engine)
    with _transaction(engine) as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Return a connection within a transaction that only reads."""
    _make_ready(engine)
    with engine.connect() as connection, connection.begin():
        yield connection


def board_row(connection: Connection) -> RowMapping | None:
    """Return the board's row, locked until the transaction ends; None where there is none."""
    # SQLite leaves FOR UPDATE out: there the transaction has been the only writer since it began.
    query = select(schema.BOARD).with_for_update()
    return connection.execute(query).mappings().one_or_none()


def begun_board(connection: Connection, name: str = "the database") -> RowMapping:
    """Return `board_row` of a database that has to hold a board."""
    row = board_row(connection)
    if row is None:
        raise InputError(f"{name} holds no board yet: start the server first")
    return row


def wait_for_makers(connection: Connection) -> None:
    """Wait until no other process creates tables or a board; SQLite's transaction has done so."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _MAKING})


def _url(database: str | Path) -> URL:
    if "://" not in str(database):
        return URL.create("sqlite", database=str(Path(database).absolute()))
    try:
        url = make_url(str(database))
    except ArgumentError:
        # Without its cause, which quotes the password.
        raise InputError(
            "database must be a file or a URL such as postgresql://user@host/name"
        ) from None
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database not in (None, "", ":memory:"):
        return url.set(drivername="sqlite", database=str(Path(str(url.database)).absolute()))
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise InputError(
        f"database must be a file or a URL of sqlite or postgresql, got one of {backend}"
    )


def _sqlite(url: URL) -> Engine:
    engine = create_engine(
        url, hide_parameters=True, connect_args={"timeout": _SECONDS}, **_CONNECTIONS
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        # The driver's own BEGIN comes too late, before the first change, when it may be refused.
        connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITE)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _refuse_foreign(path: Path) -> None:
    """Refuse a file that is another program's database: not even its journal is changed."""
    if not path.is_file() or not path.stat().st_size:
        return
    uri = f"file:{quote(str(path))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_SECONDS)) as found:
            rows = found.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.Error as error:
        raise InputError(
            f"the database {path} cannot be used: {error}; name another file with --database"
        ) from error
    names = [str(name) for (name,) in rows]
    if names and schema.SCHEMA.name not in names:
        raise InputError(
            f"{path} is a database of something else, with the table {names[0]}: name another file "
            "with --database"
        )


def _own_file(path: Path) -> None:
    """Create the file, readable by its owner alone: a guard's state is as secret as the labels.

    SQLite gives its side files the same rights.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(
            f"the database {path} cannot be opened ({error.strerror}): choose another file"
        ) from error


@contextmanager
def _transaction(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as plain:
        connection = plain.execution_options(**{_WRITE: True})
        with connection.begin():
            yield connection


def _make_ready(engine: Engine) -> None:
    """Create missing tables, once per engine."""
    if engine.get_execution_options().get(_READY):
        return
    try:
        if engine.dialect.name == "sqlite":
            file = Path(str(engine.url.database))
            _refuse_foreign(file)
            _own_file(file)
        with _transaction(engine) as connection:
            _make_tables(connection)
    except DBAPIError as error:
        engine.dispose()
        raise InputError(
            f"the database {database_name(engine)} cannot be used: {_line(error)}"
        ) from error
    except InputError:
        engine.dispose()
        raise
    engine.update_execution_options(**{_READY: True})


def _make_tables(connection: Connection) -> None:
    wait_for_makers(connection)
    if not inspect(connection).has_table(schema.SCHEMA.name):
        schema.METADATA.create_all(connection)
        for statement in schema.TRIGGERS[connection.dialect.name]:
            connection.exec_driver_sql(statement)
        connection.execute(insert(schema.SCHEMA).values(version=schema.VERSION))
    versions = connection.execute(select(schema.SCHEMA.c.version)).scalars().all()
    if len(versions) == 1 and versions[0] in schema.ADDED:
        _bring_up(connection, versions[0])
    elif versions != [schema.VERSION]:
        raise InputError(
            f"the database has schema {', '.join(map(str, versions)) or 'none'}, this PrivacyGauge "
            f"reads {min(schema.ADDED)} to {schema.VERSION}: finish the contest with the version "
            "that began it, or name a new database with --database"
        )


def _bring_up(connection: Connection, version: int) -> None:
    """Add the tables and columns that a database of an older version lacks."""
    schema.METADATA.create_all(connection)
    lacking = [
        schema.BOARD.c[name]
        for older, names in schema.ADDED.items()
        if older >= version
        for name in names
    ]
    if version == min(schema.ADDED):
        lacking += [schema.ACCOUNT.c.per_day, schema.ACCOUNT.c.merged_into]
    for added in lacking:
        column = CreateColumn(added).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {added.table.name} ADD COLUMN {column}")
    # A contest that has begun goes on by the rule that its teams know.
    connection.execute(update(schema.BOARD).values(judged_by="shown"))
    connection.execute(update(schema.SCHEMA).values(version=schema.VERSION))


def _line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0]
