"""Accuracy and AUC of attacks on canaries that fair coins put into one fit or a few fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.one_run import right_guesses
from privacygauge.evaluate.over_targets import mean_auc_of_models
from privacygauge.evaluate.roc import auc, placements, roc

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
    agree = {name: _agreement(x[:, chooses], secret[:, chooses]) for name, x in scores.items()}
    attack = max(agree, key=lambda name: agree[name])
    score = scores[attack][:, canary]
    member = secret[:, canary]
    rows = [Transcript(*fit, canary) for fit in zip(score, member, strict=True)]
    ties = seeds.stream(seed, "few fits", "ties")
    # Every judged canary is guessed, so the share of right guesses is an accuracy.
    all_of_them = np.array([len(canary)])
    right = [int(right_guesses(x.score, x.secret, all_of_them, ties)[0]) for x in rows]
    return GuessedInFits(
        attack=attack,
        canary=canary,
        score=checks.frozen(score),
        secret=checks.frozen(member),
        accuracy=accuracy_of_fits(np.array(right), len(canary), level),
        auc=_by_fit(
            auc(rows[0], level) if len(rows) == 1 else mean_auc_of_models(rows, level),
            np.array([placements(roc(fit))[0].mean() for fit in rows]),
        ),
    )


def accuracy_of_fits(right: Ints, n: int, level: float = 0.95) -> Estimate:
    """Return the share of right guesses about n canaries in each of a few fits.

    Parameters
    ----------
    right : ndarray of int, shape (t,)
        Right guesses in each fit, in 0..n.
    n : int
        Guesses per fit.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        In [0, 1]; `n` is the number of guesses.

    Notes
    -----
    If fits carry no information about the canaries, every guess is right with probability 1/2,
    independently, and Clopper & Pearson's interval for all guesses is valid. If fits leak by
    different amounts, the fit is the independent unit, and Student's interval for the shares per
    fit is valid. The result has the wider of both limits. A single fit cannot show how much fits
    differ: its interval is about that fit.
    """
    coins = rates.share(int(right.sum()), len(right) * n, level)
    return _by_fit(coins, right / n)


def _by_fit(found: Estimate, values: Floats) -> Estimate:
    """Widen the interval of a mean over fits so that it is also valid if fits differ."""
    if len(values) == 1:
        return found
    fits = rates.mean(values, found.level, unit="fits", least=0.0, most=1.0)
    low = min(found.low, fits.low)
    high = max(found.high, fits.high)
    return replace(found, low=low, high=high, method=f"the wider of {found.method}; {fits.method}")


def _agreement(score: Floats, secret: Bools) -> float:
    """Return the rank advantage of members over non-members, summed over fits."""
    ranks = rankdata(score, axis=1) - (score.shape[1] + 1) / 2
    return float((ranks * (secret - 0.5)).sum())
