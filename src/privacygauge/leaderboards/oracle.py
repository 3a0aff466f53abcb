"""A test set with hidden labels, and the queries that an analyst may send to it.

`Holdout` belongs to the benchmark's owner and keeps the labels. Every analyst gets an `Oracle` from
`Holdout.open`, with a full budget and a guard in its initial state.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import BudgetError as BudgetError
from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import Exact, ParameterFreeLadder, guard_for
from privacygauge.leaderboards.mechanism import Guard, MarkedSubmission
from privacygauge.leaderboards.metrics import ACCURACY, Metric, Values
from privacygauge.report.numbers import several

Labels = NDArray[np.integer]
# Sums of this many truth values fit into one byte, so this many are added at a time.
_CHUNK = 255
_STRIDES = 16


@dataclass(frozen=True)
class Budget:
    """Limits on queries; None for no limit."""

    total: int | None = None
    """Submissions of all accounts together, at least 0."""
    per_account: int | None = None
    """Submissions of one account, at least 0."""
    nats: float | None = None
    """Nats of information: the logarithm of the number of transcripts that the guard could have
    produced. The only limit that additional accounts cannot lift."""

    def __post_init__(self) -> None:
        for name in ("total", "per_account", "nats"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"{name} must be at least 0, or None for no limit, got {value}")

    def submissions(
        self, guard: Guard, n: int, n_classes: int, accounts: int | None = None
    ) -> int | None:
        """Return the number of submissions of all accounts that it allows; None for no limit.

        `accounts` is the number of accounts that submit, if each has its own guard state.
        """
        if self.nats is None:
            return self.total
        affordable = most_submissions(lambda k: guard.nats(k, n, n_classes, accounts), self.nats)
        return affordable if self.total is None else min(self.total, affordable)


@dataclass(frozen=True, eq=False)
class Holdout:
    """A test set: labels that are never shown, and the number of classes, which is public."""

    labels: Values = field(repr=False)
    """(n,) Hidden labels in 0..n_classes-1, or the numbers with which the metric compares. Only the
    owner has them: no analyst gets a holdout."""
    n_classes: int
    """Number of classes, at least 2; 0 if the metric has none."""
    metric: Metric = ACCURACY
    """Metric of submissions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", self.metric.truth(self.labels, self.n_classes)[0])

    def __len__(self) -> int:
        return len(self.labels)

    def marked(self, submitted: ArrayLike, claimed: float | None = None) -> MarkedSubmission:
        """Return one checked submission with the true labels, as a guard sees it."""
        if claimed is not None and not 0.0 <= claimed <= 1.0:
            raise InputError(f"claimed must be an accuracy in [0, 1], got {claimed}")
        n = len(self)
        row = self.metric.submission(submitted, n, self.n_classes)
        # As a multiple of 1/n, so that every guard has as many transcripts as are counted.
        score = self.metric.score(row, self.labels)
        n_correct = round(score * n)
        return MarkedSubmission(
            n_correct=n_correct,
            n=n,
            n_classes=self.n_classes,
            claimed=claimed,
            labels=row,
            truth=self.labels,
            score=None if self.metric == ACCURACY else score,
            same=None if self.metric == ACCURACY else self.metric.equivalent(row, self.labels),
        )

    def score(self, answer: ArrayLike) -> float:
        """Return the metric of `answer`: by default the share of right labels among (n,).

        For the owner, who judges an analyst's final answer; it does not count as a submission.
        """
        if self.metric != ACCURACY:
            sent = self.metric.submission(answer, len(self), self.n_classes)
            return self.metric.score(sent, self.labels)
        rows = _submissions(answer, len(self), self.n_classes, 1)
        return float(np.count_nonzero(rows[0] == self.labels) / len(self))

    def open(
        self,
        rng: np.random.Generator,
        *,
        guard: Guard | None = None,
        budget: Budget | None = None,
    ) -> Oracle:
        """Return an oracle for one analyst, with the full budget and a guard in its initial state.

        Parameters
        ----------
        rng : numpy.random.Generator
            Draws the secret key from which the guard draws its noise.
        guard : Guard, optional
            Guard between the accuracy and the analyst; by default `Exact`, which hides nothing.
        budget : Budget, optional
            Limits on queries; by default none.
        """
        guard = guard_for(guard or Exact(), self.metric, self.labels)

        def mark(labels: ArrayLike, claimed: float | None) -> list[MarkedSubmission]:
            if self.metric != ACCURACY:
                return [self.marked(row, claimed) for row in np.asarray(labels)]
            rows = _submissions(labels, len(self), self.n_classes, None)
            truth = self.labels.astype(np.min_scalar_type(self.n_classes - 1))
            return [
                MarkedSubmission(
                    n_correct=int(correct),
                    n=len(truth),
                    n_classes=self.n_classes,
                    claimed=claimed,
                    labels=row,
                    truth=truth,
                )
                for row, correct in zip(rows, _n_correct(rows, truth), strict=True)
            ]

        return Oracle(
            n=len(self),
            n_classes=self.n_classes,
            guard=guard,
            budget=budget or Budget(),
            mark=mark,
            key=rng.bytes(16),
        )


