"""Findings in a leaderboard's history, and its replay under guards, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.holdout.guards import guard_named
from privacygauge.holdout.history import replay as replays
from privacygauge.holdout.history.overfitting import Overfitting, overfitting
from privacygauge.holdout.history.record import History
from privacygauge.holdout.history.replay import Replay, Winner
from privacygauge.holdout.history.standing_out import (
    CorrectedTest,
    Submissions,
    evidence_in,
    history_by_submission,
    holm_corrected_tests,
    inspect,
    ladder_of,
    near_copies,
    shared_copies,
    taken_for_errors,
)


@dataclass(frozen=True, eq=False)
class HistoryFindings:
    """Findings in a leaderboard's history."""

    n: int
    """Points of the test set."""
    n_classes: int | None
    """Number of classes; None if unknown."""
    n_accounts: int
    """Accounts."""
    evidence: str
    """Contents of the history: scores, answers, labels."""
    tests: tuple[CorrectedTest, ...]
    """All tests, by rising p-value."""
    submissions: Submissions
    """Row by row."""
    winner: Winner
    """The leader, and the part of the lead that selection explains."""
    copies: int | None
    """Submissions that repeat an earlier one exactly; None without answers."""
    shared_copies: int | None
    """Those of them that repeat another account's."""
    near_copies: int | None
    """Submissions, not equal to any, whose nearest earlier one is another account's and differs on
    at most one point in a hundred; None without answers."""
    ladder: str
    """The name of the Ladder that `history_by_submission` shows."""
    replays: tuple[Replay, ...]
    """The history under guards."""
    ended: Overfitting | None
    """Public and private scores in the end; None without private ones."""

    missing: tuple[Skipped, ...]
    """Tests and replays that lack data, and why."""
    errors: str
    """Why the scores look like errors, of which less is better, so that no verdict is possible;
    empty if they do not.
    """

    @property
    def findings(self) -> tuple[CorrectedTest, ...]:
        """The tests that stand out, by rising p-value."""
        return tuple(test for test in self.tests if test.stands_out)

    @property
    def suspects(self) -> tuple[str, ...]:
        """The accounts of all findings, each once, those of the clearest finding first."""
        return tuple(dict.fromkeys(name for test in self.findings for name in test.accounts))

    @property
    def rises(self) -> int:
        """Number of times that the best score rose after the first submission."""
        return int(self.submissions.record.sum())

    @property
    def ladder_rises(self) -> int | None:
        """Number of rises that a Ladder would have shown; None without one."""
        shown = self.submissions.ladder
        return None if shown is None else int((shown[1:] > shown[:-1]).sum())


def examine_history(
    history: History, guards: Sequence[str], seed: int, level: float
) -> HistoryFindings:
    """Test a history at a level, and replay it under guards."""
    if isinstance(guards, str):
        raise InputError(f"guards must be a list of names, got the text {guards!r}")
    chosen = [guard_named(name) for name in guards]
    found = inspect(history, seeds.stream(seed, "points"))
    errors = taken_for_errors(history)
    # If errors were read as scores, the worst submissions would stand out.
    tests = holm_corrected_tests(found, -1.0 if errors else 1 - level)
    played = [replays.replay(history, g, seeds.stream(seed, "guard", g.name)) for g in chosen]
    ladder, name = ladder_of(history, seed)
    copied = None if found.near is None else ~found.near.fresh
    return HistoryFindings(
        history.n,
        n_classes=history.n_classes,
        n_accounts=len(history.names),
        evidence=evidence_in(history),
        tests=tests,
        submissions=history_by_submission(history, found, tests, ladder),
        winner=replays.winner(history),
        copies=None if copied is None else int(np.count_nonzero(copied)),
        shared_copies=shared_copies(history, found),
        near_copies=near_copies(history, found),
        ladder=name,
        replays=tuple(x for x in played if not isinstance(x, Skipped)),
        ended=overfitting(history, level),
        missing=(*found.skipped, *(x for x in played if isinstance(x, Skipped))),
        errors=errors,
    )
