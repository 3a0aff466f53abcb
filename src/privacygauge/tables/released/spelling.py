"""Spellings: values written differently from the real table, read as an adversary would."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.parsing import YES_OR_NO, dates_of, days_of
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.tables.table import Column, Schema, Table

if TYPE_CHECKING:
    import pandas as pd

MISSING = frozenset(("?", "-", ".", "", "missing", "unknown", "none", "n/a", "na", "nan", "null"))
"""Common spellings of a missing value, in lower case."""
FEW_PEOPLE = 10
"""Fewest people at which two groups must have values in common in nearly every column."""
DECIMALS = 9
"""Most decimals to which numbers are rounded."""
TENS = 4
"""Most digits before the point that rounding may have made zeros."""
LEVELS = 10
"""Fewest different values that show how a column is written: numbers that are all tens, or codes
that both tables have."""
OUTSIDE = "in no range"
"""Category of a number outside all ranges of a column."""

# Ranges of numbers as tables write them: 30-39, [30, 40), under 30, over 60, 60+; also in German.
_NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_UNIT = r"(?:\s*[a-z]+)?"
_RANGE = re.compile(
    rf"(?P<low>{_NUMBER})\s*(?:-|\u2013|\u2014|\.\.+|to|bis)\s*(?P<high>{_NUMBER}){_UNIT}"
    rf"|(?P<open>[\[(])\s*(?P<from>{_NUMBER})\s*[,;]\s*(?P<to>{_NUMBER})\s*[\])]"
    rf"|(?P<end><=?|\u2264|under|below|up to|unter)\s*(?P<below>{_NUMBER}){_UNIT}"
    rf"|(?:>=?|\u2265|over|from|ab)\s*(?P<above>{_NUMBER}){_UNIT}"
    rf"|(?P<least>{_NUMBER})\s*(?:\+|and over|and older|or more|plus)",
    re.IGNORECASE,
)
# Values with a masked end: 123**, 123xx.
_MASKED = re.compile(r"(?P<kept>[^*#]*[^*#xX])(?P<marks>[*#]+|x+|X+)")
_SUPPRESSED = re.compile(
    r"[*#]+|x{3,}|suppressed|redacted|masked|anonymi[sz]ed|withheld|removed|deleted", re.IGNORECASE
)
"""Texts that stand for a value that was taken out."""
_NOTHING_BELOW = re.compile(r"(?P<kept>.*\w)(?P<end>\.?[-\u2013]|\.+|\u2026)")
"""Values with a sign that what is below was left out: I21.-, I2..., as classifications write it."""
_SEPARATORS = (".", "-", "/", " ")
"""Signs that begin the finer part of a code, as in I21.4 or N1 2AB."""
_COMMAS = re.compile(r"[-+]?\d+(?:,(\d+))?")
"""Numbers with a comma alone."""
_PERIODS = ("%Y", "%Y-%m", "%Y/%m", "%Y%m", "%m/%Y", "%m.%Y", "%b %Y", "%B %Y", "%b-%Y", "%G-W%V")
"""Formats of years, months and weeks in place of dates; the coarsest first."""
_QUARTERS = ("{0.year}Q{1}", "{0.year}-Q{1}", "{0.year} Q{1}", "Q{1} {0.year}")
"""Formats of a date and its quarter."""
_MOST_DAYS = 150 * 366
"""Most days of a calendar in which periods of several lengths are looked up."""
_SHORT = 3
"""Real values of this many characters or fewer are never taken to be cut."""
_UNITS = (1e-3, 1e-2, 1e-1, 10.0, 100.0, 1000.0)
"""Factors between units of one measure, as metres, centimetres and millimetres."""
_PREFIXES = 0.9
"""Smallest share of distinct values that must match real ones, cut or written as periods."""


def as_written(sources: Sequence[Table], other: Table, name: str) -> tuple[Table, tuple[str, ...]]:
    """Return a table with values spelt as in the sources, and notes on the changes.

    A category that no source has is read as the source's category that differs from it only in
    letter case, outer spaces or the form of a number, or as a missing value if it is a common mark
    for one. In a number column with missing values in a source but none in the other table, the
    number that makes up most values beyond the sources' range is read as missing.

    Parameters
    ----------
    sources : sequence of Table
        The real table, which decides the spelling, and tables already spelt like it. For a
        synthetic table the holdout must be among them: read by the real table alone, rare values
        that only the holdout has would not be found in it, and the sides would differ.
    other : Table
        Table with the columns of the sources, of the same kinds, in any order.
    name : str
        Name of the other table in the notes.
    """
    known = [{column.name: column for column in table.schema.columns} for table in sources]
    columns = []
    values = []
    said = []
    for column, found in zip(other.schema.columns, other.values.T, strict=True):
        read = _numbers if column.is_number else _texts
        new, numbers, what = read([one[column.name] for one in known], column, found)
        if what:
            said.append(f"{name}: in column {column.name!r} {what}")
        columns.append(new)
        values.append(numbers)
    return Table(Schema(tuple(columns)), np.column_stack(values)), tuple(said)


def in_the_same_words(
    frames: Mapping[str, pd.DataFrame], kept: Collection[str] = ()
) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """Write answers and decimal commas as in the real frame; return notes on the changes.

    Where a column of the real table holds yes and no, in one language or as true and false or 1 and
    0, and another table's holds them in other words, they are translated; where the real table
    holds numbers and another one numbers with decimal commas alone (1,5), they are read as such.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        Frames by name: real, synthetic and optionally holdout.
    kept : collection of str
        Columns to leave as they are.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    found = dict(frames)
    said = []
    real = frames["real"]
    for name in [one for one in real.columns if one not in kept]:
        there = real[name].dropna().unique().tolist()
        is_number = is_numeric_dtype(real[name].dtype) and not is_bool_dtype(real[name].dtype)
        for other in [one for one in frames if one != "real"]:
            if name not in found[other]:
                continue
            if not is_number and len(there) != len(YES_OR_NO[0]):
                continue  # nothing below applies
            texts = found[other][name].dropna().unique().tolist()
            answers = _answers_read(there, texts)
            read_as_numbers = is_number and not is_numeric_dtype(found[other][name].dtype)
            numbers = [_COMMAS.fullmatch(str(x).strip()) for x in texts] if read_as_numbers else []
            # 1,006 is a thousand and six, as it is elsewhere.
            decimal = any(one and one[1] and len(one[1]) != 3 for one in numbers)
            if answers is not None:
                first = str(texts[0])
                what = f"{first!r} is read as {str(answers[first])!r}"
                read = {text: answers[str(text)] for text in texts}
            elif decimal and None not in numbers:
                what = f"{str(texts[0])!r} is read with a decimal comma"
                read = {text: float(str(text).replace(",", ".")) for text in texts}
            else:
                continue
            column = found[other][name]
            missing = column.isna()
            written = column.map(read)
            if answers is not None:
                written = written.astype(real[name].dtype if not missing.any() else object)
            found[other] = found[other].assign(**{name: written.where(~missing)})
            said.append(f"{other}: in column {name!r} {what}")
    return found, tuple(said)


