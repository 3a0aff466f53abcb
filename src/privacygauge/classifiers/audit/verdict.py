"""The verdict on a classifier, for somebody who has to decide about a release.

If predictions may not be what they should be, the absence of a leak shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.signal import fftconvolve

from privacygauge.classifiers.game import PredictionObservation
from privacygauge.classifiers.held import Held
from privacygauge.classifiers.known import CLASS, HELD_BY, known_of
from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.signals import gains, knowledge_of_classes
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.game import Round, Shadow
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.attacked import AttackFindings
from privacygauge.evaluate.fairness import Comparison, folds_of, group_codes
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import Attacks
from privacygauge.evaluate.rates import clopper_pearson, difference, mean
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.tail import Tail
from privacygauge.report import direction, fairness
from privacygauge.report.attacks.measures import group_label
from privacygauge.report.attacks.verdict import (
    FEW_APART,
    FEW_BELOW,
    LOOK_AT_THEM,
    LOOK_BELOW,
    TOO_FEW,
    GradedAttacks,
    grade_attacks,
)
from privacygauge.report.grades import (
    GRADES,
    LARGE,
    NONE,
    SMALL,
    UNTOLD,
    accuracy_gauge,
    scale_of,
    untold_verdict,
)
from privacygauge.report.numbers import decimal, decimal_estimate
from privacygauge.report.values import Grade, Verdict

DOUBTFUL = "Cannot be told: no leak was found, but the predictions may not be what they should be"
"""Headline of the verdict on doubtful predictions."""

OTHER_LABELS = "Cannot be told: the model does not know the classes of the {side}"
"""Headline of the verdict if one side's labels may belong to other records."""

WRONG_LABELS = "Cannot be told: more labels of the {side} seem to be wrong"
"""Headline of the verdict if one side has more wrong labels."""

CHECKS = (
    "Check that predictions, labels and membership are in one order of records, and that the "
    "predictions' columns are in the order of the classes.",
    "Check that the membership is that of this very model, and that shadow models are trained and "
    "asked exactly as it is, with its defence if it has one.",
    "Audit again: this audit supports no decision about a release.",
)
"""Next steps after doubts about the predictions, the most urgent first."""

MORE_RECORDS = (
    "Audit on more records: of members and of non-members, at least as many as the sentence above "
    "would need to show a moderate leak.",
    "Where there are no more records, train shadow models (--model and --data, or --pool): attacks "
    "on single records show more with as many records.",
)
"""Next steps after an audit of too few records."""

_COMPARED = "confidence"
"""Name of the signal that compares the target with shadow models by its AUC, without a
threshold."""

MATTERS = (
    "It matters to the people behind the records: whoever holds somebody's record can check "
    "whether it was in the data, which alone may say that they were a patient, a customer or "
    "a suspect."
)
"""Sentence on the people affected by a leak."""

REPEAT = (
    "Repeat the audit whenever the data, the training or the release changes, and keep this report "
    "with the release."
)
"""Last advice of every verdict."""


def less_right_on_members(a: Attacks) -> bool:
    """Return whether a model is right about members less often than about others, for certain.

    No training does that: the sides were swapped, or differ in more than membership. An attack that
    learns the direction finds a leak there, and takes members for non-members.
    """
    return any(one.attack.startswith("correctness") for one in a.headline.inverted)


