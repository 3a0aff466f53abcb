"""Games with closed-form answers, against which every estimate is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.game import Observation, Round, Shadow
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.errors import InputError

SIGNAL = "modified-entropy"
"""Name of the signal of the exact games, under which attacks on signals find it."""


@dataclass(frozen=True)
class GaussianGame:
    """Signals are N(effect, 1) for members and N(0, 1) for non-members."""

    n_targets: int
    """Targets per round, at least 2; members by independent fair coins."""
    effect: float = 0.0
    """Distance between the means in standard deviations; 0 is a release that ignores its data."""
    n_shadow: int = 0
    """Shadow records with known membership from the same distribution; 0 or at least 2."""
    n_classes: int = 1
    """Number of classes, drawn at random and independent of the signal."""
    n_worlds: int = 0
    """Number of the adversary's worlds, from the same distribution."""

    def __post_init__(self) -> None:
        checks.at_least(2, n_targets=self.n_targets)
        if self.n_shadow == 1 or self.n_shadow < 0:
            raise InputError(f"n_shadow must be 0 or at least 2, got {self.n_shadow}")
        checks.at_least(1, n_classes=self.n_classes)

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return rounds with fresh coins and fresh noise."""
        dealt = []
        for _ in range(rounds):
            n = self.n_targets
            secret = _both_kinds(n, rng)
            signal = rng.normal(size=n) + self.effect * secret
            stratum = rng.integers(self.n_classes, size=n)
            shadow = worlds = None
            if self.n_shadow:
                member = _both_kinds(self.n_shadow, rng)
                classes = rng.integers(self.n_classes, size=self.n_shadow)
                own = rng.normal(size=self.n_shadow) + self.effect * member
                shadow = Shadow({SIGNAL: own}, member, classes)
            if self.n_worlds:
                inside = coin_flips(self.n_worlds, n, rng)
                seen = rng.normal(size=inside.shape) + self.effect * inside
                worlds = Worlds(signal, seen, inside)
            observation = Observation({SIGNAL: signal}, stratum, shadow, worlds)
            dealt.append(Round(observation, secret, np.arange(n)))
        return dealt

    def auc(self) -> float:
        """Return the AUC, ``Phi(effect / sqrt 2)``."""
        return float(ndtr(self.effect / np.sqrt(2)))

    def tpr(self, fpr: float) -> float:
        """Return the best true-positive rate, ``Phi(Phi^-1(fpr) + effect)``."""
        return float(ndtr(ndtri(fpr) + self.effect))

    def accuracy(self) -> float:
        """Return the best balanced accuracy, ``Phi(effect / 2)``."""
        return float(ndtr(self.effect / 2))

    def posterior(self, signal: Floats) -> Floats:
        """Return P(member | signal) at even odds."""
        # Bayes' theorem for two unit normals with equal priors.
        return 1.0 / (1.0 + np.exp(self.effect * (self.effect / 2 - signal)))

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta for which the game is (epsilon, delta)-private.

        Balle & Wang (2018), theorem 8; the effect is the sensitivity over the standard deviation.
        """
        if self.effect == 0:
            return 0.0
        a = self.effect / 2
        b = epsilon / self.effect
        return float(ndtr(a - b) - np.exp(epsilon) * ndtr(-a - b))


