"""MemGuard: noise on an answer that misleads an attack network and keeps the predicted class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from privacygauge.claims.defences.defence import FormattedVariant
from privacygauge.classifiers.game import shadow_rows
from privacygauge.classifiers.neural import Inputs, even_rows, prediction_inputs
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class AttackClassifier:
    """A ReLU network on score vectors, trained by Adam on the cross-entropy.

    Notes
    -----
    Jia et al. (2019), section 5.1: three hidden layers of 256, 128 and 64 units. Optimiser, epochs
    and learning rate are this library's.
    """

    sorted: bool = True
    """Whether vectors are sorted, largest first; otherwise they keep the order of the classes."""
    hidden: tuple[int, ...] = (256, 128, 64)
    """Units of each hidden layer, each at least 1; at least one layer."""
    epochs: int = 50
    """Epochs of training, at least 1; there is no early stopping."""
    learning_rate: float = 1e-4
    """Learning rate of Adam, above 0."""
    penalty: float = 1e-4
    """L2 penalty on the weights, at least 0."""
    batch: int = 64
    """Batch size, at least 1."""

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"hidden must name layers of at least 1 unit, got {self.hidden}")
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        checks.positive(learning_rate=self.learning_rate)
        if not 0 <= self.penalty < np.inf:
            raise InputError(f"penalty must be finite and at least 0, got {self.penalty}")

    def learn(self, p: Inputs, member: Bools, rng: np.random.Generator) -> LearntClassifier:
        """Return the network, trained on score vectors (m, k) with known membership.

        Both kinds must occur. The rarer kind is repeated, so that both have equal weight. `rng`
        draws the initial weights and the order of the records.
        """
        from sklearn.neural_network import MLPClassifier

        if member.all() or not member.any():
            raise InputError("an attack classifier needs members and non-members to learn from")
        rows = even_rows(member, rng)
        inside = member.astype(np.int64)
        largest_first = np.argsort(-p, axis=1, kind="stable")
        inputs = np.take_along_axis(p, largest_first, axis=1) if self.sorted else p
        model = MLPClassifier(
            self.hidden,
            alpha=self.penalty,
            batch_size=min(self.batch, len(rows)),
            learning_rate_init=self.learning_rate,
            shuffle=False,
            random_state=int(rng.integers(2**31)),
        )
        # More threads than cores at work make small fits many times slower.
        with limited_to(1):
            # Epoch by epoch, because `fit` warns if it stops at its largest number of epochs.
            for _ in range(self.epochs):
                order = rng.permutation(rows)
                model.partial_fit(inputs[order], inside[order], classes=[0, 1])
        return LearntClassifier(tuple(model.coefs_), tuple(model.intercepts_), self.sorted)


@dataclass(frozen=True, eq=False)
class LearntClassifier:
    """A trained attack network; its output is the log-odds of membership at even prior odds."""

    weights: tuple[Weights, ...]
    """Weights of each layer, (inputs, units)."""
    biases: tuple[Weights, ...]
    """Biases of each layer, (units,)."""
    sorted: bool = False
    """Whether it was trained on sorted vectors, and so sorts its inputs."""

    def __post_init__(self) -> None:
        for name in ("weights", "biases"):
            layers = tuple(checks.frozen(layer) for layer in getattr(self, name))
            object.__setattr__(self, name, layers)

    def log_odds(self, p: Inputs) -> Floats:
        """Return the log-odds of membership at even prior odds, (n,)."""
        largest_first = np.argsort(-p, axis=1, kind="stable")
        inputs = np.take_along_axis(p, largest_first, axis=1) if self.sorted else p
        return np.asarray(self._layers(inputs)[-1][:, 0], np.float64)

    def log_odds_and_gradient(self, p: Inputs) -> tuple[Floats, Floats]:
        """Return the log-odds, (n,), and the gradient of each with respect to its row, (n, k)."""
        order = np.argsort(-p, axis=1, kind="stable") if self.sorted else None
        layers = self._layers(p if order is None else np.take_along_axis(p, order, axis=1))
        # Backwards from the single output; a ReLU passes the gradient only where its unit is
        # active.
        slope = np.broadcast_to(self.weights[-1][:, 0], layers[-2].shape)
        for weight, units in zip(self.weights[-2::-1], layers[-2:0:-1], strict=True):
            slope = (slope * (units > 0)) @ weight.T
        gradient = np.asarray(slope, np.float64)
        # Back from the sorted places to those of the classes.
        if order is not None:
            gradient = np.empty_like(gradient)
            np.put_along_axis(gradient, order, slope, axis=1)
        return np.asarray(layers[-1][:, 0], np.float64), gradient

    def _layers(self, inputs: Inputs) -> list[Inputs]:
        layers = [inputs]
        last = len(self.weights) - 1
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            value = layers[-1] @ weight + bias
            layers.append(value if number == last else np.maximum(value, 0))
        return layers


JIA_2019 = AttackClassifier()
"""The network size of Jia et al. (2019); epochs and learning rate are this library's."""


