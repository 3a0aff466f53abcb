"""Results for one defence: attacks, privacy risk and costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.risk import Risk

RISK_QUANTILES = (0.5, 0.9, 0.99)
"""Levels of the reported quantiles of the members' risk."""


@dataclass(frozen=True, eq=False)
class AttackedDefence:
    """One attack without the defence and with it."""

    undefended: Evaluation
    """Evaluation on the undefended model."""
    non_adaptive: Evaluation
    """Evaluation on the defended model, by an adversary that learnt on undefended shadow
    answers."""
    adaptive: Evaluation
    """Evaluation on the defended model, by an adversary that also defends its shadow model."""
    lost: Estimate
    """Balanced accuracy on the undefended model minus that of the adaptive attack, in [-1, 1]."""

    @property
    def title(self) -> str:
        """The attack's name with its variant and kind of threshold."""
        return self.adaptive.title

    @property
    def by_adversary(self) -> dict[str, Evaluation]:
        """The three evaluations, each by the name of its game."""
        return {
            "undefended": self.undefended,
            "non-adaptive": self.non_adaptive,
            "adaptive": self.adaptive,
        }


@dataclass(frozen=True)
class RiskQuantile:
    """A quantile of the members' privacy risk scores, without the defence and with it."""

    share: float
    """Share of the members whose score is at most the quantile, in (0, 1)."""
    undefended: Estimate
    """The quantile on the undefended model, in [0, 1]."""
    defended: Estimate
    """The quantile for an adversary that also defends its shadow model, in [0, 1]."""


@dataclass(frozen=True)
class WorstRecord:
    """One of the records with the highest privacy risk score behind the defence."""

    id: str
    """Id given by the user, or the number of the row."""
    member: bool
    """Whether the record was in the training set."""
    undefended: float
    """Privacy risk score on the undefended model, in [0, 1]."""
    defended: float
    """Privacy risk score with the defence, in [0, 1]."""


@dataclass(frozen=True, eq=False)
class JudgedDefence:
    """One defence: the attacks on it, and its costs."""

    name: str
    """Name of the defence."""
    variant: str
    """Parameters of the defence, as reports print them."""
    attacks: tuple[AttackedDefence, ...]
    """All attacks, in the order given."""
    headline: Headline
    """The best adaptive attack, corrected for the number of attacks."""
    costs: tuple[Fact, ...]
    """Accuracy of the model without the defence and with it, and the share of changed classes."""
    distance: Estimate
    """Mean L1 distance between the released and the true answers, in [0, 2]."""
    risk: Risk
    """Privacy risk scores for an adversary that knows the defence."""
    quantiles: tuple[RiskQuantile, ...]
    """Quantiles of the members' risk."""
    worst: tuple[WorstRecord, ...]
    """The records with the highest risk behind the defence, in descending order."""

    @property
    def title(self) -> str:
        """The defence's name with its parameters."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


def accuracy_lost(before: Decisions, after: Decisions, level: float = 0.95) -> Estimate:
    """Return the balanced accuracy of `before` minus that of `after`, in [-1, 1].

    Parameters
    ----------
    before, after : Decisions
        Guesses on the same rows, in the same order, with the same units.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        Above 0 if the guesses became worse; `n` is the number of units.

    Raises
    ------
    InputError
        If targets or units differ.

    Notes
    -----
    The guesses are paired: records that both get right, or both wrong, add no variance. Interval of
    a difference of paired proportions by Bonett & Price (2012), with one record added to each kind
    of change, for members and non-members separately. If units repeat, the counts of changes are
    scaled to the effective number of records.
    """
    if not all(np.array_equal(getattr(before, x), getattr(after, x)) for x in ("target", "unit")):
        raise InputError("before and after must be guesses on the same targets and units")
    right = [(x.guess == x.secret).astype(np.float64) for x in (before, after)]
    value = balanced_accuracy(before).value - balanced_accuracy(after).value
    centre = 0.0
    variance = 0.0
    sides = (before.secret, ~before.secret)
    for side, worth in zip(sides, before.independent, strict=True):
        change = (right[0] - right[1])[side]
        # One added change of each kind, hence 2 more records.
        n = worth + 2
        worse, better = (
            np.count_nonzero(change == sign) * worth / len(change) + 1 for sign in (1, -1)
        )
        shift = (worse - better) / n
        # The balanced accuracy is the mean of two sides: a half of each shift, a quarter of each
        # variance.
        centre += shift / 2
        variance += ((worse + better) / n - shift**2) / n / 4
    half = float(ndtri(0.5 + checks.level(level) / 2)) * float(np.sqrt(variance))
    low = max(-1.0, centre - half)
    high = min(1.0, centre + half)
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=level,
        n=before.n_units,
        method=("Bonett-Price, paired"),
    )


def quantile(
    values: Floats, share: float, level: float = 0.95, *, worth: int | None = None
) -> Estimate:
    """Return the smallest value such that at least a given share of the values do not exceed it.

    Parameters
    ----------
    values : ndarray, shape (n,)
        At least one.
    share : float
        In (0, 1).
    level : float
        In (0, 1).
    worth : int, optional
        Effective number of independent values, in 1..n; default: n.

    Notes
    -----
    The limits are order statistics with binomial quantiles as ranks, so the interval holds for
    every distribution; with too few values it ends at the smallest or the largest.
    """
    if not len(values) or not 0 < share < 1:
        raise InputError(f"a quantile needs values and a share in (0, 1), got {share}")
    ordered = np.sort(values)
    n = len(values)
    tail = (1 - checks.level(level)) / 2
    # n * share may be rounded to just above an integer.
    value = ordered[max(int(np.ceil(n * share - 1e-9)), 1) - 1]
    m = n if worth is None else worth
    # Ranks among m effective values, then scaled to places among all n, rounded outwards.
    ranks = (int(binom.ppf(tail, m, share)) - 1, int(binom.ppf(1 - tail, m, share)))
    low = ordered[max((ranks[0] + 1) * n // m - 1, 0)]
    high = ordered[min(-(-ranks[1] * n // m), n - 1)]
    return Estimate(
        value=float(value),
        low=float(min(low, value)),
        high=float(max(high, value)),
        level=level,
        n=m,
        method=("order statistics"),
    )


def risk_quantiles(before: Risk, after: Risk, level: float = 0.95) -> tuple[RiskQuantile, ...]:
    """Return quantiles of the members' risk scores without a defence and with it."""
    return tuple(
        RiskQuantile(
            share,
            quantile(before.member_scores, share, level, worth=before.independent),
            quantile(after.member_scores, share, level, worth=after.independent),
        )
        for share in RISK_QUANTILES
    )
