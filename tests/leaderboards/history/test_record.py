"""A history as a value, and reading it from files."""

import json

import numpy as np
import pandas as pd
import pytest

from privacygauge.errors import InputError
from privacygauge.leaderboards.history.findings import history_warnings
from privacygauge.leaderboards.history.reading import read_history
from privacygauge.leaderboards.history.record import disagreeing, in_time

ANSWERS = np.array([[0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0]])
LABELS = np.array([0, 1, 1, 1])


def test_rows_are_sorted_by_time_and_equal_times_keep_their_order():
    history = in_time([2, 1, 2, 1], list("abcd"), [0.1, 0.2, 0.3, 0.4], n=10)
    assert history.accounts == ("b", "d", "a", "c")
    assert history.scores.tolist() == [0.2, 0.4, 0.1, 0.3]
    assert history.names == ("b", "d", "a", "c")


def test_right_answers_and_accuracies_mean_the_same():
    counts = in_time(None, "aab", [3, 4, 10], n=10)
    shares = in_time(None, "aab", [0.3, 0.4, 1.0], n=10)
    assert counts.scores.tolist() == shares.scores.tolist()
    assert counts.n_correct.tolist() == [3, 4, 10]


def test_answers_and_labels_are_believed_over_scores():
    history = in_time(None, "abc", [0.75, 0.5, 0.9], n=4, answers=ANSWERS, labels=LABELS)
    assert history.n_correct.tolist() == [3, 2, 2]
    assert disagreeing(history).tolist() == [False, False, True]
    assert history.n_classes == 2


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        (np.arange(400, 440) / 1000, 1.0),
        (np.arange(400, 480, 10) / 1000, 10.0),
        (np.arange(400, 440) / 1000 + 0.0005, 0.0),
        ([0.5, 0.7], 1.0),
    ],
)
def test_the_step_of_scores_tells_rounding_from_exact_ones(scores, step):
    history = in_time(None, ["a"] * len(scores), scores, n=1000)
    assert history.step == step
    assert history.exact == (step == 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scores": [0.5, 150, 3]},
            r"^score must be an accuracy in \[0, 1\], or .* got 0.5 in row",
        ),
        (
            {"scores": [0.5, -0.1, 0.3]},
            r"^score must be an accuracy in \[0, 1\], got -0.1 in row 1",
        ),
        ({"scores": [0.5, np.nan, 0.3]}, "^score must be finite"),
        ({"n": 0}, "^n must be at least 1, got 0"),
        ({"n_classes": 1}, "^classes must be at least 2, got 1"),
        ({"answers": ANSWERS[:2]}, "^answers must have a row for each of the 3 submissions"),
        ({"answers": ANSWERS[:, :3]}, r"^answers must have the shape \(3, 4\)"),
        ({"answers": ANSWERS * 0.5}, "^answers must be integers"),
        ({"answers": ANSWERS + 1, "n_classes": 2}, r"^answers must be in 0..1, got 1 to 2"),
        ({"labels": LABELS[:3]}, "^labels must have 4 rows, got 3"),
        ({"labels": LABELS + 1, "n_classes": 2}, r"^labels must be in 0..1, got 2"),
    ],
)
def test_what_is_no_history(change, message):
    given = {"scores": [0.1, 0.2, 0.3], "n": 4} | change
    with pytest.raises(InputError, match=message):
        in_time(None, "abc", given.pop("scores"), **given)


def test_a_history_holds_something():
    with pytest.raises(InputError, match="at least one submission"):
        in_time(None, [], [], n=4)


def rows(times=("2026-01-02", "2026-01-01T23:00:00+00:00", "2026-01-03")):
    return [
        {"time": t, "account": f"00{i}", "score": s, "submission": f"s{i}"}
        for i, (t, s) in enumerate(zip(times, (0.75, 0.5, 0.5), strict=True))
    ]


