"""Defences on answers by the names that they have on the command line."""

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
from leakscope.errors import InputError

DEFENCES = "memguard:1, binning:0.01, rounding:2, top-k:3, temperature:5, label-only"
"""Every kind of defence, as it is written on the command line; the numbers are the defaults."""
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
