"""Predictions as people export them: the meaning of columns, and the form of their values.

Every form that the file's contents alone identify is accepted, with a note on how it was read. A
file with two possible readings is refused.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.predictions import (
    REMAINDER,
    SUM_ERROR,
    UNLISTED_CLASS,
    listed_entries,
    probabilities,
    rounding_of,
    share_remainder,
)
from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.datasets.columns import (
    ID,
    MEMBERSHIP,
    NAMING,
    NON_MEMBER,
    UNIT,
    membership_in,
)
from privacygauge.datasets.parsing import YES_OR_NO, text_order
from privacygauge.datasets.reading import plain_array
from privacygauge.errors import InputError

Kind = Literal["probs", "logits"]
"""Kind of class scores."""

# Column names that people use, the most usual one first.
_STEMS: Mapping[Kind, tuple[str, ...]] = {
    "logits": ("logits", "z", "logit"),
    "probs": ("probs", "p", "prob", "proba", "probability", "probabilities"),
}
_LABEL = ("label", "labels", "y_true", "true_label", "truth", "y", "class", "target")
PREDICTED = ("prediction", "predictions", "predicted", "pred", "y_pred", "y_hat", "yhat")
"""Names of columns of the model's own answers, the most usual one first."""
_POSITIVE = (
    *("score", "scores", "y_score", "y_prob", "y_proba", "y_pred_proba", "y_pred_prob"),
    *("pred_proba", "pred_prob", "predicted_proba", "predicted_prob", "predicted_probability"),
    *("prediction_probability", "prediction_score", "y_hat_proba"),
)
"""Names of columns that hold the probability of the second of two classes, next to the
prediction."""

_TRUE = frozenset({yes for yes, _ in YES_OR_NO} | {"t", "sim"})
_FALSE = frozenset({no for _, no in YES_OR_NO} | {"f", "nee", "n\xe3o"})
IN_WORDS = frozenset({"in", "member", "members", "train", "training"}) | _TRUE
"""Words that mark members, in lower case."""
OUT_WORDS = _FALSE | frozenset(
    {"out", "non-member", "nonmember", "non_member", "test", "testing", "holdout", "unseen"}
    | {"held-out", "held_out", "held out", "oos", "out-of-sample", "out_of_sample"}
)
"""Words that mark non-members, in lower case."""

_BITS = _TRUE | _FALSE | {"in", "out"}
"""Words whose meaning is that of the column: 1 is no member in a column called holdout."""

_BETWEEN = frozenset({"val", "valid", "validation", "dev", "eval", "evaluation"})
"""Names of splits that training may have looked at, for example to stop early."""

_PERCENT = 100.0
"""Sum of a row of percentages."""

_OFF = 1.0
"""Largest deviation of the sum of percentages from 100, unless these were rounded."""

_ENOUGH = 20
"""Number of log-odds that are not all in [0, 1] by chance."""

_SURE = 3.0
"""Smallest advantage of an order of classes over every exchange of two, in standard errors."""

_LEAST_P = 1e-3
"""Floor of probabilities when orders are compared, so that no row decides alone."""


_OF_CLASS = re.compile(
    r"(?:\.pred_|(?:(?:y_)?pred(?:icted|iction)?_(?=prob))?"
    r"(?P<stem>p|prob|proba|probability|z|logits?)(?:_class)?_)(?P<name>.+)"
    r"|(?P<before>p|prob|proba|probability|z|logits?) ?\((?P<within>.+)\)",
    re.IGNORECASE,
)
"""Matches a column of a class's scores as programs write it: ``.pred_a``, ``Probability (a)``,
``proba_class_0``, ``P_a``."""


_SCORES = frozenset({*_POSITIVE, *(stem for known in _STEMS.values() for stem in known)})
"""Names of single columns of scores."""


def usual_names(given: Sequence[str]) -> list[str]:
    """Return the names of columns as `fields_of` knows them, from other spellings.

    Spaces around a name are left out. Names with a meaning may have capitals, and a class's scores
    may be called as other programs call them. A name that another column has already stays.
    """
    found = []
    for name in given:
        usual = name.strip()
        matched = _OF_CLASS.fullmatch(usual)
        if usual.lower() in (*_LABEL, *MEMBERSHIP, *NAMING):
            usual = usual.lower()
        elif matched is not None and matched["name"] != "class":  # .pred_class is a prediction
            stem = matched["stem"] or matched["before"] or "prob"
            usual = f"{stem.lower()}_{matched['name'] or matched['within']}"
        found.append(usual)
    # Only a score that stands alone may be called so in capitals: Z may be a height.
    if not any(usual in _SCORES or _OF_CLASS.fullmatch(usual) for usual in found):
        found = [x.lower() if x.lower() in (*_SCORES, *PREDICTED) else x for x in found]
    return [
        name if found.count(usual) > 1 or (usual != name and usual in given) else usual
        for name, usual in zip(given, found, strict=True)
    ]


def roles_in(given: Sequence[str]) -> tuple[list[str], str | None, str | None]:
    """Return the columns of scores, the label's and the member's, by their names alone.

    Columns of the usual names, of lists of scores and of the largest scores are scores; so is a
    single score of one class beside a label.
    """
    usual = dict(zip(usual_names(given), given, strict=True))
    label = _first_known(usual, _LABEL)
    member = None
    with contextlib.suppress(InputError):
        member = membership_in(usual, "")
    stems = {stem for known in _STEMS.values() for stem in known}
    scores = [
        name
        for spelled, name in usual.items()
        if spelled in stems
        or _OF_CLASS.fullmatch(spelled)
        or (_TOP.fullmatch(spelled.lower()) and spelled != label)
    ]
    if not scores and label is not None:
        scores = [name for spelled, name in usual.items() if spelled in _POSITIVE]
    return scores, label and usual[label], member and usual[member]


