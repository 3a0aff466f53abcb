"""Inputs of a model audit: the model's predictions, and those of shadow models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.fitted import (
    Fitted,
    Further,
    ask_fitted,
    merge_queries,
    split,
    until_narrow,
)
from privacygauge.classifiers.game import world_signal
from privacygauge.classifiers.held import Held, numeric
from privacygauge.classifiers.label_only import LabelOnlyQueries, LabelOnlyTrainer
from privacygauge.classifiers.predictions import LogitPool, Pool, Predictions
from privacygauge.classifiers.probe_training import TrainingSetup
from privacygauge.classifiers.shadows import (
    NOT_KEPT,
    Execution,
    ShadowWork,
    TrainedShadows,
    all_failed,
    cohort_of,
    membership,
    plan_of,
    target_of,
    train_shadows,
    trained_run,
)
from privacygauge.classifiers.signals import resolution
from privacygauge.classifiers.suite import single_record_attacks
from privacygauge.classifiers.trainer import Trainer
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.game import Attack
from privacygauge.core.release import Coins, SomeOf
from privacygauge.errors import InputError
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Task
from privacygauge.runs.store import plan_in


@dataclass(frozen=True, eq=False)
class TargetWithShadows:
    """A target, and shadow models that were trained in the same way."""

    target: Predictions
    """The target's predictions."""
    pool: Pool | LogitPool
    """The shadow models' predictions for the same records."""
    failed: Ints
    """Indices of the shadow models whose training failed."""
    further: Further | None = None
    """Signals of each kind of label-only query; None without these."""
    several: SeveralTargets | None = None
    """Results on further targets; None without these."""


def train_missing_shadows(
    about: TrainingSetup,
    options: Mapping[str, Any],
    *,
    fitted: Fitted | None,
    label_only: LabelOnlyQueries | None,
    n_shadows: int,
    half_width: float | None,
    one_logit: bool,
    attacks: Sequence[Attack] | None,
    level: float,
) -> TargetWithShadows:
    """Return a target with its shadow models, training those that do not exist yet.

    Parameters are those of `audit_model`; `options` are the remaining ones of `train_shadows`.
    """
    trainer = about.trainer
    x = about.x
    y = about.y
    seed = options["seed"]
    if label_only is not None:
        if half_width is not None:
            raise InputError("half_width goes with audits of probabilities, not with label_only")
        trainer = LabelOnlyTrainer(trainer, label_only, seed)
    existing = None if fitted is None else ask_fitted(fitted, about, label_only, seed)
    if one_logit and (half_width is not None or label_only is not None):
        raise InputError("one_logit does not go with half_width or label_only: leave one out")
    given = {"with_target": existing is None, "existing": existing, **options}
    train = partial(train_shadows, trainer, x, y, **given)
    trained: TrainedShadows | TrainedLogits
    several = None
    if half_width is not None:
        if not 0 < half_width < 0.5:
            raise InputError(f"half_width must be in (0, 0.5), got {half_width}")
        if fitted is not None:
            raise InputError(
                "half_width adds targets that are trained, and a fitted model is one target: its "
                "interval gets narrower with more records only"
            )
        execution = options["execution"]
        with kept_or_scratch(execution.run) as folder:
            train = partial(train, execution=replace(execution, run=folder))

            def at_least(n: int) -> TrainedShadows:
                # Use all further models that the folder already holds.
                known = plan_in(folder)
                return train(n_shadows=n if known is None else max(n, known.n_units - 1))

            several = until_narrow(
                at_least,
                single_record_attacks("shared") if attacks is None else attacks,
                n_shadows=n_shadows,
                width=half_width,
                features=numeric(x),
                unit=options["unit"],
                seed=seed,
                level=level,
            )
            trained, _ = split(at_least(n_shadows), n_shadows)
    elif one_logit:
        trained = train_logits(trainer, x, y, n_shadows=n_shadows, **given)
    else:
        trained = train(n_shadows=n_shadows)
    target = existing or trained.target
    pool = trained.pool
    further = None
    assert target is not None  # one was given, or trained
    if label_only is not None:
        assert isinstance(pool, Pool)  # one_logit does not go with it
        target, pool, further = merge_queries(target, pool, label_only)
    target = replace(target, classes=about.names)
    return TargetWithShadows(
        target=target, pool=pool, failed=trained.failed, further=further, several=several
    )


LEAST_WHOLE_ROWS = 20_000
"""Fewest rows of whole vectors to keep: those of as few shadow models as give them, at least
one."""

RECORDS_A_CHUNK = 10_000
"""Number of records per chunk of stored logits, which holds all models."""


@dataclass(frozen=True, eq=False)
class TrainedLogits:
    """Predictions of the trained models, reduced to one logit per model and record."""

    target: Predictions | None
    """The target's predictions for all records; None if no target was trained."""
    pool: LogitPool
    """The shadow models' logits, without those that failed."""
    failed: Ints
    """Indices of the shadow models whose training failed."""


