"""Near repeats: rows that are far closer to each other than the density around them explains.

Views of one record, such as a picture and its mirror image, or a note that was copied forward, are
not independent. They are detectable without ids: the nearest row is many times closer than the
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
"""Neighbours that estimate the density around a row; the nearer half may be repeats."""

_SAMPLE = 2_000
"""Rows that are searched first; most tables have no near repeats."""

_LIKELY = 1e-3
"""A gap in the distances less likely than this sets repeats apart from others."""

_LINKED = 0.05
"""The same probability once repeats are known to exist: unlinked repeats make intervals too
narrow."""

_MATTER = 0.05
"""Smallest share of rows with a repeat; rarer repeats are chance or change no interval."""

_SAME_SIDE = 0.6
"""Smallest excess of near rows on the same side for repeats of one person, as a share of the way
from chance to certainty. Rows that are near for other reasons, such as leaves of a tree, lie on
either side."""

_OTHER_SIDE = 0.4
"""Largest ratio to chance of near rows on the same side, where members have copies among
non-members."""

_MOST_AXES = 10
"""Points with more columns are projected at random onto this many."""
_FEWEST = 100
"""Fewest rows that are tested."""

_TOUCHING = 0.01
"""Share of the usual gap between neighbouring scores below which scores are nearly equal."""

_AROUND = 12
"""Gaps before and after that set the usual gap."""

_LATTICE = 0.3
"""Share of the median gap: if small gaps are not below it, scores lie on a lattice."""

_NEVER = 1e-3
"""Neighbours agree in side as often as nearly equal scores do, unless it is less likely than
this."""

_LARGEST = 0.02
"""A larger share of a side with one score is a frequent answer of the release."""

_FEW_SCORES = 20
"""Fewest clusters, and repeated rows, that can show repeats; a cluster this small is never taken
for a frequent answer of the release."""
_FEW_DISAGREE = 0.01
"""Largest share of nearly equal scores on different sides that shows repeats by itself."""

_ENDS_AMONG = 30
"""Neighbours of a row among which the two ends of its line are searched."""

_FEWEST_CONTINUOUS = 3

_PARALLEL = 1e-9
"""Directions whose cosine is this near to -1 are opposite, but for rounding."""

_ROWS_A_BLOCK = 512


def near_repeats(points: Floats, group: Ints, member: Bools) -> tuple[Ints, Bools] | None:
    """Return units of rows that nearly repeat each other, None where there are none.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        What is known or answered of each row; distances are compared within their neighbourhood.
    group : ndarray of int, shape (n,)
        Only rows of one group repeat each other: the class.
    member : ndarray of bool, shape (n,)
        The side of each row.

    Returns
    -------
    tuple of ndarray, shapes (n,), or None
        The number of each row's unit; and which rows have near copies on the other side.

    Notes
    -----
    In a cloud of intrinsic dimension D and even density the distances d_j to the j nearest rows
    have independent gaps: ``j D log(d_(j+1) / d_j)`` is exponential with mean 1. D is estimated
    from the farther half of 24 neighbours (Levina and Bickel 2005); a gap among the nearer half
    with a probability of one in a thousand separates the rows before it. In one dimension, as in
    the answers of a two-class model, nearly equal rows are common, and none are reported.
    """
    n = len(points)
    if n < _FEWEST or points.shape[1] < 2:
        return None
    rng = stream(0, "near repeats")
    axes = axes_of(points, rng)
    if axes.shape[1] < 2:
        return None
    some = np.sort(rng.permutation(n)[:_SAMPLE])
    first = _near_pairs(axes, group, some, _LIKELY)
    if len(np.unique(first[:, 0])) < max(20, _MATTER * len(some)):
        return None
    alike = member[first[:, 0]] == member[first[:, 1]]
    same = float(np.mean(alike))
    # The probability that two independent rows are on the same side.
    chance = float(member.mean() ** 2 + (1 - member.mean()) ** 2)
    of_one_person = same >= chance + _SAME_SIDE * (1 - chance)
    if not of_one_person and same > _OTHER_SIDE * chance:
        return None
    pairs = _near_pairs(axes, group, np.arange(n), _LINKED)
    # Near to each other, not only one to the other.
    both = np.isin(pairs[:, 0] * n + pairs[:, 1], pairs[:, 1] * n + pairs[:, 0])
    if of_one_person:
        both &= member[pairs[:, 0]] == member[pairs[:, 1]]
    pairs = pairs[both]
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, unit = connected_components(links, directed=False)
    return unit.astype(np.int64), units.on_both_sides(unit, member)


def axes_of(points: Floats, rng: np.random.Generator) -> Floats:
    """Return points on at most `_MOST_AXES` axes of standard deviation 1, (n, axes)."""
    axes = points
    if points.shape[1] > _MOST_AXES:
        axes = points @ rng.normal(size=(points.shape[1], _MOST_AXES))
    spread = axes.std(axis=0)
    return np.asarray(axes[:, spread > 0] / spread[spread > 0], np.float64)


def is_clustered(score: Floats, group: Ints, member: Bools) -> bool:
    """Return whether rows with similar scores share a side far more often than if independent.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        Confidence of a model on each row.
    group : ndarray of int, shape (n,)
        Rows are compared within a group: the class.
    member : ndarray of bool, shape (n,)
        The side of each row.

    Notes
    -----
    In the order of the scores, and given the share of members at each height of them, the sides of
    neighbours are independent if all rows are of different people, whether or not scores tell
    members from others. So the sides less that share are uncorrelated. The share is fitted as a
    function that is monotone but for one turn or jump: a model may be surer of its members
    whichever class it says. The fit takes up some of the correlation, so that the test errs on the
    side of independence. This works in one
    dimension, where no row is nearer to another than chance explains, but not where views of one
    person are spread over most of the scores. Scores that stand in steps, as calibrated ones and
    those of a forest do, say nothing of neighbours: the share of members differs from step to step
    without any rule. So scores that occur three times are left out.
    """
    rng = stream(0, "clustered")
    total = np.zeros(len(_LAGS))
    variance = np.zeros(len(_LAGS))
    for number in np.unique(group):
        rows = rng.permutation(np.flatnonzero(group == number))  # equal scores in no order
        _, value, count = np.unique(score[rows], return_inverse=True, return_counts=True)
        if len(count) < _CONTINUOUS * len(rows):
            continue
        rows = rows[count[value] < _STEP]
        inside = member[rows[np.argsort(score[rows], kind="stable")]].astype(np.float64)
        n = len(inside)
        if n < _FEWEST:
            continue
        residual = inside - _fit_unimodal(inside)
        products = [residual[:-lag] @ residual[lag:] for lag in range(1, _LAGS[-1] + 1)]
        total += np.cumsum(products)[np.array(_LAGS) - 1]
        variance += n * np.array(_LAGS) * residual.var() ** 2
    return bool((total > _SURELY * np.sqrt(variance)).any())


_CONTINUOUS = 0.5
"""Smallest share of distinct scores among a class's rows."""

