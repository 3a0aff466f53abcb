"""The white-box game, and an attack that learns from gradients (Nasr et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from privacygauge.classifier.attack_network import Inputs, Network, one_hot, standardise_both
from privacygauge.classifier.game import PredictionGame, PredictionObservation, rarer
from privacygauge.classifier.neural import NeuralNasr
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.suite import prediction_attacks
from privacygauge.core import checks
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Round, Scores, Shadow
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class WhiteBoxSignals:
    """Signals of n records with known classes, visible to a holder of the model's weights."""

    layers: tuple[str, ...]
    """Names of the l layers with weights, in the module's order."""
    norms: Floats
    """(n, l) The L2 norm of the gradient of a record's loss by all weights of a layer."""
    logits: Floats
    """(n, k) Outputs of the model."""
    labels: Ints
    """(n,) True classes in 0..k-1."""
    hidden: Floats
    """(n, h) Inputs of the linear layer that gives the logits; h is 0 if there is none."""
    engine: str
    """Engine that computed the gradients: ``dense``, ``vmap`` or ``loop``."""

    def __post_init__(self) -> None:
        for name in ("norms", "logits", "hidden"):
            value = np.asarray(getattr(self, name), np.float64)
            if value.ndim != 2 or len(value) != len(self.labels):
                raise InputError(
                    f"{name} must have {len(self.labels)} rows, got the shape {value.shape}"
                )
            if not np.isfinite(value).all():
                raise InputError(f"{name} must be finite: the model may have diverged in training")
            object.__setattr__(self, name, checks.frozen(value))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Ints) -> WhiteBoxSignals:
        """Return the signals of some records."""
        return WhiteBoxSignals(
            layers=self.layers,
            norms=self.norms[rows],
            logits=self.logits[rows],
            labels=self.labels[rows],
            hidden=self.hidden[rows],
            engine=self.engine,
        )

    @property
    def norm(self) -> Floats:
        """The L2 norm of the gradient by all weights, (n,)."""
        return np.asarray(np.sqrt(np.square(self.norms).sum(axis=1)), np.float64)

    @property
    def slope(self) -> Floats:
        """The gradient of the loss by the logits, (n, k): probabilities minus the one-hot class.

        Its outer product with `hidden` is the gradient by the last layer's weights.
        """
        shifted = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        rows = np.arange(len(self))
        others = shifted.copy()
        others[rows, self.labels] = 0.0
        slope: Floats = shifted / shifted.sum(axis=1, keepdims=True)
        # From the other classes: the probability itself rounds to 1 if the model is certain.
        slope[rows, self.labels] = -others.sum(axis=1) / shifted.sum(axis=1)
        return slope

    @property
    def loss(self) -> Floats:
        """The cross-entropy, (n,), at least 0."""
        rows = np.arange(len(self))
        gaps = self.logits - self.logits[rows, self.labels][:, None]
        gaps[rows, self.labels] = -np.inf
        return np.asarray(np.logaddexp(0.0, logsumexp(gaps, axis=1)), np.float64)


GRADIENT_NORM = "gradient-norm"
"""White-box signal: the negated norm of a record's gradient; higher = more likely a member."""

PARTS = ("gradients", "slopes", "loss", "label", "activations")
"""Possible inputs of the attack network."""

SMALL_STEPS = Network(epochs=30, learning_rate=0.003, penalty=1e-2)
"""The network of the attack; it and its inputs were chosen on a shadow model of Location30."""

# Rounding of float64: a smaller loss or norm says nothing that a logarithm should magnify.
_FLOOR = 1e-16


@dataclass(frozen=True, eq=False)
class WhiteBoxObservation(PredictionObservation):
    """Predictions, and the gradients of the model that made them."""

    white_box: WhiteBoxSignals | None = None
    """(n,) White-box signals of the targets."""
    shadow_white_box: WhiteBoxSignals | None = None
    """(s,) White-box signals of the shadow records, from their own model."""


@dataclass(frozen=True, eq=False)
class WhiteBoxSide:
    """White-box signals of a model on records with known membership."""

    signals: WhiteBoxSignals
    """Signals of m records."""
    member: Bools
    """(m,) True where the record was in the model's training set."""
    unit: Ints | None = None
    """(m,) The person behind each record, as in `Predictions`."""

    @property
    def predictions(self) -> Predictions:
        """The same records as seen from outside."""
        seen = self.signals
        return predictions(
            logits=seen.logits, labels=seen.labels, member=self.member, unit=self.unit
        )