def verdict(
    a: Attacks,
    doubts: tuple[str, ...] = (),
    comparison: Comparison | None = None,
    *,
    ranked: bool = False,
    unmatched: Headline | None = None,
    alike: AttackFindings | None = None,
    unmatched_few: Tail | Estimate | None = None,
    unknown_side: UnknownSide | None = None,
    more_records: tuple[str, ...] = MORE_RECORDS,
) -> Verdict:
    """Return the verdict on attacks on a classifier, graded as `grade_attacks` does.

    There is no grade if members and non-members differ without the release, or if no leak was found
    but there are doubts about the predictions. `ranked` says whether single records stand out in
    the table of the riskiest. `unmatched` is the headline on all records, if a column on which they
    were matched may have been made from the answers. `alike` are the findings on records that are
    alike in a column that may explain the answers, or follow from them: a leak is only claimed if
    these show one, too. `unmatched_few` are members that stand out among all records, or the AUC of
    members against non-members, if they are like no non-member. `unknown_side` is a side with
    labels that may belong to other records, see `of_one_side`. `more_records` is the advice after
    too few records.
    """
    if comparison is not None and not comparison.told:
        return fairness.verdict(comparison)
    # Reasons against the comparison come before the grade; those below only matter to a leak that
    # was found, or to one that was not.
    found = grade_attacks(a)
    if comparison is not None and comparison.clustered and found.grade not in (NONE, UNTOLD):
        return fairness.UNNAMED_PEOPLE
    if comparison is not None and comparison.few_people and found.grade not in (NONE, UNTOLD):
        return fairness.of_few_people(comparison)
    doubted = None if unknown_side is None or unknown_side.gives_away else unknown_side
    if doubted is not None and found.grade not in (NONE, UNTOLD):
        return untold_verdict(
            headline=doubted.headline,
            sentences=(doubted.words,),
            unsaid=direction.OPEN,
            advice=CHECKS,
        )
    if found.grade not in (NONE, UNTOLD) and less_right_on_members(a):
        return direction.verdict(direction.sentences(a.headline.inverted))
    if comparison is not None and not _beyond_placebo(comparison, a, found):
        return fairness.of_a_placebo(comparison, a.headline.auc)
    if found.grade in (NONE, UNTOLD) and doubts:
        return doubtful(doubts)
    if comparison is not None and comparison.suspects and found.grade not in (NONE, UNTOLD):
        explained = alike is None
        if alike is not None:
            on_these = replace(
                a,
                evaluations=alike.evaluations,
                headline=alike.headline,
                groups=alike.slices.announced,
                questions=alike.questions,
            )
            explained = grade_attacks(on_these).grade in (NONE, UNTOLD)
        if explained:
            return fairness.explained_by_column(comparison, a.headline.reached.accuracy)
    # Nothing on matched records, but a leak without matching: the column may hide it.
    hidden = unmatched is not None and unmatched.reached.accuracy.low > 0.5
    if comparison is not None and hidden and found.grade in (NONE, UNTOLD):
        assert unmatched is not None
        return fairness.explained_by_column(comparison, unmatched.reached.accuracy)
    if comparison is not None and unmatched_few is not None and found.grade in (NONE, UNTOLD):
        return fairness.of_few_unmatched(comparison, unmatched_few)
    if found.headline in (TOO_FEW, FEW_APART, FEW_BELOW):
        return untold_verdict(
            headline=found.headline,
            sentences=(
                *found.sentences,
                *(() if comparison is None else fairness.records_judged(comparison)),
            ),
            advice={TOO_FEW: more_records, FEW_APART: LOOK_AT_THEM, FEW_BELOW: LOOK_BELOW}[
                found.headline
            ],
        )
    if found.grade == UNTOLD:
        return direction.verdict(found.sentences)
    leak = found.grade != NONE
    resolved = any(r.fpr == 0.001 and r.resolved for e in a.evaluations for r in e.tpr_at_fpr)
    more = (
        "Audit on at least 10,000 non-members, if there are so many: fewer cannot show whether a "
        "handful of records is badly exposed."
    )
    of_all = "of the strongest attack"
    if a.questions is None or found.question == "average":
        gauge = accuracy_gauge(of_all, a.headline.reached)
    elif found.question == "groups":
        worst = a.questions.groups[0]
        decided = "A group decided: it is shown to be more exposed than all records together."
        gauge = accuracy_gauge(
            f"among records with {group_label(worst)}", worst.reached, decided=decided
        )
    else:
        decided = "Single records decided, whatever the average: the number is the average of all."
        gauge = accuracy_gauge(of_all, a.headline.reached, decided=decided)
    reached = unmatched.reached.accuracy if unmatched is not None and hidden else None
    judged = () if comparison is None else fairness.records_judged(comparison, reached)
    return Verdict(
        grade=found.grade,
        scale=scale_of(found.grade),
        headline=found.headline,
        sentences=(*found.sentences, *judged, *((MATTERS,) if leak else ())),
        unsaid=unsaid(found.grade),
        advice=(
            *(mending(found.grade, ranked=ranked) if leak else ()),
            *(() if resolved else (more,)),
            REPEAT,
        ),
        gauge=gauge,
    )


