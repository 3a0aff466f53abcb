"""Several statements at a level: what holds for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """Something that was found, with what it is said to hold at."""

    name: str
    """What found it is called."""
    level: float | None
    """It holds at least as often; None where it was computed, and is not in doubt."""
    looks: int = 1
    """Among so many numbers, each at that level, this one was chosen."""

    @property
    def risked(self) -> float:
        """The probability, at most, that it is wrong; 0 where it was computed."""
        return 0.0 if self.level is None else min(1.0, self.looks * (1 - self.level))


@dataclass(frozen=True)
class JointStatement:
    """What holds for all statements at once, by Bonferroni's inequality."""

    level: float | None
    """All statements at a level hold together with at least this probability; None where the
    inequality leaves nothing, or where there is no such statement."""
    asked: float
    """The level that all of them are wanted to hold at."""
    needed: float | None
    """The level that each has to be made at for that; None without such statements."""
    names: tuple[str, ...]
    """What made a statement at a level; the others were computed."""


def joint_statement(found: Sequence[Statement], asked: float) -> JointStatement:
    """Return what holds for all statements at once, wanted to hold at the level `asked`.

    Examples
    --------
    >>> both = joint_statement(
    ...     [Statement("a", 0.95), Statement("b", 0.99), Statement("c", None)], 0.9
    ... )
    >>> round(both.level, 2), round(both.needed, 2), both.names
    (0.94, 0.95, ('a', 'b'))
    """
    at_level = [x for x in found if x.level is not None]
    if not at_level:
        return JointStatement(None, asked, None, ())
    risked = sum(x.risked for x in at_level)
    looks = sum(x.looks for x in at_level)
    left = 1 - risked if risked < 1 else None
    return JointStatement(left, asked, 1 - (1 - asked) / looks, tuple(x.name for x in at_level))
