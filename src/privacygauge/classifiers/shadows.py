"""Training of a target and a pool of shadow models, by coin flips, as a resumable run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.estimators import Estimators, ProbabilisticClassifier, require_records
from privacygauge.classifiers.held import Held, digest_of
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.networks.task import Make, seeded_torch, the_torch
from privacygauge.classifiers.predictions import Pool, Predictions, predictions
from privacygauge.classifiers.trainer import (
    Cohort,
    Trainer,
    Wrapping,
    models_a_task,
    queries_of,
    with_stack,
)
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.release import Coins, coin_flips
from privacygauge.core.units import number_units
from privacygauge.core.versions import versions
from privacygauge.errors import InputError
from privacygauge.kinds.session import Session
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.runs.contents import Static
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.results import check_writable, write_all
from privacygauge.runs.source import Code, RecordedCode, digest
from privacygauge.runs.store import Run, open_run, plan_in


def code_behind(cohort: Cohort, *trainers: Trainer) -> Code:
    """Return the user's code that trains the models of a cohort, by one trainer or several.

    For networks it includes the names and shapes of their weights, at the cohort's numbers of
    features and classes, and the classes of their layers.
    """
    makes: list[Make] = []
    for trainer in trainers:
        chain = [trainer]
        while isinstance(chain[-1], Wrapping):
            chain.append(chain[-1].inner)
        # Trainers with a field `networks` change the training of these.
        known = [getattr(one, "networks", one) for one in reversed(chain)]
        makes += [networks.make for networks in known if isinstance(networks, Networks)]
    modules = []
    weights = {}
    for make in makes:
        # Without the user's code nothing can change, so torch need not be loaded.
        if isinstance(make, RecordedCode) or not code_of(make).digests:
            continue
        torch = the_torch()
        # Only names and shapes count: made once, on the CPU, with fixed draws.
        with seeded_torch(0, torch.device("cpu")):
            made = make(cohort.x.shape[1], cohort.n_classes)
        if isinstance(made, torch.nn.Module):
            shapes = {key: f"{v.dtype} {tuple(v.shape)}" for key, v in made.state_dict().items()}
            weights["the shapes of the weights that make returns"] = digest(str(shapes))
            modules += [type(module) for module in made.modules()]
    found = code_of(*trainers, *modules)
    return Code({**found.digests, **weights}, found.unchecked)


Progress = Callable[[int, int], None]
"""Called with the number of models done, and their total."""


@dataclass(frozen=True)
class Execution:
    """Options of a run's training: its folder, its processes and the report of progress."""

    run: str | Path | None = None
    """Folder that keeps the predictions, or a URL that fsspec supports; None for none."""
    invocation: Mapping[str, Any] | None = None
    """Settings that start the run again, kept in its folder."""
    n_jobs: int | None = None
    """Number of processes; default: one, or the setting of ``joblib.parallel_config``."""
    progress: Progress | None = None
    """Called with the number of models done, and their total."""
    weights: str | Path | None = None
    """Folder for the weights of networks, as safetensors, the target's first; None to drop them as
    soon as the predictions are made. Models that the run holds already are not trained again for
    their weights."""

    @classmethod
    def of(cls, session: Session, *, weights: str | Path | None = None) -> Self:
        """Return the run, processes and progress of a session."""
        return cls(
            run=session.run,
            invocation=session.invocation,
            n_jobs=session.n_jobs,
            progress=session.progress,
            weights=weights,
        )

    @property
    def weights_folder(self) -> Path | None:
        """The absolute path of `weights`: workers may run in other folders."""
        return None if self.weights is None else Path(self.weights).absolute()


NOT_KEPT = Execution()
"""Models trained in this process, without a folder that keeps their predictions."""


_DIGITS = 16
"""Digits of the digest that identifies a model's inputs."""


@dataclass(frozen=True, eq=False)
class TrainedShadows:
    """Predictions of the trained models, without the models."""

    target: Predictions | None
    """The target's predictions for all records; None if no target was trained."""
    pool: Pool
    """The shadow models' predictions, without those that failed."""
    failed: Ints
    """Indices of the shadow models whose training failed."""


@dataclass(frozen=True, eq=False)
class ShadowWork:
    """Work of each worker: train the models of one task."""

    trainer: Trainer
    """Trainer of the models."""
    cohort: Cohort
    """Models of all tasks."""
    weights: Path | None = None
    """Folder for the weights; None to keep predictions only."""

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the predictions of the task's models."""
        part = self.cohort[task.start : task.stop]
        if self.weights is None:
            return {"prediction": self.trainer.train(part)}
        from safetensors.numpy import save

        trained = require_weights(self.trainer).train_with_weights(part)
        check_writable(self.weights)
        # Weights are written first: a task counts as done once its predictions are there.
        named = enumerate(trained.weights or (), start=task.start)
        states = {f"model-{i:06}.safetensors": save(dict(state)) for i, state in named}
        write_all(self.weights, states)
        return {"prediction": trained.logits}


