"""The verdict on defences, in words for somebody who has to choose one."""

from __future__ import annotations

from privacygauge.audits.defences.found import AfterEpoch, BestAttack, ComparedDefence, DefenceAudit
from privacygauge.core.estimate import Skipped
from privacygauge.report import direction
from privacygauge.report.defended import promise
from privacygauge.report.grades import (
    GRADES,
    LARGE,
    NONE,
    UNTOLD,
    accuracy_gauge,
    grade_of,
    ranked_pairs,
)
from privacygauge.report.numbers import decimal_estimate, fixed, percent, plain, rate
from privacygauge.report.values import Grade, Verdict

_ASKED_AGAIN = (
    "With MemGuard, give the same answer whenever the same record is asked about again: derive "
    "coin and noise from the record and a key that you keep. Over fresh draws the noise shows."
)


def verdict(f: DefenceAudit) -> Verdict:
    """Return the verdict on defences.

    The grade is that of what is left with the defence that leaves least: the graver of two, as
    in other audits, by the guesses and by the ranking of the best attacks. A defence that
    can be undone counts as none. It cannot be told where no leak is found with that defence,
    or with none at all, but an attack takes members for non-members.
    """
    grade = grade_of_left(f.best.left)
    hidden = [left.inverted for left in (f.best.left, f.none) if left.untold]
    if hidden and grade in (NONE, UNTOLD):
        return direction.verdict(direction.sentences(hidden[0]))
    sentences = (
        _ability(f),
        *_surprised(f),
        *_floor(f),
        *_ranked(f),
        *_gentler(f),
        *_undone(f),
        _costs(f),
        *_early(f),
        *_others(f),
        *_claims(f),
        _single(f),
        _sure(f),
    )
    headline, advice = _headline(f, grade), _advice(f, grade)
    gauge = accuracy_gauge(f"the best attack, with {plain(f.best.title)}", f.best.left.reached)
    return Verdict(grade, GRADES, headline, sentences, _unsaid(f), advice, gauge)


def grade_of_left(left: BestAttack) -> Grade:
    """Return the grade of what the best attack reaches."""
    if left.untold:
        return UNTOLD
    return grade_of(left.reached.accuracy.low)


def adversary(c: ComparedDefence) -> str:
    """Return who goes furthest against a defence, in words."""
    if c.ignored:
        return "an attacker who ignores it"
    return "an attacker who knows it" if c.by(c.adaptive) else "an attacker who undoes it"


def _headline(f: DefenceAudit, grade: Grade) -> str:
    best, before = f.best, percent(f.none.accuracy.value)
    after, name = percent(best.left.accuracy.value), plain(best.title)
    if grade == NONE and grade_of_left(f.none) == NONE:
        return "No leak found, with a defence or without: no attack clearly beat guessing"
    if not f.helps(best):
        what = "None of the defences helped" if len(f.compared) > 1 else "The defence did not help"
        return f"{what} significantly: guesses are right {before} of the time without one"
    if grade == NONE:
        return (
            f"No leak found with {name}; without a defence guesses are right {before} of the time"
        )
    which = f"{name}, the best of {len(f.compared)}" if len(f.compared) > 1 else name
    if best.left.reached.by_ranking:
        return (
            f"{grade.word.capitalize()} leak left: with {which}, "
            f"{ranked_pairs(best.left.auc)}, which guesses hide"
        )
    return (
        f"{grade.word.capitalize()} leak left: with {which}, guesses about who was in the data are "
        f"still right {after} of the time"
    )


def _ability(f: DefenceAudit) -> str:
    best = f.best
    return (
        f"Without a defence the strongest attack, {plain(f.none.attack)}, told members and "
        f"non-members apart correctly {percent(f.none.accuracy.value)} of the time; guessing gives "
        f"50%. With {plain(best.title)} the strongest, {plain(best.left.attack)} by "
        f"{adversary(best)}, is right {percent(best.left.accuracy.value)} of the time. Members are "
        "the records that the model was trained on."
    )


