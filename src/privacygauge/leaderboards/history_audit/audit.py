"""The audit of a leaderboard's history, by tests and replays under guards, and its report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.kinds.one_line import by_position
from privacygauge.kinds.session import Session
from privacygauge.leaderboards.history.evidence import (
    ALL,
    CHANCE_SCORES,
    FINAL_GAP,
    SCAN,
    SCORE_SCAN,
    UNDECIDED,
    WIDE_GAP,
)
from privacygauge.leaderboards.history.findings import (
    CorrectedTest,
    HistoryFindings,
    examine_history,
    history_warnings,
)
from privacygauge.leaderboards.history.record import History
from privacygauge.report.axes import DASHES, OTHER, SERIES, axes, legend
from privacygauge.report.grades import UNTOLD
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal,
    first_names,
    p_value,
    percent,
    plain,
    rate,
    several,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    Content,
    FoldedBlocks,
    Gauge,
    Grade,
    Json,
    Measure,
    Origin,
    Pairs,
    Plot,
    Report,
    Section,
    Severity,
    Table,
    Verdict,
    Worst,
    gauge_limits,
    note,
    pick_values,
    table,
    text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


GUARDS = ("exact", "round:2", "noise:0.005", "ladder", "ladder:0.01")
"""Guards under which a history is replayed by default."""


@dataclass(frozen=True, eq=False, repr=False)
class LeaderboardAudit(Reported, HistoryFindings):
    """Findings of an audit of a leaderboard's history, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings; with the probability of its level, an honest history has no finding
    in any test.
    """

    def report(self) -> Report:
        """Return the report, as plain values."""
        n = several(len(self.submissions.accounts), "submission")
        accounts = several(self.n_accounts, "account")
        classes = f" and {count(self.n_classes)} classes" if self.n_classes else ""
        return Report(
            "leaderboard",
            "A leaderboard's history",
            about=About(
                f"A leaderboard's history of {n}",
                "Are there submissions that honest work would hardly make?",
                f"nobody attacked here; looked at: {self.evidence}",
                "test-set-reuse",
            ),
            intro=f"{n} by {accounts} to a test set of {count(self.n)} points{classes}; available: "
            f"{self.evidence}.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section("history", "History", _history(self)),
                Section("findings", "Findings", _findings(self), open=True),
                Section(
                    "guards", "The same submissions under guards", _guards(self), "Under guards"
                ),
                *_final_scores_section(self),
                Section("nulls", "What is taken for honest", _nulls(self)),
            ),
            terms=_terms(self),
            worst=Worst(
                "accounts", self.suspects, "" if self.suspects else "no account stands out"
            ),
            data=_data(self),
            frames={"records.parquet": self.submissions.to_frame},
            nothing_left_out="Nothing: every detector ran.",
            overview=(
                *([_found_table(self)] if self.findings else []),
                *([_guards_table(self)] if self.replays else []),
            ),
            sources="Submitted answers and labels are in no file.",
        )

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Plot scores, best so far, noise and Ladder over the submissions."""
        return plot_history(self, ax)


