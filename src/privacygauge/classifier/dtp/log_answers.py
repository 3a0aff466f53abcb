"""Log probabilities from whatever trains models, as precise as the models give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from privacygauge.classifier.dtp.learner import class_log_p, logs
from privacygauge.classifier.trainer import Cohort, Trainer, first_query
from privacygauge.core.checks import Floats

_SAME = 1e-12
"""What a model's own logarithms may differ by from its probabilities."""


@runtime_checkable
class Logarithmic(Protocol):
    """A trainer that knows the logarithms of probabilities too small for a number."""

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return the log probabilities, (m, a, k), of what `train` returns."""


def log_answers(trainer: Trainer, cohort: Cohort) -> Floats:
    """Return the log probabilities that trained models give, (m, a, k).

    Parameters
    ----------
    trainer : Trainer
    cohort : Cohort

    Returns
    -------
    ndarray of float, shape (m, a, k)
        -inf where a probability is 0, NaN throughout for a model whose training failed.
    """
    if isinstance(trainer, Logarithmic):
        return trainer.train_logs(cohort)
    made = np.asarray(first_query(trainer.train(cohort)), np.float64)
    return class_log_p(made) if trainer.logits else logs(made)


def own_log_p(model: object, x: NDArray[Any], p: Floats) -> Floats:
    """Return the log probabilities (n, k) of an estimator, from its own logarithms if it has them.

    From `decision_function` or else from `predict_log_proba`, if their exponentials are all within
    1e-12 of the probabilities `p`; otherwise the logarithms of the probabilities.

    Notes
    -----
    Scores come first: some estimators take `predict_log_proba` from probabilities, or give the
    logarithm of the smallest number in place of that of 0.
    """
    for name, read in (("decision_function", _of_scores), ("predict_log_proba", np.asarray)):
        ask: Callable[[NDArray[Any]], Any] | None = getattr(model, name, None)
        if ask is None:
            continue
        with np.errstate(divide="ignore"):
            found = read(np.asarray(ask(x), np.float64))
        if found.shape == p.shape and (np.abs(np.exp(found) - p) <= _SAME).all():
            return found
    return logs(p)


def _of_scores(scores: Floats) -> Floats:
    """Return log probabilities (n, k) from log odds, (n,) for two classes or (n, k)."""
    if scores.ndim == 1:
        return np.asarray(log_expit(np.stack([-scores, scores], axis=1)), np.float64)
    return class_log_p(scores)