def require_weights(trainer: Trainer) -> Any:
    """Return the trainer if it can return weights; else raise with the reason."""
    if not hasattr(trainer, "train_with_weights"):
        raise InputError(
            f"weights can be kept of networks only, not of {trainer.name}: estimators would have "
            "to be pickled"
        )
    return trainer


def membership(
    n_shadows: int, n_records: int, seed: int, *, target: bool = True, unit: Ints | None = None
) -> Bools:
    """Return the training sets as a mask, one row per model, (m, n): the target first, if any.

    Coins are fair and independent. The target and the shadow models have separate streams, so that
    further shadow models change nothing for earlier ones. All records of a unit share their coins.
    """
    shadow = coin_flips(n_shadows, n_records, seeds.stream(seed, "shadow", "coins"), unit)
    if not target:
        return shadow
    own = coin_flips(1, n_records, seeds.stream(seed, "target", "coins"), unit)
    return np.vstack([own, shadow])


def train_shadows(
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
) -> TrainedShadows:
    """Return predictions of a target and of shadow models for all records.

    Parameters
    ----------
    trainer : Trainer
        Trainer of the models, which predict all records once for each kind of its queries.
    x : ndarray, shape (n, d)
        Or other records that the trainer takes; see `Cohort`.
    y : ndarray of int, shape (n,)
        Classes in 0..k-1.
    n_shadows : int
        At least 1.
    unit : ndarray of int, shape (n,), optional
        Unit of each record: one coin puts all records of a unit in, or leaves all out.
    with_target : bool
        Whether to train a target as well.
    seed : int
    existing : Predictions, optional
        Predictions of an existing target model, kept with the run.
    execution : Execution, optional
        Folder, processes and progress. Models that the folder already holds are not retrained, so
        that a run of fewer models grows.

    Returns
    -------
    TrainedShadows
    """
    checks.at_least(1, n_shadows=n_shadows)
    inside = membership(n_shadows, len(y), seed, target=with_target, unit=unit)
    kinds = int(getattr(trainer, "kinds", 1))
    with kept_or_scratch(execution.run) as folder:
        values = train_all(
            trainer,
            cohort_of(x, y, inside, seed, asked=np.tile(np.arange(len(y)), kinds)),
            seed=seed,
            run=folder,
            weights=execution.weights_folder,
            existing=existing,
            invocation=execution.invocation,
            n_jobs=execution.n_jobs,
            progress=execution.progress,
        )
    # Predictions come kind by kind, each for all records.
    inside = np.tile(inside, kinds)
    y = np.tile(y, kinds)
    # A failed training leaves NaN throughout.
    finite = np.array([bool(np.isfinite(model).all()) for model in values])
    logits = trainer.logits
    target = (
        target_of(values[0], logits, y=y, member=inside[0], finite=bool(finite[0]))
        if with_target
        else None
    )
    first = int(with_target)
    kept = np.flatnonzero(finite[first:])
    if not len(kept):
        raise all_failed(len(finite) - first)
    all_kept = len(kept) == len(finite) - first
    # A slice is a view: without failures the predictions are not copied.
    rows = slice(first, None) if all_kept else first + kept
    pool = Pool(values[rows], logits, inside[rows], y)
    return TrainedShadows(target, pool, np.flatnonzero(~finite[first:]))


def cohort_of(
    x: Held,
    y: Ints,
    inside: Bools | Coins,
    seed: int,
    *,
    asked: Ints | None = None,
    states: tuple[int, ...] | None = None,
) -> Cohort:
    """Return the models to train: one per row of `inside`, (m, n).

    They predict the records `asked`, (a,), by default all. Random states, if not given as `states`,
    are derived from `seed` and the number of the model.
    """
    asked = np.arange(len(y)) if asked is None else asked
    own = states or random_states(seed, len(inside))
    return Cohort(
        x=x, y=y, inside=cast("Bools", inside), seeds=own, n_classes=int(y.max()) + 1, asked=asked
    )


