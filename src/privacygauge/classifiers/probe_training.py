"""Trials before an audit: a trainer on a few records, and the measured cost of training."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.answers import UserCodeError
from privacygauge.classifiers.estimators import (
    ByRows,
    Estimators,
    Function,
    as_trainer,
    class_names,
    function_name,
    require_records,
)
from privacygauge.classifiers.held import Held, RecordNumbers, check_records, numeric
from privacygauge.classifiers.trainer import Cohort, Trainer, models_a_task, with_stack
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Ints
from privacygauge.core.release import coin_flips
from privacygauge.errors import InputError
from privacygauge.runs.source import RecordedCode
from privacygauge.runs.threads import one_thread

EACH = 10
"""Records per class in a trial; fewer, but at least 2, if the total would exceed `MOST`."""

MOST = 300
"""Largest number of records in a trial, unless two per class are more."""

Tried: TypeAlias = Estimators | Function | ByRows
"""Trainers that run the user's code."""


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """A trainer and its records, checked as far as possible without full training."""

    trainer: Trainer
    """Trainer of the models."""
    x: Held
    """Records in the trainer's form."""
    y: Ints
    """(n,) Classes in 0..k-1."""
    names: tuple[str, ...]
    """(k,) Names of the classes; empty if they are numbers."""


def prepare_records(model: object, x: object, y: ArrayLike | None) -> TrainingSetup:
    """Return a trainer that was tried on a few records, with its records and their classes.

    Parameters
    ----------
    model : object
        Any model that `as_trainer` takes.
    x : array_like or data frame of n records, or None
        None for a `Training`, which looks records up itself.
    y : array_like of int or str, shape (n,), or None
        None if a `Training` has labels.
    """
    trainer = as_trainer(model)
    if isinstance(trainer, ByRows):
        y = trainer.training.labels if y is None else y
    if y is None:
        raise InputError("y must hold the classes of the records, got None")
    if isinstance(trainer, ByRows) and not isinstance(x, RecordNumbers):
        if x is not None:
            raise InputError(
                "a Training looks its records up itself: leave x out, or give x to a function of "
                "features, classes and a random state"
            )
        # The records are their numbers, which the user's functions look up.
        x = RecordNumbers(np.arange(len(np.asarray(y))))
    names = class_names(y)
    records, labels = records_for(trainer, x, y, names)
    return TrainingSetup(
        try_trainer(with_class_names(trainer, names), records, labels), records, labels, names
    )


def records_for(
    trainer: Trainer, x: object, y: ArrayLike, names: tuple[str, ...]
) -> tuple[Held, Ints]:
    """Return records in their own form if the trainer takes any kind, else as features (n, d)."""
    if not isinstance(trainer, Tried | RecordedCode):
        return require_records(x, y)
    labels = np.asarray(y)
    if names:
        labels = np.searchsorted(names, labels.astype(np.str_))
    labels = checks.classes(labels, "y")
    records = check_records(x, len(labels))
    if len(labels) == 0:
        raise InputError("x and y hold no records")
    return records, labels


def with_class_names(trainer: Trainer, names: tuple[str, ...]) -> Trainer:
    """Return a trainer that knows the user's names of the classes."""
    if not names or not isinstance(trainer, Estimators | ByRows):
        return trainer
    return replace(trainer, names=names)


