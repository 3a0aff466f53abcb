"""Defences at training: each replaces the undefended training by a defended one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from privacygauge.claims.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    ReferenceRows,
)
from privacygauge.claims.defences.defence import FormattedVariant
from privacygauge.claims.defences.dp_sgd import DpSgd, OpacusDpSgd, PrivateTraining, noise_for
from privacygauge.claims.defences.early_stopping import EarlyStopping
from privacygauge.claims.defences.removal import Number, RemoveRisky, Share
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.networks.engines import Dropout
from privacygauge.classifiers.neural import one_hot
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.evaluate.sampled_steps import gaussian_mu


@dataclass(frozen=True)
class UndefendedTraining:
    """The training without a defence, and the number of records it draws from."""

    trainer: Trainer
    """The trainer of the undefended models."""
    n_records: int
    """Records that fair coins put into a training set or leave out, at least 2."""
    references: tuple[int, ...] = ()
    """Rows of reference records: no model is trained on them and no attack is judged on them."""

    @property
    def n_trained(self) -> int:
        """Average number of records that a model is trained on, which is public knowledge."""
        return self.n_records // 2

    def networks(self, defence: str) -> Networks:
        """Return the settings of the networks.

        Raises
        ------
        InputError
            If the models are not networks.
        """
        if isinstance(self.trainer, Networks):
            return self.trainer
        raise InputError(
            f"{defence} changes how networks are trained, got a model of another kind "
            f"({self.trainer.name}): give Networks (--model network, or FILE.py:NAME)"
        )


@runtime_checkable
class TrainingDefence(Protocol):
    """A defence that replaces the undefended training. Frozen: no state between calls."""

    @property
    def name(self) -> str:
        """Name of the defence in tables and files."""

    @property
    def variant(self) -> str:
        """Parameters in a few words; empty if there are none."""

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the trainer of defended models on the same records.

        Raises
        ------
        InputError
            If models of this kind cannot have this defence.
        """


@dataclass(frozen=True)
class StopAfter:
    """Early stopping: the undefended training, ended after some epochs."""

    epoch: int = 10
    """Epochs of training, at least 1."""

    def __post_init__(self) -> None:
        epoch = self.epoch
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 1:
            raise InputError(f"epoch must be a whole number of at least 1, got {epoch!r}")

    name = "early-stopping"

    @property
    def variant(self) -> str:
        """The number of epochs."""
        return f"after {self.epoch} epoch{'s' if self.epoch > 1 else ''}"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the same training with fewer epochs."""
        networks = of.networks(self.name)
        if self.epoch > networks.epochs:
            raise InputError(
                f"early-stopping must be after one of the {networks.epochs} epochs, got "
                f"{self.epoch}: train for more, or stop earlier"
            )
        return EarlyStopping(replace(networks, epochs=self.epoch))


@dataclass(frozen=True)
class WeightDecay(FormattedVariant):
    """L2 regularisation: weights are pulled towards 0 in every step."""

    strength: float = 0.01
    """Factor of the weights that is added to the gradient, above 0."""

    def __post_init__(self) -> None:
        checks.positive(strength=self.strength)

    name = "l2"
    variant_form = "weight decay {strength:g}"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the same training with this weight decay."""
        return EarlyStopping(replace(of.networks(self.name), weight_decay=self.strength))


@dataclass(frozen=True)
class HiddenDropout(FormattedVariant):
    """Dropout after every hidden activation of dense networks."""

    rate: float = 0.5
    """Share of units that each step leaves out, in (0, 1)."""

    def __post_init__(self) -> None:
        checks.level(self.rate, "rate")

    name = "dropout"
    variant_form = "rate {rate:g}"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the same training with dropout."""
        networks = of.networks(self.name)
        if not isinstance(networks.make, MLP):
            raise InputError(
                "dropout is put into an MLP, got networks of another kind "
                f"({networks.name}): build it into the module, and compare with OtherTraining"
            )
        return EarlyStopping(replace(networks, make=Dropout(networks.make, self.rate)))


@dataclass(frozen=True)
class AgainstAttacker(FormattedVariant):
    """Adversarial regularisation: networks are trained against an attack network."""

    weight: float = 1.0
    """lambda, at least 0: weight of the attack's gain relative to the classifier's loss."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise InputError(f"weight must be finite and at least 0, got {self.weight}")

    name = "adversarial-regularisation"
    variant_form = "weight {weight:g}"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the training against an attacker with the references as its non-members."""
        reference = ReferenceRows(of.references)
        return AdversarialRegularisation(of.networks(self.name), self.weight, reference)


@dataclass(frozen=True)
class ByOpacus:
    """Training by Opacus, for every module that it supports."""


@dataclass(frozen=True)
class Private(FormattedVariant):
    """DP-SGD with the noise that an epsilon requires.

    Batches hold the `batch_size` of the networks on average. A record takes part in a step with
    probability `batch_size` over `UndefendedTraining.n_trained`, which does not depend on anyone's
    membership.
    """

    epsilon: float = 8.0
    """Epsilon of the whole training, above 0."""
    delta: float | None = None
    """Delta of the whole training, in (0, 1); default: one over the number of records."""
    by: ByOpacus | None = None
    """Library that trains; by default PrivacyGauge, for dense networks only."""
    clip: float = 1.0
    """Clipping norm of a record's gradient, above 0."""

    def __post_init__(self) -> None:
        checks.positive(epsilon=self.epsilon, clip=self.clip)
        if self.delta is not None:
            checks.level(self.delta, "delta")

    @property
    def name(self) -> str:
        """Name, as tables print it."""
        return "dp-sgd" if self.by is None else "dp-sgd-opacus"

    variant_form = "epsilon {epsilon:g}"

    def at_delta(self, of: UndefendedTraining) -> float:
        """Return the delta of this training."""
        return 1 / of.n_records if self.delta is None else self.delta

    def trainer(self, of: UndefendedTraining) -> PrivateTraining:
        """Return DP-SGD with the same settings and epochs, and the noise that it requires."""
        networks = of.networks(self.name)
        delta = self.at_delta(of)
        # Poisson sampling: the rate is fixed by the mean size of a training set, since the size of
        # a model's own set would give a membership away.
        rate = min(1.0, networks.batch_size / of.n_trained)
        # As many steps as `PrivateTraining` takes and accounts for.
        steps = networks.epochs * round(1 / rate)
        noise = noise_for(self.epsilon, delta, rate, steps)
        trained_by = DpSgd if self.by is None else OpacusDpSgd
        return trained_by(networks, noise, rate, self.clip)


