"""The membership game on existing predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr

from privacygauge.classifiers.predictions import LogitPool, Pool, Predictions
from privacygauge.classifiers.resolution import Resolution, resolution
from privacygauge.classifiers.signals import signals
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Round, Shadow
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Shadow records with known membership, and the targets to attack."""

    rows: Rows
    """Predictions to learn from."""
    member: Bools
    """(s,) Membership of these rows; both kinds occur."""
    labels: Ints
    """(s,) Classes of these rows."""
    asked: Rows
    """Predictions for the targets."""


def shadow_rows(
    name: str,
    observation: Observation,
    most: int,
    rng: np.random.Generator,
    *,
    models: int | None = None,
) -> LearningRows | Skipped:
    """Return the shadow records to learn from, or why the attack `name` is skipped.

    At most `most` rows, drawn at random. With `models`, these are the first `models` rows of each
    record, and whole records are drawn: a record that is a member in some rows and not in others
    cannot be memorised.
    """
    if not isinstance(observation, PredictionObservation):
        return Skipped(name, "needs the full prediction vectors")
    shadow = observation.shadow
    rows = observation.shadow_rows
    asked = observation.rows
    if shadow is None or rows is None or asked is None:
        return Skipped(name, "needs shadow records with known membership")
    if models is None or rows.record is None:
        n = len(rows.index)
        used = draw_at_most(most, n, rng)
    else:
        used = first_rows(rows.record, models)
        if len(used) > most:
            different = np.unique(rows.record[used])
            # As many records as have about `most` rows together.
            kept = rng.permutation(different)[: most * len(different) // len(used)]
            used = used[np.isin(rows.record[used], kept)]
    member = shadow.member[used]
    if not rarer(member):
        return Skipped(name, "too few shadow records: they must hold members and non-members")
    record = None if rows.record is None else rows.record[used]
    chosen = Rows(rows.source, rows.index[used], rows.features, record)
    return LearningRows(chosen, member, shadow.stratum[used], asked)


def rarer(member: Bools) -> int:
    """Return the smaller of the numbers of members and non-members."""
    inside = int(np.count_nonzero(member))
    return min(inside, len(member) - inside)


def row_features(rows: Rows) -> NDArray[Any] | None:
    """Return the features of some rows, (n, d), or None if they are not known.

    Raises
    ------
    InputError
        If they are not a matrix of finite numbers.
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
    """Return the indices of each record's first rows, at most `models` per record, ascending.

    The rows of a pool come model by model, one per record, so these belong to the first models.
    """
    order = np.argsort(record, kind="stable")
    ordered = record[order]
    first = np.searchsorted(ordered, ordered)
    # The stable sort keeps each record's rows in order: place minus first place is their rank.
    return np.sort(order[np.arange(len(order)) - first < models])


def draw_at_most(most: int, n: int, rng: np.random.Generator) -> Ints:
    """Return the indices of the rows to use, ascending: all n, or `most` drawn at random."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a prediction matrix, without membership."""

    source: Predictions
    """The predictions."""
    index: Ints
    """(n,) Indices of the rows in `source`."""
    features: NDArray[Any] | None = None
    """(r, d) Features of r distinct records, if the adversary knows them."""
    record: Ints | None = None
    """(n,) Index of each row's record among the r."""


@dataclass(frozen=True, eq=False)
class PredictionObservation(Observation):
    """Signals, and the full prediction vectors behind them."""

    rows: Rows | None = None
    """Predictions for the targets."""
    shadow_rows: Rows | None = None
    """Predictions for the shadow records."""
    pool: Pool | LogitPool | None = None
    """The adversary's own models on every target, for attacks on single records."""
    resolved: Resolution | None = None
    """Common resolution of all these predictions."""


@dataclass(frozen=True, eq=False)
class PredictionGame:
    """The membership game on existing predictions for known members and non-members.

    With shadow predictions, the adversary learns on those. Without, the targets are split into
    parts, and the attacks on each part learn on other parts (`crossfit_parts`).
    """

    target: Predictions
    """Predictions of the audited model."""
    shadow: Predictions | None = None
    """Predictions of the adversary's model on its own records."""
    features: NDArray[Any] | None = None
    """(n, d) Features of the targets, for attacks that use them."""
    shadow_features: NDArray[Any] | None = None
    """(s, d) Features of the shadow records."""
    compared: Bools | None = None
    """(n,) True for targets that attacks on other parts may learn from; default: all."""

    def __post_init__(self) -> None:
        for name, side in (("target", self.target), ("shadow", self.shadow)):
            if side is None:
                continue
            n_in = checks.n_distinct(side.units[side.member])
            n_out = checks.n_distinct(side.units[~side.member])
            if min(n_in, n_out) < 2:
                of = "" if side.unit is None else " of different units"
                raise InputError(
                    f"{name}: at least 2 members and 2 non-members{of} are needed, got {n_in} and "
                    f"{n_out}"
                )
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
        """Return one round with shadow predictions, or one per part without.

        The bits came with the data and are not drawn again, so `rounds` must be 1.
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
            return [
                self._round(
                    values, everything, shadow_values=known, learnt=shadow, resolved=resolved
                )
            ]
        target = self.target
        usable = np.ones(len(target), np.bool_) if self.compared is None else self.compared
        dealt = []
        for judged, others in crossfit_parts(target.labels, target.member, rng, target.units):
            # All targets are scored, but attacks learn only from those that are compared.
            learnt = others[usable[others]]
            rows = Rows(target, learnt, self.features, learnt)
            dealt.append(
                self._round(values, judged, shadow_values=values, learnt=rows, resolved=resolved)
            )
        return dealt

    def _round(
        self,
        values: dict[str, Floats],
        judged: Ints,
        shadow_values: dict[str, Floats],
        learnt: Rows,
        resolved: Resolution,
    ) -> Round:
        source = learnt.source
        index = learnt.index
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


PARTS = 5
"""Parts of the targets in cross-fitting."""

_BEFORE = 2
"""Number of other parts that the attacks on each part learn from: 2 of the 4, so that of any two
parts exactly one teaches the other."""

_FEWEST = 10
"""Fewest units per side for `PARTS` parts; with fewer there are two parts that teach each other."""

_TOO_EVEN = 1e-3
"""Probability, by chance, of class shares this even; below it they were balanced on purpose."""


def crossfit_parts(
    labels: Ints, member: Bools, rng: np.random.Generator, unit: Ints | None = None
) -> list[tuple[Ints, Ints]]:
    """Return the rows of each part, and the rows of other parts that its attacks learn from.

    Parts are those of `draw_parts`. Each pair of records is used in one direction only: if A's
    attack learnt on B and B's on A, what both share by chance would count twice, and the intervals
    of trained attacks would be too narrow by a quarter.

    Notes
    -----
    If attacks learn nothing about membership, the bits of a part are independent of all others,
    given the attacks' observations. Guesses about a part depend on the bits of the parts before it,
    and of any two parts j and k at most one is before the other: the right guesses about one of the
    two are then centred given those about the other, so that all covariances are 0 and the variance
    of the sum is that of as many independent guesses.
    """
    units = np.arange(len(labels)) if unit is None else unit
    sides = (checks.n_distinct(units[side]) for side in (member, ~member))
    parts, before = (PARTS, _BEFORE) if min(sides) >= _FEWEST else (2, 1)
    part = draw_parts(labels, member, parts=parts, rng=rng, unit=unit)
    return [
        # Part j learns from the `before` parts before it, cyclically.
        (np.flatnonzero(part == j), np.flatnonzero((j - part - 1) % parts < before))
        for j in range(parts)
    ]


def crossfit_halves(
    labels: Ints, member: Bools, rng: np.random.Generator, unit: Ints | None = None
) -> Bools:
    """Return a mask of the first of two halves, (n,), as drawn by `draw_parts`."""
    first: Bools = draw_parts(labels, member, parts=2, rng=rng, unit=unit) == 0
    return first


def draw_parts(
    labels: Ints, member: Bools, parts: int, rng: np.random.Generator, unit: Ints | None = None
) -> Ints:
    """Return the part of each record, in 0..parts-1, drawn so that parts are independent.

    All records of a unit are in one part; without `unit`, each record is its own unit. A unit has
    the side and class of its first record. Members are spread evenly over the parts, and so are
    non-members. They are spread class by class only if members and non-members were drawn that way,
    so that their class shares are equal up to rounding.

    Notes
    -----
    Let all arrangements of n_1 ones over n units be equally likely. Given the units of a part, all
    arrangements of its share of the ones are equally likely, whatever the bits of other parts:
    parts that are balanced by side are exactly independent. Parts that are balanced by class and
    side are not: a chance surplus of members in a class would be in every part, and an attack that
    sees the class would learn it. But if bits were arranged within classes, parts balanced by side
    alone would be opposites: a class with too many members in one part has too few in the others.
    """
    units = np.arange(len(labels)) if unit is None else unit
    # Units are dealt, by their first rows; `index` brings their parts back to all rows.
    _, one, index = np.unique(units, return_index=True, return_inverse=True)
    inside = member[one]
    _, group = np.unique(labels[one], return_inverse=True)
    if _drawn_by_class(group, inside):
        part = _spread(group, inside, parts, rng)
        # Small classes may leave a part without members or non-members: then balance by side alone.
        if all((np.bincount(part[side], minlength=parts) > 0).all() for side in (inside, ~inside)):
            return part[index]
    return _spread(np.zeros(len(one), np.int64), inside, parts, rng)[index]


def _spread(group: Ints, inside: Bools, parts: int, rng: np.random.Generator) -> Ints:
    """Return parts that spread the members of each group evenly, and its non-members too."""
    # Both sides of a group start in the same part. Each group starts where the last one's members
    # ended, so that rounding does not favour the first parts.
    n_in = np.bincount(group[inside], minlength=group.max() + 1)
    start = np.cumsum(n_in) - n_in + int(rng.integers(parts))
    part = np.empty(len(group), np.int64)
    for side in (inside, ~inside):
        rows = np.flatnonzero(side)
        # By group, in random order within each; then dealt to the parts in turn.
        order = rows[np.lexsort((rng.random(len(rows)), group[rows]))]
        ordered = group[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        part[order] = (start[ordered] + rank) % parts
    return part


def _drawn_by_class(group: Ints, inside: Bools) -> bool:
    """Return whether both sides have equal shares of each class, beyond chance."""
    size = np.bincount(group)
    # Members of each class, and how many there are beyond its share of all members.
    n_in = np.bincount(group, weights=inside)
    share = inside.mean()
    beyond = n_in - share * size
    if (np.abs(beyond) < 1).all():  # true as well if all units are on one side
        return True
    # Pearson's statistic: its lower tail is the probability of counts this even by chance.
    chi2 = float(np.sum(beyond**2 / size) / (share * (1 - share)))
    return bool(chdtr(len(size) - 1, chi2) < _TOO_EVEN)
