"""Differences of a measure between two audits, paired by unit where records are shared.

A measure is paired if the kept records of both audits give the very number of its report: then the
covariance of both numbers follows from the people in both. Otherwise the two intervals are combined
as if the audits were independent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions, Transcript, tied
from privacygauge.core.units import number_units
from privacygauge.evaluate import decision, rates
from privacygauge.evaluate.detectable import POWER
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
from privacygauge.evaluate.roc import Roc, auc, influences, roc

_DRAWS = 20_000
"""Draws behind a critical value for several attacks at once."""

_OF_ATTACKS = re.compile(r"(accuracy|advantage|auc|(^|-)tpr@([0-9.]+))$")
"""Names of measures of the strongest of several attacks."""

_EQUAL = 1e-9
"""Largest distance of a number that is made again to that of its report."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Records of an audit with the scores and guesses of its attacks."""

    people: NDArray[np.object_]
    """(n,) Name of each record's unit, such as a person."""
    member: Bools | None
    """(n,) True for members; None if membership was not in question."""
    scores: Mapping[str, Floats]
    """(n,) Scores by attack, higher for members."""
    guesses: Mapping[str, Bools]
    """(n,) True where an attack guesses "member", by attack."""
    values: Mapping[str, Floats | Bools]
    """(n,) Further numbers and marks of each record, by column."""

    @cached_property
    def unit(self) -> Ints:
        """(n,) Number of each record's unit."""
        return number_units(self.people)


@dataclass(frozen=True, eq=False)
class Statistic:
    """A number that follows from records, with its interval and the part of each record in it."""

    value: float
    """The number."""
    influence: Floats
    """(n,) Influence of each record; the sum of squares over units estimates the variance."""
    step: float
    """Variance that two units with different outcomes in both audits, and no others, would give."""
    interval: Callable[[float], Estimate]
    """Returns the number with its interval at a level."""


def statistics(measure: str, records: Judged) -> Iterator[Statistic]:
    """Yield the numbers that a measure of this name may be, one per attack or column."""
    of_attacks = _OF_ATTACKS.search(measure)
    if of_attacks is None:
        for values in records.values.values():
            yield _mean(records, values)
    elif records.member is None:
        return
    elif measure.endswith(("accuracy", "advantage")):
        scale = 2.0 if measure.endswith("advantage") else 1.0
        for guess in records.guesses.values():
            yield _accuracy(records, records.member, guess, scale)
    elif measure.endswith("auc"):
        for score in records.scores.values():
            if not tied(score):
                yield _area(records, records.member, score)
    else:
        for score in records.scores.values():
            if not tied(score):
                yield _tpr(records, records.member, score, float(of_attacks[3]))


def _accuracy(records: Judged, member: Bools, guess: Bools, scale: float) -> Statistic:
    """Return the balanced accuracy of guesses, or with `scale` 2 their advantage."""
    made = Decisions(guess, member, unit=records.unit)
    right = guess == member
    influence = np.empty(len(right))
    step = 0.0
    for side in (member, ~member):
        influence[side] = scale * (right[side] - right[side].mean()) / (2 * side.sum())
        # Two more records on each side, one for either audit (Bonett and Price 2012).
        step += 2 * (scale / (2 * rates.effective_size(right[side], records.unit[side]))) ** 2
    of = decision.advantage if scale == 2.0 else decision.balanced_accuracy
    return Statistic(of(made).value, influence, step, lambda level: of(made, level))


def _area(records: Judged, member: Bools, score: Floats) -> Statistic:
    transcript = Transcript(score, member, unit=records.unit)
    curve = roc(transcript)
    influence = influences(transcript, curve)
    n = transcript.n_units
    return Statistic(
        auc(transcript, curve=curve).value,
        influence,
        2 * float(np.sum(np.bincount(records.unit, influence) ** 2)) / n,
        lambda level: auc(transcript, level, curve=curve),
    )


def _tpr(records: Judged, member: Bools, score: Floats, fpr: float) -> Statistic:
    transcript = Transcript(score, member, unit=records.unit)
    curve = roc(transcript)

    def interval(level: float) -> Estimate:
        return tpr_at_fpr(curve, fpr, level, independent=transcript.independent).estimate

    false = int(np.floor(fpr * curve.n_out + 1e-9))
    barrier = np.inf if not curve.n_out else curve.nonmembers[max(curve.n_out - 1 - false, 0)]
    above = score > barrier
    influence = np.empty(len(score))
    influence[member] = (above[member] - above[member].mean()) / curve.n_in
    # A false alarm more moves the threshold up: the curve's slope says how many hits that costs.
    slope = _slope(curve, fpr)
    influence[~member] = -slope * (above[~member] - above[~member].mean()) / curve.n_out
    step = 2 / rates.effective_size(above[member], records.unit[member]) ** 2
    return Statistic(float(above[member].mean()), influence, step, interval)


