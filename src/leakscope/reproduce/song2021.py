"""Table 4 of Song & Mittal (2021) from training on: Location30 without a defence."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from leakscope.audit.attacks import audit
from leakscope.classifier.game import PredictionGame
from leakscope.classifier.predictions import Predictions, predictions
from leakscope.classifier.shadows import train_all
from leakscope.classifier.suite import METRICS
from leakscope.core import seeds
from leakscope.core.attacks.threshold import Threshold
from leakscope.core.checks import Bools, Floats, Ints
from leakscope.core.estimate import Estimate, Skipped
from leakscope.datasets.location30 import location30
from leakscope.reproduce.table import Cell, Effort, Row, Table

TABLE_4 = {
    "train accuracy": 1.0,
    "test accuracy": 0.607,
    "correctness": 0.687,
    "confidence": 0.763,
    "entropy": 0.616,
    "modified-entropy": 0.781,
}
"""Undefended model; accuracies of attacks with a threshold for each class."""

N_TRAIN = 1_000
"""Records that train a target; as many others are its non-members."""

SHADOW_SIZES = (500, 1_000)
"""Records that train a shadow model: the paper's files have 500."""

LEVEL = 0.95


def song_table4(effort: Effort) -> Table:
    """Return Table 4 without a defence: targets and shadow models trained anew.

    The target's members and non-members are the paper's; initial weights and order of batches
    are drawn several times. Shadow models are trained on records that no target saw: on 500, as
    in the paper's files, and on 1,000, as many as the target.
    """
    from leakscope.classifier.networks import SONG_MITTAL_2021_RELU, Networks

    x, y = location30()
    n = 2 if effort.quick else 10
    inside = _training_sets(len(y), n, effort.seed)
    trainer = Networks(
        SONG_MITTAL_2021_RELU, epochs=200, batch_size=64, optimiser="sgd", learning_rate=0.01
    )
    scratch = tempfile.TemporaryDirectory(prefix="leakscope-")
    with scratch if effort.run is None else nullcontext(effort.run) as folder:
        values = train_all(
            trainer,
            x,
            y,
            inside,
            seed=effort.seed,
            run=Path(folder),
            n_jobs=effort.n_jobs,
            progress=effort.progress,
        )
    shadows = {
        f"accuracy, shadow of {size}": (n * (1 + number), size)
        for number, size in enumerate(SHADOW_SIZES)
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in shadows}
    for i in range(n):
        target = _target(values[i], y, inside[i])
        for name, (first, size) in shadows.items():
            shadow = _shadow(values[first + i], y, inside[first + i], size, effort.seed)
            found[name].append(_measured(target, shadow, effort.seed))
    return Table(
        "song-table4",
        "Song & Mittal (2021), Table 4, Location30",
        tuple(_row(name, paper, found) for name, paper in TABLE_4.items()),
        _NOTES,
    )


_NOTES = (
    "Trained as the MemGuard authors did (Jia et al. 2019): 200 epochs of plain gradient descent, "
    "batches of 64, learning rate 0.01.",
    "Mean over pairs of a target and a shadow model that differ in initial weights and order of "
    "batches; the intervals hold for these, with the paper's 1,000 members and 1,000 non-members "
    "as given.",
    "Thresholds for each class. The paper's shadow model saw 500 records, the target 1,000: its "
    "members look less certain, and thresholds learnt on it let more non-members through.",
)


def _row(name: str, paper: float, found: Mapping[str, list[dict[str, float]]]) -> Row:
    """Return a row; what concerns the target alone has one cell."""
    cells = {
        column: Cell(paper if number == 0 else None, _mean([one[name] for one in measured]))
        for number, (column, measured) in enumerate(found.items())
    }
    if name.endswith("accuracy"):
        return Row(name, {"accuracy": next(iter(cells.values()))})
    return Row(name, cells)


def _training_sets(n: int, pairs: int, seed: int) -> Bools:
    """Return the targets' records, then those of the shadow models of each size."""
    inside = np.zeros((pairs * (1 + len(SHADOW_SIZES)), n), np.bool_)
    inside[:pairs, :N_TRAIN] = True
    others = np.arange(2 * N_TRAIN, n)
    for i, row in enumerate(inside[pairs:]):
        rng = seeds.stream(seed, "reproduce", "song-table4", i)
        row[rng.choice(others, SHADOW_SIZES[i // pairs], replace=False)] = True
    return inside


def _target(values: NDArray[Any], y: Ints, inside: Bools) -> Predictions:
    rows = slice(2 * N_TRAIN)
    return predictions(logits=values[rows], labels=y[rows], member=inside[rows], name="target")


def _shadow(values: NDArray[Any], y: Ints, inside: Bools, size: int, seed: int) -> Predictions:
    """Return a shadow model's predictions on its members, and on as many of the others."""
    others = np.flatnonzero(~inside)
    rng = seeds.stream(seed, "reproduce", "song-table4", "others")
    outside = rng.choice(others[others >= 2 * N_TRAIN], size, replace=False)
    rows = np.concatenate([np.flatnonzero(inside), outside])
    return predictions(logits=values[rows], labels=y[rows], member=inside[rows], name="shadow")


def _measured(target: Predictions, shadow: Predictions, seed: int) -> dict[str, float]:
    right = target.values.argmax(axis=1) == target.labels
    found = {
        "train accuracy": float(right[target.member].mean()),
        "test accuracy": float(right[~target.member].mean()),
    }
    rounds = PredictionGame(target, shadow).deal(1, seeds.stream(seed, "deal"))
    for result in audit(rounds, [Threshold(name) for name in METRICS], seed=seed, level=LEVEL):
        assert not isinstance(result, Skipped)  # predictions have all four signals
        found[result[1].name] = result[1].accuracy.value
    return found


def _mean(values: list[float]) -> Estimate:
    array: Floats = np.array(values)
    n = len(array)
    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * float(array.std(ddof=1)) / np.sqrt(n)
    value = float(array.mean())
    return Estimate(value, value - half, value + half, LEVEL, n, "t over targets")
