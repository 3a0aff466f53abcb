"""Predictions as people export them: which column says what, and in which form.

Every form that is told from others by what stands in the file alone is taken; what was read
into it is said in a note. Where two readings are possible the file is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

Kind = Literal["probs", "logits"]
"""What scores of classes are."""

_STEMS: Mapping[Kind, tuple[str, ...]] = {
    "logits": ("logits", "z", "logit"),
    "probs": ("probs", "p", "prob", "proba", "probability", "probabilities"),
}
_LABEL = ("label", "labels", "y_true", "true_label", "y", "class", "target")
_MEMBER = ("member", "is_member", "membership", "split")
_ID = ("id", "ids")
_UNIT = ("unit",)
_PREDICTED = ("prediction", "predictions", "predicted", "pred", "y_pred")

_IN = frozenset({"in", "member", "members", "train", "training", "true", "yes", "1"})
_OUT = frozenset(
    {"out", "non-member", "nonmember", "non_member", "test", "testing", "holdout", "unseen"}
    | {"false", "no", "0"}
)
_BETWEEN = frozenset({"val", "valid", "validation", "dev", "eval"})
"""Splits that training may have looked at."""

_PERCENT = 100.0
_OFF = 1.0
"""By how much a row of percentages may miss 100: they are rounded."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What a model says of every class, or of one of two."""

    kind: Kind
    """Probabilities or logits."""
    values: NDArray[Any]
    """(n, k), or (n,) where one column of two classes is given; (n, q, k) for several queries."""
    used: frozenset[str]
    """The columns that were read."""
    classes: tuple[str, ...] | None = None
    """Names of the columns' classes; None where they are counted from 0."""


def fields_of(given: Mapping[str, NDArray[Any]], name: str, *, table: bool) -> dict[str, Any]:
    """Return what `predictions` takes, from columns or arrays of n rows by name.

    `name` is what messages call the input; `table`, whether these are columns, decides what
    messages ask for.

    Raises
    ------
    InputError
        One line: what is missing or can be read in two ways, and the way out.
    """
    label, member = _first(given, _LABEL), _first(given, _MEMBER)
    wanted = {"label" if table else "labels": label, "member": member}
    missing = [what for what, found in wanted.items() if found is None]
    if label is None or member is None:
        raise InputError(f"{name}: missing {_list(missing)}; it has {_list(given)}")
    truth = truth_of(given[label], label, name)
    scores = _scores(given, truth, name, table=table)
    inside, of_splits = _members(given[member], member, name)
    values, of_values = _values(scores, name)
    if values.ndim == 0:
        raise InputError(f"{name}: {_list(scores.used)} must have the shape (n, k), got ()")
    k = 2 if values.ndim == 1 else values.shape[-1]
    labels, classes, of_labels = coded(truth, k, _names(given, scores), name)
    if values.ndim == 1:
        values, which = _both(values, scores, labels, classes)
        of_values = [*of_values, which]
    known = {*scores.used, label, member, *_ID, *_UNIT}
    known |= set() if table else {"classes", *_STEMS["probs"], *_STEMS["logits"]}
    ids, unit = _first(given, _ID), _first(given, _UNIT)
    further = {key: array for key, array in given.items() if key not in known}
    return {
        scores.kind: values,
        "labels": labels,
        "member": inside,
        "ids": None if ids is None else given[ids],
        "unit": None if unit is None else given[unit],
        "columns": {
            key: _plain(array)
            for key, array in further.items()
            if array.ndim == 1 and len(array) == len(labels)
        },
        "classes": classes,
        "notes": tuple(f"{name}: {note}" for note in (*of_values, *of_labels, *of_splits)),
    }


