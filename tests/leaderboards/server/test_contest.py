"""A contest: metrics, a public and a private part, dates, invitations, CSV, finals and the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fastapi.testclient import TestClient
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.history.made import attacked_history
from privacygauge.leaderboards.history.reading import read_history
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard
from privacygauge.leaderboards.honest import default_guard_of
from privacygauge.leaderboards.oracle import Budget
from privacygauge.leaderboards.server import board as boards
from privacygauge.leaderboards.server import contest, open_board
from privacygauge.leaderboards.server.accounts import add_account, hide_account
from privacygauge.leaderboards.server.request_parsing import read_hidden
from privacygauge.leaderboards.server.rescoring import merge_accounts, rescore, void_submission
from privacygauge.leaderboards.server.standings import (
    account_rows,
    as_csv,
    as_json_lines,
    chosen_submissions,
    ending,
    entries,
    introduction,
    standings,
)
from privacygauge.leaderboards.server.web import application
from tests.leaderboards.server.serving import bearer, labels_of, npy, only_sqlite
from tests.thorough import quarter

RNG = np.random.default_rng
N = 400
M = 4
TRUTH = labels_of(0, N, M)
CSV = {"Content-Type": "text/csv"}


@pytest.fixture
def opened(place):
    found = []

    def made(labels=TRUTH, name="board.sqlite", **options):
        found.append(open_board(place(name), labels, **options))
        return found[-1]

    yield made
    for board in found:
        board.close()


@pytest.fixture
def clock(monkeypatch):
    def at(time: str) -> None:
        moment = f"{time}:00.000000+00:00"
        for module in ("board", "web"):
            monkeypatch.setattr(f"privacygauge.leaderboards.server.{module}.now", lambda: moment)

    return at


def guess(rng, accuracy, truth=TRUTH, m=M):
    right = rng.random(len(truth)) < accuracy
    return np.where(right, truth, (truth + rng.integers(1, m, len(truth))) % m)


@pytest.mark.parametrize(
    "metric",
    [
        *("auc", "f1", "rmse:0:10", "brier", "top:2", "balanced-accuracy"),
        *("macro-f1", "qwk", "r2", "map@2", "ndcg@2", "crps:0:10"),
    ],
)
def test_a_board_of_another_metric(opened, place, metric):
    rng = RNG(0)
    numbers = metric.startswith(("rmse", "r2", "crps"))
    truth = rng.uniform(0, 10, N) if numbers else labels_of(1, N, 2)
    sent = {
        "auc": rng.normal(size=N) + truth,
        "f1": truth,
        "rmse:0:10": rng.uniform(0, 10, N),
        "r2": truth + rng.normal(size=len(truth)),
        "crps:0:10": rng.uniform(0, 10, (N, 7)),
        "brier": rng.random(N),
        "top:2": np.tile([0, 1], (N, 1)),
        "map@2": np.tile([0, 1], (N, 1)),
        "ndcg@2": np.tile([0, 1], (N, 1)),
        "macro-f1": truth,
        "qwk": truth,
        "balanced-accuracy": truth,
    }[metric]
    board = opened(truth, metric=metric, keep=True)
    board.admit("ann")
    receipt = board.submit("ann", sent, key="one")
    step = board.guard.step
    exact = board.holdout.metric.score(board.holdout.metric.submission(sent, N, 2), truth)
    assert board.guard == default_guard_of(board.holdout)
    assert abs(receipt.score - exact) <= step / 2 + 1 / N
    assert board.submit("ann", sent, key="one") == receipt
    again = opened(truth)  # the metric is that of the database
    assert again.holdout.metric == board.holdout.metric
    with pytest.raises(InputError, match=r"belongs to the metric .*, got accuracy"):
        opened(truth if truth.dtype.kind == "i" else np.zeros(N, int), metric="accuracy")
    assert rescore(board.engine, place("again"), truth).changed == 0


def test_over_http_ranked_classes_have_names_and_ensembles_any_number_of_members(opened, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("id,label\na,cat\nb,dog\nc,emu\nd,dog\n")
    board = opened(read_hidden(file), metric="map@2", guard="exact")
    token = add_account(board.engine, "ann")
    with TestClient(application(board)) as client:
        rows = "id,first,second\nd,emu,dog\nb,dog,cat\na,cat,dog\nc,dog,emu\n"
        answer = client.post("/submissions", content=rows, headers=bearer(token) | CSV)
        assert answer.json()["score"] == 0.75
        lists = [["cat", "dog"], ["dog", "cat"], ["emu", "cat"], ["dog", "cat"]]
        assert client.post("/submissions", json=lists, headers=bearer(token)).json()["score"] == 1
    with pytest.raises(InputError, match="metric qwk needs the order of the classes, which texts"):
        opened(read_hidden(file), "ordered.sqlite", metric="qwk")
    with pytest.raises(
        InputError, match="metric mae:0:9 compares numbers, got labels that are texts"
    ):
        opened(read_hidden(file), "numbers.sqlite", metric="mae:0:9")
    board = opened(np.array([1.0, 2.0, 3.0]), "numbers.sqlite", metric="crps:0:10", guard="exact")
    token = add_account(board.engine, "ann")
    with TestClient(application(board)) as client:
        for sent in ("id,q1,q2\n0,1,1\n2,3,3\n1,2,2\n", "id,label\n0,1\n2,3\n1,2\n"):
            answer = client.post("/submissions", content=sent, headers=bearer(token) | CSV)
            assert answer.json()["score"] == 1


@pytest.mark.slow
def test_over_http_a_metric_takes_scores_and_matrices(opened):
    truth = labels_of(2, 30, 3)
    rng = RNG(1)
    board = opened(truth, metric="brier", guard="exact")
    token = add_account(board.engine, "ann")
    p = rng.dirichlet(np.ones(3), 30)
    with TestClient(application(board)) as client:
        head = bearer(token) | {"Content-Type": "application/octet-stream"}
        sent = [
            client.post("/submissions", content=npy(x), headers=head) for x in (p, p.T.copy().T)
        ]
        wrong = client.post("/submissions", content=npy(p * 2), headers=head)
        lines = "\n".join(f"{i},{','.join(map(repr, row.tolist()))}" for i, row in enumerate(p))
        text = client.post(
            "/submissions", content=f"id,0,1,2\n{lines}\n", headers=bearer(token) | CSV
        )
        assert client.get("/board").json()["metric"] == "brier"
    assert {each.json()["score"] for each in (*sent, text)} == {sent[0].json()["score"]}
    assert wrong.status_code == 422
    assert "must be in [0, 1]" in wrong.json()["detail"]


@pytest.mark.slow
def test_pages_show_an_error_in_its_units_beside_the_score(opened):
    """Scores are 1 less the error; who submits knows the error from elsewhere."""
    truth = RNG(0).uniform(0, 200, 80)
    board = opened(truth, metric="rmse:0:200", guard="exact", public=0.5)
    token = add_account(board.engine, "ann")
    for shift in (30.0, 20.0):
        board.submit("ann", np.where(truth < 100, truth + shift, truth - shift))
    contest.publish(board.engine)
    with TestClient(application(board)) as client:
        page = client.get("/").text
        assert page.startswith("<!doctype html>")
        own = client.post("/team/sign-in", data={"token": token}).text
        assert client.get("/board").json()["worst"] == 200
    for text, shown in ((page, 3), (own, 1)):
        assert text.count('0.900 <span class="earlier">error 20.000</span>') == shown
    assert "error 30.000" in own
    assert "Private less public error (95% interval)" in page
    assert "+0.000 (" in page


@pytest.mark.parametrize("head", ["ID;Label", "Id,label", "id,ID", "id,label"])
def test_a_label_file_may_write_id_in_capitals(tmp_path, head):
    mark = ";" if ";" in head else ","
    (tmp_path / "labels.csv").write_text(f"{head}\n007{mark}1\n008{mark}0\n")
    hidden = read_hidden(tmp_path / "labels.csv")
    assert hidden.ids == ("007", "008")
    assert hidden.values.astype(int).tolist() == [1, 0]


def test_csv_in_any_order_of_ids(opened, tmp_path):
    names = [f"p{i:03}" for i in range(N)]
    rows = "".join(f"{name},{label}\n" for name, label in zip(names, TRUTH, strict=True))
    (tmp_path / "labels.csv").write_text(f"id,label\n{rows}")
    hidden = read_hidden(tmp_path / "labels.csv")
    values = hidden.values
    ids = hidden.ids
    assert values.tolist() == TRUTH.tolist()
    assert ids == tuple(names)
    board = opened(hidden, guard="exact")
    token = add_account(board.engine, "ann")
    order = RNG(3).permutation(N)
    lines = [f"{names[i]},{TRUTH[i]}" for i in order]
    with TestClient(application(board)) as client:

        def send(text):
            answer = client.post("/submissions", content=text, headers=bearer(token) | CSV)
            return answer.status_code, answer.json()

        status, receipt = send("\n".join(["id,label", *lines]))
        assert (status, receipt["score"]) == (200, 1.0)
        assert receipt["digest"] == board.submit("ann", TRUTH).digest
        for text, says in [
            ("", "begin with the line id,label"),
            ("\n".join(lines), "begin with the line id,label"),
            ("\n".join(["id,label", *lines[1:]]), "1 id is missing"),
            ("\n".join(["id,label", *lines, lines[0]]), "is unknown, or given twice"),
            ("\n".join(["id,label", *lines[1:], "zzz,1"]), "the id 'zzz' is unknown"),
            ("\n".join(["id,label", f"{names[0]},x", *lines[1:]]), "line 2 must have 1 numbers"),
            (b"\xff\xfe\x00", "CSV in UTF-8"),
        ]:
            status, found = send(text)
            assert (status, says in found["detail"]) == (422, True), found


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_no_answer_depends_on_the_private_points(opened, metric):
    """Whatever is changed there, every guard's answers stay, and so does the page."""
    truth = labels_of(4, N, 2)
    for guard in ("exact", "noise:0.05", "ladder:0.05", "calibrated"):
        board = opened(truth, f"{guard[:5]}.sqlite", guard=guard, public=0.3, metric=metric)
        assert (len(board.holdout), board.n) == (pytest.approx(0.3 * N, abs=1), N)
        for name in ("ann", "bea"):
            board.admit(name)
        rng = RNG(5)
        for _ in range(3):
            sent = rng.integers(0, 2, N)
            other = np.where(board.public, sent, 1 - sent)
            assert board.submit("ann", sent).score == board.submit("bea", other).score
        ann, bea = standings(board).places
        assert ann.score == bea.score
        assert standings(board).ending is None
        assert "private" not in str([vars(each) for each in (ann, bea)])


