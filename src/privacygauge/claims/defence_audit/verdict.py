"""Result of a comparison of defences, and its verdict, for a choice among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privacygauge.classifiers.audit.verdict import MORE_RECORDS, doubtful
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.defences import (
    AfterEpoch,
    ComparedDefence,
    ComparedDefences,
    n_together,
)
from privacygauge.evaluate.detectable import POWER, smallest_average
from privacygauge.evaluate.headline import BestAttack
from privacygauge.report import direction
from privacygauge.report.attacks.verdict import DETECTABLE, TOO_FEW
from privacygauge.report.defended import promise_text
from privacygauge.report.grades import (
    GRADES,
    NONE,
    UNSHOWN,
    UNTOLD,
    accuracy_gauge,
    grade_of,
    ranked_pairs,
    untold_verdict,
)
from privacygauge.report.numbers import decimal, decimal_estimate, percent, plain, rate
from privacygauge.report.reported import Reported
from privacygauge.report.values import DataFrame, Grade, Origin, Verdict


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DefenceResult(ComparedDefences, Reported):
    """Findings of an audit of defences, with its report, tables and plots.

    ``to_frame`` has one row per defence, attack and adversary.
    """

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    fitted: str
    """Records on which defences were fitted, in words."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the predictions; with any of them, no verdict claims that nothing leaks."""

    def to_frame(self) -> DataFrame:
        """Return one row per defence, attack and adversary, each interval by itself."""
        return self.tables()["attacks"]


_WORTH = {
    "less": "significantly more than the defence does",
    "more": "significantly less than the defence does: it pays for nothing",
    "alike": "which this audit cannot tell from what the defence leaves",
}
"""Words on the leak left by early stopping, by whether the defence leaves less or more than it."""


def verdict(f: DefenceResult) -> Verdict:
    """Return the verdict on defences.

    The grade is that of the leak behind the best defence, if that leak is significantly smaller
    than without a defence. Otherwise it is the undefended model's grade, since the best of several
    useless defences looks better by chance alone. For the undefended model, an audit of it alone
    counts if it shows more than the comparison, whose intervals allow for all defences. As in
    other audits, the grade is the graver of two: by the guesses, and by the ranking of the best
    attacks. A defence that can be undone counts as none. There is no grade if no leak is found with
    that defence, or without one, but an attack takes members for non-members, the predictions are
    in doubt, or there are too few records to show a moderate leak.
    """
    helps = f.helps(f.best)
    spoken_of = f.best.left if helps else f.none
    # If no defence helps, none was chosen: the undefended model needs no correction for them, and
    # an audit of it alone counts where it shows more than the comparison.
    by_itself = f.undefended.reached.accuracy
    shows_more = by_itself.low > max(0.5, f.none.reached.accuracy.low)
    alone = by_itself if shows_more and not helps else None
    grade = grade_of_left(spoken_of) if alone is None else grade_of(alone.low)
    hidden = [left.inverted for left in (f.best.left, f.none) if left.untold]
    if hidden and grade in (NONE, UNTOLD):
        return direction.verdict(direction.sentences(hidden[0]))
    if grade == NONE and f.doubts:
        return doubtful(f.doubts)
    each = f.undefended.each
    if helps:
        # What is left is judged beside all other games.
        games = n_together(f.n_attacks, len(f.compared), len(f.curve))
        each = 1 - (1 - f.level) / games
    least = smallest_average(f.n_in, f.n_out, each)
    if grade == NONE and (least is None or least > DETECTABLE):
        return _verdict_too_few(f, least)
    behind = f"with {plain(f.best.title)}" if helps else "without a defence"
    sentences = list(_sentences(f))
    if grade == NONE and least is not None:
        sentences.append(
            f"What it could have found: with a probability of {rate(POWER)} it shows guesses that "
            f"are right {percent(least)} of the time {behind}."
        )
    if alone is not None:
        sentences.append(
            f"Audited by itself the model without a defence lies between {percent(alone.low)} and "
            f"{percent(alone.high)}, with {rate(f.level)} confidence: the grade follows from that, "
            "since no defence helps and nothing but the attacks was chosen from."
        )
    best = f.best
    undefended = percent(f.none.accuracy.value)
    many = len(f.compared) > 1
    title_of_best = plain(best.title)
    if grade == NONE and not f.helps(best):
        headline = "No leak found, with a defence or without: no attack clearly beat guessing"
    elif not f.helps(best):
        what = "None of the defences helped" if many else "The defence did not help"
        ranked = (f.none if alone is None else f.undefended).reached.by_ranking
        remaining = (
            ranked_pairs(f.none.auc) if ranked else f"guesses are right {undefended} of the time"
        )
        headline = f"{what} significantly: {remaining} without one"
    elif grade == NONE:
        headline = (
            f"No leak found with {title_of_best}; without a defence guesses are right "
            f"{undefended} of the time"
        )
    else:
        which = f"{title_of_best}, the best of {len(f.compared)}" if many else title_of_best
        remaining = (
            f"{ranked_pairs(best.left.auc)}, which guesses hide"
            if best.left.reached.by_ranking
            else "guesses about who was in the data are still right "
            f"{percent(best.left.accuracy.value)} of the time"
        )
        headline = f"{grade.word.capitalize()} leak left: with {which}, {remaining}"
    advised: list[str] = []
    advised.append(_use(f, grade))
    if "memguard" in {c.judged.name for c in f.compared}:
        advised.append(
            "With MemGuard, give the same answer whenever the same record is asked about again: "
            "derive coin and noise from the record and a key that you keep. Over fresh draws the "
            "noise shows."
        )
    if grade != NONE:
        advised.append(
            "Reduce overfitting (stop earlier, regularise more, train on more data), or train with "
            "differential privacy (DP-SGD): of all defences only that one comes with a guarantee."
        )
        advised.append("Look up the records with the highest risk left, in the table below.")
    advised.append("Repeat the comparison whenever the model or its data change.")
    advice = tuple(advised)
    reached = spoken_of.reached if alone is None else f.undefended.reached
    gauge = accuracy_gauge(f"of the best attack, {behind}", reached)
    return Verdict(
        grade=grade,
        scale=GRADES,
        headline=headline,
        sentences=tuple(sentences),
        unsaid=_limits_text(f),
        advice=advice,
        gauge=gauge,
    )


