"""The sections of the page on worst-case records."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.worst_case.found import AttackedTraining, WorstCaseComparison
from privacygauge.audits.worst_case.plots import plots
from privacygauge.audits.worst_case.verdict import grade_of_group
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import AttackedTargets
from privacygauge.report.blocks import note, pairs, text
from privacygauge.report.defended import claim_shown, methods, one_by_one
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    percent_estimate,
    rate,
    shortened,
    tpr_estimate,
)
from privacygauge.report.values import (
    Block,
    Cell,
    Column,
    Content,
    Folded,
    Items,
    Row,
    Section,
    Table,
    Tone,
)

_GROUPS = ("Canaries", "Ordinary")

_PLAYED = (
    "Canaries and ordinary records were drawn at random from one table, so they differ in their "
    "labels alone. A fair coin for each of them and each model says whether it is trained on; all "
    "other records are always in. Each model is the target once, and the others, trained in the "
    "same way, are the adversary's: it knows the defence, the candidate records, their labels in "
    "training, and its own models' coins. Scores of all models and records of a group are pooled "
    "under one threshold; the intervals allow for records that come back in many models (Aerni, "
    "Zhang and Tramèr 2024)."
)


def sections(f: WorstCaseComparison) -> tuple[Section, ...]:
    """Return the page below the numbers."""
    title = "Trainings compared" if f.defended else "Canaries and ordinary records"
    return (
        Section("compared", title, tuple(_compared(f)), "Compared"),
        Section("each", "Each training in full", tuple(_each(f)), "Each in full"),
        Section("played", "How it was played", _played(f)),
    )


def _compared(f: WorstCaseComparison) -> Iterator[Block]:
    yield text(
        "Each row is what the best of all attacks finds of the members while it accuses so "
        "many of the non-members falsely. Canaries got a wrong label and stand in for the "
        "records that are most at risk; ordinary records have their own. Every training "
        "has the same canaries and the same coins, so rows differ in the training alone."
    )
    yield Table(
        "compared",
        "What is found, training by training",
        (Column("Training"), Column("Models right"), *_columns(f)),
        tuple(_line(f, training) for training in f.trainings),
        f"{rate(f.level)} intervals that allow for the choice among {count(f.n_together)} "
        "numbers; those of the models' accuracy hold individually.",
    )
    yield note(
        "Models right: on ordinary records that they were not trained on. Worse than "
        f"average: significantly more is found of the canaries at {rate(f.fpr)} false "
        "alarms. The grade below a name is that of its canaries. † Too few records to "
        "tell: fewer than 10 false positives are expected."
    )
    if f.defended:
        yield from _places(f)
    yield from plots(f)


def _columns(f: WorstCaseComparison) -> tuple[Column, ...]:
    """Return a column for both groups at every rate, and for their area."""
    groups = [*(f"Found at {rate(fpr)} false alarms" for fpr in f.fprs), "AUC"]
    return tuple(
        Column(name, group=group, aside=name == _GROUPS[1]) for group in groups for name in _GROUPS
    )


def _line(f: WorstCaseComparison, t: AttackedTraining) -> Row:
    best = t is f.best and bool(f.defended)
    grade = grade_of_group(t.found.canaries).word
    name = Cell(
        shortened(t.title),
        (*(() if t.claim is None else (claim_shown(t.claim),)), grade),
        (
            *(("leaves least",) if best else ()),
            *(("worse than average",) if f.worse_for_canaries(t) else ()),
        ),
    )
    rates = [cell(x) for fpr in f.fprs for x in (t.canaries(fpr), t.ordinary(fpr))]
    areas = [decimal_estimate(group.highest_auc) for group in t.found.groups]
    cells: tuple[Content, ...] = (name, percent_estimate(t.accuracy, 1), *rates, *areas)
    return Row(cells, Tone.BEST if best else Tone.PLAIN)


def cell(found: RateAtFpr) -> Cell:
    """Return a rate, with a dagger where too few records tell."""
    return Cell(tpr_estimate(found.estimate, found.fpr), doubtful=not found.resolved)


def _places(f: WorstCaseComparison) -> Iterator[Block]:
    if not f.changed_places:
        yield text(
            "No two trainings change places significantly between the average and the "
            f"worst case, at {rate(f.fpr)} false alarms."
        )
        return
    yield text("These change places significantly between the average and the worst case:")
    yield Items(
        tuple(
            f"{a.title} gives less away than {b.title} by ordinary records, and more by canaries."
            for a, b in f.changed_places
        )
    )


def _each(f: WorstCaseComparison) -> Iterator[Block]:
    ordered = sorted(f.trainings, key=lambda t: t is not f.best)
    yield one_by_one(f.level)
    yield from (
        Folded(shortened(t.title), (_attacks(f, t, number),), t is f.best)
        for number, t in enumerate(ordered, 1)
    )


def _attacks(f: WorstCaseComparison, t: AttackedTraining, number: int) -> Table:
    groups = [{attack.attack: attack for attack in group.attacks} for group in t.found.groups]
    rows: list[tuple[Content, ...]] = []
    # Few canaries may be too few for an attack that was played on the ordinary records.
    for name in dict.fromkeys(name for group in groups for name in group):
        both = [group.get(name) for group in groups]
        rates = [_at(played, place) for place in range(len(f.fprs)) for played in both]
        areas = [DASH if played is None else decimal_estimate(played.auc) for played in both]
        rows.append((name, *rates, *areas))
    return Table(
        f"attacks-{number}",
        f"What every attack finds: {shortened(t.title)}",
        (Column("Attack"), *_columns(f)),
        tuple(rows),
        shortened(t.found.model),
    )


def _at(played: AttackedTargets | None, place: int) -> Content:
    return DASH if played is None else cell(played.rates[place])


def _played(f: WorstCaseComparison) -> tuple[Block, ...]:
    none, found = f.none, f.none.found.canaries
    alone = found.attacks[0]
    rows = {
        "Wrong label": f"{none.found.label.capitalize()}.",
        "The verdict's rate": f"{rate(f.fpr)} false alarms: the lowest rate asked for that this "
        "many records resolve, or the highest if they resolve none. The intervals allow for this "
        "choice.",
        "Attacks": f"{count(f.n_attacks)}, the same on every training and both groups.",
        **methods(
            {
                "Canaries found, in the comparison": none.canaries(f.fpr).estimate,
                "Ordinary records found, in the comparison": none.ordinary(f.fpr).estimate,
                "AUC, in the comparison": found.highest_auc,
                "Canaries found, attack by attack": alone.rates[0].estimate,
                "AUC, attack by attack": alone.auc,
                "The models' accuracy": none.accuracy,
            }
        ),
    }
    return text(_PLAYED), pairs(rows)
