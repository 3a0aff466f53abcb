"""Worlds of known truth: what they are composed of, and their text form.

A world is a domain, a seed and a choice for each of the domain's factors. Data are drawn by role
from the seed alone, never from the choices: two worlds that differ in one choice share every draw
that this choice does not touch, so that a failing world can be shrunk factor by factor.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import numpy as np

from tests.proving.played import Played, Truth

_TEXT = re.compile(r"(?P<domain>[\w-]+):(?P<seed>\d+):(?P<choices>.*)", re.DOTALL)
_NAME = re.compile(r"[^=,:\s]+")


@dataclass(frozen=True)
class Factor:
    """One thing that differs from world to world, whatever the other factors say."""

    name: str
    values: tuple[str, ...]
    """All values, the plain one among them; no comma, colon, equals sign or space in them."""
    plain: str
    """The harmless value, to which a failing world is shrunk."""
    chance: float = 0.1
    """The probability that a drawn world has another value than the plain one."""
    weights: tuple[float, ...] | None = None
    """Of the values other than the plain one, in their order; None where they are equal."""
    about: str = ""
    """What differs, in words for the page."""

    def __post_init__(self) -> None:
        if self.plain not in self.values or len(set(self.values)) != len(self.values):
            raise ValueError(f"{self.name}: the plain value must be one of different values")
        for text in (self.name, *self.values):
            if not _NAME.fullmatch(text):
                raise ValueError(f"{self.name}: {text!r} cannot stand in the text of a world")
        if self.weights is not None and len(self.weights) != len(self.others):
            raise ValueError(f"{self.name}: one weight per value that is not plain")

    @property
    def others(self) -> tuple[str, ...]:
        """The values that are not plain."""
        return tuple(value for value in self.values if value != self.plain)

    def draw(self, rng: np.random.Generator) -> str:
        """Return the plain value, or with probability `chance` another one."""
        if not self.others or rng.random() >= self.chance:
            return self.plain
        weights = np.array(self.weights or np.ones(len(self.others)), float)
        return str(rng.choice(self.others, p=weights / weights.sum()))


@dataclass(frozen=True)
class World:
    """A world: the choices that are not plain, and the seed of everything that is drawn."""

    domain: str
    seed: int
    choices: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", MappingProxyType(dict(self.choices)))

    def __str__(self) -> str:
        said = ",".join(f"{name}={value}" for name, value in self.choices.items())
        return f"{self.domain}:{self.seed}:{said}"

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        return World, (self.domain, self.seed, dict(self.choices))

    def rng(self, role: str) -> np.random.Generator:
        """Return the generator of one role, such as "labels": the same whatever was chosen."""
        words = (zlib.crc32(self.domain.encode()), zlib.crc32(role.encode()))
        return np.random.default_rng([self.seed, *words])

    def but(self, seed: int | None = None, **choices: str | None) -> World:
        """Return the same world with other choices (None for the plain one) or another seed."""
        changed = {**self.choices, **choices}
        left = {name: value for name, value in changed.items() if value is not None}
        return World(self.domain, self.seed if seed is None else seed, left)


def parse(text: str) -> World:
    """Return the world of a text such as ``classifiers:17:release=level,n=200``."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"a world is DOMAIN:SEED:FACTOR=VALUE,..., got {text!r}")
    pairs = [part.partition("=") for part in found["choices"].split(",") if part]
    return World(found["domain"], int(found["seed"]), {name: value for name, _, value in pairs})


@dataclass(frozen=True)
class Relation:
    """A change of a world after which the verdict must stay what it was."""

    name: str
    change: Mapping[str, str]
    """Choices to make; none for the same audit once more."""
    keeps: str
    """``everything``: grade and measures; ``everything or refused`` (or "cannot be told");
    ``grade``: the grade, but for one step where halves are drawn anew; ``leak``: a leak that is at
    least moderate is not turned into "nothing found"."""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Choices that a world must have, of several values each, for the relation to hold."""

    def applies(self, world: World) -> bool:
        """Whether the world has the choices that the relation needs, the plain ones left out."""
        return all(world.choices.get(name, "") in values for name, values in self.where.items())


class Domain(Protocol):
    """One kind of audit: its factors, and how a world of them is played."""

    name: str
    factors: tuple[Factor, ...]

    def draw(self, rng: np.random.Generator) -> World: ...

    def sensible(self, world: World) -> bool: ...

    def play(self, world: World, folder: Path) -> Played: ...

    def truth(self, world: World) -> Truth: ...


class Grammar:
    """What all domains share; a domain adds `play` and `truth`."""

    name: str
    factors: tuple[Factor, ...]
    relations: tuple[Relation, ...] = ()
    """Changes that need no truth; see `judge.kept`."""
    core: tuple[str, ...] = ()
    """Factors that decide which values of the others make sense; see `draw`."""

    def draw(self, rng: np.random.Generator, **pinned: str) -> World:
        """Return a world with independent choices, some of them pinned, that makes sense.

        Choices of `core` are kept while the others are drawn again, so that what goes with little
        else is not rejected away.
        """
        for _ in range(100):
            core = {f.name: f.draw(rng) for f in self.factors if f.name in self.core}
            for _ in range(50):
                seed = int(rng.integers(1 << 31))
                others = {f.name: f.draw(rng) for f in self.factors if f.name not in self.core}
                world = self.world(seed, {**core, **others, **pinned})
                if self.sensible(world):
                    return world
        raise ValueError(f"{self.name}: no sensible world with {pinned}")

    def world(self, seed: int, choices: Mapping[str, str]) -> World:
        """Return a world after its choices were checked; plain and idle ones are left out."""
        known = {factor.name: factor for factor in self.factors}
        for name, value in choices.items():
            if name not in known or value not in known[name].values:
                raise ValueError(f"{self.name} has no {name}={value}")
        kept = {
            factor.name: choices[factor.name]
            for factor in self.factors
            if choices.get(factor.name, factor.plain) != factor.plain
        }
        idle = self.idle({factor.name: factor.plain for factor in self.factors} | kept)
        return World(self.name, seed, {k: v for k, v in kept.items() if k not in idle})

    def idle(self, chosen: Mapping[str, str]) -> Collection[str]:
        """Return the factors that have no effect beside the other choices, all of which are given.

        They are left out of a world, so that its text says what made it and rates blame no
        bystander.
        """
        return ()

    def chosen(self, world: World) -> dict[str, str]:
        """Return the choice for every factor, the plain ones too."""
        return {factor.name: factor.plain for factor in self.factors} | dict(world.choices)

    def sensible(self, world: World) -> bool:
        """Whether the choices go together."""
        return True

    def play(self, world: World, folder: Path) -> Played:
        """Write what a user has below `folder`, audit it by the public command, and return that."""
        raise NotImplementedError

    def truth(self, world: World) -> Truth:
        """Return what is known of the world by construction."""
        raise NotImplementedError

    def contradictions(self, report: Mapping[str, object]) -> Sequence[str]:
        """Return what the report says against itself, beyond what `judge` looks at in all kinds."""
        return ()
