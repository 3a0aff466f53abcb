"""Findings in a leaderboard's history, corrected for the number of tests, and their value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.slices import holm
from privacygauge.leaderboards.guards import ParameterFreeLadder, guard_named
from privacygauge.leaderboards.history import answers as by_answers
from privacygauge.leaderboards.history import replay as replays
from privacygauge.leaderboards.history import votes
from privacygauge.leaderboards.history.answers import random_flips
from privacygauge.leaderboards.history.evidence import ALL, SCORE_SCAN, TIES, UNDECIDED, Evidence
from privacygauge.leaderboards.history.leads import leaps, near_perfect, seen_from
from privacygauge.leaderboards.history.overfitting import (
    Overfitting,
    final_gaps,
    overfitting,
    private_leads,
    wide_gaps,
)
from privacygauge.leaderboards.history.record import AUC, History, disagreeing
from privacygauge.leaderboards.history.replay import Replay, Winner
from privacygauge.leaderboards.history.scale import Scale
from privacygauge.leaderboards.history.scores import (
    blind_losses,
    block_scans,
    chance_scores,
    score_scan,
    scores_at_chance,
    scores_at_one_level,
)
from privacygauge.leaderboards.history.votes import Nearness, nearness
from privacygauge.leaderboards.metrics import metric_named

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrectedTest(Evidence):
    """One test, corrected for the number of tests made."""

    adjusted: float
    """p-value after Holm's correction over all tests, in (0, 1]."""
    stands_out: bool
    """Whether the test is a finding at the level."""


@dataclass(frozen=True, eq=False)
class Submissions:
    """Submissions in the order of time, as columns."""

    accounts: tuple[str, ...]
    """(k,) Account of each submission."""
    times: Floats | None
    """(k,) Time of each submission; None if only the order is known."""
    scores: Floats
    """(k,) Accuracies."""
    best: Floats
    """(k,) Best score so far."""
    record: Bools
    """(k,) Whether the submission beat all before it."""
    noise: Floats
    """(k,) Best score so far by noise alone, from the median score."""
    ladder: Floats | None
    """(k,) Answers of a Ladder; None if scores are rounded or noisy."""
    copy_of: Ints | None
    """(k,) The first submission with the same answers; None without answers."""
    distance: Ints | None
    """(k,) Number of points that differ from the nearest earlier submission; -1 if there is none.
    """
    flags: tuple[tuple[str, ...], ...]
    """(k,) Names of the findings that the submission is part of."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every submission, in the order of time.

        Columns: ``submission`` (from 0), ``time``, ``account``, ``score``, ``best_so_far``,
        ``record`` (beat all before it), ``noise`` (best so far by noise alone), ``ladder`` (value
        that a Ladder would have shown), ``copy_of`` (first submission with the same answers),
        ``distance`` (points changed from the nearest earlier one, -1 for none) and ``flags`` (names
        of findings, separated by commas). A column without data is missing throughout.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "submission": range(len(self.accounts)),
                "time": self.times,
                "account": list(self.accounts),
                "score": self.scores,
                "best_so_far": self.best,
                "record": self.record,
                "noise": self.noise,
                "ladder": self.ladder,
                "copy_of": self.copy_of,
                "distance": self.distance,
                "flags": [",".join(names) for names in self.flags],
            }
        )


_BELOW = 3.3
"""Standard deviations below 1/m: one random submission in a thousand scores less."""


_FALLING = 2.6
"""Standard deviations of a fall in scores that is rare if teams improve."""


_NEAR = 100
"""Near copies differ in at most one point in this number."""


_FEW = 20
"""Minimum number of submissions for a history to show anything."""


def holm_corrected_tests(evidence: Sequence[Evidence], most: float) -> tuple[CorrectedTest, ...]:
    """Return the tests with their p-values after Holm's correction, the smallest first."""
    if not evidence:
        return ()
    adjusted = holm(np.array([test.p_value for test in evidence]))
    tests = [
        CorrectedTest(**vars(test), adjusted=float(p), stands_out=bool(p <= most))
        for test, p in zip(evidence, adjusted, strict=True)
    ]
    return tuple(sorted(tests, key=lambda test: test.p_value))


def ladder_of(history: History, seed: int) -> tuple[replays.Replay | None, str]:
    """Replay the history under a ladder; return the replay, None if impossible, and its name."""
    whole = history.answers is not None and history.labels is not None
    guard = ParameterFreeLadder() if whole else replays.scores_ladder(history.n)
    found = replays.replay(history, guard, seeds.stream(seed, "ladder"))
    return (None if isinstance(found, Skipped) else found), guard.name


