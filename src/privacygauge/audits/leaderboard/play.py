"""The audit of a leaderboard's history: tests for cheating, and replays under guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privacygauge.audits.leaderboard.says import LeaderboardResult, plot_history, report
from privacygauge.audits.running import Running
from privacygauge.holdout.history.record import History
from privacygauge.holdout.history.standing_out import examine_history, history_warnings
from privacygauge.report.values import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GUARDS = ("exact", "round:2", "noise:0.005", "ladder", "ladder:0.01")
"""Guards under which a history is replayed by default."""


class LeaderboardAudit(LeaderboardResult):
    """Findings of an audit of a leaderboard's history, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Plot scores, best so far, noise and Ladder over the submissions."""
        return plot_history(self, ax)


def audit_leaderboard(
    history: History,
    *,
    guards: Sequence[str] = GUARDS,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_leaderboard",
    provenance: Mapping[str, str] | None = None,
) -> LeaderboardAudit:
    """Test a leaderboard's history for cheating, and replay it under guards.

    Parameters
    ----------
    history : History
        History from `read_history` or `in_time`. Scores alone show the least; submitted answers,
        and labels, allow more tests.
    guards : sequence of str
        Guards under which the history is replayed, as `guard_named` reads them.
    seed : int
        Seed of the sample of compared points, and of the guards' noise.
    level : float
        Joint level, in (0, 1): with at least this probability, a history that keeps to every test's
        null has no finding (Holm, over all accounts, groups and detectors).
    command, provenance
        Name of the command or call, as the report prints it.

    Returns
    -------
    LeaderboardAudit

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    A finding says that submissions are hardly possible under the test's null, which is stated with
    it. It is no proof of intent. Feldman, Frostig and Hardt (2019) say what an attack can gain, and
    Blum and Hardt (2015) what a Ladder shows.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.holdout.history.made import attacked_history
    >>> audit_leaderboard(attacked_history(np.random.default_rng(0), "nb", n=400, queries=60))
    <LeaderboardAudit: 1 account stands out: attacker-0>
    """
    running = Running(command, seed, level, provenance)
    found = examine_history(history, guards, seed, level)
    origin = running.origin("pandas", skipped=found.missing, warnings=history_warnings(history))
    return LeaderboardAudit(**vars(found), origin=origin)