def _verdict_too_few(f: DefenceResult, least: float | None) -> Verdict:
    """Return the verdict if nothing was found, and a moderate leak would have been missed."""
    name = plain(f.best.title)
    helps = f.helps(f.best)
    behind = f"with {name}" if helps else "without a defence"
    shown = (
        "not even records that are all told apart would be seen"
        if least is None
        else f"{behind} it mostly shows guesses that are {percent(least)} right"
    )
    found = "No leak was found, with a defence or without"
    if helps:
        found = (
            f"{name} helps: without it guesses are right at least "
            f"{percent(f.none.reached.accuracy.low)} of the time, with it at most "
            f"{percent(f.best.left.at_most)}. No leak was found with it"
        )
    return untold_verdict(
        headline=_HELPS_TOO_FEW.format(name=name) if helps else TOO_FEW,
        sentences=(
            f"{found[:1].upper()}{found[1:]}, but an audit of this size could hardly have found "
            f"one: {shown}. A moderate leak begins at {percent(DETECTABLE)}.",
            # A defence that helps is described as in any other verdict: its cost, its guarantee.
            *(_sentences(f) if helps else ()),
        ),
        unsaid=_limits_text(f) if helps else UNSHOWN,
        advice=(*MORE_RECORDS, *((_use(f, UNTOLD),) if helps else ())),
    )


_HELPS_TOO_FEW = (
    "Cannot be told: {name} helps, but so few records may hide a moderate leak behind it"
)


def grade_of_left(left: BestAttack) -> Grade:
    """Return the grade of the best attack's result."""
    return UNTOLD if left.untold else grade_of(left.reached.accuracy.low)


def adversary(c: ComparedDefence) -> str:
    """Describe the strongest adversary against a defence."""
    if c.ignored:
        return "an attacker who ignores it"
    return "an attacker who knows it" if c.by(c.adaptive) else "an attacker who undoes it"


