"""Intervals at 95% hold the truth in about 95% of games.

Every bound here is passed by chance, where the coverage is what it should be, with a probability
of at least 1 - 1e-5.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

from privacygauge.core.exact import SIGNAL, GaussianGame, RandomisedResponse
from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import decision
from privacygauge.evaluate.evaluation import best_accuracy
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
from privacygauge.evaluate.roc import auc, roc
from tests.thorough import times

GAMES = times(600)
LEAST = stats.binom.ppf(1e-5, GAMES, 0.95)
APPROXIMATE = stats.binom.ppf(1e-5, GAMES, 0.93)
"""For intervals that are no exact ones, in games of few targets."""
MOST = stats.binom.isf(1e-5, GAMES, 0.98)


def transcript_of(dealt) -> Transcript:
    return Transcript(dealt.observation.signals[SIGNAL], dealt.secret)


def held(game: GaussianGame) -> dict[str, int]:
    """Return in how many games each interval held the truth."""
    truth = game.accuracy()
    ppv = 0.1 * truth / (0.1 * truth + 0.9 * (1 - truth))
    count: dict[str, int] = defaultdict(int)
    for dealt in game.deal(GAMES, np.random.default_rng(7)):
        transcript = transcript_of(dealt)
        curve = roc(transcript)
        guesses = Cut(game.effect / 2).decide(transcript)
        rates = {fpr: tpr_at_fpr(curve, fpr) for fpr in (0.1, 0.01)}
        for name, estimate, value in (
            ("auc", auc(transcript, curve=curve), game.auc()),
            ("accuracy", decision.balanced_accuracy(guesses), truth),
            ("advantage", decision.advantage(guesses), 2 * truth - 1),
            ("recall", decision.recall(guesses), truth),
            ("fpr", decision.false_positive_rate(guesses), 1 - truth),
            ("ppv", decision.positive_predictive_value(guesses, 0.1), ppv),
            ("best", best_accuracy(curve), truth),
            *((f"tpr {fpr}", r.estimate, game.tpr(fpr)) for fpr, r in rates.items()),
            *((f"threshold {fpr}", r.at_threshold, game.tpr(fpr)) for fpr, r in rates.items()),
        ):
            count[name] += not estimate.excludes(value)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(("n", "effect"), [(40, 0.0), (200, 0.0), (200, 1.0), (200, 2.5)])
def test_intervals_cover(n: int, effect: float) -> None:
    count = held(GaussianGame(n, effect))
    for name in ("recall", "fpr", "ppv", "best", "tpr 0.1", "tpr 0.01"):
        assert count[name] >= LEAST, name
    for name in ("auc", "accuracy", "advantage"):
        assert APPROXIMATE <= count[name] <= MOST, name
    if n == 200:
        # Why the interval of a rate at an FPR is wider than that of the rate at the threshold:
        # the threshold was chosen on these rows, on pure noise too.
        assert max(count["threshold 0.1"], count["threshold 0.01"]) < LEAST


@pytest.mark.slow
def test_with_two_values_only_the_rate_of_the_randomised_threshold_is_covered() -> None:
    # "Member" for the answer 1 with a probability that makes the false-positive rate 10%.
    game = RandomisedResponse(200, 1.0)
    fpr = 0.1
    truth = fpr * game.truth / (1 - game.truth)
    curves = (roc(transcript_of(d)) for d in game.deal(GAMES, np.random.default_rng(8)))
    assert sum(not tpr_at_fpr(c, fpr).estimate.excludes(truth) for c in curves) >= LEAST


def test_the_areas_interval_covers_where_members_are_rare() -> None:
    rng = np.random.default_rng(9)
    secret = np.arange(400) < 20
    count = 0
    for _ in range(GAMES):
        count += not auc(Transcript(rng.normal(size=400) + 1.0 * secret, secret)).excludes(
            GaussianGame(2, 1.0).auc()
        )
    assert APPROXIMATE <= count <= MOST


def test_the_areas_interval_covers_where_targets_repeat() -> None:
    # 40 targets in 10 rounds; half of them leak, so rows of one target go together.
    rng = np.random.default_rng(10)
    target = np.repeat(np.arange(40), 10)
    count = 0
    truth = 0.25 + stats.norm.cdf(3 / np.sqrt(2)) / 2
    for _ in range(GAMES):
        leaks = rng.choice([0.0, 3.0], 40)[target]
        secret = rng.random(400) < 0.5
        score = rng.normal(size=400) + leaks * secret
        count += not auc(Transcript(score, secret, target)).excludes(truth)
    assert APPROXIMATE <= count <= MOST
