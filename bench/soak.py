"""A scoring server under load, killed, fuzzed and flooded: four minutes, on this machine alone.

A server process of the project listens at 127.0.0.1, as its owner starts it. What is checked ends
the run with an error; what is measured is printed.

    python bench/soak.py                four minutes
    python bench/soak.py --seconds 30   the same in short
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from privacygauge.leaderboards.server import open_board  # noqa: E402
from privacygauge.leaderboards.server.accounts import add_account, hide_account  # noqa: E402
from privacygauge.leaderboards.server.board import Board  # noqa: E402
from privacygauge.leaderboards.server.standings import log  # noqa: E402
from tests.leaderboards.server.serving import (  # noqa: E402
    Server,
    bearer,
    labels_of,
    npy,
    post,
    post_until_answered,
)

N, M = 10_000, 10
TRUTH = labels_of(0, N, M)
MANY_ROWS, TABLES = 1_000_000, 25
CLIENTS, MANY, KILLED, HALF_OPEN, SLOWEST = 20, 200, 5, 400, 15.0
ROUTES = (
    "/submissions",
    "/account",
    "/account/finals",
    "/accounts",
    "/board",
    "/health",
    "/",
    "/x",
)


class Place:
    """A database, tokens for its clients, and how a server is started for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "labels.npy").write_bytes(npy(TRUTH))
        self._arguments = (
            *("--labels", str(folder / "labels.npy"), "--database", str(folder / "board.sqlite")),
            *("--rate", "100000", "--address-rate", "1000000"),
        )
        self.board: Board = open_board(folder / "board.sqlite", TRUTH)
        self.tokens = [add_account(self.board.engine, f"client-{i}") for i in range(MANY)]

    def start(self, port: int = 0) -> Server:
        return Server(*self._arguments, port=port)


def in_threads(work: Callable[[int], None], number: int) -> None:
    """Call ``work(i)`` for every i at the same time; the first failure is raised."""
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(work, range(number)))


def load(place: Place, seconds: float, clients: int = CLIENTS) -> str:
    """Return submissions a second, and how long they take, from clients that ask without pause.

    Served in the order of arrival, all wait about as long: as others are before them, and no more.
    """
    took: list[float] = []
    made = [0] * clients
    server = place.start()
    ends = time.monotonic() + seconds

    def ask(i: int) -> None:
        labels = labels_of(i, N, M)
        while time.monotonic() < ends:
            began = time.perf_counter()
            status, _ = post(server.url, place.tokens[i], labels)
            assert status == 200, status
            took.append(time.perf_counter() - began)
            made[i] += 1

    try:
        in_threads(ask, clients)
    finally:
        server.kill()
    low, high = np.quantile(took, [0.5, 0.99])
    assert min(made) >= 1, "a client was never answered"
    return (
        f"{len(took):,} submissions, {len(took) / seconds:.0f} a second; {low:.2f} s, 99%: "
        f"{high:.2f} s; each client {min(made)} to {max(made)}"
    )


def crowd(place: Place, seconds: float) -> str:
    """Return the same of ten times as many clients."""
    return load(place, seconds, MANY)


def kills(place: Place, seconds: float) -> str:
    """Kill the server while clients submit; every key has one answer, and no number is missing."""
    server = place.start()
    ends, answers, killed = time.monotonic() + seconds, {}, 0
    stopped = threading.Event()

    def ask(i: int) -> None:
        for j in range(1_000_000):
            if stopped.is_set():
                return
            key = f"{i}-{j}"
            labels = labels_of(1_000 * i + j, N, M)
            status, receipt = post_until_answered(server.url, place.tokens[i], labels, key)
            assert status == 200, receipt
            answers[key] = place.tokens[i], labels, receipt

    clients = threading.Thread(target=in_threads, args=(ask, KILLED))
    clients.start()
    while time.monotonic() < ends:
        time.sleep(3.0)
        server.kill()
        server, killed = place.start(server.port), killed + 1
    stopped.set()
    clients.join()
    kept = list(log(place.board.engine))
    assert [receipt.number for receipt in kept] == list(range(1, len(kept) + 1))
    for key, (token, labels, receipt) in list(answers.items())[-50:]:
        assert post(server.url, token, labels, key) == (200, receipt)
        assert vars(kept[receipt["number"] - 1]) == receipt
    server.kill()
    return f"{killed} kills among {len(answers):,} submissions: none lost, none answered twice"


