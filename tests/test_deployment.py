"""The action, the hooks, the container, the compose file and the recipe: read, checked and run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.cli.commands import COMMANDS
from tests.leaderboards.server.conftest import cluster  # noqa: F401  # a fixture
from tests.test_docs import blocks
from tests.thorough import only_thorough

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = ("action.yml", ".pre-commit-hooks.yaml", "Dockerfile", "compose.yaml", "conda/recipe.yaml")


def read(name: str):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each with what follows it."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    words = [line.partition(" ") for line in lines if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in words]


def parsed(arguments: list[str]) -> None:
    """Refuse a command line that privacygauge does not have."""
    from privacygauge.cli.main import app, command_of

    group = command_of(app)
    context = group.make_context("privacygauge", list(arguments))
    while hasattr(group, "commands"):
        name, group, arguments = group.resolve_command(context, list(arguments))
        if not arguments or not hasattr(group, "commands"):
            break
        if arguments[0] not in group.commands:
            break
        context = group.make_context(name, [], parent=context, resilient_parsing=True)
    group.make_context("command", list(arguments), parent=context)


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_an_index_or_a_place_of_ours(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"index-url|trusted-host|find-links|channels?:", text)
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= {"127.0.0.1"}
    assert not re.search(r"/(?:work|root|home)/(?!:)", text)


def test_the_action_declares_what_it_uses_and_runs_no_input():
    action = read("action.yml")
    assert action["runs"]["using"] == "composite"
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == {*action["inputs"]}
    steps = action["runs"]["steps"]
    ids = {step.get("id") for step in steps}
    for output in action["outputs"].values():
        assert set(re.findall(r"steps\.([\w-]+)\.", output["value"])) <= ids
    for step in steps:
        assert ("run" in step) != ("uses" in step)
        if "run" in step:
            # Text in a script would be run; the environment is not.
            assert "${{" not in step["run"]
            assert step["shell"] == "bash"
            done = subprocess.run(["bash", "-n"], input=step["run"], text=True, check=False)
            assert not done.returncode
        else:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])
    for one in action["inputs"].values():
        assert one.get("required") or "default" in one


def test_the_page_of_the_action_gives_what_it_takes():
    page = ROOT / "docs" / "release-pipeline.md"
    (block,) = (block for block in blocks(page, "yaml") if "audit:" in block.text)
    given = yaml.safe_load(block.text)["steps"][-1]["with"]
    assert {*given} <= {*read("action.yml")["inputs"]}
    parsed(shlex.split(given["audit"]))


def test_the_action_keeps_no_table_of_records():
    (kept,) = (
        x["with"]["path"]
        for x in read("action.yml")["runs"]["steps"]
        if "path" in x.get("with", {})
    )
    assert "parquet" not in kept
    assert "*" not in kept
    names = {Path(line.strip()).name for line in kept.splitlines()}
    # Rows of records stay with their owner: also removal.csv, which says who was removed.
    written = {
        name for one in COMMANDS for name in one.files if name.endswith((".html", ".json", ".csv"))
    }
    assert names == written - {"removal.csv"} | {f"register.{x}" for x in ("html", "json", "csv")}


def test_the_summary_of_the_action_says_what_a_register_found(tmp_path):
    (tmp_path / "out").mkdir()
    document = {"title": "Register", "verdict": {"headline": "# No\nleak", "sentences": ["Two."]}}
    (tmp_path / "out" / "register.json").write_text(json.dumps(document), encoding="utf-8")
    steps = read("action.yml")["runs"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("name") == "Summary")
    place = tmp_path / "privacygauge" / "bin"
    place.mkdir(parents=True)
    (place / "python").symlink_to(sys.executable)
    summary = tmp_path / "summary.md"
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env=bare(OUT="out", RUNNER_TEMP=str(tmp_path), GITHUB_STEP_SUMMARY=str(summary)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    assert summary.read_text().splitlines() == ["    Register", "    ", "    # No leak", "    Two."]


def test_hooks_begin_with_commands_that_there_are():
    hooks = read(".pre-commit-hooks.yaml")
    for hook in hooks:
        assert {"id", "name", "entry", "language", "pass_filenames"} <= {*hook}
        assert hook["language"] == "python"
        program, *arguments = hook["entry"].split()
        assert program == PROJECT["name"]
        parsed([*arguments, *(["folder"] if arguments else ["classifier", "t.npz"])])


def test_the_container_is_slim_and_not_root():
    found = instructions()
    known = {"FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in found} <= known
    for base in (rest.split()[0] for word, rest in found if word == "FROM"):
        assert re.fullmatch(r"python:3\.\d+-slim", base)
    users = [rest for word, rest in found if word == "USER"]
    assert users
    assert users[-1].isdecimal()
    assert int(users[-1]) >= 1000
    assert json.loads(next(rest for word, rest in found if word == "ENTRYPOINT")) == [
        "privacygauge"
    ]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for source in (x for word, rest in found if word == "COPY" and "--from" not in rest
                   for x in rest.split()[:-1]):  # fmt: skip
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored


def test_the_compose_file_names_what_it_has():
    compose = read("compose.yaml")
    board, database = (compose["services"][name] for name in ("board", "database"))
    parsed(board["command"])
    assert re.fullmatch(r"postgres:\d+", database["image"])
    assert {*board["secrets"], *database["secrets"]} == {*compose["secrets"]}
    assert {volume.partition(":")[0] for volume in database["volumes"]} == {*compose["volumes"]}
    # No secret is written down, and nothing is open to other machines.
    assert not any("PASSWORD" in name and "FILE" not in name for name in database["environment"])
    assert all(port.startswith("127.0.0.1:") for port in board["ports"])
    assert "ports" not in database
    url = board["environment"]["PRIVACYGAUGE_DATABASE"]
    user, host, name = re.fullmatch(r"postgresql://(\w+)@(\w+)/(\w+)", url).groups()
    assert host in compose["services"]
    assert (user, name) == tuple(
        database["environment"][f"POSTGRES_{key}"] for key in ("USER", "DB")
    )


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = read("conda/recipe.yaml")
    assert recipe["context"]["version"] == PROJECT["version"]
    renamed = {"matplotlib": "matplotlib-base"}
    wanted = [re.fullmatch(r"([\w.-]+)(>=[\d.]+)", x).groups() for x in PROJECT["dependencies"]]
    expected = {f"{renamed.get(name, name)} {lowest}" for name, lowest in wanted}
    assert {*recipe["requirements"]["run"]} == {
        *expected, f"python {PROJECT['requires-python']}"
    }  # fmt: skip
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    for script in (test.get("script", []) for test in recipe["tests"]):
        for line in script:
            if "--version" not in line:
                parsed(line.split()[1:])


def bare(**more: str) -> dict[str, str]:
    """Return an environment that knows nothing of this one but where programs are."""
    kept = {name: x for name, x in os.environ.items() if not name.startswith("PYTHON")}
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**kept, "PATH": programs, **more}


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    """Return the folder of the environment that the Dockerfile's first steps make."""
    place = tmp_path_factory.mktemp("container")
    here = {"/source": place / "source", "/opt": place / "opt"}
    for word, rest in instructions()[1:]:
        if word == "FROM":
            break  # the second image copies the environment of the first
        rest = re.sub("/(?:source|opt)(?=[/\\[' ]|$)", lambda found: str(here[found[0]]), rest)
        if word == "COPY":
            *sources, to = rest.split()
            for source in sources:
                target = Path(to) if len(sources) == 1 else Path(to, Path(source).name)
                target.parent.mkdir(parents=True, exist_ok=True)
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy2
                copy(ROOT / source, target)
        else:
            assert word == "RUN"
            done = subprocess.run(
                ["sh", "-c", rest], env=bare(), capture_output=True, text=True, check=False
            )
            assert not done.returncode, done.stderr
    return place / "opt" / "privacygauge"


