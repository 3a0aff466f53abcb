"""Rows and values of a training table that stand in a model, and the groups behind its answers.

Rows are looked for in every array: as they are, after the model's own fitted transformers, after
the usual scalings of the table, after an unknown scaling of each column, and after a linear
projection. Rows count only if they are more than chance gives.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.inspection.contents import Contents, Numbers, Texts, date_texts

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.01
"""Largest probability of as many matches by chance, over all arrays, for rows to count."""

RARE = 0.1
"""Most matches of a row that chance may give in an array, for the row to be looked for."""

RESOLUTION = 5
"""Fewest significant digits of a number that is looked for alone."""

PLACEBOS = 200
"""Number of placebo columns that say how many numbers coincide by chance."""

TRANSFORMS = (ValueError, TypeError, AttributeError, KeyError, IndexError, RuntimeError)
"""Errors that a model's own transformers and predictions may raise on a table of another form."""

_CERTAIN = 3
"""Rows that chance would hardly give, for an array to hold rows for certain."""
_PAIRS = 1_500
"""Most records for which an unknown scaling is looked for among all pairs of values."""
_SEEDS = 3
"""Columns of an array that are tried as the first one with an unknown scaling."""
MOST_WORK = 200_000_000
"""Most numbers of an array, counted once per column, in which rows are looked for anywhere."""

MOST_WRITTEN = 20_000_000
"""Most characters of texts in which rows are looked for."""

_SCALED = 40
"""Most arrays in which rows with an unknown scaling are looked for, the largest first."""


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The table that a model was trained on, in the forms in which it is looked for."""

    frame: pd.DataFrame
    """Features, as they are given to the model."""
    label: NDArray[Any] | None
    """(n,) Labels; None if they are unknown."""
    unit: Ints | None
    """(n,) Number of the person behind each record; None if each is a person."""
    as_array: bool = False
    """Whether the model takes an array rather than a frame."""

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def numbers(self) -> Floats:
        """(n, d) Columns of numbers; missing ones are NaN."""
        return self.numeric.to_numpy(np.float64, na_value=np.nan)

    @cached_property
    def numeric(self) -> pd.DataFrame:
        """Columns of numbers."""
        return self.frame.select_dtypes(["number", "bool"])

    @cached_property
    def texts(self) -> dict[str, NDArray[Any]]:
        """Texts of the other columns by name; missing ones are empty."""
        others = [name for name in self.frame if name not in self.numeric]
        found = {
            str(x): np.array(date_texts(self.dates[str(x)]), object)
            if str(x) in self.dates
            else self.frame[x].fillna("").astype(str).to_numpy(object)
            for x in others
        }
        if self.label is not None and self.label.dtype.kind not in "biuf":
            found["label"] = self.label.astype(str).astype(object)
        return found

    @cached_property
    def dates(self) -> dict[str, NDArray[Any]]:
        """Dates of the columns that hold them by name, without their zone."""
        chosen = self.frame.select_dtypes(["datetime", "datetimetz"])
        return {str(x): _moments(chosen[x]) for x in chosen}

    @property
    def has_prose(self) -> bool:
        """Whether a column holds texts of several words, which are recognised word by word."""
        words = (np.mean([len(x.split()) for x in column]) for column in self.texts.values())
        return any(n >= 3 for n in words)

    def given(self) -> Any:
        """Return the features in the form that the model takes."""
        return self.frame.to_numpy() if self.as_array else self.frame

    def people(self, rows: Bools) -> int:
        """Return the number of people behind some of the rows."""
        return int(rows.sum()) if self.unit is None else len(np.unique(self.unit[rows]))


def _moments(column: pd.Series[Any]) -> NDArray[Any]:
    zoned = getattr(column.dtype, "tz", None) is not None
    return (column.dt.tz_localize(None) if zoned else column).to_numpy("M8[ns]")


@dataclass(frozen=True, eq=False)
class View:
    """The training rows in one form: raw, transformed or scaled."""

    how: str
    """The form in words, as part of a sentence."""
    values: Floats
    """(n, d) The rows."""
    before: Floats | None = None
    """(n,) Chance of each row before the form was made of it; None if it has none."""

    @cached_property
    def uniques(self) -> list[Floats]:
        """Distinct values of each column, ascending; NaN last."""
        return [np.unique(column) for column in self.values.T]

    @cached_property
    def slack(self) -> Floats:
        """(d,) Size that rounding errors of a column are relative to, after a scaling too."""
        with np.errstate(all="ignore"):
            largest = np.nanmax(abs(self.values), axis=0)
        return np.asarray(4 * np.where(np.isfinite(largest), largest, 0.0), np.float64)

    @cached_property
    def codes(self) -> Ints:
        """(n, d) Number of each value among the distinct ones of its column."""
        columns = [np.unique(column, return_inverse=True)[1] for column in self.values.T]
        return np.stack(columns, axis=1).astype(np.int32)

    @cached_property
    def order(self) -> list[int]:
        """Columns, the one with the most distinct values first."""
        return sorted(range(len(self.uniques)), key=lambda k: -len(self.uniques[k]))

    @cached_property
    def informative(self) -> list[int]:
        """Columns with enough distinct values to be recognised by them."""
        least = max(20, len(self.values) // 4)
        return [k for k in self.order if len(self.uniques[k]) >= min(least, len(self.values) // 2)]

    def chance(self, columns: Sequence[int] | None = None) -> Floats:
        """Return how often another record of the same kind has the values of each row.

        The columns are split in two halves, each of which keeps its dependence; if the table has
        more equal rows than its halves explain, they depend on each other, and chance is larger.
        """
        chosen = [k for k in self.order if columns is None or k in columns]
        if len(chosen) < 2:
            return np.ones(len(self.values))
        halves = _halves(chosen)
        found = np.prod([_chance_of_pattern(self.codes[:, half]) for half in halves], axis=0)
        counts = _counts(self.codes[:, chosen])
        equal = (counts - 1).sum() / 2
        surely = equal - 2 * math.sqrt(equal)
        explained = (found * len(found)).sum() / 2
        if surely > explained:
            whole = _chance_of_pattern(self.codes[:, chosen])
            found = np.maximum(found, np.minimum(found * surely / explained, whole))
        found = np.maximum(found, (counts - 1) / len(found))
        # The columns of a row that was scaled to length 1, or projected, depend on each other.
        before = 0.0 if self.before is None else self.before
        return np.asarray(np.maximum(found, before), np.float64)

    def recognisable(self) -> Bools:
        """Return which rows as many other records of the same kind would hardly hold."""
        return self.chance() * len(self.values) <= RARE


def _halves(columns: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    return columns[0::2], columns[1::2]


def _keys(rows: Ints) -> NDArray[Any]:
    """Return each row as one value that can be sorted."""
    plain = np.ascontiguousarray(rows, np.int32)
    return plain.view(np.dtype((np.void, plain.shape[1] * 4))).ravel()


def _counts(codes: Ints) -> Ints:
    """Return how many records have the pattern of each."""
    _, kind, times = np.unique(_keys(codes), return_inverse=True, return_counts=True)
    return np.asarray(times[kind], np.int64)


def _chance_of_pattern(codes: Ints) -> Floats:
    """Return how often a new record has the pattern of each, by Good's and Turing's estimate.

    A pattern seen once is rarer than its share of the records, the more so the fewer there are
    that were seen twice.
    """
    counts = _counts(codes)
    found = counts / len(counts)
    once = int((counts == 1).sum())
    twice = int((counts == 2).sum()) // 2
    if once:
        found[counts == 1] = min(1.0, 2 * (twice + 1) / once) / len(counts)
    return np.asarray(found, np.float64)


@dataclass(frozen=True, eq=False)
class RowFinding:
    """Training rows that stand in one array of a model."""

    place: str
    """Place of the array."""
    owner: str
    """Class that holds it."""
    how: str
    """Form in which the rows stand there, in words."""
    rows: Bools
    """(n,) Which training rows stand there."""


@dataclass(frozen=True)
class StructureFinding:
    """An array that holds training rows by its name and shape."""

    place: str
    """Place of the array."""
    owner: str
    """Class that holds it."""
    n: int
    """Number of rows."""


@dataclass(frozen=True, eq=False)
class ValueFinding:
    """Single values of the table, each of one person, that stand in a model."""

    column: str
    """Column of the table."""
    kind: str
    """``texts``, ``words`` or ``numbers``, or what the texts look like if there is no table."""
    places: tuple[str, ...]
    """Places where they stand."""
    count: int
    """Number of values, those that coincide by chance left out."""
    by_chance: float
    """Number expected by chance, from placebo columns."""
    values: tuple[str, ...]
    """The values; a report shows them only if asked."""


@dataclass(frozen=True)
class OrderFinding:
    """An array with an entry for each training record, in the order of the table."""

    place: str
    """Place of the array."""
    owner: str
    """Class that holds it."""
    what: str
    """Meaning of the entries: ``labels``, or ``an entry per record`` or ``per person``."""
    width: int
    """Number of numbers per entry."""


# Rows.


def views_of(contents: Contents, table: TrainingTable) -> list[View]:
    """Return the forms in which training rows are looked for, the likeliest first."""
    raw = table.numbers
    found = [View("as they are", raw)]
    if table.texts:
        import pandas as pd

        coded = [
            raw[:, list(table.numeric).index(name)]
            if name in table.numeric
            else pd.factorize(table.texts[str(name)], sort=True)[0].astype(np.float64)
            for name in table.frame
        ]
        found.append(View("with texts as numbers", np.stack(coded, axis=1)))
    before = None if table.has_prose or found[-1].values.shape[1] < 2 else found[-1].chance()
    found += (replace(view, before=before) for view in _views_after_steps(contents, table))
    with np.errstate(all="ignore"):
        low = np.nanmin(raw, axis=0) if raw.size else np.empty(0)
        high = np.nanmax(raw, axis=0) if raw.size else np.empty(0)
        spread = np.where(high > low, high - low, 1.0)
        scalings = {
            "standardised": _standard_scores(raw, 0),
            "standardised by the sample": _standard_scores(raw, 1),
            "scaled to 0..1": (raw - low) / spread,
            "scaled to -1..1": 2 * (raw - low) / spread - 1,
            "scaled to their largest": raw / np.maximum(np.maximum(abs(low), abs(high)), 1e-300),
            "scaled to length 1": raw / np.linalg.norm(raw, axis=1, keepdims=True),
        }
        quarters = np.nanpercentile(raw, [25, 50, 75], axis=0) if raw.size else np.zeros((3, 0))
        width = np.where(quarters[2] > quarters[0], quarters[2] - quarters[0], 1.0)
        scalings["scaled by their quartiles"] = (raw - quarters[1]) / width
    found += [View(how, values, before) for how, values in scalings.items()]
    return [view for view in found if view.values.shape[1] > 0]


def _standard_scores(raw: Floats, ddof: int) -> Floats:
    spread = np.nanstd(raw, axis=0, ddof=ddof)
    scaled: Floats = (raw - np.nanmean(raw, axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _views_after_steps(contents: Contents, table: TrainingTable) -> Iterator[View]:
    """Yield the table after each of the model's own fitted steps."""
    given: dict[str, Any] = {"": table.given()}
    for place, part in contents.parts:
        # The input of a step within a step is that of the innermost one that is known.
        inner: Any = part
        source = given[max((x for x in given if place.startswith(x)), key=len)]
        steps = getattr(inner, "steps", None)
        try:
            if isinstance(steps, list):
                for i, (name, step) in enumerate(steps):
                    where = f"{place}.steps[{i}][0]".lstrip(".")
                    given[where] = source
                    if step in ("passthrough", None) or not hasattr(step, "transform"):
                        continue
                    source = step.transform(source)
                    values = _dense(source)
                    if values is not None:
                        yield View(f"after the model's own step {name}", values)
            for i, (_, _, columns) in enumerate(getattr(inner, "transformers_", ())):
                where = f"{place}.transformers_[{i}][0]".lstrip(".")
                if hasattr(source, "loc"):
                    named = all(isinstance(x, str) for x in np.atleast_1d(columns))
                    given[where] = source[columns] if named else source.iloc[:, columns]
                else:
                    given[where] = source[:, columns]
        except TRANSFORMS:
            continue


