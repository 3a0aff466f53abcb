"""Amounts as numbers: what people write with a currency, a percent sign or marks of thousands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

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
