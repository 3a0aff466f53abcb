"""Census 2011 microdata teaching file of England and Wales: 17 attributes of people, all codes."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

from privacygauge.datasets.files import VARIABLE, content_of, own_file
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

LICENCE = "Open Government Licence (Office for National Statistics)"

WHOLE = "uk_census_2011.csv"
"""The whole file: 569,741 people, saved from the Office for National Statistics."""

SAMPLE = "uk_census_2011_first50000.csv"
"""Its first 50,000 rows. The file is sorted: they are people of six of ten regions."""

_SAMPLE_SHA256 = "183975c0ff42ae3a1cb14281a5776f58d73d6937f7c85bb82c3f5aa881ea1267"
_ID = "Person ID"
_ROWS = 569_741


def census() -> tuple[pd.DataFrame, bool]:
    """Return the people with their codes as texts, and whether these are all of them.

    Returns
    -------
    tuple of pandas.DataFrame and bool
        17 columns, the person's number left out; -9 where no code is required. False where only
        the first 50,000 rows of the sorted file are available.

    Raises
    ------
    InputError
        If neither file is in the folder that PRIVACYGAUGE_DATA names, or it is another one.
    """
    import pandas as pd

    name = WHOLE if own_file(WHOLE) is not None else SAMPLE
    path = own_file(name)
    if path is None:
        raise InputError(
            f"neither {WHOLE} nor {SAMPLE} is in the folder that {VARIABLE} names: get the 2011 "
            "Census Microdata Teaching File from the Office for National Statistics and save it "
            f"there as {WHOLE}"
        )
    content = content_of(path)
    if name == SAMPLE and hashlib.sha256(content).hexdigest() != _SAMPLE_SHA256:
        raise InputError(f"{path} is not the {SAMPLE} that is meant: its checksum differs")
    frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    if _ID not in frame or (name == WHOLE and len(frame) != _ROWS):
        raise InputError(
            f"{path} is not the census teaching file: it must have the column {_ID!r}, and "
            f"{_ROWS:,} rows where it is the whole one, got {len(frame):,}"
        )
    return frame.drop(columns=_ID), name == WHOLE
