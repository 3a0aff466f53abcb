"""Test for a few fully exposed records: more members among the highest scores than by chance.

An average hides a few memorised records. If scores carry no information, the number of members
among the k highest scores of an attack is hypergeometric. The smallest p-value over a grid of k and
over all attacks is compared with its distribution under permutations of the secret, which costs no
power if attacks agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom, ks_2samp, poisson

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Transcript, unit_rounds

DEALS = 999
"""Permutations of the secret; p-values are multiples of 1/1000."""

DEEPEST = 0.1
"""Largest depth of the grid as a share of the units: deeper leaks show in the average."""

MOST = 500
"""Largest depth of the grid, in units."""

_FIRST = 5
"""Smallest depth of the grid, before it is moved to a gap between scores."""
_FEWEST = 4
"""Smallest depth that is tested: fewer records cannot be significant."""
_STEPS = 16
"""Number of depths of the grid, at equal ratios."""
_SHALLOW = 8
"""P-values of tops deeper than this are multiplied by depth / 8: a few exposed records show only in
shallow tops, many show at any depth."""
_OF_A_KIND = 1.4
"""Factor on the error allowed to the ranks of records far beyond all others: it adds the tenth of a
verdict's error that is for reasons to raise a grade to the quarter for few records. Six such
records, all members, on equal sides are then shown; if they are merely records of another kind,
they are all members with probability 1/64."""
_AS_PLACEBO = 0.05
"""Probability above which chance explains that more members lie far beyond than of a placebo."""
_BLOCK = 1 << 22
"""Dealt bits in memory at a time."""
_UNLIKE = 0.2
"""P-value below which the sides count as different in rows per unit and are compared at equal
numbers of rows: the highest of more scores is higher by chance."""


@dataclass(frozen=True)
class Tail:
    """Result of the test for a few members that stand out at the top of an attack's ranking."""

    attack: str
    """Title of the attack with the most significant top."""
    top: int
    """Size of that top, in units."""
    members: int
    """Members in the top."""
    expected: float
    """Members expected in the top by chance."""
    p_value: float
    """P-value of the null hypothesis that scores carry no information, corrected for all tops and
    all attacks."""
    exposed: int
    """Lower bound on the number of members that stand out, at confidence `level`; 0 if nothing is
    significant."""
    n_in: int
    """Number of member units."""
    n_out: int
    """Number of non-member units."""
    level: float
    """One-sided level of the bound, in (0, 1)."""
    critical: float
    """Critical value of the weighted p-value of a single top; used by `smallest_tail`."""
    far_beyond: bool = False
    """Whether the distance of the top from all others is significant although its ranks are not;
    `p_value` is then for the ranks of this top alone."""
    apart: int = 0
    """Members farther beyond all other records than chance explains, but too few for a test of
    ranks; 0 if there are none or ranks already show a leak."""
    by_heart: bool = False
    """Whether a language model knows the texts of the `exposed` members word by word, which needs
    no test of ranks; `p_value` is then that of the ranks."""

    @property
    def shown(self) -> bool:
        """Whether some members stand out significantly."""
        return self.exposed > 0

    @property
    def share(self) -> float:
        """Lower bound on the share of the members that stand out, in [0, 1]."""
        return self.exposed / self.n_in


