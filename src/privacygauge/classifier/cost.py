"""The cost of training, measured before it starts, and the largest design that a budget allows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from privacygauge.classifier.held import Held
from privacygauge.classifier.stacking import models_a_task, with_stack
from privacygauge.classifier.trainer import Cohort, Trainer
from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.release import coin_flips
from privacygauge.errors import InputError

DESIGNS = (4, 8, 16, 32, 64, 128, 256)
"""Numbers of shadow models to choose from."""


@dataclass(frozen=True)
class Cost:
    """Cost of training, measured on a trial."""

    seconds_a_model: float
    """Seconds per model on one core."""
    n_jobs: int
    """Models, or stacks of them, trained at the same time."""
    models_a_task: int
    """Models that a worker trains before it writes their predictions."""

    def seconds(self, n_models: int) -> float:
        """Return the estimated wall time for `n_models` models, in seconds."""
        tasks = -(-n_models // self.models_a_task)
        rounds = -(-tasks // self.n_jobs)
        # An upper bound, since the last task may be smaller than the others.
        most = rounds * self.models_a_task
        return self.seconds_a_model * min(most, n_models)

    def largest(self, budget: float) -> int:
        """Return the most shadow models, of `DESIGNS`, that train within `budget` seconds."""
        paid = [n for n in DESIGNS if self.seconds(n + 1) <= budget]
        if not paid:
            least = self.seconds(DESIGNS[0] + 1)
            raise InputError(
                f"even {DESIGNS[0]} shadow models would take about {span(least)}, more than the "
                f"budget of {span(budget)}: raise it, or take fewer records"
            )
        return paid[-1]


def measure_cost(
    trainer: Trainer, x: NDArray[Any], y: Ints, *, n_models: int, n_jobs: int, seed: int = 0
) -> Cost:
    """Return the cost of a model, measured by training a few: networks for a few epochs only.

    The estimate is for `n_models` models on `n_jobs` processes; -1 for one per core.
    """
    at_once = n_at_once(n_jobs)
    inside = coin_flips(n_models, len(y), seeds.stream(seed, "trial"))
    cohort = Cohort(
        x=x,
        y=y,
        inside=inside,
        seeds=range(n_models),
        n_classes=int(y.max()) + 1,
        asked=np.arange(len(y)),
    )
    together = models_a_task(trainer, cohort)
    seconds = _seconds(with_stack(trainer, together), cohort, together)
    return Cost(seconds, at_once, together)


def measure_ways(trainers: Sequence[Trainer], cohort: Cohort, *, n_jobs: int) -> Cost:
    """Return the cost of a model that is trained in several ways, one after the other.

    Networks are tried for a few epochs; of other trainers one model is trained. `n_jobs` is the
    number of processes; -1 for one per core.
    """
    # The first training also imports libraries, which is not part of the others' cost.
    _seconds(trainers[0], cohort, 1)
    return Cost(sum(_seconds(each, cohort, 1) for each in trainers), n_at_once(n_jobs), 1)


def span(seconds: float) -> str:
    """Return a duration in words: ``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 1:
        return "1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def seconds_of(text: str) -> float:
    """Return the seconds in a text such as ``90s``, ``10m`` or ``2h``."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    try:
        value = float(number) * units[unit]
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InputError(f"--budget must be a time such as 90s, 10m or 2h, got {text!r}")
    return value


def _seconds(trainer: Trainer, cohort: Cohort, together: int) -> float:
    """Return the seconds per model, from a trial on the first models of a cohort."""
    short, factor = _with_two_epochs(trainer)
    trial = together if factor > 1 else 1
    began = time.perf_counter()
    short.train(cohort[:trial])
    return (time.perf_counter() - began) * factor / trial


def n_at_once(n_jobs: int) -> int:
    """Return the number of parallel processes; -1 is one per core, -2 one less."""
    if n_jobs == 0:
        raise InputError("n_jobs must be at least 1, or -1 for one a core, got 0")
    return max(1, cpu_count() + 1 + n_jobs) if n_jobs < 0 else n_jobs


def _with_two_epochs(trainer: Trainer) -> tuple[Trainer, float]:
    inner = getattr(trainer, "networks", None)
    if inner is not None:
        networks, factor = _with_two_epochs(inner)
        if factor == 1.0:
            return trainer, factor
        return replace(trainer, networks=networks), factor  # type: ignore[type-var]
    epochs = getattr(trainer, "epochs", None)
    if epochs is None or epochs <= 2:
        return trainer, 1.0
    short: Trainer = replace(trainer, epochs=2)  # type: ignore[type-var]
    return short, epochs / 2


def bill_of_ways(trainers: Sequence[Trainer], cohort: Cohort, *, n_jobs: int) -> str:
    """Return the measured cost of training a cohort in several ways, in words."""
    cost = measure_ways(trainers, cohort, n_jobs=n_jobs)
    n = len(cohort)
    ways = len(trainers)
    each = "" if ways == 1 else f", each in {ways} ways"
    return (
        f"Training {n} models{each}, {cost.seconds_a_model:.2g} s each, {cost.n_jobs} at a time: "
        f"about {span(cost.seconds(n))}."
    )


DEFAULT_SHADOWS = 16
"""Shadow models if neither a number nor a budget is given."""


def bill(cost: Cost, shadows: int, n_targets: int, wanted: int | None, budget: float | None) -> str:
    """Return the cost of training, and the part a budget does not cover, in words."""
    n_models = shadows + n_targets
    target = "1 target, " if n_targets else ""
    text = (
        f"Training {n_models} models ({target}{shadows} shadow models), "
        f"{cost.seconds_a_model:.2g} s each, {cost.n_jobs} at a time: about "
        f"{span(cost.seconds(n_models))}."
    )
    if budget is None:
        return text
    more = wanted or next((n for n in DESIGNS if n > shadows), None)
    if more is None or more <= shadows:
        return text
    lost = "per-record variances (from 64 on) and " if shadows < 64 <= more else ""
    return (
        f"{text} The budget of {span(budget)} does not pay for {more} shadow models (about "
        f"{span(cost.seconds(more + n_targets))}): given up are {lost}some of the strength of "
        "attacks on single records."
    )


def paid_for(
    trainer: Trainer,
    x: NDArray[Any],
    y: Ints,
    wanted: int | None,
    budget: str | None,
    n_targets: int,
    n_jobs: int,
    seed: int,
) -> tuple[int, str]:
    """Return the number of shadow models to train, and its cost in words.

    The number is `wanted`, by default `DEFAULT_SHADOWS`, but no more than a `budget` such as
    ``10m`` allows; with a budget alone, as many as it allows.
    """
    shadows = DEFAULT_SHADOWS if wanted is None else wanted
    if shadows < 1:
        raise InputError(f"--shadows must be at least 1, got {shadows}")
    limit = None if budget is None else seconds_of(budget)
    most = shadows if limit is None else max(DESIGNS)
    cost = measure_cost(trainer, x, y, n_models=most + 1, n_jobs=n_jobs, seed=seed)
    if limit is not None and (wanted is None or cost.seconds(shadows + 1) > limit):
        most = cost.largest(limit)
        shadows = most if wanted is None else min(most, wanted)
    return shadows, bill(cost, shadows, n_targets=n_targets, wanted=wanted, budget=limit)


def bill_without_each(
    trainer: Trainer,
    x: Held,
    y: Ints,
    n_models: int,
    training_sets: int,
    n_jobs: int,
) -> str:
    """Return the cost of retraining once per record, in words."""
    # Trained on all records, since a part may lack a category that occurs in the queries.
    inside = np.broadcast_to(np.True_, (n_models, len(y)))
    cohort = Cohort(
        x=x,
        y=y,
        inside=inside,
        seeds=range(n_models),
        n_classes=int(y.max()) + 1,
        asked=np.arange(len(y)),
    )
    together = models_a_task(trainer, cohort)
    each = _seconds(with_stack(trainer, together), cohort, together)
    cost = Cost(each, n_at_once(n_jobs), together)
    # Each further training set is one half and the other.
    seconds = cost.seconds(n_models) * (1 + training_sets / 2)
    return (
        f"Training {trainer.name} without each of {n_models:,} records, {cost.n_jobs} at a time: "
        f"about {span(seconds)}. --measure N takes fewer records."
    )
