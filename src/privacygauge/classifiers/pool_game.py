"""The membership game against a pool of the adversary's own models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.game import PredictionObservation, Rows
from privacygauge.classifiers.held import numeric
from privacygauge.classifiers.predictions import LogitPool, Pool, Predictions
from privacygauge.classifiers.resolution import Resolution, resolution
from privacygauge.classifiers.signals import signals
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.game import Round, Shadow
from privacygauge.core.release import Stored, Worlds, counts_of
from privacygauge.errors import InputError

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
        observation = PredictionObservation(
            seen,
            target.labels,
            shadow=general.shadow,
            worlds=Worlds(
                # The signal of the first query is known already.
                world_signal(target, resolved, seen[WORLD_SIGNAL]),
                self._worlds(general),
                pool.inside,
            ),
            rows=Rows(target, asked, self.features, asked),
            shadow_rows=general.rows,
            pool=pool,
            resolved=resolved,
        )
        ids = asked if self.target_ids is None else self.target_ids
        return Round(observation, target.member, ids, target.units)

    def _worlds(self, general: GeneralShadow) -> Floats | Stored:
        if isinstance(self.pool, LogitPool):
            return self.pool.worlds
        # Signals of the pool's own first rows are known already; a general shadow has other rows.
        known = NONE if self.general is not None else general.shadow.signals[WORLD_SIGNAL]
        return worlds_signal(self.pool, general.resolved, known)


def require_apart(pool: Pool) -> None:
    """Raise if models trained on different records give identical predictions."""
    others = range(1, len(pool))
    # Stop at the first difference.
    if (
        others
        and all(np.array_equal(pool.answers[0], pool.answers[i]) for i in others)
        and any((pool.inside[0] != pool.inside[i]).any() for i in others)
    ):
        raise InputError(
            f"all {len(pool)} shadow models give the same predictions, though they were trained on "
            "different records: attacks would find nothing, whatever leaks. Train each "
            "from scratch on its own records, and ask the model that was trained"
        )


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
    k = len(pool)
    if pool.n_targets != len(member):  # another check names them
        return None
    held = np.count_nonzero(pool.inside, axis=0) + member
    if (held != held[0]).any() or not 2 <= held[0] < k:
        return None
    other_bit = pool.inside != member
    # In each record's column, a random model of the other side than the target's.
    gap = np.where(other_bit, rng.random(other_bit.shape), -1.0).argmax(axis=0)
    records = np.flatnonzero(gap < k - 1)
    answers = np.array(pool.answers)
    inside = np.array(pool.inside)
    # The last model's answers fill the gaps, and its own gaps need nothing.
    for rows in (answers, inside):
        rows[gap[records], records] = rows[k - 1, records]
    return replace(pool, answers=answers[:-1], inside=inside[:-1])


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


def matrix_of(features: ArrayLike, n: int, name: str) -> NDArray[Any]:
    """Return the features of n records as a checked matrix, (n, d).

    Raises
    ------
    InputError
        If they have another shape, or are not all finite numbers.
    """
    x = np.asarray(features)
    if x.ndim != 2 or len(x) != n or not x.shape[1]:
        raise InputError(
            f"{name} must have the shape ({n}, d), a row for each record, got {x.shape}"
        )
    if numeric(x) is None:
        raise InputError(
            f"{name} must be finite numbers: encode texts, and fill in what is missing"
        )
    return x


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
