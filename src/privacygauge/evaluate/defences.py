"""Results for one defence: attacks on it, privacy risk and costs, as plain values."""

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
"""Shares of the members at or below each reported quantile of the risk."""


@dataclass(frozen=True, eq=False)
class AttackedDefence:
    """One attack without the defence and with it."""

    undefended: Evaluation
    """On the undefended model."""
    non_adaptive: Evaluation
    """On the defended model, by an adversary that learnt on undefended shadow answers."""
    adaptive: Evaluation
    """On the defended model, by an adversary that defends its shadow model too."""
    lost: Estimate
    """Loss in balanced accuracy of the adaptive attack due to the defence."""

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
    """The quantile by an adversary that defends its shadow model too, in [0, 1]."""


@dataclass(frozen=True)
class WorstRecord:
    """One of the records with the highest privacy risk score behind the defence."""

    id: str
    """The user's id, or the row's number."""
    member: bool
    """Whether it was in the training set."""
    undefended: float
    """Its score on the undefended model, in [0, 1]."""
    defended: float
    """Its score with the defence, in [0, 1]."""


@dataclass(frozen=True, eq=False)
class JudgedDefence:
    """One defence: the attacks on it, and its costs."""

    name: str
    """Name of the defence."""
    variant: str
    """Parameters of the defence, as reports print them."""
    attacks: tuple[AttackedDefence, ...]
    """All attacks in the order they were given."""
    headline: Headline
    """The best adaptive attack, corrected for the choice."""
    costs: tuple[Fact, ...]
    """The model's accuracy without the defence and with it, and the share of changed answers."""
    distance: Estimate
    """Mean L1 distance between the released and the true answers, in [0, 2]."""
    risk: Risk
    """The privacy risk score of adversaries that know the defence."""
    quantiles: tuple[RiskQuantile, ...]
    """Quantiles of the members' risk."""
    worst: tuple[WorstRecord, ...]
    """The records with the highest risk behind the defence, the highest first."""

    @property
    def title(self) -> str:
        """The defence's name with its parameters."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


def accuracy_lost(before: Decisions, after: Decisions, level: float = 0.95) -> Estimate:
    """Return the balanced accuracy of `before` minus that of `after`, in [-1, 1].

    Parameters
    ----------
    before, after : Decisions
        Guesses on the same rows in the same order, of the same units.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        Above 0 where the guesses became worse; `n` is the number of units.

    Raises
    ------
    InputError
        If the rows differ.

    Notes
    -----
    The guesses are paired: records that both get right or wrong add no variance. Variance of a
    difference of paired proportions after Bonett & Price (2012), one record added to each kind of
    change, for members and non-members separately. Where units repeat, the variance is that of the
    effective number of records, with equal shares of either kind of change.
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
        n = worth + 2
        worse, better = (
            np.count_nonzero(change == sign) * worth / len(change) + 1 for sign in (1, -1)
        )
        shift = (worse - better) / n
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
    """Return the smallest value that at least a given share of the values do not exceed.

    Parameters
    ----------
    values : ndarray, shape (n,)
        n at least 1.
    share : float
        In (0, 1).
    level : float
        In (0, 1).
    worth : int, optional
        Effective number of independent values, in 1..n; default: all.

    Notes
    -----
    The interval's ends are order statistics whose ranks are binomial quantiles, so it holds for
    every distribution; where so few values cannot tell, it ends at the smallest or the largest.
    """
    if not len(values) or not 0 < share < 1:
        raise InputError(f"a quantile needs values and a share in (0, 1), got {share}")
    ordered = np.sort(values)
    n = len(values)
    tail = (1 - checks.level(level)) / 2
    # n * share may lie just above the whole number that is meant.
    value = ordered[max(int(np.ceil(n * share - 1e-9)), 1) - 1]
    m = n if worth is None else worth
    # The rank among the independent values, as a place among all of them.
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
