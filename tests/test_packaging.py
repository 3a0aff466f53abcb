"""What a user installs is ours: distributions, extras, metadata, what the files hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import metadata, packages_distributions
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privacygauge
from privacygauge.cli.main import app, command_of

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = PROJECT["name"]
EXTRAS = PROJECT["optional-dependencies"]
SHOWN = (".py", ".md", ".txt", ".yml", ".yaml", ".sh", ".toml", ".j2", ".cff")
HERE = Path(__file__).relative_to(ROOT)
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?")
INSTALL = re.compile(
    r"(?:pip3?|pipx|uv pip|uv tool) install (?:-{1,2}[\w-]+ )*['\"]?([\w.][^\s'\"]*)"
)
INSTALLERS = {"pip", "uv", "build", "twine"}
"""What an environment is made with."""
WRAPPED = {"arfpy", "snsynth"}
"""Generators that pages show how to wrap; nothing here imports them."""
RENAMED = {"docx"}
"""Module of a package of another name, python-docx, which the environment of tests has not."""


def normal(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def texts() -> dict[Path, str]:
    """Return every text of the project by its path, this file left out."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [Path(line) for line in listed.stdout.splitlines()]
    kept = [path for path in paths if path.suffix in SHOWN]
    return {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in kept
        if path != HERE and (ROOT / path).is_file()
    }


def installs() -> list[tuple[Path, str]]:
    """Return each requirement that some text tells a reader to install, beside its path."""
    return [
        (path, word.replace("\\", "").rstrip("`.,;:"))
        for path, text in texts().items()
        for word in re.findall(INSTALL, text)
        if word.strip("`.,;:")  # a folder
    ]


def dependencies() -> set[str]:
    """Return the names of all distributions that the project asks for, and what those bring."""
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    wanted = [*PROJECT["dependencies"], *pinned, *(x for extra in EXTRAS.values() for x in extra)]
    parts = [REQUIREMENT.match(one).groups() for one in wanted]
    # An extra is mostly the name of what it adds: dask[distributed].
    return {normal(part) for name, extras in parts for part in (name, *(extras or "").split(","))}


def peers() -> set[str]:
    """Return the distributions that benchmarks compare with."""
    folder = ROOT / "bench" / "peers"
    named = {normal(path.stem) for path in folder.glob("*.txt")}
    lines = [line for path in folder.glob("*.txt") for line in path.read_text().splitlines()]
    return named | {normal(REQUIREMENT.match(line)[1]) for line in lines if REQUIREMENT.match(line)}


def test_every_installation_is_of_our_own_distribution():
    found = installs()
    assert len(found) > 15
    for path, word in found:
        name, extras = REQUIREMENT.match(word).groups()
        if normal(name) in dependencies() | peers() | INSTALLERS:
            continue
        assert normal(name) == OURS, f"{path} installs {word}, which is not {OURS}"
        for extra in (extras or "").split(","):
            assert not extra or extra in EXTRAS, f"{path}: no extra {extra!r}"


def test_our_own_extras_name_one_another_by_the_right_name():
    for wanted in (one for extra in EXTRAS.values() for one in extra):
        name, extras = REQUIREMENT.match(wanted).groups()
        if normal(name) == OURS:
            assert set(extras.split(",")) <= set(EXTRAS)


def test_no_text_names_the_old_distribution():
    old = "leak" + "scope"
    found = {path for path, text in texts().items() if old in text.lower()}
    assert found <= {Path("CHANGELOG.md")}


def test_imports_are_of_dependencies_or_of_peers():
    """A text of code imports what the project asks for, what it compares with, or the library."""
    by_module = packages_distributions()
    allowed = dependencies() | peers() | INSTALLERS | WRAPPED | RENAMED | {OURS}
    own = {
        "tests",
        "peers",  # of bench
        *(path.stem for folder in ("bench", "docs") for path in (ROOT / folder).rglob("*.py")),
    }
    pattern = re.compile(r"^\s*(?:from|import) ([a-z_]\w*)[\w.]*(?: import | as |$)", re.MULTILINE)
    for path, text in texts().items():
        if path.suffix not in (".py", ".md") or path.parts[0] == "tests":
            continue  # tests make up modules of a user's
        for module in set(pattern.findall(text)) - set(sys.stdlib_module_names) - own:
            names = {normal(name) for name in by_module.get(module, ())} | {normal(module)}
            names.add(module.replace("_", ""))  # such as privacy_guard of privacyguard
            assert names & allowed or module == OURS, f"{path} imports {module}"


