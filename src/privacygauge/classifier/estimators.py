"""Training estimators one by one: scikit-learn, XGBoost, LightGBM, and any callable."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.dtp.log_answers import own_log_p
from privacygauge.classifier.dtp.records import class_log_p
from privacygauge.classifier.dtp.training import LearnerTrainer
from privacygauge.classifier.pool import probabilities
from privacygauge.classifier.trainer import Cohort, Trainer
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

_ROUNDING = 1e-3  # of what a row of probabilities sums to
_Fill = Callable[[Floats, Any, NDArray[Any], Ints, Any], None]
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Probabilistic(Protocol):
    """A trained model that gives the probability of every class."""

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return the probability of every class, (n, k)."""


class ProbabilisticClassifier(Probabilistic, Protocol):
    """A scikit-learn classifier, or anything that behaves like one."""

    def fit(self, X: NDArray[Any], y: Ints) -> object:
        """Train on the records."""


@dataclass(frozen=True)
class Estimators:
    """Trains classifiers with ``fit`` and ``predict_proba``, each on its own."""

    make: Callable[[int], ProbabilisticClassifier]
    """Returns an untrained classifier from a random state."""
    label: str = ""
    """What reports call it; default: the callable's own name."""
    least: int = 2
    """Fewest classes that a model is trained on; with fewer its training counts as failed."""

    @property
    def name(self) -> str:
        """What reports call the kind of model."""
        return self.label or _called(self.make)

    logits = False

    def describe(self) -> Mapping[str, Any]:
        """Return the estimator's class and parameters, and the name of what makes it."""
        made = self.make(0)
        return {"model": _described(made), "made by": _origin(self.make)}

    def reached(self) -> tuple[object, ...]:
        """Return what else is run: the estimator that `make` returns."""
        return (self.make(0),)

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the probabilities that each model gives the `asked` records; see `Trainer`.

        A class that is missing from a model's records has the probability 0. A record without
        an answer is NaN.
        """
        return self._filled(cohort, _fill)

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return the log probabilities that each model gives; see `log_answers`."""
        return self._filled(cohort, _fill_logs)

    def _filled(self, cohort: Cohort, fill: _Fill) -> Floats:
        result, queries = np.full(cohort.shape, np.nan), cohort.x[cohort.asked]
        for answers, rows, seed in zip(result, cohort.inside, cohort.seeds, strict=True):
            seen, codes = np.unique(cohort.y[rows], return_inverse=True)
            if len(seen) < self.least:
                continue  # nothing to tell apart: left as failed
            model = _one_thread(self.make(seed))
            # Numbered again: some estimators refuse classes with gaps between them.
            fitted = _fit(model, cohort.x[rows], codes)
            fill(answers, fitted, queries, seen, model)
        return result


@dataclass(frozen=True)
class Function:
    """Trains by a function of the user's."""

    train_one: Callable[[NDArray[Any], Ints, int], Probabilistic]
    """Takes features (m, d), classes (m,) in 0..k-1 and a random state; returns a trained model,
    a PyTorch module on the CPU, or a function from features to probabilities or logits (n, k)."""
    label: str = ""
    """What reports call it; default: the function's own name."""

    @property
    def name(self) -> str:
        """What reports call the kind of model."""
        return self.label or _called(self.train_one)

    logits = False

    def describe(self) -> Mapping[str, Any]:
        """Return the function's name."""
        return {"trained by": _origin(self.train_one)}

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the probabilities that each model gives the `asked` records; see `Trainer`."""
        return self._filled(cohort, _fill)

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return the log probabilities that each model gives; see `log_answers`."""
        return self._filled(cohort, _fill_logs)

    def _filled(self, cohort: Cohort, fill: _Fill) -> Floats:
        result, queries = np.full(cohort.shape, np.nan), cohort.x[cohort.asked]
        for answers, rows, seed in zip(result, cohort.inside, cohort.seeds, strict=True):
            fitted = self.train_one(cohort.x[rows], cohort.y[rows], seed)
            classes = getattr(fitted, "classes_", np.arange(cohort.n_classes))
            fill(answers, fitted, queries, np.asarray(classes, np.int64), fitted)
        return result


