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
_PEOPLE = frozenset(
    (
        "mrn",
        "pid",
        "ssn",
        "person",
        "patient",
        "client",
        "customer",
        "member",
        "user",
        "subject",
        "participant",
        "respondent",
        "resident",
        "citizen",
        "insured",
        "employee",
        "staff",
        "student",
        "pupil",
        "worker",
        "who",
        "email",
    )
)
"""Words, in lower case, that mark a column as one of people."""
_LEARNT_SHARE = 0.1
"""Smallest share of the synthetic rows that have a real value of a category."""
_DEPENDS = 5.0
"""Standard errors from which another column depends on the values of one."""
_ROWS = 20_000
"""Most rows examined for such dependence."""

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
    learnt: tuple[str, ...] = ()
    """Columns whose values stand on one side alone and in the synthetic table, as those of places,
    things and times do."""


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
    shared = [str(c) for c in real if all(c in frame for frame in (*sides, synthetic))]
    found: dict[str, str] = {}
    learnt: list[str] = []
    for name in shared:
        column = pd.concat([frame[name] for frame in sides], ignore_index=True)
        if name in kept and len(sides) < 2:
            continue
        what = "number" if name == ROW_NUMBERS else _kind(column, [x[name] for x in sides])
        if not what and _has_other_ids(name, column, synthetic[name]):
            what = "renumbered"
        if what == "person" and _is_category(name, real, synthetic):
            learnt.append(name)
        elif what and name not in kept:
            found[name] = what
    as_category = [_LEARNT.format(name=name) for name in learnt if name not in kept]
    if len(real.columns) - len(found) < 2:
        return Apart((), (), None, tuple(as_category), learnt=tuple(learnt))
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
    said = [*as_category, *(_SAID[what].format(name=name) for name, what in found.items())]
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
    return Apart(
        tuple(found), texts, person=person, said=tuple(said), joined=joined, learnt=tuple(learnt)
    )


def joined_rows(real: pd.Series[Any], synthetic: pd.Series[Any]) -> JoinedRows:
    """Return the rows that have the same name in a column; the first one of each table."""
    import pandas as pd

    first: list[dict[str, int]] = []
    for column in (real, synthetic):
        rows_of: dict[str, int] = {}
        for row, value in enumerate(column.tolist()):
            if pd.isna(value):
                continue
            rows_of.setdefault(_as_text(value), row)
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
_LEARNT = (
    "column {name!r} has none of its values in the holdout, and those of the real table in the "
    "synthetic one: it is taken for a place, a thing or a time, not for names of people (if it "
    "names them: --unit {name})"
)


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


def _is_category(name: str, real: pd.DataFrame, synthetic: pd.DataFrame) -> bool:
    """Return whether the synthetic table has learnt the values of a column as it learns a category.

    Towns, articles and weeks that only one side has stand in the release as they do in the real
    table, and so does what depends on them. Names of people are dealt out again: the same number
    is then somebody else. A column that is called one of people is none.
    """
    import pandas as pd

    called = {part.casefold() for part in _PARTS_OF_NAMES.findall(name)}
    if called & _PEOPLE or called in ({"id"}, {"name"}):
        return False
    tables = [one[:_ROWS][one[name][:_ROWS].notna()] for one in (real, synthetic)]
    keys = [one[name].map(_as_text).to_numpy() for one in tables]
    if not len(keys[1]) or len(set(keys[1])) > _SEVERAL * len(keys[1]):
        return False
    if np.isin(keys[1], list(set(keys[0]))).mean() < _LEARNT_SHARE:
        return False
    codes, levels = pd.factorize(np.concatenate(keys))
    n = len(keys[0])
    of_real = codes[:n]
    of_made = codes[n:]
    count = np.bincount(of_real, minlength=len(levels)).astype(np.float64)
    pairs = float((count * (count - 1)).sum() / 2)
    within: list[float] = []
    across: list[float] = []
    for other in real:
        if other == name or other not in synthetic:
            continue
        values = _on_a_scale(tables[0][other], tables[1][other])
        if values is None:
            continue
        total = np.bincount(of_real, weights=values[0], minlength=len(levels))
        # Sums over pairs of rows of one value; of independent rows they have mean 0.
        alike = (np.square(total).sum() - np.square(values[0]).sum()) / 2
        within.append(float(alike / np.sqrt(max(pairs, 1.0))))
        expected = total[of_made]
        spread = float(np.sqrt(np.square(expected - expected.mean()).sum()))
        across.append(float(expected @ values[1]) / max(spread, 1e-9))
    # What depends on the value in the real table does so in the synthetic one, or nothing does.
    return max(within, default=0.0) < _DEPENDS or max(across, default=0.0) > _DEPENDS


def _on_a_scale(*sides: pd.Series[Any]) -> list[Floats] | None:
    """Return the values of a column as numbers of mean 0 and spread 1; None if all are equal.

    Numbers become ranks, and texts numbers that have nothing to do with their order.
    """
    import pandas as pd

    column = pd.concat(sides, ignore_index=True)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        texts = column.astype("object").map(_as_text).to_numpy(dtype=object)
        column = pd.Series(pd.util.hash_array(texts, categorize=True).astype(np.float64))
    ranks = column.rank().fillna(0.0).to_numpy(np.float64)
    places = np.cumsum([len(side) for side in sides])[:-1]
    found: list[Floats] = []
    for one in np.split(ranks, places):
        spread = float(one.std())
        if not spread:
            return None
        found.append((one - one.mean()) / spread)
    return found


def _as_text(value: object) -> str:
    """Return a value as a text; whole numbers beside a gap are floats."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()  # type: ignore[call-overload]


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