def _dense(values: Any) -> Floats | None:
    if hasattr(values, "toarray"):
        values = values.toarray() if values.shape[0] * values.shape[1] <= 50_000_000 else None
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        return None
    return found if found.ndim == 2 else None


@dataclass(frozen=True, eq=False)
class Look:
    """Settings of a search for rows, with the parts left out."""

    most: float
    """Largest probability of the matches by chance in one array."""
    rng: np.random.Generator
    """Random numbers of the placebos."""
    left_out: list[str] = field(default_factory=list)
    """What was not looked for, since it would take too long."""


# Fields of texts.

_PIECE = re.compile(
    r"\"(?P<quoted>[^\"\n]*)\"|(?P<stop>[\n\r]+|[)\]}])|(?P<next>[,;|\t])|[({\[:=<>]"
    r"|(?P<field>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?|[^\n\r,;|\t\"(){}\[\]:=<>]+)"
)
"""A field of a text, a separator, or the end of a record."""

_MISSING = {"", "nan", "null", "none", "na", "n/a", "<na>", "nat"}


class _Codes:
    """Numbers of fields: their own, and of each text of the table one that no number has."""

    def __init__(self, table: TrainingTable) -> None:
        known = {_normal(x) for column in table.texts.values() for x in column}
        self._known = {x.lower(): math.nan for x in _MISSING}
        words = sorted(x for x in known if self._number(x) is None and x.lower() not in _MISSING)
        # Far apart, so that the rounding of 32 bits keeps them apart.
        self._texts = {x: 1e9 + 1e6 * i for i, x in enumerate(words)}
        self._seen: dict[str, float | None] = {}

    @staticmethod
    def _number(text: str) -> float | None:
        try:
            return float(text) if "_" not in text else None
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(text.lower())

    def of_text(self, text: str) -> float | None:
        """Return the number of a text; None if it is no field of the table."""
        if text not in self._seen:
            plain = _normal(text)
            found = self._texts.get(plain)
            if found is None and plain.lower() in _MISSING:
                found = math.nan
            self._seen[text] = self._number(plain) if found is None else found
        return self._seen[text]

    def column(self, values: NDArray[Any]) -> Floats:
        """Return the numbers of a column of texts."""
        found = [self.of_text(str(x)) for x in values]
        return np.array([math.nan if x is None else x for x in found], np.float64)

    def of_field(self, field: object) -> float | None:
        """Return the number of a field of any kind; None if it is no field of the table."""
        if isinstance(field, str):
            return self.of_text(field)
        if isinstance(field, datetime.date | np.datetime64):
            moments = np.array([field], "M8[s]") if isinstance(field, np.datetime64) else None
            return self.of_text(str(field) if moments is None else date_texts(moments)[0])
        try:
            return math.nan if field is None else float(field)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return math.nan  # such as a missing value of pandas

    def records(self, text: str) -> Iterator[list[float | None]]:
        """Yield the fields of each record of a text, None for a word that is no field."""
        record: list[float | None] = []
        waiting = True  # for a field, so that two separators have a missing one between them
        for match in _PIECE.finditer(text):
            if match["stop"]:
                if record:
                    yield record
                record = []
                waiting = True
            elif match["next"]:
                if waiting and record:
                    record.append(math.nan)
                waiting = True
            elif field := match["quoted"] if match["quoted"] is not None else match["field"]:
                if not (whole := field.strip(" '")):
                    continue
                found = self.of_text(whole)
                if found is None and match["quoted"] is None and " " in whole:
                    record += [self.of_text(x.strip("'")) for x in whole.split()]
                else:
                    record.append(found)
                waiting = False
        if record:
            yield record


