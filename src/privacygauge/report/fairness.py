"""Texts and sections on whether members and non-members are comparable."""

from __future__ import annotations

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.fairness import FEWEST_PEOPLE, TWINS, Comparison
from privacygauge.evaluate.tail import Tail
from privacygauge.report import direction
from privacygauge.report.grades import untold_verdict
from privacygauge.report.numbers import (
    count,
    decimal_estimate,
    percent_estimate,
    plain,
    several,
    shorten,
)
from privacygauge.report.values import Block, Json, Section, Verdict, pairs, text, values_of

_NAMED = 3
"""Most columns that a text names, the most different first."""

_OPEN = (
    "It says neither that something leaks nor that nothing does: an attacker who knows in what the "
    "sides differ needs no release."
)
_ADVICE = (
    "Compare members with non-members of the same kind: draw both at random from the same records, "
    "before the training, or give more non-members like the members.",
    "Leave the column out of the file if it is the membership by another name, or follows from the "
    "model's answers.",
    "Audit again: this audit supports no decision about a release.",
)
_TWINS_ADVICE = (
    "Look for members that are also, in nearly the same form, among the non-members: a split made "
    "after records were copied or augmented, or pairs that were matched. Keep all forms of a "
    "record on one side.",
    "Audit again: this audit supports no decision about a release.",
)


def sides_differ(found: Comparison) -> str:
    """Return the columns in which the sides differ, as part of a sentence."""
    names = [f"'{shorten(plain(one.column))}'" for one in found.differences[:_NAMED]]
    if not names:
        return "several columns together"
    more = len(found.differences) - len(names)
    also = f" and {count(more)} more" if more else ""
    return f"{', '.join(names)}{also}"


def verdict(found: Comparison) -> Verdict:
    """Return the verdict if members and non-members cannot be compared."""
    area = None if found.blind is None else decimal_estimate(found.blind)
    # Most of a side was left out as copies, before any blind attacker was trained.
    if found.state == TWINS and area is None:
        return untold_verdict(
            headline="Cannot be told: most members or non-members have copies on the other side",
            sentences=(
                "Records that are equal, or nearly equal, on both sides cannot be told apart by "
                "any attack, so that a leak is not seen; and too few others are left.",
            ),
            advice=_TWINS_ADVICE,
        )
    # No copies were seen, but the blind attacker is wrong too often.
    if found.state == TWINS:
        return untold_verdict(
            headline="Cannot be told: members and non-members are more alike than chance allows",
            sentences=(
                "An attacker that sees no release is wrong about membership more often than "
                f"guessing: the area under its ROC curve is {area}, where 0.5 is chance. That "
                "happens where members have near copies among the non-members, which hides a leak.",
            ),
            advice=_TWINS_ADVICE,
        )
    told = f"the area under its ROC curve is {area}, where 0.5 is chance"
    # The sides share no value of the column, so there is nothing to rank.
    if area is None:
        told = "they have nothing in common in it"
    # Whole groups, such as machines, may have been dealt to the sides.
    by_group = (
        f"Each of the {count(number)} values of '{column}' is on one side only. If they were "
        f"dealt to the sides at random, they are the independent units: audit with --unit "
        f"{column} (unit='{column}' in Python), which compares them and not single records."
        for column, number in ((shorten(plain(name)), n) for name, n in found.whole_groups)
    )
    return untold_verdict(
        headline=f"Cannot be told: members and non-members differ in {sides_differ(found)}",
        sentences=(
            f"An attacker that sees no release tells the sides apart by {sides_differ(found)}: "
            f"{told}. What attacks on the release find may be that difference.",
            "There are not enough members and non-members that are alike in it to compare them.",
        ),
        unsaid=_OPEN,
        advice=(*by_group, *_ADVICE),
    )


def explained_by_column(found: Comparison, accuracy: Estimate) -> Verdict:
    """Return the verdict if a leak vanishes once records are matched on a column of the file."""
    columns = found.suspects or found.doubtful
    names = ", ".join(f"'{shorten(plain(name))}'" for name in columns[:_NAMED])
    begin = f"On all records guesses are right {percent_estimate(accuracy)} of the time"
    if found.suspects and found.alike is None:
        headline = f"Cannot be told: what attacks find may be a difference of the sides in {names}"
        rest = f"too few members and non-members are alike in {names} to compare them"
    else:
        headline = f"Cannot be told: what attacks find goes away where records are alike in {names}"
        rest = f"where members and non-members are alike in {names}, no leak is found"
    return untold_verdict(
        headline=headline,
        sentences=(
            f"{begin}; {rest}. If that was known of "
            "the records before the model was asked, nothing leaks that is not known anyway. If it "
            "was made from the model's answers, or from those of another model of the same data, "
            "it is the leak itself.",
        ),
        advice=(
            "Leave out of the file what was made from the answers of this model, or of another "
            "that was trained on the same data, and audit again.",
            "If the column was known before: draw members and non-members alike in it, or take "
            "the differences for what they are.",
            "Audit again: this audit supports no decision about a release.",
        ),
    )


