"""Membership games on existing predictions: with a shadow model, and with a pool of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr

from privacygauge.classifiers.predictions import LogitPool, Pool, Predictions
from privacygauge.classifiers.signals import Resolution, resolution, signals
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Round, Shadow
from privacygauge.core.release import Worlds, counts_of
from privacygauge.core.units import join_units
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
    together: Ints | None = None
    """(n,) Numbers of which equal ones are in one part, such as of records that are copies on the
    other side; so are units, always."""

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
        target = self.target
        shadows = () if self.shadow is None else (self.shadow,)
        resolved = resolution(target, *shadows)
        values = signals(target, resolved)
        # The judged rows of each round, and the rows that its attacks learn from.
        plays: list[tuple[Ints, Rows]] = []
        if self.shadow is not None:
            index = np.arange(len(self.shadow))
            learnt = Rows(self.shadow, index, self.shadow_features, index)
            plays.append((np.arange(len(target)), learnt))
            known = signals(self.shadow, resolved)
        else:
            known = values
            usable = np.ones(len(target), np.bool_) if self.compared is None else self.compared
            unit = join_units(target.units, self.together)
            for judged, others in crossfit_parts(target.labels, target.member, rng, unit):
                # All targets are scored, but attacks learn only from those that are compared.
                index = others[usable[others]]
                plays.append((judged, Rows(target, index, self.features, index)))
        dealt = []
        for judged, learnt in plays:
            source = learnt.source
            index = learnt.index
            shadow = Shadow(
                {name: x[index] for name, x in known.items()},
                source.member[index],
                source.labels[index],
                source.units[index],
            )
            observation = PredictionObservation(
                {name: x[judged] for name, x in values.items()},
                target.labels[judged],
                shadow,
                rows=Rows(target, judged, self.features, judged),
                shadow_rows=learnt,
                resolved=resolved,
            )
            dealt.append(Round(observation, target.member[judged], judged, target.units[judged]))
        return dealt


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
    size = np.bincount(group)
    # Members of each class, and how many there are beyond its share of all members.
    n_in = np.bincount(group, weights=inside)
    share = inside.mean()
    beyond = n_in - share * size
    if (np.abs(beyond) < 1).all():  # true as well if all units are on one side
        drawn_by_class = True
    else:
        # Pearson's statistic: its lower tail is the probability of counts this even by chance.
        chi2 = float(np.sum(beyond**2 / size) / (share * (1 - share)))
        drawn_by_class = bool(chdtr(len(size) - 1, chi2) < _TOO_EVEN)
    if drawn_by_class:
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


WORLD_SIGNAL = "scaled-logit"
"""Signal by which attacks on single records compare models (Carlini et al. 2022)."""

NONE: Floats = np.empty(0)
"""No known values of a signal."""

MANY_COINS = 64
"""Number of fair coins in all of which two models never agree by chance."""

MOST_SHADOW_ROWS = 2_000_000
"""Largest number of rows that thresholds and posteriors learn from, those of the first models."""


@dataclass(frozen=True, eq=False)
class PoolGame:
    """One target model, and the adversary's own models on the same records.

    Attacks that need records with known membership learn on the rows of all the pool's models.
    Attacks on single records compare the target with the models that hold the record and those that
    do not. With several queries per record, attacks on single records use all of them, the others
    only the first.
    """

    target: Predictions
    """Predictions of the audited model for n records."""
    pool: Pool | LogitPool
    """The adversary's models on the same records, in the same order."""
    features: NDArray[Any] | None = None
    """(n, d) Features of the records, for attacks that use them."""
    target_ids: NDArray[np.int64] | None = None
    """(n,) Numbers of the targets in the transcript; default: 0..n-1."""
    general: GeneralShadow | None = None
    """Other shadow models for thresholds and learned attacks; default: the pool."""

    def __post_init__(self) -> None:
        pool = self.pool
        target = self.target
        if (pool.n_targets, pool.n_classes) != (len(target), target.n_classes):
            raise InputError(
                f"the pool predicts {pool.n_targets} records of {pool.n_classes} classes, the "
                f"target {len(target)} of {target.n_classes}"
            )
        if pool.n_queries != target.n_queries:
            raise InputError(
                f"the pool's models answer {pool.n_queries} queries a record, the target "
                f"{target.n_queries}: ask all of them the same queries"
            )
        if not np.array_equal(pool.labels, target.labels):
            said = "the pool's labels differ from the target's: keep one order of records"
            # Labels by number differ as well where only the order of the classes does.
            if target.classes:
                numbers = checks.short_list(
                    f"{i} = {text}" for i, text in enumerate(target.classes)
                )
                said += (
                    f", and say which classes the pool's are (the target's are {numbers}): as "
                    "labels by name, or by an array classes in the pool's file with their names "
                    "in the order of its predictions"
                )
            raise InputError(said)
        count = counts_of(pool.inside)
        if (count == len(pool)).all() or not count.any():
            raise InputError("the pool's models must hold some targets and leave out others")
        # With few coins, two models may agree by chance.
        if checks.n_distinct(target.units) < MANY_COINS:
            return
        # The first coins single out the few models that are compared in full. Row 0 is the target.
        coins = np.vstack([target.member[:MANY_COINS], pool.inside[:, :MANY_COINS]])
        _, kind = np.unique(coins, axis=0, return_inverse=True)
        for same in np.flatnonzero(kind[1:] == kind[0]):
            if np.array_equal(pool.inside[same], target.member):
                raise InputError(
                    f"model {same} of the pool (from 0) was trained on exactly the target's "
                    "members, which gives them away: leave the target out of its pool"
                )
        kinds = kind[1:]
        # A stable sort puts models of equal coins side by side, in their order.
        for one, other in pairwise(np.argsort(kinds, kind="stable").tolist()):
            if (
                kinds[one] == kinds[other]
                and isinstance(pool, Pool)
                and all(np.array_equal(x[one], x[other]) for x in (pool.inside, pool.answers))
            ):
                raise InputError(
                    f"models {one} and {other} of the pool (from 0) are the same one: leave one out"
                )

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return the one round, whose bits were drawn when the target was trained."""
        if rounds != 1:
            raise InputError(f"one target model gives one round, got {rounds}")
        return [self.round()]

    def round(self) -> Round:
        """Return the round: the adversary's observation, and the membership as its secret."""
        target = self.target
        pool = self.pool
        general = self.general
        if general is None:
            whole = pool.first if isinstance(pool, LogitPool) else pool
            general = GeneralShadow.of(whole, self.features, resolution(target, whole))
        resolved = general.resolved
        asked = np.arange(len(target))
        seen = signals(target, resolved)
        if isinstance(self.pool, LogitPool):
            signals_of_pool = self.pool.worlds
        else:
            # Signals of the pool's own first rows are known already; a general shadow has other
            # rows.
            known = NONE if self.general is not None else general.shadow.signals[WORLD_SIGNAL]
            signals_of_pool = worlds_signal(self.pool, general.resolved, known)
        observation = PredictionObservation(
            seen,
            target.labels,
            shadow=general.shadow,
            worlds=Worlds(
                # The signal of the first query is known already.
                world_signal(target, resolved, seen[WORLD_SIGNAL]),
                signals_of_pool,
                pool.inside,
            ),
            rows=Rows(target, asked, self.features, asked),
            shadow_rows=general.rows,
            pool=pool,
            resolved=resolved,
        )
        ids = asked if self.target_ids is None else self.target_ids
        return Round(observation, target.member, ids, target.units)


