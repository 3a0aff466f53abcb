"""Defences by the names that they have on the command line."""

from __future__ import annotations

from collections.abc import Callable

from leakscope.classifier.defences.defence import Defence
from leakscope.classifier.defences.memguard import MemGuard
from leakscope.classifier.defences.perturbations import (
    Binning,
    LabelOnly,
    Rounding,
    Temperature,
    TopK,
)
from leakscope.classifier.defences.training import (
    AgainstAttacker,
    ByOpacus,
    HiddenDropout,
    Private,
    StopAfter,
    TrainingDefence,
    WeightDecay,
    WithoutRiskiest,
)
from leakscope.errors import InputError

DEFENCES = "memguard:1, binning:0.01, rounding:2, top-k:3, temperature:5, label-only"
"""Every defence on answers, as it is written on the command line; the numbers are the defaults."""

TRAINING_DEFENCES = (
    "early-stopping:10, l2:0.01, dropout:0.5, adversarial-regularisation:1, dp-sgd:8, "
    "dp-sgd-opacus:8, removal:0.05"
)
"""Every defence at training; the numbers are the defaults."""
_PLAIN: dict[str, Callable[[], Defence]] = {
    "memguard": MemGuard,
    "binning": Binning,
    "rounding": Rounding,
    "top-k": TopK,
    "temperature": Temperature,
    "label-only": LabelOnly,
}
_NUMBERED: dict[str, Callable[[str], Defence]] = {
    "memguard": lambda number: MemGuard(float(number)),
    "binning": lambda number: Binning(float(number)),
    "rounding": lambda number: Rounding(int(number)),
    "top-k": lambda number: TopK(int(number)),
    "temperature": lambda number: Temperature(float(number)),
}
_PLAIN_AT_TRAINING: dict[str, Callable[[], TrainingDefence]] = {
    "early-stopping": StopAfter,
    "l2": WeightDecay,
    "dropout": HiddenDropout,
    "adversarial-regularisation": AgainstAttacker,
    "removal": WithoutRiskiest,
}
_AT_TRAINING: dict[str, Callable[[str], TrainingDefence]] = {
    "early-stopping": lambda number: StopAfter(int(number)),
    "l2": lambda number: WeightDecay(float(number)),
    "dropout": lambda number: HiddenDropout(float(number)),
    "adversarial-regularisation": lambda number: AgainstAttacker(float(number)),
    "removal": lambda number: WithoutRiskiest(float(number)),
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
    >>> from leakscope.classifier.defences.named import defence_named
    >>> defence_named("rounding:1")
    Rounding(digits=1)
    """
    word, colon, number = text.partition(":")
    try:
        return _NUMBERED[word](number) if colon else _PLAIN[word]()
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"defence must be one of {DEFENCES}, got {text!r}") from error


def training_defence_named(text: str, delta: float | None = None) -> TrainingDefence:
    """Return the defence at training that `text` names, such as ``dropout:0.5``.

    Parameters
    ----------
    text : str
        A name, and after a colon its number: the epochs of ``early-stopping``, the weight decay
        of ``l2``, the rate of ``dropout``, lambda of ``adversarial-regularisation``, the epsilon
        of ``dp-sgd`` and ``dp-sgd-opacus``, the records of ``removal`` or below 1 their share.
    delta : float, optional
        Of DP-SGD; see `Private`.

    Raises
    ------
    InputError
        If there is no such defence, or its number is out of range.

    Examples
    --------
    >>> from leakscope.classifier.defences.named import training_defence_named
    >>> training_defence_named("dp-sgd:2", delta=1e-5).delta
    1e-05
    """
    word, colon, number = text.partition(":")
    try:
        if word in ("dp-sgd", "dp-sgd-opacus"):
            epsilon = float(number) if colon else Private().epsilon
            return Private(epsilon, delta, None if word == "dp-sgd" else ByOpacus())
        return _AT_TRAINING[word](number) if colon else _PLAIN_AT_TRAINING[word]()
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"defence must be one of {TRAINING_DEFENCES}, got {text!r}") from error


def any_defence_named(text: str, delta: float | None = None) -> Defence | TrainingDefence:
    """Return the defence on answers or at training that `text` names."""
    if is_at_training(text):
        return training_defence_named(text, delta)
    if text.partition(":")[0] in _PLAIN:
        return defence_named(text)
    raise InputError(f"defence must be one of {TRAINING_DEFENCES}, {DEFENCES}, got {text!r}")


def is_at_training(text: str) -> bool:
    """Return whether `text` names a defence that trains another model."""
    word = text.partition(":")[0]
    return word in (known.partition(":")[0] for known in TRAINING_DEFENCES.split(", "))
