"""Detection of a synthetic table from which rows equal, or near, to real records were dropped.

Such a filter leaves real records without the matches that chance makes, so that their absence from
the table gives them away. Attacks that look for matches then prefer the holdout, as they do where
the files of both sides were swapped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom, poisson, rankdata

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.tables.released.tables import ReleasedTables, draw_rows, stack_tables

MOST = 3_000
"""Most rows of each table that are compared."""
CELLS = 150_000_000
"""Most values of two tables that are compared with each other: wide tables are compared on fewer
rows."""
QUANTILES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Thresholds of the distance: shares of all records, real and holdout, within it of a synthetic
row."""
MISSING = 0.1
"""Real records have at most this share of the matches that holdout records have."""
SURE_EQUAL = 0.005
SURE_NEAR = 0.0005
"""Error of telling a filter from swapped files, by equal records, and by near ones at each
threshold."""
_STRATA = 5
_NEIGHBOURS = 3
"""Nearest other holdout records that say how dense it is around one."""


@dataclass(frozen=True)
class Filtered:
    """Matches with the synthetic table that real records lack."""

    equal: bool
    """True for matches that are equal in every column; False for near ones."""
    real: float
    """Share of the real records with a match among the synthetic rows."""
    holdout: float
    """Share of the holdout records with a match among the synthetic rows."""
    by_chance: float
    """Share of the holdout records with a match among as many real records."""
    auc: Estimate
    """AUC of taking records without a match for members; the interval allows for all thresholds."""


def filtered_against(
    released: ReleasedTables, rng: np.random.Generator, level: float
) -> Filtered | None:
    """Return the matches that a filter took from the real records; None where none is shown.

    Parameters
    ----------
    released : ReleasedTables
        Its holdout is a control.
    rng : numpy.random.Generator
        Draws one row of each person, and rows of tables that are too large.
    level : float
        Level of the interval of the AUC, in (0, 1), for all thresholds together.

    Notes
    -----
    Two things must be shown for the same matches: records that are equal, or within a threshold by
    either of two distances.

    - Real records have fewer of them than holdout records: the difference of the shares is below
      0, by exact limits (Clopper-Pearson, combined by MOVER) at a level for all thresholds.
    - Swapped files do not explain that. A table made from the holdout knows nothing of the real
      records: whether a holdout record matches a real one is independent of whether it matches a
      synthetic row, given how dense the holdout is around it. Under a filter hardly one of them
      matches both. Exact test: hypergeometric within strata of that density. As it grows with the
      density, chance makes more of both, never fewer.

    Near matches of several columns hardly exclude each other, since the two may lie on opposite
    sides of a holdout record. There a gap is evidence too: real records have far fewer matches
    than they would have with rows around the holdout records that have one (Poisson), and of those
    there are at least a third as many as have a real match, and never more. A table of
    blurred copies of the holdout is nearer to it than real records are, or so much blurred that
    real records are as near.
    """
    if released.holdout is None:
        return None
    sample = _Sample.of(released, rng)
    looks = list(sample.looks())
    each = 1 - (1 - level) / len(looks)
    found = []
    for look in looks:
        real = look.real <= look.threshold
        holdout = look.holdout <= look.threshold
        if real.mean() > MISSING * holdout.mean():
            continue
        # Records without a match are taken for members: the AUC is (1 + advantage) / 2.
        ours, others = (rates.proportion(side, None, each) for side in (real, holdout))
        value = others.value - ours.value
        low = value - math.hypot(others.value - others.low, ours.high - ours.value)
        high = value + math.hypot(others.high - others.value, ours.value - ours.low)
        auc = Estimate(
            value=0.5 + value / 2,
            low=max(0.0, 0.5 + low / 2),
            high=min(1.0, 0.5 + high / 2),
            level=each,
            n=min(ours.n, others.n),
            method="difference of exact limits (MOVER), Bonferroni over thresholds",
        )
        if auc.low > 0.5 and sample.is_filter(look, looks):
            met = sample.of_holdout[look.metric][0] <= look.threshold
            found.append(
                Filtered(
                    equal=look.threshold == 0,
                    real=float(real.mean()),
                    holdout=float(holdout.mean()),
                    by_chance=float(met.mean()),
                    auc=auc,
                )
            )
    return max(found, key=lambda one: one.auc.low, default=None)


