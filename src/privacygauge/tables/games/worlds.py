"""Games on tables as worlds, so that attacks on worlds (LiRA, RMIA) can play them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Round
from privacygauge.core.release import Worlds
from privacygauge.errors import InputError
from privacygauge.tables.attacks.attack import Answer, TableAttack
from privacygauge.tables.attacks.density import ClosestDistance, DensityRatio
from privacygauge.tables.games.scores import GameScores, ScoredTarget


@dataclass(frozen=True, eq=False)
class RecordsInWorlds:
    """Signals of r records in the adversary's s tables and in the t tables in question.

    The adversary's tables are the worlds: each was made with the record or without it. In the
    shared game all records share them; in the other games each record has its own.
    """

    names: tuple[str, ...]
    """(q,) Names of the signals."""
    own: Floats
    """(s, r, q) Signals in the adversary's own tables; higher means more likely a member."""
    inside: Bools
    """(s, r) True where the record was in the adversary's table."""
    released: Floats
    """(t, r, q) Signals in the tables in question."""
    secret: Bools
    """(t, r) True where the record was in the table in question."""
    table: Ints
    """(t, r) Number of the table in question: the independent unit."""

    def __post_init__(self) -> None:
        for name in ("own", "inside", "released", "secret", "table"):
            object.__setattr__(self, name, checks.frozen(getattr(self, name)))

    def rounds(self) -> Iterator[Round]:
        """Yield one round per table in question, with the records as its targets.

        The unit of a row is the table, so that intervals count each table once. `play` needs
        records of both kinds in every round; `OnWorlds` is evaluated record by record instead.
        """
        for seen, secret, table in zip(self.released, self.secret, self.table, strict=True):
            # Tables in question are rounds; the adversary's own tables are the worlds of each.
            shown = self._shown(seen, self.own, self.inside)
            yield Round(shown, secret, np.arange(len(secret)), table)

    def own_observations(self) -> Iterator[Observation]:
        """Yield one observation per table of the adversary's, with the other tables as its worlds.

        One table of the other kind is left out as well: if exactly half of the tables hold a
        record, the number of remaining tables of each kind would reveal the bit.
        """
        n_tables, n_records = self.inside.shape
        # (s, r) For each table and record, a table on the other side of the record's coin.
        opposite = np.empty(self.inside.shape, np.int64)
        for record, inside in enumerate(self.inside.T):
            sides = np.flatnonzero(inside), np.flatnonzero(~inside)
            for side, other in (sides, sides[::-1]):
                # Opposite tables are assigned in turn, so that none is always left out.
                opposite[side, record] = np.resize(other, len(side))

        def left(values: NDArray[Any]) -> NDArray[Any]:
            # Records first: each record keeps s - 2 tables, but not the same ones.
            kept = values.swapaxes(0, 1)[stays]
            return kept.reshape(n_records, n_tables - 2, *values.shape[2:]).swapaxes(0, 1)

        for number, seen in enumerate(self.own):
            stays = np.ones((n_records, n_tables), np.bool_)
            stays[:, number] = False
            stays[np.arange(n_records), opposite[number]] = False
            yield self._shown(seen, left(self.own), left(self.inside))

    def _shown(self, seen: Floats, own: Floats, inside: Bools) -> Observation:
        signals = {name: seen[:, i] for i, name in enumerate(self.names)}
        return Observation(signals, np.zeros(len(seen), np.int64), worlds=Worlds(seen, own, inside))