def history_by_submission(
    history: History,
    found: Inspection,
    tests: Sequence[CorrectedTest],
    ladder: replays.Replay | None,
) -> Submissions:
    """Return the history as columns, with the findings on each submission."""
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
        record=replays.record_submissions(history.scores),
        noise=replays.noise_curve(history),
        ladder=None if ladder is None else ladder.shown,
        copy_of=None if near is None else near.copy_of,
        distance=None if near is None else near.distance,
        flags=tuple(tuple(names) for names in flags),
    )


def shared_copies(history: History, found: Inspection) -> int | None:
    """Return how many submissions are copies of another account's; None without answers."""
    if found.near is None:
        return None
    # A copy points to the first submission with these answers; others point to themselves.
    other = history.codes[found.near.copy_of] != history.codes
    return int(np.count_nonzero(other))


def near_copies(history: History, found: Inspection) -> int | None:
    """Return how many are near copies of another account's; None without answers."""
    near = found.near
    if near is None:
        return None
    other = history.codes[near.nearest] != history.codes
    close = (near.distance > 0) & (near.distance <= history.n / _NEAR)
    return int(np.count_nonzero(near.fresh & other & close))


def evidence_in(history: History) -> str:
    """Name the data that the history holds on each submission."""
    if history.shown is not None and history.answers is None:
        return f"exact scores behind the guard {history.guard}"
    if history.answers is None:
        return "scores"
    return "scores and answers" if history.labels is None else "scores, answers and labels"


