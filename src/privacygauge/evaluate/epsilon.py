"""Lower bounds on the epsilon of differential privacy, from the error rates of attacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import betaincinv

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Estimate
from privacygauge.core.rules import halves
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import decision, rates


def epsilon_lower_bound(decisions: Decisions, delta: float = 0.0, level: float = 0.95) -> Estimate:
    """Return the largest epsilon that the guesses rule out, at confidence `level`.

    Parameters
    ----------
    decisions : Decisions
        The threshold must not have been chosen on these rows.
    delta : float
        In [0, 1).
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        `low` and `value` are the bound: at least 0, and exactly 0 for guesses at chance level.
        `high` is infinity: an attack never bounds epsilon from above.

    Notes
    -----
    (epsilon, delta)-differential privacy of one record implies TPR <= e^eps FPR + delta and
    TNR <= e^eps FNR + delta (Kairouz et al. 2015). Both need only a lower limit of the TPR and an
    upper limit of the FPR; each is Clopper-Pearson's at half of the error.
    """
    checks.below_one(delta, "delta")
    # Two-sided limits at `level`: each single limit errs with half of the error, both with all of
    # it.
    tpr = decision.recall(decisions, level)
    fpr = decision.false_positive_rate(decisions, level)
    bound = max(
        0.0,
        _log_ratio(tpr.low - delta, fpr.high),
        _log_ratio(1 - fpr.high - delta, 1 - tpr.low),
    )
    n = decisions.n_units
    return Estimate(
        value=bound, low=bound, high=np.inf, level=level, n=n, method="Clopper-Pearson, Bonferroni"
    )


def largest_certifiable_epsilon(n_in: int, n_out: int, level: float = 0.95) -> float:
    """Return the bound of a perfect attack on a given number of targets.

    A bound near this value is limited by the size of the sample, not by the model.
    """
    if min(n_in, n_out) == 0:
        return 0.0
    tail = (1.0 - checks.level(level)) / 2.0
    # Counts of a perfect attack: all members hit, no false positive.
    hit = rates.lower_limit(n_in, n_in, tail)
    false = rates.upper_limit(0, n_out, tail)
    return max(0.0, float(np.log(hit / false)), float(np.log((1 - false) / (1 - hit))))


def epsilon_of_values(accuracy: Estimate, n_values: int) -> Estimate:
    """Return the largest epsilon that right guesses among equally likely values rule out.

    Parameters
    ----------
    accuracy : Estimate
        Share of right guesses, in [0, 1].
    n_values : int
        Number of values v, at least 2.

    Returns
    -------
    Estimate
        `low` and `value` are the bound, at least 0; `high` is infinity.

    Notes
    -----
    Two values differ by the replacement of one record. Under epsilon-differential privacy the
    guess a is at least exp(-epsilon) times as likely with another value as with a, and the
    probabilities of all guesses sum to 1: so the accuracy is at most
    exp(epsilon) / (exp(epsilon) + v - 1). For two values it is that of Kairouz et al. (2015) at
    equal error rates.

    Examples
    --------
    >>> epsilon_of_values(rates.share(200, 200), 5).low.__round__(2)
    5.37
    """
    checks.at_least(2, n_values=n_values)
    # A private release changes the odds of the true value, 1 to n - 1, by e^epsilon at most.
    bound = max(0.0, _log_ratio(accuracy.low * (n_values - 1), 1 - accuracy.low))
    return Estimate(
        value=bound,
        low=bound,
        high=np.inf,
        level=accuracy.level,
        n=accuracy.n,
        method=accuracy.method,
    )


def audit_epsilon(
    transcripts: Sequence[Transcript], delta: float = 0.0, level: float = 0.95, seed: int = 0
) -> tuple[Estimate, int]:
    """Return one valid bound for a whole suite of attacks, and the index of the chosen attack.

    Attack and threshold are chosen on one half of the units; the bound is computed once, on the
    other half.

    Parameters
    ----------
    transcripts : sequence of Transcript
        One per attack, on the same rows in the same order.
    delta : float
        In [0, 1).
    level : float
        In (0, 1).
    seed : int
        Draws the halves.

    Returns
    -------
    tuple of Estimate and int
        As in `epsilon_lower_bound`, and the index of the chosen attack.
    """
    if not transcripts:
        raise InputError("at least one transcript is needed")
    rows = transcripts[0]
    secret = rows.secret
    chosen = halves(rows.unit, secret, 0.5, seed)
    if any(part.all() or not part.any() for part in (secret[chosen], secret[~chosen])):
        raise InputError("too few targets: both halves need members and non-members")
    # Of equal bounds the first attack: -i breaks the tie.
    best = max(
        (
            (*best_cut(t.score[chosen], secret[chosen], delta, level), -i)
            for i, t in enumerate(transcripts)
        ),
        key=lambda found: (found[0], found[2]),
    )
    index = -best[2]
    judged = ~chosen
    guesses = rows.decided(transcripts[index].score >= best[1], "chosen on the other half")
    return epsilon_lower_bound(guesses[judged], delta, level), index


def best_cut(
    score: Floats, secret: Bools, delta: float = 0.0, level: float = 0.95
) -> tuple[float, float]:
    """Return the largest bound over all cuts of these rows, and its cut.

    The bound is not valid, since the cut was chosen on these rows: use the cut on other rows.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        Higher means more likely a member.
    secret : ndarray of bool, shape (n,)
        True for a member; both values must occur.
    delta, level : float
        As in `epsilon_lower_bound`.
    """
    inside = np.sort(score[secret])
    outside = np.sort(score[~secret])
    cuts = np.unique(inside)
    # Evenly thinned: more candidates cost time and hardly move the best one.
    if len(cuts) > 512:
        cuts = cuts[np.unique(np.linspace(0, len(cuts) - 1, 512).astype(int))]
    n_in = len(inside)
    n_out = len(outside)
    false = n_out - np.searchsorted(outside, cuts, side="left")
    # Among cuts with equally many false positives, the lowest has the most hits.
    lowest = np.append(True, false[1:] < false[:-1])
    cuts = cuts[lowest]
    false = false[lowest]
    hits = n_in - np.searchsorted(inside, cuts, side="left")
    tail = (1.0 - level) / 2.0
    tpr_low = betaincinv(hits, n_in - hits + 1.0, tail)
    fpr_high = np.where(
        false < n_out, betaincinv(false + 1.0, np.maximum(n_out - false, 1e-9), 1.0 - tail), 1.0
    )
    # Keeps logarithms finite where a limit is 0, or not above delta.
    tiny = np.finfo(float).tiny
    bounds = np.maximum(
        np.log(np.maximum(tpr_low - delta, tiny) / np.maximum(fpr_high, tiny)),
        np.log(np.maximum(1 - fpr_high - delta, tiny) / np.maximum(1 - tpr_low, tiny)),
    )
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(cuts[best])


def _log_ratio(above: float, below: float) -> float:
    if above <= 0:
        return 0.0
    return float(np.log(above / below)) if below > 0 else np.inf