def _beyond_placebo(comparison: Comparison, a: Attacks, found: GradedAttacks) -> bool:
    """Return whether attacks find more than the placebo, models that cannot know the members.

    The comparison uses the numbers that decided the grade: a difference that models find on average
    does not explain a few exposed records, or a group.
    """
    # An average that shows no leak has nothing that a placebo could explain.
    if a.headline.reached.accuracy.low <= 0.5 or comparison.beyond_placebo(a.headline.auc):
        return True
    questions = a.questions
    if questions is None or found.question == "average":
        return False
    if found.question == "groups":
        return comparison.group_beyond_placebo(questions.groups[0].reached.accuracy)
    tail = questions.tail
    assert tail is not None  # it decided
    return comparison.few_beyond_placebo(tail.members, tail.top, tail.n_in, tail.n_out)


def unsaid(grade: Grade) -> str:
    """Return the claims that a grade does not make."""
    stronger = "that a stronger attack, or an attacker who knows more, would do no better"
    if grade == NONE:
        return f"It does not say that nothing leaks, nor {stronger}."
    return (
        "It does not say that the contents of a record can be read from the release, nor "
        f"{stronger}. It speaks of the average; single records may be more or less exposed."
    )


def mending(grade: Grade, *, ranked: bool = False) -> tuple[str, ...]:
    """Return ways to reduce a leak, the most urgent first.

    Single records are mentioned if models with and without each record rank them (`ranked`):
    confidence alone does not show who is at risk.
    """
    hold = "Hold the release back, or limit who may query it, until the leak is smaller."
    private = (
        "Train with differential privacy (DP-SGD) where the release has to be public: no other "
        "defence comes with a guarantee."
    )
    removing = (
        "Look up the records that stand out in the table below. Removing them helps them, not "
        "always the others: audit again afterwards."
    )
    return (
        *((hold,) if grade == LARGE else ()),
        "Reduce overfitting: stop the training earlier, regularise more (weight decay, dropout), "
        "or train on more data.",
        *((removing,) if ranked else ()),
        *((private,) if GRADES.index(grade) > GRADES.index(SMALL) else ()),
    )


def doubtful(doubts: tuple[str, ...]) -> Verdict:
    """Return the verdict if no leak was found, but the predictions are in doubt."""
    return untold_verdict(
        headline=DOUBTFUL,
        sentences=doubts,
        unsaid=direction.OPEN,
        advice=CHECKS,
    )


def doubts(
    rounds: Sequence[Round], target: Predictions, level: float, *, has_shadow: bool
) -> Iterator[str]:
    """Yield reasons to doubt the predictions, in sentences."""
    yield from of_classes(target, level)
    shadow = rounds[0].observation.shadow
    if has_shadow and shadow is not None:
        found = _beside_shadows(rounds, shadow, level)
        words, nobody = found or ("", True)
        if not nobody:
            yield (
                f"{words} Most likely the membership is that of another model, or the target was "
                "trained or asked in another way than they were"
            )
        # One model may be better than another by chance of training, which no interval over records
        # covers. So its accuracy must be nearer to that of shadow models on their members than on
        # their non-members.
        right = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
        secret = np.concatenate([r.secret for r in rounds])
        unit = np.concatenate([r.unit for r in rounds])
        known = shadow.signals["correctness"] == 1.0
        sides = shadow.member, ~shadow.member
        inside, outside = ((known[side], shadow.unit[side]) for side in sides)
        overfit = difference(inside[0], outside[0], level, owners=(inside[1], outside[1]))
        owners = unit[~secret], outside[1]
        better = difference(right[~secret], outside[0], level, owners=owners)
        if overfit.low > _POINTS and better.low > _POINTS and better.value > overfit.value / 2:
            yield (
                f"The target is right about non-members {100 * better.value:.1f} points more "
                f"often ({100 * better.low:.1f} to {100 * better.high:.1f}) than shadow models "
                "are about theirs. Most likely it was trained on them too, as a model that is "
                "fitted again on all data is; or the shadow models were trained on less"
            )


