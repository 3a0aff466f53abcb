"""Nothing is remembered, and nothing that was given is changed."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.game import Attack, play
from privacygauge.evaluate.epsilon import audit_epsilon
from privacygauge.evaluate.evaluation import evaluate
from privacygauge.evaluate.slices import find_slices
from tests.laws.catalogue import ATTACKS, deal, label
from tests.laws.numbers import numbers, of_play, of_scores


def all_arrays(value: object) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if hasattr(value, "items"):
        return [a for item in value.values() for a in all_arrays(item)]
    return [a for part in getattr(value, "__dict__", {}).values() for a in all_arrays(part)]


@pytest.mark.parametrize("attack", ATTACKS, ids=label)
def test_scoring_twice_is_equal_and_other_work_in_between_changes_nothing(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    dealt = deal(50, rng, effect=1.0)
    other = deal(30, rng, n_classes=7)
    first = of_scores(attack.score(dealt.observation, np.random.default_rng(1)))
    attack.score(other.observation, np.random.default_rng(2))
    again = of_scores(attack.score(dealt.observation, np.random.default_rng(1)))
    assert first.value.tolist() == again.value.tolist()
    assert (first.rule, first.notes) == (again.rule, again.notes)


@pytest.mark.parametrize("attack", ATTACKS, ids=label)
def test_what_is_observed_is_read_only_and_left_alone(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    dealt = deal(50, rng, effect=1.0)
    arrays = all_arrays(dealt)
    assert len(arrays) == 12
    assert not any(a.flags.writeable for a in arrays)
    before = [a.copy() for a in arrays]
    played = of_play(play(attack, [dealt], [rng]))
    evaluate(attack.name, played.transcript, played.decisions)
    for a, b in zip(arrays, before, strict=True):
        assert a.tolist() == b.tolist()
    assert not any(a.flags.writeable for a in all_arrays(played))


def test_evaluating_twice_is_equal() -> None:
    played = of_play(play(ATTACKS[0], [deal(200, np.random.default_rng(0), effect=1.0)], [None]))
    guesses = played.decisions
    columns = {"half": np.arange(200) % 2}
    for work in (
        lambda: evaluate("a", played.transcript, guesses),
        lambda: audit_epsilon([played.transcript]),
        lambda: find_slices(guesses, columns, "a"),
    ):
        assert numbers(work()) == numbers(work())


@pytest.mark.parametrize("attack", ATTACKS, ids=label)
def test_an_attack_is_a_frozen_value(attack: Attack) -> None:
    assert hash(attack) == hash(attack)
    with pytest.raises(AttributeError):
        attack.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("attack", ATTACKS, ids=label)
def test_the_global_generator_is_neither_used_nor_moved(attack: Attack) -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    dealt = deal(50, np.random.default_rng(0))
    attack.score(dealt.observation, np.random.default_rng(1))
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
