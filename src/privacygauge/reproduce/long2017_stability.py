"""Table 3 of Long et al. (2017): which bounds of training stability hold for the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.dtp.learner import Fitted, Learner
from privacygauge.classifier.dtp.naive_bayes import BayesInference, NaiveBayes
from privacygauge.classifier.dtp.nearest import NearestNeighbours
from privacygauge.classifier.dtp.random_trees import RandomDecisionTrees
from privacygauge.classifier.dtp.stability import (
    StabilityBound,
    bayes_inference_delta,
    bound_over_queries,
    laplace_delta,
    lsq_delta,
    naive_bayes_bound,
    naive_bayes_delta,
    random_trees_delta,
)
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.rates import proportion
from privacygauge.reproduce.table import Cell, Effort, Row, Table, exact

ROUNDING = 1e-9
"""Of logs: what exceeds a bound by no more is not a violation."""


QUICK = 200
FULL = 5_000
"""Training sets."""


@dataclass(frozen=True, eq=False)
class SmallData:
    """A training set of few categorical records of two classes."""

    x: Ints
    """(n, m) Categories."""
    y: Ints
    """(n,) Classes, both of them."""
    sizes: tuple[int, ...]
    """(m,) How many categories an attribute has."""
    number: int
    """Its number among the training sets."""

    @property
    def queries(self) -> Ints:
        """(q, m) Everything that can be asked."""
        return np.indices(self.sizes).reshape(len(self.sizes), -1).T

    @property
    def n_min(self) -> int:
        """Records of the smaller class."""
        return int(np.bincount(self.y).min())

    @property
    def of_class(self) -> Ints:
        """(n,) How many records have each record's class."""
        return np.bincount(self.y)[self.y]

    @property
    def shared(self) -> Ints:
        """(n, m) How many of these have its value of each attribute."""
        same = (self.y[:, None] == self.y)[..., None] & (self.x[:, None] == self.x)
        return np.asarray(same.sum(axis=1))


@dataclass(frozen=True)
class Classifier:
    """A row of the table."""

    label: str
    """The classifier."""
    learner: Callable[[SmallData], Learner]
    """Makes it for a training set."""
    bound: Callable[[SmallData], StabilityBound] | None
    """The bound, printed and proven; None where there is none."""
    certified: Callable[[SmallData], Floats] | None = None
    """Bounds every record's DTP, (n,), where that is sharper than what `bound` implies."""
    constant: bool = True
    """Whether delta is the same for all training sets."""


@dataclass(frozen=True, eq=False)
class AnswerChanges:
    """What the answers show of each record of a training set."""

    own: Floats
    """(n,) Log ratio of its own class at its own query."""
    largest: Floats
    """(n,) The largest over all queries and classes."""
    asked: Bools
    """(n,) Whether definition 6.1 speaks of it: its class is possible with and without it."""


CLASSIFIERS = (
    Classifier(
        "Bayes inference", lambda data: BayesInference(), lambda data: bayes_inference_delta()
    ),
    Classifier(
        "naive Bayes",
        lambda data: NaiveBayes(data.sizes, 0.0),
        lambda data: naive_bayes_delta(len(data.y), data.n_min, len(data.sizes)),
        lambda data: naive_bayes_bound(data.of_class, data.shared, data.sizes, alpha=0.0),
        constant=False,
    ),
    Classifier(
        "naive Bayes, smoothing 1",
        lambda data: NaiveBayes(data.sizes, 1.0),
        lambda data: laplace_delta(len(data.y), data.n_min, data.sizes),
        lambda data: naive_bayes_bound(data.of_class, data.shared, data.sizes, alpha=1.0),
        constant=False,
    ),
    Classifier(
        "linear statistical queries",
        lambda data: NaiveBayes(data.sizes, 0.0),
        lambda data: lsq_delta(len(data.sizes) + 1),
        constant=False,
    ),
    Classifier(
        "random decision trees",
        lambda data: RandomDecisionTrees(
            data.sizes, n_trees=4, depth=2, seed=data.number, answers="geometric-mean"
        ),
        lambda data: random_trees_delta(),
    ),
    Classifier("nearest neighbours", lambda data: NearestNeighbours(1), None),
)


def long_table3(effort: Effort) -> Table:
    """Return Table 3: in how many records of small training sets the stated bounds fail."""
    number = QUICK if effort.quick else FULL
    rng = seeds.stream(effort.seed, "reproduce", "training sets")
    sets = [small_data(i, rng) for i in range(number)]
    rows = []
    for done, classifier in enumerate(CLASSIFIERS, 1):
        rows.append(Row(classifier.label, _cells(classifier, sets)))
        effort.told(done, len(CLASSIFIERS))
    return Table("long-table3", "Long et al. (2017), Table 3", tuple(rows), _notes(number))


