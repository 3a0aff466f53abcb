"""Result of an audit of a leaderboard's history, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.holdout.history.standing_out import HistoryFindings
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False, repr=False)
class LeaderboardResult(Reported, HistoryFindings):
    """Values that a `LeaderboardAudit` reports."""

    origin: Origin
    """Origin of the findings; an honest history has none with the probability of the level, over
    all tests.
    """
