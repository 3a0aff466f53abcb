"""What the page shows of the findings: chosen rows, cards, and notes, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.findings import Findings
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal_estimate,
    fixed,
    percent_estimate,
    rate,
    rounded_down,
    tpr_estimate,
)
from privacygauge.report.numbers import (
    shortened as shortened,
)

RECORDS = 50
"""So many of the riskiest records are shown."""


@dataclass(frozen=True)
class Card:
    """One of the headline numbers."""

    label: str
    """What it is, in plain words."""
    shown: Shown
    """The number."""
    text: str
    """What it means and what to compare it with."""
    doubtful: bool = False
    """Whether there are too few non-members to tell."""


@dataclass(frozen=True)
class Record:
    """One of the riskiest records."""

    id: str
    """The user's id; the middle of a very long one is left out."""
    member: bool
    """Whether it is a member."""
    risk: str
    """Its risk, or the headline attack's score."""
    guessed: int
    """How many attacks guess that it is a member."""
    contents: tuple[str, ...]
    """Its values, where the user asked for them."""


@dataclass(frozen=True)
class Riskiest:
    """The riskiest records, as a table."""

    by: str
    """What they are ranked by."""
    is_risk: bool
    """Whether that is the privacy risk score."""
    records: tuple[Record, ...]
    """By falling risk."""
    n: int
    """The number of all records."""
    n_attacks: int
    """The number of attacks that guessed."""
    columns: tuple[str, ...]
    """Columns of the user's data."""


@dataclass(frozen=True)
class Method:
    """How the intervals of one number were made."""

    number: str
    """Which number."""
    methods: str
    """The methods used."""
    n: str
    """The independent units behind it."""


@dataclass(frozen=True)
class Whisker:
    """An interval as positions on a line from 0 to 100."""

    low: float
    """Left end."""
    value: float
    """The dot."""
    high: float
    """Right end."""
    chance: float
    """Where guessing stands."""


def cards(findings: Findings) -> tuple[Card, ...]:
    """Return the headline numbers."""
    headline = findings.headline
    attack = headline.attack
    rates = [
        Card(
            f"Found at {rate(r.fpr)} false alarms",
            tpr_estimate(r.estimate, r.fpr),
            f"Share of the members. Guessing finds {rate(r.fpr)}. TPR at {rate(r.fpr)} FPR.",
            not r.resolved,
        )
        for r in attack.tpr_at_fpr
        if r.fpr in (0.01, 0.001)
    ]
    precise = [
        Card(
            "Right when it says \u201cmember\u201d",
            percent_estimate(value),
            f"If {rate(prior)} of those asked about are members. Guessing is right {rate(prior)} "
            "of the time.",
        )
        for prior, value in attack.predictive_values
        if prior == 0.01
    ]
    return (
        Card(
            "Right guesses",
            percent_estimate(headline.accuracy),
            "Members and non-members equally often. Guessing gives 50%. Balanced accuracy.",
        ),
        *rates,
        Card(
            "Pairs put in the right order",
            decimal_estimate(attack.auc),
            "A member scored above a non-member. Guessing gives 0.5. Area under the ROC (AUC).",
        ),
        _epsilon(findings),
        *precise,
    )


def _epsilon(findings: Findings) -> Card:
    headline = findings.headline
    limit = f"So many records can show {fixed(headline.epsilon_limit, 2)} at most."
    if headline.epsilon.low <= 0:
        text = "No epsilon above 0 was shown: no contradiction to any privacy guarantee."
        return Card("Epsilon is at least", Shown("0"), f"{text} {limit}")
    text = (
        f"With {rate(headline.epsilon.level)} confidence, by {headline.epsilon_attack}: a smaller "
        "epsilon of differential privacy cannot be claimed."
    )
    return Card("Epsilon is at least", Shown(rounded_down(headline.epsilon.low)), f"{text} {limit}")


def either(estimate: Estimate) -> Shown:
    """Return a number about the release: a share as a percentage, another one as it is."""
    is_share = estimate.low >= 0 and estimate.high <= 1
    return percent_estimate(estimate) if is_share else decimal_estimate(estimate, 2)


def whisker(estimate: Estimate, lowest: float = 0.4, highest: float = 1.0) -> Whisker:
    """Return where an accuracy and its interval stand on a line."""
    span = highest - lowest
    ends = (estimate.low, estimate.value, estimate.high, 0.5)
    return Whisker(*(round(100 * min(max((x - lowest) / span, 0), 1), 2) for x in ends))


def methods(findings: Findings) -> tuple[Method, ...]:
    """Return how the intervals of every column were made."""
    evaluations = findings.evaluations
    columns: dict[str, list[Estimate | Skipped]] = {
        "Accuracy": [e.accuracy for e in evaluations],
        "Advantage": [e.advantage for e in evaluations],
        "Precision": [e.precision for e in evaluations],
        "Recall": [e.recall for e in evaluations],
        "False-positive rate": [e.false_positive_rate for e in evaluations],
        "AUC": [e.auc for e in evaluations],
        "Best accuracy in hindsight": [e.best_accuracy for e in evaluations],
        "TPR at FPR": [r.estimate for e in evaluations for r in e.tpr_at_fpr],
        "TPR, threshold as given": [r.at_threshold for e in evaluations for r in e.tpr_at_fpr],
        "Realised FPR": [r.realised_fpr for e in evaluations for r in e.tpr_at_fpr],
        "Precision at a prior": [x for e in evaluations for _, x in e.predictive_values],
        "Epsilon": [e.epsilon for e in evaluations],
    }
    return tuple(_method(name, estimates) for name, estimates in columns.items())


def unresolved(findings: Findings) -> bool:
    """Return whether some TPR is shown that so many non-members cannot resolve."""
    return any(not r.resolved for e in findings.evaluations for r in e.tpr_at_fpr)


def _method(name: str, estimates: list[Estimate | Skipped]) -> Method:
    found = [x for x in estimates if isinstance(x, Estimate)]
    if not found:
        return Method(name, DASH, DASH)
    sizes = sorted({x.n for x in found})
    n = count(sizes[0]) if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1])}"
    levels = ", ".join(rate(x) for x in sorted({x.level for x in found}))
    return Method(name, f"{'; '.join(sorted({x.method for x in found}))}, {levels}", n)
