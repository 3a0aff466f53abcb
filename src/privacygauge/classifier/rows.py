"""Training by record numbers, which the user's own functions look up."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.answers import (
    Answers,
    average_answers,
    by_class,
    check_answers,
    class_numbers,
    code_of_users,
)
from privacygauge.classifier.forms import ROWS, of_form
from privacygauge.classifier.held import Held, RecordNumbers
from privacygauge.classifier.trainer import Cohort
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

AVERAGED = "answers averaged"
"""Key of a trainer's description for the number of calls averaged into each prediction."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, eq=False)
class Training:
    """A way to train and ask models by record numbers, for records that only you can look up.

    The records may be anything: rows of a data frame, images in a folder, items of a Dataset.
    Everything random in training has to follow from `seed`: then a run that was interrupted, and
    any number of processes, give the same result.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> x, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    >>> def train(rows, seed):
    ...     return DecisionTreeClassifier(random_state=seed).fit(x[rows], y[rows])
    >>> def predict(model, rows):
    ...     return model.predict_proba(x[rows])
    >>> training = Training(train, predict, labels=y)
    """

    train: Callable[[Ints, int], Any]
    """Takes record numbers, (m,) ascending, and a random state in 0..2**31-1; returns a trained
    model, which may be anything that `predict` accepts."""
    predict: Callable[[Any, Ints], Any]
    """Takes a model and record numbers, (a,); returns probabilities or logits, (a, k)."""
    labels: ArrayLike | None = field(default=None, compare=False)
    """(n,) Classes of the records, in 0..k-1 or by name; None if they are given elsewhere."""
    logits: bool | None = None
    """Whether `predict` returns logits; determined in a trial if None."""
    label: str = ""
    """Name, as reports print it; default: that of `train`."""

    def __post_init__(self) -> None:
        for name in ("train", "predict"):
            if not callable(getattr(self, name)):
                given = type(getattr(self, name)).__name__
                raise InputError(f"{name} must be a function, got {given}")


@dataclass(frozen=True, eq=False)
class ByRows:
    """Trains by functions of record numbers."""

    training: Training
    """The user's functions."""
    logits: bool = False
    """Whether logits are kept; probabilities otherwise."""
    names: tuple[str, ...] = ()
    """(k,) Names that models may use for the classes 0..k-1."""
    queries: int = 1
    """Queries per record, at least 1."""
    times: int = 1
    """Calls averaged into each prediction, as found in a trial; see `average_answers`."""
    tried: bool = False
    """Whether it was tried on a few records; see `tried`."""

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return self.training.label or function_name(self.training.train)

    def describe(self) -> Mapping[str, Any]:
        """Return the names of the functions, and the kind of their output."""
        functions = {
            "trained by": function_origin(self.training.train),
            "asked by": function_origin(self.training.predict),
        }
        averaged = {} if self.times == 1 else {AVERAGED: self.times}
        return {**functions, **of_form(ROWS), "logits": self.logits, **averaged}

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return each model's predictions for the `asked` records; see `Trainer`."""
        numbers = self._numbers(cohort.x)
        k = cohort.n_classes
        asked = numbers[cohort.asked]
        with limited_to(1):
            found = [
                self._all_classes(self.model(numbers[inside], seed), asked, k)
                for inside, seed in zip(cohort.inside, cohort.seeds, strict=True)
            ]
        return np.stack(found).astype(np.float32 if self.logits else np.float64, copy=False)

    def model(self, numbers: Ints, seed: int) -> object:
        """Return a model trained on the records of these numbers."""
        with code_of_users(self.name, f"to train on {len(numbers)} records"):
            return self.training.train(numbers, seed)

    def answers(self, model: object, numbers: Ints, n_classes: int) -> tuple[Answers, Ints]:
        """Return a model's predictions, and the classes of their columns."""
        name = function_name(self.training.predict)
        given = self.training.logits
        classes = class_numbers(model, n_classes, self.names)

        def said(rows: Ints) -> tuple[Floats, bool]:
            with code_of_users(name, f"to predict {len(rows)} records"):
                found = self.training.predict(model, numbers[rows])
            return check_answers(
                found,
                len(rows),
                classes=classes,
                n_classes=n_classes,
                name=name,
                non_negative=given is True or self.logits,
                proper=given is False,
            )

        seen, logits = said(np.arange(len(numbers)))
        mean, times = average_answers(seen, lambda rows: said(rows)[0])
        return Answers(mean, logits if given is None else given, times), classes

    def _all_classes(self, model: object, asked: Ints, n_classes: int) -> Floats:
        said, classes = self.answers(model, asked, n_classes)
        if not self.logits:
            return by_class(said.values, said.logits, classes, n_classes)
        if len(classes) < n_classes:
            raise InputError(f"{self.name} gives no logits of {n_classes - len(classes)} classes")
        return np.asarray(said.values[..., np.argsort(classes)])

    def _numbers(self, x: Held) -> Ints:
        if not isinstance(x, RecordNumbers):
            raise InputError(
                f"{self.name} trains by the numbers of records, and this audit makes records of "
                "its own: give a function of features, classes and a random state"
            )
        return x.numbers


def function_name(function: object) -> str:
    """Return the name of a function, or of a partial of one, as reports print it."""
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__qualname__", type(inner).__name__))


def function_origin(function: object) -> str:
    """Return the module and the name of a function."""
    inner = getattr(function, "func", function)
    named = inner if inspect.isfunction(inner) else type(inner)
    return _ADDRESS.sub("", f"{named.__module__}.{named.__qualname__}")
