"""Thresholds and lines for two-count tests, chosen on rows held out from the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.two_rates import Line

_TRIED = 256
"""Candidate thresholds near each end of the sample, and as many evenly spaced ones."""

_CAUTION = 3.0
"""Standard deviations subtracted from each candidate's bound, so that luck does not choose."""

_MIDDLE = 0.7
"""Added to a count of false positives: about ln 2, the median of a Poisson mean after a count
of 0."""

_LEAST_EPSILON = 0.05
"""Smallest epsilon for which a line is made."""

_FARTHEST = 8.0
"""Normal quantiles are clipped to plus or minus this, so that slopes stay finite."""


@dataclass(frozen=True)
class ChosenCut:
    """A threshold, and the line that orders the counts beyond it."""

    cut: float
    """Threshold; a score of at least this is guessed to be a member's."""
    line: Line
    """Line for the counts, or for the turned counts if `turned`."""
    turned: bool = False
    """Whether the test counts non-members below the threshold, not members above it."""


def epsilon_cut(score: Floats, secret: Bools, delta: float) -> ChosenCut:
    """Return the threshold that is likely to give the largest bound on epsilon on other rows.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
    secret : ndarray of bool, shape (n,)
        True for a member; both values must occur.
    delta : float
        In [0, 1).

    Notes
    -----
    Maximises ``log((TPR - delta) / FPR)`` at the observed counts, minus the distance to its limit
    three standard deviations away, and likewise ``log((TNR - delta) / FNR)``.
    """
    inside = np.sort(score[secret])
    outside = np.sort(score[~secret])
    upper = _candidate_cuts(inside)
    lower = _candidate_cuts(outside)
    of_in = _cautious(*_count_above(inside, upper), *_count_above(outside, upper), delta)
    of_out = _cautious(*_count_below(outside, lower), *_count_below(inside, lower), delta)
    # Epsilon bounds both likelihood ratios: a leak may show only in scores that rule out members.
    turned = bool(of_out.max() > of_in.max())
    found, cuts = (of_out, lower) if turned else (of_in, upper)
    best = int(np.argmax(found))
    slope = math.exp(max(float(found[best]), _LEAST_EPSILON))
    return ChosenCut(float(cuts[best]), Line(slope, delta), turned)


def mu_line(score: Floats, secret: Bools, cut: float, mu: float) -> Line:
    """Return the tangent of the Gaussian trade-off curve of `mu` at a cut's false-positive rate.

    Parameters
    ----------
    score, secret : ndarray, shapes (n,)
    cut : float
        The threshold.
    mu : float
        Value near the largest mu that the counts will refute, at least 0.
    """
    outside = score[~secret]
    # Half a count added on both sides: a rate of 0 or 1 has no finite quantile.
    fpr = (np.count_nonzero(outside >= cut) + 0.5) / (len(outside) + 1)
    start = float(np.clip(ndtri(fpr), -_FARTHEST, _FARTHEST))
    # The derivative of Phi(Phi^-1(fpr) + mu) at the false-positive rate.
    slope = math.exp(-mu * start - mu * mu / 2)
    return Line(slope, float(ndtr(start + mu)) - slope * float(ndtr(start)))


def _candidate_cuts(ascending: Floats) -> Floats:
    """Return distinct values of a sorted sample, shape (c,), densest at both ends."""
    n = len(ascending)
    # Distances from an end at equal ratios: in the tails one row changes a rate the most.
    ends = np.geomspace(1, n, _TRIED) - 1
    places = np.concatenate([ends, n - 1 - ends, np.linspace(0, n - 1, _TRIED)])
    return np.unique(ascending[np.unique(places.round().astype(np.int64))])


def _count_above(ascending: Floats, cuts: Floats) -> tuple[Floats, int]:
    """Return the number of values at or above each cut, and the number of all values."""
    n = len(ascending)
    return (n - np.searchsorted(ascending, cuts, side="left")).astype(np.float64), n


def _count_below(ascending: Floats, cuts: Floats) -> tuple[Floats, int]:
    """Return the number of values below each cut, and the number of all values."""
    found = np.searchsorted(ascending, cuts, side="left").astype(np.float64)
    return found, len(ascending)


