"""Learning 1,000 records of Adult and drawing 1,000, by our generators and by other libraries.

One core, which all of them share in turns. Adult's 15 columns; ours know a schema of all its
complete records. The others run in an interpreter of their own, which LEAKSCOPE_PEERS names:

    python -m venv peers && peers/bin/pip install DataSynthesizer python-synthpop arfpy
    LEAKSCOPE_PEERS=peers/bin/python python bench/generators.py

- DataSynthesizer, correlated attribute mode, one parent a column: a Bayes network after PrivBayes,
  and without noise where epsilon is 0. It reads a CSV file, takes the ranges from it, starts a pool
  of processes for every column (a second row is without them) and writes its network as JSON.
- python-synthpop: one CART a column on ALL others, whose values are those of resampled records.
  Ours draws a column after the other, each given those drawn before, so that theirs could draw all
  at once.
- arfpy: an adversarial random forest; nothing of ours is like it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from _measure import Timed, ratio_row, show, timed

from leakscope.datasets.adult import CONTINUOUS, adult
from leakscope.runs.threads import one_thread
from leakscope.synthetic.generators.generator import BayNet, Generator, PrivBayes, SynthPop
from leakscope.synthetic.schema import Column, Schema
from leakscope.synthetic.table import Table

REPEATS = 21
REPEATS_OF_PEERS = 5
GOALS: tuple[tuple[Generator, float], ...] = (
    (BayNet(), 15.0),
    (PrivBayes(1.0), 15.0),
    (SynthPop(), 80.0),
)
BESIDE = {
    "DataSynthesizer epsilon=0": BayNet(),
    "DataSynthesizer epsilon=0, one process": BayNet(),
    "DataSynthesizer epsilon=1": PrivBayes(1.0),
    "DataSynthesizer epsilon=1, one process": PrivBayes(1.0),
    "python-synthpop": SynthPop(),
    "python-synthpop, trees on codes": SynthPop(),
    "arfpy": SynthPop(),
}
"""Other libraries, and what they are held against."""


def people() -> Table:
    frame = adult()
    frame = frame[~(frame == "?").any(axis=1)].reset_index(drop=True)
    columns, values = [], []
    for name in frame.columns:
        found = frame[name].to_numpy()
        if name in CONTINUOUS:
            columns.append(Column(name, "integer", float(found.min()), float(found.max())))
            values.append(found.astype(float))
        else:
            texts, codes = np.unique(found.astype(str), return_inverse=True)
            columns.append(Column(name, "categorical", categories=tuple(texts.tolist())))
            values.append(codes.astype(float))
    rows = np.random.default_rng(0).choice(len(frame), 1_000, replace=False)
    return Table(Schema(tuple(columns)), np.column_stack(values)[rows])


def drawn(generator: Generator, table: Table) -> Callable[[], Table]:
    """Return a call that learns the table and draws as many records."""
    return partial(generator.generate, table, len(table), np.random.default_rng(0))


def ours(table: Table) -> list[str]:
    """Return the lines of our generators."""
    rows = [f"ours: medians (least to most) of {REPEATS}"]
    for generator, goal in GOALS:
        spent = 1e3 * timed(drawn(generator, table), REPEATS).seconds
        low, middle, high = np.quantile(spent, (0.0, 0.5, 1.0))
        rows.append(
            f"  {generator.name}: {middle:.1f} ms ({low:.1f} to {high:.1f}; goal {goal:.0f})"
        )
    return rows


@dataclass(frozen=True)
class Peer:
    """A library in an interpreter of its own, which answers each line with its seconds."""

    process: subprocess.Popen[str]
    errors: Path

    def ready(self) -> bool:
        """Return whether it could be started."""
        return self._answer() == "ready"

    def seconds(self) -> float | None:
        """Return how long it takes once, None where it fails."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self._answer()
        return float(answer) if answer else None

    def _answer(self) -> str:
        return self.process.stdout.readline().strip()

    def why(self) -> str:
        """Return the last line of what it had to say."""
        return (self.errors.read_text().strip().splitlines() or ["nothing was said"])[-1]


@contextmanager
def peer(python: str, name: str, file: Path) -> Iterator[Peer]:
    """Start a library, and end it."""
    script, errors = Path(__file__).with_name("_peer_generators.py"), file.with_name("errors.txt")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with errors.open("w") as said:
        process = subprocess.Popen([python, str(script), name, str(file)], **pipes, stderr=said)
    with process:
        yield Peer(process, errors)
        process.stdin.close()


def beside(python: str, name: str, table: Table, file: Path) -> str:
    """Return the line of a library: its time over ours, taken in turns."""
    mine = drawn(BESIDE[name], table)
    with peer(python, name, file) as theirs:
        if not theirs.ready() or theirs.seconds() is None:  # imports and caches are warm
            theirs.process.wait()
            return f"  {name} fails: {theirs.why()}"
        pairs = [(theirs.seconds(), timed(mine, 1).seconds[0]) for _ in range(REPEATS_OF_PEERS)]
    them, us = (Timed(None, np.array(seconds)) for seconds in zip(*pairs, strict=True))
    return "  " + ratio_row(f"{name} / {BESIDE[name].name}", them, us, "no goal")


def peers(table: Table) -> list[str]:
    """Return the lines of other libraries."""
    python = os.environ.get("LEAKSCOPE_PEERS")
    if not python:
        return ["other libraries: skipped, LEAKSCOPE_PEERS names no interpreter that has them"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "adult.csv"
        table.to_frame().to_csv(file, index=False)
        rows = [beside(python, name, table, file) for name in BESIDE]
    return [f"other libraries / ours: ratios of medians (extremes) of {REPEATS_OF_PEERS}", *rows]


def main() -> None:
    """Print the tables."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the others inherit it
    table = people()
    with one_thread():
        show(ours(table))
        show(peers(table))


if __name__ == "__main__":
    main()
