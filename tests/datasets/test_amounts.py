"""Amounts as people write them are numbers; codes and names are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.datasets.parsing import amounts_of

NUMBERS = np.array([1006.25, 3.5, -12000.0, 0.75, np.nan])


def written(form):
    return pd.Series([None if np.isnan(x) else form(x) for x in NUMBERS])


FORMS = {
    "dollars": lambda x: f"{'-' if x < 0 else ''}${abs(x):,.2f}",
    "sign behind": lambda x: f"${x:,.2f}",
    "code": lambda x: f"{x:,.2f} USD",
    "german": lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
    "euros": lambda x: f"{x:,.2f} \u20ac".translate(str.maketrans(",.", ".,")),
    "spaces": lambda x: f"{x:,.2f}".translate(str.maketrans(",.", "\u202f,")),
    "swiss": lambda x: f"{x:,.2f}".replace(",", "'"),
    "percent": lambda x: f"{x}%",
    "brackets": lambda x: f"({-x:,.2f})" if x < 0 else f"{x:,.2f}",
}


@pytest.mark.parametrize("name", list(FORMS))
def test_amounts_are_read_as_they_were_written(name):
    np.testing.assert_array_equal(amounts_of(written(FORMS[name])), NUMBERS)


@pytest.mark.parametrize(
    "texts",
    [
        ["12", "7.5"],
        ["D0012", "D0013"],
        ["007", "1,000"],
        ["12 34", "56 78"],
        ["10115", "EUR 7", "USD 8"],
        ["1.006,25", "1,006.25"],
        ["1,5", "2,5"],
        ["192.168.1.1", "10.0.0.1"],
        ["30-39", "40-49"],
        ["123**", "124**"],
        ["5 kg", "7 m"],
        [None, None],
        [1.5, 2.5],
    ],
    ids=str,
)
def test_what_is_no_amount_stays_as_it_is(texts):
    assert amounts_of(pd.Series(texts)) is None