def _surprised(f: DefenceAudit) -> tuple[str, ...]:
    best = f.best
    surprised = best.non_adaptive.accuracy.value
    if best.ignored:
        return (
            f"Attackers who prepared for {plain(best.title)} by defending a model of their own "
            f"reached less, {percent(best.adaptive.accuracy.value)}: who knows a defence is free "
            "to ignore it.",
        )
    if surprised >= best.left.accuracy.value:
        return ()
    return (
        f"An attacker who does not expect the defence is right {percent(surprised)} of the time. "
        "Do not count on that number: anybody can defend a model of their own in the same way and "
        "learn on it.",
    )


def _floor(f: DefenceAudit) -> tuple[str, ...]:
    known = [
        a.undefended.accuracy.value
        for a in f.best.judged.attacks
        if a.undefended.name == "correctness"
    ]
    if not known or f.best.undone or f.best.changed.value > 0:
        return ()
    return (
        f"Right and wrong predictions alone give away {percent(max(known))}. No defence that keeps "
        "the predicted classes can get below that; only a model that overfits less can.",
    )


def _ranked(f: DefenceAudit) -> tuple[str, ...]:
    """Return what the order of the scores tells beyond the guesses."""
    best = f.best
    lower = [c for c in f.compared if c.left.auc.high < best.left.auc.low]
    area = (
        f"By the order of its scores an attack puts a member before a non-member in "
        f"{percent(best.left.auc.value)} of the pairs ({percent(f.none.auc.value)} without a "
        f"defence).{_decided(best.left)}"
    )
    if not lower:
        return (area,)
    least = min(lower, key=lambda c: c.left.auc.value)
    return (
        f"{area} {plain(least.title)} leaves less of that, {percent(least.left.auc.value)}: prefer "
        "it where attackers may find a better threshold than these did.",
    )


def _decided(left: BestAttack) -> str:
    found = left.reached
    if not found.by_ranking:
        return ""
    return (
        f" A ranking this good ({plain(left.auc_attack)}) has a threshold that is right at least "
        f"{percent(found.accuracy.value)} of the time; the thresholds that attacks chose on other "
        "records did not carry over to the defended answers. The grade follows from the ranking."
    )


def _gentler(f: DefenceAudit) -> tuple[str, ...]:
    """Return which defence is as good, as far as anybody can tell, and changes less."""
    best = f.best
    rivals = [
        c
        for c in f.compared
        if c is not best
        and f.helps(c)
        and c.left.reached.accuracy.low <= best.left.reached.accuracy.high
        and c.left.auc.low <= best.left.auc.high
        and c.judged.distance.high < best.judged.distance.low
        and c.after.value >= best.after.value
        and not (c.at_training or best.at_training)
    ]
    if not rivals or not f.helps(best):
        return ()
    mild = min(rivals, key=lambda c: c.judged.distance.value)
    return (
        f"{plain(mild.title)} leaves {percent(mild.left.accuracy.value)}, which this audit cannot "
        f"tell from that, and changes answers less: by {fixed(mild.judged.distance.value, 2)} on "
        f"average, against {fixed(best.judged.distance.value, 2)} (of at most 2).",
    )


def _undone(f: DefenceAudit) -> tuple[str, ...]:
    return tuple(
        f"The defence {plain(c.title)} protects nothing: who knows or guesses it computes the true "
        "answers from the defended ones. It counts as no defence, whatever the attacks of this "
        "audit reached."
        for c in f.compared
        if c.undone
    )


def _claims(f: DefenceAudit) -> tuple[str, ...]:
    return tuple(
        f"{plain(c.title)} comes with a guarantee against every attack, if it was implemented "
        f"rightly: {promise(c.claim)}."
        for c in f.compared
        if c.claim is not None
    )


def _early(f: DefenceAudit) -> tuple[str, ...]:
    best = f.best
    if isinstance(best.stopped, Skipped):
        return (
            f"No recorded epoch of the undefended training is as accurate as {plain(best.title)}: "
            "stopping early is no way to the same.",
        )
    if best.stopped is None:
        return ()
    told = {
        "less": "significantly more than the defence does",
        "more": "significantly less than the defence does: it pays for nothing",
        "alike": "which this audit cannot tell from what the defence leaves",
    }
    return (
        f"Stopping the undefended training after epoch {best.stopped.epoch}, the first that is as "
        f"accurate, leaves {percent(best.stopped.best.reached.accuracy.value)}, "
        f"{told[best.worth]}.",
    )