def of_classes(target: Predictions, level: float) -> Iterator[str]:
    """Yield reasons to doubt the order of records, or of the columns of predictions."""
    # With one class there is nothing to know about classes.
    if (target.labels == target.labels[0]).all():
        return
    gain, claimed = gains(target)
    found = mean(gain, level, unit="records", owner=target.unit)
    if found.low <= 0 and found.high < claimed / _UNKNOWN:
        yield (
            "The target does not know its classes: it gives a record's class a probability that is "
            f"{decimal_estimate(found)} above the mean over all records, where its own certainty "
            f"claims {decimal(claimed, 3)}. Most likely labels and predictions are of different "
            "records, or the predictions' columns are in another order than the classes"
        )


@dataclass(frozen=True)
class UnknownSide:
    """A side with labels that the model does not know, or contradicts, unlike the other side's."""

    headline: str
    """Verdict in one line, if attacks find something."""
    words: str
    """Reason, in a sentence."""
    gives_away: bool = False
    """Whether the model reveals its members even so, because it is right about each of them."""


def of_one_side(
    rounds: Sequence[Round],
    target: Predictions,
    level: float,
    *,
    has_shadow: bool,
    features: Held | None = None,
) -> UnknownSide | None:
    """Return the side with labels that may belong to other records, None if there is none.

    The model knows the classes of one side and nothing of the other's, and its answers do not
    separate the sides without the labels: the labels differ, not the model. Two explanations are
    excluded first. If shadow models know as little of their records of that side, the task is hard;
    and if the members' labels cannot be learnt from the columns that the answers follow from, the
    model has memorised them. Without a pool, whose models saw the same labels, labels that are
    wrong more often among the members are found, too.
    """
    gain, claimed = gains(target)
    sides = {"members": target.member, "non-members": ~target.member}
    found = {}
    for name, side in sides.items():
        owner = None if target.unit is None else target.unit[side]
        found[name] = mean(gain[side], level, unit="records", owner=owner)
    unknown = [
        name
        for name, one in found.items()
        if one.low <= 0
        and one.high < claimed / _UNKNOWN
        and knowledge_of_classes(target[np.flatnonzero(sides[name])]) < _KNOWN
    ]
    signals = [r.observation.signals for r in rounds]
    if not all({_WITHOUT_LABELS, "correctness"} <= set(one) for one in signals):
        return None
    secret, unit = (np.concatenate([getattr(r, x) for r in rounds]) for x in ("secret", "unit"))
    # A signal without labels that separates the sides shows a leak of the model itself.
    blind = np.concatenate([one[_WITHOUT_LABELS] for one in signals])
    if auc(Transcript(blind, secret, unit=unit), level).excludes(0.5):
        return None
    right = np.concatenate([one["correctness"] for one in signals]) == 1.0
    # Models of a pool saw the same labels: attacks that compare with them find no such difference.
    with_pool = any(
        isinstance(r.observation, PredictionObservation) and r.observation.pool is not None
        for r in rounds
    )
    if not unknown and not with_pool:
        labels = np.concatenate([r.observation.stratum for r in rounds])
        words = _of_wrong_labels(right, secret, unit=unit, labels=labels, level=level)
        if words is None:
            return None
        return UnknownSide(WRONG_LABELS.format(side="members"), words)
    # Exactly one side unknown, and the other known significantly: otherwise nothing is compared.
    if len(unknown) != 1 or max(one.low for one in found.values()) <= 0:
        return None
    [name] = unknown
    inside = name == "members"
    shadow = rounds[0].observation.shadow
    if has_shadow and shadow is not None:
        theirs = shadow.signals["correctness"] == 1.0
        rows = secret == inside
        others = shadow.member == inside
        owners = unit[rows], shadow.unit[others]
        if difference(right[rows], theirs[others], level, owners=owners).high >= -_POINTS:
            return None
    headline = OTHER_LABELS.format(side=name)
    known = found["non-members" if inside else "members"]
    words = (
        f"The model does not know the classes of the {name}: it gives them a probability that is "
        f"{decimal_estimate(found[name])} above the mean over all records, where its own certainty "
        f"claims {decimal(claimed, 3)}; and without the labels its answers tell the sides apart in "
        "nothing."
    )
    order = other_order(target[np.flatnonzero(sides[name])], _FITS * known.value)
    if order is not None:
        return UnknownSide(headline, f"{words} Labels of the {name} fit the answers {order}")
    records = f"labels and predictions of the {name} are of different records"
    if inside:
        return UnknownSide(headline, f"{words} Most likely {records}")
    # Non-members are unknown: either records were mixed up, or the model has memorised its members.
    # Signals return to the order of the file, as `known_of` needs them.
    of_file = {key: np.empty(len(target)) for key in ("correctness", "confidence", "entropy")}
    order_of_rows = np.concatenate([r.target for r in rounds])
    for key, values in of_file.items():
        values[order_of_rows] = np.concatenate([one[key] for one in signals])
    known_columns = known_of(target, of_file, features).columns
    by_heart = learnt_by_heart(target, known_columns, 1 / _UNKNOWN, level)
    if by_heart:
        return None
    n_in = checks.n_distinct(unit[secret])
    return UnknownSide(
        headline,
        f"{words} Either {records}; or the model knows its members by heart and has learnt nothing "
        "else, which gives them away. An audit that is also given the records' features, or a "
        "shadow model, can tell which",
        # Right about every member, and surely about nearly all: members are revealed, whatever the
        # cause.
        gives_away=by_heart is None
        and bool(right[secret].all())
        and clopper_pearson(n_in, n_in, level)[0] > _EACH,
    )


