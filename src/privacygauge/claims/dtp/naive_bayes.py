"""Naive Bayes on categories, numbers or counts, and Bayes inference, without any one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.claims.dtp.counts import (
    CountedRecords,
    Normals,
    count_categories,
    dtp_of_two_classes,
    dtp_over_cells,
    is_small,
    joint_over_cells,
    n_cells,
)
from privacygauge.claims.dtp.stability import naive_bayes_bound
from privacygauge.classifiers.learner import (
    Box,
    DtpRange,
    Learner,
    class_log_p,
    log_priors,
    log_priors_without,
    log_shares,
    matrix,
    training_set,
)
from privacygauge.classifiers.ratios import binned_bound, cap, log_ratio, some_records
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

MOST_ANSWERS = 200_000_000
"""Largest number of answers, records times queries, to bin and compare."""

MOST_CLASSES = 10
"""Largest number of classes against which extreme queries are tried."""

# How a range was found, as reports say it.
EXACT = "exact: every query of the domain"
EXACT_FOR_TWO = "exact: every set of attributes in which a query may agree with the record"
CERTIFIED = "certified bound over the domain; the lower end from queries that were tried"


def _exact(counted: CountedRecords, rows: Ints, width: float) -> tuple[Floats, str]:
    """Return exact values; NaN where enumeration would take too long."""
    counts = counted.counts
    codes = counted.codes[rows]
    y = counted.y[rows]
    if width:
        if len(rows) * n_cells(counts.sizes) > MOST_ANSWERS:
            return np.full(len(rows), np.nan), EXACT
        joint = joint_over_cells(counts).reshape(len(counts.n), -1)
        shown = class_log_p(joint.T)
        cells = np.indices(counts.sizes).reshape(len(counts.sizes), -1).T
        removal = counts.leaving_out(codes, y)
        result = np.zeros(len(y))
        for i, label in enumerate(y):
            agree = cells == codes[i]
            # Leaving a record out changes the joint of its own class alone.
            log_rho = removal.base[i] + np.where(agree, removal.step[i], 0.0).sum(axis=1)
            changed = joint.copy()
            changed[label] += log_rho
            result[i] = log_ratio(shown, class_log_p(changed.T), width).max()
        return result, EXACT
    if is_small(counts.sizes, len(counts.n)):
        return dtp_over_cells(counts, codes, y), EXACT
    if len(counts.n) != 2 or counts.alpha == 0:
        return np.full(len(rows), np.nan), EXACT
    return dtp_of_two_classes(counts, codes, y), EXACT_FOR_TWO


def _certify_range(counted: CountedRecords, rows: Ints, width: float, box: Box) -> DtpRange:
    codes = counted.codes[rows]
    numbers = counted.numbers[rows]
    own = counted.log_p_without_at(rows, codes, numbers)
    low = log_ratio(counted.log_p(codes, numbers), own, width)
    places = [numbers]
    if numbers.shape[1]:
        ends = (box.low[counted.numeric], box.high[counted.numeric])
        places += [np.broadcast_to(end, numbers.shape) for end in ends]
    named = [codes]
    for other in range(min(counted.n_classes, MOST_CLASSES)):
        lowest = counted.codes[rows].copy()
        highest = counted.codes[rows].copy()
        y = counted.y[rows]
        for j, size in enumerate(counted.counts.sizes):
            if size < 2:
                continue
            conditional = counted.counts.log_conditional(j)
            with np.errstate(invalid="ignore"):
                # (r, v): log odds of each record's class against the other; 0 where both are
                # impossible.
                odds = np.nan_to_num(conditional - conditional[other])[y]
            at_own = np.arange(len(rows)), counted.codes[rows, j]
            # The record's own category is out of both searches.
            odds[at_own] = np.inf
            lowest[:, j] = odds.argmin(axis=1)
            odds[at_own] = -np.inf
            highest[:, j] = odds.argmax(axis=1)
        named += [lowest, highest]
    # The first combination is the record itself, which is measured already.
    tried = list(product(named, places))[1:]
    # At the ends of the box a class is certain, and a bin hides every change; at a record it is
    # not. So where numbers have binned answers, training records are queries as well.
    if width and numbers.shape[1]:
        tried += [
            (
                np.broadcast_to(counted.codes[other], codes.shape),
                np.broadcast_to(counted.numbers[other], numbers.shape),
            )
            for other in some_records(len(counted.y)).tolist()
        ]
    for queries in tried:
        without = counted.log_p_without_at(rows, *queries)
        np.maximum(low, log_ratio(counted.log_p(*queries), without, width), out=low)
    bound = posterior_bound(counted, rows, box)
    # A classifier without an answer differs visibly from one that has an answer, bins or not.
    silent = np.isinf(bound) & (counted.counts.alpha == 0 or len(counted.y) == 1)
    high = np.where(silent, np.inf, np.minimum(binned_bound(bound, width), cap(width)))
    # Both are rounded, but the upper end must not fall below the lower one.
    return DtpRange(low, np.maximum(high, low), CERTIFIED)


def posterior_bound(counted: CountedRecords, rows: Ints, box: Box) -> Floats:
    """Return an upper bound on the log ratio of the posterior over the domain, (r,).

    Notes
    -----
    With ``D_y`` the change of class y's log joint, the posterior of y changes by
    ``D_y - log(sum_z p_z exp(D_z))``, a weighted mean of ``D_y - D_z``: its size is at most the
    largest ``D_y - D_z`` over pairs of different classes. For categories alone ``D`` is 0 but
    for the record's own class (`naive_bayes_bound`); numbers add the range of a quadratic each.
    The work per record is linear in the number of attributes.
    """
    if not counted.numbers.shape[1]:
        counts = counted.counts
        y = counted.y[rows]
        shared = counts.occurrences(counted.codes[rows], y)
        return naive_bayes_bound(counts.n[y], shared, counts.sizes, alpha=counts.alpha)
    # Categories change the joint of the record's own class only.
    low, high = np.zeros((2, len(rows), counted.n_classes))
    some = np.arange(len(rows))
    y = counted.y[rows]
    removal = counted.removal
    # Categories: log rho is smallest at the record and at most its base, where none agrees.
    low[some, y] = removal.base[rows] + removal.step[rows].sum(axis=1)
    high[some, y] = removal.base[rows]
    changes = counted.normals.change_over(rows, box.low[counted.numeric], box.high[counted.numeric])
    for into, change in zip((low, high), changes, strict=True):
        into += change
    found = np.zeros(len(rows))
    for a, b in product(range(counted.n_classes), repeat=2):
        if a != b:
            np.maximum(found, high[:, a] - low[:, b], out=found)
    return found


@dataclass(frozen=True)
class NaiveBayes:
    """Naive Bayes: categories with Laplace smoothing, numbers with normal distributions.

    The classes have prior probabilities n_y / n. Attributes of 0 and 1 are categories too:
    Bernoulli naive Bayes is the case of two categories each.
    """

    categories: tuple[int | None, ...]
    """(d,) Number of categories 0, 1, ... of each attribute; None for a number."""
    alpha: float = 1.0
    """Smoothing added to every count of a category, at least 0."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must be at least 0, got {self.alpha}")
        if not self.categories or any(v is not None and v < 1 for v in self.categories):
            raise InputError("every attribute needs at least one category, or None for a number")

    name = "naive Bayes"

    def describe(self) -> Mapping[str, Any]:
        """Return the smoothing and the categories, as JSON values."""
        return {"alpha": self.alpha, "categories": list(self.categories)}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedNaiveBayes:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        codes, numbers = self.parts(x)
        numeric = np.array([size is None for size in self.categories])
        counted = CountedRecords(
            codes=codes,
            numbers=numbers,
            y=y,
            n_classes=n_classes,
            counts=count_categories(
                codes, y, sizes=self.sizes, n_classes=n_classes, alpha=self.alpha
            ),
            normals=Normals.of(numbers, y, n_classes),
            numeric=numeric,
        )
        return FittedNaiveBayes(self, counted)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each categorical attribute."""
        return tuple(v for v in self.categories if v is not None)

    def parts(self, x: NDArray[Any]) -> tuple[Ints, Floats]:
        """Return the codes of categories (n, c) and the numbers (n, m) of records."""
        x = np.asarray(x)
        if x.ndim != 2 or x.shape[1] != len(self.categories):
            raise InputError(f"x must have the shape (n, {len(self.categories)}), got {x.shape}")
        sizes = np.array(self.sizes, np.int64)
        named = np.array([v is not None for v in self.categories])
        codes = x[:, named].astype(np.int64)
        bad = np.argwhere((codes < 0) | (codes >= sizes) | (codes != x[:, named]))
        if len(bad):
            row, column = (int(v) for v in bad[0])
            raise InputError(
                f"attribute {int(np.flatnonzero(named)[column])} has the categories "
                f"0..{sizes[column] - 1}, got {x[:, named][row, column]} in row {row}"
            )
        return codes, x[:, ~named].astype(np.float64)


def naive_bayes_of(
    x: NDArray[Any], continuous: Sequence[int] = (), alpha: float = 1.0
) -> NaiveBayes:
    """Return a naive Bayes learner with categories 0, 1, ... up to the largest in the records."""
    sizes = [None if j in continuous else int(x[:, j].max()) + 1 for j in range(x.shape[1])]
    return NaiveBayes(tuple(sizes), alpha)


@dataclass(frozen=True, eq=False)
class FittedNaiveBayes:
    """Naive Bayes with its counts and moments, from which any one record can be subtracted."""

    learner: NaiveBayes
    """The learner and its settings."""
    counted: CountedRecords
    """The training records, with counts and moments."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k); NaN where none is possible."""
        return self.counted.log_p(*self.learner.parts(queries))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        counted = self.counted
        return counted.log_p_without_at(rows, counted.codes[rows], counted.numbers[rows])

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        codes, numbers = self.learner.parts(queries)
        result = np.empty((len(rows), len(codes), self.counted.n_classes))
        for i, row in enumerate(rows):
            result[i] = self.counted.log_p_without_at(np.full(len(codes), row), codes, numbers)
        return result

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return the range of each record's DTP: exact over categories if that is feasible."""
        counted = self.counted
        if counted.numbers.shape[1]:
            return _certify_range(counted, rows, width, box)
        # Equal records of one class have equal values: each is computed once.
        sizes = counted.counts.sizes
        # A key in 64 bits sorts much faster than rows of columns.
        if n_cells(sizes) * counted.n_classes < 2**62:
            key = np.ravel_multi_index(tuple(counted.codes[rows].T), sizes)
            key = key * counted.n_classes + counted.y[rows]
            _, first, group = np.unique(key, return_index=True, return_inverse=True)
        else:
            whole = np.column_stack([counted.codes[rows], counted.y[rows]])
            _, first, group = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        distinct = rows[first]
        group = group.ravel()
        values, method = _exact(counted, distinct, width)
        low = values.copy()
        high = values.copy()
        # Enumeration gave up on these: they get certified bounds.
        left = np.flatnonzero(np.isnan(values))
        if len(left):
            parts = _certify_range(counted, distinct[left], width, box)
            low[left] = parts.low
            high[left] = parts.high
            # If nothing was exact, the method of the bounds alone describes them.
            some = f"{method}; for {len(left):,} of {len(distinct):,}: {CERTIFIED}"
            method = parts.method if len(left) == len(distinct) else some
        return DtpRange(low[group], high[group], method)


