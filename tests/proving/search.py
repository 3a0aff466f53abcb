"""The search for what fails: one game per world, then what is suspicious again.

What one game shows (a traceback, a refusal, a contradiction) is shrunk at once. For what fails by
rate, suspects are sought: values of factors, then pairs among what these do not explain, whose
worlds fail more often than an audit may by chance. They are played again alone, in worlds that are
plain but for them, by successive halving, until their rate is surely above what is allowed.
Failures that no guilty suspect explains are shrunk in the time that is left.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice
from types import MappingProxyType

import numpy as np

from tests.proving.games import Arena, Outcome
from tests.proving.judge import KINDS, SURE
from tests.proving.rates import Rate, rate
from tests.proving.shrink import Shrunk, shrink
from tests.proving.world import Grammar, World

ALLOWED = 0.05
"""The rate of failures that an audit at 95% may have by chance."""
_EXPLORED = 0.5
_SHRUNK = 0.62
_SINGLES = 0.76
_PAIRS = 0.9
"""Ends of the parts, as shares of the time: each world once, what one game shows, suspects."""
_SUSPECTS = 16
"""Of each kind of form: single choices, then pairs."""
_CHANCE = 0.05 / (2 * _SUSPECTS)
_FIRST = 4
"""Games of a suspect in the first round; twice as many in each further one."""
_MOST = 64
_SURPRISE = 0.25
"""The largest p-value of a suspect, that its worlds fail as often as they may."""

Pinned = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Suspect:
    """Choices that may make worlds fail in one way, and what they showed when played again."""

    kind: str
    pinned: Pinned
    seen: Rate
    """Among the worlds that were drawn."""
    again: Rate = field(default_factory=lambda: Rate(0, 0))
    """Alone, on fresh seeds."""
    example: World | None = None
    """The first of these that failed."""

    @property
    def is_guilty(self) -> bool:
        """Whether the rate is above what chance is allowed, although there are many suspects."""
        return self.again.beyond(ALLOWED) < _CHANCE

    def __str__(self) -> str:
        choices = ", ".join(f"{name}={value}" for name, value in self.pinned)
        return f"{self.kind} with {choices}: seen {self.seen}; played again {self.again}"


@dataclass(frozen=True)
class Searched:
    """What a search found."""

    outcomes: tuple[Outcome, ...]
    """One per world that was drawn."""
    suspects: tuple[Suspect, ...]
    smallest: tuple[Shrunk, ...]

    def first(self, found: Shrunk) -> int | None:
        """Return how many worlds were drawn until one failed that has a smallest form in it."""
        for number, outcome in enumerate(self.outcomes, start=1):
            if outcome.fails(found.kind) and _holds(found, outcome.world, found.kind):
                return number
        return None


def drawn(
    grammar: Grammar, seed: int, pinned: Mapping[str, str] = MappingProxyType({})
) -> Iterator[World]:
    """Yield worlds of a seed without end, some of whose choices may be pinned."""
    rng = np.random.default_rng(seed)
    while True:
        yield grammar.draw(rng, **pinned)


def search(
    grammar: Grammar,
    *,
    seed: int,
    minutes: float,
    arena: Arena,
    pinned: Mapping[str, str] = MappingProxyType({}),
    heard: Callable[[Outcome], None] = lambda outcome: None,
    say: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
) -> Searched:
    """Return what fails in the worlds that a time allows.

    Parameters
    ----------
    grammar : Grammar
    seed : int
        Of the worlds that are drawn.
    minutes : float
        Half of them for worlds once, the other half for shrinking and for suspects.
    arena : Arena
        Where worlds are played.
    pinned : mapping of str to str
        Choices that all drawn worlds have.
    heard, say : callable
        Called with every outcome of a drawn world, and with lines that say how far the search is.
    clock : callable
        Returns seconds.
    """
    start = clock()

    def is_over(share: float) -> bool:
        return clock() > start + 60 * minutes * share

    outcomes: list[Outcome] = []
    batch = 1 if arena.processes == 1 else 8 * arena.processes
    worlds = drawn(grammar, seed, pinned)
    while not is_over(_EXPLORED):
        for outcome in arena.games(islice(worlds, batch)):
            outcomes.append(outcome)
            heard(outcome)
    say(f"{len(outcomes)} worlds once")
    smallest: list[Shrunk] = []

    def shrink_all(failures: Iterator[tuple[Outcome, str]], end: float) -> None:
        for outcome, kind in failures:
            if is_over(end):
                return
            if any(_holds(known, outcome.world, kind) for known in smallest):
                continue
            found = shrink(outcome.world, kind, sensible=grammar.sensible)
            if not found.by_chance:
                smallest.append(found)
                say(f"{kind}, {found.rate}: {found.command()}")

    shrink_all(_sure(outcomes), _SHRUNK)
    suspects: list[Suspect] = []
    for size, end in ((1, _SINGLES), (2, _PAIRS)):
        open_still = [
            outcome
            for outcome in outcomes
            if not any(
                _holds(known, outcome.world, finding.kind)
                for known in smallest
                for finding in outcome.findings
            )
        ]
        found = halved(
            grammar,
            suspicious(open_still, grammar, size),
            seed,
            arena,
            partial(is_over, end),
        )
        suspects += found
        for suspect in found:
            say(f"{'GUILTY ' if suspect.is_guilty else ''}{suspect}")
            if suspect.is_guilty and suspect.example is not None:
                smallest.append(
                    Shrunk(suspect.example, suspect.kind, suspect.again, suspect.again.games)
                )
                say(f"{suspect.kind}, {suspect.again}: {smallest[-1].command()}")
    shrink_all(_by_rate(outcomes), 1.0)
    return Searched(tuple(outcomes), tuple(suspects), tuple(smallest))


def suspicious(outcomes: Sequence[Outcome], grammar: Grammar, size: int) -> list[Suspect]:
    """Return so many choices whose worlds fail too often together, the surest first."""
    found: list[tuple[float, Suspect]] = []
    for kind in (kind for kind in KINDS if kind not in SURE):
        could = [outcome for outcome in outcomes if outcome.could(kind)]
        groups = {
            pinned
            for outcome in could
            if outcome.fails(kind)
            for pinned in combinations(outcome.world.choices.items(), size)
        }
        for pinned in groups:
            if not _can_show(grammar, kind, pinned):
                continue
            seen = rate([one for one in could if set(pinned) <= one.world.choices.items()], kind)
            surprise = seen.beyond(ALLOWED)
            if surprise < _SURPRISE:
                found.append((surprise, Suspect(kind, pinned, seen)))
    found.sort(key=lambda pair: (pair[0], pair[1].kind, pair[1].pinned))
    return [suspect for _, suspect in found[:_SUSPECTS]]


def _can_show(grammar: Grammar, kind: str, pinned: Pinned) -> bool:
    """Whether a world with these choices alone makes sense, and can fail in this way."""
    world = grammar.world(0, dict(pinned))
    if not grammar.sensible(world) or len(world.choices) < len(pinned):
        return False
    truth = grammar.truth(world)
    return Outcome(world, truth.leak, truth.fair, None, 0, (), 0.0).could(kind)


def halved(
    grammar: Grammar,
    suspects: Sequence[Suspect],
    seed: int,
    arena: Arena,
    is_over: Callable[[], bool],
) -> list[Suspect]:
    """Return suspects after they were played again, by successive halving.

    In each round those that never failed and the half with the lower rates are left as they are,
    and the others are played twice as often as before; the guilty are done.
    """
    left = list(suspects)
    done: list[Suspect] = []
    n_games = _FIRST
    while left and n_games <= _MOST:
        played = []
        for number, suspect in enumerate(left):
            if is_over():
                return _ordered([*done, *played, *left[number:]])
            seeds = np.random.default_rng([seed, n_games, number]).integers(1 << 31, size=n_games)
            worlds = [grammar.world(int(one), dict(suspect.pinned)) for one in seeds]
            outcomes = list(arena.games(worlds))
            new = rate(outcomes, suspect.kind)
            total = Rate(suspect.again.failures + new.failures, suspect.again.games + new.games)
            failed = next((one.world for one in outcomes if one.fails(suspect.kind)), None)
            played.append(replace(suspect, again=total, example=suspect.example or failed))
        done += [one for one in played if one.is_guilty or not one.again.failures]
        open_still = _ordered([one for one in played if one not in done])
        keep = (len(open_still) + 1) // 2
        done += open_still[keep:]
        left = open_still[:keep]
        n_games *= 2
    return _ordered([*done, *left])


def _ordered(suspects: Sequence[Suspect]) -> list[Suspect]:
    return sorted(suspects, key=lambda one: -one.again.interval()[0] if one.again.games else 0.0)


def _sure(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, str]]:
    """Yield failures that one game shows, those that say the same once."""
    known = set()
    for outcome in outcomes:
        for finding in outcome.findings:
            said = (finding.kind, re.sub(r"\S*/\S*|\d+", "", finding.detail)[:80])
            if finding.kind in SURE and said not in known:
                known.add(said)
                yield outcome, finding.kind


def _by_rate(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, str]]:
    for outcome in outcomes:
        for kind in sorted({finding.kind for finding in outcome.findings} - SURE):
            yield outcome, kind


def _holds(found: Shrunk, world: World, kind: str) -> bool:
    """Whether a smallest form's choices are all among those of a world that fails alike."""
    return found.kind == kind and found.world.choices.items() <= world.choices.items()