@dataclass(frozen=True, eq=False)
class _Look:
    """Distances to the nearest synthetic row, and a threshold."""

    metric: str
    threshold: float
    real: Floats
    holdout: Floats


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows of each table to compare, as positions in one array."""

    values: Floats
    is_number: Bools
    asked: tuple[Ints, Ints]
    """Real and holdout records whose matches are counted, one of each person."""
    synthetic: Ints
    real: Ints
    """Real records to match the holdout with."""
    as_many: Ints
    """As many real records as synthetic rows."""

    @classmethod
    def of(cls, released: ReleasedTables, rng: np.random.Generator) -> _Sample:
        """Draw equal numbers of synthetic rows and real records, and records to ask about."""
        assert released.holdout is not None
        tables = (released.real, released.holdout, released.synthetic)
        columns = released.schema.columns
        most = max(10, min(MOST, int(math.sqrt(CELLS / len(columns)))))
        sizes = [len(table) for table in tables]
        asked = []
        for begin, unit in zip((0, sizes[0]), released.units, strict=True):
            order = rng.permutation(len(unit))
            one = order[np.unique(unit[order], return_index=True)[1]]
            asked.append(begin + one[draw_rows(len(one), most, rng)])
        k = min(most, sizes[0], sizes[2])
        return cls(
            values=stack_tables(*tables).values,
            is_number=np.array([column.is_number for column in columns]),
            asked=(asked[0], asked[1]),
            synthetic=sizes[0] + sizes[1] + draw_rows(sizes[2], k, rng),
            real=draw_rows(sizes[0], most, rng),
            as_many=draw_rows(sizes[0], k, rng),
        )

    def looks(self) -> Iterator[_Look]:
        """Yield equality, and the thresholds of each distance that are above 0."""
        for metric in ("euclid", "gower"):
            real, holdout = (self._nearest(metric, x, self.synthetic) for x in self.asked)
            pooled = np.concatenate([real, holdout])
            # Of the pool, which does not say who is real.
            near = np.unique(np.quantile(pooled, QUANTILES, method="higher"))
            for threshold in ([0.0] if metric == "euclid" else []) + near[near > 0].tolist():
                yield _Look(metric, threshold, real, holdout)

    def is_filter(self, look: _Look, looks: list[_Look]) -> bool:
        """Return whether a filter explains a look, and swapped files do not."""
        to_as_many, to_real, to_own = self.of_holdout[look.metric]
        real = look.real <= look.threshold
        by_chance = float((to_as_many <= look.threshold).mean())
        if real.mean() > MISSING * by_chance:
            return False
        found = look.holdout <= look.threshold
        # Strata of the holdout by its density around each record.
        rank = rankdata(to_own, method="min") - 1
        strata = np.minimum(rank * _STRATA // len(to_own), _STRATA - 1).astype(np.int64)
        sure = SURE_NEAR if look.threshold else SURE_EQUAL
        if _exclusion_p_value(found, to_real <= look.threshold, strata) <= sure:
            return True
        # A gap: real records have next to no near matches, and the holdout usual ones. Synthetic
        # rows around holdout records are met by real ones as those records are. Half of that
        # allows for rows that lie apart from people.
        expected = len(real) * float(found.mean()) * by_chance / 2
        few = poisson.cdf(int(real.sum()), expected) <= SURE_NEAR
        if look.threshold == 0 or found.mean() < by_chance / 3 or not few:
            return False
        # Copies of the holdout, blurred or not, are nearer to it than other people are.
        return all(
            (other.holdout <= other.threshold).mean() <= (to_as_many <= other.threshold).mean()
            for other in looks
            if other.metric == look.metric
        )

    @cached_property
    def of_holdout(self) -> dict[str, tuple[Floats, Floats, Floats]]:
        """Distances of holdout records to as many real records, to all, and to each other."""
        holdout = self.asked[1]
        return {
            metric: (
                self._nearest(metric, holdout, self.as_many),
                self._nearest(metric, holdout, self.real),
                self._nearest(metric, holdout, holdout, own=True),
            )
            for metric in ("euclid", "gower")
        }

    def _nearest(self, metric: str, asked: Ints, among: Ints, *, own: bool = False) -> Floats:
        """Return the distance to the nearest row; the mean of three others for a table's own."""
        found = np.empty(len(asked))
        block = max(1, 4_000_000 // len(among))
        for begin in range(0, len(asked), block):
            some = slice(begin, min(begin + block, len(asked)))
            away = self._distances(metric, asked[some], among)
            if not own:
                found[some] = away.min(axis=1)
                continue
            rows = np.arange(len(away))
            away[rows, begin + rows] = np.inf
            k = min(_NEIGHBOURS, len(among) - 1)
            found[some] = np.partition(away, k - 1, axis=1)[:, :k].mean(axis=1)
        return found

    def _distances(self, metric: str, a: Ints, b: Ints) -> NDArray[np.float32]:
        """Return sums over the columns: 1 where categories differ, and the gap of the numbers.

        ``euclid``: squared gaps in standard deviations; ``gower``: gaps as shares of the range.
        """
        total = np.zeros((len(a), len(b)), np.float32)
        for j, is_number in enumerate(self.is_number):
            column = self.values[:, j]
            ours = column[a][:, None]
            theirs = column[b][None, :]
            if not is_number:
                total += (ours != theirs) & ~(np.isnan(ours) & np.isnan(theirs))
                continue
            known = column[~np.isnan(column)]
            spread = 0.0 if not len(known) else known.std() if metric == "euclid" else np.ptp(known)
            gap = np.abs(ours - theirs) / (spread or 1.0)
            if metric == "euclid":
                gap *= gap
            if len(known) < len(column):
                gap = np.where(np.isnan(ours) & np.isnan(theirs), 0.0, np.nan_to_num(gap, nan=1.0))
            total += gap
        return total


def _exclusion_p_value(one: Bools, other: Bools, strata: Ints) -> float:
    """Return how likely so few have both of two properties, if they are independent by stratum."""
    chances = np.ones(1)
    for stratum in np.unique(strata):
        inside = strata == stratum
        ours = int(one[inside].sum())
        theirs = int(other[inside].sum())
        both = np.arange(min(ours, theirs) + 1)
        chances = np.convolve(chances, hypergeom.pmf(both, int(inside.sum()), ours, theirs))
    return float(chances[: int((one & other).sum()) + 1].sum())
