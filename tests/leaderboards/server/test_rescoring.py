"""Submissions made again: exactly what a board would have said that never knew the others."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from sqlalchemy import select, update

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.server import contest, open_board, rescoring
from privacygauge.leaderboards.server.accounts import (
    account_of_token,
    add_account,
    hide_account,
    show_account,
)
from privacygauge.leaderboards.server.board import now, pack_submission, unpack_submission
from privacygauge.leaderboards.server.database import (
    ACCOUNT,
    ACTION,
    KEPT,
    METADATA,
    connect,
    engine_of,
    reading,
    writing,
)
from privacygauge.leaderboards.server.request_parsing import read_hidden
from privacygauge.leaderboards.server.rescoring import merge_accounts, rescore, void_submission
from privacygauge.leaderboards.server.standings import ending, log, standings
from privacygauge.leaderboards.server.watching import look
from tests.leaderboards.server.serving import labels_of, only_sqlite, replayed_apart
from tests.thorough import crossed, times

N = 60
M = 3
TRUTH = labels_of(0, N, M)
GUARDS = ("exact", "noise:0.05", "ladder", "ladder:0.05", "ladder:1.3se", "thresholdout:0.04")


def played(file, guard, scope="account", keep=True):
    """A board of three accounts with 12 submissions, and what was sent."""
    board = open_board(
        file, TRUTH, n_classes=M, guard=guard, scope=scope, budget=Budget(13), keep=keep
    )
    tokens = {name: add_account(board.engine, name) for name in ("ann", "bea", "cat")}
    rng = np.random.default_rng(1)
    sent = []
    for i in range(12):
        labels = np.where(rng.random(N) < rng.uniform(0, 0.9), TRUTH, rng.integers(0, M, N))
        sent.append((("bea", "ann", "cat")[i % 3], labels))
        board.submit(*sent[-1], key=str(i))
    return board, sent, tokens


@pytest.mark.parametrize("m", [2, 3, 256, 257, 10**6])
def test_what_is_packed_is_unpacked(m):
    labels = labels_of(m, 1_000, m)
    np.testing.assert_array_equal(unpack_submission(pack_submission(labels, m), 1_000, m), labels)
    if m == 2:
        assert len(pack_submission(labels, m)) < 300


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "guard"), crossed(["account", "board"], GUARDS))
def test_with_the_same_labels_every_answer_is_the_same(place, guard, scope):
    board, _, tokens = played(place("old.sqlite"), guard, scope)
    done = rescore(board.engine, place("new.sqlite"), TRUTH)
    assert (done.submissions, done.changed, done.left_out) == (12, 0, ())
    again = open_board(place("new.sqlite"), TRUTH)
    assert list(log(again.engine)) == list(log(board.engine))
    assert standings(again) == standings(board)
    assert account_of_token(again.engine, tokens["cat"]) == "cat"
    again.submit("ann", TRUTH)
    with pytest.raises(BudgetError):
        again.submit("ann", TRUTH)
    again.close()
    board.close()


@pytest.mark.parametrize("guard", ["exact", "ladder:0.05"])
def test_labels_in_another_order_are_warned_of(place, guard):
    board, _, _ = played(place("old.sqlite"), guard)
    moved = np.random.default_rng(3).permutation(TRUTH)
    assert rescore(board.engine, place("moved.sqlite"), moved).out_of_order
    corrected = TRUTH.copy()
    corrected[:9] = (corrected[:9] + 1) % M
    assert not rescore(board.engine, place("corrected.sqlite"), corrected).out_of_order
    board.close()


@pytest.mark.parametrize("guard", GUARDS)
def test_corrected_labels_without_a_hidden_account(place, guard):
    """As a board of the corrected labels that the hidden account never asked."""
    board, sent, _ = played(place("old.sqlite"), guard)
    hide_account(board.engine, "bea", "shared labels")
    board.close()
    corrected = TRUTH.copy()
    corrected[:9] = (corrected[:9] + 1) % M
    source = connect(place("old.sqlite"))
    done = rescore(source, place("new.sqlite"), corrected)
    source.dispose()
    again = open_board(place("new.sqlite"), corrected)
    left = [(name, labels) for name, labels in sent if name != "bea"]
    scores = [receipt.score for receipt in log(again.engine)]
    assert scores == replayed_apart(again, left)
    assert (done.submissions, done.left_out) == (8, ("bea",))
    assert done.changed > 0
    assert [r.number for r in log(again.engine)] == list(range(1, 9))
    again.close()


def contest_of(place, guard="ladder", scope="account"):
    """A contest with everything: phases, a merger, finals, invitations, throttles, actions."""
    board = open_board(
        place("old.sqlite"), TRUTH, n_classes=M, guard=guard, scope=scope,
        budget=Budget(80), keep=True, public=0.5,
    )  # fmt: skip
    names = ("ann", "bea", "cat", "dan", "eve: a")
    tokens = {name: add_account(board.engine, name) for name in names}
    rng = np.random.default_rng(2)

    def submit(*who, skill=0.6):
        for name in who:
            labels = np.where(rng.random(N) < skill, TRUTH, rng.integers(0, M, N))
            board.submit(name, labels)

    submit(*names, *names, "bea", skill=0.5)
    submit("bea", skill=0.95)
    merge_accounts(board, "ann", "bea", "one team")
    submit("ann", "cat", "eve: a", "ann")
    merge_accounts(board, "cat", "eve: a", "friends")
    submit("cat", "dan")
    hide_account(board.engine, "dan", "a mistake")
    show_account(board.engine, "dan", "of ours")
    void_submission(board, 3, "leaked labels")
    submit("cat", "ann")
    contest.describe(board.engine, title="Autumn", rules="Be fair", per_day=30, finals=2)
    codes = contest.invite(board.engine, 3)
    contest.sign_up(board.engine, codes[0], "new")
    contest.choose_submissions(board.engine, "ann", [1, 13], now())
    contest.set_phase(board.engine, "main", "2026-01-01", "2026-01-02")
    with writing(board.engine) as connection:
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == "dan").values(per_day=1))
    contest.publish(board.engine)
    return board, tokens, codes


def contents(engine):
    """All rows of all tables, but what is drawn with the labels."""
    found = {}
    with reading(engine) as connection:
        for table in METADATA.sorted_tables:
            rows = connection.execute(select(table)).mappings().all()
            kept = [{k: v for k, v in x.items() if not k.startswith("label_")} for x in rows]
            found[table.name] = sorted(kept, key=repr)
    return found


@pytest.mark.parametrize(("scope", "guard"), crossed(["account", "board"], GUARDS))
def test_a_correction_loses_nothing(place, guard, scope):
    board, tokens, codes = contest_of(place, guard, scope)
    done = rescore(board.engine, place("new.sqlite"), TRUTH)
    assert (done.changed, done.left_out, done.moved) == (0, (), ())
    again = open_board(place("new.sqlite"), TRUTH)
    assert contents(again.engine) == contents(board.engine)
    assert ending(again.engine) == ending(board.engine)
    assert account_of_token(again.engine, tokens["cat"]) == "cat"
    assert account_of_token(again.engine, tokens["bea"]) is None
    with pytest.raises(BudgetError, match="published: the contest is closed"):
        again.submit("ann", TRUTH)
    contest.sign_up(again.engine, codes[1], "newer")
    again.close()
    board.close()


def test_another_guard_metric_and_public_part(place):
    board, tokens, _ = contest_of(place, "ladder")
    done = rescore(
        board.engine, place("new.sqlite"), TRUTH,
        metric="balanced-accuracy", guard="exact", public=0.3,
    )  # fmt: skip
    again = open_board(place("new.sqlite"), TRUTH)
    assert (again.holdout.metric.name, again.guard.name) == ("balanced-accuracy", "exact")
    assert len(again.holdout) == pytest.approx(0.3 * N, abs=2)
    assert done.submissions == len(list(log(board.engine)))
    assert standings(again).phases == standings(board).phases
    assert account_of_token(again.engine, tokens["cat"]) == "cat"
    with pytest.raises(InputError, match="asks for other submissions than accuracy"):
        rescore(board.engine, place("third.sqlite"), TRUTH, metric="top:2")
    again.close()
    board.close()


@pytest.mark.parametrize("guard", ["exact", "ladder:0.05", "ladder:1.3se"])
def test_a_void_submission_counts_for_nothing(place, guard):
    board = open_board(place("old.sqlite"), TRUTH, n_classes=M, guard=guard, public=0.5)
    for name in ("ann", "bea"):
        board.admit(name)
    weak = np.where(np.arange(N) % 3, TRUTH, (TRUTH + 1) % M)
    board.submit("ann", weak)
    perfect = board.submit("ann", TRUTH)
    board.submit("bea", weak)
    contest.choose_submissions(board.engine, "ann", [perfect.number], now())
    before = standings(board).places[0]
    best = void_submission(board, perfect.number, "leaked labels")
    assert best is not None
    assert best < before.score
    assert [each.score for each in standings(board).places] == [best, best]
    results = {each.account: each for each in ending(board.engine).results}
    assert results["ann"].submission == 1
    assert results["ann"].private == results["bea"].private
    assert len(list(log(board.engine))) == 3
    for number, says in ((perfect.number, "is void already"), (9, "there is no submission 9")):
        with pytest.raises(InputError, match=says):
            void_submission(board, number, "again")
    board.close()


def test_a_correction_says_whose_score_it_changed(place):
    board, _, _ = contest_of(place, "exact")
    corrected = TRUTH.copy()
    corrected[board.public] = (corrected[board.public] + 1) % M
    done = rescore(board.engine, place("new.sqlite"), corrected)
    assert {team.account for team in done.moved} == {"ann", "cat", "dan"}
    # Equal scores share a place.
    scores = [team.after for team in done.moved]
    for team in done.moved:
        assert team.place_after == 1 + sum(score > team.after for score in scores)
    assert all(team.after != team.before for team in done.moved)
    board.close()


@pytest.mark.slow
def test_a_rescore_that_is_killed_leaves_no_board_without_limits(place, tmp_path):
    board, _, _ = contest_of(place)
    board.close()
    np.save(tmp_path / "labels.npy", TRUTH)
    code = (
        "import sys, numpy as np\n"
        "from privacygauge.leaderboards.server.database import connect\n"
        "from privacygauge.leaderboards.server.rescoring import rescore\n"
        "print('ready', flush=True)\n"
        "rescore(connect(sys.argv[1]), sys.argv[2], np.load(sys.argv[3]))\n"
    )
    expected = None
    rng = np.random.default_rng(0)
    for i in range(times(20)):
        new = tmp_path / f"new-{i}.sqlite"
        asked = [place("old.sqlite"), str(new), str(tmp_path / "labels.npy")]
        with subprocess.Popen(
            [sys.executable, "-c", code, *asked], stdout=subprocess.PIPE, text=True
        ) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.4))
            process.kill()
        if not new.exists():
            continue
        engine = engine_of(new)
        try:
            found = contents(engine)
        except InputError as error:
            # Nothing at all, or the mark that came with the tables.
            if "holds no board yet" not in str(error):
                with pytest.raises(InputError, match="this was interrupted: score it again"):
                    open_board(new, TRUTH)
            continue
        finally:
            engine.dispose()
        source = connect(place("old.sqlite"))
        expected = expected or contents(source)
        source.dispose()
        assert found == expected


def test_a_database_of_an_interrupted_rescore_is_no_board_until_it_is_made_again(
    place, monkeypatch
):
    board, _, _ = contest_of(place)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rescoring, "_copy_contest", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rescore(board.engine, place("new.sqlite"), TRUTH)
    with pytest.raises(InputError, match="this was interrupted: score it again"):
        open_board(place("new.sqlite"), TRUTH)
    rescore(board.engine, place("new.sqlite"), TRUTH)
    again = open_board(place("new.sqlite"), TRUTH)
    assert contents(again.engine) == contents(board.engine)
    again.close()
    board.close()


def test_what_was_not_kept_cannot_be_scored_again(place):
    board, _, _ = played(place("old.sqlite"), "ladder", keep=None)
    with pytest.raises(InputError, match="only a board that was begun with --keep"):
        rescore(board.engine, place("new.sqlite"), TRUTH)
    with pytest.raises(InputError, match="was begun without keeping submissions"):
        open_board(place("old.sqlite"), TRUTH, keep=True)
    board.close()


def test_a_database_that_is_in_use_is_left_alone(place):
    board, _, _ = played(place("old.sqlite"), "ladder")
    before = list(log(board.engine))
    with pytest.raises(InputError, match="has a board already: name a new database"):
        rescore(board.engine, place("old.sqlite"), TRUTH)
    with pytest.raises(InputError, match="60 points, got 59"):
        rescore(board.engine, place("other.sqlite"), TRUTH[:-1])
    assert list(log(board.engine)) == before
    board.close()


WORDS = np.array(["ant", "bee", "cat"])


def named_board(folder, place, submitted=0.8):
    """Return a board begun with a CSV file of names, and the truth by name, after a submission."""
    rng = np.random.default_rng(0)
    truth = {f"p{i:03d}": str(WORDS[rng.integers(3)]) for i in range(200)}
    board = open_board(place("named.sqlite"), read_hidden(written(folder, truth)), keep=True,
                       guard="exact")  # fmt: skip
    board.admit("ann")
    sent = [int(np.flatnonzero(word == WORDS)[0]) for word in truth.values()]
    right = rng.random(200) < submitted
    board.submit("ann", [s if r else (s + 1) % 3 for s, r in zip(sent, right, strict=True)])
    return board, truth


def written(folder, truth, name="named.csv"):
    text = "".join(f"{point},{word}\n" for point, word in truth.items())
    (folder / name).write_text("id,label\n" + text)
    return folder / name


@only_sqlite
def test_corrected_labels_belong_to_their_points_in_any_order(place, tmp_path):
    board, truth = named_board(tmp_path, place)
    other = dict(sorted(truth.items(), reverse=True))
    found = rescore(board.engine, place("a.sqlite"), read_hidden(written(tmp_path, other)))
    assert (found.changed, found.moved) == (0, ())
    board.close()


@only_sqlite
def test_a_class_that_nobody_has_any_more_renames_no_other(place, tmp_path):
    board, truth = named_board(tmp_path, place)
    fixed = {point: "bee" if word == "ant" else word for point, word in truth.items()}
    found = rescore(board.engine, place("b.sqlite"), read_hidden(written(tmp_path, fixed)))
    expected = np.mean(
        [WORDS[k] == word for k, word in zip(sent_labels(board), fixed.values(), strict=True)]
    )
    assert found.moved[0].after == pytest.approx(expected)
    board.close()


def sent_labels(board):
    with reading(board.engine) as connection:
        content = connection.execute(select(KEPT.c.content)).scalar_one()
    return unpack_submission(bytes(content), board.n, 3)


@only_sqlite
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda truth: {f"x{p}": word for p, word in truth.items()}, "'p000' is missing"),
        (lambda truth: truth | {"p000": "wasp"}, "got 'wasp'"),
        (lambda truth: dict(list(truth.items())[1:]), "got 199"),
    ],
)
def test_labels_of_other_points_or_classes_are_refused(place, tmp_path, change, reason):
    board, truth = named_board(tmp_path, place)
    with pytest.raises(InputError, match=reason):
        rescore(board.engine, place("c.sqlite"), read_hidden(written(tmp_path, change(truth))))
    board.close()


@only_sqlite
def test_a_watch_takes_the_board_s_labels_in_any_order_and_no_others(place, tmp_path):
    board, truth = named_board(tmp_path, place)
    other = dict(sorted(truth.items(), reverse=True))
    assert look(board.engine, labels=read_hidden(written(tmp_path, other))) == ()
    wrong = truth | {"p000": "ant" if truth["p000"] != "ant" else "bee"}
    with pytest.raises(InputError, match="belongs to another label file"):
        look(board.engine, labels=read_hidden(written(tmp_path, wrong)))
    board.close()


def test_a_voided_submission_stays_void_however_often_a_board_is_made_again(place):
    """Numbers move up where a hidden account's submissions are left out."""
    board = open_board(place("old.sqlite"), TRUTH, n_classes=M, guard="exact", keep=True)
    for name in ("gone", "bea", "cat"):
        add_account(board.engine, name)
    half = np.where(np.arange(N) < N // 2, TRUTH, (TRUTH + 1) % M)
    sent = [("gone", half), ("bea", half), ("bea", TRUTH), ("cat", half), ("gone", TRUTH)]
    for i, (name, labels) in enumerate(sent):
        board.submit(name, labels, key=str(i))
    void_submission(board, 3, "leaked labels")
    void_submission(board, 5, "leaked labels")
    hide_account(board.engine, "gone", "two accounts")
    seen = []
    for name in ("one.sqlite", "two.sqlite", "three.sqlite"):
        found = rescore(board.engine, place(name), TRUTH)
        board.close()
        board = open_board(place(name), TRUTH)
        seen.append((found.renumbered, [(p.account, p.score) for p in standings(board).places]))
    assert seen[0] == (3, [("bea", 0.5), ("cat", 0.5)])
    assert seen[1:] == [(0, seen[0][1])] * 2
    # Who left the board has nothing there that is void.
    with reading(board.engine) as connection:
        voids = [row.reason for row in connection.execute(select(ACTION)) if row.kind == "void"]
    assert voids == ["2: leaked labels"]
    board.close()
