"""Histories of contests as platforms publish them, and what their ends say of overfitting."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import binom, linregress, rankdata, spearmanr
from sklearn.metrics import log_loss, root_mean_squared_error

from privacygauge.core.estimate import Skipped
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.evaluate.slices import holm
from privacygauge.leaderboards.history.made import contest_history
from privacygauge.leaderboards.history.overfitting import (
    final_gaps,
    overfitting,
    private_leads,
    wide_gaps,
)
from privacygauge.leaderboards.history.reading import read_history
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.history_audit.audit import audit_leaderboard
from tests.cli.test_main import run_inside
from tests.thorough import times

RNG = np.random.default_rng
SMALL = {"n": 400, "n_private": 800, "teams": 8, "submissions": 10, "queries": 250}


def published(history, path, **columns):
    """Write a history as Meta Kaggle's table Submissions has it, in no order, with rows besides."""
    k = len(history)
    days = pd.Timestamp("2019-03-01") + pd.to_timedelta(np.arange(k) // 9, unit="D")
    table = pd.DataFrame(
        {
            "Id": 10_000 + np.arange(k),
            "SubmittedUserId": 77,
            "TeamId": [f"{name}" for name in history.accounts],
            "SourceKernelVersionId": "",
            "SubmissionDate": days.strftime("%m/%d/%Y"),
            "ScoreDate": days.strftime("%m/%d/%Y"),
            "IsAfterDeadline": False,
            "IsSelected": False,
            "PublicScoreLeaderboardDisplay": history.scores.round(5),
            "PublicScoreFullPrecision": history.scores,
            "PrivateScoreLeaderboardDisplay": history.private.round(5),
            "PrivateScoreFullPrecision": history.private,
            **columns,
        }
    )
    late = table.iloc[:2].assign(IsAfterDeadline=True)
    failed = table.iloc[2:4].copy()
    failed[["PublicScoreFullPrecision", "PrivateScoreFullPrecision"]] = np.nan
    rows = pd.concat([table, late, failed]).sample(frac=1, random_state=0)
    rows.to_csv(path, index=False)
    return path


def test_a_table_of_submissions_is_read_as_it_is(tmp_path):
    made = contest_history(RNG(0), **SMALL)
    chosen = np.arange(len(made)) % 5 == 0
    file = published(made, tmp_path / "Submissions.csv", IsSelected=chosen)
    found = read_history(file, n=400, n_private=800)
    assert found.accounts == made.accounts
    assert np.array_equal(found.scores, made.scores)
    assert np.array_equal(found.private, made.private)
    assert np.array_equal(found.selected, chosen)
    assert (found.n_private, found.left_out, found.exact) == (800, 4, True)
    pd.read_csv(file).to_parquet(tmp_path / "s.parquet")
    again = read_history(tmp_path / "s.parquet", n=400)
    assert np.array_equal(again.private, made.private)


def test_our_own_columns_hold_private_scores_too(tmp_path):
    rows = [("1", "a", 0.5, 0.25, ""), ("3", "b", 0.75, 0.5, ""), ("2", "a", 1.0, 0.75, "true")]
    table = pd.DataFrame(rows, columns=["time", "account", "score", "private", "selected"])
    table.to_csv(tmp_path / "h.csv", index=False)
    found = read_history(tmp_path / "h.csv", n=4, n_private=4)
    assert found.private.tolist() == [0.25, 0.75, 0.5]
    assert found.selected.tolist() == [False, True, False]
    table.assign(private=[0.2, 1.5, 0.3]).to_csv(tmp_path / "h.csv", index=False)
    with pytest.raises(InputError, match="private must be an accuracy in"):
        read_history(tmp_path / "h.csv", n=4)


def test_the_end_is_what_naive_sums_say():
    history = contest_history(RNG(1), **SMALL, overfitted=1)
    chosen = RNG(2).random(len(history)) < 0.1
    history = replace(history, selected=chosen)
    found = overfitting(history)
    frame = pd.DataFrame(
        {"team": history.accounts, "a": history.scores, "b": history.private, "chosen": chosen}
    )
    judged = {}
    for team, rows in frame.groupby("team"):
        own = rows[rows["chosen"]]
        judged[team] = own.loc[own["b"].idxmax()] if len(own) else rows.loc[rows["a"].idxmax()]
    ends = pd.DataFrame(judged).T
    for team in found.teams:
        assert (team.public, team.private) == (ends.a[team.account], ends.b[team.account])
        assert team.gap.low <= team.difference <= team.gap.high
    private = [team.private for team in found.teams]
    assert private == sorted(private, reverse=True)
    assert found.mean == pytest.approx((ends.a - ends.b).mean())
    top = ends.sort_values("a", ascending=False).iloc[:1]
    assert found.top == pytest.approx((top.a - top.b).mean())
    assert found.slope == pytest.approx(linregress(frame["a"], frame["b"]).slope)
    assert found.ranks == pytest.approx(spearmanr(ends.a, ends.b).statistic)


def test_sizes_decide_whether_gaps_are_tested():
    history = contest_history(RNG(1), **SMALL)
    unknown = replace(history, n_private=None)
    assert all(team.gap is team.p_value is None for team in overfitting(unknown).teams)
    assert isinstance(final_gaps(unknown), Skipped)
    assert overfitting(replace(history, private=None)) is None
    alone = in_time(None, "aa", [0.5, 0.5], n=10)
    found = overfitting(replace(alone, private=np.array([0.5, 0.25]), n_private=20))
    assert (found.slope, found.ranks) == (None, None)


def test_a_few_teams_cannot_tell_a_harder_part_from_overfitting():
    history = in_time(None, "abcd", [0.9, 0.8, 0.9, 0.8], n=1000)
    history = replace(history, private=np.full(4, 0.5), n_private=1000)
    assert isinstance(final_gaps(history), Skipped)


def contest(rng, k=10, teams=8, n=400, harder=0.0, climbing=0.0):
    """Return teams with k submissions of equal truth each, and a private part of another kind."""
    names = np.repeat(np.arange(teams), k)
    truth = rng.uniform(0.6, 0.85, teams)[names]
    public = (rng.random((len(names), n)) < truth[:, None]).mean(axis=1)
    private = (rng.random((len(names), n)) < (truth - harder)[:, None]).mean(axis=1)
    public[names == 0] = np.minimum(1.0, public[names == 0] + climbing)
    history = in_time(None, names, public, n=n)
    return replace(history, private=private, n_private=n)


@pytest.mark.slow
@pytest.mark.parametrize("harder", [0.0, 0.02, 0.05, -0.05])
def test_a_private_part_that_is_harder_for_all_accuses_nobody(harder):
    rng = RNG(3)
    games = times(200)
    alarms = 0
    for _ in range(games):
        p_values = np.array([x.p_value for x in wide_gaps(contest(rng, harder=harder))])
        alarms += holm(p_values).min() <= 0.05
    assert alarms <= 0.05 * games + 3.3 * math.sqrt(games * 0.05)


@pytest.mark.parametrize("detector", [wide_gaps, private_leads])
@pytest.mark.parametrize("teams", [5, 8, 20])
def test_what_teams_differ_in_is_judged_by_how_few_they_are(detector, teams):
    """The parts differ by team, which a spread from few teams is too rough a scale for."""
    rng = RNG(8)
    names = np.arange(teams)
    public = rng.uniform(0.6, 0.85, teams)
    games = 400
    far = 0
    for _ in range(games):
        history = in_time(None, names, public, n=10**7)
        private = public + rng.normal(0, 0.02, teams)
        found = detector(replace(history, private=private, n_private=10**7))
        far += sum(x.p_value <= 0.01 for x in found)
    assert far <= binom.ppf(1 - 1e-4, games * teams, 0.01)


@pytest.mark.parametrize("spread", [0.5, 1.0, 1.5, 2.0, 3.0, 6.0])
@pytest.mark.parametrize("teams", [5, 6, 8])
def test_gaps_of_few_teams_have_the_p_values_that_they_say(teams, spread):
    """Five gaps hardly show whether they spread by sampling alone."""
    rng = RNG(5)
    n = 1_000
    sampled = math.sqrt(0.8 * 0.2 * 2 / n)
    games = times(600)
    found = []
    for _ in range(games):
        private = 0.8 - np.clip(rng.normal(0, spread * sampled, teams), -0.2, 0.2)
        history = in_time(None, np.arange(teams), np.full(teams, 0.8), n=n)
        found += [x.p_value for x in wide_gaps(replace(history, private=private, n_private=n))]
    for level in (0.05, 0.01):
        # Teams of one contest are not independent: half as many again are allowed.
        allowed = binom.ppf(1 - 1e-4, games, level * teams)
        assert np.less_equal(found, level).sum() <= allowed


@pytest.mark.parametrize("teams", [1, 3, 12])
def test_parts_drawn_at_random_need_no_other_teams(teams):
    rng = RNG(9)
    games = times(200)
    alarms = 0
    for _ in range(games):
        history = replace(contest(rng, teams=teams), random_private=True)
        for detector in (final_gaps, wide_gaps, private_leads):
            p_values = np.array([x.p_value for x in detector(history)])
            alarms += holm(p_values).min() <= 0.05
    assert alarms <= 3 * binom.ppf(1 - 1e-3, games, 0.05)
    cheated = replace(contest(rng, teams=teams, climbing=0.15), random_private=True)
    assert min(final_gaps(cheated), key=lambda x: x.p_value).accounts == ("0",)
    assert min(x.p_value for x in final_gaps(cheated)) < 0.01 / teams


def test_a_gap_wider_than_the_other_teams_is_seen_where_the_private_part_is_harder_for_all():
    found = wide_gaps(contest(RNG(1), n=1000, harder=0.05, climbing=0.12))
    least = min(found, key=lambda x: x.p_value)
    assert least.accounts == ("0",)
    assert least.p_value < 0.01


@pytest.mark.slow
def test_honest_contests_end_without_a_finding():
    alarms = 0
    for i in range(times(200)):
        history = contest_history(stream(i, "contests"), **SMALL)
        p_values = np.array([each.p_value for each in wide_gaps(history)])
        alarms += holm(p_values).min() <= 0.05
    assert alarms <= times(200) * 0.05


def test_who_climbed_on_the_public_score_is_found_end_to_end(tmp_path, capsys):
    made = contest_history(RNG(4), **SMALL, overfitted=1)
    file = published(made, tmp_path / "Submissions.csv")
    options = ("--n", 400, "--n-private", 800, "--classes", 2)
    done = run_inside(("holdout", "log", file, *options, "--json", "-"), capsys)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    # All of it was gained by one submission: a feature that did not last does that too.
    assert found["suspects"] == []
    assert [(x["detector"], x["accounts"]) for x in found["hints"]] == [("wide-gap", ["climber-0"])]
    said = audit_leaderboard(read_history(file, n=400, n_private=800)).report().verdict.headline
    assert said.startswith("climber-0 fell far below the public score on private points")
    # There is no such feature where both parts were drawn at random.
    told = (*options, "--random-private", "--json", "-")
    drawn = run_inside(("holdout", "log", file, *told), capsys)
    assert json.loads(drawn.stdout)["suspects"] == ["climber-0"]
    worst = max(found["ended"]["teams"], key=lambda team: team["difference"])
    assert (worst["account"], worst["p_value"] < 1e-3) == ("climber-0", True)
    assert any("4 rows count for nothing" in text for text in found["warnings"])
    honest = published(contest_history(RNG(5), **SMALL), tmp_path / "honest.csv")
    asked = ("holdout", "log", honest, *options, "--fail-above", "findings=0", "--json", "-")
    assert run_inside(asked, capsys).returncode == 0


def raw(name, y, sent):
    """Return the score as the platform writes it."""
    if name == "auc":
        ranks = rankdata(sent)
        inside = y == 1
        pairs = inside.sum() * (~inside).sum()
        return (ranks[inside].sum() - inside.sum() * (inside.sum() + 1) / 2) / pairs
    if name == "rmse":
        return root_mean_squared_error(y, sent)
    return log_loss(y, sent)


def other_contest(name, climbs, seed=0, n=300, n_private=600):
    """Return a published table of six teams under another metric; the last may climb."""
    rng = RNG(seed)
    size = n + n_private
    y = rng.uniform(0, 10, size) if name == "rmse" else rng.integers(0, 2, size)
    rows = []

    def told(team, sent):
        scores = [raw(name, y[part], sent[part]) for part in (slice(n), slice(n, None))]
        rows.append((len(rows), team, f"2020-01-01 00:{len(rows) // 60:02}:{len(rows) % 60:02}",
                     *scores))  # fmt: skip
        return scores[0]

    def model(errors):
        if name == "rmse":
            return np.clip(y + 2 * errors, 0, 10)
        return 1 / (1 + np.exp(-(2 * y - 1 + 1.5 * errors)))

    for team in range(6):
        base = rng.normal(size=size)
        for _ in range(12):
            told(f"{team}", model(base + 0.4 * rng.normal(size=size)))
    if climbs:
        # Boosting by scores: the mean of random changes, each weighted by what it scored.
        base = rng.normal(size=size)
        steps = rng.normal(size=(400, size))
        sign = 1 if name == "auc" else -1
        scores = sign * np.array([told("climber", model(base + step)) for step in steps])
        weights = (scores - scores.mean()) / scores.std()
        told("climber", model(base + 3 * (weights @ steps) / np.sqrt(len(steps))))
    names = ["Id", "TeamId", "SubmissionDate", "PublicScore", "PrivateScore"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "metric"), [("auc", "auc"), ("rmse", "rmse:0:10"), ("logloss", "logloss:15")]
)
def test_contests_of_other_metrics_are_read_as_the_platform_writes_them(tmp_path, name, metric):
    table = other_contest(name, climbs=False)
    table.to_csv(tmp_path / "s.csv", index=False)
    history = read_history(tmp_path / "s.csv", n=150, n_private=300, metric=metric)
    unit = {"auc": None, "rmse": 10, "logloss": 15}[name]
    for column, scores in (("PublicScore", history.scores), ("PrivateScore", history.private)):
        written = table[column].to_numpy()
        assert scores == pytest.approx(written if unit is None else 1 - written / unit)
    audit = audit_leaderboard(history)
    assert audit.findings == ()
    assert len(audit.ended.teams) == 6