@dataclass(frozen=True)
class NeuralJia:
    """One network for all classes on the probability vector alone, without the true class.

    This is the attack that MemGuard is designed against, so no defence should be judged by it
    alone. Vectors are sorted by default, so that the network need not learn every class separately.

    Notes
    -----
    Jia et al. (2019), section 5.1.
    """

    network: AttackClassifier = JIA_2019
    """The network."""
    most: int = 100_000
    """Largest number of shadow records to learn from, drawn at random."""

    def __post_init__(self) -> None:
        checks.at_least(1, most=self.most)

    name = "neural-jia"

    @property
    def variant(self) -> str:
        """``sorted`` or ``raw`` probability vectors."""
        return "sorted" if self.network.sorted else "raw"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        learnt = shadow_rows(self.name, observation, self.most, rng)
        if isinstance(learnt, Skipped):
            return learnt
        model = self.network.learn(prediction_inputs(learnt.rows), learnt.member, rng)
        value = model.log_odds(prediction_inputs(learnt.asked))
        return Scores(value, Cut(0.0, "of even odds"))


_TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal number; keeps logarithms finite and divisors above 0."""
# Bounded: an answer that a single step turns would succeed for every c3.
_MOST_ROUNDS = 12


@dataclass(frozen=True)
class MemGuard(FormattedVariant):
    """Noise that brings the owner's own attack network to even odds, within an average budget.

    The same record must get the same answer every time: over fresh draws the mixture of noisy and
    true answers could be separated. Audits ask once per record.

    Notes
    -----
    Jia et al. (2019), section 4. With z the logits of an answer p, h the attack network's
    log-odds and l the predicted class, phase I looks for noise e that minimises

        |h(softmax(z + e))| + c2 ReLU(max_{j != l} (z_j + e_j) - z_l - e_l)
        + c3 ||softmax(z + e) - p||_1

    by steps of fixed length along the gradient, until h changes its sign and l is still the
    largest. c3 grows tenfold as long as this succeeds, and the last successful noise is taken.
    Phase II releases the noisy answer with probability ``min(1, budget / d)``, d its distance from
    p, and never if it takes h no nearer to 0; so the expected distance is at most the budget.
    """

    budget: float = 1.0
    """Largest expected L1 distance between the answer and p for every record, in [0, 2]."""
    network: AttackClassifier = JIA_2019
    """Attack network that the owner trains on its members and on non-members."""
    c2: float = 10.0
    """Weight of keeping the predicted class, above 0."""
    c3: float = 0.1
    """Initial weight of the distance, above 0."""
    steps: int = 300
    """Largest number of steps per c3, at least 1."""
    step: float = 0.1
    """Step length on the logits, above 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.budget <= 2:
            raise InputError(
                f"budget must be in [0, 2], the range of L1 distances, got {self.budget}"
            )
        checks.positive(c2=self.c2, c3=self.c3, step=self.step)
        if self.steps < 1:
            raise InputError(f"steps must be at least 1, got {self.steps}")

    name = "memguard"
    variant_form = "budget {budget:g}"

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> FittedMemGuard:
        """Return the defence with the attack network that it fools, trained on these records."""
        return FittedMemGuard(self, self.network.learn(p.astype(np.float32), member, rng))


@dataclass(frozen=True, eq=False)
class Noisy:
    """The noisy answer to every record, before a coin decides whether it is released."""

    p: Floats
    """(n, k) Noisy answers."""
    distance: Floats
    """(n,) L1 distance of each from the true answer, in [0, 2]."""
    probability: Floats
    """(n,) Probability that the noisy answer is released in place of the true one."""


