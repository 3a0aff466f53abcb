"""Targeted attacks: each record against models with and without it (Long et al. 2017, 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privacygauge.classifiers.game import PredictionObservation
from privacygauge.classifiers.predictions import ONE_LOGIT_ONLY, LogitPool, probabilities
from privacygauge.classifiers.signals import bin_numbers, n_bins, resolution
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError

Design = Literal["shared", "per-target"]
"""Design of the pool: all targets share its models, or each has its own, as in the paper."""

BLOCK = 1 << 18
"""Number of the pool's entries that are processed per block."""

_ABOVE_0 = Cut(float(np.finfo(np.float64).tiny), "just above 0: a tie is not a member")


@dataclass(frozen=True)
class Distance:
    """Distance of the prediction from the mean of models without the record, less that with it.

    ``KL(q || mean_out) - KL(q || mean_in)``, with q the target model's prediction. A record above 0
    is guessed a member; a tie is a non-member.

    Notes
    -----
    Long et al. (2017), section 5.3, distance-based targeted attack. All predictions are binned
    first and replaced by the centre of their bin, so that no probability is 0 and both distances
    are finite. Centres need not sum to 1; as in the paper they are not normalised.

    Examples
    --------
    >>> from privacygauge.classifiers.targeted import Distance
    >>> Distance(design="per-target").variant
    'per-target'
    """

    bin: float = 0.01
    """Width of a bin, 1 over a whole number; 0 for no bins, with probabilities clipped at their
    resolution."""
    design: Design = "shared"
    """``shared`` or ``per-target``: names the pool's design and changes nothing."""

    def __post_init__(self) -> None:
        _require_design(self.design)
        if self.bin != 0:
            n_bins(self.bin)

    name = "distance"

    @property
    def variant(self) -> str:
        """The design of the pool, and the bins if they are not the paper's."""
        return _variant(self.design, self.bin)

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the difference of the distances, finite; above 0 speaks for a member."""
        return _score_targets(self.name, observation, self._ranking)

    def _ranking(self, q: Floats, pool: Floats, inside: Bools, least: Floats) -> Floats:
        if self.bin == 0:
            q = np.maximum(q, least)
            values = np.maximum(pool, least)
            # (models, targets, classes): the mean over the models of a side, target by target.
            means = [values.mean(axis=0, where=side[:, :, None]) for side in (inside, ~inside)]
            return _sum(q * np.log(means[0]), -q * np.log(means[1]))
        width = 1 / n_bins(self.bin)
        bins = bin_numbers(pool, self.bin)
        # 2 mean(bin) + 1 is the mean centre in halves of a bin, a constant factor that cancels.
        # Sums of whole numbers are exact: equal means are equal floats, whatever the order.
        log_means = [
            np.log(2 * bins.sum(axis=0, where=side[:, :, None]) / side.sum(axis=0)[:, None] + 1)
            for side in (inside, ~inside)
        ]
        centre = (bin_numbers(q, self.bin) + 0.5) * width
        return _sum(centre * log_means[0], -centre * log_means[1])


@dataclass(frozen=True)
class Frequency:
    """Agreement of the prediction with models with the record, relative to models without it.

    The log of ``prod_i o_in_i / o_out_i``, where o_in_i is the share of the models with the record
    that give class i a probability in the same bin as the target model, and o_out_i the share of
    the models without it. A record with a product above 1 is guessed a member; a tie is a
    non-member.

    Notes
    -----
    Long et al. (2017), section 5.3, frequency-based targeted attack. The paper counts models, as
    many with as without the record, which has the same ratio; shares also allow groups that coins
    make unequal.

    The paper leaves open the case of a share of 0. Here every 0 is an infinitely small share, the
    same for both groups: the limit of the smoothing below. So 0/0 is a factor of 1 (no evidence),
    x/0 is infinite and 0/x is 0; one of each cancels to x over x'. Records are ranked by the number
    of infinite less that of zero factors, and among equals by the product of the finite factors. To
    stay finite, the score counts `infinity` for each infinite factor, more than all finite factors
    can amount to.

    Examples
    --------
    >>> from privacygauge.classifiers.targeted import Frequency
    >>> Frequency(smoothing=1.0).variant
    'shared, smoothing 1'
    """

    smoothing: float = 0.0
    """Laplace smoothing in models, at least 0. Each share is raised by this over the mean size of
    both groups, so that equal shares are no evidence even if the groups are unequal."""
    bin: float = 0.01
    """Width of a bin, 1 over a whole number."""
    design: Design = "shared"
    """``shared`` or ``per-target``: names the pool's design and changes nothing."""

    def __post_init__(self) -> None:
        _require_design(self.design)
        n_bins(self.bin)
        if not 0 <= self.smoothing < np.inf:
            raise InputError(f"smoothing must be finite and at least 0, got {self.smoothing}")

    name = "frequency"

    @property
    def variant(self) -> str:
        """The design of the pool, and the deviations from the paper."""
        smoothing = f", smoothing {self.smoothing:g}" if self.smoothing else ""
        return _variant(self.design, self.bin) + smoothing

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the log of the ratio, finite; above 0 speaks for a member."""
        return _score_targets(self.name, observation, self._ranking)

    def _ranking(self, q: Floats, pool: Floats, inside: Bools, least: Floats) -> Floats:
        same = bin_numbers(pool, self.bin) == bin_numbers(q, self.bin)
        # Models with each target, and without, (targets, 1).
        sizes = [np.count_nonzero(side, axis=0)[:, None] for side in (inside, ~inside)]
        raised = 2 * self.smoothing / (sizes[0] + sizes[1])
        shares = [
            np.count_nonzero(same & side[:, :, None], axis=0) / size + raised
            for side, size in zip((inside, ~inside), sizes, strict=True)
        ]
        # Any number serves for a share of 0, if it is the same on both sides: zeros count apart.
        logs = [np.log(np.where(share > 0, share, 1.0)) for share in shares]
        # Infinite factors, x/0, less zero factors, 0/x; 0/0 counts in both and cancels.
        infinite = (shares[1] == 0).sum(axis=1) - (shares[0] == 0).sum(axis=1)
        score: Floats = _sum(logs[0], -logs[1]) + infinite * infinity(*pool.shape[::2])
        return score


def infinity(n_models: int, n_classes: int) -> float:
    """Return the value that replaces an infinite log factor, more than finite ones can make up for.

    The logs of two products of `n_classes` ratios of shares of at most `n_models` models differ by
    less.
    """
    return 1.0 + 2.0 * n_classes * float(np.log(max(n_models, 1)))


Ranking = Callable[[Floats, Floats, Bools, Floats], Floats]
"""Function from predictions (b, c), the models' predictions (k, b, c), membership (k, b), and the
smallest resolved probability to scores (b,)."""


def _score_targets(name: str, observation: Observation, ranking: Ranking) -> Scores | Skipped:
    if (
        not isinstance(observation, PredictionObservation)
        or observation.pool is None
        or observation.rows is None
    ):
        return Skipped(name, "needs models of the adversary's own on every target")
    pool = observation.pool
    rows = observation.rows
    if isinstance(pool, LogitPool):
        return Skipped(name, ONE_LOGIT_ONLY)
    if pool.values.shape[1:] != (len(rows.index), rows.source.n_classes):
        raise InputError(
            f"the pool predicts {pool.n_targets} targets of {pool.n_classes} classes, the "
            f"observation has {len(rows.index)} of {rows.source.n_classes}"
        )
    n_inside = np.count_nonzero(pool.inside, axis=0)
    # A target that all models hold, or none, has nothing to be compared with: it scores 0.
    known = (n_inside > 0) & (n_inside < len(pool))
    if not known.any():
        return Skipped(name, "needs targets with models both with and without them")
    value = np.zeros(len(rows.index))
    least = (observation.resolved or resolution(rows.source, pool)).least
    # Probabilities of all models on all targets at once may not fit in memory.
    size = max(1, BLOCK // (len(pool) * pool.n_classes))
    for start in range(0, pool.n_targets, size):
        part = slice(start, min(start + size, pool.n_targets))
        q = probabilities(rows.source.values[rows.index[part]], logits=rows.source.logits)
        some = known[part]
        models = pool.probabilities(part)[:, some]
        inside = pool.inside[:, part][:, some]
        value[part][some] = ranking(q[some], models, inside, least)
    notes: tuple[str, ...] = ()
    if not known.all():
        notes = (
            f"{np.count_nonzero(~known)} of {len(known)} targets are in all of the models or in "
            "none: nothing is known of them, and their score is that of a tie",
        )
    return Scores(value, _ABOVE_0, notes)


def _sum(plus: Floats, minus: Floats) -> Floats:
    """Return the row sums of both together; exactly 0 if only rounding error is left."""
    total = (plus + minus).sum(axis=1)
    size = (np.abs(plus) + np.abs(minus)).sum(axis=1)
    # Errors of logs and sums grow with the terms' absolute values; a tie must be exactly 0.
    rounding = 4 * plus.shape[1] * np.finfo(np.float64).eps * size
    return np.where(np.abs(total) <= rounding, 0.0, total)


def _variant(design: Design, width: float) -> str:
    if width == 0:
        return f"{design}, not binned"
    return design if width == 0.01 else f"{design}, bins of {width:g}"


def _require_design(design: str) -> None:
    if design not in ("shared", "per-target"):
        raise InputError(f"design must be 'shared' or 'per-target', got {design!r}")
