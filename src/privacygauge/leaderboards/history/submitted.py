"""Submitted labels of a history, in memory or in a file that is read in part."""

from __future__ import annotations

import hashlib
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

Answers = NDArray[np.integer]

_BLOCK = 2**23
"""Bytes of answers that are held at once."""


@dataclass(frozen=True, eq=False)
class StoredAnswers:
    """Submitted labels (k, n) in a scratch file, which ends with this object.

    Rows are read when they are asked for, so that memory holds a few of them at a time.
    """

    file: int = field(repr=False)
    """Descriptor of a file with the rows one after the other."""
    shape: tuple[int, int]
    """Number of submissions and of points."""
    dtype: np.dtype[Any]
    """Type of a label."""

    @classmethod
    def written(cls, rows: Iterable[Answers], n: int, dtype: np.dtype[Any]) -> StoredAnswers:
        """Write rows, (n,) each, into a scratch file."""
        k = 0
        with tempfile.TemporaryFile(prefix="privacygauge-") as file:
            for row in rows:
                file.write(np.ascontiguousarray(row, dtype).data)
                k += 1
            file.flush()
            found = cls(os.dup(file.fileno()), (k, n), dtype)
        # The file has no name, and ends with its last descriptor.
        weakref.finalize(found, os.close, found.file)
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def segment(self, row: int, first: int, last: int) -> Answers:
        """Return the labels of one submission from point `first` to before `last`."""
        size = self.dtype.itemsize
        start = (row * self.shape[1] + first) * size
        # By position: threads share the file, but no place in it.
        read = os.pread(self.file, (last - first) * size, start)
        return np.frombuffer(read, self.dtype)


Rows = Answers | StoredAnswers
"""Submitted labels, (k, n)."""


def row_of(answers: Rows, row: int) -> Answers:
    """Return one submission, (n,)."""
    if isinstance(answers, StoredAnswers):
        return answers.segment(row, 0, answers.shape[1])
    return np.asarray(answers[row])


def labels_on(answers: Rows, points: Ints) -> Answers:
    """Return the submitted labels, (k, s), on some points."""
    if not isinstance(answers, StoredAnswers):
        return np.ascontiguousarray(answers[:, points])
    found = np.empty((len(answers), len(points)), answers.dtype)
    for row in range(len(answers)):
        found[row] = row_of(answers, row)[points]
    return found


def blocks_of_points(answers: Rows, of: Ints) -> Iterator[tuple[slice, Answers]]:
    """Yield the labels, (len(of), points), of some submissions on a few points after the other."""
    n = answers.shape[1]
    width = max(1, min(n, _BLOCK // max(1, len(of) * answers.dtype.itemsize)))
    for first in range(0, n, width):
        part = slice(first, min(n, first + width))
        if isinstance(answers, StoredAnswers):
            block = np.empty((len(of), part.stop - first), answers.dtype)
            for place, row in enumerate(of):
                block[place] = answers.segment(int(row), first, part.stop)
            yield part, block
        else:
            yield part, answers[of, part]


def differing(answers: Rows, of: Ints, row: Answers) -> Ints:
    """Return the number of points, (len(of),), on which some submissions differ from a row."""
    return np.array([np.count_nonzero(row_of(answers, int(i)) != row) for i in of], np.int64)


def first_copies(answers: Rows) -> Ints:
    """Return the first submission, (k,), with the same labels as each."""
    first: dict[bytes, int] = {}
    digests = (
        hashlib.blake2b(np.ascontiguousarray(row_of(answers, i)).data, digest_size=16).digest()
        for i in range(len(answers))
    )
    return np.array([first.setdefault(digest, i) for i, digest in enumerate(digests)], np.int64)


def checked_answers(values: Any, k: int, n: int, n_classes: int | None) -> Rows:
    """Return submitted labels (k, n) as read-only integers from 0 of the smallest type."""
    stored = isinstance(values, StoredAnswers)
    rows = values if stored else np.asarray(values)
    if rows.shape != (k, n):
        raise InputError(
            f"answers must have the shape ({k}, {n}), submissions by points, got {rows.shape}"
        )
    if rows.dtype.kind not in "iu":
        raise InputError(f"answers must be integers from 0, got {rows.dtype}: number the classes")
    if stored:
        # Labels of a scoring server, which has checked them when they were submitted.
        return rows
    if rows.size and (rows.min() < 0 or (n_classes is not None and rows.max() >= n_classes)):
        most = "" if n_classes is None else str(n_classes - 1)
        raise InputError(f"answers must be in 0..{most}, got {rows.min()} to {rows.max()}")
    # The smallest type that holds the labels: histories hold k times n of them.
    small = np.array(rows, np.min_scalar_type(int(rows.max())))
    small.flags.writeable = False
    return small


@dataclass(frozen=True, eq=False)
class Majority:
    """The most frequent label of some submissions at every point."""

    labels: Answers
    """(n,) The label, the smallest of equally frequent ones."""
    kept: Ints
    """(n,) Number of submissions with it."""
    off: Ints
    """(rows,) Number of points on which each submission differs from it."""


def majority_of(answers: Rows, of: Ints) -> Majority:
    """Return the majority of some submissions, at least one."""
    n = answers.shape[1]
    labels = np.empty(n, answers.dtype)
    kept = np.empty(n, np.int64)
    off = np.zeros(len(of), np.int64)
    for part, block in blocks_of_points(answers, of):
        values = np.unique(block)
        best = np.zeros(block.shape[1], np.int64)
        most = np.full(block.shape[1], values[0], answers.dtype)
        for value in values:
            counts = np.count_nonzero(block == value, axis=0)
            more = counts > best
            best[more] = counts[more]
            most[more] = value
        labels[part] = most
        kept[part] = best
        off += np.count_nonzero(block != most, axis=1)
    return Majority(labels, kept, off)


def n_right(answers: Rows, of: Ints, labels: Ints, points: Bools) -> Ints:
    """Return the number of right labels of some submissions, (rows,), on some points."""
    right = np.zeros(len(of), np.int64)
    for part, block in blocks_of_points(answers, of):
        right += np.count_nonzero((block == labels[part]) & points[part], axis=1)
    return right
