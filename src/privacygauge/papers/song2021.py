"""Table 4 of Song & Mittal (2021) without a defence; data and printed rows of all its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.predictions import Predictions, predictions
from privacygauge.classifiers.shadows import cohort_of, train_all
from privacygauge.classifiers.suite import METRICS
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.datasets.local_copies import (
    data_folders,
    file_in,
    location30,
    own_file,
    purchase100,
    texas100,
)
from privacygauge.errors import InputError
from privacygauge.evaluate.playing import audit
from privacygauge.evaluate.rates import mean
from privacygauge.papers.table import Cell, Effort, Row, Table, part_of
from privacygauge.runs.folder import kept_or_scratch

# The data of Song & Mittal (2021): the reader's own copies, or Location30 in their place.

PURCHASE = "Purchase100"
TEXAS = "Texas100"
LOCATION = "Location30"

FILES = {PURCHASE: ("dataset_purchase",), TEXAS: ("feats", "labels")}
"""Data to the files of the reader's copy, in the folder that PRIVACYGAUGE_DATA names."""

MEMBERS = {PURCHASE: 19_732, TEXAS: 10_000, LOCATION: 1_000}
"""Training records of a target."""

_ACTIVATIONS = {PURCHASE: "tanh", TEXAS: "relu", LOCATION: "tanh"}


@dataclass(frozen=True)
class Side:
    """The records of a target or of a shadow model."""

    first: int
    """Index of the first member; the members are followed by an equal number of non-members."""
    n_train: int
    """Number of members."""
    reference: range = range(0)
    """Reference records for adversarial regularisation, neither members nor non-members."""

    @property
    def rows(self) -> Ints:
        """(2 n_train,) Indices of the members, then of the non-members."""
        return np.arange(self.first, self.first + 2 * self.n_train)

    def inside(self, n: int) -> Bools:
        """Return whether each of n records is a member, (n,)."""
        found = np.zeros(n, np.bool_)
        found[self.first : self.first + self.n_train] = True
        return found

    def predictions(self, logits: NDArray[Any], y: Ints) -> Predictions:
        """Return a model's predictions for this side, from logits (a, k) of the first records."""
        member = self.inside(len(y))[self.rows]
        return predictions(
            logits=logits[self.rows], labels=y[self.rows], member=member, name="model"
        )


@dataclass(frozen=True, eq=False)
class DataSetting:
    """A data set and its split into the records of a target and of a shadow model."""

    name: str
    """Name of the data."""
    x: NDArray[Any]
    """(n, d) Features."""
    y: Ints
    """(n,) Classes in 0..k-1."""
    sides: tuple[Side, Side]
    """Records of the target, then of the shadow model."""
    activation: str
    """Activation of the classifiers, the paper's for these data."""

    @property
    def n_asked(self) -> int:
        """Number of first records with predictions: members and non-members of both sides."""
        return 4 * self.sides[0].n_train


def states(seed: int, role: int, n: int) -> tuple[int, ...]:
    """Return the random states of n targets (role 0) or n shadow models (role 1)."""
    return tuple(int(seeds.stream(seed, "model", role, i).integers(2**31)) for i in range(n))


def available(*wanted: str) -> str:
    """Return the first of these data sets of which the reader has a copy; Location30 if none."""
    for folder in data_folders():
        for name in wanted:
            if all(file_in(folder, file) is not None for file in FILES[name]):
                return name
    return LOCATION


def own_note(name: str) -> tuple[str, ...]:
    """Return the note on the reader's own data; empty for the stand-in."""
    if name == LOCATION:
        return ()
    return (
        f"Made on the reader's copy of {name}: what the notes below say of Location30, and of the "
        "authors' predictions, is about the results without a copy.",
    )


def setting(wanted: str, seed: int) -> DataSetting:
    """Return the reader's copy of these data in random order, or else Location30.

    Song & Mittal (2021), section 3.3: a tenth of Purchase100 and 10,000 records of Texas100 are
    members. The paper does not publish its choice of records.

    Parameters
    ----------
    wanted : str
        Purchase100, Texas100 or Location30.
    seed : int
        Seed of the order.
    """
    paths = [own_file(name) for name in FILES.get(wanted, ())]
    there = [path for path in paths if path is not None]
    if not there or len(there) < len(paths):
        # Location30 comes in the order of the authors of MemGuard, which fixes its members.
        return _cut(LOCATION, *location30())
    packed = next((path for path in there if path.suffix == ".gz"), None)
    if packed is not None:
        raise InputError(f"{wanted} must be unpacked, got {packed.name}: unpack it there")
    x, y = purchase100(*there) if wanted == PURCHASE else texas100(*there)
    order = seeds.stream(seed, "records", wanted).permutation(len(y))
    return _cut(wanted, x[order], y[order])


