"""The audit of a synthetic table that was already released: what it gives away about people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.audits.released_table import facts
from privacygauge.audits.released_table.found import Corrected, ReleasedAudit, Tried
from privacygauge.audits.released_table.membership import Membership, audit_membership
from privacygauge.audits.released_table.risk import points_of, release_risk, risk_of
from privacygauge.audits.released_table.units import with_people
from privacygauge.audits.running import Running
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.report import direction
from privacygauge.synthetic.frames import read_table
from privacygauge.synthetic.released.attempts import HALF_WIDTH, Attempts, enough_attempts, widest
from privacygauge.synthetic.released.copies import Copies, closest_records, copies
from privacygauge.synthetic.released.hits import Hits
from privacygauge.synthetic.released.inference import MOST_SECRETS
from privacygauge.synthetic.released.linkability import FEWEST_COLUMNS
from privacygauge.synthetic.released.overlap import LoneCopies, lone_copies, shared
from privacygauge.synthetic.released.spelling import require_common
from privacygauge.synthetic.released.suite import FORMS, N_OUTLYING, Exposed, tries
from privacygauge.synthetic.released.tables import NO_CONTROL, Released, read_together
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.table import Table, require_columns, require_moderate
from privacygauge.synthetic.utility import utility


def audit_released(
    real: object,
    synthetic: object,
    holdout: object | None = None,
    *,
    schema: Schema | None = None,
    continuous: Sequence[str] = (),
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    label: str | None = None,
    secrets: Sequence[str] | None = None,
    parts: Mapping[str, Sequence[str]] | None = None,
    attempts: int | None = None,
    half_width: float = HALF_WIDTH,
    ids: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    holdout_unit: ArrayLike | None = None,
    show: Sequence[str] = (),
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_released",
    provenance: Mapping[str, str] | None = None,
) -> ReleasedAudit:
    """Measure what a synthetic table gives away about the records that it was made from.

    Neither the generator nor any table but the released one is needed. What an attack achieves
    on the real records is compared with what it achieves on the holdout: people of the same
    kind that the generator never saw.

    Parameters
    ----------
    real, synthetic : Table, pandas or polars frame, str or Path
        What the generator learnt from, and what it made. Files: CSV or Parquet.
    holdout : Table, pandas or polars frame, str or Path, optional
        Records drawn from the same source that the generator did not learn from. Without them no
        leak can be told from what the table says about people in general.
    schema : Schema, optional
        What the columns are; else the real table says, as in `read_together`.
    continuous, categorical, drop
        As in `read_together`.
    label : str, optional
        The column to predict where the use of the table is measured; several in turn by default.
    secrets : sequence of str, optional
        Columns that an attacker wants to learn; all in turn by default, up to 20.
    parts : mapping of str to sequence of str, optional
        Columns that come from one source each, by its name, such as those of a table of people
        and those of their visits. Each part is looked for alone too: a synthetic record may
        hold what one source says of somebody, and make up the rest.
    attempts : int, optional
        Of each attack behind the three risks, at least 1; as many as `half_width` needs.
    half_width : float
        Half of the width wanted for the interval of attack minus control, in (0, 0.5), at a
        level that allows for all risks: 0.02 are two percentage points. How many attempts that
        takes is computed for the widest interval, before any of them (`enough_attempts`).
    ids : array_like, shape (n,), optional
        Names of the real records in the report; their rows otherwise.
    unit, holdout_unit : array_like, shapes (n,) and (m,), optional
        The person behind each real record (equal ids by default), and behind each
        holdout record: records of one are never taken for independent.
    show : sequence of str
        Columns to print beside the riskiest records; none otherwise.
    seed, level, command, provenance
        As in `audit_model`.

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
    Beyond the control: (attack - control) / (1 - control), see `released_risk.excess`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.integers(18, 90, 60), "pay": rng.gamma(2.0, size=60)})
    >>> audit_released(people[:30], people[:30], people[30:], attempts=20)
    <ReleasedAudit of 30 synthetic rows: Large leak: 100.0% of the real records stand ...>
    """
    running = Running(command, seed, level, provenance)
    tables = _tables(real, synthetic, holdout, schema, (continuous, categorical, drop))
    named = _checked(tables, label, secrets, parts, show, ids)
    asked = _Asked(secrets, attempts, half_width, level, len(parts or {}))
    asked.tried(tables)  # what is wrong is said before any work
    tables, of_units = with_people(tables, ids if unit is None else unit, holdout_unit)
    everyone, twice = tables.real, shared(tables)
    given, (tables, rows, overlap) = tables, facts.without_overlap(tables, twice)
    lone = lone_copies(given, twice.real, seeds.stream(seed, "lone-copies"), tables.holdout)
    known = tables.notes()
    named = None if named is None else named[rows]
    compared = (everyone, tables.synthetic, tables.holdout)
    use = utility(*compared, rng=seeds.stream(seed, "utility"), label=label)
    played = _membership(tables, named, show, seed, level)
    often = asked.tried(tables)
    attacked = tries(tables, secrets, often.attempts, seed, parts)
    tried, skipped = attacked.hits, attacked.skipped
    copied = copies(tables, seeds.stream(seed, "copies"))
    closest = closest_records(tables, seeds.stream(seed, "closest"))
    # Bonferroni: the verdict speaks of whichever goes furthest, copies included.
    together = 1 - (1 - level) / (len(tried) + 2)
    corrected = _corrected(tried, copied, lone, together, tables.units)
    reason = f"no holdout: {NO_CONTROL}" if overlap is None else overlap.said
    game = Skipped("membership attacks", reason)
    unplayed = (game,) if played is None else played.skipped
    left_out = (use.learnt,) if isinstance(use.learnt, Skipped) else ()
    blind = None if played is None else played.blind
    origin = running.origin(
        "pandas",
        skipped=(*unplayed, *skipped, *left_out),
        warnings=(
            *(() if overlap is None else (overlap.said,)),
            *of_units,
            *facts.caveats(tables, blind, copied, together),
            *_inverted(played),
        ),
    )
    return ReleasedAudit(
        origin,
        len(everyone),
        n_synthetic=len(tables.synthetic),
        n_holdout=0 if tables.holdout is None else len(tables.holdout),
        game=game if played is None else played.game,
        evaluations=() if played is None else played.evaluations,
        headline=None if played is None else played.headline,
        blind=blind,
        risks=tuple(release_risk(found, level, known) for found in tried),
        copies=facts.copy_facts(copied, closest.n, level, tables.units),
        closest=facts.closest_facts(closest, level),
        records=None if played is None else played.records,
        utility=use,
        corrected=corrected,
        overlap=overlap,
        tried=often,
        exposed=_named(attacked.exposed, rows if named is None else named),
    )


@dataclass(frozen=True)
class _Asked:
    """What was asked of the attempts."""

    secrets: Sequence[str] | None
    attempts: int | None
    half_width: float
    level: float
    n_parts: int

    def tried(self, tables: Released) -> Tried:
        """Return how often each attack is tried, from the sizes of the tables alone."""
        width = len(tables.schema.columns)
        secrets = min(width, MOST_SECRETS) if self.secrets is None else len(self.secrets)
        # Both ways to look at copies come on top.
        parts = self.n_parts + (width >= FEWEST_COLUMNS)
        forms = len(FORMS) + (1 + secrets if width > 1 else 0) + N_OUTLYING + parts
        looks = forms + 2
        level = 1 - (1 - checks.level(self.level)) / looks
        n, m = len(tables.real), len(tables.real if tables.holdout is None else tables.holdout)
        if self.attempts is None:
            most = enough_attempts(self.half_width, level, n, m)
            return Tried(most, self.half_width, widest(most, level))
        given = Attempts(self.attempts, self.attempts)
        reached = Attempts(min(n, self.attempts), min(m, self.attempts))
        return Tried(given, None, widest(reached, level))


def _tables(
    real: object,
    synthetic: object,
    holdout: object | None,
    schema: Schema | None,
    columns: tuple[Sequence[str], Sequence[str], Sequence[str]],
) -> Released:
    continuous, categorical, drop = columns
    if schema is None:
        return read_together(
            real, synthetic, holdout, continuous=continuous, categorical=categorical, drop=drop
        )
    given = {"real": real, "synthetic": synthetic, "holdout": holdout}
    found = {
        name: _with_schema(name, data, schema, columns)
        for name, data in given.items()
        if data is not None
    }
    return Released(found["real"], found["synthetic"], found.get("holdout"))


def _with_schema(
    name: str,
    data: object,
    schema: Schema,
    columns: tuple[Sequence[str], Sequence[str], Sequence[str]],
) -> Table:
    continuous, categorical, drop = columns
    try:
        return read_table(
            data, schema=schema, continuous=continuous, categorical=categorical, drop=drop
        )
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _checked(
    tables: Released,
    label: str | None,
    secrets: Sequence[str] | None,
    parts: Mapping[str, Sequence[str]] | None,
    show: Sequence[str],
    ids: ArrayLike | None,
) -> NDArray[Any] | None:
    """Return the names of the real records, after what would fail only after hours of work."""
    names = tables.schema.names
    require_moderate(tables.schema)
    require_common(tables.real, tables.synthetic)
    asked = {"secrets": secrets or (), "show": show, "label": () if label is None else (label,)}
    asked |= {f"part {name!r}": columns for name, columns in (parts or {}).items()}
    for what, columns in asked.items():
        if isinstance(columns, str):
            raise InputError(f"{what} must be a list of columns, got the text {columns!r}")
        require_columns(columns, names, what)
    return None if ids is None else checks.vector(ids, "ids", length=len(tables.real))


def _corrected(
    tried: Sequence[Hits], copied: Copies, lone: LoneCopies, level: float, units: tuple[Ints, Ints]
) -> Corrected:
    """Return the risks and the copies at a level that allows for all of them."""
    # Beside the membership attacks: half of the error for each.
    stricter = 1 - (1 - level) / 2
    found, lower = (
        (*(risk_of(hits, each) for hits in tried), facts.copied_beyond(copied, each, units))
        for each in (level, stricter)
    )
    names = (*(f"{x.name} ({x.variant})" if x.variant else x.name for x in tried), "copying")
    inverted = (
        name
        for name, beyond in zip(names, lower, strict=True)
        if beyond is not None and beyond.high < 0
    )
    points = tuple(points_of(hits, level) for hits in tried)
    alone = facts.copied_alone(lone, level)
    return Corrected(found[:-1], found[-1], tuple(inverted), alone, points)


def _named(found: Sequence[Exposed], ids: NDArray[Any]) -> tuple[tuple[str, Exposed], ...]:
    return tuple((str(ids[one.row]), one) for one in found)


def _inverted(played: Membership | None) -> tuple[str, ...]:
    return () if played is None else direction.warnings(played.headline.inverted)


def _membership(
    tables: Released, ids: NDArray[Any] | None, show: Sequence[str], seed: int, level: float
) -> Membership | None:
    if tables.holdout is None:
        return None
    frames = (tables.real.to_frame(), tables.holdout.to_frame()) if show else ()
    columns = {name: tuple(np.asarray(frame[name], object) for frame in frames) for name in show}
    shown = {name: (sides[0], sides[1]) for name, sides in columns.items()}
    return audit_membership(tables, ids, shown, seed, level)
