"""The white-box game and the attack on gradients, on made-up signals: no torch."""

import numpy as np
import pytest

from privacygauge.classifiers.neural import Network
from privacygauge.classifiers.white_box import (
    GRADIENT_NORM,
    PARTS,
    WhiteBox,
    WhiteBoxGame,
    WhiteBoxObservation,
    WhiteBoxSide,
    WhiteBoxSignals,
    white_box_attacks,
)
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.playing import audit
from tests.classifiers.made import logits_labels_member, made_pool_game, observed
from tests.thorough import times

TINY = Network(hidden=8, epochs=15, learning_rate=0.03)


def made_side(n=400, *, hidden=0.0, leak=0.0, layers=2, seed=0):
    """Return signals whose gradients tell members by `hidden`, and whose answers by `leak`."""
    logits, labels, member = logits_labels_member(n, 4, leak, seed)
    rng = np.random.default_rng([seed, 1])
    norms = np.exp(rng.normal(size=(n, layers)) - hidden * member[:, None])
    signals = WhiteBoxSignals(
        tuple("ab"[:layers]), norms, logits, labels, rng.normal(size=(n, 3)), "loop"
    )
    return WhiteBoxSide(signals, member)


def dealt(side, shadow=None, seed=0):
    return WhiteBoxGame(side, shadow).deal(1, np.random.default_rng(seed))


def accuracy(attack, rounds):
    (found,) = audit(rounds, [attack], seed=0)
    assert not isinstance(found, Skipped)
    return found[1].accuracy


def test_gradients_tell_what_predictions_do_not():
    shadow = made_side(hidden=2.0, seed=1)
    for rounds in (dealt(made_side(hidden=2.0)), dealt(made_side(hidden=2.0), shadow)):
        assert accuracy(WhiteBox(network=TINY), rounds).low > 0.75
        assert accuracy(Threshold(GRADIENT_NORM, per_class=False), rounds).low > 0.75
        assert not accuracy(Threshold("confidence", per_class=False), rounds).excludes(0.5)
        # The same network without what the weights show.
        blind = WhiteBox(("slopes", "loss", "label"), TINY)
        assert not accuracy(blind, rounds).excludes(0.5)


@pytest.mark.slow
def test_signals_that_know_nothing_give_a_coin_flip():
    """The mean of games of 200 rows is within four standard errors of one half."""
    values = [
        accuracy(WhiteBox(PARTS, TINY), dealt(made_side(200, seed=seed), seed=seed)).value
        for seed in range(times(8))
    ]
    assert abs(np.mean(values) - 0.5) < 4 * 0.5 / np.sqrt(times(8) * 200)


def test_each_part_is_judged_by_an_adversary_who_learnt_on_the_two_before():
    side = made_side(60, leak=1.0)
    rounds = dealt(side)
    rows = np.sort(np.concatenate([one.target for one in rounds]))
    np.testing.assert_array_equal(rows, np.arange(60))
    for j, judged in enumerate(rounds):
        learnt = np.sort(np.concatenate([rounds[j - 2].target, rounds[j - 1].target]))
        seen = judged.observation
        assert isinstance(seen, WhiteBoxObservation)
        np.testing.assert_array_equal(seen.white_box.norms, side.signals.norms[judged.target])
        np.testing.assert_array_equal(seen.shadow_white_box.norms, side.signals.norms[learnt])
        np.testing.assert_array_equal(seen.shadow.member, side.member[learnt])
        np.testing.assert_array_equal(seen.signals[GRADIENT_NORM], -seen.white_box.norm)
        assert seen.shadow_white_box[np.array([0])].norms.shape == (1, 2)


def test_scoring_twice_is_equal_and_other_targets_change_nothing():
    (one,) = dealt(made_side(), made_side(seed=1))
    attack = WhiteBox(network=TINY)
    first, again = (attack.score(one.observation, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.value, again.value)
    part = WhiteBoxSide(made_side().signals[np.arange(100)], made_side().member[:100])
    (fewer,) = dealt(part, made_side(seed=1))
    alone = attack.score(fewer.observation, np.random.default_rng(3))
    np.testing.assert_allclose(alone.value, first.value[:100], rtol=1e-5, atol=1e-5)


def test_the_units_of_a_gradient_do_not_matter():
    """Logarithms are standardised on what is learnt from: a factor goes away."""

    def scaled(side):
        s = side.signals
        many = WhiteBoxSignals(s.layers, 1000 * s.norms, s.logits, s.labels, s.hidden, s.engine)
        return WhiteBoxSide(many, side.member)

    pair = made_side(hidden=1.0), made_side(hidden=1.0, seed=1)
    plain, larger = (
        WhiteBox(network=TINY).score(dealt(*sides)[0].observation, np.random.default_rng(0)).value
        for sides in (pair, tuple(scaled(side) for side in pair))
    )
    np.testing.assert_allclose(larger, plain, rtol=1e-3, atol=1e-3)


def test_who_sees_predictions_only_is_skipped():
    outside = observed(made_pool_game())
    found = WhiteBox().score(outside, np.random.default_rng(0))
    assert found == Skipped(
        "white-box", "needs the model's gradients: audit it with audit_white_box"
    )
    (one,) = dealt(made_side(), made_side(seed=1))
    seen = one.observation
    bare = WhiteBoxObservation(seen.signals, seen.stratum)
    assert isinstance(WhiteBox().score(bare, np.random.default_rng(0)), Skipped)


def test_the_suite_has_attacks_from_inside_beside_those_from_outside():
    titles = [(attack.name, attack.variant, attack.thresholds) for attack in white_box_attacks()]
    assert len(set(titles)) == len(titles)
    names = {name for name, _, _ in titles}
    assert {"white-box", "gradient-norm", "modified-entropy", "neural-nasr", "learned"} <= names
    assert WhiteBox(("gradients",)).variant == "gradients"
    assert WhiteBox(PARTS).variant.endswith("activations")


def test_what_is_wrong_is_said_in_a_line():
    with pytest.raises(InputError, match="parts must be some of gradients, slopes"):
        WhiteBox(("norms",))
    with pytest.raises(InputError, match="each once"):
        WhiteBox(("loss", "loss"))
    with pytest.raises(InputError, match="train it with the same architecture"):
        WhiteBoxGame(made_side(), made_side(layers=1))
    with pytest.raises(InputError, match="norms must have 3 rows"):
        WhiteBoxSignals(
            ("a",), np.ones((2, 1)), np.ones((3, 2)), np.zeros(3, int), np.ones((3, 0)), "loop"
        )
