"""Adapters that give models with class-only output a `predict_proba`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.answers import (
    Answers,
    answers_of,
    average_answers,
    check_answers,
    code_of_users,
    finite_answers,
    is_module,
)
from privacygauge.classifier.estimators import class_names, n_required
from privacygauge.classifier.held import Held, take_records
from privacygauge.classifier.rows import Training
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True)
class HardLabels:
    """An estimator without probabilities, wrapped to be certain of each class it predicts."""

    estimator: Any
    """The wrapped estimator, with ``fit`` and ``predict``."""
    known: tuple[Any, ...] = field(default=(), compare=False)
    """Classes of its training, if the estimator does not list them itself."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the estimator, and its own parameters, as scikit-learn does."""
        inner = (
            self.estimator.get_params() if deep and hasattr(self.estimator, "get_params") else {}
        )
        return {"estimator": self.estimator, **{f"estimator__{k}": v for k, v in inner.items()}}

    def set_params(self, **given: Any) -> HardLabels:
        """Set parameters of the estimator."""
        self.estimator.set_params(**{k.removeprefix("estimator__"): v for k, v in given.items()})
        return self

    def fit(self, X: NDArray[Any], y: Ints) -> HardLabels:
        """Train the estimator."""
        fitted = self.estimator.fit(X, y)
        found = self.estimator if fitted is None else fitted
        return replace(self, estimator=found, known=tuple(np.unique(y).tolist()))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, ascending."""
        return np.asarray(getattr(self.estimator, "classes_", self.known))

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return 1 for the predicted class, 0 for the others."""
        said = np.asarray(self.estimator.predict(X)).reshape(len(X))
        found: Floats = (said[:, None] == self.classes_[None, :]).astype(np.float64)
        return found


@dataclass(frozen=True)
class Says:
    """A trained model of any kind, wrapped to be certain of the class it predicts."""

    model: Any
    """An object with ``predict_proba`` or ``predict``, a PyTorch or Keras module, or a function
    from records to classes, by number or name, or to probabilities."""
    n_classes: int
    """Number of classes, k."""
    names: tuple[str, ...] = ()
    """(k,) The model's names for the classes; default: their numbers."""

    @property
    def classes_(self) -> Ints:
        """The classes, 0..k-1."""
        return np.arange(self.n_classes)

    def predict_proba(self, X: Held) -> Floats:
        """Return 1 for the predicted class, 0 for the others, (n, k)."""
        model = self.model
        if hasattr(model, "predict_proba") or is_module(model):
            answers = answers_of(model, X, self.n_classes, self.names)
            return self._certain(answers.values.argmax(axis=1))
        ask = getattr(model, "predict", model)
        if not callable(ask):
            raise InputError(
                f"{type(model).__name__} says no class: give a model with predict, or a function"
            )
        said = self._certain(self._class_of(ask, X))
        # For sampled classes, the most frequent one.
        shares, _ = average_answers(
            said, lambda rows: self._certain(self._class_of(ask, take_records(X, rows)))
        )
        return self._certain(shares.argmax(axis=1))

    def _certain(self, codes: Ints) -> Floats:
        found: Floats = np.eye(self.n_classes)[codes]
        return found

    def _class_of(self, ask: Callable[[Held], Any], X: Held) -> Ints:
        """Return the predicted class of each record, (n,)."""
        name = type(self.model).__name__
        with code_of_users(name, f"to predict {len(X)} records"):
            said = ask(X)
        seen = said if hasattr(said, "ndim") else np.asarray(said)
        if seen.ndim == 2 and seen.shape[1] > 1:
            # All records were asked at once: inspect the answers instead of asking again in parts.
            every = np.arange(self.n_classes)
            values, logits = check_answers(
                seen, len(X), classes=every, n_classes=self.n_classes, name=name
            )
            answers = finite_answers(Answers(values, logits), every, self.n_classes)
            return np.asarray(answers.values.argmax(axis=1))
        return class_codes(seen, len(X), self.n_classes, self.names)


