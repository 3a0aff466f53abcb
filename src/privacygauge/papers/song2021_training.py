"""Table 2 and Figure 2 of Song & Mittal (2021): training defences against early stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.claims.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    AttackNetworkSizes,
    ReferenceRows,
)
from privacygauge.claims.defences.early_stopping import (
    EarlyStopping,
    Trajectories,
    first_epoch,
    nearest_epoch,
    trajectories,
)
from privacygauge.claims.defences.judging import EpochCurve, EpochRisk, risk_by_epoch
from privacygauge.classifiers.held import digest_of
from privacygauge.classifiers.networks import SONG_MITTAL_2021, Networks
from privacygauge.classifiers.networks.engines import Dropout
from privacygauge.classifiers.shadows import cohort_of, random_states
from privacygauge.classifiers.suite import METRICS
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.versions import versions
from privacygauge.evaluate.rates import mean
from privacygauge.papers.song2021 import (
    LEVEL,
    PURCHASE,
    TABLE_2,
    TEXAS,
    DataSetting,
    available,
    own_note,
    printed_rows,
    setting,
)
from privacygauge.papers.song2021_tables import over_fits
from privacygauge.papers.table import Cell, Effort, Row, Table, part_of
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import open_run

Trained = EarlyStopping | AdversarialRegularisation
"""Training that yields a model after every epoch and describes itself."""


@dataclass(frozen=True, eq=False)
class EpochWork:
    """The work of a run that trains models of one kind. Picklable."""

    trainer: Trained
    """Kind of training."""
    cohort: Cohort
    """Training sets and random states of the models."""
    recorded: tuple[int, ...]
    """Epochs after which predictions are recorded."""

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the logits of the task's m models after e epochs on a records, (m, e, a, k)."""
        part = self.cohort[task.start : task.stop]
        return {"logits": trajectories(self.trainer, part, self.recorded).logits}

    def plan(self, seed: int) -> Plan:
        """Return the plan of the run: one model per task."""
        n_models, *rest = self.cohort.shape
        spec = ArraySpec(
            ("model", "epoch", "record", "class"), (n_models, len(self.recorded), *rest), "float32"
        )
        settings = {
            **self.trainer.describe(),
            "recorded": list(self.recorded),
            # Digests, so that a run on other data or training sets is refused.
            "data": digest_of(self.cohort.x, self.cohort.y),
            "training sets": digest_of(
                self.cohort.inside, self.cohort.asked, np.array(self.cohort.seeds)
            ),
            "versions": versions("torch"),
        }
        return Plan(
            "models_by_epoch",
            seed=seed,
            n_units=n_models,
            unit="model",
            units_a_task=1,
            arrays={"logits": spec},
            settings=settings,
        )


