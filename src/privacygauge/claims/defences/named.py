"""Defences by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from privacygauge.claims.defences.defence import (
    Binning,
    Defence,
    LabelOnly,
    Rounding,
    Temperature,
    TopK,
)
from privacygauge.claims.defences.memguard import MemGuard
from privacygauge.claims.defences.soft_labels import (
    Distillation,
    Hamp,
    LabelSmoothing,
    Mixup,
    RelaxLoss,
    Selena,
)
from privacygauge.claims.defences.training import (
    AgainstAttacker,
    ByOpacus,
    HiddenDropout,
    OutputPerturbation,
    Private,
    StopAfter,
    TrainingDefence,
    WeightDecay,
    WithoutRiskiest,
)
from privacygauge.errors import InputError
from privacygauge.runs.plugins import names_with_plugins, plugin

_Made = TypeVar("_Made", Defence, TrainingDefence)

DEFENCES = "memguard:1, binning:0.01, rounding:2, top-k:3, temperature:5, label-only"
"""Every defence on answers, as written on the command line; the numbers are the defaults."""

TRAINING_DEFENCES = (
    "early-stopping:10, l2:0.01, dropout:0.5, adversarial-regularisation:1, dp-sgd:8, "
    "dp-sgd-opacus:8, output-perturbation:8, removal:0.05, label-smoothing:0.1, mixup:1, "
    "relaxloss:0.5, hamp:0.9, distillation:1, selena:25"
)
"""Every defence at training; the numbers are the defaults."""

_Known = dict[str, tuple[Callable[..., _Made], Callable[[str], float] | None]]
"""Factory of each defence, and the parser of its number; None if it has no number."""

# DP-SGD and output perturbation are not among them, because they take a delta as well.
_ON_ANSWERS: _Known[Defence] = {
    "memguard": (MemGuard, float),
    "binning": (Binning, float),
    "rounding": (Rounding, int),
    "top-k": (TopK, int),
    "temperature": (Temperature, float),
    "label-only": (LabelOnly, None),
}
_AT_TRAINING: _Known[TrainingDefence] = {
    "early-stopping": (StopAfter, int),
    "l2": (WeightDecay, float),
    "dropout": (HiddenDropout, float),
    "adversarial-regularisation": (AgainstAttacker, float),
    "removal": (WithoutRiskiest, float),
    "label-smoothing": (LabelSmoothing, float),
    "mixup": (Mixup, float),
    "relaxloss": (RelaxLoss, float),
    "hamp": (Hamp, float),
    "distillation": (Distillation, float),
    "selena": (Selena, int),
}


def defence_named(text: str) -> Defence:
    """Return the defence that `text` names, such as ``rounding:2`` or ``label-only``.

    Parameters
    ----------
    text : str
        A name, and after a colon its number: the budget of ``memguard``, the width of
        ``binning``, the digits of ``rounding``, the classes of ``top-k``, T of ``temperature``.

    Raises
    ------
    InputError
        If there is no such defence, or its number is out of range.

    Examples
    --------
    >>> from privacygauge.claims.defences.named import defence_named
    >>> defence_named("rounding:1")
    Rounding(digits=1)
    """
    return _from_text(_ON_ANSWERS, text, DEFENCES)


def training_defence_named(text: str, delta: float | None = None) -> TrainingDefence:
    """Return the defence at training that `text` names, such as ``dropout:0.5``.

    Parameters
    ----------
    text : str
        A name, and after a colon its number: the epochs of ``early-stopping``, the weight decay
        of ``l2``, the rate of ``dropout``, lambda of ``adversarial-regularisation``, the epsilon
        of ``dp-sgd``, ``dp-sgd-opacus`` and ``output-perturbation``, the records of ``removal`` or
        below 1 their share, the share of ``label-smoothing``, alpha of ``mixup``, the loss of
        ``relaxloss``, the labels' entropy of ``hamp``, the temperature of ``distillation``, the
        models of ``selena``.
    delta : float, optional
        Delta of DP-SGD and output perturbation, in (0, 1); see `Private`.

    Raises
    ------
    InputError
        If there is no such defence, or its number is out of range.

    Examples
    --------
    >>> from privacygauge.claims.defences.named import training_defence_named
    >>> training_defence_named("dp-sgd:2", delta=1e-5).delta
    1e-05
    """
    known: _Known[TrainingDefence] = {
        **_AT_TRAINING,
        "output-perturbation": (partial(OutputPerturbation, delta=delta), float),
        "dp-sgd": (partial(Private, delta=delta), float),
        "dp-sgd-opacus": (partial(Private, delta=delta, by=ByOpacus()), float),
    }
    return _from_text(known, text, TRAINING_DEFENCES)


def is_at_training(text: str) -> bool:
    """Return whether `text` names a defence at training."""
    word = text.partition(":")[0]
    return word in (known.partition(":")[0] for known in TRAINING_DEFENCES.split(", "))


def any_defence_named(text: str, delta: float | None = None) -> Defence | TrainingDefence:
    """Return the defence on answers or at training that `text` names."""
    if is_at_training(text):
        return training_defence_named(text, delta)
    if text.partition(":")[0] in _ON_ANSWERS:
        return defence_named(text)
    # One of another package may be of either sort.
    return _from_text(_ON_ANSWERS, text, f"{TRAINING_DEFENCES}, {DEFENCES}")


def _from_text(known: _Known[_Made], text: str, names: str) -> _Made:
    """Return the defence that `text` names; an error lists the known `names`."""
    word, colon, number = text.partition(":")
    try:
        added = None if word in known else plugin("defences", word)
        make, read = known[word] if added is None else (added, float)
        if not colon:
            return make()
        if read is None:
            raise ValueError(f"{word} has no number")
        return make(read(number))
    # A number out of range has a message of its own.
    except InputError:
        raise
    except (KeyError, ValueError) as error:
        listed = names_with_plugins("defences", names)
        raise InputError(f"defence must be one of {listed}, got {text!r}") from error