def tail(
    played: Sequence[tuple[str, Transcript]],
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    handicaps: Mapping[str, float] | None = None,
    placebo: Callable[[str], Floats] | None = None,
) -> Tail | None:
    """Test whether a few members stand out at the top of any attack's ranking.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        Titles and scores of attacks on the same rows, at least one.
    rng : numpy.random.Generator
        Permutes the secret bits, and draws rows of units with more rows than others.
    level : float
        In (0, 1). If no score depends on membership, something is shown with probability at most
        ``1 - level``.
    handicaps : mapping of str to float, optional
        Factors, at least 1, on the p-values of attacks, by title; default: 1. Attacks that are less
        likely to detect few records then take less of the error from the best ones.
    placebo : callable, optional
        Returns the scores of an attack, by its title, on something that knows none of the records,
        such as another sample in place of a release: further values of the same distribution. It
        is called only if members lie far beyond all other records.

    Returns
    -------
    Tail or None
        None if there are too few units for any top to be significant.

    Notes
    -----
    In each round a unit counts with its highest score. If members and non-members differ in rows
    per unit, it is the highest of equally many random rows, as many as the smallest unit has. Bits
    are permuted within rounds, and units with rows on both sides of a round are left out.
    Permutation leaves scores unchanged even if the attack learnt on bits, since the scores of a
    round do not depend on the bits of that round.
    """
    checks.level(level)
    first = played[0][1]
    item, inside, stage = unit_rounds(first)
    n = len(inside)
    n_in = int(np.count_nonzero(inside))
    item = equally_many(item, inside, rng)
    depths = _depths(n)
    # Even a deepest top of members only would not be significant.
    if not len(depths) or hypergeom.sf(depths[-1] - 1, n, n_in, depths[-1]) > 1 - level:
        return None
    factors = [(handicaps or {}).get(title, 1.0) for title, _ in played]
    tops = [
        _tops(transcript, item, depths=depths, n=n, n_in=n_in, handicap=factor)
        for (_, transcript), factor in zip(played, factors, strict=True)
    ]
    # p-values of the observed bits, one array per attack: tops differ between attacks, by ties.
    own = [one.p_values(inside[one.order][None])[0] for one in tops]
    least = float(min((values.min(initial=1.0) for values in own), default=1.0))
    dealt = np.sort(_dealt(inside, stage, tops, rng))
    # The observed bits count as one of the permutations, so that the p-value is valid.
    p_value = (1 + int(np.count_nonzero(dealt <= least))) / (1 + len(dealt))
    # The largest p-value that is significant: at most `allowed` permutations reach it, with ties.
    allowed = int((1 - level) * (1 + len(dealt)))
    below = dealt[dealt < dealt[allowed - 1]] if allowed else dealt[:0]
    critical = float(below[-1]) if len(below) else 0.0
    attack = int(np.argmin([values.min(initial=np.inf) for values in own]))
    best = tops[attack]
    place = int(np.argmin(own[attack])) if len(own[attack]) else 0
    top = int(best.depths[place]) if len(best.depths) else 0
    exposed = 0
    if p_value <= 1 - level:
        exposed = 1
        for one, values, factor in zip(tops, own, factors, strict=True):
            # Tops nearly as significant as the best; `critical` is joint for all, so the largest
            # bound is valid.
            for depth in one.depths[values <= 4 * least].tolist():
                members = int(inside[one.order[:depth]].sum())
                allowed_p = critical / factor / max(1.0, depth / _SHALLOW)
                # With some members sure of a place, are the others compatible with chance? The
                # smallest number that is not refuted is the bound.
                sure = np.arange(min(members, depth))
                p = hypergeom.sf(members - sure - 1, n - sure, n_in - sure, depth - sure)
                above = np.flatnonzero(p > allowed_p)
                exposed = max(exposed, int(above[0]) if len(above) else len(sure))
    n_apart = 0
    if not exposed:
        # Only if ranks show nothing: distances rest on a fitted tail, ranks on no assumption.
        apart = _outstanding_attack(played, item, inside, placebo)
        if apart is not None:
            outstanding, n_apart, expected = apart
            by_rank = float(hypergeom.sf(n_apart - 1, n, n_in, n_apart))
        # Records of another kind also lie far beyond all others, and a few of them may all be
        # members by chance: their ranks must be significant too, at a weaker level.
        if apart is not None and by_rank <= _OF_A_KIND * (1 - level):
            return Tail(
                attack=played[outstanding][0],
                top=n_apart,
                members=n_apart,
                expected=n_apart * n_in / n,
                p_value=by_rank,
                # As many as chance might give at `level` are subtracted.
                exposed=max(1, n_apart - int(poisson.ppf(level, expected))),
                n_in=n_in,
                n_out=n - n_in,
                level=level,
                critical=critical,
                far_beyond=True,
            )
    return Tail(
        attack=played[attack][0],
        top=top,
        members=int(inside[best.order[:top]].sum()),
        expected=top * n_in / n,
        p_value=p_value,
        exposed=exposed,
        n_in=n_in,
        n_out=n - n_in,
        level=level,
        critical=critical,
        apart=n_apart,
    )