def test_the_public_points_are_of_every_class_and_stay_the_same(opened):
    board = opened(public=0.25)
    share = np.bincount(TRUTH[board.public]) / np.bincount(TRUTH)
    assert abs(share - 0.25).max() < 0.02
    assert (opened().public == board.public).all()
    with pytest.raises(InputError, match=r"public must be a share in \(0, 1\), got 1"):
        opened(name="other.sqlite", public=1.0)
    plain = opened(name="plain.sqlite")
    with pytest.raises(InputError, match="keeps no points for the end"):
        ending(plain.engine)
    with pytest.raises(InputError, match="was begun without a private part"):
        opened(name="plain.sqlite", public=0.5)


def overfit(board, name, rounds, rng):
    """Submit random files, and then the majority of those that scored better than the median."""
    board.admit(name)
    rows = rng.integers(0, 2, (rounds, board.n))
    scores = np.array([board.submit(name, row).score for row in rows])
    better = rows[scores > np.median(scores)]
    worse = rows[scores <= np.median(scores)]
    return board.submit(name, (better.mean(axis=0) > worse.mean(axis=0)).astype(int)).number


@pytest.mark.slow
@only_sqlite
def test_the_end_shows_who_overfitted(opened):
    truth = labels_of(6, 2_000, 2)
    board = opened(truth, public=0.5, guard="exact", keep=True)
    rng = RNG(10_006)
    for team in range(5):
        board.admit(f"team-{team}")
        for _ in range(3):
            board.submit(f"team-{team}", guess(rng, 0.8 - 0.04 * team, truth, 2))
    overfit(board, "tuner", 300, rng)
    board.admit("gone")
    board.submit("gone", truth)
    hide_account(board.engine, "gone", "two accounts")
    found = ending(board.engine)
    assert [each.place for each in found.results] == [1, 2, 3, 4, 5, 6]
    assert [each.account for each in found.results[:2]] == ["team-0", "team-1"]
    tuner = next(each for each in found.results if each.account == "tuner")
    assert tuner.low > 0.05
    assert tuner.p_value < 0.001
    assert tuner.public_place < 6 or tuner.public > 0.6
    for each in found.results:
        if each.account != "tuner":
            # The split is the board's secret, so that one in twenty falls below 5%.
            assert each.p_value > 0.001
            assert each.low < each.difference < each.high
    assert found.mean_difference == pytest.approx(np.mean([x.difference for x in found.results]))
    assert 0 < found.ranks <= 1


