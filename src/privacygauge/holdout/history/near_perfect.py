"""Accounts with far fewer errors than all others: leaked labels as seen from outside."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom, f

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.holdout.history.evidence import NEAR_PERFECT, Evidence
from privacygauge.holdout.history.record import History

FEWEST = 5
"""Minimum number of accounts: among fewer, no distance can be called far."""
TOGETHER = 10
"""Largest number of accounts that may share the labels; at least three must be left."""
_FRIENDS = 3
"""Larger groups of accounts must have fewer errors in proportion to their size: a good model that
was made public has many followers too.
"""
NEIGHBOURS = 6
"""Minimum number of steps that define far; a third of the accounts if that is more."""
_FEWER = 6.0
"""Factor by which the errors must be fewer than the next account's to suggest a leaked file."""


def near_perfect(history: History) -> tuple[Evidence, ...] | Skipped:
    """Test the best account, and the best two to ten, for being far ahead, also in private.

    Parameters
    ----------
    history : History
        Scores are enough; errors are 1 less the score, whatever the metric.

    Notes
    -----
    Let ``e_1 <= ... <= e_m`` be the errors of the accounts' best submissions, with half an error
    added, and ``g_i = log(e_(i+1) / e_i)``. If errors fall off like a power towards 0, the
    ``i g_i`` are independent exponential variables of one mean (Renyi 1953), so that ``j g_j`` over
    the mean of the r later ones has an F distribution with 2 and ``2 r`` degrees of freedom. The
    same distribution serves the jump by which the board's errors fell when the first of these
    accounts got there, beside the mean of all others' improvements; the smaller of both p-values
    counts twice. The errors must be at most a sixth of the next account's, of j accounts more than
    three one in ``2 j``, and fewer by more than counting explains.
    """
    m = len(history.names)
    if m < FEWEST:
        return Skipped(NEAR_PERFECT.title, f"needs {FEWEST} accounts, got {m}")
    found = _far_ahead(history, history.scores, history.n)
    if history.private is not None and history.n_private is not None:
        # Labels of the private part got out, and the public score shows nothing of it.
        found += _far_ahead(history, history.private, history.n_private, "in private ")
    return tuple(found)


def _far_ahead(history: History, scores: Floats, n: int, where: str = "") -> list[Evidence]:
    """Return a test for each number of leading accounts, by scores on n points."""
    m = len(history.names)
    rows_of = [history.rows_of(code) for code in range(m)]
    best = np.array([rows[np.argmax(scores[rows])] for rows in rows_of])
    wrong = (1 - scores[best]) * n
    order = np.argsort(wrong, kind="stable")
    errors = wrong[order] + 0.5
    steps = np.arange(1, m) * np.diff(np.log(errors))
    log_errors = np.log((1 - scores) * n + 0.5)
    found = []
    for j in range(1, min(TOGETHER, m - 3) + 1):
        later = steps[j : j + max(NEIGHBOURS, m // 3)]
        mean = float(later.mean())
        alone = 1.0
        if errors[j] >= _FEWER * max(1.0, j / _FRIENDS) * errors[j - 1]:
            ratio = float(steps[j - 1]) / mean if mean > 0 else math.inf
            spaced = float(f.sf(ratio, 2, 2 * len(later)))
            rate = min(1.0, float(errors[j]) / n)
            counted = float(binom.cdf(math.floor(wrong[order[j - 1]]), n, rate))
            jump = _jump(history, log_errors, group=order[:j], reached=float(errors[j - 1]))
            alone = max(min(1.0, 2 * min(spaced, jump)), min(1.0, m * counted))
        found.append(
            Evidence(
                detector=NEAR_PERFECT,
                accounts=tuple(history.names[c] for c in order[:j]),
                p_value=max(alone, 1e-300),
                says=(
                    f"{where}{1 - wrong[order[j - 1]] / n:.4g} where the next account reaches "
                    f"{1 - wrong[order[j]] / n:.4g}"
                ),
                rows=best[order[:j]],
            )
        )
    return found


def _jump(history: History, errors: Floats, group: Ints, reached: float) -> float:
    """Return the p-value of the jump to few errors, given the improvements of all others.

    `errors` (k,) are the logarithms of each submission's errors.
    """
    inside = np.isin(history.codes, group)
    first = int(np.flatnonzero(inside & (errors <= math.log(reached) + 1e-9))[0])
    if first == 0:
        return 1.0
    jump = float(errors[:first].min() - errors[first])
    steps = []
    for code in range(len(history.names)):
        if code not in group:
            own = np.minimum.accumulate(errors[history.rows_of(code)])
            steps.append(-np.diff(own))
    others = np.concatenate(steps)
    others = others[others > 0]
    if len(others) < FEWEST or jump <= 0:
        return 1.0
    return min(1.0, (len(others) + 1) * float(f.sf(jump / others.mean(), 2, 2 * len(others))))