def test_a_climb_on_an_auc_is_worth_a_look(tmp_path):
    other_contest("auc", climbs=True).to_csv(tmp_path / "s.csv", index=False)
    asked = {"n": 140, "n_private": 280, "metric": "auc"}
    audit = audit_leaderboard(read_history(tmp_path / "s.csv", **asked))
    assert {x.accounts for x in audit.hints} == {("climber",)}
    drawn = audit_leaderboard(read_history(tmp_path / "s.csv", **asked, random_private=True))
    assert drawn.suspects == ("climber",)


def test_scores_without_any_spread_are_no_gap():
    """Everybody is right about everything: a team cannot be too far from the others."""
    perfect = np.ones(80)
    history = in_time(None, np.repeat(np.arange(8), 10), perfect, n=400)
    found = wide_gaps(replace(history, private=perfect, n_private=400))
    assert all(test.p_value == 1 for test in found)


def test_the_metric_is_said_once(tmp_path):
    table = pd.DataFrame({"time": [1], "account": ["a"], "score": [0.5], "metric": ["auc"]})
    table.to_csv(tmp_path / "h.csv", index=False)
    assert read_history(tmp_path / "h.csv", n=4, metric="auc").metric == "auc"
    with pytest.raises(InputError, match="the column metric says auc, got brier"):
        read_history(tmp_path / "h.csv", n=4, metric="brier")


