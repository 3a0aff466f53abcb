"""The audit of a leaderboard's history: what stands out, and what a guard would have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from privacygauge.audits.leaderboard.found import CorrectedTest, LeaderboardAudit, Submissions
from privacygauge.audits.running import Running
from privacygauge.core import seeds
from privacygauge.core.checks import Bools
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.slices import holm
from privacygauge.holdout.guards import guard_named
from privacygauge.holdout.history import replay as replays
from privacygauge.holdout.history.detectors import detector_named
from privacygauge.holdout.history.inspection import Inspection, inspect
from privacygauge.holdout.history.nearness import Nearness
from privacygauge.holdout.history.overfitting import overfitting
from privacygauge.holdout.history.record import History, disagreeing
from privacygauge.holdout.ladder import ParameterFreeLadder

GUARDS = ("exact", "round:2", "noise:0.005", "ladder", "ladder:0.01")
"""Under which a history is replayed."""
_BELOW = 3.3
"""Standard deviations below 1/m: one random submission in a thousand scores less."""
_NEAR = 100
"""One point in so many may differ between near copies."""
_FEW = 20
"""Submissions: fewer show hardly anything."""


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
    tests = _tests(found, 1 - level)
    played = [replays.replay(history, g, seeds.stream(seed, "guard", g.name)) for g in chosen]
    ladder, name = _ladder(history, seed)
    copied = None if found.near is None else ~found.near.fresh
    skipped = (*found.skipped, *(x for x in played if isinstance(x, Skipped)))
    return LeaderboardAudit(
        running.origin("pandas", skipped=skipped, warnings=_warnings(history)),
        history.n,
        n_classes=history.n_classes,
        n_accounts=len(history.names),
        evidence=_evidence(history),
        tests=tests,
        submissions=_submissions(history, found, tests, ladder),
        winner=replays.winner(history),
        copies=None if copied is None else int(np.count_nonzero(copied)),
        shared_copies=_shared(history, found),
        near_copies=_near(history, found),
        ladder=name,
        replays=tuple(x for x in played if not isinstance(x, Skipped)),
        ended=overfitting(history, level),
    )


def _tests(found: Inspection, most: float) -> tuple[CorrectedTest, ...]:
    if not found.evidence:
        return ()
    adjusted = holm(np.array([test.p_value for test in found.evidence]))
    tests = [
        CorrectedTest(
            detector_named(test.detector),
            test.accounts,
            test.p_value,
            float(p),
            bool(p <= most),
            test.says,
            test.rows,
        )
        for test, p in zip(found.evidence, adjusted, strict=True)
    ]
    return tuple(sorted(tests, key=lambda test: test.p_value))


def _ladder(history: History, seed: int) -> tuple[replays.Replay | None, str]:
    whole = history.answers is not None and history.labels is not None
    guard = ParameterFreeLadder() if whole else replays.scores_ladder(history.n)
    found = replays.replay(history, guard, seeds.stream(seed, "ladder"))
    return (None if isinstance(found, Skipped) else found), guard.name


def _submissions(
    history: History,
    found: Inspection,
    tests: Sequence[CorrectedTest],
    ladder: replays.Replay | None,
) -> Submissions:
    flags: list[list[str]] = [[] for _ in range(len(history))]
    for test in tests:
        for row in test.rows if test.stands_out else ():
            if test.detector.name not in flags[row]:
                flags[row].append(test.detector.name)
    near = found.near
    return Submissions(
        history.accounts,
        history.times,
        scores=history.scores,
        best=replays.best_so_far(history.scores),
        record=replays.records(history.scores),
        noise=replays.noise_curve(history),
        ladder=None if ladder is None else ladder.shown,
        copy_of=None if near is None else near.copy_of,
        distance=None if near is None else near.distance,
        flags=tuple(tuple(names) for names in flags),
    )


def _shared(history: History, found: Inspection) -> int | None:
    if found.near is None:
        return None
    other = history.codes[found.near.copy_of] != history.codes
    return int(np.count_nonzero(other))


def _near(history: History, found: Inspection) -> int | None:
    near = found.near
    if near is None:
        return None
    other = history.codes[near.nearest] != history.codes
    return int(np.count_nonzero(near.fresh & other & (near.distance > 0) & _close(history, near)))


def _close(history: History, near: Nearness) -> Bools:
    return np.asarray(near.distance <= history.n / _NEAR)


def _evidence(history: History) -> str:
    if history.shown is not None and history.answers is None:
        return f"exact scores behind the guard {history.guard}"
    if history.answers is None:
        return "scores"
    return "scores and answers" if history.labels is None else "scores, answers and labels"


def _warnings(history: History) -> tuple[str, ...]:
    found = []
    if history.left_out:
        found.append(
            f"{history.left_out:,} rows count for nothing: made after the deadline, or without "
            "a score."
        )
    if len(history) < _FEW:
        found.append(f"{len(history)} submissions are too few to show much.")
    if changed := replays.other_answers(history):
        found.append(
            f"{changed:,} of {len(history):,} recorded answers are not what the guard "
            f"{history.guard} gives to the exact scores: the log was changed, or it has parts of "
            "two boards."
        )
    if not history.counted:
        found.append(
            f"The scores are {history.metric}: what is known of accuracies alone is left out, and "
            "what luck explains is rough."
        )
    elif not history.exact:
        what = (
            "rounded or noisy" if history.guard is None else f"answers of the guard {history.guard}"
        )
        found.append(
            f"The scores are {what}: what needs single right answers is left out. Audit "
            "the exact scores if you keep them."
        )
    if history.answers is not None and history.labels is not None:
        other = int(np.count_nonzero(disagreeing(history)))
        if other and history.exact and history.metric == "accuracy":
            found.append(
                f"{other:,} of {len(history):,} scores are not what answers and labels come to: "
                "they were rounded, or the files do not belong together. Answers and labels are "
                "believed."
            )
    if history.n_classes is None:
        found.append("The number of classes is not known: random labels cannot be told.")
    else:
        found += _below_chance(history, history.n_classes)
    return tuple(found)


def _below_chance(history: History, n_classes: int) -> list[str]:
    middle, chance = float(np.median(history.scores)), 1 / n_classes
    if middle >= chance - _BELOW * np.sqrt(chance * (1 - chance) / history.n):
        return []
    return [
        f"Half of the submissions score {middle:.3g} or less, below the {chance:.3g} of random "
        "labels: if these are error rates, nothing here can be told. Give accuracies."
    ]
