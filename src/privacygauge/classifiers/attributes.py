"""Attribute inference: guesses of a sensitive column from the other columns and the model.

The adversary knows a person's other columns, and perhaps the class. It queries the record with each
possible value of the sensitive column, and guesses the value for which the model is most certain of
the class. Much of its success comes from correlations in the whole population, which leak nothing
about anyone in particular. So the same guesses are made about people outside the training set, and
again without the model, by imputation.

Columns that follow from the sensitive one in every record, such as its dummies or its code, encode
the same value: an adversary who knows them needs no model. The report names them. The audit covers
an adversary who does not know them only if they are left out, or guessed together with the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import rankdata

from privacygauge.classifiers.answers import answers_of
from privacygauge.classifiers.held import is_frame
from privacygauge.classifiers.predictions import probabilities
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

if TYPE_CHECKING:
    import pandas as pd

Columns = tuple[Any, ...]
"""Column names of a frame, or column indices of an array."""

MOST_VALUES = 12
"""Largest number of distinct numbers that are values of their own; more are cut into bins."""

MOST_CATEGORIES = 50
"""Largest number of categories; a column with more is refused."""

BINS = 5
"""Number of bins of a numeric column, equally frequent among all records."""
WITHIN = (1 / 6, 1 / 2, 5 / 6)
"""Quantiles within a bin at which the model is queried; its answers are averaged."""
FOLDS = 5
"""Number of parts in cross-fitting: models for one part learn on the people of the others."""
FEWEST = 10
"""Fewest people outside the training set for an imputation."""

_UNSURE = 0.75
"""Probability below which the imputation is unsure of a value."""

_BY_CHANCE = 1e-6
"""Largest probability of agreement by chance for one column to follow from another."""

_TEXTS = 50
"""Largest number of distinct texts that are one-hot encoded for the imputation; more are
numbered."""

_LEAST = 1e-4  # floor of answers: 0 votes of a forest are not infinite certainty


@dataclass(frozen=True, eq=False)
class Secret:
    """Possible values of a sensitive column."""

    names: tuple[str, ...]
    """(v,) Names of the values; intervals where a number was cut into bins."""
    code: Ints
    """(n,) Index of each record's value, in 0..v-1."""
    asked: tuple[NDArray[Any], ...]
    """(v,) Contents of `columns` with which the model is queried about each value: (q, w) for q
    queries and w columns."""
    columns: Columns = ()
    """(w,) Names or places of the sensitive columns."""
    follow: Columns = ()
    """Other columns that the sensitive ones determine in every record."""
    determined_by: Columns = ()
    """Other columns that each determine the value in every record."""

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Guesses:
    """Guesses about members and non-members, right and wrong."""

    secret: Secret
    """The values that were guessed."""
    right: Mapping[str, Bools]
    """Attack name to (n,) whether its guess is right."""
    imputed: Bools | Skipped
    """(n,) Whether the guess without the model is right, or why there is none."""
    surprise: Mapping[str, Floats]
    """Ranking of the surest guesses to (n,) scores: log-probability by which the model, with the
    imputation or alone, prefers its guess to the imputation's, or its certainty. Minus infinity
    where the guess is wrong, or where the imputation is right and sure of the value."""
    with_model: Floats
    """(n,) Calibrated probability of the true value with the model; NaN without imputation."""
    without: Floats
    """(n,) Calibrated probability of the true value without the model; NaN without imputation."""
    skipped: tuple[Skipped, ...]
    """Attacks that were skipped, with reasons."""

    def newly(self) -> Bools:
        """Return a mask of the values guessed right with the model and wrong without it, (n,)."""
        if isinstance(self.imputed, Skipped):
            return np.zeros(len(self.secret.code), np.bool_)
        found: Bools = self.right["weighted"] & ~self.imputed
        return found


