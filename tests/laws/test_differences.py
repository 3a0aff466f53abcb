"""Coverage of differences between audits: intervals hold the truth of exact games."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import bdtr

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.rates import share
from privacygauge.releases.comparison.differences import (
    Judged,
    difference,
    pair_of,
    statistics,
)
from tests.releases.compared import game, truth
from tests.thorough import quarter

MEASURES = ("accuracy", "auc", "tpr@0.1", "called")
"""Two measures of guesses and rankings, a rate at a rate, and a share of records."""

GAMES = quarter(1000)


def covered(
    n: int, mus: tuple[float, float], *, rho: float, size: int, same: bool, games: int
) -> dict[str, tuple[int, float]]:
    """Return in how many games the interval held the truth, and its mean width, by measure."""
    found = dict.fromkeys(MEASURES, (0, 0.0))
    for i in range(games):
        rng = np.random.default_rng([i, n, size])
        records = game(rng, n, mus, rho=rho, size=size, same=same)
        for name in MEASURES:
            (old,), (new,) = (tuple(statistics(name, x)) for x in records)
            if same:
                pair = pair_of(name, (old.value, new.value), records, rng)
                assert pair is not None
                made = pair.at(0.95)
            else:
                alone = difference(old.interval(0.95), new.interval(0.95), level=0.95, each=0.95)
                assert not isinstance(alone, Skipped)
                made = alone.found
            held = not made.excludes(truth(name, mus[1]) - truth(name, mus[0]))
            hits, width = found[name]
            found[name] = (hits + held, width + (made.high - made.low) / games)
    return found


def least(games: int, looks: int) -> int:
    """Return how many games of a 94.5% interval hold at least, with 99% in `looks` looks.

    Half a point is left for approximations: the intervals are not exact.
    """
    counts = np.arange(games + 1)
    return int(counts[bdtr(counts, games, 0.945) > 0.01 / looks][0])


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False], ids=["same people", "other people"])
@pytest.mark.parametrize(("n", "size"), [(60, 1), (400, 1), (240, 4), (800, 4)])
@pytest.mark.parametrize("mus", [(0.0, 0.0), (1.0, 1.2), (0.5, 2.0)])
def test_the_interval_of_a_difference_covers_the_truth(n, size, mus, same):
    for rho in (0.3, 0.95) if same else (0.0,):
        found = covered(n, mus, rho=rho, size=size, same=same, games=GAMES)
        assert min(hits for hits, _ in found.values()) >= least(GAMES, 36 * len(MEASURES))


@pytest.mark.slow
def test_pairing_the_same_people_makes_it_narrow():
    paired_ones = covered(400, (1.0, 1.2), rho=0.95, size=1, same=True, games=100)
    apart = covered(400, (1.0, 1.2), rho=0.95, size=1, same=False, games=100)
    for name in ("accuracy", "auc", "called"):
        assert paired_ones[name][1] < 0.6 * apart[name][1]


@pytest.mark.slow
def test_people_of_the_same_name_who_are_others_do_no_harm():
    """Rows numbered from 0 in two files look like the same people, and are not."""
    hits = 0
    for i in range(GAMES):
        rng = np.random.default_rng(i)
        records = game(rng, 200, (1.0, 1.2), rho=0.0, size=1, same=True)
        (old,), (new,) = (tuple(statistics("auc", x)) for x in records)
        pair = pair_of("auc", (old.value, new.value), records, rng)
        assert pair is not None
        hits += not pair.at(0.95).excludes(truth("auc", 1.2) - truth("auc", 1.0))
    assert hits >= least(GAMES, 1)


@pytest.mark.slow
def test_the_choice_of_the_strongest_attack_is_allowed_for():
    """Eight attacks that know nothing: the strongest of each audit is chosen on its records."""
    hits = 0
    alone = 0
    games = 300
    for i in range(games):
        rng = np.random.default_rng(i)
        member = rng.random(200) < 0.5
        people = np.arange(200).astype(str).astype(object)
        records = []
        for _ in range(2):
            scores = {str(k): rng.normal(size=200) for k in range(8)}
            records.append(Judged(people, member, scores, {}, {}))
        old, new = (max(x.value for x in statistics("auc", r)) for r in records)
        pair = pair_of("auc", (old, new), (records[0], records[1]), rng)
        assert pair is not None
        hits += not pair.at(0.95).excludes(0.0)
        single = paired_alone(pair)
        alone += not single.excludes(0.0)
    assert hits >= least(games, 1)
    assert hits >= alone


def paired_alone(pair):
    """Return the difference as if the attacks had been chosen beforehand."""
    old, new = pair.old[pair.first], pair.new[pair.second]
    return difference(old.interval(0.95), new.interval(0.95), level=0.95, each=0.95).found


@pytest.mark.slow
def test_two_exact_shares_cover_their_difference():
    """Reports alone, without records: the difference of two Clopper-Pearson intervals."""
    rng = np.random.default_rng(0)
    for n, p, q in ((30, 0.05, 0.1), (200, 0.02, 0.5), (1000, 0.9, 0.92)):
        hits = 0
        for _ in range(GAMES):
            old, new = (share(int(rng.binomial(n, x)), n, 0.95) for x in (p, q))
            made = difference(old, new, level=0.95, each=0.99)
            assert not isinstance(made, Skipped)
            hits += not made.found.excludes(q - p)
        assert hits >= least(GAMES, 3)
