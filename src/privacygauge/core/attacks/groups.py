"""Worlds with and without each record, for all attacks on the adversary's own worlds.

Fair coins decide for every record which worlds are trained with it. With few worlds one of the two
groups may be empty; its centre is then that of the other group, shifted by the average gap between
the groups over all records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.release import Worlds
from privacygauge.core.rules import Cut, best_threshold
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError

MOST_PLAYED = 8
"""Most worlds that are played as targets to learn a threshold; each costs one more scoring."""

BLOCK = 1 << 18
"""Values of the worlds per block; a block (2 MiB) fits into the cache of a core."""

Ranking = Callable[[Worlds], "Floats | Skipped"]
"""Maps worlds to scores of the targets, (n,), or to the reason why there are none."""
Centre = Callable[[Floats, Bools], Floats]
"""Maps values (k, n, q) and a mask (k, n, 1) to the centre of the masked values, (n, q), or 0."""


@dataclass(frozen=True, eq=False)
class WorldGroup:
    """The worlds that were trained with each record, or those trained without it."""

    count: Floats
    """(n, 1) Number of worlds in the group; may be 0."""
    mean: Floats
    """(n, q) Mean signal; for an empty group, that of the other group shifted by the average
    gap."""
    squares: Floats
    """(n, q) Sum of squared residuals about the mean; 0 for an empty group."""

    @property
    def freedom(self) -> Floats:
        """(n, 1) Degrees of freedom of `squares`: ``count - 1``, at least 0."""
        return np.maximum(self.count - 1, 0)

    @property
    def variance(self) -> Floats:
        """(q,) Pooled variance about the records' own means; 0 without degrees of freedom."""
        return total(self.squares) / np.maximum(total(self.freedom), 1)


def world_groups(worlds: Worlds) -> tuple[WorldGroup, WorldGroup]:
    """Return the group of worlds with each record, and the group without it."""
    mean_in, mean_out, squares_in, squares_out = over_records(worlds, _moments)
    n_in = worlds.counts[:, None].astype(np.float64)
    means = _fill_missing_sides(worlds, mean_in, mean_out)
    return WorldGroup(n_in, means[0], squares_in), WorldGroup(
        len(worlds) - n_in, means[1], squares_out
    )


def _moments(values: Floats, side: Bools) -> tuple[Floats, ...]:
    """Return the means of both groups, then the sums of squared residuals, (n, q) each."""
    means = group_mean(values, side), group_mean(values, ~side)
    squares = values - np.where(side, *means)
    # In place: no second array of this size.
    squares *= squares
    return *means, *(np.sum(squares, axis=0, where=mask) for mask in (side, ~side))