def secret_of(x: NDArray[Any] | pd.DataFrame, sensitive: str | int | Sequence[Any]) -> Secret:
    """Return the values of a sensitive column.

    `sensitive` is one column of a frame or of an array (n, d), or several that are guessed as one:
    a one-hot encoding, several encodings of the same value, or several columns that are unknown
    together. Candidates are the combinations that occur, at most `MOST_CATEGORIES`.

    Raises
    ------
    InputError
        If there is only one value, or too many that are not numbers.
    """
    given = list(sensitive) if isinstance(sensitive, list | tuple | np.ndarray) else [sensitive]
    table: Any = x
    column_names = list(table.columns) if is_frame(x) else []
    width = len(column_names) or x.shape[1]
    found = []
    for one in given:
        if column_names and one in column_names:
            found.append(one)
        elif isinstance(one, int | np.integer) and -width <= one < width:
            # A frame's columns may be named by place too; negative places count from the end.
            found.append(column_names[one] if column_names else int(one) % width)
        elif column_names:
            raise InputError(
                f"x has no column {one!r}; its columns are {checks.short_list(column_names)}"
            )
        elif isinstance(one, int | np.integer):
            raise InputError(f"x has the columns 0 to {width - 1}, got {one}")
        else:
            raise InputError(
                f"x has no names of columns: give the place of {one!r}, or a data frame"
            )
    if not found or len(set(found)) < len(found):
        raise InputError(f"sensitive must name one column or several different ones, got {given}")
    columns = tuple(found)
    contents = [_column(x, column) for column in columns]
    block = np.column_stack(contents)
    numbers = [one.astype(np.float64) if one.dtype.kind in "iuf" else None for one in contents]
    if len(columns) == 1 and numbers[0] is not None and not np.isfinite(numbers[0]).all():
        raise InputError("the sensitive column must hold finite numbers or categories")
    if is_frame(x) and _missing(block).any():
        raise InputError(
            f"values are missing in the sensitive column {columns[0]!r}: leave the rows out"
        )
    raw = _number_equal_rows(block)
    other = [column for column in _all_columns(x) if column not in columns]
    names, code, rows = _values(block, raw, numbers)
    # The sensitive column determines others if records with the same value agree beyond chance. If
    # one column follows, so do columns of 0 and 1 whose values are too rare to show it alone, such
    # as the dummies of rare values.
    _, first_row, value_of = np.unique(raw, return_index=True, return_inverse=True)
    sure: list[Any] = []
    rare: list[Any] = []
    for candidate in other:
        column_value = _number_equal_rows(_column(x, candidate)[:, None])
        n_different = int(column_value.max()) + 1
        if n_different == 1 or (column_value[first_row][value_of] != column_value).any():
            continue
        (sure if _chance(value_of, column_value) < _BY_CHANCE else rare).append(candidate)
    follow: Columns = ()
    if sure:
        binary = {candidate for candidate in rare if np.isin(_column(x, candidate), (0, 1)).all()}
        follow = tuple(candidate for candidate in other if candidate in {*sure, *binary})
    determining = []
    for c in other:
        if c in follow:
            continue
        # Equal values of such a column imply equal sensitive values, beyond chance.
        group = _number_equal_rows(_column(x, c)[:, None])
        _, first = np.unique(group, return_index=True)
        if (code[first][group] == code).all() and _chance(group, code) < _BY_CHANCE:
            determining.append(c)
    # Values of the column that stand for each value when the model is asked.
    asked = tuple(block[of_value] for of_value in rows)
    return Secret(
        names,
        code=code,
        asked=asked,
        columns=columns,
        follow=follow,
        determined_by=tuple(determining),
    )


