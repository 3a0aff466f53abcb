"""Meta-classifiers: what they find, and that scores of the tables they learnt from are honest."""

import numpy as np
import pytest
from scipy.stats import norm

from privacygauge.errors import InputError
from privacygauge.tables.attacks.meta import Forest, Screened, separation, stratified_folds
from tests.tables.attacks.made_views import auc
from tests.thorough import times

METAS = (Forest(12, 4), Screened(20))
every_meta = pytest.mark.parametrize("meta", METAS, ids=lambda meta: meta.name)


def noise(rng, n, p):
    return rng.normal(size=(n, p)).astype(np.float32), rng.random(n) < 0.5


@pytest.mark.slow
@every_meta
@pytest.mark.parametrize("p", [3, 400])
def test_noise_says_nothing_about_the_own_tables(meta, p):
    # The mean over games of n = 60: one AUC varies by .075, and a small bias shows.
    games = times(40)
    found = []
    for i in range(games):
        rng = np.random.default_rng([i, p])
        features, inside = noise(rng, 60, p)
        found.append(auc(meta.fit(features, inside, rng).own, inside))
    error = np.std(found) / np.sqrt(games)
    assert abs(np.mean(found) - 0.5) < 4 * error < 0.1


def test_scores_of_what_was_learnt_from_would_not_be_honest():
    rng = np.random.default_rng(0)
    features, inside = noise(rng, 100, 1000)
    learnt = Screened(20).fit(features, inside, rng)
    assert auc(learnt.scores(features), inside) > 0.9
    assert abs(auc(learnt.own, inside) - 0.5) < 0.25


@pytest.mark.parametrize("meta", [Forest(60, 4), Screened(20)], ids=lambda meta: meta.name)
def test_a_shift_is_found_as_well_as_can_be(meta):
    rng = np.random.default_rng(0)
    features, inside = noise(rng, 1500, 30)
    features[:, 7] += 2.0 * inside
    best = norm.cdf(2.0 / np.sqrt(2.0))
    learnt = meta.fit(features[:1000], inside[:1000], rng)
    assert best - 0.06 < auc(learnt.own, inside[:1000]) < best + 0.03
    assert best - 0.06 < auc(learnt.scores(features[1000:]), inside[1000:]) < best + 0.03


@every_meta
def test_fitting_twice_is_equal_and_changes_nothing(meta):
    features, inside = noise(np.random.default_rng(1), 80, 10)
    features.flags.writeable = inside.flags.writeable = False
    first, again = (meta.fit(features, inside, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first.own, again.own)
    assert np.array_equal(first.scores(features), again.scores(features))


@every_meta
def test_constant_features_and_a_class_of_one_table(meta):
    rng = np.random.default_rng(0)
    learnt = meta.fit(np.ones((20, 5), np.float32), np.arange(20) == 3, rng)
    assert np.isfinite(learnt.own).all()
    assert len(np.unique(learnt.scores(np.ones((4, 5), np.float32)))) == 1


def test_a_table_in_the_sample_of_every_tree_gets_one_half():
    features, inside = noise(np.random.default_rng(0), 40, 3)
    own = Forest(1).fit(features, inside, np.random.default_rng(0)).own
    assert 0.5 < np.mean(own == 0.5) < 0.8  # 1 - 1/e = .63 of the tables


def test_a_feature_that_never_fails_has_a_finite_weight():
    rng = np.random.default_rng(0)
    features, inside = noise(rng, 100, 4)
    features[:, 1] = inside
    learnt = Screened().fit(features, inside, rng)
    assert auc(learnt.own, inside) == 1.0
    assert np.abs(learnt.scores(features)).max() < 1000


def test_copies_of_a_feature_are_passed_over():
    rng = np.random.default_rng(0)
    features, inside = noise(rng, 300, 3)
    features[:, 0] += inside
    features[:, 2] += 0.8 * inside
    copies = features[:, [0]] * [1.0, -2.0, 1.0] + 0.01 * rng.normal(size=(300, 3))
    wide = np.hstack([features, copies]).astype(np.float32)
    chosen = Screened(2).fit(wide, inside, rng).chosen.tolist()
    assert 2 in chosen
    assert len(chosen) == 2


def test_separation_is_the_gap_of_means_over_the_deviation():
    features, inside = noise(np.random.default_rng(0), 2000, 3)
    features = features * np.float32([1, 10, 0]) + np.float32([0, 1000, 5])
    features[:, 1] += 20 * inside
    gap = features[inside].mean(axis=0) - features[~inside].mean(axis=0)
    wanted = gap[:2] / features.std(axis=0)[:2]
    found = separation(features, inside)
    assert found[1] == pytest.approx(wanted[1], rel=0.1)
    assert abs(found[0]) <= abs(wanted[0])
    assert found[2] == 0.0


def test_folds_hold_as_many_of_each_class():
    inside = np.arange(103) < 37
    fold = stratified_folds(inside, 5, np.random.default_rng(0))
    for kind in (inside, ~inside):
        assert np.ptp(np.bincount(fold[kind], minlength=5)) <= 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Forest(0), "trees must be at least 1, got 0"),
        (lambda: Forest(5, 0), "depth must be at least 1, got 0"),
        (lambda: Screened(0), "features must be at least 1, got 0"),
        (lambda: Screened(folds=1), "folds must be at least 2, got 1"),
        (lambda: Screened(alike=0.0), r"alike must be in \(0, 1\], got 0.0"),
        (lambda: Screened(shrinkage=1.5), r"shrinkage must be in \(0, 1\], got 1.5"),
    ],
)
def test_bad_choices_are_refused(make, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        make()
