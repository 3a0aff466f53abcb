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

from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.main import app
from privacygauge.papers.catalogue import REPRODUCTIONS
from privacygauge.papers.command import reproductions
from tests.cli.vocabulary import found

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


each = pytest.mark.parametrize("command", COMMANDS, ids=[c.name for c in COMMANDS])


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


@each
def test_values_are_offered_where_they_are_known(command):
    for field, how in command.request.asked():
        if how.offers:
            begun = how.flag or field.name
            assert words(f"privacygauge {command.name} {begun} ") == list(how.offers)


@each
def test_metrics_are_those_of_the_command(command):
    expected = [f"{name}=" for name in command.metrics]
    assert words(f"privacygauge {command.name} --fail-above ") == expected


@pytest.mark.parametrize("again", ["resume", "report"])
def test_a_run_takes_the_metrics_of_any_command_that_keeps_one(again):
    offers = set(words(f"privacygauge {again} audit --fail-above "))
    assert {"accuracy=", "pdtp=", "bias=", "patient-auc="} <= offers
    for command in COMMANDS:
        if command.keeps:
            assert {f"{name}=" for name in command.metrics} <= offers
    assert not offers & {"findings=", "honest=", "epsilon-gaussian="}


def test_a_register_takes_the_metrics_of_every_command():
    offers = words("privacygauge register audit --fail-above ")
    assert offers[0] == "severity="
    assert len(offers) == len(set(offers))
    assert {f"{name}=" for command in COMMANDS for name in command.metrics} <= set(offers)
    assert {"accuracy.low=", "dtp=", "beyond=", "tpr-left=", "patient-auc="} <= set(offers)


def values(option: str) -> list[str]:
    """Return what a shell offers for an option, such as ``dtp --model``."""
    return words(f"privacygauge {option} ")


def test_names_are_those_that_commands_take():
    from privacygauge.claims.defences.named import TRAINING_DEFENCES
    from privacygauge.classifiers.named import ESTIMATORS, NETWORKS
    from privacygauge.core.attacks.posterior import ESTIMATORS as RISKS
    from privacygauge.language.audited import SHOWN
    from privacygauge.language.energies import Pattern
    from privacygauge.language.loading import PRECISIONS, Kind
    from privacygauge.language.text_energies import Form
    from privacygauge.language.units import THRESHOLDS
    from privacygauge.leaderboards.analysts import ATTACKS
    from privacygauge.tables.games.games import GAMES
    from privacygauge.tables.generator_audit.audit import SELECTORS
    from privacygauge.tables.generators.named import GENERATORS

    for command in ("classifier", "defend", "worst-case"):
        assert values(f"{command} --model") == [*ESTIMATORS, *NETWORKS]
    assert values("synthetic --generator") == list(GENERATORS)
    assert values("synthetic --select") == list(SELECTORS)
    assert set(values("synthetic --game")) == {game for game, _ in GAMES}
    assert set(values("synthetic --knowledge")) == {knowledge for _, knowledge in GAMES}
    assert values("holdout attack --attack") == list(ATTACKS)
    assert values("language --threshold") == list(THRESHOLDS)
    assert values("language --show") == list(SHOWN)
    assert values("language --kind") == list(get_args(Kind))
    assert values("language --pattern") == list(get_args(Pattern))
    assert values("language --form") == list(get_args(Form))
    assert values("language --precision") == list(PRECISIONS)
    assert values("language train-reference --precision") == ["float32", "bfloat16"]
    assert values("language train-reference --kind") == list(get_args(Kind))
    assert set(values("classifier --risk")) == set(RISKS)
    assert values("worst-case --defence") == TRAINING_DEFENCES.split(", ")
    assert values("worst-case --wrong-label") == ["uniform", "least-likely"]


@pytest.mark.parametrize("command", ["bound", "attack", "log"])
def test_guards_that_are_offered_can_be_made(command):
    from privacygauge.leaderboards.guards import guard_named

    offers = values(f"holdout {command} --guard")
    assert [guard_named(name).name for name in offers] == offers


def test_models_of_dtp_are_those_that_its_help_names():
    (told,) = (x.meaning for x in found("dtp") if x.flag == "--model")
    offers = values("dtp --model")
    assert "naive-bayes" in offers
    assert [name for name in offers if name not in told] == []


@pytest.mark.slow
def test_reproductions_are_those_of_the_catalogue():
    from privacygauge.papers import REPRODUCTIONS

    assert reproductions("") == [*(found.name for found in REPRODUCTIONS), "all"]


def test_reproductions_are_read_without_importing_them():
    names = [made.name for made in REPRODUCTIONS]
    assert reproductions("") == [*names, "all"]
    assert reproductions("long-") == [x for x in names if x.startswith("long-")]
    assert reproductions("no such") == []


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
