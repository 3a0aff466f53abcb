"""Mutation testing of every package: which small changes of the code does no test notice?

    make mutants                          300 mutants, seed 0
    make mutants MUTANTS="--n 50 --seed 1 --only evaluate/claim"
    make mutants MUTANTS="--kept FOLDER"  begun again, it goes on from there

cosmic-ray makes the mutants. A line is drawn first, of the same chance each, then a place on it,
then one of the mutants there; left out are those that are the same program (annotations, `slots`,
`strict`) and those that no slip of the pen makes (a shift for a sum). Every mutant is written into
a copy of the sources. Its tests run in a fork of a process that has numpy and the like imported
already, which is why cosmic-ray's own executor is not used: starting an interpreter costs more than
the tests.

A mutant meets the tests of the `--files` that are nearest by their name and their imports, until
one fails or `--seconds` of them have passed; 999 are all files, hours of them. Of a file it meets
the tests that reach its line: the file is played once without a mutant, with a probe at each drawn
line (`tests/reached.py`), when the first mutant comes to it. A line that is read at import meets
the tests that reach the lines that use its name, or any function of its file, or those of the
nearest files. Doctests of the module come first. What is left is printed with its difference, and
so is a mutant whose tests ran out of processor time ("slow"): an endless loop mostly.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import fcntl
import functools
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import reached as probes

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / ".mutants"))  # cosmic-ray, where `make mutants` puts it
SOURCE = Path("src/privacygauge")
FOLDERS = tuple(
    sorted(path.parent.name for path in (ROOT / SOURCE).glob("*/__init__.py"))
)  # every package
TESTS = ("tests/core", "tests/evaluate", "tests/laws")
LAWS = ("tests/laws/test_values.py", "tests/laws/test_defaults.py")
"""Laws that read the sources themselves, for lines that no test reaches."""
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
    """Return the places (line, column) of annotations, caches and the keywords of `SAME`."""
    parts: list[ast.AST | None] = []
    for node in ast.walk(tree):
        parts += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        caches = (x for x in getattr(node, "decorator_list", ()) if "cache" in ast.unparse(x))
        parts += caches
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            parts.append(node)
        if isinstance(node, ast.keyword) and node.arg in SAME:
            parts.append(node.value)
    return {
        (x.lineno, column)
        for part in parts
        if part is not None
        for x in ast.walk(part)
        if isinstance(x, ast.expr | ast.If) and x.end_col_offset is not None
        # A decorator begins with its sign.
        for column in range(max(0, x.col_offset - 1), x.end_col_offset + 1)
    }


def mutants_of(path: Path) -> Iterator[tuple[tuple[int, int], Mutant]]:
    """Yield every mutant of a file with its place."""
    from cosmic_ray.ast import Visitor, get_ast
    from cosmic_ray.operators.provider import OperatorProvider

    text = (ROOT / path).read_text(encoding="utf-8")
    skipped = skipped_places(ast.parse(text))
    provider = OperatorProvider()
    nodes = []

    class Nodes(Visitor):
        def visit(self, node):
            nodes.append(node)
            return node

    # Once for all operators: a walk takes far longer than to ask them.
    Nodes().walk(get_ast(text))
    for name in provider:
        if IMPLAUSIBLE.search(name) or name.startswith("Variable"):
            continue
        operator = provider[name]()
        found = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, place in enumerate(found):
            if place not in skipped:
                yield place, Mutant(path, place[0], name, occurrence)


def sample(n: int, seed: int, only: str, kept: Path) -> list[Mutant]:
    """Return n mutants, each on a line of its own."""
    place = kept / "drawn.json"
    if place.exists():
        rows = json.loads(place.read_text())
        return [Mutant(Path(path), *others) for path, *others in rows]
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
    rows = [[x.path.as_posix(), x.line, x.operator, x.occurrence] for x in found]
    place.write_text(json.dumps(rows))
    return found


def mutated(mutant: Mutant) -> str:
    """Return the text of the file with the change."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.operators.provider import OperatorProvider

    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    changed = mutate_code(text, OperatorProvider()[mutant.operator](), mutant.occurrence)
    assert changed is not None
    return str(changed)