def try_trainer(trainer: Trainer, x: Held, y: Ints) -> Trainer:
    """Return a trainer after a trial: one model is trained on a few records and predicts them.

    A trainer is tried at most once, and estimators not at all if features are finite numbers. If a
    few records per class are not enough to train on, half of all records are used.

    Raises
    ------
    InputError
        One line: the function, its expected output, and its actual output.
    """
    if not isinstance(trainer, Tried) or trainer.tried:
        return trainer
    if isinstance(trainer, Estimators) and numeric(x) is not None:
        return trainer
    classes = np.unique(y)
    each = max(2, min(EACH, MOST // len(classes)))
    places = [np.flatnonzero(y == c) for c in classes]
    # The first and the last records of each class: two training sets, disjoint in large classes.
    few, last = (
        np.sort(np.concatenate([own[part] for own in places]))
        for part in (slice(each), slice(-each, None))
    )
    # Every other row: in a file that is sorted by class, both halves hold all classes.
    half = np.arange(0, len(y), 2)
    if len(few) < len(half):
        try:
            return _after_trial(trainer, x, y=y, rows=few, others=last)
        except UserCodeError:  # perhaps because they are few
            pass
    return _after_trial(trainer, x, y=y, rows=half, others=np.arange(1, len(y), 2))


def _after_trial(trainer: Tried, x: Held, y: Ints, rows: Ints, others: Ints) -> Trainer:
    """Return the trainer after one trial on `rows` and one on `others`; raise if either fails."""
    inside = np.isin(np.arange(len(y)), rows)[None]
    cohort = Cohort(x=x, y=y, inside=inside, seeds=(0,), n_classes=int(y.max()) + 1, asked=rows)
    try:
        # Warnings about few records say nothing about training on all.
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ready, seen = _train_and_predict(trainer, cohort)
            _require_trained(trainer, cohort, seen, others)
    except InputError as error:
        told = f"{error} (in a trial on {len(rows)} records, before the first model)"
        raise type(error)(told) from error
    return ready


def _train_and_predict(trainer: Tried, cohort: Cohort) -> tuple[Trainer, NDArray[Any]]:
    """Return the trainer, updated by its first output, and its predictions."""
    if not isinstance(trainer, ByRows):
        seen = trainer.train(cohort)[0]
        _require_finite(seen, trainer.name)
        return replace(trainer, tried=True), seen
    [inside] = cohort.inside
    numbers = cohort.x.numbers
    model = trainer.model(numbers[inside], 0)
    said, _ = trainer.answers(model, numbers[cohort.asked], cohort.n_classes)
    seen = said.values
    name = function_name(trainer.training.predict)
    _require_finite(seen, name)
    queries = 1 if seen.ndim == 2 else seen.shape[1]
    ready = replace(trainer, logits=said.logits, queries=queries, times=said.times, tried=True)
    return ready, seen


def _require_trained(trainer: Tried, first: Cohort, seen: NDArray[Any], others: Ints) -> None:
    """Raise if a model trained on other records gives identical predictions.

    Such training ignores its records, and no attack on it would find anything. Two exceptions:
    models that are certain may agree on easy records, though not on a class that one of them never
    saw; and a model that answers all records alike has learnt nothing from few records.
    """
    if (seen == seen[0]).all():
        return
    if np.isin(seen, (0.0, 1.0)).all():
        if first.n_classes == 2:
            return
        # Leave out the class of the first record: a model that never saw it must answer
        # differently.
        others = first.asked[first.y[first.asked] != first.y[first.asked[0]]]
    try:
        inside = np.isin(np.arange(len(first.y)), others)[None]
        same = np.array_equal(_train_and_predict(trainer, replace(first, inside=inside))[1], seen)
    except UserCodeError:  # perhaps because of these records: the first trial went well
        return
    if same:
        raise UserCodeError(
            f"{trainer.name} gives the same predictions after training on other records: each "
            "model must be trained from scratch on the records that it is given, and on no "
            "others, and be the one that is asked"
        )


def _require_finite(seen: NDArray[Any], name: str) -> None:
    bad = int(np.count_nonzero(~np.isfinite(seen).all(axis=-1)))
    if bad:
        raise UserCodeError(f"{name} gave predictions that are not finite for {bad} records")


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
    """Models that a worker trains before it writes their predictions, at least 1."""

    def seconds(self, n_models: int) -> float:
        """Return the estimated wall time for `n_models` models, in seconds."""
        tasks = -(-n_models // self.models_a_task)
        rounds = -(-tasks // self.n_jobs)
        # An upper bound, since the last task may be smaller than the others.
        most = rounds * self.models_a_task
        return self.seconds_a_model * min(most, n_models)

    def largest(self, budget: float) -> int:
        """Return the largest of `DESIGNS` that trains within `budget` seconds, with one target."""
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
    """Return the cost of a model, measured by training a few, networks for two epochs only.

    The estimate is for `n_models` models on `n_jobs` processes, -1 for one per core.
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
    """Return the cost of a model that several trainers train, one after the other.

    Each trainer trains one model, networks for two epochs. `n_jobs` is the number of processes, -1
    for one per core.
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
    # Networks are timed as a whole stack, as the run trains them.
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
    # Trainers with a field `networks` wrap these.
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


DEFAULT_SHADOWS = 16
"""Number of shadow models if neither a number nor a budget is given."""


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
    # With a budget the number is open: costs are measured as for the largest design.
    most = shadows if limit is None else max(DESIGNS)
    cost = measure_cost(trainer, x, y, n_models=most + 1, n_jobs=n_jobs, seed=seed)
    if limit is not None and (wanted is None or cost.seconds(shadows + 1) > limit):
        most = cost.largest(limit)
        shadows = most if wanted is None else min(most, wanted)
    n_models = shadows + n_targets
    target = "1 target, " if n_targets else ""
    told = (
        f"Training {n_models} models ({target}{shadows} shadow models), "
        f"{cost.seconds_a_model:.2g} s each, {cost.n_jobs} at a time: about "
        f"{span(cost.seconds(n_models))}."
    )
    if limit is None:
        words = told
    else:
        more = wanted or next((n for n in DESIGNS if n > shadows), None)
        if more is None or more <= shadows:
            words = told
        else:
            lost = "per-record variances (from 64 on) and " if shadows < 64 <= more else ""
            words = (
                f"{told} The budget of {span(limit)} does not pay for {more} shadow models (about "
                f"{span(cost.seconds(more + n_targets))}): given up are {lost}some of the "
                "strength of attacks on single records."
            )
    return shadows, words


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