def over_records(
    worlds: Worlds, function: Callable[[Floats, Bools], tuple[Floats, ...]]
) -> tuple[Floats, ...]:
    """Apply a function to the worlds of each record, in blocks of records; return arrays (n, q).

    Parameters
    ----------
    worlds : Worlds
    function : callable
        Maps values (k, b, q) and membership (k, b, 1) of b records to arrays (b, q). The result for
        a record must not depend on the other records.
    """
    k = len(worlds)
    n = len(worlds.signal)
    width = max(BLOCK // (k * signal_of(worlds).shape[1]), 2)
    # Rounded up to whole stored chunks, so that none is read twice.
    width = -(-width // worlds.step) * worlds.step
    # No block of a single record: numpy sums a single column in a different order, which would
    # change the last bit.
    ends = [*range(width, n - 1, width), n]
    parts = []
    for rows in map(slice, [0, *ends[:-1]], ends):
        values, side = worlds.block(rows)
        values = values if values.ndim == 3 else values[..., None]
        parts.append(function(values, side[..., None]))
    return tuple(np.concatenate(found) for found in zip(*parts, strict=True))


def signal_of(worlds: Worlds) -> Floats:
    """Return the target's signal, (n, q), with q = 1 for a single query."""
    return worlds.signal if worlds.signal.ndim == 2 else worlds.signal[:, None]


def mean_over_queries(values: Floats) -> Floats:
    """Return the mean over queries, (n,), of values (n, q)."""
    mean: Floats = values.mean(axis=1)
    return mean


def centres(
    worlds: Worlds, centre: Centre, of: Callable[[Floats], Floats] = lambda values: values
) -> tuple[Floats, Floats]:
    """Return the centres of both groups of every record, with those of empty groups filled in.

    The gap between the groups is averaged over the records that have both. If no record has both (a
    single world), it is the difference between the averages over the records that have either;
    coins decide which those are, so its expectation is the same.

    Parameters
    ----------
    worlds : Worlds
    centre : callable
    of : callable, optional
        Elementwise transform of the worlds' signals before the centres are taken; default: none.

    Returns
    -------
    tuple of ndarray, shapes (n, q)
        Centres of the worlds with the record, and of those without it. If a group is empty for all
        records, its centres are those of the other group.
    """

    def both(values: Floats, side: Bools) -> tuple[Floats, ...]:
        made = of(values)
        return centre(made, side), centre(made, ~side)

    return _fill_missing_sides(worlds, *over_records(worlds, both))


def _fill_missing_sides(worlds: Worlds, inside: Floats, outside: Floats) -> tuple[Floats, Floats]:
    has_in = worlds.counts > 0
    has_out = worlds.counts < len(worlds)
    both = has_in & has_out
    # 0 if a group is empty for all records: nothing is known about the gap.
    gap = np.zeros(inside.shape[1])
    if both.any():
        gap = average((inside - outside)[both])
    elif has_in.any() and has_out.any():
        gap = average(inside[has_in]) - average(outside[has_out])
    # A record without one group is placed at the usual gap from its other group.
    return (
        np.where(has_in[:, None], inside, outside + gap),
        np.where(has_out[:, None], outside, inside - gap),
    )


def group_mean(values: Floats, side: Bools) -> Floats:
    """Return the mean of a group, (n, q); exact for equal values."""
    count = side.sum(axis=0)
    # Summed as differences from the group's largest value, so that equal values give no rounding
    # error: a constant signal must not get a variance, whatever the counts.
    largest = group_max(values, side)
    below = np.sum(values - largest, axis=0, where=side)
    mean: Floats = largest + below / np.maximum(count, 1)
    return mean


def group_max(values: Floats, side: Bools) -> Floats:
    """Return the largest value of a group, (n, q); 0 for an empty one."""
    largest = np.max(values, axis=0, where=side, initial=-np.inf)
    return np.where(side.any(axis=0), largest, 0.0)


def total(values: Floats) -> Floats:
    """Return the sum over records, (q,), bitwise independent of their order."""
    # Sorted, so that rounding does not depend on the order of the records.
    result: Floats = np.sort(values, axis=0).sum(axis=0)
    return result


def average(values: Floats) -> Floats:
    """Return the mean over records, (q,), exact for equal values and independent of their order."""
    ascending = np.sort(values, axis=0)
    # As differences from the largest, so that the mean of equal values has no rounding error.
    result: Floats = ascending[-1] + (ascending - ascending[-1]).mean(axis=0)
    return result


def needs(name: str, worlds: Worlds, *, members: bool = True) -> Skipped | None:
    """Return why to skip an attack that needs worlds without (and with) the targets, or None.

    Parameters
    ----------
    name : str
        Name of the attack.
    worlds : Worlds
    members : bool
        Whether worlds trained with the targets are needed as well.
    """
    if (worlds.counts == len(worlds)).all():
        return Skipped(name, "no target has a world that was trained without it")
    if members and not worlds.counts.any():
        return Skipped(name, "no target has a world that was trained with it")
    return None


def score_by_ranking(
    name: str,
    observation: Observation,
    ranking: Ranking,
    natural: Callable[[Worlds], float] = lambda worlds: 0.0,
    notes: tuple[str, ...] = (),
) -> Scores | Skipped:
    """Return the scores of a ranking, with guesses by a threshold learnt on the worlds.

    Parameters
    ----------
    name : str
        Name of the attack.
    observation : Observation
    ranking : callable
        Maps worlds to the score of every target, or to the reason why there is none.
    natural : callable
        Threshold for worlds from which none can be learnt; default: 0, the natural threshold of
        a difference and of a log ratio.
    notes : tuple of str
    """
    worlds = observation.worlds
    if worlds is None:
        return Skipped(name, "needs worlds: the adversary's own models, with and without targets")
    if len(worlds.signal) != len(observation):
        raise InputError(
            f"worlds must be of the {len(observation)} targets, got {len(worlds.signal)}"
        )
    value = ranking(worlds)
    if isinstance(value, Skipped):
        return value
    return Scores(value, LearntCut(worlds, ranking, natural), notes)


@dataclass(frozen=True, eq=False)
class LearntCut:
    """The best threshold on the worlds, learnt on first use: it costs up to eight scorings."""

    worlds: Worlds
    """The adversary's own models."""
    ranking: Ranking
    """As for `score_by_ranking`."""
    natural: Callable[[Worlds], float]
    """As for `score_by_ranking`."""

    @cached_property
    def cut(self) -> Cut:
        """The best threshold on up to eight worlds, each played as the target of the others."""
        # The adversary knows the members of its own worlds, so no judged row is used. A single
        # world has no others to be scored against.
        n_worlds = len(self.worlds)
        plays = range(min(n_worlds, MOST_PLAYED) if n_worlds > 1 else 0)
        found = [(self.ranking(self.worlds.without(j)), self.worlds.inside[j]) for j in plays]
        kept = [(value, bits) for value, bits in found if not isinstance(value, Skipped)]
        if kept:
            value = np.concatenate([v for v, _ in kept])
            member = np.concatenate([bits for _, bits in kept])
            if member.any() and not member.all():
                cut = best_threshold(value[member], value[~member])
                return Cut(cut, "learnt on shadow models played as targets")
        natural = self.natural(self.worlds)
        return Cut(natural, "natural: no shadow model could be played as the target")

    @property
    def threshold(self) -> float:
        """Threshold, which does not depend on the judged rows."""
        return self.cut.threshold

    @property
    def origin(self) -> str:
        """Origin of the threshold, as reports print it."""
        return self.cut.origin

    def __eq__(self, other: object) -> bool:
        """Return whether threshold and origin are equal."""
        return isinstance(other, LearntCut) and self.cut == other.cut

    __hash__ = None  # type: ignore[assignment]

    def decide(self, transcript: Transcript) -> Decisions:
        """Return ``score >= threshold`` for every row."""
        return self.cut.decide(transcript)
