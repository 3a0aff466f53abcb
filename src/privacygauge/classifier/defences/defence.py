"""Protocol of a defence on answers: it sees score vectors, never labels or membership."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from privacygauge.classifier.game import crossfit_halves
from privacygauge.classifier.pool import probabilities
from privacygauge.classifier.predictions import Predictions
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
        """The defence's name in tables and files."""

    @property
    def variant(self) -> str:
        """Its parameters in a few words; empty where there are none."""

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


@dataclass(frozen=True)
class Identity:
    """No defence: answers are released as they are."""

    name = "none"

    variant = ""

    def fit(self, p: Floats, member: Bools, rng: np.random.Generator) -> Identity:
        """Return the defence itself: nothing is learnt."""
        return self

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
            seen = member | ~half
            released[half] = defence.fit(p[seen], member[seen], fits).answer(p[half], answers)
    return replace(predictions, answers=checks.frozen(released), logits=False)


def keep_class(p: Floats, predicted: Ints, step: float) -> Floats:
    """Return `p`, with the predicted class raised above all others where rounding made a tie.

    Rows of `p` (n, k) need not sum to 1; `predicted` (n,) is the class that must be each row's
    first maximum; `step`, above 0, is how far above the largest value it is raised.
    """
    rows = np.flatnonzero(p.argmax(axis=1) != predicted)
    kept = p.copy()
    kept[rows, predicted[rows]] = p[rows].max(axis=1) + step
    return kept


def normalise_rows(p: Floats) -> Floats:
    """Return rows divided by their sums, which must be above 0."""
    return np.asarray(p / p.sum(axis=1, keepdims=True), np.float64)
