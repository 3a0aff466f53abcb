"""Defences on answers: their protocol, and those that coarsen every answer by a fixed rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

import numpy as np
from scipy.special import softmax

from privacygauge.classifiers.game import crossfit_halves
from privacygauge.classifiers.neural import one_hot
from privacygauge.classifiers.predictions import Predictions, probabilities
from privacygauge.classifiers.signals import BIN, bin_centres, n_bins
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError


class FittedDefence(Protocol):
    """A defence that is ready to answer."""

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return the released probabilities in place of `p`, (n, k); rows sum to 1.

        Every row is answered on its own, as a single query would be.
        """


class Defence(Protocol):
    """A defence that changes a model's answers, not the model. Frozen: no state between calls."""

    @property
    def name(self) -> str:
        """Name of the defence in tables and files."""

    @property
    def variant(self) -> str:
        """Parameters in a few words; empty if there are none."""

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> FittedDefence:
        """Return the defence, fitted by the model's owner.

        Parameters
        ----------
        p : ndarray, shape (m, k)
            The model's probabilities for the owner's records.
        member : ndarray of bool, shape (m,)
            True where the model was trained on the record; both kinds occur.
        rng : numpy.random.Generator
        """


class FormattedVariant:
    """A defence whose variant is printed from its parameters."""

    variant_form: ClassVar[str]
    """Format of the variant over the names of the fields, such as ``width {width:g}``."""

    @property
    def variant(self) -> str:
        """Parameters in a few words; empty if there are none."""
        return self.variant_form.format(**vars(self))


class FixedRule(FormattedVariant):
    """A defence that answers by a fixed rule, without looking at its owner's records."""

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> Self:
        """Return the defence itself: nothing is learnt."""
        return self


@dataclass(frozen=True)
class Identity(FixedRule):
    """No defence: answers are released as they are."""

    name = "none"
    variant_form = ""

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return `p`."""
        return p


def defend_predictions(
    defence: Defence,
    predictions: Predictions,
    rng: np.random.Generator,
    *,
    owner: Predictions | None = None,
) -> Predictions:
    """Return the defended model's predictions for the same records, as probabilities.

    Parameters
    ----------
    defence : Defence
    predictions : Predictions
        The undefended model's predictions for n records.
    rng : numpy.random.Generator
    owner : Predictions, optional
        The same model's predictions on the owner's records: its members, and non-members that
        are not among the n. The defence is fitted on these.

    Returns
    -------
    Predictions
        Labels, membership, ids and columns are those of `predictions`.

    Raises
    ------
    InputError
        If `owner` has other classes.

    Notes
    -----
    An owner knows its members but not the non-members that an adversary will ask about. Without
    `owner` the records are therefore cut in two halves: each is answered by a defence that was
    fitted on all members and on the non-members of the other half only.
    """
    # Streams by role: how the halves are split does not depend on the noise in answers.
    splits, fits, answers = rng.spawn(3)
    p = probabilities(predictions.values, logits=predictions.logits)
    member = predictions.member
    if owner is not None:
        if predictions.n_classes != owner.n_classes:
            raise InputError(
                f"the owner's predictions have {owner.n_classes} classes, the target's "
                f"{predictions.n_classes}: both must come from the same model"
            )
        known = probabilities(owner.values, logits=owner.logits)
        released = defence.fit(known, owner.member, fits).answer(p, answers)
    else:
        released = np.empty_like(p)
        first = crossfit_halves(predictions.labels, member, splits, predictions.units)
        for half in (first, ~first):
            # All members, but only the other half's non-members.
            seen = member | ~half
            released[half] = defence.fit(p[seen], member[seen], fits).answer(p[half], answers)
    return replace(predictions, answers=checks.frozen(released), logits=False)


def keep_class(p: Floats, predicted: Ints, step: float) -> Floats:
    """Return `p`, with the predicted class raised above all others where rounding made a tie.

    Rows of `p` (n, k) need not sum to 1. The class `predicted` (n,) becomes each row's first
    maximum, if needed by raising it `step`, above 0, over the largest value.
    """
    rows = np.flatnonzero(p.argmax(axis=1) != predicted)
    kept = p.copy()
    kept[rows, predicted[rows]] = p[rows].max(axis=1) + step
    return kept


_TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal number; replaces a probability of 0 before its logarithm is taken."""


@dataclass(frozen=True)
class Binning(FixedRule):
    """Releases the centre of each probability's bin.

    Rows are divided by their sums. If the predicted class would lose a tie for the largest bin, it
    is raised by one bin.

    Notes
    -----
    Long et al. (2017), section 5.2.
    """

    width: float = BIN
    """Width of a bin, 1 over a whole number."""

    def __post_init__(self) -> None:
        n_bins(self.width)

    name = "binning"
    variant_form = "width {width:g}"

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return the centres of the bins, (n, k), in rows that sum to 1."""
        kept = keep_class(bin_centres(p, self.width), p.argmax(axis=1), self.width)
        return np.asarray(kept / kept.sum(axis=1, keepdims=True), np.float64)


@dataclass(frozen=True)
class Rounding(FixedRule):
    """Releases probabilities rounded to decimal places.

    Rows are divided by their sums. If the predicted class would lose a tie for the largest value,
    it is raised by one unit of the last place.

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
        return f"{self.digits} digit{'s' * (self.digits > 1)}"

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return rounded probabilities, (n, k), in rows that sum to 1."""
        unit = 10.0**-self.digits
        kept = keep_class(np.round(p, self.digits), p.argmax(axis=1), unit)
        return np.asarray(kept / kept.sum(axis=1, keepdims=True), np.float64)


@dataclass(frozen=True)
class TopK(FixedRule):
    """Releases the largest probabilities and hides how the rest is distributed.

    The rest of each row is spread evenly over the other classes: the best guess of an adversary who
    sees only the largest ones.

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
    variant_form = "k = {k}"

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return the k largest of each row and an even rest, (n, k), in rows that sum to 1."""
        others = p.shape[1] - self.k
        # Every class is among the k largest.
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
class Temperature(FixedRule):
    """Divides logits by a temperature: ``p_i^(1/T) / sum_j p_j^(1/T)``.

    An adversary who knows or guesses T can undo it, by ``1 / T``. It fools only attacks that expect
    undefended answers, and serves as a comparison.

    Notes
    -----
    Shokri et al. (2017), section VIII: increasing the entropy of the prediction vector.
    """

    t: float = 5.0
    """Temperature, finite and above 0; answers become less certain above 1."""

    def __post_init__(self) -> None:
        checks.positive(t=self.t)

    name = "temperature"
    variant_form = "T = {t:g}"

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return softened probabilities, (n, k), in rows that sum to 1."""
        softened: Floats = softmax(np.log(np.maximum(p, _TINY)) / self.t, axis=1)
        # Equal powers of close probabilities: the smallest step restores the predicted class.
        return keep_class(softened, p.argmax(axis=1), float(np.finfo(np.float64).eps))


@dataclass(frozen=True)
class LabelOnly(FixedRule):
    """Releases the predicted class only: a 1 there, 0 elsewhere.

    An attack still sees whether the prediction is right.
    """

    name = "label-only"
    variant_form = ""

    def answer(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return a 1 at the first largest probability of each row, (n, k)."""
        return one_hot(p.argmax(axis=1), p.shape[1]).astype(np.float64)
