"""The audit of a leaderboard's history: what stands out, and what a guard would have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from privacygauge.audits.leaderboard.found import LeaderboardAudit
from privacygauge.audits.running import Running
from privacygauge.core import seeds
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.holdout.guards import guard_named
from privacygauge.holdout.history import replay as replays
from privacygauge.holdout.history.inspection import inspect
from privacygauge.holdout.history.overfitting import overfitting
from privacygauge.holdout.history.record import History
from privacygauge.holdout.history.standing_out import (
    corrected,
    evidence_in,
    ladder_of,
    near_copies,
    shared_copies,
    submissions,
    warnings_about,
)

GUARDS = ("exact", "round:2", "noise:0.005", "ladder", "ladder:0.01")
"""Under which a history is replayed."""


def audit_leaderboard(
    history: History,
    *,
    guards: Sequence[str] = GUARDS,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_leaderboard",
    provenance: Mapping[str, str] | None = None,
) -> LeaderboardAudit:
    """Return what stands out in a leaderboard's history, and what guards would have shown.

    Parameters
    ----------
    history : History
        From `read_history` or `in_time`. Scores alone show the least; with the submitted
        answers, and with the labels, more is looked for.
    guards : sequence of str
        Under which the history is replayed, as `guard_named` reads them.
    seed : int
        Of the points on which all answers are compared, and of the guards' noise.
    level : float
        In (0, 1): a history that keeps to every test's null has no finding with at least this
        probability (Holm, over all accounts, groups and detectors).
    command, provenance
        What the report names as its origin.

    Returns
    -------
    LeaderboardAudit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    A finding says that submissions are hardly possible under the null of the test, which is
    stated with it. It is no proof of intent. What an attack can gain: Feldman, Frostig and Hardt
    (2019); what a Ladder shows: Blum and Hardt (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.holdout.history.made import attacked_history
    >>> audit_leaderboard(attacked_history(np.random.default_rng(0), "nb", n=400, queries=60))
    <LeaderboardAudit: 1 account stands out: attacker-0>
    """
    running = Running(command, seed, level, provenance)
    if isinstance(guards, str):
        raise InputError(f"guards must be a list of names, got the text {guards!r}")
    chosen = [guard_named(name) for name in guards]
    found = inspect(history, seeds.stream(seed, "points"))
    tests = corrected(found, 1 - level)
    played = [replays.replay(history, g, seeds.stream(seed, "guard", g.name)) for g in chosen]
    ladder, name = ladder_of(history, seed)
    copied = None if found.near is None else ~found.near.fresh
    skipped = (*found.skipped, *(x for x in played if isinstance(x, Skipped)))
    return LeaderboardAudit(
        running.origin("pandas", skipped=skipped, warnings=warnings_about(history)),
        history.n,
        n_classes=history.n_classes,
        n_accounts=len(history.names),
        evidence=evidence_in(history),
        tests=tests,
        submissions=submissions(history, found, tests, ladder),
        winner=replays.winner(history),
        copies=None if copied is None else int(np.count_nonzero(copied)),
        shared_copies=shared_copies(history, found),
        near_copies=near_copies(history, found),
        ladder=name,
        replays=tuple(x for x in played if not isinstance(x, Skipped)),
        ended=overfitting(history, level),
    )
