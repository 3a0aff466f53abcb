"""A board that is watched: attacks are stopped on their way, honest teams are left alone."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from typer.main import get_command

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.history.made import attacked_history, honest_history
from privacygauge.leaderboards.serve_command import app
from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.accounts import action_rows, hide_account, show_account
from privacygauge.leaderboards.server.database import board_row, reading
from privacygauge.leaderboards.server.rescoring import merge_accounts, void_submission
from privacygauge.leaderboards.server.watching import history_of_log, look, open_cases
from tests.thorough import quarter

RNG = np.random.default_rng


def watched(database, history, *, keep, labels, throttle=0):
    """Return a board after a history, its alerts, and how many submissions were refused."""
    board = open_board(database, history.labels, keep=keep)
    alerts = []
    refused = 0
    for account, row in zip(history.accounts, history.answers, strict=True):
        board.admit(account)
        try:
            board.submit(account, row)
        except BudgetError:
            refused += 1
        found = look(board.engine, labels=history.labels if labels else None, throttle=throttle)
        alerts += [alert for alert in found if not alert.hint]
    return board, alerts, refused


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "keep", "labels"),
    [("nb", True, False), ("scan", False, False), ("top-2", True, False), ("flips", True, True)],
)
def test_an_attack_is_stopped_on_its_way(place, attack, keep, labels):
    history = attacked_history(RNG(1), attack, n=300, m=2, teams=2, submissions=8, queries=100)
    board, alerts, refused = watched(place("board"), history, keep=keep, labels=labels)
    assert [alert.account for alert in alerts] == ["attacker-0"]
    assert refused > 25
    (row,) = [row for row in action_rows(board.engine) if row["action"] != "hint"]
    assert (row["action"], row["account"], row["reason"]) == ("alert", "attacker-0",
                                                              alerts[0].reason)  # fmt: skip
    with pytest.raises(BudgetError, match="attacker-0 may make 0 submissions a day: ask"):
        board.submit("attacker-0", history.answers[0])
    show_account(board.engine, "attacker-0", "they explained it")
    board.submit("attacker-0", history.answers[0])
    board.close()


@pytest.mark.slow
def test_honest_contests_are_watched_without_an_alert(tmp_path):
    found = 0
    for i in range(quarter(24)):
        history = honest_history(RNG(i), n=200, m=2, teams=4, submissions=12)
        board, alerts, _ = watched(tmp_path / f"{i}.sqlite", history, keep=True, labels=True)
        found += bool(alerts)
        board.close()
    assert found <= quarter(24) * 0.05


@pytest.mark.slow
def test_looks_are_few_and_share_the_level(place):
    board = open_board(place("board"), np.arange(100) % 2)
    board.admit("ann")
    rng = RNG(0)
    looks = 0
    for _ in range(60):
        board.submit("ann", rng.integers(0, 2, 100))
        with suppress(InputError):
            look(board.engine, level=1 - 1e-12)
        with board.engine.connect() as connection:
            looks = connection.exec_driver_sql("SELECT looks FROM board").scalar()
    # 20, 22, 25, 28, 31, 35, 39, 43, 48, 53 and 59: one more with each tenth.
    assert looks == 11
    board.close()


def mined(board, account, honest=("ann", "bea", "cid", "dee"), n=200):
    """Send what honest teams and an account with random labels make by turns."""
    labels = RNG(0).integers(0, 2, n)
    rng = RNG(1)
    models = {team: np.where(rng.random(n) < 0.8, labels, 1 - labels) for team in honest}
    for turn in range(40):
        board.submit(account, rng.integers(0, 2, n))
        team = honest[turn % len(honest)]
        changed = rng.random(n) < 0.15
        board.submit(team, np.where(changed, 1 - models[team], models[team]))


def mining(database):
    board = open_board(database, RNG(0).integers(0, 2, 200), keep=True)
    for name in ("ann", "bea", "cid", "dee", "miner", "team"):
        board.admit(name)
    mined(board, "miner")
    return board


@pytest.mark.parametrize("first", ["merged", "watched"])
def test_a_team_answers_for_the_account_that_it_absorbed(place, first):
    """Merging ends no limit, and alerts and limits reach the account that goes on."""
    board = mining(place("board"))
    if first == "watched":
        assert [alert.account for alert in look(board.engine, throttle=1)] == ["miner"]
        merge_accounts(board, "team", "miner", "one team")
    else:
        merge_accounts(board, "team", "miner", "one team")
        assert [alert.account for alert in look(board.engine, throttle=1)] == ["team"]
    with pytest.raises(BudgetError, match="team may make 1 submission a day"):
        board.submit("team", RNG(5).integers(0, 2, 200))
    show_account(board.engine, "team", "they explained it")
    board.submit("team", RNG(5).integers(0, 2, 200))
    board.close()


def test_all_labels_on_few_points_are_a_hint_that_limits_nobody(place):
    """On fewer than 460 points a perfect file has an honest cause, and is worth a look."""
    board, labels = leaping(place("board"))
    (hint,) = look(board.engine, throttle=0)
    assert (hint.account, hint.hint) == ("team-1", True)
    assert hint.reason.startswith("A leap far beyond all others: 100.00% where the next account")
    (row,) = action_rows(board.engine)
    assert (row["action"], row["account"], row["reason"]) == ("hint", "team-1", hint.reason)
    # It limits nobody, and is said once.
    for _ in range(5):
        board.submit("team-1", labels)
    assert look(board.engine, throttle=0) == ()
    board.close()


def leaping(database):
    """Return a board on which a team sends all labels of few points, and the labels."""
    labels = RNG(0).integers(0, 2, 240)
    board = open_board(database, labels)
    rng = RNG(1)
    for team in range(6):
        board.admit(f"team-{team}")
        for _ in range(5):
            changed = rng.random(240) < 0.32 - 0.02 * team
            board.submit(f"team-{team}", np.where(changed, 1 - labels, labels))
    board.submit("team-1", labels)
    return board, labels


def test_a_watch_ends_where_more_is_worth_a_look_than_the_gate_lets_pass(tmp_path, capsys):
    """Without a gate it goes on; what the owner has looked into counts no longer."""
    path = tmp_path / "board.sqlite"
    board, _ = leaping(path)
    run = get_command(app)

    def watch(*gate):
        asked = ["watch", "--once", "--database", str(path), *gate]
        return run(asked, standalone_mode=False)

    gate = ("--fail-above", "hints=0")
    assert watch("--fail-above", "findings=0") is None
    assert "team-1: worth a look" in capsys.readouterr().out
    # The hint is printed once, and counts until it is settled.
    assert watch(*gate) == 3
    assert "hints is 1, above the limit of 0: team-1" in capsys.readouterr().err
    assert watch("--fail-above", "hints=1") is None
    assert watch() is None
    show_account(board.engine, "team-1", "a new method, and its code")
    assert watch(*gate) is None
    with pytest.raises(InputError, match="the account team-1 is shown already"):
        show_account(board.engine, "team-1", "again")
    board.close()


def test_a_merged_account_s_alert_is_its_team_s_until_that_is_settled(place):
    board = mining(place("board"))
    assert [alert.account for alert in look(board.engine)] == ["miner"]
    assert open_cases(board.engine) == {"findings": ("miner",), "hints": ()}
    merge_accounts(board, "team", "miner", "one team")
    assert open_cases(board.engine) == {"findings": ("team",), "hints": ()}
    hide_account(board.engine, "team", "random labels")
    assert open_cases(board.engine) == {"findings": (), "hints": ()}
    board.close()


def test_what_the_owner_has_voided_is_settled(place):
    """One perfect file among honest ones: without it nothing is left to look into."""
    board, labels = leaping(place("board"))
    assert [alert.account for alert in look(board.engine)] == ["team-1"]
    assert open_cases(board.engine)["hints"] == ("team-1",)
    void_submission(board, 31, "leaked labels")
    assert look(board.engine) == ()
    assert open_cases(board.engine) == {"findings": (), "hints": ()}
    with pytest.raises(InputError, match="the account team-1 is shown already"):
        show_account(board.engine, "team-1", "it is settled")
    # Another such file is worth another look.
    for _ in range(4):
        board.submit("team-1", labels)
    (again,) = look(board.engine)
    assert (again.account, again.hint) == ("team-1", True)
    assert open_cases(board.engine)["hints"] == ("team-1",)
    board.close()


@pytest.mark.parametrize("merged", [False, True])
def test_what_the_rest_shows_too_stays_a_finding(place, merged):
    """Voiding one of an attack's submissions settles nothing, and what was shown stays settled."""
    board = mining(place("board"))
    assert [alert.account for alert in look(board.engine)] == ["miner"]
    name = "miner"
    if merged:
        name = "team"
        merge_accounts(board, "team", "miner", "one team")
    void_submission(board, 1, "random labels")
    # The look comes at once, although the log has not grown.
    assert [alert.account for alert in look(board.engine)] == [name]
    assert look(board.engine) == ()
    assert open_cases(board.engine)["findings"] == (name,)
    show_account(board.engine, name, "they explained it")
    void_submission(board, 3, "random labels")
    assert look(board.engine) == ()
    assert open_cases(board.engine)["findings"] == ()
    board.close()


