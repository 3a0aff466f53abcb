"""One game: a world is made, audited and judged in a folder of its own."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TypeVar

from tests.proving import judge
from tests.proving.judge import Finding
from tests.proving.played import Oracle, Played, Truth
from tests.proving.world import Grammar, Relation, World, parse

T = TypeVar("T")

DOMAINS = ("classifiers", "tables", "language", "claims", "leaderboards")
"""Names of the modules beside this one whose `DOMAIN` is a grammar, where they are there."""


@dataclass(frozen=True)
class Outcome:
    """What one game showed."""

    world: World
    leak: bool
    fair: bool
    severity: str | None
    """None where there was no report."""
    exit_code: int
    findings: tuple[Finding, ...]
    seconds: float

    def fails(self, kind: str) -> bool:
        """Whether a finding of this kind is among them."""
        return any(finding.kind == kind for finding in self.findings)

    def could(self, kind: str) -> bool:
        """Whether this game can show a failure of this kind at all."""
        if kind == judge.FALSE_ALARM:
            return not self.leak
        if kind in (judge.MISSED, judge.MILD):
            return self.leak
        return self.fair if kind == judge.UNTOLD else True


@dataclass(frozen=True)
class Replay:
    """One game with everything that it said."""

    outcome: Outcome
    played: Played
    truth: Truth
    oracle: Oracle | None


def domain(name: str) -> Grammar:
    """Return the grammar of a domain by its name."""
    if name not in DOMAINS:
        raise ValueError(f"domains are {', '.join(DOMAINS)}, got {name!r}")
    found: Grammar = importlib.import_module(f"tests.proving.{name}").DOMAIN
    return found


def game(world: World, *, relations: bool = True) -> Outcome:
    """Return what one game showed, one of the domain's relations with it."""
    with tempfile.TemporaryDirectory(prefix="proving-") as folder:
        return play_world(world, Path(folder), relations=relations)[0]


def replay(world: World, folder: Path) -> Replay:
    """Return one game with everything that it said, and leave its files in the folder."""
    outcome, played, truth = play_world(world, folder, relations=True)
    oracle = None if truth.oracle is None else truth.oracle(folder / "world")
    return Replay(outcome, played, truth, oracle)


def play_world(world: World, folder: Path, *, relations: bool) -> tuple[Outcome, Played, Truth]:
    """Return one game, what the command said and the truth; its files stay in the folder."""
    grammar = domain(world.domain)
    world = grammar.world(world.seed, world.choices)
    truth = grammar.truth(world)
    home = folder / "world"
    home.mkdir(parents=True, exist_ok=True)
    played = grammar.play(world, home)
    found = judge.judged(played, truth, home, grammar)
    seconds = played.seconds
    other = _related(grammar, world) if relations and played.report is not None else None
    if other is not None:
        relation, changed = other
        further = folder / "related"
        further.mkdir(exist_ok=True)
        again = grammar.play(changed, further)
        seconds += again.seconds
        found += judge.kept(relation, played, again)
    outcome = Outcome(
        world, truth.leak, truth.fair, played.severity, played.exit_code, tuple(found), seconds
    )
    return outcome, played, truth


def _related(grammar: Grammar, world: World) -> tuple[Relation, World] | None:
    """Return a relation that holds for the world, and the changed world.

    The seed orders them, so that a world keeps its relation while it is shrunk.
    """
    for number in world.rng("relation").permutation(len(grammar.relations)):
        relation = grammar.relations[number]
        other = grammar.world(world.seed, {**world.choices, **relation.change})
        if relation.applies(world) and grammar.sensible(other):
            return relation, other
    return None


class Arena:
    """Where worlds are played: this process, or several beside it for as long as it is open."""

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        # Fresh interpreters: a fork would share the threads of libraries that are loaded already.
        self._pool = (
            ProcessPoolExecutor(processes, get_context("spawn"), initializer=_end_with_pools)
            if processes > 1
            else None
        )

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def games(self, worlds: Iterable[World]) -> Iterator[Outcome]:
        """Yield the outcomes of worlds, in their order."""
        return self.each(_of_text, map(str, worlds))

    def each(self, function: Callable[[str], T], texts: Iterable[str]) -> Iterator[T]:
        """Yield what a function of a module returns of each text, in their order."""
        return map(function, texts) if self._pool is None else self._pool.map(function, texts)


def _end_with_pools() -> None:
    """Let a process stop the workers that audits started in it, which idle for minutes, at its end.

    joblib stops them at the exit of an interpreter, which a process of a pool never comes to.
    """

    def stop() -> None:
        if "joblib.externals.loky.reusable_executor" in sys.modules:
            from joblib.externals.loky import reusable_executor

            if reusable_executor._executor is not None:
                reusable_executor._executor.shutdown(kill_workers=True)

    # Finalizers come before a process waits for those that it started.
    Finalize(None, stop, exitpriority=1)


def _of_text(text: str) -> Outcome:
    return game(parse(text))