@dataclass(frozen=True, slots=True)
class Reached:
    """Which tests reach the drawn lines, and how long they take."""

    tests: dict[tuple[str, int], set[str]]
    """By file and line; line 0 is any function of the file."""
    seconds: dict[str, float]
    """By test, of those that pass without any mutant."""


class Unshrunk:
    """A plugin of pytest: no smaller example is looked for, since that one fails is enough."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings  # by pytest first, which rewrites its asserts

        without = [x for x in Phase if x not in (Phase.shrink, Phase.explain)]
        settings.register_profile("unshrunk", settings(settings.default, phases=without))
        settings.load_profile("unshrunk")


class Watch:
    """A plugin of pytest that notes how long tests take and which of them fail."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"{report.duration}\t{report.failed:d}\t{report.nodeid}\n")


def watch(file: str, kept: Path) -> None:
    """Play the tests of a file with the probes of `tests/reached.py`, unless that was done."""
    name = file.replace("/", "-")
    done = kept / f"{name}.done"
    with (kept / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be playing them
        if done.exists():
            return
        log, times = kept / f"{name}.reached", kept / f"{name}.times"
        for old in (log, times):
            old.unlink(missing_ok=True)
            old.touch()
        os.environ[probes.LOG] = str(log)
        with contextlib.suppress(TimeoutError):  # the tests that came before have their times
            ends_well([file], 600, Watch(times), begin=probes.install, options=[])
        del os.environ[probes.LOG]
        done.touch()


def known(file: str, kept: Path) -> Reached:
    """Return what the tests of a file reach; parameters of a test count as one test."""
    name = file.replace("/", "-")
    seconds: Counter[str] = Counter()
    failed = set()
    for line in (kept / f"{name}.times").read_text(encoding="utf-8").splitlines():
        duration, has_failed, test = line.split("\t", 2)
        test = test.partition("[")[0]
        seconds[test] += float(duration)
        if has_failed == "1":
            failed.add(test)
    passing = {test: x for test, x in seconds.items() if test not in failed}
    tests: dict[tuple[str, int], set[str]] = defaultdict(set)
    for line in (kept / f"{name}.reached").read_text(encoding="utf-8").splitlines():
        source, number, test = line.split("\t", 2)
        path = source[source.index(SOURCE.as_posix()) :]
        test, _, phase = test.rpartition(" (")
        # A fixture may serve all tests of its file.
        new = {test.partition("[")[0]} if phase == "call)" else passing.keys()
        tests[path, int(number)] |= new & passing.keys()
    return Reached(dict(tests), passing)


def batches_of(tests: set[str], seconds: dict[str, float]) -> Iterator[list[str]]:
    """Yield tests in batches of growing length, the quickest first."""
    size = 4.0
    batch: list[str] = []
    inside = 0.0
    for test in sorted(tests, key=lambda test: (seconds[test], test)):
        batch.append(test)
        inside += seconds[test] + 0.02
        if inside > size:
            yield batch
            batch = []
            inside = 0.0
            size *= 3
    if batch:
        yield batch


def stages(mutant: Mutant, options: argparse.Namespace) -> Iterator[tuple[list[str], float]]:
    """Yield batches of tests that a mutant meets, with their seconds: the nearest files first.

    A file is mapped when the first mutant comes to it, so that those that fall early never wait for
    the map of the whole suite.
    """
    path = mutant.path.as_posix()
    if ">>>" in (ROOT / path).read_text(encoding="utf-8"):
        module = ".".join(mutant.path.relative_to("src").with_suffix("").parts)
        yield [f"tests/test_doctests.py::test_examples_hold[{module}]"], 1.0
    spent = 0.0
    maps = []
    # A line that no test reaches by itself is read at import: by any function of its file then.
    for line in (mutant.line, 0):
        if line == 0:
            yield [*LAWS], 10.0
        for n, file in enumerate(near_files(mutant.path)[: options.files]):
            if n == len(maps):
                watch(file, options.kept)
                maps.append(known(file, options.kept))
            found = maps[n]
            for batch in batches_of(found.tests.get((path, line), set()), found.seconds):
                planned = sum(found.seconds[test] for test in batch)
                yield batch, planned
                spent += planned
                if spent > options.seconds:
                    return
        if spent:
            return
    for found in maps[:8]:
        for batch in batches_of(set(found.seconds), found.seconds):
            yield batch, sum(found.seconds[test] for test in batch)


@functools.cache
def imports_of(file: Path) -> frozenset[str]:
    """Return the modules of the package, and of the tests, that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(text_of(file))):
        if isinstance(node, ast.Import):
            found |= {x.name for x in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{x.name}" for x in node.names)}
    modules = (name for name in found if name.startswith(("privacygauge.", "tests.")))
    return frozenset(name for name in modules if file_of(name) is not None)


@functools.cache
def file_of(module: str) -> Path | None:
    """Return the file of a module, if there is one."""
    folder = ROOT if module.startswith("tests.") else ROOT / "src"
    place = folder.joinpath(*module.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.exists()), None)


@functools.cache
def importers() -> dict[Path, set[Path]]:
    """Return the files that import each file."""
    found: dict[Path, set[Path]] = defaultdict(set)
    for folder in ("src", "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            for name in imports_of(file):
                imported = file_of(name)
                if imported is not None:
                    found[imported].add(file)
    return dict(found)


def hops(target: Path) -> dict[Path, int]:
    """Return how many imports lie between each file and a target that it imports."""
    found = {target: 0}
    last = {target}
    step = 0
    while last:
        step += 1
        last = {x for file in last for x in importers().get(file, ())} - found.keys()
        found |= dict.fromkeys(last, step)
    return found


@functools.cache
def near_files(path: Path) -> list[str]:
    """Return all files of fast tests, the nearest to a module first.

    Those of its name come first, then those that import it, in the fewest steps; of as many steps,
    those whose path shares most words with the module's.
    """
    steps = hops(ROOT / path)
    names = {f"test_{path.stem}", f"test_{path.parent.name}_{path.stem}"}
    words = words_of(path.relative_to(SOURCE))

    def distance(file: Path) -> tuple[bool, int, int, str]:
        shared = len(words & words_of(file.relative_to(ROOT)))
        # What starts the command line imports nothing of it: a word in common is two steps.
        far = min(steps.get(file, 99), 2 if shared > 1 else 4 if shared else 99)
        return file.stem not in names or shared < 2, far, -shared, file.as_posix()

    files = sorted((ROOT / "tests").rglob("test_*.py"), key=distance)
    return [file.relative_to(ROOT).as_posix() for file in files]


def words_of(path: Path) -> set[str]:
    """Return the words of a path, without the s of a plural."""
    return {x.removesuffix("s") for x in re.findall("[a-z0-9]+", path.with_suffix("").as_posix())}


@functools.cache
def text_of(file: Path) -> str:
    """Return the text of a file."""
    return file.read_text(encoding="utf-8")


def ends_well(
    tests: Sequence[str],
    seconds: float,
    *plugins: object,
    begin: Callable[[], None] | None = None,
    options: Sequence[str] = ("-x",),
) -> bool:
    """Return whether the tests pass, in a fork.

    Seconds are those of a processor, since others' work only adds to the clock's; a test that waits
    for nothing is ended after 20 times as many of the clock.

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
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
        code = int(pytest.ExitCode.INTERNAL_ERROR)
        try:
            if begin is not None:
                begin()
            code = int(run([*options, *tests], *plugins))
        finally:
            os._exit(code)
    end = time.monotonic() + 20 * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # what the tests started and left
            if code in (-signal.SIGXCPU, -signal.SIGKILL):
                raise TimeoutError
            if code == pytest.ExitCode.USAGE_ERROR:
                raise LookupError("pytest cannot run these tests")
            return code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError


def run(arguments: Sequence[str], *plugins: object) -> int:
    """Return pytest's exit code."""
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return pytest.main([*options, *arguments], [Unshrunk(), *plugins])


def enter(copy: Path) -> None:
    """Stand in a copy, and import from there."""
    os.chdir(copy)
    others = (x for x in sys.path if not x.startswith(str(copy.parent)))
    sys.path[:] = [str(copy / "src"), *others]
    # Commands that tests start are changed too, and note the tests that start them.
    os.environ["PYTHONPATH"] = f"{copy / 'probes'}{os.pathsep}{copy / 'src'}"


def warm() -> None:
    """Import what the tests import, and forget our own modules: a fork reads them again."""
    run(["--collect-only", "-qq", *TESTS, *DOMAINS])
    for name in [x for x in sys.modules if re.match(r"(privacygauge|tests)(\.|$)", x)]:
        del sys.modules[name]


def judged(mutant: Mutant, options: argparse.Namespace) -> dict[str, object]:
    """Return how a mutant ends, in the copy that we stand in: killed, left or slow."""
    end = "left"
    met: list[str] = []
    began = time.monotonic()
    for batch, planned in stages(mutant, options):
        met += batch
        mutant.path.write_text(mutated(mutant), encoding="utf-8")
        try:
            passed = ends_well(batch, 30 + 5 * planned)
        except TimeoutError:
            end = "slow"
            break
        except LookupError:
            shutil.copy2(ROOT / mutant.path, mutant.path)
            # It was the mutant, or this raises too.
            passed = not ends_well(batch, 300, options=["--collect-only"])
        finally:
            shutil.copy2(ROOT / mutant.path, mutant.path)
        if not passed:
            end = "killed"
            break
    return {
        "path": mutant.path.as_posix(),
        "line": mutant.line,
        "operator": mutant.operator,
        "occurrence": mutant.occurrence,
        "end": end,
        "tests": len(met),
        "last": met[-1] if met else "",
        "seconds": round(time.monotonic() - began, 1),
        "difference": difference(mutant),
    }


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
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="of tests that a mutant meets; default 120"
    )
    parser.add_argument(
        "--files", type=int, default=16, help="of tests that a mutant meets at most; default 16"
    )
    parser.add_argument(
        "--kept", type=Path, metavar="FOLDER", help="go on from there; for the same code and sample"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = options.kept.resolve() if options.kept else Path(folder) / "kept"
        options.kept = kept
        kept.mkdir(parents=True, exist_ok=True)
        drawn = sample(options.n, options.seed, options.only, kept)
        copies = [Path(folder) / str(job) for job in range(options.jobs)]
        places: dict[str, list[int]] = defaultdict(list)
        for copy in copies:
            for name in ("src", "tests"):
                shutil.copytree(ROOT / name, copy / name)
            for beside in ROOT.iterdir():  # tests read them
                if beside.name not in ("src", "tests") and not beside.name.startswith("."):
                    (copy / beside.name).symlink_to(beside)
            (copy / "probes").mkdir()
            shutil.copy2(ROOT / "tests/reached.py", copy / "probes/sitecustomize.py")
            for mutant in drawn:
                places[str(copy / mutant.path)].append(mutant.line)
        (Path(folder) / "places").write_text(json.dumps(places))
        os.environ[probes.PLACES] = f"{folder}/places"
        enter(copies[0])
        warm()
        fork = multiprocessing.get_context("fork")
        free = fork.SimpleQueue()
        for copy in copies:
            free.put(copy)
        with fork.Pool(options.jobs, lambda: enter(free.get())) as pool:
            results = kept / "results.jsonl"
            results.touch()
            ends = [json.loads(line) for line in results.read_text().splitlines()]
            done = {(x["path"], x["line"], x["operator"], x["occurrence"]) for x in ends}
            left = [
                x
                for x in drawn
                if (x.path.as_posix(), x.line, x.operator, x.occurrence) not in done
            ]
            judge = functools.partial(judged, options=options)
            for end in pool.imap_unordered(judge, left):
                ends.append(end)
                with results.open("a") as file:
                    file.write(json.dumps(end) + "\n")
                if len(ends) % 25 == 0:
                    print(f"{len(ends)}: {dict(Counter(x['end'] for x in ends))}", flush=True)
    for end in ends:
        if end["end"] != "killed":
            place = f"{end['path']}:{end['line']}"
            print(f"\n{end['end']}: {place} {end['operator']}\n{end['difference']}")
    print(f"\nof {len(drawn)}: {dict(Counter(x['end'] for x in ends))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
