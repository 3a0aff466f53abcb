"""No command replaces a file that PrivacyGauge did not write, and none an input."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import make_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import privacygauge
from privacygauge.cli.commands import COMMANDS, add
from privacygauge.cli.main import add_config, app
from privacygauge.errors import InputError, OutputError
from privacygauge.runs.options import asks
from tests.runs.sample import contents

ASKED = {
    "demo": (),
    "classifier": ("in.csv",),
    "attribute": ("--data", "in.csv", "--label", "y", "--fitted", "code.py:f", "--member", "m",
                  "--sensitive", "a"),
    "scores": ("in.csv", "--score", "s"),
    "inspect": ("in.skops", "--data", "in.csv"),
    "compare": ("in.json", "in.json"),
    "defend": ("in.csv", "--shadow", "in.csv", "--defence", "label-only"),
    "worst-case": ("--data", "in.csv", "--model", "logistic", "--records", "20"),
    "dtp": ("--data", "in.csv", "--label", "y", "--model", "naive-bayes"),
    "vulnerable": ("in.csv",),
    "synthetic": ("in.csv", "--generator", "baynet"),
    "language": ("--scores", "in.csv"),
    "language extract": ("--target", "model", "--reference", "model", "--members", "in.jsonl",
                         "--nonmembers", "in.jsonl"),
    "language canaries measure": ("folder", "--target", "model"),
    "unlearning": ("--before", "model", "--after", "model"),
    "holdout bound": ("--n", "100", "--classes", "2", "--queries", "5"),
    "holdout attack": ("--labels", "in.npy", "--queries", "5"),
    "holdout log": ("in.csv",),
    "dp-audit": ("in.csv", "--epsilon", "1"),
}  # fmt: skip
"""What each command can be asked, with files whose content is never looked at."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("in.csv", "in.json", "in.jsonl", "in.npy", "in.skops", "code.py"):
        (tmp_path / name).write_text("never looked at\n")
    for name in ("model", "folder"):
        (tmp_path / name).mkdir()
    return tmp_path


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(x) for x in arguments])
    assert isinstance(done.exception, OutputError), (done.exception, done.output)
    assert "\n" not in str(done.exception)
    return str(done.exception)


def test_every_command_is_asked():
    assert set(ASKED) == {command.name for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS, ids=[c.name for c in COMMANDS])
def test_an_option_is_one_field_and_its_use(command, here):
    """One more field is a flag with its help, a key of a file, and a value that `play` gets."""
    made = make_dataclass(
        "Wider",
        [("nothing_like_it", "int", asks("N", "A number like no other.", default=3))],
        bases=(command.request,),
        frozen=True,
        kw_only=True,
    )
    seen = []

    def play(asked, work):
        seen.append(asked.nothing_like_it)
        raise InputError("seen")

    program = typer.Typer()
    program.callback()(lambda: None)
    add(program, replace(command, request=made, play=play))
    name = command.name.rpartition(" ")[2]
    (here / "audit.toml").write_text("nothing-like-it = 5\n")
    for given in ((), ("--nothing-like-it", "7"), ("--config", "audit.toml")):
        group = typer.main.get_command(program)
        add_config(group)
        with pytest.raises(InputError, match="seen"):
            group([name, *ASKED[command.name], "--out", "out", *given], standalone_mode=False)
    assert seen == [3, 7, 5]
    # In one of both helps: the short one shows ten options.
    helped = [CliRunner().invoke(program, [name, flag]) for flag in ("--help", "--help-all")]
    assert any("--nothing-like-it" in one.output for one in helped)


@pytest.mark.parametrize("command", COMMANDS, ids=[c.name for c in COMMANDS])
def test_what_is_there_already_stays_and_no_work_is_done(command, here):
    (here / "out").mkdir()
    for name in command.files:
        file = here / "out" / name
        file.write_text("mine")
        before = contents(here)
        told = refused(*command.name.split(), *ASKED[command.name], "--out", "out")
        assert told.startswith(f"out/{name} is there already, and PrivacyGauge did not write it")
        assert "--out" in told
        assert contents(here) == before
        file.unlink()
    (here / "own.json").write_text("{}")
    asked = (*command.name.split(), *ASKED[command.name], "--json", "own.json")
    assert re.match(r"own\.json is there already.*--json", refused(*asked))
    assert (here / "own.json").read_text() == "{}"


