"""The documentation tells the truth: its code runs, its commands, links and numbers hold.

After a change of the command line, of the report or of the demo:
``python tests/test_docs.py --write`` writes the outputs that the pages show again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.names import at_the_top

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
EXAMPLE = ROOT / "docs" / "reading-a-report.md"
WIDTH = 90
RUN_HERE = (
    "classifier",
    "defend",
    "dp-audit",
    "dtp",
    "inspect",
    "language",
    "report",
    "resume",
    "runs",
    "scores",
    "synthetic",
    "vulnerable",
    "worst-case",
)
"""Commands that are quick on a page's own files; the others are only looked up."""
LONG = (
    "docs/attacks.md",
    "docs/classifiers.md",
    "docs/defences.md",
    "docs/games.md",
    "docs/games-in-other-domains.md",
    "docs/games-of-records-and-weights.md",
    "docs/hooks.md",
    "docs/how-an-audit-runs.md",
    "docs/inspect.md",
    "docs/audit-a-training.md",
    "docs/designs-of-claims.md",
    "docs/privacy-claims.md",
    "docs/release-pipeline.md",
    "docs/scores.md",
    "docs/synthetic-tables.md",
    "docs/test-set-reuse.md",
    "docs/tutorials/release-a-model.md",
    "docs/tutorials/reproduce-and-extend.md",
    "docs/tutorials/run-a-leaderboard.md",
    "docs/tutorials/share-a-table.md",
    "docs/tutorials/share-a-text-model.md",
    "docs/worst-case-records.md",
)
"""Pages whose examples take more than a second: the long tests run them."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    """The line of the page that its first line is."""


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match[1] in languages:
            yield Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)


def commands(block: Block, program: str) -> list[list[str]]:
    """Return the arguments of every call of a program in a block."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":  # the rest is output
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    calls = [shlex.split(line, comments=True) for line in lines]
    return [call[1:] for call in calls if call and call[0] == program]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name)


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, id=name(p), marks=[pytest.mark.slow] * (name(p) in LONG)) for p in PAGES],
)
def test_code_runs(page, tmp_path, monkeypatch, undrawn):
    """Python blocks run in order, in one namespace; audits run on the files that they made."""
    monkeypatch.chdir(tmp_path)
    for block, printed in outputs(page):
        assert block.text == printed, "python tests/test_docs.py --write mends it"


def outputs(page: Path) -> Iterator[tuple[Block, str]]:
    """Run a page's code; yield its blocks of output with what the code above them printed."""
    namespace = {"__name__": "page"}
    printed = io.StringIO()
    for block in blocks(page, "python", "sh", "output"):
        if block.language == "output":
            yield block, printed.getvalue()
        else:
            printed = io.StringIO()
        if block.language == "python":
            padded = "\n" * (block.line - 1) + block.text
            with contextlib.redirect_stdout(printed):
                exec(compile(padded, name(page), "exec", dont_inherit=True), namespace)
        elif block.language == "sh":
            for arguments in commands(block, "privacygauge"):
                if arguments[0] in RUN_HERE:
                    assert privacygauge(*arguments) in (
                        {0, 3} if "--fail-above" in arguments else {0}
                    )


def privacygauge(*arguments: str) -> int:
    """Return the exit code of a call in this process: starting one costs a second."""
    from privacygauge.cli import main

    before, sys.argv = sys.argv, ["privacygauge", *arguments]
    try:
        return main.run()
    finally:
        sys.argv = before


