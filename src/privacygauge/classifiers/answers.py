"""Predictions of trained models, whatever library they come from."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.held import Held, is_frame, take_records
from privacygauge.classifiers.predictions import probabilities
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.runs.threads import limited_to

_ROUNDING = 1e-3
"""Largest deviation from 1 of the sum of a row of probabilities."""

AT_ONCE = 1_000
"""Largest number of records per call to a function, or to an object of an unknown library, which
may be a service with limits on its requests."""

_BLOCK = 256
"""Number of images, and of other records that are not vectors, per call to a module."""

TIMES = 16
"""Number of calls that are averaged for a model whose answers differ from call to call."""

AGAIN = 32
"""Number of records that a model is queried about twice, to see whether its answers differ."""

_ROUNDED = 1e-6
"""Largest difference between answers that are the same up to rounding."""


class UserCodeError(InputError):
    """The user's code raised an exception."""


@contextmanager
def code_of_users(name: str, what: str) -> Iterator[None]:
    """Turn an exception of the user's code into a `UserCodeError` of one line.

    `name` is the function or model, and `what` its task, such as ``to train on 12 records``.
    """
    try:
        yield
    except PrivacyGaugeError:
        raise
    except Exception as error:  # it may raise anything
        told = (str(error).splitlines() or [""])[0]
        raise UserCodeError(f"{name} failed {what}: {type(error).__name__}: {told}") from error


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's predictions for n records."""

    values: Floats
    """(n, k) Probabilities or logits; (n, q, k) with q queries per record."""
    logits: bool
    """Whether these are logits."""
    times: int = 1
    """Predictions averaged into each value: `TIMES` for a model that answers at random, else 1."""

    @property
    def named(self) -> dict[str, Floats]:
        """Values under the keyword ``probs`` or ``logits``, as `predictions` takes them."""
        return {"logits" if self.logits else "probs": self.values}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the report on these predictions."""
        return said_of_times(self.times)


def said_of_times(times: int) -> tuple[str, ...]:
    """Return the report's note on predictions averaged over `times` calls; none for one call."""
    if times == 1:
        return ()
    return (
        "the model answers differently when it is asked again about the same record: "
        f"{times} answers per record were averaged, as an attacker would; one who asks more often "
        "sees more",
    )


def average_answers(said: Floats, ask: Callable[[Ints], Floats]) -> tuple[Floats, int]:
    """Return the mean over several calls if a model's answers to one record differ.

    An attacker who meets noise, such as dropout left on, sampled answers, or noise added to hide
    the members, queries again and takes the mean.

    Parameters
    ----------
    said : ndarray of float, shape (n, ...)
        The model's first answers to all records.
    ask : callable
        Takes indices of these records and returns the model's next answers to them.

    Returns
    -------
    tuple of ndarray and int
        The first answers, or the mean of `TIMES` calls; and the number of calls averaged.
    """
    some = np.unique(np.linspace(0, len(said) - 1, AGAIN).astype(np.int64))
    again = ask(some)
    if again.shape != said[some].shape:  # cached answers, independent of the query
        return said, 1
    # Other batch sizes may round differently: that is not noise.
    agree = partial(np.allclose, rtol=_ROUNDED, atol=_ROUNDED, equal_nan=True)
    # The second comparison is between two calls of one size.
    if agree(again, said[some]) or agree(again, ask(some)):
        return said, 1
    total = said.astype(np.float64)
    for _ in range(TIMES - 1):
        total += ask(np.arange(len(said)))
    return total / TIMES, TIMES


def answers_of(model: object, x: Held, n_classes: int, names: Sequence[str] = ()) -> Answers:
    """Return the predictions of a model or function for n records, (n, n_classes).

    The model has ``predict_proba``, or is a PyTorch module, a Keras model, an XGBoost or LightGBM
    booster, an MLflow model, or a function of records. The output of all but the first is read as
    probabilities if every row sums to 1, else as logits. A function, or an object of another
    library, gets at most `AT_ONCE` records per call. `names` are the names of the classes 0..k-1,
    which the model may use for its own classes. Predictions that differ between calls are averaged
    (`average_answers`).
    """
    classes = class_numbers(model, n_classes, names)
    return finite_answers(
        mean_answers(model, x, classes=classes, n_classes=n_classes, named=model),
        classes,
        n_classes,
    )


def finite_answers(said: Answers, classes: Ints, n_classes: int) -> Answers:
    """Return the answers for all classes, which must be finite: logits if every class has one.

    Otherwise probabilities, 0 for classes that the model does not know.
    """
    bad = np.flatnonzero(~np.isfinite(said.values).all(axis=-1))
    if len(bad):
        raise InputError(f"the model's predictions are not finite, first in row {bad[0]}")
    if said.logits and np.array_equal(classes, np.arange(n_classes)):
        return said
    return Answers(by_class(said.values, said.logits, classes, n_classes), False, said.times)


