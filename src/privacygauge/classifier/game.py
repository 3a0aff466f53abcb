"""The membership game on predictions that were made already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.pool import LogitPool, Pool
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.resolution import Resolution, resolution
from privacygauge.classifier.signals import signals
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Round, Shadow
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


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a prediction matrix, without labels of membership."""

    source: Predictions
    """The predictions."""
    index: Ints
    """(n,) Which of their rows."""
    features: NDArray[Any] | None = None
    """(r, d) Features of r different records, where the adversary knows them."""
    record: Ints | None = None
    """(n,) Which of the r records each row is about."""


@dataclass(frozen=True, eq=False)
class PredictionObservation(Observation):
    """Signals, and the full prediction vectors behind them."""

    rows: Rows | None = None
    """The targets' predictions."""
    shadow_rows: Rows | None = None
    """The shadow records' predictions."""
    pool: Pool | LogitPool | None = None
    """The adversary's own models on every target: what attacks on single records learn from."""
    resolved: Resolution | None = None
    """What all of these predictions resolve in common."""


@dataclass(frozen=True, eq=False)
class PredictionGame:
    """Members and non-members are known, and so are predictions on them.

    With shadow predictions the adversary learns on those. Without, the targets are cut in two
    halves and each half is attacked by an adversary that learnt on the other one.
    """

    target: Predictions
    """Predictions of the audited model."""
    shadow: Predictions | None = None
    """Predictions of the adversary's model on records of its own."""
    features: NDArray[Any] | None = None
    """(n, d) The targets themselves, for attacks that look at them."""
    shadow_features: NDArray[Any] | None = None
    """(s, d) The shadow's records."""

    def __post_init__(self) -> None:
        for name, side in (("target", self.target), ("shadow", self.shadow)):
            if side is not None:
                _require_two(name, side)
        if self.shadow is not None and (self.features is None) != (self.shadow_features is None):
            raise InputError(
                "features must be given of the target and of the shadow, or of neither"
            )
        if self.shadow is not None and self.shadow.n_classes != self.target.n_classes:
            raise InputError(
                f"the shadow predictions have {self.shadow.n_classes} classes, the target's "
                f"{self.target.n_classes}: both must come from the same task"
            )

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return one round with a shadow, or one for each half without.

        The bits came with the data, so nothing is drawn again and `rounds` must be 1.
        """
        if rounds != 1:
            raise InputError(f"predictions that were made already give one round, got {rounds}")
        shadows = () if self.shadow is None else (self.shadow,)
        resolved = resolution(self.target, *shadows)
        values = signals(self.target, resolved)
        if self.shadow is not None:
            everything = np.arange(len(self.target))
            index = np.arange(len(self.shadow))
            shadow = Rows(self.shadow, index, self.shadow_features, index)
            known = signals(self.shadow, resolved)
            return [self._round(values, everything, known, shadow, resolved)]
        first = crossfit_halves(self.target.labels, self.target.member, rng, self.target.units)
        parts = np.flatnonzero(first), np.flatnonzero(~first)
        return [
            self._round(
                values, judged, values, Rows(self.target, learnt, self.features, learnt), resolved
            )
            for judged, learnt in (parts, parts[::-1])
        ]

    def _round(
        self,
        values: dict[str, Floats],
        judged: Ints,
        shadow_values: dict[str, Floats],
        learnt: Rows,
        resolved: Resolution,
    ) -> Round:
        source, index = learnt.source, learnt.index
        shadow = Shadow(
            {name: x[index] for name, x in shadow_values.items()},
            source.member[index],
            source.labels[index],
            source.units[index],
        )
        observation = PredictionObservation(
            {name: x[judged] for name, x in values.items()},
            self.target.labels[judged],
            shadow,
            rows=Rows(self.target, judged, self.features, judged),
            shadow_rows=learnt,
            resolved=resolved,
        )
        return Round(observation, self.target.member[judged], judged, self.target.units[judged])


def _require_two(name: str, side: Predictions) -> None:
    member = side.member
    n_in, n_out = (checks.n_distinct(side.units[rows]) for rows in (member, ~member))
    if min(n_in, n_out) < 2:
        of = "" if side.unit is None else " of different units"
        raise InputError(
            f"{name}: at least 2 members and 2 non-members{of} are needed, got {n_in} and {n_out}"
        )


def crossfit_halves(
    labels: Ints, member: Bools, rng: np.random.Generator, unit: Ints | None = None
) -> Bools:
    """Return which records are in the first of two halves, even in every class and side.

    All records of a unit are in one half; without `unit` each record has one of its own. Among the
    units whose first record is of one class and side the halves differ by at most one.
    """
    units = np.arange(len(labels)) if unit is None else unit
    _, one, index = np.unique(units, return_index=True, return_inverse=True)
    order = np.lexsort((rng.random(len(one)), labels[one], member[one]))
    first = np.empty(len(one), np.bool_)
    first[order] = np.arange(len(one)) % 2 == int(rng.integers(2))
    return first[index]
