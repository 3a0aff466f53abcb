"""Glossary of pages on attacks."""

from __future__ import annotations

from collections.abc import Mapping

from privacygauge.report.numbers import rate

MEANINGS: Mapping[str, str] = {
    "Member": "A record that went into what is released. A non-member is a record of the same "
    "kind that did not.",
    "Attack": "A way to guess, from the release and what the adversary has, whether a record is a "
    "member. It gives a score; above a threshold the guess is \u201cmember\u201d.",
    "Shadow model": "A model that the adversary trains on data of its own, to learn how members "
    "and non-members look.",
    "Balanced accuracy": "The share of right guesses, where members and non-members count the "
    "same. Guessing gives 50%.",
    "Advantage": "True-positive rate minus false-positive rate: 0 for guessing, 100% for always "
    "being right.",
    "TPR, recall": "True-positive rate: the share of the members that are found.",
    "FPR": "False-positive rate: the share of the non-members that are taken for members.",
    "TPR at FPR": "The share of members found when so many false alarms are allowed. A high value "
    "at a low rate means that some members are given away almost for certain, even if the average "
    "is mild.",
    "\N{DAGGER} dagger": "Too few non-members for this false-positive rate: fewer than 10 false "
    "positives are expected.",
    "ROC, AUC": "The curve of TPR over FPR for all thresholds, and the area under it: the "
    "probability that a member scores higher than a non-member. Guessing gives 0.5.",
    "Precision": "How often \u201cmember\u201d is right. It depends on how many of those asked "
    "about are members at all: it is shown for one half, whatever the files hold, and for several "
    "other shares.",
    "Epsilon": "The strength of a differential-privacy guarantee; smaller protects more. An attack "
    "can show that epsilon is at least so much, never that it is small.",
}
"""Meanings by term, in the order of the glossary."""


def interval(level: float, unit: str = "records") -> str:
    """Return the definition of an interval, for the glossary."""
    return (
        f"The range that the true number lies in, in {rate(level)} of audits like this one. It "
        f"gets narrower with more {unit}."
    )


def terms(*names: str) -> dict[str, str]:
    """Return the meanings of the given terms, in the order of `names`."""
    return {name: MEANINGS[name] for name in names}
