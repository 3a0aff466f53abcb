"""The line of a comparison by worst-case records in a risk register."""

from __future__ import annotations

from privacygauge.errors import InputError
from privacygauge.register.line import Kind, Told, Worst, judged, of_estimate
from privacygauge.register.reading import Columns, Part
from privacygauge.report.numbers import key, plain, rate, tpr_estimate


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report says: what is found of canaries with the best of the trainings."""
    fpr, best = report.number("fpr"), _best(report)
    canaries = _canaries(best)
    found = canaries.share("highest", key(fpr))
    area = canaries.share("highest_auc")
    return Told(
        f"A way to train a model: {plain(best.text('title'))}",
        "Somebody who holds a record guesses whether it was in the model's training data, of "
        "records that the model can only know by heart",
        "the model's answers and models of its own, trained in the same way",
        of_estimate(
            "tpr",
            f"Canaries that are found at {rate(fpr)} false alarms with the best training",
            found,
            tpr_estimate(found, fpr),
            f"{rate(fpr)}: as many as are accused falsely",
            level=report.level(),
        ),
        judged(report),
        Worst("records", (), "canaries stand in for the records that are most at risk"),
        {"auc": area.value, "auc.low": area.low},
    )


def _best(report: Part) -> Part:
    title = report.text("best")
    for part in report.parts("trainings"):
        if part.text("title") == title:
            return part
    raise InputError(f"{report.where}: the best training is not among them: write it again")


def _canaries(training: Part) -> Part:
    for part in training.parts("targets"):
        if part.text("name") == "canaries":
            return part
    raise InputError(f"{training.where}: it has no canaries: write that report again")


KIND = Kind(
    "worst-case records",
    "privacygauge.report.worst_case",
    frozenset({"trainings", "changed_places"}),
    "membership-inference",
    tell,
)
"""Comparisons of trainings by worst-case records."""
