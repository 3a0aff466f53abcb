"""Attribute inference: guesses of a sensitive column of people whose other columns are known.

The adversary knows a person's other columns, and perhaps the class; asks the model about the
record with each value that the sensitive column may have; and takes the value for which the model
is most certain of the class. Much of that succeeds because columns go together in the whole
population, which is no leak about anyone: so the same guesses are made about people whom the model
was not trained on, and once more without the model, by imputation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from privacygauge.classifier.answers import answers_of
from privacygauge.classifier.pool import probabilities
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

if TYPE_CHECKING:
    import pandas as pd

MOST_VALUES = 12
"""Numbers with more different values are cut into bins; more categories are refused at 50."""
MOST_CATEGORIES = 50
BINS = 5
"""Bins of a number, equally frequent among all records."""
WITHIN = (1 / 6, 1 / 2, 5 / 6)
"""Quantiles of a bin that the model is asked about; the mean of its answers counts."""
FOLDS = 5
"""Parts of the people: what is learnt for one part is learnt on the others."""
FEWEST = 10
"""With fewer people outside of the training set there is no imputation to compare with."""

_LEAST = 1e-4  # answers below count as this: a forest's 0 votes are not infinitely sure


@dataclass(frozen=True, eq=False)
class Secret:
    """The values that a sensitive column may have."""

    names: tuple[str, ...]
    """(v,) What people call them; intervals where a number was cut into bins."""
    code: Ints
    """(n,) Which of them each record has."""
    asked: tuple[NDArray[Any], ...]
    """(v,) What stands in the column when the model is asked about a value: (q, w) for w columns
    of features, (q, 1) for a column of a frame."""

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Guesses:
    """Which guesses are right, about members and others alike."""

    secret: Secret
    """What was guessed."""
    right: Mapping[str, Bools]
    """Attack to (n,) whether its guess is right."""
    imputed: Bools | Skipped
    """(n,) Whether the guess without the model is right, or why there is none."""
    with_model: Floats
    """(n,) Calibrated probability of the true value with the model; NaN without imputation."""
    without: Floats
    """(n,) The same without the model."""
    skipped: tuple[Skipped, ...]
    """Attacks that were not played."""

    def newly(self) -> Bools:
        """Return whose value is guessed right with the model and wrong without it, (n,)."""
        if isinstance(self.imputed, Skipped):
            return np.zeros(len(self.secret.code), np.bool_)
        found: Bools = self.right["weighted"] & ~self.imputed
        return found


def secret_of(x: NDArray[Any] | pd.DataFrame, columns: str | Sequence[int]) -> Secret:
    """Return the values of a sensitive column.

    `columns` is one of a frame, or those of an array (n, d): several where they encode one column,
    one of them 1 and the others 0.

    Raises
    ------
    InputError
        If there is a single value, or too many that are no numbers.
    """
    block = _frame_column(x, columns) if isinstance(columns, str) else np.asarray(x)[:, columns]
    if block.shape[1] == 1 and block.dtype.kind in "iuf":
        numbers = block[:, 0].astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InputError("the sensitive column must hold finite numbers or categories")
        if len(np.unique(numbers)) > MOST_VALUES:
            return _binned(numbers)
    rows = block.astype(np.str_) if block.dtype.kind == "O" else block
    _, first, code = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    asked = block[first]
    if not 2 <= len(asked) <= MOST_CATEGORIES:
        raise InputError(
            f"a sensitive column has 2 to {MOST_CATEGORIES} values, or numbers, got "
            f"{len(asked):,} different values"
        )
    several = block.shape[1] > 1
    names = [str(row.argmax()) if several else str(row[0]) for row in asked]
    return Secret(tuple(names), code.reshape(-1).astype(np.int64), tuple(asked[:, None]))


def guesses(
    model: object,
    x: NDArray[Any] | pd.DataFrame,
    y: Ints,
    member: Bools,
    unit: Ints,
    columns: str | Sequence[int],
    rng: np.random.Generator,
    *,
    classes: Sequence[str] = (),
    knows_label: bool = True,
) -> Guesses:
    """Return which guesses of a sensitive column are right, with the model and without it.

    Parameters
    ----------
    model : object
        As in `answers_of`.
    x : ndarray, shape (n, d), or data frame
        What the model is asked about.
    y : ndarray of int, shape (n,)
        Classes in 0..k-1.
    member : ndarray of bool, shape (n,)
        True where the model was trained on the record.
    unit : ndarray of int, shape (n,)
        The person behind each record: all records of a person are in one part.
    columns : str or sequence of int
        The sensitive column; see `secret_of`.
    rng : numpy.random.Generator
        For the parts, and for ties.
    classes : sequence of str
        What the model calls the classes.
    knows_label : bool
        Whether the adversary knows the class.

    Notes
    -----
    With f_y(v) the probability of the class where the column is v, and p(v) the imputation's:
    ``confidence`` takes the largest f_y(v) (Yeom et al. 2018; CSMIA of Mehnaz et al. 2022);
    ``confidence-and-data`` the largest f_y(v) p(v) (Fredrikson et al. 2015; Jayaraman & Evans
    2022); ``label-only`` the largest P(y | class predicted for v) p(v), the first factor from
    non-members' predictions (Fredrikson et al. 2014); ``weighted`` the largest f_y(v)^a p(v)^b, a
    and b by maximum likelihood on the members of other parts: a conditional logit, whose
    probabilities are calibrated. Without the class, the largest probability takes the place of
    f_y. The imputation, gradient boosting, learns on non-members of other parts.
    """
    secret = secret_of(x, columns)
    answers = answers_to(model, x, columns, secret, int(y.max()) + 1, classes)
    of_class = answers[np.arange(len(y)), :, y] if knows_label else answers.max(axis=2)
    told = np.log(np.maximum(of_class, _LEAST))
    fold = parts(unit, member, rng)
    known = _others(x, columns)
    if knows_label:
        known = np.column_stack([known, np.eye(answers.shape[2])[y]])
    log_p = imputation(known, secret, member, fold, unit, int(rng.integers(2**31)))
    right = _judge(secret.code, rng)
    if isinstance(log_p, Skipped):
        nothing = np.full(len(y), np.nan)
        others = ("confidence-and-data", "label-only", "weighted")
        left_out = tuple(Skipped(name, "needs the imputation") for name in others)
        hit = {"confidence": right(told)}
        return Guesses(secret, hit, log_p, nothing, nothing, (log_p, *left_out))
    scores = {"confidence": told, "confidence-and-data": told + log_p}
    skipped: tuple[Skipped, ...] = ()
    if knows_label:
        own = answers[np.arange(len(y)), secret.code].argmax(axis=1)
        scores["label-only"] = log_p + _confused(answers.argmax(axis=2), own, y, member, fold)
    else:
        skipped = (Skipped("label-only", "needs the class of each record"),)
    scores["weighted"] = weighted((told, log_p), secret.code, member, fold)
    alone = weighted((log_p,), secret.code, member, fold)
    rows = np.arange(len(y)), secret.code
    hits = {name: right(score) for name, score in scores.items()}
    with_model, without = (softmax(s, axis=1)[rows] for s in (scores["weighted"], alone))
    return Guesses(secret, hits, right(log_p), with_model, without, skipped)


def answers_to(
    model: object,
    x: NDArray[Any] | pd.DataFrame,
    columns: str | Sequence[int],
    secret: Secret,
    n_classes: int,
    classes: Sequence[str] = (),
) -> Floats:
    """Return the model's probabilities with each value in the sensitive column, (n, v, k)."""
    found = np.zeros((len(x), len(secret), n_classes))
    for j, asked in enumerate(secret.asked):
        for value in asked:
            given = answers_of(model, _with(x, columns, value), n_classes, classes)
            (kind, values), *_ = given.items()
            found[:, j] += probabilities(values, logits=kind == "logits") / len(asked)
    return found


