"""Tables 1 to 3 and Figure 2 of Long et al. (2017): attacks on records, bounds of stability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.claims.dtp.naive_bayes import BayesInference, NaiveBayes, naive_bayes_of
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.claims.dtp.random_trees import RandomDecisionTrees
from privacygauge.claims.dtp.stability import (
    StabilityBound,
    bayes_inference_delta,
    bound_over_queries,
    laplace_delta,
    lsq_delta,
    naive_bayes_bound,
    naive_bayes_delta,
    random_trees_delta,
)
from privacygauge.classifiers.audit.candidates import CandidateAudit, audit_candidates
from privacygauge.classifiers.candidates import PerTargetDesign
from privacygauge.classifiers.learner import Fitted, Learner
from privacygauge.classifiers.neural import Untargeted
from privacygauge.classifiers.targeted import Distance, Frequency
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.datasets.local_copies import (
    LOCATION30,
    PURCHASES,
    location30,
    own_file,
    purchases,
)
from privacygauge.datasets.public import CATEGORICAL, CONTINUOUS, WEIGHT, adult, adult_binary
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import EQUAL_SIDES, with_odds
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rates import correlation, proportion
from privacygauge.papers.table import Cell, Effort, Row, Table, exact, part_of

CANDIDATES = 2_000
"""Records of the candidate set, half of which train each model."""

ITERATIONS = 100
"""Random splits of the candidates into halves; each half trains a target."""

TARGETS = 100
"""Attacked records."""

MEASUREMENTS = 10
"""Splits in which PDTP is measured."""

NUMBERS = tuple(name for name in CONTINUOUS if name != WEIGHT)
"""Continuous columns of Adult without the final weight, which section 5.1 leaves out."""

STAND_IN = "Location30"
"""Data set that stands in for the purchases."""

STAND_IN_SHAPE = LOCATION30[1:]
"""Binary attributes and classes of the stand-in; the paper's purchases have 836 and 10."""

_STAND_IN = (
    f"{STAND_IN} stands in for the purchase data, which may not be passed on: "
    f"{STAND_IN_SHAPE[1]} classes and {STAND_IN_SHAPE[0]} binary attributes in place of 10 "
    "(clusters by k-means) and 836 (product categories). The published numbers are for purchases."
)
_OWN = "Purchases are the reader's own."
_ADULT = (
    "Adult without the final weight, which section 5.1 leaves out: "
    f"{len(NUMBERS) + len(CATEGORICAL)} attributes."
)
QUICK_1 = (5, 20, 2)
QUICK_2 = (4, 8, 1)
"""Iterations, targets and measurements in the quick forms of Tables 1 and 2; the latter has six
rows."""

_BEST = (
    "Above 0.8, above 0.6: the share of the records with a PDTP above 1 about which the best "
    "attack is right so often."
)
_COLUMNS = ("accuracy", "precision", "recall")

LEVEL = 0.95
"""Level of every interval."""


@dataclass(frozen=True)
class GradientDescent:
    """Settings of plain gradient descent for a network of Table 2."""

    epochs: int
    """Passes over the training set, the paper's maximum."""
    batch: int
    """Records per step; the paper does not name it."""
    rate: float
    """Learning rate; 0.01 in the paper."""


TRAINING = {"Adult": GradientDescent(100, 20, 0.01), "Purchase": GradientDescent(30, 10, 0.1)}
"""Data to the training of its network.

Steps of one record at rate 0.01 fit Location30 completely, as the paper's network fits the
purchases; steps of ten records at 0.1 do so too, with the same accuracy and ten times faster. On
Adult steps of one record would overfit by 12 points, while the paper's training and test accuracy
are equal: Adult has steps of 20 records at 0.01.
"""


@dataclass(frozen=True)
class PublishedRow:
    """A row of Table 2 as printed: accuracies, rates of the attack, mean PDTP and correlation."""

    train: float
    test: float
    accuracy: float
    precision: float
    recall: float
    pdtp: float
    correlation: float


