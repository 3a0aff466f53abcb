"""RMIA: likelihood of a record under the target model relative to reference models.

Zarifzadeh et al. (2024), "Low-cost high-power membership inference attacks". RMIA computes the
share of population records z with a ratio p0(z) / P(z) below that of the record by a factor gamma.
For one target model that share is a step function of the record's own ratio, so the ratio itself
(BASE, Lassila et al. 2025) ranks records in the same order, without ties and without a population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import log_expit

from privacygauge.core.attacks.groups import (
    centres,
    group_max,
    mean_over_queries,
    needs,
    score_by_ranking,
    signal_of,
)
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.release import Worlds
from privacygauge.errors import InputError

PUBLISHED = 0.3
"""Slope of the offline attack that its authors chose for CIFAR-10."""

SLOPES = tuple(i / 10 for i in range(11))
"""Candidate slopes, in [0, 1]."""

MOST_PLAYED = 4
"""Most worlds that are played as targets to choose a slope."""


@dataclass(frozen=True)
class RmiaOnline:
    """The log of p0 over the even mixture of worlds with and without the record.

    ``log p0 - log((P_in + P_out) / 2)`` with p = expit(signal) and P the mean of p over the
    worlds of a group; averaged over queries.

    Notes
    -----
    Zarifzadeh et al. (2024) take P(x) as the mean over all reference models, half of which hold x.
    Coin flips seldom give exact halves: the plain mean would lean towards the larger group, by an
    amount unrelated to the target, and add noise between records. The mean of both groups' means
    equals the plain mean for exact halves.
    """

    name = "rmia"

    variant = "online"

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the log ratio of every target."""
        return score_by_ranking(self.name, observation, self._ranking)

    def _ranking(self, worlds: Worlds) -> Floats | Skipped:
        skipped = needs(self.name, worlds)
        if skipped:
            return skipped
        signal, inside, outside = _log_probabilities(worlds)
        return mean_over_queries(signal - (np.logaddexp(inside, outside) - math.log(2)))


@dataclass(frozen=True)
class RmiaOffline:
    """The log of p0 over P, with P_in predicted from worlds without the record.

    ``log p0 - log(((1 + a) P_out + (1 - a)) / 2)``, averaged over queries: P_in is taken to be
    ``a P_out + 1 - a``, a mixture of P_out and 1.

    Notes
    -----
    Zarifzadeh et al. (2024), appendix on the offline attack, choose a in [0, 1] on models of a
    similar task; 0.3, the default, is their value for CIFAR-10. If a is None, it is chosen from 0,
    0.1, ..., 1 in the same way on the worlds: four of them are played as targets of the others, and
    the slope with the largest sum of AUCs is taken. The judged target takes no part. If no world
    can be played, a is 0.3.
    """

    a: float | None = PUBLISHED
    """Slope of P_in on P_out, in [0, 1]; at 1 P_in is P_out, at 0 it is 1. None: chosen on the
    worlds."""

    def __post_init__(self) -> None:
        if self.a is not None and not 0.0 <= self.a <= 1.0:
            raise InputError(f"a must be in [0, 1], got {self.a}")

    name = "rmia"

    @property
    def variant(self) -> str:
        """``offline``, with the slope."""
        return "offline, a chosen" if self.a is None else f"offline, a = {self.a:g}"

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the log ratio of every target."""
        worlds = observation.worlds
        a = self.a
        notes: tuple[str, ...] = ()
        if a is None and worlds is not None:
            a = chosen_slope(worlds)
            # A slope of 0 can be chosen.
            if a is not None:
                notes = (f"a = {a:g}, chosen on shadow models played as targets",)
        if a is None:
            a = PUBLISHED
            notes = (f"a = {PUBLISHED:g}, as published",)
        return score_by_ranking(self.name, observation, partial(self._ranking, a=a), notes=notes)

    def _ranking(self, worlds: Worlds, a: float) -> Floats | Skipped:
        skipped = needs(self.name, worlds, members=False)
        if skipped:
            return skipped
        signal, _, outside = _log_probabilities(worlds)
        return _ratio(signal, outside, a)


def chosen_slope(worlds: Worlds) -> float | None:
    """Return the slope with which the offline attack ranks best on worlds played as targets.

    None if no world can be played.
    """
    k = len(worlds)
    if k < 2:
        return None
    # Worlds in the middle of equal shares, in order of their mean signals: neither extreme is
    # played.
    means = [worlds.world(number).ravel().mean() for number in range(k)]
    ascending = np.argsort(means, kind="stable")
    n_played = min(k, MOST_PLAYED)
    areas = np.zeros(len(SLOPES))
    for played in ascending[(2 * np.arange(n_played) + 1) * k // (2 * n_played)].tolist():
        others = worlds.without(played)
        member = worlds.inside[played]
        if member.all() or not member.any() or needs("", others, members=False):
            continue
        signal, _, outside = _log_probabilities(others)
        areas += [_area(_ratio(signal, outside, a), member) for a in SLOPES]
    return SLOPES[int(areas.argmax())] if areas.any() else None


def _ratio(signal: Floats, outside: Floats, a: float) -> Floats:
    """Return the log of p0 over P for slope a, (n,)."""
    # log((1 - a) / 2) joins the mixture on the log scale; -inf at a = 1.
    rest = math.log(1 - a) if a < 1 else -math.inf
    mixture = np.logaddexp(math.log(1 + a) + outside, rest) - math.log(2)
    return mean_over_queries(signal - mixture)


def _area(value: Floats, member: Bools) -> float:
    """Return the AUC; ties count half."""
    inside = value[member]
    outside = np.sort(value[~member])
    # Strictly below plus at or below: twice the share, with ties as halves.
    below = sum(np.searchsorted(outside, inside, side).mean() for side in ("left", "right"))
    return float(below / (2 * len(outside)))


def _log_probabilities(worlds: Worlds) -> tuple[Floats, Floats, Floats]:
    """Return log p0, log P_in and log P_out, each (n, q)."""
    signal = signal_of(worlds)
    inside, outside = centres(worlds, group_log_mean, log_expit)
    # Filling in an empty group on the log scale may exceed log 1 = 0.
    return log_expit(signal), np.minimum(inside, 0.0), np.minimum(outside, 0.0)


def group_log_mean(logs: Floats, side: Bools) -> Floats:
    """Return the log of the mean of ``exp(logs)`` over a group, (n, q); 0 for an empty one."""
    largest = group_max(logs, side)
    # Values of the other group are not summed, but may be far above and must not overflow.
    shares = np.exp(np.minimum(logs - largest, 0.0))
    count = side.sum(axis=0)
    mean = np.sum(shares, axis=0, where=side) / np.maximum(count, 1)
    return largest + np.log(np.where(count > 0, mean, 1.0))
