"""Table 4 of Song & Mittal (2021) from training on: Location30 without a defence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.shadows import cohort_of, train_all
from privacygauge.classifier.suite import METRICS
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.playing import audit
from privacygauge.evaluate.rates import mean
from privacygauge.reproduce import song2021_printed
from privacygauge.reproduce.song2021_settings import (
    LOCATION,
    TEXAS,
    Side,
    available,
    own_note,
    setting,
)
from privacygauge.reproduce.table import Cell, Effort, Row, Table, part_of
from privacygauge.runs.folder import kept_or_scratch

TABLE_4 = {
    "train accuracy": 1.0,
    "test accuracy": 0.607,
    "correctness": 0.687,
    "confidence": 0.763,
    "entropy": 0.616,
    "modified-entropy": 0.781,
}
"""Undefended model; accuracies of attacks with a threshold for each class."""

LEVEL = 0.95


def song_table4(effort: Effort) -> Table:
    """Return Table 4 without a defence: targets and shadow models trained again.

    The members and non-members are the paper's; initial weights and order of batches are drawn
    several times. Thresholds are learnt on a shadow model like the published one, and on one
    that is trained as the target is.
    """
    data = setting(available(TEXAS), effort.seed)
    own = data.name != LOCATION
    sides = data.sides if own else (TARGET, ALIKE)
    x = data.x
    y = data.y
    n = 2 if effort.quick else PAIRS
    with kept_or_scratch(effort.run) as folder:
        parts = [_Part(Path(folder) / name, number, effort) for number, name in enumerate(_PARTS)]
        values = parts[0].train(
            x, y, np.repeat([side.inside(len(y)) for side in sides], n, axis=0), EPOCHS
        )
        # Of Texas100 no shadow model is published.
        weak: Any = (
            []
            if own
            else parts[1].train(x, y, np.repeat([PUBLISHED.inside(len(y))], n, axis=0), FEWER)
        )
    found: dict[str, list[dict[str, float]]] = {} if own else {"published": []}
    found["alike"] = []
    for i in range(n):
        target = sides[0].predictions(values[i], y)
        shadows = {"alike": sides[1].predictions(values[n + i], y)}
        if not own:
            shadows["published"] = PUBLISHED.predictions(weak[i], y)
        for name, shadow in shadows.items():
            found[name].append(_measure_accuracies(target, shadow, effort.seed))
    columns, printed = song2021_printed.TABLE_4
    texas = dict(zip(columns, printed[f"{TEXAS}, no defence"], strict=True))
    return Table(
        "song-table4",
        f"Song & Mittal (2021), Table 4, {data.name}",
        (
            *(_row(name, texas[name] if own else TABLE_4[name], found) for name in TABLE_4),
            *song2021_printed.printed_rows(song2021_printed.TABLE_4),
        ),
        (*own_note(data.name), *_NOTES),
    )


TARGET = Side(0, 1_000)
EPOCHS = 200
"""The paper's members and non-members, in the order of the MemGuard authors."""

PUBLISHED = Side(3_000, 500)
FEWER = 140
"""The paper's shadow records. Its members' median confidence, .82, is that of 140 epochs."""

ALIKE = Side(2_000, 1_000)
"""A shadow model that is trained as the target is, on as many records."""

BATCH = 64
RATE = 0.01
"""Records a step and learning rate of plain gradient descent."""

PAIRS = 10
"""Targets, each with a shadow model of either kind."""

_PARTS = ("targets", "shadows")
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
)


@dataclass(frozen=True)
class _Part:
    """A run of networks of one kind."""

    run: Path
    number: int
    effort: Effort

    def train(self, x: Floats, y: Ints, inside: Bools, epochs: int) -> NDArray[Any]:
        from privacygauge.classifier.networks import SONG_MITTAL_2021_RELU, Networks

        return train_all(
            Networks(
                SONG_MITTAL_2021_RELU,
                epochs=epochs,
                batch_size=BATCH,
                optimiser="sgd",
                learning_rate=RATE,
            ),
            cohort_of(x, y, inside, self.effort.seed),
            seed=self.effort.seed,
            run=self.run,
            n_jobs=self.effort.n_jobs,
            progress=part_of(self.effort, self.number, len(_PARTS)),
        )


def _row(name: str, paper: float | None, found: Mapping[str, list[dict[str, float]]]) -> Row:
    """Return a row; what concerns the target alone has one cell."""
    cells = {
        f"{column} shadow": Cell(
            paper if column == next(iter(found)) else None,
            _mean_over_pairs([one[name] for one in measured]),
        )
        for column, measured in found.items()
    }
    if name.endswith("accuracy"):
        return Row(name, {"accuracy": next(iter(cells.values()))})
    return Row(name, cells)


def _measure_accuracies(target: Predictions, shadow: Predictions, seed: int) -> dict[str, float]:
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


def _mean_over_pairs(values: list[float]) -> Estimate:
    return mean(np.array(values), LEVEL, unit="pairs of models")
