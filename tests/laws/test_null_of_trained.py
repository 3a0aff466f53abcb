"""Attacks that are trained on bits find nothing where membership tells nothing.

Cross-fitted, each record is attacked by what was learnt from others, whose bits may tell of its
own only by the way in which parts were drawn: as the members of a class do that are, by chance,
too many in every part alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from scipy import stats

from privacygauge.classifiers.game import PARTS, PredictionGame, crossfit_parts, draw_parts
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.suite import prediction_attacks
from privacygauge.classifiers.white_box import (
    WhiteBoxGame,
    WhiteBoxSide,
    WhiteBoxSignals,
    white_box_attacks,
)
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.game import Attack, Round
from privacygauge.evaluate.headline import best_supported
from privacygauge.evaluate.playing import audit, headline, played_of
from tests.laws.catalogue import TRAINED, TRAINED_FROM_INSIDE, label
from tests.thorough import THOROUGH

GAMES = 400 if THOROUGH else 60
"""Each number of classes and records with each way to draw members, at least once."""

CLASSES = (2, 5, 10, 30, 100)
RECORDS = (200, 500, 1000, 2000)
FALSE_ALARMS = 0.035
"""The share of games in which the verdict may find a leak."""

Arrange = Callable[[Ints, np.random.Generator], Bools]


def of_all(labels: Ints, rng: np.random.Generator) -> Bools:
    """Return half of all records as members."""
    return rng.permutation(len(labels)) < len(labels) // 2


def by_coins(labels: Ints, rng: np.random.Generator) -> Bools:
    """Return members by fair coins."""
    return rng.random(len(labels)) < 0.5


def of_each_class(labels: Ints, rng: np.random.Generator) -> Bools:
    """Return seven tenths of each class as members, as a stratified split does."""
    order = np.lexsort((rng.random(len(labels)), labels))
    member = np.empty(len(labels), np.bool_)
    member[order] = np.arange(len(labels)) % 10 < 7
    return member


ARRANGED: tuple[Arrange, ...] = (of_all, by_coins, of_each_class)


@cache
def null_game(seed: int, inside: bool) -> Sequence[Round]:
    """Return what is dealt of a model that was trained on quite other records.

    Classes, records and the way members were drawn go round with the seed.
    """
    rng = np.random.default_rng([11, seed])
    k = CLASSES[seed % len(CLASSES)]
    n = RECORDS[seed // len(CLASSES) % len(RECORDS)]
    labels = rng.integers(k, size=n)
    member = ARRANGED[seed % len(ARRANGED)](labels, rng)
    x = rng.normal(size=(k, 8))[labels] + rng.normal(size=(n, 8))
    logits = x @ rng.normal(size=(8, k)) + rng.normal(size=(n, k))
    logits[np.arange(n), labels] += 1.5
    if not inside:
        seen = predictions(logits=logits, labels=labels, member=member)
        return PredictionGame(seen, features=x).deal(1, rng)
    norms = np.exp(rng.normal(size=(n, 3)) + logits[:, :1])
    signals = WhiteBoxSignals(("a", "b", "c"), norms, logits, labels, x, "loop")
    return WhiteBoxGame(WhiteBoxSide(signals, member)).deal(1, rng)


@pytest.mark.slow
@pytest.mark.parametrize("attack", [*TRAINED, *TRAINED_FROM_INSIDE], ids=label)
def test_a_trained_attack_finds_nothing_where_nothing_is(attack: Attack) -> None:
    """By its guesses, and by its ranking."""
    by_guesses = 0
    by_ranking = 0
    for seed in range(GAMES):
        rounds = null_game(seed, attack in TRAINED_FROM_INSIDE)
        [(_, found)] = played_of(audit(rounds, [attack], seed=seed))
        by_guesses += found.accuracy.low > 0.5
        by_ranking += found.auc.low > 0.5
    most = stats.binom.isf(0.01, GAMES, FALSE_ALARMS)
    assert by_guesses <= most
    assert by_ranking <= most


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True])
def test_the_verdict_on_all_attacks_finds_nothing_where_nothing_is(inside: bool) -> None:
    suite = white_box_attacks() if inside else prediction_attacks(logits=True, features=True)
    alarms = 0
    for seed in range(GAMES):
        played = played_of(audit(null_game(seed, inside), suite, seed=seed))
        found = headline(played, seed=seed)
        alarms += best_supported(found.accuracy, found.auc).accuracy.low > 0.5
    assert alarms <= stats.binom.isf(0.01, GAMES, FALSE_ALARMS)


def in_common(arrange: Arrange, parts: int, classes: int, seed: int) -> float:
    """Return how alike members' surplus in each class is in a part and in the others.

    In deviations of what independent bits would give, over all classes.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=40 * classes)
    member = arrange(labels, rng)
    first = draw_parts(labels, member, parts, rng) == 0
    beyond = member - member.mean()
    taught, judged = (
        np.bincount(labels[rows], weights=beyond[rows], minlength=classes)
        for rows in (~first, first)
    )
    variances = [member.var() * np.bincount(labels[rows]) for rows in (~first, first)]
    return float(taught @ judged / np.sqrt(variances[0] @ variances[1]))


@pytest.mark.parametrize("parts", [2, PARTS])
@pytest.mark.parametrize("arrange", ARRANGED)
def test_the_members_of_a_class_in_one_part_tell_nothing_of_another(
    arrange: Arrange, parts: int
) -> None:
    """Balanced by class and side the first two are at 2 and more, by side alone the last at -2."""
    games = 40
    found = [in_common(arrange, parts, 30, seed) for seed in range(games)]
    assert abs(np.mean(found)) < 4 / np.sqrt(games)


@pytest.mark.parametrize("arrange", ARRANGED)
@pytest.mark.parametrize("n", [4, 19, 200, 1001])
def test_of_two_records_one_teaches_the_other_at_most(arrange: Arrange, n: int) -> None:
    rng = np.random.default_rng(n)
    labels = rng.integers(3, size=n)
    member = np.arange(n) % 2 == 0 if n < 10 else arrange(labels, rng)
    teaches = np.zeros((n, n), np.int64)
    judged = np.zeros(n, np.int64)
    for asked, learnt in crossfit_parts(labels, member, rng):
        teaches[np.ix_(learnt, asked)] += 1
        judged[asked] += 1
        assert 0 < np.count_nonzero(member[learnt]) < len(learnt)
    assert (judged == 1).all()
    assert not np.diagonal(teaches).any()
    if n >= 200:
        assert (teaches + teaches.T).max() == 1