def _of_wrong_labels(
    right: Bools, secret: Bools, unit: Ints, labels: Ints, level: float
) -> str | None:
    """Return a warning if the model contradicts members' labels more often than non-members'.

    Training on labels does not make a model contradict them. If the answers do not separate the
    sides without the labels, the labels differ, as in a training set that was not cleaned.
    """
    owners = unit[secret], unit[~secret]
    away = difference(right[secret], right[~secret], level, owners=owners)
    # Classes are weighted as among the members: other class shares alone make no difference.
    within = 0.0
    for label in np.unique(labels[secret]):
        mine = labels == label
        inside = right[mine & secret]
        outside = right[mine & ~secret]
        if len(outside):
            within += len(inside) * (inside.mean() - outside.mean())
    if away.high >= -_POINTS or float(within / np.count_nonzero(secret)) >= -_POINTS:
        return None
    return (
        f"The model contradicts the labels of the members {-100 * away.value:.1f} points more "
        f"often ({-100 * away.high:.1f} to {-100 * away.low:.1f}) than those of the non-members, "
        "which no training on them explains; and without the labels its answers tell the sides "
        "apart in nothing. Most likely more labels are wrong among the members, as where only a "
        "test set was cleaned"
    )


_UNKNOWN = 4
"""Factor between claimed and actual confidence above which a model does not know its classes."""

_KNOWN = 3.0
"""Smallest agreement with the answers, in standard deviations, that shows labels to be the records'
own."""

_FITS = 0.5
"""Share of the model's knowledge of one side from which another order fits the other side's
labels."""

_EACH = 0.98
"""Smallest lower bound of the share of right answers about members, if none is wrong, that shows
memorised members or a task without errors."""

_WITHOUT_LABELS = "entropy"
"""Name of a signal that does not use the labels."""


_POINTS = 0.02
"""Smallest difference of shares that is reported: two points."""