def without_suppressed(
    frames: Mapping[str, pd.DataFrame], kept: Collection[str] = ()
) -> tuple[dict[str, pd.DataFrame], tuple[str, ...], tuple[str, ...]]:
    """Read suppressed values of the synthetic frame as missing; return frames, columns and notes.

    A text such as ``*`` or ``redacted`` that no other frame has stands for a value that was taken
    out. The columns returned are those that hold nothing else: they are left out of all frames.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        Frames by name: real, synthetic and optionally holdout.
    kept : collection of str
        Columns to leave as they are.
    """
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    made = frames["synthetic"]
    others = [frame for name, frame in frames.items() if name != "synthetic"]
    left_out = []
    said = []
    for name in [one for one in made.columns if one not in kept]:
        column = made[name]
        if is_numeric_dtype(column.dtype) or not all(name in frame for frame in others):
            continue
        texts = column.dropna().unique().tolist()
        marks = [
            text for text in texts if isinstance(text, str) and _SUPPRESSED.fullmatch(text.strip())
        ]
        if not marks or any(frame[name].isin(marks).any() for frame in others):
            continue
        if len(marks) == len(texts):
            left_out.append(name)
            said.append(
                f"synthetic: column {name!r} holds {marks[0]!r} alone, as suppressed values are "
                "written: it is left out of all tables"
            )
            continue
        values = column.where(~column.isin(marks), None)
        if is_numeric_dtype(others[0][name].dtype) and not is_bool_dtype(others[0][name].dtype):
            numbers = pd.to_numeric(values, errors="coerce")
            values = numbers if numbers.isna().equals(values.isna()) else values
        made = made.assign(**{name: values})
        said.append(f"synthetic: in column {name!r} {marks[0]!r} is read as missing")
    if not said:
        return dict(frames), (), ()
    found = {**frames, "synthetic": made}
    found = {name: frame.drop(columns=left_out) for name, frame in found.items()}
    return found, tuple(left_out), tuple(said)