def train_all(
    trainer: Trainer,
    asked: Cohort,
    *,
    seed: int,
    run: str | Path,
    weights: Path | None = None,
    existing: Predictions | None = None,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Return the predictions of every model of a cohort, (m, a, k) or (m, a, queries, k).

    `seed` and `existing` are kept with the run; the rest is as in `Execution`.
    """
    opened = trained_run(
        plan_of(trainer, asked, seed, run),
        ShadowWork(trainer, asked, weights),
        run=run,
        existing=existing,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
    )
    return np.asarray(opened.array("prediction")[:])


def trained_run(
    plan: Plan,
    work: ShadowWork,
    *,
    run: str | Path,
    existing: Predictions | None = None,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Return the finished run of a plan made by `plan_of`, after training the tasks it lacks."""
    asked = work.cohort
    if work.weights is not None:
        require_weights(work.trainer)
    inside = asked.inside
    if not np.array_equal(asked.asked, np.arange(inside.shape[1])):  # spare a copy of the matrix
        inside = inside[:, asked.asked]
    static = {
        "member": Static(("model", "record"), inside),
        "label": Static(("record",), asked.y[asked.asked]),
        "row": Static(("record",), asked.asked),
    }
    if existing is not None:
        given = "target_logits" if existing.logits else "target"
        # One query per record has no axis of queries.
        axes = ("record", "query", "class") if existing.n_queries > 1 else ("record", "class")
        static[given] = Static(axes, existing.answers)
    opened = open_run(run, plan, static, invocation=invocation)
    # The plan fixes the size of stacks, not the memory that happens to be free.
    fixed = replace(work, trainer=with_stack(work.trainer, plan.units_a_task))
    complete(opened, fixed, n_jobs=n_jobs, progress=progress)
    return opened


def random_states(seed: int, n_models: int) -> tuple[int, ...]:
    """Return a random state per model, in 0..2**31-1, derived from `seed` and its number."""
    return tuple(int(seeds.stream(seed, "model", i).integers(2**31)) for i in range(n_models))


def plan_of(trainer: Trainer, cohort: Cohort, seed: int, run: str | Path) -> Plan:
    """Return the plan of training a cohort, in stacks of the size that the run began with."""
    # Logits keep the precision of their network; probabilities are float64.
    dtype = getattr(trainer, "dtype", "float32") if trainer.logits else "float64"
    settings = {
        "trainer": trainer.name,
        **trainer.describe(),
        "data": digest_of(cohort.x, cohort.y),
        "asked": digest_of(cohort.asked),
        "versions": versions("torch" if trainer.logits else None),
    }
    dims: tuple[str, ...] = ("model", "record", "class")
    shape: tuple[int, ...] = cohort.shape
    # One query per record has no axis of queries.
    if (queries := queries_of(trainer)) > 1:
        dims = ("model", "record", "query", "class")
        shape = (*shape[:2], queries, shape[2])
    known = plan_in(run)
    # The number of models at once may depend on the machine: a run keeps its first choice.
    together = models_a_task(trainer, cohort) if known is None else known.units_a_task
    return Plan(
        name="classifier",
        seed=seed,
        unit="model",
        n_units=len(cohort),
        units_a_task=together,
        arrays={"prediction": ArraySpec(dims, shape, dtype)},
        settings=settings,
        code=code_behind(cohort, trainer),
        # Training set and random state of each model: with digests of single models a run can grow.
        units=tuple(
            digest_of(row, np.array(state))[:_DIGITS]
            for row, state in zip(cohort.inside, cohort.seeds, strict=True)
        ),
    )


def all_failed(n_models: int) -> InputError:
    """Return the error for a pool in which no shadow model can be used."""
    return InputError(
        f"training failed for all {n_models} shadow models: their predictions are not finite, or "
        "their records hold a single class"
    )


def target_of(
    values: NDArray[Any], logits: bool, y: Ints, member: Bools, finite: bool
) -> Predictions:
    """Return the predictions of the model that was trained as the target.

    Raises
    ------
    InputError
        If its training failed.
    """
    if not finite:
        raise InputError(
            "training the target failed: its predictions are not finite, or its records hold a "
            "single class"
        )
    given: dict[str, Any] = {"logits" if logits else "probs": values}
    return predictions(labels=y, member=member, name="target model", **given)


def failed_shadows_warning(failed: Ints, n_shadows: int) -> list[str]:
    """Return a warning that names the shadow models whose training failed."""
    if not len(failed):
        return []
    return [
        f"{len(failed)} of {n_shadows} shadow models failed (predictions that are not finite, or "
        f"a single class in training) and are left out: {checks.short_list(failed)}"
    ]


def train_predictions(
    model: Callable[[int], ProbabilisticClassifier],
    x: ArrayLike,
    y: ArrayLike,
    *,
    n_shadows: int = 8,
    unit: ArrayLike | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Predictions, Predictions]:
    """Return the predictions of a target model, and of shadow models trained in the same way.

    Every model is trained on the records that fair, independent coins select for it, and predicts
    all records. The shadow models' coins are independent of the target's.

    Parameters
    ----------
    model : callable
        Takes a random state and returns an untrained classifier.
    x : array_like of float, shape (n, d)
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    n_shadows : int
        Number of shadow models, at least 1; their predictions are pooled.
    unit : array_like, shape (n,), optional
        The person behind each record: one coin puts all records of a person in, or leaves all out.
    seed : int
    n_jobs : int
        Models trained at the same time, in joblib processes. Starting these takes seconds, which
        pays off for models that train longer than that.
    progress : callable, optional
        Called with the number of models done, and their total.

    Returns
    -------
    tuple of Predictions
        The target's, with n rows, and the shadows', with ``n_shadows * n`` rows whose ids name the
        shadow model and the record.
    """
    features, labels = require_records(x, y)
    owner = None if unit is None else number_units(unit, length=len(labels))
    trained = train_shadows(
        Estimators(model),
        features,
        labels,
        n_shadows=n_shadows,
        unit=owner,
        seed=seed,
        execution=Execution(n_jobs=n_jobs, progress=progress),
    )
    assert trained.target is not None
    rows = trained.pool.rows()
    shadow = predictions(
        probs=rows.values,
        labels=rows.labels,
        member=rows.member,
        ids=np.arange(len(rows)),
        name="shadow models",
    )
    return replace(trained.target, unit=owner), shadow