@dataclass(frozen=True, eq=False)
class LogitWork(ShadowWork):
    """Work of each worker: train the models of one task, keep whole vectors of the first ones."""

    whole: int = 0
    """Number of the run's first models, target included, with whole vectors that are kept."""

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the logits of the task's models."""
        values = super().__call__(task)["prediction"]
        labels = self.cohort.y[self.cohort.asked]
        kept = np.full_like(values, np.nan)
        # How many of this task's models are among the first `whole` of the run.
        first = max(0, self.whole - task.start)
        kept[:first] = values[:first]
        # Scaled logits of each model, (n,) or (n, q); NaN if its training failed.
        logits = []
        for answers in values:
            if not np.isfinite(answers).all():
                logit = np.full(answers.shape[:-1], np.nan)
            else:
                n_records = len(labels)
                of_model = Predictions(
                    answers=answers,
                    logits=True,
                    labels=labels,
                    member=np.zeros(n_records, np.bool_),
                    ids=np.arange(n_records),
                )
                logit = world_signal(of_model, resolution(of_model))
            logits.append(logit)
        return {"logit": np.stack(logits), "prediction": kept}


def train_logits(
    trainer: Trainer,
    x: Held,
    y: Ints,
    *,
    n_shadows: int = 16,
    unit: Ints | None = None,
    with_target: bool = True,
    seed: int = 0,
    existing: Predictions | None = None,
    execution: Execution = NOT_KEPT,
) -> TrainedLogits:
    """Return predictions of a target, and one logit per shadow model and record.

    Parameters
    ----------
    trainer : Trainer
        Trainer of models that return logits.
    x, y, n_shadows, unit, with_target, seed, existing, execution
        As in `train_shadows`. If the run is kept, its logits stay on disk.

    Returns
    -------
    TrainedLogits

    Raises
    ------
    InputError
        If models return probabilities, or all shadow models failed.

    Notes
    -----
    The logits are in float64: attacks on single records give the same results, byte for byte, as
    with whole vectors. Probabilities would be clipped at the common resolution of all models'
    predictions (`resolution`), so that their scaled logits are not known model by model.
    """
    if n_shadows < 1:
        raise InputError(f"n_shadows must be at least 1, got {n_shadows}")
    require_logits(trainer.name, trainer.logits)
    if existing is not None:
        require_logits("the audited model", existing.logits)
    # Coins are drawn lazily if each record has its own.
    n = len(y)
    inside: Bools | Coins
    if unit is not None:
        inside = membership(n_shadows, n, seed, target=with_target, unit=unit)
    else:
        shadows = Coins.of(n_shadows, n, seeds.stream(seed, "shadow", "coins"))
        own = Coins.of(1, n, seeds.stream(seed, "target", "coins"))
        inside = own.above(shadows) if with_target else shadows
    cohort = cohort_of(x, y, inside, seed)
    # Rounded up; the target's whole vectors are kept in any case.
    whole = int(with_target) + max(1, -(-LEAST_WHOLE_ROWS // len(y)))
    with kept_or_scratch(execution.run) as folder:
        vectors = plan_of(trainer, cohort, seed, folder)
        spec = vectors.arrays["prediction"]
        shape = spec.shape[:-1]
        record = min(spec.shape[1], RECORDS_A_CHUNK)
        # Chunks hold all models of some records, as attacks on single records read them.
        logit = ArraySpec(spec.dims[:-1], shape, "float64", (record, *shape[2:]))
        keeps = f"one logit, and whole vectors of the first {whole} models"
        opened = trained_run(
            replace(
                vectors,
                arrays={**vectors.arrays, "logit": logit},
                settings={**vectors.settings, "keeps": keeps},
            ),
            LogitWork(trainer, cohort, execution.weights_folder, whole),
            run=folder,
            existing=existing,
            invocation=execution.invocation,
            n_jobs=execution.n_jobs,
            progress=execution.progress,
        )
        stored = opened.array("logit")
        first = int(with_target)
        tasks = (stored[task.start : task.stop] for task in opened.plan.tasks)
        # Task by task, since the stored logits may not fit into memory.
        finite = np.array([bool(np.isfinite(model).all()) for task in tasks for model in task])
        kept = first + np.flatnonzero(finite[first:])
        values = np.asarray(opened.array("prediction")[:whole])
        # The shadow models, without failed ones, that have whole vectors.
        rows = kept[kept < len(values)]
        if not len(rows):
            raise all_failed(len(values) - first)
        target = (
            target_of(values[0], True, y=y, member=inside[0], finite=bool(finite[0]))
            if with_target
            else None
        )
        worlds = SomeOf(stored, kept)
        first_ones = Pool(values[rows], True, inside[rows], y)
        held = inside.some(kept) if isinstance(inside, Coins) else inside[kept]
        # A scratch folder is about to be deleted: its logits are read into memory.
        pool = LogitPool(worlds[:] if execution.run is None else worlds, held, first_ones)
        return TrainedLogits(target, pool, np.flatnonzero(~finite[first:]))


def require_logits(name: str, logits: bool) -> None:
    """Raise an error unless the model returns logits.

    Raises
    ------
    InputError
        One line: the model, and the way out.
    """
    if not logits:
        raise InputError(
            f"one_logit (--one-logit) needs models that answer with logits, such as networks, and "
            f"{name} answers with probabilities: leave it out"
        )
