"""Groups whose members an attack ranks above their non-members, corrected for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.unit_scores import unit_rounds

SMALLEST = 10
"""Fewest members, and fewest non-members, of different units in a group."""

DEALS = 999
"""Permutations of the secret; p-values are multiples of 1/1000."""

MOST = 2_000
"""Most units of a group that are ranked; drawn at random where there are more."""

_TYPICAL = 3.5
"""Standardised rank sums that groups are shown at; there a factor on a p-value is a difference of
its logarithm over this."""

_BLOCK = 1 << 22
"""Bits in memory at a time."""


@dataclass(frozen=True)
class RankedGroup:
    """A group whose members some attack ranks above its non-members."""

    column: str
    """Name of the column that defines the group."""
    group: str
    """Value of the column in the group."""
    attack: str
    """Title of the attack that ranks the group best."""
    auc: Estimate
    """Its AUC inside the group; the intervals of all attacks and groups are jointly valid."""
    p_value: float
    """P-value of "no attack ranks the members of any group better than chance"."""


@dataclass(frozen=True)
class RankedGroups:
    """Groups that attacks rank better than all records together."""

    shown: tuple[RankedGroup, ...]
    """Groups ranked better than chance and better than all records together; the best first."""
    smallest: int | None
    """Records in the smallest group, half of them members, that would be shown if its members had
    its highest scores; None where no group was tested, or none would be shown."""


def ranked_groups(
    played: Sequence[tuple[str, Transcript]],
    columns: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    handicaps: Mapping[str, float] | None = None,
) -> RankedGroups:
    """Return the groups whose members any attack ranks above their non-members.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        Titles and scores of attacks on the same rows, at least one.
    columns : mapping of str to ndarray, shape (m,)
        Groups of the rows; at most a few hundred values each.
    rng : numpy.random.Generator
        Deals other bits.
    level : float
        In (0, 1). Where scores tell nothing, no group at all is shown with a probability of at
        least `level`.
    handicaps : mapping of str to float, optional
        As in `tail`: about these factors, at least 1, on the p-values of attacks by their titles.

    Returns
    -------
    RankedGroups

    Notes
    -----
    Wilcoxon's rank sum of the members inside each group, standardised by the mean and variance that
    it has over deals of the bits within each round: an attack that learnt on the bits of other
    rounds has another level in each. The largest over all attacks and groups is compared with that
    of other bits (Westfall and Young 1993), dealt within the rounds of the game, so that nothing is
    lost to their number where attacks agree. Guesses need a threshold that was learnt on all
    records; a ranking does not, and shows a group of thirty that is known by heart.
    """
    checks.level(level)
    item, inside, stage = unit_rounds(played[0][1])
    scores = np.column_stack([transcript.score for _, transcript in played])
    groups = [
        group
        for column, values in columns.items()
        for group in _groups(
            column, values, scores=scores, item=item, inside=inside, stage=stage, rng=rng
        )
    ]
    if not groups:
        return RankedGroups((), None)
    allowed = int((1 - level) * (1 + DEALS))
    factors = [(handicaps or {}).get(title, 1.0) for title, _ in played]
    behind = np.log(factors) / _TYPICAL
    dealt = np.sort(_largest_of_deals(inside, stage, groups=groups, behind=behind, rng=rng))
    critical = float(dealt[-allowed]) if allowed else np.inf
    each = (1 - level) / len(groups)
    beyond = float(ndtri(1 - each))
    area = np.array([auc(transcript).value for _, transcript in played])
    shown = []
    for group in groups:
        bits = inside[group.items]
        found = group.standardised(bits[None])[0] - behind
        excess = found - group.expected(area, bits)
        best = int(np.argmax(np.where(excess > beyond, found, -np.inf)))
        if found[best] <= critical or excess[best] <= beyond:
            continue
        title, transcript = played[best]
        shown.append(
            RankedGroup(
                column=group.column,
                group=group.name,
                attack=title,
                auc=auc(transcript.part(group.rows), 1 - 2 * each / len(played)),
                p_value=(1 + int(np.count_nonzero(dealt >= found[best]))) / (1 + DEALS),
            )
        )
    shown.sort(key=lambda group: -group.auc.low)
    n_less = int(min(np.count_nonzero(inside), np.count_nonzero(~inside)))
    n_rounds = len(np.unique(stage))
    return RankedGroups(tuple(shown), _smallest(max(critical, beyond), n_less, n_rounds))


@dataclass(frozen=True, eq=False)
class _Group:
    """The units of a group in the rounds of a game, and their ranks for each attack."""

    column: str
    name: str
    rows: Bools
    """(m,) Its rows."""
    items: Ints
    """(k,) Its units in each round."""
    stage: Ints
    """(k,) The round of each."""
    ranks: Floats
    """(k, attacks) Of their rows in the group, on average, less the mean of the round."""

    def standardised(self, bits: NDArray[Any]) -> Floats:
        """Return the rank sums of members over their spread, (deals, attacks), for (deals, k)."""
        total = bits.astype(np.float32) @ self.ranks.astype(np.float32)
        variance = np.zeros(total.shape)
        for part, n in self._rounds:
            n_in = np.count_nonzero(bits[:, part], axis=1)
            squares = (self.ranks[part] ** 2).sum(axis=0)
            variance += np.outer(n_in * (n - n_in) / (n * max(n - 1, 1)), squares)
        spread = np.sqrt(variance)
        found: Floats = np.divide(total, spread, out=np.zeros_like(spread), where=spread > 0)
        return found

    def expected(self, area: Floats, bits: Bools) -> Floats:
        """Return the standardised rank sums of a group with these areas under the curve."""
        total = 0.0
        variance = np.zeros(len(area))
        for part, n in self._rounds:
            n_in = int(np.count_nonzero(bits[part]))
            # Ranks are those of the whole group: of as many pairs as if all were compared.
            total += n_in * (n - n_in) * len(self.items) / n
            squares = (self.ranks[part] ** 2).sum(axis=0)
            variance += n_in * (n - n_in) / (n * max(n - 1, 1)) * squares
        spread = np.sqrt(variance)
        found: Floats = np.divide(
            (area - 0.5) * total, spread, out=np.zeros_like(spread), where=spread > 0
        )
        return found

    @cached_property
    def _rounds(self) -> list[tuple[Bools, int]]:
        """The rows of each round, and their number."""
        parts = (self.stage == number for number in np.unique(self.stage))
        return [(part, int(np.count_nonzero(part))) for part in parts]


def _groups(
    column: str,
    values: NDArray[Any],
    scores: Floats,
    item: Ints,
    inside: Bools,
    stage: Ints,
    rng: np.random.Generator,
) -> Iterator[_Group]:
    """Yield the groups of a column that are large enough."""
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
        if len(items) > MOST:
            kept = np.sort(rng.permutation(len(items))[:MOST])
            rows = rows[np.isin(own, kept)]
            items, own = np.unique(item[rows], return_inverse=True)
        ranks = np.zeros((len(items), scores.shape[1]))
        np.add.at(ranks, own, rankdata(scores[rows], axis=0))
        ranks /= np.bincount(own)[:, None]
        rounds = stage[items]
        for one in np.unique(rounds):
            ranks[rounds == one] -= ranks[rounds == one].mean(axis=0)
        yield _Group(
            column=column, name=str(name), rows=everybody, items=items, stage=rounds, ranks=ranks
        )


def _largest_of_deals(
    inside: Bools,
    stage: Ints,
    groups: Sequence[_Group],
    behind: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Return the largest standardised rank sum of each deal of the bits, (DEALS,).

    Those of each attack are reduced by its handicap `behind`, (attacks,).
    """
    found = np.full(DEALS, -np.inf)
    step = max(1, _BLOCK // len(inside))
    for start in range(0, DEALS, step):
        deals = slice(start, min(start + step, DEALS))
        bits = _dealt(inside, stage, deals.stop - deals.start, rng)
        for group in groups:
            largest = (group.standardised(bits[:, group.items]) - behind).max(axis=1)
            np.maximum(found[deals], largest, out=found[deals])
    return found


def _dealt(inside: Bools, stage: Ints, deals: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return bits permuted within each round, (deals, n)."""
    bits = np.zeros((deals, len(inside)), np.bool_)
    for number in np.unique(stage):
        columns = np.flatnonzero(stage == number)
        n_in = int(np.count_nonzero(inside[columns]))
        if not n_in:
            continue
        key = rng.random((deals, len(columns)), np.float32)
        # The smallest keys are the members'. Where two are equal at the end, one member more or
        # less changes nothing: rank sums are standardised by the numbers of members.
        last = np.partition(key, n_in - 1, axis=1)[:, n_in - 1]
        bits[:, columns] = key <= last[:, None]
    return bits


def _smallest(critical: float, most: int, n_rounds: int) -> int | None:
    """Return the records of the smallest group that exceeds `critical` if ranked perfectly."""
    half = np.arange(max(SMALLEST, n_rounds), most + 1)
    standardised = half**2 / 2 / np.sqrt(half**2 * (2 * half + 1) / 12)
    # Each round tells one record less than it has from the others.
    standardised *= np.sqrt((2 * half - n_rounds) / (2 * half - 1))
    enough = np.flatnonzero(standardised > critical)
    return int(2 * half[enough[0]]) if len(enough) else None