@dataclass(frozen=True)
class MultinomialNaiveBayes(Learner):
    """Multinomial naive Bayes, for counts such as those of words.

    ``p(x | y)`` is proportional to the product over attributes of ``p_jy ** x_j`` with ``p_jy =
    (N_jy + alpha) / (N_y + d alpha)``, N_jy the sum of attribute j over the records of class y, and
    N_y the sum of these. The classes have prior probabilities n_y / n.
    """

    alpha: float = 1.0
    """Smoothing added to every sum, at least 0."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must be finite and at least 0, got {self.alpha}")

    name = "multinomial naive Bayes"

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedMultinomial:
        """Return the classifier trained on counts (n, d), at least 0, with classes (n,)."""
        records, labels = training_set(x, y, n_classes)
        counts = _counts(records, "x")
        sums = np.array([counts[labels == label].sum(axis=0) for label in range(n_classes)])
        return FittedMultinomial(
            x=counts,
            y=labels,
            n_classes=n_classes,
            alpha=self.alpha,
            log_words=_log_words(sums, self.alpha),
        )


def _counts(x: Floats, name: str) -> Floats:
    if x.size and x.min() < 0:
        row = int(np.flatnonzero((x < 0).any(axis=1))[0])
        raise InputError(f"{name} must hold counts of at least 0, got {x[row].min()} in row {row}")
    return x


@dataclass(frozen=True, eq=False)
class FittedMultinomial:
    """Multinomial naive Bayes, with and without each of its records."""

    x: Floats
    """(n, d) Counts of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k."""
    alpha: float
    """Smoothing added to every sum."""
    log_words: Floats
    """(k, d) log p_jy of each class and attribute."""

    @cached_property
    def _of_others(self) -> Floats:
        """(n, d) Sums of each record's class without it.

        They add the sums of the records before and after it. A subtraction would leave traces of
        the record if counts are not integers.
        """
        found = np.zeros_like(self.x)
        for label in range(self.n_classes):
            # Sums of the records before each one, then of those after it.
            rows = np.flatnonzero(self.y == label)
            found[rows[1:]] += self.x[rows[:-1]].cumsum(axis=0)
            found[rows[:-1]] += self.x[rows[:0:-1]].cumsum(axis=0)[::-1]
        return found

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        asked = _counts(matrix(queries, "queries", columns=self.x.shape[1]), "queries")
        likely = _log_likelihood(asked, self.log_words)
        return class_log_p(likely + log_priors(self.y, self.n_classes))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        own = self.x[rows]
        each = np.arange(len(rows))
        joint = _log_likelihood(own, self.log_words)
        shares = _log_words(self._of_others[rows], self.alpha)
        with np.errstate(invalid="ignore"):
            # A count of 0 adds nothing, even where the logarithm is infinite.
            products = np.where(own > 0, own * shares, 0.0)
        joint[each, self.y[rows]] = products.sum(axis=1)
        return class_log_p(joint + log_priors_without(self.y, rows, self.n_classes))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = _counts(matrix(queries, "queries", columns=self.x.shape[1]), "queries")
        each = np.arange(len(rows))
        likely = _log_likelihood(asked, self.log_words)
        # Only the record's own class changes: the other columns stay.
        joint = np.repeat(likely[None], len(rows), axis=0)
        own = _log_likelihood(asked, _log_words(self._of_others[rows], self.alpha))
        joint[each, :, self.y[rows]] = own.T
        priors = log_priors_without(self.y, rows, self.n_classes)
        return class_log_p(joint + priors[:, None, :])


def _log_words(sums: Floats, alpha: float) -> Floats:
    """Return log p_jy from N_jy, (..., d); minus infinity if the class has no counts."""
    smoothed = sums + alpha
    total = smoothed.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(smoothed / np.where(total > 0, total, 1.0)), np.float64)


def _log_likelihood(queries: Floats, log_shares: Floats) -> Floats:
    """Return sum_j x_j log p_j for queries (q, d) and shares (m, d), (q, m)."""
    # 0 times -inf would be NaN: mask the infinite shares, then set the queries that need them.
    never = np.isneginf(log_shares)
    found = queries @ np.where(never, 0.0, log_shares).T
    if never.any():
        found[(queries > 0).astype(float) @ never.T.astype(float) > 0] = -np.inf
    return np.asarray(found, np.float64)


@dataclass(frozen=True)
class BayesInference(Learner):
    """Bayes inference: ``p(y | x) = (n_xy + alpha) / (n_x + k alpha)``.

    n_x records of the training set have the attributes x, and n_xy of these the class y. Without
    smoothing there is no answer (NaN) where n_x is 0. With smoothing a class keeps its share of
    alpha even when it has no record left, since k is given; so does every class of an empty
    training set.

    Notes
    -----
    Long et al. (2017), section 6.3. Proposition 6.3 says that Bayes inference is 4/3-training
    stable; with n_x = 3 and n_xy = 2 it is not (the other class's ratio is 3/2), but it is
    3/2-training stable.
    """

    alpha: float = 0.0
    """Smoothing added to every count, at least 0."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must be finite and at least 0, got {self.alpha}")

    name = "Bayes inference"

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedBayesInference:
        """Return the classifier trained on records (n, d), numbers or codes, of classes (n,)."""
        records, labels = training_set(x, y, n_classes)
        keys, group = np.unique(_keys(records), return_inverse=True)
        # One more row, of zeros, for queries that no record equals.
        counts = np.zeros((len(keys) + 1, n_classes))
        np.add.at(counts, (group, labels), 1.0)
        return FittedBayesInference(
            x=records,
            keys=keys,
            group=group.astype(np.int64),
            counts=counts,
            y=labels,
            alpha=self.alpha,
        )


