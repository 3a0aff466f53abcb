"""Submissions made again: exactly what a board would have said that never knew the others."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.errors import BudgetError, InputError
from privacygauge.holdout.oracle import Budget
from privacygauge.holdout.server import open_board
from privacygauge.holdout.server.accounts import account_of_token, add_account, hide_account
from privacygauge.holdout.server.board import packed, unpacked
from privacygauge.holdout.server.database import connect
from privacygauge.holdout.server.rescoring import rescore
from privacygauge.holdout.server.standings import log, standings
from tests.holdout.server.serving import labels_of, replayed_apart
from tests.thorough import crossed

N, M = 60, 3
TRUTH = labels_of(0, N, M)
GUARDS = ("exact", "noise:0.05", "ladder", "ladder:0.05", "thresholdout:0.04")


def played(file, guard, scope="account", keep=True):
    """A board of three accounts with 12 submissions, and what was sent."""
    board = open_board(
        file, TRUTH, n_classes=M, guard=guard, scope=scope, budget=Budget(13), keep=keep
    )
    tokens = {name: add_account(board.engine, name) for name in ("ann", "bea", "cat")}
    rng, sent = np.random.default_rng(1), []
    for i in range(12):
        labels = np.where(rng.random(N) < rng.uniform(0, 0.9), TRUTH, rng.integers(0, M, N))
        sent.append((("bea", "ann", "cat")[i % 3], labels))
        board.submit(*sent[-1], key=str(i))
    return board, sent, tokens


@pytest.mark.parametrize("m", [2, 3, 256, 257, 10**6])
def test_what_is_packed_is_unpacked(m):
    labels = labels_of(m, 1_000, m)
    np.testing.assert_array_equal(unpacked(packed(labels, m), 1_000, m), labels)
    if m == 2:
        assert len(packed(labels, m)) < 300


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
    with pytest.raises(InputError, match="the new database must be empty"):
        rescore(board.engine, place("old.sqlite"), TRUTH)
    with pytest.raises(InputError, match="labels must be 60"):
        rescore(board.engine, place("other.sqlite"), TRUTH[:-1])
    assert list(log(board.engine)) == before
    board.close()
