"""The verdict on a leaderboard's history, in words for its owner."""

from __future__ import annotations

import math
from collections.abc import Iterator

from privacygauge.audits.leaderboard.result import LeaderboardResult
from privacygauge.holdout.history.standing_out import CorrectedTest
from privacygauge.report.grades import UNTOLD
from privacygauge.report.numbers import (
    Shown,
    count,
    first_names,
    p_value,
    percent,
    plain,
    rate,
    several,
)
from privacygauge.report.values import Gauge, Grade, Severity, Verdict, gauge_limits

QUIET = Grade("nothing stands out", Severity.NOTHING)
LOUD = Grade("something stands out", Severity.MODERATE)
"""Grade of a finding: moderate and not grave, since it is not a proof."""
GRADES = (QUIET, LOUD)
"""Grades, from mild to grave."""

NO_PROOF = (
    "A finding is no proof of intent: each says what it may come from besides. Look at the "
    "submissions, and ask, before you accuse."
)
_NAMED = 3


def verdict(f: LeaderboardResult) -> Verdict:
    """Return the verdict: findings, accounts, and the part that selection alone explains."""
    found = grade(f)
    scale = (UNTOLD,) if found is UNTOLD else GRADES
    unsaid = NO_PROOF if f.findings else _undetected_text(f)
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


def _gauge(f: LeaderboardResult) -> Gauge | None:
    """Return the clearest test and the joint level of all; None without a test, or for errors."""
    if not f.tests or f.errors:
        return None
    least = min(test.adjusted for test in f.tests)
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


def grade(f: LeaderboardResult) -> Grade:
    """Return one of `GRADES`, or `UNTOLD`."""
    if not f.tests or f.errors:
        return UNTOLD
    return LOUD if f.findings else QUIET


def headline(f: LeaderboardResult) -> str:
    """Return the verdict in one line."""
    if not f.tests:
        return "It cannot be told: this history holds too little for any test"
    if f.errors:
        return f"It cannot be told: {f.errors[:1].lower()}{f.errors[1:]}"
    if not f.findings:
        return "Nothing stands out: no submissions that honest work would hardly make"
    n = len(f.suspects)
    told = "1 account stands out" if n == 1 else f"{count(n)} accounts stand out"
    return f"{told}: {plain(first_names(f.suspects, _NAMED))}"


def advice(f: LeaderboardResult) -> Iterator[str]:
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


def _sentences(f: LeaderboardResult) -> Iterator[str]:
    if f.errors:
        yield (
            "Scores are taken to be better the higher they are. Of errors that would accuse "
            "whoever did worst, and miss who did best."
        )
        return
    if not f.tests:
        yield "No test could be made; what each would need is listed below."
    elif not f.findings:
        yield (
            f"{several(len(f.tests), 'test')} on "
            f"{several(len(f.submissions.accounts), 'submission')} by "
            f"{several(f.n_accounts, 'account')} found nothing that honest work would hardly make "
            f"(all tests together at {rate(f.level)})."
        )
    by_detector = {test.detector.name: test for test in reversed(f.findings)}
    clearest = sorted(by_detector.values(), key=lambda test: test.p_value)
    for test in clearest[:_NAMED]:
        same = [x for x in f.findings if x.detector == test.detector]
        accounts = dict.fromkeys(name for x in same for name in x.accounts)
        yield detector_sentence(test, tuple(accounts))
    yield _lead(f)
    if f.ladder_rises is not None:
        yield (
            f"The best score rose {several(f.rises, 'time')}; a Ladder ({f.ladder}) would have "
            f"shown {count(f.ladder_rises)} of the rises."
        )


def detector_sentence(test: CorrectedTest, accounts: tuple[str, ...]) -> str:
    """Return the clearest finding of a detector in a sentence, with all accounts it found."""
    says = plain(test.says)
    if len(accounts) > len(test.accounts):
        says = f"of {plain(first_names(test.accounts, _NAMED))}, {says}"
    return (
        f"{plain(test.detector.title)} ({plain(first_names(accounts, _NAMED))}): {says} "
        f"(p {_p(test.p_value)}; corrected for all tests {_p(test.adjusted)})."
    )


def _p(value: float) -> str:
    return p_value(value) if value < 0.001 else f"= {p_value(value)}"


def _lead(f: LeaderboardResult) -> str:
    w = f.winner
    told = f"The lead is {plain(w.account)}'s, with {percent(w.best, 2)}"
    if w.margin is None:
        return f"{told}; there is no other account."
    luck = (
        f"Choosing the best of {count(w.submissions)} equally good submissions adds up to "
        f"{percent(w.selection, 2)} on average without any skill"
    )
    if w.explained is None:
        return f"{told}, level with another account. {luck}."
    return (
        f"{told}, {percent(w.margin, 2)} ahead of the next account. {luck}: "
        f"{percent(w.explained, 0)} of that margin."
    )


def _undetected_text(f: LeaderboardResult) -> str:
    if f.evidence == "scores":
        return (
            "Scores alone do not show random changes of a good model, nor who shares what, nor "
            "climbing on the public score without private scores: it does not follow that there "
            "was no attack. They are taken to be better the higher they are."
        )
    return "An attack that looks like honest work, or is short, is not found by these tests."
