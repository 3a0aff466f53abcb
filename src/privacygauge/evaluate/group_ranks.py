"""Groups in which attacks rank members above non-members, corrected for groups and attacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript, unit_rounds
from privacygauge.evaluate.roc import auc

SMALLEST = 10
"""Fewest member units, and fewest non-member units, of a group that is tested."""

DEALS = 999
"""Permutations of the secret; p-values are multiples of 1/1000."""

MOST = 2_000
"""Most units of a group that are ranked; a random sample if there are more."""

_TYPICAL = 3.5
"""Typical standardised rank sum z of a shown group; near it, a factor f on the p-value is a
difference of log(f) / z in z."""

_BLOCK = 1 << 22
"""Dealt bits in memory at a time."""


@dataclass(frozen=True)
class RankedGroup:
    """A group in which some attack ranks members above non-members."""

    column: str
    """Name of the column that defines the group."""
    group: str
    """Value of the column in the group."""
    attack: str
    """Title of the attack that ranks the group best."""
    auc: Estimate
    """AUC of this attack inside the group; intervals are jointly valid over attacks and groups."""
    p_value: float
    """P-value of the null hypothesis that no attack ranks the members of any group above chance."""


@dataclass(frozen=True)
class RankedGroups:
    """Groups in which attacks rank members better than among all records."""

    shown: tuple[RankedGroup, ...]
    """Groups ranked better than chance and better than all records, with an AUC above 1/2, by
    descending lower limit."""
    smallest: int | None
    """Records of the smallest group, half of them members, that would be shown if ranked perfectly;
    None if no group was tested, or none would be shown."""
    below: tuple[RankedGroup, ...] = ()
    """Groups whose members an attack ranks below their non-members, worse than by chance and worse
    than among all records, with an AUC below 1/2, the lowest first."""


def ranked_groups(
    played: Sequence[tuple[str, Transcript]],
    columns: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    handicaps: Mapping[str, float] | None = None,
    fixed: Collection[str] = (),
) -> RankedGroups:
    """Return the groups in which any attack ranks members above non-members.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        Titles and scores of attacks on the same rows, at least one.
    columns : mapping of str to ndarray, shape (m,)
        Groups of the rows; at most a few hundred values each.
    rng : numpy.random.Generator
        Permutes the secret bits.
    level : float
        In (0, 1). If no score depends on membership, no group at all is shown with probability at
        least `level`, and none below with the same probability.
    handicaps : mapping of str to float, optional
        Approximate factors on the p-values of attacks, at least 1, by title; as in `tail`.
    fixed : collection of str
        Titles of the attacks whose scores do not depend on the bits of other rounds, such as a
        signal with one threshold. They are compared across rounds, which loses no degree of
        freedom for each round.

    Returns
    -------
    RankedGroups

    Notes
    -----
    Wilcoxon's rank sum of the members inside each group, standardised by its mean and variance
    under permutation of the bits: within each round for attacks that learn on the bits of other
    rounds, since they have a different level in each, and over all rounds for `fixed` ones. The
    bits are dealt within rounds for both. The largest over all attacks and groups is compared
    with its distribution under permutation (Westfall and Young 1993), which costs nothing for
    attacks that agree. Guesses need a threshold learnt on all records; a ranking does not, and
    shows a memorised group of thirty.
    """
    checks.level(level)
    item, inside, stage = unit_rounds(played[0][1])
    scores = np.column_stack([transcript.score for _, transcript in played])
    learns = np.array([title not in fixed for title, _ in played])
    groups = [
        group
        for column, values in columns.items()
        for group in _groups(
            column,
            values,
            scores=scores,
            learns=learns,
            item=item,
            inside=inside,
            stage=stage,
            rng=rng,
        )
    ]
    if not groups:
        return RankedGroups((), None)
    # The `allowed`-th largest value has p-value 1 - level; a group must exceed it.
    allowed = int((1 - level) * (1 + DEALS))
    factors = [(handicaps or {}).get(title, 1.0) for title, _ in played]
    # A handicap on p-values, as a difference of standardised rank sums.
    behind = np.log(factors) / _TYPICAL
    # Largest sums of members above non-members, and of members below them.
    dealt = np.sort(_largest_of_deals(inside, stage, groups=groups, behind=behind, rng=rng))
    critical = dealt[:, -allowed] if allowed else np.full(2, np.inf)
    # A second test per group, by Bonferroni: does it exceed what the AUC on all records explains?
    each = (1 - level) / len(groups)
    beyond = float(ndtri(1 - each))
    area = np.array([auc(transcript).value for _, transcript in played])
    shown: tuple[list[RankedGroup], list[RankedGroup]] = ([], [])
    for group in groups:
        bits = inside[group.items]
        standardised = group.standardised(bits[None])[0]
        expected = group.expected(area, bits)
        for side, sign in enumerate((1, -1)):
            found = sign * standardised - behind
            excess = found - sign * expected
            for best in np.argsort(-found, kind="stable").tolist():
                if found[best] <= critical[side] or excess[best] <= beyond:
                    continue
                title, transcript = played[best]
                inner = auc(transcript.part(group.rows), 1 - 2 * each / len(played))
                # Ranks within each round may say one thing and the scores of all rounds another.
                if sign * (inner.value - 0.5) <= 0:
                    continue
                reached = int(np.count_nonzero(dealt[side] >= found[best]))
                shown[side].append(
                    RankedGroup(
                        column=group.column,
                        group=group.name,
                        attack=title,
                        auc=inner,
                        p_value=(1 + reached) / (1 + DEALS),
                    )
                )
                break
    above, below = shown
    above.sort(key=lambda group: -group.auc.low)
    below.sort(key=lambda group: group.auc.high)
    n_less = int(min(np.count_nonzero(inside), np.count_nonzero(~inside)))
    n_rounds = len(np.unique(stage)) if learns.all() else 1
    # The smallest group that is shown if ranked perfectly: the largest rank sum minus its mean,
    # over Wilcoxon's standard deviation, with `half` on each side.
    half = np.arange(max(SMALLEST, n_rounds), n_less + 1)
    largest = half**2 / 2 / np.sqrt(half**2 * (2 * half + 1) / 12)
    # Centring by round costs one degree of freedom per round.
    largest *= np.sqrt((2 * half - n_rounds) / (2 * half - 1))
    enough = np.flatnonzero(largest > max(float(critical[0]), beyond))
    smallest = int(2 * half[enough[0]]) if len(enough) else None
    return RankedGroups(tuple(above), smallest, tuple(below))


@dataclass(frozen=True, eq=False)
class _Group:
    """The units of a group in the rounds of a game, and their ranks for each attack."""

    column: str
    name: str
    rows: Bools
    """(m,) True for rows of the group."""
    items: Ints
    """(k,) Indices of its units, once per round."""
    stage: Ints
    """(k,) Round of each item."""
    learns: Bools
    """(attacks,) Whether scores depend on the bits of other rounds."""
    ranks: Floats
    """(k, attacks) Mean rank in the group of each item's rows, minus the mean of its round if the
    attack learns, of the group otherwise."""

    def standardised(self, bits: NDArray[Any]) -> Floats:
        """Return standardised rank sums of members, (deals, attacks), for bits (deals, k)."""
        # float32 halves time and memory; ranks of at most MOST units are small.
        total = bits.astype(np.float32) @ self.ranks.astype(np.float32)
        spread = np.sqrt(self._variance(bits))
        found: Floats = np.divide(total, spread, out=np.zeros_like(spread), where=spread > 0)
        return found

    def expected(self, area: Floats, bits: Bools) -> Floats:
        """Return the expected standardised rank sums, (attacks,), in a group with given AUCs."""
        total = np.zeros(len(area))
        for part, attacks in self._strata:
            n = int(np.count_nonzero(part))
            n_in = int(np.count_nonzero(bits[part]))
            # Ranks are within the whole group, so an item is compared with all its items, not only
            # with the n of its round.
            total[attacks] += n_in * (n - n_in) * len(self.items) / n
        spread = np.sqrt(self._variance(bits[None])[0])
        found: Floats = np.divide(
            (area - 0.5) * total, spread, out=np.zeros_like(spread), where=spread > 0
        )
        return found

    def _variance(self, bits: NDArray[Any]) -> Floats:
        """Return the permutation variance of the rank sums, (deals, attacks)."""
        variance = np.zeros((len(bits), self.ranks.shape[1]))
        for part, attacks in self._strata:
            # Of a sum of n_in of n centred ranks, drawn without replacement.
            n = int(np.count_nonzero(part))
            n_in = np.count_nonzero(bits[:, part], axis=1)
            squares = (self.ranks[np.ix_(part, attacks)] ** 2).sum(axis=0)
            variance[:, attacks] += np.outer(n_in * (n - n_in) / (n * max(n - 1, 1)), squares)
        return variance

    @cached_property
    def _strata(self) -> list[tuple[Bools, Ints]]:
        """Masks over items, (k,), each with the attacks that are ranked within it."""
        strata = []
        if self.learns.any():
            learning = np.flatnonzero(self.learns)
            strata += [(self.stage == number, learning) for number in np.unique(self.stage)]
        if not self.learns.all():
            strata.append((np.ones(len(self.items), np.bool_), np.flatnonzero(~self.learns)))
        return strata


def _groups(
    column: str,
    values: NDArray[Any],
    scores: Floats,
    learns: Bools,
    item: Ints,
    inside: Bools,
    stage: Ints,
    rng: np.random.Generator,
) -> Iterator[_Group]:
    """Yield the groups of a column with enough units on both sides."""
    names, number = np.unique(np.asarray(values), return_inverse=True)
    if len(names) < 2:
        return
    for place, name in enumerate(names):
        everybody = number == place
        rows = np.flatnonzero(everybody & (item >= 0))
        items, own = np.unique(item[rows], return_inverse=True)
        n_in = int(np.count_nonzero(inside[items]))
        if min(n_in, len(items) - n_in) < SMALLEST:
            continue
        # A random sample bounds time and memory.
        if len(items) > MOST:
            kept = np.sort(rng.permutation(len(items))[:MOST])
            rows = rows[np.isin(own, kept)]
            items, own = np.unique(item[rows], return_inverse=True)
        # Mean rank over the rows of each item.
        ranks = np.zeros((len(items), scores.shape[1]))
        np.add.at(ranks, own, rankdata(scores[rows], axis=0))
        ranks /= np.bincount(own)[:, None]
        ranks -= ranks.mean(axis=0)
        rounds = stage[items]
        for one in np.unique(rounds):
            within = np.ix_(rounds == one, learns)
            ranks[within] -= ranks[within].mean(axis=0)
        yield _Group(
            column=column,
            name=str(name),
            rows=everybody,
            items=items,
            stage=rounds,
            learns=learns,
            ranks=ranks,
        )


def _largest_of_deals(
    inside: Bools,
    stage: Ints,
    groups: Sequence[_Group],
    behind: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Return the largest standardised rank sums under each permutation of the bits, (2, DEALS).

    First of members above non-members, then of members below them. Each attack's sums are reduced
    by its handicap `behind`, shape (attacks,).
    """
    found = np.full((2, DEALS), -np.inf)
    step = max(1, _BLOCK // len(inside))
    for start in range(0, DEALS, step):
        deals = slice(start, min(start + step, DEALS))
        # The bits, permuted within each round, (deals, n).
        bits = np.zeros((deals.stop - deals.start, len(inside)), np.bool_)
        for number in np.unique(stage):
            columns = np.flatnonzero(stage == number)
            n_in = int(np.count_nonzero(inside[columns]))
            if not n_in:
                continue
            key = rng.random((len(bits), len(columns)), np.float32)
            # The n_in smallest keys are members. A tie at the last one adds a member, which does
            # no harm: rank sums are standardised by the number of members.
            last = np.partition(key, n_in - 1, axis=1)[:, n_in - 1]
            bits[:, columns] = key <= last[:, None]
        for group in groups:
            sums = group.standardised(bits[:, group.items])
            for side, sign in enumerate((1, -1)):
                largest = (sign * sums - behind).max(axis=1)
                np.maximum(found[side, deals], largest, out=found[side, deals])
    return found
