"""Scores of attacks for every target of a game, as a run on disk that can be resumed."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import title
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.runs.execute import Progress, complete
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import Run, open_run, plan_in
from privacygauge.tables.attacks.attack import Answer, TableAttack, Tables, View
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

    @property
    def secret(self) -> Bools:
        """(t,) True where the target was inside, for each table in question."""
        return np.concatenate([block.secret for block in self.blocks])

    @property
    def released(self) -> Floats:
        """(t,) Scores of the tables in question."""
        return np.concatenate([answer.released for answer in self.answers])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the attack, each sentence once."""
        return tuple(dict.fromkeys(note for answer in self.answers for note in answer.notes))


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
        for i, target in enumerate(range(task.start, task.stop)):
            for j, answers in enumerate(self._answers(target, read)):
                if isinstance(answers, Skipped):
                    said[i, j] = _encode_notes(answers.reason, ())
                    continue
                own[i, j] = np.concatenate([answer.own for answer in answers])
                released[i, j] = np.concatenate([answer.released for answer in answers])
                said[i, j] = _encode_notes(None, [note for a in answers for note in a.notes])
        return {"own": own, "released": released, "said": said}

    def _answers(
        self, target: int, read: Callable[[int, int], Tables]
    ) -> list[list[Answer] | Skipped]:
        """Return each attack's answers, one per block; only one block's tables are in memory."""
        game = self.making.game
        setting = self.making.setting
        row = int(setting.targets[target])
        found: list[list[Answer] | Skipped] = [[] for _ in self.attacks]
        for number, block in enumerate(game.blocks(setting, target)):
            view = View(
                schema=setting.table.schema,
                # Rounded as the stored tables are, so that copies stay equal.
                target=Storage(setting.table.schema).rounded(game.record(setting, target, number)),
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
        return found


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
