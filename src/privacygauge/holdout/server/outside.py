"""Middleware of every request: rate limit by address, security headers, and a log line."""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect

from privacygauge.errors import BudgetError, InputError, PrivacyGaugeError
from privacygauge.holdout.server.board import KeyConflictError
from privacygauge.holdout.server.bodies import BodyError

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
    """An ASGI application around another."""

    app: App
    """The one inside."""
    rate: RateLimit
    """Requests of one address."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        seen = {"status": 500}

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            wait = self.rate.wait(limited_address(_host(scope)))
            app = too_often(wait) if wait else self.app
            await app(scope, receive, headed)
        finally:
            LOGGER.info(_line(scope, seen["status"], time.perf_counter() - began))


def too_often(wait: float) -> JSONResponse:
    """Return the answer to too many requests."""
    seconds = math.ceil(wait)
    return JSONResponse(
        {"detail": f"too many requests: try again in {seconds} s"},
        429,
        headers={"Retry-After": str(seconds)},
    )


def _host(scope: Message) -> str:
    return scope["client"][0] if scope.get("client") else "unknown"


def _line(scope: Message, status: int, seconds: float) -> dict[str, object]:
    # The route's path and not the request's, which may contain anything, even a token.
    route = scope.get("route")
    return {
        "method": scope["method"] if route else "other",
        "path": getattr(route, "path", "unknown"),
        "status": status,
        "ms": round(1e3 * seconds, 1),
        "address": _host(scope),
        "account": scope.get("state", {}).get("account"),
    }


_REMEMBERED = 10_000
_IPV6_NETWORK = 64


class RateLimit:
    """A token bucket per key: a minute's requests at once, then the same number per minute.

    It counts and therefore changes. Each process counts on its own, and forgets when it ends.
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
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))


@dataclass(frozen=True)
class Problem:
    """What is wrong with a request."""

    detail: str
    """One line."""


class RateError(PrivacyGaugeError):
    """A request too many in a minute."""

    def __init__(self, wait: float) -> None:
        super().__init__("too many requests")
        self.wait = wait


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of these answers, and of those that every request may get."""
    return {status: {"model": Problem} for status in (*statuses, 429, 503)}


_AGAIN = "send it again, with the same Idempotency-Key"
_LATER = {"Retry-After": "5"}


def _answering(status: int, detail: str = "", headers: Mapping[str, str] | None = None) -> Any:
    """Return the handler of an exception: with the exception's own words if none are given."""

    async def answer(_request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, SQLAlchemyError):
            LOGGER.error("database: %s", type(error).__name__)
        told = detail or " ".join(str(error).split())
        return JSONResponse(asdict(Problem(told)), status, headers)

    return answer


async def _of_rate(_request: Request, error: Any) -> JSONResponse:
    return too_often(error.wait)


async def _of_body(_request: Request, error: Any) -> JSONResponse:
    # The rest of the body is not read, so nothing else can follow on this connection.
    return JSONResponse({"detail": str(error)}, error.status, {"Connection": "close"})


async def _of_validation(_request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    return JSONResponse({"detail": f"{first['loc'][-1]}: {first['msg']}"}, 422)


ANSWERS: dict[type[Exception], Any] = {
    InputError: _answering(422),
    KeyConflictError: _answering(409),
    BudgetError: _answering(403),
    BodyError: _of_body,
    RateError: _of_rate,
    RequestValidationError: _of_validation,
    SQLAlchemyError: _answering(
        503, f"the database does not answer: {_AGAIN}", {"Retry-After": "5"}
    ),
    ClientDisconnect: _answering(400, "the body must arrive as a whole"),
    # Outside of all others, so that nothing else puts the headers on; the log has the error.
    Exception: _answering(500, f"the server failed: {_AGAIN}", HEADERS),
}
"""Handler of each exception."""