TABLE_1 = {
    "untargeted": (0.6680, 0.6386, 0.8500, 0.4864),
    "frequency": (0.6257, 0.5933, 0.8253, 0.5052),
    "distance": (0.8533, 0.8470, 0.9087, 0.7653),
}
"""Attack to its printed accuracy, precision, recall and correlation with PDTP."""

TABLE_2 = {
    "NN-Purchase": PublishedRow(
        train=1.0000,
        test=0.6434,
        accuracy=0.8533,
        precision=0.8470,
        recall=0.9087,
        pdtp=3.4019,
        correlation=0.7653,
    ),
    "NB-Purchase": PublishedRow(
        train=0.8641,
        test=0.7204,
        accuracy=0.5958,
        precision=0.6945,
        recall=0.4038,
        pdtp=0.9027,
        correlation=0.9239,
    ),
    "LR-Purchase": PublishedRow(
        train=1.0000,
        test=0.6241,
        accuracy=0.7888,
        precision=0.7314,
        recall=0.9187,
        pdtp=2.8917,
        correlation=0.8138,
    ),
    "NN-Adult": PublishedRow(
        train=0.8555,
        test=0.8566,
        accuracy=0.5340,
        precision=0.5311,
        recall=0.4402,
        pdtp=0.5847,
        correlation=0.4588,
    ),
    "NB-Adult": PublishedRow(
        train=0.8453,
        test=0.8410,
        accuracy=0.5128,
        precision=0.5876,
        recall=0.1027,
        pdtp=0.0299,
        correlation=0.5166,
    ),
    "LR-Adult": PublishedRow(
        train=0.8711,
        test=0.8536,
        accuracy=0.5134,
        precision=0.5130,
        recall=0.3818,
        pdtp=0.1460,
        correlation=-0.0008,
    ),
}
"""Model and data to the printed row, for the distance-based attack."""


BEST = {"correlation": 0.8936, "above 0.8": 0.8462, "above 0.6": 1.0}
"""Numbers in the text on Figure 2; the last two are shares of the records with PDTP above 1."""

ATTACKS: tuple[Attack, ...] = (
    Untargeted(),
    Frequency(design="per-target"),
    Distance(design="per-target"),
)
"""Attacks of Table 1."""


def long_table1(effort: Effort) -> Table:
    """Return Table 1: the three attacks on a neural network."""
    found = play_three_attacks(effort)
    rows = tuple(
        Row(
            evaluation.name,
            {
                **_rates(evaluation, TABLE_1[evaluation.name][:3]),
                "correlation": Cell(
                    TABLE_1[evaluation.name][3], _correlation(found, evaluation.title)
                ),
            },
        )
        for evaluation in found.evaluations
    )
    return Table("long-table1", "Long et al. (2017), Table 1", rows, notes_of(effort, QUICK_1))


def long_fig2(effort: Effort) -> Table:
    """Return Figure 2: PDTP against the accuracy of the best of three attacks on each record.

    The best attack on a record is the one that is right about it most often. As in the paper, this
    is the largest of three noisy shares, which is biased upwards.
    """
    found = play_three_attacks(effort)
    assert found.measured is not None
    # measured is (measurements, t); the paper plots the mean over measurements.
    pdtp = found.measured.mean(axis=0)
    best = np.max([one.accuracy for one in found.per_target.values()], axis=0)
    reached = {"correlation": correlation(best, pdtp, LEVEL)}
    for share in (0.8, 0.6):
        among = best[pdtp > 1] > share
        name = f"above {share:g}"
        reached[name] = (
            proportion(among, level=LEVEL)
            if len(among)
            else Skipped(name, "no record has a PDTP above 1")
        )
    cells = {name: Cell(paper, reached[name]) for name, paper in BEST.items()}
    row = Row("best of three attacks", cells)
    notes = (*notes_of(effort, QUICK_1), _BEST)
    return Table("long-fig2", "Long et al. (2017), Figure 2", (row,), notes)