def _normal(text: str) -> str:
    """Return a text without spaces around it; a day without its midnight."""
    plain = text.strip(" '\n\r\t")
    if len(plain) > 10 and plain[4:5] == "-" and plain[:4].isdigit():
        plain = plain.replace(" ", "T", 1)
        plain = re.sub(r"T00:00(:00(\.0+)?)?$", "", plain)
    return plain


@dataclass(frozen=True, eq=False)
class Written:
    """Tables of numbers and texts in a model, with texts as numbers."""

    view: View
    """The training table in the same numbers."""
    arrays: tuple[Numbers, ...]
    """The tables: whole, and as rows of equal length."""
    left_out: tuple[Skipped, ...]
    """Texts that are too long to be looked at."""

    @cached_property
    def plain_numbers(self) -> tuple[Numbers, ...]:
        """The numbers that stand in texts, without those of texts themselves."""
        return tuple(
            replace(x, values=flat[np.isfinite(flat) & (flat < 1e9)])
            for x in self.arrays
            if len(x.values) == 1 and (flat := x.values.ravel().astype(np.float64)).size
        )


def written_tables(contents: Contents, table: TrainingTable) -> Written:
    """Return the fields of texts, and of tables with texts, as arrays of numbers."""
    codes = _Codes(table)
    columns = [
        table.numbers[:, list(table.numeric).index(name)]
        if name in table.numeric
        else codes.column(table.texts[str(name)])
        for name in table.frame
    ]
    names = [str(x) for x in table.frame]
    arrays: list[Numbers] = []
    left_out: dict[str, Skipped] = {}

    def add(place: str, owner: str, records: list[list[float | None]]) -> None:
        flat = [x for record in records for x in record if x is not None]
        if len(flat) < 2 or not np.isfinite(flat).any():
            return
        arrays.append(Numbers(place, owner, np.array([flat], np.float64)))
        # As rows too, whose columns may stand in another order.
        widths = Counter(map(len, records))
        for width, times in widths.most_common(3):
            if width > 1 and times > 1:
                rows = [x for x in records if len(x) == width]
                values = np.array([[math.nan if y is None else y for y in x] for x in rows])
                arrays.append(Numbers(place, owner, values))

    n_left = MOST_WRITTEN
    groups: dict[str, tuple[str, list[str]]] = {}
    for texts in contents.texts:
        place = re.sub(r"\[[^]]*\]", "", texts.place)
        groups.setdefault(place, (texts.owner, []))[1].extend(texts.values)
    for place, note in contents.notes:
        groups.setdefault(place, ("", []))[1].append(note)
    for place, (owner, values) in groups.items():
        n_left -= sum(map(len, values))
        if n_left < 0:
            why = (
                f"texts of more than {MOST_WRITTEN:,} characters, in which rows are not looked for"
            )
            left_out[place] = Skipped(place or "texts", why)
            continue
        add(place, owner, [x for text in values for x in codes.records(text)])
    for found in contents.fields:
        if found.values.size > MOST_WRITTEN // 10:
            left_out[found.place] = Skipped(found.place, "a table that is too large to be compared")
            continue
        order = list(range(found.values.shape[1]))
        if set(names) <= set(found.names):
            order = [found.names.index(name) for name in names]
        records: list[list[float | None]] = []
        for row in found.values:
            record: list[float | None] = []
            for k in order:
                number = codes.of_field(row[k])
                # A field may be a record of its own, written out.
                if number is None and isinstance(row[k], str) and len(row[k]) >= 3:
                    record += [x for part in codes.records(row[k]) for x in part]
                else:
                    record.append(number)
            records.append(record)
        add(found.place, found.owner, records)
        if len(found.values) > 1 and not found.names:
            add(found.place, found.owner, [list(x) for x in zip(*records, strict=False)])
    view = View("as fields", np.stack(columns, axis=1))
    # In 32 bits, in which texts were written more often than not.
    arrays = [replace(x, values=x.values.astype(np.float32)) for x in arrays]
    return Written(view, tuple(arrays), tuple(left_out.values()))


@np.errstate(all="ignore")  # any bytes may be read as numbers
def stored_rows(
    contents: Contents, table: TrainingTable, rng: np.random.Generator, written: Written
) -> tuple[list[RowFinding], list[Skipped]]:
    """Return the training rows that stand in arrays of a model, and the parts left out."""
    rows_left_out = list(written.left_out)
    numeric = views_of(contents, table)
    views = [written.view, *numeric]
    found = []
    left = []
    coarser: dict[tuple[str, str], View] = {}
    look = Look(CHANCE / max(1, len(contents.numbers) + len(written.arrays)), rng)
    # A row needs the values of its most telling column: most arrays hold none of them.
    telling = np.unique(
        np.concatenate([view.uniques[k] for view in views for k in view.order[:1]] or [np.empty(0)])
    )
    of_texts = frozenset(map(id, written.arrays))
    for array in (*contents.numbers, *written.arrays):
        if array.values.dtype.kind == "b" or array.values.size < 2 or not len(telling):
            continue
        flat = array.values.ravel().astype(np.float64)
        is_table = array.values.ndim == 2 and min(array.values.shape) >= 2
        # Rounded numbers are none of the table's, and are compared with the rounded table.
        is_table = is_table or array.values.dtype == np.float16
        tolerance = _tolerance(array.values)
        slack = tolerance * float(abs(telling[np.isfinite(telling)]).max(initial=0.0))
        if not is_table and not _nearest(telling, flat, tolerance, slack)[1].any():
            continue
        best = RowFinding(array.place, array.owner, "", np.zeros(len(table), bool))
        tried = views if id(array) in of_texts else numeric
        for view in tried:
            for rows in (
                _rows_as_neighbours(view, array.values, look),
                _rows_in_columns(view, array.values, look),
            ):
                if rows.sum() > best.rows.sum():
                    best = RowFinding(array.place, array.owner, view.how, rows)
            if best.rows.sum() >= 0.9 * min(len(table), len(array.values)):
                break
        if not best.rows.any():
            for how, rounded in _roundings(array.values):
                for view in tried:
                    key = (view.how, how)
                    if key not in coarser:
                        told = f"{view.how}, {how}"
                        coarser[key] = replace(view, how=told, values=rounded(view.values))
                    coarse = coarser[key]
                    rows = _rows_as_neighbours(coarse, array.values.astype(np.float64), look)
                    if rows.sum() > best.rows.sum():
                        best = RowFinding(array.place, array.owner, coarse.how, rows)
        if best.rows.any():
            found.append(best)
        elif is_table and id(array) not in of_texts:
            left.append(array)
    indices = [x for x in contents.numbers if x.values.dtype.kind in "iu" and x.values.ndim == 1]
    left.sort(key=lambda x: -x.values.size)
    for array in left[:_SCALED]:
        result = _rows_by_scaling(numeric[0], array.values) or _rows_by_projection(
            table, array, indices
        )
        if result is not None:
            found.append(RowFinding(array.place, array.owner, result[1], result[0]))
    long = "it would take too long"
    rows_left_out += [Skipped(what, long) for what in dict.fromkeys(look.left_out)]
    return found, rows_left_out


