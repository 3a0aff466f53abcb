"""Replay of a history's submissions under guards, and the effect of noise alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.leaderboards.bounds import expected_maximum, honest_best_of_k, transcript_nats
from privacygauge.leaderboards.guards import (
    ArcsineLadder,
    Calibrated,
    Exact,
    Ladder,
    ParameterFreeLadder,
    Rounded,
    Thresholdout,
    guard_named,
)
from privacygauge.leaderboards.history.record import History
from privacygauge.leaderboards.history.submitted import first_copies, row_of
from privacygauge.leaderboards.mechanism import Guard, GuardState, MarkedSubmission

# Guards that need the submitted labels, not the score alone.
_NEEDS_ALL = (ParameterFreeLadder,)
# Tolerance for equal answers, which logs may hold as decimals.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Replay:
    """A history under one guard."""

    guard: str
    """Name of the guard."""
    shown: Floats = field(repr=False)
    """(k,) Answers that the submissions would have received."""
    improvements: int
    """Number of times that the best value shown rose after the first submission."""
    best: float
    """Best value shown in the end."""
    error: float
    """Mean distance between the best value shown and the best accuracy so far."""
    nats: float
    """Log of the number of transcripts that the guard could have produced; bounds the leak."""
    approximate: bool
    """Whether answers or labels are missing; without answers, noise is drawn by submission and not
    by content.
    """


def replay(history: History, guard: Guard, rng: np.random.Generator) -> Replay | Skipped:
    """Return the guard's answers to a history's submissions, or why there are none.

    Parameters
    ----------
    history : History
    guard : Guard
    rng : numpy.random.Generator
        Draws the guard's key.
    """
    whole = history.answers is not None and history.labels is not None
    if isinstance(guard, Thresholdout):
        return Skipped(guard.name, "needs the accuracy that each submission claimed")
    if isinstance(guard, _NEEDS_ALL) and not whole:
        return Skipped(guard.name, "needs the submitted answers and the labels")
    if not history.exact:
        return Skipped(guard.name, "the scores are rounded or noisy already")
    state = guard.start(rng.bytes(16))
    shown = np.empty(len(history))
    truth = np.empty(0, np.int64) if history.labels is None else history.labels
    for i in range(len(history)):
        # Guards draw noise by content; without answers, each submission counts as different.
        row = np.array([i]) if history.answers is None else row_of(history.answers, i)
        n_correct = int(history.n_correct[i])
        submission = MarkedSubmission(
            n_correct, history.n, history.n_classes or 2, labels=row, truth=truth
        )
        shown[i], state = guard.answer(submission, state)
    true = best_so_far(history.n_correct / history.n)
    error = float(np.abs(best_so_far(shown) - true).mean())
    return Replay(
        guard=guard.name,
        shown=shown,
        improvements=improvements(shown),
        best=float(shown.max()),
        error=error,
        nats=transcript_nats(guard, len(history), history.n, history.n_classes or 3),
        approximate=not whole,
    )


def other_answers(history: History) -> int | None:
    """Count the recorded answers that differ from the guard's answers to the exact scores.

    The guard keeps one state per account or one for all, whichever agrees better. Return None if
    the count is unknown: without exact scores, or if an answer depends on more than the score.
    Accounts whose own state a voided submission or a merger has changed are left out of the former.
    """
    guard = None if history.guard is None else guard_named(history.guard)
    by_score = Exact | Rounded | Calibrated | Ladder | ArcsineLadder
    if history.shown is None or not isinstance(guard, by_score):
        return None
    counts = np.round(history.scores * history.n).astype(np.int64)
    changed: set[int] = set()
    if history.voided is not None:
        changed.update(history.codes[history.voided].tolist())
    if history.sent_by is not None:
        merged = np.array(history.sent_by) != np.array(history.accounts)
        changed.update(history.codes[merged].tolist())
    fewest = len(history)
    for apart in (True, False):
        states: dict[int, GuardState] = {}
        other = 0
        for code, count, shown in zip(history.codes, counts, history.shown, strict=True):
            if apart and int(code) in changed:
                continue
            # -1 is the single holder when all accounts share one state.
            holder = int(code) if apart else -1
            before = states.get(holder) or guard.start(b"")
            marked = MarkedSubmission(int(count), history.n, history.n_classes or 2)
            answer, states[holder] = guard.answer(marked, before)
            other += abs(answer - shown) > _SAME
        fewest = min(fewest, other)
    return fewest


def scores_ladder(n: int) -> Ladder:
    """Return the Ladder for scores alone, with step 1/sqrt(n), the widest that two differ by."""
    return Ladder(min(1.0, 1 / math.sqrt(n)))


def best_so_far(scores: Floats) -> Floats:
    """Return the running maximum, (k,)."""
    return np.asarray(np.maximum.accumulate(scores))


def record_submissions(scores: Floats) -> Bools:
    """Return which submissions, (k,), beat all before them; the first does not count."""
    best = best_so_far(scores)
    return np.concatenate([[False], scores[1:] > best[:-1]])


def improvements(scores: Floats) -> int:
    """Return how often the best so far rose after the first submission."""
    return int(np.count_nonzero(record_submissions(scores)))


def noise_curve(history: History) -> Floats:
    """Return the expected best so far, (k,), of equally good submissions.

    The value is p + sqrt(p (1 - p)/n) E[max of t standard normals], p the median score: the best of
    t submissions with independent errors by luck alone. Best scores far above it show skill, or
    more than luck; scores below it show nothing.
    """
    p = float(np.median(history.scores))
    deviation = math.sqrt(p * (1 - p) / history.n)
    # The expected maximum changes slowly with t, so 60 places are enough to interpolate.
    places = np.unique(np.geomspace(1, len(history), 60).round().astype(np.int64))
    expected = np.array([expected_maximum(int(t)) for t in places])
    return np.asarray(p + deviation * np.interp(np.arange(1, len(history) + 1), places, expected))


@dataclass(frozen=True)
class Winner:
    """Account with the best score, and the part of its lead that selection alone explains."""

    account: str
    """Name of the leading account."""
    submissions: int
    """Number of different submissions of the account."""
    best: float
    """Best score of the account."""
    margin: float | None
    """Lead over the best score of any other account; None without others."""
    correlation: float
    """Correlation of the errors of the account's submissions; 0 if unknown."""
    selection: float
    """Upper bound on the mean gain from choosing the best among equally good submissions."""

    @property
    def explained(self) -> float | None:
        """Share of the margin that selection alone explains, at most 1."""
        if self.margin is None or self.margin <= 0:
            return None
        return min(1.0, self.selection / self.margin)