def fuzz(place: Place, seconds: float) -> str:
    """Send made-up requests; none makes the server fail, and no answer is a failure's."""
    rng, statuses = np.random.default_rng(0), []
    server = place.start()
    ends = time.monotonic() + seconds
    kinds = ("application/json", "application/octet-stream", "text/csv", "text/plain")
    bodies = (
        b"",
        b"[",
        b"[1e999]",
        b"[" * 9_999,
        b"id,label\n0,1\n",
        npy(TRUTH)[:200],
        b"\xff" * 99,
    )
    try:
        while time.monotonic() < ends:
            connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
            for _ in range(20):
                body = bodies[rng.integers(len(bodies))] + rng.bytes(int(rng.integers(0, 50)))
                head = {"Content-Type": kinds[rng.integers(len(kinds))]}
                if rng.random() < 0.7:
                    head |= bearer(place.tokens[0])
                if rng.random() < 0.3:
                    head["Idempotency-Key"] = rng.bytes(6).hex()
                query = (
                    f"?{rng.choice(['after', 'number', 'claimed', 'name'])}={rng.bytes(3).hex()}"
                )
                path = ROUTES[rng.integers(len(ROUTES))] + (query if rng.random() < 0.5 else "")
                with suppress(HTTPException, ConnectionError, BrokenPipeError):
                    connection.request(
                        str(rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD"])), path, body, head
                    )
                    answer = connection.getresponse()
                    answer.read()
                    statuses.append(answer.status)
            connection.close()
        assert server.process.poll() is None
        assert max(statuses) < 500, max(statuses)
        assert post(server.url, place.tokens[0], TRUTH)[0] == 200
    finally:
        server.kill()
    return f"{len(statuses):,} requests: no failure, statuses {sorted(set(statuses))}"


def slow_heads(place: Place, seconds: float) -> str:
    """Hold connections open with unfinished heads; others are answered meanwhile."""
    server, waiting, took = place.start(), [], []
    ends = time.monotonic() + seconds
    try:
        for _ in range(HALF_OPEN):
            peer = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            peer.sendall(b"GET /board HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            waiting.append(peer)
        while time.monotonic() < ends:
            began = time.perf_counter()
            status, _ = post(server.url, place.tokens[0], TRUTH)
            assert status == 200, status
            took.append(time.perf_counter() - began)
            for peer in waiting:
                with suppress(OSError):
                    peer.sendall(b"x")
            time.sleep(0.2)
    finally:
        for peer in waiting:
            peer.close()
        server.kill()
    assert max(took) < SLOWEST
    return f"{HALF_OPEN} unfinished heads: submissions answered within {1e3 * max(took):.0f} ms"


def tables(place: Place, seconds: float) -> str:
    """Send 25 CSV files of a million rows at once, then one of a hidden account, of 9 MB."""
    folder = place.folder / "tables"
    folder.mkdir()
    truth = labels_of(1, MANY_ROWS, M)
    rows = "\n".join(f"img_{i:06d},{label}" for i, label in enumerate(truth))
    (folder / "labels.csv").write_text(f"id,label\n{rows}\n")
    body = (folder / "labels.csv").read_bytes()
    database = str(folder / "board.sqlite")
    arguments = ("--labels", str(folder / "labels.csv"), "--database", database)
    Server(*arguments).stop()
    board = open_board(database, truth)
    tokens = [add_account(board.engine, f"team-{i}") for i in range(TABLES)]
    hidden = add_account(board.engine, "hidden")
    hide_account(board.engine, "hidden", "two accounts")
    board.close()
    server = Server(*arguments)
    took: list[float] = []

    def send(token: str, content: bytes, *, begin: bool = True) -> tuple[int, float]:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=300)
        began = time.monotonic()
        connection.putrequest("POST", "/submissions")
        head = {**bearer(token), "Content-Type": "text/csv", "Content-Length": str(len(content))}
        for name, value in head.items():
            connection.putheader(name, value)
        connection.endheaders()
        if begin:
            connection.send(content)
        status = connection.getresponse().status
        connection.close()
        return status, time.monotonic() - began

    try:
        send(hidden, body[:100], begin=False)
        in_threads(lambda i: took.append(_answered(send(tokens[i], body))), TABLES)
        about = Path(f"/proc/{server.process.pid}/status").read_text()
        peak = int(about.partition("VmHWM:")[2].split()[0]) / 1_024
        refused = [send(hidden, body[:9_000_000], begin=False) for _ in range(10)]
    finally:
        server.kill()
    assert {status for status, _ in refused} == {403}
    assert peak < 1_000, peak
    return (
        f"{TABLES} of {len(body) / 1e6:.0f} MB: {min(took):.0f} to {max(took):.0f} s, "
        f"{peak:.0f} MB; a hidden account is refused within {max(x for _, x in refused):.3f} s"
    )


def _answered(sent: tuple[int, float]) -> float:
    assert sent[0] == 200, sent
    return sent[1]


def main() -> None:
    """Run all six, five of them for a fifth of the time each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=200.0, help="for all together")
    parser.add_argument("--only", default="", help="part of a name, such as kill")
    asked = parser.parse_args()
    seconds = asked.seconds / 5
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        for name, work in (("load", load), ("crowd", crowd), ("kill -9", kills), ("fuzz", fuzz),
                           ("slow heads", slow_heads), ("tables", tables)):  # fmt: skip
            if asked.only in name:
                print(f"{name}: {work(place, seconds)}", flush=True)
        place.board.close()


if __name__ == "__main__":
    main()
