"""`privacygauge holdout serve`: what its owner types, and one line for what is wrong."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from privacygauge.cli.serve import app
from privacygauge.errors import InputError
from privacygauge.holdout.history.reading import read_history
from privacygauge.holdout.oracle import Budget
from privacygauge.holdout.server import extra, open_board
from privacygauge.holdout.server.running import address, listening
from tests.holdout.server.serving import labels_of

TRUTH = labels_of(0, 60, 3)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("labels.npy", TRUTH)

    def called(*arguments: str) -> str:
        app(list(arguments), standalone_mode=False)
        return capsys.readouterr().out

    return called


def test_an_account_from_token_to_export(run):
    token = run("account", "ann").strip()
    assert len(token.partition(".")[2]) == 64
    with pytest.raises(InputError, match="there is an account ann already"):
        run("account", "ann")
    assert run("token", "ann").strip() != token
    with pytest.raises(InputError, match="holds no board yet: start the server first"):
        run("export", "-")
    board = open_board("leaderboard.sqlite", TRUTH, guard="exact")
    receipt = board.submit("ann", TRUTH)
    board.close()
    (line,) = run("export", "-").splitlines()
    expected = {"time": receipt.time, "account": "ann", "score": 1.0, "digest": receipt.digest}
    assert json.loads(line) == expected
    run("export", "history.csv")
    with open("history.csv", encoding="utf-8") as file:
        assert file.read() == (
            f"time,account,score,digest\n{receipt.time},ann,1.0,{receipt.digest}\n"
        )
    assert read_history(Path("history.csv"), n=60).scores.tolist() == [1.0]
    run("revoke", "ann")
    (row,) = json.loads(run("accounts", "--json", "-"))
    assert row == {"account": "ann", "submissions": 1, "token": "none"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--labels must name the file"),
        (["--labels", "none.npy"], "none.npy does not exist"),
        (["--labels", "labels.npy", "--guard", "wall"], "guard must be one of exact"),
        (["--labels", "labels.npy", "--classes", "2"], "labels must be one or more integers"),
        (["--labels", "labels.npy", "--total", "-1"], "total must be at least 0"),
        (["--labels", "labels.npy", "--port", "70000"], r"port must be in 0\.\.65535, got 70000"),
        (["--labels", "labels.npy", "--host", "192.0.2.1"], "cannot be used"),
        (["--labels", "labels.npy", "--rate", "0"], "requests a minute must be at least 1"),
        (["token", "bob"], "there is no account bob"),
        (["export", "history.txt"], "FILE must end in .csv or .jsonl"),
    ],
    ids=str,
)
def test_what_is_wrong(run, arguments, said):
    with pytest.raises(InputError, match=said):
        run(*arguments)


def test_a_port_that_is_taken_changes_nothing(run, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be used"):
            run("--labels", "labels.npy", "--port", port)
    assert not (tmp_path / "leaderboard.sqlite").exists()


def test_small_answers_are_sent_at_once():
    """As asyncio does for sockets that say they are TCP; others wait 40 ms for more to send."""
    with listening("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        assert address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_missing_extra(run, monkeypatch):
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "fastapi" else name)
    with pytest.raises(InputError, match="needs fastapi: pip install 'privacygauge\\[serve\\]'"):
        run("--labels", "labels.npy")
    with pytest.raises(InputError, match="needs fastapi"):
        open_board("board.sqlite", TRUTH, budget=Budget())
