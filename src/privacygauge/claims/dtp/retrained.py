"""Any classifier retrained without each record, with other initial weights, or other records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from privacygauge.claims.dtp.network_bounds import with_bounds
from privacygauge.classifiers.answers import UserCodeError
from privacygauge.classifiers.estimators import Estimators
from privacygauge.classifiers.held import Held, digest_of
from privacygauge.classifiers.learner import box_of
from privacygauge.classifiers.predictions import probabilities
from privacygauge.classifiers.ratios import log_answers, log_ratio
from privacygauge.classifiers.shadows import (
    NOT_KEPT,
    Execution,
    code_behind,
    cohort_of,
    train_all,
)
from privacygauge.classifiers.trainer import (
    Cohort,
    Stacking,
    Trainer,
    first_query,
    models_a_task,
    with_stack,
)
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.versions import versions
from privacygauge.errors import InputError
from privacygauge.runs.contents import Static
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import open_run, plan_in
from privacygauge.runs.threads import one_thread


def steps_of(trainer: Trainer) -> str:
    """Return the steps of a pipeline by the names of their classes; empty for other models.

    Nested estimators follow in parentheses: ``CalibratedClassifierCV (SVC)``.
    """
    if not isinstance(trainer, Estimators):
        return str(getattr(trainer, "steps", ""))  # the trainer of a recorded run
    made: Any = trainer.make(0)
    return _describe_steps(made) if getattr(made, "steps", None) else ""


def _describe_steps(model: Any) -> str:
    name = type(model).__name__
    # None and "passthrough" or "drop" stand in place of steps that are left out.
    steps = [
        step for _, step in getattr(model, "steps", None) or () if not isinstance(step, str | None)
    ]
    if steps:
        return f"{name}: {', '.join(map(_describe_steps, steps))}"
    groups = (
        getattr(model, key, None) for key in ("transformers", "transformer_list", "estimators")
    )
    inner = [
        part[1] for group in groups for part in group or () if not isinstance(part[1], str | None)
    ]
    single = getattr(model, "estimator", None)
    inner += [single] if hasattr(single, "fit") else []
    return f"{name} ({', '.join(map(_describe_steps, inner))})" if inner else name


@dataclass(frozen=True, eq=False)
class LeaveOneOutAnswers:
    """Predictions of classifiers trained with and without each record."""

    with_it: Floats
    """(r, k) Log probabilities of each record under the classifier trained on all of T."""
    without: Floats
    """(r, k) Log probabilities under the classifier trained without the record or its unit; NaN if
    training failed."""
    searched: Floats
    """(r,) Largest log ratio over the record itself and the queries that were asked, in nats."""
    bound: Floats
    """(r,) Upper bound on the unbinned log ratio over the box of all records; infinite where only
    predictions are known."""

    @property
    def failed(self) -> Ints:
        """Indices of the records without which no classifier could be trained."""
        return np.flatnonzero(np.isnan(self.without).any(axis=1))


@dataclass(frozen=True, eq=False)
class LeavingOut:
    """Work sent to each worker: train without each record of a task, or without its unit."""

    trainer: Trainer
    """Trainer of the models."""
    x: Held
    """Records as the user holds them, mostly features (n, d)."""
    y: Ints
    """(n,) Classes."""
    rows: Ints
    """(r,) Records to leave out, one at a time."""
    n_classes: int
    """Number of classes."""
    members: Bools
    """(n,) The training set T."""
    unit: Ints
    """(n,) Number of each record's unit; all records of a unit are left out together."""
    queries: Ints
    """(q,) Rows of the queries besides the record that is left out."""
    width: float = 0.0
    """Bin width for log ratios over queries; 0 for no bins."""
    seed: int = 0
    """Seed of the models' common random state: the same initial weights and the same order."""
    whole: Floats | None = None
    """(r + q, k) Log probabilities of rows and queries by the classifier trained on all of T; None
    for networks, which train it in every task, in one stack with those they are compared with."""

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the predictions with and without each record of the task."""
        rows = self.rows[task.start : task.stop]
        # (models, n): one training set per unit that loses its records, shared by all of its rows.
        left_out, model = np.unique(self.unit[rows], return_inverse=True)
        inside = self.members & (self.unit != left_out[:, None])
        asked = np.concatenate([rows, self.queries])
        if isinstance(self.trainer, Stacking):
            everyone = np.vstack([self.members, inside])
            box = box_of(self.x[self.members])
            made, bound = with_bounds(self.trainer, self.cohort(everyone, asked), box)
            return {**self._compared(made[0], made[1:], model), "bound": bound[model]}
        if self.whole is None:
            said = log_answers(self.trainer, self.cohort(self.members[None], asked))[0]
        else:
            said = self.whole[np.r_[task.start : task.stop, len(self.rows) : len(self.whole)]]
        compared = self._compared(said, self.refits(self.cohort(inside, asked)), model)
        return {**compared, "bound": np.full(len(rows), np.inf)}

    def refits(self, cohort: Cohort) -> Floats:
        """Return the log probabilities of each model; NaN where its algorithm rejects the rest.

        Without the record a class or a category may be gone, or too few records may be left.
        """
        try:
            return log_answers(self.trainer, cohort)
        except (InputError, ValueError, IndexError) as error:
            # Code of the user's model is wrapped; an error of the package itself must not be
            # swallowed.
            raised = error.__cause__ if isinstance(error, UserCodeError) else error
            if isinstance(raised, InputError) or not isinstance(raised, ValueError | IndexError):
                raise
            # One model of the cohort fails: train each alone to learn which.
            if len(cohort) == 1:
                return np.full(cohort.shape, np.nan)
            each = (self.refits(cohort[i : i + 1]) for i in range(len(cohort)))
            return np.concatenate(list(each))

    def cohort(self, inside: Bools, asked: Ints) -> Cohort:
        """Return a cohort of models that share one random state."""
        # One state for all models: other initial weights would pass for the effect of a record.
        state = int(seeds.stream(self.seed, "dtp", "state").integers(2**31))
        states = [state] * len(inside)
        return Cohort(
            x=self.x, y=self.y, inside=inside, seeds=states, n_classes=self.n_classes, asked=asked
        )

    def _compared(self, whole: Floats, made: Floats, model: Ints) -> Mapping[str, NDArray[Any]]:
        """Return log probabilities of the records under `whole` and under their own refits.

        `model` (rows,) is the index in `made` of the model trained without each record.
        """
        n_rows = len(model)
        without = np.empty((n_rows, self.n_classes))
        searched = np.empty(n_rows)
        for i, log_p in enumerate(made[number] for number in model):
            # Ask each model for its own record, and for the queries that all share.
            asked = np.r_[i, n_rows : len(log_p)]
            without[i] = log_p[i]
            searched[i] = log_ratio(whole[asked], log_p[asked], self.width).max()
        return {"with_it": whole[:n_rows], "without": without, "searched": searched}


def retrain_without_each(work: LeavingOut, execution: Execution = NOT_KEPT) -> LeaveOneOutAnswers:
    """Return a classifier's predictions with and without each record, by training without it.

    Raises
    ------
    InputError
        If the classifier cannot be trained on the whole training set, or answers differently when
        it is trained on it twice.
    """
    n_jobs = execution.n_jobs
    # Without a folder or workers, spare the detour over files.
    if execution.run is None and n_jobs in (None, 1) and effective_n_jobs(n_jobs) == 1:
        n = len(work.rows)
        size = _records_a_task(work)
        tell = execution.progress or (lambda done, total: None)
        parts = []
        with one_thread():
            compute = _ready(work, size)
            for number, start in enumerate(range(0, n, size)):
                tell(start, n)
                parts.append(compute(Task(number, start, min(start + size, n))))
            tell(n, n)
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    else:
        with kept_or_scratch(execution.run) as folder:
            plan = _plan(work, folder)
            still = {"row": Static(("record",), work.rows)}
            opened = open_run(folder, plan, still, invocation=execution.invocation)
            ready = _ready(work, plan.units_a_task, finished=not opened.missing(verify=False))
            complete(opened, ready, n_jobs=n_jobs, progress=execution.progress)
            found = {name: np.asarray(opened.array(name)[:]) for name in plan.arrays}
    if np.isnan(found["with_it"]).any():
        raise InputError(
            f"{work.trainer.name} cannot be trained on all {int(work.members.sum()):,} records: "
            "its predictions are not finite, or there is a single class"
        )
    return LeaveOneOutAnswers(**found)


def _ready(work: LeavingOut, units_a_task: int, *, finished: bool = False) -> LeavingOut:
    if isinstance(work.trainer, Stacking):
        # The plan fixes the size of stacks, not the memory that happens to be free.
        return replace(work, trainer=with_stack(work.trainer, units_a_task + 1))
    if finished:
        return work  # nothing is left to compare with; a damaged task trains its own
    asked = np.concatenate([work.rows, work.queries])
    # The same set twice, with the same state: a model with draws of its own would differ.
    once, again = log_answers(work.trainer, work.cohort(np.stack([work.members] * 2), asked))
    # Threads that add in another order differ in the last digits; other draws differ by far more.
    same = np.allclose(once, again, rtol=1e-6, atol=1e-6, equal_nan=True)
    if same:
        # Some records are left out twice, too: a training may draw only where they are missing.
        n = len(work.rows)
        several = min(REPEATED, -(-n // REPEATED))
        some = work.rows[np.unique(np.linspace(0, n - 1, several).astype(np.int64))]
        inside = work.members & (work.unit != work.unit[some][:, None])
        cohort = work.cohort(inside, np.concatenate([some, work.queries[:REPEATED]]))
        first = work.refits(cohort)
        same = np.allclose(first, work.refits(cohort), rtol=1e-6, atol=1e-6, equal_nan=True)
    if not same:
        raise InputError(
            f"{work.trainer.name} answers differently when it is trained twice on the same records "
            "and the same random state: its draws would pass for the effect of a record. Take "
            "every draw from random_state"
        )
    return replace(work, whole=once)


REPEATED = 20
"""One in this many records is left out twice, and at most this many in total."""


def _plan(work: LeavingOut, folder: str) -> Plan:
    r = len(work.rows)
    k = work.n_classes
    # A folder that holds a run keeps its division into tasks, whatever memory is free now.
    known = plan_in(folder)
    alone = np.array_equal(work.unit, np.arange(len(work.unit)))
    settings = {
        "trainer": work.trainer.name,
        **work.trainer.describe(),
        **({"steps": steps} if (steps := steps_of(work.trainer)) else {}),
        "data": digest_of(work.x, work.y),
        "training set": digest_of(work.members, work.rows, work.queries),
        **({} if alone else {"units": digest_of(work.unit)}),
        "answers": "log probabilities",
        "bins": work.width,
        "versions": versions("torch" if work.trainer.logits else None),
    }
    return Plan(
        name="dtp",
        seed=work.seed,
        unit="record",
        n_units=r,
        units_a_task=_records_a_task(work) if known is None else known.units_a_task,
        arrays={
            "with_it": ArraySpec(("record", "class"), (r, k), "float64"),
            "without": ArraySpec(("record", "class"), (r, k), "float64"),
            "searched": ArraySpec(("record",), (r,), "float64"),
            "bound": ArraySpec(("record",), (r,), "float64"),
        },
        settings=settings,
        code=code_behind(work.cohort(work.members[None], work.rows[:1]), work.trainer),
    )


def _records_a_task(work: LeavingOut) -> int:
    inside = np.broadcast_to(work.members, (len(work.rows), len(work.y)))
    asked = np.concatenate([work.rows[:1], work.queries])
    return models_a_task(work.trainer, work.cohort(inside, asked))


def failed_records_warning(failed: Ints, rows: Ints) -> list[str]:
    """Return a warning that names the records without which training failed."""
    if not len(failed):
        return []
    one = len(failed) == 1
    return [
        f"without {'one record' if one else f'each of {len(failed):,} records'} the classifier "
        "cannot be trained, or has no answer (a class or a category is gone, or predictions are "
        f"not finite): {'its value is' if one else 'their values are'} infinite; "
        f"rows {checks.short_list(rows[failed].tolist())}"
    ]


def zero_probability_warning(said: LeaveOneOutAnswers, values: Floats, rows: Ints) -> list[str]:
    """Return a warning that names records with infinite values although training worked."""
    gone = np.setdiff1d(np.flatnonzero(np.isinf(values)), said.failed)
    if not len(gone):
        return []
    one = len(gone) == 1
    return [
        f"{'the value of 1 record is' if one else f'the values of {len(gone):,} records are'} "
        "infinite because a probability is 0 either with or without the record; a model that gives "
        "no logarithms may have rounded a small probability to 0; "
        f"rows {checks.short_list(rows[gone].tolist())}"
    ]


@dataclass(frozen=True, eq=False)
class Variation:
    """Predicted probabilities of a record's own class, by models that differ in one respect."""

    row: int
    """Row of the record."""
    label: int
    """Class of the record."""
    initialisation: Floats
    """(m,) Predictions with the same training set and other random states."""
    sampling: Floats
    """(m,) Predictions with other training sets of the same size that all include the record."""
    with_it: float
    """Prediction of the classifier."""
    without: float
    """Prediction of the classifier trained without the record and otherwise alike."""

    @property
    def own(self) -> float:
        """Absolute change of the record's own prediction when it is left out."""
        return abs(self.with_it - self.without)

    @property
    def stands_out(self) -> float:
        """The record's own effect in standard deviations of the larger of both variations.

        Infinite if nothing else moves the prediction.
        """
        spread = max(float(np.std(v, ddof=1)) for v in (self.initialisation, self.sampling))
        if spread == 0:
            return float("inf") if self.own > 0 else 0.0
        return self.own / spread

    @property
    def edges(self) -> Floats:
        """(25,) Edges of bins that hold all predictions."""
        values = np.concatenate([self.initialisation, self.sampling, [self.with_it, self.without]])
        low = float(values.min())
        high = float(values.max())
        # Equal predictions still need bins of some width.
        if high - low < 1e-9:
            low = low - 0.005
            high = high + 0.005
        return np.linspace(low, high, 25)


