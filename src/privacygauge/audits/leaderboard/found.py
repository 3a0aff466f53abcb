"""What an audit of a leaderboard's history found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.holdout.history.overfitting import Overfitting
from privacygauge.holdout.history.replay import Replay, Winner
from privacygauge.holdout.history.standing_out import CorrectedTest, Submissions
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LeaderboardAudit(Reported):
    """What an audit of a leaderboard's history found, with ways to look at it."""

    origin: Origin
    """Where it comes from; an honest history has no finding with the probability of its level, all
    tests together."""
    n: int
    """Points of the test set."""
    n_classes: int | None
    """Classes; None where not known."""
    n_accounts: int
    """Accounts."""
    evidence: str
    """What the history holds: scores, answers, labels."""
    tests: tuple[CorrectedTest, ...]
    """All that were made, by rising p-value."""
    submissions: Submissions
    """Row by row."""
    winner: Winner
    """Who leads, and what of the lead selection explains."""
    copies: int | None
    """Submissions that repeat an earlier one exactly; None without answers."""
    shared_copies: int | None
    """Those of them that repeat another account's."""
    near_copies: int | None
    """Submissions, not equal to any, whose nearest earlier one is another account's and differs on
    at most one point in a hundred; None without answers."""
    ladder: str
    """The name of the Ladder that `submissions` shows."""
    replays: tuple[Replay, ...]
    """The history under guards."""
    ended: Overfitting | None = None
    """Public and private scores in the end; None without private ones."""

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
        """How often the best score rose after the first submission."""
        return int(self.submissions.record.sum())

    @property
    def ladder_rises(self) -> int | None:
        """How many of the rises a Ladder would have shown; None without one."""
        shown = self.submissions.ladder
        return None if shown is None else int((shown[1:] > shown[:-1]).sum())

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.leaderboard.says import report

        return report(self)

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Return axes with scores, best so far, noise and Ladder over the submissions."""
        from privacygauge.audits.leaderboard.says import plot_history

        return plot_history(self, ax)