def test_every_table_of_a_report_is_one_that_its_command_names():
    package = Path(privacygauge.__file__).parent
    named: dict[str, set[str]] = {}
    for command in COMMANDS:
        module = command.play.__module__.removeprefix("privacygauge.").removesuffix(".command")
        named.setdefault(module.replace(".", "/"), set()).update(command.tables)
    # One command audits generators and released tables.
    named["tables/generator_audit"] = named["tables/released_audit"] = named["tables"]
    seen = set()
    for file in package.rglob("*.py"):
        frames = set(re.findall(r'"([\w-]+\.(?:csv|parquet))":\s+', file.read_text()))
        if not frames or file.parent.name == "releases" or file.parts[-2] == "papers":
            continue
        place = file.relative_to(package)
        folder = next(
            (x for x in (place.with_suffix("").as_posix(), place.parent.as_posix()) if x in named),
            "",
        )
        assert frames <= named.get(folder, set()), file
        seen |= frames
    assert len(seen) > 7


def predictions(path: Path, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet((2, 1, 1), 60)
    rows = "\n".join(
        f"{a:.6f},{b:.6f},{1 - round(a, 6) - round(b, 6):.6f},{i % 3},{i % 2}"
        for i, (a, b, _) in enumerate(p)
    )
    path.write_text(f"p_0,p_1,p_2,label,member\n{rows}\n")


def test_an_input_called_as_a_result_is_not_replaced(here):
    pd = pytest.importorskip("pandas")
    predictions(here / "x.csv")
    pd.read_csv(here / "x.csv").to_parquet("records.parquet")
    before = contents(here)
    told = refused("classifier", "records.parquet", "--out", ".")
    assert told.startswith("records.parquet is an input, and a result of the same name would")
    assert contents(here) == before
    assert "x.csv is an input" in refused("classifier", "x.csv", "--json", "./x.csv")
    (here / "limits.toml").write_text("[classifier]\nauc = 1\n")
    asked = ("classifier", "x.csv", "--policy", "limits.toml", "--json", "limits.toml")
    assert "limits.toml is an input" in refused(*asked)
    asked = ("vulnerable", "x.csv", "--write-schema", "x.csv", "--json", "-")
    assert "x.csv is an input" in refused(*asked)
    (here / "schema.json").write_text("mine")
    asked = ("vulnerable", "x.csv", "--write-schema", "schema.json", "--json", "-")
    assert "--write-schema" in refused(*asked)
    assert (here / "schema.json").read_text() == "mine"


def done(*arguments: object) -> None:
    found = CliRunner().invoke(app, [str(x) for x in arguments], catch_exceptions=False)
    assert found.exit_code == 0, found.output


def test_a_result_is_replaced_by_a_later_one_until_somebody_changes_it(here):
    asked = ("holdout", "bound", "--n", "100", "--classes", "2", "--queries", "5", "--out", "out")
    for seed in (0, 1):
        done(*asked, "--seed", seed)
        assert json.loads((here / "out" / "report.json").read_text())["seed"] == seed
    page = here / "out" / "report.html"
    page.write_text(page.read_text() + "<!-- my remark -->")
    assert "report.html has changed since PrivacyGauge wrote it" in refused(*asked, "--seed", 2)
    assert json.loads((here / "out" / "report.json").read_text())["seed"] == 1
    for _ in range(2):
        done(*asked[:-2], "--json", "a.json")
    kept = {"in.json", "in.jsonl"}
    assert {name for name in os.listdir(here) if ".json" in name} - kept == {"a.json"}


def test_the_report_of_one_audit_is_no_place_for_a_register_or_a_card(here):
    asked = ("holdout", "bound", "--n", "100", "--classes", "2", "--queries", "5", "--out", "out")
    done(*asked)
    said = refused("register", "out", "--json", "out/report.json")
    assert said.startswith("out/report.json is an input")
    (here / "register.csv").write_text("mine")
    assert "./register.csv" in f"./{refused('register', 'out', '--out', '.')}"
    (here / "out" / "model-card.md").write_text("mine")
    asked = ("report", "out", "--model-card", "--out", "out")
    assert "model-card.md is there already" in refused(*asked)
    found = CliRunner().invoke(
        app,
        [
            "holdout",
            "bound",
            "--n",
            "100",
            "--classes",
            "2",
            "--queries",
            "5",
            "--out",
            "n",
            "--json",
            "n/report.html",
        ],
    )
    assert isinstance(found.exception, InputError)  # fmt: skip
    assert "is a file of the report" in str(found.exception)


def test_reproductions_replace_nothing(here):
    (here / "feldman-fig1.json").write_text("mine")
    (here / "page.md").write_text("mine")
    assert "page.md is there already" in refused("reproduce", "--out", ".", "--page", "page.md")
    assert "feldman-fig1.json" in refused("reproduce", "all", "--quick", "--out", ".")


def test_a_pipe_is_written_into(here):
    os.mkfifo(here / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((here / "pipe").read_text()))
    reader.start()
    done("holdout", "bound", "--n", 100, "--classes", 2, "--queries", 5, "--json", "pipe")
    reader.join(5)
    assert json.loads(found[0])["kind"] == "holdout-bound"
    assert (here / "pipe").is_fifo()