@dataclass(frozen=True, eq=False)
class FittedMemGuard:
    """MemGuard with the attack network that it fools."""

    defence: MemGuard
    """Parameters of the defence."""
    classifier: LearntClassifier
    """The owner's attack network."""

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return the noisy or the true answer of each record, (n, k), rows sum to 1."""
        noisy = self.noisy(p)
        released = rng.random(len(p)) < noisy.probability
        return np.where(released[:, None], noisy.p, p)

    def noisy(self, p: Floats) -> Noisy:
        """Return the noisy answers and their release probabilities, for true answers (n, k)."""
        k = len(self.classifier.weights[0])
        if p.ndim != 2 or p.shape[1] != k:
            raise InputError(
                f"answers must have the shape (n, {k}), as those MemGuard was fitted on, got "
                f"{p.shape}"
            )
        z = np.log(np.maximum(p, _TINY))
        candidate = p.copy()
        active = np.arange(len(p))
        c3 = self.defence.c3
        for _ in range(_MOST_ROUNDS):
            steps, reached = self._descended(z[active], p[active], c3)
            # Only records that succeeded go on to a larger weight of the distance.
            candidate[active[reached]] = steps[reached]
            active = active[reached]
            if not len(active):
                break
            # A larger weight of the distance finds less noise, at the risk of missing the goal.
            c3 *= 10
        distance = np.abs(candidate - p).sum(axis=1)
        # The classifier is single precision, whatever the answers are.
        before, after = (
            np.abs(self.classifier.log_odds(x.astype(np.float32))) for x in (p, candidate)
        )
        share = np.minimum(1.0, self.defence.budget / np.maximum(distance, _TINY))
        # Noise that takes h no nearer to 0 is never released.
        return Noisy(candidate, distance, np.where(after < before, share, 0.0))

    def _descended(self, z: Floats, p: Floats, c3: float) -> tuple[Floats, Bools]:
        """Return answers after gradient steps on phase I's loss, and which reached its goal."""
        logits = z.copy()
        result = p.copy()
        predicted = p.argmax(axis=1)
        start, towards = self.classifier.log_odds_and_gradient(p.astype(np.float32))
        odds = start
        reached = np.zeros(len(p), np.bool_)
        active = np.arange(len(p))
        for _ in range(self.defence.steps):
            if not len(active):
                break
            told = np.sign(odds)[:, None] * towards
            # The gradient of the L1 distance.
            told += c3 * np.sign(result[active] - p[active])
            slope = self._slope(logits[active], result[active], predicted[active], told)
            logits[active] -= self.defence.step * slope
            result[active] = softmax(logits[active], axis=1)
            odds, towards = self.classifier.log_odds_and_gradient(result[active].astype(np.float32))
            kept = result[active].argmax(axis=1) == predicted[active]
            # The goal: the attack's log-odds change sign and the predicted class stays.
            done = (odds * start[active] <= 0) & kept
            reached[active] = done
            active = active[~done]
            odds = odds[~done]
            towards = towards[~done]
        return result, reached

    def _slope(self, logits: Floats, noisy: Floats, predicted: Ints, direction: Floats) -> Floats:
        """Return the gradient of phase I's loss with respect to the noise, of length 1.

        `direction` is that of the network's and the distance's terms with respect to `noisy`.
        """
        # From answers to logits: the Jacobian of softmax, p_i (direction_i - inner).
        inner = np.einsum("ij,ij->i", noisy, direction)
        slope = noisy * (direction - inner[:, None])
        # The class term, c2: its gradient is 0 where the predicted class is still ahead.
        rows = np.arange(len(logits))
        others = logits.copy()
        others[rows, predicted] = -np.inf
        rival = others.argmax(axis=1)
        lost = np.flatnonzero(others[rows, rival] >= logits[rows, predicted])
        slope[lost, rival[lost]] += self.defence.c2
        slope[lost, predicted[lost]] -= self.defence.c2
        length = np.linalg.norm(slope, axis=1, keepdims=True)
        return np.asarray(slope / np.maximum(length, _TINY), np.float64)
