"""Training a target and shadow models, to get predictions that can be audited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakscope.classifier.predictions import Predictions, predictions
from leakscope.core import checks, seeds
from leakscope.core.checks import Bools, Floats, Ints
from leakscope.core.release import coin_flips
from leakscope.errors import InputError


class ProbabilisticClassifier(Protocol):
    """A scikit-learn classifier, or anything that behaves like one."""

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The classes seen in training, ascending."""

    def fit(self, X: Floats, y: Ints) -> ProbabilisticClassifier:
        """Train on the records."""

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probability of every class, (n, k)."""


Trainer = Callable[[int], ProbabilisticClassifier]
"""Makes an untrained classifier from a random state."""


def train_predictions(
    model: Trainer,
    x: ArrayLike,
    y: ArrayLike,
    *,
    n_shadows: int = 8,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Predictions, Predictions]:
    """Return predictions of a target model, and those of shadow models trained in the same way.

    Every model is trained on the records that fair, independent coins put in it, and predicts
    all records. The shadow models' coins know nothing of the target's.

    Parameters
    ----------
    model : callable
        Takes a random state and returns an untrained classifier.
    x : array_like of float, shape (n, d)
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    n_shadows : int
        At least 1; their predictions are pooled.
    seed : int
    n_jobs : int
        Models trained at the same time, in processes of joblib. Starting these takes seconds,
        which pays for models that train longer than that.
    progress : callable, optional
        Called with the number of models done and the number of all.

    Returns
    -------
    tuple of Predictions
        The target's, with n rows, and the shadows', with ``n_shadows * n`` rows whose ids tell
        the shadow model and the record.
    """
    features = np.asarray(x, np.float64)
    labels = checks.integers(y, "y")
    if features.ndim != 2 or len(features) != len(labels):
        raise InputError(
            f"x must have the shape (n, d) with n = {len(labels)}, got {features.shape}"
        )
    if n_shadows < 1:
        raise InputError(f"n_shadows must be at least 1, got {n_shadows}")
    n_classes = int(labels.max()) + 1
    inside = np.vstack(
        [
            coin_flips(1, len(labels), seeds.stream(seed, "target", "coins")),
            coin_flips(n_shadows, len(labels), seeds.stream(seed, "shadow", "coins")),
        ]
    )
    probs = _train_all(model, features, labels, inside, n_classes, seed, n_jobs, progress)
    target = predictions(probs=probs[0], labels=labels, member=inside[0], name="target model")
    record = np.tile(np.arange(len(labels)), n_shadows)
    number = np.repeat(np.arange(n_shadows), len(labels))
    shadow = predictions(
        probs=np.vstack(probs[1:]),
        labels=np.tile(labels, n_shadows),
        member=inside[1:].ravel(),
        ids=number * len(labels) + record,
        name="shadow models",
    )
    return target, shadow


def _train_all(
    model: Trainer,
    features: Floats,
    labels: Ints,
    inside: Bools,
    n_classes: int,
    seed: int,
    n_jobs: int,
    progress: Callable[[int, int], None] | None,
) -> list[Floats]:
    from joblib import Parallel, delayed

    states = [int(seeds.stream(seed, "model", i).integers(2**31)) for i in range(len(inside))]
    tasks = (
        delayed(_train_one)(model(state), features, labels, rows, n_classes)
        for state, rows in zip(states, inside, strict=True)
    )
    probs = []
    for done in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
        probs.append(done)
        if progress is not None:
            progress(len(probs), len(inside))
    return probs


def _train_one(
    classifier: ProbabilisticClassifier,
    features: Floats,
    labels: Ints,
    rows: Bools,
    n_classes: int,
) -> Floats:
    from threadpoolctl import threadpool_limits

    # Several models train at once: more threads than cores would slow all of them down.
    with threadpool_limits(limits=1):
        classifier.fit(features[rows], labels[rows])
        seen = classifier.predict_proba(features)
    probs = np.zeros((len(labels), n_classes))
    probs[:, classifier.classes_] = seen
    return probs
