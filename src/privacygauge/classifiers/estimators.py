"""Trainers that fit models one by one: scikit-learn, XGBoost, LightGBM, or any callable."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.answers import (
    Answers,
    answers_once,
    average_answers,
    by_class,
    check_answers,
    class_numbers,
    code_of_users,
    is_module,
    mean_answers,
    no_probabilities,
)
from privacygauge.classifiers.held import ROWS, Held, RecordNumbers, dense, form_of, of_form
from privacygauge.classifiers.learner import Learner, LearnerTrainer, class_log_p
from privacygauge.classifiers.ratios import own_log_p
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

_Fill = Callable[[Floats, Any, Held, Ints, Any], None]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Matches a memory address in a repr, which differs from process to process."""


class Probabilistic(Protocol):
    """A trained model that gives the probability of every class."""

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return the probability of every class, (n, k)."""


class ProbabilisticClassifier(Probabilistic, Protocol):
    """A scikit-learn classifier, or an object with the same interface."""

    def fit(self, X: NDArray[Any], y: Ints) -> object:
        """Train on the records."""


@dataclass(frozen=True)
class Estimators:
    """Trains classifiers with ``fit`` and ``predict_proba``, each on its own."""

    make: Callable[[int], ProbabilisticClassifier]
    """Returns an untrained classifier from a random state."""
    label: str = ""
    """Name, as reports print it; default: the callable's own."""
    least: int = 2
    """Fewest classes to train on; with fewer, the training counts as failed."""
    names: tuple[str, ...] = ()
    """(k,) Names of the classes 0..k-1 in the estimator's ``class_weight``; default: their
    numbers."""
    tried: bool = field(default=False, compare=False)
    """Whether it was tried on a few records; see `tried`."""

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return self.label or function_name(self.make)

    logits = False

    def describe(self) -> Mapping[str, Any]:
        """Return the estimator's class and parameters, and the name of its factory."""
        made = self.make(0)
        text = f"{type(made).__module__}.{type(made).__qualname__}"
        if hasattr(made, "get_params"):
            params = ", ".join(f"{k}={v!r}" for k, v in sorted(made.get_params().items()))
            text = _ADDRESS.sub("", f"{type(made).__name__}({params})")
        return {
            "model": text,
            "made by": function_origin(self.make),
            **of_form(form_of(made)),
        }

    def reached(self) -> tuple[object, ...]:
        """Return the further code that runs: the estimator that `make` returns."""
        return (self.make(0),)

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return each model's probabilities for the `asked` records; see `Trainer`.

        A class that is missing from a model's records has probability 0. A record without an answer
        is NaN.
        """
        return self._filled(cohort, _fill)

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return each model's log probabilities; see `log_answers`."""
        return self._filled(cohort, _fill_logs)

    def _filled(self, cohort: Cohort, fill: _Fill) -> Floats:
        result = np.full(cohort.shape, np.nan)
        queries = cohort.records(cohort.asked)
        for said, inside, seed in zip(result, cohort.inside, cohort.seeds, strict=True):
            rows = np.flatnonzero(inside)
            seen, codes = np.unique(cohort.y[rows], return_inverse=True)
            if len(seen) < self.least:
                continue  # too few classes to learn: left as failed
            model = _one_thread(self.make(seed))
            params = model.get_params() if hasattr(model, "get_params") else {}
            number = {
                name: i for i, name in enumerate(self.names or map(str, range(cohort.n_classes)))
            }
            # Only classes that this model was trained on have a number.
            place = {int(label): i for i, label in enumerate(seen)}
            for key, weights in params.items():
                if key.split("__")[-1] != "class_weight" or not isinstance(weights, Mapping):
                    continue
                unknown = [label for label in weights if _text(label) not in number]
                if unknown:
                    raise InputError(
                        f"class_weight has the class {unknown[0]!r}, but the classes are "
                        f"{checks.short_list(number)}"
                    )
                known = {number[_text(label)]: weight for label, weight in weights.items()}
                model.set_params(**{key: {place[c]: w for c, w in known.items() if c in place}})
            # Renumbered: some estimators refuse classes with gaps between them.
            records = cohort.records(rows)
            work = f"to train on {len(codes)} records"
            with limited_to(1), code_of_users(type(model).__name__, work):
                fitted = model.fit(records, codes)
            fill(said, model if fitted is None else fitted, queries, seen, model)
        return result


