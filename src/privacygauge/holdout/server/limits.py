"""How often somebody may ask: for the machine's sake, since budgets guard the labels."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

_REMEMBERED = 10_000
_IPV6_NETWORK = 64


class RateLimit:
    """A token bucket for everybody: a minute's requests at once, then as many a minute.

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
            # Who has not asked for longest is forgotten first: their bucket is the fullest.
            if len(self._filled) > _REMEMBERED:
                self._filled.popitem(last=False)
            return 0.0 if granted else (1.0 - left) * 60.0 / self._most


def network(host: str) -> str:
    """Return what an address is limited as: itself, or of IPv6 the network that one user has."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))