def _outstanding_attack(
    played: Sequence[tuple[str, Transcript]],
    item: Ints,
    inside: Bools,
    placebo: Callable[[str], Floats] | None,
) -> tuple[int, int, float] | None:
    """Return (attack, number, expected) for the attack with the most members far above all others.

    `number` counts these members, `expected` is their expected number by chance; None if there are
    none, or if as many lie there where nothing can be known of them.
    """
    found = None
    for attack, (title, transcript) in enumerate(played):
        best = np.full(len(inside), -np.inf)
        np.maximum.at(best, item[item >= 0], transcript.score[item >= 0])
        # Of probabilities the distance to 1 tells how far a value is beyond the others.
        shares = best.min() >= 0 and 0.5 < best.max() < 1
        if shares:
            best = -np.log1p(-best)
        top, expected = standing_apart(best[inside], best[~inside], fewest=2)
        if top <= (0 if found is None else found[1]) or expected * len(played) > 1:
            continue
        if placebo is not None:
            # A fitted tail knows no second kind of record, such as people who happen to share a
            # rare code with somebody. Where there is one, a placebo shows it.
            members = np.sort(best[inside])
            draws = placebo(title)
            if shares:
                draws = -np.log1p(-np.minimum(draws, np.nextafter(1.0, 0.0)))
            known_nowhere = int(np.count_nonzero(draws >= members[-top]))
            n = len(members) + len(draws)
            by_chance = hypergeom.sf(top - 1, n, len(members), top + known_nowhere)
            if by_chance > _AS_PLACEBO:
                continue
        found = attack, top, expected
    return found


def smallest_tail(found: Tail, power: float = 0.8) -> int | None:
    """Return the smallest number of fully exposed members that the same audit detects.

    Parameters
    ----------
    found : Tail
        Result of the audit.
    power : float
        Share of audits in which they are shown, in (0, 1).

    Returns
    -------
    int or None
        Members with scores above all others; None if not even all members would be detected.
    """
    n = found.n_in + found.n_out
    depths = _depths(n)
    for exposed in range(1, found.n_in + 1):
        # The other places of each top hold members by chance, at least `more` with probability
        # `power`.
        rest = np.maximum(depths - exposed, 0)
        more = hypergeom.ppf(1 - power, n - exposed, found.n_in - exposed, rest)
        counts = np.minimum(depths, exposed) + np.where(rest > 0, more, 0)
        p_values = hypergeom.sf(counts - 1, n, found.n_in, depths)
        if (p_values * np.maximum(1.0, depths / _SHALLOW) <= found.critical).any():
            return exposed
    return None