def models_by_epoch(
    work: EpochWork,
    run: Path,
    seed: int,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sequence[Trajectories]:
    """Train the models of a run; return each one's predictions after the recorded epochs.

    Parameters
    ----------
    work : EpochWork
    run : Path
        Folder of the run; models that it holds are not trained again.
    seed : int
        Seed recorded with the run; training draws from the cohort's seeds.
    n_jobs : int, optional
        Number of processes.
    progress : callable, optional
        Called with the number of trained models and of all models.
    """
    opened = open_run(run, work.plan(seed), {})
    complete(opened, work, n_jobs=n_jobs, progress=progress)
    logits = np.asarray(opened.array("logits")[:])
    epochs = np.array(work.recorded)
    return [Trajectories(epochs, one[None]) for one in logits]


RECORDED = (*range(1, 11), 15, 20, 30, 40)
"""Recorded epochs; without early stopping the model of the last one is released."""

NETWORKS = Networks(
    SONG_MITTAL_2021, epochs=RECORDED[-1], batch_size=64, optimiser="adam", learning_rate=3e-4
)
"""Networks with the paper's layers and activation; the other settings are PrivacyGauge's."""

WEIGHTS = (0.1, 0.3, 1.0)
"""Weights of the attack's gain in adversarial regularisation."""

SHOWN = 1.0
"""Weight in the figure and in the quick forms."""

PAIRS = 4
"""Pairs of a target and a shadow model in the full form; the quick form has two."""

SMALL = AttackNetworkSizes((256, 64), (64,), (64,))
"""Layers of the attack network in adversarial regularisation, for the stand-in's 1,000 members."""

_NONE = "no defence"

_NOTES = (
    "The paper's numbers are on Purchase100 and Texas100, which cannot be fetched; on Location30 "
    "it prints none.",
    "Target: 1,000 members and 1,000 non-members, as in Table 4. The shadow model is trained in "
    "the same way on 1,000 other records, with reference records of its own, and stopped after "
    "the same epoch; thresholds for each class are learnt on it.",
    "Early stopping: the undefended model after the epoch whose test accuracy is not below the "
    "defended model's: the nearest one, or the first. The epoch is chosen on 2,000 records that no "
    "attack is judged on.",
    "Here accuracy rises for five epochs and then falls, so the nearest epoch may be a late one, "
    "which knows its members by heart. Nobody who stops early goes on to it: compare with the "
    "first.",
    "Highest: the best of the four attacks, chosen on the judged records, its interval corrected "
    "for the choice.",
    "Pairs of a target and a shadow model differ in initial weights and in all that training "
    "draws; a defended model and the undefended one start from the same weights. Differences are "
    "means over pairs, with Student's intervals.",
)


def song_table2(effort: Effort) -> Table:
    """Return Table 2: training defences against early stopping at equal test accuracy.

    The quick form has adversarial regularisation of one weight with two pairs of models, the full
    one three weights, dropout and weight decay with four.
    """
    data = setting(available(PURCHASE, TEXAS), effort.seed)
    weights = (SHOWN,) if effort.quick else WEIGHTS
    defences = [_adversarial(weight, data) for weight in weights]
    if not effort.quick:
        # Two that the paper does not have.
        dropout = EarlyStopping(replace(NETWORKS, make=Dropout(SONG_MITTAL_2021, 0.5)))
        decay = EarlyStopping(replace(NETWORKS, weight_decay=3e-3))
        defences.append(_Defended("dropout 0.5", dropout, dropout))
        defences.append(_Defended("weight decay 0.003", decay, decay))
    found = _train_by_epoch(effort, data, defences)
    undefended = found[_NONE]
    columns, printed = TABLE_2
    paper = dict(zip(columns, printed.get(f"{data.name}, {_NONE}", ()), strict=False))
    rows = [_row(_NONE, [pair.curve.points[-1] for pair in undefended], paper)]
    for name, pairs in found.items():
        if name != _NONE:
            rows += _comparison_rows(name, pairs, undefended)
    return Table(
        "song-table2",
        f"Song & Mittal (2021), Table 2, on {data.name}",
        (*rows, *printed_rows(TABLE_2)),
        (*own_note(data.name), *_NOTES),
    )


def song_fig2(effort: Effort) -> Table:
    """Return Figure 2: test accuracy and highest attack by epoch, without and with a defence."""
    data = setting(available(PURCHASE), effort.seed)
    found = _train_by_epoch(effort, data, (_adversarial(SHOWN, data),))
    rows = []
    for number, epoch in enumerate(RECORDED):
        cells = {}
        for name, pairs in found.items():
            points = [pair.curve.points[number] for pair in pairs]
            cells[f"{name}: test accuracy"] = _cell([p.test_accuracy for p in points])
            cells[f"{name}: highest attack"] = _cell([p.highest for p in points])
        rows.append(Row(f"epoch {epoch}", cells))
    title = f"Song & Mittal (2021), Figure 2, on {data.name}"
    return Table("song-fig2", title, tuple(rows), (*own_note(data.name), *_NOTES))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Risk by epoch of a target with a shadow model trained alike."""

    curve: EpochCurve
    """Accuracy and risk of the target by epoch."""
    accuracy: Floats
    """(e,) Accuracy of the target on the records for choosing epochs."""


@dataclass(frozen=True)
class _Defended:
    """A defence: the training of the target and of the shadow model."""

    name: str
    target: Trained
    shadow: Trained


def _adversarial(weight: float, data: DataSetting) -> _Defended:
    target, shadow = (
        AdversarialRegularisation(NETWORKS, weight, ReferenceRows(tuple(side.reference)), SMALL)
        for side in data.sides
    )
    return _Defended(f"adversarial regularisation, weight {weight:g}", target, shadow)


def _train_by_epoch(
    effort: Effort, data: DataSetting, defences: Sequence[_Defended]
) -> Mapping[str, list[_Pair]]:
    n = 2 if effort.quick else PAIRS
    plain = EarlyStopping(NETWORKS)
    asked = [_Defended(_NONE, plain, plain), *defences]
    found = {}
    # Table 2 and Figure 2 share the models.
    with kept_or_scratch(
        effort.shared(f"song-epochs-{data.name}-{n}-seed-{effort.seed}")
    ) as folder:
        for number, defended in enumerate(asked):
            sides = []
            for role, trainer in enumerate((defended.target, defended.shadow)):
                cohort = cohort_of(
                    data.x,
                    data.y,
                    np.repeat([data.sides[role].inside(len(data.y))], n, axis=0),
                    effort.seed,
                    asked=np.arange(data.n_asked),
                    # By role alone: every defence starts from the weights of the undefended model.
                    states=random_states(effort.seed, 2 * n)[role * n : (role + 1) * n],
                )
                work = EpochWork(trainer, cohort, RECORDED)
                run = Path(folder) / f"{defended.name}-{role}".replace(" ", "-").replace(",", "")
                told = part_of(effort, 2 * number + role, 2 * len(asked))
                sides.append(
                    models_by_epoch(
                        work, run, seed=effort.seed, n_jobs=effort.n_jobs, progress=told
                    )
                )
            found[defended.name] = [
                _pair(target, shadow, data, effort.seed)
                for target, shadow in zip(sides[0], sides[1], strict=True)
            ]
    return found


def _pair(target: Trajectories, shadow: Trajectories, data: DataSetting, seed: int) -> _Pair:
    own, other = data.sides
    curve = risk_by_epoch(
        {epoch: own.predictions(target.at(epoch)[0], data.y) for epoch in RECORDED},
        {epoch: other.predictions(shadow.at(epoch)[0], data.y) for epoch in RECORDED},
        seed=seed,
        level=LEVEL,
    )
    # On the shadow model's records: the target never saw them, and no attack is judged on them.
    right = target.logits[0][:, other.rows].argmax(axis=2) == data.y[other.rows]
    return _Pair(curve, right.mean(axis=1))


def _comparison_rows(name: str, pairs: Sequence[_Pair], undefended: Sequence[_Pair]) -> list[Row]:
    """Return a defence's row, and for each rule of early stopping its row and the difference."""
    points = [pair.curve.points[-1] for pair in pairs]
    rows = [_row(name, points)]
    for how, choose in (("nearest", nearest_epoch), ("first", first_epoch)):
        label = f"{name}: early stopping ({how})"
        # One epoch per pair: the undefended model against its own defended counterpart.
        chosen = [
            choose(RECORDED, own.accuracy, float(pair.accuracy[-1]))
            for own, pair in zip(undefended, pairs, strict=True)
        ]
        missing = next((epoch for epoch in chosen if isinstance(epoch, Skipped)), None)
        if missing is not None:
            rows.append(Row(label, {"highest": Cell(None, missing)}))
            continue
        stopped = [
            own.curve.at(epoch)
            for own, epoch in zip(undefended, chosen, strict=True)
            if not isinstance(epoch, Skipped)
        ]
        rows.append(_row(label, stopped))

        def paired(values: Sequence[tuple[Estimate, Estimate]]) -> Cell:
            return Cell(
                None, mean(np.array([a.value - b.value for a, b in values]), LEVEL, unit="pairs")
            )

        both = list(zip(points, stopped, strict=True))
        rows.append(
            Row(
                f"{name} less {how}",
                {
                    "test accuracy": paired([(a.test_accuracy, b.test_accuracy) for a, b in both]),
                    "highest": paired([(a.highest, b.highest) for a, b in both]),
                },
            )
        )
    return rows


def _row(
    label: str, points: Sequence[EpochRisk], paper: Mapping[str, float | None] | None = None
) -> Row:
    """Return a row of accuracies and attacks, with the paper's numbers if given."""
    printed = paper or {}
    cells = {
        "epoch": Cell(None, mean(np.array([float(p.epoch) for p in points]), LEVEL, unit="pairs")),
        "train accuracy": _cell([point.train_accuracy for point in points]),
        "test accuracy": _cell([point.test_accuracy for point in points]),
    }
    for number, name in enumerate(METRICS):
        cells[name] = _cell([point.attacks[number].accuracy for point in points])
    for name, value in printed.items():
        if name in cells:
            cells[name] = replace(cells[name], published=value)
    cells["highest"] = _cell([point.highest for point in points])
    return Row(label, cells)


def _cell(estimates: Sequence[Estimate]) -> Cell:
    return Cell(None, over_fits(estimates))