@pytest.mark.parametrize("form", ["utf-16", "utf-8-sig", "sep=", "gzip"])
def test_a_history_that_excel_or_gzip_wrote_has_its_accounts_as_written(tmp_path, form):
    accounts = ["007", "7", "1E1", "10E0", "NA", "None"]
    table = pd.DataFrame({"time": range(6), "account": accounts, "score": 0.5})
    file = tmp_path / ("h.csv.gz" if form == "gzip" else "h.csv")
    if form == "sep=":
        file.write_text("sep=;\n" + table.to_csv(index=False, sep=";"))
    elif form == "gzip":
        table.to_csv(file, index=False)
    else:
        file.write_bytes(table.to_csv(index=False, sep="\t").encode(form))
    assert list(read_history(file, n=1000).accounts) == accounts


def test_a_row_with_more_cells_than_columns_is_refused(tmp_path):
    file = tmp_path / "h.csv"
    file.write_text("time,account,score\n1,team,0.5\n2,team,0,879\n")
    with pytest.raises(InputError, match="more cells than columns in submission 2") as caught:
        read_history(file, n=1000)
    assert "\n" not in str(caught.value)


def test_an_account_far_above_in_private_is_named_and_not_put_down_to_choosing():
    history = contest(RNG(5), n=1000)
    private = history.private.copy()
    private[np.array(history.accounts) == "0"] = 0.99
    found = audit_leaderboard(replace(history, private=private), guards=("exact",))
    said = found.summary() + found.to_html()
    assert "On private points 0 wins, with 99.00%" in said
    assert "Of 0 the private score is above the public one" in said
    assert "Of 0 the parts differ" not in said
    assert "0" in {name for test in (*found.hints, *found.findings) for name in test.accounts}