def _depths(n: int) -> Ints:
    """Return the grid of tops, ascending: from 5 to a tenth of the units, at most 500."""
    last = min(int(n * DEEPEST), MOST)
    if last < _FIRST:
        last = min(n // 2, _FIRST)
        return np.array([last] if last else [], np.int64)
    return np.unique(np.geomspace(_FIRST, last, _STEPS).round().astype(np.int64))


def equally_many(item: Ints, inside: Bools, rng: np.random.Generator) -> Ints:
    """Return the item of each row; -1 for excess rows if one side has more rows per item."""
    size = np.bincount(item[item >= 0], minlength=len(inside))
    if inside.all() or not inside.any() or (size == size[0]).all():
        return item
    if ks_2samp(size[inside], size[~inside], method="asymp").pvalue >= _UNLIKE:
        return item
    # A random order of the rows within each item; the first `size.min()` of each are kept.
    order = np.lexsort((rng.random(len(item)), item))
    ordered = item[order]
    place = np.arange(len(item)) - np.searchsorted(ordered, ordered)
    kept = np.full(len(item), -1)
    first = order[place < size.min()]
    kept[first] = item[first]
    return kept


@dataclass(frozen=True, eq=False)
class _Tops:
    """The highest scores of one attack, and the sizes of the tops to test."""

    order: Ints
    """(k,) Items in descending order of score."""
    depths: Ints
    """(d,) Sizes of the tops, ascending; each ends between distinct scores."""
    table: Floats
    """(d, k + 1) P-value of each number of members in each top."""

    def p_values(self, bits: NDArray[np.bool_]) -> Floats:
        """Return the p-values of the tops, (deals, d), from bits (deals, k); True for a member."""
        counts = np.cumsum(bits, axis=1, dtype=np.int64)[:, self.depths - 1]
        return self.table[np.arange(len(self.depths)), counts]


def _tops(
    transcript: Transcript, item: Ints, depths: Ints, n: int, n_in: int, handicap: float
) -> _Tops:
    """Return the tops of one attack that are nearest to a grid and do not split tied scores.

    A top that ends among tied scores would match no threshold, and would depend on their order.
    """
    deepest = int(depths[-1])
    # The highest score of each item, a unit in a round.
    best = np.full(n, -np.inf)
    np.maximum.at(best, item[item >= 0], transcript.score[item >= 0])
    order = np.argsort(-best, kind="stable")[: deepest + 1]
    ranked = best[order]
    ends = 1 + np.flatnonzero(ranked[:-1] > ranked[1:])
    if len(order) <= deepest:
        ends = ends[ends <= deepest]
    # The nearest gap between scores on either side of each depth of the grid.
    after = np.searchsorted(ends, depths)
    nearest = np.concatenate([ends[after[after < len(ends)]], ends[after[after > 0] - 1]])
    whole = np.unique(nearest[nearest >= min(_FEWEST, deepest)])
    table = _p_values(n, n_in, tuple(whole.tolist()), deepest)
    return _Tops(order[:deepest], whole, np.minimum(handicap * table, 1.0))


@lru_cache(maxsize=256)
def _p_values(n: int, n_in: int, depths: tuple[int, ...], deepest: int) -> NDArray[np.float64]:
    """Return weighted P(at least c members among the first k), (depths, deepest + 1)."""
    count = np.arange(deepest + 1)
    found = np.ones((len(depths), deepest + 1))
    for row, k in zip(found, depths, strict=True):
        row[:] = np.minimum(hypergeom.sf(count - 1, n, n_in, k) * max(1.0, k / _SHALLOW), 1.0)
    return found


def _dealt(inside: Bools, stage: Ints, tops: Sequence[_Tops], rng: np.random.Generator) -> Floats:
    """Return the smallest p-value over tops and attacks per permutation of the bits, (DEALS,)."""
    # Bits are drawn only for items in some attack's top, once for all attacks: so their joint
    # distribution is that of the observed tops.
    shown, place = np.unique(np.concatenate([one.order for one in tops]), return_inverse=True)
    places = place.reshape(len(tops), -1)
    found = np.ones(DEALS)
    step = max(1, _BLOCK // max(len(shown), 1))
    for start in range(0, DEALS, step):
        rows = slice(start, min(start + step, DEALS))
        # Random bits of the shown items, (deals, shown), permuted within each round.
        deals = rows.stop - rows.start
        bits = np.zeros((deals, len(shown)), np.bool_)
        for number in range(int(stage.max()) + 1):
            columns = np.flatnonzero(stage[shown] == number)
            everybody = stage == number
            n = int(np.count_nonzero(everybody))
            n_in = int(np.count_nonzero(inside & everybody))
            members = rng.hypergeometric(n_in, n - n_in, len(columns), size=deals)
            # The number of members among the shown items is hypergeometric; which ones, uniform:
            # those with the smallest keys.
            order = rng.random((deals, len(columns)), np.float32).argsort(axis=1)
            among = np.arange(len(columns)) < members[:, None]
            dealt = np.empty_like(among)
            np.put_along_axis(dealt, order, among, axis=1)
            bits[:, columns] = dealt
        for one, where in zip(tops, places, strict=True):
            if len(one.depths):
                np.minimum(found[rows], one.p_values(bits[:, where]).min(axis=1), out=found[rows])
    return found


# Rarity of values above all others, extrapolated from the tail of the others. By ranks alone, many
# records must be exposed before it shows: the three highest scores may all be members by chance.
# Their distance from all others carries more information.

SURELY = 1e-3
"""Largest probability of as many such values by chance at which values stand apart."""

_SHARE_FITTED = 0.1
"""Share of the values that the tail is fitted to, but at most `_MOST_FITTED` values."""
_FEWEST_FITTED = 20
"""Fewest values that a tail is fitted to."""
_MOST_FITTED = 200
"""Most values that a tail is fitted to."""
_STANDARD_ERRORS = 2.0
"""Standard errors added to the fitted shape, so that the tail is not too light."""
_LIGHTEST = 0.05
"""Smallest shape of a tail; 0 would be exponential."""
_HEAVIEST = 0.5
"""Largest shape of a tail: a heavier one has infinite variance, its shape cannot be estimated by
moments, and no value stands out from it."""
_ENDING = -1.0
"""Smallest shape that is fitted: the uniform distribution."""
_COUNTS = (*range(2, 11), 12, 15, 20, 25, 50, 100)
"""Numbers of highest values to test, besides all values above the others."""


@dataclass(frozen=True)
class ParetoTail:
    """A generalised Pareto distribution of the values above a threshold.

    Notes
    -----
    Above a high threshold, the excess of independent values approximately has this distribution
    (Balkema and de Haan 1974, Pickands 1975). It is fitted by probability-weighted moments (Hosking
    and Wallis 1987), and its shape is then increased by two standard errors.
    """

    threshold: float
    share: float
    """Share of the values above the threshold, in (0, 1)."""
    scale: float
    shape: float

    @classmethod
    def of(cls, values: Floats, step: float | None = None) -> ParetoTail | None:
        """Fit the tail of values; None if too few lie in it, or all are equal without a `step`.

        Parameters
        ----------
        values : ndarray of float, shape (m,)
        step : float, optional
            Typical distance between values; gives a tail its scale if all values are equal.
        """
        ordered = np.sort(values)[::-1]
        n = min(int(_SHARE_FITTED * len(ordered)), _MOST_FITTED)
        if n < _FEWEST_FITTED or not np.isfinite(ordered[[0, n]]).all():
            return None
        threshold = float(ordered[n])
        if ordered[0] == threshold:
            # The highest values are tied, as counts often are: lower the threshold to the next
            # value.
            threshold = float(ordered[ordered < threshold].max(initial=-np.inf))
        if not np.isfinite(threshold):
            few = 3 / len(ordered)  # with 95% confidence no more lie above (rule of three)
            return None if step is None else cls(float(ordered[0]), few, 2 * step, _HEAVIEST)
        excess = np.sort(ordered[ordered > threshold] - threshold)
        n = len(excess)
        share = n / len(ordered)
        mean = float(excess.mean())
        # The threshold is a tie: too few are above it to say how heavy their tail is.
        if n < _FEWEST_FITTED:
            return cls(threshold, share, mean * (1 - _ENDING), _HEAVIEST)
        # One minus the plotting positions (i - 0.35) / n of Hosking and Wallis, excesses ascending.
        place = 1 - (np.arange(1, n + 1) - 0.35) / n
        weighted = float(np.mean(place * excess))
        # Equal excesses, or a tail that ends at once, would give a shape without lower bound and a
        # scale without upper bound.
        apart = mean - 2 * weighted
        shape = max(2 - mean / apart, _ENDING) if apart > 0 else _ENDING
        heavier = max(shape + _STANDARD_ERRORS / np.sqrt(n), _LIGHTEST)
        if heavier > _HEAVIEST:
            return None
        # The scale that gives the mean excess at the fitted shape, before it was increased.
        return cls(threshold, share, mean * (1 - shape), heavier)

    def beyond(self, value: float) -> float:
        """Return the probability of exceeding `value`, which must be above the threshold."""
        excess = max(value - self.threshold, 0.0) / self.scale
        return float(self.share * (1 + self.shape * excess) ** (-1 / self.shape))


def standing_apart(
    values: Floats,
    others: Floats,
    *,
    times: float = 1.0,
    step: float | None = None,
    fewest: int = 3,
) -> tuple[int, float]:
    """Return how many of the highest values stand apart from all others, and the expected number.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Values that may stand apart.
    others : ndarray of float, shape (m,)
        Values with the same distribution under the null hypothesis.
    times : float
        Draws per value in `values`, above 1 if each is the highest of several.
    step : float, optional
        Typical distance between values; without it, none stands apart from others that are all
        equal.
    fewest : int
        Fewest values that can stand apart, at least 2.

    Returns
    -------
    tuple of int and float
        The largest k such that the k highest values lie above all others and chance gives that many
        with a probability of at most `SURELY`, and the number expected by chance; (0, 0) if none.
    """
    fitted = ParetoTail.of(others, step)
    highest = np.sort(values)[::-1]
    above = int(np.count_nonzero(highest > others.max(initial=-np.inf)))
    if fitted is None or above < fewest:
        return 0, 0.0
    counts = [k for k in {*_COUNTS, above} if fewest <= k <= above]
    for k in sorted(counts, reverse=True):
        expected = len(values) * times * fitted.beyond(float(highest[k - 1]))
        # Bonferroni over the numbers tried.
        if len(counts) * poisson.sf(k - 1, expected) <= SURELY:
            return k, expected
    return 0, 0.0
