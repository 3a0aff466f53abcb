"""Near repeats: rows that are far closer to each other than the density around them explains.

Views of one record, such as a picture and its mirror image or a note that was copied forward, are
not independent. They can be detected without ids: the nearest row is many times closer than the
density of the surrounding rows allows.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.optimize import isotonic_regression
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from privacygauge.core import units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.seeds import stream

_NEIGHBOURS = 24
"""Neighbours of a row: the farther half estimates the density, the nearer half may be repeats."""

_SAMPLE = 2_000
"""Rows that are searched first, since most tables have no near repeats."""

_LIKELY = 1e-3
"""Probability of a gap in the distances below which it separates repeats from other rows."""

_LINKED = 0.05
"""The same probability once repeats are known to exist: repeats that are missed make intervals too
narrow."""

_MATTER = 0.05
"""Smallest share of rows with a repeat; rarer repeats are chance, or do not matter for
intervals."""

_SAME_SIDE = 0.6
"""Smallest excess over chance of near rows on the same side for repeats of one person, as a share
of the largest possible excess. Rows that are near for other reasons, such as the leaves of a tree,
lie on either side."""

_OTHER_SIDE = 0.4
"""Largest ratio to chance of near rows on the same side if members have copies among
non-members."""

_MOST_AXES = 10
"""Most columns of points; more are projected onto this many at random."""
_FEWEST = 100
"""Fewest rows that are tested."""

_TOUCHING = 0.01
"""Share of the usual gap between neighbouring scores below which two scores are nearly equal."""

_AROUND = 12
"""Gaps before, and after, that determine the usual gap."""

_LATTICE = 0.3
"""Share of the median gap above which the 5% quantile of gaps means that scores lie on a
lattice."""

_NEVER = 1e-3
"""P-value below which nearly equal scores count as different from others, in side or place."""

_LARGEST = 0.02
"""Largest share of a side with one score; a larger one is a frequent answer of the release."""

_FEW_SCORES = 20
"""Fewest clusters, and fewest repeated rows, that can show repeats; a cluster up to this size is
never a frequent answer of the release."""
_FEW_DISAGREE = 0.01
"""Largest share of nearly equal scores on different sides that shows repeats on its own."""

_ENDS_AMONG = 30
"""Neighbours of a row among which the two ends of its segment are searched."""

_FEWEST_CONTINUOUS = 3

_PARALLEL = 1e-9
"""Distance of a cosine from -1 within which directions are opposite up to rounding."""

_ROWS_A_BLOCK = 512


def near_repeats(points: Floats, group: Ints, member: Bools) -> tuple[Ints, Bools] | None:
    """Return units of rows that nearly repeat each other; None if there are no repeats.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        Known columns of each row, or answers about it; distances are compared only within a
        neighbourhood.
    group : ndarray of int, shape (n,)
        Class of each row; only rows of one class repeat each other.
    member : ndarray of bool, shape (n,)
        The side of each row.

    Returns
    -------
    tuple of ndarray, shapes (n,), or None
        Unit of each row, and a mask of rows with near copies on the other side.

    Notes
    -----
    In a cloud of intrinsic dimension D and uniform density, the distances d_j to the j-th nearest
    row have independent gaps: ``j D log(d_(j+1) / d_j)`` is exponential with mean 1. D is estimated
    from the farther half of 24 neighbours (Levina and Bickel 2005); a gap in the nearer half with a
    probability below one in a thousand separates the rows before it. In one dimension, such as the
    answers of a two-class model, nearly equal rows are common and none are reported.
    """
    n = len(points)
    if n < _FEWEST or points.shape[1] < 2:
        return None
    rng = stream(0, "near repeats")
    axes = axes_of(points, rng)
    if axes.shape[1] < 2:
        return None
    some = np.sort(rng.permutation(n)[:_SAMPLE])
    # A sample decides whether there are repeats at all, strictly; then all rows are linked,
    # loosely.
    first = _near_pairs(axes, group, some, _LIKELY)
    if len(np.unique(first[:, 0])) < max(20, _MATTER * len(some)):
        return None
    alike = member[first[:, 0]] == member[first[:, 1]]
    same = float(np.mean(alike))
    # Probability that two independent rows are on the same side.
    chance = float(member.mean() ** 2 + (1 - member.mean()) ** 2)
    of_one_person = same >= chance + _SAME_SIDE * (1 - chance)
    if not of_one_person and same > _OTHER_SIDE * chance:
        return None
    pairs = _near_pairs(axes, group, np.arange(n), _LINKED)
    # Pairs that are near in both directions only.
    both = np.isin(pairs[:, 0] * n + pairs[:, 1], pairs[:, 1] * n + pairs[:, 0])
    if of_one_person:
        both &= member[pairs[:, 0]] == member[pairs[:, 1]]
    pairs = pairs[both]
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, unit = connected_components(links, directed=False)
    return unit.astype(np.int64), units.on_both_sides(unit, member)


def axes_of(points: Floats, rng: np.random.Generator) -> Floats:
    """Return points on at most `_MOST_AXES` axes with standard deviation 1, (n, axes)."""
    axes = points
    if points.shape[1] > _MOST_AXES:
        # Random projections keep distances about right, on few axes.
        axes = points @ rng.normal(size=(points.shape[1], _MOST_AXES))
    spread = axes.std(axis=0)
    return np.asarray(axes[:, spread > 0] / spread[spread > 0], np.float64)


def is_clustered(score: Floats, group: Ints, member: Bools) -> bool:
    """Return whether rows with similar scores share a side more often than independent rows would.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        Confidence of a model on each row.
    group : ndarray of int, shape (n,)
        Class of each row; rows are compared within a class.
    member : ndarray of bool, shape (n,)
        The side of each row.

    Notes
    -----
    In the order of scores, and given the share of members at each score, the sides of neighbours
    are independent if all rows are of different people, whether or not scores separate members from
    non-members. So the sides minus that share are uncorrelated. The share is fitted as a function
    that is monotone except for one turn or jump, since a model may be more confident about its
    members whichever class it predicts. The fit absorbs some of the correlation, so the test errs
    on the side of independence. It works in one dimension, where no row is nearer to another than
    chance explains, but not if views of one person are spread over most of the scores. Scores in
    steps, such as calibrated ones and those of a forest, tell nothing about neighbours: the share
    of members differs from step to step without any rule. So scores that occur three times are left
    out.
    """
    rng = stream(0, "clustered")
    total = np.zeros(len(_LAGS))
    variance = np.zeros(len(_LAGS))
    for number in np.unique(group):
        rows = rng.permutation(np.flatnonzero(group == number))  # equal scores in no order
        _, value, count = np.unique(score[rows], return_inverse=True, return_counts=True)
        # Mostly equal scores, as votes of a few trees: neighbours have no order.
        if len(count) < _CONTINUOUS * len(rows):
            continue
        rows = rows[count[value] < _STEP]
        inside = member[rows[np.argsort(score[rows], kind="stable")]].astype(np.float64)
        n = len(inside)
        if n < _FEWEST:
            continue
        # The share of members may rise and then fall with the score: monotone on each side of one
        # of ten cuts.
        cuts = np.arange(10) * n // 10
        fits = [
            np.concatenate([_isotonic(part) for part in np.split(inside, [cut])]) for cut in cuts
        ]
        residual = inside - min(fits, key=lambda fit: float(np.sum((inside - fit) ** 2)))
        # Sums over lags 1 to L for each L in _LAGS. Under independence each product sum has
        # variance n times the squared variance of a residual.
        products = [residual[:-lag] @ residual[lag:] for lag in range(1, _LAGS[-1] + 1)]
        total += np.cumsum(products)[np.array(_LAGS) - 1]
        variance += n * np.array(_LAGS) * residual.var() ** 2
    return bool((total > _SURELY * np.sqrt(variance)).any())


_CONTINUOUS = 0.5
"""Smallest share of distinct scores among the rows of a class."""

_STEP = 3
"""Equal scores of a class from which on they count as a step of the release."""

_LAGS = (5, 10, 20, 40)
"""Largest lags between compared neighbours: views of one record lie among those of others."""

_SURELY = 2.0
"""Standard errors above 0 that show clusters. They amount to three if rows belong to different
people: the fit absorbs some correlation, so that sums are then -1 or below on average."""


def _isotonic(values: Floats) -> Floats:
    """Fit values by their index with a monotone function, increasing or decreasing."""
    if not len(values):
        return values
    fits = [isotonic_regression(values, increasing=up).x for up in (True, False)]
    return min(fits, key=lambda fit: float(np.sum((values - fit) ** 2)))


def repeated_scores(score: Floats, member: Bools) -> Ints | None:
    """Return units of rows that repeat each other, from their scores alone; None if there are none.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        Score of each row, on any scale.
    member : ndarray of bool, shape (n,)
        True for a member; rows that repeat each other are on the same side.

    Returns
    -------
    ndarray of int, shape (n,), or None

    Notes
    -----
    Scores are nearly equal within a hundredth of the usual gap around them. They are repeats if
    they agree in side more often than with the scores next to them (Fisher's exact test); or if
    nearly all agree, no lattice explains them, and they lie anywhere among the scores. Rows are
    written down twice whatever their coin says, so both sides have equally many: scores shared only
    by members are a leak, not repeats. Nor are the scores of a mechanism with few answers. Repeats
    whose scores differ as much as those of other rows are not detected.
    """
    from scipy.stats import fisher_exact, ks_2samp

    order = np.argsort(score, kind="stable")
    gap = np.diff(score[order])
    # Means before and after each gap, the smaller counts: scores may get closer and closer towards
    # one end, as losses do towards 0.
    before, after = (
        uniform_filter1d(gap, _AROUND, mode="reflect", origin=shift)
        for shift in ((_AROUND - 1) // 2, -(_AROUND // 2))
    )
    usual = np.minimum(before, after)
    touching = (gap == 0) | (gap < _TOUCHING * usual)
    cluster = np.zeros(len(score), np.int64)
    cluster[order] = np.concatenate([[0], np.cumsum(~touching)])
    _, first, size = np.unique(cluster[order], return_index=True, return_counts=True)
    repeated = size > 1
    n_less = min(np.count_nonzero(member), np.count_nonzero(~member))
    if len(size) < _FEW_SCORES or size.max() > max(_FEW_SCORES, _LARGEST * n_less):
        return None
    if size[repeated].sum() < max(_FEW_SCORES, _MATTER * len(score)):
        return None
    # One row, or one pair, per cluster, so that a cluster does not count as often as it repeats.
    side = member[order]
    of_side = [np.bincount(repeated[side[first] == put], minlength=2) for put in (True, False)]
    # Repeats are more frequent on one side: a leak.
    if fisher_exact(np.array(of_side)).pvalue < _NEVER:
        return None
    # Agreement of sides within clusters, and between a cluster and the next score.
    within = side[first[repeated]] == side[first[repeated] + 1]
    next_to = repeated[1:] | repeated[:-1]
    between = side[first[1:]][next_to] == side[first[1:] - 1][next_to]
    alike = [[part.sum(), (~part).sum()] for part in (within, between)]
    more = fisher_exact(np.array(alike), alternative="greater").pvalue < _NEVER
    # A lattice has no small gaps: nearly equal scores are then simply on the same point.
    free = np.sort(gap[~touching])
    on_lattice = np.quantile(free, 0.05) > _LATTICE * np.median(free)
    at_once = np.flatnonzero(~repeated)
    anywhere = (
        not len(at_once)
        or ks_2samp(np.flatnonzero(repeated), at_once, method="asymp").pvalue >= _NEVER
    )
    sure = not on_lattice and anywhere and within.mean() >= 1 - _FEW_DISAGREE
    if not (more or sure):
        return None
    return units.number_units(2 * cluster + member)


def _near_pairs(axes: Floats, group: Ints, asked: Ints, likely: float) -> Ints:
    """Return pairs (queried row, row too near to it), shape (p, 2)."""
    found = []
    half = _NEIGHBOURS // 2
    place = np.arange(1, half + 1)
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        queries = asked[group[asked] == number]
        if len(rows) < 2 * _NEIGHBOURS or not len(queries):
            continue
        tree = cKDTree(axes[rows])
        distance, neighbour = tree.query(axes[queries], k=_NEIGHBOURS + 1)
        # The row itself comes first; rows with an equal one are left out (they need no distances).
        usable = distance[:, 1] > 0
        distance = distance[usable, 1:]
        neighbour = rows[neighbour[usable, 1:]]
        queries = queries[usable]
        if not len(queries) or (distance[:, half] == distance[:, -1]).all():
            continue  # rows on a lattice are equally far from many others
        # On average, log(d_m / d_j) is (1 / j + ... + 1 / (m - 1)) / D: D from the farther half.
        expected = np.cumsum(1 / np.arange(_NEIGHBOURS - 1, half, -1))[::-1].mean()
        dimension = expected / np.mean(np.log(distance[:, -1:] / distance[:, half:-1]))
        gaps = place * dimension * np.log(distance[:, 1 : half + 1] / distance[:, :half])
        nearer = 1 + np.argmax(gaps, axis=1)
        # P(exponential > log(half / likely)) is likely / half: Bonferroni over the gaps.
        near = gaps.max(axis=1) > np.log(half / likely)
        linked = near[:, None] & (place <= nearer[:, None])
        who, which = np.nonzero(linked)
        found.append(np.column_stack([queries[who], neighbour[who, which]]))
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def interpolated_rows(points: Floats, group: Ints) -> Bools:
    """Return a mask of rows that lie exactly between two others of their group, (n,).

    Oversampling such as SMOTE (Chawla et al. 2002) draws rows on the segment between two real ones.
    They are not real records and vary less: a model is more confident about them, whether or not it
    was trained on them.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        Features. Columns in which most values occur more than once are ignored, since points on a
        lattice share many lines; at least three others are needed.
    group : ndarray of int, shape (n,)
        Class and side of each row; rows are interpolated within a group.

    Notes
    -----
    A row is interpolated if two of its 30 nearest rows lie in exactly opposite directions. In three
    or more dimensions, this happens to real rows once in millions.
    """
    made = np.zeros(len(points), np.bool_)
    continuous = [
        column
        for column in points.T
        # A column of few values has many rows between two others by chance.
        if np.isfinite(column).all() and len(np.unique(column)) > len(column) / 2
    ]
    if len(continuous) < _FEWEST_CONTINUOUS:
        return made
    axes = np.column_stack(continuous)
    axes = (axes - axes.mean(axis=0)) / axes.std(axis=0)
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        if len(rows) < 3:
            continue
        k = min(_ENDS_AMONG, len(rows) - 1)
        _, nearest = cKDTree(axes[rows]).query(axes[rows], k=k + 1)
        for start in range(0, len(rows), _ROWS_A_BLOCK):
            block = slice(start, start + _ROWS_A_BLOCK)
            towards = axes[rows[nearest[block, 1:]]] - axes[rows[block], None]
            length = np.linalg.norm(towards, axis=2, keepdims=True)
            # Unit vectors to the neighbours, 0 for equal rows, which then are opposite to none.
            towards = np.divide(towards, length, out=np.zeros_like(towards), where=length > 0)
            opposite = np.matmul(towards, towards.transpose(0, 2, 1)).min(axis=(1, 2))
            made[rows[block]] = opposite < -1 + _PARALLEL
    return made
