"""Many games of one world: how often it is found, told apart from chance, or left open."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.proving.games import Arena, play_world
from tests.proving.judge import STEPS, TRACEBACK, UNTOLD, told
from tests.proving.played import Oracle
from tests.proving.rates import Rate
from tests.proving.world import World, parse


@dataclass(frozen=True)
class Game:
    """One game of a cell."""

    world: str
    severity: str | None
    kinds: tuple[str, ...]
    """Of its findings, see `judge`."""
    oracle: Oracle | None


def cell(world: World, n_games: int, arena: Arena) -> list[Game]:
    """Return games of one world on the seeds that follow its own; no relations are tried."""
    seeds = range(world.seed, world.seed + n_games)
    return list(arena.each(_game, [str(world.but(seed=seed)) for seed in seeds]))


def _game(text: str) -> Game:
    with tempfile.TemporaryDirectory(prefix="proving-") as folder:
        home = Path(folder)
        outcome, _, truth = play_world(parse(text), home, relations=False)
        oracle = truth.oracle(home / "world") if truth.leak and truth.oracle else None
    kinds = tuple(finding.kind for finding in outcome.findings)
    return Game(text, outcome.severity, kinds, oracle)


def is_sure(oracle: Oracle) -> bool:
    """Whether who knows the plant finds it: the question's test on the very records, at 5%."""
    return oracle.low > 0.5 if oracle.question == "average" else (oracle.p or 0.0) < 0.05


def row(world: World, games: Sequence[Game]) -> str:
    """Return a Markdown row: the choices, and the shares of each outcome with exact intervals."""
    n = len(games)
    leak = sum(game.severity in STEPS[1:] for game in games)
    open_ = sum(game.severity == "cannot be told" for game in games)
    untold = sum(UNTOLD in game.kinds for game in games)
    refused = sum(game.severity is None for game in games)
    broken = sum(TRACEBACK in game.kinds for game in games)
    oracles = [game.oracle for game in games if game.oracle is not None]
    known = Rate(sum(map(is_sure, oracles)), len(oracles)) if oracles else ""
    choices = str(world).split(":", 2)[2] or "plain"
    return (
        f"| `{choices}` | {Rate(leak, n)} | {Rate(open_, n)}, {untold} untold | "
        f"{refused} refused, {broken} broken | {known} |"
    )


def details(games: Sequence[Game]) -> list[str]:
    """Return one line for each game whose verdict is wrong."""
    return [
        f"{game.world}: {game.severity}, {', '.join(game.kinds)}"
        + (f"; oracle {told(game.oracle)}" if game.oracle else "")
        for game in games
        if game.kinds
    ]
