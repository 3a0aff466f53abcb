"""Verdict on the number of submissions to a test set, in words for its owner."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.holdout_bound.result import HoldoutBoundsResult
from privacygauge.audits.holdout_words import LAST, LIMIT, SCORES, is_limiting, points
from privacygauge.report.numbers import Shown, count, percent, plain, rate, several
from privacygauge.report.values import Gauge, Grade, Severity, Verdict, gauge_limits

SAFE = Grade("safe against any attack", Severity.NOTHING)
SOUND = Grade("safe against known attacks", Severity.SMALL)
OPEN = Grade("open to attack", Severity.MODERATE)
WORN = Grade("too many submissions", Severity.GRAVE)
GRADES = (SAFE, SOUND, OPEN, WORN)
"""Grades, from mild to grave."""

UNKNOWN = Grade("to be measured", Severity.UNTOLD)
"""The grade if no formula covers the guard and nothing was simulated."""

UNINFORMED = (
    "An attacker who starts from a good model of its own gains on top of that model; privacygauge "
    "holdout attack --logits measures it."
)
"""Limits of the numbers for uniform labels."""


def verdict(f: HoldoutBoundsResult) -> Verdict:
    """Return the verdict on the size of a test set and the number of submissions to it.

    By what the owner allows: safe where the guarantee is within it; too many submissions
    where honest selection alone goes beyond; else by the strongest known attack, and to be
    measured where none is known to apply to the guard.
    """
    found = grade(f)
    scale = (UNKNOWN,) if found is UNKNOWN else GRADES
    headline = _headline(f, found)
    said = tuple(_sentences(f))
    todo = _advice(f, found)
    return Verdict(
        grade=found,
        scale=scale,
        headline=headline,
        sentences=said,
        unsaid=SCORES,
        advice=todo,
        gauge=_gauge(f),
    )


def _gauge(f: HoldoutBoundsResult) -> Gauge:
    """Return the gains from honest selection to the guarantee, with the allowed bias."""
    honest = f.bias("honest_best_of_k").value
    known = f.strongest
    most = f.allowed_bias
    value = honest if known is None else max(0.0, known.value)
    said = "attacks: not known" if known is None else f"{points(value)} by attack"
    return Gauge(
        "Points of accuracy that submissions can gain",
        Shown(f"{points(honest)} by honest selection, {said}"),
        low=min(honest, value),
        value=value,
        high=max(f.bias("kl").value, honest, value),
        limits=gauge_limits(most, honest, value),
        ticks=(f"{points(most)} points",),
        rule="The line runs from what honest selection gains to what no attack can exceed; the "
        "mark is the strongest known attack. What is allowed is the owner's choice (--bias).",
        zones=("Allowed", "Too much"),
    )


def grade(f: HoldoutBoundsResult) -> Grade:
    """Return one of `GRADES`, or `UNKNOWN`."""
    most = f.allowed_bias
    strongest = f.strongest
    if f.bias("honest_best_of_k").value > most:
        return WORN
    if f.bias("kl").value <= most:
        return SAFE
    if strongest is None:
        return UNKNOWN
    # A simulated bias counts by the upper end of its interval.
    high = -1.0 if f.simulated is None else f.simulated.high
    return SOUND if max(strongest.value, high) <= most else OPEN


def submissions_text(number: int | None) -> str:
    """Return a number of submissions or points; a dash if unknown."""
    if number is None:
        return "-"
    return "10\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO} or more" if number >= 10**12 else count(number)


def _headline(f: HoldoutBoundsResult, found: Grade) -> str:
    k = several(f.queries, "submission")
    most = points(f.allowed_bias)
    honest = points(f.bias("honest_best_of_k").value)
    gain = "" if f.strongest is None else _gain(f.strongest.value)
    if found == WORN:
        attacker = f", an attacker {gain}" if gain else ""
        gained = f"{count(f.queries)} gain an honest team up to {honest} points"
        return f"Too many submissions: {gained}{attacker}"
    if found == SAFE:
        return f"Safe: no attack gains more than {most} points with {k}"
    if found == UNKNOWN:
        return f"To be measured: no formula says what attacks gain behind {plain(f.guard)}"
    if found == SOUND:
        return f"No known attack gains more than {gain} points with {k}"
    return f"Open to attack: {k} can buy {gain} points without any model"


def _sentences(f: HoldoutBoundsResult) -> Iterator[str]:
    honest = f.bias("honest_best_of_k")
    strongest = f.strongest
    kl = f.bias("kl").value
    begin = (
        f"With {several(f.queries, 'submission')} to {several(f.n, 'example')} of "
        f"{count(f.classes)} classes, an honest team whose submissions are all "
        f"{percent(f.accuracy)} right gains up to {points(honest.value)} points, merely "
        "because the best score is chosen"
    )
    if strongest is None:
        yield (
            f"{begin}. What an attacker gains behind {plain(f.guard)} no formula says: "
            "privacygauge holdout attack measures it on your labels, "
            "--simulate here on made-up ones."
        )
    else:
        yield (
            f"{begin}; an attacker without any model gains {_gain(strongest.value)} points above "
            f"chance ({plain(strongest.title)})."
        )
    if is_limiting(kl, 1 - f.chance):
        yield (
            f"No attack without a model gains more than {points(kl)} points, with a probability "
            f"of {rate(f.level)}; below that there is no guarantee against attacks that nobody "
            "knows yet."
        )
    else:
        yield (
            "No guarantee holds against every conceivable attack: what so many answers can tell "
            "is enough, in theory, for all labels."
        )
    yield _allowed_text(f)
    yield (
        f"An attack's gain counts from {percent(f.chance)}, which a guess has, and holds for "
        "labels that are equally frequent. A point is a percentage point."
    )
    yield UNINFORMED


def _gain(bias: float) -> str:
    # A simulated bias may be below 0 by chance.
    return points(max(0.0, bias))


def _allowed_text(f: HoldoutBoundsResult) -> str:
    honest = f.allowed[0]
    every = f.allowed[-1]
    known = [a.submissions for a in f.allowed[1:-1] if a.submissions is not None]
    attacked = (
        f"; {_several(min(known))} by the strongest known attack, on average" if known else ""
    )
    most = f"{points(f.allowed_bias)} points"
    none = every.submissions == 0
    surely = "not even one is" if none else f"{_several(every.submissions)} are"
    return (
        f"What stays within {most} on such a test set: {_several(honest.submissions)} by honest "
        f"teams, with a probability of {rate(f.level)}{attacked}. Against every attack that there "
        f"may be, {surely} guaranteed."
    )


def _several(number: int | None) -> str:
    return f"{submissions_text(number)} submission{'' if number == 1 else 's'}"


def _advice(f: HoldoutBoundsResult, found: Grade) -> tuple[str, ...]:
    if found is SAFE:
        return ("Keep the limits and the guard as they are.", LAST)
    ladder = (
        "Show a score only when it is clearly better than the best so far (a Ladder); random "
        "queries then learn next to nothing."
    )
    digits = "Show fewer digits: it costs honest teams nothing that is not noise."
    guards = () if "ladder" in f.guard else (ladder, digits) if f.guard == "exact" else (ladder,)
    measure = "Measure it on your own labels: privacygauge holdout attack."
    size = f.allowed[0].points
    larger: tuple[str, ...] = ()
    if found is WORN and size is not None and size > f.n:
        examples = submissions_text(size)
        larger = (f"Use at least {examples} examples if honest teams are to submit as often.",)
    return (*larger, *guards, LIMIT, measure, LAST)
