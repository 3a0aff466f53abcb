"""Names of columns that people use for records, people and membership."""

from __future__ import annotations

from collections.abc import Iterable

from privacygauge.errors import InputError

_MEMBER = ("member", "is_member", "membership", "in_training", "in_train", "is_train", "split")
_PART_HELD_OUT = (
    *("is_test", "in_test", "holdout", "is_holdout", "held_out", "unseen", "is_val", "in_val"),
    *("is_validation", "in_validation", "is_oos", "oos", "out_of_sample"),
)
NON_MEMBER = ("non_member", "nonmember", *_PART_HELD_OUT)
"""Names of columns that are 1 for the records that the model was not trained on."""
MEMBERSHIP = (*_MEMBER, *NON_MEMBER)
"""Names of columns that say on which records the model was trained, the most usual one first."""
ID = ("id", "ids")
"""Names of the column that identifies records."""
UNIT = ("unit",)
"""Names of the column that identifies people."""

NAMING = (*ID, *UNIT)
"""Names of the columns that identify records and people."""


def membership_in(columns: Iterable[str], name: str) -> str | None:
    """Return the column that says on which records the model was trained; None without any.

    `columns` may be in capitals, and `name` is the input's name in messages.

    Raises
    ------
    InputError
        If several columns each hold out a part of the records, and none says who is a member.
    """
    spelled = {x.lower(): x for x in columns} | {x: x for x in columns}
    known = [spelled[x] for x in MEMBERSHIP if x in spelled]
    if len(known) > 1 and all(x.lower() in _PART_HELD_OUT for x in known):
        raise InputError(
            f"{name}: {' and '.join(known)} each hold out a part of the records: say in one column "
            "member who was in training"
        )
    return known[0] if known else None