def harder_end(i, skill, harder, known=0.0):
    """Return ten teams of one skill and a harder private part, of whose labels one knows a share.

    What makes points hard does so for all, and more for a model that sees less.
    """
    rng = stream(i, "harder end", str(skill), str(harder), str(known))
    public = np.arange(3_000) < 1_000
    shared = rng.normal(size=3_000)
    rows = []
    for team in range(10):
        margin = ndtri(np.where(public, skill, skill - harder)) * rng.uniform(0.9, 1.1)
        own = rng.normal(size=3_000)
        for turn in range(12):
            noise = 0.7 * shared + 0.6 * own + 0.4 * rng.normal(size=3_000)
            # Models get better, and with them the gap of a harder part gets smaller.
            right = noise < margin / (1.2 - 0.2 * turn / 11)
            if team == 0 and turn == 11:
                right |= ~public & (rng.random(3_000) < known)
            rows.append((turn + 0.1 * team, f"team-{team}", right))
    rows.sort(key=lambda row: row[0])
    history = in_time(
        None,
        [name for _, name, _ in rows],
        [right[public].mean() for *_, right in rows],
        n=1_000,
        n_classes=2,
    )
    private = np.array([right[~public].mean() for *_, right in rows])
    selected = np.array([name == "team-0" and turn >= 11 for turn, name, _ in rows])
    return replace(history, private=private, n_private=2_000, selected=selected)


