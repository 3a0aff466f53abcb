"""Neighbours that reveal people: similar adjacent rows in the file, or near rows of one side."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import cKDTree
from scipy.special import expit
from scipy.stats import binom

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.repeats import axes_of
from privacygauge.core.seeds import stream

# Distances, in rows, of the pairs that are compared: adjacent rows, rows beyond one person's, and
# rows far apart.
_NEAR = 1
_MIDDLE = range(10, 20)
_FAR = range(20, 51)

_ALIKE = (0.01, 0.05)
"""Quantiles of far pairs' distances at which pairs count as similar; both are tried."""

_FEWEST_PAIRS = 200
"""Fewest pairs of adjacent rows that can show people in the order."""

_CHANCE = 1e-6
"""Largest probability that adjacent pairs are this similar by chance."""

_TIMES = 1.8
"""Smallest ratio of similar pairs among adjacent rows to those in the middle."""

# If similar pairs in the middle exceed far ones by the share _SORTED, and by the share _TREND of
# the neighbours' excess, rows are sorted or follow time: that makes neighbours similar, whoever
# they are. Less is chance.
_SORTED = 0.35
_TREND = 0.03

_NOT_ALONE = 2.0
"""Factor on the standard error of a share of pairs that have rows in common."""

_ACROSS = 0.2
"""If a larger share of the similar pairs lies on both sides, members were drawn row by row."""

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Quantiles of far pairs' distances that are tried as the threshold for linking neighbours."""

_DENSER = 1.5
"""Neighbours are linked up to the distance where they are this many times as frequent as others."""


def people_in_order(points: Floats, group: Ints, member: Bools) -> Ints | None:
    """Return the number of the person behind each row, (n,), if the order of rows shows people.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        The model's answer to each row, in the order of the file.
    group : ndarray of int, shape (n,)
        Rows are compared within a group: the class.
    member : ndarray of bool, shape (n,)
        The side of each row.

    Returns
    -------
    ndarray of int, or None
        The same number for neighbours of one group and side with similar answers. None if the order
        shows no people.

    Notes
    -----
    Rows of one person are adjacent, and rows a few places away are other people's. Sorting, by
    confidence or by date, also makes rows similar that are 10 to 19 places apart, more than those
    20 to 50 places apart; people do not. If members were drawn row by row, half of the similar
    neighbours are on different sides, and their bits are independent. Only pairs on one side are
    compared; otherwise blocks of members in a file would be similar because of the release's
    leakage.
    """
    near, across = _distances(points, group, member, [_NEAR])
    if len(near) < _FEWEST_PAIRS:
        return None
    middle, _ = _distances(points, group, member, _MIDDLE)
    far, _ = _distances(points, group, member, _FAR)
    if min(len(middle), len(far)) < 2 * _FEWEST_PAIRS:
        return None
    shown = False
    for alike in _ALIKE:
        close = float(np.quantile(far, alike))
        hits, n_across, often, by_chance = (
            int(np.count_nonzero(pairs <= close)) for pairs in (near, across, middle, far)
        )
        # The larger share is the safer reference; adding 1 keeps it above 0.
        share = max((often + 1) / (len(middle) + 1), by_chance / len(far))
        # Excess over far pairs: of the middle, by sorting or a trend; of neighbours, by people too.
        beyond, neighbours = (part * len(far) / by_chance - 1 for part in (share, hits / len(near)))
        is_sorted = beyond > _SORTED and beyond > _TREND * neighbours
        if is_sorted or n_across > _ACROSS * hits:
            return None
        # A row is in up to 20 pairs in the middle, so their share is as uncertain as that of fewer.
        expected = min(1.0, share + 2 * _NOT_ALONE * np.sqrt(share / len(middle)))
        chance = float(binom.sf(hits - 1, len(near), expected))
        shown = shown or (chance < _CHANCE and hits > _TIMES * share * len(near))
    if not shown:
        return None
    # Answers in steps, such as the votes of a forest, have many equal distances.
    edges = np.unique(np.quantile(far, _SHARES))
    reach = float(edges[0])
    for low, high in pairwise(edges.tolist()):
        ours, theirs = (float(np.mean((x > low) & (x <= high))) for x in (near, middle))
        if ours <= _DENSER * theirs:
            break
        reach = high
    # A row is linked to the row above it; every row that is not begins a new person.
    linked = np.zeros(len(points), np.bool_)
    linked[1:] = (group[1:] == group[:-1]) & (member[1:] == member[:-1])
    linked[1:] &= np.abs(points[1:] - points[:-1]).max(axis=1) <= reach
    return np.cumsum(~linked) - 1


