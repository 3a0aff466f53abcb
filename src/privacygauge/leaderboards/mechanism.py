"""The interface of all guards: a submission with the true labels, and the guard's state.

A guard is a frozen value without memory: everything that it must remember from one submission to
the next is a `GuardState`, which it takes and returns, so that a log can be replayed and a server
can store it.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class MarkedSubmission:
    """A submission with the true labels, as guards see it and analysts never do."""

    n_correct: int
    """Number of right labels; with another metric the score in n-ths, rounded."""
    n: int
    """Number of points."""
    n_classes: int
    """Number of classes."""
    claimed: float | None = None
    """Accuracy on the analyst's own data; None if not given."""
    labels: NDArray[np.number] = field(repr=False, default_factory=lambda: np.empty(0, np.int64))
    """(n,) Submitted labels; with some metrics (n, columns)."""
    truth: NDArray[np.number] = field(repr=False, default_factory=lambda: np.empty(0, np.int64))
    """(n,) Hidden labels."""
    score: float | None = None
    """Score with all its digits, for guards that show few values; None for an accuracy."""
    same: NDArray[np.number] | None = field(repr=False, default=None)
    """Values shared by equivalent submissions; None for the labels themselves."""

    @property
    def accuracy(self) -> float:
        """Share of right labels; with another metric the score."""
        return self.n_correct / self.n

    def generator(self, key: bytes) -> np.random.Generator:
        """Return the generator seeded by the submission's content and `key`.

        Only the values of the labels matter, not their type or layout; for other metrics only what
        `Metric.score` could distinguish: see `Metric.equivalent`.
        """
        # Equivalent submissions share the noise, so that it cannot be averaged away.
        same = self.labels if self.same is None else self.same
        digest = hashlib.blake2b(content(same), key=key, digest_size=16).digest()
        return np.random.default_rng(int.from_bytes(digest, "little"))


@dataclass(frozen=True, eq=False)
class GuardState:
    """A guard's memory of earlier submissions."""

    key: bytes = field(repr=False)
    """The owner's secret, from which noise is drawn."""
    asked: int = 0
    """Number of submissions so far."""
    shown: float | None = None
    """Displayed value; None before the first."""
    best: Bools | None = field(repr=False, default=None)
    """(n,) True where the displayed submission is right."""
    threshold: float = 0.0
    """Noisy threshold in force."""
    spent: int = 0
    """Number of answers that came from the test set."""


class Guard(Protocol):
    """A mechanism between the accuracy and the analyst. Public; only its key is secret."""

    @property
    def name(self) -> str:
        """Name on the command line, such as ``round:2``."""

    def start(self, key: bytes) -> GuardState:
        """Return the state before the first submission."""

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the answer, in [0, 1], and the state after it."""

    def error(self, n: int) -> float:
        """Return the standard deviation of an answer around the accuracy."""

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return the logarithm of an upper bound on the number of transcripts of k answers.

        `accounts` is None for one state shared by all submissions, otherwise the number of
        accounts, each with its own state, that made the k submissions together.
        """


class Memoryless:
    """A guard whose initial state is only its key."""

    def start(self, key: bytes) -> GuardState:
        """Return the state before the first submission."""
        return GuardState(key)


def score_digits(n: int) -> int:
    """Return the decimals of a score on n points: enough for 1/n, and what is beyond is noise."""
    return max(6, len(str(n)) + 1)


def content(values: NDArray[np.number]) -> bytes:
    """Return submitted values as bytes, little-endian, the same for every numeric type.

    Integers take four bytes each, other numbers eight.
    """
    return values.astype("<f8" if values.dtype.kind == "f" else "<u4").tobytes()


def positive(value: float, name: str) -> None:
    """Raise unless `value` is a finite number above 0."""
    if not 0.0 < value < math.inf:
        raise InputError(f"{name} must be above 0, got {value}")


def on_grid(value: float, n: int) -> float:
    """Return the nearest of 0, 1/n, ..., 1 to `value`."""
    # Finer digits would hold only noise, and make transcripts uncountable.
    return min(max(round(value * n), 0), n) / n