def with_equal_counts(pool: Pool, member: Bools, rng: np.random.Generator) -> Pool | None:
    """Return a pool whose counts say nothing, if all models have equally many of each record.

    Where each record is in exactly half of all models, target included, as in the deal of Carlini
    et al. (2022), the shadow models that hold it are one fewer for the members. Of each record one
    answer is left out at random: of a member that of a model without it, of a non-member that of a
    model with it. What is left has the same counts for all records, and the target and the model
    that was left out are equally likely to be the one with the record.

    Parameters
    ----------
    pool : Pool
        The shadow models, (k, n).
    member : ndarray of bool, shape (n,)
        The target's bits.
    rng : numpy.random.Generator
        Chooses what is left out.

    Returns
    -------
    Pool or None
        Of k - 1 models, whose rows hold the answers of single models but for the gaps, which those
        of the last one fill. None if the deal is not balanced, or nothing would be left on a side.
    """
    if pool.n_targets != len(member):  # another check names them
        return None
    evened = even_counts(pool.answers, pool.inside, member, rng)
    return None if evened is None else replace(pool, answers=evened[0], inside=evened[1])


def even_counts(
    answers: NDArray[Any], in_models: Bools, member: Bools, rng: np.random.Generator
) -> tuple[NDArray[Any], Bools] | None:
    """Return answers, (k - 1, n, ...), and members whose counts say nothing; None if unneeded.

    See `with_equal_counts`.
    """
    k = len(in_models)
    held = np.count_nonzero(in_models, axis=0) + member
    if (held != held[0]).any() or not 2 <= held[0] < k:
        return None
    other_bit = in_models != member
    # In each record's column, a random model of the other side than the target's.
    gap = np.where(other_bit, rng.random(other_bit.shape), -1.0).argmax(axis=0)
    records = np.flatnonzero(gap < k - 1)
    found = np.array(answers)
    inside = np.array(in_models)
    # The last model's answers fill the gaps, and its own gaps need nothing.
    for rows in (found, inside):
        rows[gap[records], records] = rows[k - 1, records]
    return found[:-1], inside[:-1]