@pytest.mark.slow
@only_sqlite
@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_the_interval_of_the_difference_covers_and_honest_teams_are_not_accused(opened, metric):
    """Submissions that owe nothing to answers: the truth is no difference, but for luck.

    Each board draws a secret of its own, so that no two plays are the same: limits are those that
    chance passes once in 10,000 plays.
    """
    covered = 0
    accused = 0
    rounds = quarter(100)
    for i in range(rounds):
        rng = RNG(10_000 + i)  # not that of the labels
        truth = labels_of(i, 300, 2)
        board = opened(truth, f"{i}.sqlite", public=0.5, guard="calibrated", metric=metric)
        for team in range(3):
            board.admit(f"team-{team}")
            board.submit(f"team-{team}", guess(rng, 0.8, truth, 2))
        found = ending(board.engine).results
        covered += sum(each.low <= 0 <= each.high for each in found)
        accused += min(each.p_value for each in found) < 0.05
        board.close()
    assert covered >= 3 * binom.ppf(1e-4, rounds, 0.95)
    assert accused <= binom.ppf(1 - 1e-4, rounds, 0.05)


def test_private_scores_are_those_of_the_chosen_submission(opened):
    truth = labels_of(7, N, 2)
    board = opened(truth, public=0.5, metric="auc", guard="exact")
    board.admit("ann")
    board.admit("bea")
    sent = [RNG(i).normal(size=N) + truth * s for i, s in enumerate((0.5, 2.0, 1.0))]
    numbers = [board.submit("ann", each).number for each in sent]
    other = board.submit("bea", sent[0]).number
    contest.describe(board.engine, finals=2)
    for chosen, judged in ([], 1), ([numbers[0]], 0), ([numbers[0], numbers[2]], 2):
        assert contest.choose_submissions(board.engine, "ann", chosen, boards.now()) == chosen
        ann = next(x for x in ending(board.engine).results if x.account == "ann")
        hidden = ~board.public
        assert ann.submission == numbers[judged]
        assert ann.private == pytest.approx(roc_auc_score(truth[hidden], sent[judged][hidden]))
    with pytest.raises(InputError, match="at most 2 submissions can be chosen, got 3"):
        contest.choose_submissions(board.engine, "ann", numbers, boards.now())
    with pytest.raises(InputError, match=f"submission {other} is not one of ann"):
        contest.choose_submissions(board.engine, "ann", [other], boards.now())