def long_table2(effort: Effort) -> Table:
    """Return Table 2: the distance-based attack on three models of two data sets."""
    rows = []
    for number, (label, paper) in enumerate(TABLE_2.items()):
        found = play_distance_attack(label, effort, part_of(effort, number, len(TABLE_2)))
        rows.append(Row(label, cells_of_table_2(found, paper)))
    notes = (*notes_of(effort, QUICK_2), _ADULT)
    return Table("long-table2", "Long et al. (2017), Table 2", tuple(rows), notes)


def cells_of_table_2(found: CandidateAudit, paper: PublishedRow) -> dict[str, Cell]:
    """Return a row of Table 2: accuracies, rates of its only attack, mean PDTP and correlation."""
    evaluation = found.evaluations[0]
    published = (paper.accuracy, paper.precision, paper.recall)
    return {
        "train accuracy": Cell(paper.train, found.train_accuracy),
        "test accuracy": Cell(paper.test, found.test_accuracy),
        **_rates(evaluation, published),
        "mean PDTP": Cell(paper.pdtp, found.mean_pdtp or Skipped("PDTP", "not measured")),
        "correlation": Cell(paper.correlation, _correlation(found, evaluation.title)),
    }


def _rates(evaluation: Evaluation, published: Sequence[float]) -> dict[str, Cell]:
    # `evaluation.precision` is for equal numbers of members and non-members; the paper counts among
    # the records of the game.
    precision = evaluation.precision
    if isinstance(precision, Estimate):
        scaled = with_odds(precision, evaluation.n_in / evaluation.n_out)
        precision = replace(scaled, method=precision.method.removesuffix(EQUAL_SIDES))
    ours = (evaluation.accuracy, precision, evaluation.recall)
    return {
        name: Cell(theirs, mine)
        for name, theirs, mine in zip(_COLUMNS, published, ours, strict=True)
    }


def _correlation(found: CandidateAudit, title: str) -> Estimate | Skipped:
    correlation = found.correlations[title]
    if isinstance(correlation, Skipped):
        return correlation
    method = f"{correlation.estimate.method}, p = {correlation.p_value:.2g}"
    return replace(correlation.estimate, method=method)


def play_distance_attack(
    label: str, effort: Effort, progress: Callable[[int, int], None] | None
) -> CandidateAudit:
    """Run the attack on a model of Table 2; the table and Figures 4 and 5 share the models.

    Parameters
    ----------
    label : str
        Model and data, such as `NN-Adult`.
    effort : Effort
    progress : callable or None
        Called with the work done and the total work for this model.
    """
    kept = effort.shared(f"long-table2-models-seed-{effort.seed}")
    return _play(
        label,
        effort,
        attacks=(Distance(design="per-target"),),
        progress=progress,
        run=None if kept is None else kept / label,
        quick=QUICK_2,
    )


def play_three_attacks(effort: Effort) -> CandidateAudit:
    """Run the three attacks on a network; Table 1 and Figures 1 and 2 share the models."""
    run = effort.shared(f"long-table1-models-seed-{effort.seed}")
    return _play(
        "NN-Purchase", effort, attacks=ATTACKS, progress=effort.progress, run=run, quick=QUICK_1
    )


def _play(
    label: str,
    effort: Effort,
    attacks: Sequence[Attack],
    progress: Callable[[int, int], None] | None,
    run: Path | None,
    quick: tuple[int, int, int],
) -> CandidateAudit:
    model, x, y = model_and_candidates(label, effort.seed)
    iterations, n_targets, measurements = sizes(effort, quick)
    return audit_candidates(
        model,
        x,
        y,
        iterations=iterations,
        n_targets=n_targets,
        measurements=measurements,
        design=PerTargetDesign(),
        attacks=attacks,
        run=run,
        n_jobs=effort.n_jobs,
        progress=progress,
        seed=effort.seed,
    )


