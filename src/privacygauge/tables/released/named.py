"""Columns that are not attributes: names of records or people, and free text.

A column that differs in every record does not help to compare records: it makes all of them equally
far apart. Such columns are left out of the comparison and examined alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.parsing import amounts_of, days_of
from privacygauge.tables.frames import ROW_NUMBERS

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 100
"""Fewest rows; in fewer, texts may all differ without being names."""
FEWEST_JOINED = 40
"""Fewest rows of the same names in two tables; fewer show nothing."""
_FEWEST_NUMBERS = 20
"""Fewest rows; in fewer, whole numbers may all differ without being names."""
_DISTINCT = 0.5
"""Smallest share of distinct values in free text."""
_WORDS = 3
"""Fewest words in free text, on average."""
_DENSE = 2
"""Row numbers fill more than one in this many places of their range."""
_PARTS_OF_NAMES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
"""Words in the name of a column, such as ``patient_id`` or ``PatientID``."""
_IDS = frozenset(("id", "nr", "no", "num", "number", "key", "mrn", "pid", "person", "patient"))
"""Words, in lower case, that mark a column as naming records or people."""
_SEVERAL_ROWS = 20
"""Most rows per person, on average, in a column that names people."""
_LONG = 10**6
"""Distinct whole numbers of at least this size are names, such as insurance numbers."""
_CHANCE = 1e-3
"""Largest probability that chance puts equal values on both sides and never on one side."""
_SEVERAL = 0.9
"""Most distinct values per row in a column that names people."""
_LEVELS = 20
"""Fewest distinct values in a column that names people."""

Texts = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of free text, or of names other than row numbers; None for a missing text."""

    name: str
    """Name of the column, as in the header."""
    real: Texts
    """(n,) Texts of the real table."""
    synthetic: Texts
    """(s,) Texts of the synthetic table."""
    holdout: Texts | None
    """(m,) Texts of the holdout; None without a holdout."""
    is_free: bool
    """True for free text, parts of which may be copied."""
    known: dict[str, dict[str | None, float]] = field(default_factory=dict, repr=False)
    """Similarity to synthetic texts by measure and text, computed once and shared by all selections
    of rows."""

    def in_common(self, texts: Texts, measure: Callable[[Texts, Texts], Floats]) -> Floats:
        """Return the similarity (n,) of each text to the synthetic ones under a measure."""
        known = self.known.setdefault(measure.__name__, {})
        asked = [text for text in dict.fromkeys(texts) if text not in known]
        if asked:
            found = measure(np.array(asked, dtype=object), self.synthetic)
            known.update(zip(asked, found.tolist(), strict=True))
        return np.array([known[text] for text in texts], np.float64)

    def rows(self, real: NDArray[Any], holdout: NDArray[Any] | None) -> TextColumn:
        """Return the column for some of the real and holdout records."""
        kept = None if holdout is None or self.holdout is None else self.holdout[holdout]
        return replace(self, real=self.real[real], holdout=kept)


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """Real and synthetic rows of one name or number, in a column that is left out."""

    column: str
    """Name of the column."""
    real: Ints
    """(k,) Rows of the real table, in the order of the names."""
    synthetic: Ints
    """(k,) Synthetic rows of the same names."""

    def among(self, rows: Ints) -> JoinedRows:
        """Return the rows for a real table that has only some of its rows."""
        place = {row: new for new, row in enumerate(rows.tolist())}
        kept = np.isin(self.real, rows)
        real = np.array([place[row] for row in self.real[kept].tolist()], np.int64)
        return JoinedRows(self.column, real, self.synthetic[kept])


@dataclass(frozen=True, eq=False)
class Apart:
    """Columns left out of the comparison of records."""

    columns: tuple[str, ...]
    """Names of all columns left out."""
    texts: tuple[TextColumn, ...]
    """Columns that are examined alone; row numbers are not."""
    person: str | None
    """Column that names people with several rows each; None if there is none."""
    said: tuple[str, ...]
    """Notes, one or two per column."""
    joined: tuple[JoinedRows, ...] = ()
    """Rows that columns of names or numbers join."""


