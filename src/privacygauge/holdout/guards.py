"""Guards that a benchmark's owner can put between the accuracy and the analyst, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacygauge.errors import InputError
from privacygauge.holdout.ladder import Ladder, ParameterFreeLadder, RelativeLadder, Thresholdout
from privacygauge.holdout.mechanism import (
    Guard,
    GuardState,
    MarkedSubmission,
    Memoryless,
    on_grid,
    positive,
)
from privacygauge.holdout.metrics import ACCURACY, Metric, Values
from privacygauge.holdout.names import GUARDS


@dataclass(frozen=True)
class Exact(Memoryless):
    """Shows the accuracy as it is."""

    name = "exact"

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the accuracy."""
        return marked.accuracy, state

    def error(self, n: int) -> float:
        """Return 0."""
        return 0.0

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return k ln(n + 1): each answer is one of 0, 1/n, ..., 1 (Theorem 3.1)."""
        return k * math.log(n + 1)


@dataclass(frozen=True)
class Rounded(Memoryless):
    """Shows the accuracy with a few decimals."""

    decimals: int = 2
    """Decimals of the share, at least 1: 2 shows whole percent."""

    def __post_init__(self) -> None:
        if not 1 <= self.decimals <= 12:
            raise InputError(f"decimals must be in 1..12, got {self.decimals}")

    @property
    def name(self) -> str:
        """``round:DECIMALS``."""
        return f"round:{self.decimals}"

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the accuracy with `decimals` decimals."""
        return round(marked.accuracy, self.decimals), state

    def error(self, n: int) -> float:
        """Return h / sqrt(12), h = 10^-decimals; 0 if all accuracies can be told apart."""
        step: float = 10.0**-self.decimals
        return step / math.sqrt(12) if step > 1 / n else 0.0

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return k ln D, D the number of values that can be printed."""
        return k * math.log(min(10**self.decimals, n) + 1)


@dataclass(frozen=True)
class Calibrated(Memoryless):
    """Rounds the accuracy to a step as large as chance: 1 over the root of n, rounded down.

    Half a step, which is how far an answer may be off, is at least the standard error of an
    accuracy on n points: finer digits would rank by luck.
    """

    points: int | None = None
    """Replaces n for a metric with larger variance (`Metric.points`), at least 1."""

    def __post_init__(self) -> None:
        if self.points is not None and self.points < 1:
            raise InputError(f"points must be at least 1, got {self.points}")

    @property
    def name(self) -> str:
        """``calibrated``, or ``calibrated:POINTS``."""
        return "calibrated" if self.points is None else f"calibrated:{self.points}"

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the nearest multiple of the step."""
        steps = self._steps(marked.n)
        return round(marked.accuracy * steps) / steps, state

    def error(self, n: int) -> float:
        """Return step / sqrt(12); 0 if all accuracies can be told apart."""
        return 1 / self._steps(n) / math.sqrt(12) if n > 1 else 0.0

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return k ln D, D the number of multiples of the step in [0, 1]."""
        return k * math.log(self._steps(n) + 1)

    def _steps(self, n: int) -> int:
        return math.isqrt(n if self.points is None else min(n, self.points))


class _Noisy(Memoryless):
    """Adds noise that depends on the submission's content: a repeat gets the same answer."""

    def _noise(self, rng: np.random.Generator) -> float:
        raise NotImplementedError

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return accuracy plus noise, as a multiple of 1/n in [0, 1]."""
        noise = self._noise(marked.generator(state.key))
        return on_grid(marked.accuracy + noise, marked.n), state

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return k ln(n + 1), as for exact answers: counting transcripts credits no noise."""
        return k * math.log(n + 1)


@dataclass(frozen=True)
class GaussianNoise(_Noisy):
    """Adds normal noise that depends on the submission's content: a repeat gets the same answer."""

    sd: float = 0.005
    """Standard deviation, above 0."""

    def __post_init__(self) -> None:
        positive(self.sd, "sd")

    @property
    def name(self) -> str:
        """``noise:SD``."""
        return f"noise:{self.sd:g}"

    def _noise(self, rng: np.random.Generator) -> float:
        return rng.normal(0.0, self.sd)

    def error(self, n: int) -> float:
        """Return `sd`."""
        return self.sd


@dataclass(frozen=True)
class LaplaceNoise(_Noisy):
    """Adds Laplace noise that depends on the submission's content."""

    scale: float = 0.005
    """Scale, above 0; the standard deviation is sqrt(2) times as large."""

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    @property
    def name(self) -> str:
        """``laplace:SCALE``."""
        return f"laplace:{self.scale:g}"

    def _noise(self, rng: np.random.Generator) -> float:
        return rng.laplace(0.0, self.scale)

    def error(self, n: int) -> float:
        """Return sqrt(2) times `scale`."""
        return math.sqrt(2) * self.scale


DIRECT = (Exact, Rounded, Calibrated, GaussianNoise, LaplaceNoise)
"""Guards whose answer is the submission's accuracy with an error: formulas cover them."""
_PLAIN: dict[str, Guard] = {
    "exact": Exact(),
    "calibrated": Calibrated(),
    "ladder": ParameterFreeLadder(),
}
_COUNTED: dict[str, Callable[[int], Guard]] = {"round": Rounded, "calibrated": Calibrated}
_NUMBERED: dict[str, Callable[[float], Guard]] = {
    "noise": GaussianNoise,
    "laplace": LaplaceNoise,
    "ladder": Ladder,
    "thresholdout": Thresholdout,
}


def default_guard(n: float) -> Guard:
    """Return the guard of a new board of n points: a Ladder whose step is 1/sqrt(n).

    With two digits, so that its name says all of it. Half of it is the standard error of an
    accuracy, at most: what it hides is chance. With another metric n is its `Metric.points`.
    """
    return Ladder(min(1.0, float(f"{1 / math.sqrt(n):.2g}")))


def guard_for(guard: Guard, metric: Metric, truth: Values) -> Guard:
    """Return the guard adapted to a metric: `Calibrated` by its variance, others unchanged.

    Raises
    ------
    InputError
        If it is the Ladder without a step, which counts right answers.
    """
    if metric == ACCURACY:
        return guard
    if isinstance(guard, ParameterFreeLadder):
        step = default_guard(metric.points(truth)).name
        raise InputError(
            f"guard ladder counts right answers, {metric.name} has none: name a step, such as "
            f"{step}"
        )
    if guard == Calibrated():
        return Calibrated(max(1, math.floor(metric.points(truth))))
    return guard


def guard_named(text: str) -> Guard:
    """Return the guard that `text` names, such as ``round:2`` or ``ladder``.

    Raises
    ------
    InputError
        If the guard does not exist, or its number is out of range.

    Examples
    --------
    >>> from privacygauge.holdout.guards import guard_named
    >>> guard_named("ladder:0.01")
    Ladder(step=0.01)
    """
    word, _, number = text.partition(":")
    try:
        if word == "ladder" and number.endswith("%"):
            # Rounded, as 7% over 100 is not 0.07.
            return RelativeLadder(round(float(number[:-1]) / 100, 9))
        if word in _PLAIN and not number:
            return _PLAIN[word]
        if word in _COUNTED:
            return _COUNTED[word](int(number))
        return _NUMBERED[word](float(number))
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"guard must be one of {', '.join(GUARDS)}, got {text!r}") from error