def _answers_read(there: Collection[Any], texts: Collection[Any]) -> dict[str, Any] | None:
    """Return the real table's value of each answer; None if these are no answers in other words."""
    own = {_text(value).casefold(): value for value in there}
    words = {str(text): _text(text).casefold() for text in texts}
    if len(own) != 2 or len(own) != len(there) or not words or set(words.values()) <= own.keys():
        return None
    of_real = next((pair for pair in YES_OR_NO if set(pair) == own.keys()), None)
    # Both words must be there: one alone, such as n, is in several pairs.
    of_other = next((pair for pair in YES_OR_NO if set(pair) == set(words.values())), None)
    if of_real is None or of_other is None:
        return None
    translated = dict(zip(of_other, (own[word] for word in of_real), strict=True))
    return {text: translated[word] for text, word in words.items()}


def coarsened_alike(
    frames: Mapping[str, pd.DataFrame], kept: Collection[str] = ()
) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """Coarsen frames to the precision of the synthetic table; return notes on the changes.

    Where the synthetic table holds ranges (30-39) of numbers, the other tables' numbers are put in
    them; where it holds the beginnings of values (123** or 123 for 12345, I21 for I21.4), the
    others' are cut; where it holds the months, quarters, weeks or years of dates, the others' dates
    become such.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        Frames by name: real, synthetic and optionally holdout.
    kept : collection of str
        Columns to leave as they are.
    """
    from pandas.api.types import is_numeric_dtype

    found = dict(frames)
    said = []
    made = found.pop("synthetic")
    real = frames["real"]
    for name in real.columns:
        if name in kept or name not in made:
            continue
        texts = made[name].dropna().unique().tolist()
        is_number = is_numeric_dtype(real[name].dtype)
        ranges = _ranges_of(texts) if is_number else None
        read: Callable[[pd.Series[Any]], pd.Series[Any]]
        if ranges is not None:
            read = methodcaller("map", ranges.name_of, na_action="ignore")
            what = f"holds ranges such as {texts[0]!r}: the others' numbers are put in them"
        elif is_number and (middles := _middles_of(texts, real[name])) is not None:
            made = made.assign(**{name: made[name].map(middles)})
            few = next(text for text in texts if _RANGE.fullmatch(str(text).strip()))
            said.append(
                f"synthetic: column {name!r} holds overlapping ranges such as {few!r}, or numbers "
                "beside ranges: each range is read as its middle"
            )
            continue
        elif (days := _middle_days(texts, real[name])) is not None:
            made = made.assign(**{name: made[name].map(days)})
            few = min(map(_text, texts), key=len)
            said.append(
                f"synthetic: column {name!r} holds dates and periods such as {few!r}: each period "
                "is read as its middle day"
            )
            continue
        elif (period := _period_of(texts, real[name])) is not None:
            read = partial(_in_periods, period)
            made = made.assign(**{name: made[name].map(_text, na_action="ignore")})
            what = f"holds periods such as {str(texts[0])!r}: the others' dates are written alike"
        else:
            cut = _cut_of(texts, real[name].dropna().unique().tolist())
            if cut is None:
                continue
            read = methodcaller("map", cut.text_of, na_action="ignore")
            made = made.assign(**{name: made[name].map(_text, na_action="ignore")})
            what = f"holds cut values such as {str(texts[0])!r}: the others' are cut alike"
        for other, frame in found.items():
            if name in frame:
                found[other] = frame.assign(**{name: read(frame[name])})
        said.append(f"synthetic: column {name!r} {what}")
    # The real frame goes first, as the caller reads the tables in this order.
    return {"real": found.pop("real"), "synthetic": made, **found}, tuple(said)