@by_position()
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
    >>> from privacygauge.leaderboards.history.made import attacked_history
    >>> audit_leaderboard(attacked_history(np.random.default_rng(0), "nb", n=400, queries=60))
    <LeaderboardAudit: 1 account stands out: attacker-0>
    """
    running = Session(command, seed, level, provenance)
    found = examine_history(history, guards, running.seed, level)
    origin = running.origin("pandas", skipped=found.missing, warnings=history_warnings(history))
    return LeaderboardAudit(**vars(found), origin=origin)


QUIET = Grade("nothing stands out", Severity.NOTHING)
WORTH_A_LOOK = Grade("worth a look", Severity.SMALL)
"""Grade of evidence that has an honest cause as likely as a cheat."""
LOUD = Grade("something stands out", Severity.MODERATE)
"""Grade of a finding: moderate and not grave, since it is not a proof."""
GRADES = (QUIET, WORTH_A_LOOK, LOUD)
"""Grades, from mild to grave."""

NO_PROOF = (
    "A finding is no proof of intent: each says what it may come from besides. Look at the "
    "submissions, and ask, before you accuse."
)
_MOST_NAMED = 3


def verdict(f: LeaderboardAudit) -> Verdict:
    """Return the verdict: findings, accounts, and the share that selection alone explains."""
    found = grade(f)
    # The gauge tells findings from none, and has no place for what has an honest cause as well.
    scale = {UNTOLD: (UNTOLD,), WORTH_A_LOOK: GRADES}.get(found, (QUIET, LOUD))
    unsaid = "An attack that looks like honest work, or is short, is not found by these tests."
    if f.findings:
        unsaid = NO_PROOF
    elif f.evidence == "scores":
        unsaid = (
            "Scores alone do not show random changes of a good model, nor random labels of unequal "
            "frequencies where these are far from even or the files few, nor who shares what, nor "
            "climbing on the public score without private scores: it does not follow that there "
            "was no attack. They are taken to be better the higher they are."
        )
    unmade = {skipped.name: skipped.reason for skipped in f.missing}
    if CHANCE_SCORES.title in unmade and f.tests:
        who = "sent random submissions"
        # Kept answers show single labels whatever the scores are.
        if SCORE_SCAN.title in unmade and SCAN.title in unmade:
            who = "tried single labels, or sent random submissions,"
        unsaid += f" Whoever {who} could not have been seen: {unmade[CHANCE_SCORES.title]}."
    if f.ended is not None and not f.findings and not f.errors:
        unsaid += f" {_climb(f, f.ended.seen_from, unmade.get(FINAL_GAP.title, ''))}"
    said = tuple(_sentences(f))
    return Verdict(
        grade=found,
        scale=scale,
        headline=headline(f),
        sentences=said,
        unsaid=unsaid,
        advice=tuple(advice(f)),
        gauge=_gauge(f),
    )


def _climb(f: LeaderboardAudit, seen_from: float | None, unmade: str) -> str:
    """Return which climb on the public score the private ones would have shown."""
    if seen_from is None:
        why = unmade or "the gaps of the teams tell too little"
        return f"A climb on the public score could not have been seen: {why}."
    return (
        f"A climb of {plain(f.winner.account)} would have been worth a look where the public score "
        f"ended better than the private one by {f.scale.gain(seen_from)} or more; a smaller one "
        "could not have been seen."
    )


def _gauge(f: LeaderboardAudit) -> Gauge | None:
    """Return the gauge of the clearest test against the joint level; None if nothing was tested."""
    if grade(f) in (UNTOLD, WORTH_A_LOOK):
        return None
    least = min(test.adjusted for test in f.tests)
    # Evidence as minus the logarithm of p to the base 10, so that the right is rarer.
    evidence = -math.log10(least)
    limit = -math.log10(1 - f.origin.level)
    return Gauge(
        f"The clearest of {several(len(f.tests), 'test')}, corrected for all of them",
        Shown(f"p {_p(least)}"),
        low=evidence,
        value=evidence,
        high=evidence,
        limits=gauge_limits(limit, evidence),
        ticks=(f"p = {1 - f.origin.level:g}",),
        rule="Further to the right is rarer in honest work. The scale is logarithmic.",
    )


def grade(f: LeaderboardAudit) -> Grade:
    """Return one of `GRADES`, or `UNTOLD`."""
    if not f.tests or f.errors or len(f.submissions.accounts) == 1:
        return UNTOLD
    if f.findings:
        return LOUD
    return WORTH_A_LOOK if f.hints else QUIET


def headline(f: LeaderboardAudit) -> str:
    """Return the verdict in one line."""
    if not f.tests:
        return "It cannot be told: this history holds too little for any test"
    if f.errors:
        return f"It cannot be told: {f.errors[:1].lower()}{f.errors[1:]}"
    if len(f.submissions.accounts) == 1:
        return "It cannot be told: 1 submission is too few to show anything"
    if not f.findings and f.hints:
        names = dict.fromkeys(name for hint in f.hints for name in hint.accounts)
        fell = tuple(
            name for hint in f.hints if hint.detector is WIDE_GAP for name in hint.accounts
        )
        others = tuple(name for name in names if name not in fell)
        if fell:
            return (
                f"{plain(first_names(fell, _MOST_NAMED))} fell far below the public score on "
                "private points, beside the other teams; worth a look, and no finding"
                f"{f', as is {plain(first_names(others, _MOST_NAMED))}' if others else ''}"
            )
        return (
            "Nothing stands out that honest work would hardly make; worth a look: "
            f"{plain(first_names(others, _MOST_NAMED))}"
        )
    if not f.findings:
        return "Nothing stands out: no submissions that honest work would hardly make"
    n = len(f.suspects)
    told = "1 account stands out" if n == 1 else f"{count(n)} accounts stand out"
    return f"{told}: {plain(first_names(f.suspects, _MOST_NAMED))}"


def advice(f: LeaderboardAudit) -> Iterator[str]:
    """Yield the next steps, the most urgent first."""
    if f.errors:
        yield "Give scores of which more is better, such as 1 less the error rate, and ask again."
        return
    if f.findings:
        yield (
            "Look at the flagged submissions (records.parquet names the findings of each), and "
            "score these accounts' last answers on labels that no score was ever shown of."
        )
    if f.evidence == "scores":
        yield "Keep the submitted answers: they show what scores cannot."
    yield (
        "Put a guard before the labels: a Ladder shows improvements only where they are real, and "
        "hides what attacks live on."
    )
    yield "Limit submissions in all, not only an account's: accounts are free."


def _sentences(f: LeaderboardAudit) -> Iterator[str]:
    if f.errors:
        yield (
            "Scores are taken to be better the higher they are. Of errors that would accuse "
            "whoever did worst, and miss who did best."
        )
        return
    if not f.tests:
        yield "No test could be made; what each would need is listed below."
    elif not f.findings and len(f.submissions.accounts) > 1:
        yield (
            f"{several(len(f.tests), 'test')} on "
            f"{several(len(f.submissions.accounts), 'submission')} by "
            f"{several(f.n_accounts, 'account')} found nothing that honest work would hardly make "
            f"(all tests together at {rate(f.level)})."
        )
    # Findings are sorted by p-value: reversed, the clearest of each detector is the last to be
    # kept.
    by_detector = {test.detector.name: test for test in reversed(f.findings)}
    clearest = sorted(by_detector.values(), key=lambda test: test.p_value)
    for test in clearest[:_MOST_NAMED]:
        same = [x for x in f.findings if x.detector == test.detector]
        accounts = dict.fromkeys(name for x in same for name in x.accounts)
        yield detector_sentence(test, tuple(accounts))
    for hint in {hint.detector.name: hint for hint in reversed(f.hints)}.values():
        alike = [other for other in f.hints if other.detector is hint.detector]
        named = tuple(dict.fromkeys(name for other in alike for name in other.accounts))
        of = plain(first_names(named, _MOST_NAMED))
        whose = ""
        if len(named) > len(hint.accounts):
            whose = f"of {plain(first_names(hint.accounts, _MOST_NAMED))}, "
        yield (
            f"Worth a look, and no finding: {hint.detector.title[0].lower()}"
            f"{hint.detector.title[1:]} ({of}): {whose}{plain(hint.says)}. "
            f"{hint.detector.limits}"
        )
    yield _lead(f)
    if f.ended is not None:
        first, *others = f.ended.teams
        ahead = ""
        if others:
            ahead = f", {f.scale.gain(first.private - others[0].private)} ahead of the next account"
        yield (
            f"On private points {plain(first.account)} wins, with {f.scale.value(first.private)}"
            f"{ahead}; its public score is {f.scale.value(first.public)}."
        )
    if f.ladder_rises is not None:
        yield (
            f"The best score rose {several(f.rises, 'time')}; a Ladder ({f.ladder}) would have "
            f"shown {count(f.ladder_rises)} of the rises."
        )


def detector_sentence(test: CorrectedTest, accounts: tuple[str, ...]) -> str:
    """Return a sentence on a detector's clearest finding, with all accounts that it found."""
    says = plain(test.says)
    if len(accounts) > len(test.accounts):
        says = f"of {plain(first_names(test.accounts, _MOST_NAMED))}, {says}"
    return (
        f"{plain(test.detector.title)} ({plain(first_names(accounts, _MOST_NAMED))}): {says} "
        f"(p {_p(test.p_value)}; corrected for all tests {_p(test.adjusted)})."
    )


