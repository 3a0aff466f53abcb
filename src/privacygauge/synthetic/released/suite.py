"""All attempts at the three risks of a released table: on random records, and on outlying ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.synthetic.released.attempts import Attempts
from privacygauge.synthetic.released.hits import Hits
from privacygauge.synthetic.released.in_common import FORMS as IN_COMMON
from privacygauge.synthetic.released.in_common import most_in_common
from privacygauge.synthetic.released.inference import inference
from privacygauge.synthetic.released.linkability import (
    FEWEST_COLUMNS,
    linkability,
    nearly_copied,
    part_copied,
)
from privacygauge.synthetic.released.outlying import Outlying, outlying, singled_out
from privacygauge.synthetic.released.overlap import rows_of
from privacygauge.synthetic.released.singling_out import Form, singling_out
from privacygauge.synthetic.released.tables import Released, drawn_rows

FORMS: tuple[Form, ...] = ("values", "tails")
"""Of predicates that single out."""
N_OUTLYING = 3
"""Forms for the most outlying records: one of each risk."""
N_NEARLY = 1 + len(IN_COMMON)
"""Forms that look for copies of which not all values are left."""


@dataclass(frozen=True)
class Exposed:
    """What became of one of the most outlying real records."""

    row: int
    """Of the real table."""
    score: float
    """Mean distance to the nearest other records, higher is more outlying."""
    singled_out: bool | None
    """Whether a predicate isolates it; None where it was not among as many as in the holdout."""
    linked: bool | None
    """Whether its halves were joined; None for a table of one column."""
    told: int
    """How many of its values were inferred."""
    secrets: int
    """Of how many that were tried."""


@dataclass(frozen=True, eq=False)
class Tries:
    """What was tried."""

    hits: tuple[Hits, ...]
    """One a form of a risk; those on the most outlying records last."""
    skipped: tuple[Skipped, ...]
    """What could not be tried."""
    exposed: tuple[Exposed, ...]
    """The most outlying real records, the most outlying first; none where there are too few."""


def tries(
    tables: Released,
    secrets: Sequence[str] | None,
    attempts: Attempts,
    seed: int,
    parts: Mapping[str, Sequence[str]] | None = None,
) -> Tries:
    """Return the attempts of each form of the three risks.

    Parameters
    ----------
    tables : Released
    secrets : sequence of str, optional
        As in `inference`.
    attempts : Attempts
        On random records; the most outlying ones are all attacked.
    seed : int
        Each form draws from a generator of its own.
    parts : mapping of str to sequence of str, optional
        Columns that come from one source each, by its name; each part is looked for alone too.
    """
    sides = [side for side in (tables.real, tables.holdout) if side is not None]
    rng, n = seeds.stream(seed, "as-many"), min(map(len, sides))
    kept = [drawn_rows(len(side), n, rng) for side in sides]
    even = rows_of(tables, kept[0], kept[1] if len(kept) > 1 else None)
    often = attempts.within(len(tables.real))
    found: list[Hits | Skipped] = [
        singling_out(even, seeds.stream(seed, "singling-out", form), form=form, attempts=often)
        for form in FORMS
    ]
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
        rng = seeds.stream(seed, "inference")
        found += inference(tables, rng, secrets=secrets, attempts=attempts, rows=rows)
    if len(tables.schema.columns) >= FEWEST_COLUMNS:
        found.append(nearly_copied(tables, seeds.stream(seed, "nearly-copied")))
        found += most_in_common(tables, seeds.stream(seed, "in-common"))
    found += [
        part_copied(tables, columns, name, seeds.stream(seed, "part", name))
        for name, columns in (parts or {}).items()
    ]
    hits = sorted((x for x in found if isinstance(x, Hits)), key=lambda x: x.outlying)
    skipped = tuple(x for x in found if isinstance(x, Skipped))
    return Tries(tuple(hits), skipped, () if rows is None else _exposed(rows, kept[0], hits))


def _exposed(rows: Outlying, kept: Ints, hits: Sequence[Hits]) -> tuple[Exposed, ...]:
    """Return what became of each of the most outlying real records."""
    attack = {found.name: found.attack for found in hits if found.outlying}
    tried = rows.real[np.isin(rows.real, kept)].tolist()
    alone = dict(zip(tried, attack.get("singling-out", ()), strict=False))
    joined = dict(zip(rows.real.tolist(), attack.get("linkability", ()), strict=False))
    told = attack.get("inference", np.zeros(0, np.bool_)).reshape(-1, len(rows.real))
    return tuple(
        Exposed(
            row,
            score,
            None if row not in alone else bool(alone[row]),
            None if row not in joined else bool(joined[row]),
            int(told[:, place].sum()),
            len(told),
        )
        for place, (row, score) in enumerate(
            zip(rows.real.tolist(), rows.scores.tolist(), strict=True)
        )
    )