_STEP = 3
"""Fewest equal scores of a class that are a step of the release."""

_LAGS = (5, 10, 20, 40)
"""Lags between compared neighbours: views of one record lie among those of others."""

_SURELY = 2.0
"""Standard errors. They amount to three where rows belong to different people: the fit absorbs some
correlation, so that sums are then -1 or below on average."""


def _fit_unimodal(values: Floats) -> Floats:
    """Fit values by their index with a function that is monotone on either side of one cut."""
    cuts = np.arange(10) * len(values) // 10
    fits = [np.concatenate([_isotonic(part) for part in np.split(values, [cut])]) for cut in cuts]
    return min(fits, key=lambda fit: float(np.sum((values - fit) ** 2)))


def _isotonic(values: Floats) -> Floats:
    """Fit values by their index with a monotone function, increasing or decreasing."""
    if not len(values):
        return values
    fits = [isotonic_regression(values, increasing=up).x for up in (True, False)]
    return min(fits, key=lambda fit: float(np.sum((values - fit) ** 2)))


def repeated_scores(score: Floats, member: Bools) -> Ints | None:
    """Return units of rows that repeat each other by their scores alone, None where there are none.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        One for each row, of any scale.
    member : ndarray of bool, shape (n,)
        Whether the row was put in. Rows that repeat each other share that.

    Returns
    -------
    ndarray of int, shape (n,), or None

    Notes
    -----
    Nearly equal scores lie within a hundredth of the gap that is usual around them. They repeat
    each other where they agree in side more often than with the scores next to them (Fisher's
    exact test); or where all agree, no lattice explains them, and they lie anywhere among the
    scores. Rows are written down twice whatever their coin says, so that either side has as many:
    scores that only members share are a leak, and no repeats. Neither are the few scores of a
    mechanism that gives only few. Repeats whose scores differ as much as those of other rows are
    not seen.
    """
    from scipy.stats import fisher_exact, ks_2samp

    order = np.argsort(score, kind="stable")
    gap = np.diff(score[order])
    # Before and after: scores may lie ever closer towards one end, as losses do towards 0.
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
    # One row and one pair of each cluster, or repeats would count as often as they repeat.
    side = member[order]
    of_side = [np.bincount(repeated[side[first] == put], minlength=2) for put in (True, False)]
    if fisher_exact(np.array(of_side)).pvalue < _NEVER:
        return None
    within = side[first[repeated]] == side[first[repeated] + 1]
    next_to = repeated[1:] | repeated[:-1]
    between = side[first[1:]][next_to] == side[first[1:] - 1][next_to]
    alike = [[part.sum(), (~part).sum()] for part in (within, between)]
    more = fisher_exact(np.array(alike), alternative="greater").pvalue < _NEVER
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
    """Return pairs of a queried row and a row that is too near to it, (p, 2)."""
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
        # The row itself comes first; equal rows are repeats that need no distances.
        usable = distance[:, 1] > 0
        distance = distance[usable, 1:]
        neighbour = rows[neighbour[usable, 1:]]
        queries = queries[usable]
        if not len(queries) or (distance[:, half] == distance[:, -1]).all():
            continue  # rows on a lattice are as far from many others
        # From the j-th of m on, log(r / d) is 1 / (D j) + ... + 1 / (D (m - 1)) on average.
        expected = np.cumsum(1 / np.arange(_NEIGHBOURS - 1, half, -1))[::-1].mean()
        dimension = expected / np.mean(np.log(distance[:, -1:] / distance[:, half:-1]))
        gaps = place * dimension * np.log(distance[:, 1 : half + 1] / distance[:, :half])
        nearer = 1 + np.argmax(gaps, axis=1)
        near = gaps.max(axis=1) > np.log(half / likely)
        linked = near[:, None] & (place <= nearer[:, None])
        who, which = np.nonzero(linked)
        found.append(np.column_stack([queries[who], neighbour[who, which]]))
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def interpolated_rows(points: Floats, group: Ints) -> Bools:
    """Return a mask of the rows that lie exactly between two others of their group, (n,).

    Oversampling such as SMOTE (Chawla et al. 2002) draws rows on the line between two real ones.
    They are not real records, and vary less: a model is more confident on them, whether it was
    trained on them or not.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        Features. Columns in which most values occur more than once are no evidence, since points
        of a lattice lie on many common lines, and neither are fewer than three others.
    group : ndarray of int, shape (n,)
        Rows of one group are interpolated: the class, on each side.

    Notes
    -----
    Two of the 30 nearest rows in exactly opposite directions. In three dimensions or more chance
    puts real rows so once in millions.
    """
    made = np.zeros(len(points), np.bool_)
    continuous = [
        column
        for column in points.T
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
            towards = np.divide(towards, length, out=np.zeros_like(towards), where=length > 0)
            opposite = np.matmul(towards, towards.transpose(0, 2, 1)).min(axis=(1, 2))
            made[rows[block]] = opposite < -1 + _PARALLEL
    return made