@dataclass(frozen=True)
class OffsetGame:
    """Records differ: signals are N(offset, 1), for a member N(offset + effect, 1).

    The offset of a record is the same in all models and queries, so the adversary's worlds carry
    information that the target's signal alone does not.
    """

    n_targets: int
    """Targets per round, at least 2; members by independent fair coins."""
    effect: float
    """Distance between the means in standard deviations; 0 is a release that ignores its data."""
    n_worlds: int
    """Number of the adversary's worlds, at least 1, with independent coins."""
    spread: float = 3.0
    """Standard deviation of the offsets, which are normal with mean 0; at least 0."""
    n_queries: int = 1
    """Queries per target, at least 1, with independent noise."""

    def __post_init__(self) -> None:
        checks.at_least(2, n_targets=self.n_targets)
        checks.at_least(1, n_worlds=self.n_worlds, n_queries=self.n_queries)
        checks.at_least(0, spread=self.spread)

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return rounds with fresh offsets, coins and noise."""
        dealt = []
        for _ in range(rounds):
            n = self.n_targets
            secret = _both_kinds(n, rng)
            inside = coin_flips(self.n_worlds, n, rng)
            # Drawn once per record: a record that is easy to predict is so in every world.
            offset = self.spread * rng.normal(size=n)
            signal, worlds = (
                (offset + self.effect * member)[..., None]
                + rng.normal(size=(*member.shape, self.n_queries))
                for member in (secret, inside)
            )
            if self.n_queries == 1:
                signal = signal[..., 0]
                worlds = worlds[..., 0]
            # Attacks without worlds use a single signal: that of the first query.
            alone = signal if signal.ndim == 1 else signal[:, 0]
            observation = Observation(
                {SIGNAL: alone}, np.zeros(n, np.int64), worlds=Worlds(signal, worlds, inside)
            )
            dealt.append(Round(observation, secret, np.arange(n)))
        return dealt

    def auc(self) -> float:
        """Return the AUC with known offsets and q queries, ``Phi(effect sqrt(q / 2))``."""
        return float(ndtr(self.effect * np.sqrt(self.n_queries / 2)))


@dataclass(frozen=True)
class RandomisedResponse:
    """Release each bit with probability e^epsilon / (1 + e^epsilon), else the flipped bit.

    Exactly epsilon-differentially private, and no attack beats reading the release. With `failure`,
    exactly (epsilon, failure)-private: all bits of a round are released unchanged together.
    """

    n_targets: int
    """Targets per round, at least 2."""
    epsilon: float
    """Privacy parameter, at least 0; at 0 each released bit is a fair coin."""
    failure: float = 0.0
    """Probability that a round releases all bits unchanged, in [0, 1)."""

    def __post_init__(self) -> None:
        checks.at_least(2, n_targets=self.n_targets)
        checks.at_least(0, epsilon=self.epsilon)
        checks.below_one(self.failure, "failure")

    @property
    def truth(self) -> float:
        """Probability that a bit is released unchanged, without a failure."""
        return float(1.0 / (1.0 + np.exp(-self.epsilon)))

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return rounds with fresh bits and fresh answers."""
        dealt = []
        for _ in range(rounds):
            n = self.n_targets
            secret = _both_kinds(n, rng)
            # Flipped unless the draw falls below the probability of the truth.
            answer = secret ^ (rng.random(n) >= self.truth)
            # One draw for the whole round: a failure gives all its bits away.
            if self.failure and rng.random() < self.failure:
                answer = secret
            observation = Observation({SIGNAL: answer.astype(np.float64)}, np.zeros(n, np.int64))
            dealt.append(Round(observation, secret, np.arange(n)))
        return dealt

    def auc(self) -> float:
        """Return the AUC: the probability of a right answer, since tied pairs count half."""
        return self.failure + (1.0 - self.failure) * self.truth


@dataclass(frozen=True)
class SharedNoiseGame:
    """One training run: all signals of a round share part of their noise.

    Signals are N(effect, 1) for members and N(0, 1) for non-members, as in `GaussianGame`, but any
    two of a round have correlation `correlation`. The mechanism under audit releases all signals.
    """

    n_targets: int
    """Targets per round, at least 2; members by independent fair coins."""
    effect: float
    """Distance between the means in standard deviations, at least 0."""
    correlation: float
    """Correlation of any two signals of a round, in [0, 1)."""

    def __post_init__(self) -> None:
        checks.at_least(2, n_targets=self.n_targets)
        checks.at_least(0, effect=self.effect)
        checks.below_one(self.correlation, "correlation")

    @property
    def mu(self) -> float:
        """Gaussian privacy parameter mu of the mechanism.

        The effect times the square root of a diagonal element of the inverse covariance: given the
        other bits, most of the shared noise can be subtracted.
        """
        own = 1.0 - self.correlation
        shared = self.correlation
        # A diagonal element of the inverse of own * I + shared * J (Sherman & Morrison 1950).
        inverse = (1.0 - shared / (own + self.n_targets * shared)) / own
        return float(self.effect * np.sqrt(inverse))

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta for which the game is (epsilon, delta)-private."""
        return GaussianGame(self.n_targets, self.mu).delta(epsilon)

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return rounds with fresh coins and fresh noise."""
        dealt = []
        for _ in range(rounds):
            n = self.n_targets
            secret = _both_kinds(n, rng)
            own = np.sqrt(1.0 - self.correlation) * rng.normal(size=n)
            signal = self.effect * secret + own + np.sqrt(self.correlation) * rng.normal()
            dealt.append(
                Round(Observation({SIGNAL: signal}, np.zeros(n, np.int64)), secret, np.arange(n))
            )
        return dealt


def _both_kinds(n: int, rng: np.random.Generator) -> Bools:
    """Return n fair coins, redrawn in the rare case that all fall alike."""
    while True:
        coins: Bools = coin_flips(1, n, rng)[0]
        if coins.any() and not coins.all():
            return coins