def identifying_columns(frames: Mapping[str, pd.DataFrame], kept: Sequence[str]) -> Apart:
    """Find the columns that name records or people, and those of free text.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        Frames by name: real, synthetic and optionally holdout.
    kept : sequence of str
        Columns that the caller asked to compare: these are attributes.

    Notes
    -----
    The real table and the holdout are examined together, so that the kind of a column does not
    depend on which rows are on which side. Nothing is left out if fewer than two columns would
    remain.
    """
    import pandas as pd

    real, synthetic, holdout = (frames.get(x) for x in ("real", "synthetic", "holdout"))
    assert real is not None
    assert synthetic is not None
    # A record that occurs twice in a file has one name.
    given = [real] if holdout is None else [real, holdout]
    sides = [frame.drop_duplicates(ignore_index=True) for frame in given]
    shared = [
        str(c) for c in real if all(c in frame for frame in (*sides, synthetic)) and c not in kept
    ]
    found: dict[str, str] = {}
    for name in shared:
        column = pd.concat([frame[name] for frame in sides], ignore_index=True)
        what = "number" if name == ROW_NUMBERS else _kind(column, [x[name] for x in sides])
        if not what and _has_other_ids(name, column, synthetic[name]):
            what = "renumbered"
        if what:
            found[name] = what
    if len(real.columns) - len(found) < 2:
        return Apart((), (), None, ())
    texts = tuple(
        TextColumn(
            name,
            real=_texts(real[name]),
            synthetic=_texts(synthetic[name]),
            holdout=None if holdout is None else _texts(holdout[name]),
            is_free=what == "text",
        )
        for name, what in found.items()
        if what in ("text", "name")
    )
    person = next((name for name, what in found.items() if what == "person"), None)
    said = [_SAID[what].format(name=name) for name, what in found.items()]
    joins = (
        joined_rows(real[name], synthetic[name]) for name, what in found.items() if what != "text"
    )
    joined = tuple(one for one in joins if len(one.real) >= FEWEST_JOINED)
    said += [
        f"{len(one.real):,} of {len(synthetic):,} synthetic rows have a name or number of the real "
        f"table in column {one.column!r}: whether that joins them to people is looked at; leave "
        "the column out of what is released, or draw it again"
        for one in joined
    ]
    return Apart(tuple(found), texts, person=person, said=tuple(said), joined=joined)


def joined_rows(real: pd.Series[Any], synthetic: pd.Series[Any]) -> JoinedRows:
    """Return the rows that have the same name in a column; the first one of each table."""
    import pandas as pd

    first: list[dict[str, int]] = []
    for column in (real, synthetic):
        rows_of: dict[str, int] = {}
        for row, value in enumerate(column.tolist()):
            if pd.isna(value):
                continue
            # Whole numbers beside a gap are floats.
            whole = isinstance(value, float) and value.is_integer()
            rows_of.setdefault(str(int(value)) if whole else str(value).strip(), row)
        first.append(rows_of)
    # P9 is before P10, as in the table that was numbered.
    both = sorted(
        first[0].keys() & first[1].keys(),
        key=lambda name: ([int(digits) for digits in _DIGITS.findall(name)], name),
    )
    rows = (np.array([one[name] for name in both], np.int64) for one in first)
    return JoinedRows(str(real.name), *rows)


_SAID = {
    "text": "column {name!r} is free text: it is left out of the comparison of records and looked "
    "at alone, by whole texts and by words in a row (name it categorical to compare it as one)",
    "name": "column {name!r} has another value in every record, like a name: it is left out of the "
    "comparison of records, and looked for alone (name it categorical to compare it)",
    "number": "column {name!r} numbers the records: it is left out (name it continuous or "
    "categorical to compare it)",
    "renumbered": "column {name!r} names records or people, and the synthetic table has other "
    "names for them: it is left out (name it continuous or categorical to compare it)",
    "person": "column {name!r} names people of several rows each, none of whom is on both sides: "
    "it is left out, and rows of one are not taken for independent (as with --unit {name})",
}