def test_every_format_reads_the_same(tmp_path):
    lines = tmp_path / "h.jsonl"
    with_answers = [
        row | {"predictions": a.tolist()} for row, a in zip(rows(), ANSWERS, strict=True)
    ]
    lines.write_text("".join(json.dumps(row) + "\n" for row in with_answers))
    table = tmp_path / "h.csv"
    parquet = tmp_path / "h.parquet"
    pd.DataFrame(rows()).to_csv(table, index=False)
    pd.DataFrame(with_answers).to_parquet(parquet)
    np.save(tmp_path / "p.npy", ANSWERS)
    np.savez(tmp_path / "p.npz", **{f"s{i}": a for i, a in enumerate(ANSWERS)})
    np.save(tmp_path / "y.npy", LABELS)
    found = [
        read_history(lines),
        read_history(parquet),
        read_history(table, predictions=tmp_path / "p.npy"),
        read_history(table, predictions=tmp_path / "p.npz", labels=tmp_path / "y.npy"),
    ]
    for history in found:
        assert history.accounts == ("001", "000", "002")
        assert history.n == 4
        assert np.array_equal(history.answers, ANSWERS[[1, 0, 2]])
    assert found[3].labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("time,account\n1,a\n", {"n": 4}, "has no column score: its columns are time, account"),
        ("time,account,score\n", {"n": 4}, "holds no submissions"),
        ("time,account,score\n1,a,0.5\n", {}, "^--n is needed"),
        ("time,account,score\n1,a,good\n", {"n": 4}, "score must be a number, got 'good' in subm"),
        ("time,account,score\n1,,0.5\n", {"n": 4}, "account is missing in submission 1"),
        ("time,account,score\nnoon,a,0.5\n", {"n": 4}, "time must be ISO 8601 .* got 'noon'"),
    ],
)
def test_files_that_are_no_history(tmp_path, text, options, message):
    path = tmp_path / "h.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_history(path, **options)


