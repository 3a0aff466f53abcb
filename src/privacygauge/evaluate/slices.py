"""Groups of records that are more exposed than the rest, corrected for the number of groups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.evaluate import decision
from privacygauge.evaluate.detectable import POWER, SHARE
from privacygauge.evaluate.group_ranks import SMALLEST, RankedGroup, RankedGroups
from privacygauge.evaluate.headline import AttackReach, best_supported


@dataclass(frozen=True)
class Slice:
    """The records that share one value of one column."""

    column: str
    """Name of the column that defines the slice."""
    group: str
    """Value of the column in the slice."""
    n_in: int
    """Members in the slice."""
    n_out: int
    """Non-members in the slice."""
    accuracy: Estimate
    """Balanced accuracy inside the slice; the intervals of all slices are jointly valid."""
    excess: float
    """Balanced accuracy inside minus that of all other records."""
    p_value: float
    """One-sided p-value for the null hypothesis that the slice is no more exposed than the rest,
    Holm-corrected for all slices."""
    announced: bool
    """Whether the slice is significantly more exposed than the rest, at the table's level."""
    least: float = 0.0
    """Lower limit of the accuracy at a quarter of the error; the verdict grades it."""
    shown: bool = False
    """Whether the slice counts in a verdict, at a quarter of the error. With rankings: whether any
    attack ranks its members better than chance and better than among all records. Without: whether
    it is more exposed than the rest and guessed better than chance."""
    ranked: RankedGroup | None = None
    """The ranking that shows the slice; None if none does."""

    @property
    def reached(self) -> AttackReach:
        """The better supported accuracy in the slice, at a quarter of the error."""
        guessed = replace(self.accuracy, low=self.least)
        if self.ranked is None:
            return AttackReach(guessed, by_ranking=False)
        return best_supported(guessed, self.ranked.auc)


@dataclass(frozen=True)
class SliceTable:
    """All slices that were tested."""

    attack: str
    """Title of the attack whose guesses were evaluated, chosen before the test."""
    level: float
    """Joint level of all intervals and of all announcements, in (0, 1)."""
    slices: tuple[Slice, ...]
    """Slices by descending lower limit of the accuracy."""
    skipped: tuple[Skipped, ...]
    """Columns with slices that could not be evaluated, with reasons."""
    smallest: int | None = None
    """Records in the smallest slice, half of them members, that would count in a verdict in four of
    five audits if all its members were guessed right; None if no slice could."""
    below: RankedGroup | None = None
    """The slice whose members rank lowest below its non-members, if worse than by chance."""

    @property
    def shown(self) -> tuple[Slice, ...]:
        """Slices that count in a verdict, the most exposed first."""
        shown = (s for s in self.slices if s.shown)
        return tuple(sorted(shown, key=lambda s: -s.reached.accuracy.low))

    @property
    def announced(self) -> tuple[Slice, ...]:
        """Slices that are significantly more exposed than the rest."""
        return tuple(s for s in self.slices if s.announced)