def _p(value: float) -> str:
    return p_value(value) if value < 0.001 else f"= {p_value(value)}"


def _lead(f: LeaderboardAudit) -> str:
    w = f.winner
    told = f"The lead is {plain(w.account)}'s, with {f.scale.value(w.best)}"
    if w.margin is None:
        return f"{told}; there is no other account."
    luck = (
        f"Choosing the best of {count(w.submissions)} equally good submissions adds up to "
        f"{f.scale.gain(w.selection)} on average without any skill"
    )
    if w.explained is None:
        return f"{told}, level with another account. {luck}."
    return (
        f"{told}, {f.scale.gain(w.margin)} ahead of the next account. {luck}: "
        f"{percent(w.explained, 0)} of that margin."
    )


_ROWS = 25
"""Number of tests listed; all are in report.json."""

_NAMED = 8
"""Largest number of accounts that a row names."""

_MOST = 4_000
"""Largest number of submissions drawn; of more, an even sample and all flagged ones."""


def _measures(f: LeaderboardAudit) -> Iterator[Measure]:
    n = len(f.findings)
    w = f.winner
    explained = f.winner.explained
    yield Measure(
        name="findings",
        label="Findings",
        found=float(n),
        shown=Shown(f"{count(n)} of {several(len(f.tests), 'test')}"),
        note="corrected for their number",
        guessing=f"none, in at least {rate(f.level)} of honest histories",
        level=f.level if f.tests else None,
    )
    n = len(f.suspects)
    yield Measure("suspects", "Accounts in findings", float(n), Shown(count(n)), card=False)
    n = len(f.hints)
    yield Measure("hints", "Worth a look, and no finding", float(n), Shown(count(n)), card=False)
    yield Measure(
        "explained",
        "Share of the lead that selection alone explains",
        Skipped("explained", "no account is ahead") if explained is None else explained,
        Shown(DASH if explained is None else percent(explained, 0)),
        card=False,
    )
    by = f"by {several(f.n_accounts, 'account')}"
    yield _count("submissions", "Submissions", len(f.submissions.accounts), by)
    yield _share(
        "best",
        "Best score",
        found=w.best,
        shown=f.scale.value(w.best),
        note=f"by {plain(w.account)}, as the leaderboard had it",
    )
    if w.margin is not None:
        yield _share(
            "lead",
            "Lead",
            found=w.margin,
            shown=f.scale.gain(w.margin),
            note="ahead of the next account's best",
        )
    luck = f"what the best of {count(w.submissions)} equally good submissions gains on average, "
    yield _share(
        "selection",
        "Selection alone",
        found=w.selection,
        shown=f.scale.gain(w.selection),
        note=f"{luck}at most",
    )
    yield _count("rises", "Rises of the best", f.rises, "after the first submission")
    if (shown := f.ladder_rises) is not None:
        yield _count("ladder-rises", "Rises a Ladder shows", shown, f"guard {f.ladder}")
    if f.copies is not None and f.near_copies is not None:
        others = f"{count(f.shared_copies or 0)} of other accounts' submissions"
        yield _count("copies", "Exact copies", f.copies, others)
        near = f.near_copies
        yield _count("near-copies", "Near copies of others", near, "at most 1 point in 100")


