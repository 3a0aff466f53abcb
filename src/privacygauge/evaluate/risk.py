"""The privacy risk score of an audit, with its calibration and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import decision, rates
from privacygauge.evaluate.rates import correlation

CUTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Risk scores from which on precision and recall are reported (Song & Mittal, Table 6)."""

PRIORS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Priors at which the mean excess is reported (Song & Mittal, Figure 10)."""


@dataclass(frozen=True)
class CutRow:
    """Precision and recall of guessing "member" at or above a risk score."""

    cut: float
    """Smallest score that is guessed to be a member's, in [0, 1]."""
    precision: Estimate | Skipped
    """Precision at equal numbers of members and non-members, in [0, 1]."""
    recall: Estimate
    """Share of the members at or above the cut, in [0, 1]."""


@dataclass(frozen=True)
class ClassRow:
    """Mean risk and generalisation error of one class."""

    label: int
    """Index of the class."""
    n_in: int
    """Number of members of the class."""
    n_out: int
    """Number of non-members of the class."""
    mean_risk: float
    """Mean score of the members of the class, in [0, 1]."""
    generalisation_error: float
    """Accuracy of the model on members of the class minus that on non-members, in [-1, 1]."""


@dataclass(frozen=True, eq=False)
class Risk:
    """A privacy risk score with its calibration and checks."""

    estimator: str
    """Name of the estimator, as reports print it."""
    member_scores: Floats
    """(n_in,) Scores of the members, ascending: the CDF of Song & Mittal, Figure 5."""
    mean: Estimate
    """Mean score of the members, in [0, 1]."""
    reliability: Reliability
    """Calibration of the score."""
    cuts: tuple[CutRow, ...]
    """Precision and recall at each of `CUTS` (Table 6)."""
    excess: tuple[tuple[float, Estimate], ...]
    """Pairs of a prior and the members' mean score at that prior minus the prior (Figure 10)."""
    classes: tuple[ClassRow, ...]
    """Classes with members and non-members (Figure 8)."""
    correlation: Estimate | Skipped
    """Pearson's correlation of mean risk and generalisation error over classes."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the report."""
    independent: int | None = None
    """Effective number of independent rows among the members; None: all."""


def at_prior(score: Floats, prior: float) -> Floats:
    """Convert posterior scores at even odds to another prior, by Bayes' theorem.

    Song & Mittal (2021), equation 12: multiplies the odds by ``prior / (1 - prior)``.
    """
    checks.level(prior, "prior")
    return prior * score / (prior * score + (1 - prior) * (1 - score))


def assess_risk(
    transcript: Transcript,
    estimator: str,
    stratum: Ints,
    correct: Bools | None,
    rng: np.random.Generator,
    level: float = 0.95,
    notes: Sequence[str] = (),
) -> Risk:
    """Assess a risk score as in section 4 of Song & Mittal (2021).

    Parameters
    ----------
    transcript : Transcript
        With scores that are posterior probabilities at even odds, in [0, 1].
    estimator : str
        Name of the estimator, as reports print it.
    stratum : ndarray of int, shape (m,)
        Class of each row.
    correct : ndarray of bool, shape (m,), or None
        Whether the model predicts the class of the row; None for no description of the classes.
    rng : numpy.random.Generator
        Draws the bootstrap samples and the halves of the members.
    level : float
        In (0, 1).
    notes : sequence of str
        Remarks of the estimator, for the report.
    """
    score = transcript.score
    secret = transcript.secret
    if score.min() < 0 or score.max() > 1:
        raise InputError("risk scores must be in [0, 1]")
    inside = np.flatnonzero(secret)
    inside = inside[np.argsort(score[inside], kind="stable")]
    sides = _Sides(score[inside], score[~secret], transcript.unit[inside], transcript.unit[~secret])
    everyone = np.ones(len(score), np.bool_)
    numbers = units.number_units(transcript.unit)
    # A random half of the units, for the correlation on disjoint halves.
    first = (rng.random(int(numbers.max()) + 1) < 0.5)[numbers]
    # Effective share of independent rows, one for both sides.
    worth = sum(transcript.independent) / len(score)
    classes, halved = (
        ()
        if correct is None
        else _classes(
            score, secret, stratum=stratum, correct=correct, for_risk=risk_rows, for_error=others
        )
        for risk_rows, others in ((everyone, everyone), (first, ~first))
    )
    cuts = []
    for cut in CUTS:
        guesses = transcript.decided(score >= cut, f"risk {cut}")
        precision = decision.precision(guesses, level)
        cuts.append(CutRow(cut, precision, decision.recall(guesses, level)))
    # As in the paper, risk and error come from the same members. They then share their noise, and
    # are correlated even if nothing leaks: the interval is widened to cover the correlation of
    # disjoint halves of the members, which share none.
    published, apart = (
        correlation(
            np.array([row.mean_risk for row in rows]),
            np.array([row.generalisation_error for row in rows]),
            level,
        )
        for rows in (classes, halved)
    )
    if not isinstance(published, Skipped) and not isinstance(apart, Skipped):
        published = replace(
            published,
            low=min(published.low, apart.low),
            high=max(published.high, apart.high),
            method="Fisher's z on all members and on disjoint halves",
        )
    return Risk(
        estimator,
        checks.frozen(sides.inside),
        mean=_mean_risk(sides, 0.5, level, above=0.0),
        reliability=reliability(score, secret, rng, level=level, worth=worth),
        cuts=tuple(cuts),
        excess=tuple((p, _mean_risk(sides, p, level, above=p)) for p in PRIORS),
        classes=classes,
        correlation=published,
        notes=tuple(notes),
        independent=transcript.independent[0],
    )


