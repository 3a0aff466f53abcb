"""`privacygauge holdout serve`: what its owner types, and one line for what is wrong."""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError, OutputError
from privacygauge.leaderboards import server
from privacygauge.leaderboards.bounds import frequency_bias, transcript_nats
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.history.overfitting import final_gaps, overfitting
from privacygauge.leaderboards.history.reading import read_history
from privacygauge.leaderboards.history.record import disagreeing
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.serve_command import app
from privacygauge.leaderboards.server import contest, open_board, rescoring
from privacygauge.leaderboards.server.accounts import add_account
from privacygauge.leaderboards.server.database import connect
from privacygauge.leaderboards.server.request_parsing import read_hidden
from privacygauge.leaderboards.server.running import address, listening
from privacygauge.leaderboards.server.standings import ending, promise, standings
from tests.leaderboards.server.serving import labels_of, served

TRUTH = labels_of(0, 60, 3)
COMMAND = get_command(app)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("labels.npy", TRUTH)

    def called(*arguments: str) -> str:
        COMMAND(list(arguments), standalone_mode=False)
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
    beside = {"guard": "exact", "metric": "accuracy", "voided": False, "sent_by": "ann"}
    assert json.loads(line) == vars(receipt) | beside
    run("export", "history.csv")
    with open("history.csv", encoding="utf-8") as file:
        assert file.read() == (
            "number,time,account,score,about,digest,guard,metric,voided,sent_by\n"
            f"1,{receipt.time},ann,1.0,1,{receipt.digest},exact,accuracy,False,ann\n"
        )
    history = read_history(Path("history.csv"), n=60)
    assert (history.scores.tolist(), history.guard, history.exact) == ([1.0], "exact", True)
    run("revoke", "ann")
    (row,) = json.loads(run("accounts", "--json", "-"))
    assert row == {
        "account": "ann",
        "submissions": 1,
        "token": "none",
        "hidden": "no",
        "merged_into": None,
    }


def test_an_export_says_that_private_scores_wait_and_ties_have_no_correlation(run, capsys):
    board = open_board("leaderboard.sqlite", TRUTH, guard="exact", public=0.5)
    for name in ("ann", "bea"):
        board.admit(name)
        board.submit(name, TRUTH)
    board.close()

    def said(*arguments: str) -> str:
        COMMAND(list(arguments), standalone_mode=False)
        return capsys.readouterr().err

    assert "private scores are left out until" in said("export", "history.csv", "--exact")
    assert "export --private" in said("export", "history.csv", "--exact")
    assert said("export", "history.csv") == ""
    assert said("export", "history.csv", "--private") == ""
    # Everybody is right about everything: there is no order to correlate.
    results = said("results")
    assert "rank correlation unknown, as all are level" in results
    assert "nan" not in results
    run("publish")
    assert said("export", "history.csv", "--exact") == ""


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_clock_that_was_set_back_changes_no_order(run, monkeypatch, form):
    """The log is in the order of its numbers, and so is the history that is read from it."""
    board = open_board("leaderboard.sqlite", TRUTH, guard="ladder")
    times = [f"2026-01-0{day}T00:00:00.000000+00:00" for day in (3, 1, 2, 4)]
    for name, time in zip(("ann", "bea", "cat", "dan"), times, strict=True):
        monkeypatch.setattr("privacygauge.leaderboards.server.board.now", lambda time=time: time)
        board.admit(name)
        board.submit(name, TRUTH)
    assert standings(board).last == times[3]
    board.close()
    run("export", f"history.{form}")
    history = read_history(Path(f"history.{form}"), n=60, n_classes=3)
    assert history.accounts == ("ann", "bea", "cat", "dan")
    assert (history.guard, history.exact) == ("ladder", False)
    found = audit_leaderboard(history)
    assert any("answers of the guard ladder" in warning for warning in found.origin.warnings)


def test_an_account_is_hidden_and_shown_again(run):
    run("account", "ann")
    run("hide", "ann", "--reason", "two accounts")
    assert json.loads(run("accounts", "--json", "-"))[0]["hidden"] == "yes"
    run("show", "ann", "--reason", "one after all")
    rows = json.loads(run("actions", "--json", "-"))
    assert [(row["action"], row["reason"]) for row in rows] == [
        ("hide", "two accounts"),
        ("show", "one after all"),
    ]


