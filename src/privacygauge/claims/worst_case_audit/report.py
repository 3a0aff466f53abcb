"""The report of a comparison by worst-case records: numbers, sections, plots and words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from privacygauge.claims.worst_case_audit.verdict import (
    WorstCaseResult,
    grade_of_group,
    how,
    ranking_decides,
    verdict,
)
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import AttackedTraining, TargetRisk, is_resolved
from privacygauge.report import defended
from privacygauge.report.attacks.measures import highest_of
from privacygauge.report.attacks.tables import tpr
from privacygauge.report.axes import MARKERS, OTHER, SERIES, axes, legend_above, plot_label
from privacygauge.report.defended import AUC, MEMBER, claim_columns, claim_dict
from privacygauge.report.grades import UNTOLD
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    key,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
    shorten,
    tpr_estimate,
)
from privacygauge.report.values import (
    About,
    Axes,
    Block,
    Cell,
    Column,
    Content,
    FoldedBlocks,
    Items,
    Json,
    Measure,
    Plot,
    Report,
    Row,
    Rows,
    Section,
    Table,
    Tone,
    Worst,
    ends,
    estimate_dict,
    frame,
    note,
    pairs,
    pick_values,
    table,
    text,
)

_AT_FPRS = {"tpr@0.1": 0.1, "tpr@0.01": 0.01, "tpr@0.001": 0.001}


def report(f: WorstCaseResult) -> Report:
    """Return the report, as plain values."""
    canaries, ordinary = f.groups
    which = f"of each of {count(len(f.trainings))} trainings"
    if not f.defended:
        which = f"that were trained {how(f.none)}"
    title = f"Found by the best attack at {rate(f.fpr)} false alarms; guessing finds as many"
    dagger = "\N{DAGGER} too few records to tell: fewer than 10 false positives are expected."
    rows: Rows = [
        {
            "Training": t.title,
            "Canaries found": tpr(t.canaries(f.fpr)),
            "Ordinary found": tpr(t.ordinary(f.fpr)),
            "Models right": percent_estimate(t.accuracy, 1).value,
        }
        for t in f.trainings
    ]
    note = f"{title}." if is_resolved(f.trainings, f.fpr) else f"{title}. {dagger}"
    return Report(
        "worst-case",
        "Worst-case records of a classifier",
        about=About(
            f"A way to train a model: {plain(f.best.title)}",
            "Somebody who holds a record guesses whether it was in the model's training data, of "
            "records that the model can only know by heart",
            "the model's answers and models of its own, trained in the same way",
            "membership-inference",
        ),
        intro=f"{count(canaries.n_targets)} canaries and {count(ordinary.n_targets)} ordinary "
        f"records in {count(canaries.n_models)} models {which}; "
        f"{several(f.n_attacks, 'attack')}. Small figures are {rate(f.level)} intervals, wide "
        "enough to hold together.",
        origin=f.origin,
        verdict=verdict(f),
        measures=tuple(_measures(f)),
        sections=sections(f),
        terms=_TERMS,
        worst=Worst(reason="canaries stand in for the records that are most at risk"),
        # ``trainings`` starts with the one without a defence. The best results (``highest``
        # and ``highest_auc``) hold together at ``level``; ``fpr`` is the rate of the verdict. In
        # ``changed_places`` the first of two titles gives less away by ordinary records, and more
        # by canaries. No single record is in it.
        data={
            "label": f.none.found.label,
            **pick_values(f, "n_together", "fpr"),
            "best": f.best.title,
            "changed_places": [[a.title, b.title] for a, b in f.changed_places],
            "trainings": [
                {
                    **pick_values(training, "title", test_accuracy="accuracy"),
                    "model": training.found.model,
                    "claim": claim_dict(training.claim),
                    "targets": [_group(group) for group in training.found.groups],
                }
                for training in f.trainings
            ],
        },
        # One row per training; its intervals hold jointly except for the accuracy's.
        frames={
            "trainings.csv": lambda: frame([_row(f, training) for training in f.trainings]),
            "attacks.csv": lambda: frame(f.lines()),
        },
        nothing_left_out="Nothing: every attack was played on every training.",
        overview=(table("overview", title, rows, note, spare=("Models right",)),),
        sources="Aerni, Zhang and Tramèr, Evaluations of Machine Learning Privacy Defenses are "
        "Misleading (2024).",
    )


def _measures(f: WorstCaseResult) -> Iterator[Measure]:
    best = f.best
    none = f.none
    at = f"at {rate(f.fpr)} false alarms"
    name = how(f.best)
    found = best.canaries(f.fpr)
    usual = best.ordinary(f.fpr)
    auc = best.found.canaries.highest_auc
    right = f"The models are right {percent(none.accuracy.value)} of the time."
    label = "Canaries found without a defence"
    # Without a defence both are the same training, whose number follows below.
    if best is not none:
        yield _tpr_measure("tpr-without", label, found=none.canaries(f.fpr), note=at, text=right)
    told = "A member scored above a non-member. Guessing gives 0.5. Area under the ROC (AUC)."
    label = "Pairs of canaries in the right order"
    area = Measure(
        name="auc-left",
        label=label,
        found=auc,
        shown=decimal_estimate(auc),
        note="",
        text=told,
        guessing="0.5",
    )
    guessing = f"Guessing finds {rate(f.fpr)}."
    label = f"Canaries found {at}"
    left = _tpr_measure("tpr-left", label, found=found, note=name, text=guessing, gate=True)
    same = f"{name}, in the same models"
    label = f"Ordinary records found {at}"
    ordinary = _tpr_measure("tpr-ordinary", label, usual, same)
    # A register takes the first number with a gate.
    first = ranking_decides(best.found.canaries)
    yield from (area, left, ordinary) if first else (left, ordinary, area)
    label = "The models' own accuracy"
    shown = percent_estimate(best.accuracy, 1)
    note = f"{name}, on ordinary records that they were not trained on"
    yield Measure(
        name="model-accuracy", label=label, found=best.accuracy, shown=shown, note=note, gate=False
    )
    # Highest numbers with any defence; without a defence if there are none.
    # A gate on these holds for whichever defence is chosen: the worst of them counts.
    trainings = f.defended or f.trainings
    turned = [t.title for t in trainings if grade_of_group(t.found.canaries) == UNTOLD]
    whom = "with the least private defence" if f.defended else how(f.none)
    for metric, fpr in {"tpr": f.fpr, **_AT_FPRS}.items():
        pairs_label = f"Canaries found at {rate(fpr)} false alarms {whom}"
        estimates = [t.canaries(fpr).estimate for t in trainings] if fpr in f.fprs else []
        yield highest_of(
            metric,
            pairs_label,
            found=estimates,
            show=partial(tpr_estimate, fpr=fpr),
            guessing=_GUESSING.format(rate(fpr)),
            reversed_by=turned,
        )
    areas = [t.found.canaries.highest_auc for t in trainings]
    pairs_label = "Pairs of canaries in the"
    yield highest_of(
        "auc",
        f"{pairs_label} right order {whom}",
        found=areas,
        show=decimal_estimate,
        guessing="0.5",
        reversed_by=turned,
    )


def _tpr_measure(
    name: str, label: str, found: RateAtFpr, note: str, text: str = "", *, gate: bool = False
) -> Measure:
    shown = tpr_estimate(found.estimate, found.fpr)
    few = not found.resolved
    known = found.estimate
    guessing = _GUESSING.format(rate(found.fpr))
    return Measure(
        name=name,
        label=label,
        found=known,
        shown=shown,
        note=note,
        text=text,
        guessing=guessing,
        gate=gate,
        doubtful=few,
    )


_GUESSING = "{}: as many as are accused falsely"

_TERMS = {
    "Canary": "A record drawn at random that got a wrong label. A model can follow it only by "
    "learning that record by heart, as it does with records that are unlike all others.",
    "Ordinary record": "A record with its own label whose membership is asked about in the same "
    "models.",
    "Member": MEMBER,
    "Defence at training": "Another way to train the model, such as stopping early or adding "
    "noise.",
    "Found at 1% false alarms": "The share of the members that an attack names while it accuses 1% "
    "of the non-members falsely: the true-positive rate at that false-positive rate. Guessing "
    "finds 1%.",
    "AUC": AUC,
    "Hold together": "Who looks often finds something by luck. The error is shared among all looks "
    "(Bonferroni), so that all of them are right at once with the stated probability.",
}


def _row(f: WorstCaseResult, training: AttackedTraining) -> dict[str, object]:
    row: dict[str, object] = {"training": training.title}
    row |= ends("model_accuracy", training.accuracy)
    for group in training.found.groups:
        for fpr in f.fprs:
            attack, found = group.highest(fpr)
            name = f"{group.name}_tpr@{key(fpr)}"
            row |= {**ends(name, found.estimate), f"{name}_attack": attack}
            row[f"{name}_resolved"] = found.resolved
        row |= ends(f"{group.name}_auc", group.highest_auc)
    return row | claim_columns(training.claim)


def _group(group: TargetRisk) -> Json:
    best = [(known.fpr, *group.highest(known.fpr)) for known in group.attacks[0].rates]
    return {
        **pick_values(group, "name", "n_targets", "n_models", "highest_auc"),
        "highest": {key(fpr): {"attack": name, **_rate(found)} for fpr, name, found in best},
        "attacks": [
            {
                **pick_values(attacked, "auc", name="attack"),
                "tpr_at_fpr": {key(found.fpr): _rate(found) for found in attacked.rates},
            }
            for attacked in group.attacks
        ],
    }


def _rate(found: RateAtFpr) -> dict[str, Json]:
    return {**estimate_dict(found.estimate), "resolved": bool(found.resolved)}


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
    """Return the sections of the page below the numbers."""
    title = "Trainings compared" if f.defended else "Canaries and ordinary records"
    ordered = sorted(f.trainings, key=lambda t: t is not f.best)
    each = (
        FoldedBlocks(shorten(t.title), (_attacks(f, t, number),), t is f.best)
        for number, t in enumerate(ordered, 1)
    )
    blocks: tuple[Block, ...] = (defended.one_by_one(f.level), *each)
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
    return (
        Section("compared", title, tuple(_comparison_section(f)), "Compared"),
        Section("each", "Each training in full", blocks, "Each in full"),
        Section("played", "How it was played", (text(_PLAYED), pairs(rows))),
    )


def _comparison_section(f: WorstCaseResult) -> Iterator[Block]:
    yield text(
        "Each row is what the best of all attacks finds of the members while it accuses so "
        "many of the non-members falsely. Canaries got a wrong label and stand in for the "
        "records that are most at risk; ordinary records have their own. Every training "
        "has the same canaries and the same coins, so rows differ in the training alone."
    )
    rows = []
    for t in f.trainings:
        best = t is f.best and bool(f.defended)
        claim = () if t.claim is None else (defended.claim_shown(t.claim),)
        tags = {"leaves least": best, "worse than average": f.worse_for_canaries(t)}
        grade = grade_of_group(t.found.canaries).word
        name = Cell(shorten(t.title), (*claim, grade), tuple(x for x in tags if tags[x]))
        rates = [tpr(x) for fpr in f.fprs for x in (t.canaries(fpr), t.ordinary(fpr))]
        areas = [decimal_estimate(group.highest_auc) for group in t.found.groups]
        cells: tuple[Content, ...] = (name, percent_estimate(t.accuracy, 1), *rates, *areas)
        rows.append(Row(cells, Tone.BEST if best else Tone.PLAIN))
    yield Table(
        "compared",
        "What is found, training by training",
        columns=(Column("Training"), Column("Models right"), *_columns(f)),
        rows=tuple(rows),
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
    if f.changed_places:
        yield text("These change places significantly between the average and the worst case:")
        yield Items(
            tuple(
                f"{a.title} gives less away than {b.title} by ordinary records, and more by "
                "canaries."
                for a, b in f.changed_places
            )
        )
    elif f.defended:
        yield text(
            "No two trainings change places significantly between the average and the "
            f"worst case, at {rate(f.fpr)} false alarms."
        )
    yield from plots(f)


def _columns(f: WorstCaseResult) -> tuple[Column, ...]:
    """Return a column for both groups at every rate, and for their AUC."""
    groups = [*(f"Found at {rate(fpr)} false alarms" for fpr in f.fprs), "AUC"]
    return tuple(
        Column(name, group=group, aside=name == _GROUPS[1]) for group in groups for name in _GROUPS
    )


def _attacks(f: WorstCaseResult, t: AttackedTraining, number: int) -> Table:
    groups = [{attack.attack: attack for attack in group.attacks} for group in t.found.groups]
    rows: list[tuple[Content, ...]] = []
    # Few canaries may be too few for an attack that was played on the ordinary records.
    for name in dict.fromkeys(name for group in groups for name in group):
        both = [group.get(name) for group in groups]
        rates = [
            DASH if played is None else tpr(played.rates[place])
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


_APART = 0.15
"""Distance of a group's point from the line of its training, in lines."""


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
            value, low, high = (100 * end for end in (found.value, found.low, found.high))
            up = place - _APART + 2 * _APART * group
            # A name for each kind of point, once.
            known = ax.get_legend_handles_labels()[1]
            name = ("canaries", "ordinary records")[group]
            colour = (SERIES[1], SERIES[0])[group]
            ax.errorbar([value], [up], xerr=[[value - low], [high - value]], color=colour,
                        ls="none", marker=MARKERS[group], mfc=("none" if group else colour),
                        ms=5.5, elinewidth=1.2, label=None if name in known else name)  # fmt: skip
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