def _values(
    block: NDArray[Any], raw: Ints, numbers: Sequence[Floats | None]
) -> tuple[tuple[str, ...], Ints, list[Ints]]:
    """Return the names of values, each record's value, and the rows to query each value with."""
    n_values = int(raw.max()) + 1
    cut = {
        j: column
        for j, column in enumerate(numbers)
        if column is not None and len(np.unique(column)) > MOST_VALUES
    }
    # Several columns are guessed as they are while their combinations are few enough.
    if cut and (len(numbers) == 1 or n_values > MOST_CATEGORIES):
        # Numbers are guessed by bin; each bin is asked about at the quantiles `WITHIN` of it.
        called: list[list[str]] = []
        coded: list[Ints] = []
        for j in range(len(numbers)):
            if j not in cut:
                number = _number_equal_rows(block[:, [j]])
                _, first = np.unique(number, return_index=True)
                called.append([str(value) for value in block[first, j]])
                coded.append(number)
                continue
            if not np.isfinite(cut[j]).all():
                raise InputError("the sensitive columns must hold finite numbers or categories")
            edges = np.unique(np.quantile(cut[j], np.arange(1, BINS) / BINS))
            coded.append(np.searchsorted(edges, cut[j], side="left").astype(np.int64))
            # The smallest and the largest number belong to somebody: they are not shown.
            texts = [f"{edge:g}" for edge in edges]
            between = [f"{low} to {high}" for low, high in pairwise(texts)]
            called.append([f"to {texts[0]}", *between, f"above {texts[-1]}"])
        # Ties in the numbers may leave bins empty: those are left out.
        kept, code = np.unique(np.column_stack(coded), axis=0, return_inverse=True)
        if len(kept) > MOST_CATEGORIES:
            raise InputError(
                f"sensitive columns have at most {MOST_CATEGORIES} combinations of values, got "
                f"{len(kept)} combinations of values, numbers cut into {BINS}: name fewer columns"
            )
        code = code.reshape(-1).astype(np.int64)
        # Of several numbers the sum of their ranks puts the records of a bin in order.
        height = np.sum([rankdata(column) for column in cut.values()], axis=0)
        bin_rows = []
        for j in range(len(kept)):
            in_bin = np.flatnonzero(code == j)
            in_bin = in_bin[np.argsort(height[in_bin], kind="stable")]
            middle = in_bin[np.rint(np.array(WITHIN) * (len(in_bin) - 1)).astype(np.int64)]
            # Equal numbers would be asked twice.
            _, once = np.unique(raw[middle], return_index=True)
            bin_rows.append(middle[once])
        bin_names = tuple(
            ", ".join(names[place] for names, place in zip(called, places, strict=True))
            for places in kept.tolist()
        )
        return bin_names, code, bin_rows
    if not 2 <= n_values <= MOST_CATEGORIES:
        raise InputError(
            f"a sensitive column has 2 to {MOST_CATEGORIES} values, or numbers, got "
            f"{n_values:,} different values"
        )
    _, first = np.unique(raw, return_index=True)
    different = block[first]
    # A one-hot encoding names its values by the place of the 1.
    hot = different.shape[1] > 1 and np.isin(different, (0, 1)).all()
    hot = hot and (different.sum(axis=1) == 1).all()
    names = [str(row.argmax()) if hot else ", ".join(map(str, row)) for row in different]
    return tuple(names), raw, [np.array([row]) for row in first.tolist()]


