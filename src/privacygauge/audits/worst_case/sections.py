"""The sections of the page on worst-case records, and their plots."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.worst_case.result import WorstCaseResult
from privacygauge.audits.worst_case.verdict import grade_of_group
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import AttackedTraining
from privacygauge.report import defended
from privacygauge.report.axes import MARKERS, OTHER, SERIES, axes, legend_above, plot_label
from privacygauge.report.blocks import note, pairs, text
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    shorten,
    tpr_estimate,
)
from privacygauge.report.values import (
    Axes,
    Block,
    Cell,
    Column,
    Content,
    FoldedBlocks,
    Items,
    Plot,
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


def sections(f: WorstCaseResult) -> tuple[Section, ...]:
    """Return the page below the numbers."""
    title = "Trainings compared" if f.defended else "Canaries and ordinary records"
    ordered = sorted(f.trainings, key=lambda t: t is not f.best)
    each = (
        FoldedBlocks(shorten(t.title), (_attacks(f, t, number),), t is f.best)
        for number, t in enumerate(ordered, 1)
    )
    blocks: tuple[Block, ...] = (defended.one_by_one(f.level), *each)
    return (
        Section("compared", title, tuple(_comparison_section(f)), "Compared"),
        Section("each", "Each training in full", blocks, "Each in full"),
        Section("played", "How it was played", _method_section(f)),
    )


def _comparison_section(f: WorstCaseResult) -> Iterator[Block]:
    yield text(
        "Each row is what the best of all attacks finds of the members while it accuses so "
        "many of the non-members falsely. Canaries got a wrong label and stand in for the "
        "records that are most at risk; ordinary records have their own. Every training "
        "has the same canaries and the same coins, so rows differ in the training alone."
    )
    yield Table(
        "compared",
        "What is found, training by training",
        columns=(Column("Training"), Column("Models right"), *_columns(f)),
        rows=tuple(_line(f, training) for training in f.trainings),
        note=(
            f"{rate(f.level)} intervals that allow for the choice among {count(f.n_together)} "
            "numbers; those of the models' accuracy hold individually."
        ),
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


def _columns(f: WorstCaseResult) -> tuple[Column, ...]:
    """Return a column for both groups at every rate, and for their AUC."""
    groups = [*(f"Found at {rate(fpr)} false alarms" for fpr in f.fprs), "AUC"]
    return tuple(
        Column(name, group=group, aside=name == _GROUPS[1]) for group in groups for name in _GROUPS
    )


def _line(f: WorstCaseResult, t: AttackedTraining) -> Row:
    best = t is f.best and bool(f.defended)
    claim = () if t.claim is None else (defended.claim_shown(t.claim),)
    tags = {"leaves least": best, "worse than average": f.worse_for_canaries(t)}
    grade = grade_of_group(t.found.canaries).word
    name = Cell(shorten(t.title), (*claim, grade), tuple(x for x in tags if tags[x]))
    rates = [cell(x) for fpr in f.fprs for x in (t.canaries(fpr), t.ordinary(fpr))]
    areas = [decimal_estimate(group.highest_auc) for group in t.found.groups]
    cells: tuple[Content, ...] = (name, percent_estimate(t.accuracy, 1), *rates, *areas)
    return Row(cells, Tone.BEST if best else Tone.PLAIN)


def cell(found: RateAtFpr) -> Cell:
    """Return a rate, with a dagger if it rests on too few records."""
    return Cell(tpr_estimate(found.estimate, found.fpr), doubtful=not found.resolved)


def _places(f: WorstCaseResult) -> Iterator[Block]:
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


def _attacks(f: WorstCaseResult, t: AttackedTraining, number: int) -> Table:
    groups = [{attack.attack: attack for attack in group.attacks} for group in t.found.groups]
    rows: list[tuple[Content, ...]] = []
    # Few canaries may be too few for an attack that was played on the ordinary records.
    for name in dict.fromkeys(name for group in groups for name in group):
        both = [group.get(name) for group in groups]
        rates = [
            DASH if played is None else cell(played.rates[place])
            for place in range(len(f.fprs))
            for played in both
        ]
        areas = [DASH if played is None else decimal_estimate(played.auc) for played in both]
        rows.append((name, *rates, *areas))
    title = f"What every attack finds: {shorten(t.title)}"
    heads = (Column("Attack"), *_columns(f))
    return Table(
        f"attacks-{number}", title, columns=heads, rows=tuple(rows), note=shorten(t.found.model)
    )


def _method_section(f: WorstCaseResult) -> tuple[Block, ...]:
    none = f.none
    found = f.canaries
    alone = found.attacks[0]
    rows = {
        "Wrong label": f"{none.found.label.capitalize()}.",
        "The verdict's rate": f"{rate(f.fpr)} false alarms: the lowest rate asked for that this "
        "many records resolve, or the highest if they resolve none. The intervals allow for this "
        "choice.",
        "Attacks": f"{count(f.n_attacks)}, the same on every training and both groups.",
        **defended.methods(
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


_APART = 0.15


def plots(f: WorstCaseResult) -> tuple[Plot, ...]:
    """Return the plots of the page; those over accuracy need several trainings."""
    told = (
        f"{plain(t.title)}: canaries {worst}, ordinary records {usual}, model right "
        f"{percent(t.accuracy.value)}"
        for t in f.trainings
        for worst, usual in [(tpr_estimate(x, f.fpr).value for x in _rates_of_groups(f, t))]
    )
    words = "; ".join(told) + "."
    caption = "Filled: canaries. Hollow: ordinary records in the same models. Bars are intervals "
    caption += "that hold together; the dotted line is guessing."
    title = "Canaries beside ordinary records"
    groups = Plot("groups", title, caption=caption, words=words, draw=lambda: plot_groups(f))
    if not f.defended:
        return (groups,)
    caption = "Down is private, right is accurate. Filled points: canaries, with intervals that "
    caption += "hold together. Hollow points: ordinary records."
    title = "Privacy against the models' accuracy"
    return groups, Plot(
        "accuracy", title, caption=caption, words=words, draw=lambda: plot_accuracy(f)
    )


def plot_groups(f: WorstCaseResult) -> Axes:
    """Draw the best attack's results on either group, training by training: ``trainings.csv``."""
    ax = axes(None)
    for place, training in enumerate(f.trainings):
        for group, found in enumerate(_rates_of_groups(f, training)):
            _bar(ax, found, place - _APART + 2 * _APART * group, group)
    ax.axvline(100 * f.fpr, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set_yticks(range(len(f.trainings)), [plot_label(t.title) for t in f.trainings], fontsize=7.5)
    ax.set_ylim(len(f.trainings) - 0.5, -0.5)
    ax.set(xlabel=f"Found at {rate(f.fpr)} false alarms, %", xlim=(-2, 102))
    legend_above(ax, 2, 1.3 + 0.42 * len(f.trainings))
    return ax


def plot_accuracy(f: WorstCaseResult) -> Axes:
    """Draw the best attack's results over the models' accuracy on records they did not see."""
    points = []
    for t in f.trainings:
        worst, usual = _rates_of_groups(f, t)
        left = (100 * worst.value, 100 * worst.low, 100 * worst.high)
        points.append(defended.Point(t.title, t.accuracy, left, 100 * usual.value))
    ax = defended.over_accuracy(defended.plot_points(points, None, 100 * f.fpr))
    ax.set(ylabel=f"Found at {rate(f.fpr)} false alarms, %", ylim=(-2, 102))
    return ax


def _rates_of_groups(f: WorstCaseResult, training: AttackedTraining) -> tuple[Estimate, Estimate]:
    return training.canaries(f.fpr).estimate, training.ordinary(f.fpr).estimate


def _bar(ax: Axes, found: Estimate, up: float, group: int) -> None:
    value, low, high = (100 * end for end in (found.value, found.low, found.high))
    # A name for each kind of point, once.
    known = ax.get_legend_handles_labels()[1]
    name = ("canaries", "ordinary records")[group]
    colour = (SERIES[1], SERIES[0])[group]
    ax.errorbar([value], [up], xerr=[[value - low], [high - value]], color=colour, ls="none",
                marker=MARKERS[group], mfc=("none" if group else colour), ms=5.5, elinewidth=1.2,
                label=None if name in known else name)  # fmt: skip