@dataclass(frozen=True)
class Function:
    """Trains by a function that the user wrote."""

    train_one: Callable[[NDArray[Any], Ints, int], Probabilistic]
    """Takes records, as the user holds them, classes (m,) in 0..k-1 and a random state; returns a
    trained model, a PyTorch module, a Keras model, or a function from records to probabilities or
    logits (n, k)."""
    label: str = ""
    """Name, as reports print it; default: the function's own."""
    tried: bool = field(default=False, compare=False)
    """Whether it was tried on a few records; see `tried`."""

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return self.label or function_name(self.train_one)

    logits = False

    def describe(self) -> Mapping[str, Any]:
        """Return the function's name."""
        return {"trained by": function_origin(self.train_one), **of_form(form_of(self.train_one))}

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return each model's probabilities for the `asked` records; see `Trainer`."""
        return self._filled(cohort, _fill)

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return each model's log probabilities; see `log_answers`."""
        return self._filled(cohort, _fill_logs)

    def _filled(self, cohort: Cohort, fill: _Fill) -> Floats:
        result = np.full(cohort.shape, np.nan)
        queries = cohort.records(cohort.asked)
        for said, inside, seed in zip(result, cohort.inside, cohort.seeds, strict=True):
            rows = np.flatnonzero(inside)
            with code_of_users(self.name, f"to train on {len(rows)} records"):
                fitted = self.train_one(cohort.records(rows), cohort.y[rows], seed)
            classes = getattr(fitted, "classes_", np.arange(cohort.n_classes))
            fill(said, fitted, queries, np.asarray(classes, np.int64), fitted)
        return result


def as_trainer(model: object) -> Trainer:
    """Return a trainer for any description of how a model is trained.

    Parameters
    ----------
    model : Trainer, Training, estimator, class, or callable
        A trainer; functions of record numbers (`Training`); a scikit-learn estimator, which is
        copied untrained; a callable that takes a random state and returns an untrained estimator;
        or a function of records, classes and a random state that returns a trained model.

    Raises
    ------
    InputError
        One line: what the model lacks, and the way out.
    """
    if isinstance(model, type):
        raise InputError(f"give an instance, {model.__name__}(...), not the class itself")
    if isinstance(model, Trainer):
        return model
    if isinstance(model, Training):
        return ByRows(model)
    if isinstance(model, Learner):
        return LearnerTrainer(model)
    if is_module(model):
        raise InputError(
            "a PyTorch module does not say how it is trained: give Networks(make, epochs=...), "
            "where make(n_features, n_classes) returns an untrained module, or "
            "Training(train, predict) with a loop of your own"
        )
    if hasattr(model, "fit"):
        _require_probabilities(model)
        params = model.get_params() if hasattr(model, "get_params") else {}
        for key, value in params.items():
            # A copy has such parts untrained, and cannot use them; all models would share them.
            if key.split("__")[-1] == "cv" and isinstance(value, str) and value == "prefit":
                raise InputError(
                    f"{type(model).__name__}(cv='prefit') is of estimators that were trained "
                    "before, and shadow models have to train their own: give it with cv=5, and the "
                    "trained one as Fitted(model, member)"
                )
        return Estimators(UntrainedCopies(model), type(model).__name__)
    if not callable(model):
        raise InputError(
            f"a model must be an estimator with fit and predict_proba, or a callable, got "
            f"{type(model).__name__}"
        )
    # The number of required arguments tells a factory of estimators, with 1, from a function that
    # trains, with 3.
    required = n_required(model)
    if required == 1 or (required == 0 and len(positional_parameters(model)) == 1):
        try:
            made = model(0)
        except TypeError as error:
            raise InputError(f"{function_name(model)} takes no random state: {error}") from error
        _require_probabilities(made)
        return Estimators(model)
    if required == 3:
        return Function(model)
    raise InputError(
        "a training callable takes a random state (and returns an untrained estimator), or "
        "features, classes and a random state (and returns a trained model); "
        f"{function_name(model)} "
        f"takes {required} arguments"
    )


