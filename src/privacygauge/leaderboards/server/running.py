"""The server as a process: its port, middleware of every request, and a shutdown that waits."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import signal
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from threading import Lock
from typing import Any, ClassVar

import h11
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from privacygauge.errors import BudgetError, InputError, PrivacyGaugeError
from privacygauge.leaderboards.server.board import KeyConflictError
from privacygauge.leaderboards.server.request_parsing import BodyError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOGGER = logging.getLogger("privacygauge.server")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer."""


@dataclass(frozen=True)
class Outside:
    """An ASGI application around another: limits, headers and log of every request."""

    app: App
    """Application inside."""
    rate: RateLimit
    """Limit on the requests of one address."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        host = scope["client"][0] if scope.get("client") else "unknown"
        seen = {"status": 500}
        body = UnreadBody(scope, receive)

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            # A client that was too slow has had its time.
            refused = seen["status"] >= 400 and seen["status"] != HTTPStatus.REQUEST_TIMEOUT
            last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not (refused and last):
                await send(message)
                return
            # Many clients read no answer before they have sent the whole body: a connection that is
            # closed meanwhile is an error for them. Others wait for it: they have it at once, whole
            # by its length, and the connection ends after the rest of the body.
            await send({**message, "more_body": True})
            await body.discard()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        try:
            wait = self.rate.wait(limited_address(host))
            app = too_often(wait) if wait else self.app
            await app(scope, body.receive, headed)
        finally:
            # The route's path and not the request's, which may contain anything, even a token.
            route = scope.get("route")
            line = {
                "method": scope["method"] if route else "other",
                "path": getattr(route, "path", "unknown"),
                "status": seen["status"],
                "ms": round(1e3 * (time.perf_counter() - began), 1),
                "address": host,
                "account": scope.get("state", {}).get("account"),
            }
            LOGGER.info(line)


_DISCARDED = 2**25
"""Bytes of a refused body that are read and thrown away, at most."""
_DISCARDING = 5.0
"""Seconds for that, at most."""


class UnreadBody:
    """A request's body, whose rest can be thrown away; the object is mutable."""

    def __init__(self, scope: Message, receive: Receive) -> None:
        headers = Headers(scope=scope)
        self._receive = receive
        # A client that waits for leave to send has not begun.
        self._ended = "expect" in headers or not (
            "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        )

    async def receive(self) -> Message:
        """Return the next part."""
        message = await self._receive()
        self._ended = self._ended or not message.get("more_body", False)
        return message

    async def discard(self) -> None:
        """Read the rest and forget it, up to 32 MiB and five seconds."""
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_DISCARDING):
                while not self._ended and size < _DISCARDED:
                    size += len((await self.receive()).get("body", b""))


def too_often(wait: float) -> JSONResponse:
    """Return the answer to too many requests."""
    seconds = math.ceil(wait)
    return JSONResponse(
        {"detail": f"too many requests: try again in {seconds} s"},
        429,
        headers={"Retry-After": str(seconds)},
    )


# Keys remembered by a rate limit; and bits of an IPv6 address that are one user's network.
_REMEMBERED = 10_000
_IPV6_NETWORK = 64


class RateLimit:
    """A token bucket per key: a minute's requests at once, then the same number per minute.

    The object is mutable. Each process counts separately, and forgets its counts when it ends.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, who: str) -> float:
        """Return 0 and count the request, or the seconds until there is room for it."""
        with self._lock:
            now = self._clock()
            # Taken out and put back, so that the order is that of the last requests.
            left, since = self._filled.pop(who, (self._most, now))
            left = min(self._most, left + (now - since) * self._most / 60.0)
            granted = left >= 1.0
            self._filled[who] = (left - granted, now)
            # The address that has been silent longest is dropped first: its bucket is the fullest.
            if len(self._filled) > _REMEMBERED:
                self._filled.popitem(last=False)
            return 0.0 if granted else (1.0 - left) * 60.0 / self._most


def limited_address(host: str) -> str:
    """Return the key by which an address is limited: itself, or for IPv6 a user's whole network."""
    try:
        # "%" begins the zone of an IPv6 address.
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))


