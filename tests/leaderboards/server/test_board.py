"""The board without HTTP: it answers as its guard does, exactly once, and forgets nothing."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DatabaseError

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.mechanism import GuardState, MarkedSubmission
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.server import open_board, score
from privacygauge.leaderboards.server.accounts import (
    action_rows,
    add_account,
    hide_account,
    show_account,
)
from privacygauge.leaderboards.server.board import HiddenError, KeyConflictError
from privacygauge.leaderboards.server.database import connect, guard_state, state_columns
from privacygauge.leaderboards.server.standings import log, standings
from tests.leaderboards.server.serving import SRC, key_of, labels_of, replayed, replayed_apart

N = 60
M = 3
TRUTH = labels_of(0, N, M)
GUARDS = (
    "exact",
    "round:2",
    "calibrated",
    "noise:0.05",
    "laplace:0.05",
    "ladder",
    "ladder:0.05",
    "ladder:1.3se",
    "thresholdout:0.04",
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "board.sqlite"


@pytest.fixture
def board(file):
    board = open_board(file, TRUTH, n_classes=M, guard="exact")
    board.admit("ann")
    yield board
    board.close()


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """A board that no test changes: each is refused."""
    board = open_board(tmp_path_factory.mktemp("b") / "b.sqlite", TRUTH, n_classes=M, guard="exact")
    board.admit("ann")
    yield board
    board.close()


@pytest.mark.slow
@pytest.mark.parametrize("guard", GUARDS)
def test_answers_are_the_guards_through_any_restarts(file, guard):
    """What is stored is all of a guard's state: with restarts anywhere the answers are its own."""
    rng = np.random.default_rng(1)
    board = open_board(file, TRUTH, n_classes=M, guard=guard)
    board.admit("ann")
    sent = []
    got = []
    for share in (0.0, 0.3, 0.1, 0.5, 0.5, 0.2, 0.6, 0.65, 0.7, 0.8, 0.4, 0.9, 0.9):
        sent.append(np.where(rng.random(N) < share, TRUTH, rng.integers(0, M, N)))
        got.append(board.submit("ann", sent[-1]).score)
        if rng.random() < 0.3:
            board.close()
            board = open_board(file, TRUTH)
    stored = [receipt.score for receipt in log(board.engine)]
    key = key_of(board, "ann")
    board.close()
    assert got == stored == replayed(guard_named(guard), TRUTH, M, sent, key)
    assert len(set(got)) > 2


@pytest.mark.parametrize("best", [None, np.arange(11) % 3 == 0])
def test_all_of_a_guards_state_is_stored(best):
    state = GuardState(b"key", 5, 0.25, best, -0.125, 7)
    back = guard_state(state_columns(state), 11)
    # Without `best`, which has no single truth value.
    assert vars(replace(back, best=None)) == vars(replace(state, best=None))
    np.testing.assert_array_equal(back.best, best)


def test_a_key_brings_the_same_receipt_and_costs_nothing(file):
    board = open_board(file, TRUTH, n_classes=M, guard="ladder", budget=Budget(per_account=2))
    board.admit("ann")
    board.admit("bea")
    first = board.submit("ann", TRUTH, key="one")
    board.submit("bea", labels_of(1, N, M), key="one")  # a key is its account's own
    second = board.submit("ann", labels_of(1, N, M))
    assert board.submit("ann", TRUTH.astype(np.uint8), key="one") == first  # with no budget left
    assert (first.number, second.number) == (1, 3)
    assert board.left("ann").account == 0
    with pytest.raises(KeyConflictError, match="the key one stands for submission 1"):
        board.submit("ann", labels_of(1, N, M), key="one")
    with pytest.raises(KeyConflictError):
        board.submit("ann", TRUTH, key="one", claimed=0.5)
    board.close()


@pytest.mark.slow
def test_budgets_are_kept_and_changed(file):
    board = open_board(file, TRUTH, n_classes=M, guard="exact", budget=Budget(3, 2))
    for name in ("ann", "bea"):
        board.admit(name)
    board.submit("ann", TRUTH)
    board.submit("ann", TRUTH)
    with pytest.raises(BudgetError, match="the budget of ann is used up: 2 of 2"):
        board.submit("ann", TRUTH)
    board.submit("bea", TRUTH)
    with pytest.raises(BudgetError, match="of this board is used up: 3 submissions"):
        board.submit("bea", TRUTH)
    board.close()
    more = open_board(file, TRUTH, budget=Budget(total=4))
    more.submit("bea", TRUTH)
    assert (more.left("bea").account, more.left("bea").total) == (0, 0)
    assert standings(more).left == 0
    more.close()