def test_phases_and_a_limit_a_day(opened, clock):
    board = opened(public=0.5, guard="exact", budget=Budget(per_account=100))
    token = add_account(board.engine, "ann")
    contest.set_phase(board.engine, "first", "2026-03-01", "2026-03-10T12:00")
    contest.set_phase(board.engine, "second", "2026-03-20", "2026-03-25", zone="Europe/Berlin")
    contest.describe(
        board.engine, title="Autumn <contest>", rules="Be fair.\nOne team, one account.", per_day=2
    )
    with TestClient(application(board)) as client:

        def send():
            answer = client.post("/submissions", json=TRUTH.tolist(), headers=bearer(token))
            return answer.status_code, answer.json().get("detail", "")

        clock("2026-02-28T23:59")
        assert send() == (403, "the phase first opens at 2026-03-01T00:00:00.000000+00:00: come "
                          "back then")  # fmt: skip
        clock("2026-03-01T00:00")
        assert [send()[0] for _ in range(3)] == [200, 200, 403]
        assert "ann may make 2 submissions a day, and has made them" in send()[1]
        clock("2026-03-02T00:00")
        assert send()[0] == 200
        clock("2026-03-15T00:00")
        assert "second opens at 2026-03-19T23:00" in send()[1]
        clock("2026-03-25T22:59")
        assert send()[0] == 200
        clock("2026-03-25T23:00")
        assert "the last phase, second, closed at" in send()[1]
        closed = client.put("/account/finals?number=1", headers=bearer(token))
        assert (closed.status_code, "has ended" in closed.json()["detail"]) == (403, True)
        assert client.get("/board").json()["ending"] is None
        contest.publish(board.engine)
        contest.set_phase(board.engine, "third", "2026-03-20", "2026-04-20")
        # Exact results of what came later would be answers without a guard.
        assert "the results are published: the contest is closed" in send()[1]
        assert client.put("/account/finals?number=1", headers=bearer(token)).status_code == 403
        contest.remove_phase(board.engine, "third")
        seen = client.get("/board").json()
        assert [each["account"] for each in seen["ending"]["results"]] == ["ann"]
        page = client.get("/").text
    for text in ("Autumn &lt;contest&gt;", "One team, one account.", "Final standings", "first"):
        assert text in page
    assert "<contest>" not in page


