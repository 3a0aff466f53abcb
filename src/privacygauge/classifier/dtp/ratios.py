"""Differential training privacy: how far one record moves a classifier's predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from privacygauge.classifier.binning import bin_centres, bin_numbers, n_bins
from privacygauge.classifier.dtp.learner import class_log_p, logs
from privacygauge.classifier.trainer import Cohort, Trainer, first_query
from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError

_SAME = 1e-12
"""Largest difference between a model's probabilities and the exponentials of its logarithms."""


@runtime_checkable
class Logarithmic(Protocol):
    """A trainer that gives log probabilities even where probabilities underflow."""

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return the logarithms of the probabilities that `train` returns, (m, a, k)."""


def log_answers(trainer: Trainer, cohort: Cohort) -> Floats:
    """Return the log probabilities of trained models, (m, a, k).

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


_ROUNDING = 2e-3
"""Log probabilities above 0 by no more are rounding: a model's rows sum to 1 within 0.001."""


def log_ratio(with_it: Floats, without: Floats, width: float = 0.0) -> Floats:
    """Return the largest log ratio between answers with and without a record.

    Parameters
    ----------
    with_it, without : ndarray of float, shapes (..., k)
        Log probabilities of every class, at most 0; broadcast against each other. -inf where a
        probability is exactly 0, NaN throughout where a classifier has no answer.
    width : float
        Bin width of the published probabilities; 0 for no bins.

    Returns
    -------
    ndarray of float, shape (...)
        max over y of ``|log p(y | x) - log p'(y | x)|``, at least 0. Infinite where only one of the
        two is 0, or only one has an answer; a class with both 0 does not count.

    Raises
    ------
    InputError
        If a value is above 0: probabilities were given in place of their logarithms.

    Notes
    -----
    Long et al. (2017), definitions 4.1 to 4.3. The paper prints the ratio; the metric is its log,
    "the least epsilon".

    Examples
    --------
    >>> import numpy as np
    >>> log_ratio(np.log([0.5, 0.5]), np.log([0.25, 0.75])).round(4).item()
    0.6931
    """
    silent = _silent(with_it), _silent(without)
    if width:
        with_it = _binned_logs(with_it, width)
        without = _binned_logs(without, width)
    with np.errstate(invalid="ignore"):
        difference = np.abs(with_it - without)
    # The difference of the logs of two zeros is undefined.
    difference = np.where(np.isneginf(with_it) & np.isneginf(without), 0.0, difference)
    largest = np.where(silent[0] & silent[1], 0.0, difference.max(axis=-1))
    return np.asarray(np.where(silent[0] != silent[1], np.inf, largest), np.float64)


def _silent(log_p: Floats) -> Bools:
    """Return which rows (...) contain no answer."""
    largest = log_p.max(axis=-1)
    if (largest > _ROUNDING).any():
        raise InputError(
            f"log probabilities must be at most 0, got {np.nanmax(largest):g}; "
            "give the logarithms of probabilities"
        )
    return np.asarray(np.isnan(largest), np.bool_)


def _binned_logs(log_p: Floats, width: float) -> Floats:
    p = np.exp(log_p)
    known = ~np.isnan(p)
    return np.where(known, np.log(bin_centres(np.where(known, p, 0.0), width)), np.nan)


def cap(width: float) -> float:
    """Return the largest possible log ratio of binned probabilities; infinite without bins."""
    return float(np.log((1.0 - width / 2) / (width / 2))) if width else float("inf")


def binned_bound(gamma: Floats, width: float) -> Floats:
    """Return an upper bound on the log ratio of binned probabilities, from that of plain ones.

    `gamma` bounds ``|log p - log p'|``; a width of 0 means no bins. The smaller of two
    probabilities lies in some bin; the larger is at most exp(gamma) times that bin's upper end. The
    bound is the largest log ratio of bin centres over all bins.
    """
    gamma = np.asarray(gamma, np.float64)
    if not width:
        return gamma
    number = n_bins(width)
    lower = np.arange(number)
    with np.errstate(over="ignore"):
        reach = np.exp(gamma)[..., None] * ((lower + 1) / number)
    upper = bin_numbers(np.minimum(reach, 1.0), width)
    found = (np.log(upper + 0.5) - np.log(lower + 0.5)).max(axis=-1)
    # However little they differ, two probabilities may lie on either side of a bin's edge.
    return np.asarray(np.where(gamma == 0, 0.0, found), np.float64)
