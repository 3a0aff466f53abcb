"""What attacks on a test set mean, in words for its owner."""

from __future__ import annotations

from privacygauge.report.holdout.findings import AttackFindings, Result
from privacygauge.report.holdout.words import (
    SCORES,
    attack_title,
    guard_title,
    points,
    points_estimate,
)
from privacygauge.report.numbers import count, percent, plain, rate
from privacygauge.report.verdict import Verdict

NONE, SMALL, MODERATE, LARGE = GRADES = ("no gain found", "small", "moderate", "large")
"""From mild to grave."""

LIMITS = (0.01, 0.05)
"""Biases from which a gain is moderate, and large: one point, five points."""

FIXED = (
    "The label file is fixed: trials differ in the attacker's random queries and in the guard's "
    "noise, and the intervals are about those, not about other label files."
)
"""What the intervals are about."""


def verdict(f: AttackFindings) -> Verdict:
    """Return the verdict on a test set behind the guards that were tried.

    Parameters
    ----------
    f : AttackFindings

    Returns
    -------
    Verdict
        By the attack that goes furthest behind any of the guards, and by the lower end of its
        bias, which allows for the choice: none at 0, small below one point, moderate below five,
        large from there on.
    """
    grade = grade_of(f.worst)
    sentences = (_found(f), *_by_guard(f), _sure(f), _selection(f), SCORES, _unsaid())
    return Verdict(grade, _headline(f, grade), sentences, _advice(f, grade))


def grade_of(r: Result) -> str:
    """Return the grade of a result, by the lower end of its corrected bias."""
    low = r.corrected.low
    if low <= 0:
        return NONE
    return SMALL if low < LIMITS[0] else MODERATE if low < LIMITS[1] else LARGE


def _headline(f: AttackFindings, grade: str) -> str:
    worst = f.worst
    if grade == NONE:
        tried = len(f.results)
        what = f"none of {tried} attacks gained" if tried > 1 else "the attack did not gain"
        return f"No gain found: {what} anything for certain with {count(f.queries)} submissions"
    return (
        f"{grade.capitalize()} gain: {count(f.queries)} submissions can buy "
        f"{points(worst.bias.value)} points of accuracy, from {guard_title(worst.guard)}"
    )


def _found(f: AttackFindings) -> str:
    worst = f.worst
    from_ = "a guess" if not worst.informed else "what it knew before"
    return (
        f"The attack that ends furthest, {attack_title(worst.attack)}, has "
        f"{percent(worst.accuracy.value)} of {count(f.n)} labels right after "
        f"{count(round(worst.queries_used))} submissions ({guard_title(worst.guard)}, "
        f"{count(f.classes)} classes); {from_} has {percent(worst.baseline)}. What it learnt is "
        "about these labels alone, and worth nothing on new data."
    )


def _by_guard(f: AttackFindings) -> tuple[str, ...]:
    if len(f.guards) < 2:
        return ()
    parts = []
    for guard in f.guards:
        best = f.worst_behind(guard.guard)
        gain = f"{points(best.bias.value)} ({attack_title(best.attack)})"
        sure = grade_of(best) != NONE
        parts.append(f"{plain(guard.guard)} {gain if sure else 'nothing for certain'}")
    return (f"The most that was gained behind each guard, in points: {'; '.join(parts)}.",)


def _sure(f: AttackFindings) -> str:
    if f.trials == 1:
        return f"One trial says nothing about how much chance was in it. {FIXED}"
    tried = len(f.results)
    allowing = f", which allows for having tried {tried} pairs" if tried > 1 else ""
    interval = points_estimate(f.worst.corrected).interval
    return (
        f"With {rate(f.level)} confidence the gain lies between {interval.replace(' to ', ' and ')}"
        f" points{allowing} ({count(f.trials)} trials each). {FIXED}"
    )


def _selection(f: AttackFindings) -> str:
    return (
        f"Nobody has to attack: the best of {count(f.queries)} honest submissions that are all "
        f"{percent(f.honest_accuracy)} right looks up to {points(f.honest)} points better than it "
        "is, on average, if scores are exact."
    )


def _unsaid() -> str:
    return (
        "It does not say that a stronger attack, or an attacker with a better model, would do no "
        "better; a guarantee for each guard is given beside."
    )


def _advice(f: AttackFindings, grade: str) -> tuple[str, ...]:
    best = min(f.guards, key=lambda g: f.worst_behind(g.guard).bias.value).guard
    last = "Rank by a second test set at the end, which no submission was ever scored on."
    limit = (
        "Limit the submissions of all accounts together: a limit an account falls to many accounts."
    )
    if grade == NONE:
        return (f"Keep {plain(f.worst.guard)} and the limits as they are.", last)
    if grade_of(f.worst_behind(best)) in (NONE, SMALL):
        guard = (
            f"Score behind {plain(best)}, which left least to gain of the guards that were tried."
        )
    else:
        guard = (
            "Try a guard that shows a score only when it is clearly better than the best so far: "
            "--guard exact,ladder."
        )
    return (guard, limit, "Try more attacks, and a good model's logits (--logits).", last)
