"""Amounts and dates, as people write them, as numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats

if TYPE_CHECKING:
    import pandas as pd


_SPACES = re.compile(r"\s+")  # the narrow and the unbreakable one among them
_BETWEEN = re.compile(r"(?<=\d)\s(?=\d{3}(?!\d))")
_UNIT = (
    r"(?:[$\u20ac\u00a3\u00a5\u20b9%]|[Kk]r\.?|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF"
    r"|AUD|CAD|NZD|BRL|ZAR|KRW|MXN|TRY)"
)
_AMOUNT = re.compile(
    rf"(?P<minus>[-+\u2212]?)(?P<open>\(?)(?P<before>{_UNIT}?)(?P<sign>[-+\u2212]?)"
    rf"(?P<number>\d[\d.,']*)(?P<after>{_UNIT}?)(?P<close>\)?)"
)
_ENGLISH = re.compile(r"(?:[1-9]\d{0,2}(?:[,']\d{3})+|0|[1-9]\d*)(?:\.\d+)?")
_GERMAN = re.compile(r"(?:[1-9]\d{0,2}(?:[.']\d{3})+|0|[1-9]\d*)(?:,\d+)?")


def amounts_of(column: pd.Series[Any]) -> Floats | None:
    """Return a column's amounts as numbers, or None where it holds others, or plain numbers alone.

    Parameters
    ----------
    column : pandas.Series, shape (n,)
        Texts such as $1,006.25, 1.006,25, EUR 12, 7 kr, 12% or (3.50), all with the same mark of
        decimals and the same unit. Where points and commas could be either in all of the texts
        (1,006), they stand between thousands. A comma alone (1,5), without a unit, may also part
        two codes: such texts are none.

    Returns
    -------
    (n,) As they are written, 12 for 12%; NaN where one is missing; None if a value is no amount.

    Examples
    --------
    >>> import pandas as pd
    >>> amounts_of(pd.Series(["$1,006.25", None, "-$3"]))
    array([1006.25,     nan,   -3.  ])
    >>> amounts_of(pd.Series(["1.006,25 EUR", "3 EUR"]))
    array([1006.25,    3.  ])
    >>> amounts_of(pd.Series(["D12", "D13"])) is None
    True
    """
    import pandas as pd

    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        return None
    codes, values = pd.factorize(column, use_na_sentinel=True)
    found = [_match_amount(text) for text in values]
    units = {one["before"] + one["after"] for one in found if one is not None}
    if None in found or len(units - {""}) > 1 or all(_is_plain(text) for text in values):
        return None
    numbers = [one["number"] for one in found if one is not None]
    if all(_ENGLISH.fullmatch(number) for number in numbers):
        plain = [number.replace(",", "") for number in numbers]
    elif all(_GERMAN.fullmatch(number) for number in numbers) and (
        units != {""} or any("." in number or "'" in number for number in numbers)
    ):
        plain = [number.replace(".", "").replace(",", ".") for number in numbers]
    else:
        return None
    less = [
        bool(one["open"]) or one["minus"] + one["sign"] in ("-", "\u2212")
        for one in found
        if one is not None
    ]
    amounts = [
        -float(number.replace("'", "")) if negative else float(number.replace("'", ""))
        for number, negative in zip(plain, less, strict=True)
    ]
    # The last entry is what code -1, a missing value, becomes.
    return np.array([*amounts, np.nan])[codes]


def _match_amount(text: str) -> re.Match[str] | None:
    """Return the parts of an amount; None where the text is none."""
    joined = _BETWEEN.sub("'", text.strip())
    if re.search(r"\d\s+\d", joined):
        return None
    return _AMOUNT.fullmatch(_SPACES.sub("", joined))


def _is_plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Dates as numbers: days since 1970-01-01.

_TIME = r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)Z?)?"
_FORMS = tuple(
    re.compile(form + _TIME)
    for form in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4})",
        r"(?P<month>\d{1,2})(?P<mark>[-/])(?P<day>\d{1,2})(?P=mark)(?P<year>\d{4})",
    )
)
_DAY = np.timedelta64(1, "D").astype("timedelta64[us]")


def days_of(column: pd.Series[Any]) -> Floats | None:
    """Return a column's dates as days since 1970-01-01, or None where it holds others.

    Parameters
    ----------
    column : pandas.Series, shape (n,)
        Dates as pandas has them, or texts of one form: 2024-01-31 (also with / or .), 31.01.2024,
        31/01/2024 or 01/31/2024, with or without a time of day. Where days and months may be
        exchanged in all of the texts (01/02/2024), only a point says that the day comes first.

    Returns
    -------
    (n,) Whole for dates without a time, NaN where one is missing; None if a value is no date.
    Times of a zone are those of UTC.

    Examples
    --------
    >>> import pandas as pd
    >>> days_of(pd.Series(["31.12.1969", None, "02.01.1970"]))
    array([-1., nan,  1.])
    >>> days_of(pd.Series(["1/2/2024", "3/4/2024"])) is None
    True
    """
    import pandas as pd

    if column.dtype.kind == "M":
        there = (
            column.dt.tz_convert(None) if isinstance(column.dtype, pd.DatetimeTZDtype) else column
        )
        return _days(there.to_numpy().astype("datetime64[us]"))
    if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "date", "datetime"):
        return None
    codes, values = pd.factorize(column, use_na_sentinel=True)
    texts = [str(value).strip() for value in values]
    found = [dates for form in _FORMS if (dates := _dates(texts, form)) is not None]
    if not found or any(not np.array_equal(found[0], other) for other in found[1:]):
        return None
    # The last entry is what code -1, a missing value, becomes.
    return np.append(_days(found[0]), np.nan)[codes]


def dates_of(days: Floats) -> NDArray[np.datetime64]:
    """Return (n,) the dates of days since 1970-01-01: with a time, to the second, if need be."""
    missing = np.isnan(days)
    seconds = np.rint(np.where(missing, 0.0, days) * 86_400).astype(np.int64)
    dates = np.where(missing, np.datetime64("NaT"), seconds.astype("datetime64[s]"))
    whole = np.array_equal(days[~missing], np.rint(days[~missing]))
    return dates.astype("datetime64[D]") if whole else dates


def _dates(texts: list[str], form: re.Pattern[str]) -> NDArray[np.datetime64] | None:
    found = []
    for text in texts:
        match = form.fullmatch(text)
        if match is None:
            return None
        part = match.groupdict()
        date = f"{part['year']}-{int(part['month']):02}-{int(part['day']):02}"
        found.append(f"{date}T{part['time'] or '00:00'}")
    try:
        return np.array(found, dtype="datetime64[us]") if found else None
    except ValueError:  # such as the 30th of February
        return None


def _days(dates: NDArray[np.datetime64]) -> Floats:
    days = (dates - np.datetime64(0, "us")) / _DAY
    return np.asarray(days, dtype=np.float64)
