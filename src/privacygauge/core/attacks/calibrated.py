"""Difficulty calibration: the signal minus its mean over models without the record (Watson)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class CalibratedOnline:
    """The signal minus the midpoint of its medians in worlds with and without the record.

    ``phi0 - (median_in + median_out) / 2``, averaged over queries. One world is enough.

    Notes
    -----
    Watson et al. (2022), "On the importance of difficulty calibration in membership inference
    attacks", subtract only worlds without the record (`CalibratedOffline`). The midpoint is the
    best threshold for a record with equal spreads in both groups.
    """

    name = "calibrated"

    variant = "online"

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return each target's signal minus the midpoint of its two medians."""
        return score_by_ranking(self.name, observation, self._ranking)

    def _ranking(self, worlds: Worlds) -> Floats | Skipped:
        skipped = needs(self.name, worlds)
        if skipped:
            return skipped
        signal = signal_of(worlds)
        inside, outside = centres(worlds, group_median)
        return mean_over_queries(signal - (inside + outside) / 2)


@dataclass(frozen=True)
class CalibratedOffline:
    """The signal minus its median in worlds without the record, averaged over queries.

    Notes
    -----
    Watson et al. (2022), with the median instead of the mean. For a record that is in all worlds,
    their median minus the average gap between members and non-members is used.
    """

    name = "calibrated"

    variant = "offline"

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return each target's signal minus its median in worlds without it."""
        return score_by_ranking(self.name, observation, self._ranking)

    def _ranking(self, worlds: Worlds) -> Floats | Skipped:
        skipped = needs(self.name, worlds, members=False)
        if skipped:
            return skipped
        signal = signal_of(worlds)
        _, outside = centres(worlds, group_median)
        return mean_over_queries(signal - outside)


def group_median(values: Floats, side: Bools) -> Floats:
    """Return the median of a group; for an even number, the mean of the middle two.

    Parameters
    ----------
    values : ndarray of float, shape (k, n, q)
    side : ndarray of bool, shape (k, n, 1)
        True for the worlds of the group.

    Returns
    -------
    ndarray of float, shape (n, q)
        0 for an empty group.
    """
    # Values outside the group are replaced by its largest, so they sort behind its middle.
    ascending = np.where(side, values, group_max(values, side))
    ascending.sort(axis=0)
    count = side.sum(axis=0)[None]
    low, high = (
        np.take_along_axis(ascending, np.maximum(middle, 0), axis=0)[0]
        for middle in ((count - 1) // 2, count // 2)
    )
    # low + (high - low) / 2 returns equal values exactly and cannot overflow.
    return np.where(count[0] > 0, low + (high - low) / 2, 0.0)