def class_numbers(model: object, n_classes: int, names: Sequence[str] = ()) -> Ints:
    """Return the numbers of a model's classes, in the order of its answers."""
    classes = np.asarray(getattr(model, "classes_", np.arange(n_classes)))
    called = classes.astype(np.str_).tolist()
    known = [*names] or [str(i) for i in range(n_classes)]
    if set(called) <= set(known):
        return np.array([known.index(name) for name in called], np.int64)
    if classes.dtype.kind not in "biuf":
        raise InputError(
            f"the model was trained on the classes {checks.short_list(called)}, and the labels are "
            f"{checks.short_list(known)}: give labels of the same names"
        )
    # A model that was trained on numbers, although the classes have names.
    return classes.astype(np.int64)


def by_class(seen: Floats, logits: bool, classes: Ints, n_classes: int) -> Floats:
    """Return probabilities, (..., n_classes), with 0 for classes that the model does not know."""
    probs = np.zeros((*seen.shape[:-1], n_classes))
    probs[..., classes] = probabilities(seen, logits=logits)
    return probs


def mean_answers(model: Any, x: Held, classes: Ints, n_classes: int, named: Any) -> Answers:
    """Return the predictions for the classes that a model knows, averaged if calls differ."""
    seen, logits = answers_once(model, x, classes=classes, n_classes=n_classes, named=named)
    name = type(named).__name__
    with limited_to(1), code_of_users(name, f"to predict {len(x)} records"):
        mean, times = average_answers(
            seen, lambda rows: _numbers(_ask_in_batches(model, take_records(x, rows)), name)
        )
    return Answers(mean, logits, times)


def answers_once(
    model: Any, x: Held, classes: Ints, n_classes: int, named: Any
) -> tuple[Floats, bool]:
    """Return one call's predictions for the classes a model knows, and whether they are logits."""
    # Messages name what the user gave, which may wrap the model that is asked.
    name = type(named).__name__
    module = is_module(model)
    _, proper = _asker(model)
    with limited_to(1), code_of_users(name, f"to predict {len(x)} records"):
        said = _ask_in_batches(model, x)
    seen, logits = check_answers(
        said,
        len(x),
        classes=classes,
        n_classes=n_classes,
        name=name,
        non_negative=module,
        proper=proper,
    )
    if seen.ndim != 2:
        raise InputError(f"{name} must predict one row per record, got {seen.shape}")
    return seen, logits


def _ask_in_batches(model: Any, x: Held) -> Any:
    """Return a model's raw output; remote services get at most `AT_ONCE` records per call."""
    ask, _ = _asker(model)
    local = is_module(model) or type(model).__module__.partition(".")[0] in _LOCAL
    at_once = len(x) if local else AT_ONCE
    if at_once >= len(x):
        return ask(x)
    name = type(model).__name__
    starts = range(0, len(x), at_once)
    parts = [ask(take_records(x, np.arange(i, min(i + at_once, len(x))))) for i in starts]
    return np.concatenate([_numbers(part, name) for part in parts])


_LOCAL = frozenset({"sklearn", "xgboost", "lightgbm", "catboost", "keras", "imblearn"})
"""Libraries whose models predict any number of records at once, in this process."""


def is_askable(model: object) -> bool:
    """Return whether `answers_of` can get probabilities or logits from a trained model."""
    known = hasattr(model, "predict_proba") or _booster_of(model) or _is_pyfunc(model)
    return bool(known) or callable(model)


