"""Measures of attacks: cards of the strongest attack, metrics that limits apply to, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.group_ranks import RankedGroup
from privacygauge.evaluate.headline import AttackReach, Headline
from privacygauge.evaluate.played import Attacks, Questions
from privacygauge.evaluate.slices import Slice, SliceTable
from privacygauge.report.grades import advantage_of, right_of
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal,
    decimal_estimate,
    key,
    p_value,
    percent,
    percent_estimate,
    plain,
    rate,
    rounded_down,
    shorten,
    tpr_estimate,
)
from privacygauge.report.values import (
    Block,
    Cell,
    Json,
    Measure,
    Pairs,
    Rows,
    Section,
    estimate_dict,
    note,
    pick_values,
    table,
    text,
    values_of,
)

GATED_RATES = (0.1, 0.01, 0.001)
"""False-positive rates at which a limit on the TPR may be set."""

_NO_ATTACK = "no attack has it"
GUESSING = "50%: members and non-members count the same"
"""Result of guessing on the scale of balanced accuracy."""


def intro(a: Attacks) -> str:
    """Return the sentences above the cards."""
    n = len(a.evaluations)
    small = f"Small figures are {rate(a.level)} intervals"
    allows = f"; those of guesses and pairs allow for the choice among {n} attacks"
    return f"Of the strongest attack, {a.best.title}. {small}{allows if n > 1 else ''}."


def highest(a: Attacks) -> Iterator[Measure]:
    """Yield the highest numbers over all attacks, to which limits apply, without cards.

    ``accuracy``, ``advantage``, ``auc``, and ``tpr@`` for each of `GATED_RATES`. Value and lower
    limit are each the highest over all attacks. Lower limits of accuracy, advantage and AUC are
    corrected for the choice among attacks. If an attack's ranking supports a higher accuracy than
    all guesses, accuracy and advantage are at least that, so that no limit is kept because a
    threshold did not carry over.
    """
    found = a.headline.reached
    value = max(x.value for x in (found.accuracy, *(e.accuracy for e in a.evaluations)))
    # The interval stays that of the headline, which is corrected for the number of attacks.
    right = replace(found.accuracy, value=value, high=max(value, found.accuracy.high))
    label = f"{right_of(found)} of the strongest attack"
    shown = percent_estimate(right)
    yield Measure("accuracy", label, right, shown, guessing=GUESSING, card=False)
    ranked = [advantage_of(found.accuracy)] if found.by_ranking else []
    every = [*ranked, *(e.advantage for e in a.evaluations)]
    low = advantage_of(found.accuracy).low
    every = [replace(x, low=min(x.low, low)) for x in every]
    label = "Highest advantage of all attacks"
    yield highest_of(
        "advantage", label, found=every, show=percent_estimate, guessing="0%", missing=_NO_ATTACK
    )
    low = a.headline.auc_low or a.headline.auc.low
    every = [replace(e.auc, low=min(e.auc.low, low)) for e in a.evaluations]
    label = "Highest AUC of all attacks"
    yield highest_of(
        "auc", label, found=every, show=decimal_estimate, guessing="0.5", missing=_NO_ATTACK
    )
    for fpr in GATED_RATES:
        # Both come from the same constants, so that equality of floats is exact.
        every = [r.estimate for e in a.evaluations for r in e.tpr_at_fpr if r.fpr == fpr]
        name = f"tpr@{key(fpr)}"
        label = f"Highest TPR at {rate(fpr)} FPR of all attacks"
        yield highest_of(
            name,
            label,
            found=every,
            show=partial(tpr_estimate, fpr=fpr),
            guessing=rate(fpr),
            missing=_NO_ATTACK,
        )
    yield from of_questions(a)


def of_questions(a: Attacks) -> Iterator[Measure]:
    """Yield the numbers other than the average to which limits apply, as cards if they show a leak.

    ``worst-group``: accuracy in the worst group shown to be more exposed than the rest, or on
    average if there is no such group. ``worst-records``: lower bound on the number of members that
    stand out. ``detectable``: smallest accuracy that the audit would have detected with its power;
    1 if it would have detected none.
    """
    if a.questions is None:
        return
    groups = a.questions.groups
    # Without a worse group the average stands for it, so that a limit can still be checked.
    found = a.headline.reached.accuracy
    text = "No group is shown to be more exposed than the rest."
    label = "Right guesses in the worst group"
    if groups:
        worst = groups[0].reached
        found = worst.accuracy
        named = group_label(groups[0])
        text = f"Right guesses among records with {named}."
        if worst.by_ranking:
            label = "Right at the best threshold, worst group"
            text = f"Records with {named}, whose members the attack ranks above the others."
    shown = percent_estimate(found)
    yield Measure(
        name="worst-group",
        label=label,
        found=found,
        shown=shown,
        note="",
        text=text,
        guessing=GUESSING,
        card=bool(groups),
    )
    exposed = a.questions.exposed
    text = "Members that would not stand among the highest scores without the release."
    label = "Members that stand out, at least"
    yield Measure(
        name="worst-records",
        label=label,
        found=float(exposed),
        shown=Shown(count(exposed)),
        note="",
        text=text,
        guessing="0",
        level=None if a.questions.tail is None else a.questions.tail.level,
        card=exposed > 0,
    )
    least = a.questions.detectable.average
    # 1 if no accuracy would have been detected, so that any limit below 1 is exceeded.
    accuracy = 1.0 if least is None else least
    text = (
        f"An audit of this size shows this much in {rate(a.questions.detectable.power)} of plays."
    )
    label = "Least right guesses that would have been found"
    shown = Shown(DASH if least is None else percent(least))
    yield Measure(
        name="detectable",
        label=label,
        found=accuracy,
        shown=shown,
        note="",
        text=text,
        guessing="50%",
        card=False,
    )


def questions_section(found: Questions | None) -> Section | None:
    """Return the section on few records and groups, with the smallest detectable leaks."""
    if found is None:
        return None
    least = found.detectable
    tail = found.tail
    rows: Rows = [
        {
            "Question": "On average: right guesses",
            "Found": "see the attacks",
            "Would mostly have been found": Shown(
                DASH if least.average is None else percent(least.average)
            ),
        },
        {
            "Question": "Few records: members that stand out",
            "Found": Shown(DASH if tail is None else f"at least {count(tail.exposed)}"),
            "Would mostly have been found": Shown(
                DASH if least.records is None else count(least.records)
            ),
        },
        {
            "Question": "Groups: records in a group whose members are all known",
            "Found": Shown(f"{count(len(found.groups))} groups worse than the rest"),
            "Would mostly have been found": Shown(
                DASH if least.group is None else count(least.group)
            ),
        },
    ]
    told = text(
        "One verdict answers three questions: what attacks find on average, whether a few records "
        "are given away by themselves, and whether a group is worse off than the rest. The last "
        f"column is the least that an audit of this size shows in {rate(least.power)} of plays: "
        "finding nothing rules out no less."
    )
    shown = table("questions", "Three questions", rows, prose=("Question",))
    return Section("questions", "What could have been found", (told, shown), "What could be found")


def questions_data(found: Questions | None) -> dict[str, Json]:
    """Return the questions other than the average, for ``report.json``.

    ``tail`` is the result for few records. ``detectable`` holds the smallest detectable leaks:
    ``average`` as a balanced accuracy, ``tail`` as the share of fully exposed members among all
    units, ``groups`` as the number of records in a group; null if nothing is detectable.
    """
    if found is None:
        return {}
    least = found.detectable
    n = least.n_in + least.n_out
    return {
        "tail": values_of(found.tail),
        "detectable": {
            "average": least.average,
            "tail": None if least.records is None else least.records / n,
            "groups": least.group,
            "power": least.power,
        },
    }


def highest_of(
    name: str,
    label: str,
    found: Sequence[Estimate],
    show: Callable[[Estimate], Shown],
    guessing: str,
    missing: str = "it was not asked for",
    reversed_by: Sequence[str] = (),
) -> Measure:
    """Return the highest of several estimates as a measure for limits, without a card.

    Value and limits are each the highest of all; `missing` is the reason to skip it if there are
    none. If attacks on some defences, `reversed_by`, are inverted, no limit can be checked and the
    measure is skipped as well.
    """
    if reversed_by:
        titles = ", ".join(map(plain, reversed_by))
        missing = f"attacks take members for non-members with {titles}"
    if reversed_by or not found:
        none = Skipped(name, missing)
        return Measure(name, label, none, Shown(DASH), guessing=guessing, card=False)
    first = max(found, key=lambda estimate: estimate.value)
    # `--fail-above` may check the lower limit alone, so it too must be the highest of all attacks.
    best = replace(first, low=max(x.low for x in found), high=max(x.high for x in found))
    return Measure(name, label, best, show(best), guessing=guessing, card=False)


def cards(a: Attacks) -> Iterator[Measure]:
    """Yield the numbers of the strongest attack, as cards.

    Limits do not apply to them, since another attack may have higher numbers; except ``epsilon``,
    which is a single bound for all attacks.
    """
    right = a.headline.accuracy
    auc = a.headline.auc
    text = "Members and non-members equally often. Guessing gives 50%. Balanced accuracy."
    label = "Right guesses"
    shown = percent_estimate(right)
    yield Measure(
        name="strongest-accuracy",
        label=label,
        found=right,
        shown=shown,
        note="",
        text=text,
        guessing=GUESSING,
        gate=False,
    )
    for r in a.best.tpr_at_fpr:
        # At a rate of 10% hardly anybody would call a member given away.
        if r.fpr not in (0.01, 0.001):
            continue
        fpr = rate(r.fpr)
        yield Measure(
            name=f"strongest-tpr@{key(r.fpr)}",
            label=f"Found at {fpr} false alarms",
            found=r.estimate,
            shown=tpr_estimate(r.estimate, r.fpr),
            note="",
            text=f"Share of the members. Guessing finds {fpr}. TPR at {fpr} FPR.",
            guessing=fpr,
            gate=False,
            doubtful=not r.resolved,
        )
    text = "A member scored above a non-member. Guessing gives 0.5. Area under the ROC (AUC)."
    label = "Pairs put in the right order"
    shown = decimal_estimate(auc)
    yield Measure(
        name="strongest-auc",
        label=label,
        found=auc,
        shown=shown,
        note="",
        text=text,
        guessing="0.5",
        gate=False,
    )
    yield epsilon(a)
    for prior, found in a.best.predictive_values:
        # The smallest of the priors: members are rare among those whom somebody would ask about.
        if prior != 0.01:
            continue
        guessing = rate(prior)
        yield Measure(
            name=f"strongest-ppv@{key(prior)}",
            label="Right when it says \u201cmember\u201d",
            found=found,
            shown=percent_estimate(found),
            note=f"if {guessing} of those asked about are members",
            text=f"Guessing is right {guessing} of the time.",
            guessing=guessing,
            gate=False,
        )


def epsilon(a: Attacks) -> Measure:
    """Return the lower bound on epsilon as a measure; only its lower limit has a meaning."""
    bound = a.headline.epsilon
    most = decimal(a.headline.epsilon_limit, 2)
    limit = f"With this many records, no audit could show more than {most}."
    if bound.low <= 0:
        note = ""
        text = "No epsilon above 0 was shown: no contradiction to any privacy guarantee."
    else:
        note = f"with {rate(bound.level)} confidence, by {plain(a.headline.epsilon_attack)}"
        text = "A smaller epsilon of differential privacy cannot be claimed."
    shown = Shown(rounded_down(max(0.0, bound.low)))
    return Measure(
        name="epsilon",
        label="Epsilon is at least",
        found=bound,
        shown=shown,
        note=note,
        text=f"{text} {limit}",
        guessing="0",
    )


_SLICES = 60
"""Largest number of slices shown; those that stand out come first."""


def group_label(found: Slice | RankedGroup) -> str:
    """Return the name of a group in a sentence, such as ``icu = 1``."""
    return f"{plain(found.column)} = {shorten(plain(found.group))}"


def groups_section(found: SliceTable) -> Section:
    """Return the section on groups."""
    n = len(found.slices)
    blocks: list[Block] = [
        text(
            f"Right guesses of {found.attack} in each group. With {count(n)} groups some look bad "
            "by luck alone, so the intervals are wide enough to hold together at "
            f"{rate(found.level)}, and a group is marked only if it is more exposed than all other "
            "records after Holm's correction for the number of groups."
        )
    ]
    # A stable sort: groups that stand out come first, otherwise the order stays.
    shown = sorted(found.slices, key=lambda s: not s.announced)[:_SLICES]
    tags = {True: ("stands out",), False: ()}
    rows: Rows = [
        {
            "Group": Cell(f"{s.column} = {s.group}", tags=tags[s.announced]),
            "Right guesses": percent_estimate(s.accuracy, 1),
            "Against the others": f"{'+' if s.excess >= 0 else ''}{percent(s.excess)}",
            "Corrected p": p_value(s.p_value),
            "Members": count(s.n_in),
            "Non-members": count(s.n_out),
        }
        for s in shown
    ]
    if n:
        best = [s.announced for s in shown]
        title = "Groups, those that stand out first"
        first = max(10, len(found.announced))
        blocks.append(table("slices", title, rows, best=best, at_once=first))
    else:
        blocks.append(text("No group was large enough to judge."))
    if len(shown) < n:
        told = f"{count(len(shown))} of {count(n)} groups are shown; all are in report.json."
        blocks.append(note(told))
    if found.skipped:
        blocks.append(Pairs(tuple((s.name, s.reason) for s in found.skipped)))
    return Section("slices", "Groups of records", tuple(blocks), "Groups")


def groups_data(found: SliceTable) -> dict[str, Json]:
    """Return the groups for ``report.json``."""
    return {
        **pick_values(found, "attack", "level", "slices"),
        "skipped": [{"name": s.name, "reason": s.reason} for s in found.skipped],
    }


def attacks_data(a: Attacks) -> dict[str, Json]:
    """Return the keys ``game``, ``headline`` and ``attacks``."""
    return {
        "game": values_of(a.game),
        "headline": headline_data(a.headline),
        "attacks": [attack_data(e) for e in a.evaluations],
    }


def headline_data(found: Headline) -> dict[str, Json]:
    """Return the numbers of the headline as plain values."""
    return {
        "attack": found.attack.title,
        **pick_values(found, "accuracy", "auc", "epsilon", "epsilon_attack", "epsilon_limit"),
        "reached": estimate_dict(found.reached.accuracy),
        "decided": grade_basis(found.reached),
    }


def grade_basis(found: AttackReach) -> str:
    """Return the basis of the grade: ``guesses`` or ``ranking``."""
    return "ranking" if found.by_ranking else "guesses"


def attack_data(e: Evaluation) -> dict[str, Json]:
    """Return the numbers of an attack as plain values."""
    return {
        **pick_values(e, "name", "variant", "thresholds", "rule"),
        **pick_values(e, "accuracy", "advantage", "auc"),
        **pick_values(e, "best_accuracy", "precision", "recall", "false_positive_rate", "epsilon"),
        **pick_values(e, "true_positives", "false_positives", "n_in", "n_out", "notes"),
        "tpr_at_fpr": {
            key(r.fpr): {
                **estimate_dict(r.estimate),
                **pick_values(r, "resolved", "at_threshold", "realised_fpr"),
            }
            for r in e.tpr_at_fpr
        },
        "ppv": {key(prior): estimate_dict(x) for prior, x in e.predictive_values},
    }
