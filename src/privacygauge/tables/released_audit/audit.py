"""The audit of a synthetic table that was already released: its leak about people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import entropy

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.played import GameDescription, Records
from privacygauge.kinds.one_line import NO_RUN, one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction
from privacygauge.report.numbers import percent
from privacygauge.report.values import Report
from privacygauge.runs.options import keyword
from privacygauge.tables.options import ColumnKinds, ReleasedDesign, ReportedColumns
from privacygauge.tables.released.copies import FEW, copied_beyond
from privacygauge.tables.released.hits import HALF_WIDTH
from privacygauge.tables.released.people import with_people
from privacygauge.tables.released.release import (
    ReleaseMeasurement,
    checked_names,
    measure_release,
    told_apart,
)
from privacygauge.tables.released.spelling import require_common
from privacygauge.tables.released.suite import TableOptions
from privacygauge.tables.released.tables import (
    NO_CONTROL,
    ReleasedTables,
    select_columns,
    tables_of,
)
from privacygauge.tables.released_audit.report import report
from privacygauge.tables.released_audit.result import ReleasedResult, TriedChange, no_control
from privacygauge.tables.released_audit.sections import plot_risks
from privacygauge.tables.table import Schema, Table, column_advice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLER = 0.2
"""Share of the real records below which a holdout counts as much smaller."""


class ReleasedAudit(ReleasedResult):
    """Findings of an audit of a released synthetic table, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_risks(self, ax: Axes | None = None) -> Axes:
        """Plot attack, control and baseline of each risk."""
        return plot_risks(self, ax)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedOptions(ReleasedDesign, ReportedColumns, ColumnKinds):
    """An audit of a synthetic table that was released."""

    schema: Schema | None = keyword(
        "Kinds of the columns; by default from the real table, as in `read_together`.", default=None
    )
    secrets: Sequence[str] | None = keyword(
        "Columns that an attacker wants to learn; all in turn by default, up to 20.", default=None
    )
    parts: Mapping[str, Sequence[str]] | None = keyword(
        "Columns that come from one source each, by its name, such as those of a table of people "
        "and those of their visits. Each part is looked for alone too: a synthetic record may hold "
        "what one source says of somebody, and make up the rest.",
        default=None,
    )
    half_width: float = keyword(
        "Half of the width wanted for the interval of attack minus control, in (0, 0.5), at a "
        "level that allows for all risks: 0.02 are two percentage points. How many attempts that "
        "takes is computed for the widest interval, before any of them (`enough_attempts`).",
        default=HALF_WIDTH,
    )

    def run(
        self,
        real: object,
        synthetic: object,
        holdout: object | None = None,
        *,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        holdout_unit: ArrayLike | None = None,
        session: Session = Session("synthetic"),
    ) -> ReleasedAudit:
        """Measure how far a synthetic table gives away the records that it was made from.

        Neither the generator nor any table but the released one is needed. What an attack achieves
        on the real records is compared with what it achieves on the holdout: people of the same
        kind that the generator never saw.

        Parameters
        ----------
        real, synthetic : Table, pandas or polars frame, str or Path
            The training records of the generator, and its output. Files: CSV or Parquet.
        holdout : Table, pandas or polars frame, str or Path, optional
            Records drawn from the same source that the generator did not learn from. Without them
            no leak can be told from what the table says about people in general.
        ids : array_like, shape (n,), optional
            Names of the real records in the report; their rows otherwise.
        unit, holdout_unit : array_like, shapes (n,) and (m,), optional
            The person behind each real record (equal ids by default), and behind each
            holdout record: records of one are never taken for independent.
        session : Session, optional
            Seed and level; its callback for progress is called with the steps that are done and
            their total.

        Returns
        -------
        ReleasedAudit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        The three risks are those of the Article 29 Working Party, opinion 05/2014, section 2.2.2.
        Beyond the control: (attack - control) / (1 - control), see `evaluate.rates.excess`.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"age": rng.integers(18, 90, 60), "pay": rng.gamma(2.0, size=60)})
        >>> audit_released(people[:30], people[:30], people[30:], attempts=20)
        <ReleasedAudit: Large leak: 100.0% of the real records stand ...>
        """
        checks.kind(self.schema, "schema", Schema, "a Schema, such as that of read_table(...)")
        for name, given in (("ids", ids), ("unit", unit), ("holdout_unit", holdout_unit)):
            if isinstance(given, str):
                raise InputError(
                    f"{name} must be an array with one entry per record, got the text {given!r}: "
                    f"give the values of the column, such as table[{given!r}]"
                )
        compared = (
            *(self.secrets or ()),
            *self.show,
            *(() if self.label is None else (self.label,)),
        )
        columns = (self.continuous, self.categorical, self.drop)
        tables = tables_of(
            real, synthetic, holdout=holdout, schema=self.schema, columns=columns, compared=compared
        )
        # Columns that were left out by themselves are in no part.
        parts = _parts_without(self.parts, tables.apart)
        named = checked_names(
            tables, self.label, secrets=self.secrets, parts=parts, show=self.show, ids=ids
        )
        asked = TableOptions(
            secrets=self.secrets,
            attempts=self.attempts,
            half_width=self.half_width,
            level=session.level,
            n_parts=len(parts or {}),
        )
        progress = session.progress
        asked.tried(tables)  # what is wrong is said before any work
        tables, of_units = with_people(tables, ids if unit is None else unit, holdout_unit)
        unknown = require_common(tables.real, tables.synthetic, len(np.unique(tables.units[0])))
        checks.at_least(0, what_if=self.what_if)
        changes = possible_changes(
            tables, self.what_if, kept=() if self.label is None else (self.label,)
        )
        turns = 1 + len(changes)

        def measure(changed: ReleasedTables, without: Sequence[str], turn: int) -> ReleasedAudit:
            found = measure_release(
                changed,
                asked.leaving_out(without),
                names=named,
                label=self.label,
                parts=_parts_without(parts, without),
                seed=session.seed,
                progress=None
                if progress is None
                else lambda done, n: progress(turn * n + done, turns * n),
            )
            shown = [column for column in self.show if column not in without]
            return _audit_of(found, session, warnings=(*of_units, *unknown), show=shown)

        found = measure(tables, (), 0)
        if not changes:
            return found
        tried = [
            _compare_change(change.name, measure(change.tables, change.without, turn), found)
            for turn, change in enumerate(changes, 1)
        ]
        return replace(found, changes=tuple(tried))


