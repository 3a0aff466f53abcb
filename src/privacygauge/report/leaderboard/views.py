"""What the page on a leaderboard's history shows in its cards."""

from __future__ import annotations

from privacygauge.report.leaderboard.findings import LeaderboardFindings
from privacygauge.report.numbers import Shown, count, percent
from privacygauge.report.views import Card


def cards(f: LeaderboardFindings) -> tuple[Card, ...]:
    """Return the few numbers that matter most."""
    w, s = f.winner, f.submissions
    found = [
        Card(
            "Findings",
            Shown(count(len(f.findings))),
            f"of {count(len(f.tests))} tests, corrected for their number",
        ),
        Card("Best score", Shown(percent(w.best, 2)), "as the leaderboard had it"),
    ]
    if w.margin is not None:
        found.append(Card("Lead", Shown(percent(w.margin, 2)), "above the next account's best"))
    found.append(
        Card(
            "Selection alone",
            Shown(percent(w.selection, 2)),
            f"what the best of {count(w.submissions)} equally good submissions gains on average, "
            "at most",
        )
    )
    found.append(
        Card("Rises of the best", Shown(count(int(s.record.sum()))), "after the first submission")
    )
    if s.ladder is not None:
        shown = int((s.ladder[1:] > s.ladder[:-1]).sum())
        found.append(Card("Rises a Ladder shows", Shown(count(shown)), f"guard {f.ladder}"))
    return tuple(found)