def find_slices(
    decisions: Decisions,
    columns: Mapping[str, NDArray[Any]],
    attack: str,
    level: float = 0.95,
    ranked: RankedGroups | None = None,
) -> SliceTable:
    """Evaluate the guesses in every group of every column.

    Parameters
    ----------
    decisions : Decisions
    columns : mapping of str to ndarray, shape (m,)
        Groups of the rows; at most a few hundred values each.
    attack : str
        Title of the attack that made the guesses.
    level : float
        In (0, 1). If guesses are independent of membership, no slice at all is announced with at
        least this probability.
    ranked : RankedGroups, optional
        Rankings of the same groups by all attacks, which decide the slices that count in a verdict.

    Returns
    -------
    SliceTable

    Notes
    -----
    Intervals: MOVER at Bonferroni's level. Tests: one-sided exact comparison with all other records
    (Fisher's, for members and non-members together), with Holm's (1979) correction over all slices
    of all columns. If units repeat, counts are scaled to the effective number of rows
    (`units.worth`, as if all rows of a unit were alike) and rounded against the slice.
    """
    checks.level(level)
    sides = decisions.secret, ~decisions.secret
    found: list[tuple[str, str, Bools]] = []
    skipped: list[Skipped] = []
    for column, values in columns.items():
        checks.vector(values, f"column {column!r}", length=len(decisions))
        groups, index = np.unique(np.asarray(values), return_inverse=True)
        small = 0
        for number, group in enumerate(groups):
            rows = index == number
            if min(_worth(decisions, rows & side) for side in sides) < SMALLEST:
                small += 1
            # A column with a single group divides nothing.
            elif len(groups) > 1:
                found.append((column, str(group), rows))
        if small:
            reason = f"{small} of {len(groups)} groups have fewer than {SMALLEST} members or "
            reason += f"{SMALLEST} non-members"
            skipped.append(Skipped(f"slices by {column}", reason))
        elif len(groups) == 1:
            skipped.append(Skipped(f"slices by {column}", "all records have the same value"))
    if not found:
        return SliceTable(attack, level, (), tuple(skipped))
    # Bonferroni for intervals; Holm below for tests.
    each = 1 - (1 - level) / len(found)
    # `graded` shares twice the error of `strictly` among the slices: only the lower limits of its
    # intervals are used.
    strictly = 1 - SHARE * (1 - level)
    graded = 1 - 2 * SHARE * (1 - level) / len(found)
    # Given the total numbers of members and of non-members guessed right, their numbers inside a
    # slice that is like the rest are hypergeometric and independent of each other.
    right = decisions.guess == decisions.secret
    tests = [_exact(*(_side(decisions, right, rows, side) for side in sides)) for *_, rows in found]
    excess, raw = zip(*tests, strict=True)
    adjusted = holm(np.array(raw)).tolist()
    ranking = {} if ranked is None else {(g.column, g.group): g for g in ranked.shown}
    table = []
    for (column, group, rows), above, p in zip(found, excess, adjusted, strict=True):
        inside = decisions[rows]
        accuracy = decision.balanced_accuracy(inside, each)
        least = decision.balanced_accuracy(inside, graded).low
        found_slice = Slice(
            column=column,
            group=group,
            n_in=inside.n_in,
            n_out=inside.n_out,
            accuracy=accuracy,
            excess=above,
            p_value=p,
            announced=p <= 1 - level,
            least=least,
            shown=(
                # With a ranking, the ranked tests decide and these numbers only describe.
                p <= 1 - strictly and least > 0.5 if ranked is None else (column, group) in ranking
            ),
            ranked=ranking.get((column, group)),
        )
        table.append(found_slice)
    # The gravest first, by what is sure about it.
    table.sort(key=lambda s: -s.accuracy.low)
    if ranked is None:
        smallest = _smallest(decisions, (1 - strictly) / len(found), graded)
    else:
        smallest = ranked.smallest
    return SliceTable(
        attack=attack,
        level=level,
        slices=tuple(table),
        skipped=tuple(skipped),
        smallest=smallest,
        below=ranked.below[0] if ranked is not None and ranked.below else None,
    )


MISSING = "missing"
"""Name of the group of the records that have no value in a column."""

_MOST_STEPS = 20
"""Most different values of a number that is a code although it is not whole, such as a grade."""


_END = 0.02
"""Share of the records at each end of a column that are a group of their own: the oldest."""


def number_groups(values: NDArray[Any], most: int) -> NDArray[np.str_]:
    """Return the name of each number's group, ``"missing"`` for nan.

    Numbers with few different values are codes, each value a group of its own: up to `most` whole
    numbers, whether they are stored as integers or not, or 20 others. Further ones are cut into
    tenths by `deciles`, the outer ones once more.
    """
    values = values.astype(np.float64)
    known = ~np.isnan(values)
    different = np.unique(values[known])
    is_whole = bool((np.isfinite(different) & (different == np.rint(different))).all())
    if len(different) > (most if is_whole else _MOST_STEPS):
        return deciles(values, _END)
    names = np.full(len(values), MISSING, dtype=object)
    # A column of integers that has a gap is stored as floats: the groups keep their names.
    names[known] = [f"{value:.0f}" if is_whole else f"{value:g}" for value in values[known]]
    return names.astype(np.str_)