def records_in_worlds(
    names: Sequence[str], scored: Sequence[Sequence[ScoredTarget]]
) -> tuple[RecordsInWorlds, ...]:
    """Return the attacks' scores of every record as signals in worlds, block by block.

    Parameters
    ----------
    names : sequence of str
        Names of the q signals.
    scored : sequence of sequence of ScoredTarget
        Per signal, its scores of the records in the same order, as `GameScores.of` yields them. A
        signal should not learn who is inside, so that it means the same in all tables.

    Returns
    -------
    tuple of RecordsInWorlds
        One per block of tables: one per table in question if the adversary makes own tables for
        each (knowledge "synthetic"), otherwise a single one.
    """
    first = scored[0]
    found = []
    for b in range(len(first[0].blocks)):
        # By signal, record and table; turned to tables, records, signals.
        own = np.array([[x.answers[b].own for x in records] for records in scored])
        released = np.array([[x.answers[b].released for x in records] for records in scored])
        blocks = [x.blocks[b] for x in first]
        found.append(
            RecordsInWorlds(
                tuple(names),
                own=own.transpose(2, 1, 0),
                inside=np.column_stack([block.inside for block in blocks]),
                released=released.transpose(2, 1, 0),
                secret=np.column_stack([block.secret for block in blocks]),
                table=np.column_stack(
                    [np.arange(block.released.start, block.released.stop) for block in blocks]
                ),
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class OnWorlds:
    """Attack on worlds, such as LiRA, played on the records of a game on tables.

    Its signals are the scores of attacks on tables that do not train; several signals are several
    queries about a record. They are also played on their own, so that the report shows what the
    worlds add. No further table is made.
    """

    attack: Attack
    """Attack, such as `LiraOnline`, `RmiaOnline` or `Bavaria`."""
    signals: tuple[TableAttack, ...] = (ClosestDistance(), DensityRatio())
    """Signals computed from each table, at least one."""

    def __post_init__(self) -> None:
        if not self.signals:
            raise InputError("signals must hold at least one attack on tables, got none")

    @property
    def name(self) -> str:
        """Name of the attack."""
        return self.attack.name

    @property
    def variant(self) -> str:
        """Variant of the attack, and its signals."""
        signals = f"on {checks.short_list([signal.name for signal in self.signals])}"
        return f"{self.attack.variant}; {signals}" if self.attack.variant else signals

    def of(self, scores: GameScores) -> list[ScoredTarget] | Skipped:
        """Return the attack's scores of every record.

        Parameters
        ----------
        scores : GameScores
            Scores of all its signals, and possibly of other attacks.

        Returns
        -------
        list of ScoredTarget or Skipped
            Scores as `GameScores.of` yields them; skipped if a signal or the attack itself was.
        """
        signals = []
        for signal in self.signals:
            found = list(scores.of(scores.attacks.index(signal)))
            missing = next((x for x in found if isinstance(x, Skipped)), None)
            if missing:
                return Skipped(self.name, f"has no signal {signal.name}: {missing.reason}")
            signals.append([x for x in found if isinstance(x, ScoredTarget)])
        answers: list[list[Answer]] = [[] for _ in signals[0]]
        names = [signal.name for signal in self.signals]
        # Blocks have different own tables, so worlds are compared within a block only.
        for number, block in enumerate(records_in_worlds(names, signals)):
            answered = self._answers(block, scores.making.setting.seed, number)
            if isinstance(answered, Skipped):
                return answered
            for record, answer in zip(answers, answered, strict=True):
                record.append(answer)
        return [
            ScoredTarget(x.blocks, tuple(made)) for x, made in zip(signals[0], answers, strict=True)
        ]

    def _answers(self, block: RecordsInWorlds, seed: int, number: int) -> list[Answer] | Skipped:
        role = ("attack", self.name, self.variant, number)
        # Own tables are scored like tables in question, so that thresholds can be chosen on them.
        sides = (block.own_observations(), (dealt.observation for dealt in block.rounds()))
        values: list[Floats] = []
        notes: tuple[str, ...] = ()
        for side, observations in zip(("own", "released"), sides, strict=True):
            found = [
                self.attack.score(seen, seeds.stream(seed, *role, side, i))
                for i, seen in enumerate(observations)
            ]
            skipped = next((x for x in found if isinstance(x, Skipped)), None)
            if skipped:
                return skipped
            ranked = [x for x in found if not isinstance(x, Skipped)]
            values.append(np.column_stack([x.value for x in ranked]))
            notes = ranked[0].notes
        return [Answer(own, released, notes) for own, released in zip(*values, strict=True)]


def split_attacks(
    attacks: Sequence[TableAttack | OnWorlds],
) -> tuple[tuple[TableAttack, ...], tuple[OnWorlds, ...]]:
    """Split attacks into those on tables, including the signals of the others, and those on worlds.

    Raises
    ------
    InputError
        If two attacks on worlds have the same name and variant.
    """
    on_worlds = tuple(attack for attack in attacks if isinstance(attack, OnWorlds))
    titles = [f"{attack.name} ({attack.variant})" for attack in on_worlds]
    twice = next((title for title in titles if titles.count(title) > 1), None)
    if twice is not None:
        raise InputError(f"two attacks are called {twice!r}: give one of them other signals")
    tables = [attack for attack in attacks if not isinstance(attack, OnWorlds)]
    # A signal that is also an attack of its own is scored once.
    for attack in on_worlds:
        tables += [signal for signal in attack.signals if signal not in tables]
    return tuple(tables), on_worlds