def test_nats_limit_all_accounts_together(file):
    nats = guard_named("exact").nats(3, N, M) + 1e-9
    board = open_board(file, TRUTH, n_classes=M, guard="exact", budget=Budget(nats=nats))
    for name in ("ann", "bea", "cat"):
        board.admit(name)
        board.submit(name, TRUTH)
    assert board.left("ann").total == 0
    with pytest.raises(BudgetError):
        board.submit("ann", TRUTH)
    board.close()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (TRUTH[:-1], "labels must have 60 rows, got 59"),
        (np.full(N, M), r"labels must be in 0\.\.2, got 3 in row 0: count the classes from 0"),
        (np.full(N, -1), "labels must be at least 0, got -1 in row 0"),
        (np.full(N, np.nan), "labels must be integers, got nan in row 0"),
        (np.full(N, np.inf), "labels must be integers, got inf in row 0"),
        (np.full(N, 0.5), "labels must be integers, got 0.5 in row 0"),
        (np.full(N, 1e300), "labels must be"),
        (np.full(N, 2**64 - 1, np.uint64), "labels must be at least 0"),
        ([2**80] * N, "labels must be integers"),
        (["a"] * N, "labels must be integers"),
        ([[0], [1, 2]], "integers in a row, got lists within it"),
        (np.zeros((N, 2), int), r"labels must have the shape \(n,\)"),
    ],
)
def test_bad_labels_are_refused_and_not_charged(refusing, labels, said):
    with pytest.raises(InputError, match=said):
        refusing.submit("ann", labels)
    assert standings(refusing).used == 0


@pytest.mark.parametrize(
    ("account", "options", "said"),
    [
        ("bob", {}, "there is no account bob: add it first"),
        ("ann", {"key": ""}, "key must be 1 to 200 printable ASCII"),
        ("ann", {"key": "k" * 201}, "key must be 1 to 200 printable ASCII"),
        ("ann", {"key": "a\n"}, "key must be 1 to 200 printable ASCII"),
        ("ann", {"claimed": 1.5}, r"claimed must be an accuracy in \[0, 1\], got 1.5"),
        ("ann", {"claimed": float("nan")}, "claimed must be an accuracy"),
    ],
)
def test_other_bad_arguments(refusing, account, options, said):
    with pytest.raises(InputError, match=said):
        refusing.submit(account, TRUTH, **options)


@pytest.mark.parametrize("name", ["", "a" * 65, "=1+1", "@x", "a\nb", "a\u202eb", " a"])
def test_names_that_could_mislead_are_refused(refusing, name):
    with pytest.raises(InputError, match="account must be 1 to 64 printable characters"):
        refusing.admit(name)


def test_a_database_belongs_to_its_labels_classes_and_guard(file, board):
    for labels, options, said in (
        (TRUTH[::-1], {}, "belongs to another label file"),
        (TRUTH, {"n_classes": M + 1}, "belongs to 3 classes, got 4"),
        (TRUTH, {"guard": "ladder"}, "belongs to the guard exact, got ladder"),
        (TRUTH, {"guard": "ladder:0.0123456789"}, "at most 6 digits"),
        ([], {}, "labels must be one or more"),
    ):
        with pytest.raises(InputError, match=said):
            open_board(file, labels, **options)
    open_board(file, TRUTH, n_classes=M, guard="exact").close()


def test_labels_are_in_no_message_and_no_view_of_the_board(board):
    assert repr(board) == "Board(guard=Exact(), scope='account')"
    assert "label" not in repr(standings(board))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE submission SET score = 1",
        "DELETE FROM submission",
        "INSERT OR REPLACE INTO submission SELECT * FROM submission",
        "REPLACE INTO submission SELECT 9, time, account_id, 1.0, about, digest, claimed, key "
        "FROM submission",
    ],
)
def test_the_log_takes_additions_only(board, statement):
    board.submit("ann", TRUTH, key="one")
    before = list(log(board.engine))
    with (
        pytest.raises(DatabaseError, match="submissions are only ever added"),
        board.engine.begin() as connection,
    ):
        connection.execute(text(statement))
    assert list(log(board.engine)) == before


