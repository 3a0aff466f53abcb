"""Membership attacks on a released table by signals of its records, without shadow tables.

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
from scipy.special import expit, logit

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Play
from privacygauge.core.rules import Split
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import number_units
from privacygauge.errors import InputError
from privacygauge.evaluate.detectable import SHARE, smallest_average
from privacygauge.evaluate.evaluation import Evaluation, evaluate
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import Detectable, Questions
from privacygauge.evaluate.playing import headline, played_of, telling
from privacygauge.evaluate.tail import smallest_tail, tail
from privacygauge.tables.distance import Cosine, Distance, Space, space_of
from privacygauge.tables.generators.binning import QuantileBins, log_densities, log_shares
from privacygauge.tables.generators.network import learn_structure, most_informative
from privacygauge.tables.released.neighbours import nearest_points, usual_distance
from privacygauge.tables.released.tables import (
    NO_CONTROL,
    ReleasedTables,
    draw_rows,
    fill_missing,
    stack_tables,
)
from privacygauge.tables.table import Table, require_at_least


@dataclass(frozen=True, eq=False)
class Signals:
    """An attack's signal for each record; higher means more likely a member."""

    name: str
    """Name of the attack."""
    variant: str
    """Variant of the attack."""
    members: Floats
    """(n,) Signals of the real records."""
    nonmembers: Floats
    """(m,) Signals of the judged holdout records, which no attack learns from."""
    member_rows: Ints
    """(n,) Rows of the members in the real table."""
    nonmember_rows: Ints
    """(m,) Rows of the non-members in the holdout."""

    def __post_init__(self) -> None:
        # "members" and "member_rows" have equal lengths, and so have those of the non-members.
        for name in ("members", "nonmembers"):
            found = checks.floats(getattr(self, name), name)
            rows = checks.integers(getattr(self, name[:-1] + "_rows"), name, length=len(found))
            object.__setattr__(self, name, found)
            object.__setattr__(self, name[:-1] + "_rows", rows)


@dataclass(frozen=True, eq=False)
class JudgedRecords:
    """Records on which attacks are judged, and the reference from which they may learn."""

    real: Table
    """Real records: members."""
    nonmembers: Table
    """Judged part of the holdout: non-members."""
    reference: Table
    """Another part of the holdout, to learn from."""
    synthetic: Table
    """The released synthetic table."""
    nonmember_rows: Ints
    """(m,) Rows of the non-members in the holdout."""
    member_rows: Ints | None = None
    """(n,) Rows of the members in the real table; None: all of them."""

    def signals(self, name: str, variant: str, found: Floats) -> Signals:
        """Split signals (n + m,) into those of members and non-members."""
        n = len(self.real)
        members = np.arange(n) if self.member_rows is None else self.member_rows
        return Signals(
            name,
            variant,
            members=found[:n],
            nonmembers=found[n:],
            member_rows=members,
            nonmember_rows=self.nonmember_rows,
        )

    def records(self) -> Table:
        """Return all judged records: members, then non-members."""
        return stack_tables(self.real, self.nonmembers)


FOLDS = 3
"""Folds of the judged records. With two, each half of the holdout would be judged by the other, and
two holdout records that are near to each other would count twice as strangers to the real ones."""


def judged_folds(released: ReleasedTables, rng: np.random.Generator) -> tuple[JudgedRecords, ...]:
    """Deal the real and the holdout records out to folds, each with the next one's as a reference.

    Every record is judged once, by holdout records of another fold, and no two folds judge by each
    other. All records of a person are in the same fold.

    Raises
    ------
    InputError
        If there is no holdout, or a fold would be empty.

    Notes
    -----
    If the release knows none of the records, real and holdout records of a fold are draws from one
    source whatever its reference holds, so the mean difference of their scores is 0 given the
    reference. Of any two folds in a ring of three, one has judged records that the other fold does
    not use at all; averaged over these, the product of both differences vanishes: the folds are
    uncorrelated, and intervals may count all records as independent.
    """
    if released.holdout is None:
        raise InputError(f"holdout is needed for a reference: {NO_CONTROL}")
    # The fold of each record; the folds have equally many people, but for one.
    dealt = []
    for unit in released.units:
        person = number_units(unit)
        n = int(person.max()) + 1
        if n < FOLDS:
            raise InputError(f"at least {FOLDS} people are needed on each side, got {n}: give more")
        dealt.append(rng.permutation(np.arange(n) % FOLDS)[person])
    of_real, of_holdout = dealt
    folds = []
    for fold in range(FOLDS):
        members, nonmembers = (np.flatnonzero(one == fold) for one in (of_real, of_holdout))
        reference = np.flatnonzero(of_holdout == (fold + 1) % FOLDS)
        folds.append(
            JudgedRecords(
                real=released.real[members],
                nonmembers=released.holdout[nonmembers],
                reference=released.holdout[reference],
                synthetic=released.synthetic,
                nonmember_rows=nonmembers,
                member_rows=members,
            )
        )
    return tuple(folds)