@dataclass(frozen=True)
class _Ranges:
    """Disjoint ranges of numbers, ascending."""

    lows: tuple[float, ...]
    highs: tuple[float, ...]
    names: tuple[str, ...]
    after_low: bool
    """True where a range excludes its low end, as (30, 40] does."""

    def name_of(self, number: float) -> str:
        """Return the name of a number's range; a gap of up to 1 belongs to the range below it."""
        side: Literal["left", "right"] = "left" if self.after_low else "right"
        place = int(np.searchsorted(self.lows, number, side=side)) - 1
        if place < 0:
            return OUTSIDE
        following = self.lows[place + 1] if place + 1 < len(self.lows) else np.inf
        # 30-39 and 40-49 leave a gap of 1: 39.5 is in the former.
        reach = following if following - self.highs[place] <= 1 else self.highs[place]
        return self.names[place] if number <= reach else OUTSIDE


def _ends_of(match: re.Match[str]) -> tuple[float, float]:
    """Return the ends of a range; an open end is infinite."""
    part = {
        key: float(value.replace(",", ""))
        for key, value in match.groupdict().items()
        if value is not None and key not in ("open", "end")
    }
    low = part.get("low", part.get("from", part.get("above", part.get("least", -np.inf))))
    return low, part.get("high", part.get("to", part.get("below", np.inf)))


def _middles_of(texts: Collection[Any], real: pd.Series[Any]) -> dict[Any, float] | None:
    """Return the number, or the middle of the range, that each text is; None if one is neither.

    None also if all are numbers. A range that is open on a side ends with the real numbers.
    """
    found = {}
    n_ranges = 0
    for text in texts:
        match = _RANGE.fullmatch(str(text).strip())
        if match is None:
            if re.fullmatch(_NUMBER, str(text).strip()) is None:
                return None
            found[text] = float(str(text).replace(",", ""))
            continue
        low, high = _ends_of(match)
        low = max(low, min(high, float(real.min()))) if low == -np.inf else low
        high = min(high, max(low, float(real.max()))) if high == np.inf else high
        if low > high:
            return None
        n_ranges += 1
        found[text] = (low + high) / 2
    return found if n_ranges else None


def _ranges_of(texts: Collection[Any]) -> _Ranges | None:
    """Parse texts as ranges; None if one of them is not a range, or two overlap."""
    found = []
    openings = set()
    for text in texts:
        match = _RANGE.fullmatch(str(text).strip())
        if match is None:
            return None
        openings.add(match["open"] == "(")
        found.append((*_ends_of(match), str(text)))
    found.sort()
    # Ascending by low end: ranges overlap only if neighbours do. One range alone is not a scale.
    if len(found) < 2 or any(one[1] > other[0] for one, other in pairwise(found)):
        return None
    lows, highs, names = zip(*found, strict=True)
    return _Ranges(lows, highs, names, after_low=openings == {True})


