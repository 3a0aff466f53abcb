"""Accuracy and AUC of attacks on canaries that fair coins put into one fit or a few fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit
from scipy.stats import rankdata

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
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
