"""The exact DTP of two-class naive Bayes over domains too large to look at query by query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.dtp.counts import Counts, Removal, moved
from privacygauge.core.checks import Floats, Ints

MOST_SUBSETS = 1 << 12
"""More sets of attributes than these are not all looked at; those that cannot matter are left."""

MOST_PAIRS = 200_000
"""Longest frontier that is followed."""

MOST_WORK = 1_000_000_000
"""Number of entries of frontiers that are made for all records; a few minutes."""

_TRIAL = 20

_BLOCK = 1 << 21


def dtp_of_two_classes(counts: Counts, codes: Ints, y: Ints) -> Floats:
    """Return the exact DTP of records over every query of categories, with smoothing, (r,).

    NaN for a record whose frontier grew longer than `MOST_PAIRS`, and for all of a class where, by
    the first twenty, they would take more than `MOST_WORK`. The codes (r, m) and classes (r,) are
    of records that are in the counts, which have two classes and alpha > 0.

    Notes
    -----
    A query agrees with the record in a set S of attributes, which fixes the change log rho of
    the joint. With two classes the log odds are a sum over attributes, so their extremes for S
    are found attribute by attribute. Up to 12 attributes all S are looked at. Beyond that, sets
    are grown one attribute at a time, and a set is dropped when another one has both a larger
    (or smaller) log rho and lower (or higher) log odds: in each corner the change of the
    posterior is monotone in both, so no maximum is lost.
    """
    if (counts.n == 0).any():
        # One class alone is certain, with the record and without; after the last one nothing is.
        return np.where(counts.n[y] == 1, np.inf, 0.0)
    removal = counts.leaving_out(codes, y)
    result = np.empty(len(y))
    for label in (0, 1):
        mine = np.flatnonzero(y == label)
        sums = _Sums.of(counts, codes[mine], label, removal, mine)
        result[mine] = sums.all_subsets() if sums.n_subsets <= MOST_SUBSETS else sums.frontiers()
    return result


@dataclass(frozen=True, eq=False)
class _Sums:
    """What each attribute adds to log rho and to the log odds, if it agrees and if not."""

    base: Floats
    step: Floats
    prior: float
    same: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, counts: Counts, codes: Ints, label: int, removal: Removal, rows: Ints) -> _Sums:
        log_prior = counts.log_prior()
        same, low, high = (np.empty(codes.shape) for _ in range(3))
        for j, mine in enumerate(codes.T):
            conditional = counts.log_conditional(j)
            odds = conditional[label] - conditional[1 - label]
            same[:, j] = odds[mine]
            low[:, j], high[:, j] = _without_own(odds, mine, np.inf), _without_own(odds, mine)
        prior = float(log_prior[label] - log_prior[1 - label])
        return cls(removal.base[rows], removal.step[rows], prior, same, low, high)

    @property
    def n_subsets(self) -> int:
        return int(2 ** self.step.shape[1])

    def all_subsets(self) -> Floats:
        """Return the largest change over all sets of attributes, for blocks of records."""
        result = np.zeros(len(self.base))
        size = max(1, _BLOCK // self.n_subsets)
        for start in range(0, len(result), size):
            part = slice(start, start + size)
            rho = self.base[part, None]
            low = np.full_like(rho, self.prior)
            high = low
            for j in range(self.step.shape[1]):
                rho = np.hstack([rho + self.step[part, j, None], rho])
                low = np.hstack([low + self.same[part, j, None], low + self.low[part, j, None]])
                high = np.hstack([high + self.same[part, j, None], high + self.high[part, j, None]])
            result[part] = np.maximum(_moved(low, rho), _moved(high, rho)).max(axis=1)
        return result

    def frontiers(self) -> Floats:
        """Return the largest change over all sets that can matter, record by record."""
        n, work = len(self.base), 0
        result = np.full(n, np.nan)
        for i in range(n):
            if i >= _TRIAL and work / i * n > MOST_WORK:
                break
            result[i], entries = self._frontier(i)
            work += entries
        return result

    def _frontier(self, i: int) -> tuple[float, int]:
        """Return the largest change for a record, and how many entries that took."""
        corners = [
            self._corner(i, other, rho_sign, odds_sign)
            for other, odds_sign in ((self.low, -1.0), (self.high, 1.0))
            for rho_sign in (-1.0, 1.0)
        ]
        values, entries = zip(*corners, strict=True)
        return float(np.max(values)), sum(entries)

    def _corner(
        self, i: int, other: Floats, rho_sign: float, odds_sign: float
    ) -> tuple[float, int]:
        rho, odds = np.array([self.base[i]]), np.array([self.prior])
        entries = 0
        for j in np.argsort(self.step[i]):
            rho = np.concatenate([rho + self.step[i, j], rho])
            odds = np.concatenate([odds + self.same[i, j], odds + other[i, j]])
            entries += len(rho)
            kept = _best(rho_sign * rho, odds_sign * odds)
            rho, odds = rho[kept], odds[kept]
            if len(rho) > MOST_PAIRS:
                return float("nan"), entries
        return float(_moved(odds, rho).max(initial=0.0)), entries


def _moved(odds: Floats, rho: Floats) -> Floats:
    """Return `moved`, nothing where no query is left: an attribute of a single category."""
    real = np.isfinite(odds)
    return np.where(real, moved(np.where(real, odds, 0.0), rho), 0.0)


def _without_own(odds: Floats, own: Ints, empty: float = -np.inf) -> Floats:
    """Return the smallest (empty = inf) or largest of all other entries, for each entry."""
    sign = -1.0 if empty > 0 else 1.0
    ordered = np.sort(sign * odds)[::-1]
    second = ordered[1] if len(ordered) > 1 else -np.inf
    best = sign * odds[own] == ordered[0]
    alone = np.count_nonzero(odds == sign * ordered[0]) == 1
    return np.asarray(sign * np.where(best & alone, second, ordered[0]), np.float64)


def _best(first: Floats, second: Floats) -> Ints:
    """Return the entries that no other one beats in both: larger is better."""
    real = np.flatnonzero(np.isfinite(second))
    order = real[np.lexsort((-second[real], -first[real]))]
    ordered = second[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = ordered[1:] > np.maximum.accumulate(ordered)[:-1]
    return np.asarray(order[new], np.int64)
