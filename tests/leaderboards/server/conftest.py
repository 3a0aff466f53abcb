"""Databases of the scoring server: SQLite's files, and a real PostgreSQL that is started here."""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

NUMBERS = itertools.count()


def programs() -> Path:
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), reverse=True)
    path = found[0] if found else shutil.which("postgres")
    if path is None:
        pytest.skip("PostgreSQL is not installed: no /usr/lib/postgresql/*/bin/postgres")
    return Path(path).parent


@pytest.fixture(scope="session")
def cluster():
    """The URL of a PostgreSQL server, without the database's name."""
    bin_ = programs()
    folder = Path(tempfile.mkdtemp(prefix="privacygauge-"))
    # It refuses to run as root.
    who = {}
    if os.geteuid() == 0:
        import pwd

        try:
            entry = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres")
        who = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    subprocess.run(
        [bin_ / "initdb", "-D", folder / "data", "-U", "owner", "--auth=trust", "-E", "UTF8", "-N"],
        check=True,
        capture_output=True,
        cwd=folder,
        **who,
    )
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": str(folder),
        "port": str(port),
        "max_connections": "150",
        # Nobody kills this machine: only scoring servers are.
        "fsync": "off",
    }
    options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
    process = subprocess.Popen(
        [bin_ / "postgres", "-D", folder / "data", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        **who,
    )
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"postgresql://owner@127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
        process.wait(120)
        shutil.rmtree(folder)


def made(cluster: str) -> str:
    """Return the URL of a new, empty database."""
    import psycopg

    name = f"b{next(NUMBERS)}"
    for left in reversed(range(50)):
        try:
            with psycopg.connect(f"{cluster}/postgres", autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            break
        except psycopg.OperationalError:  # still starting
            if not left:
                raise
            time.sleep(0.2)
    return f"{cluster}/{name}"


@pytest.fixture
def database(cluster):
    """The URL of an empty database of PostgreSQL."""
    return made(cluster)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """From a name to a database of its own, the same one each time: a file, or a URL."""
    if request.param == "sqlite":
        return lambda name: tmp_path / name
    server = request.getfixturevalue("cluster")
    found = {}
    return lambda name: found[name] if name in found else found.setdefault(name, made(server))
