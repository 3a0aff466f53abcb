"""All measurements of a released table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.played import Questions
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
    ReleaseRisk,
    WorstRisk,
    furthest_beyond,
    release_risk,
)
from privacygauge.tables.released.membership import Membership, membership_played, questions_of
from privacygauge.tables.released.near_copies import NearCopies
from privacygauge.tables.released.order import same_names, same_place
from privacygauge.tables.released.people import People, same_people
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
from privacygauge.tables.released.tables import ReleasedTables
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


def told_apart(blind: Evaluation) -> bool:
    """Return whether real records and holdout differ, significantly and by a relevant amount."""
    return blind.auc.low > 0.5 and blind.auc.value >= APART


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
    questions: Questions | None = None
    """Whether a few real records stand out at the top of a membership attack's ranking, but not
    without the table, and the smallest detectable leak; None without a holdout."""
    exposed: tuple[tuple[str, ExposedRecord], ...] = ()
    """The most outlying real records: ids, and results of the attacks on each."""
    filtered: Filtered | None = None
    """Matches that real records lack because rows were dropped; None where none is shown."""
    drifted: tuple[str, ...] = ()
    """Columns whose values are others in the holdout than in the real table, beyond chance."""

    @property
    def worst(self) -> WorstRisk | None:
        """Risk furthest beyond its control; None if nothing was compared."""
        pairs = zip(self.risks, self.corrected.risks, strict=True)
        found = [WorstRisk(risk, beyond) for risk, beyond in pairs if beyond is not None]
        return max(found, key=lambda w: furthest_beyond(w.beyond), default=None)

    @property
    def furthest_from_baseline(self) -> ReleaseRisk | None:
        """Risk with the largest lead of its attack over the baseline; None if none was tried."""
        return max(self.risks, key=lambda r: r.attack.value - r.baseline.value, default=None)

    @property
    def same_source(self) -> bool:
        """True where the attack that never sees the synthetic table stays near chance."""
        return self.blind is None or not told_apart(self.blind)

    @property
    def control(self) -> bool:
        """True where attacks can be compared with a holdout of the same source."""
        return self.n_holdout > 0 and self.same_source


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
    played = None if tables.holdout is None else membership_played(tables, seed, level)
    step()
    often = asked.tried(tables)
    attacked = tries(
        tables, asked.secrets, attempts=often.attempts, seed=seed, parts=parts, step=step
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
    of_one = values_of_one(tables, together) if is_control else ()
    # The end of the interval that copies leave to it: half of that looks for an inversion.
    rng = seeds.stream(seed, "filtered")
    filtered = filtered_against(tables, rng, 1 - (1 - together) / 2) if is_control else None
    release = Release(
        n_real=len(everyone),
        n_synthetic=len(tables.synthetic),
        n_holdout=0 if tables.holdout is None else len(tables.holdout),
        evaluations=() if played is None else tuple(found for _, found in played.played),
        questions=None
        if played is None
        else questions_of(played, tables, attacked.rankings, seed=seed, level=level),
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
                *shared_values(given, together),
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
        tried=often,
        exposed=tuple((str(ids[one.row]), one) for one in attacked.exposed),
        filtered=filtered,
        drifted=drifted_columns(tables, seeds.stream(seed, "drift")),
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
