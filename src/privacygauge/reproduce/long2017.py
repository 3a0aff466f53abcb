"""Tables 1 and 2 of Long et al. (2017): attacks on single records in the candidate-set game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.audits.classifier.candidates import audit_candidates
from privacygauge.audits.classifier.found import CandidateAudit
from privacygauge.classifier.candidates import PerTargetDesign
from privacygauge.classifier.dtp.naive_bayes import naive_bayes_of
from privacygauge.classifier.neural import Untargeted
from privacygauge.classifier.targeted import Distance, Frequency
from privacygauge.core import seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.datasets.adult import CATEGORICAL, CONTINUOUS, WEIGHT, adult, adult_binary
from privacygauge.datasets.local_copies import (
    LOCATION30,
    PURCHASES,
    location30,
    own_file,
    purchases,
)
from privacygauge.errors import InputError
from privacygauge.evaluate.correlation import correlation
from privacygauge.evaluate.decision import EQUAL_SIDES, with_odds
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rates import proportion
from privacygauge.reproduce.table import Cell, Effort, Row, Table, part_of

CANDIDATES = 2_000
"""Records in a candidate set; half of them train a model."""

ITERATIONS = 100
"""Cuts of the candidates into halves, each of which trains a target."""

TARGETS = 100
"""Attacked records."""

MEASUREMENTS = 10
"""Cuts in which PDTP is measured."""

NUMBERS = tuple(name for name in CONTINUOUS if name != WEIGHT)
"""Adult's numbers without the final weight, which section 5.1 leaves out."""

STAND_IN = "Location30"
"""In place of the purchases."""

STAND_IN_SHAPE = LOCATION30[1:]
"""Its binary attributes and its classes; the paper's purchases have 836 and 10."""

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
"""Iterations, targets and measurements of the quick forms of Table 1 and of Table 2, which has six
rows."""

_BEST = (
    "Above 0.8, above 0.6: the share of the records with a PDTP above 1 about which the best "
    "attack is right so often."
)
_COLUMNS = ("accuracy", "precision", "recall")

LEVEL = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class GradientDescent:
    """How a network of Table 2 is trained, by plain gradient descent."""

    epochs: int
    """Passes over the training set, the paper's maximum."""
    batch: int
    """Records a step; the paper names none."""
    rate: float
    """Learning rate; 0.01 in the paper."""


TRAINING = {"Adult": GradientDescent(100, 20, 0.01), "Purchase": GradientDescent(30, 10, 0.1)}
"""Data to the training of its network.

Single records at 0.01 (or, ten times faster and as accurate, ten records at 0.1) fit Location30 to
the full, as the paper's network does the purchases. On Adult they would overfit by 12 points, where
the paper's training and test accuracy are equal: there 20 records at 0.01.
"""


@dataclass(frozen=True)
class PublishedRow:
    """A row of the paper."""

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
"""Attack to accuracy, precision, recall and correlation with PDTP."""

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
"""The distance-based attack on each model."""


BEST = {"correlation": 0.8936, "above 0.8": 0.8462, "above 0.6": 1.0}
"""What the text says of Figure 2; the last two are of the records whose PDTP is above 1."""

ATTACKS: tuple[Attack, ...] = (
    Untargeted(),
    Frequency(design="per-target"),
    Distance(design="per-target"),
)
"""Of Table 1."""


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
    """Return Figure 2: how right the best of the three attacks is about each record, and PDTP.

    The best attack on a record is the one that is right most often about it: the largest of
    three noisy shares, as in the paper.
    """
    found = play_three_attacks(effort)
    assert found.measured is not None
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
        evaluation = found.evaluations[0]
        published = (paper.accuracy, paper.precision, paper.recall)
        cells = {
            "train accuracy": Cell(paper.train, found.train_accuracy),
            "test accuracy": Cell(paper.test, found.test_accuracy),
            **_rates(evaluation, published),
            "mean PDTP": Cell(paper.pdtp, found.mean_pdtp or Skipped("PDTP", "not measured")),
            "correlation": Cell(paper.correlation, _correlation(found, evaluation.title)),
        }
        rows.append(Row(label, cells))
    notes = (*notes_of(effort, QUICK_2), _ADULT)
    return Table("long-table2", "Long et al. (2017), Table 2", tuple(rows), notes)


def _rates(evaluation: Evaluation, published: Sequence[float]) -> dict[str, Cell]:
    ours = (evaluation.accuracy, _sample_precision(evaluation), evaluation.recall)
    return {
        name: Cell(theirs, mine)
        for name, theirs, mine in zip(_COLUMNS, published, ours, strict=True)
    }


def _sample_precision(evaluation: Evaluation) -> Estimate | Skipped:
    """Return the precision among the records of the game, as the paper counts it."""
    found = evaluation.precision
    if isinstance(found, Skipped):
        return found
    scaled = with_odds(found, evaluation.n_in / evaluation.n_out)
    return replace(scaled, method=found.method.removesuffix(EQUAL_SIDES))


def _correlation(found: CandidateAudit, title: str) -> Estimate | Skipped:
    correlation = found.correlations[title]
    if isinstance(correlation, Skipped):
        return correlation
    method = f"{correlation.estimate.method}, p = {correlation.p_value:.2g}"
    return replace(correlation.estimate, method=method)


def play_distance_attack(
    label: str, effort: Effort, progress: Callable[[int, int], None] | None
) -> CandidateAudit:
    """Return the attack on a model of Table 2; the table and Figures 4 and 5 share the models.

    Parameters
    ----------
    label : str
        The model and its data, such as `NN-Adult`.
    effort : Effort
    progress : callable or None
        Called with what is done and all there is to do for this model.
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
    """Return the three attacks on a network; Table 1 and Figures 1 and 2 share the models."""
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
    """Return how many iterations, attacked records and measurements of PDTP there are."""
    if effort.quick:
        return quick
    iterations = effort.some(ITERATIONS, 10)
    return iterations, effort.some(TARGETS, 40), min(MEASUREMENTS, iterations)


def model_and_candidates(label: str, seed: int) -> tuple[object, NDArray[Any], Ints]:
    """Return how the model is trained, and the candidates, for a row of Table 2."""
    kind, data = label.split("-")
    x, y, numeric = _adult(kind, seed) if data == "Adult" else _purchases(seed)
    if kind == "NN":
        return network(data), x, y
    if kind == "LR":
        return _logistic, x, y
    return naive_bayes_of(x, range(numeric)), x, y


def network(data: str) -> object:
    """Return how the network of Table 2 is trained on Adult or for purchases."""
    from privacygauge.classifier.networks import LONG_2017, Networks

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

    # The usual tolerance stops further from the optimum than one record moves it.
    return LogisticRegression(tol=1e-6, max_iter=2_000)


def _purchases(seed: int) -> tuple[Floats, Ints, int]:
    """Return candidates of the reader's own purchases; without them of the stand-in."""
    path = own_file(PURCHASES)
    x, y = location30() if path is None else purchases(path)
    if len(y) < CANDIDATES:
        raise InputError(f"{PURCHASES} must have {CANDIDATES:,} records or more, got {len(y):,}")
    rows = _candidates(len(y), seed)
    return x[rows], y[rows], 0


def _adult(kind: str, seed: int) -> tuple[Floats, Ints, int]:
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
    """Return notes on the data, and on the size where that is not the paper's.

    Parameters
    ----------
    effort : Effort
    quick : tuple of int
        Iterations, targets and measurements of the quick form.
    data : str, default "Purchase"
        `Adult` where no row is about purchases.
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
