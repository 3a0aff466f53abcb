"""Options of `privacygauge attribute`, and its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.classifiers.training_options import (
    LabelledRecords,
    data_option,
    load_labelled_records,
)
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, amounts, shares, with_low
from privacygauge.runs.options import Role, asks

if TYPE_CHECKING:
    from privacygauge.classifiers.attribute_audit.audit import AttributeAudit
    from privacygauge.kinds.session import Work

METRICS = (
    *with_low(*shares("attribute-advantage", "attribute-rate")),
    *amounts("attribute-exposed"),
)
"""Metrics that a release can be held to."""

_HELP = """Guess a sensitive column of the people that a model was trained on.

Guesses without the model, and the same guesses about other people, tell a leak from what columns
say about each other and from what the model knows of everybody.

Example: privacygauge attribute --fitted model.py:model --data people.csv --label income --member
trained --sensitive illness
"""

_LIMITS = (
    "Exit with code 3 if METRIC is above VALUE: attribute-advantage (right guesses for members "
    "that the model adds), attribute-exposed (the share of the members whom the surest guesses "
    "give away, at least) or attribute-rate. Add .low for the lower end of the interval."
)


@dataclass(frozen=True, kw_only=True)
class AttributeRequest(LabelledRecords):
    """Options of an audit of attribute inference."""

    model: str | None = None  # nothing is trained
    data: str = data_option()
    fitted: str = asks(
        "FILE.py:NAME", "The trained model, or a function that returns it.", role=Role.CODE
    )
    member: str = asks("COLUMN", "Column that says which records it was trained on.")
    sensitive: str = asks("COLUMN", "Column that is guessed.")
    without_label: bool = asks("", "The adversary does not know the class.")
    unit: str | None = asks(
        "COLUMN", "Column of the people behind the rows. Default: equal ids, or equal rows."
    )


def play(asked: AttributeRequest, work: Work) -> AttributeAudit:
    """Run the requested audit."""
    from privacygauge.classifiers.attribute_audit.audit import audit_attribute
    from privacygauge.classifiers.held import FRAME, NUMBERS, form_of
    from privacygauge.classifiers.named import fitted_model

    model = fitted_model(asked.fitted)
    form = form_of(model)
    # A model that was trained on a frame takes one.
    form = FRAME if form == NUMBERS and hasattr(model, "feature_names_in_") else form
    records = load_labelled_records(asked, form, member=asked.member, unit=asked.unit)
    assert records.member is not None  # the column was asked for
    numbers = form == NUMBERS
    places, values = records.places(asked.sensitive) if numbers else (asked.sensitive, ())
    return audit_attribute(
        model,
        records.x,
        records.y,
        sensitive=places,
        member=records.member,
        knows_label=not asked.without_label,
        name=asked.sensitive,
        values=values,
        classes=records.names,
        ids=records.ids,
        unit=records.unit,
        **asked.told("attribute"),
    )


COMMAND = Command(
    "attribute",
    group=HelpGroup.CLASSIFIER,
    request=AttributeRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=_LIMITS,
    tables=("records.parquet",),
)
