"""PostgreSQL: restarts, an append-only log, and two scoring servers on it at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.server import open_board, score
from privacygauge.leaderboards.server.accounts import add_account
from privacygauge.leaderboards.server.standings import log
from tests.leaderboards.server.serving import (
    Server,
    key_of,
    labels_of,
    npy,
    post,
    post_until_answered,
    replayed,
    replayed_apart,
)
from tests.thorough import times

pytestmark = pytest.mark.slow
N = 500
M = 4
TRUTH = labels_of(0, N, M)


def test_answers_are_the_guards_through_restarts(database):
    rng = np.random.default_rng(0)
    sent = []
    got = []
    key = b""
    for j in range(6):
        board = open_board(database, TRUTH, guard="ladder")
        board.admit("Änne")
        sent.append(np.where(rng.random(N) < 0.1 * j, TRUTH, rng.integers(0, M, N)))
        got.append(board.submit("Änne", sent[-1], key=str(j)).score)
        assert board.submit("Änne", sent[-1], key=str(j)).score == got[-1]
        key = key_of(board, "Änne")
        board.close()
    assert got == replayed(guard_named("ladder"), TRUTH, M, sent, key)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE submission SET score = 1", "DELETE FROM submission", "TRUNCATE submission"],
)
def test_the_log_takes_additions_only(database, statement):
    board = open_board(database, TRUTH, guard="exact")
    board.admit("ann")
    receipt = board.submit("ann", TRUTH)
    with (
        pytest.raises(DatabaseError, match="submissions are only ever added"),
        board.engine.begin() as connection,
    ):
        connection.execute(text(statement))
    assert list(log(board.engine)) == [receipt]
    board.close()


def test_processes_that_begin_at_once_begin_one_board(database):
    start = threading.Barrier(6, timeout=60)

    def begun(i: int) -> float:
        start.wait()
        return score(TRUTH, account="ann", labels=TRUTH, database=database, key=str(i % 3))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(begun, range(6))) == [1.0] * 6
    board = open_board(database, TRUTH)
    assert [r.number for r in log(board.engine)] == [1, 2, 3]
    board.close()


def test_two_servers_share_budgets_and_keys(database, tmp_path):
    """Clients ask both servers for the same at once; one server is killed, and comes back."""
    clients = times(24)
    total = times(130)
    (tmp_path / "labels.npy").write_bytes(npy(TRUTH))
    arguments = ("--labels", str(tmp_path / "labels.npy"), "--database", database)
    limits = ("--guard", "ladder", "--per-account", "6", "--total", str(total))
    servers = [Server(*arguments, *limits), Server(*arguments)]
    board = open_board(database, TRUTH)
    tokens = [add_account(board.engine, f"team{i}") for i in range(clients)]
    urls = [server.url for server in servers]

    def client(i: int):
        got = []
        for j in range(8):
            labels = np.where(np.arange(N) % 24 <= j, TRUTH, labels_of(100 * i + j, N, M))
            with ThreadPoolExecutor(2) as both:
                answers = list(
                    both.map(
                        lambda url, j=j, labels=labels: post_until_answered(
                            url, tokens[i], labels, key=str(j)
                        ),
                        urls,
                    )
                )
            got.append((labels, answers))
        return got

    with ThreadPoolExecutor(clients) as pool:
        work = [pool.submit(client, i) for i in range(clients)]
        time.sleep(1.0)
        servers[1].kill()
        servers[1] = Server(*arguments, port=servers[1].port)
        rounds = [pair for job in work for pair in job.result()]
    refused = post(urls[1], tokens[0], TRUTH)
    assert [server.stop() for server in servers] == [0, 0]
    assert refused[0] == 403
    receipts = {}
    for labels, answers in rounds:
        taken = [tuple(answer.items()) for status, answer in answers if status == 200]
        assert len(set(taken)) <= 1  # the same answer from both
        assert len(taken) in (0, 2)
        receipts |= {dict(receipt)["number"]: (dict(receipt), labels) for receipt in taken}
    assert sorted(receipts) == list(range(1, total + 1))
    kept = list(log(board.engine))
    assert [vars(r) for r in kept] == [receipts[k][0] for k in range(1, total + 1)]
    order = [(receipts[k][0]["account"], receipts[k][1]) for k in range(1, total + 1)]
    assert [r.score for r in kept] == replayed_apart(board, order)
    accounts = [r.account for r in kept]
    assert max(map(accounts.count, set(accounts))) <= 6
    board.close()