def _slope(curve: Roc, fpr: float) -> float:
    """Return the slope of a ROC curve around a false-positive rate, over one standard error."""
    half = math.sqrt(fpr * (1 - fpr) / curve.n_out)
    ends = np.clip([fpr - half, fpr + half], 0.0, 1.0)
    low, high = np.interp(ends, curve.fpr, curve.tpr)
    return float((high - low) / (ends[1] - ends[0]))


def _mean(records: Judged, values: Floats | Bools) -> Statistic:
    marks = values.dtype == np.bool_
    apart = values - float(np.mean(values))
    # A mark differs by 1, a number by about as much as it varies.
    step = 2.0 * float(np.mean(apart**2)) / checks.n_distinct(records.unit) ** 2
    if marks:
        step = 2 / rates.effective_size(values.astype(np.bool_), records.unit) ** 2

    def interval(level: float) -> Estimate:
        if marks:
            return rates.proportion(values.astype(np.bool_), records.unit, level)
        numbers = values.astype(np.float64)
        return rates.mean(numbers, level, unit="units", owner=records.unit)

    return Statistic(float(np.mean(values)), apart / len(values), step, interval)


@dataclass(frozen=True)
class Difference:
    """The difference of a measure between two audits, new minus old."""

    found: Estimate
    """The difference with its interval at the asked level."""
    decided: Estimate
    """The same at the level at which all decisions hold together."""
    paired: bool
    """Whether the records that both audits judged are paired."""
    shared: int
    """Units in both audits; 0 if the difference is not paired."""
    exact: bool = False
    """Whether both numbers were computed, so that the difference is no estimate."""

    @property
    def detectable(self) -> float:
        """Smallest rise that would mostly have been decided; 0 if both were computed."""
        if self.exact:
            return 0.0
        critical = float(ndtri(0.5 + self.decided.level / 2))
        half = self.decided.value - self.decided.low
        return half * (1 + float(ndtri(POWER)) / critical)


def difference(
    old: Estimate | float,
    new: Estimate | float,
    *,
    level: float,
    each: float,
    pair: Paired | None = None,
) -> Difference | Skipped:
    """Return the difference of two numbers, new minus old.

    Parameters
    ----------
    old, new : Estimate or float
        The numbers of the two reports; a float was computed.
    level : float
        Level of the interval, in (0, 1).
    each : float
        Level of the decision, at least `level`.
    pair : Paired, optional
        The same numbers made again from records of both audits.
    """
    first = _exact(old)
    second = _exact(new)
    if not (math.isfinite(first.value) and math.isfinite(second.value)):
        return Skipped("difference", "a number is infinite")
    without_width = [x for x in (first, second) if x.low == x.high]
    # Such as an interval of a single value: it does not say that the number is sure.
    if any("exact" not in x.method for x in without_width):
        return Skipped("difference", "an interval without width: one record shows no variance")
    exact = len(without_width) == 2
    if not all(map(math.isfinite, (first.low, first.high, second.low, second.high))):
        return Skipped("difference", "a bound on one side alone: bounds cannot be subtracted")
    # Of every record there is no sampling error to share.
    if pair is not None and not without_width:
        found = pair.at(level)
        decided = found if each == level else pair.at(each)
        return Difference(found, decided, paired=True, shared=pair.shared)
    found, decided = (
        replace(
            rates.less(at_level(second, x), at_level(first, x)),
            level=x,
            method="two intervals combined (MOVER)",
        )
        for x in (level, each)
    )
    return Difference(found, decided, paired=False, shared=0, exact=exact)


def _exact(number: Estimate | float) -> Estimate:
    if isinstance(number, Estimate):
        return number
    # Any level: the interval has no width.
    return Estimate(number, number, number, level=0.95, n=1, method="exact")


def at_level(found: Estimate, level: float) -> Estimate:
    """Return an estimate with an interval that holds at least at `level`; it is never narrowed.

    A wider interval is scaled by the normal quantiles of both levels, for numbers between 0 and 1
    on the logit scale; at 0 and at 1 the limit is that of as many records without a single event.
    """
    if found.level >= level or found.low == found.high:
        return found
    factor = float(ndtri(0.5 + level / 2) / ndtri(0.5 + found.level / 2))
    low = found.value - factor * (found.value - found.low)
    high = found.value + factor * (found.high - found.value)
    if found.low >= 0.0 and found.high <= 1.0:
        low = _farther(found.value, found.low, factor)
        high = 1.0 - _farther(1.0 - found.value, 1.0 - found.high, factor)
        # (1 - limit)^n is the tail's probability: its logarithm grows with that of the tail.
        tails = math.log((1 - level) / 2) / math.log((1 - found.level) / 2)
        if found.value == 0.0:
            high = 1.0 - (1.0 - found.high) ** tails
        if found.value == 1.0:
            low = found.low**tails
    return replace(found, low=min(low, found.low), high=max(high, found.high), level=level)


