"""The shadow records that an attack learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.game import PredictionObservation, Rows
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Shadow records with known membership, and the targets beside them."""

    rows: Rows
    """What is learnt from."""
    member: Bools
    """(s,) Their membership; both kinds occur."""
    labels: Ints
    """(s,) Their classes."""
    asked: Rows
    """The targets."""


def shadow_rows(
    name: str,
    observation: Observation,
    most: int,
    rng: np.random.Generator,
    *,
    models: int | None = None,
) -> LearningRows | Skipped:
    """Return the shadow records to learn from, or why the attack `name` is skipped.

    At most `most` rows, drawn at random, and the first `models` rows of each record. With `models`
    whole records are drawn: one that is a member in some rows and not in others cannot be learnt
    by heart.
    """
    if not isinstance(observation, PredictionObservation):
        return Skipped(name, "needs the full prediction vectors")
    shadow, rows, asked = observation.shadow, observation.shadow_rows, observation.rows
    if shadow is None or rows is None or asked is None:
        return Skipped(name, "needs shadow records with known membership")
    if models is None or rows.record is None:
        n = len(rows.index)
        used = at_most(most, n, rng)
    else:
        used = _of_some(rows.record, first_rows(rows.record, models), most, rng)
    member = shadow.member[used]
    if not rarer(member):
        return Skipped(name, "too few shadow records: they must hold members and non-members")
    record = None if rows.record is None else rows.record[used]
    chosen = Rows(rows.source, rows.index[used], rows.features, record)
    return LearningRows(chosen, member, shadow.stratum[used], asked)


def rarer(member: Bools) -> int:
    """Return how many there are of the rarer kind."""
    inside = int(np.count_nonzero(member))
    return min(inside, len(member) - inside)


def features_of(rows: Rows) -> NDArray[Any] | None:
    """Return the features of some rows, (n, d), or None where they are not known.

    Raises
    ------
    InputError
        If they are no matrix of finite numbers.
    """
    if rows.features is None or rows.record is None:
        return None
    if rows.features.ndim != 2 or rows.features.dtype.kind not in "biuf":
        raise InputError(
            "features must be numbers of the shape (r, d), got "
            f"{rows.features.dtype} of {rows.features.shape}: categories need a column each"
        )
    features = rows.features[rows.record]
    if not np.isfinite(features).all():
        raise InputError("features must be finite: fill in what is missing")
    return features


def first_rows(record: Ints, models: int) -> Ints:
    """Return the first rows of each record, at most `models` of them, in ascending order.

    Rows of a pool come model by model, one a record: these are the first models' rows.
    """
    order = np.argsort(record, kind="stable")
    ordered = record[order]
    first = np.searchsorted(ordered, ordered)
    return np.sort(order[np.arange(len(order)) - first < models])


def _of_some(record: Ints, used: Ints, most: int, rng: np.random.Generator) -> Ints:
    if len(used) <= most:
        return used
    different = np.unique(record[used])
    kept = rng.permutation(different)[: most * len(different) // len(used)]
    return used[np.isin(record[used], kept)]


def at_most(most: int, n: int, rng: np.random.Generator) -> Ints:
    """Return which of n rows are used: all, or `most` of them drawn at random, in order."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
