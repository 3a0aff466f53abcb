"""Merged accounts: the board, the guard and the budget as if one account had made everything."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import select, update

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.server import contest, open_board
from privacygauge.leaderboards.server.accounts import (
    account_of_token,
    action_rows,
    add_account,
    hide_account,
    show_account,
)
from privacygauge.leaderboards.server.board import now
from privacygauge.leaderboards.server.database import BOARD, STATE
from privacygauge.leaderboards.server.rescoring import merge_accounts
from privacygauge.leaderboards.server.standings import (
    chosen_submissions,
    ending,
    log,
    own_submissions,
    standings,
)
from tests.leaderboards.server.serving import labels_of
from tests.thorough import crossed

N = 60
M = 2
KEY = "00112233445566778899aabbccddeeff"
TRUTH = labels_of(0, N, M)
GUARDS = (
    "exact",
    "round:2",
    "calibrated",
    "noise:0.05",
    "ladder",
    "ladder:0.05",
    "ladder:1.3se",
    "thresholdout:0.04",
)


def filled(file, guard, turns, *, keep=True, scope="account", **options):
    """Return a board after submissions by the accounts in `turns`, made in this order."""
    board = open_board(file, TRUTH, guard=guard, keep=keep, scope=scope, **options)
    # The noise of both boards has to be the same one.
    with board.engine.begin() as connection:
        connection.execute(update(BOARD).values(state_key=bytes.fromhex(KEY)))
    for name in dict.fromkeys(("ann", *turns, "third")):
        board.admit(name)
    rng = np.random.default_rng(3)
    for turn, name in enumerate((*turns, "third")):
        right = rng.random(N) < 0.3 + 0.05 * turn
        board.submit(name, np.where(right, TRUTH, rng.integers(0, M, N)), claimed=0.5)
    return board


def remembered(board, name):
    """Return what the guard remembers of an account, and its place."""
    (place,) = [each for each in standings(board).places if each.account == name]
    with board.engine.connect() as connection:
        rows = connection.execute(select(STATE).order_by(STATE.c.holder)).all()
    return place, tuple(rows[0])[1:]


@pytest.mark.parametrize(("keep", "guard"), crossed([True, False], GUARDS))
def test_it_is_as_if_one_account_had_submitted_all(place, guard, keep):
    turns = ("ann", "bea", "bea", "ann", "bea", "ann")
    two = filled(place("two.sqlite"), guard, turns, keep=keep)
    one = filled(place("one.sqlite"), guard, ("ann",) * 6, keep=keep)
    before = [receipt.score for receipt in log(two.engine)]
    if not keep and guard in ("noise:0.05", "ladder", "thresholdout:0.04"):
        with pytest.raises(InputError, match="submission 1 was not kept, and the guard"):
            merge_accounts(two, "ann", "bea", "one team")
        assert [place.account for place in standings(two).places if place.account == "bea"]
    else:
        found = merge_accounts(two, "ann", "bea", "one team")
        assert found.submissions == 6
        assert remembered(two, "ann") == remembered(one, "ann")
        again = np.random.default_rng(9).integers(0, M, N)
        assert two.submit("ann", again).score == one.submit("ann", again).score
        assert [receipt.score for receipt in log(two.engine)][:-1] == before
        names = [receipt.account for receipt in log(two.engine)]
        assert names == ["ann"] * 6 + ["third", "ann"]
        (row,) = action_rows(two.engine)
        assert (row["action"], row["account"], row["reason"]) == ("merge", "bea",
                                                                  "into ann: one team")  # fmt: skip
    for board in (one, two):
        board.close()


@pytest.mark.parametrize("guard", GUARDS)
def test_an_account_without_submissions_takes_over_those_of_another(place, guard):
    two = filled(place("two.sqlite"), guard, ("bea",) * 4)
    one = filled(place("one.sqlite"), guard, ("ann",) * 4)
    merge_accounts(two, "ann", "bea", "one team")
    again = np.random.default_rng(9).integers(0, M, N)
    assert two.submit("ann", again).score == one.submit("ann", again).score
    for board in (one, two):
        board.close()


def test_one_state_for_all_stays_as_it_was(place):
    board = filled(place("b.sqlite"), "ladder:0.05", ("ann", "bea"), scope="board", keep=False)
    best = max(place.score or 0 for place in standings(board).places[:2])
    found = merge_accounts(board, "bea", "ann", "one team")
    assert (found.best, found.submissions) == (best, 2)
    board.close()


def test_the_account_that_ends_is_gone_and_its_submissions_are_the_others(place):
    budget = Budget(per_account=4)
    board = filled(place("b.sqlite"), "exact", ("ann", "bea", "bea"), budget=budget, public=0.5)
    token = add_account(board.engine, "cat")
    merge_accounts(board, "ann", "bea", "one team")
    merge_accounts(board, "cat", "ann", "the same team")
    assert account_of_token(board.engine, token) == "cat"
    assert {place.account for place in standings(board).places} == {"third", "cat"}
    assert contest.choose_submissions(board.engine, "cat", [2], now()) == [2]
    assert {each.account: each.submission for each in ending(board.engine).results}["cat"] == 2
    with pytest.raises(BudgetError, match="bea was taken off this board"):
        board.submit("bea", TRUTH)
    board.submit("cat", TRUTH)
    with pytest.raises(BudgetError, match="the budget of cat is used up: 4 of 4"):
        board.submit("cat", TRUTH)
    for call, says in [
        (lambda: merge_accounts(board, "cat", "cat", "why"), "cannot be merged with itself"),
        (lambda: merge_accounts(board, "cat", "bea", "why"), "the account bea is hidden"),
        (lambda: merge_accounts(board, "cat", "dan", "why"), "there is no account dan"),
        (lambda: merge_accounts(board, "cat", "third", ""), "reason must be 1 to 500"),
        (lambda: show_account(board.engine, "bea", "why"), "bea is a part of another one"),
    ]:
        with pytest.raises(InputError, match=says):
            call()
    hide_account(board.engine, "third", "left")
    board.close()


@pytest.mark.parametrize(
    ("own", "theirs", "finals", "kept"),
    [([], [2], 1, {2}), ([1], [2], 2, {1, 2}), ([1], [2, 3], 2, {1, 2}), ([1], [2], 1, {1})],
)
def test_a_team_keeps_both_choices_and_all_receipts(place, own, theirs, finals, kept):
    board = filled(place("board.sqlite"), "exact", ("ann", "bea", "bea"), public=0.5)
    contest.describe(board.engine, finals=2)
    contest.choose_submissions(board.engine, "ann", own, now())
    contest.choose_submissions(board.engine, "bea", theirs, now())
    contest.describe(board.engine, finals=finals)
    found = merge_accounts(board, "ann", "bea", "one team")
    # The organiser is told of the choices for which there is no room.
    assert set(found.not_chosen) == {*own, *theirs} - kept
    assert chosen_submissions(board, "ann") == kept
    assert chosen_submissions(board, "bea") == set()
    assert [receipt.number for receipt in own_submissions(board, "ann", 10, after=0)] == [1, 2, 3]
    assert [receipt.number for receipt in own_submissions(board, "ann", 1, after=1)] == [2]
    board.close()