@dataclass(frozen=True)
class WithoutRiskiest:
    """Removal of risky records: each model is trained without its riskiest members.

    Risk is the exact pointwise differential training privacy of naive Bayes; `RemoveRisky` takes
    other measures. A removed record still counts as a member: its owner gave it.
    """

    amount: float = 0.05
    """Members to remove: a whole number of records, or below 1 a share of them."""

    def __post_init__(self) -> None:
        if not 0 < self.amount < math.inf or (self.amount >= 1 and self.amount % 1):
            raise InputError(
                "amount must be a whole number of records, or a share of them in (0, 1), got "
                f"{self.amount}"
            )

    name = "removal"

    @property
    def variant(self) -> str:
        """The amount to remove."""
        return f"the riskiest {self._of}"

    @property
    def _of(self) -> Share | Number:
        return Share(self.amount) if self.amount < 1 else Number(int(self.amount))

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the same training without the riskiest members of each model."""
        plain = of.trainer
        return RemoveRisky(EarlyStopping(plain) if isinstance(plain, Networks) else plain, self._of)


@dataclass(frozen=True)
class OtherTraining:
    """The user's own defended training."""

    by: Trainer
    """The trainer of the defended models."""
    name: str = "other training"
    """Name, as tables print it."""

    variant = ""

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the user's trainer."""
        return self.by


_TOLERANCE = 1e-3
"""Largest norm of the gradient at the optimum; the sensitivity allows for it."""


@dataclass(frozen=True)
class OutputPerturbation(FormattedVariant):
    """A logistic regression with normal noise on its weights, which makes it private.

    It replaces the model, whatever its kind. Its guarantee needs no clipping, no batches and no
    accountant.

    Notes
    -----
    Chaudhuri, Monteleoni & Sarwate (2011), algorithm 1, with normal noise (Balle & Wang 2018).
    """

    epsilon: float = 8.0
    """Epsilon of the release, for one record added or removed, above 0."""
    delta: float | None = None
    """Delta of the release, in (0, 1); default: one over the number of records."""
    strength: float = 0.01
    """Weight of half the squared norm, per record of an average training set, above 0."""

    def __post_init__(self) -> None:
        checks.positive(epsilon=self.epsilon, strength=self.strength)
        if self.delta is not None:
            checks.level(self.delta, "delta")

    name = "output-perturbation"
    variant_form = "epsilon {epsilon:g}"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the training of private logistic regressions."""
        delta = 1 / of.n_records if self.delta is None else self.delta
        # The mean size of a training set: a model's own size depends on who is a member.
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
    """Weight of half the squared norm, above 0; it must not depend on membership."""

    logits = True

    dtype = "float64"

    name = "a logistic regression with output perturbation"

    @property
    def sensitivity(self) -> float:
        """Largest distance by which a record moves the weights, solver's tolerance included."""
        # The solver leaves each of the two optima within tolerance / decay of where it should be.
        # Strong convexity: a gradient of sqrt(2) moves the optimum by at most sqrt(2) / decay.
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
        # By the number of columns alone: a scale taken from the data would depend on members.
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
        # gtol bounds the largest entry of the gradient, so its norm is within the tolerance. With
        # an ftol of 0, nothing else ends the search early.
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
    """Return features and a constant 1, (n, d + 1), scaled to rows of norm at most 1."""
    rows = np.hstack([x.reshape(len(x), -1), np.ones((len(x), 1))])
    # Standardised features have about this norm; it depends on no record.
    bound = math.sqrt(rows.shape[1])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, bound), np.float64)
