"""Defences that coarsen every answer by a fixed rule; there is nothing to fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from privacygauge.classifier.attack_network import one_hot
from privacygauge.classifier.binning import BIN, bin_centres, n_bins
from privacygauge.classifier.defences.defence import keep_class, normalise_rows
from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Binning:
    """Releases the centre of each probability's bin.

    Rows are divided by their sums. If the predicted class would lose a tie for the largest bin, it
    is put one bin higher.

    Notes
    -----
    Long et al. (2017), section 5.2.
    """

    width: float = BIN
    """Width of a bin, 1 over a whole number."""

    def __post_init__(self) -> None:
        n_bins(self.width)

    name = "binning"

    @property
    def variant(self) -> str:
        """The bin's width."""
        return f"width {self.width:g}"

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> Binning:
        """Return the defence itself: nothing is learnt."""
        return self

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return the centres of the bins, (n, k), in rows that sum to 1."""
        return normalise_rows(keep_class(bin_centres(p, self.width), p.argmax(axis=1), self.width))


@dataclass(frozen=True)
class Rounding:
    """Releases probabilities rounded to decimal places.

    Rows are divided by their sums. If the predicted class would lose a tie for the largest value,
    it is put one unit of the last place higher.

    Notes
    -----
    Shokri et al. (2017), "Membership inference attacks against machine learning models",
    section VIII: coarsening the prediction vector.
    """

    digits: int = 2
    """Decimal places, 1 to 15."""

    def __post_init__(self) -> None:
        if not 1 <= self.digits <= 15:
            raise InputError(f"digits must be in 1..15, got {self.digits}")

    name = "rounding"

    @property
    def variant(self) -> str:
        """The decimal places."""
        return f"{self.digits} digits"

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> Rounding:
        """Return the defence itself: nothing is learnt."""
        return self

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return rounded probabilities, (n, k), in rows that sum to 1."""
        unit = 10.0**-self.digits
        return normalise_rows(keep_class(np.round(p, self.digits), p.argmax(axis=1), unit))


@dataclass(frozen=True)
class TopK:
    """Releases the largest probabilities and hides how the rest is distributed.

    The rest of each row is spread evenly over the other classes, as an adversary would who sees
    only the largest ones.

    Notes
    -----
    Shokri et al. (2017), section VIII: restricting the prediction vector to its top classes.
    """

    k: int = 3
    """Number of probabilities that are released, at least 1."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k}")

    name = "top-k"

    @property
    def variant(self) -> str:
        """The number of released probabilities."""
        return f"k = {self.k}"

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> TopK:
        """Return the defence itself: nothing is learnt."""
        return self

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return the k largest of each row and an even rest, (n, k), in rows that sum to 1."""
        others = p.shape[1] - self.k
        if others <= 0:
            return p
        # Stable: of equal probabilities the first classes are released, as argmax takes them.
        order = np.argsort(-p, axis=1, kind="stable")
        hidden = order[:, self.k :]
        rest = np.take_along_axis(p, hidden, axis=1).mean(axis=1)
        # A mean of equal numbers may round above them.
        least = np.take_along_axis(p, order[:, self.k - 1 : self.k], axis=1)[:, 0]
        released = p.copy()
        np.put_along_axis(released, hidden, np.minimum(rest, least)[:, None], axis=1)
        return released


@dataclass(frozen=True)
class Temperature:
    """Divides logits by a temperature: ``p_i^(1/T) / sum_j p_j^(1/T)``.

    An adversary who knows or guesses T can undo it, by ``1 / T``: it hides nothing except from
    attacks that expect other numbers, and serves as a comparison.

    Notes
    -----
    Shokri et al. (2017), section VIII: increasing the entropy of the prediction vector.
    """

    t: float = 5.0
    """Temperature, finite and above 0; answers become less certain above 1."""

    def __post_init__(self) -> None:
        if not 0 < self.t < np.inf:
            raise InputError(f"t must be finite and above 0, got {self.t}")

    name = "temperature"

    @property
    def variant(self) -> str:
        """The temperature."""
        return f"T = {self.t:g}"

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> Temperature:
        """Return the defence itself: nothing is learnt."""
        return self

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return softened probabilities, (n, k), in rows that sum to 1."""
        softened: Floats = softmax(np.log(np.maximum(p, _TINY)) / self.t, axis=1)
        return keep_class(softened, p.argmax(axis=1), float(np.finfo(np.float64).eps))


@dataclass(frozen=True)
class LabelOnly:
    """Releases the predicted class only: a 1 there, 0 elsewhere.

    An attack still sees whether the prediction is right.
    """

    name = "label-only"

    variant = ""

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> LabelOnly:
        """Return the defence itself: nothing is learnt."""
        return self

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return a 1 at the first largest probability of each row, (n, k)."""
        return one_hot(p.argmax(axis=1), p.shape[1]).astype(np.float64)
