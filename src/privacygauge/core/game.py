"""The parts of every audit: rounds, observations, attacks and rules.

A challenger draws a secret bit for every target and deals rounds; the adversary gets an
`Observation` and returns `Scores`; a rule turns scores into guesses. Attacks never see the secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.release import Worlds
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class Shadow:
    """Records with known membership, and their signals from the adversary's own model."""

    signals: Mapping[str, Floats]
    """(s,) values by signal name; higher means more likely a member."""
    member: Bools
    """(s,) True for a record that the adversary's model was trained on."""
    stratum: Ints
    """(s,) Group in which signals are comparable, such as the class label."""
    unit: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """(s,) Unit of each record; default: every record is its own unit."""

    def __post_init__(self) -> None:
        member = checks.bools(self.member, "member")
        n = len(member)
        unit = np.arange(n) if len(self.unit) == 0 else self.unit
        object.__setattr__(self, "member", member)
        object.__setattr__(self, "unit", checks.integers(unit, "unit", length=n))
        object.__setattr__(self, "stratum", checks.classes(self.stratum, "stratum", length=n))
        object.__setattr__(self, "signals", _signals(self.signals, n))
        if member.all() or not member.any():
            raise InputError("shadow records must hold both members and non-members")


@dataclass(frozen=True, eq=False)
class Observation:
    """The adversary's view of every target, without the secret."""

    signals: Mapping[str, Floats]
    """(n,) values by signal name; higher means more likely a member."""
    stratum: Ints
    """(n,) Group in which signals are comparable, such as the class label."""
    shadow: Shadow | None = None
    """Records with known membership, to learn thresholds and posteriors; None if there are none."""
    worlds: Worlds | None = None
    """The adversary's own models, each trained on the targets that coin flips put in; None if there
    are none."""

    def __post_init__(self) -> None:
        stratum = checks.classes(self.stratum, "stratum")
        object.__setattr__(self, "stratum", stratum)
        object.__setattr__(self, "signals", _signals(self.signals, len(stratum)))

    def __len__(self) -> int:
        return len(self.stratum)

    @property
    def n_classes(self) -> int:
        """One more than the largest class among targets and shadow records, at least 1."""
        # A class that only shadow records have needs a threshold too: arrays go by class number.
        known = 0 if self.shadow is None else int(self.shadow.stratum.max())
        return 1 + max(known, int(self.stratum.max(initial=0)))

    def shadow_with(self, signal: str, attack: str) -> Shadow | Skipped:
        """Return the shadow records if both they and the targets have `signal`, else `Skipped`."""
        if self.shadow is None:
            return Skipped(attack, "needs shadow records with known membership")
        if signal not in self.signals or signal not in self.shadow.signals:
            return Skipped(attack, f"the observation has no signal {signal!r}")
        return self.shadow


@dataclass(frozen=True, eq=False)
class Round:
    """One play of a game: the observation and the secret."""

    observation: Observation
    """The adversary's view."""
    secret: Bools
    """(n,) True for a member; hidden from the attack."""
    target: Ints
    """(n,) Index of the target of each row."""
    unit: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """(n,) Unit of each row, as in `Transcript`; default: the target."""

    def __post_init__(self) -> None:
        n = len(self.observation)
        object.__setattr__(self, "secret", checks.bools(self.secret, "secret", length=n))
        object.__setattr__(self, "target", checks.integers(self.target, "target", length=n))
        unit = self.target if len(self.unit) == 0 else self.unit
        object.__setattr__(self, "unit", checks.integers(unit, "unit", length=n))


MANY_UNITS = 20
"""Units from which on equal counts in all of them cannot come from fair coins."""


def rounds_of_models(
    name: str,
    signal: Floats,
    inside: Bools,
    *,
    n_worlds: int | None = None,
    target: Ints | None = None,
    unit: Ints | None = None,
) -> tuple[Round, ...]:
    """Return one round per target model, with the other models as the adversary's worlds.

    Parameters
    ----------
    name : str
        Name of the signal.
    signal : ndarray of float, shape (k, n)
        Signals of n records from k >= 2 models; higher means more likely a member.
    inside : ndarray of bool, shape (k, n)
        True where the model was trained on the record, by independent fair coins.
    n_worlds : int, optional
        Number of leading models that are the adversary's own; each of the others is the target of
        one round. Default: ``k // 2``.
    target : ndarray of int, shape (n,), optional
        Index of the record of each column; default: 0..n-1.
    unit : ndarray of int, shape (n,), optional
        Unit of each record, as in `Transcript`.

    Returns
    -------
    tuple of Round

    Raises
    ------
    InputError
        If there are too few models, a target model was trained on all or none of the records, or
        all records are in equally many models: the count in the other models would reveal the bit.

    Notes
    -----
    No model is both a target and a world. If each were the target of all others, rounds would
    depend on each other beyond their units for attacks that learn parameters from all records
    together, such as BaVarIA's gap between the groups, and intervals over all rounds would be too
    narrow.
    """
    k = len(signal)
    own = k // 2 if n_worlds is None else n_worlds
    if k < 2 or not 1 <= own < k:
        raise InputError(
            f"at least one of the models must be a world and one a target, got {own} worlds and "
            f"{k - own} targets"
        )
    # A target model with all records, or none, has no secret.
    one_sided = np.flatnonzero(inside.all(axis=1) | ~inside.any(axis=1))
    for number in one_sided[one_sided >= own].tolist():
        which = "all" if inside[number].all() else "none"
        raise InputError(f"model {number} was trained on {which} of the records: leave it out")
    # Equal counts come from exact halves: fair coins give them in 20 units hardly ever.
    counts = inside.sum(axis=0)
    n_units = inside.shape[1] if unit is None else checks.n_distinct(unit)
    if n_units >= MANY_UNITS and np.ptp(counts) == 0:
        raise InputError(
            f"each record is in exactly {counts[0]} of the {k} models, so that the "
            "others give a model's members away: draw fair coins for each model (coin_flips)"
        )
    # Frozen once, so that all rounds share the arrays without copies.
    worlds = checks.frozen(signal[:own])
    coins = checks.frozen(inside[:own])
    records = np.arange(inside.shape[1]) if target is None else target
    stratum = np.zeros(len(records), np.int64)
    return tuple(
        Round(
            Observation({name: seen}, stratum, worlds=Worlds(seen, worlds, coins)),
            secret,
            records,
            records if unit is None else unit,
        )
        for seen, secret in zip(signal[own:], inside[own:], strict=True)
    )


