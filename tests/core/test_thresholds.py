from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.core.game import Shadow
from privacygauge.core.rules import best_threshold, learn_thresholds
from privacygauge.errors import InputError
from tests.laws.draws import SEEDS, shadows


def gain(members, nonmembers, threshold: float) -> int:
    """Return the balanced accuracy times 2 n_in n_out, a whole number."""
    kept = sum(1 for x in members if x >= threshold)
    rejected = sum(1 for x in nonmembers if x < threshold)
    return kept * len(nonmembers) + rejected * len(members)


def naive(members, nonmembers) -> float:
    best = -1
    chosen = 0.0
    for t in sorted({*members.tolist(), *nonmembers.tolist()}):
        if gain(members, nonmembers, t) >= best:
            best = gain(members, nonmembers, t)
            chosen = t
    return chosen


def published(members, nonmembers) -> float:
    """The authors' rule: floats, values as they come, the first strict improvement."""
    chosen = 0.0
    best = 0.0
    for t in np.concatenate([members, nonmembers]):
        accuracy = 0.5 * (np.mean(members >= t) + np.mean(nonmembers < t))
        if accuracy > best:
            chosen = t
            best = accuracy
    return chosen


@given(shadows())
def test_the_overall_threshold_is_the_largest_of_the_best_values_seen(shadow: Shadow) -> None:
    signal = shadow.signals["s"]
    member = shadow.member
    assert best_threshold(signal[member], signal[~member]) == naive(signal[member], signal[~member])


@given(shadows())
def test_every_class_has_its_own_best_threshold_or_the_overall_one(shadow: Shadow) -> None:
    signal = shadow.signals["s"]
    member = shadow.member
    stratum = shadow.stratum
    learnt = learn_thresholds(signal, member, stratum, 5)
    overall = naive(signal[member], signal[~member])
    assert learnt.overall == overall
    for c in range(5):
        inside = signal[member & (stratum == c)]
        outside = signal[~member & (stratum == c)]
        usable = len(inside) > 0 and len(outside) > 0
        assert learnt.by_class[c] == (naive(inside, outside) if usable else overall)
        assert (c in learnt.fell_back) == (not usable)


@given(shadows())
def test_it_is_as_accurate_on_the_shadow_records_as_the_published_rule(shadow: Shadow) -> None:
    members = shadow.signals["s"][shadow.member]
    nonmembers = shadow.signals["s"][~shadow.member]
    ours = best_threshold(members, nonmembers)
    theirs = published(members, nonmembers)
    assert gain(members, nonmembers, ours) == gain(members, nonmembers, theirs)


@given(shadows(), SEEDS)
def test_the_order_of_the_rows_changes_nothing(shadow: Shadow, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(shadow.member))
    signal = shadow.signals["s"]
    member = shadow.member
    stratum = shadow.stratum
    one = learn_thresholds(signal, member, stratum, 4)
    other = learn_thresholds(signal[order], member[order], stratum[order], 4)
    assert one.overall == other.overall
    assert one.by_class.tolist() == other.by_class.tolist()


def test_counts_and_not_rounded_rates_are_compared() -> None:
    # At 3: (1/5 + 5/5) / 2. At 2: (2/5 + 4/5) / 2, which is larger in floating point.
    members = np.array([3.0, 2, 0, 0, 0])
    nonmembers = np.array([2.5, 1, 1, 1, 1])
    assert gain(members, nonmembers, 3.0) == gain(members, nonmembers, 2.0) == 30
    assert published(members, nonmembers) == 2.0
    assert best_threshold(members, nonmembers) == 3.0


def test_a_constant_signal_has_itself_as_threshold() -> None:
    assert best_threshold(np.full(3, 2.5), np.full(5, 2.5)) == 2.5


def test_perfect_separation_is_found_from_both_ends() -> None:
    assert best_threshold(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 3.0
    # Worse than chance at 2, which loses the member and keeps the non-member.
    assert best_threshold(np.array([1.0]), np.array([2.0])) == 1.0


@given(st.integers(-3, 8))
def test_classes_never_seen_use_the_overall_threshold(label: int) -> None:
    learnt = learn_thresholds(
        np.array([1.0, 2.0, 5.0, 4.0]),
        np.array([False, True, True, False]),
        np.array([0, 0, 1, 1]),
        3,
    )
    expected = {0: 2.0, 1: 5.0}.get(label, learnt.overall)
    assert learnt.of(np.array([label])).tolist() == [expected]
    assert learnt.fell_back.tolist() == [2]


def test_many_classes_keep_their_order() -> None:
    # More labels than fit in a byte.
    k = 700
    signal = np.concatenate([np.arange(k) + 0.5, np.arange(k)])
    learnt = learn_thresholds(signal, np.arange(2 * k) < k, np.tile(np.arange(k), 2), k)
    assert learnt.by_class.tolist() == (np.arange(k) + 0.5).tolist()


def test_nothing_is_learnt_from_one_kind_only() -> None:
    with pytest.raises(InputError, match="a threshold needs members and non-members"):
        best_threshold(np.array([]), np.array([1.0]))
    with pytest.raises(InputError, match="a threshold needs members and non-members"):
        best_threshold(np.array([1.0]), np.array([]))
