"""What attacks showed, graded, in words for somebody who has to decide about a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Exposure, exposure
from privacygauge.evaluate.played import Attacks
from privacygauge.evaluate.slices import Slice
from privacygauge.report import direction
from privacygauge.report.grades import NONE, UNTOLD, grade_of, raised, ranked_pairs
from privacygauge.report.numbers import count, fixed, percent, plain, rate, tpr_estimate
from privacygauge.report.values import Grade


@dataclass(frozen=True)
class Judged:
    """What attacks showed."""

    grade: Grade
    """One of `GRADES`, or `UNTOLD`."""
    headline: str
    """In one line."""
    sentences: tuple[str, ...]
    """What an attacker can do, and how sure that is; not whom it matters to, nor what is unsaid."""


def judged(a: Attacks) -> Judged:
    """Return what attacks showed.

    The grade follows from the LOWER end of the headline's advantage ``2 * accuracy - 1``:
    none where its interval holds chance, small below .1, moderate below .3, large from there
    on. The accuracy is that of the guesses, or what the AUC of the scores guarantees for the
    best threshold, whichever is graver: a threshold that did not carry over hides no leak. It
    is raised by one step where `exposure` finds something; and from none to small where the
    best threshold in hindsight of an attack is significantly better than chance, or where the
    bound on epsilon is above 0. It cannot be told where no leak was found but an attack takes
    members for non-members.

    Notes
    -----
    The headline's interval allows for the choice among attacks. The reasons to raise the grade
    look at all of them, but chance hardly fulfils one: ten times the false-positive rate lies
    far beyond any interval around it, and the band behind the best accuracy and the limits
    behind epsilon hold with much to spare.
    """
    base = grade_of(a.headline.reached.accuracy.low)
    found = exposure(a.evaluations)
    hidden = tuple(_hidden(a)) if base == NONE else ()
    grade = raised(base) if found is not None or hidden else base
    if grade == NONE and a.headline.inverted:
        return Judged(UNTOLD, direction.HEADLINE, direction.sentences(a.headline.inverted))
    sentences = [*_ability(a), *_few(found, grade != base), *hidden, *_groups(a.groups)]
    sentences.append(_missed(a) if base == NONE else _sure(a))
    return Judged(grade, _headline(a, base, grade, found), tuple(sentences))


def _headline(a: Attacks, base: Grade, grade: Grade, found: Exposure | None) -> str:
    n = len(a.evaluations)
    if grade == NONE:
        none = f"none of {n} attacks did" if n > 1 else "the one attack that was tried was not"
        return f"No leak found: {none} clearly better than guessing"
    if grade != base and found is not None:
        leak = "a few records are badly exposed"
    elif grade != base:
        leak = "scores give members away, though guesses hardly do"
    elif a.headline.reached.by_ranking:
        leak = f"{ranked_pairs(a.headline.auc)}, which guesses hide"
    else:
        right = f"are right {percent(a.headline.accuracy.value)} of the time"
        leak = f"guesses about who was in the data {right}"
    return f"{grade.word.capitalize()} leak: {leak}"


def _ability(a: Attacks) -> Iterator[str]:
    yield (
        f"The strongest attack, {plain(a.best.title)}, told members and non-members apart "
        f"correctly {percent(a.headline.accuracy.value)} of the time; guessing gives 50%. Members "
        "are the records that went into what is released."
    )
    found, area = a.headline.reached, a.headline.auc
    if found.by_ranking:
        yield (
            f"Its guesses show less than its scores do: {ranked_pairs(area)} ({percent(area.low)} "
            f"to {percent(area.high)} with {rate(area.level)} confidence{_allowing(a)}). A ranking "
            f"this good has a threshold that is right at least {percent(found.accuracy.value)} of "
            "the time; the one that the attack chose on other records did not carry over. The "
            "grade follows from the ranking."
        )


def _few(found: Exposure | None, is_raised: bool) -> Iterator[str]:
    if found is None:
        return
    fpr, tpr = rate(found.rate.fpr), tpr_estimate(found.rate.estimate, found.rate.fpr)
    step = " The grade is one step higher for it." if is_raised else ""
    yield (
        f"Some records are far more exposed than the average: while accusing only {fpr} of the "
        f"non-members falsely, {plain(found.attack.title)} finds {tpr} of the members. "
        f"Guessing would find {fpr}.{step}"
    )


def _hidden(a: Attacks) -> Iterator[str]:
    """Yield what shows a leak that the headline's numbers do not."""
    best = max(a.evaluations, key=lambda e: e.best_accuracy.low, default=None)
    if best is not None and best.best_accuracy.low > 0.5:
        yield (
            f"The guesses hide a leak, though: the scores of {plain(best.title)} tell members "
            "apart, and with the best threshold in hindsight they are right "
            f"{percent(best.best_accuracy.value)} of the time. The grade is one step higher for it."
        )
    epsilon = a.headline.epsilon
    if epsilon.low > 0:
        yield (
            f"With {rate(epsilon.level)} confidence epsilon is at least {fixed(epsilon.low, 2)} "
            f"({plain(a.headline.epsilon_attack)}), which rules out that nothing leaks. The grade "
            "is one step higher for it."
        )


def _groups(groups: Sequence[Slice]) -> Iterator[str]:
    for first in groups[:1]:
        n = len(groups) - 1
        several = f", and so are {count(n)} further groups" if n > 1 else ""
        more = ", and so is one further group" if n == 1 else several
        yield (
            f"Records with {plain(first.column)} = {plain(first.group)} are more exposed than the "
            f"others ({percent(first.accuracy.value)} right){more}."
        )


def _sure(a: Attacks) -> str:
    accuracy = a.headline.accuracy
    return (
        f"With {rate(a.level)} confidence the share of right guesses lies between "
        f"{percent(accuracy.low)} and {percent(accuracy.high)}{_allowing(a)}. It was "
        f"measured on {_targets(a)}."
    )


def _missed(a: Attacks) -> str:
    return (
        f"What this audit could have missed: with {rate(a.level)} confidence the attack is "
        f"right no more than {percent(a.headline.accuracy.high)} of the time"
        f"{_allowing(a)}{_missed_few(a.best)}. A leak up to that size may "
        f"have gone unnoticed on {_targets(a)}."
    )


def _missed_few(attack: Evaluation) -> str:
    resolved = [r for r in attack.tpr_at_fpr if r.resolved]
    if not resolved:
        return ""
    finest = min(resolved, key=lambda r: r.fpr)
    return (
        f", and it may find up to {tpr_estimate(finest.estimate, finest.fpr).high}% of the "
        f"members while accusing {rate(finest.fpr)} of the non-members falsely"
    )


def _allowing(a: Attacks) -> str:
    n = len(a.evaluations)
    return f" (this allows for having tried {n} attacks)" if n > 1 else ""


def _targets(a: Attacks) -> str:
    return f"{count(a.game.n_in)} members and {count(a.game.n_out)} non-members"