def _asker(model: Any) -> tuple[Callable[[Held], Any], bool]:
    """Return the function that predicts, and whether its output is always probabilities."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba, True
    # Keras is slow to import; where it is not imported yet, no model is of it.
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(model, keras.Model):
        return partial(model.predict, verbose=0), False
    if is_module(model):
        return partial(_of_module, model), False
    if (library := _booster_of(model)) is not None:
        return partial(_of_xgboost if library == "xgboost" else _of_lightgbm, model), False
    if _is_pyfunc(model):
        return partial(_of_pyfunc, model), False
    if not callable(model):
        raise InputError(no_probabilities(model))
    return model, False


def _booster_of(model: object) -> str | None:
    """Return ``xgboost`` or ``lightgbm`` for a bare booster, without its classifier; else None."""
    library = type(model).__module__.partition(".")[0]
    is_one = type(model).__name__ == "Booster" and library in ("xgboost", "lightgbm")
    return library if is_one else None


def _of_xgboost(booster: Any, x: Held) -> Any:
    from xgboost import DMatrix

    named = {} if is_frame(x) else {"feature_names": booster.feature_names}
    learner = json.loads(booster.save_config())["learner"]
    objective = learner["objective"]["name"]
    if not objective.startswith(("binary:", "multi:")) or objective == "binary:hinge":
        raise InputError(f"the Booster has the objective {objective}, which is no classifier's")
    given = DMatrix(x, enable_categorical=True, **named)
    # Margins for multi:softmax, whose predictions are classes.
    margins = objective in ("multi:softmax", "binary:logitraw")
    said = np.asarray(booster.predict(given, output_margin=margins), np.float64)
    if said.ndim == 1:
        # The columns of both classes from that of class 1.
        said = np.column_stack([np.zeros_like(said) if margins else 1 - said, said])
    return said


def _of_lightgbm(booster: Any, x: Held) -> Any:
    said = np.asarray(booster.predict(x), np.float64)
    if said.ndim > 1:
        return said
    if len(said) and not (said.min() >= 0 and said.max() <= 1):
        raise InputError(
            "the Booster gives one number for each record and no probability: give a LightGBM "
            "classifier (objective binary or multiclass)"
        )
    return np.column_stack([1 - said, said])


def _is_pyfunc(model: object) -> bool:
    return type(model).__module__.startswith("mlflow.pyfunc") and hasattr(model, "predict")


def _of_pyfunc(model: Any, x: Held) -> Any:
    """Return the probabilities of an MLflow model, or of the model that it wraps."""
    said = model.predict(x)
    # Two columns or more are the probabilities of classes, whatever the flavour is called.
    if np.ndim(said) == 2:
        return said
    raw: Any = model.get_raw_model() if hasattr(model, "get_raw_model") else None
    if hasattr(raw, "predict_proba"):
        return raw.predict_proba(x)
    if raw is not None and (_booster_of(raw) or is_module(raw)):
        return _asker(raw)[0](x)
    raise InputError(
        "the MLflow model predicts classes and no probabilities: log it with "
        'pyfunc_predict_fn="predict_proba", or give the model that it wraps, such as '
        "mlflow.sklearn.load_model gives"
    )


def check_answers(
    said: object,
    n: int,
    classes: Ints,
    n_classes: int,
    name: str,
    *,
    non_negative: bool = False,
    proper: bool = False,
) -> tuple[Floats, bool]:
    """Return the answers of `name` for n records as numbers, and whether these are logits.

    Answers are (n, k) or, for q queries per record, (n, q, k); the columns are those of `classes`,
    (k,). `non_negative` says whether logits may all be at least 0, and `proper` whether the answers
    are known to be probabilities.
    """
    seen = _numbers(said, name)
    if seen.ndim not in (2, 3) or (len(seen), seen.shape[-1]) != (n, len(classes)):
        # A single column is the probability of class 1: the message shows the mend.
        one = len(classes) == 2 and seen.shape in ((n,), (n, 1))
        both = ", a column for each class: np.column_stack([1 - p, p])" if one else ""
        raise InputError(
            f"{name} must predict probabilities of the shape ({n}, {len(classes)}), got "
            f"{seen.shape}{both}"
        )
    if len(classes) and (classes.min() < 0 or classes.max() >= n_classes):
        raise InputError(f"{name} has class {classes.max()}, but there are {n_classes}")
    if proper:
        return seen, False
    finite = seen[np.isfinite(seen).all(axis=-1)]
    off = np.abs(finite.sum(axis=-1) - 1)
    if (off <= _ROUNDING).all() and not (finite < -_ROUNDING).any():
        return seen, False
    # Counts and votes are not negative either, unless the caller rules them out.
    if not non_negative and finite.min() >= 0:
        raise InputError(
            f"{name} must predict probabilities, in rows that sum to 1, or logits: these rows do "
            "not sum to 1, and no value is negative; divide counts or votes by their sum"
        )
    return seen, True


def _numbers(said: Any, name: str) -> Floats:
    """Return model output as a float64 array: tensors are detached, and `.logits` unwrapped."""
    said = getattr(said, "logits", said)
    if "torch" in sys.modules and isinstance(said, sys.modules["torch"].Tensor):
        said = said.detach().cpu().double().numpy()
    try:
        return np.asarray(said, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must predict an array of numbers, got {type(said).__name__}"
        ) from error


def is_module(model: object) -> bool:
    """Return whether a model is a PyTorch module."""
    # If torch is not imported, no module can exist.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _of_module(module: Any, x: NDArray[Any]) -> Floats:
    torch = sys.modules["torch"]
    given = torch.as_tensor(x)
    parameter = next(module.parameters(), None)
    kind = torch.get_default_dtype() if parameter is None else parameter.dtype
    # An embedding needs integers; other layers need the type of the weights.
    tokens = any(isinstance(part, torch.nn.Embedding) for part in module.modules())
    if not tokens or given.is_floating_point():
        given = given.to(kind)
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            given = given if parameter is None else given.to(parameter.device)
            # Activations of images may not fit into memory for all records at once.
            parts = [given] if given.ndim == 2 else given.split(_BLOCK)
            said = [_numbers(module(part), type(module).__name__) for part in parts]
            return np.concatenate(said)
    finally:
        module.train(was_training)


def no_probabilities(model: object) -> str:
    """Return the error message for a model without `predict_proba`."""
    # scikit-learn's mark of a regressor; from 1.6 on in tags, before in an attribute.
    tags = getattr(model, "__sklearn_tags__", None)
    kind = getattr(model, "_estimator_type", None) if tags is None else tags().estimator_type
    if kind == "regressor":
        return (
            f"{type(model).__name__} predicts numbers, not classes: audit it with "
            "pg.audit_regressor, or its errors with pg.audit_scores (privacygauge scores)"
        )
    return (
        f"{type(model).__name__} has no predict_proba, and attacks need probabilities: wrap it in "
        "sklearn.calibration.CalibratedClassifierCV, or give a model that has it, or a function "
        "from records to probabilities"
    )
