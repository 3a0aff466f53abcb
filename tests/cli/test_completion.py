"""What shells offer: the names that commands take, quickly, in bash, zsh and fish."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from functools import cache
from typing import get_args

import pytest
import typer

from privacygauge.audits.classifier import says as attacks
from privacygauge.audits.defences import says as of_defences
from privacygauge.audits.dtp import says as dtp
from privacygauge.audits.holdout_attack.says import METRICS as OF_ATTACK
from privacygauge.audits.holdout_bound.says import METRICS as OF_BOUND
from privacygauge.audits.language.asks import LanguageRequest
from privacygauge.audits.language.reference import ReferenceRequest
from privacygauge.audits.leaderboard.says import METRICS as OF_LOG
from privacygauge.audits.privacy_claim import asks
from privacygauge.audits.synthetic import SyntheticRequest
from privacygauge.audits.worst_case import says as of_worst_cases
from privacygauge.cli import completion
from privacygauge.cli import register as registers
from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.main import app

SCRIPT = """
import sys
sys.argv = ["privacygauge"]
from privacygauge.cli.main import app
try:
    app()
except SystemExit:
    pass
heavy = {"numpy", "pandas", "scipy", "sklearn", "pyarrow", "torch", "rich", "jinja2"}
print("heavy:", *sorted(heavy & set(sys.modules)))
"""


def environment(shell: str, line: str) -> dict[str, str]:
    given = {"_PRIVACYGAUGE_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        begun = line.endswith(" ")
        count = len(line.split()) - (0 if begun else 1)
        return given | {"COMP_WORDS": line, "COMP_CWORD": str(count)}
    return given | {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}


@cache
def every_command():
    """Return the command line, built once: that takes longer than to complete a word."""
    return typer.main.get_command(app)


def offered(line: str, shell: str = "bash") -> str:
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), suppress(SystemExit):
        for name, value in environment(shell, line).items():
            patch.setenv(name, value)
        every_command().main([], prog_name="privacygauge")
    return printed.getvalue()


def words(line: str) -> list[str]:
    return offered(line).split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("privacygauge cl", "classifier"),
        ("privacygauge classifier --model rand", "random-forest"),
        ("privacygauge synthetic people.csv --generator priv", "privbayes"),
        ("privacygauge holdout attack --attack des", "designed"),
        ("privacygauge holdout bound --guard lap", "laplace"),
        ("privacygauge dtp --fail-above dtp-u", "dtp-upper"),
    ],
)
def test_every_shell_gets_values(shell, line, name):
    assert name in offered(line, shell)


def test_only_what_begins_like_the_word_is_offered():
    assert words("privacygauge dtp --model n") == [
        "naive-bayes", "nearest", "network", "network-large",
    ]  # fmt: skip
    assert words("privacygauge holdout attack --attack nb,ma") == [
        "nb,majority", "nb,majority-blum-hardt",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "metrics"),
    [
        ("dtp", dtp.METRICS),
        ("classifier", attacks.METRICS),
        ("demo", attacks.METRICS),
        ("dp-audit", asks.METRICS),
        ("holdout attack", OF_ATTACK),
        ("holdout bound", OF_BOUND),
        ("holdout log", OF_LOG),
        ("worst-case", of_worst_cases.METRICS),
        ("register", registers.METRICS),
    ],
)
def test_metrics_are_those_of_the_command(command, metrics):
    assert set(words(f"privacygauge {command} --fail-above ")) == {f"{name}=" for name in metrics}


@pytest.mark.parametrize("command", COMMANDS, ids=[c.name for c in COMMANDS])
def test_metrics_are_those_that_the_command_asks_for(command):
    found = words(f"privacygauge {command.name} --fail-above ")
    assert found == [f"{name}=" for name in command.metrics]


def test_the_metrics_of_every_command_are_written_down_right():
    assert set(completion.METRICS["defend"]) == set(of_defences.METRICS)


def test_a_run_takes_the_metrics_of_any_command_that_keeps_one():
    found = set(words("privacygauge resume audit --fail-above "))
    assert {"accuracy=", "pdtp=", "bias=", "patient-auc="} <= found


def offers(request, name):
    """Return what a shell offers for a field of a request."""
    return next(asked.offers for field, asked in request.asked() if field.name == name)


def test_names_are_those_that_commands_take():
    from privacygauge.audits.generator.play import SELECTORS
    from privacygauge.audits.holdout_attack.attacks import ATTACKS
    from privacygauge.audits.language.facts import SHOWN
    from privacygauge.audits.language.units import THRESHOLDS
    from privacygauge.audits.named_models import ESTIMATORS, NETWORKS
    from privacygauge.classifier.defences.named import TRAINING_DEFENCES
    from privacygauge.cli.worst_case_request import WRONG_LABELS
    from privacygauge.core.attacks.posterior import ESTIMATORS as RISKS
    from privacygauge.holdout.guards import GUARDS
    from privacygauge.language.kinds import Kind
    from privacygauge.language.masks import Pattern
    from privacygauge.language.precision import Precision
    from privacygauge.language.text_energies import Form
    from privacygauge.synthetic.games.games import GAMES
    from privacygauge.synthetic.generators.named import GENERATORS

    assert (*ESTIMATORS, *NETWORKS) == completion.MODELS
    assert tuple(GENERATORS) == offers(SyntheticRequest, "generator")
    assert tuple(ATTACKS) == completion.HOLDOUT_ATTACKS
    assert tuple(GUARDS.split(", ")) == completion.GUARDS
    assert tuple(SELECTORS) == offers(SyntheticRequest, "select")
    assert offers(LanguageRequest, "threshold") == THRESHOLDS
    assert offers(LanguageRequest, "show") == SHOWN
    assert offers(LanguageRequest, "kind") == get_args(Kind)
    assert offers(LanguageRequest, "pattern") == get_args(Pattern)
    assert offers(LanguageRequest, "form") == get_args(Form)
    assert offers(LanguageRequest, "precision") == get_args(Precision)
    assert offers(ReferenceRequest, "precision") == get_args(Precision)
    assert set(completion.RISKS) == set(RISKS)
    assert set(offers(SyntheticRequest, "game")) == {game for game, _ in GAMES}
    assert set(offers(SyntheticRequest, "knowledge")) == {knowledge for _, knowledge in GAMES}
    assert tuple(TRAINING_DEFENCES.split(", ")) == completion.TRAINING_DEFENCES
    assert tuple(WRONG_LABELS) == completion.WRONG_LABELS


def test_models_of_dtp_are_those_that_its_help_names():
    from privacygauge.cli.dtp import dtp

    told = str(dtp.__annotations__["model"])
    assert [name for name in completion.DTP_MODELS if name not in told] == []


@pytest.mark.slow
def test_reproductions_are_those_of_the_catalogue():
    from privacygauge.reproduce import REPRODUCTIONS

    assert completion.reproductions("") == [*(found.name for found in REPRODUCTIONS), "all"]


def test_reproductions_are_read_without_importing_them():
    assert "long-table1" in completion.reproductions("long-")
    assert completion.reproductions("no such") == []


def test_folders_of_audits_come_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("audits/a", "audits/b", "audits/c", "audits/.hidden", "empty"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "audits/b/report.json").touch()
    (tmp_path / "audits/c/run").mkdir()
    (tmp_path / "audits/c/run/run.json").touch()
    assert words("privacygauge register audits/") == ["audits/b", "audits/a/", "audits/c/"]
    assert words("privacygauge resume ./audits/") == ["./audits/c", "./audits/a/", "./audits/b/"]
    assert words("privacygauge report audits/") == ["audits/b", "audits/c", "audits/a/"]
    assert words("privacygauge register au") == ["audits/"]
    assert words("privacygauge register audits/b/report.json/") == []


def test_completion_imports_nothing_heavy(tmp_path):
    line = "privacygauge holdout attack --guard "
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=dict(os.environ) | environment("bash", line),
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "heavy:"
