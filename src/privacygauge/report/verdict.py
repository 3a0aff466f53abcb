"""The verdict: what the numbers mean for somebody who has to decide about a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from privacygauge.evaluate.direction import Inverted
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Findings
from privacygauge.evaluate.rate_at_fpr import RateAtFpr, exposed
from privacygauge.evaluate.slices import SliceTable
from privacygauge.report import advice, direction
from privacygauge.report.numbers import count, fixed, percent, plain, rate, tpr_estimate

NONE, SMALL, MODERATE, LARGE = GRADES = ("no leak found", "small", "moderate", "large")
"""From mild to grave."""

UNKNOWN = "cannot be told"
"""The grade where what was measured says nothing about the release."""


@dataclass(frozen=True)
class Verdict:
    """What an audit means, in plain words."""

    grade: str
    """One of `GRADES`, or `UNKNOWN`."""
    headline: str
    """The verdict in one line."""
    sentences: tuple[str, ...]
    """What an attacker can do, to whom it matters, how sure that is, what it does not say."""
    advice: tuple[str, ...]
    """What to do next."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """An attack that finds many more members than guessing does, with hardly a false alarm."""

    attack: Evaluation
    """The attack."""
    rate: RateAtFpr
    """Where it does."""


def verdict(findings: Findings) -> Verdict:
    """Return the verdict on an audit.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    Verdict
        The grade follows from the LOWER end of the headline's advantage ``2 * accuracy - 1``:
        none where its interval holds chance, small below .1, moderate below .3, large from there
        on. It is raised by one step where `exposure` finds something; and from none to small
        where the scores of an attack separate members beyond doubt although its guesses did not,
        or where the bound on epsilon is above 0. It cannot be told where no leak was found but an
        attack takes members for non-members.

    Notes
    -----
    The headline's interval allows for the choice among attacks. The reasons to raise the grade
    look at all of them, but chance hardly fulfils one: ten times the false-positive rate lies
    far beyond any interval around it, and the band behind the best accuracy and the limits
    behind epsilon hold with much to spare.
    """
    base = grade_of(findings.headline.accuracy.low)
    exposed, ranked = exposure(findings.evaluations), _ranked(findings.evaluations)
    hidden = (*_ranking(ranked), *_bounded(findings)) if base == NONE else ()
    raised = exposed is not None or bool(hidden)
    grade = GRADES[min(GRADES.index(base) + raised, len(GRADES) - 1)]
    if grade == NONE and findings.headline.inverted:
        return untold(findings.headline.inverted)
    sentences = (
        *_ability(findings, base),
        *_few(exposed, grade != base),
        *hidden,
        *_groups(findings),
        *(_missed(findings) if base == NONE else _sure(findings)),
        *_matters(grade),
        _unsaid(grade),
    )
    headline = _headline(findings, base, grade, exposed)
    return Verdict(grade, headline, sentences, advice.advice(findings, GRADES.index(grade)))


def untold(found: Sequence[Inverted]) -> Verdict:
    """Return the verdict where no leak was found but attacks take members for non-members."""
    return Verdict(UNKNOWN, direction.HEADLINE, direction.sentences(found), direction.ADVICE)


def scale_of(grade: str) -> tuple[str, ...]:
    """Return the scale that a grade stands on: itself where it cannot be told."""
    return (UNKNOWN,) if grade == UNKNOWN else GRADES


def gravest(grades: Iterable[str]) -> str:
    """Return the gravest grade; that it cannot be told is graver than that nothing was found."""
    return max(grades, key=(NONE, UNKNOWN, *GRADES[1:]).index)


def grade_of(lowest_accuracy: float) -> str:
    """Return the grade for the lower end of a balanced accuracy.

    Examples
    --------
    >>> [grade_of(x) for x in (0.49, 0.5, 0.53, 0.6, 0.7)]
    ['no leak found', 'no leak found', 'small', 'moderate', 'large']
    """
    if lowest_accuracy <= 0.5:
        return NONE
    # Compared as accuracies: 2 * 0.55 - 1 is more than 0.1 in binary.
    if lowest_accuracy < 0.55:
        return SMALL
    return MODERATE if lowest_accuracy < 0.65 else LARGE


def exposure(evaluations: tuple[Evaluation, ...]) -> Exposure | None:
    """Return where an attack finds at least ten times as many members as guessing would.

    Only resolved rates count, with the lower end of their interval, at an FPR of 1% and 0.1%;
    of several the one that exceeds guessing most.
    """
    rates = [(attack, exposed(attack.tpr_at_fpr)) for attack in evaluations]
    found = [Exposure(attack, rate) for attack, rate in rates if rate is not None]
    return max(found, key=lambda e: e.rate.estimate.low / e.rate.fpr, default=None)


def _ranked(evaluations: tuple[Evaluation, ...]) -> Evaluation | None:
    best = max(evaluations, key=lambda e: e.best_accuracy.low, default=None)
    return best if best is not None and best.best_accuracy.low > 0.5 else None


def _headline(findings: Findings, base: str, grade: str, exposed: Exposure | None) -> str:
    if grade == NONE:
        return f"No leak found: {_none_of(findings)} clearly better than guessing"
    if grade != base and exposed is not None:
        return f"{grade.capitalize()} leak: a few records are badly exposed"
    if grade != base:
        return f"{grade.capitalize()} leak: scores give members away, though guesses hardly do"
    right = f"are right {percent(findings.headline.accuracy.value)} of the time"
    return f"{grade.capitalize()} leak: guesses about who was in the data {right}"


def _none_of(findings: Findings) -> str:
    n = len(findings.evaluations)
    return f"none of {n} attacks did" if n > 1 else "the one attack that was tried was not"


def _ability(findings: Findings, base: str) -> tuple[str, ...]:
    best = findings.headline
    who = "The strongest attack" if base != NONE else "The attack that came furthest"
    return (
        f"{who}, {plain(best.attack.title)}, told members and non-members apart correctly "
        f"{percent(best.accuracy.value)} of the time; guessing gives 50%. Members are the records "
        "that went into what is released.",
    )


def _few(exposed: Exposure | None, raised: bool) -> tuple[str, ...]:
    if exposed is None:
        return ()
    fpr, found = rate(exposed.rate.fpr), tpr_estimate(exposed.rate.estimate, exposed.rate.fpr)
    step = " The grade is one step higher for it." if raised else ""
    return (
        f"Some records are far more exposed than the average: while accusing only {fpr} of the "
        f"non-members falsely, {plain(exposed.attack.title)} finds {found} of the members. "
        f"Guessing would find {fpr}.{step}",
    )


def _bounded(findings: Findings) -> tuple[str, ...]:
    epsilon = findings.headline.epsilon
    if epsilon.low <= 0:
        return ()
    return (
        f"With {rate(epsilon.level)} confidence epsilon is at least {fixed(epsilon.low, 2)} "
        f"({plain(findings.headline.epsilon_attack)}), which rules out that nothing leaks. The "
        "grade is one step higher for it.",
    )


def _ranking(ranked: Evaluation | None) -> tuple[str, ...]:
    if ranked is None:
        return ()
    return (
        f"The guesses hide a leak, though: the scores of {plain(ranked.title)} tell members apart, "
        f"and with the best threshold in hindsight they are right "
        f"{percent(ranked.best_accuracy.value)} of the time. The grade is one step higher for it.",
    )


def _groups(findings: Findings) -> tuple[str, ...]:
    if not isinstance(findings.slices, SliceTable) or not findings.slices.announced:
        return ()
    first, *others = findings.slices.announced
    more = f", and so are {count(len(others))} further groups" if len(others) > 1 else ""
    more = ", and so is one further group" if len(others) == 1 else more
    return (
        f"Records with {plain(first.column)} = {plain(first.group)} are more exposed than the "
        f"others ({percent(first.accuracy.value)} right){more}.",
    )


def _sure(findings: Findings) -> tuple[str, ...]:
    accuracy, game = findings.headline.accuracy, findings.game
    return (
        f"With {rate(findings.level)} confidence the share of right guesses lies between "
        f"{percent(accuracy.low)} and {percent(accuracy.high)}{_allowing(findings)}. It was "
        f"measured on {count(game.n_in)} members and {count(game.n_out)} non-members.",
    )


def _missed(findings: Findings) -> tuple[str, ...]:
    game = findings.game
    return (
        f"What this audit could have missed: with {rate(findings.level)} confidence the attack is "
        f"right no more than {percent(findings.headline.accuracy.high)} of the time"
        f"{_allowing(findings)}{_missed_few(findings.headline.attack)}. A leak up to that size may "
        f"have gone unnoticed on {count(game.n_in)} members and {count(game.n_out)} non-members.",
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


def _allowing(findings: Findings) -> str:
    n = len(findings.evaluations)
    return f" (this allows for having tried {n} attacks)" if n > 1 else ""


def _matters(grade: str) -> tuple[str, ...]:
    if grade == NONE:
        return ()
    return (
        "It matters to the people behind the records: whoever holds somebody's record can check "
        "whether it was in the data, which alone may say that they were a patient, a customer or "
        "a suspect.",
    )


def _unsaid(grade: str) -> str:
    stronger = "that a stronger attack, or an attacker who knows more, would do no better"
    if grade == NONE:
        return f"It does not say that nothing leaks, nor {stronger}."
    return (
        "It does not say that the contents of a record can be read from the release, nor "
        f"{stronger}. It speaks of the average; single records may be more or less exposed."
    )
