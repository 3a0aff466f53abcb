"""Counts of transcripts beside the largest tree that any strategy can make, found by search."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.leaderboards.guards import (
    ArcsineLadder,
    Ladder,
    ParameterFreeLadder,
    guard_named,
    log_choose,
    log_rising,
    log_rising_binary,
    log_rising_by_two,
)
from privacygauge.leaderboards.mechanism import Guard, MarkedSubmission
from tests.thorough import crossed

FREE = ParameterFreeLadder()


class Tree:
    """The strategies against one guard: which account asks what, given all answers before."""

    def __init__(self, guard: Guard, n: int, m: int, accounts: int) -> None:
        self.guard = guard
        self.n = n
        self.m = m
        self.accounts = accounts
        self.rows = [np.array(row) for row in itertools.product(range(m), repeat=n)]
        self.answered = cache(self.answered)
        self.most = cache(self.most)

    def answered(self, row: int, before: tuple[int, ...], truth: int) -> float:
        """The answer to a row after what the same account has asked, under one labelling."""
        state = self.guard.start(b"key")
        answer = 0.0
        for each in (*before, row):
            labels = self.rows[each]
            hidden = self.rows[truth]
            right = int((labels == hidden).sum())
            marked = MarkedSubmission(right, self.n, self.m, None, labels, hidden)
            answer, state = self.guard.answer(marked, state)
        return answer

    def most(self, k: int, truths: tuple[int, ...], asked: tuple[tuple[int, ...], ...]) -> int:
        """The most leaves below a node: `truths` explain its answers to what was `asked`."""
        if k == 0:
            return 1
        further = [()] if len(asked) < self.accounts else []
        best = 0
        for before in {*asked, *further}:
            others = list(asked)
            if before:
                others.remove(before)
            # Before the first answer all rows are alike but for the names of the labels.
            for row in range(len(self.rows) if asked else 1):
                groups: dict[float, list[int]] = {}
                for truth in truths:
                    groups.setdefault(self.answered(row, before, truth), []).append(truth)
                then = tuple(sorted((*others, (*before, row))))
                best = max(best, sum(self.most(k - 1, tuple(g), then) for g in groups.values()))
        return best

    def leaves(self, k: int) -> int:
        return self.most(k, tuple(range(len(self.rows))), ())


SMALL = [(2, 2, 3), (3, 2, 3), (4, 2, 2), (5, 2, 2), (2, 3, 3), (3, 3, 2), (2, 4, 2)]


@pytest.mark.parametrize(
    ("guard", "size"),
    crossed([FREE, Ladder(0.5), Ladder(0.3), ArcsineLadder(0.4), ArcsineLadder(1.3)], SMALL),
    ids=str,
)
def test_no_strategy_has_more_transcripts_than_counted(guard, size):
    n, m, k = size
    assert Tree(guard, n, m, 1).leaves(k) <= math.exp(guard.nats(k, n, m)) * (1 + 1e-9)


def counted(guard, k, n, m, accounts):
    """The count for so many accounts, all of which the strategy may use."""
    return sum(
        math.exp(guard.nats(k, n, m, t)) / (t * (t + 1)) for t in range(1, min(accounts, k) + 1)
    )


@pytest.mark.parametrize("accounts", [2, 3])
@pytest.mark.parametrize(("n", "m", "k"), [(2, 2, 3), (3, 2, 2), (2, 3, 2)])
def test_nor_with_a_state_for_each_account(n, m, k, accounts):
    assert Tree(FREE, n, m, accounts).leaves(k) <= counted(FREE, k, n, m, accounts) * (1 + 1e-9)


def sequences(top, k, gains):
    """Series of k values of 0..top of which each is the one before, or above it by a gain."""

    @cache
    def below(value, left):
        if left == 0:
            return 1
        return below(value, left - 1) + sum(
            below(value + g, left - 1) for g in gains if value + g <= top
        )

    return sum(below(value, k - 1) for value in range(top + 1))


def adaptive(top, k, menus, accounts):
    """The most leaves where every query offers one of the menus of gains, to any account."""

    @cache
    def below(values, left):
        if left == 0:
            return 1
        branches = []
        if len(values) < accounts:
            branches.append(
                sum(below(tuple(sorted((*values, v))), left - 1) for v in range(top + 1))
            )
        for i, value in enumerate(values):
            others = values[:i] + values[i + 1 :]
            for menu in menus:
                total = below(values, left - 1)
                for gain in menu:
                    if value + gain <= top:
                        after = tuple(sorted((*others, value + gain)))
                        total += below(after, left - 1)
                branches.append(total)
        return max(branches)

    return below((), k)


def menus_of(top, m):
    """What one query may gain: gain^2 > d >= gain; with two classes d is known to the strategy."""
    shown = [
        [g for g in range(2, changed + 1) if (changed - g) % 2 == 0 and g * g > changed]
        for changed in range(1, top + 1)
    ]
    return shown if m == 2 else [sorted({g for menu in shown for g in menu})]


@given(st.integers(1, 12), st.integers(1, 6))
def test_the_sums_are_the_numbers_of_series(top, k):
    assert log_rising(k, top) == pytest.approx(math.log(sequences(top, k, range(1, top + 1))))
    by_two = math.log(sequences(top, k, range(2, top + 1)))
    assert log_rising_by_two(k, top) == pytest.approx(by_two)


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 3), st.sampled_from([2, 3]))
def test_no_choice_of_account_and_change_has_more_leaves(top, k, accounts, m):
    most = adaptive(top, k, menus_of(top, m), accounts)
    assert most <= counted(FREE, k, top, m, accounts) * (1 + 1e-9)


def test_accounts_that_are_counted_apart_would_be_too_few():
    """A sum of each account's own nats is no bound: who asks next may depend on the answers.

    One point: two first answers are 4 transcripts, as many as three answers to one account. Who
    goes on with the first account only if its first answer was 0 comes to 5.
    """
    budget = guard_named("ladder:1").nats(3, 1, 2)
    assert math.exp(budget) == pytest.approx(4) == math.exp(2 * guard_named("exact").nats(1, 1, 2))
    go_on = sequences(1, 3, [1]) - 1
    other = 2
    assert go_on + other == 5


@given(
    st.sampled_from(["ladder", "ladder:0.01", "ladder:1.3se", "exact", "thresholdout:0.04"]),
    st.integers(1, 10**9),
    st.integers(1, 10**12),
    st.integers(2, 5),
    st.none() | st.integers(1, 1_000),
)
def test_nats_never_fall_with_a_further_submission(name, k, n, m, accounts):
    guard = guard_named(name)
    if name.startswith("thresholdout"):
        k = k % 1_000 + 1
        accounts = None if accounts is None else accounts % 10 + 1
    if accounts is not None:
        k = max(k, accounts)
    nats = [guard.nats(each, n, m, accounts) for each in (k, k + 1, 2 * k + 1)]
    assert np.all(np.isfinite(nats))
    assert nats[0] <= nats[1] * (1 + 1e-12)
    assert nats[1] <= nats[2] * (1 + 1e-12)
    assert nats[0] >= 0
    if not name.startswith("thresholdout"):
        many = 0.0 if accounts is None else math.log(accounts * (accounts + 1))
        assert nats[0] <= (guard_named("exact").nats(k, n, m) + many) * (1 + 1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_nats_at_usual_sizes(classes):
    """The count that every rise is of one point, that it is of two, and what is counted."""
    for k, one, two, halves in ((1_000, 3346.7, 3257.4, 2699.7), (10_000, 13857.8, 10981.1, 9543)):
        assert log_rising(k, 10_000) == pytest.approx(one, abs=0.05)
        assert log_rising_by_two(k, 10_000) == pytest.approx(two, abs=0.05)
        assert math.log(2) + log_rising(k, 5_000) == pytest.approx(halves, abs=0.5)
        found = FREE.nats(k, 10_000, classes)
        assert found == (log_rising_by_two if classes == 3 else log_rising_binary)(k, 10_000)
    assert log_rising_binary(1_000, 10_000) == pytest.approx(2_356.5, abs=0.1)
    assert log_rising_binary(10_000, 10_000) == pytest.approx(7_920.7, abs=0.1)
    thirty = log_rising, log_rising_by_two, log_rising_binary
    expected = 4_325.2, 4_324.1, 3_875.9
    assert [count(600, 10_000, 30) for count in thirty] == pytest.approx(expected, abs=0.1)


@given(st.integers(0, 10**14), st.integers(0, 50))
def test_binomial_coefficients_keep_their_digits(n, k):
    expected = math.log(math.comb(n, k)) if k <= n else None
    if expected is not None:
        assert log_choose(n, k) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_tree_is_searched_as_it_should_be():
    """Exact answers to two questions about two points: 3 to the first, then as many as fit."""
    truths = list(itertools.product(range(2), repeat=2))
    best = 0
    for rows in itertools.product(truths, repeat=4):
        # The first row, and one for each of its three answers.
        seen = Counter()
        for truth in truths:
            first = sum(a == b for a, b in zip(rows[0], truth, strict=True))
            second = sum(a == b for a, b in zip(rows[1 + first], truth, strict=True))
            seen[first, second] += 1
        best = max(best, len(seen))
    assert Tree(guard_named("exact"), 2, 2, 1).leaves(2) == best