@pytest.mark.parametrize("scope", ["account", "board"])
def test_the_promise_is_the_guarantee(tmp_path, scope):
    """Of all that the budgets allow to the accounts there are, or of the nats to any number."""

    def promised(**limits):
        file = tmp_path / f"{'-'.join(limits)}.sqlite"
        board = open_board(file, truth, guard="ladder", scope=scope, budget=Budget(**limits))
        for name in ("ann", "bea", "cat"):
            board.admit(name)
        said = promise(board, standings(board))
        board.close()
        return said

    truth = labels_of(0, 1_000, 3)
    most = np.bincount(truth).max() / 1_000
    ladder = guard_named("ladder")
    apart = 3 if scope == "account" else None
    many = "any number of accounts without"
    three = "3 accounts without"
    for limits, k in (({"total": 40}, 40), ({"per_account": 5}, 15), ({"total": 9}, 9)):
        bias = frequency_bias(transcript_nats(ladder, k, 1_000, 3, accounts=apart), 1_000, most)
        said = promised(**limits)
        assert f"gain more than {100 * bias:.2g} points" in said
        assert (many if scope == "board" and "total" in limits else three) in said
    said = promised(nats=60.0, total=500)
    assert many in said
    if scope == "account":
        assert f"gain more than {100 * frequency_bias(60.0, 1_000, most):.2g} points" in said
    assert "set --total, --nats or both" in promised()
    assert "they promise nothing" in promised(total=100_000)


def test_submissions_that_were_kept_are_scored_again(run):
    board = open_board("leaderboard.sqlite", TRUTH, guard="exact", keep=True)
    for name in ("ann", "bea"):
        board.admit(name)
        board.submit(name, TRUTH)
    board.close()
    run("hide", "bea", "--reason", "two accounts")
    np.save("corrected.npy", np.where(np.arange(60) < 6, (TRUTH + 1) % 3, TRUTH))
    said = run("rescore", "new.sqlite", "--labels", "corrected.npy").splitlines()
    assert said == [
        "new.sqlite: 1 submission, 1 with another answer",
        "ann: 1 (place 1) before, 0.9 (place 1) now",
        "Left out: bea",
    ]


def test_a_phase_can_be_removed(run):
    open_board("leaderboard.sqlite", TRUTH).close()
    run("phase", "main", "--opens", "2026-01-01", "--closes", "2026-01-02")
    run("phase", "main", "--remove")
    board = open_board("leaderboard.sqlite", TRUTH)
    assert standings(board).phases == ()
    board.close()
    with pytest.raises(InputError, match="there is no phase main"):
        run("phase", "main", "--remove")


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
        (["--labels", "labels.npy", "--scope", "team"], "scope must be one of account, board"),
        (["export", "history.txt"], "FILE must end in .csv or .jsonl"),
    ],
    ids=str,
)
def test_what_is_wrong(run, arguments, said):
    with pytest.raises(InputError, match=said):
        run(*arguments)


@pytest.mark.parametrize("arguments", [["hide", "bob", "--reason", "x"], ["token", "bob"]])
def test_an_account_that_there_is_not(run, arguments):
    run("account", "ann")
    with pytest.raises(InputError, match="there is no account bob"):
        run(*arguments)


OF_A_BOARD = [
    ["contest", "--title", "Autumn"],
    ["phase", "main", "--remove"],
    ["results"],
    ["token", "ann"],
    ["revoke", "ann"],
    ["accounts"],
    ["hide", "ann", "--reason", "x"],
    ["show", "ann", "--reason", "x"],
    ["actions"],
    ["watch", "--once", "--fail-above", "findings=0"],
    ["merge", "ann", "bea", "--labels", "labels.npy", "--reason", "x"],
    ["void", "1", "--labels", "labels.npy", "--reason", "x"],
    ["publish"],
    ["rescore", "new.sqlite", "--labels", "labels.npy"],
    ["export", "-"],
    ["export", "history.csv", "--answers", "answers.npz"],
]
BEGINNING = [
    ["account", "ann"],
    ["invite"],
    ["phase", "main", "--opens", "2026-01-01", "--closes", "2026-02-01"],
]
"""Commands that may come before the first start of the server."""


def test_every_command_is_tried_without_a_board():
    commands = {command.callback.__name__ for command in app.registered_commands}
    assert commands == {arguments[0] for arguments in OF_A_BOARD + BEGINNING}