def test_who_has_an_invitation_makes_one_account(opened):
    board = opened(guard="exact")
    codes = contest.invite(board.engine, 2)
    with TestClient(application(board)) as client:

        def sign_up(code, name):
            return client.post("/accounts", json={"invitation": code, "name": name})

        made = sign_up(codes[0], "ann")
        assert made.status_code == 200
        head = bearer(made.json()["token"])
        assert client.post("/submissions", json=TRUTH.tolist(), headers=head).status_code == 200
        taken = sign_up(codes[1], "ann")
        assert (taken.status_code, "an account ann already" in taken.json()["detail"]) == (
            422,
            True,
        )
        for code in (codes[0], "wrong"):
            assert "was used" in sign_up(code, "bea").json()["detail"]
        assert sign_up(codes[1], "bea").status_code == 200
        number = client.get("/submissions", headers=head).json()[0]["number"]
        assert client.put(f"/account/finals?number={number}", headers=head).json() == [number]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda e: contest.describe(e, per_day=0), "per_day must be at least 1, got 0"),
        (lambda e: contest.describe(e, title=""), "title must be 1 to 200 characters"),
        (lambda e: contest.set_phase(e, "a", "soon", "2026-01-01"), "opens must be ISO 8601"),
        (lambda e: contest.set_phase(e, "a", "2026-02-01", "2026-01-01"), "closes must be after"),
        (lambda e: contest.invite(e, 0), "invitations must be 1 to 10000, got 0"),
    ],
)
def test_what_is_wrong(opened, call, says):
    with pytest.raises(InputError, match=says):
        call(opened().engine)


def test_a_database_of_the_version_before_goes_on(opened):
    board = opened(guard="exact")
    board.admit("ann")
    first = board.submit("ann", TRUTH)
    with board.engine.begin() as old:
        for name in ("exact", "final", "phase", "invitation", "voided", "names"):
            old.exec_driver_sql(f"DROP TABLE {name}")
        added = ("metric", "public", "points", "private_points", "per_day", "finals", "title")
        for name in (*added, "rules", "looks", "looked_at", "published", "judged_by"):
            old.exec_driver_sql(f"ALTER TABLE board DROP COLUMN {name}")
        for name in ("per_day", "merged_into"):
            old.exec_driver_sql(f"ALTER TABLE account DROP COLUMN {name}")
        old.exec_driver_sql("UPDATE privacygauge_schema SET version = 2")
    board.close()
    again = opened()
    assert again.submit("ann", TRUTH).number == first.number + 1
    assert standings(again).metric == "accuracy"
    assert [row["exact"] for row in entries(again.engine, exact=True)] == [None, 1.0]


