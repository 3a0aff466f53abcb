"""Canaries that a training is given, to be memorised."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.errors import InputError


@dataclass(frozen=True)
class Canaries:
    """Records that are made to be memorised: a training's leak of them is the worst case.

    For a language model they are random tokens, for a classifier records with a wrong class.
    """

    n: int
    """How many there are; a fair coin puts each into the training set or leaves it out."""
    copies: int = 1
    """How often each is in the training set."""
    compared: int = 500
    """Further ones of a language model that are never trained on, to rank the others among."""
    tokens: int = 16
    """Tokens of each, of a language model."""

    def __post_init__(self) -> None:
        for name, least in (("n", 4), ("copies", 1), ("compared", 0), ("tokens", 4)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