def _share(name: str, label: str, *, found: float, shown: str, note: str) -> Measure:
    return Measure(
        name=name, label=label, found=float(found), shown=Shown(shown), note=note, gate=False
    )


def _count(name: str, label: str, value: int, note: str) -> Measure:
    return Measure(
        name=name, label=label, found=float(value), shown=Shown(count(value)), note=note, gate=False
    )


def _history(f: LeaderboardAudit) -> tuple[Block, ...]:
    s = f.submissions
    said = (
        "Noise alone: the best so far that submissions of the median score would reach by luck, if "
        "their errors were independent."
    )
    if f.copies is not None and f.near_copies is not None:
        said += (
            f" {several(f.copies, 'submission')} repeat an earlier one exactly, "
            f"{count(f.shared_copies or 0)} of them another account's; {count(f.near_copies)} more "
            "differ from another account's on at most one point in a hundred. Public baselines "
            "look like this, so these are counted and not tested."
        )
    return (
        Plot(
            "timeline",
            "Scores in the order of time",
            caption=(
                "Dots: submissions; crosses: those in a finding. Where the best so far stays near "
                "the curve of noise alone, luck explains it. The Ladder is what it would have "
                "shown."
            ),
            words=(
                f"The best score is {f.scale.value(s.best[-1])}, it rose "
                f"{several(f.rises, 'time')}; noise alone gives {f.scale.value(s.noise[-1])}."
            ),
            draw=lambda: plot_history(f),
        ),
        note(said),
    )


