import numpy as np
import pytest

from privacygauge.claims.defences.judging import METRIC_ATTACKS, risk_by_epoch
from privacygauge.classifiers.suite import METRICS
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from tests.classifiers.made import made_up

LEAKS = {1: 0.0, 3: 1.0, 4: 6.0}
"""How much surer of members a model is after these epochs."""


@pytest.fixture(scope="module")
def curve():
    target, shadow = (
        {epoch: made_up(leak=leak, seed=seed) for epoch, leak in LEAKS.items()} for seed in (1, 2)
    )
    return risk_by_epoch(target, shadow)


def test_every_epoch_has_its_accuracy_and_every_attack(curve):
    assert [point.epoch for point in curve.points] == list(LEAKS)
    for point in curve.points:
        assert [attack.name for attack in point.attacks] == list(METRICS)
        predicted = made_up(leak=LEAKS[point.epoch], seed=1)
        right = predicted.values.argmax(axis=1) == predicted.labels
        assert point.train_accuracy.value == right[predicted.member].mean()
        assert point.test_accuracy.value == right[~predicted.member].mean()


def test_risk_rises_with_what_members_give_away(curve):
    low, middle, high = (point.highest for point in curve.points)
    assert not low.excludes(0.5)
    assert middle.low > 0.5
    assert high.low > middle.value


def test_the_attacker_learns_at_the_same_epoch():
    """Shadow thresholds of another epoch would miss all of these members."""
    target = {1: made_up(leak=0.5, seed=1), 2: made_up(leak=9.0, seed=1)}
    shadow = {1: made_up(leak=0.5, seed=2), 2: made_up(leak=9.0, seed=2)}
    attack = (Threshold("confidence", per_class=False),)
    both = risk_by_epoch(target, shadow, attacks=attack)
    alone = risk_by_epoch({1: target[1]}, {1: shadow[1]}, attacks=attack)
    assert both.at(1).attacks[0].accuracy == alone.at(1).attacks[0].accuracy
    crossed = risk_by_epoch({1: target[1]}, {1: shadow[2]}, attacks=attack)
    assert crossed.at(1).attacks[0].accuracy.value < both.at(1).attacks[0].accuracy.value


def test_the_best_attack_is_corrected_for_the_choice(curve):
    for point in curve.points:
        best = max(attack.accuracy.value for attack in point.attacks)
        assert point.highest.value <= best
        assert "simultaneous" in point.highest.method


def test_points_are_found_by_accuracy(curve):
    reached = [point.test_accuracy.value for point in curve.points]
    assert len(set(reached)) == 1  # a leak to members moves no other record
    assert curve.nearest(reached[0]) is curve.points[0]
    assert curve.first(reached[0]) is curve.points[0]
    assert isinstance(curve.first(reached[0] + 1e-9), Skipped)
    assert isinstance(curve.nearest(1.0), Skipped)


def test_lines_and_frame_hold_every_epoch_and_attack(curve):
    lines = curve.lines()
    assert len(lines) == len(LEAKS) * len(METRICS)
    assert len(curve.to_frame()) == len(lines)
    first = curve.points[0].attacks[0].accuracy
    assert (lines[0]["accuracy"], lines[0]["low"], lines[0]["n"]) == (
        first.value,
        first.low,
        first.n,
    )


def test_errors_say_the_rule_and_the_value(curve):
    one = {1: made_up()}
    with pytest.raises(InputError, match="must have the same epochs, at least one, got 1 and 2"):
        risk_by_epoch(one, {2: made_up(seed=1)})
    with pytest.raises(InputError, match="at least one, got none and none"):
        risk_by_epoch({}, {})
    with pytest.raises(InputError, match=r"a recorded one \(1, 3, 4\), got 2"):
        curve.at(2)
    with pytest.raises(InputError, match="no attack could be played"):
        risk_by_epoch(one, one, attacks=(Threshold("nothing"),))


def test_the_default_attacks_have_a_threshold_for_each_class():
    assert {attack.thresholds for attack in METRIC_ATTACKS} == {"per-class"}


def test_numbers_are_finite(curve):
    assert all(np.isfinite(line["auc"]) for line in curve.lines())