@dataclass(frozen=True, eq=False)
class _Sides:
    """Scores of both sides, with their units."""

    inside: Floats  # ascending
    outside: Floats
    units_in: Ints
    units_out: Ints


def _mean_risk(sides: _Sides, prior: float, level: float, *, above: float) -> Estimate:
    """Return the members' mean score minus `above`, with an interval that holds chance on noise.

    A score that is off by a constant would exclude chance on pure noise. For a calibrated score the
    mean also equals ``prior + (1 - prior) * (members' mean - non-members' mean)``, which does not
    change with a constant: the interval is widened to hold both.
    """
    a = at_prior(sides.inside, prior)
    b = at_prior(sides.outside, prior)
    n = checks.n_distinct(sides.units_in) + checks.n_distinct(sides.units_out)
    gap = float(a.mean() - b.mean())
    z = float(ndtri(0.5 + checks.level(level) / 2))
    both = (a, sides.units_in), (b, sides.units_out)
    errors = [rates.standard_error(values, unit) for values, unit in both]
    value = float(a.mean()) - above
    # For a calibrated score prior * a + (1 - prior) * b is the prior: the gap alone gives a.
    centre = prior + (1 - prior) * gap - above
    half = z * errors[0]
    wide = z * (1 - prior) * float(np.hypot(errors[0], errors[1]))
    return Estimate(
        value=value,
        low=min(value - half, centre - wide),
        high=max(value + half, centre + wide),
        level=level,
        n=n,
        method="normal, with and without calibration",
    )


def _classes(
    score: Floats, secret: Bools, stratum: Ints, correct: Bools, for_risk: Bools, for_error: Bools
) -> tuple[ClassRow, ...]:
    """Return mean risk and error per class, from the members in `for_risk` and in `for_error`."""
    k = int(stratum.max()) + 1

    def sums(rows: Bools, weights: Floats | None = None) -> Floats:
        part = None if weights is None else weights[rows]
        return np.bincount(stratum[rows], weights=part, minlength=k).astype(np.float64)

    n_in = sums(secret)
    n_out = sums(~secret)
    right = correct.astype(np.float64)
    # Classes without members or non-members become NaN and are dropped below.
    with np.errstate(invalid="ignore", divide="ignore"):
        risk = sums(secret & for_risk, score) / sums(secret & for_risk)
        error = sums(secret & for_error, right) / sums(secret & for_error)
        error -= sums(~secret, right) / n_out
    return tuple(
        ClassRow(
            label=int(c),
            n_in=int(n_in[c]),
            n_out=int(n_out[c]),
            mean_risk=float(risk[c]),
            generalisation_error=float(error[c]),
        )
        for c in np.flatnonzero(np.isfinite(risk) & np.isfinite(error))
    )


_POINTS = 500
"""Largest number of points of a drawn curve."""


@dataclass(frozen=True, eq=False)
class RiskCdf:
    """Distribution function of the members' risk (Song & Mittal 2021, Figure 5)."""

    risk: Floats
    """(p,) Distinct risk scores, ascending."""
    share: Floats
    """(p,) Share of the members with at most that score."""


def risk_cdf(risk: Risk) -> RiskCdf:
    """Return the distribution function of the members' risk scores, with at most 500 points."""
    score = risk.member_scores
    # Scores are ascending, so reversed the first place of a value is its last one.
    value, last = np.unique(score[::-1], return_index=True)
    share = (len(score) - last) / len(score)
    if len(value) > _POINTS:
        keep = np.unique(np.linspace(0, len(value) - 1, _POINTS).round().astype(int))
        value = value[keep]
        share = share[keep]
    return RiskCdf(value, share)


def spaced_classes(classes: Sequence[ClassRow]) -> list[ClassRow]:
    """Return classes by descending risk, except those too close in the plot to label separately."""
    # Room for one label: a twelfth of the plot's width and a twentieth of its height.
    wide = np.ptp([row.generalisation_error for row in classes]) / 12
    high = np.ptp([row.mean_risk for row in classes]) / 20
    kept: list[ClassRow] = []
    for row in sorted(classes, key=lambda row: -row.mean_risk):
        if all(
            abs(row.generalisation_error - k.generalisation_error) > wide
            or abs(row.mean_risk - k.mean_risk) > high
            for k in kept
        ):
            kept.append(row)
    return kept