class Oracle:
    """An analyst's only access to a test set: submit labels, read the answer and the budget left.

    It counts queries and is the only mutable object of this package. It holds no labels, only a
    function that marks submissions, which belongs to the guard and not to the analyst.
    """

    def __init__(
        self,
        n: int,
        n_classes: int,
        guard: Guard,
        budget: Budget,
        mark: Callable[[ArrayLike, float | None], list[MarkedSubmission]],
        key: bytes,
    ) -> None:
        # Private: an analyst reads them, and can change nothing.
        self._n = n
        self._n_classes = n_classes
        self._guard = guard
        self._per_account = budget.per_account
        # A single analyst: one guard state, however many accounts it uses.
        self._total = budget.submissions(guard, n, n_classes)
        self._mark = mark
        self._state = guard.start(key)
        self._used: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"Oracle(n={self.n}, n_classes={self.n_classes}, guard={self._guard!r})"

    @property
    def n(self) -> int:
        """Number of points."""
        return self._n

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._n_classes

    @cached_property
    def error(self) -> float:
        """Standard deviation of an answer around the accuracy; 0 if answers are exact.

        It follows from the guard, which is public: an analyst may rely on it.
        """
        return self._guard.error(self._n)

    @property
    def used(self) -> int:
        """Number of submissions answered so far."""
        return sum(self._used.values())

    def points_to_rise(self, changed: Floats) -> Floats:
        """Return about how many points a submission must gain before the answer rises.

        Parameters
        ----------
        changed : numpy.ndarray
            Number of points on which it differs from the best one in being right; only the Ladder
            without a step asks for more where that is larger.
        """
        if isinstance(self._guard, ParameterFreeLadder):
            return np.sqrt(changed)
        # An error even over a step is the step over the root of 12; exact answers show one point.
        return np.full(np.shape(changed), max(0.5, math.sqrt(12) * self.error * self.n))

    def left(self, account: str = "") -> int | None:
        """Return the number of submissions left to `account`; None for no limit."""
        limits = []
        if self._total is not None:
            limits.append(self._total - self.used)
        if self._per_account is not None:
            limits.append(self._per_account - self._used.get(account, 0))
        return min(limits, default=None)

    def submit(
        self, labels: ArrayLike, *, account: str = "", claimed: float | None = None
    ) -> float:
        """Return the guard's answer to one submission, in [0, 1].

        Parameters
        ----------
        labels : array_like of shape (n,)
            Label in 0..n_classes-1 for every point, or what the metric requires.
        account : str, default ""
            Account that submits, for the budget.
        claimed : float, optional
            Accuracy on the analyst's own data, in [0, 1]; only `Thresholdout` uses it.

        Raises
        ------
        InputError
            If the labels are not of this shape or range.
        BudgetError
            If no submission is left.
        """
        return float(self.submit_all(np.asarray(labels)[None], account=account, claimed=claimed)[0])

    def submit_all(
        self, labels: ArrayLike, *, account: str = "", claimed: float | None = None
    ) -> Floats:
        """Return the answers, (b,), to submissions (b, n), as if made one after another.

        All or none are answered. A transposed array of shape (n, b) is counted fastest.
        """
        if claimed is not None and not 0.0 <= claimed <= 1.0:
            raise InputError(f"claimed must be an accuracy in [0, 1], got {claimed}")
        rows = self._mark(labels, claimed)
        # Charged first: all submissions are answered, or none.
        left = self.left(account)
        if left is not None and len(rows) > left:
            raise BudgetError(
                f"the budget leaves {several(left, 'submission')}, got {len(rows)}: ask for no "
                "more than left()"
            )
        self._used[account] = self._used.get(account, 0) + len(rows)
        answers = np.empty(len(rows))
        for i, marked in enumerate(rows):
            answers[i], self._state = self._guard.answer(marked, self._state)
        return answers


def most_submissions(nats: Callable[[int], float], most: float) -> int:
    """Return the largest k with ``nats(k) <= most``, for nats that grow with k without bound."""
    return fewest(lambda k: nats(k) > most) - 1


def fewest(enough: Callable[[int], bool]) -> int:
    """Return the smallest number from 1 that is `enough`, as all larger ones are."""
    high = 1
    # Doubling finds an upper limit, and bisection the number between it and its half.
    while not enough(high):
        high *= 2
    return bisect_left(range(high), True, high // 2 + 1, key=enough)


def _submissions(labels: ArrayLike, n: int, n_classes: int, rows: int | None) -> Labels:
    array: Labels = np.asarray(labels)
    if rows == 1 and array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != n:
        raise InputError(f"a submission must have a label for each of the {n} points")
    if array.dtype.kind not in "iu":
        raise InputError(f"submitted labels must be integers, got {array.dtype}")
    below = array.dtype.kind == "i" and array.size and array.min() < 0
    if below or (array.size and array.max() >= n_classes):
        raise InputError(f"submitted labels must be in 0..{n_classes - 1}")
    return array


def _n_correct(rows: Labels, truth: Labels) -> Ints:
    """Return the number of right labels in each row of (b, n)."""
    # Rows that are contiguous by submission are counted one by one.
    if not rows.T.flags.c_contiguous:
        return np.array([np.count_nonzero(row == truth) for row in rows], np.int64)
    by_point = rows.T
    counts = np.zeros(len(rows), np.int64)
    for start in range(0, len(truth), _STRIDES * _CHUNK):
        chunk = slice(start, start + _STRIDES * _CHUNK)
        right = (by_point[chunk] == truth[chunk, None]).view(np.uint8)
        # Points at distances that are multiples of the stride are added in bytes.
        whole = len(right) - len(right) % _STRIDES
        strided = right[:whole].reshape(-1, _STRIDES * len(rows))
        sums = np.add.reduce(strided, axis=0, dtype=np.uint8).reshape(_STRIDES, len(rows))
        counts += sums.sum(axis=0, dtype=np.int64) + right[whole:].sum(axis=0, dtype=np.int64)
    return counts
