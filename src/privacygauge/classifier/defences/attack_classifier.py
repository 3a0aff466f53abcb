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
    """A network of rectified linear units on score vectors, trained by Adam on the cross-entropy.

    Notes
    -----
    Jia et al. (2019), section 5.1: three hidden layers of 256, 128 and 64 units. Optimiser,
    epochs and step are this library's.
    """

    sorted: bool = True
    """Whether vectors are sorted, the largest first, or stay in the order of the classes."""
    hidden: tuple[int, ...] = (256, 128, 64)
    """Units of the hidden layers, at least one layer, each at least 1."""
    epochs: int = 50
    """Passes over the records, at least 1; all are made."""
    learning_rate: float = 1e-4
    """Adam's step, above 0."""
    penalty: float = 1e-4
    """Weight of the squared weights, at least 0."""
    batch: int = 64
    """Records a step, at least 1."""

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

        Both kinds must occur. The rarer kind is repeated, so that both weigh alike. `rng` draws the
        first weights and the order of the records.
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
            # Epoch by epoch, because `fit` warns wherever it makes all epochs it was told to.
            for _ in range(self.epochs):
                order = rng.permutation(rows)
                model.partial_fit(inputs[order], inside[order], classes=[0, 1])
        return LearntClassifier(tuple(model.coefs_), tuple(model.intercepts_), self.sorted)


@dataclass(frozen=True, eq=False)
class LearntClassifier:
    """A trained attack network; its one output is the log-odds of a member at even odds."""

    weights: tuple[Weights, ...]
    """Of each layer, (inputs, units)."""
    biases: tuple[Weights, ...]
    """Of each layer, (units,)."""
    sorted: bool = False
    """Whether it was trained on sorted vectors, and so sorts what it is asked."""

    def __post_init__(self) -> None:
        for name in ("weights", "biases"):
            layers = tuple(checks.frozen(layer) for layer in getattr(self, name))
            object.__setattr__(self, name, layers)

    def log_odds(self, p: Inputs) -> Floats:
        """Return the log-odds of being a member at even odds, (n,)."""
        inputs = np.take_along_axis(p, _largest_first(p), axis=1) if self.sorted else p
        return np.asarray(self._layers(inputs)[-1][:, 0], np.float64)

    def log_odds_and_gradient(self, p: Inputs) -> tuple[Floats, Floats]:
        """Return the log-odds, (n,), and each one's gradient with respect to its row, (n, k)."""
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
"""The network of Jia et al. (2019) in size; epochs and step are this library's."""


@dataclass(frozen=True)
class NeuralJia:
    """One network for all classes on the probability vector alone, without the true class.

    The attack that MemGuard is made against: judge no defence by it alone. Vectors are sorted by
    default, which spares the network to learn every class by itself.

    Notes
    -----
    Jia et al. (2019), section 5.1.
    """

    network: AttackClassifier = JIA_2019
    """The network."""
    most: int = 100_000
    """Learn on at most so many shadow records, drawn at random."""

    def __post_init__(self) -> None:
        checks.at_least(1, most=self.most)

    name = "neural-jia"

    @property
    def variant(self) -> str:
        """``sorted`` or ``raw`` probability vectors."""
        return "sorted" if self.network.sorted else "raw"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the log-odds of being a member, at even odds, for every target."""
        learnt = shadow_rows(self.name, observation, self.most, rng)
        if isinstance(learnt, Skipped):
            return learnt
        model = self.network.learn(prediction_inputs(learnt.rows), learnt.member, rng)
        value = model.log_odds(prediction_inputs(learnt.asked))
        return Scores(value, Cut(0.0, "of even odds"))