def _keys(x: Floats) -> NDArray[np.void]:
    """Return one value per record, (n,), equal for equal records only."""
    # -0.0 equals 0.0 but has other bytes; their sum with 0.0 has the same.
    return (x + 0.0).view(np.dtype((np.void, x.itemsize * x.shape[1]))).ravel()


@dataclass(frozen=True, eq=False)
class FittedBayesInference:
    """Bayes inference, with and without each of its records."""

    x: Floats
    """(n, d) Records of the training set."""
    keys: NDArray[np.void]
    """(g,) Keys of the distinct records, ascending."""
    group: Ints
    """(n,) Index of each record among the distinct ones."""
    counts: Floats
    """(g + 1, k) Records of every group and class; the last row, 0, is for unknown records."""
    y: Ints
    """(n,) Classes of the records."""
    alpha: float
    """Smoothing added to every count."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        return log_shares(self.counts[self._group_of(queries)], self.alpha)

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        own = np.eye(self.counts.shape[1])[self.y[rows]]
        return log_shares(self.counts[self.group[rows]] - own, self.alpha)

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        found = np.repeat(self.log_p(queries)[None], len(rows), axis=0)
        # Only queries in the record's own group change.
        row, query = np.nonzero(self.group[rows][:, None] == self._group_of(queries))
        found[row, query] = self.log_p_without(rows)[row]
        return found

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return each record's DTP, which is its PDTP: only queries equal to it change.

        The box is not needed: any domain contains the record.
        """
        shares = log_shares(self.counts[self.group[rows]], self.alpha)
        exact = log_ratio(shares, self.log_p_without(rows), width)
        return DtpRange(exact, exact, "exact: only queries equal to the record change")

    def _group_of(self, queries: NDArray[Any]) -> Ints:
        """Return each query's group, (q,); the last row of counts if no record equals it."""
        asked = _keys(matrix(queries, "queries", columns=self.x.shape[1]))
        place = np.minimum(np.searchsorted(self.keys, asked), len(self.keys) - 1)
        return np.where(self.keys[place] == asked, place, len(self.keys))
