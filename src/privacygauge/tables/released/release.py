"""All measurements of a released table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline, exposure
from privacygauge.evaluate.played import Questions
from privacygauge.report.grades import advantage_of
from privacygauge.runs.execute import Progress
from privacygauge.tables.released.coincidences import shared_runs, shared_values, values_of_one
from privacygauge.tables.released.copies import (
    Copies,
    Overlap,
    closest_facts,
    closest_records,
    copy_facts,
    find_copies,
    find_shared_records,
    lone_copies,
    release_of_rows,
    without_overlap,
)
from privacygauge.tables.released.crowds import crowds
from privacygauge.tables.released.drift import drifted_columns
from privacygauge.tables.released.filtered import Filtered, filtered_against
from privacygauge.tables.released.hits import (
    Hits,
    ReleaseRisk,
    WorstRisk,
    furthest_beyond,
    release_risk,
)
from privacygauge.tables.released.membership import Membership, membership_played, questions_of
from privacygauge.tables.released.near_copies import NearCopies
from privacygauge.tables.released.order import same_names, same_place
from privacygauge.tables.released.people import People, same_people
from privacygauge.tables.released.placebo import PARTS, Placebo, placebo_of
from privacygauge.tables.released.returning import Returning, without_returning
from privacygauge.tables.released.shared_rare_values import seen_nearly
from privacygauge.tables.released.suite import (
    COPY_LOOKS,
    STEPS,
    AttemptCounts,
    CorrectedIntervals,
    ExposedRecord,
    TableOptions,
    correct_together,
    tries,
)
from privacygauge.tables.released.tables import ReleasedTables, draw_rows, without_columns
from privacygauge.tables.released.unlikely import (
    JointCopies,
    PartialCopies,
    UnlikelyCopies,
    unlikely_copies,
)
from privacygauge.tables.table import require_columns, require_moderate
from privacygauge.tables.utility import Utility, utility

APART = 0.55
"""AUC from which an attack that never sees the synthetic table shows a relevant difference between
real records and holdout."""
_CERTAIN = 0.999
"""Level at which this difference is said to be one of people."""
_FEWEST_LEFT = 2
"""Fewest columns without drift in which real records and holdout are compared."""


def told_apart(blind: Evaluation) -> bool:
    """Return whether real records and holdout differ for certain, and by a relevant amount."""
    found = blind.auc
    wider = float(ndtri(0.5 + _CERTAIN / 2) / ndtri(0.5 + found.level / 2))
    return found.value >= APART and found.value - wider * (found.value - found.low) > 0.5


def _beyond(advantage: Estimate, known: float) -> Estimate:
    """Return the part of an advantage above a known one, as a share of the rest to 1."""
    if known >= 1.0:
        return replace(advantage, value=0.0, low=min(0.0, advantage.low))
    ends = (advantage.value, advantage.low, advantage.high)
    value, low, high = (max(-1.0, (x - known) / (1 - known)) for x in ends)
    method = f"{advantage.method}, beyond an attack without the table"
    return replace(advantage, value=value, low=low, high=high, method=method)


@dataclass(frozen=True)
class CopiedRecord:
    """A real record that is in the synthetic table, beyond chance."""

    row: int
    """Row in the real table as given."""
    name: str
    """Id of the record; its row if no ids were given."""
    expected: float
    """Number of copies expected by chance."""
    other: str = ""
    """Part of the record that is another one in the copy; empty if the copy is whole."""


@dataclass(frozen=True)
class HoldoutCopies:
    """Holdout records in the synthetic table, exactly or nearly, beyond chance.

    The generator saw these records, so the holdout is not a control.
    """

    n_holdout: int
    """Number of records in the holdout as given."""
    copied: int
    """Number of such copies."""
    nearly: bool = False
    """True where the copies are near ones: nearer to synthetic rows than to other people."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """Measurements of a released table."""

    n_real: int
    """Number of records that the generator learnt from."""
    n_synthetic: int
    """Number of synthetic records."""
    n_compared: int | None = None
    """Number of synthetic rows that the attacks saw; None for all of them. Where real records and
    holdout differ without the table, it is no more than a table of other real records has."""
    n_holdout: int
    """Number of records of the same source that the generator did not learn from; 0 for none."""
    evaluations: tuple[Evaluation, ...]
    """Evaluations, one per membership attack; empty without a holdout."""
    headline: Headline | None
    """Headline of the verdict; None without a holdout."""
    blind: Evaluation | None
    """Result of an attack that never sees the synthetic table: if it succeeds, real records and
    holdout are different people, and the success of other attacks is not evidence of a leak."""
    risks: tuple[ReleaseRisk, ...]
    """The regulator's three risks."""
    copies: tuple[Fact, ...]
    """Shares of records that occur on both sides, equal in every column."""
    closest: tuple[Fact, ...]
    """Facts on distances to the closest record, which are not evidence of safety."""
    utility: Utility | Skipped
    """Utility of the synthetic table."""
    corrected: CorrectedIntervals
    """Intervals from which the verdict is chosen, corrected for all looks."""
    tried: AttemptCounts
    """Number of attempts per attack, and its reason."""
    overlap: Overlap | None = None
    """Holdout records that are in the real table; None if chance explains them."""
    proven: tuple[CopiedRecord, ...] = ()
    """Real records with copies that chance does not explain, the least likely first."""
    partly: tuple[CopiedRecord, ...] = ()
    """Further real records whose copies, with one value or the dates changed, are no chance."""
    nearly: tuple[CopiedRecord, ...] = ()
    """Further real records to which a synthetic row is far nearer than chance brings rows to
    people."""
    together: JointCopies | None = None
    """Copies that chance explains one by one, but not together; None if there are none."""
    jointly: tuple[CopiedRecord, ...] = ()
    """The records of `together`, with their ids."""
    learnt: HoldoutCopies | None = None
    """Holdout records that the generator saw; None if none is known."""
    people: People | None = None
    """Reason why the holdout's people are not a control; None if they are."""
    returning: Returning | None = None
    """Real people who are in the holdout again, and were left out of it; None if there are none."""
    questions: Questions | None = None
    """Whether a few real records stand out at the top of a membership attack's ranking, but not
    without the table, and the smallest detectable leak; None without a holdout."""
    exposed: tuple[tuple[str, ExposedRecord], ...] = ()
    """The most outlying real records: ids, and results of the attacks on each."""
    filtered: Filtered | None = None
    """Matches that real records lack because rows were dropped; None where none is shown."""
    placebo: Placebo | None = None
    """Results of the attacks with other real records in place of the synthetic table. None where
    nothing was found, which needs no explanation, without a holdout, and with too few people."""
    drifted: tuple[str, ...] = ()
    """Columns whose values are others in the holdout than in the real table, beyond chance."""

    @property
    def worst(self) -> WorstRisk | None:
        """Risk furthest beyond its control; None if nothing was compared."""
        pairs = zip(self.risks, self.risks_beyond, strict=True)
        found = [WorstRisk(risk, beyond) for risk, beyond in pairs if beyond is not None]
        return max(found, key=lambda w: furthest_beyond(w.beyond), default=None)

    @property
    def risks_beyond(self) -> tuple[Estimate | None, ...]:
        """Success at each risk beyond its control, and beyond attacks without the table."""
        all_points = self.corrected.points or self.corrected.risks
        found = []
        for place, (beyond, points) in enumerate(
            zip(self.corrected.risks, all_points, strict=True)
        ):
            known = self.known
            if self.placebo is not None:
                known = max(known, self.placebo.of_risk(place))
            found.append(beyond if points is None or not known else _beyond(points, known))
        return tuple(found)

    @property
    def furthest_from_baseline(self) -> ReleaseRisk | None:
        """Risk with the largest lead of its attack over the baseline; None if none was tried."""
        return max(self.risks, key=lambda r: r.attack.value - r.baseline.value, default=None)

    @property
    def differs(self) -> bool:
        """True where real records and holdout differ, however little, without the table."""
        return self.known > 0.0

    @property
    def known(self) -> float:
        """Advantage that attacks may have without the synthetic table; 0 where none is shown.

        An attack that tells both sides apart with an area A has an advantage of at most 2 A - 1.
        """
        found = 0.0 if self.placebo is None else self.placebo.shown
        if self.blind is not None and self.blind.auc.low > 0.5:
            found = max(found, 2 * self.blind.auc.high - 1)
        return found

    @property
    def advantage_beyond(self) -> Estimate | None:
        """Advantage of the strongest membership attack beyond attacks without the synthetic table.

        A difference of two rates, on real records and on the holdout, that the table knows nothing
        of is at most the total variation distance of both sources, which `known` stands for. The
        rest is a share of what is left to 1. None without a holdout.
        """
        if self.headline is None:
            return None
        known = self.known
        if self.placebo is not None:
            known = max(known, self.placebo.of_attack(self.headline.attack.title))
        advantage = advantage_of(self.headline.reached.accuracy)
        return _beyond(advantage, known) if known else advantage

    @property
    def same_source(self) -> bool:
        """True where the attack that never sees the synthetic table stays near chance."""
        return self.blind is None or not told_apart(self.blind)

    @property
    def control(self) -> bool:
        """True where attacks can be compared with a holdout of the same source."""
        return self.n_holdout > 0 and self.same_source

    @property
    def is_partial(self) -> bool:
        """True where more may leak than the comparison with the holdout can tell."""
        lows = [0.0 if raw is None else raw.low for raw in self.corrected.risks]
        suspected = False
        if self.placebo is not None and max(lows, default=0.0) > 0:
            unseen = self.placebo.risks[int(np.argmax(lows))]
            suspected = unseen is not None and unseen.low > 0
        return self.n_holdout > 0 and (self.differs or bool(self.drifted) or suspected)

    @property
    def trusted(self) -> CorrectedIntervals:
        """The intervals, without copies beyond the holdout's where it is of another source."""
        if self.control and not self.drifted:
            return self.corrected
        return replace(self.corrected, copies=None)


