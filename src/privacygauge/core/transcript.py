"""Scores of an attack with the secrets, and guesses made from scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

TIED = "gives every record the same score, so it ranks nothing"
"""Reason to skip an attack whose scores are `tied`."""


def tied(score: Floats) -> bool:
    """Return whether all scores are equal, so that AUCs and rates are meaningless."""
    return bool((score == score.flat[0]).all()) if score.size else True


def _nothing() -> Ints:
    return np.empty(0, np.int64)


class _Rows:
    """Rows with a secret bit, a target and a unit each."""

    secret: Bools
    target: Ints
    unit: Ints

    def _check_rows(self, n: int) -> None:
        secret = checks.bools(self.secret, "secret", length=n)
        if secret.all() or not secret.any():
            which = "non-members" if n and secret.all() else "members"
            raise InputError(f"both members and non-members are needed, got no {which}")
        # Empty means not given: each row its own target, each target its own unit.
        target = np.arange(n) if len(self.target) == 0 else self.target
        object.__setattr__(self, "secret", secret)
        object.__setattr__(self, "target", checks.integers(target, "target", length=n))
        unit = self.target if len(self.unit) == 0 else self.unit
        object.__setattr__(self, "unit", checks.integers(unit, "unit", length=n))

    def __len__(self) -> int:
        return len(self.secret)

    @cached_property
    def n_in(self) -> int:
        """Number of rows of members."""
        return int(np.count_nonzero(self.secret))

    @property
    def n_out(self) -> int:
        """Number of rows of non-members."""
        return len(self) - self.n_in

    @cached_property
    def n_targets(self) -> int:
        """Number of distinct targets."""
        return checks.n_distinct(self.target)

    @cached_property
    def n_units(self) -> int:
        """Number of distinct units."""
        return checks.n_distinct(self.unit)

    @property
    def repeated(self) -> bool:
        """Whether some unit has several rows."""
        return self.n_units < len(self)

    @property
    def independent(self) -> tuple[int, int]:
        """Lower bounds on the effective numbers of independent member and non-member rows."""
        if not self.repeated:
            return self.n_in, self.n_out
        # As if all rows of a unit were alike: no true dependence leaves fewer independent rows.
        return units.worth(self.unit[self.secret]), units.worth(self.unit[~self.secret])


@dataclass(frozen=True, eq=False)
class Transcript(_Rows):
    """One row per target and round: the attack's score and the secret."""

    score: Floats
    """(m,) Score of each row; higher means more likely a member."""
    secret: Bools
    """(m,) True for a member."""
    target: Ints = field(default_factory=_nothing)
    """(m,) Index of the target of each row; default: 0..m-1."""
    round: Ints = field(default_factory=_nothing)
    """(m,) Round of the game; default: all 0."""
    unit: Ints = field(default_factory=_nothing)
    """(m,) Unit of each row, such as a person; rows of one unit are never treated as independent.
    Default: the target."""

    def __post_init__(self) -> None:
        score = checks.floats(self.score, "score")
        self._check_rows(len(score))
        rounds = np.zeros(len(score), np.int64) if len(self.round) == 0 else self.round
        object.__setattr__(self, "score", score)
        object.__setattr__(self, "round", checks.integers(rounds, "round", length=len(score)))

    def part(self, rows: Bools) -> Transcript:
        """Return some of the rows."""
        return Transcript(
            score=self.score[rows],
            secret=self.secret[rows],
            target=self.target[rows],
            round=self.round[rows],
            unit=self.unit[rows],
        )

    def decided(self, guess: Bools, rule: str) -> Decisions:
        """Return guesses about these rows, made by `rule`."""
        return Decisions(
            guess=guess, secret=self.secret, target=self.target, rule=rule, unit=self.unit
        )


@dataclass(frozen=True, eq=False)
class Decisions(_Rows):
    """Guesses by thresholds that were chosen on other rows."""

    guess: Bools
    """(m,) True where the adversary guesses "member"."""
    secret: Bools
    """(m,) True for a member."""
    target: Ints = field(default_factory=_nothing)
    """(m,) As in `Transcript`."""
    rule: str = "unnamed"
    """Rule that chose the threshold, as reports print it."""
    unit: Ints = field(default_factory=_nothing)
    """(m,) As in `Transcript`."""

    def __post_init__(self) -> None:
        guess = checks.bools(self.guess, "guess")
        self._check_rows(len(guess))
        object.__setattr__(self, "guess", guess)

    def __getitem__(self, rows: Bools) -> Decisions:
        """Return the guesses about the selected rows."""
        return Decisions(
            guess=self.guess[rows],
            secret=self.secret[rows],
            target=self.target[rows],
            rule=self.rule,
            unit=self.unit[rows],
        )

    @cached_property
    def true_positives(self) -> int:
        """Number of members that were guessed to be members."""
        return int(np.count_nonzero(self.guess & self.secret))

    @cached_property
    def false_positives(self) -> int:
        """Number of non-members that were guessed to be members."""
        return int(np.count_nonzero(self.guess & ~self.secret))


def unit_rounds(transcript: Transcript) -> tuple[Ints, Bools, Ints]:
    """Return the item of each row, and the bit and round of each item.

    An item is a unit in a round, so that a person never counts several times; rows of a unit on
    both sides of its round have item -1.
    """
    pair = np.unique(transcript.round, return_inverse=True)[1]
    units, unit = np.unique(transcript.unit, return_inverse=True)
    _, item = np.unique(pair * len(units) + unit, return_inverse=True)
    size = np.bincount(item)
    members = np.bincount(item, weights=transcript.secret)
    pure = (members == 0) | (members == size)
    # Items are renumbered without the mixed ones.
    number = np.where(pure, np.cumsum(pure) - 1, -1)
    first = np.unique(item, return_index=True)[1]
    return number[item], (members > 0)[pure], pair[first][pure]
