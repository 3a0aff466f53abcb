"""Guards that a benchmark's owner can put before the analyst, with a memory or without, by name."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln, logsumexp

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.leaderboards.mechanism import (
    Guard,
    GuardState,
    MarkedSubmission,
    Memoryless,
    on_grid,
    positive,
    score_digits,
)
from privacygauge.leaderboards.metrics import ACCURACY, Metric, Values
from privacygauge.leaderboards.names import GUARDS
from privacygauge.runs.plugins import names_with_plugins, plugin

# Sums with more terms are left to the bound without a sum, which costs a few nats.
_TERMS = 100_000


def log_rising(k: int, top: int, accounts: int = 1) -> float:
    """Return ln C(k + t top, k): each of t accounts rises among the values 0, 1, ..., top.

    With r rises, the values shown are r + t of the t (top + 1) pairs of an account and a value, and
    the strategy knows whose each is: the sum over r of C(k - t, r) C(t (top + 1), r + t). At most
    (top + 1)^k.
    """
    return min(float(log_choose(k + accounts * top, k)), k * math.log1p(top))


def log_rising_by_two(k: int, top: int, accounts: int = 1) -> float:
    """Return the log of the count of `log_rising` if every rise is of 2 or more.

    Of N pairs in a row, with a gap between two accounts, j without neighbours are one of C(N - j +
    1, j) sets.
    """
    bound = min(log_rising(k, top, accounts), _potential(k, top, accounts, _BY_TWO))
    most = min(k - accounts, accounts * (top + 2) // 2 - accounts)
    if most < 0 or most > _TERMS:
        return bound
    shown = np.arange(most + 1.0) + accounts
    rises = log_choose(k - accounts, shown - accounts)
    # Rises are chosen among the k - t further queries, values among the pairs without neighbours.
    terms = rises + log_choose(accounts * (top + 2) - shown, shown)
    return min(bound, float(logsumexp(terms)))


def log_rising_binary(k: int, top: int, accounts: int = 1) -> float:
    """Return the log of the count of `log_rising` if the gain's square exceeds the change.

    With two classes the strategy knows how many labels D it changes. Each change is a point won or
    lost, so a gain g has the parity of D, and a rise needs sqrt(D) < g <= D. Counted by the halves
    of what is gained: t ln 2 + ln C(k + t floor(top/2), k). Counted by a potential that falls by
    the factor exp(-a g): the best D leaves 1 + max over j of (exp(-a j) - exp(-a j^2)) / (1 -
    exp(-2 a)), with j the root of D rounded up.
    """
    halves = accounts * math.log(2) + log_rising(k, top // 2, accounts)
    # Each count is an upper bound, so the smallest holds.
    return min(
        halves, _potential(k, top, accounts, _by_root()), log_rising_by_two(k, top, accounts)
    )


def over_accounts(
    counted: Callable[[int, int, int], float], k: int, top: int, accounts: int | None
) -> float:
    """Return `counted` for a guard with one state, or with one state per account.

    With t states, ln(t (t + 1)) is added. A strategy that decides by the answers whether to use
    another account ends with a different t in each leaf; these weights, whose inverses sum to 1,
    keep the leaves of a budget of x nats below exp(x) for all t together.
    """
    if accounts is None:
        return counted(k, top, 1)
    t = min(accounts, k)
    return counted(k, top, t) + math.log(t * (t + 1))


def log_choose(n: ArrayLike, k: ArrayLike) -> Floats:
    """Return ln C(n, k), even for n so large that its factorial has no exact digits."""
    n = np.asarray(n, np.float64)
    k = np.asarray(k, np.float64)
    # C(n, k) = 1 / ((n + 1) B(n - k + 1, k + 1)), with B the beta function.
    return np.asarray(-np.log1p(n) - betaln(n - k + 1, k + 1))


def _potential(k: int, top: int, accounts: int, log_branches: Floats) -> float:
    """Return the minimum over a of (k - t) ln c(a) + t ln(sum over v <= top of exp(a v)).

    c(a) bounds 1 + the sum of exp(-a g) over the gains g that one query may show. By induction over
    the tree, exp(a (top - v)), multiplied over the accounts, counts what the values v still allow.
    """
    a = _RATES
    # The log of the geometric sum of exp(a v), v = 0..top, without overflow.
    first = a * top + np.log(-np.expm1(-a * (top + 1.0))) - np.log(-np.expm1(-a))
    return float(np.min((k - accounts) * log_branches + accounts * first))


# Any rate gives a bound; a fixed set of rates keeps it increasing in k to the last digit.
_RATES: Floats = np.asarray(np.exp2(np.arange(-40, 4, 1 / 32)))
_BY_TWO: Floats = np.asarray(np.log1p(np.exp(-2 * _RATES) / -np.expm1(-_RATES)))
"""Log of the branches, by the rate, if every rise is of 2 or more."""


@cache
def _by_root() -> Floats:
    """Return the log of the branches, by the rate, if the gain's square exceeds the change."""
    a = _RATES
    root = np.full_like(a, 2.0)
    # The derivative is 0 where a j (j - 1) = ln(2 j); the iteration rises to that point.
    for _ in range(60):
        root = (1 + np.sqrt(1 + 4 * np.log(2 * root) / a)) / 2
    # The maximum over whole j is next to the real one.
    whole = np.maximum(2.0, np.floor(root) + np.arange(-1, 3)[:, None])
    gained = (np.exp(-a * whole) - np.exp(-a * whole**2)) / -np.expm1(-2 * a)
    return np.asarray(np.log1p(gained.max(axis=0)))


