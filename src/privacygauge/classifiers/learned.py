"""Learned attacks: gradient boosting on prediction vectors, or on the whole answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from privacygauge.classifiers.game import PredictionObservation, Rows, draw_at_most, shadow_rows
from privacygauge.classifiers.predictions import blocks_of
from privacygauge.classifiers.signals import Resolution, resolution
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.core.units import fingerprints
from privacygauge.runs.threads import limited_to

_VECTOR_BINS = 255
"""Bins per column in boosting on prediction vectors."""

_ALL_BINNED = 200_000
"""Number of rows above which scikit-learn takes quantiles of a random subset."""


@dataclass(frozen=True)
class Learned:
    """Gradient boosting on the sorted log-probabilities and the signals only.

    A metric attack uses one number of a prediction; this attack uses its whole shape, which reveals
    predictions defended by MemGuard.
    """

    top: int = 10
    """Number of the largest log probabilities to use."""
    most: int = 100_000
    """Largest number of shadow records to learn from, drawn at random."""

    name = "learned"

    variant = "gradient-boosting"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        if not isinstance(observation, PredictionObservation):
            return Skipped(self.name, "needs the full prediction vectors")
        if (
            observation.shadow is None
            or observation.shadow_rows is None
            or observation.rows is None
        ):
            return Skipped(self.name, "needs shadow records with known membership")
        shadow = observation.shadow
        rows = observation.rows
        resolved = observation.resolved or resolution(rows.source, observation.shadow_rows.source)
        used = draw_at_most(self.most, len(shadow.member), rng)
        known = _features(
            Rows(observation.shadow_rows.source, observation.shadow_rows.index[used]),
            {name: x[used] for name, x in shadow.signals.items()},
            self.top,
            resolved,
        )
        member = shadow.member[used]
        if member.all() or not member.any():
            return Skipped(self.name, "too few shadow records")
        asked = _features(rows, dict(observation.signals), self.top, resolved)
        value = boosted_log_odds(known, member.astype(np.int64), asked, int(rng.integers(2**31)))
        return Scores(value, Cut(0.0, "of even odds"))


def _features(rows: Rows, signals: dict[str, Floats], top: int, resolved: Resolution) -> Floats:
    source = rows.source
    k = min(top, source.n_classes)
    sorted_logs = np.empty((len(rows.index), k))
    for part, block in blocks_of(source.values[rows.index]):
        if source.logits:
            # The largest logit subtracted first: the exponentials cannot overflow.
            block -= block.max(axis=1, keepdims=True)
            block -= np.log(np.exp(block).sum(axis=1, keepdims=True))
            np.maximum(block, np.log(resolved.least), out=block)
        else:
            np.log(np.maximum(block, resolved.least, out=block), out=block)
        # Partition before sorting: only the `top` of many classes are needed in order.
        largest = np.partition(block, block.shape[1] - k, axis=1)[:, -k:]
        sorted_logs[part] = np.sort(largest, axis=1)[:, ::-1]
    metrics = [signals[name] for name in ("scaled-logit", "modified-entropy", "correctness")]
    return np.column_stack([sorted_logs, *metrics])


def boosted_log_odds(known: Floats, member: Ints, asked: Floats, seed: int) -> Floats:
    """Return the log-odds of membership of `asked`, at even prior odds, by boosting on `known`."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    even = 2 * np.count_nonzero(member) == len(member)
    if not even and len(member) <= _ALL_BINNED:
        n_in = np.count_nonzero(member)
        n_rows = len(member)
        # The weights of class_weight="balanced": each side has half of the total.
        weight = np.where(member > 0, n_rows / (2 * n_in), n_rows / (2 * (n_rows - n_in)))
        parts = known.copy(), asked.copy()
        for column, values in enumerate(known.T):
            order = np.argsort(values)
            ascending = values[order]
            if 1 + np.count_nonzero(np.diff(ascending)) <= _VECTOR_BINS:
                continue
            share = np.cumsum(weight[order])
            aim = np.linspace(0, 100, num=_VECTOR_BINS + 1)[1:-1] / 100 * share[-1]
            place = np.minimum(np.searchsorted(share, aim), n_rows - 1)
            beyond = ascending[np.minimum(place + 1, n_rows - 1)]
            # Where the weights reach the aim exactly, the quantile is the mean of both neighbours.
            above = share[place] - aim > np.finfo(np.float64).eps
            ends = np.unique(np.where(above, ascending[place], (ascending[place] + beyond) / 2))
            for part in parts:
                part[:, column] = np.searchsorted(ends, part[:, column])
        known, asked = parts
    model = HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.05,
        max_leaf_nodes=8,
        min_samples_leaf=max(5, min(20, len(member) // 50)),
        class_weight=None if even else "balanced",  # weights of 1 are as slow as others
        early_stopping=False,
        random_state=seed,
    )
    # More threads than cores at work make small fits many times slower.
    with limited_to(1 if len(member) < 20_000 else None):
        model.fit(known, member)
        return np.asarray(model.decision_function(asked), np.float64)


FOLDS = 3
"""Number of parts of the shadow records in cross-validation."""

FEW_CLASSES = 12
"""Largest number of classes that get columns each, by number and relative to the record's own."""

FEW_QUERIES = 8
"""Largest number of further queries with their own columns; all are also reduced to moments."""

LEAST_OF_CLASS = 5
"""Fewest members, and fewest non-members, of a class that is not pooled with others."""

_TOP = 5
"""Number of the largest log-probabilities that become columns."""

_DECIMALS = 9
"""Largest number of decimals to distinguish."""

_LOOKED_AT = 4
"""Largest number of classes whose digits are counted."""

_PENALTIES = (3.0, 30.0, 300.0)
"""Penalties on the squared coefficients of standardised columns, in records."""

_THRESHOLDS = (1.0, 2.0, 3.0)
"""Shrinkage of single columns' standardised differences, in standard errors; the best is chosen."""

_ANSWER_BINS = 64
"""Bins per column in boosting on whole answers."""

_CLIP = 4.0
"""Bound of standardised columns, in standard deviations: probabilities have long tails."""


@dataclass(frozen=True)
class WholeAnswer:
    """Attack that learns from a model's whole answer about a record, at even odds.

    Named attacks use one number of a prediction. This one uses the level of raw logits, which the
    softmax removes; the log-probabilities, sorted, class by class, and counted from the record's
    own class; the answers to all queries; their number of digits; and how often the identical
    answer occurs. Three kinds of models learn on shadow records: linear ones, linear ones that
    differ between the classes, and gradient boosting. Logistic regression combines their scores on
    held-out folds, so that a model that learnt nothing gets no weight, and the score is a
    calibrated log-odds.

    Within every class, members and non-members have equal total weight: the number of members that
    a class has by chance is not part of an answer.
    """

    trees: int = 30
    """Rounds of boosting, at least 1."""
    most: int = 5_000
    """Largest number of shadow records to learn on, drawn at random."""

    def __post_init__(self) -> None:
        checks.at_least(1, trees=self.trees, most=self.most)

    name = "whole-answer"

    variant = ""

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        learnt = shadow_rows(self.name, observation, self.most, rng)
        if isinstance(learnt, Skipped):
            return learnt
        assert isinstance(observation, PredictionObservation)  # or there were no rows
        resolved = observation.resolved or resolution(learnt.asked.source, learnt.rows.source)
        labels = observation.stratum
        # If one side has probabilities, as a defended model has, the level of logits is no feature.
        level = learnt.rows.source.logits and learnt.asked.source.logits
        known, asked = (
            np.column_stack(
                [answer_features(rows, own, resolved, level=level), times_seen(rows, learnt.rows)]
            )
            for rows, own in ((learnt.rows, learnt.labels), (learnt.asked, labels))
        )
        told = np.ptp(known, axis=0) > 0
        weight, group = even_weights(learnt.member, learnt.labels)
        # All rows of a record share one fold: a model that knew one would know the others.
        record = learnt.rows.index if learnt.rows.record is None else learnt.rows.record
        _, index = np.unique(record, return_inverse=True)
        fold = (rng.permutation(int(index.max()) + 1) % FOLDS)[index]
        members = np.bincount(fold[learnt.member & (weight > 0)], minlength=FOLDS)
        others = np.bincount(fold[~learnt.member & (weight > 0)], minlength=FOLDS)
        # Each model is learnt on the other folds, and judged on its own.
        if not told.any() or min(members.min(), others.min()) < 1:
            return Skipped(self.name, "too few shadow records")
        known = known[:, told]
        asked = asked[:, told]
        side = np.where(learnt.member, 1.0, -1.0)
        n_classes = 1 + int(max(learnt.labels.max(), labels.max()))
        # The weight group of each class; classes without shadow records are pooled, as -1.
        own = np.full(n_classes, -1)
        own[learnt.labels] = group
        linear = _linear(
            known, side, weight=weight, fold=fold, group=group, asked=asked, asked_group=own[labels]
        )
        forest = self._boosted(
            known,
            learnt.member,
            weight=weight,
            fold=fold,
            asked=asked,
            seed=int(rng.integers(2**31)),
        )
        parts = [*linear, forest]
        held_out = np.column_stack([part[0] for part in parts])
        value = np.column_stack([part[1] for part in parts])
        return Scores(_stacked_log_odds(held_out, side, weight, value), Cut(0.0, "of even odds"))

    def _boosted(
        self, known: Floats, member: Bools, weight: Floats, fold: Ints, asked: Floats, seed: int
    ) -> tuple[Floats, Floats]:
        """Return log-odds of the known rows, each by the model without its fold, and of `asked`."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        held_out = np.zeros(len(known))
        value = np.zeros(len(asked))
        # scikit-learn bins weighted rows itself, but hundreds of times more slowly.
        ends = np.quantile(known, np.arange(1, _ANSWER_BINS) / _ANSWER_BINS, axis=0)
        binned = np.empty(known.shape)
        asked_binned = np.empty(asked.shape)
        for column in range(known.shape[1]):
            different = np.unique(ends[:, column])
            binned[:, column] = np.searchsorted(different, known[:, column])
            asked_binned[:, column] = np.searchsorted(different, asked[:, column])
        # Leaves grow with the data: a few rows learn coarse rules only.
        least = max(5, min(20, len(member) // 50))
        # More threads than cores at work make small fits many times slower.
        with limited_to(1 if len(member) < 20_000 else None):
            for f in range(FOLDS):
                model = HistGradientBoostingClassifier(
                    max_iter=self.trees,
                    max_bins=_ANSWER_BINS,
                    learning_rate=0.15,
                    max_leaf_nodes=8,
                    min_samples_leaf=least,
                    l2_regularization=1.0,
                    early_stopping=False,
                    random_state=seed,
                )
                rest = (fold != f) & (weight > 0)
                # A model never sees the rows that it scores.
                model.fit(binned[rest], member[rest], weight[rest])
                held_out[fold == f] = model.decision_function(binned[fold == f])
                value += model.decision_function(asked_binned) / FOLDS
        return held_out, value


def answer_features(
    rows: Rows, labels: Ints, resolved: Resolution, *, level: bool = True
) -> Floats:
    """Return the features of the whole answers about some records, (n, d).

    `level` says whether to include the level of raw logits, if there are any.
    """
    source = rows.source
    index = rows.index
    answers = source.answers if source.answers.ndim == 3 else source.answers[:, None]
    first = _of_answer(answers[index, 0], labels, source.logits, resolved)
    columns = [first.label, first.top, first.sorted, *([first.level] if level else [])]
    k = source.n_classes
    if k <= FEW_CLASSES:
        # Other classes counted from the record's own, so that one rule serves all classes.
        turned = (labels[:, None] + np.arange(1, k)) % k
        columns += [first.logs, np.take_along_axis(first.logs, turned, axis=1)]
    else:
        beside = (labels[:, None] + np.array([-1, 1])) % k
        columns.append(np.take_along_axis(first.logs, beside, axis=1))
    columns.append(_digits(answers[index, 0], labels))
    if answers.shape[1] > 1:
        further = [
            _of_answer(answers[index, number], labels, source.logits, resolved)
            for number in range(1, answers.shape[1])
        ]
        each = np.stack(
            [np.hstack([x.label, x.top, *([x.level] if level else [])]) for x in further]
        )
        # `each` is (q - 1, n, d), without the first query: moments over queries fit any number of
        # them.
        columns += [each.mean(axis=0), each.std(axis=0), each.min(axis=0), each.max(axis=0)]
        columns += [each[i] for i in range(min(len(each), FEW_QUERIES))] if len(each) > 1 else []
        columns += [_digits(answers[index, 1 + i], labels) for i in range(min(len(each), 2))]
    return np.hstack(columns)


@dataclass(frozen=True, eq=False)
class _Answer:
    logs: Floats  # (n, k) log probabilities
    label: Floats  # (n, 3) log p, its scaled logit and whether it is the largest
    top: Floats  # (n, 2) largest log probability, negated entropy
    sorted: Floats  # (n, t) falling
    level: Floats  # (n, 0) or (n, 4) of raw logits


def _of_answer(
    values: NDArray[np.floating], labels: Ints, logits: bool, resolved: Resolution
) -> _Answer:
    raw = np.asarray(values, np.float64)
    n, k = raw.shape
    row = np.arange(n)
    level = np.empty((n, 0))
    floor = np.log(resolved.least)
    if logits:
        total = logsumexp(raw, axis=1)
        own = raw[row, labels]
        level = np.column_stack([total, raw.max(axis=1), raw.mean(axis=1), own])
        # Logits have no resolution of their own: without a floor one extreme would dominate.
        logs = np.maximum(raw - total[:, None], np.maximum(floor, -60.0))
    else:
        logs = np.log(np.maximum(raw, resolved.least))
    p = np.exp(logs)
    at_label = logs[row, labels]
    others = p.sum(axis=1) - p[row, labels]
    rest = np.log(np.maximum(others, float(resolved.least.min())))
    n_top = min(_TOP, k)
    largest = np.sort(np.partition(logs, k - n_top, axis=1)[:, -n_top:], axis=1)[:, ::-1]
    # -60 floors the rest as it floors the logs: float64 logits would give far larger log-odds.
    right = (logs.argmax(axis=1) == labels).astype(np.float64)
    return _Answer(
        logs=logs,
        label=np.column_stack([at_label, at_label - np.maximum(rest, -60.0), right]),
        top=np.column_stack([largest[:, 0], np.einsum("ij,ij->i", p, logs)]),
        sorted=largest,
        level=level,
    )


def _digits(values: NDArray[np.floating], labels: Ints) -> Floats:
    """Return columns on an answer's digits, (n, 5).

    Decimals of the record's class, the most and the mean over classes, bits of the longest number,
    and the log10 of the error of the sum. Decimals are those of the number's type: 0.1 in float32
    has one.
    """
    all_classes = np.asarray(values)
    off = np.log10(np.abs(all_classes.sum(axis=1, dtype=np.float64) - 1.0) + 1e-17)
    k = all_classes.shape[1]
    # All classes are rounded alike: a few of them, the record's own first, are enough.
    some = (labels[:, None] + np.arange(min(k, _LOOKED_AT))) % k
    given = np.take_along_axis(all_classes, some, axis=1)
    eps = float(np.finfo(given.dtype).eps) if given.dtype.kind == "f" else 2.0**-53
    x = np.abs(given.astype(np.float64))
    decimals = np.full(x.shape, float(_DECIMALS))
    open_ = np.ones(x.shape, np.bool_)
    for d in range(_DECIMALS):
        scaled = x * 10.0**d
        # A number that has no more digits of its own is at most this far off.
        allowed = 2 * eps * scaled + 1e-12
        exact = open_ & (np.abs(scaled - np.rint(scaled)) <= allowed) & (allowed < 0.05)
        decimals[exact] = d
        open_ &= ~exact
        if not open_.any():
            break
    # The mantissa as an integer of 53 bits; m & -m is its lowest bit that is set.
    mantissa = np.ldexp(np.frexp(given.astype(np.float64))[0], 53).astype(np.int64)
    lowest = np.abs(mantissa & -mantissa)
    bits: Floats = np.where(lowest > 0, 53.0 - np.log2(np.maximum(lowest, 1)), 0.0).max(axis=1)
    return np.column_stack([decimals[:, 0], decimals.max(axis=1), decimals.mean(axis=1), bits, off])


def times_seen(asked: Rows, among: Rows) -> Floats:
    """Return the log of 1 plus the number of other records in `among` with the identical answer."""
    ours, theirs = (
        fingerprints(np.asarray(x.source.answers[x.index]).reshape(len(x.index), -1), 12)
        for x in (asked, among)
    )
    different, group = np.unique(theirs, return_inverse=True)
    counts = np.bincount(group, minlength=len(different))
    place = np.minimum(np.searchsorted(different, ours), len(different) - 1)
    same = np.where(different[place] == ours, counts[place], 0)
    if asked is among:
        same = same - 1
    return np.log1p(same.astype(np.float64))


def even_weights(member: Bools, labels: Ints) -> tuple[Floats, Ints]:
    """Return weights that balance the members and non-members of each class, and class numbers.

    Both are (n,). Classes with few of either side are pooled as -1. Weights have a mean of 1 in
    each class, or are 0 if it has only one side.
    """
    k = int(labels.max()) + 1
    rarer = np.minimum(
        np.bincount(labels[member], minlength=k), np.bincount(labels[~member], minlength=k)
    )
    group = np.where(rarer[labels] >= LEAST_OF_CLASS, labels, -1)
    # Index 0 is the pooled classes, hence the 1.
    size = np.bincount(group + 1, minlength=k + 1).astype(np.float64)
    inside = np.bincount(group[member] + 1, minlength=k + 1).astype(np.float64)
    own = np.where(member, inside[group + 1], (size - inside)[group + 1])
    total = size[group + 1]
    return np.where(own < total, total / (2 * own), 0.0), group


def _linear(
    known: Floats,
    side: Floats,
    weight: Floats,
    fold: Ints,
    group: Ints,
    asked: Floats,
    asked_group: Ints,
) -> Iterator[tuple[Floats, Floats]]:
    """Yield linear scores of the known rows, by rules without their fold, and of the asked rows.

    First for all classes together, then per class: ridge regression on the side, 1 or -1, which
    suits many weakly informative columns, and a few columns alone. Penalties are those that predict
    held-out folds best.
    """
    centre = known.mean(axis=0)
    spread = known.std(axis=0)
    x, z = (np.clip((part - centre) / spread, -_CLIP, _CLIP) for part in (known, asked))
    d = x.shape[1]
    classes = np.unique(group[group >= 0])
    # Group to its row in `squares`; -1, the last entry, is the pooled classes' last row.
    number = np.full(int(group.max()) + 2, len(classes))
    number[classes] = np.arange(len(classes))
    place = number[group] * FOLDS + fold
    # Sums of each class and fold: every rule is solved from some of them.
    squares = np.zeros(((len(classes) + 1) * FOLDS, d, d))
    products = np.zeros(((len(classes) + 1) * FOLDS, d))
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(len(squares) + 1))
    for i in range(len(squares)):
        rows = order[ends[i] : ends[i + 1]]
        weighed = x[rows] * weight[rows, None]
        squares[i] = weighed.T @ x[rows]
        products[i] = weighed.T @ side[rows]
    squares = squares.reshape(-1, FOLDS, d, d)
    products = products.reshape(-1, FOLDS, d)
    # (c, f, d, d) for c classes and f folds. All rows less those of a fold: what its rule learns
    # from.
    all_squares = squares.sum(axis=(0, 1)) - squares.sum(axis=0)
    all_products = products.sum(axis=(0, 1)) - products.sum(axis=0)
    eye = np.eye(d)
    last = len(classes)
    asked_place = np.where(asked_group >= 0, number[asked_group], last)

    def scores(rules: Floats) -> tuple[Floats, Floats]:
        """Return scores of known and asked rows by the rules of each class and fold, (c, f, d)."""
        held_out = np.einsum("ij,ij->i", x, rules[number[group], fold])
        return held_out, np.einsum("ij,ij->i", z, rules.mean(axis=1)[asked_place])

    def best(rules: list[Floats], aim: Floats) -> int:
        gains = []
        for rule in rules:
            score, _ = scores(rule)
            size = float(weight @ score**2)
            # The root of the weighted sum of squares that the best multiple >= 0 explains.
            explained = max(float(weight @ (score * aim)), 0.0)
            gains.append(explained / np.sqrt(size) if size > 0 else 0.0)
        return int(np.argmax(gains))

    common = (len(classes) + 1, FOLDS, d)
    dense = [
        np.broadcast_to(
            np.linalg.solve(all_squares + penalty * eye, all_products[..., None])[..., 0], common
        )
        for penalty in _PENALTIES
    ]
    rule = dense[best(dense, side)]
    yield scores(rule)
    variance = np.maximum(np.einsum("fii->fi", all_squares), 1e-9)
    sparse = [np.broadcast_to(_shrunk(all_products, variance, t), common) for t in _THRESHOLDS]
    yield scores(sparse[best(sparse, side)])
    if len(classes) < 2:
        return
    own_squares = squares.sum(axis=1, keepdims=True) - squares
    own_products = products.sum(axis=1, keepdims=True) - products
    # Each class fits what the common rule leaves of the sides; pooled classes keep that rule.
    left = own_products - np.einsum("cfij,cfj->cfi", own_squares, rule)
    left[-1] = 0.0
    dense = [
        np.linalg.solve(own_squares + penalty * eye, left[..., None])[..., 0]
        for penalty in _PENALTIES
    ]
    found = scores(rule)[0]
    yield scores(dense[best(dense, side - found)])
    own_products[-1] = 0.0
    variance = np.maximum(np.einsum("cfii->cfi", own_squares), 1e-9)

    sparse = [_shrunk(own_products, variance, 1 + t) for t in _THRESHOLDS]
    yield scores(sparse[best(sparse, side)])


def _shrunk(products: Floats, variance: Floats, least: float) -> Floats:
    """Return each column's effect, shrunk towards 0: nearest shrunken centroids.

    Tibshirani et al. (2002): standardised differences between the sides shrink towards 0 by `least`
    standard errors, and most columns, which carry no signal, drop out.
    """
    error = np.sqrt(variance)
    deviation = products / error
    result: Floats = np.sign(deviation) * np.maximum(np.abs(deviation) - least, 0.0) / error
    return result


def _stacked_log_odds(held_out: Floats, side: Floats, weight: Floats, value: Floats) -> Floats:
    """Return the log-odds of rows by logistic regression on scores, fitted to held-out ones.

    No score gets a negative weight.
    """
    spread = np.maximum(held_out.std(axis=0), 1e-12)
    x = held_out / spread
    factor = np.zeros(x.shape[1])
    free = np.ones(x.shape[1], np.bool_)
    # Scores with a negative weight are dropped, and the others fitted again.
    while free.any():
        factor = np.zeros(x.shape[1])
        some = x[:, free]
        # Eight Newton steps on the logistic loss with a ridge penalty, and without an intercept:
        # prior odds are even.
        for _ in range(8):
            p = expit(some @ factor[free])
            slope = some.T @ (weight * (p - (side > 0))) + factor[free]
            curve = (some * (weight * p * (1 - p))[:, None]).T @ some + np.eye(some.shape[1])
            factor[free] -= np.linalg.solve(curve, slope)
        if (factor >= 0).all():
            break
        free &= factor > 0
        factor = np.maximum(factor, 0.0)
    if not factor.any():
        # Nothing was learnt: keep the order of boosting, with log-odds close to 0.
        factor[-1] = 1e-9
    result: Floats = (value / spread) @ factor
    return result
