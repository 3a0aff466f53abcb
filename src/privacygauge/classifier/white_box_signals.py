"""What the weights of a network show of its records, beside what predictions show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class WhiteBoxSignals:
    """What of n records with known classes is seen by whoever holds the model's weights."""

    layers: tuple[str, ...]
    """Names of the l layers with weights, in the order in which the module defines them."""
    norms: Floats
    """(n, l) The L2 norm of the gradient of a record's loss by all weights of a layer."""
    logits: Floats
    """(n, k) The model's answers."""
    labels: Ints
    """(n,) True classes in 0..k-1."""
    hidden: Floats
    """(n, h) Inputs of the linear layer that gives the logits; h is 0 where there is none."""
    engine: str
    """How gradients were computed: dense, vmap or loop."""

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
            self.layers,
            self.norms[rows],
            self.logits[rows],
            self.labels[rows],
            self.hidden[rows],
            self.engine,
        )

    @property
    def norm(self) -> Floats:
        """The L2 norm of the gradient by all weights, (n,)."""
        return np.asarray(np.sqrt(np.square(self.norms).sum(axis=1)), np.float64)

    @property
    def slope(self) -> Floats:
        """The gradient of the loss by the logits, (n, k): probabilities less the one-hot class.

        Its outer product with `hidden` is the gradient by the last layer's weights.
        """
        shifted = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        rows, others = np.arange(len(self)), shifted.copy()
        others[rows, self.labels] = 0.0
        slope: Floats = shifted / shifted.sum(axis=1, keepdims=True)
        # From the other classes: the probability itself is rounded to 1 where the model is sure.
        slope[rows, self.labels] = -others.sum(axis=1) / shifted.sum(axis=1)
        return slope

    @property
    def loss(self) -> Floats:
        """The cross-entropy, (n,), at least 0."""
        rows = np.arange(len(self))
        gaps = self.logits - self.logits[rows, self.labels][:, None]
        gaps[rows, self.labels] = -np.inf
        return np.asarray(np.logaddexp(0.0, logsumexp(gaps, axis=1)), np.float64)