def attribute_guesses(
    model: object,
    x: NDArray[Any] | pd.DataFrame,
    y: Ints,
    member: Bools,
    unit: Ints,
    sensitive: str | int | Sequence[Any],
    rng: np.random.Generator,
    *,
    classes: Sequence[str] = (),
    knows_label: bool = True,
) -> Guesses:
    """Return the guesses of a sensitive column, with the model and without it.

    Parameters
    ----------
    model : object
        As in `answers_of`.
    x : ndarray, shape (n, d), or data frame
        Records to query the model about.
    y : ndarray of int, shape (n,)
        Classes in 0..k-1.
    member : ndarray of bool, shape (n,)
        True where the model was trained on the record.
    unit : ndarray of int, shape (n,)
        The person behind each record: all records of a person are in one part.
    sensitive : str, int or sequence of either
        The sensitive column; see `secret_of`.
    rng : numpy.random.Generator
        Draws the parts, and breaks ties.
    classes : sequence of str
        Names of the classes, as the model uses them.
    knows_label : bool
        Whether the adversary knows the class.

    Notes
    -----
    Let f_y(v) be the probability of the class if the column is v, and p(v) the imputation's
    probability of v:
    ``confidence`` takes the largest f_y(v) (Yeom et al. 2018; CSMIA of Mehnaz et al. 2022);
    ``confidence-and-data`` the largest f_y(v) p(v) (Fredrikson et al. 2015; Jayaraman & Evans
    2022); ``label-only`` the largest P(y | class predicted for v) p(v), the first factor from
    non-members' predictions (Fredrikson et al. 2014); ``weighted`` the largest
    f_y(v)^a p_1(v)^b p_2(v)^c, weights by maximum likelihood on the members of other parts: a
    conditional logit, whose probabilities are calibrated. Without the class, the largest
    probability takes the place of f_y. The imputations p_1, a decision tree, which finds columns
    that determine the value, and p_2, gradient boosting, learn on non-members of other parts; p is
    the conditional logit of both.
    """
    secret = secret_of(x, sensitive)
    answers = answers_to(model, x, secret=secret, n_classes=int(y.max()) + 1, classes=classes)
    # `answers` is (n, v, k) for v values and k classes; `of_class` and `told` are (n, v).
    of_class = answers[np.arange(len(y)), :, y] if knows_label else answers.max(axis=2)
    told = np.log(np.maximum(of_class, _LEAST))
    fold = parts(unit, member, rng)
    # All other columns as numbers, (n, d'); texts one-hot encoded.
    if not is_frame(x) and x.dtype.kind in "biuf":
        known = np.delete(np.asarray(x, np.float64), list(secret.columns), axis=1)
    else:
        pieces: list[NDArray[Any]] = [np.empty((len(x), 0))]
        for column_name in _all_columns(x):
            values = _column(x, column_name)
            if column_name in secret.columns:
                continue
            if values.dtype.kind == "O":
                number = _number_equal_rows(values[:, None])
                # Texts with too many values, such as names, become numbers in alphabetical order.
                several = int(number.max()) + 1 <= _TEXTS
                values = np.eye(int(number.max()) + 1)[number] if several else number
            pieces.append(values.reshape(len(x), -1).astype(np.float64))
        known = np.hstack(pieces)
    if knows_label:
        known = np.column_stack([known, np.eye(answers.shape[2])[y]])
    log_p = imputation(
        known, secret, member=member, fold=fold, unit=unit, seed=int(rng.integers(2**31))
    )
    lot = rng.random((len(secret.code), int(secret.code.max()) + 1))

    def guess(score: Floats) -> Ints:
        # Equal up to rounding: values with the same answers are tied.
        best = score >= score.max(axis=1, keepdims=True) - 1e-9
        found: Ints = np.where(best, lot, -1.0).argmax(axis=1)
        return found

    if isinstance(log_p, Skipped):
        # Only the guess that needs no imputation is left.
        nothing = np.full(len(y), np.nan)
        others = ("confidence-and-data", "label-only", "weighted")
        left_out = tuple(Skipped(name, "needs the imputation") for name in others)
        hit = {"confidence": guess(told) == secret.code}
        return Guesses(
            secret=secret,
            right=hit,
            imputed=log_p,
            surprise={},
            with_model=nothing,
            without=nothing,
            skipped=(log_p, *left_out),
        )
    # The imputation alone, calibrated: what a guess without the model achieves.
    alone = conditional_logit(log_p, secret.code, member, fold)
    scores = {"confidence": told, "confidence-and-data": told + log_softmax(alone, axis=1)}
    skipped: tuple[Skipped, ...] = ()
    if knows_label:
        own = answers[np.arange(len(y)), secret.code].argmax(axis=1)
        # `own` is the class predicted with the record's true value: confusion is estimated from it.
        predicted = answers.argmax(axis=2)
        k = int(max(y.max(), predicted.max(), own.max())) + 1
        confused = np.empty(predicted.shape)
        for part in np.unique(fold).tolist():
            learn = ~member & (fold != part)
            asked = fold == part
            # Predicted by true class, smoothed by one record per predicted class.
            counts = np.bincount(own[learn] * k + y[learn], minlength=k * k).reshape(k, k) + 1.0 / k
            share = counts / counts.sum(axis=1, keepdims=True)
            confused[asked] = np.log(share[predicted[asked], y[asked, None]])
        scores["label-only"] = log_softmax(alone, axis=1) + confused
    else:
        skipped = (Skipped("label-only", "needs the class of each record"),)
    scores["weighted"] = conditional_logit((told, *log_p), secret.code, member, fold)
    guessed = {name: guess(score) for name, score in scores.items()}
    right = {name: found == secret.code for name, found in guessed.items()}
    imputed = guess(alone)
    rows = np.arange(len(y))
    with_model, without = (
        softmax(score, axis=1)[rows, secret.code] for score in (scores["weighted"], alone)
    )
    # A right guess reveals something only where imputation is wrong or unsure.
    unsure = (imputed != secret.code) | (without < _UNSURE)
    # (n, v): the log ratio of each value's probability with the model to that without it.
    beyond = log_softmax(scores["weighted"], axis=1) - log_softmax(alone, axis=1)
    by_model = guessed["weighted"]
    by_confidence = guessed["confidence"]
    speaks_for = {
        "weighted": (right["weighted"], beyond[rows, by_model] - beyond[rows, imputed]),
        "confidence": (right["confidence"], told[rows, by_confidence] - told[rows, imputed]),
        "certainty": (right["confidence"], told[rows, by_confidence]),
    }
    surprise = {name: np.where(hit & unsure, by, -np.inf) for name, (hit, by) in speaks_for.items()}
    return Guesses(
        secret=secret,
        right=right,
        imputed=imputed == secret.code,
        surprise=surprise,
        with_model=with_model,
        without=without,
        skipped=skipped,
    )


