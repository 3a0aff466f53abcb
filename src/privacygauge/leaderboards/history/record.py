"""A leaderboard's history as a value: account, time and score of every submission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.leaderboards.history.scale import Scale
from privacygauge.leaderboards.history.submitted import (
    Answers,
    Rows,
    StoredAnswers,
    checked_answers,
    differing,
)
from privacygauge.leaderboards.metrics import metric_named

AUC = "auc"
"""Metric other than accuracies of which chance has a known distribution."""
_OFF_GRID = 0.25
"""Distance from a whole number of right answers within which a score is read as that number."""
_FILES = 1_000
"""Largest number of made-up files that show what random labels score; a tenth is the smallest."""
_CELLS = 10_000_000
"""Number of labels in these files from which on they are fewer."""
_FEWEST_VALUES = 8
"""Minimum number of different scores that reveal a common step, and so a rounded display."""


@dataclass(frozen=True, eq=False)
class History:
    """Submissions in the order of time; equal times keep their original order."""

    accounts: tuple[str, ...]
    """(k,) Account of each submission."""
    scores: Floats
    """(k,) Accuracy in [0, 1], as the leaderboard showed it."""
    n: int
    """Number of points of the test set."""
    n_classes: int | None = None
    """Number of classes, at least 2; None if unknown."""
    times: Floats | None = None
    """(k,) Ascending times; None if only the order is known."""
    answers: Rows | None = field(repr=False, default=None)
    """(k, n) Submitted labels; None if only scores were kept."""
    labels: Ints | None = field(repr=False, default=None)
    """(n,) Hidden labels; None if their owner keeps them."""
    guard: str | None = None
    """Guard that gave the scores, or `shown`; None without one."""
    shown: Floats | None = None
    """(k,) Answers of the guard, if `scores` are the exact ones behind it."""
    metric: str = "accuracy"
    """Metric of the scores; results that hold for accuracy alone are left out for others."""
    private: Floats | None = None
    """(k,) Scores on the points that decided in the end, none of them shown before; NaN where a
    submission has none, as where finals alone were scored again.
    """
    n_private: int | None = None
    """Number of private points, at least 1; None if unknown."""
    random_private: bool = False
    """Whether the private points were drawn at random from the same records as the public ones."""
    selected: Bools | None = field(repr=False, default=None)
    """(k,) Whether its team chose the submission to be judged by; None if unknown."""
    voided: Bools | None = field(repr=False, default=None)
    """(k,) Whether the owner has voided the submission, which then wins nothing; None if unknown.
    """
    sent_by: tuple[str, ...] | None = field(repr=False, default=None)
    """(k,) Account that sent each submission, before mergers; None if unknown."""
    left_out: int = 0
    """Rows of the file that do not count: without a score, or after the deadline."""
    n_smaller: int | None = None
    """Number of points of the smaller class, at least 1, for areas under the curve; None if
    unknown. Counted in the labels where they are there.
    """
    unknown: int = 0
    """Submissions that a leaderboard counts, of which it shows the best of each team only."""
    best_only: bool = False
    """Whether the rows are those of a leaderboard, one for each account with its best."""
    percentages: bool = False
    """Whether scores or private scores were numbers up to 100, read as percentages."""
    error_unit: float | None = None
    """Largest error, where scores were read as errors and became 1 less the error in its units;
    None where they are scores, of which more is better.
    """

    def __post_init__(self) -> None:
        k = len(self.accounts)
        if k == 0:
            raise InputError("history must hold at least one submission, got none")
        if self.n < 1:
            raise InputError(f"n must be at least 1, got {self.n}: give the test set's size")
        object.__setattr__(self, "scores", are_shares(self.scores, k))
        if self.n_classes is not None and self.n_classes < 2:
            raise InputError(f"classes must be at least 2, got {self.n_classes}")
        if self.times is not None:
            times = checks.floats(self.times, "times", length=k)
            if np.any(np.diff(times) < 0):
                raise InputError("times must ascend: build the history with in_time, which sorts")
            object.__setattr__(self, "times", times)
        if self.private is not None:
            private = checks.vector(self.private, "private", length=k).astype(np.float64)
            given = ~np.isnan(private)
            if not given.any():
                raise InputError("private must hold the score of a submission, got none")
            are_shares(private[given], int(given.sum()), "private")
            object.__setattr__(self, "private", checks.frozen(private))
        if self.n_private is not None and self.n_private < 1:
            raise InputError(f"n_private must be at least 1, got {self.n_private}")
        if self.answers is not None:
            rows = checked_answers(self.answers, k, self.n, self.n_classes)
            object.__setattr__(self, "answers", rows)
        if self.labels is not None:
            labels = checks.classes(self.labels, "labels", length=self.n)
            if self.n_classes is not None and labels.max() >= self.n_classes:
                raise InputError(f"labels must be in 0..{self.n_classes - 1}, got {labels.max()}")
            object.__setattr__(self, "labels", labels)
            if self.metric == AUC and self.n_smaller is None:
                classes = np.bincount(labels, minlength=2)
                smaller = int(classes.min()) if len(classes) == 2 else 0
                object.__setattr__(self, "n_smaller", smaller or None)
        if self.n_smaller is not None and not 1 <= self.n_smaller <= self.n / 2:
            raise InputError(
                f"the smaller class must have 1 to {self.n // 2} of the {self.n} points, got "
                f"{self.n_smaller}"
            )

    def __len__(self) -> int:
        return len(self.accounts)

    @property
    def scale(self) -> Scale:
        """How scores are written."""
        return Scale(self.metric, metric_named(self.metric).worst)

    @property
    def points(self) -> float:
        """Number of points that the error of a score goes by: of an area the smaller class's."""
        return float(self.n if self.n_smaller is None else self.n_smaller)

    @property
    def private_points(self) -> float | None:
        """The same of the private part, whose smaller class is taken to have the same share."""
        if self.n_private is None or self.n_smaller is None:
            return self.n_private
        return self.n_private * self.n_smaller / self.n

    @cached_property
    def in_private(self) -> History | None:
        """The submissions that have a private score, without answers; None without any.

        The history itself where all have one.
        """
        if self.private is None:
            return None
        rows = self.private_rows
        if len(rows) == len(self):
            return self

        def of(values: Any) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            accounts=tuple(self.accounts[i] for i in rows),
            scores=self.scores[rows],
            times=of(self.times),
            answers=None,
            shown=of(self.shown),
            private=self.private[rows],
            selected=of(self.selected),
            voided=of(self.voided),
            sent_by=None if self.sent_by is None else tuple(self.sent_by[i] for i in rows),
        )

    @cached_property
    def private_rows(self) -> Ints:
        """(r,) Submissions that have a private score; none without private scores."""
        if self.private is None:
            return np.arange(0)
        return np.flatnonzero(~np.isnan(self.private))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every account once, in the order of its first submission."""
        return tuple(dict.fromkeys(self.accounts))

    @cached_property
    def codes(self) -> Ints:
        """(k,) Index in `names` of each submission's account."""
        place = {name: i for i, name in enumerate(self.names)}
        return np.array([place[account] for account in self.accounts], np.int64)

    def rows_of(self, code: int) -> Ints:
        """Return the submissions of one account, ascending in time."""
        return np.flatnonzero(self.codes == code)

    def counting(self, rows: Ints) -> Ints:
        """Return those of `rows` that are not voided; all of them if each is."""
        if self.voided is None or self.voided[rows].all():
            return rows
        return np.asarray(rows[~self.voided[rows]])

    @cached_property
    def n_correct(self) -> Ints:
        """(k,) Right answers: counted if answers and labels are available, else from the score."""
        if self.answers is not None and self.labels is not None:
            return self.n - differing(self.answers, np.arange(len(self)), self.labels)
        return np.round(self.scores * self.n).astype(np.int64)

    @cached_property
    def step(self) -> float:
        """Step of the scores, in right answers: 1 if exact, larger if rounded, 0 for no grid."""
        if self.answers is not None and self.labels is not None:
            return 1.0
        # Answers of a guard other than exact lie on no grid of right answers.
        if not self.counted or (self.shown is None and self.guard not in (None, "exact")):
            return 0.0
        if np.abs(self.scores * self.n - self.n_correct).max() > _OFF_GRID:
            return 0.0
        different = np.unique(self.n_correct)
        # Too few values to reveal a rounded display, and so counted as exact.
        if len(different) < _FEWEST_VALUES:
            return 1.0
        return float(np.gcd.reduce(np.diff(different)))

    @property
    def counted(self) -> bool:
        """Whether `n_correct` holds right answers, and not n-ths of another metric's scores."""
        return self.metric == "accuracy" or (self.answers is not None and self.labels is not None)

    @cached_property
    def of_random_labels(self) -> tuple[float, float] | None:
        """Mean and standard deviation of the scores of uniform labels, by a metric of labels.

        They are those of made-up files, and None where the metric is of other submissions, where
        scores below 0 are shown as 0, or without hidden labels.
        """
        metric = metric_named(self.metric)
        labels = self.labels
        if metric.form != "i" or metric.columns != 1 or metric.clipped or labels is None:
            return None
        m = self.n_classes or max(2, int(labels.max()) + 1)
        rng = stream(0, "random labels", self.metric)
        scores = [
            metric.score(rng.integers(0, m, self.n), labels)
            for _ in range(min(_FILES, max(_FILES // 10, _CELLS // self.n)))
        ]
        return float(np.mean(scores)), float(np.std(scores, ddof=1))

    @property
    def exact(self) -> bool:
        """Whether scores are fine enough to tell single right answers apart."""
        return self.step == 1.0


class KnownOfTestSet(TypedDict, total=False):
    """Facts about a test set that a history may come with, as fields of `History`."""

    n_classes: int | None
    """At least 2; default: counted in the labels and answers."""
    labels: ArrayLike | None
    """(n,) Hidden labels, integers from 0."""
    guard: str | None
    """Guard that gave the scores, or the answers shown."""
    metric: str
    """Metric of the scores; default: accuracy."""


def in_time(
    times: ArrayLike | None,
    accounts: Sequence[object],
    scores: ArrayLike,
    *,
    n: int,
    answers: ArrayLike | StoredAnswers | None = None,
    numbers: Sequence[int] | None = None,
    shown: ArrayLike | None = None,
    **known: Unpack[KnownOfTestSet],
) -> History:
    """Return a history from columns in any order.

    Parameters
    ----------
    times : array_like of shape (k,), optional
        Times as numbers; without them the rows are taken to be in the order of time.
    accounts : sequence of length k
        Account of each submission, converted to text.
    scores : array_like of shape (k,)
        Accuracies in [0, 1]; right answers out of `n`; or percentages, if they can be nothing else
        (`are_percentages`).
    n : int
        Number of points of the test set.
    answers : array_like of shape (k, n) or StoredAnswers, optional
        Submitted labels, integers from 0; stored ones are in the order of time already.
    numbers : sequence of int, length k, optional
        Order, if it is known better than by the times: a clock may have been set back. A time
        before that of an earlier submission is then replaced by the latter.
    shown : array_like of shape (k,), optional
        Answers of the guard, if the scores are the exact ones behind it.
    **known
        `n_classes`, `labels`, `guard` and `metric`, as in `KnownOfTestSet`.
    """
    names = tuple(str(account) for account in accounts)
    k = len(names)
    given = None if times is None else checks.floats(times, "times", length=k)
    order = order_in_time(np.arange(k) if given is None else given, numbers)
    # No time lies before that of an earlier submission, also where numbers gave the order.
    when = None if given is None else np.maximum.accumulate(given[order])
    stored = answers if isinstance(answers, StoredAnswers) else None
    rows = None if answers is None or stored is not None else np.asarray(answers)
    if rows is not None and (rows.ndim != 2 or len(rows) != k):
        raise InputError(
            f"answers must have a row for each of the {k} submissions, got the shape {rows.shape}"
        )
    labels = known.get("labels")
    truth = None if labels is None else checks.classes(labels, "labels")
    n_classes = known.get("n_classes")
    metric = known.get("metric", "accuracy")
    return History(
        accounts=tuple(names[i] for i in order),
        scores=as_shares(scores, n, k, metric=metric)[order],
        n=n,
        n_classes=n_classes if n_classes is not None else _n_classes(rows, truth),
        times=when,
        answers=stored if rows is None else rows[order],
        labels=truth,
        guard=known.get("guard"),
        shown=None if shown is None else checks.floats(shown, "shown", length=k)[order],
        metric=metric,
        percentages=are_percentages(scores, n, metric),
    )


def order_in_time(times: Floats | Ints, numbers: Sequence[int] | None) -> Ints:
    """Return the order, (k,), of submissions: by number if there are numbers, else by time."""
    return np.asarray(np.argsort(times if numbers is None else np.array(numbers), kind="stable"))


def as_shares(scores: ArrayLike, n: int, k: int, *, metric: str = "accuracy") -> Floats:
    """Return accuracies in [0, 1] from accuracies, numbers of right answers or percentages.

    `n` is 0 if the number of points is unknown.
    """
    values = checks.floats(scores, "score", length=k)
    if are_percentages(values, n, metric):
        return np.asarray(values / 100)
    # If no score exceeds 1, they are accuracies; without n, counts cannot be divided.
    if k == 0 or values.max() <= 1 or n < 1:
        return values
    wrong = np.flatnonzero((values < 0) | (values > n) | (np.trunc(values) != values))
    if wrong.size:
        raise InputError(
            f"score must be an accuracy in [0, 1], or in every row right answers in 0..{n}, got "
            f"{values[wrong[0]]:g} in row {wrong[0]}: divide percentages by 100"
        )
    return np.asarray(values / n)


def are_percentages(scores: ArrayLike, n: int, metric: str = "accuracy") -> bool:
    """Return whether scores, (k,), are percentages without a sign, and surely nothing else.

    They are in [0, 100], most of them above 1, and not right answers: not all whole, or more than
    the `n` points (0 if unknown). A metric known as an error has no percentages. A score of at most
    1 may be a share among percentages, unless as a share it would be more than twice the best.
    """
    values = np.asarray(scores, np.float64)
    if not values.size or metric_named(metric).worst is not None:
        return False
    best = float(values.max())
    counts = bool((np.trunc(values) == values).all()) and not 1 <= n < best
    if not (values.min() >= 0 and 1 < best <= 100 and np.mean(values > 1) > 0.5) or counts:
        return False
    # Read as shares, all low scores would be more than twice the best: so they are percentages.
    low = values[(values > 0) & (values <= 1)]
    return bool((100 * low > 2 * best).all())


def are_shares(values: ArrayLike, k: int, name: str = "score") -> Floats:
    """Return scores, (k,), if all are in [0, 1]."""
    found = checks.floats(values, name, length=k)
    outside = np.flatnonzero((found < 0) | (found > 1))
    if outside.size:
        raise InputError(
            f"{name} must be an accuracy in [0, 1], got {found[outside[0]]:g} in row {outside[0]}"
        )
    return found


def disagreeing(history: History) -> Bools:
    """Mark scores, (k,), that differ from those computed from answers and labels."""
    gap = np.abs(history.scores - history.n_correct / history.n)
    return np.asarray(gap * history.n > 0.5)


def _n_classes(rows: Answers | None, truth: Ints | None) -> int | None:
    tops = [
        int(x.max()) for x in (rows, truth) if x is not None and x.size and x.dtype.kind in "iu"
    ]
    # Constant labels still leave two classes.
    return max(2, max(tops) + 1) if tops else None
