"""Numbers from amounts and dates in text form, and the order of texts that may be numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats

if TYPE_CHECKING:
    import pandas as pd


_SPACES = re.compile(r"\s+")  # narrow and no-break spaces among them
# A space between digits and exactly three digits separates thousands.
_BETWEEN = re.compile(r"(?<=\d)\s(?=\d{3}(?!\d))")
_UNIT = (
    r"(?:[$\u20ac\u00a3\u00a5\u20b9%]|[Kk]r\.?|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF"
    r"|AUD|CAD|NZD|BRL|ZAR|KRW|MXN|TRY)"
)
_AMOUNT = re.compile(
    rf"(?P<minus>[-+\u2212]?)(?P<open>\(?)(?P<before>{_UNIT}?)(?P<sign>[-+\u2212]?)"
    rf"(?P<number>\d[\d.,']*)(?P<after>{_UNIT}?)(?P<close>\)?)"
)
# Whole numbers in groups of three or without groups, then decimals: 1,006.25 and 1.006,25. An
# apostrophe between thousands goes with either.
_ENGLISH = re.compile(r"(?:[1-9]\d{0,2}(?:[,']\d{3})+|0|[1-9]\d*)(?:\.\d+)?")
_GERMAN = re.compile(r"(?:[1-9]\d{0,2}(?:[.']\d{3})+|0|[1-9]\d*)(?:,\d+)?")


def amounts_of(column: pd.Series[Any]) -> Floats | None:
    """Return a column's amounts as numbers; None for other values, or for plain numbers only.

    Parameters
    ----------
    column : pandas.Series, shape (n,)
        Texts such as $1,006.25, 1.006,25, EUR 12, 7 kr, 12% or (3.50), all with the same decimal
        mark and the same unit. Points or commas that are ambiguous in all texts (1,006) separate
        thousands. Texts with only a comma and no unit (1,5) are not amounts: it may separate two
        codes.

    Returns
    -------
    (n,) Amounts as written, 12 for 12%; NaN for a missing one; None if a value is not an amount.

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
    # Each distinct text is parsed once; codes, (n,), put the results back in place.
    codes, values = pd.factorize(column, use_na_sentinel=True)
    found = []
    for text in values:
        joined = _BETWEEN.sub("'", text.strip())
        # Any other space between digits makes two numbers, which must not be joined.
        two = re.search(r"\d\s+\d", joined)
        found.append(None if two else _AMOUNT.fullmatch(_SPACES.sub("", joined)))
    units = {one["before"] + one["after"] for one in found if one is not None}
    if None in found or len(units - {""}) > 1 or all(is_number(text) for text in values):
        return None
    # English first: texts that fit both, such as 1,006, have thousands.
    numbers = [one["number"] for one in found if one is not None]
    if all(_ENGLISH.fullmatch(number) for number in numbers):
        plain = [number.replace(",", "") for number in numbers]
    elif all(_GERMAN.fullmatch(number) for number in numbers) and (
        units != {""} or any("." in number or "'" in number for number in numbers)
    ):
        plain = [number.replace(".", "").replace(",", ".") for number in numbers]
    else:
        return None
    # Parentheses are an accountant's minus; the other minus is U+2212.
    less = [
        bool(one["open"]) or one["minus"] + one["sign"] in ("-", "\u2212")
        for one in found
        if one is not None
    ]
    amounts = [
        -float(number.replace("'", "")) if negative else float(number.replace("'", ""))
        for number, negative in zip(plain, less, strict=True)
    ]
    # Code -1, a missing value, picks the last entry.
    return np.array([*amounts, np.nan])[codes]


YES_OR_NO = (
    ("1", "0"),
    ("true", "false"),
    ("yes", "no"),
    ("y", "n"),
    ("ja", "nein"),
    ("j", "n"),
    ("oui", "non"),
    ("s\xed", "no"),
    ("si", "no"),
)
"""Words for yes and no, in lower case."""


def is_number(text: str) -> bool:
    """Return whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# Dates as numbers: days since 1970-01-01.

_TIME = r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?"
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
    """Return a column's dates as days since 1970-01-01; None for other values.

    Parameters
    ----------
    column : pandas.Series, shape (n,)
        Dates of pandas, or texts of one format: 2024-01-31 (also with / or .), 31.01.2024,
        31/01/2024 or 01/31/2024, with or without a time of day. If day and month could be swapped
        in all texts (01/02/2024), only a point says that the day comes first.

    Returns
    -------
    (n,) Days, whole for dates without a time, NaN for a missing date; None if a value is not a
    date. Times with a zone are converted to UTC.

    Examples
    --------
    >>> import pandas as pd
    >>> days_of(pd.Series(["31.12.1969", None, "02.01.1970"]))
    array([-1., nan,  1.])
    >>> days_of(pd.Series(["1/2/2024", "3/4/2024"])) is None
    True
    """
    import pandas as pd

    epoch = np.datetime64(0, "us")
    if column.dtype.kind == "M":
        there = (
            column.dt.tz_convert(None) if isinstance(column.dtype, pd.DatetimeTZDtype) else column
        )
        days = (there.to_numpy().astype("datetime64[us]") - epoch) / _DAY
        return np.asarray(days, dtype=np.float64)
    if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "date", "datetime"):
        return None
    codes, values = pd.factorize(column, use_na_sentinel=True)
    texts = [str(value).strip() for value in values]
    found = [dates for form in _FORMS if (dates := _dates(texts, form)) is not None]
    # Several formats may fit; they must then give the same dates.
    if not found or any(not np.array_equal(found[0], other) for other in found[1:]):
        return None
    # Code -1, a missing value, picks the last entry.
    return np.append(np.asarray((found[0] - epoch) / _DAY, np.float64), np.nan)[codes]


def dates_of(days: Floats) -> NDArray[np.datetime64]:
    """Return the dates of days since 1970-01-01, (n,), to the second if any has a time of day."""
    missing = np.isnan(days)
    seconds = np.rint(np.where(missing, 0.0, days) * 86_400).astype(np.int64)
    dates = np.where(missing, np.datetime64("NaT"), seconds.astype("datetime64[s]"))
    whole = np.array_equal(days[~missing], np.rint(days[~missing]))
    return dates.astype("datetime64[D]") if whole else dates


def _dates(texts: list[str], form: re.Pattern[str]) -> NDArray[np.datetime64] | None:
    found = []
    ahead = []
    for text in texts:
        match = form.fullmatch(text)
        if match is None:
            return None
        part = match.groupdict()
        date = f"{part['year']}-{int(part['month']):02}-{int(part['day']):02}"
        zone = part["zone"] or "Z"
        # A clock with the offset +01:00 is an hour ahead of UTC.
        hours, minutes = (
            (0, 0) if zone == "Z" else (int(zone[1:3]), int(zone[-2:]) * (len(zone) > 3))
        )
        ahead.append((-1 if zone[0] == "-" else 1) * (60 * hours + minutes))
        found.append(f"{date}T{part['time'] or '00:00'}")
    try:
        local = np.array(found, dtype="datetime64[us]")
    except ValueError:  # such as the 30th of February
        return None
    return local - np.array(ahead, "timedelta64[m]") if found else None


def text_order(text: str) -> tuple[int, float, str]:
    """Return a sort key for categories: numbers first, 2 before 10, then texts."""
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return (0, number, text) if np.isfinite(number) else (1, 0.0, text)
