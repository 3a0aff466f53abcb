"""Attacks played against guards as a run that can be resumed: one unit a trial."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import seeds
from privacygauge.core.versions import own_version, versions
from privacygauge.holdout.analysts import Analyst, Play, Trials, play
from privacygauge.holdout.attacks import ATTACKS
from privacygauge.holdout.linear_bayes import LinearBayes
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.metrics import ACCURACY
from privacygauge.holdout.oracle import Holdout
from privacygauge.holdout.priors import Knowledge
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.reach import code_of
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import open_run

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Contest:
    """Every attack against every guard, so many times each. Picklable: the work of a run."""

    holdout: Holdout
    """The test set."""
    knowledge: Knowledge | None
    """What the attacker knows before."""
    attacks: tuple[str, ...]
    """Names of attacks."""
    guards: tuple[Guard, ...]
    """What stands before the test set."""
    queries: int
    """Submissions in each play."""
    trials: int
    """Plays of each attack against each guard."""
    seed: int
    """All draws derive from it, by the names of attack and guard."""

    @property
    def pairs(self) -> tuple[tuple[str, Guard], ...]:
        """Every attack with every guard, in the order of the units."""
        return tuple((attack, guard) for attack in self.attacks for guard in self.guards)

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the plays of a task."""
        plays = [self._play(*divmod(unit, self.trials)) for unit in range(task.start, task.stop)]
        return {
            "accuracy": np.array([p.accuracy for p in plays]),
            "baseline": np.array([p.baseline for p in plays]),
            "used": np.array([p.queries_used for p in plays], np.int64),
        }

    def _play(self, pair: int, trial: int) -> Play:
        attack, guard = self.pairs[pair]
        rng = seeds.stream(self.seed, "holdout", attack, guard.name, trial)
        return play(self.analyst(attack), self.holdout, self.queries, rng, guard=guard)

    def analyst(self, attack: str) -> Analyst:
        """Return the attack of this name; with a metric other than accuracy there is one alone."""
        if self.holdout.metric != ACCURACY:
            return LinearBayes.told(self.holdout)
        return ATTACKS[attack].make(self.knowledge)

    def plan(self) -> Plan:
        """Return what the run computes."""
        n = len(self.pairs) * self.trials
        types = {"accuracy": "float64", "baseline": "float64", "used": "int64"}
        return Plan(
            name="holdout",
            seed=self.seed,
            n_units=n,
            unit="play",
            units_a_task=1,
            arrays={name: ArraySpec(("play",), (n,), dtype) for name, dtype in types.items()},
            settings={
                "attacks": self.attacks,
                "guards": [guard.name for guard in self.guards],
                "queries": self.queries,
                "trials": self.trials,
                "classes": self.holdout.n_classes,
                "metric": self.holdout.metric.name,
                "labels": _digest(self.holdout.labels),
                "knowledge": None if self.knowledge is None else _known(self.knowledge),
                "versions": {"privacygauge": own_version(), **versions()},
            },
            code=code_of(*self.guards, *(type(self.analyst(name)) for name in self.attacks)),
        )


def played(
    contest: Contest,
    run: str | Path | None = None,
    *,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Mapping[tuple[str, str], Trials]:
    """Return the trials of every attack against every guard, playing what the run lacks.

    `run` is the folder that keeps the plays, None for nowhere; `invocation` is how to start it
    again, and `progress` is called with what is done and all there is to do.
    """
    with kept_or_scratch(run) as place:
        opened = open_run(place, contest.plan(), invocation=invocation)
        complete(opened, contest, n_jobs=n_jobs, progress=progress)
        end_of_sharing()
        found = {name: opened.array(name)[:] for name in contest.plan().arrays}
    parts = {}
    for place_of, (attack, guard) in enumerate(contest.pairs):
        rows = slice(place_of * contest.trials, (place_of + 1) * contest.trials)
        parts[attack, guard.name] = Trials(
            found["accuracy"][rows], found["baseline"][rows], found["used"][rows]
        )
    return parts


def _known(knowledge: Knowledge) -> str:
    parts = (knowledge.base, knowledge.points, knowledge.candidates, knowledge.log_prior)
    return _digest(*parts)


def _digest(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