Rounding = Callable[[Floats], Floats]


def _roundings(values: NDArray[Any]) -> list[tuple[str, Rounding]]:
    """Return the roundings that all numbers of an array of fractions have."""
    if values.dtype.kind != "f" or not (values.dtype == np.float16 or values.ndim >= 2):
        return []
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all() or (numbers == np.round(numbers)).all():
        return []

    def to_brain(values: Floats) -> Floats:
        """Return the upper half of numbers of 32 bits, rounded to even."""
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        upper = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return upper.view(np.float32).astype(np.float64)

    known: list[tuple[str, Rounding]] = [
        ("half precision", lambda x: x.astype(np.float16).astype(np.float64)),
        ("bfloat16", to_brain),
    ]
    found = [(how, rounded) for how, rounded in known if (rounded(numbers) == numbers).all()]
    for n in range(1, 5):
        if (abs(np.round(numbers, n) - numbers) <= 1e-7 * (1 + abs(numbers))).all():

            def to_decimals(values: Floats, n: int = n) -> Floats:
                return np.asarray(np.round(values, n), np.float64)

            found.append((f"rounded to {n} decimals", to_decimals))
            break
    return found


@np.errstate(all="ignore")
def coarse_arrays(contents: Contents, table: TrainingTable, found: frozenset[str]) -> list[str]:
    """Return the places of arrays that may hold rows in so low a precision that none is seen.

    Rows were found at the places `found`.
    """
    places = []
    for x in contents.numbers:
        kind = x.values.dtype
        quantised = kind == np.float16 or (kind.kind in "iu" and kind.itemsize == 1)
        large = x.values.size >= max(20, 3 * table.frame.shape[1])
        wide = x.values.ndim >= 2 and min(x.values.shape) >= 2
        if large and wide and x.place not in found and (quantised or _roundings(x.values)):
            places.append(x.place)
    return places


def _nearest(
    uniques: Floats, values: Floats, tolerance: float, slack: float = 1e-13
) -> tuple[Ints, Bools]:
    """Return the place of the nearest distinct value, and whether it is equal but for rounding.

    Rounding is relative to a value by `tolerance`, and absolute by `slack`.
    """
    place = np.searchsorted(uniques, values).clip(0, len(uniques) - 1)
    below = (place - 1).clip(0)
    with np.errstate(invalid="ignore"):
        place = np.where(abs(uniques[below] - values) < abs(uniques[place] - values), below, place)
        near = abs(uniques[place] - values) <= tolerance * abs(values) + slack
    return place, near | (np.isnan(uniques[place]) & np.isnan(values))


def _tolerance(values: NDArray[Any]) -> float:
    """Return the relative rounding of an array: that of 32 bits if all its numbers have these."""
    if values.dtype == np.float64 or values.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            single = values.astype(np.float32).astype(np.float64)
            is_single = np.array_equal(single, values, equal_nan=True)
        return 1.5e-7 if is_single and values.dtype.kind == "f" else 1e-10
    return 1e-3 if values.dtype == np.float16 else 1.5e-7


def _rows_as_neighbours(view: View, array: NDArray[Any], look: Look) -> Bools:
    """Return the rows of a view that stand in an array as neighbours, wherever they begin."""
    d = view.values.shape[1]
    flats = [array.ravel()]
    if array.ndim == 2:
        flats.append(array.T.ravel())
        # Some writers keep the order of columns in memory, and name the shape of rows.
        flats.append(array.reshape(array.shape[::-1]).T.ravel())
    rows = np.zeros(len(view.values), bool)
    for flat in flats:
        if d < 2 or len(flat) < d or array.dtype == np.float16:
            continue
        tolerance = _tolerance(flat)
        starts = np.arange(len(flat) - d + 1)
        if len(starts) * d > MOST_WORK:
            # Only rows that follow one another from the first number on.
            starts = starts[::d]
            if d not in array.shape:
                look.left_out.append(f"rows of {d:,} columns that begin within a long array")
        for k in view.order:
            values = flat[starts + k].astype(np.float64)
            near = _nearest(view.uniques[k], values, tolerance, tolerance * view.slack[k])[1]
            starts = starts[near]
            if not len(starts):
                break
        else:
            # A run of one number, as in an array of flags, is nobody's row.
            varied = np.zeros(len(starts), bool)
            for k in range(1, d):
                varied |= flat[starts + k] != flat[starts]
            starts = starts[varied]
            every = np.empty((len(starts), d), np.int64)
            for k in range(d):
                values = flat[starts + k].astype(np.float64)
                slack = tolerance * view.slack[k]
                every[:, k] = _nearest(view.uniques[k], values, tolerance, slack)[0]
            rows |= _equal_rows(view, every, list(range(d)), tried=len(flat), look=look)
    return rows


def _rows_in_columns(view: View, array: NDArray[Any], look: Look) -> Bools:
    """Return the rows of a view that stand in an array of other columns or another order."""
    none = np.zeros(len(view.values), bool)
    if array.ndim != 2 or len(array) < 2 or array.dtype == np.float16:
        return none
    tolerance = _tolerance(array)
    pairs: dict[int, Ints] = {}
    good = np.ones(len(array), bool)
    for j in range(min(array.shape[1], 500)):
        column = array[:, j].astype(np.float64)
        if len(np.unique(column[:50])) < min(5, len(column)):
            continue
        for k in view.informative:
            if k in pairs:
                continue
            slack = tolerance * view.slack[k]
            first = _nearest(view.uniques[k], column[:50], tolerance, slack)[1]
            if first.mean() < 0.9:
                continue
            place, near = _nearest(view.uniques[k], column, tolerance, slack)
            pairs[k] = place
            good &= near
            break
    columns = sorted(pairs)
    if len(columns) < 2 or not good.any():
        return none
    codes = np.stack([pairs[k][good] for k in columns], axis=1)
    return _equal_rows(view, codes, columns, tried=len(array), look=look)


