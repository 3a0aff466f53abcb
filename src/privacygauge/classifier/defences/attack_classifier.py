"""The attack network on score vectors alone: MemGuard fools it, and tests rely on it.

Jia et al. (2019), "MemGuard: Defending against black-box membership inference attacks via
adversarial examples".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.attack_network import Inputs, even_rows, prediction_inputs
from privacygauge.classifier.game import shadow_rows
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
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
        if not 0 < self.learning_rate < np.inf:
            raise InputError(f"learning_rate must be finite and above 0, got {self.learning_rate}")
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
        inputs = np.take_along_axis(p, _largest_first(p), axis=1) if self.sorted else p
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
        inputs = np.take_along_axis(p, _largest_first(p), axis=1) if self.sorted else p
        return np.asarray(self._layers(inputs)[-1][:, 0], np.float64)

    def log_odds_and_gradient(self, p: Inputs) -> tuple[Floats, Floats]:
        """Return the log-odds, (n,), and the gradient of each with respect to its row, (n, k)."""
        if not self.sorted:
            return self._with_gradient(p)
        order = _largest_first(p)
        value, slope = self._with_gradient(np.take_along_axis(p, order, axis=1))
        gradient = np.empty_like(slope)
        np.put_along_axis(gradient, order, slope, axis=1)
        return value, gradient

    def _with_gradient(self, inputs: Inputs) -> tuple[Floats, Floats]:
        layers = self._layers(inputs)
        slope = np.broadcast_to(self.weights[-1][:, 0], layers[-2].shape)
        for weight, units in zip(self.weights[-2::-1], layers[-2:0:-1], strict=True):
            slope = (slope * (units > 0)) @ weight.T
        return np.asarray(layers[-1][:, 0], np.float64), np.asarray(slope, np.float64)

    def _layers(self, inputs: Inputs) -> list[Inputs]:
        layers = [inputs]
        last = len(self.weights) - 1
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            value = layers[-1] @ weight + bias
            layers.append(value if number == last else np.maximum(value, 0))
        return layers


def _largest_first(p: Inputs) -> NDArray[np.intp]:
    return np.argsort(-p, axis=1, kind="stable")


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
