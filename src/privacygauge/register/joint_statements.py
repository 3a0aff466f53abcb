"""Joint level of several statements, by Bonferroni's inequality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A finding and the level at which it is stated."""

    name: str
    """Name of the audit or test that made the statement."""
    level: float | None
    """Level of the statement, in (0, 1); None if it was computed exactly."""
    looks: int = 1
    """Number of comparisons at that level from which this one was chosen, at least 1."""

    @property
    def risked(self) -> float:
        """Upper bound on the probability that the statement is wrong; 0 if it was computed."""
        return 0.0 if self.level is None else min(1.0, self.looks * (1 - self.level))


@dataclass(frozen=True)
class JointStatement:
    """Joint level of several statements, by Bonferroni's inequality."""

    level: float | None
    """Lower bound on the probability that all statements at a level hold; None if the inequality is
    vacuous or there is no such statement."""
    asked: float
    """Requested joint level, in (0, 1)."""
    needed: float | None
    """Level that each statement needs to reach `asked`; None without such statements."""
    names: tuple[str, ...]
    """Names of the statements at a level, without those that were computed."""


def joint_statement(found: Sequence[Statement], asked: float) -> JointStatement:
    """Return the joint level of statements, and the level each needs for the joint level `asked`.

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