def parts(unit: Ints, member: Bools, rng: np.random.Generator) -> Ints:
    """Return which of `FOLDS` parts each record is in, (n,): people of both sides are spread."""
    _, first, index = np.unique(unit, return_index=True, return_inverse=True)
    order = np.lexsort((rng.random(len(first)), member[first]))
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(first)) % FOLDS
    return number[index]


def imputation(
    known: Floats, secret: Secret, member: Bools, fold: Ints, unit: Ints, seed: int
) -> Floats | Skipped:
    """Return the log probability of each value without the model, (n, v), or why there is none.

    For a part it is learnt on the non-members of the other parts, the same for members and others.
    """
    n_out = checks.n_distinct(unit[~member])
    if n_out < FEWEST:
        return Skipped(
            "imputation", f"needs at least {FEWEST} people outside of the training set, got {n_out}"
        )
    found = np.empty((len(member), len(secret)))
    for part in np.unique(fold).tolist():
        learn, asked = ~member & (fold != part), fold == part
        if checks.n_distinct(secret.code[learn]) < 2:
            return Skipped("imputation", "the people outside of the training set have one value")
        found[asked] = _boosted(known[learn], secret.code[learn], known[asked], len(secret), seed)
    logs: Floats = np.log(found)
    return logs


def weighted(features: Sequence[Floats], code: Ints, member: Bools, fold: Ints) -> Floats:
    """Return the log odds of each value by a conditional logit, (n, v).

    Each of the features (n, v) is given one weight, learnt for a part on the members of the others.
    """
    stacked = np.stack(features, axis=2)
    found = np.empty(stacked.shape[:2])
    for part in np.unique(fold).tolist():
        learn = member & (fold != part)
        found[fold == part] = stacked[fold == part] @ _weights(stacked[learn], code[learn])
    return found