def _findings(f: LeaderboardAudit) -> tuple[Block, ...]:
    found: list[Block] = [text(f"None among {several(len(f.tests), 'test')}.")]
    if f.findings:
        found = [
            text(
                "What honest work, as stated below, would hardly make: all tests together err in "
                f"at most {rate(1 - f.level)} of honest histories (Holm). A finding is not a proof "
                "of intent."
            ),
            _tests_table("findings", "What stands out", f.findings),
        ]
    if f.hints:
        found += [
            text(
                "Worth a look: honest work and cheats look alike in these, so they are counted "
                "as no finding."
            ),
            _tests_table("hints", "Worth a look", f.hints),
        ]
    if not f.errors:
        found.append(note(_known_labels(f)))
    quiet = [test for test in f.tests if not test.stands_out][:_ROWS]
    if quiet:
        least = _tests_table("quiet", "The smallest p-values among them", quiet)
        found.append(FoldedBlocks("Tests that found nothing", (least,)))
    return tuple(found)


def _known_labels(f: LeaderboardAudit) -> str:
    """Return which knowledge of labels the scores would have shown."""
    if f.seen_from is None:
        return (
            "Who knows labels could not have been seen from these scores by the distance to the "
            "others, however many labels: there are too few accounts or points, or the accounts "
            "are too far apart."
        )
    return (
        f"Who knows {percent(f.seen_from, 0)} of the labels beside what the best model knows would "
        "have been worth a look by the distance to the others, from scores alone. Who knows fewer "
        "could not have been seen: a better model scores the same."
    )


def _tests_table(name: str, title: str, tests: Sequence[CorrectedTest]) -> Table:
    rows: list[dict[str, Content]] = [
        {
            "What": test.detector.title,
            "Accounts": first_names(test.accounts, _NAMED),
            "Seen": test.says,
            "p": p_value(test.p_value),
            "p, corrected": Shown(p_value(test.adjusted)),
        }
        for test in tests
    ]
    return table(name, title, rows, prose=("Accounts", "Seen"))


def _found_table(f: LeaderboardAudit) -> Table:
    """Return the findings for a terminal."""
    rows: list[dict[str, Content]] = [
        {
            "Finding": test.detector.title,
            "Accounts": first_names(test.accounts, _NAMED),
            "p": p_value(test.p_value),
            "p, corrected": p_value(test.adjusted),
        }
        for test in f.findings
    ]
    return table("found", "Findings", rows, prose=("Accounts",), spare=("p", "p, corrected"))


def _guards(f: LeaderboardAudit) -> tuple[Block, ...]:
    if not f.replays:
        return (text("Not replayed; the reasons are below."),)
    return (
        text(
            "What would have been shown if a guard had stood before the labels. The "
            "submissions are the same: under a guard, their makers might have gone other ways."
        ),
        _guards_table(f),
    )