def as_trainer(model: object) -> Trainer:
    """Return a trainer for whatever describes how a model is trained.

    Parameters
    ----------
    model : Trainer, estimator, class, or callable
        A trainer; a scikit-learn estimator, which is copied untrained; a callable that takes a
        random state and returns an untrained estimator; or a function of features, classes and
        a random state that returns a trained model.

    Raises
    ------
    InputError
        One line: what it lacks, and the way out.
    """
    if isinstance(model, type):
        raise InputError(f"give an instance, {model.__name__}(...), not the class itself")
    if isinstance(model, Trainer):
        return model
    if isinstance(model, Learner):
        return LearnerTrainer(model)
    if _is_module(model):
        raise InputError(
            "a PyTorch module does not say how it is trained: give Networks(make, epochs=...), "
            "where make(n_features, n_classes) returns an untrained module"
        )
    if hasattr(model, "fit"):
        _require_probabilities(model)
        return Estimators(_Copies(model), type(model).__name__)
    if not callable(model):
        raise InputError(
            f"a model must be an estimator with fit and predict_proba, or a callable, got "
            f"{type(model).__name__}"
        )
    required = n_required(model)
    if required == 1:
        _require_probabilities(_made_by(model))
        return Estimators(model)
    if required == 3:
        return Function(model)
    raise InputError(
        "a training callable takes a random state (and returns an untrained estimator), or "
        f"features, classes and a random state (and returns a trained model); {_called(model)} "
        f"takes {required} arguments"
    )


def as_given(model: object) -> Trainer:
    """Return a trainer of the very algorithm that was given, for training with one record less.

    As `as_trainer`, but the random states that an estimator was given stay, in the steps of a
    pipeline too; those left open are drawn. A single class is trained on where the estimator
    takes one.
    """
    trainer = as_trainer(model)
    if not isinstance(trainer, Estimators):
        return trainer
    make = trainer.make
    kept = replace(make, keeps=True) if isinstance(make, _Copies) else make
    return replace(trainer, make=kept, least=1)


def answers_of(
    model: object, x: NDArray[Any], n_classes: int, names: Sequence[str] = ()
) -> dict[str, Floats]:
    """Return what a trained model, or a function, says of every record.

    Parameters
    ----------
    model : object
        With ``predict_proba``; a PyTorch module on the CPU; or a function of features. What a
        module or a function returns are probabilities if all rows are, logits otherwise.
    x : ndarray, shape (n, d)
    n_classes : int
    names : sequence of str, optional
        The names of the classes 0..k-1, one of which each of the model's may be.

    Returns
    -------
    dict of str to ndarray, shape (n, n_classes)
        ``probs`` or ``logits``.
    """
    classes = np.asarray(getattr(model, "classes_", np.arange(n_classes)))
    called = classes.astype(np.str_).tolist()
    known = [*names] or [str(i) for i in range(n_classes)]
    if set(called) <= set(known):
        classes = np.array([known.index(name) for name in called], np.int64)
    elif classes.dtype.kind not in "biuf":
        raise InputError(
            f"the model was trained on the classes {checks.listed(called)}, and the labels are "
            f"{checks.listed(known)}: give labels of the same names"
        )
    seen, logits = _answers(model, x, classes.astype(np.int64), n_classes, model)
    bad = np.flatnonzero(~np.isfinite(seen).all(axis=1))
    if len(bad):
        raise InputError(f"the model's predictions are not finite, first in row {bad[0]}")
    if logits and np.array_equal(classes, np.arange(n_classes)):
        return {"logits": seen}
    return {"probs": _by_class(seen, logits, classes.astype(np.int64), n_classes)}


@dataclass(frozen=True)
class _Copies:
    """Untrained copies of an estimator, with a random state of their own where they take one."""

    estimator: Any
    keeps: bool = False
    """Whether random states that are not None stay as they are."""

    def __call__(self, random_state: int) -> ProbabilisticClassifier:
        from sklearn.base import clone

        copy: Any = clone(self.estimator)
        for key, value in copy.get_params().items():
            if key.split("__")[-1] == "random_state" and not (self.keeps and value is not None):
                copy.set_params(**{key: random_state})
        made: ProbabilisticClassifier = copy
        return made


def _one_thread(model: Any) -> Any:
    # Models are trained beside each other: threads of their own would slow all of them down.
    if hasattr(model, "get_params"):
        known = {"": model, **model.get_params()}
        for key in known:
            owner, _, last = key.rpartition("__")
            if last == "n_jobs" and _threaded(known[owner], known[key]):
                model.set_params(**{key: 1})
    return model


def _threaded(owner: Any, n_jobs: int | None) -> bool:
    """Return whether an estimator takes several cores: by default, others than scikit-learn's."""
    alone = (1, None) if type(owner).__module__.startswith("sklearn.") else (1,)
    return n_jobs not in alone


def _fit(model: Any, x: NDArray[Any], codes: Ints) -> Any:
    with limited_to(1):
        fitted = model.fit(x, codes)
    return model if fitted is None else fitted


def _fill(probs: Floats, model: Any, x: NDArray[Any], classes: Ints, named: Any) -> None:
    seen, logits = _answers(model, x, classes, probs.shape[1], named)
    known = np.isfinite(seen).all(axis=1)
    probs[known] = _by_class(seen[known], logits, classes, probs.shape[1])


def _fill_logs(log_p: Floats, model: Any, x: NDArray[Any], classes: Ints, named: Any) -> None:
    seen, logits = _answers(model, x, classes, log_p.shape[1], named)
    known = np.isfinite(seen).all(axis=1)
    if not known.any():
        return
    with limited_to(1):
        found = class_log_p(seen) if logits else own_log_p(model, x, seen)
    log_p[known] = -np.inf
    log_p[np.ix_(known, classes)] = found[known]


