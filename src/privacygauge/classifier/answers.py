"""What trained models say of records, whatever library they are of."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.held import Held
from privacygauge.classifier.pool import probabilities
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.runs.threads import limited_to

_ROUNDING = 1e-3  # of what a row of probabilities sums to
_BLOCK = 256
"""Images and the like that a module is asked about at once."""


class UserCodeError(InputError):
    """Code of the user's raised an exception."""


@contextmanager
def code_of_users(name: str, what: str) -> Iterator[None]:
    """Say in one line what code of the user's raised.

    `name` is the function or model, `what` what it was to do, such as ``to train on 12 records``.
    """
    try:
        yield
    except PrivacyGaugeError:
        raise
    except Exception as error:  # it may raise anything
        told = (str(error).splitlines() or [""])[0]
        raise UserCodeError(f"{name} failed {what}: {type(error).__name__}: {told}") from error


def answers_of(
    model: object, x: Held, n_classes: int, names: Sequence[str] = ()
) -> dict[str, Floats]:
    """Return ``probs`` or ``logits``, (n, n_classes), that a model or function says of n records.

    The model has ``predict_proba``, or is a PyTorch module, a Keras model or a function of records;
    what any but the first return are probabilities if all rows are, logits otherwise. `names` are
    those of the classes 0..k-1, one of which each of the model's may be.
    """
    classes = classes_of(model, n_classes, names)
    return finite_answers(*answers(model, x, classes, n_classes, model), classes, n_classes)


def finite_answers(seen: Floats, logits: bool, classes: Ints, n_classes: int) -> dict[str, Floats]:
    """Return answers of all classes, named ``probs`` or ``logits``, if all are finite."""
    bad = np.flatnonzero(~np.isfinite(seen).all(axis=-1))
    if len(bad):
        raise InputError(f"the model's predictions are not finite, first in row {bad[0]}")
    if logits and np.array_equal(classes, np.arange(n_classes)):
        return {"logits": seen}
    return {"probs": by_class(seen, logits, classes, n_classes)}


def classes_of(model: object, n_classes: int, names: Sequence[str] = ()) -> Ints:
    """Return the numbers of the classes that a model knows, in the order of its answers."""
    classes = np.asarray(getattr(model, "classes_", np.arange(n_classes)))
    called = classes.astype(np.str_).tolist()
    known = [*names] or [str(i) for i in range(n_classes)]
    if set(called) <= set(known):
        return np.array([known.index(name) for name in called], np.int64)
    if classes.dtype.kind not in "biuf":
        raise InputError(
            f"the model was trained on the classes {checks.listed(called)}, and the labels are "
            f"{checks.listed(known)}: give labels of the same names"
        )
    return classes.astype(np.int64)


def by_class(seen: Floats, logits: bool, classes: Ints, n_classes: int) -> Floats:
    """Return probabilities, (..., n_classes), with 0 for the classes that a model does not know."""
    probs = np.zeros((*seen.shape[:-1], n_classes))
    probs[..., classes] = probabilities(seen, logits=logits)
    return probs


def answers(model: Any, x: Held, classes: Ints, n_classes: int, named: Any) -> tuple[Floats, bool]:
    """Return what a model says of the classes that it knows, and whether these are logits."""
    name = type(named).__name__
    module, proper = is_module(model), hasattr(model, "predict_proba")
    ask = getattr(model, "predict_proba", model)
    if _is_keras(model):
        ask = partial(model.predict, verbose=0)
    elif module:
        ask = partial(_of_module, model)
    if not callable(ask):
        raise InputError(no_probabilities(model))
    with limited_to(1), code_of_users(name, f"to predict {len(x)} records"):
        said = ask(x)
    seen, logits = checked(
        said, len(x), classes, n_classes, name, non_negative=module, proper=proper
    )
    if seen.ndim != 2:
        raise InputError(f"{name} must predict one row per record, got {seen.shape}")
    return seen, logits


def checked(
    said: object,
    n: int,
    classes: Ints,
    n_classes: int,
    name: str,
    *,
    non_negative: bool = False,
    proper: bool = False,
) -> tuple[Floats, bool]:
    """Return what `name` said of n records as numbers, and whether these are logits.

    It said (n, k) numbers or, for q queries per record, (n, q, k); the columns stand for `classes`
    (k,). `non_negative` is whether logits may be all above 0, `proper` whether these are
    probabilities in any case.
    """
    seen = _numbers(said, name)
    if seen.ndim not in (2, 3) or (len(seen), seen.shape[-1]) != (n, len(classes)):
        one = len(classes) == 2 and seen.shape in ((n,), (n, 1))
        both = ", a column for each class: np.column_stack([1 - p, p])" if one else ""
        raise InputError(
            f"{name} must predict probabilities of the shape ({n}, {len(classes)}), got "
            f"{seen.shape}{both}"
        )
    if len(classes) and (classes.min() < 0 or classes.max() >= n_classes):
        raise InputError(f"{name} has class {classes.max()}, but there are {n_classes}")
    return seen, not proper and _are_logits(seen, name, non_negative=non_negative)


def _numbers(said: Any, name: str) -> Floats:
    """Return an array of what may be a tensor, on a device or with a gradient, or hold logits."""
    said = getattr(said, "logits", said)
    if "torch" in sys.modules and isinstance(said, sys.modules["torch"].Tensor):
        said = said.detach().cpu().double().numpy()
    try:
        return np.asarray(said, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must predict an array of numbers, got {type(said).__name__}"
        ) from error


def _are_logits(seen: Floats, name: str, *, non_negative: bool) -> bool:
    """Return whether finite rows are logits, which may be all above 0 where `non_negative`."""
    seen = seen[np.isfinite(seen).all(axis=-1)]
    if (np.abs(seen.sum(axis=-1) - 1) <= _ROUNDING).all() and not (seen < -_ROUNDING).any():
        return False
    if not non_negative and seen.min() >= 0:
        raise InputError(
            f"{name} must predict probabilities, in rows that sum to 1, or logits: these rows do "
            "not sum to 1, and no value is negative; divide counts or votes by their sum"
        )
    return True


def is_module(model: object) -> bool:
    """Return whether a model is a PyTorch module."""
    # Without torch in memory nobody can have made a module.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _is_keras(model: object) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def _of_module(module: Any, x: NDArray[Any]) -> Floats:
    torch = sys.modules["torch"]
    given, parameter = torch.as_tensor(x), next(module.parameters(), None)
    kind = torch.get_default_dtype() if parameter is None else parameter.dtype
    tokens = any(isinstance(part, torch.nn.Embedding) for part in module.modules())
    if not tokens or given.is_floating_point():
        given = given.to(kind)
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            given = given if parameter is None else given.to(parameter.device)
            parts = [given] if given.ndim == 2 else given.split(_BLOCK)
            said = [_numbers(module(part), type(module).__name__) for part in parts]
            return np.concatenate(said)
    finally:
        module.train(was_training)


def no_probabilities(model: object) -> str:
    """Return what to say of a model without them."""
    return (
        f"{type(model).__name__} has no predict_proba, and attacks need probabilities: wrap it in "
        "sklearn.calibration.CalibratedClassifierCV, or give a model that has it"
    )