def _guards_table(f: LeaderboardAudit) -> Table:
    return table(
        "guards",
        "Guard by guard",
        [
            {
                "Guard": Cell(r.guard, ("from scores alone",) if r.approximate else ()),
                "Rises shown": count(r.improvements),
                "Best shown": f.scale.number(r.best),
                "Mean error": f.scale.gain(r.error),
                "Nats": decimal(r.nats, 0),
            }
            for r in f.replays
        ],
        "Rises: how often the best value on display rose. Mean error: of the best value on "
        "display. Nats: the most that the guard can give away; fewer give away less.",
        spare=("Mean error", "Nats"),
    )


def _final_scores_section(f: LeaderboardAudit) -> tuple[Section, ...]:
    if f.ended is None:
        return ()
    e = f.ended
    slope, ranks = (DASH if x is None else decimal(x, 2) for x in (e.slope, e.ranks))
    points = " score, in points of a hundred" if f.scale.worst is None else ""
    said = (
        f"{f.scale.gaps}{points}: {f.scale.gap(e.mean)} on average over "
        f"{several(len(e.teams), 'team')}, {f.scale.gap(e.top)} for the tenth with the best public "
        f"scores. The line of private on public scores through all submissions has the slope "
        f"{slope}, 1 where gains carry over in full. The rank correlation of teams is {ranks}."
    )
    unmade = {skipped.name: skipped.reason for skipped in f.missing}
    said += f" {_climb(f, e.seen_from, unmade.get(FINAL_GAP.title, ''))}"
    tested = {x.accounts: x.adjusted for x in f.tests if x.detector is FINAL_GAP}
    # A difference that sampling does not explain is not yet a finding: the page says why.
    wide = {name for hint in f.hints for name in hint.accounts}
    quiet = [
        team.account
        for team in e.teams
        if (team.p_value or 1.0) <= 1 - f.origin.level < tested.get((team.account,), 0.0)
        and team.account not in wide
        and team.difference > 0
    ]
    # Nobody chose by the private scores: neither choosing nor a harder part explains these.
    above = [
        team.account
        for team in e.teams
        if team.p_value is not None and team.p_value <= 1 - f.origin.level and team.difference < 0
    ]
    if quiet:
        said += (
            f" Of {first_names(quiet, _NAMED)} the parts differ by more than sampling explains, "
            "and by "
            "no more than it does along with choosing among many submissions or with a private "
            "part that is harder for all."
        )
    if above:
        said += (
            f" Of {first_names(above, _NAMED)} the private score is above the public one by more "
            "than sampling explains: a private part that is easier does that to most teams, and "
            "labels that got out to a few."
        )
    rows: list[dict[str, Content]] = [
        {
            "Team": team.account,
            "Submissions": count(team.submissions),
            "Public": f.scale.number(team.public),
            "Private": f.scale.number(team.private),
            f.scale.gaps: f.scale.gap(team.difference),
            "Interval": DASH
            if team.gap is None
            else f"{f.scale.gap(team.gap.low)} to {f.scale.gap(team.gap.high)}",
            "p, equal parts": DASH if team.p_value is None else Shown(p_value(team.p_value)),
            "p, as a finding": Shown(p_value(tested[team.account,]))
            if (team.account,) in tested
            else DASH,
        }
        for team in e.teams[:_ROWS]
    ]
    why = (
        "p, equal parts: whether both are equally easy for a team that chose nothing, corrected "
        "for all teams (Holm). p, as a finding: beside the other teams, and with what choosing "
        "among its submissions gains, corrected for all tests; 1 where the gap did not grow from "
        "one best score to the next, as a part that is harder for this team explains it."
    )
    found = table("ended", "Team by team, by private score", rows, why, prose=("Team",))
    return (Section("ended", "How the contest ended", (text(said), found), "The end"),)


def _nulls(f: LeaderboardAudit) -> tuple[Block, ...]:
    ran = {test.detector.name for test in (*f.tests, *f.hints)}
    return (
        text(
            "Every p-value is about a null: a statement that honest work is assumed to keep "
            "to. Where an honest account does not keep to it, a finding is wrong, however "
            "small its p-value."
        ),
        Pairs(
            tuple((x.title, f"{x.null} {x.limits}") for x in (*ALL, *UNDECIDED) if x.name in ran)
        ),
    )