def sizes(effort: Effort, quick: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the numbers of iterations, attacked records and measurements of PDTP."""
    if effort.quick:
        return quick
    # PDTP is measured in some of the iterations, so in no more than there are.
    iterations = effort.some(ITERATIONS, 10)
    return iterations, effort.some(TARGETS, 40), min(MEASUREMENTS, iterations)


def model_and_candidates(label: str, seed: int) -> tuple[object, NDArray[Any], Ints]:
    """Return the training and the candidates' features and classes for a row of Table 2."""
    # `numeric` counts the leading columns that naive Bayes takes as numbers, not as categories.
    kind, data = label.split("-")
    if data == "Adult":
        x, y, numeric = _adult(kind, seed)
    else:
        # The reader's own purchases, or else the stand-in.
        path = own_file(PURCHASES)
        x, y = location30() if path is None else purchases(path)
        if len(y) < CANDIDATES:
            raise InputError(
                f"{PURCHASES} must have {CANDIDATES:,} records or more, got {len(y):,}"
            )
        rows = _candidates(len(y), seed)
        x = x[rows]
        y = y[rows]
        numeric = 0
    if kind == "NN":
        return network(data), x, y
    if kind == "LR":
        return _logistic, x, y
    return naive_bayes_of(x, range(numeric)), x, y


def network(data: str) -> object:
    """Return the training of the network of Table 2, on `Adult` or `Purchase`."""
    from privacygauge.classifiers.networks import LONG_2017, Networks

    chosen = TRAINING[data]
    return Networks(
        LONG_2017,
        epochs=chosen.epochs,
        batch_size=chosen.batch,
        learning_rate=chosen.rate,
        optimiser="sgd",
    )


def _logistic(random_state: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    # The usual tolerance stops further from the optimum than one record moves it, so that PDTP
    # would measure the solver.
    return LogisticRegression(tol=1e-6, max_iter=2_000)


def _adult(kind: str, seed: int) -> tuple[Floats, Ints, int]:
    # Naive Bayes takes numbers and category codes; the other models take binary attributes.
    frame = adult()
    frame = frame.iloc[_candidates(len(frame), seed)].reset_index(drop=True)
    if kind != "NB":
        return *adult_binary(frame, NUMBERS), 0
    numbers = frame[list(NUMBERS)].to_numpy(np.float64)
    codes = [np.unique(frame[name], return_inverse=True)[1] for name in CATEGORICAL]
    x = np.column_stack([numbers, *codes])
    return x, frame["income"].to_numpy(np.int64), len(NUMBERS)


def _candidates(n: int, seed: int) -> Ints:
    return seeds.stream(seed, "reproduce", "candidates").choice(n, CANDIDATES, replace=False)


def notes_of(
    effort: Effort, quick: tuple[int, int, int], data: str = "Purchase"
) -> tuple[str, ...]:
    """Return notes on the data, and on the size if it is not the paper's.

    Parameters
    ----------
    effort : Effort
    quick : tuple of int
        Iterations, targets and measurements of the quick form.
    data : str, default "Purchase"
        `Adult` if no row is about purchases.
    """
    stand_in = _STAND_IN if own_file(PURCHASES) is None else _OWN
    about = _ADULT if data == "Adult" else stand_in
    if effort.form == "full":
        return (about,)
    iterations, n_targets, measurements = sizes(effort, quick)
    size = (
        f"{iterations} iterations, {n_targets} targets, PDTP from {measurements} of them; the "
        f"paper has {ITERATIONS}, {TARGETS} and {MEASUREMENTS}."
    )
    return (about, f"Quick form: {size}" if effort.quick else size)


# Table 3 of Long et al. (2017): the bounds of training stability, checked on answers p(y | x).

ROUNDING = 1e-9
"""Tolerance in nats: only a larger excess over a bound is a violation."""


QUICK = 200
FULL = 5_000
"""Training sets in the full form; `QUICK` in the quick form."""


@dataclass(frozen=True, eq=False)
class SmallData:
    """A small training set of categorical records of two classes."""

    x: Ints
    """(n, m) Categories, from 0."""
    y: Ints
    """(n,) Classes 0 and 1; both occur."""
    sizes: tuple[int, ...]
    """(m,) Number of categories of each attribute."""
    number: int
    """Index among the training sets: the unit of the intervals."""

    @property
    def queries(self) -> Ints:
        """(q, m) All possible queries: the product of the attributes' categories."""
        return np.indices(self.sizes).reshape(len(self.sizes), -1).T

    @property
    def n_min(self) -> int:
        """Number of records of the smaller class."""
        return int(np.bincount(self.y).min())

    @property
    def of_class(self) -> Ints:
        """(n,) Number of records of each record's class, itself included."""
        return np.bincount(self.y)[self.y]

    @property
    def shared(self) -> Ints:
        """(n, m) Number of records of each record's class with its value of each attribute."""
        # (n, n, m): pairs of records by attribute.
        same = (self.y[:, None] == self.y)[..., None] & (self.x[:, None] == self.x)
        return np.asarray(same.sum(axis=1))


@dataclass(frozen=True)
class Classifier:
    """A row of Table 3."""

    label: str
    """Name of the classifier."""
    learner: Callable[[SmallData], Learner]
    """Maker of the learner for a training set."""
    bound: Callable[[SmallData], StabilityBound] | None
    """Printed and proven bound for a training set; None if the classifier has none."""
    certified: Callable[[SmallData], Floats] | None = None
    """Bound on each record's DTP in nats, (n,), if sharper than the one that `bound` implies."""
    constant: bool = True
    """Whether delta is the same for all training sets."""


@dataclass(frozen=True, eq=False)
class AnswerChanges:
    """Changes of the answers when each record of a training set is left out, in nats."""

    own: Floats
    """(n,) Absolute log ratio of the record's own class at its own query."""
    largest: Floats
    """(n,) Largest absolute log ratio over all queries and classes."""
    asked: Bools
    """(n,) Whether definition 6.1 covers the record: its class is possible with and without it."""


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
        # The features of a query are its attributes and the class.
        lambda data: lsq_delta(len(data.sizes) + 1),
        constant=False,
    ),
    Classifier(
        "random decision trees",
        # Trees by the number of the training set: their structure does not depend on its records.
        lambda data: RandomDecisionTrees(
            data.sizes, n_trees=4, depth=2, seed=data.number, answers="geometric-mean"
        ),
        lambda data: random_trees_delta(),
    ),
    Classifier("nearest neighbours", lambda data: NearestNeighbours(1), None),
)


