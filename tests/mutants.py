"""Mutation testing of every package: which small changes of the code does no test notice?

    make mutants                          300 mutants, seed 0
    make mutants MUTANTS="--n 50 --seed 1 --only evaluate/claim"
    make mutants MUTANTS="--nearest 4"    four files of tests each: faster, and more are left

cosmic-ray makes the mutants. A line is drawn first, of the same chance each, then a place on it,
then one of the mutants there; left out are those that are the same program (annotations, `slots`,
`strict`) and those that no slip of the pen makes (a shift for a sum). Every mutant is written into
a copy of the sources. Its tests run in a fork of a process that has numpy and the like imported
already, which is why cosmic-ray's own executor is not used: starting an interpreter costs more than
the tests. Of all fast tests a mutant meets those that
reach its line, as coverage saw them once; the module's own come first, and the first failure ends
it. Lines that are read at import meet the tests that import the module, and then those of core,
evaluate and the laws. What is left is printed with its place and its difference, and so is a
mutant whose tests ran out of time ("slow"): an endless loop, or long tests on a busy machine.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / ".mutants"))  # cosmic-ray, where `make mutants` puts it
SOURCE = Path("src/privacygauge")
FOLDERS = tuple(
    sorted(path.parent.name for path in (ROOT / SOURCE).glob("*/__init__.py"))
)  # every package
TESTS = ("tests/core", "tests/evaluate", "tests/laws")
DOMAINS = tuple(
    sorted(
        f"tests/{folder.name}"
        for folder in (ROOT / "tests").iterdir()
        if any(folder.rglob("test_*.py")) and f"tests/{folder.name}" not in TESTS
    )
)
"""All other folders of tests."""
IMPLAUSIBLE = re.compile(
    r"_(RShift|LShift|BitXor)$|(Add|Sub|Mul|Div|Mod|Pow)_Bit(Or|And)$|USub_(Not|Invert)$"
    r"|Invert_(USub|UAdd|Not)$|BitOr_(?!BitAnd)|BitAnd_(?!BitOr)"
    r"|(Eq|NotEq|Lt|LtE|Gt|GtE)_Is(Not)?$"
)
"""Changes that end in a TypeError or a SyntaxWarning: any test kills them."""
SAME = frozenset({"slots", "strict"})
"""Keywords that change no result of a program that is right."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change of one file."""

    path: Path
    """Relative to the root."""
    line: int
    operator: str
    occurrence: int


def skipped_places(tree: ast.Module) -> set[tuple[int, int]]:
    """Return the places (line, column) of annotations and of the keywords of `SAME`."""
    parts: list[ast.AST | None] = []
    for node in ast.walk(tree):
        parts += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.keyword) and node.arg in SAME:
            parts.append(node.value)
    return {
        (x.lineno, column)
        for part in parts
        if part is not None
        for x in ast.walk(part)
        if isinstance(x, ast.expr) and x.end_col_offset is not None
        for column in range(x.col_offset, x.end_col_offset + 1)
    }


def mutants_of(path: Path) -> Iterator[tuple[tuple[int, int], Mutant]]:
    """Yield every mutant of a file with its place."""
    from cosmic_ray.ast import Visitor, get_ast
    from cosmic_ray.operators.provider import OperatorProvider

    text = (ROOT / path).read_text(encoding="utf-8")
    skipped = skipped_places(ast.parse(text))
    provider = OperatorProvider()
    tree = get_ast(text)
    for name in provider:
        if IMPLAUSIBLE.search(name) or name.startswith("Variable"):
            continue
        operator = provider[name]()
        found = []

        class Places(Visitor):
            def visit(self, node, operator=operator, found=found):
                found += [start for start, _ in operator.mutation_positions(node)]
                return node

        Places().walk(tree)
        for occurrence, place in enumerate(found):
            if place not in skipped:
                yield place, Mutant(path, place[0], name, occurrence)