def knows_nobody(rounds: Sequence[Round], level: float, *, has_shadow: bool) -> Iterator[str]:
    """Yield a warning if the target answers about all records as about unseen ones.

    A model that leaks nothing does so, but so do answers that are not the model's own.
    """
    shadow = rounds[0].observation.shadow
    if not has_shadow or shadow is None:
        return
    found = _beside_shadows(rounds, shadow, level)
    words, nobody = found or ("", False)
    if nobody:
        yield (
            f"{words} It answers about members and non-members as shadow models do about "
            "records that they never saw. If it was trained on these members, check that the "
            "answers are its own, and not those of other models, as cross_val_predict gives them"
        )


def _beside_shadows(
    rounds: Sequence[Round], shadow: Shadow, level: float
) -> tuple[str, bool] | None:
    """Return a sentence if a target leaks significantly less than its shadow models, else None.

    With it comes whether the target knows nobody.

    A target with another membership knows some of the alleged non-members. A target that answers
    about all records as shadow models do about unseen ones knows nobody.
    """
    known = [shadow.signals, *(r.observation.signals for r in rounds)]
    if not all(_COMPARED in signals for signals in known):
        return None
    seen = np.concatenate([signals[_COMPARED] for signals in known[1:]])
    secret, unit = (np.concatenate([getattr(r, x) for r in rounds]) for x in ("secret", "unit"))
    theirs_seen = shadow.signals[_COMPARED]
    ours = auc(Transcript(seen, secret, unit=unit), level)
    theirs = auc(Transcript(theirs_seen, shadow.member, unit=shadow.unit), level)
    # Shadow models must leak, and significantly more than the target.
    if theirs.low <= max(0.5, ours.high):
        return None
    words = (
        "Shadow models give their members away, the target does not: the area under the ROC "
        f"curve of the {_COMPARED} is {decimal_estimate(theirs)} for them and "
        f"{decimal_estimate(ours)} for it."
    )
    # The share of records that the target knows as shadow models know their members, as the mean of
    # two measures, the mean probability of the true class and the share of right answers: 0 is the
    # value of shadow models on other records, 1 that on their members. One model may be more
    # confident than another by chance of training, and then ranks all its records higher. But it is
    # more confident where it is right and where it is wrong, so that means of two models differ
    # less than ranks.
    found = []
    for name in (_COMPARED, "correctness"):
        if not all(name in r.observation.signals for r in rounds) or name not in shadow.signals:
            continue
        of_shadows = shadow.signals[name]
        lowest = float(of_shadows[~shadow.member].mean())
        highest = float(of_shadows[shadow.member].mean())
        own = float(np.mean(np.concatenate([r.observation.signals[name] for r in rounds])))
        if highest - lowest > _POINTS:
            found.append((own - lowest) / (highest - lowest))
    # Without overfit shadow models there is no scale: nothing speaks against knowing all members.
    share = float(np.mean(found)) if found else 1.0
    # With a wrong membership, a target still knows as many of the records as there are members.
    return words, share < _MOSTLY * float(secret.mean())


_MOSTLY = 0.6
"""Share of the members' number below which the records that a target knows are due to chance."""


_MOST_LEARNT = 5_000
"""Largest number of records per side that are used."""

_FEWEST = 40
"""Fewest rows of a side that allow a conclusion."""

_AGREES = 4.0
"""Smallest agreement, in standard deviations, that shows answers to follow from the columns."""

_ROWS_A_CLASS = 10
"""Fewest rows per class to look for another order of the classes: with fewer, chance alone finds an
order that fits."""


