"""Runs and reports in an object store: the same bytes as in a folder, through the real API."""

from __future__ import annotations

import signal
import time

import pytest

from tests.cli.test_main import one_line, run_inside
from tests.runs.s3 import BUCKET, objects, serving
from tests.runs.sample import contents, made
from tests.runs.test_survival import started

pytestmark = pytest.mark.slow
DATA = "a,b,label\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(60))


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name, value in serving().items():
        monkeypatch.setenv(name, value)
    return serving()


def test_a_run_that_was_killed_resumes_to_the_same_bytes(environment, tmp_path) -> None:
    made(tmp_path / "here")
    at = f"s3://{BUCKET}/killed"
    begun = started(at, "--seconds", 1)
    until = time.monotonic() + 60
    while not any("digest/c/" in key for key in objects(environment, "killed")):
        assert time.monotonic() < until
    begun.send_signal(signal.SIGKILL)
    begun.communicate()
    part = objects(environment, "killed")
    assert part.items() < contents(tmp_path / "here").items()
    with started(at, "--n-jobs", 2) as later:  # workers that know where the bucket is
        assert later.wait(100) == 0
    assert objects(environment, "killed") == contents(tmp_path / "here")


def test_an_audit_is_kept_resumed_and_reported_there(environment, tmp_path, capsys) -> None:
    (tmp_path / "data.csv").write_text(DATA)
    out = f"s3://{BUCKET}/audit"
    options = ("--data", tmp_path / "data.csv", "--model", "naive-bayes", "--shadows", 2)
    for to in (out, tmp_path / "out"):
        done = run_inside(("classifier", *options, "--jobs", 1, "--out", to), capsys)
        assert done.returncode == 0, done.stderr
        assert f"{to}/report.html" in done.stdout or "Report: " in done.stdout
    there = objects(environment, "audit")
    here = contents(tmp_path / "out")
    assert set(there) == set(here)
    same = {key for key in here if key.startswith("run/observations")}
    assert {key: there[key] for key in same} == {key: here[key] for key in same}
    again = run_inside(("report", out, "--out", tmp_path / "again"), capsys)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "report.html").stat().st_size > 10_000
    more = run_inside(("resume", out, "--quiet"), capsys)
    assert (more.returncode, more.stderr) == (0, "")


def test_what_cannot_be_reached_ends_in_one_line(environment, capsys) -> None:
    for command in (("demo", "--out"), ("resume",)):
        ended = run_inside((*command, "s3://no-such-bucket/x"), capsys)
        one_line(ended, "s3://no-such-bucket/x")