def answers_to(
    model: object,
    x: NDArray[Any] | pd.DataFrame,
    secret: Secret,
    n_classes: int,
    classes: Sequence[str] = (),
) -> Floats:
    """Return the model's probabilities for each value of the sensitive column, (n, v, k)."""
    found = np.zeros((len(x), len(secret), n_classes))
    for j, asked in enumerate(secret.asked):
        for value in asked:
            given = answers_of(model, _with(x, secret.columns, value), n_classes, classes)
            found[:, j] += probabilities(given.values, logits=given.logits) / len(asked)
    return found


def parts(unit: Ints, member: Bools, rng: np.random.Generator) -> Ints:
    """Return the part of each record, (n,) in 0..`FOLDS`-1; units stay whole, sides are even."""
    _, first, index = np.unique(unit, return_index=True, return_inverse=True)
    # Units by side, in random order within a side: dealt in turn, both sides are even.
    order = np.lexsort((rng.random(len(first)), member[first]))
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(first)) % FOLDS
    return number[index]


def imputation(
    known: Floats, secret: Secret, member: Bools, fold: Ints, unit: Ints, seed: int
) -> tuple[Floats, Floats] | Skipped:
    """Return log-probabilities of each value without the model, or why there are none.

    Two estimates, by a tree and by gradient boosting, (n, v) each. For the members and non-members
    of each part they learn on the non-members of the other parts.
    """
    n_out = checks.n_distinct(unit[~member])
    if n_out < FEWEST:
        return Skipped(
            "imputation", f"needs at least {FEWEST} people outside of the training set, got {n_out}"
        )
    found = np.empty((2, len(member), len(secret)))
    for part in np.unique(fold).tolist():
        # Learnt on non-members only, and on other people than those that are guessed.
        learn = ~member & (fold != part)
        asked = fold == part
        if checks.n_distinct(secret.code[learn]) < 2:
            return Skipped("imputation", "the people outside of the training set have one value")
        given = known[learn], secret.code[learn], known[asked], len(secret), seed
        found[0, asked] = _by_tree(*given)
        found[1, asked] = _boosted_probabilities(*given)
    logs = np.log(found)
    return logs[0], logs[1]


def conditional_logit(features: Sequence[Floats], code: Ints, member: Bools, fold: Ints) -> Floats:
    """Return each value's score in a conditional logit, (n, v): the softmax gives probabilities.

    Each of the features, (n, v), has one weight; the weights for each part are learnt on the
    members of the others.
    """
    stacked = np.stack(features, axis=2)
    found = np.empty(stacked.shape[:2])
    for part in np.unique(fold).tolist():
        learn = member & (fold != part)
        found[fold == part] = stacked[fold == part] @ _weights(stacked[learn], code[learn])
    return found