@dataclass(frozen=True)
class Problem:
    """Error of a request."""

    detail: str
    """Description in one line."""


class RateError(PrivacyGaugeError):
    """One request too many in a minute."""

    def __init__(self, wait: float) -> None:
        super().__init__("too many requests")
        self.wait = wait


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of these answers, and of those that every request may get."""
    return {status: {"model": Problem} for status in (*statuses, 429, 503)}


_AGAIN = "send it again, with the same Idempotency-Key"
_LATER = {"Retry-After": "5"}


ANSWERED: tuple[type[Exception], ...] = (
    InputError,
    BudgetError,
    BodyError,
    RateError,
    RequestValidationError,
    SQLAlchemyError,
    ClientDisconnect,
    Exception,
)
"""Exceptions that `answer_problem` handles, with those derived from them."""


async def answer_problem(_request: Request, error: Any) -> JSONResponse:
    """Return the answer to a request that failed, by the class of the error."""
    headers: Mapping[str, str] | None = None
    detail = " ".join(str(error).split())
    match error:
        case RateError():
            return too_often(error.wait)
        case BodyError():
            status = error.status
            detail = str(error)
            # The rest of the body is not read, so nothing else can follow on this connection.
            headers = {"Connection": "close"}
        case RequestValidationError():
            status = 422
            first = error.errors()[0]
            detail = f"{first['loc'][-1]}: {first['msg']}"
        case KeyConflictError():
            status = 409
        case InputError():
            status = 422
        case BudgetError():
            status = 403
        case SQLAlchemyError():
            LOGGER.error("database: %s", type(error).__name__)
            status = 503
            detail = f"the database does not answer: {_AGAIN}"
            headers = _LATER
        case ClientDisconnect():
            status = 400
            detail = "the body must arrive as a whole"
        case _:
            status = 500
            detail = f"the server failed: {_AGAIN}"
            # Outside of all others: nothing else puts the headers on. The log has the error.
            headers = HEADERS
    return JSONResponse(asdict(Problem(detail)), status, headers)


@dataclass(frozen=True)
class Connections:
    """Limits of one process, and its open connections."""

    most: int = 2_000
    """Maximum number of connections of all addresses."""
    of_address: int = 500
    """Maximum number per address, or per IPv6 network; a proxy has no such limit."""
    seconds: float = 15.0
    """Seconds within which the head of a request must arrive."""
    proxy: str | None = None
    """Address of a proxy in front; None without one."""
    opened: Counter[str] = field(default_factory=Counter, repr=False)
    """Number of open connections by address."""

    def protocol(self) -> type[H11Protocol]:
        """Return the protocol class of each connection."""
        # uvicorn creates the protocol itself, so the limits have to be on the class.
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
            self._refuse(503, "too many connections: try again in 5 s", _LATER)
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
        # The next request's head has not ended yet.
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
        # Written by hand: there is no request yet that the application could answer.
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


# Seconds for requests in flight, and length of the queue of connections.
_SECONDS_TO_FINISH = 30
_WAITING = 2_048


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address of this machine.

    Parameters
    ----------
    host : str
        Address of this machine.
    port : int
        Port; 0 for any that is free.

    Raises
    ------
    InputError
        If the port is taken, or this machine does not have the address.
    """
    if not 0 <= port < 65_536:
        raise InputError(f"port must be in 0..65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol by number: asyncio sends small answers at once only if a socket says it is TCP.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        # Before the server is ready, so that no other process takes the port meanwhile.
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


def run(
    app: FastAPI,
    listener: socket.socket,
    *,
    when_ready: Callable[[], None],
    proxy: str | None = None,
) -> None:
    """Answer requests until SIGTERM or SIGINT; those in flight have 30 seconds to finish.

    `when_ready` is called as soon as a request, and a signal to end, are met as they should be.
    """

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            when_ready()

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
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        Server(config).run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)


class JsonLines(logging.Formatter):
    """One JSON object per line: the time, the level and the message."""

    default_msec_format = "%s.%03d"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record with a text or a dictionary as its message."""
        told = record.msg if isinstance(record.msg, dict) else {"message": record.getMessage()}
        line = {"time": self.formatTime(record), "level": record.levelname.lower(), **told}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


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