audit_released = one_line(
    ReleasedOptions,
    ReleasedOptions.run,
    "audit_released",
    without=NO_RUN,
)


def _parts_without(
    parts: Mapping[str, Sequence[str]] | None, columns: Sequence[str]
) -> dict[str, list[str]]:
    """Return the parts without some columns, and without those that have no others."""
    kept = {
        name: [column for column in part if column not in columns]
        for name, part in (parts or {}).items()
    }
    return {name: part for name, part in kept.items() if part}


def _audit_of(
    found: ReleaseMeasurement, running: Session, warnings: Sequence[str], show: Sequence[str]
) -> ReleasedAudit:
    """Return the audit of what was measured."""
    played = found.played
    left_out = no_control(found.release)
    unplayed = Skipped("membership attacks", left_out or f"no holdout: {NO_CONTROL}")
    of_holdout = () if left_out is None else (left_out,)
    origin = running.origin(
        "pandas",
        skipped=(*((unplayed,) if played is None else played.skipped), *found.skipped),
        warnings=(*of_holdout, *warnings, *_caveats(found)),
    )
    if played is None:
        return ReleasedAudit(**vars(found.release), origin=origin, game=unplayed, records=None)
    members, nonmembers = played.rows
    names = np.concatenate([members, nonmembers])
    if found.names is not None:
        # The user's ids name the real records only: those of the holdout are named by their rows.
        others = [f"holdout row {row}" for row in nonmembers]
        names = np.array([*(str(name) for name in found.names[members]), *others], dtype=object)
    records = Records(
        names,
        played.secret,
        {e.title: play.transcript.score for play, e in played.played},
        {e.title: play.decisions.guess for play, e in played.played},
        contents=played.contents(found.tables, show),
        unit=played.unit,
    )
    n_in = int(played.secret.sum())
    game = GameDescription(
        "membership from the released table alone",
        question="Was this record among those that the synthetic table was made from?",
        adversary=(
            f"Sees the synthetic table and the record, and has {played.n_reference:,} other "
            "records of the same source (a third of the holdout); knows nothing of the generator "
            "and makes no tables of its own"
        ),
        secret=(
            "came with the data: members are the real records, non-members those of the holdout; "
            "no coins were drawn, so they may also differ in other ways than membership "
            "(the attack without the synthetic table looks for that)"
        ),
        thresholds="on the other half of the judged records, both ways (cross-fitting)",
        n_in=n_in,
        n_out=len(played.secret) - n_in,
    )
    return ReleasedAudit(**vars(found.release), origin=origin, game=game, records=records)


