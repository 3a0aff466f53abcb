"""The most outlying records, which a generator exposes first (Meeus et al. 2023).

Real records and the holdout are ranked together, whichever side they are on: the most outlying ones
of the holdout are a control for the most outlying real ones, whatever the sizes of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.tables.released.hits import Hits
from privacygauge.tables.released.neighbours import usual_distance
from privacygauge.tables.released.tables import FEWEST, ReleasedTables
from privacygauge.tables.selection import DIGITS, vulnerability_scores

SHARE = 0.01
"""Share of the records, the most outlying ones, that are also attacked separately."""
LEAST = 200
"""Fewest such records over both tables: fewer leave wide intervals."""
MOST = 0.2
"""Largest share of all records; it caps `LEAST`."""
NEIGHBOURS = 5
"""Nearest neighbours in the mean distance that measures outlyingness; records of the same person do
not count."""
VARIANT = "most outlying records"
"""Variant of these attacks, as reports print it."""


@dataclass(frozen=True, eq=False)
class Outlying:
    """The most outlying records of the real table and of the holdout."""

    real: Ints
    """Rows of the real table, the most outlying first."""
    holdout: Ints
    """Rows of the holdout, the most outlying first; empty without a holdout."""
    scores: Floats
    """(len(real),) Mean distance of each of `real` to the nearest records of other people."""

    @property
    def sides(self) -> tuple[Ints, ...]:
        """Rows of each table present."""
        return (self.real, self.holdout) if len(self.holdout) else (self.real,)


def outlying(released: ReleasedTables) -> Outlying | Skipped:
    """Return the records that are farthest from all others, in one ranking of both tables.

    Ties with the last score are included. The choice ignores which table a record is in: if the
    synthetic table was made from neither, attacks succeed equally often on both.


    Returns
    -------
    Outlying, or Skipped
        1% of all records, at least 200, at most a fifth of all. Skipped if fewer than ten of them
        are from one of the tables.
    """
    real = released.real
    holdout = released.holdout
    everyone = released.everyone
    people = np.concatenate(released.units)
    several = checks.n_distinct(people) < len(people)
    # The most frequent person has too few records of others to be near to.
    if len(people) - np.bincount(people).max() < NEIGHBOURS:
        return Skipped(f"risks of the {VARIANT}", "nearly all records are one person's")
    distance = usual_distance(released.schema)
    unit = people if several else None
    scores = vulnerability_scores(everyone, NEIGHBOURS, distance, unit=unit)
    # Rounded, so that equal records tie whatever the order of the summation.
    scores = np.round(scores, DIGITS)
    n = len(scores)
    wanted = min(max(LEAST, round(SHARE * n)), int(MOST * n))
    order = np.argsort(-scores, kind="stable")
    rows = order[: np.count_nonzero(scores >= scores[order[wanted - 1]])]
    member = rows < len(real)
    found = Outlying(rows[member], rows[~member] - len(real), scores[rows[member]])
    least = len(found.real) if holdout is None else min(len(found.real), len(found.holdout))
    if least < FEWEST:
        reason = f"{least} of a table are among the {wanted} first, fewer than {FEWEST}"
        return Skipped(f"risks of the {VARIANT}", reason)
    return found


def singled_out(
    forms: Sequence[Hits], released: ReleasedTables, kept: Sequence[Ints], rows: Outlying
) -> Hits:
    """Return which of the most outlying records a predicate isolates.

    Parameters
    ----------
    forms : sequence of Hits
        Results of `singling_out`, at least one.
    released : ReleasedTables
        Release with all records.
    kept : sequence of ndarray of int
        Rows of each table on which the predicates were tried; other records do not count as
        attempts.
    rows : Outlying
    """
    asked = [some[np.isin(some, those)] for some, those in zip(rows.sides, kept, strict=True)]

    def isolated(side: int, units: Sequence[Ints | None]) -> Bools:
        """Return which queried rows predicates isolate; units are positions in `kept`."""
        # Units from len(kept) on mark predicates that isolate no record.
        places = np.concatenate([unit for unit in units if unit is not None])
        return np.isin(asked[side], kept[side][places[places < len(kept[side])]])

    units = released.people(asked)
    return Hits(
        "singling-out",
        variant=VARIANT,
        attack=isolated(0, [found.attack_unit for found in forms]),
        control=isolated(1, [found.control_unit for found in forms]) if len(asked) > 1 else None,
        baseline=isolated(0, [found.baseline_unit for found in forms]),
        meaning=(
            "one of the most outlying records is singled out where any of the predicates above "
            "isolates it"
        ),
        attack_unit=units[0],
        control_unit=units[1] if len(units) > 1 else None,
        baseline_unit=units[0],
        outlying=True,
        notes=released.notes,
    )
