"""Exposure: the rank of a trained-on canary's loss among those of canaries not trained on.

Also the lower bound on epsilon from the same canaries of one training run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.evaluate.claim_bounds import bound_of
from privacygauge.evaluate.roc import auc


def exposures(inside: ArrayLike, outside: ArrayLike) -> Floats:
    """Return the exposure of every canary that was trained on, in bits.

    Parameters
    ----------
    inside : array_like of float, shape (k,)
        Loss of each canary that was trained on; lower means better known.
    outside : array_like of float, shape (n,)
        Losses of canaries from the same distribution that were not trained on, at least one.

    Returns
    -------
    ndarray of float, shape (k,)
        In [0, log2(n + 1)]. If nothing was memorised, about 1.44 on average (the mean of -log2 of a
        uniform number), less for small n.

    Raises
    ------
    InputError
        If a loss is not finite, or `outside` is empty.

    Notes
    -----
    Carlini, Liu, Erlingsson, Kos & Song (2019), "The Secret Sharer", definition 5:
    ``log2 |R| - log2 rank``, where R is the canary together with `outside`. Half of the equal
    losses count as lower.

    Examples
    --------
    >>> exposures([0.1, 2.5], [1.0, 2.0, 3.0])
    array([2.       , 0.4150375])
    """
    known = checks.floats(inside, "inside")
    others = np.sort(checks.floats(outside, "outside"))
    if not len(others):
        raise InputError("outside must hold at least one canary that was not trained on, got none")
    below = np.searchsorted(others, known, side="left")
    equal = np.searchsorted(others, known, side="right") - below
    found: Floats = np.log2(len(others) + 1.0) - np.log2(1.0 + below + equal / 2.0)
    return found


@dataclass(frozen=True, eq=False)
class CanaryFindings:
    """Exposure, epsilon lower bound and AUC of the canaries of one training run."""

    inside: Bools
    """(k,) True where a fair coin put the canary into the training set."""
    score: Floats
    """(k,) Score of each canary; higher means more likely a member."""
    loss: Floats
    """(k,) Loss of the trained model on each canary."""
    exposure: Floats
    """(m,) Exposure of each canary that was trained on, in bits; see `exposures`."""
    largest: float
    """Largest possible exposure, in bits: that of a loss below all others."""
    epsilon: PrivacyBound
    """Lower bound on epsilon from this one training run."""
    known: Estimate
    """Share of pairs in which the trained-on canary has the lower loss, in [0, 1]; 0.5 if nothing
    was memorised. It does not depend on `score`."""

    def sentence(self) -> str:
        """Return the findings in words."""
        low = self.epsilon.estimate.low
        return (
            f"{int(self.inside.sum())} of {len(self.inside)} were trained on; median exposure "
            f"{np.median(self.exposure):.1f} of at most {self.largest:.1f} bits; epsilon is at "
            f"least {low:.2f} with {100 * self.epsilon.estimate.level:g}% confidence"
        )


def canary_findings(
    inside: Bools, score: Floats, loss: Floats, compared: Floats, seed: int, level: float
) -> CanaryFindings:
    """Return exposure, epsilon lower bound and AUC of the canaries of one training run.

    Parameters
    ----------
    inside : ndarray of bool, shape (k,)
        True where the canary was trained on; both values must occur.
    score, loss : ndarray of float, shape (k,)
        As in `CanaryFindings`.
    compared : ndarray of float, shape (n,)
        Losses of further canaries that were never trained on; n may be 0.
    seed : int
    level : float
    """
    outside = np.concatenate([loss[~inside], compared])
    bound = bound_of(Transcript(score, inside), seed, level)
    largest = float(np.log2(len(outside) + 1))
    # By losses, not scores: the further canaries have no scores.
    losses = np.concatenate([loss[inside], outside])
    # Negated: members have the lower losses.
    known = auc(Transcript(-losses, np.arange(len(losses)) < np.count_nonzero(inside)), level)
    exposure = exposures(loss[inside], outside)
    return CanaryFindings(
        inside=inside,
        score=score,
        loss=loss,
        exposure=exposure,
        largest=largest,
        epsilon=bound,
        known=known,
    )
