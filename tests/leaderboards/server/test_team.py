"""The team's page, and what the server refuses before it reads a body."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from fastapi.testclient import TestClient

from privacygauge.errors import InputError
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.server import contest, open_board
from privacygauge.leaderboards.server.accounts import add_account, hide_account
from privacygauge.leaderboards.server.rescoring import void_submission
from privacygauge.leaderboards.server.web import application
from tests.leaderboards.server.serving import SRC, bearer, labels_of, npy

N = 60
M = 3
TRUTH = labels_of(0, N, M)


@pytest.fixture
def board(tmp_path):
    board = open_board(
        tmp_path / "board.sqlite", TRUTH, n_classes=M, guard="exact", budget=Budget(9, 3),
        public=0.5,
    )  # fmt: skip
    yield board
    board.close()


def test_a_team_signs_in_uploads_and_chooses(board):
    token = add_account(board.engine, "ann & co")
    with TestClient(application(board)) as client:
        assert "Token of your team" in client.get("/team").text
        assert client.post("/team/sign-in", data={"token": "wrong"}).status_code == 401
        signed = client.post("/team/sign-in", data={"token": token}, follow_redirects=False)
        assert signed.status_code == 303
        cookie = signed.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        page = client.get("/team").text
        assert "ann &amp; co" in page
        assert token not in page
        assert "<script" not in page
        key = page.partition('name="key" value="')[2].partition('"')[0]

        def send(name, content):
            return client.post("/team/submissions", files={"file": (name, content)},
                               data={"key": key})  # fmt: skip

        done = send("mine.npy", npy(TRUTH))
        assert done.status_code == 200
        # A reload sends the form again.
        assert send("mine.npy", npy(TRUTH)).text.count('for the end"') == 1
        assert "must end in .csv" in send("mine.txt", b"1").text
        rows = "".join(f"{i},{label}\n" for i, label in enumerate(TRUTH))
        key = "other"
        assert send("mine.csv", f"id,label\n{rows}".encode()).status_code == 200
        foreign = client.post(
            "/team/finals", data={"number": "2"}, headers={"Sec-Fetch-Site": "cross-site"}
        )
        assert " checked" not in foreign.text
        chosen = client.post("/team/finals", data={"number": "2"})
        assert chosen.text.count(" checked") == 1
        client.post("/team/sign-out")
        assert "Token of your team" in client.get("/team").text


def test_a_voided_submission_cannot_be_chosen_on_the_page(board):
    token = add_account(board.engine, "ann")
    for _ in range(2):
        board.submit("ann", TRUTH)
    contest.choose_submissions(board.engine, "ann", [1], "2026-01-01")
    void_submission(board, 1, "leaked labels")
    with TestClient(application(board)) as client:
        client.post("/team/sign-in", data={"token": token})
        page = client.get("/team").text
    rows = [row for row in page.split("<tr>") if "<time" in row]
    assert ['type="checkbox"' in row for row in rows] == [True, False]
    assert ["voided by the owner" in row for row in rows] == [False, True]
    assert "<del>1.000</del>" in rows[1]
    assert " checked" not in page


def test_what_does_not_count_is_not_read(board):
    """The body is never parsed: it is none."""
    token = add_account(board.engine, "ann")
    junk = {"content": b"x" * 900, "headers": bearer(token) | {"Content-Type": "text/csv"}}
    with TestClient(application(board)) as client:
        assert client.post("/submissions", **junk).status_code == 422
        hide_account(board.engine, "ann", "a test")
        refused = client.post("/submissions", **junk)
        assert (refused.status_code, "taken off" in refused.json()["detail"]) == (403, True)


def test_a_key_that_was_answered_is_answered_when_the_budget_is_spent(board):
    token = add_account(board.engine, "ann")
    with TestClient(application(board)) as client:

        def send(key):
            head = bearer(token) | {"Idempotency-Key": key}
            return client.post("/submissions", json=TRUTH.tolist(), headers=head)

        assert [send(key).status_code for key in "abcd"] == [200, 200, 200, 403]
        assert send("a").json()["number"] == 1
        contest.set_phase(board.engine, "main", "2020-01-01", "2020-01-02")
        assert "closed at" in send("e").json()["detail"]


def test_head_is_answered(board):
    with TestClient(application(board)) as client:
        for path in ("/", "/board", "/health", "/style.css", "/team"):
            answer = client.head(path)
            assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("name", ["Ann", "\u0430nn", "a\u0301nn", "A nn".replace(" ", "")])
def test_names_that_look_alike_are_refused(board, name):
    add_account(board.engine, "ann")
    with pytest.raises(InputError, match="looks like that of the account 'ann'"):
        add_account(board.engine, name)
    add_account(board.engine, "anna")


def test_receipts_have_no_digits_of_the_arithmetic(tmp_path):
    board = open_board(tmp_path / "b.sqlite", TRUTH, n_classes=M, guard="ladder:0.1")
    token = add_account(board.engine, "ann")
    sent = np.where(np.arange(N) % 3, TRUTH, (TRUTH + 1) % M)
    with TestClient(application(board)) as client:
        score = client.post("/submissions", json=sent.tolist(), headers=bearer(token)).json()
    assert str(score["score"]) == "0.7"
    board.close()


@pytest.mark.slow
def test_an_export_is_for_its_owner_alone(board, tmp_path):
    file = tmp_path / "out" / "history.csv"
    call = [sys.executable, "-m", "privacygauge", "holdout", "serve", "export", str(file)]
    call += ["--database", str(tmp_path / "board.sqlite")]
    subprocess.run(call, check=True, env=os.environ | {"PYTHONPATH": str(SRC)})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
