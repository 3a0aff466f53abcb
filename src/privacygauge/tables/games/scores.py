"""Scores of attacks for every target of a game, kept as a run, and of attacks on its worlds."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Round
from privacygauge.core.release import Worlds
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import title
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.runs.execute import Progress, complete
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import Run, open_run, plan_in
from privacygauge.tables.attacks.attack import Answer, TableAttack, View
from privacygauge.tables.attacks.density import ClosestDistance, DensityRatio
from privacygauge.tables.games.games import Block, Game, Setting
from privacygauge.tables.games.releases import Making, Releases, Storage, release_settings

TASKS = 64
"""Approximate number of tasks in which targets are scored."""

SAID = 2048
"""Bytes stored for an attack's notes on one target."""


@dataclass(frozen=True, eq=False)
class ScoredTarget:
    """Scores of one attack for one target."""

    blocks: tuple[Block, ...]
    """Blocks of tables that the attack scored."""
    answers: tuple[Answer, ...]
    """Scores, one answer per block."""

    secret: Bools = field(init=False)
    """(t,) True where the target was inside, for each table in question."""
    released: Floats = field(init=False)
    """(t,) Scores of the tables in question."""
    notes: tuple[str, ...] = field(init=False)
    """Notes of the attack, each sentence once."""

    def __post_init__(self) -> None:
        notes = dict.fromkeys(note for answer in self.answers for note in answer.notes)
        scores = np.concatenate([answer.released for answer in self.answers])
        object.__setattr__(self, "secret", np.concatenate([x.secret for x in self.blocks]))
        object.__setattr__(self, "released", scores)
        object.__setattr__(self, "notes", tuple(notes))


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scores of all attacks for the targets of a task; sent to workers."""

    making: Making
    """Game, setting and generator."""
    releases: Releases
    """Synthetic tables of the game."""
    attacks: tuple[TableAttack, ...]
    """Attacks to run."""

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the scores of a task's targets."""
        setting = self.making.setting
        game = self.making.game
        n_own, n_asked = _lengths(game, setting)
        rows = task.n_units
        m = len(self.attacks)
        own = np.full((rows, m, n_own), np.nan)
        released = np.full((rows, m, n_asked), np.nan)
        said = np.zeros((rows, m, SAID), np.uint8)
        # Targets that share a pool share its tables, which are read once. Two entries: own and
        # released.
        read = functools.lru_cache(maxsize=2)(
            lambda start, stop: self.releases.tables(slice(start, stop))
        )
        storage = Storage(setting.table.schema)
        for i, target in enumerate(range(task.start, task.stop)):
            row = int(setting.targets[target])
            # Each attack's answers, one per block; only one block's tables are in memory.
            found: list[list[Answer] | Skipped] = [[] for _ in self.attacks]
            for number, block in enumerate(game.blocks(setting, target)):
                view = View(
                    schema=storage.schema,
                    # Rounded as the stored tables are, so that copies stay equal.
                    target=storage.rounded(game.record(setting, target, number)),
                    shadows=read(block.shadows.start, block.shadows.stop),
                    inside=block.inside,
                    released=read(block.released.start, block.released.stop),
                    known=game.known(setting, target),
                )
                for j, attack in enumerate(self.attacks):
                    so_far = found[j]
                    if isinstance(so_far, Skipped):
                        continue
                    # Derived by role, so that adding an attack changes no other attack's numbers.
                    role = ("attack", attack.name, attack.variant, row, number)
                    answer = attack.score(view, seeds.stream(setting.seed, *role))
                    found[j] = answer if isinstance(answer, Skipped) else [*so_far, answer]
            for j, answers in enumerate(found):
                if isinstance(answers, Skipped):
                    said[i, j] = _encode_notes(answers.reason, ())
                    continue
                own[i, j] = np.concatenate([answer.own for answer in answers])
                released[i, j] = np.concatenate([answer.released for answer in answers])
                said[i, j] = _encode_notes(None, [note for a in answers for note in a.notes])
        return {"own": own, "released": released, "said": said}


@dataclass(frozen=True, eq=False)
class GameScores:
    """Scores of the attacks for every target of a game."""

    making: Making
    """Game, setting and generator."""
    attacks: tuple[TableAttack, ...]
    """Attacks that scored."""
    run: Run
    """Run that holds the scores."""

    def of(self, attack: int) -> Iterator[ScoredTarget | Skipped]:
        """Yield the scores of the attack at a position, target by target."""
        game = self.making.game
        setting = self.making.setting
        own, released, said = (
            self.run.array(name)[:, attack] for name in ("own", "released", "said")
        )
        asked = self.attacks[attack]
        for target in range(len(setting.targets)):
            # Padded with zeros to a fixed length in the array.
            reason, notes = json.loads(said[target].tobytes().rstrip(b"\0"))
            if reason is not None:
                yield Skipped(title(asked.name, asked.variant, ""), reason)
                continue
            blocks = tuple(game.blocks(setting, target))
            answers = []
            # Blocks lie one after the other in both arrays.
            a = b = 0
            for block in blocks:
                end_a = a + len(block.inside)
                end_b = b + len(block.secret)
                answers.append(
                    Answer(own[target][a:end_a], released[target][b:end_b], tuple(notes))
                )
                a = end_a
                b = end_b
            yield ScoredTarget(blocks, tuple(answers))