def _is_found(release: Release) -> bool:
    """Return whether anything beside the holdout looks like a leak."""
    best = release.headline
    return best is not None and (
        any(one is not None and one.low > 0 for one in release.corrected.risks)
        or best.reached.accuracy.low > 0.5
        or best.epsilon.low > 0
        or exposure(release.evaluations) is not None
        or (release.questions is not None and release.questions.exposed > 0)
        or release.filtered is not None
    )


def _with_placebo(release: Release, placebo: Placebo | None, of_one: set[str]) -> Release:
    """Return the release without the findings that a table of other real records shows as well.

    `of_one` names the columns in which values of one person alone were found.
    """
    if placebo is None:
        return release
    also = of_one & set(placebo.columns)
    shared = tuple(one for one in release.corrected.shared if one.column not in also)
    return replace(
        release,
        placebo=placebo,
        filtered=None if placebo.filtered else release.filtered,
        corrected=replace(release.corrected, shared=shared),
    )


def _form(hits: Hits) -> tuple[str, str, bool]:
    """Return name, variant and records of a form of the risks, which no other form shares."""
    return hits.name, hits.variant, hits.outlying


def checked_names(
    tables: ReleasedTables,
    label: str | None,
    secrets: Sequence[str] | None,
    parts: Mapping[str, Sequence[str]] | None,
    show: Sequence[str],
    ids: ArrayLike | None,
) -> NDArray[Any] | None:
    """Return the ids of the real records, after checking everything that would fail hours later.

    The options are those of `audit_released`; `show` names columns to print.

    Raises
    ------
    InputError
        If a column is missing, or the number of ids is wrong.
    """
    names = tables.schema.names
    require_moderate(tables.schema)
    asked = {"secrets": secrets or (), "show": show, "label": () if label is None else (label,)}
    asked |= {f"part {name!r}": columns for name, columns in (parts or {}).items()}
    for what, columns in asked.items():
        if isinstance(columns, str):
            raise InputError(f"{what} must be a list of columns, got the text {columns!r}")
        require_columns(columns, names, what)
    return None if ids is None else checks.vector(ids, "ids", length=len(tables.real))