def _compare_change(change: str, after: ReleasedAudit, before: ReleasedAudit) -> TriedChange:
    """Return the effect of a change on the leak and on the use of a table."""
    report = after.report()
    (beyond,) = (one.found for one in report.measures if one.name == "beyond")
    assert isinstance(beyond, Estimate | Skipped)  # a share, or the reason for none
    aucs = [
        {} if isinstance(learnt, Skipped) else {one.label: one.synthetic_auc for one in learnt}
        for audit in (before, after)
        for learnt in [
            audit.utility if isinstance(audit.utility, Skipped) else audit.utility.learnt
        ]
    ]
    # A column that is left out is no label any more: the same ones are compared.
    labels = [label for label in aucs[0] if label in aucs[1]]
    auc_before, auc = (
        float(np.mean([each[label] for label in labels])) if labels else None for each in aucs
    )
    return TriedChange(
        change,
        grade=report.verdict.grade.word,
        beyond=beyond,
        auc=auc,
        auc_before=auc_before,
    )


def _caveats(found: ReleaseMeasurement) -> tuple[str, ...]:
    """Return warnings about easily misread results, the most important first."""
    tables = found.tables
    copied = found.copied
    blind = found.release.blind
    told: list[str] = []
    if blind is not None and told_apart(blind):
        told.append(
            "real records and holdout are told apart without the synthetic table (AUC "
            f"{blind.auc.value:.3f}), so they are not from the same source: only what goes beyond "
            "that attack counts; give a holdout that was drawn from the same records"
        )
    elif blind is not None and blind.auc.low > 0.5:
        told.append(
            "real records and holdout differ a little without the synthetic table (AUC "
            f"{blind.auc.value:.3f}): an attack counts only as far as it goes beyond that"
        )
    elif found.release.differs:
        told.append(
            "real records and holdout are told apart with other real records in place of the "
            "synthetic table too: an attack counts only as far as it goes beyond that"
        )
    if found.release.drifted:
        told.append(
            "the holdout has other values than the real table in "
            f"{checks.short_list(map(repr, found.release.drifted), 3)}, beyond chance: "
            "these columns were left out of every comparison with it"
        )
    beyond = None if found.release.drifted else copied_beyond(copied, found.together)
    if copied.holdout is not None and beyond is not None and beyond.low > 0:
        told.append(
            f"{percent(float(copied.real.mean()))} of the real records stand in the synthetic "
            f"table as they are, and {percent(float(copied.holdout.mean()))} of the holdout: more "
            "than chance explains"
        )
    filtered = found.release.filtered
    if filtered is not None:
        kind = "equal to" if filtered.equal else "near"
        told.append(
            f"synthetic rows {kind} real records are missing, more of them than chance explains: "
            "the table was filtered by the real records, and that gives them away"
        )
    told += [*tables.notes, *tables.read]
    if tables.holdout is not None:
        n = len(tables.holdout)
        real = len(tables.real)
        if n < SMALLER * real or n < FEW:
            told.append(
                f"the holdout has {n:,} records beside {real:,} real ones: the intervals are wide, "
                "and a leak may go unnoticed"
            )
    told += column_advice(tables.real)
    # A filter makes attacks prefer the holdout: no sign is wrong, and no side was swapped.
    if found.played is None or filtered is not None:
        return tuple(dict.fromkeys(told))
    return (*dict.fromkeys(told), *direction.warnings(found.played.headline.inverted))


STEPS = 10
"""Most values of a column made coarser."""


@dataclass(frozen=True, eq=False)
class Change:
    """Tables after a change, the same for each table."""

    name: str
    """The change in words, such as ``without 'age'``."""
    without: tuple[str, ...]
    """Names of the columns left out."""
    tables: ReleasedTables
    """Tables after the change."""