def _in_periods(write: Callable[[date], str], column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column with dates written as periods; unchanged if it has other values."""
    days = days_of(column)
    if days is None:
        return column
    dates = dates_of(np.floor(days)).astype(object)
    written = [None if day is None else write(day) for day in dates]
    return column.astype(object).where(column.isna(), written)


def _period_of(texts: Collection[Any], real: pd.Series[Any]) -> Callable[[date], str] | None:
    """Return a formatter of dates if most texts are periods of real dates, else None."""
    days = days_of(real)
    if days is None or not len(texts):
        return None
    made = {_text(value) for value in texts}
    dates = np.unique(dates_of(np.floor(days[~np.isnan(days)]))).astype(object)
    # The real dates are written in each format in turn; the first that yields most texts is theirs.
    for form in (*_PERIODS, *_QUARTERS):
        write = partial(_period, form)
        if len(made & set(map(write, dates))) >= _PREFIXES * len(made):
            return write
    return None


def _middle_days(texts: Collection[Any], real: pd.Series[Any]) -> dict[Any, str] | None:
    """Return the date, or the middle day of the period, that each text is, as texts of dates.

    None if one is neither, or if all are dates or periods of one length.
    """
    import pandas as pd

    days = days_of(real)
    if days is None or not len(texts) or np.isnan(days).all():
        return None
    years = dates_of(np.floor(np.array([np.nanmin(days), np.nanmax(days)]))).astype(object)
    first = date(years[0].year, 1, 1)
    n_days = (date(years[1].year, 12, 31) - first).days + 1
    if n_days > _MOST_DAYS:
        return None
    calendar = [first + timedelta(one) for one in range(n_days)]
    left = {_text(text) for text in texts}
    found: dict[str, date] = {}
    n_forms = 0
    for form in (*_PERIODS, *_QUARTERS):
        places: dict[str, list[int]] = {}
        for place, day in enumerate(calendar):
            places.setdefault(_period(form, day), []).append(place)
        read = left & places.keys()
        n_forms += bool(read)
        found |= {text: calendar[places[text][len(places[text]) // 2]] for text in read}
        left -= read
    if not found or (not left and n_forms == 1):
        return None
    if left:
        further = sorted(left)
        dates = days_of(pd.Series(further))
        if dates is None:
            return None
        found |= dict(zip(further, dates_of(np.floor(dates)).astype(object), strict=True))
    return {text: found[_text(text)].isoformat() for text in texts}


def _period(form: str, day: date) -> str:
    """Return a date's year, month, week or quarter in a format."""
    return day.strftime(form) if "%" in form else form.format(day, (day.month + 2) // 3)


@dataclass(frozen=True)
class _Cut:
    """How values are cut: the part kept, and the mark in place of the rest."""

    length: int | None
    """Characters kept; if negative, minus the number lost at the end; None for the part before the
    separator, or, without one, the letters at the beginning."""
    mark: str = ""
    """Mark for each lost character; empty if they are dropped."""
    separator: str = ""
    """First character of the part that is lost, where a part is kept."""
    end: str = ""
    """Text that stands after what is kept."""

    def text_of(self, value: object) -> str:
        """Return a value as it reads after the cut."""
        text = _text(value)
        if self.length is None and self.separator:
            kept = text.partition(self.separator)[0]
        elif self.length is None:
            kept = _LETTERS.match(text)[0]  # type: ignore[index]  # it matches any text
        else:
            kept = text[: self.length]
        return kept + self.mark * (len(text) - len(kept)) + self.end


_LETTERS = re.compile(r"[^\W\d_]*")
"""Letters at the beginning of a code, such as a chapter or an area."""


def _cut_of(texts: Collection[Any], real: Collection[Any]) -> _Cut | None:
    """Return the cut that turns real values into these texts; None if there is none."""
    # A mark for a missing value is not cut.
    made, known = (
        [text for text in map(_text, values) if text.casefold() not in MISSING]
        for values in (texts, real)
    )
    if not made or not known:
        return None
    masked = [_MASKED.fullmatch(text) for text in made]
    kept = [one["kept"] for one in masked if one is not None]
    # All texts end in marks: a fixed length is kept, or else a fixed number is masked.
    if len(kept) == len(made):
        # Real values that end in the mark themselves were not masked.
        if any(text[-1:] in {one[-1] for one in made} for text in known):
            return None
        marks = {len(one["marks"]) for one in masked if one is not None}
        mark = made[0][-1]
        if len({len(text) for text in kept}) == 1:
            return _Cut(len(kept[0]), mark)
        return _Cut(-marks.pop(), mark) if len(marks) == 1 else None
    if set(made) & set(known):
        return None
    below = [_NOTHING_BELOW.fullmatch(text) for text in made]
    ends = {one["end"] for one in below if one is not None}
    end = ends.pop() if None not in below and len(ends) == 1 else ""
    # No marks: all texts have one length, and most of them begin a longer real value.
    length = len(made[0]) - len(end)
    lengths = {len(text) for text in known}
    # Numbers of varying length are amounts in another unit rather than codes.
    digits = all(text.isdigit() for text in known)
    even = {len(text) - len(end) for text in made} == {length} and min(lengths) > length
    cuts = []
    if even and (len(lengths) == 1 or not digits) and (min(lengths) > _SHORT or not digits):
        cuts.append(_Cut(length, end=end))
    if not digits:
        # Texts of varying length: all that stands before a sign, or before the first digit.
        parted = [sign for sign in _SEPARATORS if all(sign in text for text in known)]
        cuts += [_Cut(None, separator=sign, end=end) for sign in parted]
        cuts += [_Cut(None, end=end)] if not any(text.isalpha() for text in known) else []
    for cut in cuts:
        begun = {cut.text_of(text) for text in known}
        # All codes may have one beginning, which then says nothing.
        if len(begun) == 1 and (digits or length < _SHORT):
            continue
        if sum(text in begun for text in made) >= _PREFIXES * len(made):
            return cut
    return None


def _text(value: object) -> str:
    # Frames with missing values turn whole numbers into floats: 123.0 is written 123.
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()  # type: ignore[call-overload]


def require_common(real: Table, made: Table, n_people: int | None = None) -> tuple[str, ...]:
    """Reject a synthetic table that has a column without, or with few, possible real values.

    Parameters
    ----------
    real, made : Table
        Real and synthetic records, of one schema.
    n_people : int, optional
        Number of people behind the real records; by default one per record.

    Returns
    -------
    tuple of str
        A warning for each column in which some synthetic rows have values that no real record
        has, by far more than chance explains: copies in such rows are hard to see.

    Raises
    ------
    InputError
        If no value of a column, or less than half of them, can be one of the real table: its name
        and the way out, in one line. A warning is returned about categories that have at least
        `LEVELS` in common, which are sparse codes, and numbers that lie a little out of the range.

    Notes
    -----
    Missing values are no values in common. Categories are compared as they are, and, where most
    people have one of their own, by their form (digits, letters and other characters in turn), so
    that hashed codes are no further codes of the same kind.
    """
    people = len(real) if n_people is None else n_people
    warnings = []
    for column, own, values in zip(real.schema.columns, real.values.T, made.values.T, strict=True):
        mend = f"write the values as there, or leave the column out (--drop {column.name})"
        if column.is_number:
            own = own[~np.isnan(own)]
            values = values[~np.isnan(values)]
            if not len(own) or not len(values):
                continue
            low = float(own.min())
            high = float(own.max())
            there = f"which are from {low:g} to {high:g}"
            within = {
                factor: np.mean((factor * values >= low) & (factor * values <= high))
                for factor in _UNITS
            }
            factor = max(_UNITS, key=within.__getitem__)
            if within[factor] >= _PREFIXES:
                mend = f"times {factor:g} they could be, as in another unit: {mend}"
            share = float(np.mean((values < low) | (values > high)))
            # Noise, imputation and rounding move numbers a little out of the range.
            usual = 0.0 if column.date else abs(float(np.median(own)))
            reach = _A_LITTLE * max(high - low, usual)
            away = (values < low - reach) | (values > high + reach)
            # One number alone is a mark rather than a measure.
            moved = bool(np.ptp(values) > 0 and np.mean(away) <= _MOST_UNKNOWN)
            # Of one person more, each end is as likely to be exceeded as to be reached by any.
            by_chance = 2 / (people + 1)
            n = max(1, round(len(values) * min(1.0, people / len(own))))
            found = (
                (share, by_chance)
                if share == 1
                else _beyond_chance(share * n, n, by_chance, people)
            )
        else:
            # Codes up to the last category: the one after it is a missing value.
            own = own[own < len(column.categories)].astype(np.int64)
            values = values[values < len(column.categories)].astype(np.int64)
            # Two groups of a few people need not have a level in common: too little was seen.
            if not len(own) or not len(values) or people < FEW_PEOPLE:
                continue
            moved = False
            there = checks.short_list((repr(column.categories[code]) for code in np.unique(own)), 3)
            found = _unknown_values(own, values, people)
            if found is None:
                # D1034 and K77 have one form, 3fa9 another.
                plain = [
                    re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", category))
                    for category in column.categories
                ]
                forms = np.unique(plain, return_inverse=True)[1]
                found = _unknown_values(forms[own], forms[values], people)
        if found is None:
            continue
        share, by_chance = found
        # Many levels in common are written alike: sparse codes, whose levels come in groups such as
        # families, may be new in most rows.
        sparse = not column.is_number and len(np.intersect1d(own, values)) >= LEVELS
        if share > _MOST_UNKNOWN and not sparse and not moved:
            which = "no value" if share == 1 else f"only {1 - share:.1%} of the values"
            raise InputError(
                f"synthetic: {which} of column {column.name!r} can be one of the real table, "
                f"{there}, so that {'no copy' if share == 1 else 'few copies'} could be seen: "
                f"{mend}"
            )
        warnings.append(
            f"synthetic: {share:.1%} of the values of column {column.name!r} stand nowhere in the "
            f"real table (by chance it would be about {by_chance:.1%}): a copy with such a value "
            f"is hard to see; if they are written in another way, {mend}"
        )
    return tuple(warnings)


_SOME = 0.1
"""Share of unknown values that is worth a warning."""
_A_LITTLE = 0.1
"""Share of the range, or of the median, by which numbers that were moved may lie out of it."""
_MOST_UNKNOWN = 0.5
"""Share of unknown values above which hardly any copy could be seen."""
_BY_CHANCE = 0.001
"""Probability below which values that are all unknown are not so by chance."""


def _unknown_values(own: Ints, values: Ints, people: int) -> tuple[float, float] | None:
    """Return the share of values whose level `own` lacks, and the share expected by chance.

    None if chance explains them. The share of people whose level nobody else has estimates the
    probability that a further person has a new level (Good 1953, Turing's estimate). A person's
    rows may all have one level, so a level in r of n rows counts for r / n of the people, at least
    one.
    """
    unknown = np.count_nonzero(~np.isin(values, own))
    _, rows = np.unique(own, return_counts=True)
    persons = np.maximum(1, np.rint(rows * min(1.0, people / len(own))))
    new = float(np.count_nonzero(persons == 1) / persons.sum())
    if unknown == len(values):
        # A few levels may all be new, each distinct level counted once.
        return None if new ** len(np.unique(values)) > _BY_CHANCE else (1.0, new)
    # Rows of a new level come together, as a person's do.
    n_values = max(1, round(len(values) * min(1.0, people / len(own))))
    return _beyond_chance(unknown / len(values) * n_values, n_values, new, int(persons.sum()))


def _beyond_chance(
    unknown: float, n: int, by_chance: float, people: int
) -> tuple[float, float] | None:
    """Return the share of unknown values and that by chance; None if chance may explain it.

    Both shares are measured: the one on n values, the other on so many people.
    """
    share = unknown / n
    level = 1 - 2 * _BY_CHANCE
    least = clopper_pearson(unknown, n, level)[0]
    most = clopper_pearson(by_chance * people, people, level)[1]
    return None if share < _SOME or least <= most else (share, by_chance)


def rounded_alike(made: Table, others: Sequence[Table]) -> tuple[list[Table], tuple[str, ...]]:
    """Round numbers as those of the synthetic table are, also to tens; return notes on the columns.

    Parameters
    ----------
    made : Table
        The synthetic table.
    others : sequence of Table
        The real table, and the holdout if there is one; of one schema with `made`.
    """
    values = [table.values.copy() for table in others]
    said = []
    for j, column in enumerate(made.schema.columns):
        if not column.is_number or column.date:
            continue
        few = _decimals(made.values[:, j])
        finest = _decimals(np.concatenate([table.values[:, j] for table in others]))
        if few is None or (finest is not None and few >= finest):
            continue
        # Numbers in another unit, such as millimetres for metres, are round without rounding.
        if few < 0 and len(np.unique(np.round(values[0][:, j], few))) < LEVELS:
            continue
        for each in values:
            # Clipped, since rounding may move an extreme value out of the joint range.
            each[:, j] = np.clip(np.round(each[:, j], few), column.low, column.high)
        form = f"have {few} decimals" if few >= 0 else f"are rounded to {10**-few:,}"
        said.append(
            f"synthetic: numbers of column {column.name!r} {form}: those of the other tables are "
            "rounded alike"
        )
    tables = [replace(one, values=each) for one, each in zip(others, values, strict=True)]
    return tables, tuple(said)


def _texts(sources: Sequence[Column], column: Column, codes: Floats) -> tuple[Column, Floats, str]:
    """Return a column of categories, spelt as in the sources, their codes, and a note."""
    there = {text for source in sources for text in source.categories}
    spelt: dict[str, str] = {}
    for source in sources:
        for text in source.categories:
            spelt.setdefault(_plain(text), text)
    # Two spellings that differ in case only are two levels in the sources: then case has a meaning.
    unique = len(spelt) == len(there)
    # Marks are read as missing only if the sources have missing values (below).
    marks = {text for text in column.categories if text.strip().casefold() in MISSING} - there
    renamed = {
        text: spelt[_plain(text)]
        for text in column.categories
        if unique and text not in there and _plain(text) in spelt
    }
    renamed |= dict.fromkeys(marks, "") if any(source.missing for source in sources) else {}
    if not renamed:
        return column, codes, ""
    # Marks become the code after the last category; renamed categories may merge with others.
    absent = {text for text in marks if renamed.get(text) == ""}
    kept = [renamed.get(text, text) for text in column.categories if text not in absent]
    texts = tuple(dict.fromkeys(kept))
    place = {text: code for code, text in enumerate(texts)}
    new = [
        len(texts) if text in absent else place[renamed.get(text, text)]
        for text in column.categories
    ]
    codes = np.array([*new, len(texts)], dtype=np.float64)[codes.astype(np.int64)]
    pairs = (
        f"{old!r} is read as {repr(new) if new else 'missing'}" for old, new in renamed.items()
    )
    missing = column.missing or bool(absent)
    return replace(column, categories=texts, missing=missing), codes, checks.short_list(pairs, 3)


def _numbers(
    sources: Sequence[Column], column: Column, values: Floats
) -> tuple[Column, Floats, str]:
    """Return a column of numbers with the mark for missing values removed, and a note."""
    low = min(source.low for source in sources if source.low is not None)
    high = max(source.high for source in sources if source.high is not None)
    beyond = (values < low) | (values > high)
    marks, counts = np.unique(values[beyond], return_counts=True)
    often = counts.max(initial=0)
    has_missing = any(source.missing for source in sources)
    # A mark must be repeated, make up half of the values out of range, and leave values in range.
    if not has_missing or column.missing or often < max(2, 0.5 * beyond.sum()) or beyond.all():
        return column, values, ""
    beyond = values == marks[counts.argmax()]
    there = values[~beyond]
    new = replace(column, low=float(there.min()), high=float(there.max()), missing=True)
    return new, np.where(beyond, np.nan, values), f"{values[beyond][0]:g} is read as missing"


def _plain(text: str) -> str:
    """Return the form of a category by which spellings are compared."""
    # Accents are written in one character or in two.
    plain = unicodedata.normalize("NFC", " ".join(text.split())).casefold()
    # Booleans of one table are often 0 and 1 in another.
    plain = {"true": "1", "false": "0"}.get(plain, plain)
    try:
        number = float(plain)
    except ValueError:
        return plain
    return repr(number) if np.isfinite(number) else plain


def _decimals(values: Floats) -> int | None:
    """Return the fewest decimals that hold all numbers, -2 for hundreds; None if too many."""
    there = np.unique(values[~np.isnan(values)])
    # A few round numbers, such as zeros alone, say nothing about the rounding of others.
    for n in range(-TENS if len(there) >= LEVELS else 0, DECIMALS + 1):
        if np.array_equal(np.round(there, n), there):
            return n
    return None