def _weights(features: Floats, code: Ints) -> Floats:
    rows = np.arange(len(code))

    # Penalised negative log-likelihood and its gradient; features are (n, v, f).
    def cost(weight: Floats) -> tuple[float, Floats]:
        logs = log_softmax(features @ weight, axis=1)
        expected = np.einsum("nv,nvf->nf", np.exp(logs), features)
        slope = (expected - features[rows, code]).sum(axis=0) + weight - start
        return float(-logs[rows, code].sum() + ((weight - start) ** 2).sum() / 2), slope

    # The prior, the imputation unchanged, weighs as much as one record.
    start = np.zeros(features.shape[2])
    start[-1] = 1.0
    best: Floats = minimize(cost, start, jac=True, method="BFGS").x
    return best


def _by_tree(known: Floats, code: Ints, asked: Floats, n_values: int, seed: int) -> Floats:
    """Return the probability of each value by an unpruned tree, (a, v), above 0.

    The shares in a leaf are smoothed by one record with the overall shares.
    """
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(random_state=seed).fit(known, code)
    size = model.tree_.n_node_samples[model.apply(asked)][:, None]
    whole = (np.bincount(code, minlength=n_values) + 1.0) / (len(code) + n_values)
    found = np.zeros((len(asked), n_values))
    found[:, model.classes_] = model.predict_proba(asked)
    shares: Floats = (size * found + whole) / (size + 1)
    return shares


def _boosted_probabilities(
    known: Floats, code: Ints, asked: Floats, n_values: int, seed: int
) -> Floats:
    """Return the probability of each value by gradient boosting, (a, v), above 0."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=80,
        learning_rate=0.05,
        max_leaf_nodes=6,
        min_samples_leaf=max(5, min(20, len(code) // 25)),
        early_stopping=False,
        random_state=seed,
    )
    # More threads than cores at work make small fits many times slower.
    with limited_to(1 if len(code) < 20_000 else None):
        model.fit(known, code)
        found = np.zeros((len(asked), n_values))
        found[:, model.classes_] = model.predict_proba(asked)
    # Laplace smoothing: a value that the boosting rules out keeps a logarithm.
    found = found + 1.0 / (len(code) + n_values)
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares


def _chance(group: Ints, number: Ints) -> float:
    """Return the approximate probability that the records of each group agree by chance."""
    # The first record of a group is free; each further one agrees with probability sum share^2.
    repeats = len(group) - checks.n_distinct(group)
    share = np.bincount(number) / len(number)
    return float(np.sum(share**2) ** repeats)


def _all_columns(x: Any) -> list[Any]:
    return list(x.columns) if is_frame(x) else list(range(x.shape[1]))


def _column(x: Any, column: Any) -> NDArray[Any]:
    """Return a column as numbers, or as objects, (n,)."""
    values = x[column].to_numpy() if is_frame(x) else x[:, column]
    found: NDArray[Any] = values if values.dtype.kind in "biuf" else values.astype(object)
    return found


def _missing(values: NDArray[Any]) -> Bools:
    import pandas as pd

    return np.asarray(pd.isna(values), np.bool_)


def _number_equal_rows(block: NDArray[Any]) -> Ints:
    """Return a number per row, (n,), the same for equal rows, ascending by their values."""
    if block.dtype.kind == "O":
        # Missing values are equal to each other: NaN would be a value of its own in every row.
        block = np.where(_missing(block), "", block.astype(np.str_))
    elif block.dtype.kind == "f":
        block = np.where(np.isnan(block), np.finfo(np.float64).min, block)
    _, number = np.unique(block, axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int64)


def _with(x: Any, columns: Columns, value: NDArray[Any]) -> Any:
    """Return the records with a given value in the sensitive columns."""
    if not is_frame(x):
        changed = x.copy()
        changed[:, list(columns)] = value
        return changed
    if not hasattr(x, "iloc"):  # polars
        series = type(x[columns[0]])
        given = (
            series(name, [one] * len(x), dtype=x[name].dtype)
            for name, one in zip(columns, value.tolist(), strict=True)
        )
        return x.with_columns(*given)
    import pandas as pd

    changed = x.copy()
    for name, one in zip(columns, value.tolist(), strict=True):
        # In the column's own type: models may insist on categories or integers.
        changed[name] = pd.Series([one] * len(x), index=x.index).astype(x[name].dtype)
    return changed