@pytest.mark.slow
@only_thorough
def test_the_container_s_steps_make_a_program_that_audits(container, tmp_path):
    program = container / "bin" / "privacygauge"
    done = subprocess.run([program, "demo", "--out", "demo"], cwd=tmp_path, env=bare(), check=False)
    assert not done.returncode
    assert (tmp_path / "demo" / "report.html").is_file()


@pytest.mark.slow
@only_thorough
def test_the_board_of_the_compose_file_serves_with_postgresql(container, cluster, tmp_path):  # noqa: F811
    board = read("compose.yaml")["services"]["board"]
    create_database(cluster)
    np.save(tmp_path / "labels.npy", np.arange(100) % 3)
    (tmp_path / "password").write_text("not asked for here\n")
    places = {
        "/labels/labels.npy": str(tmp_path / "labels.npy"),
        "/run/secrets/password": str(tmp_path / "password"),
        "/tmp/.pgpass": str(tmp_path / "pgpass"),
        "--host=0.0.0.0": "--host=127.0.0.1",
        "$$": "$",
    }
    words = [*board["entrypoint"], *board["command"], "--port=0"]
    for there, here in places.items():
        words = [word.replace(there, here) for word in words]
    env = bare(
        PRIVACYGAUGE_DATABASE=f"{cluster}/gauge",
        PGPASSFILE=places["/tmp/.pgpass"],
        PYTHONUNBUFFERED="1",
    )
    env["PATH"] = f"{container / 'bin'}{os.pathsep}{env['PATH']}"
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            lines = iter(server.stdout.readline, "")
            said = next(line for line in lines if "http://" in line)
            address = re.search(r"http://[\d.:]+\d", said)[0]
            with urllib.request.urlopen(f"{address}/health", timeout=30) as answer:
                assert json.load(answer) == {"status": "ok"}
            account = ["privacygauge", "holdout", "serve", "account", "alice"]
            done = subprocess.run(account, env=env, capture_output=True, text=True, check=True)
            assert len(done.stdout.strip()) > 20
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    assert (tmp_path / "pgpass").stat().st_mode & 0o077 == 0
    assert (tmp_path / "pgpass").read_text() == "database:5432:gauge:gauge:not asked for here"


