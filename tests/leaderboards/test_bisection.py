"""Bisection finds a rare class by halving groups, and an audit by such a metric plays it."""

from __future__ import annotations

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import play
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.metrics import chosen_metric
from privacygauge.leaderboards.oracle import Holdout
from privacygauge.leaderboards.sequential import Bisection

RNG = np.random.default_rng
METRICS = ("f1", "macro-f1", "balanced-accuracy", "qwk")


def rare(positives: int, n: int = 1_000, seed: int = 0) -> np.ndarray:
    labels = np.zeros(n, np.int64)
    labels[RNG(seed).choice(n, positives, replace=False)] = 1
    return labels


def holdout(metric: str, labels: np.ndarray) -> Holdout:
    return Holdout(labels, 2, chosen_metric(metric))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("flipped", [False, True])
def test_one_in_a_thousand_is_found_in_ten_submissions(metric, flipped):
    for seed in range(5):
        labels = rare(1, seed=seed)
        if flipped and metric != "f1":  # F1 of the frequent class is close to 1 for a guess
            labels = 1 - labels
        hidden = holdout(metric, labels)
        found = play(Bisection.told(hidden), hidden, 10, RNG(seed))
        assert found.accuracy == pytest.approx(1.0)
        assert found.queries_used <= 10


@pytest.mark.parametrize("metric", METRICS)
def test_some_rare_ones_are_found_one_after_the_other(metric):
    hidden = holdout(metric, rare(5))
    gains = [play(Bisection.told(hidden), hidden, k, RNG(1)).accuracy for k in (0, 20, 60)]
    assert gains[0] <= gains[1] <= gains[2]
    assert gains[2] == pytest.approx(1.0)


def test_parts_are_small_enough_for_rounded_scores():
    hidden = holdout("macro-f1", rare(1))
    wins = [
        play(Bisection.told(hidden), hidden, 60, RNG(seed), guard=guard_named("round:2")).accuracy
        for seed in range(10)
    ]
    assert np.mean(np.array(wins) > 0.99) >= 0.7


def test_a_balanced_class_gains_little_by_halving():
    """It is told no more than the scores say: never more than all, never a wrong count."""
    labels = RNG(3).integers(0, 2, 60)
    hidden = holdout("f1", labels)
    assert play(Bisection.told(hidden), hidden, 200, RNG(0)).accuracy == pytest.approx(1.0)


@pytest.mark.parametrize("metric", ["accuracy", "brier", "mae:0:1", "top:2"])
def test_means_over_examples_leave_it_out(metric):
    chosen = chosen_metric(metric)
    labels = RNG(0).integers(0, 2, 40)
    assert not Bisection.applies(Holdout(labels, 0 if chosen.numbers else 2, chosen))


@pytest.mark.parametrize("metric", ["f1", "macro-f1"])
def test_an_audit_by_such_a_metric_finds_the_leak(metric):
    found = pg.attack_holdout(rare(1), 60, metric=metric, trials=4, guards=("exact",))
    assert [result.attack for result in found.results] == ["nb", "bisection"]
    assert found.of("bisection", "exact").bias.value > 0.45
    assert found.summary().startswith("Large gain: 60 submissions can buy")


def test_a_few_trials_without_luck_do_not_clear_a_rare_class():
    """Who meets the one positive gains all there is: five misses exclude no such luck."""
    found = pg.attack_holdout(rare(1), 5, metric="macro-f1", trials=5, guards=("calibrated",))
    assert found.report().verdict.headline.startswith("It cannot be told from 5 trials")
    assert found.report().verdict.grade.word == "cannot be told"


@pytest.mark.parametrize("trials", [2, 3])
def test_an_attack_that_gains_nothing_is_not_the_strongest(trials):
    """Its interval is the narrowest, and every interval ends where the scale of scores does."""
    labels = rare(20, n=600)
    guards = ["exact", "calibrated", "ladder:5%"]
    for seed in range(3):
        audit = pg.attack_holdout(labels, 60, metric="f1", guards=guards, trials=trials, seed=seed)
        certain = [r for r in audit.results if r.corrected.low > 0]
        if not certain:
            assert audit.worst.accuracy.value == max(r.accuracy.value for r in audit.results)
        assert all(r.corrected.high <= 1 - r.baseline for r in audit.results)


def test_an_attack_that_is_played_by_itself_is_not_called_unknown():
    with pytest.raises(InputError, match=r"^bisection is played by itself where it applies"):
        pg.attack_holdout(np.arange(60) % 2, 9, metric="f1", attacks=["bisection"])