def coded(
    truth: NDArray[Any], k: int, named: Sequence[str] | None, name: str
) -> tuple[Ints, tuple[str, ...], list[str]]:
    """Return true classes as integers in 0..k-1, the classes' names, and what was read into them.

    `truth` (n,) are texts, or numbers counted from 0, from 1, or -1 and 1; `named` are the classes'
    names in the order of the predictions: k, or one of two. There are no names where the classes
    are numbers from 0.
    """
    if named is not None:
        names = _all_named(truth, named)
        if truth.dtype.kind == "U" or all(text.isdecimal() for text in names):
            return _places(truth, names, name), names, []
        return checks.integers(truth, f"{name}: labels"), names, []
    if truth.dtype.kind == "U":
        names = tuple(np.unique(truth).tolist())
        if len(names) != k:
            raise InputError(
                f"{name}: the labels are {len(names)} different texts ({_list(names)}), but there "
                f"are predictions of {k} classes: name the columns p_CLASS, such as p_{names[0]}"
            )
        return _places(truth, names, name), names, [f"{_numbered(names)} (in alphabetical order)"]
    numbers = checks.integers(truth, f"{name}: labels")
    if not len(numbers):
        return numbers, (), []
    if k == 2 and numbers.min() == -1 and set(np.unique(numbers).tolist()) <= {-1, 1}:
        return (numbers + 1) // 2, ("-1", "1"), ["labels -1 and 1 were read as classes 0 and 1"]
    if numbers.min() >= 1 and numbers.max() == k:
        names = tuple(str(i + 1) for i in range(k))
        return numbers - 1, names, [f"labels are counted from 1: classes are 1 to {k}"]
    return numbers, (), []