@pytest.mark.slow
def test_types_of_the_examples_hold(tmp_path):
    """Each page and each notebook is one module, at the lines of the page."""
    for page in PAGES:
        lines = [""] * page.read_text(encoding="utf-8").count("\n")
        for block in blocks(page, "python"):
            code = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(code)] = code
        if any(lines):
            module = name(page).removesuffix(".md").replace("/", "_").replace("-", "_")
            (tmp_path / f"{module}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        module = f"notebook_{notebook.stem.replace('-', '_')}.py"
        (tmp_path / module).write_text("\n\n".join(code) + "\n", encoding="utf-8")
    files = sorted(map(str, tmp_path.glob("*.py")))
    assert len(files) >= 40
    # A cache of its own: `make lint` checks the package by stricter rules than its users do.
    own = str(ROOT / ".mypy_cache" / "examples")
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--strict", "--cache-dir", own]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_hundred_blocks_can_be_copied_and_run_as_they_stand():
    """They are run by `test_code_runs`, page by page, in order, in an empty folder."""
    run = [block for page in PAGES for block in blocks(page, "python")]
    run += [
        block
        for page in PAGES
        for block in blocks(page, "sh")
        if any(call[0] in RUN_HERE for call in commands(block, "privacygauge"))
    ]
    assert len(run) >= 190


@cache
def program():
    from privacygauge.cli.main import app, command_of

    return command_of(app)


@every_page
def test_commands_exist(page):
    group = program()
    targets = re.findall(
        r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    for block in blocks(page, "sh", "console"):
        for arguments in commands(block, "privacygauge"):
            if set(arguments) & {"--help", "--version"}:
                continue
            context = group.make_context("privacygauge", list(arguments))
            title, command, rest = group.resolve_command(context, list(arguments))
            command.make_context(title, rest, parent=context)
        for wanted in commands(block, "make"):
            assert set(wanted) <= set(targets)
        for script, *_ in commands(block, "python"):
            assert (ROOT / script).is_file()


def test_every_command_has_one_place_among_the_commands():
    text = "\n".join(page.read_text() for page in sorted(ROOT.glob("docs/commands/*.md")))
    marks = re.findall(r"^<!-- help(?:: (.+))? -->$", text, re.MULTILINE)
    assert sorted(marks) == sorted(["", *leaves(program())])


def leaves(command, *path: str) -> Iterator[str]:
    """Yield what is called: commands, and groups that do something themselves."""
    below = getattr(command, "commands", {})
    if path and (not below or command.invoke_without_command):
        yield " ".join(path)
    for title, one in below.items():
        if not one.hidden:
            yield from leaves(one, *path, title)


@every_page
def test_links_resolve(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for path, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if re.match(r"[a-z]+:", path):
            continue
        target = page if not path else (page.parent / path)
        assert target.exists(), f"{name(page)} links to {path}, which does not exist"
        if anchor:
            assert anchor in anchors(target), f"{name(page)} links to #{anchor} in {path}"


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page != EXAMPLE], ids=name)
def test_shown_output_is_the_real_one(page):
    for block in blocks(page, "console"):
        assert block.text == session(block), "python tests/test_docs.py --write mends it"


def session(block: Block) -> str:
    """Return a console block as it has to be: the command, then what it prints."""
    (arguments,) = commands(block, "privacygauge")
    printed = demo_table() if arguments == ["demo"] else output(*arguments)
    lines = [line.rstrip() for line in printed.splitlines()]
    return block.text.splitlines()[0] + "\n" + "\n".join(lines).strip("\n") + "\n"


@cache
def output(*arguments: str) -> str:
    """Return what a call prints on a terminal that is as wide as the pages."""
    plain = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    with patch.dict(os.environ, plain), contextlib.redirect_stdout(io.StringIO()) as printed:
        assert privacygauge(*arguments) == 0
    return printed.getvalue()


@cache
def demo():
    """Return the audit of `privacygauge demo`."""
    import privacygauge as pg
    from privacygauge.classifiers.named import forest
    from privacygauge.datasets.public import digits

    # One after the other: starting processes takes longer than the forests do.
    target, shadow = pg.learners.train_predictions(forest, *digits(), seed=0, n_jobs=1)
    return pg.audit_classifier(target, shadow, drawn=True, seed=0, command="demo")


def demo_table() -> str:
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=WIDTH, color_system=None).print(demo().terminal_summary())
    return text.getvalue() + "Report: privacygauge-demo/report.html\n"


