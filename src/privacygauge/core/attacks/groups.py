"""The worlds with and without each record, shared by all attacks on the adversary's own worlds.

Fair coins decide for every record which worlds are trained with it and which without. With few
worlds, one of the groups may be empty; its centre is then that of the other group, shifted by the
average gap between the two over all records.
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
from privacygauge.core.rules import Cut
from privacygauge.core.thresholds import best_threshold
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError

MOST_PLAYED = 8
"""Worlds that are played as targets to learn a threshold, at most; each costs one more scoring."""

BLOCK = 1 << 18
"""Values of the worlds that are processed at a time; they fit into a core's cache."""

Ranking = Callable[[Worlds], "Floats | Skipped"]
"""Maps worlds to a score for every target, (n,)."""
Centre = Callable[[Floats, Bools], Floats]
"""Maps values (k, n, q) and a mask (k, n, 1) to the centre of the masked values, (n, q), or 0."""


@dataclass(frozen=True, eq=False)
class WorldGroup:
    """The worlds that were trained with each record, or those that were trained without it."""

    count: Floats
    """(n, 1) Number of worlds in the group; may be 0."""
    mean: Floats
    """(n, q) Their mean signal; for an empty group, the other group's plus the average gap."""
    squares: Floats
    """(n, q) The sum of their squared residuals about the mean; 0 for an empty group."""

    @property
    def freedom(self) -> Floats:
        """(n, 1) Degrees of freedom of the squares: one less than the count, at least 0."""
        return np.maximum(self.count - 1, 0)

    @property
    def variance(self) -> Floats:
        """(q,) The variance about the records' own means, pooled; 0 without any freedom."""
        return total(self.squares) / np.maximum(total(self.freedom), 1)


def world_groups(worlds: Worlds) -> tuple[WorldGroup, WorldGroup]:
    """Return the worlds that hold each record and those that do not."""
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
        Takes values (k, b, q) and membership (k, b, 1) of b records; returns arrays (b, q). Its
        result for a record must not depend on the others.
    """
    k = len(worlds)
    n = len(worlds.signal)
    width = max(BLOCK // (k * signal_of(worlds).shape[1]), 2)
    width = -(-width // worlds.step) * worlds.step
    # No block of a single record: numpy adds such a column in another order.
    ends = [*range(width, n - 1, width), n]
    parts = []
    for rows in map(slice, [0, *ends[:-1]], ends):
        values, side = worlds.block(rows)
        values = values if values.ndim == 3 else values[..., None]
        parts.append(function(values, side[..., None]))
    return tuple(np.concatenate(found) for found in zip(*parts, strict=True))


def signal_of(worlds: Worlds) -> Floats:
    """Return the target's signal, (n, q), with q = 1 for one query."""
    return worlds.signal if worlds.signal.ndim == 2 else worlds.signal[:, None]


def mean_over_queries(values: Floats) -> Floats:
    """Return each record's mean over the queries, (n,), of values (n, q)."""
    mean: Floats = values.mean(axis=1)
    return mean


