"""The membership game against a pool of the adversary's own models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.game import PredictionObservation, Rows
from privacygauge.classifier.pool import Pool
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.resolution import Resolution, resolution
from privacygauge.classifier.signals import signals
from privacygauge.core.checks import Floats
from privacygauge.core.game import Round, Shadow
from privacygauge.core.release import Worlds
from privacygauge.errors import InputError

WORLD_SIGNAL = "scaled-logit"
"""The signal that attacks on single records compare between models (Carlini et al. 2022)."""

MOST_SHADOW_ROWS = 2_000_000
"""Thresholds and posteriors are learnt on the first models of the pool, up to so many rows."""


@dataclass(frozen=True, eq=False)
class PoolGame:
    """One target model, and models of the adversary's own on the same records.

    Attacks that need records with known membership learn on the pool's models together; attacks
    on single records compare the target with the models that hold the record and those that do
    not.
    """

    target: Predictions
    """Predictions of the audited model on n records."""
    pool: Pool
    """The adversary's models on the same records, in the same order."""
    features: NDArray[Any] | None = None
    """(n, d) The records themselves, for attacks that look at them."""
    target_ids: NDArray[np.int64] | None = None
    """(n,) Numbers of the targets in the transcript; 0..n-1 by default."""
    general: GeneralShadow | None = None
    """Other shadow models for thresholds and learned attacks; default: the pool."""

    def __post_init__(self) -> None:
        pool, target = self.pool, self.target
        if (pool.n_targets, pool.n_classes) != (len(target), target.n_classes):
            raise InputError(
                f"the pool predicts {pool.n_targets} records of {pool.n_classes} classes, the "
                f"target {len(target)} of {target.n_classes}"
            )
        if not np.array_equal(pool.labels, target.labels):
            raise InputError(
                "the pool's labels differ from the target's: keep one order of records"
            )
        if pool.inside.all() or not pool.inside.any():
            raise InputError("the pool's models must hold some targets and leave out others")

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return one round: its bits were drawn when the target was trained."""
        if rounds != 1:
            raise InputError(f"one target model gives one round, got {rounds}")
        return [self.round()]

    def round(self) -> Round:
        """Return what the adversary sees beside the secret."""
        general = self.general or self._shadow()
        seen = signals(self.target, general.resolved)
        worlds = _worlds(self.pool, general.resolved, general if self.general is None else None)
        everything = np.arange(len(self.target))
        observation = PredictionObservation(
            seen,
            self.target.labels,
            shadow=general.shadow,
            worlds=Worlds(seen[WORLD_SIGNAL], worlds, self.pool.inside),
            rows=Rows(self.target, everything, self.features, everything),
            shadow_rows=general.rows,
            pool=self.pool,
            resolved=general.resolved,
        )
        ids = everything if self.target_ids is None else self.target_ids
        return Round(observation, self.target.member, ids, self.target.units)

    def _shadow(self) -> GeneralShadow:
        resolved = resolution(self.target, self.pool)
        return GeneralShadow.of(self.pool, self.features, resolved)


@dataclass(frozen=True, eq=False)
class GeneralShadow:
    """Records with known membership, from models of the adversary's own, with their signals."""

    shadow: Shadow
    """Their signals."""
    rows: Rows
    """Their predictions."""
    resolved: Resolution
    """What they resolve in common with the target's and the pool's predictions."""

    @classmethod
    def of(
        cls,
        pool: Pool,
        features: NDArray[Any] | None = None,
        resolved: Resolution | None = None,
    ) -> GeneralShadow:
        """Return the records of the pool's models, of the first ones where they are too many."""
        used = max(1, min(len(pool), MOST_SHADOW_ROWS // pool.n_targets))
        part = Pool(pool.values[:used], pool.logits, pool.inside[:used], pool.labels)
        source = part.rows()
        resolved = resolved or resolution(source)
        shadow = Shadow(signals(source, resolved), source.member, source.labels)
        index = np.arange(len(source))
        record = np.tile(np.arange(pool.n_targets), used)
        return cls(shadow, Rows(source, index, features, record), resolved)


def _worlds(pool: Pool, resolved: Resolution, own: GeneralShadow | None) -> Floats:
    """Return the signal of every target from every model, (k, n): known already of the first."""
    first = np.empty(0) if own is None else own.shadow.signals[WORLD_SIGNAL]
    known = first.reshape(-1, pool.n_targets)
    if len(known) == len(pool):
        return known
    rest = Pool(pool.values[len(known) :], pool.logits, pool.inside[len(known) :], pool.labels)
    further = signals(rest.rows(), resolved)[WORLD_SIGNAL].reshape(-1, pool.n_targets)
    return np.concatenate([known, further])
