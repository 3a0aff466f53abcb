"""The verdict on a classifier, in words for somebody who has to decide about a release."""

from __future__ import annotations

from privacygauge.audits.classifier.doubts import verdict as doubtful
from privacygauge.evaluate.played import Attacks
from privacygauge.report import direction
from privacygauge.report.attacks.verdict import judged
from privacygauge.report.grades import GRADES, LARGE, NONE, SMALL, UNTOLD, accuracy_gauge, scale_of
from privacygauge.report.values import Grade, Verdict

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
