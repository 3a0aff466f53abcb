"""Log ratios as a reader sees them; records by name, in order, and as tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.audits.dtp.result import DtpResult
from privacygauge.classifier.dtp.ratios import cap
from privacygauge.classifier.dtp.removal import LIMIT, RemovalPath
from privacygauge.report.document import DataFrame, frame, names_of
from privacygauge.report.numbers import count, decimal, rounded_up, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

AT_LEAST = "\N{GREATER-THAN OR EQUAL TO}\N{NARROW NO-BREAK SPACE}"
"""Prefix of a number without an upper bound."""

_LARGEST = 1e6
"""Largest factor that is printed; larger ones read "over" this one."""


def nats(value: float) -> str:
    """Return a log ratio with three decimals, or more if it would read as zero or the limit.

    Examples
    --------
    >>> nats(2.5), nats(1.0), nats(1.0002), nats(0.00012)
    ('2.500', '1.000', '1.0002', '0.0001')
    """
    places = 3
    while math.isfinite(value) and value not in (0.0, LIMIT) and places < 9:
        if float(decimal(value, places)) not in (0.0, LIMIT):
            break
        places += 1
    return decimal(value, places)


def factor(value: float) -> str:
    """Return the factor by which a probability changes, given the log of the ratio.

    Examples
    --------
    >>> factor(0.03), factor(1.0), factor(5.29), factor(20.0)
    ('1.03', '2.7', '198', 'over 1,000,000')
    """
    if math.isinf(value):
        return decimal(value, 0)
    ratio = math.exp(min(value, 50.0))
    if ratio > _LARGEST:
        return f"over {count(int(_LARGEST))}"
    return decimal(ratio, 2 if ratio < 2 else 1) if ratio < 10 else count(int(ratio + 0.5))


def between(low: float, high: float) -> str:
    """Return the range of a DTP: exact, bounded, or with a lower end alone.

    Examples
    --------
    >>> between(0.5, 0.5), between(0.5, 1.25)
    ('0.500', '0.500 to 1.250')
    """
    if low == high:
        return nats(low)
    least = nats(low)
    return f"{AT_LEAST}{least}" if math.isinf(high) else f"{least} to {rounded_up(high, 3)}"


def in_bins(width: float) -> str:
    """Describe the bins in which probabilities are published, and the consequence."""
    if not width:
        return "No bins: every digit of a probability is published."
    return (
        f"Width {width:g}, the centre is published. So no log ratio exceeds "
        f"{rounded_up(cap(width), 3)}, whatever a record does."
    )


FACTOR = factor(LIMIT)
"""Factor of a log ratio at the limit: e, rounded."""


MOST = 50
"""Number of the riskiest records shown."""


def record_id(f: DtpResult, i: int) -> str:
    """Return the id of the measured record at a place."""
    return shorten(str(f.ids[i]))


def class_of(f: DtpResult, label: int) -> str:
    """Return the name of a class."""
    return shorten(f.class_names[label])


def record_of(f: DtpResult, row: int) -> str:
    """Return the id of the record in a row of the data, or the row if it was not measured."""
    place = int(np.searchsorted(f.rows, row))
    if place == len(f.rows) or f.rows[place] != row:
        return f"row {row}"
    return record_id(f, place)


def records_frame(f: DtpResult) -> DataFrame:
    """Return one row per measured record.

    Columns: ``row`` of the data, ``pdtp``, ``dtp_lower``, ``dtp_upper``, ``id``, ``label``
    (the class's name); and where there are several training sets, the mean over them and its
    interval: ``averaged``, ``averaged_low``, ``averaged_high``. All in nats, infinity
    included.
    """
    columns: dict[str, NDArray[Any]] = {
        "row": f.rows,
        "pdtp": f.pdtp,
        "dtp_lower": f.dtp.low,
        "dtp_upper": f.dtp.high,
        "id": names_of(f.ids),
        "label": names_of(np.array(f.class_names, dtype=object)[f.labels]),
    }
    ends = {"averaged": "value", "averaged_low": "low", "averaged_high": "high"}
    for name, end in ends.items() if f.averages else ():
        columns[name] = np.array([getattr(x, end) for x in f.averages])
    return frame(columns)


def removal_frame(path: RemovalPath) -> DataFrame:
    """Return one row for the whole training set and one per removal.

    Columns: ``step`` (0 before any removal), ``removed`` (the row; missing at step 0),
    ``value`` of the record when it was removed, ``before`` (its value one removal earlier),
    ``highest`` (the largest value of the records that are left), ``best`` (whether to stop
    here).
    """
    import pandas as pd

    step = np.arange(len(path.highest))
    columns = {
        "step": step,
        "removed": pd.array([None, *path.removed.tolist()], dtype="Int64"),
        "value": np.concatenate([[np.nan], path.value]),
        "before": np.concatenate([[np.nan], path.before]),
        "highest": path.highest,
        "best": step == path.best,
    }
    return frame(columns)