def sample(n: int, seed: int, only: str) -> list[Mutant]:
    """Return n mutants, each on a line of its own."""
    lines: dict[tuple[Path, int], dict[int, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for folder in FOLDERS:
        for path in sorted((ROOT / SOURCE / folder).rglob("*.py")):
            for (line, column), mutant in mutants_of(path.relative_to(ROOT)):
                lines[path, line][column].append(mutant)
    kept = [lines[key] for key in sorted(lines) if only in key[0].as_posix()]
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(kept))[:n]
    print(f"{len(drawn)} of {len(kept)} lines, seed {seed}", flush=True)
    found = []
    for i in drawn:
        places = [kept[i][column] for column in sorted(kept[i])]
        there = places[rng.integers(len(places))]
        found.append(there[rng.integers(len(there))])
    return found


def mutated(mutant: Mutant) -> str:
    """Return the text of the file with the change."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.operators.provider import OperatorProvider

    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    changed = mutate_code(text, OperatorProvider()[mutant.operator](), mutant.occurrence)
    assert changed is not None
    return str(changed)


Reached = dict[str, dict[int, list[str]]]
"""The tests that reach a line, by file and line."""


class Watch:
    """A plugin of pytest that has coverage note which test is running."""

    def __init__(self, copy: Path) -> None:
        from coverage import Coverage

        watched = [str(copy / SOURCE / folder) for folder in FOLDERS]
        self.seen = Coverage(f"{copy}/coverage", source=watched, config_file=False)

    def pytest_sessionstart(self) -> None:
        self.seen.start()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        # A fixture may serve all tests of its file.
        self.seen.switch_context(item.nodeid.partition("::")[0])

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.seen.switch_context(item.nodeid.partition("[")[0])

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        self.seen.switch_context("")

    def pytest_sessionfinish(self) -> None:
        self.seen.stop()
        self.seen.save()


def reached(folder: str, seconds: float) -> Reached:
    """Return which tests of a folder reach which lines; every one has to pass."""
    from coverage import CoverageData

    copy = Path.cwd()
    if not passes([folder], 20 * seconds, Watch(copy)):
        raise AssertionError(f"{folder} fails without any mutant")
    data = CoverageData(f"{copy}/coverage")
    data.read()
    found = {
        Path(file).relative_to(copy).as_posix(): {
            line: [x for x in tests if x] for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    (copy / "coverage").unlink()
    return found


def joined(parts: Sequence[Reached]) -> Reached:
    """Return the tests of all folders."""
    whole: Reached = defaultdict(lambda: defaultdict(list))
    for part in parts:
        for file, lines in part.items():
            for line, tests in lines.items():
                whole[file][line] += tests
    return {file: dict(lines) for file, lines in whole.items()}


def stages(mutant: Mutant, known: Reached) -> list[list[str]]:
    """Return the tests that a mutant meets, one list after the other."""
    path = mutant.path
    module = ".".join(path.relative_to("src").with_suffix("").parts)
    package, _, name = module.rpartition(".")
    examples = [f"tests/test_doctests.py::test_examples_hold[{module}]"]
    if ">>>" not in (ROOT / path).read_text(encoding="utf-8"):
        examples = []
    lines = known.get(path.as_posix(), {})
    tests = sorted({x for line in statement(mutant) for x in lines.get(line, [])})
    if tests:
        tests.sort(
            key=lambda x: (f"/test_{name}.py" not in x, not x.startswith(TESTS), "::" not in x)
        )
        return [tests + examples]
    named = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    files = sorted(x for folder in TESTS for x in (ROOT / folder).rglob("test_*.py"))
    near = [x for x in files if named.search(x.read_text(encoding="utf-8"))]
    near.sort(key=lambda x: x.stem != f"test_{name}")
    first = [x.relative_to(ROOT).as_posix() for x in near] + examples
    return [first, [x.relative_to(ROOT).as_posix() for x in files if x not in near]]


def nearest(mutant: Mutant, n: int) -> list[list[str]]:
    """Return the n test files that are nearest to the module of a mutant, by name and folder."""
    module = ".".join(mutant.path.relative_to("src").with_suffix("").parts)
    package, _, name = module.rpartition(".")
    named = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    mirrored = (ROOT / "tests").joinpath(*mutant.path.parent.parts[2:])
    within = f"from {package}."

    def distance(file: Path) -> tuple[bool, ...]:
        text = file.read_text(encoding="utf-8")
        return (
            file.stem not in (f"test_{name}", f"test_{mutant.path.parent.name}_{name}"),
            not named.search(text),
            file.parent != mirrored,
            within not in text,
        )

    files = sorted((ROOT / "tests").rglob("test_*.py"))
    files = [x for x in sorted(files, key=distance) if not all(distance(x))]
    examples = f"tests/test_doctests.py::test_examples_hold[{module}]"
    found = [x.relative_to(ROOT).as_posix() for x in files[:n]]
    has_examples = ">>>" in (ROOT / mutant.path).read_text(encoding="utf-8")
    return [[*found, *([examples] if has_examples else [])]]


def statement(mutant: Mutant) -> range:
    """Return the lines of the innermost statement around a mutant."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    around = [
        range(x.lineno, _head(x) + 1)
        for x in ast.walk(tree)
        if isinstance(x, ast.stmt) and x.lineno <= mutant.line <= _head(x)
    ]
    return min(around, key=len, default=range(mutant.line, mutant.line + 1))


def _head(found: ast.stmt) -> int:
    """Return the last line of a statement without the block that belongs to it."""
    body = getattr(found, "body", None)
    return body[0].lineno - 1 if body else found.end_lineno or found.lineno