def _by_class(seen: Floats, logits: bool, classes: Ints, n_classes: int) -> Floats:
    """Return probabilities, (n, n_classes), with 0 for the classes that a model does not know."""
    probs = np.zeros((len(seen), n_classes))
    probs[:, classes] = probabilities(seen, logits=logits)
    return probs


def _answers(
    model: Any, x: NDArray[Any], classes: Ints, n_classes: int, named: Any
) -> tuple[Floats, bool]:
    """Return what a model says of the classes that it knows, and whether these are logits."""
    module, proper = _is_module(model), hasattr(model, "predict_proba")
    ask = partial(_of_module, model) if module else getattr(model, "predict_proba", model)
    if not callable(ask):
        raise InputError(_no_probabilities(model))
    with limited_to(1):
        seen = np.asarray(ask(x), np.float64)
    name = type(named).__name__
    if seen.shape != (len(x), len(classes)):
        raise InputError(
            f"{name} must predict probabilities of the shape ({len(x)}, {len(classes)}), got "
            f"{seen.shape}"
        )
    if len(classes) and (classes.min() < 0 or classes.max() >= n_classes):
        raise InputError(f"{name} has class {classes.max()}, but there are {n_classes}")
    return seen, not proper and _are_logits(seen, name, non_negative=module)


def _are_logits(seen: Floats, name: str, *, non_negative: bool) -> bool:
    """Return whether finite rows are logits, which may be all above 0 where `non_negative`."""
    seen = seen[np.isfinite(seen).all(axis=1)]
    if (np.abs(seen.sum(axis=1) - 1) <= _ROUNDING).all():
        return False
    if not non_negative and seen.min() >= 0:
        raise InputError(
            f"{name} must predict probabilities, in rows that sum to 1, or logits: these rows do "
            "not sum to 1, and no value is negative; divide counts or votes by their sum"
        )
    return True


def _is_module(model: object) -> bool:
    # Without torch in memory nobody can have made a module.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _of_module(module: Any, x: NDArray[Any]) -> Floats:
    torch = sys.modules["torch"]
    parameter = next(module.parameters(), None)
    kind = torch.get_default_dtype() if parameter is None else parameter.dtype
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            values: Floats = module(torch.as_tensor(x).to(kind)).double().numpy()
    finally:
        module.train(was_training)
    return values


def _require_probabilities(model: object) -> None:
    if not hasattr(model, "predict_proba"):
        raise InputError(_no_probabilities(model))
    if not hasattr(model, "fit"):
        raise InputError(f"{type(model).__name__} has no fit")


def _no_probabilities(model: object) -> str:
    return (
        f"{type(model).__name__} has no predict_proba, and attacks need probabilities: wrap it in "
        "sklearn.calibration.CalibratedClassifierCV, or give a model that has it"
    )


def _made_by(model: Callable[[int], object]) -> object:
    try:
        return model(0)
    except TypeError as error:
        raise InputError(f"{_called(model)} takes no random state: {error}") from error


def n_required(function: Callable[..., Any]) -> int:
    """Return how many arguments a callable must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise InputError(f"{error}: give a function of your own around it") from error
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)


def _called(function: object) -> str:
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__qualname__", type(inner).__name__))


def _described(model: object) -> str:
    if hasattr(model, "get_params"):
        text = ", ".join(f"{k}={v!r}" for k, v in sorted(model.get_params().items()))
        return _ADDRESS.sub("", f"{type(model).__name__}({text})")
    return f"{type(model).__module__}.{type(model).__qualname__}"


def _origin(function: object) -> str:
    inner = getattr(function, "func", function)
    named = inner if inspect.isfunction(inner) else type(inner)
    return _ADDRESS.sub("", f"{named.__module__}.{named.__qualname__}")


def class_names(y: object) -> tuple[str, ...]:
    """Return the names of classes, ascending; none where `y` holds numbers."""
    labels = np.asarray(y)
    if labels.dtype.kind in "biuf":
        return ()
    return tuple(np.unique(checks.present(labels, "y").astype(np.str_)).tolist())


def require_records(x: object, y: object) -> tuple[NDArray[Any], Ints]:
    """Return features (n, d) and classes (n,) as arrays, or say what is wrong with them.

    Names of classes become their places among `class_names`.
    """
    features = np.asarray(x)
    labels = np.asarray(y)
    if names := class_names(labels):
        labels = np.searchsorted(names, labels.astype(np.str_))
    labels = checks.classes(labels, "y")
    if features.ndim != 2 or len(features) != len(labels):
        raise InputError(
            f"x must have the shape (n, d) with n = {len(labels)}, got {features.shape}"
        )
    if len(labels) == 0:
        raise InputError("x and y hold no records")
    return features, labels
