"""The order of rows carries nothing, ties included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from privacygauge.core.game import Attack, Observation, Round, play
from privacygauge.core.release import Worlds
from privacygauge.evaluate.evaluation import evaluate
from tests.laws.catalogue import LEARNT, ON_WORLDS, deal, label, mapped
from tests.laws.draws import SEEDS
from tests.laws.numbers import numbers, of_play, of_scores
from tests.thorough import times

every_attack = pytest.mark.parametrize("attack", LEARNT, ids=label)


def with_ties(rng: np.random.Generator) -> Round:
    dealt = mapped(deal(40, rng, effect=1.0, n_shadow=60), lambda x: np.round(x, 1) - 1e-3)
    worlds = dealt.observation.worlds
    assert worlds is not None
    rounded = replace(worlds, signal=np.round(worlds.signal), worlds=np.round(worlds.worlds))
    return replace(dealt, observation=replace(dealt.observation, worlds=rounded))


@every_attack
@given(seed=SEEDS)
@settings(max_examples=times(15))
def test_shuffled_targets_shuffle_scores_and_guesses_and_change_no_number(
    attack: Attack, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    dealt = with_ties(rng)
    rows = rng.permutation(40)
    seen = dealt.observation
    assert seen.worlds is not None
    moved = Observation(
        {name: x[rows] for name, x in seen.signals.items()},
        seen.stratum[rows],
        seen.shadow,
        Worlds(seen.worlds.signal[rows], seen.worlds.worlds[:, rows], seen.worlds.inside[:, rows]),
    )
    one = of_play(play(attack, [dealt], [rng]))
    other = of_play(play(attack, [Round(moved, dealt.secret[rows], dealt.target[rows])], [rng]))
    assert one.transcript.score[rows].tolist() == other.transcript.score.tolist()
    assert one.decisions.guess[rows].tolist() == other.decisions.guess.tolist()
    before, after = (evaluate("a", p.transcript, p.decisions) for p in (one, other))
    assert numbers(before) == numbers(after)


@every_attack
@given(seed=SEEDS)
@settings(max_examples=times(15))
def test_shuffled_shadow_records_change_nothing(attack: Attack, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dealt = with_ties(rng)
    shadow = dealt.observation.shadow
    rows = rng.permutation(60)
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


@pytest.mark.parametrize("attack", ON_WORLDS, ids=label)
@given(seed=SEEDS)
@settings(max_examples=times(15))
def test_shuffled_worlds_change_no_score_but_by_rounding(attack: Attack, seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = deal(40, rng, effect=1.0).observation
    assert seen.worlds is not None
    order = rng.permutation(len(seen.worlds))
    worlds = Worlds(seen.worlds.signal, seen.worlds.worlds[order], seen.worlds.inside[order])
    one, two = (of_scores(attack.score(o, rng)) for o in (seen, replace(seen, worlds=worlds)))
    np.testing.assert_allclose(one.value, two.value, rtol=1e-9, atol=1e-9)