@pytest.mark.parametrize("made", ["none", "empty", "tables"])
@pytest.mark.parametrize("arguments", OF_A_BOARD, ids=" ".join)
def test_what_needs_a_board_makes_no_database(run, tmp_path, arguments, made):
    """A misspelt name is said, and leaves nothing behind."""
    if made == "empty":
        Path("typo.sqlite").touch()
    elif made == "tables":
        connect("typo.sqlite").dispose()
    before = sizes(tmp_path)
    said = "typo.sqlite holds no board yet: start the server first"
    if made == "tables" and arguments[0] in ("phase", "token", "revoke", "hide", "show"):
        said = "there is no (account ann|phase main)"
    with pytest.raises(InputError, match=said):
        run(*arguments, "--database", "typo.sqlite")
    assert sizes(tmp_path) == before


def sizes(folder):
    """Return the sizes of all files but those that SQLite has while a database is open."""
    files = [path for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm"))]
    return {path.name: path.stat().st_size for path in files}


def test_accounts_and_actions_may_come_before_the_board(run):
    run("account", "ann")
    run("hide", "ann", "--reason", "two accounts")
    (row,) = json.loads(run("accounts", "--json", "-"))
    assert (row["account"], row["hidden"]) == ("ann", "yes")
    (row,) = json.loads(run("actions", "--json", "-"))
    assert row["action"] == "hide"


class KilledError(BaseException):
    """The end of a process at some line: nothing catches it."""


@pytest.mark.parametrize("moment", ["connect", "_copy_contest"])
def test_an_interrupted_rescore_is_named_by_every_command(run, monkeypatch, moment):
    """Whenever it was interrupted: from the first of its tables on the database says so."""
    board = open_board("leaderboard.sqlite", TRUTH, guard="exact", keep=True)
    board.admit("ann")
    board.submit("ann", TRUTH)
    board.close()
    begin = getattr(rescoring, moment)

    def interrupted(*arguments, **options):
        if moment == "connect":
            begin(*arguments, **options).dispose()
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(rescoring, moment, interrupted)
        with pytest.raises(KilledError):
            run("rescore", "cut.sqlite", "--labels", "labels.npy")
    serving = ["--labels", "labels.npy", "--port", "0"]
    for arguments in [*OF_A_BOARD, *BEGINNING, serving]:
        command = ["--database", "cut.sqlite"]
        asked = [*command, *arguments] if arguments is serving else [*arguments, *command]
        with pytest.raises(InputError, match=r"cut.sqlite was to hold a board .* interrupted"):
            run(*asked)
    assert run("rescore", "cut.sqlite", "--labels", "labels.npy").startswith("cut.sqlite: 1 subm")
    assert json.loads(run("accounts", "--database", "cut.sqlite", "--json", "-"))


def labels_file(name, truth):
    Path(name).write_text("id,label\n" + "".join(f"{i},{word}\n" for i, word in truth.items()))
    return name


@pytest.mark.parametrize("rescored", [False, True])
def test_a_board_takes_its_labels_in_any_order(run, rescored):
    """Rows go by their ids in every command, as in rescore; other ids and labels are refused."""
    rng = np.random.default_rng(0)
    truth = {f"p{i:03d}": str(rng.choice(["ant", "bee", "cat"])) for i in range(90)}
    board = open_board("leaderboard.sqlite", read_hidden(Path(labels_file("old.csv", truth))),
                       guard="exact", keep=True)  # fmt: skip
    for name in ("ann", "bea"):
        board.admit(name)
        board.submit(name, rng.integers(0, 3, 90))
    ids = board.ids
    board.close()
    database = "leaderboard.sqlite"
    if rescored:
        # The last class is nobody's any more.
        truth = {point: "ant" if word == "cat" else word for point, word in truth.items()}
        database = "new.sqlite"
    points = rng.permutation(list(truth)).tolist()
    new = labels_file("new.csv", {point: truth[point] for point in points})
    if rescored:
        run("rescore", database, "--labels", new)
    to = ("--labels", new, "--database", database, "--reason", "x")
    assert run("void", "1", *to).startswith("Submission 1 is void")
    assert run("merge", "ann", "bea", *to).startswith("ann: 2 submissions")
    assert run("watch", "--once", "--labels", new, "--database", database) == ""
    again = open_board(database, read_hidden(Path(new)))
    codes = {"ant": 0, "bee": 1, "cat": 2}
    assert (again.ids, again.classes) == (ids, ("ant", "bee", "cat"))
    assert again.holdout.labels.tolist() == [codes[truth[point]] for point in ids]
    again.close()
    wrong = truth | {"p007": "bee" if truth["p007"] == "ant" else "ant"}
    others = {f"x{point}": word for point, word in truth.items()}
    fewer = {point: word for point, word in truth.items() if point != "p007"}
    for name, changed, said in (
        ("wrong.csv", wrong, "other labels for the ids that it was begun with"),
        ("others.csv", others, "must name the 90 points .*: 'p000' is missing"),
        ("fewer.csv", fewer, "must name the 90 points .*: 'p007' is missing"),
        ("more.csv", truth | {"q": "ant"}, "must name the 90 points .*: 91 are named"),
        ("classes.csv", truth | {"p007": "wasp"}, "of the board's classes ant, bee, cat.*'wasp'"),
    ):
        labels_file(name, changed)
        refused = ("--labels", name, "--database", database)
        for command in (
            ["void", "2", "--reason", "x"],
            ["merge", "ann", "bea", "--reason", "x"],
            ["watch", "--once"],
        ):
            with pytest.raises(InputError, match=said):
                run(*command, *refused)
        with pytest.raises(InputError, match=said):
            run(*refused, "--port", "0")
    np.save("few.npy", np.zeros(80, int))
    with pytest.raises(InputError, match="this one has 80 labels for its 90 points"):
        run("--labels", "few.npy", "--database", database, "--port", "0")


def test_accounts_of_a_team_are_counted_once(run):
    board = open_board("leaderboard.sqlite", TRUTH, guard="exact")
    for name in ("ann", "bea", "bea", "cat"):
        board.admit(name)
        board.submit(name, TRUTH)
    board.close()
    run("merge", "bea", "ann", "--labels", "labels.npy", "--reason", "one team")
    rows = json.loads(run("accounts", "--json", "-"))
    assert [(row["account"], row["submissions"], row["merged_into"]) for row in rows] == [
        ("ann", 0, "bea"),
        ("bea", 3, None),
        ("cat", 1, None),
    ]
    # Into a third one, both go along.
    run("merge", "cat", "bea", "--labels", "labels.npy", "--reason", "one team")
    rows = json.loads(run("accounts", "--json", "-"))
    assert [(row["submissions"], row["merged_into"]) for row in rows] == [
        (0, "cat"),
        (0, "cat"),
        (4, None),
    ]


def test_the_name_of_a_phase_is_not_an_account_s(run):
    argument = COMMAND.commands["phase"].params[0]
    assert argument.help == "Name of the phase."


BLOCKED = "labels.npy/found.json"
"""A place where nothing can be written: labels.npy is a file."""
WHEN = ("--opens", "2026-01-01", "--closes", "2026-02-01")
WRONG = [
    ["serve", "--metric", "f1"],
    ["serve", "--metric", "brier", "--guard", "ladder"],
    ["serve", "--public", "0.0001"],
    ["serve", "--guard", "wall"],
    ["serve", "--total", "-1"],
    ["serve", "--port", "70000"],
    ["serve", "--rate", "0"],
    ["account", "=x"],
    ["account", "ann", ""],
    ["invite", "0"],
    ["contest", "--title", ""],
    ["contest", "--rules", "none.txt"],
    ["contest", "--per-day", "0"],
    ["contest", "--finals", "0"],
    ["phase", "=x", *WHEN],
    ["phase", "main", "--opens", "soon", "--closes", "2026-02-01"],
    ["phase", "main", "--opens", "2026-02-01", "--closes", "2026-01-01"],
    ["results", "--json", BLOCKED],
    ["token", "=x"],
    ["revoke", "=x"],
    ["accounts", "--json", BLOCKED],
    ["actions", "--json", BLOCKED],
    *([word, "=x", "--reason", "y"] for word in ("hide", "show")),
    *([word, "ann", "--reason", ""] for word in ("hide", "show")),
    ["watch", "--once", "--labels", "none.npy"],
    ["watch", "--once", "--throttle", "-1"],
    ["watch", "--once", "--fail-above", "suspects=0"],
    ["watch", "--once", "--fail-above", "hints=-1"],
    ["watch", "--every", "nan"],
    ["watch", "--every", "-1"],
    ["merge", "ann", "bea", "--labels", "none.npy", "--reason", "x"],
    ["void", "1", "--labels", "none.npy", "--reason", "x"],
    ["void", "1", "--labels", "labels.npy", "--reason", ""],
    ["merge", "ann", "=x", "--labels", "labels.npy", "--reason", "x"],
    ["merge", "ann", "ann", "--labels", "labels.npy", "--reason", "x"],
    ["merge", "ann", "bea", "--labels", "labels.npy", "--reason", ""],
    ["rescore", "new.sqlite", "--labels", "none.npy"],
    ["export", "history.txt"],
    ["export", f"{BLOCKED}.csv"],
]


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_nothing_is_written_before_the_arguments_are_checked(run, tmp_path, arguments):
    given = ["--labels", "labels.npy", *arguments[1:]] if arguments[0] == "serve" else arguments
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises((InputError, OutputError)):
        run(*given)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_every_command_has_arguments_that_are_wrong():
    commands = {command.callback.__name__ for command in app.registered_commands}
    # It has no argument that could be wrong.
    commands -= {"publish"}
    assert commands | {"serve"} == {arguments[0] for arguments in WRONG}


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
    monkeypatch.setattr(server, "find_spec", lambda name: None if name == "fastapi" else name)
    with pytest.raises(InputError, match="needs fastapi: pip install 'privacygauge\\[serve\\]'"):
        run("--labels", "labels.npy")
    with pytest.raises(InputError, match="needs fastapi"):
        open_board("board.sqlite", TRUTH, budget=Budget())


def test_a_contest_from_the_command_line(run, monkeypatch):
    truth = np.tile([0, 1], 40)
    rows = "".join(f"p{i},{label}\n" for i, label in enumerate(truth))
    Path("labels.csv").write_text(f"id,label\n{rows}")
    Path("rules.txt").write_text("Be fair.\n")
    board = open_board("leaderboard.sqlite", truth, guard="exact", public=0.5, metric="f1")
    names = dict(line.split("\t") for line in run("account", "ann", "bea").splitlines())
    assert list(names) == ["ann", "bea"]
    assert len(set(run("invite", "3").split())) == 3
    run("contest", "--title", "Autumn", "--rules", "rules.txt", "--per-day", "9", "--finals", "2")
    run("phase", "main", "--opens", "2020-01-01", "--closes", "2999-01-01")
    for name in names:
        board.submit(name, truth)
    assert run("watch", "--once") == ""
    said = run("merge", "ann", "bea", "--labels", "labels.csv", "--reason", "one team")
    assert said == "ann: 2 submissions, the score 1\n"
    (row,) = json.loads(run("results", "--json", "-"))
    assert (row["account"], row["private"], row["difference"]) == ("ann", 1.0, 0.0)
    lines = [json.loads(line) for line in run("export", "-", "--exact").splitlines()]
    assert [(x["account"], x["metric"], x["exact"]) for x in lines] == [("ann", "f1", 1.0)] * 2
    now = standings(board)
    assert (now.title, now.rules, now.per_day, now.finals) == ("Autumn", "Be fair.\n", 9, 2)
    board.close()


def ended(*, keep: bool = True, published: bool = True):
    """Return a board with half of its points for the end, after a contest of six teams."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400)
    np.save("labels.npy", truth)
    board = open_board("leaderboard.sqlite", truth, guard="exact", public=0.5, keep=keep)
    for team in range(6):
        board.admit(f"team-{team}")
    for _ in range(8):
        for team in range(6):
            changed = rng.random(400) < 0.3 - 0.02 * team
            board.submit(f"team-{team}", np.where(changed, 1 - truth, truth))
    contest.describe(board.engine, finals=2)
    contest.choose_submissions(board.engine, "team-0", [1, 7], "2026-01-01T00:00:00+00:00")
    contest.publish(board.engine, shown=published)
    return board


def test_a_contest_that_has_ended_is_exported_for_the_audit(run):
    """Private scores, choices and kept answers: what the audit of the end needs."""
    board = ended()
    run("export", "history.jsonl", "--exact", "--answers", "answers.npz")
    rows = [json.loads(line) for line in Path("history.jsonl").read_text().splitlines()]
    assert [row["number"] for row in rows if row["selected"]] == [1, 7]
    history = read_history(
        Path("history.jsonl"),
        predictions=Path("answers.npz"),
        labels=Path("labels.npy"),
        n_private=200,
    )
    assert (history.n, history.n_private, len(history)) == (200, 200, 48)
    # Scores are those of the kept answers on the public points.
    np.testing.assert_allclose(history.scores, (history.answers == history.labels).mean(axis=1))
    judged = next(team for team in overfitting(history).teams if team.account == "team-0")
    (result,) = [x for x in ending(board.engine).results if x.account == "team-0"]
    assert judged.private == pytest.approx(result.private)
    assert not isinstance(final_gaps(history), Skipped)
    assert os.stat("answers.npz").st_mode & 0o077 == 0
    np.save("few.npy", np.zeros(100, int))
    with pytest.raises(InputError, match="the places of their answers among the 100 labels in few"):
        read_history(Path("history.jsonl"), predictions=Path("answers.npz"), labels=Path("few.npy"))
    board.close()


@pytest.mark.parametrize("named", [True, False])
def test_the_audit_reads_the_labels_file_that_the_board_was_begun_with(run, named):
    """With names of points and classes, in another order too; without ids in the same order."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    ids = [f"p{i:03d}" for i in rng.permutation(400)]
    rows = [f"{name},{('neg', 'pos')[label]}" for name, label in zip(ids, truth, strict=True)]
    Path("labels.csv").write_text("\n".join(["id,label", *rows]))
    hidden = read_hidden(Path("labels.csv"))
    board = open_board(
        "leaderboard.sqlite",
        hidden if named else hidden.values,
        guard="exact",
        public=0.5,
        keep=True,
    )
    board.admit("ann")
    for _ in range(8):
        board.submit("ann", np.where(rng.random(400) < 0.3, 1 - truth, truth))
    run("export", "history.jsonl", "--exact", "--answers", "answers.npz")
    board.close()
    orders = [rows, rng.permutation(rows).tolist()] if named else [rows]
    for order in orders:
        Path("again.csv").write_text("\n".join(["id,label", *order]))
        history = read_history(
            Path("history.jsonl"), predictions=Path("answers.npz"), labels=Path("again.csv")
        )
        right = (history.answers == history.labels).mean(axis=1)
        np.testing.assert_allclose(history.scores, right)
        assert not disagreeing(history).any()
    Path("again.csv").write_text("\n".join(["id,label", *rows[:-210]]))
    with pytest.raises(InputError, match=r"p\d+' is missing|the board's own"):
        read_history(
            Path("history.jsonl"), predictions=Path("answers.npz"), labels=Path("again.csv")
        )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_private_scores_stay_out_until_results_are_published_or_their_owner_asks(run, form):
    """Who audits a contest while it runs asks for them by name, and gets what the end would give.

    The public board does not change.
    """
    board = ended(published=False)
    shown = standings(board)
    file = f"history.{form}"
    run("export", file, "--exact")
    assert read_history(Path(file), n=200, n_classes=2).private is None
    run("export", file, "--private")
    now = Path(file).read_text()
    history = read_history(Path(file), n=200, n_classes=2, n_private=200)
    assert os.stat(file).st_mode & 0o077 == 0
    assert standings(board) == shown
    judged = {team.account: team.private for team in overfitting(history).teams}
    for result in ending(board.engine).results:
        assert judged[result.account] == pytest.approx(result.private)
    run("publish")
    run("export", file, "--exact")
    assert Path(file).read_text() == now
    board.close()


def test_private_scores_of_a_board_without_private_points_are_refused(run):
    board = open_board("leaderboard.sqlite", TRUTH, guard="exact")
    board.close()
    with pytest.raises(InputError, match="the board keeps no points for the end"):
        run("export", "history.csv", "--private", "--answers", "answers.npz")
    assert not list(Path().glob("history*")) + list(Path().glob("answers*"))


def test_answers_that_were_not_kept_are_not_exported(run):
    board = ended(keep=False)
    with pytest.raises(InputError, match="has not kept every submission: begin one with --keep"):
        run("export", "history.csv", "--answers", "answers.npz")
    assert not Path("history.csv").exists()
    board.close()


@pytest.mark.slow
def test_a_server_of_another_metric_takes_csv(tmp_path):
    truth = np.random.default_rng(0).uniform(0, 10, 50)
    names = [f"{i:03}" for i in range(50)]
    rows = "".join(f"{a},{b}\n" for a, b in zip(names, truth, strict=True))
    (tmp_path / "labels.csv").write_text(f"id,y\n{rows}")
    file = str(tmp_path / "board.sqlite")
    arguments = ("--labels", str(tmp_path / "labels.csv"), "--database", file)
    with served(*arguments, "--metric", "rmse:0:10", "--guard", "exact", "--total", "9") as server:
        engine = connect(file)
        token = add_account(engine, "ann")
        engine.dispose()
        text = "\n".join(["id,y", *(f"{a},5" for a in reversed(names))])
        head = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}
        request = urllib.request.Request(f"{server.url}/submissions", text.encode(), head)
        with urllib.request.urlopen(request, timeout=30) as answer:
            score = json.load(answer)["score"]
    assert score == round((1 - np.sqrt(((truth - 5) ** 2).mean()) / 10) * 50) / 50