def class_codes(said: Any, n: int, n_classes: int, names: tuple[str, ...] = ()) -> Ints:
    """Return the numbers of a model's predicted classes for n records, (n,).

    Raises
    ------
    InputError
        If there is not exactly one class per record, or one is unknown.
    """
    given = np.asarray(said)
    if given.shape not in ((n,), (n, 1)):
        raise InputError(
            f"a model that says classes must say one per record, ({n},), got {given.shape}"
        )
    given = given.reshape(n)
    if given.dtype.kind == "f" and (given == np.rint(given)).all():
        given = given.astype(np.int64)
    if given.dtype.kind == "b":
        given = given.astype(np.int64)
    called = given.astype(np.str_)
    known = np.array(names or [str(i) for i in range(n_classes)])
    numbers = np.array([str(i) for i in range(n_classes)])
    # Trained on numbers, a model predicts numbers of classes that have names.
    known = known if np.isin(called, known).all() else numbers
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, called, sorter=order), n_classes - 1)
    found = order[place]
    wrong = np.flatnonzero(known[found] != called)
    if len(wrong):
        raise InputError(
            f"the model says {str(called[wrong[0]])!r}, and the classes are "
            f"{checks.short_list(names or numbers.tolist())}: it must say one of them for each "
            "record"
        )
    return found.astype(np.int64)


@dataclass(frozen=True)
class TrainsLabels:
    """A training function, wrapped so that its models are certain of the class they predict."""

    func: Callable[[Any, Ints, int], Any]
    """Takes records, classes and a random state; returns a trained model of any kind."""
    n_classes: int
    """Number of classes."""
    names: tuple[str, ...] = ()
    """Names that its models may use for the classes."""

    def __call__(self, x: Any, y: Ints, random_state: int) -> Says:
        """Return a trained model."""
        return Says(self.func(x, y, random_state), self.n_classes, self.names)


@dataclass(frozen=True)
class MakesLabels:
    """A factory of estimators, wrapped so that these are certain of the class they predict."""

    func: Callable[[int], Any]
    """Takes a random state; returns an untrained estimator."""

    def __call__(self, random_state: int) -> Any:
        """Return an untrained estimator."""
        made = self.func(random_state)
        return made if hasattr(made, "predict_proba") else HardLabels(made)


@dataclass(frozen=True)
class PredictsLabels:
    """A function that asks models by record numbers, wrapped to be certain of its classes."""

    func: Callable[[Any, Ints], Any]
    """Takes a model and n record numbers; returns classes (n,), or scores (n, k)."""
    n_classes: int
    """Number of classes."""
    names: tuple[str, ...] = ()
    """Names that its models may use for the classes."""

    def __call__(self, model: Any, rows: Ints) -> Any:
        """Return the predicted class as a one-hot row; scores of several classes pass unchanged."""
        said = self.func(model, rows)
        seen = said if hasattr(said, "ndim") else np.asarray(said)
        if seen.ndim > 1 and seen.shape[-1] > 1:
            return said
        return np.eye(self.n_classes)[class_codes(seen, len(rows), self.n_classes, self.names)]


def with_labels(model: object, y: ArrayLike | None = None) -> object:
    """Return a trainer whose models put probability 1 on the class that they predict.

    Parameters
    ----------
    model : object
        Any model that `as_trainer` takes, or an estimator without ``predict_proba``.
    y : array_like of int or str, shape (n,), optional
        The classes; those of a `Training` by default.
    """
    if isinstance(model, Training):
        labels = model.labels if y is None else y
        if labels is None:
            return model
        return replace(model, predict=PredictsLabels(model.predict, *_classes(labels)))
    if hasattr(model, "fit"):
        return model if hasattr(model, "predict_proba") else HardLabels(model)
    if isinstance(model, type) or not callable(model) or hasattr(model, "train") or y is None:
        return model
    required = n_required(model)
    if required == 1:
        return MakesLabels(model)
    return TrainsLabels(model, *_classes(y)) if required == 3 else model


def _classes(y: ArrayLike) -> tuple[int, tuple[str, ...]]:
    """Return the number of classes, and their names."""
    names = class_names(y)
    return (len(names) if names else int(np.max(np.asarray(y))) + 1), names