def leading(history):
    """Return the accounts that Holm's correction of private leads leaves."""
    found = private_leads(history)
    adjusted = holm(np.array([one.p_value for one in found]))
    return {one.accounts[0] for one, p in zip(found, adjusted, strict=True) if p <= 0.05}


@pytest.mark.slow
@pytest.mark.parametrize("skill", [0.9, 0.99])
@pytest.mark.parametrize("harder", [0.0, 0.02, 0.05])
def test_a_part_that_is_harder_is_not_equally_harder_for_all(skill, harder):
    games = times(60)
    assert sum(bool(leading(harder_end(i, skill, harder))) for i in range(games)) <= 0.1 * games


@pytest.mark.slow
@pytest.mark.parametrize(("skill", "harder"), [(0.75, 0.0), (0.75, 0.05), (0.9, 0.05)])
def test_private_labels_that_got_out_are_seen_in_a_harder_part_too(skill, harder):
    games = times(20)
    found = [leading(harder_end(i, skill, harder, known=0.9)) for i in range(games)]
    assert sum("team-0" in names for names in found) >= 0.9 * games


def finals_only(history):
    """Return the history with the private score of each team's best public submission alone."""
    kept = [
        rows[np.argmax(history.scores[rows])]
        for rows in map(history.rows_of, range(len(history.names)))
    ]
    private = np.full(len(history), np.nan)
    private[kept] = history.private[kept]
    return replace(history, private=private)


