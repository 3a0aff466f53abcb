"""Figure 7 of Song & Mittal (2021) on Location30: the risk score and a member's influence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.shadows import cohort_of, train_all
from privacygauge.classifier.signals import signals
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import Histogram, RiskScore
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Scores
from privacygauge.evaluate.correlation import rank_correlation
from privacygauge.evaluate.defences import quantile
from privacygauge.evaluate.rates import mean
from privacygauge.reproduce.song2021 import LEVEL
from privacygauge.reproduce.song2021_settings import (
    TEXAS,
    DataSetting,
    Side,
    available,
    own_note,
    setting,
)
from privacygauge.reproduce.song2021_white_box import NETWORKS
from privacygauge.reproduce.table import Cell, Effort, Row, Table
from privacygauge.runs.folder import kept_or_scratch

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The bins of risk scores."""

QUICK = 60
"""Epochs of the quick form: members are known by heart, if less surely than after all."""

PARTS = 10
"""Parts of the members, each of which is removed at once."""

LEAST = 20
"""Bins with fewer members are left out."""

_FLOOR = Histogram().floor
_NOTES = (
    "The paper removes one record at a time and trains again (Texas100; it draws a figure and "
    "prints no numbers). Here the 1,000 members are cut into parts at random, and each part is "
    "removed at once, from equal initial weights: a tenth of them (a quarter in the quick form, "
    "whose networks are trained for 60 epochs).",
    "Removed: the logarithm of the modified entropy after a member's part was removed over that "
    "before. Another removed: the mean of the same over the parts without the member. Net: the "
    "first less the second, which is the member's own influence.",
    "Another removed is the control: the same answer of the full model is in the score and in the "
    "ratio, so that its luck alone could tie the two together, whoever is removed.",
    "Risk scores: the paper's histogram on a shadow model that is trained as the target is. The "
    "intervals are over the members, for the models as they are.",
)


def song_fig7(effort: Effort) -> Table:
    """Return Figure 7: how much removing members changes the model's answers for them, by risk.

    The quick form removes four parts of the members from networks of 60 epochs, the full one ten
    from networks of 200.
    """
    data = setting(available(TEXAS), effort.seed)
    folds = _folds(4 if effort.quick else PARTS, data.sides[0], effort.seed)
    found = _measure_sensitivity(_train_logits(effort, data, folds), data, folds, effort.seed)
    rows = [_bin(found, low, high) for low, high in pairwise(EDGES)]
    rows.append(Row("rank correlation with the score", _correlations(found)))
    title = f"Song & Mittal (2021), Figure 7, on {data.name}"
    return Table("song-fig7", title, tuple(rows), (*own_note(data.name), *_NOTES))


@dataclass(frozen=True, eq=False)
class _Sensitivity:
    """What removing records changes, member by member."""

    score: Floats
    """(n,) Risk scores in [0, 1]."""
    removed: Floats
    """(n,) Change where the member is removed."""
    another: Floats
    """(n,) Mean change where others are."""

    @property
    def columns(self) -> Mapping[str, Floats]:
        """The changes by name."""
        net = self.removed - self.another
        return {"removed": self.removed, "another removed": self.another, "net": net}


def _folds(n: int, target: Side, seed: int) -> list[Ints]:
    members = np.flatnonzero(target.inside(target.first + target.n_train))
    return np.array_split(seeds.stream(seed, "folds").permutation(members), n)


def _train_logits(effort: Effort, data: DataSetting, folds: list[Ints]) -> NDArray[Any]:
    """Return the logits of the target, of a shadow model, and of the target without each part."""
    target, shadow = data.sides
    inside = np.repeat([target.inside(len(data.y))], 2 + len(folds), axis=0)
    inside[1] = shadow.inside(len(data.y))
    for number, fold in enumerate(folds, start=2):
        inside[number, fold] = False
    state = int(seeds.stream(effort.seed, "model", 0).integers(2**31))
    networks = replace(NETWORKS, epochs=QUICK) if effort.quick else NETWORKS
    with kept_or_scratch(effort.run) as folder:
        return train_all(
            networks,
            cohort_of(
                data.x,
                data.y,
                inside,
                effort.seed,
                asked=np.arange(data.n_asked),
                states=(state,) * len(inside),
            ),
            seed=effort.seed,
            run=Path(folder),
            n_jobs=effort.n_jobs,
            progress=effort.progress,
        )


def _measure_sensitivity(
    values: NDArray[Any], data: DataSetting, folds: list[Ints], seed: int
) -> _Sensitivity:
    side, other = data.sides
    target = side.predictions(values[0], data.y)
    shadow = other.predictions(values[1], data.y)
    changes = np.array(
        [_log_entropy(side.predictions(v, data.y)) - _log_entropy(target) for v in values[2:]]
    )
    fold = np.empty(side.n_train, np.int64)
    for number, members in enumerate(folds):
        fold[members - side.first] = number
    own = changes[fold, np.arange(len(fold))]
    others = (changes.sum(axis=0) - own) / (len(folds) - 1)
    (dealt,) = PredictionGame(target, shadow).deal(1, seeds.stream(seed, "deal"))
    scores = RiskScore(estimator=Histogram()).score(dealt.observation, seeds.stream(seed, "score"))
    assert isinstance(scores, Scores)  # predictions with a shadow give all that it needs
    return _Sensitivity(scores.value[target.member], own, others)


def _log_entropy(seen: Predictions) -> Floats:
    """Return the logarithm of the members' modified entropy, (n,), as the histogram takes it."""
    entropy = -signals(seen)["modified-entropy"][seen.member]
    return np.log(np.maximum(entropy, _FLOOR))


def _bin(found: _Sensitivity, low: float, high: float) -> Row:
    label = f"score in [{low:g}, {high:g}{']' if high == 1 else ')'}"
    inside = (found.score >= low) & ((found.score < high) | (high == 1))
    n = int(np.count_nonzero(inside))
    if n < LEAST:
        reason = f"{n} members, and at least {LEAST} are needed"
        return Row(label, {name: Cell(None, Skipped(label, reason)) for name in found.columns})
    cells = {
        name: Cell(None, mean(values[inside], LEVEL, unit="members"))
        for name, values in found.columns.items()
    }
    for share in (0.25, 0.75):
        ordered = quantile(found.removed[inside], share, LEVEL)
        cells[f"removed, quantile {share:g}"] = Cell(None, ordered)
    return Row(label, cells)


def _correlations(found: _Sensitivity) -> dict[str, Cell]:
    return {
        name: Cell(None, rank_correlation(found.score, values, LEVEL))
        for name, values in found.columns.items()
    }