def as_given(model: object) -> Trainer:
    """Return a trainer of exactly the given algorithm, for training without single records.

    As `as_trainer`, but random states that are set in an estimator stay, also in the steps of a
    pipeline; unset ones are drawn. Training on a single class is allowed if the estimator accepts
    it.
    """
    trainer = as_trainer(model)
    if isinstance(trainer, ByRows):
        raise InputError(
            f"{trainer.name} trains by the numbers of records, and this audit asks about records "
            "that it makes up: give a function of features, classes and a random state"
        )
    if not isinstance(trainer, Estimators):
        return trainer
    make = trainer.make
    kept = replace(make, keeps=True) if isinstance(make, UntrainedCopies) else make
    return replace(trainer, make=kept, least=1)


@dataclass(frozen=True)
class UntrainedCopies:
    """Untrained copies of an estimator, each with its own random state if it takes one."""

    estimator: Any
    """The estimator."""
    keeps: bool = False
    """Whether random states that are not None stay as they are."""

    def __call__(self, random_state: int) -> ProbabilisticClassifier:
        """Return an untrained copy."""
        from sklearn.base import clone

        copy: Any = clone(self.estimator)
        _set_state(copy, random_state, self.keeps)
        made: ProbabilisticClassifier = copy
        return made


def _set_state(part: Any, random_state: int, keeps: bool) -> None:
    """Set every random state of an estimator's copy: its own, its candidates' and its folds'.

    With `keeps`, states that are not None stay; those of folds stay in any case.
    """
    if isinstance(part, type):
        # A class has no random state of its own to set.
        return
    if hasattr(part, "get_params"):
        for key, value in part.get_params().items():
            if key.split("__")[-1] == "random_state":
                if not (keeps and value is not None):
                    part.set_params(**{key: random_state})
            else:
                _set_state(value, random_state, keeps)
    elif isinstance(part, Mapping):
        for value in part.values():
            _set_state(value, random_state, keeps)
    elif isinstance(part, list | tuple):
        for value in part:
            _set_state(value, random_state, keeps)
    # A splitter of cross-validation, which has no `get_params`.
    elif hasattr(part, "get_n_splits") and getattr(part, "random_state", 0) is None:
        part.random_state = random_state


def _one_thread(model: Any) -> Any:
    # Models are trained in parallel: threads of their own would slow all of them down.
    if hasattr(model, "get_params"):
        known = {"": model, **model.get_params()}
        for key in known:
            owner, _, last = key.rpartition("__")
            if last != "n_jobs":
                continue
            # By default scikit-learn's estimators take one core, others several.
            of_sklearn = type(known[owner]).__module__.startswith("sklearn.")
            if known[key] not in ((1, None) if of_sklearn else (1,)):
                model.set_params(**{key: 1})
    return model


def _text(label: object) -> str:
    """Return the name of a class; booleans and whole floats become integers: 1 for True or 1.0."""
    if isinstance(label, bool | np.bool_ | float | np.floating) and label == int(label):
        return str(int(label))
    return str(label)


def _fill(probs: Floats, model: Any, x: Held, classes: Ints, named: Any) -> None:
    said = mean_answers(model, x, classes=classes, n_classes=probs.shape[1], named=named)
    known = np.isfinite(said.values).all(axis=1)
    probs[known] = by_class(said.values[known], said.logits, classes, probs.shape[1])