@dataclass(frozen=True, eq=False)
class WhiteBoxGame:
    """The membership game with access to the model's weights.

    With a shadow model the adversary learns on that model's records. Without, it knows the
    membership of some parts of the targets and is judged on another part, in turn: the supervised
    adversary of Nasr et al. (2019), section III-B; for the parts see `crossfit_parts`.
    """

    target: WhiteBoxSide
    """The audited model."""
    shadow: WhiteBoxSide | None = None
    """The adversary's own model with the same layers, on its own records."""

    def __post_init__(self) -> None:
        if self.shadow is None:
            return
        ours = self.target.signals
        theirs = self.shadow.signals
        sizes = [(len(s.layers), s.logits.shape[1], s.hidden.shape[1]) for s in (ours, theirs)]
        if sizes[0] != sizes[1]:
            raise InputError(
                "the shadow model must have as many layers, classes and last inputs as the "
                f"target, {sizes[0]}, got {sizes[1]}: train it with the same architecture"
            )

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return one round with a shadow, or one for each part without.

        The bits came with the data, so nothing is drawn again and `rounds` must be 1.
        """
        shadow = None if self.shadow is None else self.shadow.predictions
        seen = PredictionGame(self.target.predictions, shadow).deal(rounds, rng)
        return [self._from_inside(one) for one in seen]

    def _from_inside(self, seen: Round) -> Round:
        """Return the round with the weights' signals added to its observation."""
        outside = seen.observation
        assert isinstance(outside, PredictionObservation)  # it comes from a game on predictions
        assert outside.rows is not None
        assert outside.shadow_rows is not None
        assert outside.shadow is not None
        own = self.target.signals[outside.rows.index]
        theirs = (self.shadow or self.target).signals[outside.shadow_rows.index]
        known = outside.shadow
        observation = WhiteBoxObservation(
            {**outside.signals, GRADIENT_NORM: -own.norm},
            outside.stratum,
            Shadow(
                {**known.signals, GRADIENT_NORM: -theirs.norm},
                known.member,
                known.stratum,
                known.unit,
            ),
            rows=outside.rows,
            shadow_rows=outside.shadow_rows,
            white_box=own,
            shadow_white_box=theirs,
        )
        return Round(observation, seen.secret, seen.target, seen.unit)


@dataclass(frozen=True)
class WhiteBox:
    """A network on a record's gradients, activations, loss and true class.

    Notes
    -----
    Nasr, Shokri & Houmansadr (2019), "Comprehensive privacy analysis of deep learning", IEEE
    S&P, section III. As there, the network sees the gradient of the loss by the parameters, the
    loss and the one-hot class, and learns from records with known membership. Unlike there, each
    layer's gradient comes in as its norm, and the last layer's as the two vectors whose outer
    product it is (`slopes` and `activations`), in place of convolutions over the matrix; one
    hidden layer takes all of it, in place of an encoder with a component for each part; and
    there is no unsupervised form. Activations are excluded by default: as in that paper they are
    uninformative on their own, and a few hundred records are memorised from them. From a shadow
    model's records they mislead: the hidden units of two networks have no common order.
    """

    parts: tuple[str, ...] = PARTS[:-1]
    """Inputs of the network, of `PARTS`: the logarithms of the gradient's norm in each layer, the
    gradient by the logits, the logarithm of the loss, the one-hot class, and the last layer's
    inputs."""
    network: Network = SMALL_STEPS
    """The network."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        wrong = [part for part in self.parts if part not in PARTS]
        if wrong or not self.parts or len(set(self.parts)) < len(self.parts):
            raise InputError(
                f"parts must be some of {', '.join(PARTS)}, each once, got {self.parts}"
            )

    name = "white-box"

    @property
    def variant(self) -> str:
        """Inputs of the network, where they differ from the default."""
        return "" if self.parts == WhiteBox.parts else " + ".join(self.parts)

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        if not isinstance(observation, WhiteBoxObservation):
            return Skipped(self.name, "needs the model's gradients: audit it with audit_white_box")
        own = observation.white_box
        known = observation.shadow_white_box
        shadow = observation.shadow
        if own is None or known is None or shadow is None:
            return Skipped(self.name, "needs gradients of shadow records with known membership")
        if not rarer(shadow.member):
            return Skipped(self.name, "too few shadow records: it needs members and non-members")
        inputs = standardise_both(self._inputs(known), self._inputs(own))
        value = self.network.log_odds(inputs[0], shadow.member, inputs[1], rng)
        return Scores(value, Cut(0.0, "of even odds"))

    def _inputs(self, seen: WhiteBoxSignals) -> Inputs:
        kinds: dict[str, NDArray[Any]] = {
            "gradients": _log(seen.norms),
            "slopes": seen.slope,
            "activations": seen.hidden,
            "loss": _log(seen.loss[:, None]),
            "label": one_hot(seen.labels, seen.logits.shape[1]),
        }
        return np.hstack([kinds[part] for part in self.parts]).astype(np.float32)


def white_box_attacks() -> tuple[Attack, ...]:
    """Return the suite of a white-box audit: black-box attacks, and those that use the weights."""
    return (
        *prediction_attacks(logits=True),
        NeuralNasr(),
        Threshold(GRADIENT_NORM, per_class=True),
        Threshold(GRADIENT_NORM, per_class=False),
        WhiteBox(),
    )


def _log(values: Floats) -> Floats:
    return np.log(np.maximum(values, _FLOOR))