def _others(f: DefenceAudit) -> tuple[str, ...]:
    judged = [c for c in f.trained if c.worth]
    if len(judged) < 2:
        return ()
    better = [plain(c.title) for c in judged if c.worth == "less"]
    named = ", ".join(better) if better else "none"
    return (
        f"Of the {len(judged)} defences at training that an epoch is as accurate as, those that "
        f"leave significantly less than it: {named}.",
    )


def _costs(f: DefenceAudit) -> str:
    best = f.best
    if best.at_training:
        return (
            f"What {plain(best.title)} costs: the model is right about "
            f"{percent(best.after.value)} of new records, {percent(best.before.value)} without it."
        )
    moved = decimal_estimate(best.judged.distance, 2)
    return (
        f"What {plain(best.title)} costs: the model is right about {percent(best.after.value)} of "
        f"new records, {percent(best.before.value)} without it, and answers move by {moved} on "
        "average; 0 is not at all, 2 is the most there is."
    )


def _single(f: DefenceAudit) -> str:
    tenth = next(q for q in f.best.judged.quantiles if q.share == 0.9)
    # What can be undone leaves every record's risk as it was.
    left = tenth.undefended if f.best.undone else tenth.defended
    return (
        f"An average hides single records: one member in ten keeps a privacy risk score of at "
        f"least {percent(left.value)} ({percent(tenth.undefended.value)} without a defence); "
        "50% is no risk."
    )


def _sure(f: DefenceAudit) -> str:
    end = f.best.left.accuracy
    return (
        f"With {rate(f.level)} confidence the {percent(end.value)} lie between "
        f"{percent(end.low)} and {percent(end.high)}, which allows for the choice among "
        f"{f.n_attacks} attacks, the model with and without {_each(f)}"
        f"{', each recorded epoch' if f.curve else ''}, and two kinds of attackers."
    )


def _unsaid(f: DefenceAudit) -> str:
    if f.trained:
        return (
            "It does not say that a stronger attack would do no better: of all defences only "
            "differential privacy comes with a guarantee. Nor what another training would give: "
            "one target was trained with each."
        )
    altered = " Whoever may ask about altered copies of a record learns more than its label."
    return (
        "It does not say that a stronger attack would do no better: no defence on answers comes "
        f"with a guarantee.{altered if f.best.judged.name == 'label-only' else ''}"
    )


def _each(f: DefenceAudit) -> str:
    return "a defence" if len(f.compared) == 1 else f"each of {len(f.compared)} defences"


def _advice(f: DefenceAudit, grade: Grade) -> tuple[str, ...]:
    names = {c.judged.name for c in f.compared}
    return (
        *_use(f, grade),
        *((_ASKED_AGAIN,) if "memguard" in names else ()),
        *(_overfitting() if grade != NONE else ()),
        *(
            ("Look up the records with the highest risk left, in the table below.",)
            if grade != NONE
            else ()
        ),
        "Repeat the comparison whenever the model or its data change.",
    )


def _use(f: DefenceAudit, grade: Grade) -> tuple[str, ...]:
    best = f.best
    if isinstance(best.stopped, AfterEpoch) and best.worth != "less" and f.helps(best):
        guarantee = " It gives no guarantee, though." if best.claim is not None else ""
        return (
            f"Before you take {plain(best.title)}, stop the undefended training after epoch "
            f"{best.stopped.epoch}: it is as accurate, and nothing shows that it leaves more."
            f"{guarantee}",
        )
    if f.helps(best):
        worst = grade == LARGE
        hold = " It is not enough by itself: limit who may query the model." if worst else ""
        if best.at_training:
            return (
                f"Of these, train with {plain(best.title)}, if the model is accurate enough for "
                f"its users.{hold}",
            )
        return (
            f"Of these, release answers behind {plain(best.title)}, if its users can live with "
            f"the changed answers.{hold}",
        )
    if grade == NONE:
        return ("Release without a defence, as far as these attacks can tell.",)
    return ("Do not rely on any of these defences.",)


def _overfitting() -> tuple[str, ...]:
    return (
        "Reduce overfitting (stop earlier, regularise more, train on more data), or train with "
        "differential privacy (DP-SGD): of all defences only that one comes with a guarantee.",
    )
