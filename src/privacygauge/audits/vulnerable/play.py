"""The ranking of a table's records, before anything is made from it: who is far from all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.audits.running import Running
from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.units import owners
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report
from privacygauge.synthetic.distance import Distance
from privacygauge.synthetic.frames import read_beside, read_table
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.table import Table, advice
from privacygauge.synthetic.vulnerability import Vulnerability, vulnerability

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

LEVEL = 0.95
"""Every report has a level; here nothing is estimated, so there is no interval."""

TOP = 10
"""The default number of records to list."""


@dataclass(frozen=True, eq=False, repr=False)
class VulnerableRecords(Reported, Vulnerability):
    """Every record's vulnerability score, their order, and ways to look at them."""

    origin: Origin
    """Where it comes from; nothing is drawn or estimated."""
    listed: int = TOP
    """How many records a report lists."""
    n_reference: int = 0
    """The number of further records whose numbers count in the ranges."""

    def __repr__(self) -> str:
        row = int(self.order[0])
        return f"<VulnerableRecords of {len(self):,}: row {row} first, with {self.scores[row]:.4f}>"

    def report(self, top: int | None = None) -> Report:
        """Return everything that there is to say, as plain values.

        Lists `top` records; by default as many as `listed`.
        """
        from privacygauge.audits.vulnerable.says import report

        return report(self, self.listed if top is None else top)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every record: row, score, rank."""
        import pandas as pd

        return pd.DataFrame({"row": np.arange(len(self)), "score": self.scores, "rank": self.ranks})

    def summary(self, top: int | None = None) -> str:
        """Return the most vulnerable records as plain text."""
        from privacygauge.report import render

        return render.summary(self.report(top))

    def to_json(self, top: int | None = None) -> str:
        """Return the text of ``report.json``: the most vulnerable records, and what was asked."""
        from privacygauge.report import render

        return render.as_json(self.report(top))


def vulnerable_records(
    data: Table | pd.DataFrame | str | Path | object,
    *,
    k: int = 5,
    distance: Distance | None = None,
    schema: Schema | None = None,
    continuous: Sequence[str] = (),
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    reference: Table | pd.DataFrame | str | Path | object | None = None,
    unit: ArrayLike | None = None,
    seed: int = 0,
    provenance: Mapping[str, str] | None = None,
) -> VulnerableRecords:
    """Return every record's vulnerability score: how far it is from its nearest neighbours.

    Records without close neighbours are those that a synthetic table gives away first; they are
    the ones to attack in an audit.

    Parameters
    ----------
    data : Table, pandas or polars frame, str or Path
        Of a file: CSV or Parquet with a header.
    k : int
        How many neighbours, in 1..n - 1.
    distance : Cosine or Minkowski, optional
        Default: the cosine.
    schema, continuous, categorical, drop
        As in `read_table`: numbers are numbers and texts are categories unless told otherwise.
    reference
        A further table, such as one that `data` is a part of: numbers are scaled to the range of
        both together. Its records are not neighbours.
    unit : array_like, shape (n,), optional
        The person behind each record, whose other records are not neighbours; default: every
        record is one person's.
    seed, provenance
        Kept in the report.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Examples
    --------
    >>> import pandas as pd
    >>> towns = pd.DataFrame({"town": ["A"] * 4 + ["B"], "works": list("yyynn")})
    >>> vulnerable_records(towns, k=2).scores
    array([0.  , 0.  , 0.  , 0.5 , 0.75])
    """
    table = read_table(
        data, schema=schema, continuous=continuous, categorical=categorical, drop=drop
    )
    beside = None if reference is None else read_beside(reference, table.schema, drop=drop)
    owner = owners(unit, None, len(table))
    found = vulnerability(table, k, distance, beside, owner)
    running = Running("vulnerable", seed, LEVEL, provenance)
    origin = running.origin("pandas", warnings=(*_people(owner), *advice(table)))
    return VulnerableRecords(
        found.scores,
        found.k,
        found.distance,
        found.schema,
        origin,
        unit=owner,
        n_reference=0 if beside is None else len(beside),
    )


def _people(owner: Ints | None) -> list[str]:
    """Return what is to be said of people with several records."""
    if owner is None:
        return []
    return [
        f"{len(owner):,} records belong to {checks.n_distinct(owner):,} people: a person's other "
        "records are no neighbours, and of each person the record of the highest score is listed"
    ]
