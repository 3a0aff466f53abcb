"""All attacks for the three risks of a released table, with intervals that hold jointly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.tables.released.coincidences import SharedValues
from privacygauge.tables.released.copies import (
    Copies,
    LoneCopies,
    copied_alone,
    copied_beyond,
    release_of_rows,
    rows_copied_alone,
)
from privacygauge.tables.released.crowds import Crowd
from privacygauge.tables.released.disguised import (
    pairs_of,
    recoded_columns,
    series_of,
)
from privacygauge.tables.released.hits import (
    Attempts,
    Hits,
    enough_attempts,
    furthest_beyond,
    points_of,
    risk_beyond_control,
    widest,
)
from privacygauge.tables.released.inference import MOST_SECRETS, inference
from privacygauge.tables.released.linkability import (
    FEWEST_COLUMNS,
    linkability,
    nearly_copied,
    part_copied,
)
from privacygauge.tables.released.order import SamePlace
from privacygauge.tables.released.outlying import Outlying, outlying, singled_out
from privacygauge.tables.released.shared_rare_values import FORMS as IN_COMMON
from privacygauge.tables.released.shared_rare_values import (
    most_in_common,
    ranked_in_common,
)
from privacygauge.tables.released.singling_out import Form, singling_out
from privacygauge.tables.released.tables import ReleasedTables, draw_rows
from privacygauge.tables.released.texts import texts_copied
from privacygauge.tables.released.unlikely import UnlikelyCopies

FORMS: tuple[Form, ...] = ("values", "tails")
"""Forms of predicates that single out."""
MOVED_DATES = "copied but for one value, days between dates"
"""Variant of tables with several columns of dates."""
N_OUTLYING = 3
"""Number of attacks on the most outlying records: one per risk."""
N_NEARLY = 1 + len(IN_COMMON)
"""Number of attacks that look for copies with some values changed."""
STEPS = len(FORMS) + 2
"""Steps of `tries` besides the secrets: each form of singling out, linkability, and values in
common."""
COPY_LOOKS = 5
"""Looks besides the three risks: at copies of records and of synthetic rows, against the holdout
and against chance, at the order of the rows, and at values that only one person has."""


ORDERED = "Rows that their place joins to a person, beyond chance"
"""Label of the share of the rows that are in the order of the real ones."""
JOINED = "Rows that {} joins to a person, beyond chance"
"""Label of the share of the rows that a name or number joins to the real ones."""
CROWDED = "Synthetic rows around one real record, beyond chance"
"""Label of the share of the synthetic rows that are near to one record."""
SHARED = "Records that have {} in common with a synthetic one, beyond chance"
"""Label of the share of the records that share values of a column with synthetic records."""


@dataclass(frozen=True)
class ExposedRecord:
    """Results of the attacks on one of the most outlying real records."""

    row: int
    """Row in the real table."""
    score: float
    """Mean distance to the nearest other records; higher is more outlying."""
    singled_out: bool | None
    """True where a predicate isolates the record; None where it was not among the records compared
    with the holdout."""
    linked: bool | None
    """True where its halves were joined; None for a table with one column."""
    told: int
    """Number of its values inferred correctly."""
    secrets: int
    """Number of secrets tried."""


@dataclass(frozen=True, eq=False)
class Tries:
    """Results of all attacks."""

    hits: tuple[Hits, ...]
    """Attempts, one entry per form of a risk; those on the most outlying records last."""
    skipped: tuple[Skipped, ...]
    """Attacks that could not be made, and the reasons."""
    exposed: tuple[ExposedRecord, ...]
    """The most outlying real records, the most outlying first; empty if there are too few."""
    rankings: tuple[tuple[str, Transcript], ...]
    """Titles and scores of rankings of real and holdout records, in which a few may stand out."""


def tries(
    tables: ReleasedTables,
    secrets: Sequence[str] | None,
    attempts: Attempts,
    seed: int,
    parts: Mapping[str, Sequence[str]] | None = None,
    step: Callable[[], None] = lambda: None,
) -> Tries:
    """Run each form of the attacks for the three risks.

    Parameters
    ----------
    tables : ReleasedTables
    secrets : sequence of str, optional
        As in `inference`.
    attempts : Attempts
        Number of attempts on random records; all of the most outlying ones are attacked.
    seed : int
        Seed; each form draws from its own stream.
    parts : mapping of str to sequence of str, optional
        Columns that come from one source, by its name; each part is also looked for alone.
    step : callable
        Called after each of `STEPS`, and after each secret.
    """
    sides = [side for side in (tables.real, tables.holdout) if side is not None]
    # Singling out depends on the size of a table: both sides get n records.
    rng = seeds.stream(seed, "as-many")
    n = min(map(len, sides))
    kept = [draw_rows(len(side), n, rng) for side in sides]
    even = release_of_rows(tables, kept[0], kept[1] if len(kept) > 1 else None)
    often = attempts.within(len(tables.real))
    found: list[Hits | Skipped] = []
    for form in FORMS:
        rng = seeds.stream(seed, "singling-out", form)
        found.append(singling_out(even, rng, form=form, attempts=often))
        step()
    forms = [x for x in found if isinstance(x, Hits)]
    ranked = outlying(tables)
    rows = ranked if isinstance(ranked, Outlying) else None
    found += [ranked] if isinstance(ranked, Skipped) else []
    found += [singled_out(forms, tables, kept, rows)] if rows is not None and forms else []
    if len(tables.schema.columns) < 2:
        reason = "needs at least two columns"
        found += [Skipped(name, reason) for name in ("linkability", "inference")]
    else:
        found.append(linkability(tables, seeds.stream(seed, "linkability"), attempts=attempts))
        if rows is not None:
            rng = seeds.stream(seed, "linkability", "outlying")
            found.append(linkability(tables, rng, rows=rows))
        step()
        rng = seeds.stream(seed, "inference")
        found += inference(tables, rng, secrets=secrets, attempts=attempts, rows=rows, step=step)
    rankings: list[tuple[str, Transcript]] = []
    if len(tables.schema.columns) >= FEWEST_COLUMNS:
        found.append(nearly_copied(tables, seeds.stream(seed, "nearly-copied")))
        moved = tables.between_dates
        if moved is not None and len(moved.schema.columns) >= FEWEST_COLUMNS:
            rng = seeds.stream(seed, "nearly-copied", "dates")
            found.append(replace(nearly_copied(moved, rng), variant=MOVED_DATES))
        rng = seeds.stream(seed, "in-common")
        common = ranked_in_common(tables, rng)
        if isinstance(common, Skipped):
            found.append(common)
        else:
            found += most_in_common(common, tables.notes, rng)
            rankings = common.rankings
    step()
    copied, of_texts = texts_copied(tables, seeds.stream(seed, "texts"))
    found += copied
    rankings = [*rankings, *of_texts]
    found += [
        part_copied(tables, columns, name, seeds.stream(seed, "part", name))
        for name, columns in (parts or {}).items()
    ]
    # A stable sort: within each group the attacks keep their order.
    hits = sorted((x for x in found if isinstance(x, Hits)), key=lambda x: x.outlying)
    skipped = tuple(x for x in found if isinstance(x, Skipped))
    exposed = []
    if rows is not None:
        # The results of the attacks on each of the most outlying real records.
        attack = {one.name: one.attack for one in hits if one.outlying}
        tried = rows.real[np.isin(rows.real, kept[0])].tolist()
        alone = dict(zip(tried, attack.get("singling-out", ()), strict=False))
        joined = dict(zip(rows.real.tolist(), attack.get("linkability", ()), strict=False))
        # Outcomes are laid out secret by secret: (secrets, outlying records).
        told = attack.get("inference", np.zeros(0, np.bool_)).reshape(-1, len(rows.real))
        for place, (row, score) in enumerate(
            zip(rows.real.tolist(), rows.scores.tolist(), strict=True)
        ):
            exposed.append(
                ExposedRecord(
                    row=row,
                    score=score,
                    singled_out=None if row not in alone else bool(alone[row]),
                    linked=None if row not in joined else bool(joined[row]),
                    told=int(told[:, place].sum()),
                    secrets=len(told),
                )
            )
    return Tries(tuple(hits), skipped, tuple(exposed), tuple(rankings))


@dataclass(frozen=True)
class CorrectedIntervals:
    """Intervals that hold jointly, by Bonferroni.

    The membership attacks are corrected separately, in their headline, at half of the error, since
    both their guesses and their ranking may err. So each of the two groups reports a leak where
    there is none with at most half of the error that the level allows, and both together with at
    most all of it.
    """

    risks: tuple[Estimate | None, ...]
    """Intervals of the risks, in the order of the attempts; None without a holdout."""
    copies: Estimate | None
    """Share of the real records copied in excess of the holdout's, as for a risk; None without a
    holdout."""
    inverted: tuple[str, ...] = ()
    """Names of the attacks that succeed more often on the holdout than on the real records; the
    error of this list and of the membership attacks together is within the level."""
    alone: Estimate | None = None
    """Share of the real records without a twin that were copied, beyond chance as estimated from
    the real table, so that no holdout is needed; None where there are too few."""
    rows: Estimate | None = None
    """Share of the synthetic rows that equal a real record without a twin, beyond chance as for
    `alone`; in a small table, copies of few people may make up all rows."""
    unlikely: Estimate | None = None
    """Copies that chance does not explain, one by one or a few together, as a share of the real
    records or of the synthetic rows, whichever is larger; None if there are none."""
    order: Estimate | None = None
    """Share of the synthetic rows that their place joins to a real record, beyond chance, without a
    holdout; None where the rows are not in the order of the real ones."""
    joined: tuple[tuple[str, Estimate | None], ...] = ()
    """Per column of names or numbers that was left out: share of the synthetic rows that it joins
    to a real record, beyond chance, as for `order`."""
    shared: tuple[SharedValues, ...] = ()
    """Per column: real records whose values, or long parts of whose texts, are in the table
    although almost nobody shares them; the column with most records first."""
    crowds: tuple[Crowd, ...] = ()
    """Real records that synthetic rows crowd around, the largest crowd first."""
    points: tuple[Estimate | None, ...] = ()
    """Attack minus control per risk, as a difference of shares; None without a holdout."""

    @property
    def linked(self) -> dict[str, Estimate]:
        """Shares of the rows that their place or a name joins to a person, by label."""
        by_name = {JOINED.format(repr(column)): one for column, one in self.joined}
        found = {ORDERED: self.order, **by_name}
        return {name: one for name, one in found.items() if one is not None}

    @property
    def needs_no_control(self) -> dict[str, Estimate]:
        """Shares that need no holdout, by label."""
        found = {
            "Records of one kind copied, beyond chance": self.alone,
            "Synthetic rows that are real people, beyond chance": self.rows,
            "Copies that are no chance, each or a few together": self.unlikely,
            **self.linked,
            **{SHARED.format(one.column): one.people for one in self.shared},
            CROWDED: self.crowds[0].rows if self.crowds else None,
        }
        return {name: one for name, one in found.items() if one is not None}

    @property
    def copied(self) -> Estimate | None:
        """The clearest evidence of copying, against holdout or chance; None without any."""
        copied = (self.copies, self.alone, self.rows, self.unlikely)
        found = (x for x in copied if x is not None)
        return max(found, key=furthest_beyond, default=None)

    @property
    def looks(self) -> int:
        """Number of intervals that hold jointly."""
        looked = (*self.risks, self.copies, self.alone, self.rows)
        # One more for the order of the rows; and one for values of one person, which need a
        # holdout.
        return (
            1
            + len(self.joined)
            + (self.copies is not None)
            + sum(found is not None for found in looked)
        )


@dataclass(frozen=True)
class AttemptCounts:
    """Number of attempts of each attack, fixed before any result."""

    attempts: Attempts
    """Attempts per side: on real records, and on the holdout."""
    asked: float | None
    """Requested half-width of attack minus control; None where the number of attempts was given."""
    reached: float
    """Largest half-width that these attempts give, at a level corrected for all looks."""

    @property
    def said(self) -> str:
        """Number of attempts and its reason, in two sentences."""
        real = f"{self.attempts.real:,}"
        holdout = f"{self.attempts.holdout:,}"
        sides = real if real == holdout else f"{real} on real records and {holdout} on the holdout"
        width = f"\N{PLUS-MINUS SIGN}{100 * self.reached:.1f} percentage points"
        if self.asked is None:
            why = f"as asked; where a table has as many records, that gives {width} at most"
        elif self.reached <= self.asked:
            why = f"the fewest that give {width} at most, whatever comes out"
        else:
            why = (
                f"all records, which give {width} at most where "
                f"\N{PLUS-MINUS SIGN}{100 * self.asked:g} were wanted: use larger tables"
            )
        return (
            f"Attempts of each attack: {sides} ({why}). The number was fixed before any attempt, "
            "by the width of an interval of attack minus control that allows for all looks."
        )


@dataclass(frozen=True)
class TableOptions:
    """Options of the attacks on a released table."""

    secrets: Sequence[str] | None
    attempts: int | None
    half_width: float
    level: float
    n_parts: int

    def leaving_out(self, columns: Sequence[str]) -> TableOptions:
        """Return the options for the tables without some columns."""
        if self.secrets is None:
            return self
        return replace(self, secrets=[name for name in self.secrets if name not in columns])

    def n_secrets(self, tables: ReleasedTables) -> int:
        """Return the number of secret columns; each needs another column to infer it from."""
        if self.secrets is not None:
            return len(self.secrets)
        return min(len(tables.schema.columns), MOST_SECRETS)

    def tried(self, tables: ReleasedTables) -> AttemptCounts:
        """Return the number of attempts per attack, determined by the sizes of the tables alone."""
        width = len(tables.schema.columns)
        secrets = self.n_secrets(tables)
        # Columns of text, parts and nearly equal records are further looks at copies.
        texts = sum(3 if text.is_free and text.holdout is not None else 1 for text in tables.texts)
        parts = texts + self.n_parts + (N_NEARLY if width >= FEWEST_COLUMNS else 0)
        if tables.holdout is not None and width >= FEWEST_COLUMNS:
            parts += 2 * bool(series_of(tables.schema)) + bool(pairs_of(tables.schema))
            parts += bool(recoded_columns(tables))
        if sum(column.date for column in tables.schema.columns) > 1 and width >= FEWEST_COLUMNS:
            parts += (width > FEWEST_COLUMNS) + (tables.holdout is not None)
        forms = len(FORMS) + (1 + secrets if width > 1 else 0) + N_OUTLYING + parts
        looks = forms + COPY_LOOKS + len(tables.joined)
        # Bonferroni over all looks: the width is that of an interval as it will be reported.
        level = 1 - (1 - checks.level(self.level)) / looks
        n = len(tables.real)
        m = len(tables.real if tables.holdout is None else tables.holdout)
        if self.attempts is None:
            most = enough_attempts(self.half_width, level, n, m)
            return AttemptCounts(most, self.half_width, widest(most, level))
        given = Attempts(self.attempts, self.attempts)
        reached = Attempts(min(n, self.attempts), min(m, self.attempts))
        return AttemptCounts(given, None, widest(reached, level))


def correct_together(
    tried: Sequence[Hits],
    copied: Copies,
    lone: LoneCopies,
    level: float,
    *,
    unlikely: UnlikelyCopies | None = None,
    order: SamePlace | None = None,
    joined: Mapping[str, SamePlace | None] | None = None,
    shared: Sequence[SharedValues] = (),
    crowds: tuple[Crowd, ...] = (),
) -> CorrectedIntervals:
    """Return the intervals of risks and copies at a level corrected for all of them."""
    # The membership attacks take the other half of the error.
    stricter = 1 - (1 - level) / 2
    found, lower = (
        (*(risk_beyond_control(hits, each) for hits in tried), copied_beyond(copied, each))
        for each in (level, stricter)
    )
    names = (*(f"{x.name} ({x.variant})" if x.variant else x.name for x in tried), "copying")
    inverted = (
        name
        for name, beyond in zip(names, lower, strict=True)
        if beyond is not None and beyond.high < 0
    )
    points = tuple(points_of(hits, level) for hits in tried)
    most = sorted(shared, key=lambda one: -len(one.rows))
    # A text that was copied whole is found in several ways. Reversed, so that the entry with most
    # records wins for each column.
    by_column = {one.column: one for one in reversed(most)}
    return CorrectedIntervals(
        risks=found[:-1],
        copies=found[-1],
        inverted=tuple(inverted),
        alone=copied_alone(lone, level),
        rows=rows_copied_alone(lone, level),
        unlikely=unlikely.beyond if unlikely is not None and unlikely.beyond.low > 0 else None,
        order=None if order is None else order.beyond(level),
        joined=tuple(
            (column, None if one is None else one.beyond(level))
            for column, one in (joined or {}).items()
        ),
        shared=tuple(one for one in most if by_column[one.column] is one),
        crowds=crowds,
        points=points,
    )
