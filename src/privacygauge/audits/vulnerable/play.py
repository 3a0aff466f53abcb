"""The ranking of a table's records, before anything is made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.audits.running import Running
from privacygauge.audits.vulnerable.found import VulnerableRecords
from privacygauge.synthetic.distance import Distance
from privacygauge.synthetic.frames import read_beside, read_table
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.table import Table, advice
from privacygauge.synthetic.vulnerability import vulnerability

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95
"""Every report has a level; here nothing is estimated, so there is no interval."""


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
    found = vulnerability(table, k, distance, beside)
    running = Running("vulnerable", seed, LEVEL, provenance)
    origin = running.origin("pandas", warnings=advice(table))
    return VulnerableRecords(
        found.scores,
        found.k,
        found.distance,
        found.schema,
        origin,
        n_reference=0 if beside is None else len(beside),
    )
