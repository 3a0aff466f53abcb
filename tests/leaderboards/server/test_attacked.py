"""Attacks over HTTP from several accounts: what they end with stays below what is guaranteed."""

from __future__ import annotations

import numpy as np
import pytest
from fastapi.testclient import TestClient

from privacygauge.leaderboards.analysts import ATTACKS
from privacygauge.leaderboards.bounds import guarantee
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.accounts import add_account
from privacygauge.leaderboards.server.web import Rates, application
from tests.leaderboards.server.serving import OverHttp, bearer, npy
from tests.leaderboards.test_guarantees import DELTA, allowed
from tests.thorough import THOROUGH, crossed

N = 200
M = 2
EACH = 4
GUARDS = (
    "exact",
    "round:2",
    "calibrated",
    "noise:0.05",
    "laplace:0.05",
    "ladder",
    "ladder:0.07",
    "ladder:1.3se",
    "thresholdout:0.1",
)


def ends_of(attack: str, guard: str, accounts: int, games: int, folder) -> np.ndarray:
    """Return the accuracies that an attack ends with, a board of its own for each."""
    ends = []
    for game in range(games):
        rng = np.random.default_rng([game, accounts])
        truth = rng.integers(0, M, N)
        board = open_board(
            folder / f"{accounts}-{game}.sqlite",
            truth,
            n_classes=M,
            guard=guard,
            budget=Budget(per_account=EACH),
        )
        tokens = [add_account(board.engine, f"sock {i}") for i in range(accounts)]
        with TestClient(application(board, Rates(10**9, 10**9))) as client:

            def ask(token, row, client=client):
                head = bearer(token) | {"Content-Type": "application/octet-stream"}
                answer = client.post("/submissions", content=npy(row), headers=head)
                return answer.status_code, answer.json()

            oracle = OverHttp(ask, tokens, EACH, board.holdout, guard_named(guard))
            answer = ATTACKS[attack].make(None).answer(oracle, rng)
            assert oracle.used <= EACH * accounts
        board.close()
        ends.append(np.mean(answer == truth))
    return np.array(ends)


def most(guard: str, accounts: int) -> float:
    """Return the accuracy that is exceeded once in twenty; below 1, so that it says something."""
    found = 1 / M + guarantee(
        guard_named(guard), N, M, EACH * accounts, delta=DELTA, accounts=accounts
    )
    assert found < 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "guard"), crossed(["nb", "designed"], GUARDS))
@pytest.mark.parametrize("accounts", (1, 3) if THOROUGH else (3,))
def test_attacks_from_accounts_stay_below_the_guarantee(attack, guard, accounts, tmp_path):
    games = 40 if THOROUGH else 6
    ends = ends_of(attack, guard, accounts, games, tmp_path)
    assert np.count_nonzero(ends >= most(guard, accounts)) <= allowed(games)


def test_more_accounts_gain_more_from_a_guard_for_each():
    for guard in ("ladder", "ladder:0.07"):
        assert most(guard, 1) < most(guard, 2) < most(guard, 3)
