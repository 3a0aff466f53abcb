"""The records of an audit of differential training privacy: their names, orders and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.audits.dtp.found import DtpAudit
from privacygauge.classifier.dtp.removal import RemovalPath
from privacygauge.core.checks import Ints
from privacygauge.report.document import names_of
from privacygauge.report.numbers import shortened

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

MOST = 50
"""Number of of the riskiest records that are shown."""


def by_other_queries(f: DtpAudit) -> Ints:
    """Return places of records that only other queries give away, by what those show."""
    places = np.flatnonzero(f.indirect)
    return places[np.argsort(-f.dtp.low[places], kind="stable")][:MOST]


def by_average(f: DtpAudit) -> Ints:
    """Return places of the records of the largest mean PDTP over training sets."""
    values = np.array([x.value for x in f.averages])
    return np.argsort(-values, kind="stable")[:MOST]


def name_of(f: DtpAudit, i: int) -> str:
    """Return the id of the measured record at a place."""
    return shortened(str(f.ids[i]))


def class_of(f: DtpAudit, label: int) -> str:
    """Return the name of a class."""
    return shortened(f.class_names[label])


def record_of(f: DtpAudit, row: int) -> str:
    """Return the id of the record in a row of the data, or the row where it was not measured."""
    place = int(np.searchsorted(f.rows, row))
    if place == len(f.rows) or f.rows[place] != row:
        return f"row {row}"
    return name_of(f, place)


def records_frame(f: DtpAudit) -> pd.DataFrame:
    """Return one row for every record that was measured.

    Columns: ``row`` of the data, ``pdtp``, ``dtp_lower``, ``dtp_upper``, ``id``, ``label``
    (the class's name); and where there are several training sets, the mean over them and its
    interval: ``averaged``, ``averaged_low``, ``averaged_high``. All in nats, infinity
    included.
    """
    import pandas as pd

    columns: dict[str, NDArray[Any]] = {
        "row": f.rows,
        "pdtp": f.pdtp,
        "dtp_lower": f.dtp.low,
        "dtp_upper": f.dtp.high,
        "id": names_of(f.ids),
        "label": names_of(np.array(f.class_names, dtype=object)[f.labels]),
    }
    if f.averages:
        columns["averaged"] = np.array([x.value for x in f.averages])
        columns["averaged_low"] = np.array([x.low for x in f.averages])
        columns["averaged_high"] = np.array([x.high for x in f.averages])
    return pd.DataFrame(columns)


def removal_frame(path: RemovalPath) -> pd.DataFrame:
    """Return one row for the whole training set and one for every removal.

    Columns: ``step`` (0 before any removal), ``removed`` (the row; missing at step 0),
    ``value`` of the record when it was removed, ``before`` (its value one removal earlier),
    ``highest`` (the largest value of the records that are left), ``best`` (whether to stop
    here).
    """
    import pandas as pd

    step = np.arange(len(path.highest))
    return pd.DataFrame(
        {
            "step": step,
            "removed": pd.array([None, *path.removed.tolist()], dtype="Int64"),
            "value": np.concatenate([[np.nan], path.value]),
            "before": np.concatenate([[np.nan], path.before]),
            "highest": path.highest,
            "best": step == path.best,
        }
    )