@dataclass(frozen=True, eq=False)
class GeneralShadow:
    """Records with known membership, from the adversary's own models, with their signals."""

    shadow: Shadow
    """Signals of the records."""
    rows: Rows
    """Predictions for the records."""
    resolved: Resolution
    """Common resolution of these predictions, the target's, and the pool's."""

    @classmethod
    def of(
        cls,
        pool: Pool,
        features: NDArray[Any] | None = None,
        resolved: Resolution | None = None,
    ) -> GeneralShadow:
        """Return the rows of the pool's models, of the first ones only if these are too many."""
        used = max(1, min(len(pool), MOST_SHADOW_ROWS // pool.n_targets))
        # At least one model, however many records it predicts.
        source = pool.models(slice(used)).rows()
        resolved = resolved or resolution(source)
        shadow = Shadow(signals(source, resolved), source.member, source.labels)
        index = np.arange(len(source))
        # Rows come model by model, and each model answers all records.
        record = np.tile(np.arange(pool.n_targets), used)
        return cls(shadow, Rows(source, index, features, record), resolved)


def world_signal(rows: Predictions, resolved: Resolution, known: Floats = NONE) -> Floats:
    """Return the signal that compares models on n records, (n,), or (n, q) for q queries.

    `known` (r,) holds the values of the first r records' first query, which are not computed again.
    """
    first = known
    if len(known) < len(rows):
        rest = signals(rows[slice(len(known), None)], resolved)[WORLD_SIGNAL]
        first = np.concatenate([known, rest])
    if rows.n_queries == 1:
        return first
    result = np.empty((len(rows), rows.n_queries))
    result[:, 0] = first
    for number in range(1, rows.n_queries):
        result[:, number] = signals(rows.query(number), resolved)[WORLD_SIGNAL]
    # The array is new: marked read-only, it needs no further copy.
    result.flags.writeable = False
    return result


def worlds_signal(pool: Pool, resolved: Resolution, known: Floats = NONE) -> Floats:
    """Return `world_signal` of all models of a pool, (k, n) or (k, n, q)."""
    if pool.n_queries == 1 and len(known) == pool.inside.size:
        return known.reshape(pool.inside.shape)
    result = world_signal(pool.rows(), resolved, known)
    return result.reshape(*pool.inside.shape, *result.shape[1:])
