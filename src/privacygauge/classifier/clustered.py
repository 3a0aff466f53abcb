"""Rows that share their side with the rows most like them, as views of one record do."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import cKDTree
from scipy.special import expit

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.repeats import axes_of
from privacygauge.core.seeds import stream

_FEWEST = 100
"""With fewer rows, nothing is said about neighbours."""

_NEIGHBOURS = 24
"""Nearest rows: the nearer half may be views of the same record, the others surround them."""

_SAMPLE = 2_000
"""Rows whose neighbours are examined."""

_NEAREST = (2, 4, 8)
"""Numbers of nearest rows that are examined."""

_LEAF = 30
"""Rows in a leaf: more than the views of most records."""

_MOST_LEARNT = 20_000
"""Largest number of rows to learn the share of members from."""

_SURELY_NEAR = 5.0
"""Standard errors. Sharp leaks, such as members whose best class is always far ahead, reach 3."""

_CORRELATED = 0.5
"""Sum of a row's correlations with its nearest rows: half a view of the same record."""


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

    if len(points) < _FEWEST or points.shape[1] < 2:
        return False
    rng = stream(0, "clustered points")
    axes = axes_of(points, rng)
    asked = np.sort(rng.permutation(len(points))[:_SAMPLE])
    known = np.sort(rng.permutation(len(points))[:_MOST_LEARNT])
    columns = np.column_stack([axes, seen, group])
    model = HistGradientBoostingClassifier(
        max_iter=60,
        learning_rate=0.15,
        max_leaf_nodes=8,
        min_samples_leaf=_LEAF,
        early_stopping=False,
        random_state=0,
    ).fit(columns[known], member[known])
    # The library's own probabilities overflow, with a warning, where the fit is very sure.
    residual = member - expit(model.decision_function(columns))
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
        # Equal rows are found without neighbours, or are answers that a release gives often.
        usable = distance[:, 1] > 0
        neighbour = rows[place[usable, 1:]]
        queries = queries[usable]
        spread = float(residual[rows].var())
        if not len(queries) or spread == 0:
            continue
        compared += len(queries)
        products = residual[queries, None] * residual[neighbour] / spread
        covariance += weights @ products.sum(axis=0)
        who = np.repeat(queries, _NEIGHBOURS)
        for i, one in enumerate(weights):
            pairs = coo_array(
                (np.tile(one, len(queries)), (who, neighbour.ravel())), shape=(len(points),) * 2
            )
            # A pair of mutually near rows counts twice.
            variance[i] += (pairs + pairs.T).power(2).sum() / 2
    if not compared:
        return False
    surely = covariance > _SURELY_NEAR * np.sqrt(variance)
    return bool((surely & (covariance > _CORRELATED * compared)).any())