def test_a_database_of_schema_3_goes_on_by_its_rule(opened):
    board = opened(guard="exact", public=0.5)
    board.admit("ann")
    first = board.submit("ann", TRUTH)
    with board.engine.begin() as old:
        for name in ("voided", "names"):
            old.exec_driver_sql(f"DROP TABLE {name}")
        for name in ("published", "judged_by"):
            old.exec_driver_sql(f"ALTER TABLE board DROP COLUMN {name}")
        old.exec_driver_sql("UPDATE privacygauge_schema SET version = 3")
    board.close()
    again = opened()
    assert again.submit("ann", TRUTH).number == first.number + 1
    with again.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT judged_by FROM board").scalar() == "shown"


def test_teams_are_judged_by_their_best_exact_public_score(opened):
    """Behind a Ladder that shows hardly anything after the first submission."""
    board = opened(public=0.5, guard="ladder:0.5")
    board.admit("ann")
    rng = RNG(11)
    scores = []
    for skill in (0.6, 0.8, 0.7):
        sent = np.where(rng.random(N) < skill, TRUTH, rng.integers(0, M, N))
        board.submit("ann", sent)
        scores.append(float((sent == TRUTH)[board.public].mean()))
    assert ending(board.engine).results[0].submission == int(np.argmax(scores)) + 1
    contest.describe(board.engine, judged_by="shown")
    assert ending(board.engine).results[0].submission == 1


def test_a_clock_that_was_ahead_locks_nobody(opened, clock):
    board = opened(guard="exact")
    board.admit("ann")
    contest.describe(board.engine, per_day=1)
    clock("2026-04-01T00:00")
    board.submit("ann", TRUTH)
    clock("2026-03-02T00:00")
    board.submit("ann", TRUTH)
    with pytest.raises(BudgetError, match="a day"):
        board.submit("ann", TRUTH)


def test_ids_and_classes_are_kept_with_the_board(opened, tmp_path):
    truth = TRUTH % 3
    names = np.array(["ant", "bee", "cat"])[truth]
    rows = "".join(f"p{i},{name}\n" for i, name in enumerate(names))
    (tmp_path / "labels.csv").write_text(f"id,label\n{rows}")
    hidden = read_hidden(tmp_path / "labels.csv")
    assert hidden.classes == ("ant", "bee", "cat")
    board = opened(hidden, guard="exact")
    board.close()
    with pytest.raises(InputError, match="other labels for the ids that it was begun with"):
        opened(replace(hidden, ids=hidden.ids[::-1]))
    again = opened(hidden.values)
    assert (again.ids, again.classes) == (hidden.ids, hidden.classes)
    token = add_account(again.engine, "ann")
    with TestClient(application(again)) as client:
        head = bearer(token) | CSV
        sent = client.post("/submissions", content=f"id,label\n{rows}", headers=head)
        assert sent.json()["score"] == 1.0
        assert (
            client.post("/submissions", json=names.tolist(), headers=bearer(token)).json()["score"]
            == 1.0
        )
        wrong = client.post(
            "/submissions", content=f"id,label\n{rows.replace('ant', 'asp')}", headers=head
        )
        assert "must have a class of the test set" in wrong.json()["detail"]