def truth_of(array: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    """Return labels (n,) as integers or texts; of one-hot rows (n, k) their classes.

    Raises
    ------
    InputError
        If a record has none or several, or they are numbers that are no classes.
    """
    if array.ndim == 1 and array.dtype == object and len(array) and _is_list(array[0]):
        array = _stacked(array, column, name)
    if array.ndim == 2:
        if array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all():
            if (array.sum(axis=1) == 1).all():
                return np.asarray(array.argmax(axis=1), np.int64)
            raise InputError(
                f"{name}: {column} names several classes of a record: a multi-label model is not "
                "one classifier; audit each label as a model of two classes, a file each"
            )
        raise InputError(f"{name}: {column} must have the shape (n,), got {array.shape}")
    values = _values_of(array, column, name)
    whole = values.dtype.kind != "f" or bool((np.trunc(values) == values).all())
    if not whole:
        row = int(np.argmax(np.trunc(values) != values))
        raise InputError(
            f"{name}: {column} must be classes, got {values[row]} in row {row}: models that "
            "predict numbers (regression) cannot be audited here"
        )
    return checks.integers(values, f"{name}: {column}") if values.dtype.kind in "bf" else values


def _values_of(array: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    """Return a column without gaps as numbers or texts."""
    if array.ndim == 1:
        array = checks.present(array, f"{name}: column {column}")
    if array.dtype.kind in "biufU":
        return array
    kinds = {type(value) for value in array.tolist()}
    if kinds <= {bool, np.bool_}:
        return array.astype(np.bool_)
    return array.astype(np.str_)


def _members(array: NDArray[Any], column: str, name: str) -> tuple[NDArray[Any], list[str]]:
    """Return whose members the rows are, and what to say of splits that are neither."""
    values = _values_of(np.asarray(array), column, name)
    if values.dtype.kind != "U":
        return values, []
    texts = np.char.lower(np.char.strip(values))
    known, place = np.unique(texts, return_inverse=True)
    strange = sorted(set(known.tolist()) - _IN - _OUT - _BETWEEN)
    if strange:
        raise InputError(
            f"{name}: column {column} must say true or false, in or out, or train or test, got "
            f"{strange[0]!r}"
        )
    inside: Bools = np.isin(known, sorted(_IN))[place]
    between = sorted(set(known.tolist()) & _BETWEEN)
    if not between:
        return inside, []
    return inside, [
        f"rows of {_list(between)} count as non-members: leave them out if training looked at "
        "them, say to stop early"
    ]


def _scores(
    given: Mapping[str, NDArray[Any]], truth: NDArray[Any], name: str, *, table: bool
) -> Scores:
    stems = [(kind, stem) for kind, known in _STEMS.items() for stem in known]
    for kind, stem in stems:
        if (found := _by_number(given, kind, stem, name)) is not None:
            return found
    for kind, stem in stems:
        if stem in given:
            return Scores(kind, _stacked(given[stem], stem, name), frozenset({stem}))
    for kind, stem in stems:
        if (found := _by_name(given, kind, stem, truth, name)) is not None:
            return found
    if (predicted := _first(given, _PREDICTED)) is not None:
        raise InputError(
            f"{name}: {predicted} alone is not enough: save the probability of every class "
            "(columns p_0, p_1, ...), or logits (z_0, z_1, ...)"
        )
    if table:
        raise InputError(
            f"{name}: no columns p_0, p_1, ... or z_0, z_1, ...; it has {_list(given)}"
        )
    raise InputError(f"{name}: no key probs or logits; it has {_list(given)}")


def _by_number(
    given: Mapping[str, NDArray[Any]], kind: Kind, stem: str, name: str
) -> Scores | None:
    """Return columns such as p_0, p_1, ...; or p_1, p_2, ...; or p_1 alone."""
    matches = [re.fullmatch(rf"{stem}_(\d+)", key) for key in given]
    found = sorted({int(match[1]) for match in matches if match})
    if not found:
        return None
    if found == [1]:
        column = f"{stem}_1"
        return Scores(kind, _numeric(given[column], column, name), frozenset({column}))
    first = min(found[0], 1)
    wanted = [f"{stem}_{i}" for i in range(first, found[-1] + 1)]
    missing = [column for column in wanted if column not in given]
    if missing:
        raise InputError(f"{name}: missing {_list(missing)}; it has {_list(given)}")
    classes = tuple(str(i) for i in range(1, found[-1] + 1)) if first else None
    return Scores(kind, _columns(given, wanted, name), frozenset(wanted), classes)


def _by_name(
    given: Mapping[str, NDArray[Any]], kind: Kind, stem: str, truth: NDArray[Any], name: str
) -> Scores | None:
    """Return columns such as p_benign and p_malignant, or one of the two."""
    texts = {str(value) for value in np.unique(truth).tolist()}
    named = {key.removeprefix(f"{stem}_"): key for key in given if key.startswith(f"{stem}_")}
    if len(named) == 1 and len(texts) == 2 and set(named) <= texts:
        ((text, column),) = named.items()
        return Scores(kind, _numeric(given[column], column, name), frozenset({column}), (text,))
    if not texts <= set(named):
        return None
    # A class that no row here has may have a column too, if it holds numbers.
    columns = {
        text: key for text, key in sorted(named.items()) if text in texts or _is_numeric(given[key])
    }
    values = _columns(given, list(columns.values()), name)
    return Scores(kind, values, frozenset(columns.values()), tuple(columns))


def _columns(given: Mapping[str, NDArray[Any]], wanted: Sequence[str], name: str) -> NDArray[Any]:
    return np.column_stack([_numeric(given[column], column, name) for column in wanted])


def _numeric(array: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    """Return a column of numbers; 97.5% is the number 97.5."""
    if _is_numeric(array):
        return array
    texts = [str(value).strip().removesuffix("%") for value in array.tolist()]
    try:
        if array.ndim == 1 and all(str(value).strip().endswith("%") for value in array.tolist()):
            return np.array([float(text) for text in texts])
    except ValueError:
        pass
    raise InputError(f"{name}: column {column} must hold numbers")


def _is_numeric(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "biuf"


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _stacked(array: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    """Return scores (n, k), or (n,) of one class, from an array or a column of lists."""
    if array.ndim == 1 and array.dtype == object and len(array) and _is_list(array[0]):
        lengths = {len(value) if _is_list(value) else 0 for value in array}
        if len(lengths) > 1:
            raise InputError(f"{name}: the lists in {column} must all have the same length")
        try:
            array = np.array([np.asarray(value, np.float64) for value in array])
        except (TypeError, ValueError) as error:
            raise InputError(f"{name}: the lists in {column} must hold numbers") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return _numeric(array, column, name) if array.ndim == 1 else array


def _values(scores: Scores, name: str) -> tuple[NDArray[Any], list[str]]:
    """Return scores with percentages divided by 100, and a note that says so."""
    values = scores.values
    if scores.kind == "logits" or not values.size or values.dtype.kind not in "biuf":
        return values, []
    low, high = float(values.min()), float(values.max())
    if not (low >= 0 and 1.5 < high <= _PERCENT + _OFF):
        _require_shares(values, name, low, high)
        return values, []
    if values.ndim > 1 and not (np.abs(values.sum(axis=-1) - _PERCENT) <= _OFF).all():
        return values, []  # refused by its sums
    return values / _PERCENT, ["the probabilities are percentages and were divided by 100"]


def _require_shares(values: NDArray[Any], name: str, low: float, high: float) -> None:
    """Refuse one column that is no probability; rows of several are held against their sum."""
    if values.ndim == 1 and not (low >= 0 and high <= 1):
        raise InputError(
            f"{name}: probabilities must be in [0, 1], got {low if low < 0 else high:.4g}; if "
            "these are log-odds, name the column z"
        )


def _both(
    values: NDArray[Any], scores: Scores, labels: Ints, classes: tuple[str, ...]
) -> tuple[NDArray[Any], str]:
    """Return the scores of both classes where only one has a column, and a note that says which."""
    place = 1 if scores.classes is None else classes.index(scores.classes[0])
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    other = np.zeros_like(values) if scores.kind == "logits" else 1 - values
    both = np.column_stack([other, values] if place else [values, other])
    what = "log-odds" if scores.kind == "logits" else "probabilities"
    (column,) = scores.used
    note = f"{column} was read as the {what} of class {classes[place] if classes else place}"
    right = float(np.mean(both.argmax(axis=1) == labels)) if len(labels) else 1.0
    if right < 0.5:
        note += (
            f", and the model is right for {right:.0%} of the records only: is it that of the "
            "other class?"
        )
    return both, note


def _names(given: Mapping[str, NDArray[Any]], scores: Scores) -> Sequence[str] | None:
    """Return the classes' names: those of the columns, or the array of them beside a matrix."""
    classes = given.get("classes")
    if scores.classes is not None or classes is None or scores.values.ndim < 2:
        return scores.classes
    same = classes.ndim == 1 and len(classes) == scores.values.shape[-1]
    return classes.astype(np.str_).tolist() if same else None


def _all_named(truth: NDArray[Any], named: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all classes; where one of two has a column, the labels name the other."""
    if len(named) > 1:
        return tuple(named)
    return tuple(sorted({*named, *(str(value) for value in np.unique(truth).tolist())}))


def _places(truth: NDArray[Any], names: Sequence[str], name: str) -> Ints:
    texts, place = np.unique(truth, return_inverse=True)
    place_of = {text: i for i, text in enumerate(names)}
    strange = [str(text) for text in texts.tolist() if str(text) not in place_of]
    if strange:
        raise InputError(
            f"{name}: label {strange[0]!r} has no column of predictions; they are of {_list(names)}"
        )
    return np.array([place_of[str(text)] for text in texts.tolist()], np.int64)[place]


def _numbered(names: Sequence[str]) -> str:
    return "classes are " + checks.listed(f"{i} = {text}" for i, text in enumerate(names))


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.kind in "biufU" else array.astype(np.str_)


def _first(given: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in given), None)


def _list(names: Iterable[Any]) -> str:
    return checks.listed(names, most=12) or "nothing"
