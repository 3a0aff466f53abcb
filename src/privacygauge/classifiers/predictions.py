"""Predictions of a classifier for records with known membership, and of a pool of other models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.release import Coins, Stored
from privacygauge.core.units import number_units
from privacygauge.errors import InputError
from privacygauge.kinds.one_line import by_position

BLOCK = 1 << 16
"""Entries of a prediction matrix per block: half a mebibyte as float64, which fits into a core's
cache."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for n records of k classes, with true labels and membership.

    Build it with `predictions`, which checks its arguments.
    """

    answers: NDArray[Any]
    """(n, k) Probabilities or logits, float16 to float64, as a read-only view. (n, q, k) with q
    queries per record: first the record itself, then views of it, such as its mirror image."""
    logits: bool
    """Whether `answers` are logits."""
    labels: Ints
    """(n,) True classes in 0..k-1."""
    member: Bools
    """(n,) True where the record was in the model's training set."""
    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns of n values, to slice by."""
    unit: Ints | None = None
    """(n,) Number of the person behind each row; None if every row is its own person's."""
    people: NDArray[Any] | None = None
    """(n,) Name of the person behind each row, as the user gave it; None if none was given."""
    classes: tuple[str, ...] = ()
    """(k,) Names of the classes; empty if they are numbers from 0."""
    notes: tuple[str, ...] = ()
    """Notes on how the input file was read, in sentences."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes, k."""
        return int(self.answers.shape[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries per record, q."""
        return 1 if self.answers.ndim == 2 else int(self.answers.shape[1])

    @property
    def values(self) -> NDArray[Any]:
        """(n, k) Predictions for the records themselves, on which most attacks are defined."""
        return self.answers if self.answers.ndim == 2 else self.answers[:, 0]

    def query(self, number: int) -> Predictions:
        """Return the answers to one of the queries; 0 is the records themselves."""
        if self.answers.ndim == 2:
            return self
        return replace(self, answers=self.answers[:, number])

    @property
    def n_in(self) -> int:
        """Number of members."""
        return int(np.count_nonzero(self.member))

    @property
    def n_out(self) -> int:
        """Number of non-members."""
        return len(self) - self.n_in

    @property
    def units(self) -> Ints:
        """(n,) Number of the person behind each row; the row's own number if none is given."""
        return np.arange(len(self)) if self.unit is None else self.unit

    def by_unit(self, unit: ArrayLike | str) -> Predictions:
        """Return the same predictions with units: one per row, or the name of their column."""
        columns = dict(self.columns)
        if not isinstance(unit, str):
            given = unit
        elif unit == "unit" and self.unit is not None:
            return self
        elif unit in columns:
            given = columns.pop(unit)
        elif unit in ("id", "ids"):
            given = self.ids
        else:
            have = ", ".join(columns) or "none"
            raise InputError(f"no column {unit!r} that names the units; the columns are: {have}")
        number = checks.frozen(number_units(given, "unit", length=len(self)))
        people = checks.frozen(checks.vector(given, "unit", length=len(self)))
        return replace(self, columns=MappingProxyType(columns), unit=number, people=people)

    def with_notes(self, first: Sequence[str]) -> Predictions:
        """Return the same predictions with further notes, which come before their own."""
        return replace(self, notes=(*first, *self.notes))

    def parts(self, n_parts: int) -> list[Predictions]:
        """Return at most `n_parts` ranges of consecutive rows, as views."""
        ends = np.unique(np.linspace(0, len(self), n_parts + 1).astype(int)).tolist()
        return [self[slice(*rows)] for rows in pairwise(ends)]

    def __getitem__(self, rows: slice | Ints) -> Predictions:
        """Return some of the rows; a slice gives a view."""
        return replace(
            self,
            answers=self.answers[rows],
            labels=self.labels[rows],
            member=self.member[rows],
            ids=self.ids[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
            unit=None if self.unit is None else self.unit[rows],
            people=None if self.people is None else self.people[rows],
        )


ARRAYS = "pg.predictions(probs=..., labels=..., member=...)"
"""Form in which audits take the arrays of a classifier."""


@by_position(ARRAYS)
def predictions(
    *,
    labels: ArrayLike,
    member: ArrayLike,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    unit: ArrayLike | None = None,
    classes: Sequence[str] = (),
    name: str = "predictions",
) -> Predictions:
    """Check outputs, labels and membership, and return them as predictions.

    Parameters
    ----------
    labels : array_like of int, shape (n,)
        True classes in 0..k-1.
    member : array_like of bool, shape (n,)
        True (or 1) where the record was in the training set; both kinds must occur.
    probs : array_like of float, shape (n, k) or (n, q, k)
        Non-negative rows that sum to 1 within rounding. Either this or `logits`. With q queries per
        record, the first is about the record itself and the others are about views of it. If every
        row holds only its few largest, with 0 or nan for the other classes, these share the
        remainder to 1 equally.
    logits : array_like of float, shape (n, k) or (n, q, k)
        Finite scores before the softmax; they keep more digits of very confident predictions.
    ids : array_like, shape (n,), optional
        Names of the records in the report; default: row numbers. Rows with equal
        ids are one unit if `unit` is not given.
    columns : mapping of str to array_like, shape (n,), optional
        Properties of the records, by which to look for groups that leak more.
    unit : array_like, shape (n,), optional
        Names or numbers of the people behind the rows; rows of one person are never treated as
        independent.
    classes : sequence of str, optional
        Names of the k classes, to print in place of their numbers.
    name : str
        Name of the input in error messages.

    Returns
    -------
    Predictions

    Raises
    ------
    InputError
        One line: the fault, its place, and the way out.
    """
    if (probs is None) == (logits is None):
        which = "neither" if probs is None else "both"
        raise InputError(f"{name}: give either probs or logits, got {which}")
    kind = "probs" if logits is None else "logits"
    of_kind = f"{name}: {kind}"
    given = {kind: probs if logits is None else logits, "labels": labels, "member": member}
    checks.one_order({**given, "ids": ids, "unit": unit, **(columns or {})}, name)
    array = np.asarray(given[kind])
    if array.ndim not in (2, 3) or array.shape[-1] < 2:
        raise InputError(
            f"{of_kind} must have the shape (n, k) with k >= 2 classes (or (n, q, k) for q "
            f"queries a record), got {array.shape}; of two classes both need a column: "
            "np.column_stack([1 - p, p])"
        )
    if array.size == 0:
        raise InputError(f"{of_kind} holds no rows")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{of_kind} must hold numbers, got {array.dtype}")
    # A view, not a copy: predictions may be the largest thing in memory.
    values = (array[:, 0] if array.shape[1:-1] == (1,) else array).view()
    values.flags.writeable = False
    n = len(values)
    k = values.shape[-1]
    if np.asarray(labels).dtype.kind in "OSU":
        raise InputError(
            f"{name}: labels must be integers, got {np.asarray(labels).dtype}: "
            "np.unique(labels, return_inverse=True)[1] makes integers of names"
        )
    y = checks.integers(labels, f"{name}: labels", length=n)
    bad = np.flatnonzero((y < 0) | (y >= k))
    if bad.size:
        raise InputError(
            f"{name}: labels must be in 0..{k - 1} for {k} classes, got {y[bad[0]]} in row "
            f"{bad[0]}; are they counted from 1, or is a class missing from the predictions?"
        )
    inside = checks.bools(member, f"{name}: member", length=n)
    if not inside.any() or inside.all():
        missing = "non-members" if inside.any() else "members"
        raise InputError(
            f"{name}: no {missing} (member must be true for some rows, false for others)"
        )
    notes = []
    if logits is not None and are_probabilities(values):
        kind = "probs"
        logits = None
        notes.append(
            f"{name}: the logits are probabilities (no row has a value outside of [0, 1], and all "
            "sum to 1) and were read as such"
        )
    if logits is None and _are_bytes(values):
        values = checks.frozen(values / _BYTE)
        notes.append(
            f"{name}: the probabilities are bytes, 255 for certainty, and were divided by it"
        )
    listed = None if logits is not None else listed_entries(values)
    if listed is not None:
        shared, note = share_remainder(np.where(listed, values, np.nan), name)
        # If the columns cannot hold what is missing to 1, the rows are refused by their sums.
        if shared.shape == values.shape:
            values = checks.frozen(shared)
            notes.append(f"{name}: {note}")
    for number, asked in enumerate(np.moveaxis(values, 1, 0) if values.ndim == 3 else [values]):
        _require_values(asked, logits is not None, f"{name}: query {number}" if number else name)
    if len(classes) not in (0, k):
        raise InputError(f"{name}: classes must name all {k} classes, got {len(classes)}")
    names = np.arange(n)
    if ids is not None:
        names = checks.characters(checks.vector(ids, f"{name}: ids", length=n), f"{name}: ids")
    further = {}
    for key, column in (columns or {}).items():
        checks.characters(np.array([key]), f"{name}: the name of a column")
        what = f"{name}: column {key!r}"
        found = checks.characters(checks.vector(column, what, length=n), what)
        further[key] = checks.frozen(found)
    own = None
    people = None
    if unit is not None:
        people = checks.frozen(checks.vector(unit, f"{name}: unit", length=n))
        own = checks.frozen(number_units(unit, f"{name}: unit", length=n))
    elif ids is not None:
        # Equal ids are one unit; ids that are all different say no more than row numbers.
        same = number_units(ids, f"{name}: ids", length=n)
        own = None if checks.n_distinct(same) == n else checks.frozen(same)
    return Predictions(
        answers=values,
        logits=logits is not None,
        labels=y,
        member=inside,
        ids=checks.frozen(names),
        columns=MappingProxyType(further),
        unit=own,
        people=people,
        classes=tuple(classes),
        notes=tuple(notes),
    )


def blocks_of(values: NDArray[Any]) -> Iterator[tuple[slice, Floats]]:
    """Yield row slices of a matrix with their values as float64, in one reused buffer.

    A block may be changed, and is valid until the next one.
    """
    n, k = values.shape
    step = max(1, BLOCK // max(k, 1))
    space = np.empty((min(step, n), k))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        block = space[: rows.stop - start]
        block[...] = values[rows]
        yield rows, block


SUM_ERROR = 1e-3
"""Largest deviation from 1 of the sum of unrounded probabilities."""

_MOST_DIGITS = 4
"""Largest number of decimals looked for: with more, rounding stays below `SUM_ERROR`, except for
many classes."""


_BYTE = 255.0
"""Certainty in the answers of a model that was quantised to unsigned bytes."""

_STEPS = (*(10.0**digits for digits in range(1, _MOST_DIGITS + 1)), _BYTE, 256.0, 127.0, 128.0)
"""Steps in 1, of decimals and of bytes, that probabilities may be rounded to."""


def _are_bytes(values: NDArray[Any]) -> bool:
    """Return whether probabilities, (..., k), are whole numbers whose rows sum to about 255."""
    # For most matrices the first rows are enough.
    for rows in (values[:10], values):
        whole = rows.min() >= 0 and 1 < rows.max() <= _BYTE and bool((rows == np.rint(rows)).all())
        off = np.abs(rows.sum(axis=-1, dtype=np.float64) - _BYTE)
        if not whole or off.max() > 0.5 * rows.shape[-1]:
            return False
    return True


def are_probabilities(values: NDArray[Any]) -> bool:
    """Return whether alleged logits, (..., k), are probabilities: rows that sum to 1."""
    if values.shape[-1] < 2 or values.size < 10 * values.shape[-1]:
        return False  # a handful of logits may do so by chance
    # For most logits the first rows are enough.
    for rows in (values[:10], values):
        if not (rows.min() >= 0 and rows.max() <= 1):
            return False
        if not (np.abs(rows.sum(axis=-1, dtype=np.float64) - 1) <= SUM_ERROR).all():
            return False
    return True


def rounding_of(values: NDArray[Any]) -> float:
    """Return the step of probabilities (n, k) rounded to a few decimals or to bytes, else 0.

    Sums of such rows differ from 1 by up to half a step per class. Independent probabilities, of
    several labels, differ from it by far more. Classes that were rounded to 0 leave a sum below 1.
    """
    n, k = values.shape
    for scale in _STEPS:
        # float32 numbers have seven digits: scaled by 10^4, multiples of the step are whole up to
        # 1e-3.
        close = 1e-3
        blocks = (
            (block * scale, block.sum(axis=1), (block == 0).sum(axis=1))
            for _, block in blocks_of(values)
        )
        total = np.empty(n)
        zeros = np.empty(n)
        start = 0
        for scaled, sums, n_zeros in blocks:
            if not (np.abs(scaled - np.rint(scaled)) <= close).all():
                break
            total[start : start + len(sums)] = sums
            zeros[start : start + len(sums)] = n_zeros
            start += len(sums)
        else:
            # Half a step per class is the most; 0.501 allows for floats.
            off = np.abs(total - 1)
            near = off.max() <= 0.501 * k / scale
            # What classes rounded to 0 may have taken, up to half a step for all but one of them.
            lost = np.minimum(np.maximum(1 - total, 0), 0.5 * np.maximum(zeros - 1, 0) / scale)
            off -= lost
            # A rounding error has the deviation 0.29 steps, with two classes mostly none at
            # all; ties make it larger. Whole numbers are not probabilities.
            most = (0.6 if k > 2 else 0.4) * np.sqrt(k) / scale
            narrow = np.sqrt(np.mean(off**2)) <= most
            if not (near and narrow):
                return 0.0
            whole = all(bool((block == np.rint(block)).all()) for _, block in blocks_of(values))
            return 0.0 if whole else 1 / scale
    return 0.0


UNLISTED_CLASS = "(none of the listed)"
"""Name of the class that holds the probability that no class with a column can have."""

REMAINDER = 0.02
"""Largest remainder to 1 that rounding explains."""

_FAR_FROM_1 = 0.9
"""Sum below which rows with many classes rounded to 0 seldom fall."""

_AS_MANY = 0.95
"""Smallest share of rows with the same number of nonzero values."""


def listed_entries(values: NDArray[Any]) -> Bools | None:
    """Return a mask of the probabilities that were saved, if each row lists only its largest.

    The others are nan, or 0. A few gaps are a mistake: no row may have all classes. With zeros, the
    rows whose remainder to 1 exceeds rounding have the same number of nonzero values, ties apart,
    and hardly any row has more: no complete probabilities look like that. None if every class has a
    probability.
    """
    n_classes = values.shape[-1]
    rows = values.reshape(-1, n_classes)
    # Most matrices are complete: one pass over blocks, without a copy, shows it.
    sums = (block.sum(axis=1) for _, block in blocks_of(rows))
    if all(((one >= 1 - REMAINDER) & (one <= 1.5)).all() for one in sums):
        return None
    gaps = np.isnan(rows)
    listed = ~gaps if gaps.any() else _nonzero_if_others_are_gaps(rows)
    lengths = listed.sum(axis=1)
    whole = bool(gaps.any()) and lengths.max() == n_classes
    if listed.all() or whole or lengths.min() == 0:
        return None
    return np.asarray(listed.reshape(values.shape))


def _nonzero_if_others_are_gaps(values: NDArray[Any]) -> Bools:
    given = values != 0
    number = given.sum(axis=1)
    total = values.sum(axis=1, dtype=np.float64)
    # Rows may be percentages, as in `share_remainder`.
    total = total / (100.0 if total.max(initial=0) > 1.5 else 1.0)
    if np.ptp(total) <= SUM_ERROR:
        # Rows that all sum to the same number were scaled: what lists of the largest lack differs.
        return np.ones_like(given)
    # Rows that only lost classes to rounding may fail the first bound; few fall below the second.
    for least in (1 - REMAINDER, _FAR_FROM_1):
        lacking = total < least
        if not lacking.any():
            break
        # The length of the lists: the most frequent number of values among the rows below 1.
        usual = int(np.bincount(number[lacking]).argmax())
        if not 0 < usual < values.shape[1] or total.max() > 1 + REMAINDER:
            continue
        # A list holds more where its last place is shared, as votes often are.
        last = -np.partition(-values, usual - 1, axis=1)[:, usual - 1]
        smallest = np.where(given, values, np.inf).min(axis=1)
        tied = (number > usual) & (last == smallest)
        as_many = (number == usual) | tied
        if as_many[lacking].mean() >= _AS_MANY and ((number <= usual) | tied).mean() >= _AS_MANY:
            return np.asarray(given)
    return np.ones_like(given)


def share_remainder(values: NDArray[Any], name: str) -> tuple[Floats, str]:
    """Return probabilities in which unlisted classes (nan) share the remainder to 1, and a note.

    They share it equally, each with at most the smallest listed value; any rest goes to an extra
    class, in a last column. Percentages are divided by 100.

    Raises
    ------
    InputError
        If the listed ones are not probabilities.
    """
    values = np.asarray(values, np.float64)
    listed = ~np.isnan(values)
    # No probability exceeds 1 by that much through rounding.
    if np.nanmax(values, initial=0) > 1.5:
        values = values / 100.0
    total = np.nansum(values, axis=-1)
    # `initial` leaves values in [0, 1] untouched, and gives a result if all are nan.
    if np.nanmin(values, initial=1) < 0 or (total > 1 + REMAINDER).any():
        row = int(np.argmax(total))
        raise InputError(
            f"{name}: the probabilities that a row lists must be in [0, 1] and sum to at most 1, "
            f"got {total.flat[row]:.4g} in row {row}"
        )
    rest = np.clip(1 - total, 0, None)
    others = (~listed).sum(axis=-1)
    # No unlisted class can exceed the smallest listed one.
    each = np.minimum(rest / np.maximum(others, 1), np.nanmin(values, axis=-1))
    left = rest - others * each
    values = np.where(listed, values, each[..., None])
    if left.max(initial=0) > REMAINDER:
        values = np.concatenate([values, left[..., None]], axis=-1)
    values /= values.sum(axis=-1, keepdims=True)
    number = int(listed.sum(axis=-1).max(initial=0))
    note = (
        f"at most {number} of {values.shape[-1]} classes have a probability in each row; the "
        "others share what is missing to 1 equally"
    )
    return values, note


def _require_values(values: NDArray[Any], logits: bool, name: str) -> None:
    kind = "logits" if logits else "probs"
    tolerance = 1e-2 if values.dtype == np.float16 else SUM_ERROR
    rounded = False
    for rows, block in blocks_of(values):
        total = block.sum(axis=1)
        if not np.isfinite(total).all():
            bad = np.argwhere(~np.isfinite(block))
            if bad.size:
                at, of_class = bad[0]
                bad_value = block[at, of_class]
                raise InputError(
                    f"{name}: {kind} must be finite, got {bad_value} in row "
                    f"{rows.start + at}, class {of_class}"
                )
        if logits:
            continue
        wrong = np.flatnonzero(np.abs(total - 1.0) > tolerance)
        # Only now look for rounding, once: most matrices sum to 1 and need no second pass.
        if wrong.size and not rounded:
            rounded = True
            tolerance = max(tolerance, 0.501 * values.shape[1] * rounding_of(values))
            wrong = np.flatnonzero(np.abs(total - 1.0) > tolerance)
        outside = np.flatnonzero((block.min(axis=1) < 0) | (block.max(axis=1) > 1 + SUM_ERROR))
        if outside.size:
            row = int(outside[0])
            low = block[row].min()
            high = block[row].max()
            found = (
                f"{name}: probs must be in [0, 1], row {rows.start + row} runs from {low:.4g} to "
            )
            if low >= 0 and abs(total[row] - 100) <= 1:
                raise InputError(f"{found}{high:.4g} and sums to 100: divide percentages by 100")
            raise InputError(
                f"{found}{high:.4g}; these look like logits: save them under the key logits "
                "(columns z_0, z_1, ... in a table)"
            )
        if wrong.size:
            row = int(wrong[0])
            found = (
                f"{name}: probs must sum to 1, row {rows.start + row} sums to {total[row]:.6g}; "
            )
            if total[row] < 1 and (block[row] == 0).any():
                raise InputError(
                    f"{found}it holds zeros: if small probabilities were left out, save those of "
                    "every class, or as many of the largest in each row"
                )
            raise InputError(
                f"{found}they do not look like logits (all are in [0, 1]): divide each row by its "
                "sum, or, if every label has a probability of its own (multi-label), audit each "
                "label as a model of two classes"
            )


@dataclass(frozen=True, eq=False)
class Pool:
    """Predictions of the adversary's k models for n targets, and their training sets.

    In the shared design, row j is one model, and fair coins put the targets into its training set.
    In the per-target design, entry (j, i) belongs to the j-th of the models trained for target i.
    """

    answers: NDArray[Any]
    """(k, n, c) Probabilities or logits of c classes; (k, n, q, c) with q queries per target: first
    the target itself, then views of it."""
    logits: bool
    """Whether `answers` are logits."""
    inside: Bools
    """(k, n) True where the model was trained on the target."""
    labels: Ints
    """(n,) True classes in 0..c-1."""

    def __post_init__(self) -> None:
        labels = checks.classes(self.labels, "labels")
        inside = np.asarray(self.inside, np.bool_)
        answers = self.answers.view()
        if answers.ndim not in (3, 4) or answers.shape[:2] != inside.shape:
            raise InputError(
                "a pool's answers must have the shape (k, n, c) or (k, n, q, c) and inside (k, n), "
                f"got {answers.shape} and {inside.shape}"
            )
        if inside.shape[1] != len(labels):
            raise InputError(f"a pool of {inside.shape[1]} targets needs as many labels")
        answers.flags.writeable = False
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "inside", checks.frozen(inside))

    def __len__(self) -> int:
        return len(self.answers)

    def of_few_models(self) -> Floats:
        """Return the first models' answers to the targets themselves, as logarithms or logits.

        Returns
        -------
        ndarray of float, shape (n, d)
            Answers of at most two models, enough to tell equal records from others; d = 2 c for two
            models of c classes.
        """
        few = self.answers[:2] if self.answers.ndim == 3 else self.answers[:2, :, 0]
        values = np.asarray(few, np.float64)
        if not self.logits:
            values = np.log(np.maximum(values, 1e-6))
        return np.concatenate(list(values), axis=1)

    @property
    def n_targets(self) -> int:
        """Number of targets, n."""
        return int(self.answers.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return int(self.answers.shape[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries per target, q."""
        return 1 if self.answers.ndim == 3 else int(self.answers.shape[2])

    @property
    def values(self) -> NDArray[Any]:
        """(k, n, c) Answers to the targets themselves."""
        return self.answers if self.answers.ndim == 3 else self.answers[:, :, 0]

    def models(self, some: slice) -> Pool:
        """Return the pool of a slice of the models."""
        return replace(self, answers=self.answers[some], inside=self.inside[some])

    def probabilities(self, rows: slice) -> Floats:
        """Return every model's probabilities for some targets, without views, (k, rows, c)."""
        return probabilities(self.values[:, rows], logits=self.logits)

    def rows(self) -> Predictions:
        """Return the predictions of all models, model by model, k * n rows, as a view."""
        k, n = self.inside.shape
        return Predictions(
            answers=self.answers.reshape(k * n, *self.answers.shape[2:]),
            logits=self.logits,
            labels=np.tile(self.labels, k),
            member=self.inside.reshape(k * n),
            ids=np.arange(k * n),
        )


ONE_LOGIT_ONLY = (
    "needs whole vectors of all shadow models, and this run holds only one logit for each record: "
    "to keep the vectors, start another run without one_logit (--one-logit)"
)
"""Reason for skipping an attack on whole vectors with a `LogitPool`."""


@dataclass(frozen=True, eq=False)
class LogitPool:
    """One scaled logit per model and target, (k, n), and whole predictions of a few models."""

    worlds: Floats | Stored
    """(k, n), or (k, n, q) for q queries: ``log p_y - log(1 - p_y)`` of the true class y, in memory
    or in a run's folder."""
    inside: Bools | Coins
    """(k, n) True where the model was trained on the target."""
    first: Pool
    """Whole predictions of the first models, as logits."""

    logits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        inside = self.inside
        inside = (
            inside if isinstance(inside, Coins) else checks.frozen(np.asarray(inside, np.bool_))
        )
        queries = () if self.n_queries == 1 else (self.n_queries,)
        expected = (len(inside), self.n_targets, *queries)
        if self.worlds.shape != expected or inside.shape != expected[:2]:
            raise InputError(
                f"worlds must have the shape {expected} and inside {expected[:2]}, got "
                f"{self.worlds.shape} and {inside.shape}"
            )
        if not self.first.logits:
            raise InputError("the first models of a pool of logits must answer with logits")
        object.__setattr__(self, "inside", inside)

    def __len__(self) -> int:
        return len(self.inside)

    @property
    def labels(self) -> Ints:
        """(n,) True classes."""
        return self.first.labels

    @property
    def n_targets(self) -> int:
        """Number of targets, n."""
        return self.first.n_targets

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return self.first.n_classes

    @property
    def n_queries(self) -> int:
        """Number of queries per target, q."""
        return self.first.n_queries


def probabilities(values: NDArray[Any], *, logits: bool) -> Floats:
    """Return probabilities over the last axis as float64: the softmax if `logits`."""
    result = np.array(values, np.float64)
    if logits:
        result -= result.max(axis=-1, keepdims=True)
        np.exp(result, out=result)
        result /= result.sum(axis=-1, keepdims=True)
    return result