def winner(history: History) -> Winner:
    """Return the account with the best score, the first of several."""
    counting = history.counting(np.arange(len(history)))
    first = int(counting[np.argmax(history.scores[counting])])
    code = int(history.codes[first])
    of = history.rows_of(code)
    best = float(history.scores[first])
    others = history.scores[counting[history.codes[counting] != code]]
    scores = history.scores[of]
    different = len(of)
    if history.answers is not None:
        different = len(set(first_copies(history.answers)[of]))
    correlation = _correlation(history, of)
    # Keep a variance above 0 when the median score is 0 or 1.
    typical = float(np.clip(np.median(scores), 1 / (2 * history.n), 1 - 1 / (2 * history.n)))
    return Winner(
        account=history.names[code],
        submissions=different,
        best=best,
        margin=best - float(others.max()) if len(others) else None,
        correlation=correlation,
        selection=honest_best_of_k(history.n, different, accuracy=typical, correlation=correlation),
    )


def _correlation(history: History, of: Ints) -> float:
    """Return the mean correlation of errors between the submissions of one account, at least 0."""
    if history.answers is None or history.labels is None or len(of) < 2:
        return 0.0
    k = 0
    total = np.zeros(history.n)
    for row in of:
        right = row_of(history.answers, int(row)) == history.labels
        share = float(right.mean())
        # Center each submission's right answers; a dot product of unit vectors is their
        # correlation. One without spread has none.
        if 0 < share < 1:
            total += (right - share) / math.sqrt(history.n * share * (1 - share))
            k += 1
    if k < 2:
        return 0.0
    # The sum over all pairs is that of the summed unit vectors, less the diagonal.
    mean = (float((total**2).sum()) - k) / (k * (k - 1))
    return min(1.0, max(0.0, mean))