def long_table3(effort: Effort) -> Table:
    """Return Table 3: the share of records of small training sets that break the stated bounds."""
    number = QUICK if effort.quick else FULL
    rng = seeds.stream(effort.seed, "reproduce", "training sets")
    sets = [small_data(i, rng) for i in range(number)]
    rows = []
    for done, classifier in enumerate(CLASSIFIERS, 1):
        rows.append(Row(classifier.label, _cells(classifier, sets)))
        effort.told(done, len(CLASSIFIERS))
    return Table(
        "long-table3",
        "Long et al. (2017), Table 3",
        tuple(rows),
        (
            f"The paper's table has no numbers. Here: {number:,} random training sets of 4 to 16 "
            "records with 1 to 3 attributes of 2 or 3 values, two classes; every record is left "
            "out and every query asked. Counted are the records that definition 6.1 speaks of.",
            "The published number is the delta that the proposition states, ours the one that is "
            "proven for the answers p(y | x).",
            "Linear statistical queries are naive Bayes without smoothing, read as such.",
            "A share of 0 comes with the largest one that is compatible with it; that the proven "
            "bounds hold is shown by their proofs, not by the count.",
        ),
    )


def small_data(number: int, rng: np.random.Generator) -> SmallData:
    """Return a random training set: 4 to 16 records, 1 to 3 attributes of 2 or 3 values.

    Two equally likely classes with at least one record each, independent of the attributes.
    """
    n = int(rng.integers(4, 17))
    sizes = rng.integers(2, 4, size=int(rng.integers(1, 4)))
    # The last two records make sure that both classes occur.
    y = np.append(rng.integers(2, size=n - 2), [0, 1])
    x = np.column_stack([rng.integers(v, size=n) for v in sizes])
    return SmallData(x, y, tuple(sizes.tolist()), number)


