"""A server whose disk is full or whose database cannot be written: refused, and nothing lost."""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from privacygauge.leaderboards.mechanism import content
from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.accounts import add_account, hide_account
from privacygauge.leaderboards.server.standings import log, standings
from privacygauge.leaderboards.server.web import application
from tests.leaderboards.server.serving import Server, bearer, labels_of, post, replayed_apart

N = 2_000
M = 5
TRUTH = labels_of(0, N, M)
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of another process need Linux")


def board_with(folder: Path, *teams: str) -> tuple[list[str], dict[str, str]]:
    """Return the options of a server of a new board, and its teams' tokens."""
    np.save(folder / "labels.npy", TRUTH)
    database = str(folder / "board.sqlite")
    board = open_board(database, TRUTH, keep=True)
    tokens = {name: add_account(board.engine, name) for name in teams}
    board.close()
    return ["--labels", str(folder / "labels.npy"), "--database", database], tokens


def largest_file(server: Server, size: int) -> None:
    """Limit the size of files that the server can write, as a full disk does."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def sent(i: int, j: int) -> np.ndarray:
    rng = np.random.default_rng([i, j])
    return np.where(rng.random(N) < 0.05 * j, TRUTH, rng.integers(0, M, N))


@linux
@pytest.mark.slow
def test_a_full_disk_under_load_loses_nothing(tmp_path):
    """Eight clients; the disk is full for a second, twice, and what was answered stays."""
    arguments, tokens = board_with(tmp_path, *(f"team{i}" for i in range(8)))
    server = Server(*arguments)
    refused = []
    receipts = []

    def client(i: int) -> None:
        for j in range(12):
            while True:
                status, answer = post(server.url, tokens[f"team{i}"], sent(i, j), str(j))
                if status == 200:
                    receipts.append(answer)
                    break
                refused.append((status, answer["detail"]))
                time.sleep(0.1)
            time.sleep(0.15)

    try:
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(client, i) for i in range(8)]
            for _ in range(2):
                time.sleep(0.5)
                largest_file(server, 4_096)
                time.sleep(1.0)
                largest_file(server, resource.RLIM_INFINITY)
            for each in asked:
                each.result()
    finally:
        server.kill()
    assert refused
    assert {status for status, _ in refused} == {503}
    assert {detail for _, detail in refused} == {
        "the database does not answer: send it again, with the same Idempotency-Key"
    }
    board = open_board(arguments[3], TRUTH)
    kept = list(log(board.engine))
    assert [each.number for each in kept] == list(range(1, 8 * 12 + 1))
    assert {tuple(vars(each).items()) for each in kept} == {
        tuple(answer.items()) for answer in receipts
    }
    digests = {
        hashlib.sha256(content(row)).hexdigest(): row
        for row in (sent(i, j) for i in range(8) for j in range(12))
    }
    order = [(each.account, digests[each.digest]) for each in kept]
    assert [each.score for each in kept] == replayed_apart(board, order)
    board.close()


def test_a_database_that_cannot_be_written_is_read_on(tmp_path):
    board_with(tmp_path, "ann")
    board = open_board(tmp_path / "board.sqlite", TRUTH)
    token = add_account(board.engine, "bea")
    read_only = [False]

    @event.listens_for(board.engine, "checkout")
    def protect(connection, *_):
        connection.execute(f"PRAGMA query_only = {int(read_only[0])}")

    def send(client, row):
        head = bearer(token) | {"Idempotency-Key": str(row)}
        return client.post("/submissions", json=sent(0, row).tolist(), headers=head)

    with TestClient(application(board), raise_server_exceptions=False) as client:
        first = send(client, 1)
        assert first.status_code == 200
        before = standings(board)
        read_only[0] = True
        for _ in range(3):
            answer = send(client, 2)
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "5"
            assert "does not answer: send it again" in answer.json()["detail"]
        for path in ("/", "/board", "/health", "/team"):
            assert client.get(path).status_code == 200
        kept = client.get("/submissions", headers=bearer(token)).json()
        assert kept == [first.json() | {"voided": False}]
        assert standings(board) == before
        read_only[0] = False
        second = send(client, 2)
        assert (second.status_code, second.json()["number"]) == (200, 2)
    order = [("bea", sent(0, row)) for row in (1, 2)]
    assert [each.score for each in log(board.engine)] == replayed_apart(board, order)
    board.close()


@linux
def test_a_server_on_a_full_disk_ends_with_one_line(tmp_path):
    np.save(tmp_path / "labels.npy", TRUTH)
    arguments = ["--labels", str(tmp_path / "labels.npy"), "--database", str(tmp_path / "b.sqlite")]
    found = subprocess.run(
        [sys.executable, "-m", "privacygauge", "holdout", "serve", *arguments, "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (8_192, resource.RLIM_INFINITY)
        ),
    )
    assert found.returncode == 2, found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert "Traceback" not in found.stderr


@linux
@pytest.mark.slow
def test_many_tables_at_once_take_the_memory_of_few_and_a_hidden_account_s_is_not_read(tmp_path):
    n = 300_000
    truth = labels_of(1, n, 10)
    names = [f"img_{i:06d}" for i in range(n)]
    lines = "\n".join(f"{name},{label}" for name, label in zip(names, truth, strict=True))
    (tmp_path / "labels.csv").write_text(f"id,label\n{lines}\n")
    body = (tmp_path / "labels.csv").read_bytes()
    database = str(tmp_path / "board.sqlite")
    arguments = ["--labels", str(tmp_path / "labels.csv"), "--database", database]
    Server(*arguments).stop()
    board = open_board(database, truth)
    tokens = [add_account(board.engine, f"team{i}") for i in range(20)]
    hidden = add_account(board.engine, "hidden")
    hide_account(board.engine, "hidden", "two accounts")
    board.close()
    server = Server(*arguments)

    def peak() -> int:
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        return 1_024 * int(status.partition("VmHWM:")[2].split()[0])

    def send(token: str) -> tuple[int, float]:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=120)
        began = time.monotonic()
        connection.putrequest("POST", "/submissions")
        head = bearer(token) | {"Content-Type": "text/csv", "Content-Length": str(len(body))}
        for name, value in head.items():
            connection.putheader(name, value)
        connection.endheaders()
        if token != hidden:
            connection.send(body)
        # A hidden account has its answer before it sends anything.
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, time.monotonic() - began

    try:
        urllib.request.urlopen(f"{server.url}/health").close()
        with ThreadPoolExecutor(20) as pool:
            assert {status for status, _ in pool.map(send, tokens[:4])} == {200}
            few = peak()
            assert {status for status, _ in pool.map(send, tokens)} == {200}
        # Parsed at once, they would take several times their bytes.
        assert peak() - few < 1.25 * len(tokens) * len(body)
        refusals = [send(hidden) for _ in range(5)]
    finally:
        server.kill()
    assert {status for status, _ in refusals} == {403}
    assert min(seconds for _, seconds in refusals) < 0.1