# A gain equal to the step is not enough, however the subtraction rounds.
_ROUNDING = 1e-12
_DECIMALS = 12
"""Decimals of a displayed value: further ones are rounding errors."""
_LEAST = 1e-6
"""Smallest error distinguished from 0."""


@dataclass(frozen=True)
class Ladder(Memoryless):
    """Shows a new value only if it beats the displayed one by more than the step.

    Sources
    -------
    Blum and Hardt, "The Ladder: a reliable leaderboard for machine learning competitions" (2015),
    Algorithm 1. On losses, 1 - accuracy, as there; the value shown is rounded to the nearest
    multiple of the step, and the next one must beat that rounded value. If a step that does not
    divide 1 rounds a loss to more than 1, an accuracy of 0 is shown.
    """

    step: float = 0.01
    """Smallest improvement that is shown, in (0, 1]."""
    name: str = field(init=False, repr=False)
    """``ladder:STEP``."""

    def __post_init__(self) -> None:
        if not 0.0 < self.step <= 1.0:
            raise InputError(f"step must be in (0, 1], got {self.step}")
        object.__setattr__(self, "name", f"ladder:{self.step:g}")

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the displayed value after this submission."""
        loss = 1.0 - marked.accuracy
        first = state.shown is None
        # Before the first submission nothing is displayed: any accuracy beats it.
        before = -math.inf if state.shown is None else state.shown
        rises = first or loss < (1.0 - before) - self.step - _ROUNDING
        rounded = self.step * math.floor(loss / self.step + 0.5)
        reached = round(1.0 - rounded, _DECIMALS)
        shown = reached if rises else before
        return max(0.0, shown), replace(state, shown=shown, spent=state.spent + rises)

    def error(self, n: int) -> float:
        """Return step / sqrt(12), the error of a value just shown."""
        return max(self.step, 1 / n) / math.sqrt(12)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return ln C(k + G, k): shown scores only rise, over the G + 1 multiples of the step."""
        return over_accounts(log_rising, k, min(n, math.floor(1 / self.step + 0.5)), accounts)


