"""Around every request: its address's rate, headers for browsers, and one line of the log."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse

from privacygauge.holdout.server.limits import RateLimit, network

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOGGER = logging.getLogger("privacygauge.server")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer."""


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
        began, seen = time.perf_counter(), {"status": 500}

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            wait = self.rate.wait(network(_host(scope)))
            app = too_often(wait) if wait else self.app
            await app(scope, receive, headed)
        finally:
            LOGGER.info(_line(scope, seen["status"], time.perf_counter() - began))


def too_often(wait: float) -> JSONResponse:
    """Return the answer to somebody who asks too often."""
    seconds = math.ceil(wait)
    return JSONResponse(
        {"detail": f"too many requests: try again in {seconds} s"},
        429,
        headers={"Retry-After": str(seconds)},
    )


def _host(scope: Message) -> str:
    return scope["client"][0] if scope.get("client") else "unknown"


def _line(scope: Message, status: int, seconds: float) -> dict[str, object]:
    # The route's own path and not the request's, in which anything may stand, a token too.
    route = scope.get("route")
    return {
        "method": scope["method"] if route else "other",
        "path": getattr(route, "path", "unknown"),
        "status": status,
        "ms": round(1e3 * seconds, 1),
        "address": _host(scope),
        "account": scope.get("state", {}).get("account"),
    }