def test_another_version_of_the_schema_is_refused(file, board):
    with board.engine.begin() as connection:
        connection.execute(text("UPDATE privacygauge_schema SET version = 1"))
    with pytest.raises(InputError, match=r"schema 1, .* reads 2 to 4: finish the contest"):
        open_board(file, TRUTH)


def test_files_that_are_no_database(tmp_path):
    (tmp_path / "text.sqlite").write_text("no database, but some text that is long enough" * 20)
    with pytest.raises(InputError, match="cannot be used: file is not a database"):
        connect(tmp_path / "text.sqlite")
    with pytest.raises(InputError, match="cannot be opened"):
        connect(tmp_path / "none" / "board.sqlite")
    with pytest.raises(InputError, match="got one of mysql") as caught:
        connect("mysql://user:secret@host/name")
    assert "secret" not in str(caught.value)


def test_the_database_is_its_owners_alone(file, board):
    board.submit("ann", TRUTH)
    for path in file.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_board_credits_who_raised_it(file):
    """One Ladder for all answers a bad submission with the best score, of another account."""
    board = open_board(file, TRUTH, n_classes=M, guard="ladder", scope="board")
    for name in ("ann", "bea", "cat"):
        board.admit(name)
    half = np.where(np.arange(N) < N // 2, TRUTH, (TRUTH + 1) % M)
    board.submit("ann", half)
    receipt = board.submit("bea", (TRUTH + 1) % M)
    assert (receipt.score, receipt.about) == (0.5, 1)
    board.submit("cat", TRUTH)
    places = standings(board).places
    assert [(p.account, p.score) for p in places] == [("cat", 1.0), ("ann", 0.5), ("bea", None)]
    board.close()


def test_of_equal_scores_the_earlier_is_first(board):
    for name in ("bea", "ann"):
        board.admit(name)
        board.submit(name, TRUTH)
        board.submit(name, labels_of(1, N, M))
    places = standings(board).places
    assert [(place.account, place.place) for place in places] == [("bea", 1), ("ann", 1)]


def test_equal_scores_share_a_place_and_the_next_one_is_counted_on(board):
    half = np.where(np.arange(N) < N // 2, TRUTH, (TRUTH + 1) % M)
    for name, sent in (("ann", TRUTH), ("bea", half), ("cat", TRUTH), ("dan", half[:])):
        board.admit(name)
        board.submit(name, sent)
    board.admit("eve")
    board.submit("eve", (TRUTH + 1) % M)
    found = [(place.account, place.place) for place in standings(board).places]
    assert found == [("ann", 1), ("cat", 1), ("bea", 3), ("dan", 3), ("eve", 5)]


@pytest.mark.slow
def test_threads_at_the_same_instant(file):
    """Each of 8 threads sends 4 submissions, each twice; 20 are left. Exactly 20 are answered.

    Through two boards that share nothing but the file, as two processes would.
    """
    board = open_board(file, TRUTH, n_classes=M, guard="ladder", budget=Budget(total=20))
    boards = board, open_board(file, TRUTH)
    start = threading.Barrier(8, timeout=20)
    answers = []

    def client(name):
        board = boards[int(name[1]) % 2]
        board.admit(name)
        start.wait()
        for i in range(8):
            try:
                answers.append(board.submit(name, labels_of(i // 2, N, M), key=str(i // 2)))
            except BudgetError:
                answers.append(None)

    threads = [threading.Thread(target=client, args=(f"a{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    given = {receipt for receipt in answers if receipt is not None}
    assert sorted(r.number for r in given) == list(range(1, 21))
    assert list(log(board.engine)) == sorted(given, key=lambda r: r.number)
    for each in boards:
        each.close()


KILLED = """
import sys
import numpy as np
from privacygauge.leaderboards.server import open_board
truth = np.arange(60) % 3
board = open_board(sys.argv[1], truth, n_classes=3, guard="ladder")
board.admit("ann")
rng = np.random.default_rng(0)
for i in range(10**6):
    print(board.submit("ann", rng.integers(0, 3, 60), key=str(i)), flush=True)
"""


@pytest.mark.slow
def test_what_was_answered_survives_a_kill(file):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SRC)},
    )
    told = [process.stdout.readline() for _ in range(20)]
    process.kill()
    told += process.communicate()[0].splitlines(keepends=True)
    board = open_board(file, np.arange(60) % 3)
    stored = [f"{receipt}\n" for receipt in log(board.engine)]
    whole = [line for line in told if line.endswith("\n")]
    assert stored[: len(whole)] == whole
    assert len(stored) - len(whole) in (0, 1)  # written, and killed before it was told
    rng = np.random.default_rng(0)
    sent = [rng.integers(0, 3, 60) for _ in stored]
    scores = replayed(board.guard, np.arange(60) % 3, 3, sent, key_of(board, "ann"))
    assert [receipt.score for receipt in log(board.engine)] == scores
    assert board.submit("ann", sent[-1], key=str(len(sent) - 1)).number == len(sent)
    board.close()


def test_score_is_the_same_transaction(file):
    options = {"labels": TRUTH, "n_classes": M, "guard": "exact", "database": file}
    assert score(TRUTH, account="Team 7", key="41", budget=Budget(per_account=1), **options) == 1
    assert score(TRUTH, account="Team 7", key="41", **options) == 1  # the platform runs it again
    with pytest.raises(BudgetError, match="Team 7"):
        score(TRUTH, account="Team 7", key="42", **options)


def test_tokens_are_not_in_the_database(file, board):
    token = add_account(board.engine, "bob")
    board.close()
    stored = b"".join(path.read_bytes() for path in file.parent.iterdir())
    name, secret = token.split(".")
    assert name.encode() in stored
    assert secret.encode() not in stored
    assert bytes.fromhex(secret) not in stored
    assert len(secret) == 64


@pytest.mark.slow
@pytest.mark.parametrize("guard", GUARDS)
def test_an_account_is_answered_from_its_own_submissions_alone(file, guard):
    """Whatever others submit between them; and a receipt names the submission it is about."""
    rng = np.random.default_rng(2)
    board = open_board(file, TRUTH, n_classes=M, guard=guard)
    sent = []
    receipts = []
    for name in ("ann", "bea", "cat"):
        board.admit(name)
    for _ in range(40):
        labels = np.where(rng.random(N) < rng.uniform(0, 0.9), TRUTH, rng.integers(0, M, N))
        sent.append((("ann", "bea", "cat")[rng.integers(3)], labels))
        receipts.append(board.submit(*sent[-1]))
    assert [r.score for r in receipts] == replayed_apart(board, sent)
    assert len({key_of(board, name) for name in ("ann", "bea", "cat")}) in (1, 3)
    by_number = {r.number: r for r in receipts}
    for receipt in receipts:
        if receipt.about is not None:
            about = by_number[receipt.about]
            assert (about.account, about.score) == (receipt.account, receipt.score)
            assert about.about == about.number <= receipt.number
    assert any(r.about == r.number for r in receipts)
    places = {place.account: place.score for place in standings(board).places}
    for name in places:
        own = [r.score for r in receipts if r.account == name and r.about == r.number]
        assert places[name] == max(own, default=None)
    board.close()


@pytest.mark.parametrize("order", ["aaaaaaaa", "abcdefgh", "aabbccdd", "abababab"])
def test_nats_are_spent_over_the_accounts_that_ask(file, order):
    """As many answers as the count for so many accounts allows, whoever they come from."""
    guard = guard_named("ladder")
    most = 13.0
    board = open_board(file, TRUTH, n_classes=M, guard="ladder", budget=Budget(nats=most))
    for k, name in enumerate(order, start=1):
        board.admit(name)
        asking = len(set(order[:k]))
        if guard.nats(k, N, M, asking) <= most:
            assert board.submit(name, TRUTH).number == k
        else:
            with pytest.raises(BudgetError):
                board.submit(name, TRUTH)
            break
    else:
        pytest.fail("the budget has no end")
    board.close()


def submission_that(rises: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two submissions, of which the second is clearly better than the first, or is not."""
    worse = np.where(np.arange(N) < 20, TRUTH, (TRUTH + 1) % M)
    better = TRUTH.copy()
    better[seed % N] = (better[seed % N] + 1) % M
    return (worse, better) if rises else (better, worse)


@pytest.mark.parametrize("guard", ["ladder", "ladder:0.05"])
@pytest.mark.parametrize("scope", ["account", "board"])
def test_the_same_is_written_whether_or_not_the_score_rises(tmp_path, guard, scope):
    """The statements and the bytes of what they store are the same: neither tells which it was."""
    written = {}
    for rises in (True, False):
        board = open_board(
            tmp_path / f"{rises}.sqlite", TRUTH, n_classes=M, guard=guard, scope=scope
        )
        board.admit("ann")
        first, second = submission_that(rises, 3)
        board.submit("ann", first)
        seen = written[rises] = []

        def note(_connection, _cursor, statement, values, *_rest, seen=seen):
            sizes = [len(v) if isinstance(v, bytes | str) else type(v) for v in values]
            seen.append((statement, sizes))

        event.listen(board.engine, "before_cursor_execute", note)
        receipt = board.submit("ann", second)
        assert (receipt.about == 2) is rises
        board.close()
    assert written[True] == written[False]
    assert sum("UPDATE" in statement for statement, _ in written[True]) == 3


def calls_of(work) -> Counter:
    """Every function that `work` calls, of Python and of C, with how often."""
    calls = Counter()

    def note(frame, event, argument):
        if event == "call":
            calls[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            calls[argument.__qualname__] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("name", ["ladder", "ladder:0.05"])
def test_a_guard_does_the_same_work_whether_or_not_the_score_rises(name):
    """Every point is compared both ways, by the same calls: the time of an answer tells nothing."""
    guard = guard_named(name)
    work = {}
    for rises in (True, False):
        first, second = (
            MarkedSubmission(int((row == TRUTH).sum()), N, M, None, row, TRUTH)
            for row in submission_that(rises, 3)
        )
        _, state = guard.answer(first, guard.start(b"key"))
        before = state.spent
        work[rises] = calls_of(lambda s=second, st=state: guard.answer(s, st))
        assert (guard.answer(second, state)[1].spent > before) is rises
    assert work[True] == work[False]


def test_a_hidden_account_is_off_the_board_and_in_the_log(board):
    board.admit("bea")
    board.submit("ann", TRUTH, key="one")
    board.submit("bea", TRUTH)
    hide_account(board.engine, "ann", "two accounts of one team")
    assert [place.account for place in standings(board).places] == ["bea"]
    assert standings(board).used == 2
    with pytest.raises(HiddenError, match="ann was taken off this board"):
        board.submit("ann", TRUTH)
    assert board.submit("ann", TRUTH, key="one").number == 1  # what it was told stays told
    with pytest.raises(InputError, match="the account ann is hidden already"):
        hide_account(board.engine, "ann", "again")
    show_account(board.engine, "ann", "an error")
    assert board.submit("ann", TRUTH).number == 3
    assert [(a["number"], a["action"], a["account"]) for a in action_rows(board.engine)] == [
        (1, "hide", "ann"),
        (2, "show", "ann"),
    ]
    with pytest.raises(InputError, match="reason must be 1 to 500 printable characters"):
        hide_account(board.engine, "ann", "")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE action SET reason = 'x'",
        "DELETE FROM action",
        "INSERT OR REPLACE INTO action SELECT * FROM action",
    ],
)
def test_actions_are_only_ever_added(board, statement):
    hide_account(board.engine, "ann", "a reason")
    before = action_rows(board.engine)
    with (
        pytest.raises(DatabaseError, match="actions are only ever added"),
        board.engine.begin() as connection,
    ):
        connection.execute(text(statement))
    assert action_rows(board.engine) == before


def test_a_trial_touches_no_board(file):
    options = {"labels": TRUTH, "n_classes": M, "account": "owner", "database": file}
    assert score(TRUTH, trial=True, **options) == 1
    assert not file.exists()
    with pytest.raises(InputError, match="labels must have 60 rows"):
        score(TRUTH[1:], trial=True, **options)


def test_a_database_of_something_else_is_left_as_it_is(tmp_path):
    place = tmp_path / "with a space?.sqlite"
    with closing(sqlite3.connect(place)) as mine:
        mine.execute("create table mine (x int)")
    before = place.read_bytes()
    with pytest.raises(InputError, match="is a database of something else, with the table mine"):
        open_board(place, [0, 1] * 10)
    assert place.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