def test_predictions_that_do_not_fit(tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows()))
    np.savez(tmp_path / "p.npz", s0=ANSWERS[0], s1=ANSWERS[1])
    with pytest.raises(InputError, match="none for 's2'"):
        read_history(path, predictions=tmp_path / "p.npz")
    (tmp_path / "p.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match="damaged or no npy"):
        read_history(path, predictions=tmp_path / "p.npy")
    half = [row | ({"predictions": [0, 1]} if i else {}) for i, row in enumerate(rows())]
    path.write_text("\n".join(json.dumps(row) for row in half))
    with pytest.raises(InputError, match="missing in submission 1"):
        read_history(path)
    ragged = [row | {"predictions": [0] * (i + 1)} for i, row in enumerate(rows())]
    path.write_text("\n".join(json.dumps(row) for row in ragged))
    with pytest.raises(InputError, match="same length in every submission"):
        read_history(path)
    with pytest.raises(InputError, match=r"must end in \.json, \.parquet, \.csv, \.tsv"):
        read_history(tmp_path / "h.txt")


@pytest.mark.parametrize(
    "text",
    [
        "time,account,score\n1,a,60%\n2,b,70 %\n",
        'time,account,score\n1,a,"0,6"\n2,b,"0,7"\n',
        "time;account;score\n1;a;0,6\n2;b;0,7\n",
        "Time,Account,SCORE\n1,a,0.6\n2,b,0.7\n",
        "time,account,score\n2/13/2026,a,0.6\n3/1/2026,b,0.7\n",
        "time,account,score\n13/2/2026,a,0.6\n1/3/2026,b,0.7\n",
        "time,account,score\n01.02.2026 09:30,a,0.6\n01.02.2026 13:05:10,b,0.7\n",
        "time,account,score\n3/1/2026 9:30 AM,a,0.6\n3/1/2026 1:05:10 PM,b,0.7\n",
        "time,account,score\n1,a,0.6\n1,c,\n2,b,0.7\n3,c,None\n",
    ],
)
def test_histories_as_they_are_exported_are_read(text, tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(text)
    history = read_history(path, n=10)
    assert history.accounts == ("a", "b")
    assert history.scores.tolist() == pytest.approx([0.6, 0.7])
    assert history.left_out == (2 if "None" in text else 0)


def test_days_that_can_be_read_in_two_ways_are_refused(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("time,account,score\n3/1/2026,a,0.5\n4/1/2026,b,0.6\n")
    with pytest.raises(InputError, match="may begin with the day or with the month"):
        read_history(path, n=10)
    path.write_text("time,account,score\n31/13/2026,a,0.5\n4/1/2026,b,0.6\n")
    with pytest.raises(InputError, match="time must be ISO 8601"):
        read_history(path, n=10)


def test_scores_stay_beside_their_answers_where_a_submission_failed(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("time,account,score\n1,a,0.5\n2,b,\n3,c,0.25\n")
    np.save(tmp_path / "answers.npy", ANSWERS)
    with pytest.raises(InputError, match="score must be a number, got '' in submission 2"):
        read_history(path, predictions=tmp_path / "answers.npy")


@pytest.mark.parametrize("blank", [True, False])
def test_without_times_rows_are_in_the_order_of_submissions(tmp_path, blank):
    lines = ["account,score,number", "a,0.5,3", "b,0.75,1", "a,0.625,2"]
    if blank:
        lines = [f"time,{lines[0]}", *(f",{line}" for line in lines[1:])]
    path = tmp_path / "history.csv"
    path.write_text("\n".join(lines))
    assert read_history(path, n=8).accounts == ("b", "a", "a")
    path.write_text(path.read_text().replace("number", "remark"))
    found = read_history(path, n=8)
    assert found.accounts == ("a", "b", "a")
    assert found.times is None


@pytest.mark.parametrize(
    "table",
    [
        "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount\n"
        "1,7,ann,2026-01-02 10:00:00,0.9,3\n2,8,bea,2026-01-01 10:00:00,0.8,2\n",
        "teamName,date,status,publicScore,privateScore\n"
        "ann,2026-01-02,complete,0.9,0.88\nbea,2026-01-01,complete,0.8,0.81\ncat,2026-01-03,error,,\n",
        "Team Name,Submitted At,Status,Accuracy\n"
        "ann,2026-01-02T10:00:00Z,finished,90%\nbea,2026-01-01T10:00:00Z,finished,80%\n",
        "ID,Owner,Created When,Status,Score\n"
        "2,ann,2026-01-02 10:00:00+00:00,Finished,0.9\n"
        "1,bea,2026-01-01 10:00:00+00:00,Finished,0.8\n",
        "Timestamp;User or team;Public score\n2026-01-02;ann;0,9\n2026-01-01;bea;0,8\n",
    ],
    ids=["kaggle-board", "kaggle-submissions", "evalai", "codabench", "drivendata"],
)
def test_exports_of_platforms_are_read_as_they_are(tmp_path, table):
    file = tmp_path / "export.csv"
    file.write_text(table, encoding="utf-8")
    history = read_history(file, n=100)
    assert history.accounts == ("bea", "ann")
    np.testing.assert_allclose(history.scores, [0.8, 0.9])


def test_percentages_without_a_sign_are_read_and_said(tmp_path):
    shares = np.array([0.701, 0.878, 0.0, 1.0, 0.9])
    private = np.array([0.712, 0.853, 0.0, 0.95, 0.87])
    columns = {"account": list("aabbb"), "score": shares, "private": private}
    read = {}
    for scale in (1, 100):
        frame = pd.DataFrame({**columns, "score": scale * shares, "private": scale * private})
        path = tmp_path / f"{scale}.csv"
        frame.round(5).to_csv(path, index=False)
        # The number of private points may be unknown.
        for n_private in (2000, None):
            read[scale] = read_history(path, n=1000, n_private=n_private)
            assert read[scale].scores == pytest.approx(shares, abs=1e-12)
            assert read[scale].private == pytest.approx(private, abs=1e-12)
            assert read[scale].n_correct.tolist() == [701, 878, 0, 1000, 900]
    said = {scale: " ".join(history_warnings(history)) for scale, history in read.items()}
    assert "they were read as percentages" in said[100]
    assert "percentages" not in said[1]
    # Of 50 points nobody has 86 right.
    assert in_time(None, "ab", [86, 90], n=50).scores.tolist() == [0.86, 0.9]
    assert in_time(None, "ab", [86, 90], n=100).scores.tolist() == [0.86, 0.9]
    assert not in_time(None, "ab", [86, 90], n=1000).percentages
    # A hard task: as a share, 0.9 would be far above all others.
    hard = in_time(None, "abcd", [3.1, 4.25, 0.9, 5.0], n=1000)
    assert hard.scores == pytest.approx([0.031, 0.0425, 0.009, 0.05])


@pytest.mark.parametrize(
    ("scores", "metric"),
    [
        ([87.8, 0.86, 88.1], "accuracy"),  # a share, or 0.86%
        ([0.5, 0.6, 87.8], "accuracy"),
        ([87.8, 100.2, 90.0], "accuracy"),
        ([-1.5, 87.8, 90.0], "accuracy"),
        ([87.8, 86.2, 90.0], "rmse:0:100"),  # errors themselves
    ],
)
def test_what_may_be_no_percentage_is_refused(scores, metric):
    with pytest.raises(InputError, match="divide percentages by 100"):
        in_time(None, "abc", scores, n=1000, metric=metric)
