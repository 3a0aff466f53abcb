"""Grades of leaks: none, small, moderate, large; or `UNTOLD`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.headline import AttackReach
from privacygauge.report.numbers import Shown, percent, percent_estimate
from privacygauge.report.values import Gauge, Grade, Severity, Verdict

NONE = Grade("no leak found", Severity.NOTHING)
SMALL = Grade("small", Severity.SMALL)
MODERATE = Grade("moderate", Severity.MODERATE)
LARGE = Grade("large", Severity.GRAVE)
GRADES = (NONE, SMALL, MODERATE, LARGE)
"""Grades from mild to grave."""

UNTOLD = Grade("cannot be told", Severity.UNTOLD)
"""Grade if the measurements support no statement about the release."""

UNSHOWN = "It says neither that something leaks nor that nothing does."
"""Limits of a verdict without a finding."""


def scale_of(grade: Grade) -> tuple[Grade, ...]:
    """Return the scale of a grade; `UNTOLD` has a scale of its own."""
    return (UNTOLD,) if grade == UNTOLD else GRADES


def untold_verdict(
    headline: str,
    sentences: tuple[str, ...],
    *,
    unsaid: str = UNSHOWN,
    advice: tuple[str, ...],
) -> Verdict:
    """Return a verdict without a finding; its scale holds only `UNTOLD`."""
    return Verdict(
        grade=UNTOLD,
        scale=(UNTOLD,),
        headline=headline,
        sentences=sentences,
        unsaid=unsaid,
        advice=advice,
    )


def gravest(grades: Iterable[Grade]) -> Grade:
    """Return the gravest grade; `UNTOLD` is graver than `NONE`."""
    # An audit that could not tell must not read as one that found nothing.
    return max(grades, key=(NONE, UNTOLD, *GRADES[1:]).index)


def grade_of(lowest: float, cuts: tuple[float, float] = (0.55, 0.65)) -> Grade:
    """Return the grade for the lower limit of a balanced accuracy, or of an AUC with other `cuts`.

    Examples
    --------
    >>> [grade_of(x).word for x in (0.49, 0.5, 0.53, 0.6, 0.7)]
    ['no leak found', 'no leak found', 'small', 'moderate', 'large']
    """
    if lowest <= 0.5:
        return NONE
    # Accuracies are compared, not advantages: in binary, 2 * 0.55 - 1 is above 0.1.
    if lowest < cuts[0]:
        return SMALL
    return MODERATE if lowest < cuts[1] else LARGE


_LIMITS = (
    "Its limits, a true-positive rate 10 and 30 points above the false-positive rate, are a "
    "convention of PrivacyGauge: set your own with --fail-above or --policy."
)
RULE = (
    "The grade follows from the lower end of the interval; a few badly exposed records raise it by "
    f"one. {_LIMITS}"
)
"""Rule behind the grade, and the origin of its limits."""
BY_ONE_NUMBER = f"The grade follows from the lower end of the interval. {_LIMITS}"
"""The same rule if nothing else raises the grade."""


def gauge(
    label: str,
    found: Estimate,
    limits: tuple[float, float, float, float, float],
    ticks: tuple[str, str, str],
    *,
    shown: Shown | None = None,
    rule: str = RULE,
) -> Gauge:
    """Return an estimate on the scale of grades; see `Gauge`."""
    shown = shown or percent_estimate(found)
    return Gauge(
        label,
        shown,
        low=found.low,
        value=found.value,
        high=found.high,
        limits=limits,
        ticks=ticks,
        rule=rule,
    )


def accuracy_gauge(
    of: str, found: AttackReach, rule: str = RULE, *, decided: str | None = None
) -> Gauge:
    """Return a gauge of a balanced accuracy, of guesses or of the best threshold on a ranking.

    `of` says of what, such as ``of the strongest attack``; `rule` explains the grade and its
    limits. `decided` says what decided the grade where it was not the average.
    """
    # Guessing and the cuts of `grade_of`, between the ends of the drawn line.
    limits = (0.4, 0.5, 0.55, 0.65, 1.0)
    ticks = ("50%", "55%", "65%")
    told = f"{decided or DECIDED[found.by_ranking]} {rule}"
    return gauge(f"{right_of(found)} {of}", found.accuracy, limits, ticks, rule=told)


def ranked_pairs(auc: Estimate) -> str:
    """Return an AUC in words, as part of a sentence."""
    area = percent(auc.value)
    return f"{area} of the pairs of a member and a non-member are ranked correctly"


def right_of(found: AttackReach) -> str:
    """Return the label of a balanced accuracy, of guesses or of the best threshold."""
    return "Right at the best threshold" if found.by_ranking else "Right guesses"


def advantage_of(accuracy: Estimate) -> Estimate:
    """Return the advantage, ``2 * accuracy - 1``, of a balanced accuracy."""
    value, low, high = (2 * x - 1 for x in (accuracy.value, accuracy.low, accuracy.high))
    return replace(accuracy, value=value, low=low, high=high)


DECIDED = {
    False: "The guesses decided: the ranking of the scores shows no graver leak.",
    True: "The ranking decided, not the guesses: it shows the graver leak. A ranking with this AUC "
    "has a threshold that is right at least as often as this.",
}
"""Sentence on the basis of a grade, by whether the ranking decided."""


def next_graver(grade: Grade) -> Grade:
    """Return the next graver grade, or the gravest itself.

    Examples
    --------
    >>> next_graver(SMALL).word, next_graver(LARGE).word
    ('moderate', 'large')
    """
    return GRADES[min(GRADES.index(grade) + 1, len(GRADES) - 1)]
