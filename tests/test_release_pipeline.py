"""The ready workflows of docs/release-pipeline.md: their commands exist, and do what they say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.runs.results import LIST
from tests.test_docs import ROOT, blocks, privacygauge

yaml = pytest.importorskip("yaml")

EXAMPLES = ROOT / "docs" / "examples"
GITHUB = EXAMPLES / "release-gate.yml"
GITLAB = EXAMPLES / "release-gate.gitlab-ci.yml"
SHELL = EXAMPLES / "release-gate.sh"
PAGE = ROOT / "docs" / "release-pipeline.md"


def steps() -> list[dict]:
    return yaml.safe_load(GITHUB.read_text(encoding="utf-8"))["jobs"]["privacy"]["steps"]


def github() -> list[str]:
    return [step["run"] for step in steps() if "run" in step]


def gitlab() -> list[str]:
    job = yaml.safe_load(GITLAB.read_text(encoding="utf-8"))["privacy"]
    return [*job["before_script"], *job["script"]]


def shell() -> list[str]:
    lines = SHELL.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [line.strip().removesuffix("|| exit 2").strip() for line in lines]


def hook() -> list[str]:
    (block,) = (block for block in blocks(PAGE, "yaml") if "repos:" in block.text)
    (repository,) = yaml.safe_load(block.text)["repos"]
    return [entry["entry"] for entry in repository["hooks"]]


def commands(lines: list[str]) -> list[list[str]]:
    """Return the arguments of every call of privacygauge."""
    calls = [shlex.split(line) for line in lines if line.startswith("privacygauge ")]
    assert calls
    return [call[1:] for call in calls]


@pytest.fixture
def predictions(tmp_path, monkeypatch):
    """Stand in a folder with predictions that give nothing away, or nearly everything.

    An audit that is to find nothing needs enough records to have seen a moderate leak.
    """

    def make(right: float) -> Path:
        n = 160 if right > 0.5 else 6_000
        for seed, name in enumerate(("target.npz", "shadow.npz")):
            rng = np.random.default_rng(seed)
            labels = rng.integers(0, 2, n)
            member = rng.random(n) < 0.5
            sure = np.where(member, right, 0.5) + 0.04 * rng.random(n)
            probs = np.column_stack([np.where(labels == k, sure, 1 - sure) for k in (0, 1)])
            pg.save_predictions(
                pg.predictions(labels=labels, member=member, probs=probs), tmp_path / name
            )
        return tmp_path

    monkeypatch.chdir(tmp_path)
    return make


@pytest.mark.parametrize("lines", [github, gitlab, shell, hook])
def test_every_command_exists_with_its_options(lines):
    from privacygauge.cli.main import app, command_of

    group = command_of(app)
    for arguments in commands(lines()):
        context = group.make_context("privacygauge", list(arguments))
        title, command, rest = group.resolve_command(context, list(arguments))
        command.make_context(title, rest, parent=context)


@pytest.mark.slow
@pytest.mark.parametrize("lines", [github, gitlab])
def test_a_leaking_model_is_stopped_and_its_reports_are_there(lines, predictions):
    folder = predictions(0.95)
    audit, *others = commands(lines())
    assert privacygauge(*audit) == 3
    for arguments in others:
        assert privacygauge(*arguments) == (3 if "register" in arguments[0] else 0)
    assert (folder / "audits/model/report.html").is_file()
    assert "Large leak" in (folder / "audits/card/model-card.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("lines", [github, gitlab, hook])
def test_a_model_that_gives_nothing_away_passes(lines, predictions):
    predictions(0.5)
    for arguments in commands(lines()):
        assert privacygauge(*arguments) == 0


def test_the_artifact_holds_the_reports_and_no_table_of_records():
    (kept,) = [step["with"] for step in steps() if "upload-artifact" in step.get("uses", "")]
    patterns = kept["path"].split()
    written = ["model/report.html", "model/report.json", "model/roc.csv", "register/register.html"]
    for name in written:
        assert any(Path("audits", name).match(pattern) for pattern in patterns), name
    assert not any(Path("audits/model/records.parquet").match(pattern) for pattern in patterns)
    assert "audits/card/model-card.md" in patterns


def test_reports_are_kept_where_the_audit_stopped_the_release():
    after = [step for step in steps() if step.get("name") in ("Model card", "Keep the reports")]
    assert [step["if"] for step in after] == ["${{ !cancelled() }}"] * 2


@pytest.mark.slow
def test_the_script_makes_the_files_that_are_audited(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "predictions.py")], cwd=tmp_path, check=False
    )
    assert done.returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {LIST, "target.npz", "shadow.npz"}


@pytest.mark.slow
@pytest.mark.parametrize(("right", "code"), [(0.95, 3), (0.5, 0)])
def test_the_plain_script_ends_with_the_audits_code(right, code, predictions):
    import os

    folder = predictions(right)
    (folder / "predictions.py").write_text("", encoding="utf-8")
    tools = folder / "bin"
    tools.mkdir()
    call = f'exec "{sys.executable}" -m privacygauge "$@"\n'
    for name, text in (("privacygauge", call), ("python", f'exec "{sys.executable}" "$@"\n')):
        (tools / name).write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        (tools / name).chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(SHELL)],
        cwd=folder,
        env=dict(os.environ) | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert (folder / "audits/card/model-card.md").is_file()


def test_examples_name_no_place_of_ours():
    for path in (x for x in EXAMPLES.rglob("*") if x.is_file()):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(?:work|tmp|home|root|opt)/", text), path.name
