"""Membership signals of records, without shadow tables.

Members are all real records, and non-members all of the holdout, a third at a time. Another third
of the holdout is the reference: a sample of the population. It never overlaps with the records that
it judges, since a reference fitted on them makes every one of them look like a non-member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Play
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.detectable import SHARE, smallest_average
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import Detectable, Questions
from privacygauge.evaluate.playing import headline, played_of, telling
from privacygauge.evaluate.tail import smallest_tail, tail
from privacygauge.tables.distance import Cosine, Distance, Space, space_of
from privacygauge.tables.generators.binning import QuantileBins, log_densities, log_shares
from privacygauge.tables.generators.network import learn_structure, most_informative
from privacygauge.tables.released.judged import (
    FOLDS,
    JudgedRecords,
    Signals,
    cross_fitted,
    judged_folds,
    played_alone,
    signals_by_row,
)
from privacygauge.tables.released.neighbours import nearest_points, usual_distance
from privacygauge.tables.released.tables import (
    NO_CONTROL,
    ReleasedTables,
    fill_missing,
    stack_tables,
)
from privacygauge.tables.table import Table, require_at_least

MOST_CATEGORIES = 200
"""Most categories per column for the density ratio; rarer ones are merged into one."""


@dataclass(frozen=True)
class ClosestDistance:
    """Minus the distance to the nearest synthetic record."""

    distance: Distance = field(default_factory=Cosine)
    """Distance between two records."""

    name = "closest-distance"

    def signals(self, seen: JudgedRecords) -> Signals:
        """Return a signal for each judged record, at most 0, which is a copy."""
        away = _to_synthetic(seen, _space(seen, self.distance))
        return seen.signals(self.name, self.distance.title, -away)


@dataclass(frozen=True)
class DistanceRatio:
    """Log distance to the nearest reference record minus that to the nearest synthetic one.

    A record far from everybody is far from the synthetic records too, member or not: the reference
    gives the scale. A thousandth of the median reference distance is added to both distances, so
    that the score of a copy stays bounded.
    """

    distance: Distance = field(default_factory=Cosine)
    """Distance between two records."""

    name = "distance-ratio"

    def signals(self, seen: JudgedRecords) -> Signals:
        """Return a signal for each judged record; 0 where both distances are equal."""
        space = _space(seen, self.distance)
        away = _to_synthetic(seen, space)
        # Order of the points: judged (real, then non-members), synthetic, reference.
        asked = np.arange(len(seen.real) + len(seen.nonmembers))
        reference = np.arange(len(asked) + len(seen.synthetic), len(space))
        usual = nearest_points(space, asked, reference).distance
        # A median of 0 (mostly duplicates) would leave log(0).
        least = 0.001 * float(np.median(usual)) or float(np.finfo(np.float32).eps)
        found = np.log(usual + least) - np.log(away + least)
        return seen.signals(self.name, self.distance.title, found)


@dataclass(frozen=True)
class DensityRatio:
    """Log density of a record in the synthetic table minus its log density in the reference.

    DOMIAS (van Breugel et al. 2023, "Membership inference attacks against synthetic data through
    overfitting detection"), with densities that cover categories and numbers alike: both are tree
    models of pairwise counts on the same attributes, with the tree of largest mutual information in
    the synthetic table.
    """

    n_bins: int = 20
    """Bins per number, at the quantiles of the synthetic table and the reference together."""
    weight: float = 1.0
    """Weight of the prior on each share, in records, above 0."""

    name = "density-ratio"

    def __post_init__(self) -> None:
        require_at_least(self, n_bins=2)
        if not self.weight > 0:
            raise InputError(f"weight must be above 0, got {self.weight}")

    def signals(self, seen: JudgedRecords) -> Signals:
        """Return a signal for each judged record; 0 where both densities are equal."""
        # Bins of both tables together: bins of one alone would be finer where that table is dense.
        return self._signals((seen,), stack_tables(seen.synthetic, seen.reference))[0]

    def of_folds(self, folds: Sequence[JudgedRecords]) -> tuple[Signals, ...]:
        """Return the signals on folds of one release: bins and tree are the same for all of them.

        Real and holdout records count alike in the bins, which so tell nothing of the sides.
        """
        records = (fold.records() for fold in folds)
        return self._signals(folds, stack_tables(folds[0].synthetic, *records))

    def _signals(self, folds: Sequence[JudgedRecords], binned: Table) -> tuple[Signals, ...]:
        bins = QuantileBins.of(binned, self.n_bins, MOST_CATEGORIES)
        made = bins.codes(folds[0].synthetic)
        # The tree of largest weight is the same from whichever attribute it is grown.
        anywhere = np.random.default_rng(0)
        nodes = learn_structure(made, bins.sizes, degree=1, choose=most_informative, rng=anywhere)

        def densities(asked: Ints, known: Ints) -> Floats:
            return log_densities(asked, known, nodes=nodes, sizes=bins.sizes, weight=self.weight)

        found = []
        for seen in folds:
            usual, asked = map(bins.codes, (seen.reference, seen.records()))
            ratio = densities(asked, made) - densities(asked, usual)
            found.append(seen.signals(self.name, f"pairs, {self.n_bins} bins", ratio))
        return tuple(found)


@dataclass(frozen=True)
class ValueRatio:
    """Density ratio of every value alone, as written: no bins, no pairs.

    Generators that draw from the values of real records copy rare ones: a weight in grams or a
    salary to the cent that occurs in the synthetic table most likely came from a real record. The
    signal sums log(p_synthetic / p_reference) over the columns.
    """

    weight: float = 1.0
    """Weight of the prior on each share, in records, above 0."""

    name = "value-ratio"

    def __post_init__(self) -> None:
        if not self.weight > 0:
            raise InputError(f"weight must be above 0, got {self.weight}")

    def signals(self, seen: JudgedRecords) -> Signals:
        """Return a signal for each judged record; 0 where no value distinguishes the tables."""
        columns = (table.values.T for table in (seen.records(), seen.synthetic, seen.reference))
        found = sum(self._of_column(*column) for column in zip(*columns, strict=True))
        return seen.signals(self.name, "single values", np.asarray(found))

    def _of_column(self, asked: Floats, made: Floats, usual: Floats) -> Floats:
        values, codes = np.unique(np.concatenate([asked, made, usual]), return_inverse=True)
        asked_codes, made_codes, usual_codes = np.split(codes, np.cumsum([len(asked), len(made)]))
        # The prior is learnt from both tables, never from the records that are judged.
        prior = log_shares(np.concatenate([made_codes, usual_codes]), len(values), None, 1.0)
        shares = [
            log_shares(some, len(values), np.exp(prior), self.weight)
            for some in (made_codes, usual_codes)
        ]
        return np.asarray((shares[0] - shares[1])[asked_codes])


def blind(released: ReleasedTables, rng: np.random.Generator, unit: Ints | None = None) -> Signals:
    """Return the signals of a forest that never sees the synthetic table.

    It is trained to distinguish real records from holdout records, and scores records that it was
    not trained on. With both from one source it cannot succeed. Where it does, the
    membership attacks may succeed without any leak, because members and non-members are different
    people. All records of a unit are in the same half.
    """
    from sklearn.ensemble import RandomForestClassifier

    assert released.holdout is not None  # there is no other side otherwise
    records = stack_tables(released.real, released.holdout)
    secret = np.arange(len(records)) < len(released.real)
    values = fill_missing(records)
    person = np.arange(len(records)) if unit is None else unit
    # One entry per unit: `one` is the row of its first record, `index` (n,) maps records to units.
    _, one, index = np.unique(person, return_index=True, return_inverse=True)
    half_of = np.empty(len(one), np.int64)
    for side in (secret[one], ~secret[one]):  # both halves hold equal shares of members
        half_of[side] = rng.permutation(int(side.sum())) % 2
    fold = half_of[index]
    found = np.empty(len(records))
    for half in (0, 1):
        taught = fold != half
        forest = RandomForestClassifier(
            50, max_depth=8, class_weight="balanced", random_state=int(rng.integers(2**31))
        )
        forest.fit(values[taught], secret[taught])
        found[~taught] = forest.predict_proba(values[~taught])[:, 1]
    n = len(released.real)
    return Signals(
        "blind",
        "forest without the synthetic table",
        members=found[:n],
        nonmembers=found[n:],
        member_rows=np.arange(n),
        nonmember_rows=np.arange(len(released.holdout)),
    )


def membership_signals(
    released: ReleasedTables, rng: np.random.Generator
) -> tuple[Signals, ...] | Skipped:
    """Return the signals of each attack, all on the same judged records.

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
        Deals the records out to folds.

    Returns
    -------
    tuple of Signals, or Skipped
        Signals of the closest distance and the distance ratio (both by `usual_distance`), the
        density ratio and the value ratio. Skipped without a holdout: without non-members no attack
        can be judged.
    """
    if released.holdout is None:
        return Skipped("membership", f"no holdout: {NO_CONTROL}")
    folds = judged_folds(released, rng)
    return tuple(
        signals_by_row(
            attack.of_folds(folds)
            if isinstance(attack, DensityRatio)
            else [attack.signals(seen) for seen in folds]
        )
        for attack in _attacks_on(released)
    )


def _attacks_on(
    released: ReleasedTables,
) -> tuple[ClosestDistance | DistanceRatio | DensityRatio | ValueRatio, ...]:
    distance = usual_distance(released.schema)
    return (ClosestDistance(distance), DistanceRatio(distance), DensityRatio(), ValueRatio())


def _placebo_scores(released: ReleasedTables, seed: int, attack_title: str) -> Floats:
    """Return scores of an attack where the reference stands in place of the release, and back.

    The reference knows none of the judged records, so that these are scores of no leak.
    """
    named = (one for one in _attacks_on(released) if attack_title.startswith(f"{one.name} ("))
    attack = next(named)
    folds = judged_folds(released, seeds.stream(seed, "judged"))
    changed = (replace(one, synthetic=one.reference, reference=one.synthetic) for one in folds)
    found = signals_by_row([attack.signals(one) for one in changed])
    return np.concatenate([found.members, found.nonmembers])


def _space(seen: JudgedRecords, distance: Distance) -> Space:
    """Return the judged, the synthetic and the reference records as points, in this order.

    All of them, whichever are compared: the numbers are scaled over all records.
    """
    return space_of(stack_tables(seen.records(), seen.synthetic, seen.reference), distance)


def _to_synthetic(seen: JudgedRecords, space: Space) -> Floats:
    begin = len(seen.real) + len(seen.nonmembers)
    among = np.arange(begin, begin + len(seen.synthetic))
    return nearest_points(space, np.arange(begin), among).distance


@dataclass(frozen=True, eq=False)
class Membership:
    """Results of the membership attacks."""

    played: tuple[tuple[Play, Evaluation], ...]
    """Decisions and evaluations, one per attack."""
    headline: Headline
    """Headline of the verdict."""
    blind: Evaluation
    """Result of a forest that never sees the synthetic table."""
    skipped: tuple[Skipped, ...]
    """Attacks that show nothing, and the reasons."""
    rows: tuple[Ints, Ints]
    """(a,) and (b,) Rows of the members in the real table, and of the non-members in the
    holdout."""
    unit: Ints
    """(a + b,) Person behind each record."""
    n_reference: int
    """Number of holdout records in the reference of each record, about."""
    unseen: Transcript
    """Scores of the forest that never sees the synthetic table."""

    @property
    def secret(self) -> Bools:
        """(a + b,) True for members."""
        return self.played[0][0].transcript.secret

    def contents(self, tables: ReleasedTables, columns: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return columns of the judged records by name, (a + b,) each."""
        sides = zip((tables.real, tables.holdout), self.rows, strict=True)
        # zip stops before a missing holdout; without columns there is nothing to read.
        known = ((side, rows) for side, rows in sides if side is not None and columns)
        frames = [side[rows].to_frame() for side, rows in known]
        return {
            name: np.concatenate([np.asarray(frame[name], object) for frame in frames])
            for name in columns
        }


def membership_played(tables: ReleasedTables, seed: int, level: float) -> Membership:
    """Run the membership attacks on the real records and the holdout.

    The headline's intervals hold jointly with those of risks and copies at the overall level.
    """
    signals = membership_signals(tables, seeds.stream(seed, "judged"))
    assert isinstance(signals, tuple)  # there is a holdout
    unit = np.concatenate(tables.units)
    results = telling([played_alone(found, unit, seed, level) for found in signals])
    played = played_of(results, "give records that differ")
    of_blind, unseen = played_alone(
        blind(tables, seeds.stream(seed, "blind"), unit), unit, seed, level
    )
    # Guesses and ranking are two chances to err, so these attacks get half of the error. Risks and
    # copies take the other half: at the full level their intervals err towards a leak with half of
    # it.
    best = headline(played, seed=seed, level=level, share=0.5)
    return Membership(
        played=tuple(played),
        headline=best,
        blind=replace(unseen, auc=cross_fitted(unseen.auc)),
        skipped=tuple(result for result in results if isinstance(result, Skipped)),
        rows=(signals[0].member_rows, signals[0].nonmember_rows),
        unit=unit,
        n_reference=len(tables.units[1]) // FOLDS,
        unseen=of_blind.transcript,
    )


def questions_of(
    played: Membership,
    tables: ReleasedTables,
    rankings: Sequence[tuple[str, Transcript]],
    seed: int,
    level: float,
) -> Questions:
    """Return whether a few records stand out in a ranking, and the smallest detectable leak.

    Parameters
    ----------
    played : Membership
        Results of the attacks on the judged records.
    tables : ReleasedTables
        The tables that were attacked.
    rankings : sequence of (str, Transcript)
        Titles and scores of all records, computed without learning from the holdout; empty where
        there are too few columns.
    seed, level
        As in `membership_played`.

    Notes
    -----
    Each kind of ranking gets half of the error allotted to few records. Records that stand out
    without the synthetic table as well are not evidence of copies in it.
    """
    each = 1 - SHARE / 2 * (1 - level)
    # Equal records stand out together: they count once.
    alike = np.concatenate(tables.alike)
    attacks = [(one.title, replace(play.transcript, unit=alike)) for play, one in played.played]
    without = [(played.blind.title, replace(played.unseen, unit=alike))]
    of_attacks, of_values, of_blind = (
        tail(scored, seeds.stream(seed, "few records"), each, placebo=placebo) if scored else None
        for scored, placebo in (
            (attacks, partial(_placebo_scores, tables, seed)),
            (rankings, None),
            (without, None),
        )
    )
    found = [one for one in (of_attacks, of_values) if one is not None]
    best = max(found, key=lambda one: (one.exposed, -one.p_value), default=None)
    least = [records for one in found if (records := smallest_tail(one)) is not None]
    # The blind ranking exposes at least half as many records: what stands out was not copied.
    if best is not None and of_blind is not None and 2 * of_blind.exposed >= max(best.exposed, 1):
        best = None
    n_in, n_out = played.played[0][0].transcript.independent
    average = smallest_average(n_in, n_out, played.headline.each)
    return Questions(
        best,
        (),
        Detectable(
            average=average, records=min(least, default=None), group=None, n_in=n_in, n_out=n_out
        ),
    )