def test_columns_of_probabilities_are_matched_by_name(opened):
    board = opened(TRUTH % 3, guard="exact", metric="brier")
    token = add_account(board.engine, "ann")
    truth = TRUTH % 3
    told = np.eye(3)[truth]
    with TestClient(application(board)) as client:

        def send(columns, names):
            rows = "\n".join(f"{i}," + ",".join(map(str, told[i, columns])) for i in range(N))
            body = f"id,{','.join(names)}\n{rows}"
            return client.post("/submissions", content=body, headers=bearer(token) | CSV).json()

        assert send([2, 0, 1], ["p_2", "p_0", "p_1"])["score"] == 1.0
        assert send([0, 1, 2], ["0", "1", "2"])["score"] == 1.0
        assert "called as the classes are" in send([0, 1, 2], ["a", "b", "c"])["detail"]


def attacked_board(opened, tmp_path, guard):
    """Return the log, as a file, of a board that honest teams and an attack submitted to."""
    history = attacked_history(RNG(8), "nb", n=400, m=2, teams=4, submissions=6, queries=60)
    board = opened(history.labels, guard=guard)
    for account, row in zip(history.accounts, history.answers, strict=True):
        board.admit(account)
        board.submit(account, row)
    found = {}
    for exact in (False, True):
        file = tmp_path / f"{exact}.csv"
        file.write_text(as_csv(entries(board.engine, exact=exact)), encoding="utf-8")
        found[exact] = read_history(file, n=400, n_classes=2)
    return history, found


@pytest.mark.slow
def test_the_log_behind_a_guard_shows_what_its_answers_hide(opened, tmp_path):
    history, found = attacked_board(opened, tmp_path, None)
    hidden, exact = (audit_leaderboard(found[behind]) for behind in (False, True))
    assert hidden.suspects == ()
    assert hidden.hints == ()
    # By scores alone, models that have learnt nothing would look alike.
    assert {account for hint in exact.hints for account in hint.accounts} == {"attacker-0"}
    assert exact.evidence == "exact scores behind the guard ladder:1.3se"
    assert exact.submissions.scores.tolist() == history.scores.tolist()
    assert not any("recorded answers" in warning for warning in exact.origin.warnings)


@pytest.mark.slow
@only_sqlite
@pytest.mark.parametrize("guard", ["exact", "round:2", "calibrated", "ladder:0.05"])
def test_a_log_that_was_changed_does_not_fit_its_guard(opened, tmp_path, guard):
    _, found = attacked_board(opened, tmp_path, guard)
    shown = found[True].shown.copy()
    shown[7] += 0.25
    object.__setattr__(found[True], "shown", shown)
    (warning,) = [w for w in audit_leaderboard(found[True]).origin.warnings if "recorded" in w]
    assert warning.startswith("1 of ")


def test_fewer_choices_for_the_end_remove_those_that_are_too_many(opened):
    board = opened(public=0.3)
    contest.describe(board.engine, finals=2)
    for account in ("ann", "bob"):
        board.admit(account)
        numbers = [board.submit(account, labels_of(i, N, M)).number for i in range(2)]
        chosen = numbers if account == "ann" else numbers[:1]
        contest.choose_submissions(board.engine, account, chosen, boards.now())
    assert contest.describe(board.engine, title="Spring") == ()
    assert contest.describe(board.engine, finals=1) == ("ann",)
    assert chosen_submissions(board, "ann") == set()
    assert chosen_submissions(board, "bob") == {3}


def test_labels_that_begin_at_one_are_said_when_a_board_begins(opened):
    said = introduction(opened(TRUTH + 1))
    assert f"{M + 1} classes (no label is 0: if yours begin at 1, subtract 1" in said
    assert "no label is 0" not in introduction(opened(TRUTH, name="other.sqlite"))