def _weights(features: Floats, code: Ints) -> Floats:
    rows = np.arange(len(code))

    def cost(weight: Floats) -> tuple[float, Floats]:
        logs = log_softmax(features @ weight, axis=1)
        expected = np.einsum("nv,nvf->nf", np.exp(logs), features)
        slope = (expected - features[rows, code]).sum(axis=0) + weight - start
        return float(-logs[rows, code].sum() + ((weight - start) ** 2).sum() / 2), slope

    # As sure of the start, the imputation as it is, as one record could make it.
    start = np.zeros(features.shape[2])
    start[-1] = 1.0
    best: Floats = minimize(cost, start, jac=True, method="BFGS").x
    return best


def _confused(predicted: Ints, own: Ints, y: Ints, member: Bools, fold: Ints) -> Floats:
    """Return log P(class | class predicted with each value), (n, v), from non-members' own."""
    k = int(max(y.max(), predicted.max(), own.max())) + 1
    found = np.empty(predicted.shape)
    for part in np.unique(fold).tolist():
        learn, asked = ~member & (fold != part), fold == part
        counts = np.bincount(own[learn] * k + y[learn], minlength=k * k).reshape(k, k) + 1.0 / k
        share = counts / counts.sum(axis=1, keepdims=True)
        found[asked] = np.log(share[predicted[asked], y[asked, None]])
    return found


def _judge(code: Ints, rng: np.random.Generator) -> Callable[[Floats], Bools]:
    """Return what says whether the value of the highest score is the true one; ties are drawn."""
    lot = rng.random((len(code), int(code.max()) + 1))

    def right(score: Floats) -> Bools:
        # Equal up to rounding: values with the same answers are tied.
        best = score >= score.max(axis=1, keepdims=True) - 1e-9
        guess = np.where(best, lot, -1.0).argmax(axis=1)
        hit: Bools = guess == code
        return hit

    return right


def _boosted(known: Floats, code: Ints, asked: Floats, n_values: int, seed: int) -> Floats:
    """Return the probability of each value, (a, v), above 0."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=80,
        learning_rate=0.05,
        max_leaf_nodes=6,
        min_samples_leaf=max(5, min(20, len(code) // 25)),
        early_stopping=False,
        random_state=seed,
    )
    with limited_to(1 if len(code) < 20_000 else None):
        model.fit(known, code)
        found = np.zeros((len(asked), n_values))
        found[:, model.classes_] = model.predict_proba(asked)
    found = found + 1.0 / (len(code) + n_values)
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares


def _binned(numbers: Floats) -> Secret:
    edges = np.unique(np.quantile(numbers, np.arange(1, BINS) / BINS))
    code = np.searchsorted(edges, numbers, side="left")
    kept, code = np.unique(code, return_inverse=True)
    # The least and the largest number are somebody's: they are not shown.
    ends = ["", *(f"{edge:g}" for edge in edges), ""]
    names, asked = [], []
    for j, place in enumerate(kept.tolist()):
        low, high = ends[place : place + 2]
        between = f"{low} to {high}" if low else f"to {high}"
        names.append(between if high else f"above {low}")
        inside = np.quantile(numbers[code == j], WITHIN, method="nearest")
        asked.append(np.unique(inside)[:, None])
    return Secret(tuple(names), code.astype(np.int64), tuple(asked))


def _frame_column(x: Any, name: str) -> NDArray[Any]:
    if name not in getattr(x, "columns", ()):
        have = checks.listed(getattr(x, "columns", ()))
        raise InputError(f"x has no column {name!r}; its columns are {have}")
    column = x[name]
    if column.isna().any():
        raise InputError(f"values are missing in the sensitive column {name!r}: leave the rows out")
    values: NDArray[Any] = column.to_numpy()
    return values[:, None] if values.dtype.kind in "biuf" else values.astype(object)[:, None]


def _with(x: Any, columns: str | Sequence[int], value: NDArray[Any]) -> Any:
    """Return the records with a value in the sensitive column."""
    changed = x.copy()
    if isinstance(columns, str):
        import pandas as pd

        given = pd.Series([value[0]] * len(x), index=x.index)
        kept = given.astype(x[columns].dtype) if x[columns].dtype.kind != "i" else given
        return changed.assign(**{columns: kept})
    changed[:, columns] = value
    return changed


def _others(x: Any, columns: str | Sequence[int]) -> Floats:
    """Return all other columns as numbers, (n, d'); texts as columns of 0 and 1."""
    if not isinstance(columns, str):
        return np.delete(np.asarray(x, np.float64), list(columns), axis=1)
    import pandas as pd

    rest = x.drop(columns=columns)
    texts = [name for name in rest.columns if rest[name].dtype.kind not in "biuf"]
    return pd.get_dummies(rest, columns=texts, dtype=np.float64).to_numpy(np.float64)
