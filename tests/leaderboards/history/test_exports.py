"""Histories as platforms write them, unedited."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from privacygauge.errors import InputError
from privacygauge.leaderboards.history.findings import history_warnings
from privacygauge.leaderboards.history.leads import leaps
from privacygauge.leaderboards.history.reading import OWN, read_history
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard
from privacygauge.leaderboards.metrics import metric_named
from privacygauge.report.grades import UNTOLD

SCORES = [0.61, 0.65, 0.7]
EXPORTS = {
    "a leaderboard of Kaggle": "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,"
    'TeamMemberUserNames\n1,7,ann,2026-03-14 09:00:00,0.61,3,"u,v"\n'
    "2,8,bea,2026-03-15 09:00:00,0.65,1,w\n3,9,cleo,2026-03-16 09:00:00,0.7,1,x\n",
    "EvalAI": "Team Name,Phase,Status,Submitted At,Accuracy\nann,dev,finished,03/14/2026 09:00:01,"
    "61.0\nbea,dev,finished,03/15/2026 09:00:01,65.0\nbea,dev,failed,03/15/2026 10:00:01,\n"
    "cleo,dev,finished,03/16/2026 09:00:01,70.25\n",
    "Codabench": "ID,Owner,Phase,Created When,Status,Score\n"
    "1,ann,F,2026-03-14 09:00,Finished,0.61\n"
    "2,bea,F,2026-03-15 09:00,Finished,0.65\n3,bea,F,2026-03-15 10:00,Failed,\n"
    "4,cleo,F,2026-03-16 09:00,Finished,0.7\n",
    "DrivenData": "Rank,User or team,Public score,Timestamp\n3,ann,0.61,2026-03-14 09:00:00 UTC\n"
    "2,bea,0.65,2026-03-15 09:00:00 UTC\n1,cleo,0.7,2026-03-16 09:00:00 UTC\n",
    "mornings": "Account,Time,Score\nann,3/14/2026 9:00 AM,0.61\nbea,3/14/2026 1:00 PM,0.65\n"
    "cleo,3/15/2026 12:30 AM,0.7\n",
    "decimal commas": "Team;Date;Score\nann;14.03.2026 09:00;0,61\nbea;15.03.2026 09:00;0,65\n"
    "cleo;16.03.2026 09:00;0,70\n",
    "percent signs": "team,score\nann,61 %\nbea,65.0%\ncleo,70%\n",
    "failed rows": "team,status,score\nann,ok,0.61\nann,failed,-\nbea,ok,0.65\nbea,error,N/A\n"
    "cleo,ok,0.7\ncleo,timeout,null\n",
    "words of one's own": "team,submitted,public,private\nann,2026-03-14 09:00:00,0.61,0.6\n"
    "bea,2026-03-15 09:00:00,0.65,0.64\ncleo,2026-03-16 09:00:00,0.7,0.69\n",
    "short words, short years": "Participant,When,Acc\nann,03/01/26 00:17:15,0.61\n"
    "bea,03/15/26 01:00:00,0.65\ncleo,03/16/26 02:00:00,0.7\n",
    "short years in the morning": "Account,Time,Score\nann,3/1/26 9:00 AM,0.61\n"
    "bea,3/1/26 1:00 PM,0.65\ncleo,3/2/26 12:30 AM,0.7\n",
    "no times": "team,score\nann,0.61\nbea,0.65\ncleo,0.7\n",
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_as_it_is(tmp_path, name):
    file = tmp_path / "history.csv"
    file.write_text(EXPORTS[name])
    found = read_history(file, n=400)
    assert found.accounts == ("ann", "bea", "cleo")
    np.testing.assert_allclose(found.scores, SCORES, atol=0.003)


def test_a_column_that_is_missing_is_named_beside_those_that_are_there(tmp_path):
    (tmp_path / "history.csv").write_text("team,value,note\nann,0.61,x\n")
    with pytest.raises(InputError, match="no column score: its columns are team, value, note"):
        read_history(tmp_path / "history.csv", n=400)


def test_years_that_may_be_days_are_refused(tmp_path):
    rows = "".join(f"ann,26/03/{day},0.61\n" for day in (14, 15, 16))
    (tmp_path / "history.csv").write_text(f"team,time,score\n{rows}")
    with pytest.raises(InputError, match="time must be ISO 8601"):
        read_history(tmp_path / "history.csv", n=400)


@pytest.mark.parametrize("better", [None, "lower", "higher"])
@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_errors_that_a_library_made_negative_are_errors(tmp_path, better, scale):
    errors = np.array([11.8, 9.0, 7.5]) * scale
    rows = "".join(f"{name},{-error}\n" for name, error in zip("abc", errors, strict=True))
    (tmp_path / "history.csv").write_text(f"team,score\n{rows}")
    found = read_history(tmp_path / "history.csv", n=400, metric="rmse:0:100", better=better)
    np.testing.assert_allclose(found.scores, 1 - errors / 100)
    assert found.error_unit == 100


def test_percentages_that_read_as_right_answers_are_told_how_to_be_given(tmp_path):
    rows = "".join(f"team-{i % 5},{80 + i % 7}\n" for i in range(30))
    (tmp_path / "history.csv").write_text(f"team,score\n{rows}")
    told = history_warnings(read_history(tmp_path / "history.csv", n=1_000, n_classes=2))
    assert any("Divide percentages by 100" in line for line in told)


def test_a_team_s_own_list_is_of_one_account(tmp_path):
    file = tmp_path / "history.csv"
    file.write_text(
        "fileName,date,description,status,publicScore,privateScore\n"
        "a.csv,2026-03-16 09:00:00.123000,last,SubmissionStatus.COMPLETE,0.7,0.69\n"
        "b.csv,2026-03-15 09:00:00,broken,SubmissionStatus.ERROR,,\n"
        "c.csv,2026-03-14 09:00:00,first,SubmissionStatus.COMPLETE,0.61,0.6\n"
    )
    found = read_history(file, n=400)
    assert (found.accounts, found.left_out) == ((OWN, OWN), 1)
    assert found.scores.tolist() == [0.61, 0.7]


def test_predictions_in_a_folder(tmp_path):
    rows = np.random.default_rng(0).integers(0, 3, (3, 50))
    folder = tmp_path / "predictions"
    folder.mkdir()
    np.save(folder / "one.npy", rows[0])
    for name, row in (("two", rows[1]), ("three", rows[2])):
        order = np.random.default_rng(1).permutation(50)
        lines = "".join(f"{i},{row[i]}\n" for i in order)
        (folder / f"{name}.csv").write_text(f"id,label\n{lines}")
    file = tmp_path / "history.csv"
    file.write_text("submission,team,score\none,ann,0.6\ntwo.csv,bea,0.6\nthree,bea,0.6\n")
    found = read_history(file, predictions=folder)
    np.testing.assert_array_equal(found.answers, rows)
    (folder / "two.csv").unlink()
    with pytest.raises(InputError, match="must hold a file called as each submission, none for"):
        read_history(file, predictions=folder)


@pytest.mark.parametrize(
    "form",
    ["%b %d, %Y, %I:%M %p", "%a %b %d %H:%M:%S %Y", "%Y/%m/%d %H:%M:%S", "%a, %d %b %Y %H:%M:%S",
     "%d-%m-%Y %H:%M", "%d %b %Y %H:%M:%S"],
)  # fmt: skip
def test_times_are_read_as_they_are_written(tmp_path, form):
    times = [datetime(2026, 1, 1) + timedelta(hours=31 * i) for i in range(20)]
    rows = [(at.strftime(form), f"team-{i % 4}", 0.5 + i / 100) for i, at in enumerate(times)]
    table = pd.DataFrame(rows, columns=["time", "account", "score"]).iloc[::-1]
    table.to_csv(tmp_path / "h.csv", index=False)
    found = read_history(tmp_path / "h.csv", n=100)
    assert found.scores.tolist() == [row[2] for row in rows]
    to_minutes = 60 if "%S" not in form else 1
    wanted = [at.replace(tzinfo=UTC).timestamp() // to_minutes * to_minutes for at in times]
    assert found.times.tolist() == wanted


def test_rows_without_a_score_yet_are_left_out_and_counted(tmp_path):
    words = ["Pending", "timeout", "Disqualified", "queued"]
    table = pd.DataFrame(
        {
            "participant_username": [f"team-{i}" for i in range(8)],
            "created_at": [f"2026-01-0{i + 1}T12:00:00Z" for i in range(8)],
            "public_score": [0.5, 0.6, 0.7, 0.8, *words],
            "private_score": [0.4, 0.5, 0.6, 0.7, *words],
        }
    )
    table.to_csv(tmp_path / "zindi.csv", index=False)
    found = read_history(tmp_path / "zindi.csv", n=1000, n_private=2000)
    assert found.accounts == ("team-0", "team-1", "team-2", "team-3")
    assert found.private.tolist() == [0.4, 0.5, 0.6, 0.7]
    assert found.left_out == 4


def columns(tmp_path, head, values):
    """Return a file of three teams with one column of scores."""
    file = tmp_path / "history.csv"
    rows = "".join(f"{team},{value}\n" for team, value in zip("abc", values, strict=True))
    file.write_text(f"account,{head}\n{rows}")
    return file


@pytest.mark.parametrize("head", ["score", "RMSE", "Public score"])
def test_errors_above_one_are_read_as_errors(tmp_path, head):
    file = columns(tmp_path, head, [900, 420.5, 200])
    found = read_history(file, n=1000, metric="rmse:0:1000")
    np.testing.assert_allclose(found.scores, [0.1, 0.5795, 0.8])


@pytest.mark.parametrize("head", ["score", "QWK", "Public score"])
def test_a_negative_kappa_counts_as_none(tmp_path, head):
    file = columns(tmp_path, head, [-0.2, 0.1, 0.5])
    assert read_history(file, n=1000, metric="qwk").scores.tolist() == [0.0, 0.1, 0.5]


@pytest.mark.parametrize(("head", "metric"), [("AUC", "auc"), ("Macro F1", "macro-f1")])
def test_a_column_called_as_the_metric_has_its_scores(tmp_path, head, metric):
    file = columns(tmp_path, head, [0.6, 0.7, 0.9])
    assert read_history(file, n=100, metric=metric).scores.tolist() == [0.6, 0.7, 0.9]


def test_one_submission_is_too_few_in_english():
    history = in_time(None, ["ann"], [0.5], n=10, n_classes=2)
    assert "1 submission is too few to show anything." in history_warnings(history)
    found = audit_leaderboard(history).report().verdict
    assert found.grade is UNTOLD
    assert found.headline == "It cannot be told: 1 submission is too few to show anything"
    assert found.gauge is None


def test_a_leaderboard_says_that_it_is_no_history(tmp_path):
    file = tmp_path / "leaderboard.csv"
    file.write_text(EXPORTS["a leaderboard of Kaggle"])
    found = read_history(file, n=400)
    assert found.unknown == 2
    assert any("2 other submissions are not in it" in text for text in history_warnings(found))
    every = tmp_path / "all.csv"
    every.write_text("team,entries,score\nann,2,0.6\nann,2,0.7\n")
    assert read_history(every, n=400).unknown == 0


PHASES = (
    "Team Name,Challenge Phase,Status,Submitted At,Accuracy\n"
    "ann,dev,finished,2026-03-14 09:00:01,0.61\nann,test,finished,2026-03-15 09:00:01,0.52\n"
    "bea,dev,finished,2026-03-16 09:00:01,0.65\nbea,test,failed,2026-03-17 09:00:01,\n"
)


@pytest.mark.parametrize("name", ["Challenge Phase", "Phase"])
def test_a_phase_is_chosen_where_there_are_several(tmp_path, name):
    file = tmp_path / "evalai.csv"
    file.write_text(PHASES.replace("Challenge Phase", name))
    with pytest.raises(InputError, match=r"holds 2 phases, .*\(dev, test\): choose one with"):
        read_history(file, n=400)
    with pytest.raises(InputError, match="holds no phase 'final', got dev, test"):
        read_history(file, n=400, phase="final")
    assert read_history(file, n=400, phase="dev").scores.tolist() == [0.61, 0.65]
    rows = np.random.default_rng(0).integers(0, 2, (4, 400))
    np.save(tmp_path / "rows.npy", rows)
    found = read_history(file, n=400, phase="dev", predictions=tmp_path / "rows.npy")
    np.testing.assert_array_equal(found.answers, rows[[0, 2]])


def test_labels_in_a_table_are_put_in_the_order_of_the_predictions(tmp_path):
    truth = np.random.default_rng(2).integers(0, 3, 50)
    folder = tmp_path / "predictions"
    folder.mkdir()
    table = pd.DataFrame({"Id": np.arange(50), "label": truth})
    table.sample(frac=1, random_state=1).to_csv(folder / "one.csv", index=False)
    table.sample(frac=1, random_state=2).to_csv(tmp_path / "labels.csv", index=False)
    file = tmp_path / "history.csv"
    file.write_text("submission,team,score\none,ann,1.0\n")
    found = read_history(file, predictions=folder, labels=tmp_path / "labels.csv")
    assert found.n_correct.tolist() == [50]
    table.assign(Id=table["Id"] + 1).to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(InputError, match="must have the ids of"):
        read_history(file, predictions=folder, labels=tmp_path / "other.csv")
    np.save(tmp_path / "rows.npy", truth[None])
    with pytest.raises(InputError, match="leave the column id out"):
        read_history(file, predictions=tmp_path / "rows.npy", labels=tmp_path / "labels.csv")
    table[["label"]].to_csv(tmp_path / "plain.csv", index=False)
    found = read_history(file, predictions=tmp_path / "rows.npy", labels=tmp_path / "plain.csv")
    assert found.n_correct.tolist() == [50]


BOARDS = {
    "EvalAI": "Rank,Participant team,Accuracy (\u2191),Last submission at\n"
    "1,cleo,70.25,3 days ago\n2,bea,65,1 hour ago\n3,ann,61,a year ago\n",
    "Codabench": "#,Participant,Date,ID,Method Name,accuracy\n1,cleo,2026-03-14 09:00,7,m,0.7\n"
    "2,bea,2026-03-13 09:00,8,m,0.65\n3,ann,2026-03-12 09:00,9,m,0.61\n",
    "CodaLab": "#,User,Entries,Date of Last Entry,Prediction score\n1,cleo,1,03/01/26,0.7000 (1)\n"
    "2,bea,1,03/05/26,0.6500 (2)\n3,ann,1,03/04/26,0.6100 (3)\n",
    "DrivenData": EXPORTS["DrivenData"],
}


@pytest.mark.parametrize("name", BOARDS)
def test_a_leaderboard_that_counts_no_submissions_says_so_too(tmp_path, name):
    file = tmp_path / "board.csv"
    file.write_text(BOARDS[name])
    found = read_history(file, n=400)
    assert dict(zip(found.accounts, found.scores, strict=True)) == pytest.approx(
        {"cleo": 0.7, "bea": 0.65, "ann": 0.61}, abs=0.003
    )
    assert found.best_only
    said = "This is a leaderboard and no history: it has the best of each account"
    assert any(text.startswith(said) for text in history_warnings(found))
    # Rows of one account in a list are no leaderboard, nor is a list without ranks.
    file.write_text("team,score\nann,0.6\nbea,0.7\n")
    assert not read_history(file, n=400).best_only


def test_the_last_entry_of_a_leaderboard_is_its_time(tmp_path):
    file = tmp_path / "board.csv"
    file.write_text(BOARDS["CodaLab"])
    assert read_history(file, n=400).accounts == ("cleo", "ann", "bea")


def test_a_history_may_be_one_array_in_a_json_file(tmp_path):
    rows = [{"time": i, "account": name, "score": 0.5 + i / 10, "predictions": [i % 2] * 20}
            for i, name in enumerate("abc")]  # fmt: skip
    file = tmp_path / "history.json"
    file.write_text(json.dumps(rows))
    found = read_history(file)
    assert found.accounts == ("a", "b", "c")
    assert found.answers.shape == (3, 20)
    for wrong in ({"rows": rows}, [1, 2]):
        file.write_text(json.dumps(wrong))
        with pytest.raises(InputError, match="must hold one array of objects, one a submission"):
            read_history(file)


@pytest.mark.parametrize("metric", ["rmse:0:1", "logloss:1", "brier"])
def test_errors_of_at_most_one_are_not_taken_for_scores(tmp_path, metric):
    """Read the wrong way round, the worst honest team would lead and a leaker be last."""
    small = [0.16, 0.12, 0.04]
    file = columns(tmp_path, "score", small)
    with pytest.raises(InputError, match=r"--better lower or --better higher") as refused:
        read_history(file, n=1000, metric=metric)
    assert "\n" not in str(refused.value)
    errors = read_history(file, n=1000, metric=metric, better="lower")
    np.testing.assert_allclose(errors.scores, [0.84, 0.88, 0.96])
    assert "read as errors, of which less is better" in " ".join(history_warnings(errors))
    shares = read_history(file, n=1000, metric=metric, better="higher")
    np.testing.assert_allclose(shares.scores, small)
    assert "read as 1 less the error, of which more" in " ".join(history_warnings(shares))
    # One private error above 1 decides, and a server's log names its metric and has shares.
    rows = "".join(f"{team},{x},{5 * x}\n" for team, x in zip("abc", [0.3, 0.2, 0.1], strict=True))
    file.write_text(f"account,score,private\n{rows}")
    found = read_history(file, n=1000, metric="rmse:0:2")
    np.testing.assert_allclose(found.scores, [0.85, 0.9, 0.95])
    file.write_text(f"account,score,metric\na,0.3,{metric}\nb,0.2,{metric}\n")
    assert read_history(file, n=1000).scores.tolist() == [0.3, 0.2]


def test_which_scores_are_better_is_one_of_two(tmp_path):
    file = columns(tmp_path, "score", [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="needs a metric that is an error, got accuracy"):
        read_history(file, n=10, better="lower")
    with pytest.raises(InputError, match="better must be higher or lower, got up"):
        read_history(file, n=10, better="up")


def contest_of_errors(file, worst, *, best=0.2, shares=False, metric=None):
    """Write a contest of eight teams, of which the last leads by far, as errors or as shares."""
    rng = np.random.default_rng(0)
    rows = []
    for turn in range(6):
        for team in range(8):
            error = 0.4 - 0.01 * team - 0.005 * turn + 0.002 * rng.random()
            if (turn, team) == (5, 7):
                error = best
            pair = [error, error + 0.01 * rng.random()]
            values = [1 - x for x in pair] if shares else [worst * x for x in pair]
            named = [] if metric is None else [metric]
            rows.append([f"team-{team}", *values, *named])
    names = ["account", "score", "private"] + ([] if metric is None else ["metric"])
    pd.DataFrame(rows, columns=names).to_csv(file, index=False)
    return file


def cells_of(table):
    return [str(getattr(cell, "value", cell)) for row in table.full for cell in row.cells]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("metric", "shares", "best"),
    [
        ("rmse:0:100", False, "20.000"),
        ("logloss:15", False, "3.0000"),
        ("mae:0:1000000", False, "200000"),
        ("rmse:0:100", True, "20.000"),
    ],
)
def test_an_error_is_shown_as_an_error_everywhere(tmp_path, metric, shares, best):
    """In the units of the metric, also where a server's log has 1 less the error."""
    worst = metric_named(metric).worst
    named = metric if shares else None
    file = contest_of_errors(tmp_path / "history.csv", worst, shares=shares, metric=named)
    history = read_history(file, n=1000, metric=metric, n_private=2000)
    audit = audit_leaderboard(history)
    report = audit.report()
    shown = {measure.name: measure.shown.value for measure in report.measures}
    assert shown["best"] == f"an error of {best}"
    assert "%" not in shown["lead"] + shown["selection"]
    ended = next(section for section in report.sections if section.name == "ended")
    (text, table) = ended.blocks
    cells = cells_of(table)
    assert best in cells
    assert not any("%" in cell for cell in cells)
    assert "in points of a hundred" not in str(text)
    (leap,) = leaps(history)
    assert leap.says.startswith(f"an error of {best} where the next account reaches")
    others = [test.says for test in audit.tests if test.detector.name == "final-gap"]
    assert all(says.startswith("an error of ") for says in others)
    ax = audit.plot_history()
    assert ax.get_ylabel() == f"Error, {metric_named(metric).name}"
    line = next(line for line in ax.lines if line.get_label() == "best so far")
    assert line.get_ydata()[-1] == pytest.approx(worst * 0.2)


@pytest.mark.usefixtures("undrawn")
def test_what_guards_would_have_shown_is_an_error_too(tmp_path):
    """Errors that are n-ths of their unit are exact scores, which guards are replayed on."""
    file = columns(tmp_path, "RMSE", [16.0, 12.0, 4.0])
    audit = audit_leaderboard(read_history(file, n=1000, metric="rmse:0:100"))
    report = audit.report()
    tables = [table for table in report.overview if table.name == "guards"]
    for table in tables:
        cells = cells_of(table)
        assert not any("%" in cell for cell in cells)
    assert {measure.name: measure.shown.value for measure in report.measures}["best"] == (
        "an error of 4.000"
    )