@pytest.mark.slow
def test_the_worked_example_is_the_demo():
    text = EXAMPLE.read_text(encoding="utf-8")
    (shown,) = blocks(EXAMPLE, "console")
    assert shown.text == session(shown), "python tests/test_docs.py --write mends it"
    told = " ".join(text.split())
    missing = [phrase for phrase in example() if phrase not in told]
    assert not missing, "docs/reading-a-report.md has to say, in these words:\n" + "\n".join(
        missing
    )
    parts = set(re.findall(r"<h2[^>]*>(.*?)</h2>", demo().to_html()))
    heads = set(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert heads - parts == {"In the terminal", "The verdict", "The report of `privacygauge dtp`"}


@pytest.mark.slow
def test_the_readme_begins_with_the_number_of_the_demo():
    best = demo().headline.accuracy
    told = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    low, value, high = (f"{100 * x:.1f}%" for x in (best.low, best.value, best.high))
    assert f"right {value} of the time (95% interval {low} to {high}; guessing gives 50%)" in told
    assert f"trained on {demo().game.n_in} handwritten digits" in told


def example() -> list[str]:
    """Return what the worked example has to say about the demo, with the demo's numbers."""
    from privacygauge.report.numbers import (
        decimal,
        decimal_estimate,
        p_value,
        percent,
        rounded_down,
    )

    best = demo().headline
    risk = demo().risk
    epsilon = demo().headline.epsilon
    attack = best.attack
    first, second = demo().slices.slices[:2]
    hit, false = (f"{share.value:.1%}" for share in (attack.recall, attack.false_positive_rate))
    ppv = [percent(value.value) for _, value in attack.predictive_values]
    area = decimal_estimate(best.auc)
    one = attack.tpr_at_fpr[1].estimate
    nine = next(row for row in risk.cuts if row.cut == 0.9)
    more = {prior: decimal(100 * value.value, 1) for prior, value in risk.excess}
    right = [percent(fact.estimate.value) for fact in demo().facts[:2]]
    return [
        f"found {attack.true_positives} of {attack.n_in} members and took "
        f"{attack.false_positives} of {attack.n_out} non-members",
        f"({attack.true_positives}/{attack.n_in} + ({attack.n_out} - {attack.false_positives})"
        f"/{attack.n_out}) / 2 = {percent(best.accuracy.value)}",
        f"{ends(best.accuracy)} around {percent(best.accuracy.value)}. In the table of attacks the "
        f"same attack has {ends(attack.accuracy)}:",
        f"{percent(one.value)}, but the interval runs from {ends(one)} and a **dagger**",
        f"{area.value}, with an interval of {area.interval}",
        f"In the demo: {rounded_down(epsilon.low)}. So many records could have shown "
        f"{decimal(best.epsilon_limit, 2)} at most",
        f"An epsilon of {rounded_down(epsilon.low)}",
        f"{ppv[0]} if 1% of those asked about are members, {ppv[1]} if 10% are, and {ppv[2]} if",
        f"finds {hit} of the members and accuses {false} of the others",
        f"members score {percent(risk.mean.value)} on average. A risk of at least 0.9 is right for "
        f"{percent(nine.precision.value)} of the records that have it, and "
        f"{percent(nine.recall.value)} of the members",
        f"{percent(risk.reliability.rmse.value)}, and {percent(risk.reliability.noise)} by chance",
        f"{more[0.1]} points more on average after a belief of 10%, and {more[0.5]} after 50%",
        f"the digit {first.group} is marked, with {percent(first.accuracy.value)} right guesses. "
        f"The digit {second.group} follows with {percent(second.accuracy.value)} and is not "
        f"marked: its corrected p is {p_value(second.p_value)}",
        f"In the demo: {right[0]} and {right[1]}.",
    ]


def ends(estimate) -> str:
    from privacygauge.report.numbers import percent_estimate

    return percent_estimate(estimate).interval


def test_the_catalogue_is_extended_as_contributing_says():
    catalogue = (ROOT / "tests" / "laws" / "catalogue.py").read_text(encoding="utf-8")
    for listed in ("ESTIMATORS", "ON_SHADOW", "ON_WORLDS", "LEARNT", "ATTACKS"):
        assert f"\n{listed}: " in catalogue
        assert f"`{listed}`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_architecture_draws_the_layers_that_import_linter_holds():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers"
    )
    held = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    (picture,) = (
        block.text
        for block in blocks(ROOT / "docs" / "architecture.md", "text")
        if block.text.split()[0] == "__main__"
    )
    names = re.sub(r"#.*", "", picture)
    assert [set(re.findall(r"\w+", layer)) for layer in names.split("|")] == held


