"""What a comparison by worst-case records says: numbers, sections and words, as a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from privacygauge.audits.worst_case.found import AttackedTraining, WorstCaseComparison
from privacygauge.audits.worst_case.plots import plots
from privacygauge.audits.worst_case.verdict import grade_of_group, how, verdict
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import TargetRisk
from privacygauge.report.defended import (
    claim_columns,
    claim_dict,
    claim_shown,
    ends,
    limited,
    methods,
)
from privacygauge.report.document import estimate_dict
from privacygauge.report.grades import UNTOLD
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal_estimate,
    key,
    percent,
    percent_estimate,
    plain,
    rate,
    tpr_estimate,
)
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    Column,
    Content,
    Folded,
    Items,
    Json,
    Measure,
    Pairs,
    Report,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Worst,
)
from privacygauge.report.views import shortened

if TYPE_CHECKING:
    import pandas as pd

_AT_FPRS = {"tpr@0.1": 0.1, "tpr@0.01": 0.01, "tpr@0.001": 0.001}

METRICS = tuple(
    name
    for metric in ("tpr", *_AT_FPRS, "auc", "tpr-left", "auc-left")
    for name in (metric, f"{metric}.low")
)
"""What a release can be held to: the least private of the defences and, left, the most private."""

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


def report(f: WorstCaseComparison) -> Report:
    """Return everything that the audit says, as plain values."""
    title = "Trainings compared" if f.defended else "Canaries and ordinary records"
    return Report(
        "worst-case",
        "Worst-case records of a classifier",
        _about(f),
        _intro(f),
        f.origin,
        verdict(f),
        (*_cards(f), *_limits(f)),
        (
            Section("compared", title, _compared(f), "Compared"),
            Section("each", "Each training in full", _each(f), "Each in full"),
            Section("played", "How it was played", _played(f)),
        ),
        _TERMS,
        Worst(reason="canaries stand in for the records that are most at risk"),
        _data(f),
        {"trainings.csv": lambda: trainings_frame(f), "attacks.csv": f.to_frame},
        "Nothing: every attack was played on every training.",
        (_overview(f),),
        "Aerni, Zhang and Tramèr, Evaluations of Machine Learning Privacy Defenses are Misleading "
        "(2024).",
    )


def _about(f: WorstCaseComparison) -> About:
    return About(
        f"A way to train a model: {plain(f.best.title)}",
        "Somebody who holds a record guesses whether it was in the model's training data, of "
        "records that the model can only know by heart",
        "the model's answers and models of its own, trained in the same way",
        "membership-inference",
    )


def _intro(f: WorstCaseComparison) -> str:
    canaries, ordinary = f.none.found.groups
    which = f"of each of {count(len(f.trainings))} trainings"
    return (
        f"{count(canaries.n_targets)} canaries and {count(ordinary.n_targets)} ordinary records in "
        f"{count(canaries.n_models)} models "
        f"{which if f.defended else f'that were trained {how(f.none)}'}; {count(f.n_attacks)} "
        f"attacks. Small figures are {rate(f.level)} intervals, wide enough to hold together."
    )


def _cards(f: WorstCaseComparison) -> tuple[Measure, ...]:
    best, none, at = f.best, f.none, f"at {rate(f.fpr)} false alarms"
    name = how(best)
    without = _found(
        "tpr-without",
        "Canaries found without a defence",
        none.canaries(f.fpr),
        at,
        f"The models are right {percent(none.accuracy.value)} of the time.",
    )
    return (
        *(() if best is none else (without,)),
        _found(
            "tpr-left",
            f"Canaries found {at}",
            best.canaries(f.fpr),
            name,
            f"Guessing finds {rate(f.fpr)}.",
            gate=True,
        ),
        _found(
            "tpr-ordinary",
            f"Ordinary records found {at}",
            best.ordinary(f.fpr),
            f"{name}, in the same models",
        ),
        Measure(
            "auc-left",
            "Pairs of canaries in the right order",
            best.found.canaries.highest_auc,
            decimal_estimate(best.found.canaries.highest_auc),
            "",
            "A member scored above a non-member. Guessing gives 0.5. Area under the ROC (AUC).",
            "0.5",
        ),
        Measure(
            "model-accuracy",
            "The models' own accuracy",
            best.accuracy,
            percent_estimate(best.accuracy, 1),
            f"{name}, on ordinary records that they were not trained on",
            gate=False,
        ),
    )


def _found(
    name: str, label: str, found: RateAtFpr, note: str, text: str = "", *, gate: bool = False
) -> Measure:
    return Measure(
        name,
        label,
        found.estimate,
        tpr_estimate(found.estimate, found.fpr),
        note,
        text,
        _guessing(found.fpr),
        gate=gate,
        doubtful=not found.resolved,
    )


def _guessing(fpr: float) -> str:
    return f"{rate(fpr)}: as many as are accused falsely"


def _limits(f: WorstCaseComparison) -> tuple[Measure, ...]:
    """Return the highest numbers with any of the defences, or without one where there is none."""
    trainings = f.defended or f.trainings
    turned = [t.title for t in trainings if grade_of_group(t.found.canaries) == UNTOLD]
    whom = "with the least private defence" if f.defended else how(f.none)
    areas = [t.found.canaries.highest_auc for t in trainings]
    return (
        *(
            limited(
                name,
                f"Canaries found at {rate(fpr)} false alarms {whom}",
                [t.canaries(fpr).estimate for t in trainings] if fpr in f.fprs else (),
                _shown_at(fpr),
                _guessing(fpr),
                turned,
            )
            for name, fpr in {"tpr": f.fpr, **_AT_FPRS}.items()
        ),
        limited(
            "auc",
            f"Pairs of canaries in the right order {whom}",
            areas,
            decimal_estimate,
            "0.5",
            turned,
        ),
    )


def _shown_at(fpr: float) -> Callable[[Estimate], Shown]:
    return lambda estimate: tpr_estimate(estimate, fpr)


def _overview(f: WorstCaseComparison) -> Table:
    return Table(
        "overview",
        f"Found by the best attack at {rate(f.fpr)} false alarms; guessing finds as many",
        (
            Column("Training"),
            Column("Canaries found"),
            Column("Ordinary found"),
            Column("Models right", needed=False),
        ),
        tuple(
            (
                t.title,
                _cell(t.canaries(f.fpr)),
                _cell(t.ordinary(f.fpr)),
                percent_estimate(t.accuracy, 1).value,
            )
            for t in f.trainings
        ),
    )


def _compared(f: WorstCaseComparison) -> tuple[Block, ...]:
    return (
        Text(
            (
                "Each row is what the best of all attacks finds of the members while it accuses so "
                "many of the non-members falsely. Canaries got a wrong label and stand in for the "
                "records that are most at risk; ordinary records have their own. Every training "
                "has the same canaries and the same coins, so rows differ in the training alone.",
            )
        ),
        Table(
            "compared",
            "What is found, training by training",
            (Column("Training"), Column("Models right"), *_columns(f)),
            tuple(_line(f, training) for training in f.trainings),
            f"{rate(f.level)} intervals that allow for the choice among {count(f.n_together)} "
            "numbers; those of the models' accuracy stand for themselves.",
        ),
        Text(
            (
                "Models right: on ordinary records that they were not trained on. Worse than "
                f"average: beyond doubt more is found of the canaries at {rate(f.fpr)} false "
                "alarms. The grade below a name is that of its canaries. † Too few records to "
                "tell: fewer than 10 false positives are expected.",
            ),
            Tone.NOTE,
        ),
        *(_places(f) if f.defended else ()),
        *plots(f),
    )


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
    rates = [_cell(x) for fpr in f.fprs for x in (t.canaries(fpr), t.ordinary(fpr))]
    areas = [decimal_estimate(group.highest_auc) for group in t.found.groups]
    cells: tuple[Content, ...] = (name, percent_estimate(t.accuracy, 1), *rates, *areas)
    return Row(cells, Tone.BEST if best else Tone.PLAIN)


def _cell(found: RateAtFpr) -> Cell:
    return Cell(tpr_estimate(found.estimate, found.fpr), doubtful=not found.resolved)


def _places(f: WorstCaseComparison) -> tuple[Block, ...]:
    if not f.changed_places:
        return (
            Text(
                (
                    "No two trainings change places between the average and the worst case beyond "
                    f"doubt, at {rate(f.fpr)} false alarms.",
                )
            ),
        )
    return (
        Text(("Beyond doubt these change places between the average and the worst case:",)),
        Items(
            tuple(
                f"{a.title} gives less away than {b.title} by ordinary records, and more by "
                "canaries."
                for a, b in f.changed_places
            )
        ),
    )


def _each(f: WorstCaseComparison) -> tuple[Block, ...]:
    ordered = sorted(f.trainings, key=lambda t: t is not f.best)
    return (
        Text(
            (
                f"Attack by attack; each interval stands for itself, at {rate(f.level)}. Among so "
                "many numbers some look good or bad by luck alone: the comparison above allows for "
                "that, these tables do not.",
            )
        ),
        *(
            Folded(shortened(t.title), (_attacks(f, t, number),), t is f.best)
            for number, t in enumerate(ordered, 1)
        ),
    )


def _attacks(f: WorstCaseComparison, t: AttackedTraining, number: int) -> Table:
    pairs = zip(t.found.canaries.attacks, t.found.ordinary.attacks, strict=True)
    rows: list[tuple[Content, ...]] = []
    for worst, usual in pairs:
        both = zip(worst.rates, usual.rates, strict=True)
        rates = [_cell(found) for pair in both for found in pair]
        rows.append((worst.attack, *rates, *map(decimal_estimate, (worst.auc, usual.auc))))
    return Table(
        f"attacks-{number}",
        f"What every attack finds: {shortened(t.title)}",
        (Column("Attack"), *_columns(f)),
        tuple(rows),
        shortened(t.found.model),
    )


def _played(f: WorstCaseComparison) -> tuple[Block, ...]:
    found = f.none.found.canaries
    alone = found.attacks[0]
    return (
        Text((_PLAYED,)),
        Pairs(
            (
                ("Wrong label", f"{f.none.found.label.capitalize()}."),
                (
                    "The verdict's rate",
                    f"{rate(f.fpr)} false alarms: the lowest that was asked for of which so many "
                    "records tell, and the highest where they tell of none. The intervals allow "
                    "for this choice.",
                ),
                (
                    "Attacks",
                    f"{count(f.n_attacks)}, the same on every training and both groups.",
                ),
                *methods(
                    {
                        "Canaries found, in the comparison": f.none.canaries(f.fpr).estimate,
                        "Ordinary records found, in the comparison": f.none.ordinary(
                            f.fpr
                        ).estimate,
                        "AUC, in the comparison": found.highest_auc,
                        "Canaries found, attack by attack": alone.rates[0].estimate,
                        "AUC, attack by attack": alone.auc,
                        "The models' accuracy": f.none.accuracy,
                    }
                ),
            )
        ),
    )


_TERMS = (
    (
        "Canary",
        "A record drawn at random that got a wrong label. A model can follow it only by learning "
        "that record by heart, as it does with records that are unlike all others.",
    ),
    (
        "Ordinary record",
        "A record with its own label whose membership is asked about in the same models.",
    ),
    (
        "Member",
        "A record that a model was trained on. A non-member is a record of the same kind that it "
        "was not.",
    ),
    (
        "Defence at training",
        "Another way to train the model, such as stopping early or adding noise.",
    ),
    (
        "Found at 1% false alarms",
        "The share of the members that an attack names while it accuses 1% of the non-members "
        "falsely: the true-positive rate at that false-positive rate. Guessing finds 1%.",
    ),
    (
        "AUC",
        "The probability that a member scores higher than a non-member. Guessing gives 0.5.",
    ),
    (
        "Hold together",
        "Who looks often finds something by luck. The error is shared among all looks "
        "(Bonferroni), so that all of them are right at once with the stated probability.",
    ),
)


def trainings_frame(f: WorstCaseComparison) -> pd.DataFrame:
    """Return one row for every training: what the best attack finds, and what the models cost.

    Parameters
    ----------
    f : WorstCaseComparison

    Returns
    -------
    pandas.DataFrame
        Columns: ``training``, ``model_accuracy``; for both groups and every false-positive rate
        ``canaries_tpr@0.01``, its ``_attack`` and whether it is ``_resolved``, and
        ``ordinary_tpr@0.01`` and so on; ``canaries_auc`` and ``ordinary_auc``; each number with
        ``_low`` and ``_high``, which but for the accuracy hold together; ``epsilon`` and
        ``delta`` of an accountant.
    """
    import pandas as pd

    return pd.DataFrame([_row(f, training) for training in f.trainings])


def _row(f: WorstCaseComparison, training: AttackedTraining) -> dict[str, object]:
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


def _data(f: WorstCaseComparison) -> dict[str, Json]:
    """Return the keys that reports of this kind alone have.

    ``trainings``, without a defence first; in each both groups of ``targets`` with what the best
    attack reaches (``highest`` and ``highest_auc``, all of which hold together at ``level``) and
    every attack by itself. ``fpr`` is the rate that the verdict speaks of, ``changed_places``
    pairs of titles: by ordinary records the first gives less away, by canaries more. No single
    record is in it.
    """
    return {
        "label": f.none.found.label,
        "n_together": int(f.n_together),
        "fpr": float(f.fpr),
        "best": f.best.title,
        "changed_places": [[a.title, b.title] for a, b in f.changed_places],
        "trainings": [
            {
                "title": training.title,
                "model": training.found.model,
                "claim": claim_dict(training.claim),
                "test_accuracy": estimate_dict(training.accuracy),
                "targets": [_group(group) for group in training.found.groups],
            }
            for training in f.trainings
        ],
    }


def _group(group: TargetRisk) -> Json:
    best = [(known.fpr, *group.highest(known.fpr)) for known in group.attacks[0].rates]
    return {
        "name": group.name,
        "n_targets": group.n_targets,
        "n_models": group.n_models,
        "highest": {key(fpr): {"attack": name, **_rate(found)} for fpr, name, found in best},
        "highest_auc": estimate_dict(group.highest_auc),
        "attacks": [
            {
                "name": attacked.attack,
                "auc": estimate_dict(attacked.auc),
                "tpr_at_fpr": {key(found.fpr): _rate(found) for found in attacked.rates},
            }
            for attacked in group.attacks
        ],
    }


def _rate(found: RateAtFpr) -> dict[str, Json]:
    return {**estimate_dict(found.estimate), "resolved": bool(found.resolved)}