def learnt_by_heart(
    target: Predictions, known: Mapping[str, NDArray[Any]], least: float, level: float
) -> bool | None:
    """Return whether a model knows its members' labels far better than these can be learnt.

    None if the columns cannot show it.

    Parameters
    ----------
    target : Predictions
    known : mapping of str to ndarray, shape (n,)
        Columns that are known without asking the model, as `known_of` returns them.
    least : float
        In (0, 1). A cross-fitted forest, which learns from one half of the members and is asked
        about the other, must stay below this share of the model's knowledge of its members, the
        mean of their `gains`.
    level : float
        In (0, 1).

    Notes
    -----
    No forest learns from columns that are unrelated to the labels. So the model's answers about
    non-members must follow from the columns, too: a forest that learnt the members' labels must
    agree with them more often than chance.
    """
    from sklearn.ensemble import RandomForestClassifier

    codes = [
        code
        for name, values in known.items()
        if name not in (CLASS, HELD_BY) and (code := group_codes(values)) is not None
    ]
    inside = np.flatnonzero(target.member)
    outside = np.flatnonzero(~target.member)
    if not codes or min(len(inside), len(outside)) < _FEWEST:
        return None
    # Subsets of a fixed size bound the time; they must not depend on the audit's seed.
    rng = seeds.stream(0, "labels learnt by heart")
    inside = rng.permutation(inside)[:_MOST_LEARNT]
    outside = rng.permutation(outside)[:_MOST_LEARNT]
    matrix = np.column_stack(codes)

    def answers_of_forest(rows: Ints, asked: Ints) -> Floats:
        forest = RandomForestClassifier(50, min_samples_leaf=2, random_state=0)
        forest.fit(matrix[rows], target.labels[rows])
        found = np.zeros((len(asked), target.n_classes))
        found[:, forest.classes_] = forest.predict_proba(matrix[asked])
        return found

    # The forest's predictions take the answers' place, and the model's answers that of the labels.
    said = target[outside].values.argmax(axis=1)
    forest = replace(
        target[outside], answers=answers_of_forest(inside, outside), logits=False, labels=said
    )
    if knowledge_of_classes(forest) < _AGREES:
        return None
    own = gains(target[inside])[0]
    # Rows of one person stay in one half: in both, they would teach the forest its answers.
    half = folds_of(target.units[inside], target.member[inside], 2, rng)
    learnt = np.empty(len(inside))
    for part in (0, 1):
        asked = half == part
        probs = answers_of_forest(inside[~asked], inside[asked])
        labels = target.labels[inside[asked]]
        # As in `gains`: the probability of the true class, less its mean over the asked records.
        learnt[asked] = probs[np.arange(len(labels)), labels] - probs.mean(axis=0)[labels]
    found = mean(learnt, level, unit="records", owner=target.units[inside])
    return found.high < least * float(own.mean())


def other_order(side: Predictions, least: float) -> str | None:
    """Return, in words, another order in which labels fit the answers; None if none does.

    Parameters
    ----------
    side : Predictions
        Members alone, or non-members alone, in the order of the file.
    least : float
        In (0, 1). Smallest number of labels that the answers must match in that order beyond those
        that match by chance, as a share of all rows.

    Notes
    -----
    Two causes are examined: classes in another order, as another encoder numbers them, and rows
    that were shifted or reversed. One convolution per class counts the matches of all shifts.
    """
    n = len(side)
    k = side.n_classes
    if n < _FEWEST:
        return None
    said = side.values.argmax(axis=1)
    # Entry (i, j): rows of class i that are answered with class j.
    counts = np.zeros((k, k))
    np.add.at(counts, (side.labels, said), 1)
    given = counts.sum(axis=1)
    answered = counts.sum(axis=0)
    if n >= _ROWS_A_CLASS * k:
        first, second = linear_sum_assignment(counts, maximize=True)
        by_chance = given @ answered[second] / n
        if counts[first, second].sum() - by_chance >= least * n:
            return "in another order of the classes than that of the predictions' columns"
    # Entry n - 1 + s of `same` counts matches if labels stand s rows below their answers; `turned`
    # does the same with the answers in reverse.
    same = np.zeros(2 * n - 1)
    turned = np.zeros(2 * n - 1)
    for number in np.flatnonzero(given * answered):
        is_given = (side.labels == number).astype(np.float64)
        is_said = (said == number).astype(np.float64)
        same += fftconvolve(is_given, is_said[::-1])
        turned += fftconvolve(is_given, is_said)
    needed = least * n + given @ answered / n
    if same.max() >= needed:
        moved = int(same.argmax()) - (n - 1)
        rows = "one row" if abs(moved) == 1 else f"{abs(moved):,} rows"
        return f"{rows} {'below' if moved > 0 else 'above'} the answers that they fit"
    return "in the opposite order of rows" if turned.max() >= needed else None