def _equal_rows(view: View, codes: Ints, columns: list[int], *, tried: int, look: Look) -> Bools:
    """Return the rows whose codes are among those given, if that is beyond chance.

    `tried` is the number of places where a row could have stood.
    """
    own = view.codes[:, columns]
    none = np.zeros(len(own), bool)
    if not len(codes):
        return none
    known = np.unique(_keys(codes))
    equal = np.isin(_keys(own), known)
    if not equal.any():
        return none
    expected = tried * view.chance(columns)
    rare = expected <= RARE
    n_found = int((equal & rare).sum())
    from scipy.stats import poisson

    if not n_found or poisson.sf(n_found - 1, expected[rare].sum()) > look.most:
        return none
    # Rows made of two halves of two records keep most of the dependence of columns, and what the
    # array has of these it has by chance.
    order = [k for k in view.order if k in columns]
    halves = [_halves(order), (order[: len(order) // 2], order[len(order) // 2 :])]
    made = 0
    for _, other in halves * 2:
        mixed = own.copy()
        places = [columns.index(k) for k in other]
        mixed[:, places] = own[look.rng.permutation(len(own))][:, places]
        changed = (mixed != own).any(axis=1)
        made += int((np.isin(_keys(mixed), known) & changed & rare).sum())
    if made / 4 > 0.1 * n_found:
        return none
    # An array that holds rows for certain holds those too that chance would give now and then.
    return equal if n_found >= _CERTAIN else equal & rare


def _rows_by_scaling(view: View, array: NDArray[Any]) -> tuple[Bools, str] | None:
    """Return the rows that stand in an array with an unknown scaling of each column."""
    n = len(view.values)
    columns = [k for k in view.informative if not np.isnan(view.uniques[k]).any()]
    tried = 0
    for j in range(min(array.shape[1], 500)):
        column = array[:, j].astype(np.float64)
        if len(np.unique(column)) < 8 or not np.isfinite(column).all():
            continue
        tried += 1
        if tried > _SEEDS:
            break
        for k in columns:
            if len(view.uniques[k]) < 0.9 * n:
                continue
            places = _affine(view.uniques[k], column, max(_tolerance(array), 1e-9))
            if places is None:
                continue
            # One column says which record is which; each other column must follow from the table.
            # A value of two records says nothing, so that these are left out.
            _, first, times = np.unique(view.values[:, k], return_index=True, return_counts=True)
            told = times[places] == 1
            rows = first[places[told]]
            others = [i for i in range(array.shape[1]) if i != j]
            if _follows(view.values[rows], array[told][:, others].astype(np.float64)):
                marked = np.zeros(n, bool)
                marked[rows] = True
                return marked, "with an unknown scaling of each column"
    return None


def _affine(uniques: Floats, column: Floats, tolerance: float) -> Ints | None:
    """Return the place of each number among the distinct ones, after the scaling that fits."""
    values = np.unique(column)
    slack = 50 * tolerance * (uniques[-1] - uniques[0])

    def fits(slope: Floats, start: Floats, probe: float) -> Bools:
        wanted = (probe - start) / slope
        place = np.searchsorted(uniques, wanted).clip(1, len(uniques) - 1)
        gap = np.minimum(abs(uniques[place] - wanted), abs(uniques[place - 1] - wanted))
        near: Bools = gap <= slack
        return near

    low = values[0]
    high = values[-1]
    if len(values) == len(uniques):
        # Both ends are known, in one order or the other.
        firsts = np.array([uniques[0], uniques[-1]])
        lasts = np.array([uniques[-1], uniques[0]])
    elif len(uniques) <= _PAIRS:
        firsts, lasts = (x.ravel() for x in np.meshgrid(uniques, uniques))
        keep = firsts != lasts
        firsts = firsts[keep]
        lasts = lasts[keep]
    else:
        return None
    slope = (high - low) / (lasts - firsts)
    start = low - slope * firsts
    probes = values[1:-1]
    # The numbers between the ends, until one scaling or none is left.
    for probe in probes[np.linspace(0, len(probes) - 1, min(40, len(probes))).astype(int)]:
        keep = fits(slope, start, probe)
        slope = slope[keep]
        start = start[keep]
        if not len(slope):
            return None
    wanted = (column - start[0]) / slope[0]
    place = np.searchsorted(uniques, wanted).clip(0, len(uniques) - 1)
    below = (place - 1).clip(0)
    place = np.where(abs(uniques[below] - wanted) < abs(uniques[place] - wanted), below, place)
    return place if (abs(uniques[place] - wanted) <= slack).all() else None


def _follows(rows: Floats, others: Floats) -> bool:
    """Return whether columns are linear in the rows, fitted on half and tried on the rest."""
    usable = ~np.isnan(rows).any(axis=0)
    inputs = np.column_stack([rows[:, usable], np.ones(len(rows))])
    varied = others[:, others.std(axis=0) > 0]
    if len(rows) < 2 * (inputs.shape[1] + 1) or not varied.shape[1]:
        return False
    fit = slice(0, None, 2)
    test = slice(1, None, 2)
    weights = np.linalg.lstsq(inputs[fit], varied[fit], rcond=None)[0]
    missed = ((varied[test] - inputs[test] @ weights) ** 2).sum(axis=0)
    total = ((varied[test] - varied[fit].mean(axis=0)) ** 2).sum(axis=0)
    return bool((missed <= 1e-8 * total).mean() >= 0.5)


def _rows_by_projection(
    table: TrainingTable, array: Numbers, indices: list[Numbers]
) -> tuple[Bools, str] | None:
    """Return the rows that stand in an array as a linear projection, in a known order."""
    n = len(table)
    values = array.values
    orders = [np.arange(n)] if len(values) == n else []
    above = array.place.rpartition(".")[0]
    for x in indices:
        near = x.place.rpartition(".")[0] == above and len(x.values) == len(values)
        if near and x.values.min() >= 0 and x.values.max() < n:
            orders.append(x.values.astype(int))
    if not np.isfinite(values.astype(np.float64)).all():
        return None
    inputs = [table.numbers]
    for column in table.texts.values():
        kinds, codes = np.unique(column, return_inverse=True)
        if len(kinds) <= 50:
            inputs.append(np.eye(len(kinds))[codes])
    rows = np.column_stack(inputs)
    for order in orders:
        if len(np.unique(order)) == len(order) and _follows(rows[order], values.astype(np.float64)):
            marked = np.zeros(n, bool)
            marked[order] = True
            return marked, "as a linear projection"
    return None


# Rows by structure.

_ROWS = {"_fit_X", "X_fit_", "X_train_", "support_vectors_", "support_vectors", "_training_data"}
"""Names of arrays that hold training rows, whoever owns them."""
_OWNED = {
    ("Nystroem", "components_"), ("DBSCAN", "components_"), ("LabelPropagation", "X_"),
    ("LabelSpreading", "X_"), ("gaussian_kde", "dataset"), ("RBFInterpolator", "y"),
}  # fmt: skip
"""Owners and names of arrays that hold training rows."""
_TREES = {"KDTree", "BallTree", "KDTree32", "BallTree32", "KDTree64", "BallTree64", "cKDTree"}


def rows_by_structure(contents: Contents) -> list[StructureFinding]:
    """Return the arrays that hold training rows by their names, owners and shapes."""
    # Number of records and of features that an estimator says it was fitted on.
    fitted: dict[str, dict[str, int]] = {}
    for x in contents.numbers:
        if x.name in ("n_samples_fit_", "n_features_in_"):
            fitted.setdefault(x.place.rpartition(".")[0], {})[x.name] = int(x.values.ravel()[0])
    found = []
    for x in contents.numbers:
        shape = x.values.shape
        above = x.place.rpartition(".")[0]
        known = x.name in _ROWS or (x.owner, x.name) in _OWNED or x.owner in _TREES
        known = known or (x.owner in ("SVMClassifier", "SVMRegressor") and "vectors" in x.name)
        if len(shape) == 2 and shape[0] >= 1:
            said = tuple(
                fitted.get(above, {}).get(x, 0) for x in ("n_samples_fit_", "n_features_in_")
            )
            if (known and x.values.dtype.kind in "fiu") or said == shape:
                found.append(StructureFinding(x.place, x.owner, int(shape[0])))
        elif known and x.owner.startswith("SVM") and x.name == "support_vectors":
            counts = [y for y in contents.numbers if y.place == f"{above}.vectors_per_class"]
            n = int(counts[0].values.sum()) if counts else 1
            found.append(StructureFinding(x.place, x.owner, n))
    return found


# Values.


@np.errstate(all="ignore")
def stored_values(
    contents: Contents,
    table: TrainingTable,
    views: Sequence[View],
    rng: np.random.Generator,
    *,
    written: Written,
    beside: frozenset[str] = frozenset(),
) -> list[ValueFinding]:
    """Return values of single people that stand in a model.

    Arrays at the places `beside` hold rows: what stands next to them adds nothing.
    """
    return [
        *_stored_texts(contents.texts, table),
        *_stored_numbers(
            (*contents.numbers, *written.plain_numbers), table, views, rng, beside=beside
        ),
    ]


def _single(values: NDArray[Any], unit: Ints | None) -> NDArray[Any]:
    """Return the distinct values that one person has alone."""
    kinds, codes = np.unique(values, return_inverse=True)
    if unit is not None:
        codes = np.unique(np.stack([codes, unit]), axis=1)[0]
    single: NDArray[Any] = kinds[np.bincount(codes) == 1]
    return single


def _stored_texts(texts: Sequence[Texts], table: TrainingTable) -> Iterator[ValueFinding]:
    for column, values in table.texts.items():
        known = set(values.tolist())
        single = {x for x in _single(values, table.unit).tolist() if len(x) > 1}
        owner = np.arange(len(values)) if table.unit is None else table.unit
        has_words = any(len(x.split()) > 1 for x in known)
        prose = _Prose(values, owner) if has_words else None
        # Texts that are no word of a language are looked for within longer ones too.
        telling = [x for x in single if len(x) >= 8 and re.search(r"[\s\d@]", x)]
        places: dict[str, dict[str, set[str]]] = {"texts": {}, "words": {}}
        for x in texts:
            # A list that was not learnt from this column, such as the words of a language, holds
            # its texts by chance.
            hits = single & set(x.values)
            if hits and sum(text in known for text in x.values) < 0.5 * len(x.values):
                hits = set()
            for text in x.values if telling else ():
                if len(text) > 20 and len(telling) * len(text) <= MOST_WORK:
                    hits |= {one for one in telling if one in text and one != text}
            if hits:
                places["texts"].setdefault(x.place, set()).update(hits)
            if prose is not None and (found := prose.alone(frozenset(x.values)) - single):
                places["words"].setdefault(x.place, set()).update(found)
        for kind, of in places.items():
            if of:
                every = sorted(set().union(*of.values()))
                yield ValueFinding(
                    column, kind, tuple(of), len(every), by_chance=0.0, values=tuple(every)
                )


_WORDS = (r"\b\w\w+\b", r"\b\w+\b", r"\S+")
"""Words of a text as vocabularies take them, the usual ones first."""
_LONGEST_PHRASE = 8
"""Most words of a phrase that is looked for."""
_LONGEST_PART = 20
"""Most letters of a part of a word or text that is looked for."""


class _Prose:
    """Texts of several words, and the person behind each."""

    def __init__(self, texts: NDArray[Any], owner: Ints) -> None:
        self._texts = [str(x) for x in texts]
        self._owner = owner.tolist()
        self._alike = {w for x in self._texts for w in re.findall(r"\w+", x.lower())}

    def alone(self, wanted: frozenset[str]) -> set[str]:
        """Return those of a vocabulary that one person's texts have alone; none if it is foreign.

        It was learnt from the texts if nine in ten are words, phrases or runs of letters in them.
        """
        several = [x for x in wanted if len(x) > 1]
        sample = several[:200]
        for ways in (self._by_words, self._by_letters):
            near = sum(ways is self._by_letters or self._is_near(x) for x in sample)
            if not sample or near < 0.5 * len(sample):
                continue
            best: dict[str, int | None] = {}
            for owners in ways(wanted):
                best = max(best, owners, key=len)
                if len(best) == len(wanted):
                    break
            if len(best) >= 0.9 * len(wanted):
                return {x for x, one in best.items() if one is not None and len(x) > 1}
        return set()

    def _is_near(self, phrase: str) -> bool:
        return any(word in self._alike for word in re.findall(r"\w+", phrase.lower()))

    def _by_words(self, wanted: frozenset[str]) -> Iterator[dict[str, int | None]]:
        """Yield the owner of each phrase, None if there are several, for ways to cut words."""
        lengths = sorted(
            {len(x.split(" ")) for x in wanted if len(x.split(" ")) <= _LONGEST_PHRASE}
        )
        kept = {word for x in wanted for word in x.split(" ")}
        lower = not any(x != x.lower() for x in wanted)
        for word in _WORDS:
            cut = [re.findall(word, x.lower() if lower else x) for x in self._texts]
            yield _owners(wanted, (_phrases(x, lengths) for x in cut), self._owner)
            if lengths[-1:] > [1]:
                # Words such as "of" may be left out before phrases are made.
                fewer = ([w for w in x if w in kept] for x in cut)
                yield _owners(wanted, (_phrases(x, lengths) for x in fewer), self._owner)

    def _by_letters(self, wanted: frozenset[str]) -> Iterator[dict[str, int | None]]:
        """Yield the owner of each run of letters, None if there are several."""
        lengths = sorted({len(x) for x in wanted if len(x) <= _LONGEST_PART})
        size = sum(map(len, self._texts)) * len(lengths)
        if size > MOST_WORK or sum(len(x) <= _LONGEST_PART for x in wanted) < 0.9 * len(wanted):
            return
        lower = not any(x != x.lower() for x in wanted)
        texts = [re.sub(r"\s+", " ", x.lower() if lower else x) for x in self._texts]
        # At the ends of words with a space on both sides, perhaps.
        for end in ("", " "):
            ended = (f"{end}{x}{end}" for x in texts)
            runs = (
                (text[i : i + n] for n in lengths for i in range(len(text) - n + 1))
                for text in ended
            )
            yield _owners(wanted, runs, self._owner)


def _phrases(words: list[str], lengths: Sequence[int]) -> Iterator[str]:
    for n in lengths:
        for i in range(len(words) - n + 1):
            yield " ".join(words[i : i + n])


def _owners(
    wanted: frozenset[str], parts: Iterable[Iterable[str]], owner: Sequence[int]
) -> dict[str, int | None]:
    """Return the person whose texts have each wanted part, None if several people's have it."""
    found: dict[str, int | None] = {}
    for person, of in zip(owner, parts, strict=True):
        for part in of:
            if part in wanted and found.setdefault(part, person) != person:
                found[part] = None
    return found


def _is_short(values: Floats) -> Bools:
    """Return which numbers have fewer than `RESOLUTION` significant digits."""
    size = np.abs(values)
    with np.errstate(all="ignore"):
        unit = 10.0 ** (np.floor(np.log10(size)) - (RESOLUTION - 2))
        short = np.abs(size / unit - np.round(size / unit)) < 1e-8
    return np.asarray(short | ~(size > 0), bool)


def _stored_numbers(
    numbers: Sequence[Numbers],
    table: TrainingTable,
    views: Sequence[View],
    rng: np.random.Generator,
    *,
    beside: frozenset[str],
) -> Iterator[ValueFinding]:
    arrays = [
        x for x in numbers
        if x.values.dtype.kind in "iuf" and x.values.dtype != np.float16
        and not any(x.place.startswith(place.rpartition(".")[0]) for place in beside)
    ]  # fmt: skip
    pools = {}
    for single in (False, True):
        chosen = [x for x in arrays if (_tolerance(x.values) > 1e-9) == single]
        if chosen:
            flat = np.concatenate([x.values.ravel().astype(np.float64) for x in chosen])
            flat = flat[np.isfinite(flat)]
            if len(flat):
                pools[1.5e-7 if single else 1e-10] = np.unique(flat)
    if not pools:
        return
    names = [str(name) for name in table.numeric]
    columns = dict(zip(names, table.numbers.T, strict=True))
    numbered = set(columns)
    if table.label is not None and table.label.dtype.kind in "iuf":
        columns["label"] = table.label.astype(np.float64)
    for name, moments in table.dates.items():
        counts = moments.astype(np.int64).astype(np.float64)
        counts[np.isnat(moments)] = np.nan
        # As pandas keeps them, as most programs do, and as a calendar does.
        for unit, size in (("nanoseconds", 1.0), ("seconds", 1e9), ("days", 86_400e9)):
            columns[f"{name} in {unit}"] = counts / size
    alike = [view for view in views[1:] if view.values.shape[1] == len(names)]
    alpha = 0.01 / max(1, len(columns) * (1 + len(alike)))
    for k, (name, raw) in enumerate(columns.items()):
        alone = _single(raw, table.unit)
        alone = alone[~_is_short(alone)]
        if len(alone) < 0.05 * len(raw):
            continue
        rows = np.flatnonzero(np.isin(raw, alone))
        count = 0
        for form in (raw, *(view.values[:, k] for view in alike if name in numbered)):
            hits, by_chance = _beyond_chance(raw[rows], form[rows], pools, alpha=alpha, rng=rng)
            if len(hits) - math.ceil(by_chance) > count:
                count = len(hits) - math.ceil(by_chance)
                best = (by_chance, rows[hits], np.unique(form[rows[hits]]))
        if count > 0:
            by_chance, where, stored = best
            places = tuple(
                x.place for x in arrays
                if _nearest(stored, x.values.ravel().astype(float), _tolerance(x.values))[1].any()
            )  # fmt: skip
            values = tuple(map(repr, np.unique(raw[where]).tolist()))
            yield ValueFinding(
                name, "numbers", places, count=count, by_chance=by_chance, values=values
            )


def _beyond_chance(
    raw: Floats,
    form: Floats,
    pools: dict[float, Floats],
    *,
    alpha: float,
    rng: np.random.Generator,
) -> tuple[Ints, float]:
    """Return the places of the values whose form is in a pool, and how many would be by chance.

    In a placebo each value is moved towards its neighbour, with as many decimals as the values
    have, and brought into the form as they were: fractions of whole numbers coincide often.
    """
    from scipy.stats import poisson

    def hits(wanted: Floats) -> Bools:
        found = np.zeros(len(wanted), bool)
        for tolerance, pool in pools.items():
            found |= _nearest(pool, wanted, tolerance)[1]
        found[found] &= ~_is_short(wanted[found])
        return found

    none = (np.empty(0, int), 0.0)
    order = np.argsort(raw)
    values = raw[order]
    formed = form[order]
    steps = np.diff(formed)
    if len(raw) < 3 or not (np.all(steps >= 0) or np.all(steps <= 0)):
        return none  # a form that depends on other columns too
    found = hits(form)
    if not found.any():
        return none
    decimals = next((x for x in range(13) if (np.round(values, x) == values).all()), None)
    total = 0
    for _ in range(PLACEBOS):
        moved = values[:-1] + rng.uniform(0.05, 0.95, len(values) - 1) * np.diff(values)
        moved = moved if decimals is None else np.round(moved, decimals)
        total += int(hits(np.interp(moved, values, formed)).sum())
    if poisson.sf(found.sum() - 1, (total + 1) / PLACEBOS) > alpha:
        return none
    return np.flatnonzero(found), total / PLACEBOS


_PERSONAL = {
    "names": re.compile(r"[A-Z][a-zà-ÿ'-]+(?:,? [A-Z][a-zà-ÿ'.-]*){1,3}"),
    "e-mail addresses": re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"),
    "telephone numbers": re.compile(r"\+?\d[\d ()/-]{7,18}\d"),
}


def personal_texts(contents: Contents) -> list[ValueFinding]:
    """Return the lists of texts that look like names or addresses of people, without a table."""
    found = []
    for x in contents.texts:
        values = set(x.values)
        for kind, pattern in _PERSONAL.items():
            hits = sorted(v for v in values if len(v) < 200 and pattern.fullmatch(v))
            # A few in a long list of other things are words of the code or of a language.
            if len(hits) >= 3 and len(hits) >= 0.5 * len(values):
                place = (x.place,)
                found.append(
                    ValueFinding(
                        "", kind, place, count=len(hits), by_chance=0.0, values=tuple(hits)
                    )
                )
    return found


@np.errstate(all="ignore")
def entries_in_order(
    contents: Contents, table: TrainingTable, beside: frozenset[str]
) -> list[OrderFinding]:
    """Return the arrays with an entry for each record, in the order of the table, or person."""
    found = []
    n = len(table)
    n_people = table.people(np.ones(n, bool))
    labels = None
    if table.label is not None:
        labels = np.unique(table.label, return_inverse=True)[1]
    for x in contents.numbers:
        values = x.values
        length = 0 if values.ndim == 0 else len(values)
        if length < 20 or x.place in beside or length not in (n, n_people):
            continue
        flat = values.reshape(length, -1)
        what = "an entry per record" if length == n else "an entry per person"
        if flat.shape[1] == 1 and length == n and labels is not None:
            codes = np.unique(flat[:, 0], return_inverse=True)[1]
            # The same classes under names of their own.
            n_pairs = len(np.unique(np.stack([codes, labels]), axis=1).T)
            if n_pairs == codes.max() + 1 == labels.max() + 1 > 1:
                what = "labels"
        found.append(OrderFinding(x.place, x.owner, what, flat.shape[1]))
    return found


# Structure: the groups of records behind an answer.


@dataclass(frozen=True, eq=False)
class Structure:
    """Groups of training records that get one answer, and the size of the model.

    The indicators have the definitions of SACRO-ML's structural attack: a group are the records of
    a leaf of a single tree, or those with the same predicted probabilities.
    """

    group: Ints
    """(n,) Number of each record's group."""
    sizes: Ints
    """Number of people in each group."""
    records: Ints
    """Number of records in each group."""
    probs: Floats | None
    """(groups, classes) Probabilities of each group; None if the model gives none."""
    by_leaf: bool
    """Whether groups are the leaves of a single tree."""
    parameters: int | None
    """Number of fitted parameters; None if it is not defined for this kind of model."""
    constant: bool
    """Whether answers are constant around a record, so that a group is a region of the model."""
    minimum: int
    """Fewest people that an answer may stand on."""
    memorises: bool | None
    """Whether hyperparameters let the model memorise; None if there is no rule for its kind."""

    @property
    def smallest(self) -> int:
        """Number of people in the smallest group."""
        return int(self.sizes.min())

    @property
    def degrees_of_freedom(self) -> int | None:
        """Number of records less the number of parameters; None if not defined."""
        return None if self.parameters is None else len(self.group) - self.parameters

    @property
    def in_small_groups(self) -> Bools:
        """(n,) Records whose group has fewer than the minimum of people."""
        return (self.sizes < self.minimum)[self.group]

    @property
    def disclosing(self) -> Bools:
        """(groups,) Whether an answer rules out a class."""
        if self.probs is None:
            return np.zeros(len(self.sizes), bool)
        return np.asarray(np.isclose(self.probs, 0.0).any(axis=1), bool)

    @property
    def small_counts(self) -> Bools:
        """(groups,) Whether the expected number of people of some class is below the minimum."""
        if self.probs is None:
            return np.zeros(len(self.sizes), bool)
        counts = self.probs * self.sizes[:, None]
        return np.asarray(((counts > 0) & (counts < self.minimum)).any(axis=1), bool)


def structure_of(model: object, table: TrainingTable, minimum: int) -> Structure | Skipped:
    """Return the groups behind a model's answers about its own training records."""
    asked: Any = model
    x = table.given()
    probs: Floats | None = None
    leaf = None
    try:
        if not hasattr(asked, "predict_proba") and not hasattr(asked, "predict"):
            return Skipped("groups behind an answer", "the model has no predict")
        answers = _answers_of(asked, x)
        if hasattr(asked, "predict_proba"):
            probs = answers
        last = asked
        inner = x
        if hasattr(asked, "steps"):
            last = asked.steps[-1][1]
            inner = asked[:-1].transform(x) if len(asked.steps) > 1 else x
        if hasattr(last, "tree_") and hasattr(last, "apply"):
            leaf = np.asarray(last.apply(inner))
    except TRANSFORMS as error:
        # Its words may hold values of the table, such as a category that was not known.
        why = f"the model does not take the table as it is ({type(error).__name__})"
        return Skipped("groups behind an answer", why)
    constant = leaf is not None or _is_constant(asked, table, answers, last=last)
    key = answers if leaf is None else leaf.reshape(-1, 1)
    _, first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    records = np.bincount(group)
    sizes = records
    if table.unit is not None:
        sizes = np.bincount(np.unique(np.stack([group, table.unit]), axis=1)[0])
    return Structure(
        group,
        sizes,
        records,
        None if probs is None else probs[first],
        by_leaf=leaf is not None,
        parameters=n_parameters(last),
        constant=constant,
        minimum=minimum,
        memorises=memorises(last),
    )


def _answers_of(model: Any, given: object) -> Floats:
    """Return a model's answers as numbers, one row per record; texts by the number of the class."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(given), np.float64)
    found = np.asarray(model.predict(given))
    found = found.reshape(len(found), -1)
    if found.dtype.kind not in "biuf":
        # All classes, so that two sets of records have the same numbers.
        classes = np.unique(np.asarray(getattr(model, "classes_", found)).astype(str))
        found = np.searchsorted(classes, found.astype(str))
    return found.astype(np.float64)


def _is_constant(model: Any, table: TrainingTable, answers: Floats, *, last: Any) -> bool:
    """Return whether a small move of all numbers and notes leaves the answers about most records.

    `last` is the model's last step.
    """
    moved = table.frame.copy()
    n_moved = 0
    for name in table.numeric:
        if moved[name].dtype.kind in "iuf":
            column = moved[name].astype(np.float64)
            # Small beside a column's spread, and large beside the rounding of 32 bits.
            moved[name] = column + 1e-5 * (column.std() or 1.0)
            n_moved += 1
    for name in table.frame:
        values = table.texts.get(str(name))
        if values is not None and np.mean([len(x.split()) for x in values]) >= 3:
            # A note without its last word is nearly the same note.
            moved[name] = [x.rsplit(maxsplit=1)[0] if x.split() else x for x in values]
            n_moved += 1
    # Of categories alone nothing can be moved a little: a weighted sum of them is no region.
    while hasattr(last, "best_estimator_") or hasattr(last, "steps"):
        last = getattr(last, "best_estimator_", None) or last.steps[-1][1]
    is_sum = any(hasattr(last, name) for name in ("coef_", "coefs_", "feature_log_prob_"))
    given = moved.to_numpy() if table.as_array else moved
    try:
        again = _answers_of(model, given)
    except TRANSFORMS:
        return not is_sum  # whole numbers or categories alone
    same = bool(np.isclose(again, answers, rtol=0, atol=1e-12).all(axis=1).mean() > 0.9)
    return same and not (is_sum and not n_moved)


def n_parameters(model: object) -> int | None:
    """Return the number of fitted parameters of a model; None if its kind has no definition.

    A tree has a feature and a threshold per inner node, and a probability per leaf and class but
    one; a boosted tree has a weight too; a network or a linear model has its weights.
    """
    fitted: Any = model
    if hasattr(fitted, "tree_"):
        return _tree_parameters(fitted)
    if hasattr(fitted, "get_booster"):
        nodes = fitted.get_booster().trees_to_dataframe()
        n_leaves = int((nodes["Feature"] == "Leaf").sum())
        per_leaf = int(getattr(fitted, "n_classes_", 2)) - 1
        return 2 * (len(nodes) - n_leaves) + per_leaf * n_leaves + int(nodes["Tree"].nunique())
    if hasattr(fitted, "estimators_"):
        trees = list(np.ravel(np.asarray(fitted.estimators_, object)))
        if trees and all(hasattr(x, "tree_") for x in trees):
            return sum(_tree_parameters(x) for x in trees)
        return None
    if hasattr(fitted, "coefs_"):
        return int(sum(x.size for x in [*fitted.coefs_, *fitted.intercepts_]))
    if hasattr(fitted, "parameters") and hasattr(fitted, "state_dict"):
        return int(sum(x.numel() for x in fitted.parameters() if x.requires_grad))
    if isinstance(getattr(fitted, "coef_", None), np.ndarray):
        return int(fitted.coef_.size + np.size(getattr(fitted, "intercept_", ())))
    return None


def _tree_parameters(tree: Any) -> int:
    n_leaves = int((tree.tree_.children_left == -1).sum())
    # A tree for numbers has one value per leaf.
    per_leaf = int(np.max(getattr(tree, "n_classes_", 2))) - 1
    return 2 * (int(tree.tree_.node_count) - n_leaves) + per_leaf * n_leaves


def memorises(model: object) -> bool | None:
    """Return whether hyperparameters are among the fifth with the most successful attacks.

    None if there is no rule for this kind of model.

    Notes
    -----
    The limits are those that were learnt from attacks on thousands of models of three kinds
    (arXiv 2502.09396), as SACRO-ML applies them.
    """
    rule = _RULES.get(type(model).__name__)
    return None if rule is None else rule(model)


def _tree_memorises(model: Any) -> bool:
    depth = model.max_depth or math.inf
    best = model.splitter == "best"
    all_features = model.max_features is None
    small_leaves = model.min_samples_leaf <= 7.5
    if depth > 7.5 and small_leaves:
        return bool(best or all_features or model.min_samples_split <= 15)
    if depth > 7.5:
        return bool(best and all_features and model.min_samples_leaf <= 15)
    return bool(depth > 3.5 and best and all_features and small_leaves)


def _forest_memorises(model: Any) -> bool:
    depth = model.max_depth or math.inf
    if model.n_estimators > 35:
        some_features = model.max_features is not None
        return bool(
            depth > 3.5 and (some_features or (model.bootstrap and model.min_samples_split <= 15))
        )
    several = model.n_estimators > 15 and model.min_samples_leaf <= 15
    return bool(depth > 7.5 and several and not model.bootstrap)


def _boosting_memorises(model: Any) -> bool:
    weight = model.min_child_weight or 1
    rounds = model.n_estimators or 100
    if (model.max_depth or 6) <= 3.5 or rounds <= 3.5:
        return False
    most = 1.5 if rounds <= 12.5 else 3 if rounds <= 62.5 else 6
    return bool(weight <= most)


_RULES: dict[str, Callable[[Any], bool]] = {
    "DecisionTreeClassifier": _tree_memorises,
    "RandomForestClassifier": _forest_memorises,
    "XGBClassifier": _boosting_memorises,
}
