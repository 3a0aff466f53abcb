"""Lower bounds on epsilon that hold at all times, while one training follows another."""

from __future__ import annotations

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.chosen_cut import epsilon_cut

_STAKES = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95])
"""Shares of the capital that are put on the next guess; the capital is split evenly among them."""

_LARGEST, _HALVINGS = 40.0, 32

_FIRST = 32
"""So many rows choose the first threshold; it is chosen again whenever their number doubles."""


def guesses_in_order(transcript: Transcript, delta: float = 0.0) -> Ints:
    """Return whether each guess is right, where only earlier rows choose its threshold.

    Parameters
    ----------
    transcript : Transcript
        One row a training run, in their order.
    delta : float
        In [0, 1).

    Returns
    -------
    ndarray of int, shape (n,)
        1 for a right guess, -1 for a wrong one, 0 for none.
    """
    score, secret = transcript.score, transcript.secret
    found = np.zeros(len(score), np.int64)
    start = _FIRST
    while start < len(score):
        end = min(2 * start, len(score))
        if 0 < np.count_nonzero(secret[:start]) < start:
            chosen = epsilon_cut(score[:start], secret[:start], delta)
            high = score[start:end] >= chosen.cut
            guessed = ~high if chosen.turned else high
            right = secret[start:end] != chosen.turned
            found[start:end] = np.where(guessed, np.where(right, 1, -1), 0)
        start = end
    return found


def bounds_at_all_times(outcome: Ints, delta: float = 0.0, level: float = 0.95) -> Floats:
    """Return the largest epsilon that is ruled out after each guess, at any time of stopping.

    Parameters
    ----------
    outcome : array_like of int, shape (n,)
        1 for a right guess, -1 for a wrong one, 0 for none, in the order of the trainings. Each
        guess may depend on all that came before, and each coin is fair whatever came before.
    delta : float
        In [0, 1).
    level : float
        In (0, 1), of all n bounds together.

    Returns
    -------
    ndarray of float, shape (n,)
        Never falling, at least 0: whoever stops at a time of their choice, such as once a claim is
        refuted, has a bound that is above the truth with probability ``1 - level`` at most.

    Notes
    -----
    Of an (epsilon, delta)-private training with a fair coin, a right guess is at most e^epsilon
    times as likely as a wrong one, plus delta. So the capital of who bets on right guesses,

        prod_t (1 + stake (right_t - e^epsilon wrong_t - delta) / (e^epsilon + delta)),

    is not expected to grow, nor is the mean over several stakes. It ever reaches
    ``1 / (1 - level)`` with probability ``1 - level`` at most (Ville's inequality; Waudby-Smith &
    Ramdas 2024). The factor of a row without a guess is taken at epsilon = 0, where it is
    smallest, so that the capital falls with epsilon.

    Examples
    --------
    >>> bounds_at_all_times([1] * 40)[[4, 9, 39]].round(2)
    array([0.  , 0.48, 2.04])
    """
    seen = checks.integers(outcome, "outcome")
    if np.any(np.abs(seen) > 1):
        raise InputError(f"outcome must be -1, 0 or 1, got {checks.listed(np.unique(seen))}")
    if not 0.0 <= delta < 1.0:
        raise InputError(f"delta must be in [0, 1), got {delta}")
    needed = -np.log1p(-checks.level(level))
    right, wrong, none = (np.cumsum(seen == x)[:, None] for x in (1, -1, 0))
    fixed = wrong * np.log1p(-_STAKES) + none * np.log1p(-_STAKES * delta / (1 + delta))

    def refuted(epsilon: Floats) -> Bools:
        gain = _STAKES * (1 - delta) / (np.exp(epsilon)[:, None] + delta)
        logs = fixed + right * np.log1p(gain)
        most = logs.max(axis=1)
        capital = most + np.log(np.exp(logs - most[:, None]).mean(axis=1))
        return np.asarray(capital >= needed, np.bool_)

    low, high = np.zeros(len(seen)), np.full(len(seen), _LARGEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = refuted(middle)
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.maximum.accumulate(low)
