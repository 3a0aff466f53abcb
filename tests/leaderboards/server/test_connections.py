"""Limits before there is a request: nobody who says nothing can keep others out."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
import uvicorn
from starlette.responses import JSONResponse

from privacygauge.leaderboards.server.running import HEADERS, Connections, listening

WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
PART = b"GET / HTTP/1.1\r\nHost:"


@contextlib.asynccontextmanager
async def serving(limits: Connections):
    """A server with these limits on this machine; its port."""
    with listening("127.0.0.1", 0) as listener:
        config = uvicorn.Config(
            JSONResponse("here"), log_config=None, lifespan="off", http=limits.protocol()
        )
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None
        work = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await work


async def opened(port: int, *parts: bytes, pause: float = 0.0):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(pause)
    return reader, writer


async def told(reader) -> tuple[int, dict[str, str], object]:
    """Status, headers and content of one answer."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    head = dict(line.split(": ", 1) for line in lines)
    lower = {name.lower(): value for name, value in head.items()}
    body = await reader.readexactly(int(lower["content-length"]))
    return int(first.split()[1]), lower, json.loads(body)


def refused_as_others_are(answer, status: int, said: str) -> None:
    found, head, body = answer
    assert found == status
    assert said in body["detail"]
    for name, value in HEADERS.items():
        assert head[name.lower()] == value


def run(work) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


@pytest.mark.slow
def test_a_head_has_to_arrive_in_time():
    async def late(port, *parts):
        reader, writer = await opened(port, *parts, pause=0.02)
        refused_as_others_are(await told(reader), 408, "within 0.3 seconds")
        assert await reader.read() == b""
        writer.close()

    async def work():
        async with serving(Connections(seconds=0.3)) as port:
            await asyncio.gather(
                *(late(port, *parts) for parts in ((), (PART,), (b"G", b"ET", b" ", b"/")))
            )

    run(work())


@pytest.mark.slow
def test_a_head_that_follows_an_answer_has_to_arrive_in_time_too():
    async def work():
        async with serving(Connections(seconds=0.3)) as port:
            reader, writer = await opened(port, WHOLE)
            assert (await told(reader))[0] == 200
            await asyncio.sleep(0.35)  # nothing is late while nothing has begun
            writer.write(WHOLE)
            assert (await told(reader))[0] == 200
            writer.write(PART)
            refused_as_others_are(await told(reader), 408, "within 0.3 seconds")
            writer.close()

    run(work())


@pytest.mark.slow
def test_unfinished_heads_of_one_address_leave_room_for_others():
    """2,100 connections that send half a head: 500 stay, for a while; another address gets in."""
    limits = Connections(seconds=0.6, most=60, of_address=20)

    async def work():
        async with serving(limits) as port:
            silent = [await opened(port, PART) for _ in range(70)]
            assert limits.opened.total() == 20
            assert limits.full("127.0.0.1")
            assert not limits.full("192.0.2.1")
            refused_as_others_are(await told(silent[-1][0]), 503, "too many connections")
            await asyncio.sleep(0.8)
            assert limits.opened.total() == 0
            assert not limits.opened
            reader, writer = await opened(port, WHOLE)
            assert (await told(reader))[0] == 200
            for _, other in [*silent, (reader, writer)]:
                other.close()

    run(work())


def test_all_addresses_together_and_a_proxy():
    limits = Connections(most=3, of_address=2, proxy="192.0.2.9")
    limits.opened["192.0.2.1"] = 2
    assert [limits.full(f"192.0.2.{i}") for i in (1, 2, 9)] == [True, False, False]
    limits.opened["192.0.2.9"] = 1
    assert [limits.full(f"192.0.2.{i}") for i in (1, 2, 9)] == [True, True, True]
    of_network = Connections(of_address=1)
    of_network.opened["2001:db8:1:2::/64"] = 1
    assert of_network.full("2001:db8:1:2::5")


@pytest.mark.slow
def test_what_is_not_http_is_told_like_everything_else():
    async def work():
        async with serving(Connections()) as port:
            reader, writer = await opened(port, b"\x16\x03\x01\x02\r\n\r\n")
            refused_as_others_are(await told(reader), 400, "must be HTTP/1.1")
            writer.close()

    run(work())
