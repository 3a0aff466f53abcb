"""The graded result of attacks, in words for readers who decide about a release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from privacygauge.evaluate.headline import exposure
from privacygauge.evaluate.played import Attacks, Detectable
from privacygauge.evaluate.slices import Slice
from privacygauge.evaluate.tail import Tail
from privacygauge.report import direction
from privacygauge.report.attacks.measures import group_label
from privacygauge.report.grades import (
    MODERATE,
    NONE,
    SMALL,
    UNTOLD,
    grade_of,
    gravest,
    next_graver,
    ranked_pairs,
)
from privacygauge.report.numbers import (
    count,
    decimal,
    percent,
    plain,
    rate,
    several,
    tpr_estimate,
)
from privacygauge.report.values import Grade


@dataclass(frozen=True)
class GradedAttacks:
    """The graded result of attacks, in words."""

    grade: Grade
    """One of `GRADES`, or `UNTOLD`."""
    headline: str
    """The result in one line."""
    sentences: tuple[str, ...]
    """Abilities of the attacker, with their confidence; without consequences and limits."""
    question: Literal["average", "records", "groups"] = "average"
    """The question that decided the grade."""


def grade_attacks(a: Attacks) -> GradedAttacks:
    """Grade attacks by the gravest answer to their questions: average, few records, groups.

    The average is graded by the LOWER limit of the headline's advantage ``2 * accuracy - 1``: none
    if the interval contains chance, small below .1, moderate below .3, else large. The accuracy is
    that of the guesses, or the bound from the AUC for the best threshold, whichever is graver, so
    that a threshold that did not carry over hides no leak. The grade is raised by one step if
    `exposure` finds something, and from none to small if the best threshold in hindsight of some
    attack is significantly better than chance or the bound on epsilon is above 0.

    Few records that stand out are a small leak, and a moderate one from a hundredth of the members
    on. A group shown to be more exposed than the rest has the grade of its own lower limit, at
    least small.

    The grade is `UNTOLD` if no leak was found but an attack is inverted, a few members lie far
    beyond all other records, or an audit of this size would not have detected the smallest moderate
    leak.

    Notes
    -----
    The headline's interval is corrected for the choice among attacks, the other questions for
    theirs (`evaluate.played`). The reasons to raise the grade of the average consider all
    attacks without correction, but are rarely met by chance: ten times the FPR lies far beyond any
    interval around it, and the band behind the best accuracy and the limits behind epsilon are
    conservative.
    """
    n = len(a.evaluations)
    allowing = f" (this allows for having tried {n} attacks)" if n > 1 else ""
    targets = f"{count(a.game.n_in)} members and {count(a.game.n_out)} non-members"
    missed = ""
    resolved = [r for r in a.best.tpr_at_fpr if r.resolved]
    if resolved:
        finest = min(resolved, key=lambda r: r.fpr)
        missed = (
            f", and it may find up to {tpr_estimate(finest.estimate, finest.fpr).high}% of the "
            f"members while accusing {rate(finest.fpr)} of the non-members falsely"
        )
    undetected = (
        f"What this audit could have missed: with {rate(a.level)} confidence the attack is "
        f"right no more than {percent(a.headline.accuracy.high)} of the time"
        f"{allowing}{missed}. A leak up to that size may "
        f"have gone unnoticed on {targets}."
    )
    base = grade_of(a.headline.reached.accuracy.low)
    found = exposure(a.evaluations)
    # Only looked for if the average shows nothing: a leak that was found needs no further evidence.
    hidden = tuple(_hidden_leak_text(a)) if base == NONE else ()
    average = next_graver(base) if found is not None or hidden else base
    asked = a.questions
    few = NONE if asked is None or asked.tail is None else grade_of_few(asked.tail)
    groups = () if asked is None else asked.groups
    # A group that is shown is a small leak at least, whatever its own lower limit.
    worst = gravest(
        (NONE, *(gravest((SMALL, grade_of(group.reached.accuracy.low))) for group in groups))
    )
    grade = gravest((average, few, worst))
    # Reasons not to report "no leak found", the most specific first.
    if grade == NONE and asked is not None and asked.tail is not None and asked.tail.apart:
        apart = (
            f"No leak was found on average, but {several(asked.tail.apart, 'member')} of "
            f"{count(a.game.n_in)} score far higher than all other records, further than chance "
            "explains. A model that knows them by heart would look like this. Records of a kind "
            "of their own would, too: that so few are all members is no proof."
        )
        return GradedAttacks(UNTOLD, FEW_APART, (apart, undetected))
    if grade == NONE and asked is not None and (asked.below or asked.group_below is not None):
        # Describe members that are known less than all others.
        if asked.below:
            who = (
                f"at least {several(asked.below, 'member')} of {count(asked.detectable.n_in)} "
                "score lower than all other records, further than chance explains"
            )
        else:
            assert asked.group_below is not None
            where = group_label(asked.group_below)
            who = f"among records with {where} members score lower than non-members, beyond chance"
        return GradedAttacks(
            UNTOLD,
            FEW_BELOW,
            (
                (
                    f"No leak was found on average, but {who}. A model that was made to forget "
                    "them, or that learnt other labels for them than the file has, would look "
                    "like this, and whoever knows that can tell them. Labels of the file that are "
                    "wrong would, too."
                ),
                undetected,
            ),
        )
    if grade == NONE and a.headline.inverted:
        return GradedAttacks(UNTOLD, direction.HEADLINE, direction.sentences(a.headline.inverted))
    if grade == NONE and asked is not None:
        detectable = asked.detectable.average
        if detectable is None or detectable > DETECTABLE:
            too_few = (
                "No leak was found, but an audit of this size could hardly have found one: "
                f"{_least(asked.detectable)}. A moderate leak begins at {percent(DETECTABLE)}."
            )
            return GradedAttacks(UNTOLD, TOO_FEW, (too_few, undetected))
    question: Literal["average", "records", "groups"] = "average"
    if grade in (average, NONE):
        if grade == NONE:
            none = f"none of {n} attacks did" if n > 1 else "the one attack that was tried was not"
            headline = f"No leak found: {none} clearly better than guessing"
        else:
            if grade != base and found is not None:
                leak = "a few records are badly exposed"
            elif grade != base:
                leak = "scores give members away, though guesses hardly do"
            elif a.headline.reached.by_ranking:
                leak = f"{ranked_pairs(a.headline.auc)}, which guesses hide"
            else:
                right = f"are right {percent(a.headline.accuracy.value)} of the time"
                leak = f"guesses about who was in the data {right}"
            headline = f"{grade.word.capitalize()} leak: {leak}"
    elif asked is not None and grade == few:
        question = "records"
        verb = "stands out" if asked.exposed == 1 else "stand out"
        exposed = f"at least {several(asked.exposed, 'member')} {verb} among all records"
        headline = f"{grade.word.capitalize()} leak: {exposed}"
        # A group as grave as the few is named beside them.
        if grade == worst:
            headline += f"; among records with {group_label(groups[0])} {_told_apart(groups[0])}"
    else:
        question = "groups"
        first = groups[0]
        group = group_label(first)
        headline = (
            f"{grade.word.capitalize()} leak: among records with {group}, {_told_apart(first)}"
        )
    sentences = [
        f"The strongest attack, {plain(a.best.title)}, told members and non-members apart "
        f"correctly {percent(a.headline.accuracy.value)} of the time; guessing gives 50%. "
        "Members are the records that went into what is released."
    ]
    reached = a.headline.reached
    area = a.headline.auc
    if reached.by_ranking:
        sentences.append(
            f"Its guesses show less than its scores do: {ranked_pairs(area)} "
            f"({percent(area.low)} to {percent(area.high)} with {rate(area.level)} "
            f"confidence{allowing}). A ranking this good has a threshold that is right at "
            f"least {percent(reached.accuracy.value)} of the time; the one that the attack "
            "chose on other records did not carry over. The grade follows from the ranking."
        )
    if found is not None:
        fpr = rate(found.rate.fpr)
        tpr = tpr_estimate(found.rate.estimate, found.rate.fpr)
        step = " The grade is one step higher for it." if average != base else ""
        sentences.append(
            f"Some records are far more exposed than the average: while accusing only {fpr} of the "
            f"non-members falsely, {plain(found.attack.title)} finds {tpr} of the members. "
            f"Guessing would find {fpr}.{step}"
        )
    sentences += hidden
    # Few records get a sentence only where they, and not the average, make the leak grave.
    if asked is not None and asked.tail is not None and gravest((base, few)) != base:
        sentences.append(_standing_out(asked.tail))
    # Only the worst group is named: the section on groups has them all.
    shown_groups = groups or a.groups
    if shown_groups:
        worst_group = shown_groups[0]
        n_others = len(shown_groups) - 1
        others = f", and so are {count(n_others)} further groups" if n_others > 1 else ""
        more = ", and so is one further group" if n_others == 1 else others
        sentences.append(
            f"Records with {plain(worst_group.column)} = {plain(worst_group.group)} are more "
            f"exposed than the others ({_told_apart(worst_group)}){more}."
        )
    if base == NONE:
        sentences.append(undetected)
    else:
        accuracy = a.headline.accuracy
        sentences.append(
            f"With {rate(a.level)} confidence the share of right guesses lies between "
            f"{percent(accuracy.low)} and {percent(accuracy.high)}{allowing}. It was "
            f"measured on {targets}."
        )
    if grade == NONE and asked is not None:
        sentences.append(f"What it could have found: {_least(asked.detectable)}.")
    return GradedAttacks(grade, headline, tuple(sentences), question)


FEW_BELOW = "Cannot be told: the model knows a few members less than all other records"
"""Headline of a verdict in which a few members, or those of a group, lie far below all others."""

FEW_APART = "Cannot be told: a few members lie far beyond all other records"
"""Headline of a verdict in which a few members lie far beyond all others."""

LOOK_AT_THEM = (
    "Look at the records with the highest scores: models know by heart what occurs once, or what "
    "they were trained on many times. Train without them, and compare.",
    "Audit again on other records of the same source, members and non-members: records of a kind "
    "of their own are then as often on both sides. This audit supports no decision on a release.",
)
"""Advice for that verdict."""

LOOK_BELOW = (
    "Look at the members with the lowest scores: are their labels in the file those that the model "
    "was trained with, and was the model made to forget them?",
    "Audit again with these labels. This audit supports no decision on a release.",
)
"""Advice where members lie far below all others."""

TOO_FEW = "Cannot be told: too few records for this audit to see a moderate leak"
"""Headline of a verdict on too few records."""

DETECTABLE = 0.55
"""Accuracy of the smallest moderate leak; an audit that finds nothing must be able to detect it."""

_MANY_EXPOSED = 0.01
"""Share of the members from which on those that stand out are a moderate leak."""


def grade_of_few(found: Tail) -> Grade:
    """Return the grade for members that stand out: moderate from a hundredth of all members on."""
    if not found.shown:
        return NONE
    return MODERATE if found.share >= _MANY_EXPOSED else SMALL


def _least(found: Detectable) -> str:
    """Return the smallest detectable leaks as part of a sentence."""
    if found.average is None:
        average = "not even records that are all told apart"
    else:
        average = f"guesses that are right {percent(found.average)} of the time on average"
    parts = [average]
    if found.records is not None:
        share = percent(found.records / found.n_in)
        parts.append(f"{several(found.records, 'member')} wholly exposed ({share} of them)")
    if found.group is not None:
        of_group = "that share a class or a column's value, if all its members are known"
        parts.append(f"a group of {count(found.group)} records {of_group}")
    power = rate(found.power)
    listing = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"
    return f"with a probability of {power} it shows {listing}"


def _told_apart(group: Slice) -> str:
    """Return the attack's success on a group, as part of a sentence."""
    if group.ranked is not None and (group.reached.by_ranking or group.least <= 0.5):
        return ranked_pairs(group.ranked.auc)
    return f"guesses are right {percent(group.accuracy.value)} of the time"


