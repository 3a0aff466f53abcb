"""Energies of texts with membership, groups and lengths: checked values, and files of them."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.datasets.reading import (
    LINES,
    TABLE_ENDINGS,
    FrameLike,
    csv_texts,
    is_csv,
    read_content,
    read_json_lines,
)
from privacygauge.errors import InputError
from privacygauge.evaluate.slices import MISSING, MOST_GROUPS, column_groups
from privacygauge.language.texts import (
    Texts,
    connected_rows,
    find_overlap,
    number_names,
    objects_of,
    texts_of,
    texts_of_rows,
)
from privacygauge.runs.results import check_writable, write_results

if TYPE_CHECKING:
    import pandas as pd


LIKELIHOOD_RATIO = "likelihood-ratio"
"""Name of the attack of Mireshghallah et al. (2022)."""
LOSS = "loss"
"""Name of the baseline: the audited model's energy alone (Yeom et al. 2018)."""
REFERENCE = "reference"
"""Name of a control: the reference model never saw a member, so its energy can only show a
distribution shift."""

_OF_ENERGIES = (LOSS, LIKELIHOOD_RATIO, REFERENCE)


def further_signals(given: Mapping[str, ArrayLike], n: int) -> dict[str, Floats]:
    """Return further signals of n samples, checked: (n,) values each, higher for members.

    Raises
    ------
    InputError
        If a name is empty or belongs to a signal made of the energies, or the values are not n
        finite numbers.
    """
    for name in given:
        if not name.strip() or name in _OF_ENERGIES:
            raise InputError(
                f"a further signal must have a name of its own, got {name!r}: "
                f"{checks.short_list(_OF_ENERGIES)} are made of the energies"
            )
    return {
        name: checks.floats(values, f"signal {name}", length=n) for name, values in given.items()
    }


SHORT = (10, 20)
"""Tokens of a short sample, both ends included (Mireshghallah et al. 2022, section 4.2)."""
LONG = (21, 60)
"""Tokens of a long sample, both ends included; "more than 20" by section A.3.3, so that no sample
is both."""
_ROUNDING = 1e-3
"""Largest probability above 1 that rounding can produce."""


