"""Learning 1,000 records of Adult and drawing 1,000, by our generators and by other libraries.

One core, which all of them share in turns. Adult's 15 columns; ours know a schema of all its
complete records. The others run in environments of their own, which `bench/peers/make.py` makes.

- DataSynthesizer, correlated attribute mode, one parent a column: a Bayes network after PrivBayes,
  and without noise where epsilon is 0. It reads a CSV file, takes the ranges from it, and writes
  its network as JSON; the pool of processes that it starts for every column is left out.
- python-synthpop: one CART a column on ALL others, whose values are those of resampled records.
  Ours draws a column after the other, each given those drawn before, so that theirs could draw all
  at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _duel import Duel, Side, held, one_core
from _measure import show, timed

from privacygauge.datasets.public import CONTINUOUS, adult
from privacygauge.runs.threads import one_thread
from privacygauge.tables.generators.generator import BayNet, Generator, PrivBayes, SynthPop
from privacygauge.tables.table import Column, Schema, Table

REPEATS = 21
GOALS: tuple[tuple[Generator, float], ...] = (
    (BayNet(), 15.0),
    (PrivBayes(1.0), 15.0),
    (SynthPop(), 80.0),
)


@dataclass(frozen=True)
class Other:
    """A library, and what it is held against."""

    name: str
    """What it is called."""
    peer: str
    """Its environment and script."""
    ours: Generator
    """The nearest of ours."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of its script."""


def data_synthesizer(ours: Generator, epsilon: int) -> Other:
    """Return DataSynthesizer in one process."""
    noise = f"epsilon {epsilon}" if epsilon else "no noise"
    name = f"DataSynthesizer, {noise}, one process"
    return Other(name, "datasynthesizer", ours, {"epsilon": epsilon})


OTHERS = (
    data_synthesizer(BayNet(), 0),
    data_synthesizer(PrivBayes(1.0), 1),
    Other("python-synthpop, trees on codes", "synthpop", SynthPop()),
)


def people(n: int = 1_000) -> Table:
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
    rows = np.random.default_rng(0).choice(len(frame), n, replace=False)
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


def work(n: int, number: int) -> Callable[[], None]:
    """Return a call that learns n records and draws as many, by the generator with that number."""
    make = drawn(GOALS[number][0], people(n))

    def draw() -> None:
        make()

    return draw


def save(n: int, file: Path) -> None:
    """Write n people, once for all that read them."""
    if not file.exists():
        people(n).to_frame().to_csv(file, index=False)


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n in (1_000,) if quick else (500, 1_000, 2_000):
        file = folder / f"adult-{n}.csv"
        for other in OTHERS:
            if n != 1_000 and other.peer == "datasynthesizer":
                continue  # seconds a turn at any size
            number = [generator for generator, _ in GOALS].index(other.ours)
            given = {"file": str(file), **other.arguments}
            yield Duel(
                f"generator, {other.ours.name}",
                n,
                "records of Adult learnt and drawn",
                Side(other.ours.name, __file__, "work", {"n": n, "number": number}),
                Side(other.name, f"peers/{other.peer}.py", "draw", given, other.peer),
                turns=1 if other.peer == "datasynthesizer" else 2,
                prepare=partial(save, n, file),
            )


def peers() -> list[str]:
    """Return the lines of other libraries."""
    rows = ["other libraries / ours: ratios of turns, median (extremes)"]
    with tempfile.TemporaryDirectory() as folder:
        for duel in duels(Path(folder), quick=True):
            found = held(duel)
            name = f"  {duel.theirs.name} / {duel.ours.name}"
            if found.error:
                rows.append(f"{name} fails: {found.error}")
            else:
                low, middle, high = np.quantile(found.ratios(), (0.0, 0.5, 1.0))
                rows.append(f"{name}: {middle:.2f} ({low:.2f} to {high:.2f})")
    return rows


def main() -> None:
    """Print the tables."""
    one_core()
    with one_thread():
        show(ours(people()))
    show(peers())


if __name__ == "__main__":
    main()