def score_releases(
    making: Making,
    releases: Releases,
    attacks: Sequence[TableAttack],
    run: str | Path,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> GameScores:
    """Return the scores of attacks for every target; compute only those not yet in `run`.

    Parameters
    ----------
    making : Making
        Game, setting and generator.
    releases : Releases
        All synthetic tables of the game.
    attacks : sequence of TableAttack
    run : str or Path
        Folder of the scores' run, or a URL known to fsspec.
    n_jobs, progress
        As in `complete`.

    Raises
    ------
    InputError
        If two attacks have the same name and variant, or the folder holds another run.
    """
    titles = [title(attack.name, attack.variant, "") for attack in attacks]
    if not titles:
        raise InputError("attacks must hold at least one attack, got none")
    if len(set(titles)) < len(titles):
        twice = next(one for one in titles if titles.count(one) > 1)
        raise InputError(f"two attacks are called {twice!r}: give one of them a variant")
    setting = making.setting
    n_own, n_asked = _lengths(making.game, setting)
    n_targets = len(setting.targets)
    m = len(attacks)
    plan = Plan(
        name="synthetic_scores",
        seed=setting.seed,
        unit="target",
        n_units=n_targets,
        units_a_task=max(1, n_targets // TASKS),
        arrays={
            "own": ArraySpec(("target", "attack", "shadow"), (n_targets, m, n_own), "float64"),
            "released": ArraySpec(("target", "attack", "test"), (n_targets, m, n_asked), "float64"),
            "said": ArraySpec(("target", "attack", "byte"), (n_targets, m, SAID), "uint8"),
        },
        settings={
            **release_settings(making),
            "attacks": [repr(attack) for attack in attacks],
        },
        code=code_of(making.game, making.generator, *attacks),
    )
    opened = open_run(run, plan)
    work = Scoring(making, releases, tuple(attacks))
    complete(opened, work, n_jobs=n_jobs, progress=progress)
    end_of_sharing()
    return GameScores(making, tuple(attacks), opened)


def _lengths(game: Game, setting: Setting) -> tuple[int, int]:
    """Return the numbers of scores per target: of the adversary's own tables, and in question.

    They are the same for all targets of a game.
    """
    blocks = tuple(game.blocks(setting, 0))
    return sum(len(b.inside) for b in blocks), sum(len(b.secret) for b in blocks)


def _encode_notes(reason: str | None, notes: Sequence[str]) -> NDArray[np.uint8]:
    """Encode the reason why an attack was skipped, or its notes, in a fixed number of bytes."""
    kept = list(dict.fromkeys(notes))
    # Notes are dropped from the end until the text fits.
    while True:
        text = json.dumps([None if reason is None else reason[:500], kept]).encode()
        if len(text) <= SAID:
            break
        kept.pop()
    return np.frombuffer(text.ljust(SAID, b"\0"), np.uint8)


def scores_in(folder: str, attacks: Sequence[TableAttack]) -> str:
    """Return the folder of the scores of these attacks, a separate one for other attacks.

    The tables, which cost most, can thus be used again with other attacks.
    """
    wanted = [repr(attack) for attack in attacks]
    place = f"{folder}/scores"
    number = 1
    while (plan := plan_in(place)) and list(plan.settings.get("attacks", ())) != wanted:
        number += 1
        place = f"{folder}/scores-{number}"
    return place


# Games on tables as worlds, so that attacks on worlds (LiRA, RMIA) can play them.


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
        seed = scores.making.setting.seed
        # Blocks have different own tables, so worlds are compared within a block only.
        for number, block in enumerate(records_in_worlds(names, signals)):
            role = ("attack", self.name, self.variant, number)
            # Own tables are scored like tables in question, so that thresholds can be chosen on
            # them.
            sides = (block.own_observations(), (dealt.observation for dealt in block.rounds()))
            values: list[Floats] = []
            notes: tuple[str, ...] = ()
            for side, observations in zip(("own", "released"), sides, strict=True):
                scored = [
                    self.attack.score(seen, seeds.stream(seed, *role, side, i))
                    for i, seen in enumerate(observations)
                ]
                skipped = next((x for x in scored if isinstance(x, Skipped)), None)
                if skipped:
                    return skipped
                ranked = [x for x in scored if not isinstance(x, Skipped)]
                values.append(np.column_stack([x.value for x in ranked]))
                notes = ranked[0].notes
            for record, own, released in zip(answers, *values, strict=True):
                record.append(Answer(own, released, notes))
        return [
            ScoredTarget(x.blocks, tuple(made)) for x, made in zip(signals[0], answers, strict=True)
        ]


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