@dataclass(frozen=True, eq=False)
class ReleaseMeasurement:
    """A release, with the tables and attacks it was measured with."""

    release: Release
    """The measurements."""
    tables: ReleasedTables
    """Tables of the release; the holdout is a control or absent."""
    played: Membership | None
    """Results of the membership attacks; None without a holdout."""
    copied: Copies
    """Rows that occur on both sides."""
    together: float
    """Level of each look at which all of them hold jointly."""
    names: NDArray[Any] | None
    """Ids of the real records that remain."""
    skipped: tuple[Skipped, ...]
    """Attacks that could not be made, other than membership attacks."""


def measure_release(
    tables: ReleasedTables,
    asked: TableOptions,
    names: NDArray[Any] | None,
    label: str | None,
    parts: Mapping[str, Sequence[str]] | None,
    seed: int,
    progress: Progress | None = None,
) -> ReleaseMeasurement:
    """Measure a released table.

    Parameters
    ----------
    tables : ReleasedTables
        Release, with the people behind its records.
    asked : TableOptions
    names : ndarray, shape (n,), optional
        Ids of the real records; by default their row numbers.
    label, parts, seed, progress
        As in `audit_released`.
    """
    n_steps = 3 + STEPS + asked.n_secrets(tables)
    done = count(1)

    def step() -> None:
        if progress is not None:
            progress(min(next(done), n_steps), n_steps)

    # The tables as given are kept: copies are counted in them, attacks run on what is left.
    tables, returning = without_returning(tables)
    everyone = tables.real
    twice = find_shared_records(tables)
    level = asked.level
    given = tables
    tables, rows, overlap = without_overlap(tables, twice)
    unlikely = unlikely_copies(given, twice.real, level, seeds.stream(seed, "partial copies"))
    learnt = None
    people = same_people(given)
    if people is not None:
        # A holdout of the same people is no control: the overlap found above says nothing then.
        overlap = None
        rows = np.arange(len(everyone))
        tables = release_of_rows(given, rows, None)
    # Exact copies of holdout records prove that the generator saw it; near copies are looked for
    # only if there are none.
    if len(unlikely.holdout) and given.holdout is not None:
        learnt = HoldoutCopies(len(given.holdout), len(unlikely.holdout))
    elif tables.holdout is not None and given.holdout is not None:
        near = seen_nearly(tables, seeds.stream(seed, "seen holdout"))
        if unlikely.nearly is not None and not len(near):
            near = unlikely.nearly.holdout
        if len(near):
            learnt = HoldoutCopies(len(given.holdout), len(near), nearly=True)
    # Without a control all real records are back in the comparison.
    if learnt is not None:
        rows = np.arange(len(everyone))
        tables = release_of_rows(given, rows, None)
    drifted = drifted_columns(tables, seeds.stream(seed, "drift"))
    if drifted and len(tables.schema.columns) - len(drifted) < _FEWEST_LEFT:
        rows = np.arange(len(everyone))
        tables = release_of_rows(given, rows, None)
    # Values of another time are no evidence: the comparison goes by the other columns.
    same = tables
    if drifted and tables.holdout is not None:
        same = without_columns(tables, drifted)
        asked = asked.leaving_out(drifted)
        kept = {
            name: [column for column in columns if column not in drifted]
            for name, columns in (parts or {}).items()
        }
        parts = {name: columns for name, columns in kept.items() if columns}
    lone = lone_copies(given, twice.real, seeds.stream(seed, "lone-copies"), tables.holdout)

    def with_ids(
        copies: UnlikelyCopies | JointCopies | PartialCopies | NearCopies, rows: Ints
    ) -> tuple[CopiedRecord, ...]:
        return tuple(
            CopiedRecord(row, str(row if names is None else names[row]), chance)
            for row, chance in zip(rows.tolist(), copies.chance.tolist(), strict=True)
        )

    joint = unlikely.together
    proven = with_ids(unlikely, unlikely.real)
    partly: tuple[CopiedRecord, ...] = ()
    if unlikely.partly is not None:
        ways = zip(
            with_ids(unlikely.partly, unlikely.partly.rows), unlikely.partly.ways, strict=True
        )
        partly = tuple(replace(one, other=way) for one, way in ways)
    nearly: tuple[CopiedRecord, ...] = ()
    if unlikely.nearly is not None:
        others = {one.row for one in (*proven, *partly)}
        every = with_ids(unlikely.nearly, unlikely.nearly.real)
        nearly = tuple(one for one in every if one.row not in others)
    jointly = () if joint is None else with_ids(joint, joint.rows)
    step()
    known = tables.notes
    names = None if names is None else names[rows]
    compared = (everyone, tables.synthetic, tables.holdout)
    use = utility(*compared, rng=seeds.stream(seed, "utility"), label=label)
    played = None if same.holdout is None else membership_played(same, seed, level)
    step()
    often = asked.tried(same)
    attacked = tries(
        same, asked.secrets, attempts=often.attempts, seed=seed, parts=parts, step=step
    )
    copied = find_copies(tables, seeds.stream(seed, "copies"))
    order = same_place(given, seeds.stream(seed, "order"))
    joined = {
        one.column: same_names(given, one, seeds.stream(seed, "joined", one.column))
        for one in given.joined
    }
    closest = closest_records(tables, seeds.stream(seed, "closest"))
    ids = rows if names is None else names
    # Bonferroni: the verdict picks the interval furthest from 0, copies included.
    together = 1 - (1 - level) / (len(attacked.hits) + COPY_LOOKS + len(joined))
    # Without a control a person's side is no random draw, which `values_of_one` relies on.
    is_control = played is not None and not told_apart(played.blind)
    of_one = tuple(values_of_one(same, together)) if is_control else ()
    # The end of the interval that copies leave to it: half of that looks for an inversion.
    rng = seeds.stream(seed, "filtered")
    filtered = filtered_against(same, rng, 1 - (1 - together) / 2) if is_control else None
    release = Release(
        n_real=len(everyone),
        n_synthetic=len(tables.synthetic),
        n_holdout=0 if tables.holdout is None else len(tables.holdout),
        evaluations=() if played is None else tuple(found for _, found in played.played),
        questions=None
        if played is None
        else questions_of(played, same, attacked.rankings, seed=seed, level=level),
        headline=None if played is None else played.headline,
        blind=None if played is None else played.blind,
        risks=tuple(release_risk(found, level, known) for found in attacked.hits),
        copies=copy_facts(copied, closest.n, level),
        closest=closest_facts(closest, level),
        utility=use,
        corrected=correct_together(
            attacked.hits,
            copied,
            lone=lone,
            level=together,
            unlikely=unlikely,
            order=order,
            joined=joined,
            shared=[
                *shared_values(without_columns(given, drifted), together),
                *shared_runs(given, seeds.stream(seed, "shared runs"), together),
                # Rows of the reduced table become rows of the table as given.
                *(replace(one, rows=rows[one.rows]) for one in of_one),
            ],
            crowds=crowds(given, seeds.stream(seed, "crowds"), together),
        ),
        overlap=overlap,
        proven=proven,
        partly=partly,
        nearly=nearly,
        together=joint,
        jointly=jointly,
        learnt=learnt,
        people=people,
        returning=returning,
        tried=often,
        exposed=tuple((str(ids[one.row]), one) for one in attacked.exposed),
        filtered=filtered,
        drifted=drifted,
    )
    if _is_found(release) or of_one:
        placebo = placebo_of(
            same,
            attacked.hits,
            asked.secrets,
            attempts=often.attempts,
            seed=seed,
            level=together,
        )
        release = _with_placebo(release, placebo, {one.column for one in of_one})
        if placebo is not None and placebo.shown and len(given.synthetic) > len(same.real):
            # What a holdout of another source explains grows with the table, and the placebo cannot
            # be larger than the real one: like is compared with like. Copies remain those in all
            # rows, and the placebo knows nothing of the table.
            n_fewer = round(len(same.real) * (1 - 1 / PARTS))
            some = draw_rows(len(given.synthetic), n_fewer, seeds.stream(seed, "fewer rows"))
            fewer = replace(same, synthetic=same.synthetic[some])
            played = membership_played(fewer, seed, level)
            again = tries(fewer, asked.secrets, attempts=often.attempts, seed=seed, parts=parts)
            among = correct_together(again.hits, copied, lone=lone, level=together)
            unseen = dict(zip(map(_form, attacked.hits), placebo.risks, strict=True))
            rng = seeds.stream(seed, "filtered")
            found = filtered_against(fewer, rng, 1 - (1 - together) / 2) if is_control else None
            release = replace(
                release,
                n_compared=n_fewer,
                evaluations=tuple(one for _, one in played.played),
                questions=questions_of(played, fewer, again.rankings, seed=seed, level=level),
                headline=played.headline,
                risks=tuple(release_risk(one, level, known) for one in again.hits),
                exposed=tuple((str(ids[one.row]), one) for one in again.exposed),
                filtered=None if placebo.filtered else found,
                placebo=replace(placebo, risks=tuple(unseen.get(_form(one)) for one in again.hits)),
                corrected=replace(
                    release.corrected,
                    risks=among.risks,
                    points=among.points,
                    inverted=among.inverted,
                ),
            )
    left_out = (use.learnt,) if isinstance(use.learnt, Skipped) else ()
    skipped = (*attacked.skipped, *left_out)
    if progress is not None:
        progress(n_steps, n_steps)
    return ReleaseMeasurement(
        release=release,
        tables=tables,
        played=played,
        copied=copied,
        together=together,
        names=names,
        skipped=skipped,
    )
