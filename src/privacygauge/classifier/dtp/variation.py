"""Other sources of variation than one record: initial weights, and the other records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privacygauge.classifier.held import Held
from privacygauge.classifier.pool import probabilities
from privacygauge.classifier.shadows import Progress, cohort_of, train_all
from privacygauge.classifier.trainer import Trainer, first_query
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.runs.folder import kept_or_scratch


@dataclass(frozen=True, eq=False)
class Variation:
    """Predictions of a record's own class by models that differ in one thing each."""

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
        """How far the record moves its own prediction."""
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
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[Variation, ...]:
    """Return how initial weights and the choice of the other records move some predictions.

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
    seed, run, n_jobs, progress
        As in `train_shadows`.

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
    states = np.zeros(len(inside), np.int64)
    states[1 + len(rows) : 1 + len(rows) + n_models] = 1 + np.arange(n_models)
    drawn = seeds.stream(seed, "variation", "states").integers(2**31, size=n_models + 1)
    with kept_or_scratch(run) as folder:
        values = train_all(
            trainer,
            cohort_of(
                x, y, inside, seed, asked=np.asarray(rows), states=tuple(drawn[states].tolist())
            ),
            seed=seed,
            run=folder,
            n_jobs=n_jobs,
            progress=progress,
        )
    shown = probabilities(first_query(values), logits=trainer.logits)
    return tuple(
        _variation_of_record(shown[:, i], i, row=int(row), label=int(y[row]), n_rows=len(rows))
        for i, row in enumerate(rows)
    )


def _variation_of_record(shown: Floats, place: int, row: int, label: int, n_rows: int) -> Variation:
    own = shown[:, label]
    first = 1 + n_rows
    n_models = (len(own) - first) // 2
    return Variation(
        row=row,
        label=label,
        initialisation=checks.frozen(own[first : first + n_models]),
        sampling=checks.frozen(own[first + n_models :]),
        with_it=float(own[0]),
        without=float(own[1 + place]),
    )
