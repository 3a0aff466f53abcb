"""Distances between submissions, counted on a sample of the points and then exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from privacygauge.core.checks import Bools, Ints
from privacygauge.holdout.history.record import Answers, History

POINTS = 2_048
"""Size of the sample of points on which all pairs of submissions are compared."""
_CANDIDATES = 256
"""Nearest earlier submissions by the sample that are compared on all points."""


@dataclass(frozen=True, eq=False)
class Nearness:
    """Similarities among the answers of a history."""

    points: Ints
    """(s,) The sampled points, ascending."""
    sample: Answers = field(repr=False)
    """(k, s) The answers there."""
    agreement: Ints = field(repr=False)
    """(k, k) Number of sampled points on which two submissions agree."""
    copy_of: Ints
    """(k,) The first submission with the very same answers; the submission itself where new."""
    nearest: Ints
    """(k,) The nearest earlier submission with other answers; -1 where there is none."""
    distance: Ints
    """(k,) Number of points on which it differs from that one; -1 if there is none."""

    @property
    def fresh(self) -> Bools:
        """(k,) Whether the answers are new."""
        return np.asarray(self.copy_of == np.arange(len(self.copy_of)))


def nearness(history: History, rng: np.random.Generator) -> Nearness:
    """Compute the distances between submissions.

    Parameters
    ----------
    history : History
        With answers.
    rng : numpy.random.Generator
        Draws the points of the sample, where there are more than `POINTS`.
    """
    answers = history.answers
    assert answers is not None
    points = np.arange(history.n)
    if history.n > POINTS:
        points = np.sort(rng.choice(history.n, POINTS, replace=False))
    sample = np.ascontiguousarray(answers[:, points])
    agreement = np.empty((len(sample), len(sample)), np.int64)
    for i, row in enumerate(sample):
        same = np.bitwise_count(np.packbits(sample[: i + 1] == row, axis=1)).sum(axis=1)
        agreement[i, : i + 1] = agreement[: i + 1, i] = same
    copy_of = _copies(answers)
    found = [_nearest(answers, agreement, copy_of, i) for i in range(len(answers))]
    near, distance = (np.array(column, np.int64) for column in zip(*found, strict=True))
    return Nearness(
        points=points,
        sample=sample,
        agreement=agreement,
        copy_of=copy_of,
        nearest=near,
        distance=distance,
    )


def label_ranks(rows: Answers) -> Ints:
    """Return the rank, (k, s), of every label among those that its point has in the rows."""
    order = np.argsort(rows, axis=0, kind="stable")
    ranked = np.take_along_axis(rows, order, axis=0)
    ranks = np.zeros(rows.shape, np.int64)
    codes = np.empty(rows.shape, np.int64)
    np.cumsum(ranked[1:] != ranked[:-1], axis=0, out=ranks[1:])
    np.put_along_axis(codes, order, ranks, axis=0)
    return codes


def around(codes: Ints, size: int) -> Iterator[tuple[Ints, Answers]]:
    """Yield for every row the places of the `size` others around it, and their counts by label.

    The counts, (labels, s), stand until the next row.
    """
    k, s = codes.shape
    labels = int(codes.max(initial=0)) + 1
    places = codes * s + np.arange(s)
    counts = np.zeros(labels * s, np.int32)
    for row in places[: size + 1]:
        counts[row] += 1
    before = 0
    for place, row in enumerate(places):
        first = min(max(0, place - size // 2), max(0, k - size - 1))
        if first > before:
            counts[places[before]] -= 1
            counts[places[first + size]] += 1
            before = first
        counts[row] -= 1
        window = np.arange(first, min(k, first + size + 1))
        yield window[window != place], counts.reshape(labels, s)
        counts[row] += 1


def _copies(answers: Answers) -> Ints:
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(row.tobytes(), i) for i, row in enumerate(answers)], np.int64)


def _nearest(answers: Answers, agreement: Ints, copy_of: Ints, i: int) -> tuple[int, int]:
    earlier = np.flatnonzero(copy_of[:i] != copy_of[i])
    if not len(earlier):
        return -1, -1
    # Among equally near ones, the latest and also the first: a scan's base may be either.
    order = np.lexsort((-earlier, -agreement[i, earlier]))[:_CANDIDATES]
    best = agreement[i, earlier[order[0]]]
    tied = order[agreement[i, earlier[order]] == best]
    some = np.unique(np.concatenate([earlier[tied], earlier[:1]]))
    distances = np.count_nonzero(answers[some] != answers[i], axis=1)
    place = len(some) - 1 - int(np.argmin(distances[::-1]))
    return int(some[place]), int(distances[place])
