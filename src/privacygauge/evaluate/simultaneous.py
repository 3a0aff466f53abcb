"""Jointly valid intervals for the guesses and rankings of several attacks on the same records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from privacygauge.core import checks, units
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.game import Play
from privacygauge.evaluate.roc import Roc

DRAWS = 50_000
"""Draws of the largest deviation; its 95% quantile is then accurate to 0.006 standard errors."""

_MOST_UNITS = 20_000
"""Most units from which correlations are estimated, a random sample if there are more; their error
is then at most 0.007."""

_FEWEST_UNITS = 20
"""Fewest units per side from which correlations are estimated; with fewer, Bonferroni is used."""


def simultaneous_level(played: Sequence[tuple[Play, Roc]], level: float = 0.95) -> float:
    """Return the level of each interval at which all accuracies and AUCs are jointly valid.

    Parameters
    ----------
    played : sequence of (Play, Roc)
        Attacks on the same rows, each with its ROC curve.
    level : float
        Joint level of the ``2 * len(played)`` intervals, in (0, 1).

    Returns
    -------
    float
        In [level, 1), at most Bonferroni's ``1 - (1 - level) / (2 * len(played))``.

    Notes
    -----
    Attacks on one model are strongly correlated, so Bonferroni's inequality is far too cautious. An
    accuracy is a mean over units, and so is an AUC in the limit of many units (with the placements
    of DeLong et al. 1988 as terms): together they are normal, with the correlations of these terms.
    The quantile of the largest deviation, in standard errors, replaces the quantile of a single one
    (the sup-t band of Montiel Olea & Plagborg-Moller 2019). Rows of one unit are summed first.
    """
    checks.level(level)
    n_results = 2 * len(played)
    apart = 1 - (1 - level) / n_results
    decisions = played[0][0].decisions
    unit = np.unique(decisions.unit, return_inverse=True)[1]
    secret = decisions.secret
    if min(checks.n_distinct(unit[side]) for side in (secret, ~secret)) < _FEWEST_UNITS:
        return apart
    # A fixed seed: the level is a property of the data, not of the audit's seed.
    rng = np.random.default_rng(0)
    n_units = int(unit.max()) + 1
    rows = np.arange(len(unit))
    if n_units > _MOST_UNITS:
        drawn = np.zeros(n_units, np.bool_)
        drawn[rng.choice(n_units, _MOST_UNITS, replace=False)] = True
        rows = np.flatnonzero(drawn[unit])
    terms = [term for one in played for term in _terms(*one, rows)]
    own = np.unique(unit[rows], return_inverse=True)[1]
    summed = np.column_stack([units.sums(own, term) for term in terms])
    scale = np.sqrt((summed**2).sum(axis=0))
    # A result without variance between units, such as a perfect ranking, has no correlations.
    varied = scale > 1e-9 * max(float(scale.max()), 1e-300)
    if not varied.any():
        return apart
    standard = summed[:, varied] / scale[varied]
    # Draws from the normal with this correlation matrix by its eigenvectors: unlike Cholesky's,
    # they exist for a singular matrix, as that of identical attacks.
    values, vectors = np.linalg.eigh(standard.T @ standard)
    draws = rng.standard_normal((DRAWS, len(values))) * np.sqrt(np.maximum(values, 0.0))
    largest = np.abs(draws @ vectors.T).max(axis=1)
    # Two-sided level of a single interval that is as wide as the quantile of the largest.
    together = 2 * float(norm.cdf(np.quantile(largest, level))) - 1
    constant = int(np.count_nonzero(~varied))
    # Results without variance take their Bonferroni share of the error.
    return float(np.clip(together - (1 - level) * constant / n_results, level, apart))


def _terms(play: Play, curve: Roc, rows: Ints) -> tuple[Floats, Floats]:
    """Return the influence of each row on an attack's accuracy and on its AUC, (r,) each."""
    guess = play.decisions.guess
    secret = play.decisions.secret
    score = play.transcript.score
    right = (guess == secret).astype(np.float64)[rows]
    score = score[rows]
    inside = secret[rows]
    # DeLong's placements: the share of the other side below a member, or, negated, below a
    # non-member, so that both raise the AUC.
    below = np.empty(len(rows))
    for side, others, sign in ((inside, curve.nonmembers, 1), (~inside, curve.members, -1)):
        places = [np.searchsorted(others, score[side], which) for which in ("left", "right")]
        below[side] = sign * (places[0] + places[1]) / (2 * len(others))
    # Centred within sides and scaled, so that sums over rows are errors of the estimates.
    for term in (right, below):
        for side in (inside, ~inside):
            term[side] = (term[side] - term[side].mean()) / np.count_nonzero(side)
    return right, below
