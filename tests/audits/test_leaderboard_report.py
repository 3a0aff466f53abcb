"""The report on a leaderboard's history: its words, its numbers, names that steer nothing."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privacygauge.cli.main import app
from privacygauge.errors import InputError
from privacygauge.leaderboards.history.made import attacked_history, honest_history
from privacygauge.leaderboards.history.record import History
from privacygauge.leaderboards.history_audit.audit import (
    LOUD,
    QUIET,
    audit_leaderboard,
    plot_history,
    verdict,
)
from privacygauge.leaderboards.history_audit.command import METRICS
from privacygauge.report.grades import UNTOLD
from privacygauge.runs.results import LIST

pytestmark = pytest.mark.usefixtures("undrawn")

EVIL = '<script>alert(1)</script> & "[red]" \x1b[31m'


def history(queries: int = 60) -> History:
    rng = np.random.default_rng(0)
    return attacked_history(rng, "nb", n=400, m=2, teams=3, submissions=8, queries=queries)


@pytest.fixture(scope="module")
def audit():
    whole = history()
    names = {"attacker-0": EVIL}
    return audit_leaderboard(
        replace(whole, accounts=tuple(names.get(a, a) for a in whole.accounts))
    )


@pytest.fixture(scope="module")
def page(audit):
    return audit.to_html()


@pytest.fixture(scope="module")
def silent():
    rng = np.random.default_rng(1)
    return audit_leaderboard(honest_history(rng, n=400, teams=3, submissions=8))


def test_names_of_accounts_are_escaped_in_the_page(page):
    assert "<script" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(src|href)="(?!#|data:)', page)


def test_the_page_says_what_was_found_and_what_is_taken_for_honest(audit, page, silent):
    for test in audit.findings:
        assert test.detector.title in page
    assert "no proof of intent" in page
    quiet = silent.to_html()
    assert "Nothing stands out" in quiet
    assert "Tests that found nothing" in quiet


def test_answers_and_labels_are_in_no_output(audit, tmp_path):
    audit.write(tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    lists = [x for x in _values(document) if isinstance(x, list) and len(x) >= 400]
    assert lists == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        LIST,
        "records.parquet",
        "report.html",
        "report.json",
    ]
    frame = pd.read_parquet(tmp_path / "records.parquet")
    assert len(frame) == len(audit.submissions.accounts)
    assert "predictions" not in frame


def _values(found):
    yield found
    for inner in (
        found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    ):
        yield from _values(inner)


def test_the_document_has_every_finding_with_its_null(audit):
    document = json.loads(audit.to_json())
    assert document["kind"] == "leaderboard"
    assert document["suspects"] == [EVIL]
    assert len(document["findings"]) == len(audit.findings) > 0
    assert all(x["null"] and x["adjusted"] <= 0.05 for x in document["findings"])
    assert len(document["tests"]) == len(audit.tests)
    assert {x["guard"] for x in document["guards"]} >= {"exact", "ladder"}


def test_the_verdict_counts_accounts(audit, silent):
    found = verdict(audit)
    assert found.grade == LOUD
    assert found.headline.startswith("1 account stands out: ")
    assert "no proof of intent" in found.unsaid
    assert verdict(silent).grade == QUIET
    assert "Findings" in audit.summary()


def test_a_history_without_any_test_is_no_quiet_one():
    bare = replace(history(), answers=None, labels=None, n_classes=None)
    found = audit_leaderboard(replace(bare, scores=np.minimum(bare.scores + 0.0011, 1)))
    assert found.tests == ()
    assert verdict(found).grade == UNTOLD
    assert verdict(found).headline.startswith("It cannot be told")


def test_the_gate_names_what_the_report_measures(audit, silent):
    for found, findings, suspects in ((audit, 4, 1), (silent, 0, 0)):
        report = found.report()
        assert tuple(x.name for x in report.measures if x.gate) == METRICS
        assert report.numbers["findings"] == len(found.findings) == findings
        assert report.numbers["suspects"] == suspects
        assert report.numbers["explained"] == found.winner.explained
        assert report.main.level == 0.95


@pytest.mark.parametrize("width", [40, 80])
def test_the_terminal_cannot_be_styled_by_a_name(audit, width):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(audit.terminal_summary())
    text = console.file.getvalue()
    assert "\x1b" not in text
    assert "[red]" in text
    assert max(map(len, text.splitlines())) <= width


def test_the_plot_shows_what_the_frame_holds(audit):
    ax = plot_history(audit)
    best = next(line for line in ax.lines if line.get_label() == "best so far")
    assert np.allclose(best.get_ydata(), audit.to_frame()["best_so_far"] * 100)
    flagged = next(c for c in ax.collections if c.get_label() == "in a finding")
    assert len(flagged.get_offsets()) == (audit.to_frame()["flags"] != "").sum()


@pytest.fixture
def command():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["holdout", "log", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    made = history()
    frame = pd.DataFrame({"time": made.times, "account": made.accounts, "score": made.n_correct})
    frame.to_csv(tmp_path / "history.csv", index=False)
    np.save(tmp_path / "answers.npy", made.answers)
    np.save(tmp_path / "labels.npy", made.labels)
    return tmp_path


def test_the_command_exits_with_3_where_anything_stands_out(command, files):
    found = command(
        *(files / "history.csv", "--n", 400, "--classes", 2),
        *("--predictions", files / "answers.npy"),
        *("--json", "-", "--fail-above", "findings=0"),
    )
    assert found.exit_code == 3
    assert json.loads(found.stdout)["suspects"] == ["attacker-0"]
    assert "above the limit of 0" in found.stderr


def test_the_command_with_answers_and_labels(command, files):
    found = command(
        files / "history.csv", "--predictions", files / "answers.npy", "--labels",
        files / "labels.npy", "--guard", "ladder", "--out", files / "out", "--json", "-",
        "--fail-above", "suspects=1",
    )  # fmt: skip
    assert found.exit_code == 0
    document = json.loads(found.stdout)
    assert document["evidence"] == "scores, answers and labels"
    assert [x["guard"] for x in document["guards"]] == ["ladder"]
    assert set(document["provenance"]) >= {"history", "predictions", "labels"}
    assert (files / "out" / "records.parquet").is_file()


def test_the_command_needs_the_size_of_the_test_set(command, files):
    found = command(files / "history.csv", "--json", "-")
    assert isinstance(found.exception, InputError)
    assert str(found.exception).startswith("--n is needed")


def leap_beyond(folder):
    """Write a contest of which one account is far ahead of all others on few points."""
    rng = np.random.default_rng(0)
    rows = []
    for team in range(8):
        scores = np.round(300 * (0.6 + 0.02 * team + 0.005 * rng.random(12))) / 300
        rows += [(f"team-{team}", score) for score in scores]
    rows.append(("team-3", 1.0))
    frame = pd.DataFrame(rows, columns=["account", "score"])
    frame.to_csv(folder / "leap.csv", index=False)
    return folder / "leap.csv"


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (("--fail-above", "findings=0"), 0),
        (("--fail-above", "hints=0"), 3),
        (("--fail-above", "hints=1"), 0),
        (("--policy", "policy.toml"), 3),
    ],
)
def test_what_is_worth_a_look_can_be_gated(command, tmp_path, limits, code):
    (tmp_path / "policy.toml").write_text("[holdout-log]\nfindings = 0\nhints = 0\n")
    limits = [str(tmp_path / x) if x == "policy.toml" else x for x in limits]
    found = command(leap_beyond(tmp_path), "--n", 300, "--classes", 2, "--json", "-", *limits)
    assert found.exit_code == code
    document = json.loads(found.stdout)
    assert [hint["detector"] for hint in document["hints"]] == ["leap"]
    assert next(x["value"] for x in document["numbers"] if x["name"] == "hints") == 1
    assert ("hints is 1, above the limit of 0" in found.stderr) == (code == 3)


def test_a_limit_that_cannot_be_checked_fails(command, files):
    lonely = files / "one.csv"
    lonely.write_text("time,account,score\n1,a,0.5\n2,a,0.6\n")
    found = command(lonely, "--n", 100, "--json", "-", "--fail-above", "explained=0.5")
    assert found.exit_code == 3
    assert "explained was not computed" in found.stderr
