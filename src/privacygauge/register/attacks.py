"""What the lines of audits with attacks have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.estimate import Estimate
from privacygauge.register.line import (
    WORST,
    Number,
    Worst,
    named,
    of_estimate,
)
from privacygauge.register.reading import Part
from privacygauge.report.numbers import percent_estimate

Values = NDArray[Any]

GUESSING = "50%: members and non-members count the same"
"""What guessing gives where accuracies are balanced."""

NO_FILE = "records.parquet is not beside report.json"
"""Why no ids are known."""


def accuracy_of(headline: Part, level: float, looks: int = 1) -> Number:
    """Return the share of right guesses of the headline's attack."""
    found = headline.share("accuracy")
    shown = percent_estimate(found)
    label = "Right guesses of the strongest attack"
    return of_estimate("accuracy", label, found, shown, GUESSING, level=level, looks=looks)


def further(report: Part) -> dict[str, float]:
    """Return the highest AUC of all attacks, and the bound on epsilon."""
    areas: list[Estimate] = [attack.share("auc") for attack in report.parts("attacks")]
    found = {"epsilon": report.estimate("headline", "epsilon").low}
    if areas:
        found |= {"auc": max(x.value for x in areas), "auc.low": max(x.low for x in areas)}
    return found


def ordered(what: str, found: Mapping[str, Values], ids: str, by: str) -> Worst:
    """Return the ids of the highest values in a column, of ties the earlier ones.

    Parameters
    ----------
    what : str
        What the ids are of.
    found : mapping
        Columns of ``records.parquet``; where there is ``member``, members alone are ranked.
    ids, by : str
        Names of columns.
    """
    member = found.get("member", np.ones(1, dtype=bool))
    if not {ids, by} <= set(found) or not is_number(found[by]) or member.dtype.kind != "b":
        return Worst(what, (), "records.parquet has no scores of this audit")
    rows = np.flatnonzero(member) if "member" in found else np.arange(len(found[by]))
    order = rows[np.argsort(-found[by][rows].astype(np.float64), kind="stable")]
    return named(what, tuple(found[ids][order[:WORST]].tolist()))


def is_number(values: Values) -> bool:
    """Return whether a column holds numbers."""
    return values.dtype.kind in "biuf"
