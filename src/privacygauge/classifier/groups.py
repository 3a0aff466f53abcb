"""Groups of records that are compared, and columns that are shown, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.pool_game import matrix_of
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.signals import top_probability
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Play, Round, play
from privacygauge.errors import InputError
from privacygauge.evaluate.slices import SliceTable, deciles, find_slices

MOST_GROUPS = 200
"""A column with more distinct values is cut into deciles (numbers) or not sliced by (texts)."""


def sliced(
    rounds: Sequence[Round],
    target: Predictions,
    columns: Mapping[str, NDArray[Any]],
    seed: int,
    level: float,
) -> SliceTable:
    """Return how exposed each class, each tenth of confidence and each group of columns is."""
    # The attack is named here, before anything was measured.
    attack = Threshold("modified-entropy", per_class=True)
    rngs = [seeds.stream(seed, "slices", number) for number in range(len(rounds))]
    played = play(attack, rounds, rngs)
    assert isinstance(played, Play)
    order = played.transcript.target
    groups = {
        "class": np.array(target.classes)[target.labels] if target.classes else target.labels,
        "confidence": deciles(top_probability(target)),
        **columns,
    }
    in_order = {name: values[order] for name, values in groups.items()}
    return find_slices(played.decisions, in_order, "modified-entropy (per-class)", level)


def groups_of(
    target: Predictions, slices: Mapping[str, ArrayLike] | Sequence[str] | None
) -> tuple[dict[str, NDArray[Any]], list[Skipped]]:
    """Return the groups of every column to slice by, and the columns that have too many."""
    if isinstance(slices, Mapping):
        chosen = {
            name: checks.vector(values, f"slice {name!r}", length=len(target))
            for name, values in slices.items()
        }
    else:
        chosen = contents_of(target, target.columns if slices is None else slices, " to slice by")
    groups: dict[str, NDArray[Any]] = {}
    reason = f"more than {MOST_GROUPS} different texts: merge some"
    for name, values in chosen.items():
        if len(np.unique(values)) <= MOST_GROUPS and values.dtype.kind != "f":
            groups[name] = values
        elif values.dtype.kind in "iuf":
            groups[name] = deciles(values.astype(np.float64))
    too_many = [Skipped(f"slices by {name}", reason) for name in chosen if name not in groups]
    if too_many and slices is not None:
        raise InputError(f"{too_many[0].name}: {reason}")
    return groups, too_many


def contents_of(
    target: Predictions, names: Iterable[str], use: str = ""
) -> dict[str, NDArray[Any]]:
    """Return columns of the user's by their names; `use` is what they are for, in the message."""
    chosen = list(names)
    missing = [name for name in chosen if name not in target.columns]
    if missing:
        have = ", ".join(target.columns) or "none"
        raise InputError(f"no column {missing[0]!r}{use}; the columns are: {have}")
    return {name: target.columns[name] for name in chosen}


def are_columns(features: ArrayLike | Sequence[str] | None) -> bool:
    """Return whether features are names of columns."""
    return isinstance(features, Sequence) and all(isinstance(name, str) for name in features)


def records_of(
    side: Predictions, features: ArrayLike | Sequence[str] | None, name: str
) -> NDArray[Any] | None:
    """Return the records of one side as a matrix of numbers; None where none are given."""
    if features is None or (are_columns(features) and not features):
        return None
    if are_columns(features):
        features = np.column_stack(list(contents_of(side, cast(Sequence[str], features)).values()))
    return matrix_of(features, len(side), name)
