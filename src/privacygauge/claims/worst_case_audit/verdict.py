"""Result of a comparison by worst-case records, and its verdict, for a choice of training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from privacygauge.claims.worst_case import ComparedTrainings
from privacygauge.evaluate.detectable import POWER, detectable_with
from privacygauge.evaluate.rate_at_fpr import FEW, TIMES
from privacygauge.evaluate.roc import supported_accuracy
from privacygauge.evaluate.worst_case import NO_DEFENCE, AttackedTraining, TargetRisk
from privacygauge.report import direction, grades
from privacygauge.report.attacks.verdict import DETECTABLE
from privacygauge.report.defended import promise_text
from privacygauge.report.grades import (
    GRADES,
    NONE,
    UNTOLD,
    grade_of,
    gravest,
    next_graver,
    ranked_pairs,
    untold_verdict,
)
from privacygauge.report.numbers import count, percent, plain, rate, several, tpr_estimate
from privacygauge.report.reported import Reported
from privacygauge.report.values import DataFrame, Grade, Origin, Verdict


@dataclass(frozen=True, eq=False, repr=False)
class WorstCaseResult(ComparedTrainings, Reported):
    """Trainings with the same canaries and the same coins, side by side.

    ``to_frame`` has one line for every training, group of targets, attack and false-positive rate.
    """

    origin: Origin = field(kw_only=True)
    """Origin of the findings; its level is that of every interval, and of the corrected ones
    jointly.
    """

    def to_frame(self) -> DataFrame:
        """Return one row per training, group of targets, attack and rate."""
        return self.tables()["attacks"]


_NAMED = 3
"""Largest number of named pairs that change places."""

_UNSAID = (
    "It does not say that no record is more exposed than a canary, nor that a stronger attack "
    "would do no better, nor what another table or another wrong label would give."
)


def verdict(f: WorstCaseResult) -> Verdict:
    """Return the verdict on trainings.

    The grade is `grade_of_training` of the training with the fewest canaries found. The first
    sentence says whether canaries rank the trainings as ordinary records do, and which defences
    leave canaries at risk.
    """
    grade = grade_of_training(f.best)
    # Attacks that take members for non-members: neither of the two can be called free of a leak.
    turned = [t.found for t in (f.best, f.none) if grade_of_training(t) == UNTOLD]
    if turned and grade in (NONE, UNTOLD):
        hidden = turned[0].canaries.inverted + turned[0].ordinary.inverted
        return direction.verdict(direction.sentences(hidden))
    could: tuple[str, ...] = ()
    if grade == NONE and grade_of_training(f.none) == NONE:
        ranked = f.canaries.highest_auc
        least = supported_accuracy(replace(ranked, high=min(1.0, detectable_with(ranked, 0.5))))
        # An audit that would mostly miss a moderate leak cannot say that there is none.
        if least.high > DETECTABLE:
            # Nothing was found, and a moderate leak would have been missed.
            canaries = f"{count(f.canaries.n_targets)} canaries"
            return untold_verdict(
                headline="Cannot be told: too few canaries and models to see a moderate leak",
                sentences=(
                    "No leak was found, but an audit of this size could hardly have found one: "
                    f"with {canaries} in {several(f.canaries.n_models, 'model')} it mostly shows "
                    f"guesses about canaries that are right {percent(least.high)} of the time. A "
                    f"moderate leak begins at {percent(DETECTABLE)}.",
                ),
                advice=("Compare more canaries (--canaries) in more models (--models).",),
            )
        could = (
            f"What it could have found: with a probability of {rate(POWER)} it shows guesses about "
            f"canaries that are right {percent(least.high)} of the time.",
        )
    sentences = (*_sentences(f), *could)
    advised: list[str] = []
    if f.defended and f.helps(f.best):
        hold = " It is not enough by itself: limit who may query the model."
        advised.append(
            f"Of these, train with {plain(f.best.title)}, if the model is accurate enough for its "
            f"users.{hold if grade == GRADES[-1] else ''}"
        )
    elif grade_of_training(f.none) == NONE:
        advised.append(f"Release {how(f.none)}, as far as these attacks can tell.")
    elif f.defended:
        advised.append(
            "Do not rely on any of these defences for the records that are most at risk."
        )
    else:
        advised.append(
            "Compare ways to train that give less away: early stopping, dropout, and DP-SGD, of "
            "which only the last comes with a guarantee."
        )
    if grade != NONE:
        if f.defended and all(t.claim is None for t in f.defended):
            advised.append(
                "Set DP-SGD beside them at the same accuracy: what leaves more of the canaries "
                "than it does is not worth its trouble."
            )
        advised.append(
            "Look for wrong labels in your own data and mend them: models know such records by "
            "heart."
        )
    advised.append("Repeat the comparison whenever the model or its data change.")
    advice = tuple(advised)
    found = f.best.canaries(f.fpr).estimate
    gauge = grades.gauge(
        f"Canaries found at {rate(f.fpr)} false alarms, {how(f.best)}",
        found,
        # An excess over the false-positive rate is an advantage: 0, 0.1 and 0.3 are the grades'
        # borders, balanced accuracies of 0.5, 0.55 and 0.65.
        (0.0, f.fpr, f.fpr + 0.1, f.fpr + 0.3, 1.0),
        (rate(f.fpr), rate(f.fpr + 0.1), rate(f.fpr + 0.3)),
    )
    best = f.best
    at = f"at {rate(f.fpr)} false alarms"
    share = _canaries(f, best)
    without = _canaries(f, f.none)
    if grade == NONE and grade_of_training(f.none) == NONE:
        where = ", with a defence or without" if f.defended else ""
        headline = (
            f"No leak found{where}: no attack found canaries clearly more often than guessing"
        )
    elif not f.defended:
        of_ordinary = tpr_estimate(f.none.ordinary(f.fpr).estimate, f.fpr).value
        if grade_of_group(f.canaries) in (NONE, UNTOLD):
            finding = (
                f"leak, shown for ordinary records but not for canaries: {of_ordinary} of them "
                "are found"
            )
        else:
            of_canaries = _canaries(f, f.none)
            finding = (
                f"worst-case leak: {of_canaries} of the canaries and {of_ordinary} of ordinary "
                "records are found"
            )
        headline = f"{grade.word.capitalize()} {finding} {at}"
    elif not f.helps(best):
        none_helps = "None of the defences protects canaries"
        which = none_helps if len(f.defended) > 1 else "The defence does not protect canaries"
        headline = f"{which} significantly: {without} of them are found without one {at}"
    else:
        name = plain(best.title)
        if grade == NONE:
            headline = (
                f"No leak found with {name}; without a defence {without} of canaries are found {at}"
            )
        else:
            which = f"{name}, the best of {len(f.defended)}" if len(f.defended) > 1 else name
            ordinary_share = tpr_estimate(best.ordinary(f.fpr).estimate, f.fpr).value
            headline = (
                f"{grade.word.capitalize()} worst-case leak left: with {which}, {share} of the "
                f"canaries and {ordinary_share} of ordinary records are found {at}"
            )
    return Verdict(
        grade=grade,
        scale=GRADES,
        headline=headline,
        sentences=sentences,
        unsaid=_UNSAID,
        advice=advice,
        gauge=gauge,
    )


def how(training: AttackedTraining) -> str:
    """Return the kind of training: ``without a defence``, or ``with`` its name."""
    if training.title == NO_DEFENCE:
        return "without a defence"
    return f"with {plain(training.title)}"


def grade_of_training(training: AttackedTraining) -> Grade:
    """Return the graver of the grades of both groups of targets."""
    return gravest(map(grade_of_group, training.found.groups))


def grade_of_group(group: TargetRisk) -> Grade:
    """Return the grade of attacks on one group of targets.

    The grade follows from the lower ends of the true-positive rates. The largest excess over the
    false-positive rate is an advantage, graded as in other audits, and one step graver if the
    true-positive rate is ten times a false-positive rate of 1% or less. The advantage that the
    highest AUC guarantees at the best threshold is graded likewise, and the graver grade counts:
    low false-positive rates alone hide a leak that the whole ranking shows. Rates that rest on too
    few records count only if there are no others. The grade is inconclusive if no leak is found,
    but an attack takes members for non-members.
    """
    by_ranking = grade_of(supported_accuracy(group.highest_auc).low)
    grade = gravest((_grade_of_rates(group), by_ranking))
    return UNTOLD if grade == NONE and group.inverted else grade


def ranking_decides(group: TargetRisk) -> bool:
    """Return whether the AUC shows a graver leak than the true-positive rates."""
    by_ranking = grade_of(supported_accuracy(group.highest_auc).low)
    return GRADES.index(by_ranking) > GRADES.index(_grade_of_rates(group))


def _grade_of_rates(group: TargetRisk) -> Grade:
    rates = [group.highest(known.fpr)[1] for known in group.attacks[0].rates]
    grades = []
    # Unresolved rates count only if there are no others.
    for found in [r for r in rates if r.resolved] or rates:
        low = found.estimate.low
        # An excess of a over the FPR is a balanced accuracy of (1 + a) / 2, the scale of grades.
        grade = grade_of((1 + low - found.fpr) / 2)
        exposed = found.resolved and found.fpr in FEW and low >= TIMES * found.fpr
        grades.append(next_graver(grade) if exposed else grade)
    return max(grades, key=GRADES.index)


def _sentences(f: WorstCaseResult) -> Iterator[str]:
    best = f.best
    none = f.none
    at = rate(f.fpr)
    if f.defended:
        leaky = [t for t in f.defended if grade_of_group(t.found.canaries) != NONE]
        safe = [t for t in f.defended if t not in leaky]
        if not leaky:
            left_at_risk = "no defence was shown to leave canaries at risk"
        elif not safe:
            left_at_risk = "canaries stay at risk with every defence"
        else:
            left_at_risk = (
                f"canaries stay at risk with {_names(leaky)}, and no risk was shown with "
                f"{_names(safe)}"
            )
        pairs = f.changed_places
        if not pairs:
            order = (
                "Canaries and ordinary records put the trainings in the same order, as far as "
                f"intervals at {rate(f.fpr)} false alarms tell them apart"
            )
        else:
            named = ", and ".join(
                f"{plain(a.title)} gives less away than {plain(b.title)} by ordinary records and "
                "more by canaries"
                for a, b in pairs[:_NAMED]
            )
            more = (
                f", and so on for {len(pairs) - _NAMED} further pairs"
                if len(pairs) > _NAMED
                else ""
            )
            order = f"The order of the trainings changes with the worst case: {named}{more}"
        yield f"{order}; {left_at_risk}."
    left = ""
    if best is not none:
        left = f" without a defence, and {_rates_text(f, best)} with {plain(best.title)}"
    yield (
        f"Canaries are {count(none.found.canaries.n_targets)} of the records that were given a "
        "wrong label: a model can follow it only by learning that record by heart. While accusing "
        f"only {at} of the others falsely, attacks find {_rates_text(f, none)}{left}; guessing "
        "finds "
        f"{at}."
    )
    for name, group in zip(("canaries", "ordinary records"), best.found.groups, strict=True):
        if ranking_decides(group):
            right = percent(supported_accuracy(group.highest_auc).value)
            yield (
                f"The ranking decided about {name}, not the shares that are found at low "
                f"false-positive rates: {ranked_pairs(group.highest_auc)}, and a ranking this good "
                f"has a threshold that is right at least {right} of the time."
            )
    if hidden := [t for t in f.trainings if f.worse_for_canaries(t)]:
        yield (
            "Significantly more is found of canaries than of ordinary records with "
            f"{_names(hidden)}: there the average says less than the risk is."
        )
    if best is not none:
        yield (
            f"What {plain(best.title)} costs: the models are right about "
            f"{percent(best.accuracy.value)} of the ordinary records that they were not trained "
            f"on, {percent(none.accuracy.value)} without a defence."
        )
    for t in f.trainings:
        if t.claim is not None:
            yield (
                f"{plain(t.title)} comes with a guarantee for every record, if it was implemented "
                f"rightly: {promise_text(t.claim)}."
            )
    found = tpr_estimate(best.canaries(f.fpr).estimate, f.fpr)
    yield (
        f"With {rate(f.level)} confidence the share of {found.value} lies between {found.low}% and "
        f"{found.high}%, which allows for the choice among {count(f.n_together)} numbers that are "
        f"compared. Each of {count(none.found.canaries.n_models)} models of a kind was the target "
        "once, attacked with the others, which were trained in the same way."
    )
    yield (
        "Canaries stand in for the records that are most at risk, which nobody knows beforehand: "
        "people with a rare history or a wrong entry."
    )


def _rates_text(f: WorstCaseResult, training: AttackedTraining) -> str:
    usual = tpr_estimate(training.ordinary(f.fpr).estimate, f.fpr).value
    return f"{_canaries(f, training)} of the canaries and {usual} of the ordinary records"


def _canaries(f: WorstCaseResult, training: AttackedTraining) -> str:
    return tpr_estimate(training.canaries(f.fpr).estimate, f.fpr).value


def _names(trainings: list[AttackedTraining]) -> str:
    """Return the titles in a sentence: ``a, b and c``."""
    names = [plain(training.title) for training in trainings]
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
