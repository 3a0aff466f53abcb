"""Replay of a history's submissions under guards, and the effect of noise alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
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
from privacygauge.leaderboards.history.overfitting import spread_of_public_errors, variance_known
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
        shown[i], after = guard.answer(submission, state)
        # A voided submission was answered, and counts for nothing else.
        if history.voided is None or not history.voided[i]:
            state = after
    counting = history.counting(np.arange(len(history)))
    true = best_so_far(history.n_correct[counting] / history.n)
    error = float(np.abs(best_so_far(shown[counting]) - true).mean())
    return Replay(
        guard=guard.name,
        shown=shown,
        improvements=improvements(shown[counting]),
        best=float(shown[counting].max()),
        error=error,
        nats=transcript_nats(guard, len(history), history.n, history.n_classes or 3),
        approximate=not whole,
    )


def other_answers(history: History) -> int | None:
    """Count the recorded answers that differ from the guard's answers to the exact scores.

    The guard keeps one state per account or one for all, whichever agrees better before the first
    voided submission. Return None if the count is unknown: without exact scores, or if an answer
    depends on more than the score. Accounts whose own state a voided submission or a merger has
    changed are left out, and where all share one state, what came after the first voided one.
    """
    guard = None if history.guard is None else guard_named(history.guard)
    by_score = Exact | Rounded | Calibrated | Ladder | ArcsineLadder
    if history.shown is None or not isinstance(guard, by_score):
        return None
    changed: set[int] = set()
    first = len(history)
    if history.voided is not None and history.voided.any():
        changed.update(history.codes[history.voided].tolist())
        first = int(history.voided.argmax())
    if history.sent_by is not None:
        merged = np.array(history.sent_by) != np.array(history.accounts)
        changed.update(history.codes[merged].tolist())
    known = ~np.isin(history.codes, list(changed))
    alone = _differing(history, guard, history.codes) & known
    # -1 is the single holder when all accounts share one state.
    shared = _differing(history, guard, np.full(len(history), -1))
    if np.count_nonzero(shared[:first]) < np.count_nonzero(alone[:first]):
        return int(np.count_nonzero(shared[:first]))
    return int(np.count_nonzero(alone))


def _differing(history: History, guard: Guard, holders: Ints) -> Bools:
    """Mark answers, (k,), that are not the guard's with a state for each of the holders, (k,)."""
    assert history.shown is not None
    # The board answered in n-ths of its own number of points, which may be another one of a metric.
    same = _SAME if history.counted else 1 / history.n
    states: dict[int, GuardState] = {}
    other = np.zeros(len(history), np.bool_)
    for i, holder in enumerate(holders.tolist()):
        score = float(history.scores[i])
        marked = MarkedSubmission(
            round(score * history.n), history.n, history.n_classes or 2, score=score
        )
        answer, states[holder] = guard.answer(marked, states.get(holder) or guard.start(b""))
        other[i] = abs(answer - history.shown[i]) > same
    return other


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
    """Mean correlation of the errors of the account's submissions; 0 if unknown."""
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
    correlation, least = _correlations(history, of)
    # Keep a variance above 0 when the median score is 0 or 1.
    typical = float(np.clip(np.median(scores), 1 / (2 * history.n), 1 - 1 / (2 * history.n)))
    selection = honest_best_of_k(history.n, different, accuracy=typical, correlation=least)
    if different > 1 and not variance_known(history.metric):
        # The bound on the variance may be ten times what the scores show.
        spread = spread_of_public_errors(history, of)
        selection = min(selection, expected_maximum(different) * spread)
    return Winner(
        account=history.names[code],
        submissions=different,
        best=best,
        margin=best - float(others.max()) if len(others) else None,
        correlation=correlation,
        selection=selection,
    )


def _correlations(history: History, of: Ints) -> tuple[float, float]:
    """Return the mean correlation of errors between the submissions of one account, at least 0.

    The second value is the least mean of a submission with the others: among many copies of one
    model a few others leave as much to choose from as if all were such.
    """
    if history.answers is None or history.labels is None or len(of) < 2:
        return 0.0, 0.0
    k = 0
    total = np.zeros(history.n)
    # Center each submission's right answers; a dot product of unit vectors is their correlation.
    # One without spread has none.
    for unit in _units(history, of):
        total += unit
        k += 1
    if k < 2:
        return 0.0, 0.0
    # The sum over all pairs is that of the summed unit vectors, less the diagonal.
    mean = (float((total**2).sum()) - k) / (k * (k - 1))
    least = min((float(unit @ total) - 1) / (k - 1) for unit in _units(history, of))
    return min(1.0, max(0.0, mean)), min(1.0, max(0.0, least))


def _units(history: History, of: Ints) -> Iterator[Floats]:
    """Yield a unit vector, (n,), of right answers for every submission that has some and errors."""
    assert history.answers is not None
    for row in of:
        right = row_of(history.answers, int(row)) == history.labels
        share = float(right.mean())
        if 0 < share < 1:
            yield (right - share) / math.sqrt(history.n * share * (1 - share))
