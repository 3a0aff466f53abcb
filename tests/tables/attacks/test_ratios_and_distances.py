"""Attacks on distances, densities and marginals, against their formulas taken literally."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.tables.attacks.density import (
    ClosestDistance,
    DensityRatio,
    MarginalRatio,
    distances_to,
)
from privacygauge.tables.attacks.meta import separation
from privacygauge.tables.distance import Cosine, Minkowski, space_of
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.generators.network import learn_structure, most_informative
from privacygauge.tables.table import Table
from tests.tables.attacks.made_views import view_of

rng_0 = np.random.default_rng


@given(
    seed=st.integers(0, 1000),
    shape=st.sampled_from([(2, 0), (0, 2), (3, 2), (1, 1)]),
    distance=st.sampled_from([Cosine(), Minkowski(1), Minkowski(3)]),
)
def test_distances_are_those_of_the_vulnerability_score(seed, shape, distance):
    view, _ = view_of(rng_0(seed), n_cat=shape[0], n_cont=shape[1], shadows=3, n=6, missing=0.2)
    ends = [[c.low or 0, 0 if c.high is None else c.high] for c in view.schema.columns]
    found = distances_to(view.schema, view.target, view.shadows, distance)
    for row, table in zip(found, view.shadows, strict=True):
        # With the ends of the schema's range among the records, both scale alike.
        rows = np.vstack([table, view.target, np.array(ends, float).T])
        space = space_of(Table(view.schema, rows), distance)
        wanted = space.between(np.arange(6), np.full(6, 6))
        assert row == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_the_score_is_minus_the_mean_of_the_nearest(k):
    view, _ = view_of(rng_0(0))
    answer = ClosestDistance(k).score(view, rng_0(0))
    distances = distances_to(view.schema, view.target, view.released, Cosine())
    assert answer.released == pytest.approx(-np.sort(distances, axis=1)[:, :k].mean(axis=1))


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_density_is_a_product_of_smoothed_shares(degree):
    view, _ = view_of(rng_0(1), missing=0.1, shadows=4, released=4)
    binning = Binning(view.schema, 6)

    def codes(values):
        return binning.codes(Table(view.schema, np.vstack([values, view.target])))

    parents = [()] * 5
    if degree:
        nodes = learn_structure(
            codes(view.known.values)[:-1], binning.sizes, degree, most_informative, rng_0(0)
        )
        for node in nodes:
            parents[node.attribute] = node.parents

    def log_density(values):
        *rows, target = codes(values)
        total = 0.0
        for j, given_ in enumerate(parents):
            like = [row for row in rows if all(row[p] == target[p] for p in given_)]
            both = sum(row[j] == target[j] for row in like)
            total += np.log((both + 0.5) / (len(like) + 0.5 * binning.sizes[j]))
        return total

    answer = DensityRatio(degree, bins=6).score(view, rng_0(0))
    wanted = [log_density(t) - log_density(view.known.values) for t in view.released]
    assert answer.released == pytest.approx(wanted)
    own = [log_density(t) - log_density(view.known.values) for t in view.shadows]
    assert answer.own == pytest.approx(own)


def test_marginal_ratios_are_weighted_by_what_the_shadows_show():
    view, _ = view_of(rng_0(2), n_cat=4, n_cont=0, shadows=50, n=30)
    subsets = [s for size in (1, 2) for s in combinations(range(4), size)]

    def logs(tables):
        met = [
            [(t[:, list(s)] == view.target[list(s)]).all(axis=1).sum() for s in subsets]
            for t in tables
        ]
        return np.log((np.array(met) + 0.5) / (tables.shape[1] + 1))

    expected = logs(view.known.values[None])
    own = logs(view.shadows) - expected
    weights = np.maximum(separation(own, view.inside), 0.0) ** 2
    answer = MarginalRatio(2, ("equal",)).score(view, rng_0(0))
    wanted = (logs(view.released) - expected) @ weights / weights.sum()
    assert answer.released == pytest.approx(wanted, abs=1e-4)
