"""Audits of defences: what is beside what, and the laws of the whole."""

import numpy as np
import pytest

from privacygauge.claims.defence_audit.audit import audit_defences, audit_defended
from privacygauge.claims.defences.defence import (
    Identity,
    LabelOnly,
    Rounding,
    Temperature,
    defend_predictions,
)
from privacygauge.claims.defences.memguard import MemGuard, NeuralJia
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.errors import InputError
from tests.claims.defences.catalogue import TINY
from tests.classifiers.made import made_up
from tests.thorough import times

METRICS = tuple(Threshold(x) for x in ("correctness", "confidence", "entropy", "modified-entropy"))
TARGET = made_up(n=400, leak=2.0)
SHADOW = made_up(n=400, leak=2.0, seed=1)


@pytest.fixture(scope="module")
def found():
    defences = [Identity(), LabelOnly(), Temperature(3.0), MemGuard(network=TINY, steps=30)]
    return audit_defences(TARGET, SHADOW, defences, attacks=[*METRICS, NeuralJia(TINY)])


def of(found, name):
    return next(judged for judged in found.defences if judged.name == name)


def accuracies(judged, attack):
    one = next(x for x in judged.attacks if x.adaptive.name == attack)
    return [e.accuracy.value for e in (one.undefended, one.non_adaptive, one.adaptive)]


def cost(judged, start):
    return next(fact.estimate for fact in judged.costs if fact.label.startswith(start))


@pytest.mark.slow
def test_without_a_defence_all_three_games_are_one(found):
    judged = of(found, "none")
    for attacked in judged.attacks:
        values = accuracies(judged, attacked.adaptive.name)
        assert values == [values[0]] * 3
        assert attacked.lost.value == 0
    assert judged.headline.accuracy == found.undefended.accuracy
    assert judged.distance.value == 0
    assert cost(judged, "share of answers").value == 0
    assert all(q.undefended == q.defended for q in judged.quantiles)
    assert all(record.undefended == record.defended for record in judged.worst)


@pytest.mark.parametrize("name", ["none", "label-only", "temperature", "memguard"])
def test_what_keeps_the_class_leaves_accuracy_and_the_attack_on_it(found, name):
    judged = of(found, name)
    values = accuracies(judged, "correctness")
    assert values == [values[0]] * 3
    assert cost(judged, "share of records whose predicted class changed").value == 0
    for side in ("members", "non-members"):
        before, after = (cost(judged, f"accuracy on {side} {x}") for x in ("without", "with"))
        assert before == after


def test_labels_alone_leave_what_correctness_tells(found):
    judged = of(found, "label-only")
    known = accuracies(judged, "correctness")[0]
    assert accuracies(judged, "confidence")[2] == known
    assert accuracies(judged, "entropy") == [accuracies(judged, "entropy")[0], 0.5, 0.5]


def test_a_prepared_adversary_sees_through_a_temperature(found):
    undefended, surprised, prepared = accuracies(of(found, "temperature"), "confidence")
    assert surprised < undefended - 0.1
    assert prepared > undefended - 0.02


def test_the_worst_records_are_the_riskiest_left(found):
    for judged in found.defences:
        left = [record.defended for record in judged.worst]
        assert left == sorted(left, reverse=True)
        assert left[0] >= judged.quantiles[-1].defended.value


def test_a_line_for_every_defence_attack_and_adversary(found):
    frame = found.to_frame()
    assert len(frame) == 4 * 5 * 3
    assert frame.groupby("adversary").size().to_dict() == {
        "adaptive": 20,
        "non-adaptive": 20,
        "undefended": 20,
    }
    assert (frame["accuracy_low"] <= frame["accuracy_high"]).all()


@pytest.mark.slow
def test_a_further_defence_changes_no_others_numbers(found):
    alone = audit_defences(
        TARGET, SHADOW, [MemGuard(network=TINY, steps=30)], attacks=METRICS, seed=0
    )
    for attack in ("confidence", "modified-entropy"):
        assert accuracies(alone.defences[0], attack) == accuracies(of(found, "memguard"), attack)


def test_answers_at_hand_are_judged_alike():
    rng = np.random.default_rng(0)
    given = [defend_predictions(Rounding(1), x, rng) for x in (TARGET, SHADOW)]
    one = audit_defended(TARGET, SHADOW, *given, name="rounding", attacks=METRICS)
    two = audit_defences(TARGET, SHADOW, [Rounding(1)], attacks=METRICS)
    for name in ("confidence", "entropy"):
        assert accuracies(one.defences[0], name) == accuracies(two.defences[0], name)
    assert [q.defended for q in one.defences[0].quantiles] == [
        q.defended for q in two.defences[0].quantiles
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: audit_defences(TARGET, SHADOW, []), "at least one defence is needed"),
        (
            lambda: audit_defences(TARGET, SHADOW, [Rounding(), Rounding(2)]),
            "two defences are called 'rounding",
        ),
        (
            lambda: audit_defences(TARGET, TARGET, [Rounding()]),
            "target and shadow hold the same predictions",
        ),
        (
            lambda: audit_defended(TARGET, SHADOW, SHADOW, SHADOW),
            "defended_target must be about the records of target",
        ),
        (
            lambda: audit_defences(TARGET, SHADOW, [Rounding()], attacks=[]),
            "no attack could be played",
        ),
    ],
)
def test_wrong_input_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(times(3)))
def test_a_model_that_tells_nothing_tells_nothing_defended(seed):
    """Five attacks on three games: intervals of 99.9% hold a half, were the records drawn again."""
    target = made_up(n=800, seed=10 + seed)
    shadow = made_up(n=800, seed=20 + seed)
    found = audit_defences(
        target,
        shadow,
        [MemGuard(network=TINY), Rounding(), LabelOnly()],
        attacks=[*METRICS, NeuralJia(TINY)],
        level=0.999,
    )
    for judged in found.defences:
        for attacked in judged.attacks:
            assert not attacked.adaptive.accuracy.excludes(0.5)
            assert not attacked.adaptive.auc.excludes(0.5)
