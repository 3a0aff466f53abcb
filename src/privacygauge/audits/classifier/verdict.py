"""The verdict on a classifier, in words for somebody who has to decide about a release.

Where predictions may not be what they are said to be, finding no leak shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.signals import gains
from privacygauge.core.game import Round, Shadow
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.played import Attacks
from privacygauge.evaluate.rates import mean
from privacygauge.evaluate.roc import auc
from privacygauge.report import direction
from privacygauge.report.attacks.verdict import judged
from privacygauge.report.grades import GRADES, LARGE, NONE, SMALL, UNTOLD, accuracy_gauge, scale_of
from privacygauge.report.numbers import decimal_estimate, fixed
from privacygauge.report.values import Grade, Verdict

DOUBTFUL = "Cannot be told: no leak was found, but the predictions may not be what they should be"
"""The verdict in one line."""

CHECKS = (
    "Check that predictions, labels and membership are in one order of records, and that the "
    "predictions' columns are in the order of the classes.",
    "Check that the membership is that of this very model, and that shadow models are trained and "
    "asked exactly as it is, with its defence if it has one.",
    "Audit again: this audit supports no decision about a release.",
)
"""What to do next, the most urgent first."""

_COMPARED = "confidence"
"""The signal by which the target is compared with shadow models: it needs no threshold."""

MATTERS = (
    "It matters to the people behind the records: whoever holds somebody's record can check "
    "whether it was in the data, which alone may say that they were a patient, a customer or "
    "a suspect."
)
"""To whom a leak matters."""

REPEAT = (
    "Repeat the audit whenever the data, the training or the release changes, and keep this report "
    "with the release."
)
"""The last advice."""


def verdict(a: Attacks, doubts: tuple[str, ...] = ()) -> Verdict:
    """Return the verdict on attacks on a classifier, graded as `judged` does.

    It cannot be told where no leak was found, but there are doubts about the predictions.
    """
    found = judged(a)
    if found.grade == NONE and doubts:
        return doubtful(doubts)
    if found.grade == UNTOLD:
        return direction.verdict(found.sentences)
    leak = found.grade != NONE
    resolved = any(r.fpr == 0.001 and r.resolved for e in a.evaluations for r in e.tpr_at_fpr)
    more = (
        "Audit on at least 10,000 non-members, if there are so many: fewer cannot show whether a "
        "handful of records is badly exposed."
    )
    return Verdict(
        found.grade,
        scale_of(found.grade),
        found.headline,
        (*found.sentences, *((MATTERS,) if leak else ())),
        unsaid(found.grade),
        (*(mending(found.grade) if leak else ()), *(() if resolved else (more,)), REPEAT),
        accuracy_gauge("the strongest attack", a.headline.reached),
    )


def unsaid(grade: Grade) -> str:
    """Return what a grade does not say."""
    stronger = "that a stronger attack, or an attacker who knows more, would do no better"
    if grade == NONE:
        return f"It does not say that nothing leaks, nor {stronger}."
    return (
        "It does not say that the contents of a record can be read from the release, nor "
        f"{stronger}. It speaks of the average; single records may be more or less exposed."
    )


def mending(grade: Grade) -> tuple[str, ...]:
    """Return what makes a leak smaller, the most urgent first."""
    hold = "Hold the release back, or limit who may query it, until the leak is smaller."
    private = (
        "Train with differential privacy (DP-SGD) where the release has to be public: no other "
        "defence comes with a guarantee."
    )
    return (
        *((hold,) if grade == LARGE else ()),
        "Reduce overfitting: stop the training earlier, regularise more (weight decay, dropout), "
        "or train on more data.",
        "Look up the riskiest records in the table below. Removing them helps them, not always "
        "the others: audit again afterwards.",
        *((private,) if GRADES.index(grade) > GRADES.index(SMALL) else ()),
    )


def doubtful(doubts: tuple[str, ...]) -> Verdict:
    """Return the verdict where no leak was found, but there are doubts."""
    return Verdict(UNTOLD, (UNTOLD,), DOUBTFUL, doubts, direction.OPEN, CHECKS)


def doubts(
    rounds: Sequence[Round], target: Predictions, level: float, *, has_shadow: bool
) -> Iterator[str]:
    """Yield what speaks against the predictions, in sentences."""
    yield from of_classes(target, level)
    shadow = rounds[0].observation.shadow
    if has_shadow and shadow is not None:
        yield from _of_shadows(rounds, shadow, level)


def of_classes(target: Predictions, level: float) -> Iterator[str]:
    """Yield what speaks against the order of the records or of the predictions' columns."""
    if (target.labels == target.labels[0]).all():
        return
    gain, claimed = gains(target)
    found = mean(gain, level, unit="records", owner=target.unit)
    if found.low <= 0 and found.high < claimed / 4:
        yield (
            "The target does not know its classes: it gives a record's class a probability that is "
            f"{decimal_estimate(found)} above the mean over all records, where its own certainty "
            f"claims {fixed(claimed, 3)}. Most likely labels and predictions are of different "
            "records, or the predictions' columns are in another order than the classes"
        )


def _of_shadows(rounds: Sequence[Round], shadow: Shadow, level: float) -> Iterator[str]:
    known = [shadow.signals, *(r.observation.signals for r in rounds)]
    if not all(_COMPARED in signals for signals in known):
        return
    seen = np.concatenate([signals[_COMPARED] for signals in known[1:]])
    secret, unit = (np.concatenate([getattr(r, x) for r in rounds]) for x in ("secret", "unit"))
    ours = auc(Transcript(seen, secret, unit=unit), level)
    theirs = auc(Transcript(shadow.signals[_COMPARED], shadow.member, unit=shadow.unit), level)
    if theirs.low > max(0.5, ours.high):
        yield (
            "Shadow models give their members away, the target does not: the area under the ROC "
            f"curve of the {_COMPARED} is {decimal_estimate(theirs)} for them and "
            f"{decimal_estimate(ours)} for it. Most likely the membership is that of another "
            "model, or the target was trained or asked in another way than they were"
        )