def test_rows_without_a_private_score_are_read_and_tested_by_their_public_one(tmp_path):
    made = contest_history(RNG(0), **SMALL)
    finals = finals_only(made)
    table = pd.DataFrame(
        {"account": made.accounts, "score": made.scores, "private": finals.private}
    )
    table.to_csv(tmp_path / "finals.csv", index=False)
    found = read_history(tmp_path / "finals.csv", n=400, n_private=800)
    assert len(found) == len(made)
    assert found.left_out == 0
    assert np.array_equal(found.private, finals.private, equal_nan=True)
    assert np.array_equal(found.private_rows, np.flatnonzero(~np.isnan(finals.private)))
    ended = overfitting(found)
    assert [team.row for team in ended.teams] == [team.row for team in overfitting(made).teams]
    assert sum(team.submissions for team in ended.teams) == len(made)
    audit = audit_leaderboard(replace(found, n_classes=made.n_classes))
    [line] = [line for line in audit.warnings if "have a private score" in line]
    assert line.startswith(f"{len(made.names)} of {len(made)} submissions")
    # What is told by public scores alone is told as if there were no private ones.
    by_public = audit_leaderboard(replace(made, private=None, n_private=None))
    for one, other in ((audit.tests, by_public.tests), (audit.hints, by_public.hints)):
        kept = {(test.detector.name, test.accounts) for test in one}
        assert kept >= {(test.detector.name, test.accounts) for test in other}


def test_private_scores_of_no_submission_are_refused_or_ignored(tmp_path):
    (tmp_path / "none.csv").write_text("account,score,private\na,0.5,\nb,0.6,\n")
    assert read_history(tmp_path / "none.csv", n=100).private is None
    made = contest_history(RNG(0), **SMALL)
    with pytest.raises(InputError, match="private must hold the score of a submission"):
        replace(made, private=np.full(len(made), np.nan))


@pytest.mark.slow
def test_the_best_of_many_seeds_is_no_wide_gap_where_finals_alone_were_scored_again():
    """Whichever of forty equal files a team ends with had forty chances."""
    games = times(60)
    named = 0
    for seed in range(games):
        rng = stream(seed, "finals")
        skills = rng.uniform(0.78, 0.84, 12)
        names = [f"team-{i}" for i in range(12) for _ in range(40)]
        public, private = (
            rng.binomial(points, np.repeat(skills, 40)) / points for points in (500, 2_000)
        )
        made = in_time(None, names, public, n=500, n_classes=2)
        made = replace(made, private=private, n_private=2_000, random_private=True)
        audit = audit_leaderboard(finals_only(made))
        named += bool(audit.findings or audit.hints)
    assert named <= binom.ppf(0.99, games, 0.05)


@pytest.mark.slow
def test_a_climb_shows_where_finals_alone_were_scored_again():
    games = times(20)
    found = 0
    for seed in range(games):
        made = contest_history(stream(seed, "climbers"), overfitted=1)
        ended = replace(finals_only(made), random_private=True)
        audit = audit_leaderboard(ended)
        found += bool(audit.findings or audit.hints)
    assert found >= 0.9 * games
