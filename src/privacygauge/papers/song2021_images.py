"""Table 7 of Song & Mittal (2021): attacks on a network for images, here handwritten digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.neural import NeuralNasr
from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.shadows import cohort_of, train_all
from privacygauge.classifiers.suite import METRICS
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.datasets.public import digits
from privacygauge.evaluate.defences import accuracy_lost
from privacygauge.evaluate.playing import audit
from privacygauge.evaluate.rates import proportion
from privacygauge.papers.song2021 import LEVEL, Side, printed_rows, states
from privacygauge.papers.song2021_tables import over_fits, over_pairs
from privacygauge.papers.table import Cell, Effort, Row, Table, part_of
from privacygauge.runs.folder import kept_or_scratch

if TYPE_CHECKING:
    import torch

CHANNELS = (32, 64)
"""Output channels of the convolution blocks."""

MEMBERS = 440
"""Training images of a target; the digits are 1,797 images, for two models and their others."""

EPOCHS = 40
"""Training epochs."""

BATCH = 32
RATE = 1e-3
"""Learning rate of Adam; `BATCH` images per step."""

PAIRS = 5
"""Pairs of a target and a shadow model; the quick form has one, of `QUICK` epochs."""

QUICK = 6

NOISE = {"digits": 0.0, "noisy digits": 0.4}
"""Images to the standard deviation of the grey noise on them, of a range from 0 to 1."""

ATTACKS: tuple[Attack, ...] = (*(Threshold(name) for name in METRICS), NeuralNasr())

BEST = "modified-entropy"
"""The paper's attack, and the ones that it is compared with."""
COMPARED = ("correctness", "neural-nasr")

TABLE_7 = (
    ("train accuracy", "test accuracy", *METRICS, "neural-nasr"),
    {
        "CH-MNIST": (0.990, 0.717, 0.637, 0.726, 0.696, 0.726, 0.705),
        "Car196": (0.993, 0.875, 0.559, 0.637, 0.629, 0.637, 0.631),
    },
)
"""Columns, then the printed rows in their order."""

_NOTES = (
    "The paper's images, CH-MNIST and Car196, are not available; 8 x 8 handwritten digits stand "
    f"in, as they are and under grey noise of {NOISE['noisy digits']:g}, so that a network errs "
    "on new ones. Only claims can be compared.",
    "The network is the paper's for CH-MNIST: two blocks of a convolution, 32 and 64 channels. Its "
    "ResNet-50, which another data set had trained before, is not made.",
    "Thresholds, and the network of Nasr et al., are learnt on a shadow model that is trained as "
    "the target is, on other images. Mean over pairs of models on the same images; the intervals "
    "allow for the images and for the pairs.",
)


@dataclass(frozen=True)
class Convolutions:
    """Two blocks of a 3 x 3 convolution, rectified and pooled by two, then one linear layer."""

    channels: tuple[int, int] = CHANNELS
    """Output channels of the blocks."""
    side: int = 8
    """Height and width of an image, divisible by 4."""

    def __call__(self, n_features: int, n_classes: int) -> torch.nn.Module:
        """Return an untrained network for grey images in rows."""
        from torch import nn

        first, second = self.channels
        blocks = [
            layer
            for before, after in ((1, first), (first, second))
            for layer in (nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        ]
        last = nn.Linear(second * (self.side // 4) ** 2, n_classes)
        image = nn.Unflatten(1, (1, self.side, self.side))
        return nn.Sequential(image, *blocks, nn.Flatten(), last)


def song_table7(effort: Effort) -> Table:
    """Return Table 7 on digits: accuracies, and every attack's.

    The quick form has one pair of models and six epochs, the full one five and forty.
    """
    rows = []
    for number, (name, noise) in enumerate(NOISE.items()):
        x, y = noisy_digits(noise, effort.seed)
        n = 1 if effort.quick else PAIRS
        sides = (Side(0, MEMBERS), Side(2 * MEMBERS, MEMBERS))
        networks = Networks(
            Convolutions(),
            epochs=QUICK if effort.quick else EPOCHS,
            batch_size=BATCH,
            learning_rate=RATE,
        )
        # Models 0 to n - 1 are targets, n to 2 n - 1 shadow models.
        inside = np.repeat([side.inside(len(y)) for side in sides], n, axis=0)
        own = states(effort.seed, 0, n) + states(effort.seed, 1, n)
        with kept_or_scratch(effort.run) as folder:
            logits = train_all(
                networks,
                cohort_of(x, y, inside, effort.seed, states=own),
                seed=effort.seed,
                run=Path(folder) / name.replace(" ", "-"),
                n_jobs=effort.n_jobs,
                progress=part_of(effort, number, len(NOISE)),
            )
        pairs = [
            (sides[0].predictions(logits[i], y), sides[1].predictions(logits[n + i], y))
            for i in range(n)
        ]
        rows.append(Row(name, _cells(pairs, effort.seed)))
    rows += printed_rows(TABLE_7)
    return Table("song-table7", "Song & Mittal (2021), Table 7, on digits", tuple(rows), _NOTES)


def noisy_digits(noise: float, seed: int) -> tuple[NDArray[np.float32], Ints]:
    """Return the digits in a random order, under grey noise of a standard deviation, (n, 64)."""
    x, y = digits()
    order = seeds.stream(seed, "reproduce", "digits").permutation(len(y))
    rng = seeds.stream(seed, "reproduce", "noise")
    return (x + noise * rng.normal(size=x.shape)).astype(np.float32)[order], y[order]


def _cells(pairs: Sequence[tuple[Predictions, Predictions]], seed: int) -> dict[str, Cell]:
    found: dict[str, list[Estimate]] = {}
    leads: dict[str, list[Estimate]] = {}
    for number, (target, shadow) in enumerate(pairs):
        right = target.answers.argmax(axis=1) == target.labels
        for name, side in (("train accuracy", target.member), ("test accuracy", ~target.member)):
            found.setdefault(name, []).append(proportion(right[side], level=LEVEL))
        # Attack networks are drawn for each pair by itself, as its models are.
        rounds = PredictionGame(target, shadow).deal(1, seeds.stream(seed + number, "deal"))
        guessed = {}
        for result in audit(rounds, ATTACKS, seed=seed + number, level=LEVEL):
            assert not isinstance(result, Skipped)  # predictions with a shadow have all signals
            guessed[result[1].name] = result[0].decisions
            accuracy = result[1].accuracy
            assert isinstance(accuracy, Estimate)
            found.setdefault(result[1].name, []).append(accuracy)
        for other in COMPARED:
            # Guesses on the same images: compared image by image.
            lead = accuracy_lost(guessed[BEST], guessed[other], LEVEL)
            leads.setdefault(f"{BEST} less {other}", []).append(lead)
    cells = {name: Cell(None, over_fits(fits)) for name, fits in found.items()}
    return cells | {name: Cell(None, over_pairs(fits)) for name, fits in leads.items()}