def _sentences(f: DefenceResult) -> Iterator[str]:
    """Yield the leak that the best defence leaves, its cost, the alternatives and the doubt."""
    # The leak that the best defence leaves, by kind of attacker.
    best = f.best
    name = plain(f.best.title)
    surprised = best.non_adaptive.accuracy.value
    yield (
        f"Without a defence the strongest attack, {plain(f.none.attack)}, told members and "
        f"non-members apart correctly {percent(f.none.accuracy.value)} of the time; guessing gives "
        f"50%. With {name} the strongest, {plain(best.left.attack)} by {adversary(best)}, is right "
        f"{percent(best.left.accuracy.value)} of the time. Members are the records that the model "
        "was trained on."
    )
    if best.ignored:
        yield (
            f"Attackers who prepared for {name} by defending a model of their own reached less, "
            f"{percent(best.adaptive.accuracy.value)}: who knows a defence is free to ignore it."
        )
    elif surprised < best.left.accuracy.value:
        yield (
            f"An attacker who does not expect the defence is right {percent(surprised)} of the "
            "time. Do not count on that number: anybody can defend a model of their own in the "
            "same way and learn on it."
        )
    games = (a.undefended for a in best.judged.attacks)
    known = [game.accuracy.value for game in games if game.name == "correctness"]
    # Only a defence that changes no predicted class leaves correctness as it was.
    if known and not best.undone and best.changed.value <= 0:
        yield (
            f"Right and wrong predictions alone give away {percent(max(known))}. No defence that "
            "keeps the predicted classes can get below that; only a model that overfits less can."
        )
    left = f.best.left
    told = (
        "By the order of its scores an attack puts a member before a non-member in "
        f"{percent(left.auc.value)} of the pairs ({percent(f.none.auc.value)} without a defence)."
    )
    if left.reached.by_ranking:
        told += (
            f" A ranking this good ({plain(left.auc_attack)}) has a threshold that is right at "
            f"least {percent(left.reached.accuracy.value)} of the time; the thresholds that "
            "attacks chose on other records did not carry over to the defended answers. The grade "
            "follows from the ranking."
        )
    lower = [c for c in f.compared if c.left.auc.high < left.auc.low]
    if lower:
        least = min(lower, key=lambda c: c.left.auc.value)
        told += (
            f" {plain(least.title)} leaves less of that, {percent(least.left.auc.value)}: prefer "
            "it where attackers may find a better threshold than these did."
        )
    yield told
    # The alternatives to the best defence, and its cost.
    if (mild := f.gentler) is not None:
        yield (
            f"{plain(mild.title)} leaves {percent(mild.left.accuracy.value)}, which this audit "
            "cannot tell from that, and changes answers less: by "
            f"{decimal(mild.judged.distance.value, 2)} on average, against "
            f"{decimal(f.best.judged.distance.value, 2)} (of at most 2)."
        )
    for c in f.compared:
        if c.undone:
            yield (
                f"The defence {plain(c.title)} protects nothing: who knows or guesses it computes "
                "the true answers from the defended ones. It counts as no defence, whatever the "
                "attacks of this audit reached."
            )
    cost = (
        f"What {plain(f.best.title)} costs: the model is right about "
        f"{percent(f.best.after.value)} of new records, {percent(f.best.before.value)} without it"
    )
    if f.best.at_training:
        yield f"{cost}."
    else:
        yield (
            f"{cost}, and answers move by {decimal_estimate(f.best.judged.distance, 2)} on "
            "average; 0 is not at all, 2 is the most there is."
        )
    # The leak that early stopping leaves at the same accuracy.
    early = f.best.stopped
    if isinstance(early, Skipped):
        yield (
            f"No recorded epoch of the undefended training is as accurate as {name}: stopping "
            "early is no way to the same."
        )
    elif early is not None:
        yield (
            f"Stopping the undefended training after epoch {early.epoch}, the first that is as "
            f"accurate, leaves {percent(early.best.reached.accuracy.value)}, "
            f"{_WORTH[f.best.worth]}."
        )
    judged = [c for c in f.trained if c.worth]
    if len(judged) > 1:
        better = ", ".join(plain(c.title) for c in judged if c.worth == "less")
        yield (
            f"Of the {len(judged)} defences at training that an epoch is as accurate as, those "
            f"that leave significantly less than it: {better or 'none'}."
        )
    for c in f.compared:
        if c.claim is not None:
            yield (
                f"{plain(c.title)} comes with a guarantee against every attack, if it was "
                f"implemented rightly: {promise_text(c.claim)}."
            )
    # The risks that averages hide: q = 0.9, as a tenth of the members have at least this risk.
    tenth = next(q for q in f.best.judged.quantiles if q.share == 0.9)
    # What can be undone leaves every record's risk as it was.
    risk = tenth.undefended if f.best.undone else tenth.defended
    yield (
        "An average hides single records: one member in ten keeps a privacy risk score of at least "
        f"{percent(risk.value)} ({percent(tenth.undefended.value)} without a defence); 50% is no "
        "risk."
    )
    end = f.best.left.accuracy
    n = len(f.compared)
    yield (
        f"With {rate(f.level)} confidence the {percent(end.value)} lie between {percent(end.low)} "
        f"and {percent(end.high)}, and no attack reaches more than {percent(f.best.left.at_most)}, "
        f"which allows for the choice among {f.n_attacks} attacks, the "
        f"model with and without {'a defence' if n == 1 else f'each of {n} defences'}"
        f"{', each recorded epoch' if f.curve else ''}, and two kinds of attackers."
    )


def _limits_text(f: DefenceResult) -> str:
    stronger = "It does not say that a stronger attack would do no better: "
    if f.trained:
        return (
            f"{stronger}of all defences only differential privacy comes with a guarantee. Nor what "
            "another training would give: one target was trained with each."
        )
    altered = " Whoever may ask about altered copies of a record learns more than its label."
    return (
        f"{stronger}no defence on answers comes with a guarantee."
        f"{altered if f.best.judged.name == 'label-only' else ''}"
    )


def _use(f: DefenceResult, grade: Grade) -> str:
    """Return advice on the defence to use, if any."""
    best = f.best
    name = plain(f.best.title)
    helps = f.helps(f.best)
    if isinstance(best.stopped, AfterEpoch) and best.worth != "less" and helps:
        guarantee = " It gives no guarantee, though." if best.claim is not None else ""
        return (
            f"Before you take {name}, stop the undefended training after epoch "
            f"{best.stopped.epoch}: it is as accurate, and nothing shows that it leaves more."
            f"{guarantee}"
        )
    if helps:
        how = (
            f"train with {name}, if the model is accurate enough for its users."
            if best.at_training
            else f"release answers behind {name}, if its users can live with the changed answers."
        )
        worst = " It is not enough by itself: limit who may query the model."
        return f"Of these, {how}{worst if grade == GRADES[-1] else ''}"
    if grade == NONE:
        return "Release without a defence, as far as these attacks can tell."
    return "Do not rely on any of these defences."
