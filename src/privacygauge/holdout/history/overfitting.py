"""How far public scores are above private ones at a contest's end, and what of it is luck."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import ndtr, ndtri

from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.rates import less, wilson
from privacygauge.evaluate.slices import holm
from privacygauge.holdout.history.evidence import FINAL_GAP, Evidence
from privacygauge.holdout.history.record import History
from privacygauge.holdout.metrics import ACCURACY, Metric, metric_named

_PERFECT_TIES = 1e-12
_TOP = 0.1
"""Of the teams, the best ones by public score that are looked at by themselves."""


@dataclass(frozen=True)
class TeamEnd:
    """How one team ended."""

    account: str
    """The team."""
    submissions: int
    """How many it made."""
    row: int
    """The one that it is judged by: of those it selected the best on the private points, else its
    best on the public ones."""
    public: float
    """Its score on the points that answers were about."""
    private: float
    """On the others."""
    gap: Estimate | None
    """`public` less `private`; None where the sizes of both parts are not known."""
    p_value: float | None
    """Of "both parts are equally easy for it", two-sided, after Holm's correction over teams."""

    @property
    def difference(self) -> float:
        """`public` less `private`."""
        return self.public - self.private


@dataclass(frozen=True)
class Overfitting:
    """Public and private scores of a whole contest."""

    teams: tuple[TeamEnd, ...]
    """By private score, the best first."""
    mean: float
    """Public less private score, the mean over teams. They share the points: no interval."""
    top: float
    """The same for the tenth of the teams with the best public scores, at least one."""
    slope: float | None
    """Of the line of private on public scores through all submissions, 1 where gains carry over in
    full; None where all public scores are equal."""
    ranks: float | None
    """The rank correlation of the teams' public and private scores; None for a single team."""


def gap(
    scores: tuple[float, float], points: tuple[float, float], metric: Metric, level: float
) -> tuple[Estimate, float]:
    """Return the first of two scores less the second, and the p-value of "they are equal".

    The two parts share no points, so that their errors are independent.

    Parameters
    ----------
    scores : tuple of float
        On either part, in [0, 1].
    points : tuple of float
        `Metric.points` of either part.
    metric : Metric
        Where its variance is at most S(1 - S)/points (`Metric.like_share`), both scores have
        Wilson intervals, combined as Newcombe does; else the variance is taken to be as large as
        it can be, 1/(4 points), and the interval is rather too wide.
    level : float
        In (0, 1).

    Sources
    -------
    Newcombe (1998), method 10.
    """
    (a, b), (n, m) = scores, points
    if metric.like_share:
        first, second = (
            Estimate(x, *wilson(x * size, size, level), level, max(1, int(size)), "Wilson")
            for x, size in zip(scores, points, strict=True)
        )
        found = less(first, second)
        pooled = (a * n + b * m) / (n + m)
        deviation = math.sqrt(max(0.0, pooled * (1 - pooled)) * (1 / n + 1 / m))
    else:
        deviation = math.sqrt(1 / n + 1 / m) / 2
        half = deviation * float(-ndtri((1 - level) / 2))
        found = Estimate(a - b, a - b - half, a - b + half, level, int(n + m), "largest variance")
    z = abs(found.value) / deviation if deviation > _PERFECT_TIES else 0.0
    return found, float(2 * ndtr(-z))


def rank_correlation(public: Floats, private: Floats) -> float:
    """Return Spearman's; not a number for fewer than two teams, or where all are equal."""
    if len(np.unique(public)) < 2 or len(np.unique(private)) < 2:
        return math.nan
    return float(scipy.stats.spearmanr(public, private).statistic)


def overfitting(history: History, level: float = 0.95) -> Overfitting | None:
    """Return how a contest ended on the points that no score was shown of; None without them.

    Parameters
    ----------
    history : History
        With `private`; with `n_private`, the differences have intervals.
    level : float
        In (0, 1), of each team's interval.

    Sources
    -------
    Roelofs et al., "A Meta-Analysis of Overfitting in Machine Learning" (2019), Section 3: the
    line through all submissions, mean differences of all and of the best tenth, and p-values.
    """
    if history.private is None:
        return None
    rows = [_judged(history, code) for code in range(len(history.names))]
    public, private = history.scores[rows], history.private[rows]
    gaps: list[Estimate | None] = [None] * len(rows)
    adjusted: list[float | None] = [None] * len(rows)
    if history.n_private is not None:
        metric, sizes = metric_named(history.metric), (history.n, history.n_private)
        tested = [gap(pair, sizes, metric, level) for pair in zip(public, private, strict=True)]
        gaps = [found for found, _ in tested]
        adjusted = list(map(float, holm(np.array([p for _, p in tested]))))
    teams = [
        TeamEnd(
            name,
            len(history.rows_of(code)),
            rows[code],
            float(public[code]),
            float(private[code]),
            gaps[code],
            adjusted[code],
        )
        for code, name in enumerate(history.names)
    ]
    best = np.argsort(-public, kind="stable")[: max(1, round(_TOP * len(rows)))]
    spread = history.scores - history.scores.mean()
    ranks = rank_correlation(public, private)
    return Overfitting(
        tuple(sorted(teams, key=lambda team: -team.private)),
        float((public - private).mean()),
        float((public - private)[best].mean()),
        float(spread @ history.private / (spread @ spread)) if spread.any() else None,
        None if math.isnan(ranks) else ranks,
    )


def final_gaps(history: History) -> tuple[Evidence, ...] | Skipped:
    """Return for every team whether its public score is above what luck and choosing allow.

    Of k submissions that were not made from scores any may be the one that is judged: the p-value
    of one of them times k. Of accuracies it is Fisher's, exact for points that were split at
    random, whatever is hard about them.
    """
    if history.private is None or history.n_private is None:
        return Skipped(FINAL_GAP.title, "there are no private scores, or their number is not known")
    return tuple(_final_gap(history, code) for code in range(len(history.names)))


def _final_gap(history: History, code: int) -> Evidence:
    assert history.private is not None
    assert history.n_private is not None
    row, k = _judged(history, code), len(history.rows_of(code))
    public, private = float(history.scores[row]), float(history.private[row])
    n, m, metric = history.n, history.n_private, metric_named(history.metric)
    if metric == ACCURACY:
        right, others = round(public * n), round(private * m)
        alone = float(scipy.stats.hypergeom.sf(right - 1, n + m, right + others, n))
    else:
        _, both = gap((public, private), (n, m), metric, 0.95)
        alone = both / 2 if public > private else 1.0
    says = f"{public:.4g} on public and {private:.4g} on private points, after {k:,} submissions"
    p_value = min(1.0, max(k * alone, 1e-300))
    return Evidence(FINAL_GAP, (history.names[code],), p_value, says, np.array([row]))


def _judged(history: History, code: int) -> int:
    """Return the submission that a team is judged by."""
    assert history.private is not None
    of = history.rows_of(code)
    if history.selected is not None and history.selected[of].any():
        of = of[history.selected[of]]
        return int(of[np.argmax(history.private[of])])
    return int(of[np.argmax(history.scores[of])])
