"""UCI Adult: 48,842 people of the 1994 census, and whether they earn more than 50,000 dollars."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.local_copies import read_checked

if TYPE_CHECKING:
    import pandas as pd

LICENCE = "CC BY 4.0 (B. Becker, R. Kohavi; UCI Machine Learning Repository)"

RECORDS = 48_842
"""People in both files together."""

WEIGHT = "fnlwgt"
"""How many people of the census a record stands for: no attribute of the person."""

CONTINUOUS = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)
CATEGORICAL = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)

_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)
_SOURCE = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


def adult() -> pd.DataFrame:
    """Return all 48,842 rows in the order of the files, training file first.

    Returns
    -------
    pandas.DataFrame
        14 attributes and ``income`` (1 for more than 50,000 dollars); "?" where a value is
        missing. From the folder that PRIVACYGAUGE_DATA names, or from UCI.
    """
    import pandas as pd

    parts = []
    for name, sha256 in _FILES.items():
        text = read_checked(name, _SOURCE + name, sha256).decode("ascii")
        parts.append(
            pd.read_csv(
                io.StringIO(text),
                names=_COLUMNS,
                skipinitialspace=True,
                skiprows=int(text.startswith("|")),
                keep_default_na=False,
            )
        )
    frame = pd.concat(parts, ignore_index=True)
    frame["income"] = frame["income"].str.startswith(">50K").astype(np.int64)
    return frame


def adult_binary(
    frame: pd.DataFrame, continuous: Sequence[str] = CONTINUOUS
) -> tuple[Floats, Ints]:
    """Return features for networks: categories as binary attributes, numbers normalised.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of `adult`.
    continuous : sequence of str
        The numbers to keep; Long et al. (2017) leave out `WEIGHT`.

    Returns
    -------
    tuple of ndarray, shapes (n, d) and (n,)
        Numbers have mean 0 and deviation 1 (Long et al. 2017, section 5.1); income 0 or 1.
    """
    import pandas as pd

    numbers = frame[list(continuous)].to_numpy(np.float64)
    spread = numbers.std(axis=0)
    numbers = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    binary = pd.get_dummies(frame[list(CATEGORICAL)]).to_numpy(np.float64)
    return np.hstack([numbers, binary]), frame["income"].to_numpy(np.int64)