def plot_history(f: LeaderboardAudit, ax: Axes | None = None) -> Axes:
    """Draw scores, best so far, noise and Ladder over submissions; numbers: `Submissions`."""
    s = f.submissions
    new = ax is None
    ax = axes(ax)
    place = np.arange(1, len(s.scores) + 1)
    flagged = np.array([bool(names) for names in s.flags])
    # Every flagged submission, and an even sample of the others.
    shown = flagged | (np.arange(len(place)) % max(1, len(place) // _MOST) == 0)
    others = shown & ~flagged
    marked = flagged
    size = 9 if len(place) < 500 else 4
    ax.scatter(
        place[others],
        f.scale.units(s.scores[others]),
        s=size,
        color=OTHER,
        lw=0,
        label="submissions",
    )
    if marked.any():
        ax.scatter(place[marked], f.scale.units(s.scores[marked]), s=size + 5, marker="x", lw=0.9,
                   color=SERIES[1], label="in a finding")  # fmt: skip
    curves = (("best so far", s.best), ("noise alone", s.noise), ("Ladder", s.ladder))
    for (name, values), colour, dash in zip(curves, (0, 2, 3), DASHES, strict=False):
        if values is not None:
            ax.step(place, f.scale.units(values), where="post", color=SERIES[colour], ls=dash,
                    lw=1.5, label=name)  # fmt: skip
    ax.set(xlabel="Submission, in the order of time", ylabel=f.scale.axis)
    legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    figure = ax.get_figure(root=True)
    if new and figure is not None:
        figure.set_size_inches(4.8, 3.6)
    return ax


def _terms(f: LeaderboardAudit) -> dict[str, str]:
    return {
        "p": "How probable what was seen is, at most, in work that keeps to the null.",
        "p, corrected": "The same after Holm's correction for all tests that were made. Findings "
        f"are those of at most {rate(1 - f.level)}.",
        "Random query": "A submission of random labels, or of random changes to a model's, made to "
        "learn from its score.",
        "Ladder": "A leaderboard that shows a new value only where it is clearly better than the "
        "best so far (Blum and Hardt 2015).",
        "Selection alone": "The best of many equally good submissions scores above what each is "
        "worth: nobody has to cheat for that.",
        "Nats": "The logarithm of the number of transcripts that a guard could have shown: no "
        "attack can learn more.",
    }


def _data(f: LeaderboardAudit) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has.

    Submissions are numbered in time, from 0; submitted answers and labels are not in it.
    """
    ended: dict[str, Json] = {}
    if f.ended is not None:
        keys = "account", "submissions", "public", "private", "difference", "p_value"
        teams: list[Json] = [pick_values(team, *keys) for team in f.ended.teams]
        ended["ended"] = {
            **pick_values(f.ended, "mean", "top", "slope", "ranks", "seen_from"),
            "teams": teams,
        }
    return {
        **pick_values(f, "n", "evidence", "suspects", "copies", classes="n_classes"),
        **pick_values(
            f, accounts="n_accounts", improvements="rises", copies_of_others="shared_copies"
        ),
        **pick_values(f, "seen_from", near_copies_of_others="near_copies"),
        "submissions": len(f.submissions.accounts),
        "findings": [{**_test(test), "submissions": test.rows.tolist()} for test in f.findings],
        "hints": [{**_test(test), "submissions": test.rows.tolist()} for test in f.hints],
        "tests": [_test(test) for test in f.tests],
        "winner": {**pick_values(f.winner, "explained"), **pick_values(f.winner, *vars(f.winner))},
        **ended,
        "ladder": pick_values(f, guard="ladder", improvements="ladder_rises"),
        "guards": [
            pick_values(
                r, "guard", "improvements", "best", "nats", "approximate", mean_error="error"
            )
            for r in f.replays
        ],
    }


def _test(test: CorrectedTest) -> dict[str, Json]:
    detector = pick_values(test.detector, "title", "null", detector="name")
    return {**detector, **pick_values(test, "accounts", "p_value", "adjusted", "says")}