def test_the_metadata_say_what_an_index_shows():
    shown = metadata(OURS)
    assert shown["License-Expression"] == "Apache-2.0"
    assert {"Typing :: Typed", "Topic :: Security"} <= set(shown.get_all("Classifier"))
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {lowest}" in shown.get_all("Classifier")
    assert "privacy" in shown["Keywords"]


def test_the_description_has_no_link_or_picture_that_an_index_cannot_show():
    text = metadata(OURS).get_payload() or metadata(OURS)["Description"]
    assert "# PrivacyGauge" in text
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert all(re.match(r"https?:|#", link) for link in links), links
    assert "![" not in text


def test_the_citation_names_the_five_papers():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert len(cited["references"]) == 5
    for paper in cited["references"]:
        assert paper["title"] in readme
        assert all(author["family-names"] in readme for author in paper["authors"])
    assert cited["version"] == PROJECT["version"]


def test_the_version_has_its_changes_and_files_of_the_one_before():
    """Who raises the version writes both: see CONTRIBUTING."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    open_, latest, before, *_ = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert (open_, latest) == ("Unreleased", PROJECT["version"])
    assert (ROOT / "tests" / "previous" / before / "names.json").is_file()
    changes = text.partition(f"## {latest}")[2].partition(f"## {before}")[0]
    headings = re.findall(r"^### (\w+)", changes, re.MULTILINE)
    usual = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    assert headings == [x for x in usual if x in headings]
    assert headings


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return two folders, each with a wheel and an sdist built from the same files."""
    pytest.importorskip("hatchling")
    made = [tmp_path_factory.mktemp("built") for _ in range(2)]
    for folder in made:
        build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
        done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
    return made


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(built):
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in built
    )
    assert len(first) == 2
    assert first == second


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as inside:
        names = {name for name in inside.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    kept = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == kept


@pytest.mark.slow
def test_the_tests_run_from_the_source_distribution(built, tmp_path):
    """Every test is found there, and the files that tests of packaging read."""
    (archive,) = built[0].glob("*.tar.gz")
    with tarfile.open(archive) as inside:
        inside.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    shared = {**os.environ, "PYTHONPATH": str(root / "src")}
    pytest_there = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]

    def run(*arguments):
        command = [*pytest_there, *arguments]
        return subprocess.run(
            command, cwd=root, env=shared, capture_output=True, text=True, check=False
        )

    listed = run("--collect-only")
    assert not listed.returncode, listed.stdout
    missing = {path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")} - {
        path.relative_to(root) for path in (root / "tests").rglob("test_*.py")
    }
    assert not missing
    done = run("-m", "not slow", "tests/test_packaging.py", "tests/core/test_units.py")
    assert not done.returncode, done.stdout


ALONE = """
import re, sys
from importlib import metadata
from importlib.machinery import PathFinder

def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()

needed, left = {{"privacygauge"}}, {dependencies!r}
while left:
    name = normal(left.pop())
    if name not in needed:
        needed.add(name)
        try:
            left += [
                re.match(r"[\\w.-]+", line)[0]
                for line in metadata.requires(name) or ()
                if "extra ==" not in line
            ]
        except metadata.PackageNotFoundError:
            pass
absent = {{
    top
    for top, found in metadata.packages_distributions().items()
    if needed.isdisjoint(map(normal, found)) and top not in sys.stdlib_module_names
}}
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None: None
    if name.partition(".")[0] in absent
    else find(name, path, target)
)
"""

TABLE = ("--data", "t.csv", "--model", "network")
WITHOUT_EXTRAS = {
    ("classifier", *TABLE): "torch",
    ("dtp", *TABLE): "torch",
    ("worst-case", *TABLE, "--canaries", "8"): "torch",
    ("defend", *TABLE, "--defence", "dropout"): "torch",
    ("classifier", "--data", "t.csv", "--model", "logistic", "--backend", "dask"): "scale",
    ("classifier", "--data", "t.csv", "--model", "logistic", "--backend", "ray"): "scale",
    ("language", "train-reference", "a.txt", "--out", "new"): "language",
    ("language", "--target", "gpt", "--members", "a.txt", "--nonmembers", "b.txt"): "language",
    ("language", "extract", "--target", "gpt", "--members", "a.txt", "--nonmembers", "b.txt"): (
        "language"
    ),
    ("language", "canaries", "measure", "made", "--target", "gpt"): "language",
    (
        "unlearning",
        "--before",
        "gpt",
        "--after",
        "gpt",
        "--forgotten",
        "a.txt",
        "--fresh",
        "b.txt",
    ): ("language"),
    ("holdout", "serve", "--labels", "y.npy", "--total", "10"): "serve",
    ("holdout", "attack", "--labels", "y.npy", "--queries", "9", "--attack", "reconstruction"): (
        "solver"
    ),
}
"""Commands, and the extra that the wheel alone lacks for each."""