class Rule(Protocol):
    """Turns the scores of a transcript into guesses, with a threshold chosen on other rows."""

    def decide(self, transcript: Transcript) -> Decisions:
        """Return a guess for every row."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Result of an attack on an observation: a score per target and a rule to guess from it."""

    value: Floats
    """(n,) Scores; higher means more likely a member."""
    rule: Rule
    """Rule learnt on the adversary's own records, or on a split of the rows."""
    notes: tuple[str, ...] = ()
    """Remarks for the report, one sentence each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.floats(self.value, "scores"))


class Attack(Protocol):
    """Scores every target of an observation. Frozen: no state between calls."""

    @property
    def name(self) -> str:
        """Name of the attack in tables and files."""

    @property
    def variant(self) -> str:
        """Name of the published form; empty if there is only one."""

    @property
    def thresholds(self) -> str:
        """Groups with a threshold of their own: ``per-class``, ``global`` or ``none``."""

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return a score for every target, or the reason why the attack cannot be played."""


class Game(Protocol):
    """Deals rounds; dealing is the only step that trains anything."""

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return `rounds` rounds with fresh secrets."""


@dataclass(frozen=True, eq=False)
class Play:
    """One attack on all rounds of a game."""

    transcript: Transcript
    """Scores with secrets."""
    decisions: Decisions
    """Guesses by the attack's own rule, in the order of the transcript."""
    notes: tuple[str, ...] = field(default=())
    """Remarks of the attack, for the report."""
    whole: Play | None = None
    """The same attack on all targets, if only some of them are compared; else None."""

    @property
    def everything(self) -> Play:
        """The play with all targets, compared or not."""
        return self.whole or self

    def on(self, compared: Bools) -> Play:
        """Restrict the play to some targets by a mask over targets, (n,)."""
        if compared.all():
            return self
        # The whole play is kept, since records that are not compared have scores too.
        rows = compared[self.transcript.target]
        return Play(self.transcript.part(rows), self.decisions[rows], self.notes, self)


def play(
    attack: Attack, rounds: Sequence[Round], rngs: Sequence[np.random.Generator]
) -> Play | Skipped:
    """Play an attack on every round.

    Parameters
    ----------
    attack : Attack
    rounds : sequence of Round
    rngs : sequence of numpy.random.Generator
        One generator per round.

    Returns
    -------
    Play or Skipped
        Skipped as soon as the attack skips one round.
    """
    transcripts = []
    decisions = []
    notes = []
    for number, (dealt, rng) in enumerate(zip(rounds, rngs, strict=True)):
        scores = attack.score(dealt.observation, rng)
        if isinstance(scores, Skipped):
            return scores
        index = np.full(len(dealt.secret), number)
        transcript = Transcript(
            score=scores.value,
            secret=dealt.secret,
            target=dealt.target,
            round=index,
            unit=dealt.unit,
        )
        transcripts.append(transcript)
        decisions.append(scores.rule.decide(transcript))
        # Each note once, in the order of the rounds: most rounds give the same ones.
        notes += [note for note in scores.notes if note not in notes]
    if len(rounds) == 1:  # shares its read-only arrays instead of copying them
        return Play(transcripts[0], decisions[0], tuple(notes))
    joined = Transcript(
        score=np.concatenate([t.score for t in transcripts]),
        secret=np.concatenate([t.secret for t in transcripts]),
        target=np.concatenate([t.target for t in transcripts]),
        round=np.concatenate([t.round for t in transcripts]),
        unit=np.concatenate([t.unit for t in transcripts]),
    )
    guess = np.concatenate([d.guess for d in decisions])
    return Play(joined, joined.decided(guess, decisions[0].rule), tuple(notes))


def _signals(signals: Mapping[str, Floats], length: int) -> Mapping[str, Floats]:
    checked = {
        name: checks.floats(values, f"signal {name!r}", length=length)
        for name, values in signals.items()
    }
    return MappingProxyType(checked)
