"""The same work by PrivacyGauge and by what a user would use today, in turns.

Each side has a process of its own; all of them share one core and one thread, and take turns.
A ratio is that of two neighbouring turns; shown are the median of the ratios and the extremes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _measure import show

from privacygauge.errors import InputError

HERE = Path(__file__).resolve().parent
PEERS = "PRIVACYGAUGE_PEERS"
"""The environment variable that names the folder of the peers' environments."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}


@dataclass(frozen=True)
class Side:
    """One way to do the work."""

    name: str
    """What a reader knows it by."""
    script: str
    """A file of this folder."""
    make: str
    """The function of it that returns the work, a call without arguments."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of that function."""
    peer: str = ""
    """The environment that it runs in; empty for PrivacyGauge's own."""
    share: float = 1.0
    """How much of the whole work it does: its time is divided by this."""


@dataclass(frozen=True)
class Duel:
    """One line of the table."""

    path: str
    """The hot path: lines of one path and one rival at several sizes make a curve."""
    size: int
    """How large the work is."""
    unit: str
    """What the size counts."""
    ours: Side
    """PrivacyGauge."""
    theirs: Side
    """What a user would use today."""
    goal: float | None = None
    """The ratio that was aimed at: theirs over ours."""
    turns: int = 3
    """Runs of each side, after one that warms up."""
    tolerance: float | None = None
    """The largest difference of the two sides' numbers; None where they are not the same."""
    note: str = ""
    """What a reader has to know to judge the ratio."""
    prepare: Callable[[], object] = list
    """Writes the files that the sides read; called when the duel is held."""
    whole: bool = False
    """Whether every turn is a process of its own, timed from its start: what a user waits for."""


@dataclass(frozen=True)
class Runs:
    """What the runs of one side took."""

    seconds: tuple[float, ...]
    """Wall time of each, of the whole work."""
    cpu: tuple[float, ...]
    """Processor time of each, of the whole work, children included."""
    peak: float
    """Most MiB of the process, its libraries included, its children not."""
    rise: float
    """Most MiB beyond what was held before the first run, libraries loaded and input read."""
    value: list[float] | None
    """The numbers of the last run."""


@dataclass(frozen=True)
class Outcome:
    """What came of a duel."""

    duel: Duel
    """What was compared."""
    ours: Runs | None
    """None where the other side failed."""
    theirs: Runs | None
    """None where the other side failed."""
    error: str = ""
    """Why there is no comparison, in one line."""

    def ratios(self, what: str = "seconds") -> np.ndarray:
        """Return theirs over ours of each turn."""
        return np.array(getattr(self.theirs, what)) / np.array(getattr(self.ours, what))

    def difference(self) -> float | None:
        """Return the largest difference of the numbers, None where they are not the same."""
        if self.duel.tolerance is None or self.ours is None or self.theirs is None:
            return None
        return float(np.abs(np.subtract(self.ours.value, self.theirs.value)).max())


class SideError(Exception):
    """A side could not be started, or failed."""


class Process:
    """A side at work."""

    def __init__(self, process: subprocess.Popen[str], errors: Path, share: float) -> None:
        self._process, self._errors, self._share = process, errors, share

    def answer(self) -> dict[str, Any]:
        """Return the next line, or raise with the last line that it wrote."""
        line = self._process.stdout.readline()
        if not line:
            said = self._errors.read_text(errors="replace").strip().splitlines()
            raise SideError(said[-1][:300] if said else "it ended without a word")
        return json.loads(line)

    def turn(self, how: str = "") -> dict[str, Any]:
        """Return one run, scaled to the whole work."""
        self._process.stdin.write(f"{how}\n")
        self._process.stdin.flush()
        found = self.answer()
        for what in ("seconds", "cpu"):
            found[what] /= self._share
        return found


def python_of(peer: str) -> str:
    """Return the interpreter of an environment."""
    if not peer:
        return sys.executable
    python = peers_folder() / peer / "bin" / "python"
    if not python.exists():
        raise SideError(f"not installed: python bench/peers/make.py {peer}")
    return str(python)


def peers_folder() -> Path:
    """Return where the peers' environments are."""
    return Path(os.environ.get(PEERS, HERE.parent / ".peers"))


@contextmanager
def started(side: Side) -> Iterator[Process]:
    """Start a side on one core, and end it."""
    command = [python_of(side.peer), str(HERE / "_side.py"), str(HERE / side.script), side.make]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), **QUIET}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # who starts anew compiles nothing again
    if side.peer:  # a peer sees no more of PrivacyGauge than its user would
        environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "errors.txt"
        with (
            errors.open("w") as said,
            subprocess.Popen(
                [*command, json.dumps(dict(side.arguments))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                env=environment,
                cwd=folder,
            ) as process,
        ):
            try:
                yield Process(process, errors, side.share)
            finally:
                process.kill()


@contextmanager
def at_work(side: Side, whole: bool) -> Iterator[Callable[[], dict[str, Any]]]:
    """Give what takes a turn: in one process for all of them, or in one each."""
    if whole:
        yield partial(from_start_on, side)
        return
    with started(side) as process:
        process.answer()
        yield process.turn


def from_start_on(side: Side) -> dict[str, Any]:
    """Return one run in a process of its own, its start and its imports included."""
    began = time.perf_counter()
    with started(side) as process:
        process.answer()
        found = process.turn("once")
        return found | {"seconds": time.perf_counter() - began, "cpu": found["since_start"]}


def held(duel: Duel) -> Outcome:
    """Return what came of both sides in turns, or why nothing did."""
    try:
        duel.prepare()
        with at_work(duel.ours, duel.whole) as ours, at_work(duel.theirs, duel.whole) as theirs:
            for turn in (ours, theirs):
                turn()  # imports and caches are warm
            pairs = [(ours(), theirs()) for _ in range(duel.turns)]
    except (SideError, InputError) as error:  # data may be missing
        return Outcome(duel, None, None, str(error))
    first, second = (runs(list(side)) for side in zip(*pairs, strict=True))
    return Outcome(duel, first, second)


def table_alone(what: str, duels: Callable[[Path, bool], Iterator[Duel]]) -> None:
    """Print the lines of one script, in full, where it is started by itself."""
    argparse.ArgumentParser(description=what).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for duel in duels(Path(folder), False):
            found = held(duel)
            told = found.error or f"{np.median(found.ratios()):.2f}"
            show([f"{duel.size:,} {duel.unit}, {duel.theirs.name} / ours: {told}"])


def runs(found: list[dict[str, Any]]) -> Runs:
    """Return what the turns of one side took."""
    return Runs(
        tuple(turn["seconds"] for turn in found),
        tuple(turn["cpu"] for turn in found),
        max(turn["peak"] for turn in found),
        max(turn["rise"] for turn in found),
        found[-1]["value"],
    )


def one_core() -> None:
    """Keep this process and all that it starts on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
