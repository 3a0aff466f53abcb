"""Result of an audit of a released table, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.report.attacks.plots import RankedRecords
from privacygauge.report.numbers import percent, plain
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin
from privacygauge.tables.released.copies import Overlap
from privacygauge.tables.released.hits import ReleaseRisk
from privacygauge.tables.released.people import FEWEST_PEOPLE
from privacygauge.tables.released.release import (
    Release,
)
from privacygauge.tables.released.returning import Returning
from privacygauge.tables.released.tables import NO_CONTROL

if TYPE_CHECKING:
    import pandas as pd


def risk_name(risk: ReleaseRisk) -> str:
    """Return the name of a risk, such as ``inference (income)``."""
    return plain(risk.title)


def said_of(overlap: Overlap) -> str:
    """Describe an overlap in a sentence."""
    found = (
        f"{overlap.shared:,} of the {overlap.n_holdout:,} holdout records stand in the real table "
        f"({percent(overlap.shared / overlap.n_holdout)}; by chance it would be about "
        f"{percent(overlap.by_chance)})"
    )
    if overlap.usable:
        return (
            f"{found}: they are no control and were left out, on both sides with all records that "
            "occur more than once"
        )
    return f"{found}: too few are left for a control"


def said_of_returning(returning: Returning) -> str:
    """Describe people who are in the holdout again in a sentence."""
    columns = checks.short_list(map(repr, returning.columns), 4)
    found = (
        f"{returning.shared:,} of the {returning.n_holdout:,} holdout records are real people "
        f"again, as they agree with a real record in {columns} or most of these, which hardly any "
        "two people of one table do"
    )
    if returning.usable:
        return f"{found}: they are no control and were left out of the holdout"
    return f"{found}: too few others are left for a control, so the holdout was left out"


def no_control(release: Release) -> str | None:
    """Return why a given holdout was left out, in a sentence; None if it was not."""
    learnt = release.learnt
    if learnt is not None:
        of = f"{learnt.copied:,} of the {learnt.n_holdout:,} holdout records"
        holdout = "the table was made from the holdout too, or the files were swapped, so the "
        holdout += "holdout is not a control and was left out"
        if learnt.nearly:
            return (
                f"{of} have more in common with a synthetic row than with any real person, which "
                f"chance does not explain: {holdout}"
            )
        stand = "stands in the synthetic table as it is"
        if learnt.copied > 1:
            stand = "stand in the synthetic table as they are"
        return f"{of} {stand}, which chance does not explain: {holdout}"
    people = release.people
    if people is not None and people.few:
        return (
            f"people behind the real records: {people.n_real:,}, behind those of the holdout: "
            f"{people.n_holdout:,}; fewer than {FEWEST_PEOPLE} on a side are no control, so "
            "the holdout was left out: more people are needed, or another column if this one does "
            "not name people (--unit)"
        )
    if people is not None:
        return (
            f"{people.shared:,} of {people.n_holdout:,} people in the holdout "
            "have records in the real table too: the holdout is not a control and was left out; "
            "keep other people back from the generator, or name another column if this one does "
            "not name people (--unit)"
        )
    reasons = []
    if release.returning is not None:
        reasons.append(said_of_returning(release.returning))
    if release.overlap is not None:
        reasons.append(said_of(release.overlap))
    return "; ".join(reasons) or None


@dataclass(frozen=True)
class TriedChange:
    """A change of the table, and the audit of the table after it."""

    change: str
    """The change in words, such as ``without 'age'``."""
    grade: str
    """Word of the verdict's grade."""
    beyond: Estimate | Skipped
    """What goes furthest beyond the holdout after it; Skipped where nothing was compared."""
    auc: float | None
    """Mean AUC of forests that learn from the changed synthetic table, tested on real records that
    were changed alike; None where none could be compared."""
    auc_before: float | None
    """The same labels' mean AUC with the table as it is."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleasedResult(RankedRecords, Reported, Release):
    """Values that a `ReleasedAudit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription | Skipped
    """The membership game; Skipped without a holdout."""
    records: Records | None
    """The scores of every judged record; None without a holdout."""
    changes: tuple[TriedChange, ...] = ()
    """Changes that were tried, in the order of the columns; empty unless asked for."""

    @property
    def membership(self) -> Attacks | None:
        """The membership attacks; None where none was played."""
        if isinstance(self.game, Skipped) or self.headline is None:
            return None
        return Attacks(
            self.game, self.evaluations, self.headline, self.level, questions=self.questions
        )

    @property
    def ranking_attacks(self) -> tuple[Evaluation, ...]:
        """Membership attacks, which have a ROC curve each.

        Raises
        ------
        InputError
            Without a holdout: no attack was played.
        """
        if not self.evaluations:
            raise InputError(f"a holdout is needed for a ROC curve, got none: {NO_CONTROL}")
        return self.evaluations

    @property
    def n_copied(self) -> int:
        """Fewest real records that are copied, whole or in values that hardly anybody shares."""
        shared = (one.people.low * one.people.n for one in self.corrected.shared)
        return max([self.n_proven, *map(round, shared)])

    @property
    def n_proven(self) -> int:
        """Fewest real records whose copies, whole, in part or near ones, are no chance."""
        whole = max(len(self.proven), 0 if self.together is None else self.together.least)
        return whole + len(self.partly) + len(self.nearly)

    @property
    def n_exposed(self) -> int:
        """Fewest real records that stand out, as copies or in a ranking of all records."""
        return max(self.n_copied, 0 if self.questions is None else self.questions.exposed)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per judged record, with its id and its numbers.

        Raises
        ------
        InputError
            Without a holdout: no record was judged.
        """
        if self.records is None:
            raise InputError(f"a holdout is needed to judge records, got none: {NO_CONTROL}")
        return super().to_frame()
