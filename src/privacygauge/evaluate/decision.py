"""Measures of guesses: accuracy, advantage, precision, recall, predictive value at a prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri, stdtrit

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.evaluate import rates

FEW_UNITS = 10
"""Units per side below which the variance between units is poorly estimated."""

PRIORS = (0.01, 0.1, 0.5)
"""Shares of members in the population for which precision is reported."""
EQUAL_SIDES = ", at equal sides"
"""Suffix of a precision's method if members and non-members differ in number."""


def balanced_accuracy(decisions: Decisions, level: float = 0.95) -> Estimate:
    """Return the mean of the shares of right guesses among members and among non-members.

    Parameters
    ----------
    decisions : Decisions
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        In [0, 1]; 1/2 for guesses that do not depend on membership, whatever the share of
        members. `n` is the number of units.

    Notes
    -----
    Song & Mittal (2021), section 3.3. Interval: the Wilson limits of both sides combined by MOVER
    (Newcombe 1998; Zou & Donner 2008). If units repeat, Wilson's interval at the effective number
    of independent rows: a target that leaks is guessed correctly both as a member and as a
    non-member, so the sides are not independent.
    """
    n_in = decisions.n_in
    n_out = decisions.n_out
    hits = decisions.true_positives
    rejected = n_out - decisions.false_positives
    # A single division of integers, so that nothing is rounded before it.
    value = (hits * n_out + rejected * n_in) / (2 * n_in * n_out)
    if decisions.repeated:
        return _clustered_interval(decisions, value, level)
    low, high = limits_of_accuracy((hits, n_in), (rejected, n_out), level)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=len(decisions),
        method="MOVER of Wilson limits",
    )


def limits_of_accuracy(
    members: tuple[int, int], others: tuple[int, int], level: float
) -> tuple[float, float]:
    """Return the limits of the balanced accuracy from each side's (right guesses, rows)."""
    sides = [(right / n, *rates.wilson(right, n, level)) for right, n in (members, others)]
    value = sum(share for share, _, _ in sides) / 2
    # MOVER: each side's distances to its own limits, combined as if they were standard errors.
    down = np.sqrt(sum((share - low) ** 2 for share, low, _ in sides)) / 2
    up = np.sqrt(sum((high - share) ** 2 for share, _, high in sides)) / 2
    return max(0.0, value - float(down)), min(1.0, value + float(up))


def advantage(decisions: Decisions, level: float = 0.95) -> Estimate:
    """Return TPR - FPR, in [-1, 1]: twice the balanced accuracy, minus one."""
    accuracy = balanced_accuracy(decisions, level)
    value, low, high = (2 * x - 1 for x in (accuracy.value, accuracy.low, accuracy.high))
    return Estimate(
        value=value, low=low, high=high, level=level, n=accuracy.n, method=accuracy.method
    )


def recall(decisions: Decisions, level: float = 0.95) -> Estimate:
    """Return the share of members that were guessed to be members (TPR), in [0, 1]."""
    return _share(
        decisions, decisions.secret, hit=decisions.guess, hits=decisions.true_positives, level=level
    )


def false_positive_rate(decisions: Decisions, level: float = 0.95) -> Estimate:
    """Return the share of non-members that were guessed to be members (FPR), in [0, 1]."""
    return _share(
        decisions,
        ~decisions.secret,
        hit=decisions.guess,
        hits=decisions.false_positives,
        level=level,
    )


def precision(decisions: Decisions, level: float = 0.95) -> Estimate | Skipped:
    """Return the precision of "member" at equal numbers of members and non-members, in [0, 1].

    The share of members among the rows depends on how the audit was set up: `sample_precision` is
    for that mixture, `positive_predictive_value` for any other. Skipped if no row was guessed to be
    a member.

    Notes
    -----
    ``TPR / (TPR + FPR)``: the odds of `sample_precision` and of its limits, times
    ``n_out / n_in``. `n` is the number of targets guessed to be members. Given that number, the
    precision in the sample is a binomial proportion if rows are drawn independently; with sides of
    fixed sizes it varies less, so the interval holds at least at `level`.
    """
    found = sample_precision(decisions, level)
    # Equal sides need no scaling.
    if isinstance(found, Skipped) or decisions.n_in == decisions.n_out:
        return found
    scaled = with_odds(found, decisions.n_out / decisions.n_in)
    return replace(scaled, method=found.method + EQUAL_SIDES)


