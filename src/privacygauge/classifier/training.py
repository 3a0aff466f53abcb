"""Training of a target and shadow models, for predictions to audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifier.estimators import Estimators, ProbabilisticClassifier, require_records
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.shadows import train_shadows
from privacygauge.core.units import number_units


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
    """Return predictions of a target model, and those of shadow models trained in the same way.

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
        The person behind each record: one coin puts all records of a person in.
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
        n_jobs=n_jobs,
        progress=progress,
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
