"""The shared pool: predictions of the adversary's own models on the targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.coins import Coins
from privacygauge.core.release import Stored
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class Pool:
    """Predictions of the adversary's k models on n targets, and their training sets.

    In the shared design row j is one model, and fair coins put the targets into its training set.
    In the per-target design row j of a target belongs to that target's own j-th model.
    """

    answers: NDArray[Any]
    """(k, n, c) Probabilities or logits of c classes; (k, n, q, c) with q queries per target: first
    the target itself, then views of it."""
    logits: bool
    """Whether `answers` are logits."""
    inside: Bools
    """(k, n) True where the model was trained on the target."""
    labels: Ints
    """(n,) True classes in 0..c-1."""

    def __post_init__(self) -> None:
        labels = checks.classes(self.labels, "labels")
        inside = np.asarray(self.inside, np.bool_)
        answers = self.answers.view()
        if answers.ndim not in (3, 4) or answers.shape[:2] != inside.shape:
            raise InputError(
                "a pool's answers must have the shape (k, n, c) or (k, n, q, c) and inside (k, n), "
                f"got {answers.shape} and {inside.shape}"
            )
        if inside.shape[1] != len(labels):
            raise InputError(f"a pool of {inside.shape[1]} targets needs as many labels")
        answers.flags.writeable = False
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "inside", checks.frozen(inside))

    def __len__(self) -> int:
        return len(self.answers)

    def of_few_models(self) -> Floats:
        """Return the first models' answers to the targets themselves, as logarithms or logits.

        Returns
        -------
        ndarray of float, shape (n, d)
            Of two models at most, which is enough to tell equal records from others.
        """
        few = self.answers[:2] if self.answers.ndim == 3 else self.answers[:2, :, 0]
        values = np.asarray(few, np.float64)
        if not self.logits:
            values = np.log(np.maximum(values, 1e-6))
        return np.concatenate(list(values), axis=1)

    @property
    def n_targets(self) -> int:
        """Number of targets, n."""
        return int(self.answers.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return int(self.answers.shape[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries per target, q."""
        return 1 if self.answers.ndim == 3 else int(self.answers.shape[2])

    @property
    def values(self) -> NDArray[Any]:
        """(k, n, c) Answers to the targets themselves."""
        return self.answers if self.answers.ndim == 3 else self.answers[:, :, 0]

    def query(self, number: int) -> Pool:
        """Return the answers to one of the queries; 0 is the targets themselves."""
        if self.answers.ndim == 3:
            return self
        return replace(self, answers=self.answers[:, :, number])

    def models(self, some: slice) -> Pool:
        """Return the pool of some of the models."""
        return replace(self, answers=self.answers[some], inside=self.inside[some])

    def probabilities(self, rows: slice) -> Floats:
        """Return every model's probabilities for some targets, without views, (k, rows, c)."""
        return probabilities(self.values[:, rows], logits=self.logits)

    def rows(self) -> Predictions:
        """Return the predictions of all models one below the other, k * n rows, as a view."""
        k, n = self.inside.shape
        return Predictions(
            answers=self.answers.reshape(k * n, *self.answers.shape[2:]),
            logits=self.logits,
            labels=np.tile(self.labels, k),
            member=self.inside.reshape(k * n),
            ids=np.arange(k * n),
        )


ONE_LOGIT_ONLY = (
    "needs whole vectors of all shadow models, and this run holds only one logit for each record: "
    "to keep the vectors, start another run without one_logit (--one-logit)"
)
"""Reason why an attack on whole vectors is skipped with a `LogitPool`."""


@dataclass(frozen=True, eq=False)
class LogitPool:
    """One scaled logit per model and target, (k, n), and whole predictions of a few models."""

    worlds: Floats | Stored
    """(k, n), or (k, n, q) for q queries: ``log p_y - log(1 - p_y)`` of the true class y, in memory
    or in a run's folder."""
    inside: Bools | Coins
    """(k, n) True where the model was trained on the target."""
    first: Pool
    """Whole predictions of the first models, as logits."""

    def __post_init__(self) -> None:
        inside = self.inside
        inside = (
            inside if isinstance(inside, Coins) else checks.frozen(np.asarray(inside, np.bool_))
        )
        queries = () if self.n_queries == 1 else (self.n_queries,)
        expected = (len(inside), self.n_targets, *queries)
        if self.worlds.shape != expected or inside.shape != expected[:2]:
            raise InputError(
                f"worlds must have the shape {expected} and inside {expected[:2]}, got "
                f"{self.worlds.shape} and {inside.shape}"
            )
        if not self.first.logits:
            raise InputError("the first models of a pool of logits must answer with logits")
        object.__setattr__(self, "inside", inside)

    def __len__(self) -> int:
        return len(self.inside)

    @property
    def logits(self) -> bool:
        """True: the predictions are logits."""
        return True

    @property
    def labels(self) -> Ints:
        """(n,) True classes."""
        return self.first.labels

    @property
    def n_targets(self) -> int:
        """Number of targets, n."""
        return self.first.n_targets

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return self.first.n_classes

    @property
    def n_queries(self) -> int:
        """Number of queries per target, q."""
        return self.first.n_queries


def pool_of(
    values: NDArray[Any], member: ArrayLike, labels: ArrayLike, key: str, name: str
) -> Pool:
    """Return a checked pool of `values` (k, n, c) or (k, n, q, c).

    `key` is their kind, ``probs`` or ``logits``, and `name` the input's name in messages.
    """
    inside = np.asarray(member)
    if values.ndim not in (3, 4) or inside.shape != values.shape[:2]:
        raise InputError(
            f"{name}: {key} must have the shape (k, n, c) or (k, n, q, c) and member (k, n), for k "
            f"models, n records, q queries and c classes, got {values.shape} and {inside.shape}"
        )
    k, n, *each = values.shape
    y = checks.classes(labels, f"{name}: labels", length=n)
    given: dict[str, Any] = {key: values.reshape(k * n, *each)}
    # The same checks as for one model, on the rows of all models.
    checked = predictions(labels=np.tile(y, k), member=inside.reshape(k * n), name=name, **given)
    if key == "logits" and not checked.logits:
        raise InputError(
            f"{name}: the logits are probabilities (rows in [0, 1] that sum to 1): save them under "
            "the key probs"
        )
    answers = checked.answers.reshape(k, n, *checked.answers.shape[1:])
    return Pool(answers, checked.logits, checked.member.reshape(k, n), y)


def probabilities(values: NDArray[Any], *, logits: bool) -> Floats:
    """Return probabilities over the last axis as float64: the softmax if `logits`."""
    result = np.array(values, np.float64)
    if logits:
        result -= result.max(axis=-1, keepdims=True)
        np.exp(result, out=result)
        result /= result.sum(axis=-1, keepdims=True)
    return result