def small_data(number: int, rng: np.random.Generator) -> SmallData:
    """Return a random training set: 4 to 16 records, 1 to 3 attributes of 2 or 3 values.

    Two fair classes of which each has a record; the attributes are independent of them.
    """
    n = int(rng.integers(4, 17))
    sizes = rng.integers(2, 4, size=int(rng.integers(1, 4)))
    y = np.append(rng.integers(2, size=n - 2), [0, 1])
    x = np.column_stack([rng.integers(v, size=n) for v in sizes])
    return SmallData(x, y, tuple(sizes.tolist()), number)


def _cells(classifier: Classifier, sets: list[SmallData]) -> dict[str, Cell]:
    if classifier.bound is None:
        return _without_any(classifier, sets)
    above = []
    beyond = []
    unit = []
    for data in sets:
        shown = leave_each_out(classifier.learner(data), data)
        bound = classifier.bound(data)
        assert bound.printed is not None
        with np.errstate(divide="ignore"):
            stated = np.maximum(np.log(bound.printed), shown.own)[shown.asked]
        proven = _proven(classifier, data, shown, bound)[shown.asked]
        above.append(shown.largest[shown.asked] - stated)
        beyond.append(shown.largest[shown.asked] > proven + ROUNDING)
        unit.append(np.full(np.count_nonzero(shown.asked), data.number))
    which = np.concatenate(unit)
    excess = np.concatenate(above)
    return {
        "delta": _delta(classifier, sets[0]),
        "records above the printed bound": Cell(None, proportion(excess > ROUNDING, which)),
        "largest excess": Cell(
            None, exact(max(float(excess.max()), 0.0), len(excess), "in nats; records searched")
        ),
        "records above the proven bound": Cell(None, proportion(np.concatenate(beyond), which)),
    }


def leave_each_out(learner: Learner, data: SmallData) -> AnswerChanges:
    """Return what the answers show of each record: every query, every class.

    A query that has no answer with the record, or none without it, shows nothing: the definition
    speaks of probabilities only.
    """
    fitted: Fitted = learner.fit(data.x, data.y, n_classes=2)
    rows = np.arange(len(data.y))
    with_it = fitted.log_p(data.queries)
    without = fitted.log_p_without_at(rows, data.queries)
    largest = _ratio(with_it[None], without).max(axis=(1, 2))
    own = fitted.log_p(data.x)[rows, data.y], fitted.log_p_without(rows)[rows, data.y]
    possible = np.isfinite(own[0]) & np.isfinite(own[1])
    return AnswerChanges(_ratio(*own), largest, possible & ~_have_own_leaf(learner, data))


def _ratio(log_p: Floats, log_q: Floats) -> Floats:
    """Return the absolute log ratio; 0 where both are 0 or one is not an answer."""
    with np.errstate(invalid="ignore"):
        found = np.abs(log_p - log_q)
    return np.asarray(np.where(np.isnan(found), 0.0, found), np.float64)


def _have_own_leaf(learner: Learner, data: SmallData) -> Bools:
    """Return which records have a leaf of a tree to themselves, (n,).

    Without such a record the leaf has no records, and proposition 6.8 no answer.
    """
    if not isinstance(learner, RandomDecisionTrees):
        return np.zeros(len(data.y), np.bool_)
    leaves = learner.leaves(data.x)
    return np.asarray(((leaves[:, None] == leaves[..., None]).sum(axis=2) == 1).any(axis=0))


def _proven(
    classifier: Classifier, data: SmallData, shown: AnswerChanges, bound: StabilityBound
) -> Floats:
    if classifier.certified is not None:
        return classifier.certified(data)
    return bound_over_queries(np.exp(shown.own), bound)


def _delta(classifier: Classifier, data: SmallData) -> Cell:
    if not classifier.constant or classifier.bound is None:
        return Cell(None, Skipped("delta", "depends on the training set"))
    bound = classifier.bound(data)
    return Cell(bound.printed, exact(bound.delta, 1, f"proven; {bound.source}"))


def _without_any(classifier: Classifier, sets: list[SmallData]) -> dict[str, Cell]:
    """Return the cells of a classifier without a bound: how often its own query hides a record."""
    hidden = []
    unit = []
    for data in sets:
        shown = leave_each_out(classifier.learner(data), data)
        hidden.append(((shown.own == 0) & np.isinf(shown.largest))[shown.asked])
        unit.append(np.full(np.count_nonzero(shown.asked), data.number))
    found = proportion(np.concatenate(hidden), np.concatenate(unit))
    return {
        "delta": Cell(None, Skipped("delta", "none is large enough")),
        "records that only other queries show": Cell(None, found),
    }


def _notes(number: int) -> tuple[str, ...]:
    return (
        f"The paper's table has no numbers. Here: {number:,} random training sets of 4 to 16 "
        "records with 1 to 3 attributes of 2 or 3 values, two classes; every record is left out "
        "and every query asked. Counted are the records that definition 6.1 speaks of.",
        "The published number is the delta that the proposition states, ours the one that is "
        "proven for the answers p(y | x).",
        "Linear statistical queries are naive Bayes without smoothing, read as such.",
        "A share of 0 comes with the largest one that is compatible with it; that the proven "
        "bounds hold is shown by their proofs, not by the count.",
    )
