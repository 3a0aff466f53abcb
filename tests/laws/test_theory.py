"""In games with known answers, every attack finds them."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.attacks.posterior import Histogram, RiskScore
from privacygauge.core.exact import SIGNAL, GaussianGame, RandomisedResponse
from privacygauge.core.game import Attack, play
from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.evaluation import best_accuracy, evaluate
from privacygauge.evaluate.rate_at_fpr import tprs_at_fprs
from privacygauge.evaluate.roc import auc, roc
from tests.laws.catalogue import ON_SHADOW, deal, label
from tests.laws.numbers import of_play

ALMOST_SURELY = 1 - 1e-5


@pytest.mark.parametrize("effect", [0.5, 1.5])
def test_the_signal_itself_has_the_answers_of_theory(effect: float) -> None:
    game = GaussianGame(100_000, effect)
    dealt = game.deal(1, np.random.default_rng(0))[0]
    transcript = Transcript(dealt.observation.signals[SIGNAL], dealt.secret)
    curve = roc(transcript)
    guesses = Cut(effect / 2).decide(transcript)
    found = [
        (auc(transcript, ALMOST_SURELY), game.auc(), 0.01),
        (balanced_accuracy(guesses, ALMOST_SURELY), game.accuracy(), 0.01),
        (best_accuracy(curve, ALMOST_SURELY), game.accuracy(), 0.02),
        *(
            (rate.estimate, game.tpr(rate.fpr), 0.04)
            for rate in tprs_at_fprs(curve, level=ALMOST_SURELY)
        ),
    ]
    for estimate, truth, width in found:
        assert not estimate.excludes(truth)
        assert max(estimate.high - truth, truth - estimate.low) < width


@pytest.mark.parametrize("attack", ON_SHADOW, ids=label)
@pytest.mark.parametrize("effect", [0.5, 1.5])
def test_an_attack_that_learns_comes_near_the_best_there_is(attack: Attack, effect: float) -> None:
    rng = np.random.default_rng(0)
    dealt = deal(20_000, rng, effect=effect, n_shadow=20_000, n_classes=2)
    played = of_play(play(attack, [dealt], [rng]))
    found = evaluate("a", played.transcript, played.decisions, ALMOST_SURELY)
    game = GaussianGame(2, effect)
    # Five bins cost the histogram some of it.
    lost = 0.06 if attack == RiskScore(SIGNAL, Histogram()) else 0.015
    assert game.auc() - lost < found.auc.value < game.auc() + 0.015
    assert game.accuracy() - lost < found.accuracy.value < game.accuracy() + 0.015


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_randomised_response_is_right_as_often_as_it_says(epsilon: float) -> None:
    game = RandomisedResponse(100_000, epsilon)
    dealt = game.deal(1, np.random.default_rng(0))[0]
    transcript = Transcript(dealt.observation.signals[SIGNAL], dealt.secret)
    assert not auc(transcript, ALMOST_SURELY).excludes(game.auc())
    guesses = Cut(1.0).decide(transcript)
    assert not balanced_accuracy(guesses, ALMOST_SURELY).excludes(game.truth)
