"""The smallest form of a failing world: choices go back to plain while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.proving.games import Outcome, game
from tests.proving.judge import SURE
from tests.proving.rates import Rate
from tests.proving.world import World

GAMES = 8
"""Seeds that a world is played with where it fails by chance."""
LEAST = 0.4
"""The share of them in which it must fail: an audit at 95% fails so often in 1 of 3,000 tries."""


@dataclass(frozen=True)
class Shrunk:
    """A failing world in its smallest form."""

    world: World
    kind: str
    rate: Rate
    """Of the smallest form, over seeds; of one game where one shows it."""
    games: int
    """Worlds that were played to shrink it."""

    @property
    def by_chance(self) -> bool:
        """Whether other seeds of the world do not fail as it did."""
        return self.rate.failures < LEAST * self.rate.games

    def command(self) -> str:
        """Return the one command that replays it."""
        return f"python -m tests.proving --world '{self.world}'"


def shrink(
    world: World,
    kind: str,
    *,
    play: Callable[[World], Outcome] = game,
    sensible: Callable[[World], bool] = lambda world: True,
    n_games: int = GAMES,
) -> Shrunk:
    """Return the smallest form of a world that fails in the way `kind` says.

    Parameters
    ----------
    world : World
        One that failed.
    kind : str
        Of `judge.KINDS`; for `judge.SURE` one game of the world's own seed decides, for the others
        the share of seeds that fail.
    play, sensible
        How a world is played, and whether its choices go together.
    n_games : int
        Seeds of each form, at least 1.
    """
    seeds = [world.seed + i for i in range(1 if kind in SURE else n_games)]
    played = 0

    def failing(form: World) -> Rate:
        nonlocal played
        failures = 0
        for number, seed in enumerate(seeds, start=1):
            failures += play(form.but(seed=seed)).fails(kind)
            played += 1
            left = len(seeds) - number
            if failures + left < LEAST * len(seeds):
                break  # the rest cannot make up for it
        return Rate(failures, number)

    found = failing(world)
    if found.failures < LEAST * found.games:
        return Shrunk(world, kind, found, played)
    smaller = True
    while smaller:
        smaller = False
        for name in _order(world):
            form = world.but(**{name: None})
            if not sensible(form):
                continue
            again = failing(form)
            if again.games == len(seeds) and again.failures >= LEAST * again.games:
                world = form
                found = again
                smaller = True
    first = next((seed for seed in seeds if play(world.but(seed=seed)).fails(kind)), world.seed)
    return Shrunk(world.but(seed=first), kind, found, played)


def _order(world: World) -> Sequence[str]:
    """Return the choices to try, the last first: grammars name what matters most first."""
    return tuple(reversed(tuple(world.choices)))