def of_few_unmatched(found: Comparison, few: Tail | Estimate) -> Verdict:
    """Return the verdict if members stand out that are like no non-member of the file."""
    names = ", ".join(f"'{shorten(plain(one.column))}'" for one in found.differences[:_NAMED])
    where = names or "what the file says of them"
    if isinstance(few, Estimate):
        assert found.alone is not None
        seen = (
            f"But {several(int(np.count_nonzero(found.alone)), 'member')} like no non-member score "
            f"higher than the non-members (AUC {decimal_estimate(few)})"
        )
    else:
        seen = (
            f"But of the {count(few.top)} records that {plain(few.attack)} scores highest, "
            f"{count(few.members)} are members, and most of these are like no non-member"
        )
    return untold_verdict(
        headline=f"Cannot be told: members stand out that differ from all others in {where}",
        sentences=(
            f"Among records that are alike in {where} no leak is found. {seen}: a model "
            "that knows them by heart would look like this, and so would records that are easier "
            "for any model.",
        ),
        unsaid=direction.OPEN,
        advice=(
            "Give non-members of the same kind, such as later records of the same place, and audit "
            "again.",
            "Where there are none, train shadow models without these records (--model and --data, "
            "or --pool): they tell what the model knows of them from what it was trained on.",
        ),
    )


def of_a_placebo(found: Comparison, area: Estimate) -> Verdict:
    """Return the verdict if a placebo, not trained on the members, does as well as an attack."""
    assert found.placebo is not None  # else `beyond_placebo` is true
    return untold_verdict(
        headline="Cannot be told: models that cannot know the members tell them apart too",
        sentences=(
            "Shadow models that were trained without regard to the target's members find "
            f"{decimal_estimate(found.placebo)} of the area under the ROC curve, where 0.5 is "
            f"chance; the strongest attack on the target finds {decimal_estimate(area)}. So "
            "members and non-members differ without the release, and what the release adds is "
            "not shown.",
        ),
        unsaid=_OPEN,
        advice=_ADVICE,
    )


def of_few_people(found: Comparison) -> Verdict:
    """Return the verdict if attacks succeed on the rows of too few people."""
    return untold_verdict(
        headline=f"Cannot be told: only {count(found.few_people)} people stand behind all rows",
        sentences=(
            "Rows of one person are not independent, and what tells a handful of people apart, "
            "such as their hospital or year, looks like a leak. Nothing that holds by person is "
            f"shown by fewer than {FEWEST_PEOPLE}.",
        ),
        advice=(
            "Look at the column of people (--unit, unit=): if it names hospitals, days or batches, "
            "name the person instead, or none where each row is somebody else.",
            "Otherwise audit again with more people: this audit supports no decision about a "
            "release.",
        ),
    )


CLUSTERED = (
    "Rows that the model answers nearly alike are on the same side more often than rows of "
    "different people are, as repeated measurements or altered copies of one record would be. "
    "Such rows count as one, and without a name for it nobody knows how many there are: what "
    "attacks find may be the chance of few people."
)

UNNAMED_PEOPLE = untold_verdict(
    headline=(
        "Cannot be told: several rows seem to be of the same person, and the file does not say "
        "which"
    ),
    sentences=(CLUSTERED,),
    advice=(
        "Name the person, or the record, behind each row in a column, and give it with --unit "
        "(unit=); or keep one row per person.",
        "Audit again: this audit supports no decision about a release.",
    ),
)
"""The verdict if attacks succeed on rows that seem to share unnamed people."""