def sample_precision(decisions: Decisions, level: float = 0.95) -> Estimate | Skipped:
    """Return the share of members among the rows guessed to be members, in [0, 1].

    It applies only to the mixture of members and non-members in these rows. Skipped if no row was
    guessed to be a member.
    """
    if not decisions.true_positives + decisions.false_positives:
        return Skipped("precision", "no record was guessed to be a member")
    return _share(
        decisions, decisions.guess, hit=decisions.secret, hits=decisions.true_positives, level=level
    )


def with_odds(share: Estimate, factor: float) -> Estimate:
    """Multiply the odds of a share in [0, 1], and of its limits, by a positive `factor`."""
    value, low, high = (
        x * factor / (x * factor + (1 - x)) for x in (share.value, share.low, share.high)
    )
    return replace(share, value=value, low=low, high=high)


def positive_predictive_value(
    decisions: Decisions, prior: float, level: float = 0.95
) -> Estimate | Skipped:
    """Return the precision of "member" in a population with a share `prior` of members.

    Parameters
    ----------
    decisions : Decisions
    prior : float
        Share of members in the population, in (0, 1).
    level : float
        In (0, 1).

    Returns
    -------
    Estimate or Skipped
        ``prior * TPR / (prior * TPR + (1 - prior) * FPR)``, in [0, 1]. Each rate's limits are exact
        at half of the error, so the interval holds at least at `level`.
    """
    checks.level(prior, "prior")
    if not decisions.true_positives + decisions.false_positives:
        return Skipped(f"PPV at prior {prior}", "no record was guessed to be a member")
    # Half of the error each for TPR and FPR (Bonferroni).
    each = (1.0 + checks.level(level)) / 2.0
    tpr = recall(decisions, each)
    fpr = false_positive_rate(decisions, each)

    def value(hit: float, false: float) -> float:
        total = prior * hit + (1 - prior) * false
        return prior * hit / total if total > 0 else 0.0

    # Rises with TPR and falls with FPR, so opposite limits give the extremes.
    low = value(tpr.low, fpr.high)
    high = value(tpr.high, fpr.low)
    n = tpr.n + fpr.n
    return Estimate(
        value=value(tpr.value, fpr.value),
        low=low,
        high=high,
        level=level,
        n=n,
        method="Clopper-Pearson, Bonferroni",
    )


def predictive_values(
    decisions: Decisions, priors: Sequence[float] = PRIORS, level: float = 0.95
) -> tuple[tuple[float, Estimate | Skipped], ...]:
    """Return pairs of a prior and the `positive_predictive_value` at it."""
    return tuple((p, positive_predictive_value(decisions, p, level)) for p in priors)


def _share(decisions: Decisions, rows: Bools, hit: Bools, hits: int, level: float) -> Estimate:
    """Return the share of hits among `rows`; `hits` is their number."""
    if decisions.repeated:
        return rates.proportion(hit[rows], decisions.unit[rows], level)
    return rates.share(hits, int(np.count_nonzero(rows)), level)


def _clustered_interval(decisions: Decisions, value: float, level: float) -> Estimate:
    right = (decisions.guess == decisions.secret).astype(np.float64)
    # Influence of each row on the balanced accuracy, summed within units: value (1 - value) over
    # the variance between units is the effective number of rows.
    influence = np.empty(len(decisions))
    for rows in (decisions.secret, ~decisions.secret):
        influence[rows] = (right[rows] - right[rows].mean()) / (2 * np.count_nonzero(rows))
    variance, df = rates.clustered_variance(influence, decisions.unit, decisions.secret)
    n = checks.n_distinct(decisions.unit)
    effective = float(n)
    if variance > 0:
        end = 0.5 + checks.level(level) / 2
        # Student's quantile in place of the normal one, squared, since a variance is scaled.
        effective = value * (1 - value) / variance * float(ndtri(end) / stdtrit(df, end)) ** 2
        effective = float(np.clip(effective, 1, len(decisions)))
    low, high = rates.wilson(value * effective, effective, level)
    # Few units on a side estimate its variance badly, and units all guessed alike show none at all:
    # the limits are then widened to those of each side's exact interval.
    both = (decisions.secret, ~decisions.secret)
    sides = [(right[rows] > 0, decisions.unit[rows]) for rows in both]
    # Not if a unit is on both sides: the sides are then not independent.
    apart = not units.on_both_sides(decisions.unit, decisions.secret).any()
    if apart and any(
        checks.n_distinct(own) < FEW_UNITS or hit.min() == hit.max() for hit, own in sides
    ):
        shares = [rates.proportion(hit, own, level) for hit, own in sides]
        low = min(low, value - math.hypot(*(x.value - x.low for x in shares)) / 2)
        high = max(high, value + math.hypot(*(x.high - x.value for x in shares)) / 2)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=n,
        method="Wilson at the effective number of rows",
    )
