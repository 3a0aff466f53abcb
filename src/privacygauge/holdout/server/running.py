"""The server as a process: its port, and a shutdown that lets requests in flight finish."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from json import dumps
from types import FrameType
from typing import Any, ClassVar

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from privacygauge.errors import InputError
from privacygauge.holdout.server.outside import HEADERS, limited_address


@dataclass(frozen=True)
class Connections:
    """The limits of one process, and the connections that are open."""

    most: int = 2_000
    """Maximum number of connections of all addresses."""
    of_address: int = 500
    """Maximum number per address, or per IPv6 network; a proxy has no such limit."""
    seconds: float = 15.0
    """Seconds within which the head of a request must arrive."""
    proxy: str | None = None
    """Address of a proxy in front; None without one."""
    opened: Counter[str] = field(default_factory=Counter, repr=False)
    """Connections by address."""

    def protocol(self) -> type[H11Protocol]:
        """Return the protocol class of each connection."""
        return type("Limited", (_Limited,), {"limits": self})

    def full(self, address: str) -> bool:
        """Return whether an address has reached its limit, or all have together."""
        many = address != self.proxy and self.opened[limited_address(address)] >= self.of_address
        return many or self.opened.total() >= self.most


class _Limited(H11Protocol):
    """HTTP/1.1 with limits that apply before there is a request, answered like any other error."""

    limits: ClassVar[Connections]
    _counted: str | None = None
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Count a connection, or refuse it."""
        super().connection_made(transport)
        address = self.client[0] if self.client else "unknown"
        if self.limits.full(address):
            self._refuse(503, "too many connections: try again in 5 s", {"Retry-After": "5"})
            return
        self._counted = limited_address(address)
        self.limits.opened[self._counted] += 1
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for another connection."""
        self._head_came()
        if self._counted is not None:
            opened = self.limits.opened
            opened[self._counted] -= 1
            # A Counter keeps zero entries, and addresses are many.
            if not opened[self._counted]:
                del opened[self._counted]
            self._counted = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the data that came; a head that has begun must end in time."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_head()
        else:
            self._head_came()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP."""
        self._refuse(400, "the request must be HTTP/1.1")

    def _expect_head(self) -> None:
        if self._late is None:
            detail = f"the head must arrive within {self.limits.seconds:g} seconds"
            self._late = self.loop.call_later(self.limits.seconds, self._refuse, 408, detail)

    def _head_came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, status: int, detail: str, more: dict[str, str] | None = None) -> None:
        body = json.dumps({"detail": detail}).encode()
        head = {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **HEADERS,
            **(more or {}),
        }
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in head.items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()


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
        If the port is taken, or this machine does not have the address.
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
    """One JSON object per line: the time, the level and the message."""

    default_msec_format = "%s.%03d"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, whose message may be a dictionary."""
        told = record.msg if isinstance(record.msg, dict) else {"message": record.getMessage()}
        line = {"time": self.formatTime(record), "level": record.levelname.lower(), **told}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return dumps(line)


def log_to_stderr(quiet: bool) -> None:
    """Write requests as lines of JSON to standard error; if quiet, problems alone."""
    to = logging.StreamHandler()
    to.setFormatter(JsonLines())
    for name, level in (
        ("privacygauge.server", "WARNING" if quiet else "INFO"),
        ("uvicorn", "ERROR"),
    ):
        logging.getLogger(name).addHandler(to)
        logging.getLogger(name).setLevel(level)
