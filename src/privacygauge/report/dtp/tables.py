"""Findings on differential training privacy as tables and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.classifier.dtp.removal import RemovalPath
from privacygauge.report.dtp.verdict import reach, verdict
from privacygauge.report.dtp.views import mean
from privacygauge.report.dtp.words import between, nats, records
from privacygauge.report.numbers import count, percent, percent_estimate, plain, rate
from privacygauge.report.tables import as_summary, names_of, parquet

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

FIRST = ("row", "pdtp", "dtp_lower", "dtp_upper")
"""The columns that ``records.parquet`` begins with."""


def records_frame(f: DtpFindings) -> pd.DataFrame:
    """Return one row for every record that was measured.

    Parameters
    ----------
    f : DtpFindings

    Returns
    -------
    pandas.DataFrame
        Columns: ``row`` of the data, ``id``, ``label`` (the class's name), ``pdtp``,
        ``dtp_lower``, ``dtp_upper``; and where there are several training sets, the mean over
        them and its interval: ``averaged``, ``averaged_low``, ``averaged_high``. All in nats,
        infinity included.
    """
    import pandas as pd

    columns: dict[str, NDArray[Any]] = {
        "row": f.rows,
        "id": names_of(f.ids),
        "label": names_of(np.array(f.class_names, dtype=object)[f.labels]),
        "pdtp": f.pdtp,
        "dtp_lower": f.dtp.low,
        "dtp_upper": f.dtp.high,
    }
    if f.averages:
        columns["averaged"] = np.array([x.value for x in f.averages])
        columns["averaged_low"] = np.array([x.low for x in f.averages])
        columns["averaged_high"] = np.array([x.high for x in f.averages])
    return pd.DataFrame(columns)


def records_parquet(f: DtpFindings) -> bytes:
    """Return `records_frame` as a Parquet file that begins with row, pdtp and both ends of DTP."""
    frame = records_frame(f)
    return parquet(frame[[*FIRST, *(name for name in frame if name not in FIRST)]])


def removal_frame(path: RemovalPath) -> pd.DataFrame:
    """Return one row for the whole training set and one for every removal.

    Parameters
    ----------
    path : RemovalPath

    Returns
    -------
    pandas.DataFrame
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


def removal_csv(path: RemovalPath) -> str:
    """Return `removal_frame` as text with commas; every number has all of its digits."""
    return removal_frame(path).to_csv(index=False, lineterminator="\n")


def summary(f: DtpFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    return as_summary(verdict(f), lines(f), f.warnings, f.skipped)


def lines(f: DtpFindings) -> tuple[tuple[str, str], ...]:
    """Return the main numbers, each with its name."""
    low, high = float(f.dtp.low.max()), float(f.dtp.high.max())
    return (
        ("Largest PDTP", f"{nats(f.highest)} (limit 1)"),
        ("Records above 1", f"{count(f.n_above)} of {count(len(f.rows))}{_share(f)}"),
        ("Mean PDTP", f"{mean(f)}{_level(f)}"),
        ("DTP, all queries", f"{between(low, high)} ({_state(f)})"),
        ("Shown by others alone", records(int(np.count_nonzero(f.indirect)))),
        *_removal(f.removal),
        *_averages(f),
        ("Bins", f"width {f.width:g}" if f.width else "none"),
        ("Model", f"{plain(f.model)}; {plain(f.method)}"),
    )


def _share(f: DtpFindings) -> str:
    if f.complete:
        return f" ({percent(f.share_above.value)})"
    return f"; of all {percent_estimate(f.share_above)}{_level(f)}"


def _level(f: DtpFindings) -> str:
    return "" if f.complete else f", {rate(f.level)} interval"


def _state(f: DtpFindings) -> str:
    found = reach(f)
    if found.unknown:
        return "no upper bound is known"
    return "certified bounds" if found.bounded else "exact"


def _removal(path: RemovalPath | None) -> tuple[tuple[str, str], ...]:
    if path is None:
        return ()
    lowest, n = float(path.highest[path.best]), len(path.removed)
    text = f"{nats(lowest)} after {count(path.best)} of {count(n)}"
    return (
        (
            f"Largest {path.measure}, records removed",
            f"{text}, from {nats(float(path.highest[0]))}",
        ),
    )


def _averages(f: DtpFindings) -> tuple[tuple[str, str], ...]:
    if not f.averages:
        return ()
    above = sum(x.value > 1 for x in f.averages)
    return (("Above 1 on average", f"{count(above)}, over {count(f.averages[0].n)} training sets"),)
