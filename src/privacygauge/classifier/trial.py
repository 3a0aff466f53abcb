"""A trainer and the user's records, tried out on a few of them before the audit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.answers import UserCodeError
from privacygauge.classifier.estimators import (
    Estimators,
    Function,
    as_trainer,
    class_names,
    require_records,
)
from privacygauge.classifier.held import Held, RecordNumbers, check_records, numeric
from privacygauge.classifier.rows import ByRows, function_name
from privacygauge.classifier.trainer import Cohort, Trainer
from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.runs.code import RecordedCode
from privacygauge.runs.threads import one_thread

EACH = 10
"""Records per class in a trial; fewer if the total would exceed `MOST`."""

MOST = 300
"""Records in a trial, apart from two per class."""

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
    """(k,) The classes' names; empty where they are numbers."""


def prepare_records(model: object, x: object, y: ArrayLike | None) -> TrainingSetup:
    """Return a trainer, tried on a few records, with its records and their classes.

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
        x = RecordNumbers(np.arange(len(np.asarray(y))))
    names = class_names(y)
    records, labels = records_for(trainer, x, y, names)
    return TrainingSetup(
        try_trainer(with_class_names(trainer, names), records, labels), records, labels, names
    )


def records_for(
    trainer: Trainer, x: object, y: ArrayLike, names: tuple[str, ...]
) -> tuple[Held, Ints]:
    """Return records as they are, for trainers that take any kind."""
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
    """Return a trainer after a trial: a model is trained on a few records, and asked about them.

    Nothing is tried twice, nor are estimators on features that are finite numbers. If a few records
    of every class are too few to train on, half of all are used.

    Raises
    ------
    InputError
        One line: the function, its expected output, and its actual output.
    """
    if isinstance(trainer, Estimators):
        return trainer if trainer.tried or numeric(x) is not None else _try_on_few(trainer, x, y)
    if isinstance(trainer, Function | ByRows) and not trainer.tried:
        return _try_on_few(trainer, x, y)
    return trainer


def _try_on_few(trainer: Tried, x: Held, y: Ints) -> Trainer:
    classes = np.unique(y)
    each = max(2, min(EACH, MOST // len(classes)))
    places = [np.flatnonzero(y == c) for c in classes]
    few, last = (
        np.sort(np.concatenate([own[part] for own in places]))
        for part in (slice(each), slice(-each, None))
    )
    half = np.arange(0, len(y), 2)
    if len(few) < len(half):
        try:
            return _after_trial(trainer, x, y=y, rows=few, others=last)
        except UserCodeError:  # perhaps because they are few
            pass
    return _after_trial(trainer, x, y=y, rows=half, others=np.arange(1, len(y), 2))


def _after_trial(trainer: Tried, x: Held, y: Ints, rows: Ints, others: Ints) -> Trainer:
    """Return the trainer after a trial on some records and one on others; raise if either fails."""
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

    Such training ignores its records, and every attack on it would find nothing. Models that are
    certain may agree about easy records, though not on a class that one of them never saw; and a
    model that answers all records alike has learnt nothing from so few.
    """
    if (seen == seen[0]).all():
        return
    if np.isin(seen, (0.0, 1.0)).all():
        if first.n_classes == 2:
            return
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