def _cautious(hits: Floats, n_in: int, false: Floats, n_out: int, delta: float) -> Floats:
    # Bound at the observed counts minus its spread, at each cut: shape (c,).
    tpr = hits / n_in
    # The median of the false-positive rate given its count, and Clopper-Pearson's upper limit.
    fpr = (false + _MIDDLE) / n_out
    limit = betaincinv(false + 1, np.maximum(n_out - false, _MIDDLE), ndtr(_CAUTION))
    gain = tpr - delta
    shown = gain > 0
    # Any positive number where nothing is shown: the result there is -inf.
    gain = np.where(shown, gain, 1.0)
    # Standard deviation of log(TPR - delta) by the delta method, with the log width of the FPR.
    spread = np.hypot(
        _CAUTION * np.sqrt(tpr * (1 - tpr) / n_in) / gain, np.log(np.maximum(limit / fpr, 1.0))
    )
    return np.where(shown, np.log(gain / fpr) - spread, -np.inf)


_STAKES = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95])
"""Stakes, as shares of a bettor's capital per guess; the capital is split evenly among bettors,
since the best stake depends on the unknown epsilon."""

_LARGEST = 40.0
"""Upper end of the search for epsilon; e^40 is beyond any bound that guesses could show."""
_HALVINGS = 32
"""Bisection steps of that search; the last interval is 40 / 2^32 wide."""

_FIRST = 32
"""Rows that choose the first threshold; it is chosen again each time the rows have doubled."""


def guesses_in_order(transcript: Transcript, delta: float = 0.0) -> Ints:
    """Return the outcome of each guess, with thresholds chosen on earlier rows only.

    Parameters
    ----------
    transcript : Transcript
        One row per training run, in order.
    delta : float
        In [0, 1).

    Returns
    -------
    ndarray of int, shape (n,)
        1 for a right guess, -1 for a wrong one, 0 for no guess.
    """
    score = transcript.score
    secret = transcript.secret
    found = np.zeros(len(score), np.int64)
    start = _FIRST
    while start < len(score):
        end = min(2 * start, len(score))
        if 0 < np.count_nonzero(secret[:start]) < start:
            # Rows before `start` choose, the next block is judged: no row is judged by a threshold
            # that it helped to choose, which the betting bound requires.
            chosen = epsilon_cut(score[:start], secret[:start], delta)
            high = score[start:end] >= chosen.cut
            # Only one side of the threshold is guessed: "member", or if turned "non-member".
            guessed = ~high if chosen.turned else high
            right = secret[start:end] != chosen.turned
            found[start:end] = np.where(guessed, np.where(right, 1, -1), 0)
        start = end
    return found


def bounds_at_all_times(outcome: Ints, delta: float = 0.0, level: float = 0.95) -> Floats:
    """Return the largest epsilon ruled out after each guess, valid at any stopping time.

    Parameters
    ----------
    outcome : array_like of int, shape (n,)
        1 for a right guess, -1 for a wrong one, 0 for no guess, in training order. A guess may
        depend on everything before it; each coin must be fair given everything before it.
    delta : float
        In [0, 1).
    level : float
        Joint level of all n bounds, in (0, 1).

    Returns
    -------
    ndarray of float, shape (n,)
        Non-decreasing, at least 0. At any stopping time, such as the refutation of a claim, the
        bound exceeds the truth with probability at most ``1 - level``.

    Notes
    -----
    In an (epsilon, delta)-private training with a fair coin, a right guess is at most e^epsilon
    times as likely as a wrong one, plus delta. So the capital of a bettor on right guesses,

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
        raise InputError(f"outcome must be -1, 0 or 1, got {checks.short_list(np.unique(seen))}")
    checks.below_one(delta, "delta")
    # Ville's inequality: a fair bettor's capital ever reaches 1 / error with at most that error.
    needed = -np.log1p(-checks.level(level))
    # Session counts, shape (n, 1), against the stakes, shape (10,).
    right, wrong, none = (np.cumsum(seen == x)[:, None] for x in (1, -1, 0))
    # Terms that do not depend on epsilon: a wrong guess loses the whole stake, (1 - stake), and a
    # row without a guess is taken at epsilon 0.
    fixed = wrong * np.log1p(-_STAKES) + none * np.log1p(-_STAKES * delta / (1 + delta))

    def refuted(epsilon: Floats) -> Bools:
        # A right guess wins stake (1 - delta) / (e^epsilon + delta).
        gain = _STAKES * (1 - delta) / (np.exp(epsilon)[:, None] + delta)
        logs = fixed + right * np.log1p(gain)
        # Log of the mean capital, stabilised by the largest term.
        most = logs.max(axis=1)
        capital = most + np.log(np.exp(logs - most[:, None]).mean(axis=1))
        return np.asarray(capital >= needed, np.bool_)

    low = np.zeros(len(seen))
    high = np.full(len(seen), _LARGEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = refuted(middle)
        low = np.where(beyond, middle, low)
        high = np.where(beyond, high, middle)
    # A bound once reached stays valid: the guarantee is for all times at once.
    return np.maximum.accumulate(low)
