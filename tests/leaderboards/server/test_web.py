"""The board over HTTP: clear answers, and nothing of labels or tokens in what is said or logged."""

from __future__ import annotations

import asyncio
import json
import logging
import time

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.server import contest, open_board
from privacygauge.leaderboards.server.accounts import add_account, renew_token, revoke_token
from privacygauge.leaderboards.server.database import ACCOUNT, writing
from privacygauge.leaderboards.server.rescoring import void_submission
from privacygauge.leaderboards.server.running import HEADERS, JsonLines
from privacygauge.leaderboards.server.standings import introduction
from privacygauge.leaderboards.server.web import Rates, application
from tests.leaderboards.server.serving import bearer, labels_of, npy

N = 60
M = 3
TRUTH = labels_of(0, N, M)
NPY = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def board(tmp_path):
    board = open_board(
        tmp_path / "board.sqlite", TRUTH, n_classes=M, guard="exact", budget=Budget(9, 4)
    )
    yield board
    board.close()


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A client and a token of a board that no test changes."""
    file = tmp_path_factory.mktemp("asked") / "board.sqlite"
    board = open_board(file, TRUTH, n_classes=M, guard="exact", budget=Budget(9, 4))
    with TestClient(application(board, Rates(10**9, 10**9))) as client:
        yield client, add_account(board.engine, "ann")
    board.close()


@pytest.fixture
def token(board):
    return add_account(board.engine, "ann")


@pytest.fixture
def client(board):
    # Closed at once, so that no connection is left open when the test ends.
    with TestClient(application(board)) as client:
        yield client


@pytest.mark.slow
def test_labels_in_either_form(client, token):
    first = client.post("/submissions", json=TRUTH.tolist(), headers=bearer(token))
    second = client.post("/submissions", content=npy(TRUTH), headers=bearer(token) | NPY)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json()["score"] == second.json()["score"] == 1.0
    assert (first.json()["account"], second.json()["number"]) == ("ann", 2)
    assert first.json()["digest"] == second.json()["digest"]
    own = client.get("/submissions", headers=bearer(token)).json()
    assert own == [each.json() | {"voided": False} for each in (first, second)]
    assert client.get("/submissions?after=1", headers=bearer(token)).json() == own[1:]
    assert client.get("/account", headers=bearer(token)).json() == {
        "account": 2,
        "total": 7,
        "per_day": None,
        "today": None,
    }


def test_keys_and_budgets(client, token):
    def post(labels, key):
        head = bearer(token) | {"Idempotency-Key": key}
        return client.post("/submissions", json=labels.tolist(), headers=head)

    first = post(TRUTH, "a")
    assert post(TRUTH, "a").json() == first.json()
    other = post(labels_of(1, N, M), "a")
    assert other.status_code == 409
    assert "take a new key" in other.json()["detail"]
    assert [post(TRUTH, key).status_code for key in "bcde"] == [200, 200, 200, 403]
    assert post(TRUTH, "a").json() == first.json()
    assert "used up: 4 of 4" in post(TRUTH, "e").json()["detail"]


@pytest.mark.parametrize(
    ("content", "headers", "status", "said"),
    [
        (b"[0, 1]", {}, 422, "labels must have 60 rows, got 2"),
        (json.dumps([3] * N), {}, 422, "labels must be in 0..2, got 3 in row 0"),
        (json.dumps([float("nan")] * N), {}, 422, "got nan in row 0"),
        (b"[0", {}, 422, "the body must be JSON"),
        (npy(np.zeros(N + 1, int)), NPY, 422, "must have 60 rows, got 61"),
        (b"x" * 20_000, NPY, 413, "at most 5056 bytes"),
        (npy(np.array(["a long name of a class"] * N)), NPY, 413, "labels.astype('int64')"),
        ((b"x" * 1_000 for _ in range(20)), NPY, 413, "at most 5056 bytes"),
        (b"[]", {"Content-Type": "text/plain"}, 415, "Content-Type must be application/json"),
        (b"[]", {"Idempotency-Key": "k" * 201}, 422, "idempotency-key: String should have"),
        (b"[]", {"Authorization": "Bearer wrong"}, 401, "with a token of this board"),
        (b"[]", {"Authorization": "Bearer \xff"}, 401, "with a token of this board"),
        (b"[]", {"Authorization": "Basic YTpi"}, 401, "with a token of this board"),
    ],
    ids=range(13),
)
def test_what_is_wrong_is_said(asked, content, headers, status, said):
    client, token = asked
    head = bearer(token) | {"Content-Type": "application/json"} | headers
    head = {name: value.encode("latin-1") for name, value in head.items()}
    answer = client.post("/submissions", content=content, headers=head)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]
    assert client.get("/board").json()["used"] == 0


def test_tokens_are_checked_in_full(client, board, token):
    name, _, secret = token.partition(".")
    other = add_account(board.engine, "bea").partition(".")[2]
    wrong = ("", ".", name, f"{name}.", f"{name}.{secret[:-1]}", f"{name}.{other}", f"x.{secret}")
    for text in (*wrong, f"{token}0", f"{name}.{secret.upper()}", "\0.\0"):
        head = {"Authorization": f"Bearer {text}".encode()}
        assert client.get("/account", headers=head).status_code == 401
    assert client.get("/account", headers=bearer(token)).status_code == 200


@pytest.mark.slow
def test_renewed_and_revoked_tokens(client, board, token):
    new = renew_token(board.engine, "ann")
    assert client.get("/account", headers=bearer(token)).status_code == 401
    assert client.get("/account", headers=bearer(new)).status_code == 200
    revoke_token(board.engine, "ann")
    assert client.get("/account", headers=bearer(new)).status_code == 401


def test_too_many_requests(board, token):
    with TestClient(application(board, Rates(account=2, address=5))) as client:
        sent = [client.post("/submissions", json=[0], headers=bearer(token)) for _ in range(3)]
        assert [answer.status_code for answer in sent] == [422, 422, 429]
        assert int(sent[2].headers["Retry-After"]) >= 1
        assert [client.get("/health").status_code for _ in range(3)] == [200, 200, 429]


def test_the_page_escapes_and_loads_nothing_from_elsewhere(client, board):
    empty = client.get("/")
    assert "Nothing has been submitted yet" in empty.text
    name = "A<script>alert(1)</script>&\"'"
    board.admit(name)
    board.submit(name, TRUTH)
    page = client.get("/").text
    assert "A&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#34;&#39;" in page
    assert "<script" not in page
    assert "://" not in page + client.get("/style.css").text
    assert "url(" not in client.get("/style.css").text
    assert ">1.000<" in page
    assert ">8<" in page.replace(",", "")  # left in total


@pytest.mark.parametrize("path", ["/", "/style.css", "/board", "/health", "/none", "/account"])
def test_every_answer_has_the_headers(asked, path):
    headers = asked[0].get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self';")
    assert headers["Cache-Control"] == "no-store"
    assert "server" not in headers


def test_a_database_that_fails_is_said_and_not_shown(client, board, token):
    with board.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE board RENAME TO gone")
    answer = client.post("/submissions", json=TRUTH.tolist(), headers=bearer(token))
    assert answer.status_code == 503
    assert "with the same Idempotency-Key" in answer.json()["detail"]


def test_a_failure_is_said_like_everything_else(board, token, monkeypatch):
    def failing(*_args, **_options):
        raise ZeroDivisionError("a detail of ours")

    monkeypatch.setattr(type(board), "submit", failing)
    with TestClient(application(board), raise_server_exceptions=False) as client:
        answer = client.post("/submissions", json=TRUTH.tolist(), headers=bearer(token))
        seen = client.get("/health").headers
    assert answer.status_code == 500
    assert answer.json()["detail"].startswith("the server failed")
    assert "ours" not in answer.text
    for name in HEADERS:
        assert answer.headers[name] == seen[name] == HEADERS[name]


@pytest.mark.parametrize("path", ["/board/", "/submissions/", "/account/", "/health/"])
def test_no_answer_sends_to_another_host(asked, path):
    answer = asked[0].get(path, headers={"Host": "elsewhere.example"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "elsewhere" not in answer.text + str(answer.headers)


@pytest.mark.slow
def test_first_come_first_served(board, monkeypatch):
    """12 at once: one is at work, and the others have their turns in the order of arrival."""
    arrived = []
    served = []
    at_work = 0
    most = 0
    plain = type(board).submit

    class Turn(asyncio.Lock):
        async def acquire(self):
            arrived.append(asyncio.current_task().get_name())
            return await super().acquire()

    def watched(self, account, labels, **options):
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        served.append(account)
        time.sleep(0.005)
        try:
            return plain(self, account, labels, **options)
        finally:
            at_work -= 1

    monkeypatch.setattr(type(board), "submit", watched)
    names = [f"team {i}" for i in range(12)]
    tokens = {name: add_account(board.engine, name) for name in names}
    app = application(board)
    truth = TRUTH.tolist()
    # Of the kind that the server made, with notes.
    assert type(app.state.turn) is asyncio.Lock
    app.state.turn = Turn()

    async def all_at_once():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://board") as client:

            def ask(name):
                return client.post("/submissions", json=truth, headers=bearer(tokens[name]))

            tasks = [asyncio.create_task(ask(name), name=name) for name in names]
            return await asyncio.gather(*tasks)

    answers = asyncio.run(all_at_once())
    assert {answer.status_code for answer in answers} == {200, 403}
    assert (most, len(served)) == (1, 12)
    assert served == arrived


def test_fifty_thousand_labels(tmp_path):
    truth = labels_of(0, 50_000, 1_000)
    board = open_board(tmp_path / "board.sqlite", truth, n_classes=1_000, guard="exact")
    token = add_account(board.engine, "ann")
    with TestClient(application(board)) as client:
        for content, kind in (
            (npy(truth), "octet-stream"),
            (json.dumps(truth.tolist(), indent=1), "json"),
        ):
            head = bearer(token) | {"Content-Type": f"application/{kind}"}
            assert client.post("/submissions", content=content, headers=head).json()["score"] == 1
    board.close()


def test_lines_of_the_log_say_who_and_what_but_no_token_and_no_label(client, token, caplog):
    with caplog.at_level(logging.INFO, "privacygauge.server"):
        client.post(f"/submissions?claimed=0.5&t={token}", json=[0, 7], headers=bearer(token))
        client.get(f"/{token}")
    lines = [JsonLines().format(r) for r in caplog.records if r.name == "privacygauge.server"]
    first, second = map(json.loads, lines)
    assert (first["method"], first["path"], first["status"]) == ("POST", "/submissions", 422)
    assert (first["account"], first["address"]) == ("ann", "testclient")
    assert (second["path"], second["status"]) == ("unknown", 404)
    assert token.partition(".")[2] not in "".join(lines)
    assert "7" not in f"{first['path']}{first['status']}"


def test_log_lines_of_other_messages():
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "a %s", ("b",), None)
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["message"]) == ("error", "a b")


def test_a_team_sees_that_a_submission_was_voided(board, client, token):
    for label in (0, 1):
        client.post("/submissions", json=[label] * N, headers=bearer(token))
    void_submission(board, 1, "a mistake")
    own = client.get("/submissions", headers=bearer(token)).json()
    assert [each["voided"] for each in own] == [True, False]
    client.post("/team/sign-in", data={"token": token})
    page = client.get("/team").text
    assert page.count("voided by the owner") == 1


@pytest.mark.parametrize(("per_day", "throttle"), [(3, None), (None, 2), (3, 1), (1, 3)])
def test_what_is_left_today_is_the_account_s_own(board, client, token, per_day, throttle):
    """The board's limit, and what an alert left to the account, whichever is less."""
    if per_day is not None:
        contest.describe(board.engine, per_day=per_day)
    with writing(board.engine) as connection:
        connection.execute(update(ACCOUNT).values(per_day=throttle))
    most = min(limit for limit in (per_day, throttle) if limit is not None)
    client.post("/team/sign-in", data={"token": token})
    for made in range(most):
        left = client.get("/account", headers=bearer(token)).json()
        assert left == {
            "account": 4 - made,
            "total": 9 - made,
            "per_day": most,
            "today": most - made,
        }
        page = client.get("/team").text
        assert f"<dt>Allowed per day</dt><dd>{most}</dd>" in page
        assert f"<dt>Left today</dt><dd>{most - made}</dd>" in page
        assert client.post("/submissions", json=[0] * N, headers=bearer(token)).status_code == 200
    assert client.get("/account", headers=bearer(token)).json()["today"] == 0
    refused = client.post("/submissions", json=[0] * N, headers=bearer(token))
    limit = "1 submission a day, and has made it" if most == 1 else f"{most} submissions a day"
    assert f"ann may make {limit}" in refused.json()["detail"]


def test_one_submission_is_not_several(tmp_path):
    board = open_board(tmp_path / "one.sqlite", TRUTH, guard="exact", budget=Budget(1, 1))
    board.admit("ann")
    assert board.submit("ann", TRUTH).number == 1
    assert "1 submission so far" in introduction(board)
    for budget, said in (
        (Budget(1, 1), "ann is used up: 1 of 1 submission was answered"),
        (Budget(1, 2), "board is used up: 1 submission was answered"),
    ):
        again = open_board(tmp_path / "one.sqlite", TRUTH, budget=budget)
        with pytest.raises(BudgetError, match=said):
            again.submit("ann", TRUTH)
        again.close()
    with pytest.raises(InputError, match="at most 1 submission can be chosen, got 2"):
        contest.choose_submissions(board.engine, "ann", [1, 2], "2026-01-01")
    board.close()
