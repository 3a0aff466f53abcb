"""Submitted labels in a file: what is found is the same, and memory holds a few rows at a time."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from privacygauge.leaderboards.history import submitted
from privacygauge.leaderboards.history.findings import examine_history, inspect
from privacygauge.leaderboards.history.made import attacked_history, varied_history
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.history.submitted import StoredAnswers, majority_of

RNG = np.random.default_rng


def stored(history):
    rows = StoredAnswers.written(history.answers, history.n, history.answers.dtype)
    return replace(history, answers=rows)


@pytest.mark.parametrize("attack", ["nb", "scan", "honest"])
def test_a_history_in_a_file_has_the_findings_of_one_in_memory(attack, monkeypatch):
    # Several blocks, the last one shorter.
    monkeypatch.setattr(submitted, "_BLOCK", 7_000)
    rng = RNG(1)
    history = (
        varied_history(rng)
        if attack == "honest"
        else attacked_history(rng, attack, n=400, m=2, queries=80)
    )
    in_memory, in_file = (inspect(each, RNG(2)) for each in (history, stored(history)))
    assert len(in_memory.evidence) == len(in_file.evidence) > 0
    for one, other in zip(in_memory.evidence, in_file.evidence, strict=True):
        assert (one.detector, one.accounts, one.says) == (
            other.detector,
            other.accounts,
            other.says,
        )
        assert one.p_value == other.p_value
        np.testing.assert_array_equal(one.rows, other.rows)
    assert [each.reason for each in in_memory.skipped] == [each.reason for each in in_file.skipped]
    whole, read = (
        examine_history(each, ("exact", "ladder"), 0, 0.95) for each in (history, stored(history))
    )
    assert [each.copies for each in (whole, read)] == [whole.copies] * 2
    assert whole.winner == read.winner
    for one, other in zip(whole.replays, read.replays, strict=True):
        np.testing.assert_array_equal(one.shown, other.shown)


def test_a_majority_by_blocks_is_that_of_the_whole(monkeypatch):
    rows = RNG(3).integers(0, 4, (9, 101)).astype(np.uint8)
    counts = np.stack([np.count_nonzero(rows == label, axis=0) for label in range(4)])
    monkeypatch.setattr(submitted, "_BLOCK", 100)
    found = majority_of(rows, np.arange(9))
    np.testing.assert_array_equal(found.labels, counts.argmax(axis=0))
    np.testing.assert_array_equal(found.kept, counts.max(axis=0))
    np.testing.assert_array_equal(found.off, (rows != found.labels).sum(axis=1))


def test_memory_does_not_hold_all_submissions():
    k = 400
    n = 250_000
    rng = RNG(4)
    truth = rng.integers(0, 3, n).astype(np.uint8)

    def rows():
        for _ in range(k):
            row = truth.copy()
            row[rng.integers(0, n, n // 3)] = 2
            yield row

    tracemalloc.start()
    try:
        answers = StoredAnswers.written(rows(), n, np.dtype(np.uint8))
        history = in_time(
            None,
            [f"team {i % 20}" for i in range(k)],
            np.full(k, 0.7),
            n=n,
            n_classes=3,
            answers=answers,
            labels=truth,
        )
        found = inspect(history, rng)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.near is not None
    assert peak < 0.4 * k * n