@dataclass(frozen=True, eq=False)
class ExportedScores:
    """Scores of a model: one column per class, or one column for two classes."""

    kind: Kind
    """``probs`` or ``logits``."""
    values: NDArray[Any]
    """(n, k); (n,) if only one of two classes has a column; (n, q, k) for several queries."""
    used: frozenset[str]
    """Names of the columns that were read."""
    classes: tuple[str, ...] | None = None
    """Names of the classes, in the order of the columns; None if they are numbered from 0."""
    notes: tuple[str, ...] = ()
    """Notes for the report on how the columns were interpreted."""


def fields_of(
    given: Mapping[str, NDArray[Any]], name: str, *, table: bool, classes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the arguments of `predictions`, and notes, from columns or arrays of n rows by name.

    `name` is the input's name in messages; `table` says whether messages call these columns;
    `classes` holds the names of the classes in the order of the columns, if the user gives them.

    Raises
    ------
    InputError
        One line: what is missing or ambiguous, and the way out.
    """
    given = _with_lists(given, name)
    label = _first_known(given, _LABEL)
    member = membership_in(given, name)
    wanted = {"label" if table else "labels": label, "member": member}
    # Labels and membership are indispensable; scores have many forms, which come next.
    missing = [what for what, found in wanted.items() if found is None]
    if label is None or member is None:
        raise InputError(f"{name}: missing {_list(missing)}; it has {_list(given)}")
    truth = truth_of(given[label], label, name)
    # Lists first: their columns would otherwise be read as complete predictions.
    scores = listed_only(given, truth, classes, name) or _scores(given, truth, name, table=table)
    inside, of_splits = members_of(given[member], member, name)
    values, of_values = _values(scores, name)
    if values.ndim == 0:
        raise InputError(f"{name}: {_list(scores.used)} must have the shape (n, k), got ()")
    k = 2 if values.ndim == 1 else values.shape[-1]
    named = _names(given, scores, asked=classes, k=k, name=name)
    # Names by the file or the user win; without any, only the predictions can show the order.
    order = class_order(values, truth, scores.kind, name) if named is None else None
    labels, names, of_labels = encode_classes(truth, k, named=named, name=name, order=order)
    by_user = named is not None and bool(classes) and scores.classes is None
    if by_user and truth.dtype.kind == "U" and set(np.unique(truth).tolist()) == set(named or ()):
        # The user's order of classes is kept, even if the predictions clearly contradict it.
        shown = _shown_order(values, truth, scores.kind)
        if shown is not None and shown != tuple(named or ()):
            of_labels = [
                *of_labels,
                f"--classes says {_list(named or ())}, but the predictions show {_list(shown)}: "
                "with the wrong columns attacks see less than there is",
            ]
    of_values = [*scores.notes, *of_values]
    kind = scores.kind
    if values.ndim == 1:
        values, kind, which = _complete_binary_scores(values, scores, labels, names)
        of_values = [*of_values, which]
    # Everything else may describe the records.
    known = {*scores.used, label, member, *NAMING}
    if scores.used & set(_POSITIVE):
        # The prediction follows from the score: records are not grouped by it.
        known |= {key for key in given if key.lower() in PREDICTED}
    known |= set() if table else {"classes", *_STEMS["probs"], *_STEMS["logits"]}
    ids = _first_known(given, ID)
    unit = _first_known(given, UNIT)
    further = {key: array for key, array in given.items() if key not in known}
    lists = [key for key, array in further.items() if _are_lists(array)]
    of_lists = [f"column {key} holds lists, and was left out" for key in lists]
    return {
        kind: values,
        "labels": labels,
        "member": inside,
        "ids": None if ids is None else given[ids],
        "unit": None if unit is None else given[unit],
        "columns": {
            key: plain_array(array)
            for key, array in further.items()
            if array.ndim == 1 and len(array) == len(labels) and key not in lists
        },
        "classes": names,
        "notes": tuple(
            f"{name}: {note}" for note in (*of_values, *of_labels, *of_splits, *of_lists)
        ),
    }


_NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")
"""Matches the repr of a numpy scalar in a list that was written as text."""


def _with_lists(given: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    """Return the columns with texts such as ``[0.1, 0.9]`` parsed as lists.

    In a column of scores, every row must be a list. Other columns stay texts if one row is not a
    list. Class names that look like a list, such as the interval ``[0, 10]``, stay texts, too.
    """
    found = dict(given)
    stems = {stem for known in _STEMS.values() for stem in known}
    for key in stems & set(given):
        found[key] = _lists_in(given[key], f"{name}: {key}")
    # A predicted class may itself look like a list: only lists of numbers, pairs or objects are
    # scores.
    for key in {"top_probs", "top_k_probs", *_POSITIVE, *PREDICTED} & set(given):
        lists = _lists_in(given[key])
        is_pairs = _are_lists(lists) and len(lists[0]) and isinstance(lists[0][0], Mapping)
        of_numbers = _are_lists(lists) and any(isinstance(x, float) for x in lists[0])
        is_mapping = lists.size and isinstance(lists[0], Mapping)
        if key not in PREDICTED or is_pairs or is_mapping or of_numbers:
            found[key] = lists
    # With lists of scores there may be lists of their classes.
    if any(found[key] is not given[key] for key in found):
        for key in set(given) - stems:
            if key.endswith("classes"):
                found[key] = _lists_in(given[key])
    for key in set(_LABEL) & set(given):
        lists = _lists_in(given[key])
        # A label that is a list is a one-hot row: one 1, and 0 elsewhere.
        one_hot = (
            isinstance(row, list | tuple) and sorted(row, key=str) == [0] * (len(row) - 1) + [1]
            for row in lists
        )
        if lists is not given[key] and all(one_hot):
            found[key] = lists
    return found


def _lists_in(array: NDArray[Any], what: str | None = None) -> NDArray[Any]:
    """Return a column with its texts parsed as lists, or the column itself.

    If `what`, its name in messages, is given and the first row looks like a list, every row must be
    one.
    """
    if array.ndim != 1 or array.dtype.kind not in "OUT" or not len(array):
        return array
    texts = array.tolist()
    if not isinstance(texts[0], str) or not texts[0].strip().startswith(_OPENING):
        return array
    found: NDArray[Any] = np.empty(len(texts), np.object_)
    for row, text in enumerate(texts):
        value = _list_in(text) if isinstance(text, str) else None
        if value is None and what is None:
            return array
        if value is None:
            raise InputError(
                f"{what} must hold a list in every row, such as [0.1, 0.9], got "
                f"{str(text)[:40]!r} in row {row}"
            )
        found[row] = value
    return found


_OPENING = ("[", "(", "{")


def _list_in(text: str) -> Sequence[Any] | Mapping[str, Any] | None:
    """Return the list or object in a text: in JSON, in Python, or as numpy prints it; else None."""
    inner = text.strip()
    value = None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(_NUMPY.sub(r"\1", inner))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            # As numpy prints an array, without commas; texts, or an ellipsis in place of numbers,
            # are no list.
            if inner.startswith("[") and inner.endswith("]"):
                with contextlib.suppress(ValueError):
                    value = [float(number) for number in inner[1:-1].split()]
    return value if isinstance(value, list | tuple | dict) else None


def encode_classes(
    truth: NDArray[Any],
    k: int,
    named: Sequence[str] | None,
    name: str,
    order: Sequence[str] | None = None,
) -> tuple[Ints, tuple[str, ...], list[str]]:
    """Return true classes as integers in 0..k-1, their names, and notes on how they were read.

    `truth` (n,) holds texts, or numbers counted from 0, from 1, or -1 and 1. `named` holds the
    names of the classes in the order of the predictions: all k, or one of two. `order` is the class
    order that the predictions show. Classes that are numbers from 0 have no names.
    """
    if named is not None:
        texts = {str(value) for value in np.unique(truth).tolist()}
        # If only one of two classes has a column, the labels name the other.
        names = tuple(named) if len(named) > 1 else tuple(sorted({*named, *texts}))
        # Whole numbers that are not names themselves are class numbers, although the classes have
        # names.
        if truth.dtype.kind == "U" or all(text.isdecimal() for text in names) or texts <= {*names}:
            return _places(truth, names, name), names, []
        return checks.integers(truth, f"{name}: labels"), names, []
    if truth.dtype.kind == "U":
        names = tuple(np.unique(truth).tolist())
        if len(names) != k:
            raise InputError(
                f"{name}: the labels are {len(names)} different texts ({_list(names)}), but there "
                f"are predictions of {k} classes: name the columns p_CLASS, such as p_{names[0]}"
            )
        how = "in alphabetical order"
        if order is not None:
            same = tuple(order) == names
            how = f"{how}, as" if same else f"not {how}, but as"
            how = f"{how} the predictions show"
            names = tuple(order)
        numbered = checks.short_list(f"{i} = {text}" for i, text in enumerate(names))
        return _places(truth, names, name), names, [f"classes are {numbered} ({how})"]
    numbers = checks.integers(truth, f"{name}: labels")
    if not len(numbers):
        return numbers, (), []
    # Codings of two classes by signs, then classes counted from 1; otherwise from 0.
    if k == 2 and numbers.min() == -1 and set(np.unique(numbers).tolist()) <= {-1, 1}:
        return (numbers + 1) // 2, ("-1", "1"), ["labels -1 and 1 were read as classes 0 and 1"]
    if numbers.min() >= 1 and numbers.max() == k:
        names = tuple(str(i + 1) for i in range(k))
        return numbers - 1, names, [f"labels are counted from 1: classes are 1 to {k}"]
    return numbers, (), []


def truth_of(array: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    """Return labels (n,) as integers or texts; one-hot rows (n, k) become class numbers.

    Raises
    ------
    InputError
        If a record has no label or several, or if labels are numbers that are not whole.
    """
    if array.ndim == 1 and array.dtype == object and len(array) and _is_list(array[0]):
        array = _stack_lists(array, column, name)
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


def members_of(array: NDArray[Any], column: str, name: str) -> tuple[NDArray[Any], list[str]]:
    """Return a column as the mask of members, (n,), and notes on how it was read.

    The mask may still be numbers, which the caller checks. A column of `NON_MEMBER` is read the
    other way round, unless its words say themselves who was in training.
    """
    values = _values_of(np.asarray(array), column, name)
    said = {*np.char.lower(np.char.strip(values)).tolist()} if values.dtype.kind == "U" else set()
    if column.lower() == "split" and said <= _BITS - {"in", "out"} and values.size:
        raise InputError(
            f"{name}: column split must say train or test, got {values.ravel()[0]}: call it member "
            "if that is 1 for the training data, or is_test if it is 1 for all else"
        )
    if column.lower() in NON_MEMBER and said <= _BITS:
        inside, _ = members_of(values, "member", name)
        note = f"column {column} says which records the model was not trained on; the others are"
        return ~checks.bools(inside, f"{name}: {column}"), [f"{note} members"]
    if values.dtype.kind != "U":
        return values, []
    texts = np.char.lower(np.char.strip(values))
    known, place = np.unique(texts, return_inverse=True)
    strange = sorted(set(known.tolist()) - IN_WORDS - OUT_WORDS - _BETWEEN)
    if strange:
        raise InputError(
            f"{name}: column {column} must say true or false, yes or no, in or out, or train or "
            f"test, got {strange[0]!r}: write true where the record was in the training data, "
            "false elsewhere"
        )
    inside = np.isin(known, sorted(IN_WORDS))[place]
    between = sorted(set(known.tolist()) & _BETWEEN)
    if not between:
        return inside, []
    return inside, [
        f"rows of {_list(between)} count as non-members: leave them out if training looked at "
        "them, say to stop early"
    ]


def _scores(
    given: Mapping[str, NDArray[Any]], truth: NDArray[Any], name: str, *, table: bool
) -> ExportedScores:
    # From the least ambiguous form to the most: numbered columns, arrays, columns by class name,
    # bare class names, one score of two classes, and scores under the name of a prediction.
    stems = [(kind, stem) for kind, known in _STEMS.items() for stem in known]
    for kind, stem in stems:
        if (found := _by_number(given, kind, stem=stem, truth=truth, name=name)) is not None:
            return found
    for kind, stem in stems:
        if stem in given:
            return ExportedScores(kind, _stack_lists(given[stem], stem, name), frozenset({stem}))
    for kind, stem in stems:
        if (found := _by_name(given, kind, stem=stem, truth=truth, name=name)) is not None:
            return found
    if (found := _by_bare_name(given, truth, name)) is not None:
        return found
    if (found := _of_positive_class(given, truth, name)) is not None:
        return found
    for key in (*PREDICTED, *_POSITIVE):
        if key in given and (found := _of_matrix(given[key], key, truth, name)) is not None:
            return found
    if (predicted := _first_known(given, PREDICTED)) is not None:
        raise InputError(
            f"{name}: {predicted} alone is not enough: save the probability of every class "
            "(columns p_0, p_1, ...; of two classes one column p is enough), or logits (z_0, z_1, "
            "...)"
        )
    # The columns of a table may name other classes than the labels do.
    texts = [str(value) for value in np.unique(truth).tolist()]
    for stem in (stem for _, stem in stems) if table else ():
        keys = [x for x in given if x.startswith(f"{stem}_") and given[x].dtype.kind in "biuf"]
        written = [key.removeprefix(f"{stem}_") for key in keys]
        without = [text for text in texts if not any(_names_label(text, x, texts) for x in written)]
        if len(keys) < 2 or len(without) == len(texts):
            continue
        if without:
            raise InputError(
                f"{name}: no columns p_0, p_1, ..., and no column {stem}_{without[0]} for label "
                f"{without[0]!r}; columns of classes are {_list(keys)}"
            )
        raise InputError(
            f"{name}: the labels ({_list(texts)}) are like several of the columns {_list(keys)}: "
            "spell the classes alike in both"
        )
    if table:
        raise InputError(
            f"{name}: no columns p_0, p_1, ... or z_0, z_1, ...; it has {_list(given)}"
        )
    raise InputError(f"{name}: no key probs or logits; it has {_list(given)}")


def _of_matrix(
    column: NDArray[Any], key: str, truth: NDArray[Any], name: str
) -> ExportedScores | None:
    """Return the scores of all classes from an array named like predicted classes; None if unsure.

    Rows that sum to 1, or to 100, are probabilities; one-hot rows are predicted classes. Rows with
    negative values are logits, or log-probabilities, if the largest belongs to the true class
    significantly more often than the most frequent class occurs.
    """
    try:
        values = _stack_lists(column, key, name)
    except InputError:
        return None
    if values.ndim != 2 or values.dtype.kind != "f" or not len(values) or len(values) != len(truth):
        return None
    k = values.shape[1]
    finite = bool(np.isfinite(values).all())
    if finite and values.min() < 0:
        # Negative values may be logits, or anything: the labels must show it beyond chance.
        share = max(float(np.mean(truth == text)) for text in np.unique(truth).tolist())
        numbered = truth.dtype.kind in "iu" and truth.min() >= 0 and truth.max() <= k
        # Classes may be counted from 0 or 1.
        is_right = values.argmax(axis=1) == truth - (truth.max() == k) if numbered else [False]
        if np.mean(is_right) <= share + _SURE * np.sqrt(share * (1 - share) / len(truth)):
            return None
        note = f"{key} was read as the logits of all classes: its rows have negative values"
        return ExportedScores("logits", values, frozenset({key}), notes=(note,))
    # Above 1.5, no rounding explains a probability: these are percentages.
    shares = values / (_PERCENT if np.nanmax(values, initial=0) > 1.5 else 1.0)
    total = shares.sum(axis=1, dtype=np.float64)
    sums_to_one = finite and (np.abs(total - 1).max() <= SUM_ERROR or rounding_of(shares) > 0)
    # One-hot rows are predicted classes, not probabilities.
    is_one_hot = finite and bool((shares == np.rint(shares)).all())
    if is_one_hot or not (sums_to_one or listed_entries(values) is not None):
        return None
    note = f"{key} was read as the probabilities of all classes: its rows sum to 1"
    return ExportedScores("probs", values, frozenset({key}), notes=(note,))


_TOP = re.compile(
    r"(?:top|pred|prediction)_?(?P<a>\d+)_?(?P<what>\w+)|(?P<other>[a-z]+)_?top_?(?P<b>\d+)"
)
"""Matches the columns of the largest probabilities: ``top_1_class`` and ``top_1_prob``."""

# Words in the name of a column such as top_1_class for a class, and for its probability.
_WHICH = ("class", "classes", "label", "labels", "name")
_HOW = ("p", "prob", "proba", "probability", "score", "confidence")


def listed_only(
    given: Mapping[str, NDArray[Any]], truth: NDArray[Any], classes: Sequence[str], name: str
) -> ExportedScores | None:
    """Return the probabilities of all classes if each record lists only some; None if none does.

    Lists are columns ``top_1_class``, ``top_1_prob``, ``top_2_class`` and so on, a column or array
    of classes with one of their probabilities, pairs such as ``{"label": "a", "score": 0.7}``,
    objects such as ``{"a": 0.7}``, or columns with gaps. The other classes share the remainder to 1
    equally, each with at most the smallest listed value; any rest goes to an extra class.
    """
    found = _top_columns(given, name) or _top_lists(given, name) or _with_gaps(given, name)
    if found is None:
        return None
    which, p, used = found
    texts = [[str(x) for x in row] for row in which]
    # A single number in `classes` is the number of classes, not a name.
    number_asked = int(classes[0]) if len(classes) == 1 and classes[0].isdecimal() else 0
    known = {text for row in texts for text in row} | {str(x) for x in np.unique(truth).tolist()}
    if classes and not number_asked:
        names = list(classes)
        if strange := sorted(known - set(names)):
            raise InputError(f"{name}: class {strange[0]!r} is not among --classes {_list(names)}")
    # Numbers count classes from 0, so that classes which no record lists have a column, too.
    elif all(text.isdecimal() for text in known):
        names = [str(i) for i in range(max(number_asked, *(int(x) + 1 for x in known)))]
    else:
        names = sorted(known)
    place = {text: i for i, text in enumerate(names)}
    values = np.full((len(texts), len(names)), np.nan)
    for row, (own, numbers) in enumerate(zip(texts, p, strict=True)):
        if len(set(own)) < len(own):
            raise InputError(f"{name}: row {row} lists a class twice ({_list(own)})")
        values[row, [place[text] for text in own]] = numbers
    unlisted = np.isnan(values).all(axis=1)
    if unlisted.any():
        raise InputError(f"{name}: row {int(np.argmax(unlisted))} lists no class")
    values, note = share_remainder(values, name)
    if values.shape[1] > len(names):
        names.append(UNLISTED_CLASS)
    return ExportedScores(
        kind="probs", values=values, used=used, classes=tuple(names), notes=(note,)
    )


_HALF_OF_TWO_DIGITS = 0.005
"""Largest rounding error of two decimals."""

_Listed: TypeAlias = tuple[Iterable[Sequence[Any]], Iterable[Sequence[float]], frozenset[str]]
"""The classes of each row, their probabilities, and the columns that hold them."""


def _top_columns(given: Mapping[str, NDArray[Any]], name: str) -> _Listed | None:
    """Return the lists in columns such as top_1_class and top_1_prob; None if there are none."""
    classes: dict[int, str] = {}
    shares: dict[int, str] = {}
    for key in given:
        match = _TOP.fullmatch(key.lower())
        if match is None:
            continue
        what = (match["what"] or match["other"] or "").strip("_")
        rank = int(match["a"] or match["b"])
        if what in _WHICH:
            classes[rank] = key
        elif what in _HOW:
            shares[rank] = key
    if not classes and not shares:
        return None
    if set(classes) != set(shares):
        both = _list([*classes.values(), *shares.values()])
        raise InputError(
            f"{name}: every class of a list needs its probability (top_1_class, top_1_prob, ...), "
            f"got {both}"
        )
    ranks = sorted(classes)
    which = np.column_stack([_texts_of(given[classes[r]]) for r in ranks])
    p = np.column_stack([_numeric(given[shares[r]], shares[r], name) for r in ranks])
    return which, p, frozenset([*classes.values(), *shares.values()])


def _top_lists(given: Mapping[str, NDArray[Any]], name: str) -> _Listed | None:
    """Return lists of classes and probabilities, from arrays, pairs or objects; else None."""
    for stem in (*_STEMS["probs"], *PREDICTED, "scores", "top_probs", "top_k_probs"):
        column = given.get(stem)
        if column is None or not column.ndim or not len(column):
            continue
        for key in (stem.replace("probs", "classes"), "top_classes", "classes"):
            which = given.get(key, column)
            if which is not column and which.ndim and _are_lists(which) and _are_lists(column):
                uneven = [
                    row
                    for row, (a, b) in enumerate(zip(which, column, strict=False))
                    if not (_is_list(a) and _is_list(b) and len(a) == len(b))
                ]
                if uneven or len(which) != len(column):
                    at = uneven[0] if uneven else min(len(which), len(column))
                    raise InputError(
                        f"{name}: {key} and {stem} must list as many classes as probabilities, row "
                        f"{at} does not"
                    )
                return which, column, frozenset({key, stem})
        # Objects of class to probability, or a label and a score each, as pipelines write them.
        first = column[0]
        if isinstance(first, Mapping):
            rows = [row if isinstance(row, Mapping) else {} for row in column]
            return [list(x) for x in rows], [list(x.values()) for x in rows], frozenset({stem})
        if _is_list(first) and len(first) and isinstance(first[0], Mapping):
            try:
                p = [[float(x["score"]) for x in row] for row in column]
                return [[x["label"] for x in row] for row in column], p, frozenset({stem})
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"{name}: the pairs in {stem} must have a label and a score"
                ) from error
    return None


def _are_lists(array: NDArray[Any]) -> bool:
    return array.ndim == 2 or (array.dtype == object and bool(len(array)) and _is_list(array[0]))


def _with_gaps(given: Mapping[str, NDArray[Any]], name: str) -> _Listed | None:
    """Return lists from columns p_0, p_1, ... that hold only the largest of each row; else None."""
    for stem in _STEMS["probs"]:
        keys = [key for key in given if re.fullmatch(rf"{stem}_\w+", key) and given[key].ndim == 1]
        if len(keys) < 2:
            continue
        try:
            columns = [_numeric(given[key], key, name) for key in keys]
        except InputError:
            # Columns of texts under such names are no probabilities.
            continue
        values = np.column_stack(columns).astype(np.float64)
        listed = listed_entries(values)
        if listed is None:
            continue
        names = np.array([key.removeprefix(f"{stem}_") for key in keys])
        rows = list(zip(listed, values, strict=True))
        return [names[x] for x, _ in rows], [p[x] for x, p in rows], frozenset(keys)
    return None


def _texts_of(array: NDArray[Any]) -> NDArray[Any]:
    # Class 2 may have been read as 2.0.
    whole = array.dtype.kind == "f" and bool((np.trunc(array) == array).all())
    return (array.astype(np.int64) if whole else array).astype(np.str_)


def _by_number(
    given: Mapping[str, NDArray[Any]], kind: Kind, stem: str, truth: NDArray[Any], name: str
) -> ExportedScores | None:
    """Return scores in columns p_0, p_1, ..., in p_1, p_2, ..., or in p_1 alone; None without any.

    Without underscores (p0, p1, ...) there must be two or more, and none missing. With them, if
    numbers are missing, as in p_3, p_5, they name the classes in `truth`.
    """
    matches = [re.fullmatch(rf"{stem}_(\d+)", key) for key in given]
    found = sorted({int(match[1]) for match in matches if match})
    if not found:
        matches = [re.fullmatch(rf"{stem}(\d+)", key) for key in given]
        joined = sorted({int(match[1]) for match in matches if match})
        # Counted from 0 or 1, one after the other; p3 alone may be anything.
        if len(joined) < 2 or joined != list(range(joined[0], joined[-1] + 1)) or joined[0] > 1:
            return None
        columns = [f"{stem}{i}" for i in joined]
        names = tuple(str(i) for i in joined) if joined[0] else None
        return ExportedScores(kind, _columns(given, columns, name), frozenset(columns), names)
    # Columns may be counted from 1.
    first = min(found[0], 1)
    wanted = [f"{stem}_{i}" for i in range(first, found[-1] + 1)]
    missing = [column for column in wanted if column not in given]
    if missing and len(found) > 1:
        # Columns p_CLASS with a text for a class would interfere: first the numbered ones alone.
        digits = {f"{stem}_{i}": given[f"{stem}_{i}"] for i in found if f"{stem}_{i}" in given}
        by_name = (
            _by_name(digits, kind, stem=stem, truth=truth, name=name) if len(digits) > 1 else None
        )
        if by_name is not None:
            return by_name
    # p_1 alone may be one of several columns that are named by class.
    if missing or found == [1]:
        by_name = _by_name(given, kind, stem=stem, truth=truth, name=name)
        if by_name is not None and (missing or by_name.values.ndim == 2):
            return by_name
    if missing:
        raise InputError(f"{name}: missing {_list(missing)}; it has {_list(given)}")
    if found == [1]:
        column = f"{stem}_1"
        return ExportedScores(kind, _numeric(given[column], column, name), frozenset({column}))
    classes = tuple(str(i) for i in range(1, found[-1] + 1)) if first else None
    return ExportedScores(kind, _columns(given, wanted, name), frozenset(wanted), classes)


def _of_positive_class(
    given: Mapping[str, NDArray[Any]], truth: NDArray[Any], name: str
) -> ExportedScores | None:
    """Return the probability of one of two classes from a column such as ``score``; else None.

    The confidence in the predicted class may have such a name, too: it is never below 1/2, and says
    nothing without the class.
    """
    column = _first_known(given, _POSITIVE) or _first_known(given, PREDICTED)
    if column is None or len(np.unique(truth)) != 2 or given[column].dtype.kind not in "fiu":
        return None
    values = _stack_lists(given[column], column, name)
    if values.ndim != 1 or not (values.min() >= 0 and values.max() <= 1 and values.min() < 0.5):
        return None
    # Whole numbers under the name of a prediction are the predicted classes themselves.
    if column in PREDICTED and (values == np.rint(values)).all():
        return None
    return ExportedScores("probs", values, frozenset({column}))


def _by_name(
    given: Mapping[str, NDArray[Any]], kind: Kind, stem: str, truth: NDArray[Any], name: str
) -> ExportedScores | None:
    """Return scores in columns such as p_benign and p_malignant, or in one of these; else None."""
    texts = [str(value) for value in np.unique(truth).tolist()]
    named = {key.removeprefix(f"{stem}_"): key for key in given if key.startswith(f"{stem}_")}
    if len(named) == 1 and len(texts) == 2:
        ((written, column),) = named.items()
        alike = [text for text in texts if _names_label(text, written, texts)]
        if len(alike) != 1:
            return None
        return ExportedScores(
            kind, _numeric(given[column], column, name), frozenset({column}), (alike[0],)
        )
    # A class without rows may have a column too, if it is numeric.
    named = {
        written: key
        for written, key in named.items()
        if given[key].dtype.kind in "biuf"
        or any(_names_label(text, written, texts) for text in texts)
    }
    columns = _columns_of(named, texts)
    if columns is None:
        return None
    values = _columns(given, list(columns.values()), name)
    spelled = {key: text for text, key in named.items()}
    other = {text: spelled[key] for text, key in columns.items() if text != spelled[key]}
    differ = [text for text, called in other.items() if text.casefold() == called.casefold()]
    notes: tuple[str, ...] = ()
    if differ:
        called = _list(columns[text] for text in differ)
        notes = (f"labels {_list(differ)} were read as the classes of {called}, case aside",)
    return ExportedScores(
        kind=kind,
        values=values,
        used=frozenset(columns.values()),
        classes=tuple(columns),
        notes=notes,
    )


_BOOLEANS: Mapping[str, str] = {"false": "0", "true": "1"}
"""Boolean names of columns, and the labels that they stand for."""


def _plain(written: str, texts: Sequence[str]) -> str:
    """Return the class that a column's name denotes: 2 for 2.0; 1 for True if labels are 0, 1."""
    if {*texts} <= {*_BOOLEANS.values()} and written.lower() in _BOOLEANS:
        return _BOOLEANS[written.lower()]
    try:
        number = float(written)
    except ValueError:
        return written
    return str(int(number)) if number.is_integer() and abs(number) < _MOST_EXACT else written


_MOST_EXACT = 2.0**53
"""Bound below which every whole number is exact as a float64."""


def _names_label(label: str, written: str, texts: Sequence[str]) -> bool:
    """Return whether a column's name stands for a label, one of `texts`, ignoring case."""
    if _plain(label, texts) == _plain(written, texts):
        return True
    return label.strip().casefold() == written.strip().casefold()


def _columns_of(named: Mapping[str, str], texts: Sequence[str]) -> dict[str, str] | None:
    """Return the column of each class, in the order of the classes; None if a label has none.

    `named` maps names of classes to columns, and `texts` are the labels. A class without a label
    keeps the name from its column. If a label resembles several columns, or a column several
    labels, none is taken.
    """
    if {*texts} <= {*named}:
        by_class = dict(named)
    else:
        pairs = [(a, b) for a in texts for b in named if _names_label(a, b, texts)]
        label_of = {written: text for text, written in pairs}
        # A bijection: no column has two labels, no label two columns, and no label lacks one.
        if not len(pairs) == len(label_of) == len({*texts}) == len({*label_of.values()}):
            return None
        by_class = {
            label_of.get(written) or _plain(written, texts): key for written, key in named.items()
        }
        # Two columns stand for one class, such as 2 and 2.0.
        if len(by_class) < len(named):
            return None
    return {text: by_class[text] for text in sorted(by_class, key=text_order)}


def _by_bare_name(
    given: Mapping[str, NDArray[Any]], truth: NDArray[Any], name: str
) -> ExportedScores | None:
    """Return probabilities in columns named exactly as the classes: benign, malignant.

    Other columns could have such names too: they are taken for probabilities only if each row sums
    to 1, or to 100.
    """
    texts = [str(value) for value in np.unique(truth).tolist()]
    named = {key: key for key in given if any(_names_label(text, key, texts) for text in texts)}
    columns = _columns_of(named, texts) if len(texts) > 1 else None
    if columns is None:
        return None
    # In the order of numbers where the names are numbers.
    texts = sorted(columns, key=text_order)
    keys = [columns[text] for text in texts]
    try:
        values = _columns(given, keys, name)
    except InputError:
        return None
    total = values.sum(axis=1, dtype=np.float64)
    # Two decimals per class: the sum is off by at most half a step for each.
    off = REMAINDER + _HALF_OF_TWO_DIGITS * len(texts)
    sums_to_one, to_hundred = (
        bool((np.abs(total / whole - 1) <= off).all()) for whole in (1.0, _PERCENT)
    )
    if (values < 0).any() or not (sums_to_one or to_hundred):
        return None
    note = f"the columns {_list(keys)} were read as the probabilities of these classes"
    return ExportedScores(
        kind="probs", values=values, used=frozenset(keys), classes=tuple(texts), notes=(note,)
    )


def _columns(given: Mapping[str, NDArray[Any]], wanted: Sequence[str], name: str) -> NDArray[Any]:
    return np.column_stack([_numeric(given[column], column, name) for column in wanted])


def _numeric(array: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    """Return a column as numbers; the text 97.5% becomes 97.5."""
    if array.dtype.kind in "biuf":
        return array
    texts = [str(value).strip().removesuffix("%") for value in array.tolist()]
    try:
        if array.ndim == 1 and all(str(value).strip().endswith("%") for value in array.tolist()):
            return np.array([float(text) for text in texts])
    except ValueError:
        pass
    raise InputError(f"{name}: column {column} must hold numbers")


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _stack_lists(array: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    """Return scores (n, k), or (n,) for one class, from an array or a column of lists."""
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


def _values(scores: ExportedScores, name: str) -> tuple[NDArray[Any], list[str]]:
    """Return scores with percentages divided by 100, and a note that says so."""
    values = scores.values
    if scores.kind == "logits" or not values.size or values.dtype.kind not in "biuf":
        return values, []
    low = float(values.min())
    high = float(values.max())
    if not (low >= 0 and 1.5 < high <= _PERCENT + _OFF):
        # Rows of several columns are checked by their sum later.
        if values.ndim == 1 and not (low >= 0 and high <= 1):
            raise InputError(
                f"{name}: probabilities must be in [0, 1], got {low if low < 0 else high:.4g}; if "
                "these are log-odds, name the column z"
            )
        return values, []
    shares = values / _PERCENT
    off = 0.0 if values.ndim < 2 else float(np.abs(values.sum(axis=-1) - _PERCENT).max())
    if off > _OFF and not rounding_of(shares.reshape(-1, shares.shape[-1])):
        return values, []  # refused by its sums
    return shares, ["the probabilities are percentages and were divided by 100"]


def _complete_binary_scores(
    values: NDArray[Any], scores: ExportedScores, labels: Ints, classes: tuple[str, ...]
) -> tuple[NDArray[Any], Kind, str]:
    """Return the scores of both classes from one column, their kind, and a note on its class."""
    place = 1 if scores.classes is None else classes.index(scores.classes[0])
    kind = scores.kind
    doubt = ""
    if kind == "logits" and len(values) >= _ENOUGH and 0 <= values.min() <= values.max() <= 1:
        # As log-odds these would predict the same class for all records, none with more than 73%,
        # the sigmoid of 1.
        kind = "probs"
        doubt = ", not as its log-odds: all are in [0, 1]"
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    other = np.zeros_like(values) if kind == "logits" else 1 - values
    both = np.column_stack([other, values] if place else [values, other])
    what = "log-odds" if kind == "logits" else "probabilities"
    (column,) = scores.used
    note = f"{column} was read as the {what} of class {classes[place] if classes else place}{doubt}"
    right = float(np.mean(both.argmax(axis=1) == labels)) if len(labels) else 1.0
    if right < 0.5:
        note += (
            f", and the model is right for {right:.0%} of the records only: is it that of the "
            "other class?"
        )
    return both, kind, note


def class_order(
    values: NDArray[Any], truth: NDArray[Any], kind: Kind, name: str
) -> tuple[str, ...] | None:
    """Return the names of classes in the order of their columns, as the predictions show it.

    None if the labels are not texts, or not as many as the columns.

    Raises
    ------
    InputError
        If the predictions do not show the order.
    """
    names = np.unique(truth).tolist()
    k = 2 if values.ndim == 1 else values.shape[-1]
    if truth.dtype.kind != "U" or len(names) != k:
        return None
    if (order := _shown_order(values, truth, kind)) is not None:
        return order
    columns = "p_CLASS" if kind == "probs" else "z_CLASS"
    raise InputError(
        f"{name}: the labels are texts ({_list(names)}), and neither do the columns name their "
        "classes nor do the predictions show which is whose: say so with --classes "
        f"{','.join(names[:4])}{',...' if k > 4 else ''} in the order of the columns (in Python "
        "load_predictions(..., classes=[...])), or name the "
        f"columns {columns}, such as {columns[:2]}{names[0]}"
    )


def _shown_order(values: NDArray[Any], truth: NDArray[Any], kind: Kind) -> tuple[str, ...] | None:
    """Return the order of classes under which the labels are most likely, None if it is unclear.

    It is clear if every exchange of two names lowers the log-likelihood by `_SURE` standard errors.
    """
    from scipy.optimize import linear_sum_assignment

    names = np.unique(truth).tolist()
    own = np.nan_to_num(values[:, 0] if values.ndim == 3 else values)
    if own.ndim == 1:
        zero = np.zeros_like(own) if kind == "logits" else 1 - own
        own = np.column_stack([zero, own])
    p = probabilities(own.astype(np.float64), logits=kind == "logits")
    log_p = np.log(np.clip(p, _LEAST_P, None))
    # Rows by label; the best assignment of labels to columns maximises the log-likelihood.
    parts = [log_p[truth == text] for text in names]
    _, place = linear_sum_assignment(-np.array([part.sum(axis=0) for part in parts]))
    # Per row, the loss of log-likelihood if its label had each of the other columns; summed, entry
    # (i, j): label i with the column of label j. An exchange loses (i, j) and (j, i).
    lost = [part[:, [column]] - part for part, column in zip(parts, place, strict=True)]
    gain = np.array([rows.sum(axis=0) for rows in lost])[:, place]
    spread = np.array([(rows**2).sum(axis=0) for rows in lost])[:, place]
    with np.errstate(invalid="ignore", divide="ignore"):
        sure = (gain + gain.T) / np.sqrt(spread + spread.T)
    clear = (sure[~np.eye(len(names), dtype=bool)] >= _SURE).all()
    return tuple(names[i] for i in np.argsort(place)) if clear else None


def _names(
    given: Mapping[str, NDArray[Any]],
    scores: ExportedScores,
    asked: Sequence[str],
    k: int,
    name: str,
) -> Sequence[str] | None:
    """Return the classes' names: from the columns, the user, or the array with the predictions."""
    # A single number is the number of classes, not a name.
    if len(asked) == 1 and asked[0].isdecimal():
        if int(asked[0]) != k:
            raise InputError(
                f"{name}: the predictions are of {k} classes, not of {asked[0]} (--classes)"
            )
    elif asked and scores.classes is None:
        if len(asked) != k or len(set(asked)) != k:
            raise InputError(
                f"{name}: --classes must name the {k} classes of the predictions, each once, got "
                f"{_list(asked)}"
            )
        return tuple(asked)
    classes = given.get("classes")
    if scores.classes is not None or classes is None or scores.values.ndim < 2:
        return scores.classes
    same = classes.ndim == 1 and len(classes) == scores.values.shape[-1]
    return _texts_of(classes).tolist() if same else None


def _places(truth: NDArray[Any], names: Sequence[str], name: str) -> Ints:
    texts, place = np.unique(truth, return_inverse=True)
    place_of = {text: i for i, text in enumerate(names)}
    strange = [str(text) for text in texts.tolist() if str(text) not in place_of]
    if strange:
        raise InputError(
            f"{name}: label {strange[0]!r} has no column of predictions; they are of {_list(names)}"
        )
    return np.array([place_of[str(text)] for text in texts.tolist()], np.int64)[place]


def _first_known(given: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in given), None)


def _list(names: Iterable[Any]) -> str:
    return checks.short_list(names, most=12) or "nothing"
