"""The audit of a synthetic table that was already released: what it gives away about people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.audits.released_table import facts
from privacygauge.audits.released_table.facts import release_risk
from privacygauge.audits.released_table.found import ReleasedAudit
from privacygauge.audits.released_table.membership import Membership, audit_membership
from privacygauge.audits.released_table.units import with_people
from privacygauge.audits.running import Running
from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.report import direction
from privacygauge.synthetic.released.attempts import HALF_WIDTH
from privacygauge.synthetic.released.copies import (
    closest_facts,
    closest_records,
    copies,
    copy_facts,
)
from privacygauge.synthetic.released.looks import AskedOfTable, corrected
from privacygauge.synthetic.released.overlap import lone_copies, shared
from privacygauge.synthetic.released.spelling import require_common
from privacygauge.synthetic.released.suite import Exposed, tries
from privacygauge.synthetic.released.tables import NO_CONTROL, Released, tables_of
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.table import require_columns, require_moderate
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
    tables = tables_of(real, synthetic, holdout, schema, (continuous, categorical, drop))
    named = _checked(tables, label, secrets, parts, show, ids)
    asked = AskedOfTable(secrets, attempts, half_width, level, len(parts or {}))
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
    together_found = corrected(tried, copied, lone, together, tables.units)
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
        copies=copy_facts(copied, closest.n, level, tables.units),
        closest=closest_facts(closest, level),
        records=None if played is None else played.records,
        utility=use,
        corrected=together_found,
        overlap=overlap,
        tried=often,
        exposed=_named(attacked.exposed, rows if named is None else named),
    )


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
