"""The report of a comparison by worst-case records: numbers, sections and words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from privacygauge.audits.worst_case.result import WorstCaseResult
from privacygauge.audits.worst_case.sections import cell, sections
from privacygauge.audits.worst_case.verdict import grade_of_group, how, ranking_decides, verdict
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import AttackedTraining, TargetRisk, is_resolved
from privacygauge.report.blocks import Rows, table
from privacygauge.report.defended import AUC, MEMBER, claim_columns, claim_dict, highest_measure
from privacygauge.report.document import DataFrame, ends, estimate_dict, frame, pick_values
from privacygauge.report.grades import UNTOLD
from privacygauge.report.numbers import (
    count,
    decimal_estimate,
    key,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
    tpr_estimate,
)
from privacygauge.report.values import About, Json, Measure, Report, Table, Worst

_AT_FPRS = {"tpr@0.1": 0.1, "tpr@0.01": 0.01, "tpr@0.001": 0.001}


def report(f: WorstCaseResult) -> Report:
    """Return the report, as plain values."""
    canaries, ordinary = f.groups
    which = f"of each of {count(len(f.trainings))} trainings"
    if not f.defended:
        which = f"that were trained {how(f.none)}"
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
        data=_data(f),
        frames={"trainings.csv": lambda: trainings_frame(f), "attacks.csv": f.to_frame},
        nothing_left_out="Nothing: every attack was played on every training.",
        overview=(_overview(f),),
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
    yield from _limits(f)


def _tpr_measure(
    name: str, label: str, found: RateAtFpr, note: str, text: str = "", *, gate: bool = False
) -> Measure:
    shown = tpr_estimate(found.estimate, found.fpr)
    few = not found.resolved
    known = found.estimate
    guessing = _guessing(found.fpr)
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


def _guessing(fpr: float) -> str:
    return f"{rate(fpr)}: as many as are accused falsely"


def _limits(f: WorstCaseResult) -> Iterator[Measure]:
    """Yield the highest numbers with any defence, or without one if there are none."""
    trainings = f.defended or f.trainings
    turned = [t.title for t in trainings if grade_of_group(t.found.canaries) == UNTOLD]
    whom = "with the least private defence" if f.defended else how(f.none)
    for name, fpr in {"tpr": f.fpr, **_AT_FPRS}.items():
        label = f"Canaries found at {rate(fpr)} false alarms {whom}"
        found = [t.canaries(fpr).estimate for t in trainings] if fpr in f.fprs else []
        yield highest_measure(
            name,
            label,
            found=found,
            show=partial(tpr_estimate, fpr=fpr),
            guessing=_guessing(fpr),
            reversed_by=turned,
        )
    areas = [t.found.canaries.highest_auc for t in trainings]
    label = "Pairs of canaries in the"
    yield highest_measure(
        "auc",
        f"{label} right order {whom}",
        found=areas,
        show=decimal_estimate,
        guessing="0.5",
        reversed_by=turned,
    )


def _overview(f: WorstCaseResult) -> Table:
    title = f"Found by the best attack at {rate(f.fpr)} false alarms; guessing finds as many"
    dagger = "\N{DAGGER} too few records to tell: fewer than 10 false positives are expected."
    rows: Rows = [
        {
            "Training": t.title,
            "Canaries found": cell(t.canaries(f.fpr)),
            "Ordinary found": cell(t.ordinary(f.fpr)),
            "Models right": percent_estimate(t.accuracy, 1).value,
        }
        for t in f.trainings
    ]
    note = f"{title}." if is_resolved(f.trainings, f.fpr) else f"{title}. {dagger}"
    return table("overview", title, rows, note, spare=("Models right",))


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


def trainings_frame(f: WorstCaseResult) -> DataFrame:
    """Return one row per training: the result of the best attack, and the cost of the models.

    Columns: ``training``, ``model_accuracy``; for both groups and every false-positive rate
    ``canaries_tpr@0.01``, its ``_attack`` and whether it is ``_resolved``, and
    ``ordinary_tpr@0.01`` and so on; ``canaries_auc`` and ``ordinary_auc``; each number with
    ``_low`` and ``_high``, which hold jointly except for the accuracy; ``epsilon``, ``delta`` and
    the ``accountant``.
    """
    return frame([_row(f, training) for training in f.trainings])


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


def _data(f: WorstCaseResult) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has.

    ``trainings``, without a defence first; in each both groups of ``targets`` with what the best
    attack reaches (``highest`` and ``highest_auc``, all of which hold together at ``level``) and
    every attack by itself. ``fpr`` is the rate that the verdict speaks of, ``changed_places``
    pairs of titles: by ordinary records the first gives less away, by canaries more. No single
    record is in it.
    """
    return {
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
    }


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