def variation(
    trainer: Trainer,
    x: Held,
    y: Ints,
    rows: Ints,
    *,
    size: int | None = None,
    n_models: int = 100,
    seed: int = 0,
    execution: Execution = NOT_KEPT,
) -> tuple[Variation, ...]:
    """Return the variation of predictions by initial weights and by the choice of other records.

    Parameters
    ----------
    trainer : Trainer
    x, y : records (n, ...) of any kind, and ndarray of shape (n,)
        Population from which training sets are drawn.
    rows : ndarray of int, shape (t,)
        Records whose predictions are compared.
    size : int, optional
        Size of a training set; default: half of the population.
    n_models : int
        Number of models for each of the two variations, at least 2.
    seed : int
        Seed of all random draws.
    execution : Execution
        Folder, processes and progress of the run.

    Notes
    -----
    Long et al. (2017), section 9, Figures 7 and 8: 100 models on 10,000 records each. There the
    training sets may or may not include the record; here all include it, so that its own effect is
    not counted among the others'.
    """
    size = len(y) // 2 if size is None else size
    checks.at_least(2, n_models=n_models)
    if not len(rows) < size <= len(y):
        raise InputError(f"size must be in {len(rows) + 1}..{len(y)}, got {size}")
    rng = seeds.stream(seed, "variation", "sets")
    inside = np.zeros((1 + len(rows) + 2 * n_models, len(y)), np.bool_)
    others = np.setdiff1d(np.arange(len(y)), rows)
    # Model 0 is the classifier; then one without each record, one per random state on the same set,
    # and one per further training set.
    for model in (0, *range(1 + len(rows) + n_models, len(inside))):
        inside[model, rows] = True
        inside[model, rng.choice(others, size - len(rows), replace=False)] = True
    same = slice(1, 1 + len(rows) + n_models)
    inside[same] = inside[0]
    inside[np.arange(len(rows)) + 1, rows] = False
    # State 0 for all but the models that differ in their random state.
    states = np.zeros(len(inside), np.int64)
    states[1 + len(rows) : 1 + len(rows) + n_models] = 1 + np.arange(n_models)
    drawn = seeds.stream(seed, "variation", "states").integers(2**31, size=n_models + 1)
    with kept_or_scratch(execution.run) as folder:
        values = train_all(
            trainer,
            cohort_of(
                x, y, inside, seed, asked=np.asarray(rows), states=tuple(drawn[states].tolist())
            ),
            seed=seed,
            run=folder,
            n_jobs=execution.n_jobs,
            progress=execution.progress,
        )
    shown = probabilities(first_query(values), logits=trainer.logits)
    first = 1 + len(rows)
    variations = []
    for i, row in enumerate(rows):
        # The record's own class, by every model.
        label = int(y[row])
        own = shown[:, i, label]
        found = Variation(
            row=int(row),
            label=label,
            initialisation=checks.frozen(own[first : first + n_models]),
            sampling=checks.frozen(own[first + n_models :]),
            with_it=float(own[0]),
            without=float(own[1 + i]),
        )
        variations.append(found)
    return tuple(variations)
