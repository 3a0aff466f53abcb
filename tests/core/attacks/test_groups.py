from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.core.attacks import groups as groups_of
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.groups import average, score_by_ranking, total, world_groups
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.rmia import RmiaOnline
from privacygauge.core.checks import frozen
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import OffsetGame
from privacygauge.core.game import Attack, Observation, Scores
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.rules import best_threshold
from privacygauge.errors import InputError
from tests.laws import naive
from tests.laws.catalogue import ON_WORLDS, label
from tests.laws.draws import SEEDS, worlds
from tests.thorough import crossed, quarter

ANY = np.random.default_rng(0)

every_attack = pytest.mark.parametrize("attack", ON_WORLDS, ids=label)


def seen(shown: Worlds) -> Observation:
    return Observation({}, np.zeros(len(shown.signal)), worlds=shown)


@given(worlds())
def test_groups_hold_counts_means_and_squares(shown: Worlds) -> None:
    found = world_groups(shown)
    queries = shown.signal.shape[1] if shown.signal.ndim == 2 else 1
    for q in range(queries):
        _, both = naive.sides(shown, q)
        means = naive.filled(both, naive.mean)
        for group, lists, mean in zip(found, both, means, strict=True):
            assert group.count[:, 0].tolist() == [len(v) for v in lists]
            np.testing.assert_allclose(group.mean[:, q], mean, rtol=1e-12, atol=1e-12)
            squares = [naive.squares(v) for v in lists]
            np.testing.assert_allclose(group.squares[:, q], squares, rtol=1e-10, atol=1e-12)
            assert group.variance[q] == pytest.approx(naive.pooled(lists), rel=1e-10)


@given(SEEDS)
def test_sums_over_records_are_the_same_in_any_order_to_the_last_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(50, 2)) * 10.0 ** rng.integers(-8, 8, (50, 2))
    moved = rng.permutation(values)
    assert total(values).tolist() == total(moved).tolist()
    assert average(values).tolist() == average(moved).tolist()
    assert average(np.full((7, 1), 0.1)).tolist() == [0.1]


@every_attack
@given(worlds())
def test_every_score_is_finite_or_skipped_for_a_reason(attack: Attack, shown: Worlds) -> None:
    result = attack.score(seen(shown), ANY)
    if isinstance(result, Skipped):
        assert result.name == attack.name
    else:
        assert result.value.shape == (len(shown.signal),)


@every_attack
@pytest.mark.parametrize(("k", "other"), crossed([2, 4, 9], [0.1, 0.3]))
def test_constant_signals_give_equal_scores(attack: Attack, k: int, other: float) -> None:
    # The worlds' constant need not be the target's; neither sums to a round number.
    rng = np.random.default_rng(0)
    shown = Worlds(np.full(200, 0.1), np.full((k, 200), other), coin_flips(k, 200, rng))
    result = attack.score(seen(shown), ANY)
    assert isinstance(result, Scores)
    assert len(np.unique(result.value)) == 1


@every_attack
def test_the_threshold_is_the_best_on_worlds_played_as_targets(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    inside = coin_flips(11, 30, rng)
    shown = Worlds(rng.normal(size=30), rng.normal(size=(11, 30)) + 2 * inside, inside)
    result = attack.score(seen(shown), ANY)
    assert isinstance(result, Scores)
    played = [attack.score(seen(shown.without(j)), ANY) for j in range(8)]
    score = np.concatenate([p.value for p in played])
    bits = inside[:8].ravel()
    assert result.rule.threshold == best_threshold(score[bits], score[~bits])
    assert result.rule.origin == "learnt on shadow models played as targets"


def test_without_members_among_the_worlds_the_cut_is_the_natural_one() -> None:
    rng = np.random.default_rng(0)
    shown = Worlds(rng.normal(size=500), rng.normal(size=(6, 500)), np.zeros((6, 500), bool))
    shares = {}
    for attack in ON_WORLDS:
        result = attack.score(seen(shown), ANY)
        if isinstance(result, Skipped):
            assert result.reason == "no target has a world that was trained with it"
            continue
        assert result.rule.origin == "natural: no shadow model could be played as the target"
        shares[attack.name, attack.variant] = (result.value >= result.rule.threshold).mean()
    # A non-member's median, and its deviation either way, widened by the error of six worlds.
    assert shares["lira-offline", "one-sided, auto"] == pytest.approx(0.5, abs=0.1)
    assert shares["lira-offline", "two-sided, auto"] == pytest.approx(0.36, abs=0.1)
    assert shares["calibrated", "offline"] == pytest.approx(0.5, abs=0.1)
    assert len(shares) == 7


@every_attack
def test_a_reason_is_given_without_worlds_or_without_one_side_of_them(attack: Attack) -> None:
    bare = attack.score(Observation({}, np.zeros(3)), ANY)
    reason = "needs worlds: the adversary's own models, with and without targets"
    assert bare == Skipped(attack.name, reason)
    shown = Worlds(np.zeros(3), np.zeros((4, 3)), np.ones((4, 3), bool))
    reason = "no target has a world that was trained without it"
    assert attack.score(seen(shown), ANY) == Skipped(attack.name, reason)
    none = Worlds(np.zeros(3), np.zeros((0, 3)), np.ones((0, 3), bool))
    assert attack.score(seen(none), ANY) == Skipped(attack.name, reason)


def test_worlds_must_be_of_the_targets() -> None:
    shown = Worlds(np.zeros(3), np.zeros((4, 3)), np.ones((4, 3), bool))
    with pytest.raises(InputError, match="worlds must be of the 2 targets, got 3"):
        CalibratedOnline().score(Observation({}, np.zeros(2), worlds=shown), ANY)


def test_a_threshold_is_learnt_when_it_is_asked_for() -> None:
    dealt = OffsetGame(50, 1.0, n_worlds=4).deal(1, np.random.default_rng(0))[0]
    asked = []

    def counted(worlds: Worlds) -> np.ndarray:
        asked.append(len(worlds))
        return worlds.signal

    rule = score_by_ranking("counted", dealt.observation, counted).rule
    assert asked == [4]
    assert rule == score_by_ranking("counted", dealt.observation, counted).rule
    assert asked == [4, 4, *[3] * 8]
    assert rule.threshold == rule.cut.threshold
    assert rule != 3.0
    assert len(asked) == 10


@every_attack
@given(shown=worlds(smallest=2), length=st.integers(1, 60))
@settings(max_examples=quarter(24))
def test_blocks_of_any_size_give_the_same_bytes(attack: Attack, shown: Worlds, length: int) -> None:

    def bytes_of(block: int) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(groups_of, "BLOCK", block)
            found = attack.score(seen(shown), ANY)
            if isinstance(found, Skipped):
                return found
            return found.value.tobytes(), np.float64(found.rule.threshold).tobytes()

    assert bytes_of(length) == bytes_of(1 << 40)


@pytest.mark.slow
def test_a_world_that_is_left_out_is_not_copied_as_a_whole() -> None:
    rng = np.random.default_rng(0)
    k = 128
    n = 200
    signal = frozen(rng.normal(size=(k + 1, n)))
    observation = seen(Worlds(signal[0], signal[1:], coin_flips(k, n, rng)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups_of, "BLOCK", 1 << 11)
        tracemalloc.start()
        for attack in (LiraOnline(), RmiaOnline(), CalibratedOnline(), Bavaria()):
            assert attack.score(observation, rng).rule.threshold is not None
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < signal.nbytes