MOST_GROUPS = 200
"""Largest number of distinct values to slice by; numbers with more are cut into deciles, texts are
left out."""


def column_groups(
    columns: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], list[Skipped]]:
    """Return the groups of every column to slice by, and the columns with too many texts.

    Whole numbers may be codes, such as a site, or quantities, such as an age. Where that cannot be
    told there are both: a group for each value, and ranges under the name ``"<name> (ranges)"``.
    """
    groups: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        if values.dtype.kind in "iuf":
            groups[name] = number_groups(values, MOST_GROUPS)
            numbers = values.astype(np.float64)
            different = np.unique(numbers[~np.isnan(numbers)])
            ranges = f"{name} (ranges)"
            if (
                (np.isfinite(different) & (different == np.rint(different))).all()
                and _MOST_STEPS < len(different) <= MOST_GROUPS
                and ranges not in columns
            ):
                groups[ranges] = deciles(numbers, _END)
        elif len(np.unique(values)) <= MOST_GROUPS:
            groups[name] = values
    reason = f"more than {MOST_GROUPS} different texts: merge some"
    return groups, [Skipped(f"slices by {name}", reason) for name in columns if name not in groups]


_BEGINNING = re.compile(r"[^-_/.:; ]+(?=[-_/.:; ])|[^\W\d_]+(?=\d)")
"""Text before the first separator, or the letters before the first digit."""


def id_groups(ids: NDArray[Any]) -> NDArray[np.str_] | None:
    """Return the beginning of each id, such as the clinic in ``"C07-00123"``; None without groups.

    Groups are 2 to `MOST_GROUPS` different beginnings that all ids have.
    """
    if ids.dtype.kind != "U":
        return None
    found = [_BEGINNING.match(name) for name in ids.tolist()]
    beginnings = np.array([match[0] for match in found if match])
    if len(beginnings) < len(ids) or not 2 <= len(np.unique(beginnings)) <= MOST_GROUPS:
        return None
    return beginnings


def deciles(values: Floats, end: float = 0.0) -> NDArray[np.str_]:
    """Return the label of every value's tenth, such as ``"0.91 to 0.97"``, ``"missing"`` for nan.

    A value is in the tenth that the middle of its ranks is in. Equal values are never split, so
    that fewer than ten groups may come out; a value that more than a tenth of the records have
    shares its group with few others. With `end`, in (0, 0.1), that share of the records at either
    end is a group of its own where there are enough of them.
    """
    known = ~np.isnan(values)
    different, number, count = np.unique(values[known], return_inverse=True, return_counts=True)
    # Tenths by the middle rank of equal values, which are never divided.
    middle = np.cumsum(count) - count / 2
    place = 10 * middle // max(len(number), 1)
    # Too few records at an end stay in the outer tenths, where they can be judged.
    if end * len(number) >= 3 * SMALLEST:
        place[middle < end * len(number)] = -1
        place[middle > (1 - end) * len(number)] = 10
    _, tenth = np.unique(place, return_inverse=True)
    groups = [different[tenth == i] for i in range(tenth.max(initial=-1) + 1)]
    names = [
        f"{group[0]:.4g}" if len(group) == 1 else f"{group[0]:.4g} to {group[-1]:.4g}"
        for group in groups
    ]
    # Groups that look equal when rounded stay apart.
    unique = [f"{name} (#{i})" if names.count(name) > 1 else name for i, name in enumerate(names)]
    found = np.full(len(values), MISSING, dtype=object)
    found[known] = np.array(unique, dtype=object)[tenth][number]
    return found.astype(np.str_)