def _distances(
    points: Floats, group: Ints, member: Bools, lags: range | list[int]
) -> tuple[Floats, Floats]:
    """Return distances between answers of one group, for pairs on one side and on both."""
    same = []
    across = []
    for lag in lags:
        alike = group[lag:] == group[:-lag]
        distance = np.abs(points[lag:] - points[:-lag]).max(axis=1)
        one_side = member[lag:] == member[:-lag]
        same.append(distance[alike & one_side])
        across.append(distance[alike & ~one_side])
    return np.concatenate(same), np.concatenate(across)


_FEWEST_RUNS = 8
"""Fewest stretches of one side that blocks can be dealt to; fewer are the order of a file."""

_FEWER_RUNS = 6.0
"""Standard errors by which a deal of single rows would make more stretches."""

_LONGEST = 100
"""Most rows of a block: answers that are alike beyond are sorted, or follow a trend."""

_LAGS = 5
"""Adjacent lags that dependence is tested on, together."""

_DEPENDENT = 6.0
"""Smallest mean correlation over the first lags, in standard errors, that shows blocks."""

_MONOTONE = 0.9
"""Share of adjacent differences of one sign that shows a sorted file."""

_SHARED = 0.5
"""Correlation of adjacent stretches of both sides that shows a file sorted by what both have."""