# Calibration: of records scored 0.7 at even odds, 70% should be members.


@dataclass(frozen=True)
class Bin:
    """The records whose score falls in one bin."""

    low: float
    """Lower edge of the bin."""
    high: float
    """Upper edge of the bin."""
    n: int
    """Records in the bin, at least 1."""
    mean_score: float
    """Mean score of these records, in [0, 1]."""
    fraction: Estimate
    """Share of members among these records, reweighted to equal numbers of members and non-members
    in all bins together."""


@dataclass(frozen=True)
class Reliability:
    """Distance between scores and the observed share of members, by bins."""

    bins: tuple[Bin, ...]
    """The non-empty bins, by ascending score."""
    rmse: Estimate
    """Root mean square over bins of mean score minus observed share, each bin weighted by its
    number of records; 0 is perfect."""
    rmse_of_bins: float
    """The same with equal weight per bin, as Song & Mittal (2021) report it."""
    noise: float
    """Expected `rmse` of a perfectly calibrated score on this number of records."""


def reliability(
    score: Floats,
    secret: Bools,
    rng: np.random.Generator,
    *,
    n_bins: int = 10,
    level: float = 0.95,
    worth: float = 1.0,
) -> Reliability:
    """Return the calibration of a score for "is a member, at even odds".

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        Probabilities of membership at even odds, in [0, 1].
    secret : ndarray of bool, shape (n,)
        True for a member.
    rng : numpy.random.Generator
        Draws the bootstrap samples.
    n_bins : int
        Number of bins of equal width over [0, 1], at least 1.
    level : float
        In (0, 1).
    worth : float
        Effective number of independent rows per row, in (0, 1]; below 1 if units repeat.

    Returns
    -------
    Reliability
        `rmse` is 0 for perfect calibration; sampling noise alone makes it positive, so compare it
        with `noise`.

    Notes
    -----
    Song & Mittal (2021), section 4.2.1 and Figure 3. If members and non-members differ in number,
    shares are reweighted to even odds, which the score assumes.
    """
    checks.at_least(1, n_bins=n_bins)
    if secret.all() or not secret.any():
        raise InputError("calibration needs members and non-members")
    odds = np.count_nonzero(~secret) / np.count_nonzero(secret)
    # A score of exactly 1 belongs to the last bin.
    index = np.clip((score * n_bins).astype(int), 0, n_bins - 1)
    count = np.bincount(index, minlength=n_bins).astype(np.float64)
    kept = np.flatnonzero(count)
    count = count[kept]
    mean = np.bincount(index, weights=score, minlength=n_bins)[kept] / count
    share = np.bincount(index[secret], minlength=n_bins)[kept] / count

    def rmse(shares: Floats, weight: Floats) -> Floats:
        squares = (_even_odds(shares, odds) - mean) ** 2
        distance: Floats = np.sqrt((squares * weight).sum(-1) / weight.sum())
        return distance

    def drawn(shares: Floats) -> Floats:
        # Bootstrap within bins: binomial shares on the effective rows, 500 samples, shape (500,
        # bins).
        trials = np.maximum((count * worth).astype(int), 1)
        sample: Floats = rng.binomial(trials, shares, (500, len(kept))) / trials
        return rmse(sample, count)

    value = float(rmse(share, count))
    low, high = np.quantile(drawn(share), [(1 - level) / 2, (1 + level) / 2])
    return Reliability(
        tuple(
            _bin(
                int(b),
                n_bins,
                n=int(n),
                mean=float(m),
                share=float(s),
                odds=odds,
                level=level,
                worth=worth,
            )
            for b, n, m, s in zip(kept, count, mean, share, strict=True)
        ),
        Estimate(
            value=value,
            low=min(float(low), value),
            high=max(float(high), value),
            level=checks.level(level),
            n=len(score),
            method="bootstrap of bins",
        ),
        float(rmse(share, np.ones(len(kept)))),
        # `mean` is a share at even odds; 1 / odds turns it into the share that a perfectly
        # calibrated score would show in this mixture, from which samples are drawn.
        float(np.mean(drawn(np.clip(_even_odds(mean, 1 / odds), 0, 1)))),
    )


def _even_odds(share: Floats, odds: float) -> Floats:
    """Return the share of members reweighted to equal numbers of members and non-members."""
    return share * odds / (share * odds + (1 - share))


def _bin(
    b: int,
    n_bins: int,
    n: int,
    mean: float,
    share: float,
    odds: float,
    level: float,
    worth: float,
) -> Bin:
    # Limits on the observed share first: reweighting is monotone, so it carries them over.
    trials = max(n * worth, 1.0)
    ends = np.array([share, *rates.clopper_pearson(share * trials, trials, level)])
    value, low, high = _even_odds(np.clip(ends, 0, 1), odds).tolist()
    fraction = Estimate(
        value=value, low=low, high=high, level=level, n=n, method="Clopper-Pearson at even odds"
    )
    return Bin(low=b / n_bins, high=(b + 1) / n_bins, n=n, mean_score=mean, fraction=fraction)