def signals_by_row(found: Sequence[Signals]) -> Signals:
    """Return the signals of an attack on all folds, by row."""
    if all(len(np.unique([*one.members, *one.nonmembers])) == 1 for one in found):
        # An attack that tells no two records of a fold apart tells nothing: scores of different
        # folds differ by their references alone.
        found = [
            replace(one, members=0 * one.members, nonmembers=0 * one.nonmembers) for one in found
        ]
    rows = [np.concatenate([one.member_rows for one in found])]
    rows.append(np.concatenate([one.nonmember_rows for one in found]))
    members, nonmembers = map(np.argsort, rows)
    return Signals(
        found[0].name,
        found[0].variant,
        members=np.concatenate([one.members for one in found])[members],
        nonmembers=np.concatenate([one.nonmembers for one in found])[nonmembers],
        member_rows=rows[0][members],
        nonmember_rows=rows[1][nonmembers],
    )


def cross_fitted(auc: Estimate) -> Estimate:
    """Return the AUC with an interval that holds for scores learnt on the records themselves.

    Each half trained the forest that scored the other half. A chance similarity between them shows
    in both, so together they may carry no more evidence than one of them: the interval is that of
    half as many records.
    """
    if not 0.0 < auc.value < 1.0:
        return auc
    # Half the records: wider by sqrt(2), on the logit scale so that the limits stay in (0, 1).
    value = logit(auc.value)
    low, high = (
        float(expit(value + np.sqrt(2) * (logit(end) - value))) for end in (auc.low, auc.high)
    )
    low = min(low, auc.value)
    high = max(high, auc.value)
    method = f"{auc.method}, as of half of the records"
    return Estimate(value=auc.value, low=low, high=high, level=auc.level, n=auc.n, method=method)


def played_alone(found: Signals, unit: Ints, seed: int, level: float) -> tuple[Play, Evaluation]:
    """Evaluate signals, with each half's threshold chosen on the other half of the records."""
    score = np.concatenate([found.members, found.nonmembers])
    transcript = Transcript(score, np.arange(len(score)) < len(found.members), unit=unit)
    decisions = Split(seed=seed).decide(transcript)
    evaluation = evaluate(
        found.name, transcript, decisions, level, variant=found.variant, thresholds="global"
    )
    return Play(transcript, decisions), evaluation


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
        return self.of_folds((seen,), stack_tables(seen.synthetic, seen.reference))[0]

    def of_folds(self, folds: Sequence[JudgedRecords], binned: Table) -> tuple[Signals, ...]:
        """Return the signals on folds of one release: bins and tree are the same for all of them.

        The bins are those of the records in `binned`.
        """
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
        found = np.zeros(len(seen.records()))
        for asked, made, usual in zip(*columns, strict=True):
            values, codes = np.unique(np.concatenate([asked, made, usual]), return_inverse=True)
            ends = np.cumsum([len(asked), len(made)])
            asked_codes, made_codes, usual_codes = np.split(codes, ends)
            # The prior is learnt from both tables, never from the records that are judged.
            known = np.concatenate([made_codes, usual_codes])
            prior = np.exp(log_shares(known, len(values), None, 1.0))
            of_made = log_shares(made_codes, len(values), prior, self.weight)
            of_usual = log_shares(usual_codes, len(values), prior, self.weight)
            found += (of_made - of_usual)[asked_codes]
        return seen.signals(self.name, "single values", found)


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
    # Real and holdout records count alike in the bins, which so tell nothing of the sides.
    binned = stack_tables(folds[0].synthetic, *(fold.records() for fold in folds))
    return tuple(
        signals_by_row(
            attack.of_folds(folds, binned)
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


def scores_of_no_leak(released: ReleasedTables, seed: int, attack_title: str) -> Floats:
    """Return scores of an attack where real records of other folds stand in place of the release.

    These know none of the judged records, so that these are scores of no leak; they are two thirds
    as many as the real records, so that as many are near to somebody by chance.
    """
    named = (one for one in _attacks_on(released) if attack_title.startswith(f"{one.name} ("))
    attack = next(named)
    found = []
    for fold in judged_folds(released, seeds.stream(seed, "judged")):
        assert fold.member_rows is not None
        others = np.setdiff1d(np.arange(len(released.real)), fold.member_rows)
        rng = seeds.stream(seed, "in place of the release")
        some = others[draw_rows(len(others), len(released.synthetic), rng)]
        found.append(attack.signals(replace(fold, synthetic=released.real[some])))
    by_row = signals_by_row(found)
    return np.concatenate([by_row.members, by_row.nonmembers])


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
            (attacks, partial(scores_of_no_leak, tables, seed)),
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