def _cells(classifier: Classifier, sets: list[SmallData]) -> dict[str, Cell]:
    if classifier.bound is None:
        return _without_any(classifier, sets)
    # above: excess over the printed bound in nats; beyond: whether the proven bound is exceeded;
    # unit: the training set, as its records are not independent. All (records,), joined below.
    above = []
    beyond = []
    unit = []
    for data in sets:
        shown = leave_each_out(classifier.learner(data), data)
        bound = classifier.bound(data)
        assert bound.printed is not None
        # Theorem 6.2: the larger of delta and the ratio at the record's own query.
        with np.errstate(divide="ignore"):
            stated = np.maximum(np.log(bound.printed), shown.own)[shown.asked]
        if classifier.certified is None:
            proven = bound_over_queries(np.exp(shown.own), bound)[shown.asked]
        else:
            proven = classifier.certified(data)[shown.asked]
        above.append(shown.largest[shown.asked] - stated)
        beyond.append(shown.largest[shown.asked] > proven + ROUNDING)
        unit.append(np.full(np.count_nonzero(shown.asked), data.number))
    which = np.concatenate(unit)
    excess = np.concatenate(above)
    delta = Cell(None, Skipped("delta", "depends on the training set"))
    if classifier.constant:
        bound = classifier.bound(sets[0])
        delta = Cell(bound.printed, exact(bound.delta, 1, f"proven; {bound.source}"))
    return {
        "delta": delta,
        "records above the printed bound": Cell(None, proportion(excess > ROUNDING, which)),
        "largest excess": Cell(
            None, exact(max(float(excess.max()), 0.0), len(excess), "in nats; records searched")
        ),
        "records above the proven bound": Cell(None, proportion(np.concatenate(beyond), which)),
    }


def leave_each_out(learner: Learner, data: SmallData) -> AnswerChanges:
    """Return the changes of the answers to every query, for every class, without each record.

    A query without an answer on either side shows nothing: the definition is about probabilities
    only.
    """
    fitted: Fitted = learner.fit(data.x, data.y, n_classes=2)
    rows = np.arange(len(data.y))
    # with_it is (q, 2), without (n, q, 2).
    with_it = fitted.log_p(data.queries)
    without = fitted.log_p_without_at(rows, data.queries)
    largest = _ratio(with_it[None], without).max(axis=(1, 2))
    own = fitted.log_p(data.x)[rows, data.y], fitted.log_p_without(rows)[rows, data.y]
    possible = np.isfinite(own[0]) & np.isfinite(own[1])
    if isinstance(learner, RandomDecisionTrees):
        # Without a record that is alone in a leaf of any tree the leaf is empty, and proposition
        # 6.8 does not say what it answers. (trees, n), compared to (trees, n, n): pairs of records
        # in the same leaf of a tree.
        leaves = learner.leaves(data.x)
        possible &= ~((leaves[:, None] == leaves[..., None]).sum(axis=2) == 1).any(axis=0)
    return AnswerChanges(_ratio(*own), largest, possible)


def _ratio(log_p: Floats, log_q: Floats) -> Floats:
    """Return the absolute log ratio; 0 where both probabilities are 0 or an answer is missing."""
    # -inf less -inf, and a missing answer, are NaN.
    with np.errstate(invalid="ignore"):
        found = np.abs(log_p - log_q)
    return np.asarray(np.where(np.isnan(found), 0.0, found), np.float64)


def _without_any(classifier: Classifier, sets: list[SmallData]) -> dict[str, Cell]:
    """Return the cells of a classifier without a bound: how often its own query hides a record.

    Hidden: no change at the record's own query, an infinite one elsewhere.
    """
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