def possible_changes(
    tables: ReleasedTables, most: int, kept: Sequence[str] = ()
) -> tuple[Change, ...]:
    """Return changes of the columns that identify people best.

    Each of these columns is left out, and each with more than ten values is made coarser: numbers
    and dates in ten steps with equally many synthetic rows each, categories to the nine most
    frequent and one for all others. The last change makes all of them coarser together.

    Parameters
    ----------
    tables : ReleasedTables
    most : int
        Number of columns to change: those with the highest entropy among the real records.
    kept : sequence of str
        Columns that stay as they are.
    """
    written = {text.name: np.array([str(one) for one in text.real]) for text in tables.texts}
    values = dict(zip(tables.schema.names, tables.real.values.T, strict=True))
    told = {
        name: float(entropy(np.unique(column, return_counts=True)[1]))
        for name, column in (written | values).items()
        if name not in kept
    }
    columns = sorted(told, key=lambda name: -told[name])[:most]
    found: list[Change] = []
    together = tables
    coarser = []
    for name in columns:
        # Without the column, unless it is the last one.
        left = f"without {name!r}"
        texts = tuple(text for text in tables.texts if text.name != name)
        if len(texts) < len(tables.texts):
            joined = tuple(one for one in tables.joined if one.column != name)
            found.append(Change(left, (name,), replace(tables, texts=texts, joined=joined)))
        elif len(tables.schema.names) > 1:
            places = [j for j, other in enumerate(tables.schema.names) if other != name]
            found.append(
                Change(
                    left, (name,), _change_each(tables, partial(select_columns, positions=places))
                )
            )
        after = _coarser(tables, name)
        if after is not None:
            found.append(Change(f"{name!r} in {STEPS} steps", (), after))
            coarser.append(name)
            together = _coarser(together, name) or together
    if len(coarser) > 1:
        named = checks.short_list(map(repr, coarser), most)
        found.append(Change(f"{named} in {STEPS} steps each", (), together))
    return tuple(found)


def _change_each(tables: ReleasedTables, change: Callable[[Table], Table]) -> ReleasedTables:
    """Return the release with each of its tables changed."""
    return replace(
        tables,
        real=change(tables.real),
        synthetic=change(tables.synthetic),
        holdout=None if tables.holdout is None else change(tables.holdout),
    )


def _coarser(tables: ReleasedTables, name: str) -> ReleasedTables | None:
    """Return the tables with a coarser column; None for free text or at most ten values."""
    if name not in tables.schema.names:
        return None
    j = tables.schema.names.index(name)
    column = tables.schema.columns[j]
    made = tables.synthetic.values[:, j]
    made = made[~np.isnan(made)]
    everywhere = np.concatenate([table.values[:, j] for table in tables.tables().values()])
    # What is coarse is decided by the released values alone, and applied to all tables.
    if len(made) == 0 or len(np.unique(everywhere[~np.isnan(everywhere)])) <= STEPS:
        return None
    # The nine most frequent released categories keep their codes; the last entry is the code of a
    # missing value.
    n_categories = len(column.categories)
    code = np.arange(n_categories + 1.0)
    if not column.is_number:
        counts = np.bincount(made.astype(np.int64), minlength=n_categories)[:n_categories]
        frequent = np.argsort(-counts, kind="stable")
        code[frequent[STEPS - 1 :]] = frequent[STEPS - 1]
    # Quantiles that coincide, at frequent values, are one edge: there may be fewer than ten steps.
    edges = np.unique(np.quantile(made, np.arange(1, STEPS) / STEPS))
    step_of_made = np.searchsorted(edges, made, side="right")
    # A step without released numbers is represented by its nearest edge.
    at = np.array(
        [
            np.median(made[step_of_made == step])
            if (step_of_made == step).any()
            else edges[min(step, len(edges) - 1)]
            for step in range(len(edges) + 1)
        ]
    )

    def change(table: Table) -> Table:
        values = table.values.copy()
        if column.is_number:
            # Each number becomes the median of the released numbers in its step.
            found = at[np.searchsorted(edges, values[:, j], side="right")]
            values[:, j] = np.where(np.isnan(values[:, j]), np.nan, found)
            # Steps of whole numbers, such as dates, are whole numbers.
            if tables.schema.limits[2][j]:
                values[:, j] = np.rint(values[:, j])
        else:
            values[:, j] = code[values[:, j].astype(np.int64)]
        return replace(table, values=values)

    return _change_each(tables, change)