FAILING_TRIES = [
    ("classifier", *TABLE),
    ("defend", *TABLE, "--defence", "dropout"),
    ("holdout", "attack", "--labels", "y.npy", "--queries", "9", "--attack", "reconstruction"),
]
"""Commands that begin runs in the same folder, and fail."""

MODEL = """
import pandas as pd
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

people = pd.read_csv("trained.csv")
model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), BernoulliNB())
model.fit(people[["age", "city"]][people.trained == 1], people.sick[people.trained == 1])
"""
PEOPLE = ("people.csv", "--label", "sick", "--model", "naive-bayes")
WITH_THE_WHEEL = [
    ("demo", "--out", "demo"),
    ("classifier", "t.csv", "--out", "report"),
    ("classifier", "--data", *PEOPLE, "--shadows", "2", "--out", "shadows"),
    (
        *("attribute", "--fitted", "model.py:model", "--data", "trained.csv", "--label", "sick"),
        *("--member", "trained", "--sensitive", "city", "--out", "attribute"),
    ),
    ("defend", "t.csv", "--shadow", "shadow.csv", "--defence", "label-only", "--out", "defend"),
    ("worst-case", "--data", *PEOPLE, "--canaries", "8", "--models", "8", "--out", "worst"),
    ("dtp", "--data", *PEOPLE, "--out", "dtp"),
    ("vulnerable", "people.csv", "--out", "ranking"),
    ("synthetic", "people.csv", "--synthetic", "made.csv", "--out", "released"),
    (
        "synthetic",
        "people.csv",
        *["--generator", "independent", "--targets", "2", "--shadows", "4", "--tests", "4"],
    ),
    ("language", "--scores", "energies.csv", "--out", "energies"),
    ("scores", "coins.csv", "--score", "score", "--out", "scores"),
    ("language", "split", "texts.csv", "--out", "dealt"),
    ("unlearning", "--before", "t.csv", "--after", "t.csv", "--out", "forgotten"),
    ("holdout", "bound", "--n", "100", "--classes", "2", "--queries", "10", "--json", "-"),
    ("holdout", "attack", "--labels", "y.npy", "--queries", "9", "--out", "attacked"),
    ("holdout", "log", "history.csv", "--n", "60", "--classes", "2", "--out", "history"),
    ("dp-audit", "coins.csv", "--epsilon", "1", "--delta", "1e-5", "--out", "claim"),
    ("register", "report", "ranking", "--out", "register"),
    ("compare", "ranking", "ranking", "--out", "comparison"),
    ("inspect", "model.py:model", "--data", "trained.csv", "--label", "sick", "--out", "inspected"),
    ("classifier", "able.csv", "--out", "decided/reports/attacked"),
    (
        *("release", "sign", "decided", "--decision", "release", "--by", "A", "--role", "B"),
        *("--until", "2999-12-31", "--because", "C"),
    ),
    ("release", "check", "decided"),
    ("release", "due", "decided"),
    ("release", "evidence", "decided"),
    ("reproduce", "--list"),
    ("runs", "."),
    ("report", "shadows"),
    ("resume", "shadows"),
    ("worker", "shadows"),
]
"""Commands in an order in which the later ones find what the earlier ones made."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return what runs a command where nothing but the dependencies is found."""
    place = tmp_path_factory.mktemp("site")
    here = tmp_path_factory.mktemp("here")
    names = [REQUIREMENT.match(line)[1] for line in PROJECT["dependencies"]]
    (place / "sitecustomize.py").write_text(ALONE.format(dependencies=names))
    rng = np.random.default_rng(0)
    for name in ("t.csv", "shadow.csv"):
        rows = ["p_0,p_1,label,member"]
        rows += [f"{p:.3f},{1 - p:.3f},{i % 2},{i // 2 % 2}" for i, p in enumerate(rng.random(80))]
        (here / name).write_text("\n".join(rows))
    # A model that knows its classes: members and others alike, so that a policy can be met.
    truth, member = np.arange(2000) % 2, np.arange(2000) // 2 % 2
    p = rng.beta(np.where(truth, 2, 5), np.where(truth, 5, 2))
    able = pd.DataFrame({"p_0": p, "p_1": 1 - p, "label": truth, "member": member})
    able.to_csv(here / "able.csv", index=False)
    for name, word in (("a.txt", "one"), ("b.txt", "other")):
        (here / name).write_text("".join(f"{word} text, number {i}\n" for i in range(40)))
    np.save(here / "y.npy", np.arange(60) % 2)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 240), "city": rng.choice([*"abc"], 240)})
    frame["sick"] = (frame["age"] + rng.normal(0, 20, 240) > 60).astype(int)
    frame.to_csv(here / "people.csv", index=False)
    (here / "decided").mkdir()
    (here / "decided" / "artefact.txt").write_text("what is released")
    questions = ("membership", "attributes", "extraction", "contents", "claims")
    reasons = "".join(f'{x} = "nothing of the kind"\n' for x in questions)
    (here / "decided" / "policy.toml").write_text(f"[release-check.not-applicable]\n{reasons}")
    frame.assign(trained=np.arange(240) % 2).to_csv(here / "trained.csv", index=False)
    (here / "model.py").write_text(MODEL)
    frame.sample(200, replace=True, random_state=0).to_csv(here / "made.csv", index=False)
    coins = pd.DataFrame({"score": rng.normal(size=200), "member": rng.integers(0, 2, 200)})
    coins.to_csv(here / "coins.csv", index=False)
    texts = [f"Note {i} of patient {i % 40}" for i in range(200)]
    pd.DataFrame({"text": texts, "patient": np.arange(200) % 40}).to_csv(here / "texts.csv")
    energies = {"sample": range(80), "energy_target": rng.normal(3, 1, 80), "member": [0, 1] * 40}
    pd.DataFrame(energies).to_csv(here / "energies.csv", index=False)
    times = pd.date_range("2026-01-01", periods=40, freq="h")
    history = {"team": [*"ab"] * 20, "time": times, "score": rng.integers(30, 50, 40) / 60}
    pd.DataFrame(history).to_csv(here / "history.csv", index=False)
    (here / "gpt").mkdir()
    (here / "gpt" / "config.json").write_text(
        '{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}'
    )
    (here / "gpt" / "tokenizer.json").write_text("{}")
    (here / "gpt" / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    src = str(Path(privacygauge.__file__).parents[1])
    shared = {**os.environ, "PYTHONPATH": os.pathsep.join([src, str(place)])}

    def run(arguments):
        command = [sys.executable, "-m", "privacygauge", *arguments]
        return subprocess.run(
            command, cwd=here, env=shared, capture_output=True, text=True, timeout=200, check=False
        )

    made = run(("language", "canaries", "make", "The code is {digits:9}.", "--out", "made"))
    assert not made.returncode, made.stderr
    return run


@pytest.mark.slow
def test_tries_that_fail_one_after_the_other_do_not_block_their_folder(alone):
    for arguments in (*FAILING_TRIES, *reversed(FAILING_TRIES)):
        said = alone((*arguments, "--out", "tried")).stderr
        assert said.endswith(f"pip install 'privacygauge[{WITHOUT_EXTRAS[arguments]}]'\n"), said


@pytest.mark.slow
@pytest.mark.parametrize("arguments", WITHOUT_EXTRAS, ids=" ".join)
def test_what_the_wheel_alone_lacks_is_named_in_one_line(alone, arguments):
    done = alone(arguments)
    extra = WITHOUT_EXTRAS[arguments]
    assert done.returncode == 2, done.stderr
    assert extra in EXTRAS
    last = done.stderr.splitlines()[-1]
    assert last.startswith("privacygauge: error: ")
    assert last.endswith(f"pip install 'privacygauge[{extra}]'")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_wheel_alone_suffices(alone):
    failed = {}
    for arguments in WITH_THE_WHEEL:
        done = alone(arguments)
        if done.returncode:
            failed[" ".join(arguments)] = done.stderr
    assert not failed


@pytest.mark.slow
def test_the_local_page_needs_the_wheel_alone(alone):
    """A port that there is not ends it, once all that it serves with is loaded."""
    done = alone(("open", "--port", "70000", "--no-browser"))
    assert done.returncode == 2
    assert "port 70000 cannot be used" in done.stderr


def commands(group, name: str = "") -> list[str]:
    """Return the names of all commands that people type, such as ``holdout bound``."""
    if not hasattr(group, "commands"):
        return [name]
    parts = [(f"{name} {word}".strip(), part) for word, part in group.commands.items()]
    return [leaf for word, part in parts if not part.hidden for leaf in commands(part, word)]


def test_every_command_is_tried_with_the_wheel_alone():
    tried = [" ".join(words) for words in (*WITH_THE_WHEEL, *WITHOUT_EXTRAS)]
    # What every other test of this module begins with, and what has a test of its own.
    tried += ["language canaries make", "open"]
    for name in commands(command_of(app)):
        # Every command about a board opens its database in one place.
        name = re.sub("^holdout serve .*", "holdout serve", name)
        assert any(line.startswith(name) for line in tried), name
