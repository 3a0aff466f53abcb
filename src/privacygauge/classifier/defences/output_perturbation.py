"""Output perturbation: the optimum of a regularised loss, released with noise on its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from privacygauge.classifier.attack_network import one_hot
from privacygauge.classifier.defences.training import UndefendedTraining
from privacygauge.classifier.trainer import Cohort, Trainer
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.evaluate.gaussian_privacy import gaussian_mu

_TOLERANCE = 1e-3
"""Norm of the gradient at which the optimum counts as found; the sensitivity allows for it."""


@dataclass(frozen=True)
class OutputPerturbation:
    """A logistic regression with normal noise on its weights, which makes it private.

    It takes the place of any other model, and comes with a guarantee that needs no clipping, no
    batches and no accountant.

    Notes
    -----
    Chaudhuri, Monteleoni & Sarwate (2011), algorithm 1, with normal noise (Balle & Wang 2018).
    """

    epsilon: float = 8.0
    """Epsilon of the release, above 0; of one record added or removed."""
    delta: float | None = None
    """Delta of the release, in (0, 1); default: one over the number of records."""
    strength: float = 0.01
    """Weight of half the squared norm, per record that a model is trained on on average."""

    def __post_init__(self) -> None:
        for name in ("epsilon", "strength"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise InputError(f"{name} must be finite and above 0, got {value}")
        if self.delta is not None:
            checks.level(self.delta, "delta")

    name = "output-perturbation"

    @property
    def variant(self) -> str:
        """The epsilon."""
        return f"epsilon {self.epsilon:g}"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the training of private logistic regressions."""
        delta = 1 / of.n_records if self.delta is None else self.delta
        return NoisyLogistic(self.epsilon, delta, self.strength * of.n_trained)


@dataclass(frozen=True)
class NoisyLogistic:
    """Trains multinomial logistic regressions and releases their weights with normal noise.

    Notes
    -----
    Features and a constant 1 are scaled down to norm 1, by a bound that depends on their number
    alone. The sum of losses plus ``decay / 2`` times the squared norm is strongly convex, and one
    record's gradient is at most the root of 2 long, so that adding or removing a record moves the
    optimum by at most ``sqrt(2) / decay``.
    """

    epsilon: float
    """Epsilon of a release, above 0."""
    delta: float
    """Delta of a release, in (0, 1)."""
    decay: float
    """Weight of half the squared norm, above 0; it must not depend on who is trained on."""

    logits = True

    dtype = "float64"

    name = "a logistic regression with output perturbation"

    @property
    def sensitivity(self) -> float:
        """Largest distance that a record moves the weights, with the solver's tolerance."""
        # The solver leaves each of the two optima within tolerance / decay of where it should be.
        return (math.sqrt(2) + 2 * _TOLERANCE) / self.decay

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on each weight."""
        return self.sensitivity / gaussian_mu(self.epsilon, self.delta)

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {"defence": "output perturbation", **vars(self)}

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the logits of the noisy models, (m, a, k)."""
        rows = scaled_rows(np.asarray(cohort.x, np.float64))
        found = np.empty(cohort.shape)
        for said, inside, seed in zip(found, cohort.inside, cohort.seeds, strict=True):
            weights = self.optimum(rows[inside], cohort.y[inside], cohort.n_classes)
            drawn = seeds.stream(seed, "noise").normal(size=weights.shape)
            said[:] = rows[cohort.asked] @ (weights + self.noise * drawn)
        return found

    def optimum(self, rows: Floats, y: Ints, n_classes: int) -> Floats:
        """Return the weights, (d, k), that minimise the regularised loss on scaled rows."""
        shape = (rows.shape[1], n_classes)
        labels = one_hot(y, n_classes)

        def loss(flat: Floats) -> tuple[float, Floats]:
            weights = flat.reshape(shape)
            logits = rows @ weights
            value = -(labels * log_softmax(logits, axis=1)).sum() + self.decay / 2 * flat @ flat
            slope = rows.T @ (softmax(logits, axis=1) - labels) + self.decay * weights
            return float(value), slope.ravel()

        flat = np.zeros(shape[0] * shape[1])
        solver = {"maxiter": 10_000, "gtol": _TOLERANCE / math.sqrt(len(flat)), "ftol": 0.0}
        flat = minimize(loss, flat, jac=True, method="L-BFGS-B", options=solver).x
        left = float(np.linalg.norm(loss(flat)[1]))
        if left > _TOLERANCE:
            raise InputError(
                f"the optimum was not found within {_TOLERANCE:g} (gradient {left:.1g}), and the "
                "guarantee rests on it: scale the features, or take a larger strength"
            )
        return np.asarray(flat.reshape(shape), np.float64)


def scaled_rows(x: Floats) -> Floats:
    """Return features and a constant, (n, d + 1), in rows of a norm of at most 1."""
    rows = np.hstack([x.reshape(len(x), -1), np.ones((len(x), 1))])
    bound = math.sqrt(rows.shape[1])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, bound), np.float64)
