"""Columns whose values are others in the holdout than in the real table, one by one.

A forest that never sees the synthetic table misses a few codes that are new among hundreds. Attacks
that count values do not: they take people of the time of the synthetic table for members.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import gamma, ks_2samp

from privacygauge.core.checks import Floats, Ints
from privacygauge.tables.released.tables import ReleasedTables

_BY_CHANCE = 1e-4
"""Expected number of columns that are taken for drifted though they are not."""
_BESIDE_OTHERS = 1e-2
"""The same where another column has drifted for certain: columns seldom drift alone."""
_DRAWS = 100
"""Draws that give the mean and the variance of the statistic without drift."""


def drifted_columns(released: ReleasedTables, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the columns in which real records and holdout differ, without the synthetic table.

    Parameters
    ----------
    released : ReleasedTables
        Release; without a holdout no column is returned.
    rng : numpy.random.Generator
        Deals the values out to both sides.

    Notes
    -----
    Each person counts once. Numbers are compared by the test of Kolmogorov and Smirnov, which does
    not see that a price list changed a little, and as codes. Categories are compared by Pearson's
    chi-squared. As codes may be rare, its tail is that of a gamma distribution with the mean and
    the variance of the statistic where the same people are dealt out at random. Codes
    that only one side has say more than others, and are counted by themselves: their records but
    the first of each, against Chernoff's bound for people who are dealt out independently.
    """
    if released.holdout is None:
        return ()
    first, other = (
        table.values[np.unique(unit, return_index=True)[1]]
        for table, unit in zip((released.real, released.holdout), released.units, strict=True)
    )
    chances: dict[str, float] = {}
    for column, x, y in zip(released.schema.columns, first.T, other.T, strict=True):
        if column.is_number:
            x, y = (side[~np.isnan(side)] for side in (x, y))
            if not min(len(x), len(y)):
                continue
            in_order = float(ks_2samp(x, y, method="asymp").pvalue)
        else:
            in_order = _chance(x, y, rng)
        # Two tests of each column.
        chances[column.name] = 2 * min(in_order, _chance_of_one_sided(x, y)) * first.shape[1]
    if min(chances.values(), default=1.0) > _BY_CHANCE:
        return ()
    return tuple(name for name, chance in chances.items() if chance <= _BESIDE_OTHERS)


def _chance(x: Floats, y: Floats, rng: np.random.Generator) -> float:
    """Return the probability of codes as different on both sides by chance."""
    codes = np.unique(np.concatenate([x, y]), return_inverse=True)[1]
    count = np.bincount(codes)
    if len(count) < 2:
        return 1.0
    share = len(x) / len(codes)

    def statistic(of_first: Ints) -> Floats:
        apart: Floats = (np.square(of_first - count * share) / count).sum(axis=-1)
        return apart / (share * (1 - share))

    usual = statistic(rng.multivariate_hypergeometric(count, len(x), size=_DRAWS))
    mean = float(usual.mean())
    spread = float(usual.var())
    measured = float(statistic(np.bincount(codes[: len(x)], minlength=len(count))))
    if not spread:
        return 1.0
    return float(gamma.sf(measured, mean**2 / spread, scale=spread / mean))


def _chance_of_one_sided(x: Floats, y: Floats) -> float:
    """Return a bound on the probability of as many records with codes that one side alone has."""
    codes = np.unique(np.concatenate([x, y]), return_inverse=True)[1]
    of_first = np.bincount(codes[: len(x)], minlength=int(codes.max()) + 1)
    count = np.bincount(codes)
    one_sided = (of_first == 0) | (of_first == count)
    share = len(x) / len(codes)
    further = count - 1.0
    measured = float(further[one_sided].sum())
    # The bound at each of these exponents holds; the smallest is nearly the best one.
    exponents = np.geomspace(1e-3, 2.0, 60)[:, None]
    on_one_side = np.logaddexp(count * np.log(share), count * np.log1p(-share))
    with np.errstate(divide="ignore"):  # a code of one record is on one side for certain
        on_both = np.log(np.maximum(-np.expm1(on_one_side), 0.0))
    raised = np.logaddexp(on_both, on_one_side + exponents * further).sum(axis=1)
    return float(np.exp(min(0.0, np.min(raised - exponents[:, 0] * measured))))