def holm(p_values: Floats) -> Floats:
    """Return p-values corrected for their number by Holm's step-down rule, in [0, 1]."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    # Step-down: a larger p-value is never adjusted to less than a smaller one.
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _exact(first: _Side, second: _Side) -> tuple[float, float]:
    """Return the excess of a slice's balanced accuracy over the rest, and its exact p-value."""
    excess = first.excess(first.hits) + second.excess(second.hits)
    # For each number of hits on the first side, the fewest on the second side that together reach
    # the observed excess; the p-value sums the probabilities of all such pairs.
    counts, weights = first.law()
    # The smallest number of hits that gives at least this part of the excess.
    rest = max(second.n_all - second.n, 1)
    hits = (2 * (excess - first.excess(counts)) + second.hits_all / rest) / (
        1 / second.n + 1 / rest
    )
    # An integer rounded slightly up must not become one more hit.
    needed = np.ceil(hits - 1e-9 * max(second.n, 1)).astype(np.int64)
    others, their_weights = second.law()
    tail = np.concatenate([np.cumsum(their_weights[::-1])[::-1], [0.0]])
    reached = tail[np.clip(needed - others[0], 0, len(others))]
    return float(excess), float(min(1.0, weights @ reached))


def _smallest(decisions: Decisions, allowed: float, graded: float) -> int | None:
    """Return the size of the smallest detectable slice, half of it members.

    All its members are guessed right, its non-members as often as all other non-members.
    """
    sides = decisions.secret, ~decisions.secret
    n_in, n_out = (_worth(decisions, side) for side in sides)
    right = decisions.guess == decisions.secret
    hits_in, hits_out = (
        int(np.count_nonzero(right & side)) * n // max(int(np.count_nonzero(side)), 1)
        for side, n in zip(sides, (n_in, n_out), strict=True)
    )

    def is_shown(half: int) -> bool:
        # Right guesses among its non-members in at least POWER of all audits.
        hits = int(binom.ppf(1 - POWER, half, hits_out / n_out))
        if decision.limits_of_accuracy((half, half), (hits, half), graded)[0] <= 0.5:
            return False
        known = hits_in + half - round(half * hits_in / n_in)
        members = _Side(n_in, min(known, n_in), half, half)
        return _exact(members, _Side(n_out, max(hits_out, hits), half, hits))[1] <= allowed

    most = min(n_in, n_out) // 2
    if most < SMALLEST or not is_shown(most):
        return None
    # Bisection: larger slices are easier to show.
    low = SMALLEST - 1
    high = most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return 2 * high


def _worth(decisions: Decisions, rows: Bools) -> int:
    """Return the effective number of independent rows in a mask; 0 if it is empty."""
    return units.worth(decisions.unit[rows]) if rows.any() else 0


def _side(decisions: Decisions, right: Bools, rows: Bools, side: Bools) -> _Side:
    """Return one side's counts, scaled to its effective number of independent rows."""
    inside = side & rows
    rest = side & ~rows
    n = _worth(decisions, inside)
    n_rest = _worth(decisions, rest)
    # Rounded against the slice: down inside, up outside. Exact if no unit repeats.
    hits = int(np.count_nonzero(inside & right)) * n // max(int(np.count_nonzero(inside)), 1)
    others = int(np.count_nonzero(rest & right)) * n_rest
    others = -(-others // max(int(np.count_nonzero(rest)), 1))
    return _Side(n + n_rest, hits + others, n, hits)


@dataclass(frozen=True)
class _Side:
    n_all: int  # members (or non-members) in all
    hits_all: int  # rightly guessed among them
    n: int  # in the slice
    hits: int  # rightly guessed in the slice

    def excess(self, hits: Any) -> Any:
        """Return this side's part of the excess with `hits` right guesses in the slice."""
        rest = max(self.n_all - self.n, 1)
        return (hits / self.n - (self.hits_all - hits) / rest) / 2

    def law(self) -> tuple[Ints, Floats]:
        """Return the possible hits in the slice and their hypergeometric probabilities."""
        low = max(0, self.hits_all - (self.n_all - self.n))
        counts = np.arange(low, min(self.hits_all, self.n) + 1)
        logs = (
            _log_choose(self.hits_all, counts)
            + _log_choose(self.n_all - self.hits_all, self.n - counts)
            - _log_choose(self.n_all, np.array(self.n))
        )
        # Normalised: rounding of the log factorials cancels.
        weights = np.exp(logs)
        return counts, weights / weights.sum()


def _log_choose(n: int, k: Ints) -> Floats:
    logs: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return logs
