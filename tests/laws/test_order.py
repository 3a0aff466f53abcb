"""The order of rows carries nothing, ties included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from leakscope.core.game import Attack, Observation, Round, play
from leakscope.evaluate.evaluation import evaluate
from tests.laws.catalogue import LEARNT, deal, label, mapped
from tests.laws.draws import SEEDS
from tests.laws.numbers import numbers, of_play

every_attack = pytest.mark.parametrize("attack", LEARNT, ids=label)


def with_ties(rng: np.random.Generator) -> Round:
    return mapped(deal(40, rng, effect=1.0, n_shadow=60), lambda x: np.round(x, 1) - 1e-3)


@every_attack
@given(seed=SEEDS)
@settings(max_examples=15)
def test_shuffled_targets_shuffle_scores_and_guesses_and_change_no_number(
    attack: Attack, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    dealt = with_ties(rng)
    rows, seen = rng.permutation(40), dealt.observation
    moved = Observation(
        {name: x[rows] for name, x in seen.signals.items()}, seen.stratum[rows], seen.shadow
    )
    one = of_play(play(attack, [dealt], [rng]))
    other = of_play(play(attack, [Round(moved, dealt.secret[rows], dealt.target[rows])], [rng]))
    assert one.transcript.score[rows].tolist() == other.transcript.score.tolist()
    assert one.decisions.guess[rows].tolist() == other.decisions.guess.tolist()
    before, after = (evaluate("a", p.transcript, p.decisions) for p in (one, other))
    assert numbers(before) == numbers(after)


@every_attack
@given(seed=SEEDS)
@settings(max_examples=15)
def test_shuffled_shadow_records_change_nothing(attack: Attack, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dealt = with_ties(rng)
    shadow, rows = dealt.observation.shadow, rng.permutation(60)
    assert shadow is not None
    moved = replace(
        shadow,
        signals={name: x[rows] for name, x in shadow.signals.items()},
        member=shadow.member[rows],
        stratum=shadow.stratum[rows],
    )
    other = replace(dealt, observation=replace(dealt.observation, shadow=moved))
    one, two = (of_play(play(attack, [d], [rng])) for d in (dealt, other))
    assert one.transcript.score.tolist() == two.transcript.score.tolist()
    assert one.decisions.guess.tolist() == two.decisions.guess.tolist()