def passes(tests: Sequence[str], seconds: float, *plugins: object) -> bool:
    """Return whether the tests pass, in a fork.

    Raises
    ------
    TimeoutError
        If the time is up.
    LookupError
        If pytest finds no such tests, or cannot import what they share.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        sys.dont_write_bytecode = True
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        code = int(pytest.ExitCode.INTERNAL_ERROR)
        try:
            code = int(run(tests, *plugins))
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _passed(os.waitstatus_to_exitcode(status))
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError


def _passed(code: int) -> bool:
    if code == pytest.ExitCode.USAGE_ERROR:
        raise LookupError("pytest cannot run these tests")
    return code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def run(arguments: Sequence[str], *plugins: object) -> int:
    """Return pytest's exit code."""
    options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return pytest.main([*options, *arguments], plugins)


def enter(copy: Path) -> None:
    """Stand in a copy, and import from there."""
    os.chdir(copy)
    others = (x for x in sys.path if not x.startswith(str(copy.parent)))
    sys.path[:] = [str(copy / "src"), *others]
    os.environ["PYTHONPATH"] = str(copy / "src")  # commands that tests start are changed too


def warm() -> None:
    """Import what the tests import, and forget our own modules: a fork reads them again."""
    run(["--collect-only", "-qq", *TESTS, *DOMAINS])
    for name in [x for x in sys.modules if re.match(r"(privacygauge|tests)(\.|$)", x)]:
        del sys.modules[name]


def judged(
    mutant: Mutant, known: Reached, seconds: float, n_nearest: int | None
) -> tuple[Mutant, str]:
    """Return a mutant and whether it is killed, left or slow, in the copy that we stand in."""
    near = stages(mutant, known) if n_nearest is None else nearest(mutant, n_nearest)
    met = [tests for tests in near if tests]
    mutant.path.write_text(mutated(mutant), encoding="utf-8")
    try:
        return mutant, "left" if all(passes(tests, seconds) for tests in met) else "killed"
    except TimeoutError:
        return mutant, "slow"
    except LookupError:
        shutil.copy2(ROOT / mutant.path, mutant.path)
        for tests in met:
            passes(["--collect-only", *tests], seconds)  # it was the mutant, or this raises too
        return mutant, "killed"
    finally:
        shutil.copy2(ROOT / mutant.path, mutant.path)


def difference(mutant: Mutant) -> str:
    """Return the changed lines."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    lines = difflib.unified_diff(text.splitlines(), mutated(mutant).splitlines(), lineterm="", n=0)
    return "\n".join(x for x in lines if not x.startswith(("---", "+++", "@@")))


def main() -> int:
    """Run the sample and print what survives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=300, help="mutants; default 300")
    parser.add_argument("--seed", type=int, default=0, help="of the sample; default 0")
    parser.add_argument("--only", default="", metavar="PART", help="of paths, as evaluate/claim")
    parser.add_argument("--seconds", type=float, default=180.0, help="for each list of tests")
    parser.add_argument(
        "--reached", type=Path, metavar="FILE", help="keep there which tests reach which lines"
    )
    parser.add_argument("--nearest", type=int, metavar="N", help="files of tests, in place of all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    drawn = sample(options.n, options.seed, options.only)
    ends = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder) / str(job) for job in range(options.jobs)]
        for copy in copies:
            for name in ("src", "tests"):
                shutil.copytree(ROOT / name, copy / name)
            for beside in ("bench", "docs", "pyproject.toml", "README.md", "CHANGELOG.md"):
                (copy / beside).symlink_to(ROOT / beside)  # tests read them
        enter(copies[0])
        warm()
        fork = multiprocessing.get_context("fork")
        free = fork.SimpleQueue()
        for copy in copies:
            free.put(copy)
        with fork.Pool(options.jobs, lambda: enter(free.get())) as pool:
            if options.reached and options.reached.exists():
                kept = json.loads(options.reached.read_text())
                known = {f: {int(n): x for n, x in lines.items()} for f, lines in kept.items()}
            elif options.nearest is not None:
                known = {}
            else:
                see = functools.partial(reached, seconds=options.seconds)
                known = joined(pool.map(see, (*TESTS, *DOMAINS), chunksize=1))
            if options.reached:
                options.reached.write_text(json.dumps(known))
            print(f"{sum(map(len, known.values()))} lines are reached", flush=True)
            judge = functools.partial(
                judged, known=known, seconds=options.seconds, n_nearest=options.nearest
            )
            for done, (mutant, end) in enumerate(pool.imap_unordered(judge, drawn), 1):
                ends[end] += 1
                if end != "killed":
                    place = f"{mutant.path.as_posix()}:{mutant.line}"
                    print(f"\n{end}: {place} {mutant.operator}\n{difference(mutant)}", flush=True)
                if done % 25 == 0:
                    print(f"{done} of {len(drawn)}: {dict(ends)}", flush=True)
    print(f"\nof {len(drawn)}: {dict(ends)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
