"""What the page shows of worst-case records: cards and rows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import TargetRisk
from privacygauge.report.defences.early import claim_shown
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    tpr_estimate,
)
from privacygauge.report.views import Card, Method, shortened
from privacygauge.report.worst_case.findings import AttackedTraining, ComparedWorstCases
from privacygauge.report.worst_case.verdict import grade_of_group


@dataclass(frozen=True)
class Cell:
    """A rate in a table."""

    shown: Shown
    """With its interval."""
    doubtful: bool
    """Whether too few records tell of it."""


@dataclass(frozen=True)
class Line:
    """A training as a row of the table."""

    name: str
    """The defence with its parameters."""
    claim: str
    """What an accountant says of it."""
    best: bool
    """Whether least is found of its canaries."""
    unlike: bool
    """Whether more is found of canaries than of ordinary records, beyond doubt."""
    accuracy: Shown
    """The models' accuracy."""
    cells: tuple[tuple[Cell, Cell], ...]
    """Of canaries and of ordinary records, at every rate."""
    areas: tuple[Shown, Shown]
    """The highest AUC of both groups."""
    grade: str
    """Of what is found of canaries."""


@dataclass(frozen=True)
class AttackLine:
    """One attack on both groups."""

    name: str
    """The attack."""
    cells: tuple[tuple[Cell, Cell], ...]
    """Of canaries and of ordinary records, at every rate."""
    areas: tuple[Shown, Shown]
    """AUC of both groups."""


@dataclass(frozen=True)
class Full:
    """A training in full."""

    title: str
    """Its name with its parameters."""
    model: str
    """What was trained."""
    best: bool
    """Whether least is found of its canaries."""
    attacks: tuple[AttackLine, ...]
    """Every attack."""


def cards(f: ComparedWorstCases) -> tuple[Card, ...]:
    """Return the numbers that come first."""
    best, none, at = f.best, f.none, f"at {rate(f.fpr)} false alarms"
    name = "Without a defence" if best is none else f"With {plain(best.title)}"
    worst, usual = best.canaries(f.fpr), best.ordinary(f.fpr)
    found = [
        Card(
            f"Canaries found {at}",
            tpr_estimate(worst.estimate, f.fpr),
            f"{name}. Guessing finds {rate(f.fpr)}.",
            not worst.resolved,
        ),
        Card(
            f"Ordinary records found {at}",
            tpr_estimate(usual.estimate, f.fpr),
            f"{name}, in the same models.",
            not usual.resolved,
        ),
        Card(
            "Pairs of canaries in the right order",
            decimal_estimate(best.found.canaries.highest_auc),
            "A member scored above a non-member. Guessing gives 0.5. Area under the ROC (AUC).",
        ),
        Card(
            "The models' own accuracy",
            percent_estimate(best.accuracy, 1),
            f"{name}, on ordinary records that they were not trained on.",
        ),
    ]
    if best is none:
        return tuple(found)
    without = none.canaries(f.fpr)
    first = Card(
        "Canaries found without a defence",
        tpr_estimate(without.estimate, f.fpr),
        f"{at.capitalize()}. The models are right {percent(none.accuracy.value)} of the time.",
        not without.resolved,
    )
    return (first, *found)


def lines(f: ComparedWorstCases) -> tuple[Line, ...]:
    """Return a row for every training."""
    return tuple(
        Line(
            shortened(t.title),
            "" if t.claim is None else claim_shown(t.claim),
            t is f.best and bool(f.defended),
            f.worse_for_canaries(t),
            percent_estimate(t.accuracy, 1),
            tuple((_cell(t.canaries(fpr)), _cell(t.ordinary(fpr))) for fpr in f.fprs),
            _areas(t.found.canaries, t.found.ordinary),
            grade_of_group(t.found.canaries),
        )
        for t in f.trainings
    )


def in_full(f: ComparedWorstCases) -> tuple[Full, ...]:
    """Return every training with all attacks, the one that leaves least first."""
    ordered = sorted(f.trainings, key=lambda t: t is not f.best)
    return tuple(
        Full(shortened(t.title), shortened(t.found.model), t is f.best, _attacks(t))
        for t in ordered
    )


def _attacks(training: AttackedTraining) -> tuple[AttackLine, ...]:
    groups = (training.found.canaries.attacks, training.found.ordinary.attacks)
    return tuple(
        AttackLine(
            worst.attack,
            tuple((_cell(a), _cell(b)) for a, b in zip(worst.rates, usual.rates, strict=True)),
            (decimal_estimate(worst.auc), decimal_estimate(usual.auc)),
        )
        for worst, usual in zip(*groups, strict=True)
    )


def _cell(found: RateAtFpr) -> Cell:
    return Cell(tpr_estimate(found.estimate, found.fpr), not found.resolved)


def _areas(canaries: TargetRisk, ordinary: TargetRisk) -> tuple[Shown, Shown]:
    return decimal_estimate(canaries.highest_auc), decimal_estimate(ordinary.highest_auc)


def methods(f: ComparedWorstCases) -> tuple[Method, ...]:
    """Return how the intervals were made."""
    found = f.none.found.canaries
    alone = found.attacks[0]
    named = {
        "Canaries found, in the comparison": f.none.canaries(f.fpr).estimate,
        "Ordinary records found, in the comparison": f.none.ordinary(f.fpr).estimate,
        "AUC, in the comparison": found.highest_auc,
        "Canaries found, attack by attack": alone.rates[0].estimate,
        "AUC, attack by attack": alone.auc,
        "The models' accuracy": f.none.accuracy,
    }
    return tuple(
        Method(name, f"{x.method}, {rate(x.level)}", count(x.n)) for name, x in named.items()
    )


def told(f: ComparedWorstCases) -> str:
    """Return what there is to see in the plots."""
    return "; ".join(
        f"{plain(t.title)}: canaries {_value(t.canaries(f.fpr))}, ordinary records "
        f"{_value(t.ordinary(f.fpr))}, model right {percent(t.accuracy.value)}"
        for t in f.trainings
    ) + "."  # fmt: skip


def _value(found: RateAtFpr) -> str:
    return tpr_estimate(found.estimate, found.fpr).value
