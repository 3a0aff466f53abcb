"""Ids and texts of samples as given, and samples on both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError
from privacygauge.language.near_copies import components

Texts = tuple[str, ...]
"""Ids or texts, one per sample. Not a numpy array: that would drop a trailing NUL, so that two
different ids become one, and would give every id the width of the longest."""

_WAY_OUT = "fill it in, or leave the row out"


def texts_of(
    values: Sequence[object] | NDArray[np.generic], name: str, n: int, *, empty: bool = False
) -> Texts:
    """Convert `n` texts or numbers to texts.

    Parameters
    ----------
    values : sequence of str or number, length n
    name : str
        Name of the values in messages.
    empty : bool
        Whether a text may be empty: an id may not.

    Raises
    ------
    InputError
        One line: what is wrong, in which row, and the way out.
    """
    if isinstance(values, str) or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise InputError(f"{name} must have the shape (n,), got {np.shape(values) or 'one text'}")
    if len(values) != n:
        raise InputError(f"{name} must have {n} rows, got {len(values)}")
    return tuple(
        # Most are plain, and most audits ask for all of them several times.
        value
        if type(value) is str and value and value.isascii()
        else _text(value, name, row, empty)
        for row, value in enumerate(values)
    )


def texts_of_rows(texts: Texts, rows: NDArray[np.intp]) -> Texts:
    """Return the texts of some rows."""
    return tuple(texts[row] for row in rows.tolist())


def number_names(names: Sequence[str]) -> Ints:
    """Return the number of each name, in the order of first occurrence, (n,)."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def _text(value: object, name: str, row: int, empty: bool) -> str:
    if _missing(value):
        raise InputError(f"{name} has no value in row {row}: {_WAY_OUT}")
    if not isinstance(value, str | int | float | np.generic):
        kind = type(value).__name__
        raise InputError(f"{name} must be texts or numbers, got {kind} in row {row}")
    text = str(value)
    if not text and not empty:
        raise InputError(f"{name} has no value in row {row}: {_WAY_OUT}")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{name} is not valid Unicode in row {row}: save the file as UTF-8")
    return text


def _missing(value: object) -> bool:
    # pandas' NA and NaT are known by name: pandas may not be there.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


_MEMBER = 0
_NONMEMBER = 1
_POPULATION = 2
_NAMES = ("members", "non-members", "population")


@dataclass(frozen=True, eq=False)
class Overlap:
    """Samples that stay, and a note on each kind that does not."""

    kept: Bools
    """(n,) True for the samples that stay."""
    notes: tuple[str, ...]
    """Notes: the numbers of samples left out, and the reasons."""
    copies: Ints | None = None
    """(n,) Component of near copies of each text; None without texts."""


def find_overlap(
    sample: Sequence[str],
    member: Bools,
    population: Bools,
    text: Sequence[str] | None = None,
) -> Overlap:
    """Find samples that are on one side only, by id and by text.

    Parameters
    ----------
    sample : sequence of str, length n
        Ids.
    member, population : ndarray of bool, shape (n,)
        No sample is both.
    text : sequence of str, length n, optional
        Compared but for case, white space and a few words (`near_copies`).

    Returns
    -------
    Overlap
        A sample that is both a member's and a non-member's, or nearly, stays on neither side; a
        judged sample does not stay in the population.

    Raises
    ------
    InputError
        If an id occurs twice in one part.
    """
    part = np.where(population, _POPULATION, np.where(member, _MEMBER, _NONMEMBER))
    seen: set[tuple[str, int]] = set()
    for row, (name, which) in enumerate(zip(sample, part.tolist(), strict=True)):
        if (name, which) in seen:
            raise InputError(
                f"sample must hold different ids, got {name[:60]!r} twice ({_NAMES[which]}), again "
                f"in row {row}: number the samples of a note, such as note-7/3"
            )
        seen.add((name, which))
    kept = np.ones(len(part), np.bool_)
    notes = _leave_out(kept, _places(sample), part, "the same id")
    copies: Ints | None = None
    if text is not None:
        plain = plain_texts(text)
        copies = components(plain)
        notes += _leave_out(kept, _places(plain), part, "the same text")
        near = "a text that is the same but for a few words"
        notes += _leave_out(kept, _places([str(x) for x in copies.tolist()]), part, near)
    return Overlap(checks.frozen(kept), tuple(notes), copies)


def plain_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Normalise texts for comparison: lower case, single spaces."""
    return tuple(" ".join(text.split()).casefold() for text in texts)


def _places(keys: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        places[key].append(row)
    return places


def _leave_out(kept: Bools, places: dict[str, list[int]], part: Ints, kind: str) -> list[str]:
    both = [0, 0]
    again = 0
    for rows in places.values():
        if len(rows) == 1:
            continue
        alive = [row for row in rows if kept[row]]
        parts = {int(part[row]) for row in alive}
        if {_MEMBER, _NONMEMBER} <= parts:
            judged = [row for row in alive if part[row] != _POPULATION]
            kept[judged] = False
            for row in judged:
                both[part[row]] += 1
        if _POPULATION in parts and len(parts) > 1:
            apart = [row for row in alive if part[row] == _POPULATION]
            kept[apart] = False
            again += len(apart)
    notes = []
    if both[0]:
        notes.append(
            f"{both[_MEMBER]} member(s) and {both[_NONMEMBER]} non-member(s) with {kind} "
            "were left out: what was trained on is no non-member."
        )
    if again:
        notes.append(
            f"{again} population sample(s) with {kind} as a judged sample were left out: the "
            "threshold must not see what is judged."
        )
    return notes