def blocks_in_order(points: Floats, group: Ints, member: Bools, unit: Ints) -> Ints | None:
    """Return the number of each row's block, (n,), if stretches of rows were dealt to the sides.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        The model's answer to each row, in the order of the file.
    group : ndarray of int, shape (n,)
        Classes: answers are compared with the mean of their class and side.
    member : ndarray of bool, shape (n,)
        The side of each row.
    unit : ndarray of int, shape (n,)
        Units that are known: dependence within them does not count.

    Returns
    -------
    ndarray of int, or None
        Pieces of the stretches, each as long as answers depend on each other. None if single rows
        were dealt to the sides, if the file lists one side after the other, or if answers do not
        depend on their neighbours.

    Notes
    -----
    A recording that is cut into blocks, of which some are trained on, has fewer independent parts
    than rows. So have visits of people whom no column names. Where neighbours are alike because the
    file is sorted, by an answer or by something that both sides share, they are no blocks.
    """
    n = len(member)
    n_in = int(np.count_nonzero(member))
    is_start = np.concatenate([[True], member[1:] != member[:-1]])
    starts = np.flatnonzero(is_start)
    # The runs test of Wald and Wolfowitz (1940).
    mean = 2 * n_in * (n - n_in) / n
    spread = np.sqrt(mean * (mean - 1) / max(n - 1, 1)) if mean > 1 else np.inf
    if len(starts) < _FEWEST_RUNS or mean + 1 - len(starts) < _FEWER_RUNS * spread:
        return None
    run = np.cumsum(is_start) - 1
    side = 2 * group + member
    rest = _residuals(points, side)
    # Neighbours of other classes may be alike in how hard they are, though not in any one class.
    hardness = [np.abs(rest).mean(axis=1, keepdims=True)] if rest.size else []
    if group.max() < points.shape[1]:
        hardness.append(points[np.arange(n), group][:, None])
    lengths = [_dependent_rows(rest, run, unit)]
    lengths += [_dependent_rows(_residuals(axis, side), run, unit) for axis in hardness]
    length = max((one for one in lengths if one is not None), default=None)
    if length is None or _is_sorted(rest, run, starts, length):
        return None
    place = np.arange(n) - starts[run]
    size = np.diff(np.append(starts, n))
    # Pieces of a stretch are at least as long as the dependence.
    pieces = np.maximum(size // length, 1)
    piece = np.minimum(place * pieces[run] // size[run], pieces[run] - 1)
    return np.unique(np.column_stack([run, piece]), axis=0, return_inverse=True)[1].reshape(-1)


def _residuals(points: Floats, group: Ints) -> Floats:
    """Return answers less the mean of their group, (n, d), each axis with a variance of 1."""
    _, code, size = np.unique(group, return_inverse=True, return_counts=True)
    sums = np.zeros((len(size), points.shape[1]))
    np.add.at(sums, code, points)
    rest = points - (sums / size[:, None])[code]
    scale = rest.std(axis=0)
    varied: Floats = rest[:, scale > 0] / scale[scale > 0]
    return varied


def _dependent_rows(rest: Floats, run: Ints, unit: Ints) -> int | None:
    """Return how many rows the answers of a stretch depend on each other, None where they do not.

    The first lag at which the mean correlation over a few lags is no longer above chance.
    """
    if not rest.size:  # one answer for all
        return None
    found = []
    errors = []
    for lag in range(1, _LONGEST + _LAGS):
        pairs = (run[lag:] == run[:-lag]) & (unit[lag:] != unit[:-lag])
        n_pairs = int(np.count_nonzero(pairs))
        products = (rest[lag:][pairs] * rest[:-lag][pairs]).mean(axis=1)
        found.append(float(np.mean(products)) if n_pairs else 0.0)
        # Axes depend on each other: as few as one may be independent.
        errors.append(1 / np.sqrt(n_pairs) if n_pairs else np.inf)
    means = np.convolve(found, np.full(_LAGS, 1 / _LAGS), "valid")
    # A row is in a pair at each lag, so that a mean over lags is as uncertain as that of one.
    bounds = np.array(errors[: len(means)])
    if means[0] < _DEPENDENT * bounds[0]:
        return None
    below = np.flatnonzero(means < 2 * bounds)
    # The last lags of the first window without dependence may still have some.
    return int(below[0]) + 1 + _LAGS // 2 if len(below) else _LONGEST


def _is_sorted(rest: Floats, run: Ints, starts: Ints, length: int) -> bool:
    """Return whether neighbours are alike because the file is sorted."""
    steps = np.sign(np.diff(rest, axis=0))[run[1:] == run[:-1]]
    rising = np.mean(steps > 0, axis=0)
    falling = np.mean(steps < 0, axis=0)
    if max(rising.max(initial=0), falling.max(initial=0)) > _MONOTONE:
        return True
    if length < _LONGEST:
        return False
    means = np.add.reduceat(rest, starts, axis=0)
    means /= np.diff(np.append(starts, len(rest)))[:, None]
    first = np.corrcoef(means[:-1].reshape(-1), means[1:].reshape(-1))[0, 1]
    return bool(first > _SHARED)


_FEWEST_ROWS = 100
"""Fewest rows that can show clusters of near points."""

_NEIGHBOURS = 24
"""Nearest rows to compare: the nearer half may be views of the same record, the farther half
surrounds them."""

_SAMPLE = 2_000
"""Largest number of rows whose neighbours are examined."""

_NEAREST = (2, 4, 8)
"""Numbers of nearest rows whose sides are compared with the row's own."""

_LEAF = (30, 60)
"""Fewest rows in a leaf, of many rows and of few: more than the views of most records."""

_TREES = (60, 20)
"""Trees that learn the share of members, of many rows and of few: more would learn the sides of
single people from few rows."""

_FEW_ROWS = 2_000
"""Largest number of few rows."""

_MOST_LEARNT = 20_000
"""Largest number of rows to learn the share of members from."""

_SURELY_NEAR = 5.0
"""Smallest covariance in standard errors. Sharp leaks, such as members whose best class is always
far ahead, reach 3."""

_CORRELATED = 0.5
"""Smallest sum of a row's correlations with its nearest rows, on average: half a view of the same
record."""


def clustered_points(points: Floats, group: Ints, member: Bools, seen: Floats) -> bool:
    """Return whether near points share a side far more often than those around them.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        The model's answer to each row.
    group : ndarray of int, shape (n,)
        Rows are compared within a group: the class.
    member : ndarray of bool, shape (n,)
        The side of each row.
    seen : ndarray of float, shape (n, s)
        Further signals that may separate members from non-members in a release.

    Notes
    -----
    Views of one record may lie as far apart as different records do, so that no row is nearer to
    another than chance explains (`near_repeats`); still, they are on one side. Boosting learns the
    share of members from points and signals, in leaves larger than a record has views, which
    removes the release's own leakage. The residual sides of different people's rows are
    uncorrelated. The covariance with the nearest 2, 4 or 8 rows, less that with the 13th to 24th,
    is compared with its standard error and with the variance. The fit absorbs some of it, so the
    test errs on the side of independence.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    if len(points) < _FEWEST_ROWS or points.shape[1] < 2:
        return False
    rng = stream(0, "clustered points")
    axes = axes_of(points, rng)
    asked = np.sort(rng.permutation(len(points))[:_SAMPLE])
    known = np.sort(rng.permutation(len(points))[:_MOST_LEARNT])
    columns = np.column_stack([axes, seen, group])
    few = len(points) <= _FEW_ROWS
    model = HistGradientBoostingClassifier(
        max_iter=_TREES[few],
        learning_rate=0.15,
        max_leaf_nodes=8,
        min_samples_leaf=min(_LEAF[few], max(_LEAF[0], len(points) // 8)),
        early_stopping=False,
        random_state=0,
    ).fit(columns[known], member[known])
    # The library's own probabilities overflow, with a warning, where the fit is very sure.
    share = expit(model.decision_function(columns))
    residual = member - share
    # Row i contrasts the 2, 4 or 8 nearest rows with the farther half, whose weights add up to the
    # same: what a whole neighbourhood has in common cancels.
    half = _NEIGHBOURS // 2
    weights = np.zeros((len(_NEAREST), _NEIGHBOURS))
    for one, nearest in zip(weights, _NEAREST, strict=True):
        one[:nearest] = 1.0
        one[half:] = -nearest / half
    covariance = np.zeros(len(_NEAREST))
    variance = np.zeros(len(_NEAREST))
    compared = 0
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        queries = asked[group[asked] == number]
        if len(rows) < 2 * _NEIGHBOURS or not len(queries):
            continue
        distance, place = cKDTree(axes[rows]).query(axes[queries], k=_NEIGHBOURS + 1)
        # The row itself comes first. If the next one is equal, `equal_rows` has found it already,
        # or it is an answer that the release gives often.
        usable = distance[:, 1] > 0
        neighbour = rows[place[usable, 1:]]
        queries = queries[usable]
        # Where points tell the sides, all residuals are as small as the fit leaves them, and those
        # of one side have one sign: they say nothing of people. The variance of a side that is
        # drawn with the fitted share is far larger.
        drawn = float(np.mean(share[rows] * (1 - share[rows])))
        spread = max(float(residual[rows].var()), drawn)
        if not len(queries) or spread == 0:
            continue
        compared += len(queries)
        products = residual[queries, None] * residual[neighbour] / spread
        covariance += weights @ products.sum(axis=0)
        # If residuals are uncorrelated, the variance of their weighted products is the sum of the
        # squared weights, each unordered pair taken once.
        who = np.repeat(queries, _NEIGHBOURS)
        for i, one in enumerate(weights):
            pairs = coo_array(
                (np.tile(one, len(queries)), (who, neighbour.ravel())), shape=(len(points),) * 2
            )
            # A pair of mutually near rows has the sum of both weights.
            variance[i] += (pairs + pairs.T).power(2).sum() / 2
    if not compared:
        return False
    surely = covariance > _SURELY_NEAR * np.sqrt(variance)
    return bool((surely & (covariance > _CORRELATED * compared)).any())