def test_nearly_everything_is_voided(place):
    board = mining(place("board"))
    look(board.engine)
    for number in range(1, 80, 2):
        void_submission(board, number, "random labels")
        if number % 16 == 15:
            assert not [x for x in look(board.engine) if x.account != "miner" and not x.hint]
    assert open_cases(board.engine)["findings"] == ()
    for number in range(2, 81, 2):
        void_submission(board, number, "all of it")
    assert look(board.engine) == ()
    board.close()


@pytest.mark.parametrize("metric", ["auc", "accuracy"])
def test_a_log_of_areas_under_the_curve_counts_the_smaller_class(place, metric):
    labels = np.repeat([0, 1], [170, 30])
    board = open_board(place("board"), labels, metric=metric)
    board.admit("ann")
    for turn in range(3):
        board.submit("ann", RNG(turn).random(200) if metric == "auc" else 1 - labels)
    with reading(board.engine) as connection:
        row = board_row(connection)
    of_labels = history_of_log(board.engine, row, labels)
    assert of_labels.n_smaller == (30 if metric == "auc" else None)
    assert history_of_log(board.engine, row, None).n_smaller is None
    board.close()


def test_there_must_be_a_board(place):
    from privacygauge.leaderboards.server.database import connect

    engine = connect(place("empty"))
    with pytest.raises(InputError, match="holds no board yet"):
        look(engine)
    with pytest.raises(InputError, match="throttle must be at least 0, got -1"):
        look(engine, throttle=-1)
    engine.dispose()
