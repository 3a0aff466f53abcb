"""So many requests a minute, whoever asks, and not a request more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.leaderboards.server import running
from privacygauge.leaderboards.server.running import RateLimit, limited_address


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.integers(1, 30), st.lists(st.floats(0, 20), max_size=60))
def test_never_more_than_a_minutes_worth_and_what_came_since(per_minute, pauses):
    clock = Clock()
    rate = RateLimit(per_minute, clock)
    granted = []
    for pause in pauses:
        clock.now += pause
        wait = rate.wait("a")
        assert wait >= 0
        if wait == 0:
            granted.append(clock.now)
        else:
            clock.now += wait + 1e-6
            assert rate.wait("a") == 0  # the wait that was named is enough
            granted.append(clock.now)
    for i, first in enumerate(granted):
        for j in range(i, len(granted)):
            most = per_minute + (granted[j] - first) * per_minute / 60
            assert j - i + 1 <= most + 1e-6


def test_everybody_has_a_bucket():
    rate = RateLimit(2, Clock())
    assert [rate.wait(who) == 0 for who in "aabab"] == [True, True, True, False, True]


def test_who_has_not_asked_for_longest_is_forgotten(monkeypatch):
    monkeypatch.setattr(running, "_REMEMBERED", 2)
    rate = RateLimit(1, Clock())
    assert [rate.wait(who) == 0 for who in "abacab"] == [True, True, False, True, False, True]


@pytest.mark.parametrize(
    ("host", "limited_as"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_networks(host, limited_as):
    assert limited_address(host) == limited_as