def _standing_out(found: Tail) -> str:
    # From the plainest evidence to the weakest: a text known by heart, a gap, a rank.
    if found.by_heart:
        texts = "a text of this one" if found.exposed == 1 else "a text of each of them"
        return (
            f"The model knows {several(found.exposed, 'member')} of {count(found.n_in)} by heart: "
            f"it expects {texts} nearly word by word, and the reference model does not. None of "
            "the others is known like that."
        )
    if found.far_beyond:
        return (
            f"A few records are given away by themselves: the {count(found.top)} that "
            f"{plain(found.attack)} scores highest are all members, and lie so far above everybody "
            "else that the highest scores of the others make as many less often than once in a "
            f"thousand: at least {several(found.exposed, 'member')} of {count(found.n_in)} would "
            "not stand there without the release, whatever the average says."
        )
    return (
        f"A few records are given away by themselves: of the {count(found.top)} records that "
        f"{plain(found.attack)} scores highest, {count(found.members)} are members, where chance "
        f"gives {decimal(found.expected, 1)}. With {rate(found.level)} confidence at least "
        f"{several(found.exposed, 'member')} of {count(found.n_in)} would not stand there without "
        "the release, whatever the average says."
    )


def _hidden_leak_text(a: Attacks) -> Iterator[str]:
    """Yield sentences on evidence of a leak that the headline's numbers miss."""
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
            f"With {rate(epsilon.level)} confidence epsilon is at least {decimal(epsilon.low, 2)} "
            f"({plain(a.headline.epsilon_attack)}), which rules out that nothing leaks. The grade "
            "is one step higher for it."
        )
