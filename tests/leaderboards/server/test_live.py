"""Real processes: 200 clients at once, kills at random moments, an orderly end."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException

import numpy as np
import pytest

from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.accounts import add_account
from privacygauge.leaderboards.server.database import connect
from privacygauge.leaderboards.server.standings import log
from tests.leaderboards.server.serving import (
    Server,
    labels_of,
    post,
    post_until_answered,
    replayed_apart,
    served,
)
from tests.thorough import THOROUGH, quarter, times

N = 2_000
M = 5
TRUTH = labels_of(0, N, M)
GUARDS = "ladder", "noise:0.01", "thresholdout:0.04"


@pytest.fixture
def place(tmp_path):
    np.save(tmp_path / "labels.npy", TRUTH)
    database = str(tmp_path / "board.sqlite")
    return database, ("--labels", str(tmp_path / "labels.npy"), "--database", database)


def tokens_of(database, n):
    engine = connect(database)
    tokens = [add_account(engine, f"team{i:03}") for i in range(n)]
    engine.dispose()
    return tokens


def sent(i: int, j: int) -> np.ndarray:
    """Return what client i submits as its j-th: better and better on average."""
    rng = np.random.default_rng([i, j])
    return np.where(rng.random(N) < 0.02 * j, TRUTH, rng.integers(0, M, N))


def stored(database):
    board = open_board(database, TRUTH)
    receipts = list(log(board.engine))
    board.close()
    return receipts


@pytest.mark.slow
def test_many_clients_at_once(place):
    """Each of 200 sends 6, limited to 4 and to 780 in all: exactly 780, each 4 or fewer."""
    database, arguments = place
    clients = quarter(200)
    total = quarter(780)
    tokens = tokens_of(database, clients)
    answers: list[tuple[int, dict]] = []
    start = threading.Barrier(clients, timeout=60)

    def client(i: int) -> None:
        start.wait()
        for j in range(6):
            answers.append(post(server.url, tokens[i], sent(i, j), key=str(j)))

    with served(*arguments, "--per-account", "4", "--total", str(total)) as server:
        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.stop() == 0
    assert {status for status, _ in answers} == {200, 403}
    receipts = [answer for status, answer in answers if status == 200]
    assert len(answers) == 6 * clients
    assert sorted(r["number"] for r in receipts) == list(range(1, total + 1))
    kept = stored(database)
    assert [vars(r) for r in kept] == sorted(receipts, key=lambda r: r["number"])
    accounts = [r.account for r in kept]
    assert max(map(accounts.count, set(accounts))) <= 4


@pytest.mark.slow
def test_two_servers_on_one_board_count_once_though_one_is_killed(place):
    """Each team asks both in turn with the same keys; the budget is one, and no number is twice."""
    database, arguments = place
    clients = quarter(40)
    total = 3 * clients
    tokens = tokens_of(database, clients)
    limits = ("--per-account", "4", "--total", str(total))
    answers: list[tuple[int, int, int, dict]] = []

    def client(i: int) -> None:
        for j in range(5):
            for turn in range(2):
                server = (first, second)[(i + j + turn) % 2]
                with suppress(OSError, HTTPException):
                    status, answer = post(server.url, tokens[i], sent(i, j), key=str(j))
                    answers.append((i, j, status, answer))

    with served(*arguments, *limits) as first, served(*arguments, *limits) as second:
        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        while len(answers) < 2 * clients:
            time.sleep(0.01)
        first.kill()
        for thread in threads:
            thread.join()
        assert second.stop() == 0
    assert {status for _, _, status, _ in answers} <= {200, 403, 503}
    released: dict[tuple[int, int], dict] = {}
    for i, j, status, answer in answers:
        if status == 200:
            assert released.setdefault((i, j), answer) == answer
    kept = {receipt.number: vars(receipt) for receipt in stored(database)}
    assert all(kept[answer["number"]] == answer for answer in released.values())
    assert sorted(kept) == list(range(1, total + 1))
    accounts = [receipt["account"] for receipt in kept.values()]
    assert max(map(accounts.count, set(accounts))) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("why", ["too long", "no token", "spent"])
@pytest.mark.parametrize("declared", [True, False])
def test_a_refused_body_is_answered_and_not_cut_off(place, why, declared):
    """Clients of the standard library write the whole body before they read the answer."""
    database, arguments = place
    (token,) = tokens_of(database, 1)
    # A length that is too large is seen before the budget is.
    spent = 413 if declared else 403
    status = {"too long": 413, "no token": 401, "spent": spent}[why]
    with served(*arguments, "--per-account", "1") as server:
        if why == "spent":
            assert post(server.url, token, sent(0, 1))[0] == 200
        for _ in range(3):
            body = b"0" * 10_000_000
            request = urllib.request.Request(
                f"{server.url}/submissions",
                body if declared else iter([body[:1_000_000]] * 10),
                {
                    "Authorization": f"Bearer {'x' if why == 'no token' else token}",
                    "Content-Type": "text/csv",
                },
            )
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request, timeout=30)
            with caught.value as answer:
                assert answer.code == status
                assert "detail" in json.load(answer)
        assert server.stop() == 0


@pytest.mark.slow
@pytest.mark.parametrize("guard", GUARDS if THOROUGH else GUARDS[2:])
def test_kills_lose_nothing_and_release_nothing_twice(place, guard):
    """Clients that ask until they are answered, a server that is killed several times meanwhile."""
    database, arguments = place
    tokens = tokens_of(database, 8)
    each = times(15)
    most = times(4)
    server = Server(*arguments, "--guard", guard)
    ended = threading.Event()
    kills = []

    def killer() -> None:
        nonlocal server
        rng = np.random.default_rng(0)
        while len(kills) < most and not ended.wait(rng.uniform(0.02, 0.6)):
            server.kill()
            kills.append(time.monotonic())
            server = Server(*arguments, port=server.port)

    def client(i: int) -> list[dict]:
        got = []
        for j in range(each):
            status, answer = post_until_answered(url, tokens[i], sent(i, j), key=str(j))
            assert status == 200, answer
            got.append(answer)
            time.sleep(0.1)
        return got

    url, hunt = server.url, threading.Thread(target=killer)
    hunt.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(client, range(8)))
    finally:
        ended.set()
        hunt.join()
        server.kill()
    assert len(kills) >= most - 1
    kept = stored(database)
    assert [r.number for r in kept] == list(range(1, 8 * each + 1))  # each once, none lost
    assert {tuple(vars(r).items()) for r in kept} == {
        tuple(r.items()) for got in answers for r in got
    }
    by_digest = {
        r["digest"]: sent(i, j) for i, got in enumerate(answers) for j, r in enumerate(got)
    }
    board = open_board(database, TRUTH)
    order = [(r.account, by_digest[r.digest]) for r in kept]
    assert [r.score for r in kept] == replayed_apart(board, order)
    board.close()


@pytest.mark.slow
def test_requests_in_flight_are_finished(place):
    """A body of which half has arrived when the server is told to end is still answered."""
    import http.client

    from tests.leaderboards.server.serving import bearer, npy

    database, arguments = place
    (token,) = tokens_of(database, 1)
    with served(*arguments) as server:
        body = npy(TRUTH)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.putrequest("POST", "/submissions")
        for name, value in bearer(token).items():
            connection.putheader(name, value)
        connection.putheader("Content-Type", "application/octet-stream")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        connection.send(body[:1_000])
        time.sleep(0.5)
        server.process.terminate()
        time.sleep(0.5)
        with pytest.raises(OSError, match="refused"):
            post(server.url, token, TRUTH)
        connection.send(body[1_000:])
        assert connection.getresponse().status == 200
        connection.close()
        assert server.process.wait(30) == 0
    assert len(stored(database)) == 1


@pytest.mark.slow
def test_2100_unfinished_heads_keep_nobody_else_out(place):
    """One address opens 2,100 connections and finishes no head; another is answered at once."""
    import json
    import socket

    database, arguments = place
    tokens_of(database, 1)
    silent = []
    refused = 0
    with served(*arguments) as server:
        for _ in range(2_100):
            silent.append(socket.create_connection(("127.0.0.1", server.port), 10))
            silent[-1].sendall(b"GET / HTTP/1.1\r\nHost:")
        silent[-1].settimeout(10)
        assert b"503" in silent[-1].recv(100)
        began = time.monotonic()
        other = socket.create_connection(("127.0.0.1", server.port), 10, ("127.0.0.2", 0))
        other.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: other.recv(4_096), b""))
        assert time.monotonic() - began < 5
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"status": "ok"}
        for each in silent:
            each.setblocking(False)
            with suppress(OSError):
                refused += b"503" in each.recv(100)
        # All but 500, and the one that was read before; more are let in once heads are too late.
        assert 1_000 < refused < 1_600
        for each in (*silent, other):
            each.close()


@pytest.mark.slow
def test_a_body_without_a_length_is_cut_off(place):
    """What is sent in chunks says nothing of its length: it is counted while it arrives."""
    import http.client

    from tests.leaderboards.server.serving import bearer

    database, arguments = place
    (token,) = tokens_of(database, 1)

    def endless():
        while True:
            yield b"0," * 5_000

    with served(*arguments) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        head = bearer(token) | {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        try:
            connection.request("POST", "/submissions", endless(), head, encode_chunked=True)
        except OSError:  # closed by the server while we send
            pass
        else:
            pytest.fail("an endless body was read to its end")
        connection.close()
        assert post(server.url, token, TRUTH)[0] == 200


@pytest.mark.slow
def test_the_client_of_the_documentation(place):
    import re
    from pathlib import Path

    page = Path(__file__).resolve().parents[3] / "docs" / "scoring-server.md"
    (code,) = re.findall(r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    database, arguments = place
    (token,) = tokens_of(database, 1)
    namespace = {"np": np}
    exec(compile(code, str(page), "exec"), namespace)
    with served(*arguments, "--guard", "exact") as server:
        assert namespace["submit"](TRUTH, token, server.url)["score"] == 1.0
        with pytest.raises(RuntimeError, match="labels must have 2000 rows, got 1"):
            namespace["submit"](TRUTH[:1], token, server.url)
