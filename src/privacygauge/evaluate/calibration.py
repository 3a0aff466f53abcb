"""Calibration of a risk score: of records scored 0.7 at even odds, 70% should be members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate import rates


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
