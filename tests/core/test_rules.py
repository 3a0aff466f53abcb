from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.rules import Cut, Split, best_threshold, halves
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from tests.laws.draws import SEEDS, few_values
from tests.thorough import times


def transcript_of(seed: int, *, repeated: bool = False) -> Transcript:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    secret = rng.permutation(np.arange(n) < rng.integers(2, n - 1))
    if not repeated:
        return Transcript(few_values(n, rng), secret, rng.permutation(10 * n)[:n])
    # Every target in both roles, in several rounds.
    target = np.tile(np.arange(n), 3)
    return Transcript(few_values(3 * n, rng), np.concatenate([secret, ~secret, secret]), target)


def test_a_cut_guesses_member_from_its_threshold_on() -> None:
    transcript = Transcript([0.1, 0.2, 0.3], [1, 0, 1], [7, 8, 9])
    result = Cut(0.2, "learnt elsewhere").decide(transcript)
    assert result.guess.tolist() == [False, True, True]
    assert result.secret.tolist() == [True, False, True]
    assert result.target.tolist() == [7, 8, 9]
    assert result.rule == "threshold learnt elsewhere"


def cut_of(score: Floats, secret: Bools, target: Ints) -> float:
    """Return the best threshold, or the most even one where chance explains its lead."""
    cut = best_threshold(score[secret], score[~secret])
    lead = np.mean(score[secret] >= cut) - np.mean(score[~secret] >= cut)
    n_in, n_out = (len(set(target[side].tolist())) for side in (secret, ~secret))
    if np.exp(-2 * lead**2 / (1 / n_in + 1 / n_out)) <= 0.05:
        return cut
    return min(sorted(set(score.tolist())), key=lambda x: abs(np.mean(score >= x) - 0.5))


@given(SEEDS, st.integers(0, 9), st.booleans(), st.floats(0, 40))
def test_a_split_guesses_by_the_other_part(
    seed: int, split: int, repeated: bool, apart: float
) -> None:
    t = transcript_of(seed, repeated=repeated)
    t = Transcript(t.score + np.where(t.secret, round(apart), 0.0), t.secret, t.target)
    first = halves(t.target, t.secret, 0.5, split)
    guess = Split(0.5, split).decide(t).guess
    for part in (first, ~first):
        cut = cut_of(t.score[~part], t.secret[~part], t.target[~part])
        assert (guess[part] == (t.score[part] >= cut)).all()


@given(SEEDS)
def test_a_rows_own_score_has_no_say_in_its_threshold(seed: int) -> None:
    t = transcript_of(seed)
    first = halves(t.target, t.secret)
    swapped = np.where(first, -t.score, t.score)
    before, after = (Split().decide(Transcript(s, t.secret, t.target)) for s in (t.score, swapped))
    cut = cut_of(t.score[~first], t.secret[~first], t.target[~first])
    assert (before.guess[first] == (t.score[first] >= cut)).all()
    assert (after.guess[first] == (-t.score[first] >= cut)).all()


def test_on_noise_the_interval_of_a_split_is_above_chance_as_often_as_it_says() -> None:
    games = 6 * times(1000)
    above = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, 1])
        t = Transcript(rng.normal(size=400), np.arange(400) < 200)
        above += balanced_accuracy(Split(seed=seed).decide(t)).low > 0.5
    assert above <= binom.isf(0.001, games, 0.025)


@given(SEEDS, st.sampled_from([0.1, 0.5, 0.8]), st.booleans())
def test_parts_keep_targets_whole_and_hold_both_kinds(
    seed: int, share: float, repeated: bool
) -> None:
    t = transcript_of(seed, repeated=repeated)
    first = halves(t.target, t.secret, share)
    for target in np.unique(t.target):
        assert len(set(first[t.target == target].tolist())) == 1
    for part in (first, ~first):
        assert t.secret[part].any()
        assert not t.secret[part].all()
    for side in (t.secret, ~t.secret):
        if not repeated:
            n = np.count_nonzero(side)
            assert abs(np.count_nonzero(first & side) - share * n) <= max(1, 0.5)


@given(SEEDS, st.sampled_from([0.2, 0.5, 0.8]))
def test_targets_that_are_mostly_members_are_split_apart_from_the_others(
    seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    target = rng.integers(rng.integers(2, 9), size=40)
    secret = rng.random(40) < 0.4
    first = halves(target, secret, share, 1)
    mostly_in = {t: 2 * secret[target == t].sum() > (target == t).sum() for t in set(target)}
    for kind in (True, False):
        group = [t for t, mostly in mostly_in.items() if mostly == kind]
        chosen = sum(bool(first[target == t][0]) for t in group)
        # Where there are two or more, each part gets one of them at least.
        wanted = min(max(round(share * len(group)), 1), len(group) - 1) if len(group) > 1 else None
        assert wanted is None or chosen == wanted
        assert len(group) != 1 or chosen == 0


@given(SEEDS, SEEDS)
def test_the_order_of_the_rows_moves_nobody(seed: int, order: int) -> None:
    t = transcript_of(seed, repeated=True)
    rows = np.random.default_rng(order).permutation(len(t))
    assert (halves(t.target, t.secret)[rows] == halves(t.target[rows], t.secret[rows])).all()


def test_the_seed_decides_who_is_where_and_all_are_as_likely() -> None:
    target = np.arange(20)
    secret = np.arange(20) < 10
    parts = np.array([halves(target, secret, 0.5, seed) for seed in range(400)])
    assert (parts.sum(axis=1) == 10).all()
    assert abs(parts.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(400)
    assert (halves(target, secret, 0.5, 3) == parts[3]).all()


def test_on_noise_a_split_guesses_at_chance() -> None:
    # The best threshold in hindsight would be right in 56% here.
    rng = np.random.default_rng(0)
    right = []
    for _ in range(300):
        t = Transcript(rng.normal(size=100), rng.permutation(np.arange(100) < 50))
        guesses = Split().decide(t)
        right.append(np.mean(guesses.guess == guesses.secret))
    assert abs(np.mean(right) - 0.5) < 4.5 * np.std(right) / np.sqrt(300)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="threshold must be a number, got nan"):
        Cut(float("nan"))
    for share in (0.0, 1.0):
        with pytest.raises(InputError, match=r"share must be in \(0, 1\), got"):
            Split(share)
    with pytest.raises(InputError, match="seed must be an integer of at least 0, got -1"):
        Split(seed=-1)
    lonely = Transcript([1.0, 2.0, 3.0], [1, 0, 0])
    with pytest.raises(InputError, match="too few targets to split"):
        Split().decide(lonely)
