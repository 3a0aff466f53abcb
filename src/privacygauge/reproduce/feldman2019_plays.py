"""Attacks on test sets, played many times in a run that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import seeds
from privacygauge.core.checks import short_list
from privacygauge.core.estimate import Estimate
from privacygauge.core.versions import own_version, versions
from privacygauge.errors import InputError
from privacygauge.holdout.analysts import Analyst, Trials, play, uniform_holdout
from privacygauge.holdout.oracle import Holdout
from privacygauge.reproduce.table import Effort, exact
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import open_run

LEVEL = 0.95
"""Of every interval."""

TRIALS = 10
"""Attacks in each series, as in the paper."""

# What is done is kept after each of about so many parts of a run.
_PARTS = 40


@dataclass(frozen=True)
class Uniform:
    """A test set of uniformly random labels, a new one in every trial."""

    n: int
    """Points."""
    m: int
    """Classes."""

    def __call__(self, rng: np.random.Generator) -> Holdout:
        """Return a test set."""
        return uniform_holdout(self.n, self.m, rng)


@dataclass(frozen=True, eq=False)
class GivenTestSet:
    """A test set that is given: trials differ in what the attacker draws."""

    holdout: Holdout
    """The labels."""

    def __call__(self, rng: np.random.Generator) -> Holdout:
        """Return the test set."""
        return self.holdout


@dataclass(frozen=True, eq=False)
class Series:
    """One attack played many times with one number of queries."""

    label: str
    """All that its result depends on, in words: its random draws derive from it."""
    analyst: Analyst
    """The attack."""
    deal: Callable[[np.random.Generator], Holdout]
    """Returns the test set; `Uniform` or `GivenTestSet`."""
    k: int
    """Queries."""
    trials: int
    """Plays, at least 1."""


@dataclass(frozen=True, eq=False)
class Plays:
    """The work of a run: all plays of all series. Picklable."""

    series: tuple[Series, ...]
    """Each with a label of its own."""
    seed: int
    """All draws derive from it, by label and trial."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the plays of a task."""
        owner = np.repeat(np.arange(len(self.series)), [s.trials for s in self.series])
        first = np.searchsorted(owner, owner)
        found = [
            self._play(self.series[owner[unit]], int(unit - first[unit]))
            for unit in range(task.start, task.stop)
        ]
        return {"accuracy": [f[0] for f in found], "baseline": [f[1] for f in found]}

    def _play(self, series: Series, trial: int) -> tuple[float, float]:
        rng = seeds.stream(self.seed, "feldman2019", series.label, trial)
        played = play(series.analyst, series.deal(rng), series.k, rng)
        return played.accuracy, played.baseline

    def plan(self) -> Plan:
        """Return what the run computes."""
        n = sum(series.trials for series in self.series)
        return Plan(
            name="test_set_reuse",
            seed=self.seed,
            n_units=n,
            unit="play",
            units_a_task=max(1, n // _PARTS),
            arrays={
                name: ArraySpec(("play",), (n,), "float64") for name in ("accuracy", "baseline")
            },
            settings={
                "series": [f"{s.label}: {s.trials} of {s.k}" for s in self.series],
                "versions": {"privacygauge": own_version(), **versions()},
            },
        )


def plays(series: Sequence[Series], effort: Effort) -> Mapping[str, Trials]:
    """Return the trials of every series by its label.

    Parameters
    ----------
    series : sequence of Series
    effort : Effort
        Its seed, folder, processes and progress.
    """
    labels = [one.label for one in series]
    if len(set(labels)) < len(labels):
        raise InputError(f"labels of series must differ, got {short_list(labels)}: leave one out")
    work = Plays(tuple(series), effort.seed)
    with kept_or_scratch(effort.run) as place:
        opened = open_run(place, work.plan())
        complete(opened, work, n_jobs=effort.n_jobs, progress=effort.progress)
        accuracy, baseline = (opened.array(name)[:] for name in ("accuracy", "baseline"))
    found = {}
    start = 0
    for one in series:
        rows = slice(start, start + one.trials)
        used = np.full(one.trials, one.k, np.int64)
        found[one.label] = Trials(accuracy[rows], baseline[rows], used)
        start += one.trials
    return found


def n_trials(effort: Effort) -> int:
    """Return how many trials a series has: as many as in the paper, or 3 in the quick form."""
    return 3 if effort.quick else TRIALS


def point(value: float, method: str) -> Estimate:
    """Return a number that follows from a formula, or from a game without chance."""
    return exact(value, 1, method)
