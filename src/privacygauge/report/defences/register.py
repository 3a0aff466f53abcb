"""The line of a comparison of defences in a risk register."""

from __future__ import annotations

from privacygauge.errors import InputError
from privacygauge.register.attacks import GUESSING
from privacygauge.register.line import Kind, Told, judged, named, of_estimate
from privacygauge.register.reading import Columns, Part
from privacygauge.report.numbers import percent_estimate, plain


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report on defences says: what is left with the best of them."""
    best = _best(report)
    found, area = best.share("left", "accuracy"), best.share("left", "auc")
    return Told(
        f"A model behind a defence: {plain(report.text('best'))}",
        "Somebody who holds a record and knows the defence guesses: was it in the model's "
        "training data?",
        "the defended answers, a model of its own behind the same defence, and the choice to "
        "undo or to ignore it",
        of_estimate(
            "accuracy",
            "Right guesses that are left with the best defence",
            found,
            percent_estimate(found),
            GUESSING,
            level=report.level(),
        ),
        judged(report),
        named("records", tuple(part.value.get("id") for part in best.parts("worst"))),
        {"auc": area.value, "auc.low": area.low},
    )


def _best(report: Part) -> Part:
    title = report.text("best")
    for part in report.parts("defences"):
        if title in (part.text("name"), f"{part.text('name')} ({part.text('variant')})"):
            return part
    raise InputError(f"{report.where}: the best defence is not among them: write it again")


KIND = Kind(
    "defences",
    "privacygauge.report.defences",
    frozenset({"undefended", "defences"}),
    "membership-inference",
    tell,
)
"""Comparisons of defences."""