def _cut(name: str, x: NDArray[Any], y: Ints) -> DataSetting:
    # Target members and non-members, then the shadow model's: 4 n records. What is left is split
    # into the reference records of both, at most n each.
    n = MEMBERS[name]
    left = len(y) - 4 * MEMBERS[name]
    if left < 2:
        raise InputError(
            f"{name} must have more than {4 * n} records, got {len(y)}: get the whole file"
        )
    half = min(left // 2, n)
    references = (range(4 * n + i * half, 4 * n + (i + 1) * half) for i in range(2))
    target, shadow = (Side(2 * i * n, n, rows) for i, rows in enumerate(references))
    return DataSetting(name, x=x, y=y, sides=(target, shadow), activation=_ACTIVATIONS[name])


# Rows of Song & Mittal (2021) on data that are not available: printed numbers without ours.

_ACCURACIES = ("train accuracy", "test accuracy")
_METRICS = ("correctness", "confidence", "entropy", "modified-entropy")
_NETWORK = "network"

TABLE_2 = (
    (*_ACCURACIES, *_METRICS, _NETWORK),
    {
        "Purchase100, no defence": (0.998, 0.809, 0.595, 0.671, 0.657, 0.671, 0.676),
        "Purchase100, adversarial regularisation": (
            0.927,
            0.766,
            0.581,
            0.594,
            0.558,
            0.595,
            0.516,
        ),
        "Purchase100, early stopping": (0.929, 0.764, 0.582, 0.592, 0.559, 0.591, None),
        "Texas100, no defence": (0.810, 0.523, 0.644, 0.678, 0.602, 0.677, 0.630),
        "Texas100, adversarial regularisation": (0.566, 0.464, 0.551, 0.586, 0.535, 0.586, 0.510),
        "Texas100, early stopping": (0.593, 0.479, 0.557, 0.594, 0.540, 0.595, None),
    },
)
"""Columns, then rows with numbers in that order; the network is that of Nasr et al. (2018)."""

TABLE_3 = (
    ("no defence", "adversarial regularisation", "early stopping"),
    {
        "Texas100: confidence, one threshold": (0.647, 0.555, 0.558),
        "Texas100: confidence, one for each class": (0.678, 0.586, 0.594),
        "Texas100: entropy, one threshold": (0.583, 0.529, 0.532),
        "Texas100: entropy, one for each class": (0.602, 0.535, 0.540),
        "Texas100: modified-entropy, one threshold": (0.648, 0.554, 0.559),
        "Texas100: modified-entropy, one for each class": (0.677, 0.586, 0.595),
    },
)
"""Columns, then rows with numbers in that order."""

TABLE_4_UNDEFENDED = (
    (*_ACCURACIES, *_METRICS, _NETWORK),
    {
        "Texas100, no defence": (0.9995, 0.5177, 0.742, 0.790, 0.666, 0.794, 0.740),
    },
)
"""Undefended row of Table 4; the network is the best one of Jia et al. (2019)."""

TABLE_4_DEFENDED = (
    (*_ACCURACIES, *_METRICS, _NETWORK),
    {
        "Texas100, MemGuard": (0.9995, 0.5177, 0.742, 0.741, 0.546, 0.740, 0.503),
    },
)
"""Defended row of Table 4."""

TABLE_5 = (
    (*_ACCURACIES, *_METRICS, _NETWORK, "white-box"),
    {
        "Purchase100": (0.998, 0.809, 0.595, 0.671, 0.657, 0.671, 0.676, 0.734),
        "Texas100": (0.810, 0.523, 0.644, 0.678, 0.602, 0.677, 0.630, 0.683),
        "CIFAR-100": (1.0, 0.83, 0.585, 0.737, 0.733, 0.736, 0.677, 0.743),
    },
)
"""Columns, then rows with numbers in that order; networks are those of Nasr et al. (2019)."""

_Printed = tuple[tuple[str, ...], Mapping[str, tuple[float | None, ...]]]


def printed_rows(printed: _Printed) -> list[Row]:
    """Return rows of the paper's numbers, each with a note that ours is not measured."""
    columns, rows = printed
    missing = Skipped("ours", "the data of the paper's other rows are not available")
    return [
        Row(
            label,
            {
                column: Cell(value, missing)
                for column, value in zip(columns, values, strict=True)
                if value is not None
            },
        )
        for label, values in rows.items()
    ]


TABLE_4 = {
    "train accuracy": 1.0,
    # Printed is 60.7%; the correctness attack in the same row says 62.6% (Errata).
    "test accuracy": 0.626,
    "correctness": 0.687,
    "confidence": 0.763,
    "entropy": 0.616,
    "modified-entropy": 0.781,
}
"""Row to the printed accuracy on Location30, undefended, the test accuracy corrected; attacks have
a threshold per class."""

LEVEL = 0.95


def song_table4(effort: Effort) -> Table:
    """Return Table 4 without a defence, from targets and shadow models trained here.

    The members and non-members are the paper's; initial weights and order of batches are drawn
    several times. Thresholds come from a shadow model like the published one, and from one trained
    like the target.
    """
    from privacygauge.classifiers.networks import SONG_MITTAL_2021_RELU, Networks

    data = setting(available(TEXAS), effort.seed)
    own = data.name != LOCATION
    sides = data.sides if own else (TARGET, ALIKE)
    x = data.x
    y = data.y
    n = 2 if effort.quick else PAIRS
    networks = Networks(
        SONG_MITTAL_2021_RELU,
        epochs=EPOCHS,
        batch_size=BATCH,
        optimiser="sgd",
        learning_rate=RATE,
    )
    # One run for targets and like shadow models; one for shadow models like the published one, of
    # which there is none for Texas100.
    runs: list[tuple[str, Networks, tuple[Side, ...]]] = [("targets", networks, sides)]
    if not own:
        runs.append(("shadows", replace(networks, epochs=FEWER), (PUBLISHED,)))
    logits = []
    with kept_or_scratch(effort.run) as folder:
        for number, (name, trainer, trained) in enumerate(runs):
            inside = np.repeat([side.inside(len(y)) for side in trained], n, axis=0)
            logits.append(
                train_all(
                    trainer,
                    cohort_of(x, y, inside, effort.seed),
                    seed=effort.seed,
                    run=Path(folder) / name,
                    n_jobs=effort.n_jobs,
                    progress=part_of(effort, number, 2),
                )
            )
    found: dict[str, list[dict[str, float]]] = {} if own else {"published": []}
    found["alike"] = []
    # logits[0]: of n targets, then of n shadow models, (2 n, a, k).
    for i in range(n):
        target = sides[0].predictions(logits[0][i], y)
        shadows = {"alike": sides[1].predictions(logits[0][n + i], y)}
        if not own:
            shadows["published"] = PUBLISHED.predictions(logits[1][i], y)
        for name, shadow in shadows.items():
            # Accuracies of the classifier, then of the attacks by thresholds from the shadow model.
            right = target.values.argmax(axis=1) == target.labels
            accuracies = {
                "train accuracy": float(right[target.member].mean()),
                "test accuracy": float(right[~target.member].mean()),
            }
            rounds = PredictionGame(target, shadow).deal(1, seeds.stream(effort.seed, "deal"))
            # Each result is a pair of the guesses and their evaluation.
            for result in audit(
                rounds, [Threshold(name) for name in METRICS], seed=effort.seed, level=LEVEL
            ):
                assert not isinstance(result, Skipped)  # predictions have all four signals
                accuracies[result[1].name] = result[1].accuracy.value
            found[name].append(accuracies)
    columns, printed = TABLE_4_UNDEFENDED
    texas = dict(zip(columns, printed[f"{TEXAS}, no defence"], strict=True))
    return Table(
        "song-table4",
        f"Song & Mittal (2021), Table 4, {data.name}",
        (
            *(_row(name, texas[name] if own else TABLE_4[name], found) for name in TABLE_4),
            *printed_rows(TABLE_4_UNDEFENDED),
        ),
        (*own_note(data.name), *_NOTES),
    )


TARGET = Side(0, 1_000)
EPOCHS = 200
"""Epochs of a target. `TARGET`: the paper's members and non-members, in the order of the MemGuard
authors."""

PUBLISHED = Side(3_000, 500)
FEWER = 140
"""Epochs of a shadow model on the paper's shadow records (`PUBLISHED`): 140 give its members the
median confidence of the published one, .82."""

ALIKE = Side(2_000, 1_000)
"""Records of a shadow model trained like the target, on as many records."""

BATCH = 64
RATE = 0.01
"""Learning rate of plain gradient descent; `BATCH` records per step."""

PAIRS = 10
"""Number of targets, each with one shadow model of either kind; the quick form has two."""

_NOTES = (
    "Trained as the MemGuard authors did (Jia et al. 2019): plain gradient descent, batches of 64, "
    "learning rate 0.01, 200 epochs; the target's median confidence on members is then .98 (.96 "
    "in the published predictions).",
    "Mean over pairs of a target and a shadow model that differ in initial weights and order of "
    "batches; the intervals hold for these, with the records as given.",
    "Published: 500 records and 140 epochs, which give the shadow model the confidence that the "
    "published one has. Alike: trained as the target is, on 1,000 other records. Thresholds of "
    "a shadow model that is less certain than the target let more non-members through, so the "
    "paper's numbers understate the attack.",
    "The test accuracy beside ours is 62.6%, as the paper's correctness attack says: half of 100% "
    "right on members and 37.4% wrong on others; printed is 60.7%.",
)


def _row(name: str, paper: float | None, found: Mapping[str, list[dict[str, float]]]) -> Row:
    """Return a row with a cell per kind of shadow model; the target's accuracies have one cell."""
    cells = {
        f"{column} shadow": Cell(
            paper if column == next(iter(found)) else None,
            mean(np.array([one[name] for one in measured]), LEVEL, unit="pairs of models"),
        )
        for column, measured in found.items()
    }
    if name.endswith("accuracy"):
        return Row(name, {"accuracy": next(iter(cells.values()))})
    return Row(name, cells)