def centres(
    worlds: Worlds, centre: Centre, of: Callable[[Floats], Floats] = lambda values: values
) -> tuple[Floats, Floats]:
    """Return the centres of both groups of every record, those of empty groups filled in.

    The gap between the groups is averaged over the records that have both. Where no record has
    both (a single world), it is the difference between the averages over the records that have
    either: coins decide which those are, so that it means the same.

    Parameters
    ----------
    worlds : Worlds
    centre : callable
    of : callable, optional
        What to take the centres of: a function of the worlds' signals, value by value.

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
    gap = np.zeros(inside.shape[1])
    if both.any():
        gap = average((inside - outside)[both])
    elif has_in.any() and has_out.any():
        gap = average(inside[has_in]) - average(outside[has_out])
    return (
        np.where(has_in[:, None], inside, outside + gap),
        np.where(has_out[:, None], outside, inside - gap),
    )


def group_mean(values: Floats, side: Bools) -> Floats:
    """Return the mean of a group, (n, q); equal values give exactly that value."""
    count = side.sum(axis=0)
    # About the group's own largest value, so that equal values leave no rounding behind: a
    # constant signal must not get a variance, whatever the counts.
    largest = group_max(values, side)
    below = np.sum(values - largest, axis=0, where=side)
    mean: Floats = largest + below / np.maximum(count, 1)
    return mean


def group_max(values: Floats, side: Bools) -> Floats:
    """Return the largest value of a group, (n, q); 0 for an empty one."""
    largest = np.max(values, axis=0, where=side, initial=-np.inf)
    return np.where(side.any(axis=0), largest, 0.0)


def total(values: Floats) -> Floats:
    """Return the sum over records, (q,), which no order of the records changes in any bit."""
    # Sorted, so that the order of the records does not change the rounding.
    result: Floats = np.sort(values, axis=0).sum(axis=0)
    return result


def average(values: Floats) -> Floats:
    """Return the mean over records, (q,), exact for equal values and in any order of them."""
    ascending = np.sort(values, axis=0)
    # About the largest, so that the mean of equal values is that value without rounding.
    result: Floats = ascending[-1] + (ascending - ascending[-1]).mean(axis=0)
    return result


def needs(name: str, worlds: Worlds, *, members: bool = True) -> Skipped | None:
    """Return the reason to skip an attack that needs worlds without, and maybe with, the targets.

    Parameters
    ----------
    name : str
        The attack's.
    worlds : Worlds
    members : bool
        Whether worlds trained with the targets are needed too.
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
    """Return the scores of a ranking, and guesses by a threshold learnt on the worlds.

    Parameters
    ----------
    name : str
        The attack's.
    observation : Observation
    ranking : callable
        The score of every target, or why there is none.
    natural : callable
        The threshold for worlds from which none can be learnt; 0, which is where a difference
        and the logarithm of a ratio turn, unless another is given.
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
    """The best threshold on the worlds, learnt on first use, since it costs eight scorings."""

    worlds: Worlds
    """The adversary's own models."""
    ranking: Ranking
    """As for `score_by_ranking`."""
    natural: Callable[[Worlds], float]
    """As for `score_by_ranking`."""

    @cached_property
    def cut(self) -> Cut:
        """The threshold and its origin."""
        return learnt_cut(self.worlds, self.ranking, self.natural)

    @property
    def threshold(self) -> float:
        """A number that does not depend on the judged rows."""
        return self.cut.threshold

    @property
    def origin(self) -> str:
        """Origin of the threshold, as reports print it."""
        return self.cut.origin

    def __eq__(self, other: object) -> bool:
        """Return whether the other threshold and its origin are the same."""
        return isinstance(other, LearntCut) and self.cut == other.cut

    __hash__ = None  # type: ignore[assignment]

    def decide(self, transcript: Transcript) -> Decisions:
        """Return ``score >= threshold`` for every row."""
        return self.cut.decide(transcript)


def learnt_cut(worlds: Worlds, ranking: Ranking, natural: Callable[[Worlds], float]) -> Cut:
    """Return the best threshold on up to eight worlds, each played as the target of the others.

    The adversary knows who was inside its worlds, so no judged row is used.
    """
    plays = range(min(len(worlds), MOST_PLAYED) if len(worlds) > 1 else 0)
    found = [(ranking(worlds.without(j)), worlds.inside[j]) for j in plays]
    kept = [(value, bits) for value, bits in found if not isinstance(value, Skipped)]
    if kept:
        value = np.concatenate([v for v, _ in kept])
        member = np.concatenate([bits for _, bits in kept])
        if member.any() and not member.all():
            cut = best_threshold(value[member], value[~member])
            return Cut(cut, "learnt on shadow models played as targets")
    return Cut(natural(worlds), "natural: no shadow model could be played as the target")