def _fill_logs(log_p: Floats, model: Any, x: Held, classes: Ints, named: Any) -> None:
    seen, logits = answers_once(model, x, classes=classes, n_classes=log_p.shape[1], named=named)
    known = np.isfinite(seen).all(axis=1)
    if not known.any():
        return
    with limited_to(1):
        # Logs computed by the model itself are more precise than those of rounded probabilities.
        found = class_log_p(seen) if logits else own_log_p(model, x, seen)
    log_p[known] = -np.inf
    # Classes that the model never saw have probability 0; records without an answer stay NaN.
    log_p[np.ix_(known, classes)] = found[known]


def _require_probabilities(model: object) -> None:
    if not _will_give_probabilities(model):
        raise InputError(no_probabilities(model))
    if not hasattr(model, "fit"):
        raise InputError(f"{type(model).__name__} has no fit")


def _will_give_probabilities(model: Any) -> bool:
    """Return whether an untrained model has ``predict_proba``, now or once it is trained."""
    if hasattr(model, "predict_proba"):
        return True
    steps = getattr(model, "steps", None)
    if steps:  # a pipeline does what its last step does
        return _will_give_probabilities(steps[-1][1])
    if hasattr(model, "final_estimator"):  # of stacking; the default is a logistic regression
        final = model.final_estimator
        return final is None or _will_give_probabilities(final)
    inner = getattr(model, "estimator", None)
    return (
        inner is not None
        and hasattr(type(model), "predict_proba")
        and (_will_give_probabilities(inner))
    )


def n_required(function: Callable[..., Any]) -> int:
    """Return the number of required arguments of a callable."""
    return sum(p.default is p.empty for p in positional_parameters(function))


def positional_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a callable that take positional arguments."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise InputError(f"{error}: give a function of your own around it") from error
    return [p for p in parameters if p.kind in kinds]


def class_names(y: object) -> tuple[str, ...]:
    """Return the names of classes, ascending; none if `y` holds numbers."""
    labels = np.asarray(y)
    if labels.dtype.kind in "biuf":
        return ()
    return tuple(np.unique(checks.present(labels, "y").astype(np.str_)).tolist())


def require_records(x: object, y: object) -> tuple[NDArray[Any], Ints]:
    """Return features (n, d) and integer classes (n,), or raise an error that names the fault.

    Class names become their positions among `class_names`.
    """
    features = np.asarray(dense(x))
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


AVERAGED = "answers averaged"
"""Key, in a trainer's description, of the number of calls averaged into each prediction."""


@dataclass(frozen=True, eq=False)
class Training:
    """Functions that train and query models on records that only they can look up, by number.

    Records may be anything: rows of a data frame, images in a folder, items of a Dataset.
    Everything random in training must follow from `seed`; then an interrupted run, and any number
    of processes, give the same result.

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
        if not isinstance(cohort.x, RecordNumbers):
            raise InputError(
                f"{self.name} trains by the numbers of records, and this audit makes records of "
                "its own: give a function of features, classes and a random state"
            )
        numbers = cohort.x.numbers
        k = cohort.n_classes
        asked = numbers[cohort.asked]
        found = []
        with limited_to(1):
            for inside, seed in zip(cohort.inside, cohort.seeds, strict=True):
                said, classes = self.answers(self.model(numbers[inside], seed), asked, k)
                if not self.logits:
                    found.append(by_class(said.values, said.logits, classes, k))
                    continue
                # Unlike a probability of 0, a missing logit has no value.
                if len(classes) < k:
                    raise InputError(f"{self.name} gives no logits of {k - len(classes)} classes")
                found.append(said.values[..., np.argsort(classes)])
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

        # Whether answers are logits is settled once, by all of them.
        seen, logits = said(np.arange(len(numbers)))
        mean, times = average_answers(seen, lambda rows: said(rows)[0])
        return Answers(mean, logits if given is None else given, times), classes


def function_name(function: object) -> str:
    """Return the name of a function, or of a partial of one, as reports print it."""
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__qualname__", type(inner).__name__))


def function_origin(function: object) -> str:
    """Return the module and the name of a function."""
    inner = getattr(function, "func", function)
    named = inner if inspect.isfunction(inner) else type(inner)
    return _ADDRESS.sub("", f"{named.__module__}.{named.__qualname__}")
