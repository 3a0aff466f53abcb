"""How many connections there may be, and how long a request's head may take to arrive."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from privacygauge.holdout.server.limits import network
from privacygauge.holdout.server.outside import HEADERS


@dataclass(frozen=True)
class Connections:
    """The limits of one process, and the connections that are open."""

    most: int = 2_000
    """Of all addresses."""
    of_address: int = 500
    """Of one address, or of an IPv6 network; a proxy has no such limit."""
    seconds: float = 15.0
    """In which the head of a request has to arrive."""
    proxy: str | None = None
    """The address of a proxy in front."""
    opened: Counter[str] = field(default_factory=Counter, repr=False)
    """Connections by address."""

    def protocol(self) -> type[H11Protocol]:
        """Return the class that speaks on each connection."""
        return type("Limited", (_Limited,), {"limits": self})

    def full(self, address: str) -> bool:
        """Return whether there is no room for a further connection of an address."""
        many = address != self.proxy and self.opened[network(address)] >= self.of_address
        return many or self.opened.total() >= self.most


class _Limited(H11Protocol):
    """HTTP/1.1 with limits before there is a request, told as every other answer is."""

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
        self._counted = network(address)
        self.limits.opened[self._counted] += 1
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for another connection."""
        self._head_came()
        if self._counted is not None:
            opened = self.limits.opened
            opened[self._counted] -= 1
            # Counters keep what is 0, and addresses are many.
            if not opened[self._counted]:
                del opened[self._counted]
            self._counted = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came; a head that has begun has to end in time."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_head()
        else:
            self._head_came()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
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
