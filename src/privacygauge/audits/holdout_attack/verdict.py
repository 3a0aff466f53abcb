"""Verdict on attacks on a test set's labels, in words for its owner."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.holdout_attack.result import HoldoutResult
from privacygauge.audits.holdout_words import (
    LAST,
    LIMIT,
    OF_METRIC,
    SCORES,
    points,
    points_estimate,
)
from privacygauge.holdout.contest import AttackResult
from privacygauge.report.grades import LARGE, MODERATE, SMALL, UNTOLD
from privacygauge.report.numbers import Shown, count, percent, plain, rate, several
from privacygauge.report.values import Gauge, Grade, Severity, Verdict

NONE = Grade("no gain found", Severity.NOTHING)
GRADES = (NONE, SMALL, MODERATE, LARGE)
"""Grades, from mild to grave."""

LIMITS = (0.01, 0.05)
"""Biases from which a gain is moderate, and large: one point, five points."""

FIXED = (
    "The label file is fixed: trials differ in the attacker's random queries and in the guard's "
    "noise, and the intervals are about those, not about other label files."
)
"""Meaning of the intervals."""

UNSAID = (
    "It does not say that a stronger attack, or an attacker with a better model, would do no "
    "better; a guarantee for each guard is given beside."
)
"""Claims that the result does not make."""

_TITLES = {
    "nb": "naive Bayes",
    "majority-blum-hardt": "the majority of Blum and Hardt",
    "scan": "the linear scan",
    "message-passing": "message passing",
    "linear-programming": "linear programming",
    "designed": "designed queries",
    "reconstruction": "reconstruction of a few labels",
}


def verdict(f: HoldoutResult) -> Verdict:
    """Return the verdict on a test set behind the guards that were tried.

    By the strongest attack behind any of the guards, and by the lower end of its
    bias, which allows for the choice: none at 0, small below one point, moderate below five,
    large from there on. After a single trial it cannot be told.
    """
    grade = UNTOLD if f.trials == 1 else grade_of_attack(f.worst)
    scale = (UNTOLD,) if grade is UNTOLD else GRADES
    said = tuple(_sentences(f))
    todo = _advice(f, grade)
    return Verdict(
        grade=grade,
        scale=scale,
        headline=_headline(f, grade),
        sentences=said,
        unsaid=UNSAID,
        advice=todo,
        gauge=_gauge(f, grade),
    )


def _gauge(f: HoldoutResult, grade: Grade) -> Gauge | None:
    """Return the gain of the strongest attack on the scale of grades."""
    if grade is UNTOLD:
        return None
    bias = f.worst.bias
    found = f.worst.corrected
    return Gauge(
        f"Points of {f.scored} that the strongest attack gains",
        Shown(points(bias.value), points(found.low), points(found.high)),
        low=found.low,
        value=bias.value,
        high=found.high,
        limits=(-0.1, 0.0, *LIMITS, 0.5),
        ticks=("0", *(several(round(100 * limit), "point") for limit in LIMITS)),
        rule="The grade follows from the lower end of the interval. Its limits are a convention of "
        "PrivacyGauge: set your own with --fail-above or --policy.",
    )


def attack_title(name: str) -> str:
    """Return the name of an attack for use in a sentence."""
    return _TITLES.get(name, plain(name))


def guard_title(name: str) -> str:
    """Return the scores that a guard shows, for use in a sentence."""
    return "exact scores" if name == "exact" else f"scores behind {plain(name)}"


def grade_of_attack(r: AttackResult) -> Grade:
    """Return the grade of a result, by the lower end of its corrected bias."""
    low = r.corrected.low
    if low <= 0:
        return NONE
    return SMALL if low < LIMITS[0] else MODERATE if low < LIMITS[1] else LARGE


def about_scores(f: HoldoutResult) -> str:
    """Return the scope of the numbers: kinds of score that they do not cover."""
    return SCORES if f.scored == "accuracy" else OF_METRIC


def having(f: HoldoutResult, share: float) -> str:
    """Describe an accuracy or a score in words."""
    right = f.scored == "accuracy"
    return f"{percent(share)} of the labels right" if right else f"a score of {percent(share)}"


def each_with(f: HoldoutResult) -> str:
    """Describe the quality of honest submissions."""
    share = percent(f.honest_accuracy)
    return f"that are all {share} right" if f.scored == "accuracy" else f"that all score {share}"


def _headline(f: HoldoutResult, grade: Grade) -> str:
    worst = f.worst
    if grade is UNTOLD:
        return (
            f"It cannot be told from one trial, in which {count(f.queries)} submissions bought "
            f"{points(worst.bias.value)} points"
        )
    if grade == NONE:
        tried = len(f.results)
        what = f"none of {tried} attacks gained" if tried > 1 else "the attack did not gain"
        return f"No gain found: {what} anything for certain with {count(f.queries)} submissions"
    return (
        f"{grade.word.capitalize()} gain: {count(f.queries)} submissions can buy "
        f"{points(worst.bias.value)} points of {f.scored}, from {guard_title(worst.guard)}"
    )


def _sentences(f: HoldoutResult) -> Iterator[str]:
    worst = f.worst
    tried = len(f.results)
    from_ = "what it knew before" if worst.informed else "a guess"
    told = f", {count(f.classes)} classes" if f.classes else ""
    yield (
        f"The strongest attack, {attack_title(worst.attack)}, has "
        f"{having(f, worst.accuracy.value)} after {count(round(worst.queries_used))} submissions "
        f"to {count(f.n)} examples ({guard_title(worst.guard)}{told}); {from_} has "
        f"{percent(worst.baseline)}. What it learnt is about these labels alone, and worth nothing "
        "on new data."
    )
    if len(f.guards) > 1:
        gains = []
        for guard in f.guards:
            best = f.worst_behind(guard.guard)
            gain = f"{points(best.bias.value)} ({attack_title(best.attack)})"
            if grade_of_attack(best) == NONE:
                gain = "nothing for certain"
            gains.append(f"{plain(best.guard)} {gain}")
        yield f"The most that was gained behind each guard, in points: {'; '.join(gains)}."
    if f.trials == 1:
        yield f"One trial says nothing about how much chance was in it. {FIXED}"
    else:
        allowing = f", which allows for having tried {tried} pairs" if tried > 1 else ""
        interval = points_estimate(worst.corrected).interval.replace(" to ", " and ")
        yield (
            f"With {rate(f.level)} confidence the gain lies between {interval} points{allowing} "
            f"({count(f.trials)} trials each). {FIXED}"
        )
    yield (
        f"Nobody has to attack: the best of {count(f.queries)} honest submissions {each_with(f)} "
        f"looks up to {points(f.honest)} points better than it is, on average, if scores are exact."
    )
    yield about_scores(f)


def _advice(f: HoldoutResult, grade: Grade) -> tuple[str, ...]:
    best = min(f.guards, key=lambda g: f.worst_behind(g.guard).bias.value).guard
    if grade is UNTOLD:
        return ("Play more trials: --trials 10.", LAST)
    if grade == NONE:
        return (f"Keep {plain(f.worst.guard)} and the limits as they are.", LAST)
    if grade_of_attack(f.worst_behind(best)) in (NONE, SMALL):
        guard = (
            f"Score behind {plain(best)}, which left least to gain of the guards that were tried."
        )
    else:
        guard = (
            "Try a guard that shows a score only when it is clearly better than the best so far: "
            f"--guard exact,{'ladder' if f.scored == 'accuracy' else 'ladder:0.02'}."
        )
    if f.scored != "accuracy":
        return (guard, LIMIT, LAST)
    return (guard, LIMIT, "Try more attacks, and a good model's logits (--logits).", LAST)
