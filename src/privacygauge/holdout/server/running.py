"""The server as a process: its port, and an end that lets requests in flight finish."""

from __future__ import annotations

import logging
import signal
import socket
from json import dumps
from types import FrameType

import uvicorn
from fastapi import FastAPI

from privacygauge.errors import InputError
from privacygauge.holdout.server.connections import Connections

_SECONDS_TO_FINISH = 30
_WAITING = 2_048


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address of this machine.

    Parameters
    ----------
    host : str
        The address.
    port : int
        0 for any that is free.

    Raises
    ------
    InputError
        If the port is taken, or there is no such address here.
    """
    if not 0 <= port < 65_536:
        raise InputError(f"port must be in 0..65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its number: asyncio sends small answers at once only where a socket says it is TCP.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        # Before the server is ready, so that no other takes the port meanwhile.
        found.listen(_WAITING)
    except OSError as error:
        found.close()
        raise InputError(
            f"port {port} of {host} cannot be used ({error.strerror or error}): "
            "choose another with --port, or another address with --host"
        ) from error
    return found


def address(listener: socket.socket) -> str:
    """Return the URL at which a socket of `listening` is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: FastAPI, listener: socket.socket, proxy: str | None = None) -> None:
    """Answer requests until SIGTERM or SIGINT; those in flight are finished, for 30 seconds."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        ws="none",
        http=Connections(proxy=proxy).protocol(),
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    # The server sends itself the signal again once it has finished: SIGTERM is then no failure.
    before = signal.signal(signal.SIGTERM, _nothing)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Let a signal pass."""


class JsonLines(logging.Formatter):
    """One JSON object a line: the time, the level, and what is told."""

    default_msec_format = "%s.%03d"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, whose message may be a dictionary."""
        told = record.msg if isinstance(record.msg, dict) else {"message": record.getMessage()}
        line = {"time": self.formatTime(record), "level": record.levelname.lower(), **told}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return dumps(line)


def log_to_stderr(quiet: bool) -> None:
    """Write requests as lines of JSON to the standard error; problems alone where quiet."""
    to = logging.StreamHandler()
    to.setFormatter(JsonLines())
    for name, level in (
        ("privacygauge.server", "WARNING" if quiet else "INFO"),
        ("uvicorn", "ERROR"),
    ):
        logging.getLogger(name).addHandler(to)
        logging.getLogger(name).setLevel(level)