def _farther(value: float, limit: float, factor: float) -> float:
    """Return a lower limit in [0, 1] that is `factor` times as far away on the logit scale."""
    if not 0.0 < limit < value < 1.0:
        return limit
    return float(expit(logit(value) - factor * (logit(value) - logit(limit))))


@dataclass(frozen=True, eq=False)
class Paired:
    """The attacks or columns behind a measure in two audits, on partly the same people."""

    old: Sequence[Statistic]
    """Statistics of the old audit that the measure may have been chosen from."""
    new: Sequence[Statistic]
    """Those of the new audit."""
    first: int
    """Index of the one that the old report states."""
    second: int
    """Index of the one that the new report states."""
    covariance: NDArray[np.float64]
    """(a + b, a + b) Covariance of all of them, the old ones first."""
    shared: int
    """Units in both audits."""
    rng: np.random.Generator
    """Draws the critical value for several attacks."""

    @cached_property
    def correlation(self) -> float:
        """Estimated correlation of the two numbers, brought towards 0 for few discordant units."""
        a = self.first
        b = len(self.old) + self.second
        variances = float(self.covariance[a, a]), float(self.covariance[b, b])
        scale = 2 * math.sqrt(variances[0] * variances[1])
        if not scale or not self.shared:
            return 0.0
        between = sum(variances) - 2 * float(self.covariance[a, b])
        between += (self.old[self.first].step + self.new[self.second].step) / 2
        return float(np.clip((sum(variances) - between) / scale, -1.0, 1.0))

    @cached_property
    def _largest(self) -> Floats:
        """(d,) Draws of the largest standardised error over all pairs of attacks, ascending."""
        a = len(self.old)
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        errors = self.rng.normal(size=(_DRAWS, len(values))) @ root.T
        most = np.zeros(_DRAWS)
        variance = np.diag(self.covariance)
        for i in range(a):
            between = variance[i] + variance[a:] - 2 * self.covariance[i, a:]
            seen = between > 1e-12 * (variance[i] + variance[a:])
            if seen.any():
                apart = np.abs(errors[:, a:][:, seen] - errors[:, [i]])
                most = np.maximum(most, (apart / np.sqrt(between[seen])).max(axis=1))
        return np.sort(most)

    def at(self, level: float) -> Estimate:
        """Return the difference at a level that allows for the choice among attacks."""
        each = level
        if len(self.old) * len(self.new) > 1:
            critical = float(np.quantile(self._largest, level))
            each = max(level, 2 * float(ndtr(critical)) - 1)
        old = self.old[self.first].interval(each)
        new = self.new[self.second].interval(each)
        value = new.value - old.value
        r = self.correlation
        down = _half_width(new.value - new.low, old.high - old.value, r)
        up = _half_width(new.high - new.value, old.value - old.low, r)
        chosen = ", the largest of several attacks" if each > level else ""
        return Estimate(
            value=value,
            low=value - down,
            high=value + up,
            level=level,
            n=min(old.n, new.n),
            method=f"paired by unit (MOVER with correlation{chosen})",
        )


def _half_width(one: float, other: float, r: float) -> float:
    return math.sqrt(max(0.0, one**2 + other**2 - 2 * r * one * other))


def pair_of(
    measure: str,
    values: tuple[float, float],
    records: tuple[Judged, Judged],
    rng: np.random.Generator,
) -> Paired | None:
    """Return a measure made again from the records of both audits; None if it is another number.

    `values` are those of the reports, old and new. People of the same name are the same.
    """
    old, new = (tuple(statistics(measure, x)) for x in records)
    places = []
    for found, value in zip((old, new), values, strict=True):
        near = [i for i, x in enumerate(found) if abs(x.value - value) <= _EQUAL]
        if not near:
            return None
        places.append(near[0])
    # Only attacks compete with each other: a column of the table is no choice.
    if not _OF_ATTACKS.search(measure):
        old = (old[places[0]],)
        new = (new[places[1]],)
        places = [0, 0]
    both = number_units(np.concatenate([x.people for x in records]))
    n_units = int(both.max()) + 1
    split = len(records[0].people)
    parts = [
        np.bincount(rows, x.influence, minlength=n_units)
        for found, rows in ((old, both[:split]), (new, both[split:]))
        for x in found
    ]
    by_unit = np.array(parts, np.float64)
    shared = len(np.intersect1d(both[:split], both[split:]))
    return Paired(
        old, new, places[0], places[1], covariance=by_unit @ by_unit.T, shared=shared, rng=rng
    )