def history_warnings(history: History) -> tuple[str, ...]:
    """Return warnings about an easily misread history."""
    found = []
    if history.left_out:
        found.append(
            f"{history.left_out:,} rows count for nothing: made after the deadline, or without "
            "a score."
        )
    if history.in_private not in (None, history):
        found.append(
            f"{len(history.private_rows):,} of {len(history):,} submissions have a private score: "
            "whether a gap grew step by step cannot be seen, and a team's gap has to be as much "
            "wider as the best of all its submissions may have it by luck."
        )
    if history.unknown or history.best_only:
        number = f"{history.unknown:,} " if history.unknown else ""
        found.append(
            "This is a leaderboard and no history: it has the best of each account, and "
            f"{number}other submissions are not in it. What choosing among them gains is not "
            "known, and no climb can be seen: give the rows of all submissions."
        )
    if history.percentages:
        found.append(
            "The scores are neither shares nor right answers, and all lie in 0..100: they were "
            "read as percentages (87.8 as 87.8%)."
        )
    if len(history) < _FEW:
        found.append(
            f"{len(history)} submissions are too few to show much."
            if len(history) != 1
            else "1 submission is too few to show anything."
        )
    unknown = "a submission was voided, accounts were merged, "
    if changed := replays.other_answers(history):
        found.append(
            f"{changed:,} of {len(history):,} recorded answers are not what the guard "
            f"{history.guard} gives to the exact scores: "
            f"{'' if history.voided is not None else unknown}"
            "the log was changed, or it has parts of two boards."
        )
    if history.voided is not None and history.voided.any():
        found.append(
            f"{int(history.voided.sum()):,} of {len(history):,} submissions were voided: they are "
            "examined as the others are, and win nothing."
        )
    if history.sent_by is not None and (others := set(history.sent_by) - set(history.names)):
        found.append(
            f"{len(others):,} account{'s were' if len(others) > 1 else ' was'} merged into "
            "another: a team's submissions are examined as one account's."
        )
    if not history.counted and history.metric == AUC and history.n_smaller is None:
        found.append(
            f"The size of the smaller class is not known: the test of chance takes {history.n:,} "
            "for all points, and the others for the smaller class. If they are all points, these "
            "accuse too easily; if not, random scores could not have been seen. Give all points as "
            "--n and the others as --n-smaller, or the labels."
        )
    if not history.counted:
        read = ""
        if history.error_unit is not None:
            read = ", read as errors, of which less is better"
        elif metric_named(history.metric).worst is not None:
            read = ", read as 1 less the error, of which more is better, and shown as errors"
        found.append(
            f"The scores are {history.metric}{read}: what is known of accuracies alone is left "
            "out, and what luck explains is rough."
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
    if history.n_classes is None and history.counted:
        found.append("The number of classes is not known: random labels cannot be told.")
    if errors := taken_for_errors(history):
        mend = "Divide percentages by 100; of errors give 1 less the error"
        mend = mend if "percentages" in errors else "Give 1 less the error"
        found.append(f"{errors}: of errors nothing can be told. {mend}.")
    return tuple(found)


def taken_for_errors(history: History) -> str:
    """Return why the scores look like errors, of which less is better; empty if they do not.

    Notes
    -----
    Scores look like errors if half of the submissions are right less often than random labels, or
    if teams' scores fall over time. For teams that do not improve, a trend (Kendall's statistic) is
    as often up as down, however their submissions depend on each other: the sum of the trends over
    the root of the sum of their squares exceeds t with probability at most ``exp(-t^2 / 2)``
    (Hoeffding 1963). Errors of teams that do not improve, or of fewer than seven teams, are missed.
    """
    if history.answers is not None and history.labels is not None:
        return ""
    if history.n_classes is not None and history.metric == "accuracy":
        middle = float(np.median(history.scores))
        chance = 1 / history.n_classes
        if middle < chance - _BELOW * np.sqrt(chance * (1 - chance) / history.n):
            right = history.scores * history.n
            percentages = history.n > 100 >= right.max() and np.allclose(right, right.round())
            return (
                f"Half of the submissions score {middle:.3g} or less, below the {chance:.3g} of "
                "random labels, as error rates do"
                + (", or percentages that are taken for right answers" if percentages else "")
            )
    trends = np.array(
        [_trend(history.scores[history.rows_of(c)]) for c in range(len(history.names))]
    )
    if trends.sum() >= -_FALLING * np.sqrt((trends**2).sum()) or not trends.any():
        return ""
    return "The teams' scores fall as they go on, as error rates do"


def _trend(scores: Floats) -> float:
    """Return the share of rising pairs of submissions less the share of falling ones."""
    k = len(scores)
    if k < 2:
        return 0.0
    return float(np.sign(scores[None] - scores[:, None])[np.triu_indices(k, 1)].mean())


@dataclass(frozen=True, eq=False)
class Inspection:
    """Result of every detector, uncorrected, and the reasons for those that were skipped."""

    evidence: tuple[Evidence, ...]
    """One entry per test; p-values are not yet corrected for the number of tests."""
    undecided: tuple[Evidence, ...]
    """The same of detectors whose evidence honest work gives as well: worth a look at most."""
    skipped: tuple[Skipped, ...]
    """Detectors that lack data, with the reasons."""
    near: Nearness | None
    """Similarities among the answers; None if there are no answers."""


def inspect(history: History, rng: np.random.Generator) -> Inspection:
    """Run every detector for which the history holds enough data.

    Parameters
    ----------
    history : History
    rng : numpy.random.Generator
        Draws the points on which all submissions are compared, where there are many.
    """
    if history.answers is None:
        parts = [
            score_scan(history),
            chance_scores(history),
            _in_private(history, final_gaps),
            near_perfect(history),
        ]
        # Without answers, name every detector that would need them.
        absent = [Skipped(d.title, by_answers.NO_ANSWERS) for d in ALL if "answers" in d.needs]
        undecided = (
            *leaps(history),
            *scores_at_chance(history),
            *scores_at_one_level(history),
            *blind_losses(history),
            *block_scans(history),
            *_in_private(history, wide_gaps),
            *_in_private(history, private_leads),
        )
        return _gather_evidence([*parts, *absent], undecided, None)
    near = nearness(history, rng)
    random = by_answers.RandomRows.none(len(history))
    agreeing = None
    weak: tuple[Evidence, ...] = ()
    walks: tuple[Evidence, ...] = ()
    if history.n_classes is not None and history.counted:
        random = by_answers.random_rows(history, near)
        agreeing = ~random.flags[near.copy_of]
        # Files of weak models may be random labels all the same: worth a look.
        weak = by_answers.random_or_weak(history, near, random)
        walks = by_answers.random_walks(history, near, random)
        agreeing |= random.of_weak_models
    changes = random_flips(history, near, random)
    ties: tuple[Evidence, ...] = ()
    if not isinstance(changes, Skipped):
        ties = tuple(one for one in changes if one.detector is TIES)
        changes = tuple(one for one in changes if one.detector is not TIES)
    flips = by_answers.coins(history, near, random.ignorant)
    return _gather_evidence(
        [
            Skipped(SCORE_SCAN.title, "the answers show more: one label changed at a time"),
            chance_scores(history, near.constant, agreeing),
            _in_private(history, final_gaps),
            near_perfect(history),
            by_answers.one_label_scan(history, near),
            by_answers.random_answers(history, near, random),
            by_answers.random_changes(history, near, flips),
            changes,
            votes.votes(history, near, random.flags | flips.flags, random.uniform),
            votes.settled_points(history, near),
            by_answers.shared_lineage(history, near),
        ],
        (
            *leaps(history),
            *(scores_at_chance(history, near.constant) if agreeing is None else weak),
            *blind_losses(history),
            *block_scans(history),
            *_in_private(history, wide_gaps),
            *_in_private(history, private_leads),
            *by_answers.single_changes(history, near),
            *by_answers.blind_changes(history, near),
            *walks,
            *ties,
        ),
        near,
    )


_Tests = TypeVar("_Tests", tuple[Evidence, ...], tuple[Evidence, ...] | Skipped)


def _in_private(history: History, test: Callable[[History], _Tests]) -> _Tests:
    """Return tests of public beside private scores, of the submissions that have both.

    Whichever of a team's k submissions is judged was one of k chances to have a wide gap. Where
    some have no private score, the p-value of a gap is multiplied by k: that holds whatever the
    submissions share (Bonferroni).
    """
    judged = history.in_private
    if judged is None or judged is history:
        return test(history)
    found = test(judged)
    if isinstance(found, Skipped):
        return found
    chances = Counter(history.accounts)
    places = history.private_rows
    return tuple(
        replace(
            one,
            p_value=min(1.0, one.p_value * max(chances[name] for name in one.accounts)),
            rows=places[one.rows],
        )
        for one in found
    )


def _gather_evidence(
    parts: list[tuple[Evidence, ...] | Skipped],
    undecided: tuple[Evidence, ...],
    near: Nearness | None,
) -> Inspection:
    skipped = tuple(part for part in parts if isinstance(part, Skipped))
    found = tuple(x for part in parts if not isinstance(part, Skipped) for x in part)
    return Inspection(found, undecided, skipped, near)


@dataclass(frozen=True, eq=False)
class HistoryFindings:
    """Findings in a leaderboard's history."""

    n: int
    """Number of points of the test set."""
    n_classes: int | None
    """Number of classes; None if unknown."""
    n_accounts: int
    """Number of accounts."""
    evidence: str
    """Contents of the history: scores, answers, labels."""
    tests: tuple[CorrectedTest, ...]
    """All tests, by ascending p-value."""
    hints: tuple[CorrectedTest, ...]
    """Evidence that honest work gives as well, of accounts in no finding: worth a look."""
    submissions: Submissions
    """Submissions as columns."""
    winner: Winner
    """Leader, and the part of the lead that selection explains."""
    copies: int | None
    """Number of submissions that repeat an earlier one exactly; None without answers."""
    shared_copies: int | None
    """Number of these that repeat another account's; None without answers."""
    near_copies: int | None
    """Number of submissions, not equal to any, that differ on at most one point in a hundred from
    their nearest earlier one, which is another account's; None without answers.
    """
    ladder: str
    """Name of the Ladder shown by `history_by_submission`."""
    replays: tuple[Replay, ...]
    """Replays of the history under guards."""
    seen_from: float | None
    """Least share of labels whose knowledge, beside the best account's model, would have been worth
    a look from the scores; None if even all would not, or if there are fewer than five accounts.
    """
    ended: Overfitting | None
    """Public and private scores in the end; None without private ones."""
    missing: tuple[Skipped, ...]
    """Tests and replays that lack data, with the reasons."""
    scale: Scale
    """How scores are written."""
    errors: str
    """Why the scores look like errors, of which less is better, so that no verdict is possible;
    empty if they do not.
    """

    @property
    def findings(self) -> tuple[CorrectedTest, ...]:
        """Tests that stand out, by ascending p-value."""
        return tuple(test for test in self.tests if test.stands_out)

    @property
    def suspects(self) -> tuple[str, ...]:
        """Accounts of all findings, each once, those of the clearest finding first."""
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
    # If errors were read as scores, the worst submissions would stand out: -1 makes no finding.
    most = -1.0 if errors else 1 - level
    tests = holm_corrected_tests(found.evidence, most)
    suspects = {name for test in tests if test.stands_out for name in test.accounts}
    # Each of these detectors has the level for itself: what it says accuses nobody.
    hints = tuple(
        test
        for detector in UNDECIDED
        for test in holm_corrected_tests(
            [one for one in found.undecided if one.detector is detector], most
        )
        if test.stands_out and not suspects.issuperset(test.accounts)
    )
    played = [replays.replay(history, g, seeds.stream(seed, "guard", g.name)) for g in chosen]
    ladder, name = ladder_of(history, seed)
    copied = None if found.near is None else ~found.near.fresh
    return HistoryFindings(
        history.n,
        n_classes=history.n_classes,
        n_accounts=len(history.names),
        evidence=evidence_in(history),
        tests=tests,
        hints=hints,
        submissions=history_by_submission(history, found, tests, ladder),
        winner=replays.winner(history),
        copies=None if copied is None else int(np.count_nonzero(copied)),
        shared_copies=shared_copies(history, found),
        near_copies=near_copies(history, found),
        ladder=name,
        replays=tuple(x for x in played if not isinstance(x, Skipped)),
        seen_from=seen_from(history, level),
        ended=overfitting(history, level),
        missing=(*found.skipped, *(x for x in played if isinstance(x, Skipped))),
        scale=history.scale,
        errors=errors,
    )
