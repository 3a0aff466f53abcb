"""Attacks on canaries that fair coins put into one training run or into a few.

Accuracy and AUC of the guesses, and exposure: the rank of a trained-on canary's loss among those of
canaries not trained on, with the lower bound on epsilon from the same training run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from scipy.stats import rankdata

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.evaluate.claim_bounds import bound_of
from privacygauge.evaluate.one_run import right_guesses
from privacygauge.evaluate.roc import auc, influences, placements, roc

CHOOSING = 0.2
"""Share of the canaries that choose among several attacks and are not judged."""


@dataclass(frozen=True, eq=False)
class GuessedInFits:
    """Results of one attack on the canaries of a few fits."""

    attack: str
    """Title of the attack; of several, the one chosen by the choosing canaries."""
    canary: Ints
    """(r,) Indices of the judged canaries, ascending."""
    score: Floats
    """(t, r) Scores of the judged canaries in each fit; higher means more likely in."""
    secret: Bools
    """(t, r) True where the canary was in the fit."""
    accuracy: Estimate
    """Share of right guesses, with "in" for the higher half of each fit's scores, in [0, 1]."""
    accuracy_of_each: Floats
    """(t,) The same share for each fit; their mean is `accuracy`."""
    auc: Estimate
    """Mean AUC over the fits, in [0, 1]."""


def guessed_in_fits(
    scores: Mapping[str, Floats], secret: Bools, seed: int = 0, level: float = 0.95
) -> GuessedInFits:
    """Evaluate attacks on canaries that coins put into a few fits.

    Parameters
    ----------
    scores : mapping of str to ndarray of float, shape (t, n)
        Scores of each attack for n canaries in t fits; higher means more likely in.
    secret : ndarray of bool, shape (t, n)
        True where an independent fair coin put the canary into the fit.
    seed : int
        Draws the canaries that choose among several attacks, and breaks ties between scores.
    level : float
        Level of each interval, in (0, 1).

    Raises
    ------
    InputError
        If shapes differ, or a fit has all or none of its judged canaries in.

    Notes
    -----
    A fifth of the canaries chooses the attack with the largest rank advantage of their members. The
    coins of the others are independent of these, so no correction is needed.

    Intervals are about these fits, whether one or many, and narrow with every further one. If fits
    carry no information, each guess is right with probability 1/2, independently. If fits leak by
    different amounts, the number of right guesses varies less than a binomial one of the same mean
    (Hoeffding 1956), so Clopper & Pearson's interval covers the mean over the fits. How much fits
    differ is told by `accuracy_of_each`.
    """
    for name, score in scores.items():
        if score.shape != secret.shape or secret.ndim != 2:
            raise InputError(
                f"scores of {name} and secret must have one shape (t, n), got {score.shape} and "
                f"{secret.shape}"
            )
    if not scores:
        raise InputError("scores must hold at least one attack, got none")
    # A single attack needs no choice, so all canaries are judged.
    n_choosing = round(CHOOSING * secret.shape[1]) if len(scores) > 1 else 0
    order = seeds.stream(seed, "few fits", "choosing").permutation(secret.shape[1])
    chooses = order[:n_choosing]
    canary = np.sort(order[n_choosing:])
    agree = {}
    for name, score in scores.items():
        # Centred ranks: the rank advantage of members over non-members, summed over fits.
        ranks = rankdata(score[:, chooses], axis=1) - (n_choosing + 1) / 2
        agree[name] = float((ranks * (secret[:, chooses] - 0.5)).sum())
    attack = max(agree, key=lambda name: agree[name])
    score = scores[attack][:, canary]
    member = secret[:, canary]
    rows = [Transcript(*fit, canary) for fit in zip(score, member, strict=True)]
    ties = seeds.stream(seed, "few fits", "ties")
    # Every judged canary is guessed, so the share of right guesses is an accuracy.
    all_of_them = np.array([len(canary)])
    right = np.array([right_guesses(x.score, x.secret, all_of_them, ties)[0] for x in rows])
    # The mean AUC over these fits; a canary's scores in all of them are one unit.
    if len(rows) == 1:
        mean_auc = auc(rows[0], level)
    else:
        curves = [roc(fit) for fit in rows]
        value = float(np.mean([placements(curve)[0].mean() for curve in curves]))
        n = len(rows[0])
        moves = [influences(*pair) for pair in zip(rows, curves, strict=True)]
        error = rates.standard_error_of_units(np.mean(moves, axis=0), rows[0].unit)
        # Where all pairs agree the estimated error is 0, which says nothing: exact limits instead.
        if error == 0.0 or value in (0.0, 1.0):
            pairs = min(min(curve.n_in, curve.n_out) for curve in curves)
            mean_auc = rates.on_pairs(value, pairs, level, n)
        else:
            half = float(stdtrit(n - 1, 0.5 + checks.level(level) / 2)) * error
            method = f"DeLong by canary, mean of {len(rows)} fits"
            mean_auc = rates.on_logit_scale(value, half, level=level, n=n, method=method)
    return GuessedInFits(
        attack=attack,
        canary=canary,
        score=checks.frozen(score),
        secret=checks.frozen(member),
        accuracy=rates.share(int(right.sum()), member.size, level),
        accuracy_of_each=checks.frozen(right / len(canary)),
        auc=mean_auc,
    )


# Exposure of the canaries of one training run.


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