@pytest.mark.parametrize("exact", [False, True])
def test_the_log_says_what_was_voided_and_merged_and_the_audit_reads_it(opened, tmp_path, exact):
    board = opened(TRUTH % 3, guard="ladder:0.05", scope="account")
    right = TRUTH % 3
    for account, first, wrong in (("ann", 0, 63), ("bob", 40, 69), ("cid", 80, 72), ("cid", 90, 0)):
        if account not in {row["account"] for row in account_rows(board.engine)}:
            board.admit(account)
        for i in range(3):
            sent = right.copy()
            sent[first + i : first + i + wrong] = (sent[first + i : first + i + wrong] + 1) % 3
            board.submit(account, sent)
    merge_accounts(board, "ann", "bob", "one team")
    for number in (10, 11, 12):
        void_submission(board, number, "the labels")
    rows = list(entries(board.engine, exact=exact))
    assert [row["number"] for row in rows if row["voided"]] == [10, 11, 12]
    assert [row["sent_by"] for row in rows if row["account"] == "ann"] == ["ann"] * 3 + ["bob"] * 3
    for form in (as_csv, as_json_lines):
        file = tmp_path / ("log.csv" if form is as_csv else "log.jsonl")
        file.write_text(form(rows), encoding="utf-8")
        history = read_history(file, n=N, n_classes=3)
        audit = audit_leaderboard(history)
        # The best submission was voided, and is not the winner.
        assert (audit.winner.account, audit.winner.best < 1.0) == ("ann", True)
        assert len(audit.submissions.accounts) == 12
        said = " ".join(audit.origin.warnings)
        assert "3 of 12 submissions were voided" in said
        assert "1 account was merged into another" in said
        assert "recorded answers" not in said
    changed = as_csv([{**row, "voided": False, "sent_by": row["account"]} for row in rows])
    file.with_suffix(".csv").write_text(changed, encoding="utf-8")
    said = " ".join(audit_leaderboard(read_history(file.with_suffix(".csv"), n=N)).origin.warnings)
    assert "voided" not in said


@pytest.mark.parametrize("metric", ["auc", "logloss:15"])
def test_the_log_of_another_metric_leaves_accuracies_out(opened, tmp_path, metric):
    truth = labels_of(9, N, 2)
    board = opened(truth, metric=metric, guard="exact")
    board.admit("ann")
    for i in range(30):
        board.submit("ann", 1 / (1 + np.exp(-RNG(i).normal(size=N) - truth)))
    (tmp_path / "log.csv").write_text(as_csv(entries(board.engine)))
    history = read_history(tmp_path / "log.csv", n=N, n_classes=2)
    assert (history.metric, history.exact, history.counted) == (metric, False, False)
    audit = audit_leaderboard(history)
    assert audit.findings == ()
    assert any(f"The scores are {metric}" in warning for warning in audit.origin.warnings)
    reasons = [each.reason for each in audit.origin.skipped]
    # What random submissions reach is known of areas under the curve alone.
    told = any(f"{metric}, not right answers" in reason for reason in reasons)
    assert told == (metric != "auc")
    assert any("rounded or noisy" in reason for reason in reasons)


@pytest.mark.parametrize("moment", ["2026-03-29T02:30", "2026-10-25T02:30"])
def test_a_time_that_clocks_skip_or_repeat_needs_its_offset(opened, moment):
    board = opened()
    with pytest.raises(InputError, match="name the offset, such as"):
        contest.set_phase(board.engine, "a", moment, "2026-12-31", zone="Europe/Berlin")
    contest.set_phase(board.engine, "a", f"{moment}+01:00", "2026-12-31", zone="Europe/Berlin")
    # A day is taken as a whole, wherever clocks are put.
    contest.set_phase(board.engine, "a", "2026-04-24", "2026-04-24", zone="Africa/Cairo")


def test_a_voided_submission_cannot_be_chosen_for_the_end(opened):
    board = opened(guard="exact", public=0.5)
    board.admit("ann")
    rng = RNG(7)
    for i in range(2):
        board.submit("ann", guess(rng, 0.6), key=str(i))
    void_submission(board, 1, "leaked labels")
    with pytest.raises(InputError, match="submission 1 was voided by the owner"):
        contest.choose_submissions(board.engine, "ann", [1], boards.now())
    assert contest.choose_submissions(board.engine, "ann", [2], boards.now()) == [2]


def test_a_restart_with_another_public_share_is_refused(opened):
    opened(public=0.3).close()
    opened(public=0.3).close()
    opened().close()
    with pytest.raises(InputError, match="belongs to a public part of"):
        opened(public=0.5)
