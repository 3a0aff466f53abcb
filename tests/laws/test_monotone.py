"""A strictly rising map changes no ranking, and no guess of an attack that ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOffline, CalibratedOnline
from privacygauge.core.attacks.lira import (
    LiraOffline,
    LiraOnline,
    PerRecordVariance,
    PooledVariance,
)
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.exact import SIGNAL
from privacygauge.core.game import Attack, Observation, play
from privacygauge.core.release import Worlds
from privacygauge.core.rules import Split
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.epsilon import audit_epsilon
from privacygauge.evaluate.evaluation import best_accuracy
from privacygauge.evaluate.rate_at_fpr import tprs_at_fprs
from privacygauge.evaluate.roc import auc, roc
from tests.laws.catalogue import deal, label, mapped
from tests.laws.draws import SEEDS, transcripts
from tests.laws.numbers import numbers, of_play, of_scores
from tests.thorough import times


def rising(values: np.ndarray, rng: np.random.Generator):
    """Return a random strictly rising function of the distinct `values`."""
    known = np.unique(values)
    images = -np.cumsum(rng.exponential(size=len(known)) + 1e-3)[::-1]
    return lambda x: images[np.searchsorted(known, x)]


@given(transcripts(), SEEDS)
def test_no_number_about_the_ranking_changes(transcript: Transcript, seed: int) -> None:
    change = rising(transcript.score, np.random.default_rng(seed))
    other = Transcript(change(transcript.score), transcript.secret, transcript.target)
    for number in (auc, lambda t: tprs_at_fprs(roc(t)), lambda t: best_accuracy(roc(t))):
        assert numbers(number(transcript)) == numbers(number(other))


@given(SEEDS)
@settings(max_examples=times(30))
def test_a_cross_fitted_guess_and_the_audited_epsilon_do_not_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    secret = rng.permutation(50) < 20
    transcript = Transcript(np.round(rng.normal(size=50) + 2 * secret, 1), secret)
    other = Transcript(rising(transcript.score, rng)(transcript.score), secret)
    assert Split().decide(transcript).guess.tolist() == Split().decide(other).guess.tolist()
    assert audit_epsilon([transcript]) == audit_epsilon([other])


@pytest.mark.parametrize("per_class", [True, False])
@given(seed=SEEDS)
@settings(max_examples=times(30))
def test_the_guesses_of_a_threshold_do_not_change(per_class: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dealt = mapped(deal(40, rng, effect=1.0, n_shadow=60), lambda x: np.round(x, 1))
    seen = dealt.observation
    assert seen.shadow is not None
    both = np.concatenate([seen.signals[SIGNAL], seen.shadow.signals[SIGNAL]])
    one, other = (
        of_play(play(Threshold(SIGNAL, per_class), [d], [rng])).decisions.guess.tolist()
        for d in (dealt, mapped(dealt, rising(both, rng)))
    )
    assert one == other


# Not RMIA, which takes the signal for the logit of a probability, nor the two-sided density,
# whose unit is that of the signal.
@pytest.mark.parametrize(
    "attack",
    [
        LiraOnline(PooledVariance()),
        LiraOnline(PerRecordVariance()),
        LiraOffline(),
        CalibratedOnline(),
        CalibratedOffline(),
        Bavaria(),
    ],
    ids=label,
)
@given(seed=SEEDS)
@settings(max_examples=times(30))
def test_another_unit_and_origin_of_the_worlds_signal_change_no_score(
    attack: Attack, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    worlds = deal(40, rng, effect=1.0).observation.worlds
    assert worlds is not None
    unit = np.exp(2 * rng.normal())
    origin = 10 * rng.normal()
    moved = Worlds(origin + unit * worlds.signal, origin + unit * worlds.worlds, worlds.inside)
    one, other = (
        of_scores(attack.score(Observation({}, np.zeros(40), worlds=w), rng)).value
        for w in (worlds, moved)
    )
    if attack.name == "calibrated":
        # A difference of signals: in their unit.
        other = other / unit
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