def warnings(found: Comparison) -> tuple[str, ...]:
    """Return warnings about a comparison that is not on all records as given."""
    left_out = [CLUSTERED] if found.clustered else []
    left_out += [
        f"{several(number, 'record')} left out of the comparison: {why}"
        for number, why in (
            (found.copied, "copies are on the other side"),
            (
                found.repeated,
                "repeats of another one of the same person and answer, and the sides have "
                "unequally many",
            ),
            (
                found.invented,
                "exactly between two others of the class, as oversampling makes them, and nobody's",
            ),
        )
        if number
    ]
    # Where the blind attacker failed, the sides were not shown to differ: nothing to warn of.
    if found.state == "fair" or (found.blind is not None and found.blind.low <= 0.5):
        return tuple(left_out)
    if not found.told and (found.state == TWINS or found.blind is None):
        return (*left_out, f"{verdict(found).headline}. {verdict(found).sentences[0]}")
    if found.blind is None:  # too few people were left for a blind attacker
        return tuple(left_out)
    begin = (
        f"members and non-members differ in {sides_differ(found)}: without the release they are "
        f"told apart with an area under the ROC curve of {decimal_estimate(found.blind)}"
    )
    if found.state == "different":
        return (*left_out, f"{begin}, and too few are alike to compare them")
    n = len(found.compared)
    kept = int(np.count_nonzero(found.compared))
    return (
        *left_out,
        f"{begin}; attacks are judged on {count(kept)} of {count(n)} records, in which both sides "
        "are alike in it",
    )


def records_judged(found: Comparison, unmatched: Estimate | None = None) -> tuple[str, ...]:
    """Return sentences on the records that a verdict speaks of; empty if these are all.

    `unmatched` is the accuracy on all records, if a column may have been made from the answers.
    """
    n = len(found.compared)
    kept = int(np.count_nonzero(found.compared))
    if kept == n:
        return ()
    why = "the others are copies, or made up of others"
    if found.blind is not None and found.blind.low > 0.5:
        why = (
            f"members and non-members differ in {sides_differ(found)}, and the sides are alike in "
            "it among these"
        )
    words = (
        f"{count(kept)} of {count(n)} records were judged: {why}. Of the rest it says nothing.",
    )
    if unmatched is None:
        return words
    names = ", ".join(f"'{shorten(plain(name))}'" for name in found.doubtful[:_NAMED])
    return (
        *words,
        f"On all records guesses are right {percent_estimate(unmatched)} of the time: if {names} "
        "was made from the model's answers, that is the leak.",
    )


def section(found: Comparison | None) -> Section | None:
    """Return the section on the blind attacker; None if it had nothing to learn from."""
    if found is None or found.blind is None:
        return None
    blocks: list[Block] = [
        text(
            "A blind attacker guesses membership from what is known of a record without the "
            "release: its class, its columns and, where there are shadow models, what these say of "
            "it. What it finds is no leak. Where it wins, attacks are judged on records that are "
            "alike in what it learnt, with the same share of members in each kind."
        )
    ]
    shown = {"Blind attacker, area under the ROC curve": decimal_estimate(found.blind)}
    if found.placebo is not None:
        shown["Placebo: shadow models asked about the target's members"] = decimal_estimate(
            found.placebo
        )
    if found.left is not None:
        shown["The same on the records that are compared"] = decimal_estimate(found.left)
    named = {
        f"Told apart by {shorten(plain(one.column))} alone": decimal_estimate(one.auc)
        for one in found.differences[:10]
        if one.auc is not None
    }
    of_suspects = {}
    if found.suspects:
        names = ", ".join(f"'{shorten(plain(name))}'" for name in found.suspects)
        alike = "none" if found.alike is None else count(int(np.count_nonzero(found.alike)))
        of_suspects[f"Records alike in {names}, too, on which a leak must show"] = alike
    # Where nothing can be told, no record is compared, whatever the mask says.
    kept = int(np.count_nonzero(found.compared)) if found.told else 0
    of_all = f"{count(kept)} of {count(len(found.compared))}"
    blocks.append(pairs({**shown, **named, **of_suspects, "Records compared": of_all}))
    if found.left is not None and found.left.high < 0.5:
        blocks.append(
            text(
                "On the records that are compared the blind attacker is wrong more often than "
                "guessing: they hold the same share of members of each kind, more evenly than "
                "chance would, so that a kind with many members among those it learns from has few "
                "among the rest. Nothing is left by which the sides could be told apart."
            )
        )
    return Section("comparison", "Is the comparison fair?", tuple(blocks), "Comparison")


def as_data(found: Comparison | None) -> Json:
    """Return the value of the key ``comparison`` of ``report.json``."""
    if found is None:
        return None
    return {
        "state": found.state,
        "compared": int(np.count_nonzero(found.compared)),
        "blind_auc": None if found.blind is None else values_of(found.blind),
        "blind_auc_left": None if found.left is None else values_of(found.left),
        "placebo_auc": values_of(found.placebo),
        "suspects": list(found.suspects),
        "differences": [
            {"column": one.column, "auc": values_of(one.auc)} for one in found.differences
        ],
    }