@dataclass(frozen=True)
class RelativeLadder(Memoryless):
    """Shows a new value only if the error falls by more than a share of the displayed one.

    For scores of any metric: the chance part of an error, 1 minus the score, is roughly
    proportional to the error itself. Values shown are 1 - (1 - step)^j for whole numbers j, so few
    distinct values exist, whatever the metric's range. An error below 10^-6 is shown as 0.
    """

    step: float = 0.05
    """Share of the error, in (0, 0.5]."""
    name: str = field(init=False, repr=False)
    """``ladder:STEP%``."""
    rungs: int = field(init=False, repr=False)
    """Number of values from an error of 1 down to one shown as 0."""

    def __post_init__(self) -> None:
        if not 0.0 < self.step <= 0.5:
            raise InputError(f"step must be above 0% and at most 50%, got {100 * self.step:g}%")
        object.__setattr__(self, "name", f"ladder:{100 * self.step:g}%")
        rungs = math.ceil(math.log(_LEAST) / math.log1p(-self.step))
        object.__setattr__(self, "rungs", rungs)

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the displayed value after this submission."""
        error = 1.0 - (marked.accuracy if marked.score is None else marked.score)
        rung = math.log(max(error, _LEAST / 2)) / math.log1p(-self.step)
        reached = 1.0
        if rung < self.rungs:
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
        return over_accounts(log_rising, k, self.rungs, accounts)


def _nearest(number: float) -> int:
    return math.floor(number + 0.5)


@dataclass(frozen=True)
class ArcsineLadder(Memoryless):
    """Shows a new accuracy only if it beats the displayed one by some standard errors.

    In arcsin(sqrt(loss)) an accuracy of n points has the standard error 1 / (2 sqrt(n)) whatever
    its value, so the step is the size of chance for teams at 55% and at 99%. Values shown are
    cos^2(j u) for whole numbers j, with u the step in these units.
    """

    step: float = 1.3
    """Smallest improvement that is shown, in standard errors, in (0, 10]."""
    name: str = field(init=False, repr=False)
    """``ladder:STEPse``."""

    def __post_init__(self) -> None:
        if not 0.0 < self.step <= 10.0:
            raise InputError(f"step must be in (0, 10] standard errors, got {self.step:g}")
        object.__setattr__(self, "name", f"ladder:{self.step:g}se")

    def _unit(self, n: int) -> float:
        return self.step / (2 * math.sqrt(n))

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the displayed value after this submission."""
        unit = self._unit(marked.n)
        angle = math.asin(math.sqrt(1.0 - marked.accuracy))
        rung = min(unit * _nearest(angle / unit), math.pi / 2)
        # As many digits as a receipt has, so that it shows what the log holds.
        reached = round(math.cos(rung) ** 2, score_digits(marked.n))
        before = 0.0 if state.shown is None else state.shown
        # In whole rungs, which the rounding of the displayed value cannot move.
        held = _nearest(math.asin(math.sqrt(1.0 - before)) / unit)
        rises = state.shown is None or angle < unit * (held - 1) - _ROUNDING
        shown = reached if rises else before
        return shown, replace(state, shown=shown, spent=state.spent + rises)

    def error(self, n: int) -> float:
        """Return the error of a value just shown near 1/2, the step in accuracy over sqrt(12)."""
        return max(self._unit(n), 1 / n) / math.sqrt(12)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return ln C(k + G, k): shown scores only rise, over the G + 1 values that exist."""
        return over_accounts(log_rising, k, min(n, _nearest(math.pi / 2 / self._unit(n))), accounts)


@dataclass(frozen=True)
class ParameterFreeLadder(Memoryless):
    """The Ladder with the standard error of the difference to the best submission as its step.

    Sources
    -------
    Blum and Hardt (2015), Algorithm 2: the step is s / sqrt(n), with s the sample standard
    deviation of the difference between the loss vectors of this submission and of the displayed
    one; the value shown is a multiple of 1/n, which an accuracy already is. With losses of 0 and 1
    the rule is: more points gained than the root of the number d of points on which the two differ.
    With 1/n in place of 1/(n - 1) in s, the rule would differ only if the gain is exactly that
    root.
    """

    name = "ladder"

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the displayed value after this submission."""
        first = state.shown is None or state.best is None
        best = np.zeros(marked.n, np.bool_) if state.best is None else state.best
        correct = np.asarray(marked.labels == marked.truth)
        gain = marked.n_correct - np.count_nonzero(best)
        changed = np.count_nonzero(correct != best)
        # gain/n > s/sqrt(n), squared and multiplied out with s^2 = (d - gain^2/n)/(n - 1).
        rises = first or bool(gain > 0) & bool(gain**2 > changed)
        # The same work in both cases, so that the time of an answer reveals nothing more than the
        # answer.
        reached = marked.accuracy
        before = 0.0 if state.shown is None else state.shown
        shown, best = (reached, correct) if rises else (before, best)
        return shown, replace(state, shown=shown, best=best, spent=state.spent + rises)

    def error(self, n: int) -> float:
        """Return 1 / sqrt(12 n): the step is at most about 1/sqrt(n)."""
        return 1 / math.sqrt(12 * n)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return the log of the count of `log_rising_binary` or `log_rising_by_two`.

        A rise needs gain^2 > d >= gain, with d the points on which the two differ: at least 2
        points.
        """
        counted = log_rising_binary if n_classes == 2 else log_rising_by_two
        return over_accounts(counted, k, n, accounts)


@dataclass(frozen=True)
class Thresholdout:
    """Shows the claimed accuracy, and a noisy true one only if the two are far apart.

    For a team's own loop, in which the accuracy on its training data is known. If none is claimed,
    that of a guess is used: 1/m, or 1/2 without classes. Once `releases` are used up, the claimed
    value is always shown: the original algorithm then stops, which a leaderboard cannot.


    Sources
    -------
    Dwork, Feldman, Hardt, Pitassi, Reingold and Roth, "Generalization in adaptive data analysis
    and holdout reuse" (2015), Section 4.1, Algorithm Thresholdout, with its Laplace noise.
    """

    threshold: float = 0.04
    """Gap between the two accuracies above which the true one is shown, above 0."""
    scale: float = 0.01
    """Noise rate sigma, above 0."""
    releases: int = 1_000
    """Largest number of answers from the test set, at least 0."""
    name: str = field(init=False, repr=False)
    """``thresholdout:THRESHOLD``."""

    def __post_init__(self) -> None:
        positive(self.threshold, "threshold")
        positive(self.scale, "scale")
        if self.releases < 0:
            raise InputError(f"releases must be at least 0, got {self.releases}")
        object.__setattr__(self, "name", f"thresholdout:{self.threshold:g}")

    def start(self, key: bytes) -> GuardState:
        """Return the state before the first submission, with a noisy threshold."""
        noise = _keyed_generator(key, 0).laplace(0.0, 2 * self.scale)
        return GuardState(key, threshold=self.threshold + noise)

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the claimed accuracy, or the noisy true one."""
        claimed = 1 / (marked.n_classes or 2) if marked.claimed is None else marked.claimed
        after = replace(state, asked=state.asked + 1)
        rng = _keyed_generator(state.key, after.asked)
        # Noise scales 2, 4 and 1 sigma for threshold, comparison and release, as in the source.
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
    # Noise by key and number: the same state gives the same answer, also after a restart.
    digest = hashlib.blake2b(number.to_bytes(8, "little"), key=key, digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


class _OnGrid(Memoryless):
    """A guard whose answers are multiples of 1/n."""

    deviation: float
    """Standard deviation of an answer around the accuracy."""

    def error(self, n: int) -> float:
        """Return the standard deviation of an answer, which does not depend on n."""
        return self.deviation

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return k ln(n + 1): each answer is one of 0, 1/n, ..., 1 (Theorem 3.1).

        Counting transcripts does not credit noise.
        """
        return k * math.log(n + 1)


@dataclass(frozen=True)
class Exact(_OnGrid):
    """Shows the accuracy as it is."""

    name = "exact"
    deviation = 0.0

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the accuracy."""
        return marked.accuracy, state


@dataclass(frozen=True)
class Rounded(Memoryless):
    """Shows the accuracy with a few decimals."""

    decimals: int = 2
    """Decimals of the share, in 1..12: 2 shows whole percentages."""
    name: str = field(init=False, repr=False)
    """``round:DECIMALS``."""

    def __post_init__(self) -> None:
        if not 1 <= self.decimals <= 12:
            raise InputError(f"decimals must be in 1..12, got {self.decimals}")
        object.__setattr__(self, "name", f"round:{self.decimals}")

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the accuracy with `decimals` decimals."""
        return round(marked.accuracy, self.decimals), state

    def error(self, n: int) -> float:
        """Return h / sqrt(12), with h = 10^-decimals; 0 if all accuracies remain distinct."""
        step: float = 10.0**-self.decimals
        return step / math.sqrt(12) if step > 1 / n else 0.0

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return k ln D, with D the number of values that can be shown."""
        return k * math.log(min(10**self.decimals, n) + 1)


@dataclass(frozen=True)
class Calibrated(Memoryless):
    """Rounds the accuracy to a step the size of chance: 1 over the root of n, rounded down.

    Half a step, the largest error of an answer, is at least the standard error of an accuracy on n
    points: finer digits would rank by luck.
    """

    points: int | None = None
    """Number that replaces n for a metric with larger variance (`Metric.points`), at least 1."""
    name: str = field(init=False, repr=False)
    """``calibrated``, or ``calibrated:POINTS``."""

    def __post_init__(self) -> None:
        if self.points is not None and self.points < 1:
            raise InputError(f"points must be at least 1, got {self.points}")
        own = "" if self.points is None else f":{self.points}"
        object.__setattr__(self, "name", f"calibrated{own}")

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the nearest multiple of the step."""
        steps = self._steps(marked.n)
        return round(marked.accuracy * steps) / steps, state

    def error(self, n: int) -> float:
        """Return step / sqrt(12); 0 for a single point."""
        return 1 / self._steps(n) / math.sqrt(12) if n > 1 else 0.0

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return k ln D, with D the number of multiples of the step in [0, 1]."""
        return k * math.log(self._steps(n) + 1)

    def _steps(self, n: int) -> int:
        return math.isqrt(n if self.points is None else min(n, self.points))


@dataclass(frozen=True)
class GaussianNoise(_OnGrid):
    """Adds normal noise that depends on the submission's content: a repeat gets the same answer."""

    sd: float = 0.005
    """Standard deviation of the noise, above 0."""
    name: str = field(init=False, repr=False)
    """``noise:SD``."""
    deviation: float = field(init=False, repr=False)
    """`sd`."""

    def __post_init__(self) -> None:
        positive(self.sd, "sd")
        object.__setattr__(self, "name", f"noise:{self.sd:g}")
        object.__setattr__(self, "deviation", self.sd)

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return accuracy plus noise, as a multiple of 1/n in [0, 1]."""
        noise = marked.generator(state.key).normal(0.0, self.sd)
        return on_grid(marked.accuracy + noise, marked.n), state


@dataclass(frozen=True)
class LaplaceNoise(_OnGrid):
    """Adds Laplace noise that depends on the submission's content, as `GaussianNoise` does."""

    scale: float = 0.005
    """Scale of the noise, above 0; the standard deviation is sqrt(2) times as large."""
    name: str = field(init=False, repr=False)
    """``laplace:SCALE``."""
    deviation: float = field(init=False, repr=False)
    """sqrt(2) times `scale`."""

    def __post_init__(self) -> None:
        positive(self.scale, "scale")
        object.__setattr__(self, "name", f"laplace:{self.scale:g}")
        object.__setattr__(self, "deviation", math.sqrt(2) * self.scale)

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return accuracy plus noise, as a multiple of 1/n in [0, 1]."""
        noise = marked.generator(state.key).laplace(0.0, self.scale)
        return on_grid(marked.accuracy + noise, marked.n), state


DIRECT = (Exact, Rounded, Calibrated, GaussianNoise, LaplaceNoise)
"""Guards whose answer is the submission's accuracy with an error, covered by formulas."""
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


def root_ladder(n: float) -> Ladder:
    """Return the Ladder with step 1/sqrt(n), twice the largest standard error of an accuracy.

    Rounded to two digits, so that its name says all of it. With another metric, n is its
    `Metric.points`.
    """
    return Ladder(min(1.0, float(f"{1 / math.sqrt(n):.2g}")))


def guard_for(guard: Guard, metric: Metric, truth: Values) -> Guard:
    """Return the guard adapted to a metric: `Calibrated` by its variance, others unchanged.

    Raises
    ------
    InputError
        If it is a Ladder that counts right answers, without a step or with one in standard errors.
    """
    if metric == ACCURACY:
        return guard
    if isinstance(guard, ParameterFreeLadder | ArcsineLadder):
        step = root_ladder(metric.points(truth)).name
        raise InputError(
            f"guard {guard.name} counts right answers, {metric.name} has none: name a step, such "
            f"as {step}"
        )
    if guard == Calibrated() and not metric.tail(truth):
        raise InputError(
            f"guard calibrated needs the chance in a score, which is not known of {metric.name}: "
            "name a step, such as ladder:5%"
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
    >>> from privacygauge.leaderboards.guards import guard_named
    >>> guard_named("ladder:0.01")
    Ladder(step=0.01)
    """
    word, _, number = text.partition(":")
    try:
        if word == "ladder" and number.endswith("%"):
            # Rounded, as 7% over 100 is not 0.07.
            return RelativeLadder(round(float(number[:-1]) / 100, 9))
        if word == "ladder" and number.endswith("se"):
            return ArcsineLadder(float(number[:-2]))
        if word in _PLAIN and not number:
            return _PLAIN[word]
        if word in _COUNTED:
            return _COUNTED[word](int(number))
        if word not in _NUMBERED and (make := plugin("guards", word)) is not None:
            guard: Guard = make(*([float(number)] if number else []))
            checks.kind(guard, word, "nats", "a guard")
            return guard
        return _NUMBERED[word](float(number))
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        known = names_with_plugins("guards", ", ".join(GUARDS))
        raise InputError(f"guard must be one of {known}, got {text!r}") from error