@pytest.mark.parametrize(
    ("page", "section"),
    [("CONTRIBUTING.md", "## The one idea"), ("docs/architecture.md", "## What each part is for")],
)
def test_every_package_that_is_named_exists(page, section):
    text = (ROOT / page).read_text(encoding="utf-8")
    text = text[text.index(section) :]
    text = text[: text.index("\n## ", 1)]
    words = set(re.findall(r"`([a-z_]+)`", BLOCK.sub("", text))) - {"privacygauge"}
    for drawn in re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        heads = re.findall(r"^ +([a-z_ |]+?)(?:  |$)", drawn, re.MULTILINE)
        words |= {word for head in heads for word in re.findall(r"[a-z_]+", head)}
    assert {"core", "evaluate"} <= words
    package = ROOT / "src" / "privacygauge"
    assert words <= {path.stem for path in package.iterdir()}


def test_the_architecture_names_every_audit_that_is_not_made_of_options():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    plain = {
        title
        for title, call in at_the_top().items()
        if title.startswith("audit_") and not hasattr(call, "__signature__")
    }
    assert plain == set(re.findall(r"`(audit_\w+)`", text))


LARGE = {
    "docs/attacks.md",
    "docs/classifiers.md",
    "docs/correctness.md",
    "docs/decisions.md",
    "docs/defences.md",
    "docs/leaderboard-history.md",
    "docs/proving-ground.md",
    "docs/reading-a-report.md",
    "docs/reproduction/errata.md",
    "docs/reproduction/long2017.md",
    "docs/reproduction/song2021.md",
    "docs/synthetic-tables.md",
}
"""Pages of more than 2,500 words: this list may only become shorter."""


def test_pages_are_short_enough_to_be_read():
    long = {name(page) for page in PAGES if len(page.read_text(encoding="utf-8").split()) > 2_500}
    assert {page for page in long if page.startswith("docs/")} <= LARGE


@pytest.mark.parametrize("word", ["MIA", "LiRA", "shadow model", "DCR", "exposure"])
def test_words_of_the_field_lead_to_a_page(word):
    """The search of the site finds pages by the words that are on them."""
    text = (ROOT / "docs" / "which-audit.md").read_text(encoding="utf-8")
    words = text[text.index("## Words of the field") :]
    lines = [line for line in words.splitlines() if word in line]
    assert lines
    assert all(re.search(r"\]\([a-z-]+\.md", line) for line in lines)


def test_pages_speak_of_nothing_but_the_project():
    for page in PAGES:
        assert not re.search(r"/(?:work|tmp|home|root|opt)/", page.read_text(encoding="utf-8")), (
            name(page)
        )


def write() -> None:
    """Write every shown output again."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in blocks(page, "console"):
            text = text.replace(f"```console\n{block.text}```", f"```console\n{session(block)}```")
        page.write_text(text, encoding="utf-8")
        if any(blocks(page, "output")):
            write_outputs(page)


def write_outputs(page: Path) -> None:
    """Write what the code of a page prints below it again."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block, printed in reversed(list(outputs(page))):
            lines = text.splitlines(keepends=True)
            length = block.text.count("\n")
            lines[block.line - 1 : block.line - 1 + length] = [printed]
            text = "".join(lines)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=textwrap.dedent(__doc__ or ""))
    parser.add_argument("--write", action="store_true", required=True, help="write outputs again")
    parser.parse_args()
    write()