def _kind(column: pd.Series[Any], sides: Sequence[pd.Series[Any]]) -> str:
    """Return the kind of a column that is not an attribute; an empty text for one that is."""
    import pandas as pd

    there = column.dropna()
    n = len(there)
    levels = int(there.nunique())
    if n < _FEWEST_NUMBERS or not all(side.notna().any() for side in sides):
        return ""
    if pd.api.types.is_numeric_dtype(column.dtype):
        # Decimals are measurements, even if all differ.
        if column.dtype.kind not in "iuf" or not np.array_equal(there, np.rint(there)):
            return ""
        if n == len(column) and _all_differ(sides, levels):
            low = float(there.min())
            high = float(there.max())
            # Row numbers are consecutive; other numbers that all differ may still be amounts if
            # small.
            for known in (side.dropna() for side in sides):
                if len(known) >= 2 and float(known.max() - known.min()) < _DENSE * len(known):
                    return "number"
            return "name" if min(abs(low), abs(high)) >= _LONG else ""
    elif levels < _DISTINCT * n and not _all_differ(sides, levels):
        pass  # neither texts nor names; what remains to be seen takes less time
    elif not _are_names(column, there):
        return ""
    else:
        words = float(np.mean([len(text.split()) for text in there]))
        if levels >= _DISTINCT * n and words >= _WORDS:
            return "text"
        if FEWEST <= n == len(column) and _all_differ(sides, levels):
            # Numbers such as P00017 that follow each other were dealt out with the table.
            for known in (side.dropna() for side in sides):
                width = range_of_numbers(known)
                if width is not None and width < _DENSE * len(known):
                    return "number"
            return "name"
    # Values shared by many rows of one side, and by none of the other, name people.
    if len(sides) < 2 or not _LEVELS <= levels <= _SEVERAL * n:
        return ""
    if set(sides[0].dropna()) & set(sides[1].dropna()):
        return ""
    return "" if column.dtype.kind not in "iuf" and not _are_names(column, there) else "person"


def _are_names(column: pd.Series[Any], there: pd.Series[Any]) -> bool:
    """Return whether a column holds texts, but no dates or amounts, which are attributes."""
    import pandas as pd

    return (
        pd.api.types.infer_dtype(there) == "string"
        and days_of(column) is None
        and amounts_of(column) is None
    )


def range_of_numbers(values: Iterable[object]) -> int | None:
    """Return how many numbers lie between the least and the largest of values such as ``P00017``.

    None unless each value but missing ones is a text with one number, and with the same words
    around it.
    """
    texts = {value for value in values if value is not None}
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    found = [_DIGITS.findall(str(text)) for text in texts]
    around = {_DIGITS.sub("", str(text)) for text in texts}
    if len(around) > 1 or any(len(numbers) != 1 for numbers in found):
        return None
    numbers = [int(number) for (number,) in found]
    return max(numbers) - min(numbers) + 1


_DIGITS = re.compile(r"\d+")


def _has_other_ids(name: str, column: pd.Series[Any], made: pd.Series[Any]) -> bool:
    """Return whether a column is called an id and the synthetic table has other ids throughout."""
    import pandas as pd

    there = column.dropna()
    called = {part.casefold() for part in _PARTS_OF_NAMES.findall(name)}
    if not called & _IDS or there.nunique() * _SEVERAL_ROWS < len(there):
        return False
    whole = pd.api.types.is_integer_dtype(there.dtype) and pd.api.types.is_integer_dtype(
        made.dropna().dtype
    )
    texts = pd.api.types.infer_dtype(there) == "string"
    return (whole or texts) and not set(map(str, there)) & set(map(str, made.dropna()))


def _all_differ(sides: Sequence[pd.Series[Any]], levels: int) -> bool:
    """Return whether no value repeats within a side, and none across except for repeated records.

    Values that are equal by chance are so within a side as often as across. If many are on both
    sides and none repeats within either, then whole records are on both sides.
    """
    n, *others = map(len, sides)
    shared = n + sum(others) - levels
    if any(side.nunique() < len(side) for side in sides):
        return False
    # `across`: share of all pairs of records that lie on different sides.
    m = sum(others)
    across = n * m / ((n + m) * (n + m - 1) / 2)
    return shared == 0 or (n + m >= FEWEST and across**shared < _CHANCE)


def _texts(column: pd.Series[Any]) -> Texts:
    """Normalise texts for comparison: one case, single spaces; None for missing texts."""
    plain = [" ".join(str(x).split()).casefold() if y else None for x, y in
             zip(column, column.notna(), strict=True)]  # fmt: skip
    return np.array(plain, dtype=object)
