"""Guards with a memory: leaderboards that show clear improvements alone, and Thresholdout."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from privacygauge.errors import InputError
from privacygauge.holdout.mechanism import (
    GuardState,
    MarkedSubmission,
    Memoryless,
    on_grid,
    positive,
)
from privacygauge.holdout.transcripts import (
    log_rising,
    log_rising_binary,
    log_rising_by_two,
    over_accounts,
)

# A gain of the step itself is not enough, however the subtraction rounds.
_ROUNDING = 1e-12
_DECIMALS = 12
"""Decimals of a value on display: further ones come from the arithmetic alone."""
_LEAST = 1e-6
"""Smallest error that is told from 0."""


@dataclass(frozen=True)
class Ladder(Memoryless):
    """Shows a new value only when it beats the one on display by more than the step.

    Sources
    -------
    Blum and Hardt, "The Ladder: a reliable leaderboard for machine learning competitions"
    (2015), Algorithm 1. On losses, 1 - accuracy, as there; the value shown is rounded to the
    nearest multiple of the step, and the next one must beat that rounded value. Where a step that
    does not divide 1 rounds a loss to more than 1, what is printed is an accuracy of 0.
    """

    step: float = 0.01
    """In (0, 1]."""

    def __post_init__(self) -> None:
        if not 0.0 < self.step <= 1.0:
            raise InputError(f"step must be in (0, 1], got {self.step}")

    @property
    def name(self) -> str:
        """``ladder:STEP``."""
        return f"ladder:{self.step:g}"

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the value on display after this submission."""
        loss = 1.0 - marked.accuracy
        first = state.shown is None
        before = -math.inf if state.shown is None else state.shown
        rises = first or loss < (1.0 - before) - self.step - _ROUNDING
        rounded = self.step * math.floor(loss / self.step + 0.5)
        reached = round(1.0 - rounded, _DECIMALS)
        shown = reached if rises else before
        return max(0.0, shown), replace(state, shown=shown, spent=state.spent + rises)

    def error(self, n: int) -> float:
        """Return step / sqrt(12), the error of a value that was just shown."""
        return max(self.step, 1 / n) / math.sqrt(12)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return ln C(k + G, k): shown scores only rise, over the G + 1 multiples of the step."""
        return over_accounts(log_rising, k, min(n, math.floor(1 / self.step + 0.5)), accounts)


@dataclass(frozen=True)
class RelativeLadder(Memoryless):
    """Shows a new value only when the error falls by more than a share of the one on display.

    For scores of any metric: the chance in an error, 1 less the score, is about proportional to
    the error itself. Values shown are 1 - (1 - step)^j for whole numbers j, so that few different
    ones exist, whatever range a metric has. An error below 10^-6 is shown as 0.
    """

    step: float = 0.05
    """Share of the error, in (0, 0.5]."""

    def __post_init__(self) -> None:
        if not 0.0 < self.step <= 0.5:
            raise InputError(f"step must be above 0% and at most 50%, got {100 * self.step:g}%")

    @property
    def name(self) -> str:
        """``ladder:STEP%``."""
        return f"ladder:{100 * self.step:g}%"

    @property
    def _rungs(self) -> int:
        return math.ceil(math.log(_LEAST) / math.log1p(-self.step))

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the value on display after this submission."""
        error = 1.0 - (marked.accuracy if marked.score is None else marked.score)
        rung = math.log(max(error, _LEAST / 2)) / math.log1p(-self.step)
        reached = 1.0
        if rung < self._rungs:
            reached = 1.0 - (1.0 - self.step) ** math.floor(rung + 0.5)
        before = -math.inf if state.shown is None else state.shown
        rises = state.shown is None or error < (1.0 - before) * (1.0 - self.step) - _ROUNDING
        shown = reached if rises else before
        return shown, replace(state, shown=shown, spent=state.spent + rises)

    def error(self, n: int) -> float:
        """Return step / sqrt(12) of an error of 1/2."""
        return self.step / 2 / math.sqrt(12)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return ln C(k + G, k): shown scores only rise, over the G + 1 values that exist."""
        return over_accounts(log_rising, k, self._rungs, accounts)


@dataclass(frozen=True)
class ParameterFreeLadder(Memoryless):
    """The Ladder whose step is the standard error of the difference to the best submission.

    Sources
    -------
    Blum and Hardt (2015), Algorithm 2: the step is s / sqrt(n), s the sample standard deviation
    of the difference between the loss vectors of this submission and of the one on display; the
    value shown is a multiple of 1/n, which an accuracy already is. With losses of 0 and 1 the
    rule is: more points gained than the root of the number d of points on which the two differ.
    With 1/n in place of 1/(n - 1) in s it would differ only where the gain is that root exactly.
    """

    name = "ladder"

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the value on display after this submission."""
        first = state.shown is None or state.best is None
        best = np.zeros(marked.n, np.bool_) if state.best is None else state.best
        gain = marked.n_correct - np.count_nonzero(best)
        changed = np.count_nonzero(marked.correct != best)
        # gain/n > s/sqrt(n), squared and multiplied out with s^2 = (d - gain^2/n)/(n - 1).
        rises = first or bool(gain > 0) & bool(gain**2 > changed)
        # Both ways the same work, so that the time of an answer says nothing that it does not.
        reached = marked.accuracy
        before = 0.0 if state.shown is None else state.shown
        shown, best = (reached, marked.correct) if rises else (before, best)
        return shown, replace(state, shown=shown, best=best, spent=state.spent + rises)

    def error(self, n: int) -> float:
        """Return 1 / sqrt(12 n): the step is at most about 1/sqrt(n)."""
        return 1 / math.sqrt(12 * n)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return the log of the count of `log_rising_binary` or `log_rising_by_two`.

        A rise needs gain^2 > d >= gain, d the points on which the two differ: at least 2 points.
        """
        counted = log_rising_binary if n_classes == 2 else log_rising_by_two
        return over_accounts(counted, k, n, accounts)


@dataclass(frozen=True)
class Thresholdout:
    """Shows the claimed accuracy, and a noisy true one only where the two are far apart.

    For a team's own loop, in which the accuracy on its training data is known. Where none is
    claimed that of a guess stands in: 1/m, or 1/2 without classes. When `releases` are used up
    the claimed value is shown always: the original then stops, which no leaderboard can.

    Sources
    -------
    Dwork, Feldman, Hardt, Pitassi, Reingold and Roth, "Generalization in adaptive data analysis
    and holdout reuse" (2015), Section 4.1, Algorithm Thresholdout, with its Laplace noise.
    """

    threshold: float = 0.04
    """Gap between the two accuracies above which the true one is shown, above 0."""
    scale: float = 0.01
    """The noise rate sigma, above 0."""
    releases: int = 1_000
    """Maximum number of answers from the test set, at least 0."""

    def __post_init__(self) -> None:
        positive(self.threshold, "threshold")
        positive(self.scale, "scale")
        if self.releases < 0:
            raise InputError(f"releases must be at least 0, got {self.releases}")

    @property
    def name(self) -> str:
        """``thresholdout:THRESHOLD``."""
        return f"thresholdout:{self.threshold:g}"

    def start(self, key: bytes) -> GuardState:
        """Return the state before the first submission, with a noisy threshold."""
        noise = _keyed_generator(key, 0).laplace(0.0, 2 * self.scale)
        return GuardState(key, threshold=self.threshold + noise)

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the claimed accuracy, or the noisy true one."""
        claimed = 1 / (marked.n_classes or 2) if marked.claimed is None else marked.claimed
        after = replace(state, asked=state.asked + 1)
        rng = _keyed_generator(state.key, after.asked)
        far = abs(marked.accuracy - claimed) > state.threshold + rng.laplace(0.0, 4 * self.scale)
        if state.spent >= self.releases or not far:
            return claimed, after
        shown = on_grid(marked.accuracy + rng.laplace(0.0, self.scale), marked.n)
        threshold = self.threshold + rng.laplace(0.0, 2 * self.scale)
        return shown, replace(after, threshold=threshold, spent=state.spent + 1)

    def error(self, n: int) -> float:
        """Return the larger of the threshold and the noise: the possible error of an answer."""
        return max(self.threshold, math.sqrt(2) * self.scale)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return ln of the sum over b <= releases of C(k, b) (n + 1)^b."""

        def counted(k: int, top: int, accounts: int) -> float:
            b = np.arange(min(k, self.releases * accounts) + 1)
            terms = gammaln(k + 1) - gammaln(b + 1) - gammaln(k - b + 1) + b * math.log(top + 1)
            return float(np.logaddexp.reduce(terms))

        return over_accounts(counted, k, n, accounts)


def _keyed_generator(key: bytes, number: int) -> np.random.Generator:
    digest = hashlib.blake2b(number.to_bytes(8, "little"), key=key, digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
