"""The tutorial runs as it stands: from an empty folder to a signed decision in six commands."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from privacygauge.core.versions import today
from tests.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "tutorials" / "decide-about-a-release.md"


def run(line, cwd) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(line)
    if program == "privacygauge":
        call = [sys.executable, "-m", program, *arguments]
    else:
        call = [program, *arguments]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True, check=False)


def told(done) -> str:
    return done.stderr.replace(today(), "TODAY")


@pytest.mark.slow
def test_a_release_from_nothing_to_a_signed_decision(tmp_path):
    first, second = blocks(PAGE, "sh")
    shown = [block.text for block in blocks(PAGE, "text")]
    lines = first.text.replace("\\\n", " ").splitlines()
    assert len(lines) <= 6
    done = [run(line, tmp_path) for line in lines]
    assert [x.returncode for x in done] == [0, 0, 0, 3, 0, 0]
    assert told(done[3]) == shown[0]
    assert (tmp_path / "triage" / "evidence" / "opinion.html").is_file()
    refused = lines[4].replace("--decision hold", "--decision release")
    assert run(refused, tmp_path).returncode == 2

    (reasons,) = blocks(PAGE, "toml")
    with (tmp_path / "triage" / "policy.toml").open("a", encoding="utf-8") as policy:
        policy.write(reasons.text)
    again = run(second.text, tmp_path)
    assert again.returncode == 3
    assert told(again) == shown[1]