@dataclass(frozen=True, eq=False)
class TextScores:
    """Energies of n samples under the audited model and under a reference model.

    Build it with `text_scores`, which leaves out samples that occur on both sides.
    """

    sample: Texts = field(repr=False)
    """(n,) Ids of the samples, all distinct."""
    energy_target: Floats
    """(n,) Energy under the audited model; lower means more likely. At least 0, unless standardised
    over a patient's samples."""
    member: Bools
    """(n,) True where the sample was in the audited model's training data."""
    population: Bools
    """(n,) True for samples from which thresholds are taken: neither members nor judged."""
    energy_reference: Floats | None = None
    """(n,) Energy under the reference model, which saw none of the samples."""
    group: Texts | None = field(default=None, repr=False)
    """(n,) Patient (or note) of each sample: the independent unit of every interval."""
    length: Ints | None = None
    """(n,) Length of each sample in tokens."""
    text: Texts | None = field(default=None, repr=False)
    """(n,) Texts of the samples; never shown unless asked for."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the result, one sentence each."""
    further: Mapping[str, Floats] = field(default_factory=dict)
    """(n,) each: further signals by name, such as ``min-k``; higher means more likely a member."""
    author: Texts | None = field(default=None, repr=False)
    """(n,) The patient of each sample where members were dealt text by text, so that no patient is
    a unit; `group` is None then."""
    copies: Ints | None = None
    """(n,) Number of the group of copies or near copies to which a sample belongs; a group is one
    unit."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """(n,) each: further columns by name, texts or numbers with nan for a gap, whose values are
    groups of samples."""
    crossed: float = 0.0
    """Share of the members or of the non-members, whichever is larger, left out because the other
    side has a copy or near copy."""

    def __post_init__(self) -> None:
        target = checks.floats(self.energy_target, "energy_target")
        n = len(target)
        checked: dict[str, object] = {
            "sample": texts_of(self.sample, "sample", n),
            "energy_target": target,
            "member": checks.bools(self.member, "member", length=n),
            "population": checks.bools(self.population, "population", length=n),
        }
        if self.energy_reference is not None:
            reference = checks.floats(self.energy_reference, "energy_reference", length=n)
            checked["energy_reference"] = reference
        if self.group is not None:
            checked["group"] = texts_of(self.group, "group", n)
        if self.author is not None:
            checked["author"] = texts_of(self.author, "author", n)
        if self.length is not None:
            checked["length"] = checks.classes(self.length, "length", length=n)
        if self.copies is not None:
            checked["copies"] = checks.integers(self.copies, "copies", length=n)
        if self.text is not None:
            checked["text"] = texts_of(self.text, "text", n, empty=True)
        checked["further"] = further_signals(self.further, n)
        checked["columns"] = {
            name: checks.frozen(checks.vector(values, f"column {name!r}", length=n))
            for name, values in self.columns.items()
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        # A member in the population would set the threshold that judges it.
        _require_one_part(self.member, self.population)
        if len(set(self.sample)) < len(self.sample):
            raise InputError("sample must hold different ids: build TextScores with text_scores")
        for side, which in ((self.member, "members"), (self.nonmember, "non-members")):
            if not side.any():
                raise InputError(
                    f"both members and non-members are needed, got no {which} outside of the "
                    "population"
                )

    def __len__(self) -> int:
        return len(self.member)

    @property
    def judged(self) -> Bools:
        """(n,) True for the members and non-members on which attacks are judged."""
        return checks.frozen(~self.population)

    @property
    def nonmember(self) -> Bools:
        """(n,) True for the non-members on which attacks are judged."""
        return checks.frozen(~(self.population | self.member))

    @cached_property
    def unit(self) -> Ints:
        """(n,) Independent unit: the number of the sample's group, or of its row.

        Groups or rows that hold copies of each other are one unit.
        """
        if self.copies is not None:
            keys = self.sample if self.group is None else self.group
            return checks.frozen(connected_rows(keys, self.copies))
        if self.group is None:
            return checks.frozen(np.arange(len(self)))
        return checks.frozen(number_names(self.group))

    def take(self, rows: Bools, *notes: str) -> TextScores:
        """Return some of the samples, with further notes.

        Parameters
        ----------
        rows : ndarray of bool, shape (n,)
            True for samples to keep: at least one member and one non-member.
        """
        kept = np.flatnonzero(rows)
        return dataclasses.replace(
            self,
            sample=texts_of_rows(self.sample, kept),
            energy_target=self.energy_target[kept],
            member=self.member[kept],
            population=self.population[kept],
            energy_reference=(
                None if self.energy_reference is None else self.energy_reference[kept]
            ),
            group=None if self.group is None else texts_of_rows(self.group, kept),
            author=None if self.author is None else texts_of_rows(self.author, kept),
            length=None if self.length is None else self.length[kept],
            text=None if self.text is None else texts_of_rows(self.text, kept),
            notes=(*self.notes, *notes),
            further={name: values[kept] for name, values in self.further.items()},
            copies=None if self.copies is None else self.copies[kept],
            columns={name: values[kept] for name, values in self.columns.items()},
        )


class FurtherColumns(TypedDict, total=False):
    """Keywords of `text_scores` for the columns that a file of energies may have."""

    energy_reference: ArrayLike | None
    group: Sequence[object] | NDArray[np.generic] | None
    length: ArrayLike | None
    population: ArrayLike | None
    text: Sequence[object] | NDArray[np.generic] | None
    further: Mapping[str, ArrayLike] | None
    columns: Mapping[str, ArrayLike] | None


def text_scores(
    sample: Sequence[object] | NDArray[np.generic],
    energy_target: ArrayLike,
    member: ArrayLike,
    **given: Unpack[FurtherColumns],
) -> TextScores:
    """Return checked energies, without the samples that occur on both sides.

    Parameters
    ----------
    sample : sequence of str or int, length n
        Ids. An id may occur at most once among the members, once among the non-members and once in
        the population.
    energy_target : array_like of float, shape (n,)
        Energy under the audited model, at least 0, such as the mean negative log-likelihood of
        masked tokens (not the log-likelihood, which has the opposite sign).
    member : array_like of bool, shape (n,)
        True (or 1) where the sample was in the audited model's training data.
    **given
        The other parameters.

    Other Parameters
    ----------------
    energy_reference : array_like of float, shape (n,), optional
        Energy under another model, which saw none of the samples, with the same masks.
    group : sequence of str or int, length n, optional
        Patient or note of each sample; by default every sample is its own unit.
    length : array_like of int, shape (n,), optional
        Length of each sample in tokens.
    population : array_like of bool, shape (n,), optional
        True (or 1) for samples that are neither judged nor members, from which thresholds are
        taken.
    text : sequence of str, length n, optional
        Texts of the samples, for the blind classifier; never shown unless asked for.
    further : mapping of str to array_like of float, shape (n,), optional
        Further signals of the audited model by name, such as ``min-k``, each evaluated as an
        attack; higher means more likely a member.
    columns : mapping of str to array_like, shape (n,), optional
        Further columns, such as the language of each text: their values are groups of samples.
        Numbers, and texts of at most 200 values; others are left out with a note.

    Returns
    -------
    TextScores
        If a member and a non-member share an id or a text (up to case, white space and a few
        words), both are left out: the sample was trained on, so as a non-member it has the wrong
        label. A population sample that is also judged is left out of the population. `notes` give
        the numbers.

    Raises
    ------
    InputError
        If the data are invalid: what is wrong, where, and the way out, in one line.

    Examples
    --------
    >>> from privacygauge.language.scores import text_scores
    >>> scores = text_scores(["a", "b", "c", "a"], [1.0, 2.0, 3.0, 1.0], [1, 0, 1, 0])
    >>> scores.sample
    ('b', 'c')
    """
    if unknown := given.keys() - FurtherColumns.__annotations__.keys():
        raise TypeError(f"text_scores() got an unexpected keyword argument {min(unknown)!r}")
    target = _energies(energy_target, "energy_target")
    n = len(target)
    reference: Floats | None = None
    if (values := given.get("energy_reference")) is not None:
        reference = _energies(values, "energy_reference", n)
        # Equal energies would make a likelihood ratio of 0 everywhere.
        if np.array_equal(reference, target):
            raise InputError(
                "energy_target and energy_reference are equal in every row: give the energies of a "
                "reference model that saw none of the samples, or leave energy_reference out"
            )
    inside = checks.bools(member, "member", length=n)
    outside = given.get("population")
    population = checks.bools(
        np.zeros(n, np.bool_) if outside is None else outside, "population", length=n
    )
    _require_one_part(inside, population)
    ids = texts_of(sample, "sample", n)
    text = given.get("text")
    texts = None if text is None else texts_of(text, "text", n, empty=True)
    # Before anything else is left out, so that a copy is found whichever side it is on.
    overlap = find_overlap(ids, inside, population, texts)
    kept = np.flatnonzero(overlap.kept)
    # The wrong way round, `member` could empty a side: that is an error, not an audit.
    judged = (inside, ~(inside | population))
    for side, which in zip(judged, ("member", "non-member"), strict=True):
        if side.any() and not np.any(side & overlap.kept):
            raise InputError(
                f"every {which} is on both sides, by its id or its text: check the column member"
            )
    group = given.get("group")
    groups = None if group is None else texts_of_rows(texts_of(group, "group", n), kept)
    notes = list(overlap.notes)
    if groups is None:
        notes.append("No groups were given: every sample counts as a person of its own.")
    else:
        sides: tuple[set[str], set[str]] = (set(), set())
        for name, apart in zip(groups, population[kept].tolist(), strict=True):
            sides[apart].add(name)
        if shared := len(sides[0] & sides[1]):
            notes.append(
                f"{shared} group(s) have samples both in the population and among the judged: the "
                "threshold is not independent of them."
            )
    length = given.get("length")
    # Groups of copies, by text or else by energy. If two models give equal energies, to the last of
    # many digits, they have read equal texts. One model alone may give all its members the same
    # answer: that is a leak, not a copy.
    copies = overlap.copies
    if copies is None and reference is not None:
        pairs = np.column_stack([target, reference])
        # Mostly round numbers, such as 2.5: equal pairs are coincidences.
        is_round = np.abs(pairs / _DIGITS - np.round(pairs / _DIGITS)) < _DIGITS
        if not np.mean(is_round) > _MOSTLY:
            copies = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    if copies is not None and len(np.unique(copies)) == len(copies):
        copies = None
    # Further columns whose values are groups, and a note on those that are left out.
    named = given.get("columns") or {}
    read = {name: _numbers_or_texts(values, n) for name, values in named.items()}
    known = {name: values for name, values in read.items() if values is not None}
    # Whole numbers that all differ count rows.
    counts = [
        name
        for name, values in known.items()
        if values.dtype.kind in "iuf"
        and len(np.unique(values)) == n > MOST_GROUPS
        and bool(np.all(values == np.rint(values)))
    ]
    may_group, _ = column_groups(known)
    of_groups = {
        name: values for name, values in known.items() if name in may_group and name not in counts
    }
    if unused := checks.short_list([repr(name) for name in named if name not in of_groups]):
        notes.append(
            f"Not looked at as groups: {unused}; ids, free texts and columns of more than "
            f"{MOST_GROUPS} texts make no groups."
        )
    further = further_signals(given.get("further") or {}, n)
    return TextScores(
        texts_of_rows(ids, kept),
        target[kept],
        member=inside[kept],
        population=population[kept],
        energy_reference=None if reference is None else reference[kept],
        group=groups,
        length=None if length is None else checks.classes(length, "length", length=n)[kept],
        text=None if texts is None else texts_of_rows(texts, kept),
        notes=tuple(notes),
        further={name: values[kept] for name, values in further.items()},
        # Copies are found before samples are left out: groups may span both sides.
        copies=None if copies is None else copies[kept],
        columns={name: values[kept] for name, values in of_groups.items()},
        crossed=float(max(np.mean(~overlap.kept[side]) for side in judged if side.any())),
    )


_MOSTLY = 0.5
"""Share of round energies above which equal ones are coincidences."""
_DIGITS = 1e-6
"""If energies are multiples of this or of a larger number, they may be equal by chance."""


def length_bucket(scores: TextScores, fewest: int, most: int) -> TextScores | Skipped:
    """Return the samples of `fewest` to `most` tokens, both ends and the population included.

    Parameters
    ----------
    fewest, most : int
        Lengths, such as `SHORT` and `LONG` of Table 3 of Mireshghallah et al. (2022).

    Returns
    -------
    TextScores or Skipped
        Skipped if lengths are unknown, or no member or no non-member has such a length.
    """
    name = f"samples of {fewest} to {most} tokens"
    if fewest > most:
        raise InputError(f"fewest must be at most most, got {fewest} and {most}")
    if scores.length is None:
        return Skipped(name, "needs the length of every sample: give a column length")
    # The population too: a threshold is chosen on texts of the same length.
    rows = (scores.length >= fewest) & (scores.length <= most)
    for side, which in ((scores.member, "member"), (scores.nonmember, "non-member")):
        if not np.any(rows & side):
            return Skipped(name, f"no {which} has such a length")
    return scores.take(rows)


def _energies(values: ArrayLike, name: str, n: int | None = None) -> Floats:
    """Return checked energies: minus log-probabilities of discrete tokens are never negative."""
    found = checks.floats(values, name, length=n)
    # Values just below 0 are rounding.
    below = np.flatnonzero(found < -_ROUNDING)
    if below.size:
        # Mostly negative: the sign is reversed. A few: single values are wrong.
        way_out = "these look like log-likelihoods, negate them"
        if 2 * below.size < len(found):
            way_out = (
                f"{below.size:,} of {len(found):,} are negative; correct these, or leave them out"
            )
        raise InputError(
            f"{name} must be at least 0, got {found[below[0]]:g} in row {below[0]}: {way_out}"
        )
    return found


def _require_one_part(member: Bools, population: Bools) -> None:
    both = np.flatnonzero(member & population)
    if both.size:
        raise InputError(
            f"population must be 0 for members, got 1 in row {both[0]}: thresholds are taken from "
            "samples that were not trained on"
        )


def _numbers_or_texts(values: ArrayLike, n: int) -> NDArray[Any] | None:
    """Return a column as numbers with nan for gaps, or as texts; None where it is neither."""
    if not isinstance(values, Iterable):
        return None
    given = list(values)
    if len(given) != n:
        return None
    gaps = [checks.is_absent(x) for x in given]
    there = [x for x, gap in zip(given, gaps, strict=True) if not gap]
    if any(not isinstance(x, str | int | float | np.number | np.bool_ | date) for x in there):
        return None
    # In Python bool is an int: True and False are groups, not numbers.
    if all(isinstance(x, int | float | np.number) and not isinstance(x, bool) for x in there):
        return np.array([np.nan if gap else x for x, gap in zip(given, gaps, strict=True)], float)
    # Objects: in an array of texts each would take the room of the longest.
    return objects_of([MISSING if gap else str(x) for x, gap in zip(given, gaps, strict=True)])


# Files of energies: JSON lines, CSV and Parquet, checked before use.

TextScoresLike = TextScores | str | Path | Mapping[str, Sequence[object]] | FrameLike
"""Types that `as_text_scores` accepts."""

SIGNAL = "signal_"
"""Prefix of the columns of further signals, such as ``signal_min-k``."""

# Columns of a file, and the words for the values of yes-or-no columns, in lower case.
_REQUIRED = ("sample", "energy_target", "member")
_NAMES = ("sample", "group", "text")
_NUMBERS = ("energy_target", "energy_reference", "member", "population", "length")
_BITS = ("member", "population")
_YES = ("1", "1.0", "true", "t", "yes", "y", "in", "member", "members", "train", "training")
_NO = (
    *("0", "0.0", "false", "f", "no", "n", "out", "test", "testing", "holdout"),
    *("nonmember", "non-member", "non_member", "nonmembers", "non-members", "unseen"),
)
_WAY_OUT = (
    "sample, energy_target and member are needed; group, energy_reference, population, length and "
    "text may follow"
)


def as_text_scores(given: TextScoresLike, name: str = "scores") -> TextScores:
    """Return energies from a file, a mapping or a frame.

    Parameters
    ----------
    given : TextScores, path, mapping of arrays, or data frame
        File as in `load_text_scores`, or a mapping or a pandas or polars frame with its columns.
    name : str
        Name of the input in error messages.
    """
    if isinstance(given, TextScores):
        return given
    if isinstance(given, str | Path):
        return load_text_scores(given)
    if isinstance(given, Mapping):
        return _scores_of({str(key): values for key, values in given.items()}, name)
    # A frame of polars; one of pandas has no such method.
    frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
    if not hasattr(frame, "columns"):
        raise InputError(
            f"{name} must be TextScores, a path, a mapping of arrays or a data frame, got "
            f"{type(given).__name__}"
        )
    return _scores_of(_columns_of(frame), name)


def load_text_scores(path: str | Path) -> TextScores:
    """Return the energies in a file.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.jsonl`` (also ``.jsonl.gz``; one object per line, UTF-8), ``.csv`` or ``.parquet`` with
        the columns ``sample``, ``energy_target`` and ``member`` (1 or 0, or words such as yes and
        no, train and test), and optionally ``group``, ``energy_reference``, ``population`` (in the
        same words), ``length``, ``text`` and ``signal_NAME`` for every further signal, higher for
        members; the values of all other columns are groups of samples, as in `text_scores`. Ids are
        texts: ``007`` and ``7`` are different samples.

    Raises
    ------
    InputError
        If the file is invalid: the file, what is wrong, and the way out, in one line.
    """
    path = Path(path)
    if path.name.lower().endswith(LINES):
        rows = read_json_lines(path, "score")
        if not rows:
            raise InputError(f"{path} is empty")
        # The first line decides the columns; every other line is compared with it.
        known = [name for name in rows[0][1] if name in _NAMES or _is_number(name)]
        for number, row in rows:
            missing = [name for name in known if name not in row]
            further = [
                name for name in row if (name in _NAMES or _is_number(name)) and name not in known
            ]
            if missing or further:
                rule = (
                    f"no {checks.short_list(missing)}"
                    if missing
                    else f"{checks.short_list(further)} besides"
                )
                raise InputError(
                    f"{path}: line {number} has {rule}, unlike the first line: every line must "
                    "have the same columns"
                )
        others = dict.fromkeys(name for _, row in rows for name in row if name not in known)
        names = (*known, *others)
        return _scores_of(
            {name: objects_of([row.get(name) for _, row in rows]) for name in names}, path
        )
    if not (is_csv(path) or path.suffix.lower() == ".parquet"):
        raise InputError(f"{path} must end in {TABLE_ENDINGS}")
    frame: Any = read_content(path, "score")
    columns = _columns_of(frame)
    if is_csv(path):
        # Read again as texts: pandas would turn the id 007 into the number 7.
        ids = [name for name in _NAMES if name in columns]
        texts = csv_texts(path, ids)
        columns |= {name: texts[name].to_numpy(dtype=np.object_) for name in ids}
    return _scores_of(columns, path)


def _scores_of(columns: Mapping[str, Any], name: str | Path) -> TextScores:
    missing = [column for column in _REQUIRED if column not in columns]
    if missing:
        raise InputError(
            f"{name}: missing {checks.short_list(missing)}; it has "
            f"{checks.short_list(columns, most=12) or 'nothing'} ({_WAY_OUT})"
        )
    if not len(columns["sample"]):
        raise InputError(f"{name}: there are no samples in it")
    texts = {key: columns[key] for key in ("group", "text") if key in columns}
    try:
        numbers: dict[str, Any] = {}
        for key, values in columns.items():
            if not _is_number(key):
                continue
            if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
                numbers[key] = values
                continue
            in_words = key in _BITS and any(isinstance(value, str) for value in values)
            read = _bit if in_words else _number
            # One by one: numpy would convert all values to texts if one of them is a text.
            numbers[key] = np.array([read(value, key, row) for row, value in enumerate(values)])
        further = {
            key.removeprefix(SIGNAL): numbers.pop(key)
            for key in list(numbers)
            if key.startswith(SIGNAL)
        }
        others = {key: columns[key] for key in columns if key not in _NAMES and not _is_number(key)}
        return text_scores(columns["sample"], **numbers, **texts, further=further, columns=others)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _is_number(column: str) -> bool:
    return column in _NUMBERS or column.startswith(SIGNAL)


def _bit(value: Any, name: str, row: int) -> bool:
    """Return a yes-or-no value, written as a word or a number, as a bool."""
    said = str(value).strip().lower()
    if said not in _YES and said not in _NO:
        shown = repr(value) if len(repr(value)) < 40 else f"a {type(value).__name__}"
        raise InputError(
            f"{name} must say 1 or 0, true or false, yes or no, in or out, or train or test, got "
            f"{shown} in row {row}: write 1 for those and 0 for the others"
        )
    return said in _YES


def _number(value: Any, name: str, row: int) -> float:
    if value is None:
        return np.nan
    try:
        if isinstance(value, bool | int | float | np.bool_ | np.number):
            return float(value)
    except OverflowError:
        pass
    shown = repr(value) if len(repr(value)) < 40 else f"a {type(value).__name__}"
    raise InputError(f"{name} must hold numbers, got {shown} in row {row}")


def _columns_of(frame: pd.DataFrame) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if _is_number(str(name)) and column.dtype.kind in "biuf":
            # Integers with gaps have no NaN of their own.
            dtype: Any = np.float64 if column.isna().any() else None
            columns[str(name)] = column.to_numpy(dtype=dtype, na_value=np.nan)
        else:
            columns[str(name)] = column.to_numpy(dtype=np.object_)
    return columns


_FORMATS = (".parquet", ".csv")


def energies_frame(scores: TextScores) -> pd.DataFrame:
    """Return the energies as a table that `load_text_scores` reads, without the texts.

    Returns
    -------
    pandas.DataFrame
        One row per sample: ``sample``, ``group``, ``energy_target``, ``energy_reference``,
        ``member``, ``population`` and ``length``, where known, and ``signal_NAME`` for every
        further signal; then the further columns.
    """
    import pandas as pd

    columns: dict[str, Any] = {
        "sample": scores.sample,
        # Patients are written even where texts are the units: a later audit looks at them itself.
        "group": scores.group if scores.author is None else scores.author,
        "energy_target": scores.energy_target,
        "energy_reference": scores.energy_reference,
        "member": scores.member.astype(np.int8),
        "population": scores.population.astype(np.int8),
        "length": scores.length,
        **{f"{SIGNAL}{name}": values for name, values in scores.further.items()},
        **scores.columns,
    }
    return pd.DataFrame({name: part for name, part in columns.items() if part is not None})


def write_energies(scores: TextScores, path: str | Path) -> None:
    """Write the energies to a file, whole or not at all.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.parquet`` or ``.csv``. Texts are not written, so an audit of the file lacks only the
        blind control.

    Raises
    ------
    InputError
        If the name has another ending.
    OutputError
        If the file cannot be written.
    """
    place = energies_place(path)
    frame = energies_frame(scores)
    content = io.BytesIO()
    if place.suffix == ".csv":
        frame.to_csv(content, index=False)
    else:
        frame.to_parquet(content, index=False)
    check_writable(place.parent)
    write_results(place.parent, {place.name: content.getvalue()})


def energies_place(path: str | Path) -> Path:
    """Return `path` if energies can be written there."""
    if Path(path).suffix not in _FORMATS:
        raise InputError(f"energies must be a .parquet or .csv file, got {path}")
    return Path(path)