def create_database(server: str) -> None:
    from sqlalchemy import create_engine, text

    url = server.replace("postgresql://", "postgresql+psycopg://") + "/postgres"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE DATABASE gauge"))
    engine.dispose()


@pytest.mark.slow
@only_thorough
def test_the_action_s_steps_stop_a_leak_and_keep_its_page(tmp_path):
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    labels = rng.integers(0, 2, 400)
    sure = np.where(member, 0.95, 0.5) + 0.04 * rng.random(400)
    probs = np.column_stack([np.where(labels == k, sure, 1 - sure) for k in (0, 1)])
    found = pg.predictions(labels=labels, member=member, probs=probs)
    work = tmp_path / "work"
    work.mkdir()
    pg.save_predictions(found, work / "our target.npz")
    action = read("action.yml")
    inputs = {name: one.get("default", "") for name, one in action["inputs"].items()}
    audited = "classifier 'our target.npz' --fail-above accuracy.low=55% --title '$(touch stolen)'"
    inputs["audit"] = audited
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    codes = {}
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        given = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda x: inputs[x[1]], text)
            for name, text in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=work,
            env=bare(
                GITHUB_ACTION_PATH=str(ROOT),
                RUNNER_TEMP=str(tmp_path),
                **{name: str(path) for name, path in files.items()},
                **given,
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        codes[step["name"]] = done.returncode
        assert done.returncode in (0, 3), done.stderr
    assert codes == {"Install": 0, "Audit": 3, "Summary": 0}
    assert files["GITHUB_OUTPUT"].read_text() == "code=3\n"
    summary = files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
    assert "Privacy audit" in summary
    assert "model-index" not in summary
    assert not (work / "stolen").exists()
    kept = next(x["with"]["path"] for x in action["runs"]["steps"] if "path" in x.get("with", {}))
    for path in kept.split("\n")[:2]:
        place = path.strip().replace("${{ inputs.out }}", inputs["out"])
        assert (work / place).is_file()


def test_the_readme_s_bibtex_is_this_version():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (entry,) = re.findall(r"```bibtex\n(.*?)```", text, re.DOTALL)
    assert entry.startswith("@software{privacygauge,")
    fields = {
        name: value.replace("{", "").replace("}", "")
        for name, value in re.findall(r"(\w+) = (\{.*\}),?$", entry, re.MULTILINE)
    }
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert fields["version"] == PROJECT["version"] == cited["version"]
    assert fields["title"].startswith(cited["title"])
    assert fields["author"] == cited["authors"][0]["name"]
